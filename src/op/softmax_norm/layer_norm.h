/* Options and shapes of normalisations of rows: layer norm, RMS norm, group norm and their gradients. */
#ifndef HOCKET_OP_LAYER_NORM_H
#define HOCKET_OP_LAYER_NORM_H

#include "base/option.h"
#include "op/kernel.h"
#include "op/softmax_norm/row_norm_kernel.h"

#define LAYER_NORM_OPTIONS(F, op)                                                                  \
    F(op, INT, axes, "1", "how many of the last axes are normalised together")                     \
    F(op, F64, eps, "1e-5", "added to the variance, > 0")
#define GROUP_NORM_OPTIONS(F, op)                                                                  \
    F(op, INT, groups, "1", "parts of the channels, normalised each with all its positions")       \
    F(op, F64, eps, "1e-5", "added to the variance, > 0")
/* Of the gradients: which of the three it was. groups 0: layer or RMS norm over that many axes. */
#define LAYER_NORM_BACKWARD_ARGUMENTS(F, op)                                                       \
    F(op, INT, axes, "", "how many of the last axes were normalised together")                     \
    F(op, INT, groups, "", "of group_norm; else 0")                                                \
    F(op, BOOL, is_centred, "", "the mean was taken away")                                         \
    F(op, F64, eps, "", "what was added to the variance")
HKI_OPTIONS_STRUCT(layer_norm, LAYER_NORM_OPTIONS)
HKI_OPTIONS_STRUCT(group_norm, GROUP_NORM_OPTIONS)
HKI_OPTIONS_STRUCT(layer_norm_backward, LAYER_NORM_BACKWARD_ARGUMENTS)
typedef hki_layer_norm_options hki_rms_norm_options;
typedef hki_layer_norm_backward_options hki_layer_norm_weigh_options;

/* Of the three. */
static inline double hki_layer_norm_eps(const void *options)
{
    const double eps = ((const hki_layer_norm_options *)options)->eps;
    return hki_option_or(eps, 1e-5);
}

/* Which of the three operators a call is of, as its gradients know it. */
static inline hki_layer_norm_backward_options hki_layer_norm_of(hki_op_id op, const void *options)
{
    const int64_t first = ((const hki_layer_norm_options *)options)->axes; /* or groups */
    const int64_t count = first ? first : 1;
    const bool is_grouped = op == HKI_OP_ID_group_norm;
    const hki_layer_norm_backward_options of = {is_grouped ? 0 : count, is_grouped ? count : 0,
                                                op != HKI_OP_ID_rms_norm,
                                                hki_layer_norm_eps(options)};
    return of;
}

/* Rows of x: its axes but the last, or samples and groups. */
static inline hki_row_norm_shape hki_layer_norm_shape(int ndim, const int64_t *dims,
                                                      const hki_layer_norm_backward_options *of)
{
    const bool is_grouped = of->groups != 0;
    const int first = is_grouped ? 2 : ndim - (int)of->axes; /* axis of what lies in a row */
    hki_row_norm_shape shape = {1, 1, 1, 1, of->is_centred};
    for (int i = 0; i < first; i++)
        shape.rows *= dims[i];
    for (int i = first; i < ndim; i++)
        shape.size *= dims[i];
    if (is_grouped) {
        shape.groups = of->groups;
        shape.inner = shape.size > 0 ? shape.size : 1;
        shape.rows = dims[0] * of->groups;
        shape.size *= dims[1] / of->groups;
    }
    return shape;
}

/* hk_op.grad of the gradients, of which what is saved is a part of x (layer_norm_second.c). */
void hki_layer_norm_second(hki_grad_call *call);
void hki_layer_norm_weigh_second(hki_grad_call *call);

/* hk_op.reference of the three, and of the gradients (layer_norm_reference.c). */
void hki_layer_norm_reference(const hki_call *call, const double *const *in, double *const *out);
void hki_layer_norm_backward_reference(const hki_call *call, const double *const *in,
                                       double *const *out);
void hki_layer_norm_weigh_reference(const hki_call *call, const double *const *in,
                                    double *const *out);

#endif
