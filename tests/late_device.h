/* For tests: devices with streams that do nothing until they are told to, in the place of simulated ones, of which there are
 * two unless LATE_DEVICE_COUNT says otherwise. A task that
 * is launched is only put into its queue; late_step runs the first one of a queue, if what the queue was made to wait for
 * has ended. So whatever the engine forgets to wait for goes wrong. Include tests/check.h first. */
#ifndef HOCKET_TESTS_LATE_DEVICE_H
#define HOCKET_TESTS_LATE_DEVICE_H

#include "engine/engine.h"

#include <hocket/runtime.h>
#include <time.h>

#ifndef LATE_DEVICE_COUNT
#define LATE_DEVICE_COUNT 2
#endif

enum { LATE_DEVICES = LATE_DEVICE_COUNT, LATE_TASKS = 2048, LATE_WAITS = 64 };

typedef struct late_wait {
    int device;
    hki_queue_kind queue;
    uint64_t position;
} late_wait;

typedef struct late_task {
    void (*run)(void *argument); /* may be NULL: there is nothing to do but to end */
    void *argument;
    late_wait waits[LATE_WAITS];
    int wait_count;
    bool may_fail, fails;
    uint64_t flags, suspects; /* of devices that have such */
} late_task;

typedef struct late_queue {
    _Atomic(uint64_t) launched, ended; /* positions */
    late_task
        tasks[LATE_TASKS]; /* [position - 1]; the one after the last launched is being launched */
} late_queue;

static late_queue late_queues[LATE_DEVICES][HKI_QUEUE_KIND_COUNT];
static hki_device *late_devices[LATE_DEVICES];
static _Atomic(bool) late_is_lost[LATE_DEVICES];
static _Atomic(uint64_t) late_wait_count;
static _Atomic(int) late_wrong; /* calls that the engine must not make */
static hki_device_class late_class;
/* Where devices have flags (late_have_flags): few, so that there are not always enough. */
enum { LATE_FLAGS = 5 };
static struct {
    _Atomic(uint64_t) free, up; /* not taken; raised, by a task that has failed */
    uint64_t suspects;          /* of the task that is launched next */
} late_flags[LATE_DEVICES];
static _Atomic(int) late_spared; /* tasks, since the program began */

static inline int late_index(const hki_device *device)
{
    int index = 0;
    while (index < LATE_DEVICES - 1 && late_devices[index] != device)
        index++;
    return index;
}

static inline late_task *late_next(int device, hki_queue_kind queue)
{
    late_queue *self = &late_queues[device][queue];
    return &self->tasks[atomic_load(&self->launched) % LATE_TASKS];
}

static inline void late_take_flag(int index, late_task *task, hki_ticket *ticket)
{
    const uint64_t free = atomic_load(&late_flags[index].free), flag = free & -free;
    atomic_fetch_and(&late_flags[index].free, ~flag);
    ticket->flags = task->flags = flag;
    ticket->is_flagged = flag != 0;
}

static inline void late_guard(hki_device *device, uint64_t suspects, bool is_vetted)
{
    (void)is_vetted;
    late_flags[late_index(device)].suspects = suspects;
}

static inline void late_release_flags(hki_device *device, uint64_t flags)
{
    late_wrong += (atomic_load(&late_flags[late_index(device)].free) & flags) != 0;
    atomic_fetch_or(&late_flags[late_index(device)].free, flags);
}

static inline void late_launched(hki_device *device, hki_queue_kind queue, const hki_cost *cost,
                                 int64_t ready_ns, int64_t host_ns, hki_ticket *ticket)
{
    (void)cost;
    (void)ready_ns;
    (void)host_ns;
    late_queue *self = &late_queues[late_index(device)][queue];
    late_task *task = late_next(late_index(device), queue);
    late_wrong += ticket->device != device || ticket->queue != queue;
    ticket->position = atomic_load(&self->launched) + 1;
    if (task->may_fail && queue == HKI_QUEUE_COMPUTE)
        late_take_flag(late_index(device), task, ticket);
    if (queue == HKI_QUEUE_COMPUTE) {
        task->suspects = late_flags[late_index(device)].suspects;
        late_flags[late_index(device)].suspects = 0;
    }
    ticket->fault = task->may_fail ? task : NULL;
    self->tasks[ticket->position % LATE_TASKS] = (late_task){0};
    atomic_store(&self->launched, ticket->position);
}

static inline int64_t late_poll(hki_device *device, hki_ticket *ticket)
{
    int index = late_index(device);
    if (atomic_load(&late_queues[index][ticket->queue].ended) < ticket->position &&
        !atomic_load(&late_is_lost[index]))
        return 2000;
    ticket->begin_ns = ticket->end_ns = hk_clock_ns();
    return 0;
}

static inline void late_wait_for(hki_device *device, hki_queue_kind queue, const hki_ticket *ticket)
{
    late_task *task = late_next(late_index(device), queue);
    late_wrong += task->wait_count == LATE_WAITS - 1 ||
                  (ticket->device == device && ticket->queue == queue) ||
                  ticket->position >
                      atomic_load(&late_queues[late_index(ticket->device)][ticket->queue].launched);
    task->waits[task->wait_count++] =
        (late_wait){late_index(ticket->device), ticket->queue, ticket->position};
    atomic_fetch_add(&late_wait_count, 1);
}

static inline bool late_settle(hki_device *device, hki_ticket *ticket, hk_code *code, char *message,
                               size_t bytes)
{
    late_queue *self = &late_queues[late_index(device)][ticket->queue];
    if (atomic_load(&self->ended) < ticket->position) {
        *code = HK_DEVICE_LOST;
        snprintf(message, bytes, "%s is lost", device->name);
        return false;
    }
    *code = HK_INJECTED;
    snprintf(message, bytes, "task %d fails", (int)ticket->position);
    ticket->has_reported = self->tasks[(ticket->position - 1) % LATE_TASKS].fails;
    return !self->tasks[(ticket->position - 1) % LATE_TASKS].fails;
}

/* Lets the first task of the queue that has not ended run and end. False: there is none, or it waits. */
static inline bool late_step(int device, hki_queue_kind queue)
{
    late_queue *self = &late_queues[device][queue];
    uint64_t ended = atomic_load(&self->ended);
    if (ended == atomic_load(&self->launched) || atomic_load(&late_is_lost[device]))
        return false;
    const late_task *task = &self->tasks[ended % LATE_TASKS];
    for (int i = 0; i < task->wait_count; i++) {
        const late_wait *wait = &task->waits[i];
        if (atomic_load(&late_queues[wait->device][wait->queue].ended) < wait->position)
            return false;
    }
    /* A flag means what its last owner makes of it, whatever that finds in inputs that have failed. */
    const bool is_spared = (atomic_load(&late_flags[device].up) & task->suspects) != 0;
    atomic_fetch_add(&late_spared, is_spared);
    atomic_fetch_and(&late_flags[device].up, ~task->flags);
    if (task->fails)
        atomic_fetch_or(&late_flags[device].up, task->flags);
    else if (task->run && !is_spared)
        task->run(task->argument);
    atomic_store(&self->ended, ended + 1);
    return true;
}

/* For programs made by chance: begins with what is not 0. */
static uint64_t late_random;

static inline unsigned late_below(unsigned limit)
{
    late_random ^= late_random << 13;
    late_random ^= late_random >> 7;
    late_random ^= late_random << 17;
    return (unsigned)(late_random >> 33) % limit;
}

/* Before the runtime ends. */
static inline void late_check(void)
{
    CHECK_EQ_I64(atomic_load(&late_wrong), 0);
}

/* Everything that can end. */
static inline void late_run(void)
{
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < LATE_DEVICES * HKI_QUEUE_KIND_COUNT; i++)
            while (late_step(i / HKI_QUEUE_KIND_COUNT, (hki_queue_kind)(i % HKI_QUEUE_KIND_COUNT)))
                any = true;
    }
}

static inline uint64_t late_launched_count(int device, hki_queue_kind queue)
{
    return atomic_load(&late_queues[device][queue].launched);
}

/* Waits, at most seconds, until so many have been launched in the queue. */
static inline void late_await(int device, hki_queue_kind queue, uint64_t count)
{
    for (int i = 0; i < 50000 && late_launched_count(device, queue) < count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    CHECK_EQ_I64(late_launched_count(device, queue), count);
}

/* Long enough that what can happen has happened, nearly always: who relies on it may miss a failure, never see one. */
static inline void late_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

typedef struct late_ending {
    atomic_bool has_begun, is_over;
} late_ending;

/* A thread's: lets everything run and end that can, soon, and until it is told that this is over. */
static inline void *late_end_soon(void *ending)
{
    late_ending *its = ending;
    late_pause();
    atomic_store(&its->has_begun, true);
    while (!atomic_load(&its->is_over)) {
        late_run();
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return NULL;
}

/* Starts a runtime with late devices, which remember nothing. */
static inline hki_runtime *late_start(hk_engine engine, int launch_ahead, uint64_t memory_bytes)
{
    const hk_sim_options sim = {.count = LATE_DEVICES, .memory_bytes = memory_bytes};
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.sim = &sim, .sim_count = 1, .cpu_cores = 1, .engine = engine})));
    late_class = hki_sim_device_class;
    late_class.is_modelled = false;
    late_class.launch_ahead = launch_ahead;
    late_class.launched = late_launched;
    late_class.poll = late_poll;
    late_class.wait_for = late_wait_for;
    late_class.settle = late_settle;
    for (int i = 0; i < LATE_DEVICES; i++) {
        atomic_store(&late_flags[i].free, 0);
        late_devices[i] = hk_device_at(1 + i).handle;
        late_devices[i]->class = &late_class;
        atomic_store(&late_is_lost[i], false);
        for (int j = 0; j < HKI_QUEUE_KIND_COUNT; j++) {
            atomic_store(&late_queues[i][j].launched, 0);
            atomic_store(&late_queues[i][j].ended, 0);
            late_queues[i][j].tasks[0] = (late_task){0};
        }
    }
    atomic_store(&late_wait_count, 0);
    return hki_runtime_default();
}

/* What is launched in queues for computing is spared by flags; otherwise nothing follows what may fail. */
static inline void late_have_flags(void)
{
    late_class.guard = late_guard;
    late_class.release_flags = late_release_flags;
    for (int i = 0; i < LATE_DEVICES; i++) {
        atomic_store(&late_flags[i].up, 0);
        atomic_store(&late_flags[i].free, ((uint64_t)1 << LATE_FLAGS) - 1);
    }
}

#endif
