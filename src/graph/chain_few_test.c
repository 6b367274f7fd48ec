/* Inference of few samples: chains of images against the calls, and packed weights that are kept between replays. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;

static int64_t draw(int64_t low, int64_t high)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((random_state >> 33) % (uint64_t)(high - low + 1));
}

static hk_array *values(hk_dims shape, double bound)
{
    return hk_random_uniform_from(NULL, -bound, bound, shape, HK_F32, hk_device_named("cpu:0"));
}

static float *read_all(hk_array *x)
{
    size_t bytes = (size_t)hk_size(x) * sizeof(float);
    float *data = malloc(bytes + 1);
    if (!data)
        abort();
    CHECK(!hk_status_print(hk_to_host(x, data, bytes), stderr));
    return data;
}

/* ---- random networks ---- */

typedef struct layer {
    hk_array *weight, *bias;
    hk_conv2d_options how;
    bool relu, is_linear;
    int pool; /* 0: none, 1: average, 2: maximum */
    int64_t window;
    int after; /* 1: a call between layers that works element by element */
} layer;

enum { MAX_LAYERS = 4 };

typedef struct network {
    layer layers[MAX_LAYERS];
    int count;
    bool ends_in_softmax;
} network;

static hk_array *forward(const network *self, hk_array *x)
{
    for (int i = 0; i < self->count; i++) {
        const layer *l = &self->layers[i];
        if (l->is_linear)
            x = hk_linear(hk_reshape(x, hk_shape(hk_dim(x, 0), -1)), l->weight, l->bias);
        else
            x = hk_conv2d(x, l->weight, l->bias, &l->how);
        if (l->relu)
            x = hk_relu(x);
        if (l->pool == 1)
            x = hk_avg_pool2d(x, &(hk_avg_pool2d_options){.kernel = {l->window, l->window}});
        else if (l->pool == 2)
            x = hk_max_pool2d(x, &(hk_max_pool2d_options){.kernel = {l->window, l->window}});
        if (l->after)
            x = hk_tanh(x);
    }
    return self->ends_in_softmax ? hk_softmax(hk_reshape(x, hk_shape(hk_dim(x, 0), -1)), 1) : x;
}

/* Layers that fit behind each other, for images of this shape. */
static void network_draw(network *self, int64_t channels, int64_t height, int64_t width)
{
    *self = (network){.count = (int)draw(1, MAX_LAYERS), .ends_in_softmax = draw(0, 3) == 0};
    for (int i = 0; i < self->count; i++) {
        layer *l = &self->layers[i];
        int64_t outputs = draw(1, 40), kernel = draw(0, 1) ? 5 : draw(1, 4);
        l->relu = draw(0, 3) > 0;
        l->after = draw(0, 4) == 0;
        l->is_linear = (i > 0 && self->layers[i - 1].is_linear) || draw(0, 3) == 0 ||
                       height < kernel || width < kernel;
        if (l->is_linear) {
            int64_t inputs = channels * height * width;
            l->weight = values(hk_shape(outputs, inputs), 2 / sqrt((double)inputs));
            height = width = 1;
        } else {
            double bound = 2 / sqrt((double)(channels * kernel * kernel));
            l->weight = values(hk_shape(outputs, channels, kernel, kernel), bound);
            l->how.padding[0] = draw(0, 2);
            l->how.padding[1] = draw(0, 2);
            l->how.stride[0] = draw(0, 3) ? 1 : 2;
            l->how.stride[1] = draw(0, 3) ? 1 : 2;
            height = (height + 2 * l->how.padding[0] - kernel) / l->how.stride[0] + 1;
            width = (width + 2 * l->how.padding[1] - kernel) / l->how.stride[1] + 1;
            l->window = draw(2, 3);
            if (height >= l->window && width >= l->window) {
                l->pool = (int)draw(0, 2);
                height /= l->pool ? l->window : 1;
                width /= l->pool ? l->window : 1;
            }
        }
        l->bias = draw(0, 3) ? values(hk_shape(outputs), 0.5) : NULL;
        channels = outputs;
    }
}

static void check_close(const float *a, const float *b, int64_t count, const char *what, int index)
{
    float most = 0, largest = 1;
    for (int64_t i = 0; i < count; i++) {
        most = fmaxf(most, fabsf(a[i] - b[i]));
        largest = fmaxf(largest, fabsf(b[i]));
        if (isnan(a[i]) != isnan(b[i]))
            most = INFINITY;
    }
    if (!(most <= 2e-5f * largest))
        fprintf(stderr, "%s %d: off by %g of %g\n", what, index, (double)most, (double)largest);
    CHECK(most <= 2e-5f * largest);
}

static void test_random_networks(int count)
{
    int chains = 0;
    for (int i = 0; i < count; i++) {
        HK_SCOPE;
        network net;
        int64_t n = draw(0, 4) ? draw(1, 31) : draw(32, 150), channels = draw(1, 5),
                height = draw(5, 16), width = draw(5, 16);
        hk_array *x = values(hk_shape(n, channels, height, width), 1), *y, *other;
        network_draw(&net, channels, height, width);
        hk_capture_begin(&x, 1);
        {
            HK_SCOPE;
            y = hk_take(forward(&net, x));
        }
        hk_graph *graph = hk_capture_end(NULL);
        CHECK(!hk_status_print(hk_graph_status(graph), stderr));
        chains += hk_graph_get_facts(graph).tasks < hk_graph_get_facts(graph).calls;
        for (int repeat = 0; repeat < 2; repeat++) {
            other = values(hk_shape(n, channels, height, width), 1);
            hk_replay(graph, &other, 1);
            float *replayed = read_all(y), *called = read_all(forward(&net, other));
            check_close(replayed, called, hk_size(y), "network", i);
            free(replayed);
            free(called);
        }
        hk_graph_release(graph);
        hk_array_release(y);
    }
    CHECK(chains > count / 2);
}

/* ---- weights that change between replays ---- */

enum { SIDE = 12, OUTPUTS = 10, PARAMS = 4 };

typedef struct model {
    hk_array *params[PARAMS]; /* counted */
    hk_array *x, *y;          /* counted */
    hk_graph *graph;
} model;

static hk_array *infer(hk_array *const *params, hk_array *x)
{
    x = hk_relu(hk_conv2d(x, params[0], params[1], NULL));
    x = hk_avg_pool2d(x, &(hk_avg_pool2d_options){.kernel = {2, 2}});
    return hk_linear(hk_reshape(x, hk_shape(hk_dim(x, 0), -1)), params[2], params[3]);
}

static hk_graph *capture(hk_array *const *params, hk_array *x, hk_array **y)
{
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        *y = hk_take(infer(params, x));
    }
    return hk_capture_end(NULL);
}

static void model_init(model *self)
{
    HK_SCOPE;
    self->params[0] = hk_take(values(hk_shape(24, 8, 5, 5), 0.1));
    self->params[1] = hk_take(values(hk_shape(24), 0.1));
    self->params[2] = hk_take(values(hk_shape(OUTPUTS, 24 * 16), 0.1));
    self->params[3] = hk_take(values(hk_shape(OUTPUTS), 0.1));
    self->x = hk_take(values(hk_shape(1, 8, SIDE, SIDE), 1));
    self->graph = capture(self->params, self->x, &self->y);
    CHECK_EQ_I64(hk_graph_get_facts(self->graph).tasks, 1);
}

static void model_deinit(model *self)
{
    hk_graph_release(self->graph);
    for (int i = 0; i < PARAMS; i++)
        hk_array_release(self->params[i]);
    hk_array_release(self->x);
    hk_array_release(self->y);
}

static void by_write(model *self)
{
    float data[24 * 8 * 25];
    for (int i = 0; i < 24 * 8 * 25; i++)
        data[i] = (float)(i % 7) / 100;
    hk_write(self->params[0], data, sizeof data);
}

static void by_assign(model *self)
{
    hk_assign(self->params[2], values(hk_shape(OUTPUTS, 24 * 16), 0.2));
}

static void in_place(model *self)
{
    hk_multiply_into(self->params[0], self->params[0], 0.5);
}

static void by_slice(model *self)
{
    hk_array *row = hk_slice(self->params[0], 0, 3, 4);
    hk_add_into(row, row, 0.125);
}

static void by_element(model *self)
{
    hk_array *one = hk_index(hk_index(self->params[2], 0, 9), 0, 5);
    hk_assign(one, hk_scalar(4, HK_F32, hk_device_named("cpu:0")));
}

static void by_strided_view(model *self)
{
    hk_array *column = hk_index(hk_transpose(self->params[2]), 0, 17);
    hk_assign(column, hk_full(hk_shape(OUTPUTS), 0.75, HK_F32, hk_device_named("cpu:0")));
}

static void by_reshaped_view(model *self)
{
    hk_array *flat = hk_reshape(self->params[0], hk_shape(-1));
    hk_negative_into(flat, flat);
}

static void by_training(model *self)
{
    for (int i = 0; i < PARAMS; i++)
        hk_attach_grad(self->params[i], HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_sum(hk_square(infer(self->params, self->x)), NULL);
    hk_record_end();
    hk_backward(loss);
    hk_sgd(self->params, PARAMS, &(hk_sgd_options){.lr = 0.01, .batch = 1});
}

static void by_another_replay(model *self)
{
    hk_array *w = self->params[0], *more = values(hk_shape(24, 8, 5, 5), 0.1);
    hk_capture_begin(&more, 1);
    {
        HK_SCOPE;
        hk_add_into(w, w, more);
    }
    hk_graph *update = hk_capture_end(NULL);
    hk_replay(update, &more, 1);
    hk_graph_release(update);
}

/* So small that it needs no task. */
static void by_small_replay(model *self)
{
    hk_array *more = values(hk_shape(1, 8, 5, 5), 0.1);
    hk_array *row = hk_slice(self->params[0], 0, 7, 8);
    hk_capture_begin(&more, 1);
    {
        HK_SCOPE;
        hk_add_into(row, row, more);
    }
    hk_graph *update = hk_capture_end(NULL);
    hk_wait_all();
    hk_replay(update, &more, 1);
    hk_graph_release(update);
}

static void by_loan(model *self)
{
    hk_loan loan;
    CHECK(hk_ok(hk_data_borrow(self->params[0], HK_BORROW_WRITE, &loan)));
    ((float *)loan.data)[5] += 1;
    CHECK(hk_ok(hk_data_return(&loan)));
}

/* Who else has the memory may write at any time. */
static void by_another_library(model *self)
{
    hk_loan loan;
    CHECK(hk_ok(hk_data_borrow(self->params[2], HK_BORROW_EXTERNAL, &loan)));
    hk_replay(self->graph, &self->x, 1);
    hk_wait_all();
    ((float *)loan.data)[7] += 1;
    CHECK(hk_ok(hk_data_return(&loan)));
}

static void *run_in_thread(void *payload)
{
    HK_SCOPE;
    in_place(payload);
    return NULL;
}

static void by_a_thread(model *self)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, run_in_thread, self));
    CHECK(!pthread_join(thread, NULL));
}

/* The failure is taken back: what the write before it left is what counts. */
static void with_a_failure(model *self)
{
    hk_add_into(self->params[2], self->params[2], 0.0625);
    hk_array *wrong = hk_linear(self->x, self->params[0], NULL);
    hk_add_into(self->params[2], self->params[2], wrong);
    hk_replay(self->graph, &self->x, 1);
    CHECK(!hk_ok(hk_wait(self->y)));
    hk_recover(self->params[2]);
    hk_wait_all();
    hk_failures_clear();
}

/* The bytes are those of a graph that has nothing kept yet. */
static void check_is_fresh(model *self, float *last, const char *what)
{
    HK_SCOPE;
    hk_array *y;
    hk_graph *fresh = capture(self->params, self->x, &y);
    hk_replay(fresh, &self->x, 1);
    float *expected = read_all(y);
    for (int repeat = 0; repeat < 2; repeat++) {
        hk_replay(self->graph, &self->x, 1);
        float *got = read_all(self->y);
        if (memcmp(got, expected, OUTPUTS * sizeof *got))
            fprintf(stderr, "%s, replay %d: other bytes\n", what, repeat);
        CHECK(!memcmp(got, expected, OUTPUTS * sizeof *got));
        free(got);
    }
    CHECK(memcmp(last, expected, OUTPUTS * sizeof *last));
    memcpy(last, expected, OUTPUTS * sizeof *last);
    free(expected);
    hk_array_release(y);
    hk_graph_release(fresh);
}

static void test_updates(void)
{
    static const struct {
        const char *name;
        void (*update)(model *);
    } ways[] = {{"write", by_write},
                {"assign", by_assign},
                {"in place", in_place},
                {"slice", by_slice},
                {"element", by_element},
                {"strided view", by_strided_view},
                {"reshaped view", by_reshaped_view},
                {"training", by_training},
                {"another replay", by_another_replay},
                {"a small replay", by_small_replay},
                {"a loan", by_loan},
                {"another library", by_another_library},
                {"a thread", by_a_thread},
                {"a failure", with_a_failure}};
    model self;
    float last[OUTPUTS] = {0};
    model_init(&self);
    check_is_fresh(&self, last, "at first");
    for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        HK_SCOPE;
        const size_t way = i % (sizeof ways / sizeof *ways);
        ways[way].update(&self);
        if (way == 0 && i > 0)
            in_place(&self); /* the same values again would change nothing */
        check_is_fresh(&self, last, ways[way].name);
    }
    model_deinit(&self);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
}

/* A graph that writes its own weights, and one whose weights are bound. */
static void test_no_constants(void)
{
    HK_SCOPE;
    model self;
    model_init(&self);
    hk_array *w = self.params[0], *y, *bound[2] = {self.x, self.params[2]};
    hk_capture_begin(bound, 2);
    {
        HK_SCOPE;
        hk_array *const params[PARAMS] = {w, self.params[1], self.params[2], self.params[3]};
        y = hk_take(infer(params, self.x));
        hk_multiply_into(w, w, 0.5);
    }
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(!hk_status_print(hk_graph_status(graph), stderr));
    for (int i = 0; i < 4; i++) {
        hk_array *const params[PARAMS] = {w, self.params[1],
                                          values(hk_shape(OUTPUTS, 24 * 16), 0.1), self.params[3]};
        float *expected = read_all(infer(params, self.x));
        bound[1] = params[2];
        hk_replay(graph, bound, 2);
        float *got = read_all(y);
        check_close(got, expected, OUTPUTS, "no constants", i);
        free(got);
        free(expected);
    }
    hk_graph_release(graph);
    hk_array_release(y);
    model_deinit(&self);
}

/* ---- many threads ---- */

enum { THREADS = 4, REPLAYS = 300 };

typedef struct race {
    hk_array *x, *w; /* w has values of one of two kinds */
    hk_array *kinds[2];
    hk_graph *graph;
    float expected[2][OUTPUTS];
    atomic_bool ends;
    atomic_int seen[2], others;
} race;

static void *replay_many(void *payload)
{
    race *self = payload;
    HK_SCOPE;
    float got[OUTPUTS];
    hk_array *y = hk_zeros(hk_shape(1, OUTPUTS), HK_F32, hk_device_named("cpu:0"));
    for (int i = 0; i < REPLAYS; i++) {
        hk_replay(self->graph, (hk_array *[]){self->x, y}, 2);
        bool is_read = hk_ok(hk_to_host(y, got, sizeof got));
        int kind = !is_read                                      ? -1
                   : !memcmp(got, self->expected[0], sizeof got) ? 0
                   : !memcmp(got, self->expected[1], sizeof got) ? 1
                                                                 : -1;
        atomic_fetch_add(kind < 0 ? &self->others : &self->seen[kind], 1);
    }
    return NULL;
}

static void *write_many(void *payload)
{
    race *self = payload;
    for (int i = 0; !atomic_load(&self->ends); i++) {
        HK_SCOPE;
        hk_assign(self->w, self->kinds[i % 2]);
        if (i % 3 == 0)
            hk_wait(self->w);
    }
    return NULL;
}

static void test_threads(void)
{
    HK_SCOPE;
    race self = {.x = values(hk_shape(1, 8, SIDE, SIDE), 1), .w = values(hk_shape(24, 8, 5, 5), 1)};
    hk_array *params[PARAMS] = {self.w, values(hk_shape(24), 0.1),
                                values(hk_shape(OUTPUTS, 24 * 16), 0.1),
                                values(hk_shape(OUTPUTS), 0.1)};
    hk_array *y = hk_zeros(hk_shape(1, OUTPUTS), HK_F32, hk_device_named("cpu:0"));
    pthread_t threads[THREADS], writer;
    for (int i = 0; i < 2; i++)
        self.kinds[i] = values(hk_shape(24, 8, 5, 5), 1);
    hk_capture_begin((hk_array *[]){self.x, y}, 2);
    {
        HK_SCOPE;
        hk_assign(y, infer(params, self.x));
    }
    self.graph = hk_capture_end(NULL);
    for (int i = 0; i < 2; i++) {
        hk_assign(self.w, self.kinds[i]);
        hk_replay(self.graph, (hk_array *[]){self.x, y}, 2);
        CHECK(hk_ok(hk_to_host(y, self.expected[i], sizeof self.expected[i])));
    }
    CHECK(!pthread_create(&writer, NULL, write_many, &self));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, replay_many, &self));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(threads[i], NULL));
    atomic_store(&self.ends, true);
    CHECK(!pthread_join(writer, NULL));
    CHECK_EQ_I64(atomic_load(&self.others), 0);
    CHECK_EQ_I64(atomic_load(&self.seen[0]) + atomic_load(&self.seen[1]), THREADS * REPLAYS);
    hk_graph_release(self.graph);
}

/* What is kept is kept once, and goes with the graph. */
static void test_memory(void)
{
    const hk_device cpu = hk_device_named("cpu:0");
    model self;
    model_init(&self);
    hk_wait_all();
    const uint64_t before = hk_device_get_memory(cpu).used_bytes;
    hk_replay(self.graph, &self.x, 1);
    hk_wait_all();
    const uint64_t kept = hk_device_get_memory(cpu).used_bytes - before;
    CHECK(kept >= 24 * 8 * 64 * sizeof(float));
    for (int i = 0; i < 5; i++) {
        HK_SCOPE;
        in_place(&self);
        hk_replay(self.graph, &self.x, 1);
        hk_replay(self.graph, &self.x, 1);
        hk_wait_all();
        CHECK_EQ_I64(hk_device_get_memory(cpu).used_bytes - before, kept);
    }
    hk_graph_release(self.graph);
    self.graph = NULL;
    CHECK_EQ_I64(hk_device_get_memory(cpu).used_bytes, before);
    model_deinit(&self);
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    hk_seed(5);
    test_random_networks(150);
    test_updates();
    test_no_constants();
    test_threads();
    test_memory();
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
