/* Losses, and steps of optimisers. */
#include "compute.h"
#include "rows.h"

#include <inttypes.h>

static bool read_reduction(onnx_call *call, int64_t *reduction)
{
    if (onnx_text_is(call, "reduction", "none", "mean"))
        *reduction = HK_LOSS_NONE;
    else if (onnx_text_is(call, "reduction", "sum", "mean"))
        *reduction = HK_LOSS_SUM;
    else if (onnx_text_is(call, "reduction", "mean", "mean"))
        *reduction = HK_LOSS_MEAN;
    else
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "reduction must be none, sum or mean");
    return true;
}

/* x is (n, classes, …), labels (n, …), weights (classes). */
static bool labels_fit(onnx_call *call, hk_array *x, hk_array *labels, hk_array *weights)
{
    if (!onnx_needs_floats(call, x, "input 0", 2))
        return false;
    if (!labels)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the labels are missing");
    const hk_dims shape = hk_dims_get(x), found = hk_dims_get(labels);
    bool fits = found.ndim == shape.ndim - 1 && found.dims[0] == shape.dims[0];
    for (int i = 1; fits && i < found.ndim; i++)
        fits = found.dims[i] == shape.dims[i + 1];
    if (!fits)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "the labels have %d axes, and must have the shape of input 0 without "
                           "the axis of classes",
                           found.ndim);
    if (weights && (hk_ndim(weights) != 1 || hk_dim(weights, 0) != shape.dims[1]))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "the weights must have one axis of %" PRId64 ", the classes",
                           shape.dims[1]);
    return true;
}

static bool run_nll(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *labels = onnx_in(call, 1), *weights = onnx_in(call, 2);
    hk_nll_loss_options options = {.axis = 1,
                                   .ignores = onnx_attribute(call, "ignore_index") != NULL,
                                   .ignored = onnx_int(call, "ignore_index", 0)};
    if (!labels_fit(call, x, labels, weights) || !read_reduction(call, &options.reduction))
        return false;
    hk_array *wide = onnx_wide(x);
    hk_array *y = hk_nll_loss(wide, onnx_to(labels, HK_I64), onnx_to(weights, hk_array_dtype(wide)),
                              &options);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

static bool run_softmax_cross_entropy(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *labels = onnx_in(call, 1), *weights = onnx_in(call, 2);
    hk_cross_entropy_loss_options options = {.axis = 1,
                                             .ignores =
                                                 onnx_attribute(call, "ignore_index") != NULL,
                                             .ignored = onnx_int(call, "ignore_index", 0)};
    if (!labels_fit(call, x, labels, weights) || !read_reduction(call, &options.reduction))
        return false;
    hk_array *wide = onnx_wide(x);
    hk_array *y = hk_cross_entropy_loss(wide, onnx_to(labels, HK_I64),
                                        onnx_to(weights, hk_array_dtype(wide)), &options);
    if (!onnx_out(call, 0, onnx_to(y, hk_array_dtype(x))))
        return false;
    return !onnx_wants(call, 1) ||
           onnx_out(call, 1, onnx_to(hk_log_softmax(wide, 1), hk_array_dtype(x)));
}

/* ---- ai.onnx.preview.training: steps of optimisers ------------------------------------------- */

/* One parameter x with its gradient and what is kept of it, and the learning rate and number of
 * updates, of its dtype. */
typedef struct update {
    hk_array *x, *gradient, *kept[2], *rate, *step;
} update;

static hk_array *scaled(hk_array *x, double by)
{
    return hk_multiply(x, onnx_number_like(by, x));
}

/* Parameter i of `count`; inputs are all parameters, all gradients, all that is kept. */
static bool read_update(onnx_call *call, int i, int count, int kept, update *self)
{
    for (int j = 0; j < 2 + kept; j++) {
        hk_array *x = onnx_in(call, 2 + j * count + i);
        if (!onnx_needs_floats(call, x, "a parameter, gradient or state", 0))
            return false;
        if (j && !onnx_same_dims(hk_dims_get(x), hk_dims_get(onnx_in(call, 2 + i))))
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "input %d must have the shape of input %d", 2 + j * count + i,
                               2 + i);
        *(j == 0 ? &self->x : j == 1 ? &self->gradient : &self->kept[j - 2]) = onnx_wide(x);
    }
    const hk_dtype dtype = hk_array_dtype(self->x);
    hk_array *rate = onnx_in(call, 0), *step = onnx_in(call, 1);
    if (!rate || !step || hk_size(rate) != 1 || hk_size(step) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "R and T must be one number each");
    self->rate = hk_reshape(onnx_to(rate, dtype), hk_shape());
    self->step = hk_reshape(onnx_to(step, dtype), hk_shape());
    self->gradient =
        hk_add(scaled(self->x, onnx_float(call, "norm_coefficient", 0)), self->gradient);
    return true;
}

static void adagrad(onnx_call *call, update *self)
{
    hk_array *slower = scaled(self->step, onnx_float(call, "decay_factor", 0));
    hk_array *rate = hk_divide(self->rate, hk_add(slower, onnx_number_like(1, slower)));
    self->kept[0] = hk_add(self->kept[0], hk_square(self->gradient));
    hk_array *root = hk_sqrt(self->kept[0]);
    root = hk_add(root, onnx_number_like(onnx_float(call, "epsilon", (double)1e-6f), root));
    self->x = hk_subtract(self->x, hk_divide(hk_multiply(rate, self->gradient), root));
}

/* 1 - by ** step */
static hk_array *rest(double by, hk_array *step)
{
    return hk_subtract(onnx_number_like(1, step), hk_power(onnx_number_like(by, step), step));
}

static void adam(onnx_call *call, update *self)
{
    const double alpha = onnx_float(call, "alpha", (double).9f);
    const double beta = onnx_float(call, "beta", (double).999f);
    self->kept[0] = hk_add(scaled(self->kept[0], alpha), scaled(self->gradient, 1 - alpha));
    self->kept[1] =
        hk_add(scaled(self->kept[1], beta), scaled(hk_square(self->gradient), 1 - beta));
    hk_array *root = hk_sqrt(self->kept[1]);
    root = hk_add(root, onnx_number_like(onnx_float(call, "epsilon", (double)1e-6f), root));
    hk_array *adjusted = hk_divide(hk_multiply(self->rate, hk_sqrt(rest(beta, self->step))),
                                   rest(alpha, self->step));
    hk_array *is_first = hk_less_equal(self->step, onnx_number_like(0, self->step));
    hk_array *rate = hk_where(is_first, self->rate, adjusted);
    self->x = hk_subtract(self->x, hk_multiply(rate, hk_divide(self->kept[0], root)));
    self->x = scaled(self->x, 1 - onnx_float(call, "norm_coefficient_post", 0));
}

static void momentum(onnx_call *call, update *self)
{
    const double alpha = onnx_float(call, "alpha", 0);
    hk_array *one = onnx_number_like(1, self->step);
    hk_array *beta = hk_where(hk_greater(self->step, onnx_number_like(0, self->step)),
                              scaled(one, onnx_float(call, "beta", 0)), one);
    self->kept[0] = hk_add(scaled(self->kept[0], alpha), hk_multiply(beta, self->gradient));
    hk_array *by = self->kept[0];
    if (onnx_text_is(call, "mode", "nesterov", "standard"))
        by = hk_add(self->gradient, scaled(by, alpha));
    self->x = hk_subtract(self->x, hk_multiply(self->rate, by));
}

/* All parameters, then all of each thing that is kept. */
static bool update_all(onnx_call *call, int kept, void (*step)(onnx_call *call, update *self))
{
    const int inputs = onnx_in_count(call) - 2, count = inputs / (2 + kept);
    if (inputs < 2 + kept || inputs % (2 + kept))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "%d inputs behind R and T, but must be a multiple of %d", inputs,
                           2 + kept);
    for (int i = 0; i < count; i++) {
        update self;
        if (!read_update(call, i, count, kept, &self))
            return false;
        step(call, &self);
        for (int j = 0; j < 1 + kept; j++) {
            hk_array *y = j ? self.kept[j - 1] : self.x;
            const int of = 2 + (j ? j + 1 : 0) * count + i;
            if (!onnx_out(call, j * count + i, onnx_to(y, hk_array_dtype(onnx_in(call, of)))))
                return false;
        }
    }
    return true;
}

static bool run_adagrad(onnx_call *call)
{
    return update_all(call, 1, adagrad);
}

static bool run_adam(onnx_call *call)
{
    return update_all(call, 2, adam);
}

static bool run_momentum(onnx_call *call)
{
    if (!onnx_text_is(call, "mode", "nesterov", NULL) &&
        !onnx_text_is(call, "mode", "standard", NULL))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "mode must be standard or nesterov");
    return update_all(call, 1, momentum);
}

const onnx_row onnx_rows_loss[] = {
    {"NegativeLogLikelihoodLoss", run_nll, 0},
    {"SoftmaxCrossEntropyLoss", run_softmax_cross_entropy, 0},
    {"ai.onnx.preview.training:Adagrad", run_adagrad, 0},
    {"ai.onnx.preview.training:Adam", run_adam, 0},
    {"ai.onnx.preview.training:Momentum", run_momentum, 0},
    {NULL, NULL, 0},
};
