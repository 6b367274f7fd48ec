#include "op/conv/cuda_conv2d_kernels.h"

#include "device/cuda/cuda_launch.cuh"

enum { THREADS = 256 };

/* The geometry by integers of a type that counts the elements of each array. */
template <typename I> struct convolution {
    I samples, channels, outputs; /* of all groups */
    I part_channels, part_outputs;
    I in_height, in_width, out_height, out_width, kernel_height, kernel_width;
    I stride_height, stride_width, pad_height, pad_width, dilation_height, dilation_width;
};

/* ---- kernels ------------------------------------------------------------------------------------------- */

/* An element of y: over its group's channels and the window. */
template <typename T, typename I>
HKI_KERNEL void convolve_few(const convolution<I> g, const int64_t count, const T *__restrict__ x,
                             const T *__restrict__ weight, const T *__restrict__ bias,
                             T *__restrict__ y)
{
    for (int64_t at = HKI_THREAD_INDEX; at < count; at += HKI_THREAD_COUNT) {
        const I column = (I)at % g.out_width, above = (I)at / g.out_width;
        const I row = above % g.out_height, o = above / g.out_height % g.outputs;
        const I n = above / g.out_height / g.outputs;
        const I first = o / g.part_outputs * g.part_channels; /* channel */
        const I top = row * g.stride_height - g.pad_height;
        const I left = column * g.stride_width - g.pad_width;
        const T *tap = weight + o * g.part_channels * g.kernel_height * g.kernel_width;
        T sum = 0;
        for (I c = first; c < first + g.part_channels; c++) {
            const T *plane = x + (n * g.channels + c) * g.in_height * g.in_width;
            for (I u = 0, i = top; u < g.kernel_height; u++, i += g.dilation_height)
                for (I v = 0, j = left; v < g.kernel_width; v++, j += g.dilation_width, tap++)
                    if (i >= 0 && i < g.in_height && j >= 0 && j < g.in_width)
                        sum += plane[i * g.in_width + j] * *tap;
        }
        y[at] = bias ? sum + bias[o] : sum;
    }
}

/* An element of x: over its group's outputs and the windows that it is in. */
template <typename T, typename I>
HKI_KERNEL void convolve_few_data(const convolution<I> g, const int64_t count,
                                  const T *__restrict__ dy, const T *__restrict__ weight,
                                  T *__restrict__ dx)
{
    const I taps = g.kernel_height * g.kernel_width;
    for (int64_t at = HKI_THREAD_INDEX; at < count; at += HKI_THREAD_COUNT) {
        const I column = (I)at % g.in_width, above = (I)at / g.in_width;
        const I row = above % g.in_height, c = above / g.in_height % g.channels;
        const I n = above / g.in_height / g.channels;
        const I first = c / g.part_channels * g.part_outputs;
        T sum = 0;
        for (I o = first; o < first + g.part_outputs; o++) {
            const T *plane = dy + (n * g.outputs + o) * g.out_height * g.out_width;
            const T *tap = weight + (o * g.part_channels + c % g.part_channels) * taps;
            for (I u = 0; u < g.kernel_height; u++) {
                const I down = row + g.pad_height - u * g.dilation_height;
                const I i = down / g.stride_height;
                if (down < 0 || i >= g.out_height || i * g.stride_height != down)
                    continue;
                for (I v = 0; v < g.kernel_width; v++) {
                    const I across = column + g.pad_width - v * g.dilation_width;
                    const I j = across / g.stride_width;
                    if (across >= 0 && j < g.out_width && j * g.stride_width == across)
                        sum += plane[i * g.out_width + j] * tap[u * g.kernel_width + v];
                }
            }
        }
        dx[at] = sum;
    }
}

/* The sum of all threads' values, for the first one; the others get 0. */
HKI_DEVICE double block_sum(double value)
{
    HKI_SHARED double sums[THREADS];
    __syncthreads();
    sums[threadIdx.x] = value;
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    return threadIdx.x == 0 ? sums[0] : 0;
}

/* A tap for each block: over the samples and the positions of its output. */
template <typename T, typename I>
HKI_KERNEL void convolve_few_weight(const convolution<I> g, const int64_t count,
                                    const T *__restrict__ x, const T *__restrict__ dy,
                                    T *__restrict__ dweight)
{
    const I plane = g.out_height * g.out_width;
    /* How far a thread goes from one of its positions to the next. */
    const I far = (I)THREADS % plane, samples_each = (I)THREADS / plane;
    const I rows_each = far / g.out_width, columns_each = far % g.out_width;
    for (int64_t at = blockIdx.x; at < count; at += gridDim.x) {
        const I v = (I)at % g.kernel_width, above = (I)at / g.kernel_width;
        const I u = above % g.kernel_height, of_group = above / g.kernel_height;
        const I o = of_group / g.part_channels;
        const I c = o / g.part_outputs * g.part_channels + of_group % g.part_channels;
        const I down = u * g.dilation_height - g.pad_height;
        const I right = v * g.dilation_width - g.pad_width;
        I n = (I)threadIdx.x / plane, i = (I)threadIdx.x % plane / g.out_width,
          j = (I)threadIdx.x % g.out_width;
        double sum = 0;
        while (n < g.samples) {
            const I row = i * g.stride_height + down, column = j * g.stride_width + right;
            if (row >= 0 && row < g.in_height && column >= 0 && column < g.in_width)
                sum += (double)dy[((n * g.outputs + o) * g.out_height + i) * g.out_width + j] *
                       (double)x[((n * g.channels + c) * g.in_height + row) * g.in_width + column];
            j += columns_each;
            i += rows_each;
            n += samples_each;
            if (j >= g.out_width) {
                j -= g.out_width;
                i++;
            }
            if (i >= g.out_height) {
                i -= g.out_height;
                n++;
            }
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0)
            dweight[at] = (T)sum;
    }
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static int64_t in_size(const hki_conv2d_geometry *g)
{
    return g->samples * g->in_channels * g->in_height * g->in_width;
}

static int64_t out_size(const hki_conv2d_geometry *g)
{
    return g->samples * g->out_channels * g->out_height * g->out_width;
}

static int64_t weight_size(const hki_conv2d_geometry *g, int64_t groups)
{
    return g->out_channels * (g->in_channels / groups) * g->kernel_height * g->kernel_width;
}

/* Whether int counts all elements, and all places that a window reaches. */
static bool is_small(const hki_conv2d_geometry *g, int64_t groups)
{
    const int64_t most = INT32_MAX / 4;
    const int64_t sizes[] = {in_size(g),
                             out_size(g),
                             weight_size(g, groups),
                             g->kernel_height * g->dilation_height,
                             g->kernel_width * g->dilation_width,
                             g->out_height * g->stride_height,
                             g->out_width * g->stride_width,
                             g->pad_height,
                             g->pad_width};
    for (const int64_t size : sizes)
        if (size > most)
            return false;
    return true;
}

template <typename I>
static convolution<I> convolution_of(const hki_conv2d_geometry *g, int64_t groups)
{
    return {(I)g->samples,
            (I)g->in_channels,
            (I)g->out_channels,
            (I)(g->in_channels / groups),
            (I)(g->out_channels / groups),
            (I)g->in_height,
            (I)g->in_width,
            (I)g->out_height,
            (I)g->out_width,
            (I)g->kernel_height,
            (I)g->kernel_width,
            (I)g->stride_height,
            (I)g->stride_width,
            (I)g->pad_height,
            (I)g->pad_width,
            (I)g->dilation_height,
            (I)g->dilation_width};
}

static unsigned grid_of(hki_cuda_stream *stream, int64_t count, int each)
{
    return hki_cuda_grid(count, each, hki_cuda_stream_multiprocessors(stream));
}

/* Launches `kernel` for elements of float32 or float64, with integers that count them. */
#define CHOOSE(launch, f64, g, groups)                                                             \
    (is_small(g, groups) ? ((f64) ? launch<double, int> : launch<float, int>)                      \
                         : ((f64) ? launch<double, int64_t> : launch<float, int64_t>))

template <typename T, typename I>
static void launch_forward(hki_cuda_stream *stream, const hki_conv2d_geometry *g, int64_t groups,
                           const void *x, const void *weight, const void *bias, void *y)
{
    HKI_LAUNCH(stream, grid_of(stream, out_size(g), THREADS), THREADS, (convolve_few<T, I>),
               convolution_of<I>(g, groups), out_size(g), (const T *)x, (const T *)weight,
               (const T *)bias, (T *)y);
}

template <typename T, typename I>
static void launch_data(hki_cuda_stream *stream, const hki_conv2d_geometry *g, int64_t groups,
                        const void *dy, const void *weight, void *dx)
{
    HKI_LAUNCH(stream, grid_of(stream, in_size(g), THREADS), THREADS, (convolve_few_data<T, I>),
               convolution_of<I>(g, groups), in_size(g), (const T *)dy, (const T *)weight, (T *)dx);
}

template <typename T, typename I>
static void launch_weight(hki_cuda_stream *stream, const hki_conv2d_geometry *g, int64_t groups,
                          const void *x, const void *dy, void *dweight)
{
    const int64_t count = weight_size(g, groups);
    HKI_LAUNCH_TOGETHER(stream, grid_of(stream, count, 1), THREADS, (convolve_few_weight<T, I>),
                        convolution_of<I>(g, groups), count, (const T *)x, (const T *)dy,
                        (T *)dweight);
}

void hki_cuda_convolve_few(hki_cuda_stream *stream, bool f64, const hki_conv2d_geometry *geometry,
                           int64_t groups, const void *x, const void *weight, const void *bias,
                           void *y)
{
    CHOOSE(launch_forward, f64, geometry, groups)
    (stream, geometry, groups, x, weight, bias, y);
}

void hki_cuda_convolve_few_data(hki_cuda_stream *stream, bool f64,
                                const hki_conv2d_geometry *geometry, int64_t groups, const void *dy,
                                const void *weight, void *dx)
{
    CHOOSE(launch_data, f64, geometry, groups)
    (stream, geometry, groups, dy, weight, dx);
}

void hki_cuda_convolve_few_weight(hki_cuda_stream *stream, bool f64,
                                  const hki_conv2d_geometry *geometry, int64_t groups,
                                  const void *x, const void *dy, void *dweight)
{
    CHOOSE(launch_weight, f64, geometry, groups)
    (stream, geometry, groups, x, dy, dweight);
}
