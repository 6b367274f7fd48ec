/* What recording costs: nanoseconds for each kind of record, and for each empty task with and without it.
 * Usage:
 *   bench_trace [--tasks N] [--repeat R] */
#include "base/trace.h"

#include "bench_util.h"
#include "engine_patterns.h"

#include <stdio.h>
#include <string.h>

enum { MAX_REPEAT = 51, RECORDS = 100000 };

static const uint64_t trace_bytes = (uint64_t)256 << 20;

/* ---- one record ----------------------------------------------------------------------------------------- */

static void write_nothing(hki_trace *trace, uint64_t i)
{
    (void)trace, (void)i;
}

static void write_time(hki_trace *trace, uint64_t i)
{
    volatile uint64_t ticks = hki_ticks();
    (void)trace, (void)i, (void)ticks;
}

static void write_issue(hki_trace *trace, uint64_t i)
{
    enum { OPERAND_BYTES = sizeof(hki_trace_packed_operand) + 2 * sizeof(int64_t) };
    hki_trace_issue_record *record;
    record = hki_trace_reserve(trace, HKI_TRACE_ISSUE,
                               sizeof *record + 3 * (sizeof(hki_trace_access) + OPERAND_BYTES));
    if (!record)
        return;
    const hki_trace_issue_record head = {.head = record->head,
                                         .sequence = i,
                                         .operation = "linear",
                                         .file = "bench.c",
                                         .line = 1,
                                         .access_count = 3,
                                         .operand_count = 3,
                                         .piece_count = 1};
    *record = head;
    hki_trace_access *access = (void *)record->body;
    for (int j = 0; j < 3; j++)
        *access++ = (hki_trace_access){i, 0, 4096, 1};
    char *at = (char *)access;
    for (int j = 0; j < 3; j++, at += OPERAND_BYTES) {
        hki_trace_packed_operand *operand = (void *)at;
        *operand = (hki_trace_packed_operand){.ndim = 2};
        operand->dims[0] = operand->dims[1] = 32;
    }
    record->head.ticks = hki_ticks();
    hki_trace_commit(trace, record);
}

static void write_ready(hki_trace *trace, uint64_t i)
{
    hki_trace_task_event(trace, HKI_TRACE_READY, i);
}

static void write_run(hki_trace *trace, uint64_t i)
{
    uint64_t begin = hki_ticks();
    hki_trace_run_record *record = hki_trace_reserve(trace, HKI_TRACE_RUN, sizeof *record);
    if (!record)
        return;
    record->sequence = i;
    record->begin_ticks = begin;
    record->piece = 0;
    record->head.flags = HKI_TRACE_LAST;
    record->head.ticks = hki_ticks();
    hki_trace_commit(trace, record);
}

static void write_model(hki_trace *trace, uint64_t i)
{
    hki_trace_model(trace, i, 0, 1);
}

static void write_wait(hki_trace *trace, uint64_t i)
{
    uint64_t begin = hki_ticks();
    hki_trace_wait_record *record = hki_trace_reserve(trace, HKI_TRACE_WAIT, sizeof *record);
    if (!record)
        return;
    const hki_trace_wait_record wait = {.head = record->head, .begin_ticks = begin, .sequence = i};
    *record = wait;
    record->head.ticks = hki_ticks();
    hki_trace_commit(trace, record);
}

static void write_counter(hki_trace *trace, uint64_t i)
{
    hki_trace_counter_record *record = hki_trace_reserve(trace, HKI_TRACE_COUNTER, sizeof *record);
    if (!record)
        return;
    record->counter = record->device = 0;
    record->unused = 0;
    record->value = (int64_t)i;
    record->head.ticks = hki_ticks();
    hki_trace_commit(trace, record);
}

static const struct {
    const char *name;
    void (*write)(hki_trace *trace, uint64_t i);
} kinds[] = {
    {"(a call)", write_nothing}, {"(reading ticks)", write_time},
    {"issue", write_issue},      {"ready, var", write_ready},
    {"run", write_run},          {"model", write_model},
    {"wait", write_wait},        {"counter", write_counter},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Nanoseconds a record; in a recording whose memory was there before, or is new. */
static double record_ns(hki_trace *trace, int kind)
{
    void (*volatile write)(hki_trace *, uint64_t) = kinds[kind].write;
    hki_trace_begin(trace);
    double start = bench_seconds();
    for (uint64_t i = 0; i < RECORDS; i++)
        write(trace, i);
    double seconds = bench_seconds() - start;
    hki_trace_end(trace);
    return seconds / RECORDS * 1e9;
}

/* False: out of memory. */
static bool measure_records(int repeat)
{
    static double known[KINDS][MAX_REPEAT], fresh[KINDS][MAX_REPEAT];
    for (int r = 0; r < repeat; r++)
        for (int k = 0; k < KINDS; k++) {
            hki_trace *trace = hki_trace_create(trace_bytes);
            if (!trace)
                return false;
            fresh[k][r] = record_ns(trace, k);
            known[k][r] = record_ns(trace, k);
            hki_trace_destroy(trace);
        }
    printf("ns a record, median (min…max) of %d, interleaved; of an issue with three accesses and "
           "operands\n%-16s  %22s  %22s\n",
           repeat, "", "memory used before", "fresh memory");
    for (int k = 0; k < KINDS; k++) {
        bench_spread a = bench_spread_of(known[k], repeat), b = bench_spread_of(fresh[k], repeat);
        printf("%-16s  %6.1f (%5.1f…%6.1f)  %6.1f (%5.1f…%6.1f)\n", kinds[k].name, a.median, a.min,
               a.max, b.median, b.min, b.max);
    }
    return true;
}

/* ---- one task --------------------------------------------------------------------------------------------- */

static void print_spread(double *values, int count)
{
    bench_spread s = bench_spread_of(values, count);
    printf("  %6.0f (%5.0f…%5.0f)", s.median, s.min, s.max);
}

static void measure_tasks(long tasks, int repeat)
{
    enum { ROUNDS = 2 }; /* of the first one, all memory is fresh */
    printf("\n%ld empty tasks, ns a task to completion: median (min…max) of %d, interleaved\n"
           "%-12s %7s %-13s  %20s  %20s  %20s  %s\n",
           tasks, repeat, "pattern", "workers", "", "off", "recording", "into fresh memory",
           "recording / off");
    for (int p = 0; p < TASK_COST_PATTERNS; p++)
        for (int way = 0; way < 3; way++) {
            const int workers = way == 2 ? 2 : 1;
            const bool in_caller = way == 0;
            double off[MAX_REPEAT], on[MAX_REPEAT], fresh[MAX_REPEAT], ratio[MAX_REPEAT];
            for (int r = 0; r < repeat; r++) {
                double ns[ROUNDS];
                engine_pattern_time(p, workers, in_caller, tasks, 0, ns, ROUNDS);
                off[r] = ns[1];
                engine_pattern_time(p, workers, in_caller, tasks, trace_bytes, ns, ROUNDS);
                fresh[r] = ns[0];
                on[r] = ns[1];
                ratio[r] = on[r] / off[r];
            }
            printf("%-12s %7d %-13s", task_pattern_name(p), workers,
                   in_caller ? "in the caller" : "handed over");
            print_spread(off, repeat);
            print_spread(on, repeat);
            print_spread(fresh, repeat);
            bench_spread s = bench_spread_of(ratio, repeat);
            printf("  %.2f (%.2f…%.2f)\n", s.median, s.min, s.max);
            fflush(stdout);
        }
}

int main(int argc, char **argv)
{
    long tasks = 100000;
    int repeat = 7;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--tasks"))
            tasks = atol(argv[i + 1]);
        else if (!strcmp(argv[i], "--repeat"))
            repeat = atoi(argv[i + 1]);
    }
    if (tasks < 1 || repeat < 1 || repeat > MAX_REPEAT) {
        fprintf(stderr, "usage: bench_trace [--tasks N] [--repeat 1…%d]\n", MAX_REPEAT);
        return 2;
    }
    if (!measure_records(repeat)) {
        fprintf(stderr, "bench_trace: no memory for a trace\n");
        return 2;
    }
    measure_tasks(tasks, repeat);
    return 0;
}
