/* Layers of an operator, and of products. */
#include "base/source.h"
#include "nn/module.h"

#include <hocket/hocket.h>
#include <math.h>

hk_init hki_bias_init(double in)
{
    return (hk_init){.kind = HK_INIT_UNIFORM, .value = in > 0 ? 1 / sqrt(in) : 0};
}

hk_array *hki_module_input(hk_array *const *inputs, int least, const char *operation,
                           hk_array **refused)
{
    hk_array *x = inputs[0];
    const hk_status *gone = hki_array_gone(x);
    if (!gone && !x->failed && x->shape.ndim >= least)
        return x;
    hk_status_release(gone);
    *refused =
        x ? hki_array_create_failed(NULL, operation, inputs, 1, HK_INVALID_ARGUMENT,
                                    "x has %d axes, but needs at least %d", hk_ndim(x), least)
          : hki_array_create_failed(NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                    "x is NULL; an array would be right");
    return NULL;
}

/* ---- any operator ------------------------------------------------------------------------------------- */

static hk_array *operator_forward(hk_module *self, hk_array *const *inputs, int count)
{
    return (hk_call)(self->kind, inputs, count, self->options, (hk_device){0});
}

hk_module *hk_operator_layer(const char *name, const void *options, size_t option_bytes)
{
    hk_module *self = hki_layer_create(name, operator_forward, options, option_bytes);
    if (self->layer)
        self->layer = "operator";
    if (!name || !hk_operator_find(name))
        hki_module_fail(self, HK_NOT_FOUND,
                        "operator is \"%s\", which there is not; docs/OPERATORS.md lists them",
                        name ? name : "NULL");
    return self;
}

/* ---- products ------------------------------------------------------------------------------------------- */

typedef struct linear_layer {
    int64_t features;
    hk_linear_layer_options options;
} linear_layer;

static hk_array *linear_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const linear_layer *layer = self->options;
    hk_array *refused = NULL, *x = hki_module_input(inputs, 1, self->kind, &refused);
    (void)count;
    if (!x)
        return refused;
    const int64_t in = hk_dim(x, -1);
    const hk_init init = hki_bias_init((double)in);
    hk_array *weight =
        hk_module_parameter(self, "weight", hk_shape(layer->features, in), &layer->options.init, x);
    hk_array *bias = NULL;
    if (!layer->options.no_bias)
        bias = hk_module_parameter(self, "bias", hk_shape(layer->features), &init, x);
    return (hk_linear)(x, weight, bias);
}

hk_module *(hk_linear_layer)(int64_t features, const hk_linear_layer_options *options)
{
    HKI_TAKE_OPTIONS(hk_linear_layer_options, options);
    linear_layer layer = {.features = features};
    if (options)
        layer.options = *options;
    hk_module *self = hki_layer_create("linear", linear_forward, &layer, sizeof layer);
    hki_module_without_bias(self, layer.options.no_bias);
    if (features < 0)
        hki_module_fail(self, HK_INVALID_ARGUMENT, "features is %lld, but must not be negative",
                        (long long)features);
    return self;
}
