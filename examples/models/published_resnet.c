/* ResNets (He et al. 2016), as torchvision has them: of two convolutions a block, or of three, of which the second has the stride. */
#include "models/published.h"

#include <stdio.h>

enum { WIDER = 4 };

static hk_array *shortcut(hk_module *self, hk_array *x)
{
    hk_module *downsample = hk_module_child(self, "downsample");
    return downsample ? hk_forward(downsample, x) : x;
}

static hk_array *conv_norm(hk_module *self, const char *conv, const char *norm, hk_array *x)
{
    return published_call(self, norm, published_call(self, conv, x));
}

static hk_array *basic_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = hk_relu(conv_norm(self, "conv1", "bn1", inputs[0]));
    (void)count;
    x = conv_norm(self, "conv2", "bn2", x);
    return hk_relu(hk_add(x, shortcut(self, inputs[0])));
}

static hk_array *deep_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = hk_relu(conv_norm(self, "conv1", "bn1", inputs[0]));
    (void)count;
    x = hk_relu(conv_norm(self, "conv2", "bn2", x));
    x = conv_norm(self, "conv3", "bn3", x);
    return hk_relu(hk_add(x, shortcut(self, inputs[0])));
}

static hk_module *norm(void)
{
    return hk_batch_norm_layer(0, 0);
}

static hk_module *basic_block(int64_t channels, int64_t stride)
{
    return PUBLISHED_ADD(hk_module_create("basic_block", basic_forward, NULL, 0),
                         {"conv1", published_conv(channels, 3, stride, 0)}, {"bn1", norm()},
                         {"conv2", published_conv(channels, 3, 1, 0)}, {"bn2", norm()});
}

static hk_module *deep_block(int64_t channels, int64_t stride)
{
    return PUBLISHED_ADD(hk_module_create("bottleneck", deep_forward, NULL, 0),
                         {"conv1", published_conv(channels, 1, 1, 0)}, {"bn1", norm()},
                         {"conv2", published_conv(channels, 3, stride, 0)}, {"bn2", norm()},
                         {"conv3", published_conv(WIDER * channels, 1, 1, 0)}, {"bn3", norm()});
}

/* The first block of a stage may change size and channels, and its shortcut has to. */
static hk_module *stage(int number, bool is_deep, int count)
{
    const int64_t channels = (int64_t)64 << number, stride = number ? 2 : 1;
    hk_module *blocks = hk_sequential_of(NULL, 0);
    for (int i = 0; i < count; i++) {
        const int64_t own = i ? 1 : stride;
        hk_module *block = is_deep ? deep_block(channels, own) : basic_block(channels, own);
        if (i == 0 && (stride > 1 || is_deep))
            hk_module_add(
                block, "downsample",
                published_conv_norm(is_deep ? WIDER * channels : channels, 1, stride, 0, 0, NULL));
        published_append(blocks, block);
    }
    return blocks;
}

hk_module *published_resnet(const published_options *options, bool is_deep, const int counts[4])
{
    hk_module *net = PUBLISHED_SEQUENCE({"conv1", published_conv(64, 7, 2, 0)}, {"bn1", norm()},
                                        {"relu", published_function("relu")},
                                        {"maxpool", hk_max_pool2d_layer(3, 2, 1)});
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "layer%d", i + 1);
        hk_module_add(net, name, stage(i, is_deep, counts[i]));
    }
    return PUBLISHED_ADD(net, {"avgpool", hk_global_avg_pool_layer()},
                         {"fc", hk_linear_layer(published_classes(options), NULL)});
}
