/* The rows of update.def: one pass over parameter, gradient and state. What changes from step to step is read from the device's
 * memory, so that recorded steps read it anew. */
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_walk.cuh"
#include "op/elementwise/share.h"
#include "op/update/update.h"

/* All are contiguous; what is new may be where the old is. */
struct hki_cuda_update {
    hki_update_options options;
    const double *coefficients; /* of the device: HKI_UPDATE_LR, HKI_UPDATE_STEP */
    const void *x, *grad, *state;
    void *new_x, *new_state;
    int64_t size; /* of x */
};

struct constants {
    double k0, k1, k2, k3, k4;
};

/* Of one element. */
template <class T> struct element {
    T x, g, s0, s1;
};

HKI_DEVICE float root(float x)
{
    return sqrtf(x);
}
HKI_DEVICE double root(double x)
{
    return sqrt(x);
}
#define ROOT(value) root(value)

#define UPDATE(name, count, setup, body, formula, doc)                                             \
    struct name {                                                                                  \
        static constexpr int slots = count;                                                        \
        static __device__ constants prepare(const hki_update_options *o, double lr, double t)      \
        {                                                                                          \
            double k0 = 0, k1 = 0, k2 = 0, k3 = 0, k4 = 0;                                         \
            (void)t;                                                                               \
            setup;                                                                                 \
            return {k0, k1, k2, k3, k4};                                                           \
        }                                                                                          \
        template <class T>                                                                         \
        static __device__ void apply(const constants &given, T eps, element<T> *of)                \
        {                                                                                          \
            [[maybe_unused]] const T k0 = (T)given.k0, k1 = (T)given.k1, k2 = (T)given.k2,         \
                                     k3 = (T)given.k3, k4 = (T)given.k4,                           \
                                     rest1 = (T)(1 - given.k1), rest2 = (T)(1 - given.k2);         \
            [[maybe_unused]] T x = of->x, g = of->g, s0 = of->s0, s1 = of->s1;                     \
            (void)eps;                                                                             \
            body;                                                                                  \
            of->x = x;                                                                             \
            of->s0 = s0;                                                                           \
            of->s1 = s1;                                                                           \
        }                                                                                          \
    };
#include "op/update/update.def"

/* N elements at once, of which `size` is a multiple; slots of the state lie `size` elements apart. */
template <class Row, class T, int N>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    state_update(const hki_cuda_update call, const double *coefficients, const hki_cuda_guard guard)
{
    typedef hki_pack<T, N> pack;
    if (hki_cuda_is_up(guard))
        return;
    const constants given = Row::prepare(&call.options, coefficients[0], coefficients[1]);
    const double batch = call.options.batch;
    const T share = (T)(batch > 0 ? 1 / batch : 1), eps = (T)call.options.epsilon;
    const int64_t count = call.size / N;
    for (int64_t i = HKI_THREAD_INDEX; i < count; i += HKI_THREAD_COUNT) {
        pack x = static_cast<const pack *>(call.x)[i];
        pack first = {}, second = {};
        const pack grad = static_cast<const pack *>(call.grad)[i];
        if constexpr (Row::slots > 0)
            first = static_cast<const pack *>(call.state)[i];
        if constexpr (Row::slots > 1)
            second = static_cast<const pack *>(call.state)[count + i];
        for (int j = 0; j < N; j++) {
            element<T> of = {x.at[j], grad.at[j] * share, first.at[j], second.at[j]};
            Row::template apply<T>(given, eps, &of);
            x.at[j] = of.x;
            first.at[j] = of.s0;
            second.at[j] = of.s1;
        }
        static_cast<pack *>(call.new_x)[i] = x;
        if constexpr (Row::slots > 0)
            static_cast<pack *>(call.new_state)[i] = first;
        if constexpr (Row::slots > 1)
            static_cast<pack *>(call.new_state)[count + i] = second;
    }
}

static bool is_wide(const hki_cuda_update *call, int width)
{
    const void *const all[] = {call->x, call->grad, call->state, call->new_x, call->new_state};
    bool wide = call->size % width == 0;
    for (const void *each : all)
        wide = wide && reinterpret_cast<uintptr_t>(each) % HKI_CUDA_PACK_BYTES == 0;
    return wide;
}

template <class Row, class T>
static void launch(hki_cuda_stream *stream, const hki_cuda_update *call)
{
    constexpr int N = HKI_CUDA_PACK_BYTES / (int)sizeof(T);
    const hki_cuda_guard guard = hki_cuda_stream_guard(stream);
    const int multiprocessors = hki_cuda_stream_multiprocessors(stream);
    if (is_wide(call, N))
        HKI_LAUNCH(stream, hki_cuda_grid(call->size / N, HKI_CUDA_BLOCK, multiprocessors),
                   HKI_CUDA_BLOCK, (state_update<Row, T, N>), *call, call->coefficients, guard);
    else
        HKI_LAUNCH(stream, hki_cuda_grid(call->size, HKI_CUDA_BLOCK, multiprocessors),
                   HKI_CUDA_BLOCK, (state_update<Row, T, 1>), *call, call->coefficients, guard);
}

void hki_cuda_state_update(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_cuda_update all = {*hki_options_of<hki_update_options>(call),
                                 hki_input_of<double>(call, 3),
                                 call->in[0].data,
                                 call->in[1].data,
                                 call->in[2].data,
                                 call->out[0].data,
                                 call->out[1].data,
                                 call->in[0].size};
    const bool f64 = call->in[0].dtype == HK_F64;
    if (all.size == 0)
        return;
    switch (hki_cuda_op_of(call)) {
#define UPDATE(name, slots, setup, body, formula, doc)                                             \
    case HKI_OP_ID_##name:                                                                         \
        (f64 ? launch<name, double> : launch<name, float>)(stream, &all);                          \
        break;
#include "op/update/update.def"
    default:
        break;
    }
}
