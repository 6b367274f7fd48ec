/* Eigenvalues or singular values of the matrices of one piece, with their vectors or without. */
#ifndef HOCKET_OP_SPECTRUM_H
#define HOCKET_OP_SPECTRUM_H

#include "base/integer.h"
#include "op/linalg/linalg.h"

static inline hki_stack hki_stack_of_call(const hki_call *call)
{
    return hki_stack_of(call->inputs[0]->shape.ndim, call->inputs[0]->shape.dims);
}

static inline int64_t hki_stack_least(const hki_stack *stack)
{
    return hki_min(stack->rows, stack->columns);
}

/* Of values (..., n): 1 / (values[j] - values[i]) at row i and column j, and 0 on the diagonal. */
hk_array *hki_reciprocal_gaps(hk_array *values);

/* Matrix `matrix` of a contiguous stack, with so many items each. */
static inline char *hki_matrix_at(const hki_tensor *x, int64_t matrix, int64_t items)
{
    return (char *)x->data + matrix * items * (int64_t)hk_dtype_bytes(x->dtype);
}

/* Parts of the workspace. Of eigenvalues the vectors are in A, one a row, and U has as much room. */
enum {
    HKI_SPECTRUM_A,
    HKI_SPECTRUM_VALUES,
    HKI_SPECTRUM_WORK,
    HKI_SPECTRUM_INTEGERS,
    HKI_SPECTRUM_U,
    HKI_SPECTRUM_VT,
    HKI_SPECTRUM_PARTS
};

typedef struct hki_spectrum {
    hki_linalg_work work;
    hki_stack stack;
    int least;
    hki_svd_job job;
    hki_linalg_need need;
} hki_spectrum;

/* For matrices of input 0. False: they have no elements, or the task has been failed. Else hki_linalg_end(&self->work). */
bool hki_spectrum_begin(hki_spectrum *self, const hki_kernel_call *call, int64_t piece,
                        bool is_symmetric, hki_svd_job job);
/* False after the task has been failed. Of eigenvalues those of the mean of a matrix and its transpose. */
bool hki_spectrum_find_singular(const hki_spectrum *self, int64_t matrix);
bool hki_spectrum_find_eigen(const hki_spectrum *self, int64_t matrix);

#endif
