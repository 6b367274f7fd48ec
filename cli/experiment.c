#include "experiment.h"

#include "experiment_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* How late the host may be. */
static const int64_t late_limit_ns = 2000000;
static const double late_limit_part = 0.05;

/* ---- times ----------------------------------------------------------------------------------------- */

static uint64_t cpu_calls(void)
{
    uint64_t calls = 0;
    for (int i = 0; i < hk_device_count(); i++)
        if (!hk_device_is_simulated(hk_device_at(i)))
            calls += hk_device_get_stats(hk_device_at(i), HK_QUEUE_COMPUTE).calls;
    return calls;
}

void timing_begin(timing *self)
{
    hk_wait_all();
    hk_device_stats_clear();
    *self = (timing){.cpu_calls = cpu_calls()};
    self->begin_ns = hk_clock_ns();
}

/* When the CPU devices have finished: waits for them alone. */
static int64_t cpu_end(void)
{
    for (int i = 0; i < hk_device_count(); i++)
        if (!hk_device_is_simulated(hk_device_at(i)))
            hk_wait_device(hk_device_at(i));
    return hk_clock_ns();
}

void timing_end(timing *self)
{
    static const hk_queue queues[] = {HK_QUEUE_COMPUTE, HK_QUEUE_COPY_IN, HK_QUEUE_COPY_OUT};
    int64_t cpu_end_ns = cpu_end(), model_end_ns = 0;
    hk_wait_all(); /* what failed is told by experiment_runtime_end */
    self->wall_ns = hk_clock_ns() - self->begin_ns;
    for (int i = 0; i < hk_device_count(); i++) {
        hk_device device = hk_device_at(i);
        for (int j = 0; hk_device_is_simulated(device) && j < 3; j++) {
            hk_queue_stats stats = hk_device_get_stats(device, queues[j]);
            if (stats.last_end_ns > model_end_ns)
                model_end_ns = stats.last_end_ns;
            if (stats.late_ns > self->late_ns)
                self->late_ns = stats.late_ns;
        }
    }
    if (model_end_ns <= self->begin_ns) {
        self->model_ns = self->wall_ns;
    } else {
        if (cpu_calls() > self->cpu_calls && cpu_end_ns > model_end_ns)
            model_end_ns = cpu_end_ns;
        self->model_ns = model_end_ns - self->begin_ns;
    }
}

double timing_seconds(const timing *self)
{
    return 1e-9 * (double)self->model_ns;
}

bool timing_is_host_bound(const timing *self)
{
    return self->late_ns > late_limit_ns &&
           (double)self->late_ns > late_limit_part * (double)self->model_ns;
}

/* ---- spreads --------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

spread spread_of(const double *values, int count)
{
    spread result = {NAN, NAN, NAN};
    double *sorted = count > 0 ? malloc((size_t)count * sizeof *sorted) : NULL;
    if (sorted) {
        memcpy(sorted, values, (size_t)count * sizeof *sorted);
        qsort(sorted, (size_t)count, sizeof *sorted, compare);
        result.median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
        result.low = sorted[0];
        result.high = sorted[count - 1];
    }
    free(sorted);
    return result;
}

spread spread_exact(double value)
{
    return (spread){value, value, value};
}

/* ---- an experiment --------------------------------------------------------------------------------- */

struct experiment {
    report report;
    experiment_options options;
    int printed; /* lines of the report that are printed already */
};

experiment *experiment_create(const char *name, const char *title,
                              const experiment_options *options)
{
    experiment *self = calloc(1, sizeof *self);
    if (!self) {
        fprintf(stderr, "hocket: no host memory for a report\n");
        exit(1);
    }
    self->options = *options;
    self->report =
        (report){.name = name, .title = title, .repeat = options->repeat, .passed = true};
    if (options->markdown && !options->json)
        printf("## %s\n\n", title);
    else if (!options->json)
        printf("%s\n", title);
    fflush(stdout);
    return self;
}

/* Prints what is complete, so that people see it while the rest is measured. */
static void print_new(experiment *self)
{
    if (self->options.json)
        return;
    if (self->options.markdown)
        report_print_markdown(&self->report, self->printed, stdout);
    else
        report_print_text(&self->report, self->printed, stdout);
    self->printed = self->report.count;
    fflush(stdout);
}

static report_line *add(experiment *self, report_kind kind, const char *what, const char *note)
{
    report_line *line = report_add(&self->report, kind, what, note);
    if (!line) {
        fprintf(stderr, "hocket: no host memory for \"%s\" of the report\n", what);
        self->report.passed = false;
    }
    return line;
}

static bool check(experiment *self, const hk_status *status)
{
    if (hk_ok(status))
        return true;
    hk_status_print(status, stderr);
    self->report.passed = false;
    return false;
}

bool experiment_runtime_begin(experiment *self, const hk_runtime_options *options)
{
    hk_runtime_options its = options ? *options : (hk_runtime_options){0};
    its.cuda = "off"; /* experiments are of CPU devices and of simulated ones */
    return check(self, hk_runtime_init(&its));
}

void experiment_runtime_end(experiment *self)
{
    check(self, hk_wait_all());
    hk_runtime_deinit();
}

void experiment_section(experiment *self, const char *title)
{
    print_new(self);
    add(self, REPORT_SECTION, title, "");
}

void experiment_row(experiment *self, const char *what, spread ours, const char *unit, double book,
                    double bound, const char *note)
{
    report_line *line = add(self, REPORT_ROW, what, note);
    if (!line)
        return;
    line->ours = ours;
    line->unit = unit;
    line->book = book;
    line->bound = bound;
}

void experiment_say(experiment *self, const char *format, ...)
{
    char text[1000];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    add(self, REPORT_TEXT, text, "");
}

/* "1 of 3 runs was host-bound: ..." with the worst of them; "" when none was. */
static void describe_late(const timing *runs, int run_count, char *text, size_t bytes)
{
    int late = 0;
    const timing *worst = NULL;
    for (int i = 0; i < run_count; i++) {
        if (!timing_is_host_bound(&runs[i]))
            continue;
        late++;
        if (!worst || runs[i].late_ns > worst->late_ns)
            worst = &runs[i];
    }
    *text = '\0';
    if (worst)
        snprintf(text, bytes, "host-bound: %d of %d runs, the worst %.1f ms late in %.1f ms", late,
                 run_count, 1e-6 * (double)worst->late_ns, 1e-6 * (double)worst->model_ns);
}

void experiment_claim(experiment *self, const char *what, double value, const char *relation,
                      double limit, const timing *runs, int run_count)
{
    char note[200];
    bool at_most = !strcmp(relation, "<=");
    describe_late(runs, run_count, note, sizeof note);
    bool holds = !*note && (at_most ? value <= limit : value >= limit);
    if (!holds)
        self->report.passed = false;
    report_line *line = add(self, REPORT_CLAIM, what, note);
    if (!line)
        return;
    line->value = value;
    line->relation = at_most ? "<=" : ">=";
    line->limit = limit;
    line->holds = holds;
}

void experiment_trace(experiment *self, void (*body)(void *), void *argument)
{
    if (!self->options.trace && !self->options.svg)
        return;
    if (!check(self, hk_trace_start(NULL)))
        return;
    body(argument);
    hk_trace *trace = hk_trace_stop();
    if (self->options.trace)
        check(self, hk_trace_write(trace, HK_TRACE_CHROME, self->options.trace));
    if (self->options.svg)
        check(self, hk_trace_write(trace, HK_TRACE_SVG, self->options.svg));
    hk_trace_release(trace);
}

int experiment_end(experiment *self)
{
    print_new(self);
    if (self->options.json)
        report_print_json(&self->report, stdout);
    int result = self->report.passed ? 0 : 1;
    report_deinit(&self->report);
    free(self);
    return result;
}
