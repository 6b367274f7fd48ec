/* An experiment of `hocket bench`: what it measures, prints and claims, in one form for all.
 *
 * Times of simulated devices are the model's; the wall's time stands beside them, and a run in which the host could
 * not keep up with the model is host-bound, which fails every claim made of it. */
#ifndef HOCKET_CLI_EXPERIMENT_H
#define HOCKET_CLI_EXPERIMENT_H

#include "options.h"

#include <hocket/hocket.h>

typedef struct experiment experiment; /* of a run: experiment.c */

/* What every experiment has: the first fields of its options, by EXPERIMENT_ROWS. */
typedef struct experiment_options {
    bool json;         /* one object on stdout */
    bool markdown;     /* the tables as Markdown */
    const char *trace; /* FILE: Chrome trace of one run of the part that the experiment chooses */
    const char *svg;   /* FILE: the same as a picture */
    int64_t repeat;    /* of every measurement, interleaved; the median counts */
} experiment_options;

#define EXPERIMENT_ROWS(type)                                                                      \
    OPTION_HEADING("all experiments"),                                                             \
        OPTION_FLAG_ROW("json", type, common.json,                                                 \
                        "one JSON object on standard output, no table"),                           \
        OPTION_FLAG_ROW("markdown", type, common.markdown, "the tables as Markdown"),              \
        OPTION_TEXT_ROW("trace", type, common.trace, "FILE",                                       \
                        "write the timeline there, as Chrome's JSON"),                             \
        OPTION_TEXT_ROW("svg", type, common.svg, "FILE",                                           \
                        "write the timeline there, as a picture"),                                 \
        OPTION_INT_ROW("repeat", type, common.repeat, 1, 1000,                                     \
                       "repetitions; the median counts (default 3, of parallel 7)")

/* A run of the devices: what it took. */
typedef struct timing {
    int64_t wall_ns;
    /* Until the last end of a simulated queue, or of a CPU device that ran beside it; wall_ns where no simulated
     * device ran. */
    int64_t model_ns;
    int64_t late_ns;    /* the most by which the host was behind the model */
    int64_t begin_ns;   /* on hk_clock_ns's axis */
    uint64_t cpu_calls; /* that CPU devices had finished by then */
} timing;

/* Both block until everything that has been issued has finished, begin before it begins. */
void timing_begin(timing *self);
void timing_end(timing *self);
/* What counts: the model's time where there is one. */
double timing_seconds(const timing *self);
/* Whether the host was too late for the model's times to be believed: by more than 2 ms and 5 % of them. */
bool timing_is_host_bound(const timing *self);

/* Medians, with the least and the most, of several. */
typedef struct spread {
    double median, low, high;
} spread;
spread spread_of(const double *values, int count);
/* Of one number, exact or computed. */
spread spread_exact(double value);

/* name: of the command, title: a line for people. */
experiment *experiment_create(const char *name, const char *title,
                              const experiment_options *options);

/* Starts a runtime, which experiment_runtime_end ends. False when it cannot start: that is printed, and fails the
 * experiment; so does a call that has failed by the end. */
bool experiment_runtime_begin(experiment *self, const hk_runtime_options *options);
void experiment_runtime_end(experiment *self);

/* A section of the report: its heading, then rows. `unit`: "ms", "s", "us", "calls/s", "ratio", ... */
void experiment_section(experiment *self, const char *title);
/* A measurement. book: what the book printed, NAN: nothing; bound: what theory gives, NAN: none; both of the same
 * unit. note: "" or "simulated", or whatever is to be said. */
void experiment_row(experiment *self, const char *what, spread ours, const char *unit, double book,
                    double bound, const char *note);
/* A line of text in the report. */
void experiment_say(experiment *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A claim: `value` is to be at most ("<=") or at least (">=") `limit`. runs: the timings that it rests on; one that is
 * host-bound fails the claim and is named. */
void experiment_claim(experiment *self, const char *what, double value, const char *relation,
                      double limit, const timing *runs, int run_count);

/* Runs `body` once with a recording, and writes what --trace and --svg ask for; does nothing when neither was given. */
void experiment_trace(experiment *self, void (*body)(void *), void *argument);
/* Prints the report, or its JSON; destroys it. Returns the exit status: 1 when a claim failed or a file could not be
 * written. */
int experiment_end(experiment *self);

/* The experiments: commands under `hocket bench`. */
extern const command bench_async_command, bench_parallel_command, bench_overlap_command,
    bench_graph_command, bench_multi_command, bench_split_command, bench_split_network_command;

#endif
