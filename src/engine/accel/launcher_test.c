/* The threads that launch for simulated devices: no more than cores, whatever the number of devices; one at a long launch
 * holds up nobody where there is another core; nothing that is issued from many threads is forgotten. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <dirent.h>
#include <hocket/runtime.h>
#include <pthread.h>

enum { SIMS = 8, PATIENCE_MS = 10000 };

static hki_runtime *runtime;
static hki_var vars[SIMS];
static hki_device *sims[SIMS];

static void start(int cores)
{
    const hk_sim_options sim = {.count = SIMS, .flops = 1e15, .launch_ns = 1e-3};
    CHECK(hk_ok(
        hk_runtime_init(&(hk_runtime_options){.sim = &sim, .sim_count = 1, .cpu_cores = cores})));
    runtime = hki_runtime_default();
    for (int i = 0; i < SIMS; i++) {
        sims[i] = hk_device_at(1 + i).handle;
        hki_var_init(&vars[i], runtime);
    }
}

static void stop(void)
{
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < SIMS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

typedef struct work {
    void (*body)(void *argument);
    void *argument;
} work;

static void run(hki_task *task, void *payload, int64_t piece)
{
    const work *self = payload;
    (void)task, (void)piece;
    self->body(self->argument);
}

static const hki_task_class work_class = {.enqueues = true, .run = run};

/* Reads one variable and writes another; < 0: none. */
static void submit_to(hki_device *device, int read, int write, int64_t expected_ns,
                      void (*body)(void *), void *argument)
{
    hki_task *task = hki_task_begin(runtime, sizeof(work), 2, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(work *)hki_task_payload(task) = (work){body, argument};
    spec->class = &work_class;
    spec->device = device;
    spec->operation = "work";
    spec->expected_ns = expected_ns;
    spec->access_count = 0;
    if (read >= 0)
        spec->accesses[spec->access_count++] = (hki_access){&vars[read], 0, 1, HKI_READ, 0};
    if (write >= 0)
        spec->accesses[spec->access_count++] = (hki_access){&vars[write], 0, 1, HKI_WRITE, 0};
    hki_task_submit(task);
}

/* Expected to be short, whatever it takes. */
static void submit(int sim, int read, int write, void (*body)(void *), void *argument)
{
    submit_to(sims[sim], read, write, 1, body, argument);
}

static int thread_count(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    CHECK(folder);
    while (folder && readdir(folder))
        count++;
    closedir(folder);
    return count - 2; /* . and .. */
}

/* 32 queues; beside this thread one that completes tasks, and for each core one that computes and one that launches. */
static void test_threads(void)
{
    int before = thread_count();
    start(2);
    CHECK(thread_count() - before <= 1 + 2 * hk_device_cores(hk_device_default()) + 2);
    stop();
}

static void add_one(void *argument)
{
    atomic_fetch_add((_Atomic(int) *)argument, 1);
}

static void await_one(void *argument)
{
    const struct timespec nap = {0, 1000000};
    for (int i = 0; i < PATIENCE_MS && atomic_load((_Atomic(int) *)argument) == 0; i++)
        nanosleep(&nap, NULL);
}

/* A launch that takes unexpectedly long waits for one of another device: the first thing that this one is given, or after
 * many that were short; issued before it, so that both are ready, or only when it runs. */
static void test_long_launch(bool is_first, bool is_late)
{
    static _Atomic(int) count, other;
    start(2);
    if (hk_device_cores(hk_device_default()) < 2) { /* nobody else has a core to launch on */
        stop();
        return;
    }
    atomic_store(&count, 0);
    atomic_store(&other, 0);
    for (int i = 0; !is_first && i < 1000; i++)
        submit(i % SIMS, -1, i % SIMS, add_one, &count);
    int64_t begin_ns = hk_clock_ns();
    submit(0, -1, 0, await_one, &other);
    if (is_late)
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    submit(1, -1, 1, add_one, &other);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(hk_clock_ns() - begin_ns < (int64_t)PATIENCE_MS * 500000);
    CHECK_EQ_I64(atomic_load(&count), is_first ? 0 : 1000);
    stop();
}

static void take_a_millisecond(void *argument)
{
    for (int64_t until = hk_clock_ns() + 1000000; hk_clock_ns() < until;)
        ;
    add_one(argument);
}

/* All cores are the CPU device's, which has something to do on them for half a second. */
static void test_busy_cores(void)
{
    static _Atomic(int) count, other;
    start(0);
    const int tasks = 2000 * hk_device_cores(hk_device_default());
    atomic_store(&count, 0);
    atomic_store(&other, 0);
    for (int i = 0; i < tasks; i++)
        submit_to(hk_device_default().handle, 0, -1, 1000000, take_a_millisecond, &count);
    const int before = atomic_load(&count);
    submit(1, -1, 1, add_one, &other);
    const hk_status *status = wait_range(&vars[1], 0, 1, NULL, NULL);
    CHECK(hk_ok(status));
    hk_status_release(status);
    CHECK(atomic_load(&other) == 1 && atomic_load(&count) - before < tasks / 2);
    stop();
}

enum { ISSUERS = 3, CALLS = 3000 };

static _Atomic(int) issued_work;

/* Each call of a thread is for another device, and depends on the one before. */
static void *issue(void *argument)
{
    const int first = *(const int *)argument;
    bool good = true;
    for (int i = 0; i < CALLS; i++) {
        int write = (first + i) % SIMS, read = (first + i + SIMS - 1) % SIMS;
        submit(write, i ? read : -1, write, add_one, &issued_work);
        if (i % 100 == 99) { /* now and then all of them fall asleep */
            const hk_status *status = wait_range(&vars[write], 0, 1, NULL, NULL);
            good = good && hk_ok(status);
            hk_status_release(status);
        }
    }
    return good ? argument : NULL;
}

static void test_many(int cores)
{
    pthread_t threads[ISSUERS];
    int firsts[ISSUERS];
    start(cores);
    atomic_store(&issued_work, 0);
    for (int i = 0; i < ISSUERS; i++) {
        firsts[i] = i;
        CHECK(!pthread_create(&threads[i], NULL, issue, &firsts[i]));
    }
    for (int i = 0; i < ISSUERS; i++) {
        void *good = NULL;
        pthread_join(threads[i], &good);
        CHECK(good);
    }
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(atomic_load(&issued_work), ISSUERS * CALLS);
    uint64_t calls = 0;
    for (int i = 0; i < SIMS; i++)
        calls += hk_device_get_stats((hk_device){sims[i]}, HK_QUEUE_COMPUTE).calls;
    CHECK_EQ_I64((int64_t)calls, ISSUERS * CALLS);
    stop();
}

int main(void)
{
    test_threads();
    for (int i = 0; i < 4; i++)
        test_long_launch(i & 1, i & 2);
    test_busy_cores();
    test_many(1);
    test_many(2);
    return check_result();
}
