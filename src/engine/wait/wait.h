/* Waiting, as far as the engine itself needs it. All block. */
#ifndef HOCKET_ENGINE_WAIT_WAIT_H
#define HOCKET_ENGINE_WAIT_WAIT_H

#include "engine/sched/queue.h"
#include "engine/wait/blocking.h"

/* Until the thread may issue one more call, whose outputs take so many bytes, or is interrupted: helps, or waits. In no task. */
void hki_wait_to_issue(hki_runtime *runtime, uint64_t output_bytes);
/* Waits as hki_wait_with does, for readers too if the thread is going to write. hold: NULL, or *hold then stands in the range,
 * until hki_wait_end, unless the record is of a failure. In no task, of the asynchronous engine. */
const hk_status *hki_wait_hold(const hki_waiting *waiting, bool writes, hki_task **hold);
/* The serial engine's, where nothing is held back: the program is going to write the range. That
 * takes a place in the order of calls, and gradients that read the range are to fail. Does not
 * block. */
void hki_wait_note_write(const hki_waiting *self);
/* The serial engine's, whose lock is expected, and released meanwhile: blocks until no promise that
 * conflicts with the access (NULL: any) is open, and completes those that are not. False: it was
 * interrupted. blocking: NULL where it must not be. */
bool hki_promises_await_locked(hki_runtime *runtime, const hki_access *access,
                               hki_blocking *blocking);
/* Ends a wait that is over: what it held back goes on. */
void hki_wait_end(hki_task *task);
/* The task, or, if that is NULL, some call, of the device unless that is NULL, is behind a hold (hold.c) that this thread began,
 * so that the thread would wait for itself: the record for that, counted; else NULL. */
const hk_status *hki_holds_block(hki_runtime *runtime, const hki_task *task,
                                 const hki_device *device);
/* Ends all of a runtime that is about to end, and says so on the standard error. */
void hki_holds_end_all(hki_runtime *runtime);
/* Until all that was issued to the device before has finished. False: it was interrupted. blocking: NULL where it must not be. */
bool hki_queue_drain(hki_queue *queue, hki_blocking *blocking);
/* The thread is amid that: it has been called from a hook. */
bool hki_is_draining(void);
/* The record for a wait within a task; counted. */
const hk_status *hki_would_deadlock(const char *operation);

#endif
