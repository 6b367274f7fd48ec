/* Random numbers in captured steps: replays draw what the calls would have drawn, from the stream of the thread that replays or
 * from the generator that was noted. */
#include "check.h"
#include "failing_memory.h"

#include <hocket/hocket.h>
#include <math.h>
#include <pthread.h>

enum { STEPS = 20, BATCH = 64, IN = 7, OUT = 3, PARAMS = 8, COUNT = 10 };

/* The last one: an accelerator where there is one. */
static hk_device device(void)
{
    return hk_device_at(hk_device_count() - 1);
}

static hk_array *uniform(int64_t count)
{
    return hk_random_uniform(hk_shape(count), HK_F32, device());
}

/* ---- training ----------------------------------------------------------------------------------- */

typedef struct training {
    hk_module *net;
    hk_array *params[PARAMS];
    int count;
} training;

static void training_begin(training *self, hk_array *x)
{
    hk_seed(5);
    self->net = hk_sequential(hk_linear_layer(16, NULL), hk_dropout_layer(0.3),
                              hk_operator_layer("relu", NULL, 0), hk_dropout_layer(0.5),
                              hk_linear_layer(OUT, NULL));
    hk_module_set_training(self->net, false);
    hk_forward(self->net, x);
    hk_module_set_training(self->net, true);
    self->count = hk_module_parameters(self->net, self->params, PARAMS);
    CHECK_EQ_I64(self->count, 4);
}

static void step(const training *self, hk_array *const bound[2])
{
    HK_SCOPE;
    hk_record_begin();
    hk_array *y = hk_forward(self->net, bound[0]);
    hk_array *loss = hk_mean(hk_softmax_cross_entropy(y, bound[1]), NULL);
    hk_record_end();
    hk_backward(loss);
    hk_sgd(self->params, self->count, &(hk_sgd_options){.lr = 0.3});
}

typedef enum way_done { CALLS, EXACT, CHAINS } way_done;

/* The parameters after all steps, and a number drawn afterwards. */
static int train(way_done way, hk_runtime_options options, float *values)
{
    int count = 0;
    hk_graph *graph = NULL;
    training self;
    CHECK(hk_ok(hk_runtime_init(&options)));
    hk_generator *data = hk_generator_create(3);
    HK_SCOPE;
    for (int i = 0; i < STEPS; i++) {
        HK_SCOPE;
        hk_array *bound[2] = {
            hk_random_normal_from(data, 0, 1, hk_shape(BATCH, IN), HK_F32, device()),
            hk_random_int_from(data, 0, OUT, hk_shape(BATCH), HK_I64, device())};
        if (i == 0)
            training_begin(&self, bound[0]);
        if (way == CALLS || i == 0) {
            if (way != CALLS)
                hk_capture_begin(bound, 2);
            step(&self, bound);
            if (way != CALLS)
                graph = hk_capture_end(&(hk_capture_options){.exact = way == EXACT});
        } else
            hk_replay(graph, bound, 2);
    }
    CHECK(!graph || !hk_status_print(hk_graph_status(graph), stderr));
    CHECK(!graph || way == EXACT ||
          hk_graph_get_facts(graph).tasks <= hk_graph_get_facts(graph).calls / 2);
    for (int i = 0; i < self.count; i++) {
        const int64_t size = hk_size(self.params[i]);
        CHECK(hk_ok(hk_to_host(self.params[i], values + count, (size_t)size * sizeof(float))));
        count += (int)size;
    }
    values[count++] = (float)hk_item(hk_reshape(uniform(1), hk_shape()), NULL);
    hk_graph_release(graph);
    hk_module_release(self.net);
    hk_generator_release(data);
    return count;
}

static int train_and_end(way_done way, hk_runtime_options options, float *values)
{
    const int count = train(way, options, values);
    hk_runtime_deinit();
    return count;
}

static void test_training(void)
{
    enum { MOST = 400 };
    static const hk_runtime_options runtimes[] = {{.engine = HK_ENGINE_SERIAL},
                                                  {.engine = HK_ENGINE_ASYNC},
                                                  {.engine = HK_ENGINE_ASYNC, .inline_ns = -1}};
    float expected[MOST], actual[MOST];
    const int count = train_and_end(CALLS, runtimes[0], expected);
    CHECK(count > 100 && count < MOST);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_I64(train_and_end(EXACT, runtimes[i], actual), count);
        CHECK(!memcmp(expected, actual, (size_t)count * sizeof(float)));
        CHECK_EQ_I64(train_and_end(CHAINS, runtimes[i], actual), count);
        for (int j = 0; j < count; j++)
            CHECK(fabsf(actual[j] - expected[j]) < 1e-4F);
        CHECK(actual[count - 1] == expected[count - 1]);
    }
}

/* ---- streams ------------------------------------------------------------------------------------ */

/* What a step draws, weighted so that the order matters: sums = 3 sums / 4 + drawn. */
static void draw(hk_generator *generator, hk_array *const sums[4])
{
    HK_SCOPE;
    hk_array *drawn[4];
    drawn[0] = hk_random_uniform(hk_shape(COUNT), HK_F64, device());
    drawn[1] = hk_random_normal_from(generator, 2, 3, hk_shape(COUNT), HK_F64, device());
    drawn[2] = hk_cast(hk_random_int(0, 50, hk_shape(COUNT), HK_I32, device()), HK_F64);
    drawn[3] = hk_random_uniform_from(generator, -1, 1, hk_shape(COUNT), HK_F64, device());
    for (int i = 0; i < 4; i++)
        hk_add_into(sums[i], hk_multiply(sums[i], 0.75), drawn[i]);
}

typedef struct state {
    hk_generator *generator;
    hk_array *sums[4];
} state;

static void state_begin(state *self)
{
    hk_seed(17);
    self->generator = hk_generator_create(23);
    for (int i = 0; i < 4; i++)
        self->sums[i] = hk_take(hk_zeros(hk_shape(COUNT), HK_F64, device()));
}

/* Releases it; values also get what both streams give next. */
static void state_end(state *self, double values[4 * COUNT + 2])
{
    HK_SCOPE;
    for (int i = 0; i < 4; i++) {
        CHECK(hk_ok(hk_to_host(self->sums[i], values + i * COUNT, COUNT * sizeof *values)));
        hk_array_release(self->sums[i]);
    }
    values[4 * COUNT] = hk_item(hk_random_uniform(hk_shape(), HK_F64, device()), NULL);
    values[4 * COUNT + 1] =
        hk_item(hk_random_uniform_from(self->generator, 0, 1, hk_shape(), HK_F64, device()), NULL);
    hk_generator_release(self->generator);
}

static hk_graph *capture(const state *self, bool exact)
{
    hk_capture_begin(NULL, 0);
    draw(self->generator, self->sums);
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = exact});
    CHECK(!hk_status_print(hk_graph_status(graph), stderr));
    return graph;
}

/* Many replays in flight, with calls of the program between some of them. */
static void test_streams(bool exact)
{
    double expected[4 * COUNT + 2], actual[4 * COUNT + 2];
    for (int replays = 0; replays < 2; replays++) {
        state self;
        HK_SCOPE;
        state_begin(&self);
        hk_graph *graph = replays ? capture(&self, exact) : NULL;
        for (int i = replays; i < 100; i++) {
            if (i % 10 == 5)
                uniform(3);
            if (graph)
                hk_replay(graph, NULL, 0);
            else
                draw(self.generator, self.sums);
        }
        hk_graph_release(graph);
        state_end(&self, replays ? actual : expected);
    }
    CHECK(!memcmp(expected, actual, sizeof expected));
}

/* A graph keeps the generator; hk_seed between replays begins anew. */
static void test_lives(void)
{
    HK_SCOPE;
    hk_generator *generator = hk_generator_create(9);
    hk_capture_begin(NULL, 0);
    hk_array *a = hk_random_uniform_from(generator, 0, 1, hk_shape(4), HK_F32, device());
    hk_array *b = uniform(4);
    hk_graph *graph = hk_capture_end(NULL);
    hk_generator_release(generator);
    CHECK(hk_ok(hk_graph_status(graph)));
    hk_seed(9);
    for (int i = 0; i < 3; i++) {
        hk_replay(graph, NULL, 0);
        hk_array *after_a = hk_copy(a);
        hk_seed(9);
        for (int j = 0; j <= i + 1; j++)
            b = uniform(4);
        CHECK(hk_item(hk_index(after_a, 0, 3), NULL) == hk_item(hk_index(b, 0, 3), NULL));
    }
    hk_graph_release(graph);
}

/* The order of calls decides, not that in which they are done: y is written after the chain, which reads it. */
static void test_order(void)
{
    enum { N = 8 };
    float values[2][3 * N];
    for (int replays = 0; replays < 2; replays++) {
        HK_SCOPE;
        hk_array *x = hk_ones(hk_shape(N, 1), HK_F32, device()), *y = hk_zeros_like(x);
        hk_array *z = hk_zeros_like(x), *w = hk_zeros_like(x);
        hk_graph *graph = NULL;
        hk_seed(2);
        for (int i = 0; i < 3; i++) {
            HK_SCOPE;
            if (graph) {
                hk_replay(graph, &x, 1);
                continue;
            }
            if (replays)
                hk_capture_begin(&x, 1);
            {
                HK_SCOPE;
                hk_assign(z, hk_relu(hk_add(hk_relu(x), y)));
                hk_assign(y, hk_random_uniform(hk_shape(N, 1), HK_F32, device()));
                hk_assign(w,
                          hk_add(hk_relu(x), hk_random_uniform(hk_shape(N, 1), HK_F32, device())));
            }
            if (replays)
                graph = hk_capture_end(NULL);
        }
        hk_array *const arrays[] = {y, z, w};
        for (int i = 0; i < 3; i++)
            CHECK(hk_ok(hk_to_host(arrays[i], values[replays] + i * N, N * sizeof(float))));
        hk_graph_release(graph);
    }
    CHECK(!memcmp(values[0], values[1], sizeof values[0]));
}

/* ---- threads and failures -------------------------------------------------------------------------- */

static void *replay_elsewhere(void *graph)
{
    hk_seed(31);
    for (int i = 0; i < 50; i++)
        hk_replay(graph, NULL, 0);
    return NULL;
}

/* Each thread's replays draw from its own stream; of a generator each takes its share. */
static void test_threads(void)
{
    double values[4 * COUNT + 2], expected[4 * COUNT + 2];
    pthread_t threads[2];
    state self;
    HK_SCOPE;
    state_begin(&self);
    hk_graph *graph = capture(&self, true);
    hk_array *other = hk_random_uniform(hk_shape(), HK_F64, device());
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, replay_elsewhere, graph) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    hk_graph_release(graph);
    state_end(&self, values);
    state_begin(&self);
    for (int i = 0; i < 101; i++) {
        draw(self.generator, self.sums);
        if (i == 0)
            CHECK(hk_item(other, NULL) ==
                  hk_item(hk_random_uniform(hk_shape(), HK_F64, device()), NULL));
    }
    hk_seed(17);
    hk_random_uniform(hk_shape(COUNT), HK_F64, device());
    hk_random_int(0, 50, hk_shape(COUNT), HK_I32, device());
    hk_random_uniform(hk_shape(), HK_F64, device());
    state_end(&self, expected);
    CHECK(values[4 * COUNT] == expected[4 * COUNT]);
    CHECK(values[4 * COUNT + 1] == expected[4 * COUNT + 1]);
}

/* A refused replay draws nothing; one for which there is too little memory draws all or nothing. */
static void test_failures(void)
{
    int failed = 0;
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(3), HK_F32, device()),
             *misfit = hk_ones(hk_shape(4), HK_F32, device());
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        hk_add_into(x, hk_add(uniform(3), hk_ones(hk_shape(3), HK_F32, device())), uniform(3));
    }
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = true});
    CHECK(hk_ok(hk_graph_status(graph)));
    hk_seed(1);
    hk_replay(graph, &misfit, 1);
    const double first = hk_item(hk_index(uniform(3), 0, 0), NULL);
    hk_seed(1);
    CHECK(hk_item(hk_index(uniform(3), 0, 0), NULL) == first);
    uniform(3);
    const double third = hk_item(hk_index(uniform(3), 0, 0), NULL);
    for (int after = 0; after < 40; after++) {
        HK_SCOPE;
        hk_array *y = hk_zeros(hk_shape(3), HK_F32, device());
        hk_wait(y);
        hk_seed(1);
        failing_begin(after, true);
        hk_replay(graph, &y, 1);
        failed += failing_end() > 0;
        const double next = hk_item(hk_index(uniform(3), 0, 0), NULL);
        CHECK(next == third || (next == first && !hk_ok(hk_wait(y))));
    }
    hk_wait_all();
    hk_failures_clear();
    CHECK(failed > 0 || HKI_SANITIZED);
    hk_graph_release(graph);
}

/* What cannot be noted for want of memory fails the graph, and draws all the same. */
static void test_capture_without_memory(void)
{
    HK_SCOPE;
    hk_generator *generator = hk_generator_create(3);
    int failed = 0;
    hk_array *x = hk_zeros(hk_shape(3), HK_F32, device());
    hk_wait(x);
    for (int after = 0; after < 60; after++) {
        failing_begin(after, false);
        hk_capture_begin(&x, 1);
        {
            HK_SCOPE;
            hk_add_into(x, uniform(3),
                        hk_random_normal_from(generator, 0, 1, hk_shape(3), HK_F32, device()));
        }
        hk_graph *graph = hk_capture_end(NULL);
        failing_end();
        failed += !hk_ok(hk_graph_status(graph));
        if (hk_ok(hk_graph_status(graph))) {
            hk_array *y = hk_zeros(hk_shape(3), HK_F32, device());
            hk_replay(graph, &y, 1);
            CHECK(hk_ok(hk_wait(y)));
        }
        hk_graph_release(graph);
        hk_wait_all();
        hk_failures_clear();
    }
    hk_generator_release(generator);
    CHECK(failed > 0 || HKI_SANITIZED);
}

static void test_runtime(hk_engine engine, int64_t inline_ns, int sim_count)
{
    const hk_sim_options sim = {0};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){
        .engine = engine, .inline_ns = inline_ns, .sim = &sim, .sim_count = sim_count})));
    test_streams(true);
    test_streams(false);
    test_lives();
    test_order();
    test_threads();
    test_failures();
    test_capture_without_memory();
    hk_runtime_deinit();
}

int main(void)
{
    test_training();
    test_runtime(HK_ENGINE_ASYNC, 0, 0);
    test_runtime(HK_ENGINE_ASYNC, -1, 0);
    test_runtime(HK_ENGINE_SERIAL, 0, 0);
    test_runtime(HK_ENGINE_ASYNC, 0, 1);
    return check_result();
}
