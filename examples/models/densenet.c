/* DenseNet (Huang et al. 2017), as the book has it: each convolution sees the outputs of all before it. */
#include "models/models.h"

enum { CONVOLUTIONS = 4 };

static hk_module *norm_relu_conv(int64_t channels, int64_t size)
{
    return hk_sequential(hk_batch_norm_layer(0, 0), model_relu(),
                         model_conv(channels, size, 1, size / 2));
}

/* x, and what a convolution makes of it. */
static hk_module *grow(int64_t channels)
{
    hk_module *const branches[] = {hk_sequential_of(NULL, 0), norm_relu_conv(channels, 3)};
    return model_branches(branches, 2);
}

static hk_module *dense_block(const model_options *options)
{
    hk_module *layers[CONVOLUTIONS];
    for (int i = 0; i < CONVOLUTIONS; i++)
        layers[i] = grow(model_channels(options, 32));
    return hk_sequential_of(layers, CONVOLUTIONS);
}

/* Half the channels, and half the image. */
static hk_module *transition(int64_t channels)
{
    return hk_sequential(norm_relu_conv(channels, 1), hk_avg_pool2d_layer(2, 2, 0));
}

hk_module *model_densenet(const model_options *options)
{
    const int64_t growth = CONVOLUTIONS * model_channels(options, 32);
    const int64_t begin = model_channels(options, 64);
    const int64_t first = (begin + growth) / 2, second = (first + growth) / 2,
                  third = (second + growth) / 2;
    hk_module *stem = hk_sequential(model_conv(begin, 7, 2, 3), hk_batch_norm_layer(0, 0),
                                    model_relu(), hk_max_pool2d_layer(3, 2, 1));
    return hk_sequential(stem, dense_block(options), transition(first), dense_block(options),
                         transition(second), dense_block(options), transition(third),
                         dense_block(options), hk_batch_norm_layer(0, 0), model_relu(),
                         hk_global_avg_pool_layer(), hk_linear_layer(options->classes, NULL));
}
