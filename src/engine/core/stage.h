/* Gates that open twice, where there are accelerators: see stage.c. */
#ifndef HOCKET_ENGINE_CORE_STAGE_H
#define HOCKET_ENGINE_CORE_STAGE_H

#include "engine/core/runtime.h"

enum { HKI_GATE_MARKS = 20 /* queues whose tasks others are launched behind at one gate */ };

/* What a gate is where there are accelerators. For tasks of devices with streams it is open once those counted in it have
 * been launched, or have ended. */
typedef struct hki_staged_gate {
    hki_gate gate;
    _Atomic(int64_t) end_ns; /* the latest end of a task counted in it */
    atomic_uint unlaunched;  /* as count: those not launched yet */
    atomic_uint is_launched;
    atomic_uint
        is_held;   /* of a writer that has ended, whose bytes are not there yet: accel/held.c */
    hki_lock lock; /* the rest, until it is launched */
    int mark_count;
    bool is_crowded; /* more queues than marks: it does not open before its end */
    hki_mark marks[HKI_GATE_MARKS];
} hki_staged_gate;

/* The task is issued now, which is the earliest that it is ready: notes that, and whether it may be launched ahead.
 * Before it is registered. */
void hki_stage_begin(hki_task *task);
/* It has ended, and its slot is to be another's. */
void hki_stage_end(hki_task *task);
/* Whether tasks of other queues, or threads, are known to wait for the task, which has been launched and is counted in its
 * gates. Looks at a few only. */
bool hki_stage_is_awaited(hki_task *task);
/* Blocks until all has ended that the task waited for, which is launched at least. */
void hki_stage_await(hki_task *task);

/* The next five expect that the thread keeps order. A fresh gate has one writer or reader; gets one more reader; gets no more,
 * while one is counted in it. */
void hki_stage_init(hki_gate *gate, bool writes);
void hki_stage_join(hki_gate *gate);
void hki_stage_close(hki_gate *gate);
/* The task, which is being issued, is about to wait for a gate; need not after all, for it is open. */
void hki_stage_expect(hki_task *task, bool waits);
/* It waits for the gate, in its own place of that index (hki_wait_node_index). True: the gate is launched, and the task's
 * `pending` does not count it. */
bool hki_stage_pass(hki_task *task, hki_gate *gate, int index);
/* The task leaves the gate, before it is counted out: tasks that this makes ready are put before `ready`. */
hki_task *hki_stage_leave(hki_task *task, hki_gate *gate, hki_task *ready);
int64_t hki_stage_end_ns(hki_gate *gate);
/* The task, which has ended, leaves the gate, which stays closed until hki_gate_open_held. True:
 * somebody waits for it. */
bool hki_stage_hold(hki_task *task, hki_gate *gate);
/* The gate is such a one: asked when a task waits for it. */
bool hki_stage_is_held(hki_gate *gate);
/* A gate of such an end is open that the task waited for at `index` (hki_wait_node_index). True: the task is ready. */
bool hki_stage_open(hki_task *task, int index, int64_t end_ns);
/* The task has been launched, and cannot fail any more while its device works; returns who is ready for that. */
hki_task *hki_stage_launch(hki_task *task, const hki_mark *mark);

#endif
