/* OpenMP's tasks with depend clauses, for GCC's libgomp and LLVM's libomp: the compiler decides. The team has as many
 * threads as there are to be workers; the one that issues is one of them, and takes tasks where the runtime lets it. */
#include "peers/peer.h"

#include <stdlib.h>

/* A cache line apart: libgomp hashes addresses by what is left after three bits, and neighbours collide. */
typedef struct datum {
    _Alignas(64) char value;
} datum;
static datum data[TASK_DATA];

static void issue(const task_call *call, int64_t iterations)
{
    const int *reads = call->reads;
    const int write = call->write;
    if (write < 0) { /* only ever with one read */
        char *fresh = malloc(8);
#pragma omp task firstprivate(iterations, fresh) depend(in                                         \
                                                        : data[reads[0]].value) depend(out         \
                                                                                       : fresh[0])
        {
            spin(iterations);
            free(fresh);
        }
    } else if (call->read_count == 0) {
#pragma omp task firstprivate(iterations) depend(out : data[write].value)
        spin(iterations);
    } else if (call->read_count == 1 && reads[0] == write) {
#pragma omp task firstprivate(iterations) depend(inout : data[write].value)
        spin(iterations);
    } else if (call->read_count == 1) {
#pragma omp task firstprivate(iterations) depend(in                                                \
                                                 : data[reads[0]].value)                           \
    depend(out                                                                                     \
           : data[write].value)
        spin(iterations);
    } else if (call->read_count == 2) {
#pragma omp task firstprivate(iterations) depend(in                                                \
                                                 : data[reads[0]].value, data[reads[1]].value)     \
    depend(out                                                                                     \
           : data[write].value)
        spin(iterations);
    } else {
#pragma omp task firstprivate(iterations)                                                          \
    depend(in                                                                                      \
           : data[reads[0]].value, data[reads[1]].value, data[reads[2]].value)                     \
        depend(out                                                                                 \
               : data[write].value)
        spin(iterations);
    }
}

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
