/* Where a task runs: in the thread that issues it, or handed to a worker. One question a task, one answer; the rules, first
 * that fits:
 *
 *     a reduction between devices, or an accelerator's                              its queue
 *     one of a thread that waits for each task before the next                       here, up to 50 us; on one core, and
 *                                                                                    in pieces, which workers share, 500
 *     in several pieces                                                             the ring or its queue, as below
 *     expected to take no longer than handing it over is worth                      here
 *     one of a chain, each task of which needs the one before                        here, up to HKI_HERE_NS
 *     else, while a worker looks at the ring, or would be woken for a short task     the ring
 *     else                                                                          its queue
 *
 * What handing over is worth is a constant of tuning.h, or told by the program (hk_runtime_options.inline_ns). */
#ifndef HOCKET_ENGINE_POLICY_PLACE_H
#define HOCKET_ENGINE_POLICY_PLACE_H

#include "engine/sched/ring.h"
#include "engine/sched/tracing.h"

typedef enum hki_place {
    HKI_PLACE_AT_ONCE, /* here, under the issue lock where nothing is in its way, else as HERE */
    HKI_PLACE_HERE,    /* here, as soon as it is ready */
    HKI_PLACE_RING,    /* a worker takes it from the ring */
    HKI_PLACE_QUEUE    /* registered here, in its device's queue when it is ready */
} hki_place;

struct hki_placement {
    bool is_fixed; /* the program has said what runs in the caller */
    /* What runs in the caller takes at most this long; negative: nothing does. The second is for short tasks of runtimes with
     * a ring: they run side by side, so that handing one over is worth it sooner. */
    int64_t inline_ns, inline_short_ns;
};

/* inline_ns: what the program has said, 0: nothing. */
void hki_placement_init(hki_placement *placement, int64_t inline_ns);

/* A leaf that nobody else need learn of, wherever it runs. */
static inline bool hki_is_brief(const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    return spec->expected_ns <= HKI_DIRECT_NS && spec->class->leaf && spec->piece_count == 1 &&
           !spec->collective && !hki_tracing(task->runtime);
}

hki_place hki_place_slow(const hki_task *task, bool is_usual_environment);

/* Once for each task, in the thread that submits it, without a lock. */
static inline hki_place hki_place_task(const hki_task *task)
{
    const bool usual = hki_floats_are_usual(); /* asked early: the answer takes a while */
    if (HKI_USUALLY(task->runtime->ring != NULL) && hki_is_brief(task) && HKI_USUALLY(usual) &&
        HKI_USUALLY(task->spec.expected_ns <= task->runtime->placement->inline_short_ns))
        return HKI_PLACE_AT_ONCE;
    return hki_place_slow(task, usual);
}

/* The thread waits for the variable, or looks at it; NULL: for all. */
void hki_place_note_wait(const hki_var *var);

#endif
