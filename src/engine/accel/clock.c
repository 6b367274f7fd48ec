/* Where accelerators' tasks end. One thread for all devices asks them and completes each task when its device has done
 * it, so that a long launch never holds up an end; where a task has ended when it has only just been launched, who has
 * launched it does that in its place. Each queue's tasks end in the order in which they were launched: only the first one
 * of each is asked for. Who launches puts them into a ring without a lock. */
#include "engine/accel/accelerator.h"

#include "engine/core/stage.h"

#include <stdlib.h>
#include <sys/prctl.h>

enum {
    TIMER_SLACK_NS = 1000,
    ORDER_NS = 5000, /* what comes before a task that is done is being counted out at the moment */
    ROOM_NS = 50000, /* between looks for memory that what ends gives back */
    PACE_SHARE = 8,  /* of the latest task in what one takes */
    AWAKE_NS = 1000000 /* since something happened: then it is no short wait */
};

/* The launched tasks of a queue. */
typedef struct hki_flights {
    _Atomic(uint64_t) put;                   /* of who launches */
    _Alignas(HKI_CACHE_LINE) uint64_t taken; /* of who completes, like the rest */
    int64_t taken_ns;
    int64_t look_ns;      /* when to ask for the first one again */
    bool first_has_ended; /* by its device; something that it waited for may not be completed */
    hki_flight ring[HKI_MAX_AHEAD];
} hki_flights;

typedef struct hki_clock {
    pthread_t thread;
    bool started;
    _Atomic(bool) stopping;
    _Atomic(bool) completing; /* a thread is at it */
    _Atomic(uint32_t) wake_word, added;
    _Atomic(int64_t) sleeps_until_ns; /* INT64_MIN: awake, looks at `added` before it sleeps */
} hki_clock;

/* ---- adding ------------------------------------------------------------------------------------------------- */

bool hki_clock_add(hki_queue *queue, const hki_flight *flight)
{
    hki_clock *clock = queue->runtime->accelerators->clock;
    hki_flights *flights = queue->flights;
    uint64_t put = atomic_load_explicit(&flights->put, memory_order_relaxed);
    hki_flight *added = &flights->ring[put % HKI_MAX_AHEAD];
    *added = *flight;
    int64_t look_ns = INT64_MAX, left_ns = 1;
    if (atomic_load(&queue->in_flight) == 1) { /* behind others it is not asked for yet */
        left_ns = queue->device->class->poll(queue->device, &added->ticket);
        look_ns = hki_clock_ns() + left_ns;
    }
    atomic_store(&flights->put, put + 1);
    atomic_fetch_add(&clock->added, 1);
    if (left_ns <= 0)
        return true;
    /* Those others may have ended since, and the clock gone to sleep without having seen this one. */
    if (look_ns == INT64_MAX && atomic_load(&queue->in_flight) <= 1)
        look_ns = 0;
    if (look_ns < atomic_load(&clock->sleeps_until_ns))
        hki_futex_bump(&clock->wake_word, 1);
    return false;
}

/* ---- completing --------------------------------------------------------------------------------------------- */

/* The nanoseconds after which to ask for the first task of the queue again; 0: it has ended, and what it waited for. */
static int64_t ask(hki_queue *queue, hki_flight *first, bool hurry)
{
    const hki_device_class *class = queue->device->class;
    hki_flights *flights = queue->flights;
    if (!flights->first_has_ended) {
        int64_t wait_ns =
            hurry && class->is_modelled ? 0 : class->poll(queue->device, &first->ticket);
        if (wait_ns > 0)
            return wait_ns;
        flights->first_has_ended = true;
    }
    return atomic_load_explicit(&first->task->pending_ends, memory_order_acquire) > 0 ? ORDER_NS
                                                                                      : 0;
}

/* What a task of the queue takes, smoothed; measured while it has something to do. */
static void note_pace(hki_queue *queue, const hki_flight *ended)
{
    hki_flights *flights = queue->flights;
    int64_t now = hki_clock_ns(),
            pace_ns = atomic_load_explicit(&queue->pace_ns, memory_order_relaxed);
    int64_t begin_ns =
        ended->launched_ns > flights->taken_ns ? ended->launched_ns : flights->taken_ns;
    atomic_store_explicit(&queue->pace_ns, pace_ns + (now - begin_ns - pace_ns) / PACE_SHARE,
                          memory_order_relaxed);
    flights->taken_ns = now;
}

static void complete(hki_executor *executor, hki_queue *queue, hki_flight *ended)
{
    note_pace(queue, ended);
    hki_accelerator_settle(queue, ended->task, &ended->ticket);
    hki_tracing_end(&ended->point, ended->task);
    const bool is_good = !ended->ticket.has_reported &&
                         !(hki_task_is_unusual(ended->task) && hki_task_has_failed(ended->task));
    hki_task_complete(executor, ended->task);
    hki_suspects_settle(queue, &ended->ticket, is_good);
    atomic_fetch_sub(&queue->in_flight, 1);
    if (hki_queue_is_ready(queue))
        hki_queue_wake(queue);
}

/* Completes the first task of each queue that has ended. False: none had; *next_ns: when to look again. */
static bool complete_first(hki_executor *executor, hki_runtime *runtime, bool hurry,
                           int64_t *next_ns)
{
    const int64_t now = hki_clock_ns();
    bool any = false;
    *next_ns = INT64_MAX;
    for (int i = 0; i < runtime->queue_count; i++) {
        hki_queue *queue = runtime->queues[i];
        hki_flights *flights = queue->flights; /* NULL: of a CPU device */
        if (!flights || atomic_load(&flights->put) == flights->taken)
            continue;
        hki_flight *first = &flights->ring[flights->taken % HKI_MAX_AHEAD];
        int64_t wait_ns = flights->look_ns - now;
        if (wait_ns <= 0 || hurry)
            wait_ns = ask(queue, first, hurry);
        if (wait_ns > 0) {
            flights->look_ns = flights->first_has_ended ? 0 : now + wait_ns;
            if (now + wait_ns < *next_ns)
                *next_ns = now + wait_ns;
            continue;
        }
        hki_flight ended = *first;
        flights->taken++;
        flights->look_ns = 0;
        flights->first_has_ended = false;
        complete(executor, queue, &ended);
        any = true;
    }
    return any;
}

/* Completes what has ended; *next_ns: when to look again. False: another thread is at it, and looks at what has been added
 * until now. */
static bool complete_ended(hki_executor *executor, hki_runtime *runtime, bool hurry,
                           int64_t *next_ns, bool *any)
{
    hki_clock *clock = runtime->accelerators->clock;
    if (atomic_load(&clock->completing) || atomic_exchange(&clock->completing, true))
        return false;
    while (complete_first(executor, runtime, hurry, next_ns))
        *any = true;
    atomic_store(&clock->completing, false);
    if (*any) {
        hki_slot_give_back(&executor->returns);
        hki_progress(runtime);
    }
    return true;
}

void hki_clock_help(hki_executor *executor, hki_runtime *runtime)
{
    hki_clock *clock = runtime->accelerators->clock;
    uint32_t seen;
    do {
        bool any = false;
        int64_t next_ns;
        seen = atomic_load(&clock->added);
        if (!complete_ended(executor, runtime, false, &next_ns, &any))
            break;
        if (next_ns < atomic_load(&clock->sleeps_until_ns))
            hki_futex_bump(&clock->wake_word, 1);
    } while (atomic_load(&clock->added) != seen);
}

/* ---- the thread --------------------------------------------------------------------------------------------- */

/* Until next_ns, or until there is something else to look at. Stays awake, until awake_ns at most, where it is not long
 * and somebody waits: being woken takes longer. */
static void rest(hki_runtime *runtime, uint32_t seen_word, uint32_t seen_added, int64_t next_ns,
                 int64_t awake_ns)
{
    hki_clock *clock = runtime->accelerators->clock;
    atomic_store(&clock->sleeps_until_ns, next_ns);
    int64_t left_ns = next_ns == INT64_MAX ? -1 : next_ns - hki_clock_ns();
    bool is_short = next_ns < awake_ns && left_ns < HKI_SPIN_NS;
    if (is_short && atomic_load(&runtime->scheduler->waiters) > 0)
        while (hki_clock_ns() < next_ns && atomic_load(&clock->added) == seen_added)
            hki_relax();
    else if (atomic_load(&clock->added) == seen_added && (next_ns == INT64_MAX || left_ns > 0))
        hki_futex_wait(&clock->wake_word, seen_word, left_ns);
}

static uint32_t in_flight(hki_runtime *runtime)
{
    uint32_t count = 0;
    for (int i = 0; i < runtime->queue_count; i++)
        count += atomic_load(&runtime->queues[i]->in_flight);
    return count;
}

static void *clock_main(void *argument)
{
    hki_runtime *runtime = argument;
    hki_clock *clock = runtime->accelerators->clock;
    hki_executor executor = {0};
    uint32_t last_added = 0;
    int64_t awake_ns = 0;
    hki_floats_begin();
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
    for (;;) {
        atomic_store(&clock->sleeps_until_ns, INT64_MIN);
        uint32_t seen_word = atomic_load(&clock->wake_word);
        uint32_t seen_added = atomic_load(&clock->added);
        bool stopping = atomic_load(&clock->stopping);
        bool hurry = stopping || atomic_load(&runtime->stopping), any = false;
        int64_t next_ns;
        if (!complete_ended(&executor, runtime, hurry, &next_ns, &any))
            next_ns = hki_clock_ns() + ORDER_NS;
        if (stopping && in_flight(runtime) == 0)
            return NULL;
        if (any || seen_added != last_added)
            awake_ns = hki_clock_ns() + AWAKE_NS;
        last_added = seen_added;
        rest(runtime, seen_word, seen_added, next_ns, awake_ns);
    }
}

/* ---- room --------------------------------------------------------------------------------------------------- */

/* See hki_device. What ends on any device may have held memory of this one. */
static bool make_room(hki_device *device)
{
    const bool any = in_flight(device->runtime) > 0;
    if (any)
        hki_sleep_ns(ROOM_NS);
    return any;
}

/* ---- life --------------------------------------------------------------------------------------------------- */

bool hki_flights_create(hki_queue *queue)
{
    queue->flights = hki_zeroed_lines(sizeof *queue->flights);
    queue->device->make_room = make_room;
    return queue->flights;
}

bool hki_clock_start(hki_runtime *runtime)
{
    hki_clock *clock = runtime->accelerators->clock = hki_zeroed_lines(sizeof *clock);
    if (clock)
        clock->started = !pthread_create(&clock->thread, NULL, clock_main, runtime);
    return clock && clock->started;
}

void hki_clock_hurry(hki_runtime *runtime)
{
    if (runtime->accelerators && runtime->accelerators->clock)
        hki_futex_bump(&runtime->accelerators->clock->wake_word, 1);
}

void hki_clock_stop(hki_runtime *runtime)
{
    hki_clock *clock = runtime->accelerators->clock;
    if (!clock)
        return;
    atomic_store(&clock->stopping, true);
    hki_futex_bump(&clock->wake_word, 1);
    if (clock->started)
        pthread_join(clock->thread, NULL);
    runtime->accelerators->clock = NULL;
    free(clock);
}
