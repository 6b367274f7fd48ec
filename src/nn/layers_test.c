/* Layers against the operators that they are made of, their parameters, and what they refuse. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>

enum { MOST = 32 };

static hk_array *normal(hk_dims shape)
{
    return hk_random_normal(shape, HK_F32, (hk_device){NULL});
}

static bool near(hk_array *x, hk_array *y, double most)
{
    HK_SCOPE;
    const hk_status *status = NULL;
    const double apart = hk_item(hk_max(hk_abs(hk_subtract(x, y)), NULL), &status);
    if (!hk_ok(status))
        hk_status_print(status, stderr);
    return hk_ok(status) && apart <= most;
}

static bool same(hk_array *x, hk_array *y)
{
    return near(x, y, 0);
}

static bool says(const hk_status *status, const char *text)
{
    const bool is_said = strstr(hk_status_message(status), text) != NULL;
    if (!is_said)
        fprintf(stderr, "\"%s\" lacks \"%s\"\n", hk_status_message(status), text);
    return is_said;
}

/* Whether the layer could not be made, for that reason; releases it. */
static bool is_refused(hk_module *layer, const char *text)
{
    const bool is_said = says(hk_module_status(layer), text);
    hk_module_release(layer);
    return is_said;
}

/* The array of that path; NULL after a complaint. */
static hk_array *of(hk_module *module, const char *path)
{
    hk_module_entry entries[MOST];
    const int count = hk_module_entries(module, entries, MOST);
    for (int i = 0; i < count; i++)
        if (strcmp(entries[i].path, path) == 0)
            return entries[i].array;
    CHECK(!path);
    return NULL;
}

/* ---- convolutions ------------------------------------------------------------------------------------ */

static void test_convolutions(void)
{
    HK_SCOPE;
    hk_array *x = normal(hk_shape(2, 4, 9, 8));
    hk_module *layer = hk_conv2d_layer(
        6, 3, &(hk_conv2d_layer_options){.padding = {1, 0}, .groups = 2, .window = {0, 2}});
    hk_array *y = hk_forward(layer, x);
    CHECK(same(y, hk_conv2d(x, of(layer, "weight"), of(layer, "bias"),
                            &(hk_conv2d_options){.padding = {1, 0}, .groups = 2})));
    CHECK(hk_dim(of(layer, "weight"), 1) == 2 && hk_dim(of(layer, "weight"), 2) == 3 &&
          hk_dim(of(layer, "weight"), 3) == 2);
    hk_module_release(layer);

    layer = hk_conv2d_transpose_layer(
        6, 3,
        &(hk_conv2d_transpose_layer_options){
            .stride = {2, 2}, .output_padding = {1, 0}, .groups = 2, .no_bias = true});
    y = hk_forward(layer, x);
    CHECK(
        same(y, hk_conv2d_transpose(x, of(layer, "weight"), NULL,
                                    &(hk_conv2d_transpose_options){
                                        .stride = {2, 2}, .output_padding = {1, 0}, .groups = 2})));
    CHECK(hk_dim(y, 1) == 6 && hk_module_parameters(layer, NULL, 0) == 1);
    hk_module_release(layer);

    x = normal(hk_shape(3, 4, 11));
    layer = hk_conv1d_layer(5, 3, &(hk_conv1d_layer_options){.padding = 2, .dilation = 2});
    y = hk_forward(layer, x);
    CHECK(same(y, hk_conv1d(x, of(layer, "weight"), of(layer, "bias"),
                            &(hk_conv1d_options){.padding = 2, .dilation = 2})));
    hk_module_release(layer);

    CHECK(is_refused(hk_conv2d_layer(0, 3, NULL), "channels is 0 and the window 3 x 3"));
    CHECK(is_refused(hk_conv2d_layer(4, 3, &(hk_conv2d_layer_options){.groups = -2}),
                     "groups is -2"));
    CHECK(is_refused(
        hk_conv2d_transpose_layer(4, 3, &(hk_conv2d_transpose_layer_options){.groups = 3}),
        "groups is 3, but must divide channels, 4"));
    CHECK(is_refused(hk_conv1d_layer(4, -1, NULL), "the window 1 x -1"));
}

/* ---- pooling ------------------------------------------------------------------------------------------ */

/* Gives what the operator gives; releases the layer. */
static void check_layer(hk_module *layer, hk_array *x, hk_array *expected)
{
    CHECK(same(hk_forward(layer, x), expected));
    CHECK(hk_module_entries(layer, NULL, 0) == 0);
    hk_module_release(layer);
}

static void test_pools(void)
{
    HK_SCOPE;
    hk_array *x = normal(hk_shape(2, 3, 9, 8)), *line = normal(hk_shape(2, 3, 9));
    check_layer(hk_max_pool1d_layer(3, 0, 1), line,
                hk_max_pool1d(line, &(hk_max_pool1d_options){.kernel = 3, .padding = 1}));
    check_layer(hk_avg_pool1d_layer(3, 2, 0), line,
                hk_avg_pool1d(line, &(hk_avg_pool1d_options){.kernel = 3, .stride = 2}));
    check_layer(hk_adaptive_avg_pool2d_layer(4, 3), x,
                hk_adaptive_avg_pool2d(x, &(hk_adaptive_avg_pool2d_options){.size = {4, 3}}));
    check_layer(hk_adaptive_max_pool2d_layer(4, 3), x,
                hk_adaptive_max_pool2d(x, &(hk_adaptive_max_pool2d_options){.size = {4, 3}}));
    check_layer(hk_global_max_pool_layer(), x,
                hk_max(x, &(hk_max_options){.axes = hk_shape(2, 3)}));
    hk_module *layer = hk_global_max_pool_layer();
    CHECK(says(hk_wait(hk_forward(layer, normal(hk_shape(2, 3)))), "x has 2 axes"));
    hk_module_release(layer);
}

int main(void)
{
    hk_seed(11);
    test_convolutions();
    test_pools();
    return check_result();
}
