/* How parameters begin. */
#include "array/array.h"
#include "base/option.h"
#include "base/source.h"
#include "op/op.h"

#include <hocket/hocket.h>
#include <math.h>

/* Sizes of all axes but the first, and but the second, multiplied: of a convolution's weight, how many elements go into one
 * result, and how many results one element goes into. */
static void fans(const hk_dims *shape, double *in, double *out)
{
    *in = *out = 1;
    for (int i = 0; i < shape->ndim; i++) {
        if (i != 0 || shape->ndim == 1)
            *in *= (double)shape->dims[i];
        if (i != 1)
            *out *= (double)shape->dims[i];
    }
}

/* Row i, which the rows before it have no part in, of norm 1. Taken out twice, so that rounding leaves none either. */
static hk_array *orthonormal(hk_array *row, hk_array *before)
{
    for (int i = 0; i < 2 && hk_dim(before, 0) > 0; i++)
        row = (hk_subtract)(row, (hk_matmul)((hk_linear)(row, before, NULL), before));
    return (hk_multiply)(row, (hk_rsqrt)((hk_sum)((hk_square)(row), NULL)));
}

/* Orthonormal rows, or where there are more of them than columns, columns: of normal numbers, by Gram and Schmidt, so that
 * none is more likely than another (Saxe et al. 2014). In double, and without waiting. */
static hk_array *orthogonal(const hk_dims *shape, double gain, hk_dtype dtype, hk_device device)
{
    int64_t rows = shape->ndim > 0 ? shape->dims[0] : 1, columns = 1;
    for (int i = 1; i < shape->ndim; i++)
        columns *= shape->dims[i];
    const bool is_tall = rows > columns;
    const int64_t count = is_tall ? columns : rows, length = is_tall ? rows : columns;
    hk_array *q = (hk_random_normal)(hk_shape(count, length), HK_F64, device);
    for (int64_t i = 0; i < count && !q->failed; i++) {
        HK_SCOPE;
        hk_array *row = (hk_slice)(q, 0, i, i + 1);
        (hk_assign)(row, orthonormal(row, (hk_slice)(q, 0, 0, i)));
    }
    q = hki_op_call_number(&hki_op_multiply_scalar, is_tall ? (hk_transpose)(q) : q, gain);
    return (hk_copy)((hk_cast)((hk_reshape)(q, *shape), dtype));
}

hk_array *(hk_init_draw)(const hk_init *init, hk_dims shape, hk_dtype dtype, hk_device device)
{
    static const char operation[] = "init_draw";
    static const hk_init defaults = {.kind = HK_INIT_FAN_IN};
    if (!init || init->kind == HK_INIT_DEFAULT)
        init = &defaults;
    if (!isfinite(init->value) || !isfinite(init->gain))
        return hki_array_create_failed(device.handle, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                       "value is %g and gain %g, but both must be finite",
                                       init->value, init->gain);
    double in, out, width = 0, deviation = 0;
    const double gain = hki_option_or(init->gain, 1);
    fans(&shape, &in, &out);
    switch (init->kind) {
    case HK_INIT_CONSTANT:
        return (hk_full)(shape, init->value, dtype, device);
    case HK_INIT_UNIFORM:
        width = init->value;
        break;
    case HK_INIT_NORMAL:
        deviation = init->value;
        break;
    case HK_INIT_FAN_IN:
        width = 1 / sqrt(in);
        break;
    case HK_INIT_XAVIER_UNIFORM:
        width = gain * sqrt(6 / (in + out));
        break;
    case HK_INIT_XAVIER_NORMAL:
        deviation = gain * sqrt(2 / (in + out));
        break;
    case HK_INIT_HE_UNIFORM:
        width = gain * sqrt(6 / in);
        break;
    case HK_INIT_HE_NORMAL:
        deviation = gain * sqrt(2 / in);
        break;
    case HK_INIT_ORTHOGONAL:
        if (dtype != HK_F32 && dtype != HK_F64)
            return (hk_random_normal)(shape, dtype, device); /* which says so */
        return out == 0 || in == 0 ? (hk_full)(shape, 0, dtype, device)
                                   : orthogonal(&shape, gain, dtype, device);
    case HK_INIT_DEFAULT:
    default:
        return hki_array_create_failed(device.handle, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                       "kind is %d, which is no hk_init_kind", (int)init->kind);
    }
    width = fabs(width);
    if (deviation != 0)
        return (hk_random_normal_from)(NULL, 0, fabs(deviation), shape, dtype, device);
    if (width == 0 || !isfinite(width)) /* nothing to draw from, or for no elements */
        return (hk_full)(shape, 0, dtype, device);
    return (hk_random_uniform_from)(NULL, -width, width, shape, dtype, device);
}
