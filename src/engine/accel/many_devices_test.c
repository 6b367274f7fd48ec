/* Sums over many accelerators: up to 16 are launched ahead of what they read, on each device. Of what more queues read than
 * a gate has marks, who writes next waits for the end. */
#include "tests/check.h"

#define LATE_DEVICE_COUNT 24
#include "tests/late_device.h"

static hki_runtime *runtime;
static hki_var vars[LATE_DEVICES];
static atomic_int ran;

static void count(void *argument)
{
    (void)argument;
    atomic_fetch_add(&ran, 1);
}

static void run(hki_task *task, void *payload, int64_t piece)
{
    const hki_task_spec *spec = hki_task_get_spec(task);
    (void)payload, (void)piece;
    late_next(late_index(spec->device), spec->queue)->run = count;
}

static const hki_task_class work_class = {.enqueues = true, .run = run};

static void start(void)
{
    runtime = late_start(HK_ENGINE_ASYNC, 64, 0);
    atomic_store(&ran, 0);
    for (int i = 0; i < LATE_DEVICES; i++)
        hki_var_init(&vars[i], runtime);
}

static void stop(int expected)
{
    while (atomic_load(&ran) < expected)
        late_run();
    CHECK(hk_ok(hk_wait_all()));
    late_check();
    for (int i = 0; i < LATE_DEVICES; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

static hki_task *begin(int device, hki_queue_kind queue, int access_count)
{
    hki_task *task = hki_task_begin(runtime, 0, access_count, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = &work_class;
    spec->device = late_devices[device];
    spec->operation = "work";
    spec->queue = (uint8_t)queue;
    spec->collective = queue == HKI_QUEUE_REDUCE;
    return task;
}

/* Bytes [begin, end) of one variable. */
static void submit(int device, hki_queue_kind queue, int var, uint64_t first, uint64_t end,
                   unsigned mode)
{
    hki_task *task = begin(device, queue, 1);
    hki_task_get_spec(task)->accesses[0] = (hki_access){&vars[var], first, end, mode, 0};
    hki_task_submit(task);
}

/* The device's part of all arrays becomes their sum, as reduce_task.c has it. */
static void submit_sum(int device, int count_of_arrays)
{
    hki_task *task = begin(device, HKI_QUEUE_REDUCE, count_of_arrays);
    for (int i = 0; i < count_of_arrays; i++)
        hki_task_get_spec(task)->accesses[i] =
            (hki_access){&vars[i], (uint64_t)device, (uint64_t)device + 1, HKI_READ | HKI_WRITE, 0};
    hki_task_submit(task);
}

static void test_sums(int devices)
{
    start();
    for (int round = 0; round < 2; round++) {
        for (int d = 0; d < devices; d++)
            submit(d, HKI_QUEUE_COMPUTE, d, 0, LATE_DEVICES, HKI_WRITE | HKI_HEAL);
        for (int d = 0; d < devices; d++)
            submit_sum(d, devices);
        if (round == 0)
            continue;
        /* The second round's gradients wait for the end of the first one's sums: they are computed. */
        for (int d = 0; d < devices; d++)
            late_await(d, HKI_QUEUE_REDUCE, 1);
        CHECK_EQ_I64(atomic_load(&ran), 0);
        CHECK_EQ_I64(atomic_load(&late_wait_count), (int64_t)devices * devices);
    }
    stop(4 * devices);
}

/* More queues than a gate has marks. */
static void test_crowd(void)
{
    start();
    submit(0, HKI_QUEUE_COMPUTE, 0, 0, 1, HKI_WRITE | HKI_HEAL);
    late_await(0, HKI_QUEUE_COMPUTE, 1);
    late_run();
    for (int d = 0; d < LATE_DEVICES; d++)
        submit(d, HKI_QUEUE_COPY_OUT, 0, 0, 1, HKI_READ);
    submit(1, HKI_QUEUE_COPY_IN, 0, 0, 1, HKI_WRITE | HKI_HEAL);
    for (int d = 0; d < LATE_DEVICES; d++)
        late_await(d, HKI_QUEUE_COPY_OUT, 1);
    late_pause();
    CHECK_EQ_I64(late_launched_count(1, HKI_QUEUE_COPY_IN), 0);
    stop(LATE_DEVICES + 2);
}

int main(void)
{
    static const int counts[] = {2, 3, 4, 8, 16};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        test_sums(counts[i]);
    test_crowd();
    return check_result();
}
