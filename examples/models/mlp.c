/* A multilayer perceptron with one hidden layer. */
#include "models/models.h"

hk_module *model_mlp(const model_options *options)
{
    return hk_sequential(hk_flatten_layer(), hk_linear_layer(model_channels(options, 256), NULL),
                         model_relu(), hk_linear_layer(options->classes, NULL));
}
