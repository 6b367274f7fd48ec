/* hocket bench graph: a random program over several devices, against what its graph allows. */
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZES = 4,
    SLOTS = 8, /* matrices of each size, spread over the devices in turn */
    MAX_GRAPH_DEVICES = 8,
    MAX_REPEAT = 1000
};

static const int64_t sides[SIZES] = {64, 128, 256, 512};

typedef struct graph_options {
    experiment_options common;
    int64_t statements, seed;
} graph_options;

static const option_row rows[] = {
    OPTION_INT_ROW("statements", graph_options, statements, 1, 20000,
                   "of the random program, about three calls each (default 500)"),
    OPTION_INT_ROW("seed", graph_options, seed, 0, 9007199254740991.0,
                   "of the program (default 0)"),
    EXPERIMENT_ROWS(graph_options),
};

/* ---- the program ----------------------------------------------------------------------------------- */

typedef struct program {
    const graph_options *options;
    int device_count;
    hk_device devices[MAX_GRAPH_DEVICES];
    hk_array *slots[SIZES][SLOTS]; /* owned */
    uint64_t random;               /* state of the numbers that the statements are drawn with */
} program;

/* A number below `limit`: xorshift64*. */
static int draw(program *self, int limit)
{
    self->random ^= self->random >> 12;
    self->random ^= self->random << 25;
    self->random ^= self->random >> 27;
    return (int)((self->random * 2685821657736338717u >> 33) % (uint64_t)limit);
}

static hk_device home(const program *self, int slot)
{
    return self->devices[slot % self->device_count];
}

static void program_init(program *self, const graph_options *options)
{
    HK_SCOPE;
    hk_generator *generator = hk_generator_create((uint64_t)options->seed);
    self->options = options;
    for (int size = 0; size < SIZES; size++)
        for (int slot = 0; slot < SLOTS; slot++)
            self->slots[size][slot] = hk_take(hk_random_uniform_from(
                generator, -1, 1, hk_shape(sides[size], sides[size]), HK_F32, home(self, slot)));
    hk_generator_release(generator);
}

static void program_deinit(program *self)
{
    for (int size = 0; size < SIZES; size++)
        for (int slot = 0; slot < SLOTS; slot++)
            hk_array_release(self->slots[size][slot]);
}

/* Values between -1 and 1 again, and neither small nor alike however often: 4 y^3 - 3 y of y = tanh(x), Chebyshev's
 * third polynomial, amplifies what is near 0. */
static hk_array *mix(hk_array *x)
{
    hk_array *y = hk_tanh(x);
    return hk_multiply(y, hk_add(hk_multiply(hk_square(y), 4), -3));
}

/* One statement: what it reads may be on other devices. */
static void issue_statement(program *self)
{
    HK_SCOPE;
    int size = draw(self, SIZES), target = draw(self, SLOTS);
    int kind = draw(self, 10), first = draw(self, SLOTS), second = draw(self, SLOTS);
    int64_t begin = draw(self, (int)sides[size] - 1),
            end = begin + 1 + draw(self, (int)(sides[size] - begin));
    hk_array **slot = &self->slots[size][target], *x = *slot, *result = NULL;
    hk_array *a = hk_to_device(self->slots[size][first], home(self, target));
    hk_array *b = hk_to_device(self->slots[size][second], home(self, target));
    double scale = 1 / sqrt((double)sides[size]);
    switch (kind) {
    case 0:
    case 1:
    case 2:
        result = mix(hk_multiply(hk_matmul(a, b), scale));
        break;
    case 3: /* through a view that is not contiguous */
        result = mix(hk_multiply(hk_matmul(hk_transpose(a), b), scale));
        break;
    case 4:
        result = mix(hk_subtract(hk_multiply(a, b), x));
        break;
    case 5: /* in place, behind whoever reads the old values */
        hk_add_into(x, x, a);
        hk_tanh_into(x, x);
        break;
    case 6: /* some rows in place */
        x = hk_slice(x, 0, begin, end);
        hk_add_into(x, hk_slice(a, 0, begin, end), x);
        hk_tanh_into(x, x);
        break;
    case 7: /* some rows, from any device */
        hk_assign(hk_slice(x, 0, begin, end), hk_slice(self->slots[size][first], 0, begin, end));
        break;
    case 8: /* some columns */
        hk_assign(hk_slice(x, 1, begin, end), hk_slice(b, 1, begin, end));
        break;
    default: /* a mean, broadcast */
        result =
            mix(hk_add(a, hk_mean(b, &(hk_mean_options){.axes = hk_shape(0), .keepdims = true})));
        break;
    }
    if (result) {
        hk_array_release(*slot);
        *slot = hk_take(result);
    }
}

static void program_issue(void *argument)
{
    program *self = argument;
    self->random = 88172645463325252u + (uint64_t)self->options->seed;
    for (int64_t i = 0; i < self->options->statements; i++)
        issue_statement(self);
}

/* ---- results --------------------------------------------------------------------------------------- */

static size_t slot_bytes(int size)
{
    return (size_t)(sides[size] * sides[size]) * sizeof(float);
}

static size_t result_bytes(void)
{
    size_t bytes = 0;
    for (int size = 0; size < SIZES; size++)
        bytes += SLOTS * slot_bytes(size);
    return bytes;
}

/* All matrices, one after another. Blocks. */
static void read_results(program *self, char *results)
{
    for (int size = 0; size < SIZES; size++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            const hk_status *status =
                hk_to_host(self->slots[size][slot], results, slot_bytes(size));
            if (hk_status_print(status, stderr))
                memset(results, 0xFF, slot_bytes(size)); /* equal to nothing */
            results += slot_bytes(size);
        }
    }
}

/* The least mean of absolute values of a matrix: zeros would be equal too. */
static double least_magnitude(const char *results)
{
    double least = INFINITY;
    const float *values = (const float *)(const void *)results;
    for (int size = 0; size < SIZES; size++) {
        int64_t count = sides[size] * sides[size];
        for (int slot = 0; slot < SLOTS; slot++, values += count) {
            double sum = 0;
            for (int64_t i = 0; i < count; i++)
                sum += fabs((double)values[i]);
            least = fmin(least, sum / (double)count);
        }
    }
    return least;
}

/* Matrices that differ in a bit. */
static int count_differences(const char *a, const char *b)
{
    int count = 0;
    for (int size = 0; size < SIZES; size++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            count += memcmp(a, b, slot_bytes(size)) != 0;
            a += slot_bytes(size);
            b += slot_bytes(size);
        }
    }
    return count;
}

/* ---- runs ------------------------------------------------------------------------------------------ */

typedef struct configuration {
    const char *name;
    hk_runtime_options runtime;
    int cpu_count; /* CPU devices that take part; and all simulated ones */
    bool is_simulated;
    /* what was measured */
    timing runs[MAX_REPEAT];
    double seconds[MAX_REPEAT];
    int cores;            /* of the first CPU device */
    int differences;      /* matrices, in all runs together */
    double path, busiest; /* seconds, of a recorded run */
} configuration;

static void choose_devices(program *self, const configuration *how)
{
    int cpus = 0;
    for (int i = 0; i < hk_device_count() && self->device_count < MAX_GRAPH_DEVICES; i++) {
        hk_device device = hk_device_at(i);
        if (hk_device_is_simulated(device) ? how->is_simulated : cpus++ < how->cpu_count)
            self->devices[self->device_count++] = device;
    }
}

/* Critical path, and what the busiest queue did, of the program run once more. */
static void record_bounds(configuration *how, program *self)
{
    if (hk_status_print(hk_trace_start(NULL), stderr))
        return;
    program_issue(self);
    hk_trace *trace = hk_trace_stop();
    hk_trace_summary summary = hk_trace_get_summary(trace);
    int64_t busiest = 0;
    for (int i = 0; i < summary.queue_count; i++) {
        int64_t busy = hk_trace_get_queue(trace, i).busy_ns;
        busiest = busy > busiest ? busy : busiest;
    }
    how->path = 1e-9 * (double)summary.critical_path_ns;
    how->busiest = 1e-9 * (double)busiest;
    hk_trace_release(trace);
}

/* One run. The first sets `results` where it has no `expected`. */
static void run_once(experiment *report, configuration *how, const graph_options *options,
                     int repetition, const char *expected, char *results)
{
    program self = {0};
    if (!experiment_runtime_begin(report, &how->runtime))
        return;
    choose_devices(&self, how);
    how->cores = hk_device_cores(hk_device_at(0));
    program_init(&self, options);
    hk_wait_all();
    timing *time = &how->runs[repetition];
    timing_begin(time);
    program_issue(&self);
    timing_end(time);
    how->seconds[repetition] = timing_seconds(time);
    read_results(&self, results);
    if (expected)
        how->differences += count_differences(expected, results);
    if (repetition == 0 && how->runtime.engine != HK_ENGINE_SERIAL)
        record_bounds(how, &self);
    if (repetition == 0 && how->is_simulated && how->cpu_count > 0)
        experiment_trace(report, program_issue, &self);
    program_deinit(&self);
    experiment_runtime_end(report);
}

/* ---- the report ------------------------------------------------------------------------------------ */

static void report_configuration(experiment *report, const configuration *how, int repeat,
                                 double work, double magnitude)
{
    char what[120];
    const char *note = how->is_simulated ? "simulated" : "";
    spread seconds = spread_of(how->seconds, repeat);
    experiment_section(report, how->name);
    if (how->runtime.engine == HK_ENGINE_SERIAL) {
        experiment_row(report, "each call in its place", seconds, "s", NAN, NAN,
                       "the work, on one core");
        experiment_claim(report, "mean of absolute values, of the matrix with the least", magnitude,
                         ">=", 0.05, NULL, 0);
        return;
    }
    bool one_queue = !how->is_simulated && how->cpu_count == 1; /* of several cores */
    double least = one_queue ? work / how->cores : how->busiest;
    experiment_row(report, "critical path", spread_exact(how->path), "s", NAN, NAN, note);
    if (one_queue)
        experiment_row(report, "work / cores", spread_exact(least), "s", NAN, NAN, "");
    else
        experiment_row(report, "the busiest queue", spread_exact(least), "s", NAN, NAN, note);
    experiment_row(report, "time", seconds, "s", NAN, fmax(how->path, least), note);
    experiment_claim(report, "matrices that differ from the serial engine's", how->differences,
                     "<=", 0, NULL, 0);
    snprintf(what, sizeof what, "time / (critical path + %s)",
             one_queue ? "work / cores" : "the busiest queue");
    /* The bounds are those of one recorded run: by the wall clock, runs differ. */
    experiment_claim(report, what, seconds.median / (how->path + least),
                     "<=", how->is_simulated ? 1.05 : 1.2, how->runs, repeat);
}

/* The ways to run the program: the first one is the reference. */
#define SLOW_MEMORY_AND_LINKS                                                                      \
    .memory_bandwidth = 1e10, .link_bandwidth = 4e9, .staging_bandwidth = 4e9
static const hk_sim_options four_sims = {.count = 4, .flops = 5e9, SLOW_MEMORY_AND_LINKS};
static const hk_sim_options two_sims = {.count = 2, .flops = 1e10, SLOW_MEMORY_AND_LINKS};
static const struct {
    const char *name;
    hk_runtime_options runtime;
    int cpu_count;
} ways[] = {
    {"serial engine, cpu:0", {.engine = HK_ENGINE_SERIAL, .cpu_devices = 1, .cpu_cores = 1}, 1},
    {"cpu:0, all cores", {.engine = HK_ENGINE_ASYNC, .cpu_devices = 1}, 1},
    {"cpu:0 and cpu:1", {.engine = HK_ENGINE_ASYNC, .cpu_devices = 2}, 2},
    {"sim:0 to sim:3", {.engine = HK_ENGINE_ASYNC, .sim = &four_sims, .sim_count = 1}, 0},
    {"cpu:0 with sim:0 and sim:1",
     {.engine = HK_ENGINE_ASYNC,
      .cpu_devices = 1,
      .cpu_cores = 1,
      .sim = &two_sims,
      .sim_count = 1},
     1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void measure(experiment *report, const graph_options *options, configuration *all,
                    char *expected, char *results)
{
    int repeat = (int)options->common.repeat;
    for (int w = 0; w < WAYS; w++) {
        all[w].name = ways[w].name;
        all[w].runtime = ways[w].runtime;
        all[w].cpu_count = ways[w].cpu_count;
        all[w].is_simulated = ways[w].runtime.sim_count > 0;
    }
    for (int r = 0; r < repeat; r++) {
        for (int w = 0; w < WAYS; w++) {
            bool first = r == 0 && w == 0;
            run_once(report, &all[w], options, r, first ? NULL : expected,
                     first ? expected : results);
        }
    }
    experiment_say(
        report,
        "%lld statements drawn with seed %lld: products, elementwise calls, writes in place, "
        "slices and copies between devices, on %d matrices of each side from 64 to 512. sim:0 to "
        "sim:3 have 5 GFLOP/s each, the two beside cpu:0 10, memory of 10 GB/s, links of 4 GB/s "
        "+ 10 us.",
        (long long)options->statements, (long long)options->seed, SLOTS);
    double work = spread_of(all[0].seconds, repeat).median;
    for (int w = 0; w < WAYS; w++)
        report_configuration(report, &all[w], repeat, work, least_magnitude(expected));
}

static int run(int count, char **arguments)
{
    graph_options options = {.common.repeat = 3, .statements = 500};
    int status;
    if (!options_parse(&bench_graph_command, count, arguments, &options, NULL, 0, NULL, &status))
        return status;
    configuration *all = calloc(WAYS, sizeof *all);
    char *expected = malloc(result_bytes()), *results = malloc(result_bytes());
    int result = 1;
    if (all && expected && results) {
        experiment *report =
            experiment_create("graph", "A random program on several devices", &options.common);
        measure(report, &options, all, expected, results);
        result = experiment_end(report);
    } else {
        fprintf(stderr, "hocket: no host memory for the results of the program\n");
    }
    free(all);
    free(expected);
    free(results);
    return result;
}

const command bench_graph_command = {
    .name = "bench graph",
    .operands = "",
    .summary = "A random program on several devices, against what its graph allows.",
    .description =
        "Some hundreds of statements over matrices of several sizes, which read and write each\n"
        "other's results on other devices, in place and in part. Claimed: on any devices each\n"
        "bit is the serial engine's, and the time is at most that of the critical path and of\n"
        "the busiest queue together (on one device: of the work divided by its cores).",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
