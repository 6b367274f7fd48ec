/* OpenMP's tasks with depend clauses, for GCC's libgomp and LLVM's libomp: the compiler decides. The team has as many
 * threads as there are to be workers; the one that issues is one of them, and takes tasks where the runtime lets it. */
#include "peers/peer.h"

#include <stdlib.h>

/* A cache line apart: libgomp hashes addresses by what is left after three bits, and neighbours collide. */
typedef struct datum {
    _Alignas(64) char value;
} datum;
static datum data[TASK_DATA];

/* clang-format off: it tears clauses apart. */
static void issue(const task_call *call, int64_t n)
{
    const int to = call->write, *from = call->reads;
    if (to < 0) { /* only ever with one read */
        char *fresh = malloc(8);
#pragma omp task firstprivate(n, fresh) depend(in : data[from[0]].value) depend(out : fresh[0])
        {
            spin(n);
            free(fresh);
        }
    } else if (call->read_count == 0) {
#pragma omp task firstprivate(n) depend(out : data[to].value)
        spin(n);
    } else if (call->read_count == 1 && from[0] == to) {
#pragma omp task firstprivate(n) depend(inout : data[to].value)
        spin(n);
    } else if (call->read_count == 1) {
#pragma omp task firstprivate(n) depend(in : data[from[0]].value) depend(out : data[to].value)
        spin(n);
    } else if (call->read_count == 2) {
#pragma omp task firstprivate(n) depend(out                                                        \
                                        : data[to].value)                                          \
    depend(in                                                                                      \
           : data[from[0]].value, data[from[1]].value)
        spin(n);
    } else {
#pragma omp task firstprivate(n) depend(out                                                        \
                                        : data[to].value)                                          \
    depend(in                                                                                      \
           : data[from[0]].value, data[from[1]].value, data[from[2]].value)
        spin(n);
    }
}
/* clang-format on */

static void run(const task_pattern *pattern, const peer_point *point, long first, long count)
{
    for (long i = 0, j = first % pattern->period; i < count;
         i++, j = j + 1 < pattern->period ? j + 1 : 0)
        issue(&pattern->calls[j], point->iterations);
#pragma omp taskwait
}

int main(int count, char **arguments)
{
    static const peer_calls calls = {.run = run};
    peer_plan plan;
    if (!peer_plan_parse(&plan, count, arguments))
        return 2;
#pragma omp parallel num_threads(plan.workers)
#pragma omp single
    peer_plan_run(&plan, &calls);
    return 0;
}
