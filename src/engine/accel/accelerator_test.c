/* Tasks on simulated devices, below arrays: model times add up exactly, whatever this machine is doing; ends are paced;
 * nothing ends early, is lost at the end, or runs on a CPU device's behalf. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <hocket/runtime.h>
#include <stdlib.h>

enum { VARS = 8 };

#define MS 1000000

static hki_var vars[VARS];
static hki_runtime *runtime;
static hki_device *sims[2], *cpu;

static void start(hk_engine engine)
{
    const hk_sim_options sim = {.count = 2,
                                .flops = 1e9,
                                .launch_ns = 1e-9,
                                .link_bandwidth = 1e9,
                                .link_latency_ns = 1e-9};
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.sim = &sim, .sim_count = 1, .cpu_cores = 1, .engine = engine})));
    runtime = hki_runtime_default();
    sims[0] = hk_device_named("sim:0").handle;
    sims[1] = hk_device_named("sim:1").handle;
    cpu = hk_device_named("cpu:0").handle;
    for (int i = 0; i < VARS; i++)
        hki_var_init(&vars[i], runtime);
}

static void stop(void)
{
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

typedef struct work {
    int64_t busy_ns; /* that the host really takes */
    int64_t *ran_at; /* may be NULL */
    _Atomic(int) *order;
    int place;
} work;

static void run(hki_task *task, void *payload, int64_t piece)
{
    work *self = payload;
    (void)task;
    (void)piece;
    int64_t until = hk_clock_ns() + self->busy_ns;
    if (self->ran_at)
        *self->ran_at = hk_clock_ns();
    while (hk_clock_ns() < until)
        ;
    if (self->order)
        self->place = atomic_fetch_add(self->order, 1);
}

static const hki_task_class work_class = {.run = run}, leaf_class = {.leaf = true, .run = run};

/* Takes ns by the model (of a CPU device: none); reads and writes one byte of a variable each, < 0: none. */
static void submit(hki_device *device, hki_queue_kind queue, double ns, int read, int write,
                   work todo)
{
    hki_task *task = hki_task_begin(runtime, sizeof todo, 2, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(work *)hki_task_payload(task) = todo;
    spec->class = &work_class;
    spec->device = device;
    spec->operation = "work";
    spec->queue = (uint8_t)queue;
    if (queue == HKI_QUEUE_COMPUTE)
        spec->cost.flops = ns;
    else
        spec->cost.copy_bytes = ns;
    spec->access_count = 0;
    if (read >= 0)
        spec->accesses[spec->access_count++] = (hki_access){&vars[read], 0, 1, HKI_READ, 0};
    if (write >= 0)
        spec->accesses[spec->access_count++] =
            (hki_access){&vars[write], 0, 1, HKI_WRITE | HKI_HEAL, 0};
    hki_task_submit(task);
}

static hk_queue_stats stats_of(int sim, hk_queue queue)
{
    return hk_device_get_stats((hk_device){sims[sim]}, queue);
}

/* Ten tasks of 2 ms in a row, of which the host takes 0.2: their model times follow each other without a gap. */
static bool test_chain(void)
{
    start(HK_ENGINE_ASYNC);
    int64_t begin_ns = hk_clock_ns();
    for (int i = 0; i < 10; i++)
        submit(sims[0], HKI_QUEUE_COMPUTE, 2 * MS, -1, 0, (work){.busy_ns = MS / 5});
    bool in_time = hk_clock_ns() - begin_ns < 10 * MS; /* issuing does not wait */
    CHECK(hk_ok(hk_wait_all()));
    int64_t wall_ns = hk_clock_ns() - begin_ns;
    hk_queue_stats stats = stats_of(0, HK_QUEUE_COMPUTE);
    CHECK_EQ_I64(stats.calls, 10);
    CHECK_EQ_I64(stats.busy_ns, 20 * MS);
    CHECK(wall_ns >= 20 * MS && stats.last_end_ns <= hk_clock_ns());
    int64_t model_ns = stats.last_end_ns - begin_ns;
    CHECK(model_ns >= 20 * MS);
    stop();
    return in_time && model_ns < 21 * MS;
}

/* Computing on both, and copies both ways on one: all at the same time by the model, dependent ones one after another. */
static bool test_queues(void)
{
    bool in_time = true;
    start(HK_ENGINE_ASYNC);
    int64_t begin_ns = hk_clock_ns();
    submit(sims[0], HKI_QUEUE_COMPUTE, 10 * MS, -1, 0, (work){0});
    submit(sims[1], HKI_QUEUE_COMPUTE, 10 * MS, -1, 1, (work){0});
    submit(sims[0], HKI_QUEUE_COPY_IN, 10 * MS, -1, 2, (work){0});
    submit(sims[0], HKI_QUEUE_COPY_OUT, 10 * MS, -1, 3, (work){0});
    submit(sims[0], HKI_QUEUE_COPY_OUT, 5 * MS, 0, 4, (work){0}); /* after the first: ends at 15 */
    submit(sims[1], HKI_QUEUE_COMPUTE, 1 * MS, 4, 1, (work){0});  /* at 16 */
    CHECK(hk_ok(hk_wait_all()));
    const int expected_ms[2][3] = {{10, 10, 15}, {16, 0, 0}};
    for (int sim = 0; sim < 2; sim++)
        for (int queue = 0; queue < 3; queue++) {
            int64_t end_ns = stats_of(sim, (hk_queue)queue).last_end_ns - begin_ns;
            if (!expected_ms[sim][queue])
                continue;
            CHECK(end_ns >= expected_ms[sim][queue] * MS);
            in_time = in_time && end_ns < (expected_ms[sim][queue] + 1) * MS;
        }
    CHECK_EQ_I64(stats_of(0, HK_QUEUE_COPY_IN).bytes, 10 * MS);
    stop();
    return in_time;
}

/* A CPU task behind a simulated one begins when that has ended by the model; and the other way round. */
static void test_with_cpu(void)
{
    start(HK_ENGINE_ASYNC);
    int64_t ran_at = 0, begin_ns = hk_clock_ns();
    submit(sims[0], HKI_QUEUE_COMPUTE, 10 * MS, -1, 0, (work){0});
    submit(cpu, HKI_QUEUE_COMPUTE, 0, 0, 1, (work){.ran_at = &ran_at, .busy_ns = 3 * MS});
    submit(sims[0], HKI_QUEUE_COMPUTE, 10 * MS, 1, 0, (work){0});
    const hk_status *status = wait_range(&vars[0], 0, 1, NULL, NULL);
    CHECK(hk_ok(status));
    hk_status_release(status);
    int64_t now = hk_clock_ns();
    CHECK(ran_at >= begin_ns + 10 * MS);
    CHECK(stats_of(0, HK_QUEUE_COMPUTE).last_end_ns >= begin_ns + 23 * MS);
    CHECK(now >= stats_of(0, HK_QUEUE_COMPUTE).last_end_ns);
    stop();
}

/* Brief calls run in the caller without a task where nothing is in their way, and each in its place where something is. */
static void test_brief_beside(void)
{
    enum { CALLS = 400 };
    static work done[CALLS];
    static _Atomic(int) order;
    start(HK_ENGINE_ASYNC);
    atomic_store(&order, 0);
    const uint64_t before = hk_runtime_get_internals().inline_calls;
    for (int i = 0; i < CALLS; i++) {
        const bool behind = i >= CALLS / 2; /* a simulated one before each */
        if (behind)
            submit(sims[i % 2], HKI_QUEUE_COMPUTE, 1000, 0, 0, (work){.order = &order});
        hki_task *task = hki_task_begin(runtime, sizeof(work), 1, 0);
        hki_task_spec *spec = hki_task_get_spec(task);
        *(work *)hki_task_payload(task) = (work){.order = &order, .ran_at = &done[i].busy_ns};
        spec->class = &leaf_class;
        spec->device = cpu;
        spec->operation = "work";
        spec->expected_ns = 1;
        spec->accesses[0] = (hki_access){&vars[0], 0, 1, HKI_WRITE, 0};
        hki_task_submit(task);
        if (!behind) {
            CHECK_EQ_I64(atomic_load(&order), i + 1);
            CHECK_EQ_I64((int64_t)(hk_runtime_get_internals().inline_calls - before), i + 1);
        }
    }
    const hk_status *status = wait_range(&vars[0], 0, 1, NULL, NULL);
    CHECK(hk_ok(status));
    hk_status_release(status);
    CHECK_EQ_I64(atomic_load(&order), CALLS + CALLS / 2);
    for (int i = 1; i < CALLS; i++)
        CHECK(done[i].busy_ns >= done[i - 1].busy_ns);
    CHECK(done[CALLS - 1].busy_ns - done[CALLS / 2].busy_ns >= (CALLS / 2 - 1) * 1000);
    stop();
}

/* The host takes five times what the model says: told, not hidden. */
static void test_host_bound(void)
{
    start(HK_ENGINE_ASYNC);
    for (int i = 0; i < 5; i++)
        submit(sims[0], HKI_QUEUE_COMPUTE, 1 * MS, -1, 0, (work){.busy_ns = 5 * MS});
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(stats_of(0, HK_QUEUE_COMPUTE).busy_ns, 5 * MS);
    CHECK(stats_of(0, HK_QUEUE_COMPUTE).late_ns > 10 * MS);
    hk_device_stats_clear();
    CHECK_EQ_I64(stats_of(0, HK_QUEUE_COMPUTE).late_ns, 0);
    stop();
}

/* What is queued at the end is cancelled, what runs ends at once: no hang, however long the model's task. */
static void test_end(void)
{
    start(HK_ENGINE_ASYNC);
    for (int i = 0; i < 20; i++)
        submit(sims[i % 2], HKI_QUEUE_COMPUTE, 1e4 * MS, -1, i % VARS, (work){0});
    int64_t begin_ns = hk_clock_ns();
    hki_runtime_retain(runtime); /* as arrays do */
    hk_runtime_deinit();
    CHECK(hk_clock_ns() - begin_ns < 2000 * MS); /* each takes 10 s */
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hki_runtime_release(runtime);
}

static void test_serial(void)
{
    start(HK_ENGINE_SERIAL);
    int64_t begin_ns = hk_clock_ns();
    submit(sims[0], HKI_QUEUE_COMPUTE, 5 * MS, -1, 0, (work){0});
    CHECK(hk_clock_ns() - begin_ns >= 5 * MS);
    CHECK_EQ_I64(stats_of(0, HK_QUEUE_COMPUTE).busy_ns, 5 * MS);
    stop();
}

static void test_names(void)
{
    start(HK_ENGINE_ASYNC);
    CHECK_EQ_I64(hk_device_count(), 3);
    CHECK_STR(hk_device_name(hk_device_at(0)), "cpu:0");
    CHECK_STR(hk_device_name(hk_device_at(2)), "sim:1");
    CHECK_STR(hk_device_kind(hk_device_at(2)), "sim");
    CHECK(hk_device_is_simulated(hk_device_at(1)) && !hk_device_is_simulated(hk_device_at(0)));
    CHECK(!hk_ok(hk_device_status(hk_device_at(3))) && !hk_ok(hk_device_status(hk_device_at(-1))));
    CHECK(strstr(hk_status_message(hk_device_status(hk_device_named("sim:2"))),
                 "there are cpu:0 and sim:0 to sim:1"));
    stop();
}

/* A busy machine may issue a millisecond late; the model itself is never late for long. */
static bool once_in_time(bool (*test)(void))
{
    bool in_time = false;
    for (int i = 0; i < 20 && !in_time; i++)
        in_time = test();
    return in_time;
}

int main(void)
{
    CHECK(once_in_time(test_chain));
    CHECK(once_in_time(test_queues));
    test_with_cpu();
    test_brief_beside();
    test_host_bound();
    test_end();
    test_serial();
    test_names();
    return check_result();
}
