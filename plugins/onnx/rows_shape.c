/* Shapes: the same elements under other axes, or shapes themselves. */
#include "rows.h"
#include "shapes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the same elements ----------------------------------------------------------------------- */

static bool run_identity(onnx_call *call)
{
    onnx_value *value = onnx_in_value(call, 0);
    return value ? onnx_out_value(call, 0, onnx_value_retain(value)) : onnx_out(call, 0, NULL);
}

/* 0 stands for x's size unless allowzero, one -1 for what is left. */
static bool run_reshape(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    hk_dims shape, has;
    int64_t known = 1;
    int open = -1;
    if (!x)
        return onnx_out(call, 0, NULL);
    has = hk_dims_get(x);
    shape.ndim = onnx_ints_or_input(call, "shape", 1, shape.dims, HK_MAX_NDIM);
    if (shape.ndim < 0)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "no shape is given");
    for (int i = 0; i < shape.ndim; i++) {
        int64_t *size = &shape.dims[i];
        if (*size == 0 && !onnx_int(call, "allowzero", 0)) {
            if (i >= has.ndim)
                return onnx_refuse(call, HK_INVALID_ARGUMENT,
                                   "size %d is 0, and the input has %d axes", i, has.ndim);
            *size = has.dims[i];
        }
        if (*size < -1 || (*size == -1 && open >= 0))
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "size %d of the shape is %" PRId64, i,
                               *size);
        open = *size == -1 ? i : open;
        known = *size == -1                                   ? known
                : *size && known > (INT64_C(1) << 48) / *size ? -1
                                                              : known * *size;
        if (known < 0)
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "the shape is too large");
    }
    if (open >= 0 && known == 0)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "a size of -1 beside one of 0 is anything");
    if (open >= 0)
        shape.dims[open] = hk_size(x) / known;
    return onnx_out(call, 0, hk_reshape(x, shape));
}

static bool run_flatten(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dims has = hk_dims_get(x);
    const int64_t axis = onnx_int(call, "axis", 1);
    if (axis < -has.ndim || axis > has.ndim)
        return onnx_refuse(call, HK_OUT_OF_RANGE, "axis %" PRId64 " of an array with %d axes", axis,
                           has.ndim);
    const int at = (int)(axis < 0 ? axis + has.ndim : axis);
    return onnx_out(call, 0,
                    hk_reshape(x, hk_shape(onnx_size_between(has, 0, at),
                                           onnx_size_between(has, at, has.ndim))));
}

static bool run_transpose(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    hk_dims order, all;
    if (!x)
        return onnx_out(call, 0, NULL);
    order.ndim = onnx_ints(call, "perm", order.dims, HK_MAX_NDIM);
    if (order.ndim == -1)
        return onnx_out(call, 0, hk_transpose(x));
    if (order.ndim < 0 || !onnx_axes(call, order.dims, order.ndim, hk_ndim(x), &all))
        return false;
    if (order.ndim != hk_ndim(x))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "perm has %d axes, and the input %d",
                           order.ndim, hk_ndim(x));
    return onnx_out(call, 0, order.ndim ? hk_permute_dims(x, order) : x);
}

static bool run_squeeze(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    int64_t given[HK_MAX_NDIM];
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dims has = hk_dims_get(x);
    const int count = onnx_ints_or_input(call, "axes", 1, given, HK_MAX_NDIM);
    hk_dims axes = {.ndim = 0}, to = {.ndim = 0};
    if (count < -1 || (count > 0 && !onnx_axes(call, given, count, has.ndim, &axes)))
        return false;
    for (int i = 0, next = 0; i < has.ndim; i++) {
        const bool named = next < axes.ndim && axes.dims[next] == i;
        next += named;
        if (named && has.dims[i] != 1)
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "axis %d is %" PRId64 ", not 1", i,
                               has.dims[i]);
        if (!named && (count >= 0 || has.dims[i] != 1))
            to.dims[to.ndim++] = has.dims[i];
    }
    return onnx_out(call, 0, hk_reshape(x, to));
}

static bool run_unsqueeze(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    int64_t given[HK_MAX_NDIM];
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dims has = hk_dims_get(x);
    const int count = onnx_ints_or_input(call, "axes", 1, given, HK_MAX_NDIM);
    hk_dims axes, to = {.ndim = has.ndim + count};
    if (count < 0)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "no axes are given");
    if (to.ndim > HK_MAX_NDIM)
        return onnx_refuse(call, HK_UNSUPPORTED, "%d axes; at most %d are known", to.ndim,
                           HK_MAX_NDIM);
    if (!onnx_axes(call, given, count, to.ndim, &axes))
        return false;
    for (int i = 0, next = 0, from = 0; i < to.ndim; i++) {
        const bool named = next < axes.ndim && axes.dims[next] == i;
        next += named;
        to.dims[i] = named ? 1 : has.dims[from++];
    }
    return onnx_out(call, 0, hk_reshape(x, to));
}

static bool run_expand(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    hk_dims shape;
    if (!x)
        return onnx_out(call, 0, NULL);
    shape.ndim = onnx_in_ints(call, 1, shape.dims, HK_MAX_NDIM);
    if (shape.ndim < 0)
        return false;
    hk_array *y = onnx_stretch(call, x, shape);
    return y && onnx_out(call, 0, y);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool run_shape(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dims has = hk_dims_get(x);
    int64_t begin = onnx_int(call, "start", 0), end = onnx_int(call, "end", has.ndim);
    begin = begin < -has.ndim ? 0 : begin < 0 ? begin + has.ndim : begin;
    end = end < -has.ndim ? 0 : end < 0 ? end + has.ndim : end > has.ndim ? has.ndim : end;
    begin = begin < end ? begin : end;
    return onnx_out(call, 0, onnx_held(call, has.dims + begin, hk_shape(end - begin), HK_I64));
}

static bool run_size(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int64_t size = hk_size(x);
    return onnx_out(call, 0, x ? onnx_held(call, &size, hk_shape(), HK_I64) : NULL);
}

/* ---- new ones -------------------------------------------------------------------------------- */

static bool run_constant(onnx_call *call)
{
    return onnx_refuse(call, HK_BAD_DATA, "a constant has one output, which has a name");
}

static bool run_constant_of_shape(onnx_call *call)
{
    hk_dims shape;
    const Onnx__AttributeProto *value = onnx_attribute(call, "value");
    shape.ndim = onnx_in_ints(call, 0, shape.dims, HK_MAX_NDIM);
    if (shape.ndim < 0)
        return false;
    if (onnx_size_of(shape) < 0)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "a size is negative, or they are too large");
    if (!value)
        return onnx_out(call, 0, hk_zeros(shape, HK_F32, call->device));
    hk_array *x = onnx_held_tensor(call, value->t);
    if (!x)
        return false;
    if (hk_size(x) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the value has %" PRId64 " elements, not 1",
                           hk_size(x));
    return onnx_out(call, 0, hk_copy(hk_broadcast_to(hk_reshape(x, hk_shape()), shape)));
}

/* The attribute dtype, or otherwise another one; false after refusing. */
static bool dtype_of(onnx_call *call, hk_dtype otherwise, hk_dtype *dtype)
{
    const int64_t onnx = onnx_int(call, "dtype", 0);
    *dtype = otherwise;
    if (!onnx || (onnx > 0 && onnx < 1000 && onnx_dtype_of((int32_t)onnx, dtype)))
        return true;
    return onnx_refuse(call, HK_UNSUPPORTED, "ONNX's type %" PRId64 ", which Hocket does not have",
                       onnx);
}

static bool run_eye_like(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    hk_dtype dtype;
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dims has = hk_dims_get(x);
    if (has.ndim != 2)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the input has %d axes, not 2", has.ndim);
    int64_t offset = onnx_int(call, "k", 0);
    offset = offset > has.dims[1] ? has.dims[1] : offset < -has.dims[0] ? -has.dims[0] : offset;
    return dtype_of(call, hk_array_dtype(x), &dtype) &&
           onnx_out(call, 0, hk_eye(has.dims[0], has.dims[1], offset, dtype, call->device));
}

static bool whole_range(onnx_call *call, hk_dtype dtype)
{
    int64_t start, limit, step;
    if (onnx_in_ints(call, 0, &start, 1) != 1 || onnx_in_ints(call, 1, &limit, 1) != 1 ||
        onnx_in_ints(call, 2, &step, 1) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "start, limit and delta are one number each");
    if (step == 0)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "delta is 0");
    const bool up = step > 0;
    const uint64_t distance = up ? (limit > start ? (uint64_t)limit - (uint64_t)start : 0)
                                 : (start > limit ? (uint64_t)start - (uint64_t)limit : 0);
    const uint64_t by = up ? (uint64_t)step : 0 - (uint64_t)step;
    const uint64_t count = distance / by + (distance % by != 0);
    if (count > UINT64_C(1) << 48)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "%" PRIu64 " elements", count);
    return onnx_out(call, 0, hk_sequence(start, step, (int64_t)count, dtype, call->device));
}

static bool run_range(onnx_call *call)
{
    double start, limit, step;
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dtype dtype = hk_array_dtype(x);
    if (onnx_is_integer(dtype))
        return whole_range(call, dtype);
    if (onnx_in_floats(call, 0, &start, 1) != 1 || onnx_in_floats(call, 1, &limit, 1) != 1 ||
        onnx_in_floats(call, 2, &step, 1) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "start, limit and delta are one number each");
    const double exact = ceil((limit - start) / step), count = exact > 0 ? exact : 0;
    if (step == 0 || isnan(exact) || count > 0x1p48 || !isfinite(start) || !isfinite(step))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "from %g to %g by %g", start, limit, step);
    hk_array *steps = hk_sequence(0, 1, (int64_t)count, HK_F64, call->device);
    return onnx_out(call, 0, hk_cast(hk_add(hk_multiply(steps, step), start), dtype));
}

/* ---- joins and parts ------------------------------------------------------------------------- */

static bool run_concat(onnx_call *call)
{
    const int count = onnx_in_count(call);
    hk_array *x = onnx_in(call, 0);
    hk_array **parts = malloc(((size_t)count + 1) * sizeof *parts);
    if (!x || !parts) {
        free(parts);
        return x ? onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory")
                 : onnx_out(call, 0, NULL);
    }
    const int axis = onnx_axis(call, onnx_int(call, "axis", 1), hk_ndim(x));
    bool is_good = axis >= 0;
    for (int i = 0; i < count && is_good; i++) {
        parts[i] = onnx_in(call, i);
        if (!parts[i])
            is_good = onnx_refuse(call, HK_INVALID_ARGUMENT, "input %d is missing", i);
    }
    is_good = is_good && onnx_out(call, 0, count > 1 ? hk_concat(parts, count, axis) : x);
    free(parts);
    return is_good;
}

/* How long each part is: said, or of one size but for the last. */
static bool sizes_of_parts(onnx_call *call, int64_t whole, int64_t *sizes, int count)
{
    const int given = onnx_ints_or_input(call, "split", 1, sizes, count);
    if (given < -1)
        return false;
    const int64_t wanted = onnx_int(call, "num_outputs", count);
    if (given < 0 && wanted != count)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "num_outputs is %" PRId64 ", and they are %d",
                           wanted, count);
    if (given < 0) {
        const int64_t one = whole / count + (whole % count != 0);
        if (whole % count && !onnx_attribute(call, "num_outputs"))
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "%" PRId64 " elements cannot be split into %d parts of one size",
                               whole, count);
        for (int64_t i = 0, left = whole; i < count; left -= sizes[i++])
            sizes[i] = one < left ? one : left;
        return true;
    }
    int64_t left = whole;
    for (int i = 0; i < given; i++) {
        if (sizes[i] < 0 || sizes[i] > left)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "part %d is %" PRId64 " of the %" PRId64 " that are left", i,
                               sizes[i], left);
        left -= sizes[i];
    }
    return (given == count && left == 0) ||
           onnx_refuse(call, HK_INVALID_ARGUMENT,
                       "%d sizes for %d outputs leave %" PRId64 " elements", given, count, left);
}

static bool run_split(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int count = call->node->output_count;
    const int axis = x ? onnx_axis(call, onnx_int(call, "axis", 0), hk_ndim(x)) : -1;
    int64_t *sizes = malloc(((size_t)count + 1) * sizeof *sizes), begin = 0;
    if (!x || axis < 0 || !sizes || count < 1) {
        free(sizes);
        return !x         ? onnx_out(call, 0, NULL)
               : axis < 0 ? false
                          : onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
    }
    bool is_good = sizes_of_parts(call, hk_dim(x, axis), sizes, count);
    for (int i = 0; i < count && is_good; begin += sizes[i++])
        is_good = onnx_out(call, i, hk_slice(x, axis, begin, begin + sizes[i]));
    free(sizes);
    return is_good;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* One axis: what lies outside is left out. Steps back begin at the first entry where Python's would
 * begin in front of it. */
static hk_array *cut(hk_array *x, int axis, int64_t begin, int64_t end, int64_t step)
{
    const int64_t size = hk_dim(x, axis), first = step < 0 ? -1 : 0;
    const int64_t last = step < 0 ? size - 1 : size;
    begin = begin < 0 ? (begin < -size ? 0 : begin + size) : begin > last ? last : begin;
    end = end < 0 ? (end < -size ? first : end + size) : end > last ? last : end;
    if (size == 0 || (step > 0 ? begin >= end : begin <= end))
        return hk_slice(x, axis, 0, 0);
    if (step == 1)
        return hk_slice(x, axis, begin, end);
    step = step > size ? size : step < -size ? -size : step;
    return hk_slice_step(x, axis, begin, end < 0 ? -size - 1 : end, step);
}

static bool run_slice(onnx_call *call)
{
    int64_t begins[HK_MAX_NDIM], ends[HK_MAX_NDIM], axes[HK_MAX_NDIM], steps[HK_MAX_NDIM];
    hk_array *x = onnx_in(call, 0);
    hk_dims all;
    if (!x)
        return onnx_out(call, 0, NULL);
    const int count = onnx_ints_or_input(call, "starts", 1, begins, HK_MAX_NDIM);
    const int end_count = onnx_ints_or_input(call, "ends", 2, ends, HK_MAX_NDIM);
    const int axis_count = onnx_ints_or_input(call, "axes", 3, axes, HK_MAX_NDIM);
    const int step_count = onnx_has(call, 4) ? onnx_in_ints(call, 4, steps, HK_MAX_NDIM) : -1;
    if (count < 0 || end_count != count || (axis_count != -1 && axis_count != count) ||
        (step_count < 0 ? onnx_has(call, 4) : step_count != count))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "starts, ends, axes and steps are as many each; %d, %d, %d and %d are "
                           "given",
                           count, end_count, axis_count, step_count);
    for (int i = 0; i < count; i++) {
        axes[i] = axis_count < 0 ? i : axes[i];
        steps[i] = step_count < 0 ? 1 : steps[i];
        if (steps[i] == 0)
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "step %d is 0", i);
    }
    if (!onnx_axes(call, axes, count, hk_ndim(x), &all))
        return false;
    for (int i = 0; i < count; i++)
        x = cut(x, (int)(axes[i] < 0 ? axes[i] + hk_ndim(x) : axes[i]), begins[i], ends[i],
                steps[i]);
    return onnx_out(call, 0, x);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static bool run_tile(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    int64_t repeats[HK_MAX_NDIM];
    if (!x)
        return onnx_out(call, 0, NULL);
    const int count = onnx_in_ints(call, 1, repeats, HK_MAX_NDIM);
    hk_dims to = hk_dims_get(x);
    if (count < 0)
        return false;
    if (count != to.ndim)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "%d repeats for %d axes", count, to.ndim);
    for (int i = 0; i < count; i++) {
        if (repeats[i] < 0 || (to.dims[i] && repeats[i] > (INT64_C(1) << 48) / to.dims[i]))
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "repeat %d is %" PRId64, i, repeats[i]);
        to.dims[i] *= repeats[i];
    }
    if (onnx_size_of(to) < 0)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the result would be too large");
    for (int i = 0; i < count; i++)
        if (repeats[i] != 1)
            x = repeats[i] ? hk_tile(x, repeats[i], i) : hk_slice(x, i, 0, 0);
    return onnx_out(call, 0, x);
}

static bool run_trilu(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    int64_t offset = 0;
    if (!x || (onnx_has(call, 1) && onnx_in_ints(call, 1, &offset, 1) != 1))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the input, or k, which is one number");
    if (hk_ndim(x) < 2)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the input has %d axes, less than 2",
                           hk_ndim(x));
    const int64_t rows = hk_dim(x, -2), columns = hk_dim(x, -1);
    offset = offset > columns ? columns : offset < -rows ? -rows : offset;
    return onnx_out(call, 0, onnx_int(call, "upper", 1) ? hk_triu(x, offset) : hk_tril(x, offset));
}

/* ---- blocks of images ------------------------------------------------------------------------ */

/* The size of blocks; 0 after refusing. */
static int64_t block_of(onnx_call *call, hk_array *x)
{
    const int64_t block = onnx_int(call, "blocksize", 0);
    if (hk_ndim(x) != 4)
        onnx_refuse(call, HK_INVALID_ARGUMENT, "the input has %d axes, not 4", hk_ndim(x));
    else if (block < 1 || block > 1 << 20)
        onnx_refuse(call, HK_INVALID_ARGUMENT, "blocksize is %" PRId64, block);
    else
        return block;
    return 0;
}

static bool read_crd(onnx_call *call, bool *crd)
{
    *crd = onnx_text_is(call, "mode", "CRD", "DCR");
    return *crd || onnx_text_is(call, "mode", "DCR", "DCR") ||
           onnx_refuse(call, HK_INVALID_ARGUMENT, "mode is neither DCR nor CRD");
}

static bool run_space_to_depth(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int64_t block = x ? block_of(call, x) : 0;
    if (block == 0)
        return x ? false : onnx_out(call, 0, NULL);
    const int64_t h = hk_dim(x, 2), w = hk_dim(x, 3);
    bool crd;
    if (h % block || w % block)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "blocksize %" PRId64 " does not divide %" PRId64 " and %" PRId64, block,
                           h, w);
    return read_crd(call, &crd) && onnx_out(call, 0, hk_space_to_depth(x, block, crd));
}

static bool run_depth_to_space(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int64_t block = x ? block_of(call, x) : 0;
    if (block == 0)
        return x ? false : onnx_out(call, 0, NULL);
    const int64_t c = hk_dim(x, 1);
    bool crd;
    if (c % (block * block))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "%" PRId64 " channels are no multiple of the square of blocksize, "
                           "%" PRId64,
                           c, block);
    return read_crd(call, &crd) && onnx_out(call, 0, hk_depth_to_space(x, block, crd));
}

const onnx_row onnx_rows_shape[] = {
    {"Concat", run_concat, 0},
    {"Constant", run_constant, 0},
    {"ConstantOfShape", run_constant_of_shape, 0},
    {"DepthToSpace", run_depth_to_space, 0},
    {"Expand", run_expand, 0},
    {"EyeLike", run_eye_like, ONNX_BY_SHAPE},
    {"Flatten", run_flatten, 0},
    {"Identity", run_identity, 0},
    {"Range", run_range, 0},
    {"Reshape", run_reshape, 0},
    {"Shape", run_shape, ONNX_BY_SHAPE},
    {"Size", run_size, ONNX_BY_SHAPE},
    {"Slice", run_slice, 0},
    {"SpaceToDepth", run_space_to_depth, 0},
    {"Split", run_split, 0},
    {"Squeeze", run_squeeze, 0},
    {"Tile", run_tile, 0},
    {"Transpose", run_transpose, 0},
    {"Trilu", run_trilu, 0},
    {"Unsqueeze", run_unsqueeze, 0},
    {NULL, NULL, 0},
};
