/* The gradient of batch_norm's gradient. Of a channel, with N elements x, g = dy, c = gamma, r = 1 / sqrt(variance + eps),
 * h = r (x - mean) and means m over the channel, that gradient is
 *
 *     dx = c r D, D = g - m(g) - h m(g h),    dgamma = sum(g h),    dbeta = sum(g)
 *
 * With A, b and d what comes for these three, the gradients here are
 *
 *     of g:  c r (A - m(A) - h m(A h)) + b h + d
 *     of c:  r sum(A D)
 *     of x:  P(b g - c r (A m(g h) + g m(A h))) - c r^2 h m(A D), with P(u) = r (u - m(u) - h m(u h))
 *
 * and, where the statistics are given, so that D is g: of g: c r A + b h + d, of c: r sum(A g), of x: r b g. */
#include "op/elementwise/elementwise.h"
#include "op/reduce/reduce.h"
#include "op/softmax_norm/batch_norm.h"

typedef struct channel_sums {
    hki_sum_options kept; /* sums over all axes but theirs, which stay */
    hk_dims shape;        /* of such a sum */
    double count;         /* elements of one */
} channel_sums;

static channel_sums channels_of(const hk_dims *x)
{
    channel_sums self = {.kept = {.keepdims = true}, .shape = *x, .count = 1};
    for (int i = 0; i < x->ndim; i++) {
        if (i == 1)
            continue;
        self.kept.axes.dims[self.kept.axes.ndim++] = i;
        self.shape.dims[i] = 1;
        self.count *= (double)x->dims[i];
    }
    return self;
}

static hk_array *multiply(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

static hk_array *subtract(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_subtract, x, y, NULL);
}

/* x, or what it and y are together; either may be NULL: nothing. */
static hk_array *sum_of(hk_array *x, hk_array *y)
{
    return !x ? y : !y ? x : hki_op_call2(&hki_op_add, x, y, NULL);
}

static hk_array *sum(const channel_sums *self, hk_array *x)
{
    return hki_op_call1(&hki_op_sum, x, &self->kept);
}

static hk_array *mean(const channel_sums *self, hk_array *x)
{
    return hki_op_call1(&hki_op_mean, x, &self->kept);
}

/* One value for each channel, as it goes with x; and back. */
static hk_array *seen(hk_array *x, const hk_dims *shape)
{
    if (x->failed)
        return x;
    int64_t strides[HK_MAX_NDIM] = {0};
    const int from = x->shape.ndim > 1, to = shape->ndim > 1;
    strides[to] = x->strides[from];
    return hki_array_view(x, *shape, strides, x->offset);
}

/* Of one pass over it. */
typedef struct state {
    channel_sums channels;
    bool given;
    hk_array *g, *c, *r, *h;
} state;

/* u - m(u) - h m(u h), or u where the statistics are given. */
static hk_array *centred(const state *self, hk_array *u)
{
    if (self->given)
        return u;
    const channel_sums *channels = &self->channels;
    return subtract(subtract(u, mean(channels, u)),
                    multiply(self->h, mean(channels, multiply(u, self->h))));
}

static hk_array *row(hk_array *saved, int index)
{
    return (hk_index)(saved, 0, index);
}

static void state_init(state *self, const hki_grad_call *call)
{
    const hki_batch_norm_backward_options *options = call->options;
    hk_array *x = call->inputs[0], *saved = call->inputs[3];
    self->channels = channels_of(&call->input_shape[0]);
    self->given = options->given;
    self->g = call->inputs[1];
    self->c = seen(call->inputs[2], &self->channels.shape);
    if (self->given) {
        self->r = seen(row(saved, 1), &self->channels.shape);
        self->h = multiply(subtract(x, seen(row(saved, 0), &self->channels.shape)), self->r);
        return;
    }
    hk_array *distance = subtract(x, mean(&self->channels, x));
    distance =
        subtract(distance, mean(&self->channels, distance)); /* what rounding the mean lost */
    hk_array *variance = mean(&self->channels, hki_op_call1(&hki_op_square, distance, NULL));
    const hki_scalar_options eps = {options->eps};
    self->r = hki_op_call1(&hki_op_rsqrt, hki_op_call1(&hki_op_add_scalar, variance, &eps), NULL);
    self->h = multiply(distance, self->r);
}

static hk_array *by_x(const state *self, hk_array *A, hk_array *b)
{
    hk_array *scaled = multiply(self->c, self->r), *u = b ? multiply(b, self->g) : NULL;
    if (self->given)
        return u ? multiply(u, self->r) : NULL;
    const channel_sums *channels = &self->channels;
    if (A) {
        hk_array *inner = sum_of(multiply(A, mean(channels, multiply(self->g, self->h))),
                                 multiply(self->g, mean(channels, multiply(A, self->h))));
        hk_array *less = hki_op_call1(&hki_op_negative, multiply(scaled, inner), NULL);
        u = sum_of(u, less);
    }
    hk_array *dx = multiply(self->r, centred(self, u));
    if (!A)
        return dx;
    hk_array *last = mean(channels, multiply(A, centred(self, self->g)));
    return subtract(dx, multiply(multiply(multiply(scaled, self->r), self->h), last));
}

static hk_array *by_g(const state *self, hk_array *A, hk_array *b, hk_array *d)
{
    hk_array *dg = A ? multiply(multiply(self->c, self->r), centred(self, A)) : NULL;
    dg = sum_of(dg, b ? multiply(b, self->h) : NULL);
    return dg || !d ? sum_of(dg, d)
                    : sum_of(d, hki_op_call1(&hki_op_zeros_like, self->g, NULL)); /* stretched */
}

void hki_batch_norm_second(hki_grad_call *call)
{
    state self;
    state_init(&self, call);
    const hk_dims *kept = &self.channels.shape;
    hk_array *A = call->dys[0], *b = NULL, *d = NULL;
    if (call->dys[1]) {
        b = seen(row(call->dys[1], 0), kept);
        d = seen(row(call->dys[1], 1), kept);
    }
    if (call->wanted[0] && (A || b))
        call->dx[0] = by_x(&self, A, b);
    if (call->wanted[1])
        call->dx[1] = by_g(&self, A, b, d);
    if (call->wanted[2] && A)
        call->dx[2] =
            seen(multiply(self.r, sum(&self.channels, multiply(A, centred(&self, self.g)))),
                 &call->input_shape[2]);
}
