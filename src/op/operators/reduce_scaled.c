#include "op/operators/reduce_scaled.h"

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

double hki_reduce_scaled(const hki_tensor *x, const hki_reduce_geometry *geometry, int64_t k,
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
