#include "engine_costs.h"

#include "engine_floors.h"
#include "engine_report.h"
#include "engine_systems.h"
#include "task_patterns.h"

#include <string.h>

enum { MAX_WORKERS = 2 };

/* What a task is to cost with two workers, ns, by pattern: in the caller, handed over. */
static const double goals[TASK_COST_PATTERNS][2] = {{10, 40},  {10, 30},  {30, 70},
                                                    {25, 100}, {25, 100}, {10, 25}};

static struct {
    long tasks;
    int repeat;
    double ns[TASK_COST_PATTERNS][MAX_WORKERS][SYSTEM_COUNT][REPORT_MAX_REPEAT];
    /* Between the two cores, just before a pattern is handed over to two workers. A virtual machine's cores change places. */
    double hand_over_ns[TASK_COST_PATTERNS][REPORT_MAX_REPEAT];
} self;

/* Empty tasks are expected to be: the engine would choose the caller. */
static bool takes_part(int system)
{
    return system != SYSTEM_CHOICE;
}

void costs_measure(const int *cores, int core_count, long tasks, int repeat)
{
    const engine_point point = {tasks, 0, 1};
    self.tasks = tasks;
    self.repeat = repeat;
    for (int r = 0; r < repeat; r++) {
        fprintf(stderr, "costs: round %d of %d\n", r + 1, repeat);
        for (int p = 0; p < TASK_COST_PATTERNS; p++)
            for (int w = 0; w < MAX_WORKERS; w++)
                for (int s = 0; s < SYSTEM_COUNT; s++) {
                    engine_sample sample = {-1, -1};
                    if (s == SYSTEM_HANDED && w + 1 == MAX_WORKERS)
                        self.hand_over_ns[p][r] = floors_hand_over_ns(cores, core_count);
                    if (takes_part(s))
                        engine_system_run(s, task_pattern_name(p), w + 1, &point, 1, &sample);
                    self.ns[p][w][s][r] = sample.ns;
                }
    }
}

/* ---- the table ------------------------------------------------------------------------------------------------ */

/* A task handed over, in hand-overs between cores at the time. */
static bench_spread in_hand_overs(int pattern)
{
    return report_ratio(self.ns[pattern][MAX_WORKERS - 1][SYSTEM_HANDED],
                        self.hand_over_ns[pattern], self.repeat);
}

static void print_own(int pattern, int workers, int system)
{
    const double *ns = self.ns[pattern][workers - 1][system];
    bench_spread spread = report_spread(ns, self.repeat);
    report_print_spread(spread, 0);
    if (workers == MAX_WORKERS && spread.max > 0) {
        double goal = goals[pattern][system == SYSTEM_HANDED], over = spread.median / goal;
        printf("  %5.0f  %4.1f×  %s", goal, over,
               over <= 1   ? "met"
               : over <= 2 ? "within 2×"
                           : "missed   ");
        if (system == SYSTEM_HANDED) {
            printf("  hand-overs:");
            report_print_spread(in_hand_overs(pattern), 1);
        }
    }
}

static void print_peer(int pattern, int workers, int system)
{
    double(*ns)[REPORT_MAX_REPEAT] = self.ns[pattern][workers - 1];
    report_print_spread(report_spread(ns[system], self.repeat), 0);
    printf("  %25s", "");
    report_print_spread(report_ratio(ns[system], ns[SYSTEM_CALLER], self.repeat), 1);
    printf("  ");
    report_print_spread(report_ratio(ns[system], ns[SYSTEM_HANDED], self.repeat), 1);
}

void costs_print(void)
{
    printf("== costs: %ld empty tasks, ns per task to completion, median (min…max) of %d, "
           "interleaved\n\n",
           self.tasks, self.repeat);
    printf("%-12s %7s  %-14s %-25s  %5s  %5s  %-11s %-25s  %s\n", "pattern", "workers", "system",
           "             ns per task", "goal", "over", "", "    over in the caller",
           "      over handed over");
    for (int p = 0; p < TASK_COST_PATTERNS; p++)
        for (int w = 1; w <= MAX_WORKERS; w++)
            for (int s = 0; s < SYSTEM_COUNT; s++) {
                if (!takes_part(s) || engine_systems[s].is_missing)
                    continue;
                if (s == SYSTEM_CALLER)
                    printf("%-12s %7d  ", task_pattern_name(p), w);
                else
                    printf("%22s", "");
                printf("%-14s ", engine_systems[s].name);
                if (s < SYSTEM_FIRST_PEER)
                    print_own(p, w, s);
                else
                    print_peer(p, w, s);
                printf("\n");
            }
    printf("\n");
}

/* ---- requirements ----------------------------------------------------------------------------------------------- */

static void require_goals(int system)
{
    for (int p = 0; p < TASK_COST_PATTERNS; p++) {
        bench_spread spread = report_spread(self.ns[p][MAX_WORKERS - 1][system], self.repeat);
        double goal = goals[p][system == SYSTEM_HANDED];
        if (spread.max > 0)
            report_require(
                spread.median <= goal, "%s, %s, 2 workers: %.0f ns (least %.0f), goal %.0f; %s",
                task_pattern_name(p), engine_systems[system].name, spread.median, spread.min, goal,
                spread.median <= 2 * goal ? "within twice that" : "beyond twice that");
    }
}

/* Of all patterns the one where we are least ahead. */
static void require_ratio(int peer, int own)
{
    const double needed = engine_systems[peer].needed;
    double least = 0;
    int where = -1;
    for (int p = 0; p < TASK_COST_PATTERNS; p++) {
        double(*ns)[REPORT_MAX_REPEAT] = self.ns[p][MAX_WORKERS - 1];
        bench_spread ratio = report_ratio(ns[peer], ns[own], self.repeat);
        if (ratio.max > 0 && (where < 0 || ratio.median < least)) {
            least = ratio.median;
            where = p;
        }
    }
    if (where >= 0 && needed > 0)
        report_require(least >= needed,
                       "%s, 2 workers: at least %.0f times as fast as %s; least %.2f, %s",
                       engine_systems[own].name, needed, engine_systems[peer].name, least,
                       task_pattern_name(where));
}

void costs_require(void)
{
    for (int own = SYSTEM_CALLER; own <= SYSTEM_HANDED; own++) {
        require_goals(own);
        for (int peer = SYSTEM_FIRST_PEER; peer < SYSTEM_COUNT; peer++)
            require_ratio(peer, own);
    }
}

void costs_json(FILE *file)
{
    bool first = true;
    fprintf(file, "[");
    for (int p = 0; p < TASK_COST_PATTERNS; p++)
        for (int w = 1; w <= MAX_WORKERS; w++)
            for (int s = 0; s < SYSTEM_COUNT; s++) {
                if (!takes_part(s) || engine_systems[s].is_missing)
                    continue;
                double(*ns)[REPORT_MAX_REPEAT] = self.ns[p][w - 1];
                fprintf(file,
                        "%s\n    {\"pattern\": \"%s\", \"workers\": %d, \"system\": \"%s\", "
                        "\"ns\": ",
                        first ? "" : ",", task_pattern_name(p), w, engine_systems[s].name);
                report_json_spread(file, report_spread(ns[s], self.repeat));
                if (s < SYSTEM_FIRST_PEER) {
                    fprintf(file, ", \"goal_ns\": ");
                    report_json_number(file, goals[p][s == SYSTEM_HANDED]);
                    if (s == SYSTEM_HANDED && w == MAX_WORKERS) {
                        fprintf(file, ", \"hand_overs\": ");
                        report_json_spread(file, in_hand_overs(p));
                    }
                } else {
                    fprintf(file, ", \"over_in_the_caller\": ");
                    report_json_spread(file, report_ratio(ns[s], ns[SYSTEM_CALLER], self.repeat));
                    fprintf(file, ", \"over_handed_over\": ");
                    report_json_spread(file, report_ratio(ns[s], ns[SYSTEM_HANDED], self.repeat));
                }
                fprintf(file, "}");
                first = false;
            }
    fprintf(file, "]");
}
