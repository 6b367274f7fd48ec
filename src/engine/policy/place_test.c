/* What runs in the caller rests on how long it takes, and on whether it is one of a chain, unless the program says. */
#include "device/cpu/cpu_topology.h"
#include "engine/policy/place.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <hocket/runtime.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 3, LEAST_NS = 500, MOST_NS = 20000 };

static hki_var var;

static void nothing_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
}

static const hki_task_class nothing = {.run = nothing_run};

static void issue_pieces_on(hki_var *written, const hki_task_class *class, int64_t expected_ns,
                            int64_t pieces)
{
    hki_task *task = hki_task_begin(hki_runtime_default(), 0, 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = class;
    spec->device = hk_device_default().handle;
    spec->operation = "test";
    spec->expected_ns = expected_ns;
    spec->piece_count = pieces;
    spec->accesses[0] = (hki_access){written, 0, 1, HKI_WRITE, 0};
    hki_task_submit(task);
}

static void issue_on(hki_var *written, const hki_task_class *class, int64_t expected_ns)
{
    issue_pieces_on(written, class, expected_ns, 1);
}

static void issue(const hki_task_class *class, int64_t expected_ns)
{
    issue_on(&var, class, expected_ns);
}

/* Of tasks that need gates; what is short is asked of chains below. */
static void test_not_told(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1})));
    hki_var_init(&var, hki_runtime_default());
    const hk_runtime_internals limits = hk_runtime_get_internals();
    CHECK(limits.inline_ns >= LEAST_NS && limits.inline_ns <= MOST_NS);
    CHECK(limits.inline_short_ns > 0 && limits.inline_short_ns <= limits.inline_ns);
    issue(&nothing, limits.inline_ns);
    CHECK_EQ_I64(hk_runtime_get_internals().inline_calls, 1);
    issue(&nothing, limits.inline_ns + 1);
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(hk_runtime_get_internals().inline_calls, 1);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

/* A worker that has no core of its own is handed less. */
static void test_one_core(void)
{
    cpu_set_t allowed;
    CHECK(!sched_getaffinity(0, sizeof allowed, &allowed));
    hki_cpu_pin((int[]){hki_cpu_least_of("0-1023", &allowed)}, 1);
    CHECK(hk_ok(hk_runtime_init(NULL)));
    const hk_runtime_internals limits = hk_runtime_get_internals();
    CHECK_EQ_I64(limits.inline_ns, HKI_ONE_CORE_NS);
    CHECK_EQ_I64(limits.inline_short_ns, HKI_ONE_CORE_NS);
    hk_runtime_deinit();
    CHECK(!sched_setaffinity(0, sizeof allowed, &allowed));
}

static void test_told(int64_t inline_ns, int64_t expected_ns, bool runs_here)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.inline_ns = inline_ns})));
    hki_var_init(&var, hki_runtime_default());
    issue(&nothing, expected_ns);
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_internals stats = hk_runtime_get_internals();
    CHECK_EQ_I64(stats.inline_calls, runs_here);
    CHECK_EQ_I64(stats.inline_ns, inline_ns);
    CHECK_EQ_I64(stats.inline_short_ns, inline_ns);
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
        const hk_status *status = wait_range(&var, 0, 1, NULL, NULL);
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
    const hk_status *status = wait_range(target, 0, 1, NULL, NULL);
    const bool waited = hk_ok(status);
    hk_status_release(status);
    return waited;
}

/* Pieces that the thread waits for. It begins with them itself, and workers take some: see test_shares. */
static void check_pieces(int64_t expected_ns, bool runs_here)
{
    const uint64_t before = hk_runtime_get_internals().inline_calls;
    for (int i = 0; i < 20; i++) {
        issue_pieces_on(&var, &where, expected_ns, 4);
        CHECK(wait_for(&var));
    }
    const uint64_t here_now = hk_runtime_get_internals().inline_calls - before;
    CHECK(runs_here ? here_now >= 10 : here_now == 0);
}

/* A thread that waits for each call runs it; one that has stopped to wait is held up by one call, not by two, and one that
 * waits for several at a time, or looks at something else, by none. */
static void test_waits_for_each(int cores, int64_t inline_ns, bool runs_here)
{
    enum { WAITS = 20, CALLS = 10 };
    const int64_t too_long = cores == 1 ? 600000 : 60000;
    hki_var other;
    program = pthread_self();
    CHECK(
        hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = cores, .inline_ns = inline_ns})));
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
    const uint64_t inline_calls = hk_runtime_get_internals().inline_calls;
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
        issue(&where, too_long);
        CHECK(wait_for(&var));
    }
    const uint64_t still = hk_runtime_get_internals().inline_calls;
    issue(&where, too_long);
    CHECK(wait_for(&var));
    CHECK(hk_runtime_get_internals().inline_calls == still);
    check_pieces(500000, runs_here);
    check_pieces(500001, false);
    issue_unwaited(2); /* what the thread does is not known of the next runtime */
    CHECK(wait_for(&var));
    hki_var_deinit(&other);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

static void takes_a_while(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    const int at_others = atomic_load(&elsewhere);
    if (!pthread_equal(pthread_self(), program))
        atomic_fetch_add(&elsewhere, 1);
    else /* until a worker has run another piece, for a second at most */
        for (int i = 0; i < 10000 && atomic_load(&elsewhere) == at_others; i++)
            usleep(100);
}

/* Of what runs here in pieces a worker takes some, asleep as it may be. */
static void test_shares(void)
{
    static const hki_task_class class = {.run = takes_a_while};
    program = pthread_self();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    hki_var_init(&var, hki_runtime_default());
    for (int i = 0; i < 20; i++) {
        issue(&where, MOST_NS + 1);
        CHECK(wait_for(&var));
    }
    const uint64_t before = hk_runtime_get_internals().inline_calls;
    for (int i = 0; i < 20; i++) {
        const int at_others = atomic_load(&elsewhere);
        if (i % 4 == 0)
            usleep(2000);
        issue_pieces_on(&var, &class, 400000, 2);
        CHECK(wait_for(&var));
        CHECK(atomic_load(&elsewhere) > at_others);
    }
    CHECK(hk_runtime_get_internals().inline_calls >= before + 10);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

/* ---- chains ----------------------------------------------------------------------------------------------------- */

enum { SHORT_LIMIT_NS = 100, LIMIT_NS = 600, VARS = 4 };

/* Issues so many leaves, on `vars` variables in turns; returns how many ran in this thread. */
static uint64_t issue_leaves(hki_var *vars, int var_count, int count, int64_t expected_ns)
{
    static const hki_task_class leaf = {.leaf = true, .run = nothing_run};
    const uint64_t before = hk_runtime_get_internals().inline_calls;
    for (int i = 0; i < count; i++)
        issue_on(&vars[i % var_count], &leaf, expected_ns);
    CHECK(hk_ok(hk_wait_all()));
    return hk_runtime_get_internals().inline_calls - before;
}

/* Short tasks each of which needs the one before run in the thread that issues them, up to a limit; others are
 * handed over from a part of that on. Here the limits are set. */
static void test_chain(void)
{
    enum { CALLS = 1000 };
    hki_var vars[VARS];
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1})));
    hki_runtime *runtime = hki_runtime_default();
    for (int i = 0; i < VARS; i++)
        hki_var_init(&vars[i], runtime);
    runtime->placement->inline_ns = LIMIT_NS;
    runtime->placement->inline_short_ns = SHORT_LIMIT_NS;
    CHECK_EQ_I64(issue_leaves(vars, VARS, CALLS, SHORT_LIMIT_NS), CALLS);
    CHECK_EQ_I64(issue_leaves(vars, VARS, CALLS, SHORT_LIMIT_NS + 1), 0);
    CHECK_EQ_I64(issue_leaves(vars, 1, CALLS, LIMIT_NS + 1), 0);
    CHECK(issue_leaves(vars, 1, CALLS, LIMIT_NS) >= CALLS - 2 * HKI_CHAIN_LENGTH);
    CHECK(issue_leaves(vars, VARS, CALLS, LIMIT_NS) <=
          1); /* but for the first, these are no chain */
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

int main(void)
{
    test_chain();
    for (int cores = 1; cores <= 2 && cores <= hki_cpu_cores((int[HKI_MAX_CORES]){0}); cores++) {
        test_waits_for_each(cores, 0, true);
        test_waits_for_each(cores, 4000, false);
        test_waits_for_each(cores, -1, false);
        if (cores == 2)
            test_shares();
    }
    test_not_told();
    test_one_core();
    test_told(4000, 4000, true);
    test_told(4000, 4001, false);
    test_told(100, 200, false);
    test_told(-1, 0, false);
    test_threads();
    return check_result();
}
