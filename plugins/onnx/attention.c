#include "attention.h"
#include "compute.h"

#include <inttypes.h>
#include <math.h>

/* ---- attention ------------------------------------------------------------------------------- */

bool onnx_attention_fits(onnx_call *call, const onnx_attention *self)
{
    const hk_dims q = hk_dims_get(self->q), k = hk_dims_get(self->k), v = hk_dims_get(self->v);
    if (q.ndim != 4 || k.ndim != 4 || v.ndim != 4)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "Q has %d axes, K %d and V %d; they must have 4, or 3 with numbers of "
                           "heads",
                           q.ndim, k.ndim, v.ndim);
    if (k.dims[0] != q.dims[0] || v.dims[0] != q.dims[0] || k.dims[1] != v.dims[1] ||
        k.dims[2] != v.dims[2] || k.dims[3] != q.dims[3] || k.dims[1] < 1 ||
        q.dims[1] % k.dims[1] || q.dims[3] < 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "Q is (%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "), K (%" PRId64
                           ", %" PRId64 ", %" PRId64 ", %" PRId64 ") and V (%" PRId64 ", %" PRId64
                           ", %" PRId64 ", %" PRId64 ")",
                           q.dims[0], q.dims[1], q.dims[2], q.dims[3], k.dims[0], k.dims[1],
                           k.dims[2], k.dims[3], v.dims[0], v.dims[1], v.dims[2], v.dims[3]);
    if (!(self->scale >= 0) || !(self->cap >= 0))
        return onnx_refuse(call, HK_OUT_OF_RANGE,
                           "scale is %g and softcap %g, but neither may be negative", self->scale,
                           self->cap);
    return true;
}

/* Numbers to be added, -inf where a key is not seen; or bool, where there are no numbers; or
 * NULL. */
static hk_array *mask_of(const onnx_attention *self)
{
    if (!self->bias || !self->seen)
        return self->bias ? onnx_to(self->bias, self->dtype) : self->seen;
    hk_array *bias = onnx_to(self->bias, self->dtype);
    return hk_where(self->seen, bias, onnx_number_like(-INFINITY, bias));
}

static hk_array *give_scores(onnx_attention *self, onnx_scores which, hk_array *x)
{
    if (self->wanted == which)
        self->scores = x;
    return x;
}

/* Softmax where rows without any key are 0. */
static hk_array *guarded_softmax(hk_array *scores, hk_array *bias)
{
    hk_array *y = hk_softmax(scores, -1);
    if (!bias || hk_dim(bias, -1) == 0)
        return y;
    const hk_max_options last = {.axes = hk_shape(-1), .keepdims = true};
    hk_array *hidden = hk_equal(hk_max(bias, &last), onnx_number_like(-INFINITY, bias));
    return hk_where(hidden, onnx_number_like(0, y), y);
}

/* One after the other, for what the operator does not do. */
static hk_array *attend_plainly(onnx_attention *self, hk_array *q, hk_array *k, hk_array *v)
{
    hk_array *root = onnx_number_like(sqrt(self->scale), q);
    hk_array *scores = hk_matmul(hk_multiply(q, root), hk_swapaxes(hk_multiply(k, root), -1, -2));
    scores = give_scores(self, ONNX_SCORES_PLAIN, scores);
    if (self->cap > 0) {
        hk_array *cap = onnx_number_like(self->cap, scores);
        scores = hk_multiply(hk_tanh(hk_divide(scores, cap)), cap);
    }
    scores = give_scores(self, ONNX_SCORES_CAPPED, scores);
    hk_array *mask = mask_of(self);
    if (mask && hk_array_dtype(mask) == HK_BOOL)
        mask = hk_where(mask, onnx_number_like(0, scores), onnx_number_like(-INFINITY, scores));
    scores = mask ? hk_add(scores, mask) : scores;
    scores = give_scores(self, ONNX_SCORES_BIASED, scores);
    scores = give_scores(self, ONNX_SCORES_SOFTMAX, guarded_softmax(scores, mask));
    return hk_matmul(scores, v);
}

/* A mask for the queries of `times` heads as queries of one: (…, heads, times l, s). l: of one
 * head. */
static hk_array *mask_of_groups(hk_array *mask, int64_t key_heads, int64_t times, int64_t l)
{
    const hk_dims from = hk_dims_get(mask);
    hk_dims all = {.ndim = 5, .dims = {1, 1, 1, 1, 1}}; /* (n, heads, times, l, s) */
    if (from.ndim > 4)
        return mask; /* which is refused */
    for (int i = 0; i < from.ndim; i++) {
        const int axis = 4 - from.ndim + i;
        all.dims[axis < 2 ? axis : axis + 1] = from.dims[i];
    }
    if (all.dims[1] > 1) {
        all.dims[1] = key_heads;
        all.dims[2] = times;
    }
    mask = hk_reshape(mask, all);
    if (all.dims[2] > 1 || all.dims[3] > 1) {
        all.dims[2] = times;
        all.dims[3] = l;
        mask = hk_broadcast_to(mask, all);
    }
    return hk_reshape(mask,
                      hk_shape(all.dims[0], all.dims[1], all.dims[2] * all.dims[3], all.dims[4]));
}

/* Heads that share keys are queries of one head: keys are not copied. */
static hk_array *attend_in_groups(onnx_attention *self, hk_array *q, hk_array *k, hk_array *v,
                                  int64_t times)
{
    const hk_dims shape = hk_dims_get(q);
    const int64_t l = shape.dims[2], key_heads = hk_dim(k, 1);
    hk_array *mask = mask_of(self);
    q = hk_reshape(q, hk_shape(shape.dims[0], key_heads, times * l, shape.dims[3]));
    hk_array *y = hk_scaled_dot_product_attention(
        q, k, v, mask ? mask_of_groups(mask, key_heads, times, l) : NULL,
        &(hk_scaled_dot_product_attention_options){.scale =
                                                       self->scale == 0 ? HK_ZERO : self->scale});
    return hk_reshape(y, hk_shape(shape.dims[0], shape.dims[1], l, hk_dim(v, 3)));
}

hk_array *onnx_attend(onnx_attention *self)
{
    const int64_t times = hk_dim(self->q, 1) / hk_dim(self->k, 1);
    hk_array *q = onnx_to(self->q, self->dtype), *k = onnx_to(self->k, self->dtype);
    hk_array *v = onnx_to(self->v, self->dtype);
    self->scores = NULL;
    const bool is_plain = self->cap == 0 && self->wanted == ONNX_SCORES_NONE;
    if (is_plain && times > 1 && !self->is_causal)
        return attend_in_groups(self, q, k, v, times);
    if (times != 1) {
        k = hk_repeat(k, times, 1);
        v = hk_repeat(v, times, 1);
    }
    if (!is_plain)
        return attend_plainly(self, q, k, v);
    return hk_scaled_dot_product_attention(
        q, k, v, mask_of(self),
        &(hk_scaled_dot_product_attention_options){
            .causal = self->is_causal, .scale = self->scale == 0 ? HK_ZERO : self->scale});
}

/* ---- what is seen ---------------------------------------------------------------------------- */

hk_array *onnx_integer_like(int64_t number, hk_array *x)
{
    return hk_full(hk_shape(), (double)number, hk_array_dtype(x), hk_array_device(x));
}

hk_array *onnx_seen_both(hk_array *x, hk_array *y)
{
    return !x ? y : !y ? x : hk_logical_and(x, y);
}

hk_array *onnx_seen_near(onnx_call *call, int64_t l, int64_t s, hk_array *offset, int64_t left,
                         int64_t right)
{
    if (left < 0 && right < 0)
        return NULL;
    hk_array *queries = hk_reshape(hk_sequence(0, 1, l, HK_I64, call->device), hk_shape(l, 1));
    hk_array *keys = hk_sequence(0, 1, s, HK_I64, call->device);
    queries = offset ? hk_add(queries, onnx_to(offset, HK_I64)) : queries;
    hk_array *seen = NULL;
    if (right >= 0)
        seen = hk_less_equal(keys, hk_add(queries, onnx_integer_like(right, queries)));
    if (left >= 0)
        seen = onnx_seen_both(
            seen, hk_greater_equal(keys, hk_subtract(queries, onnx_integer_like(left, queries))));
    return seen;
}

hk_array *onnx_seen_first(onnx_call *call, int64_t s, hk_array *counts)
{
    hk_array *keys = hk_sequence(0, 1, s, HK_I64, call->device);
    counts = hk_reshape(onnx_to(counts, HK_I64), hk_shape(hk_size(counts), 1, 1, 1));
    return hk_less(keys, counts);
}

/* ---- heads ----------------------------------------------------------------------------------- */

bool onnx_split_heads(onnx_call *call, const char *name, int64_t heads, hk_array **x)
{
    const hk_dims shape = hk_dims_get(*x);
    if (shape.ndim != 3 || heads < 1 || shape.dims[2] % heads)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "%s has %d axes, the last one of %" PRId64 "; it must have 3, the last "
                           "one a multiple of %" PRId64 " heads",
                           name, shape.ndim, shape.ndim ? shape.dims[shape.ndim - 1] : 0, heads);
    *x = hk_swapaxes(
        hk_reshape(*x, hk_shape(shape.dims[0], shape.dims[1], heads, shape.dims[2] / heads)), 1, 2);
    return true;
}

hk_array *onnx_join_heads(hk_array *x)
{
    const hk_dims shape = hk_dims_get(x);
    return hk_reshape(hk_swapaxes(x, 1, 2),
                      hk_shape(shape.dims[0], shape.dims[2], shape.dims[1] * shape.dims[3]));
}

/* ---- rotation -------------------------------------------------------------------------------- */

hk_array *onnx_rotate(hk_array *x, hk_array *cos, hk_array *sin, int64_t width, bool interleaved)
{
    const hk_dtype dtype = hk_array_dtype(x);
    const int64_t size = hk_dim(x, 3), half = width / 2;
    hk_array *wide = onnx_wide(x), *first, *second;
    cos = hk_expand_dims(onnx_to(cos, hk_array_dtype(wide)), 1);
    sin = hk_expand_dims(onnx_to(sin, hk_array_dtype(wide)), 1);
    if (interleaved) {
        first = hk_slice_step(wide, 3, 0, width, 2);
        second = hk_slice_step(wide, 3, 1, width, 2);
    } else {
        first = hk_slice(wide, 3, 0, half);
        second = hk_slice(wide, 3, half, width);
    }
    hk_array *real = hk_subtract(hk_multiply(cos, first), hk_multiply(sin, second));
    hk_array *imag = hk_add(hk_multiply(sin, first), hk_multiply(cos, second));
    hk_array *turned;
    if (interleaved) {
        turned = hk_stack((hk_array *[]){real, imag}, 2, -1);
        hk_dims shape = hk_dims_get(x);
        shape.dims[3] = width;
        turned = hk_reshape(turned, shape);
    } else {
        turned = hk_concat((hk_array *[]){real, imag}, 2, 3);
    }
    if (width < size)
        turned = hk_concat((hk_array *[]){turned, hk_slice(wide, 3, width, size)}, 2, 3);
    return onnx_to(turned, dtype);
}
