/* Accelerators within the engine: devices whose tasks end by a clock of their own. Shared by the files of the engine. */
#ifndef HOCKET_ENGINE_ACCELERATOR_H
#define HOCKET_ENGINE_ACCELERATOR_H

#include "engine/engine_internal.h"
#include "engine/queue_set.h"

enum {
    HKI_IN_FLIGHT =
        2, /* launched in one queue, whatever they take: the one that runs, and the next */
    HKI_MAX_AHEAD = 256,   /* launched in one queue, at most */
    HKI_AHEAD_NS = 100000, /* more than launching takes: nobody need be further ahead */
    HKI_GATE_MARKS = 4     /* queues whose tasks others are launched behind at one gate */
};

/* ---- launching and ending (accelerator.c, clock.c) ------------------------------------------------------------- */

/* A launched task. */
typedef struct hki_flight {
    hki_task *task;
    hki_ticket ticket;
    hki_run_point point;
    int64_t launched_ns;
} hki_flight;

/* False: no memory or no thread for it. */
bool hki_clock_start(hki_runtime *runtime);
/* Who launches from the queue has launched a task, counted in in_flight already. It may be gone on return. True: the task
 * has ended, too: see hki_accelerator_launch. */
bool hki_clock_add(hki_queue *queue, const hki_flight *flight);
/* Completes what has ended, on all devices. Does not block. */
void hki_clock_help(hki_executor *executor, hki_runtime *runtime);
/* The runtime is stopping: what is in flight ends now where only a model says when. */
void hki_clock_hurry(hki_runtime *runtime);
void hki_clock_stop(hki_runtime *runtime);
/* A queue's own thread. */
void *hki_accelerator_main(void *worker);
/* Something is ready, and not too much in flight. Any thread. */
bool hki_accelerator_may_launch(hki_queue *queue);
/* The next two are for one thread of a queue at a time. What is to be launched next; NULL: nothing is ready. */
hki_task *hki_accelerator_take(hki_queue *queue);
/* Launches it. True: it has ended already, and the thread is to call hki_clock_help, which spares waking another one. */
bool hki_accelerator_launch(hki_executor *executor, hki_queue *queue, hki_task *task);
/* The serial engine's: the task has run in this thread; sleeps until its device has done it. */
void hki_accelerator_pace(hki_task *task, int64_t ready_ns, int64_t host_ns);
/* The device is done with the task, as the ticket says: notes when that was, and what became of it. */
void hki_accelerator_settle(hki_queue *queue, hki_task *task, hki_ticket *ticket);
/* Processor time of this thread. */
int64_t hki_thread_ns(void);

/* ---- threads that launch for all simulated devices (launcher.c) ---------------------------------------------- */

/* When all queues are there: for those without a worker of their own. False: no memory. */
bool hki_launchers_create(hki_runtime *runtime);
/* False: no thread for it; hki_launchers_stop ends those that run. */
bool hki_launchers_start(hki_runtime *runtime);
/* After `ended` has been set. Blocks until the threads have ended. */
void hki_launchers_stop(hki_runtime *runtime);

/* ---- launching ahead (ahead.c): only where there are accelerators -------------------------------------- */

/* What a gate is where there are accelerators: one that opens twice. For tasks of devices with streams it is open once
 * those counted in it have been launched, or have ended (ahead.c). */
typedef struct hki_staged_gate {
    hki_gate gate;
    _Atomic(int64_t) end_ns; /* the latest end of a task counted in it */
    atomic_uint unlaunched;  /* as count: those not launched yet */
    atomic_uint is_launched;
    hki_lock lock; /* the rest, until it is launched */
    int mark_count;
    bool is_crowded; /* more queues than marks: it does not open before its end */
    hki_mark marks[HKI_GATE_MARKS];
} hki_staged_gate;

/* The task is issued now, which is the earliest that it is ready: notes that, and whether it may be launched ahead.
 * Before it is registered. */
void hki_ahead_begin(hki_task *task);
/* It has ended, and its slot is to be another's. */
void hki_ahead_end(hki_task *task);
/* Blocks until all has ended that the task waited for, which is launched at least. */
void hki_ahead_await(hki_task *task);

/* The next six expect the issue lock. A fresh gate has one writer or reader; gets one more reader; gets no more, while
 * one is counted in it. */
void hki_stage_init(hki_gate *gate, bool writes);
void hki_stage_join(hki_gate *gate);
void hki_stage_close(hki_gate *gate);
/* The task, which is being issued, is about to wait for a gate; need not after all, for it is open. */
void hki_stage_expect(hki_task *task);
void hki_stage_forget(hki_task *task);
/* It waits for the gate, in its own place of that index (hki_wait_node_index). True: the gate is launched, and the task's
 * `pending` does not count it. */
bool hki_stage_pass(hki_task *task, hki_gate *gate, int index);
/* The task leaves the gate, before it is counted out: tasks that this makes ready are put before `ready`. */
hki_task *hki_stage_leave(hki_task *task, hki_gate *gate, hki_task *ready);
int64_t hki_stage_end_ns(hki_gate *gate);
/* A gate of such an end is open that the task waited for at `index` (hki_wait_node_index). True: the task is ready. */
bool hki_stage_open(hki_task *task, int index, int64_t end_ns);
/* The task has been launched, and cannot fail any more while its device works; returns who is ready for that. */
hki_task *hki_stage_launch(hki_task *task, const hki_mark *mark);

#endif
