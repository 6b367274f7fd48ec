/* Pooling. Hocket's operators pool two axes without dilation; further axes go one at a time, as
 * the largest and sums are separable. */
#include "compute.h"
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef enum pool_kind { POOL_MAX, POOL_MEAN } pool_kind;

/* ---- a few axes ------------------------------------------------------------------------------ */

/* Entries before and behind so that all windows, and no more, fit. Behind: negative where
 * entries are left over. */
static int64_t missing_behind(const onnx_windows *windows, int axis)
{
    return (windows->out[axis] - 1) * windows->stride[axis] + onnx_window_span(windows, axis) -
           windows->in[axis] - windows->before[axis];
}

static hk_array *pad_axis(hk_array *x, const onnx_windows *windows, int axis, double value)
{
    const int64_t behind = missing_behind(windows, axis);
    if (behind < 0)
        x = hk_slice(x, axis + 2, 0, windows->in[axis] + behind);
    const int64_t width[2] = {windows->before[axis], behind > 0 ? behind : 0};
    return width[0] || width[1] ? hk_pad(x, axis + 2, width, HK_PAD_CONSTANT, value) : x;
}

/* Two axes of x, which has four, without padding. */
static hk_array *pool_two(hk_array *x, pool_kind kind, int64_t rows, int64_t columns,
                          int64_t row_stride, int64_t column_stride)
{
    if (kind == POOL_MAX)
        return hk_max_pool2d(x, &(hk_max_pool2d_options){.kernel = {rows, columns},
                                                         .stride = {row_stride, column_stride}});
    return hk_avg_pool2d(x, &(hk_avg_pool2d_options){.kernel = {rows, columns},
                                                     .stride = {row_stride, column_stride}});
}

/* One axis, padded: a view of its windows, where they have gaps; else the rows of an image. */
static hk_array *pool_axis(hk_array *x, pool_kind kind, const onnx_windows *windows, int axis)
{
    const int64_t size = windows->size[axis], stride = windows->stride[axis];
    const hk_dims from = hk_dims_get(x);
    if (size == 1 && stride == 1)
        return x;
    if (windows->dilation[axis] > 1 && size > 1) {
        const int64_t span = onnx_window_span(windows, axis);
        x = hk_slice_step(hk_sliding_window(x, axis + 2, span, stride), -1, 0, span,
                          windows->dilation[axis]);
        return kind == POOL_MAX ? hk_max(x, &(hk_max_options){.axes = hk_shape(-1)})
                                : hk_mean(x, &(hk_mean_options){.axes = hk_shape(-1)});
    }
    hk_dims to = from;
    to.dims[axis + 2] = windows->out[axis];
    const int64_t planes = onnx_product(from, 2, axis + 2);
    const int64_t columns = onnx_product(from, axis + 3, from.ndim);
    if (columns == 1) { /* images of one row */
        hk_array *row =
            hk_reshape(x, hk_shape(from.dims[0], from.dims[1] * planes, 1, from.dims[axis + 2]));
        return hk_reshape(pool_two(row, kind, 1, size, 1, stride), to);
    }
    hk_array *rows =
        hk_reshape(x, hk_shape(from.dims[0], from.dims[1] * planes, from.dims[axis + 2], columns));
    return hk_reshape(pool_two(rows, kind, size, 1, stride, 1), to);
}

/* All axes, padded: the last two together, where they have no gaps. */
static hk_array *pool_padded(hk_array *x, pool_kind kind, const onnx_windows *windows)
{
    int left = windows->ndim;
    if (left >= 2 && windows->dilation[left - 1] == 1 && windows->dilation[left - 2] == 1) {
        const int rows = left - 2, columns = left - 1;
        const hk_dims from = hk_dims_get(x);
        hk_dims to = from;
        to.dims[rows + 2] = windows->out[rows];
        to.dims[columns + 2] = windows->out[columns];
        hk_array *images =
            hk_reshape(x, hk_shape(from.dims[0], from.dims[1] * onnx_product(from, 2, rows + 2),
                                   from.dims[rows + 2], from.dims[columns + 2]));
        x = hk_reshape(pool_two(images, kind, windows->size[rows], windows->size[columns],
                                windows->stride[rows], windows->stride[columns]),
                       to);
        left -= 2;
    }
    while (left-- > 0)
        x = pool_axis(x, kind, windows, left);
    return x;
}

/* One call of Hocket's does: two axes, with the same padding on both sides. */
static bool is_plain(const onnx_windows *windows)
{
    bool is_fine = windows->ndim == 2;
    for (int i = 0; i < windows->ndim && is_fine; i++)
        is_fine = windows->dilation[i] == 1 && windows->before[i] == windows->behind[i] &&
                  windows->before[i] < windows->size[i];
    return is_fine;
}

static bool all_of(onnx_call *call, hk_array *x, const onnx_windows *windows)
{
    const hk_dims shape = hk_dims_get(x);
    if (onnx_product(shape, 0, shape.ndim) < 0)
        return onnx_refuse(call, HK_UNSUPPORTED, "X has more elements than can be counted");
    for (int i = 0; i < windows->ndim; i++)
        if (windows->out[i] < 1 || windows->in[i] < 1)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "axis %d of X has %" PRId64 " entries, and no window", i + 2,
                               windows->in[i]);
    return true;
}

/* ---- MaxPool --------------------------------------------------------------------------------- */

static hk_array *max_pool(hk_array *x, const onnx_windows *windows)
{
    if (is_plain(windows))
        return hk_max_pool2d(
            x, &(hk_max_pool2d_options){.kernel = {windows->size[0], windows->size[1]},
                                        .stride = {windows->stride[0], windows->stride[1]},
                                        .padding = {windows->before[0], windows->before[1]},
                                        .ceil_mode = windows->is_ceil});
    for (int i = 0; i < windows->ndim; i++)
        x = pad_axis(x, windows, i, -INFINITY);
    return pool_padded(x, POOL_MAX, windows);
}

/* Which entry of its axis of x entry `at` of a window is; of those in the padding the nearest
 * one of the window. -1: it has none. */
static int64_t entry_of(const onnx_windows *windows, int axis, int64_t window, int64_t at)
{
    const int64_t dilation = windows->dilation[axis], in = windows->in[axis];
    const int64_t begin = window * windows->stride[axis] - windows->before[axis];
    const int64_t first = begin < 0 ? (-begin + dilation - 1) / dilation : 0;
    const int64_t room = begin < in ? (in - 1 - begin) / dilation : -1;
    const int64_t last = room < windows->size[axis] - 1 ? room : windows->size[axis] - 1;
    if (first > last)
        return -1;
    return begin + (at < first ? first : at > last ? last : at) * dilation;
}

/* The same of all axes: a place in a plane of x, counted by rows or by columns. -1: the window
 * has none. */
static int64_t place_of(const onnx_windows *windows, int64_t window, int64_t at, bool by_columns)
{
    int64_t place = 0, step = 1;
    for (int i = windows->ndim - 1; i >= 0; i--) {
        const int64_t entry = entry_of(windows, i, window % windows->out[i], at % windows->size[i]);
        if (entry < 0)
            return -1;
        place = by_columns ? place * windows->in[i] + entry : place + entry * step;
        step *= windows->in[i];
        window /= windows->out[i];
        at /= windows->size[i];
    }
    return place;
}

/* Places in a plane of the entries of each window, (windows, entries). NULL: after refusing. */
static hk_array *hold_places(onnx_call *call, const onnx_windows *windows, bool by_columns)
{
    int64_t count = 1, size = 1, all = 0, bytes = 0;
    bool overflows = false;
    for (int i = 0; i < windows->ndim; i++)
        overflows = overflows || __builtin_mul_overflow(count, windows->out[i], &count) ||
                    __builtin_mul_overflow(size, windows->size[i], &size);
    overflows = overflows || __builtin_mul_overflow(count, size, &all) ||
                __builtin_mul_overflow(all, (int64_t)sizeof(int64_t), &bytes);
    int64_t *places = overflows ? NULL : malloc((size_t)bytes);
    if (!places) {
        onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    bool is_fine = true;
    for (int64_t i = 0; i < all && is_fine; i++) {
        places[i] = place_of(windows, i / size, i % size, by_columns);
        is_fine = places[i] >= 0;
    }
    hk_array *held = is_fine ? onnx_held(call, places, hk_shape(count, size), HK_I64) : NULL;
    free(places);
    if (!is_fine)
        onnx_refuse(call, HK_UNSUPPORTED, "a window lies in the padding alone: it has no index");
    return held;
}

/* Where the first of the largest entries of each window is in X, as one row of elements. */
static bool max_pool_places(onnx_call *call, hk_array *x, const onnx_windows *windows)
{
    const bool by_columns = onnx_int(call, "storage_order", 0) != 0;
    const int64_t planes = hk_dim(x, 0) * hk_dim(x, 1);
    const int64_t plane = onnx_product(hk_dims_get(x), 2, hk_ndim(x));
    hk_array *entries = hold_places(call, windows, false);
    hk_array *places = by_columns && entries ? hold_places(call, windows, true) : entries;
    if (!places)
        return false;
    hk_array *values = hk_index_select(hk_reshape(x, hk_shape(planes, plane)), entries, 1);
    hk_array *first = hk_expand_dims(hk_argmax(values, -1), -1);
    hk_array *found = hk_take_along_axis(hk_broadcast_to(places, hk_dims_get(values)), first, -1);
    hk_array *begins =
        hk_reshape(hk_sequence(0, plane, planes, HK_I64, call->device), hk_shape(planes, 1, 1));
    hk_dims shape = {.ndim = hk_ndim(x), .dims = {hk_dim(x, 0), hk_dim(x, 1)}};
    for (int i = 0; i < windows->ndim; i++)
        shape.dims[i + 2] = windows->out[i];
    return onnx_out(call, 1, hk_reshape(hk_add(found, begins), shape));
}

static bool run_max_pool(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    onnx_windows windows;
    if (!x)
        return onnx_out(call, 0, NULL);
    if (onnx_has_failed(call, x) || !onnx_windows_read(call, hk_dims_get(x), NULL, &windows) ||
        !all_of(call, x, &windows))
        return false;
    const hk_dtype dtype = hk_array_dtype(x);
    if (!onnx_is_real(dtype) && dtype != HK_I8 && dtype != HK_U8)
        return onnx_refuse(call, HK_UNSUPPORTED, "X is %s, but must be of floats, int8 or uint8",
                           hk_dtype_name(dtype));
    /* float32 has all values of the narrower ones, and padding is less than any of them. */
    hk_array *wide = hk_array_dtype(x) == HK_F64 ? x : onnx_to(x, HK_F32);
    hk_array *y = max_pool(wide, &windows);
    if (dtype == HK_I8 || dtype == HK_U8)
        y = hk_maximum(y, onnx_number_like(dtype == HK_I8 ? -128 : 0, y));
    return onnx_out(call, 0, onnx_to(y, dtype)) &&
           (!onnx_wants(call, 1) || max_pool_places(call, wide, &windows));
}

/* ---- AveragePool and LpPool ------------------------------------------------------------------ */

/* Means of windows whose padding counts as zeros, even beyond what ONNX calls padding. */
static hk_array *mean_pool(hk_array *x, const onnx_windows *windows)
{
    for (int i = 0; i < windows->ndim; i++)
        x = pad_axis(x, windows, i, 0);
    return pool_padded(x, POOL_MEAN, windows);
}

/* For each window of an axis how many entries it has over how many count. NULL: after refusing. */
static hk_array *shares(onnx_call *call, const onnx_windows *windows, int axis, bool with_padding)
{
    const int64_t out = windows->out[axis], dilation = windows->dilation[axis];
    const int64_t low = with_padding ? -windows->before[axis] : 0;
    const int64_t high = windows->in[axis] + (with_padding ? windows->behind[axis] : 0);
    double *values = malloc((size_t)out * sizeof *values + 1);
    for (int64_t i = 0; values && i < out; i++) {
        const int64_t begin = i * windows->stride[axis] - windows->before[axis];
        int64_t first = begin < low ? (low - begin + dilation - 1) / dilation : 0;
        int64_t end = begin < high ? (high - 1 - begin) / dilation + 1 : 0;
        end = end < windows->size[axis] ? end : windows->size[axis];
        const int64_t count = end > first ? end - first : 0;
        values[i] = (double)windows->size[axis] / (double)count;
    }
    if (!values) {
        onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    hk_array *held = onnx_held(call, values, onnx_along(out, axis + 2, windows->ndim + 2), HK_F64);
    free(values);
    return held;
}

/* Whether all windows have all of their entries among those that count. */
static bool all_count(const onnx_windows *windows, int axis, bool with_padding)
{
    return with_padding ? missing_behind(windows, axis) <= windows->behind[axis]
                        : windows->before[axis] == 0 && missing_behind(windows, axis) <= 0;
}

static bool run_average_pool(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    onnx_windows windows;
    if (!onnx_needs_floats(call, x, "X", 3) ||
        !onnx_windows_read(call, hk_dims_get(x), NULL, &windows) || !all_of(call, x, &windows))
        return false;
    const hk_dtype dtype = hk_array_dtype(x);
    const bool with_padding = onnx_int(call, "count_include_pad", 0) != 0;
    if (is_plain(&windows) && (!with_padding || !windows.is_ceil))
        return onnx_out(call, 0,
                        onnx_to(hk_avg_pool2d(onnx_wide(x),
                                              &(hk_avg_pool2d_options){
                                                  .kernel = {windows.size[0], windows.size[1]},
                                                  .stride = {windows.stride[0], windows.stride[1]},
                                                  .padding = {windows.before[0], windows.before[1]},
                                                  .ceil_mode = windows.is_ceil,
                                                  .count_include_pad = with_padding}),
                                dtype));
    hk_array *y = mean_pool(onnx_wide(x), &windows);
    for (int i = 0; i < windows.ndim; i++) {
        if (all_count(&windows, i, with_padding))
            continue;
        hk_array *share = shares(call, &windows, i, with_padding);
        if (!share)
            return false;
        y = hk_multiply(y, onnx_to(share, hk_array_dtype(y)));
    }
    return onnx_out(call, 0, onnx_to(y, dtype));
}

static int64_t order_of(onnx_call *call)
{
    const int64_t p = onnx_int(call, "p", 2);
    if (p >= 1 && p <= INT32_MAX)
        return p;
    onnx_refuse(call, HK_OUT_OF_RANGE, "p is %" PRId64 ", but must be from 1 to %d", p, INT32_MAX);
    return 0;
}

static bool run_lp_pool(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int64_t p = order_of(call);
    onnx_windows windows;
    if (!p || !onnx_needs_floats(call, x, "X", 3) ||
        !onnx_windows_read(call, hk_dims_get(x), NULL, &windows) || !all_of(call, x, &windows))
        return false;
    double entries = 1;
    for (int i = 0; i < windows.ndim; i++)
        entries *= (double)windows.size[i];
    hk_array *wide = onnx_wide(x);
    hk_array *y = p == 1   ? hk_abs(wide)
                  : p == 2 ? hk_square(wide)
                           : hk_power(hk_abs(wide), onnx_number_like((double)p, wide));
    y = mean_pool(y, &windows);
    y = hk_multiply(y, onnx_number_like(entries, y));
    if (p > 1)
        y = p == 2 ? hk_sqrt(y) : hk_power(y, onnx_number_like(1 / (double)p, y));
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* ---- pooling of all -------------------------------------------------------------------------- */

/* All axes but the first two. */
static hk_dims plane_axes(hk_array *x)
{
    hk_dims axes = {.ndim = hk_ndim(x) - 2};
    for (int i = 0; i < axes.ndim; i++)
        axes.dims[i] = i + 2;
    return axes;
}

static bool run_global_average_pool(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    return onnx_needs_floats(call, x, "X", 3) &&
           onnx_out(call, 0,
                    hk_mean(x, &(hk_mean_options){.axes = plane_axes(x), .keepdims = true}));
}

static bool run_global_max_pool(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    return onnx_needs_floats(call, x, "X", 3) &&
           onnx_out(call, 0, hk_max(x, &(hk_max_options){.axes = plane_axes(x), .keepdims = true}));
}

static bool run_global_lp_pool(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int64_t p = order_of(call);
    if (!p || !onnx_needs_floats(call, x, "X", 3))
        return false;
    hk_array *y = hk_vector_norm(
        onnx_wide(x),
        &(hk_vector_norm_options){.ord = (double)p, .axes = plane_axes(x), .keepdims = true});
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* ---- MaxUnpool ------------------------------------------------------------------------------- */

/* The shape that X was pooled from, of which the indices are. */
static bool shape_before(onnx_call *call, hk_array *x, hk_dims *shape)
{
    int64_t sizes[ONNX_MOST_SPACE], strides[ONNX_MOST_SPACE], pads[2 * ONNX_MOST_SPACE];
    *shape = hk_dims_get(x);
    const int ndim = shape->ndim - 2;
    if (!onnx_numbers_of_axes(call, "kernel_shape", sizes, ndim, 1, 1) ||
        !onnx_numbers_of_axes(call, "strides", strides, ndim, 1, 1) ||
        !onnx_numbers_of_axes(call, "pads", pads, 2 * ndim, 0, 0))
        return false;
    for (int i = 0; i < ndim; i++) {
        const int64_t windows = shape->dims[i + 2];
        const int64_t size = windows < 1 || windows > INT32_MAX
                                 ? -1
                                 : (windows - 1) * strides[i] + sizes[i] - pads[i] - pads[ndim + i];
        if (size < 1)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "axis %d: %" PRId64 " windows of %" PRId64 " with stride %" PRId64
                               " and padding %" PRId64 " and %" PRId64,
                               i + 2, windows, sizes[i], strides[i], pads[i], pads[ndim + i]);
        shape->dims[i + 2] = size;
    }
    return true;
}

static bool run_max_unpool(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *places = onnx_in(call, 1);
    int64_t wanted[HK_MAX_NDIM];
    hk_dims shape;
    if (!onnx_needs_floats(call, x, "X", 3) || !places)
        return onnx_out(call, 0, NULL);
    if (!onnx_same_dims(hk_dims_get(x), hk_dims_get(places)))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "I must have the shape of X");
    if (!shape_before(call, x, &shape))
        return false;
    const int64_t size = onnx_product(shape, 0, shape.ndim);
    if (size < 0)
        return onnx_refuse(call, HK_UNSUPPORTED, "more elements than can be counted");
    hk_array *zeros = hk_zeros(hk_shape(size), hk_array_dtype(x), hk_array_device(x));
    hk_array *y =
        hk_scatter(zeros, hk_reshape(places, hk_shape(-1)), hk_reshape(x, hk_shape(-1)), 0);
    y = hk_reshape(y, shape);
    const int count = onnx_has(call, 2) ? onnx_in_ints(call, 2, wanted, HK_MAX_NDIM) : 0;
    if (count < 0)
        return false;
    if (count && count != shape.ndim)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "output_shape has %d sizes, but must have %d",
                           count, shape.ndim);
    for (int i = 0; i < count; i++) {
        if (wanted[i] < shape.dims[i])
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "output_shape[%d] is %" PRId64 ", but must be at least %" PRId64, i,
                               wanted[i], shape.dims[i]);
        y = onnx_pad_or_crop(y, i, 0, wanted[i] - shape.dims[i]);
    }
    return onnx_out(call, 0, y);
}

const onnx_row onnx_rows_pool[] = {
    {"AveragePool", run_average_pool, 0},
    {"GlobalAveragePool", run_global_average_pool, 0},
    {"GlobalLpPool", run_global_lp_pool, 0},
    {"GlobalMaxPool", run_global_max_pool, 0},
    {"LpPool", run_lp_pool, 0},
    {"MaxPool", run_max_pool, 0},
    {"MaxUnpool", run_max_unpool, 0},
    {NULL, NULL, 0},
};
