/* One total order of calls, whoever registers and runs them: issuing threads, workers that find tasks still to be
 * registered, waiting threads; what runs at once, in its turn, in a task of its own, on a core that devices share. */
#include "base/sync.h"
#include "engine/sched/ring.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <hocket/runtime.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3, CALLS = 8000, VARS = 6 };

static hki_runtime *runtime;
static hki_var vars[VARS];
static uint64_t sums[VARS]; /* plain: the order of tasks is what guards them */
static _Atomic(bool) stop;

typedef struct work {
    int target, source; /* of vars and sums */
} work;

typedef struct call {
    uint64_t sequence;
    work work;
} call;

static void apply(uint64_t *values, work w)
{
    values[w.target] = values[w.target] * 3 + values[w.source] + 1;
}

static void work_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)piece;
    apply(sums, *(const work *)payload);
}

static const hki_task_class classes[2] = {{.leaf = true, .run = work_run}, {.run = work_run}};

static void start(int devices, int cores, int64_t inline_ns)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){
        .cpu_devices = devices, .cpu_cores = cores, .inline_ns = inline_ns})));
    runtime = hki_runtime_default();
    for (int i = 0; i < VARS; i++) {
        hki_var_init(&vars[i], runtime);
        sums[i] = 0;
    }
}

static void end(void)
{
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

static uint64_t issue(const hki_task_class *class, int device, int64_t expected_ns, work w)
{
    hki_task *task = hki_task_begin(runtime, sizeof w, 2, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(work *)hki_task_payload(task) = w;
    spec->class = class;
    spec->device = hk_device_at(device).handle;
    spec->operation = "test";
    spec->expected_ns = expected_ns;
    spec->accesses[0] = (hki_access){&vars[w.target], 0, 8, HKI_READ | HKI_WRITE, 0};
    spec->accesses[1] = (hki_access){&vars[w.source], 0, 8, HKI_READ, 0};
    return hki_task_submit(task);
}

static bool wait_for(int var)
{
    const hk_status *status = wait_range(&vars[var], 0, 8, NULL, NULL);
    const bool waited = hk_ok(status);
    hk_status_release(status);
    return waited;
}

/* ---- many threads, all ways of running -------------------------------------------------------------------- */

typedef struct issuer {
    pthread_t thread;
    unsigned seed;
    bool waited; /* each time */
    call calls[CALLS];
} issuer;

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

static void *issue_calls(void *argument)
{
    static const int64_t expected_ns[] = {1, 1, 1, 150, 1000, 1000, 30000};
    issuer *self = argument;
    for (int i = 0; i < CALLS; i++) {
        call *made = &self->calls[i];
        made->work = (work){(int)draw(&self->seed, VARS), (int)draw(&self->seed, VARS)};
        hki_var *reads[] = {&vars[made->work.target], &vars[made->work.source]};
        if (draw(&self->seed, 8) == 0 && hki_direct_begin(runtime, reads, 2, reads[0])) {
            apply(sums, made->work);
            made->sequence = hki_last_sequence();
            hki_direct_end(runtime);
        } else {
            made->sequence = issue(&classes[draw(&self->seed, 4) == 0],
                                   (int)draw(&self->seed, (unsigned)hk_device_count()),
                                   expected_ns[draw(&self->seed, 7)], made->work);
        }
        if (draw(&self->seed, 500) == 0)
            self->waited &= wait_for((int)draw(&self->seed, VARS));
        if (draw(&self->seed, 2000) == 0)
            usleep(200); /* workers fall asleep */
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const call *x = a, *y = b;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static void test_total_order(int devices, int cores, int64_t inline_ns)
{
    static issuer issuers[THREADS];
    static call all[THREADS * CALLS];
    uint64_t expected[VARS] = {0};
    start(devices, cores, inline_ns);
    for (int i = 0; i < THREADS; i++) {
        issuers[i].seed = (unsigned)(i + 1);
        issuers[i].waited = true;
        CHECK(!pthread_create(&issuers[i].thread, NULL, issue_calls, &issuers[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(issuers[i].thread, NULL);
        CHECK(issuers[i].waited);
        for (int j = 0; j < CALLS; j++)
            all[i * CALLS + j] = issuers[i].calls[j];
    }
    CHECK(hk_ok(hk_wait_all()));
    qsort(all, THREADS * CALLS, sizeof *all, compare);
    for (int i = 0; i < THREADS * CALLS; i++)
        apply(expected, all[i].work);
    for (int i = 0; i < VARS; i++)
        CHECK_EQ_I64(sums[i], expected[i]);
    CHECK_EQ_I64(hk_runtime_get_stats().issued_calls, THREADS * CALLS);
    end();
}

/* ---- a core that devices share --------------------------------------------------------------------------- */

static _Atomic(int) finished;

static void count_finish(hki_task *task, void *payload)
{
    (void)task, (void)payload;
    atomic_fetch_add(&finished, 1);
}

static void nap_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    usleep(20);
}

static void *issue_until_stopped(void *argument)
{
    static const hki_task_class naps = {.run = nap_run};
    (void)argument;
    for (int i = 0; !atomic_load(&stop); i++)
        issue(&naps, 0, i % 2 ? 20000 : 1000000, (work){0, 0});
    return NULL;
}

/* A stream of calls on one device does not keep its core from others: what they are given ends before the stream. */
static void test_stream_on_one_of_many(void)
{
    enum { OTHERS = 100 };
    static const hki_task_class counted = {.run = work_run, .finish = count_finish};
    pthread_t streamer;
    start(4, 1, -1);
    atomic_store(&stop, false);
    CHECK(!pthread_create(&streamer, NULL, issue_until_stopped, NULL));
    usleep(10000);
    for (int i = 0; i < OTHERS; i++)
        issue(&counted, 1 + i % 3, 1000, (work){1, 1});
    for (int i = 0; i < 10000 && atomic_load(&finished) < OTHERS; i++)
        usleep(1000); /* no helping */
    CHECK_EQ_I64(atomic_load(&finished), OTHERS);
    atomic_store(&stop, true);
    pthread_join(streamer, NULL);
    CHECK(wait_for(0));
    uint64_t expected[VARS] = {0};
    for (int i = 0; i < OTHERS; i++)
        apply(expected, (work){1, 1});
    CHECK_EQ_I64(sums[1], expected[1]);
    end();
}

enum { ISSUED, RUNNING, OVER };

typedef struct part {
    int *ran;
    atomic_int *count;
    int number;
    atomic_int *stage; /* not NULL: is RUNNING from its begin until it is OVER */
} part;

static void part_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)piece;
    const part *self = payload;
    if (self->stage)
        atomic_store(self->stage, RUNNING);
    while (self->stage && atomic_load(self->stage) != OVER)
        usleep(100);
    self->ran[atomic_load(self->count)] = self->number;
    atomic_fetch_add(self->count, 1);
}

static void issue_part(int device, bool collective, int var, part its)
{
    static const hki_task_class class = {.run = part_run};
    hki_task *task = hki_task_begin(runtime, sizeof its, 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(part *)hki_task_payload(task) = its;
    spec->class = &class;
    spec->device = hk_device_at(device).handle;
    spec->operation = "test";
    spec->collective = collective;
    spec->accesses[0] = (hki_access){&vars[var], 0, 8, HKI_READ | HKI_WRITE, 0};
    hki_task_submit(task);
}

/* How many reductions wait in the device's queue, which nobody takes from meanwhile. */
static int waiting_reductions(int device)
{
    return (int)atomic_load(&runtime->queues[device]->listed[0]);
}

/* Reductions between devices, which go before all else, get ready from the last to the first while the device's core is
 * taken: the one issued first runs first. */
static void test_order_of_reductions(void)
{
    enum { PARTS = VARS - 1 };
    atomic_int made_count = 0, ran_count = 0, stage = ISSUED;
    int made[PARTS], ran[PARTS + 2];
    start(2, 2, -1);
    issue_part(0, false, PARTS, (part){ran, &ran_count, -1, &stage});
    while (atomic_load(&stage) != RUNNING)
        usleep(1000);
    for (int i = PARTS - 1; i >= 0; i--)
        issue_part(1, false, i, (part){made, &made_count, i, NULL});
    issue_part(0, false, PARTS, (part){ran, &ran_count, -2, NULL});
    for (int i = 0; i < PARTS; i++)
        issue_part(0, true, i, (part){ran, &ran_count, i, NULL});
    while (waiting_reductions(0) < PARTS) /* who waits by the library would help */
        usleep(1000);
    atomic_store(&stage, OVER);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(made_count == PARTS && made[0] == PARTS - 1);
    CHECK(ran_count == PARTS + 2 && ran[0] == -1);
    for (int i = 0; i < PARTS; i++)
        CHECK_EQ_I64(ran[1 + i], i);
    end();
}

/* ---- what is ready ------------------------------------------------------------------------------------------ */

typedef struct progress {
    atomic_int fetched, used, ended, most; /* most: fetched and not used at a time */
    atomic_int stage;
} progress;

typedef struct stride {
    progress *progress;
    atomic_int *count; /* NULL: none */
    bool holds;
} stride;

static void stride_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)piece;
    const stride *self = payload;
    progress *all = self->progress;
    if (self->holds)
        atomic_store(&all->stage, RUNNING);
    while (self->holds && atomic_load(&all->stage) != OVER)
        usleep(100);
    if (self->count)
        atomic_fetch_add(self->count, 1);
    int ahead = atomic_load(&all->fetched) - atomic_load(&all->used);
    if (ahead > atomic_load(&all->most))
        atomic_store(&all->most, ahead);
    atomic_fetch_add(&all->ended, 1);
}

/* Reads `from`, unless that is NULL, and changes `to`. */
static void issue_stride(stride its, hki_var *from, hki_var *to)
{
    static const hki_task_class class = {.run = stride_run};
    hki_task *task = hki_task_begin(runtime, sizeof its, from ? 2 : 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(stride *)hki_task_payload(task) = its;
    spec->class = &class;
    spec->device = hk_device_at(0).handle;
    spec->operation = "test";
    spec->expected_ns = 1000000;
    spec->accesses[0] = (hki_access){to, 0, 8, HKI_READ | HKI_WRITE, 0};
    if (from)
        spec->accesses[1] = (hki_access){from, 0, 8, HKI_READ, 0};
    hki_task_submit(task);
}

/* A program that fetches data, uses them, and changes what the next step needs, as training does. All data could be fetched
 * at once; but what was issued first goes first, so that memory for a few steps is enough, not for all of them. */
static void test_no_more_is_fetched_than_used(void)
{
    enum { STEPS = 150, PARTS = VARS - 1 };
    static hki_var data[STEPS];
    progress all = {0};
    start(1, 1, -1);
    for (int i = 0; i < STEPS; i++)
        hki_var_init(&data[i], runtime);
    issue_stride((stride){&all, NULL, true}, NULL, &vars[PARTS]);
    while (atomic_load(&all.stage) != RUNNING)
        usleep(1000);
    for (int i = 0; i < STEPS; i++) {
        issue_stride((stride){&all, &all.fetched, false}, NULL, &data[i]);
        for (int j = 0; j < PARTS; j++)
            issue_stride((stride){&all, NULL, false}, &vars[j], &vars[PARTS]);
        issue_stride((stride){&all, &all.used, false}, &data[i], &vars[PARTS]);
        for (int j = 0; j < PARTS; j++)
            issue_stride((stride){&all, NULL, false}, &vars[PARTS], &vars[j]);
    }
    atomic_store(&all.stage, OVER);
    while (atomic_load(&all.ended) <
           1 + STEPS * (2 + 2 * PARTS)) /* who waits by the library helps */
        usleep(1000);
    CHECK(atomic_load(&all.most) <= 3);
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < STEPS; i++)
        hki_var_deinit(&data[i]);
    end();
}

int main(void)
{
    test_no_more_is_fetched_than_used();
    if (hki_cpu_cores((int[HKI_MAX_CORES]){0}) > 1)
        test_order_of_reductions();
    test_total_order(1, 2, -1);
    test_total_order(1, 2, 500);
    test_total_order(1, 1, -1);
    test_total_order(2, 2, -1);
    test_total_order(5, 2, -1);
    test_total_order(3, 1, 500);
    test_stream_on_one_of_many();
    return check_result();
}
