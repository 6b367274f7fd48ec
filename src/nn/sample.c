/* Sampling: an index of each row of logits, by what they say. */
#include "base/option.h"
#include "base/source.h"
#include "op/op.h"

#include <hocket/generate.h>
#include <hocket/hocket.h>
#include <inttypes.h>
#include <math.h>

static hk_array *refuse(hk_array *logits, hk_code code, const char *why)
{
    return hki_array_create_failed(NULL, "sample", &logits, 1, code, "%s", why);
}

static hk_array *number_like(hk_array *x, double value)
{
    return (hk_full)(hk_shape(1), value, hk_array_dtype(x), hk_array_device(x));
}

/* x where it is no less than `least`; elsewhere -inf. */
static hk_array *no_less(hk_array *x, hk_array *least)
{
    return (hk_where)((hk_less)(x, least), number_like(x, -INFINITY), x);
}

static hk_array *among_k(hk_array *x, int64_t k)
{
    hk_array *values, *indices;
    (hk_topk)(x, k, -1, true, &values, &indices);
    return no_less(x, (hk_slice)(values, -1, k - 1, k));
}

/* Those before which less than p is: the likeliest always. */
static hk_array *among_p(hk_array *x, double p)
{
    hk_array *sorted = (hk_sort)(x, -1, true);
    hk_array *chances = (hk_softmax)(sorted, -1);
    hk_array *before = (hk_subtract)((hk_cumulative_sum)(chances, -1), chances);
    hk_array *is_within = (hk_less)(before, number_like(before, p));
    hk_array *within = (hk_where)(is_within, sorted, number_like(sorted, INFINITY));
    return no_less(x, (hk_min)(within, &(hk_min_options){.axes = hk_shape(-1), .keepdims = true}));
}

hk_array *(hk_sample)(hk_array *logits, const hk_sample_options *options)
{
    HKI_TAKE_OPTIONS(hk_sample_options, options);
    const hk_sample_options its = options ? *options : (hk_sample_options){.top_k = 0};
    const double temperature = hki_option_or(its.temperature, 1);
    if (!logits)
        return refuse(logits, HK_INVALID_ARGUMENT, "argument logits is NULL");
    if (logits->failed || !hki_dtype_is_real(logits->dtype) || logits->shape.ndim == 0)
        return refuse(logits, HK_INVALID_ARGUMENT,
                      "logits must be of floats, with one axis at least, the last of classes");
    const int64_t classes = logits->shape.dims[logits->shape.ndim - 1];
    if (!(temperature >= 0) || !isfinite(temperature))
        return refuse(logits, HK_OUT_OF_RANGE, "temperature must be finite and not below 0");
    if (its.top_k < 0 || !(its.top_p >= 0) || its.top_p > 1)
        return refuse(logits, HK_OUT_OF_RANGE, "top_k must not be below 0, and top_p from 0 to 1");
    hk_array *result;
    {
        HK_SCOPE;
        HK_PAUSE;
        hk_array *x = (hk_cast)(logits, HK_F32);
        if (temperature == 0) {
            result = hk_take((hk_argmax)(x, -1));
        } else {
            if (temperature != 1)
                x = (hk_divide)(x, number_like(x, temperature));
            if (its.top_k && its.top_k < classes)
                x = among_k(x, its.top_k);
            if (its.top_p > 0 && its.top_p < 1)
                x = among_p(x, its.top_p);
            result = hk_take((hk_random_categorical_from)(its.generator, x));
        }
    }
    hki_scope_add(result);
    return result;
}
