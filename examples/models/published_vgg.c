/* VGG (Simonyan, Zisserman 2014) and AlexNet (Krizhevsky 2014), as torchvision has them: features, and a classifier of 4096 units. */
#include "models/published.h"

static hk_module *conv(int64_t channels, int64_t size, int64_t stride, int64_t padding)
{
    return hk_conv2d_layer(
        channels, size,
        &(hk_conv2d_layer_options){.stride = {stride, stride}, .padding = {padding, padding}});
}

static void append_conv(hk_module *features, int64_t channels, int64_t size, int64_t stride,
                        int64_t padding)
{
    published_append(features, conv(channels, size, stride, padding));
    published_append(features, published_function("relu"));
}

hk_module *published_vgg(const published_options *options, const int counts[5])
{
    hk_module *features = hk_sequential_of(NULL, 0);
    for (int block = 0; block < 5; block++) {
        for (int i = 0; i < counts[block]; i++)
            append_conv(features, block < 3 ? (int64_t)64 << block : 512, 3, 1, 1);
        published_append(features, hk_max_pool2d_layer(2, 2, 0));
    }
    hk_module *classifier = hk_sequential(hk_linear_layer(4096, NULL), published_function("relu"),
                                          hk_dropout_layer(0.5), hk_linear_layer(4096, NULL),
                                          published_function("relu"), hk_dropout_layer(0.5),
                                          hk_linear_layer(published_classes(options), NULL));
    return PUBLISHED_SEQUENCE({"features", features},
                              {"avgpool", hk_adaptive_avg_pool2d_layer(7, 7)},
                              {"flatten", hk_flatten_layer()}, {"classifier", classifier});
}

hk_module *published_alexnet(const published_options *options)
{
    hk_module *features = hk_sequential_of(NULL, 0);
    append_conv(features, 64, 11, 4, 2);
    published_append(features, hk_max_pool2d_layer(3, 2, 0));
    append_conv(features, 192, 5, 1, 2);
    published_append(features, hk_max_pool2d_layer(3, 2, 0));
    append_conv(features, 384, 3, 1, 1);
    append_conv(features, 256, 3, 1, 1);
    append_conv(features, 256, 3, 1, 1);
    published_append(features, hk_max_pool2d_layer(3, 2, 0));
    hk_module *classifier = hk_sequential(hk_dropout_layer(0.5), hk_linear_layer(4096, NULL),
                                          published_function("relu"), hk_dropout_layer(0.5),
                                          hk_linear_layer(4096, NULL), published_function("relu"),
                                          hk_linear_layer(published_classes(options), NULL));
    return PUBLISHED_SEQUENCE({"features", features},
                              {"avgpool", hk_adaptive_avg_pool2d_layer(6, 6)},
                              {"flatten", hk_flatten_layer()}, {"classifier", classifier});
}
