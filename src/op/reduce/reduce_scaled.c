#include "op/reduce/reduce_scaled.h"

#include <float.h>
#include <math.h>

/* The largest absolute value of what gave a kept element; NaN where one is NaN. */
static double largest_of(const hki_tensor *x, const hki_reduce_geometry *geometry, int64_t k)
{
    hki_reduce_word most, least;
    hki_reduce_words(HKI_REDUCE_MAX, x->dtype, geometry, x->data, k, k + 1, 0, geometry->gone.count,
                     &most);
    hki_reduce_words(HKI_REDUCE_MIN, x->dtype, geometry, x->data, k, k + 1, 0, geometry->gone.count,
                     &least);
    return most.f > -least.f || most.f != most.f ? most.f : -least.f;
}

static double scaled(const hki_tensor *x, const hki_reduce_geometry *geometry, int64_t k,
                     bool is_mean, double otherwise)
{
    const hki_reduce_axes *kept = &geometry->kept, *gone = &geometry->gone;
    const double largest = largest_of(x, geometry, k);
    const int64_t from = hki_reduce_offset(kept, kept->in_strides, k);
    double sum = 0;
    if (!(largest > 0 && largest < (double)INFINITY))
        return otherwise;
    for (int64_t i = 0; i < gone->count; i++) {
        const int64_t at = from + hki_reduce_offset(gone, gone->in_strides, i);
        const double part = (x->dtype == HK_F32 ? (double)((const float *)x->data)[at]
                                                : ((const double *)x->data)[at]) /
                            largest;
        sum += is_mean ? part : part * part;
    }
    return largest * (is_mean ? sum / (double)gone->count : sqrt(sum));
}

/* By integers, of which compilers make vectors: the exponent of what is not finite carries into the sign. */
static bool are_finite(const hki_reduce_word *words, int64_t count)
{
    uint64_t carried = 0;
    for (int64_t k = 0; k < count; k++)
        carried |= ((uint64_t)words[k].i & INT64_MAX) + (UINT64_C(1) << 52);
    return !(carried >> 63);
}

void hki_reduce_mend(const hki_tensor *x, const hki_reduce_geometry *geometry, bool is_mean,
                     hki_reduce_word *words, int64_t begin, int64_t count)
{
    if (x->dtype != HK_F64 && !(is_mean && x->dtype == HK_F32))
        return;
    /* A finite mean, or a norm whose squares are precise doubles. */
    const double least = is_mean ? 0 : 0x1p-480, most = is_mean ? DBL_MAX : 0x1p500;
    if (is_mean && are_finite(words, count))
        return;
    for (int64_t k = 0; k < count; k++) {
        const double value = words[k].f;
        if (!(fabs(value) >= least && fabs(value) <= most))
            words[k].f = scaled(x, geometry, begin + k, is_mean, value);
    }
}
