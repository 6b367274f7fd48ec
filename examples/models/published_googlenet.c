/* GoogLeNet (Szegedy et al. 2015), as torchvision has it: with batch norm, and without the outputs in between, which its files have as
 * aux1 and aux2. Its files of weights want images of torchvision's scale, not of the usual one: see its transform_input. */
#include "models/published.h"

static hk_module *conv(int64_t channels, int64_t size, int64_t stride)
{
    return PUBLISHED_SEQUENCE({"conv", published_conv(channels, size, stride, 0)},
                              {"bn", hk_batch_norm_layer(1e-3, 0)},
                              {"relu", published_function("relu")});
}

/* Whose sizes are rounded up. */
static hk_module *pool(int64_t size, int64_t stride, int64_t padding)
{
    const hk_max_pool2d_options options = {.kernel = {size, size},
                                           .stride = {stride, stride},
                                           .padding = {padding, padding},
                                           .ceil_mode = true};
    return hk_operator_layer("max_pool2d", &options, sizeof options);
}

static hk_array *inception_forward(hk_module *self, hk_array *const *inputs, int count)
{
    static const char *const names[] = {"branch1", "branch2", "branch3", "branch4"};
    hk_array *outputs[4];
    (void)count;
    for (int i = 0; i < 4; i++)
        outputs[i] = published_call(self, names[i], inputs[0]);
    return hk_concat(outputs, 4, 1);
}

/* Channels of each branch; of the second and third also within. */
static hk_module *inception(int64_t one, int64_t within_two, int64_t two, int64_t within_three,
                            int64_t three, int64_t four)
{
    return PUBLISHED_ADD(hk_module_create("inception", inception_forward, NULL, 0),
                         {"branch1", conv(one, 1, 1)},
                         {"branch2", hk_sequential(conv(within_two, 1, 1), conv(two, 3, 1))},
                         {"branch3", hk_sequential(conv(within_three, 1, 1), conv(three, 3, 1))},
                         {"branch4", hk_sequential(pool(3, 1, 1), conv(four, 1, 1))});
}

hk_module *published_googlenet(const published_options *options)
{
    return PUBLISHED_SEQUENCE(
        {"conv1", conv(64, 7, 2)}, {"maxpool1", pool(3, 2, 0)}, {"conv2", conv(64, 1, 1)},
        {"conv3", conv(192, 3, 1)}, {"maxpool2", pool(3, 2, 0)},
        {"inception3a", inception(64, 96, 128, 16, 32, 32)},
        {"inception3b", inception(128, 128, 192, 32, 96, 64)}, {"maxpool3", pool(3, 2, 0)},
        {"inception4a", inception(192, 96, 208, 16, 48, 64)},
        {"inception4b", inception(160, 112, 224, 24, 64, 64)},
        {"inception4c", inception(128, 128, 256, 24, 64, 64)},
        {"inception4d", inception(112, 144, 288, 32, 64, 64)},
        {"inception4e", inception(256, 160, 320, 32, 128, 128)}, {"maxpool4", pool(2, 2, 0)},
        {"inception5a", inception(256, 160, 320, 32, 128, 128)},
        {"inception5b", inception(384, 192, 384, 48, 128, 128)},
        {"avgpool", hk_global_avg_pool_layer()}, {"dropout", hk_dropout_layer(0.2)},
        {"fc", hk_linear_layer(published_classes(options), NULL)});
}
