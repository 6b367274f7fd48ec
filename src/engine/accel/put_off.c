/* What is put off when a task is launched, and what one that runs has done first. */
#include "engine/accel/put_off.h"

#include <stdlib.h>
#include <string.h>

static hki_put_offs *put_offs_of(const hki_runtime *runtime)
{
    return runtime->accelerators ? runtime->accelerators->put_offs : NULL;
}

/* ---- what is to be done first ---------------------------------------------------------------- */

/* Each once, with a reference. */
typedef struct collection {
    hki_work **works;
    int count, capacity;
    bool is_short; /* of memory */
} collection;

static void collect(hki_put_offs *self, collection *found, hki_work *work)
{
    if (work->visit == self->visit)
        return;
    if (found->count == found->capacity) {
        const int capacity = found->capacity ? 2 * found->capacity : 16;
        hki_work **works = realloc(found->works, (size_t)capacity * sizeof(hki_work *));
        if (!works) {
            found->is_short = true;
            return;
        }
        found->works = works;
        found->capacity = capacity;
    }
    work->visit = self->visit;
    work->refs++;
    found->works[found->count++] = work;
}

static void collect_readers(hki_put_offs *self, collection *found, const hki_access *access)
{
    const struct hki_put_off_var *var = hki_put_off_var_of(self, access->var);
    for (hki_put_off_place *it = var ? var->reads : NULL; it; it = it->next)
        if (hki_put_off_place_overlaps(it, hki_access_range(access)))
            collect(self, found, it->work);
}

static void collect_all(hki_put_offs *self, collection *found, const hki_access *access)
{
    const struct hki_put_off_var *var = hki_put_off_var_of(self, access->var);
    if (access->mode & HKI_WRITE)
        collect_readers(self, found, access);
    for (hki_put_off_place *it = var ? var->writes : NULL; it; it = it->next)
        if (hki_put_off_place_overlaps(it, hki_access_range(access)) && hki_work_is_open(it->work))
            collect(self, found, it->work);
}

/* Expects no lock. The record of a failure, counted; NULL: there was none. */
static const hk_status *compute(hki_put_offs *self, collection *found)
{
    const hk_status *failure = NULL;
    if (found->count)
        failure = hki_works_compute(self, found->works, found->count);
    if (found->is_short && !failure)
        failure = hki_status_create(HK_OUT_OF_MEMORY, NULL, "out of host memory");
    free(found->works);
    return failure;
}

/* ---- overwriting ----------------------------------------------------------------------------- */

/* What is at the place is about to be overwritten, as a whole or in part. True: the list has
 * changed. */
static bool overwrite_place(hki_put_offs *self, hki_put_off_place *place, bool whole)
{
    hki_work *work = place->work;
    if (hki_work_state_of(work) == HKI_WORK_DONE) {
        hki_work_forget(self, work);
        return true;
    }
    hki_work_untable(self, work);
    if (!whole)
        return false;
    hki_put_off_place_hide(place);
    /* Who is to come after it comes after what reads it, or what overwrites it now. */
    const bool is_all = work->write_count == 1;
    if (is_all)
        hki_put_off_place_unlink(place);
    return hki_work_drop_useless(self, work) || is_all;
}

typedef void need_fn(hki_put_offs *self, void *argument, hki_work *work);

/* Tells of works that come first although the access overwrites what they write: it does so in
 * part, or somebody needs something else of them. */
static void overwrite(hki_put_offs *self, const hki_access *access, need_fn *need, void *argument)
{
    const struct hki_put_off_var *var = hki_put_off_var_of(self, access->var);
    hki_put_off_place *it = var ? var->writes : NULL;
    while (it) {
        if (!hki_put_off_place_overlaps(it, hki_access_range(access))) {
            it = it->next;
            continue;
        }
        hki_work *work = it->work;
        const bool whole =
            access->mode & HKI_HEAL && hki_range_contains(hki_access_range(access), it->range);
        work->refs++; /* its places stay until it is looked at */
        const bool has_changed = overwrite_place(self, it, whole);
        if (hki_work_is_open(work))
            need(self, argument, work);
        it = has_changed ? var->writes : it->next;
        hki_work_release(work);
    }
}

/* ---- a task that runs now -------------------------------------------------------------------- */

/* The only place that a copy of one array reads. */
static const hki_put_off_place *original_of(const hki_work *copy)
{
    const hki_put_off_place *place = copy->places;
    while (place->writes)
        place++;
    return place;
}

/* Nobody is going to overwrite the original before the copy is made. */
static bool is_original_safe(const hki_work *copy)
{
    const hki_put_off_place *original = original_of(copy);
    for (hki_put_off_place *it = original->var->writes; it; it = it->next) {
        bool is_needed = false;
        for (int i = 0; i < copy->need_count; i++)
            is_needed |= it->work == copy->before[i];
        if (!is_needed && hki_work_is_open(it->work) &&
            hki_put_off_place_overlaps(it, original->range))
            return false;
    }
    return true;
}

/* All that is read comes from this work, which only copies and still waits: so it may be read at
 * the original. NULL: not so. */
static hki_work *sole_copy(hki_put_offs *self, const hki_task_spec *spec, const hki_access *access)
{
    const struct hki_put_off_var *var = hki_put_off_var_of(self, access->var);
    hki_work *found = NULL;
    for (hki_put_off_place *it = var ? var->writes : NULL; it; it = it->next) {
        hki_work *work = it->work;
        if (!hki_put_off_place_overlaps(it, hki_access_range(access)) || !hki_work_is_open(work))
            continue;
        if (found || !work->shift || hki_work_state_of(work) != HKI_WORK_WAITS ||
            !hki_range_contains(it->range, hki_access_range(access)))
            return NULL;
        found = work;
    }
    return found && spec->class->reads_elsewhere && is_original_safe(found) ? found : NULL;
}

static void collect_writers(hki_put_offs *self, collection *found, hki_task *task,
                            const hki_access *access)
{
    const struct hki_put_off_var *var = hki_put_off_var_of(self, access->var);
    hki_work *copy = task->instead ? NULL : sole_copy(self, &task->spec, access);
    if (copy) {
        for (int i = 0; i < copy->before_count; i++)
            collect(self, found, copy->before[i]);
        /* Whoever is to come after the copy waits as if it were being made. */
        atomic_store_explicit(&copy->state, HKI_WORK_RUNS, memory_order_relaxed);
        copy->refs++;
        task->instead = copy;
        task->shift = copy->shift;
        return;
    }
    for (hki_put_off_place *it = var ? var->writes : NULL; it; it = it->next)
        if (hki_put_off_place_overlaps(it, hki_access_range(access)) && hki_work_is_open(it->work))
            collect(self, found, it->work);
}

static void need_now(hki_put_offs *self, void *argument, hki_work *work)
{
    collect(self, argument, work);
}

/* What the task reads, or what it overwrites: the former first, for it may overwrite that, too. */
static bool meet(hki_put_offs *self, hki_task *task, unsigned mode)
{
    collection found = {0};
    hki_lock_acquire(&self->lock);
    self->visit++;
    for (int i = 0; i < task->spec.access_count; i++) {
        const hki_access *access = &task->spec.accesses[i];
        if (!(access->mode & mode))
            continue;
        if (mode == HKI_READ) {
            collect_writers(self, &found, task, access);
            continue;
        }
        struct hki_put_off_var *var = hki_put_off_var_of(self, access->var);
        collect_readers(self, &found, access);
        overwrite(self, access, need_now, &found);
        if (var)
            var->has_bytes = true;
    }
    hki_lock_release(&self->lock);
    const hk_status *failure = compute(self, &found);
    if (failure)
        hki_task_fail_with(task, failure);
    return !failure;
}

void hki_put_off_abandon(hki_task *task)
{
    hki_put_offs *self = put_offs_of(task->runtime);
    if (!task->hint)
        return;
    hki_lock_acquire(&self->lock);
    hki_put_off_launch_hint(self, task, NULL);
    hki_lock_release(&self->lock);
}

bool hki_put_off_meet(hki_task *task, bool writes)
{
    hki_put_offs *self = put_offs_of(task->runtime);
    hki_put_off_abandon(task);
    return !self || meet(self, task, writes ? HKI_WRITE : HKI_READ);
}

void hki_put_off_leave(hki_task *task)
{
    hki_work *copy = task->instead;
    if (!copy)
        return;
    hki_put_offs *self = put_offs_of(task->runtime);
    hki_lock_acquire(&self->lock);
    atomic_store_explicit(&copy->state, HKI_WORK_WAITS, memory_order_relaxed);
    hki_work_drop_useless(self, copy);
    hki_work_release(copy);
    hki_lock_release(&self->lock);
    task->instead = NULL;
    task->shift = 0;
}

/* ---- a task that is put off ------------------------------------------------------------------ */

bool hki_put_off_may(hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    return put_offs_of(task->runtime) && spec->class->later && hki_device_puts_off(spec->device) &&
           spec->class->later->may(spec, task->payload, false);
}

static hki_work *work_create(const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    const int most =
        2 * spec->access_count; /* of a copy: what the other one writes, and it itself */
    hki_work *work = calloc(1, sizeof *work + (size_t)most * sizeof *work->places);
    if (!work)
        return NULL;
    work->refs = 1;
    work->class = spec->class;
    work->spec = *spec;
    work->spec.accesses = NULL;
    work->spec.access_count = 0;
    work->spec.versions = NULL;
    work->sequence = hki_task_sequence(task);
    work->is_to_host = spec->class->later->writes_host && spec->class->later->writes_host(spec);
    work->kept = spec->class->later->keep(spec, task->payload);
    if (work->kept)
        return work;
    free(work);
    return NULL;
}

static void add_place(hki_work *work, struct hki_put_off_var *var, hki_range range, bool writes)
{
    work->places[work->place_count++] = (hki_put_off_place){
        .work = work, .var = var, .range = range, .writes = writes, .is_seen = writes};
    work->seen += writes;
    work->write_count += writes;
}

/* A work that writes the same, and all of whose bytes are as it has written them, or will. */
static hki_work *find_equal(hki_put_offs *self, const hki_work *work, uint64_t hash)
{
    hki_work *it = self->table[hash % HKI_PUT_OFF_TABLE];
    while (it &&
           !(it->hash == hash && it->class == work->class && it->spec.device == work->spec.device &&
             work->class->later->is_equal(it->kept, work->kept)))
        it = it->in_chain;
    return it;
}

static bool writes_fresh_alone(const hki_task_spec *spec)
{
    bool is_fresh = true;
    for (int i = 0; i < spec->access_count; i++)
        is_fresh = is_fresh &&
                   (!(spec->accesses[i].mode & HKI_WRITE) || spec->accesses[i].mode & HKI_FRESH);
    return is_fresh;
}

/* What it reads: where its inputs are, or what an equal one writes. */
static void add_reads(hki_put_offs *self, hki_work *work, const hki_task_spec *spec)
{
    const hki_later *later = work->class->later;
    const uint64_t hash = later->hash && writes_fresh_alone(spec) ? later->hash(work->kept) : 0;
    hki_work *equal = hash ? find_equal(self, work, hash) : NULL;
    if (equal) {
        work->is_copy = true;
        work->shift = later->share(work->kept, equal->kept);
        for (int i = 0; i < equal->place_count; i++) {
            const hki_put_off_place *place = &equal->places[i];
            if (place->writes)
                add_place(work, place->var, place->range, false);
        }
        atomic_fetch_add_explicit(&self->shared, 1, memory_order_relaxed);
        return;
    }
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        hki_work *copy = access->mode & HKI_READ ? sole_copy(self, spec, access) : NULL;
        const hki_put_off_place *original = copy ? original_of(copy) : NULL;
        if (copy)
            work->from = copy->shift;
        if (original)
            add_place(work, original->var, original->range, false);
        else if (access->mode & HKI_READ)
            add_place(work, hki_put_off_var_of(self, access->var), hki_access_range(access), false);
    }
    if (!hash)
        return;
    work->hash = hash;
    work->in_chain = self->table[hash % HKI_PUT_OFF_TABLE];
    self->table[hash % HKI_PUT_OFF_TABLE] = work;
}

static void come_after(hki_put_offs *self, void *argument, hki_work *before)
{
    hki_work *work = argument;
    if (before->visit == self->visit)
        return;
    before->visit = self->visit;
    before->refs++;
    work->before[work->before_count++] = before;
}

static void find_needs(hki_put_offs *self, hki_work *work)
{
    for (int i = 0; i < work->place_count; i++) {
        const hki_put_off_place *place = &work->places[i];
        for (hki_put_off_place *it = place->var->writes; it; it = it->next)
            if (hki_put_off_place_overlaps(it, place->range) && hki_work_is_open(it->work))
                come_after(self, work, it->work);
    }
    for (int i = 0; i < work->before_count; i++)
        work->before[i]->readers++;
    work->need_count = work->before_count;
}

static void find_followed(hki_put_offs *self, hki_work *work, const hki_task_spec *spec)
{
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (!(access->mode & HKI_WRITE))
            continue;
        for (hki_put_off_place *it = hki_put_off_var_of(self, access->var)->reads; it;
             it = it->next)
            if (hki_put_off_place_overlaps(it, hki_access_range(access)))
                come_after(self, work, it->work);
        overwrite(self, access, come_after, work);
    }
}

/* False: no memory; nothing has changed. */
static bool enter(hki_put_offs *self, hki_work *work, const hki_task_spec *spec)
{
    work->before = malloc(HKI_PUT_OFF_EDGES * sizeof(hki_work *));
    if (!work->before || !hki_put_off_make_vars(self, spec))
        return false;
    add_reads(self, work, spec);
    self->visit++;
    find_needs(self, work);
    find_followed(self, work, spec);
    hki_work **before =
        realloc(work->before, (size_t)(work->before_count + 1) * sizeof(hki_work *));
    work->before = before ? before : work->before;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (access->mode & HKI_WRITE)
            add_place(work, hki_put_off_var_of(self, access->var), hki_access_range(access), true);
    }
    for (int i = 0; i < work->place_count; i++)
        hki_put_off_place_enter(&work->places[i]);
    hki_work_append(self, work);
    return true;
}

/* Where very many would have to come before the task, they are done. The record of a failure,
 * counted. Returns with the lock if there is none. */
static const hk_status *limit_edges(hki_put_offs *self, const hki_task_spec *spec)
{
    for (;;) {
        collection found = {0};
        hki_lock_acquire(&self->lock);
        self->visit++;
        for (int i = 0; i < spec->access_count; i++)
            collect_all(self, &found, &spec->accesses[i]);
        if (found.count < HKI_PUT_OFF_EDGES && !found.is_short) {
            while (found.count)
                hki_work_release(found.works[--found.count]);
            free(found.works);
            return NULL;
        }
        hki_lock_release(&self->lock);
        const hk_status *failure = compute(self, &found);
        if (failure)
            return failure;
    }
}

static bool is_too_much(const hki_put_offs *self, const hki_device *device)
{
    return atomic_load(&self->count) > HKI_PUT_OFF_MOST || self->all_count > HKI_PUT_OFF_ALL ||
           self->kept_bytes > (uint64_t)HKI_PUT_OFF_KEPT_MIB << 20 ||
           self->kept_addresses[device->index] > self->most_addresses[device->index];
}

/* Does a work that is wanted (NULL: none; of a copy, the original), and the first ones where there
 * are too many. Takes the lock. */
static void compute_some(hki_put_offs *self, const hki_device *device, hki_work *wanted)
{
    if (wanted && wanted->is_copy)
        wanted = wanted->need_count ? wanted->before[0] : NULL;
    if (wanted) {
        wanted->refs++;
        hki_lock_release(&self->lock);
        hk_status_release(hki_works_compute(self, &wanted, 1));
        hki_lock_acquire(&self->lock);
    }
    while (self->first && is_too_much(self, device)) {
        hki_work *first = self->first;
        first->refs++;
        hki_lock_release(&self->lock);
        hk_status_release(hki_works_compute(self, &first, 1));
        hki_lock_acquire(&self->lock);
    }
    const bool are_many = atomic_load(&self->count) == HKI_PUT_OFF_MANY + 1;
    hki_lock_release(&self->lock);
    if (are_many)
        hki_put_offs_call(self);
}

void hki_put_off_add(hki_task *task)
{
    hki_put_offs *self = put_offs_of(task->runtime);
    const hki_task_spec *spec = &task->spec;
    hki_work *work = work_create(task);
    const hk_status *failure = work ? limit_edges(self, spec) : NULL;
    if (failure)
        hki_task_fail_with(task, failure);
    if (work && !failure) {
        if (enter(self, work, spec)) {
            atomic_fetch_add_explicit(&self->put_off, 1, memory_order_relaxed);
            const bool is_wanted = hki_put_off_launch_hint(self, task, work);
            hki_put_off_be_late(self, task, work);
            compute_some(self, spec->device, is_wanted || work->is_wanted ? work : NULL);
            return;
        }
        hki_lock_release(&self->lock);
    }
    if (work)
        hki_work_release(work);
    if (!failure)
        hki_task_fail(task, 0, HK_OUT_OF_MEMORY, "out of host memory");
}

/* ---- memory that is given back --------------------------------------------------------------- */

/* Nobody can see what works write there. */
static void hide_all(hki_put_offs *self, const struct hki_put_off_var *var)
{
    for (hki_put_off_place *it = var->writes; it;) {
        if (!it->is_seen || !hki_work_is_open(it->work)) {
            it = it->next;
            continue;
        }
        hki_put_off_place_hide(it);
        it = hki_work_drop_useless(self, it->work) ? var->writes : it->next;
    }
}

/* Nor will anybody wait for it. */
static void let_go_all(const struct hki_put_off_var *var)
{
    for (hki_put_off_place *it = var->writes; it; it = it->next)
        it->work->gate = NULL;
}

bool hki_put_off_keeps(hki_var *var, hki_device *device, hki_memory_pool *pool, void *data,
                       uint64_t bytes)
{
    hki_put_offs *self = put_offs_of(var->runtime);
    if (!self)
        return false;
    hki_lock_acquire(&self->lock);
    struct hki_put_off_var *its = hki_put_off_var_of(self, var);
    if (!its) {
        hki_lock_release(&self->lock);
        return false;
    }
    hki_put_off_var_leave_chain(self, its);
    hki_put_off_var_forget_issued(its);
    its->users++; /* until there is nothing more to be found in its list */
    its->var = NULL;
    let_go_all(its);
    hide_all(self, its);
    const bool is_kept = its->users > 1;
    if (is_kept && data && bytes) {
        its->device = device;
        its->pool = pool;
        its->data = data;
        its->bytes = bytes;
        self->kept_addresses[device->index] += bytes;
        self->kept_bytes += its->has_bytes ? bytes : 0;
        hki_memory_pool_uncount(pool, bytes);
    }
    hki_put_off_var_leave(self, its);
    hki_lock_release(&self->lock);
    return is_kept;
}

/* ---- life ------------------------------------------------------------------------------------ */

hki_put_offs *hki_put_offs_create(hki_runtime *runtime)
{
    hki_put_offs *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->runtime = runtime;
    for (int i = 0; i < runtime->device_count; i++) {
        const hki_device *device = runtime->devices[i];
        self->most_addresses[i] = hki_device_puts_off(device)
                                      ? hki_memory_pool_get(device->memory).limit_bytes
                                      : UINT64_MAX;
    }
    return self;
}

void hki_put_offs_stop(hki_put_offs *self)
{
    hki_task *ready = NULL; /* what still waits, to be cancelled */
    hki_lock_acquire(&self->lock);
    hki_wanted_stop(self);
    while (self->known_first)
        hki_work_forget(self, self->known_first);
    /* The last one is needed by none. */
    while (self->last || self->failed_last) {
        hki_work *last = self->last ? self->last : self->failed_last;
        if (last->gate)
            ready = hki_gate_open_held(last->gate, ready);
        last->gate = NULL;
        for (int i = 0; i < last->place_count; i++)
            hki_put_off_place_hide(&last->places[i]);
        hki_work_drop_useless(self, last);
    }
    hki_lock_release(&self->lock);
    hki_executor executor = {0};
    hki_task_dispatch(&executor, ready);
    hki_slot_give_back(&executor.returns);
}

void hki_put_offs_destroy(hki_put_offs *self)
{
    if (self)
        hki_hints_destroy(self);
    free(self);
}
