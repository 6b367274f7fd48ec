/* sum_products: of vectors along last axes, in one pass: vecdot, where elements lie side by side. The bytes are those of multiply and sum:
 * reduce_kernel.c has the loops and their order. */
#include "op/reduce/sum_products.h"

#include "op/call/plan.h"
#include "op/reduce/reduce.h"
#include "op/reduce/reduce_samples.h"
#include "op/shape/copy.h"

static int64_t last_size(const hki_tensor *x)
{
    return x->dims[x->ndim - 1];
}

static bool is_line(const hk_array *x)
{
    return x->shape.ndim > 0 && x->strides[x->shape.ndim - 1] == 1;
}

hk_array *hki_sum_products(hk_array *x, hk_array *y)
{
    const hki_sum_options last = {.axes = {.ndim = 1, .dims = {-1}}};
    const bool in_one_pass = !x->failed && !y->failed && is_line(x) && is_line(y) &&
                             x->storage->device == y->storage->device &&
                             x->storage->device->class->kernels == HKI_CPU &&
                             x->dtype == y->dtype && hki_reduce_has_products(x->dtype) &&
                             x->shape.dims[x->shape.ndim - 1] > HKI_REDUCE_SHORT;
    return in_one_pass
               ? hki_op_call2(&hki_op_sum_products, x, y, NULL)
               : hki_op_call1(&hki_op_sum, hki_op_call2(&hki_op_multiply, x, y, NULL), &last);
}

static bool sum_products_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    if (!hki_dims_broadcast(&x->shape, &call->inputs[1]->shape, &call->out_shape[0]))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "x and y do not broadcast");
    call->out_shape[0].ndim--;
    call->out_dtype[0] = hki_sum_dtype(x->dtype);
    return true;
}

/* ---- pieces ------------------------------------------------------------------------------------------ */

/* One vector, whose elements may be samples. */
static bool sums_samples(int out_ndim, hk_dtype dtype)
{
    return out_ndim == 0 && (dtype == HK_F32 || dtype == HK_F64);
}

static void sum_products_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    const int64_t size = x->shape.dims[x->shape.ndim - 1];
    int64_t count = 0;
    hki_dims_size(&call->out_shape[0], &count);
    plan->work_ns = 0.25 * (double)count * (double)size;
    plan->flops = 2 * (double)count * (double)size;
    plan->extent = count;
    if (count >= 64 || size < HKI_REDUCE_PART)
        return;
    plan->partial_bytes = (size_t)count * sizeof(hki_reduce_word);
    plan->extent = size;
    plan->grain = HKI_REDUCE_PART;
    if (sums_samples(call->out_shape[0].ndim, x->dtype))
        hki_reduce_plan_samples(size, plan);
}

/* Where the vectors of result k begin. */
static const char *vector_at(const hki_tensor *x, const hki_tensor *out, int64_t k)
{
    int64_t offset = 0;
    for (int i = out->ndim - 1; i >= 0; i--) {
        const int axis = x->ndim - 1 - (out->ndim - i);
        if (axis >= 0 && x->dims[axis] != 1)
            offset += k % out->dims[i] * x->strides[axis];
        k /= out->dims[i];
    }
    return (const char *)x->data + offset * (int64_t)hk_dtype_bytes(x->dtype);
}

/* Of elements [begin, end) of the vectors of result k. */
static hki_reduce_word word_of(const hki_kernel_call *call, int64_t k, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0], *y = &call->in[1], *out = &call->out[0];
    const int64_t from = begin * (int64_t)hk_dtype_bytes(x->dtype);
    const char *a = vector_at(x, out, k), *b = vector_at(y, out, k);
    if (sums_samples(out->ndim, x->dtype))
        return (hki_reduce_word){
            .f = hki_reduce_samples_products(x->dtype, a, b, last_size(x), begin, end)};
    return hki_reduce_products(x->dtype, a + from, b + from, end - begin);
}

static void store(const hki_tensor *out, int64_t k, hki_reduce_word word)
{
    if (out->dtype == HK_F32)
        ((float *)out->data)[k] = (float)word.f;
    else
        ((hki_reduce_word *)out->data)[k] = word;
}

/* The result is contiguous. */
static void sum_products_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const int64_t size = last_size(&call->in[0]);
    if (!call->partial_bytes) {
        for (int64_t k = begin; k < end; k++)
            store(&call->out[0], k, word_of(call, k, 0, size));
        return;
    }
    if (sums_samples(call->out[0].ndim, call->in[0].dtype)) {
        const hki_sum_cut cut = hki_sum_cut_to(size, call->piece_count);
        hki_sum_piece(&cut, piece - call->first_piece, &begin, &end);
    }
    hki_reduce_word *words = hki_partials_of(call, piece);
    for (int64_t k = 0; k < call->out[0].size; k++)
        words[k] = word_of(call, k, begin, end);
}

static void sum_products_join(const hki_kernel_call *call)
{
    const hki_tensor *x = &call->in[0], *out = &call->out[0];
    hki_reduce_word *words = (hki_reduce_word *)(void *)call->partials;
    if (!call->partial_bytes)
        return;
    if (sums_samples(out->ndim, x->dtype)) {
        const hki_sum_cut cut = hki_sum_cut_to(last_size(x), call->piece_count);
        hki_reduce_samples_join(&cut, x->dtype, 1, words, call->partial_bytes);
    } else {
        for (int64_t piece = 1; piece < call->piece_count; piece++)
            hki_reduce_join(HKI_REDUCE_SUM, x->dtype, words,
                            hki_partials_of(call, call->first_piece + piece), out->size);
    }
    for (int64_t k = 0; k < out->size; k++)
        store(out, k, words[k]);
}

/* ---- gradient, batches ----------------------------------------------------------------------------------- */

static void sum_products_grad(hki_grad_call *call)
{
    hk_array *dy = hki_op_call1(&hki_op_expand_dims, call->dy, &(const int64_t){-1});
    for (int i = 0; i < 2; i++)
        if (call->wanted[i])
            call->dx[i] =
                hki_op_sum_to_shape(hki_op_call2(&hki_op_multiply, dy, call->inputs[1 - i], NULL),
                                    &call->input_shape[i]);
}

/* Vectors are summed over; rows of vectors are each alone, those of an input that is not broadcast. */
static hki_batch_kind sum_products_batch(hki_batch *batch)
{
    const hk_dims *out = &batch->out[0]->shape;
    if (out->ndim == 0) {
        batch->first = 3;
        return sums_samples(0, batch->in[0]->dtype) ? HKI_BATCH_SUM : HKI_BATCH_NONE;
    }
    for (int i = 0; i < 2; i++) {
        const hk_dims *x = &batch->in[i]->shape;
        if (x->ndim == out->ndim + 1 && x->dims[0] == out->dims[0])
            batch->first |= 1u << i;
    }
    return batch->first ? HKI_BATCH_EACH : HKI_BATCH_NONE;
}

const hk_op hki_op_sum_products = {
    HKI_OP_NAMED(sum_products),
    .signature = "x, y",
    .doc = "Sums of x y along the last axis, whose elements lie side by side; the other axes are "
           "broadcast.",
    .dtypes = HKI_FLOATS | HKI_INTEGERS,
    .internal = true,
    .host_only = true,
    .infallible = true,
    .infer = sum_products_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = sum_products_plan,
    .kernel = {[HKI_CPU] = sum_products_cpu},
    .join = sum_products_join,
    .batch = sum_products_batch,
    .grad = sum_products_grad,
    .grad_reads = {1 << 1, 1 << 0},
    .untested = "vecdot, which calls it, tests it",
};
