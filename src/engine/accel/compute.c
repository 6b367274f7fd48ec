/* Doing what has been put off, in threads that launch. Others that find nothing to launch do pieces
 * of it. */
#include "engine/accel/put_off.h"

#include <stdlib.h>
#include <string.h>

enum { NAP_NS = 20000 };

/* ---- one work -------------------------------------------------------------------------------- */

/* Does pieces until none is left. */
static void run_pieces(hki_work *work)
{
    const int64_t count = work->spec.piece_count;
    for (;;) {
        const int64_t piece = atomic_fetch_add_explicit(&work->next_piece, 1, memory_order_relaxed);
        if (piece >= count)
            return;
        hki_task *as = work->as; /* stays while a piece is not done */
        hki_this_thread.task_depth++;
        work->class->run(as, work->kept, piece);
        hki_this_thread.task_depth--;
        hki_task_note_subnormals(as);
        atomic_fetch_sub_explicit(&work->pieces_left, 1, memory_order_acq_rel);
    }
}

static bool is_worth_help(const hki_work *work)
{
    return work->spec.piece_count > 1 && work->spec.expected_ns > HKI_LONG_TASK_NS;
}

/* Lets others take pieces. */
static void open_pieces(hki_put_offs *self, hki_work *work)
{
    bool is_open = false;
    hki_lock_acquire(&self->lock);
    for (int i = 0; i < HKI_PUT_OFF_OPEN && !is_open; i++)
        if (!self->open[i]) {
            self->open[i] = work;
            is_open = true;
        }
    atomic_fetch_add(&self->open_count, is_open);
    hki_lock_release(&self->lock);
    if (is_open)
        hki_put_offs_call(self);
}

static void close_slot(hki_put_offs *self, int slot)
{
    self->open[slot] = NULL;
    atomic_fetch_sub(&self->open_count, 1);
}

static void close_pieces(hki_put_offs *self, hki_work *work)
{
    hki_lock_acquire(&self->lock);
    for (int i = 0; i < HKI_PUT_OFF_OPEN; i++)
        if (self->open[i] == work)
            close_slot(self, i);
    hki_lock_release(&self->lock);
    while (atomic_load_explicit(&work->pieces_left, memory_order_acquire) > 0)
        hki_sleep_ns(NAP_NS);
}

bool hki_works_help(hki_put_offs *self)
{
    hki_work *work = NULL;
    if (!self || !atomic_load(&self->open_count))
        return false;
    hki_lock_acquire(&self->lock);
    for (int i = 0; i < HKI_PUT_OFF_OPEN && !work; i++) {
        hki_work *it = self->open[i];
        if (it &&
            atomic_load_explicit(&it->next_piece, memory_order_relaxed) < it->spec.piece_count)
            work = it;
        else if (it)
            close_slot(self, i);
    }
    if (work)
        work->refs++;
    hki_lock_release(&self->lock);
    if (!work)
        return false;
    run_pieces(work);
    hki_lock_acquire(&self->lock);
    hki_work_release(work);
    hki_lock_release(&self->lock);
    return true;
}

static void run(hki_put_offs *self, hki_work *work)
{
    const hki_later *later = work->class->later;
    hki_task *as = work->as;
    hki_this_thread.task_depth++;
    if (work->is_copy) {
        later->copy(work->kept);
        hki_this_thread.task_depth--;
        return;
    }
    const bool begun = !later->begin || later->begin(as, work->kept);
    hki_this_thread.task_depth--;
    if (begun) {
        const bool opens = is_worth_help(work);
        atomic_store_explicit(&work->pieces_left, work->spec.piece_count, memory_order_relaxed);
        atomic_store_explicit(&work->next_piece, 0, memory_order_relaxed);
        if (opens)
            open_pieces(self, work);
        run_pieces(work);
        if (opens)
            close_pieces(self, work);
        if (!as->failure)
            hki_task_run_join(as);
    }
    if (later->end)
        later->end(work->kept);
    atomic_fetch_add_explicit(&self->computed, 1, memory_order_relaxed);
}

/* In the place of the task that was. The record of its failure, counted; NULL: none. */
static const hk_status *run_as_task(hki_put_offs *self, hki_work *work)
{
    hki_task as;
    memset(&as, 0, sizeof as);
    as.runtime = self->runtime;
    as.spec = work->spec;
    as.payload = work->kept;
    as.is_late = true;
    as.shift = work->from;
    atomic_init(&as.sequence, work->sequence);
    work->as = &as;
    run(self, work);
    return as.failure;
}

/* ---- several, in their order ----------------------------------------------------------------- */

/* Works to be done, with references, by ascending number. */
typedef struct plan {
    hki_work **works;
    int count;
} plan;

static int mark(hki_put_offs *self, hki_work *work)
{
    const hki_work_state state = hki_work_state_of(work);
    if (work->visit == self->visit || (state != HKI_WORK_WAITS && state != HKI_WORK_RUNS))
        return 0;
    work->visit = self->visit;
    return 1;
}

/* Marks the works and all that must come before. Returns how many; *first: the first of them. */
static int mark_all(hki_put_offs *self, hki_work **works, int count, hki_work **first)
{
    int marked = 0, passed = 0;
    self->visit++;
    for (int i = 0; i < count; i++)
        marked += mark(self, works[i]);
    /* What comes before a work has a lower number. */
    for (hki_work *it = self->last; it && passed < marked; it = it->previous) {
        if (it->visit != self->visit)
            continue;
        passed++;
        *first = it;
        for (int i = 0; i < it->before_count; i++)
            marked += mark(self, it->before[i]);
    }
    return marked;
}

/* False: no memory. */
static bool make_plan(hki_put_offs *self, hki_work **works, int count, plan *made)
{
    hki_work *it = NULL;
    hki_lock_acquire(&self->lock);
    const int marked = mark_all(self, works, count, &it);
    made->works = marked ? malloc((size_t)marked * sizeof(hki_work *)) : NULL;
    const bool has_room = !marked || made->works;
    for (; has_room && made->count < marked; it = it->next)
        if (it->visit == self->visit) {
            it->refs++;
            made->works[made->count++] = it;
        }
    hki_lock_release(&self->lock);
    return has_room;
}

/* Of what it needs; counted. */
static const hk_status *failure_of_needs(const hki_work *work)
{
    for (int i = 0; i < work->need_count; i++)
        if (hki_work_state_of(work->before[i]) == HKI_WORK_FAILED)
            return hk_status_retain(work->before[i]->failure);
    return NULL;
}

/* It is another thread's: until that has done it. Expects and keeps the lock. */
static void await(hki_put_offs *self, hki_work *work)
{
    while (hki_work_state_of(work) == HKI_WORK_RUNS) {
        hki_lock_release(&self->lock);
        if (!hki_works_help(self))
            hki_sleep_ns(NAP_NS);
        hki_lock_acquire(&self->lock);
    }
}

/* Tasks that have waited for a work go on. */
static void dispatch(hki_put_offs *self, hki_task *ready)
{
    hki_executor executor = {0};
    hki_task_dispatch(&executor, ready);
    hki_slot_give_back(&executor.returns);
    hki_progress(self->runtime);
}

static void do_one(hki_put_offs *self, hki_work *work)
{
    hki_task *ready = NULL;
    hki_lock_acquire(&self->lock);
    await(self, work);
    if (hki_work_state_of(work) == HKI_WORK_WAITS) {
        const hk_status *failure = failure_of_needs(work);
        atomic_store_explicit(&work->state, HKI_WORK_RUNS, memory_order_relaxed);
        if (!failure) {
            hki_lock_release(&self->lock);
            failure = run_as_task(self, work);
            hki_lock_acquire(&self->lock);
        }
        ready = hki_work_end(self, work, failure);
    }
    hki_work_release(work);
    hki_lock_release(&self->lock);
    if (ready)
        dispatch(self, ready);
}

const hk_status *hki_works_compute(hki_put_offs *self, hki_work **works, int count)
{
    plan made = {0};
    const hk_status *failure = NULL;
    if (!make_plan(self, works, count, &made))
        failure = hki_status_create(HK_OUT_OF_MEMORY, NULL, "out of host memory");
    for (int i = 0; i < made.count; i++)
        do_one(self, made.works[i]);
    free(made.works);
    hki_lock_acquire(&self->lock);
    for (int i = 0; i < count; i++) {
        if (!failure && hki_work_state_of(works[i]) == HKI_WORK_FAILED)
            failure = hk_status_retain(works[i]->failure);
        hki_work_release(works[i]);
    }
    hki_lock_release(&self->lock);
    return failure;
}
