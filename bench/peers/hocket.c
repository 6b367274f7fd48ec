/* Hocket's engine, below arrays and operators. HOCKET_INLINE_NS decides which tasks run where they are issued; each is
 * expected to take what it takes. After the numbers of a point it says which part of its tasks ran in the caller. */
#include "engine_patterns.h"
#include "peers/peer.h"

#include <hocket/runtime.h>
#include <stdio.h>

static engine_data *data;
static uint64_t said_in_caller, said_issued;

static void run(const task_pattern *pattern, const peer_point *point, long first, long count)
{
    (void)first; /* it waits for nothing on the way */
    engine_issue_pattern(data, pattern, count, point->iterations, point->ns);
    hk_wait_all();
}

static void remark(void)
{
    const uint64_t in_caller = hk_runtime_get_internals().inline_calls;
    const uint64_t issued = hk_runtime_get_stats().issued_calls;
    printf(" in_caller %.6f",
           (double)(in_caller - said_in_caller) / (double)(issued - said_issued));
    said_in_caller = in_caller;
    said_issued = issued;
}

int main(int count, char **arguments)
{
    static const peer_calls calls = {.run = run, .remark = remark};
    peer_plan plan;
    if (!peer_plan_parse(&plan, count, arguments))
        return 2;
    if (hk_status_print(hk_runtime_init(&(hk_runtime_options){.cpu_cores = plan.workers}), stderr))
        return 1;
    data = engine_data_create(TASK_DATA);
    if (!data) {
        fprintf(stderr, "peer_hocket: no memory for %d variables\n", TASK_DATA);
        return 1;
    }
    peer_plan_run(&plan, &calls);
    engine_data_destroy(data);
    hk_runtime_deinit();
    return 0;
}
