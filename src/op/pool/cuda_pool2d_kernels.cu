/* Kernels of pooling over contiguous planes of float32 or float64: meaning and order of sums as
 * in op/pool/pool2d_kernel.h. Gradients are gathered, each element of dx from the windows that
 * it is in, so that nothing is added by chance. cuDNN's maximum takes any of several largest
 * elements, and its gradient has no fixed order of sums. */
#include "op/pool/pool2d.h"

#include "device/cuda/cuda_launch.cuh"
#include "op/cuda/cuda_calls.h"

enum { THREADS = 256 };

/* Of what numbers are divided by: of 32 bits, a multiplication. */
template <typename I> struct divisor {
    I by;
    __device__ I of(I n) const
    {
        return n / by;
    }
};
template <> struct divisor<int32_t> {
    hki_cuda_divider by;
    __device__ int32_t of(int32_t n) const
    {
        return (int32_t)hki_cuda_divide((uint32_t)n, by);
    }
};

static void set_divisor(divisor<int64_t> *self, int64_t by)
{
    self->by = by;
}
static void set_divisor(divisor<int32_t> *self, int64_t by)
{
    self->by = hki_cuda_divider_of(by);
}

/* A pooling with integers I that hold every offset and window. No gaps. */
template <typename Element, typename Integer> struct pooling {
    typedef Element T;
    typedef Integer I;
    divisor<I> by_in_height, by_in_width, by_out_height, by_out_width;
    divisor<I> by_stride_height, by_stride_width;
    I in_height, in_width, out_height, out_width;
    I kernel_height, kernel_width, stride_height, stride_width, pad_height, pad_width;
    int64_t count_include_pad; /* not 0: yes. No gap follows it */
    int64_t planes;
    const T *x, *dy; /* dy: or v */
    T *to;           /* y or dx */
    I *winners; /* of each window the offset of its largest element, where one kernel tells another */
};

/* An element of contiguous planes. */
template <typename I> struct place {
    I plane, row, column;
};

template <typename I>
HKI_DEVICE place<I> place_of(I at, I height, divisor<I> by_height, I width, divisor<I> by_width)
{
    const I line = by_width.of(at), plane = by_height.of(line);
    return {plane, line - plane * height, at - line * width};
}
template <typename P> HKI_DEVICE place<typename P::I> place_in(const P &p, int64_t at)
{
    return place_of((typename P::I)at, p.in_height, p.by_in_height, p.in_width, p.by_in_width);
}
template <typename P> HKI_DEVICE place<typename P::I> place_out(const P &p, int64_t at)
{
    return place_of((typename P::I)at, p.out_height, p.by_out_height, p.out_width, p.by_out_width);
}

/* The elements [begin, end) of an axis of `size` that window `at` covers. */
template <typename I> struct covered {
    I begin, end;
};

template <typename I> HKI_DEVICE covered<I> window_of(I at, I stride, I pad, I kernel, I size)
{
    const I start = at * stride - pad, end = start + kernel;
    return {start < 0 ? 0 : start, end > size ? size : end};
}

/* The windows [begin, end) that cover element `at`. */
template <typename I>
HKI_DEVICE covered<I> windows_over(I at, divisor<I> by_stride, I pad, I kernel, I count)
{
    const I last = by_stride.of(at + pad), before = at + pad - kernel;
    return {before < 0 ? 0 : by_stride.of(before) + 1, last < count ? last + 1 : count};
}

/* Whether v is larger than the largest so far: the first of equals stays, a NaN is larger than numbers. */
template <typename T> HKI_DEVICE bool wins(T v, T largest)
{
    return !(v <= largest) && largest == largest;
}

/* Offset in the plane of the largest element of the window at (i, j), or -1 where it is all padding. */
template <typename P>
HKI_DEVICE typename P::I largest(const P &p, const typename P::T *plane, typename P::I i,
                                 typename P::I j)
{
    typedef typename P::I I;
    const covered<I> rows =
        window_of(i, p.stride_height, p.pad_height, p.kernel_height, p.in_height);
    const covered<I> columns =
        window_of(j, p.stride_width, p.pad_width, p.kernel_width, p.in_width);
    I best = -1;
    typename P::T value =
        0; /* of the best: not looked up again, which the next one would wait for */
    for (I r = rows.begin; r < rows.end; r++)
        for (I c = columns.begin; c < columns.end; c++) {
            const typename P::T other = plane[r * p.in_width + c];
            if (best < 0 || wins(other, value)) {
                best = r * p.in_width + c;
                value = other;
            }
        }
    return best;
}

/* Elements of window `at` of an axis, padding too, but not what is beyond. */
template <typename I> HKI_DEVICE I padded_count(I at, I stride, I pad, I kernel, I size)
{
    const I left = size + 2 * pad - at * stride;
    return left < kernel ? left : kernel;
}

/* By how many elements a window's sum is divided. */
template <typename P>
HKI_DEVICE typename P::I window_count(const P &p, typename P::I i, typename P::I j)
{
    typedef typename P::I I;
    if (p.count_include_pad)
        return padded_count(i, p.stride_height, p.pad_height, p.kernel_height, p.in_height) *
               padded_count(j, p.stride_width, p.pad_width, p.kernel_width, p.in_width);
    const covered<I> rows =
        window_of(i, p.stride_height, p.pad_height, p.kernel_height, p.in_height);
    const covered<I> columns =
        window_of(j, p.stride_width, p.pad_width, p.kernel_width, p.in_width);
    return rows.begin < rows.end && columns.begin < columns.end
               ? (rows.end - rows.begin) * (columns.end - columns.begin)
               : 1;
}

template <typename P>
HKI_DEVICE typename P::I largest_at(const P &p, const typename P::T *plane,
                                    const place<typename P::I> &window)
{
    return largest(p, plane, window.row, window.column);
}

template <typename P> HKI_KERNEL void max_forward(P p)
{
    typedef typename P::I I;
    const int64_t size = p.planes * p.out_height * p.out_width;
    for (int64_t at = HKI_THREAD_INDEX; at < size; at += HKI_THREAD_COUNT) {
        const place<I> window = place_out(p, at);
        const auto *plane = p.x + window.plane * p.in_height * p.in_width;
        const I best = largest_at(p, plane, window);
        p.to[at] = best < 0 ? (typename P::T) - INFINITY : plane[best];
    }
}

/* The element of v where x is the largest. */
template <typename P> HKI_KERNEL void max_pick(P p)
{
    typedef typename P::I I;
    const int64_t size = p.planes * p.out_height * p.out_width;
    for (int64_t at = HKI_THREAD_INDEX; at < size; at += HKI_THREAD_COUNT) {
        const place<I> window = place_out(p, at);
        const I plane = window.plane * p.in_height * p.in_width;
        const I best = largest_at(p, p.x + plane, window);
        p.to[at] = best < 0 ? 0 : p.dy[plane + best];
    }
}

template <typename P> HKI_KERNEL void max_winners(P p)
{
    const int64_t size = p.planes * p.out_height * p.out_width;
    for (int64_t at = HKI_THREAD_INDEX; at < size; at += HKI_THREAD_COUNT) {
        const place<typename P::I> window = place_out(p, at);
        p.winners[at] = largest_at(p, p.x + window.plane * p.in_height * p.in_width, window);
    }
}

/* Of an element: visit(i, j) for the windows that it is in. */
template <typename P, typename F>
HKI_DEVICE void each_window(const P &p, const place<typename P::I> &element, F visit)
{
    typedef typename P::I I;
    const covered<I> is =
        windows_over(element.row, p.by_stride_height, p.pad_height, p.kernel_height, p.out_height);
    const covered<I> js =
        windows_over(element.column, p.by_stride_width, p.pad_width, p.kernel_width, p.out_width);
    for (I i = is.begin; i < is.end; i++)
        for (I j = js.begin; j < js.end; j++)
            visit(i, j);
}

/* HAS: of the windows it is known which element wins; else each is looked through again. */
template <typename P, bool HAS> HKI_KERNEL void max_backward(P p)
{
    typedef typename P::I I;
    const int64_t size = p.planes * p.in_height * p.in_width;
    for (int64_t at = HKI_THREAD_INDEX; at < size; at += HKI_THREAD_COUNT) {
        const place<I> element = place_in(p, at);
        const I own = element.row * p.in_width + element.column;
        const I windows = element.plane * p.out_height * p.out_width;
        typename P::T sum = 0;
        each_window(p, element, [&](I i, I j) {
            const I window = windows + i * p.out_width + j;
            const I best = HAS ? p.winners[window]
                               : largest(p, p.x + element.plane * p.in_height * p.in_width, i, j);
            if (best == own)
                sum += p.dy[window];
        });
        p.to[at] = sum;
    }
}

template <typename P> HKI_KERNEL void average_forward(P p)
{
    typedef typename P::I I;
    const int64_t size = p.planes * p.out_height * p.out_width;
    for (int64_t at = HKI_THREAD_INDEX; at < size; at += HKI_THREAD_COUNT) {
        const place<I> window = place_out(p, at);
        const auto *plane = p.x + window.plane * p.in_height * p.in_width;
        const covered<I> rows =
            window_of(window.row, p.stride_height, p.pad_height, p.kernel_height, p.in_height);
        const covered<I> columns =
            window_of(window.column, p.stride_width, p.pad_width, p.kernel_width, p.in_width);
        double sum = 0; /* of which a float may be too small for the whole */
        for (I r = rows.begin; r < rows.end; r++)
            for (I c = columns.begin; c < columns.end; c++)
                sum += (double)plane[r * p.in_width + c];
        p.to[at] = (typename P::T)(sum / (double)window_count(p, window.row, window.column));
    }
}

template <typename P> HKI_KERNEL void average_backward(P p)
{
    typedef typename P::I I;
    const int64_t size = p.planes * p.in_height * p.in_width;
    for (int64_t at = HKI_THREAD_INDEX; at < size; at += HKI_THREAD_COUNT) {
        const place<I> element = place_in(p, at);
        const auto *dy = p.dy + element.plane * p.out_height * p.out_width;
        typename P::T sum = 0;
        each_window(p, element, [&](I i, I j) {
            sum += dy[i * p.out_width + j] / (typename P::T)window_count(p, i, j);
        });
        p.to[at] = sum;
    }
}

/* ---- launches ------------------------------------------------------------------------------------------ */

enum which { MAX, MAX_PICK, MAX_BACKWARD, AVERAGE, AVERAGE_BACKWARD };

template <typename T, typename I>
static pooling<T, I> pooling_of(const hki_pool2d_geometry *g, int64_t planes, const void *x,
                                const void *dy, void *to)
{
    pooling<T, I> p = {};
    set_divisor(&p.by_in_height, g->in_height);
    set_divisor(&p.by_in_width, g->in_width);
    set_divisor(&p.by_out_height, g->out_height);
    set_divisor(&p.by_out_width, g->out_width);
    set_divisor(&p.by_stride_height, g->stride_height);
    set_divisor(&p.by_stride_width, g->stride_width);
    p.in_height = (I)g->in_height;
    p.in_width = (I)g->in_width;
    p.out_height = (I)g->out_height;
    p.out_width = (I)g->out_width;
    p.kernel_height = (I)g->kernel_height;
    p.kernel_width = (I)g->kernel_width;
    p.stride_height = (I)g->stride_height;
    p.stride_width = (I)g->stride_width;
    p.pad_height = (I)g->pad_height;
    p.pad_width = (I)g->pad_width;
    p.count_include_pad = g->count_include_pad;
    p.planes = planes;
    p.x = (const T *)x;
    p.dy = (const T *)dy;
    p.to = (T *)to;
    return p;
}

template <typename T, typename I>
static void launch(hki_cuda_stream *stream, which kernel, const hki_pool2d_geometry *g,
                   int64_t planes, const void *x, const void *dy, void *to)
{
    typedef pooling<T, I> P;
    const int64_t windows = planes * g->out_height * g->out_width;
    const int multiprocessors = hki_cuda_stream_multiprocessors(stream);
    const unsigned out_grid = hki_cuda_grid(windows, THREADS, multiprocessors);
    const unsigned in_grid =
        hki_cuda_grid(planes * g->in_height * g->in_width, THREADS, multiprocessors);
    P p = pooling_of<T, I>(g, planes, x, dy, to);
    switch (kernel) {
    case MAX:
        HKI_LAUNCH(stream, out_grid, THREADS, max_forward<P>, p);
        break;
    case MAX_PICK:
        HKI_LAUNCH(stream, out_grid, THREADS, max_pick<P>, p);
        break;
    case MAX_BACKWARD:
        if (!hki_cuda_has_workspace(stream, (size_t)windows * sizeof(I))) {
            HKI_LAUNCH(stream, in_grid, THREADS, (max_backward<P, false>), p);
            break;
        }
        p.winners = (I *)hki_cuda_workspace(stream, (size_t)windows * sizeof(I));
        if (!p.winners)
            return;
        HKI_LAUNCH(stream, out_grid, THREADS, max_winners<P>, p);
        HKI_LAUNCH(stream, in_grid, THREADS, (max_backward<P, true>), p);
        break;
    case AVERAGE:
        HKI_LAUNCH(stream, out_grid, THREADS, average_forward<P>, p);
        break;
    case AVERAGE_BACKWARD:
        HKI_LAUNCH(stream, in_grid, THREADS, average_backward<P>, p);
        break;
    }
}

/* Sums and products of what 32-bit kernels compute with stay below 2^31. */
static bool fits_32(const hki_pool2d_geometry *g, int64_t planes)
{
    const int64_t limit = (int64_t)1 << 30;
    return g->in_height < limit && g->in_width < limit && g->kernel_height < limit >> 1 &&
           g->kernel_width < limit >> 1 && g->stride_height < limit && g->stride_width < limit &&
           g->kernel_height * g->kernel_width < limit &&
           planes * g->in_height * g->in_width < limit &&
           planes * g->out_height * g->out_width < limit;
}

/* x: whose planes are pooled; its data is NULL where a kernel does not read it. dy: or v. */
static void launch_any(hki_cuda_stream *stream, which kernel, const hki_tensor &x,
                       const hki_pool2d_geometry &g, const void *dy, const hki_tensor &to)
{
    const int64_t planes = x.dims[0] * x.dims[1];
    const bool f64 = x.dtype == HK_F64;
    if (to.size == 0)
        return;
    if (fits_32(&g, planes))
        (f64 ? launch<double, int32_t> : launch<float, int32_t>)(stream, kernel, &g, planes, x.data,
                                                                 dy, to.data);
    else
        (f64 ? launch<double, int64_t> : launch<float, int64_t>)(stream, kernel, &g, planes, x.data,
                                                                 dy, to.data);
}

static void call_max(const hki_kernel_call *call, hki_cuda_stream *stream, which kernel)
{
    const hki_tensor &x = call->in[0];
    const hki_pool2d_geometry g = hki_pool2d_geometry_of(x.dims[2], x.dims[3], call->options);
    launch_any(stream, kernel, x, g, hki_input_of<void>(call, 1), call->out[0]);
}

void hki_cuda_max_pool2d(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    call_max(call, stream, MAX);
}

void hki_cuda_max_pool2d_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    call_max(call, stream, MAX_BACKWARD);
}

void hki_cuda_max_pool2d_pick(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    call_max(call, stream, MAX_PICK);
}

void hki_cuda_avg_pool2d(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &x = call->in[0];
    const hki_pool2d_geometry g = hki_pool2d_average_geometry(x.dims[2], x.dims[3], call->options);
    launch_any(stream, AVERAGE, x, g, nullptr, call->out[0]);
}

void hki_cuda_avg_pool2d_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    hki_tensor x = call->out[0]; /* of the shape alone */
    const hki_pool2d_geometry g = hki_pool2d_average_geometry(x.dims[2], x.dims[3], call->options);
    x.data = nullptr;
    launch_any(stream, AVERAGE_BACKWARD, x, g, call->in[0].data, call->out[0]);
}
