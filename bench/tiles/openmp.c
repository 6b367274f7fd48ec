/* OpenMP's tasks with depend clauses, by GCC or LLVM. */
#include "tiles/tiles.h"

static void run(const tile_plan *plan)
{
    const int n = plan->tile;
    for (int i = 0; i < plan->call_count; i++) {
        const tile_call call = plan->calls[i];
        double *a = tile_at(plan, call.tile[0]), *b = tile_at(plan, call.tile[1]),
               *c = tile_at(plan, call.tile[2]);
        if (call.count == 1) {
#pragma omp task firstprivate(call, a) depend(inout : a[0]) priority(call.priority)
            tile_run(call.kernel, n, (double *[]){a, 0, 0});
        } else if (call.count == 2) {
#pragma omp task firstprivate(call, a, b) depend(in                                                \
                                                 : a[0]) depend(inout                              \
                                                                : b[0]) priority(call.priority)
            tile_run(call.kernel, n, (double *[]){a, b, 0});
        } else {
#pragma omp task firstprivate(call, a, b, c) depend(in                                             \
                                                    : a[0], b[0]) depend(inout                     \
                                                                         : c[0])                   \
    priority(call.priority)
            tile_run(call.kernel, n, (double *[]){a, b, c});
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
