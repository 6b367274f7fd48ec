/* Curves as SVG. */
#ifndef HOCKET_BENCH_CHART_H
#define HOCKET_BENCH_CHART_H

#include <stdbool.h>

enum { CHART_MAX_POINTS = 32, CHART_MAX_SERIES = 8 };

typedef struct chart_series {
    const char *name;
    int count;
    double x[CHART_MAX_POINTS], y[CHART_MAX_POINTS];
} chart_series;

typedef struct chart {
    const char *title, *x_label, *y_label;
    bool y_log;    /* x always is */
    double y_mark; /* a line across; 0: none */
    int series_count;
    chart_series series[CHART_MAX_SERIES];
} chart;

/* Writes them into one file, two side by side. What is not finite, or not above 0, is left out. False: errno says why
 * not. */
bool charts_write(const char *path, const chart *charts, int count);

#endif
