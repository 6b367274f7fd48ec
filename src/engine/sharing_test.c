/* What tasks share: each part runs once and has ended when hki_task_share returns, whoever takes part: threads that wait,
 * idle workers, none; several tasks that would share at once; on one core; in the serial engine. */
#include "engine/engine.h"
#include "tests/check.h"

#include <fenv.h>
#include <hocket/runtime.h>
#include <pthread.h>
#include <unistd.h>

enum { PARTS = 7, VARS = 4, TASKS = 4000, THREADS = 3 };

static hki_runtime *runtime;
static hki_var vars[VARS];
static pthread_t caller;
static _Atomic(int) by_caller, is_wrong;

/* Plain, and on the stack of the task: threads that still looked at it later would be told of by the sanitizers. */
typedef struct shared {
    int runs[PARTS];
    int64_t work_ns;
} shared;

static void part_run(void *argument, int64_t part)
{
    shared *its = argument;
    const int64_t end = hki_clock_ns() + its->work_ns;
    its->runs[part]++;
    while (hki_clock_ns() < end)
        ;
    if (pthread_equal(pthread_self(), caller))
        atomic_fetch_add(&by_caller, 1);
    if (fegetround() != FE_TONEAREST)
        atomic_store(&is_wrong, 1);
}

static void share_run(hki_task *task, void *payload, int64_t piece)
{
    shared its = {.work_ns = *(const int64_t *)payload};
    (void)piece;
    for (int count = 0; count <= PARTS; count++) {
        hki_task_share(task, count, part_run, &its);
        for (int i = 0; i < PARTS; i++) {
            if (its.runs[i] != (i < count))
                atomic_store(&is_wrong, 1);
            its.runs[i] = 0;
        }
    }
}

static const hki_task_class share_class = {.run = share_run};

static void issue(int var, int64_t work_ns)
{
    hki_task *task = hki_task_begin(runtime, sizeof work_ns, 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(int64_t *)hki_task_payload(task) = work_ns;
    spec->class = &share_class;
    spec->device = hk_device_default().handle;
    spec->operation = "share";
    spec->expected_ns = 10000;
    spec->accesses[0] = (hki_access){&vars[var], 0, 1, HKI_WRITE | HKI_HEAL};
    hki_task_submit(task);
}

static void wait_for(int var)
{
    hk_status_release(hki_wait_range(&vars[var], 0, 1, NULL, NULL));
}

static void start(hk_engine engine, int cores)
{
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.engine = engine, .cpu_cores = cores, .inline_ns = -1})));
    runtime = hki_runtime_default();
    for (int i = 0; i < VARS; i++)
        hki_var_init(&vars[i], runtime);
    caller = pthread_self();
    atomic_store(&by_caller, 0);
}

static void end(void)
{
    CHECK(hk_ok(hk_wait_all()));
    CHECK(!atomic_load(&is_wrong));
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

static void test_steps(hk_engine engine, int cores)
{
    start(engine, cores);
    for (int i = 0; i < TASKS; i++) {
        issue(i % VARS, i % 16 ? 0 : 2000);
        if (i % 3 == 0)
            wait_for(i % VARS);
    }
    end();
}

/* Who waits takes part, where there is a core for that: in tasks that a worker has begun. */
static void test_waiting_thread_takes_part(void)
{
    start(HK_ENGINE_ASYNC, 2);
    if (hk_device_cores(hk_device_default()) == 2) {
        for (int i = 0; i < 5000 && atomic_load(&by_caller) == 0; i++) {
            issue(0, 20000);
            usleep(100); /* it has begun */
            wait_for(0);
        }
        CHECK(atomic_load(&by_caller) > 0);
    }
    end();
}

/* In a thread with another floating-point environment parts would give other results. */
static void test_environment(void)
{
    start(HK_ENGINE_ASYNC, 2);
    fesetround(FE_UPWARD);
    for (int i = 0; i < 300; i++) {
        issue(0, 1000);
        wait_for(0);
    }
    fesetround(FE_TONEAREST);
    end();
}

static void *issue_many(void *argument)
{
    const int var = *(const int *)argument;
    for (int i = 0; i < TASKS / 4; i++) {
        issue(var, i % 16 ? 0 : 2000);
        wait_for(var);
    }
    return NULL;
}

static void test_several_threads(void)
{
    pthread_t threads[THREADS];
    int which[THREADS];
    start(HK_ENGINE_ASYNC, 4);
    for (int i = 0; i < THREADS; i++) {
        which[i] = i;
        pthread_create(&threads[i], NULL, issue_many, &which[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    end();
}

int main(void)
{
    test_steps(HK_ENGINE_SERIAL, 2);
    test_steps(HK_ENGINE_ASYNC, 1);
    test_steps(HK_ENGINE_ASYNC, 2);
    test_waiting_thread_takes_part();
    test_environment();
    test_several_threads();
    return check_result();
}
