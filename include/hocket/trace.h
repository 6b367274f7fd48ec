/* Timelines: what really ran, where, when, and what it waited for.
 *
 *     hk_trace_start(NULL);
HK_AT_OPTIONS(const hk_status *, hk_trace_start, hk_trace_options, (hk_source at, const hk_trace_options *options), (options))
#define hk_trace_start(...) hk_trace_start_at(HK_SOURCE, __VA_ARGS__)
 *     ...
 *     hk_trace *trace = hk_trace_stop();
 *     hk_trace_write(trace, HK_TRACE_HTML, "run.html");
 *     hk_trace_release(trace);
 *
 * Or without a change of the program: HOCKET_TRACE=run.json records from the start of the runtime to its end,
 * and `hocket trace run.json` shows it; a later runtime of the process, or a forked child's, writes over it.
 * Recording costs under 50 ns for each event, several for each call. */
#ifndef HOCKET_TRACE_H
#define HOCKET_TRACE_H

#include <hocket/device.h>

HK_BEGIN_DECLS

/* What was recorded. Immutable, counted, thread-safe; outlives the runtime. Never NULL: what cannot be recorded or read is a failed trace,
 * which has no calls. */
typedef struct hk_trace hk_trace;

typedef struct hk_trace_options {
    /* Of records at most; default 256 MiB. A call takes about 300 bytes. What does not fit is left out and
     * counted: hk_trace_summary.lost_records, and every picture says so. */
    uint64_t memory_bytes;
} hk_trace_options;

/* Begins to record on the default runtime, which it starts where it has not begun. An error when a recording
 * is under way, as it is all the time with HOCKET_TRACE. Calls issued before, and those that have not finished when
 * it ends, are left out. Blocks only while another thread is in hk_trace_stop. */
HK_API const hk_status *hk_trace_start(const hk_trace_options *options);
/* Waits as hk_wait_all does, ends the recording and returns it: a failed trace when there was none of
 * hk_trace_start, or in a task, or when host memory is short. Belongs to the caller. */
HK_API hk_trace *hk_trace_stop(void);
/* HK_OK, or why the trace is failed; NULL is no trace, which is said too. Lent. Does not block. */
HK_API const hk_status *hk_trace_status(const hk_trace *trace);
HK_API hk_trace *hk_trace_retain(hk_trace *trace); /* returns it; NULL is let through */
/* Drops one count; NULL is ignored. Never blocks. */
HK_API void hk_trace_release(hk_trace *trace);

typedef enum hk_trace_format {
    HK_TRACE_CHROME, /* Chrome's trace JSON, which Perfetto shows; hk_trace_read reads it back */
    HK_TRACE_HTML,   /* one page with everything in it, needs no network */
    HK_TRACE_SVG,    /* the lanes, for documents */
    HK_TRACE_DOT,    /* the graph of calls that ran, for Graphviz */
    HK_TRACE_TEXT    /* the summary */
} hk_trace_format;

/* Writes a file, whole or not at all. A failed trace is written nowhere: its own status. Blocks on the file only. */
HK_API const hk_status *hk_trace_write(const hk_trace *trace, hk_trace_format format,
                                       const char *path);
/* The same into memory: text that ends with a zero byte, to be freed with free(); *bytes (may be NULL) without
 * it. NULL when host memory is short, the trace is NULL or failed, or the format is none. Does not block. */
HK_API char *hk_trace_text(const hk_trace *trace, hk_trace_format format, size_t *bytes);
/* Reads a file that HK_TRACE_CHROME wrote. The file may be anything: what is no such trace gives a failed one, which
 * says where and why. Belongs to the caller. Blocks on the file only. */
HK_API hk_trace *hk_trace_read(const char *path);

/* What follows computes from the trace alone and does not block; a failed trace, and a NULL trace or text, gives zeros.
 *
 * Times in nanoseconds. Of simulated devices the model's, and the wall's beside it. */
typedef struct hk_trace_summary {
    size_t struct_bytes;      /* see "Structs that grow" in hocket/base.h */
    int64_t duration_ns;      /* from the first issue to the last end */
    int64_t wall_duration_ns; /* the same, all of it by the wall clock */
    int64_t critical_path_ns; /* the longest chain of calls that had to follow each other */
    int64_t wait_ns;          /* that issuing threads spent waiting */
    int64_t late_ns; /* simulated devices: the most by which the host was behind the model */
    uint64_t call_count, failed_count, lost_records;
    int queue_count;          /* queues that ran something */
    uint64_t subnormal_count; /* calls that met subnormal numbers: see hk_runtime_stats */
} hk_trace_summary;
HK_API void hk_trace_read_summary(const hk_trace *trace, hk_trace_summary *summary);
static inline hk_trace_summary hk_trace_get_summary(const hk_trace *trace)
{
    hk_trace_summary filled;
    filled.struct_bytes = sizeof filled;
    hk_trace_read_summary(trace, &filled);
    return filled;
}

/* One queue of a device; times as above. */
typedef struct hk_trace_queue {
    size_t struct_bytes;        /* see "Structs that grow" in hocket/base.h */
    const char *device, *queue; /* "sim:0", "compute"; live as long as the trace */
    bool simulated;
    uint64_t call_count;
    int64_t busy_ns; /* while at least one call ran */
    int64_t bytes;   /* read and written by its calls */
} hk_trace_queue;
/* 0 <= index < queue_count; else nothing but zeros, and "" for the names. */
HK_API void hk_trace_read_queue(const hk_trace *trace, int index, hk_trace_queue *queue);
static inline hk_trace_queue hk_trace_get_queue(const hk_trace *trace, int index)
{
    hk_trace_queue filled;
    filled.struct_bytes = sizeof filled;
    hk_trace_read_queue(trace, index, &filled);
    return filled;
}

/* How long calls whose operation is `a` ran while calls of operation `b` ran: times in which at least one of
 * each did. Either is a list joined by commas of operators' names, which may end in *, and of "@compute", "@copy"
 * (by kind of queue), "@collective" (sums over devices and their copies), "@backward" (issued by hk_backward, but
 * for those sums) and "@cpu", "@sim" (by kind of device): "conv2d*,linear*". A call counts that matches any. */
HK_API int64_t hk_trace_overlap_ns(const hk_trace *trace, const char *a, const char *b);
/* How long at least one call of the operation ran. */
HK_API int64_t hk_trace_busy_ns(const hk_trace *trace, const char *operation);

HK_END_DECLS

#endif
