/* Modules: shapes inferred, values, gradients, replicas, files' paths, refusals that name the layer. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <string.h>

enum { MOST = 32 };

static hk_array *filled(hk_dims shape, double value)
{
    return hk_full(shape, value, HK_F32, (hk_device){NULL});
}

static double item(hk_array *x)
{
    const hk_status *status = NULL;
    const double value = hk_item(x, &status);
    if (!hk_ok(status))
        hk_status_print(status, stderr);
    CHECK(hk_ok(status));
    return value;
}

static bool same(hk_array *x, hk_array *y)
{
    HK_SCOPE;
    return item(hk_all(hk_equal(x, y), NULL)) != 0;
}

static bool says(hk_array *x, const char *text)
{
    const char *message = hk_status_message(hk_wait(x));
    const bool is_said = strstr(message, text) != NULL;
    if (!is_said)
        fprintf(stderr, "\"%s\" lacks \"%s\"\n", message, text);
    return is_said;
}

static hk_module *perceptron(void)
{
    return hk_sequential(hk_flatten_layer(), hk_linear_layer(8, NULL),
                         hk_operator_layer("relu", NULL, 0), hk_linear_layer(3, NULL));
}

/* Shapes come with the first input; the paths are those of the tree; another shape is refused by name. */
static void test_lazy_shapes(void)
{
    HK_SCOPE;
    hk_seed(3);
    hk_module *net = perceptron();
    hk_array *params[MOST];
    CHECK(hk_module_parameters(net, params, MOST) == 0);
    hk_array *y = hk_forward(net, filled(hk_shape(5, 2, 3), 1));
    CHECK(hk_dim(y, 0) == 5 && hk_dim(y, 1) == 3);
    CHECK(hk_module_parameters(net, params, MOST) == 4);
    CHECK(hk_dim(params[0], 0) == 8 && hk_dim(params[0], 1) == 6 && hk_dim(params[3], 0) == 3);
    hk_module_entry entries[MOST];
    CHECK(hk_module_entries(net, entries, MOST) == 4);
    CHECK(strcmp(entries[0].path, "1.weight") == 0 && strcmp(entries[3].path, "3.bias") == 0);
    hk_array *bad = hk_forward(net, filled(hk_shape(5, 7), 1));
    CHECK(says(bad, "parameter weight is (8,6), but for this input must be (8,7) (in 1, linear)"));
    CHECK(hk_status_line(hk_wait(bad)) == __LINE__ - 2);
    hk_module_release(net);
}

/* A step by hand gives the same as the modules. */
static void test_against_operators(void)
{
    HK_SCOPE;
    hk_module *net = perceptron();
    hk_array *x = hk_random_normal(hk_shape(4, 6), HK_F32, (hk_device){NULL}), *p[MOST];
    hk_array *labels =
        hk_from_host((const int32_t[]){0, 1, 2, 1}, hk_shape(4), HK_I32, (hk_device){0});
    hk_record_begin();
    hk_array *loss = hk_softmax_cross_entropy(hk_forward(net, x), labels);
    hk_record_end();
    hk_backward(loss);
    CHECK(hk_module_parameters(net, p, MOST) == 4);
    hk_array *grads[4];
    for (int i = 0; i < 4; i++)
        grads[i] = hk_copy(hk_grad(p[i]));
    hk_record_begin();
    hk_array *by_hand =
        hk_softmax_cross_entropy(hk_linear(hk_relu(hk_linear(x, p[0], p[1])), p[2], p[3]), labels);
    hk_record_end();
    hk_backward(by_hand);
    CHECK(same(loss, by_hand));
    for (int i = 0; i < 4; i++)
        CHECK(same(grads[i], hk_grad(p[i])));
    hk_module_release(net);
}

/* Replicas begin with the original's values, whether these were there before or not, and have gradients of their own. */
static void test_replicas(void)
{
    for (int called_before = 0; called_before < 2; called_before++) {
        HK_SCOPE;
        hk_seed(5);
        hk_module *net = perceptron();
        hk_array *x = filled(hk_shape(2, 6), 0.5), *p[MOST], *q[MOST];
        if (called_before)
            hk_forward(net, x);
        hk_module *replica = hk_module_replicate(net, hk_device_named("cpu:1"));
        hk_array *there = hk_to_device(x, hk_device_named("cpu:1"));
        hk_array *far = hk_to_device(hk_forward(replica, there), hk_device_named("cpu:0"));
        CHECK(same(hk_forward(net, x), far));
        CHECK(hk_module_parameters(net, p, MOST) == 4 &&
              hk_module_parameters(replica, q, MOST) == 4);
        CHECK(hk_ok(hk_wait(hk_grad(q[0]))) && p[0] != q[0]);
        hk_module_release(net);
        CHECK(hk_ok(hk_wait(hk_forward(replica, there))));
        hk_module_release(replica);
    }
}

/* What one network has, another becomes, before its first call and after it. */
static void test_set(void)
{
    HK_SCOPE;
    hk_module *net = perceptron(), *fresh = perceptron(), *used = perceptron();
    hk_array *x = filled(hk_shape(2, 6), 0.25), *y = hk_forward(net, x);
    hk_forward(used, x);
    CHECK(!same(y, hk_forward(used, x)));
    hk_module_entry entries[MOST];
    const int count = hk_module_entries(net, entries, MOST);
    for (int i = 0; i < count; i++) {
        CHECK(hk_ok(hk_module_set(fresh, entries[i].path, entries[i].array)));
        CHECK(hk_ok(hk_module_set(used, entries[i].path, entries[i].array)));
    }
    CHECK(same(y, hk_forward(fresh, x)) && same(y, hk_forward(used, x)));
    hk_array *params[MOST];
    CHECK(hk_module_parameters(fresh, params, MOST) == 4);
    CHECK(hk_ok(hk_wait(hk_grad(params[0]))));
    CHECK(hk_status_code(hk_module_set(net, "7.weight", x)) == HK_NOT_FOUND);
    CHECK(hk_status_code(hk_module_set(net, "", x)) == HK_NOT_FOUND);
    CHECK(hk_status_code(hk_module_set(net, "1.weight", x)) == HK_INVALID_ARGUMENT);
    CHECK(hk_status_code(hk_module_set(net, "1.wait", x)) == HK_NOT_FOUND); /* it has been called */
    hk_module_release(net);
    hk_module_release(fresh);
    hk_module_release(used);
}

static void test_modes(void)
{
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(64, 4), HK_F32, (hk_device){NULL});
    hk_module *norm = hk_batch_norm_layer(0, 1), *drop = hk_dropout_layer(0.25);
    hk_array *trained = hk_forward(norm, x);
    CHECK(item(hk_max(hk_abs(hk_mean(trained, &(hk_mean_options){.axes = hk_shape(0)})), NULL)) <
          1e-5);
    hk_module_set_training(norm, false);
    CHECK(item(hk_max(hk_abs(hk_subtract(trained, hk_forward(norm, x))), NULL)) < 0.1);
    hk_module_entry entries[MOST];
    CHECK(hk_module_entries(norm, entries, MOST) == 4 && entries[2].is_buffer);

    hk_array *ones = filled(hk_shape(4000), 1), *dropped = hk_forward(drop, ones);
    const double zeros =
        item(hk_mean(hk_cast(hk_equal(dropped, filled(hk_shape(), 0)), HK_F32), NULL));
    CHECK(zeros > 0.2 && zeros < 0.3);
    CHECK(item(hk_max(dropped, NULL)) == (double)(float)(1 / 0.75));
    hk_module_set_training(drop, false);
    CHECK(same(ones, hk_forward(drop, ones)));

    hk_module *net = perceptron();
    hk_forward(net, x);
    hk_module_freeze(hk_module_child_at(net, 1), true);
    hk_array *params[MOST];
    CHECK(hk_module_parameters(net, params, MOST) == 2);
    hk_module_freeze(net, false);
    CHECK(hk_module_parameters(net, params, MOST) == 4);
    hk_module_initialize(net, &(hk_init){.kind = HK_INIT_CONSTANT, .value = 0.5});
    CHECK(same(params[0], filled(hk_shape(8, 4), 0.5)));
    hk_module_release(net);
    hk_module_release(norm);
    hk_module_release(drop);
}

static void test_layers(void)
{
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(2, 3, 9, 9), HK_F32, (hk_device){NULL});
    const hk_conv2d_layer_options narrow = {.stride = {2, 2}, .padding = {1, 1}, .no_bias = true};
    hk_module *net = hk_sequential(
        hk_conv2d_layer(4, 3, &narrow), hk_batch_norm_layer(0, 0),
        hk_residual_layer(hk_conv2d_layer(4, 1, NULL), NULL),
        hk_residual_layer(hk_conv2d_layer(6, 1, NULL), hk_conv2d_layer(6, 1, NULL)),
        hk_max_pool2d_layer(2, 0, 0), hk_global_avg_pool_layer(), hk_layer_norm_layer(0));
    hk_array *y = hk_forward(net, x), *params[MOST];
    CHECK(hk_dim(y, 0) == 2 && hk_dim(y, 1) == 6);
    CHECK(item(hk_max(hk_abs(hk_mean(y, &(hk_mean_options){.axes = hk_shape(-1)})), NULL)) < 1e-5);
    CHECK(hk_module_parameters(net, params, MOST) == 11);
    CHECK(hk_module_print(net, stdout) == 0);
    hk_module_release(net);

    hk_module *table = hk_embedding_layer(10, 4);
    hk_array *rows =
        hk_from_host((const int32_t[]){1, 9, 1}, hk_shape(1, 3), HK_I32, (hk_device){0});
    hk_array *found = hk_forward(table, rows);
    CHECK(hk_ndim(found) == 3 && hk_dim(found, 2) == 4);
    CHECK(same(hk_index(found, 1, 0), hk_index(found, 1, 2)));
    hk_module_release(table);
}

/* A block of a transformer: what comes later in the sequence changes nothing before it; bool masks do the same. */
static void test_attention(void)
{
    HK_SCOPE;
    hk_seed(9);
    hk_module *block = hk_sequential(
        hk_residual_layer(hk_sequential(hk_layer_norm_layer(0), hk_attention_layer(8, 2, true)),
                          NULL),
        hk_residual_layer(hk_sequential(hk_layer_norm_layer(0), hk_linear_layer(16, NULL),
                                        hk_operator_layer("gelu", NULL, 0),
                                        hk_linear_layer(8, NULL)),
                          NULL));
    hk_array *x = hk_random_normal(hk_shape(2, 5, 8), HK_F32, (hk_device){NULL}), *y = hk_copy(x);
    hk_assign(hk_slice(y, 1, 3, 5), filled(hk_shape(), 7));
    hk_array *a = hk_forward(block, x), *b = hk_forward(block, y);
    CHECK(same(hk_slice(a, 1, 0, 3), hk_slice(b, 1, 0, 3)));
    CHECK(!same(hk_slice(a, 1, 3, 5), hk_slice(b, 1, 3, 5)));
    hk_array *params[MOST];
    CHECK(hk_module_parameters(block, params, MOST) == 16);
    hk_record_begin();
    hk_array *loss = hk_sum(hk_forward(block, x), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    for (int i = 0; i < 16; i++)
        CHECK(hk_ok(hk_wait(hk_grad(params[i]))));
    hk_module_release(block);

    hk_array *q = hk_random_normal(hk_shape(2, 5, 4), HK_F32, (hk_device){NULL});
    hk_array *mask = hk_tril(hk_full(hk_shape(5, 5), 1, HK_BOOL, (hk_device){NULL}), 0);
    hk_scaled_dot_product_attention_options causal = {.causal = true};
    CHECK(same(hk_scaled_dot_product_attention(q, q, q, mask, NULL),
               hk_scaled_dot_product_attention(q, q, q, NULL, &causal)));
    CHECK(says(hk_scaled_dot_product_attention(q, hk_slice(q, 2, 0, 3), q, NULL, NULL), "(…,n,d)"));
    CHECK(says(hk_scaled_dot_product_attention(q, q, q, hk_slice(mask, 0, 0, 2), NULL),
               "mask is (2,5)"));
    hk_module *bad = hk_attention_layer(8, 3, false);
    CHECK(says(hk_forward(bad, x), "heads must divide features"));
    hk_module_release(bad);
}

static void train_step(hk_module *net, hk_optimizer *optimizer, hk_array *x, hk_array *labels)
{
    HK_SCOPE;
    hk_record_begin();
    hk_array *loss = hk_softmax_cross_entropy(hk_forward(net, x), labels);
    hk_record_end();
    hk_backward(loss);
    hk_optimizer_step(optimizer);
}

/* Replays of a captured step leave the parameters that calls leave, norms and moving averages included. */
static void test_captured(void)
{
    HK_SCOPE;
    hk_seed(7);
    hk_module *net =
        hk_sequential(hk_linear_layer(16, NULL), hk_batch_norm_layer(0, 0), hk_layer_norm_layer(0),
                      hk_operator_layer("gelu", NULL, 0),
                      hk_residual_layer(hk_linear_layer(16, NULL), NULL), hk_linear_layer(3, NULL));
    hk_array *x = hk_random_normal(hk_shape(12, 6), HK_F32, (hk_device){NULL});
    hk_array *labels = hk_random_int(0, 3, hk_shape(12), HK_I32, (hk_device){NULL});
    hk_forward(net, x);
    hk_module *twin = hk_module_replicate(net, (hk_device){NULL});
    hk_optimizer *optimizers[2];
    hk_module *const nets[2] = {net, twin};
    for (int i = 0; i < 2; i++) {
        hk_array *params[MOST];
        const int count = hk_module_parameters(nets[i], params, MOST);
        CHECK(count == 10);
        optimizers[i] = hk_optimizer_create("adam", params, count, NULL);
    }
    for (int step = 0; step < 5; step++)
        train_step(net, optimizers[0], x, labels);
    hk_capture_begin((hk_array *[]){x, labels}, 2);
    train_step(twin, optimizers[1], x, labels);
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = true});
    CHECK(hk_ok(hk_graph_status(graph)));
    for (int step = 1; step < 5; step++)
        hk_replay(graph, (hk_array *[]){x, labels}, 2);
    hk_module_entry entries[MOST], others[MOST];
    const int count = hk_module_entries(net, entries, MOST);
    CHECK(count == 12 && hk_module_entries(twin, others, MOST) == count);
    for (int i = 0; i < count; i++)
        CHECK(same(entries[i].array, others[i].array) &&
              strcmp(entries[i].path, others[i].path) == 0);
    hk_graph_release(graph);
    for (int i = 0; i < 2; i++) {
        hk_optimizer_release(optimizers[i]);
        hk_module_release(nets[i]);
    }
}

/* Nothing crashes; messages say what was wrong, and where. */
static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = filled(hk_shape(2, 6), 1);
    hk_module *net = hk_sequential(hk_flatten_layer(), hk_operator_layer("relux", NULL, 0));
    CHECK(says(hk_forward(net, x), "operator is \"relux\""));
    CHECK(hk_module_print(net, stdout) == 1);
    hk_module_release(net);
    net = hk_linear_layer(-1, NULL);
    CHECK(says(hk_forward(net, x), "features is -1"));
    hk_module_release(net);
    net = hk_dropout_layer(1);
    CHECK(says(hk_forward(net, x), "p is 1"));
    hk_module_release(net);
    CHECK(says(hk_forward(NULL, x), "argument module is NULL"));

    net = hk_sequential(hk_sequential(hk_conv2d_layer(2, 3, NULL)));
    CHECK(says(hk_forward(net, x), "(in 0.0, conv2d)"));
    CHECK(!hk_ok(hk_wait(hk_forward(net, NULL))));
    hk_array *failed = hk_add(x, filled(hk_shape(5), 1));
    CHECK(says(hk_forward(net, failed), hk_status_message(hk_wait(failed))));
    hk_module_release(net);

    net = hk_linear_layer(1, NULL);
    for (int i = 0; i < 200; i++)
        net = hk_sequential(net);
    CHECK(says(hk_forward(net, x), "longer than 256 bytes"));
    hk_module_release(net);

    hk_module *shared = hk_flatten_layer();
    net = hk_sequential(shared, shared);
    CHECK(says(hk_forward(net, x), "is in a tree already"));
    hk_module_add(shared, "up", net);
    CHECK(!hk_ok(hk_module_status(shared)));
    hk_module_release(net);
    CHECK(!hk_ok(hk_wait(hk_init_draw(&(hk_init){.kind = HK_INIT_NORMAL, .value = INFINITY},
                                      hk_shape(2), HK_F32, (hk_device){0}))));
    hk_module_release(NULL);
}

static uint64_t used_bytes(void)
{
    hk_wait_all();
    return hk_device_get_memory(hk_device_default()).used_bytes;
}

static double first_of(hk_array *x)
{
    HK_SCOPE;
    return item(hk_index(x, 0, 0));
}

/* Keeps the first thing that it makes, if it is told where. */
static hk_array *busy_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array **kept = *(hk_array ***)hk_module_options(self);
    (void)count;
    hk_array *x = hk_multiply(inputs[0], 2);
    if (kept)
        *kept = hk_take(x);
    return hk_add(hk_multiply(x, x), 1);
}

static hk_array *same_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)self, (void)count;
    return inputs[0];
}

static hk_module *busy_layers(hk_array **kept)
{
    const hk_array *const none[1] = {NULL};
    return hk_sequential(hk_module_create("busy", busy_forward, none, sizeof none),
                         hk_module_create("same", same_forward, NULL, 0),
                         hk_module_create("busy", busy_forward, none, sizeof none),
                         hk_module_create("busy", busy_forward, &kept, sizeof(hk_array **)));
}

/* What layers make goes with them, but for the result, what was taken, and what gradients read. */
static void test_intermediates(void)
{
    HK_SCOPE;
    hk_array *kept = NULL, *x = filled(hk_shape(1000), 1);
    hk_module *net = busy_layers(&kept),
              *same_net = hk_module_create("same", same_forward, NULL, 0);
    const uint64_t before = used_bytes();
    hk_array *like = filled(hk_shape(1000), 0);
    const uint64_t one = used_bytes() - before;
    hk_array *y = hk_forward(net, x);
    CHECK(used_bytes() == before + 3 * one && one >= 4000);
    CHECK(first_of(y) == 4 * 101.0 * 101 + 1 && first_of(kept) == 202);
    hk_array_release(kept);
    {
        HK_SCOPE;
        CHECK(hk_forward(same_net, x) == x && hk_forward(same_net, like) == like);
        const size_t outer =
            hk_scopes_suspend(); /* the result is the caller's, and all else is gone */
        hk_array_release(hk_forward(net, x));
        hk_scopes_resume(outer);
        hk_array_release(kept);
    }
    CHECK(first_of(x) == 1 && first_of(like) == 0);
    CHECK(used_bytes() == before + 2 * one);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *z = hk_forward(net, x);
    hk_record_end();
    hk_backward(z);
    /* 2 x, (2 x)^2 + 1, and so on: 4 * 2 a * 4 * 2 b * 4 * 2 x, with a = 5, b = 101 */
    CHECK(first_of(hk_grad(x)) == 8.0 * 101 * 8 * 5 * 8);
    hk_array_release(kept);
    hk_module_release(net);
    hk_module_release(same_net);
}

int main(void)
{
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2});
    test_lazy_shapes();
    test_against_operators();
    test_replicas();
    test_set();
    test_modes();
    test_layers();
    test_attention();
    test_captured();
    test_refusals();
    test_intermediates();
    hk_runtime_deinit();
    return check_result();
}
