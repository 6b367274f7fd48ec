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
#include "engine_report.h"
#include "engine_scaling.h"
#include "engine_systems.h"

#include <errno.h>
#include <string.h>

enum { MOST_CURVES = 5 }; /* repetitions of what has many points */

typedef struct options {
    bool costs, metg, scaling, json;
    long tasks, repeat;
    const char *svg; /* NULL: no pictures */
} options;

static int usage(const char *what, const char *value)
{
    fprintf(stderr,
            "bench_engine: %s%s\nusage: bench_engine [--costs] [--metg] [--scaling] [--all] "
            "[--tasks N] [--repeat 1…%d] [--svg FOLDER] [--json]\n",
            what, value, REPORT_MAX_REPEAT);
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

/* 0, or the exit status. */
static int parse(options *self, int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i];
        const bool all = !strcmp(name, "--all");
        self->costs |= all || !strcmp(name, "--costs");
        self->metg |= all || !strcmp(name, "--metg");
        self->scaling |= all || !strcmp(name, "--scaling");
        self->json |= !strcmp(name, "--json");
        if (all || !strcmp(name, "--costs") || !strcmp(name, "--metg") ||
            !strcmp(name, "--scaling") || !strcmp(name, "--json"))
            continue;
        if (strcmp(name, "--tasks") && strcmp(name, "--repeat") && strcmp(name, "--svg"))
            return usage("there is no argument ", name);
        if (++i == count)
            return usage("a value is missing after ", name);
        if (!strcmp(name, "--svg"))
            self->svg = arguments[i];
        else if (!strcmp(name, "--tasks"))
            self->tasks = parse_count(arguments[i], 10000000);
        else
            self->repeat = parse_count(arguments[i], REPORT_MAX_REPEAT);
        if (!self->tasks || !self->repeat)
            return usage("out of range, or no whole number: ", arguments[i]);
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

static void print_text(const options *self)
{
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

static void print_json(const options *self)
{
    printf("{\n  \"floors_ns\": ");
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
    options self = {.tasks = 50000, .repeat = 7};
    int cores[ENGINE_CORES];
    int status = parse(&self, count, arguments);
    if (status)
        return status;
    const int core_count = engine_systems_init(cores);
    if (core_count < ENGINE_CORES)
        fprintf(stderr, "bench_engine: %d cores; figures of two workers say little\n", core_count);
    const int few = self.repeat < MOST_CURVES ? (int)self.repeat : MOST_CURVES;
    bool complete = true;
    floors_measure(cores, core_count, (int)self.repeat);
    if (self.costs)
        costs_measure(self.tasks, (int)self.repeat);
    if (self.metg)
        metg_measure(few);
    if (self.scaling)
        complete = scaling_measure(few);
    if (self.costs)
        costs_require();
    if (self.metg)
        metg_require();
    if (self.json)
        print_json(&self);
    else
        print_text(&self);
    complete = draw(&self) && complete;
    return complete && !engine_systems_are_broken() ? 0 : 1;
}
