/* Chains against the same calls done one by one: networks of many shapes, with results held in between, forward and
 * backward; the same bytes in both engines and at each replay; failures that name the call. */
#include "check.h"

#include "graph/graph.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMS = 16, MAX_HELD = 24, MAX_OUTCOME = 1 << 18 };

typedef struct network {
    hk_array *params[MAX_PARAMS];
    int param_count;
    hk_array *held[MAX_HELD]; /* results of the captured step */
    int held_count;
    uint64_t random; /* decides what it is made of */
    hk_dtype dtype;
    bool trains;
} network;

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

static hk_array *numbers(hk_dims shape, hk_dtype dtype, uint64_t seed)
{
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++)
        size *= shape.dims[i];
    float *values = malloc(((size_t)size + 1) * sizeof *values);
    for (int64_t i = 0; i < size; i++)
        values[i] = ((float)draw(&seed, 2001) - 1000) / 1000;
    hk_array *x = hk_cast(hk_from_host(values, shape, HK_F32, hk_device_default()), dtype);
    free(values);
    return x;
}

static hk_array *labels_of(int64_t count, int64_t classes)
{
    int64_t *values = malloc(((size_t)count + 1) * sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = (i * 7 + 3) % classes;
    hk_array *y = hk_from_host(values, hk_shape(count), HK_I64, hk_device_default());
    free(values);
    return y;
}

/* The next parameter: made when the network is built for the first time, found again afterwards. */
static hk_array *param(network *self, int *next, hk_dims shape)
{
    if (*next == self->param_count) {
        hk_array *made = numbers(shape, self->dtype, self->random + (uint64_t)*next * 77);
        hk_array *scaled = hk_take(hk_contiguous(hk_multiply(made, 0.3)));
        if (self->trains)
            hk_attach_grad(scaled, HK_GRAD_WRITE);
        self->params[self->param_count++] = scaled;
    }
    return self->params[(*next)++];
}

static void hold(network *self, hk_array *x, bool first)
{
    if (first && self->held_count < MAX_HELD)
        self->held[self->held_count++] = hk_take(hk_detach(x));
}

/* Layers drawn from self->random, the same at each call; some results are held when `first`. */
static hk_array *layers(network *self, hk_array *x, bool first)
{
    uint64_t random = self->random;
    int next = 0;
    int64_t n = hk_dim(x, 0);
    int depth = (int)draw(&random, 3) + 1;
    for (int i = 0; i < depth && hk_dim(x, 2) > 4; i++) {
        int64_t channels = hk_dim(x, 1), out = (int64_t)draw(&random, 9) + 1,
                k = (int64_t)draw(&random, 3) + 1;
        const hk_conv2d_options how = {
            .stride = {1 + (int64_t)draw(&random, 2), 1},
            .padding = {(int64_t)draw(&random, 2), (int64_t)draw(&random, 2)}};
        hk_array *weight = param(self, &next, hk_shape(out, channels, k, k));
        hk_array *bias = draw(&random, 2) ? param(self, &next, hk_shape(out)) : NULL;
        x = hk_conv2d(x, weight, bias, &how);
        if (!draw(&random, 5))
            hold(self, x, first);
        switch (draw(&random, 4)) {
        case 0:
            x = hk_tanh(x);
            break;
        case 1:
            break;
        default:
            x = hk_relu(x);
        }
        if (!draw(&random, 5))
            hold(self, x, first);
        if (!draw(&random, 3))
            x = hk_add(x, hk_multiply(x, 0.5));
        switch (hk_dim(x, 2) < 3 || hk_dim(x, 3) < 3 ? 0 : draw(&random, 4)) {
        case 0:
            break;
        case 1:
            x = hk_max_pool2d(x, &(hk_max_pool2d_options){.kernel = {2, 2}});
            break;
        case 2:
            x = hk_avg_pool2d(x, &(hk_avg_pool2d_options){.kernel = {3, 2}, .stride = {2, 2}});
            break;
        default:
            x = hk_avg_pool2d(x, &(hk_avg_pool2d_options){.kernel = {2, 2}});
        }
        if (!draw(&random, 4))
            x = hk_add(x, param(self, &next, hk_shape(out, 1, 1))); /* broadcast along the batch */
    }
    int64_t features = hk_size(x) / n;
    x = hk_reshape(x, hk_shape(n, features));
    if (draw(&random, 2))
        x = hk_relu(hk_linear(x, param(self, &next, hk_shape(13, features)),
                              param(self, &next, hk_shape(13))));
    else
        x = hk_matmul(x, param(self, &next, hk_shape(features, 13)));
    if (!draw(&random, 3))
        hold(self, x, first);
    return hk_linear(x, param(self, &next, hk_shape(5, 13)), NULL);
}

/* One step; *loss stays for the caller. */
static void step(network *self, hk_array *x, hk_array *labels, hk_array *total, bool first)
{
    HK_SCOPE;
    uint64_t random = self->random * 31;
    if (self->trains)
        hk_record_begin();
    hk_array *scores = layers(self, x, first);
    hk_array *loss = hk_softmax_cross_entropy(scores, labels);
    bool mean = draw(&random, 2);
    if (mean)
        loss = hk_mean(loss, NULL);
    hk_record_end();
    if (self->trains) {
        hk_backward(loss);
        hk_sgd(self->params, self->param_count, &(hk_sgd_options){.lr = 0.01, .batch = 32});
    }
    hold(self, loss, first);
    hk_assign(total, mean ? loss : hk_sum(loss, NULL));
    hold(self, hk_sum(hk_equal(hk_argmax(scores, 1), labels), NULL), first);
}

typedef struct outcome {
    int count;
    double values[MAX_OUTCOME];
} outcome;

static void add_values(outcome *self, hk_array *x)
{
    HK_SCOPE;
    hk_array *as = hk_cast(x, HK_F64);
    int size = (int)hk_size(x);
    if (self->count + size > MAX_OUTCOME)
        size = MAX_OUTCOME - self->count;
    as = hk_contiguous(hk_slice(hk_reshape(as, hk_shape(hk_size(x))), 0, 0, size));
    CHECK(!hk_status_print(
        hk_to_host(as, self->values + self->count, (size_t)size * sizeof(double)), stderr));
    self->count += size;
}

typedef struct trial {
    uint64_t random;
    int64_t samples, side;
    hk_dtype dtype;
    bool trains;
} trial;

enum mode { CALLS, EXACT, CHAINS };

/* Three steps on other batches; what they leave. Returns how many tasks a replay had. */
static int64_t run(const trial *its, enum mode mode, outcome *result)
{
    HK_SCOPE;
    network net = {.random = its->random, .dtype = its->dtype, .trains = its->trains};
    hk_graph *graph = NULL;
    hk_array *totals = hk_zeros(hk_shape(3), its->dtype, hk_device_default());
    hk_array *labels = labels_of(its->samples, 5);
    { /* the parameters are made before the capture */
        HK_SCOPE;
        layers(&net, numbers(hk_shape(its->samples, 2, its->side, its->side), its->dtype, 1),
               false);
    }
    for (int i = 0; i < 3; i++) {
        HK_SCOPE;
        hk_array *x = numbers(hk_shape(its->samples, 2, its->side, its->side), its->dtype,
                              (uint64_t)i * 5 + 2);
        hk_array *bound[] = {x, labels, hk_index(totals, 0, i)};
        bool first = i == 0 && mode != CALLS, last = i == 2 && mode == CALLS;
        if (i == 0 && mode != CALLS)
            hk_capture_begin(bound, 3);
        if (i == 0 || mode == CALLS)
            step(&net, x, labels, bound[2], first || last);
        else
            hk_replay(graph, bound, 3);
        if (i == 0 && mode != CALLS) {
            graph = hk_capture_end(&(hk_capture_options){.exact = mode == EXACT});
            CHECK(!hk_status_print(hk_graph_status(graph), stderr));
        }
    }
    result->count = 0;
    add_values(result, totals);
    for (int i = 0; i < net.held_count; i++)
        add_values(result, net.held[i]);
    for (int i = 0; i < net.param_count; i++) {
        add_values(result, net.params[i]);
        if (its->trains)
            add_values(result, hk_grad(net.params[i]));
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    int64_t tasks = graph ? hk_graph_get_facts(graph).tasks : 0;
    hk_graph_release(graph);
    for (int i = 0; i < net.held_count; i++)
        hk_array_release(net.held[i]);
    for (int i = 0; i < net.param_count; i++)
        hk_array_release(net.params[i]);
    return tasks;
}

static double difference(const outcome *a, const outcome *b)
{
    double most = a->count == b->count ? 0 : INFINITY;
    for (int i = 0; i < a->count && i < b->count; i++)
        most = fmax(most, fabs(a->values[i] - b->values[i]) / fmax(1, fabs(a->values[i])));
    return most;
}

static outcome by_calls, by_exact, by_chains, again;

static bool same(const outcome *a, const outcome *b)
{
    return a->count == b->count &&
           !memcmp(a->values, b->values, (size_t)a->count * sizeof *a->values);
}

static void test_networks(void)
{
    for (uint64_t i = 0; i < 100; i++) {
        const trial its = {.random = i * 1009 + 5,
                           .samples = 32 + (int64_t)(i * 37 % 150),
                           .side = 6 + (int64_t)(i % 9),
                           .dtype = i % 4 == 3 ? HK_F64 : HK_F32,
                           .trains = i % 3 != 2};
        run(&its, CALLS, &by_calls);
        int64_t calls = run(&its, EXACT, &by_exact), tasks = run(&its, CHAINS, &by_chains);
        run(&its, CHAINS, &again);
        CHECK(same(&by_calls, &by_exact));
        CHECK(same(&again, &by_chains));
        double apart = difference(&by_calls, &by_chains);
        if (!(apart < (its.dtype == HK_F64 ? 1e-12 : 2e-4)))
            fprintf(stderr, "network %d: %g apart\n", (int)i, apart);
        CHECK(apart < (its.dtype == HK_F64 ? 1e-12 : 2e-4));
        CHECK(tasks < calls);
    }
}

static void test_engines(void)
{
    const trial its = {.random = 77, .samples = 150, .side = 12, .dtype = HK_F32, .trains = true};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    run(&its, CHAINS, &by_chains);
    hk_runtime_deinit();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1})));
    run(&its, CHAINS, &again);
    CHECK(same(&by_chains, &again));
    hk_runtime_deinit();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.engine = HK_ENGINE_SERIAL})));
    run(&its, CHAINS, &again);
    CHECK(same(&by_chains, &again));
    hk_runtime_deinit();
}

/* A chain that replays (x, labels) -> losses with a weight, and its loss. */
static hk_graph *capture_small(hk_array *weight, hk_array *x, hk_array *labels, hk_array *losses)
{
    hk_array *bound[] = {x, labels, losses};
    hk_capture_begin(bound, 3);
    {
        HK_SCOPE;
        hk_record_begin();
        hk_array *loss = hk_softmax_cross_entropy(hk_linear(x, weight, NULL), labels); /* SOURCE */
        hk_record_end();
        hk_backward(loss);
        hk_assign(losses, hk_sum(loss, NULL));
    }
    return hk_capture_end(NULL);
}

/* A failure in a chain names the call that it happened in, and fails what the chain writes; the next replay heals it. */
static void test_failures(void)
{
    HK_SCOPE;
    hk_array *weight = numbers(hk_shape(5, 6), HK_F32, 3), *x = numbers(hk_shape(70, 6), HK_F32, 4);
    hk_array *labels = labels_of(70, 5), *loss = hk_zeros(hk_shape(), HK_F32, hk_device_default());
    hk_attach_grad(weight, HK_GRAD_WRITE);
    hk_graph *graph = capture_small(weight, x, labels, loss);
    double good = hk_item(loss, NULL);
    CHECK_EQ_I64(hk_graph_get_facts(graph).tasks, 2);
    hk_array *bad = labels_of(70, 77); /* labels[1] is 10 */
    hk_replay(graph, (hk_array *[]){x, bad, loss}, 3);
    hk_array *const failed[] = {loss, hk_grad(weight)};
    for (int i = 0; i < 2; i++) {
        const hk_status *status = hk_wait(failed[i]);
        CHECK(hk_status_code(status) == HK_OUT_OF_RANGE);
        CHECK_STR(hk_status_operation(status), "softmax_cross_entropy");
        CHECK(strstr(hk_status_message(status), "labels[1] is 10"));
        CHECK(strstr(hk_status_inputs(status), "float32(70,5), int64(70,)"));
        CHECK(strstr(hk_status_file(status), "chain_test.c"));
    }
    hk_failures_clear();
    hk_replay(graph, (hk_array *[]){x, labels, loss}, 3);
    CHECK(hk_item(loss, NULL) == good);
    CHECK(hk_ok(hk_wait(hk_grad(weight))));

    hk_array *missing = hk_add(x, hk_ones(hk_shape(3), HK_F32, hk_device_default()));
    hk_replay(graph, (hk_array *[]){missing, labels, loss},
              3); /* an input that failed at its call */
    CHECK(hk_status_code(hk_wait(loss)) == HK_INVALID_ARGUMENT);
    hk_failures_clear();
    hk_graph_release(graph);
}

enum { DEVICES = 2 };

static void data_parallel_step(hk_array *weights[DEVICES], hk_array *const *bound)
{
    HK_SCOPE;
    hk_array *grads[DEVICES], *loss[DEVICES];
    hk_record_begin();
    for (int d = 0; d < DEVICES; d++)
        loss[d] = hk_softmax_cross_entropy(hk_linear(hk_tanh(bound[2 * d]), weights[d], NULL),
                                           bound[2 * d + 1]);
    hk_record_end();
    for (int d = 0; d < DEVICES; d++) {
        hk_backward(loss[d]);
        grads[d] = hk_grad(weights[d]);
    }
    hk_all_reduce(grads, DEVICES);
    for (int d = 0; d < DEVICES; d++)
        hk_sgd(&weights[d], 1, &(hk_sgd_options){.lr = 0.1, .batch = 100});
}

/* Steps on two devices; the weights of the first one afterwards. */
static int64_t run_devices(enum mode mode, outcome *result)
{
    HK_SCOPE;
    hk_array *weights[DEVICES], *bound[2 * DEVICES];
    hk_graph *graph = NULL;
    for (int d = 0; d < DEVICES; d++) {
        hk_device device = hk_device_at(d);
        weights[d] = hk_to_device(numbers(hk_shape(5, 6), HK_F32, 3), device);
        hk_attach_grad(weights[d], HK_GRAD_WRITE);
        bound[2 * d] = hk_to_device(numbers(hk_shape(50, 6), HK_F32, (uint64_t)d + 9), device);
        bound[2 * d + 1] = hk_to_device(labels_of(50, 5), device);
    }
    for (int i = 0; i < 4; i++) {
        if (i > 0 && mode != CALLS) {
            hk_replay(graph, bound, 2 * DEVICES);
            continue;
        }
        if (mode != CALLS)
            hk_capture_begin(bound, 2 * DEVICES);
        data_parallel_step(weights, bound);
        if (mode != CALLS)
            graph = hk_capture_end(NULL);
    }
    result->count = 0;
    for (int d = 0; d < DEVICES; d++)
        add_values(result, weights[d]);
    int64_t tasks = graph ? hk_graph_get_facts(graph).tasks : 0;
    hk_graph_release(graph);
    return tasks;
}

/* A chain for each device, the sum over devices and the updates after both. */
static void test_devices(void)
{
    run_devices(CALLS, &by_calls);
    CHECK_EQ_I64(run_devices(CHAINS, &by_chains), 2 + 1 + 2);
    CHECK(difference(&by_calls, &by_chains) < 1e-6);
    CHECK(by_chains.count == 60 &&
          !memcmp(by_chains.values, by_chains.values + 30, 30 * sizeof(double)));
}

/* What is in between takes no memory of an array's own, but where somebody looks at it. */
static void test_memory(void)
{
    HK_SCOPE;
    hk_array *x = numbers(hk_shape(256, 3, 16, 16), HK_F32, 5),
             *weight = numbers(hk_shape(8, 3, 3, 3), HK_F32, 6);
    hk_array *held = NULL, *out;
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        hk_array *y = hk_relu(hk_conv2d(x, weight, NULL, NULL));
        held = hk_take(hk_exp(y));
        out = hk_take(hk_sum(hk_tanh(held), NULL));
    }
    hk_graph *graph = hk_capture_end(NULL);
    hk_graph_facts facts = hk_graph_get_facts(graph);
    CHECK_EQ_I64(facts.calls, 5);
    CHECK_EQ_I64(facts.tasks, 1);
    CHECK_EQ_I64(facts.temporary_bytes, 0);
    double before = hk_item(out, NULL);
    hk_array *again_x = hk_contiguous(hk_negative(x));
    hk_replay(graph, &again_x, 1);
    CHECK(hk_item(out, NULL) != before);
    hk_replay(graph, &x, 1);
    double most = hk_item(
        hk_max(hk_abs(hk_subtract(held, hk_exp(hk_relu(hk_conv2d(x, weight, NULL, NULL))))), NULL),
        NULL);
    CHECK(most < 1e-5);
    hk_graph_release(graph);
    hk_array_release(held);
    hk_array_release(out);
}

int main(void)
{
    test_engines();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2})));
    test_networks();
    test_failures();
    test_memory();
    test_devices();
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
