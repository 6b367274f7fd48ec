/* What an issuing thread does before its next call: go on, help, or wait. Two bounds hold it back. The run-ahead window, of
 * unfinished calls and of bytes that only these hold, is a promise: a thread waits until it is half empty. And of short tasks
 * a thousand ahead is as good as many, while slots, gates and the ring stay in the caches: the soft bound, which is
 * raised where waiting brings the thread no nearer. */
#ifndef HOCKET_ENGINE_POLICY_THROTTLE_H
#define HOCKET_ENGINE_POLICY_THROTTLE_H

#include "engine/sched/ring.h"

/* Zeroed, but for the window. */
struct hki_throttle {
    uint64_t run_ahead_calls, run_ahead_bytes; /* the window */
    _Atomic(uint64_t) known_finished;          /* that many at least */
    _Atomic(uint64_t) soft_calls; /* the soft bound; the window's, where there is none */
    _Atomic(uint64_t) window_waits, worker_waits;
};

/* Sets the soft bound; to the least one where calls is 0. */
void hki_throttle_set_soft(hki_runtime *runtime, uint64_t calls);

/* True: below both bounds for sure. */
static inline bool hki_throttle_is_clear(const hki_runtime *runtime, uint64_t output_bytes)
{
    hki_throttle *self = runtime->throttle;
    const uint64_t known = atomic_load_explicit(&self->known_finished, memory_order_relaxed);
    const uint64_t issued =
        atomic_load_explicit(&((hki_runtime *)runtime)->issued_tasks, memory_order_relaxed);
    const int64_t held =
        atomic_load_explicit(&((hki_runtime *)runtime)->held_bytes, memory_order_relaxed);
    return issued - known < atomic_load_explicit(&self->soft_calls, memory_order_relaxed) &&
           (held <= 0 || (uint64_t)held + output_bytes <= self->run_ahead_bytes);
}

/* A state that a thread waits for. */
typedef struct hki_room {
    hki_runtime *runtime;
    uint64_t calls; /* at most so many unfinished ones, */
    int64_t held;   /* and so many bytes held by them */
} hki_room;

/* True: the thread has to wait; *room: for what. */
bool hki_throttle_is_full(hki_runtime *runtime, uint64_t output_bytes, hki_room *room);
/* Of an hki_room: 0: it has come, or the runtime is ending; else how many calls are unfinished. */
uint64_t hki_throttle_left(const void *room);

/* True: the thread is beyond the soft bound, which is not to be raised now: it has to wait, *room: for what, *use: how. */
bool hki_throttle_is_far(hki_runtime *runtime, hki_room *room, hki_lease_use *use);

#endif
