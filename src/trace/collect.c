#include "trace/collect.h"

#include "device/device.h"
#include "trace/dependencies.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a call by now. */
enum { HAS_ENDED = 1, HAS_RUN = 2, HAS_MODEL = 4, HAS_READY = 8 };

typedef struct begun_var {
    uint64_t ticks, var;
} begun_var;

typedef struct counted {
    int track; /* counter and device */
    hki_counter_point point;
} counted;

typedef struct collector {
    const hki_collect_source *source;
    hki_timeline *timeline;
    double ns_per_tick;
    const hki_trace_issue_record **issues; /* of each call, by sequence number */
    unsigned char *known;                  /* of each call: the bits above */
    begun_var *vars;
    hki_trace_thread_info *threads; /* by number */
    uint64_t *wait_sequences;       /* of each wait: the latest call when it began */
    counted *points;
    int issue_count, issue_capacity, var_count, var_capacity, thread_count, thread_capacity,
        wait_capacity, wait_sequence_capacity, slice_capacity, point_count, point_capacity;
    int *first_queue;   /* of each device, in timeline->queues */
    bool *has_clock;    /* of each queue: an accelerator's, which says itself when its calls ran */
    int *lane_of_queue; /* of accelerators */
    int *lane_of_thread;
} collector;

/* Makes room for an item of so many bytes in *list, a pointer to `count` of them. False: no memory. */
static bool grow(void *list, int count, int *capacity, size_t bytes)
{
    void *items;
    if (count < *capacity || count > INT32_MAX / 2)
        return count < *capacity;
    const int wanted = count < 64 ? 128 : 2 * count;
    memcpy(&items, list, sizeof items);
    items = realloc(items, (size_t)wanted * bytes);
    if (!items)
        return false;
    memcpy(list, &items, sizeof items);
    *capacity = wanted;
    return true;
}

/* From the begin of recording, and within it: what began before counts from there. */
static int64_t nanoseconds(const collector *self, uint64_t ticks)
{
    const hki_trace_facts *facts = &self->source->facts;
    const double ns = (double)(int64_t)(ticks - facts->begin_ticks) * self->ns_per_tick;
    const int64_t duration = facts->end_ns - facts->begin_ns;
    return ns <= 0 ? 0 : ns >= (double)duration ? duration : (int64_t)(ns + 0.5);
}

/* ---- first pass: what there is ------------------------------------------------------------------------------- */

static bool note_thread(collector *self, const hki_trace_thread_info *thread)
{
    while (self->thread_count <= thread->number) {
        if (!grow(&self->threads, self->thread_count, &self->thread_capacity,
                  sizeof *self->threads))
            return false;
        self->threads[self->thread_count] =
            (hki_trace_thread_info){.device = -1, .number = self->thread_count};
        self->thread_count++;
    }
    self->threads[thread->number] = *thread;
    return true;
}

static bool visit_first(void *context, const hki_trace_thread_info *thread,
                        const hki_trace_head *record)
{
    collector *self = context;
    if (record->kind == HKI_TRACE_ISSUE) {
        if (!grow(&self->issues, self->issue_count, &self->issue_capacity, sizeof *self->issues))
            return false;
        self->issues[self->issue_count++] = (const void *)record;
    } else if (record->kind == HKI_TRACE_VAR) {
        if (!grow(&self->vars, self->var_count, &self->var_capacity, sizeof *self->vars))
            return false;
        self->vars[self->var_count++] =
            (begun_var){record->ticks, ((const hki_trace_task_record *)(const void *)record)->id};
    }
    return note_thread(self, thread);
}

static int compare_issues(const void *a, const void *b)
{
    const uint64_t left = (*(const hki_trace_issue_record *const *)a)->sequence;
    const uint64_t right = (*(const hki_trace_issue_record *const *)b)->sequence;
    return (left > right) - (left < right);
}

static int compare_vars(const void *a, const void *b)
{
    const uint64_t left = ((const begun_var *)a)->ticks, right = ((const begun_var *)b)->ticks;
    return (left > right) - (left < right);
}

/* One thread's come in order: then there is nothing to do. */
static void sort_unless_sorted(void *items, int count, size_t bytes,
                               int (*compare)(const void *, const void *))
{
    for (int i = 1; i < count; i++)
        if (compare((char *)items + (size_t)(i - 1) * bytes, (char *)items + (size_t)i * bytes) >
            0) {
            qsort(items, (size_t)count, bytes, compare);
            return;
        }
}

static bool add_queues(collector *self)
{
    static const char *const names[] = {"compute", "copy in", "copy out", "reduce"};
    hki_timeline *timeline = self->timeline;
    const int device_count = self->source->device_count;
    timeline->queues =
        calloc((size_t)device_count * HKI_QUEUE_KIND_COUNT + 1, sizeof *timeline->queues);
    self->first_queue = calloc((size_t)device_count + 1, sizeof *self->first_queue);
    self->has_clock =
        calloc((size_t)device_count * HKI_QUEUE_KIND_COUNT + 1, sizeof *self->has_clock);
    if (!timeline->queues || !self->first_queue || !self->has_clock)
        return false;
    for (int i = 0; i < device_count; i++) {
        const hki_collect_device *device = &self->source->devices[i];
        const char *name = hki_timeline_text(timeline, device->name);
        self->first_queue[i] = timeline->queue_count;
        for (int kind = 0; kind < device->queue_count; kind++) {
            self->has_clock[timeline->queue_count] = device->is_accelerator;
            hki_trace_queue_info *queue = &timeline->queues[timeline->queue_count++];
            *queue = (hki_trace_queue_info){
                name, hki_timeline_text(timeline, names[kind]), device->is_simulated,
                kind == HKI_QUEUE_COPY_IN || kind == HKI_QUEUE_COPY_OUT};
            if (!queue->device || !queue->name)
                return false;
        }
    }
    return true;
}

/* Calls of a failed device fail in the first one's. */
static int queue_of(const collector *self, const hki_trace_issue_record *issue)
{
    const int device = issue->device < self->source->device_count ? issue->device : 0;
    const int count = self->source->devices[device].queue_count;
    return self->first_queue[device] + (issue->queue < count ? issue->queue : 0);
}

static int64_t bytes_of(const hki_trace_issue_record *issue)
{
    const hki_trace_access *accesses = (const void *)issue->body;
    int64_t bytes = 0;
    for (int i = 0; i < issue->access_count; i++) {
        const uint64_t span = accesses[i].end - accesses[i].begin, pitch = accesses[i].pitch;
        const int64_t size = (int64_t)(pitch ? (span / pitch + 1) * (span % pitch) : span);
        bytes += (accesses[i].mode & 1 ? size : 0) + (accesses[i].mode & 2 ? size : 0);
    }
    return bytes;
}

static bool add_calls(collector *self)
{
    hki_timeline *timeline = self->timeline;
    sort_unless_sorted(self->issues, self->issue_count, sizeof *self->issues, compare_issues);
    timeline->calls = calloc((size_t)self->issue_count + 1, sizeof *timeline->calls);
    self->known = calloc((size_t)self->issue_count + 1, 1);
    if (!timeline->calls || !self->known)
        return false;
    for (int i = 0; i < self->issue_count; i++) {
        const hki_trace_issue_record *issue = self->issues[i];
        hki_call_event *call = &timeline->calls[timeline->call_count++];
        char shapes[1024];
        hki_collect_shapes(issue, shapes, sizeof shapes);
        *call = (hki_call_event){.sequence = issue->sequence,
                                 .operation = hki_timeline_text(timeline, issue->operation),
                                 .shapes = hki_timeline_text(timeline, shapes),
                                 .file = hki_timeline_text(timeline, issue->file),
                                 .line = issue->file ? issue->line : 0,
                                 .queue = queue_of(self, issue),
                                 .is_collective = issue->is_collective,
                                 .is_backward = issue->is_backward,
                                 .is_update = issue->is_update,
                                 .issue_ns = nanoseconds(self, issue->head.ticks),
                                 .bytes = bytes_of(issue)};
        if (!call->operation || !call->shapes || !call->file)
            return false;
    }
    return true;
}

/* ---- second pass: what became of it --------------------------------------------------------------------------- */

/* -1: not issued while recording. */
static int find_call(const collector *self, uint64_t sequence)
{
    int low = 0, high = self->timeline->call_count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (self->timeline->calls[middle].sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low < self->timeline->call_count && self->timeline->calls[low].sequence == sequence ? low
                                                                                               : -1;
}

static bool add_slice(collector *self, const hki_trace_slice *slice)
{
    hki_timeline *timeline = self->timeline;
    if (!grow(&timeline->slices, timeline->slice_count, &self->slice_capacity,
              sizeof *timeline->slices))
        return false;
    timeline->slices[timeline->slice_count++] = *slice;
    return true;
}

/* Lanes are not known yet: in their place the number of the thread. */
static bool add_run(collector *self, int thread, const hki_trace_run_record *run)
{
    const int index = find_call(self, run->sequence);
    if (index < 0)
        return true;
    hki_call_event *call = &self->timeline->calls[index];
    const int64_t start = nanoseconds(self, run->begin_ticks);
    const int64_t end = nanoseconds(self, run->head.ticks);
    const bool is_first = !(self->known[index] & HAS_RUN);
    call->wall_start_ns = is_first || start < call->wall_start_ns ? start : call->wall_start_ns;
    call->wall_end_ns = is_first || end > call->wall_end_ns ? end : call->wall_end_ns;
    call->is_skipped |= (run->head.flags & HKI_TRACE_SKIPPED) != 0;
    call->is_failed |= (run->head.flags & (HKI_TRACE_SKIPPED | HKI_TRACE_FAILED)) != 0;
    call->met_subnormals |= (run->head.flags & HKI_TRACE_SUBNORMAL) != 0;
    self->known[index] |= HAS_RUN | (run->head.flags & HKI_TRACE_LAST ? HAS_ENDED : 0);
    const int piece = self->issues[index]->piece_count > 1 ? (int)run->piece : -1;
    return self->has_clock[call->queue] ||
           add_slice(self,
                     &(hki_trace_slice){index, thread, piece, start, end > start ? end : start});
}

static bool add_wait(collector *self, int thread, const hki_trace_wait_record *wait)
{
    hki_timeline *timeline = self->timeline;
    if (!grow(&timeline->waits, timeline->wait_count, &self->wait_capacity,
              sizeof *timeline->waits) ||
        !grow(&self->wait_sequences, timeline->wait_count, &self->wait_sequence_capacity,
              sizeof *self->wait_sequences))
        return false;
    const int device = wait->device_plus_1 - 1;
    const bool is_known = device >= 0 && device < self->source->device_count;
    hki_wait_event *event = &timeline->waits[timeline->wait_count];
    *event = (hki_wait_event){
        .lane = thread,
        .kind = wait->wait_kind,
        .device = hki_timeline_text(timeline, is_known ? self->source->devices[device].name : ""),
        .file = hki_timeline_text(timeline, wait->file),
        .line = wait->file ? wait->line : 0,
        .start_ns = nanoseconds(self, wait->begin_ticks),
        .end_ns = nanoseconds(self, wait->head.ticks),
        .last_call = timeline->wait_count /* for now: where its sequence number is */};
    self->wait_sequences[timeline->wait_count++] = wait->sequence;
    return event->device && event->file;
}

static bool add_point(collector *self, const hki_trace_counter_record *record)
{
    if (record->counter >= HKI_TRACE_COUNTER_COUNT || record->device >= self->source->device_count)
        return true;
    if (!grow(&self->points, self->point_count, &self->point_capacity, sizeof *self->points))
        return false;
    const bool is_memory = record->counter == HKI_TRACE_MEMORY_BYTES;
    self->points[self->point_count++] =
        (counted){record->counter + (is_memory ? record->device : 0),
                  {nanoseconds(self, record->head.ticks), record->value}};
    return true;
}

static bool visit_second(void *context, const hki_trace_thread_info *thread,
                         const hki_trace_head *record)
{
    collector *self = context;
    const hki_trace_task_record *task = (const void *)record;
    const hki_trace_model_record *model = (const void *)record;
    const int64_t begin_ns = self->source->facts.begin_ns;
    int index;
    switch (record->kind) {
    case HKI_TRACE_READY:
        if ((index = find_call(self, task->id)) >= 0) {
            self->timeline->calls[index].ready_ns = nanoseconds(self, record->ticks);
            self->known[index] |= HAS_READY;
        }
        return true;
    case HKI_TRACE_RUN:
        return add_run(self, thread->number, (const void *)record);
    case HKI_TRACE_MODEL:
        if ((index = find_call(self, model->sequence)) >= 0) {
            self->timeline->calls[index].start_ns = model->begin_ns - begin_ns;
            self->timeline->calls[index].end_ns = model->end_ns - begin_ns;
            self->known[index] |= HAS_MODEL;
        }
        return true;
    case HKI_TRACE_WAIT:
        return add_wait(self, thread->number, (const void *)record);
    case HKI_TRACE_COUNTER:
        return add_point(self, (const void *)record);
    default:
        return true;
    }
}

/* ---- afterwards ------------------------------------------------------------------------------------------------ */

/* Times in their order, whatever clocks they come from. */
static void finish_call(const collector *self, hki_call_event *call, int known)
{
    const bool has_clock = self->has_clock[call->queue];
    if (has_clock && !(known & HAS_MODEL) && call->is_failed) {
        call->start_ns = call->end_ns = call->wall_end_ns;
    } else if (!has_clock || !(known & HAS_MODEL)) {
        call->start_ns = call->wall_start_ns;
        call->end_ns = call->wall_end_ns;
    }
    if (call->start_ns < 0)
        call->start_ns = 0;
    if (call->end_ns < call->start_ns)
        call->end_ns = call->start_ns;
    if (call->issue_ns > call->start_ns)
        call->issue_ns = call->start_ns;
    if (!(known & HAS_READY) || call->ready_ns < call->issue_ns)
        call->ready_ns = call->issue_ns;
    if (call->ready_ns > call->start_ns)
        call->ready_ns = call->start_ns;
    if (!self->timeline->queues[call->queue].is_simulated)
        call->wall_start_ns = call->start_ns, call->wall_end_ns = call->end_ns;
}

/* Keeps the calls that ended, and what is drawn of them. */
static bool drop_unfinished(collector *self)
{
    hki_timeline *timeline = self->timeline;
    int *kept = malloc(((size_t)timeline->call_count + 1) * sizeof *kept), count = 0;
    if (!kept)
        return false;
    for (int i = 0; i < timeline->call_count; i++) {
        kept[i] = -1;
        if (self->known[i] & HAS_ENDED) {
            finish_call(self, &timeline->calls[i], self->known[i]);
            kept[i] = count;
            timeline->calls[count] = timeline->calls[i];
            self->issues[count++] = self->issues[i];
        }
    }
    timeline->call_count = count;
    count = 0;
    for (int i = 0; i < timeline->slice_count; i++)
        if (kept[timeline->slices[i].call] >= 0) {
            timeline->slices[count] = timeline->slices[i];
            timeline->slices[count++].call = kept[timeline->slices[i].call];
        }
    timeline->slice_count = count;
    free(kept);
    return true;
}

static bool add_dependencies(collector *self)
{
    hki_timeline *timeline = self->timeline;
    hki_dependencies *dependencies = hki_dependencies_create(timeline->call_count);
    bool done = dependencies;
    sort_unless_sorted(self->vars, self->var_count, sizeof *self->vars, compare_vars);
    for (int i = 0, begun = 0; done && i < timeline->call_count; i++) {
        hki_call_event *call = &timeline->calls[i];
        const hki_trace_issue_record *issue = self->issues[i];
        for (; begun < self->var_count && self->vars[begun].ticks <= issue->head.ticks; begun++)
            hki_dependencies_begin_var(dependencies, self->vars[begun].var);
        call->first_dependency = hki_dependencies_count(dependencies);
        done = hki_dependencies_add(dependencies, (const void *)issue->body, issue->access_count);
        call->dependency_count = hki_dependencies_count(dependencies) - call->first_dependency;
    }
    if (done) {
        timeline->dependency_count = hki_dependencies_count(dependencies);
        timeline->dependencies = hki_dependencies_take(dependencies);
    }
    hki_dependencies_destroy(dependencies);
    return done;
}

static bool add_lane(hki_timeline *timeline, const char *process, const char *name,
                     bool is_simulated)
{
    hki_lane *lane = &timeline->lanes[timeline->lane_count++];
    *lane = (hki_lane){hki_timeline_text(timeline, process), hki_timeline_text(timeline, name),
                       is_simulated};
    return lane->process && lane->name;
}

/* The lanes of an accelerator are those of its queues; its threads have no others. */
static bool add_queue_lanes(collector *self, int device)
{
    hki_timeline *timeline = self->timeline;
    const int first_lane = timeline->lane_count;
    const int count = self->source->devices[device].queue_count;
    for (int kind = 0; kind < count; kind++) {
        const int queue = self->first_queue[device] + kind;
        self->lane_of_queue[queue] = timeline->lane_count;
        if (!add_lane(timeline, timeline->queues[queue].device, timeline->queues[queue].name,
                      timeline->queues[queue].is_simulated))
            return false;
    }
    for (int i = 0; i < self->thread_count; i++)
        if (self->threads[i].device == device) {
            const int queue = self->threads[i].queue;
            self->lane_of_thread[i] = first_lane + (queue >= 0 && queue < count ? queue : 0);
        }
    return true;
}

/* "cpu:0 core 1" is "core 1" of "cpu:0". */
static bool add_thread_lane(collector *self, int thread, const char *process)
{
    const char *name = self->threads[thread].name;
    const size_t length = strlen(process);
    self->lane_of_thread[thread] = self->timeline->lane_count;
    if (!strncmp(name, process, length) && name[length] == ' ')
        name += length + 1;
    return add_lane(self->timeline, process, name, false);
}

/* Those of `device`, -1 for threads of none, that have something to show. */
static bool add_thread_lanes(collector *self, int device, const bool *is_drawn)
{
    for (int i = 0; i < self->thread_count; i++) {
        const int of = self->threads[i].device;
        if (is_drawn[i] && (of < self->source->device_count ? of : -1) == device &&
            !add_thread_lane(self, i, device < 0 ? "host" : self->source->devices[device].name))
            return false;
    }
    return true;
}

/* Threads of no device first, then device by device. */
static bool make_lanes(collector *self, const bool *is_drawn)
{
    if (!add_thread_lanes(self, -1, is_drawn))
        return false;
    for (int i = 0; i < self->source->device_count; i++)
        if (!(self->source->devices[i].is_accelerator ? add_queue_lanes(self, i)
                                                      : add_thread_lanes(self, i, is_drawn)))
            return false;
    return true;
}

/* Gives slices and waits their lanes, and draws the calls of accelerators. */
static bool add_lanes(collector *self)
{
    hki_timeline *timeline = self->timeline;
    const size_t most =
        (size_t)self->thread_count + (size_t)self->source->device_count * HKI_QUEUE_KIND_COUNT + 1;
    bool *is_drawn = calloc(most, sizeof *is_drawn);
    timeline->lanes = calloc(most, sizeof *timeline->lanes);
    self->lane_of_thread = calloc(most, sizeof *self->lane_of_thread);
    self->lane_of_queue = calloc(most, sizeof *self->lane_of_queue);
    bool done = is_drawn && timeline->lanes && self->lane_of_thread && self->lane_of_queue;
    for (int i = 0; done && i < timeline->slice_count; i++)
        is_drawn[timeline->slices[i].lane] = true;
    for (int i = 0; done && i < timeline->wait_count; i++)
        is_drawn[timeline->waits[i].lane] = true;
    done = done && make_lanes(self, is_drawn);
    for (int i = 0; done && i < timeline->slice_count; i++)
        timeline->slices[i].lane = self->lane_of_thread[timeline->slices[i].lane];
    for (int i = 0; done && i < timeline->wait_count; i++)
        timeline->waits[i].lane = self->lane_of_thread[timeline->waits[i].lane];
    for (int i = 0; done && i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        if (self->has_clock[call->queue])
            done = add_slice(self, &(hki_trace_slice){i, self->lane_of_queue[call->queue], -1,
                                                      call->start_ns, call->end_ns});
    }
    free(is_drawn);
    return done;
}

static int compare_points(const void *a, const void *b)
{
    const counted *left = a, *right = b;
    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    return (left->point.time_ns > right->point.time_ns) -
           (left->point.time_ns < right->point.time_ns);
}

static bool add_counters(collector *self)
{
    static const char *const names[] = {"run-ahead calls", "run-ahead bytes", "memory"};
    hki_timeline *timeline = self->timeline;
    sort_unless_sorted(self->points, self->point_count, sizeof *self->points, compare_points);
    timeline->points = calloc((size_t)self->point_count + 1, sizeof *timeline->points);
    timeline->counters = calloc((size_t)self->source->device_count + HKI_TRACE_COUNTER_COUNT,
                                sizeof *timeline->counters);
    if (!timeline->points || !timeline->counters)
        return false;
    for (int i = 0; i < self->point_count; i++) {
        const int track = self->points[i].track;
        if (!i || track != self->points[i - 1].track) {
            const bool is_memory = track >= HKI_TRACE_MEMORY_BYTES;
            hki_counter_track *added = &timeline->counters[timeline->counter_count++];
            *added = (hki_counter_track){
                .process = hki_timeline_text(
                    timeline, is_memory ? self->source->devices[track - HKI_TRACE_MEMORY_BYTES].name
                                        : "host"),
                .name =
                    hki_timeline_text(timeline, names[is_memory ? HKI_TRACE_MEMORY_BYTES : track]),
                .unit = hki_timeline_text(timeline,
                                          track == HKI_TRACE_RUN_AHEAD_CALLS ? "calls" : "bytes"),
                .first_point = i};
            if (!added->process || !added->name || !added->unit)
                return false;
        }
        timeline->points[timeline->point_count++] = self->points[i].point;
        timeline->counters[timeline->counter_count - 1].point_count++;
    }
    return true;
}

static int compare_waits(const void *a, const void *b)
{
    const hki_wait_event *left = a, *right = b;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left->last_call > right->last_call) - (left->last_call < right->last_call);
}

static bool finish_waits(collector *self)
{
    hki_timeline *timeline = self->timeline;
    uint64_t *sequences = malloc(((size_t)timeline->wait_count + 1) * sizeof *sequences);
    if (!sequences)
        return false;
    sort_unless_sorted(timeline->waits, timeline->wait_count, sizeof *timeline->waits,
                       compare_waits);
    for (int i = 0; i < timeline->wait_count; i++)
        sequences[i] = self->wait_sequences[timeline->waits[i].last_call];
    const bool done = hki_collect_ends_of_waits(timeline, sequences);
    free(sequences);
    return done;
}

static bool collect(collector *self)
{
    const hki_collect_source *source = self->source;
    hki_timeline *timeline = self->timeline;
    const hki_trace_facts *facts = &source->facts;
    timeline->title = hki_timeline_text(timeline, source->title);
    timeline->duration_ns = facts->end_ns - facts->begin_ns;
    timeline->lost_records = facts->lost_records;
    timeline->limit_bytes = facts->limit_bytes;
    if (!timeline->title || !add_queues(self) || !source->each(source->trace, visit_first, self) ||
        !add_calls(self) || !source->each(source->trace, visit_second, self) ||
        !drop_unfinished(self) || !add_dependencies(self) || !add_lanes(self) ||
        !add_counters(self) || !finish_waits(self) || !hki_collect_nest_slices(timeline))
        return false;
    hki_collect_ready(timeline, self->has_clock);
    for (int i = 0; i < timeline->call_count; i++)
        if (timeline->calls[i].end_ns > timeline->duration_ns)
            timeline->duration_ns = timeline->calls[i].end_ns;
    return true;
}

hki_timeline *hki_timeline_collect(const hki_collect_source *source)
{
    const hki_trace_facts *facts = &source->facts;
    collector self = {.source = source, .timeline = hki_timeline_create()};
    self.ns_per_tick = facts->end_ticks > facts->begin_ticks
                           ? (double)(facts->end_ns - facts->begin_ns) /
                                 (double)(facts->end_ticks - facts->begin_ticks)
                           : 0;
    if (self.timeline && !collect(&self)) {
        hki_timeline_destroy(self.timeline);
        self.timeline = NULL;
    }
    free(self.issues);
    free(self.known);
    free(self.vars);
    free(self.first_queue);
    free(self.has_clock);
    free(self.lane_of_queue);
    free(self.lane_of_thread);
    free(self.threads);
    free(self.wait_sequences);
    free(self.points);
    return self.timeline;
}
