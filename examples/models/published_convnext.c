/* ConvNeXt-T (Liu et al. 2022), as torchvision has it: each channel convolved by itself, and then all at each position. */
#include "models/published.h"

#define EPS 1e-6

static hk_array *channels_last(hk_array *x)
{
    return hk_permute_dims(x, hk_shape(0, 2, 3, 1));
}

static hk_array *channels_first(hk_array *x)
{
    return hk_permute_dims(x, hk_shape(0, 3, 1, 2));
}

static hk_array *norm_forward(hk_module *self, hk_array *const *inputs, int count)
{
    static const hk_init ones = {.kind = HK_INIT_CONSTANT, .value = 1},
                         zeros = {.kind = HK_INIT_CONSTANT};
    hk_array *x = inputs[0];
    const hk_dims shape = hk_shape(hk_dim(x, 1));
    (void)count;
    hk_array *weight = hk_module_parameter(self, "weight", shape, &ones, x),
             *bias = hk_module_parameter(self, "bias", shape, &zeros, x);
    return channels_first(hk_layer_norm(channels_last(x), weight, bias,
                                        &(hk_layer_norm_options){.axes = 1, .eps = EPS}));
}

/* Over the channels of each position. */
static hk_module *norm(void)
{
    return hk_module_create("layer_norm_2d", norm_forward, NULL, 0);
}

static hk_array *last_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)self;
    (void)count;
    return channels_last(inputs[0]);
}

static hk_array *first_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)self;
    (void)count;
    return channels_first(inputs[0]);
}

static hk_array *block_forward(hk_module *self, hk_array *const *inputs, int count)
{
    static const hk_init little = {.kind = HK_INIT_CONSTANT, .value = 1e-6};
    hk_array *y = published_call(self, "block", inputs[0]);
    (void)count;
    hk_array *scale =
        hk_module_parameter(self, "layer_scale", hk_shape(hk_dim(y, 1), 1, 1), &little, y);
    return hk_add(inputs[0], hk_multiply(y, scale));
}

static hk_module *conv(int64_t channels, int64_t size, int64_t stride)
{
    return hk_conv2d_layer(channels, size, &(hk_conv2d_layer_options){.stride = {stride, stride}});
}

static hk_module *block(int64_t channels)
{
    hk_module *layers = hk_sequential(
        hk_conv2d_layer(channels, 7,
                        &(hk_conv2d_layer_options){.padding = {3, 3}, .groups = channels}),
        hk_module_create("channels_last", last_forward, NULL, 0), hk_layer_norm_layer(EPS),
        hk_linear_layer(4 * channels, NULL), published_function("gelu"),
        hk_linear_layer(channels, NULL),
        hk_module_create("channels_first", first_forward, NULL, 0));
    return PUBLISHED_ADD(hk_module_create("block", block_forward, NULL, 0), {"block", layers});
}

hk_module *published_convnext_tiny(const published_options *options)
{
    static const int counts[] = {3, 3, 9, 3};
    hk_module *features = hk_sequential_of(NULL, 0);
    published_append(features, hk_sequential(conv(96, 4, 4), norm()));
    for (int stage = 0; stage < 4; stage++) {
        const int64_t channels = (int64_t)96 << stage;
        hk_module *blocks = hk_sequential_of(NULL, 0);
        if (stage)
            published_append(features, hk_sequential(norm(), conv(channels, 2, 2)));
        for (int i = 0; i < counts[stage]; i++)
            published_append(blocks, block(channels));
        published_append(features, blocks);
    }
    hk_module *classifier = hk_sequential(norm(), hk_flatten_layer(),
                                          hk_linear_layer(published_classes(options), NULL));
    return PUBLISHED_SEQUENCE({"features", features},
                              {"avgpool", hk_adaptive_avg_pool2d_layer(1, 1)},
                              {"classifier", classifier});
}
