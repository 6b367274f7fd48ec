/* What calls cost on a GPU beside its kernels, and what it does at once.
 *
 *     bench_gpu [--repeat N] [--short] [--json]
 *
 * issue     additions one after another, of so few elements that nothing but launching counts: nanoseconds a call until all
 *           are issued, and until all are done; issued as calls, and as replays of a captured step. And of those that are all
 *           issued before the first of them can begin: from then on until all are done
 * idle      what a replay takes longer than its calls: of a step of products, replayed often, against one replay of as many,
 *           bound to other arrays each time; microseconds a step, in which the GPU has nothing to do
 * kernel    calls of one operator on large arrays, one behind the other: microseconds a call, with the bytes that it has to
 *           move and the operations that it has to do, for bench/gpu, which knows what the GPU can
 * parallel  products on two devices that are parts of one GPU, against the same products on one of them
 * overlap   products beside copies from pinned memory to the device, against one after the other
 *
 * The sides of a comparison take turns; median (min…max). --short: small sizes, to see that it runs. --json: one line of
 * JSON for each figure. Exit status 77 where there is no GPU. */
#include "bench_util.h"

#include <hocket/hocket.h>
#include <stdio.h>
#include <string.h>

enum { MAX_REPEAT = 1000, NO_GPU = 77, PARTS = 2 };

typedef struct bench {
    int repeat;
    bool is_json;
    int calls, rounds;     /* issue: calls of a step, steps of a run */
    int side, products;    /* parallel and overlap: of square matrices; of a run */
    int64_t copy_elements; /* overlap */
    int copies;
    int scale, kernel_calls; /* kernels: 16 for large arrays; of a run */
    hk_device devices[PARTS];
} bench;

typedef double (*measure_fn)(const bench *self, void *what);

static void print_figure(const bench *self, const char *what, const char *unit, double *values)
{
    bench_spread spread = bench_spread_of(values, self->repeat);
    if (self->is_json)
        printf("{\"what\": \"%s\", \"unit\": \"%s\", \"median\": %.9g, \"min\": %.9g, \"max\": "
               "%.9g}\n",
               what, unit, spread.median, spread.min, spread.max);
    else
        printf("%-52s %10.4g (%.4g…%.4g) %s\n", what, spread.median, spread.min, spread.max, unit);
    fflush(stdout);
}

/* Microseconds of what moves and does so much. */
static void print_work(const bench *self, const char *what, double *values, double bytes,
                       double operations)
{
    if (!self->is_json) {
        print_figure(self, what, "us", values);
        return;
    }
    bench_spread spread = bench_spread_of(values, self->repeat);
    printf("{\"what\": \"%s\", \"unit\": \"us\", \"median\": %.9g, \"min\": %.9g, \"max\": %.9g, "
           "\"bytes\": %.9g, \"operations\": %.9g, \"scale\": %d}\n",
           what, spread.median, spread.min, spread.max, bytes, operations, self->scale);
    fflush(stdout);
}

/* Times of several sides that take turns; the first rounds warm up. */
static void take_turns(const bench *self, measure_fn const *measures, void *what, int count,
                       double values[][MAX_REPEAT])
{
    for (int i = -3; i < self->repeat; i++)
        for (int j = 0; j < count; j++)
            values[j][i < 0 ? 0 : i] = measures[j](self, what);
}

/* ---- issue ------------------------------------------------------------------------------------------------- */

enum { ISSUES = 6, SIZE = 1024 };

typedef struct additions {
    hk_array *x, *one;
    hk_array *held_by; /* square, on a CPU device */
    hk_graph *graph;
} additions;

static void add_often(const bench *self, const additions *what)
{
    HK_SCOPE;
    hk_array *y = what->x;
    for (int i = 0; i < self->calls - 1; i++) {
        hk_array *next = hk_add(y, what->one);
        if (i)
            hk_array_release(hk_take(y));
        y = next;
    }
    hk_add_into(what->x, y, what->one);
}

/* Nanoseconds of a call. */
static double issue(const bench *self, const additions *what, bool replays, bool waits)
{
    hk_wait_all();
    double begin = bench_seconds(), end;
    for (int i = 0; i < self->rounds; i++) {
        if (replays)
            hk_replay(what->graph, NULL, 0);
        else
            add_often(self, what);
    }
    end = bench_seconds();
    hk_wait_all();
    return ((waits ? bench_seconds() : end) - begin) * 1e9 / self->rounds / self->calls;
}

static double calls_issued(const bench *self, void *what)
{
    return issue(self, what, false, false);
}

static double calls_done(const bench *self, void *what)
{
    return issue(self, what, false, true);
}

static double replays_issued(const bench *self, void *what)
{
    return issue(self, what, true, false);
}

static double replays_done(const bench *self, void *what)
{
    return issue(self, what, true, true);
}

/* Of calls that all wait for a product of a CPU device, which ends later than they are issued. */
static double launched(const bench *self, const additions *what, bool replays)
{
    HK_SCOPE;
    const int rounds = self->rounds / 4 + 1;
    hk_array *product = hk_matmul(what->held_by, what->held_by);
    hk_assign(what->x, hk_index(product, 0, 0));
    for (int i = 0; i < rounds; i++) {
        if (replays)
            hk_replay(what->graph, NULL, 0);
        else
            add_often(self, what);
    }
    hk_wait(product);
    double begin = bench_seconds();
    hk_wait_all();
    return (bench_seconds() - begin) * 1e9 / rounds / self->calls;
}

static double calls_launched(const bench *self, void *what)
{
    return launched(self, what, false);
}

static double replays_launched(const bench *self, void *what)
{
    return launched(self, what, true);
}

static void bench_issue(const bench *self)
{
    static const measure_fn measures[ISSUES] = {calls_issued, calls_done,     replays_issued,
                                                replays_done, calls_launched, replays_launched};
    static const char *const names[ISSUES] = {
        "issue: a call, until issued",
        "issue: a call, until done",
        "issue: a call of a replay, until issued",
        "issue: a call of a replay, until done",
        "issue: a call that was held back, until done",
        "issue: a call of a replay that was held back, until done"};
    static double values[ISSUES][MAX_REPEAT];
    HK_SCOPE;
    additions what = {.x = hk_zeros(hk_shape(SIZE), HK_F32, self->devices[0]),
                      .one = hk_ones(hk_shape(SIZE), HK_F32, self->devices[0]),
                      .held_by = hk_ones(hk_shape(SIZE, SIZE), HK_F32, hk_device_default())};
    hk_capture_begin(NULL, 0);
    add_often(self, &what);
    what.graph = hk_capture_end(NULL);
    hk_status_print(hk_graph_status(what.graph), stderr);
    take_turns(self, measures, &what, ISSUES, values);
    for (int i = 0; i < ISSUES; i++)
        print_figure(self, names[i], "ns", values[i]);
    hk_graph_release(what.graph);
}

/* ---- idle ---------------------------------------------------------------------------------------------------- */

enum { STEP_PRODUCTS = 8, IDLE_STEPS = 50 };

typedef struct steps {
    hk_array *given[2], *out;
    hk_graph *one, *many; /* a step; as many as are replayed, as one */
} steps;

static hk_graph *capture_products(steps *what, int count)
{
    hk_capture_begin(&what->given[0], 1);
    for (int i = 0; i < count; i++)
        hk_call_into("matmul", what->out, (hk_array *[]){what->given[0], what->given[0]}, 2, NULL);
    return hk_capture_end(NULL);
}

static double replay_steps(const steps *what, hk_graph *graph, int count)
{
    hk_wait_all();
    double begin = bench_seconds();
    for (int i = 0; i < count; i++)
        hk_replay(graph, (hk_array *[]){what->given[i % 2]}, 1);
    hk_wait_all();
    return (bench_seconds() - begin) * 1e6 / IDLE_STEPS;
}

static double many_steps(const bench *self, void *what)
{
    (void)self;
    return replay_steps(what, ((steps *)what)->one, IDLE_STEPS);
}

static double one_step(const bench *self, void *what)
{
    (void)self;
    return replay_steps(what, ((steps *)what)->many, 1);
}

static void bench_idle(const bench *self)
{
    static double values[2][MAX_REPEAT], idle[MAX_REPEAT];
    HK_SCOPE;
    hk_dims square = hk_shape(self->side, self->side);
    steps what = {.out = hk_zeros(square, HK_F32, self->devices[0])};
    for (int i = 0; i < 2; i++)
        what.given[i] = hk_random_normal(square, HK_F32, self->devices[0]);
    what.one = capture_products(&what, STEP_PRODUCTS);
    what.many = capture_products(&what, STEP_PRODUCTS * IDLE_STEPS);
    hk_status_print(hk_graph_status(what.one), stderr);
    hk_status_print(hk_graph_status(what.many), stderr);
    take_turns(self, (const measure_fn[]){many_steps, one_step}, &what, 2, values);
    for (int i = 0; i < self->repeat; i++)
        idle[i] = values[0][i] - values[1][i];
    print_figure(self, "idle: a step of eight products", "us", values[0]);
    print_figure(self, "idle: between steps", "us", idle);
    hk_graph_release(what.one);
    hk_graph_release(what.many);
}

/* ---- kernels ------------------------------------------------------------------------------------------------- */

enum { MAX_OPERANDS = 3 };

typedef struct kernel {
    const char *name;
    hk_dims shapes[MAX_OPERANDS]; /* of operands that are there; rows of labels are never */
    void (*call)(hk_array *const *operands);
    double bytes, operations; /* that it moves; that it does */
    int64_t places;           /* the second operand is of whole numbers below that; 0: of floats */
    hk_array *operands[MAX_OPERANDS];
} kernel;

static void call_copy(hk_array *const *x)
{
    hk_assign(x[1], x[0]);
}

static void call_add(hk_array *const *x)
{
    hk_add_into(x[2], x[0], x[1]);
}

static void call_sum(hk_array *const *x)
{
    hk_sum(x[0], NULL);
}

static void call_softmax(hk_array *const *x)
{
    hk_softmax(x[0], 1);
}

static void call_batch_norm(hk_array *const *x)
{
    hk_batch_norm(x[0], x[1], x[2], NULL, NULL, NULL);
}

static void call_product(hk_array *const *x)
{
    hk_matmul(x[0], x[1]);
}

static void call_convolution(hk_array *const *x)
{
    hk_conv2d(x[0], x[1], NULL, &(hk_conv2d_options){.padding = {1, 1}});
}

static void call_layer_norm(hk_array *const *x)
{
    hk_layer_norm(x[0], x[1], x[2], NULL);
}

static void call_cumulative_sum(hk_array *const *x)
{
    hk_cumulative_sum(x[0], 1);
}

static void call_sort(hk_array *const *x)
{
    hk_sort(x[0], 1, false);
}

static void call_gather(hk_array *const *x)
{
    hk_index_select(x[0], x[1], 0);
}

static double time_kernel(const bench *self, void *what)
{
    const kernel *its = what;
    hk_wait_all();
    double begin = bench_seconds();
    for (int i = 0; i < self->kernel_calls; i++) {
        HK_SCOPE;
        its->call(its->operands);
    }
    hk_wait_all();
    return (bench_seconds() - begin) * 1e6 / self->kernel_calls;
}

static void bench_kernel(const bench *self, kernel *its)
{
    static double values[1][MAX_REPEAT];
    char name[64];
    HK_SCOPE;
    for (int i = 0; i < MAX_OPERANDS; i++)
        if (its->shapes[i].ndim > 0)
            its->operands[i] =
                i == 1 && its->places
                    ? hk_random_int(0, its->places, its->shapes[i], HK_I64, self->devices[0])
                    : hk_random_normal(its->shapes[i], HK_F32, self->devices[0]);
    take_turns(self, (const measure_fn[]){time_kernel}, its, 1, values);
    snprintf(name, sizeof name, "kernel: %s", its->name);
    print_work(self, name, values[0], its->bytes, its->operations);
}

/* float32 of 4 bytes each; a whole array is read, or written, once. The same shapes as in gpu_pytorch.py. */
static void bench_kernels(const bench *self)
{
    const int64_t s = self->scale, all = s * 1024 * 1024, rows = s < 16 ? 64 : 1024 * s,
                  images = s * 4, width = s < 16 ? 14 : 56;
    const double elements = (double)all, lines = (double)(rows * 1024),
                 pixels = (double)(images * 64 * width * width), side = (double)(s * 256);
    kernel kernels[] = {
        {"copy", {hk_shape(all), hk_shape(all)}, call_copy, 8 * elements, 0, 0, {NULL}},
        {"add",
         {hk_shape(all), hk_shape(all), hk_shape(all)},
         call_add,
         12 * elements,
         elements,
         0,
         {NULL}},
        {"sum", {hk_shape(all)}, call_sum, 4 * elements, elements, 0, {NULL}},
        {"softmax", {hk_shape(rows, 1024)}, call_softmax, 8 * lines, 5 * lines, 0, {NULL}},
        {"batch norm",
         {hk_shape(images, 64, width, width), hk_shape(64), hk_shape(64)},
         call_batch_norm,
         8 * pixels,
         8 * pixels,
         0,
         {NULL}},
        {"product",
         {hk_shape(s * 256, s * 256), hk_shape(s * 256, s * 256)},
         call_product,
         12 * side * side,
         2 * side * side * side,
         0,
         {NULL}},
        {"convolution",
         {hk_shape(images, 64, width, width), hk_shape(64, 64, 3, 3)},
         call_convolution,
         8 * pixels,
         2 * 64 * 9 * pixels,
         0,
         {NULL}},
        {"layer norm",
         {hk_shape(rows, 1024), hk_shape(1024), hk_shape(1024)},
         call_layer_norm,
         8 * lines,
         8 * lines,
         0,
         {NULL}},
        {"cumulative sum",
         {hk_shape(rows, 1024)},
         call_cumulative_sum,
         8 * lines,
         lines,
         0,
         {NULL}},
        {"sort", {hk_shape(rows, 1024)}, call_sort, 8 * lines, 10 * lines, 0, {NULL}},
        {"gather", {hk_shape(rows, 1024), hk_shape(rows)}, call_gather, 8 * lines, 0, rows, {NULL}},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        bench_kernel(self, &kernels[i]);
}

/* ---- parallel and overlap ------------------------------------------------------------------------------------ */

/* By parts: matrices, and what is copied there. */
typedef struct products {
    hk_array *a[PARTS], *out[PARTS];
    hk_array *source, *target;
} products;

static void multiply(const products *what, int part, int count)
{
    for (int i = 0; i < count; i++)
        hk_call_into("matmul", what->out[part], (hk_array *[]){what->a[part], what->a[part]}, 2,
                     NULL);
}

static void copy(const bench *self, const products *what)
{
    for (int i = 0; i < self->copies; i++)
        hk_assign(what->target, what->source);
}

static double since(double begin)
{
    hk_wait_all();
    return (bench_seconds() - begin) * 1e3;
}

static double on_one(const bench *self, void *what)
{
    double begin = bench_seconds();
    multiply(what, 0, self->products);
    return since(begin);
}

static double on_two(const bench *self, void *what)
{
    double begin = bench_seconds();
    for (int i = 0; i < PARTS; i++)
        multiply(what, i, self->products / PARTS);
    return since(begin);
}

static double copies_alone(const bench *self, void *what)
{
    double begin = bench_seconds();
    copy(self, what);
    return since(begin);
}

static double both(const bench *self, void *what)
{
    double begin = bench_seconds();
    multiply(what, 0, self->products);
    copy(self, what);
    return since(begin);
}

static void bench_products(const bench *self)
{
    static const measure_fn measures[] = {on_one, on_two, copies_alone, both};
    static const char *const names[] = {
        "parallel: products on one device", "parallel: half of them on each of two",
        "overlap: copies to the device, alone", "overlap: products and copies"};
    static double values[4][MAX_REPEAT], ratios[2][MAX_REPEAT];
    HK_SCOPE;
    products what;
    hk_dims square = hk_shape(self->side, self->side);
    for (int i = 0; i < PARTS; i++) {
        what.a[i] = hk_random_normal(square, HK_F32, self->devices[i]);
        what.out[i] = hk_zeros(square, HK_F32, self->devices[i]);
    }
    what.source = hk_pin(hk_ones(hk_shape(self->copy_elements), HK_F32, hk_device_default()));
    what.target = hk_zeros(hk_shape(self->copy_elements), HK_F32, self->devices[0]);
    hk_status_print(hk_wait_all(), stderr);
    take_turns(self, measures, &what, 4, values);
    for (int i = 0; i < self->repeat; i++) {
        ratios[0][i] = values[0][i] / values[1][i];
        ratios[1][i] = (values[0][i] + values[2][i]) / values[3][i];
    }
    for (int i = 0; i < 4; i++)
        print_figure(self, names[i], "ms", values[i]);
    print_figure(self, "parallel: one device / two", "times", ratios[0]);
    print_figure(self, "overlap: one after the other / at once", "times", ratios[1]);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static bool find_devices(bench *self)
{
    static const char *const names[PARTS] = {"cuda:0/0", "cuda:0/1"};
    hk_runtime_init(&(hk_runtime_options){.cuda = "0/2"});
    for (int i = 0; i < PARTS; i++) {
        self->devices[i] = hk_device_named(names[i]);
        if (!hk_ok(hk_device_status(self->devices[i]))) {
            fprintf(stderr, "There is no GPU to measure: %s\n%s\n",
                    hk_status_message(hk_device_status(self->devices[i])), hk_cuda_describe());
            return false;
        }
    }
    if (self->is_json)
        printf("{\"device\": \"%s\"}\n", hk_device_description(self->devices[0]));
    else
        printf("%s\n", hk_device_description(self->devices[0]));
    return true;
}

static bool parse(bench *self, int count, char **arguments)
{
    *self = (bench){.repeat = 15,
                    .calls = 100,
                    .rounds = 100,
                    .side = 512,
                    .products = 400,
                    .copy_elements = 4 << 20,
                    .copies = 10,
                    .scale = 16,
                    .kernel_calls = 20};
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--json")) {
            self->is_json = true;
        } else if (!strcmp(arguments[i], "--short")) {
            self->calls = 20, self->rounds = 3, self->side = 64, self->products = 4;
            self->copy_elements = 1 << 16, self->copies = 2;
            self->scale = 1, self->kernel_calls = 1;
        } else {
            self->repeat =
                !strcmp(arguments[i], "--repeat") && i + 1 < count ? atoi(arguments[++i]) : 0;
        }
    }
    return self->repeat >= 1 && self->repeat <= MAX_REPEAT;
}

int main(int count, char **arguments)
{
    bench self;
    if (!parse(&self, count, arguments)) {
        fprintf(stderr, "usage: bench_gpu [--repeat N] [--short] [--json]   N from 1 to %d\n",
                MAX_REPEAT);
        return 2;
    }
    bool found = find_devices(&self);
    if (found) {
        bench_issue(&self);
        bench_idle(&self);
        bench_kernels(&self);
        bench_products(&self);
    }
    bool good = !found || !hk_status_print(hk_wait_all(), stderr);
    hk_runtime_deinit();
    return !found ? NO_GPU : !good;
}
