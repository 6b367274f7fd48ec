/* What factors of square matrices give: solve, inv. */
#include "op/linalg/linalg.h"
#include "op/linalg/lu.h"
#include "op/linalg/panels.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hki_stack stack_of(const hki_shape_view *x)
{
    return hki_stack_of(x->shape.ndim, x->shape.dims);
}

static char *matrix_at(const hki_tensor *x, int64_t matrix, int64_t items)
{
    return (char *)x->data + matrix * items * (int64_t)hk_dtype_bytes(x->dtype);
}

static void square_plan(const hki_call *call, hki_plan *plan)
{
    const hki_stack stack = stack_of(call->inputs[0]);
    const double n = (double)stack.rows;
    hki_linalg_plan(plan, &stack, 2 * n * n * n);
}

/* ---- solve ------------------------------------------------------------------------------------------------ */

static bool solve_infer(hki_call *call)
{
    return hki_linalg_check_square(call) && hki_equations_infer(call, 1, false);
}

static hk_array *solve_compose(const hki_call *call)
{
    return hki_is_in_panels(&call->inputs[0]->shape) ? hki_solve_tiled(call) : NULL;
}

static void solve_plan(const hki_call *call, hki_plan *plan)
{
    const hki_equations geometry =
        hki_equations_of(&call->inputs[1]->shape, &call->out_shape[0], false);
    const double n = (double)geometry.n;
    const hki_stack stack = {geometry.count, geometry.n, geometry.n + geometry.lines};
    hki_linalg_plan(plan, &stack, 2 * n * n * (n / 3 + (double)geometry.lines));
}

enum { SOLVE_FACTORS, SOLVE_COLUMNS, SOLVE_PIVOTS, SOLVE_PARTS };

static bool factorise(const hki_linalg_work *work, int64_t matrix, int64_t n, void *factors,
                      int *pivots)
{
    memcpy(factors, matrix_at(&work->call->in[0], matrix, n * n), (size_t)(n * n) * work->of->item);
    const int zero = work->of->lu((int)n, factors, pivots);
    if (zero != 0)
        hki_linalg_fail(work, matrix, "is singular: pivot %d of %" PRId64 " is 0", zero, n);
    return zero == 0;
}

/* *factored is the matrix of x whose factors are there; -1: none. */
static bool solve_one(const hki_linalg_work *work, const hki_equations *geometry, int64_t index,
                      int64_t *factored)
{
    const hki_tensor *x = &work->call->in[0], *b = &work->call->in[1], *out = &work->call->out[0];
    const int64_t matrix = hki_stack_index(x, 2, out, geometry->axes, index),
                  right = hki_stack_index(b, geometry->axes, out, geometry->axes, index),
                  items = geometry->n * geometry->lines;
    const int n = (int)geometry->n, columns = (int)geometry->lines;
    if (*factored != matrix &&
        !factorise(work, matrix, n, work->part[SOLVE_FACTORS], work->part[SOLVE_PIVOTS]))
        return false;
    *factored = matrix;
    work->of->transpose(n, columns, matrix_at(b, right, items), work->part[SOLVE_COLUMNS]);
    work->of->lu_solve(n, columns, work->part[SOLVE_FACTORS], work->part[SOLVE_PIVOTS],
                       work->part[SOLVE_COLUMNS]);
    work->of->transpose(columns, n, work->part[SOLVE_COLUMNS], matrix_at(out, index, items));
    return true;
}

static void solve_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_equations geometry = hki_equations_of_tensors(&call->in[1], &call->out[0], false);
    const size_t n = (size_t)geometry.n, item = hk_dtype_bytes(call->in[0].dtype);
    const size_t bytes[SOLVE_PARTS] = {[SOLVE_FACTORS] = n * n * item,
                                       [SOLVE_COLUMNS] = n * (size_t)geometry.lines * item,
                                       [SOLVE_PIVOTS] = n * sizeof(int)};
    int64_t factored = -1;
    hki_linalg_work work;
    if (call->out[0].size == 0 || !hki_linalg_begin(&work, call, piece, bytes, SOLVE_PARTS))
        return;
    while (begin < end && solve_one(&work, &geometry, begin, &factored))
        begin++;
    hki_linalg_end(&work);
}

static hk_array *as_column(hk_array *x, bool is_vector)
{
    return is_vector ? hki_op_call1(&hki_op_expand_dims, x, &(const int64_t){-1}) : x;
}

static void solve_grad(hki_grad_call *call)
{
    const bool is_vector = call->input_shape[1].ndim == 1;
    hk_array *db = hki_op_call2(&hki_op_solve, hki_matrix_adjoint(call->inputs[0]),
                                as_column(call->dy, is_vector), NULL);
    if (call->wanted[0]) {
        hk_array *solution = hki_matrix_adjoint(as_column(call->output, is_vector));
        hk_array *dx = hki_op_call1(&hki_op_negative, hki_matrix_times(db, solution), NULL);
        call->dx[0] = hki_op_sum_to_shape(dx, &call->input_shape[0]);
    }
    if (call->wanted[1]) {
        if (is_vector)
            db = hki_op_call1(&hki_op_squeeze, db, &(const int64_t){-1});
        call->dx[1] = hki_op_sum_to_shape(db, &call->input_shape[1]);
    }
}

/* Of samples whose stack is one matrix, or as long for both. */
static void solve_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_equations geometry =
        hki_equations_of(&call->inputs[1]->shape, &call->out_shape[0], false);
    const int64_t n = geometry.n, items = n * geometry.lines;
    for (int64_t i = 0; i < geometry.count; i++) {
        double *a =
            hki_reference_copy(in[0] + (call->inputs[0]->size == n * n ? 0 : i * n * n), n * n);
        const double *b = in[1] + (call->inputs[1]->size == items ? 0 : i * items);
        for (int64_t j = 0; j < items; j++)
            out[0][i * items + j] = b[j];
        if (a)
            hki_reference_solve(n, a, geometry.lines, out[0] + i * items);
        free(a);
    }
}

static const hki_sample solve_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(4)}, .definite = true},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 2)}},
    {.inputs = {HKI_SHAPE(2, 3, 3), HKI_SHAPE(2, 3, 2)}, .definite = true},
    {.inputs = {HKI_SHAPE(2, 3, 3), HKI_SHAPE(3)}, .definite = true},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(4, 3, 2)}, .definite = true},
    {.inputs = {HKI_SHAPE(4, 3, 3), HKI_SHAPE(1, 3, 1)}, .definite = true},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 4, 4), HKI_SHAPE(2, 4, 3)},
     .definite = true},
    {.kind = HKI_SAMPLE_ALIASED, .inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 3)}, .definite = true},
    {.inputs = {HKI_SHAPE(0, 0), HKI_SHAPE(0, 2)}},
    {.inputs = {HKI_SHAPE(2, 2), HKI_SHAPE(2, 0)}, .definite = true},
};

const hk_op hki_op_solve = {
    HKI_OP_NAMED(solve),
    .refuses = true,
    HKI_OP_SAMPLES(solve_samples),
    .signature = "x, b",
    .doc = "y, where x times y is b, by factors with partial pivoting. Square matrices x lie along "
           "the "
           "last two axes. b has matrices (n,k) there, or is one vector (n). The axes before "
           "are broadcast. A matrix with a pivot of exactly 0 fails the result.",
    .formula = "x y = b",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .host_only = true,
    .infer = solve_infer,
    .compose = solve_compose,
    .split = HKI_SPLIT_PLAN,
    .plan = solve_plan,
    .kernel = {[HKI_CPU] = solve_kernel},
    .grad = solve_grad,
    .grad_reads = {1 | HKI_READS_OUTPUT, 1},
    .reference = solve_reference,
    .tolerance_f32 = 1e-4,
};

/* ---- inv ---------------------------------------------------------------------------------------------------- */

enum { INV_FACTORS, INV_PIVOTS, INV_WORK, INV_PARTS };

static void inv_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const int64_t n = hki_stack_of(call->in[0].ndim, call->in[0].dims).rows;
    if (n == 0)
        return;
    const hki_linalg *of = hki_linalg_of(call->in[0].dtype);
    const size_t matrix_bytes = (size_t)(n * n) * of->item,
                 work_bytes = of->lu_invert_need((int)n).work;
    const size_t bytes[INV_PARTS] = {matrix_bytes, (size_t)n * sizeof(int), work_bytes};
    hki_linalg_work work;
    if (!hki_linalg_begin(&work, call, piece, bytes, INV_PARTS))
        return;
    for (; begin < end; begin++) {
        void *factors = work.part[INV_FACTORS];
        if (!factorise(&work, begin, n, factors, work.part[INV_PIVOTS]))
            break;
        of->lu_invert((int)n, factors, work.part[INV_PIVOTS], work.part[INV_WORK], work_bytes);
        memcpy(matrix_at(&call->out[0], begin, n * n), factors, matrix_bytes);
    }
    hki_linalg_end(&work);
}

static hk_array *inv_compose(const hki_call *call)
{
    return hki_is_in_panels(&call->inputs[0]->shape) ? hki_inv_tiled(call) : NULL;
}

static void inv_grad(hki_grad_call *call)
{
    hk_array *turned = hki_matrix_adjoint(call->output);
    hk_array *product = hki_matrix_times(hki_matrix_times(turned, call->dy), turned);
    call->dx[0] = hki_op_call1(&hki_op_negative, product, NULL);
}

static void inv_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = stack_of(call->inputs[0]);
    const int64_t n = stack.rows;
    for (int64_t i = 0; i < stack.count; i++) {
        double *a = hki_reference_copy(in[0] + i * n * n, n * n);
        for (int64_t j = 0; j < n * n; j++)
            out[0][i * n * n + j] = j / n == j % n;
        if (a)
            hki_reference_solve(n, a, n, out[0] + i * n * n);
        free(a);
    }
}

static const hki_sample inv_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4)}, .definite = true},
    {.inputs = {HKI_SHAPE(3, 3)}},
    {.inputs = {HKI_SHAPE(2, 2, 3, 3)}, .definite = true},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 4, 4)}, .definite = true},
    {.inputs = {HKI_SHAPE(0, 0)}},
};

const hk_op hki_op_inv = {
    HKI_OP_NAMED(inv),
    .refuses = true,
    HKI_OP_SAMPLES(inv_samples),
    .signature = "x",
    .doc =
        "Inverses of square matrices, which lie along the last two axes. One with a pivot of "
        "exactly 0 fails the result. hk_solve is faster and closer than a product with an inverse.",
    .formula = "x y = identity",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .host_only = true,
    .infer = hki_linalg_check_square,
    .compose = inv_compose,
    .split = HKI_SPLIT_PLAN,
    .plan = square_plan,
    .kernel = {[HKI_CPU] = inv_kernel},
    .grad = inv_grad,
    .grad_reads = {HKI_READS_OUTPUT},
    .reference = inv_reference,
    .tolerance_f32 = 1e-4,
};
