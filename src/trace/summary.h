/* What a timeline says in a few numbers. */
#ifndef HOCKET_TRACE_SUMMARY_H
#define HOCKET_TRACE_SUMMARY_H

#include "trace/timeline.h"

hk_trace_summary hki_timeline_summarize(const hki_timeline *timeline);
/* All zeros, with "" for texts, unless 0 <= index < number of queues that ran something. */
hk_trace_queue hki_timeline_get_queue(const hki_timeline *timeline, int index);

#endif
