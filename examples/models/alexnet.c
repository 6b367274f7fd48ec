/* AlexNet (Krizhevsky et al. 2012), on one device, for images of 224 x 224. */
#include "models/models.h"

hk_module *model_alexnet(const model_options *options)
{
    const int64_t c96 = model_channels(options, 96), c256 = model_channels(options, 256),
                  c384 = model_channels(options, 384), units = model_channels(options, 4096);
    return hk_sequential(model_conv_relu(c96, 11, 4, 1), hk_max_pool2d_layer(3, 2, 0),
                         model_conv_relu(c256, 5, 1, 2), hk_max_pool2d_layer(3, 2, 0),
                         model_conv_relu(c384, 3, 1, 1), model_conv_relu(c384, 3, 1, 1),
                         model_conv_relu(c256, 3, 1, 1), hk_max_pool2d_layer(3, 2, 0),
                         hk_flatten_layer(), hk_linear_layer(units, NULL), model_relu(),
                         hk_dropout_layer(0.5), hk_linear_layer(units, NULL), model_relu(),
                         hk_dropout_layer(0.5), hk_linear_layer(options->classes, NULL));
}
