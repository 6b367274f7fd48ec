/* Scores: how variables remember tasks that have no gates. A worker takes a batch of short tasks off the ring, in order, and
 * notes its position in each variable that they name: the position in the ring, counted from 1, and the number of the worker.
 * The task is unfinished while the worker's `first`, the position of the first such task of its batch, is not beyond. Of
 * several that read a variable the latest is noted, and HKI_ANY_WORKER for all. (The idea is the scoreboard of the CDC 6600.) */
#ifndef HOCKET_ENGINE_CORE_SCORE_H
#define HOCKET_ENGINE_CORE_SCORE_H

#include "engine/core/runtime.h"

enum { HKI_ANY_WORKER = 0xffff, HKI_WORKER_BITS = 16 };

/* Of one worker, which alone writes it. */
typedef struct hki_score {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) first; /* UINT64_MAX: it has none */
} hki_score;

static inline uint64_t hki_score_note(uint64_t position, int worker)
{
    return position << HKI_WORKER_BITS | (unsigned)worker;
}

bool hki_score_is_pending_slow(const hki_runtime *runtime, uint64_t noted, int but);

/* By another worker than `but` (-1: by any). `noted` may be 0: nothing is noted. */
static inline bool hki_score_is_pending(const hki_runtime *runtime, uint64_t noted, int but)
{
    return noted && hki_score_is_pending_slow(runtime, noted, but);
}

#endif
