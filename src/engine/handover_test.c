/* What runs in the caller rests on what handing over costs, measured once, as soon as that can be, within bounds, unless
 * the program says. */
#include "base/sync.h"
#include "engine/engine_internal.h"
#include "tests/check.h"

#include <hocket/runtime.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 3, LEAST_NS = 500, MOST_NS = 20000 };

static hki_var var;

static void nothing_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
}

static const hki_task_class nothing = {.run = nothing_run};

static void issue_on(hki_var *written, const hki_task_class *class, int64_t expected_ns)
{
    hki_task *task = hki_task_begin(hki_runtime_default(), 0, 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = class;
    spec->device = hk_device_default().handle;
    spec->operation = "test";
    spec->expected_ns = expected_ns;
    spec->accesses[0] = (hki_access){written, 0, 1, HKI_WRITE};
    hki_task_submit(task);
}

static void issue(const hki_task_class *class, int64_t expected_ns)
{
    issue_on(&var, class, expected_ns);
}

/* Issues calls for which the cost matters until it could be measured: a machine at work may take its core from a worker at
 * any moment. Returns how many. */
static int issue_until_measured(void)
{
    const int64_t end = hki_clock_ns() + (int64_t)20e9;
    int count = 0;
    while (hk_runtime_get_stats().inline_ns == 0 && hki_clock_ns() < end) {
        if (count++)
            usleep(1000);
        issue(&nothing, 2000);
    }
    CHECK(hk_ok(hk_wait_all()));
    return count;
}

static void test_measured(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1})));
    hki_var_init(&var, hki_runtime_default());
    issue(&nothing, LEAST_NS); /* runs here anyway */
    CHECK_EQ_I64(hk_runtime_get_stats().inline_calls, 1);
    issue(&nothing, MOST_NS + 1); /* never does */
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(hk_runtime_get_stats().inline_calls, 1);
    CHECK_EQ_I64(hk_runtime_get_stats().inline_ns, 0); /* it has not mattered yet */
    uint64_t sequence = hki_last_sequence();
    int count = issue_until_measured();
    hk_runtime_stats stats = hk_runtime_get_stats();
    CHECK(stats.inline_ns >= LEAST_NS && stats.inline_ns <= MOST_NS);
    CHECK(stats.inline_asleep_ns >= LEAST_NS && stats.inline_asleep_ns <= MOST_NS);
    CHECK_EQ_I64(stats.issued_calls, 2 + count); /* probes are no calls */
    CHECK_EQ_I64(hki_last_sequence(), (int64_t)sequence + count);
    CHECK_EQ_I64(hk_device_get_stats(hk_device_default(), HK_QUEUE_COMPUTE).calls, 2 + count);
    for (int i = 0; i < 100; i++) /* once */
        issue(&nothing, 2000);
    CHECK_EQ_I64(hk_runtime_get_stats().inline_ns, stats.inline_ns);
    issue(&nothing, MOST_NS + 1);
    CHECK(hk_ok(hk_wait_all()));
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

static _Atomic(bool) has_begun, may_end;

static void held_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    atomic_store(&has_begun, true);
    while (!atomic_load(&may_end))
        usleep(100);
}

/* A call comes for which it matters while the only worker is at something long: what was not measured then does not count
 * for ever. */
static void test_measured_later(void)
{
    static const hki_task_class held = {.run = held_run};
    hki_var other;
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1})));
    hki_var_init(&var, hki_runtime_default());
    hki_var_init(&other, hki_runtime_default());
    issue(&held, INT64_MAX);
    while (!atomic_load(&has_begun))
        usleep(100);
    issue_on(&other, &nothing, 2000);
    CHECK_EQ_I64(hk_runtime_get_stats().inline_ns, 0);
    CHECK_EQ_I64(hk_runtime_get_stats().inline_calls, 1); /* it takes less than might have been */
    atomic_store(&may_end, true);
    CHECK(hk_ok(hk_wait_all()));
    issue_until_measured();
    hk_runtime_stats stats = hk_runtime_get_stats();
    CHECK(stats.inline_ns >= LEAST_NS && stats.inline_ns <= MOST_NS);
    CHECK(stats.inline_asleep_ns >= LEAST_NS && stats.inline_asleep_ns <= MOST_NS);
    hki_var_deinit(&other);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

static void test_told(int64_t inline_ns, int64_t expected_ns, bool runs_here)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.inline_ns = inline_ns})));
    hki_var_init(&var, hki_runtime_default());
    issue(&nothing, expected_ns);
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_stats stats = hk_runtime_get_stats();
    CHECK_EQ_I64(stats.inline_calls, runs_here);
    CHECK_EQ_I64(stats.inline_ns, inline_ns);
    CHECK_EQ_I64(stats.inline_asleep_ns, inline_ns);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

static void busy_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    for (int64_t until = hki_clock_ns() + 2000; hki_clock_ns() < until;)
        hki_relax();
}

/* Short calls that follow each other closely do not all run in the caller while the workers sleep on. */
static void test_burst(void)
{
    static const hki_task_class busy = {.run = busy_run};
    enum { CALLS = 2000 }; /* 4 ms */
    CHECK(hk_ok(hk_runtime_init(NULL)));
    hki_var_init(&var, hki_runtime_default());
    issue_until_measured();
    hk_runtime_stats stats = hk_runtime_get_stats();
    usleep(2000);
    int64_t expected_ns =
        stats.inline_asleep_ns > stats.inline_ns ? stats.inline_asleep_ns : stats.inline_ns + 1;
    for (int i = 0; i < CALLS; i++)
        issue(&busy, expected_ns);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(hk_runtime_get_stats().inline_calls - stats.inline_calls < CALLS);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

static void *issue_some(void *argument)
{
    (void)argument;
    for (int i = 0; i < 1000; i++)
        issue(&nothing, 1000 + i);
    return NULL;
}

/* All come at once; the runtime ends right behind them. */
static void test_threads(void)
{
    for (int round = 0; round < 5; round++) {
        pthread_t threads[THREADS];
        CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2})));
        hki_var_init(&var, hki_runtime_default());
        for (int i = 0; i < THREADS; i++)
            CHECK(!pthread_create(&threads[i], NULL, issue_some, NULL));
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        const hk_status *status = hki_wait_range(&var, 0, 1, NULL, NULL);
        CHECK(hk_ok(status));
        hk_status_release(status);
        CHECK_EQ_I64(hk_runtime_get_stats().issued_calls, THREADS * 1000);
        hki_var_deinit(&var);
        hk_runtime_deinit();
    }
}

/* ---- who waits for each call ---------------------------------------------------------------------------------- */

static atomic_int here, elsewhere;
static pthread_t program;

static void where_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    atomic_fetch_add(pthread_equal(pthread_self(), program) ? &here : &elsewhere, 1);
}

static const hki_task_class where = {.run = where_run};

/* Issues so many, each of some 20 us, without waiting; returns how many of them ran in this thread. */
static int issue_unwaited(int count)
{
    const int before = atomic_load(&here) + atomic_load(&elsewhere),
              here_before = atomic_load(&here);
    for (int i = 0; i < count; i++)
        issue(&where, MOST_NS + 1);
    while (atomic_load(&here) + atomic_load(&elsewhere) <
           before + count) /* no wait of the library's */
        usleep(100);
    return atomic_load(&here) - here_before;
}

static bool wait_for(hki_var *target)
{
    const hk_status *status = hki_wait_range(target, 0, 1, NULL, NULL);
    const bool waited = hk_ok(status);
    hk_status_release(status);
    return waited;
}

/* A thread that waits for each call runs it; one that has stopped to wait is held up by one call, not by two, and one that
 * waits for several at a time, or looks at something else, by none. */
static void test_waits_for_each(int64_t inline_ns, bool runs_here)
{
    enum { WAITS = 20, CALLS = 10 };
    hki_var other;
    program = pthread_self();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1, .inline_ns = inline_ns})));
    hki_var_init(&var, hki_runtime_default());
    hki_var_init(&other, hki_runtime_default());
    for (int i = 0; i < WAITS; i++) {
        CHECK_EQ_I64(issue_unwaited(1), 0);
        CHECK(wait_for(&other));
    }
    for (int i = 0; i < WAITS; i++) {
        issue(&where, MOST_NS + 1);
        CHECK(wait_for(&var));
    }
    const uint64_t inline_calls = hk_runtime_get_stats().inline_calls;
    CHECK(runs_here ? inline_calls >= WAITS / 2 : inline_calls == 0);
    CHECK_EQ_I64(issue_unwaited(CALLS), runs_here);
    CHECK(wait_for(&var));
    CHECK_EQ_I64(issue_unwaited(CALLS), 0);
    CHECK(wait_for(&var));
    for (int i = 0; i < WAITS; i++) {
        CHECK_EQ_I64(issue_unwaited(2), 0);
        CHECK(wait_for(&var));
    }
    for (int i = 0; i < WAITS; i++) { /* too long */
        issue(&where, 60000);
        CHECK(wait_for(&var));
    }
    const uint64_t still = hk_runtime_get_stats().inline_calls;
    issue(&where, 60000);
    CHECK(wait_for(&var));
    CHECK(hk_runtime_get_stats().inline_calls == still);
    hki_var_deinit(&other);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

/* What a thread's short tasks depend on decides how long one may be to run in the caller. Nothing else runs here: what workers
 * would have seen is told. */
static void test_turn_where(void)
{
    enum { LOOK = 64, LEAST_PERIOD = 1024, LIMIT_NS = 600 };
    static const struct {
        uint64_t reach;
        int64_t most_ns;
    } seen[] = {{1, LIMIT_NS}, {7, LIMIT_NS / 2}, {32, LIMIT_NS / 4},
                {1, LIMIT_NS}, {2, LIMIT_NS},     {20, LIMIT_NS / 4}};
    hki_thread self = {0};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1})));
    hki_runtime *runtime = hki_runtime_default();
    CHECK(hki_turn_where(&self, runtime, 300) == HKI_ANYWHERE); /* not measured yet */
    atomic_store(&runtime->inline_ns, LIMIT_NS);
    atomic_store(&runtime->inline_turn_ns, LIMIT_NS / 4);
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        for (int j = 0; j < LOOK; j++) {
            CHECK(hki_turn_where(&self, runtime, 300) == HKI_IN_WORKER);
            /* Whatever is seen. Handed over, it would be in the way of all that runs in the caller. */
            CHECK(hki_turn_where(&self, runtime, LIMIT_NS / 4) == HKI_IN_CALLER);
        }
        atomic_store(&runtime->ordering->reach, seen[i].reach);
        int calls = LOOK;
        for (int j = 0; self.turn_calls; j++) {
            const uint32_t before = self.turn_calls;
            const int64_t ns = seen[i].most_ns + (seen[i].most_ns < LIMIT_NS ? j % 2 : 0);
            CHECK(hki_turn_where(&self, runtime, ns) ==
                  (ns <= seen[i].most_ns ? HKI_IN_CALLER : HKI_ANYWHERE));
            CHECK(hki_turn_where(&self, runtime, LIMIT_NS + 1) == HKI_ANYWHERE);
            calls += self.turn_calls != before; /* others do not count */
        }
        /* What has not changed is looked at less often. */
        CHECK(i == 4 ? calls > 3 * LEAST_PERIOD / 2 : calls < 3 * LEAST_PERIOD / 2);
    }
    /* Between two looks, in that runtime, outside tasks, and counted. */
    hki_thread between = {.turn_number = runtime->number,
                          .turn_calls = LOOK + 1,
                          .turn_period = LOOK + 3,
                          .turn_limit_ns = LIMIT_NS};
    CHECK(!hki_turn_stays_in_caller(&between, runtime, LIMIT_NS + 1));
    between.task_depth = 1;
    CHECK(!hki_turn_stays_in_caller(&between, runtime, LIMIT_NS));
    between.task_depth = 0;
    between.turn_number++;
    CHECK(!hki_turn_stays_in_caller(&between, runtime, LIMIT_NS));
    between.turn_number--;
    CHECK(hki_turn_stays_in_caller(&between, runtime, LIMIT_NS));
    CHECK(hki_turn_stays_in_caller(&between, runtime, LIMIT_NS));
    CHECK(!hki_turn_stays_in_caller(&between, runtime, LIMIT_NS)); /* time to look */
    between.turn_calls = LOOK - 1;
    CHECK(!hki_turn_stays_in_caller(&between, runtime, LIMIT_NS));
    hk_runtime_deinit();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.inline_ns = 4000})));
    CHECK(hki_turn_where(&self, hki_runtime_default(), 300) == HKI_ANYWHERE);
    hk_runtime_deinit();
}

int main(void)
{
    test_turn_where();
    test_waits_for_each(0, true);
    test_waits_for_each(4000, false);
    test_waits_for_each(-1, false);
    test_measured();
    test_measured_later();
    test_told(4000, 4000, true);
    test_told(4000, 4001, false);
    test_told(100, 200, false);
    test_told(-1, 0, false);
    test_burst();
    test_threads();
    return check_result();
}
