/* hk_trace: a counted timeline. */
#ifndef HOCKET_TRACE_TRACE_OBJECT_H
#define HOCKET_TRACE_TRACE_OBJECT_H

#include "trace/timeline.h"

/* Takes the timeline; count 1. NULL, or no memory for the object: failed. */
hk_trace *hki_trace_object_create(hki_timeline *timeline);
/* Takes the status. */
hk_trace *hki_trace_object_failed(const hk_status *status);

#endif
