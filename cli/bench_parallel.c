/* hocket bench parallel: calls that do not need each other, on one device and on several. The book's "Automatic
 * Parallelism". */
#include "experiment.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* A short run on real cores lies within one disturbance by other programs: of it SHORT_TIMES as many repetitions. */
enum { SHORT_COUNT = 10, SHORT_TIMES = 5, EIGHT = 8 };

/* The book's figures: those printed in its PyTorch edition, 50 products on each of two GPUs of its build machine. */
#define BOOK "book: PyTorch, 4000 x 4000"
enum { BOOK_COUNT = 50 };

typedef struct parallel_options {
    experiment_options common;
    int64_t size, count;
    double flops;
} parallel_options;

static const option_row rows[] = {
    OPTION_INT_ROW("size", parallel_options, size, 1, 20000,
                   "rows and columns of the matrices (default 640: some 5 ms a product on\n"
                   "a core, 26 ms on a simulated accelerator)"),
    OPTION_INT_ROW("count", parallel_options, count, 1, 100000,
                   "products of the longer benchmark (default 50); the shorter one has\n"
                   "10"),
    OPTION_NUMBER_ROW("flops", parallel_options, flops, 1e6, 1e15,
                      "floating-point operations a second of a simulated accelerator, for\n"
                      "each of which a core must do more (default 2e10)"),
    EXPERIMENT_ROWS(parallel_options),
};

/* Times of three things that are measured in turn: of the first, of the second, of both at once. */
typedef struct trio {
    int repeat;
    timing *runs; /* 3 * repeat of them, by repetition */
    double *values;
} trio;

typedef struct parallel_run {
    parallel_options options;
    experiment *report;
    trio trio;
    hk_sim_options model;
} parallel_run;

/* Starts a runtime with that many devices (0: the default) and cores for the CPU, and accelerators. */
static bool begin(parallel_run *self, int cpu_devices, int cpu_cores, int sims)
{
    self->model = (hk_sim_options){.count = sims,
                                   .flops = self->options.flops,
                                   .memory_bandwidth = 1e11,
                                   .link_bandwidth = 4e9,
                                   .staging_bandwidth = 4e9};
    hk_runtime_options options = {.cpu_devices = cpu_devices,
                                  .cpu_cores = cpu_cores,
                                  .sim = &self->model,
                                  .sim_count = sims > 0};
    if (!experiment_runtime_begin(self->report, &options))
        return false;
    if (!sims && hk_device_count() * hk_device_cores(hk_device_default()) < 2)
        experiment_say(self->report, "There is only one core here.");
    return true;
}

static double milliseconds(const timing *time)
{
    return 1e3 * timing_seconds(time);
}

/* The book's run(): products that do not need each other. */
static void run_products(hk_array *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        HK_SCOPE;
        hk_matmul(x, x);
    }
}

/* A matrix whose powers are itself, so that chains of products neither overflow nor vanish. */
static hk_array *idempotent(int64_t n, hk_device device)
{
    return hk_full(hk_shape(n, n), 1 / (double)n, HK_F32, device);
}

/* ---- trios ----------------------------------------------------------------------------------------- */

/* For `repeat` repetitions, which may be made up to SHORT_TIMES as many. */
static bool trio_init(trio *self, int repeat)
{
    *self = (trio){.repeat = repeat,
                   .runs = calloc((size_t)(3 * SHORT_TIMES * repeat), sizeof *self->runs),
                   .values = calloc((size_t)(SHORT_TIMES * repeat), sizeof *self->values)};
    return self->runs && self->values;
}

static void trio_deinit(trio *self)
{
    free(self->runs);
    free(self->values);
}

/* Of the first (0), second (1), both (2): the model's times, where there is a model. */
static spread trio_times(trio *self, int which)
{
    for (int i = 0; i < self->repeat; i++)
        self->values[i] = milliseconds(&self->runs[3 * i + which]);
    return spread_of(self->values, self->repeat);
}

static spread trio_walls(trio *self, int which)
{
    for (int i = 0; i < self->repeat; i++)
        self->values[i] = 1e-6 * (double)self->runs[3 * i + which].wall_ns;
    return spread_of(self->values, self->repeat);
}

/* Both at once against the slower one, within one repetition. */
static spread trio_ratio(trio *self)
{
    for (int i = 0; i < self->repeat; i++) {
        const timing *runs = &self->runs[3 * i];
        self->values[i] =
            milliseconds(&runs[2]) / fmax(milliseconds(&runs[0]), milliseconds(&runs[1]));
    }
    return spread_of(self->values, self->repeat);
}

/* ---- two devices ----------------------------------------------------------------------------------- */

typedef struct pair {
    const char *title, *names[2];
    int cpu_devices, cpu_cores, sims;
    double limit; /* both at once, against the slower one */
} pair;

static const pair pairs[] = {
    {.title = "two accelerators (simulated)",
     .names = {"sim:0", "sim:1"},
     .cpu_cores = 1,
     .sims = 2,
     .limit = 1.05},
    {.title = "two CPU devices with a core each",
     .names = {"cpu:0", "cpu:1"},
     .cpu_devices = 2,
     .cpu_cores = 2,
     .limit = 1.15},
};
enum { PAIR_COUNT = sizeof pairs / sizeof *pairs };

typedef struct products {
    hk_array *x[2];
    int64_t counts[2];
} products;

static void run_both(void *argument)
{
    const products *self = argument;
    for (int i = 0; i < 2; i++)
        run_products(self->x[i], self->counts[i]);
}

static void measure_trio(trio *self, products *work)
{
    for (int i = 0; i < self->repeat; i++) {
        for (int j = 0; j < 2; j++) {
            timing_begin(&self->runs[3 * i + j]);
            run_products(work->x[j], work->counts[j]);
            timing_end(&self->runs[3 * i + j]);
        }
        timing_begin(&self->runs[3 * i + 2]);
        run_both(work);
        timing_end(&self->runs[3 * i + 2]);
    }
}

static void report_pair(parallel_run *self, const pair *devices, int64_t count)
{
    static const double book[] = {466.0, 451.0, 465.9};
    trio *times = &self->trio;
    bool is_book = count == BOOK_COUNT, is_simulated = devices->sims > 0;
    spread alone[] = {trio_times(times, 0), trio_times(times, 1)};
    for (int i = 0; i < 2; i++)
        experiment_row(self->report, devices->names[i], alone[i], "ms", is_book ? book[i] : NAN,
                       NAN, is_book ? BOOK : "");
    experiment_row(self->report, "both", trio_times(times, 2), "ms", is_book ? book[2] : NAN,
                   fmax(alone[0].median, alone[1].median), "bound: the slower one");
    if (is_simulated)
        experiment_row(self->report, "both, by the wall clock", trio_walls(times, 2), "ms", NAN,
                       NAN, "");
    experiment_claim(self->report, "both at once against the slower one", trio_ratio(times).median,
                     "<=", devices->limit, times->runs, 3 * times->repeat);
}

static void measure_pair(parallel_run *self, const pair *devices, bool traced)
{
    int64_t n = self->options.size;
    int64_t counts[] = {SHORT_COUNT, self->options.count};
    int first = SHORT_COUNT < self->options.count ? 0 : 1;
    for (int i = first; i < 2; i++) {
        char title[200];
        snprintf(title, sizeof title,
                 "%" PRId64 " products %" PRId64 " x %" PRId64 " on each of %s", counts[i], n, n,
                 devices->title);
        experiment_section(self->report, title);
        if (!begin(self, devices->cpu_devices, devices->cpu_cores, devices->sims))
            return;
        {
            HK_SCOPE;
            products work = {.counts = {counts[i], counts[i]}};
            for (int j = 0; j < 2; j++)
                work.x[j] =
                    hk_random_uniform(hk_shape(n, n), HK_F32, hk_device_named(devices->names[j]));
            run_both(&(products){{work.x[0], work.x[1]}, {1, 1}});
            self->trio.repeat = (int)self->options.common.repeat;
            if (!devices->sims && counts[i] == SHORT_COUNT)
                self->trio.repeat *= SHORT_TIMES;
            measure_trio(&self->trio, &work);
            if (traced && i == first)
                experiment_trace(self->report, run_both, &work);
        }
        experiment_runtime_end(self->report);
        report_pair(self, devices, counts[i]);
        self->trio.repeat = (int)self->options.common.repeat;
    }
}

/* ---- one device ------------------------------------------------------------------------------------ */

/* Products each of which needs the one before. */
static void run_chain(hk_array *x, int64_t count)
{
    HK_SCOPE;
    hk_array *y = x;
    for (int64_t i = 0; i < count; i++)
        y = hk_matmul(y, x);
}

/* One product, a chain of `count`, and `count` that do not need each other. */
static void measure_chain(trio *self, hk_array *x, int64_t count)
{
    for (int i = 0; i < self->repeat; i++) {
        timing_begin(&self->runs[3 * i]);
        run_products(x, 1);
        timing_end(&self->runs[3 * i]);
        timing_begin(&self->runs[3 * i + 1]);
        run_chain(x, count);
        timing_end(&self->runs[3 * i + 1]);
        timing_begin(&self->runs[3 * i + 2]);
        run_products(x, count);
        timing_end(&self->runs[3 * i + 2]);
    }
}

/* verdict: why eight at once take as long as a chain of them, should they do so. */
static void measure_eight(parallel_run *self, const char *name, int cores, int sims,
                          const char *what, const char *verdict)
{
    trio *times = &self->trio;
    int64_t n = self->options.size;
    char title[200];
    snprintf(title, sizeof title, "%d products %" PRId64 " x %" PRId64 " on %s", EIGHT, n, n, what);
    experiment_section(self->report, title);
    if (!begin(self, 1, cores, sims))
        return;
    {
        HK_SCOPE;
        hk_array *x = idempotent(n, hk_device_named(name));
        run_products(x, 2);
        hk_wait_all();
        measure_chain(times, x, EIGHT);
    }
    experiment_runtime_end(self->report);
    spread one = trio_times(times, 0), chain = trio_times(times, 1),
           together = trio_times(times, 2);
    experiment_row(self->report, "one", one, "ms", NAN, NAN, "");
    experiment_row(self->report, "eight, each of the one before", chain, "ms", NAN,
                   EIGHT * one.median, "bound: 8 times one");
    experiment_row(self->report, "eight that do not need each other", together, "ms", NAN,
                   chain.median, "bound: the chain");
    experiment_say(self->report, "%s",
                   chain.median > 1.2 * together.median ? "It runs them side by side." : verdict);
}

static void measure_sizes(parallel_run *self)
{
    static const int64_t sizes[] = {8, 16, 32, 64, 128, 256, 512};
    trio *times = &self->trio;
    experiment_section(self->report,
                       "Products side by side on one CPU device of two cores, by size");
    if (!begin(self, 1, 2, 0))
        return;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        HK_SCOPE;
        int64_t n = sizes[i];
        double flops = 2 * (double)n * (double)n * (double)n;
        int64_t count = (int64_t)fmin(2000, fmax(EIGHT, 2e9 / flops));
        hk_array *x = idempotent(n, hk_device_default());
        run_products(x, count);
        run_chain(x, count);
        hk_wait_all();
        measure_chain(times, x, count);
        for (int j = 0; j < times->repeat; j++)
            times->values[j] =
                milliseconds(&times->runs[3 * j + 1]) / milliseconds(&times->runs[3 * j + 2]);
        spread gain = spread_of(times->values, times->repeat);
        char what[40], note[100];
        snprintf(what, sizeof what, "%" PRId64 " x %" PRId64, n, n);
        snprintf(note, sizeof note, "a chain: %.4g us a call, side by side: %.4g us",
                 1e3 * trio_times(times, 1).median / (double)count,
                 1e3 * trio_times(times, 2).median / (double)count);
        experiment_row(self->report, what, gain, "times faster", NAN, 2, note);
    }
    experiment_runtime_end(self->report);
    experiment_say(
        self->report,
        "The smallest run in who issues them, for handing them over costs more; the largest "
        "are cut into pieces for both cores even when they come one by one.");
}

/* ---- CPU and accelerator --------------------------------------------------------------------------- */

typedef struct mixture {
    products work; /* on the CPU, on the accelerator */
    bool with_copies;
} mixture;

/* With copies: the accelerator's results go to the host, which adds them up beside its own products. */
static void run_mixture(mixture *self)
{
    HK_SCOPE;
    hk_device host = hk_array_device(self->work.x[0]);
    for (int64_t i = 0; i < self->work.counts[1]; i++) {
        hk_array *y = hk_matmul(self->work.x[1], self->work.x[1]);
        if (self->with_copies)
            hk_sum(hk_to_device(y, host), NULL);
    }
    run_products(self->work.x[0], self->work.counts[0]);
}

static void measure_mixture(parallel_run *self)
{
    trio *times = &self->trio;
    int64_t n = self->options.size, count = self->options.count;
    double *with_copies = calloc((size_t)times->repeat, sizeof *with_copies);
    char title[200];
    mixture mixed = {.work.counts = {count, count < 5 ? 1 : count / 5}};
    snprintf(title, sizeof title,
             "%" PRId64 " products %" PRId64 " x %" PRId64 " on a CPU device of one core, %" PRId64
             " on an accelerator (simulated)",
             count, n, n, mixed.work.counts[1]);
    experiment_section(self->report, title);
    if (!with_copies || !begin(self, 1, 1, 1)) {
        free(with_copies);
        return;
    }
    {
        HK_SCOPE;
        mixed.work.x[0] = hk_random_uniform(hk_shape(n, n), HK_F32, hk_device_named("cpu:0"));
        mixed.work.x[1] = hk_random_uniform(hk_shape(n, n), HK_F32, hk_device_named("sim:0"));
        run_both(&(products){{mixed.work.x[0], mixed.work.x[1]}, {1, 1}});
        hk_wait_all();
        measure_trio(times, &mixed.work);
        mixed.with_copies = true;
        for (int i = 0; i < times->repeat; i++) {
            timing time;
            timing_begin(&time);
            run_mixture(&mixed);
            timing_end(&time);
            with_copies[i] = milliseconds(&time);
        }
    }
    experiment_runtime_end(self->report);
    spread alone[] = {trio_times(times, 0), trio_times(times, 1)};
    double slower = fmax(alone[0].median, alone[1].median);
    experiment_row(self->report, "cpu:0", alone[0], "ms", NAN, NAN, "");
    experiment_row(self->report, "sim:0", alone[1], "ms", NAN, NAN, "simulated");
    experiment_row(self->report, "both", trio_times(times, 2), "ms", NAN, slower,
                   "bound: the slower one");
    experiment_row(self->report, "both, sim:0's results summed on cpu:0",
                   spread_of(with_copies, times->repeat), "ms", NAN, slower,
                   "bound: the slower one");
    experiment_claim(self->report, "both at once against the slower one", trio_ratio(times).median,
                     "<=", 1.15, times->runs, 3 * times->repeat);
    free(with_copies);
}

/* ---- the command ----------------------------------------------------------------------------------- */

static int run(int count, char **arguments)
{
    int status;
    parallel_run self = {
        .options = {.common.repeat = 7, .size = 640, .count = BOOK_COUNT, .flops = 2e10}};
    if (!options_parse(&bench_parallel_command, count, arguments, &self.options, NULL, 0, NULL,
                       &status))
        return status;
    if (!trio_init(&self.trio, (int)self.options.common.repeat)) {
        trio_deinit(&self.trio);
        fprintf(stderr, "hocket: no host memory for the times\n");
        return 1;
    }
    self.report =
        experiment_create("parallel", bench_parallel_command.summary, &self.options.common);
    for (int i = 0; i < PAIR_COUNT; i++)
        measure_pair(&self, &pairs[i], i == 0);
    measure_eight(&self, "cpu:0", 2, 0, "one CPU device of two cores",
                  "One product uses both cores already, where it is large enough to be cut.");
    measure_eight(&self, "sim:0", 1, 1, "one accelerator (simulated)",
                  "An accelerator runs one call at a time, and each has all of it.");
    measure_sizes(&self);
    measure_mixture(&self);
    int result = experiment_end(self.report);
    trio_deinit(&self.trio);
    return result;
}

const command bench_parallel_command = {
    .name = "bench parallel",
    .operands = "",
    .summary = "Automatic parallelism: products on two devices, and side by side on one.",
    .description =
        "Nothing in the program says what may run beside what. Repetitions are interleaved: one\n"
        "device, the other, both, and again.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
