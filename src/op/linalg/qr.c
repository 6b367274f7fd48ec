/* Factors by reflections, packed as LAPACK packs them, and products with their Q: qr_factor,
 * qr_multiply. */
#include "op/linalg/qr.h"
#include "op/linalg/panels.h"

#include "base/integer.h"
#include "op/call/call.h"
#include "op/linalg/tiles.h"
#include "op/linalg/views.h"

static hki_stack stack_of(const hki_shape_view *x)
{
    return hki_stack_of(x->shape.ndim, x->shape.dims);
}

static int64_t least_of(const hki_stack *stack)
{
    return hki_min(stack->rows, stack->columns);
}

/* ---- qr_factor ------------------------------------------------------------------------------- */

static bool qr_factor_infer(hki_call *call)
{
    if (!hki_linalg_check_small(call))
        return false;
    const hki_stack stack = stack_of(call->inputs[0]);
    call->out_shape[1] = call->out_shape[0];
    call->out_shape[1].ndim--;
    call->out_shape[1].dims[call->out_shape[1].ndim - 1] = least_of(&stack);
    call->out_dtype[1] = call->out_dtype[0];
    return true;
}

static void qr_factor_plan(const hki_call *call, hki_plan *plan)
{
    const hki_stack stack = stack_of(call->inputs[0]);
    hki_linalg_plan(plan, &stack,
                    2 * (double)stack.rows * (double)stack.columns * (double)least_of(&stack));
}

enum { FACTOR_TAU, FACTOR_WORK, FACTOR_PARTS };

static bool factorise(const hki_linalg_work *work, int64_t matrix, size_t work_bytes)
{
    const hki_kernel_call *call = work->call;
    const hki_blas *blas = hki_blas_of(call->out[0].dtype);
    const hki_blas_matrix tau = hki_stack_matrix(&call->out[1], 1, &call->out[1], 1, matrix);
    hki_borrowed factors;
    if (!hki_borrow_matrix(&factors, call, work->piece, hki_matrix_of(&call->out[0], matrix),
                           HKI_LYING_BY_COLUMNS, false))
        return false;
    const hki_blas_matrix x = hki_matrix_of(&call->in[0], matrix);
    if (x.data != factors.at.data)
        blas->copy(x, factors.at);
    hki_qr_of(call->out[0].dtype)
        ->factor(factors.at, work->part[FACTOR_TAU], work->part[FACTOR_WORK], work_bytes);
    blas->copy((hki_blas_matrix){work->part[FACTOR_TAU], tau.rows, 1, 1, 1, false}, tau);
    hki_return_matrix(&factors, call, true);
    return true;
}

static void qr_factor_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_stack stack = hki_stack_of(call->in[0].ndim, call->in[0].dims);
    hki_linalg_work work;
    if (call->out[0].size == 0)
        return;
    const size_t bytes[FACTOR_PARTS] = {
        (size_t)least_of(&stack) * hk_dtype_bytes(call->in[0].dtype),
        hki_qr_of(call->in[0].dtype)->factor_bytes(stack.rows, stack.columns)};
    if (!hki_linalg_begin(&work, call, piece, bytes, FACTOR_PARTS))
        return;
    while (begin < end && factorise(&work, begin, bytes[FACTOR_WORK]))
        begin++;
    hki_linalg_end(&work);
}

static hk_array *qr_factor_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    const hki_stack stack = stack_of(call->inputs[0]);
    if (!hki_is_in_panels(&x->shape))
        return NULL;
    hk_array *factors = hki_made_in_parts(call, 0), *tau = hki_made_in_parts(call, 1);
    call->more[0] = tau;
    for (int64_t i = 0; i < stack.count && !factors->failed && !tau->failed; i++) {
        HK_SCOPE;
        hk_array *packed =
            hki_qr_tiled(hki_matrix_in_stack(x, i), hki_vector_in_stack(tau, i), 0, NULL, NULL);
        hki_call_into_unasked(&hki_op_copy, call->operation, packed, NULL,
                              hki_matrix_in_stack(factors, i));
    }
    return factors;
}

const hk_op hki_op_qr_factor = {
    HKI_OP_NAMED(qr_factor),
    .refuses = true,
    .signature = "x",
    .output_count = 2,
    .outputs = "qr, tau",
    .doc =
        "Factors Q R, by reflections, of matrices x (m,n), which lie along the last two axes. qr "
        "has R in its upper triangle, whose diagonal may be negative. Below that, column i has "
        "the rest of the vector v of reflection i, which begins with a 1 on the diagonal; the "
        "reflection is I - tau[i] v v^H. Q is their product in order. hk_qr_multiply multiplies "
        "by it. x may be overwritten by qr in place.",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .strided_output = true,
    .in_place = 1,
    .infer = qr_factor_infer,
    .compose = qr_factor_compose,
    .split = HKI_SPLIT_PLAN,
    .plan = qr_factor_plan,
    .kernel = {[HKI_CPU] = qr_factor_kernel},
    .no_grad_why = "packed factors have none; hk_qr has one",
    .untested = "its reflections have no plain reference: qr_test.c multiplies them out",
};

/* ---- qr_multiply ----------------------------------------------------------------------------- */

#define QR_MULTIPLY_OPTIONS(F, op)                                                                 \
    F(op, BOOL, adjoint, "false", "the adjoint of Q in its place: its transpose, conjugated")      \
    F(op, BOOL, right, "false", "b times Q, not Q times b")
HKI_OPTIONS(qr_multiply, QR_MULTIPLY_OPTIONS)

static const hki_qr_multiply_options *options_of(const void *options)
{
    return options;
}

static bool qr_multiply_infer(hki_call *call)
{
    char has[224], wants[192];
    if (!hki_linalg_check_small(call))
        return false;
    const hki_shape_view *qr = call->inputs[0], *tau = call->inputs[1];
    const hki_stack stack = stack_of(qr);
    hk_dims shape = qr->shape;
    shape.ndim--;
    shape.dims[shape.ndim - 1] = least_of(&stack);
    if (tau->dtype != qr->dtype || !hki_dims_equal(&tau->shape, &shape)) {
        hki_shape_view_describe(tau, has, sizeof has);
        hki_dims_describe(&shape, wants, sizeof wants);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "tau is %s, but must be %s%s: one for each reflection in qr", has,
                               hk_dtype_name(qr->dtype), wants);
    }
    return hki_equations_infer(call, 2, options_of(call->options)->right);
}

/* Columns of b, or rows from the right, go in blocks, which stay the same however the call is
 * cut. */
enum { BLOCK = 256 };

static void qr_multiply_plan(const hki_call *call, hki_plan *plan)
{
    const hki_stack factors = stack_of(call->inputs[0]);
    const hki_equations it = hki_equations_of(&call->inputs[2]->shape, &call->out_shape[0],
                                              options_of(call->options)->right);
    const hki_stack stack = {it.count, it.n, it.lines};
    hki_linalg_plan(plan, &stack, 4 * (double)it.n * (double)it.lines * (double)least_of(&factors));
    plan->extent = it.count * hki_max(1, hki_divide_up(it.lines, BLOCK));
}

enum { MULTIPLY_TAU, MULTIPLY_WORK, MULTIPLY_PARTS };

static bool multiply_block(const hki_linalg_work *work, const hki_equations *it, int64_t index,
                           int64_t line, size_t work_bytes)
{
    const hki_kernel_call *call = work->call;
    const hki_qr_multiply_options *options = call->options;
    const hki_tensor *b = &call->in[2], *out = &call->out[0];
    const hki_blas *blas = hki_blas_of(out->dtype);
    const int64_t lines = hki_min(BLOCK, it->lines - line);
    const hki_blas_matrix own = hki_stack_matrix(&call->in[0], 2, out, it->axes, index),
                          tau = hki_stack_matrix(&call->in[1], 1, out, it->axes, index);
    hki_blas_matrix from = hki_stack_matrix(b, it->axes, out, it->axes, index),
                    to = hki_stack_matrix(out, it->axes, out, it->axes, index);
    const int64_t row = options->right ? line : 0, column = options->right ? 0 : line;
    const int64_t rows = options->right ? lines : it->n, columns = options->right ? it->n : lines;
    hki_borrowed factors, y;
    blas->copy(tau, (hki_blas_matrix){work->part[MULTIPLY_TAU], tau.rows, 1, 1, 1, false});
    if (!hki_borrow_matrix(&factors, call, work->piece, own, HKI_LYING_BY_COLUMNS, true))
        return false;
    from = hki_blas_block(blas, from, row, rows, column, columns);
    to = hki_blas_block(blas, to, row, rows, column, columns);
    const bool ok = hki_borrow_matrix(&y, call, work->piece, to, HKI_LYING_BY_COLUMNS, false);
    if (ok) {
        if (from.data != y.at.data)
            blas->copy(from, y.at);
        hki_qr_of(out->dtype)
            ->multiply(options->right, options->adjoint, factors.at, tau.rows,
                       work->part[MULTIPLY_TAU], y.at, work->part[MULTIPLY_WORK], work_bytes);
        hki_return_matrix(&y, call, true);
    }
    hki_return_matrix(&factors, call, false);
    return ok;
}

static void qr_multiply_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin,
                               int64_t end)
{
    const hki_tensor *tau = &call->in[1];
    const bool right = options_of(call->options)->right;
    const hki_equations it = hki_equations_of_tensors(&call->in[2], &call->out[0], right);
    const int64_t count = tau->dims[tau->ndim - 1], lines = hki_min(BLOCK, it.lines);
    hki_linalg_work work;
    if (call->out[0].size == 0)
        return;
    const size_t bytes[MULTIPLY_PARTS] = {
        (size_t)count * hk_dtype_bytes(call->in[0].dtype),
        hki_qr_of(call->in[0].dtype)
            ->multiply_bytes(right, right ? lines : it.n, right ? it.n : lines, count)};
    if (!hki_linalg_begin(&work, call, piece, bytes, MULTIPLY_PARTS))
        return;
    const int64_t blocks = hki_divide_up(it.lines, BLOCK);
    while (begin < end &&
           multiply_block(&work, &it, begin / blocks, begin % blocks * BLOCK, bytes[MULTIPLY_WORK]))
        begin++;
    hki_linalg_end(&work);
}

static void qr_multiply_grad(hki_grad_call *call)
{
    const hki_qr_multiply_options *options = options_of(call->options);
    const hki_qr_multiply_options turned = {!options->adjoint, options->right};
    const bool is_vector = call->input_shape[2].ndim == 1;
    for (int i = 0; i < 2; i++)
        if (call->wanted[i])
            call->dx[i] = hki_array_create_failed(
                call->input_device[i], call->op->name, NULL, 0, HK_UNSUPPORTED,
                "qr_multiply has no gradient of packed factors; hk_qr has one of the matrix");
    if (!call->wanted[2])
        return;
    hk_array *dy =
        is_vector ? hki_op_call1(&hki_op_expand_dims, call->dy, &(const int64_t){-1}) : call->dy;
    hk_array *db = hki_op_call3(&hki_op_qr_multiply, call->inputs[0], call->inputs[1], dy, &turned);
    if (is_vector)
        db = hki_op_call1(&hki_op_squeeze, db, &(const int64_t){-1});
    call->dx[2] = hki_op_sum_to_shape(db, &call->input_shape[2]);
}

const hk_op hki_op_qr_multiply = {
    HKI_OP_NAMED(qr_multiply),
    .refuses = true,
    HKI_OP_PARAMS(qr_multiply),
    .signature = "qr, tau, b",
    .doc =
        "Q times b, for the square Q (m,m) of the factors that qr_factor made of matrices (m,n). b "
        "has matrices (m,k), or (k,m) from the right, or is one vector (m). The axes before are "
        "broadcast. b may be overwritten in place.",
    .formula = "y = Q b",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .strided_output = true,
    .in_place = 4,
    .infer = qr_multiply_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = qr_multiply_plan,
    .kernel = {[HKI_CPU] = qr_multiply_kernel},
    .grad = qr_multiply_grad,
    .grad_reads = {0, 0, 1 | 2},
    .untested = "factors are no random numbers: qr_test.c tests it",
};
