/* Short tasks, which the scoreboard tracks, beside other workers that run some: in one total order, side by side where they may, with what
 * is registered, runs in the caller or waits between them; and their failures. */
#include "base/sync.h"
#include "engine/core/score.h"
#include "engine/sched/scoreboard.h"
#include "tests/await_workers.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <hocket/runtime.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS = 20000, VARS = 40, READS = 3 };

static hki_runtime *runtime;
static int devices;
static hki_var vars[VARS];
static uint64_t sums[VARS]; /* plain: the order of tasks is what guards them */
static _Atomic(int) running, most_running;

typedef struct work {
    int target, sources[READS]; /* of vars and sums */
    int ticks;                  /* it takes so long */
    int device;
    bool fails;
} work;

static void apply(uint64_t *values, const work *w)
{
    uint64_t sum = values[w->target] * 3 + 1;
    for (int i = 0; i < READS; i++)
        sum += values[w->sources[i]];
    values[w->target] = sum;
}

static void work_run(hki_task *task, void *payload, int64_t piece)
{
    const work *w = payload;
    const int now = atomic_fetch_add(&running, 1) + 1;
    if (now > atomic_load(&most_running))
        atomic_store(&most_running, now);
    for (uint64_t begin = hki_ticks(); hki_ticks() - begin < (uint64_t)w->ticks;)
        hki_relax();
    if (w->fails)
        hki_task_fail(task, piece, HK_INJECTED, "told to fail");
    else
        apply(sums, w);
    atomic_fetch_sub(&running, 1);
}

static const hki_task_class leaf = {.leaf = true, .run = work_run}, other = {.run = work_run};

static void start_devices(int count, int cores, int64_t inline_ns)
{
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.cpu_devices = count, .cpu_cores = cores, .inline_ns = inline_ns})));
    runtime = hki_runtime_default();
    devices = count;
    atomic_store(&most_running, 0);
    for (int i = 0; i < VARS; i++) {
        hki_var_init(&vars[i], runtime);
        sums[i] = 0;
    }
}

static void start(int cores, int64_t inline_ns)
{
    start_devices(1, cores, inline_ns);
}

static void end(void)
{
    (void)hk_wait_all();
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

static hki_task *begin(const hki_task_class *class, int64_t expected_ns, work w)
{
    hki_task *task = hki_task_begin(runtime, sizeof w, 1 + READS, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(work *)hki_task_payload(task) = w;
    spec->class = class;
    spec->device = runtime->devices[w.device];
    spec->operation = "test";
    spec->expected_ns = expected_ns;
    spec->accesses[0] = (hki_access){&vars[w.target], 0, 8, HKI_READ | HKI_WRITE, 0};
    for (int i = 0; i < READS; i++)
        spec->accesses[1 + i] = (hki_access){&vars[w.sources[i]], 0, 8, HKI_READ, 0};
    return task;
}

static void issue(const hki_task_class *class, int64_t expected_ns, work w)
{
    hki_task_submit(begin(class, expected_ns, w));
}

static hk_code code_of(int var)
{
    const hk_status *status = wait_range(&vars[var], 0, 8, NULL, NULL);
    const hk_code code = hk_status_code(status);
    hk_status_release(status);
    return code;
}

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

/* On one device or several. What is expected of a task and what it takes differ, as they do; a few long ones are registered, and so is what follows
 * from them; some wait in between, and workers fall asleep. */
static void test_order(int count, int cores, int64_t inline_ns, unsigned seed)
{
    static const int64_t expected_ns[] = {1, 100, 200, 200, 500, 500, 1000, 4000, 30000};
    enum { KINDS = sizeof expected_ns / sizeof *expected_ns };
    uint64_t expected[VARS] = {0};
    start_devices(count, cores, inline_ns);
    for (int i = 0; i < CALLS; i++) {
        work w = {.target = (int)draw(&seed, VARS), .device = (int)draw(&seed, (unsigned)count)};
        for (int j = 0; j < READS; j++)
            w.sources[j] = (int)draw(&seed, draw(&seed, 2) ? 2 : VARS); /* some are read by many */
        w.ticks = draw(&seed, 100) == 0 ? 30000 : (int)draw(&seed, 1500);
        const unsigned kind = draw(&seed, draw(&seed, 20) ? KINDS - 1 : KINDS);
        issue(draw(&seed, 50) ? &leaf : &other, expected_ns[kind], w);
        apply(expected, &w);
        if (draw(&seed, 1000) == 0) {
            const int var = (int)draw(&seed, VARS);
            CHECK_EQ_I64(code_of(var), HK_OK);
            CHECK_EQ_I64(sums[var], expected[var]);
        }
        if (draw(&seed, 4000) == 0)
            usleep(500);
        if (draw(&seed, 2000) == 0)
            CHECK(hk_ok(hk_wait_device(hk_device_at(w.device))));
    }
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < VARS; i++)
        CHECK_EQ_I64(sums[i], expected[i]);
    CHECK_EQ_I64(hk_runtime_get_stats().issued_calls, CALLS);
    end();
}

/* What has nothing to do with each other runs side by side, also where all read the same. Beside other programs both workers
 * may have one core for a while. */
static void test_side_by_side(void)
{
    enum { BURST = 200 };
    const int64_t until_ns = hki_clock_ns() + 20000000000;
    start(2, -1);
    while (runtime->scheduler->core_count > 1 && hki_clock_ns() < until_ns &&
           atomic_load(&most_running) < 2) {
        for (int j = 0; j < BURST; j++)
            issue(&leaf, 1000,
                  (work){.target = 1 + j % (VARS - 1), .sources = {0, 0, 0}, .ticks = 3000});
        CHECK(hk_ok(hk_wait_all()));
    }
    CHECK(runtime->scheduler->core_count < 2 || atomic_load(&most_running) >= 2);
    end();
}

/* Waiting for a device waits for its tasks, whoever ran them. */
static void test_wait_device(void)
{
    enum { TASKS = 50000 };
    start_devices(2, 2, -1);
    for (int round = 0; round < 20; round++) {
        const int count = TASKS / 20;
        for (int i = 0; i < count; i++)
            issue(&leaf, 200,
                  (work){.target = i % 2, .sources = {i % 2, i % 2, i % 2}, .device = i % 2});
        const int device = round % 2;
        CHECK(hk_ok(hk_wait_device(hk_device_at(device))));
        uint64_t expected[2] = {0};
        for (int i = 0; i < (round + 1) * count; i++)
            apply(expected, &(work){.target = i % 2, .sources = {i % 2, i % 2, i % 2}});
        CHECK_EQ_I64(sums[device], expected[device]);
    }
    end();
}

/* No gates are made for them. Tried again, since a worker that is just falling asleep leaves registering to who issues. */
static void test_no_gates(void)
{
    enum { TRIES = 20 };
    bool made = true;
    start(2, -1);
    for (int i = 0; i < TRIES && made; i++) {
        await_workers();
        for (int j = 0; j < 10 * VARS; j++)
            issue(&leaf, 1000, (work){.target = j % VARS, .sources = {0, 1, 2}});
        CHECK(hk_ok(hk_wait_all()));
        made = false;
        for (int j = 0; j < VARS; j++)
            made = made || vars[j].gates;
        end();
        start(2, -1);
    }
    CHECK(!made);
    issue(&other, 1000, (work){.target = 3, .sources = {0, 1, 2}});
    CHECK(hk_ok(hk_wait_all()));
    CHECK(vars[3].gates != NULL);
    end();
}

/* One that could be registered only in part, because a batch was in the way, is registered to its end once that is over:
 * others may wait for the gates that it has. */
static void test_half_registered(void)
{
    enum { POSITION = 5, WORKER = 1 };
    start(2, -1);
    hki_executor executor = {.queue = runtime->queues[0]};
    hki_task *task = begin(&leaf, 1000, (work){.target = 0, .sources = {1, 0, 1}}); /* 1 first */
    hki_ring_acquire(runtime);
    atomic_store(&runtime->scores[WORKER].first, POSITION);
    vars[0].scored_write = (uint64_t)POSITION << 16 | WORKER;
    CHECK(hki_scoreboard_try(&executor, task, POSITION + 1) == HKI_SCORED_STALLED);
    CHECK(hki_task_register(task) == HKI_NOT_REGISTERED);
    atomic_store(&runtime->scores[WORKER].first, UINT64_MAX);
    CHECK(hki_scoreboard_try(&executor, task, POSITION + 1) == HKI_SCORED_NOT);
    CHECK(hki_task_register(task) == HKI_REGISTERED_READY);
    hki_biased_release(&runtime->issue_lock);
    hki_queue_push(task);
    issue(&other, 1000, (work){.target = 1, .sources = {1, 1, 1}});
    CHECK_EQ_I64(code_of(1), HK_OK);
    end();
}

/* Of a batch one fails: that, and what reads it, and nothing else. */
static void test_failure(void)
{
    start(2, -1);
    for (int i = 0; i < 8; i++)
        issue(&leaf, 500, (work){.target = i, .sources = {i, i, i}, .ticks = 500, .fails = i == 3});
    issue(&leaf, 500, (work){.target = 9, .sources = {2, 2, 3}});
    issue(&leaf, 500, (work){.target = 10, .sources = {2, 2, 2}});
    for (int i = 0; i < 8; i++)
        CHECK_EQ_I64(code_of(i), i == 3 ? HK_INJECTED : HK_OK);
    CHECK_EQ_I64(code_of(9), HK_INJECTED);
    CHECK_EQ_I64(code_of(10), HK_OK);
    end();
}

int main(void)
{
    for (unsigned seed = 1; seed <= 3; seed++) {
        test_order(1, 2, -1, seed);
        test_order(1, 3, -1, seed);
        test_order(1, 1, -1, seed);
        test_order(1, 2, 150, seed);
        test_order(2, 2, -1, seed);
        test_order(2, 2, 150, seed);
        test_order(2, 1, -1, seed); /* on one core */
        test_order(5, 2, -1, seed); /* which share both */
    }
    test_side_by_side();
    test_wait_device();
    test_no_gates();
    test_half_registered();
    test_failure();
    return check_result();
}
