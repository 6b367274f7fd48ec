/* What a call costs in the engine, beside floors, goals and other task runtimes, in one run:
 *
 *     bench_engine [--costs] [--metg] [--scaling] [--all] [--tasks N] [--repeat R] [--svg FOLDER] [--json]
 *
 * costs (the default): ns per empty task, to completion, in patterns of reading and writing; metg: the smallest tasks
 * that pay, with curves; scaling: what the cost does not depend on. --svg draws curves; --json prints one JSON object
 * and nothing else. Exit status: 0 whatever was measured, 1 a program failed or a picture could not be written, 2 wrong
 * usage. */
#include "engine_costs.h"
#include "engine_floors.h"
#include "engine_metg.h"
#include "engine_others.h"
#include "engine_report.h"
#include "engine_scaling.h"
#include "engine_systems.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* MOST_CURVES: repetitions of what has many points. */
enum { MOST_CURVES = 9, MOST_TASKS = 10000000 };

static const double MUCH = 0.2; /* of a core, by others */

typedef struct options {
    bool costs, metg, scaling, json;
    long tasks, repeat;
    const char *svg; /* NULL: no pictures */
} options;

/* Says what is wrong, in printf's words, and how it is right; returns the exit status. */
__attribute__((format(printf, 1, 2))) static int usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "bench_engine: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nusage: bench_engine [--costs] [--metg] [--scaling] [--all] [--tasks N] "
                    "[--repeat R] [--svg FOLDER] [--json]\n");
    va_end(arguments);
    return 2;
}

/* A whole number from 1 to most, else 0. */
static long parse_count(const char *text, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno || end == text || *end || value < 1 || value > most ? 0 : value;
}

/* True: it was one of those without a value. */
static bool parse_flag(options *self, const char *name)
{
    const struct {
        const char *name;
        bool *values[3];
    } flags[] = {
        {"--costs", {&self->costs}},     {"--metg", {&self->metg}},
        {"--scaling", {&self->scaling}}, {"--all", {&self->costs, &self->metg, &self->scaling}},
        {"--json", {&self->json}},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(name, flags[i].name)) {
            for (int j = 0; j < 3 && flags[i].values[j]; j++)
                *flags[i].values[j] = true;
            return true;
        }
    return false;
}

/* 0, or the exit status. */
static int parse(options *self, int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i];
        if (parse_flag(self, name))
            continue;
        const bool tasks = !strcmp(name, "--tasks"), repeat = !strcmp(name, "--repeat");
        if (!tasks && !repeat && strcmp(name, "--svg"))
            return usage("there is no argument \"%s\"", name);
        if (++i == count)
            return usage("%s needs a value", name);
        if (!tasks && !repeat) {
            self->svg = arguments[i];
            continue;
        }
        const long most = tasks ? MOST_TASKS : REPORT_MAX_REPEAT;
        const long value = parse_count(arguments[i], most);
        if (!value)
            return usage("%s is \"%s\"; expected a whole number from 1 to %ld", name, arguments[i],
                         most);
        *(tasks ? &self->tasks : &self->repeat) = value;
    }
    if (!self->costs && !self->metg && !self->scaling)
        self->costs = true;
    return 0;
}

static void print_systems(void)
{
    printf("== systems\n");
    for (int i = 0; i < SYSTEM_COUNT; i++)
        if (engine_systems[i].is_missing)
            printf("%-16s not measured: it was not there when this was built (scripts/install-deps "
                   "bench)\n",
                   engine_systems[i].name);
        else
            printf("%-16s %s\n", engine_systems[i].name, engine_systems[i].about);
    printf("\n");
}

static void print_others(double cores)
{
    printf("== others: ");
    if (cores < 0)
        printf("the system does not tell what other processes did meanwhile\n\n");
    else
        printf("other processes used %.2f of these cores meanwhile%s\n\n", cores,
               cores > MUCH ? ": the figures say little" : "");
}

static void print_text(const options *self, double others)
{
    print_others(others);
    floors_print();
    print_systems();
    if (self->costs)
        costs_print();
    if (self->metg)
        metg_print();
    if (self->scaling)
        scaling_print();
    if (self->costs || self->metg)
        report_print_requirements();
}

static void print_json(const options *self, double others)
{
    printf("{\n  \"others_cores\": ");
    report_json_number(stdout, others);
    printf(",\n  \"floors_ns\": ");
    floors_json(stdout);
    if (self->costs) {
        printf(",\n  \"costs\": ");
        costs_json(stdout);
    }
    if (self->metg) {
        printf(",\n  \"metg\": ");
        metg_json(stdout);
    }
    if (self->scaling) {
        printf(",\n  \"scaling\": ");
        scaling_json(stdout);
    }
    printf(",\n  \"requirements\": ");
    report_json_requirements(stdout);
    printf("\n}\n");
}

/* False: stderr says which could not be written. */
static bool draw(const options *self)
{
    bool drawn = true;
    if (self->svg && self->metg)
        drawn = metg_draw(self->svg);
    if (self->svg && self->scaling)
        drawn = scaling_draw(self->svg) && drawn;
    if (!drawn)
        fprintf(stderr, "bench_engine: cannot write into %s: %s\n", self->svg, strerror(errno));
    return drawn;
}

int main(int count, char **arguments)
{
    options self = {.tasks = 50000, .repeat = 11};
    int cores[ENGINE_CORES];
    int status = parse(&self, count, arguments);
    if (status)
        return status;
    const int core_count = engine_systems_init(cores);
    if (core_count < ENGINE_CORES)
        fprintf(stderr, "bench_engine: %d cores; figures of two workers say little\n", core_count);
    const int few = self.repeat < MOST_CURVES ? (int)self.repeat : MOST_CURVES;
    bool complete = true;
    others_begin(cores, core_count);
    floors_measure(cores, core_count, (int)self.repeat);
    if (self.costs)
        costs_measure(cores, core_count, self.tasks, (int)self.repeat);
    if (self.metg)
        metg_measure(few);
    if (self.scaling)
        complete = scaling_measure(few);
    const double others = others_cores();
    if (self.costs)
        costs_require();
    if (self.metg)
        metg_require();
    if (self.json)
        print_json(&self, others);
    else
        print_text(&self, others);
    complete = draw(&self) && complete;
    return complete && !engine_systems_are_broken() ? 0 : 1;
}
