/* Cholesky's factors: of small matrices by LAPACK, of large ones in tiles, by calls that find
 * their order and their cores themselves. */
#include "op/linalg/cholesky.h"
#include "op/linalg/linalg.h"
#include "op/linalg/views.h"

#include <math.h>
#include <stdlib.h>

HKI_OPTIONS_TABLE(cholesky, CHOLESKY_OPTIONS)

static bool is_upper(const void *options)
{
    return ((const hki_cholesky_options *)options)->upper;
}

static bool reads_one(const void *options)
{
    return ((const hki_cholesky_options *)options)->one_triangle;
}

static void cholesky_plan(const hki_call *call, hki_plan *plan)
{
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_stack stack = hki_stack_of(shape->ndim, shape->dims);
    const double n = (double)stack.rows;
    hki_linalg_plan(plan, &stack, n * n * n / 3);
}

/* Of lower triangles. An upper one is the lower one of both transposed. */
bool hki_cholesky_factorise(const hki_linalg_work *work, int64_t matrix, bool one_triangle,
                            hki_blas_matrix x, hki_blas_matrix to)
{
    const hki_kernel_call *call = work->call;
    const hki_blas *blas = hki_blas_of(call->out[0].dtype);
    hki_borrowed factor;
    /* one way to lie, so that an upper factor has the bytes of the lower one */
    if (!hki_borrow_matrix(&factor, call, work->piece, to, HKI_LYING_BY_ROWS, false))
        return false;
    const hki_blas_matrix above = one_triangle ? (hki_blas_matrix){.data = NULL} : x;
    const bool is_finite = blas->gather_hermitian(true, x, above, factor.at);
    const int order = is_finite ? blas->cholesky(factor.at) : 0;
    const int64_t first = work->block ? work->block->first : 0;
    if (!is_finite)
        hki_linalg_fail(work, matrix, "has an element that is NaN or infinite");
    else if (order > 0)
        hki_linalg_fail(work, matrix,
                        "is not positive definite: its first %lld rows and columns are not",
                        (long long)(first + order));
    hki_return_matrix(&factor, call, is_finite && order == 0);
    return is_finite && order == 0;
}

static void cholesky_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0], *out = &call->out[0];
    hki_linalg_work work;
    if (out->size == 0 || !hki_linalg_begin(&work, call, piece, NULL, 0))
        return;
    for (bool ok = true; ok && begin < end; begin++) {
        hki_blas_matrix from = hki_matrix_of(x, begin), to = hki_matrix_of(out, begin);
        if (is_upper(call->options)) {
            from = hki_blas_transposed(from);
            to = hki_blas_transposed(to);
        }
        ok = hki_cholesky_factorise(&work, begin, reads_one(call->options), from, to);
    }
    hki_linalg_end(&work);
}

static hk_array *cholesky_compose(const hki_call *call)
{
    return hki_cholesky_is_tiled(&call->inputs[0]->shape) ? hki_cholesky_tiled(call) : NULL;
}

static hk_array *lower_part(hk_array *x, int64_t offset)
{
    return hki_op_call1(&hki_op_tril, x, &offset);
}

static hk_array *half(hk_array *x)
{
    return hki_op_call1(&hki_op_multiply_scalar, x, &(const double){0.5});
}

/* Murray 2016, "Differentiation of the Cholesky decomposition", equation 10. */
static void cholesky_grad(hki_grad_call *call)
{
    const bool upper = is_upper(call->options);
    hk_array *factor = call->output;               /* L, or its transpose */
    hk_array *turned = hki_matrix_adjoint(factor); /* the other one */
    hk_array *dy = upper ? hki_matrix_adjoint(call->dy) : call->dy;
    hk_array *raised = upper ? factor : turned;
    hk_array *inner = hki_matrix_times(raised, lower_part(dy, 0));
    inner = half(hki_op_call2(&hki_op_add, lower_part(inner, 0), lower_part(inner, -1), NULL));
    hk_array *left = hki_op_call2(&hki_op_solve, raised, inner, NULL);
    hk_array *both = hki_op_call2(&hki_op_solve, raised, hki_matrix_adjoint(left), NULL);
    hk_array *twice = hki_op_call2(&hki_op_add, both, hki_matrix_adjoint(both), NULL);
    if (!reads_one(call->options)) {
        call->dx[0] = half(twice);
        return;
    }
    /* what lies beside the diagonal stands for two elements */
    hk_array *once = lower_part(twice, 0), *beside = lower_part(twice, -1);
    hk_array *dx = half(hki_op_call2(&hki_op_add, once, beside, NULL));
    call->dx[0] = upper ? hki_matrix_adjoint(dx) : dx;
}

static void cholesky_of_reference(int64_t n, const double *a, double *l, bool upper)
{
    for (int64_t i = 0; i < n * n; i++)
        l[i] = 0;
#define L(i, j) l[upper ? (j)*n + (i) : (i)*n + (j)]
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            double rest = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                rest -= L(i, k) * L(j, k);
            L(i, j) = i == j ? sqrt(rest) : rest / L(j, j);
        }
    }
#undef L
}

static void cholesky_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = hki_stack_of(call->inputs[0]->shape.ndim, call->inputs[0]->shape.dims);
    const int64_t n = stack.rows;
    for (int64_t i = 0; i < stack.count; i++) {
        double *a = hki_reference_symmetric(in[0] + i * n * n, n);
        for (int64_t j = 0; a && reads_one(call->options) && j < n * n; j++) {
            const int64_t row = j / n, column = j % n;
            const bool is_read = is_upper(call->options) ? column >= row : column <= row;
            a[j] = in[0][i * n * n + (is_read ? j : column * n + row)];
        }
        if (a)
            cholesky_of_reference(n, a, out[0] + i * n * n, is_upper(call->options));
        free(a);
    }
}

static const hki_sample cholesky_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4)}, .definite = true},
    {.inputs = {HKI_SHAPE(2, 3, 3)},
     .definite = true,
     .options = &(const hki_cholesky_options){.upper = true}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 5, 5)}, .definite = true},
    {.inputs = {HKI_SHAPE(1, 1)}, .definite = true},
    {.inputs = {HKI_SHAPE(4, 4)},
     .definite = true,
     .options = &(const hki_cholesky_options){.one_triangle = true}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 3)},
     .definite = true,
     .options = &(const hki_cholesky_options){.upper = true, .one_triangle = true}},
    {.inputs = {HKI_SHAPE(2, 0, 0)}},
    {.inputs = {HKI_SHAPE(0, 2, 2)}},
};

const hk_op hki_op_cholesky = {
    HKI_OP_NAMED(cholesky),
    .refuses = true,
    HKI_OP_PARAMS(cholesky),
    HKI_OP_SAMPLES(cholesky_samples),
    .signature = "x",
    .doc =
        "The lower triangle L of symmetric, positive definite matrices: L times its transpose is "
        "x. Of complex ones transposes are conjugated, here and where one is Hermitian. Matrices "
        "lie along the last two axes; one that is not symmetric counts as the mean of it and its "
        "transpose, unless one triangle alone is read. One that is not positive definite fails the "
        "result, as does a NaN or an infinity. x may be overwritten in place; views, blocks of a "
        "larger matrix among them, are read and written as they lie.",
    .formula = "x = y y^T",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .strided_output = true,
    .in_place = 1,
    .infer = hki_linalg_check_square,
    .compose = cholesky_compose,
    .split = HKI_SPLIT_PLAN,
    .plan = cholesky_plan,
    .kernel = {[HKI_CPU] = cholesky_kernel},
    .grad = cholesky_grad,
    .grad_reads = {HKI_READS_OUTPUT},
    .reference = cholesky_reference,
    .tolerance_f32 = 1e-5,
};
