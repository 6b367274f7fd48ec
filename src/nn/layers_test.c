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
    hk_array *volume = normal(hk_shape(2, 4, 3, 5, 4));
    layer = hk_conv3d_layer(
        6, 3, &(hk_conv3d_layer_options){.padding = {1, 0, 1}, .groups = 2, .window = {2}});
    hk_array *of_volume = hk_forward(layer, volume);
    CHECK(same(of_volume, hk_conv3d(volume, of(layer, "weight"), of(layer, "bias"),
                                    &(hk_conv3d_options){.padding = {1, 0, 1}, .groups = 2})));
    CHECK(hk_dim(of(layer, "weight"), 1) == 2 && hk_dim(of(layer, "weight"), 2) == 2);
    hk_module_release(layer);

    layer = hk_conv3d_transpose_layer(
        6, 2, &(hk_conv3d_transpose_layer_options){.stride = {2, 1, 1}, .output_padding = {1}});
    of_volume = hk_forward(layer, volume);
    CHECK(same(of_volume, hk_conv3d_transpose(volume, of(layer, "weight"), of(layer, "bias"),
                                              &(hk_conv3d_transpose_options){
                                                  .stride = {2, 1, 1}, .output_padding = {1}})));
    hk_module_release(layer);
    CHECK(is_refused(hk_conv3d_layer(4, 3, &(hk_conv3d_layer_options){.window = {0, -1}}),
                     "the window 3 x -1 x 3, but"));

    layer = hk_conv1d_layer(5, 3, &(hk_conv1d_layer_options){.padding = 2, .dilation = 2});
    y = hk_forward(layer, x);
    CHECK(same(y, hk_conv1d(x, of(layer, "weight"), of(layer, "bias"),
                            &(hk_conv1d_options){.padding = 2, .dilation = 2})));
    hk_module_release(layer);

    CHECK(is_refused(hk_conv2d_layer(0, 3, NULL), "channels is 0 and the window 3 x 3"));
    layer = hk_conv2d_layer(4, 3, NULL);
    CHECK(says(hk_wait(hk_forward(layer, normal(hk_shape(8, 36)))), "x has 2 axes, but needs"));
    CHECK(says(hk_wait(hk_forward(layer, NULL)), "x is NULL"));
    CHECK(hk_module_entries(layer, NULL, 0) == 0); /* nothing is made of what does not fit */
    hk_module_release(layer);
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
    check_layer(hk_adaptive_avg_pool1d_layer(4), line,
                hk_adaptive_avg_pool1d(line, &(hk_adaptive_avg_pool1d_options){.size = 4}));
    check_layer(hk_adaptive_max_pool1d_layer(3), line,
                hk_max_pool1d(line, &(hk_max_pool1d_options){.kernel = 3}));
    CHECK(says(hk_wait(hk_adaptive_max_pool1d(line, &(hk_adaptive_max_pool1d_options){.size = -1})),
               "size[1] is -1"));
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
    return hk_multiply(x, hk_rsqrt(hk_add(hk_mean(hk_square(x), &over), eps)));
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
    hk_array *x = hk_add(normal(hk_shape(3, 4, 5, 6)), 2);
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
    CHECK(is_refused(hk_group_norm_layer(0, 0), "groups is 0, but must be at least 1"));
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

/* ---- positions and words ------------------------------------------------------------------------------ */

static void test_positions(void)
{
    HK_SCOPE;
    double values[5 * 7];
    hk_array *table = hk_sinusoidal_positions(5, 7, HK_F64, (hk_device){NULL});
    CHECK(hk_ok(hk_to_host(table, values, sizeof values)));
    for (int i = 0; i < 5 * 7; i++) {
        const double angle = i / 7 / pow(10000, 2.0 * (i % 7 / 2) / 7);
        CHECK(fabs(values[i] - (i % 7 % 2 ? cos(angle) : sin(angle))) < 1e-12);
    }
    hk_array *x = normal(hk_shape(2, 5, 7));
    hk_module *layer = hk_sinusoidal_positions_layer();
    CHECK(same(hk_forward(layer, x), hk_add(x, hk_cast(table, HK_F32))));
    CHECK(says(hk_wait(hk_forward(layer, hk_reshape(x, hk_shape(2, 5, 7, 1)))), "x has 4 axes"));
    hk_capture_begin(&x, 1); /* they are computed once */
    hk_forward(layer, x);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_graph_get_facts(graph).calls == 1);
    hk_graph_release(graph);
    hk_array *shorter = normal(hk_shape(1, 3, 7)), *longer = normal(hk_shape(1, 9, 7));
    CHECK(same(hk_forward(layer, shorter),
               hk_add(shorter, hk_slice(hk_cast(table, HK_F32), 0, 0, 3))));
    CHECK(same(hk_forward(layer, longer),
               hk_add(longer, hk_sinusoidal_positions(9, 7, HK_F32, (hk_device){NULL}))));
    CHECK(hk_module_entries(layer, NULL, 0) == 0); /* and not saved */
    hk_module_release(layer);
    layer = hk_sinusoidal_positions_layer();
    hk_capture_begin(&x, 1); /* first called in a capture, and after it */
    hk_array *moved = hk_forward(layer, x);
    graph = hk_capture_end(NULL);
    hk_array *other = normal(hk_shape(2, 5, 7));
    hk_replay(graph, &other, 1);
    CHECK(same(moved, hk_add(other, hk_cast(table, HK_F32))));
    hk_graph_release(graph);
    CHECK(same(hk_forward(layer, x), hk_add(x, hk_cast(table, HK_F32))));
    hk_module_release(layer);
    layer = hk_learned_positions_layer(6);
    hk_array *y = hk_forward(layer, x);
    CHECK(same(y, hk_add(x, hk_slice(of(layer, "weight"), 0, 0, 5))));
    CHECK(says(hk_wait(hk_forward(layer, normal(hk_shape(1, 7, 7)))),
               "x has 7 positions, but the layer knows 6"));
    hk_module_release(layer);
    CHECK(is_refused(hk_learned_positions_layer(0), "count is 0"));
    CHECK(says(hk_wait(hk_sinusoidal_positions(5, 0, HK_F32, (hk_device){NULL})), "features 0"));
    CHECK(says(hk_wait(hk_sinusoidal_positions(5, INT64_MAX, HK_F32, (hk_device){NULL})),
               "from 1 to 2^31 - 1"));
    CHECK(!hk_ok(hk_wait(hk_sinusoidal_positions(5, 4, (hk_dtype)99, (hk_device){NULL}))));
    CHECK(says(hk_wait(hk_sinusoidal_positions(5, 4, HK_I32, (hk_device){NULL})), "dtype int32"));
}

static void test_lengths(void)
{
    HK_SCOPE;
    bool got[2 * 2 * 3], wanted[] = {1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
    hk_array *lengths =
        hk_from_host((const int32_t[]){2, 0, 3, 9}, hk_shape(2, 2), HK_I32, (hk_device){NULL});
    hk_array *mask = hk_length_mask(lengths, 3);
    CHECK(hk_ok(hk_to_host(mask, got, sizeof got)) && hk_array_dtype(mask) == HK_BOOL);
    CHECK(!memcmp(got, wanted, sizeof got));
    CHECK(says(hk_wait(hk_length_mask(hk_cast(lengths, HK_F32), 3)), "lengths is float32(2,2)"));
    CHECK(says(hk_wait(hk_length_mask(lengths, -1)), "count -1"));
    CHECK(!hk_ok(hk_wait(hk_length_mask(NULL, 1))));
}

static void test_padded_embedding(void)
{
    HK_SCOPE;
    hk_array *words =
        hk_from_host((const int32_t[]){3, 1, 1, 0}, hk_shape(2, 2), HK_I32, (hk_device){NULL});
    hk_module *layer = hk_padded_embedding_layer(4, 3, 1);
    hk_record_begin();
    hk_array *y = hk_forward(layer, words);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    hk_array *weight = of(layer, "weight"), *grad = hk_grad(weight);
    CHECK(same(hk_index(hk_index(y, 0, 0), 0, 0), hk_index(weight, 0, 3)));
    CHECK(
        same(hk_index(hk_index(y, 0, 0), 0, 1), hk_zeros(hk_shape(3), HK_F32, (hk_device){NULL})));
    CHECK(hk_item(hk_sum(grad, NULL), NULL) == 6);
    CHECK(hk_item(hk_norm(hk_index(grad, 0, 1), NULL), NULL) == 0);
    hk_module_release(layer);
    CHECK(is_refused(hk_padded_embedding_layer(4, 3, 4), "padding is 4, but must be in [0, 4)"));
    CHECK(is_refused(hk_padded_embedding_layer(4, 3, -1), "padding is -1"));
}

/* By name, with numbers. */
static void test_named(void)
{
    HK_SCOPE;
    hk_array *x = normal(hk_shape(2, 4, 5));
    const hk_number numbers[] = {hk_number_of_int(2), hk_number_of_real(0.5), hk_number_of_int(1)};
    hk_module *layer = hk_layer_named("group_norm", numbers, 2),
              *other = hk_group_norm_layer(2, 0.5);
    CHECK(same(hk_forward(layer, x), hk_forward(other, x)));
    hk_module_release(layer);
    hk_module_release(other);
    layer =
        hk_layer_named("rms_norm", numbers, 1); /* an integer, where the constructor takes double */
    CHECK(hk_ok(hk_module_status(layer)));
    hk_module_release(layer);
    CHECK(is_refused(hk_layer_named("group_norm", numbers + 1, 2), "groups is no whole number"));
    CHECK(is_refused(hk_layer_named("group_norm", numbers, 3), "count is 3, but must be 2"));
    CHECK(is_refused(hk_layer_named("no_norm", numbers, 1), "\"no_norm\""));
    CHECK(is_refused(hk_layer_named(NULL, numbers, 1), "\"NULL\""));
    CHECK(is_refused(hk_dropout_layer(1), "p is 1, but must be in [0, 1)"));
    CHECK(is_refused(hk_batch_norm_layer(0, 2), "momentum is 2, but must be in [0, 1]"));
    CHECK(is_refused(hk_max_pool2d_layer(2, -1, 0), "stride is -1, but must be 0 or more"));
}

/* ---- captured ----------------------------------------------------------------------------------------- */

typedef struct language_model {
    hk_module *words, *positions, *states, *classes;
} language_model;

static hk_array *loss_of(const language_model *its, hk_array *const bound[3])
{
    hk_array *x = hk_forward(its->positions, hk_forward(its->words, bound[0]));
    hk_array *y = hk_forward_all(its->states, (hk_array *const[]){x, NULL, bound[1]}, 3);
    return hk_cross_entropy_loss(hk_forward(its->classes, y), bound[2], NULL,
                                 &(hk_cross_entropy_loss_options){.axis = -1, .ignores = true});
}

static void step(const language_model *its, hk_array *const bound[3])
{
    HK_SCOPE;
    hk_module *const parts[] = {its->words, its->positions, its->states, its->classes};
    hk_record_begin();
    hk_array *loss = loss_of(its, bound);
    hk_record_end();
    hk_backward(loss);
    for (int i = 0; i < 4; i++) {
        hk_array *params[MOST];
        const int count = hk_module_parameters(parts[i], params, MOST);
        hk_sgd(params, count, &(hk_sgd_options){.lr = 0.5});
    }
}

/* Some steps of a network of most layers of sequences, dropout and norms included: its loss then. */
static double train(bool is_captured, bool is_exact)
{
    HK_SCOPE;
    hk_seed(7);
    hk_device device = {NULL};
    const language_model its = {
        .words = hk_padded_embedding_layer(6, 8, 0),
        .positions = hk_sequential(hk_sinusoidal_positions_layer(), hk_learned_positions_layer(5),
                                   hk_layer_norm_layer(0)),
        .states = hk_recurrent_stack(
            HK_RECURRENT_GRU, 8,
            &(hk_recurrent_stack_options){.layers = 2, .is_bidirectional = true, .dropout = 0.2}),
        .classes = hk_sequential(hk_rms_norm_layer(0), hk_linear_layer(6, NULL))};
    hk_graph *graph = NULL;
    hk_array *bound[3];
    for (int i = 0; i < 6; i++) {
        bound[0] = hk_random_int(0, 6, hk_shape(40, 5), HK_I32, device);
        bound[1] = hk_random_int(1, 6, hk_shape(40), HK_I32, device);
        bound[2] = bound[0];
        if (i == 0)
            hk_wait(loss_of(&its, bound));
        if (is_captured && i == 1)
            hk_capture_begin(bound, 2);
        if (!graph)
            step(&its, bound);
        else
            hk_replay(graph, bound, 2);
        if (is_captured && i == 1) {
            graph = hk_capture_end(&(hk_capture_options){.exact = is_exact});
            CHECK(!hk_status_print(hk_graph_status(graph), stderr));
        }
    }
    const double loss = hk_item(loss_of(&its, bound), NULL);
    hk_graph_release(graph);
    hk_module_release(its.words);
    hk_module_release(its.positions);
    hk_module_release(its.states);
    hk_module_release(its.classes);
    return loss;
}

static void test_captured(void)
{
    const double calls = train(false, false);
    CHECK(calls > 0 && calls < 2);
    CHECK(train(true, true) == calls);
    CHECK(fabs(train(true, false) - calls) < 1e-4);
}

/* ---- beginnings ----------------------------------------------------------------------------------------- */

/* Rows of norm gain at right angles, or columns where there are fewer of them. */
static void check_orthogonal(hk_dims shape, double gain, hk_dtype dtype)
{
    HK_SCOPE;
    const hk_init init = {.kind = HK_INIT_ORTHOGONAL, .gain = gain};
    hk_array *x = hk_init_draw(&init, shape, dtype, (hk_device){NULL});
    CHECK(hk_array_dtype(x) == dtype && hk_ndim(x) == shape.ndim && hk_is_contiguous(x));
    hk_array *q = hk_reshape(hk_cast(x, HK_F64), hk_shape(shape.dims[0], -1));
    if (hk_dim(q, 0) > hk_dim(q, 1))
        q = hk_transpose(q);
    hk_array *eye = hk_eye(hk_dim(q, 0), hk_dim(q, 0), 0, HK_F64, (hk_device){NULL});
    gain = gain == 0 ? 1 : gain;
    CHECK(near(hk_matmul(q, hk_transpose(q)), hk_multiply(eye, gain * gain),
               dtype == HK_F64 ? 1e-13 : 1e-6));
}

static void test_orthogonal(void)
{
    HK_SCOPE;
    check_orthogonal(hk_shape(6, 6), 0, HK_F64);
    check_orthogonal(hk_shape(40, 30), 2, HK_F64);
    check_orthogonal(hk_shape(4, 3, 2, 2), 0.5, HK_F32);
    check_orthogonal(hk_shape(5), 0, HK_F32);
    const hk_init init = {.kind = HK_INIT_ORTHOGONAL};
    CHECK(hk_size(hk_init_draw(&init, hk_shape(0, 3), HK_F32, (hk_device){NULL})) == 0);
    CHECK(hk_size(hk_init_draw(&init, hk_shape(3, 0), HK_F32, (hk_device){NULL})) == 0);
    CHECK(!hk_ok(hk_wait(hk_init_draw(&init, hk_shape(3, 3), HK_I32, (hk_device){NULL}))));
    /* Not the same angles each time. */
    hk_array *x = hk_init_draw(&init, hk_shape(3, 3), HK_F32, (hk_device){NULL});
    CHECK(!near(x, hk_init_draw(&init, hk_shape(3, 3), HK_F32, (hk_device){NULL}), 0.01));
}

/* Names go before what is said of all parameters, of those that are there and of those to come. */
static void test_named_init(void)
{
    HK_SCOPE;
    const hk_init half = {.kind = HK_INIT_CONSTANT, .value = 0.5};
    const hk_init three = {.kind = HK_INIT_CONSTANT, .value = 3};
    for (int called_before = 0; called_before < 2; called_before++) {
        hk_module *net = hk_sequential(hk_linear_layer(4, NULL), hk_linear_layer(2, NULL));
        hk_array *x = normal(hk_shape(2, 3));
        CHECK(hk_module_count(net) == 0);
        if (called_before)
            hk_forward(net, x);
        CHECK(hk_ok(hk_module_initialize_named(net, "bias", &half)));
        hk_module_initialize(net, &three);
        hk_forward(net, x);
        CHECK(hk_item(hk_sum(of(net, "0.bias"), NULL), NULL) == 2);
        CHECK(hk_item(hk_sum(of(net, "1.bias"), NULL), NULL) == 1);
        CHECK(hk_item(hk_sum(of(net, "1.weight"), NULL), NULL) == 24);
        CHECK(hk_module_count(net) == 3 * 4 + 4 + 4 * 2 + 2);
        CHECK(hk_ok(hk_module_initialize_named(net, "bias", &three)));
        CHECK(hk_item(hk_sum(of(net, "0.bias"), NULL), NULL) == 12);
        hk_module *replica = hk_module_replicate(net, (hk_device){NULL});
        CHECK(same(of(replica, "0.bias"), of(net, "0.bias")));
        CHECK(says(hk_module_initialize_named(net, "", &half), "name is \"\""));
        CHECK(says(hk_module_initialize_named(net, "bias", NULL), "init NULL"));
        hk_module_release(replica);
        hk_module_release(net);
    }
    CHECK(hk_module_count(NULL) == 0);
    hk_module *norm = hk_batch_norm_layer(0, 0);
    hk_forward(norm, normal(hk_shape(4, 3)));
    CHECK(hk_module_count(norm) == 6);
    hk_module_release(norm);
}

int main(void)
{
    hk_seed(11);
    test_orthogonal();
    test_named_init();
    test_positions();
    test_lengths();
    test_padded_embedding();
    test_named();
    test_captured();
    test_norms();
    test_batch_norms();
    test_norm_refusals();
    test_convolutions();
    test_pools();
    return check_result();
}
