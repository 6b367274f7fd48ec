/* hocket bench multi: the book's LeNet on more and more devices. */
#include "multi_runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int ks[KS] = {1, 2, 4, MAX_SIMS};
static const double loss_bound = 1e-4; /* relative, as in tests/same_training.c */

/* What the book's pages print, for PyTorch: LeNet on one GPU and on two, then ResNet-18 with twice the batch. */
static const double book_lenet_seconds[2] = {3.0, 2.8}, book_resnet_seconds[2] = {12.2, 7.5};

static const option_row rows[] = {
    OPTION_INT_ROW("steps", multi_options, steps, 2, MAX_TIMED_STEPS,
                   "timed in each run (default 4)"),
    OPTION_INT_ROW("batch-size", multi_options, batch, MAX_SIMS, 7500,
                   "on all devices (default 256)"),
    OPTION_NUMBER_ROW("flops", multi_options, flops, 1e6, 1e15,
                      "FLOP/s of a simulated device; this machine has to keep\n"
                      "up with eight of them (default 2e9)"),
    OPTION_NUMBER_ROW("link", multi_options, link, 1e5, 1e12,
                      "bytes/s of each of their links (default 1e8)"),
    OPTION_TEXT_ROW("data", multi_options, data, "DIR",
                    "folder of the data set, as for hocket train"),
    EXPERIMENT_ROWS(multi_options),
};

static spread milliseconds(spread seconds)
{
    return (spread){1e3 * seconds.median, 1e3 * seconds.low, 1e3 * seconds.high};
}

/* ---- the report ------------------------------------------------------------------------------------ */

static void report_fixed(multi *self)
{
    char what[160];
    int repeat = (int)self->options->common.repeat;
    double one = multi_step_time(self, &self->fixed[0]).median;
    experiment_section(self->report, "The same batch on more simulated devices");
    experiment_row(self->report, "1 device, step",
                   milliseconds(multi_step_time(self, &self->fixed[0])), "ms", NAN, NAN,
                   "simulated");
    for (int i = 1; i < KS; i++) {
        const way *how = &self->fixed[i];
        spread seconds = multi_step_time(self, how);
        double predicted = multi_predicted_seconds(self, how, &self->alone[i]);
        double speed_up = one / seconds.median;
        snprintf(what, sizeof what, "%d devices, step", ks[i]);
        experiment_row(self->report, what, milliseconds(seconds), "ms", NAN, 1e3 * predicted,
                       "simulated");
        snprintf(what, sizeof what, "%d devices, speed-up", ks[i]);
        experiment_row(self->report, what, spread_exact(speed_up), "ratio",
                       ks[i] == 2 ? book_lenet_seconds[0] / book_lenet_seconds[1] : (double)NAN,
                       one / predicted, ks[i] == 2 ? "book: two GPUs, PyTorch" : "simulated");
    }
    experiment_say(
        self->report,
        "Bound: a step of one device with a k-th of the batch, measured, then what the links "
        "need for sums of gradients that nothing is left to hide, 2(k-1) x (10 us + bytes / "
        "link), with bytes / k where each device sums a part: those of conv2 and conv1, which "
        "come last, or all of them less the backward pass.");
    for (int i = 1; i < KS; i++) {
        const way *how = &self->fixed[i];
        double seconds = multi_step_time(self, how).median;
        snprintf(what, sizeof what, "%d devices: speed-up, of what theory leaves", ks[i]);
        experiment_claim(self->report, what,
                         multi_predicted_seconds(self, how, &self->alone[i]) / seconds, ">=", 0.9,
                         how->runs, repeat);
        snprintf(what, sizeof what, "%d devices: step, against %d", ks[i], ks[i - 1]);
        experiment_claim(self->report, what,
                         seconds / multi_step_time(self, &self->fixed[i - 1]).median, "<=", 0.75,
                         how->runs, repeat);
        snprintf(what, sizeof what, "%d devices: losses, relative difference from one device's",
                 ks[i]);
        experiment_claim(self->report, what,
                         training_loss_difference(&how->training, &self->fixed[0].training),
                         "<=", loss_bound, NULL, 0);
    }
}

static void report_grown(multi *self)
{
    char what[160];
    int repeat = (int)self->options->common.repeat;
    double one = multi_step_time(self, &self->fixed[0]).median;
    experiment_section(self->report, "k times the batch on k simulated devices");
    for (int i = 1; i < KS; i++) {
        const way *how = &self->grown[i];
        spread seconds = multi_step_time(self, how);
        double gain = ks[i] * one / seconds.median;
        snprintf(what, sizeof what, "%d devices, batch %" PRId64 ", step", ks[i], how->batch);
        experiment_row(self->report, what, milliseconds(seconds), "ms", NAN,
                       1e3 * multi_predicted_seconds(self, how, &self->fixed[0]), "simulated");
        snprintf(what, sizeof what, "%d devices, samples/s against one device", ks[i]);
        experiment_row(self->report, what, spread_exact(gain), "ratio",
                       ks[i] == 2 ? book_resnet_seconds[0] / book_resnet_seconds[1] : (double)NAN,
                       ks[i], ks[i] == 2 ? "book: two GPUs, PyTorch, ResNet-18" : "simulated");
    }
    for (int i = 1; i < KS; i++) {
        const way *how = &self->grown[i];
        snprintf(what, sizeof what, "%d devices, %d times the batch: samples/s / %d of one's",
                 ks[i], ks[i], ks[i]);
        experiment_claim(self->report, what, one / multi_step_time(self, how).median, ">=", 0.9,
                         how->runs, repeat);
    }
}

static void report_all_reduce(multi *self)
{
    const struct {
        const char *name;
        const way *ways;
    } algorithms[] = {{"by one device", self->central}, {"each a part", self->parts}};
    char what[160];
    experiment_section(self->report, "How gradients are summed");
    for (int i = 1; i < KS; i++) {
        for (int a = 0; a < 2; a++) {
            const way *how = &algorithms[a].ways[i];
            snprintf(what, sizeof what, "%d devices, %s: step", ks[i], algorithms[a].name);
            experiment_row(self->report, what, milliseconds(multi_step_time(self, how)), "ms", NAN,
                           NAN, "simulated");
            snprintf(what, sizeof what, "%d devices, %s: between devices", ks[i],
                     algorithms[a].name);
            experiment_row(self->report, what, spread_exact(1e-6 * how->out_bytes), "MB/step", NAN,
                           1e-6 * multi_theory_bytes(how), "bound: 2(k-1) x parameters");
        }
    }
    experiment_say(
        self->report,
        "Both move the same bytes in all; summed by one device they all pass through its link, "
        "with parts each link has a k-th of them. Adding up is computing: it stands in line behind "
        "the backward pass, so that some sums are sent round when that has ended.");
    for (int i = 1; i < KS; i++) {
        for (int a = 0; a < 2; a++) {
            const way *how = &algorithms[a].ways[i];
            snprintf(what, sizeof what, "%d devices, %s: |bytes / theory - 1|", ks[i],
                     algorithms[a].name);
            experiment_claim(self->report, what, fabs(how->out_bytes / multi_theory_bytes(how) - 1),
                             "<=", 0.01, NULL, 0);
        }
    }
}

static void report_parts(multi *self)
{
    char what[160];
    experiment_section(self->report, "Where the time of a step goes");
    for (int i = 0; i < KS; i += KS - 1) {
        const step_parts *parts = &self->fixed[i].parts;
        const struct {
            const char *name;
            double seconds;
        } kinds[] = {{"convolutions", parts->convolution},
                     {"dense layers", parts->dense},
                     {"pooling", parts->pool},
                     {"relu", parts->relu},
                     {"loss, accuracy, update", parts->other},
                     {"backward pass, all of it", parts->backward},
                     {"sums of gradients", parts->collective},
                     {"of these beside the backward pass", parts->collective_in_backward}};
        for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++) {
            snprintf(what, sizeof what, "%d device%s: %s", ks[i], ks[i] > 1 ? "s" : "",
                     kinds[j].name);
            experiment_row(self->report, what, spread_exact(1e3 * kinds[j].seconds), "ms", NAN,
                           1e3 * parts->step, "simulated; bound: the step");
        }
    }
    const step_parts *most = &self->fixed[KS - 1].parts;
    experiment_say(self->report, "In a recorded run: while at least one device ran such a call.");
    experiment_claim(self->report, "8 devices: share of the sums that the backward pass hides",
                     most->collective_in_backward / most->collective, ">=", 0.5,
                     self->fixed[KS - 1].runs, (int)self->options->common.repeat);
}

static void report_cpu(multi *self)
{
    spread one = multi_step_time(self, &self->cpu[0]), two = multi_step_time(self, &self->cpu[1]);
    double epoch = 60000.0 / (double)self->options->batch;
    experiment_section(self->report, "CPU devices of one core each");
    experiment_row(self->report, "cpu:0, step", milliseconds(one), "ms", NAN, NAN, "");
    experiment_row(self->report, "cpu:0 and cpu:1, step", milliseconds(two), "ms", NAN,
                   1e3 * one.median / 2, "");
    experiment_row(self->report, "cpu:0, epoch of 60000", spread_exact(epoch * one.median), "s",
                   book_lenet_seconds[0], NAN, "extrapolated; book: one GPU, PyTorch");
    experiment_row(self->report, "cpu:0 and cpu:1, epoch", spread_exact(epoch * two.median), "s",
                   book_lenet_seconds[1], NAN, "extrapolated; book: two GPUs, PyTorch");
    experiment_claim(self->report, "cpu:0 and cpu:1: step, against cpu:0", two.median / one.median,
                     "<=", 0.75, NULL, 0);
    experiment_claim(self->report, "cpu:0 and cpu:1: losses, relative difference from cpu:0's",
                     training_loss_difference(&self->cpu[1].training, &self->cpu[0].training),
                     "<=", loss_bound, NULL, 0);
    experiment_claim(self->report, "sim:0: losses, relative difference from cpu:0's",
                     training_loss_difference(&self->fixed[0].training, &self->cpu[0].training),
                     "<=", loss_bound, NULL, 0);
}

/* ---- learning rate --------------------------------------------------------------------------------- */

static void report_learning_rate(multi *self)
{
    const double lr = 0.05;
    char what[160];
    double one = NAN, kept[KS] = {0}, scaled[KS] = {0};
    experiment_section(self->report, "k times the batch, and the learning rate with it");
    for (int i = 0; i < KS && !self->failed; i++) {
        int64_t batch = ks[i] * self->options->batch;
        kept[i] = multi_final_loss(self, ks[i], lr);
        one = i ? one : kept[i];
        snprintf(what, sizeof what, "batch %" PRId64 ", lr %g", batch, lr);
        experiment_row(self->report, what, spread_exact(kept[i]), "loss", NAN, one,
                       "bound: one device's");
        if (i == 0)
            continue;
        scaled[i] = multi_final_loss(self, ks[i], ks[i] * lr);
        snprintf(what, sizeof what, "batch %" PRId64 ", lr %g", batch, ks[i] * lr);
        experiment_row(self->report, what, spread_exact(scaled[i]), "loss", NAN, one,
                       "bound: one device's");
    }
    experiment_say(
        self->report,
        "Mean loss of the last quarter of the steps, after as many samples in all: 112 steps where "
        "the batch is 256; which devices compute does not change it, so cpu:0 does. Four and eight "
        "times the rate is too much for the few steps that are left: no claim.");
    if (!self->failed)
        experiment_claim(self->report, "2 times the batch: loss with lr x 2 / loss with lr",
                         scaled[1] / kept[1], "<=", 1, NULL, 0);
}

/* ---- accuracy -------------------------------------------------------------------------------------- */

static void report_accuracy(multi *self)
{
    timing times[2] = {{0}};
    double accuracies[2] = {0};
    experiment_section(self->report, "Accuracy on the test part, computed on all devices");
    for (int i = 0; i < 2 && !self->failed; i++)
        multi_test(self, i ? MAX_SIMS : 1, &times[i], &accuracies[i]);
    if (self->failed)
        return;
    double one = timing_seconds(&times[0]), all = timing_seconds(&times[1]);
    experiment_row(self->report, "1 device", spread_exact(one), "s", NAN, NAN, "simulated");
    experiment_row(self->report, "8 devices", spread_exact(all), "s", NAN, one / MAX_SIMS,
                   "simulated");
    experiment_row(self->report, "1 device, accuracy", spread_exact(accuracies[0]), "share", NAN,
                   NAN, "");
    experiment_row(self->report, "8 devices, accuracy", spread_exact(accuracies[1]), "share", NAN,
                   accuracies[0], "");
    experiment_claim(self->report, "test part: time on 8 devices / (time on 1 / 8)",
                     all * MAX_SIMS / one, "<=", 1.1, times, 2);
    experiment_claim(self->report, "test part: difference of the accuracies",
                     fabs(accuracies[0] - accuracies[1]), "<=", 0.001, NULL, 0);
}

/* ---- the command ----------------------------------------------------------------------------------- */

static void choose_ways(multi *self)
{
    int64_t batch = self->options->batch;
    for (int i = 0; i < KS; i++) {
        int k = ks[i];
        self->fixed[i] =
            (way){.devices = k, .batch = batch, .is_recorded = true, .is_picture = k == 2};
        self->grown[i] = (way){.devices = k, .batch = k * batch};
        self->alone[i] = (way){.devices = 1, .batch = batch / k, .is_recorded = true};
        self->central[i] = (way){.devices = k, .batch = batch, .all_reduce = HK_ALL_REDUCE_CENTRAL};
        self->parts[i] = (way){.devices = k, .batch = batch, .all_reduce = HK_ALL_REDUCE_PARTS};
    }
    for (int i = 0; i < 2; i++)
        self->cpu[i] = (way){.devices = i + 1, .batch = batch, .on_cpu = true};
}

static void measure_all(multi *self)
{
    for (int r = 0; r < self->options->common.repeat; r++) {
        for (int i = 0; i < KS; i++)
            multi_measure(self, &self->fixed[i], r);
        for (int i = 1; i < KS; i++) {
            multi_measure(self, &self->grown[i], r);
            multi_measure(self, &self->alone[i], r);
            multi_measure(self, &self->central[i], r);
            multi_measure(self, &self->parts[i], r);
        }
        for (int i = 0; i < 2; i++)
            multi_measure(self, &self->cpu[i], r);
    }
}

static void report_all(multi *self)
{
    experiment_say(
        self->report,
        "LeNet of the book, batch %" PRId64 ", %" PRId64
        " timed steps after one more; simulated devices of %.3g GFLOP/s, memory of %.3g GB/s, "
        "links of %.3g MB/s + 10 us each way and to each other: slow, so that this machine can "
        "compute for eight of them, with %.0f FLOP for each byte of a link.",
        self->options->batch, self->options->steps, 1e-9 * self->options->flops,
        2e-9 * self->options->flops, 1e-6 * self->options->link,
        self->options->flops / self->options->link);
    report_fixed(self);
    report_grown(self);
    report_all_reduce(self);
    report_parts(self);
    report_cpu(self);
    report_learning_rate(self);
    report_accuracy(self);
}

/* Returns the exit status. */
static int run_experiment(multi *self)
{
    bool opened = !hk_status_print(hk_data_set_status(self->train), stderr) &&
                  !hk_status_print(hk_data_set_status(self->test), stderr);
    if (!opened)
        return 1;
    self->report = experiment_create("multi", "LeNet on several devices", &self->options->common);
    choose_ways(self);
    measure_all(self);
    if (!self->failed)
        report_all(self);
    if (self->failed)
        experiment_claim(self->report, "trainings that could not be run", 1, "<=", 0, NULL, 0);
    return experiment_end(self->report);
}

static int run(int count, char **arguments)
{
    multi_options options = {
        .common.repeat = 3, .steps = 4, .batch = 256, .flops = 2e9, .link = 1e8};
    int status;
    if (!options_parse(&bench_multi_command, count, arguments, &options, NULL, 0, NULL, &status))
        return status;
    multi *self = calloc(1, sizeof *self);
    if (!self) {
        fprintf(stderr, "hocket: no host memory for the experiment\n");
        return 1;
    }
    self->options = &options;
    self->train = hk_data_set_open(options.data, HK_DATA_TRAIN, NULL);
    self->test = hk_data_set_open(options.data, HK_DATA_TEST, NULL);
    int result = run_experiment(self);
    hk_data_set_release(self->train);
    hk_data_set_release(self->test);
    free(self);
    return result;
}

const command bench_multi_command = {
    .name = "bench multi",
    .operands = "",
    .summary = "The book's LeNet on 1, 2, 4 and 8 simulated devices, and on 1 and 2 CPU devices.",
    .description =
        "Time and traffic of a step: the same batch on more devices, a batch that grows with\n"
        "them, both ways to sum gradients. Claimed: more devices are faster by what theory\n"
        "leaves, move the bytes that it says, and train to the same losses.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
