/* Eigenvalues of square matrices of any kind: eig, eigvals. Results are complex. */
#include "base/integer.h"
#include "op/complex/complex.h"
#include "op/linalg/eigen_kernel.h"
#include "op/linalg/spectrum.h"
#include "op/reduce/argmax.h"
#include "op/reduce/reduce.h"
#include "op/shape/fill.h"

/* ---- calls --------------------------------------------------------------------------------------------------- */

static bool eig_infer(hki_call *call)
{
    if (!hki_linalg_check_square(call) || !hki_linalg_check_small(call))
        return false;
    const hk_dtype dtype = hki_dtype_of_parts(call->inputs[0]->dtype) == HK_F64 ? HK_C128 : HK_C64;
    call->out_shape[1] = call->out_shape[0];
    call->out_dtype[0] = call->out_dtype[1] = dtype;
    call->out_shape[0].ndim--;
    return true;
}

static void eig_plan(const hki_call *call, hki_plan *plan)
{
    const hki_stack stack = hki_stack_of_call(call);
    const double n = (double)stack.rows;
    hki_linalg_plan(plan, &stack, (call->op->output_count ? 25 : 10) * n * n * n);
}

/* Parts of numbers, as doubles: item `index` of memory of float32 or float64. */
static double part_at(const void *data, bool is_wide, int64_t index)
{
    return is_wide ? ((const double *)data)[index] : (double)((const float *)data)[index];
}

/* So many doubles, rounded to the dtype of the parts of `out`. */
static void give(const hki_tensor *out, int64_t begin, int64_t count, const double *from)
{
    for (int64_t i = 0; i < count; i++)
        if (out->dtype == HK_C128)
            ((double *)out->data)[begin + i] = from[i];
        else
            ((float *)out->data)[begin + i] = (float)from[i];
}

enum { MATRIX, VALUES, VECTORS, WORK, PARTS };

/* Column after column, as LAPACK has it. */
static void take(const hki_tensor *x, int64_t matrix, int64_t n, double *to)
{
    const bool is_wide = hki_dtype_of_parts(x->dtype) == HK_F64;
    const int64_t parts = hki_dtype_is_complex(x->dtype) ? 2 : 1, begin = matrix * n * n * parts;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t p = 0; p < parts; p++)
                to[(j * n + i) * parts + p] =
                    part_at(x->data, is_wide, begin + (i * n + j) * parts + p);
}

/* The vectors, which are one after the other, become columns, in the place of the matrix if that is complex, too. */
static void give_columns(const hki_tensor *out, int64_t matrix, int64_t n, const double *vectors)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            give(out, 2 * ((matrix * n + i) * n + j), 2, vectors + 2 * (j * n + i));
}

static bool find(const hki_linalg_work *work, const hki_eigen *eigen, int64_t matrix)
{
    const hki_tensor *x = &work->call->in[0];
    const int64_t n = eigen->n, items = n * n * (eigen->is_complex ? 2 : 1);
    take(x, matrix, n, work->part[MATRIX]);
    if (!hki_linalg_f64.is_finite(work->part[MATRIX], items))
        hki_linalg_fail(work, matrix, "has an element that is NaN or infinite");
    else if (!hki_eigen_find(eigen, work->part[MATRIX], work->part[VALUES], work->part[VECTORS],
                             work->part[WORK]))
        hki_linalg_fail(work, matrix, "has values that were not found: no convergence");
    else
        return true;
    return false;
}

static void eig_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    const bool is_complex = hki_dtype_is_complex(x->dtype), vectors = call->op == &hki_op_eig;
    const size_t n = (size_t)x->dims[x->ndim - 1];
    if (n == 0)
        return;
    const hki_eigen eigen = hki_eigen_of((int)n, is_complex, vectors);
    const size_t pair = 2 * sizeof(double);
    const size_t bytes[PARTS] = {[MATRIX] = n * n * (is_complex ? pair : sizeof(double)),
                                 [VALUES] = n * pair,
                                 [VECTORS] = vectors ? n * n * pair : 0,
                                 [WORK] = eigen.work_bytes};
    hki_linalg_work work;
    if (!hki_linalg_begin(&work, call, piece, bytes, PARTS))
        return;
    for (; begin < end && find(&work, &eigen, begin); begin++) {
        give(&call->out[0], 2 * begin * (int64_t)n, 2 * (int64_t)n, work.part[VALUES]);
        if (vectors)
            give_columns(&call->out[1], begin, (int64_t)n, work.part[VECTORS]);
    }
    hki_linalg_end(&work);
}

/* ---- gradients ------------------------------------------------------------------------------------------------ */

static hk_array *conj_of(hk_array *x)
{
    return hki_op_call1(&hki_op_conj, x, NULL);
}

static hk_array *by(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

static hk_array *expanded(hk_array *x, int64_t axis)
{
    return hki_op_call1(&hki_op_expand_dims, x, &axis);
}

/* Reductions along each vector. */
static hk_array *along(const hk_op *op, hk_array *x)
{
    return hki_op_call1(
        op, x, &(const hki_sum_options){.axes = {.ndim = 1, .dims = {-2}}, .keepdims = true});
}

/* What the values give: rows of v^H times their gradients. */
static hk_array *of_values(hk_array *dy, hk_array *vh)
{
    return by(expanded(dy, -1), vh);
}

/* The real parts of elements that are real, and -1 for others. The largest one of a vector is the one by which it was turned. */
static hk_array *real_elements(hk_array *vectors)
{
    hk_array *real = hki_op_call1(&hki_op_real, vectors, NULL);
    hk_array *is_real =
        hki_op_call1(&hki_op_logical_not, hki_op_call1(&hki_op_imag, vectors, NULL), NULL);
    hk_array *none = hki_op_call_number(&hki_op_add_scalar,
                                        hki_op_call_number(&hki_op_multiply_scalar, real, 0), -1);
    return hki_op_call(&hki_op_where, (hk_array *const[]){is_real, real, none}, 3, NULL,
                       (hk_device){real->storage->device}, NULL);
}

/* 1 where an element of `real` is the largest of its vector, the first of several; 0 elsewhere. */
static hk_array *places_of_largest(hk_array *real)
{
    const int64_t n = real->shape.ndim ? real->shape.dims[real->shape.ndim - 1] : 0;
    const hki_arange_options rows = {0, (double)n, 1, HK_I64};
    hk_array *row =
        hki_op_call(&hki_op_arange, NULL, 0, &rows, (hk_device){real->storage->device}, NULL);
    hk_array *most = hki_op_call1(&hki_op_argmax, real, &(const hki_argmax_options){.axis = -2});
    hk_array *is_most = hki_op_call2(&hki_op_equal, expanded(most, -2), expanded(row, -1), NULL);
    return hki_gradient_as(is_most, real->dtype);
}

/* The gradient by vectors without what keeps their length, and one element real: to a vector v that the change d of the matrix moves by
 * u, c v is added, where v^H (u + c v) has no real part, and element k of u + c v no imaginary one. */
static hk_array *of_free_vectors(hk_array *vectors, hk_array *dy)
{
    hk_array *share = along(&hki_op_sum, by(conj_of(vectors), dy));
    hk_array *real = real_elements(vectors);
    hk_array *angle = hki_op_call2(&hki_op_divide, hki_op_call1(&hki_op_imag, share, NULL),
                                   along(&hki_op_max, real), NULL);
    hk_array *turned = by(places_of_largest(real), angle);
    hk_array *still = hki_op_call_number(&hki_op_multiply_scalar, turned, 0);
    hk_array *length = by(vectors, hki_op_call1(&hki_op_real, share, NULL));
    return hki_matrix_less(hki_matrix_less(dy, length),
                           hki_op_call2(&hki_op_complex_of, still, turned, NULL));
}

/* Giles 2008, "Collected matrix derivative results", section 3.1, of complex numbers, where each vector has the length and the
 * angle that the kernel gives it. */
static hk_array *of_vectors(hk_array *values, hk_array *vectors, hk_array *dy, hk_array *vh)
{
    hk_array *inner = hki_matrix_times(vh, of_free_vectors(vectors, dy));
    return hki_matrix_times(by(conj_of(hki_reciprocal_gaps(values)), inner), vh);
}

static void set_gradient(hki_grad_call *call, hk_array *vh, hk_array *inner)
{
    call->dx[0] =
        hki_gradient_as(hki_op_call2(&hki_op_solve, vh, inner, NULL), call->input_dtype[0]);
}

static void eig_grad(hki_grad_call *call)
{
    hk_array *values = call->outputs[0], *vectors = call->outputs[1];
    hk_array *vh = hki_matrix_adjoint(vectors), *inner = NULL;
    if (call->dys[0])
        inner = of_values(call->dys[0], vh);
    if (call->dys[1]) {
        hk_array *more = of_vectors(values, vectors, call->dys[1], vh);
        inner = inner ? hki_op_call2(&hki_op_add, inner, more, NULL) : more;
    }
    set_gradient(call, vh, inner);
}

/* Vectors are found anew, so that a call without a gradient does not pay for them. */
static void eigvals_grad(hki_grad_call *call)
{
    hk_array *found[2];
    hki_op_call_all(&hki_op_eig, call->inputs, 1, NULL, (hk_device){NULL}, found, 2);
    hk_array *vh = hki_matrix_adjoint(found[1]);
    set_gradient(call, vh, of_values(call->dy, vh));
}

/* ---- the operators --------------------------------------------------------------------------------------------- */

#define SQUARE_OF_ANY_KIND                                                                         \
    .signature = "x", .dtypes = HKI_INEXACT, .contiguous = true, .host_only = true,                \
    .infer = eig_infer, .split = HKI_SPLIT_PLAN, .plan = eig_plan,                                 \
    .kernel = {[HKI_CPU] = eig_kernel}, .untested = "linalg_test.c tests it"

const hk_op hki_op_eig = {
    HKI_OP_NAMED(eig),
    .refuses = true,
    SQUARE_OF_ANY_KIND,
    .outputs = "values, vectors",
    .output_count = 2,
    .doc =
        "Eigenvalues of square matrices (..., n, n), (..., n), and their vectors, the columns of "
        "(..., n, n), of length 1, whose largest element in size is real and positive. Both are "
        "complex, of the dtype's precision, and in no order. Computed as doubles. The gradient "
        "by vectors of equal values is not finite, and fails where the vectors are dependent. A "
        "NaN or an infinity fails the results.",
    .formula = "x vectors = vectors diag(values)",
    .grad = eig_grad,
    .grad_reads = {HKI_READS_OUTPUT | HKI_READS_OUTPUT_1},
};

const hk_op hki_op_eigvals = {
    HKI_OP_NAMED(eigvals),
    .refuses = true,
    SQUARE_OF_ANY_KIND,
    .doc =
        "Eigenvalues of square matrices (..., n, n), complex, in no order: (..., n). Computed as "
        "doubles. A NaN or an infinity fails the result.",
    .grad = eigvals_grad,
    .grad_reads = {1},
};
