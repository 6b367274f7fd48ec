/* Matrix products: C = alpha op(A) op(B) + beta C on one core, row-major.
 *
 *   op(A) is m x k, op(B) is k x n, C is m x n. Without trans_a, A is stored as m rows of k items,
 * lda items from one row to the next; with it, as k rows of m. B likewise. C does not overlap A or
 * B. lda and ldb may be anything, 0 (one row for all) and negative included; ldc >= n unless m
 * <= 1.
 *
 * Sizes <= 0 mean empty: m or n makes the call do nothing, k makes it C = beta C. beta == 0
 * overwrites C whatever it holds, NaN included; alpha == 0 leaves A and B unread. Sizes and leading
 * dimensions have no limit of their own; a leading dimension that a BLAS does not take, below the
 * row or beyond an int, costs speed.
 *
 * The bytes are a pure function of the arguments, the items and the kernels' instruction set: not
 * of addresses, thread or run. They do depend on m: the rows of a product are not bit for bit the
 * products of its row blocks. Integers wrap around.
 *
 * Floating point runs in OpenBLAS (its own thread pool absent), which openblas_memory.h makes safe
 * to call from many threads; docs/measurements/blas.md says why this one. The loops for int32 and
 * int64 are plain.
 *
 * False, with C untouched: no addresses left for this thread's packing buffer.
 *
 * Threads: thread-safe, no locks; each call uses the calling thread only. Works in a child of a
 * fork. */
#ifndef HOCKET_OP_KERNELS_GEMM_KERNEL_H
#define HOCKET_OP_KERNELS_GEMM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool hki_gemm_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                  const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                  int64_t ldc);
bool hki_gemm_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                  const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                  double *c, int64_t ldc);

/* The same for integers; these never fail. */
bool hki_gemm_i32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, int32_t alpha,
                  const int32_t *a, int64_t lda, const int32_t *b, int64_t ldb, int32_t beta,
                  int32_t *c, int64_t ldc);
bool hki_gemm_i64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, int64_t alpha,
                  const int64_t *a, int64_t lda, const int64_t *b, int64_t ldb, int64_t beta,
                  int64_t *c, int64_t ldc);

/* Name, version, configuration and instruction set of the library in use, for people to read. */
const char *hki_gemm_library(void);

/* Looks, in under a millisecond, whether that library is the one this code was made for:
 * serial, its packing memory ours, and right in one product of each type. False with why in
 * message, which is always terminated and empty on success. */
bool hki_gemm_check(char *message, size_t size);

#endif
