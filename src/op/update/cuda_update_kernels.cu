#include "op/update/cuda_update_kernels.h"

#include "op/elementwise/cuda_elementwise.cuh"
#include "op/elementwise/share.h"

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

template <template <class> class Row, class T>
static void launch_update(hki_cuda_stream *stream, const hki_cuda_path *path, double first,
                          double second)
{
    launch_elementwise<Row<T>, HKI_CUDA_PACK_BYTES / (int)sizeof(T)>(
        stream, path, two_scalars<T>{(T)first, (T)second}, nullptr);
}

void hki_cuda_launch_sgd_update(hki_cuda_stream *stream, const hki_cuda_path *path, bool f64,
                                double step, double decay)
{
    (f64 ? launch_update<sgd_row, double> : launch_update<sgd_row, float>)(stream, path, step,
                                                                          decay);
}

void hki_cuda_launch_moving_average(hki_cuda_stream *stream, const hki_cuda_path *path, bool f64,
                                    double keep, double add)
{
    (f64 ? launch_update<average_row, double> : launch_update<average_row, float>)(stream, path,
                                                                                  keep, add);
}
