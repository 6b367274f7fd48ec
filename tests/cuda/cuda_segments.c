/* Captured steps of several GPUs, with sums over them or a program's own kernels within: what lies between these is done from
 * recordings, with the bytes of the calls. Give it the GPUs in HOCKET_CUDA. */
#include "check.h"

#include <hocket/hocket.h>
#include <hocket/kernel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MOST = 16, STEPS = 8, PARAMS = 2, LARGE = 1200007, SMALL = 35, THREADS = 3, ROUNDS = 30 };

static int gpu_count(void)
{
    int count = 0;
    for (int i = 0; i < hk_device_count(); i++)
        count += !strcmp(hk_device_kind(hk_device_at(i)), "cuda");
    return count < MOST ? count : MOST;
}

static hk_device gpu(int index)
{
    char name[32];
    snprintf(name, sizeof name, "cuda:%d", index);
    return hk_device_named(name);
}

static hk_array *numbers(int64_t size, int first, hk_device device)
{
    float *values = malloc((size_t)size * sizeof *values);
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)((i * 37 + first * 101) % 89) / 89 - 0.5f;
    hk_array *x = hk_from_host(values, hk_shape(size), HK_F32, device);
    free(values);
    return x;
}

/* ---- training on several ----------------------------------------------------------------------------------------- */

typedef struct model {
    int devices;
    hk_array *params[MOST][PARAMS], *losses[MOST];
} model;

static void model_init(model *self, int devices, int64_t size)
{
    self->devices = devices;
    for (int d = 0; d < devices; d++) {
        HK_SCOPE;
        self->losses[d] = hk_take(hk_zeros(hk_shape(), HK_F32, gpu(d)));
        for (int i = 0; i < PARAMS; i++) {
            self->params[d][i] = hk_take(numbers(size, i, gpu(d)));
            hk_attach_grad(self->params[d][i], HK_GRAD_WRITE);
        }
    }
}

static void model_drop(model *self)
{
    for (int d = 0; d < self->devices; d++) {
        hk_array_release(self->losses[d]);
        for (int i = 0; i < PARAMS; i++)
            hk_array_release(self->params[d][i]);
    }
}

/* y = sum((relu(x p0) p1)^2) on each device, with gradients summed over all. */
static void step(const model *self, hk_array *const *x)
{
    HK_SCOPE;
    hk_array *loss[MOST];
    hk_record_begin();
    for (int d = 0; d < self->devices; d++) {
        hk_array *hidden = hk_relu(hk_multiply(x[d], self->params[d][0]));
        hk_array *y = hk_multiply(hidden, self->params[d][1]);
        loss[d] = hk_mean(hk_multiply(y, y), NULL);
    }
    hk_record_end();
    for (int d = 0; d < self->devices; d++)
        hk_backward(loss[d]);
    for (int i = 0; i < PARAMS && self->devices > 1; i++) {
        hk_array *grads[MOST];
        for (int d = 0; d < self->devices; d++)
            grads[d] = hk_grad(self->params[d][i]);
        hk_all_reduce(grads, self->devices);
    }
    for (int d = 0; d < self->devices; d++) {
        hk_sgd(self->params[d], PARAMS, &(hk_sgd_options){.lr = 0.5});
        hk_assign(self->losses[d], hk_detach(loss[d]));
    }
}

typedef struct outcome {
    float *params[MOST][PARAMS], losses[STEPS][MOST];
} outcome;

static void outcome_drop(outcome *self)
{
    for (int d = 0; d < MOST; d++)
        for (int i = 0; i < PARAMS; i++)
            free(self->params[d][i]);
}

static hk_graph_facts train(int devices, int64_t size, bool exact, outcome *out)
{
    HK_SCOPE;
    model self;
    hk_array *x[MOST];
    hk_graph *graph = NULL;
    memset(out, 0, sizeof *out);
    model_init(&self, devices, size);
    for (int d = 0; d < devices; d++)
        x[d] = numbers(size, 7, gpu(d));
    for (int i = 0; i < STEPS; i++) {
        HK_SCOPE;
        for (int d = 0; d < devices; d++)
            hk_assign(x[d], numbers(size, 11 * i + d, gpu(d)));
        if (graph) {
            hk_replay(graph, x, devices);
        } else {
            hk_capture_begin(x, devices);
            step(&self, x);
            graph = hk_capture_end(&(hk_capture_options){.exact = exact});
            CHECK(!hk_status_print(hk_graph_status(graph), stderr));
        }
        for (int d = 0; d < devices; d++)
            CHECK(hk_ok(hk_to_host(self.losses[d], &out->losses[i][d], sizeof(float))));
    }
    for (int d = 0; d < devices; d++)
        for (int i = 0; i < PARAMS; i++) {
            out->params[d][i] = malloc((size_t)size * sizeof(float));
            CHECK(hk_ok(
                hk_to_host(self.params[d][i], out->params[d][i], (size_t)size * sizeof(float))));
        }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    const hk_graph_facts facts = hk_graph_get_facts(graph);
    hk_graph_release(graph);
    model_drop(&self);
    return facts;
}

static void test_training(int devices, int64_t size)
{
    static outcome expected, actual;
    const size_t bytes = (size_t)size * sizeof(float);
    hk_graph_facts facts = train(devices, size, true, &expected);
    CHECK_EQ_I64(facts.recorded_replays, 0);
    facts = train(devices, size, false, &actual);
    /* The first replay is launched call by call, and the second one recorded. */
    CHECK_EQ_I64(facts.recorded_replays, STEPS - 2);
    /* Of each device the backward pass, and what comes behind the sums; where sums are large, they begin amid the backward
     * pass. */
    CHECK_EQ_I64(facts.tasks, devices == 1 ? 1 : devices * (size == LARGE ? 3 : 2) + PARAMS);
    CHECK(!memcmp(actual.losses, expected.losses, sizeof actual.losses));
    for (int d = 0; d < devices; d++)
        for (int i = 0; i < PARAMS; i++) {
            CHECK(!memcmp(actual.params[d][i], expected.params[d][i], bytes));
            CHECK(!memcmp(actual.params[d][i], actual.params[0][i], bytes));
        }
    outcome_drop(&expected);
    outcome_drop(&actual);
}

/* ---- a program's own kernels ------------------------------------------------------------------------------------- */

static atomic_int ran;

/* Launches nothing, and so leaves what it has as it is. */
static void look(hk_task_call *call)
{
    (void)call;
    atomic_fetch_add(&ran, 1);
}

static const hk_kernel look_kernel = {.name = "look", .cuda = look};

/* With arrays that are made before it and read behind it, which belong to nobody else. */
static void compute(hk_array *x, hk_array *y)
{
    HK_SCOPE;
    hk_array *doubled = hk_multiply(x, 2), *shown = hk_add(doubled, 1),
             *kept = hk_subtract(doubled, 0.5);
    hk_run(&look_kernel, HK_ACCESS(hk_updates(shown)), NULL, 0, NULL);
    hk_array *z = hk_multiply(hk_add(shown, 3), kept);
    hk_assign(y, hk_maximum(z, kept));
}

static hk_graph *capture(void)
{
    HK_SCOPE;
    hk_array *bound[] = {numbers(SMALL, 1, gpu(0)), numbers(SMALL, 2, gpu(0))};
    hk_capture_begin(bound, 2);
    compute(bound[0], bound[1]);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(!hk_status_print(hk_graph_status(graph), stderr));
    return graph;
}

/* Any thread. */
static bool is_right(hk_graph *graph, int first)
{
    HK_SCOPE;
    float expected[SMALL], actual[SMALL];
    hk_array *x = numbers(SMALL, first, gpu(0)), *y = numbers(SMALL, 0, gpu(0)),
             *z = numbers(SMALL, 0, gpu(0));
    hk_replay(graph, (hk_array *[]){x, y}, 2);
    compute(x, z);
    return hk_ok(hk_to_host(y, actual, sizeof actual)) &&
           hk_ok(hk_to_host(z, expected, sizeof expected)) &&
           !memcmp(actual, expected, sizeof actual);
}

static atomic_int right;

static void *replay(void *graph)
{
    for (int i = 0; i < ROUNDS; i++)
        atomic_fetch_add(&right, is_right(graph, i));
    return NULL;
}

static void test_own_kernels(void)
{
    pthread_t threads[THREADS];
    atomic_store(&ran, 0);
    atomic_store(&right, 0);
    hk_graph *graph = capture();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, replay, graph);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ_I64(atomic_load(&right), THREADS * ROUNDS);
    CHECK_EQ_I64(atomic_load(&ran), 1 + 2 * THREADS * ROUNDS);
    const hk_graph_facts facts = hk_graph_get_facts(graph);
    CHECK_EQ_I64(facts.tasks, 3);
    CHECK(facts.recorded_replays > THREADS * ROUNDS / 2);
    hk_graph_release(graph);
}

/* A replay on an array that has failed is that of the calls, and the next one is as if there had been none. */
static void test_failed_input(void)
{
    hk_graph *graph = capture();
    for (int i = 0; i < 6; i++) {
        HK_SCOPE;
        hk_array *y = numbers(SMALL, 0, gpu(0));
        if (i != 3) {
            CHECK(is_right(graph, i));
            continue;
        }
        hk_replay(graph, (hk_array *[]){hk_reshape(y, hk_shape(SMALL + 1)), y}, 2);
        CHECK(!hk_ok(hk_wait(y)));
        hk_failures_clear();
    }
    hk_graph_release(graph);
}

int main(void)
{
    static const int counts[] = {1, 2, 3, 4, 8, 16};
    CHECK(hk_ok(hk_runtime_init(NULL)));
    const int gpus = gpu_count();
    for (size_t i = 0; i < sizeof counts / sizeof *counts && counts[i] <= gpus; i++)
        test_training(counts[i], SMALL);
    if (gpus > 1)
        test_training(2, LARGE);
    test_own_kernels();
    test_failed_input();
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
