/* Squared distances from a mean, for variances. */
#ifndef HOCKET_OP_SQUARES_ABOUT_H
#define HOCKET_OP_SQUARES_ABOUT_H

#include "op/operators/reduce.h"

#define VAR_OPTIONS(F, op)                                                                         \
    F(op, DIMS, axes, "all axes", "axes to reduce, such as hk_shape(0, -1)")                       \
    F(op, BOOL, keepdims, "false", "keep the reduced axes, with size 1")                           \
    F(op, F64, correction, "0", "taken from the number of elements; 1 for a sample's variance")
HKI_OPTIONS_STRUCT(var, VAR_OPTIONS)

static inline hki_sum_options hki_over(const hk_dims *axes, bool keepdims)
{
    return (hki_sum_options){.axes = *axes, .keepdims = keepdims};
}

/* One over what a sum of squares is divided by: infinite where that is not positive. */
static inline double hki_variance_share(const hki_var_options *options, double count)
{
    const double divisor = count - options->correction;
    return 1 / (divisor > 0 ? divisor : 0);
}

/* The sums of (x - mean)^2 over axes, divided by `count` less correction, in the current scope: in one pass where there is a kernel for
 * it. mean has kept its axes; count: how many elements one of the result stands for. */
hk_array *hki_variance_about(hk_array *x, hk_array *mean, const hki_var_options *options,
                             double count);

#endif
