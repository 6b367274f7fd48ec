/* The runtime: what everything in the engine hangs off, how it is set up, and who waits for it. */
#ifndef HOCKET_ENGINE_ENGINE_RUNTIME_H
#define HOCKET_ENGINE_ENGINE_RUNTIME_H

#include "base/biased_lock.h"
#include "base/choices.h"
#include "device/cpu/cpu_topology.h"
#include "device/cuda/cuda_loader.h"
#include "device/sim/sim_device.h"
#include "engine/order.h"

/* ---- cores to launch on (launcher.c) ---------------------------------------------------------------------------- */

/* Cores for the threads that launch: those that no CPU device has; where there are none, whatever core a CPU device
 * does not use at the moment. */
typedef struct hki_launch_cores {
    _Atomic(int32_t) free;
    int count;
    int processors[HKI_MAX_CORES];
} hki_launch_cores;

/* ---- setting up (setup.c) ------------------------------------------------------------------------------------------ */

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

/* ---- waiting (wait.c) ---------------------------------------------------------------------------------------------- */

/* Wakes waiting threads, if there are any that sleep. Call it after the sequentially consistent write
 * that they wait for. */
void hki_progress(hki_runtime *runtime);
void hki_window_wait(hki_runtime *runtime, uint64_t output_bytes);
/* In a worker that holds nothing, where window_wanted says that somebody waits: if there is room by now, wakes them, and
 * lets them have this core. They would not get one otherwise while all are busy with short tasks, not before these have run
 * out: a thread that wakes up has to wait until another has used up its time. */
void hki_window_make_room(hki_runtime *runtime);
/* Before a thread that issues is further ahead of short tasks than is of use: helps, or waits, as long as some finish. */
void hki_window_approach(hki_runtime *runtime);
bool hki_window_full_locked(hki_runtime *runtime, uint64_t output_bytes);
/* How many that were issued have not finished, to the last one. Expects the issue lock. */
uint64_t hki_counted_unfinished_locked(hki_runtime *runtime);
/* Blocks until all that was issued to the device before has finished. */
void hki_queue_drain(hki_queue *queue);

/* ---- the runtime (runtime.c) --------------------------------------------------------------------------------------- */

typedef struct hki_sharing hki_sharing;

struct hki_runtime {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) refs;

    /* Read everywhere, written seldom. */
    _Alignas(HKI_CACHE_LINE) unsigned generation; /* of forks */
    uint64_t number; /* no other of this process, not even a later one, has the same */
    _Atomic(bool) ended, stopping;
    bool serial, accelerated; /* accelerated: has devices whose tasks end by a clock of their own */
    bool is_plain;            /* neither */
    bool is_told;             /* the program has said what runs in the caller */
    _Atomic(int) failed_vars; /* variables with failed ranges */
    _Atomic(uint32_t) sleepers;  /* threads that sleep until there is progress */
    _Atomic(int) lendable_tasks; /* started, with pieces in a queue: see lending.h */
    _Atomic(uint32_t) waiters;   /* where there are accelerators: threads that wait */
    _Atomic(hki_trace *) trace;  /* NULL: nothing is recorded */
    /* What runs in the caller takes at most this long, with a worker awake and without: negative: nothing does; 0: not
     * measured yet. */
    _Atomic(int64_t) inline_ns, inline_asleep_ns;
    _Atomic(int64_t) inline_turn_ns; /* the same for what takes turns */
    uint64_t run_ahead_calls, run_ahead_bytes;
    const hk_status *config_error; /* NULL: none */
    hki_choices *choices;          /* NULL only with a config_error */
    const hk_status *cancelled;
    hki_budget *budgets;
    int budget_count;
    /* In which workers register tasks, see hki_order_acquire; NULL: who issues them does. */
    hki_order *ordering;
    hki_launch_cores launch_cores;
    struct hki_clock *clock;
    hki_launchers *launchers; /* NULL: no device needs them */
    hki_counter *counters;    /* one for each core of the CPU devices, and one for relief.c */
    int counter_count, core_count;
    int device_count, queue_count;
    hki_device *devices[HKI_MAX_DEVICES];
    hki_queue *queues[HKI_MAX_DEVICES * HKI_QUEUE_KIND_COUNT]; /* of all devices */

    /* Issue lock: */
    _Alignas(HKI_CACHE_LINE) hki_biased_lock issue_lock;
    uint64_t sequence;
    bool counts_writes;   /* a task has asked for versions */
    hki_task *free_tasks; /* each with others: see hki_task.returned */
    hki_task *free_slots[HKI_FREE_SLOTS];
    int free_slot_count;
    unsigned shape; /* of the latest task that was put into a ring */
    hki_gate *spare_gates;
    /* Written under the lock, read without to see that the window is far from full. */
    _Atomic(uint64_t) issued_tasks, known_finished;
    _Atomic(uint64_t) near_calls;  /* see hki_window_approach */
    _Atomic(uint64_t) clear_calls; /* so many may be unfinished: neither near nor a full window */
    uint64_t inline_calls, direct_calls;
    void *blocks; /* memory of slots and gates */
    char *block_rest, *block_end;
    /* What the tasks counted in issued_tasks are expected to take; both, when hki_window_approach looked last. */
    int64_t issued_ns, looked_ns;
    uint64_t looked_tasks;

    /* Who keeps order: see hki_order_acquire. */
    _Alignas(HKI_CACHE_LINE) hki_gate *free_gates;

    _Alignas(HKI_CACHE_LINE) _Atomic(hki_task *) returned_tasks;
    _Atomic(hki_gate *) returned_gates;
    /* See sharing.c: what there is to share, NULL: nothing; threads that are looking at this. */
    _Alignas(HKI_CACHE_LINE) _Atomic(hki_sharing *) sharing;
    atomic_int sharing_visitors;
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) progress;
    /* A thread waits for room, and none has woken it since: until so many calls are unfinished, and so much is held, at most;
     * the processor that it was on. */
    _Atomic(bool) window_wanted;
    _Atomic(int) window_processor;
    _Atomic(uint64_t) window_calls;
    _Atomic(int64_t) window_held;
    _Atomic(uint64_t) finished_elsewhere; /* tasks, by threads that are no workers */
    _Atomic(uint64_t) helped_calls, window_waits, worker_waits;
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
 * so that gates stay in its cache: while there are such in the ring, who holds the order's lock keeps order, else who
 * holds the issue lock. */
void hki_order_wait_locked(hki_runtime *runtime);

/* The thread keeps order until it releases the issue lock, which this expects. */
static inline void hki_order_keep_locked(hki_runtime *runtime)
{
    if (runtime->ordering && !hki_order_is_empty(runtime->ordering))
        hki_order_wait_locked(runtime);
}

/* The same, and acquires the issue lock. */
static inline void hki_order_acquire(hki_runtime *runtime)
{
    hki_biased_acquire(&runtime->issue_lock);
    hki_order_keep_locked(runtime);
}

/* True: the run-ahead window has room for sure, and it is no time for hki_window_approach. */
static inline bool hki_window_is_clear(hki_runtime *runtime, uint64_t output_bytes)
{
    const uint64_t known = atomic_load_explicit(&runtime->known_finished, memory_order_relaxed);
    const uint64_t issued = atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed);
    const int64_t held = atomic_load_explicit(&runtime->window_bytes, memory_order_relaxed);
    return issued - known < atomic_load_explicit(&runtime->clear_calls, memory_order_relaxed) &&
           (held <= 0 || (uint64_t)held + output_bytes <= runtime->run_ahead_bytes);
}

/* Sets with how many unfinished calls it is time for hki_window_approach; not before there are a certain number. */
void hki_window_set_near(hki_runtime *runtime, uint64_t calls);

/* ---- slots (slot.c) ------------------------------------------------------------------------------------------------ */

/* What a thread has of its own. One address of it is enough for all. */
typedef struct hki_thread {
    /* The slot that it is going to need next: it takes that without a lock. */
    hki_task *kept;
    uint64_t kept_number; /* of the slot's runtime, if that one is still there */
    bool is_watched;      /* the slot is given back when the thread ends before its runtime */
    int task_depth;       /* > 0 while it runs a task, see task.c */
    uint64_t last_sequence, submitted_count;
    uint64_t waited_count;   /* submitted_count when it waited last */
    const hki_var *lone_var; /* that the first task after that writes */
    uint32_t lone_waits;     /* in a row, each after one task and for what it writes */
    /* See hki_turn_where: calls that asked since it looked last, after how many it looks again, what follows from what it
     * saw. */
    uint32_t turn_calls, turn_period;
    int64_t turn_limit_ns;
    uint64_t turn_number; /* of the runtime that it was in */
} hki_thread;

extern _Thread_local hki_thread hki_this_thread;

static inline bool hki_has_kept(const hki_thread *self, const hki_runtime *runtime)
{
    return HKI_USUALLY(self->kept) && HKI_USUALLY(self->kept_number == runtime->number);
}

void hki_slot_keep_slow_locked(hki_task *task);

/* The slot that the thread has kept, if that is all that is needed, as it usually is; else NULL. */
static inline hki_task *hki_slot_take_kept(hki_thread *self, hki_runtime *runtime, int access_count,
                                           size_t payload_bytes, uint64_t output_bytes)
{
    hki_task *task = self->kept;
    if (!hki_has_kept(self, runtime) || !HKI_USUALLY(task->reserve_count >= access_count) ||
        access_count > HKI_TASK_INLINE_ACCESSES || payload_bytes > HKI_TASK_PAYLOAD_BYTES ||
        !HKI_USUALLY(hki_window_is_clear(runtime, output_bytes)))
        return NULL;
    self->kept = NULL;
    hki_slot_init(task, access_count, payload_bytes);
    return task;
}

/* may_wait: blocks while the run-ahead window has no room. NULL: no memory. */
hki_task *hki_slot_get(hki_runtime *runtime, int access_count, size_t payload_bytes,
                       uint64_t output_bytes, bool may_wait);

/* The thread keeps the slot, clean and with nobody else knowing of it, for its next begin; where it has one already, the
 * slot goes to the free ones. Expects the issue lock. */
static inline void hki_slot_keep_locked(hki_thread *self, hki_runtime *runtime, hki_task *task)
{
    if (HKI_USUALLY(!self->kept && self->is_watched)) {
        self->kept = task;
        self->kept_number = runtime->number;
    } else {
        hki_slot_keep_slow_locked(task);
    }
}

#endif
