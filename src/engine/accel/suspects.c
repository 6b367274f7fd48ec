/* What may turn out failed. A task whose kernels check values is followed before the host knows what they have found: until then
 * what it has written is suspect, and so is what others make of that. They are given the flags by which the device knows, and
 * spare with them what they overwrite (hki_device_class.guard). Once a task has been completed its failure stands in its
 * variables (core/failure.c), as ever. So where the one with the flag has failed, others are suspect until all have been
 * completed that were launched as such.
 *
 * Only tasks of the same queue follow, and they are launched in their order: so each queue has a list of its own, which the one
 * thread that launches there looks at. */
#include "engine/accel/accelerator.h"

#include <stdlib.h>

enum {
    MOST = 512,
    MARGIN = 8 /* fewer are left of one that an access cuts, and added */
};

typedef struct suspect {
    const hki_var *var;
    hki_range range;
    uint64_t flags;
    uint64_t
        position; /* of who has written it; another may have its place when that has been completed */
} suspect;

struct hki_suspects {
    _Atomic(uint64_t) completed; /* position of the last task that has been */
    hki_lock lock;               /* of the next two */
    uint64_t unsettled;          /* flags that may be up, or whose failures are not all noted yet */
    uint32_t holders
        [64]; /* by flag: tasks not completed that have it, or were launched with it among their suspects */
    /* Of the thread that launches: the task whose writes it notes, and whether there was no room for one. */
    uint64_t position;
    bool is_full;
    int count;
    suspect list[MOST]; /* disjoint ranges */
};

static bool overlaps(const suspect *it, const hki_access *access)
{
    return it->var == access->var && hki_ranges_overlap(it->range, hki_access_range(access));
}

static void hold(hki_suspects *self, uint64_t flags)
{
    for (; flags; flags &= flags - 1)
        self->holders[__builtin_ctzll(flags)]++;
}

/* Flags that nobody holds any more. */
static uint64_t let_go(hki_suspects *self, uint64_t flags)
{
    uint64_t free = 0;
    for (; flags; flags &= flags - 1)
        if (--self->holders[__builtin_ctzll(flags)] == 0)
            free |= flags & -flags;
    self->unsettled &= ~free;
    return free;
}

/* The failure of a task that has been completed stands in its variables. */
static uint64_t flags_of(const hki_suspects *self, const suspect *it)
{
    const uint64_t completed =
        atomic_load_explicit(&((hki_suspects *)self)->completed, memory_order_acquire);
    return it->position > completed ? it->flags & self->unsettled : 0;
}

static uint64_t find(const hki_suspects *self, const hki_task *task)
{
    uint64_t found = 0;
    for (int i = 0; i < self->count; i++) {
        const suspect *it = &self->list[i];
        const uint64_t flags = flags_of(self, it);
        for (int j = 0; (flags & ~found) && j < task->spec.access_count; j++)
            if (task->spec.accesses[j].mode & HKI_READ && overlaps(it, &task->spec.accesses[j]))
                found |= flags;
    }
    return found;
}

uint64_t hki_suspects_find(const hki_queue *queue, const hki_task *task)
{
    hki_suspects *self = queue->suspects;
    if (!self || !self->count)
        return 0;
    hki_lock_acquire(&self->lock);
    const uint64_t found = find(self, task);
    hold(self, found);
    hki_lock_release(&self->lock);
    return found;
}

/* ---- noting ------------------------------------------------------------------------------------------------------ */

static void add(hki_suspects *self, const suspect *it, hki_range range)
{
    self->is_full = self->is_full || self->count == MOST;
    if (self->is_full || !it->flags)
        return;
    suspect *added = &self->list[self->count++];
    *added = *it;
    added->range = range;
}

/* What is left of one that is overwritten in part. */
typedef struct rest {
    hki_suspects *of;
    suspect old;
} rest;

static void add_rest(void *argument, hki_range range, bool is_in)
{
    const rest *self = argument;
    if (!is_in)
        add(self->of, &self->old, range);
}

/* What the range held is overwritten. */
static void cut(hki_suspects *self, const hki_access *access)
{
    for (int i = 0; i < self->count && !self->is_full;) {
        rest left = {self, self->list[i]};
        if (!overlaps(&left.old, access)) {
            i++;
            continue;
        }
        self->is_full = self->count > MOST - MARGIN;
        self->list[i] = self->list[--self->count];
        if (!hki_range_divide(left.old.range, hki_access_range(access), add_rest, &left))
            self->is_full = true;
    }
}

/* Of what is overwritten in part some may still be suspect for what it was. Where there is no room, who comes behind waits. */
static void note(void *suspects, const hki_access *access, uint64_t flags)
{
    hki_suspects *self = suspects;
    suspect added = {.var = access->var, .flags = flags, .position = self->position};
    if (self->is_full)
        return;
    for (int i = 0; !(access->mode & HKI_HEAL) && i < self->count; i++)
        if (overlaps(&self->list[i], access))
            added.flags |= self->list[i].flags;
    cut(self, access);
    add(self, &added, hki_access_range(access));
}

/* Flags that are nobody's any more, or were another's, mean nothing. */
static void begin(hki_suspects *self, const hki_ticket *ticket)
{
    int kept = 0;
    hki_lock_acquire(&self->lock);
    for (int i = 0; i < self->count; i++) {
        suspect *it = &self->list[i];
        it->flags = flags_of(self, it);
        if (it->flags)
            self->list[kept++] = *it;
    }
    self->count = kept;
    self->unsettled |= ticket->flags;
    hold(self, ticket->flags);
    hki_lock_release(&self->lock);
    self->position = ticket->position;
    self->is_full = false;
}

bool hki_suspects_note(const hki_queue *queue, const hki_task *task, const hki_ticket *ticket)
{
    hki_suspects *self = queue->suspects;
    const hki_task_spec *spec = &task->spec;
    if (!self || !(self->count || ticket->suspects || ticket->flags))
        return true;
    begin(self, ticket);
    if (spec->class->note_suspects)
        spec->class->note_suspects(spec, task->payload, ticket, note, self);
    else
        for (int i = 0; i < spec->access_count; i++)
            if (spec->accesses[i].mode & HKI_WRITE)
                note(self, &spec->accesses[i], ticket->suspects | ticket->flags);
    return !self->is_full;
}

void hki_suspects_settle(const hki_queue *queue, const hki_ticket *ticket, bool is_good)
{
    hki_suspects *self = queue->suspects;
    if (self && ticket->position)
        atomic_store_explicit(&self->completed, ticket->position, memory_order_release);
    if (!(ticket->flags | ticket->suspects))
        return;
    hki_lock_acquire(&self->lock);
    if (is_good)
        self->unsettled &= ~ticket->flags;
    const uint64_t free = let_go(self, ticket->flags | ticket->suspects);
    hki_lock_release(&self->lock);
    if (free)
        queue->device->class->release_flags(queue->device, free);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

bool hki_suspects_create(hki_queue *queue)
{
    if (queue->kind == HKI_QUEUE_COMPUTE)
        queue->suspects = calloc(1, sizeof *queue->suspects);
    return queue->suspects || queue->kind != HKI_QUEUE_COMPUTE;
}
