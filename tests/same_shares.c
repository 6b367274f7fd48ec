/* One training on 1, 2, 4 and 8 devices of a kind: the same bytes of losses and parameters, of any
 * batch that is cut along the tree of sums, whatever the shares of the devices. By calls, captured
 * and captured exactly; in the serial engine; on simulated devices. */
#include "base/sanitizer.h"
#include "base/sum_tree.h"
#include "check.h"

#include <hocket/hocket.h>
#include <stdlib.h>

enum {
    MAX_DEVICES = 8,
    MAX_PARAMS = 8,
    MAX_BATCH = 300,
    SIDE = 18,
    PIXELS = SIDE * SIDE,
    CLASSES = 10,
    MOST_STEPS = HKI_SANITIZED ? 3 : 22,
    MAX_FLOATS = MOST_STEPS + 30000
};

typedef enum mode { CALLS, CAPTURED, EXACT } mode;

/* ---- nets ----------------------------------------------------------------------------------------------- */

typedef struct network {
    const char *name;
    double lr;
    int param_count;
    hk_dims shapes[MAX_PARAMS];
    hk_array *(*loss)(hk_array *x, hk_array *labels,
                      hk_array *const *p); /* of each sample, or their sum */
} network;

/* Also of no samples, where -1 could be anything. */
static hk_array *flat(hk_array *x)
{
    int64_t size = 1;
    for (int i = 1; i < hk_ndim(x); i++)
        size *= hk_dim(x, i);
    return hk_reshape(x, hk_shape(hk_dim(x, 0), size));
}

static hk_array *lenet(hk_array *x, hk_array *labels, hk_array *const *p)
{
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[0], p[1], NULL)), NULL);
    x = hk_max_pool2d(hk_relu(hk_conv2d(x, p[2], p[3], NULL)), NULL);
    x = flat(x);
    x = hk_linear(hk_relu(hk_linear(x, p[4], p[5])), p[6], p[7]);
    return hk_softmax_cross_entropy(x, labels);
}

static hk_array *layers(hk_array *x, hk_array *labels, hk_array *const *p)
{
    x = flat(x);
    x = hk_relu(hk_linear(x, p[0], p[1]));
    x = hk_relu(hk_linear(x, p[2], p[3]));
    return hk_softmax_cross_entropy(hk_linear(x, p[4], p[5]), labels);
}

/* Of other operators: biases are broadcast, there is one output, and the loss is one number. */
static hk_array *products(hk_array *x, hk_array *labels, hk_array *const *p)
{
    hk_array *target = hk_expand_dims(hk_cast(labels, HK_F32), 1);
    x = flat(x);
    x = hk_tanh(hk_add(hk_matmul(x, p[0]), p[1]));
    x = hk_add(hk_matmul(x, p[2]), p[3]);
    return hk_mse_loss(x, target, &(hk_mse_loss_options){.reduction = HK_LOSS_SUM});
}

#define DIMS(...)                                                                                  \
    {                                                                                              \
        .ndim = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = { __VA_ARGS__ }  \
    }
static const network nets[] = {
    {"lenet",
     0.3,
     8,
     {DIMS(6, 1, 3, 3), DIMS(6), DIMS(11, 6, 5, 5), DIMS(11), DIMS(33, 44), DIMS(33),
      DIMS(CLASSES, 33), DIMS(CLASSES)},
     lenet},
    {"layers",
     0.2,
     6,
     {DIMS(40, PIXELS), DIMS(40), DIMS(19, 40), DIMS(19), DIMS(CLASSES, 19), DIMS(CLASSES)},
     layers},
    {"products", 0.01, 4, {DIMS(PIXELS, 37), DIMS(37), DIMS(37, 1), DIMS(1)}, products},
};

/* ---- training ------------------------------------------------------------------------------------------- */

typedef struct trained {
    int64_t count;
    float values[MAX_FLOATS]; /* losses, then parameters of the last device */
} trained;

typedef struct training {
    const network *net;
    int n;
    int64_t batch;
    int steps;
    hk_device devices[MAX_DEVICES];
    hk_array *params[MAX_DEVICES][MAX_PARAMS];
} training;

/* Images in which the label can be seen: noise with one brighter stripe. */
static void make_batch(int step, int64_t batch, float *images, int64_t *labels)
{
    uint32_t noise = 12345u + (uint32_t)step * 7919u;
    for (int64_t i = 0; i < batch; i++) {
        labels[i] = (i * 7 + step) % CLASSES;
        for (int p = 0; p < PIXELS; p++) {
            noise = noise * 1664525u + 1013904223u;
            const float value = (float)(noise >> 8) / (float)(1 << 25);
            images[i * PIXELS + p] = p / SIDE == labels[i] + 3 ? value + 0.5f : value;
        }
    }
}

static void make_params(training *self)
{
    hk_seed(3);
    for (int i = 0; i < self->net->param_count; i++) {
        hk_array *value = hk_random_normal_from(NULL, 0, i % 2 ? 0.01 : 0.1, self->net->shapes[i],
                                                HK_F32, self->devices[0]);
        for (int d = 0; d < self->n; d++) {
            self->params[d][i] = hk_to_device(value, self->devices[d]);
            hk_attach_grad(self->params[d][i], HK_GRAD_WRITE);
        }
    }
}

/* bound: of each device images, labels, and the place for the sum of all losses. */
static void issue_step(const training *self, hk_array *const *bound)
{
    HK_SCOPE;
    hk_array *loss[MAX_DEVICES], *sums[MAX_DEVICES], *grads[MAX_DEVICES];
    const int n = self->n;
    hk_record_begin();
    for (int d = 0; d < n; d++)
        loss[d] = self->net->loss(bound[3 * d], bound[3 * d + 1], self->params[d]);
    hk_record_end();
    for (int d = 0; d < n; d++)
        hk_backward(loss[d]);
    for (int i = 0; i < self->net->param_count; i++) {
        for (int d = 0; d < n; d++)
            grads[d] = hk_grad(self->params[d][i]);
        hk_all_reduce(grads, n);
    }
    for (int d = 0; d < n; d++)
        hk_sgd(self->params[d], self->net->param_count,
               &(hk_sgd_options){.lr = self->net->lr, .batch = (double)self->batch});
    for (int d = 0; d < n; d++) {
        hk_assign(bound[3 * d + 2], hk_sum(loss[d], NULL));
        sums[d] = bound[3 * d + 2];
    }
    hk_all_reduce(sums, n);
}

static void load_step(const training *self, int step, hk_array **bound)
{
    static float images[MAX_BATCH * PIXELS];
    static int64_t labels[MAX_BATCH];
    int64_t shares[MAX_DEVICES]; /* some may be 0, as of a loader's last batch */
    hk_array *x[MAX_DEVICES], *y[MAX_DEVICES];
    const hk_device home = self->devices[0];
    for (int d = 0; d < self->n; d++)
        shares[d] = hki_sum_share_of(self->batch, self->n, d);
    const int64_t *given = hki_sum_can_share(self->batch, self->n) ? NULL : shares;
    make_batch(step, self->batch, images, labels);
    hk_split_and_load(hk_from_host(images, hk_shape(self->batch, 1, SIDE, SIDE), HK_F32, home),
                      self->devices, self->n, given, x);
    hk_split_and_load(hk_from_host(labels, hk_shape(self->batch), HK_I64, home), self->devices,
                      self->n, given, y);
    for (int d = 0; d < self->n; d++) {
        bound[3 * d] = x[d];
        bound[3 * d + 1] = y[d];
        bound[3 * d + 2] = hk_zeros(hk_shape(), HK_F32, self->devices[d]);
    }
}

static void read_params(const training *self, trained *result)
{
    for (int i = 0; i < self->net->param_count; i++) {
        hk_array *p = self->params[self->n - 1][i];
        CHECK(result->count + hk_size(p) <= MAX_FLOATS);
        hk_to_host(p, result->values + result->count, (size_t)hk_size(p) * sizeof(float));
        result->count += hk_size(p);
    }
}

static void train_steps(training *self, mode how, trained *result)
{
    hk_graph *graph = NULL;
    for (int step = 0; step < self->steps; step++) {
        HK_SCOPE;
        hk_array *bound[3 * MAX_DEVICES];
        load_step(self, step, bound);
        if (how != CALLS && step == 0)
            hk_capture_begin(bound, 3 * self->n);
        if (graph)
            hk_replay(graph, bound, 3 * self->n);
        else
            issue_step(self, bound);
        if (how != CALLS && step == 0) {
            graph = hk_capture_end(&(hk_capture_options){.exact = how == EXACT});
            CHECK(!hk_status_print(hk_graph_status(graph), stderr));
        }
        result->values[result->count++] = (float)hk_item(bound[3 * self->n - 1], NULL);
    }
    hk_graph_release(graph);
}

/* On all CPU devices, or on all simulated ones where there are some. */
static void train_for(int steps, const network *net, int64_t batch, mode how,
                      const hk_runtime_options *options, trained *result)
{
    CHECK(hk_ok(hk_runtime_init(options)));
    training self = {.net = net, .batch = batch, .steps = steps};
    const int first = options->sim_count ? options->cpu_devices : 0;
    self.n = options->sim_count ? options->sim->count : options->cpu_devices;
    result->count = 0;
    {
        HK_SCOPE;
        for (int d = 0; d < self.n; d++)
            self.devices[d] = hk_device_at(first + d);
        make_params(&self);
        train_steps(&self, how, result);
        read_params(&self, result);
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
}

static void train(const network *net, int64_t batch, mode how, const hk_runtime_options *options,
                  trained *result)
{
    train_for(MOST_STEPS, net, batch, how, options, result);
}

static void compare(const trained *one, const trained *other, const network *net, int64_t batch,
                    mode how, const char *where, int n)
{
    static const char *const modes[] = {"by calls", "captured", "captured exactly"};
    int64_t losses = 0, params = 0;
    for (int64_t i = 0; i < one->count; i++)
        *(i < MOST_STEPS ? &losses : &params) += one->values[i] != other->values[i];
    const bool same = one->count == other->count &&
                      !memcmp(one->values, other->values, (size_t)one->count * sizeof(float));
    if (!same)
        fprintf(stderr, "%s of %lld, %s, %d %s: %lld of %d losses, %lld of %lld elements differ\n",
                net->name, (long long)batch, modes[how], n, where, (long long)losses, MOST_STEPS,
                (long long)params, (long long)one->count - MOST_STEPS);
    CHECK(same);
}

/* Up to so many devices. */
static void test_net(const network *net, int64_t batch, int most, mode how)
{
    static trained one, other;
    hk_sim_options sim = {.flops = 1e15,
                          .memory_bandwidth = 1e15,
                          .launch_ns = 1,
                          .link_bandwidth = 1e15,
                          .link_latency_ns = 1,
                          .peer_bandwidth = batch % 32 ? -1 : 1e15};
    train(net, batch, how, &(hk_runtime_options){.cpu_devices = 1}, &one);
    CHECK(one.values[MOST_STEPS - 1] < one.values[0] || HKI_SANITIZED); /* it does learn */
    for (int n = 2; n <= most; n *= 2) {
        train(net, batch, how, &(hk_runtime_options){.cpu_devices = n}, &other);
        compare(&one, &other, net, batch, how, "CPU devices", n);
    }
    train(net, batch, how, &(hk_runtime_options){.cpu_devices = most, .engine = HK_ENGINE_SERIAL},
          &other);
    compare(&one, &other, net, batch, how, "CPU devices in the serial engine", most);
    /* They form no chains: as by calls. */
    if (how == CAPTURED)
        train(net, batch, CALLS, &(hk_runtime_options){.cpu_devices = 1}, &one);
    for (int n = most; n > 1; n = 0) {
        sim.count = n;
        train(net, batch, how, &(hk_runtime_options){.cpu_devices = 1, .sim = &sim, .sim_count = 1},
              &other);
        compare(&one, &other, net, batch, how, "simulated devices", n);
    }
}

/* Batches of any size, of which shares differ, or are empty. A share of one sample is another
 * matter: its products are of vectors, and BLAS's. */
static void test_sizes(const network *net, mode how)
{
    enum { FEW_STEPS = 2 };
    static trained one, other;
    for (int64_t batch = 2; batch <= MAX_BATCH; batch += batch < 36 ? 5 : HKI_SANITIZED ? 97 : 13) {
        if (batch % HKI_SUM_RUN == 1)
            continue;
        train_for(FEW_STEPS, net, batch, how, &(hk_runtime_options){.cpu_devices = 1}, &one);
        for (int n = 2; n <= MAX_DEVICES; n *= 2) {
            train_for(FEW_STEPS, net, batch, how, &(hk_runtime_options){.cpu_devices = n}, &other);
            compare(&one, &other, net, batch, how, "CPU devices", n);
        }
    }
}

int main(void)
{
    setenv("HOCKET_CUDA", "off", 1);
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        for (int how = CALLS; how <= EXACT; how++)
            test_net(&nets[i], 64, 4, (mode)how);
        test_net(&nets[i], 256, 8, CAPTURED);
        test_net(&nets[i], 192, 4, i % 2 ? CALLS : CAPTURED);
        test_net(&nets[i], 96, 4, i % 2 ? CAPTURED : CALLS);
        test_net(&nets[i], 148, 8, i % 2 ? CALLS : CAPTURED);
        test_sizes(&nets[i], CALLS);
        test_sizes(&nets[i], CAPTURED);
        test_sizes(&nets[i], EXACT);
    }
    return check_result();
}
