/* Waiting, as far as the engine itself needs it. All block. */
#ifndef HOCKET_ENGINE_WAIT_WAIT_H
#define HOCKET_ENGINE_WAIT_WAIT_H

#include "engine/sched/queue.h"

/* Until the thread may issue one more call, whose outputs take so many bytes: helps, or waits. In no task. */
void hki_wait_to_issue(hki_runtime *runtime, uint64_t output_bytes);
/* Until all that was issued to the device before has finished. */
void hki_queue_drain(hki_queue *queue);
/* The record for a wait within a task; counted. */
const hk_status *hki_would_deadlock(const char *operation);

#endif
