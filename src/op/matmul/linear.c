/* Affine map: rows of x times the transpose of weight, plus bias. */
#include "op/call/plan.h"
#include "op/call/scratch.h"
#include "op/matmul/matrix.h"
#include "op/matmul/product_kernel.h"
#include "op/reduce/reduce.h"
#include "op/shape/reshape.h"

#include <string.h>

static const hki_shape_view *bias_of(const hki_call *call)
{
    return call->input_count > 2 ? call->inputs[2] : NULL;
}

/* Rows of x: all axes but the last together. */
static int64_t row_count(int ndim, const int64_t *dims)
{
    int64_t rows = 1;
    for (int i = 0; i + 1 < ndim; i++)
        rows *= dims[i];
    return rows;
}

static bool linear_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0], *weight = call->inputs[1], *bias = bias_of(call);
    char text[256];
    if (x->shape.ndim == 0)
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "x is 0-d, but needs an axis or more, the last of them with the inputs");
    for (int i = 1; i < 3; i++) {
        const hki_shape_view *other = i == 1 ? weight : bias;
        hk_dtype wanted = i == 1 ? x->dtype : hki_matrix_result_dtype(x->dtype);
        if (other && other->dtype != wanted)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "%s is %s, but for an x of %s must be %s; hk_cast converts",
                                   i == 1 ? "weight" : "bias", hk_dtype_name(other->dtype),
                                   hk_dtype_name(x->dtype), hk_dtype_name(wanted));
    }
    hki_dims_describe(&weight->shape, text, sizeof text);
    if (weight->shape.ndim != 2)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "weight is %s, but needs 2 axes: outputs, inputs", text);
    const int64_t out = weight->shape.dims[0], in = weight->shape.dims[1];
    const int last = x->shape.ndim - 1;
    if (x->shape.dims[last] != in) {
        char x_text[256];
        hki_dims_describe(&x->shape, x_text, sizeof x_text);
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "the last axis of x %s has size %lld, but weight %s takes %lld inputs%s", x_text,
            (long long)x->shape.dims[last], text, (long long)in,
            last > 1 ? "; hk_reshape flattens the axes of an image" : "");
    }
    if (bias && (bias->shape.ndim != 1 || bias->shape.dims[0] != out)) {
        char bias_text[256];
        hki_dims_describe(&bias->shape, bias_text, sizeof bias_text);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "bias is %s, but must be (%lld,): one for each output of weight %s",
                               bias_text, (long long)out, text);
    }
    call->out_shape[0] = x->shape;
    call->out_shape[0].dims[last] = out;
    call->out_dtype[0] = hki_matrix_result_dtype(x->dtype);
    return true;
}

static void linear_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0], *weight = call->inputs[1];
    const int64_t m = row_count(x->shape.ndim, x->shape.dims);
    const int64_t n = weight->shape.dims[0], k = weight->shape.dims[1];
    hki_matrix_tiles tiles = hki_matrix_tiles_of(m, n, k, x->dtype);
    plan->extent = tiles.row_count * tiles.column_count;
    plan->max_pieces = hki_matrix_is_brief(m, n, k, x->dtype) ? 1 : hki_plan_pieces_for(call);
    plan->work_ns = hki_matrix_work_ns(m, n, k, x->dtype);
    plan->flops = 2 * (double)m * (double)n * (double)k;
}

/* Whether the rows of x lie at one stride from each other. */
static bool rows_are_regular(const hki_tensor *x, int64_t *stride)
{
    bool first = true;
    int64_t expected = 0;
    *stride = 0;
    for (int i = x->ndim - 2; i >= 0; i--) {
        if (x->dims[i] == 1)
            continue;
        if (first)
            *stride = x->strides[i];
        else if (x->strides[i] != expected)
            return false;
        expected = x->strides[i] * x->dims[i];
        first = false;
    }
    return true;
}

/* Copies rows of x, one after another, into `to`. */
static void gather_rows(const hki_tensor *x, size_t item, int64_t row, int64_t rows, char *to)
{
    const int64_t columns = x->dims[x->ndim - 1], step = x->strides[x->ndim - 1] * (int64_t)item;
    for (int64_t i = row; i < row + rows; i++) {
        int64_t offset = 0, rest = i;
        for (int axis = x->ndim - 2; axis >= 0; axis--) {
            offset += rest % x->dims[axis] * x->strides[axis];
            rest /= x->dims[axis];
        }
        const char *from = (const char *)x->data + offset * (int64_t)item;
        for (int64_t j = 0; j < columns; j++, to += item)
            memcpy(to, from + j * step, item);
    }
}

/* The weights as a product has them; k 0: they are read as they lie. */
static hki_product packing(const hki_kernel_call *call)
{
    const hki_tensor *x = &call->in[0], *weight = &call->in[1];
    const bool packs = (x->dtype == HK_F32 || x->dtype == HK_F64) && weight->strides[1] == 1 &&
                       weight->strides[0] >= weight->dims[1] && weight->dims[0] > 1;
    return (hki_product){.f64 = x->dtype == HK_F64,
                         .trans_b = true,
                         .m = 1,
                         .n = weight->dims[0],
                         .k = packs ? weight->dims[1] : 0,
                         .b = weight->data,
                         .ldb = weight->strides[0]};
}

/* Of one row, packed, so many outputs are a unit. */
enum { ROW_UNIT = 4 * HKI_PRODUCT_PANEL };

static bool is_row(const hki_kernel_call *call)
{
    return row_count(call->in[0].ndim, call->in[0].dims) == 1;
}

static size_t linear_packed_bytes(const hki_kernel_call *call, int64_t *extent)
{
    const hki_product product = packing(call);
    if (is_row(call))
        *extent = (product.n - 1) / ROW_UNIT + 1;
    return hki_product_packed_bytes(&product);
}

static void linear_pack(const hki_kernel_call *call, void *packed)
{
    const hki_product product = packing(call);
    hki_product_pack(&product, packed);
}

/* One row of x, by packed weights. */
static void row_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0], *bias = &call->in[2];
    const size_t item = hk_dtype_bytes(x->dtype);
    const int64_t n = call->in[1].dims[0], k = call->in[1].dims[1], first = begin * ROW_UNIT;
    const int64_t count = (end * ROW_UNIT < n ? end * ROW_UNIT : n) - first;
    const hki_matrix left = {x->data, 1, k, k, x->strides[x->ndim - 1]};
    const hki_matrix right = {call->in[1].data, k, count, 1, k};
    hki_matrix_how how = {.packed = call->packed, .packed_columns = n, .packed_first = first};
    if (bias->ndim >= 0)
        how.bias = (hki_matrix_bias){
            (const char *)bias->data + first * bias->strides[0] * (int64_t)item, bias->strides[0]};
    hki_matrix_product(call, piece, x->dtype, left, right, how,
                       (char *)call->out[0].data + (size_t)first * item, n);
}

static void linear_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    if (call->packed && is_row(call)) {
        row_cpu(call, piece, begin, end);
        return;
    }
    const hki_tensor *x = &call->in[0], *weight = &call->in[1], *bias = &call->in[2];
    const size_t item = hk_dtype_bytes(x->dtype);
    const int64_t out_item = (int64_t)hk_dtype_bytes(call->out[0].dtype);
    const int64_t m = row_count(x->ndim, x->dims), n = weight->dims[0], k = weight->dims[1];
    const hki_matrix_tiles tiles = hki_matrix_tiles_of(m, n, k, x->dtype);
    const hki_matrix transposed = {weight->data, k, n, weight->strides[1], weight->strides[0]};
    const size_t gathered_bytes = (size_t)tiles.rows * (size_t)k * item;
    hki_matrix all = {x->data, m, k, 0, x->strides[x->ndim - 1]};
    const bool converts = hki_dtype_is_half(x->dtype); /* tile by tile, which bounds the copies */
    char *gathered = NULL;

    if (!rows_are_regular(x, &all.row_stride) && gathered_bytes) {
        gathered = hki_scratch_allocate(call, piece, gathered_bytes);
        if (!gathered)
            return;
    }
    for (int64_t index = begin; index < end;) {
        hki_matrix_tile tile =
            hki_matrix_tiles_join(&tiles, m, n, &index, gathered || converts ? index + 1 : end);
        hki_matrix left = {gathered, tile.rows, k, k, 1};
        char *y = (char *)call->out[0].data + (tile.row * n + tile.column) * out_item;
        if (gathered)
            gather_rows(x, item, tile.row, tile.rows, gathered);
        else
            left = hki_matrix_block(all, x->dtype, tile.row, tile.rows, 0, k);
        hki_matrix right = hki_matrix_block(transposed, x->dtype, 0, k, tile.column, tile.columns);
        hki_matrix_bias added = {NULL, 0};
        if (bias->ndim >= 0)
            added = (hki_matrix_bias){(const char *)bias->data +
                                          tile.column * bias->strides[0] * out_item,
                                      bias->strides[0]};
        const hki_matrix_how how = {.bias = added,
                                    .packed = call->packed,
                                    .packed_columns = n,
                                    .packed_first = tile.column};
        if (!hki_matrix_product(call, piece, x->dtype, left, right, how, y, n))
            break;
    }
    if (gathered)
        hki_scratch_release(call, gathered, gathered_bytes);
}

/* ---- gradient ------------------------------------------------------------------------------------------ */

static hk_array *reshaped(hk_array *x, hk_dims shape)
{
    return hki_op_call1(&hki_op_reshape, x, &(const hki_reshape_options){.shape = shape});
}

static hk_array *as_matrix(hk_array *x)
{
    const int ndim = x->shape.ndim;
    if (x->failed || ndim == 2)
        return x;
    return reshaped(
        x, (hk_dims){.ndim = 2, .dims = {row_count(ndim, x->shape.dims), x->shape.dims[ndim - 1]}});
}

static void linear_grad(hki_grad_call *call)
{
    const hk_dims *x_shape = &call->input_shape[0];
    hk_array *dy = as_matrix(call->dy);
    if (call->wanted[0]) {
        const hk_dims rows = {
            .ndim = 2,
            .dims = {row_count(x_shape->ndim, x_shape->dims), x_shape->dims[x_shape->ndim - 1]}};
        hk_array *dx = hki_product_gradient(dy, call->inputs[1], &rows, call->input_dtype[0],
                                            x_shape->ndim == 2 ? call->places[0] : NULL);
        call->dx[0] = x_shape->ndim == 2 ? dx : reshaped(dx, *x_shape);
    }
    if (call->wanted[1])
        call->dx[1] =
            hki_product_gradient((hk_transpose)(dy), as_matrix(call->inputs[0]),
                                 &call->input_shape[1], call->input_dtype[1], call->places[1]);
    if (call->wanted[2])
        call->dx[2] = hki_op_call1(&hki_op_sum, dy, &(const hki_sum_options){.axes = HKI_SHAPE(0)});
}

/* Rows that are no matrix may lie along several axes. */
static hki_batch_kind linear_batch(hki_batch *batch)
{
    return batch->in[0]->shape.ndim >= 2 ? hki_batch_first(batch) : HKI_BATCH_NONE;
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

static void linear_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *weight = &call->inputs[1]->shape;
    const int64_t outputs = weight->dims[0], inputs = weight->dims[1];
    int64_t size = 0;
    hki_dims_size(&call->out_shape[0], &size);
    for (int64_t i = 0; i < size; i++) {
        int64_t row = i / outputs, column = i % outputs;
        double sum = bias_of(call) ? in[2][column] : 0;
        for (int64_t l = 0; l < inputs; l++)
            sum += in[0][row * inputs + l] * in[1][column * inputs + l];
        out[0][i] = sum;
    }
}

static const hki_sample linear_samples[] = {
    {.inputs = {HKI_SHAPE(5, 3), HKI_SHAPE(4, 3), HKI_SHAPE(4)}},
    {.inputs = {HKI_SHAPE(5, 3), HKI_SHAPE(4, 3), HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(3), HKI_SHAPE(4, 3), HKI_SHAPE(4)}},
    {.inputs = {HKI_SHAPE(2, 5, 3), HKI_SHAPE(1, 3), HKI_SHAPE(1)}},
    {.inputs = {HKI_SHAPE(0, 3), HKI_SHAPE(4, 3), HKI_SHAPE(4)}},
    {.inputs = {HKI_SHAPE(2, 0), HKI_SHAPE(4, 0), HKI_SHAPE(4)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 3), HKI_SHAPE(4, 3), HKI_SHAPE(4)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(5, 4), HKI_SHAPE(5)}},
    {.kind = HKI_SAMPLE_ALIASED, .inputs = {HKI_SHAPE(4, 4), HKI_SHAPE(4, 4), HKI_SHAPE_NONE}},
};

const hk_op hki_op_linear = {
    HKI_OP_NAMED(linear),
    HKI_OP_SAMPLES(linear_samples),
    .signature = "x, weight, bias?",
    .doc = "Fully connected layer: x (...,inputs) times the transpose of weight (outputs,inputs), "
           "plus "
           "bias (outputs): (...,outputs), of the dtype of all three. Of halves x and weight, bias "
           "and result "
           "are float32; see matmul.",
    .formula = "y = x weight^T + bias",
    .dtypes = HKI_REALS,
    .gpu_dtypes = HKI_REALS,
    .infer = linear_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = linear_plan,
    .packed_inputs = 1 << 1,
    .packed_bytes = linear_packed_bytes,
    .pack = linear_pack,
    .batch = linear_batch,
    .fuse = HKI_FUSE_LAYER,
    .kernel = {[HKI_CPU] = linear_cpu},
    .grad = linear_grad,
    .grad_reads = {2, 1, 0},
    .reference = linear_reference,
    .tolerance_f32 = 1e-5,
};
