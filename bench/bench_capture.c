/* What a call costs when it is issued, and when a replay does it again: a thousand additions one after another,
 * and training steps of a small perceptron and of LeNet on one image.
 *
 *     bench_capture [--repeat N]
 *
 * Both do the same work, so that the difference is what issuing costs: checks, shapes, handles, the tape. First until
 * all is done, where small calls run in the thread that issues them; then until all is issued, where none do. Issuing
 * and replaying take turns; nanoseconds a call, median (min…max). */
#include "bench_util.h"

#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDS = 1000, WINDOW = 1000, MAX_REPEAT = 1000, PARAMS = 8, WORKS = 4 };

typedef struct work {
    const char *name;
    hk_array *bound[2]; /* x, labels; or x and what is added to it */
    hk_array *params[PARAMS];
    void (*step)(struct work *self);
} work;

static void add_step(work *self)
{
    HK_SCOPE;
    hk_array *y = self->bound[0];
    for (int i = 0; i < ADDS - 1; i++) {
        hk_array *next = hk_add(y, self->bound[1]);
        if (i)
            hk_array_release(hk_take(y));
        y = next;
    }
    hk_add_into(self->bound[0], y, self->bound[1]);
}

static void adds_init(work *self, int64_t size)
{
    self->bound[0] = hk_take(hk_zeros(hk_shape(size), HK_F32, hk_device_default()));
    self->bound[1] = hk_take(hk_ones(hk_shape(size), HK_F32, hk_device_default()));
    self->step = add_step;
}

static void perceptron_step(work *self)
{
    HK_SCOPE;
    hk_array **p = self->params;
    hk_record_begin();
    hk_array *h = hk_relu(hk_linear(self->bound[0], p[0], p[1]));
    hk_array *loss =
        hk_mean(hk_softmax_cross_entropy(hk_linear(h, p[2], p[3]), self->bound[1]), NULL);
    hk_record_end();
    hk_backward(loss);
    hk_sgd(p, 4, &(hk_sgd_options){.lr = 0.01});
}

static void lenet_step(work *self)
{
    HK_SCOPE;
    hk_array **p = self->params;
    const hk_max_pool2d_options pool = {.kernel = {2, 2}, .stride = {2, 2}};
    hk_record_begin();
    hk_array *h = hk_max_pool2d(hk_tanh(hk_conv2d(self->bound[0], p[0], p[1], NULL)), &pool);
    h = hk_max_pool2d(hk_tanh(hk_conv2d(h, p[2], p[3], NULL)), &pool);
    h = hk_tanh(hk_linear(hk_reshape(h, hk_shape(1, 800)), p[4], p[5]));
    hk_array *loss =
        hk_mean(hk_softmax_cross_entropy(hk_linear(h, p[6], p[7]), self->bound[1]), NULL);
    hk_record_end();
    hk_backward(loss);
    hk_sgd(p, PARAMS, &(hk_sgd_options){.lr = 0.01});
}

static void params_init(work *self, const hk_dims *shapes, int count)
{
    HK_SCOPE;
    for (int i = 0; i < count; i++) {
        self->params[i] =
            hk_take(hk_multiply(hk_random_normal(shapes[i], HK_F32, hk_device_default()), 0.1));
        hk_attach_grad(self->params[i], HK_GRAD_WRITE);
    }
}

static void perceptron_init(work *self)
{
    const hk_dims shapes[] = {hk_shape(32, 16), hk_shape(32), hk_shape(10, 32), hk_shape(10)};
    params_init(self, shapes, 4);
    self->bound[0] = hk_take(hk_random_normal(hk_shape(8, 16), HK_F32, hk_device_default()));
    self->bound[1] = hk_take(hk_zeros(hk_shape(8), HK_I64, hk_device_default()));
    self->step = perceptron_step;
}

static void lenet_init(work *self)
{
    const hk_dims shapes[] = {hk_shape(20, 1, 5, 5), hk_shape(20),       hk_shape(50, 20, 5, 5),
                              hk_shape(50),          hk_shape(500, 800), hk_shape(500),
                              hk_shape(10, 500),     hk_shape(10)};
    params_init(self, shapes, PARAMS);
    self->bound[0] = hk_take(hk_random_normal(hk_shape(1, 1, 28, 28), HK_F32, hk_device_default()));
    self->bound[1] = hk_take(hk_zeros(hk_shape(1), HK_I64, hk_device_default()));
    self->step = lenet_step;
}

/* Nanoseconds of a call, of as many steps as may be unfinished at a time. */
static double run(work *self, hk_graph *graph, bool waits, int64_t calls)
{
    int rounds = (int)(WINDOW / calls);
    hk_wait_all();
    double begin = bench_seconds();
    for (int i = 0; i < rounds; i++) {
        if (graph)
            hk_replay(graph, self->bound, 2);
        else
            self->step(self);
    }
    if (waits)
        hk_wait_all();
    return (bench_seconds() - begin) * 1e9 / rounds / (double)calls;
}

static void compare(work *self, bool waits, int repeat)
{
    static double issued[MAX_REPEAT], replayed[MAX_REPEAT];
    hk_capture_begin(self->bound, 2);
    self->step(self);
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = true});
    int64_t calls = hk_graph_get_facts(graph).calls;
    hk_status_print(hk_graph_status(graph), stderr);
    for (int i = -2; i < repeat; i++) { /* the first ones warm up */
        issued[i < 0 ? 0 : i] = run(self, NULL, waits, calls);
        replayed[i < 0 ? 0 : i] = run(self, graph, waits, calls);
    }
    bench_spread a = bench_spread_of(issued, repeat), b = bench_spread_of(replayed, repeat);
    printf("%-21s %5d  %6.0f (%5.0f…%6.0f)   %6.0f (%5.0f…%6.0f)   %.2f\n", self->name, (int)calls,
           a.median, a.min, a.max, b.median, b.min, b.max, b.median / a.median);
    hk_graph_release(graph);
}

static void compare_all(bool waits, int repeat)
{
    work works[WORKS] = {{.name = "additions of 4"},
                         {.name = "additions of 256"},
                         {.name = "perceptron, 8 samples"},
                         {.name = "LeNet, one image"}};
    hk_runtime_init(&(hk_runtime_options){.inline_ns = waits ? 0 : -1});
    adds_init(&works[0], 4);
    adds_init(&works[1], 256);
    perceptron_init(&works[2]);
    lenet_init(&works[3]);
    printf("%-21s %5s  %-22s   %-22s   ratio\n", waits ? "until done" : "until issued", "calls",
           "issued", "replayed");
    for (int i = 0; i < WORKS; i++) {
        compare(&works[i], waits, repeat);
        for (int j = 0; j < 2; j++)
            hk_array_release(works[i].bound[j]);
        for (int j = 0; j < PARAMS; j++)
            hk_array_release(works[i].params[j]);
    }
    hk_status_print(hk_wait_all(), stderr);
    hk_runtime_deinit();
}

int main(int count, char **arguments)
{
    int repeat = 15;
    for (int i = 1; i < count; i++)
        repeat = !strcmp(arguments[i], "--repeat") && i + 1 < count ? atoi(arguments[++i]) : 0;
    if (repeat < 1 || repeat > MAX_REPEAT) {
        fprintf(stderr, "usage: bench_capture [--repeat N]   N from 1 to %d\n", MAX_REPEAT);
        return 2;
    }
    compare_all(true, repeat);
    compare_all(false, repeat);
    return 0;
}
