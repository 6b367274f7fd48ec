/* StarPU: data handles, between whose uses StarPU finds the dependencies (its "sequential consistency"). WORKERS is
 * how many CPU workers there are; the main thread, which issues, is none of them. */
#include "peers/peer.h"

#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t data[TASK_DATA];
static starpu_data_handle_t handles[TASK_DATA];

static void body(void *buffers[], void *argument)
{
    (void)buffers;
    spin((int64_t)(intptr_t)argument);
}

/* By the number of data: one that is written, the others read. */
static struct starpu_codelet write_codelets[4] = {
    {.cpu_funcs = {body}, .nbuffers = 1, .modes = {STARPU_W}, .name = "w"},
    {.cpu_funcs = {body}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "wr"},
    {.cpu_funcs = {body}, .nbuffers = 3, .modes = {STARPU_W, STARPU_R, STARPU_R}, .name = "wrr"},
    {.cpu_funcs = {body},
     .nbuffers = 4,
     .modes = {STARPU_W, STARPU_R, STARPU_R, STARPU_R},
     .name = "wrrr"},
};
static struct starpu_codelet update_codelet = {
    .cpu_funcs = {body}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "rw"};

static void check(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "peer_starpu: %s: error %d\n", what, error);
        exit(1);
    }
}

static void issue(const task_call *call, int64_t iterations)
{
    starpu_data_handle_t fresh = NULL;
    struct starpu_task *task = starpu_task_create();
    if (call->write < 0) /* StarPU takes the memory when a task writes it */
        starpu_variable_data_register(&fresh, -1, 0, sizeof *data);
    task->cl_arg = (void *)(intptr_t)iterations;
    task->handles[0] = fresh ? fresh : handles[call->write];
    if (call->read_count == 1 && call->reads[0] == call->write) {
        task->cl = &update_codelet;
    } else {
        task->cl = &write_codelets[call->read_count];
        for (int i = 0; i < call->read_count; i++)
            task->handles[1 + i] = handles[call->reads[i]];
    }
    check(starpu_task_submit(task), "starpu_task_submit");
    if (fresh)
        starpu_data_unregister_submit(fresh);
}

static void run(const task_pattern *pattern, const peer_point *point, long first, long count)
{
    for (long i = 0, j = first % pattern->period; i < count;
         i++, j = j + 1 < pattern->period ? j + 1 : 0)
        issue(&pattern->calls[j], point->iterations);
    check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
}

int main(int count, char **arguments)
{
    static const peer_calls calls = {.run = run};
    peer_plan plan;
    struct starpu_conf conf;
    if (!peer_plan_parse(&plan, count, arguments))
        return 2;
    check(starpu_conf_init(&conf), "starpu_conf_init");
    conf.ncpus = plan.workers;
    conf.ncuda = conf.nopencl = 0;
    check(starpu_init(&conf), "starpu_init");
    for (int i = 0; i < TASK_DATA; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&data[i],
                                      sizeof data[i]);
    peer_plan_run(&plan, &calls);
    for (int i = 0; i < TASK_DATA; i++)
        starpu_data_unregister(handles[i]);
    starpu_shutdown();
    return 0;
}
