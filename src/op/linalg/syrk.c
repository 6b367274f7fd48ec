/* The symmetric product that is added to one triangle of a matrix: syrk, of complex numbers
 * herk. */
#include "base/integer.h"
#include "op/call/plan.h"
#include "op/linalg/updates.h"
#include "op/linalg/views.h"
#include "op/matmul/matrix.h"

HKI_OPTIONS_TABLE(syrk, SYRK_OPTIONS)

_Static_assert(offsetof(hki_syrk_options, beta) == offsetof(hki_addmm_options, beta),
               "options begin with those of addmm");

static bool is_upper(const void *options)
{
    return ((const hki_syrk_options *)options)->upper;
}

static bool syrk_infer(hki_call *call)
{
    if (!hki_linalg_check_input(call, 1))
        return false;
    const hki_shape_view *a = call->inputs[1];
    call->out_dtype[0] = a->dtype;
    call->out_shape[0] = a->shape;
    call->out_shape[0].dims[a->shape.ndim - 1] = a->shape.dims[a->shape.ndim - 2];
    return hki_update_check_c(call);
}

/* Rows of the triangle go in blocks, which stay the same however the call is cut. */
enum { BLOCK = 128 };

static void syrk_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *a = call->inputs[1];
    const hki_stack stack = hki_stack_of(a->shape.ndim, a->shape.dims);
    const double n = (double)stack.rows, k = (double)stack.columns,
                 parts = hki_dtype_is_complex(a->dtype) ? 4 : 1;
    plan->extent = stack.count * hki_max(1, hki_divide_up(stack.rows, BLOCK));
    plan->max_pieces = hki_plan_pieces_for(call);
    plan->flops = parts * (double)stack.count * n * n * k;
    plan->work_ns = (double)stack.count *
                    hki_matrix_work_ns(stack.rows, stack.rows, stack.columns,
                                       a->dtype == HK_F32 ? HK_F32 : HK_F64) /
                    2;
}

/* The rows of that block: a product beside the diagonal, and a triangle on it. */
static void update_rows(const hki_kernel_call *call, int64_t row, hki_blas_matrix c,
                        hki_blas_matrix a, hki_blas_matrix to)
{
    const hki_blas *blas = hki_blas_of(call->out[0].dtype);
    const double alpha = hki_update_alpha(call->options), beta = hki_update_beta(call->options);
    const bool upper = is_upper(call->options);
    const int64_t n = to.rows, k = a.columns, rows = hki_min(BLOCK, n - row), end = row + rows;
    const int64_t first = upper ? end : 0, count = upper ? n - end : row;
    const hki_blas_matrix mine = hki_blas_block(blas, a, row, rows, 0, k),
                          others = hki_blas_block(blas, a, first, count, 0, k);
    if (c.data != to.data)
        blas->copy(hki_blas_block(blas, c, row, rows, 0, n),
                   hki_blas_block(blas, to, row, rows, 0, n));
    blas->product(alpha, mine, hki_blas_adjoint(others), beta,
                  hki_blas_block(blas, to, row, rows, first, count));
    blas->rank_k(upper, alpha, mine, beta, hki_blas_block(blas, to, row, rows, row, rows));
}

static bool update_block(const hki_linalg_work *work, int64_t matrix, int64_t row)
{
    const hki_kernel_call *call = work->call;
    const hki_tensor *out = &call->out[0];
    const hki_blas *blas = hki_blas_of(out->dtype);
    const hki_blas_matrix to = hki_matrix_of(out, matrix),
                          c = hki_update_c(&call->in[0], out, matrix);
    const int64_t rows = hki_min(BLOCK, to.rows - row);
    hki_blas_matrix block = hki_blas_block(blas, to, row, rows, 0, to.columns);
    hki_borrowed factor, result;
    /* what has gaps both ways is copied, the rows of this block alone */
    if (!hki_borrow_matrix(&result, call, work->piece, block, HKI_LYING_ANY, true))
        return false;
    const hki_lying lying =
        hki_blas_is_by_rows(&result.at) ? HKI_LYING_BY_ROWS : HKI_LYING_BY_COLUMNS;
    const bool ok = hki_borrow_matrix(
        &factor, call, work->piece, hki_stack_matrix(&call->in[1], 2, out, 2, matrix), lying, true);
    if (ok) {
        hki_blas_matrix whole = to;
        if (result.copy) {
            whole = result.at;
            whole.rows = to.rows;
            whole.data = (char *)whole.data - row * whole.row_step * (int64_t)blas->item;
        }
        update_rows(call, row, c, factor.at, whole);
        hki_return_matrix(&factor, call, false);
    }
    hki_return_matrix(&result, call, ok);
    return ok;
}

static void syrk_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *out = &call->out[0];
    hki_linalg_work work;
    if (out->size == 0 || !hki_linalg_begin(&work, call, piece, NULL, 0))
        return;
    const int64_t blocks = hki_divide_up(out->dims[out->ndim - 1], BLOCK);
    while (begin < end && update_block(&work, begin / blocks, begin % blocks * BLOCK))
        begin++;
    hki_linalg_end(&work);
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* The triangle that is written, or what is beside it. */
static hk_array *triangle(hk_array *x, bool upper, bool rest)
{
    const int64_t offset = !rest ? 0 : upper ? -1 : 1;
    return hki_op_call1(upper != rest ? &hki_op_triu : &hki_op_tril, x, &offset);
}

/* Of complex numbers the diagonal of the result is real, whatever that of c is. */
static hk_array *with_real_diagonal(hk_array *x)
{
    if (!hki_dtype_is_complex(x->dtype))
        return x;
    const int64_t above = 1, below = -1, none = 0;
    hk_array *beside = hki_op_call2(&hki_op_add, hki_op_call1(&hki_op_triu, x, &above),
                                    hki_op_call1(&hki_op_tril, x, &below), NULL);
    hk_array *real =
        hki_op_call1(&hki_op_triu,
                     hki_op_call1(&hki_op_tril, hki_op_call1(&hki_op_real, x, NULL), &none), &none);
    return hki_op_call2(&hki_op_add, beside, real, NULL);
}

static void syrk_grad(hki_grad_call *call)
{
    const double alpha = hki_update_alpha(call->options), beta = hki_update_beta(call->options);
    const bool upper = is_upper(call->options);
    hk_array *written = with_real_diagonal(triangle(call->dy, upper, false));
    if (call->wanted[0]) {
        hk_array *rest = triangle(call->dy, upper, true);
        hk_array *dc = beta == 0
                           ? rest
                           : hki_op_call2(&hki_op_add, hki_update_times(written, beta), rest, NULL);
        call->dx[0] = hki_op_sum_to_shape(dc, &call->input_shape[0]);
    }
    if (call->wanted[1]) {
        hk_array *both = hki_op_call2(&hki_op_add, written, hki_matrix_adjoint(written), NULL);
        call->dx[1] = hki_update_gradient(call, 1, alpha, hki_matrix_times(both, call->inputs[1]));
    }
}

/* ---- conformance ----------------------------------------------------------------------------- */

static void syrk_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *a = &call->inputs[1]->shape;
    const hki_stack stack = hki_stack_of(a->ndim, a->dims);
    const int64_t n = stack.rows, k = stack.columns;
    const double alpha = hki_update_alpha(call->options);
    for (int64_t i = 0; i < stack.count * n * n; i++) {
        const int64_t row = i / n % n, column = i % n;
        const double *x = in[1] + i / n / n * n * k;
        double sum = 0;
        if (is_upper(call->options) ? column < row : column > row) {
            out[0][i] = hki_update_item_of_c(call, in[0], i);
            continue;
        }
        for (int64_t l = 0; l < k && alpha != 0; l++)
            sum += x[row * k + l] * x[column * k + l];
        out[0][i] = alpha * sum + hki_update_reference_c(call, in[0], i);
    }
}

#define FACTORS(...)                                                                               \
    .options = &(const hki_syrk_options)                                                           \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample syrk_samples[] = {
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 4)}},
    {.inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(4, 2)}, FACTORS(.alpha = -1, .beta = 2, .upper = true)},
    {.inputs = {HKI_SHAPE(3), HKI_SHAPE(2, 3, 4)}, FACTORS(.alpha = -0.5)},
    {.inputs = {HKI_SHAPE_0D, HKI_SHAPE(3, 4)}, FACTORS(.upper = true)},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 4)}, FACTORS(.beta = HK_ZERO)},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 4)}, FACTORS(.alpha = HK_ZERO, .beta = 0.5)},
    {.inputs = {HKI_SHAPE(140, 140), HKI_SHAPE(140, 5)}, FACTORS(.alpha = -1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 5), HKI_SHAPE(5, 3)}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 4, 4), HKI_SHAPE(2, 4, 3)},
     FACTORS(.upper = true)},
    {.kind = HKI_SAMPLE_ALIASED, .inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(4, 4)}},
    {.inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 0)}, FACTORS(.beta = 2)},
    {.inputs = {HKI_SHAPE(0, 0), HKI_SHAPE(0, 4)}},
};

const hk_op hki_op_syrk = {
    HKI_OP_NAMED(syrk),
    HKI_OP_PARAMS(syrk),
    HKI_OP_SAMPLES(syrk_samples),
    .signature = "c, a",
    .doc =
        "c, of which one triangle, the lower one, and the diagonal become alpha times the product "
        "of a (n,k) and its transpose, added to beta times c; the other triangle stays as it is. "
        "c broadcasts to (n,n). Of complex numbers the transpose is conjugated, and the diagonal "
        "becomes real. Further axes in front are batches of matrices. Where alpha is 0, a is not "
        "read; where beta is 0, what is written is not. c may be overwritten in place; "
        "transposed views and blocks of a larger matrix are read and written as they lie.",
    .formula = "y = alpha a a^T + beta c",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .strided_output = true,
    .in_place = 1,
    .infer = syrk_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = syrk_plan,
    .kernel = {[HKI_CPU] = syrk_kernel},
    .grad = syrk_grad,
    .grad_reads = {0, 2},
    .reference = syrk_reference,
    .tolerance_f32 = 1e-5,
};
