/* Waiting for a range with a time limit, or not at all: by looking at its gates, so that nothing is left of a wait that ends
 * early. Such a wait lends no hands, because a task that it ran could outlast the limit. */
#include "engine/core/score.h"
#include "engine/policy/place.h"
#include "engine/sched/ring.h"
#include "engine/sched/tracing.h"
#include "engine/wait/blocking.h"
#include "engine/wait/wait.h"

/* What is waited for: writes that had been issued when it was looked at first. */
typedef struct look {
    const hki_waiting *what;
    bool is_known;
    uint64_t sequence, scored;
} look;

static bool has_come_serial(hki_runtime *runtime)
{
    const bool is_idle = hki_lock_try(&runtime->serial_lock);
    if (is_idle)
        hki_lock_release(&runtime->serial_lock);
    return is_idle;
}

static bool has_come(look *self)
{
    hki_var *var = self->what->var;
    hki_runtime *runtime = var->runtime;
    if (runtime->serial)
        return has_come_serial(runtime);
    hki_ring_acquire(runtime);
    if (!self->is_known) {
        self->is_known = true;
        self->sequence = runtime->sequence;
        self->scored = var->scored_write;
    }
    if (self->scored && !hki_score_is_pending(runtime, self->scored, -1))
        self->scored = 0;
    const bool over = !self->scored && !hki_gates_hold_locked(var, self->what->begin,
                                                              self->what->end, self->sequence);
    hki_biased_release(&runtime->issue_lock);
    return over;
}

bool hki_range_has_come(const hki_waiting *what)
{
    look now = {.what = what};
    return has_come(&now);
}

static const hk_status *not_yet(int64_t timeout_ns)
{
    const hki_status_facts facts = {.operation = "wait_for"};
    return hki_status_create(HK_TIMEOUT, &facts,
                             "what writes the array had not finished after %.3f s",
                             (double)timeout_ns * 1e-9);
}

/* Spins at first, and then looks after naps of a part of the time so far. False: the time is over, or the thread interrupted. */
static bool await(look *moment, int64_t begin_ns, int64_t timeout_ns, hki_blocking *blocking)
{
    for (int64_t so_far = 0; !has_come(moment); so_far = hki_clock_ns() - begin_ns) {
        if (so_far >= timeout_ns)
            return false;
        hki_blocking_begin(blocking);
        if (hki_blocking_look(blocking, begin_ns + so_far))
            return false;
        int64_t nap_ns = so_far / 4 < HKI_LOOK_AGAIN_NS ? so_far / 4 : HKI_LOOK_AGAIN_NS;
        nap_ns = nap_ns < timeout_ns - so_far ? nap_ns : timeout_ns - so_far;
        if (so_far < moment->what->var->runtime->scheduler->spin_ns)
            hki_relax();
        else
            hki_sleep_ns(nap_ns);
    }
    return true;
}

const hk_status *hki_wait_for(const hki_waiting *what, int64_t timeout_ns)
{
    hki_var *var = what->var;
    hki_runtime *runtime = var->runtime;
    if (!hki_runtime_alive(runtime))
        return hki_runtime_gone(runtime);
    if (hki_in_task())
        return hki_would_deadlock("wait_for");
    look moment = {.what = what};
    hki_blocking blocking = {0};
    hki_wait_point point = hki_tracing_wait(runtime);
    hki_place_note_wait(var);
    if (runtime->counts_waiters) /* their clock stays awake */
        atomic_fetch_add(&runtime->scheduler->waiters, 1);
    const bool over = await(&moment, hki_clock_ns(), timeout_ns, &blocking);
    if (runtime->counts_waiters)
        atomic_fetch_sub(&runtime->scheduler->waiters, 1);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_ARRAY, -1);
    hki_blocking_end(&blocking);
    if (blocking.is_interrupted)
        return hki_interrupted("wait_for");
    if (!over)
        return not_yet(timeout_ns);
    const hk_status *failure = hki_var_failure(var, what->begin, what->end);
    return failure ? failure : hki_status_ok();
}

const hk_status *hki_range_error_now(const hki_waiting *what)
{
    const hk_status *failure = hki_var_failure(what->var, what->begin, what->end);
    return failure ? failure : hki_status_ok();
}
