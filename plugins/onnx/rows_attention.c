/* Attention, and what goes with it. */
#include "attention.h"
#include "compute.h"
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Attention ------------------------------------------------------------------------------- */

/* The dtype of softmax: at least float32. */
static bool read_precision(onnx_call *call, hk_array *x, hk_dtype *dtype)
{
    *dtype = hk_array_dtype(x) == HK_F64 ? HK_F64 : HK_F32;
    if (!onnx_attribute(call, "softmax_precision"))
        return true;
    hk_dtype said = HK_F32;
    const int64_t number = onnx_int(call, "softmax_precision", 0);
    if (number < 0 || number > INT32_MAX || !onnx_dtype_of((int32_t)number, &said) ||
        !onnx_is_real(said))
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "softmax_precision is %" PRId64 ", but must be that of floats", number);
    if (said == HK_F64)
        *dtype = HK_F64;
    return true;
}

static bool read_scores(onnx_call *call, onnx_scores *wanted)
{
    const int64_t mode = onnx_int(call, "qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
        return onnx_refuse(call, HK_OUT_OF_RANGE,
                           "qk_matmul_output_mode is %" PRId64 ", but must be from 0 to 3", mode);
    *wanted = onnx_wants(call, 3) ? (onnx_scores)mode : ONNX_SCORES_NONE;
    return true;
}

/* attn_mask, which may be of fewer keys: others are not seen. */
static bool read_mask(onnx_call *call, onnx_attention *self, int64_t s)
{
    hk_array *mask = onnx_in(call, 3);
    if (!mask)
        return true;
    const hk_dims shape = hk_dims_get(mask);
    const bool is_bool = hk_array_dtype(mask) == HK_BOOL;
    if (shape.ndim < 1 || shape.ndim > 4 || (!is_bool && !onnx_is_real(hk_array_dtype(mask))))
        return onnx_refuse(
            call, HK_INVALID_ARGUMENT,
            "attn_mask has %d axes and is %s; it must have 1 to 4, of bool or floats", shape.ndim,
            hk_dtype_name(hk_array_dtype(mask)));
    const int64_t found = shape.dims[shape.ndim - 1], width[2] = {0, s - found};
    if (found > s || (found < s && found == 1 && shape.ndim > 1 && onnx_opset(call) < 24))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "attn_mask is of %" PRId64 " keys, but there are %" PRId64, found, s);
    if (found < s)
        mask = hk_pad(mask, shape.ndim - 1, width, HK_PAD_CONSTANT, is_bool ? 0 : -INFINITY);
    *(is_bool ? &self->seen : &self->bias) = mask;
    return true;
}

/* What of the keys each query sees, by its place among them. */
static bool read_places(onnx_call *call, onnx_attention *self, hk_array *past)
{
    const int64_t l = hk_dim(self->q, 2), s = hk_dim(self->k, 2);
    const int64_t left = onnx_int(call, "left_window_size", -1);
    int64_t right = onnx_int(call, "right_window_size", -1);
    hk_array *counts = onnx_in(call, 6), *offset = NULL;
    if (left < -1 || right < -1 || left > INT32_MAX || right > INT32_MAX)
        return onnx_refuse(call, HK_OUT_OF_RANGE,
                           "windows of %" PRId64 " and %" PRId64 ", but must be -1 or more", left,
                           right);
    if (counts && (past || hk_ndim(counts) != 1 || hk_dim(counts, 0) != hk_dim(self->q, 0)))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "nonpad_kv_seqlen must have a number for each sample, and no past");
    const bool is_causal = onnx_int(call, "is_causal", 0) != 0;
    if (is_causal && left < 0 && right < 0 && l == s && !past && !counts && !self->seen &&
        !self->bias && self->wanted == ONNX_SCORES_NONE && self->cap == 0) {
        self->is_causal = true;
        return true;
    }
    right = is_causal ? 0 : right;
    if (counts) {
        offset = hk_reshape(onnx_to(counts, HK_I64), hk_shape(hk_dim(counts, 0), 1, 1, 1));
        offset = hk_subtract(offset, onnx_integer_like(l, offset));
        self->seen = onnx_seen_both(self->seen, onnx_seen_first(call, s, counts));
    } else if (past) {
        offset = hk_full(hk_shape(), (double)hk_dim(past, 2), HK_I64, call->device);
    }
    self->seen = onnx_seen_both(self->seen, onnx_seen_near(call, l, s, offset, left, right));
    return true;
}

/* Q, K and V with heads as their second axis. */
static bool read_heads(onnx_call *call, onnx_attention *self)
{
    const int64_t heads = onnx_int(call, "q_num_heads", 0);
    const int64_t key_heads = onnx_int(call, "kv_num_heads", 0);
    if (hk_ndim(self->q) != 3)
        return true;
    return onnx_split_heads(call, "Q", heads, &self->q) &&
           onnx_split_heads(call, "K", key_heads, &self->k) &&
           onnx_split_heads(call, "V", key_heads, &self->v);
}

/* What came before goes in front. */
static bool read_past(onnx_call *call, onnx_attention *self, hk_array *past_key,
                      hk_array *past_value)
{
    if (!past_key != !past_value)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "past_key and past_value must be there together");
    if (past_key) {
        self->k = hk_concat((hk_array *[]){past_key, self->k}, 2, 2);
        self->v = hk_concat((hk_array *[]){past_value, self->v}, 2, 2);
    }
    return onnx_out(call, 1, self->k) && onnx_out(call, 2, self->v);
}

static bool run_attention(onnx_call *call)
{
    onnx_attention self = {.q = onnx_in(call, 0), .k = onnx_in(call, 1), .v = onnx_in(call, 2)};
    hk_array *past = onnx_in(call, 4);
    if (!onnx_needs_floats(call, self.q, "Q", 3) || !onnx_needs_floats(call, self.k, "K", 3) ||
        !onnx_needs_floats(call, self.v, "V", 3))
        return false;
    const bool is_flat = hk_ndim(self.q) == 3;
    const hk_dtype dtype = hk_array_dtype(self.q);
    self.cap = onnx_float(call, "softcap", 0);
    if (!read_precision(call, self.q, &self.dtype) || !read_scores(call, &self.wanted) ||
        !read_heads(call, &self) || !read_past(call, &self, past, onnx_in(call, 5)))
        return false;
    self.scale = onnx_float(call, "scale", 1 / sqrt((double)hk_dim(self.q, 3)));
    if (!onnx_attention_fits(call, &self) || !read_mask(call, &self, hk_dim(self.k, 2)) ||
        !read_places(call, &self, past))
        return false;
    hk_array *y = onnx_to(onnx_attend(&self), dtype);
    return onnx_out(call, 0, is_flat ? onnx_join_heads(y) : y) &&
           (!self.scores || onnx_out(call, 3, onnx_to(self.scores, dtype)));
}

/* ---- FlexAttention --------------------------------------------------------------------------- */

/* x as a graph of the node's changes it; x where there is none. NULL: after refusing. */
static hk_array *modified(onnx_call *call, const char *name, hk_array *x)
{
    const onnx_graph *graph = onnx_graph_of(call, name);
    if (!graph)
        return x;
    if (graph->input_count != 1 || graph->output_count != 1) {
        onnx_refuse(call, HK_INVALID_ARGUMENT, "%s has %d inputs and %d outputs, but must have one",
                    name, graph->input_count, graph->output_count);
        return NULL;
    }
    onnx_value *input = onnx_value_of(hk_array_retain(x), false), *output = NULL;
    const bool is_good = input && onnx_run_graph(call, graph, &input, &output);
    hk_array *found = is_good ? onnx_array_of(call, output) : NULL;
    hk_array *y = found ? hk_reshape(found, hk_dims_get(found)) : NULL; /* one of the scope */
    onnx_value_release(input);
    onnx_value_release(output);
    if (is_good && (!y || !onnx_same_dims(hk_dims_get(y), hk_dims_get(x)))) {
        onnx_refuse(call, HK_INVALID_ARGUMENT, "%s gives another shape than it gets", name);
        return NULL;
    }
    return y ? onnx_to(y, hk_array_dtype(x)) : NULL;
}

static bool run_flex_attention(onnx_call *call)
{
    onnx_attention self = {.q = onnx_in(call, 0), .k = onnx_in(call, 1), .v = onnx_in(call, 2)};
    if (!onnx_needs_floats(call, self.q, "Q", 4) || !onnx_needs_floats(call, self.k, "K", 4) ||
        !onnx_needs_floats(call, self.v, "V", 4) || !read_precision(call, self.q, &self.dtype))
        return false;
    const hk_dtype dtype = hk_array_dtype(self.v);
    self.scale = onnx_float(call, "scale", 1 / sqrt((double)hk_dim(self.q, 3)));
    if (!onnx_attention_fits(call, &self))
        return false;
    if (!onnx_graph_of(call, "score_mod") && !onnx_graph_of(call, "prob_mod")) {
        self.wanted = ONNX_SCORES_NONE;
        return onnx_out(call, 0, onnx_to(onnx_attend(&self), dtype));
    }
    const int64_t times = hk_dim(self.q, 1) / hk_dim(self.k, 1);
    hk_array *q = onnx_to(self.q, self.dtype), *k = onnx_to(self.k, self.dtype);
    hk_array *v = hk_repeat(onnx_to(self.v, self.dtype), times, 1);
    k = hk_swapaxes(hk_repeat(k, times, 1), -1, -2);
    hk_array *scores = hk_matmul(hk_multiply(q, onnx_number_like(self.scale, q)), k);
    scores = modified(call, "score_mod", scores);
    hk_array *shares = scores ? modified(call, "prob_mod", hk_softmax(scores, -1)) : NULL;
    return shares && onnx_out(call, 0, onnx_to(hk_matmul(shares, v), dtype));
}

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

static bool run_rotary(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *cos = onnx_in(call, 1), *sin = onnx_in(call, 2);
    hk_array *places = onnx_in(call, 3);
    if (!onnx_needs_floats(call, x, "X", 3) || !onnx_needs_floats(call, cos, "cos_cache", 2) ||
        !onnx_needs_floats(call, sin, "sin_cache", 2))
        return false;
    const bool is_flat = hk_ndim(x) == 3;
    if (is_flat && !onnx_split_heads(call, "X", onnx_int(call, "num_heads", 0), &x))
        return false;
    int64_t width = onnx_int(call, "rotary_embedding_dim", 0);
    width = width ? width : hk_dim(x, 3);
    if (places) {
        cos = hk_index_select(cos, places, 0);
        sin = hk_index_select(sin, places, 0);
    }
    if (hk_ndim(x) != 4 || width < 2 || width % 2 || width > hk_dim(x, 3) || hk_ndim(cos) != 3 ||
        hk_ndim(sin) != 3 || hk_dim(cos, 2) != width / 2 || hk_dim(sin, 2) != width / 2)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "X has %d axes and heads of %" PRId64 ", of which %" PRId64
                           " are turned; cos_cache has %" PRId64 " at each place",
                           hk_ndim(x), hk_dim(x, 3), width, hk_dim(cos, -1));
    hk_array *y = onnx_rotate(x, cos, sin, width, onnx_int(call, "interleaved", 0) != 0);
    return onnx_out(call, 0, is_flat ? onnx_join_heads(y) : y);
}

/* ---- LinearAttention ------------------------------------------------------------------------- */

typedef struct linear {
    int64_t samples, steps, heads, key_heads, keys, values; /* sizes of keys and values */
    hk_array *q, *k,
        *v; /* (n, steps, key heads, queries of a head, keys), …, keys, 1), …, 1, values) */
    hk_array *decay; /* (n, steps, key heads, 1 or keys, 1); NULL */
    hk_array *rate;  /* (n, steps, key heads or 1, 1, 1); NULL */
    double scale;
} linear;

static bool read_rule(onnx_call *call, bool *decays, bool *corrects)
{
    const bool gated = onnx_text_is(call, "update_rule", "gated", "gated_delta");
    const bool delta = onnx_text_is(call, "update_rule", "delta", "gated_delta");
    const bool both = onnx_text_is(call, "update_rule", "gated_delta", "gated_delta");
    if (!gated && !delta && !both && !onnx_text_is(call, "update_rule", "linear", "gated_delta"))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "update_rule must be linear, gated, delta or gated_delta");
    *decays = gated || both;
    *corrects = delta || both;
    if (*decays != onnx_has(call, 4) || *corrects != onnx_has(call, 5))
        return onnx_refuse(
            call, HK_INVALID_ARGUMENT,
            "decay and beta must be there where update_rule has them, and only there");
    return true;
}

/* x (n, steps, …) in float32, the last axis cut into (first, second, third). */
static bool read_part(onnx_call *call, const linear *self, int index, const char *name,
                      int64_t first, int64_t second, int64_t third, hk_array **part)
{
    hk_array *x = onnx_in(call, index);
    if (!onnx_needs_floats(call, x, name, 3))
        return false;
    if (hk_ndim(x) != 3 || hk_dim(x, 0) != self->samples || hk_dim(x, 1) != self->steps ||
        hk_dim(x, 2) != first * second * third)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "%s must be of (%" PRId64 ", %" PRId64 ", %" PRId64 ")", name,
                           self->samples, self->steps, first * second * third);
    *part =
        hk_reshape(onnx_to(x, HK_F32), hk_shape(self->samples, self->steps, first, second, third));
    return true;
}

static bool read_linear(onnx_call *call, linear *self)
{
    hk_array *q = onnx_in(call, 0), *v = onnx_in(call, 2);
    bool decays = false, corrects = false;
    if (!read_rule(call, &decays, &corrects) || !onnx_needs_floats(call, q, "query", 3) ||
        !onnx_needs_floats(call, v, "value", 3))
        return false;
    self->heads = onnx_int(call, "q_num_heads", 0);
    self->key_heads = onnx_int(call, "kv_num_heads", 0);
    if (self->heads < 1 || self->key_heads < 1 || self->heads % self->key_heads ||
        hk_dim(q, 2) % self->heads || hk_dim(v, 2) % self->key_heads || hk_dim(q, 2) < 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "q_num_heads is %" PRId64 " and kv_num_heads %" PRId64
                           ", of a query of %" PRId64 " and a value of %" PRId64,
                           self->heads, self->key_heads, hk_dim(q, 2), hk_dim(v, 2));
    self->samples = hk_dim(q, 0), self->steps = hk_dim(q, 1);
    self->keys = hk_dim(q, 2) / self->heads, self->values = hk_dim(v, 2) / self->key_heads;
    const double scale = onnx_float(call, "scale", 0);
    self->scale = scale == 0 ? 1 / sqrt((double)self->keys) : scale;
    const int64_t h = self->key_heads, group = self->heads / h;
    const int64_t decay = decays ? hk_dim(onnx_in(call, 4), -1) == h ? 1 : self->keys : 0;
    const int64_t rates = corrects ? hk_dim(onnx_in(call, 5), -1) == 1 ? 1 : h : 0;
    return self->steps <= INT32_MAX &&
           read_part(call, self, 0, "query", h, group, self->keys, &self->q) &&
           read_part(call, self, 1, "key", h, self->keys, 1, &self->k) &&
           read_part(call, self, 2, "value", h, 1, self->values, &self->v) &&
           (!decays || read_part(call, self, 4, "decay", h, decay, 1, &self->decay)) &&
           (!corrects || read_part(call, self, 5, "beta", rates, 1, 1, &self->rate));
}

/* The state behind step i, from the one before. */
static hk_array *next_state(const linear *self, hk_array *state, int64_t i)
{
    hk_array *k = hk_index(self->k, 1, i), *v = hk_index(self->v, 1, i);
    if (self->decay)
        state = hk_multiply(state, hk_exp(hk_index(self->decay, 1, i)));
    if (self->rate)
        v = hk_multiply(hk_index(self->rate, 1, i),
                        hk_subtract(v, hk_matmul(hk_swapaxes(k, -1, -2), state)));
    return hk_add(state, hk_multiply(k, v));
}

/* What all steps give, (n, steps, heads, queries of a head, values); *state: counted, becomes
 * the last one. */
static hk_array *run_linear_steps(onnx_call *call, const linear *self, hk_array **state)
{
    const int64_t group = self->heads / self->key_heads;
    if (self->steps == 0)
        return hk_zeros(hk_shape(self->samples, 0, self->key_heads, group, self->values), HK_F32,
                        call->device);
    hk_array **out = malloc((size_t)self->steps * sizeof *out);
    if (!out) {
        onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    for (int64_t i = 0; i < self->steps; i++) {
        HK_SCOPE;
        hk_array *next = hk_take(next_state(self, *state, i));
        hk_array_release(*state);
        *state = next;
        out[i] = hk_take(hk_matmul(hk_index(self->q, 1, i), next));
    }
    hk_array *y = hk_stack(out, (int)self->steps, 1);
    for (int64_t i = 0; i < self->steps; i++)
        hk_array_release(out[i]);
    free(out);
    return hk_multiply(y, onnx_number_like(self->scale, y));
}

static bool run_linear_attention(onnx_call *call)
{
    linear self = {0};
    hk_array *past = onnx_in(call, 3);
    if (!read_linear(call, &self))
        return false;
    const hk_dims shape = hk_shape(self.samples, self.key_heads, self.keys, self.values);
    if (past && !onnx_same_dims(hk_dims_get(past), shape))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "past_state must be of (%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                           ")",
                           shape.dims[0], shape.dims[1], shape.dims[2], shape.dims[3]);
    const hk_dtype dtype = hk_array_dtype(onnx_in(call, 0));
    hk_array *state = past ? hk_array_retain(onnx_to(past, HK_F32))
                           : hk_take(hk_zeros(shape, HK_F32, call->device));
    hk_array *y = run_linear_steps(call, &self, &state);
    const bool is_good =
        y &&
        onnx_out(
            call, 0,
            onnx_to(hk_reshape(y, hk_shape(self.samples, self.steps, self.heads * self.values)),
                    dtype)) &&
        onnx_out(call, 1, onnx_to(state, past ? hk_array_dtype(past) : dtype));
    hk_array_release(state);
    return is_good;
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* x sigmoid(alpha x) */
static hk_array *swish(hk_array *x, double alpha)
{
    return alpha == 1 ? hk_silu(x)
                      : hk_multiply(x, hk_sigmoid(hk_multiply(x, onnx_number_like(alpha, x))));
}

static bool run_swiglu(onnx_call *call)
{
    hk_array *a = onnx_in(call, 0), *b = onnx_in(call, 1);
    if (!onnx_needs_floats(call, a, "A", 0) || !onnx_needs_floats(call, b, "B", 0))
        return false;
    if (!onnx_same_dims(hk_dims_get(a), hk_dims_get(b)))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "A and B must have one shape");
    hk_array *gate = swish(onnx_wide(a), onnx_float(call, "alpha", 1));
    return onnx_out(call, 0, onnx_to(hk_multiply(gate, onnx_wide(b)), hk_array_dtype(a)));
}

static bool run_quick_gelu(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    return onnx_needs_floats(call, x, "X", 0) &&
           onnx_out(call, 0,
                    onnx_to(swish(onnx_wide(x), onnx_float(call, "alpha", (double)1.702f)),
                            hk_array_dtype(x)));
}

static bool gelu(onnx_call *call, bool by_tanh)
{
    hk_array *x = onnx_in(call, 0), *bias = onnx_in(call, 1);
    if (!onnx_needs_floats(call, x, "X", 0))
        return false;
    hk_array *wide = onnx_wide(x);
    wide = bias ? hk_add(wide, onnx_wide(bias)) : wide;
    return onnx_out(call, 0,
                    onnx_to(by_tanh ? hk_gelu_tanh(wide) : hk_gelu(wide), hk_array_dtype(x)));
}

static bool run_ms_gelu(onnx_call *call)
{
    return gelu(call, false);
}

static bool run_fast_gelu(onnx_call *call)
{
    return gelu(call, true);
}

const onnx_row onnx_rows_attention[] = {
    {"Attention", run_attention, 0},
    {"LinearAttention", run_linear_attention, 0},
    {"RotaryEmbedding", run_rotary, 0},
    {"SwiGLU", run_swiglu, 0},
    {"ai.onnx.preview:FlexAttention", run_flex_attention, ONNX_NEW},
    {"com.microsoft:Attention", onnx_run_ms_attention, 0},
    {"com.microsoft:BiasGelu", run_ms_gelu, 0},
    {"com.microsoft:FastGelu", run_fast_gelu, 0},
    {"com.microsoft:Gelu", run_ms_gelu, 0},
    {"com.microsoft:GroupQueryAttention", onnx_run_ms_group_query, 0},
    {"com.microsoft:MultiHeadAttention", onnx_run_ms_multi_head, 0},
    {"com.microsoft:QuickGelu", run_quick_gelu, 0},
    {"com.microsoft:RotaryEmbedding", onnx_run_ms_rotary, 0},
    {NULL, NULL, 0},
};
