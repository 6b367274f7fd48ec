/* Reads back what trace/chrome.c wrote. The text may be anything, so every value is checked before it is used.
 * Events are parsed one at a time: what memory a text can make this take is a small multiple of its length. */
#include "base/quote.h"
#include "trace/chrome.h"
#include "trace/json_input.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((int64_t)1 << 50)
#define MAX_OTHER (100 * 1000) /* objects in "otherData" */
#define MAX_ROWS  16384        /* lanes, queues, counters */
#define MAX_EVENT 16           /* objects and lists in one event; there are three */
#define MAX_COMMAS                                                                                 \
    (2 * 1024 * 1024) /* of one event: more than calls that a recording has room for */
#define MAX_SEQUENCE INT64_MAX

typedef struct reader {
    hki_json_input in;
    int call_capacity, slice_capacity, wait_capacity, point_capacity;
    int after_capacity, slice_call_capacity, wait_call_capacity, open_capacity;
    /* Sequence numbers, until all calls are known: */
    int64_t *
        after_sequences; /* dependency_count of them: in the order of reading, as first_dependency is */
    int64_t *slice_sequences, *wait_sequences; /* the latter -1: not known */
    int64_t *open_ends; /* of the slices that enclose the last one, itself included */
    int open_count;
    int last_track;
    int64_t total_ns, total_bytes; /* of everything: who adds up some of it must not overflow */
} reader;

/* ---- arrays ----------------------------------------------------------------------------------------- */

/* The array with room for one element behind `count`; as it was, with a message, when memory is short. */
static void *grow(reader *self, int *capacity, void *array, int count, size_t element_bytes)
{
    if (count < *capacity)
        return array;
    int doubled = *capacity ? *capacity <= INT_MAX / 2 ? 2 * *capacity : 0 : 32;
    void *moved = doubled ? realloc(array, (size_t)doubled * element_bytes) : NULL;
    if (!moved) {
        hki_json_fail_memory(&self->in);
        return array;
    }
    *capacity = doubled;
    return moved;
}

#define GROW(self, capacity, array, count)                                                         \
    ((array) = grow(self, &(self)->capacity, array, count, sizeof *(array)), !(self)->in.status)

/* ---- "otherData" ------------------------------------------------------------------------------------ */

/* A list of objects, for a table of *count rows, zeros. */
static bool get_rows(reader *self, const json_t *other, const char *key, size_t row_bytes,
                     const json_t **list, void **rows, int *count)
{
    *list = json_object_get(other, key);
    if (!json_is_array(*list))
        return hki_json_fail_value(&self->in, *list, key, "a list");
    if (json_array_size(*list) > MAX_ROWS)
        return hki_json_fail(&self->in, "\"%s\" has %zu rows; expected %d at most", key,
                             json_array_size(*list), MAX_ROWS);
    *rows = calloc(json_array_size(*list) + 1, row_bytes);
    if (!*rows)
        return hki_json_fail_memory(&self->in);
    *count = (int)json_array_size(*list);
    return true;
}

static bool read_queues(reader *self, const json_t *other)
{
    hki_timeline *timeline = self->in.timeline;
    const json_t *list;
    void *rows;
    if (!get_rows(self, other, "queues", sizeof *timeline->queues, &list, &rows,
                  &timeline->queue_count))
        return false;
    timeline->queues = rows;
    for (int i = 0; i < timeline->queue_count; i++) {
        const json_t *row = json_array_get(list, (size_t)i);
        hki_trace_queue_info *queue = &timeline->queues[i];
        if (!hki_json_get_text(&self->in, row, "device", &queue->device) ||
            !hki_json_get_text(&self->in, row, "name", &queue->name) ||
            !hki_json_get_flag(&self->in, row, "simulated", &queue->is_simulated) ||
            !hki_json_get_flag(&self->in, row, "copy", &queue->is_copy))
            return false;
    }
    return true;
}

static bool read_lanes(reader *self, const json_t *other)
{
    hki_timeline *timeline = self->in.timeline;
    const json_t *list;
    void *rows;
    if (!get_rows(self, other, "lanes", sizeof *timeline->lanes, &list, &rows,
                  &timeline->lane_count))
        return false;
    timeline->lanes = rows;
    for (int i = 0; i < timeline->lane_count; i++) {
        const json_t *row = json_array_get(list, (size_t)i);
        hki_lane *lane = &timeline->lanes[i];
        if (!hki_json_get_text(&self->in, row, "process", &lane->process) ||
            !hki_json_get_text(&self->in, row, "name", &lane->name) ||
            !hki_json_get_flag(&self->in, row, "simulated", &lane->is_simulated))
            return false;
    }
    return true;
}

static bool read_tracks(reader *self, const json_t *other)
{
    hki_timeline *timeline = self->in.timeline;
    const json_t *list;
    void *rows;
    if (!get_rows(self, other, "counters", sizeof *timeline->counters, &list, &rows,
                  &timeline->counter_count))
        return false;
    timeline->counters = rows;
    for (int i = 0; i < timeline->counter_count; i++) {
        const json_t *row = json_array_get(list, (size_t)i);
        hki_counter_track *track = &timeline->counters[i];
        if (!hki_json_get_text(&self->in, row, "process", &track->process) ||
            !hki_json_get_text(&self->in, row, "name", &track->name) ||
            !hki_json_get_text(&self->in, row, "unit", &track->unit))
            return false;
    }
    return true;
}

static bool read_other(reader *self, const json_t *other)
{
    hki_timeline *timeline = self->in.timeline;
    int64_t format;
    if (!json_is_string(json_object_get(other, "hocket")))
        return hki_json_fail(
            &self->in, "\"otherData\" does not say that hocket wrote this; expected a file of "
                       "HK_TRACE_CHROME, hocket train --trace or HOCKET_TRACE");
    if (!hki_json_get_integer(&self->in, other, "format", 1, INT64_MAX, &format))
        return false;
    if (format != HKI_CHROME_FORMAT)
        return hki_json_fail(&self->in,
                             "\"format\" is %" PRId64 "; this version of hocket reads %d", format,
                             HKI_CHROME_FORMAT);
    return hki_json_get_text(&self->in, other, "title", &timeline->title) &&
           hki_json_get_integer(&self->in, other, "duration_ns", 0, HKI_JSON_MAX_NS,
                                &timeline->duration_ns) &&
           hki_json_get_uint64(&self->in, other, "lost_records", &timeline->lost_records) &&
           hki_json_get_uint64(&self->in, other, "limit_bytes", &timeline->limit_bytes) &&
           read_queues(self, other) && read_lanes(self, other) && read_tracks(self, other);
}

/* ---- events ----------------------------------------------------------------------------------------- */

static bool add_up(reader *self, int64_t *total, int64_t amount, const char *what)
{
    return !__builtin_add_overflow(*total, amount, total) ||
           hki_json_fail(&self->in, "%s here and before add up to more than 2^63", what);
}

static bool read_dependencies(reader *self, const json_t *args, hki_call_event *call)
{
    hki_timeline *timeline = self->in.timeline;
    const json_t *after = json_object_get(args, "after");
    if (!json_is_array(after))
        return hki_json_fail_value(&self->in, after, "after", "a list of sequence numbers");
    call->first_dependency = timeline->dependency_count;
    for (size_t i = 0; i < json_array_size(after); i++) {
        const json_t *sequence = json_array_get(after, i);
        if (!json_is_integer(sequence) || json_integer_value(sequence) < 0)
            return hki_json_fail_value(&self->in, sequence, "after", "a list of sequence numbers");
        if (!GROW(self, after_capacity, self->after_sequences, timeline->dependency_count))
            return false;
        self->after_sequences[timeline->dependency_count++] = json_integer_value(sequence);
        call->dependency_count++;
    }
    return true;
}

static bool read_call(reader *self, const json_t *event, const json_t *args)
{
    hki_timeline *timeline = self->in.timeline;
    hki_call_event call = {0};
    if (!hki_json_get_uint64(&self->in, args, "sequence", &call.sequence) ||
        !hki_json_get_text(&self->in, event, "name", &call.operation) ||
        !hki_json_get_text(&self->in, args, "shapes", &call.shapes) ||
        !hki_json_get_text(&self->in, args, "file", &call.file) ||
        !hki_json_get_int(&self->in, args, "line", INT_MIN, INT_MAX, &call.line) ||
        !hki_json_get_index(&self->in, args, "queue", 0, timeline->queue_count, &call.queue) ||
        !hki_json_get_integer(&self->in, args, "bytes", 0, MAX_BYTES, &call.bytes) ||
        !hki_json_get_ns(&self->in, args, "issue_ns", &call.issue_ns) ||
        !hki_json_get_ns(&self->in, args, "ready_ns", &call.ready_ns) ||
        !hki_json_get_ns(&self->in, args, "start_ns", &call.start_ns) ||
        !hki_json_get_integer(&self->in, args, "end_ns", call.start_ns, HKI_JSON_MAX_NS,
                              &call.end_ns) ||
        !hki_json_get_flag(&self->in, args, "collective", &call.is_collective) ||
        !hki_json_get_flag(&self->in, args, "backward", &call.is_backward) ||
        !hki_json_get_flag(&self->in, args, "update", &call.is_update) ||
        !hki_json_get_flag(&self->in, args, "failed", &call.is_failed) ||
        !hki_json_get_flag(&self->in, args, "skipped", &call.is_skipped) ||
        !hki_json_get_flag(&self->in, args, "subnormals", &call.met_subnormals))
        return false;
    call.wall_start_ns = call.start_ns;
    call.wall_end_ns = call.end_ns;
    if (json_object_get(args, "wall_start_ns") &&
        (!hki_json_get_ns(&self->in, args, "wall_start_ns", &call.wall_start_ns) ||
         !hki_json_get_integer(&self->in, args, "wall_end_ns", call.wall_start_ns, HKI_JSON_MAX_NS,
                               &call.wall_end_ns)))
        return false;
    if (!add_up(self, &self->total_bytes, call.bytes, "the bytes of calls") ||
        !add_up(self, &self->total_ns, call.end_ns - call.start_ns, "the durations") ||
        !add_up(self, &self->total_ns, call.wall_end_ns - call.wall_start_ns, "the durations"))
        return false;
    if (!read_dependencies(self, args, &call) ||
        !GROW(self, call_capacity, timeline->calls, timeline->call_count))
        return false;
    timeline->calls[timeline->call_count++] = call;
    return true;
}

static bool get_span(reader *self, const json_t *event, int *lane, int64_t *start_ns,
                     int64_t *end_ns)
{
    int64_t duration;
    if (!hki_json_get_index(&self->in, event, "tid", HKI_CHROME_FIRST_TID,
                            self->in.timeline->lane_count, lane) ||
        !hki_json_get_us(&self->in, event, "ts", -HKI_JSON_MAX_NS, start_ns) ||
        !hki_json_get_us(&self->in, event, "dur", 0, &duration))
        return false;
    *end_ns = *start_ns + duration;
    return add_up(self, &self->total_ns, duration, "the durations");
}

/* Whether the slice comes where timeline.h says, after the last one, and nests. */
static bool check_order(reader *self, const hki_trace_slice *slice)
{
    const hki_trace_slice *before = slice - 1;
    bool is_first = self->in.timeline->slice_count == 0;
    if (!is_first && before->lane > slice->lane)
        return hki_json_fail(
            &self->in, "a slice of thread %d after those of %d; expected them by thread",
            slice->lane + HKI_CHROME_FIRST_TID, before->lane + HKI_CHROME_FIRST_TID);
    if (is_first || before->lane < slice->lane)
        self->open_count = 0;
    else if (before->start_ns > slice->start_ns ||
             (before->start_ns == slice->start_ns && before->end_ns < slice->end_ns))
        return hki_json_fail(&self->in,
                             "a slice begins before the one before it, or with it and is longer; "
                             "expected them by start, the longest first");
    /* One that ends where this begins does not enclose it, unless this is as empty. */
    while (self->open_count && self->open_ends[self->open_count - 1] <= slice->start_ns &&
           self->open_ends[self->open_count - 1] < slice->end_ns)
        self->open_count--;
    if (self->open_count && self->open_ends[self->open_count - 1] < slice->end_ns)
        return hki_json_fail(&self->in,
                             "a slice overlaps the one around it in part; expected it to nest");
    if (!GROW(self, open_capacity, self->open_ends, self->open_count))
        return false;
    self->open_ends[self->open_count++] = slice->end_ns;
    return true;
}

static bool read_slice(reader *self, const json_t *event, const json_t *args)
{
    hki_timeline *timeline = self->in.timeline;
    int index = timeline->slice_count;
    if (!GROW(self, slice_capacity, timeline->slices, index) ||
        !GROW(self, slice_call_capacity, self->slice_sequences, index))
        return false;
    hki_trace_slice *slice = &timeline->slices[index];
    *slice = (hki_trace_slice){.piece = -1};
    if (!hki_json_get_integer(&self->in, args, "sequence", 0, MAX_SEQUENCE,
                              &self->slice_sequences[index]) ||
        !get_span(self, event, &slice->lane, &slice->start_ns, &slice->end_ns) ||
        (json_object_get(args, "piece") &&
         !hki_json_get_int(&self->in, args, "piece", 0, INT_MAX, &slice->piece)) ||
        !check_order(self, slice))
        return false;
    timeline->slice_count++;
    return !json_object_get(args, "shapes") || read_call(self, event, args);
}

static bool read_wait(reader *self, const json_t *event, const json_t *args)
{
    static const char *const kinds[] = HKI_CHROME_WAIT_NAMES;
    hki_timeline *timeline = self->in.timeline;
    int index = timeline->wait_count;
    if (!GROW(self, wait_capacity, timeline->waits, index) ||
        !GROW(self, wait_call_capacity, self->wait_sequences, index))
        return false;
    hki_wait_event *wait = &timeline->waits[index];
    const char *kind;
    *wait = (hki_wait_event){.last_call = -1};
    self->wait_sequences[index] = -1;
    if (!hki_json_get_text(&self->in, args, "wait", &kind) ||
        !hki_json_get_text(&self->in, args, "device", &wait->device) ||
        !hki_json_get_text(&self->in, args, "file", &wait->file) ||
        !hki_json_get_int(&self->in, args, "line", INT_MIN, INT_MAX, &wait->line) ||
        !get_span(self, event, &wait->lane, &wait->start_ns, &wait->end_ns) ||
        (json_object_get(args, "ended_by") &&
         !hki_json_get_integer(&self->in, args, "ended_by", 0, MAX_SEQUENCE,
                               &self->wait_sequences[index])))
        return false;
    int number = 0;
    while (number < HKI_TRACE_WAIT_KIND_COUNT && strcmp(kinds[number], kind))
        number++;
    if (number == HKI_TRACE_WAIT_KIND_COUNT)
        return hki_json_fail(&self->in, "\"wait\" is \"%s\"; expected %s, %s, %s, %s or %s",
                             hki_quote(kind, 40).text, kinds[0], kinds[1], kinds[2], kinds[3],
                             kinds[4]);
    wait->kind = (hki_trace_wait_kind)number;
    timeline->wait_count++;
    return true;
}

static bool read_point(reader *self, const json_t *event, const json_t *args)
{
    hki_timeline *timeline = self->in.timeline;
    hki_counter_point point;
    int index;
    if (!hki_json_get_index(&self->in, event, "track", 0, timeline->counter_count, &index))
        return false;
    hki_counter_track *track = &timeline->counters[index];
    if (index < self->last_track)
        return hki_json_fail(&self->in,
                             "a point of track %d after those of %d; expected them by track", index,
                             self->last_track);
    if (!hki_json_get_us(&self->in, event, "ts", -HKI_JSON_MAX_NS, &point.time_ns) ||
        !hki_json_get_integer(&self->in, args, track->unit, -INT64_MAX, INT64_MAX, &point.value) ||
        !GROW(self, point_capacity, timeline->points, timeline->point_count))
        return false;
    if (!track->point_count)
        track->first_point = timeline->point_count;
    else if (timeline->points[timeline->point_count - 1].time_ns > point.time_ns)
        return hki_json_fail(&self->in,
                             "a point of a counter before the last one; expected them by time");
    self->last_track = index;
    timeline->points[timeline->point_count++] = point;
    track->point_count++;
    return true;
}

static bool read_event(reader *self, const json_t *event)
{
    const json_t *phase_value = json_object_get(event, "ph");
    const json_t *args = json_object_get(event, "args");
    if (!json_is_string(phase_value))
        return hki_json_fail_value(&self->in, phase_value, "ph", "a text");
    const char *phase = json_string_value(phase_value);
    if (strlen(phase) != 1 || !strchr("XiC", *phase))
        return true; /* for viewers only */
    if (!json_is_object(args))
        return hki_json_fail_value(&self->in, args, "args", "an object");
    if (*phase == 'C')
        return read_point(self, event, args);
    if (*phase == 'i')
        return read_call(self, event, args);
    return json_object_get(args, "wait") ? read_wait(self, event, args)
                                         : read_slice(self, event, args);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

/* An object, parsed; to be released. NULL, with a message, when it is none or has too many parts. */
static json_t *parse(reader *self, const hki_json_extent *extent, size_t container_limit)
{
    json_error_t error;
    self->in.value_at = extent->begin;
    if (extent->container_count > container_limit) {
        hki_json_fail(&self->in, "an object with %zu objects and lists in it; expected %zu at most",
                      extent->container_count, container_limit);
        return NULL;
    }
    if (extent->comma_count > MAX_COMMAS) {
        hki_json_fail(&self->in, "an object with %zu commas in it; expected %d at most",
                      extent->comma_count, MAX_COMMAS);
        return NULL;
    }
    json_t *value = json_loadb(self->in.text.data + extent->begin, extent->end - extent->begin,
                               JSON_REJECT_DUPLICATES, &error);
    if (!value && error.position > 0)
        self->in.value_at += (size_t)error.position - 1;
    if (!value && json_error_code(&error) == json_error_out_of_memory)
        hki_json_fail_memory(&self->in);
    else if (!value)
        hki_json_fail(&self->in, "no JSON: %s", error.text);
    else if (!json_is_object(value)) {
        hki_json_fail(&self->in, "found a list; expected an object");
        json_decref(value);
        value = NULL;
    }
    return value;
}

/* Flows and names, which are most events, need no parsing where they look as we write them. */
static bool is_for_viewers(const reader *self, const hki_json_extent *event)
{
    const char *text = self->in.text.data + event->begin;
    return event->end - event->begin > 9 && !memcmp(text, "{\"ph\":\"", 7) &&
           memchr("sfM", text[7], 3) && text[8] == '"';
}

static bool read_events(reader *self, const hki_json_extent *extent)
{
    hki_json_extent event;
    self->in.text.at = extent->begin;
    if (!hki_json_expect(&self->in.text, '[', "a list of events"))
        return hki_json_fail_text(&self->in);
    if (hki_json_take(&self->in.text, ']'))
        return true;
    do {
        if (!hki_json_take_value(&self->in.text, &event))
            return hki_json_fail_text(&self->in);
        if (is_for_viewers(self, &event))
            continue;
        json_t *value = parse(self, &event, MAX_EVENT);
        bool is_good = value && read_event(self, value);
        json_decref(value);
        if (!is_good)
            return false;
    } while (hki_json_take(&self->in.text, ','));
    return hki_json_expect(&self->in.text, ']', "a comma or the end of the list of events") ||
           hki_json_fail_text(&self->in);
}

/* Finds the two members that matter; the others are for viewers. */
static bool find_members(reader *self, hki_json_extent *other, hki_json_extent *events)
{
    hki_json_text *text = &self->in.text;
    hki_json_extent key, value, *const wanted[] = {other, events};
    static const char *const names[] = {"\"otherData\"", "\"traceEvents\""};
    if (!hki_json_expect(text, '{', "an object, as hocket writes it"))
        return hki_json_fail_text(&self->in);
    do {
        if (!hki_json_take_string(text, &key) || !hki_json_expect(text, ':', "a colon") ||
            !hki_json_take_value(text, &value))
            return hki_json_fail_text(&self->in);
        for (int i = 0; i < 2; i++) {
            if (key.end - key.begin != strlen(names[i]) ||
                memcmp(text->data + key.begin, names[i], key.end - key.begin))
                continue;
            self->in.value_at = key.begin;
            if (wanted[i]->end)
                return hki_json_fail(&self->in, "a second %s; expected one", names[i]);
            *wanted[i] = value;
        }
    } while (hki_json_take(text, ','));
    if (!hki_json_expect(text, '}', "a comma or the end of the object"))
        return hki_json_fail_text(&self->in);
    hki_json_skip_space(text);
    self->in.value_at = text->at;
    if (text->at < text->bytes)
        return hki_json_fail(&self->in, "more text after the end of the trace");
    self->in.value_at = 0;
    for (int i = 0; i < 2; i++)
        if (!wanted[i]->end)
            return hki_json_fail(&self->in, "%s is missing; expected a trace that hocket wrote",
                                 names[i]);
    return true;
}

static int compare_calls(const void *a, const void *b)
{
    const hki_call_event *x = a, *y = b;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static int compare_waits(const void *a, const void *b)
{
    const hki_wait_event *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Index of the call; -1, with a message, when there is none. */
static int find_call(reader *self, int64_t sequence, const char *whose)
{
    const hki_timeline *timeline = self->in.timeline;
    hki_call_event key = {.sequence = (uint64_t)sequence};
    hki_call_event *found = timeline->call_count
                                ? bsearch(&key, timeline->calls, (size_t)timeline->call_count,
                                          sizeof key, compare_calls)
                                : NULL;
    if (found)
        return (int)(found - timeline->calls);
    hki_json_fail(&self->in, "%s names call %" PRId64 ", which is not in the file", whose,
                  sequence);
    return -1;
}

/* Lays dependencies out in the order of calls, as indices. */
static bool resolve_dependencies(reader *self)
{
    hki_timeline *timeline = self->in.timeline;
    int count = 0;
    timeline->dependencies =
        calloc((size_t)timeline->dependency_count + 1, sizeof *timeline->dependencies);
    if (!timeline->dependencies)
        return hki_json_fail_memory(&self->in);
    for (int i = 0; i < timeline->call_count; i++) {
        hki_call_event *call = &timeline->calls[i];
        const int64_t *sequences =
            call->dependency_count ? self->after_sequences + call->first_dependency : NULL;
        if (i && call[-1].sequence == call->sequence)
            return hki_json_fail(&self->in,
                                 "two calls have the sequence number %" PRIu64 "; expected one",
                                 call->sequence);
        call->first_dependency = count;
        for (int j = 0; j < call->dependency_count; j++) {
            int earlier = find_call(self, sequences[j], "\"after\"");
            if (earlier < 0)
                return false;
            if (earlier >= i || (j && earlier <= timeline->dependencies[count - 1]))
                return hki_json_fail(&self->in,
                                     "\"after\" of call %" PRIu64 " names %" PRId64
                                     "; expected earlier calls, ascending",
                                     call->sequence, sequences[j]);
            timeline->dependencies[count++] = earlier;
        }
    }
    return true;
}

/* Sequence numbers become indices. */
static bool resolve(reader *self)
{
    hki_timeline *timeline = self->in.timeline;
    self->in.value_at = self->in.text.bytes;
    if (timeline->call_count)
        qsort(timeline->calls, (size_t)timeline->call_count, sizeof *timeline->calls,
              compare_calls);
    if (!resolve_dependencies(self))
        return false;
    for (int i = 0; i < timeline->slice_count; i++) {
        timeline->slices[i].call = find_call(self, self->slice_sequences[i], "a slice");
        if (timeline->slices[i].call < 0)
            return false;
    }
    for (int i = 0; i < timeline->wait_count; i++) {
        if (self->wait_sequences[i] < 0)
            continue;
        timeline->waits[i].last_call = find_call(self, self->wait_sequences[i], "\"ended_by\"");
        if (timeline->waits[i].last_call < 0)
            return false;
    }
    if (timeline->wait_count)
        qsort(timeline->waits, (size_t)timeline->wait_count, sizeof *timeline->waits,
              compare_waits);
    return true;
}

static bool read_all(reader *self)
{
    hki_json_extent other = {0}, events = {0};
    if (!find_members(self, &other, &events))
        return false;
    self->in.value_at = other.begin;
    json_t *value = parse(self, &other, MAX_OTHER);
    bool is_good = value && read_other(self, value);
    json_decref(value);
    return is_good && read_events(self, &events) && resolve(self);
}

hki_timeline *hki_timeline_read_chrome(const char *data, size_t bytes, const hk_status **status)
{
    reader self = {.in.text = {.data = data, .bytes = bytes}};
    self.in.timeline = hki_timeline_create();
    bool is_good = self.in.timeline ? read_all(&self) : hki_json_fail_memory(&self.in);
    free(self.after_sequences);
    free(self.slice_sequences);
    free(self.wait_sequences);
    free(self.open_ends);
    if (is_good)
        return self.in.timeline;
    hki_timeline_destroy(self.in.timeline);
    if (status)
        *status = self.in.status;
    else
        hk_status_release(self.in.status);
    return NULL;
}
