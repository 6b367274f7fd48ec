/* Factors with partial pivoting, P a = L U, in place, on one core. Matrices lie by columns:
 * row_step is 1. Pivots count from 0: row i was swapped with row pivots[i], one after another.
 * Call hki_blas_memory_reserve() first. Threads: as blas_kernel.h. */
#ifndef HOCKET_OP_KERNELS_LU_KERNEL_H
#define HOCKET_OP_KERNELS_LU_KERNEL_H

#include "op/linalg/blas_kernel.h"

typedef struct hki_lu {
    /* a (m,n) becomes L, whose diagonal of 1 is left out, and U. min(m, n) pivots. */
    void (*factor)(hki_blas_matrix a, int32_t *pivots);
    /* Swaps row `first` + i of x with row pivots[i], of so many; backwards: in the opposite
     * order. x may lie in any way. */
    void (*swap_rows)(hki_blas_matrix x, int64_t first, const int32_t *pivots, int64_t count,
                      bool backwards);
    /* The first item that is exactly 0 of the diagonal of x, from 0; -1: none. */
    int64_t (*find_zero)(hki_blas_matrix x);
    /* Zeros, with a 1 in row `row` + i of column i. */
    void (*set_identity)(hki_blas_matrix x, int64_t row);
} hki_lu;

extern const hki_lu hki_lu_f32, hki_lu_f64, hki_lu_c64, hki_lu_c128;

#endif
