/* Attention made of other operators: for devices whose kernels do not do it in blocks, for
 * gradients of gradients, and for gradients of masks, which are as large as the scores. */
#include "op/attention/attention.h"
#include "op/elementwise/elementwise.h"
#include "op/reduce/reduce.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/reshape.h"
#include "op/shape/view_op.h"
#include "op/softmax_norm/softmax.h"

#include <math.h>

/* ---- what a mask leaves out ------------------------------------------------------------------------------------ */

static hki_device *device_of(const hki_attention_inputs *its)
{
    return its->query->storage->device;
}

/* full of that number, which broadcasts to anything. */
static hk_array *number(const hki_attention_inputs *its, double value)
{
    const hki_full_options full = {.value = value, .dtype = its->query->dtype};
    return hki_op_call(&hki_op_full, NULL, 0, &full, (hk_device){device_of(its)}, NULL);
}

/* x, and 0 where the mask has no key to be seen, whatever x is there. */
static hk_array *where_seen(const hki_attention_inputs *its, hk_array *is_seen, hk_array *x)
{
    return hki_op_call3(&hki_op_where, is_seen, x, number(its, 0), NULL);
}

static hk_array *any_along(hk_array *is_seen, int64_t axis)
{
    const hki_sum_options along = {.axes = {.ndim = 1, .dims = {axis}}, .keepdims = true};
    return hki_op_call1(&hki_op_any, is_seen, &along);
}

static hk_array *turned(hk_array *x)
{
    static const int64_t last[] = {-1, -2};
    return hki_op_call1(&hki_op_swapaxes, x, last);
}

static hk_array *multiply(hk_array *a, hk_array *b)
{
    return hki_op_call2(&hki_op_matmul, a, b, NULL);
}

/* Which keys which queries see, by a mask of at least two axes. */
static hk_array *seen_of(const hki_attention_inputs *its, hk_array *mask)
{
    if (mask->dtype == HK_BOOL)
        return mask;
    const bool records = hki_hooks.tape_set_recording(false);
    hk_array *is_seen = hki_op_call2(&hki_op_not_equal, mask, number(its, -INFINITY), NULL);
    hki_hooks.tape_set_recording(records);
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
 * of nothing. Without a mask it is NULL, and what counts of it, too. */
typedef struct parts {
    hk_array *query, *key, *value, *mask, *is_seen;
    hk_array *sees; /* (…, n or 1, 1): queries that see a key */
    hk_array *keys; /* (…, m or 1, 1): keys that a query sees */
} parts;

static parts parts_of(const hki_attention_inputs *its)
{
    if (!its->mask)
        return (parts){.query = its->query, .key = its->key, .value = its->value};
    hk_array *mask = as_matrix(its->mask), *is_seen = seen_of(its, mask);
    hk_array *sees = any_along(is_seen, -1), *keys = turned(any_along(is_seen, -2));
    return (parts){.query = where_seen(its, sees, its->query),
                   .key = where_seen(its, keys, its->key),
                   .value = where_seen(its, keys, its->value),
                   .mask = mask,
                   .is_seen = is_seen,
                   .sees = sees,
                   .keys = keys};
}

/* Scores where they count, and minus infinity elsewhere; 0 of a query that sees no key. */
static hk_array *masked(const hki_attention_inputs *its, const parts *of, hk_array *scores)
{
    if (of->mask->dtype != HK_BOOL)
        return hki_op_call2(&hki_op_add, scores, where_seen(its, of->sees, of->mask), NULL);
    hk_array *never =
        hki_op_call3(&hki_op_where, of->sees, number(its, -INFINITY), number(its, 0), NULL);
    return hki_op_call3(&hki_op_where, of->is_seen, scores, never, NULL);
}

/* The smaller factor is scaled. */
static hk_array *scaled(const hki_attention_inputs *its, hk_array *query)
{
    return hki_op_call_number(&hki_op_multiply_scalar, query, its->of.scale);
}

static hk_array *triangle(const hki_attention_inputs *its, hk_array *x, double other)
{
    return hki_lower_triangle(&(const hki_call){.device = device_of(its)}, x, other);
}

static hk_array *weights_of(const hki_attention_inputs *its, const parts *of)
{
    const hki_softmax_options along = {-1};
    hk_array *scores = multiply(scaled(its, of->query), turned(of->key));
    if (of->mask)
        scores = masked(its, of, scores);
    if (its->of.causal)
        scores = triangle(its, scores, -INFINITY);
    return hki_op_call1(&hki_op_softmax, scores, &along);
}

hk_array *hki_attention_composed(const hki_attention_inputs *its)
{
    const parts of = parts_of(its);
    hk_array *y = multiply(weights_of(its, &of), of.value);
    return of.mask ? where_seen(its, of.sees, y) : y;
}

/* ---- gradients ------------------------------------------------------------------------------------------------- */

/* What comes for the scores, where they count. */
static hk_array *slopes_of(const hki_attention_inputs *its, const parts *of, hk_array *weights,
                           hk_array *dy)
{
    hk_array *dweights = multiply(dy, turned(of->value));
    hk_array *slopes = hki_op_call2(&hki_op_softmax_backward, weights, dweights, NULL);
    if (its->of.causal)
        return triangle(its, slopes, 0);
    if (!of->mask)
        return slopes;
    return where_seen(its, of->mask->dtype == HK_BOOL ? of->is_seen : of->sees, slopes);
}

/* All that is wanted, where a mask is. */
void hki_attention_composed_gradients(const hki_attention_inputs *its, hki_grad_call *call)
{
    const parts of = parts_of(its);
    hk_array *dy = of.mask ? where_seen(its, of.sees, call->dy) : call->dy;
    hk_array *weights = weights_of(its, &of), *slopes = slopes_of(its, &of, weights, dy);
    if (call->wanted[HKI_ATTENTION_QUERY]) {
        hk_array *dquery = scaled(its, multiply(slopes, of.key));
        call->dx[HKI_ATTENTION_QUERY] = of.mask ? where_seen(its, of.sees, dquery) : dquery;
    }
    if (call->wanted[HKI_ATTENTION_KEY]) {
        hk_array *dkey = multiply(turned(slopes), scaled(its, of.query));
        call->dx[HKI_ATTENTION_KEY] = of.mask ? where_seen(its, of.keys, dkey) : dkey;
    }
    if (call->wanted[HKI_ATTENTION_VALUE]) {
        hk_array *dvalue = multiply(turned(weights), dy);
        call->dx[HKI_ATTENTION_VALUE] = of.mask ? where_seen(its, of.keys, dvalue) : dvalue;
    }
    if (call->wanted[HKI_ATTENTION_MASK])
        call->dx[HKI_ATTENTION_MASK] =
            hki_op_sum_to_shape(slopes, &call->input_shape[HKI_ATTENTION_MASK]);
}

/* ---- gradients of gradients ------------------------------------------------------------------------------------ */

static hk_array *add(hk_array *x, hk_array *y)
{
    return x && y ? hki_op_call2(&hki_op_add, x, y, NULL) : x ? x : y;
}

static hk_array *subtract(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_subtract, x, y, NULL);
}

static hk_array *times(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

/* The sum along rows of x y. */
static hk_array *dots(hk_array *x, hk_array *y)
{
    const hki_sum_options along = {.axes = {.ndim = 1, .dims = {-1}}, .keepdims = true};
    return hki_op_call1(&hki_op_sum, times(x, y), &along);
}

static hk_array *softmax_slope(hk_array *weights, hk_array *dy)
{
    return hki_op_call2(&hki_op_softmax_backward, weights, dy, NULL);
}

/* x where it counts, by one of the parts; NULL: nothing came. */
static hk_array *kept(const hki_attention_inputs *its, hk_array *is_seen, hk_array *x)
{
    return x && is_seen ? where_seen(its, is_seen, x) : x;
}

/* The gradients dq, dk and dv are s J(dP) k, s J(dP)^T q and P^T dy, with scores S, weights
 * P = softmax(S), dP = dy v^T and J(u) = P (u - sum of P u), which is its own transpose. With a, b
 * and c what comes for these three, w = s (a k^T + q b^T) what comes for J(dP), and
 * u = w (dP - sum of P dP) - dP (sum of P w) + dy c^T what comes for P, the gradients here are
 *     of S:  J(u)            of q:  s (J(u) k + J(dP) b)      of v:   J(w)^T dy
 *     of dy: J(w) v + P c    of k:  s (J(u)^T q + J(dP)^T a)  of mask: as of S */
typedef struct second {
    const hki_attention_inputs *its;
    parts of;
    hk_array *dy, *a, *b, *c;
    hk_array *weights, *dweights; /* P, dP */
    hk_array *w;                  /* NULL where neither a nor b came */
} second;

static second second_of(const hki_attention_inputs *its, const hki_grad_call *call, int dy)
{
    second self = {.its = its, .of = parts_of(its)};
    const parts *of = &self.of;
    self.dy = kept(its, of->sees, call->inputs[dy]);
    self.a = kept(its, of->sees, call->dys[HKI_ATTENTION_QUERY]);
    self.b = kept(its, of->keys, call->dys[HKI_ATTENTION_KEY]);
    self.c = kept(its, of->keys, call->dys[HKI_ATTENTION_VALUE]);
    self.weights = weights_of(its, of);
    self.dweights = multiply(self.dy, turned(of->value));
    self.w = add(self.a ? multiply(scaled(its, self.a), turned(of->key)) : NULL,
                 self.b ? multiply(scaled(its, of->query), turned(self.b)) : NULL);
    return self;
}

/* What comes for the scores. */
static hk_array *score_slopes(const second *self)
{
    hk_array *p = self->weights, *dp = self->dweights, *w = self->w, *u = NULL;
    if (w)
        u = subtract(times(w, subtract(dp, dots(p, dp))), times(dp, dots(p, w)));
    return softmax_slope(p, add(u, self->c ? multiply(self->dy, turned(self->c)) : NULL));
}

static hk_array *by_query(const second *self, hk_array *u, hk_array *slopes)
{
    hk_array *sum = add(multiply(u, self->of.key), self->b ? multiply(slopes, self->b) : NULL);
    return kept(self->its, self->of.sees, scaled(self->its, sum));
}

static hk_array *by_key(const second *self, hk_array *u, hk_array *slopes)
{
    hk_array *sum = add(multiply(turned(u), self->of.query),
                        self->a ? multiply(turned(slopes), self->a) : NULL);
    return kept(self->its, self->of.keys, scaled(self->its, sum));
}

static hk_array *by_value(const second *self)
{
    return kept(self->its, self->of.keys,
                multiply(turned(softmax_slope(self->weights, self->w)), self->dy));
}

static hk_array *by_dy(const second *self)
{
    hk_array *sum =
        add(self->w ? multiply(softmax_slope(self->weights, self->w), self->of.value) : NULL,
            self->c ? multiply(self->weights, self->c) : NULL);
    return kept(self->its, self->of.sees, sum);
}

void hki_attention_second(const hki_attention_inputs *its, hki_grad_call *call, int dy, int mask)
{
    const second self = second_of(its, call, dy);
    hk_array *slopes = softmax_slope(self.weights, self.dweights), *u = score_slopes(&self);
    if (call->wanted[HKI_ATTENTION_QUERY])
        call->dx[HKI_ATTENTION_QUERY] = by_query(&self, u, slopes);
    if (call->wanted[HKI_ATTENTION_KEY])
        call->dx[HKI_ATTENTION_KEY] = by_key(&self, u, slopes);
    if (call->wanted[HKI_ATTENTION_VALUE] && self.w)
        call->dx[HKI_ATTENTION_VALUE] = by_value(&self);
    if (call->wanted[dy])
        call->dx[dy] = by_dy(&self);
    if (call->wanted[mask])
        call->dx[mask] = hki_op_sum_to_shape(u, &call->input_shape[mask]);
}
