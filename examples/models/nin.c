/* Network in network (Lin et al. 2013): convolutions of 1 x 1 behind each larger one, and no dense layer. */
#include "models/models.h"

static hk_module *block(int64_t channels, int64_t size, int64_t stride, int64_t padding)
{
    return hk_sequential(model_conv_relu(channels, size, stride, padding),
                         model_conv_relu(channels, 1, 1, 0), model_conv_relu(channels, 1, 1, 0));
}

hk_module *model_nin(const model_options *options)
{
    return hk_sequential(block(model_channels(options, 96), 11, 4, 0), hk_max_pool2d_layer(3, 2, 0),
                         block(model_channels(options, 256), 5, 1, 2), hk_max_pool2d_layer(3, 2, 0),
                         block(model_channels(options, 384), 3, 1, 1), hk_max_pool2d_layer(3, 2, 0),
                         hk_dropout_layer(0.5), block(options->classes, 3, 1, 1),
                         hk_global_avg_pool_layer());
}
