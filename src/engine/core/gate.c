/* What waits for what. Only the thread that keeps order (sched/ring.h) adds, joins, closes and recycles gates; finishing threads
 * just count down and open them, without a lock. */
#include "engine/core/stage.h"

#include <assert.h>
#include <stdlib.h>

hki_wait_node hki_gate_open_mark;

void hki_var_init(hki_var *var, hki_runtime *runtime)
{
    var->runtime = runtime;
    var->gates = var->retired = NULL;
    var->retired_end = &var->retired;
    var->scored_read = var->scored_write = 0;
    atomic_init(&var->failures, NULL);
    var->version = 0;
    var->watches = NULL;
    hki_tracing_var(var);
}

/* Where whoever begins a task finds them, without keeping order. */
static void give_back(hki_runtime *runtime, hki_gate *first)
{
    hki_gate *head = atomic_load_explicit(&runtime->returned_gates, memory_order_relaxed);
    hki_gate *last = first;
    while (last->next)
        last = last->next;
    do
        last->next = head;
    while (!atomic_compare_exchange_weak_explicit(&runtime->returned_gates, &head, first,
                                                  memory_order_release, memory_order_relaxed));
}

void hki_var_drop(hki_var *var)
{
    hki_var_failures_deinit(var);
    if (var->gates)
        give_back(var->runtime, var->gates);
    if (var->retired)
        give_back(var->runtime, var->retired);
    var->gates = var->retired = NULL;
    var->retired_end = &var->retired;
}

int hki_wait_node_index(const hki_wait_node *node)
{
    const hki_task *task = node->task;
    const uintptr_t at = (uintptr_t)node, own = (uintptr_t)task->waits,
                    more = (uintptr_t)task->more_waits;
    if (at >= own && at < own + sizeof task->waits)
        return (int)(node - task->waits);
    if (task->runtime->accelerated && at >= more && at < more + sizeof task->more_waits)
        return HKI_TASK_INLINE_WAITS + (int)(node - task->more_waits);
    return -1;
}

/* The task's next place for a wait, and its index; NULL: it has none left. */
static hki_wait_node *own_node(hki_task *task, int *index)
{
    const int count = task->wait_count;
    if (count < HKI_TASK_INLINE_WAITS) {
        *index = HKI_TASK_INLINE_WAITS - 1 - count;
        return &task->waits[*index];
    }
    if (!task->runtime->accelerated || count >= HKI_TASK_WAITS)
        return NULL;
    *index = count;
    return &task->more_waits[count - HKI_TASK_INLINE_WAITS];
}

/* Beyond those that a task has room for. */
static void node_free(hki_wait_node *node)
{
    if (hki_wait_node_index(node) < 0)
        free(node);
}

/* Adds the task to those who wait for the gate, unless it is open. False: no memory for it. One gate of a writer does for all
 * that it has: they open together, when it is done with everything. So a step behind another, which changes what that has
 * changed, waits once, however many arrays these are. */
static bool wait_for(hki_task *task, hki_gate *gate)
{
    if (gate->is_write && gate->task_sequence == task->awaited_writer)
        return true;
    hki_wait_node *head = atomic_load_explicit(&gate->waiters, memory_order_acquire), *node;
    if (head == HKI_GATE_OPEN)
        return true;
    int index = -1; /* one beyond the task's own may be gone once it is in the list */
    if (!(node = own_node(task, &index)) && !(node = malloc(sizeof *node)))
        return false;
    node->task = task;
    const bool accelerated = task->runtime->accelerated;
    if (accelerated)
        hki_stage_expect(task, true);
    do {
        if (head == HKI_GATE_OPEN) {
            node_free(node);
            if (accelerated)
                hki_stage_expect(task, false);
            return true;
        }
        node->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&gate->waiters, &head, node,
                                                    memory_order_release, memory_order_acquire));
    if (index >= 0)
        task->wait_count++;
    if (!accelerated || index < 0 || !hki_stage_pass(task, gate, index))
        task->registered_waits++;
    if (gate->is_write)
        task->awaited_writer = gate->task_sequence;
    return true;
}

/* The same. Where the writer has ended, and its bytes are to come, they are asked for. */
static bool wait_and_ask(hki_task *task, hki_gate *gate, hki_var *var)
{
    if (!wait_for(task, gate))
        return false;
    if (var->runtime->ask && gate->is_write && hki_stage_is_held(gate))
        var->runtime->ask(var);
    return true;
}

static void retire(hki_var *var, hki_gate *gate)
{
    gate->next = NULL;
    *var->retired_end = gate;
    var->retired_end = &gate->next;
}

/* Gates that have just opened are in this core's cache: the task takes from those first. What is left over stays with its
 * slot. */
static void recycle(hki_task *task, hki_gate *gate)
{
    gate->next = task->reserve;
    task->reserve = gate;
    task->reserve_count++;
}

/* Two at most, since one at most is added at a time. */
static void recycle_retired(hki_task *task, hki_var *var)
{
    for (int i = 0; i < 2 && var->retired && hki_gate_is_open(var->retired); i++) {
        hki_gate *gate = var->retired;
        var->retired = gate->next;
        if (!var->retired)
            var->retired_end = &var->retired;
        recycle(task, gate);
    }
}

/* All who were counted in it have finished. */
static bool is_idle(hki_gate *gate)
{
    return hki_gate_is_open(gate) ||
           (!gate->closed && atomic_load_explicit(&gate->count, memory_order_acquire) == 1);
}

/* To those that come later. True: it is open, since its last reader finished just now, and nobody waits for it yet. */
static bool close_readers(const hki_runtime *runtime, hki_gate *gate)
{
    gate->closed = true;
    if (runtime->accelerated)
        hki_stage_close(gate);
    const bool open = atomic_fetch_sub_explicit(&gate->count, 1, memory_order_acq_rel) == 1;
    if (open)
        atomic_store_explicit(&gate->waiters, HKI_GATE_OPEN, memory_order_relaxed);
    return open;
}

/* False: no memory, or short tasks without gates are in the way. Then the task waits for some gates already, perhaps
 * twice once this is done again: no harm. A task does not wait for itself; and where it writes it need not be known to read. */
static bool register_access(hki_task *task, const hki_access *access)
{
    hki_var *var = access->var;
    hki_runtime *runtime = var->runtime;
    const uint64_t sequence = atomic_load_explicit(&task->sequence, memory_order_relaxed);
    const hki_range range = hki_access_range(access);
    bool writes = access->mode & HKI_WRITE;
    hki_gate *join = NULL;
    if (hki_var_is_scored_locked(var, writes))
        return false;
    if (var->retired)
        recycle_retired(task, var);
    for (hki_gate **link = &var->gates, *gate; (gate = *link);) {
        if (is_idle(gate)) {
            *link = gate->next;
            recycle(task, gate);
            continue;
        }
        const bool is_readers = !gate->closed;
        /* Waits, which have one access, stand right behind the latest task, with its number. */
        const bool is_own = gate->is_write && gate->task_sequence == sequence && !task->is_wait;
        if (hki_ranges_overlap(gate->range, range) && !writes && gate->is_write) {
            if (is_own && hki_range_contains(gate->range, range))
                return true;
            if (!is_own && !wait_and_ask(task, gate, var))
                return false;
        } else if (hki_ranges_overlap(gate->range, range) && writes) {
            if (!is_own && !(is_readers && close_readers(runtime, gate)) &&
                !wait_and_ask(task, gate, var))
                return false;
            if (hki_range_contains(range, gate->range)) {
                *link = gate->next;
                retire(var, gate);
                continue;
            }
        } else if (is_readers && hki_ranges_equal(gate->range, range)) {
            join = gate;
        }
        link = &gate->next;
    }
    if (join) {
        atomic_fetch_add_explicit(&join->count, 1, memory_order_relaxed);
        if (runtime->accelerated)
            hki_stage_join(join);
    } else {
        join = task->reserve;
        task->reserve = join->next;
        task->reserve_count--;
        atomic_store_explicit(&join->waiters, NULL, memory_order_relaxed);
        atomic_store_explicit(&join->count, writes ? 1 : 2, memory_order_relaxed);
        if (runtime->accelerated)
            hki_stage_init(join, writes);
        join->is_write = join->closed = writes;
        join->range = range;
        join->next = var->gates;
        var->gates = join;
    }
    join->task_sequence = sequence;
    hki_task_registered(task)[task->registered_count++] = join;
    return true;
}

bool hki_gates_are_open_locked(hki_var *var, hki_range range, bool writes)
{
    for (hki_gate **link = &var->gates, *gate; (gate = *link);) {
        if (is_idle(gate)) {
            *link = gate->next;
            gate->next = NULL;
            give_back(var->runtime, gate);
            continue;
        }
        if ((writes || gate->is_write) && hki_ranges_overlap(gate->range, range))
            return false;
        link = &gate->next;
    }
    return true;
}

static bool any_holds(const hki_var *var, hki_gate *first, hki_range range, uint64_t sequence)
{
    for (hki_gate *gate = first; gate; gate = gate->next)
        if (gate->is_write && hki_ranges_overlap(gate->range, range) &&
            gate->task_sequence <= sequence && !hki_gate_is_open(gate) &&
            !(var->runtime->ask && hki_stage_is_held(gate)))
            return true;
    return false;
}

bool hki_gates_hold_locked(const hki_var *var, hki_range range, uint64_t sequence)
{
    /* One that a later write has superseded may be unfinished. */
    return any_holds(var, var->gates, range, sequence) ||
           any_holds(var, var->retired, range, sequence);
}

hki_registration hki_task_register(hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    const int count = spec->access_count;
    if (!task->is_half_registered) {
        task->wait_count = 0;
        task->awaited_writer = 0;
        atomic_store_explicit(&task->pending, HKI_ISSUING, memory_order_relaxed);
    }
    /* What it writes, and then what it reads: see register_access. */
    for (; task->registered_accesses < 2 * count; task->registered_accesses++) {
        const int i = task->registered_accesses;
        const hki_access *access = &spec->accesses[i < count ? i : i - count];
        if ((access->mode & HKI_WRITE) != (i < count ? HKI_WRITE : 0))
            continue;
        task->is_half_registered = !register_access(task, access);
        if (task->is_half_registered)
            return HKI_NOT_REGISTERED;
    }
    const uint32_t waits = task->registered_waits;
    task->registered_accesses = 0;
    task->registered_waits = 0;
    /* Within reason: or there would be more gates with each task. */
    if (task->reserve_count > HKI_TASK_KEPT_GATES) {
        give_back(task->runtime, task->reserve);
        task->reserve = NULL;
        task->reserve_count = 0;
    }
    if (waits == 0 || atomic_fetch_sub_explicit(&task->pending, HKI_ISSUING - waits,
                                                memory_order_acq_rel) == HKI_ISSUING - waits)
        return HKI_REGISTERED_READY;
    return HKI_REGISTERED_WAITS;
}

/* Of its last one: tasks that this makes ready are put before `ready`. */
static hki_task *open_gate(hki_gate *gate, bool accelerated, hki_task *ready)
{
    /* Read before the exchange, after which the gate may be another's. */
    int64_t end_ns = accelerated ? hki_stage_end_ns(gate) : 0;
    hki_wait_node *node =
        atomic_exchange_explicit(&gate->waiters, HKI_GATE_OPEN, memory_order_acq_rel);
    assert(node != HKI_GATE_OPEN);
    while (node) {
        hki_wait_node *next = node->next;
        hki_task *waiter = node->task;
        int index = accelerated ? hki_wait_node_index(node) : 0;
        node_free(node);
        /* After this the waiter may run, finish and be recycled. */
        if (accelerated ? hki_stage_open(waiter, index, end_ns)
                        : hki_count_down(&waiter->pending)) {
            hki_tracing_ready(waiter);
            waiter->queue_next = ready;
            ready = waiter;
        }
        node = next;
    }
    return ready;
}

hki_task *hki_gate_open_held(hki_gate *gate, hki_task *ready)
{
    return hki_count_down(&gate->count) ? open_gate(gate, true, ready) : ready;
}

hki_task *hki_task_open_gates(hki_task *task, hki_task *ready)
{
    const bool accelerated = task->runtime->accelerated;
    hki_gate **gates = hki_task_registered(task);
    for (int i = 0; i < task->registered_count; i++) {
        hki_gate *gate = gates[i];
        if (accelerated && gate == task->held)
            continue;
        if (accelerated)
            ready = hki_stage_leave(task, gate, ready);
        if (hki_count_down(&gate->count))
            ready = open_gate(gate, accelerated, ready);
    }
    task->registered_count = 0;
    return ready;
}
