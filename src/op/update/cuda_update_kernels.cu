/* sgd_update and moving_average: one pass over what is updated, usually in place. */
#include "op/cuda/cuda_calls.h"
#include "op/elementwise/cuda_elementwise.cuh"
#include "op/elementwise/share.h"
#include "op/softmax_norm/moving_average.h"
#include "op/update/sgd_update.h"

template <class T> struct two_scalars {
    T first, second;
};

template <class T> struct update_row {
    static constexpr int inputs = 2;
    static constexpr bool is_checked = false;
    using first = T;
    using value = T;
    using result = T;
    using number = two_scalars<T>;
};

template <class T> struct sgd_row : update_row<T> {
    HKI_DEVICE T apply(T x, T grad, T, two_scalars<T> s)
    {
        return x - (HKI_SHARE(s.first, grad) + HKI_SHARE(s.second, x));
    }
};

template <class T> struct average_row : update_row<T> {
    HKI_DEVICE T apply(T average, T sample, T, two_scalars<T> s)
    {
        return HKI_SHARE(s.first, average) + HKI_SHARE(s.second, sample);
    }
};

template <template <class> class Row>
static void launch_update(const hki_kernel_call *call, hki_cuda_stream *stream, double first,
                          double second)
{
    hki_cuda_walk walk;
    int item_bytes[HKI_CUDA_OPERANDS];
    const int width = HKI_CUDA_PACK_BYTES / hki_cuda_walk_call(&walk, call, item_bytes);
    hki_cuda_launch_parts(stream, walk, width, item_bytes, [&](const hki_cuda_path *path) {
        if (call->out[0].dtype == HK_F64)
            launch_elementwise<Row<double>, HKI_CUDA_PACK_BYTES / (int)sizeof(double)>(
                stream, path, two_scalars<double>{first, second}, nullptr);
        else
            launch_elementwise<Row<float>, HKI_CUDA_PACK_BYTES / (int)sizeof(float)>(
                stream, path, two_scalars<float>{(float)first, (float)second}, nullptr);
    });
}

void hki_cuda_sgd_update(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_sgd_update_options *options = hki_options_of<hki_sgd_update_options>(call);
    launch_update<sgd_row>(call, stream, options->lr / (options->batch > 0 ? options->batch : 1),
                           options->lr * options->weight_decay);
}

void hki_cuda_moving_average(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_moving_average_options *options = hki_options_of<hki_moving_average_options>(call);
    launch_update<average_row>(call, stream, 1 - options->weight,
                               options->weight * options->factor);
}
