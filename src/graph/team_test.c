/* Teams: neighbouring calls as one task against the same calls one by one, for any number of
 * cores; parameters that are packed once; failures; several threads at one graph. */
#include "check.h"
#include "failing_memory.h"
#include "graph/team.h"

#include <hocket/hocket.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 24, WIDTH = 96, WIDE = 384, PARAMS = 6, BYTES = ROWS * WIDTH * sizeof(float) };

static const int64_t param_rows[PARAMS] = {WIDTH, WIDTH, WIDTH, WIDE, WIDTH, 0};
static const int64_t param_columns[PARAMS] = {WIDTH, WIDTH, WIDTH, WIDTH, WIDE, WIDTH};

static hk_array *numbers(hk_dims shape, int64_t seed)
{
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++)
        size *= shape.dims[i];
    float *values = malloc((size_t)size * sizeof *values);
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)((i * 7919 + seed * 104729) % 2003) / 2003.0f - 0.5f;
    hk_array *made = hk_from_host(values, shape, HK_F32, hk_device_default());
    free(values);
    return made;
}

typedef struct block {
    hk_array *params[PARAMS];
    hk_array *drawn, *mean; /* results beside the main one, counted */
} block;

static void block_make(block *self)
{
    for (int i = 0; i < PARAMS; i++)
        self->params[i] = hk_take(numbers(param_rows[i] ? hk_shape(param_rows[i], param_columns[i])
                                                        : hk_shape(param_columns[i]),
                                          i + 1));
    self->drawn = self->mean = NULL;
}

static void block_drop(block *self)
{
    for (int i = 0; i < PARAMS; i++)
        hk_array_release(self->params[i]);
    hk_array_release(self->drawn);
    hk_array_release(self->mean);
}

/* As in a transformer, of one sample, so that there are no chains: products that do not depend
 * on each other, attention, a norm, parts of one array written one by one, sums over all, random
 * numbers, and a write in place. */
static hk_array *block_run(block *self, hk_array *x, hk_array *state)
{
    HK_SCOPE;
    hk_array **p = self->params;
    hk_array *q = hk_linear(x, p[0], p[5]), *k = hk_linear(x, p[1], p[5]);
    hk_array *v = hk_linear(x, p[2], NULL);
    hk_array *scores = hk_softmax(hk_matmul(q, hk_permute_dims(k, hk_shape(0, 2, 1))), -1);
    hk_array *y = hk_add(x, hk_matmul(scores, v));
    hk_array *halves[] = {hk_relu(hk_slice(y, 1, 0, ROWS / 2)),
                          hk_negative(hk_slice(y, 1, ROWS / 2, ROWS))};
    hk_array *z = hk_concat(halves, 2, 1);
    z = hk_linear(hk_gelu(hk_linear(z, p[3], NULL)), p[4], p[5]);
    hk_add_into(state, state, z);
    hk_array_release(self->drawn);
    hk_array_release(self->mean);
    self->drawn = hk_take(
        hk_multiply(z, hk_random_uniform(hk_shape(1, ROWS, WIDTH), HK_F32, hk_device_default())));
    self->mean = hk_take(hk_mean(hk_multiply(z, z), NULL));
    return hk_take(hk_subtract(z, x));
}

typedef struct values {
    float main[ROWS * WIDTH], drawn[ROWS * WIDTH], state[ROWS * WIDTH], mean;
} values;

static void read_all(const block *self, hk_array *result, hk_array *state, values *out)
{
    CHECK(!hk_status_print(hk_to_host(result, out->main, BYTES), stderr));
    CHECK(!hk_status_print(hk_to_host(self->drawn, out->drawn, BYTES), stderr));
    CHECK(!hk_status_print(hk_to_host(state, out->state, BYTES), stderr));
    CHECK(!hk_status_print(hk_to_host(self->mean, &out->mean, sizeof out->mean), stderr));
}

enum { STEPS = 6 };

static void new_weights(block *self, int step)
{
    HK_SCOPE;
    if (step == 2)
        hk_assign(self->params[3], numbers(hk_shape(WIDE, WIDTH), 77));
    if (step == 4) /* through a view */
        hk_multiply_into(hk_slice(self->params[0], 0, 3, 9), hk_slice(self->params[0], 0, 3, 9), 2);
}

/* What STEPS steps give: by calls, or captured in the first one. */
static int64_t run(int cores, bool captured, bool exact, values *out)
{
    CHECK(!hk_status_print(hk_runtime_init(&(hk_runtime_options){.cpu_cores = cores}), stderr));
    hk_seed(5);
    block self;
    int64_t tasks = 0;
    block_make(&self);
    hk_array *state = hk_take(hk_zeros(hk_shape(1, ROWS, WIDTH), HK_F32, hk_device_default()));
    hk_array *result = NULL;
    hk_graph *graph = NULL;
    for (int i = 0; i < STEPS; i++) {
        HK_SCOPE;
        hk_array *bound[] = {numbers(hk_shape(1, ROWS, WIDTH), 100 + i), state};
        new_weights(&self, i);
        if (graph) {
            hk_replay(graph, bound, 2);
        } else {
            if (captured)
                hk_capture_begin(bound, 2);
            hk_array_release(result);
            result = block_run(&self, bound[0], state);
            if (captured)
                graph = hk_capture_end(&(hk_capture_options){.exact = exact});
        }
        read_all(&self, result, state, &out[i]);
    }
    CHECK(!graph || !hk_status_print(hk_graph_status(graph), stderr));
    if (graph)
        tasks = hk_graph_get_facts(graph).tasks;
    hk_graph_release(graph);
    hk_array_release(result);
    hk_array_release(state);
    block_drop(&self);
    hk_runtime_deinit();
    return tasks;
}

/* What is added up in parts has the parts of the calls, and products have the bytes of the
 * whole. */
static void test_bytes(void)
{
    static values expected[STEPS], actual[STEPS];
    run(2, false, false, expected);
    CHECK(run(2, true, true, actual) > 10);
    CHECK(!memcmp(actual, expected, sizeof actual));
    for (int cores = 1; cores <= 4; cores++) {
        CHECK_EQ_I64(run(cores, true, false, actual), 1);
        for (int i = 0; i < STEPS; i++)
            CHECK(!memcmp(&actual[i], &expected[i], sizeof actual[i]));
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

enum { UNITS = 224, INPUTS = 20, LENGTH = 19, LAST = 3 * LENGTH * 2 * UNITS };

/* A recurrent layer, whose steps all threads do together. */
static void test_recurrent(hk_recurrent_kind kind, int64_t rows, bool both, int cores)
{
    CHECK(!hk_status_print(hk_runtime_init(&(hk_runtime_options){.cpu_cores = cores}), stderr));
    static float expected[LAST], actual[LAST];
    const size_t bytes = (size_t)(rows * LENGTH * UNITS * (both ? 2 : 1)) * sizeof(float);
    {
        HK_SCOPE;
        hk_seed(11);
        hk_module *layer = hk_recurrent_stack(
            kind, UNITS, &(hk_recurrent_stack_options){.is_bidirectional = both});
        hk_module_set_training(layer, false);
        hk_array *x[2], *y;
        for (int i = 0; i < 2; i++)
            x[i] = hk_random_uniform(hk_shape(rows, LENGTH, INPUTS), HK_F32, hk_device_default());
        CHECK(hk_ok(hk_wait(hk_forward(layer, x[0])))); /* which makes the weights */
        hk_capture_begin(x, 1);
        {
            HK_SCOPE;
            y = hk_take(hk_relu(hk_forward(layer, x[0])));
        }
        hk_graph *graph = hk_capture_end(NULL);
        CHECK(both || hk_graph_get_facts(graph).tasks == 1);
        for (int i = 0; i < 4; i++) {
            hk_replay(graph, &x[i % 2], 1);
            CHECK(hk_ok(hk_to_host(y, actual, bytes)));
            CHECK(hk_ok(hk_to_host(hk_relu(hk_forward(layer, x[i % 2])), expected, bytes)));
            CHECK(!memcmp(actual, expected, bytes));
        }
        hk_graph_release(graph);
        hk_array_release(y);
        hk_module_release(layer);
    }
    hk_runtime_deinit();
}

static void test_rounds(void)
{
    for (int cores = 1; cores <= 3; cores++)
        for (int kind = HK_RECURRENT_TANH; kind <= HK_RECURRENT_LSTM; kind++)
            for (int64_t rows = 1; rows <= 3; rows += 2)
                test_recurrent((hk_recurrent_kind)kind, rows, rows == 3, cores);
}

/* ---- one row --------------------------------------------------------------------------------- */

enum { ROW_IN = 700, ROW_OUT = 900 };

static hk_array *two_layers(hk_array *x, hk_array *first, hk_array *second, hk_array *bias)
{
    HK_SCOPE;
    return hk_take(hk_linear(hk_linear(x, first, NULL), second, bias));
}

/* Of packed weights, and a bias with gaps: near what the calls give, and the same bytes on any
 * number of cores. */
static void test_row(hk_dtype dtype, int cores, double *out)
{
    CHECK(!hk_status_print(hk_runtime_init(&(hk_runtime_options){.cpu_cores = cores}), stderr));
    {
        HK_SCOPE;
        hk_seed(21);
        const hk_device cpu = hk_device_default();
        hk_array *x = hk_random_uniform(hk_shape(1, 1, ROW_IN), dtype, cpu);
        hk_array *first = hk_random_uniform(hk_shape(ROW_OUT, ROW_IN), dtype, cpu);
        hk_array *second = hk_random_uniform(hk_shape(ROW_IN, ROW_OUT), dtype, cpu);
        hk_array *bias = hk_index(hk_random_uniform(hk_shape(ROW_IN, 2), dtype, cpu), 1, 1);
        hk_capture_begin(&x, 1);
        hk_array *y = two_layers(x, first, second, bias);
        hk_graph *graph = hk_capture_end(NULL);
        CHECK_EQ_I64(hk_graph_get_facts(graph).tasks, 1);
        CHECK(hk_ok(hk_wait(y)));
        const uint64_t before = hk_device_get_memory(cpu).used_bytes;
        for (int i = 0; i < 3; i++)
            hk_replay(graph, &x, 1);
        CHECK(hk_ok(hk_wait_all()));
        const uint64_t kept = hk_device_get_memory(cpu).used_bytes - before;
        const uint64_t weights = 2 * ROW_IN * ROW_OUT * hk_dtype_bytes(dtype);
        CHECK(kept >= weights && kept < weights + weights / 8); /* packed, and once */
        hk_array *by_calls = two_layers(x, first, second, bias);
        const double error =
            hk_item(hk_max(hk_abs(hk_subtract(hk_divide(y, by_calls), 1)), NULL), NULL);
        CHECK(error < (dtype == HK_F32 ? 1e-5 : 1e-13));
        CHECK(hk_ok(hk_to_host(hk_cast(y, HK_F64), out, ROW_IN * sizeof *out)));
        hk_graph_release(graph);
        hk_array_release(y);
        hk_array_release(by_calls);
    }
    hk_runtime_deinit();
}

static void test_rows(void)
{
    static double one[ROW_IN], several[ROW_IN];
    static const hk_dtype dtypes[] = {HK_F32, HK_F64};
    for (int i = 0; i < 2; i++) {
        test_row(dtypes[i], 1, one);
        for (int cores = 2; cores <= 4; cores++) {
            test_row(dtypes[i], cores, several);
            CHECK(!memcmp(one, several, sizeof one));
        }
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

static hk_array *rows_of(hk_array *table, hk_array *which, hk_array *weight, hk_array **beside)
{
    HK_SCOPE;
    hk_array *x = hk_index_select(table, which, 0);
    *beside = hk_take(hk_multiply(table, 2));
    return hk_take(hk_linear(hk_tanh(hk_linear(x, weight, NULL)), weight, NULL));
}

static void test_failure(void)
{
    HK_SCOPE;
    CHECK(!hk_status_print(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2}), stderr));
    int32_t good[ROWS] = {0}, bad[ROWS] = {0};
    bad[7] = 1000;
    hk_array *table = numbers(hk_shape(50, WIDTH), 1), *weight = numbers(hk_shape(WIDTH, WIDTH), 2);
    hk_array *which[] = {hk_from_host(good, hk_shape(ROWS), HK_I32, hk_device_default()),
                         hk_from_host(bad, hk_shape(ROWS), HK_I32, hk_device_default())};
    hk_array *beside = NULL;
    hk_capture_begin(&which[0], 1);
    hk_array *y = rows_of(table, which[0], weight, &beside);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK_EQ_I64(hk_graph_get_facts(graph).tasks, 1);
    for (int i = 0; i < 4; i++) {
        hk_replay(graph, &which[i % 2], 1);
        const hk_status *status = hk_wait(y);
        CHECK(hk_ok(status) == (i % 2 == 0));
        if (i % 2) {
            CHECK_STR(hk_status_operation(status), "index_select");
            CHECK(strstr(hk_status_message(status), "1000"));
            CHECK(!hk_ok(hk_wait(beside)));
        }
    }
    hk_failures_clear();
    CHECK(!hk_ok(hk_wait(y)));
    hk_replay(graph, &which[0], 1);
    CHECK(hk_ok(hk_wait(y)) && hk_ok(hk_wait(beside)));
    hk_graph_release(graph);
    hk_array_release(y);
    hk_array_release(beside);
    hk_runtime_deinit();
}

/* There is no memory for what is in between, or for packed weights. */
static void test_no_memory(void)
{
    for (int64_t kilobytes = 64; kilobytes <= 4096; kilobytes += 64) {
        HK_SCOPE;
        CHECK(!hk_status_print(hk_runtime_init(&(hk_runtime_options){
                                   .cpu_cores = 2, .memory_bytes = (uint64_t)kilobytes << 10}),
                               stderr));
        block self;
        block_make(&self);
        hk_array *state = hk_zeros(hk_shape(1, ROWS, WIDTH), HK_F32, hk_device_default());
        hk_array *bound[] = {numbers(hk_shape(1, ROWS, WIDTH), 1), state};
        hk_capture_begin(bound, 2);
        hk_array *y = block_run(&self, bound[0], state);
        hk_graph *graph = hk_capture_end(NULL);
        for (int i = 0; i < 3; i++)
            hk_replay(graph, bound, 2);
        const hk_status *status = hk_wait(y);
        CHECK(hk_ok(status) || hk_status_code(status) == HK_OUT_OF_MEMORY);
        CHECK(kilobytes < 4096 || hk_ok(status));
        hk_graph_release(graph);
        hk_array_release(y);
        block_drop(&self);
        hk_failures_clear();
        hk_runtime_deinit();
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, TURNS = 40 };

typedef struct user {
    hk_graph *graph;
    hk_array *weight;
    int failures;
} user;

static void *use(void *argument)
{
    user *self = argument;
    for (int i = 0; i < TURNS; i++) {
        HK_SCOPE;
        hk_array *x = numbers(hk_shape(1, ROWS, WIDTH), i);
        hk_array *bound[] = {x, hk_zeros(hk_shape(1, ROWS, WIDTH), HK_F32, hk_device_default())};
        hk_replay(self->graph, bound, 2);
        float first[ROWS * WIDTH];
        self->failures += !hk_ok(hk_to_host(bound[1], first, sizeof first));
        hk_array *by_calls =
            hk_linear(hk_gelu(hk_linear(x, self->weight, NULL)), self->weight, NULL);
        float second[ROWS * WIDTH];
        self->failures += !hk_ok(hk_to_host(by_calls, second, sizeof second));
        self->failures += memcmp(first, second, sizeof first) != 0;
    }
    return NULL;
}

static void test_threads(void)
{
    HK_SCOPE;
    CHECK(!hk_status_print(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 3}), stderr));
    hk_array *weight = numbers(hk_shape(WIDTH, WIDTH), 9);
    hk_array *bound[] = {numbers(hk_shape(1, ROWS, WIDTH), 0),
                         hk_zeros(hk_shape(1, ROWS, WIDTH), HK_F32, hk_device_default())};
    hk_capture_begin(bound, 2);
    {
        HK_SCOPE;
        hk_array *y = hk_linear(hk_gelu(hk_linear(bound[0], weight, NULL)), weight, NULL);
        hk_copy_into(bound[1], y);
    }
    hk_graph *graph = hk_capture_end(NULL);
    user users[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){.graph = graph, .weight = weight};
        CHECK(!pthread_create(&threads[i], NULL, use, &users[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ_I64(users[i].failures, 0);
    }
    hk_graph_release(graph);
    hk_runtime_deinit();
}

int main(void)
{
    test_bytes();
    test_rounds();
    test_rows();
    test_failure();
    test_no_memory();
    test_threads();
    return check_result();
}
