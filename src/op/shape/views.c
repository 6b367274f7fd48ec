/* The operators that are views: some lines each. */
#include "op/shape/view_op.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- slice_step, flip ---------------------------------------------------------------------------------- */

#define SLICE_STEP_ARGUMENTS(F, op)                                                                \
    F(op, INT, axis, "", "a negative one counts from the last")                                    \
    F(op, INT, begin, "", "the first index; a negative one counts from the end")                   \
    F(op, INT, end, "",                                                                            \
      "where to stop, not included; -size - 1 means before index 0, for negative steps")           \
    F(op, INT, step, "", "from one index to the next, not 0")
HKI_ARGUMENTS(slice_step, SLICE_STEP_ARGUMENTS)

static bool layout_slice_step(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    const hki_slice_step_options *o = call->options;
    int64_t axis = o->axis;
    if (!hki_call_take_axis(call, "axis", &axis, x->shape.ndim))
        return false;
    const int64_t size = x->shape.dims[axis], step = o->step;
    if (step == 0 || step == INT64_MIN)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "step is %" PRId64 ", but must not be %s",
                               step, step ? "that low" : "0");
    if (o->begin < -size || o->begin > size)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "begin is %" PRId64 ", but along axis %" PRId64
                               " it must be from %" PRId64 " to %" PRId64,
                               o->begin, axis, -size, size);
    if (o->end < -size - (step < 0) || o->end > size)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "end is %" PRId64 ", but along axis %" PRId64
                               " it must be from %" PRId64 " to %" PRId64,
                               o->end, axis, -size - (step < 0), size);
    int64_t begin = o->begin + (o->begin < 0 ? size : 0), end = o->end + (o->end < 0 ? size : 0);
    if (step < 0 && begin == size) /* behind the last */
        begin = size - 1;
    int64_t length = step > 0 ? end - begin : begin - end, stride = llabs(step);
    out->shape.dims[axis] = length > 0 ? (length - 1) / stride + 1 : 0;
    if (out->shape.dims[axis] > 0)
        out->offset = begin * x->strides[axis];
    out->strides[axis] = out->shape.dims[axis] > 1 ? step * x->strides[axis] : x->strides[axis];
    return true;
}

static const hki_sample slice_step_samples[] = {
    {.inputs = {HKI_SHAPE(7)}, HKI_GIVEN(slice_step, 0, 1, 7, 2)},
    {.inputs = {HKI_SHAPE(7)}, HKI_GIVEN(slice_step, 0, -1, -8, -3)},
    {.inputs = {HKI_SHAPE(4, 6)}, HKI_GIVEN(slice_step, -1, 5, 0, -2)},
    {.inputs = {HKI_SHAPE(3, 0)}, HKI_GIVEN(slice_step, 1, 0, -1, -1)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(slice_step, 0, 2, 2, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7)}, HKI_GIVEN(slice_step, 0, 4, -6, -2)},
};
HKI_VIEW_OP(slice_step, "x[begin:end:step] along one axis: a view. Unlike Python, an index out of "
                        "range is refused.");

#define FLIP_ARGUMENTS(F, op) F(op, INT, axis, "", "a negative one counts from the last")
HKI_ARGUMENTS(flip, FLIP_ARGUMENTS)

static bool layout_flip(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    int64_t axis = ((const hki_flip_options *)call->options)->axis;
    if (!hki_call_take_axis(call, "axis", &axis, x->shape.ndim))
        return false;
    if (x->size > 0)
        out->offset = (x->shape.dims[axis] - 1) * x->strides[axis];
    out->strides[axis] = -x->strides[axis];
    return true;
}

static const hki_sample flip_samples[] = {
    {.inputs = {HKI_SHAPE(5)}, HKI_GIVEN(flip, 0)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(flip, -2)},
    {.inputs = {HKI_SHAPE(0, 3)}, HKI_GIVEN(flip, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4)}, HKI_GIVEN(flip, -1)},
};
HKI_VIEW_OP(flip, "x with the order of its elements along an axis reversed: a view.");

/* ---- axes added, removed, moved ------------------------------------------------------------------------ */

#define EXPAND_DIMS_ARGUMENTS(F, op)                                                               \
    F(op, INT, axis, "", "where the axis is in the result; a negative one counts from its last")
HKI_ARGUMENTS(expand_dims, EXPAND_DIMS_ARGUMENTS)

static bool layout_expand_dims(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    int64_t axis = ((const hki_expand_dims_options *)call->options)->axis;
    if (x->shape.ndim == HK_MAX_NDIM)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x has %d axes already, the most that there may be", HK_MAX_NDIM);
    if (!hki_call_take_axis(call, "axis", &axis, x->shape.ndim + 1))
        return false;
    hki_layout_insert(out, (int)axis, 1, 1);
    return true;
}

static const hki_sample expand_dims_samples[] = {
    {.inputs = {HKI_SHAPE_0D}, HKI_GIVEN(expand_dims, 0)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(expand_dims, -1)},
    {.inputs = {HKI_SHAPE(0, 3)}, HKI_GIVEN(expand_dims, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(expand_dims, 1)},
};
HKI_VIEW_OP(expand_dims, "x with an axis of size 1 added: a view.");

#define SQUEEZE_ARGUMENTS(F, op) F(op, INT, axis, "", "a negative one counts from the last")
HKI_ARGUMENTS(squeeze, SQUEEZE_ARGUMENTS)

static bool layout_squeeze(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    int64_t axis = ((const hki_squeeze_options *)call->options)->axis;
    if (!hki_call_take_axis(call, "axis", &axis, x->shape.ndim))
        return false;
    if (x->shape.dims[axis] != 1)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "axis %" PRId64 " of x has %" PRId64 " entries, but must have 1",
                               axis, x->shape.dims[axis]);
    hki_layout_remove(out, (int)axis);
    return true;
}

static const hki_sample squeeze_samples[] = {
    {.inputs = {HKI_SHAPE(1)}, HKI_GIVEN(squeeze, 0)},
    {.inputs = {HKI_SHAPE(4, 1, 3)}, HKI_GIVEN(squeeze, -2)},
    {.inputs = {HKI_SHAPE(0, 1)}, HKI_GIVEN(squeeze, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(1, 4, 3)}, HKI_GIVEN(squeeze, 0)},
};
HKI_VIEW_OP(squeeze, "x without an axis of size 1: a view.");

/* The axis at `from` goes to `to`. */
static void move_axis(hki_view_layout *out, int from, int to)
{
    int64_t dim = out->shape.dims[from], stride = out->strides[from];
    hki_layout_remove(out, from);
    hki_layout_insert(out, to, dim, stride);
}

#define TWO_AXES_ARGUMENTS(F, op, first, second)                                                   \
    F(op, INT, first, "", "a negative one counts from the last")                                   \
    F(op, INT, second, "", "a negative one counts from the last")
#define SWAPAXES_ARGUMENTS(F, op) TWO_AXES_ARGUMENTS(F, op, axis1, axis2)
#define MOVEAXIS_ARGUMENTS(F, op) TWO_AXES_ARGUMENTS(F, op, source, destination)
HKI_ARGUMENTS(swapaxes, SWAPAXES_ARGUMENTS)
HKI_ARGUMENTS(moveaxis, MOVEAXIS_ARGUMENTS)

static bool layout_swapaxes(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    hki_swapaxes_options o = *(const hki_swapaxes_options *)call->options;
    if (!hki_call_take_axis(call, "axis1", &o.axis1, x->shape.ndim) ||
        !hki_call_take_axis(call, "axis2", &o.axis2, x->shape.ndim))
        return false;
    out->shape.dims[o.axis1] = x->shape.dims[o.axis2];
    out->strides[o.axis1] = x->strides[o.axis2];
    out->shape.dims[o.axis2] = x->shape.dims[o.axis1];
    out->strides[o.axis2] = x->strides[o.axis1];
    return true;
}

static bool layout_moveaxis(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    hki_moveaxis_options o = *(const hki_moveaxis_options *)call->options;
    if (!hki_call_take_axis(call, "source", &o.source, x->shape.ndim) ||
        !hki_call_take_axis(call, "destination", &o.destination, x->shape.ndim))
        return false;
    move_axis(out, (int)o.source, (int)o.destination);
    return true;
}

static const hki_sample swapaxes_samples[] = {
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(swapaxes, 0, 1)},
    {.inputs = {HKI_SHAPE(2, 0, 3)}, HKI_GIVEN(swapaxes, -1, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4)}, HKI_GIVEN(swapaxes, 0, -1)},
};
HKI_VIEW_OP(swapaxes, "x with two axes exchanged: a view.");

static const hki_sample moveaxis_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 4)}, HKI_GIVEN(moveaxis, 0, -1)},
    {.inputs = {HKI_SHAPE(2, 0, 3)}, HKI_GIVEN(moveaxis, 2, 0)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4)}, HKI_GIVEN(moveaxis, 1, 2)},
};
HKI_VIEW_OP(moveaxis, "x with an axis moved to another place, the others in order: a view.");

#define PERMUTE_DIMS_ARGUMENTS(F, op)                                                              \
    F(op, DIMS, axes, "", "for each axis of the result, which of x's it is; each one once")
HKI_ARGUMENTS(permute_dims, PERMUTE_DIMS_ARGUMENTS)

static bool layout_permute_dims(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    hk_dims axes = ((const hki_permute_dims_options *)call->options)->axes;
    unsigned seen = 0;
    if (axes.ndim != x->shape.ndim)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "axes names %d, but x has %d axes, and each must be named",
                               axes.ndim, x->shape.ndim);
    for (int i = 0; i < axes.ndim; i++) {
        int64_t axis = axes.dims[i];
        if (!hki_call_take_axis(call, "one of axes", &axis, x->shape.ndim))
            return false;
        if (seen & 1u << axis)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "axes names axis %" PRId64 " twice, but each must be named once",
                                   axis);
        seen |= 1u << axis;
        out->shape.dims[i] = x->shape.dims[axis];
        out->strides[i] = x->strides[axis];
    }
    return true;
}

static const hki_sample permute_dims_samples[] = {
    {.inputs = {HKI_SHAPE_0D}, HKI_GIVEN(permute_dims, HKI_SHAPE_0D)},
    {.inputs = {HKI_SHAPE(2, 3, 4)}, HKI_GIVEN(permute_dims, HKI_SHAPE(1, -1, 0))},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 0, 4)},
     HKI_GIVEN(permute_dims, HKI_SHAPE(2, 0, 1))},
};
HKI_VIEW_OP(permute_dims, "x with its axes in another order: a view.");

/* ---- diagonal, windows ----------------------------------------------------------------------------------- */

#define DIAGONAL_ARGUMENTS(F, op)                                                                  \
    F(op, INT, offset, "", "0: the main diagonal; above it where positive, below where negative")
HKI_ARGUMENTS(diagonal, DIAGONAL_ARGUMENTS)

static bool layout_diagonal(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    const int64_t offset = ((const hki_diagonal_options *)call->options)->offset;
    const int row = x->shape.ndim - 2, column = row + 1;
    if (row < 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "x has %d axes, but needs 2 at least",
                               x->shape.ndim);
    const int64_t rows = x->shape.dims[row], columns = x->shape.dims[column];
    int64_t size = 0;
    if (offset >= 0 && offset < columns)
        size = rows < columns - offset ? rows : columns - offset;
    else if (offset < 0 && offset > -rows)
        size = columns < rows + offset ? columns : rows + offset;
    if (size > 0)
        out->offset = offset >= 0 ? offset * x->strides[column] : -offset * x->strides[row];
    out->shape.ndim--;
    out->shape.dims[row] = size;
    out->strides[row] = x->strides[row] + x->strides[column];
    return true;
}

static const hki_sample diagonal_samples[] = {
    {.inputs = {HKI_SHAPE(4, 6)}, HKI_GIVEN(diagonal, 0)},
    {.inputs = {HKI_SHAPE(4, 6)}, HKI_GIVEN(diagonal, 3)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(diagonal, -2)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(diagonal, 3)},
    {.inputs = {HKI_SHAPE(2, 0, 3)}, HKI_GIVEN(diagonal, 0)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 4, 3)}, HKI_GIVEN(diagonal, -1)},
};
HKI_VIEW_OP(diagonal, "The diagonals of the last two axes, as a last axis: a view.");

#define SLIDING_WINDOW_ARGUMENTS(F, op)                                                            \
    F(op, INT, axis, "", "a negative one counts from the last")                                    \
    F(op, INT, size, "", "entries of a window, 1 at least")                                        \
    F(op, INT, step, "", "from one window to the next, 1 at least")
HKI_ARGUMENTS(sliding_window, SLIDING_WINDOW_ARGUMENTS)

static bool layout_sliding_window(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    const hki_sliding_window_options *o = call->options;
    int64_t axis = o->axis;
    if (!hki_call_take_axis(call, "axis", &axis, x->shape.ndim))
        return false;
    if (x->shape.ndim == HK_MAX_NDIM)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x has %d axes already, the most that there may be", HK_MAX_NDIM);
    if (o->size < 1 || o->size > x->shape.dims[axis])
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "size is %" PRId64 ", but must be from 1 to %" PRId64
                               ", what axis %" PRId64 " of x has",
                               o->size, x->shape.dims[axis], axis);
    if (o->step < 1)
        return hki_call_refuse(call, HK_OUT_OF_RANGE, "step is %" PRId64 ", but must be 1 at least",
                               o->step);
    const int64_t stride = x->strides[axis];
    const int64_t count = (x->shape.dims[axis] - o->size) / o->step + 1;
    out->shape.dims[axis] = count;
    out->strides[axis] = count > 1 ? o->step * stride : stride;
    hki_layout_insert(out, out->shape.ndim, o->size, stride);
    return true;
}

static const hki_sample sliding_window_samples[] = {
    {.inputs = {HKI_SHAPE(7)}, HKI_GIVEN(sliding_window, 0, 3, 1)},
    {.inputs = {HKI_SHAPE(8)}, HKI_GIVEN(sliding_window, 0, 5, 2)},
    {.inputs = {HKI_SHAPE(4, 6)}, HKI_GIVEN(sliding_window, 0, 2, 2)},
    {.inputs = {HKI_SHAPE(0, 6)}, HKI_GIVEN(sliding_window, 1, 2, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 4)}, HKI_GIVEN(sliding_window, -2, 3, 1)},
};
HKI_VIEW_OP(
    sliding_window,
    "Windows along an axis, one behind the other: the axis counts them, and a last axis has "
    "the entries of each. A view, into which nobody may write where windows overlap. Its "
    "gradient adds up what the windows of an element get.");
