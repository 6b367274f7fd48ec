/* Failed byte ranges of a variable, and the runtime's list of root failures. */
#include "engine/core/runtime.h"

#include <hocket/runtime.h>

#include <stdlib.h>

/* Disjoint but for rows of different pitches, in no order. Tasks that change the same bytes exclude
 * each other, so the lock only keeps the list itself whole: the runtime's one for all variables,
 * since failing is rare. The head is stored once per change: NULL without the lock means that
 * nothing has failed. */
struct hki_failure {
    hki_failure *next;
    hki_range range;
    const hk_status *status; /* counted */
    bool intact;             /* the bytes are those from before the failed call */
};

/* Stands for a whole variable whose failures could not be noted, for want of host memory; shared, never
 * changed, and never healed: better a failure too many than a wrong value. */
static hki_failure unnoted = {.range = {.end = UINT64_MAX}};

static bool any_failures(hki_var *var)
{
    return atomic_load_explicit(&var->failures, memory_order_acquire) != NULL;
}

const hk_status *hki_var_failure(hki_var *var, hki_range range)
{
    if (!any_failures(var))
        return NULL;
    const hk_status *first = NULL;
    hki_lock_acquire(&var->runtime->failures_lock);
    for (hki_failure *failure = atomic_load_explicit(&var->failures, memory_order_relaxed); failure;
         failure = failure->next)
        if (hki_ranges_overlap(failure->range, range))
            first = hki_status_earlier(first, failure == &unnoted ? hki_status_no_memory()
                                                                  : failure->status);
    hk_status_retain(first);
    hki_lock_release(&var->runtime->failures_lock);
    return first;
}

static void drop(hki_failure *failure)
{
    while (failure && failure != &unnoted) {
        hki_failure *next = failure->next;
        hk_status_release(failure->status);
        free(failure);
        failure = next;
    }
}

/* Without memory the list becomes, and stays, `unnoted`. */
static void add(hki_failure **list, hki_range range, const hk_status *status, bool intact)
{
    if (*list == &unnoted)
        return;
    hki_failure *failure = malloc(sizeof *failure);
    if (!failure) {
        drop(*list);
        *list = &unnoted;
        return;
    }
    *failure = (hki_failure){*list, range, hk_status_retain(status), intact};
    *list = failure;
}

/* What becomes of a failure that is taken apart. */
typedef struct parting {
    const hki_failure *failure;
    hki_failure **in, **out;
} parting;

static void part(void *argument, hki_range range, bool is_in)
{
    const parting *self = argument;
    add(is_in ? self->in : self->out, range, self->failure->status, self->failure->intact);
}

/* Moves what is in the range, cut to it, from *list to the result. `select`: only what is intact.
 * What cannot be taken apart stays where it is: better a failure too many. */
static hki_failure *cut(hki_failure **list, hki_range range, bool select)
{
    hki_failure *taken = NULL, *kept = NULL;
    if (*list == &unnoted)
        return NULL;
    for (hki_failure *failure = *list, *next; failure; failure = next) {
        next = failure->next;
        parting apart = {failure, &taken, &kept};
        const bool is_hit =
            (!select || failure->intact) && hki_ranges_overlap(failure->range, range);
        const bool is_whole = !is_hit || hki_range_contains(range, failure->range);
        if (!is_whole && hki_range_divide(failure->range, range, part, &apart)) {
            hk_status_release(failure->status);
            free(failure);
        } else {
            hki_failure **to = is_hit && is_whole ? &taken : &kept;
            failure->next = *to;
            *to = failure;
        }
    }
    if (taken == &unnoted)
        kept = taken;
    *list = kept;
    return taken;
}

/* Publishes a changed list; the runtime counts the variables that have one. */
static void set_list(hki_var *var, hki_failure *list)
{
    hki_failure *old = atomic_exchange_explicit(&var->failures, list, memory_order_acq_rel);
    if (!old != !list)
        atomic_fetch_add_explicit(&var->runtime->failed_vars, list ? 1 : -1, memory_order_relaxed);
}

/* Bytes that were torn before stay torn, whatever happened to the call that came now. `old`: what
 * has been cut from the range. */
static void add_intact(hki_failure **list, hki_range range, const hk_status *status,
                       const hki_failure *old)
{
    hki_failure *intact = NULL;
    add(&intact, range, status, true);
    for (const hki_failure *it = old; it; it = it->next)
        if (!it->intact && it != &unnoted) {
            drop(cut(&intact, it->range, false));
            add(list, it->range, status, false);
        }
    for (const hki_failure *it = intact; it; it = it->next)
        add(list, it->range, status, it != &unnoted);
    drop(intact);
}

void hki_var_fail(hki_var *var, hki_range range, const hk_status *status, bool intact)
{
    hki_lock *lock = &var->runtime->failures_lock;
    hki_lock_acquire(lock);
    hki_failure *list = atomic_load_explicit(&var->failures, memory_order_relaxed);
    hki_failure *old = cut(&list, range, false);
    if (intact)
        add_intact(&list, range, status, old);
    else
        add(&list, range, status, false);
    set_list(var, list);
    hki_lock_release(lock);
    drop(old);
}

void hki_var_fail_at_once(hki_var *var, hki_range range)
{
    hki_var_fail(var, range, hki_status_no_memory(), false);
    hki_runtime_note_failure(var->runtime, hki_status_no_memory());
}

void hki_var_end_failures(hki_var *var, hki_range range, bool only_intact)
{
    if (!any_failures(var))
        return;
    hki_lock *lock = &var->runtime->failures_lock;
    hki_lock_acquire(lock);
    hki_failure *list = atomic_load_explicit(&var->failures, memory_order_relaxed);
    hki_failure *old = cut(&list, range, only_intact);
    set_list(var, list);
    hki_lock_release(lock);
    drop(old);
}

void hki_var_failures_deinit(hki_var *var)
{
    hki_failure *list = atomic_load_explicit(&var->failures, memory_order_acquire);
    if (list) {
        set_list(var, NULL);
        drop(list);
    }
}

void hki_runtime_note_failure(hki_runtime *runtime, const hk_status *status)
{
    hki_lock_acquire(&runtime->failures_lock);
    runtime->failure_count++;
    const hk_status *old = runtime->first_failure;
    if (hki_status_earlier(old, status) == status)
        runtime->first_failure = hk_status_retain(status);
    else
        old = NULL;
    hki_lock_release(&runtime->failures_lock);
    hk_status_release(old);
}

void hk_failures_clear(void)
{
    HKI_HOLD(runtime);
    runtime = hki_runtime_current_retained();
    if (!runtime)
        return;
    hki_lock_acquire(&runtime->failures_lock);
    const hk_status *old = runtime->first_failure;
    runtime->first_failure = NULL;
    runtime->failure_count = 0;
    hki_lock_release(&runtime->failures_lock);
    hk_status_release(old);
}
