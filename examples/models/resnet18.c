/* ResNet-18 (He et al. 2016): what a block computes is added to its input. */
#include "models/models.h"

static hk_module *conv_norm(int64_t channels, int64_t size, int64_t stride)
{
    const int64_t padding = size / 2;
    const hk_conv2d_layer_options options = {
        .stride = {stride, stride}, .padding = {padding, padding}, .no_bias = true};
    return hk_sequential(hk_conv2d_layer(channels, size, &options), hk_batch_norm_layer(0, 0));
}

/* The first block of a stage halves the image, and its shortcut has to. */
static hk_module *block(int64_t channels, int64_t stride)
{
    hk_module *body =
        hk_sequential(conv_norm(channels, 3, stride), model_relu(), conv_norm(channels, 3, 1));
    hk_module *shortcut = stride > 1 ? conv_norm(channels, 1, stride) : NULL;
    return hk_sequential(hk_residual_layer(body, shortcut), model_relu());
}

static hk_module *stage(const model_options *options, int64_t channels, int64_t stride)
{
    const int64_t own = model_channels(options, channels);
    return hk_sequential(block(own, stride), block(own, 1));
}

hk_module *model_resnet18(const model_options *options)
{
    return hk_sequential(conv_norm(model_channels(options, 64), 7, 2), model_relu(),
                         hk_max_pool2d_layer(3, 2, 1), stage(options, 64, 1),
                         stage(options, 128, 2), stage(options, 256, 2), stage(options, 512, 2),
                         hk_global_avg_pool_layer(), hk_linear_layer(options->classes, NULL));
}
