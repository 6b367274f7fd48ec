/* Reductions between devices in a queue of their own: behind what they read by marks, beside what computes, and which of
 * several goes first. On devices whose tasks end when the test says so. */
#include "tests/check.h"

#include "tests/late_device.h"

enum { VARS = 8 };

static const hki_queue_kind COMPUTE = HKI_QUEUE_COMPUTE, OUT = HKI_QUEUE_COPY_OUT,
                            REDUCE = HKI_QUEUE_REDUCE;

static hki_runtime *runtime;
static hki_var vars[VARS];

static void start(int launch_ahead)
{
    runtime = late_start(HK_ENGINE_ASYNC, launch_ahead, 0);
    for (int i = 0; i < VARS; i++)
        hki_var_init(&vars[i], runtime);
}

static void stop(void)
{
    late_run();
    CHECK(hk_ok(hk_wait_all()));
    late_check();
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

typedef struct work {
    bool may_fail;
    int number; /* 0: none */
} work;

static int ended[VARS], ended_count; /* numbers, in the order in which their tasks ended */

static void note_end(void *argument)
{
    const work *self = argument;
    if (self->number)
        ended[ended_count++] = self->number;
}

static void run(hki_task *task, void *payload, int64_t piece)
{
    (void)piece;
    const hki_task_spec *spec = hki_task_get_spec(task);
    late_task *late = late_next(late_index(spec->device), spec->queue);
    late->run = note_end;
    late->argument = payload;
    late->may_fail = ((work *)payload)->may_fail;
}

/* Reads a variable, unless `from` is negative, and writes another; all but what is in queues for computing are reductions,
 * or copies of such. */
static void submit(int device, hki_queue_kind queue, int from, int target, work todo)
{
    static const hki_task_class class = {.enqueues = true, .run = run};
    hki_task *task = hki_task_begin(runtime, sizeof todo, 2, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(work *)hki_task_payload(task) = todo;
    spec->class = &class;
    spec->device = late_devices[device];
    spec->operation = "work";
    spec->queue = (uint8_t)queue;
    spec->collective = queue != COMPUTE;
    spec->access_count = 0;
    if (from >= 0)
        spec->accesses[spec->access_count++] = (hki_access){&vars[from], 0, 1, HKI_READ, 0};
    spec->accesses[spec->access_count++] =
        (hki_access){&vars[target], 0, 1, HKI_READ | HKI_WRITE, 0};
    hki_task_submit(task);
}

static bool waits_for(int device, hki_queue_kind queue, int other, hki_queue_kind its)
{
    const late_task *task = &late_queues[device][queue].tasks[0];
    return task->wait_count == 1 && task->waits[0].device == other && task->waits[0].queue == its &&
           task->waits[0].position == 1;
}

static void await_calls(int device, hki_queue_kind queue, uint64_t count)
{
    while (hk_device_get_stats((hk_device){late_devices[device]}, (hk_queue)queue).calls < count)
        late_pause();
}

/* A sum of a gradient stands behind what makes it by a mark, and so does what takes it elsewhere; what computes with it
 * waits for its end, so that what computes without it is over before any of it. */
static void test_beside(void)
{
    start(64);
    submit(0, COMPUTE, -1, 0, (work){0});
    submit(0, REDUCE, 0, 1, (work){0});
    submit(0, OUT, 1, 2, (work){0});
    submit(0, COMPUTE, 1, 3, (work){0});
    submit(1, COMPUTE, 2, 4, (work){0});
    submit(0, COMPUTE, 0, 5, (work){0});
    late_await(0, COMPUTE, 2);
    late_await(0, OUT, 1);
    late_pause();
    CHECK(late_launched_count(0, COMPUTE) == 2 && late_launched_count(1, COMPUTE) == 0);
    CHECK(waits_for(0, REDUCE, 0, COMPUTE) && waits_for(0, OUT, 0, REDUCE));
    CHECK(late_step(0, COMPUTE) && late_step(0, COMPUTE));
    await_calls(0, COMPUTE, 2);
    CHECK(late_step(0, REDUCE));
    late_await(0, COMPUTE, 3);
    CHECK(late_step(0, OUT));
    late_await(1, COMPUTE, 1);
    CHECK_EQ_I64(late_wait_count, 2);
    stop();
}

/* Gradients get ready from the last to the first; of those that wait for the queue the one issued first goes first. */
static void test_order(void)
{
    enum { GRADIENTS = 6 };
    start(2);
    for (int i = GRADIENTS; i < VARS; i++)
        submit(0, REDUCE, -1, i, (work){0});
    late_await(0, REDUCE, 2); /* more are not launched */
    for (int i = GRADIENTS - 1; i >= 0; i--)
        submit(1, COMPUTE, -1, i, (work){.may_fail = true}); /* nothing is launched behind it */
    for (int i = 0; i < GRADIENTS; i++)
        submit(0, REDUCE, -1, i, (work){.number = i + 1});
    while (hk_device_get_stats((hk_device){late_devices[1]}, HK_QUEUE_COMPUTE).calls < GRADIENTS)
        late_step(1, COMPUTE);
    late_pause();
    while (ended_count < GRADIENTS)
        late_step(0, REDUCE);
    for (int i = 0; i < GRADIENTS; i++)
        CHECK_EQ_I64(ended[i], i + 1);
    stop();
}

int main(void)
{
    test_beside();
    test_order();
    return check_result();
}
