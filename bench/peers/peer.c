#include "peers/peer.h"

#include "bench_util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WORKERS = 64, MAX_ROUNDS = 1000, WARM_UP_NS = 10000000 };

static bool parse_count(const char *text, int most, int *value)
{
    char *end;
    errno = 0;
    long parsed = strtol(text, &end, 10);
    if (errno || end == text || *end || parsed < 1 || parsed > most)
        return false;
    *value = (int)parsed;
    return true;
}

static bool parse_point(const char *text, peer_point *point)
{
    int used = 0;
    return sscanf(text, "%ld:%" SCNd64 ":%" SCNd64 "%n", &point->tasks, &point->iterations,
                  &point->ns, &used) == 3 &&
           !text[used] && point->tasks > 0 && point->iterations >= 0 && point->ns >= 0;
}

bool peer_plan_parse(peer_plan *plan, int count, char **arguments)
{
    const char *wrong = NULL;
    memset(plan, 0, sizeof *plan);
    int number = count > 1 ? task_pattern_find(arguments[1]) : -1;
    if (count < 5)
        wrong = "too few arguments";
    else if (number < 0)
        wrong = arguments[1];
    else if (!parse_count(arguments[2], MAX_WORKERS, &plan->workers))
        wrong = arguments[2];
    else if (!parse_count(arguments[3], MAX_ROUNDS, &plan->rounds))
        wrong = arguments[3];
    else if (count - 4 > PEER_MAX_POINTS)
        wrong = "too many points";
    for (int i = 4; !wrong && i < count; i++)
        if (!parse_point(arguments[i], &plan->points[plan->point_count++]))
            wrong = arguments[i];
    if (wrong) {
        fprintf(stderr,
                "%s: %s\nusage: PATTERN WORKERS ROUNDS TASKS:ITERATIONS:NS...   workers 1 to %d, "
                "rounds 1 to %d, at most %d points; patterns:",
                count ? arguments[0] : "peer", wrong, MAX_WORKERS, MAX_ROUNDS, PEER_MAX_POINTS);
        for (int i = 0; i < TASK_PATTERNS; i++)
            fprintf(stderr, "%s \"%s\"", i ? "," : "", task_pattern_name(i));
        fprintf(stderr, "\n");
        return false;
    }
    const char *window = getenv("PEER_WINDOW");
    plan->window = window ? atol(window) : 0;
    task_pattern_init(&plan->pattern, number);
    return true;
}

static double round_ns(const peer_plan *plan, const peer_calls *calls, const peer_point *point)
{
    if (calls->prepare)
        calls->prepare(&plan->pattern, point);
    const long window = plan->window ? plan->window : point->tasks;
    double begin = bench_seconds();
    for (long first = 0, left = point->tasks; left > 0; first += window, left -= window)
        calls->run(&plan->pattern, point, first, left < window ? left : window);
    return (bench_seconds() - begin) / (double)point->tasks * 1e9;
}

void peer_plan_run(const peer_plan *plan, const peer_calls *calls)
{
    for (int i = 0; i < plan->point_count; i++) {
        peer_point some = plan->points[i];
        const long most = some.ns > 0 ? (long)(WARM_UP_NS / some.ns) + 1 : some.tasks;
        some.tasks = (some.tasks + 3) / 4 < most ? (some.tasks + 3) / 4 : most;
        round_ns(plan, calls, &some);
    }
    for (int i = 0; i < plan->point_count; i++) {
        for (int j = 0; j < plan->rounds; j++)
            printf("%s%.3f", j ? " " : "", round_ns(plan, calls, &plan->points[i]));
        if (calls->remark)
            calls->remark();
        printf("\n");
        fflush(stdout);
    }
}
