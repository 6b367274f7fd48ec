/* Softmax and what is built on it. Arrays are contiguous; exponentials are those of the
 * processor's kernels, their sums are in double, in an order that follows from the shapes. */
#include "op/softmax_norm/softmax.h"

#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_walk.cuh"
#include "op/reduce/line.h"
#include "op/softmax_norm/cuda_line.cuh"

#include <stdio.h>

/* ---- lines in registers ---------------------------------------------------------------------------------------- */

/* A contiguous line, each element of which is read once: this lane's packs of it, in the places behind its end -infinity.
 * The order of sums is that of packs and lanes, be they read in one go or not. */
template <class Element, int PACKS> struct held_line {
    static constexpr int N = HKI_CUDA_HELD_BYTES / (int)sizeof(Element);
    hki_pack<Element, N> packs[PACKS];

    __device__ static int64_t first(const hki_lane &at, int pack)
    {
        return ((int64_t)pack * at.lanes + at.lane) * N;
    }
    __device__ void load(const hki_lane &at, const Element *x, int64_t size, bool is_wide)
    {
        HKI_UNROLL
        for (int k = 0; k < PACKS; k++) {
            const int64_t begin = first(at, k);
            for (int j = 0; j < N; j++)
                packs[k].at[j] = !is_wide && begin + j < size ? x[begin + j] : (Element)-INFINITY;
        }
        if (!is_wide)
            return;
        /* Nothing else is in between, so that all are on their way at once. */
        HKI_UNROLL
        for (int k = 0; k < PACKS; k++)
            if (first(at, k) < size)
                packs[k] = *reinterpret_cast<const hki_pack<Element, N> *>(x + first(at, k));
    }
    __device__ void store(const hki_lane &at, Element *y, int64_t size, bool is_wide) const
    {
        HKI_UNROLL
        for (int k = 0; k < PACKS; k++) {
            const int64_t begin = first(at, k);
            if (is_wide && begin + N <= size)
                *reinterpret_cast<hki_pack<Element, N> *>(y + begin) = packs[k];
            else
                for (int j = 0; j < N; j++)
                    if (begin + j < size)
                        y[begin + j] = packs[k].at[j];
        }
    }
    /* change(element): what it becomes */
    template <class F> __device__ void each(F change)
    {
        HKI_UNROLL
        for (int k = 0; k < PACKS; k++)
            for (int j = 0; j < N; j++)
                packs[k].at[j] = change(packs[k].at[j]);
    }
    /* Elements become element - max, or the exponential of that; every lane gets max and the sum of the exponentials. */
    __device__ hki_line_sums<Element> shift(const hki_lane &at, bool to_exponentials,
                                            Element *max_room, double *sum_room)
    {
        hki_line_sums<Element> line = {(Element)-INFINITY, 0};
        each([&](Element x) {
            line.max = hki_larger<Element>::join(line.max, x);
            return x;
        });
        line.max = hki_join_lanes<hki_larger<Element>>(at, line.max, max_room);
        each([&](Element x) {
            const Element above = x - line.max, power = hki_exp_of(above);
            line.sum += (double)power;
            return to_exponentials ? power : above;
        });
        line.sum = hki_join_lanes<hki_added>(at, line.sum, sum_room);
        return line;
    }
};

template <class Element> static bool is_wide_line(int64_t size)
{
    return size % (HKI_CUDA_HELD_BYTES / (int)sizeof(Element)) == 0;
}

/* Whether lines that begin at multiples of packs can be read by packs. */
static bool is_aligned(const void *x)
{
    return (uintptr_t)x % HKI_CUDA_HELD_BYTES == 0;
}

/* Launches `kernel` with as many packs as the lines take. */
#define LAUNCH_HELD(stream, held, kernel, Element, ...)                                            \
    do {                                                                                           \
        const unsigned grid =                                                                      \
            hki_cuda_grid((held).tile.tiles, 1, hki_cuda_stream_multiprocessors(stream));          \
        if ((held).packs == 1)                                                                     \
            HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (kernel<Element, 1>), __VA_ARGS__);   \
        else if ((held).packs == 2)                                                                \
            HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (kernel<Element, 2>), __VA_ARGS__);   \
        else if ((held).packs == 4)                                                                \
            HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (kernel<Element, 4>), __VA_ARGS__);   \
        else                                                                                       \
            HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (kernel<Element, 8>), __VA_ARGS__);   \
    } while (0)

/* ---- softmax ------------------------------------------------------------------------------------------------- */

template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE)
    softmax(const bool log_of, const Element *x, Element *y, const int64_t count,
            const int64_t size, const int64_t inner, const hki_cuda_tile tile)
{
    HKI_SHARED Element max_room[HKI_CUDA_TILE];
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, tile.by_rows);
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const int64_t i = block * at.columns + at.column;
        const int64_t own_size = i < count ? size : 0;
        int64_t first = 0;
        if (i < count) /* a division is as much work as an exponential */
            first = inner == 1 ? i * size : i / inner * size * inner + i % inner;
        const hki_line_sums<Element> line =
            hki_sum_line(at, x + first, own_size, inner, max_room, sum_room);
        const Element scale = log_of ? (Element)log(line.sum) : (Element)(1 / line.sum);
        for (int64_t j = at.lane; j < own_size; j += at.lanes) {
            const Element above = x[first + j * inner] - line.max;
            y[first + j * inner] = log_of ? above - scale : hki_exp_of(above) * scale;
        }
    }
}

template <class Element, int PACKS>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE)
    held_softmax(const bool log_of, const bool is_wide, const Element *x, Element *y,
                 const int64_t count, const int64_t size, const hki_cuda_tile tile)
{
    HKI_SHARED Element max_room[HKI_CUDA_TILE];
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, false);
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const int64_t i = block * at.columns + at.column, own_size = i < count ? size : 0;
        const int64_t begin = i < count ? i * size : 0;
        held_line<Element, PACKS> held;
        held.load(at, x + begin, own_size, is_wide);
        const hki_line_sums<Element> line = held.shift(at, !log_of, max_room, sum_room);
        const Element scale = log_of ? (Element)log(line.sum) : (Element)(1 / line.sum);
        held.each([&](Element its) { return log_of ? its - scale : its * scale; });
        held.store(at, y + begin, own_size, is_wide);
    }
}

template <class Element>
static void launch_softmax(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &of = call->in[0];
    const hki_lines lines =
        hki_lines_of(of.ndim, of.dims, hki_options_of<hki_softmax_options>(call)->axis);
    const bool log_of = hki_cuda_op_of(call) == HKI_OP_ID_log_softmax;
    const Element *x = hki_input_of<Element>(call, 0);
    Element *y = hki_output_of<Element>(call, 0);
    const hki_cuda_held held = hki_cuda_held_of(lines.count, lines.size, (int)sizeof(Element));
    if (lines.inner == 1 && held.packs) {
        const bool is_wide = is_aligned(x) && is_aligned(y) && is_wide_line<Element>(lines.size);
        LAUNCH_HELD(stream, held, held_softmax, Element, log_of, is_wide, x, y, lines.count,
                    lines.size, held.tile);
        return;
    }
    const hki_cuda_tile tile = hki_cuda_line_tile(lines.count, lines.size, lines.inner > 1);
    const unsigned grid = hki_cuda_grid(tile.tiles, 1, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, softmax<Element>, log_of, x, y, lines.count,
                        lines.size, lines.inner, tile);
}

void hki_cuda_call_softmax(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    if (call->in[0].size > 0)
        (call->in[0].dtype == HK_F32 ? launch_softmax<float> : launch_softmax<double>)(call,
                                                                                       stream);
}

/* ---- its gradient --------------------------------------------------------------------------------------------- */

template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE)
    softmax_gradient(const Element *y, const Element *dy, Element *dx, const int64_t count,
                     const int64_t size, const hki_cuda_tile tile)
{
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, tile.by_rows);
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const int64_t i = block * at.columns + at.column;
        const int64_t own_size = i < count ? size : 0, begin = i < count ? i * size : 0;
        double sum = 0;
        for (int64_t j = at.lane; j < own_size; j += at.lanes)
            sum += (double)y[begin + j] * (double)dy[begin + j];
        sum = hki_join_lanes<hki_added>(at, sum, sum_room);
        for (int64_t j = at.lane; j < own_size; j += at.lanes)
            dx[begin + j] = y[begin + j] * (dy[begin + j] - (Element)sum);
    }
}

template <class Element, int PACKS>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE)
    held_softmax_gradient(const bool is_wide, const Element *y, const Element *dy, Element *dx,
                          const int64_t count, const int64_t size, const hki_cuda_tile tile)
{
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, false);
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const int64_t i = block * at.columns + at.column;
        const int64_t own_size = i < count ? size : 0, begin = i < count ? i * size : 0;
        held_line<Element, PACKS> held, given;
        held.load(at, y + begin, own_size, is_wide);
        given.load(at, dy + begin, own_size, is_wide);
        double sum = 0;
        HKI_UNROLL
        for (int k = 0; k < PACKS; k++)
            for (int j = 0; j < held.N; j++)
                if (held.first(at, k) + j < own_size)
                    sum += (double)held.packs[k].at[j] * (double)given.packs[k].at[j];
        const Element share = (Element)hki_join_lanes<hki_added>(at, sum, sum_room);
        HKI_UNROLL
        for (int k = 0; k < PACKS; k++)
            for (int j = 0; j < held.N; j++)
                held.packs[k].at[j] *= given.packs[k].at[j] - share;
        held.store(at, dx + begin, own_size, is_wide);
    }
}

/* Lines that are longer than a few packs a lane would take more registers than there are: two arrays are held. */
template <class Element>
static void launch_softmax_gradient(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &of = call->in[0];
    const int64_t size = of.dims[of.ndim - 1], count = of.size / size;
    const Element *y = hki_input_of<Element>(call, 0), *dy = hki_input_of<Element>(call, 1);
    Element *dx = hki_output_of<Element>(call, 0);
    const hki_cuda_held held = hki_cuda_held_of(count, size, (int)sizeof(Element));
    const unsigned held_grid =
        hki_cuda_grid(held.tile.tiles, 1, hki_cuda_stream_multiprocessors(stream));
    const bool is_wide =
        is_aligned(y) && is_aligned(dy) && is_aligned(dx) && is_wide_line<Element>(size);
    if (held.packs == 1) {
        HKI_LAUNCH_TOGETHER(stream, held_grid, HKI_CUDA_TILE, (held_softmax_gradient<Element, 1>),
                            is_wide, y, dy, dx, count, size, held.tile);
    } else if (held.packs == 2) {
        HKI_LAUNCH_TOGETHER(stream, held_grid, HKI_CUDA_TILE, (held_softmax_gradient<Element, 2>),
                            is_wide, y, dy, dx, count, size, held.tile);
    } else if (held.packs == 4) {
        HKI_LAUNCH_TOGETHER(stream, held_grid, HKI_CUDA_TILE, (held_softmax_gradient<Element, 4>),
                            is_wide, y, dy, dx, count, size, held.tile);
    } else {
        const hki_cuda_tile tile = hki_cuda_line_tile(count, size, false);
        const unsigned grid = hki_cuda_grid(tile.tiles, 1, hki_cuda_stream_multiprocessors(stream));
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, softmax_gradient<Element>, y, dy, dx,
                            count, size, tile);
    }
}

void hki_cuda_call_softmax_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    if (call->in[0].size > 0)
        (call->in[0].dtype == HK_F32 ? launch_softmax_gradient<float>
                                     : launch_softmax_gradient<double>)(call, stream);
}

/* ---- cross entropy --------------------------------------------------------------------------------------------- */

/* The row's label, and how many of its logits count: none where that is no class, which `reports` says to report. */
HKI_DEVICE int64_t checked_size(const void *labels, hk_dtype dtype, int64_t row, int64_t classes,
                                bool reports, hki_cuda_fault *fault, int64_t *label,
                                bool *has_reported)
{
    *label = hki_label_of(labels, dtype, row);
    if (*label >= 0 && *label < classes)
        return classes;
    if (reports)
        hki_cuda_report_value(fault, row, *label);
    *has_reported = true;
    return 0;
}

template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE)
    cross_entropy(const Element *x, const void *labels, const hk_dtype label_dtype,
                  const Element *dy, Element *y, const int64_t rows, const int64_t classes,
                  const hki_cuda_tile tile, hki_cuda_fault *fault)
{
    HKI_SHARED Element max_room[HKI_CUDA_TILE];
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, tile.by_rows);
    bool has_reported = false; /* the lowest of its rows is enough */
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const int64_t row = block * at.columns + at.column;
        int64_t size = 0, label = 0;
        const Element *logits = x + (row < rows ? row * classes : 0);
        if (row < rows)
            size = checked_size(labels, label_dtype, row, classes, at.lane == 0 && !has_reported,
                                fault, &label, &has_reported);
        const hki_line_sums<Element> line = hki_sum_line(at, logits, size, 1, max_room, sum_room);
        if (!dy && size > 0 && at.lane == 0)
            y[row] = (Element)(log(line.sum) + ((double)line.max - (double)logits[label]));
        const Element scale = (Element)(1 / line.sum);
        for (int64_t j = at.lane; dy && j < size; j += at.lanes) {
            const Element share = hki_exp_of(logits[j] - line.max) * scale;
            const Element its_dy = dy[row]; /* what does not count may be NaN */
            y[row * classes + j] = its_dy != 0 ? (j == label ? share - 1 : share) * its_dy : 0;
        }
    }
}

/* The same, where classes are few enough. */
template <class Element, int PACKS>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE)
    held_cross_entropy(const bool is_wide, const Element *x, const void *labels,
                       const hk_dtype label_dtype, const Element *dy, Element *y,
                       const int64_t rows, const int64_t classes, const hki_cuda_tile tile,
                       hki_cuda_fault *fault)
{
    HKI_SHARED Element max_room[HKI_CUDA_TILE];
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, false);
    bool has_reported = false;
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const int64_t row = block * at.columns + at.column;
        const int64_t begin = row < rows ? row * classes : 0;
        int64_t size = 0, label = 0;
        if (row < rows)
            size = checked_size(labels, label_dtype, row, classes, at.lane == 0 && !has_reported,
                                fault, &label, &has_reported);
        held_line<Element, PACKS> held;
        held.load(at, x + begin, size, is_wide);
        const hki_line_sums<Element> line = held.shift(at, true, max_room, sum_room);
        if (!dy && size > 0 && at.lane == 0)
            y[row] = (Element)(log(line.sum) + ((double)line.max - (double)x[begin + label]));
        if (!dy || size == 0)
            continue;
        const Element scale = (Element)(1 / line.sum), its_dy = dy[row];
        for (int k = 0; k < PACKS; k++)
            for (int j = 0; j < held.N; j++) {
                const Element share = held.packs[k].at[j] * scale;
                const bool is_label = held.first(at, k) + j == label;
                held.packs[k].at[j] = its_dy != 0 ? (is_label ? share - 1 : share) * its_dy : 0;
            }
        held.store(at, y + begin, size, is_wide);
    }
}

/* dy NULL: y becomes the losses of the rows, else their gradients. */
template <class Element>
static void launch_cross_entropy(const hki_kernel_call *call, hki_cuda_stream *stream,
                                 const Element *dy, hki_cuda_fault *fault)
{
    const int64_t rows = call->in[0].dims[0], classes = call->in[0].dims[1];
    const hk_dtype label_dtype = call->in[1].dtype;
    const Element *x = hki_input_of<Element>(call, 0);
    const void *labels = call->in[1].data;
    Element *y = hki_output_of<Element>(call, 0);
    const hki_cuda_held held = hki_cuda_held_of(rows, classes, (int)sizeof(Element));
    if (held.packs) {
        const bool is_wide =
            is_aligned(x) && (!dy || is_aligned(y)) && is_wide_line<Element>(classes);
        LAUNCH_HELD(stream, held, held_cross_entropy, Element, is_wide, x, labels, label_dtype, dy,
                    y, rows, classes, held.tile, fault);
        return;
    }
    const hki_cuda_tile tile = hki_cuda_line_tile(rows, classes, false);
    const unsigned grid = hki_cuda_grid(tile.tiles, 1, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, cross_entropy<Element>, x, labels, label_dtype,
                        dy, y, rows, classes, tile, fault);
}

static hk_code describe(const hki_cuda_fault *fault, int64_t classes, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "labels[%lld] is %lld, but logits has %lld classes, so that a label is in [0, %lld)",
             (long long)hki_cuda_fault_row(fault), (long long)hki_cuda_fault_value(fault),
             (long long)classes, (long long)classes);
    return HK_OUT_OF_RANGE;
}

static void call_cross_entropy(const hki_kernel_call *call, hki_cuda_stream *stream, const void *dy)
{
    const hki_tensor &x = call->in[0];
    hki_cuda_fault *fault = x.size > 0 ? hki_cuda_fault_slot(stream, describe, x.dims[1]) : nullptr;
    if (fault && x.dtype == HK_F32)
        launch_cross_entropy(call, stream, static_cast<const float *>(dy), fault);
    else if (fault)
        launch_cross_entropy(call, stream, static_cast<const double *>(dy), fault);
}

void hki_cuda_call_cross_entropy(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    call_cross_entropy(call, stream, nullptr);
}

void hki_cuda_call_cross_entropy_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    call_cross_entropy(call, stream, call->in[2].data);
}
