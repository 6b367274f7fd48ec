/* Which of an operator's kernels a call takes, where that was measured (base/choices.h). */
#ifndef HOCKET_OP_CHOICE_H
#define HOCKET_OP_CHOICE_H

#include "base/choices.h"
#include "op/op.h"

/* The index of the chosen one in `words` (ends with NULL; words[0] stands for the operator's rules), for hki_plan.method.
 * 0 where nothing was chosen. For calls that are worth the search, which takes a fraction of a microsecond. */
int hki_choice_find(const hki_call *call, const hki_choice_key *key, const char *const *words,
                    hki_choice_measure_fn measure);
/* Whether it is worth making a key. */
static inline bool hki_choice_is_asked(const hki_call *call)
{
    return call->device->class && call->device->class->kernels == HKI_CPU &&
           hki_choices_is_asked(hki_runtime_choices(call->device->runtime));
}

/* The nanoseconds that `run` takes, at least, of as many runs as a few milliseconds have room for; interleave calls for
 * several candidates and keep the least of each. */
double hki_choice_time(void (*run)(void *argument), void *argument);

#endif
