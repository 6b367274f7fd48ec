/* What operators on stacks of matrices, which lie along the last two axes, have in common. */
#ifndef HOCKET_OP_LINALG_H
#define HOCKET_OP_LINALG_H

#include "op/linalg/linalg_kernel.h"
#include "op/op.h"

/* hki_<name>_of: the routines of that dtype, a real or complex one. */
#define HKI_ROUTINES_OF(name)                                                                      \
    static inline const hki_##name *hki_##name##_of(hk_dtype dtype)                                \
    {                                                                                              \
        return dtype == HK_F32   ? &hki_##name##_f32                                               \
               : dtype == HK_F64 ? &hki_##name##_f64                                               \
               : dtype == HK_C64 ? &hki_##name##_c64                                               \
                                 : &hki_##name##_c128;                                             \
    }

typedef struct hki_stack {
    int64_t count; /* of matrices */
    int64_t rows, columns;
} hki_stack;

/* There are two axes or more. */
static inline hki_stack hki_stack_of(int ndim, const int64_t *dims)
{
    hki_stack stack = {1, dims[ndim - 2], dims[ndim - 1]};
    for (int i = 0; i < ndim - 2; i++)
        stack.count *= dims[i];
    return stack;
}

/* From infer: input 0 is a stack of matrices that LAPACK can count; and of square ones. Results have its dtype, and the axes before
 * the last two. */
bool hki_linalg_check(hki_call *call);
bool hki_linalg_check_input(hki_call *call, int index); /* of another input, without results */
bool hki_linalg_check_square(hki_call *call);
/* The same of routines whose workspace grows with the square of the smaller size. */
bool hki_linalg_check_small(hki_call *call);

/* From plan: pieces of whole matrices of output or input `like`, for routines that take about `flops` operations for each. */
void hki_linalg_plan(hki_plan *plan, const hki_stack *stack, double flops);

/* Where the matrix of a call is a block of that one of a stack of so many axes, and begins at
 * that row: for messages. */
#define HKI_BLOCK_OPTIONS(F, op)                                                                   \
    F(op, DIMS, stack, "", "axes before the matrices")                                             \
    F(op, INT, matrix, "0", "which of the stack it is a block of")                                 \
    F(op, INT, first, "0", "its first row in that")
HKI_OPTIONS_STRUCT(block, HKI_BLOCK_OPTIONS)

/* The time of one piece: routines, and workspaces, each 64-byte aligned. */
typedef struct hki_linalg_work {
    const hki_block_options *block; /* NULL: the matrices are whole */
    const hki_kernel_call *call;
    int64_t piece;
    const hki_linalg *of;
    char *base;
    size_t bytes;
    void *part[8];
} hki_linalg_work;

/* Parts of so many bytes each. False after the task has been failed; else hki_linalg_end gives them back. */
bool hki_linalg_begin(hki_linalg_work *work, const hki_kernel_call *call, int64_t piece,
                      const size_t *bytes, int count);
void hki_linalg_end(hki_linalg_work *work);
HKI_ROUTINES_OF(linalg)

/* Fails the task by HK_BAD_DATA: names the matrix of that number in the stack of input 0, or
 * whose block it is, and goes on as `format` says: "x is …". */
void hki_linalg_fail(const hki_linalg_work *work, int64_t matrix, const char *format, ...)
    HK_PRINTF(3, 4);
/* False after that, where not all of its so many items are finite. */
bool hki_linalg_is_finite(const hki_linalg_work *work, int64_t matrix, const void *items,
                          int64_t count);

/* Equations x y = b, or, from the right, y x = b, for square matrices x, input 0, and b; and
 * products. b has matrices (n,k), or from the right (k,n), or is one vector (n), unless it
 * stands on the left. The axes before are broadcast. */
typedef struct hki_equations {
    int axes;                /* of the matrices of b: 2, or 1 where it is a vector */
    int64_t n, lines, count; /* lines: columns or, from the right, rows of b */
} hki_equations;

/* From infer: checks b, input `index`, against x, of which n is the number of rows, and says
 * what the shape of y is. */
bool hki_equations_infer(hki_call *call, int index, bool right);
hki_equations hki_equations_of(const hk_dims *b, const hk_dims *out, bool right);
hki_equations hki_equations_of_tensors(const hki_tensor *b, const hki_tensor *out, bool right);
/* The number of the matrix of x that stands for that one of the stack that `out` is, of so many
 * axes each. */
int64_t hki_stack_index(const hki_tensor *x, int axes, const hki_tensor *out, int out_axes,
                        int64_t matrix);

/* For gradients and compositions: the last two axes swapped, and x conjugated where it is complex; x times y; x with two axes of
 * size 1 behind. */
hk_array *hki_matrix_adjoint(hk_array *x);
hk_array *hki_matrix_times(hk_array *x, hk_array *y);
hk_array *hki_matrix_spread(hk_array *x);
/* x - y. */
hk_array *hki_matrix_less(hk_array *x, hk_array *y);

/* For references, on C-order doubles. Solves a x = b for so many columns, b row-major; returns the determinant. a is lost. */
double hki_reference_solve(int64_t n, double *a, int64_t columns, double *b);
/* The singular values of a (m,n), which is lost, in falling order. */
void hki_reference_svdvals(int64_t m, int64_t n, double *a, double *values);
/* a = u diag(values) vt, with as many vectors as values, none of which are equal; oriented as those of hki_linalg.svd. */
void hki_reference_svd(int64_t m, int64_t n, const double *a, double *values, double *u,
                       double *vt);
/* A copy of a matrix; of the mean of it and its transpose. The caller frees;
 * NULL: no memory. */
double *hki_reference_copy(const double *x, int64_t count);
double *hki_reference_symmetric(const double *x, int64_t n);

#endif
