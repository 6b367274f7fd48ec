/* LeNet-5 (LeCun et al. 1998), with its sigmoids, for images of 28 x 28. */
#include "models/models.h"

static hk_module *sigmoid(void)
{
    return hk_operator_layer("sigmoid", NULL, 0);
}

hk_module *model_lenet5(const model_options *options)
{
    return hk_sequential(
        model_conv(model_channels(options, 6), 5, 1, 2), sigmoid(), hk_avg_pool2d_layer(2, 2, 0),
        model_conv(model_channels(options, 16), 5, 1, 0), sigmoid(), hk_avg_pool2d_layer(2, 2, 0),
        hk_flatten_layer(), hk_linear_layer(model_channels(options, 120), NULL), sigmoid(),
        hk_linear_layer(model_channels(options, 84), NULL), sigmoid(),
        hk_linear_layer(options->classes, NULL));
}
