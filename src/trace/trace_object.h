/* hk_trace: a counted timeline. */
#ifndef HOCKET_TRACE_TRACE_OBJECT_H
#define HOCKET_TRACE_TRACE_OBJECT_H

#include "trace/timeline.h"

/* Takes the timeline; count 1. NULL when that is NULL, or host memory is short. */
hk_trace *hki_trace_object_create(hki_timeline *timeline);

#endif
