/* All three are products of two matrices that are nowhere written down: an element is looked up where it lies when a
 * tile is brought into shared memory. Each group has a product of its own, whose arrays begin at its channels; the
 * geometry's channels are those of all groups. */
#include "op/cuda/cuda_conv2d_kernels.h"

#include "device/cuda/cuda_launch.cuh"

enum { THREADS = 256, SIDE = 32, DEPTH = 32, EACH = SIDE * SIDE / THREADS };

/* The element of x under tap (u, v) of the window at (i, j); false in the padding. */
HKI_DEVICE bool under(const hki_conv2d_geometry &g, int64_t i, int64_t j, int64_t u, int64_t v,
                      int64_t *offset)
{
    const int64_t row = i * g.stride_height - g.pad_height + u * g.dilation_height;
    const int64_t column = j * g.stride_width - g.pad_width + v * g.dilation_width;
    *offset = row * g.in_width + column;
    return row >= 0 && row < g.in_height && column >= 0 && column < g.in_width;
}

/* y: outputs times (channels, taps), times (channels, taps) times (samples, positions). */
template <typename Element> struct forward {
    typedef Element T;
    hki_conv2d_geometry g;
    int64_t groups;
    const T *x, *weight;
    T *y;
    int64_t rows, columns, depth;

    __device__ forward of_group(int64_t group) const
    {
        forward its = *this;
        its.x += group * (g.in_channels / groups) * g.in_height * g.in_width;
        its.weight += group * rows * depth;
        its.y += group * rows * g.out_height * g.out_width;
        return its;
    }
    __device__ T left(int64_t o, int64_t k) const
    {
        return weight[o * depth + k];
    }
    __device__ T right(int64_t k, int64_t column) const
    {
        const int64_t taps = g.kernel_height * g.kernel_width, plane = g.out_height * g.out_width;
        const int64_t c = k / taps, u = k % taps / g.kernel_width, v = k % g.kernel_width;
        const int64_t n = column / plane, i = column % plane / g.out_width;
        int64_t offset;
        return under(g, i, column % g.out_width, u, v, &offset)
                   ? x[(n * g.in_channels + c) * g.in_height * g.in_width + offset]
                   : T(0);
    }
    __device__ void store(int64_t o, int64_t column, T sum) const
    {
        const int64_t plane = g.out_height * g.out_width;
        y[(column / plane * g.out_channels + o) * plane + column % plane] = sum;
    }
};

/* x's gradient: channels times (outputs, taps), times (outputs, taps) times (samples, positions of x). */
template <typename Element> struct backward_data {
    typedef Element T;
    hki_conv2d_geometry g;
    int64_t groups;
    const T *dy, *weight;
    T *dx;
    int64_t rows, columns, depth;

    __device__ backward_data of_group(int64_t group) const
    {
        backward_data its = *this;
        its.dy += group * (g.out_channels / groups) * g.out_height * g.out_width;
        its.weight += group * rows * depth;
        its.dx += group * rows * g.in_height * g.in_width;
        return its;
    }
    __device__ T left(int64_t c, int64_t k) const
    {
        const int64_t taps = g.kernel_height * g.kernel_width;
        return weight[(k / taps * rows + c) * taps + k % taps];
    }
    __device__ T right(int64_t k, int64_t column) const
    {
        const int64_t taps = g.kernel_height * g.kernel_width, plane = g.in_height * g.in_width;
        const int64_t o = k / taps, u = k % taps / g.kernel_width, v = k % g.kernel_width;
        const int64_t down = column % plane / g.in_width + g.pad_height - u * g.dilation_height;
        const int64_t across = column % g.in_width + g.pad_width - v * g.dilation_width;
        if (down < 0 || across < 0 || down % g.stride_height || across % g.stride_width)
            return T(0);
        const int64_t i = down / g.stride_height, j = across / g.stride_width;
        if (i >= g.out_height || j >= g.out_width)
            return T(0);
        return dy[((column / plane * g.out_channels + o) * g.out_height + i) * g.out_width + j];
    }
    __device__ void store(int64_t c, int64_t column, T sum) const
    {
        const int64_t plane = g.in_height * g.in_width;
        dx[(column / plane * g.in_channels + c) * plane + column % plane] = sum;
    }
};

/* weight's gradient: outputs times (samples, positions), times (samples, positions) times (channels, taps). */
template <typename Element> struct backward_weight {
    typedef Element T;
    hki_conv2d_geometry g;
    int64_t groups;
    const T *x, *dy;
    T *dweight;
    int64_t rows, columns, depth;

    __device__ backward_weight of_group(int64_t group) const
    {
        backward_weight its = *this;
        its.x += group * (g.in_channels / groups) * g.in_height * g.in_width;
        its.dy += group * rows * g.out_height * g.out_width;
        its.dweight += group * rows * columns;
        return its;
    }
    __device__ T left(int64_t o, int64_t k) const
    {
        const int64_t plane = g.out_height * g.out_width;
        return dy[(k / plane * g.out_channels + o) * plane + k % plane];
    }
    __device__ T right(int64_t k, int64_t column) const
    {
        const int64_t taps = g.kernel_height * g.kernel_width, plane = g.out_height * g.out_width;
        const int64_t c = column / taps, u = column % taps / g.kernel_width;
        int64_t offset;
        return under(g, k % plane / g.out_width, k % g.out_width, u, column % g.kernel_width,
                     &offset)
                   ? x[(k / plane * g.in_channels + c) * g.in_height * g.in_width + offset]
                   : T(0);
    }
    __device__ void store(int64_t o, int64_t column, T sum) const
    {
        dweight[o * columns + column] = sum;
    }
};

/* A block makes a tile of SIDE x SIDE elements, DEPTH terms at a time; a thread EACH elements of one column. */
template <typename P> HKI_KERNEL void multiply(P all)
{
    typedef typename P::T T;
    HKI_SHARED T left[SIDE][DEPTH + 1];
    HKI_SHARED T right[DEPTH][SIDE];
    const int64_t down = (all.rows + SIDE - 1) / SIDE, across = (all.columns + SIDE - 1) / SIDE;
    const int column = (int)threadIdx.x % SIDE, row = (int)threadIdx.x / SIDE * EACH;
    for (int64_t tile = blockIdx.x; tile < all.groups * down * across; tile += gridDim.x) {
        const P p = all.of_group(tile / (down * across));
        const int64_t top = tile / across % down * SIDE, first = tile % across * SIDE;
        T sums[EACH] = {};
        for (int64_t at = 0; at < p.depth; at += DEPTH) {
            for (int i = (int)threadIdx.x; i < SIDE * DEPTH; i += THREADS) {
                const int r = i / SIDE, c = i % SIDE;
                left[r][c] = top + r < p.rows && at + c < p.depth ? p.left(top + r, at + c) : T(0);
                right[r][c] =
                    at + r < p.depth && first + c < p.columns ? p.right(at + r, first + c) : T(0);
            }
            __syncthreads();
            for (int k = 0; k < DEPTH; k++)
                for (int i = 0; i < EACH; i++)
                    sums[i] += left[row + i][k] * right[k][column];
            __syncthreads();
        }
        for (int i = 0; i < EACH; i++)
            if (top + row + i < p.rows && first + column < p.columns)
                p.store(top + row + i, first + column, sums[i]);
    }
}

template <typename P> static void launch(hki_cuda_stream *stream, const P &p)
{
    const int64_t tiles = p.groups * ((p.rows + SIDE - 1) / SIDE) * ((p.columns + SIDE - 1) / SIDE);
    const unsigned grid = hki_cuda_grid(tiles, 1, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH_TOGETHER(stream, grid, THREADS, multiply<P>, p);
}

template <typename T>
static void launch_forward(hki_cuda_stream *stream, const hki_conv2d_geometry *g, int64_t groups,
                           const void *x, const void *weight, void *y)
{
    const forward<T> p = {*g,
                          groups,
                          (const T *)x,
                          (const T *)weight,
                          (T *)y,
                          g->out_channels / groups,
                          g->samples * g->out_height * g->out_width,
                          g->in_channels / groups * g->kernel_height * g->kernel_width};
    launch(stream, p);
}

template <typename T>
static void launch_data(hki_cuda_stream *stream, const hki_conv2d_geometry *g, int64_t groups,
                        const void *dy, const void *weight, void *dx)
{
    const backward_data<T> p = {*g,
                                groups,
                                (const T *)dy,
                                (const T *)weight,
                                (T *)dx,
                                g->in_channels / groups,
                                g->samples * g->in_height * g->in_width,
                                g->out_channels / groups * g->kernel_height * g->kernel_width};
    launch(stream, p);
}

template <typename T>
static void launch_weight(hki_cuda_stream *stream, const hki_conv2d_geometry *g, int64_t groups,
                          const void *x, const void *dy, void *dweight)
{
    const backward_weight<T> p = {*g,
                                  groups,
                                  (const T *)x,
                                  (const T *)dy,
                                  (T *)dweight,
                                  g->out_channels / groups,
                                  g->in_channels / groups * g->kernel_height * g->kernel_width,
                                  g->samples * g->out_height * g->out_width};
    launch(stream, p);
}

void hki_cuda_convolve(hki_cuda_stream *stream, bool f64, const hki_conv2d_geometry *geometry,
                       int64_t groups, const void *x, const void *weight, void *y)
{
    if (f64)
        launch_forward<double>(stream, geometry, groups, x, weight, y);
    else
        launch_forward<float>(stream, geometry, groups, x, weight, y);
}

void hki_cuda_convolve_data(hki_cuda_stream *stream, bool f64, const hki_conv2d_geometry *geometry,
                            int64_t groups, const void *dy, const void *weight, void *dx)
{
    if (f64)
        launch_data<double>(stream, geometry, groups, dy, weight, dx);
    else
        launch_data<float>(stream, geometry, groups, dy, weight, dx);
}

void hki_cuda_convolve_weight(hki_cuda_stream *stream, bool f64,
                              const hki_conv2d_geometry *geometry, int64_t groups, const void *x,
                              const void *dy, void *dweight)
{
    if (f64)
        launch_weight<double>(stream, geometry, groups, x, dy, dweight);
    else
        launch_weight<float>(stream, geometry, groups, x, dy, dweight);
}
