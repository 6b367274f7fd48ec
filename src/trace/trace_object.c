#include "trace/trace_object.h"

#include "base/fill_struct.h"
#include "base/status.h"
#include "base/whole_file.h"
#include "trace/summary.h"

#include <stdlib.h>

/* For when there is no memory for one. */
static hk_trace no_memory = {.refs = 1};

static hk_trace *create(hki_timeline *timeline, const hk_status *status)
{
    hk_trace *trace = malloc(sizeof *trace);
    if (!trace) {
        hki_timeline_destroy(timeline);
        hk_status_release(status);
        return &no_memory;
    }
    atomic_init(&trace->refs, 1);
    trace->timeline = timeline;
    trace->status = status;
    return trace;
}

hk_trace *hki_trace_object_create(hki_timeline *timeline)
{
    return timeline ? create(timeline, hki_status_ok()) : &no_memory;
}

hk_trace *hki_trace_object_failed(const hk_status *status)
{
    return create(NULL, status);
}

hk_trace *hk_trace_retain(hk_trace *trace)
{
    if (trace && trace != &no_memory)
        atomic_fetch_add_explicit(&trace->refs, 1, memory_order_relaxed);
    return trace;
}

void hk_trace_release(hk_trace *trace)
{
    if (!trace || trace == &no_memory ||
        atomic_fetch_sub_explicit(&trace->refs, 1, memory_order_acq_rel) != 1)
        return;
    hki_timeline_destroy(trace->timeline);
    hk_status_release(trace->status);
    free(trace);
}

const hk_status *hk_trace_status(const hk_trace *trace)
{
    if (!trace)
        return hki_status_lend(
            hki_status_create(HK_INVALID_ARGUMENT, NULL,
                              "the trace is NULL; hk_trace_stop and hk_trace_read return one"));
    return trace->status ? trace->status : hki_status_no_memory();
}

static bool is_good(const hk_trace *trace)
{
    return trace && trace->timeline;
}

/* ---- files and texts --------------------------------------------------------------------------------------------- */

static void (*const formats[])(const hki_timeline *timeline, hki_writer *writer) = {
    [HK_TRACE_CHROME] = hki_timeline_write_chrome, [HK_TRACE_HTML] = hki_timeline_write_html,
    [HK_TRACE_SVG] = hki_timeline_write_svg,       [HK_TRACE_DOT] = hki_timeline_write_dot,
    [HK_TRACE_TEXT] = hki_timeline_write_text,
};

static bool is_format(hk_trace_format format)
{
    return (unsigned)format < sizeof formats / sizeof *formats;
}

/* Into memory; a zero byte follows, even where there is nothing else. */
static bool write_text(const hk_trace *trace, hk_trace_format format, hki_writer *writer)
{
    *writer = (hki_writer){0};
    formats[format](trace->timeline, writer);
    hki_write_bytes(writer, "", 0);
    if (writer->is_failed)
        free(writer->data);
    return !writer->is_failed;
}

const hk_status *hk_trace_write(const hk_trace *trace, hk_trace_format format, const char *path)
{
    const hki_status_facts facts = {.operation = "trace_write"};
    const hk_status *error = NULL;
    hki_writer writer;
    if (!is_good(trace))
        return hk_trace_status(trace);
    if (!path || !*path) {
        error = hki_status_create(HK_INVALID_ARGUMENT, &facts, "the path is %s; expected a file's",
                                  path ? "empty" : "NULL");
    } else if (!is_format(format)) {
        error = hki_status_create(
            HK_INVALID_ARGUMENT, &facts,
            "the format is %d; expected HK_TRACE_CHROME (%d) to HK_TRACE_TEXT (%d)", (int)format,
            (int)HK_TRACE_CHROME, (int)HK_TRACE_TEXT);
    } else if (!write_text(trace, format, &writer)) {
        error = hki_status_create(HK_OUT_OF_MEMORY, &facts, "no host memory to write \"%s\"", path);
    } else {
        error = hki_whole_file_write(facts.operation, path, writer.data, writer.bytes);
        free(writer.data);
    }
    return hki_status_lend(error ? error : hki_status_ok());
}

char *hk_trace_text(const hk_trace *trace, hk_trace_format format, size_t *bytes)
{
    hki_writer writer;
    if (!is_good(trace) || !is_format(format) || !write_text(trace, format, &writer))
        return NULL;
    if (bytes)
        *bytes = writer.bytes;
    return writer.data;
}

hk_trace *hk_trace_read(const char *path)
{
    const hki_status_facts facts = {.operation = "trace_read"};
    const hk_status *error = NULL;
    hki_timeline *timeline = NULL;
    char *data = NULL;
    size_t bytes = 0;
    if (!path || !*path)
        error = hki_status_create(HK_INVALID_ARGUMENT, &facts, "the path is %s; expected a file's",
                                  path ? "empty" : "NULL");
    else
        data = hki_whole_file_read(facts.operation, path, &bytes, &error);
    if (data)
        timeline = hki_timeline_read_chrome(data, bytes, &error);
    free(data);
    return timeline ? hki_trace_object_create(timeline) : hki_trace_object_failed(error);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static hk_trace_summary summary_of(const hk_trace *trace)
{
    return is_good(trace) ? hki_timeline_summarize(trace->timeline) : (hk_trace_summary){0};
}

void hk_trace_read_summary(const hk_trace *trace, hk_trace_summary *summary)
{
    const hk_trace_summary own = summary_of(trace);
    hki_fill_struct(summary, &own, sizeof own);
}

static hk_trace_queue queue_of(const hk_trace *trace, int index)
{
    return is_good(trace) ? hki_timeline_get_queue(trace->timeline, index)
                          : (hk_trace_queue){.device = "", .queue = ""};
}

void hk_trace_read_queue(const hk_trace *trace, int index, hk_trace_queue *queue)
{
    const hk_trace_queue own = queue_of(trace, index);
    hki_fill_struct(queue, &own, sizeof own);
}

int64_t hk_trace_overlap_ns(const hk_trace *trace, const char *a, const char *b)
{
    return is_good(trace) && a && b ? hki_timeline_overlap(trace->timeline, a, b) : 0;
}

int64_t hk_trace_busy_ns(const hk_trace *trace, const char *operation)
{
    return is_good(trace) && operation ? hki_timeline_overlap(trace->timeline, operation, NULL) : 0;
}
