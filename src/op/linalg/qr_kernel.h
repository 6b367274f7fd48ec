/* Factors a = Q R by reflections, in place, on one core. Matrices lie by columns: row_step is 1.
 * R becomes the upper triangle; reflection i, I - tau[i] v v^H, has in v zeros, a 1 in row i,
 * and what lies below the diagonal of column i. Q is the product of all in their order. Call
 * hki_blas_memory_reserve() first. Threads: as blas_kernel.h. */
#ifndef HOCKET_OP_KERNELS_QR_KERNEL_H
#define HOCKET_OP_KERNELS_QR_KERNEL_H

#include "op/linalg/blas_kernel.h"

/* Several reflections at once, I - v t v^H: the first rows of v, a square with a diagonal of
 * ones; the others; and t, upper triangular. `first` lies by columns, t by rows. */
typedef struct hki_reflections {
    hki_blas_matrix first, others, t;
} hki_reflections;

typedef struct hki_qr {
    size_t (*factor_bytes)(int64_t m, int64_t n); /* of work */
    void (*factor)(hki_blas_matrix a, void *tau, void *work, size_t bytes);
    /* c becomes Q c, or c Q from the right; adjoint: by Q^H. */
    size_t (*multiply_bytes)(bool right, int64_t m, int64_t n, int64_t count);
    void (*multiply)(bool right, bool adjoint, hki_blas_matrix a, int64_t count, const void *tau,
                     hki_blas_matrix c, void *work, size_t bytes);
    /* Sets `first` and `t`, of a factored panel and its others; sums: of the size of t, by rows. */
    void (*gather)(hki_blas_matrix panel, const void *tau, hki_reflections to, void *sums);
    /* Whether item i of the diagonal of a is negative, its real part; x = -x. */
    bool (*is_negative)(hki_blas_matrix a, int64_t i);
    void (*negate)(hki_blas_matrix x);
} hki_qr;

extern const hki_qr hki_qr_f32, hki_qr_f64, hki_qr_c64, hki_qr_c128;

#endif
