/* Shared by the files of the engine, and by nobody else. */
#ifndef HOCKET_ENGINE_INTERNAL_H
#define HOCKET_ENGINE_INTERNAL_H

#include "base/choices.h"
#include "base/sync.h"
#include "device/cpu/cpu_topology.h"
#include "device/cuda/cuda_loader.h"
#include "device/sim/sim_device.h"
#include "engine/engine.h"

#include <hocket/runtime.h>
#include <pthread.h>
#include <stddef.h>

enum {
    HKI_CACHE_LINE = 64,
    HKI_TASK_INLINE_WAITS = 12,
    HKI_TASK_PAYLOAD_BYTES = 1792,
    HKI_SPIN_NS = 50000,         /* about what waking a sleeping thread takes */
    HKI_LONG_TASK_NS = 20000,    /* worth waking a worker for */
    HKI_LONG_TASK_TICKS = 60000, /* roughly the same, see hki_ticks */
    HKI_DIRECT_NS = 500,         /* what a call without a task takes at most */
    HKI_BATCH_NS = 5000,         /* short tasks that a worker takes at once: this much, */
    HKI_BATCH_TASKS = 16,        /* and this many */
    HKI_TURN_NS = 200,           /* what a task that runs in its turn takes at most; */
    HKI_TURNS_NS = 2000,         /* as many as hold others back for this long, */
    HKI_TURNS = 64,              /* and this many */
    HKI_GATHER_TICKS = 1000,     /* until some more of them have come */
    HKI_LINGER_TICKS = 5000,
    HKI_RING_TASKS = 4096, /* ready ones that an issuing thread is ahead of the workers, cheaply */
    HKI_NEAR_TASKS = 256,  /* unfinished ones whose slots and gates a core's cache holds */
    HKI_CHAIN_TASKS = 64,  /* successors run in place before others get their turn */
    HKI_RETURN_BATCH = 31, /* slots given back together with one */
    HKI_LOOK_AGAIN_NS = 1000000, /* a short task may turn out long: sleepers look after this */
    HKI_FREE_SLOTS = HKI_RETURN_BATCH + 1,
    HKI_MAX_DEVICES = 64,
    HKI_TASK_MARKS = 6, /* queues behind whose tasks one is launched */
    HKI_MAX_FAILED_DEVICES = 64
};

typedef struct hki_queue hki_queue;

/* ---- gates (gate.c) --------------------------------------------------------------------------------- */

/* A task's place in the list of those who wait for a gate. */
typedef struct hki_wait_node {
    struct hki_wait_node *next;
    hki_task *task;
} hki_wait_node;

/* One line of memory each. Something that later accesses of a range wait for: one writer, or all readers of the same
 * range since the last write. It opens when count reaches 0; a gate of readers counts one more until a writer closes
 * it to new readers. Whoever opens it touches it last when exchanging `waiters`. */
struct hki_gate {
    _Alignas(HKI_CACHE_LINE) _Atomic(hki_wait_node *) waiters; /* HKI_GATE_OPEN once open */
    atomic_uint count;
    /* Issue lock: */
    bool is_write, closed;
    uint64_t begin, end;
    hki_gate *next;
    hki_task *task; /* the latest to register, while its sequence number is this */
    uint64_t task_sequence;
};

/* How far a queue has got. */
typedef struct hki_mark {
    hki_queue *queue;
    uint64_t position; /* see hki_ticket */
    int64_t end_ns;    /* 0: not known yet */
} hki_mark;

extern hki_wait_node hki_gate_open_mark;
#define HKI_GATE_OPEN (&hki_gate_open_mark)

static inline bool hki_gate_is_open(hki_gate *gate)
{
    return atomic_load_explicit(&gate->waiters, memory_order_acquire) == HKI_GATE_OPEN;
}

/* ---- tasks (task.c) ----------------------------------------------------------------------------------- */

typedef enum hki_task_state {
    HKI_TASK_FREE,
    HKI_TASK_WAITING, /* for other tasks */
    HKI_TASK_READY,   /* in a queue, or about to be */
    HKI_TASK_STARTED
} hki_task_state;

enum { HKI_SIGNALLED = 1, HKI_SLEEPING = 2 };

/* In `pending` while a task is being issued: more than it could ever wait for, so that it cannot get ready before. */
#define HKI_ISSUING ((uint32_t)1 << 31)

enum { HKI_UNCOUNTED = 2 }; /* an epoch */

/* What a task waits for, for those who want to help it; another's gate once its sequence number differs. */
typedef struct hki_wait_gate {
    hki_gate *gate;
    uint64_t task_sequence;
} hki_wait_gate;

/* Laid out so that running an undisturbed task touches few lines of memory, which come from another core: the one of
 * `pending`, which also has its place behind its first gate and its own first gate, that of the spec's begin, and the
 * payload. What follows the spec is as a fresh slot has it unless `unusual` says otherwise. */
struct hki_task {
    _Alignas(HKI_CACHE_LINE) const hk_status *failure; /* its own; counted; failure_lock */
    const hk_status *input_failure;                    /* counted; failure_lock */
    hki_wait_node waits[HKI_TASK_INLINE_WAITS];        /* used from the last one on */
    _Atomic(uint32_t) pending;                         /* gates not yet open; see HKI_ISSUING */
    _Atomic(uint32_t) state;
    hki_task *queue_next; /* queue lock; also links free slots */
    hki_runtime *runtime;
    void *payload;
    int registered_count;
    uint8_t epoch;         /* of its queue's counters, or HKI_UNCOUNTED */
    bool is_wait;          /* runs in a waiting thread, which `signalled` tells */
    bool started;          /* the kernel began: a failure leaves torn bytes */
    _Atomic(bool) unusual; /* it has failed, waits, or has memory of its own */
    hki_gate *inline_registered[HKI_TASK_INLINE_ACCESSES];
    _Atomic(uint64_t) sequence;
    hki_task_spec spec;
    void *overflow; /* memory behind accesses and gates when they are many, and a large payload */

    /* Until it is registered: fresh gates, and how many; what it waits for. */
    _Alignas(HKI_CACHE_LINE) hki_gate *reserve;
    int reserve_count, wait_count;
    /* Where hki_task_register goes on; 0 unless it is to be called again. */
    int registered_accesses;
    uint32_t registered_waits;
    hki_wait_gate wait_gates[HKI_TASK_INLINE_WAITS];

    _Atomic(int64_t) pieces_left;
    int64_t next_piece; /* -1 before it starts; queue lock once published */
    int64_t failure_piece;
    hki_lock failure_lock;
    _Atomic(uint32_t) signalled; /* to a waiting thread: 1; 2 while that thread sleeps on it */
    /* Where there are accelerators: the latest end of what it waited for, or its issue; its own end. */
    _Atomic(int64_t) ready_ns;
    int64_t end_ns;
    hki_task *queue_previous;       /* queue lock */
    _Atomic(hki_queue *) queued_in; /* queue lock for writing */
    /* Where there are accelerators: may be launched ahead; has told its gates that it is launched. `pending` counts gates
     * whose tasks are not launched then, pending_ends those whose tasks have not ended; `counted` has a bit for each of
     * `waits` that pending no longer counts. It is launched behind the marks, of other queues. */
    bool is_ahead, is_launched;
    _Atomic(uint32_t) pending_ends, counted;
    hki_lock marks_lock;
    int mark_count;
    hki_mark marks[HKI_TASK_MARKS];
    _Alignas(HKI_CACHE_LINE) hki_access inline_accesses[HKI_TASK_INLINE_ACCESSES];
    union {
        char inline_payload[HKI_TASK_PAYLOAD_BYTES];
        struct { /* of a free one that is given back together with others */
            int count;
            hki_task *slots[HKI_RETURN_BATCH];
        } returned;
    };
};

_Static_assert(offsetof(hki_task, pending) % HKI_CACHE_LINE == sizeof(hki_wait_node) &&
                   offsetof(hki_task, inline_registered) % HKI_CACHE_LINE ==
                       HKI_CACHE_LINE - sizeof(hki_gate *) &&
                   offsetof(hki_task, spec) % HKI_CACHE_LINE == 0 &&
                   offsetof(hki_task, inline_payload) % HKI_CACHE_LINE == 0,
               "see the comment on hki_task");

/* The gates that it is counted in: registered_count of them. */
static inline hki_gate **hki_task_registered(hki_task *task)
{
    if (task->spec.access_count <= HKI_TASK_INLINE_ACCESSES)
        return task->inline_registered;
    return (hki_gate **)(void *)(task->spec.accesses + 2 * task->spec.access_count);
}

static inline bool hki_task_is_unusual(const hki_task *task)
{
    return atomic_load_explicit(&((hki_task *)task)->unusual, memory_order_relaxed);
}

static inline hki_queue *hki_task_queue(const hki_task *task)
{
    return task->spec.device->queues[task->spec.queue];
}

/* Begins to fetch what issuing or running it touches, for writing even where it is only read: a line that two cores
 * share has to be taken from the other before its next use is written, a line that moves has not. */
static inline void hki_task_prefetch(const hki_task *task)
{
    __builtin_prefetch(&task->pending, 1);
    __builtin_prefetch(&task->spec, 1);
    __builtin_prefetch(&task->inline_accesses[0], 1);
    __builtin_prefetch(&task->inline_accesses[2], 1);
    __builtin_prefetch(task->inline_payload, 1);
}

/* The same for ending it, when what it touches is there. */
static inline void hki_task_prefetch_gates(hki_task *task)
{
    hki_gate **gates = hki_task_registered(task);
    for (int i = 0; i < task->registered_count; i++)
        __builtin_prefetch(gates[i], 1);
}

/* Who runs tasks now: a worker, or a thread that submits or waits. */
typedef struct hki_executor {
    hki_queue *queue;   /* a worker's own; NULL in other threads */
    int slot;           /* whose counter of finished tasks */
    bool chain;         /* may keep one ready successor for itself */
    int turns;          /* tasks run in their turn */
    int finished_count; /* slots to be given back together */
    hki_task *finished[HKI_RETURN_BATCH + 1];
} hki_executor;

static inline void hki_executor_init(hki_executor *executor, hki_queue *queue, int slot, bool chain)
{
    executor->queue = queue;
    executor->slot = slot;
    executor->chain = chain;
    executor->turns = executor->finished_count = 0;
}

/* ---- slots (slot.c) ----------------------------------------------------------------------------------- */

/* may_wait: blocks while the run-ahead window has no room. NULL: no memory. */
hki_task *hki_slot_get(hki_runtime *runtime, int access_count, size_t payload_bytes,
                       uint64_t output_bytes, bool may_wait);
void hki_slot_put(hki_executor *executor, hki_task *task);
/* Drops what the task holds, its records and memory, and leaves the slot as a fresh one. */
void hki_slot_clean(hki_task *task);
/* Makes the slot, clean and with nobody else knowing of it, the runtime's spare one: the next begin takes it without a lock.
 * Expects the issue lock. */
void hki_slot_spare_locked(hki_task *task);
/* Sees to it that there is a spare slot for the next begin, with so many gates, if that costs little. Expects the
 * issue lock. */
void hki_slot_refill_locked(hki_runtime *runtime, int access_count);
/* Gives slots back that were put; before the executor goes or pauses. */
void hki_executor_flush(hki_executor *executor);

/* ---- from submission to end (task.c) -------------------------------------------------------------------- */

/* Checks inputs and prepares. False: it failed, and is to be completed without running. */
bool hki_task_start(hki_task *task);
/* The earliest failure of what the task reads, counted; NULL: none. */
const hk_status *hki_task_input_failure(const hki_task *task);
/* Its inputs turned out failed, by this record (taken): whatever else happened to it does not count. */
void hki_task_fail_for_input(hki_task *task, const hk_status *status);
/* Ends a task: failures, gates, finish, counters. Returns a ready successor for a chaining executor. */
hki_task *hki_task_complete(hki_executor *executor, hki_task *task);
/* Gives ready tasks, linked through queue_next, to whoever waits for them or to their queues; a chaining
 * executor gets one of its own device back. */
hki_task *hki_task_dispatch(hki_executor *executor, hki_task *ready);
void hki_task_run_piece(hki_task *task, int64_t piece);
void hki_task_run_join(hki_task *task);

typedef enum hki_registration {
    HKI_REGISTERED_READY, /* it waits for nothing */
    HKI_REGISTERED_WAITS, /* it gets ready when the last gate opens that it waits for: perhaps it has run by now */
    HKI_NOT_REGISTERED /* no memory: to be called again later, before any other task is registered */
} hki_registration;

/* Registers the accesses of a task. Expects that the thread keeps order. */
hki_registration hki_task_register(hki_task *task);
/* Runs the task where nothing is in its way and that takes less than registering it, else returns false. Expects that the
 * thread keeps order, for a task that was issued to run elsewhere. */
bool hki_task_run_in_turn(hki_executor *executor, hki_task *task);
/* No unfinished access of the range is in the way of one that comes now. Gates that nobody is counted in any more go.
 * Expects that the thread keeps order. */
bool hki_var_is_free_locked(hki_var *var, uint64_t begin, uint64_t end, bool writes);

/* Nobody is going to write to the variable: what was issued to do so has finished. Expects that the thread keeps order. */
static inline bool hki_var_is_settled_locked(hki_var *var)
{
    return !var->gates || hki_var_is_free_locked(var, 0, UINT64_MAX, false);
}

/* The same, and nobody is reading it either. */
static inline bool hki_var_is_idle_locked(hki_var *var)
{
    return !var->gates || hki_var_is_free_locked(var, 0, UINT64_MAX, true);
}

/* Leaves all gates; ready successors are linked through queue_next. */
hki_task *hki_task_open_gates(hki_task *task);
void hki_gates_free_locked(hki_runtime *runtime, hki_gate *first);
/* Of a task's own places in lists: which one; -1: one beyond those. */
int hki_wait_node_index(const hki_wait_node *node);
/* True for the last one. Where only one is left, nobody else changes the count: then that is told without writing. */
static inline bool hki_count_down(atomic_uint *count)
{
    return atomic_load_explicit(count, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) == 1;
}

/* ---- failures (failure.c) ----------------------------------------------------------------------------- */

/* The earliest failure in the range, counted; NULL: none. */
const hk_status *hki_var_failure(hki_var *var, uint64_t begin, uint64_t end);
/* Fails the range; intact: the bytes are still the old ones. */
void hki_var_fail(hki_var *var, uint64_t begin, uint64_t end, const hk_status *status, bool intact);
void hki_var_heal(hki_var *var, uint64_t begin, uint64_t end);
void hki_var_failures_deinit(hki_var *var);

/* ---- queues (queue.c) ---------------------------------------------------------------------------------- */

typedef struct hki_claim {
    hki_task *task; /* NULL: nothing there */
    int64_t piece;  /* -1: the whole task, not started */
} hki_claim;

/* Cores that a device, or several devices that share them, may keep busy at a time. */
typedef struct hki_budget {
    _Atomic(int32_t) free_cores;
    bool
        shared; /* by devices of one core each: any of their workers runs what is ready in any of their queues */
    /* Of those that share it: queues that may have something to do, a bit each by their place in runtime->queues, and
     * whose turn it is then. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) ready;
    _Atomic(uint32_t) turn;
} hki_budget;

typedef struct hki_counter {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) finished[2]; /* by epoch */
} hki_counter;

typedef struct hki_worker {
    pthread_t thread;
    bool running;
    int slot, processor;
    hki_queue *queue;
} hki_worker;

/* Tasks in the order in which they were issued. The issuing thread puts them, under the issue lock; whoever has the
 * queue's lock takes them. Those of runtime->ordering are still to be registered, all others are ready. */
typedef struct hki_ring {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) put; /* so many were */
    _Atomic(int64_t) put_ns;                        /* their backlog */
    uint64_t seen_taken;                            /* issue lock */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) taken;
    _Atomic(int64_t) taken_ns;
    hki_task *tasks[HKI_RING_TASKS];
} hki_ring;

/* Nothing is to be taken. */
static inline bool hki_ring_is_empty(hki_ring *ring)
{
    return atomic_load_explicit(&ring->taken, memory_order_acquire) ==
           atomic_load_explicit(&ring->put, memory_order_acquire);
}

struct hki_queue {
    hki_runtime *runtime;
    hki_device *device;
    hki_queue_kind kind;
    bool
        is_accelerator; /* its one worker launches tasks, and the clock completes them: accelerator.c */
    hki_budget *budget;
    /* Where its workers wait: spinners and so on are those of this queue, the first one of those that share cores. */
    hki_queue *park;
    int number; /* in runtime->queues */
    _Alignas(HKI_CACHE_LINE) hki_lock lock;
    struct {
        hki_task *first, *last;
    } lists[2];                  /* [0]: reductions between devices, taken first; [1]: the rest */
    _Atomic(uint32_t) listed[2]; /* entries in the lists */
    _Atomic(int64_t) backlog_ns; /* of the lists; queue lock for writing */
    struct {
        _Alignas(
            HKI_CACHE_LINE) _Atomic(hki_task *) newest; /* a stack, linked through queue_next */
    } inboxes[2];
    hki_ring ring;
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) spinners, sleepers, wake_word;
    _Atomic(uint32_t) attentive; /* workers that look for work, or will within a moment */
    /* One of a CPU device has been woken and is going to look when it gets its core: no need to wake it again. */
    _Atomic(bool) waking;
    /* Tasks issued by epoch (issue lock) and finished (by executor). */
    _Alignas(HKI_CACHE_LINE) unsigned epoch;
    uint64_t issued[2];
    uint64_t at_once;          /* tasks that ran under the issue lock: in no epoch */
    pthread_mutex_t flip_lock; /* held by who waits for the device */
    int worker_count;
    hki_worker *workers;
    /* An accelerator's: tasks launched and not completed (clock.c), when the latest of them ends where that is known (its
     * worker's), what one takes (smoothed); and what hk_device_get_stats tells. */
    struct hki_flights *flights;
    _Atomic(uint32_t) in_flight;
    int64_t launched_end_ns;
    _Atomic(int64_t) pace_ns;
    hki_lock stats_lock;
    hk_queue_stats stats;
    hki_counter *counters; /* worker_count + 1: the last is for all other threads */
};

void hki_queue_push(hki_queue *queue, hki_task *task);
/* Puts a task into the ring, for who calls hki_queue_notify when he has released the issue lock, which this expects.
 * False: no room. */
bool hki_queue_put_locked(hki_queue *queue, hki_task *task);
/* Registers what is in the ring. False: no memory for all of it. Expects the issue lock. */
bool hki_queue_order_locked(hki_queue *queue);
bool hki_queue_is_ready(hki_queue *queue);
/* There is more to do than a worker, if one is awake, has done by the time that another has begun. */
bool hki_queue_wants_help(hki_queue *queue);
/* A reduction between devices is ready. */
bool hki_queue_is_urgent(hki_queue *queue);
/* To the front: what is to go on at once, and a started task whose pieces 1 … are to be claimed. */
void hki_queue_push_first(hki_queue *queue, hki_task *task);
/* Takes a task or piece, or several short tasks, at most count; none in whose way one is that is expected to take more
 * than most_ns, unless that is HKI_LONG_TASK_NS. Returns how many. May run what is shorter than taking it, in an executor
 * that is not NULL. */
int hki_queue_pop(hki_queue *queue, hki_executor *executor, int64_t most_ns, hki_claim *claims,
                  int count);
/* Takes this very task, or a piece of it, if it is still in the queue. */
hki_claim hki_queue_take(hki_queue *queue, hki_task *task, uint64_t sequence);
/* After the workers have ended: whoever still issues a task finishes it, cancelled, in place. */
void hki_queue_cancel(hki_queue *queue);
bool hki_budget_try_acquire(hki_budget *budget);
/* A worker of the queue that has a core would find something to do. */
bool hki_queue_has_work(hki_queue *queue);
void hki_budget_release(hki_queue *queue);
void hki_queue_notify(hki_queue *queue);
void hki_queue_wake(hki_queue *queue);
/* A task of the epoch has finished. Who waits for all of them is woken, where it sleeps, when the executor runs out of
 * tasks: by hki_progress, and, of a worker, hki_queue_counted before that. */
void hki_queue_count(hki_queue *queue, const hki_executor *executor, unsigned epoch);
/* What a worker has counted goes before all that it looks at from now on. */
void hki_queue_counted(hki_queue *queue, const hki_executor *executor);
uint64_t hki_queue_finished(hki_queue *queue, unsigned epoch);

/* ---- workers (worker.c) ---------------------------------------------------------------------------------- */

void *hki_worker_main(void *worker);
/* Every task sees the same floating-point environment, whatever the caller's thread has set. True: it is that. */
static inline bool hki_environment_is_default(void)
{
#if defined(__x86_64__)
    enum { CONTROL_BITS = 0xffc0, DEFAULT_CONTROL = 0x1f80 };
    return (__builtin_ia32_stmxcsr() & CONTROL_BITS) == DEFAULT_CONTROL;
#else
    return false;
#endif
}

/* Makes it this thread's latest: see hki_last_sequence. */
void hki_sequence_note(uint64_t sequence);
/* Runs what was claimed; returns a successor to run next when the executor chains. */
hki_task *hki_execute(hki_executor *executor, hki_claim claim);
/* Runs what was claimed from the queue in a thread that is no worker. */
void hki_execute_foreign(hki_queue *queue, const hki_claim *claims, int count);

/* ---- cores to launch on (accelerator.c) ----------------------------------------------------------------------- */

/* Cores for the threads that launch: those that no CPU device has; where there are none, whatever core a CPU device
 * does not use at the moment. */
typedef struct hki_launch_cores {
    _Atomic(uint32_t) free, waiting;
    int count;
    int processors[HKI_MAX_CORES];
} hki_launch_cores;

/* ---- setting up (setup.c) ------------------------------------------------------------------------------------- */

typedef struct hki_runtime_config {
    int64_t cpu_devices, cpu_cores, engine, run_ahead_calls, run_ahead_bytes, inline_ns,
        memory_bytes;
    hk_sim_options sims[HKI_SIM_MAX_GROUPS]; /* sim_count groups, complete */
    int sim_count;
    hki_cuda_choice cuda;
    int64_t cuda_memory_bytes, cuda_tf32, cuda_nccl;
} hki_runtime_config;

/* Options first, then the environment for those that are zero, then defaults. Returns NULL or the first error
 * (counted); the configuration is then the default for what is wrong. */
const hk_status *hki_configure(const hk_runtime_options *options, hki_runtime_config *config);
/* False: no memory. What was made stays in the runtime. */
bool hki_devices_create(hki_runtime *runtime, const hki_runtime_config *config);
void hki_devices_destroy(hki_runtime *runtime);

/* ---- waiting (wait.c) -------------------------------------------------------------------------------------- */

/* Wakes waiting threads, if there are any that sleep. Call it after the sequentially consistent write
 * that they wait for. */
void hki_progress(hki_runtime *runtime);
void hki_window_wait(hki_runtime *runtime, uint64_t output_bytes);
/* Before a thread that issues runs further ahead of short tasks than a cache can hold: helps, or waits a little, but
 * no longer than HKI_SPIN_NS for each HKI_NEAR_TASKS calls, whatever the tasks take. */
void hki_window_approach(hki_runtime *runtime);
bool hki_window_full_locked(hki_runtime *runtime, uint64_t output_bytes);
/* False: it has room for sure. */
/* Looks how many that were issued have finished. Expects the issue lock. */
uint64_t hki_unfinished_tasks_locked(hki_runtime *runtime);
/* Blocks until all that was issued to the device before has finished. */
void hki_queue_drain(hki_queue *queue);

/* ---- the runtime (runtime.c) --------------------------------------------------------------------------------- */

struct hki_runtime {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) refs;

    /* Read everywhere, written seldom. */
    _Alignas(HKI_CACHE_LINE) unsigned generation; /* of forks */
    _Atomic(bool) ended, stopping;
    bool serial, accelerated; /* accelerated: has devices whose tasks end by a clock of their own */
    _Atomic(int) failed_vars; /* variables with failed ranges */
    _Atomic(uint32_t) sleepers; /* threads that sleep until there is progress */
    _Atomic(uint32_t) waiters;  /* where there are accelerators: threads that wait */
    _Atomic(hki_trace *) trace; /* NULL: nothing is recorded */
    /* What runs in the caller takes at most this long, with a worker awake and without: negative: nothing does; 0: not
     * measured yet. */
    _Atomic(int64_t) inline_ns, inline_asleep_ns;
    uint64_t run_ahead_calls, run_ahead_bytes;
    const hk_status *config_error; /* NULL: none */
    hki_choices *choices;          /* NULL only with a config_error */
    const hk_status *cancelled;
    hki_budget *budgets;
    int budget_count;
    /* Whose workers register tasks, see hki_order_acquire; NULL: who issues them does. */
    hki_queue *ordering;
    hki_launch_cores launch_cores;
    struct hki_clock *clock;
    int device_count, queue_count;
    hki_device *devices[HKI_MAX_DEVICES];
    hki_queue *queues[HKI_MAX_DEVICES * HKI_QUEUE_KIND_COUNT]; /* of all devices */

    /* Issue lock: */
    _Alignas(HKI_CACHE_LINE) hki_lock issue_lock;
    _Atomic(hki_task *) spare_task; /* put under the lock, taken without; NULL: none */
    uint64_t sequence;
    bool counts_writes;   /* a task has asked for versions */
    hki_task *free_tasks; /* each with others: see hki_task.returned */
    hki_task *free_slots[HKI_FREE_SLOTS];
    int free_slot_count;
    hki_gate *spare_gates;
    /* Written under the lock, read without to see that the window is far from full. */
    _Atomic(uint64_t) issued_tasks, known_finished;
    _Atomic(uint64_t) near_calls; /* see hki_window_approach */
    uint64_t inline_calls, direct_calls;
    void *chunks; /* memory of slots and gates */

    /* Who keeps order: see hki_order_acquire. */
    _Alignas(HKI_CACHE_LINE) hki_gate *free_gates;

    _Alignas(HKI_CACHE_LINE) _Atomic(hki_task *) returned_tasks;
    _Atomic(hki_gate *) returned_gates;
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) progress;
    _Atomic(uint64_t) helped_calls, window_waits;
    /* See handover.c: of who measures, whom is_probing tells. Not to be tried before probe_ticks. */
    _Atomic(uint32_t) probes_finished;
    uint32_t probes_pushed, probe_tries;
    _Atomic(bool) is_probing;
    _Atomic(uint64_t) probe_ticks;
    _Atomic(uint64_t) burst_begin, burst_last; /* ticks */
    _Alignas(HKI_CACHE_LINE) _Atomic(int64_t) window_bytes;
    _Atomic(int64_t) peak_window_bytes;

    _Alignas(HKI_CACHE_LINE) hki_lock serial_lock;

    hki_lock failures_lock;         /* root failures, and every variable's list */
    const hk_status *first_failure; /* earliest issued, counted */
    uint64_t failure_count;

    hki_lock trace_lock;                                   /* of who begins and ends recording */
    hki_trace *trace_memory;                               /* NULL until the first recording */
    _Atomic(uint64_t) run_ahead_sampled, counters_sampled; /* ticks: when counters were noted */

    hki_lock devices_lock;
    int failed_device_count;
    hki_device *failed_devices[HKI_MAX_FAILED_DEVICES];
    hki_cuda_setup *cuda;
};

/* Who keeps order changes the lists of gates, and has registered all tasks with a place before what comes next. Where
 * there is no runtime->ordering, that is who holds the issue lock. Else tasks that go to a worker are registered there,
 * so that gates stay in its cache: while there are such in the ring, who holds the queue's lock keeps order, else who
 * holds the issue lock. */
void hki_order_wait_locked(hki_runtime *runtime);

/* The thread keeps order until it releases the issue lock, which this expects. */
static inline void hki_order_keep_locked(hki_runtime *runtime)
{
    if (runtime->ordering && !hki_ring_is_empty(&runtime->ordering->ring))
        hki_order_wait_locked(runtime);
}

/* The same, and acquires the issue lock. */
static inline void hki_order_acquire(hki_runtime *runtime)
{
    hki_lock_acquire(&runtime->issue_lock);
    hki_order_keep_locked(runtime);
}

/* False: the run-ahead window has room for sure. */
static inline bool hki_window_may_be_full(hki_runtime *runtime, uint64_t output_bytes)
{
    uint64_t known = atomic_load_explicit(&runtime->known_finished, memory_order_relaxed);
    uint64_t issued = atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed);
    int64_t held = atomic_load_explicit(&runtime->window_bytes, memory_order_relaxed);
    return issued - known >= runtime->run_ahead_calls ||
           (held > 0 && (uint64_t)held + output_bytes > runtime->run_ahead_bytes);
}

/* It is time for hki_window_approach. */
static inline bool hki_window_is_far(hki_runtime *runtime)
{
    return atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed) -
               atomic_load_explicit(&runtime->known_finished, memory_order_relaxed) >=
           atomic_load_explicit(&runtime->near_calls, memory_order_relaxed);
}

/* ---- the cost of handing over (handover.c) --------------------------------------------------------------------- */

bool hki_runs_in_caller_slow(hki_queue *queue, int64_t expected_ns);

/* Whether a ready task of this CPU queue, expected to take so long, had better run in the thread that issues it.
 * Blocks for less than a millisecond where that is still to be measured. */
static inline bool hki_runs_in_caller(hki_queue *queue, int64_t expected_ns)
{
    int64_t limit_ns = atomic_load_explicit(&queue->runtime->inline_ns, memory_order_relaxed);
    if (expected_ns <= (limit_ns ? limit_ns : HKI_DIRECT_NS))
        return true;
    return limit_ns >= 0 && expected_ns <= HKI_LONG_TASK_NS &&
           hki_runs_in_caller_slow(queue, expected_ns);
}

/* Notes a root failure. */
void hki_runtime_note_failure(hki_runtime *runtime, const hk_status *status);

/* ---- trace points (tracing.c) ------------------------------------------------------------------------------- */

/* Where to record; NULL: nothing is recorded. What follows does nothing then. */
static inline hki_trace *hki_tracing(hki_runtime *runtime)
{
    return atomic_load_explicit(&runtime->trace, memory_order_acquire);
}

void hki_tracing_name_worker(const hki_worker *worker);
void hki_tracing_issue_locked(hki_trace *trace, const hki_task *task);
void hki_tracing_event(hki_trace *trace, hki_trace_kind kind, uint64_t id);

/* The task has its sequence number, and is not ready yet. Expects the issue lock. */
static inline void hki_tracing_issue(const hki_task *task)
{
    hki_trace *trace = hki_tracing(task->runtime);
    if (trace)
        hki_tracing_issue_locked(trace, task);
}

/* Before anybody else can start the task. */
static inline void hki_tracing_ready(const hki_task *task)
{
    hki_trace *trace = hki_tracing(task->runtime);
    if (trace && !task->is_wait)
        hki_tracing_event(trace, HKI_TRACE_READY, hki_task_sequence(task));
}

static inline void hki_tracing_var(const hki_var *var)
{
    hki_trace *trace = var->runtime ? hki_tracing(var->runtime) : NULL;
    if (trace)
        hki_tracing_event(trace, HKI_TRACE_VAR, (uintptr_t)var);
}

/* A thread runs a piece, or a whole task: `begin` when it takes it, `piece` when the kernel has returned and the
 * piece still counts as unfinished, `end` in the thread that then completes the task, before hki_task_complete. A
 * task that does not start has no `piece`. Passed on by value, so that it costs nothing where nothing is recorded. */
typedef struct hki_run_point {
    hki_trace *trace; /* NULL: nothing is recorded */
    uint64_t sequence, begin_ticks;
    bool has_noted;               /* a piece, */
    hki_trace_run_record *record; /* which is here; NULL: it was lost */
} hki_run_point;

hki_run_point hki_tracing_note_piece(hki_run_point point, const hki_task *task, int64_t piece);
void hki_tracing_note_end(hki_run_point point, const hki_task *task);

static inline hki_run_point hki_tracing_begin(const hki_task *task)
{
    hki_run_point point = {.trace = hki_tracing(task->runtime)};
    if (point.trace) {
        point.sequence = hki_task_sequence(task);
        point.begin_ticks = hki_ticks();
    }
    return point;
}

static inline void hki_tracing_piece(hki_run_point *point, const hki_task *task, int64_t piece)
{
    if (point->trace)
        *point = hki_tracing_note_piece(*point, task, piece);
}

static inline void hki_tracing_end(const hki_run_point *point, const hki_task *task)
{
    if (point->trace)
        hki_tracing_note_end(*point, task);
}

/* A thread waits: `wait` before, in no task and without a lock; `waited` after. */
typedef struct hki_wait_point {
    hki_trace *trace; /* NULL: nothing is recorded */
    hki_runtime *runtime;
    uint64_t begin_ticks, sequence;
} hki_wait_point;

void hki_tracing_note_wait(hki_wait_point *point, hki_runtime *runtime);
void hki_tracing_note_waited(const hki_wait_point *point, hki_trace_wait_kind kind, int device);

static inline hki_wait_point hki_tracing_wait(hki_runtime *runtime)
{
    hki_wait_point point = {.trace = hki_tracing(runtime)};
    if (point.trace)
        hki_tracing_note_wait(&point, runtime);
    return point;
}

/* device: what was waited for, -1 for none. */
static inline void hki_tracing_waited(const hki_wait_point *point, hki_trace_wait_kind kind,
                                      int device)
{
    if (point->trace)
        hki_tracing_note_waited(point, kind, device);
}

#endif
