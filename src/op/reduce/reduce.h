/* Options of the reductions, for gradients that call them. */
#ifndef HOCKET_OP_REDUCE_H
#define HOCKET_OP_REDUCE_H

#include "array/axis.h"
#include "op/kernel.h"

#define REDUCE_OPTIONS(F, op)                                                                      \
    F(op, DIMS, axes, "all axes", "axes to reduce, such as hk_shape(0, -1)")                       \
    F(op, BOOL, keepdims, "false", "keep the reduced axes, with size 1")

HKI_OPTIONS_STRUCT(sum, REDUCE_OPTIONS)
typedef hki_sum_options hki_mean_options, hki_max_options, hki_min_options,
    hki_extremum_backward_options;

/* From infer: the axes as a mask of bits. False after hki_call_refuse. */
bool hki_reduce_mask(hki_call *call, const hki_sum_options *options, int ndim, unsigned *mask);
/* The mask of options that hki_reduce_mask has accepted. */
static inline unsigned hki_reduce_mask_of(const hki_sum_options *options, int ndim)
{
    unsigned mask = 0;
    for (int i = 0; i < options->axes.ndim; i++) {
        mask |= 1u << hki_axis_from_front(options->axes.dims[i], ndim);
    }
    return options->axes.ndim ? mask : (1u << ndim) - 1;
}

/* strides[i] becomes the stride in a result for axis i of the input; 0 where the axis goes. */
static inline void hki_reduce_spread(int ndim, unsigned mask, bool keepdims, const int64_t *result,
                                     int64_t strides[HK_MAX_NDIM])
{
    int next = 0;
    for (int i = 0; i < ndim; i++) {
        bool goes = mask >> i & 1;
        strides[i] = goes ? 0 : result[next];
        next += !goes || keepdims;
    }
}

/* The result's shape. */
hk_dims hki_reduce_shape(const hk_dims *shape, unsigned mask, bool keepdims);
/* A view of y, a result for `shape`, stretched to that shape. */
hk_array *hki_reduce_stretch(hk_array *y, const hk_dims *shape, const hki_sum_options *options);

/* Pieces of samples, as many as the work is worth; hki_sum_cut_to(samples, number of pieces) says which. */
void hki_reduce_plan_samples(int64_t samples, hki_plan *plan);

#endif
