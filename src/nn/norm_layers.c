/* Layers of normalisation. */
#include "base/option.h"
#include "nn/module.h"
#include "op/op.h"

#include <hocket/hocket.h>
#include <math.h>

static const hk_init ones = {.kind = HK_INIT_CONSTANT, .value = 1},
                     zeros = {.kind = HK_INIT_CONSTANT};

/* ---- over the batch ----------------------------------------------------------------------------------------- */

hki_batch_norm_parts hki_batch_norm_parts_of(hk_module *self, hk_array *x)
{
    const hk_dims shape = hk_shape(hk_dim(x, 1));
    hki_batch_norm_parts parts;
    parts.gamma = hk_module_parameter(self, "gamma", shape, &ones, x);
    parts.beta = hk_module_parameter(self, "beta", shape, &zeros, x);
    parts.mean = hk_module_buffer(self, "mean", shape, 0, x);
    parts.variance = hk_module_buffer(self, "variance", shape, 1, x);
    return parts;
}

static hk_array *batch_norm_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const hk_batch_norm_train_options *options = self->options;
    hk_array *refused = NULL, *x = hki_module_input(inputs, 2, self->kind, &refused);
    (void)count;
    if (!x)
        return refused;
    const hki_batch_norm_parts its = hki_batch_norm_parts_of(self, x);
    if (!self->is_predicting)
        return (hk_batch_norm_train)(x, its.gamma, its.beta, its.mean, its.variance, options);
    return (hk_batch_norm)(x, its.gamma, its.beta, its.mean, its.variance,
                           &(hk_batch_norm_options){.eps = options->eps});
}

/* What epsilons may be. */
static void check_eps(hk_module *self, double eps)
{
    if (!(isfinite(eps) && eps >= 0))
        hki_module_fail(self, HK_INVALID_ARGUMENT, "eps is %g, but must be finite and not below 0",
                        eps);
}

hk_module *hk_batch_norm_layer(double eps, double momentum)
{
    const hk_batch_norm_train_options options = {.eps = hki_option_or(eps, 1e-5),
                                                 .momentum = hki_option_or(momentum, 0.1)};
    hk_module *self = hki_layer_create("batch_norm", batch_norm_forward, &options, sizeof options);
    check_eps(self, options.eps);
    if (!(options.momentum >= 0 && options.momentum <= 1))
        hki_module_fail(self, HK_INVALID_ARGUMENT, "momentum is %g, but must be in [0, 1]",
                        options.momentum);
    return self;
}

/* ---- of each sample by itself --------------------------------------------------------------------------------- */

typedef enum norm { LAYER_NORM, RMS_NORM, GROUP_NORM, INSTANCE_NORM } norm;

typedef struct norm_layer {
    norm norm;
    int64_t count; /* of axes, or groups */
    double eps;
} norm_layer;

/* Groups of channels, or each channel by itself. */
static hk_array *group_norm(hk_module *self, hk_array *x)
{
    const norm_layer *layer = self->options;
    const int64_t channels = x->shape.dims[1];
    const int64_t groups = layer->norm == INSTANCE_NORM ? channels : layer->count;
    const hk_dims shape = hk_shape(channels);
    hk_array *gamma = hk_module_parameter(self, "gamma", shape, &ones, x);
    hk_array *beta = hk_module_parameter(self, "beta", shape, &zeros, x);
    return (hk_group_norm)(x, gamma, beta,
                           &(hk_group_norm_options){.groups = groups, .eps = layer->eps});
}

/* The last axes. */
static hk_array *layer_norm(hk_module *self, hk_array *x)
{
    const norm_layer *layer = self->options;
    const bool is_centred = layer->norm == LAYER_NORM;
    hk_dims shape = {.ndim = (int)layer->count};
    for (int i = 0; i < shape.ndim; i++)
        shape.dims[i] = x->shape.dims[x->shape.ndim - shape.ndim + i];
    hk_array *gamma = hk_module_parameter(self, "gamma", shape, &ones, x), *beta = NULL;
    if (is_centred)
        beta = hk_module_parameter(self, "beta", shape, &zeros, x);
    const hk_layer_norm_options options = {.axes = layer->count, .eps = layer->eps};
    return is_centred
               ? (hk_layer_norm)(x, gamma, beta, &options)
               : (hk_rms_norm)(x, gamma,
                               &(hk_rms_norm_options){.axes = layer->count, .eps = layer->eps});
}

static hk_array *norm_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const norm_layer *layer = self->options;
    const bool is_grouped = layer->norm == GROUP_NORM || layer->norm == INSTANCE_NORM;
    const int least = layer->norm == INSTANCE_NORM ? 3 : is_grouped ? 2 : (int)layer->count;
    hk_array *refused = NULL, *x = hki_module_input(inputs, least, self->kind, &refused);
    (void)count;
    if (!x)
        return refused;
    return is_grouped ? group_norm(self, x) : layer_norm(self, x);
}

static hk_module *norm_layer_of(const char *kind, norm_layer layer, const char *what, int64_t most)
{
    layer.eps = hki_option_or(layer.eps, 1e-5);
    hk_module *self = hki_layer_create(kind, norm_forward, &layer, sizeof layer);
    check_eps(self, layer.eps);
    if (layer.count < 1 || layer.count > most)
        hki_module_fail(self, HK_INVALID_ARGUMENT, "%s is %lld, but must be from 1 to %lld", what,
                        (long long)layer.count, (long long)most);
    return self;
}

hk_module *hk_layer_norm_layer(double eps)
{
    return norm_layer_of("layer_norm", (norm_layer){LAYER_NORM, 1, eps}, "axes", HK_MAX_NDIM);
}

hk_module *hk_layer_norm_over_layer(int axes, double eps)
{
    return norm_layer_of("layer_norm", (norm_layer){LAYER_NORM, axes, eps}, "axes", HK_MAX_NDIM);
}

hk_module *hk_rms_norm_layer(double eps)
{
    return norm_layer_of("rms_norm", (norm_layer){RMS_NORM, 1, eps}, "axes", HK_MAX_NDIM);
}

hk_module *hk_group_norm_layer(int64_t groups, double eps)
{
    return norm_layer_of("group_norm", (norm_layer){GROUP_NORM, groups, eps}, "groups", INT32_MAX);
}

hk_module *hk_instance_norm_layer(double eps)
{
    return norm_layer_of("instance_norm", (norm_layer){INSTANCE_NORM, 1, eps}, "groups", 1);
}
