/* A timeline in numbers, and in a page of text. */
#include "trace/summary.h"
#include "base/integer.h"
#include "base/quote.h"
#include "trace/quantity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_QUEUES = 12,
    MOST_OPERATIONS = 10,
    MOST_ON_PATH = 6,
    MOST_WAITS = 10,
    MOST_PEAKS = 6,
    WAKE_UP_NS = 100000 /* see hk_queue_stats */
};

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static int64_t duration_of(const hki_call_event *call)
{
    return call->end_ns - call->start_ns;
}

/* By how much the host was behind the model. */
static int64_t lateness_of(const hki_timeline *timeline, const hki_call_event *call)
{
    return timeline->queues[call->queue].is_simulated && !call->is_failed
               ? hki_max(0, call->wall_end_ns - call->end_ns - WAKE_UP_NS)
               : 0;
}

static int64_t path_length(const hki_timeline *timeline, bool queues_count)
{
    int count;
    int64_t length;
    free(hki_timeline_critical_path(timeline, queues_count, &count, &length));
    return length;
}

/* Of each queue; to be freed. NULL when host memory is short. */
static int *count_calls(const hki_timeline *timeline)
{
    int *counts = calloc((size_t)timeline->queue_count + 1, sizeof *counts);
    for (int i = 0; counts && i < timeline->call_count; i++)
        counts[timeline->calls[i].queue]++;
    return counts;
}

hk_trace_summary hki_timeline_summarize(const hki_timeline *timeline)
{
    hk_trace_summary summary = {.call_count = (uint64_t)timeline->call_count,
                                .lost_records = timeline->lost_records,
                                .critical_path_ns = path_length(timeline, false)};
    int64_t first = INT64_MAX, last = 0, wall_last = 0;
    for (int i = 0; i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        first = hki_min(first, call->issue_ns);
        last = hki_max(last, call->end_ns);
        wall_last = hki_max(wall_last, call->wall_end_ns);
        summary.failed_count += call->is_failed;
        summary.subnormal_count += call->met_subnormals;
        summary.late_ns = hki_max(summary.late_ns, lateness_of(timeline, call));
    }
    if (timeline->call_count) {
        summary.duration_ns = hki_max(0, last - first);
        summary.wall_duration_ns = hki_max(0, wall_last - first);
    }
    for (int i = 0; i < timeline->wait_count; i++)
        summary.wait_ns += timeline->waits[i].end_ns - timeline->waits[i].start_ns;
    int *counts = count_calls(timeline);
    for (int i = 0; counts && i < timeline->queue_count; i++)
        summary.queue_count += counts[i] > 0;
    free(counts);
    return summary;
}

hk_trace_queue hki_timeline_get_queue(const hki_timeline *timeline, int index)
{
    hk_trace_queue numbers = {.device = "", .queue = ""};
    int *counts = count_calls(timeline);
    for (int i = 0; counts && i < timeline->queue_count && index >= 0; i++) {
        if (!counts[i] || index-- > 0)
            continue;
        numbers = (hk_trace_queue){.device = timeline->queues[i].device,
                                   .queue = timeline->queues[i].name,
                                   .simulated = timeline->queues[i].is_simulated,
                                   .call_count = (uint64_t)counts[i],
                                   .busy_ns = hki_timeline_busy(timeline, i)};
        for (int j = 0; j < timeline->call_count; j++)
            numbers.bytes += timeline->calls[j].queue == i ? timeline->calls[j].bytes : 0;
    }
    free(counts);
    return numbers;
}

/* ---- totals by operation ----------------------------------------------------------------------------------------- */

typedef struct total {
    const char *operation; /* interned */
    int64_t total_ns, longest_ns;
    int count;
} total;

static int compare_operations(const void *a, const void *b)
{
    return strcmp(((const total *)a)->operation, ((const total *)b)->operation);
}

/* Longest first. */
static int compare_totals(const void *a, const void *b)
{
    const total *left = a, *right = b;
    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns ? -1 : 1;
    return compare_operations(a, b);
}

/* One for each operation among the calls (by index; NULL: all), longest first; to be freed. NULL, and none, when host
 * memory is short. */
static total *totals_of(const hki_timeline *timeline, const int *calls, int call_count, int *count)
{
    total *totals = malloc(((size_t)call_count + 1) * sizeof *totals);
    *count = 0;
    for (int i = 0; totals && i < call_count; i++) {
        const hki_call_event *call = &timeline->calls[calls ? calls[i] : i];
        totals[i] = (total){call->operation, duration_of(call), duration_of(call), 1};
    }
    if (!totals || !call_count)
        return totals;
    qsort(totals, (size_t)call_count, sizeof *totals, compare_operations);
    for (int i = 0; i < call_count; i++) {
        total *last = &totals[*count - 1];
        if (*count && last->operation == totals[i].operation) {
            last->total_ns += totals[i].total_ns;
            last->longest_ns = hki_max(last->longest_ns, totals[i].longest_ns);
            last->count++;
        } else {
            totals[(*count)++] = totals[i];
        }
    }
    qsort(totals, (size_t)*count, sizeof *totals, compare_totals);
    return totals;
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

typedef struct page {
    const hki_timeline *timeline;
    hki_writer *writer;
    hk_trace_summary summary;
    bool is_simulated; /* something ran on a simulated device */
} page;

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void write_head(const page *self)
{
    const hk_trace_summary *summary = &self->summary;
    int skipped = 0;
    for (int i = 0; i < self->timeline->call_count; i++)
        skipped += self->timeline->calls[i].is_skipped;
    if (*self->timeline->title)
        hki_write(self->writer, "%s\n", self->timeline->title);
    if (summary->lost_records)
        hki_write(self->writer,
                  "INCOMPLETE: %llu record%s lost, for %s of memory did not suffice. What follows "
                  "does not count them.\n",
                  (unsigned long long)summary->lost_records,
                  summary->lost_records == 1 ? " was" : "s were",
                  hki_in_bytes((int64_t)self->timeline->limit_bytes).text);
    hki_write(self->writer, "%d call%s in %s", self->timeline->call_count,
              plural(self->timeline->call_count), hki_in_time(summary->duration_ns).text);
    if (self->is_simulated)
        hki_write(self->writer, " of the model (%s by the wall clock)",
                  hki_in_time(summary->wall_duration_ns).text);
    if (summary->failed_count)
        hki_write(self->writer, "; %llu FAILED, %d of them skipped for their inputs",
                  (unsigned long long)summary->failed_count, skipped);
    hki_write(self->writer, "\n");
}

/* Once: which call it was first. */
static void write_subnormals(const page *self)
{
    const hki_call_event *first = self->timeline->calls;
    if (!self->summary.subnormal_count)
        return;
    while (!first->met_subnormals)
        first++;
    hki_write(self->writer,
              "%llu call%s met subnormal numbers, which may take a hundred times as long, first %s",
              (unsigned long long)self->summary.subnormal_count,
              plural((int64_t)self->summary.subnormal_count), first->operation);
    if (*first->file)
        hki_write(self->writer, " at %s:%d", first->file, first->line);
    hki_write(self->writer, "; HOCKET_FLUSH_SUBNORMALS=1 takes them for 0.\n");
}

/* Simulated devices keep their model's time only while the host keeps up. */
static void write_lateness(const page *self)
{
    const hk_trace_summary *summary = &self->summary;
    if (!self->is_simulated)
        return;
    if (!summary->late_ns)
        hki_write(self->writer, "The host kept up with the model.\n");
    else if (20 * summary->late_ns > summary->duration_ns)
        hki_write(self->writer,
                  "HOST-BOUND: the host was up to %s behind the model: it is the machine that was "
                  "measured, not the model.\n",
                  hki_in_time(summary->late_ns).text);
    else
        hki_write(self->writer, "The host kept up with the model, at most %s late.\n",
                  hki_in_time(summary->late_ns).text);
}

static void write_queues(const page *self)
{
    hki_write(self->writer, "\n%-28s %10s %6s %10s %12s\n", "queue", "busy", "share", "calls",
              "bytes");
    for (int i = 0; i < self->summary.queue_count && i < MOST_QUEUES; i++) {
        const hk_trace_queue queue = hki_timeline_get_queue(self->timeline, i);
        char name[64];
        snprintf(name, sizeof name, "%s %s%s", queue.device, queue.queue,
                 queue.simulated ? " (model)" : "");
        hki_write(self->writer, "%-28s %10s %6s %10llu %12s\n", name,
                  hki_in_time(queue.busy_ns).text,
                  hki_in_percent(queue.busy_ns, self->summary.duration_ns).text,
                  (unsigned long long)queue.call_count, hki_in_bytes(queue.bytes).text);
    }
    if (self->summary.queue_count > MOST_QUEUES)
        hki_write(self->writer, "%d more\n", self->summary.queue_count - MOST_QUEUES);
}

static void write_operations(const page *self)
{
    int count;
    total *totals = totals_of(self->timeline, NULL, self->timeline->call_count, &count);
    int64_t rest_ns = 0;
    hki_write(self->writer, "\n%-36s %10s %9s %10s\n", "operation", "total", "calls", "longest");
    for (int i = 0; i < count; i++)
        if (i < MOST_OPERATIONS)
            hki_write(self->writer, "%-36s %10s %9d %10s\n", totals[i].operation,
                      hki_in_time(totals[i].total_ns).text, totals[i].count,
                      hki_in_time(totals[i].longest_ns).text);
        else
            rest_ns += totals[i].total_ns;
    if (count > MOST_OPERATIONS) {
        char rest[32];
        snprintf(rest, sizeof rest, "%d more", count - MOST_OPERATIONS);
        hki_write(self->writer, "%-36s %10s\n", rest, hki_in_time(rest_ns).text);
    }
    free(totals);
}

static void write_overlaps(const page *self)
{
    const hki_timeline *timeline = self->timeline;
    const int64_t copying = hki_timeline_overlap(timeline, "@copy", NULL);
    const int64_t summing = hki_timeline_overlap(timeline, "@collective", NULL);
    const int64_t backward = hki_timeline_overlap(timeline, "@backward", NULL);
    if (copying || summing)
        hki_write(self->writer, "\n");
    if (copying)
        hki_write(
            self->writer,
            "Copies ran during %s of the time (%s), of which %s while something was "
            "computed.\n",
            hki_in_percent(copying, self->summary.duration_ns).text, hki_in_time(copying).text,
            hki_in_percent(hki_timeline_overlap(timeline, "@copy", "@compute"), copying).text);
    if (summing)
        hki_write(self->writer, "Gradients were being summed during %s of the time (%s)",
                  hki_in_percent(summing, self->summary.duration_ns).text,
                  hki_in_time(summing).text);
    if (summing && backward)
        hki_write(
            self->writer, ", of which %s while the backward pass still ran",
            hki_in_percent(hki_timeline_overlap(timeline, "@collective", "@backward"), summing)
                .text);
    if (summing)
        hki_write(self->writer, ".\n");
}

static void write_critical_path(const page *self)
{
    int path_count, total_count;
    int64_t length;
    int *path = hki_timeline_critical_path(self->timeline, false, &path_count, &length);
    total *totals = totals_of(self->timeline, path, path ? path_count : 0, &total_count);
    const int64_t queued = path_length(self->timeline, true);
    hki_write(self->writer, "\nCritical path: %s, %s of the time, %d call%s",
              hki_in_time(length).text, hki_in_percent(length, self->summary.duration_ns).text,
              path_count, plural(path_count));
    for (int i = 0; i < total_count && i < MOST_ON_PATH; i++)
        hki_write(self->writer, "%s%s %s", i ? ", " : ": ", totals[i].operation,
                  hki_in_percent(totals[i].total_ns, length).text);
    hki_write(self->writer, "%s\n", total_count > MOST_ON_PATH ? ", ..." : ".");
    if (queued != length)
        hki_write(self->writer, "With the order of calls within queues: %s, %s of the time.\n",
                  hki_in_time(queued).text, hki_in_percent(queued, self->summary.duration_ns).text);
    free(path);
    free(totals);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

static const char *reason_of(hki_trace_wait_kind kind)
{
    static const char *const reasons[] = {[HKI_TRACE_WAIT_ARRAY] = "an array",
                                          [HKI_TRACE_WAIT_DEVICE] = "a device",
                                          [HKI_TRACE_WAIT_ALL] = "everything",
                                          [HKI_TRACE_WAIT_WINDOW] = "room to run ahead",
                                          [HKI_TRACE_WAIT_WORKERS] = "workers to catch up"};
    return (unsigned)kind < HKI_TRACE_WAIT_KIND_COUNT ? reasons[kind] : "?";
}

static int compare_waits(const void *a, const void *b)
{
    const hki_wait_event *left = *(const hki_wait_event *const *)a;
    const hki_wait_event *right = *(const hki_wait_event *const *)b;
    const int64_t left_ns = left->end_ns - left->start_ns;
    const int64_t right_ns = right->end_ns - right->start_ns;
    if (left_ns != right_ns)
        return left_ns > right_ns ? -1 : 1;
    return (left > right) - (left < right); /* of one array: by start */
}

static void write_wait(const page *self, const hki_wait_event *wait)
{
    const hki_timeline *timeline = self->timeline;
    const char *reason = *wait->device ? wait->device : reason_of(wait->kind);
    hki_write(self->writer, "%10s  for %-19s", hki_in_time(wait->end_ns - wait->start_ns).text,
              reason);
    if (*wait->file)
        hki_write(self->writer, " %s:%d", wait->file, wait->line);
    if (wait->last_call >= 0) {
        const hki_call_event *call = &timeline->calls[wait->last_call];
        hki_write(self->writer, ", until %s", call->operation);
        if (*call->file)
            hki_write(self->writer, " of %s:%d", call->file, call->line);
    }
    hki_write(self->writer, "\n");
}

static void write_longest_waits(const page *self)
{
    const hki_timeline *timeline = self->timeline;
    const hki_wait_event **waits = malloc((size_t)timeline->wait_count * sizeof *waits);
    if (!waits)
        return;
    for (int i = 0; i < timeline->wait_count; i++)
        waits[i] = &timeline->waits[i];
    qsort(waits, (size_t)timeline->wait_count, sizeof *waits, compare_waits);
    for (int i = 0; i < timeline->wait_count && i < MOST_WAITS; i++)
        write_wait(self, waits[i]);
    free(waits);
}

static void write_waits(const page *self)
{
    const hki_timeline *timeline = self->timeline;
    int64_t total_ns[HKI_TRACE_WAIT_KIND_COUNT] = {0};
    int counts[HKI_TRACE_WAIT_KIND_COUNT] = {0};
    bool is_first = true;
    if (!timeline->wait_count)
        return;
    for (int i = 0; i < timeline->wait_count; i++) {
        const hki_wait_event *wait = &timeline->waits[i];
        if ((unsigned)wait->kind < HKI_TRACE_WAIT_KIND_COUNT) {
            total_ns[wait->kind] += wait->end_ns - wait->start_ns;
            counts[wait->kind]++;
        }
    }
    hki_write(self->writer, "\nIssuing threads waited %s", hki_in_time(self->summary.wait_ns).text);
    for (int i = 0; i < HKI_TRACE_WAIT_KIND_COUNT; i++)
        if (counts[i]) {
            hki_write(self->writer, "%s%s for %s (%d time%s)", is_first ? ": " : ", ",
                      hki_in_time(total_ns[i]).text, reason_of((hki_trace_wait_kind)i), counts[i],
                      plural(counts[i]));
            is_first = false;
        }
    hki_write(self->writer, ". %s:\n",
              timeline->wait_count > MOST_WAITS ? "The ten longest" : "From the longest on");
    write_longest_waits(self);
}

static void write_peaks(const page *self)
{
    const hki_timeline *timeline = self->timeline;
    for (int i = 0; i < timeline->counter_count && i < MOST_PEAKS; i++) {
        const hki_counter_track *track = &timeline->counters[i];
        int64_t peak = 0;
        for (int j = 0; j < track->point_count; j++)
            peak = hki_max(peak, timeline->points[track->first_point + j].value);
        const bool is_bytes = !strcmp(track->unit, "bytes"),
                   is_host = !strcmp(track->process, "host");
        hki_quantity text = hki_in_bytes(peak);
        if (!is_bytes)
            snprintf(text.text, sizeof text.text, "%lld", (long long)peak);
        hki_write(self->writer, "%s%s%s%s at most %s",
                  i ? "; " : "\nPeaks: ", is_host ? "" : track->process, is_host ? "" : " ",
                  track->name, text.text);
    }
    if (timeline->counter_count)
        hki_write(self->writer, "%s\n", timeline->counter_count > MOST_PEAKS ? "; ..." : ".");
}

/* Names are from a file, or the program's: nothing in them steers a terminal. */
static void write_shown(hki_writer *writer, const hki_writer *text)
{
    const size_t bytes = text->data ? hki_mend_text(NULL, 0, text->data) : 0;
    char *shown = bytes ? malloc(bytes) : NULL;
    if (shown) {
        hki_mend_text(shown, bytes, text->data);
        hki_write_bytes(writer, shown, bytes - 1);
    }
    writer->is_failed = writer->is_failed || text->is_failed || (bytes && !shown);
    free(shown);
}

void hki_timeline_write_text(const hki_timeline *timeline, hki_writer *writer)
{
    hki_writer text = {0};
    page self = {
        .timeline = timeline, .writer = &text, .summary = hki_timeline_summarize(timeline)};
    for (int i = 0; i < timeline->call_count; i++)
        self.is_simulated |= timeline->queues[timeline->calls[i].queue].is_simulated;
    write_head(&self);
    write_subnormals(&self);
    if (timeline->call_count) {
        write_lateness(&self);
        write_queues(&self);
        write_operations(&self);
        write_overlaps(&self);
        write_critical_path(&self);
    }
    write_waits(&self);
    write_peaks(&self);
    write_shown(writer, &text);
    free(text.data);
}
