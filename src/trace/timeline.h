/* A timeline: what a trace says, in the terms of people. Made from the records of a runtime or from a file,
 * immutable afterwards; summaries and pictures are made from it alone. */
#ifndef HOCKET_TRACE_TIMELINE_H
#define HOCKET_TRACE_TIMELINE_H

#include "base/trace.h"

#include <hocket/trace.h>
#include <stdatomic.h>

/* Times are nanoseconds from the begin of recording, or, once trimmed, from the first issue. Texts are interned: equal ones are one pointer, owned by the
 * timeline; "" rather than NULL. */

/* Where slices are drawn: one row. Rows of one `process` belong together: a device, or "host" for threads that are
 * no device's. Slices of a lane nest: none overlaps another in part. */
typedef struct hki_lane {
    const char *process, *name; /* "sim:0", "compute"; "cpu:0", "core 1"; "host", "thread 1" */
    bool is_simulated;
} hki_lane;

/* A queue of a device: what hk_trace_queue says of it. */
typedef struct hki_trace_queue_info {
    const char *device, *name; /* "cpu:0", "compute" */
    bool is_simulated, is_copy;
} hki_trace_queue_info;

typedef struct hki_call_event {
    uint64_t sequence;
    const char *operation;
    const char *shapes; /* "float32(2,3), float32(3,) -> float32(2,3)" */
    const char *file;   /* "" when not known */
    int line;
    int queue; /* index in queues */
    bool is_collective, is_backward, is_update, is_failed, is_skipped;
    bool met_subnormals; /* a kernel had a subnormal number as an operand */
    int64_t issue_ns, ready_ns, start_ns,
        end_ns;                         /* of simulated devices, the model's start and end */
    int64_t wall_start_ns, wall_end_ns; /* equal to start and end but for simulated devices */
    int64_t bytes;                      /* read and written, by its accesses */
    int first_dependency,
        dependency_count; /* into dependencies: indices of earlier calls, ascending */
} hki_call_event;

typedef struct hki_trace_slice {
    int call; /* index in calls */
    int lane;
    int piece; /* of pieces; -1 where a call is one slice */
    int64_t start_ns, end_ns;
} hki_trace_slice;

typedef struct hki_wait_event {
    int lane;
    hki_trace_wait_kind kind;
    const char *device; /* what was waited for, kind DEVICE; "" otherwise */
    const char *file;
    int line;
    int64_t start_ns, end_ns;
    int last_call; /* index of the call whose end ended it; -1: not known */
} hki_wait_event;

typedef struct hki_counter_point {
    int64_t time_ns, value;
} hki_counter_point;

typedef struct hki_counter_track {
    const char *process, *name; /* "host", "run-ahead calls"; "cpu:0", "memory" */
    const char *unit;           /* "calls", "bytes" */
    int first_point, point_count;
} hki_counter_track;

typedef struct hki_timeline {
    const char *title; /* program and date, or "" */
    int64_t duration_ns;
    uint64_t lost_records, limit_bytes;
    hki_lane *lanes;
    int lane_count;
    hki_trace_queue_info *queues;
    int queue_count;
    hki_call_event *calls; /* by sequence number, ascending */
    int call_count;
    int *dependencies;
    int dependency_count;
    hki_trace_slice *slices; /* by lane, then start, then longest first */
    int slice_count;
    hki_wait_event *waits; /* by start */
    int wait_count;
    hki_counter_point *points; /* of a track, by time */
    int point_count;
    hki_counter_track *counters;
    int counter_count;
    struct hki_text_pool *texts;
} hki_timeline;

/* An empty one; NULL when host memory is short. */
hki_timeline *hki_timeline_create(void);
void hki_timeline_destroy(hki_timeline *timeline);
/* Makes the time of the first issue 0 and ends with what ended last: programs record more than they do. */
void hki_timeline_trim(hki_timeline *timeline);
/* The one copy of the text; NULL when host memory is short. */
const char *hki_timeline_text(hki_timeline *timeline, const char *text);

/* hk_trace is a counted timeline. */
struct hk_trace {
    atomic_uint refs;
    hki_timeline *timeline;  /* NULL where it is failed */
    const hk_status *status; /* NULL: there was no memory for more */
};

/* ---- made from it (each file of this room says how) -------------------------------------------------------- */

/* Output to a file or to memory, so that a format is written once. */
typedef struct hki_writer {
    char *data; /* `bytes` of `capacity` */
    size_t bytes, capacity;
    bool is_failed; /* host memory was short; what follows is ignored */
} hki_writer;

void hki_write(hki_writer *writer, const char *format, ...) HK_PRINTF(2, 3);
void hki_write_bytes(hki_writer *writer, const void *data, size_t bytes);
/* In quotes, as JSON; "<", ">" and "&" escaped as \u00.. so that it may stand in HTML. */
void hki_write_json_string(hki_writer *writer, const char *text);
/* As text of XML: & < > " escaped, control characters replaced. */
void hki_write_xml(hki_writer *writer, const char *text);

void hki_timeline_write_chrome(const hki_timeline *timeline, hki_writer *writer);
void hki_timeline_write_html(const hki_timeline *timeline, hki_writer *writer);
void hki_timeline_write_svg(const hki_timeline *timeline, hki_writer *writer);
void hki_timeline_write_dot(const hki_timeline *timeline, hki_writer *writer);
void hki_timeline_write_text(const hki_timeline *timeline, hki_writer *writer);
/* From the text of a file; NULL, and *status (counted), when it is no such trace. */
hki_timeline *hki_timeline_read_chrome(const char *data, size_t bytes, const hk_status **status);

/* Calls on the longest chain of dependencies by duration, in order; *count of them, to be freed. A call also follows
 * the one before it in a queue that runs one at a time where `queues_count` is true. */
int *hki_timeline_critical_path(const hki_timeline *timeline, bool queues_count, int *count,
                                int64_t *length_ns);
/* Time in which at least one call that matches each selector runs (see hk_trace_overlap_ns); b NULL: only a. */
int64_t hki_timeline_overlap(const hki_timeline *timeline, const char *a, const char *b);
/* Time in which at least one call of the queue runs. */
int64_t hki_timeline_busy(const hki_timeline *timeline, int queue);

#endif
