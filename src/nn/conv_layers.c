/* Layers of convolutions, of images, volumes and sequences. */
#include "base/source.h"
#include "nn/module.h"

#include <hocket/hocket.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What is wrong with numbers that all these layers have; windows have so many axes, 2 or 3. */
static void check(hk_module *self, int64_t channels, const int64_t *window, int axes,
                  int64_t groups)
{
    char text[96] = "";
    int used = 0;
    for (int i = 0; i < axes; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%lld", i ? " x " : "",
                         (long long)window[i]);
    if (channels < 1 || window[0] < 1 || window[1] < 1 || window[axes - 1] < 1)
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "channels is %lld and the window %s, but all must be at least 1",
                        (long long)channels, text);
    else if (groups < 0)
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "groups is %lld, but must be above 0, or 0 for the default, 1",
                        (long long)groups);
}

/* Sizes along so many axes: size, unless the options say others. */
static void set_window(int64_t *window, const int64_t *given, int axes, int64_t size)
{
    for (int i = 0; i < axes; i++)
        window[i] = given[i] ? given[i] : size;
}

static void check_outputs(hk_module *self, int64_t channels, int64_t groups)
{
    if (groups > 0 && channels % groups)
        hki_module_fail(self, HK_INVALID_ARGUMENT, "groups is %lld, but must divide channels, %lld",
                        (long long)groups, (long long)channels);
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
    set_window(layer.window, layer.options.window, 2, size);
    hk_module *self = hki_layer_create("conv2d", conv2d_forward, &layer, sizeof layer);
    hki_module_without_bias(self, layer.options.no_bias);
    check(self, channels, layer.window, 2, layer.options.groups);
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
    set_window(layer.window, layer.options.window, 2, size);
    hk_module *self = hki_layer_create("conv2d_transpose", transpose_forward, &layer, sizeof layer);
    hki_module_without_bias(self, layer.options.no_bias);
    check(self, channels, layer.window, 2, layer.options.groups);
    check_outputs(self, channels, layer.options.groups);
    return self;
}

/* ---- volumes ------------------------------------------------------------------------------------------------ */

/* Options begin alike; a convolution has no output_padding. */
typedef struct volume_layer {
    int64_t channels, window[3];
    bool is_transposed, no_bias;
    hk_conv3d_transpose_options of;
    hk_init init;
} volume_layer;

static hk_array *volume_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const volume_layer *layer = self->options;
    const int64_t *window = layer->window, groups = in_groups(layer->of.groups);
    hk_array *refused = NULL, *x = hki_module_input(inputs, 5, self->kind, &refused);
    (void)count;
    if (!x)
        return refused;
    const int64_t in = hk_dim(x, 1), out = layer->channels;
    const int64_t first = layer->is_transposed ? in : out;
    const int64_t second = (layer->is_transposed ? out : in) / groups;
    const parameters its =
        make(self, hk_shape(first, second, window[0], window[1], window[2]), out,
             (double)second * (double)window[0] * (double)window[1] * (double)window[2],
             &layer->init, !layer->no_bias, x);
    if (layer->is_transposed)
        return (hk_conv3d_transpose)(x, its.weight, its.bias, &layer->of);
    hk_conv3d_options of;
    memcpy(&of, &layer->of, sizeof of);
    return (hk_conv3d)(x, its.weight, its.bias, &of);
}

static hk_module *volume_create(const char *kind, const volume_layer *layer)
{
    hk_module *self = hki_layer_create(kind, volume_forward, layer, sizeof *layer);
    hki_module_without_bias(self, layer->no_bias);
    check(self, layer->channels, layer->window, 3, layer->of.groups);
    if (layer->is_transposed)
        check_outputs(self, layer->channels, layer->of.groups);
    return self;
}

hk_module *(hk_conv3d_layer)(int64_t channels, int64_t size, const hk_conv3d_layer_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv3d_layer_options, options);
    static const hk_conv3d_layer_options defaults = {.groups = 0};
    const hk_conv3d_layer_options *o = options ? options : &defaults;
    volume_layer layer = {.channels = channels, .no_bias = o->no_bias, .init = o->init};
    memcpy(&layer.of, o, sizeof(hk_conv3d_options)); /* the same fields, first in both */
    set_window(layer.window, o->window, 3, size);
    return volume_create("conv3d", &layer);
}

hk_module *(hk_conv3d_transpose_layer)(int64_t channels, int64_t size,
                                       const hk_conv3d_transpose_layer_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv3d_transpose_layer_options, options);
    static const hk_conv3d_transpose_layer_options defaults = {.groups = 0};
    const hk_conv3d_transpose_layer_options *o = options ? options : &defaults;
    volume_layer layer = {
        .channels = channels, .is_transposed = true, .no_bias = o->no_bias, .init = o->init};
    memcpy(&layer.of, o, sizeof(hk_conv3d_options));
    memcpy(layer.of.output_padding, o->output_padding, sizeof o->output_padding);
    set_window(layer.window, o->window, 3, size);
    return volume_create("conv3d_transpose", &layer);
}

_Static_assert(offsetof(hk_conv3d_layer_options, groups) == offsetof(hk_conv3d_options, groups) &&
                   offsetof(hk_conv3d_transpose_layer_options, groups) ==
                       offsetof(hk_conv3d_transpose_options, groups),
               "options of layers begin with those of operators");

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
    check(self, channels, (const int64_t[]){1, size}, 2, layer.options.groups);
    return self;
}
