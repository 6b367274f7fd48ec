/* Whether a task is worth handing to a worker. */
#ifndef HOCKET_ENGINE_HANDOVER_H
#define HOCKET_ENGINE_HANDOVER_H

#include "engine/engine_runtime.h"

/* What runs in the caller takes at most this long; negative: nothing does; 0: not measured yet. */
static inline int64_t hki_inline_limit_ns(hki_runtime *runtime, bool takes_turns)
{
    return atomic_load_explicit(takes_turns ? &runtime->inline_turn_ns : &runtime->inline_ns,
                                memory_order_relaxed);
}

/* True: the answer of hki_runs_in_caller is yes. */
static inline bool hki_runs_in_caller_surely(const hki_queue *queue, int64_t expected_ns,
                                             bool takes_turns)
{
    int64_t limit_ns = hki_inline_limit_ns(queue->runtime, takes_turns);
    int64_t unmeasured_ns = takes_turns ? HKI_DIRECT_NS / HKI_TURN_DIVISOR : HKI_DIRECT_NS;
    return expected_ns <= (limit_ns ? limit_ns : unmeasured_ns);
}

/* For what is not sure: looks how busy the workers are, or measures. */
bool hki_runs_in_caller_slow(hki_queue *queue, int64_t expected_ns, bool takes_turns);

/* Whether a ready task of this CPU queue, expected to take so long, had better run in the thread that issues it. One that
 * takes turns runs beside others of its kind: that pays from a part of the way to a worker and back on, since the lines
 * of several are on their way at a time.
 * Blocks for less than a millisecond where that is still to be measured. */
static inline bool hki_runs_in_caller(hki_queue *queue, int64_t expected_ns, bool takes_turns)
{
    if (hki_runs_in_caller_surely(queue, expected_ns, takes_turns))
        return true;
    return hki_inline_limit_ns(queue->runtime, takes_turns) >= 0 &&
           expected_ns <= HKI_LONG_TASK_NS &&
           hki_runs_in_caller_slow(queue, expected_ns, takes_turns);
}

typedef enum hki_where { HKI_ANYWHERE, HKI_IN_CALLER, HKI_IN_WORKER } hki_where;

/* Of a task that takes turns, and takes longer than is sure to run better in the caller: it had better run there all the
 * same where the tasks of this thread depend on each other, so that there is nothing to do beside it. Asked once for each
 * such task. Hands some over now and then, to see, and waits for all that is unfinished, half a millisecond at most. */
hki_where hki_turn_where(hki_thread *self, hki_runtime *runtime, int64_t expected_ns);

/* True: hki_turn_where would say so at once, as of the calls before it. */
static inline bool hki_turn_stays_in_caller(hki_thread *self, const hki_runtime *runtime,
                                            int64_t expected_ns)
{
    if (expected_ns > self->turn_limit_ns || self->turn_number != runtime->number ||
        self->turn_calls <= HKI_TURN_LOOK || self->turn_calls >= self->turn_period ||
        self->task_depth > 0)
        return false;
    self->turn_calls++;
    return true;
}

/* ---- who waits for each task ----------------------------------------------------------------------------------------- */

/* The thread waits for the variable, or looks at it; NULL: for all. */
static inline void hki_note_wait(hki_thread *self, const hki_var *var)
{
    const uint64_t tasks = self->submitted_count - self->waited_count;
    self->waited_count = self->submitted_count;
    if (tasks == 1 && (!var || var == self->lone_var))
        self->lone_waits++;
    else if (tasks > 0)
        self->lone_waits = 0;
}

/* Notes what the thread is submitting. True: it has waited for the one task that it had submitted time after time, and is
 * going to wait for this one, too: then it had better run it itself, in a cache that has seen the others. Only what takes
 * no longer than waking a worker does; a program that does not wait any more is held up by one such task. */
static inline bool hki_waits_anyway(hki_thread *self, const hki_queue *queue,
                                    const hki_task_spec *spec)
{
    if (self->submitted_count != self->waited_count + 1)
        return false;
    self->lone_var = NULL;
    for (int i = 0; i < spec->access_count && !self->lone_var; i++)
        if (spec->accesses[i].mode & HKI_WRITE)
            self->lone_var = spec->accesses[i].var;
    return self->lone_waits >= HKI_LONE_WAITS && spec->expected_ns <= HKI_SPIN_NS &&
           !queue->runtime->is_told;
}

#endif
