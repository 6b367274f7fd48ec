/* Calls so small that to make them tasks would cost more than all they do: they run in the caller, at their place in
 * the order of calls, while the issue lock is held. So nobody can come between their reading and their end. The same for
 * reading a few elements. */
#include "engine/policy/place.h"

/* The variables have what was issued to write them, nothing has failed, and the runtime is not stopping. */
static bool are_settled_locked(hki_runtime *runtime, hki_var *const *vars, int count)
{
    for (int i = 0; i < count; i++)
        if (!hki_access_is_free_locked(&(hki_access){vars[i], 0, UINT64_MAX, HKI_READ, 0}))
            return false;
    /* After the gates: a writer that failed says so before it opens its own. */
    return atomic_load_explicit(&runtime->failed_vars, memory_order_relaxed) == 0;
}

bool hki_direct_begin(hki_runtime *runtime, hki_var *const *reads, int count, hki_var *write)
{
    if (runtime->serial || hki_tracing(runtime) || runtime->placement->inline_ns < HKI_DIRECT_NS ||
        !hki_floats_are_usual())
        return false;
    hki_ring_acquire(runtime);
    if ((write && (!hki_access_is_free_locked(&(hki_access){write, 0, UINT64_MAX, HKI_WRITE, 0}) ||
                   write->watches)) ||
        !are_settled_locked(runtime, reads, count)) {
        hki_biased_release(&runtime->issue_lock);
        return false;
    }
    hki_this_thread.last_sequence = ++runtime->sequence;
    if (write && runtime->counts_writes)
        write->version = runtime->sequence;
    runtime->direct_calls++;
    hki_this_thread.floats = hki_floats_enter();
    return true;
}

bool hki_direct_look(hki_var *var)
{
    hki_runtime *runtime = var->runtime;
    if (!hki_runtime_alive(runtime) || runtime->serial || hki_tracing(runtime) || hki_in_task())
        return false;
    hki_ring_acquire(runtime);
    if (are_settled_locked(runtime, &var, 1)) {
        hki_place_note_wait(var);
        hki_this_thread.floats = 0;
        return true;
    }
    hki_biased_release(&runtime->issue_lock);
    return false;
}

void hki_direct_end(hki_runtime *runtime)
{
    hki_floats_leave(hki_this_thread.floats);
    hki_biased_release(&runtime->issue_lock);
}
