/* Byte ranges of variables whose next write somebody wants to know of, such as the tape of what gradients will read. */
#ifndef HOCKET_ENGINE_CORE_WATCH_H
#define HOCKET_ENGINE_CORE_WATCH_H

#include "engine/engine.h"

/* Embedded in its owner; zeroed: watches nothing. Members are the issue lock's; `operation` and `source` stay as they are once
 * it is written. */
typedef struct hki_watch {
    struct hki_watch *next, **link; /* in the variable's list */
    hki_var *var;                   /* NULL: watches nothing */
    hki_range range;
    bool is_written;
    /* The first write; NULL where another thread's came between what was watched for and hki_watch_begin. */
    const char *operation; /* static text */
    hk_source source;
} hki_watch;

/* Notes writes of the range that are issued after the task of this sequence number. The variable outlives the watch.
 * Takes the issue lock. */
void hki_watch_begin(hki_watch *watch, hki_var *var, hki_range range, uint64_t sequence);
/* True: the range has been written to. ends: it is asked the last time; idempotent. Takes the issue lock. */
bool hki_watch_is_written(hki_watch *watch, bool ends);

/* Writes are counted from now on; see hki_var.version. Takes the issue lock. */
void hki_writes_count(hki_runtime *runtime);
/* Somebody else may write to the variable at any time from now on: no two tasks read the same version of it. Takes the issue
 * lock. */
void hki_writes_are_unknown(hki_var *var);
/* See hki_var.version; 0 where it is unknown. Takes the issue lock. */
uint64_t hki_writes_last(const hki_var *var);
/* Of a task that is being issued. Expects the issue lock. */
void hki_writes_note_locked(hki_task_spec *spec, uint64_t sequence);

#endif
