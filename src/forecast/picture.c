/* A forecast as a timeline: the step on the first device, or devices of a process, and on the slowest. */
#include "base/quote.h"
#include "base/text.h"
#include "forecast/forecast.h"

#include "trace/collect.h"
#include "trace/quantity.h"
#include "trace/trace_object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 2 /* processes */ };

typedef struct painter {
    const hk_forecast *forecast;
    hki_timeline *timeline;
    int processes[SHOWN], process_count;
    int *lane_of_queue; /* of all queues of the replay; -1: not shown */
    int queue_count;
    int *nodes, node_count; /* shown, by start */
    int *call_of_node;      /* -1: not shown */
    bool is_failed;
} painter;

/* ---- lanes ---------------------------------------------------------------------------------------------- */

static const char *text(painter *self, const char *given)
{
    const char *kept = hki_timeline_text(self->timeline, given);
    self->is_failed |= !kept;
    return kept ? kept : "";
}

/* A lane, and the queue of the same number, for queue `queue` of the replay. */
static void add_lane(painter *self, int queue, const char *process, const char *name, bool is_copy)
{
    hki_timeline *timeline = self->timeline;
    const char *kept_process = text(self, process), *kept_name = text(self, name);
    timeline->lanes[timeline->lane_count] = (hki_lane){kept_process, kept_name, true};
    timeline->queues[timeline->queue_count++] =
        (hki_trace_queue_info){kept_process, kept_name, true, is_copy};
    self->lane_of_queue[queue] = timeline->lane_count++;
}

static void add_process(painter *self, int process)
{
    const hki_scenario *scenario = self->forecast->scenario;
    const hki_replay_plan *plan = &self->forecast->replay->plan;
    const int64_t first = plan->processes[process].number * scenario->device_count;
    char name[64];
    for (int i = 0; i < scenario->queue_count; i++) {
        const hki_replay_queue *queue = &scenario->queues[i];
        if (queue->is_issue)
            continue;
        if (queue->device_index >= 0)
            snprintf(name, sizeof name, "device %lld", (long long)(first + queue->device_index));
        else
            hki_format(name, sizeof name, "%s of %lld", hki_quote(queue->device, 30).text,
                       (long long)first);
        add_lane(self, process * scenario->queue_count + i, name, queue->name, queue->is_copy);
    }
}

/* Copies of a recording that had no queues for them. */
static void add_own_queues(painter *self, int process)
{
    const hki_scenario *scenario = self->forecast->scenario;
    const hki_replay_plan *plan = &self->forecast->replay->plan;
    char name[64];
    for (int i = 0; i < 2 * scenario->device_count; i++) {
        const int device = process * scenario->device_count + i / 2;
        snprintf(name, sizeof name, "device %lld",
                 (long long)(plan->processes[process].number * scenario->device_count + i / 2));
        add_lane(self, plan->process_count * scenario->queue_count + 1 + 2 * device + i % 2, name,
                 i % 2 ? "links in" : "links out", true);
    }
}

static void add_lanes(painter *self)
{
    const hki_scenario *scenario = self->forecast->scenario;
    const hki_replay_plan *plan = &self->forecast->replay->plan;
    const size_t lanes =
        (size_t)SHOWN * ((size_t)scenario->queue_count + 2 * (size_t)scenario->device_count) + 1;
    const bool has_copies = self->forecast->topology->collective == HKI_COLLECTIVE_COPIES;
    self->queue_count =
        plan->process_count * (scenario->queue_count + 2 * scenario->device_count) + 1;
    self->lane_of_queue = malloc((size_t)self->queue_count * sizeof *self->lane_of_queue);
    self->timeline->lanes = calloc(lanes, sizeof *self->timeline->lanes);
    self->timeline->queues = calloc(lanes, sizeof *self->timeline->queues);
    if (!self->lane_of_queue || !self->timeline->lanes || !self->timeline->queues) {
        self->is_failed = true;
        return;
    }
    for (int i = 0; i < self->queue_count; i++)
        self->lane_of_queue[i] = -1;
    add_lane(self, plan->process_count * scenario->queue_count, "between devices", "exchanges",
             true);
    for (int i = 0; i < self->process_count; i++) {
        add_process(self, self->processes[i]);
        if (has_copies)
            add_own_queues(self, self->processes[i]);
    }
}

/* ---- calls ---------------------------------------------------------------------------------------------- */

static int queue_of(const painter *self, int node)
{
    const hki_replay *replay = self->forecast->replay;
    const hki_scenario *scenario = self->forecast->scenario;
    if (node >= replay->first_exchange)
        return replay->exchange_queue[node - replay->first_exchange];
    const hki_node *its = &scenario->nodes[node % scenario->node_count];
    return its->kind == HKI_NODE_CALL
               ? node / scenario->node_count * scenario->queue_count + its->queue
               : -1;
}

static int compare_starts(const void *a, const void *b, void *context)
{
    const hki_replay *replay = context;
    const int x = *(const int *)a, y = *(const int *)b;
    if (replay->start_ns[x] != replay->start_ns[y])
        return replay->start_ns[x] < replay->start_ns[y] ? -1 : 1;
    if (replay->end_ns[x] != replay->end_ns[y])
        return replay->end_ns[x] < replay->end_ns[y] ? -1 : 1;
    return (x > y) - (x < y);
}

static void find_nodes(painter *self)
{
    const hki_replay *replay = self->forecast->replay;
    self->nodes = calloc((size_t)replay->node_count + 1, sizeof *self->nodes);
    self->call_of_node = malloc(((size_t)replay->node_count + 1) * sizeof *self->call_of_node);
    self->is_failed |= !self->nodes || !self->call_of_node;
    for (int i = 0; !self->is_failed && i < replay->node_count; i++) {
        const int queue = queue_of(self, i);
        self->call_of_node[i] = -1;
        if (queue >= 0 && self->lane_of_queue[queue] >= 0 &&
            hki_node_step(replay, i) == self->forecast->step)
            self->nodes[self->node_count++] = i;
    }
    if (self->node_count > 1)
        qsort_r(self->nodes, (size_t)self->node_count, sizeof *self->nodes, compare_starts,
                (void *)(uintptr_t)replay);
    for (int i = 0; i < self->node_count; i++)
        self->call_of_node[self->nodes[i]] = i;
}

/* The call shown that the node waited for, if it is near; -1: none. */
static int dependency_of(const painter *self, int node)
{
    enum { NEAR = 64 };
    const hki_replay *replay = self->forecast->replay;
    for (int i = 0; i < NEAR && (node = replay->cause[node]) >= 0; i++)
        if (self->call_of_node[node] >= 0)
            return self->call_of_node[node];
    return -1;
}

static void add_call(painter *self, int index)
{
    const hki_replay *replay = self->forecast->replay;
    const hki_scenario *scenario = self->forecast->scenario;
    hki_timeline *timeline = self->timeline;
    const int node = self->nodes[index], lane = self->lane_of_queue[queue_of(self, node)];
    const bool is_exchange = node >= replay->first_exchange;
    const hki_scenario_sum *sum =
        is_exchange ? &scenario->sums[replay->exchange_sum[node - replay->first_exchange]] : NULL;
    const hki_call_event *its =
        &scenario->timeline
             ->calls[sum ? sum->call : scenario->nodes[node % scenario->node_count].call];
    const int64_t start_ns = replay->start_ns[node], end_ns = replay->end_ns[node];
    const int before = dependency_of(self, node);
    timeline->calls[timeline->call_count++] =
        (hki_call_event){.sequence = (uint64_t)index + 1,
                         .operation = text(self, !sum          ? its->operation
                                                 : sum->is_sum ? "all_reduce"
                                                               : "exchange"),
                         .shapes = text(self, is_exchange ? "" : its->shapes),
                         .file = text(self, its->file),
                         .line = its->line,
                         .queue = lane,
                         .is_collective = is_exchange || its->is_collective,
                         .is_backward = !is_exchange && its->is_backward,
                         .issue_ns = start_ns,
                         .ready_ns = start_ns,
                         .start_ns = start_ns,
                         .end_ns = end_ns,
                         .wall_start_ns = start_ns,
                         .wall_end_ns = end_ns,
                         .bytes = sum ? (int64_t)fmin(sum->bytes, 1e15) : its->bytes,
                         .first_dependency = timeline->dependency_count};
    if (before >= 0 && before < index) {
        timeline->dependencies[timeline->dependency_count++] = before;
        timeline->calls[index].dependency_count = 1;
    }
    timeline->slices[timeline->slice_count++] = (hki_slice){
        .call = index, .lane = lane, .piece = -1, .start_ns = start_ns, .end_ns = end_ns};
}

static void add_calls(painter *self)
{
    const size_t room = (size_t)self->node_count + 1;
    self->timeline->calls = calloc(room, sizeof *self->timeline->calls);
    self->timeline->dependencies = calloc(room, sizeof *self->timeline->dependencies);
    self->timeline->slices = calloc(room, sizeof *self->timeline->slices);
    self->is_failed |=
        !self->timeline->calls || !self->timeline->dependencies || !self->timeline->slices;
    for (int i = 0; !self->is_failed && i < self->node_count; i++)
        add_call(self, i);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static void choose(painter *self)
{
    const hk_forecast *forecast = self->forecast;
    const int64_t slowest = forecast->slowest_count
                                ? forecast->slowest[0].device / forecast->scenario->device_count
                                : 0;
    self->processes[self->process_count++] = 0;
    for (int i = 1; i < forecast->replay->plan.process_count && self->process_count < SHOWN; i++)
        if (forecast->processes[i].number == slowest)
            self->processes[self->process_count++] = i;
}

static void set_title(painter *self)
{
    const hk_forecast_summary *summary = &self->forecast->summary;
    char title[320];
    snprintf(title, sizeof title, "forecast: %d devices on %s: %s a step, efficiency %s, bubble %s",
             summary->devices, self->forecast->topology->name, hki_in_time(summary->step_ns).text,
             hki_in_percent((int64_t)fmin(1e6 * summary->efficiency, 1e18), 1000000).text,
             hki_in_percent((int64_t)fmin(1e6 * summary->bubble, 1e18), 1000000).text);
    self->timeline->title = text(self, title);
}

hk_trace *hk_forecast_trace(const hk_forecast *forecast)
{
    painter self = {.forecast = forecast};
    if (!forecast || !(self.timeline = hki_timeline_create()))
        return NULL;
    choose(&self);
    add_lanes(&self);
    if (!self.is_failed)
        find_nodes(&self);
    if (!self.is_failed)
        add_calls(&self);
    if (!self.is_failed) {
        set_title(&self);
        hki_timeline_trim(self.timeline);
        self.is_failed |= !hki_collect_nest_slices(self.timeline);
    }
    free(self.lane_of_queue);
    free(self.nodes);
    free(self.call_of_node);
    if (!self.is_failed)
        return hki_trace_object_create(self.timeline);
    hki_timeline_destroy(self.timeline);
    return NULL;
}
