/* The mutex pool: see mutex_pool.h. */
#include "mutex_pool.h"
#include "peers/peer.h"

#include <stdlib.h>

static pool *self;
static pool_datum data[TASK_DATA];

static void body(void *argument)
{
    spin((int64_t)(intptr_t)argument);
}

static void run(const task_pattern *pattern, const peer_point *point, long first, long count)
{
    void *argument = (void *)(intptr_t)point->iterations;
    for (long i = 0, j = first % pattern->period; i < count;
         i++, j = j + 1 < pattern->period ? j + 1 : 0) {
        const task_call *c = &pattern->calls[j];
        pool_datum *fresh = c->write < 0 ? calloc(1, sizeof *fresh) : NULL;
        pool_access accesses[4] = {{fresh ? fresh : &data[c->write], true}};
        for (int k = 0; k < c->read_count; k++)
            accesses[1 + k] = (pool_access){&data[c->reads[k]], false};
        pool_submit(self, body, argument, accesses, 1 + c->read_count, fresh);
    }
    pool_wait_all(self);
}

int main(int count, char **arguments)
{
    static const peer_calls calls = {.run = run};
    peer_plan plan;
    if (!peer_plan_parse(&plan, count, arguments))
        return 2;
    self = pool_create(plan.workers);
    peer_plan_run(&plan, &calls);
    pool_destroy(self);
    for (int i = 0; i < TASK_DATA; i++)
        pool_datum_deinit(&data[i]);
    return 0;
}
