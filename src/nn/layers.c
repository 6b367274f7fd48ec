/* Layers: an operator and its parameters each. */
#include "base/source.h"
#include "nn/module.h"
#include "op/op.h"

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

static hk_array *flatten_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *refused = NULL, *x = hki_module_input(inputs, 1, self->kind, &refused);
    int64_t rest = 1;
    (void)count;
    if (!x)
        return refused;
    for (int i = 1; i < x->shape.ndim; i++)
        rest *= x->shape.dims[i];
    return (hk_reshape)(x, hk_shape(x->shape.dims[0], rest));
}

hk_module *hk_flatten_layer(void)
{
    return hki_layer_create("flatten", flatten_forward, NULL, 0);
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

typedef struct embedding_layer {
    int64_t count, features;
    bool is_padded;
    int64_t padding; /* where it is */
} embedding_layer;

/* Zeros where the index is that of padding, through which no gradient goes. */
static hk_array *without_padding(const embedding_layer *layer, hk_array *x, hk_array *rows)
{
    const hk_device device = hk_array_device(x);
    hk_array *padding = (hk_full)(hk_shape(), (double)layer->padding, x->dtype, device);
    hk_array *is_word = (hk_expand_dims)((hk_not_equal)(x, padding), -1);
    return (hk_where)(is_word, rows, (hk_zeros)(hk_shape(), rows->dtype, device));
}

static hk_array *embedding_forward(hk_module *self, hk_array *const *inputs, int count)
{
    static const hk_init normal = {.kind = HK_INIT_NORMAL, .value = 1};
    const embedding_layer *layer = self->options;
    hk_array *refused = NULL, *x = hki_module_input(inputs, 0, self->kind, &refused);
    (void)count;
    if (!x)
        return refused;
    hk_array *weight =
        hk_module_parameter(self, "weight", hk_shape(layer->count, layer->features), &normal, x);
    if (x->shape.ndim >= HK_MAX_NDIM)
        return hki_array_create_failed(
            x->storage->device, self->kind, inputs, 1, HK_INVALID_ARGUMENT,
            "x has %d axes; at most %d are possible", x->shape.ndim, HK_MAX_NDIM - 1);
    hk_dims shape = x->shape;
    shape.dims[shape.ndim++] = layer->features;
    hk_array *rows =
        (hk_reshape)((hk_index_select)(weight, (hk_reshape)(x, hk_shape(x->size)), 0), shape);
    return layer->is_padded ? without_padding(layer, x, rows) : rows;
}

static hk_module *embedding_of(embedding_layer layer)
{
    hk_module *self = hki_layer_create("embedding", embedding_forward, &layer, sizeof layer);
    if (layer.count < 1 || layer.features < 1)
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "count is %lld and features %lld, but both must be at least 1",
                        (long long)layer.count, (long long)layer.features);
    else if (layer.is_padded && (layer.padding < 0 || layer.padding >= layer.count))
        hki_module_fail(self, HK_INVALID_ARGUMENT, "padding is %lld, but must be in [0, %lld)",
                        (long long)layer.padding, (long long)layer.count);
    return self;
}

hk_module *hk_embedding_layer(int64_t count, int64_t features)
{
    return embedding_of((embedding_layer){.count = count, .features = features});
}

hk_module *hk_padded_embedding_layer(int64_t count, int64_t features, int64_t padding)
{
    return embedding_of((embedding_layer){
        .count = count, .features = features, .is_padded = true, .padding = padding});
}

/* ---- dropout ---------------------------------------------------------------------------------------------- */

static hk_array *dropout_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const double p = *(const double *)self->options;
    hk_array *refused = NULL, *x = hki_module_input(inputs, 0, self->kind, &refused);
    (void)count;
    if (!x)
        return refused;
    if (!hki_dtype_is_real(x->dtype))
        return hki_array_create_failed(x->storage->device, self->kind, &x, 1, HK_INVALID_ARGUMENT,
                                       "x is %s, but must be of floats; hk_cast converts",
                                       hk_dtype_name(x->dtype));
    if (self->is_predicting || p == 0)
        return hki_scope_add(hk_array_retain(x));
    const hk_dtype dtype = x->dtype == HK_F64 ? HK_F64 : HK_F32;
    hk_array *drawn = (hk_random_uniform)(x->shape, dtype, hk_array_device(x));
    hk_array *is_kept =
        (hk_greater_equal)(drawn, (hk_full)(hk_shape(), p, dtype, hk_array_device(x)));
    hk_array *grown = hki_op_call_number(&hki_op_multiply_scalar, x, 1 / (1 - p));
    return (hk_where)(is_kept, grown, (hk_zeros)(hk_shape(), x->dtype, hk_array_device(x)));
}

hk_module *hk_dropout_layer(double p)
{
    hk_module *self = hki_layer_create("dropout", dropout_forward, &p, sizeof p);
    if (!(p >= 0 && p < 1))
        hki_module_fail(self, HK_INVALID_ARGUMENT, "p is %g, but must be in [0, 1)", p);
    return self;
}
