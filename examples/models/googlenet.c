/* GoogLeNet (Szegedy et al. 2015): blocks of four branches, side by side, without the outputs in between. */
#include "models/models.h"

/* Channels of its branches; those before the convolutions of 3 x 3 and 5 x 5 first. */
typedef struct widths {
    int64_t one, before_three, three, before_five, five, pool;
} widths;

static hk_module *inception(const model_options *options, widths of)
{
    const int64_t one = model_channels(options, of.one), pool = model_channels(options, of.pool);
    hk_module *const branches[] = {
        model_conv_relu(one, 1, 1, 0),
        hk_sequential(model_conv_relu(model_channels(options, of.before_three), 1, 1, 0),
                      model_conv_relu(model_channels(options, of.three), 3, 1, 1)),
        hk_sequential(model_conv_relu(model_channels(options, of.before_five), 1, 1, 0),
                      model_conv_relu(model_channels(options, of.five), 5, 1, 2)),
        hk_sequential(hk_max_pool2d_layer(3, 1, 1), model_conv_relu(pool, 1, 1, 0))};
    return model_branches(branches, 4);
}

hk_module *model_googlenet(const model_options *options)
{
    const int64_t c64 = model_channels(options, 64), c192 = model_channels(options, 192);
    hk_module *stem = hk_sequential(model_conv_relu(c64, 7, 2, 3), hk_max_pool2d_layer(3, 2, 1),
                                    model_conv_relu(c64, 1, 1, 0), model_conv_relu(c192, 3, 1, 1),
                                    hk_max_pool2d_layer(3, 2, 1));
    hk_module *third = hk_sequential(inception(options, (widths){64, 96, 128, 16, 32, 32}),
                                     inception(options, (widths){128, 128, 192, 32, 96, 64}),
                                     hk_max_pool2d_layer(3, 2, 1));
    hk_module *fourth = hk_sequential(inception(options, (widths){192, 96, 208, 16, 48, 64}),
                                      inception(options, (widths){160, 112, 224, 24, 64, 64}),
                                      inception(options, (widths){128, 128, 256, 24, 64, 64}),
                                      inception(options, (widths){112, 144, 288, 32, 64, 64}),
                                      inception(options, (widths){256, 160, 320, 32, 128, 128}),
                                      hk_max_pool2d_layer(3, 2, 1));
    hk_module *fifth = hk_sequential(inception(options, (widths){256, 160, 320, 32, 128, 128}),
                                     inception(options, (widths){384, 192, 384, 48, 128, 128}));
    return hk_sequential(stem, third, fourth, fifth, hk_global_avg_pool_layer(),
                         hk_linear_layer(options->classes, NULL));
}
