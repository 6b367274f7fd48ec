/* Within the plug-in: see cuda_fused.h. For cuda_rows_f32.cu, which has the rows as types. */
#ifndef HOCKET_OP_CUDA_FUSED_CUH
#define HOCKET_OP_CUDA_FUSED_CUH

#include "op/elementwise/cuda_fused.h"

/* Rows of floats that make floats. */
template <class Row>
constexpr bool is_fusable = std::is_same_v<typename Row::first, float> &&
                            std::is_same_v<typename Row::result, float> && !Row::is_checked;

template <class Row, int N>
HKI_DEVICE void apply_row(const hki_pack<float, N> in[HKI_CUDA_FUSED_OPERANDS],
                          hki_pack<float, N> &out, numbers<float> with)
{
    if constexpr (is_fusable<Row>)
        for (int j = 0; j < N; j++)
            out.at[j] = Row::apply(in[0].at[j], in[1].at[j], in[2].at[j], with);
}

#define FUSED_CASE(name)                                                                           \
    case HKI_CUDA_ROW_##name:                                                                      \
        apply_row<row_##name<float>, N>(in, out, {step.s, step.t});                                \
        break;
#define FUSED_FLOATS(name)     FUSED_CASE(name)
#define FUSED_NUMBERS(name)    FUSED_CASE(name)
#define FUSED_ALL_DTYPES(name) FUSED_CASE(name)
#define FUSED_INTEGERS(name)
#define FUSED_BITS(name)
#define FUSED_GRADIENT(context, kept, name, ns, expression) FUSED_FLOATS(name)
#undef ROW
#undef CHECKED
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    FUSED_##dtypes(name) HKI_EACH_GRADIENT(FUSED_GRADIENT, , name, gradient)
#define CHECKED ROW

template <int N>
HKI_DEVICE void run_row(const hki_cuda_fused_step &step,
                        const hki_pack<float, N> in[HKI_CUDA_FUSED_OPERANDS],
                        hki_pack<float, N> &out)
{
    switch (step.row) {
#include "op/elementwise/elementwise.def"
    default:
        break;
    }
}
#undef FUSED_CASE
#define FUSED_CASE(name)                                                                           \
    case HKI_CUDA_ROW_##name:                                                                      \
        return is_fusable<row_##name<float>>;

bool hki_cuda_is_fusable(hki_cuda_row row)
{
    switch ((int)row) {
#include "op/elementwise/elementwise.def"
    default:
        return false;
    }
}
#undef ROW
#undef CHECKED

/* Results lie in shared memory, a column of it for each thread, since registers cannot be told apart by a number. */
template <int N>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK) fused(const hki_cuda_fused program)
{
    HKI_SHARED hki_pack<float, N> results[HKI_CUDA_FUSED_STEPS][HKI_CUDA_BLOCK];
    const int64_t count = program.size / N;
    for (int64_t i = HKI_THREAD_INDEX; i < count; i += HKI_THREAD_COUNT)
        for (int k = 0; k < program.step_count; k++) {
            const hki_cuda_fused_step &step = program.steps[k];
            hki_pack<float, N> in[HKI_CUDA_FUSED_OPERANDS] = {}, out = {};
            HKI_UNROLL
            for (int j = 0; j < HKI_CUDA_FUSED_OPERANDS; j++) {
                const hki_cuda_fused_operand &operand = step.operands[j];
                if (operand.data && !operand.is_one) {
                    in[j] = *reinterpret_cast<const hki_pack<float, N> *>(operand.data + i * N);
                } else if (operand.data) {
                    for (int n = 0; n < N; n++)
                        in[j].at[n] = operand.data[0];
                } else if (operand.step >= 0) {
                    in[j] = results[operand.step][threadIdx.x];
                }
            }
            run_row<N>(step, in, out);
            results[k][threadIdx.x] = out;
            if (step.out && !hki_cuda_is_up(step.guard))
                *reinterpret_cast<hki_pack<float, N> *>(step.out + i * N) = out;
        }
}

void hki_cuda_launch_fused(hki_cuda_stream *stream, const hki_cuda_fused *program)
{
    constexpr int N = HKI_CUDA_PACK_BYTES / (int)sizeof(float);
    const int64_t count = program->is_wide ? program->size / N : program->size;
    const unsigned grid =
        hki_cuda_grid(count, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    if (program->is_wide)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, fused<N>, *program);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, fused<1>, *program);
}

#endif
