/* hocket bench split: a batch cut unevenly between a CPU and a faster accelerator. What sim:0 computes a core of this
 * machine computes, in time; so it can be the faster one only because cpu:0 has but half a core: another program runs
 * on it all the while. */
#include "measured_training.h"
#include "neighbour.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_REPEAT = 1000, PAIR = 2 };

static const double loss_bound = 1e-4; /* relative, as in tests/same_training.c */

typedef struct split_options {
    experiment_options common;
    const char *data;
    int64_t steps, batch;
    double factor;
} split_options;

static const option_row rows[] = {
    OPTION_INT_ROW("steps", split_options, steps, 2, MAX_TIMED_STEPS,
                   "timed in each run (default 30)"),
    OPTION_INT_ROW("batch-size", split_options, batch, PAIR, 60000,
                   "on both devices (default 256)"),
    OPTION_NUMBER_ROW("factor", split_options, factor, 0.01, 100,
                      "how many times as fast as a whole core sim:0 is; a core of\n"
                      "this machine computes for it, so that it is late beyond 1\n"
                      "(default 0.75)"),
    OPTION_TEXT_ROW("data", split_options, data, "DIR",
                    "folder of the data set, as for hocket train"),
    EXPERIMENT_ROWS(split_options),
};

/* The ways to train: on one device, or on both. */
typedef enum way_name { ON_CPU, ON_SIM, EQUAL, UNEVEN, WAY_COUNT } way_name;

typedef struct way {
    timing runs[MAX_REPEAT];
    double seconds[MAX_REPEAT]; /* of a step */
    measured_training training; /* the last one */
} way;

typedef struct split {
    const split_options *options;
    experiment *report;
    hk_data_set *train, *test;
    int64_t shares[PAIR]; /* of cpu:0 and sim:0; zeros: equal */
    bool failed;
    way ways[WAY_COUNT];
} split;

static void measure(split *self, way_name name, int repetition)
{
    const split_options *options = self->options;
    const hk_sim_options sim = {
        .count = 1, .factor = options->factor, .link_bandwidth = 4e9, .staging_bandwidth = 4e9};
    way *how = &self->ways[name];
    if (self->failed ||
        !experiment_runtime_begin(
            self->report, &(hk_runtime_options){.cpu_cores = 1, .sim = &sim, .sim_count = 1})) {
        self->failed = true;
        return;
    }
    const hk_device devices[PAIR] = {hk_device_named("cpu:0"), hk_device_named("sim:0")};
    how->training = (measured_training){.time = {0}};
    self->failed =
        !training_init(&how->training,
                       &(training_setup){.train = self->train,
                                         .test = self->test,
                                         .devices = name == ON_SIM ? &devices[1] : devices,
                                         .device_count = name < EQUAL ? 1 : PAIR,
                                         .batch = options->batch,
                                         .steps = (int)options->steps,
                                         .lr = 0.02,
                                         .shares = name == UNEVEN ? self->shares : NULL}) ||
        !training_run(&how->training);
    how->runs[repetition] = how->training.time;
    how->seconds[repetition] = training_step_seconds(&how->training);
    if (!self->failed && name == UNEVEN && repetition == 0)
        experiment_trace(self->report, training_issue, &how->training);
    training_deinit(&how->training);
    experiment_runtime_end(self->report);
}

/* Each device gets samples in proportion to its speed alone. */
static void choose_shares(split *self)
{
    measure(self, ON_CPU, 0);
    measure(self, ON_SIM, 0);
    double cpu = self->ways[ON_CPU].seconds[0], sim = self->ways[ON_SIM].seconds[0];
    int64_t batch = self->options->batch;
    if (self->failed)
        return;
    self->shares[0] = llround((double)batch * sim / (cpu + sim));
    self->shares[1] = batch - self->shares[0];
}

static spread step_time(const split *self, way_name name)
{
    spread seconds = spread_of(self->ways[name].seconds, (int)self->options->common.repeat);
    return (spread){1e3 * seconds.median, 1e3 * seconds.low, 1e3 * seconds.high};
}

static void report_all(split *self)
{
    char what[160];
    int repeat = (int)self->options->common.repeat;
    spread cpu = step_time(self, ON_CPU), sim = step_time(self, ON_SIM);
    spread equal = step_time(self, EQUAL), uneven = step_time(self, UNEVEN);
    experiment *report = self->report;
    experiment_say(report,
                   "LeNet of the book, batch %" PRId64 ", %" PRId64
                   " timed steps. cpu:0 has one core, which another program shares; sim:0 "
                   "computes at %g times the speed of a whole one, its link is of 4 GB/s + 10 us.",
                   self->options->batch, self->options->steps, self->options->factor);
    experiment_section(report, "A step");
    experiment_row(report, "cpu:0 alone", cpu, "ms", NAN, NAN, "");
    experiment_row(report, "sim:0 alone", sim, "ms", NAN, NAN, "simulated");
    experiment_row(report, "both, equal halves", equal, "ms", NAN, fmax(cpu.median, sim.median) / 2,
                   "bound: half of the slower one's");
    snprintf(what, sizeof what, "both, %" PRId64 " and %" PRId64 " samples", self->shares[0],
             self->shares[1]);
    experiment_row(report, what, uneven, "ms", NAN, 1 / (1 / cpu.median + 1 / sim.median),
                   "bound: their speeds added up");
    experiment_claim(report, "sim:0 is the faster device: step, against cpu:0's",
                     sim.median / cpu.median, "<=", 0.9, self->ways[ON_SIM].runs, repeat);
    experiment_claim(report, "uneven split: step, against the faster device alone",
                     uneven.median / fmin(cpu.median, sim.median), "<=", 0.9,
                     self->ways[UNEVEN].runs, repeat);
    experiment_claim(report, "uneven split: step, against equal halves",
                     uneven.median / equal.median, "<=", 1, self->ways[UNEVEN].runs, repeat);
    experiment_claim(
        report, "uneven split: losses, relative difference from cpu:0's",
        training_loss_difference(&self->ways[UNEVEN].training, &self->ways[ON_CPU].training),
        "<=", loss_bound, NULL, 0);
}

/* Returns the exit status. */
static int run_experiment(split *self)
{
    if (hk_status_print(hk_data_set_status(self->train), stderr) ||
        hk_status_print(hk_data_set_status(self->test), stderr))
        return 1;
    self->report = experiment_create(
        "split", "A batch split between a CPU and a faster accelerator", &self->options->common);
    choose_shares(self);
    for (int r = 0; r < self->options->common.repeat; r++)
        for (int name = 0; name < WAY_COUNT; name++)
            measure(self, (way_name)name, r);
    if (self->failed)
        experiment_claim(self->report, "trainings that could not be run", 1, "<=", 0, NULL, 0);
    else
        report_all(self);
    return experiment_end(self->report);
}

static int run(int count, char **arguments)
{
    split_options options = {.common.repeat = 3, .steps = 30, .batch = 256, .factor = 0.75};
    int status;
    if (!options_parse(&bench_split_command, count, arguments, &options, NULL, 0, NULL, &status))
        return status;
    split *self = calloc(1, sizeof *self);
    if (!self) {
        fprintf(stderr, "hocket: no host memory for the experiment\n");
        return 1;
    }
    self->options = &options;
    self->train = hk_data_set_open(options.data, HK_DATA_TRAIN, NULL);
    self->test = hk_data_set_open(options.data, HK_DATA_TEST, NULL);
    neighbour other;
    int result = neighbour_start(&other) ? run_experiment(self) : 1;
    neighbour_stop(&other);
    hk_data_set_release(self->train);
    hk_data_set_release(self->test);
    free(self);
    return result;
}

const command bench_split_command = {
    .name = "bench split",
    .operands = "",
    .summary = "A batch split unevenly between a CPU and a faster accelerator.",
    .description =
        "The book's LeNet on cpu:0 with one core, which another program shares, on a simulated\n"
        "accelerator, and on both: in equal halves, and in shares by the speed that was measured\n"
        "of each alone. Claimed: the uneven split is faster than either alone and than equal\n"
        "halves.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
