/* From what the threads of a runtime noted to a timeline.
 *
 * Calls are those whose issue and end were both recorded. Of one that was issued before recording began nothing is
 * known but a number: it is left out, and who waited for it merely seems to become ready late. One that had not
 * finished when recording ended is left out too; so is one of whose records some were lost.
 *
 * A call of an accelerator has the times of its device's clock (the model's, of a simulated one), and is one slice in the
 * lane of its queue; where that has none (the call was skipped, or failed before it was launched) it takes no time, at
 * the moment of its real end. It may have been launched before what it waited for had ended: it became ready when that
 * had. Every other call is drawn where its pieces really ran. */
#ifndef HOCKET_TRACE_COLLECT_H
#define HOCKET_TRACE_COLLECT_H

#include "trace/timeline.h"

typedef struct hki_collect_device {
    const char *name;
    bool is_simulated, is_accelerator; /* simulated ones are both */
    int queue_count; /* of the first kinds: 1, or HKI_QUEUE_REDUCE, or with that one */
} hki_collect_device;

/* Whose records; borrowed for the call. Tests put their own in the place of hki_trace_each. */
typedef struct hki_collect_source {
    hki_trace *trace;
    bool (*each)(hki_trace *trace,
                 bool (*visit)(void *context, const hki_trace_thread_info *thread,
                               const hki_trace_head *record),
                 void *context);
    hki_trace_facts facts;
    const hki_collect_device *devices; /* by index in the runtime; at least one */
    int device_count;
    const char *title;
} hki_collect_source;

/* A new timeline; NULL when host memory is short. O(n log n) for n records. */
hki_timeline *hki_timeline_collect(const hki_collect_source *source);

/* ---- parts of it, used by collect.c -------------------------------------------------------------------------- */

/* "float32(2,3), float32(3,) -> float32(2,3)", cut with "..." where it would be longer than `bytes`. */
void hki_collect_shapes(const hki_trace_issue_record *issue, char *text, size_t bytes);

/* Calls of the queues that have a clock, by index, may have been launched before what they depend on had ended: they
 * became ready when that had, by their devices' clocks. */
void hki_collect_ready(hki_timeline *timeline, const bool *has_clock);

/* Sorts the slices as hki_timeline wants them, and shortens those that others of their lane outlast: a lane's nest.
 * False when host memory is short. */
bool hki_collect_nest_slices(hki_timeline *timeline);

/* Says of each wait which call ended last while it lasted, of those issued before it began (`sequences`: the latest
 * of them) and, where it waited for a device, of that device's. False when host memory is short. */
bool hki_collect_ends_of_waits(hki_timeline *timeline, const uint64_t *sequences);

#endif
