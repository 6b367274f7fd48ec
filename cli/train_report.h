/* What `hocket train` says while it works: a progress bar, lines, JSON, the curves. */
#ifndef HOCKET_CLI_TRAIN_REPORT_H
#define HOCKET_CLI_TRAIN_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One epoch, or what there is of one. */
typedef struct epoch_row {
    int64_t epoch; /* from 1 */
    int64_t steps, samples;
    double loss, train_accuracy, test_accuracy;
    double seconds; /* of training */
} epoch_row;

typedef struct train_report {
    bool json;              /* one object per epoch on stdout, lines for people on stderr */
    bool bar, colour;       /* set by train_report_init */
    const char *devices;    /* "cpu:0, cpu:1" */
    const char *ranks_text; /* " on each of 4 ranks", or "" */
    int ranks;
    bool is_simulated;     /* some of them are: times are a model's, which is told */
    int64_t epochs, steps; /* to come; steps in each epoch */
    int64_t batch_size;
    uint64_t seed;
    double lr;
    double drawn_at;
    bool on_screen; /* a bar is */
} train_report;

/* The bar is for a stderr that is a terminal; NO_COLOR and TERM=dumb are respected. */
void train_report_init(train_report *self);
/* The bar, at most ten times a second. */
void train_report_step(train_report *self, const epoch_row *so_far, double now);
void train_report_testing(train_report *self, int64_t epoch);
/* Takes the bar off the screen. */
void train_report_clear(train_report *self);
void train_report_epoch(train_report *self, const epoch_row *row);
/* Of a first epoch that, after many steps, is no better than guessing one of `classes`: says so,
 * and whether that is usual, so that a slow start is told from a fault. init: where the parameters
 * came from, or NULL. */
void train_report_guessing(const epoch_row *row, int classes, const char *model, const char *init);
void train_report_interrupted(train_report *self, const epoch_row *row);
/* The last line: as the book has it, when `epochs` whole epochs took `seconds`; with what was done when
 * there was no whole one. */
void train_report_end(train_report *self, const epoch_row *last, int64_t epochs, double seconds);

/* The curves of loss and accuracies as an SVG picture. False when they cannot be written. */
bool curves_write(FILE *file, const epoch_row *rows, int64_t count, const char *title);

#endif
