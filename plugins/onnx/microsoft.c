/* Attention as exporters for one runtime write it: operators of the domain com.microsoft. */
#include "attention.h"
#include "compute.h"

#include <inttypes.h>
#include <math.h>

/* ---- common ---------------------------------------------------------------------------------- */

static hk_dtype compute_dtype(hk_array *x)
{
    return hk_array_dtype(x) == HK_F64 ? HK_F64 : HK_F32;
}

static double read_scale(onnx_call *call, hk_array *q)
{
    const double scale = onnx_float(call, "scale", 0);
    return scale == 0 ? 1 / sqrt((double)hk_dim(q, 3)) : scale;
}

/* What is not done, where an attribute is set. */
static bool refuses(onnx_call *call, const char *name)
{
    const int64_t value = onnx_int(call, name, 0);
    return value == 0 ||
           onnx_refuse(call, HK_UNSUPPORTED, "%s is %" PRId64 "; only 0 is known", name, value);
}

static bool refuses_input(onnx_call *call, int index, const char *name)
{
    return !onnx_has(call, index) ||
           onnx_refuse(call, HK_UNSUPPORTED, "the input %s, which is not known", name);
}

/* A mask of keys: (n) how many there are, or numbers that are not 0 where a key counts, (n, s)
 * or (n, l, s). Others are given mask_filter_value, to which bias is added. */
static bool read_key_mask(onnx_call *call, onnx_attention *self, int index)
{
    hk_array *mask = onnx_in(call, index), *seen;
    if (!mask)
        return true;
    const hk_dims shape = hk_dims_get(mask);
    const int64_t n = hk_dim(self->q, 0), l = hk_dim(self->q, 2), s = hk_dim(self->k, 2);
    if (shape.ndim == 1 && shape.dims[0] == n) {
        seen = onnx_seen_first(call, s, mask);
    } else if ((shape.ndim == 2 && shape.dims[0] == n && shape.dims[1] == s) ||
               (shape.ndim == 3 && shape.dims[0] == n && shape.dims[1] == l &&
                shape.dims[2] == s)) {
        seen = hk_not_equal(mask, onnx_number_like(0, mask));
        seen = hk_reshape(seen, shape.ndim == 2 ? hk_shape(n, 1, 1, s) : hk_shape(n, 1, l, s));
    } else {
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "a mask of %d axes, the first of %" PRId64 "; known are (%" PRId64
                           "), (%" PRId64 ", %" PRId64 ") and (%" PRId64 ", %" PRId64 ", %" PRId64
                           ")",
                           shape.ndim, shape.dims[0], n, n, s, n, l, s);
    }
    const double filter = onnx_float(call, "mask_filter_value", -10000);
    hk_array *zero = hk_full(hk_shape(), 0, self->dtype, call->device);
    hk_array *bias = hk_where(seen, zero, onnx_number_like(filter, zero));
    self->bias = self->bias ? hk_add(onnx_to(self->bias, self->dtype), bias) : bias;
    return true;
}

/* unidirectional: queries are the last of the keys. */
static void see_before(onnx_call *call, onnx_attention *self)
{
    const int64_t l = hk_dim(self->q, 2), s = hk_dim(self->k, 2);
    if (!onnx_int(call, "unidirectional", 0))
        return;
    if (l == s && !self->bias) {
        self->is_causal = true;
        return;
    }
    hk_array *offset = hk_full(hk_shape(), (double)(s - l), HK_I64, call->device);
    self->seen = onnx_seen_near(call, l, s, offset, -1, 0);
}

static bool give(onnx_call *call, onnx_attention *self, hk_dtype dtype)
{
    self->wanted = ONNX_SCORES_NONE;
    return onnx_attention_fits(call, self) &&
           onnx_out(call, 0, onnx_to(onnx_join_heads(onnx_attend(self)), dtype));
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* How wide queries, keys and values are. */
static bool read_widths(onnx_call *call, hk_array *weights, int64_t *widths)
{
    const int count = onnx_ints(call, "qkv_hidden_sizes", widths, 3);
    const int64_t all = hk_dim(weights, 1);
    if (count == -2)
        return false;
    if (count < 1)
        widths[0] = widths[1] = widths[2] = all / 3;
    bool fits = count < 1 || count == 3;
    for (int i = 0; i < 3; i++)
        fits = fits && widths[i] >= 1 && widths[i] <= all;
    return (fits && widths[0] == widths[1] && widths[0] + widths[1] + widths[2] == all) ||
           onnx_refuse(call, HK_INVALID_ARGUMENT,
                       "weights have %" PRId64 " columns, which are not queries, keys and values",
                       all);
}

/* past is (2, n, heads, before, d): keys and values. */
static bool join_past(onnx_call *call, onnx_attention *self)
{
    hk_array *past = onnx_in(call, 4);
    if (past) {
        if (hk_ndim(past) != 5 || hk_dim(past, 0) != 2)
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "past must be (2, n, heads, before, d)");
        self->k = hk_concat((hk_array *[]){hk_index(past, 0, 0), self->k}, 2, 2);
        self->v = hk_concat((hk_array *[]){hk_index(past, 0, 1), self->v}, 2, 2);
    }
    return !onnx_wants(call, 1) ||
           onnx_out(call, 1, hk_stack((hk_array *[]){self->k, self->v}, 2, 0));
}

bool onnx_run_ms_attention(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *weights = onnx_in(call, 1), *bias = onnx_in(call, 2);
    int64_t widths[3], begin = 0;
    hk_array *parts[3];
    if (!onnx_needs_floats(call, x, "input", 3) ||
        !onnx_needs_floats(call, weights, "weights", 2) || !refuses(call, "do_rotary") ||
        !refuses(call, "past_present_share_buffer") ||
        !refuses_input(call, 6, "past_sequence_length"))
        return false;
    if (hk_ndim(x) != 3 || hk_ndim(weights) != 2)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "input must have 3 axes, and weights 2");
    if (!read_widths(call, weights, widths))
        return false;
    const hk_dtype dtype = hk_array_dtype(x);
    hk_array *all = onnx_to(hk_matmul(x, weights), dtype);
    all = bias ? hk_add(all, bias) : all;
    for (int i = 0; i < 3; begin += widths[i++]) {
        parts[i] = hk_slice(all, 2, begin, begin + widths[i]);
        if (!onnx_split_heads(call, "input times weights", onnx_int(call, "num_heads", 0),
                              &parts[i]))
            return false;
    }
    onnx_attention self = {.q = parts[0],
                           .k = parts[1],
                           .v = parts[2],
                           .bias = onnx_in(call, 5),
                           .dtype = compute_dtype(x)};
    self.scale = read_scale(call, self.q);
    if (!join_past(call, &self) || !read_key_mask(call, &self, 3))
        return false;
    see_before(call, &self);
    return give(call, &self, dtype);
}

/* ---- MultiHeadAttention ---------------------------------------------------------------------- */

/* Part `index` of `count` of x (n, l, heads, count, d), as (n, heads, l, d). */
static hk_array *unpacked(hk_array *x, int64_t index)
{
    return hk_swapaxes(hk_index(x, 3, index), 1, 2);
}

/* Queries, keys or values of one input, (n, l, heads d), or with the heads as second axis; with
 * their part of the bias. */
static bool read_part(onnx_call *call, int index, const char *name, int64_t heads, int64_t *begin,
                      hk_array **part)
{
    hk_array *x = onnx_in(call, index), *bias = onnx_in(call, 3);
    if (!onnx_needs_floats(call, x, name, 3))
        return false;
    *part = x;
    if (hk_ndim(x) == 4)
        return true;
    if (bias && hk_ndim(x) == 3) {
        const int64_t end = *begin + hk_dim(x, 2);
        *part = hk_add(x, hk_slice(bias, 0, *begin, end));
        *begin = end;
    }
    return onnx_split_heads(call, name, heads, part);
}

static bool read_parts(onnx_call *call, onnx_attention *self)
{
    const int64_t heads = onnx_int(call, "num_heads", 0);
    hk_array *x = onnx_in(call, 0), *keys = onnx_in(call, 1);
    int64_t begin = 0;
    if (!onnx_needs_floats(call, x, "query", 3))
        return false;
    const bool is_packed = hk_ndim(x) == 5, has_pairs = keys && hk_ndim(keys) == 5;
    if ((is_packed || has_pairs) && onnx_has(call, 3))
        return onnx_refuse(call, HK_UNSUPPORTED, "a bias of inputs that are packed");
    if (is_packed) {
        if (hk_dim(x, 3) != 3)
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "query must be (n, l, heads, 3, d)");
        self->q = unpacked(x, 0), self->k = unpacked(x, 1), self->v = unpacked(x, 2);
        return true;
    }
    if (!read_part(call, 0, "query", heads, &begin, &self->q))
        return false;
    if (has_pairs) {
        if (hk_dim(keys, 3) != 2)
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "key must be (n, s, heads, 2, d)");
        self->k = unpacked(keys, 0), self->v = unpacked(keys, 1);
        return true;
    }
    return read_part(call, 1, "key", heads, &begin, &self->k) &&
           read_part(call, 2, "value", heads, &begin, &self->v);
}

bool onnx_run_ms_multi_head(onnx_call *call)
{
    onnx_attention self = {.bias = onnx_in(call, 5)};
    hk_array *past_key = onnx_in(call, 6), *past_value = onnx_in(call, 7);
    if (!refuses_input(call, 8, "past_sequence_length") ||
        !refuses_input(call, 9, "cache_indirection") || !read_parts(call, &self))
        return false;
    if (!past_key != !past_value)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "past_key and past_value must be there together");
    if (past_key) {
        self.k = hk_concat((hk_array *[]){past_key, self.k}, 2, 2);
        self.v = hk_concat((hk_array *[]){past_value, self.v}, 2, 2);
    }
    self.dtype = compute_dtype(self.q);
    self.scale = read_scale(call, self.q);
    if (hk_ndim(self.q) != 4 || hk_ndim(self.k) != 4)
        return onnx_attention_fits(call, &self) && false;
    if (!read_key_mask(call, &self, 4))
        return false;
    see_before(call, &self);
    return give(call, &self, hk_array_dtype(self.q)) && onnx_out(call, 1, self.k) &&
           onnx_out(call, 2, self.v);
}

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

/* Rows of a table of angles for places (n or 1, l). */
static hk_array *rows_of(hk_array *table, hk_array *places)
{
    return hk_index_select(table, places, 0);
}

/* position_ids of one number: the first place. */
static hk_array *places_of(onnx_call *call, hk_array *ids, int64_t l)
{
    ids = onnx_to(ids, HK_I64);
    if (hk_ndim(ids) != 1)
        return ids;
    return hk_add(hk_reshape(ids, hk_shape(1, 1)), hk_sequence(0, 1, l, HK_I64, call->device));
}

static bool tables_fit(onnx_call *call, hk_array *cos, hk_array *sin, int64_t size, int64_t *width)
{
    if (!onnx_needs_floats(call, cos, "cos_cache", 2) ||
        !onnx_needs_floats(call, sin, "sin_cache", 2))
        return false;
    *width = 2 * hk_dim(cos, 1);
    return (hk_ndim(cos) == 2 && onnx_same_dims(hk_dims_get(cos), hk_dims_get(sin)) &&
            *width >= 2 && *width <= size) ||
           onnx_refuse(call, HK_INVALID_ARGUMENT,
                       "cos_cache has %" PRId64 " numbers at each place, and heads have %" PRId64,
                       hk_dim(cos, 1), size);
}

bool onnx_run_ms_rotary(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *ids = onnx_in(call, 1);
    hk_array *cos = onnx_in(call, 2), *sin = onnx_in(call, 3);
    int64_t width = 0, heads = onnx_int(call, "num_heads", 0);
    if (!onnx_needs_floats(call, x, "input", 3) || !onnx_needs_floats(call, cos, "cos_cache", 2) ||
        !refuses(call, "is_packed_batching"))
        return false;
    const int64_t said = onnx_int(call, "rotary_embedding_dim", 0);
    const bool is_flat = hk_ndim(x) == 3;
    const int64_t pair = 2 * hk_dim(cos, 1);
    if (is_flat && !heads && !said)
        heads = pair ? hk_dim(x, 2) / pair : 0;
    if (is_flat && !onnx_split_heads(call, "input", heads, &x))
        return false;
    if (!ids || hk_ndim(ids) < 1 || hk_ndim(ids) > 2 || (hk_ndim(ids) == 1 && hk_dim(ids, 0) != 1))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "position_ids must be (1) or (n, l)");
    if (!tables_fit(call, cos, sin, hk_dim(x, 3), &width))
        return false;
    if (hk_ndim(x) != 4 || (said && said != width) || onnx_float(call, "scale", 1) != 1)
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "rotary_embedding_dim is %" PRId64 ", cos_cache has %" PRId64
                           " numbers at each place, and scale is %g, not 1",
                           said, hk_dim(cos, 1), onnx_float(call, "scale", 1));
    hk_array *places = places_of(call, ids, hk_dim(x, 2));
    hk_array *y = onnx_rotate(x, rows_of(cos, places), rows_of(sin, places), width,
                              onnx_int(call, "interleaved", 0) != 0);
    return onnx_out(call, 0, is_flat ? onnx_join_heads(y) : y);
}

/* ---- GroupQueryAttention --------------------------------------------------------------------- */

/* Queries, keys and values, or all three in one input. */
static bool read_groups(onnx_call *call, onnx_attention *self)
{
    const int64_t heads = onnx_int(call, "num_heads", 0);
    const int64_t key_heads = onnx_int(call, "kv_num_heads", 0);
    hk_array *q = onnx_in(call, 0), *k = onnx_in(call, 1), *v = onnx_in(call, 2);
    if (!onnx_needs_floats(call, q, "query", 3))
        return false;
    if (heads < 1 || key_heads < 1 || heads > INT32_MAX || key_heads > INT32_MAX)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "num_heads is %" PRId64 " and kv_num_heads %" PRId64, heads, key_heads);
    if (!k) {
        const int64_t each = hk_dim(q, -1) / (heads + 2 * key_heads);
        if (hk_ndim(q) != 3 || each * (heads + 2 * key_heads) != hk_dim(q, 2))
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "query has %" PRId64 " numbers, of %" PRId64 " heads and twice "
                               "%" PRId64,
                               hk_dim(q, -1), heads, key_heads);
        k = hk_slice(q, 2, heads * each, (heads + key_heads) * each);
        v = hk_slice(q, 2, (heads + key_heads) * each, (heads + 2 * key_heads) * each);
        q = hk_slice(q, 2, 0, heads * each);
    }
    if (!onnx_needs_floats(call, v, "value", 3))
        return false;
    self->q = q, self->k = k, self->v = v;
    return onnx_split_heads(call, "query", heads, &self->q) &&
           onnx_split_heads(call, "key", key_heads, &self->k) &&
           onnx_split_heads(call, "value", key_heads, &self->v);
}

/* What came before, (n, heads, room, d), with x from `starts` (n, 1, 1, 1) on, and room for
 * `total`. */
static hk_array *with_past(onnx_call *call, hk_array *past, hk_array *x, hk_array *starts,
                           int64_t total)
{
    const hk_dims shape = hk_dims_get(x);
    hk_dims room = shape;
    room.dims[2] = total;
    hk_array *all = past ? onnx_pad_or_crop(past, 2, 0, total - hk_dim(past, 2))
                         : hk_zeros(room, hk_array_dtype(x), call->device);
    hk_array *steps = hk_reshape(hk_sequence(0, 1, shape.dims[2], HK_I64, call->device),
                                 hk_shape(shape.dims[2], 1));
    return hk_scatter(all, hk_broadcast_to(hk_add(starts, steps), shape), x, 2);
}

/* Queries and keys turned by their places. */
static bool turn(onnx_call *call, onnx_attention *self, hk_array *starts)
{
    hk_array *cos = onnx_in(call, 7), *sin = onnx_in(call, 8), *ids = onnx_in(call, 9);
    const int64_t n = hk_dim(self->q, 0), l = hk_dim(self->q, 2);
    int64_t width = 0;
    if (!onnx_int(call, "do_rotary", 0))
        return true;
    if (!tables_fit(call, cos, sin, hk_dim(self->q, 3), &width))
        return false;
    hk_array *places = ids ? onnx_to(ids, HK_I64)
                           : hk_add(hk_reshape(starts, hk_shape(n, 1)),
                                    hk_sequence(0, 1, l, HK_I64, call->device));
    const bool interleaved = onnx_int(call, "rotary_interleaved", 0) != 0;
    cos = rows_of(cos, places), sin = rows_of(sin, places);
    self->q = onnx_rotate(self->q, cos, sin, width, interleaved);
    self->k = onnx_rotate(self->k, cos, sin, width, interleaved);
    return true;
}

/* total_sequence_length, and the room that keys have. */
static bool read_total(onnx_call *call, hk_array *past, int64_t l, int64_t *total, int64_t *room)
{
    const int count = onnx_in_ints(call, 6, total, 1);
    if (count < 0)
        return false;
    if (count != 1 || *total < l || *total > INT32_MAX)
        return onnx_refuse(call, HK_OUT_OF_RANGE,
                           "total_sequence_length is %" PRId64 ", but must be at least %" PRId64,
                           count ? *total : 0, l);
    const int64_t before = past ? hk_dim(past, 2) : 0;
    *room = before > *total ? before : *total;
    return true;
}

static bool past_fits(onnx_call *call, const onnx_attention *self, hk_array *past_key,
                      hk_array *past_value)
{
    hk_array *const pasts[2] = {past_key, past_value}, *const now[2] = {self->k, self->v};
    bool fits = !past_key == !past_value;
    for (int i = 0; fits && past_key && i < 2; i++) {
        hk_dims shape = hk_dims_get(now[i]);
        shape.dims[2] = hk_dim(pasts[i], 2);
        fits = onnx_same_dims(hk_dims_get(pasts[i]), shape);
    }
    return fits || onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "past_key and past_value must be (n, key heads, before, d)");
}

bool onnx_run_ms_group_query(onnx_call *call)
{
    onnx_attention self = {.cap = onnx_float(call, "softcap", 0), .bias = onnx_in(call, 10)};
    hk_array *past_key = onnx_in(call, 3), *past_value = onnx_in(call, 4);
    hk_array *lengths = onnx_in(call, 5);
    int64_t total = 0, room = 0;
    if (!refuses(call, "smooth_softmax") || !refuses_input(call, 11, "head_sink") ||
        !read_groups(call, &self))
        return false;
    const int64_t n = hk_dim(self.q, 0), l = hk_dim(self.q, 2);
    if (!lengths || hk_size(lengths) != n)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "seqlens_k must have a number for each sample");
    if (!read_total(call, past_key, l, &total, &room) ||
        !past_fits(call, &self, past_key, past_value))
        return false;
    /* Where new keys begin: behind those that are there; at 0 where all are new. */
    hk_array *starts = hk_reshape(onnx_to(lengths, HK_I64), hk_shape(n, 1, 1, 1));
    starts =
        total == l ? hk_full_like(starts, 0) : hk_add(starts, onnx_integer_like(1 - l, starts));
    if (!turn(call, &self, starts))
        return false;
    self.k = with_past(call, past_key, self.k, starts, room);
    self.v = with_past(call, past_value, self.v, starts, room);
    if (!onnx_out(call, 1, self.k) || !onnx_out(call, 2, self.v))
        return false;
    if (total < room) {
        self.k = hk_slice(self.k, 2, 0, total);
        self.v = hk_slice(self.v, 2, 0, total);
    }
    const int64_t window = onnx_int(call, "local_window_size", -1);
    self.seen = onnx_seen_near(call, l, total, starts, window > 0 ? window - 1 : -1, 0);
    self.dtype = compute_dtype(self.q);
    self.scale = read_scale(call, self.q);
    return give(call, &self, hk_array_dtype(self.q));
}
