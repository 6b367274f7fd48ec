/* Replays that a CUDA device does as one task from what it has recorded: the same bytes as the calls, on other arrays, by
 * several threads, where arrays and graphs go at once; and failures on the device, which name the call that failed. */
#include "check.h"
#include "cuda/captures_fixture.h"

#include <hocket/hocket.h>
#include <pthread.h>
#include <stdlib.h>

enum { BATCH = 6, INPUTS = 16, HIDDEN = 9, CLASSES = 4, PARAMS = 4, STEPS = 12, KEPT_STEPS = 4 };

static hk_array *labels(int first, int bad)
{
    int64_t values[BATCH];
    for (int i = 0; i < BATCH; i++)
        values[i] = (first + i) % CLASSES;
    if (bad >= 0)
        values[bad] = CLASSES + 3;
    return hk_from_host(values, hk_shape(BATCH), HK_I64, gpu());
}

/* ---- training ----------------------------------------------------------------------------------------------------- */

typedef struct model {
    hk_array *params[PARAMS];
    hk_array *loss; /* of the last step; overwritten by each */
} model;

static hk_dims shape_of(int param)
{
    return param == 0   ? hk_shape(HIDDEN, INPUTS)
           : param == 1 ? hk_shape(HIDDEN)
           : param == 2 ? hk_shape(CLASSES, HIDDEN)
                        : hk_shape(CLASSES);
}

static void model_init(model *self)
{
    HK_SCOPE;
    for (int i = 0; i < PARAMS; i++) {
        self->params[i] = hk_take(numbers(shape_of(i), i));
        hk_attach_grad(self->params[i], HK_GRAD_WRITE);
    }
    self->loss = hk_take(hk_zeros(hk_shape(), HK_F32, gpu()));
}

static void model_drop(model *self)
{
    for (int i = 0; i < PARAMS; i++)
        hk_array_release(self->params[i]);
    hk_array_release(self->loss);
}

static int loss_line;

static void step(const model *self, hk_array *x, hk_array *y)
{
    HK_SCOPE;
    hk_array *const *p = self->params;
    HK_RECORD;
    hk_array *hidden = hk_relu(hk_linear(hk_transpose(x), p[0], p[1]));
    hk_array *logits = hk_linear(hidden, p[2], p[3]);
    loss_line = __LINE__ + 1;
    hk_array *loss = hk_mean(hk_softmax_cross_entropy(logits, y), NULL);
    hk_backward(loss);
    hk_assign(self->loss, hk_detach(loss));
    hk_sgd(self->params, PARAMS, &(hk_sgd_options){.lr = 0.3});
}

/* What a step is given, and where it lies for steps that are to be at the same addresses. */
typedef struct batch {
    hk_array *bound[2];
} batch;

static batch batch_of(int first, int bad)
{
    return (batch){{numbers(hk_shape(INPUTS, BATCH), first), labels(first, bad)}};
}

/* `from` in the arrays of `kept`. */
static batch batch_in(const batch *kept, const batch *from)
{
    for (int i = 0; i < 2; i++)
        hk_assign(kept->bound[i], from->bound[i]);
    return *kept;
}

static hk_graph *capture_step(const model *self, const hk_capture_options *options)
{
    HK_SCOPE;
    batch first = batch_of(0, -1);
    hk_capture_begin(first.bound, 2);
    step(self, first.bound[0], first.bound[1]);
    hk_graph *graph = hk_capture_end(options);
    CHECK(!hk_status_print(hk_graph_status(graph), stderr));
    return graph;
}

/* Parameters and loss after all steps, which are replays from the second one on where that is asked for. What the last ones
 * are given lies at the same addresses, so that a recording serves. */
static void train(bool replays, bool exact, float values[STEPS][PARAMS + 1][MAX_VALUES])
{
    model self;
    hk_graph *graph = NULL;
    HK_SCOPE;
    const batch kept = batch_of(0, -1);
    model_init(&self);
    for (int i = 0; i < STEPS; i++) {
        HK_SCOPE; /* what is bound goes at once, before it has been used */
        if (i == 0 && replays) {
            graph = capture_step(&self, &(hk_capture_options){.exact = exact});
        } else {
            batch given = batch_of(i, -1);
            if (i >= STEPS - KEPT_STEPS)
                given = batch_in(&kept, &given);
            if (graph)
                hk_replay(graph, given.bound, 2);
            else
                step(&self, given.bound[0], given.bound[1]);
        }
        for (int j = 0; j < PARAMS && i % 3 == 2; j++)
            CHECK(hk_ok(hk_to_host(self.params[j], values[i][j],
                                   (size_t)hk_size(self.params[j]) * sizeof(float))));
        if (i % 3 == 2)
            CHECK(hk_ok(hk_to_host(self.loss, values[i][PARAMS], sizeof(float))));
        /* Between replays others write the parameters, too. */
        hk_assign(self.params[1], hk_multiply(self.params[1], 0.5));
    }
    if (graph) {
        CHECK(hk_ok(hk_wait_all()));
        hk_graph_facts facts = hk_graph_get_facts(graph);
        CHECK(exact ? facts.tasks == facts.calls : facts.tasks == 1);
        CHECK(exact ? facts.recorded_replays == 0 : facts.recorded_replays >= KEPT_STEPS - 1);
    }
    hk_graph_release(graph);
    model_drop(&self);
}

static void test_training(hk_engine engine)
{
    static float expected[STEPS][PARAMS + 1][MAX_VALUES], actual[STEPS][PARAMS + 1][MAX_VALUES];
    begin(engine);
    train(false, false, expected);
    train(true, true, actual);
    CHECK(!memcmp(actual, expected, sizeof actual));
    memset(actual, 0, sizeof actual);
    if (engine != HK_ENGINE_SERIAL)
        train(true, false, actual);
    CHECK(engine == HK_ENGINE_SERIAL || !memcmp(actual, expected, sizeof actual));
    CHECK(expected[2][0][0] != expected[5][0][0]);
    end(0);
}

/* ---- failures ------------------------------------------------------------------------------------------------------ */

/* A label that there is no class for fails all that its replay writes, by the call and the line that were captured, be it
 * launched or from a recording; replays after that do what they should. */
static void test_failing_label(void)
{
    begin(HK_ENGINE_DEFAULT);
    model self;
    model_init(&self);
    hk_graph *graph = capture_step(&self, NULL);
    batch kept = batch_of(0, -1);
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < 8; i++) {
        HK_SCOPE;
        int bad = i % 3 == 1 ? i % BATCH : -1;
        batch given = batch_of(i, bad);
        if (i >= 8 - KEPT_STEPS)
            given = batch_in(&kept, &given);
        hk_replay(graph, given.bound, 2);
        const hk_status *status = hk_wait(self.loss);
        CHECK(hk_ok(status) == (bad < 0));
        if (bad >= 0) {
            char text[32];
            snprintf(text, sizeof text, "labels[%d] is 7", bad);
            CHECK_STR(hk_status_operation(status), "softmax_cross_entropy");
            CHECK_EQ_I64(hk_status_line(status), loss_line);
            CHECK(strstr(hk_status_message(status), text) != NULL);
            CHECK(!hk_ok(hk_wait(self.params[2])));
        }
        /* What is failed is given; then it is whole again. */
        for (int j = 0; j < PARAMS && bad >= 0; j++)
            hk_assign(self.params[j], numbers(shape_of(j), j));
    }
    CHECK(hk_graph_get_facts(graph).recorded_replays >= KEPT_STEPS - 1);
    for (int i = 0; i < 2; i++)
        hk_array_release(kept.bound[i]);
    hk_graph_release(graph);
    model_drop(&self);
    end(3);
}

static uint64_t held_up(void)
{
    return hk_runtime_get_internals().held_up_launches;
}

/* Steps, as calls or as replays, of labels that the host has copied, or that are computed on the device: what comes behind is
 * launched before it is known whether they are good. */
static void test_known_labels(bool replays, bool is_known)
{
    begin(HK_ENGINE_DEFAULT);
    model self;
    model_init(&self);
    hk_graph *graph = replays ? capture_step(&self, NULL) : NULL;
    CHECK(hk_ok(hk_wait_all()));
    uint64_t before = held_up();
    for (int i = 0; i < 6; i++) {
        HK_SCOPE;
        batch given = batch_of(i, -1);
        if (!is_known)
            given.bound[1] = hk_multiply(given.bound[1], 1);
        if (graph)
            hk_replay(graph, given.bound, 2);
        else
            step(&self, given.bound[0], given.bound[1]);
    }
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(held_up(), before);
    hk_graph_release(graph);
    model_drop(&self);
    end(0);
}

/* Of calls, a bad label leaves the parameters as they were, whether the host knew of it or not; so do steps behind it. */
static void test_bad_batch(bool is_known)
{
    float before[MAX_VALUES], after[MAX_VALUES];
    begin(HK_ENGINE_DEFAULT);
    model self;
    model_init(&self);
    for (int i = 0; i < PARAMS; i++) {
        HK_SCOPE;
        const size_t bytes = (size_t)hk_size(self.params[i]) * sizeof(float);
        CHECK(hk_ok(hk_to_host(self.params[i], before, bytes)));
        for (int j = 0; j < 3; j++) {
            HK_SCOPE;
            batch given = batch_of(j, j == 0 ? 2 : -1);
            if (!is_known)
                given.bound[1] = hk_multiply(given.bound[1], 1);
            step(&self, given.bound[0], given.bound[1]);
        }
        const hk_status *status = hk_wait(self.params[i]);
        CHECK(strstr(hk_status_message(status), "labels[2] is 7") != NULL);
        for (int j = 0; j < PARAMS; j++)
            hk_recover(self.params[j]);
        CHECK(hk_ok(hk_to_host(self.params[i], after, bytes)));
        CHECK(!memcmp(after, before, bytes));
    }
    hk_wait_all();
    hk_failures_clear();
    model_drop(&self);
    end(0);
}

/* Of two calls that fail on the device each is told of what it writes; a failed input keeps the graph from being launched. */
static void test_first_failure(void)
{
    begin(HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        const int64_t ones[] = {1, 1, 1}, mixed[] = {1, 0, 1};
        hk_array *good = hk_from_host(ones, hk_shape(3), HK_I64, gpu());
        hk_array *zero = hk_from_host(mixed, hk_shape(3), HK_I64, gpu());
        hk_array *first = hk_zeros(hk_shape(3), HK_I64, gpu()),
                 *second = hk_zeros(hk_shape(3), HK_I64, gpu());
        hk_capture_begin((hk_array *[]){good, first, second}, 3);
        int line = __LINE__ + 1;
        hk_divide_into(first, good, good);
        hk_divide_into(second, hk_add(good, good), good);
        hk_graph *graph = hk_capture_end(NULL);
        for (int i = 0; i < 4; i++)
            hk_replay(graph, (hk_array *[]){good, first, second}, 3);
        CHECK(hk_item(hk_max(second, NULL), NULL) == 2);
        for (int i = 0; i < 3; i++) {
            hk_replay(graph, (hk_array *[]){zero, first, second}, 3);
            CHECK_EQ_I64(hk_status_line(hk_wait(first)), line);
            CHECK_EQ_I64(hk_status_line(hk_wait(second)), line + 1);
            CHECK(strstr(hk_status_message(hk_wait(first)), "element [1]") != NULL);
        }
        /* `first` has failed: as an input, it fails what is computed from it by its own record. */
        hk_replay(graph, (hk_array *[]){first, hk_zeros(hk_shape(3), HK_I64, gpu()), second}, 3);
        CHECK_EQ_I64(hk_status_line(hk_wait(second)), line);
        hk_replay(graph, (hk_array *[]){good, first, second}, 3);
        CHECK(hk_item(hk_max(second, NULL), NULL) == 2);
        CHECK(hk_graph_get_facts(graph).recorded_replays > 0);
        hk_graph_release(graph);
    }
    end(6);
}

/* ---- who uses what ---------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 40, ARRAYS = 7, SIZE = 100 };

/* out = (x + 1) * 2 + x, through temporaries. */
static hk_graph *capture_small(void)
{
    HK_SCOPE;
    hk_array *x = numbers(hk_shape(SIZE), 1), *out = numbers(hk_shape(SIZE), 2);
    hk_capture_begin((hk_array *[]){x, out}, 2);
    {
        HK_SCOPE;
        hk_assign(out, hk_add(hk_multiply(hk_add(x, 1), 2), x));
    }
    return hk_capture_end(NULL);
}

static bool is_right(hk_array *x, hk_array *out)
{
    HK_SCOPE;
    float in[SIZE], of[SIZE];
    bool right = hk_ok(hk_to_host(x, in, sizeof in)) && hk_ok(hk_to_host(out, of, sizeof of));
    for (int i = 0; i < SIZE; i++)
        right = right && of[i] == (in[i] + 1) * 2 + in[i];
    return right;
}

/* NULL: something was wrong. */
static void *replay_often(void *argument)
{
    hk_graph *graph = argument;
    bool right = true;
    for (int i = 0; i < ROUNDS; i++) {
        HK_SCOPE;
        hk_array *x = numbers(hk_shape(SIZE), i);
        hk_array *out = hk_zeros(hk_shape(SIZE), HK_F32, gpu());
        hk_replay(graph, (hk_array *[]){x, out}, 2);
        right = is_right(x, out) && right;
    }
    return right ? graph : NULL;
}

/* Two threads have one graph, whose last count goes before its last replay has ended. */
static void test_threads(void)
{
    begin(HK_ENGINE_DEFAULT);
    hk_graph *graph = capture_small();
    pthread_t thread;
    void *result = NULL;
    CHECK(!pthread_create(&thread, NULL, replay_often, graph));
    {
        HK_SCOPE;
        hk_array *x = numbers(hk_shape(SIZE), 3);
        hk_array *out = hk_zeros(hk_shape(SIZE), HK_F32, gpu());
        for (int i = 0; i < ROUNDS; i++)
            hk_replay(graph, (hk_array *[]){x, out}, 2);
        pthread_join(thread, &result);
        CHECK(result != NULL);
        hk_replay(graph, (hk_array *[]){x, out}, 2);
        hk_graph_release(graph);
        CHECK(is_right(x, out));
    }
    end(0);
}

/* More sets of arrays than there are recordings, each often enough; views that begin elsewhere; arrays that are one. */
static void test_addresses(void)
{
    begin(HK_ENGINE_DEFAULT);
    hk_graph *graph = capture_small();
    {
        HK_SCOPE;
        hk_array *all = numbers(hk_shape(2 * SIZE), 5), *xs[ARRAYS], *outs[ARRAYS];
        for (int i = 0; i < ARRAYS; i++) {
            xs[i] = numbers(hk_shape(SIZE), i);
            outs[i] = hk_zeros(hk_shape(SIZE), HK_F32, gpu());
        }
        for (int i = 0; i < 3 * ARRAYS * ARRAYS; i++)
            hk_replay(graph, (hk_array *[]){xs[i % ARRAYS], outs[i / ARRAYS % ARRAYS]}, 2);
        for (int i = 0; i < ARRAYS; i++)
            CHECK(is_right(xs[ARRAYS - 1], outs[i]));
        for (int i = 0; i < 12; i++) {
            hk_array *x = hk_slice(all, 0, i % 4, i % 4 + SIZE);
            hk_replay(graph, (hk_array *[]){x, outs[0]}, 2);
            CHECK(is_right(x, outs[0]));
        }
        /* x is out: not what was captured, and done call by call. */
        hk_array *both = hk_multiply(xs[0], 1);
        hk_replay(graph, (hk_array *[]){both, both}, 2);
        hk_replay(graph, (hk_array *[]){xs[0], outs[0]}, 2);
        hk_replay(graph, (hk_array *[]){xs[0], outs[1]}, 2);
        CHECK(hk_item(hk_max(hk_abs(hk_subtract(both, outs[0])), NULL), NULL) == 0);
        CHECK(is_right(xs[0], outs[1]));
    }
    /* The graph outlives the runtime that it is of. */
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    hk_graph_release(graph);
}

/* A product whose left side has gaps, so that it is copied into the queue's workspace. */
static hk_array *product(int64_t side, hk_array *x)
{
    HK_SCOPE;
    hk_array *left = hk_broadcast_to(hk_slice(x, 0, 0, 1), hk_shape(side, side));
    return hk_take(hk_matmul(left, hk_broadcast_to(x, hk_shape(side, 1))));
}

/* A recording has the workspace's address: when that grows, it is made anew. Arrays do not matter here, so that bound ones
 * are none. */
static void test_workspace(void)
{
    begin(HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        hk_array *x = hk_reshape(numbers(hk_shape(1), 3), hk_shape(1, 1));
        hk_array *out = hk_zeros(hk_shape(20, 1), HK_F32, gpu());
        double one = hk_item(x, NULL), small = 20 * one * one, large = 700 * one * one;
        hk_capture_begin(NULL, 0);
        {
            HK_SCOPE;
            hk_array *y = product(20, x);
            hk_assign(out, hk_add(y, 0));
            hk_array_release(y);
        }
        hk_graph *graph = hk_capture_end(NULL);
        CHECK(hk_graph_get_facts(graph).tasks == 1);
        for (int i = 0; i < 9; i++) {
            hk_assign(out, hk_zeros(hk_shape(20, 1), HK_F32, gpu()));
            hk_replay(graph, NULL, 0);
            double got = hk_item(hk_max(out, NULL), NULL);
            CHECK(got > small - 1e-4 && got < small + 1e-4);
            if (i != 4)
                continue;
            hk_array *y = product(700, x);
            got = hk_item(hk_max(y, NULL), NULL);
            CHECK(got > large - 1e-2 && got < large + 1e-2);
            hk_array_release(y);
        }
        CHECK(hk_graph_get_facts(graph).recorded_replays >= 7);
        hk_graph_release(graph);
    }
    end(0);
}

/* What NVIDIA's libraries launch is recorded, too. */
static hk_array *layers(hk_array *x, hk_array *w, hk_array *b)
{
    const hk_max_pool2d_options pool = {.kernel = {2, 2}, .stride = {2, 2}};
    hk_array *y = hk_max_pool2d(hk_relu(hk_conv2d(x, w, b, NULL)), &pool);
    return hk_matmul(hk_reshape(y, hk_shape(2, 27)), hk_reshape(y, hk_shape(27, 2)));
}

static void test_layers(void)
{
    begin(HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        float expected[4], actual[4];
        hk_array *w = numbers(hk_shape(3, 1, 3, 3), 1), *b = numbers(hk_shape(3), 2);
        hk_array *x = numbers(hk_shape(2, 1, 8, 8), 0);
        hk_array *out = hk_zeros(hk_shape(2, 2), HK_F32, gpu());
        hk_capture_begin((hk_array *[]){x, out}, 2);
        {
            HK_SCOPE;
            hk_assign(out, layers(x, w, b));
        }
        hk_graph *graph = hk_capture_end(NULL);
        CHECK(hk_graph_get_facts(graph).tasks == 1);
        for (int i = 0; i < 6; i++) {
            hk_assign(x, numbers(hk_shape(2, 1, 8, 8), i));
            CHECK(hk_ok(hk_to_host(layers(x, w, b), expected, sizeof expected)));
            hk_replay(graph, (hk_array *[]){x, out}, 2);
            CHECK(hk_ok(hk_to_host(out, actual, sizeof actual)));
            CHECK(!memcmp(actual, expected, sizeof actual));
        }
        CHECK(hk_graph_get_facts(graph).recorded_replays == 5);
        hk_graph_release(graph);
    }
    end(0);
}

int main(void)
{
    test_training(HK_ENGINE_DEFAULT);
    test_training(HK_ENGINE_SERIAL);
    test_failing_label();
    for (int i = 0; i < 4; i++)
        test_known_labels(i / 2, i % 2);
    test_bad_batch(false);
    test_bad_batch(true);
    test_first_failure();
    test_threads();
    test_addresses();
    test_workspace();
    test_layers();
    return check_result();
}
