/* Squared distances from a mean, for variances. */
#ifndef HOCKET_OP_SQUARES_ABOUT_H
#define HOCKET_OP_SQUARES_ABOUT_H

#include "op/reduce/reduce.h"

#define VAR_OPTIONS(F, op)                                                                         \
    F(op, DIMS, axes, "all axes", "axes to reduce, such as hk_shape(0, -1)")                       \
    F(op, BOOL, keepdims, "false", "keep the reduced axes, with size 1")                           \
    F(op, F64, correction, "0", "taken from the number of elements; 1 for a sample's variance")
HKI_OPTIONS_STRUCT(var, VAR_OPTIONS)

static inline hki_sum_options hki_over(const hk_dims *axes, bool keepdims)
{
    return (hki_sum_options){.axes = *axes, .keepdims = keepdims};
}

/* What a sum of squares is divided by, 0 where that is not positive. */
static inline double hki_variance_divisor(const hki_var_options *options, double count)
{
    const double divisor = count - options->correction;
    return divisor > 0 ? divisor : 0;
}

/* All in the current scope; x is of float32 or float64. */

/* x less its mean over axes, as precise as x is, also where x is far from 0: the mean is not rounded
 * to one number of x's dtype. */
hk_array *hki_centred(hk_array *x, const hk_dims *axes);

/* The mean of x that hki_variance is about, which keeps its axes: float64 where a rounded one would
 * not do, else of x's dtype. */
hk_array *hki_mean_about(hk_array *x, const hki_var_options *options);

/* The sums of (x - mean)^2 over axes, divided by `count` less correction, or their roots: rounded at
 * the end alone. mean: NULL, or hki_mean_about's; count: how many elements one of the result stands
 * for. */
hk_array *hki_variance(hk_array *x, hk_array *mean, const hki_var_options *options, double count,
                       bool is_root);

#endif
