#include "engine/core/score.h"

bool hki_score_is_pending_slow(const hki_runtime *runtime, uint64_t noted, int but)
{
    const uint64_t position = noted >> HKI_WORKER_BITS;
    const int worker = (int)(noted & HKI_ANY_WORKER);
    const bool any = worker == HKI_ANY_WORKER;
    const int begin = any ? 0 : worker, end = any ? runtime->score_count : worker + 1;
    for (int i = begin; i < end; i++)
        if (i != but &&
            atomic_load_explicit(&runtime->scores[i].first, memory_order_acquire) <= position)
            return true;
    return false;
}

bool hki_var_is_scored_locked(hki_var *var, bool writes)
{
    if (!hki_score_is_pending(var->runtime, var->scored_write, -1))
        var->scored_write = 0;
    if (!hki_score_is_pending(var->runtime, var->scored_read, -1))
        var->scored_read = 0;
    return var->scored_write || (writes && var->scored_read);
}
