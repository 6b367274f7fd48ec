/* Holds: a range of bytes that the program itself reads or writes for a while, by a wait that does not end. Calls that conflict
 * with it stay behind it. In the serial engine, where calls run at once, it holds nothing back. Thread-safe. */
#ifndef HOCKET_ENGINE_WAIT_HOLD_H
#define HOCKET_ENGINE_WAIT_HOLD_H

#include "engine/wait/wait.h"

/* A call or wait is behind a hold that this thread began, so that the thread would wait for itself: the record for that,
 * counted; else NULL. */
const hk_status *hki_holds_block_task(hki_task *task);
/* The same of any call; of the device unless that is NULL. */
const hk_status *hki_holds_block_calls(hki_runtime *runtime, const hki_device *device);
/* Ends all of a runtime that is about to end, and says so on the standard error. */
void hki_holds_end_all(hki_runtime *runtime);

#endif
