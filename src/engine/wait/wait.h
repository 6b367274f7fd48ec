/* Waiting, as far as the engine itself needs it. All block. */
#ifndef HOCKET_ENGINE_WAIT_WAIT_H
#define HOCKET_ENGINE_WAIT_WAIT_H

#include "engine/sched/queue.h"
#include "engine/wait/blocking.h"

/* Until the thread may issue one more call, whose outputs take so many bytes, or is interrupted: helps, or waits. In no task. */
void hki_wait_to_issue(hki_runtime *runtime, uint64_t output_bytes);
/* Until all that was issued to the device before has finished. False: it was interrupted. blocking: NULL where it must not be. */
bool hki_queue_drain(hki_queue *queue, hki_blocking *blocking);
/* The thread is amid that: it has been called from a hook. */
bool hki_is_draining(void);
/* The record for a wait within a task; counted. */
const hk_status *hki_would_deadlock(const char *operation);

#endif
