/* Softmax regression: each pixel speaks for and against each class. */
#include "models/models.h"

hk_module *model_softmax(const model_options *options)
{
    return hk_sequential(hk_flatten_layer(), hk_linear_layer(options->classes, NULL));
}
