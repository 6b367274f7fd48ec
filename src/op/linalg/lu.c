/* Factors with partial pivoting, packed as LAPACK packs them, and equations that they solve:
 * lu_factor, lu_solve. */
#include "op/linalg/lu.h"
#include "op/linalg/panels.h"

#include "base/integer.h"
#include "op/call/call.h"
#include "op/linalg/tiles.h"
#include "op/linalg/views.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hki_stack stack_of(const hki_shape_view *x)
{
    return hki_stack_of(x->shape.ndim, x->shape.dims);
}

/* ---- lu_factor ------------------------------------------------------------------------------- */

static bool lu_factor_infer(hki_call *call)
{
    if (!hki_linalg_check(call))
        return false;
    const hki_stack stack = stack_of(call->inputs[0]);
    call->out_shape[1] = call->out_shape[0];
    call->out_shape[1].ndim--;
    call->out_shape[1].dims[call->out_shape[1].ndim - 1] = hki_min(stack.rows, stack.columns);
    call->out_dtype[1] = HK_I32;
    return true;
}

static void lu_factor_plan(const hki_call *call, hki_plan *plan)
{
    const hki_stack stack = stack_of(call->inputs[0]);
    const double least = (double)hki_min(stack.rows, stack.columns);
    hki_linalg_plan(plan, &stack, (double)stack.rows * (double)stack.columns * least);
}

static bool factorise(const hki_linalg_work *work, int64_t matrix)
{
    const hki_kernel_call *call = work->call;
    const hki_blas_matrix to = hki_stack_matrix(&call->out[1], 1, &call->out[1], 1, matrix);
    const hki_blas *blas = hki_blas_of(call->out[0].dtype);
    int32_t *pivots = work->part[0];
    hki_borrowed factors;
    if (!hki_borrow_matrix(&factors, call, work->piece, hki_matrix_of(&call->out[0], matrix),
                           HKI_LYING_BY_COLUMNS, false))
        return false;
    const hki_blas_matrix x = hki_matrix_of(&call->in[0], matrix);
    if (x.data != factors.at.data)
        blas->copy(x, factors.at);
    hki_lu_of(call->out[0].dtype)->factor(factors.at, pivots);
    for (int64_t i = 0; i < to.rows; i++)
        ((int32_t *)to.data)[i * to.row_step] = pivots[i];
    hki_return_matrix(&factors, call, true);
    return true;
}

static void lu_factor_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *pivots = &call->out[1];
    hki_linalg_work work;
    if (call->out[0].size == 0)
        return;
    const size_t bytes = (size_t)pivots->dims[pivots->ndim - 1] * sizeof(int32_t);
    if (!hki_linalg_begin(&work, call, piece, &bytes, 1))
        return;
    while (begin < end && factorise(&work, begin))
        begin++;
    hki_linalg_end(&work);
}

static hk_array *lu_factor_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    const hki_stack stack = stack_of(call->inputs[0]);
    if (!hki_is_in_panels(&x->shape))
        return NULL;
    hk_array *factors = hki_made_in_parts(call, 0), *pivots = hki_made_in_parts(call, 1);
    call->more[0] = pivots;
    for (int64_t i = 0; i < stack.count && !factors->failed && !pivots->failed; i++) {
        HK_SCOPE;
        hk_array *packed = hki_lu_tiled(hki_matrix_in_stack(x, i), hki_vector_in_stack(pivots, i));
        hki_call_into_unasked(&hki_op_copy, call->operation, packed, NULL,
                              hki_matrix_in_stack(factors, i));
    }
    return factors;
}

static void plain_lu(int64_t m, int64_t n, double *a, double *pivots)
{
    for (int64_t k = 0; k < m && k < n; k++) {
        int64_t most = k;
        for (int64_t i = k + 1; i < m; i++)
            most = fabs(a[i * n + k]) > fabs(a[most * n + k]) ? i : most;
        pivots[k] = (double)most;
        for (int64_t j = 0; j < n; j++) {
            const double kept = a[k * n + j];
            a[k * n + j] = a[most * n + j];
            a[most * n + j] = kept;
        }
        for (int64_t i = k + 1; i < m; i++) {
            a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
    }
}

static void lu_factor_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = stack_of(call->inputs[0]);
    const int64_t m = stack.rows, n = stack.columns, k = hki_min(m, n);
    for (int64_t i = 0; i < stack.count * m * n; i++)
        out[0][i] = in[0][i];
    for (int64_t i = 0; i < stack.count; i++)
        plain_lu(m, n, out[0] + i * m * n, out[1] + i * k);
}

static const hki_sample lu_factor_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4)}},    {.inputs = {HKI_SHAPE(2, 5, 3)}},
    {.inputs = {HKI_SHAPE(2, 3, 5)}}, {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 4, 4)}},
    {.inputs = {HKI_SHAPE(1, 1)}},    {.inputs = {HKI_SHAPE(0, 0)}},
    {.inputs = {HKI_SHAPE(2, 0, 3)}},
};

const hk_op hki_op_lu_factor = {
    HKI_OP_NAMED(lu_factor),
    .refuses = true,
    HKI_OP_SAMPLES(lu_factor_samples),
    .signature = "x",
    .output_count = 2,
    .outputs = "lu, pivots",
    .doc =
        "Factors with partial pivoting of matrices x (m,n), which lie along the last two axes: L "
        "U is x after row i of it was swapped with row pivots[i], for each i from 0. lu has U in "
        "its upper triangle, and below that L without its diagonal of ones. pivots are int32, "
        "min(m,n) for each matrix. A pivot of 0 stays in U and fails nothing. x may be "
        "overwritten by lu in place.",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .strided_output = true,
    .in_place = 1,
    .infer = lu_factor_infer,
    .compose = lu_factor_compose,
    .split = HKI_SPLIT_PLAN,
    .plan = lu_factor_plan,
    .kernel = {[HKI_CPU] = lu_factor_kernel},
    .no_grad_why = "packed factors have none; hk_solve, hk_inv and hk_det have",
    .reference = lu_factor_reference,
    .tolerance_f32 = 1e-4,
};

/* ---- equations ------------------------------------------------------------------------------- */

static bool check_pivots(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0], *pivots = call->inputs[1];
    char name[16], has[224], wants[192];
    hk_dims shape = x->shape;
    shape.ndim--;
    if (pivots->dtype == HK_I32 && hki_dims_equal(&pivots->shape, &shape))
        return true;
    hki_op_input_name(call->op, 0, name, sizeof name);
    hki_shape_view_describe(pivots, has, sizeof has);
    hki_dims_describe(&shape, wants, sizeof wants);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "pivots is %s, but must be int32%s: one for each row of %s", has, wants,
                           name);
}

static bool lu_solve_infer(hki_call *call)
{
    return hki_linalg_check_square(call) && check_pivots(call) &&
           hki_equations_infer(call, 2, false);
}

/* Columns of b are solved for in blocks, which stay the same however the call is cut. */
enum { BLOCK = 256 };

static void lu_solve_plan(const hki_call *call, hki_plan *plan)
{
    const hki_equations it = hki_equations_of(&call->inputs[2]->shape, &call->out_shape[0], false);
    const double n = (double)it.n;
    const hki_stack stack = {it.count, it.n, it.lines};
    hki_linalg_plan(plan, &stack, 2 * n * n * (double)it.lines);
    plan->extent = it.count * hki_max(1, hki_divide_up(it.lines, BLOCK));
}

/* Pivots without gaps, after checks of them and of the diagonal. */
static bool take_pivots(const hki_linalg_work *work, int64_t matrix, const hki_blas_matrix *lu,
                        const hki_blas_matrix *from, int32_t *pivots)
{
    const int64_t n = lu->rows, zero = hki_lu_of(work->call->in[0].dtype)->find_zero(*lu);
    if (zero >= 0) {
        hki_linalg_fail(work, matrix, "is singular: pivot %" PRId64 " of %" PRId64 " is 0",
                        zero + 1, n);
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        pivots[i] = ((const int32_t *)from->data)[i * from->row_step];
        if (pivots[i] >= i && pivots[i] < n)
            continue;
        hki_linalg_fail(work, matrix,
                        "cannot be used: pivot %" PRId64 " is %d, but must be from %" PRId64
                        " to %" PRId64,
                        i, pivots[i], i, n - 1);
        return false;
    }
    return true;
}

static void solve_in_place(const hki_linalg_work *work, hki_blas_matrix lu, const int32_t *pivots,
                           hki_blas_matrix b)
{
    const hki_lu_solve_options *options = work->call->options;
    const hk_dtype dtype = work->call->out[0].dtype;
    const hki_blas *blas = hki_blas_of(dtype);
    const hki_triangle lower = {.unit_diagonal = true,
                                .transposed = options->transposed,
                                .conjugated = options->conjugated},
                       upper = {.upper = true,
                                .transposed = options->transposed,
                                .conjugated = options->conjugated};
    if (!options->transposed)
        hki_lu_of(dtype)->swap_rows(b, 0, pivots, lu.rows, false);
    blas->solve_triangular(options->transposed ? upper : lower, false, lu, b);
    blas->solve_triangular(options->transposed ? lower : upper, false, lu, b);
    if (options->transposed)
        hki_lu_of(dtype)->swap_rows(b, 0, pivots, lu.rows, true);
}

static bool solve_block(const hki_linalg_work *work, const hki_equations *it, int64_t index,
                        int64_t line)
{
    const hki_kernel_call *call = work->call;
    const hki_tensor *x = &call->in[0], *b = &call->in[2], *out = &call->out[0];
    const hki_blas *blas = hki_blas_of(out->dtype);
    const int64_t lines = hki_min(BLOCK, it->lines - line);
    const hki_blas_matrix own = hki_stack_matrix(x, 2, out, it->axes, index),
                          swaps = hki_stack_matrix(&call->in[1], 1, out, it->axes, index);
    hki_borrowed lu, y;
    if (!take_pivots(work, hki_stack_index(x, 2, out, it->axes, index), &own, &swaps,
                     work->part[0]) ||
        !hki_borrow_matrix(&lu, call, work->piece, own, HKI_LYING_ANY, true))
        return false;
    const bool ok = hki_borrow_matrix(
        &y, call, work->piece,
        hki_blas_block(blas, hki_stack_matrix(out, it->axes, out, it->axes, index), 0, it->n, line,
                       lines),
        HKI_LYING_ANY, false);
    if (ok) {
        const hki_blas_matrix from = hki_blas_block(
            blas, hki_stack_matrix(b, it->axes, out, it->axes, index), 0, it->n, line, lines);
        if (from.data != y.at.data)
            blas->copy(from, y.at);
        solve_in_place(work, lu.at, work->part[0], y.at);
        hki_return_matrix(&y, call, true);
    }
    hki_return_matrix(&lu, call, false);
    return ok;
}

static void lu_solve_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_equations it = hki_equations_of_tensors(&call->in[2], &call->out[0], false);
    const size_t bytes = (size_t)it.n * sizeof(int32_t);
    hki_linalg_work work;
    if (call->out[0].size == 0 || !hki_linalg_begin(&work, call, piece, &bytes, 1))
        return;
    const int64_t blocks = hki_divide_up(it.lines, BLOCK);
    while (begin < end && solve_block(&work, &it, begin / blocks, begin % blocks * BLOCK))
        begin++;
    hki_linalg_end(&work);
}

static void lu_solve_grad(hki_grad_call *call)
{
    const hki_lu_solve_options *options = call->options;
    const hki_lu_solve_options turned = {!options->transposed, !options->conjugated};
    const bool is_vector = call->input_shape[2].ndim == 1;
    if (call->wanted[0])
        call->dx[0] = hki_array_create_failed(
            call->input_device[0], call->op->name, NULL, 0, HK_UNSUPPORTED,
            "lu_solve has no gradient of packed factors; hk_solve has one of the matrix");
    if (!call->wanted[2])
        return;
    hk_array *dy =
        is_vector ? hki_op_call1(&hki_op_expand_dims, call->dy, &(const int64_t){-1}) : call->dy;
    hk_array *db = hki_op_call3(&hki_op_lu_solve, call->inputs[0], call->inputs[1], dy, &turned);
    if (is_vector)
        db = hki_op_call1(&hki_op_squeeze, db, &(const int64_t){-1});
    call->dx[2] = hki_op_sum_to_shape(db, &call->input_shape[2]);
}

HKI_OPTIONS_TABLE(lu_solve, LU_SOLVE_OPTIONS)

const hk_op hki_op_lu_solve = {
    HKI_OP_NAMED(lu_solve),
    .refuses = true,
    HKI_OP_PARAMS(lu_solve),
    .signature = "lu, pivots, b",
    .doc =
        "y, where x times y is b, for the matrices x (n,n) that lu_factor made lu and pivots of. b "
        "has matrices (n,k), or is one vector (n). The axes before are broadcast. A pivot of 0 "
        "in lu fails the result. b may be overwritten in place.",
    .formula = "x y = b",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .strided_output = true,
    .in_place = 4,
    .infer = lu_solve_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = lu_solve_plan,
    .kernel = {[HKI_CPU] = lu_solve_kernel},
    .grad = lu_solve_grad,
    .grad_reads = {0, 0, 1 | 2},
    .no_grad_inputs = 2,
    .untested = "factors are no random numbers: tiles_test.c tests it",
};

/* ---- of large matrices ----------------------------------------------------------------------- */

const hk_op hki_op_lu_solve_part = {
    HKI_OP_NAMED(lu_solve_part),
    .refuses = true,
    .params = lu_solve_params,
    .options_bytes = sizeof(hki_lu_solve_options),
    .signature = "x, pivots, b",
    .doc = "lu_solve as a part of solve.",
    .dtypes = HKI_INEXACT,
    .internal = true,
    .is_part = true,
    .host_only = true,
    .infer = lu_solve_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = lu_solve_plan,
    .kernel = {[HKI_CPU] = lu_solve_kernel},
    .no_grad_why = "solve has the gradient",
    .untested = "tiles_test.c tests it",
};

/* Columns of the inverse that one piece makes at a time. */
enum { INVERSE_BLOCK = 128 };

static void inverse_plan(const hki_call *call, hki_plan *plan)
{
    const hki_stack stack = stack_of(call->inputs[0]);
    const double n = (double)stack.rows;
    hki_linalg_plan(plan, &stack, 4 * n * n * n / 3);
    plan->extent = stack.count * hki_divide_up(stack.rows, INVERSE_BLOCK);
}

/* Rows of the result are columns of the inverse: U^-1 L^-1, whose columns go where their rows
 * came from. Above the block's first row its columns of L^-1 are 0. */
static bool invert_block(const hki_linalg_work *work, int64_t matrix, int64_t first)
{
    const hki_kernel_call *call = work->call;
    const hk_dtype dtype = call->out[0].dtype;
    const hki_blas *blas = hki_blas_of(dtype);
    const hki_blas_matrix lu = hki_matrix_of(&call->in[0], matrix),
                          swaps = hki_stack_matrix(&call->in[1], 1, &call->in[1], 1, matrix),
                          to = hki_matrix_of(&call->out[0], matrix);
    const int64_t n = lu.rows, columns = hki_min(INVERSE_BLOCK, n - first);
    int32_t *pivots = work->part[0], *places = work->part[1];
    const hki_blas_matrix x = {work->part[2], n, columns, 1, n, false};
    if (!take_pivots(work, matrix, &lu, &swaps, pivots))
        return false;
    for (int64_t i = 0; i < n; i++)
        places[i] = (int32_t)i;
    for (int64_t i = 0; i < n; i++) {
        const int32_t kept = places[i];
        places[i] = places[pivots[i]];
        places[pivots[i]] = kept;
    }
    hki_lu_of(dtype)->set_identity(x, first);
    blas->solve_triangular((hki_triangle){.unit_diagonal = true}, false,
                           hki_blas_block(blas, lu, first, n - first, first, n - first),
                           hki_blas_block(blas, x, first, n - first, 0, columns));
    blas->solve_triangular((hki_triangle){.upper = true}, false, lu, x);
    for (int64_t i = 0; i < columns; i++)
        blas->copy(hki_blas_transposed(hki_blas_block(blas, x, 0, n, i, 1)),
                   hki_blas_block(blas, to, places[first + i], 1, 0, n));
    return true;
}

static void inverse_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const int64_t n = hki_stack_of(call->in[0].ndim, call->in[0].dims).rows;
    const size_t pivots = (size_t)n * sizeof(int32_t),
                 columns = (size_t)n * INVERSE_BLOCK * hk_dtype_bytes(call->in[0].dtype);
    hki_linalg_work work;
    if (begin == end ||
        !hki_linalg_begin(&work, call, piece, (const size_t[]){pivots, pivots, columns}, 3))
        return;
    const int64_t blocks = hki_divide_up(n, INVERSE_BLOCK);
    while (begin < end && invert_block(&work, begin / blocks, begin % blocks * INVERSE_BLOCK))
        begin++;
    hki_linalg_end(&work);
}

static bool inverse_infer(hki_call *call)
{
    return hki_linalg_check_square(call) && check_pivots(call);
}

const hk_op hki_op_lu_inverse = {
    HKI_OP_NAMED(lu_inverse),
    .refuses = true,
    .signature = "x, pivots",
    .doc = "The transposed inverse, from factors by columns: a part of inv.",
    .dtypes = HKI_INEXACT,
    .internal = true,
    .is_part = true,
    .host_only = true,
    .infer = inverse_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = inverse_plan,
    .kernel = {[HKI_CPU] = inverse_kernel},
    .no_grad_why = "inv has the gradient",
    .untested = "tiles_test.c tests it",
};

/* Packed factors by columns, and pivots. */
static hk_array *factors_of(hk_array *x, hk_array **pivots)
{
    hk_array *both[2];
    if (x->shape.ndim > 2) {
        hki_op_call_all(&hki_op_lu_factor, &x, 1, NULL, (hk_device){NULL}, both, 2);
        *pivots = both[1];
        return both[0];
    }
    *pivots = hki_array_made(x->storage->device, (hk_dims){.ndim = 1, .dims = {x->shape.dims[0]}},
                             HK_I32, "lu_factor");
    return (*pivots)->failed ? *pivots : hki_lu_tiled(x, *pivots);
}

hk_array *hki_solve_tiled(const hki_call *call)
{
    hk_array *pivots, *factors = factors_of(call->arrays[0], &pivots);
    return hki_op_call3(&hki_op_lu_solve_part, factors, pivots, call->arrays[1], NULL);
}

hk_array *hki_inv_tiled(const hki_call *call)
{
    hk_array *pivots, *factors = factors_of(call->arrays[0], &pivots);
    hk_array *turned = hki_op_call2(&hki_op_lu_inverse, factors, pivots, NULL);
    return hki_op_call1(&hki_op_copy,
                        hki_op_call1(&hki_op_swapaxes, turned, (const int64_t[]){-1, -2}), NULL);
}
