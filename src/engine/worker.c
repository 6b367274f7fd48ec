/* The threads of a device: take what is ready, run it, look again; spin a little, then sleep. */
#include "engine/accelerator.h"

#include <fenv.h>

hki_task *hki_execute(hki_executor *executor, hki_claim claim)
{
    hki_task *task = claim.task;
    int64_t piece = claim.piece;
    hki_run_point point = hki_tracing_begin(task);
    hki_task_prefetch_gates(task);
    if (piece < 0) {
        if (!hki_task_start(task)) {
            hki_tracing_end(&point, task);
            return hki_task_complete(executor, task);
        }
        int64_t count = task->spec.piece_count;
        if (task->runtime->serial) {
            bool paced = hki_task_queue(task)->is_accelerator;
            int64_t ready_ns = paced ? hki_clock_ns() : 0, host_ns = paced ? hki_thread_ns() : 0;
            for (piece = 0; piece < count; piece++) {
                hki_task_run_piece(task, piece);
                hki_tracing_piece(&point, task, piece);
            }
            hki_task_run_join(task);
            if (paced)
                hki_accelerator_pace(task, ready_ns, hki_thread_ns() - host_ns);
            hki_tracing_end(&point, task);
            return hki_task_complete(executor, task);
        }
        if (count > 1) {
            atomic_store_explicit(&task->pieces_left, count, memory_order_relaxed);
            task->next_piece = 1;
            hki_queue_push_first(hki_task_queue(task), task);
        }
        piece = 0;
    }
    hki_task_prefetch_waiters(task);
    if (task->spec.piece_count > 1)
        hki_lending_offer(task);
    hki_task_run_piece(task, piece);
    hki_tracing_piece(&point, task, piece);
    if (task->spec.piece_count > 1 &&
        atomic_fetch_sub_explicit(&task->pieces_left, 1, memory_order_acq_rel) != 1)
        return NULL;
    hki_task_run_join(task);
    hki_tracing_end(&point, task);
    return hki_task_complete(executor, task);
}

/* It was not as short as expected: lets others have what was taken along. */
static void give_back(const hki_claim *claims, int count)
{
    for (int i = count - 1; i >= 0; i--)
        hki_queue_push_first(hki_task_queue(claims[i].task), claims[i].task);
}

void hki_execute_foreign(hki_queue *queue, const hki_claim *claims, int count)
{
    hki_executor executor;
    hki_executor_init(&executor, NULL, false);
    fenv_t saved;
    bool keep = hki_environment_is_default();
    if (!keep) {
        fegetenv(&saved);
        fesetenv(FE_DFL_ENV);
    }
    for (int i = 0; i < count; i++) {
        uint64_t begin = i + 1 < count ? hki_ticks() : 0;
        hki_execute(&executor, claims[i]);
        if (i + 1 < count && hki_ticks() - begin > HKI_LONG_TASK_TICKS) {
            give_back(&claims[i + 1], count - i - 1);
            break;
        }
    }
    hki_executor_flush(&executor);
    hki_progress(queue->runtime);
    if (!keep)
        fesetenv(&saved);
}

static void add_attentive(hki_queue *queue)
{
    hki_order *order = queue->runtime->ordering;
    atomic_fetch_add(&queue->park->attentive, 1);
    if (order)
        atomic_fetch_add(&order->attentive, 1);
}

void hki_cancel_all(hki_runtime *runtime)
{
    bool found;
    do {
        found = false;
        for (int i = 0; i < runtime->queue_count; i++)
            for (hki_claim claim;
                 hki_queue_pop(runtime->queues[i], NULL, HKI_LONG_TASK_NS, &claim, 1); found = true)
                hki_execute_foreign(runtime->queues[i], &claim, 1);
    } while (found || (runtime->ordering && !hki_order_is_empty(runtime->ordering)));
}

/* Another device on the same core may have something to do. */
static bool peer_is_ready(hki_queue *queue)
{
    return queue->budget->shared && atomic_load(&queue->budget->ready) != 0;
}

/* A worker at a long task is not attentive: others must be woken for what comes meanwhile. */
static hki_task *execute_attentively(hki_executor *executor, hki_claim claim)
{
    hki_queue *queue = executor->queue;
    const hki_task_spec *spec = &claim.task->spec;
    bool is_long = spec->piece_count > 1 || spec->expected_ns > HKI_LONG_TASK_NS;
    if (is_long)
        hki_executor_flush(executor); /* the window may wait for what it has counted */
    /* Where others share its core, they cannot run anyway. */
    is_long = is_long && !queue->budget->shared;
    if (is_long) {
        atomic_fetch_sub(&queue->park->attentive, 1);
        if (queue->runtime->ordering)
            atomic_fetch_sub(&queue->runtime->ordering->attentive, 1);
        if (hki_queue_has_more(queue))
            hki_queue_notify(queue);
    }
    hki_task *next = hki_execute(executor, claim);
    if (is_long)
        add_attentive(queue);
    return next;
}

/* Nothing was ready. Looks on for a moment before what has been counted is told to others. Where tasks are so short that
 * they ran in their turn, the next ones come in a moment, too: to look for each of them would take the line that says
 * how many there are from the issuing thread's cache each time. */
static bool linger(hki_executor *executor)
{
    const uint64_t begin = hki_ticks();
    uint64_t spent;
    bool gathers = executor->turns > 0, found = false;
    executor->turns = 0;
    do {
        hki_relax();
        spent = hki_ticks() - begin;
        if (!gathers || spent > HKI_GATHER_TICKS)
            found = hki_queue_has_more(executor->queue);
    } while (!found && spent < HKI_LINGER_TICKS);
    return found;
}

/* The executor's queue or, of those that share its core, the one whose turn it is. NULL: nothing is ready. */
static hki_queue *next_queue(hki_executor *executor)
{
    hki_queue *queue = executor->queue;
    hki_budget *budget = queue->budget;
    if (!budget->shared)
        return queue;
    uint64_t ready = atomic_load(&budget->ready);
    if (!ready)
        return NULL;
    uint32_t turn = atomic_load_explicit(&budget->turn, memory_order_relaxed);
    uint64_t later = ready >> turn << turn;
    int next = __builtin_ctzll(later ? later : ready);
    atomic_store_explicit(&budget->turn, (uint32_t)(next + 1) % 64, memory_order_relaxed);
    atomic_fetch_and(&budget->ready, ~((uint64_t)1 << next));
    return queue->runtime->queues[next];
}

/* Takes what is ready next; with shared cores it is another queue's turn after each batch. */
static int take(hki_executor *executor, hki_claim *claims)
{
    enum { LOOKS = 16 }; /* before it asks whether these tasks are any business of its device's */
    hki_order *order = executor->queue->runtime->ordering;
    do {
        if (hki_relief_is_due(executor->queue))
            return 0;
        hki_queue *queue = next_queue(executor);
        if (!queue && order && !hki_order_is_empty(order))
            queue = executor->queue;
        int count =
            queue ? hki_queue_pop(queue, executor, HKI_LONG_TASK_NS, claims, HKI_BATCH_TASKS) : 0;
        if (queue && queue->budget->shared && hki_queue_is_ready(queue))
            atomic_fetch_or(&queue->budget->ready, (uint64_t)1 << queue->number);
        if (count)
            return count;
    } while (linger(executor) &&
             (++executor->looks % LOOKS || hki_queue_has_work(executor->queue)));
    claims[0] = hki_lending_take(executor->queue);
    return claims[0].task != NULL;
}

/* Runs until nothing is ready. */
static void work(hki_executor *executor)
{
    hki_queue *queue = executor->queue;
    hki_claim claims[HKI_BATCH_TASKS];
    int count;
    while ((count = take(executor, claims))) {
        int chained = 0;
        for (int i = 0; i < count; i++) {
            if (i + 1 < count)
                hki_task_prefetch_gates(claims[i + 1].task);
            uint64_t begin = i + 1 < count ? hki_ticks() : 0;
            hki_task *next = execute_attentively(executor, claims[i]);
            if (i + 1 < count && hki_ticks() - begin > HKI_LONG_TASK_TICKS) {
                give_back(&claims[i + 1], count - i - 1);
                count = i + 1;
            }
            if (!next)
                continue;
            /* A successor is hot; but neither what was taken along, nor a reduction that others wait
             * for, nor the rest of the queue may wait for a long chain of them. */
            if (i + 1 < count || peer_is_ready(queue) || chained++ == HKI_CHAIN_TASKS)
                hki_queue_push(hki_task_queue(next), next);
            else if (hki_queue_is_urgent(hki_task_queue(next)))
                hki_queue_push_first(hki_task_queue(next), next);
            else
                claims[i--] = (hki_claim){next, -1};
        }
    }
    hki_executor_flush(executor);
    hki_queue_counted(executor);
    hki_progress(queue->runtime);
}

/* True when there is something to do and a core to do it on, which it then holds. */
static bool try_begin(hki_queue *queue)
{
    return (hki_queue_has_work(queue) || hki_lending_may_help(queue)) &&
           hki_budget_try_acquire(queue->budget);
}

/* Others are attentive. */
static bool has_company(hki_queue *queue)
{
    hki_order *order = queue->runtime->ordering;
    return atomic_load_explicit(order ? &order->attentive : &queue->park->attentive,
                                memory_order_relaxed) > 1;
}

/* Spins for a while, or not at all where one does already on the only core. */
static bool spin_for_work(hki_queue *queue)
{
    _Atomic(uint32_t) *spinners = &queue->park->spinners;
    bool found = false;
    if (atomic_fetch_add(spinners, 1) == 0 || !queue->budget->shared) {
        int64_t until = hki_clock_ns() + HKI_SPIN_NS;
        do {
            /* With others awake, less often: each look takes the line with the ring's count from the issuing thread. */
            const int pauses = has_company(queue) ? 10 : 1;
            for (int i = 0; !(found = try_begin(queue)) && i < 32; i += pauses)
                for (int j = 0; j < pauses; j++) {
                    hki_relax();
                    hki_sharing_try_join(queue->runtime);
                }
        } while (!found && hki_clock_ns() < until);
    }
    atomic_fetch_sub(spinners, 1);
    return found;
}

/* How a worker sleeps. Others may be at something that takes longer than expected: then it looks again in a while. Of the
 * workers of devices that share a core, one does. */
typedef struct rest {
    bool alone; /* nobody else on these cores is attentive */
    bool looks_again;
    bool watches; /* nobody need be woken for what is in the ring: see hki_order_notify */
} rest;

static rest rest_begin(hki_queue *queue)
{
    hki_order *order = queue->runtime->ordering;
    rest its = {.alone = atomic_fetch_sub(&queue->park->attentive, 1) == 1};
    const bool others = order && atomic_fetch_sub(&order->attentive, 1) > 1;
    its.watches = its.alone && others;
    /* Others are awake, or have a core: at a long task, after which they may take a short one that turns out long. */
    its.looks_again =
        its.watches ||
        (!queue->budget->shared &&
         (!its.alone || atomic_load(&queue->budget->free_cores) < queue->worker_count));
    if (its.watches)
        atomic_store(&queue->park->watched, true);
    return its;
}

static void rest_end(hki_queue *queue, rest its)
{
    if (its.watches)
        atomic_store(&queue->park->watched, false);
    add_attentive(queue);
}

/* Returns with a core, or because the runtime is ending. The worker is attentive but while it sleeps. */
static bool wait_for_work(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    hki_queue *park = queue->park;
    bool alone = false; /* it slept while nobody was attentive: then it wakes a watcher */
    bool has_looked = false;
    for (;;) {
        /* Another may have gone to sleep alone meanwhile. */
        if (hki_relief_is_due(queue) && hki_relief_rest(queue))
            alone = true;
        if (!has_looked && spin_for_work(queue)) {
            if (alone)
                hki_queue_wake(queue);
            return true;
        }
        atomic_fetch_add(&park->sleepers, 1);
        uint32_t seen = atomic_load(&park->wake_word);
        const rest its = rest_begin(queue);
        /* Before it looks, here and below: who finds this still set has left something to see. */
        atomic_store(&park->waking, false);
        alone = its.alone && !queue->budget->shared;
        bool ended = atomic_load(&runtime->ended);
        bool found = !ended && try_begin(queue);
        if (!found && !ended)
            hki_futex_wait(&park->wake_word, seen, its.looks_again ? HKI_LOOK_AGAIN_NS : -1);
        has_looked = its.watches && atomic_load(&park->wake_word) == seen;
        rest_end(queue, its);
        atomic_fetch_sub(&park->sleepers, 1);
        atomic_store(&park->waking, false);
        if (found && alone)
            hki_queue_wake(queue);
        if (found || ended)
            return found;
    }
}

/* To its device's cores, not to one of them: the thread that issues calls is on some core, too, and who is woken there would
 * take it from that thread while another is free. */
static void pin(const hki_queue *queue)
{
    int processors[HKI_MAX_CORES];
    for (int i = 0; i < queue->worker_count; i++)
        processors[i] = queue->workers[i].processor;
    hki_cpu_pin(processors, queue->worker_count);
}

void *hki_worker_main(void *argument)
{
    hki_worker *worker = argument;
    hki_queue *queue = worker->queue;
    hki_executor executor;
    hki_executor_init(&executor, queue, true);
    executor.slot = worker->slot;
    executor.finished_tasks = queue->runtime->counters[worker->slot].by_queue;
    hki_tracing_name_worker(worker);
    fesetenv(FE_DFL_ENV);
    pin(queue);
    add_attentive(queue);
    while (wait_for_work(queue)) {
        work(&executor);
        hki_budget_release(queue);
    }
    return NULL;
}
