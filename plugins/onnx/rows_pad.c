/* Edges: entries added or cut off, reversed lines, and the same bytes as another dtype. */
#include "rows.h"
#include "shapes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- padding --------------------------------------------------------------------------------- */

/* Which entry of an axis of `size` stands at place `at`, which may lie beyond both ends. */
static int64_t source_of(hk_pad_mode mode, int64_t at, int64_t size)
{
    if (mode == HK_PAD_EDGE)
        return at < 0 ? 0 : at < size ? at : size - 1;
    const int64_t period = mode == HK_PAD_WRAP ? size : size > 1 ? 2 * (size - 1) : 1;
    at = at % period + (at % period < 0 ? period : 0);
    return at < size ? at : period - at;
}

/* By indices: where entries come again more often than operators know. */
static hk_array *pad_by_indices(onnx_call *call, hk_array *x, int axis, const int64_t *width,
                                hk_pad_mode mode)
{
    const int64_t size = hk_dim(x, axis), count = width[0] + size + width[1];
    int64_t *from = malloc((size_t)count * sizeof *from + 1);
    if (!from) {
        onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    for (int64_t i = 0; i < count; i++)
        from[i] = source_of(mode, i - width[0], size);
    hk_array *indices = onnx_held(call, from, hk_shape(count), HK_I64);
    free(from);
    return indices ? hk_index_select(x, indices, axis) : NULL;
}

/* What is added, of no axes; NULL after refusing. */
static hk_array *filling_of(onnx_call *call, hk_array *x)
{
    if (!onnx_has(call, 2))
        return onnx_number_like(onnx_float(call, "value", 0), x);
    hk_array *value = onnx_in(call, 2);
    if (value && hk_size(value) == 1)
        return hk_reshape(onnx_as(value, hk_array_dtype(x)), hk_shape());
    onnx_refuse(call, HK_INVALID_ARGUMENT, "constant_value is not one number");
    return NULL;
}

static hk_array *pad(onnx_call *call, hk_array *x, int axis, const int64_t *width, hk_pad_mode mode)
{
    const int64_t size = hk_dim(x, axis);
    if (width[0] == 0 && width[1] == 0)
        return x;
    if (mode == HK_PAD_CONSTANT) {
        hk_array *filling = filling_of(call, x);
        return filling ? onnx_surround(x, axis, width, filling) : NULL;
    }
    if (size == 0) {
        onnx_refuse(call, HK_INVALID_ARGUMENT,
                    "axis %d has no entries that could stand in the padding", axis);
        return NULL;
    }
    const int64_t most = mode == HK_PAD_REFLECT ? size - 1 : mode == HK_PAD_WRAP ? size : INT64_MAX;
    return width[0] <= most && width[1] <= most ? hk_pad(x, axis, width, mode, 0)
                                                : pad_by_indices(call, x, axis, width, mode);
}

/* Negative widths cut off. Both become the axis's; false after refusing. */
static bool widths_of(onnx_call *call, hk_array *x, int64_t (*widths)[2])
{
    int64_t given[2 * HK_MAX_NDIM], axes[HK_MAX_NDIM];
    hk_dims all;
    const int ndim = hk_ndim(x);
    const int count = onnx_ints_or_input(call, "pads", 1, given, 2 * HK_MAX_NDIM);
    const int axis_count = onnx_has(call, 3) ? onnx_in_ints(call, 3, axes, HK_MAX_NDIM) : ndim;
    for (int i = 0; i < ndim && !onnx_has(call, 3); i++)
        axes[i] = i;
    if (axis_count < 0 || count != 2 * axis_count)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "%d pads for %d axes; expected two for each",
                           count, axis_count);
    if (!onnx_axes(call, axes, axis_count, ndim, &all))
        return false;
    for (int i = 0; i < axis_count; i++) {
        const int axis = (int)(axes[i] < 0 ? axes[i] + ndim : axes[i]);
        for (int side = 0; side < 2; side++) {
            const int64_t width = given[side * axis_count + i];
            if (width > INT64_C(1) << 40 || width < -(INT64_C(1) << 40))
                return onnx_refuse(call, HK_INVALID_ARGUMENT, "pad %d is %" PRId64,
                                   side * axis_count + i, width);
            widths[axis][side] = width;
        }
    }
    return true;
}

static bool run_pad(onnx_call *call)
{
    static const char *const names[] = {"constant", "edge", "reflect", "wrap"};
    static const hk_pad_mode modes[] = {HK_PAD_CONSTANT, HK_PAD_EDGE, HK_PAD_REFLECT, HK_PAD_WRAP};
    hk_array *x = onnx_in(call, 0);
    int64_t widths[HK_MAX_NDIM][2] = {{0}};
    const hk_pad_mode *mode = NULL;
    if (!x)
        return onnx_out(call, 0, NULL);
    for (int i = 0; i < 4; i++)
        if (onnx_text_is(call, "mode", names[i], "constant"))
            mode = &modes[i];
    if (!mode)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "mode is none of constant, edge, reflect and wrap");
    if (!widths_of(call, x, widths))
        return false;
    hk_dims to = hk_dims_get(x);
    for (int i = 0; i < to.ndim; i++) {
        const int64_t front = widths[i][0] < 0 ? -widths[i][0] : 0;
        const int64_t behind = widths[i][1] < 0 ? -widths[i][1] : 0;
        if (front + behind > to.dims[i])
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "pads cut %" PRId64 " off axis %d, which has %" PRId64 " entries",
                               front + behind, i, to.dims[i]);
        if (front + behind)
            x = hk_slice(x, i, front, to.dims[i] - behind);
        to.dims[i] += widths[i][0] + widths[i][1];
        widths[i][0] = widths[i][0] < 0 ? 0 : widths[i][0];
        widths[i][1] = widths[i][1] < 0 ? 0 : widths[i][1];
    }
    if (onnx_size_of(to) < 0)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the result would be too large");
    for (int i = 0; i < to.ndim && x; i++)
        x = pad(call, x, i, widths[i], *mode);
    return x && onnx_out(call, 0, x);
}

/* The middle of what is too long, zeros around what is too short. */
static bool run_center_crop_pad(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    int64_t sizes[HK_MAX_NDIM], axes[HK_MAX_NDIM];
    hk_dims all;
    if (!x)
        return onnx_out(call, 0, NULL);
    const int ndim = hk_ndim(x), count = onnx_in_ints(call, 1, sizes, HK_MAX_NDIM);
    int axis_count = onnx_ints(call, "axes", axes, HK_MAX_NDIM);
    for (int i = 0; axis_count == -1 && i < ndim; i++)
        axes[i] = i;
    axis_count = axis_count == -1 ? ndim : axis_count;
    if (count < 0 || count != axis_count)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "%d sizes for %d axes", count, axis_count);
    if (!onnx_axes(call, axes, axis_count, ndim, &all))
        return false;
    for (int i = 0; i < count; i++) {
        const int axis = (int)(axes[i] < 0 ? axes[i] + ndim : axes[i]);
        const int64_t has = hk_dim(x, axis), size = sizes[i];
        if (size < 0 || size > INT64_C(1) << 40)
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "size %d is %" PRId64, i, size);
        const int64_t front = (size > has ? size - has : has - size) / 2;
        if (size < has)
            x = hk_slice(x, axis, front, front + size);
        else
            x = onnx_surround(x, axis, (const int64_t[]){front, size - has - front},
                              onnx_number_like(0, x));
    }
    return onnx_out(call, 0, x);
}

/* ---- lines of their own lengths -------------------------------------------------------------- */

static bool run_reverse_sequence(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *lengths = onnx_in(call, 1);
    if (!x || !lengths)
        return onnx_out(call, 0, NULL);
    const hk_dims has = hk_dims_get(x);
    const int batch = onnx_axis(call, onnx_int(call, "batch_axis", 1), has.ndim);
    const int time = onnx_axis(call, onnx_int(call, "time_axis", 0), has.ndim);
    if (batch < 0 || time < 0)
        return false;
    if (batch == time || hk_ndim(lengths) != 1 || hk_dim(lengths, 0) != has.dims[batch])
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "batch_axis is %d, of %" PRId64 " entries, time_axis %d, and "
                           "sequence_lens has %" PRId64 " elements",
                           batch, has.dims[batch], time, hk_size(lengths));
    hk_dims along = {.ndim = has.ndim}, across = {.ndim = has.ndim};
    for (int i = 0; i < has.ndim; i++) {
        along.dims[i] = i == time ? has.dims[i] : 1;
        across.dims[i] = i == batch ? has.dims[i] : 1;
    }
    hk_array *at = hk_reshape(hk_sequence(0, 1, has.dims[time], HK_I64, call->device), along);
    lengths = hk_reshape(hk_cast(lengths, HK_I64), across);
    hk_array *from = hk_where(hk_less(at, lengths), hk_subtract(hk_subtract(lengths, 1), at), at);
    return onnx_out(call, 0, hk_take_along_axis(x, hk_broadcast_to(from, has), time));
}

/* ---- the same bytes -------------------------------------------------------------------------- */

static void copy_bytes(hk_task_call *call)
{
    const hk_task_view x = hk_task_view_of(call, 0), y = hk_task_view_of(call, 1);
    size_t bytes = hk_dtype_bytes(x.dtype);
    for (int i = 0; i < x.shape.ndim; i++)
        bytes *= (size_t)x.shape.dims[i];
    if (bytes)
        memcpy(y.data, x.data, bytes);
}

static double copy_cost(const hk_task_call *call)
{
    const hk_dims shape = hk_task_view_of(call, 0).shape;
    double elements = 1;
    for (int i = 0; i < shape.ndim; i++)
        elements *= (double)shape.dims[i];
    return 200 + .5 * elements;
}

static const hk_kernel bits_kernel = {.name = "bit_cast", .cpu = copy_bytes, .cost_ns = copy_cost};

static bool run_bit_cast(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int64_t to = onnx_int(call, "to", 0);
    hk_dtype dtype;
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dtype from = hk_array_dtype(x);
    if (to < 0 || to > INT32_MAX || !onnx_dtype_of((int32_t)to, &dtype))
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "a cast to ONNX's type %" PRId64 ", which Hocket does not have", to);
    if (hk_dtype_bytes(from) != hk_dtype_bytes(dtype))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the bits of %s are not as many as of %s",
                           hk_dtype_name(from), hk_dtype_name(dtype));
    if (from == HK_BOOL || dtype == HK_BOOL)
        return onnx_out(call, 0, onnx_as(x, dtype));
    if (onnx_is_integer(from) && onnx_is_integer(dtype))
        return onnx_out(call, 0, onnx_as(x, dtype));
    x = hk_contiguous(x);
    return onnx_out(
        call, 0,
        hk_run_new(&bits_kernel, hk_dims_get(x), dtype, HK_ACCESS(hk_reads(x)), NULL, 0, NULL));
}

const onnx_row onnx_rows_pad[] = {
    {"BitCast", run_bit_cast, 0},
    {"CenterCropPad", run_center_crop_pad, 0},
    {"Pad", run_pad, 0},
    {"ReverseSequence", run_reverse_sequence, 0},
    {NULL, NULL, 0},
};
