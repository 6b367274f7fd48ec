/* A thread that issues short calls works at them itself, in a worker's place, or leaves chains to one worker: what it may run,
 * the order of calls, and that the other worker rests and comes back. */
#include "engine/engine.h"
#include "engine/sched/ring.h"
#include "tests/check.h"

#include <fenv.h>
#include <hocket/runtime.h>
#include <pthread.h>
#include <unistd.h>

enum {
    CHAINS = 1024,
    CALLS = 20000,
    EXPECTED_NS = 200,
    LONG_NS = 100000,
    LONG_EVERY = 2048,
    TRIES = 200
};

static hki_runtime *runtime;
static hki_var vars[CHAINS];
static uint64_t sums[CHAINS]; /* plain: the order of tasks is what guards them */
static pthread_t issuer;
static atomic_bool is_issuing; /* and does not wait for all: then it helps with whatever is ready */
static atomic_long in_issuer, long_in_issuer, rounded_otherwise;

static void start(void)
{
    CHECK(hk_ok(
        hk_runtime_init(&(hk_runtime_options){.cpu_devices = 1, .cpu_cores = 2, .inline_ns = -1})));
    runtime = hki_runtime_default();
    issuer = pthread_self();
    atomic_store(&in_issuer, 0);
    atomic_store(&long_in_issuer, 0);
    for (int i = 0; i < CHAINS; i++) {
        hki_var_init(&vars[i], runtime);
        sums[i] = 0;
    }
}

static void end(void)
{
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < CHAINS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

typedef struct step {
    int chain, neighbour;
    bool is_long;
} step;

static uint64_t next(uint64_t own, uint64_t other)
{
    return own * 3 + other + 1;
}

static void step_run(hki_task *task, void *payload, int64_t piece)
{
    const step *its = payload;
    (void)task, (void)piece;
    if (fegetround() != FE_TONEAREST)
        atomic_fetch_add(&rounded_otherwise, 1);
    if (is_issuing && pthread_equal(pthread_self(), issuer))
        atomic_fetch_add(its->is_long ? &long_in_issuer : &in_issuer, 1);
    for (volatile int i = 0; i < 100; i++)
        ;
    sums[its->chain] = next(sums[its->chain], sums[its->neighbour]);
}

static hki_task_spec *begin(hki_task **task, const hki_task_class *class, size_t payload_bytes,
                            int access_count, int64_t expected_ns)
{
    *task = hki_task_begin(runtime, payload_bytes, access_count, 0);
    hki_task_spec *spec = hki_task_get_spec(*task);
    spec->class = class;
    spec->device = hk_device_at(0).handle;
    spec->operation = "test";
    spec->expected_ns = expected_ns;
    return spec;
}

static void issue_step(step its)
{
    static const hki_task_class class = {.leaf = true, .run = step_run};
    hki_task *task;
    hki_task_spec *spec = begin(&task, &class, sizeof its, 2, its.is_long ? LONG_NS : EXPECTED_NS);
    *(step *)hki_task_payload(task) = its;
    spec->accesses[0] = (hki_access){&vars[its.chain], 0, 8, HKI_READ | HKI_WRITE, 0};
    spec->accesses[1] = (hki_access){&vars[its.neighbour], 0, 8, HKI_READ, 0};
    hki_task_submit(task);
}

static int draw(void)
{
    static _Thread_local uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return (int)(state >> 16) % CHAINS;
}

/* Each step goes on with one chain and reads another, any two; some are long. */
static void issue_steps(uint64_t expected[CHAINS])
{
    is_issuing = true;
    for (int i = 0; i < CALLS; i++) {
        const step its = {draw(), draw(), i % LONG_EVERY == LONG_EVERY - 1};
        issue_step(its);
        expected[its.chain] = next(expected[its.chain], expected[its.neighbour]);
    }
    is_issuing = false;
}

/* Works in the end: on a machine whose cores others have, workers may keep up for a while. */
static void test_works(void)
{
    uint64_t expected[CHAINS] = {0};
    start();
    for (int i = 0; i < TRIES && atomic_load(&in_issuer) == 0; i++)
        issue_steps(expected);
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < CHAINS; i++)
        CHECK(sums[i] == expected[i]);
    if (runtime->scheduler->core_count > 1)
        CHECK(atomic_load(&in_issuer) > 0);
    /* Who waits for room may help with one that is ready, which is counted. */
    CHECK((uint64_t)atomic_load(&long_in_issuer) <= atomic_load(&runtime->scheduler->helped_calls));
    end();
}

/* One chain: a worker rests, in the end. */
static void test_leaves_chains(void)
{
    uint64_t expected = 0;
    bool has_rested = false;
    start();
    const bool may_rest = runtime->scheduler->core_count > 1;
    for (int i = 0; i < TRIES && may_rest && !has_rested; i++) {
        is_issuing = true;
        for (int j = 0; j < CALLS; j++) {
            issue_step((step){0, 0, false});
            expected = next(expected, expected);
            has_rested = has_rested || hki_lease_rests(runtime);
        }
        is_issuing = false;
    }
    CHECK(has_rested == may_rest);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(sums[0] == expected);
    end();
}

/* With the caller's rounding results would be others. */
static void test_environment(void)
{
    uint64_t expected[CHAINS] = {0};
    start();
    fesetround(FE_UPWARD);
    for (int i = 0; i < 3; i++)
        issue_steps(expected);
    CHECK(hk_ok(hk_wait_all()));
    fesetround(FE_TONEAREST);
    CHECK(atomic_load(&rounded_otherwise) == 0);
    for (int i = 0; i < CHAINS; i++)
        CHECK(sums[i] == expected[i]);
    end();
}

/* A program that goes on to something else, and calls nothing. */
static void test_ends_by_itself(void)
{
    uint64_t expected[CHAINS] = {0};
    start();
    for (int i = 0; i < 20; i++) {
        issue_steps(expected);
        const hki_lease *lease = &runtime->scheduler->lease;
        bool awake = false; /* a worker may be about to rest when it is first seen so */
        for (int j = 0; j < 10000 && !awake; j++) {
            usleep(1000);
            awake = atomic_load(&lease->state) == HKI_LEASE_NONE;
        }
        CHECK(awake);
    }
    end();
}

enum { THREADS = 3, OWN = CHAINS / THREADS };

static atomic_int wrong;

/* On chains of its own. */
static void *issue_own(void *first)
{
    const int begin = *(const int *)first;
    uint64_t expected[CHAINS] = {0};
    for (int i = 0; i < CALLS; i++) {
        const step its = {begin + draw() % OWN, begin + draw() % OWN, false};
        issue_step(its);
        expected[its.chain] = next(expected[its.chain], expected[its.neighbour]);
    }
    if (!hk_ok(hk_wait_all()))
        atomic_fetch_add(&wrong, 1);
    for (int i = begin; i < begin + OWN; i++)
        if (sums[i] != expected[i])
            atomic_fetch_add(&wrong, 1);
    return NULL;
}

static void test_several(void)
{
    pthread_t threads[THREADS];
    int first[THREADS];
    start();
    for (int i = 0; i < THREADS; i++) {
        first[i] = i * OWN;
        pthread_create(&threads[i], NULL, issue_own, &first[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&wrong) == 0);
    end();
}

static atomic_int met;

/* Two of them end only side by side. */
static void meet_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    atomic_fetch_add(&met, 1);
    while (atomic_load(&met) < 2)
        usleep(10);
}

/* The worker comes back for what is worth it, though nobody waits. */
static void test_comes_back(void)
{
    static const hki_task_class class = {.run = meet_run};
    uint64_t expected[CHAINS] = {0};
    for (int i = 0; i < 20; i++) {
        start();
        if (runtime->scheduler->core_count < 2) {
            end();
            return;
        }
        issue_steps(expected);
        atomic_store(&met, 0);
        for (int j = 0; j < 2; j++) {
            hki_task *task;
            hki_task_spec *spec = begin(&task, &class, 1, 1, i % 2 ? 10 * LONG_NS : LONG_NS / 3);
            spec->accesses[0] = (hki_access){&vars[j], 0, 8, HKI_WRITE, 0};
            hki_task_submit(task);
        }
        for (int j = 0; j < 60000 && atomic_load(&met) < 2; j++)
            usleep(1000);
        CHECK(atomic_load(&met) == 2);
        atomic_store(&met, 2);
        end();
    }
}

int main(void)
{
    test_works();
    test_leaves_chains();
    test_environment();
    test_ends_by_itself();
    test_several();
    test_comes_back();
    return check_result();
}
