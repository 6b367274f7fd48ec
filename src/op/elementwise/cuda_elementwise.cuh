/* Within the plug-in: the kernel of operators that compute element i of the output from element i of the inputs. What
 * they compute is a type:
 *
 *     struct row {
 *         static constexpr int inputs = 2;
 *         using first = float;     stored type of the first input, of the others, and of the output
 *         using value = float;
 *         using result = float;
 *         using number = float;    of what the host gives, s
 *         static constexpr bool is_checked = false;
 *         HKI_DEVICE result apply(first a, value b, value c, number s);   those that it has inputs for; the others are 0
 *         HKI_DEVICE bool refuses(first a, value b, number s);            where is_checked
 *     }; */
#ifndef HOCKET_OP_CUDA_ELEMENTWISE_CUH
#define HOCKET_OP_CUDA_ELEMENTWISE_CUH

#include "op/elementwise/cuda_elementwise.h"
#include "op/cuda/cuda_walk.cuh"

/* Operand 0 is the output, which may be one of the inputs, and stays as it is where the guard says so. */
template <class Row, int N>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    elementwise(const hki_cuda_path path, const typename Row::number s, hki_cuda_fault *fault,
                const hki_cuda_guard guard)
{
    if (hki_cuda_is_up(guard))
        return;
    /* Once each, the lowest of its own: what is reported goes to the host's memory, which is slow. */
    [[maybe_unused]] bool has_reported = false;
    for (uint32_t i = (uint32_t)HKI_THREAD_INDEX; i < path.count; i += (uint32_t)HKI_THREAD_COUNT) {
        char *at[Row::inputs + 1];
        hki_path_all<Row::inputs + 1>(path, i, at);
        hki_pack<typename Row::first, N> a = {};
        hki_pack<typename Row::value, N> b = {}, c = {};
        if constexpr (Row::inputs > 0)
            a = hki_path_load<typename Row::first, N>(path, 1, at[1]);
        if constexpr (Row::inputs > 1)
            b = hki_path_load<typename Row::value, N>(path, 2, at[2]);
        if constexpr (Row::inputs > 2)
            c = hki_path_load<typename Row::value, N>(path, 3, at[3]);
        hki_pack<typename Row::result, N> out;
        for (int j = 0; j < N; j++) {
            bool refused = false;
            if constexpr (Row::is_checked)
                refused = Row::refuses(a.at[j], b.at[j], s);
            if (refused) {
                out.at[j] = {};
                if (!has_reported)
                    hki_cuda_report(fault, path.first + (int64_t)i * N + j);
                has_reported = true;
            } else {
                out.at[j] = Row::apply(a.at[j], b.at[j], c.at[j], s);
            }
        }
        *reinterpret_cast<hki_pack<typename Row::result, N> *>(at[0]) = out;
    }
}

/* N: the width that the path was asked for. */
template <class Row, int N>
static void launch_elementwise(hki_cuda_stream *stream, const hki_cuda_path *path,
                               typename Row::number s, hki_cuda_fault *fault)
{
    const unsigned grid =
        hki_cuda_grid(path->count, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    const hki_cuda_guard guard = hki_cuda_stream_guard(stream);
    if (path->width == N)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (elementwise<Row, N>), *path, s, fault, guard);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (elementwise<Row, 1>), *path, s, fault, guard);
}

#endif
