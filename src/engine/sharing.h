/* Taking part in what a task shares, see hki_task_share in engine.h. Thread-safe; never blocks. */
#ifndef HOCKET_ENGINE_SHARING_H
#define HOCKET_ENGINE_SHARING_H

#include "engine/engine_runtime.h"

/* Takes parts of what is shared now, if anything is, and a core of that device is free. For a thread that has none. */
void hki_sharing_join(hki_runtime *runtime);

static inline void hki_sharing_try_join(hki_runtime *runtime)
{
    if (atomic_load_explicit(&runtime->sharing, memory_order_relaxed))
        hki_sharing_join(runtime);
}

#endif
