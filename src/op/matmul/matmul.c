/* Matrix product, as NumPy's: batches broadcast, vectors are rows on the left and columns on the right. */
#include "base/integer.h"
#include "op/call/plan.h"
#include "op/complex/complex.h"
#include "op/matmul/matrix.h"
#include "op/matmul/product_geometry.h"
#include "op/reduce/reduce_kernel.h"
#include "op/shape/copy.h"

#include <stdio.h>

/* Texts of shapes take longer than a small product: nobody needs them where all is well. */
static bool refuse_shapes(hki_call *call, const char *why)
{
    char a[256], b[256];
    hki_dims_describe(&call->inputs[0]->shape, a, sizeof a);
    hki_dims_describe(&call->inputs[1]->shape, b, sizeof b);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT, "a is %s and b is %s: %s", a, b, why);
}

static bool refuse_sizes(hki_call *call, int64_t columns, int64_t rows)
{
    char why[128];
    snprintf(why, sizeof why, "a has %lld columns, b has %lld rows, which must be as many",
             (long long)columns, (long long)rows);
    return refuse_shapes(call, why);
}

bool hki_matmul_infer(hki_call *call)
{
    const hki_shape_view *a = call->inputs[0], *b = call->inputs[1];
    const int a_ndim = a->shape.ndim, b_ndim = b->shape.ndim;
    if (a_ndim == 0 || b_ndim == 0)
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "%s is 0-d, but needs an axis or more; hk_multiply multiplies by a scalar",
            a_ndim == 0 ? "a" : "b");
    call->out_dtype[0] = hki_matrix_result_dtype(a->dtype);
    const bool is_complex = hki_dtype_is_complex(a->dtype) || hki_dtype_is_complex(b->dtype);
    if (a->dtype != b->dtype &&
        !(is_complex && hk_dtype_promote(a->dtype, b->dtype, &call->out_dtype[0])))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "b is %s, a is %s; hk_cast converts",
                               hk_dtype_name(b->dtype), hk_dtype_name(a->dtype));
    int64_t k = a->shape.dims[a_ndim - 1], b_k = b->shape.dims[b_ndim > 1 ? b_ndim - 2 : 0];
    if (k != b_k)
        return refuse_sizes(call, k, b_k);
    hki_product_geometry geometry;
    if (!hki_product_geometry_init(&geometry, a_ndim, a->shape.dims, a->strides, b_ndim,
                                   b->shape.dims, b->strides))
        return refuse_shapes(call, "the axes before the last two do not broadcast");
    hk_dims *out = &call->out_shape[0];
    out->ndim = 0;
    for (int i = 0; i < geometry.batch_ndim; i++)
        out->dims[out->ndim++] = geometry.batch[i];
    if (a_ndim > 1)
        out->dims[out->ndim++] = geometry.m;
    if (b_ndim > 1)
        out->dims[out->ndim++] = geometry.n;
    return true;
}

/* Whether the rows of a lie along its columns: a transposed matrix, or one that is broadcast. Gradients of weights are such
 * products; what they sum over are samples (see matmul_batch). */
static bool sums_samples(const hki_product_geometry *geometry)
{
    return geometry->a_column_stride != 1 || geometry->a_row_stride == 1;
}

/* Two vectors whose elements lie side by side, and are worth being cut: dot products of parts are added in their order. */
static bool is_dot(const hki_shape_view *a, const hki_shape_view *b)
{
    return a->shape.ndim == 1 && b->shape.ndim == 1 && a->size >= HKI_REDUCE_PART &&
           a->strides[0] == 1 && b->strides[0] == 1 && hki_reduce_has_products(a->dtype);
}

static void matmul_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *a = call->inputs[0], *b = call->inputs[1];
    hki_product_geometry geometry;
    hki_product_geometry_init(&geometry, a->shape.ndim, a->shape.dims, a->strides, b->shape.ndim,
                              b->shape.dims, b->strides);
    hki_matrix_tiles tiles = hki_matrix_tiles_of(geometry.m, geometry.n, geometry.k, a->dtype);
    plan->extent = geometry.batch_count * tiles.row_count * tiles.column_count;
    if (geometry.batch_count == 1 &&
        hki_matrix_is_brief(geometry.m, geometry.n, geometry.k, a->dtype))
        plan->max_pieces = 1;
    else if (!is_dot(a, b))
        plan->max_pieces = hki_plan_pieces_for(call);
    plan->work_ns = (double)geometry.batch_count *
                    hki_matrix_work_ns(geometry.m, geometry.n, geometry.k, a->dtype);
    plan->flops = 2 * (double)geometry.batch_count * (double)geometry.m * (double)geometry.n *
                  (double)geometry.k;
    if (is_dot(a, b)) {
        plan->extent = geometry.k;
        plan->grain = HKI_REDUCE_PART;
        plan->work_ns = 0.25 * (double)geometry.k;
        plan->partial_bytes = sizeof(hki_reduce_word);
    }
}

static void dot_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *a = &call->in[0], *b = &call->in[1];
    const int64_t from = begin * (int64_t)hk_dtype_bytes(a->dtype);
    *(hki_reduce_word *)hki_partials_of(call, piece) = hki_reduce_products(
        a->dtype, (const char *)a->data + from, (const char *)b->data + from, end - begin);
}

static void matmul_join(const hki_kernel_call *call)
{
    const hk_dtype dtype = call->out[0].dtype;
    hki_reduce_word *sum = (hki_reduce_word *)(void *)call->partials;
    void *out = call->out[0].data;
    for (int64_t piece = 1; sum && piece < call->piece_count; piece++)
        hki_reduce_join(HKI_REDUCE_SUM, dtype, sum,
                        hki_partials_of(call, call->first_piece + piece), 1);
    if (sum && dtype == HK_F32)
        *(float *)out = (float)sum->f;
    else if (sum && dtype == HK_I32)
        *(int32_t *)out = (int32_t)sum->i;
    else if (sum)
        *(hki_reduce_word *)out = *sum;
}

static void matmul_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *a = &call->in[0], *b = &call->in[1], *c = &call->out[0];
    if (call->partial_bytes) {
        dot_cpu(call, piece, begin, end);
        return;
    }
    const int64_t item = (int64_t)hk_dtype_bytes(a->dtype);
    const int64_t out_item = (int64_t)hk_dtype_bytes(c->dtype);
    hki_product_geometry geometry;
    hki_product_geometry_init(&geometry, a->ndim, a->dims, a->strides, b->ndim, b->dims,
                              b->strides);
    const int64_t m = geometry.m, n = geometry.n, k = geometry.k;
    const hki_matrix_tiles tiles = hki_matrix_tiles_of(m, n, k, a->dtype);
    const int64_t tile_count = tiles.row_count * tiles.column_count;
    const bool by_samples = sums_samples(&geometry);
    const bool converts = hki_dtype_is_half(a->dtype); /* tile by tile, which bounds the copies */

    for (int64_t index = begin; index < end;) {
        int64_t entry = index / tile_count, at = index % tile_count;
        int64_t a_offset = hki_batch_offset(&geometry, geometry.a_batch_strides, entry);
        int64_t b_offset = hki_batch_offset(&geometry, geometry.b_batch_strides, entry);
        const int64_t first = at;
        hki_matrix_tile tile = hki_matrix_tiles_join(
            &tiles, m, n, &at, hki_min(tile_count, at + (converts ? 1 : end - index)));
        index += at - first;
        hki_matrix left = {(const char *)a->data + a_offset * item, m, k, geometry.a_row_stride,
                           geometry.a_column_stride};
        hki_matrix right = {(const char *)b->data + b_offset * item, k, n, geometry.b_row_stride,
                            geometry.b_column_stride};
        char *out = (char *)c->data + ((entry * m + tile.row) * n + tile.column) * out_item;
        left = hki_matrix_block(left, a->dtype, tile.row, tile.rows, 0, k);
        right = hki_matrix_block(right, a->dtype, 0, k, tile.column, tile.columns);
        if (!hki_matrix_product(call, piece, a->dtype, left, right,
                                (hki_matrix_how){.by_samples = by_samples}, out, n))
            return;
    }
}

/* ---- gradient ------------------------------------------------------------------------------------------ */

/* A view of x with an axis of size 1 at `axis`, or without it. */
static hk_array *with_axis(hk_array *x, int axis, bool insert)
{
    hk_dims shape = {0};
    int64_t strides[HK_MAX_NDIM] = {0};
    if (x->failed)
        return x;
    for (int i = 0; i < x->shape.ndim + insert; i++) {
        if (i == axis && !insert)
            continue;
        bool added = i == axis;
        int from = insert && i > axis ? i - 1 : i;
        shape.dims[shape.ndim] = added ? 1 : x->shape.dims[from];
        strides[shape.ndim++] = added ? 0 : x->strides[from];
    }
    return hki_array_view(x, shape, strides, x->offset);
}

/* A view with the last two axes swapped. */
static hk_array *swapped(hk_array *x)
{
    if (x->failed)
        return x;
    hk_dims shape = x->shape;
    int64_t strides[HK_MAX_NDIM];
    const int last = shape.ndim - 1;
    for (int i = 0; i <= last; i++)
        strides[i] = x->strides[i];
    shape.dims[last] = x->shape.dims[last - 1];
    shape.dims[last - 1] = x->shape.dims[last];
    strides[last] = x->strides[last - 1];
    strides[last - 1] = x->strides[last];
    return hki_array_view(x, shape, strides, x->offset);
}

static hk_array *cast(hk_array *x, hk_dtype dtype)
{
    return x->failed || x->dtype == dtype
               ? x
               : hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){.dtype = dtype});
}

/* Whether a b is nothing but a product that has the gradient's shape and dtype. */
static bool is_plain_product(const hk_array *a, const hk_array *b, const hk_array *gradient)
{
    return !a->failed && !b->failed && a->shape.ndim == 2 && b->shape.ndim == 2 &&
           gradient->shape.ndim == 2 && a->shape.dims[0] == gradient->shape.dims[0] &&
           b->shape.dims[1] == gradient->shape.dims[1] && a->dtype == gradient->dtype &&
           b->dtype == gradient->dtype;
}

hk_array *hki_product_gradient(hk_array *a, hk_array *b, const hk_dims *shape, hk_dtype dtype,
                               hk_array *place)
{
    if (hki_dtype_is_half(dtype)) {
        a = cast(a, dtype);
        b = cast(b, dtype);
    }
    if (place && is_plain_product(a, b, place)) {
        hki_op_call_gradient_into(&hki_op_matmul, (hk_array *const[]){a, b}, 2, NULL, place);
        return place;
    }
    hk_array *product = hki_op_call2(&hki_op_matmul, a, b, NULL);
    return hki_gradient_as(hki_op_sum_to_shape(product, shape), dtype);
}

static void matmul_grad(hki_grad_call *call)
{
    hk_array *a = call->inputs[0], *b = call->inputs[1], *dy = call->dy;
    hk_dims a_shape = call->input_shape[0], b_shape = call->input_shape[1];
    const bool a_is_vector = a_shape.ndim == 1, b_is_vector = b_shape.ndim == 1;
    if (a_is_vector) {
        a_shape = (hk_dims){.ndim = 2, .dims = {1, a_shape.dims[0]}};
        dy = with_axis(dy, b_is_vector ? 0 : dy->shape.ndim - 1, true);
    }
    if (b_is_vector) {
        b_shape = (hk_dims){.ndim = 2, .dims = {b_shape.dims[0], 1}};
        dy = with_axis(dy, dy->shape.ndim, true);
    }
    if (call->wanted[0]) {
        b = b_is_vector ? with_axis(b, 1, true) : b;
        hk_array *da = hki_product_gradient(dy, swapped(b), &a_shape, call->input_dtype[0],
                                            a_is_vector ? NULL : call->places[0]);
        call->dx[0] = a_is_vector ? with_axis(da, 0, false) : da;
    }
    if (call->wanted[1]) {
        a = a_is_vector ? with_axis(a, 0, true) : a;
        hk_array *db = hki_product_gradient(swapped(a), dy, &b_shape, call->input_dtype[1],
                                            b_is_vector ? NULL : call->places[1]);
        call->dx[1] = b_is_vector ? with_axis(db, 1, false) : db;
    }
}

/* Rows times a matrix, or the sum over samples of columns times rows. */
static hki_batch_kind matmul_batch(hki_batch *batch)
{
    const hki_shape_view *a = batch->in[0], *b = batch->in[1];
    if (a->shape.ndim != 2 || b->shape.ndim != 2)
        return HKI_BATCH_NONE;
    if (a->strides[1] == 1)
        return hki_batch_first(batch);
    batch->last = 1;
    batch->first = 2;
    return HKI_BATCH_SUM;
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

/* The element of C-order x at the batch entry of `out`, broadcast, at row and column. */
static double element_of(const hk_dims *shape, const double *x, const hk_dims *out, int out_batch,
                         int64_t entry, int64_t row, int64_t column, bool vector_is_row)
{
    hk_dims full = *shape;
    if (full.ndim == 1) {
        full.ndim = 2;
        full.dims[1] = vector_is_row ? full.dims[0] : 1;
        full.dims[0] = vector_is_row ? 1 : full.dims[0];
    }
    int64_t index = 0, scale = full.dims[full.ndim - 2] * full.dims[full.ndim - 1];
    for (int i = 0; i < out_batch; i++) {
        int axis = full.ndim - 3 - i;
        int64_t size = out->dims[out_batch - 1 - i], at = entry % size;
        entry /= size;
        if (axis < 0)
            continue;
        index += (full.dims[axis] == 1 ? 0 : at) * scale;
        scale *= full.dims[axis];
    }
    return x[index + row * full.dims[full.ndim - 1] + column];
}

static void matmul_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *a = &call->inputs[0]->shape, *b = &call->inputs[1]->shape;
    const hk_dims *c = &call->out_shape[0];
    const int64_t m = a->ndim > 1 ? a->dims[a->ndim - 2] : 1, k = a->dims[a->ndim - 1];
    const int64_t n = b->ndim > 1 ? b->dims[b->ndim - 1] : 1;
    const int batch = c->ndim - (a->ndim > 1) - (b->ndim > 1);
    int64_t entries = 1;
    for (int i = 0; i < batch; i++)
        entries *= c->dims[i];
    for (int64_t entry = 0; entry < entries; entry++) {
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += element_of(a, in[0], c, batch, entry, i, l, true) *
                           element_of(b, in[1], c, batch, entry, l, j, false);
                out[0][(entry * m + i) * n + j] = sum;
            }
        }
    }
}

static const hki_sample matmul_samples[] = {
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(4, 5)}},
    {.inputs = {HKI_SHAPE(1, 1), HKI_SHAPE(1, 1)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 6), HKI_SHAPE(6, 7)}},
    {.kind = HKI_SAMPLE_ALIASED, .inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(4, 4)}},
    {.inputs = {HKI_SHAPE(0, 4), HKI_SHAPE(4, 5)}},
    {.inputs = {HKI_SHAPE(3, 0), HKI_SHAPE(0, 5)}},
    {.inputs = {HKI_SHAPE(4), HKI_SHAPE(4)}},
    {.inputs = {HKI_SHAPE(4), HKI_SHAPE(4, 3)}},
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(4)}},
    {.inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 4, 5)}},
    {.inputs = {HKI_SHAPE(3, 1, 2, 4), HKI_SHAPE(2, 4, 3)}},
    {.inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(4, 2)}},
    {.inputs = {HKI_SHAPE(4), HKI_SHAPE(2, 4, 3)}},
    {.inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(4)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 4, 5)}},
    {.inputs = {HKI_SHAPE(0, 3, 4), HKI_SHAPE(4, 2)}},
};

const hk_op hki_op_matmul = {
    HKI_OP_NAMED(matmul),
    HKI_OP_SAMPLES(matmul_samples),
    .signature = "a, b",
    .doc =
        "Matrix product of a (m,k) and b (k,n): (m,n), of their dtype; halves are summed in "
        "float32, which "
        "is the result's dtype, and give gradients of their own dtype, computed from dy rounded to "
        "it. "
        "Further axes in front are "
        "batches of matrices, which broadcast. A vector is a row on the left and a column on the "
        "right, and its axis of size 1 is not in the result: (k) times (k,n) is (n), (k) times (k) "
        "a scalar. Transposed views are read in place. Integers wrap around.",
    .formula = "y[i,j] = sum over l of a[i,l] * b[l,j]",
    .dtypes = HKI_REALS | 1u << HK_I32 | 1u << HK_I64,
    .gpu_dtypes = HKI_REALS | 1u << HK_I32 | 1u << HK_I64,
    .infer = hki_matmul_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = matmul_plan,
    .batch = matmul_batch,
    .fuse = HKI_FUSE_PRODUCT,
    .kernel = {[HKI_CPU] = matmul_cpu},
    .join = matmul_join,
    .grad = matmul_grad,
    .grad_reads = {2, 1},
    .reference = matmul_reference,
    .tolerance_f32 = 1e-5,
};
