/* Works that are put off, in lists, table and variables: how they come to be done, known, or gone.
 */
#include "engine/accel/put_off.h"

#include "engine/core/stage.h"

#include <stdlib.h>

void hki_work_release(hki_work *work)
{
    if (--work->refs)
        return;
    work->class->later->drop(work->kept);
    hk_status_release(work->failure);
    free(work->before);
    free(work);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Copies take next to nothing, and are no reason to compute. */
static bool counts(const hki_work *work)
{
    return !work->is_copy && !work->is_to_host;
}

static void put_last(hki_work **first, hki_work **last, hki_work *work)
{
    work->previous = *last;
    work->next = NULL;
    *(*last ? &(*last)->next : first) = work;
    *last = work;
}

void hki_work_append(hki_put_offs *self, hki_work *work)
{
    work->number = ++self->number;
    put_last(&self->first, &self->last, work);
    self->count += counts(work);
    self->all_count++;
}

static void take_out(hki_work **first, hki_work **last, hki_work *work)
{
    *(work->previous ? &work->previous->next : first) = work->next;
    *(work->next ? &work->next->previous : last) = work->previous;
}

static void leave_order(hki_put_offs *self, hki_work *work)
{
    take_out(&self->first, &self->last, work);
    self->count -= counts(work);
    self->all_count--;
}

void hki_work_untable(hki_put_offs *self, hki_work *work)
{
    if (!work->hash)
        return;
    hki_work **link = &self->table[work->hash % HKI_PUT_OFF_TABLE];
    while (*link != work)
        link = &(*link)->in_chain;
    *link = work->in_chain;
    work->hash = 0;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Whoever is to come after the place comes after another one of the work. */
static bool is_covered(const hki_put_off_place *place)
{
    const hki_work *work = place->work;
    for (int i = 0; !place->writes && i < work->place_count; i++) {
        const hki_put_off_place *other = &work->places[i];
        if (other->writes && other->var == place->var &&
            hki_range_contains(other->range, place->range))
            return true;
    }
    return false;
}

void hki_put_off_place_enter(hki_put_off_place *place)
{
    hki_put_off_place **list = place->writes ? &place->var->writes : &place->var->reads;
    place->is_user = true;
    place->var->users++;
    if (is_covered(place))
        return;
    place->next = *list;
    place->link = list;
    if (place->next)
        place->next->link = &place->next;
    *list = place;
}

void hki_put_off_place_unlink(hki_put_off_place *place)
{
    if (!place->link)
        return;
    *place->link = place->next;
    if (place->next)
        place->next->link = place->link;
    place->link = NULL;
}

/* Nobody will use the variable again: its owner has gone, and so have the works. */
static void free_var(hki_put_offs *self, struct hki_put_off_var *var)
{
    while (var->writes)
        hki_work_forget(self, var->writes->work);
    if (var->data) {
        self->kept_addresses[var->device->index] -= var->bytes;
        self->kept_bytes -= var->has_bytes ? var->bytes : 0;
        hki_memory_pool_return(var->pool, var->data, var->bytes);
    }
    free(var);
}

void hki_put_off_var_leave(hki_put_offs *self, struct hki_put_off_var *var)
{
    if (--var->users == 0 && !var->var)
        free_var(self, var);
}

static void place_leave(hki_put_offs *self, hki_put_off_place *place)
{
    struct hki_put_off_var *var = place->var;
    hki_put_off_place_unlink(place);
    place->var = NULL;
    if (!place->is_user)
        return;
    place->is_user = false;
    hki_put_off_var_leave(self, var);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static bool is_useless(const hki_work *work)
{
    const hki_work_state state = hki_work_state_of(work);
    return (state == HKI_WORK_WAITS || state == HKI_WORK_FAILED) && !work->seen && !work->readers;
}

/* Onto the list of those that are to be discarded. */
static void condemn(hki_put_offs *self, hki_work *work, hki_work **gone)
{
    if (hki_work_state_of(work) == HKI_WORK_WAITS)
        leave_order(self, work);
    else
        take_out(&self->failed_first, &self->failed_last, work);
    hki_work_untable(self, work);
    atomic_store_explicit(&work->state, HKI_WORK_GONE, memory_order_relaxed);
    work->gone = *gone;
    *gone = work;
}

/* What the work needed may be useless without it. */
static void leave_others(hki_put_offs *self, hki_work *work, hki_work **gone)
{
    for (int i = 0; i < work->before_count; i++) {
        hki_work *before = work->before[i];
        before->readers -= i < work->need_count;
        if (is_useless(before))
            condemn(self, before, gone);
        hki_work_release(before);
    }
    work->need_count = work->before_count = 0;
}

static void discard(hki_put_offs *self, hki_work *gone)
{
    while (gone) {
        hki_work *work = gone;
        gone = work->gone;
        leave_others(self, work, &gone);
        for (int i = 0; i < work->place_count; i++)
            if (work->places[i].var)
                place_leave(self, &work->places[i]);
        hki_work_release(work);
    }
}

bool hki_work_drop_useless(hki_put_offs *self, hki_work *work)
{
    hki_work *gone = NULL;
    if (!is_useless(work))
        return false;
    condemn(self, work, &gone);
    discard(self, gone);
    return true;
}

void hki_work_forget(hki_put_offs *self, hki_work *work)
{
    hki_work_untable(self, work);
    take_out(&self->known_first, &self->known_last, work);
    self->known_count--;
    atomic_store_explicit(&work->state, HKI_WORK_GONE, memory_order_relaxed);
    for (int i = 0; i < work->place_count; i++)
        if (work->places[i].var)
            place_leave(self, &work->places[i]);
    hki_work_release(work);
}

/* Equal works may copy from it, until something overwrites what it has written. */
static void become_known(hki_put_offs *self, hki_work *work)
{
    put_last(&self->known_first, &self->known_last, work);
    self->known_count++;
    work->refs++; /* until it is looked through */
    for (int i = 0; i < work->place_count; i++) {
        hki_put_off_place *place = &work->places[i];
        if (!place->is_user)
            continue;
        place->is_user = false;
        hki_put_off_var_leave(self, place->var); /* with which the work may be forgotten */
    }
    hki_work_release(work);
    if (self->known_count > HKI_PUT_OFF_KNOWN)
        hki_work_forget(self, self->known_first);
}

static void note_bytes(hki_put_offs *self, struct hki_put_off_var *var)
{
    if (!var->has_bytes && var->data)
        self->kept_bytes += var->bytes;
    var->has_bytes = true;
}

static void be_done(hki_put_offs *self, hki_work *work)
{
    bool is_known = work->hash != 0;
    for (int i = 0; i < work->place_count; i++) {
        hki_put_off_place *place = &work->places[i];
        if (!place->writes)
            continue;
        note_bytes(self, place->var);
        is_known = is_known && place->link;
    }
    if (is_known) {
        become_known(self, work);
        return;
    }
    hki_work_untable(self, work);
    for (int i = 0; i < work->place_count; i++)
        if (work->places[i].writes)
            place_leave(self, &work->places[i]);
    hki_work_release(work);
}

/* The host was behind the model by what a waiting call has waited since. */
static void note_late(const hki_work *work)
{
    enum { TOLERANCE_NS = 100000 };
    hki_queue *queue = work->spec.device->queues[work->spec.queue];
    const int64_t end_ns = hki_stage_end_ns(work->gate);
    const int64_t since_ns = end_ns > work->asked_ns ? end_ns : work->asked_ns;
    const int64_t late_ns = hki_clock_ns() - since_ns - TOLERANCE_NS;
    hki_lock_acquire(&queue->stats_lock);
    if (work->asked_ns && late_ns > queue->stats.late_ns)
        queue->stats.late_ns = late_ns;
    hki_lock_release(&queue->stats_lock);
}

/* Of a copy to the host: those who wait for it go on. */
static hki_task *let_go(hki_work *work)
{
    hki_gate *gate = work->gate;
    note_late(work);
    work->gate = NULL;
    for (int i = 0; i < work->place_count; i++) {
        const hki_put_off_place *place = &work->places[i];
        if (place->writes && place->var && place->var->var && work->failure)
            hki_var_fail((hki_var *)place->var->var, place->range, work->failure, false);
    }
    return hki_gate_open_held(gate, NULL);
}

hki_task *hki_work_end(hki_put_offs *self, hki_work *work, const hk_status *failure)
{
    hki_work *gone = NULL;
    hki_task *ready = NULL;
    work->as = NULL;
    work->failure = failure;
    leave_order(self, work);
    atomic_store_explicit(&work->state, failure ? HKI_WORK_FAILED : HKI_WORK_DONE,
                          memory_order_release);
    if (work->gate)
        ready = let_go(work);
    leave_others(self, work, &gone);
    for (int i = 0; i < work->place_count; i++)
        if (!work->places[i].writes)
            place_leave(self, &work->places[i]);
    if (!failure) {
        be_done(self, work);
    } else {
        hki_work_untable(self, work);
        put_last(&self->failed_first, &self->failed_last, work);
        if (is_useless(work))
            condemn(self, work, &gone);
    }
    discard(self, gone);
    return ready;
}
