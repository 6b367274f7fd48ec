/* hocket bench overlap: computing and copying at once. The second half of the book's "Automatic Parallelism". */
#include "experiment.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The book's figures: those printed in its PyTorch edition, 50 products 4000 x 4000 on a GPU of its build machine. */
#define BOOK "book: PyTorch, 50 products 4000 x 4000"

typedef struct overlap_options {
    experiment_options common;
    int64_t size, count;
    double flops;
} overlap_options;

static const option_row rows[] = {
    OPTION_INT_ROW("size", overlap_options, size, 1, 20000,
                   "rows and columns of the matrices (default 640)"),
    OPTION_INT_ROW("count", overlap_options, count, 1, 1000, "products, and copies (default 10)"),
    OPTION_NUMBER_ROW("flops", overlap_options, flops, 1e6, 1e15,
                      "floating-point operations a second of the simulated accelerator, for\n"
                      "which a core must do more (default 2e10)"),
    EXPERIMENT_ROWS(overlap_options),
};

typedef struct overlap_run {
    overlap_options options;
    experiment *report;
    hk_device device, host;
    hk_array *x;        /* on the device: what is multiplied by itself */
    hk_array **results; /* on the device: count products */
    hk_array **targets; /* on the host: ordinary memory, count of them */
    hk_array **sources; /* on the host: pinned, count of them */
    timing *runs;       /* WAYS * repeat of them, by way */
    timing *evidence;   /* room for as many: those that a claim rests on */
    double *values;     /* repeat of them */
} overlap_run;

/* ---- what is measured ------------------------------------------------------------------------------ */

static void compute(overlap_run *self)
{
    for (int64_t i = 0; i < self->options.count; i++)
        hk_matmul(self->x, self->x);
}

/* Results of hk_to_device on the host are pinned. */
static void copy_out(overlap_run *self)
{
    for (int64_t i = 0; i < self->options.count; i++)
        hk_to_device(self->results[i], self->host);
}

static void copy_out_pageable(overlap_run *self)
{
    for (int64_t i = 0; i < self->options.count; i++)
        hk_assign(self->targets[i], self->results[i]);
}

static void copy_in(overlap_run *self)
{
    for (int64_t i = 0; i < self->options.count; i++)
        hk_to_device(self->sources[i], self->device);
}

static void compute_and_copy(overlap_run *self)
{
    for (int64_t i = 0; i < self->options.count; i++)
        hk_to_device(hk_matmul(self->x, self->x), self->host);
}

static void compute_and_copy_pageable(overlap_run *self)
{
    for (int64_t i = 0; i < self->options.count; i++)
        hk_assign(self->targets[i], hk_matmul(self->x, self->x));
}

static void copy_both_ways(overlap_run *self)
{
    for (int64_t i = 0; i < self->options.count; i++) {
        hk_to_device(self->sources[i], self->device);
        hk_to_device(self->results[i], self->host);
    }
}

static void all_at_once(overlap_run *self)
{
    for (int64_t i = 0; i < self->options.count; i++) {
        hk_to_device(self->sources[i], self->device);
        hk_to_device(hk_matmul(self->x, self->x), self->host);
    }
}

typedef struct way {
    const char *what;
    void (*run)(overlap_run *self);
    double book_ms; /* NAN: none */
} way;

enum { RUN, OUT, OUT_PAGEABLE, IN, RUN_OUT, RUN_OUT_PAGEABLE, IN_OUT, ALL, WAYS };
static const way ways[WAYS] = {
    [RUN] = {"run", compute, 465.6},
    [OUT] = {"copy to host", copy_out, NAN},
    [OUT_PAGEABLE] = {"copy to host, pageable", copy_out_pageable, 2312.5},
    [IN] = {"copy to device", copy_in, NAN},
    [RUN_OUT] = {"run and copy to host", compute_and_copy, NAN},
    [RUN_OUT_PAGEABLE] = {"run and copy to host, pageable", compute_and_copy_pageable, 1690.7},
    [IN_OUT] = {"copy both ways", copy_both_ways, NAN},
    [ALL] = {"run and copy both ways", all_at_once, NAN},
};

/* Of which others each of the latter ways consists. In a chain the items of the second part wait for those of the
 * first. */
static const struct {
    int whole, parts[3], part_count;
    bool is_chain;
} overlaps[] = {
    {RUN_OUT, {RUN, OUT}, 2, true},
    {RUN_OUT_PAGEABLE, {RUN, OUT_PAGEABLE}, 2, true},
    {IN_OUT, {IN, OUT}, 2, false},
    {ALL, {RUN, OUT, IN}, 3, true},
};
enum { OVERLAP_COUNT = sizeof overlaps / sizeof *overlaps };

/* ---- measuring ------------------------------------------------------------------------------------- */

static void trace_body(void *argument)
{
    HK_SCOPE;
    overlap_run *self = argument;
    ways[ALL].run(self);
}

static void make_arrays(overlap_run *self)
{
    int64_t n = self->options.size;
    self->device = hk_device_named("sim:0");
    self->host = hk_device_named("cpu:0");
    self->x = hk_random_uniform(hk_shape(n, n), HK_F32, self->device);
    for (int64_t i = 0; i < self->options.count; i++) {
        self->results[i] = hk_matmul(self->x, self->x);
        self->targets[i] = hk_zeros(hk_shape(n, n), HK_F32, self->host);
        self->sources[i] = hk_pin(hk_zeros(hk_shape(n, n), HK_F32, self->host));
    }
    hk_wait_all();
}

static spread times_of(overlap_run *self, int which)
{
    int repeat = (int)self->options.common.repeat;
    for (int i = 0; i < repeat; i++)
        self->values[i] = 1e3 * timing_seconds(&self->runs[which * repeat + i]);
    return spread_of(self->values, repeat);
}

/* What an overlap is made of, in milliseconds. */
typedef struct parts {
    double longest, sum;
    double
        item; /* of a chain: what one link of it waits for the other, at the beginning or the end */
} parts;

static parts parts_of(const overlap_run *self, const spread *times, int index)
{
    parts result = {0};
    for (int i = 0; i < overlaps[index].part_count; i++) {
        double part = times[overlaps[index].parts[i]].median;
        result.sum += part;
        result.longest = fmax(result.longest, part);
    }
    const int *chain = overlaps[index].parts;
    if (overlaps[index].is_chain)
        result.item =
            fmin(times[chain[0]].median, times[chain[1]].median) / (double)self->options.count;
    return result;
}

static void report_way(overlap_run *self, const spread *times, int index, bool is_book,
                       double bound, const char *note)
{
    char text[150];
    bool has_figure = is_book && !isnan(ways[index].book_ms);
    snprintf(text, sizeof text, "%s%s%s", note, has_figure && *note ? "; " : "",
             has_figure ? BOOK : "");
    experiment_row(self->report, ways[index].what, times[index], "ms",
                   has_figure ? ways[index].book_ms : NAN, bound, text);
}

/* That ways[whole] takes at most what its parts allow, which rests on the runs of all of them. */
static void claim(overlap_run *self, const spread *times, int index)
{
    char what[150];
    int repeat = (int)self->options.common.repeat, whole = overlaps[index].whole, count = 0;
    size_t bytes = (size_t)repeat * sizeof *self->runs;
    parts of = parts_of(self, times, index);
    memcpy(self->evidence, &self->runs[whole * repeat], bytes);
    for (count = 0; count < overlaps[index].part_count; count++)
        memcpy(&self->evidence[(count + 1) * repeat],
               &self->runs[overlaps[index].parts[count] * repeat], bytes);
    snprintf(what, sizeof what, "%s: ms, against 1.05 x the longest part%s", ways[whole].what,
             of.item > 0 ? " + one item" : "");
    experiment_claim(self->report, what, times[whole].median, "<=", 1.05 * of.longest + of.item,
                     self->evidence, (count + 1) * repeat);
}

static void report(overlap_run *self, bool is_book)
{
    int repeat = (int)self->options.common.repeat;
    spread times[WAYS];
    for (int i = 0; i < WAYS; i++)
        times[i] = times_of(self, i);
    for (int i = RUN; i <= IN; i++)
        report_way(self, times, i, is_book, NAN, "");
    for (int i = 0; i < OVERLAP_COUNT; i++) {
        char note[60];
        parts of = parts_of(self, times, i);
        snprintf(note, sizeof note, "one after the other: %.4g ms", of.sum);
        report_way(self, times, overlaps[i].whole, is_book, of.longest + of.item, note);
    }
    for (int i = 0; i < repeat; i++)
        self->values[i] = 1e-6 * (double)self->runs[ALL * repeat + i].wall_ns;
    experiment_row(self->report, "run and copy both ways, by the wall clock",
                   spread_of(self->values, repeat), "ms", NAN, NAN, "");
    for (int i = 0; i < OVERLAP_COUNT; i++)
        claim(self, times, i);
    experiment_claim(self->report, "copy to pinned memory against pageable memory",
                     times[OUT].median / times[OUT_PAGEABLE].median, "<=", 0.9,
                     &self->runs[OUT * repeat], repeat);
}

static void measure(overlap_run *self, const char *what, double link, double staging, bool is_first)
{
    hk_sim_options model = {.flops = self->options.flops,
                            .memory_bandwidth = 1e11,
                            .link_bandwidth = link,
                            .staging_bandwidth = staging};
    int repeat = (int)self->options.common.repeat;
    hk_runtime_options runtime = {.cpu_cores = 1, .sim = &model, .sim_count = 1};
    char title[300];
    snprintf(title, sizeof title,
             "%" PRId64 " products %" PRId64 " x %" PRId64 " on an accelerator (simulated), %s",
             self->options.count, self->options.size, self->options.size, what);
    experiment_section(self->report, title);
    if (!experiment_runtime_begin(self->report, &runtime))
        return;
    experiment_say(self->report, "%s", hk_device_description(hk_device_named("sim:0")));
    {
        HK_SCOPE;
        make_arrays(self);
        for (int i = 0; i < repeat; i++) {
            for (int j = 0; j < WAYS; j++) {
                HK_SCOPE;
                timing *time = &self->runs[j * repeat + i];
                timing_begin(time);
                ways[j].run(self);
                timing_end(time);
            }
        }
        if (is_first)
            experiment_trace(self->report, trace_body, self);
    }
    experiment_runtime_end(self->report);
    report(self, !is_first);
}

/* ---- the command ----------------------------------------------------------------------------------- */

static bool allocate(overlap_run *self)
{
    size_t count = (size_t)self->options.count, repeat = (size_t)self->options.common.repeat;
    self->results = calloc(count, sizeof(hk_array *));
    self->targets = calloc(count, sizeof(hk_array *));
    self->sources = calloc(count, sizeof(hk_array *));
    self->runs = calloc(WAYS * repeat, sizeof *self->runs);
    self->evidence = calloc(WAYS * repeat, sizeof *self->evidence);
    self->values = calloc(repeat, sizeof *self->values);
    return self->results && self->targets && self->sources && self->runs && self->evidence &&
           self->values;
}

static int run(int count, char **arguments)
{
    int status, result = 1;
    overlap_run self = {.options = {.common.repeat = 3, .size = 640, .count = 10, .flops = 2e10}};
    if (!options_parse(&bench_overlap_command, count, arguments, &self.options, NULL, 0, NULL,
                       &status))
        return status;
    if (allocate(&self)) {
        /* Links as slow in proportion as the accelerator is. */
        self.report =
            experiment_create("overlap", bench_overlap_command.summary, &self.options.common);
        measure(&self, "copying is faster than computing", 1e8, 4e8, true);
        measure(&self, "copying is slower than computing, as in the book", 4e7, 1e8, false);
        result = experiment_end(self.report);
    } else {
        fprintf(stderr, "hocket: no host memory for the times of %" PRId64 " repetitions\n",
                self.options.common.repeat);
    }
    free(self.results);
    free(self.targets);
    free(self.sources);
    free(self.runs);
    free(self.evidence);
    free(self.values);
    return result;
}

const command bench_overlap_command = {
    .name = "bench overlap",
    .operands = "",
    .summary = "Computing and copying at once, in both directions.",
    .description =
        "A result can be copied to the host while the next one is computed. Copies from and to\n"
        "pinned memory are direct; those from and to ordinary (pageable) memory of the host are\n"
        "staged through a pinned buffer, which takes longer. Repetitions are interleaved.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
