/* Trace points: what happened when, noted by each thread in a buffer of its own.
 *
 * A trace belongs to a runtime, which points to it while it records: where that pointer is NULL a trace point is
 * one load and one branch. Writing takes no lock, makes no call into the system but for a new chunk, and
 * never waits; when the memory of the trace is used up, records are counted and left out. What was recorded
 * is read by src/trace/ after hki_trace_end. */
#ifndef HOCKET_BASE_TRACE_H
#define HOCKET_BASE_TRACE_H

#include "base/status.h"
#include "base/sync.h"

#include <hocket/array.h>

typedef struct hki_trace hki_trace;

/* ---- records: 8-byte aligned, one after another in a chunk ------------------------------------------ */

typedef enum hki_trace_kind {
    HKI_TRACE_ISSUE, /* hki_trace_issue_record: a task was issued */
    HKI_TRACE_READY, /* hki_trace_task_record: all it waited for has finished, or is launched: it may be, too */
    HKI_TRACE_RUN,   /* hki_trace_run_record: one piece was run by this thread */
    HKI_TRACE_MODEL, /* hki_trace_model_record: when a device's own clock says it ran */
    HKI_TRACE_WAIT,  /* hki_trace_wait_record: this thread waited, or had nothing to wait for */
    HKI_TRACE_VAR, /* hki_trace_task_record, `id` is a variable: it begins; what had its id is gone */
    HKI_TRACE_COUNTER, /* hki_trace_counter_record */
    HKI_TRACE_KIND_COUNT
} hki_trace_kind;

typedef enum hki_trace_flag {
    HKI_TRACE_LAST = 1,     /* RUN: with this piece the task was finished */
    HKI_TRACE_FAILED = 2,   /* RUN, together with LAST: it failed */
    HKI_TRACE_SKIPPED = 4,  /* with FAILED: its kernel never started, for its inputs had failed */
    HKI_TRACE_SUBNORMAL = 8 /* RUN, of any piece: the task has met subnormal numbers */
} hki_trace_flag;

typedef struct hki_trace_head {
    uint32_t bytes; /* of the record, this head included */
    uint16_t kind, flags;
    uint64_t ticks; /* hki_ticks; of RUN and WAIT when it ended */
} hki_trace_head;

typedef struct hki_trace_task_record {
    hki_trace_head head;
    uint64_t id; /* a task's sequence number, or a variable's address */
} hki_trace_task_record;

typedef struct hki_trace_access {
    uint64_t var, begin, end; /* bytes */
    uint32_t mode;            /* 1: reads, 2: writes; hki_access_mode */
    uint32_t pitch;           /* of rows: see hki_range */
} hki_trace_access;

typedef struct hki_trace_operand {
    uint8_t dtype; /* hk_dtype */
    int8_t ndim;
    bool is_output;
    int64_t dims[HK_MAX_NDIM];
} hki_trace_operand;

typedef struct hki_trace_issue_record {
    hki_trace_head head;
    uint64_t sequence;
    const char *operation, *file; /* static text; file may be NULL */
    int32_t line;
    uint16_t device; /* index in the runtime; UINT16_MAX: a failed device */
    uint8_t queue;   /* hki_queue_kind */
    /* See hki_trace_set_backward; is_update: it makes new values of a parameter. */
    uint8_t is_collective : 1, is_backward : 1, is_update : 1;
    uint16_t access_count, operand_count;
    uint32_t piece_count;
    /* access_count hki_trace_access, then operand_count times: an hki_trace_packed_operand */
    uint64_t body[];
} hki_trace_issue_record;

typedef struct hki_trace_packed_operand {
    uint8_t dtype;
    int8_t ndim;
    bool is_output;
    uint8_t unused[5];
    int64_t dims[]; /* ndim of them */
} hki_trace_packed_operand;

typedef struct hki_trace_run_record {
    hki_trace_head head;
    uint64_t sequence, begin_ticks;
    int64_t piece;
} hki_trace_run_record;

typedef struct hki_trace_model_record {
    hki_trace_head head;
    uint64_t sequence;
    int64_t begin_ns, end_ns; /* hki_clock_ns's axis */
} hki_trace_model_record;

typedef enum hki_trace_wait_kind {
    HKI_TRACE_WAIT_ARRAY, /* hk_wait, or reading values out */
    HKI_TRACE_WAIT_DEVICE,
    HKI_TRACE_WAIT_ALL,
    HKI_TRACE_WAIT_WINDOW, /* for room in the run-ahead window */
    HKI_TRACE_WAIT_WORKERS, /* for workers to catch up with short calls; they may be worked at meanwhile */
    HKI_TRACE_WAIT_KIND_COUNT
} hki_trace_wait_kind;

typedef struct hki_trace_wait_record {
    hki_trace_head head;
    uint64_t begin_ticks;
    uint64_t sequence; /* of the latest task issued when it began */
    const char *file;
    int32_t line;
    uint8_t wait_kind;
    uint8_t device_plus_1; /* DEVICE: which, 1 for the first */
} hki_trace_wait_record;

typedef enum hki_trace_counter {
    HKI_TRACE_RUN_AHEAD_CALLS, /* issued, unfinished */
    HKI_TRACE_RUN_AHEAD_BYTES, /* that only unfinished calls hold */
    HKI_TRACE_MEMORY_BYTES,    /* in use on a device */
    HKI_TRACE_COUNTER_COUNT
} hki_trace_counter;

typedef struct hki_trace_counter_record {
    hki_trace_head head;
    uint16_t counter, device;
    uint32_t unused;
    int64_t value;
} hki_trace_counter_record;

/* ---- writing -------------------------------------------------------------------------------------------- */

/* A trace for a runtime, empty, not recording; limit_bytes of chunks in all. NULL: no memory. */
hki_trace *hki_trace_create(uint64_t limit_bytes);
/* No thread may write any more. */
void hki_trace_destroy(hki_trace *trace);

/* Room for a record of this many bytes (a multiple of 8) in this thread's buffer, its head filled but for ticks;
 * NULL when memory is used up: it has been counted. The record exists once hki_trace_commit is called, before
 * the thread writes another one. */
void *hki_trace_reserve(hki_trace *trace, hki_trace_kind kind, size_t bytes);
void hki_trace_commit(hki_trace *trace, void *record);
/* The same for an issued task: counts and operands are filled, the rest, accesses included, is not. */
hki_trace_issue_record *hki_trace_reserve_issue(hki_trace *trace, int access_count,
                                                const hki_trace_operand *operands,
                                                int operand_count);
/* Writes a whole record, whose head need have flags alone, at this moment. Returns where it is; NULL: it is lost. */
void *hki_trace_put(hki_trace *trace, hki_trace_kind kind, const void *record, size_t bytes);
/* Gives the record that this thread has committed, and it has written none since, another time and more flags;
 * unless recording has ended meanwhile. */
void hki_trace_amend(hki_trace *trace, void *record, uint64_t ticks, unsigned flags);

/* The name of this thread in traces: "sim:0 copy in"; copied, may be called without a trace; stands in recordings
 * that it has not written to yet. Others are
 * "thread 1", "thread 2", ... in the order in which they first wrote. `device`: index, -1 for none; `queue`:
 * hki_queue_kind; `worker`: its number in the queue. */
void hki_trace_name_thread(const char *name, int device, int queue, int worker);

static inline void hki_trace_model(hki_trace *trace, uint64_t sequence, int64_t begin_ns,
                                   int64_t end_ns)
{
    const hki_trace_model_record record = {
        .sequence = sequence, .begin_ns = begin_ns, .end_ns = end_ns};
    hki_trace_put(trace, HKI_TRACE_MODEL, &record, sizeof record);
}

/* Whether this thread is issuing a backward pass. Returns what it was before. */
bool hki_trace_set_backward(bool is_backward);
bool hki_trace_is_backward(void);

static inline void hki_trace_task_event(hki_trace *trace, hki_trace_kind kind, uint64_t id)
{
    const hki_trace_task_record record = {.id = id};
    hki_trace_put(trace, kind, &record, sizeof record);
}

/* ---- reading, between hki_trace_end and the next hki_trace_begin ----------------------------------------- */

/* Bytes of chunks in all, from the next begin on; but a thread keeps the one chunk that it is at. */
void hki_trace_set_limit(hki_trace *trace, uint64_t limit_bytes);
/* Clears the trace; threads that wrote to it before begin their buffers anew. */
void hki_trace_begin(hki_trace *trace);
/* Notes the end. The caller has seen to it that nobody is pointed to the trace any more; a thread that is still
 * writing a record does no harm, its record is left out. */
void hki_trace_end(hki_trace *trace);

typedef struct hki_trace_thread_info {
    char name[32];
    int device, queue, worker; /* device -1: none of a device's */
    int number;                /* from 0, in the order of first writing */
} hki_trace_thread_info;

typedef struct hki_trace_facts {
    uint64_t begin_ticks, end_ticks; /* of recording */
    int64_t begin_ns, end_ns;        /* the same moments on hki_clock_ns's axis */
    uint64_t lost_records, limit_bytes, used_bytes;
} hki_trace_facts;

hki_trace_facts hki_trace_get_facts(const hki_trace *trace);
/* Calls `visit` for every record, thread by thread, in the order of each thread. Stops when it returns false. */
bool hki_trace_each(hki_trace *trace,
                    bool (*visit)(void *context, const hki_trace_thread_info *thread,
                                  const hki_trace_head *record),
                    void *context);

#endif
