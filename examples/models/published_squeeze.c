/* MobileNet v3 (Howard et al. 2019) and EfficientNet-B0 (Tan, Le 2019), as torchvision has them: blocks as in MobileNet v2, in which
 * channels are weighed by what all positions say (Hu et al. 2018). */
#include "models/published.h"

static hk_array *weigh_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = hk_mean(inputs[0], &(hk_mean_options){.axes = hk_shape(2, 3), .keepdims = true});
    (void)count;
    x = published_call(self, "activation", published_call(self, "fc1", x));
    x = published_call(self, "scale_activation", published_call(self, "fc2", x));
    return hk_multiply(inputs[0], x);
}

static hk_module *weigh(int64_t channels, int64_t squeezed, const char *activation,
                        const char *scale)
{
    return PUBLISHED_ADD(hk_module_create("squeeze_excitation", weigh_forward, NULL, 0),
                         {"fc1", hk_conv2d_layer(squeezed, 1, NULL)},
                         {"fc2", hk_conv2d_layer(channels, 1, NULL)},
                         {"activation", published_function(activation)},
                         {"scale_activation", published_function(scale)});
}

static hk_array *residual_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)count;
    return hk_add(inputs[0], published_call(self, "block", inputs[0]));
}

static hk_array *plain_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)count;
    return published_call(self, "block", inputs[0]);
}

/* How a block is made. */
typedef struct block_sizes {
    int64_t in, size, inner, out, stride, squeezed; /* squeezed 0: channels are not weighed */
    const char *function, *squeeze_function, *scale_function;
    double eps;
} block_sizes;

static hk_module *block(const block_sizes *its)
{
    hk_module *layers = hk_sequential_of(NULL, 0);
    const bool is_residual = its->stride == 1 && its->in == its->out;
    if (its->inner != its->in)
        published_append(layers, published_conv_norm(its->inner, 1, 1, 0, its->eps,
                                                     published_function(its->function)));
    published_append(layers, published_conv_norm(its->inner, its->size, its->stride, its->inner,
                                                 its->eps, published_function(its->function)));
    if (its->squeezed)
        published_append(
            layers, weigh(its->inner, its->squeezed, its->squeeze_function, its->scale_function));
    published_append(layers, published_conv_norm(its->out, 1, 1, 0, its->eps, NULL));
    hk_module *self = hk_module_create("inverted_residual",
                                       is_residual ? residual_forward : plain_forward, NULL, 0);
    return PUBLISHED_ADD(self, {"block", layers});
}

/* ---- MobileNet v3 ---------------------------------------------------------------------------------------- */

typedef struct row {
    int size, inner, out;
    bool is_weighed, is_hard;
    int stride;
} row;

/* The next multiple of 8, which is not below nine tenths. */
static int64_t eights(int64_t channels)
{
    const int64_t near = (channels + 4) / 8 * 8;
    return near < 8 ? 8 : 10 * near < 9 * channels ? near + 8 : near;
}

static hk_module *mobilenet_v3(const published_options *options, const row *rows, int count,
                               int64_t units)
{
    static const double eps = 1e-3;
    hk_module *features = hk_sequential_of(NULL, 0);
    int64_t in = 16;
    published_append(features,
                     published_conv_norm(in, 3, 2, 0, eps, published_function("hard_swish")));
    for (int i = 0; i < count; i++) {
        const block_sizes its = {.in = in,
                                 .size = rows[i].size,
                                 .inner = rows[i].inner,
                                 .out = rows[i].out,
                                 .stride = rows[i].stride,
                                 .squeezed = rows[i].is_weighed ? eights(rows[i].inner / 4) : 0,
                                 .function = rows[i].is_hard ? "hard_swish" : "relu",
                                 .squeeze_function = "relu",
                                 .scale_function = "hard_sigmoid",
                                 .eps = eps};
        published_append(features, block(&its));
        in = rows[i].out;
    }
    published_append(features,
                     published_conv_norm(6 * in, 1, 1, 0, eps, published_function("hard_swish")));
    hk_module *classifier =
        hk_sequential(hk_linear_layer(units, NULL), published_function("hard_swish"),
                      hk_dropout_layer(0.2), hk_linear_layer(published_classes(options), NULL));
    return PUBLISHED_SEQUENCE({"features", features}, {"avgpool", hk_global_avg_pool_layer()},
                              {"classifier", classifier});
}

hk_module *published_mobilenet_v3_small(const published_options *options)
{
    static const row rows[] = {
        {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
        {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
        {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
        {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};
    return mobilenet_v3(options, rows, sizeof rows / sizeof *rows, 1024);
}

hk_module *published_mobilenet_v3_large(const published_options *options)
{
    static const row rows[] = {
        {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
        {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
        {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
        {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
        {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1}};
    return mobilenet_v3(options, rows, sizeof rows / sizeof *rows, 1280);
}

/* ---- EfficientNet ---------------------------------------------------------------------------------------- */

hk_module *published_efficientnet_b0(const published_options *options)
{
    static const int rows[][5] = {/* times, size, stride of the first, channels, blocks */
                                  {1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},
                                  {6, 3, 2, 80, 3}, {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4},
                                  {6, 3, 1, 320, 1}};
    hk_module *features = hk_sequential_of(NULL, 0);
    int64_t in = 32;
    published_append(features, published_conv_norm(in, 3, 2, 0, 0, published_function("silu")));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hk_module *blocks = hk_sequential_of(NULL, 0);
        for (int j = 0; j < rows[i][4]; j++) {
            const block_sizes its = {.in = in,
                                     .size = rows[i][1],
                                     .inner = rows[i][0] * in,
                                     .out = rows[i][3],
                                     .stride = j ? 1 : rows[i][2],
                                     .squeezed = in / 4,
                                     .function = "silu",
                                     .squeeze_function = "silu",
                                     .scale_function = "sigmoid"};
            published_append(blocks, block(&its));
            in = rows[i][3];
        }
        published_append(features, blocks);
    }
    published_append(features, published_conv_norm(1280, 1, 1, 0, 0, published_function("silu")));
    hk_module *classifier =
        hk_sequential(hk_dropout_layer(0.2), hk_linear_layer(published_classes(options), NULL));
    return PUBLISHED_SEQUENCE({"features", features}, {"avgpool", hk_global_avg_pool_layer()},
                              {"classifier", classifier});
}
