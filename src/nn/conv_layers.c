/* Layers of convolutions, of images and of sequences. */
#include "base/source.h"
#include "nn/module.h"

#include <hocket/hocket.h>
#include <string.h>

/* What is wrong with numbers that all these layers have. */
static void check(hk_module *self, int64_t channels, const int64_t *window, int64_t groups)
{
    if (channels < 1 || window[0] < 1 || window[1] < 1)
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "channels is %lld and the window %lld x %lld, but all must be at least 1",
                        (long long)channels, (long long)window[0], (long long)window[1]);
    else if (groups < 0)
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "groups is %lld, but must be above 0, or 0 for the default, 1",
                        (long long)groups);
}

/* Rows and columns: size, unless the options say others. */
static void set_window(int64_t *window, const int64_t *given, int64_t size)
{
    for (int i = 0; i < 2; i++)
        window[i] = given && given[i] ? given[i] : size;
}

static int64_t in_groups(int64_t groups)
{
    return groups ? groups : 1;
}

typedef struct parameters {
    hk_array *weight, *bias;
} parameters;

/* fan_in: how many elements go into one result. */
static parameters make(hk_module *self, hk_dims weight, int64_t outputs, double fan_in,
                       const hk_init *init, bool has_bias, hk_array *like)
{
    const hk_init bias = hki_bias_init(fan_in);
    parameters made = {.weight = hk_module_parameter(self, "weight", weight, init, like)};
    if (has_bias)
        made.bias = hk_module_parameter(self, "bias", hk_shape(outputs), &bias, like);
    return made;
}

/* ---- images ------------------------------------------------------------------------------------------------- */

typedef struct conv2d_layer {
    int64_t channels, window[2];
    hk_conv2d_layer_options options;
} conv2d_layer;

static hk_array *conv2d_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const conv2d_layer *layer = self->options;
    const hk_conv2d_layer_options *options = &layer->options;
    const int64_t *window = layer->window;
    hk_array *refused = NULL, *x = hki_module_input(inputs, 4, self->kind, &refused);
    (void)count;
    if (!x)
        return refused;
    const int64_t in = hk_dim(x, 1) / in_groups(options->groups);
    const parameters its = make(self, hk_shape(layer->channels, in, window[0], window[1]),
                                layer->channels, (double)in * (double)window[0] * (double)window[1],
                                &options->init, !options->no_bias, x);
    hk_conv2d_options of = {.groups = options->groups};
    memcpy(of.stride, options->stride, sizeof of.stride);
    memcpy(of.padding, options->padding, sizeof of.padding);
    memcpy(of.dilation, options->dilation, sizeof of.dilation);
    return (hk_conv2d)(x, its.weight, its.bias, &of);
}

hk_module *(hk_conv2d_layer)(int64_t channels, int64_t size, const hk_conv2d_layer_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv2d_layer_options, options);
    conv2d_layer layer = {.channels = channels};
    if (options)
        layer.options = *options;
    set_window(layer.window, layer.options.window, size);
    hk_module *self = hki_layer_create("conv2d", conv2d_forward, &layer, sizeof layer);
    hki_module_without_bias(self, layer.options.no_bias);
    check(self, channels, layer.window, layer.options.groups);
    return self;
}

typedef struct transpose_layer {
    int64_t channels, window[2];
    hk_conv2d_transpose_layer_options options;
} transpose_layer;

static hk_array *transpose_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const transpose_layer *layer = self->options;
    const hk_conv2d_transpose_layer_options *options = &layer->options;
    const int64_t *window = layer->window;
    hk_array *refused = NULL, *x = hki_module_input(inputs, 4, self->kind, &refused);
    (void)count;
    if (!x)
        return refused;
    const int64_t out = layer->channels / in_groups(options->groups);
    const parameters its = make(
        self, hk_shape(hk_dim(x, 1), out, window[0], window[1]), layer->channels,
        (double)out * (double)window[0] * (double)window[1], &options->init, !options->no_bias, x);
    hk_conv2d_transpose_options of = {.groups = options->groups};
    memcpy(of.stride, options->stride, sizeof of.stride);
    memcpy(of.padding, options->padding, sizeof of.padding);
    memcpy(of.dilation, options->dilation, sizeof of.dilation);
    memcpy(of.output_padding, options->output_padding, sizeof of.output_padding);
    return (hk_conv2d_transpose)(x, its.weight, its.bias, &of);
}

hk_module *(hk_conv2d_transpose_layer)(int64_t channels, int64_t size,
                                       const hk_conv2d_transpose_layer_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv2d_transpose_layer_options, options);
    transpose_layer layer = {.channels = channels};
    if (options)
        layer.options = *options;
    set_window(layer.window, layer.options.window, size);
    hk_module *self = hki_layer_create("conv2d_transpose", transpose_forward, &layer, sizeof layer);
    hki_module_without_bias(self, layer.options.no_bias);
    check(self, channels, layer.window, layer.options.groups);
    if (layer.options.groups > 0 && channels % layer.options.groups)
        hki_module_fail(self, HK_INVALID_ARGUMENT, "groups is %lld, but must divide channels, %lld",
                        (long long)layer.options.groups, (long long)channels);
    return self;
}

/* ---- sequences ---------------------------------------------------------------------------------------------- */

typedef struct conv1d_layer {
    int64_t channels, size;
    hk_conv1d_layer_options options;
} conv1d_layer;

static hk_array *conv1d_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const conv1d_layer *layer = self->options;
    const hk_conv1d_layer_options *options = &layer->options;
    hk_array *refused = NULL, *x = hki_module_input(inputs, 3, self->kind, &refused);
    (void)count;
    if (!x)
        return refused;
    const int64_t in = hk_dim(x, 1) / in_groups(options->groups);
    const parameters its =
        make(self, hk_shape(layer->channels, in, layer->size), layer->channels,
             (double)in * (double)layer->size, &options->init, !options->no_bias, x);
    return (hk_conv1d)(x, its.weight, its.bias,
                       &(hk_conv1d_options){.stride = options->stride,
                                            .padding = options->padding,
                                            .dilation = options->dilation,
                                            .groups = options->groups});
}

hk_module *(hk_conv1d_layer)(int64_t channels, int64_t size, const hk_conv1d_layer_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv1d_layer_options, options);
    conv1d_layer layer = {.channels = channels, .size = size};
    if (options)
        layer.options = *options;
    hk_module *self = hki_layer_create("conv1d", conv1d_forward, &layer, sizeof layer);
    hki_module_without_bias(self, layer.options.no_bias);
    check(self, channels, (const int64_t[]){1, size}, layer.options.groups);
    return self;
}
