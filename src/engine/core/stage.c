/* Launching ahead. On devices with streams a task need not wait until what comes before it has ended: it may be launched
 * once that has been launched, because the device keeps the order, within a queue by itself and between queues where
 * hki_device_class.wait_for says so. So gates open twice where there are accelerators: when all who are counted in them
 * have been launched, or have ended, for those who may be launched behind them; and, for all others, when they have
 * ended. A task launched ahead is completed after all that it waited for: it is counted in pending_ends until then.
 *
 * What waits for a gate is in one list, in which it stays until the gate's end. Who may be launched is taken off
 * `pending` by the first who finds that: the one that launches last walks the list, one that comes later sees
 * is_launched, and whoever opens the gate takes off the rest. */
#include "engine/core/stage.h"

enum { NAP_NS = 20000, LOOK_AT = 8 };

static hki_staged_gate *staged(hki_gate *gate)
{
    return (hki_staged_gate *)(void *)gate;
}

static void raise_to(_Atomic(int64_t) *time, int64_t ns)
{
    int64_t old = atomic_load_explicit(time, memory_order_relaxed);
    while (old < ns && !atomic_compare_exchange_weak_explicit(time, &old, ns, memory_order_relaxed,
                                                              memory_order_relaxed))
        ;
}

/* ---- tasks ------------------------------------------------------------------------------------------------ */

void hki_stage_begin(hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    const hki_device_class *class = spec->device->class;
    atomic_store_explicit(&task->ready_ns, hki_clock_ns(), memory_order_relaxed);
    /* The host takes part in copies of its pageable memory: it must find there what was written before. */
    task->is_ahead = class && class->wait_for && spec->class->enqueues && !spec->cost.is_pageable;
}

void hki_stage_end(hki_task *task)
{
    task->is_ahead = task->is_launched = task->is_spared = false;
    task->held = NULL;
    task->mark_count = 0;
    atomic_store_explicit(&task->counted, 0, memory_order_relaxed);
}

void hki_stage_await(hki_task *task)
{
    while (atomic_load_explicit(&task->pending_ends, memory_order_acquire) > 0)
        hki_sleep_ns(NAP_NS);
}

static bool has_other_waiter(const hki_gate *gate, const hki_queue *queue)
{
    hki_wait_node *node = atomic_load_explicit(&gate->waiters, memory_order_acquire);
    for (int i = 0; node && node != HKI_GATE_OPEN && i < LOOK_AT; i++, node = node->next)
        if (node->task->is_wait || hki_task_queue(node->task) != queue)
            return true;
    return false;
}

bool hki_stage_is_awaited(hki_task *task)
{
    const hki_queue *queue = hki_task_queue(task);
    hki_gate **gates = hki_task_registered(task);
    bool is_awaited = false;
    for (int i = 0; i < task->registered_count && !is_awaited; i++)
        is_awaited = has_other_waiter(gates[i], queue);
    return is_awaited;
}

/* ---- marks ------------------------------------------------------------------------------------------------ */

/* False: there is no room for one more queue. */
static bool add_mark(hki_mark *marks, int *count, int most, const hki_mark *added)
{
    for (int i = 0; i < *count; i++)
        if (marks[i].queue == added->queue) {
            bool collective = marks[i].collective || added->collective;
            bool is_doubtful = marks[i].is_doubtful || added->is_doubtful;
            if (marks[i].position < added->position)
                marks[i] = *added;
            marks[i].collective = collective;
            marks[i].is_doubtful = is_doubtful;
            return true;
        }
    if (*count == most)
        return false;
    marks[(*count)++] = *added;
    return true;
}

/* The task is to be launched behind the gate's marks. False: it has to wait for their ends. */
static bool take_marks(hki_task *task, const hki_staged_gate *gate)
{
    const hki_queue *queue = hki_task_queue(task);
    bool taken = true;
    for (int i = 0; i < gate->mark_count && taken; i++)
        taken = task->runtime->may_follow(task, queue, &gate->marks[i]);
    hki_lock_acquire(&task->marks_lock);
    for (int i = 0; i < gate->mark_count && taken; i++)
        if (gate->marks[i].queue != queue)
            taken = add_mark(task->marks, &task->mark_count, HKI_TASK_MARKS, &gate->marks[i]);
    hki_lock_release(&task->marks_lock);
    return taken;
}

/* ---- gates ------------------------------------------------------------------------------------------------ */

void hki_stage_init(hki_gate *gate, bool writes)
{
    hki_staged_gate *self = staged(gate);
    atomic_store_explicit(&self->end_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&self->unlaunched, writes ? 1 : 2, memory_order_relaxed);
    atomic_store_explicit(&self->is_launched, 0, memory_order_relaxed);
    atomic_store_explicit(&self->is_held, 0, memory_order_relaxed);
    self->mark_count = 0;
    self->is_crowded = false;
}

void hki_stage_join(hki_gate *gate)
{
    atomic_fetch_add_explicit(&staged(gate)->unlaunched, 1, memory_order_relaxed);
}

void hki_stage_close(hki_gate *gate)
{
    hki_staged_gate *self = staged(gate);
    /* Nobody waits for readers that are not closed: there is no list to walk. */
    if (atomic_fetch_sub_explicit(&self->unlaunched, 1, memory_order_acq_rel) == 1 &&
        !self->is_crowded)
        atomic_fetch_or_explicit(&self->is_launched, 1, memory_order_acq_rel);
}

void hki_stage_expect(hki_task *task, bool waits)
{
    if (task->is_ahead)
        atomic_fetch_add_explicit(&task->pending_ends, waits ? 1 : -1U, memory_order_relaxed);
}

/* True for the first who says that `pending` no longer counts what the task waits for at this index. */
static bool claim(hki_task *task, int index)
{
    const uint64_t bit = (uint64_t)1 << index;
    return !(atomic_fetch_or_explicit(&task->counted, bit, memory_order_acq_rel) & bit);
}

bool hki_stage_pass(hki_task *task, hki_gate *gate, int index)
{
    hki_staged_gate *self = staged(gate);
    /* Read by writing, as `launch_gate` writes it: so one of the two finds the other. */
    return task->is_ahead &&
           atomic_fetch_or_explicit(&self->is_launched, 0, memory_order_acq_rel) == 1 &&
           take_marks(task, self) && claim(task, index);
}

/* One who is counted in the gate has been launched, or, without a mark, has ended as good as. It stays counted in the
 * gate meanwhile, so that the list and all who are in it stay. */
static hki_task *launch_gate(hki_staged_gate *self, const hki_mark *mark, hki_task *ready)
{
    if (mark) {
        hki_lock_acquire(&self->lock);
        if (!add_mark(self->marks, &self->mark_count, HKI_GATE_MARKS, mark))
            self->is_crowded = true;
        hki_lock_release(&self->lock);
    }
    if (atomic_fetch_sub_explicit(&self->unlaunched, 1, memory_order_acq_rel) != 1 ||
        self->is_crowded)
        return ready;
    atomic_fetch_or_explicit(&self->is_launched, 1, memory_order_acq_rel);
    hki_wait_node *node = atomic_load_explicit(&self->gate.waiters, memory_order_acquire);
    while (node) {
        hki_wait_node *next = node->next;
        hki_task *waiter = node->task;
        int index = waiter->is_ahead ? hki_wait_node_index(node) : -1;
        if (index >= 0 && take_marks(waiter, self) && claim(waiter, index) &&
            hki_count_down(&waiter->pending)) {
            hki_tracing_ready(waiter);
            waiter->queue_next = ready;
            ready = waiter;
        }
        node = next;
    }
    return ready;
}

hki_task *hki_stage_launch(hki_task *task, const hki_mark *mark)
{
    hki_task *ready = NULL;
    hki_gate **gates = hki_task_registered(task);
    for (int i = 0; i < task->registered_count; i++)
        ready = launch_gate(staged(gates[i]), mark, ready);
    task->is_launched = true;
    return ready;
}

hki_task *hki_stage_leave(hki_task *task, hki_gate *gate, hki_task *ready)
{
    raise_to(&staged(gate)->end_ns, task->end_ns);
    /* A writer alone opens the gate now, for everybody. */
    return task->is_launched || gate->is_write ? ready : launch_gate(staged(gate), NULL, ready);
}

/* Both read it by writing: so one of those who hold it and who come to wait finds the other. */
bool hki_stage_hold(hki_task *task, hki_gate *gate)
{
    hki_staged_gate *self = staged(gate);
    raise_to(&self->end_ns, task->end_ns);
    atomic_fetch_or_explicit(&self->is_held, 1, memory_order_acq_rel);
    return atomic_load_explicit(&gate->waiters, memory_order_acquire) != NULL;
}

bool hki_stage_is_held(hki_gate *gate)
{
    return atomic_fetch_or_explicit(&staged(gate)->is_held, 0, memory_order_acq_rel);
}

int64_t hki_stage_end_ns(hki_gate *gate)
{
    return atomic_load_explicit(&staged(gate)->end_ns, memory_order_relaxed);
}

bool hki_stage_open(hki_task *task, int index, int64_t end_ns)
{
    raise_to(&task->ready_ns, end_ns);
    if (!task->is_ahead)
        return hki_count_down(&task->pending);
    bool is_ready = (index < 0 || claim(task, index)) && hki_count_down(&task->pending);
    /* After this the task may end. */
    atomic_fetch_sub_explicit(&task->pending_ends, 1, memory_order_acq_rel);
    return is_ready;
}
