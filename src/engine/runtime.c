/* A runtime from start to end, and the default one of the process. */
#include "engine/accelerator.h"

#include <link.h>
#include <signal.h>
#include <stdlib.h>

/* The default runtime and what guards it. A fork copies them; the child's handler starts afresh. */
static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(hki_runtime *) default_runtime;
static _Atomic(unsigned) fork_generation;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;
static _Atomic(uint64_t) runtime_numbers;

/* ---- workers -------------------------------------------------------------------------------- */

static bool workers_start(hki_runtime *runtime)
{
    sigset_t all, before;
    sigfillset(&all); /* signals go to the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started =
        !runtime->accelerated || (hki_clock_start(runtime) && hki_launchers_start(runtime));
    for (int i = 0; i < runtime->queue_count && started; i++) {
        hki_queue *queue = runtime->queues[i];
        for (int j = 0; j < queue->worker_count && started; j++) {
            hki_worker *worker = &queue->workers[j];
            started = worker->running = !pthread_create(
                &worker->thread, NULL,
                queue->is_accelerator ? hki_accelerator_main : hki_worker_main, worker);
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
        for (int j = 0; j < queue->worker_count; j++) {
            atomic_fetch_add(&queue->wake_word, 1);
            hki_futex_wake(&queue->wake_word, INT32_MAX);
            if (queue->workers[j].running)
                pthread_join(queue->workers[j].thread, NULL);
            queue->workers[j].running = false;
        }
    }
    hki_launchers_stop(runtime);
    hki_clock_stop(runtime);
    /* What other threads issued meanwhile; what they issue later they finish themselves. */
    hki_cancel_all(runtime);
}

/* ---- life ------------------------------------------------------------------------------------------------- */

static void runtime_destroy(hki_runtime *runtime)
{
    hki_devices_destroy(runtime);
    for (void *block = runtime->blocks, *next; block; block = next) {
        next = *(void **)block;
        free(block);
    }
    hk_status_release(runtime->config_error);
    hki_choices_destroy(runtime->choices);
    hk_status_release(runtime->cancelled);
    hk_status_release(runtime->first_failure);
    hki_trace_destroy(runtime->trace_memory);
    free(runtime);
}

void hki_runtime_retain(hki_runtime *runtime)
{
    atomic_fetch_add_explicit(&runtime->refs, 1, memory_order_relaxed);
}

void hki_runtime_release(hki_runtime *runtime)
{
    if (atomic_fetch_sub_explicit(&runtime->refs, 1, memory_order_acq_rel) == 1)
        runtime_destroy(runtime);
}

/* NULL when host memory is short. A wrong configuration is kept in config_error. */
static hki_runtime *runtime_create(const hk_runtime_options *options)
{
    hki_runtime_config config;
    hki_runtime *runtime = aligned_alloc(HKI_CACHE_LINE, sizeof *runtime);
    if (!runtime)
        return NULL;
    *runtime = (hki_runtime){.generation = atomic_load(&fork_generation),
                             .number = atomic_fetch_add(&runtime_numbers, 1) + 1};
    hki_biased_lock_prepare();
    atomic_store(&runtime->refs, 1);
    runtime->config_error = hki_configure(options, &config);
    if (!runtime->config_error)
        runtime->config_error = hki_choices_create(getenv("HOCKET_TUNE"), &runtime->choices);
    if (runtime->config_error)
        config.engine = 0;
    runtime->serial = config.engine == 1;
    runtime->is_told = config.inline_ns != 0;
    atomic_store(&runtime->inline_ns, config.inline_ns);
    atomic_store(&runtime->inline_turn_ns, config.inline_ns);
    atomic_store(&runtime->inline_asleep_ns, config.inline_ns);
    runtime->run_ahead_calls = (uint64_t)config.run_ahead_calls;
    runtime->run_ahead_bytes = (uint64_t)config.run_ahead_bytes;
    runtime->cancelled = hki_status_create(
        HK_CANCELLED, NULL, "the runtime ended before this call ran, or before it was made");
    if (!hki_devices_create(runtime, &config)) {
        runtime_destroy(runtime);
        return NULL;
    }
    hki_window_set_near(runtime, 0);
    if (!runtime->serial && !workers_start(runtime)) {
        workers_stop(runtime);
        atomic_store(&runtime->ended, false);
        runtime->serial = true;
        if (!runtime->config_error)
            runtime->config_error = hki_status_create(HK_OUT_OF_MEMORY, NULL,
                                                      "the system refused to start worker threads");
    }
    runtime->is_plain = !runtime->serial && !runtime->accelerated;
    return runtime;
}

static void runtime_end(hki_runtime *runtime)
{
    atomic_store(&runtime->stopping, true);
    if (!runtime->serial) {
        hki_clock_hurry(runtime);
        for (int i = 0; i < runtime->queue_count; i++)
            hki_queue_drain(runtime->queues[i]);
        workers_stop(runtime);
    }
    atomic_store(&runtime->ended, true);
}

static void process_exit(void)
{
    /* Other threads may be amid a call: what they stand on stays where it is, and is found here. */
    static hki_runtime *at_exit;
    /* A task that calls exit would wait for itself: let the process go with it. Called several times where there are GPUs. */
    if (!hki_in_task() && !at_exit) {
        at_exit = atomic_load(&default_runtime);
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

/* The runtime is now the process's. Expects default_lock. */
static void runtime_publish(hki_runtime *runtime)
{
    if (runtime && runtime->cuda && runtime->cuda->found.plugin)
        hki_runtime_end_first();
    if (runtime && hki_runtime_started)
        hki_runtime_started(runtime);
    atomic_store(&default_runtime, runtime);
}

static void fork_prepare(void)
{
    pthread_mutex_lock(&default_lock);
}

static void fork_parent(void)
{
    pthread_mutex_unlock(&default_lock);
}

static void fork_child(void)
{
    /* The parent's runtime has no threads here; its memory stays as it is, for handles that point to
     * it. Whatever comes next starts a new one. */
    atomic_fetch_add(&fork_generation, 1);
    atomic_store(&default_runtime, NULL);
    pthread_mutex_unlock(&default_lock);
}

static void process_init(void)
{
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    atexit(process_exit);
}

hki_runtime *hki_runtime_current_retained(void)
{
    pthread_mutex_lock(&default_lock);
    hki_runtime *runtime = atomic_load(&default_runtime);
    if (runtime)
        hki_runtime_retain(runtime);
    pthread_mutex_unlock(&default_lock);
    return runtime;
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
    hki_runtime *runtime = atomic_load_explicit(&default_runtime, memory_order_acquire);
    if (runtime)
        return runtime;
    pthread_once(&process_once, process_init);
    pthread_mutex_lock(&default_lock);
    runtime = atomic_load(&default_runtime);
    if (!runtime) {
        runtime = runtime_create(NULL);
        runtime_publish(runtime);
    }
    pthread_mutex_unlock(&default_lock);
    return runtime;
}

const hk_status *hk_runtime_init(const hk_runtime_options *options)
{
    const hk_status *status = hki_status_ok();
    const hki_status_facts facts = {.operation = "runtime_init"};
    pthread_once(&process_once, process_init);
    pthread_mutex_lock(&default_lock);
    if (atomic_load(&default_runtime)) {
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
    pthread_mutex_unlock(&default_lock);
    return hki_status_lend(status);
}

void hk_runtime_deinit(void)
{
    if (hki_in_task())
        return;
    pthread_mutex_lock(&default_lock);
    hki_runtime *runtime = atomic_exchange(&default_runtime, NULL);
    pthread_mutex_unlock(&default_lock);
    if (!runtime)
        return;
    runtime_end(runtime);
    const hk_status *error = hki_choices_measure(runtime->choices);
    if (error)
        hk_status_print(error, stderr); /* nobody is left to be told otherwise */
    hk_status_release(error);
    if (hki_runtime_ending)
        hki_runtime_ending(runtime);
    hki_runtime_release(runtime);
}

bool hki_runtime_alive(const hki_runtime *runtime)
{
    return runtime->generation == atomic_load_explicit(&fork_generation, memory_order_relaxed) &&
           !atomic_load_explicit(&((hki_runtime *)runtime)->stopping, memory_order_relaxed);
}

const hk_status *hki_runtime_gone(const hki_runtime *runtime)
{
    if (runtime->generation == atomic_load(&fork_generation))
        return hk_status_retain(runtime->cancelled);
    return hki_status_create(
        HK_FORKED, NULL,
        "the handle was made before a fork, in the parent process; make arrays "
        "in the process that uses them");
}

struct hki_choices *hki_runtime_choices(const hki_runtime *runtime)
{
    return runtime->choices;
}

const char *hk_kernel_choices(void)
{
    hki_runtime *runtime = hki_runtime_default();
    return hki_choices_description(runtime ? runtime->choices : NULL);
}

bool hki_runtime_is_serial(const hki_runtime *runtime)
{
    return runtime->serial;
}

hk_runtime_stats hk_runtime_get_stats(void)
{
    hk_runtime_stats stats = {0};
    hki_runtime *runtime = hki_runtime_default_retained();
    if (!runtime)
        return stats;
    hki_biased_acquire(&runtime->issue_lock);
    uint64_t in_place = runtime->direct_calls;
    for (int i = 0; i < runtime->queue_count; i++)
        in_place += runtime->queues[i]->at_once;
    stats.issued_calls = atomic_load(&runtime->issued_tasks) + in_place;
    stats.inline_calls = runtime->inline_calls + in_place;
    stats.direct_calls = runtime->direct_calls;
    hki_biased_release(&runtime->issue_lock);
    stats.inline_ns = atomic_load(&runtime->inline_ns);
    stats.inline_turn_ns = atomic_load(&runtime->inline_turn_ns);
    stats.inline_asleep_ns = atomic_load(&runtime->inline_asleep_ns);
    stats.helped_calls = atomic_load(&runtime->helped_calls);
    stats.window_waits = atomic_load(&runtime->window_waits);
    stats.worker_waits = atomic_load(&runtime->worker_waits);
    stats.peak_run_ahead_bytes = (uint64_t)atomic_load(&runtime->peak_window_bytes);
    hki_runtime_release(runtime);
    return stats;
}
