/* Cholesky's factors in tiles. */
#ifndef HOCKET_OP_CHOLESKY_H
#define HOCKET_OP_CHOLESKY_H

#include "op/linalg/blas_kernel.h"
#include "op/linalg/linalg.h"

#define CHOLESKY_OPTIONS(F, op)                                                                    \
    F(op, BOOL, upper, "false", "the transpose of L instead")                                      \
    F(op, BOOL, one_triangle, "false", "of x only the triangle that the result has is read")
HKI_OPTIONS_STRUCT(cholesky, CHOLESKY_OPTIONS)

/* The lower triangle of `to`, zeros above, from x, of which one triangle or both are read. False
 * after the task has been failed. */
bool hki_cholesky_factorise(const hki_linalg_work *work, int64_t matrix, bool one_triangle,
                            hki_blas_matrix x, hki_blas_matrix to);

/* Whether matrices of this shape are factorised in tiles; the composition that does, for
 * hk_op.compose of cholesky. */
bool hki_cholesky_is_tiled(const hk_dims *shape);
hk_array *hki_cholesky_tiled(const hki_call *call);

#endif
