/* Arithmetic of places between elements, by operators: what interpolate and grid_sample are composed of. */
#ifndef HOCKET_OP_PLACES_H
#define HOCKET_OP_PLACES_H

#include "op/op.h"
#include "op/shape/copy.h"
#include "op/shape/reshape.h"

/* Of Keys's kernel. */
#define HKI_CUBIC (-0.75)

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

/* Keys's kernel at distances t: up to 1 where is_near, else from 1 to 2. */
static inline hk_array *hki_cubic_weights(hk_array *t, bool is_near)
{
    const double a = HKI_CUBIC;
    if (is_near)
        return hki_plus(hki_product(hki_product(t, t), hki_plus(hki_times(t, a + 2), -(a + 3))), 1);
    hk_array *inner = hki_plus(hki_product(hki_plus(t, -5), t), 8);
    return hki_times(hki_plus(hki_product(inner, t), -4), a);
}

/* Of tap k of 4, of which the second is at the place or before it, so far along from there to the
 * next. */
static inline hk_array *hki_cubic_tap(hk_array *along, int k)
{
    return hki_cubic_weights(k > 1 ? hki_less(k - 1, along) : hki_plus(along, 1 - k),
                             k == 1 || k == 2);
}

#endif
