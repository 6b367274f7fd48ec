/* hocket bench split-network: one network split over simulated devices by layer, by network and by data. */
#include "split_network.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const option_row rows[] = {
    OPTION_INT_ROW("devices", split_network_options, devices, 2, MAX_PARTS,
                   "simulated ones, and blocks of the network (default 4)"),
    OPTION_INT_ROW("micro-batches", split_network_options, batches, 1, 64,
                   "of a pipeline (default 8)"),
    OPTION_INT_ROW("batch-size", split_network_options, batch, 1, 65536,
                   "a multiple of both (default 512)"),
    OPTION_INT_ROW("width", split_network_options, width, 1, 4096,
                   "features of each layer, a multiple of the devices\n"
                   "(default 128)"),
    OPTION_NUMBER_ROW("flops", split_network_options, flops, 1e6, 1e15,
                      "FLOP/s of a simulated device; this machine has to keep\n"
                      "up with all of them (default 1e9)"),
    OPTION_NUMBER_ROW("link", split_network_options, link, 1e5, 1e12,
                      "bytes/s of each of their links (default 1e9)"),
    EXPERIMENT_ROWS(split_network_options),
};

static const double latency = 10e-6; /* of a copy, and of launching a call: the defaults */

static const struct {
    const char *title, *what;
} names[WAY_COUNT] = {
    [WHOLE] = {"The whole network on one device", "one device"},
    [BY_LAYER] = {"By layer: columns, then rows, of each block", "by layer"},
    [GPIPE] = {"By network, GPipe: a block on each device", "by network, GPipe"},
    [ONE_F_ONE_B] = {"By network, 1F1B", "by network, 1F1B"},
    [BY_DATA] = {"By data, optimiser's state sharded (ZeRO-1)", "by data"},
};

/* ---- formulas --------------------------------------------------------------------------------------------------------- */

static double float_bytes(double count)
{
    return count * (double)sizeof(float);
}

/* What goes from block to block, of the whole batch. */
static double activation_bytes(const split_network *self)
{
    return float_bytes((double)self->batch * (double)self->width);
}

static double parameter_bytes(const split_network *self)
{
    return float_bytes((double)self->weights);
}

/* p - 1 of m + p - 1 parts of the time. */
static double pipeline_bubble(const split_network *self)
{
    return (self->devices - 1.0) / (self->batches + self->devices - 1.0);
}

static double traffic_formula(const split_network *self, way_name name)
{
    const double p = self->devices;
    switch (name) {
    case BY_LAYER:
        return PAIRS * p * 4 * (p - 1) * activation_bytes(self); /* there and back, both ways */
    case GPIPE:
    case ONE_F_ONE_B:
        return 2 * (p - 1) * activation_bytes(self);
    case BY_DATA:
        return 2 * (p - 1) * parameter_bytes(self);
    default:
        return 0;
    }
}

/* What has to stay until it is read: weights and their gradients; inputs and theirs; and of each block what the layers give. */
static double memory_formula(const split_network *self, way_name name)
{
    const double p = self->devices, m = self->batches, x = activation_bytes(self);
    const double both = 2 * parameter_bytes(self), held = fmin(p, m) / m;
    switch (name) {
    case BY_LAYER:
        return both / p + (2 + PAIRS * p * (1 + 1 / p)) * x;
    case GPIPE:
        return both / p + (2 + LAYERS) * x;
    case ONE_F_ONE_B:
        return both / p + (1 + (1 + LAYERS) * held) * x;
    case BY_DATA:
        return both + parameter_bytes(self) / p + (2 + LAYERS * p) * x / p;
    default:
        return both + (2 + LAYERS * p) * x;
    }
}

static double most_of(const double *values, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, values[i]);
    return most;
}

static double median_seconds(const split_network *self, way_name name)
{
    return spread_of(self->ways[name].seconds, (int)self->options->common.repeat).median;
}

static int hops(int devices)
{
    int count = 0;
    for (int n = devices; n > 1; n -= n / 2)
        count++;
    return count;
}

/* Pipelines: by what their busiest device computes for a micro-batch; others: by what one device takes for all. */
static double time_formula(const split_network *self, way_name name)
{
    const double p = self->devices, m = self->batches, link = self->options->link;
    const double whole = median_seconds(self, WHOLE);
    const double copy = latency + activation_bytes(self) / link;
    const double add = latency + 3 * activation_bytes(self) / (2 * self->options->flops);
    switch (name) {
    case BY_LAYER:
        return whole / p + PAIRS * p * 2 * (copy * (p - 1) + (copy + add) * hops(self->devices));
    case GPIPE:
    case ONE_F_ONE_B:
        return (m + p - 1) * most_of(self->ways[name].busy, self->devices) / m;
    case BY_DATA:
        return whole / p + 2 * (p - 1) / p * parameter_bytes(self) / link;
    default:
        return NAN;
    }
}

/* The part of the devices' time in which they do not compute. */
static double bubble(const split_network *self, way_name name)
{
    const way *how = &self->ways[name];
    const int count = name == WHOLE ? 1 : self->devices;
    const double seconds = how->seconds[self->options->common.repeat - 1];
    double busy = 0;
    for (int d = 0; d < count; d++)
        busy += how->busy[d];
    return 1 - busy / (count * seconds);
}

static double bubble_formula(const split_network *self, way_name name)
{
    if (name == GPIPE || name == ONE_F_ONE_B)
        return pipeline_bubble(self);
    return name == WHOLE
               ? 0
               : 1 - median_seconds(self, WHOLE) / self->devices / time_formula(self, name);
}

/* The norm of the difference from the whole network's gradients, by theirs. */
static double gradient_difference(const split_network *self, way_name name)
{
    const float *ours = self->ways[name].gradients, *theirs = self->ways[WHOLE].gradients;
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < self->weights; i++) {
        difference += pow((double)ours[i] - (double)theirs[i], 2);
        norm += pow((double)theirs[i], 2);
    }
    return sqrt(difference / norm);
}

/* ---- the report --------------------------------------------------------------------------------------------------------- */

static void report_way(split_network *self, way_name name)
{
    const way *how = &self->ways[name];
    experiment *report = self->report;
    const spread time = spread_of(how->seconds, (int)self->options->common.repeat);
    experiment_section(report, names[name].title);
    experiment_row(report, "time", (spread){1e3 * time.median, 1e3 * time.low, 1e3 * time.high},
                   "ms", NAN, 1e3 * time_formula(self, name), "simulated");
    experiment_row(report, "bubble: devices' time without computing",
                   spread_exact(100 * bubble(self, name)), "%", NAN,
                   100 * bubble_formula(self, name), "simulated");
    experiment_row(report, "traffic between devices", spread_exact(1e-6 * how->traffic), "MB", NAN,
                   1e-6 * traffic_formula(self, name), "");
    experiment_row(report, "memory of the fullest device",
                   spread_exact(1e-6 * most_of(how->memory, self->devices)), "MB", NAN,
                   1e-6 * memory_formula(self, name), "");
    if (name == BY_DATA)
        experiment_row(report, "of that the optimiser's state", spread_exact(1e-6 * how->state),
                       "MB", NAN, 1e-6 * parameter_bytes(self) / self->devices, "");
}

/* value is to be within `part` of what the formula says. */
static void claim_near(split_network *self, way_name name, const char *what, double value,
                       double formula, double part, bool is_timed)
{
    char text[160];
    snprintf(text, sizeof text, "%s: %s, relative difference from the formula's", names[name].what,
             what);
    experiment_claim(self->report, text, fabs(value / formula - 1), "<=", part,
                     is_timed ? self->ways[name].runs : NULL,
                     is_timed ? (int)self->options->common.repeat : 0);
}

static void claim_all(split_network *self)
{
    char text[160];
    for (way_name name = BY_LAYER; name < WAY_COUNT; name++) {
        snprintf(text, sizeof text, "%s: gradients, relative difference from one device's",
                 names[name].what);
        experiment_claim(self->report, text, gradient_difference(self, name), "<=", 1e-4, NULL, 0);
        claim_near(self, name, "traffic", self->ways[name].traffic, traffic_formula(self, name),
                   0.01, false);
        claim_near(self, name, "time", median_seconds(self, name), time_formula(self, name), 0.1,
                   true);
        if (name == GPIPE || name == ONE_F_ONE_B)
            claim_near(self, name, "bubble", bubble(self, name), pipeline_bubble(self), 0.1, true);
    }
    claim_near(self, BY_DATA, "optimiser's state", self->ways[BY_DATA].state,
               parameter_bytes(self) / self->devices, 0.01, false);
    const double gpipe = most_of(self->ways[GPIPE].memory, self->devices);
    if (self->batches > self->devices)
        experiment_claim(self->report, "1F1B: memory, against GPipe's",
                         most_of(self->ways[ONE_F_ONE_B].memory, self->devices) / gpipe, "<=", 1,
                         NULL, 0);
}

static void report_all(split_network *self)
{
    experiment *report = self->report;
    experiment_say(report,
                   "%d blocks of %d dense layers, %" PRId64 " features, batch %" PRId64
                   ", on %d devices; %d micro-batches in pipelines. A pass is forward and "
                   "backward; by data also sums of gradients, a step of momentum, and copies of "
                   "parameters.",
                   self->devices, LAYERS, self->width, self->batch, self->devices, self->batches);
    for (way_name name = WHOLE; name < WAY_COUNT; name++)
        report_way(self, name);
    experiment_say(
        report,
        "Bounds, with p devices, m micro-batches, weights W, and what goes from block to block X, "
        "in "
        "bytes. Time: m + p - 1 times a device's computing for a micro-batch; by layer and by data "
        "a "
        "p-th of one device's, and what is moved and added up. Bubble: (p - 1) / (m + p - 1); "
        "somewhat less, since "
        "a "
        "stage goes on when it has its gradient, before the one behind it has those of all its "
        "weights. Traffic: 2 (p - 1) X; by layer %d p (p - 1) X; by data 2 (p - 1) W. Memory: what "
        "has to stay, weights, gradients, state, and what layers give.",
        4 * PAIRS);
    experiment_section(report, "Claims");
    claim_all(self);
}

/* Returns the exit status. */
static int run_experiment(split_network *self)
{
    self->report =
        experiment_create("split-network", "A network split over several devices in three ways",
                          &self->options->common);
    for (int r = 0; r < self->options->common.repeat; r++)
        for (way_name name = WHOLE; name < WAY_COUNT; name++)
            split_network_measure(self, name, r);
    if (self->failed)
        experiment_claim(self->report, "passes that could not be run", 1, "<=", 0, NULL, 0);
    else
        report_all(self);
    return experiment_end(self->report);
}

static int run(int count, char **arguments)
{
    split_network_options options = {.common.repeat = 3,
                                     .devices = 4,
                                     .batches = 8,
                                     .batch = 512,
                                     .width = 128,
                                     .flops = 1e9,
                                     .link = 1e9};
    int status;
    if (!options_parse(&bench_split_network_command, count, arguments, &options, NULL, 0, NULL,
                       &status))
        return status;
    if (options.batch % options.batches || options.batch % options.devices)
        return options_complain(&bench_split_network_command,
                                "--batch-size is %" PRId64
                                ", but must be a multiple of the %" PRId64
                                " micro-batches and of the %" PRId64 " devices",
                                options.batch, options.batches, options.devices);
    if (options.width % options.devices)
        return options_complain(&bench_split_network_command,
                                "--width is %" PRId64 ", but must be a multiple of the %" PRId64
                                " devices",
                                options.width, options.devices);
    split_network *self = calloc(1, sizeof *self);
    int result = 1;
    if (self && split_network_init(self, &options))
        result = run_experiment(self);
    else
        fprintf(stderr, "hocket: no host memory for the experiment\n");
    if (self)
        split_network_deinit(self);
    free(self);
    return result;
}

const command bench_split_network_command = {
    .name = "bench split-network",
    .operands = "",
    .summary = "A network split over devices: by layer, by network, by data.",
    .description =
        "One network of dense layers on one simulated device, and split over several: columns\n"
        "and rows of its layers; pipelines, GPipe's and 1F1B; and shares of the batch with the\n"
        "optimiser's state sharded. Time, bubble, traffic and memory of each stand beside their\n"
        "formulas. Claimed: gradients are those of the whole network; the pipelines' bubble is\n"
        "within 10 % of (p - 1) / (m + p - 1); traffic and state are what the formulas say.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
