/* Values that belong to matrices, and what is made of them: eigvalsh, svdvals, pinv, matrix_rank. */
#include "base/option.h"
#include "op/linalg/spectrum.h"
#include "op/reduce/reduce.h"
#include "op/shape/fill.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool values_infer(hki_call *call)
{
    hk_dims *out = &call->out_shape[0];
    if (!hki_linalg_check_small(call))
        return false;
    const hki_stack stack = hki_stack_of_call(call);
    out->ndim--;
    out->dims[out->ndim - 1] = hki_stack_least(&stack);
    call->out_dtype[0] = hki_dtype_of_parts(call->out_dtype[0]);
    return true;
}

static void values_plan(const hki_call *call, hki_plan *plan)
{
    const hki_stack stack = hki_stack_of_call(call);
    hki_linalg_plan(plan, &stack,
                    6 * (double)stack.rows * (double)stack.columns *
                        (double)hki_stack_least(&stack));
}

static void vectors_plan(const hki_call *call, hki_plan *plan)
{
    const hki_stack stack = hki_stack_of_call(call);
    hki_linalg_plan(plan, &stack,
                    25 * (double)stack.rows * (double)stack.columns *
                        (double)hki_stack_least(&stack));
}

/* ---- eigvalsh and svdvals ------------------------------------------------------------------------------------- */

static void values_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const bool is_symmetric = call->op == &hki_op_eigvalsh;
    hki_spectrum self;
    if (!hki_spectrum_begin(&self, call, piece, is_symmetric, HKI_SVD_VALUES))
        return;
    for (; begin < end; begin++) {
        if (!(is_symmetric ? hki_spectrum_find_eigen : hki_spectrum_find_singular)(&self, begin))
            break;
        memcpy(hki_matrix_at(&call->out[0], begin, self.least), self.work.part[HKI_SPECTRUM_VALUES],
               (size_t)self.least * self.work.of->real);
    }
    hki_linalg_end(&self.work);
}

static bool eigvalsh_infer(hki_call *call)
{
    return hki_linalg_check_square(call) && values_infer(call);
}

/* The sum of products of vectors, u v^T, times their elements of dy. Vectors are found anew, so that a call without a gradient does
 * not pay for them. */
static hk_array *weighted(hk_array *u, hk_array *dy, hk_array *vt)
{
    hk_array *factors = hki_op_call1(&hki_op_expand_dims, dy, &(const int64_t){-2});
    return hki_matrix_times(hki_op_call2(&hki_op_multiply, u, factors, NULL), vt);
}

static void eigvalsh_grad(hki_grad_call *call)
{
    hk_array *found[2];
    hki_op_call_all(&hki_op_eigh, call->inputs, 1, NULL, (hk_device){NULL}, found, 2);
    call->dx[0] = weighted(found[1], call->dy, hki_matrix_adjoint(found[1]));
}

static void svdvals_grad(hki_grad_call *call)
{
    hk_array *found[3];
    hki_op_call_all(&hki_op_svd, call->inputs, 1, NULL, (hk_device){NULL}, found, 3);
    call->dx[0] = weighted(found[0], call->dy, found[2]);
}

/* Of samples whose eigenvalues are positive: the singular values in reverse. */
static void eigvalsh_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = hki_stack_of_call(call);
    const int64_t n = stack.rows;
    for (int64_t i = 0; i < stack.count; i++) {
        double *a = hki_reference_symmetric(in[0] + i * n * n, n), *values = out[0] + i * n;
        if (a)
            hki_reference_svdvals(n, n, a, values);
        for (int64_t j = 0; j < n / 2; j++) {
            const double kept = values[j];
            values[j] = values[n - 1 - j];
            values[n - 1 - j] = kept;
        }
        free(a);
    }
}

static void svdvals_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = hki_stack_of_call(call);
    const int64_t items = stack.rows * stack.columns;
    for (int64_t i = 0; i < stack.count; i++) {
        double *a = hki_reference_copy(in[0] + i * items, items);
        if (a)
            hki_reference_svdvals(stack.rows, stack.columns, a,
                                  out[0] + i * hki_stack_least(&stack));
        free(a);
    }
}

static const hki_sample eigvalsh_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4)}, .definite = true},
    {.inputs = {HKI_SHAPE(2, 2, 3, 3)}, .definite = true},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 5, 5)}, .definite = true},
    {.inputs = {HKI_SHAPE(1, 1)}, .definite = true},
    {.inputs = {HKI_SHAPE(2, 0, 0)}},
};
static const hki_sample svdvals_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4)}}, {.inputs = {HKI_SHAPE(2, 5, 3)}},
    {.inputs = {HKI_SHAPE(2, 3)}}, {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 4, 3)}},
    {.inputs = {HKI_SHAPE(1, 3)}}, {.inputs = {HKI_SHAPE(2, 0, 3)}},
};

const hk_op hki_op_eigvalsh = {
    HKI_OP_NAMED(eigvalsh),
    .refuses = true,
    HKI_OP_SAMPLES(eigvalsh_samples),
    .signature = "x",
    .doc = "Eigenvalues of symmetric matrices, or complex Hermitian ones, (..., n, n) in rising "
           "order: (..., n), which are real. One that is not "
           "symmetric counts as the mean of it and its transpose. A NaN or an infinity fails the "
           "result.",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .host_only = true,
    .infer = eigvalsh_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = values_plan,
    .kernel = {[HKI_CPU] = values_kernel},
    .grad = eigvalsh_grad,
    .grad_reads = {1},
    .reference = eigvalsh_reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_svdvals = {
    HKI_OP_NAMED(svdvals),
    .refuses = true,
    HKI_OP_SAMPLES(svdvals_samples),
    .signature = "x",
    .doc =
        "Singular values of matrices (..., m, n) in falling order: (..., min(m, n)). A NaN or an "
        "infinity fails the result.",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .host_only = true,
    .infer = values_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = values_plan,
    .kernel = {[HKI_CPU] = values_kernel},
    .grad = svdvals_grad,
    .grad_reads = {1},
    .reference = svdvals_reference,
    .tolerance_f32 = 1e-5,
};

/* ---- pinv ------------------------------------------------------------------------------------------------------ */

#define RTOL_OPTIONS(F, op)                                                                        \
    F(op, F64, rtol, "the larger size times the dtype's epsilon",                                  \
      "singular values up to this share of the largest count as 0")
HKI_OPTIONS(pinv, RTOL_OPTIONS)
HKI_OPTIONS(matrix_rank, RTOL_OPTIONS)

static bool check_rtol(hki_call *call)
{
    const double rtol = ((const hki_pinv_options *)call->options)->rtol;
    return (rtol >= 0 && isfinite(rtol)) ||
           hki_call_refuse(call, HK_OUT_OF_RANGE, "rtol is %g, but must be 0 or more, and finite",
                           rtol);
}

static double rtol_of(const void *options, const hki_stack *stack, hk_dtype dtype)
{
    const double rtol = ((const hki_pinv_options *)options)->rtol;
    const double larger = (double)(stack->rows > stack->columns ? stack->rows : stack->columns);
    return hki_option_is_set(rtol)
               ? rtol + 0.0
               : larger * (hki_dtype_of_parts(dtype) == HK_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
}

static bool pinv_infer(hki_call *call)
{
    hk_dims *out = &call->out_shape[0];
    if (!hki_linalg_check_small(call) || !check_rtol(call))
        return false;
    const hki_stack stack = hki_stack_of_call(call);
    out->dims[out->ndim - 2] = stack.columns;
    out->dims[out->ndim - 1] = stack.rows;
    return true;
}

#define INVERT_VALUES(name, T)                                                                     \
    static void invert_values_##name(int count, T *values, double rtol)                            \
    {                                                                                              \
        const double least = rtol * (double)values[0];                                             \
        for (int i = 0; i < count; i++)                                                            \
            values[i] = (double)values[i] > least ? 1 / values[i] : 0;                             \
    }
INVERT_VALUES(f32, float)
INVERT_VALUES(f64, double)

static void pinv_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hki_spectrum self;
    if (!hki_spectrum_begin(&self, call, piece, false, HKI_SVD_THIN))
        return;
    const hki_linalg *of = self.work.of;
    const int m = (int)self.stack.rows, n = (int)self.stack.columns;
    const double rtol = rtol_of(call->options, &self.stack, call->in[0].dtype);
    void *const *part = self.work.part;
    for (; begin < end && hki_spectrum_find_singular(&self, begin); begin++) {
        if (of->real == sizeof(float))
            invert_values_f32(self.least, part[HKI_SPECTRUM_VALUES], rtol);
        else
            invert_values_f64(self.least, part[HKI_SPECTRUM_VALUES], rtol);
        of->adjoint(m, self.least, part[HKI_SPECTRUM_U], part[HKI_SPECTRUM_A]);
        of->scaled_product(n, m, self.least, part[HKI_SPECTRUM_VT], part[HKI_SPECTRUM_VALUES],
                           part[HKI_SPECTRUM_A],
                           hki_matrix_at(&call->out[0], begin, (int64_t)m * n));
    }
    hki_linalg_end(&self.work);
}

/* Golub and Pereyra 1973, theorem 4.3, for matrices whose rank does not change nearby. */
static void pinv_grad(hki_grad_call *call)
{
    hk_array *x = call->inputs[0], *y = call->output;
    hk_array *yt = hki_matrix_adjoint(y), *gt = hki_matrix_adjoint(call->dy);
    hk_array *first = hki_matrix_times(hki_matrix_times(yt, call->dy), yt);
    hk_array *rest = hki_matrix_less(gt, hki_matrix_times(x, hki_matrix_times(y, gt)));
    hk_array *second = hki_matrix_times(rest, hki_matrix_times(y, yt));
    rest = hki_matrix_less(gt, hki_matrix_times(hki_matrix_times(gt, y), x));
    hk_array *third = hki_matrix_times(hki_matrix_times(yt, y), rest);
    call->dx[0] = hki_matrix_less(hki_op_call2(&hki_op_add, second, third, NULL), first);
}

/* Of full rank: (x^T x)^-1 x^T, or x^T (x x^T)^-1. */
static void pinv_of_reference(int64_t m, int64_t n, const double *x, double *y)
{
    const bool tall = m >= n;
    const int64_t k = tall ? n : m, length = tall ? m : n;
#define X(i, j) (tall ? x[(j)*n + (i)] : x[(i)*n + (j)]) /* k rows */
    double *gram = calloc((size_t)(k * k) + 1, sizeof *gram),
           *rows = calloc((size_t)(m * n) + 1, sizeof *rows);
    for (int64_t i = 0; i < k && gram && rows; i++) {
        for (int64_t j = 0; j < length; j++) {
            rows[i * length + j] = X(i, j);
            for (int64_t l = 0; l < k; l++)
                gram[i * k + l] += X(i, j) * X(l, j);
        }
    }
    if (gram && rows)
        hki_reference_solve(k, gram, length, rows);
    for (int64_t i = 0; i < m * n && rows; i++)
        y[i] = tall ? rows[i] : rows[i % m * n + i / m];
#undef X
    free(gram);
    free(rows);
}

static void pinv_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = hki_stack_of_call(call);
    const int64_t items = stack.rows * stack.columns;
    for (int64_t i = 0; i < stack.count; i++)
        pinv_of_reference(stack.rows, stack.columns, in[0] + i * items, out[0] + i * items);
}

static const hki_sample pinv_samples[] = {
    {.inputs = {HKI_SHAPE(3, 3)}, .definite = true},
    {.inputs = {HKI_SHAPE(2, 5, 2)}},
    {.inputs = {HKI_SHAPE(2, 4)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 5, 3)}},
    {.inputs = {HKI_SHAPE(3, 0)}},
};

const hk_op hki_op_pinv = {
    HKI_OP_NAMED(pinv),
    .refuses = true,
    HKI_OP_PARAMS(pinv),
    HKI_OP_SAMPLES(pinv_samples),
    .signature = "x",
    .doc = "Pseudo-inverses (Moore and Penrose) of matrices (..., m, n), by singular values: "
           "(..., n, m). The gradient holds where small changes do not change the rank.",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .host_only = true,
    .infer = pinv_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = vectors_plan,
    .kernel = {[HKI_CPU] = pinv_kernel},
    .grad = pinv_grad,
    .grad_reads = {1 | HKI_READS_OUTPUT},
    .reference = pinv_reference,
    .tolerance_f32 = 1e-4,
};

/* ---- matrix_rank ------------------------------------------------------------------------------------------------ */

static bool rank_infer(hki_call *call)
{
    if (!hki_linalg_check_small(call) || !check_rtol(call))
        return false;
    call->out_shape[0].ndim -= 2;
    call->out_dtype[0] = HK_I64;
    return true;
}

static hk_array *rank_compose(const hki_call *call)
{
    const hki_stack stack = hki_stack_of_call(call);
    const hki_zeros_options none = {.shape = call->out_shape[0], .dtype = HK_I64};
    const hki_sum_options last = {.axes = {.ndim = 1, .dims = {-1}}},
                          kept = {.axes = last.axes, .keepdims = true};
    if (hki_stack_least(&stack) == 0)
        return hki_op_call(&hki_op_zeros, NULL, 0, &none,
                           (hk_device){call->arrays[0]->storage->device}, NULL);
    const double rtol = rtol_of(call->options, &stack, call->inputs[0]->dtype);
    hk_array *values = hki_op_call1(&hki_op_svdvals, call->arrays[0], NULL);
    hk_array *least =
        hki_op_call1(&hki_op_multiply_scalar, hki_op_call1(&hki_op_max, values, &kept), &rtol);
    return hki_op_call1(&hki_op_count_nonzero, hki_op_call2(&hki_op_greater, values, least, NULL),
                        &last);
}

/* Of samples of full rank, or of rank 0. */
static void rank_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = hki_stack_of_call(call);
    for (int64_t i = 0; i < stack.count; i++)
        out[0][i] = stack.rows && in[0][i * stack.rows * stack.columns] == 0
                        ? 0
                        : (double)hki_stack_least(&stack);
}

#define ZEROS                                                                                      \
    {                                                                                              \
        .set = true, .dtype = HK_F32, .low = 0, .high = 1e-300                                     \
    }
static const hki_sample rank_samples[] = {
    {.inputs = {HKI_SHAPE(4, 3)}},
    {.inputs = {HKI_SHAPE(2, 3, 3)}, .options = &(const hki_matrix_rank_options){.rtol = 1e-4}},
    {.inputs = {HKI_SHAPE(2, 3, 3)}, .own = {ZEROS}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 4)}},
    {.inputs = {HKI_SHAPE(2, 0, 3)}},
};

const hk_op hki_op_matrix_rank = {
    HKI_OP_NAMED(matrix_rank),
    .refuses = true,
    HKI_OP_PARAMS(matrix_rank),
    HKI_OP_SAMPLES(rank_samples),
    .signature = "x",
    .doc = "Ranks of matrices, as int64: how many singular values are more than rtol times the "
           "largest.",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .infer = rank_infer,
    .compose = rank_compose,
    .no_grad_why = "its result does not vary smoothly",
    .reference = rank_reference,
};
