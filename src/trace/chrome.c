/* Chrome's trace JSON, as chrome://tracing and Perfetto import it; see trace/chrome.h. */
#include "trace/chrome.h"

#include "base/all_reduce_sizes.h"
#include "trace/timeline.h"

#include <hocket/version.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct chrome {
    const hki_timeline *timeline;
    hki_writer *writer;
    bool is_first; /* event */
    /* By call: */
    int *first_slice, *last_slice; /* to begin and to end; -1: none */
    int *first_dependent;          /* the first dependency on it; -1: none */
    /* By dependency: */
    int *next_dependent; /* on the same call; -1: it was the last one */
    int *later_call;
    int *waits;                /* indices, by lane, then start, longest first */
    const char **processes;    /* by pid - 1 */
    int *lane_pid, *track_pid; /* by lane, by counter track */
    int process_count;
} chrome;

/* ---- parts of events -------------------------------------------------------------------------------- */

/* Microseconds, exactly. */
static void write_time(hki_writer *writer, const char *key, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    hki_write(writer, "\"%s\":%s%" PRIu64 ".%03d", key, ns < 0 ? "-" : "", size / 1000,
              (int)(size % 1000));
}

static void write_member(hki_writer *writer, const char *key, const char *text)
{
    hki_write(writer, ",\"%s\":", key);
    hki_write_json_string(writer, text);
}

static void begin_event(chrome *self, const char *phase, int pid)
{
    hki_write(self->writer, "%s\n{\"ph\":\"%s\",\"pid\":%d", self->is_first ? "" : ",", phase, pid);
    self->is_first = false;
}

static void begin_thread_event(chrome *self, const char *phase, int lane, int64_t ns)
{
    begin_event(self, phase, self->lane_pid[lane]);
    hki_write(self->writer, ",\"tid\":%d,", HKI_CHROME_FIRST_TID + lane);
    write_time(self->writer, "ts", ns);
}

/* ---- what stands before the events ------------------------------------------------------------------ */

static const char *json_bool(bool value)
{
    return value ? "true" : "false";
}

static void write_other_data(const chrome *self)
{
    const hki_timeline *timeline = self->timeline;
    hki_writer *writer = self->writer;
    hki_write(writer, "\"otherData\":{\"hocket\":\"%s\",\"format\":%d", HK_VERSION_STRING,
              HKI_CHROME_FORMAT);
    write_member(writer, "title", timeline->title);
    hki_write(writer,
              ",\"duration_ns\":%" PRId64 ",\"lost_records\":%" PRIu64 ",\"limit_bytes\":%" PRIu64,
              timeline->duration_ns, timeline->lost_records, timeline->limit_bytes);
    hki_write(writer, ",\"all_reduce\":{\"small_bytes\":%d,\"chunk_bytes\":%d,\"line_bytes\":%d}",
              HKI_ALL_REDUCE_SMALL_BYTES, HKI_ALL_REDUCE_CHUNK_BYTES, HKI_ALL_REDUCE_LINE_BYTES);
    hki_write(writer, ",\n\"queues\":[");
    for (int i = 0; i < timeline->queue_count; i++) {
        const hki_trace_queue_info *queue = &timeline->queues[i];
        hki_write(writer, "%s\n{\"simulated\":%s,\"copy\":%s", i ? "," : "",
                  json_bool(queue->is_simulated), json_bool(queue->is_copy));
        write_member(writer, "device", queue->device);
        write_member(writer, "name", queue->name);
        hki_write(writer, "}");
    }
    hki_write(writer, "],\n\"lanes\":[");
    for (int i = 0; i < timeline->lane_count; i++) {
        const hki_lane *lane = &timeline->lanes[i];
        hki_write(writer, "%s\n{\"simulated\":%s", i ? "," : "", json_bool(lane->is_simulated));
        write_member(writer, "process", lane->process);
        write_member(writer, "name", lane->name);
        hki_write(writer, "}");
    }
    hki_write(writer, "],\n\"counters\":[");
    for (int i = 0; i < timeline->counter_count; i++) {
        const hki_counter_track *track = &timeline->counters[i];
        hki_write(writer, "%s\n{\"unit\":", i ? "," : "");
        hki_write_json_string(writer, track->unit);
        write_member(writer, "process", track->process);
        write_member(writer, "name", track->name);
        hki_write(writer, "}");
    }
    hki_write(writer, "]},\n");
}

static void write_names(chrome *self)
{
    const hki_timeline *timeline = self->timeline;
    hki_writer *writer = self->writer;
    for (int i = 0; i < self->process_count; i++) {
        bool is_simulated = false;
        for (int j = 0; j < timeline->lane_count; j++)
            if (timeline->lanes[j].process == self->processes[i])
                is_simulated = timeline->lanes[j].is_simulated;
        begin_event(self, "M", i + 1);
        hki_write(writer, ",\"name\":\"process_name\",\"args\":{\"name\":");
        char name[128]; /* only for viewers: what does not fit is no loss */
        snprintf(name, sizeof name, "%.100s%s", self->processes[i],
                 is_simulated ? " (simulated)" : "");
        hki_write_json_string(writer, name);
        hki_write(writer, "}}");
        begin_event(self, "M", i + 1);
        hki_write(writer, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%d}}", i);
    }
    for (int i = 0; i < timeline->lane_count; i++) {
        begin_event(self, "M", self->lane_pid[i]);
        hki_write(writer, ",\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":",
                  HKI_CHROME_FIRST_TID + i);
        hki_write_json_string(writer, timeline->lanes[i].name);
        hki_write(writer, "}}");
        begin_event(self, "M", self->lane_pid[i]);
        hki_write(writer,
                  ",\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}",
                  HKI_CHROME_FIRST_TID + i, i);
    }
}

/* ---- calls ------------------------------------------------------------------------------------------ */

static void write_call_name(const chrome *self, const hki_call_event *call)
{
    hki_writer *writer = self->writer;
    write_member(writer, "name", call->operation);
    hki_write(writer, ",\"cat\":\"call%s%s%s%s\"%s",
              self->timeline->queues[call->queue].is_copy ? ",copy" : "",
              call->is_collective ? ",collective" : "", call->is_backward ? ",backward" : "",
              call->is_failed ? ",failed" : "", call->is_failed ? ",\"cname\":\"terrible\"" : "");
}

/* The members of args that hold a whole call. */
static void write_call(const chrome *self, const hki_call_event *call)
{
    hki_writer *writer = self->writer;
    hki_write(writer, "\"sequence\":%" PRIu64, call->sequence);
    write_member(writer, "shapes", call->shapes);
    write_member(writer, "file", call->file);
    hki_write(writer,
              ",\"line\":%d,\"queue\":%d,\"bytes\":%" PRId64 ",\"issue_ns\":%" PRId64
              ",\"ready_ns\":%" PRId64 ",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64,
              call->line, call->queue, call->bytes, call->issue_ns, call->ready_ns, call->start_ns,
              call->end_ns);
    if (call->wall_start_ns != call->start_ns || call->wall_end_ns != call->end_ns)
        hki_write(writer, ",\"wall_start_ns\":%" PRId64 ",\"wall_end_ns\":%" PRId64,
                  call->wall_start_ns, call->wall_end_ns);
    if (call->is_collective)
        hki_write(writer, ",\"collective\":true");
    if (call->is_backward)
        hki_write(writer, ",\"backward\":true");
    if (call->is_update)
        hki_write(writer, ",\"update\":true");
    if (call->is_failed)
        hki_write(writer, ",\"failed\":true");
    if (call->is_skipped)
        hki_write(writer, ",\"skipped\":true");
    if (call->met_subnormals)
        hki_write(writer, ",\"subnormals\":true");
    hki_write(writer, ",\"after\":[");
    for (int i = 0; i < call->dependency_count; i++) {
        int earlier = self->timeline->dependencies[call->first_dependency + i];
        hki_write(writer, "%s%" PRIu64, i ? "," : "", self->timeline->calls[earlier].sequence);
    }
    hki_write(writer, "]");
}

/* ---- dependencies ----------------------------------------------------------------------------------- */

/* Viewers bind an end of a flow to the innermost slice at its time. That is the slice's start, or better its last
 * nanosecond, where no slice inside it has begun by then. */
static int64_t departure_ns(const chrome *self, int slice_index)
{
    const hki_trace_slice *slice = &self->timeline->slices[slice_index];
    bool has_inner = slice_index + 1 < self->timeline->slice_count &&
                     slice[1].lane == slice->lane && slice[1].start_ns < slice->end_ns;
    return has_inner || slice->start_ns == slice->end_ns ? slice->start_ns : slice->end_ns - 1;
}

/* When the flow of a dependency departs; false when it cannot be drawn. */
static bool find_departure(const chrome *self, int dependency, int64_t *ns)
{
    const hki_timeline *timeline = self->timeline;
    int from = self->last_slice[timeline->dependencies[dependency]];
    int to = self->first_slice[self->later_call[dependency]];
    if (from < 0 || to < 0 || timeline->slices[from].start_ns > timeline->slices[to].start_ns)
        return false;
    *ns = departure_ns(self, from);
    if (*ns > timeline->slices[to].start_ns)
        *ns = timeline->slices[from].start_ns;
    return true;
}

static void write_flow(chrome *self, const char *phase, int lane, int64_t ns, int dependency)
{
    begin_thread_event(self, phase, lane, ns);
    hki_write(self->writer, ",\"id\":%d,\"name\":\"dependency\",\"cat\":\"dependency\"%s}",
              dependency + 1, *phase == 'f' ? ",\"bp\":\"e\"" : "");
}

/* Directly behind their slice, so that they come before those inside it that begin at the same time. */
static void write_flows(chrome *self, int slice_index)
{
    const hki_timeline *timeline = self->timeline;
    const hki_trace_slice *slice = &timeline->slices[slice_index];
    const hki_call_event *call = &timeline->calls[slice->call];
    int64_t departure;
    if (self->first_slice[slice->call] == slice_index)
        for (int i = 0; i < call->dependency_count; i++)
            if (find_departure(self, call->first_dependency + i, &departure))
                write_flow(self, "f", slice->lane, slice->start_ns, call->first_dependency + i);
    if (self->last_slice[slice->call] == slice_index)
        for (int i = self->first_dependent[slice->call]; i >= 0; i = self->next_dependent[i])
            if (find_departure(self, i, &departure))
                write_flow(self, "s", slice->lane, departure, i);
}

/* ---- events of lanes -------------------------------------------------------------------------------- */

static void begin_complete_event(chrome *self, int lane, int64_t start_ns, int64_t end_ns)
{
    begin_thread_event(self, "X", lane, start_ns);
    hki_write(self->writer, ",");
    write_time(self->writer, "dur", end_ns - start_ns);
}

/* `is_whole`: with all of its call. */
static void write_slice(chrome *self, int slice_index, bool is_whole)
{
    const hki_trace_slice *slice = &self->timeline->slices[slice_index];
    const hki_call_event *call = &self->timeline->calls[slice->call];
    begin_complete_event(self, slice->lane, slice->start_ns, slice->end_ns);
    write_call_name(self, call);
    hki_write(self->writer, ",\"args\":{");
    if (is_whole)
        write_call(self, call);
    else
        hki_write(self->writer, "\"sequence\":%" PRIu64, call->sequence);
    if (slice->piece >= 0)
        hki_write(self->writer, ",\"piece\":%d", slice->piece);
    hki_write(self->writer, "}}");
    write_flows(self, slice_index);
}

static void write_wait(chrome *self, const hki_wait_event *wait)
{
    static const char *const kinds[] = HKI_CHROME_WAIT_NAMES;
    static const char *const names[] = {"wait for an array", "wait for a device", "wait for all",
                                        "wait for room in the run-ahead window",
                                        "wait for workers to catch up"};
    hki_writer *writer = self->writer;
    begin_complete_event(self, wait->lane, wait->start_ns, wait->end_ns);
    hki_write(writer, ",\"name\":\"%s\",\"cat\":\"wait\",\"args\":{\"wait\":\"%s\"",
              names[wait->kind], kinds[wait->kind]);
    write_member(writer, "device", wait->device);
    write_member(writer, "file", wait->file);
    hki_write(writer, ",\"line\":%d", wait->line);
    if (wait->last_call >= 0)
        hki_write(writer, ",\"ended_by\":%" PRIu64,
                  self->timeline->calls[wait->last_call].sequence);
    hki_write(writer, "}}");
}

/* Slices and waits of each lane, merged. A wait comes before what runs inside it. */
static void write_lanes(chrome *self)
{
    const hki_timeline *timeline = self->timeline;
    int wait_index = 0;
    bool *is_written = calloc((size_t)timeline->call_count + 1, sizeof *is_written);
    if (!is_written) {
        self->writer->is_failed = true;
        return;
    }
    for (int i = 0; i <= timeline->slice_count; i++) {
        const hki_trace_slice *slice = i < timeline->slice_count ? &timeline->slices[i] : NULL;
        for (; wait_index < timeline->wait_count; wait_index++) {
            const hki_wait_event *wait = &timeline->waits[self->waits[wait_index]];
            if (slice && (wait->lane != slice->lane           ? wait->lane > slice->lane
                          : wait->start_ns != slice->start_ns ? wait->start_ns > slice->start_ns
                                                              : wait->end_ns < slice->end_ns))
                break;
            write_wait(self, wait);
        }
        if (slice) {
            write_slice(self, i, !is_written[slice->call]);
            is_written[slice->call] = true;
        }
    }
    for (int i = 0; i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        if (is_written[i])
            continue;
        begin_event(self, "i", 1);
        hki_write(self->writer, ",\"s\":\"g\",");
        write_time(self->writer, "ts", call->issue_ns);
        write_call_name(self, call);
        hki_write(self->writer, ",\"args\":{");
        write_call(self, call);
        hki_write(self->writer, "}}");
    }
    free(is_written);
}

static void write_counters(chrome *self)
{
    const hki_timeline *timeline = self->timeline;
    for (int i = 0; i < timeline->counter_count; i++) {
        const hki_counter_track *track = &timeline->counters[i];
        for (int j = 0; j < track->point_count; j++) {
            const hki_counter_point *point = &timeline->points[track->first_point + j];
            begin_event(self, "C", self->track_pid[i]);
            hki_write(self->writer, ",\"track\":%d,", i);
            write_time(self->writer, "ts", point->time_ns);
            write_member(self->writer, "name", track->name);
            hki_write(self->writer, ",\"args\":{");
            hki_write_json_string(self->writer, track->unit);
            hki_write(self->writer, ":%" PRId64 "}}", point->value);
        }
    }
}

/* ---- tables ----------------------------------------------------------------------------------------- */

static int find_pid(chrome *self, const char *process)
{
    int i = 0;
    while (i < self->process_count && self->processes[i] != process)
        i++;
    self->processes[i] = process;
    if (i == self->process_count)
        self->process_count++;
    return i + 1;
}

static int compare_waits(const void *a, const void *b, void *context)
{
    const hki_wait_event *waits = context;
    int index_a = *(const int *)a, index_b = *(const int *)b;
    const hki_wait_event *x = &waits[index_a], *y = &waits[index_b];
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return index_a < index_b ? -1 : 1;
}

static void fill_calls(chrome *self)
{
    const hki_timeline *timeline = self->timeline;
    for (int i = 0; i < timeline->call_count; i++)
        self->first_slice[i] = self->last_slice[i] = self->first_dependent[i] = -1;
    for (int i = timeline->call_count - 1; i >= 0; i--) {
        const hki_call_event *call = &timeline->calls[i];
        for (int j = 0; j < call->dependency_count; j++) {
            int dependency = call->first_dependency + j;
            int *first = &self->first_dependent[timeline->dependencies[dependency]];
            self->later_call[dependency] = i;
            self->next_dependent[dependency] = *first;
            *first = dependency;
        }
    }
    for (int i = 0; i < timeline->slice_count; i++) {
        const hki_trace_slice *slice = &timeline->slices[i];
        int *first = &self->first_slice[slice->call], *last = &self->last_slice[slice->call];
        if (*first < 0 || slice->start_ns < timeline->slices[*first].start_ns)
            *first = i;
        if (*last < 0 || slice->end_ns > timeline->slices[*last].end_ns)
            *last = i;
    }
}

static bool create_tables(chrome *self)
{
    const hki_timeline *timeline = self->timeline;
    size_t calls = (size_t)timeline->call_count + 1, lanes = (size_t)timeline->lane_count + 1;
    size_t dependencies = (size_t)timeline->dependency_count + 1;
    size_t counters = (size_t)timeline->counter_count + 1;
    self->first_slice = malloc(calls * sizeof *self->first_slice);
    self->last_slice = malloc(calls * sizeof *self->last_slice);
    self->first_dependent = malloc(calls * sizeof *self->first_dependent);
    self->next_dependent = malloc(dependencies * sizeof *self->next_dependent);
    self->later_call = malloc(dependencies * sizeof *self->later_call);
    self->waits = malloc(((size_t)timeline->wait_count + 1) * sizeof *self->waits);
    self->processes = malloc((lanes + counters) * sizeof *self->processes);
    self->lane_pid = malloc(lanes * sizeof *self->lane_pid);
    self->track_pid = malloc(counters * sizeof *self->track_pid);
    if (!self->first_slice || !self->last_slice || !self->first_dependent ||
        !self->next_dependent || !self->later_call || !self->waits || !self->processes ||
        !self->lane_pid || !self->track_pid)
        return false;
    fill_calls(self);
    for (int i = 0; i < timeline->wait_count; i++)
        self->waits[i] = i;
    qsort_r(self->waits, (size_t)timeline->wait_count, sizeof *self->waits, compare_waits,
            timeline->waits);
    for (int i = 0; i < timeline->lane_count; i++)
        self->lane_pid[i] = find_pid(self, timeline->lanes[i].process);
    for (int i = 0; i < timeline->counter_count; i++)
        self->track_pid[i] = find_pid(self, timeline->counters[i].process);
    return true;
}

static void destroy_tables(chrome *self)
{
    free(self->first_slice);
    free(self->last_slice);
    free(self->first_dependent);
    free(self->next_dependent);
    free(self->later_call);
    free(self->waits);
    free(self->processes);
    free(self->lane_pid);
    free(self->track_pid);
}

void hki_timeline_write_chrome(const hki_timeline *timeline, hki_writer *writer)
{
    chrome self = {.timeline = timeline, .writer = writer, .is_first = true};
    if (create_tables(&self)) {
        hki_write(writer, "{\"displayTimeUnit\":\"ns\",\n");
        write_other_data(&self);
        hki_write(writer, "\"traceEvents\":[");
        write_names(&self);
        write_lanes(&self);
        write_counters(&self);
        hki_write(writer, "\n]}\n");
    } else {
        writer->is_failed = true;
    }
    destroy_tables(&self);
}
