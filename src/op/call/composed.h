/* Arithmetic by operators, in a few words: for what is composed of it. */
#ifndef HOCKET_OP_COMPOSED_H
#define HOCKET_OP_COMPOSED_H

#include "op/op.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/reshape.h"

static inline hk_array *hki_plus(hk_array *x, double value)
{
    return hki_op_call_number(&hki_op_add_scalar, x, value);
}

static inline hk_array *hki_times(hk_array *x, double value)
{
    return hki_op_call_number(&hki_op_multiply_scalar, x, value);
}

static inline hk_array *hki_product(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

/* value - x */
static inline hk_array *hki_less(double value, hk_array *x)
{
    return hki_plus(hki_times(x, -1), value);
}

static inline hk_array *hki_clipped(hk_array *x, double low, double high)
{
    return hki_op_call_number(&hki_op_minimum_scalar,
                              hki_op_call_number(&hki_op_maximum_scalar, x, low), high);
}

static inline hk_array *hki_as(hk_array *x, hk_dtype dtype)
{
    return hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){.dtype = dtype});
}

static inline hk_array *hki_shaped(hk_array *x, hk_dims shape)
{
    return hki_op_call1(&hki_op_reshape, x, &(const hki_reshape_options){.shape = shape});
}

/* So many entries of a value in front of an axis and behind it. */
static inline hk_array *hki_padded(hk_array *x, int64_t axis, int64_t before, int64_t behind,
                                   double value)
{
    const struct {
        int64_t axis, width[2], mode;
        double value;
    } pad = {axis, {before, behind}, HK_PAD_CONSTANT, value};
    return hki_op_call1(&hki_op_pad, x, &pad);
}

static inline hk_array *hki_expanded(hk_array *x, int64_t axis)
{
    return hki_op_call1(&hki_op_expand_dims, x, &axis);
}

static inline hk_array *hki_squeezed(hk_array *x, int64_t axis)
{
    return hki_op_call1(&hki_op_squeeze, x, &axis);
}

static inline hk_array *hki_axis_moved(hk_array *x, int64_t from, int64_t to)
{
    return hki_op_call1(&hki_op_moveaxis, x, (const int64_t[]){from, to});
}

/* One number of no axes, on the call's device. */
static inline hk_array *hki_number(const hki_call *call, double value, hk_dtype dtype)
{
    const hki_full_options one = {.shape = {.ndim = 0}, .value = value, .dtype = dtype};
    return hki_op_call(&hki_op_full, NULL, 0, &one, (hk_device){call->device}, NULL);
}

/* 0, 1, … count - 1 */
static inline hk_array *hki_counted(const hki_call *call, int64_t count, hk_dtype dtype)
{
    const struct {
        int64_t first, step, count;
        hk_dtype dtype;
    } counted = {0, 1, count, dtype};
    return hki_op_call(&hki_op_sequence, NULL, 0, &counted, (hk_device){call->device}, NULL);
}

#endif
