/* A runtime from start to end, and the default one of the process. */
#include "base/block.h"
#include "base/cancel.h"
#include "base/fill_struct.h"
#include "base/hooks.h"
#include "base/source.h"
#include "engine/accel/put_off.h"
#include "engine/policy/place.h"
#include "engine/policy/throttle.h"
#include "engine/setup.h"
#include "engine/wait/wait.h"

#include <link.h>
#include <signal.h>
#include <stdlib.h>

/* ---- workers -------------------------------------------------------------------------------- */

static bool workers_start(hki_runtime *runtime)
{
    sigset_t all, before;
    sigfillset(&all); /* signals go to the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = hki_accelerators_start(runtime);
    for (int i = 0; i < runtime->queue_count && started; i++) {
        hki_queue *queue = runtime->queues[i];
        for (int j = 0; j < queue->worker_count && started; j++) {
            hki_worker *worker = &queue->workers[j];
            started = !pthread_create(
                &worker->thread, NULL,
                queue->is_accelerator ? hki_accelerator_main : hki_worker_main, worker);
            queue->running_count += started;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void workers_stop(hki_runtime *runtime)
{
    atomic_store(&runtime->ended, true);
    for (int i = 0; i < runtime->queue_count; i++) {
        hki_queue *queue = runtime->queues[i];
        hki_futex_bump(&queue->park.wake_word, INT32_MAX);
        for (; queue->running_count > 0; queue->running_count--)
            pthread_join(queue->workers[queue->running_count - 1].thread, NULL);
    }
    hki_accelerators_stop(runtime);
    /* What other threads issued meanwhile; what they issue later they finish themselves. */
    hki_cancel_all(runtime);
}

/* ---- life ------------------------------------------------------------------------------------------------- */

/* What every runtime has, in one piece of memory. */
typedef struct whole {
    hki_runtime runtime;
    hki_scheduler scheduler;
    hki_placement placement;
    hki_throttle throttle;
} whole;

static void runtime_destroy(hki_runtime *runtime)
{
    hki_devices_destroy(runtime);
    hki_accelerators_destroy(runtime);
    free(runtime->scheduler->counters);
    free(runtime->ring);
    free(runtime->scores);
    free(runtime->cuda);
    hki_runtime_deinit(runtime);
    free(runtime);
}

/* NULL when host memory is short. A wrong configuration is kept in config_error. */
static hki_runtime *runtime_create(const hk_runtime_options *options)
{
    hki_runtime_config config;
    whole *self = hki_zeroed_lines(sizeof *self);
    if (!self)
        return NULL;
    hki_runtime *runtime = &self->runtime;
    hki_runtime_init(runtime);
    runtime->scheduler = &self->scheduler;
    runtime->placement = &self->placement;
    runtime->throttle = &self->throttle;
    runtime->destroy = runtime_destroy;
    hki_biased_lock_prepare();
    runtime->config_error = hki_configure(options, &config);
    if (!runtime->config_error)
        runtime->config_error = hki_choices_create(getenv("HOCKET_TUNE"), &runtime->choices);
    if (runtime->config_error)
        config.engine = config.flush_subnormals = 0;
    runtime->serial = config.engine == 1;
    atomic_store(&hki_floats_wanted,
                 config.flush_subnormals ? HKI_FLOATS_FLUSHED : HKI_FLOATS_DEFAULT);
    runtime->cancelled = hki_status_create(
        HK_CANCELLED, NULL, "the runtime ended before this call ran, or before it was made");
    hki_placement_init(runtime->placement, config.inline_ns);
    runtime->throttle->run_ahead_calls = (uint64_t)config.run_ahead_calls;
    runtime->throttle->run_ahead_bytes = (uint64_t)config.run_ahead_bytes;
    if (!hki_devices_create(runtime, &config)) {
        runtime_destroy(runtime);
        return NULL;
    }
    hki_throttle_set_soft(runtime, 0);
    if (!runtime->serial && !workers_start(runtime)) {
        workers_stop(runtime);
        atomic_store(&runtime->ended, false);
        runtime->serial = true;
        if (!runtime->config_error)
            runtime->config_error = hki_status_create(HK_OUT_OF_MEMORY, NULL,
                                                      "the system refused to start worker threads");
    }
    return runtime;
}

/* Ends what has been issued. Only promises are, and nothing is held, in the serial engine. */
static void drain(hki_runtime *runtime)
{
    if (runtime->serial) {
        hki_lock_acquire(&runtime->serial_lock);
        hki_promises_await_locked(runtime, NULL, NULL);
        hki_lock_release(&runtime->serial_lock);
        return;
    }
    hki_holds_end_all(runtime);
    if (hki_is_stopping(runtime))
        hki_clock_hurry(runtime);
    for (int i = 0; i < runtime->queue_count; i++)
        hki_queue_drain(runtime->queues[i], NULL);
}

static void runtime_end(hki_runtime *runtime)
{
    atomic_store(&runtime->ending, true);
    if (hki_hooks.promises_end)
        hki_hooks.promises_end(runtime, runtime->serial ? NULL : hki_holds_end_all);
    if (hki_hooks.runtime_stopping && hki_hooks.runtime_stopping(runtime))
        drain(runtime);
    atomic_store(&runtime->stopping, true);
    atomic_fetch_add(&runtime->failed_vars, 1);
    drain(runtime);
    if (!runtime->serial)
        workers_stop(runtime);
    if (hki_hooks.runtime_stopped)
        hki_hooks.runtime_stopped(runtime);
    atomic_store(&runtime->ended, true);
}

static void process_exit(void)
{
    /* Other threads may be amid a call: what they stand on stays where it is, and is found here. */
    static hki_runtime *at_exit;
    /* A task that calls exit would wait for itself: let the process go with it. Called several times where there are GPUs. */
    if (!hki_in_task() && !at_exit) {
        at_exit = atomic_load(&hki_default_runtime);
        if (at_exit)
            hki_runtime_retain(at_exit);
    }
    hk_runtime_deinit();
}

static int note_loads(struct dl_phdr_info *info, size_t bytes, void *loads)
{
    (void)bytes;
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1;
}

/* What is registered last is called first. */
void hki_runtime_end_first(void)
{
    static _Atomic(unsigned long long) known;
    unsigned long long loads = 0;
    dl_iterate_phdr(note_loads, &loads);
    if (atomic_exchange(&known, loads) != loads)
        atexit(process_exit);
}

/* The runtime is now the process's. Expects hki_default_lock. */
static void runtime_publish(hki_runtime *runtime)
{
    if (runtime && runtime->cuda && runtime->cuda->found.plugin)
        hki_runtime_end_first();
    if (runtime && hki_hooks.runtime_started)
        hki_hooks.runtime_started(runtime);
    atomic_store(&hki_default_runtime, runtime);
}

static void watch_process(void)
{
    hki_fork_watch();
    atexit(process_exit);
}

static void process_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_process);
}

hki_runtime *hki_runtime_default_retained(void)
{
    for (;;) {
        hki_runtime *runtime = hki_runtime_current_retained();
        if (runtime || !hki_runtime_default())
            return runtime;
    }
}

hki_runtime *hki_runtime_default(void)
{
    hki_runtime *runtime = atomic_load_explicit(&hki_default_runtime, memory_order_acquire);
    if (runtime)
        return runtime;
    HKI_NO_CANCELLATION; /* starting reads files */
    process_init();
    pthread_mutex_lock(&hki_default_lock);
    runtime = atomic_load(&hki_default_runtime);
    if (!runtime)
        runtime_publish(runtime = runtime_create(NULL));
    pthread_mutex_unlock(&hki_default_lock);
    return runtime;
}

const hk_status *(hk_runtime_init)(const hk_runtime_options *options)
{
    HKI_TAKE_OPTIONS(hk_runtime_options, options);
    const hk_status *status = hki_status_ok();
    const hki_status_facts facts = {.operation = "runtime_init"};
    HKI_NO_CANCELLATION;
    process_init();
    pthread_mutex_lock(&hki_default_lock);
    if (atomic_load(&hki_default_runtime)) {
        status = hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                   "the runtime runs already; call hk_runtime_init before anything "
                                   "else, or hk_runtime_deinit first");
    } else {
        hki_runtime *runtime = runtime_create(options);
        if (!runtime) {
            status =
                hki_status_create(HK_OUT_OF_MEMORY, &facts, "no host memory to start the runtime");
        } else if (runtime->config_error) {
            status = hk_status_retain(runtime->config_error);
            runtime_end(runtime);
            hki_runtime_release(runtime);
        } else {
            runtime_publish(runtime);
        }
    }
    pthread_mutex_unlock(&hki_default_lock);
    return hki_status_lend(status);
}

void hk_runtime_deinit(void)
{
    HKI_NO_CANCELLATION;
    if (hki_in_task() || hki_is_draining())
        return;
    pthread_mutex_lock(&hki_default_lock);
    hki_runtime *runtime = atomic_exchange(&hki_default_runtime, NULL);
    pthread_mutex_unlock(&hki_default_lock);
    if (!runtime)
        return;
    runtime_end(runtime);
    const hk_status *error = hki_choices_measure(runtime->choices);
    if (error)
        hk_status_print(error, stderr); /* nobody is left to be told otherwise */
    hk_status_release(error);
    if (hki_hooks.runtime_ending)
        hki_hooks.runtime_ending(runtime);
    hki_runtime_release(runtime);
    hki_block_trim();
}

const char *hk_kernel_choices(void)
{
    HKI_HOLD(runtime);
    runtime = hki_runtime_default_retained();
    return hki_choices_description(runtime ? runtime->choices : NULL);
}

/* Calls that ran under the issue lock, tasks or not. */
static uint64_t at_once_locked(const hki_runtime *runtime)
{
    uint64_t count = runtime->direct_calls;
    for (int i = 0; i < runtime->queue_count; i++)
        count += runtime->queues[i]->at_once;
    return count;
}

void hk_runtime_read_stats(hk_runtime_stats *stats)
{
    hk_runtime_stats own = {0};
    HKI_HOLD(runtime);
    runtime = hki_runtime_default_retained();
    if (runtime) {
        hki_biased_acquire(&runtime->issue_lock);
        own.issued_calls = atomic_load(&runtime->issued_tasks) + at_once_locked(runtime);
        hki_biased_release(&runtime->issue_lock);
        own.window_waits = atomic_load(&runtime->throttle->window_waits);
        own.peak_run_ahead_bytes = (uint64_t)atomic_load(&runtime->peak_held_bytes);
        own.subnormal_calls = atomic_load(&runtime->subnormal_tasks);
        own.handle_bytes = (uint64_t)hki_block_bytes();
    }
    hki_fill_struct(stats, &own, sizeof own);
}

void hk_runtime_read_internals(hk_runtime_internals *internals)
{
    hk_runtime_internals own = {0};
    HKI_HOLD(runtime);
    runtime = hki_runtime_default_retained();
    if (runtime) {
        hki_biased_acquire(&runtime->issue_lock);
        own.inline_calls = runtime->inline_calls + at_once_locked(runtime);
        own.direct_calls = runtime->direct_calls;
        hki_biased_release(&runtime->issue_lock);
        own.helped_calls = atomic_load(&runtime->scheduler->helped_calls);
        if (runtime->accelerators)
            own.held_up_launches = atomic_load(&runtime->accelerators->held_up);
        const hki_put_offs *put_offs =
            runtime->accelerators ? runtime->accelerators->put_offs : NULL;
        if (put_offs) {
            own.put_off_calls = atomic_load(&put_offs->put_off);
            own.computed_calls = atomic_load(&put_offs->computed);
            own.shared_calls = atomic_load(&put_offs->shared);
        }
        own.worker_waits = atomic_load(&runtime->throttle->worker_waits);
        own.inline_ns = runtime->placement->inline_ns;
        own.inline_short_ns = runtime->placement->inline_short_ns;
    }
    hki_fill_struct(internals, &own, sizeof own);
}
