/* How long a runtime lives: counts, the process's own one, and what a fork leaves of it. */
#include "engine/core/runtime.h"

#include <pthread.h>
#include <stdlib.h>

/* What the process's runtime is and what guards it. A fork copies them; the child's handler starts afresh. */
pthread_mutex_t hki_default_lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic(hki_runtime *) hki_default_runtime;
static _Atomic(unsigned) fork_generation;

void hki_runtime_init(hki_runtime *runtime)
{
    atomic_init(&runtime->refs, 1);
    runtime->generation = atomic_load(&fork_generation);
}

void hki_runtime_deinit(hki_runtime *runtime)
{
    for (void *block = runtime->blocks, *next; block; block = next) {
        next = *(void **)block;
        free(block);
    }
    hk_status_release(runtime->config_error);
    hki_choices_destroy(runtime->choices);
    hk_status_release(runtime->cancelled);
    hk_status_release(runtime->first_failure);
    hki_trace_destroy(runtime->trace_memory);
}

void hki_runtime_retain(hki_runtime *runtime)
{
    atomic_fetch_add_explicit(&runtime->refs, 1, memory_order_relaxed);
}

void hki_runtime_release(hki_runtime *runtime)
{
    /* In the child of a fork, threads that are not there may be amid using the parent's: it stays where it is. */
    if (atomic_fetch_sub_explicit(&runtime->refs, 1, memory_order_acq_rel) == 1 &&
        hki_runtime_is_here(runtime))
        runtime->destroy(runtime);
}

hki_runtime *hki_runtime_current_retained(void)
{
    pthread_mutex_lock(&hki_default_lock);
    hki_runtime *runtime = atomic_load(&hki_default_runtime);
    if (runtime)
        hki_runtime_retain(runtime);
    pthread_mutex_unlock(&hki_default_lock);
    return runtime;
}

bool hki_runtime_is_here(const hki_runtime *runtime)
{
    return runtime->generation == atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

bool hki_runtime_alive(const hki_runtime *runtime)
{
    return hki_runtime_is_here(runtime) && !hki_is_stopping(runtime);
}

const hk_status *hki_runtime_gone(const hki_runtime *runtime)
{
    if (hki_runtime_is_here(runtime))
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

struct hki_choices *hki_runtime_choices(const hki_runtime *runtime)
{
    return runtime->choices;
}

hki_device *const *hki_runtime_devices(const hki_runtime *runtime, int *count)
{
    *count = runtime->device_count;
    return runtime->devices;
}

/* ---- forks ---------------------------------------------------------------------------------------------------------- */

static void fork_prepare(void)
{
    pthread_mutex_lock(&hki_default_lock);
}

static void fork_parent(void)
{
    pthread_mutex_unlock(&hki_default_lock);
}

static void fork_child(void)
{
    /* The parent's has no threads here; its memory stays, for handles that point to it. */
    atomic_fetch_add(&fork_generation, 1);
    atomic_store(&hki_default_runtime, NULL);
    pthread_mutex_unlock(&hki_default_lock);
}

void hki_fork_watch(void)
{
    pthread_atfork(fork_prepare, fork_parent, fork_child);
}
