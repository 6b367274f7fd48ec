/* For tests: workers that have started, and children after a fork. */
#ifndef HOCKET_TESTS_AWAIT_WORKERS_H
#define HOCKET_TESTS_AWAIT_WORKERS_H

#include "base/sanitizer.h"
#include "engine/sched/queue.h"

#include <hocket/runtime.h>
#include <unistd.h>

/* Until each worker of the default runtime looks for work or sleeps: none is still being started, when the
 * address sanitizer has locks of its own that a child would be left with. Nothing else is to be under way. */
static inline void await_workers(void)
{
    const hki_runtime *runtime = hki_runtime_default();
    for (int i = 0; !runtime->serial && i < runtime->queue_count; i++) {
        hki_park *park = &runtime->queues[i]->park;
        while (atomic_load(&park->attentive) + atomic_load(&park->sleepers) < park->threads)
            usleep(100);
    }
}

/* In a child: the thread sanitizer does not survive new threads there. */
static inline void start_in_child(void)
{
    if (HKI_THREAD_SANITIZER)
        hk_runtime_init(&(hk_runtime_options){.engine = HK_ENGINE_SERIAL});
}

#endif
