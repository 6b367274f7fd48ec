/* A chain is cut where gradients are summed over devices or ranks, and there alone; its parts give the bytes of the whole. */
#include "check.h"
#include "same_bytes.h"

#include "graph/chain.h"

#include <hocket/hocket.h>

enum { SAMPLES = 100, CLASSES = 10, SIDE = 12, PARAMS = 6, STEPS = 3 };

static const int64_t width = 24;

typedef struct model {
    hk_array *params[PARAMS], *images, *labels;
} model;

static hk_array *numbers(int64_t seed, hk_dims shape)
{
    hk_generator *generator = hk_generator_create((uint64_t)seed);
    hk_array *x = hk_multiply(
        hk_random_normal_from(generator, 0, 1, shape, HK_F32, hk_device_default()), 0.1);
    hk_generator_release(generator);
    return x;
}

static void model_init(model *self, bool convolves)
{
    const hk_dims shapes[PARAMS] = {
        hk_shape(6, 1, 3, 3),   hk_shape(6),
        hk_shape(8, 6, 3, 3),   hk_shape(width, convolves ? 8 * 9 : SIDE * SIDE),
        hk_shape(width, width), hk_shape(CLASSES, width)};
    for (int i = 0; i < PARAMS; i++) {
        self->params[i] = numbers(i + 1, shapes[i]);
        hk_attach_grad(self->params[i], HK_GRAD_WRITE);
    }
    self->images = numbers(9, hk_shape(SAMPLES, 1, SIDE, SIDE));
    self->labels = hk_zeros(hk_shape(SAMPLES), HK_I64, hk_device_default());
}

static hk_array *scores(const model *self, bool convolves, bool maximum)
{
    hk_array *x = self->images, *const *p = self->params;
    if (convolves) {
        x = hk_relu(hk_conv2d(x, p[0], p[1], NULL));
        x = maximum ? hk_max_pool2d(x, NULL) : hk_avg_pool2d(x, NULL);
        x = hk_relu(hk_conv2d(x, p[2], NULL, NULL));
    }
    x = hk_reshape(x, hk_shape(SAMPLES, -1));
    x = hk_relu(hk_linear(x, p[3], NULL));
    x = hk_relu(hk_linear(x, p[4], NULL));
    return hk_linear(x, p[5], NULL);
}

static void nothing(hk_array *const *arrays, int count, const void *options)
{
    (void)arrays, (void)count, (void)options;
}

/* Notes a sum of all gradients, so many bytes at a time, which changes none. */
static void note_sum(hk_array *const *params, int count, size_t bytes)
{
    hk_array *list[PARAMS];
    hki_capture *capture = hki_capturing;
    for (int i = 0; i < count; i++)
        list[i] = hk_grad(params[i]);
    hki_hooks.capture->compound_begin(capture, "sum", nothing, list, count, NULL, 0, bytes);
    hki_hooks.capture->compound_end(capture);
}

static int parts_of(const hk_graph *graph)
{
    int parts = 0;
    for (int i = 0; i < graph->node_count; i++)
        parts += graph->nodes[i].kind == HKI_NODE_CHAIN;
    return parts;
}

/* The gradients after some steps, where `bytes` are summed at a time; 0: none are. */
static int train(hk_array **grads, bool convolves, bool maximum, size_t bytes)
{
    model self;
    model_init(&self, convolves);
    hk_array *bound[] = {self.images, self.labels};
    hk_capture_begin(bound, 2);
    hk_record_begin();
    hk_array *loss = hk_softmax_cross_entropy(scores(&self, convolves, maximum), self.labels);
    hk_record_end();
    hk_backward(loss);
    const int used = convolves ? 0 : 3;
    if (bytes)
        note_sum(self.params + used, PARAMS - used, bytes);
    hk_sgd(self.params + used, PARAMS - used, &(hk_sgd_options){.lr = 0.1});
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    for (int i = 0; i < STEPS; i++)
        hk_replay(graph, bound, 2);
    const int parts = parts_of(graph);
    hk_graph_release(graph);
    for (int i = 0; i < PARAMS; i++)
        grads[i] = hk_grad(self.params[i]);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    return parts;
}

static void check_same(hk_array *const *a, hk_array *const *b)
{
    for (int i = 0; i < PARAMS; i++)
        CHECK(same_bytes(a[i], b[i]));
}

static void test_parts(bool convolves, bool maximum)
{
    HK_SCOPE;
    hk_array *whole[PARAMS], *cut[PARAMS];
    CHECK_EQ_I64(train(whole, convolves, maximum, 0), 1);
    CHECK_EQ_I64(train(cut, convolves, maximum, 64 << 20), 1); /* more than there is */
    check_same(whole, cut);
    int most = 1;
    for (size_t bytes = 16; bytes <= 8192; bytes *= 2) {
        const int parts = train(cut, convolves, maximum, bytes);
        most = parts > most ? parts : most;
        check_same(whole, cut);
    }
    CHECK(most > 1);
}

/* Nothing is summed within the step. On several devices, or beside other ranks, its gradients may be summed behind the replay:
 * they come in buckets then, if there is more than one. On one device the chain stays whole. */
static int parts_without_sum(int cpu_devices)
{
    enum { LAYERS = 12 };
    const int64_t features = 500; /* 1 MB a layer */
    CHECK(
        hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2, .cpu_devices = cpu_devices})));
    int parts = 0;
    {
        HK_SCOPE;
        hk_array *params[LAYERS], *images = numbers(9, hk_shape(SAMPLES, features)), *x = images;
        for (int i = 0; i < LAYERS; i++) {
            params[i] = numbers(i + 1, hk_shape(features, features));
            hk_attach_grad(params[i], HK_GRAD_WRITE);
        }
        hk_capture_begin(&images, 1);
        hk_record_begin();
        for (int i = 0; i < LAYERS; i++)
            x = hk_relu(hk_linear(x, params[i], NULL));
        x = hk_sum(x, NULL);
        hk_record_end();
        hk_backward(x);
        hk_graph *graph = hk_capture_end(NULL);
        CHECK(hk_ok(hk_graph_status(graph)));
        parts = parts_of(graph);
        hk_graph_release(graph);
        CHECK(!hk_status_print(hk_wait_all(), stderr));
    }
    hk_runtime_deinit();
    return parts;
}

int main(void)
{
    CHECK_EQ_I64(parts_without_sum(1), 1);
    CHECK(parts_without_sum(2) > 1);
    for (int serial = 0; serial < 2; serial++) {
        CHECK(hk_ok(hk_runtime_init(
            &(hk_runtime_options){.cpu_cores = 2, .engine = serial ? HK_ENGINE_SERIAL : 0})));
        test_parts(true, false);
        test_parts(true, true);
        test_parts(false, false);
        hk_runtime_deinit();
    }
    return check_result();
}
