/* Eigenvalues of one square matrix that need not be symmetric, on one core, by LAPACK's dgeev and zgeev:
 * https://netlib.org/lapack/explore-html. In doubles, whatever the dtype: results are rounded once.
 *
 * Sizes are at least 1 and HKI_LINALG_MOST_VECTORS at most. Call hki_blas_memory_reserve() first. All memory is 64-byte aligned.
 *
 * Threads: thread-safe, no locks; each call uses the calling thread only. */
#ifndef HOCKET_OP_KERNELS_EIGEN_KERNEL_H
#define HOCKET_OP_KERNELS_EIGEN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hki_eigen {
    int n;
    bool is_complex, vectors;
    size_t work_bytes;
} hki_eigen;

/* What hki_eigen_find works in. */
hki_eigen hki_eigen_of(int n, bool is_complex, bool vectors);

/* a is column-major, of doubles or pairs of them, and is lost. Results are pairs: n values, and vectors, one after the other, of
 * length 1, whose largest element in size, the first of several, is real and positive; NULL where they are not asked for. Values of a
 * real matrix that are not real come in conjugate pairs, as their vectors do. False: no convergence. */
bool hki_eigen_find(const hki_eigen *self, double *a, double *values, double *vectors, void *work);

#endif
