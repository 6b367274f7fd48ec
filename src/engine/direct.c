/* Calls so small that to make them tasks would cost more than all they do: they run in the caller, at their place in
 * the order of calls, while the issue lock is held. So nobody can come between their reading and their end. */
#include "engine/engine_internal.h"

bool hki_direct_begin(hki_runtime *runtime, hki_var *const *reads, int count)
{
    int64_t inline_ns = atomic_load_explicit(&runtime->inline_ns, memory_order_relaxed);
    if (runtime->serial || hki_tracing(runtime) || (inline_ns && inline_ns < HKI_DIRECT_NS) ||
        !hki_environment_is_default())
        return false;
    hki_lock_acquire(&runtime->issue_lock);
    bool may = true;
    for (int i = 0; may && i < count; i++)
        may = hki_var_is_settled_locked(reads[i]);
    /* After the gates: a writer that failed says so before it opens its own. */
    may = may && atomic_load_explicit(&runtime->failed_vars, memory_order_relaxed) == 0 &&
          !atomic_load_explicit(&runtime->stopping, memory_order_relaxed);
    if (!may) {
        hki_lock_release(&runtime->issue_lock);
        return false;
    }
    hki_sequence_note(++runtime->sequence);
    runtime->direct_calls++;
    return true;
}

void hki_direct_end(hki_runtime *runtime)
{
    hki_lock_release(&runtime->issue_lock);
}
