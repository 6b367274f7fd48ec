/* Accelerators within the engine: devices whose tasks end by a clock of their own. Shared by the files of this room. */
#ifndef HOCKET_ENGINE_ACCEL_ACCELERATOR_H
#define HOCKET_ENGINE_ACCEL_ACCELERATOR_H

#include "engine/sched/queue.h"
#include "engine/sched/tracing.h"

enum {
    HKI_IN_FLIGHT =
        2, /* launched in one queue, whatever they take: the one that runs, and the next */
    HKI_MAX_AHEAD = 256,   /* launched in one queue, at most */
    HKI_AHEAD_NS = 100000, /* more than launching takes: nobody need be further ahead */
};

/* The runtime's part for accelerators. */
struct hki_accelerators {
    struct hki_clock *clock;
    hki_launchers *launchers;      /* NULL: no device needs them */
    struct hki_put_offs *put_offs; /* put_off.h; NULL: no device puts work off */
    _Atomic(uint64_t)
        held_up; /* tasks that nobody was launched behind, for what their kernels may report */
};

/* ---- life (accelerator.c) ------------------------------------------------------------------------------------- */

/* When all queues are there; does nothing where none is an accelerator's. False: no memory. */
bool hki_accelerators_create(hki_runtime *runtime);
/* False: no memory or no thread for it; hki_accelerators_stop ends what runs. */
bool hki_accelerators_start(hki_runtime *runtime);
/* After `ended` has been set. Blocks until the threads have ended. */
void hki_accelerators_stop(hki_runtime *runtime);
void hki_accelerators_destroy(hki_runtime *runtime);

/* ---- launching and ending (accelerator.c, clock.c) ------------------------------------------------------------- */

/* A launched task. */
typedef struct hki_flight {
    hki_task *task;
    hki_ticket ticket;
    hki_run_point point;
    int64_t launched_ns;
} hki_flight;

/* The queue's list of launched tasks; false: no memory. */
bool hki_flights_create(hki_queue *queue);
/* False: no memory or no thread for it. */
bool hki_clock_start(hki_runtime *runtime);
/* Who launches from the queue has launched a task, counted in in_flight already. It may be gone on return. True: the task
 * has ended, too: see hki_accelerator_launch. */
bool hki_clock_add(hki_queue *queue, const hki_flight *flight);
/* Completes what has ended, on all devices. Does not block. */
void hki_clock_help(hki_executor *executor, hki_runtime *runtime);
/* The runtime is stopping: what is in flight, if anything, ends now where only a model says when. */
void hki_clock_hurry(hki_runtime *runtime);
void hki_clock_stop(hki_runtime *runtime);
/* This thread launches: it keeps to the cores for that, and has the floating-point environment of tasks. */
void hki_accelerator_pin(const hki_runtime *runtime);
/* A queue's own thread. */
void *hki_accelerator_main(void *worker);
/* Something is ready, and not too much in flight. Any thread. */
bool hki_accelerator_may_launch(hki_queue *queue);
/* Launches a task; one thread of a queue at a time. True: it has ended already, and the thread is to call hki_clock_help, which spares waking another one. */
bool hki_accelerator_launch(hki_executor *executor, hki_queue *queue, hki_task *task);
/* The device is done with the task, as the ticket says: notes when that was, and what became of it. */
void hki_accelerator_settle(hki_queue *queue, hki_task *task, hki_ticket *ticket);

/* ---- what may turn out failed (suspects.c) -------------------------------------------------------------------- */

/* The queue's list, where tasks may follow such in it. False: no memory. */
bool hki_suspects_create(hki_queue *queue);
/* The next two are for one thread of a queue at a time. Flags with which the task's inputs may turn out failed, held; before
 * its inputs are looked at. */
uint64_t hki_suspects_find(const hki_queue *queue, const hki_task *task);
/* The task has been launched, and holds its flags: notes what it has written, before others are launched behind it. False:
 * there is no room, and none are to be. */
bool hki_suspects_note(const hki_queue *queue, const hki_task *task, const hki_ticket *ticket);
/* The task has been completed, or not been launched: it holds its flags and suspects no more. is_good: no kernel of it has
 * reported anything. Any thread. */
void hki_suspects_settle(const hki_queue *queue, const hki_ticket *ticket, bool is_good);

/* ---- threads that launch for all simulated devices (launcher.c) ---------------------------------------------- */

/* For queues without a worker of their own. False: no memory or no thread for it; hki_launchers_stop ends those that run. */
bool hki_launchers_start(hki_runtime *runtime);
/* After `ended` has been set. Blocks until the threads have ended. */
void hki_launchers_stop(hki_runtime *runtime);

#endif
