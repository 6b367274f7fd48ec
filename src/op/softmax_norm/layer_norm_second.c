/* Gradients of the gradients of layer norm, RMS norm and group norm. Of a row x, with g = dy, c = gamma, u = c g,
 * r = 1 / sqrt(variance + eps), h = r (x - mean) and means m over the row, these gradients are
 *
 *     dx = r D(u), D(u) = u - m(u) - h m(u h),    dgamma = sum(g h),    dbeta = sum(g)
 *
 * and without m(u) where the mean is not taken away. D is its own transpose, and h moves by r D of what x moves by. With A, b and d
 * what comes for these three, the gradients here are
 *
 *     of g:  c r D(A) + b h + d
 *     of c:  sum(g r D(A))
 *     of x:  r D(b g) - r^2 (D(A m(u h) + u m(A h)) + h m(A D(u))) */
#include "op/elementwise/elementwise.h"
#include "op/reduce/reduce.h"
#include "op/shape/reshape.h"
#include "op/softmax_norm/layer_norm.h"

enum { X, DY, SAVED, GAMMA };        /* inputs of the gradients */
enum { CHANNEL_AXIS = 2, AXES = 4 }; /* x as samples, groups, channels of a group, positions */

static hk_array *multiply(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

static hk_array *subtract(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_subtract, x, y, NULL);
}

static hk_array *add(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_add, x, y, NULL);
}

static hk_array *reshape(hk_array *x, const hk_dims *shape)
{
    return hki_op_call1(&hki_op_reshape, x, &(const hki_reshape_options){.shape = *shape});
}

/* The mean of a row: of a group's channels and positions. */
static hk_array *mean(hk_array *x)
{
    const hki_sum_options row = {.axes = HKI_SHAPE(CHANNEL_AXIS, CHANNEL_AXIS + 1),
                                 .keepdims = true};
    return hki_op_call1(&hki_op_mean, x, &row);
}

/* Of one pass over it. */
typedef struct state {
    bool is_centred;
    hk_dims rows, channels; /* x, and one value for each channel, with AXES axes */
    hk_array *g, *r, *h;
} state;

static void shapes_init(state *self, const hki_grad_call *call)
{
    const hki_layer_norm_backward_options *of = call->options;
    const hk_dims *x = &call->input_shape[X];
    const hki_row_norm_shape shape = hki_layer_norm_shape(x->ndim, x->dims, of);
    const int64_t channels = of->groups ? x->dims[1] / of->groups : shape.size;
    self->is_centred = of->is_centred;
    self->rows = (hk_dims)HKI_SHAPE(shape.rows / shape.groups, shape.groups, channels, shape.inner);
    self->channels = (hk_dims)HKI_SHAPE(1, shape.groups, channels, 1);
}

/* What was saved is not on the tape, so it is computed once more, from x. */
static void state_init(state *self, const hki_grad_call *call)
{
    const hki_scalar_options eps = {((const hki_layer_norm_backward_options *)call->options)->eps};
    shapes_init(self, call);
    hk_array *x = reshape(call->inputs[X], &self->rows);
    for (int i = 0; i < 2 && self->is_centred;
         i++) /* a mean in two parts: rounding the first loses some */
        x = subtract(x, mean(x));
    hk_array *squares = mean(hki_op_call1(&hki_op_square, x, NULL));
    self->r = hki_op_call1(&hki_op_rsqrt, hki_op_call1(&hki_op_add_scalar, squares, &eps), NULL);
    self->h = multiply(x, self->r);
    self->g = call->inputs[DY] ? reshape(call->inputs[DY], &self->rows) : NULL;
}

/* D(u) */
static hk_array *projected(const state *self, hk_array *u)
{
    hk_array *rest = self->is_centred ? subtract(u, mean(u)) : u;
    return subtract(rest, multiply(self->h, mean(multiply(u, self->h))));
}

/* The gradient of dx by x, with u = c g. */
static hk_array *by_x(const state *self, hk_array *A, hk_array *u)
{
    hk_array *inner =
        add(multiply(A, mean(multiply(u, self->h))), multiply(u, mean(multiply(A, self->h))));
    hk_array *by_r = multiply(self->h, mean(multiply(A, projected(self, u))));
    hk_array *scale =
        hki_op_call1(&hki_op_negative, hki_op_call1(&hki_op_square, self->r, NULL), NULL);
    return multiply(scale, add(projected(self, inner), by_r));
}

/* The sums over what a channel, or a normalised element, is seen by. */
static hk_array *sum_of_channels(hk_array *x)
{
    const hki_sum_options others = {.axes = HKI_SHAPE(0, CHANNEL_AXIS + 1)};
    return hki_op_call1(&hki_op_sum, x, &others);
}

void hki_layer_norm_second(hki_grad_call *call)
{
    state self;
    state_init(&self, call);
    hk_array *A = reshape(call->dy, &self.rows);
    hk_array *c = call->inputs[GAMMA] ? reshape(call->inputs[GAMMA], &self.channels) : NULL;
    if (call->wanted[X])
        call->dx[X] =
            reshape(by_x(&self, A, c ? multiply(c, self.g) : self.g), &call->input_shape[X]);
    if (!call->wanted[DY] && !call->wanted[GAMMA])
        return;
    hk_array *through = multiply(self.r, projected(&self, A));
    if (call->wanted[DY])
        call->dx[DY] = reshape(c ? multiply(c, through) : through, &call->input_shape[DY]);
    if (call->wanted[GAMMA])
        call->dx[GAMMA] =
            reshape(sum_of_channels(multiply(self.g, through)), &call->input_shape[GAMMA]);
}

void hki_layer_norm_weigh_second(hki_grad_call *call)
{
    state self;
    state_init(&self, call);
    hk_array *b = reshape((hk_index)(call->dy, 0, 0), &self.channels);
    if (call->wanted[X])
        call->dx[X] =
            reshape(multiply(self.r, projected(&self, multiply(b, self.g))), &call->input_shape[X]);
    if (!call->wanted[DY])
        return;
    hk_array *d = reshape((hk_index)(call->dy, 0, 1), &self.channels);
    call->dx[DY] = reshape(add(multiply(b, self.h), d), &call->input_shape[DY]);
}
