/* VGG-11 (Simonyan, Zisserman 2014): blocks of convolutions of 3 x 3, each followed by a pool that halves the image. */
#include "models/models.h"

static hk_module *block(const model_options *options, int convolutions, int64_t channels)
{
    hk_module *layers[3];
    for (int i = 0; i < convolutions; i++)
        layers[i] = model_conv_relu(model_channels(options, channels), 3, 1, 1);
    layers[convolutions] = hk_max_pool2d_layer(2, 2, 0);
    return hk_sequential_of(layers, convolutions + 1);
}

hk_module *model_vgg11(const model_options *options)
{
    const int64_t units = model_channels(options, 4096);
    return hk_sequential(block(options, 1, 64), block(options, 1, 128), block(options, 2, 256),
                         block(options, 2, 512), block(options, 2, 512), hk_flatten_layer(),
                         hk_linear_layer(units, NULL), model_relu(), hk_dropout_layer(0.5),
                         hk_linear_layer(units, NULL), model_relu(), hk_dropout_layer(0.5),
                         hk_linear_layer(options->classes, NULL));
}
