/* Nobody waits for what he does not wait for: steady streams of calls, recycled gates, misjudged tasks, calls
 * issued while the runtime ends. And memory does not grow with how many calls there have been. */
#include "base/sync.h"
#include "engine/sched/queue.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <hocket/runtime.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct work {
    void (*function)(void *);
    void *argument;
} work;

static hki_runtime *runtime;
static _Atomic(int) finished;

static void work_run(hki_task *task, void *payload, int64_t piece)
{
    const work *w = payload;
    (void)task, (void)piece;
    if (w->function)
        w->function(w->argument);
}

static void work_finish(hki_task *task, void *payload)
{
    (void)task, (void)payload;
    atomic_fetch_add(&finished, 1);
}

static const hki_task_class work_class = {.run = work_run, .finish = work_finish};
static const hki_task_class leaf_class = {.run = work_run, .finish = work_finish, .leaf = true};

static hki_task *begin(int device, int64_t expected_ns, void (*function)(void *), void *argument,
                       int count, const hki_access *accesses)
{
    hki_task *task = hki_task_begin(runtime, sizeof(work), count, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(work *)hki_task_payload(task) = (work){function, argument};
    spec->class = expected_ns < 500 ? &leaf_class : &work_class;
    spec->device = hk_device_at(device).handle;
    spec->operation = "work";
    spec->expected_ns = expected_ns;
    for (int i = 0; i < count; i++)
        spec->accesses[i] = accesses[i];
    return task;
}

static void start(int devices)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = devices, .inline_ns = -1})));
    runtime = hki_runtime_default();
}

static void spin_until(_Atomic(bool) *flag, int seconds)
{
    int64_t until = hki_clock_ns() + seconds * (int64_t)1000000000;
    while (!atomic_load(flag) && hki_clock_ns() < until)
        usleep(100);
}

/* ---- hk_wait_all beside a thread that goes on issuing ------------------------------------------------ */

static _Atomic(bool) stop;
static hki_var stream[8];

static void nap(void *argument)
{
    (void)argument;
    usleep(30);
}

static void *issue_until_stopped(void *argument)
{
    (void)argument;
    for (unsigned i = 0; !atomic_load(&stop); i++)
        hki_task_submit(begin(0, 1000000, nap, NULL, 1,
                              &(hki_access){&stream[i % 8], 0, 1, HKI_WRITE | HKI_HEAL, 0}));
    return NULL;
}

static void test_wait_all_beside_a_stream(void)
{
    pthread_t issuer;
    start(1);
    for (int i = 0; i < 8; i++)
        hki_var_init(&stream[i], runtime);
    pthread_create(&issuer, NULL, issue_until_stopped, NULL);
    usleep(20000);
    CHECK(hk_ok(hk_wait_all())); /* must return before the stream ends: a time limit catches it */
    atomic_store(&stop, true);
    pthread_join(issuer, NULL);
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < 8; i++)
        hki_var_deinit(&stream[i]);
    hk_runtime_deinit();
}

/* ---- a waiter and a gate that has become another's ------------------------------------------------------ */

static pthread_t main_thread;
static _Atomic(bool) go, unrelated_by_main;

static void wait_for_go(void *argument)
{
    (void)argument;
    spin_until(&go, 20);
}

static void unrelated(void *argument)
{
    (void)argument;
    if (pthread_equal(pthread_self(), main_thread))
        atomic_store(&unrelated_by_main, true);
    usleep(300000);
}

static void *give_go(void *argument)
{
    (void)argument;
    usleep(50000);
    atomic_store(&go, true);
    return NULL;
}

static void test_waiter_runs_only_what_it_waits_for(void)
{
    enum { A, B, X, U, U2, VARS };
    hki_var v[VARS];
    pthread_t helper;
    const unsigned over = HKI_WRITE | HKI_HEAL;
    main_thread = pthread_self();
    start(2);
    for (int i = 0; i < VARS; i++)
        hki_var_init(&v[i], runtime);
    hki_task_submit(begin(0, INT64_MAX, wait_for_go, NULL, 1, &(hki_access){&v[B], 0, 1, over, 0}));
    hki_task_submit(begin(1, INT64_MAX, nap, NULL, 1, &(hki_access){&v[A], 0, 1, over, 0}));
    hki_task_submit(begin(0, INT64_MAX, NULL, NULL, 3,
                          (hki_access[]){{&v[A], 0, 1, HKI_READ, 0},
                                         {&v[B], 0, 1, HKI_READ, 0},
                                         {&v[X], 0, 1, over, 0}}));
    usleep(30000); /* the first is done: its gate is recycled by the next to read it */
    hki_task_submit(begin(1, 1000, NULL, NULL, 1, &(hki_access){&v[A], 0, 1, HKI_READ, 0}));
    usleep(10000);
    pthread_create(&helper, NULL, give_go, NULL);
    hki_task_submit(begin(1, INT64_MAX, unrelated, NULL, 2,
                          (hki_access[]){{&v[U], 0, 1, over, 0}, {&v[U2], 0, 1, over, 0}}));
    hk_status_release(wait_range(&v[X], 0, 1, NULL, NULL));
    CHECK(!atomic_load(&unrelated_by_main));
    pthread_join(helper, NULL);
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&v[i]);
    hk_runtime_deinit();
}

/* ---- a task that was taken for short ---------------------------------------------------------------------- */

static _Atomic(bool) second_ran;
static bool second_ran_beside;

static void long_after_all(void *argument)
{
    (void)argument;
    spin_until(&second_ran, 60); /* seconds: beside other programs cores come late */
    second_ran_beside = atomic_load(&second_ran);
}

static void set(void *flag)
{
    atomic_store((_Atomic(bool) *)flag, true);
}

/* `first` calls long_after_all, `waiting` calls wait for it, and the next one, of nothing they touch, ends it. */
static void run_beside(int64_t first_ns, int waiting, int64_t expected_ns)
{
    hki_var v[2];
    start(1);
    if (hk_device_cores(hk_device_default()) < 2) {
        hk_runtime_deinit();
        return;
    }
    for (int i = 0; i < 2; i++)
        hki_var_init(&v[i], runtime);
    atomic_store(&second_ran, false);
    usleep(100000); /* all workers sleep */
    hki_task_submit(
        begin(0, first_ns, long_after_all, NULL, 1, &(hki_access){&v[0], 0, 1, HKI_WRITE, 0}));
    usleep(10000);
    for (int i = 0; i < waiting; i++)
        hki_task_submit(
            begin(0, expected_ns, NULL, NULL, 1, &(hki_access){&v[0], 0, 1, HKI_WRITE, 0}));
    hki_task_submit(
        begin(0, expected_ns, set, &second_ran, 1, &(hki_access){&v[1], 0, 1, HKI_WRITE, 0}));
    while (!atomic_load(&second_ran)) /* no helping: the workers must do it */
        usleep(1000);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(second_ran_beside);
    for (int i = 0; i < 2; i++)
        hki_var_deinit(&v[i]);
    hk_runtime_deinit();
}

static void test_idle_cores_do_not_sleep_on(void)
{
    run_beside(1000, 0, INT64_MAX);
}

/* Workers register a few calls ahead of what they run: but all of them before one goes to sleep. */
static void test_what_is_free_is_found_behind_what_waits(void)
{
    run_beside(INT64_MAX, 2000, 1000);
    run_beside(INT64_MAX, 2000, INT64_MAX);
    run_beside(1000, 2000, 1000);
    run_beside(INT64_MAX, 2000, 100); /* for a moment they wait for their turn */
}

/* ---- a call amid the end of the runtime ------------------------------------------------------------------ */

static void test_submit_after_the_end(void)
{
    hki_var v;
    start(1);
    hki_runtime_retain(runtime);
    hki_var_init(&v, runtime);
    hki_task *task = begin(0, INT64_MAX, NULL, NULL, 1, &(hki_access){&v, 0, 1, HKI_WRITE, 0});
    atomic_store(&finished, 0);
    hk_runtime_deinit();
    hki_task_submit(task);
    CHECK_EQ_I64(atomic_load(&finished), 1);
    hki_var_deinit(&v);
    hki_runtime_release(runtime);
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

/* Of slots and gates. */
static int block_count(void)
{
    int count = 0;
    for (void *block = runtime->blocks; block; block = *(void **)block)
        count++;
    return count;
}

/* As a captured step's: the same few arrays are read again and again, and somebody waits for the result. */
static void read_many(int accesses, int tasks)
{
    enum { MOST = 48, TOGETHER = 8 };
    static hki_var v[MOST];
    hki_access each[MOST];
    for (int i = 0; i < accesses; i++) {
        hki_var_init(&v[i], runtime);
        each[i] = (hki_access){&v[i], 0, 1, i ? HKI_READ : HKI_WRITE | HKI_HEAL, 0};
    }
    int before = 0;
    for (int i = 0; i < tasks; i++) {
        if (i == tasks / 8)
            before = block_count();
        hki_task_submit(begin(0, 10000, NULL, NULL, accesses, each));
        if (i % TOGETHER == 0)
            hk_status_release(wait_range(&v[0], 0, 1, NULL, NULL));
    }
    CHECK(hk_ok(hk_wait_all()));
    CHECK(before > 0 && block_count() - before <= 1);
    for (int i = 0; i < accesses; i++)
        hki_var_deinit(&v[i]);
}

static void test_memory_of_many_accesses(void)
{
    start(1);
    read_many(10, 30000);
    read_many(48, 10000);
    hk_runtime_deinit();
}

static void *submit_one(void *unused)
{
    hki_task_submit(begin(0, 0, NULL, NULL, 0, NULL));
    return unused;
}

/* Each keeps a slot for its next task, which does not come. */
static void test_memory_of_threads_that_end(void)
{
    enum { THREADS = 3000 };
    start(1);
    int before = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (i == THREADS / 8)
            before = block_count();
        CHECK(!pthread_create(&thread, NULL, submit_one, NULL));
        pthread_join(thread, NULL);
        /* Or what is unfinished takes memory, where a worker has lost its core. */
        if (i % 50 == 0)
            CHECK(hk_ok(hk_wait_all()));
    }
    CHECK(hk_ok(hk_wait_all()));
    CHECK(before > 0 && block_count() - before <= 1);
    hk_runtime_deinit();
}

/* ---- a device whose worker is at something long, expected or not, and another ---------------------------------------------- */

static _Atomic(bool) naps, done[4];

static void nap_long(void *argument)
{
    (void)argument;
    atomic_store(&naps, true);
    for (int i = 0; i < 4; i++)
        spin_until(&done[i], 20);
}

static void note(void *flag)
{
    atomic_store((_Atomic(bool) *)flag, true);
}

/* What is for one device does not wait for a worker of the other, which seems to be about to look for work; asleep or not,
 * once or again. */
static void test_busy_elsewhere(int devices, int64_t nap_expected_ns, int64_t expected_ns)
{
    hki_var own, others[4];
    start(devices);
    hki_var_init(&own, runtime);
    for (int i = 0; i < 4; i++)
        hki_var_init(&others[i], runtime);
    CHECK(hk_ok(hk_wait_all()));
    usleep(20000); /* all sleep */
    for (int i = 0; i < 4; i++)
        atomic_store(&done[i], false);
    hki_task_submit(
        begin(0, nap_expected_ns, nap_long, NULL, 1, &(hki_access){&own, 0, 1, HKI_WRITE, 0}));
    spin_until(&naps, 20);
    atomic_store(&naps, false);
    const int64_t begin_ns = hki_clock_ns();
    for (int i = 0; i < 4; i++) {
        hki_task_submit(begin(1, expected_ns, note, &done[i], 1,
                              &(hki_access){&others[i], 0, 1, HKI_WRITE, 0}));
        spin_until(&done[i], 20);
        usleep(i % 2 ? 5000 : 0);
    }
    CHECK(hki_clock_ns() - begin_ns < 10000000000);
    CHECK(hk_ok(hk_wait_all()));
    hki_var_deinit(&own);
    for (int i = 0; i < 4; i++)
        hki_var_deinit(&others[i]);
    hk_runtime_deinit();
}

/* ---- a small window and a worker that goes on at once ------------------------------------------------------------ */

static _Atomic(bool) has_begun, may_end;

static void hold(void *argument)
{
    (void)argument;
    atomic_store(&has_begun, true);
    spin_until(&may_end, 20);
}

/* What has finished is known to have, although its worker is at the next task already. */
static void test_window_of_two(int devices, int64_t held_expected_ns)
{
    hki_var var;
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){
        .cpu_devices = devices, .cpu_cores = 1, .inline_ns = -1, .run_ahead_calls = 2})));
    runtime = hki_runtime_default();
    hki_var_init(&var, runtime);
    atomic_store(&has_begun, false);
    atomic_store(&may_end, false);
    const int64_t begin_ns = hki_clock_ns();
    const hki_access access = {&var, 0, 1, HKI_WRITE, 0};
    hki_task_submit(begin(0, 200, NULL, NULL, 1, &access));
    hki_task_submit(begin(0, held_expected_ns, hold, NULL, 1, &access));
    spin_until(&has_begun, 20);
    hki_task_submit(begin(0, 200, NULL, NULL, 1, &access));
    CHECK(hki_clock_ns() - begin_ns < 15000000000);
    atomic_store(&may_end, true);
    CHECK(hk_ok(hk_wait_all()));
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

/* ---- who issues calls runs none that is long ------------------------------------------------------------------------- */

static _Atomic(bool) held_by_issuer;

static void hold_elsewhere(void *argument)
{
    if (!pthread_equal(pthread_self(), main_thread))
        hold(argument);
    else if (!atomic_load(&may_end)) /* else it waits for everything */
        atomic_store(&held_by_issuer, true);
}

/* It waits for what its thread does next; workers are just being woken, and many come behind it: short ones that wait for it,
 * or, more than may be ahead, others. */
static void test_issuer_runs_nothing_long(bool fills_window)
{
    enum { ROUNDS = 100, READERS = 3000, OTHERS = 48 };
    hki_var var, other;
    main_thread = pthread_self();
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.run_ahead_calls = fills_window ? OTHERS / 3 : 1 << 20})));
    runtime = hki_runtime_default();
    hki_var_init(&var, runtime);
    hki_var_init(&other, runtime);
    for (int i = 0; i < ROUNDS && !atomic_load(&held_by_issuer); i++) {
        usleep(1000); /* all sleep */
        atomic_store(&may_end, false);
        hki_task_submit(begin(0, INT64_MAX, hold_elsewhere, NULL, 1,
                              &(hki_access){&var, 0, 1, HKI_WRITE | HKI_HEAL, 0}));
        for (int j = 0; !fills_window && j < READERS; j++)
            hki_task_submit(begin(0, 1, NULL, NULL, 1, &(hki_access){&var, 0, 1, HKI_READ, 0}));
        for (int j = 0; fills_window && j < OTHERS; j++)
            hki_task_submit(
                begin(0, 15000, nap, NULL, 1, &(hki_access){&other, 0, 1, HKI_WRITE, 0}));
        atomic_store(&may_end, true);
        CHECK(hk_ok(hk_wait_all()));
    }
    CHECK(!atomic_load(&held_by_issuer));
    hki_var_deinit(&other);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

int main(void)
{
    const int cores = hki_cpu_cores((int[HKI_MAX_CORES]){0});
    test_issuer_runs_nothing_long(false);
    if (cores > 1)
        test_issuer_runs_nothing_long(true);
    test_window_of_two(1, 200);
    test_window_of_two(1, 100000000);
    test_window_of_two(2, 100000000);
    if (cores > 1) {
        for (int devices = 2; devices <= 4; devices += 2)
            for (int i = 0; i < 4; i++)
                test_busy_elsewhere(devices, i % 2 ? 100000000 : 200, i / 2 ? 30000 : 200);
    }
    test_wait_all_beside_a_stream();
    test_waiter_runs_only_what_it_waits_for();
    test_idle_cores_do_not_sleep_on();
    test_what_is_free_is_found_behind_what_waits();
    test_submit_after_the_end();
    test_memory_of_many_accesses();
    test_memory_of_threads_that_end();
    return check_result();
}
