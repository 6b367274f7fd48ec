#include "engine/core/watch.h"

#include "engine/core/runtime.h"

void hki_writes_count(hki_runtime *runtime)
{
    hki_biased_acquire(&runtime->issue_lock);
    runtime->counts_writes = true;
    hki_biased_release(&runtime->issue_lock);
}

#define UNKNOWN UINT64_MAX

void hki_writes_are_unknown(hki_var *var)
{
    hki_biased_acquire(&var->runtime->issue_lock);
    var->version = UNKNOWN;
    hki_biased_release(&var->runtime->issue_lock);
}

uint64_t hki_writes_last(const hki_var *var)
{
    hki_biased_acquire(&var->runtime->issue_lock);
    const uint64_t version = var->version;
    hki_biased_release(&var->runtime->issue_lock);
    return version == UNKNOWN ? 0 : version;
}

void hki_watch_begin(hki_watch *watch, hki_var *var, hki_range range, uint64_t sequence)
{
    hki_runtime *runtime = var->runtime;
    if (!runtime ||
        !hki_runtime_is_here(runtime)) /* of a failed array for which there was no memory */
        return;
    hki_biased_acquire(&runtime->issue_lock);
    runtime->counts_writes = true;
    *watch = (hki_watch){.next = var->watches,
                         .link = &var->watches,
                         .var = var,
                         .range = range,
                         .is_written = var->version != UNKNOWN && var->version > sequence};
    if (watch->next)
        watch->next->link = &watch->next;
    var->watches = watch;
    hki_biased_release(&runtime->issue_lock);
}

bool hki_watch_is_written(hki_watch *watch, bool ends)
{
    hki_runtime *runtime = watch->var ? watch->var->runtime : NULL;
    bool is_written;
    /* In the child of a fork nobody writes to the parent's variables, and its lock may be taken for ever. */
    if (runtime && hki_runtime_is_here(runtime)) {
        hki_biased_acquire(&runtime->issue_lock);
        is_written = watch->is_written;
        if (ends)
            *watch->link = watch->next;
        if (ends && watch->next)
            watch->next->link = watch->link;
        hki_biased_release(&runtime->issue_lock);
    } else {
        is_written = watch->is_written;
    }
    if (ends)
        watch->var = NULL;
    return is_written;
}

static void note_write(const hki_access *access, const hki_task_spec *spec)
{
    for (hki_watch *watch = access->var->watches; watch; watch = watch->next) {
        if (watch->is_written || !hki_ranges_overlap(hki_access_range(access), watch->range))
            continue;
        watch->is_written = true;
        watch->operation = spec->operation;
        watch->source = spec->source;
    }
}

void hki_writes_note_locked(hki_task_spec *spec, uint64_t sequence)
{
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (spec->versions)
            spec->versions[i] = access->var->version == UNKNOWN ? sequence : access->var->version;
        if (!(access->mode & HKI_WRITE))
            continue;
        if (access->var->version != UNKNOWN)
            access->var->version = sequence;
        if (access->var->watches && !(access->mode & HKI_KEEP))
            note_write(access, spec);
    }
}
