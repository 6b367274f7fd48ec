/* Replays do what the calls did: the same bytes over many training steps, in each engine, on one device and on two, on
 * simulated accelerators too. */
#include "check.h"

#include <hocket/hocket.h>

#include <stdlib.h>

enum { STEPS = 5, BATCH = 6, MAX_PARAMS = 8, MAX_DEVICES = 2, MAX_VALUES = 4096 };

typedef struct model {
    hk_array *params[MAX_PARAMS];
    int count;
} model;

/* Numbers that do not repeat soon. */
static hk_array *numbers(hk_dims shape, hk_dtype dtype, int first, hk_device device)
{
    float values[MAX_VALUES];
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++)
        size *= shape.dims[i];
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)((i * 37 + first * 101) % 89) / 89 - 0.5f;
    hk_array *x = hk_from_host(values, shape, HK_F32, device);
    return hk_cast(hk_multiply(x, dtype == HK_F32 ? 1 : 10), dtype);
}

static void add_param(model *self, hk_dims shape, hk_grad_mode mode, hk_device device)
{
    hk_array *x = hk_take(numbers(shape, HK_F32, self->count, device));
    hk_attach_grad(x, mode);
    self->params[self->count++] = x;
}

static void model_drop(model *self)
{
    for (int i = 0; i < self->count; i++)
        hk_array_release(self->params[i]);
    self->count = 0;
}

/* ---- two networks ------------------------------------------------------------------------------ */

static void perceptron_init(model *self, hk_device device)
{
    self->count = 0;
    add_param(self, hk_shape(9, 16), HK_GRAD_WRITE, device);
    add_param(self, hk_shape(9), HK_GRAD_ADD, device);
    add_param(self, hk_shape(4, 9), HK_GRAD_WRITE, device);
    add_param(self, hk_shape(4), HK_GRAD_WRITE, device);
}

static hk_array *perceptron(const model *self, hk_array *x)
{
    hk_array *const *p = self->params;
    hk_array *hidden = hk_relu(hk_linear(hk_reshape(x, hk_shape(BATCH, 16)), p[0], p[1]));
    return hk_linear(hidden, p[2], p[3]);
}

static void convolutional_init(model *self, hk_device device)
{
    self->count = 0;
    add_param(self, hk_shape(3, 1, 3, 3), HK_GRAD_WRITE, device);
    add_param(self, hk_shape(3), HK_GRAD_WRITE, device);
    add_param(self, hk_shape(4, 3), HK_GRAD_ADD, device);
    add_param(self, hk_shape(4), HK_GRAD_WRITE, device);
}

static hk_array *convolutional(const model *self, hk_array *x)
{
    hk_array *const *p = self->params;
    hk_array *c = hk_tanh(hk_conv2d(x, p[0], p[1], NULL));
    hk_array *pooled = hk_max_pool2d(c, &(hk_max_pool2d_options){.kernel = {2, 2}});
    return hk_linear(hk_reshape(pooled, hk_shape(BATCH, 3)), p[2], p[3]);
}

typedef struct network {
    void (*init)(model *self, hk_device device);
    hk_array *(*apply)(const model *self, hk_array *x);
} network;

static const network networks[] = {{perceptron_init, perceptron},
                                   {convolutional_init, convolutional}};
enum { NETWORKS = sizeof networks / sizeof *networks };

/* ---- a step ------------------------------------------------------------------------------------ */

/* One step on each device, with the gradients of all summed; the losses are kept for the caller. */
static void step(const network *net, const model *models, int devices, hk_array *const *bound,
                 hk_array **losses)
{
    HK_SCOPE;
    for (int d = 0; d < devices; d++) {
        hk_record_begin();
        hk_array *loss = hk_mean(
            hk_softmax_cross_entropy(net->apply(&models[d], bound[2 * d]), bound[2 * d + 1]), NULL);
        hk_record_end();
        hk_backward(loss);
        losses[d] = hk_take(hk_detach(loss));
    }
    for (int i = 0; i < models[0].count && devices > 1; i++) {
        hk_array *grads[MAX_DEVICES];
        for (int d = 0; d < devices; d++)
            grads[d] = hk_grad(models[d].params[i]);
        hk_all_reduce(grads, devices);
    }
    for (int d = 0; d < devices; d++)
        hk_sgd(models[d].params, models[d].count,
               &(hk_sgd_options){.lr = 0.1, .batch = BATCH, .weight_decay = 0.01});
}

typedef struct outcome {
    size_t count;
    float values[4 * MAX_VALUES];
} outcome;

static void outcome_add(outcome *self, hk_array *x)
{
    size_t size = (size_t)hk_size(x);
    CHECK(hk_ok(hk_to_host(x, self->values + self->count, size * sizeof(float))));
    self->count += size;
}

/* STEPS steps, each with a batch of its own; from the third on they are replayed where that is asked for. */
static void train(const network *net, int first, int devices, bool replays, outcome *out)
{
    model models[MAX_DEVICES];
    hk_array *losses[MAX_DEVICES];
    hk_graph *graph = NULL;
    out->count = 0;
    for (int d = 0; d < devices; d++) {
        HK_SCOPE;
        net->init(&models[d], hk_device_at(first + d));
    }
    for (int i = 0; i < STEPS; i++) {
        HK_SCOPE;
        hk_array *bound[2 * MAX_DEVICES];
        for (int d = 0; d < devices; d++) {
            hk_device device = hk_device_at(first + d);
            bound[2 * d] = numbers(hk_shape(BATCH, 1, 4, 4), HK_F32, i * 10 + d, device);
            int64_t labels[BATCH];
            for (int j = 0; j < BATCH; j++)
                labels[j] = (i + j * (d + 1)) % 4;
            bound[2 * d + 1] = hk_from_host(labels, hk_shape(BATCH), HK_I64, device);
        }
        if (graph) {
            hk_replay(graph, bound, 2 * devices);
        } else {
            if (replays && i == 2)
                hk_capture_begin(bound, 2 * devices);
            for (int d = 0; i && d < devices; d++)
                hk_array_release(losses[d]);
            step(net, models, devices, bound, losses);
            if (replays && i == 2) {
                graph = hk_capture_end(&(hk_capture_options){.exact = true});
                CHECK(!hk_status_print(hk_graph_status(graph), stderr));
                CHECK(hk_graph_get_facts(graph).calls > 10 * devices);
            }
        }
        for (int d = 0; d < devices; d++)
            outcome_add(out, losses[d]);
    }
    for (int d = 0; d < devices; d++) {
        for (int i = 0; i < models[d].count; i++) {
            outcome_add(out, models[d].params[i]);
            outcome_add(out, hk_grad(models[d].params[i]));
        }
        hk_array_release(losses[d]);
        model_drop(&models[d]);
    }
    hk_graph_release(graph);
}

static void test_training(const hk_runtime_options *options, int first, int devices)
{
    static outcome expected, actual;
    CHECK(hk_ok(hk_runtime_init(options)));
    for (int i = 0; i < NETWORKS; i++) {
        train(&networks[i], first, devices, false, &expected);
        train(&networks[i], first, devices, true, &actual);
        CHECK_EQ_I64(actual.count, expected.count);
        CHECK(expected.count > 90 && expected.values[0] != expected.values[devices]);
        CHECK(!memcmp(actual.values, expected.values, expected.count * sizeof *expected.values));
        CHECK(hk_ok(hk_wait_all()));
    }
    hk_runtime_deinit();
}

int main(void)
{
    const hk_sim_options fast = {.count = 2,
                                 .flops = 1e15,
                                 .memory_bandwidth = 1e15,
                                 .launch_ns = 1,
                                 .link_bandwidth = 1e15,
                                 .link_latency_ns = 1,
                                 .staging_bandwidth = 1e15};
    hk_sim_options apart = fast;
    apart.peer_bandwidth = -1;
    test_training(&(hk_runtime_options){.cpu_devices = 1}, 0, 1);
    test_training(&(hk_runtime_options){.cpu_devices = 1, .inline_ns = -1}, 0, 1);
    test_training(&(hk_runtime_options){.cpu_devices = 1, .engine = HK_ENGINE_SERIAL}, 0, 1);
    test_training(&(hk_runtime_options){.cpu_devices = 2}, 0, 2);
    test_training(&(hk_runtime_options){.cpu_devices = 2, .engine = HK_ENGINE_SERIAL}, 0, 2);
    test_training(&(hk_runtime_options){.sim = &fast, .sim_count = 1}, 1, 2);
    test_training(&(hk_runtime_options){.sim = &apart, .sim_count = 1}, 1, 2);
    test_training(&(hk_runtime_options){.sim = &fast, .sim_count = 1, .engine = HK_ENGINE_SERIAL},
                  1, 2);
    return check_result();
}
