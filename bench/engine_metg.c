/* Tasks of stencil_1d, two rows of data written from each other, that spin for so long; two workers.
 *
 *     granularity   wall time * cores / number of tasks: what a task takes of the machine, all told
 *     efficiency    useful work per time, over the most that the same system reaches with any granularity
 *     METG(50%)     the smallest granularity that has an efficiency of 50 %, between measured points by interpolation
 *
 * Hocket's three settings are one system: they share a peak. So where all runs in the caller, on one of two cores,
 * the efficiency comes near 50 % at best. */
#include "engine_metg.h"

#include "chart.h"
#include "engine_report.h"
#include "engine_systems.h"
#include "spin.h"

#include <math.h>
#include <string.h>

enum { WIDTHS = 2, POINTS = 17, LONG_TASK_NS = 100000, MOST_TASKS = 20000, LEAST_TASKS = 640 };

static const struct {
    int width;
    const char *pattern;
    double goal_us;
} widths[WIDTHS] = {{8, "stencil_1d 8", 0.5}, {64, "stencil_1d 64", 0.2}};

/* What a task computes, ns. */
static const int64_t spins[POINTS] = {20,   50,   100,  200,  350,  500,   700,   1000,        1500,
                                      2000, 3000, 4000, 5000, 8000, 20000, 50000, LONG_TASK_NS};

/* The choice may be this much worse than the better of the forced ways: what two runs of one of them differ by. */
static const double tolerance = 1.15;
/* No size of task may be slower than the straight line between its neighbours, times this. */
static const double cliff = 1.25;

static struct {
    int repeat;
    engine_point points[POINTS];
    double ns[WIDTHS][SYSTEM_COUNT][POINTS][REPORT_MAX_REPEAT]; /* wall time per task */
    double most_in_caller[WIDTHS][SYSTEM_COUNT][POINTS];        /* of all rounds */
} self;

static void make_points(void)
{
    const double iteration_ns = spin_iteration_ns(), work_ns = 6e7;
    for (int i = 0; i < POINTS; i++) {
        double tasks = work_ns / (double)spins[i];
        tasks = fmax(LEAST_TASKS, fmin(MOST_TASKS, tasks));
        self.points[i] = (engine_point){
            (long)tasks, (int64_t)fmax(1, (double)spins[i] / iteration_ns + 0.5), spins[i]};
    }
}

void metg_measure(int repeat)
{
    make_points();
    self.repeat = repeat;
    for (int r = 0; r < repeat; r++) {
        fprintf(stderr, "METG: round %d of %d\n", r + 1, repeat);
        for (int w = 0; w < WIDTHS; w++)
            for (int s = 0; s < SYSTEM_COUNT; s++) {
                engine_sample samples[POINTS];
                engine_system_run(s, widths[w].pattern, ENGINE_CORES, self.points, POINTS, samples);
                for (int i = 0; i < POINTS; i++) {
                    self.ns[w][s][i][r] = samples[i].ns;
                    if (r == 0 || samples[i].in_caller > self.most_in_caller[w][s][i])
                        self.most_in_caller[w][s][i] = samples[i].in_caller;
                }
            }
    }
}

/* ---- curves ----------------------------------------------------------------------------------------------------- */

typedef struct curve {
    double granularity[POINTS], efficiency[POINTS]; /* ns; 0 to 1 */
} curve;

enum { MEDIANS = -1 }; /* for a round: the medians of all */

static double wall_ns(int width, int system, int point, int round)
{
    const double *ns = self.ns[width][system][point];
    return round == MEDIANS ? report_spread(ns, self.repeat).median : ns[round];
}

/* Useful nanoseconds per nanosecond, the most of any point; 0: nothing was measured. */
static double peak_of(int width, int system, int round)
{
    double peak = 0;
    const int first = system < SYSTEM_FIRST_PEER ? 0 : system;
    const int last = system < SYSTEM_FIRST_PEER ? SYSTEM_FIRST_PEER - 1 : system;
    for (int s = first; s <= last; s++)
        for (int i = 0; i < POINTS; i++) {
            double ns = wall_ns(width, s, i, round);
            if (ns > 0)
                peak = fmax(peak, (double)spins[i] / ns);
        }
    return peak;
}

/* False: nothing was measured. */
static bool curve_make(curve *made, int width, int system, int round)
{
    const double peak = peak_of(width, system, round);
    for (int i = 0; i < POINTS; i++) {
        double ns = wall_ns(width, system, i, round);
        if (!(ns > 0) || !(peak > 0))
            return false;
        made->granularity[i] = ns * ENGINE_CORES;
        made->efficiency[i] = (double)spins[i] / ns / peak;
    }
    return true;
}

/* Infinite: 50 % are not reached; at most the first point's where that has them already. */
static double metg_of(const curve *of)
{
    int i = 0;
    while (i < POINTS && of->efficiency[i] < 0.5)
        i++;
    if (i == POINTS)
        return INFINITY;
    if (i == 0)
        return of->granularity[0];
    double from = log(of->granularity[i - 1]), to = log(of->granularity[i]);
    double part = (0.5 - of->efficiency[i - 1]) / (of->efficiency[i] - of->efficiency[i - 1]);
    return exp(from + part * (to - from));
}

/* Microseconds: of the medians, with the least and most of single rounds. All zero: not measured. */
static bench_spread metg_spread(int width, int system)
{
    bench_spread spread = {0, 0, 0};
    curve of;
    if (!curve_make(&of, width, system, MEDIANS))
        return spread;
    spread.median = spread.min = spread.max = metg_of(&of) / 1e3;
    for (int r = 0; r < self.repeat; r++)
        if (curve_make(&of, width, system, r)) {
            double us = metg_of(&of) / 1e3;
            spread.min = us < spread.min ? us : spread.min;
            spread.max = us > spread.max ? us : spread.max;
        }
    return spread;
}

/* ---- tables ------------------------------------------------------------------------------------------------------- */

static void print_metg(void)
{
    printf("== METG(50%%) of stencil_1d, 2 workers, us: of the medians of %d rounds (least…most of "
           "one "
           "round)\n\n%5s  %-16s %-26s %6s  %s\n",
           self.repeat, "width", "system", "              METG, us", "goal", "peak, cores");
    for (int w = 0; w < WIDTHS; w++)
        for (int s = 0; s < SYSTEM_COUNT; s++) {
            if (engine_systems[s].is_missing)
                continue;
            printf("%5d  %-16s ", widths[w].width, engine_systems[s].name);
            report_print_spread(metg_spread(w, s), 2);
            if (s < SYSTEM_FIRST_PEER)
                printf("  %5.1f", widths[w].goal_us);
            else
                printf("  %5s", "");
            printf("  %11.2f\n", peak_of(w, s, MEDIANS));
        }
    printf("\n");
}

static void print_choice(void)
{
    printf("== where a task runs: wall time per task, ns, medians of %d\n\n%5s  %9s  %13s  %13s  "
           "%15s  "
           "%s\n",
           self.repeat, "width", "task, ns", "in the caller", "handed over", "engine's choice",
           "ran in the caller, by choice");
    for (int w = 0; w < WIDTHS; w++)
        for (int i = 0; i < POINTS; i++)
            printf("%5d  %9lld  %13.0f  %13.0f  %15.0f  %27.1f%%\n", widths[w].width,
                   (long long)spins[i], wall_ns(w, SYSTEM_CALLER, i, MEDIANS),
                   wall_ns(w, SYSTEM_HANDED, i, MEDIANS), wall_ns(w, SYSTEM_CHOICE, i, MEDIANS),
                   self.most_in_caller[w][SYSTEM_CHOICE][i] * 100);
    printf("\n");
}

/* Wall time over that of the straight line between the neighbouring sizes; 0: an end, or not measured. */
static double over_line(int width, int system, int point)
{
    if (point == 0 || point == POINTS - 1)
        return 0;
    const double before = wall_ns(width, system, point - 1, MEDIANS),
                 after = wall_ns(width, system, point + 1, MEDIANS);
    const double part =
        (double)(spins[point] - spins[point - 1]) / (double)(spins[point + 1] - spins[point - 1]);
    const double line = before + (after - before) * part;
    return line > 0 ? wall_ns(width, system, point, MEDIANS) / line : 0;
}

static void require_no_cliff(int width, int system)
{
    int worst = 0;
    for (int i = 1; i < POINTS; i++)
        if (over_line(width, system, i) > over_line(width, system, worst))
            worst = i;
    report_require(
        over_line(width, system, worst) <= cliff,
        "width %d, %s: no size is slower than the line between its neighbours: %lld ns is the "
        "worst, %.2f times, tolerance %.2f",
        widths[width].width, engine_systems[system].name, (long long)spins[worst],
        over_line(width, system, worst), cliff);
}

void metg_require(void)
{
    for (int w = 0; w < WIDTHS; w++) {
        const double caller = metg_spread(w, SYSTEM_CALLER).median;
        const double handed = metg_spread(w, SYSTEM_HANDED).median;
        const double choice = metg_spread(w, SYSTEM_CHOICE).median;
        const double better = fmin(caller, handed);
        report_require(choice <= widths[w].goal_us,
                       "METG, width %d, engine's choice: %.2f us, goal %.1f", widths[w].width,
                       choice, widths[w].goal_us);
        report_require(handed <= widths[w].goal_us,
                       "METG, width %d, handed over: %.2f us, goal %.1f", widths[w].width, handed,
                       widths[w].goal_us);
        report_require(
            choice <= better * tolerance,
            "METG, width %d: the choice is no worse than the better forced way: %.2f us, "
            "that one %.2f, tolerance %.0f %%",
            widths[w].width, choice, better, (tolerance - 1) * 100);
        const double part = self.most_in_caller[w][SYSTEM_CHOICE][POINTS - 1];
        report_require(part == 0,
                       "width %d: no task expected to take %d us runs in the caller: %.2f %% did",
                       widths[w].width, LONG_TASK_NS / 1000, part * 100);
        for (int s = 0; s < SYSTEM_FIRST_PEER; s++)
            require_no_cliff(w, s);
    }
}

void metg_print(void)
{
    print_metg();
    print_choice();
}

void metg_json(FILE *file)
{
    bool first = true;
    fprintf(file, "[");
    for (int w = 0; w < WIDTHS; w++)
        for (int s = 0; s < SYSTEM_COUNT; s++) {
            curve of;
            if (!curve_make(&of, w, s, MEDIANS))
                continue;
            fprintf(file,
                    "%s\n    {\"width\": %d, \"system\": \"%s\", \"metg_us\": ", first ? "" : ",",
                    widths[w].width, engine_systems[s].name);
            report_json_spread(file, metg_spread(w, s));
            fprintf(file, ", \"peak_cores\": %.4f, \"points\": [", peak_of(w, s, MEDIANS));
            for (int i = 0; i < POINTS; i++) {
                fprintf(file,
                        "%s{\"task_ns\": %lld, \"granularity_ns\": %.1f, \"efficiency\": %.4f",
                        i ? ", " : "", (long long)spins[i], of.granularity[i], of.efficiency[i]);
                if (self.most_in_caller[w][s][i] >= 0)
                    fprintf(file, ", \"in_caller\": %.4f", self.most_in_caller[w][s][i]);
                fprintf(file, "}");
            }
            fprintf(file, "]}");
            first = false;
        }
    fprintf(file, "]");
}

static void draw_efficiency(chart *to, int width)
{
    for (int s = 0; s < SYSTEM_COUNT; s++) {
        curve of;
        if (!curve_make(&of, width, s, MEDIANS))
            continue;
        chart_series *series = &to->series[to->series_count++];
        series->name = engine_systems[s].name;
        series->count = POINTS;
        memcpy(series->x, of.granularity, sizeof of.granularity);
        memcpy(series->y, of.efficiency, sizeof of.efficiency);
    }
}

static void draw_cliffs(chart *to, int width)
{
    for (int s = 0; s < SYSTEM_FIRST_PEER; s++) {
        chart_series *series = &to->series[to->series_count++];
        series->name = engine_systems[s].name;
        series->count = POINTS;
        for (int i = 0; i < POINTS; i++) {
            series->x[i] = (double)spins[i];
            series->y[i] = over_line(width, s, i);
        }
    }
}

bool metg_draw(const char *folder)
{
    static chart charts[2 * WIDTHS];
    char path[1024], titles[2 * WIDTHS][64];
    for (int w = 0; w < WIDTHS; w++) {
        chart *efficiency = &charts[w], *cliffs = &charts[WIDTHS + w];
        snprintf(titles[w], sizeof titles[w], "stencil_1d, width %d, 2 workers", widths[w].width);
        snprintf(titles[WIDTHS + w], sizeof titles[w], "cliffs, width %d", widths[w].width);
        *efficiency = (chart){.title = titles[w],
                              .x_label = "granularity: wall time * cores / tasks, ns",
                              .y_label = "efficiency",
                              .y_mark = 0.5};
        *cliffs = (chart){.title = titles[WIDTHS + w],
                          .x_label = "what a task computes, ns",
                          .y_label = "wall time over the line between neighbours",
                          .y_mark = cliff};
        draw_efficiency(efficiency, w);
        draw_cliffs(cliffs, w);
    }
    snprintf(path, sizeof path, "%s/engine_metg.svg", folder);
    return charts_write(path, charts, 2 * WIDTHS);
}
