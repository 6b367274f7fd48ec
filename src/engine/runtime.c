/* A runtime from start to end, its configuration, and the default one of the process. */
#include "base/config.h"
#include "engine/engine_internal.h"

#include <signal.h>
#include <stdlib.h>

/* The default runtime and what guards it. A fork copies them; the child's handler starts afresh. */
static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(hki_runtime *) default_runtime;
static _Atomic(unsigned) fork_generation;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;

typedef struct runtime_config {
    int64_t cpu_devices, cpu_cores, engine, run_ahead_calls, run_ahead_bytes, inline_ns,
        memory_bytes;
} runtime_config;

/* ---- configuration -------------------------------------------------------------------------------------- */

static const hk_status *option_error(const char *name, int64_t value, const char *expected)
{
    const hki_status_facts facts = {.operation = "runtime_init"};
    return hki_status_create(HK_INVALID_ARGUMENT, &facts, "option %s is %lld; expected %s", name,
                             (long long)value, expected);
}

/* Options first, then the environment for those that are zero, then defaults. Returns NULL or the first
 * error; the configuration is then the default for what is wrong. */
static const hk_status *configure(const hk_runtime_options *options, runtime_config *config)
{
    static const char *const engines[] = {"async", "serial", NULL};
    static const hk_runtime_options none = {0};
    const int64_t most = (int64_t)1 << 50;
    if (!options)
        options = &none;
    *config = (runtime_config){.cpu_devices = 1,
                               .run_ahead_calls = 4096,
                               .run_ahead_bytes = (int64_t)1 << 30,
                               .inline_ns = 4000};
    const hk_status *error = NULL;
    int engine = 0;
    const hk_status *errors[] = {
        hki_config_integer("HOCKET_CPUS", 1, HKI_MAX_DEVICES, &config->cpu_devices),
        hki_config_integer("HOCKET_CORES", 1, HKI_MAX_CORES, &config->cpu_cores),
        hki_config_word("HOCKET_ENGINE", engines, &engine),
        hki_config_integer("HOCKET_RUN_AHEAD", 1, most, &config->run_ahead_calls),
        hki_config_integer("HOCKET_RUN_AHEAD_BYTES", 1, most, &config->run_ahead_bytes),
        hki_config_integer("HOCKET_INLINE_NS", -1, most, &config->inline_ns),
        hki_config_integer("HOCKET_MEMORY", 1, most, &config->memory_bytes),
        options->cpu_devices < 0 || options->cpu_devices > HKI_MAX_DEVICES
            ? option_error("cpu_devices", options->cpu_devices, "1 to 64, or 0 for the default")
            : NULL,
        options->cpu_cores < 0 || options->cpu_cores > HKI_MAX_CORES
            ? option_error("cpu_cores", options->cpu_cores, "1 to 256, or 0 for all")
            : NULL,
        (unsigned)options->engine > HK_ENGINE_SERIAL
            ? option_error("engine", options->engine, "HK_ENGINE_ASYNC or HK_ENGINE_SERIAL")
            : NULL,
        options->inline_ns < -1 ? option_error("inline_ns", options->inline_ns,
                                               "-1 for never, 0 for the default, or more")
                                : NULL,
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (!error)
            error = errors[i];
        else
            hk_status_release(errors[i]);
    }
    if (error)
        return error;
    config->engine =
        options->engine == HK_ENGINE_DEFAULT ? engine : options->engine == HK_ENGINE_SERIAL;
    if (options->cpu_devices)
        config->cpu_devices = options->cpu_devices;
    if (options->cpu_cores)
        config->cpu_cores = options->cpu_cores;
    if (options->run_ahead_calls)
        config->run_ahead_calls = (int64_t)options->run_ahead_calls;
    if (options->run_ahead_bytes)
        config->run_ahead_bytes = (int64_t)options->run_ahead_bytes;
    if (options->inline_ns)
        config->inline_ns = options->inline_ns;
    if (options->memory_bytes)
        config->memory_bytes = (int64_t)options->memory_bytes;
    return NULL;
}

/* ---- devices and workers -------------------------------------------------------------------------------- */

static void queue_destroy(hki_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_destroy(&queue->flip_lock);
    free(queue->workers);
    free(queue->counters);
    free(queue);
}

static hki_queue *queue_create(hki_runtime *runtime, hki_device *device, hki_budget *budget,
                               const int *processors)
{
    int count = device->core_count;
    hki_queue *queue = aligned_alloc(HKI_CACHE_LINE, sizeof *queue);
    if (!queue)
        return NULL;
    *queue = (hki_queue){.runtime = runtime, .device = device, .budget = budget};
    pthread_mutex_init(&queue->flip_lock, NULL);
    queue->worker_count = count;
    queue->workers = calloc((size_t)count, sizeof *queue->workers);
    queue->counters = aligned_alloc(HKI_CACHE_LINE, (size_t)(count + 1) * sizeof *queue->counters);
    if (!queue->workers || !queue->counters) {
        queue_destroy(queue);
        return NULL;
    }
    runtime->queues[runtime->queue_count++] = queue;
    for (int i = 0; i <= count; i++)
        queue->counters[i] = (hki_counter){0};
    for (int i = 0; i < count; i++)
        queue->workers[i] = (hki_worker){.slot = i, .processor = processors[i], .queue = queue};
    return queue;
}

static void device_destroy(hki_device *device)
{
    if (!device)
        return;
    hki_memory_pool_destroy(device->memory);
    hk_status_release(device->status);
    free(device);
}

/* Devices get neighbouring cores, the first ones one more where they do not divide evenly; more devices
 * than cores share them in turn, one budget a core. */
static bool devices_create(hki_runtime *runtime, const runtime_config *config)
{
    int processors[HKI_MAX_CORES];
    int cores = hki_cpu_cores(processors);
    if (config->cpu_cores && config->cpu_cores < cores)
        cores = (int)config->cpu_cores;
    int devices = (int)config->cpu_devices;
    int budgets = devices < cores ? devices : cores;
    runtime->budgets = calloc((size_t)budgets, sizeof *runtime->budgets);
    if (!runtime->budgets)
        return false;
    int begin = 0;
    for (int i = 0; i < devices; i++) {
        bool shares = devices > cores;
        int count = shares ? 1 : cores / devices + (i < cores % devices);
        hki_budget *budget = &runtime->budgets[i % budgets];
        budget->shared = shares;
        atomic_store(&budget->free_cores, count);
        hki_device *device = calloc(1, sizeof *device);
        if (!device)
            return false;
        runtime->devices[runtime->device_count++] = device;
        device->class = &hki_cpu_device_class;
        device->runtime = runtime;
        device->status = hki_status_ok();
        device->index = i;
        device->core_count = count;
        snprintf(device->name, sizeof device->name, "cpu:%d", i);
        device->memory = hki_memory_pool_create(device, (uint64_t)config->memory_bytes);
        hki_queue *queue =
            queue_create(runtime, device, budget, processors + (shares ? i % cores : begin));
        for (int j = 0; j < HKI_QUEUE_KIND_COUNT; j++)
            device->queues[j] = queue;
        if (!device->memory || !queue)
            return false;
        begin += count;
    }
    return true;
}

static bool workers_start(hki_runtime *runtime)
{
    sigset_t all, before;
    sigfillset(&all); /* signals go to the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = true;
    for (int i = 0; i < runtime->queue_count && started; i++) {
        hki_queue *queue = runtime->queues[i];
        for (int j = 0; j < queue->worker_count && started; j++) {
            hki_worker *worker = &queue->workers[j];
            started = worker->running =
                !pthread_create(&worker->thread, NULL, hki_worker_main, worker);
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
    /* What other threads issued meanwhile; what they issue later they finish themselves. */
    for (int i = 0; i < runtime->queue_count; i++)
        hki_queue_cancel(runtime->queues[i]);
}

/* ---- life ------------------------------------------------------------------------------------------------- */

static void runtime_destroy(hki_runtime *runtime)
{
    for (int i = 0; i < runtime->queue_count; i++)
        queue_destroy(runtime->queues[i]);
    for (int i = 0; i < runtime->device_count; i++)
        device_destroy(runtime->devices[i]);
    for (int i = 0; i < runtime->failed_device_count; i++)
        device_destroy(runtime->failed_devices[i]);
    for (void *chunk = runtime->chunks, *next; chunk; chunk = next) {
        next = *(void **)chunk;
        free(chunk);
    }
    hk_status_release(runtime->config_error);
    hk_status_release(runtime->cancelled);
    hk_status_release(runtime->first_failure);
    hki_trace_destroy(runtime->trace_memory);
    free(runtime->budgets);
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
    runtime_config config;
    hki_runtime *runtime = aligned_alloc(HKI_CACHE_LINE, sizeof *runtime);
    if (!runtime)
        return NULL;
    *runtime = (hki_runtime){.generation = atomic_load(&fork_generation)};
    atomic_store(&runtime->refs, 1);
    runtime->config_error = configure(options, &config);
    if (runtime->config_error)
        config.engine = 0;
    runtime->serial = config.engine == 1;
    runtime->inline_ns = config.inline_ns;
    runtime->run_ahead_calls = (uint64_t)config.run_ahead_calls;
    runtime->run_ahead_bytes = (uint64_t)config.run_ahead_bytes;
    runtime->cancelled = hki_status_create(
        HK_CANCELLED, NULL, "the runtime ended before this call ran, or before it was made");
    if (!devices_create(runtime, &config)) {
        runtime_destroy(runtime);
        return NULL;
    }
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

static void runtime_end(hki_runtime *runtime)
{
    atomic_store(&runtime->stopping, true);
    if (!runtime->serial) {
        for (int i = 0; i < runtime->queue_count; i++)
            hki_queue_drain(runtime->queues[i]);
        workers_stop(runtime);
    }
    atomic_store(&runtime->ended, true);
}

/* The runtime is now the process's. Expects default_lock. */
static void runtime_publish(hki_runtime *runtime)
{
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

static void process_exit(void)
{
    /* Other threads may be amid a call: what they stand on stays where it is, and is found here. */
    static hki_runtime *at_exit;
    /* A task that calls exit would wait for itself: let the process go with it. */
    if (!hki_in_task())
        at_exit = atomic_load(&default_runtime);
    if (at_exit)
        hki_runtime_retain(at_exit);
    hk_runtime_deinit();
}

static void process_init(void)
{
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    atexit(process_exit);
}

hki_runtime *hki_runtime_default_retained(void)
{
    for (;;) {
        pthread_mutex_lock(&default_lock);
        hki_runtime *runtime = atomic_load(&default_runtime);
        if (runtime)
            hki_runtime_retain(runtime);
        pthread_mutex_unlock(&default_lock);
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
    hki_lock_acquire(&runtime->issue_lock);
    stats.issued_calls = runtime->issued_tasks;
    stats.inline_calls = runtime->inline_calls;
    hki_lock_release(&runtime->issue_lock);
    stats.helped_calls = atomic_load(&runtime->helped_calls);
    stats.window_waits = atomic_load(&runtime->window_waits);
    stats.peak_run_ahead_bytes = (uint64_t)atomic_load(&runtime->peak_window_bytes);
    hki_runtime_release(runtime);
    return stats;
}
