/* Matrices of strided tensors as BLAS takes them, in place wherever that can be. */
#ifndef HOCKET_OP_LINALG_VIEWS_H
#define HOCKET_OP_LINALG_VIEWS_H

#include "op/linalg/blas_kernel.h"
#include "op/linalg/linalg.h"

HKI_ROUTINES_OF(blas)

/* That matrix of the stack that `out` is, of so many axes each, of x, which may be broadcast to
 * it. Matrices of one axis are columns. */
hki_blas_matrix hki_stack_matrix(const hki_tensor *x, int axes, const hki_tensor *out, int out_axes,
                                 int64_t matrix);
static inline hki_blas_matrix hki_matrix_of(const hki_tensor *x, int64_t matrix)
{
    return hki_stack_matrix(x, 2, x, 2, matrix);
}

/* A matrix for the time of a kernel: `at` is itself, or a copy. */
typedef struct hki_borrowed {
    hki_blas_matrix at, own;
    const hki_blas *of;
    void *copy; /* NULL: none was needed */
    size_t bytes;
} hki_borrowed;

/* Where its items are to lie side by side. */
typedef enum hki_lying { HKI_LYING_ANY, HKI_LYING_BY_ROWS, HKI_LYING_BY_COLUMNS } hki_lying;

/* False after the task has been failed; else hki_return_matrix follows. reads: its items are
 * wanted. */
bool hki_borrow_matrix(hki_borrowed *it, const hki_kernel_call *call, int64_t piece,
                       hki_blas_matrix x, hki_lying lying, bool reads);
/* writes: what `at` has becomes the matrix. */
void hki_return_matrix(hki_borrowed *it, const hki_kernel_call *call, bool writes);

#endif
