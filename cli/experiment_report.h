/* What an experiment has to tell, and its three forms: text, Markdown, JSON. */
#ifndef HOCKET_CLI_EXPERIMENT_REPORT_H
#define HOCKET_CLI_EXPERIMENT_REPORT_H

#include "experiment.h"

typedef enum report_kind { REPORT_SECTION, REPORT_ROW, REPORT_TEXT, REPORT_CLAIM } report_kind;

/* One line of a report. */
typedef struct report_line {
    report_kind kind;
    char *what; /* owned: title, name of the row, text, or what is claimed */
    char *note; /* owned: of a row; of a claim, why it does not hold, "" where it does */
    const char *unit, *relation; /* static texts */
    spread ours;
    double book, bound;  /* of a row; NAN: none */
    double value, limit; /* of a claim */
    bool holds;
} report_line;

typedef struct report {
    const char *name, *title; /* borrowed */
    int64_t repeat;
    bool passed;
    report_line *lines; /* owned: count of them */
    int count, capacity;
} report;

/* A new line at the end, zeroed but for its kind and copies of `what` and `note`; NULL when memory is short. */
report_line *report_add(report *self, report_kind kind, const char *what, const char *note);
void report_deinit(report *self);

/* Lines begin ... count-1, whose sections are complete. */
void report_print_text(const report *self, int begin, FILE *stream);
void report_print_markdown(const report *self, int begin, FILE *stream);
/* All of it, as one object on one line. */
void report_print_json(const report *self, FILE *stream);

#endif
