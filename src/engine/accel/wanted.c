/* What is going to be needed. A task that will look at values says so when it is issued, long
 * before it is launched: then what it needs is computed when that is launched, beside the model's
 * time, or at once where it has been put off already. Until they are launched, tasks know by
 * variables, not by ranges, which others they need. */
#include "engine/accel/put_off.h"

#include <stdlib.h>

/* Of a task that is issued and may be put off. */
struct hki_hint {
    uint32_t refs; /* the task's, its variables', and those that need it */
    bool is_wanted;
    hki_work *work; /* once it is launched and has been put off; with a reference */
    hki_hint *in_stack, *next, **link; /* of all */
    int count;
    hki_hint *needs[];
};

static void release(hki_hint *hint)
{
    if (--hint->refs)
        return;
    *hint->link = hint->next;
    if (hint->next)
        hint->next->link = hint->link;
    if (hint->work)
        hki_work_release(hint->work);
    free(hint);
}

/* ---- wanting --------------------------------------------------------------------------------- */

static void want_one(hki_put_offs *self, hki_work *work)
{
    if (work->is_wanted || hki_work_state_of(work) != HKI_WORK_WAITS)
        return;
    work->is_wanted = true;
    work->refs++;
    work->next_wanted = self->wanted;
    self->wanted = work;
    atomic_fetch_add(&self->wanted_count, 1);
}

/* Who reads a copy may read the original. */
void hki_work_want(hki_put_offs *self, hki_work *work)
{
    if (!work->is_copy) {
        want_one(self, work);
        return;
    }
    for (int i = 0; i < work->need_count; i++)
        want_one(self, work->before[i]);
}

static void push(hki_hint *hint, hki_hint **stack)
{
    if (hint->is_wanted)
        return;
    hint->is_wanted = true;
    hint->in_stack = *stack;
    *stack = hint;
}

static void want_hint(hki_put_offs *self, hki_hint *hint)
{
    hki_hint *stack = NULL;
    push(hint, &stack);
    while (stack) {
        hki_hint *it = stack;
        stack = it->in_stack;
        if (it->work)
            hki_work_want(self, it->work);
        for (int i = 0; i < it->count; i++)
            push(it->needs[i], &stack);
    }
}

static void want_access(hki_put_offs *self, const hki_access *access)
{
    const struct hki_put_off_var *var = hki_put_off_var_of(self, access->var);
    if (!var)
        return;
    if (var->issued)
        want_hint(self, var->issued);
    for (hki_put_off_place *it = var->writes; it; it = it->next)
        if (hki_put_off_place_overlaps(it, hki_access_range(access)))
            hki_work_want(self, it->work);
}

static bool has_any(hki_put_offs *self)
{
    return atomic_load(&self->wanted_count) > 0 || atomic_load(&self->count) > HKI_PUT_OFF_MANY;
}

bool hki_works_await_rest(hki_put_offs *self, int threads)
{
    return has_any(self) && atomic_load(&self->rests) < (threads > 1 ? threads - 1 : 1);
}

/* With a reference; NULL: there is none. */
static hki_work *take(hki_put_offs *self)
{
    hki_work *work = self->wanted;
    if (work) {
        self->wanted = work->next_wanted;
        atomic_fetch_sub(&self->wanted_count, 1);
        return work;
    }
    if (atomic_load(&self->count) > HKI_PUT_OFF_MANY)
        for (work = self->first; work && hki_work_state_of(work) != HKI_WORK_WAITS;)
            work = work->next;
    if (work)
        work->refs++;
    return work;
}

void hki_works_compute_at_rest(hki_put_offs *self, int threads)
{
    if (!self || !hki_works_await_rest(self, threads))
        return;
    atomic_fetch_add(&self->rests, 1);
    hki_lock_acquire(&self->lock);
    hki_work *work = take(self);
    hki_lock_release(&self->lock);
    if (work)
        hk_status_release(hki_works_compute(self, &work, 1));
    atomic_fetch_sub(&self->rests, 1);
}

void hki_wanted_stop(hki_put_offs *self)
{
    while (self->wanted) {
        hki_work *work = self->wanted;
        self->wanted = work->next_wanted;
        hki_work_release(work);
    }
    atomic_store(&self->wanted_count, 0);
    self->is_over = true;
}

void hki_hints_destroy(hki_put_offs *self)
{
    for (hki_hint *it = self->hints, *next; it; it = next) {
        next = it->next;
        free(it);
    }
}

/* ---- tasks that are issued ------------------------------------------------------------------- */

static void set_issued(struct hki_put_off_var *var, hki_hint *hint)
{
    hki_hint *old = var->issued;
    var->issued = hint;
    if (hint)
        hint->refs++;
    if (old)
        release(old);
}

void hki_put_off_var_forget_issued(struct hki_put_off_var *var)
{
    set_issued(var, NULL);
}

/* What it reads, and what it does not overwrite as a whole, comes from others that are not launched
 * yet. NULL: no memory. */
static hki_hint *create(hki_put_offs *self, const hki_task_spec *spec)
{
    hki_hint *hint = calloc(1, sizeof *hint + (size_t)spec->access_count * sizeof(hki_hint *));
    if (!hint)
        return NULL;
    hint->refs = 1;
    hint->next = self->hints;
    hint->link = &self->hints;
    if (hint->next)
        hint->next->link = &hint->next;
    self->hints = hint;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        struct hki_put_off_var *var = hki_put_off_var_of(self, access->var);
        if (!var || !var->issued || access->mode & HKI_FRESH)
            continue;
        var->issued->refs++;
        hint->needs[hint->count++] = var->issued;
    }
    return hint;
}

static bool may_be_put_off(const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    return spec->class->later && hki_device_puts_off(spec->device) &&
           spec->class->later->may(spec, task->payload, true);
}

static void note_issued(hki_put_offs *self, hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    hki_hint *hint = hki_put_off_make_vars(self, spec) ? create(self, spec) : NULL;
    task->hint = hint;
    for (int i = 0; i < spec->access_count && hint; i++)
        if (spec->accesses[i].mode & HKI_WRITE)
            set_issued(hki_put_off_var_of(self, spec->accesses[i].var), hint);
}

void hki_put_off_issue(hki_task *task)
{
    hki_put_offs *self = task->runtime->accelerators->put_offs;
    const hki_task_spec *spec = &task->spec;
    if (hki_device_is_host(spec->device))
        return;
    hki_lock_acquire(&self->lock);
    if (self->is_over)
        task->hint = NULL;
    else if (may_be_put_off(task))
        note_issued(self, task);
    else
        for (int i = 0; i < spec->access_count; i++)
            if (spec->accesses[i].mode & HKI_READ)
                want_access(self, &spec->accesses[i]);
    const bool wants = atomic_load(&self->wanted_count) > 0;
    hki_lock_release(&self->lock);
    if (wants)
        hki_put_offs_call(self);
}

/* ---- tasks that are launched ----------------------------------------------------------------- */

bool hki_put_off_launch_hint(hki_put_offs *self, hki_task *task, hki_work *work)
{
    hki_hint *hint = task->hint;
    bool is_wanted = false;
    task->hint = NULL;
    if (!hint)
        return false;
    for (int i = 0; i < hint->count; i++)
        release(hint->needs[i]);
    hint->count = 0;
    for (int i = 0; i < task->spec.access_count; i++) {
        struct hki_put_off_var *var = hki_put_off_var_of(self, task->spec.accesses[i].var);
        if (var && var->issued == hint)
            set_issued(var, NULL);
    }
    is_wanted = hint->is_wanted;
    if (work && hint->refs > 1) {
        hint->work = work;
        work->refs++;
    }
    release(hint);
    return is_wanted;
}
