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

/* ---- norms -------------------------------------------------------------------------------------------- */

/* Written as the formulas are, over axes of x. */
static hk_array *normalised(hk_array *x, hk_dims axes, bool is_centred, double eps)
{
    const hk_mean_options over = {.axes = axes, .keepdims = true};
    if (is_centred)
        x = hk_subtract(x, hk_mean(x, &over));
    return hk_multiply(x, hk_rsqrt(hk_add_scalar(hk_mean(hk_square(x), &over), eps)));
}

/* With other gammas and betas than those at first. */
static void check_norm(hk_module *layer, hk_array *x, hk_array *expected, hk_dims affine)
{
    CHECK(near(hk_forward(layer, x), expected, 2e-6));
    hk_array *gamma = of(layer, "gamma"), *beta = NULL, *y = expected;
    hk_assign(gamma, normal(hk_dims_get(gamma)));
    y = hk_multiply(y, hk_reshape(gamma, affine));
    if (hk_module_parameters(layer, NULL, 0) > 1) {
        beta = of(layer, "beta");
        hk_assign(beta, normal(hk_dims_get(beta)));
        y = hk_add(y, hk_reshape(beta, affine));
    }
    CHECK(near(hk_forward(layer, x), y, 1e-5));
    hk_module_release(layer);
}

static void test_norms(void)
{
    HK_SCOPE;
    hk_array *x = hk_add_scalar(normal(hk_shape(3, 4, 5, 6)), 2);
    check_norm(hk_layer_norm_layer(0.1), x, normalised(x, hk_shape(3), true, 0.1), hk_shape(6));
    check_norm(hk_layer_norm_over_layer(2, 0), x, normalised(x, hk_shape(2, 3), true, 1e-5),
               hk_shape(5, 6));
    check_norm(hk_rms_norm_layer(0), x, normalised(x, hk_shape(3), false, 1e-5), hk_shape(6));
    check_norm(hk_instance_norm_layer(0), x, normalised(x, hk_shape(2, 3), true, 1e-5),
               hk_shape(4, 1, 1));
    hk_array *groups = hk_reshape(x, hk_shape(3, 2, 60));
    check_norm(hk_group_norm_layer(2, 0), x,
               hk_reshape(normalised(groups, hk_shape(2), true, 1e-5), hk_dims_get(x)),
               hk_shape(4, 1, 1));
    hk_module *layer = hk_group_norm_layer(3, 0);
    CHECK(says(hk_wait(hk_forward(layer, x)), "groups is 3; it must divide the 4 channels"));
    hk_module_release(layer);
    layer = hk_layer_norm_over_layer(5, 0);
    CHECK(says(hk_wait(hk_forward(layer, x)), "x has 4 axes, but needs at least 5"));
    hk_module_release(layer);
    layer = hk_instance_norm_layer(0);
    CHECK(says(hk_wait(hk_forward(layer, normal(hk_shape(3, 4)))), "x has 2 axes"));
    hk_module_release(layer);
    CHECK(is_refused(hk_rms_norm_layer(-1), "eps is -1"));
    CHECK(is_refused(hk_group_norm_layer(0, 0), "groups is 0, but must be from 1"));
    CHECK(is_refused(hk_layer_norm_over_layer(-1, 0), "axes is -1"));
}

/* Batch norm of features, sequences and images: each channel over all else. */
static void test_batch_norms(void)
{
    const hk_dims shapes[] = {hk_shape(6, 4), hk_shape(3, 4, 5), hk_shape(2, 4, 3, 3)};
    for (int i = 0; i < 3; i++) {
        HK_SCOPE;
        hk_array *x = normal(shapes[i]);
        hk_dims axes = {.ndim = shapes[i].ndim - 1}, affine = {.ndim = shapes[i].ndim - 1};
        for (int j = 0; j < axes.ndim; j++) {
            axes.dims[j] = j ? j + 1 : 0;
            affine.dims[j] = j ? 1 : 4;
        }
        check_norm(hk_batch_norm_layer(0, 0), x, normalised(x, axes, true, 1e-5), affine);
    }
}

/* Refusals of the operators. */
static void test_norm_refusals(void)
{
    HK_SCOPE;
    hk_array *x = normal(hk_shape(3, 4)), *gamma = normal(hk_shape(3));
    CHECK(says(hk_wait(hk_layer_norm(x, gamma, NULL, NULL)),
               "gamma is (3,), but must be (4,): one for each normalised element of x (3,4)"));
    CHECK(says(hk_wait(hk_layer_norm(x, NULL, hk_cast(normal(hk_shape(4)), HK_F64), NULL)),
               "beta is float64, x is float32"));
    CHECK(says(hk_wait(hk_layer_norm(x, NULL, NULL, &(hk_layer_norm_options){.axes = 3})),
               "axes is 3, but x is (3,4)"));
    CHECK(says(hk_wait(hk_rms_norm(x, NULL, &(hk_rms_norm_options){.eps = -1})), "eps is -1"));
    CHECK(says(hk_wait(hk_group_norm(x, gamma, NULL, NULL)), "must be (4,): one for each channel"));
    CHECK(says(hk_wait(hk_group_norm(gamma, NULL, NULL, NULL)), "x is (3,), but needs 2 axes"));
    CHECK(says(hk_wait(hk_layer_norm(hk_reshape(hk_slice(x, 0, 0, 0), hk_shape(0, 4)), NULL, NULL,
                                     &(hk_layer_norm_options){.axes = 2})),
               "there are no elements to be normalised"));
    CHECK(
        says(hk_wait(hk_layer_norm(hk_sum(x, NULL), NULL, NULL, NULL)), "axes is 1, but x is ()"));
}

int main(void)
{
    hk_seed(11);
    test_norms();
    test_batch_norms();
    test_norm_refusals();
    test_convolutions();
    test_pools();
    return check_result();
}
