/* How parameters begin. */
#include "array/array.h"
#include "base/source.h"

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
    const double gain = init->gain == 0 ? 1 : init->gain;
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

HKI_AT(hk_array *, hk_init_draw,
       (hk_source at, const hk_init *init, hk_dims shape, hk_dtype dtype, hk_device device),
       (init, shape, dtype, device))
