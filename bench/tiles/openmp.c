/* OpenMP's tasks with depend clauses, by GCC or LLVM. */
#include "tiles/tiles.h"

#define PRAGMA(text) _Pragma(#text)
#define TASK(...)                                                                                  \
    PRAGMA(omp task firstprivate(call, at) priority(call->priority) __VA_ARGS__)                   \
    tile_run(call, n, at);                                                                         \
    break;
#define IN(...) depend(in : __VA_ARGS__)
#define OUT(x)  depend(inout : x)

static void run(const tile_plan *plan, int first, int count)
{
    const int n = plan->tile;
    for (int i = first; i < first + count; i++) {
        const tile_call *call = &plan->calls[i];
        const int last = call->count - 1;
        double *at[TILE_MOST] = {0};
        for (int j = 0; j <= last; j++)
            at[j] = tile_at(plan, call->tile[j]);
        switch (last) { /* iterators of a clause cost a little more */
        case 0:
            TASK(OUT(*at[0]))
        case 1:
            TASK(IN(*at[0]) OUT(*at[1]))
        case 2:
            TASK(IN(*at[0], *at[1]) OUT(*at[2]))
        case 3:
            TASK(IN(*at[0], *at[1], *at[2]) OUT(*at[3]))
        case 4:
            TASK(IN(*at[0], *at[1], *at[2], *at[3]) OUT(*at[4]))
        case 5:
            TASK(IN(*at[0], *at[1], *at[2], *at[3], *at[4]) OUT(*at[5]))
        default:
            break;
        }
    }
#pragma omp taskwait
}

int main(int count, char **arguments)
{
    tile_plan plan;
    int result = 0;
    if (!tile_plan_parse(&plan, count, arguments))
        return 2;
#pragma omp parallel num_threads(plan.workers)
#pragma omp single
    result = tile_plan_run(&plan, run);
    return result;
}
