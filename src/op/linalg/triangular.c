/* Equations with triangular matrices: solve_triangular. */
#include "op/linalg/triangular.h"
#include "base/integer.h"
#include "op/linalg/views.h"

#include <inttypes.h>
#include <stdlib.h>

HKI_OPTIONS_TABLE(solve_triangular, SOLVE_TRIANGULAR_OPTIONS)

static const hki_solve_triangular_options *options_of(const void *options)
{
    return options;
}

static bool solve_triangular_infer(hki_call *call)
{
    return hki_linalg_check_square(call) &&
           hki_equations_infer(call, 1, options_of(call->options)->right);
}

/* Lines of b are solved for in blocks, which stay the same however the call is cut. */
enum { BLOCK = 256 };

static int64_t blocks_of(const hki_equations *it)
{
    return hki_max(1, hki_divide_up(it->lines, BLOCK));
}

static void solve_triangular_plan(const hki_call *call, hki_plan *plan)
{
    const hki_equations it = hki_equations_of(&call->inputs[1]->shape, &call->out_shape[0],
                                              options_of(call->options)->right);
    const double n = (double)it.n;
    const hki_stack stack = {it.count, it.n, it.lines};
    hki_linalg_plan(plan, &stack, n * n * (double)it.lines);
    plan->extent = it.count * blocks_of(&it);
}

/* False after the task has been failed: nothing solves for what a zero on the diagonal
 * multiplies. */
static bool check_diagonal(const hki_linalg_work *work, const hki_blas_matrix *t, int64_t matrix)
{
    const size_t item = work->of->item;
    for (int64_t i = 0; i < t->rows; i++) {
        const char *at = (const char *)t->data + i * (t->row_step + t->column_step) * (int64_t)item;
        if (work->of->is_zero(at)) {
            hki_linalg_fail(work, matrix, "is singular: element %" PRId64 " of its diagonal is 0",
                            i);
            return false;
        }
    }
    return true;
}

/* Lines [line, line + lines) of that matrix of the stack. */
static bool solve_block(const hki_linalg_work *work, const hki_equations *it, int64_t index,
                        int64_t line)
{
    const hki_kernel_call *call = work->call;
    const hki_solve_triangular_options *options = options_of(call->options);
    const hki_tensor *t = &call->in[0], *b = &call->in[1], *out = &call->out[0];
    const hki_blas *blas = hki_blas_of(out->dtype);
    const hki_blas_matrix triangle = hki_stack_matrix(t, 2, out, it->axes, index);
    const int64_t lines = hki_min(BLOCK, it->lines - line);
    const hki_triangle how = {options->upper, options->unit_diagonal, options->transposed,
                              options->conjugated};
    hki_blas_matrix from = hki_stack_matrix(b, it->axes, out, it->axes, index),
                    to = hki_stack_matrix(out, it->axes, out, it->axes, index);
    hki_borrowed factor, solution;
    if (options->right) {
        from = hki_blas_block(blas, from, line, lines, 0, it->n);
        to = hki_blas_block(blas, to, line, lines, 0, it->n);
    } else {
        from = hki_blas_block(blas, from, 0, it->n, line, lines);
        to = hki_blas_block(blas, to, 0, it->n, line, lines);
    }
    if (!options->unit_diagonal &&
        !check_diagonal(work, &triangle, hki_stack_index(t, 2, out, it->axes, index)))
        return false;
    if (!hki_borrow_matrix(&factor, call, work->piece, triangle, HKI_LYING_ANY, true))
        return false;
    const bool ok = hki_borrow_matrix(&solution, call, work->piece, to, HKI_LYING_ANY, false);
    if (ok) {
        if (from.data != solution.at.data)
            blas->copy(from, solution.at);
        blas->solve_triangular(how, options->right, factor.at, solution.at);
        hki_return_matrix(&solution, call, true);
    }
    hki_return_matrix(&factor, call, false);
    return ok;
}

static void solve_triangular_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin,
                                    int64_t end)
{
    const hki_equations it =
        hki_equations_of_tensors(&call->in[1], &call->out[0], options_of(call->options)->right);
    const int64_t blocks = blocks_of(&it);
    hki_linalg_work work;
    if (call->out[0].size == 0 || !hki_linalg_begin(&work, call, piece, NULL, 0))
        return;
    while (begin < end && solve_block(&work, &it, begin / blocks, begin % blocks * BLOCK))
        begin++;
    hki_linalg_end(&work);
}

/* ---- gradient -------------------------------------------------------------------------------- */

static hk_array *as_column(hk_array *x, bool is_vector)
{
    return is_vector ? hki_op_call1(&hki_op_expand_dims, x, &(const int64_t){-1}) : x;
}

/* What op(t) gets, as the gradient of t: of its triangle alone. */
static hk_array *of_triangle(hk_array *x, const hki_solve_triangular_options *options)
{
    const hk_op *part = options->upper ? &hki_op_triu : &hki_op_tril;
    const int64_t offset = !options->unit_diagonal ? 0 : options->upper ? 1 : -1;
    if (options->transposed)
        x = hki_op_call1(&hki_op_swapaxes, x, (const int64_t[]){-1, -2});
    if (options->conjugated && hki_dtype_is_complex(x->dtype))
        x = hki_op_call1(&hki_op_conj, x, NULL);
    return hki_op_call1(part, x, &offset);
}

/* With z from op(t)^H z = dy that of b is z, and that of op(t) is - z y^H; from the right - y^H
 * z. */
static void solve_triangular_grad(hki_grad_call *call)
{
    const hki_solve_triangular_options *options = options_of(call->options);
    const bool is_vector = call->input_shape[1].ndim == 1;
    hki_solve_triangular_options turned = *options;
    turned.transposed = !options->transposed;
    turned.conjugated = !options->conjugated;
    hk_array *db = hki_op_call2(&hki_op_solve_triangular, call->inputs[0],
                                as_column(call->dy, is_vector), &turned);
    if (call->wanted[0]) {
        hk_array *y = hki_matrix_adjoint(as_column(call->output, is_vector));
        hk_array *product = options->right ? hki_matrix_times(y, db) : hki_matrix_times(db, y);
        hk_array *dt = of_triangle(hki_op_call1(&hki_op_negative, product, NULL), options);
        call->dx[0] = hki_op_sum_to_shape(dt, &call->input_shape[0]);
    }
    if (call->wanted[1]) {
        if (is_vector)
            db = hki_op_call1(&hki_op_squeeze, db, &(const int64_t){-1});
        call->dx[1] = hki_op_sum_to_shape(db, &call->input_shape[1]);
    }
}

/* ---- conformance ----------------------------------------------------------------------------- */

/* op(t) in full; transposed once more for equations from the right. */
static void plain_triangle(int64_t n, const double *t, const hki_solve_triangular_options *options,
                           double *full)
{
    const bool turns = options->transposed != options->right;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const bool is_read = options->upper ? j >= i : j <= i;
            const double item = i == j && options->unit_diagonal ? 1 : t[i * n + j];
            full[turns ? j * n + i : i * n + j] = is_read ? item : 0;
        }
}

/* Of samples whose stack is one matrix, or as long for both. */
static void solve_triangular_reference(const hki_call *call, const double *const *in,
                                       double *const *out)
{
    const hki_solve_triangular_options *options = options_of(call->options);
    const hki_equations it =
        hki_equations_of(&call->inputs[1]->shape, &call->out_shape[0], options->right);
    const int64_t n = it.n, items = n * it.lines;
    double *full = calloc((size_t)(n * n + items) + 1, sizeof *full), *columns = full + n * n;
    for (int64_t i = 0; full && i < it.count; i++) {
        const double *b = in[1] + (call->inputs[1]->size == items ? 0 : i * items);
        double *y = out[0] + i * items;
        plain_triangle(n, in[0] + (call->inputs[0]->size == n * n ? 0 : i * n * n), options, full);
        for (int64_t j = 0; j < items; j++)
            columns[options->right ? j % n * it.lines + j / n : j] = b[j];
        hki_reference_solve(n, full, it.lines, columns);
        for (int64_t j = 0; j < items; j++)
            y[j] = columns[options->right ? j % n * it.lines + j / n : j];
    }
    free(full);
}

#define HOW(...) .options = &(const hki_solve_triangular_options){__VA_ARGS__}, .definite = true
static const hki_sample solve_triangular_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(4)}, .definite = true},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 2)}, HOW(.upper = true)},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 2)}, HOW(.transposed = true)},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(2, 3)}, HOW(.right = true)},
    {.inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(2, 4)}, HOW(.right = true, .transposed = true)},
    {.inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(2, 4)},
     HOW(.right = true, .upper = true, .unit_diagonal = true, .conjugated = true)},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3)},
     HOW(.unit_diagonal = true, .transposed = true, .upper = true)},
    {.inputs = {HKI_SHAPE(2, 3, 3), HKI_SHAPE(2, 3, 2)}, .definite = true},
    {.inputs = {HKI_SHAPE(2, 3, 3), HKI_SHAPE(3)}, HOW(.upper = true)},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(4, 3, 2)}, .definite = true},
    {.inputs = {HKI_SHAPE(4, 3, 3), HKI_SHAPE(1, 2, 3)}, HOW(.right = true)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 4, 4), HKI_SHAPE(2, 4, 3)},
     .definite = true},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(5, 4)},
     HOW(.right = true, .upper = true)},
    {.kind = HKI_SAMPLE_ALIASED, .inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 3)}, .definite = true},
    {.inputs = {HKI_SHAPE(0, 0), HKI_SHAPE(0, 2)}},
    {.inputs = {HKI_SHAPE(2, 2), HKI_SHAPE(2, 0)}, .definite = true},
};

const hk_op hki_op_solve_triangular = {
    HKI_OP_NAMED(solve_triangular),
    .refuses = true,
    HKI_OP_PARAMS(solve_triangular),
    HKI_OP_SAMPLES(solve_triangular_samples),
    .signature = "t, b",
    .doc =
        "y, where t times y is b, or, from the right, y times t. Of the square matrices t, which "
        "lie along the last two axes, one triangle is read. b has matrices there, or is one "
        "vector. The axes before are broadcast. A 0 on the diagonal fails the result. b may be "
        "overwritten in place; views, blocks of a larger matrix among them, are read and "
        "written as they lie where the elements of rows or of columns lie side by side.",
    .formula = "t y = b",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .strided_output = true,
    .in_place = 2,
    .infer = solve_triangular_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = solve_triangular_plan,
    .kernel = {[HKI_CPU] = solve_triangular_kernel},
    .grad = solve_triangular_grad,
    .grad_reads = {1 | HKI_READS_OUTPUT, 1},
    .reference = solve_triangular_reference,
    .tolerance_f32 = 1e-4,
};
