/* Factorisations of one matrix on one core, by LAPACK. Matrices are row-major, without gaps, and are overwritten where they are
 * not const. All memory is 64-byte aligned, so that the bytes of a result follow from the matrix alone.
 *
 * Sizes are at least 1; hki_linalg_fits says which are not too large. Call hki_blas_memory_reserve() first.
 *
 * Vectors could be turned round: of those of eigen, and of the columns of u, the largest item in size is positive, the first of several.
 * On the diagonal of r nothing is negative.
 *
 * Items may be complex. Then symmetric means Hermitian, ^T conjugates, too, values are real, and what is positive is real.
 *
 * Threads: thread-safe, no locks; each call uses the calling thread only. */
#ifndef HOCKET_OP_KERNELS_LINALG_KERNEL_H
#define HOCKET_OP_KERNELS_LINALG_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hki_svd_job {
    HKI_SVD_VALUES, /* no vectors */
    HKI_SVD_THIN,   /* as many vectors as there are values */
    HKI_SVD_FULL    /* all of them */
} hki_svd_job;

/* What a routine works in: bytes of items and of integers. */
typedef struct hki_linalg_need {
    size_t work, integers;
} hki_linalg_need;

/* The routines of one dtype. */
typedef struct hki_linalg {
    size_t item, real; /* bytes of an item, and of its real part */
    /* None of the items is NaN or infinite. */
    bool (*is_finite)(const void *x, int64_t count);
    bool (*is_zero)(const void *item);

    /* Of n x n, whose lower triangle is read: L, where a = L L^T, with zeros above; upper: L^T. Returns 0; or i, where the
     * leading i x i matrix is not positive definite. */
    int (*cholesky)(int n, void *a, bool upper);

    /* The factors of n x n for the functions below, with pivots[n]. Returns 0, or the pivot, from 1, that is exactly 0. */
    int (*lu)(int n, void *a, int *pivots);
    /* The determinant by factors: its sign, an item, and the logarithm of its absolute value, or the value itself, an item. */
    void (*lu_determinant)(int n, const void *lu, const int *pivots, void *value);
    void (*lu_sign)(int n, const void *lu, const int *pivots, void *sign);
    double (*lu_log)(int n, const void *lu);
    /* Solves for so many columns; `b`, of one column after the other, becomes the solutions. */
    void (*lu_solve)(int n, int columns, const void *lu, const int *pivots, void *b);
    hki_linalg_need (*lu_invert_need)(int n);
    void (*lu_invert)(int n, void *lu, const int *pivots, void *work, size_t work_bytes);

    /* The eigenvalues of the symmetric n x n matrix whose lower triangle is read, in rising order; with vectors a becomes
     * them, one a row. False: no convergence. */
    hki_linalg_need (*eigen_need)(int n, bool vectors);
    bool (*eigen)(int n, bool vectors, void *a, void *values, void *work, void *integers,
                  hki_linalg_need need);

    /* a (m,n) = u (m,k or m) diag(values) vt (k or n,n), values (k = min(m, n)) in falling order; a is lost. False: no
     * convergence. */
    hki_linalg_need (*svd_need)(int m, int n, hki_svd_job job);
    bool (*svd)(int m, int n, hki_svd_job job, void *a, void *values, void *u, void *vt, void *work,
                void *integers, hki_linalg_need need);

    /* a (m,n) = q (m,columns) r (columns,n), with min(m, n) or m columns. q has room for m x max(columns, n) items. */
    hki_linalg_need (*qr_need)(int m, int n, int columns);
    void (*qr)(int m, int n, int columns, const void *a, void *q, void *r, void *work,
               size_t work_bytes);

    /* to (m,n) = left^T diag(by) right, of k rows each, where left is overwritten. */
    bool (*scaled_product)(int m, int n, int k, void *left, const void *by, const void *right,
                           void *to);
    /* The mean of x (n,n) and its transpose, which is x where it is symmetric. */
    void (*symmetrise)(int n, const void *x, void *to);
    /* The transpose (n,m) of x (m,n), which is not conjugated; and the one that is. */
    void (*transpose)(int m, int n, const void *x, void *to);
    void (*adjoint)(int m, int n, const void *x, void *to);
} hki_linalg;

extern const hki_linalg hki_linalg_f32, hki_linalg_f64, hki_linalg_c64, hki_linalg_c128;

/* LAPACK counts in int; the routines with a need take squares of the smaller size. */
enum { HKI_LINALG_MOST = 1 << 24, HKI_LINALG_MOST_VECTORS = 20000 };

#endif
