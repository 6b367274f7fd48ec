/* Attention: each query's mean of the values, weighted by how well its key goes with the query. On
 * CPUs one operator does it in blocks (attention_blocks.c); elsewhere it is made of others
 * (attention_composed.c). */
#include "op/attention/attention.h"
#include "base/option.h"

#include <math.h>

#define ATTENTION_OPTIONS(F, op)                                                                   \
    F(op, BOOL, causal, "false", "query i sees keys 0 to i alone; as many queries as keys")        \
    F(op, F64, scale, "1 / sqrt(d)", "what scores are multiplied by, >= 0")
HKI_OPTIONS(scaled_dot_product_attention, ATTENTION_OPTIONS)

enum {
    QUERY = HKI_ATTENTION_QUERY,
    KEY = HKI_ATTENTION_KEY,
    VALUE = HKI_ATTENTION_VALUE,
    MASK = HKI_ATTENTION_MASK
};

static int64_t from_behind(const hki_shape_view *x, int axis)
{
    return x->shape.dims[x->shape.ndim - axis];
}

static bool check_options(hki_call *call)
{
    const hki_scaled_dot_product_attention_options *o = call->options;
    const int64_t queries = from_behind(call->inputs[QUERY], 2);
    const int64_t keys = from_behind(call->inputs[KEY], 2);
    if (!isfinite(o->scale) || o->scale < 0)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "scale is %g, but must be finite and not below 0", o->scale);
    if (o->causal && (queries != keys || call->inputs[MASK]))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "causal needs as many queries as keys and no mask; there are %lld "
                               "and %lld",
                               (long long)queries, (long long)keys);
    return true;
}

static bool attention_infer(hki_call *call)
{
    const hki_shape_view *query = call->inputs[QUERY], *key = call->inputs[KEY];
    const hki_shape_view *value = call->inputs[VALUE], *mask = call->inputs[MASK];
    char texts[3][224];
    const int ndim = query->shape.ndim;
    bool fits = ndim >= 2 && key->shape.ndim == ndim && value->shape.ndim == ndim;
    for (int i = 0; fits && i < 3; i++)
        hki_shape_view_describe(call->inputs[i], texts[i], sizeof texts[i]);
    for (int i = 0; fits && i < ndim - 2; i++)
        fits = key->shape.dims[i] == query->shape.dims[i] &&
               value->shape.dims[i] == query->shape.dims[i];
    fits = fits && query->dtype == key->dtype && key->dtype == value->dtype &&
           from_behind(query, 1) == from_behind(key, 1) &&
           from_behind(key, 2) == from_behind(value, 2);
    for (int i = 0; !fits && i < 3; i++)
        hki_shape_view_describe(call->inputs[i], texts[i], sizeof texts[i]);
    if (!fits)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "query is %s, key %s and value %s, but must be (…,n,d), (…,m,d) and "
                               "(…,m,e) of one dtype",
                               texts[QUERY], texts[KEY], texts[VALUE]);
    hk_dims scores = query->shape, stretched;
    scores.dims[ndim - 1] = from_behind(key, 2);
    if (mask && (mask->dtype != HK_BOOL && mask->dtype != query->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "mask is %s, but must be bool or %s",
                               hk_dtype_name(mask->dtype), hk_dtype_name(query->dtype));
    if (mask && (!hki_dims_broadcast(&mask->shape, &scores, &stretched) ||
                 !hki_dims_equal(&stretched, &scores))) {
        char given[160], wanted[160];
        hki_dims_describe(&mask->shape, given, sizeof given);
        hki_dims_describe(&scores, wanted, sizeof wanted);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "mask is %s, but must broadcast to %s: queries and keys", given,
                               wanted);
    }
    call->out_shape[0] = query->shape;
    call->out_shape[0].dims[ndim - 1] = from_behind(value, 1);
    call->out_dtype[0] = query->dtype;
    return check_options(call);
}

static double scale_of(const hki_call *call)
{
    const hki_scaled_dot_product_attention_options *o = call->options;
    const int64_t size = from_behind(call->inputs[QUERY], 1);
    return hki_option_or(o->scale, size > 0 ? 1 / sqrt((double)size) : 1);
}

/* ---- on CPUs in blocks ------------------------------------------------------------------------------------------ */

/* One query alone has few scores, and its products are BLAS's; but for a mask keys and values would
 * be copied. */
static bool goes_in_blocks(const hki_call *call)
{
    return call->device->class->kernels == HKI_CPU &&
           (from_behind(call->inputs[QUERY], 2) > 1 || call->inputs[MASK]);
}

static hk_array *attention_compose(const hki_call *call)
{
    const hki_scaled_dot_product_attention_options *o = call->options;
    const hki_attention_blocks_options of = {o->causal, scale_of(call)};
    if (goes_in_blocks(call))
        return hki_op_call(&hki_op_attention_blocks, call->arrays, 4, &of, (hk_device){NULL}, NULL);
    const hki_attention_inputs its = {.query = call->arrays[QUERY],
                                      .key = call->arrays[KEY],
                                      .value = call->arrays[VALUE],
                                      .mask = call->arrays[MASK],
                                      .of = of};
    return hki_attention_composed(&its);
}

static void attention_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_scaled_dot_product_attention_options *o = call->options;
    const hki_attention_blocks_options of = {o->causal, scale_of(call)};
    hki_attention_reference(call, in, out, &of);
}

static const hki_sample attention_samples[] = {
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(5, 4), HKI_SHAPE(5, 2), HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 5, 4), HKI_SHAPE(2, 5, 4), HKI_SHAPE(3, 5)}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 2, 6, 3), HKI_SHAPE(2, 2, 6, 3), HKI_SHAPE(2, 2, 6, 3),
                HKI_SHAPE_NONE},
     .options = &(const hki_scaled_dot_product_attention_options){.causal = true, .scale = 0.5}},
    {.inputs = {HKI_SHAPE(0, 3, 4), HKI_SHAPE(0, 5, 4), HKI_SHAPE(0, 5, 2), HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(2, 1, 4), HKI_SHAPE(2, 5, 4), HKI_SHAPE(2, 5, 3), HKI_SHAPE(5)}},
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(0, 4), HKI_SHAPE(0, 2), HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(2, 3, 4, 5), HKI_SHAPE(2, 3, 6, 5), HKI_SHAPE(2, 3, 6, 2),
                HKI_SHAPE(2, 1, 1, 6)},
     .own = {[MASK] = {true, HK_BOOL, -1, 2}}},
    {.inputs = {HKI_SHAPE(150, 3), HKI_SHAPE(150, 3), HKI_SHAPE(150, 4), HKI_SHAPE_NONE},
     .options = &(const hki_scaled_dot_product_attention_options){.causal = true}},
};
const hk_op hki_op_scaled_dot_product_attention = {
    HKI_OP_NAMED(scaled_dot_product_attention),
    HKI_OP_PARAMS(scaled_dot_product_attention),
    HKI_OP_SAMPLES(attention_samples),
    .signature = "query, key, value, mask?",
    .doc =
        "Attention (Vaswani et al. 2017) of queries (…,n,d) to keys (…,m,d) with values (…,m,e): "
        "(…,n,e). mask broadcasts to (…,n,m): bool, true where a query sees a key, or numbers that "
        "are added to the scores, -inf where it does not. A query that sees no key gives 0. What "
        "no "
        "query sees does not count, be it NaN.",
    .formula = "softmax(query key^T scale + mask) value",
    .dtypes = HKI_FLOATS,
    .infer = attention_infer,
    .compose = attention_compose,
    .reference = attention_reference,
    .tolerance_f32 = 1e-5,
};
