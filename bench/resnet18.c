#include "models.h"

enum { STAGES = 4, BLOCKS = 2 };

static const int64_t stage_channels[STAGES] = {64, 128, 256, 512};

static void add_convolution(model *self, int64_t outputs, int64_t inputs, int64_t side)
{
    model_add(self, hk_shape(outputs, inputs, side, side), false);
    model_add(self, hk_shape(outputs), false);
}

static void add_norm(model *self, int64_t channels)
{
    model_add(self, hk_shape(channels), true);
    model_add(self, hk_shape(channels), false);
    model_add_averages(self, channels);
}

/* Whether a block halves the image and changes the channels, so that its shortcut needs a convolution. */
static bool is_first_of_stage(int stage, int block)
{
    return stage > 0 && block == 0;
}

static void describe(model *self)
{
    int64_t inputs = 64;
    add_convolution(self, 64, 1, 3);
    add_norm(self, 64);
    for (int stage = 0; stage < STAGES; stage++) {
        for (int block = 0; block < BLOCKS; block++) {
            const int64_t channels = stage_channels[stage];
            add_convolution(self, channels, inputs, 3);
            add_norm(self, channels);
            add_convolution(self, channels, channels, 3);
            add_norm(self, channels);
            if (is_first_of_stage(stage, block))
                add_convolution(self, channels, inputs, 1);
            inputs = channels;
        }
    }
    model_add(self, hk_shape(10, 512), false);
    model_add(self, hk_shape(10), false);
}

/* Takes parameters and averages in their order. */
typedef struct pass {
    hk_array *const *params, *const *averages;
    bool training;
} pass;

static hk_array *convolve(pass *at, hk_array *x, int64_t stride, int64_t padding)
{
    hk_array *const *p = at->params;
    at->params += 2;
    return hk_conv2d(
        x, p[0], p[1],
        &(hk_conv2d_options){.stride = {stride, stride}, .padding = {padding, padding}});
}

static hk_array *normalise(pass *at, hk_array *x)
{
    hk_array *const *p = at->params, *const *averages = at->averages;
    at->params += 2;
    at->averages += 2;
    return at->training ? hk_batch_norm_train(x, p[0], p[1], averages[0], averages[1], NULL)
                        : hk_batch_norm(x, p[0], p[1], averages[0], averages[1], NULL);
}

static hk_array *residual(pass *at, hk_array *x, bool halves)
{
    const int64_t stride = halves ? 2 : 1;
    hk_array *y = hk_relu(normalise(at, convolve(at, x, stride, 1)));
    y = normalise(at, convolve(at, y, 1, 1));
    return hk_relu(hk_add(y, halves ? convolve(at, x, 2, 0) : x));
}

static hk_array *forward(const model *self, hk_array *images, bool training)
{
    pass at = {self->params, self->averages, training};
    hk_array *x = hk_relu(normalise(&at, convolve(&at, images, 1, 1)));
    for (int stage = 0; stage < STAGES; stage++)
        for (int block = 0; block < BLOCKS; block++)
            x = residual(&at, x, is_first_of_stage(stage, block));
    x = hk_mean(x, &(hk_mean_options){.axes = hk_shape(2, 3)});
    return hk_linear(x, at.params[0], at.params[1]);
}

const model_kind model_resnet18 = {"resnet18", describe, forward};
