/* What the products that are added to a matrix have in common: addmm, syrk. Their options begin
 * with those of addmm, and input 0 is the matrix c. */
#ifndef HOCKET_OP_UPDATES_H
#define HOCKET_OP_UPDATES_H

#include "op/linalg/blas_kernel.h"
#include "op/op.h"
#include "op/shape/fill.h"

#define UPDATE_FACTORS(F, op)                                                                      \
    F(op, F64, alpha, "1", "what the product is multiplied by; HK_ZERO: 0")                        \
    F(op, F64, beta, "1", "what c is multiplied by; HK_ZERO: 0")
HKI_OPTIONS_STRUCT(addmm, UPDATE_FACTORS)
#define SYRK_OPTIONS(F, op)                                                                        \
    UPDATE_FACTORS(F, op)                                                                          \
    F(op, BOOL, upper, "false", "the upper triangle is written, not the lower one")
HKI_OPTIONS_STRUCT(syrk, SYRK_OPTIONS)

double hki_update_alpha(const void *options);
double hki_update_beta(const void *options);

/* From infer, with shape and dtype of the result: c has that dtype and broadcasts to it. */
bool hki_update_check_c(hki_call *call);

/* What stands for that matrix of the result, in c. */
hki_blas_matrix hki_update_c(const hki_tensor *c, const hki_tensor *out, int64_t matrix);
/* to = beta c, where c may be `to` itself. */
void hki_update_scale(const hki_blas *blas, double beta, hki_blas_matrix c, hki_blas_matrix to);

/* factor times x; the gradient of that input which is as much, summed to its shape. */
hk_array *hki_update_times(hk_array *x, double factor);
hk_array *hki_update_gradient(const hki_grad_call *call, int index, double factor, hk_array *x);

/* For references: the item of c that stands for that one of the result; beta times it. */
double hki_update_item_of_c(const hki_call *call, const double *c, int64_t index);
double hki_update_reference_c(const hki_call *call, const double *c, int64_t index);

#endif
