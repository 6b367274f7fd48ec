/* DenseNets (Huang et al. 2017), as torchvision has them: each layer sees what all before it gave. */
#include "models/published.h"

#include <stdio.h>

enum { GROWTH = 32, FIRST = 64, WIDER = 4 };

static hk_array *layer_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = inputs[0];
    (void)count;
    x = published_call(self, "conv1", hk_relu(published_call(self, "norm1", x)));
    x = published_call(self, "conv2", hk_relu(published_call(self, "norm2", x)));
    return hk_concat((hk_array *const[]){inputs[0], x}, 2, 1);
}

static hk_module *dense_layer(void)
{
    return PUBLISHED_ADD(
        hk_module_create("dense_layer", layer_forward, NULL, 0),
        {"norm1", hk_batch_norm_layer(0, 0)}, {"conv1", published_conv(WIDER * GROWTH, 1, 1, 0)},
        {"norm2", hk_batch_norm_layer(0, 0)}, {"conv2", published_conv(GROWTH, 3, 1, 0)});
}

static hk_module *transition(int64_t channels)
{
    return PUBLISHED_SEQUENCE(
        {"norm", hk_batch_norm_layer(0, 0)}, {"relu", published_function("relu")},
        {"conv", published_conv(channels, 1, 1, 0)}, {"pool", hk_avg_pool2d_layer(2, 2, 0)});
}

hk_module *published_densenet(const published_options *options, const int counts[4])
{
    int64_t channels = FIRST;
    char name[24];
    hk_module *features = PUBLISHED_SEQUENCE(
        {"conv0", published_conv(FIRST, 7, 2, 0)}, {"norm0", hk_batch_norm_layer(0, 0)},
        {"relu0", published_function("relu")}, {"pool0", hk_max_pool2d_layer(3, 2, 1)});
    for (int block = 0; block < 4; block++) {
        hk_module *layers = hk_sequential_of(NULL, 0);
        for (int i = 0; i < counts[block]; i++) {
            snprintf(name, sizeof name, "denselayer%d", i + 1);
            hk_module_add(layers, name, dense_layer());
        }
        snprintf(name, sizeof name, "denseblock%d", block + 1);
        hk_module_add(features, name, layers);
        channels += counts[block] * GROWTH;
        if (block == 3)
            break;
        channels /= 2;
        snprintf(name, sizeof name, "transition%d", block + 1);
        hk_module_add(features, name, transition(channels));
    }
    hk_module_add(features, "norm5", hk_batch_norm_layer(0, 0));
    return PUBLISHED_SEQUENCE({"features", features}, {"relu", published_function("relu")},
                              {"avgpool", hk_global_avg_pool_layer()},
                              {"classifier", hk_linear_layer(published_classes(options), NULL)});
}
