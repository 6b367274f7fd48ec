/* What bench_engine's parts have in common: requirements that hold or do not, and how numbers are printed. */
#ifndef HOCKET_BENCH_ENGINE_REPORT_H
#define HOCKET_BENCH_ENGINE_REPORT_H

#include "bench_util.h"

#include <stdbool.h>
#include <stdio.h>

enum { REPORT_MAX_REPEAT = 51 };

/* Notes a requirement, said in printf's words, for report_print_requirements. */
void report_require(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line for each: PASS or FAIL. */
void report_print_requirements(void);
/* As a JSON array. */
void report_json_requirements(FILE *file);

/* Median and spread of `count` values, which keep their order; negative ones are left out. All zero: none is left. */
bench_spread report_spread(const double *values, int count);
/* Of a[i] / b[i], where both are there. */
bench_spread report_ratio(const double *a, const double *b, int count);

/* "62 (   60…   69)", right-aligned; a dash where there is nothing. */
void report_print_spread(bench_spread spread, int digits);
/* {"median": 1, "min": 1, "max": 1}, or null. */
void report_json_spread(FILE *file, bench_spread spread);
/* null for what is no finite number. */
void report_json_number(FILE *file, double value);

#endif
