/* Tasks that somebody outside the engine ends: the classes that are is_outside. */
#ifndef HOCKET_ENGINE_SCHED_OUTSIDE_H
#define HOCKET_ENGINE_SCHED_OUTSIDE_H

#include "engine/sched/executor.h"

/* Hands the task over. It may be gone on return. */
void hki_outside_run(hki_task *task);
/* The serial engine's: blocks until the task has been ended. It is then to be completed. */
void hki_outside_await(hki_task *task);

#endif
