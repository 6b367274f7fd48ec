/* Tasks that use more variables than a task has places in lists: behind many tasks they wait for ends, behind one they are
 * launched ahead, as one step of training is behind the other. */
#include "tests/check.h"
#include "tests/late_device.h"

enum { MANY = 80, STEPS = 20 };

static hki_runtime *runtime;
static hki_var many[MANY];
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
    runtime = late_start(HK_ENGINE_ASYNC, 2 * MANY, 0);
    atomic_store(&ran, 0);
    for (int i = 0; i < MANY; i++)
        hki_var_init(&many[i], runtime);
}

static void stop(int expected)
{
    while (atomic_load(&ran) < expected)
        late_run();
    CHECK(hk_ok(hk_wait_all()));
    late_check();
    for (int i = 0; i < MANY; i++)
        hki_var_deinit(&many[i]);
    hk_runtime_deinit();
}

/* A task of a device that uses so many of them, from `first` on. */
static void submit(int device, int first, int access_count, unsigned mode)
{
    hki_task *task = hki_task_begin(runtime, 0, access_count, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = &work_class;
    spec->device = late_devices[device];
    spec->operation = "work";
    for (int i = 0; i < access_count; i++)
        spec->accesses[i] = (hki_access){&many[first + i], 0, 1, mode, 0};
    hki_task_submit(task);
}

static void test_many_writers(void)
{
    start();
    for (int i = 0; i < MANY; i++)
        submit(0, i, 1, HKI_WRITE | HKI_HEAL);
    submit(1, 0, MANY, HKI_READ);
    late_await(0, HKI_QUEUE_COMPUTE, MANY);
    late_pause();
    CHECK_EQ_I64(late_launched_count(1, HKI_QUEUE_COMPUTE), 0);
    stop(MANY + 1);
}

/* As parameters are a step's; and then somebody reads them on another device. */
static void test_one_writer(void)
{
    start();
    for (int i = 0; i < STEPS; i++)
        submit(0, 0, MANY, HKI_READ | HKI_WRITE);
    submit(1, 0, MANY, HKI_READ);
    late_await(0, HKI_QUEUE_COMPUTE, STEPS);
    late_await(1, HKI_QUEUE_COMPUTE, 1);
    CHECK_EQ_I64(atomic_load(&ran), 0);
    const late_task *reader = &late_queues[1][HKI_QUEUE_COMPUTE].tasks[0];
    CHECK_EQ_I64(reader->wait_count, 1);
    CHECK(reader->waits[0].device == 0 && reader->waits[0].queue == HKI_QUEUE_COMPUTE &&
          reader->waits[0].position == STEPS);
    stop(STEPS + 1);
}

int main(void)
{
    test_many_writers();
    test_one_writer();
    return check_result();
}
