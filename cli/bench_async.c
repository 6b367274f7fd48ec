/* hocket bench async: what it costs to issue a call, to wait, and to wait too often. The book's "Asynchronous
 * Computation". */
#include "experiment.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPEAT = 1000, PRODUCTS = 10 };

/* The book's figures: those printed in its MXNet edition, on a CPU of the book's build machine. */
#define BOOK "book: MXNet, CPU"
enum { BOOK_SIZE = 1000, BOOK_COUNT = 10000 };

typedef struct async_options {
    experiment_options common;
    int64_t size, count;
} async_options;

static const option_row rows[] = {
    OPTION_INT_ROW("size", async_options, size, 1, 20000,
                   "rows and columns of the matrices (default 1000)"),
    OPTION_INT_ROW("count", async_options, count, 1, 1000000,
                   "calls of y = x + 1, synchronised or not (default 10000)"),
    EXPERIMENT_ROWS(async_options),
};

typedef struct async_run {
    async_options options;
    experiment *report;
    double values[8][MAX_REPEAT]; /* of measurements, by repetition */
} async_run;

static double seconds_since(int64_t begin_ns)
{
    return 1e-9 * (double)(hk_clock_ns() - begin_ns);
}

/* ---- the matrix product ---------------------------------------------------------------------------- */

static void issue_products(const async_run *self)
{
    HK_SCOPE;
    int64_t n = self->options.size;
    for (int i = 0; i < PRODUCTS; i++) {
        hk_array *a = hk_random_normal(hk_shape(n, n), HK_F32, hk_device_default());
        hk_matmul(a, a);
    }
}

static void trace_products(void *self)
{
    issue_products(self);
}

static void measure_product(async_run *self)
{
    int repeat = (int)self->options.common.repeat;
    double *issued = self->values[0], *done = self->values[1], *part = self->values[2];
    char title[100];
    snprintf(title, sizeof title,
             "%d random matrices %" PRId64 " x %" PRId64 ", each multiplied by itself", PRODUCTS,
             self->options.size, self->options.size);
    experiment_section(self->report, title);
    if (!experiment_runtime_begin(self->report, NULL))
        return;
    issue_products(self);
    hk_wait_all();
    for (int i = 0; i < repeat; i++) {
        int64_t begin_ns = hk_clock_ns();
        issue_products(self);
        issued[i] = 1e3 * seconds_since(begin_ns);
        hk_wait_all();
        done[i] = 1e3 * seconds_since(begin_ns);
        part[i] = issued[i] / done[i];
    }
    experiment_trace(self->report, trace_products, self);
    experiment_runtime_end(self->report);
    bool is_book = self->options.size == BOOK_SIZE;
    experiment_row(self->report, "until all are issued", spread_of(issued, repeat), "ms",
                   is_book ? 28.2 : NAN, NAN, is_book ? BOOK : "");
    experiment_row(self->report, "until all are done", spread_of(done, repeat), "ms",
                   is_book ? 663.6 : NAN, NAN, is_book ? BOOK "; NumPy 1421.7" : "");
    experiment_claim(self->report, "issuing takes a small part of the time",
                     spread_of(part, repeat).median, "<=", 0.1, NULL, 0);
}

/* ---- blockers -------------------------------------------------------------------------------------- */

typedef void block_fn(hk_array *first, hk_array *last, float *memory);

static void block_wait_all(hk_array *first, hk_array *last, float *memory)
{
    (void)first, (void)last, (void)memory;
    hk_wait_all();
}

static void block_wait(hk_array *first, hk_array *last, float *memory)
{
    (void)last, (void)memory;
    hk_wait(first);
}

static void block_wait_last(hk_array *first, hk_array *last, float *memory)
{
    (void)first, (void)memory;
    hk_wait(last);
}

static void block_to_host(hk_array *first, hk_array *last, float *memory)
{
    (void)last;
    hk_to_host(first, memory, (size_t)hk_size(first) * sizeof *memory);
}

static void block_item(hk_array *first, hk_array *last, float *memory)
{
    (void)last, (void)memory;
    hk_item(hk_sum(first, NULL), NULL);
}

static const struct {
    const char *what;
    block_fn *block;
    double book_ms; /* after one product */
} blockers[] = {
    {"hk_wait_all()", block_wait_all, 4.8},         {"hk_wait(first)", block_wait, 5.2},
    {"hk_to_host(first, ...)", block_to_host, 7.1}, {"hk_item(hk_sum(first))", block_item, 18.7},
    {"hk_wait(last)", block_wait_last, NAN},
};
enum { BLOCKER_COUNT = sizeof blockers / sizeof *blockers };

/* The milliseconds that it takes to issue `count` products and to get past a blocker. */
static double time_blocker(hk_array *x, int count, block_fn *block, float *memory)
{
    HK_SCOPE;
    int64_t begin_ns = hk_clock_ns();
    hk_array *first = hk_matmul(x, x), *last = first;
    for (int i = 1; i < count; i++)
        last = hk_matmul(x, x);
    block(first, last, memory);
    double seconds = seconds_since(begin_ns);
    hk_wait_all();
    return 1e3 * seconds;
}

static void measure_blockers(async_run *self, int count)
{
    int repeat = (int)self->options.common.repeat;
    int64_t n = self->options.size;
    float *memory = malloc((size_t)(n * n) * sizeof *memory);
    char title[100];
    snprintf(title, sizeof title, "Blockers, after %d product%s", count, count == 1 ? "" : "s");
    experiment_section(self->report, title);
    if (!memory || !experiment_runtime_begin(self->report, NULL)) {
        free(memory);
        return;
    }
    {
        HK_SCOPE;
        hk_array *x = hk_random_normal(hk_shape(n, n), HK_F32, hk_device_default());
        time_blocker(x, count, block_wait_all, memory);
        for (int i = 0; i < repeat; i++)
            for (int j = 0; j < BLOCKER_COUNT; j++)
                self->values[j][i] = time_blocker(x, count, blockers[j].block, memory);
    }
    experiment_runtime_end(self->report);
    free(memory);
    for (int j = 0; j < BLOCKER_COUNT; j++) {
        bool is_book = count == 1 && self->options.size == BOOK_SIZE && !isnan(blockers[j].book_ms);
        experiment_row(self->report, blockers[j].what, spread_of(self->values[j], repeat), "ms",
                       is_book ? blockers[j].book_ms : NAN, NAN, is_book ? BOOK : "");
    }
    if (count == 1)
        return;
    experiment_say(self->report, "Who waits for one array does not wait for the %d others.",
                   count - 1);
    experiment_claim(self->report, "hk_wait(first) against hk_wait_all()",
                     spread_of(self->values[1], repeat).median /
                         spread_of(self->values[0], repeat).median,
                     "<=", 0.5, NULL, 0);
}

/* ---- y = x + 1, many times ------------------------------------------------------------------------- */

/* A front end and a back end. */
typedef struct async_case {
    const char *title, *device;
    int64_t elements; /* of x */
    hk_runtime_options runtime;
    bool is_claimed; /* that asynchronous calls take what the model says, and gain */
    bool is_book;    /* it is the book's own: x has two elements, on a CPU */
} async_case;

static const hk_sim_options accelerator = {.launch_ns = 50000};

static const async_case cases[] = {
    {.title = "an accelerator that takes 50 us to launch a call (simulated); x of 2 elements",
     .device = "sim:0",
     .elements = 2,
     .runtime = {.cpu_cores = 1, .sim = &accelerator, .sim_count = 1},
     .is_claimed = true},
    {.title = "another core; x of 65536 elements",
     .device = "cpu:0",
     .elements = 65536,
     .runtime = {.cpu_cores = 1, .inline_ns = -1}},
    {.title = "another core; x of 2 elements",
     .device = "cpu:0",
     .elements = 2,
     .runtime = {.cpu_cores = 1, .inline_ns = -1},
     .is_book = true},
    {.title = "a core, by default: what is shorter than handing it over runs in the caller; x of "
              "2 elements",
     .device = "cpu:0",
     .elements = 2,
     .runtime = {.cpu_cores = 1},
     .is_book = true},
};
enum { CASE_COUNT = sizeof cases / sizeof *cases };

/* The book's model, in seconds: t1 to issue a call, t2 to compute it, t3 to learn of the result. */
typedef struct async_model {
    double t1, t2, t3;
    bool is_inline; /* calls ran in who issued them: there is no back end */
} async_model;

static double predict_synchronised(const async_model *self, double count)
{
    return count * (self->t1 + self->t2 + self->t3);
}

/* t1 + count t2 + t3 where the back end is the slower one, as the book assumes. */
static double predict_asynchronous(const async_model *self, double count)
{
    return fmax(self->t1 + count * self->t2, count * self->t1 + self->t2) + self->t3;
}

static void issue_additions(hk_array *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        HK_SCOPE;
        hk_add(x, 1);
    }
}

static double run_synchronised(hk_array *x, int64_t count, timing *time)
{
    timing_begin(time);
    for (int64_t i = 0; i < count; i++) {
        HK_SCOPE;
        hk_wait(hk_add(x, 1));
    }
    timing_end(time);
    return 1e3 * timing_seconds(time);
}

static double run_asynchronous(hk_array *x, int64_t count, timing *time)
{
    timing_begin(time);
    issue_additions(x, count);
    timing_end(time);
    return 1e3 * timing_seconds(time);
}

/* Fits the model, apart from the runs that it is to predict. t1: of calls issued in a burst. t2: of calls that have
 * queued up behind a product, from when that has finished. t3: what is left of calls each of which is waited for. */
static async_model fit(hk_array *x, hk_array *busy)
{
    enum { CALLS = 3000, TRIES = 5, SINGLES = 1000 };
    double t1[TRIES], t2[TRIES], singles = 0;
    uint64_t inline_calls = hk_runtime_get_internals().inline_calls;
    for (int i = 0; i < TRIES; i++) {
        HK_SCOPE;
        int64_t begin_ns = hk_clock_ns();
        issue_additions(x, CALLS);
        t1[i] = seconds_since(begin_ns) / CALLS;
        hk_wait_all();
        hk_array *product = hk_matmul(busy, busy);
        issue_additions(x, CALLS);
        hk_wait(product);
        begin_ns = hk_clock_ns();
        hk_wait_all();
        t2[i] = seconds_since(begin_ns) / CALLS;
    }
    inline_calls = hk_runtime_get_internals().inline_calls - inline_calls;
    for (int i = 0; i < SINGLES; i++) {
        HK_SCOPE;
        int64_t begin_ns = hk_clock_ns();
        hk_wait(hk_add(x, 1));
        singles += seconds_since(begin_ns);
    }
    async_model model = {.t1 = spread_of(t1, TRIES).median,
                         .t2 = spread_of(t2, TRIES).median,
                         .is_inline = inline_calls > TRIES * CALLS};
    model.t3 = fmax(0, singles / SINGLES - model.t1 - model.t2);
    return model;
}

static const char *verdict(const async_model *model, double count)
{
    if (model->is_inline)
        return "There is no back end: calls ran in who issued them, t1 is all of it, and the time "
               "is N t1.";
    if (count * model->t2 > (count - 1) * model->t1)
        return "t2 > t1: the back end is never idle, and all but N t2 is hidden behind it.";
    return "t2 < t1: the book's condition does not hold. The back end waits for the front end, and "
           "the time is N t1.";
}

static void report_case(async_run *self, const async_case *setting, const async_model *model,
                        const timing *runs)
{
    int repeat = (int)self->options.common.repeat;
    double count = (double)self->options.count;
    spread synchronised = spread_of(self->values[0], repeat),
           asynchronous = spread_of(self->values[1], repeat);
    char note[100];
    double bound = 1e3 * predict_asynchronous(model, count);
    experiment_row(self->report, "t1, issue", spread_exact(1e6 * model->t1), "us", NAN, NAN,
                   "fitted");
    experiment_row(self->report, "t2, compute", spread_exact(1e6 * model->t2), "us", NAN, NAN,
                   "fitted");
    experiment_row(self->report, "t3, learn of the result", spread_exact(1e6 * model->t3), "us",
                   NAN, NAN, "fitted");
    bool is_book = setting->is_book && self->options.count == BOOK_COUNT;
    experiment_row(self->report, "synchronised each time", synchronised, "ms",
                   is_book ? 917.9 : NAN, 1e3 * predict_synchronised(model, count),
                   is_book ? "N (t1 + t2 + t3); " BOOK : "N (t1 + t2 + t3)");
    snprintf(note, sizeof note, "%s%s",
             count * model->t2 > (count - 1) * model->t1 ? "t1 + N t2 + t3" : "N t1 + t2 + t3",
             is_book ? "; " BOOK : "");
    experiment_row(self->report, "once, at the end", asynchronous, "ms", is_book ? 867.1 : NAN,
                   bound, note);
    experiment_say(self->report, "%s", verdict(model, count));
    if (!setting->is_claimed)
        return;
    experiment_claim(self->report, "once at the end, against what the model says",
                     asynchronous.median / bound, "<=", 1.1, runs, 2 * repeat);
    experiment_claim(self->report, "synchronised each time against once at the end",
                     spread_of(self->values[2], repeat).median, ">=", 1, runs, 2 * repeat);
}

static void measure_case(async_run *self, const async_case *setting)
{
    int repeat = (int)self->options.common.repeat;
    int64_t count = self->options.count;
    char title[200];
    snprintf(title, sizeof title, "%" PRId64 " times y = x + 1 on %s", count, setting->title);
    experiment_section(self->report, title);
    timing *runs = calloc((size_t)(2 * repeat), sizeof *runs);
    if (!runs || !experiment_runtime_begin(self->report, &setting->runtime)) {
        free(runs);
        return;
    }
    async_model model;
    {
        HK_SCOPE;
        timing time;
        hk_device device = hk_device_named(setting->device);
        hk_array *x = hk_ones(hk_shape(setting->elements), HK_F32, device);
        hk_array *busy = hk_ones(hk_shape(400, 400), HK_F32, device);
        run_asynchronous(x, 1000, &time);
        model = fit(x, busy);
        for (int i = 0; i < repeat; i++) {
            self->values[0][i] = run_synchronised(x, count, &runs[2 * i]);
            self->values[1][i] = run_asynchronous(x, count, &runs[2 * i + 1]);
            self->values[2][i] = self->values[0][i] / self->values[1][i];
        }
    }
    experiment_runtime_end(self->report);
    report_case(self, setting, &model, runs);
    free(runs);
}

static int run(int count, char **arguments)
{
    int status;
    async_options options = {.common.repeat = 3, .size = BOOK_SIZE, .count = BOOK_COUNT};
    if (!options_parse(&bench_async_command, count, arguments, &options, NULL, 0, NULL, &status))
        return status;
    async_run *self = calloc(1, sizeof *self);
    if (!self) {
        fprintf(stderr, "hocket: no host memory for the experiment\n");
        return 1;
    }
    self->options = options;
    self->report = experiment_create("async", bench_async_command.summary, &self->options.common);
    measure_product(self);
    measure_blockers(self, 1);
    measure_blockers(self, PRODUCTS);
    for (int i = 0; i < CASE_COUNT; i++)
        measure_case(self, &cases[i]);
    int result = experiment_end(self->report);
    free(self);
    return result;
}

const command bench_async_command = {
    .name = "bench async",
    .operands = "",
    .summary = "Asynchronous computation: issuing, waiting, and waiting too often.",
    .description =
        "Times are those of completion unless it says otherwise. The book's model of many calls\n"
        "y = x + 1 has a front end that takes t1 to issue one, a back end that takes t2 to "
        "compute\n"
        "it, and t3 until the front end knows of the result: N calls take N (t1 + t2 + t3) when\n"
        "each is waited for, and t1 + N t2 + t3 when only the last one is, if N t2 > (N - 1) t1.\n"
        "The three are fitted apart from the runs, and what the model says stands in the column\n"
        "of bounds.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
