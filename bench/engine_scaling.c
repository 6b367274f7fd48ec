#include "engine_scaling.h"

#include "chart.h"
#include "engine_report.h"
#include "engine_scaling_runs.h"

#include <math.h>

enum { AXES = 5, MAX_STEPS = 8, MAX_SERIES = 4 };

/* Beyond this the table says that a series is not flat. */
static const double flat = 1.5;

static const struct {
    const char *name;
    int step_count;
    long steps[MAX_STEPS];
    int series_count;
    struct {
        const char *name;
        scaling_run run;
        bool in_caller;
    } series[MAX_SERIES];
} scales[AXES] = {
    {"issuing threads",
     5,
     {1, 2, 3, 4, 8},
     4,
     {{"chain, in the caller", scaling_run_threads_chain, true},
      {"chain, handed over", scaling_run_threads_chain, false},
      {"independent, in the caller", scaling_run_threads_independent, true},
      {"independent, handed over", scaling_run_threads_independent, false}}},
    {"CPU devices",
     7,
     {1, 2, 4, 8, 16, 32, 64},
     4,
     {{"chain, in the caller", scaling_run_devices_chain, true},
      {"chain, handed over", scaling_run_devices_chain, false},
      {"independent, in the caller", scaling_run_devices_independent, true},
      {"independent, handed over", scaling_run_devices_independent, false}}},
    {"simulated devices",
     6,
     {1, 2, 4, 8, 16, 32},
     2,
     {{"chain", scaling_run_sims_chain, false},
      {"independent", scaling_run_sims_independent, false}}},
    {"unfinished readers",
     5,
     {1, 10, 100, 1000, 10000},
     4,
     {{"chain elsewhere", scaling_run_readers_chain, true},
      {"one more reader", scaling_run_readers_read, true},
      {"issuing a reader", scaling_run_readers_issue, true},
      {"finishing it, and a writer", scaling_run_readers_finish, true}}},
    {"live arrays",
     7,
     {1, 10, 100, 1000, 10000, 100000, 1000000},
     4,
     {{"chain, in the caller", scaling_run_live_chain, true},
      {"chain, handed over", scaling_run_live_chain, false},
      {"all in turns, in the caller", scaling_run_live_all, true},
      {"all in turns, handed over", scaling_run_live_all, false}}},
};

static struct {
    int repeat;
    bench_spread ns[AXES][MAX_SERIES][MAX_STEPS];
} self;

bool scaling_measure(int repeat)
{
    static double ns[AXES][MAX_SERIES][MAX_STEPS][REPORT_MAX_REPEAT];
    self.repeat = repeat;
    for (int r = 0; r < repeat; r++) {
        fprintf(stderr, "scaling: round %d of %d\n", r + 1, repeat);
        for (int a = 0; a < AXES; a++)
            for (int i = 0; i < scales[a].step_count; i++)
                for (int s = 0; s < scales[a].series_count; s++) {
                    double got =
                        scales[a].series[s].run(scales[a].steps[i], scales[a].series[s].in_caller);
                    if (got < 0) {
                        fprintf(stderr, "bench_engine: no memory or no thread for %ld %s\n",
                                scales[a].steps[i], scales[a].name);
                        return false;
                    }
                    ns[a][s][i][r] = got;
                }
    }
    for (int a = 0; a < AXES; a++)
        for (int s = 0; s < scales[a].series_count; s++)
            for (int i = 0; i < scales[a].step_count; i++)
                self.ns[a][s][i] = report_spread(ns[a][s][i], repeat);
    return true;
}

/* Most over least of the medians. */
static double growth(int axis, int series)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < scales[axis].step_count; i++) {
        double median = self.ns[axis][series][i].median;
        least = median > 0 ? fmin(least, median) : least;
        most = fmax(most, median);
    }
    return most / least;
}

void scaling_print(void)
{
    printf("== scaling: ns per empty task, to completion, on 2 cores: median (min…max) of %d, "
           "interleaved\n",
           self.repeat);
    for (int a = 0; a < AXES; a++) {
        printf("\n%18s", scales[a].name);
        for (int s = 0; s < scales[a].series_count; s++)
            printf("  %26s", scales[a].series[s].name);
        printf("\n");
        for (int i = 0; i < scales[a].step_count; i++) {
            printf("%18ld", scales[a].steps[i]);
            for (int s = 0; s < scales[a].series_count; s++) {
                printf("   ");
                report_print_spread(self.ns[a][s][i], 0);
            }
            printf("\n");
        }
        printf("%18s", "most over least");
        for (int s = 0; s < scales[a].series_count; s++)
            printf("  %14s %10.1f×", growth(a, s) > flat ? "not flat:" : "", growth(a, s));
        printf("\n");
    }
    printf("\n");
}

void scaling_json(FILE *file)
{
    bool first = true;
    fprintf(file, "[");
    for (int a = 0; a < AXES; a++)
        for (int s = 0; s < scales[a].series_count; s++)
            for (int i = 0; i < scales[a].step_count; i++) {
                fprintf(file,
                        "%s\n    {\"of\": \"%s\", \"count\": %ld, \"series\": \"%s\", "
                        "\"ns\": ",
                        first ? "" : ",", scales[a].name, scales[a].steps[i],
                        scales[a].series[s].name);
                report_json_spread(file, self.ns[a][s][i]);
                fprintf(file, "}");
                first = false;
            }
    fprintf(file, "]");
}

bool scaling_draw(const char *folder)
{
    static chart charts[AXES];
    char path[1024];
    for (int a = 0; a < AXES; a++) {
        charts[a] = (chart){.title = scales[a].name,
                            .x_label = scales[a].name,
                            .y_label = "ns per task",
                            .y_log = true,
                            .series_count = scales[a].series_count};
        for (int s = 0; s < scales[a].series_count; s++) {
            chart_series *series = &charts[a].series[s];
            series->name = scales[a].series[s].name;
            series->count = scales[a].step_count;
            for (int i = 0; i < series->count; i++) {
                series->x[i] = (double)scales[a].steps[i];
                series->y[i] = self.ns[a][s][i].median;
            }
        }
    }
    snprintf(path, sizeof path, "%s/engine_scaling.svg", folder);
    return charts_write(path, charts, AXES);
}
