/* Batch normalisation whose statistics are over several devices and ranks: sums of each go together and come back, by moves that are
 * on the tape, so that its gradient is that of the calls it is made of. */
#include "base/option.h"
#include "base/source.h"
#include "base/status.h"
#include "base/text.h"
#include "nn/module.h"
#include "op/op.h"
#include "op/softmax_norm/moving_average.h"
#include "split/split.h"

#include <hocket/autograd.h>
#include <hocket/ops.h>

#include <math.h>

static const char operation[] = "batch_norm_over";

/* A batch in parts. */
typedef struct normalizing {
    hk_group *group; /* NULL: one rank */
    hk_array *const *xs, *const *gammas, *const *betas, *const *means, *const *variances;
    int n;
    double eps, momentum;
    hk_device devices[HKI_SPLIT_MAX];
} normalizing;

/* What is known of all parts, on the first device: of each channel, but the count. */
typedef struct statistics {
    hk_array *mean, *variance; /* on the tape */
    hk_array *unbiased;        /* off it */
    hk_array *count;           /* elements of a channel */
} statistics;

/* ---- checks ----------------------------------------------------------------------------------------------------------- */

static bool is_there(hk_array *x)
{
    const hk_status *gone = hki_array_gone(x);
    hk_status_release(gone);
    return !gone && !x->failed;
}

/* One value for each channel of x. */
static bool fits(const hk_array *values, const hk_array *x)
{
    return values->dtype == x->dtype && values->shape.ndim == 1 &&
           values->shape.dims[0] == x->shape.dims[1];
}

/* False with what is wrong of part i. */
static bool check_part(const normalizing *self, int i, char *why, size_t bytes)
{
    hk_array *const values[] = {self->gammas[i], self->betas[i], self->means[i],
                                self->variances[i]};
    static const char *const names[] = {"gamma", "beta", "mean", "variance"};
    hk_array *x = self->xs[i];
    char its[224], text[224];
    if (!is_there(x)) {
        hki_format(why, bytes, "x %d %s", i, x ? "has failed, or cannot be used" : "is NULL");
        return false;
    }
    hki_array_describe(x, text, sizeof text);
    if (x->shape.ndim < 2 || (x->dtype != HK_F32 && x->dtype != HK_F64)) {
        hki_format(why, bytes, "x %d is %s, but must be float32 or float64 (samples, channels, …)",
                   i, text);
        return false;
    }
    for (int k = 0; k < 4; k++) {
        if (!is_there(values[k])) {
            hki_format(why, bytes, "%s %d %s", names[k], i,
                       values[k] ? "has failed, or cannot be used" : "is NULL");
            return false;
        }
        if (!fits(values[k], x)) {
            hki_array_describe(values[k], its, sizeof its);
            hki_format(why, bytes, "%s %d is %s, but must have one value for each channel of x %s",
                       names[k], i, its, text);
            return false;
        }
    }
    return true;
}

static double local_count(const normalizing *self)
{
    double count = 0;
    for (int i = 0; i < self->n; i++)
        if (self->xs[i]->shape.dims[1] > 0)
            count += (double)self->xs[i]->size / (double)self->xs[i]->shape.dims[1];
    return count;
}

static bool check(const normalizing *self, char *why, size_t bytes)
{
    *why = '\0';
    if (self->n < 1 || self->n > HKI_SPLIT_MAX || !self->xs || !self->gammas || !self->betas ||
        !self->means || !self->variances) {
        hki_format(why, bytes, "n is %d, but must be from 1 to %d, and no list NULL", self->n,
                   HKI_SPLIT_MAX);
        return false;
    }
    if (!isfinite(self->eps) || self->eps < 0) {
        hki_format(why, bytes, "eps is %g, but must be finite and not below 0", self->eps);
        return false;
    }
    for (int i = 0; i < self->n; i++)
        if (!check_part(self, i, why, bytes))
            return false;
    if (!self->group && self->xs[0]->shape.dims[1] > 0 && local_count(self) < 2) {
        hki_format(why, bytes, "the parts have %g elements for each channel, but statistics need 2",
                   local_count(self));
        return false;
    }
    return true;
}

/* ---- statistics --------------------------------------------------------------------------------------------------------- */

/* Of each channel, over all other axes, which stay with size 1. */
static hk_array *sum_of_channels(hk_array *x)
{
    hk_sum_options over = {.axes = {.ndim = x->shape.ndim - 1}, .keepdims = true};
    for (int i = 1; i < over.axes.ndim; i++)
        over.axes.dims[i] = i + 1;
    return (hk_sum)(x, &over);
}

/* The sum of the parts' sums over all ranks, on the first device. */
static hk_array *sum_of_all(const normalizing *self, hk_array *const *sums)
{
    hk_array *sum = (hk_devices_join)(sums, self->n, self->devices[0]);
    return self->group ? (hk_group_sum)(self->group, sum) : sum;
}

/* The same of the sums and, behind them, how many elements that was. */
static hk_array *sum_and_count(const normalizing *self, hk_array *const *sums, hk_array **count)
{
    hk_dims one = {.ndim = self->xs[0]->shape.ndim};
    for (int i = 0; i < one.ndim; i++)
        one.dims[i] = 1;
    *count = (hk_full)(one, local_count(self), self->xs[0]->dtype, self->devices[0]);
    if (!self->group)
        return sum_of_all(self, sums);
    hk_array *const both[] = {(hk_devices_join)(sums, self->n, self->devices[0]), *count};
    hk_array *all = (hk_group_sum)(self->group, (hk_concat)(both, 2, 1));
    const int64_t channels = self->xs[0]->shape.dims[1];
    *count = (hk_detach)((hk_slice)(all, 1, channels, channels + 1));
    return (hk_slice)(all, 1, 0, channels);
}

/* centred: each part's difference from the mean. */
static statistics find_statistics(const normalizing *self, hk_array **centred)
{
    hk_array *sums[HKI_SPLIT_MAX], *means[HKI_SPLIT_MAX];
    statistics found;
    for (int i = 0; i < self->n; i++)
        sums[i] = sum_of_channels(self->xs[i]);
    hk_array *sum = sum_and_count(self, sums, &found.count);
    found.mean = (hk_divide)(sum, found.count);
    (hk_devices_share)(found.mean, self->devices, self->n, means);
    for (int i = 0; i < self->n; i++) {
        centred[i] = (hk_subtract)(self->xs[i], means[i]);
        sums[i] = sum_of_channels((hk_square)(centred[i]));
    }
    hk_array *squares = sum_of_all(self, sums);
    found.variance = (hk_divide)(squares, found.count);
    {
        HK_PAUSE;
        found.unbiased =
            (hk_divide)(squares, hki_op_call_number(&hki_op_add_scalar, found.count, -1));
    }
    return found;
}

/* ---- what comes of them ----------------------------------------------------------------------------------------------------- */

static void fail_averages(const normalizing *self, int i, hk_array *cause, const char *why)
{
    hk_array *const averages[] = {self->means[i], self->variances[i]};
    for (int k = 0; k < 2; k++)
        if (averages[k])
            hki_array_fail_in_place(averages[k], operation, &cause, cause != NULL,
                                    HK_INVALID_ARGUMENT, "%s", why);
}

static void update_average(hk_array *average, hk_array *value, double momentum)
{
    const hki_moving_average_options options = {.weight = momentum, .factor = 1};
    hk_array *here = (hk_reshape)((hk_to_device)(value, hk_array_device(average)),
                                  hk_shape(average->shape.dims[0]));
    hki_op_call_into(&hki_op_moving_average, (hk_array *const[]){average, here}, 2, &options,
                     average);
}

static void update_averages(const normalizing *self, const statistics *found)
{
    HK_PAUSE;
    char why[128];
    const bool is_good = self->momentum >= 0 && self->momentum <= 1;
    hki_format(why, sizeof why, "momentum is %g, but must be in [0, 1]", self->momentum);
    for (int i = 0; i < self->n; i++) {
        if (!is_good) {
            fail_averages(self, i, NULL, why);
            continue;
        }
        update_average(self->means[i], found->mean, self->momentum);
        update_average(self->variances[i], found->unbiased, self->momentum);
    }
}

/* As many axes as x, all of size 1 but the channels'. */
static hk_array *along_channels(hk_array *values, const hk_array *x)
{
    hk_dims shape = {.ndim = x->shape.ndim};
    for (int i = 0; i < shape.ndim; i++)
        shape.dims[i] = i == 1 ? x->shape.dims[1] : 1;
    return (hk_reshape)(values, shape);
}

static void normalize(const normalizing *self, hk_array **ys)
{
    hk_array *centred[HKI_SPLIT_MAX], *inverse[HKI_SPLIT_MAX];
    const statistics found = find_statistics(self, centred);
    hk_array *deviation =
        (hk_rsqrt)(hki_op_call_number(&hki_op_add_scalar, found.variance, self->eps));
    (hk_devices_share)(deviation, self->devices, self->n, inverse);
    for (int i = 0; i < self->n; i++) {
        const hk_array *x = self->xs[i];
        hk_array *scale = (hk_multiply)(inverse[i], along_channels(self->gammas[i], x));
        ys[i] = (hk_add)((hk_multiply)(centred[i], scale), along_channels(self->betas[i], x));
    }
    update_averages(self, &found);
}

static void refuse(const normalizing *self, hk_array **ys, const char *why)
{
    hki_split_refuse(operation, self->xs, self->n, ys, self->n, "%s", why);
    for (int i = 0; ys && i < self->n && i < HKI_SPLIT_MAX && self->means && self->variances; i++)
        fail_averages(self, i, ys[i], "the batch could not be normalised");
}

void(hk_batch_norm_over)(hk_group *group, hk_array *const *xs, hk_array *const *gammas,
                         hk_array *const *betas, hk_array *const *means, hk_array *const *variances,
                         int n, const hk_batch_norm_train_options *options, hk_array **ys)
{
    HKI_TAKE_OPTIONS(hk_batch_norm_train_options, options);
    normalizing self = {.group = group && hk_group_size(group) > 1 ? group : NULL,
                        .xs = xs,
                        .gammas = gammas,
                        .betas = betas,
                        .means = means,
                        .variances = variances,
                        .n = n,
                        .eps = hki_option_or(options ? options->eps : 0, 1e-5),
                        .momentum = hki_option_or(options ? options->momentum : 0, 0.1)};
    char why[512];
    if (!ys || !check(&self, why, sizeof why)) {
        refuse(&self, ys, ys ? why : "ys is NULL");
        return;
    }
    for (int i = 0; i < n; i++)
        self.devices[i] = hk_array_device(xs[i]);
    {
        HK_SCOPE;
        normalize(&self, ys);
        for (int i = 0; i < n; i++)
            hk_take(ys[i]);
    }
    for (int i = 0; i < n; i++)
        hki_scope_add(ys[i]);
}

/* ---- the layer ------------------------------------------------------------------------------------------------------------------ */

typedef struct over_layer {
    hk_group *group;
    hk_batch_norm_train_options options;
} over_layer;

static hk_array *layer_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const over_layer *layer = self->options;
    hk_array *refused = NULL, *x = hki_module_input(inputs, 2, self->kind, &refused), *y = NULL;
    (void)count;
    if (!x)
        return refused;
    hki_batch_norm_parts its = hki_batch_norm_parts_of(self, x);
    if (self->is_predicting)
        return (hk_batch_norm)(x, its.gamma, its.beta, its.mean, its.variance,
                               &(hk_batch_norm_options){.eps = layer->options.eps});
    (hk_batch_norm_over)(layer->group, &x, &its.gamma, &its.beta, &its.mean, &its.variance, 1,
                         &layer->options, &y);
    return y;
}

hk_module *hk_batch_norm_over_layer(hk_group *group, double eps, double momentum)
{
    const over_layer layer = {
        .group = group,
        .options = {.eps = hki_option_or(eps, 1e-5), .momentum = hki_option_or(momentum, 0.1)}};
    hk_module *self = hki_layer_create("batch_norm_over", layer_forward, &layer, sizeof layer);
    const hk_status *status = hk_group_status(group);
    if (!hk_ok(status))
        hki_module_fail(self, hk_status_code(status), "%s", hk_status_message(status));
    if (!(isfinite(eps) && layer.options.eps >= 0))
        hki_module_fail(self, HK_INVALID_ARGUMENT, "eps is %g, but must be finite and not below 0",
                        eps);
    if (!(layer.options.momentum >= 0 && layer.options.momentum <= 1))
        hki_module_fail(self, HK_INVALID_ARGUMENT, "momentum is %g, but must be in [0, 1]",
                        momentum);
    return self;
}
