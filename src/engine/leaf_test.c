/* Leaf tasks that run while they are issued: exactly when nothing is in their way and they are short, in one total order
 * whatever the number of threads, with the failures of any other task, and unseen by whoever waits. */
#include "base/hooks.h"
#include "base/sync.h"
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <fenv.h>
#include <hocket/runtime.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ADDITIONS = 20000, VARS = 3 };

static hki_var vars[VARS];
static hki_runtime *runtime;
static hki_device *device;
static _Atomic(pthread_t) ran_in;
static _Atomic(int) runs, finishes, held;
static uint64_t sums[VARS]; /* plain: the order of tasks is what guards them */

typedef struct work {
    int target, source; /* of vars and sums; source -1: none */
    bool fails;
} work;

static void work_run(hki_task *task, void *payload, int64_t piece)
{
    const work *w = payload;
    atomic_store(&ran_in, pthread_self());
    atomic_fetch_add(&runs, 1);
    if (w->fails) {
        hki_task_fail(task, piece, HK_INJECTED, "told to fail");
        return;
    }
    sums[w->target] = sums[w->target] * 3 + (w->source < 0 ? 1 : sums[w->source]);
}

static void count_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)piece;
    sums[((const work *)payload)->target]++;
}

static void hold_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    while (atomic_load(&held))
        usleep(100);
}

static bool refuse_prepare(hki_task *task, void *payload)
{
    (void)payload;
    hki_task_fail(task, 0, HK_OUT_OF_MEMORY, "no room");
    return false;
}

static void note_finish(hki_task *task, void *payload)
{
    (void)task, (void)payload;
    atomic_fetch_add(&finishes, 1);
}

static const hki_task_class leaf_class = {.leaf = true, .run = work_run, .finish = note_finish},
                            plain_class = {.run = work_run, .finish = note_finish},
                            count_class = {.leaf = true, .run = count_run},
                            hold_class = {.run = hold_run},
                            refused_class = {.leaf = true,
                                             .prepare = refuse_prepare,
                                             .run = work_run,
                                             .finish = note_finish};

static void start(hk_engine engine, int64_t inline_ns)
{
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.engine = engine, .cpu_cores = 2, .inline_ns = inline_ns})));
    runtime = hki_runtime_default();
    device = hk_device_default().handle;
    for (int i = 0; i < VARS; i++) {
        hki_var_init(&vars[i], runtime);
        sums[i] = 0;
    }
    atomic_store(&runs, 0);
    atomic_store(&finishes, 0);
}

static void end(void)
{
    CHECK(hk_status_code(hk_wait_all()) == HK_OK);
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

static uint64_t issue(const hki_task_class *class, work w, int64_t expected_ns)
{
    hki_task *task = hki_task_begin(runtime, sizeof w, w.source < 0 ? 1 : 2, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    memcpy(hki_task_payload(task), &w, sizeof w);
    spec->class = class;
    spec->device = device;
    spec->operation = "test";
    spec->expected_ns = expected_ns;
    spec->accesses[0] = (hki_access){&vars[w.target], 0, 8, HKI_READ | HKI_WRITE, 0};
    if (w.source >= 0)
        spec->accesses[1] = (hki_access){&vars[w.source], 0, 8, HKI_READ, 0};
    return hki_task_submit(task);
}

static hk_code code_of(int var)
{
    const hk_status *status = wait_range(&vars[var], 0, 8, NULL, NULL);
    hk_code code = hk_status_code(status);
    hk_status_release(status);
    return code;
}

/* Done when the submission returns; counted like any other call. */
static void test_at_once(void)
{
    start(HK_ENGINE_ASYNC, 4000);
    uint64_t calls = hk_device_get_stats(hk_device_default(), HK_QUEUE_COMPUTE).calls;
    uint64_t first = issue(&leaf_class, (work){0, -1, false}, 10);
    CHECK_EQ_I64(sums[0], 1);
    CHECK(pthread_equal(atomic_load(&ran_in), pthread_self()));
    CHECK_EQ_I64(atomic_load(&finishes), 1);
    CHECK_EQ_I64(issue(&leaf_class, (work){1, 0, false}, 10), first + 1);
    CHECK_EQ_I64(hki_last_sequence(), first + 1);
    CHECK_EQ_I64(sums[1], 1);
    hk_runtime_internals stats = hk_runtime_get_internals();
    CHECK_EQ_I64(hk_runtime_get_stats().issued_calls, 2);
    CHECK_EQ_I64(stats.inline_calls, 2);
    CHECK_EQ_I64(stats.direct_calls, 0);
    CHECK_EQ_I64(hk_device_get_stats(hk_device_default(), HK_QUEUE_COMPUTE).calls, calls + 2);
    end();
}

/* What is long, or has been told never to run here, does not. */
static void test_elsewhere(void)
{
    start(HK_ENGINE_ASYNC, 4000);
    issue(&leaf_class, (work){0, -1, false}, 1000000);
    CHECK(code_of(0) == HK_OK);
    CHECK_EQ_I64(hk_runtime_get_internals().inline_calls, 0);
    end();
    start(HK_ENGINE_ASYNC, -1);
    issue(&leaf_class, (work){0, -1, false}, 1);
    CHECK(code_of(0) == HK_OK);
    CHECK_EQ_I64(hk_runtime_get_internals().inline_calls, 0);
    CHECK_EQ_I64(sums[0], 1);
    end();
}

/* An unfinished writer, and for a writer an unfinished reader, is waited for; neither is in the way of others. */
static void test_in_the_way(void)
{
    start(HK_ENGINE_ASYNC, 4000);
    atomic_store(&held, 1);
    issue(&hold_class, (work){0, 1, false}, 1000000); /* writes 0, reads 1 */
    issue(&leaf_class, (work){2, 1, false}, 10);      /* reads 1 as well */
    CHECK_EQ_I64(atomic_load(&runs), 1);
    issue(&leaf_class, (work){2, 0, false}, 10);  /* reads what is being written */
    issue(&leaf_class, (work){1, -1, false}, 10); /* writes what is being read */
    usleep(2000);
    CHECK_EQ_I64(atomic_load(&runs), 1);
    atomic_store(&held, 0);
    CHECK(code_of(2) == HK_OK);
    CHECK(code_of(1) == HK_OK);
    CHECK_EQ_I64(atomic_load(&runs), 3);
    CHECK_EQ_I64(sums[1], 1);
    /* The gates of what has finished are no more in the way. */
    uint64_t in_place = hk_runtime_get_internals().inline_calls;
    issue(&leaf_class, (work){1, 2, false}, 10);
    CHECK_EQ_I64(hk_runtime_get_internals().inline_calls, in_place + 1);
    CHECK_EQ_I64(atomic_load(&runs), 4);
    end();
}

/* The same records, in the same places, as where every task goes the long way. */
static void test_failures(hk_engine engine, int64_t inline_ns)
{
    start(engine, inline_ns);
    issue(&leaf_class, (work){0, -1, true}, 10);
    CHECK(code_of(0) == HK_INJECTED);
    issue(&leaf_class, (work){1, 0, false}, 10); /* does not run, and fails what it would write */
    CHECK(code_of(1) == HK_INJECTED);
    const hk_status *all = hk_wait_all();
    CHECK_EQ_I64(atomic_load(&runs), 1);
    CHECK_EQ_I64(atomic_load(&finishes), 2);
    CHECK_EQ_I64(hk_status_count(all), 1);
    CHECK_STR(hk_status_message(all), "told to fail");
    hki_task *task = hki_task_begin(runtime, sizeof(work), 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(work *)hki_task_payload(task) = (work){0, -1, false};
    spec->class = &leaf_class;
    spec->device = device;
    spec->operation = "heal";
    spec->expected_ns = 10;
    spec->accesses[0] = (hki_access){&vars[0], 0, 8, HKI_WRITE | HKI_HEAL, 0};
    hki_task_submit(task);
    CHECK(code_of(0) == HK_OK);
    CHECK(code_of(1) == HK_INJECTED);
    issue(&refused_class, (work){2, -1, false}, 10);
    CHECK(code_of(2) == HK_OUT_OF_MEMORY);
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 2);
    CHECK_EQ_I64(atomic_load(&runs), 2);
    CHECK_EQ_I64(atomic_load(&finishes), 4);
    hk_failures_clear();
    end();
}

static void *add(void *argument)
{
    bool *ordered = argument;
    uint64_t before = 0;
    *ordered = true;
    for (int i = 0; i < ADDITIONS; i++) {
        /* Some go the long way, so that both kinds meet. */
        uint64_t sequence = issue(&count_class, (work){0, -1, false}, i % 7 ? 10 : 1000000);
        *ordered &= sequence > before;
        before = sequence;
    }
    return NULL;
}

/* A plain sum that all threads add to is exact: one task at a time, each behind the one before. */
static void issue_late(hki_runtime *ending)
{
    CHECK(ending == runtime);
    issue(&leaf_class, (work){0, -1, false}, 10);
}

/* What comes when no task begins any more is dropped, not run. */
static void test_stopping(void)
{
    start(HK_ENGINE_ASYNC, 4000);
    hki_hooks.runtime_stopped = issue_late;
    hki_runtime_retain(runtime); /* for the variable that has failed */
    hk_runtime_deinit();
    hki_hooks.runtime_stopped = NULL;
    CHECK_EQ_I64(atomic_load(&runs), 0);
    CHECK_EQ_I64(atomic_load(&finishes), 1);
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hki_runtime_release(runtime);
}

static void test_threads(void)
{
    start(HK_ENGINE_ASYNC, 4000);
    pthread_t threads[THREADS];
    bool ordered[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, add, &ordered[i]));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(code_of(0) == HK_OK);
    CHECK_EQ_I64(sums[0], THREADS * ADDITIONS);
    CHECK_EQ_I64(hk_runtime_get_stats().issued_calls, THREADS * ADDITIONS);
    for (int i = 0; i < THREADS; i++)
        CHECK(ordered[i]);
    end();
}

static int rounding;

static void rounding_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    rounding = fegetround();
}

/* Nothing of the caller's floating-point environment is seen, nor lost. */
static void test_environment(void)
{
    static const hki_task_class class = {.leaf = true, .run = rounding_run};
    start(HK_ENGINE_ASYNC, 4000);
    fesetround(FE_UPWARD);
    issue(&class, (work){0, -1, false}, 10);
    CHECK(code_of(0) == HK_OK);
    CHECK_EQ_I64(rounding, FE_TONEAREST);
    CHECK_EQ_I64(fegetround(), FE_UPWARD);
    fesetround(FE_TONEAREST);
    end();
}

/* Many operands, large payloads, and both in turn with small ones in the same slots. */
static void test_sizes(void)
{
    enum { MANY = 40, LARGE = 5000 };
    start(HK_ENGINE_ASYNC, 4000);
    for (int i = 0; i < 300; i++) {
        int count = i % 3 == 0 ? MANY : 1;
        size_t bytes = i % 5 == 0 ? LARGE : sizeof(work);
        hki_task *task = hki_task_begin(runtime, bytes, count, 0);
        hki_task_spec *spec = hki_task_get_spec(task);
        memset(hki_task_payload(task), 0, bytes);
        *(work *)hki_task_payload(task) = (work){0, -1, false};
        spec->class = i % 2 ? &count_class : &plain_class;
        spec->device = device;
        spec->operation = "test";
        spec->expected_ns = i % 7 ? 10 : 1000000;
        for (int j = 0; j < count; j++)
            spec->accesses[j] = (hki_access){&vars[j % VARS], 0, 8, HKI_READ | HKI_WRITE, 0};
        hki_task_submit(task);
    }
    CHECK(code_of(0) == HK_OK);
    CHECK_EQ_I64(atomic_load(&runs), 150);
    end();
}

int main(void)
{
    test_at_once();
    test_elsewhere();
    test_in_the_way();
    test_failures(HK_ENGINE_SERIAL, 0);
    test_failures(HK_ENGINE_ASYNC, 4000);
    test_failures(HK_ENGINE_ASYNC, -1);
    test_stopping();
    test_threads();
    test_environment();
    test_sizes();
    return check_result();
}
