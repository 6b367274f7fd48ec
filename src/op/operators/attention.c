/* Attention: each query's mean of the values, weighted by how well its key goes with the query. Made of other operators. */
#include "op/kernels/elementwise/elementwise.h"
#include "op/operators/copy.h"
#include "op/operators/fill.h"
#include "op/operators/reduce.h"
#include "op/operators/reshape.h"
#include "op/operators/softmax.h"
#include "op/operators/view_op.h"

#include <math.h>

#define ATTENTION_OPTIONS(F, op)                                                                   \
    F(op, BOOL, causal, "false", "query i sees keys 0 to i alone; as many queries as keys")        \
    F(op, F64, scale, "1 / sqrt(d)", "what scores are multiplied by, > 0")
HKI_OPTIONS(scaled_dot_product_attention, ATTENTION_OPTIONS)

enum { QUERY, KEY, VALUE, MASK };

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
                               "scale is %g, but must be above 0, or 0 for the default", o->scale);
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
    return o->scale > 0 ? o->scale : size > 0 ? 1 / sqrt((double)size) : 1;
}

/* ---- what a mask leaves out ------------------------------------------------------------------------------------ */

/* full of that number, which broadcasts to anything. */
static hk_array *number(const hki_call *call, double value)
{
    const hki_full_options full = {.value = value, .dtype = call->out_dtype[0]};
    return hki_op_call(&hki_op_full, NULL, 0, &full, (hk_device){call->device}, NULL);
}

/* x, and 0 where the mask has no key to be seen, whatever x is there. */
static hk_array *where_seen(const hki_call *call, hk_array *is_seen, hk_array *x)
{
    return hki_op_call3(&hki_op_where, is_seen, x, number(call, 0), NULL);
}

static hk_array *any_along(hk_array *is_seen, int64_t axis)
{
    const hki_sum_options along = {.axes = {.ndim = 1, .dims = {axis}}, .keepdims = true};
    return hki_op_call1(&hki_op_any, is_seen, &along);
}

/* Which keys which queries see, by a mask of at least two axes. */
static hk_array *seen_of(const hki_call *call, hk_array *mask)
{
    if (mask->dtype == HK_BOOL)
        return mask;
    const bool records = hki_op_set_recording && hki_op_set_recording(false);
    hk_array *is_seen = hki_op_call2(&hki_op_not_equal, mask, number(call, -INFINITY), NULL);
    if (hki_op_set_recording)
        hki_op_set_recording(records);
    return is_seen;
}

/* With the axes that it lacks. */
static hk_array *as_matrix(hk_array *mask)
{
    hki_reshape_options matrix = {.shape = mask->shape};
    if (mask->shape.ndim >= 2)
        return mask;
    matrix.shape = (hk_dims){.ndim = 2, .dims = {1, mask->size}};
    return hki_op_call1(&hki_op_reshape, mask, &matrix);
}

/* Of a mask: 0 weighs what is not seen, but 0 * NaN is none. So keys and values that no query sees,
 * and queries that see no key, are made 0, and such queries' results too, in place of the softmax
 * of nothing. */
typedef struct masked_parts {
    hk_array *query, *key, *value, *mask, *is_seen;
    hk_array *sees; /* (…, n or 1, 1): queries that see a key */
} masked_parts;

static masked_parts parts_of(const hki_call *call)
{
    static const int64_t last[] = {-1, -2};
    hk_array *mask = as_matrix(call->arrays[MASK]), *is_seen = seen_of(call, mask);
    hk_array *sees = any_along(is_seen, -1);
    hk_array *keys = hki_op_call1(&hki_op_swapaxes, any_along(is_seen, -2), last);
    return (masked_parts){.query = where_seen(call, sees, call->arrays[QUERY]),
                          .key = where_seen(call, keys, call->arrays[KEY]),
                          .value = where_seen(call, keys, call->arrays[VALUE]),
                          .mask = mask,
                          .is_seen = is_seen,
                          .sees = sees};
}

/* Scores where they count, and minus infinity elsewhere; 0 of a query that sees no key. */
static hk_array *masked(const hki_call *call, const masked_parts *parts, hk_array *scores)
{
    if (parts->mask->dtype != HK_BOOL)
        return hki_op_call2(&hki_op_add, scores, where_seen(call, parts->sees, parts->mask), NULL);
    hk_array *never =
        hki_op_call3(&hki_op_where, parts->sees, number(call, -INFINITY), number(call, 0), NULL);
    return hki_op_call3(&hki_op_where, parts->is_seen, scores, never, NULL);
}

static hk_array *attention_compose(const hki_call *call)
{
    static const int64_t last[] = {-1, -2};
    const hki_scaled_dot_product_attention_options *o = call->options;
    const hki_softmax_options along = {-1};
    const bool has_mask = call->arrays[MASK];
    const masked_parts parts = has_mask ? parts_of(call)
                                        : (masked_parts){.query = call->arrays[QUERY],
                                                         .key = call->arrays[KEY],
                                                         .value = call->arrays[VALUE]};
    /* The smaller factor is scaled. */
    hk_array *scaled = hki_op_call_number(&hki_op_multiply_scalar, parts.query, scale_of(call));
    hk_array *scores =
        hki_op_call2(&hki_op_matmul, scaled, hki_op_call1(&hki_op_swapaxes, parts.key, last), NULL);
    if (has_mask)
        scores = masked(call, &parts, scores);
    if (o->causal)
        scores = hki_lower_triangle(call, scores, -INFINITY);
    hk_array *y = hki_op_call2(&hki_op_matmul, hki_op_call1(&hki_op_softmax, scores, &along),
                               parts.value, NULL);
    return has_mask ? where_seen(call, parts.sees, y) : y;
}

static void attention_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_scaled_dot_product_attention_options *o = call->options;
    const int64_t n = from_behind(call->inputs[QUERY], 2), d = from_behind(call->inputs[QUERY], 1);
    const int64_t m = from_behind(call->inputs[KEY], 2), e = from_behind(call->inputs[VALUE], 1);
    const int64_t rows = n && d ? call->inputs[QUERY]->size / d : 0;
    const hki_shape_view *mask = call->inputs[MASK];
    double weights[64]; /* of samples */
    for (int64_t row = 0; row < rows; row++) {
        const int64_t batch = row / n;
        double sum = 0;
        for (int64_t k = 0; k < m; k++) {
            double score = 0;
            for (int64_t i = 0; i < d; i++)
                score += in[QUERY][row * d + i] * in[KEY][(batch * m + k) * d + i];
            score *= scale_of(call);
            if (mask)
                score += in[MASK][mask->size == n * m ? row % n * m + k : row * m + k];
            weights[k] = o->causal && k > row % n ? 0 : exp(score);
            sum += weights[k];
        }
        for (int64_t j = 0; j < e; j++) {
            out[0][row * e + j] = 0;
            for (int64_t k = 0; k < m; k++)
                out[0][row * e + j] += weights[k] / sum * in[VALUE][(batch * m + k) * e + j];
        }
    }
}

static const hki_sample attention_samples[] = {
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(5, 4), HKI_SHAPE(5, 2), HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 5, 4), HKI_SHAPE(2, 5, 4), HKI_SHAPE(3, 5)}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 2, 6, 3), HKI_SHAPE(2, 2, 6, 3), HKI_SHAPE(2, 2, 6, 3),
                HKI_SHAPE_NONE},
     .options = &(const hki_scaled_dot_product_attention_options){.causal = true, .scale = 0.5}},
    {.inputs = {HKI_SHAPE(0, 3, 4), HKI_SHAPE(0, 5, 4), HKI_SHAPE(0, 5, 2), HKI_SHAPE_NONE}},
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
