#include "engine_scaling_runs.h"

#include "bench_util.h"
#include "engine_patterns.h"

#include <hocket/runtime.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CORES = 2, TASKS = 200000, SIM_TASKS = 50000, MAX_THREADS = 64, OWN_DATA = 64 };

static engine_data *begin(hk_runtime_options options, bool in_caller, long data)
{
    options.cpu_cores = CORES;
    options.inline_ns = in_caller ? 4000 : -1;
    const hk_status *status = hk_runtime_init(&options);
    const bool started = hk_ok(status);
    hk_status_release(status);
    return started ? engine_data_create(data) : NULL;
}

static void end(engine_data *data)
{
    engine_data_destroy(data);
    hk_runtime_deinit();
}

static double per_task(double since, long tasks)
{
    return (bench_seconds() - since) / (double)tasks * 1e9;
}

/* Reads and writes a datum, or just writes it. */
static engine_call call_on(long datum, bool reads, hk_device device)
{
    engine_call call = {.call = {.write = (int)datum, .reads = {(int)datum}, .read_count = reads},
                        .device = device,
                        .expected_ns = 1};
    return call;
}

/* ---- issuing threads ---------------------------------------------------------------------------------------------- */

typedef struct issuer {
    pthread_t thread;
    engine_data *data;
    long first_datum, data_count, tasks;
    bool reads;
    pthread_barrier_t *begin; /* passed twice: when all are warm, and when the clock has started */
} issuer;

static void issue(const issuer *self, long tasks)
{
    for (long i = 0; i < tasks; i++) {
        engine_call call =
            call_on(self->first_datum + i % self->data_count, self->reads, hk_device_default());
        engine_issue(self->data, &call);
    }
}

/* First a quarter that is not counted, as with the peers: it takes fresh memory from the system. */
static void *issuer_main(void *argument)
{
    const issuer *self = argument;
    issue(self, self->tasks / 4);
    pthread_barrier_wait(self->begin);
    pthread_barrier_wait(self->begin);
    issue(self, self->tasks);
    return NULL;
}

static double run_threads(long count, bool in_caller, bool chain)
{
    issuer issuers[MAX_THREADS];
    pthread_barrier_t passed;
    engine_data *data = begin((hk_runtime_options){0}, in_caller, MAX_THREADS * OWN_DATA);
    if (!data || pthread_barrier_init(&passed, NULL, (unsigned)count + 1)) {
        end(data);
        return -1;
    }
    for (long i = 0; i < count; i++) {
        issuers[i] = (issuer){.data = data,
                              .first_datum = i * OWN_DATA,
                              .data_count = chain ? 1 : OWN_DATA,
                              .tasks = TASKS / count,
                              .reads = chain,
                              .begin = &passed};
        if (pthread_create(&issuers[i].thread, NULL, issuer_main, &issuers[i])) {
            fprintf(stderr, "bench_engine: no thread to issue with\n");
            exit(1); /* the others wait for it */
        }
    }
    pthread_barrier_wait(&passed);
    hk_wait_all();
    double since = bench_seconds();
    pthread_barrier_wait(&passed);
    for (long i = 0; i < count; i++)
        pthread_join(issuers[i].thread, NULL);
    hk_wait_all();
    double ns = per_task(since, TASKS / count * count);
    pthread_barrier_destroy(&passed);
    end(data);
    return ns;
}

double scaling_run_threads_chain(long count, bool in_caller)
{
    return run_threads(count, in_caller, true);
}

double scaling_run_threads_independent(long count, bool in_caller)
{
    return run_threads(count, in_caller, false);
}

/* ---- devices ------------------------------------------------------------------------------------------------------ */

/* The last `count` devices of the runtime are meant. */
static double run_devices(engine_data *data, long count, long tasks, bool chain)
{
    if (!data) {
        end(data);
        return -1;
    }
    const int first = hk_device_count() - (int)count;
    double since = 0;
    for (long i = -count; i < tasks; i++) { /* each device once before the clock starts */
        if (i == 0) {
            hk_wait_all();
            since = bench_seconds();
        }
        long turn = i + count;
        engine_call call = call_on(chain ? turn % count : turn % OWN_DATA, chain,
                                   hk_device_at(first + (int)(turn % count)));
        engine_issue(data, &call);
    }
    hk_wait_all();
    double ns = per_task(since, tasks);
    end(data);
    return ns;
}

double scaling_run_devices_chain(long count, bool in_caller)
{
    const hk_runtime_options options = {.cpu_devices = (int)count};
    return run_devices(begin(options, in_caller, OWN_DATA), count, TASKS, true);
}

double scaling_run_devices_independent(long count, bool in_caller)
{
    const hk_runtime_options options = {.cpu_devices = (int)count};
    return run_devices(begin(options, in_caller, OWN_DATA), count, TASKS, false);
}

static double run_sims(long count, bool in_caller, bool chain)
{
    const hk_sim_options sim = {.count = (int)count,
                                .flops = 1e15,
                                .memory_bandwidth = 1e15,
                                .launch_ns = 1e-3,
                                .memory_bytes = 1 << 20};
    const hk_runtime_options options = {.sim = &sim, .sim_count = 1};
    return run_devices(begin(options, in_caller, OWN_DATA), count, SIM_TASKS, chain);
}

double scaling_run_sims_chain(long count, bool in_caller)
{
    return run_sims(count, in_caller, true);
}

double scaling_run_sims_independent(long count, bool in_caller)
{
    return run_sims(count, in_caller, false);
}

/* ---- unfinished readers -------------------------------------------------------------------------------------------- */

/* Below this many, what happens once is most of what a reader takes. */
enum { LEAST_READERS = 100 };
enum { READ, BLOCKED, ELSEWHERE, OTHERS, READER_DATA = OTHERS + OWN_DATA };

typedef struct readers {
    engine_data *data;
    atomic_bool go_on;
    double went_on;  /* when: bench_seconds */
    double issue_ns; /* of one of them */
} readers;

/* On a worker, out of the others' way. */
static void wait_to_go_on(void *argument)
{
    readers *self = argument;
    while (!atomic_load_explicit(&self->go_on, memory_order_acquire))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    self->went_on = bench_seconds();
}

/* A task that writes BLOCKED does not end until it is told to; `count` others read that, and READ. */
static bool readers_begin(readers *self, long count, bool in_caller)
{
    const hk_runtime_options options = {.run_ahead_calls = 1 << 20};
    self->data = begin(options, in_caller, READER_DATA);
    atomic_init(&self->go_on, false);
    if (!self->data)
        return false;
    const hk_device device = hk_device_default();
    const engine_call blocker = {.call = {.write = BLOCKED},
                                 .device = device,
                                 .expected_ns = INT64_MAX,
                                 .body = wait_to_go_on,
                                 .argument = self};
    engine_issue(self->data, &blocker);
    const engine_call reader = {.call = {.write = -1, .reads = {READ, BLOCKED}, .read_count = 2},
                                .device = device,
                                .expected_ns = 1};
    double since = bench_seconds();
    for (long i = 0; i < count; i++)
        engine_issue(self->data, &reader);
    self->issue_ns = per_task(since, count);
    return true;
}

static void readers_end(readers *self)
{
    atomic_store_explicit(&self->go_on, true, memory_order_release);
    hk_wait_all();
    end(self->data);
}

double scaling_run_readers_chain(long count, bool in_caller)
{
    readers self;
    double ns = -1;
    if (readers_begin(&self, count, in_caller)) {
        const engine_call call = call_on(ELSEWHERE, true, hk_device_default());
        double since = bench_seconds();
        for (long i = 0; i < TASKS; i++)
            engine_issue(self.data, &call);
        ns = per_task(since, TASKS); /* in the caller: they are complete */
    }
    readers_end(&self);
    return ns;
}

double scaling_run_readers_read(long count, bool in_caller)
{
    readers self;
    double ns = -1;
    if (readers_begin(&self, count, in_caller)) {
        double since = bench_seconds();
        for (long i = 0; i < TASKS; i++) {
            const engine_call call = {
                .call = {.write = OTHERS + (int)(i % OWN_DATA), .reads = {READ}, .read_count = 1},
                .device = hk_device_default(),
                .expected_ns = 1};
            engine_issue(self.data, &call);
        }
        ns = per_task(since, TASKS);
    }
    readers_end(&self);
    return ns;
}

double scaling_run_readers_issue(long count, bool in_caller)
{
    readers self;
    if (count < LEAST_READERS)
        return 0;
    double ns = readers_begin(&self, count, in_caller) ? self.issue_ns : -1;
    readers_end(&self);
    return ns;
}

double scaling_run_readers_finish(long count, bool in_caller)
{
    readers self;
    double ns = -1;
    if (count < LEAST_READERS)
        return 0;
    if (readers_begin(&self, count, in_caller)) {
        const engine_call writer = call_on(READ, false, hk_device_default());
        engine_issue(self.data, &writer);
        atomic_store_explicit(&self.go_on, true, memory_order_release);
        hk_wait_all();
        ns = per_task(self.went_on, count);
    }
    readers_end(&self);
    return ns;
}

/* ---- live arrays ---------------------------------------------------------------------------------------------------- */

static double run_live(long count, bool in_caller, bool chain)
{
    enum {
        STRIDE = 7368787
    }; /* a prime: far from one cache line to the next, whatever the count */
    engine_data *data = begin((hk_runtime_options){0}, in_caller, count);
    double ns = -1;
    for (long i = 0; data && i < count; i++) {
        engine_call call = call_on(i, false, hk_device_default());
        engine_issue(data, &call);
    }
    hk_wait_all();
    if (data) {
        double since = bench_seconds();
        for (long i = 0, at = 0; i < TASKS; i++, at = chain ? 0 : (at + STRIDE) % count) {
            engine_call call = call_on(at, chain, hk_device_default());
            engine_issue(data, &call);
        }
        hk_wait_all();
        ns = per_task(since, TASKS);
    }
    end(data);
    return ns;
}

double scaling_run_live_chain(long count, bool in_caller)
{
    return run_live(count, in_caller, true);
}

double scaling_run_live_all(long count, bool in_caller)
{
    return run_live(count, in_caller, false);
}
