/* The product that is added to a matrix: addmm. */
#include "base/option.h"
#include "op/call/plan.h"
#include "op/linalg/updates.h"
#include "op/linalg/views.h"
#include "op/matmul/matrix.h"
#include "op/matmul/product_geometry.h"

HKI_OPTIONS_TABLE(addmm, UPDATE_FACTORS)

double hki_update_alpha(const void *options)
{
    return hki_option_or(((const hki_addmm_options *)options)->alpha, 1) + 0.0;
}

double hki_update_beta(const void *options)
{
    return hki_option_or(((const hki_addmm_options *)options)->beta, 1) + 0.0;
}

bool hki_update_check_c(hki_call *call)
{
    char c[224], product[192];
    const hki_shape_view *its = call->inputs[0];
    hk_dims both;
    if (its->dtype != call->out_dtype[0]) {
        hki_shape_view_describe(its, c, sizeof c);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "c is %s, but a %s; hk_cast converts", c,
                               hk_dtype_name(call->out_dtype[0]));
    }
    if (hki_dims_broadcast(&its->shape, &call->out_shape[0], &both) &&
        hki_dims_equal(&both, &call->out_shape[0]))
        return true;
    hki_dims_describe(&its->shape, c, sizeof c);
    hki_dims_describe(&call->out_shape[0], product, sizeof product);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "c is %s, but the product %s, to which it must broadcast", c, product);
}

/* Of a b alone. */
static void set_product(hki_call *product, const hki_call *call)
{
    *product = *call;
    product->op = &hki_op_matmul;
    product->input_count = 2;
    product->inputs[0] = call->inputs[1];
    product->inputs[1] = call->inputs[2];
}

static bool addmm_infer(hki_call *call)
{
    hki_call product;
    if (!hki_linalg_check_input(call, 1) || !hki_linalg_check_input(call, 2))
        return false;
    if (call->inputs[1]->dtype != call->inputs[2]->dtype)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "b is %s, a is %s; hk_cast converts",
                               hk_dtype_name(call->inputs[2]->dtype),
                               hk_dtype_name(call->inputs[1]->dtype));
    set_product(&product, call);
    if (!hki_matmul_infer(&product))
        return hki_call_refuse(call, product.code, "%s", product.message);
    call->out_shape[0] = product.out_shape[0];
    call->out_dtype[0] = product.out_dtype[0];
    return hki_update_check_c(call);
}

static void geometry_of(hki_product_geometry *geometry, const hki_kernel_call *call)
{
    const hki_tensor *a = &call->in[1], *b = &call->in[2];
    hki_product_geometry_init(geometry, a->ndim, a->dims, a->strides, b->ndim, b->dims, b->strides);
}

static void addmm_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *a = call->inputs[1], *b = call->inputs[2];
    hki_product_geometry geometry;
    hki_product_geometry_init(&geometry, a->shape.ndim, a->shape.dims, a->strides, b->shape.ndim,
                              b->shape.dims, b->strides);
    const int64_t m = geometry.m, n = geometry.n, k = geometry.k;
    const double count = (double)geometry.batch_count,
                 parts = hki_dtype_is_complex(a->dtype) ? 4 : 1;
    const hki_matrix_tiles tiles = hki_matrix_tiles_of(m, n, k, a->dtype);
    plan->extent = geometry.batch_count * tiles.row_count * tiles.column_count;
    plan->max_pieces = hki_plan_pieces_for(call);
    plan->work_ns =
        count * hki_matrix_work_ns(m, n, k, hki_dtype_is_complex(a->dtype) ? HK_F64 : a->dtype);
    plan->flops = 2 * parts * count * (double)m * (double)n * (double)k;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

hki_blas_matrix hki_update_c(const hki_tensor *c, const hki_tensor *out, int64_t matrix)
{
    hki_tensor padded = *c; /* axes in front: broadcast */
    while (padded.ndim < 2) {
        for (int i = padded.ndim++; i > 0; i--) {
            padded.dims[i] = padded.dims[i - 1];
            padded.strides[i] = padded.strides[i - 1];
        }
        padded.dims[0] = 1;
        padded.strides[0] = 0;
    }
    hki_blas_matrix it = hki_stack_matrix(&padded, 2, out, 2, matrix);
    const int64_t rows = out->dims[out->ndim - 2], columns = out->dims[out->ndim - 1];
    it.row_step = it.rows == rows ? it.row_step : 0;
    it.column_step = it.columns == columns ? it.column_step : 0;
    it.rows = rows;
    it.columns = columns;
    return it;
}

void hki_update_scale(const hki_blas *blas, double beta, hki_blas_matrix c, hki_blas_matrix to)
{
    const bool is_there = c.data == to.data;
    if (beta == 1 && !is_there)
        blas->copy(c, to);
    else if (beta != 1)
        blas->scale(beta, c, to);
}

static hki_matrix plain(hki_blas_matrix x)
{
    return (hki_matrix){x.data, x.rows, x.columns, x.row_step, x.column_step};
}

/* to = factor a b, or that added to it. */
static bool multiply(const hki_kernel_call *call, int64_t piece, double factor, hki_blas_matrix a,
                     hki_blas_matrix b, bool adds, hki_blas_matrix to)
{
    const hk_dtype dtype = call->out[0].dtype;
    if (!hki_dtype_is_complex(dtype)) {
        const hki_matrix_how how = {.adds = adds, .factor = factor};
        if (hki_blas_is_by_rows(&to))
            return hki_matrix_product(call, piece, dtype, plain(a), plain(b), how, to.data,
                                      to.row_step);
        return hki_matrix_product(call, piece, dtype, plain(hki_blas_transposed(b)),
                                  plain(hki_blas_transposed(a)), how, to.data, to.column_step);
    }
    hki_borrowed left, right;
    if (!hki_borrow_matrix(&left, call, piece, a, HKI_LYING_ANY, true))
        return false;
    const bool ok = hki_borrow_matrix(&right, call, piece, b, HKI_LYING_ANY, true);
    if (ok) {
        hki_blas_of(dtype)->product(factor, left.at, right.at, adds, to);
        hki_return_matrix(&right, call, false);
    }
    hki_return_matrix(&left, call, false);
    return ok;
}

static bool update_tile(const hki_linalg_work *work, hki_blas_matrix c, hki_blas_matrix a,
                        hki_blas_matrix b, hki_blas_matrix to)
{
    const hki_kernel_call *call = work->call;
    const double alpha = hki_update_alpha(call->options), beta = hki_update_beta(call->options);
    const bool multiplies = alpha != 0 && a.columns > 0;
    hki_borrowed result;
    if (!hki_borrow_matrix(&result, call, work->piece, to, HKI_LYING_ANY, false))
        return false;
    if (beta != 0 || !multiplies)
        hki_update_scale(hki_blas_of(call->out[0].dtype), beta, c, result.at);
    const bool ok = !multiplies || multiply(call, work->piece, alpha, a, b, beta != 0, result.at);
    hki_return_matrix(&result, call, true);
    return ok;
}

static void addmm_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *c = &call->in[0], *a = &call->in[1], *b = &call->in[2], *out = &call->out[0];
    const hki_blas *blas = hki_blas_of(out->dtype);
    hki_product_geometry geometry;
    hki_linalg_work work;
    if (out->size == 0 || !hki_linalg_begin(&work, call, piece, NULL, 0))
        return;
    geometry_of(&geometry, call);
    const int64_t m = geometry.m, n = geometry.n, k = geometry.k;
    const hki_matrix_tiles tiles = hki_matrix_tiles_of(m, n, k, a->dtype);
    const int64_t tile_count = tiles.row_count * tiles.column_count;
    for (bool ok = true; ok && begin < end;) {
        const int64_t entry = begin / tile_count, first = begin % tile_count;
        int64_t at = first;
        const hki_matrix_tile t = hki_matrix_tiles_join(
            &tiles, m, n, &at, tile_count < first + end - begin ? tile_count : first + end - begin);
        begin += at - first;
        ok = update_tile(
            &work,
            hki_blas_block(blas, hki_update_c(c, out, entry), t.row, t.rows, t.column, t.columns),
            hki_blas_block(blas, hki_stack_matrix(a, 2, out, 2, entry), t.row, t.rows, 0, k),
            hki_blas_block(blas, hki_stack_matrix(b, 2, out, 2, entry), 0, k, t.column, t.columns),
            hki_blas_block(blas, hki_matrix_of(out, entry), t.row, t.rows, t.column, t.columns));
    }
    hki_linalg_end(&work);
}

/* ---- gradient -------------------------------------------------------------------------------- */

hk_array *hki_update_times(hk_array *x, double factor)
{
    return factor == 1 ? x : hki_op_call_number(&hki_op_multiply_scalar, x, factor);
}

/* What is not read has none but 0. */
hk_array *hki_update_gradient(const hki_grad_call *call, int index, double factor, hk_array *x)
{
    if (factor == 0)
        return hki_op_call(
            &hki_op_zeros, NULL, 0,
            &(const hki_zeros_options){call->input_shape[index], call->input_dtype[index]},
            (hk_device){call->input_device[index]}, NULL);
    return hki_op_sum_to_shape(hki_update_times(x, factor), &call->input_shape[index]);
}

static void addmm_grad(hki_grad_call *call)
{
    const double alpha = hki_update_alpha(call->options), beta = hki_update_beta(call->options);
    hk_array *a = call->inputs[1], *b = call->inputs[2], *dy = call->dy;
    if (call->wanted[0])
        call->dx[0] = hki_update_gradient(call, 0, beta, dy);
    if (call->wanted[1])
        call->dx[1] =
            hki_update_gradient(call, 1, alpha, hki_matrix_times(dy, hki_matrix_adjoint(b)));
    if (call->wanted[2])
        call->dx[2] =
            hki_update_gradient(call, 2, alpha, hki_matrix_times(hki_matrix_adjoint(a), dy));
}

/* ---- conformance ----------------------------------------------------------------------------- */

/* The element of x, broadcast to `out`, that stands for that one of it. */
static double element_of(const hk_dims *x, const double *items, const hk_dims *out, int64_t index)
{
    int64_t at = 0, scale = 1;
    for (int i = 1; i <= x->ndim; i++) {
        const int64_t size = x->dims[x->ndim - i];
        at += (size == 1 ? 0 : index % out->dims[out->ndim - i]) * scale;
        index /= out->dims[out->ndim - i];
        scale *= size;
    }
    return items[at];
}

double hki_update_item_of_c(const hki_call *call, const double *c, int64_t index)
{
    return element_of(&call->inputs[0]->shape, c, &call->out_shape[0], index);
}

double hki_update_reference_c(const hki_call *call, const double *c, int64_t index)
{
    const double beta = hki_update_beta(call->options);
    return beta == 0 ? 0 : beta * hki_update_item_of_c(call, c, index);
}

static void addmm_reference(const hki_call *call, const double *const *in, double *const *out)
{
    hki_call product;
    int64_t size = 0;
    set_product(&product, call);
    hki_dims_size(&call->out_shape[0], &size);
    hki_op_matmul.reference(&product, in + 1, out);
    for (int64_t i = 0; i < size; i++) {
        const double alpha = hki_update_alpha(call->options);
        out[0][i] = (alpha == 0 ? 0 : alpha * out[0][i]) + hki_update_reference_c(call, in[0], i);
    }
}

#define FACTORS(...)                                                                               \
    .options = &(const hki_addmm_options)                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample addmm_samples[] = {
    {.inputs = {HKI_SHAPE(3, 5), HKI_SHAPE(3, 4), HKI_SHAPE(4, 5)}},
    {.inputs = {HKI_SHAPE(3, 5), HKI_SHAPE(3, 4), HKI_SHAPE(4, 5)}, FACTORS(-0.5, 2)},
    {.inputs = {HKI_SHAPE(5), HKI_SHAPE(3, 4), HKI_SHAPE(4, 5)}, FACTORS(.alpha = -1)},
    {.inputs = {HKI_SHAPE_0D, HKI_SHAPE(3, 4), HKI_SHAPE(4, 5)}, FACTORS(.beta = 3)},
    {.inputs = {HKI_SHAPE(3, 1), HKI_SHAPE(2, 3, 4), HKI_SHAPE(4, 2)}, FACTORS(.beta = -1)},
    {.inputs = {HKI_SHAPE(2, 3, 2), HKI_SHAPE(3, 4), HKI_SHAPE(2, 4, 2)}},
    {.inputs = {HKI_SHAPE(3, 5), HKI_SHAPE(3, 4), HKI_SHAPE(4, 5)}, FACTORS(.beta = HK_ZERO)},
    {.inputs = {HKI_SHAPE(3, 5), HKI_SHAPE(3, 4), HKI_SHAPE(4, 5)}, FACTORS(.alpha = HK_ZERO)},
    {.inputs = {HKI_SHAPE(3, 5), HKI_SHAPE(3, 4), HKI_SHAPE(4, 5)}, FACTORS(HK_ZERO, HK_ZERO)},
    {.inputs = {HKI_SHAPE(1, 5), HKI_SHAPE(1, 4), HKI_SHAPE(4, 5)}, FACTORS(.alpha = -2)},
    {.inputs = {HKI_SHAPE(3, 1), HKI_SHAPE(3, 4), HKI_SHAPE(4, 1)}, FACTORS(.alpha = -2)},
    {.inputs = {HKI_SHAPE(40, 33), HKI_SHAPE(40, 70), HKI_SHAPE(70, 33)}, FACTORS(.alpha = -1)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(3, 5), HKI_SHAPE(3, 4), HKI_SHAPE(4, 5)},
     FACTORS(.alpha = -1)},
    {.kind = HKI_SAMPLE_ALIASED, .inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(4, 4), HKI_SHAPE(4, 4)}},
    {.inputs = {HKI_SHAPE(3, 5), HKI_SHAPE(3, 0), HKI_SHAPE(0, 5)}, FACTORS(.beta = 2)},
    {.inputs = {HKI_SHAPE(0, 5), HKI_SHAPE(0, 4), HKI_SHAPE(4, 5)}},
};

const hk_op hki_op_addmm = {
    HKI_OP_NAMED(addmm),
    HKI_OP_PARAMS(addmm),
    HKI_OP_SAMPLES(addmm_samples),
    .signature = "c, a, b",
    .doc =
        "alpha times the matrix product of a (m,k) and b (k,n), added to beta times c, which "
        "broadcasts to it. Further axes in front are batches of matrices, which broadcast. Where "
        "alpha is 0, a and b are not read; where beta is 0, c is not. c may be overwritten in "
        "place; transposed views and blocks of a larger matrix are read and written as they "
        "lie.",
    .formula = "y = alpha a b + beta c",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .strided_output = true,
    .in_place = 1,
    .infer = addmm_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = addmm_plan,
    .kernel = {[HKI_CPU] = addmm_kernel},
    .grad = addmm_grad,
    .grad_reads = {0, 4, 2},
    .reference = addmm_reference,
    .tolerance_f32 = 1e-5,
};
