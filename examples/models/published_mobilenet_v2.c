/* MobileNet v2 (Sandler et al. 2018), as torchvision has it: few channels outside of blocks, many within, convolved one by one. */
#include "models/published.h"

static hk_module *relu6(void)
{
    const hk_clip_arguments range = {.min = 0, .max = 6};
    return hk_operator_layer("clip", &range, sizeof range);
}

static hk_array *residual_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)count;
    return hk_add(inputs[0], published_call(self, "conv", inputs[0]));
}

static hk_array *plain_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)count;
    return published_call(self, "conv", inputs[0]);
}

/* times: how much wider it is within. */
static hk_module *block(int64_t in, int64_t out, int64_t stride, int64_t times)
{
    hk_module *layers = hk_sequential_of(NULL, 0);
    const bool is_residual = stride == 1 && in == out;
    if (times != 1)
        published_append(layers, published_conv_norm(times * in, 1, 1, 0, 0, relu6()));
    published_append(layers, published_conv_norm(times * in, 3, stride, times * in, 0, relu6()));
    published_append(layers, published_conv(out, 1, 1, 0));
    published_append(layers, hk_batch_norm_layer(0, 0));
    hk_module *self = hk_module_create("inverted_residual",
                                       is_residual ? residual_forward : plain_forward, NULL, 0);
    return PUBLISHED_ADD(self, {"conv", layers});
}

hk_module *published_mobilenet_v2(const published_options *options)
{
    static const int rows[][4] = {/* times, channels, blocks, stride of the first */
                                  {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    hk_module *features = hk_sequential_of(NULL, 0);
    int64_t in = 32;
    published_append(features, published_conv_norm(in, 3, 2, 0, 0, relu6()));
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int i = 0; i < rows[row][2]; i++) {
            published_append(features, block(in, rows[row][1], i ? 1 : rows[row][3], rows[row][0]));
            in = rows[row][1];
        }
    published_append(features, published_conv_norm(1280, 1, 1, 0, 0, relu6()));
    hk_module *classifier =
        hk_sequential(hk_dropout_layer(0.2), hk_linear_layer(published_classes(options), NULL));
    return PUBLISHED_SEQUENCE({"features", features}, {"avgpool", hk_global_avg_pool_layer()},
                              {"classifier", classifier});
}
