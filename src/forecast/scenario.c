/* From a timeline to nodes and edges. */
#include "forecast/scenario.h"

#include "base/integer.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

typedef struct edge {
    int from, to;
} edge;

typedef struct builder {
    hki_scenario *scenario;
    const hki_timeline *timeline;
    int *device_of_queue; /* recorded device; -1: the host's */
    int *sum_of_call;     /* of which the call is a part; -1: none */
    int *sum_before;      /* that was put before the call, an update; -1: none */
    int *issue, *run;     /* nodes, by call; -1: none */
    edge *edges;
    int edge_capacity;
    bool is_failed; /* host memory was short */
} builder;

/* ---- devices and queues ----------------------------------------------------------------------------- */

static bool is_cpu(const char *device)
{
    return !strncmp(device, "cpu", 3) && (device[3] == ':' || !device[3]);
}

static bool is_update(const char *operation)
{
    const size_t length = strlen(operation);
    return length > 7 && !strcmp(operation + length - 7, "_update");
}

/* Whether calls of the queue make its device one that a run has many of: accelerators, else what is trained on. */
static bool is_worker(const builder *self, const hki_call_event *call, int wanted)
{
    const hki_trace_queue_info *queue = &self->timeline->queues[call->queue];
    if (queue->is_copy)
        return false;
    if (wanted == 0)
        return !is_cpu(queue->device);
    return wanted == 2 || is_update(call->operation) || call->is_backward || call->is_collective;
}

/* The devices of such queues, in the order of the queues. */
static bool find_devices(builder *self, int wanted)
{
    const hki_timeline *timeline = self->timeline;
    const char **names = calloc((size_t)timeline->queue_count + 1, sizeof *names);
    int count = 0;
    for (int i = 0; names && i < timeline->queue_count; i++)
        self->device_of_queue[i] = -1;
    for (int i = 0; names && i < timeline->call_count; i++)
        if (is_worker(self, &timeline->calls[i], wanted))
            self->device_of_queue[timeline->calls[i].queue] = 0;
    for (int i = 0; names && i < timeline->queue_count; i++) {
        int device = 0;
        if (self->device_of_queue[i] < 0)
            continue;
        while (device < count && names[device] != timeline->queues[i].device)
            device++;
        if (device == count)
            names[count++] = timeline->queues[i].device;
    }
    for (int i = 0; names && i < timeline->queue_count; i++) {
        self->device_of_queue[i] = -1;
        for (int j = 0; j < count; j++)
            if (names[j] == timeline->queues[i].device)
                self->device_of_queue[i] = j;
    }
    self->is_failed |= !names;
    free(names);
    self->scenario->device_count = count;
    return count > 0;
}

typedef struct moment {
    int queue;
    int64_t start_ns, end_ns;
} moment;

static int compare_moments(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Of the queue at *moments, which is moved to the next: how many calls ran at once while any did. */
static int count_at_once(const moment **moments, const moment *end)
{
    const int queue = (*moments)->queue;
    int64_t total_ns = 0, busy_ns = 0, end_ns = INT64_MIN;
    for (; *moments < end && (*moments)->queue == queue; ++*moments) {
        total_ns += (*moments)->end_ns - (*moments)->start_ns;
        busy_ns += hki_max(0, (*moments)->end_ns - hki_max(end_ns, (*moments)->start_ns));
        end_ns = hki_max(end_ns, (*moments)->end_ns);
    }
    return busy_ns > 0 ? (int)((double)total_ns / (double)busy_ns + 0.5) : 1;
}

/* Of CPUs, whose cores divide a call, or have one each. Accelerators take one call after the other. */
static void find_capacities(builder *self)
{
    const hki_timeline *timeline = self->timeline;
    moment *moments = calloc((size_t)timeline->call_count + 1, sizeof *moments);
    int count = 0;
    self->is_failed |= !moments;
    for (int i = 0; moments && i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        if (is_cpu(timeline->queues[call->queue].device) && !call->is_collective)
            moments[count++] = (moment){call->queue, call->start_ns, call->end_ns};
    }
    if (count > 1)
        qsort(moments, (size_t)count, sizeof *moments, compare_moments);
    for (const moment *at = moments; at && at < moments + count;) {
        const int queue = at->queue;
        self->scenario->queues[queue].capacity = count_at_once(&at, moments + count);
    }
    free(moments);
}

static void make_queues(builder *self)
{
    hki_scenario *scenario = self->scenario;
    const hki_timeline *timeline = self->timeline;
    scenario->queues = calloc((size_t)timeline->queue_count + 1, sizeof *scenario->queues);
    scenario->compute_queues = calloc((size_t)scenario->device_count + 1, sizeof(int));
    if (!scenario->queues || !scenario->compute_queues) {
        self->is_failed = true;
        return;
    }
    for (int i = timeline->queue_count - 1; i >= 0; i--) {
        const hki_trace_queue_info *info = &timeline->queues[i];
        const int device = self->device_of_queue[i];
        scenario->queues[i] = (hki_replay_queue){.device = info->device,
                                                 .name = info->name,
                                                 .device_index = device,
                                                 .is_copy = info->is_copy,
                                                 .is_accelerator = !is_cpu(info->device),
                                                 .is_compute = device >= 0 && !info->is_copy,
                                                 .capacity = 1};
        if (scenario->queues[i].is_compute)
            scenario->compute_queues[device] = i;
    }
    scenario->queues[timeline->queue_count] = (hki_replay_queue){
        .device = "host", .name = "program", .device_index = -1, .capacity = 1, .is_issue = true};
    scenario->queue_count = timeline->queue_count + 1;
    find_capacities(self);
}

/* ---- steps ------------------------------------------------------------------------------------------ */

/* A call that depends on an update belongs to a later step than that; what depends on it, too. So an update's step is
 * known, and all else goes with the next one in the order of calls. */
static void find_steps(builder *self)
{
    hki_scenario *scenario = self->scenario;
    const hki_timeline *timeline = self->timeline;
    int *step = scenario->step_of_call, steps = 0;
    for (int i = 0; i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        scenario->is_update[i] = is_update(call->operation);
        scenario->has_updates |= scenario->is_update[i];
        for (int j = 0; j < call->dependency_count; j++) {
            const int before = timeline->dependencies[call->first_dependency + j];
            const int later =
                step[before] + (scenario->is_update[before] && !scenario->is_update[i]);
            step[i] = later > step[i] ? later : step[i];
        }
        if (scenario->is_update[i] && step[i] >= steps)
            steps = step[i] + 1;
    }
    scenario->step_count = scenario->has_updates ? steps : 1;
    int current = scenario->has_updates ? steps : 0;
    for (int i = timeline->call_count - 1; i >= 0; i--) {
        if (scenario->is_update[i] && step[i] < current)
            current = step[i];
        step[i] = current;
    }
}

int64_t hki_scenario_end_ns(const hki_scenario *self, int step)
{
    int64_t end_ns = 0;
    for (int i = 0; i < self->timeline->call_count; i++)
        if (self->step_of_call[i] == step && (self->is_update[i] || !self->has_updates))
            end_ns = hki_max(end_ns, self->timeline->calls[i].end_ns);
    return end_ns;
}

/* ---- sums that were not recorded: one device has none ------------------------------------------------ */

/* The gradient that an update reads is its second operand. */
static bool find_gradient(const hki_call_event *update, hki_shape_operand *gradient)
{
    const char *at = update->shapes;
    bool is_output = false;
    return hki_shapes_next(&at, &is_output, gradient) &&
           hki_shapes_next(&at, &is_output, gradient) && !gradient->is_output;
}

/* Whether the call makes something like the gradient. */
static bool makes(const hki_call_event *call, const hki_shape_operand *gradient)
{
    hki_shape_operand operand;
    const char *at = call->shapes;
    bool is_output = false;
    while (hki_shapes_next(&at, &is_output, &operand))
        if (is_output && operand.length == gradient->length &&
            !memcmp(operand.text, gradient->text, (size_t)operand.length))
            return true;
    return false;
}

static void insert_sums(builder *self, double bucket_bytes)
{
    hki_scenario *scenario = self->scenario;
    const hki_timeline *timeline = self->timeline;
    for (int i = 0; i < timeline->call_count; i++) {
        hki_shape_operand gradient;
        const int step = scenario->step_of_call[i];
        if (!scenario->is_update[i] || step >= scenario->step_count)
            continue;
        const bool is_known = find_gradient(&timeline->calls[i], &gradient);
        const double bytes = is_known ? gradient.elements * gradient.element_bytes
                                      : (double)timeline->calls[i].bytes / 3;
        hki_scenario_sum *last =
            scenario->sum_count ? &scenario->sums[scenario->sum_count - 1] : NULL;
        if (last && last->step == step && last->bytes + bytes <= bucket_bytes)
            last->bytes += bytes;
        else
            scenario->sums[scenario->sum_count++] =
                (hki_scenario_sum){.bytes = bytes,
                                   .element_bytes = is_known ? gradient.element_bytes : 4,
                                   .is_sum = true,
                                   .call = i,
                                   .step = step,
                                   .order = i};
        self->sum_before[i] = scenario->sum_count - 1;
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

static int add_node(builder *self, hki_node node)
{
    hki_scenario *scenario = self->scenario;
    scenario->nodes[scenario->node_count] = node;
    return scenario->node_count++;
}

static void add_edge(builder *self, int from, int to)
{
    hki_scenario *scenario = self->scenario;
    if (scenario->edge_count == self->edge_capacity) {
        const int capacity = self->edge_capacity ? 2 * self->edge_capacity : 1024;
        edge *edges = scenario->edge_count < INT32_MAX / 2
                          ? realloc(self->edges, (size_t)capacity * sizeof *edges)
                          : NULL;
        self->is_failed |= !edges;
        if (!edges)
            return;
        self->edges = edges;
        self->edge_capacity = capacity;
    }
    self->edges[scenario->edge_count++] = (edge){from, to};
}

static int sum_node(const builder *self, const int *nodes, int sum, int device)
{
    return nodes[sum * self->scenario->device_count + (device < 0 ? 0 : device)];
}

static int device_of(const builder *self, int call)
{
    return self->device_of_queue[self->timeline->calls[call].queue];
}

/* What ends when the call has, as `device` sees it. */
static int end_node(const builder *self, int call, int device)
{
    const int sum = self->sum_of_call[call];
    return sum < 0 ? self->run[call]
                   : sum_node(self, self->scenario->done, sum,
                              device < 0 ? device_of(self, call) : device);
}

/* Time between two calls in which the program did not wait for others. */
static int64_t issue_gap(builder *self, int call, int *wait, int node)
{
    const hki_timeline *timeline = self->timeline;
    const int64_t begin_ns = call ? timeline->calls[call - 1].issue_ns : 0;
    const int64_t end_ns = timeline->calls[call].issue_ns;
    int64_t gap_ns = call ? end_ns - begin_ns : 0, waited_to_ns = begin_ns;
    for (; *wait < timeline->wait_count && timeline->waits[*wait].start_ns < end_ns; ++*wait) {
        const hki_wait_event *its = &timeline->waits[*wait];
        if (its->end_ns <= waited_to_ns || its->last_call < 0 || its->last_call >= call)
            continue;
        const int64_t from_ns = hki_max(its->start_ns, waited_to_ns);
        waited_to_ns = hki_min(its->end_ns, end_ns);
        gap_ns -= hki_max(0, waited_to_ns - from_ns);
        if (end_node(self, its->last_call, -1) >= 0)
            add_edge(self, end_node(self, its->last_call, -1), node);
    }
    return hki_max(0, gap_ns);
}

static void add_issue_nodes(builder *self)
{
    int wait = 0, before = -1;
    for (int i = 0; i < self->timeline->call_count; i++) {
        if (self->scenario->step_of_call[i] >= self->scenario->step_count)
            continue;
        const int node = add_node(self, (hki_node){.kind = HKI_NODE_ISSUE,
                                                   .call = i,
                                                   .queue = self->timeline->queue_count,
                                                   .device = -1,
                                                   .sum = -1,
                                                   .order = i});
        self->scenario->nodes[node].duration_ns = issue_gap(self, i, &wait, node);
        if (before >= 0)
            add_edge(self, before, node);
        self->issue[i] = before = node;
    }
}

static void add_call_nodes(builder *self)
{
    hki_scenario *scenario = self->scenario;
    for (int i = 0; i < self->timeline->call_count; i++) {
        const hki_call_event *call = &self->timeline->calls[i];
        if (self->sum_of_call[i] >= 0 || scenario->step_of_call[i] >= scenario->step_count)
            continue;
        self->run[i] =
            add_node(self, (hki_node){.kind = HKI_NODE_CALL,
                                      .call = i,
                                      .queue = call->queue,
                                      .device = device_of(self, i),
                                      .sum = -1,
                                      .is_scaled = scenario->queues[call->queue].is_compute &&
                                                   !scenario->is_update[i],
                                      .duration_ns = call->end_ns - call->start_ns,
                                      .order = i});
    }
}

static void add_sum_nodes(builder *self)
{
    hki_scenario *scenario = self->scenario;
    for (int i = 0; i < scenario->sum_count; i++)
        for (int device = 0; device < scenario->device_count; device++) {
            const int at = i * scenario->device_count + device;
            hki_node node = {.kind = HKI_NODE_ARRIVE,
                             .call = scenario->sums[i].call,
                             .queue = -1,
                             .device = device,
                             .sum = i,
                             .order = scenario->sums[i].order};
            scenario->sums[i].step = scenario->step_of_call[node.call];
            scenario->arrive[at] = scenario->done[at] = -1;
            if (scenario->sums[i].step >= scenario->step_count)
                continue;
            scenario->arrive[at] = add_node(self, node);
            node.kind = HKI_NODE_DONE;
            scenario->done[at] = add_node(self, node);
        }
}

/* ---- edges ------------------------------------------------------------------------------------------ */

/* A call of no sum. */
static void link_call(builder *self, int index)
{
    const hki_call_event *call = &self->timeline->calls[index];
    add_edge(self, self->issue[index], self->run[index]);
    for (int j = 0; j < call->dependency_count; j++) {
        const int before = self->timeline->dependencies[call->first_dependency + j];
        add_edge(self, end_node(self, before, device_of(self, index)), self->run[index]);
    }
}

/* A call that is a part of a sum. */
static void link_part(builder *self, int index)
{
    const hki_call_event *call = &self->timeline->calls[index];
    const int sum = self->sum_of_call[index];
    for (int j = 0; j < call->dependency_count; j++) {
        const int before = self->timeline->dependencies[call->first_dependency + j];
        const int device =
            device_of(self, before) < 0 ? device_of(self, index) : device_of(self, before);
        if (self->sum_of_call[before] != sum)
            add_edge(self, end_node(self, before, device),
                     sum_node(self, self->scenario->arrive, sum, device));
    }
}

/* An update that a sum was put before: the sum waits for what makes the gradient, or, where that is not known, for all. */
static void link_update(builder *self, int index)
{
    const hki_call_event *call = &self->timeline->calls[index];
    const int sum = self->sum_before[index], device = device_of(self, index);
    const int arrive = sum_node(self, self->scenario->arrive, sum, device);
    hki_shape_operand gradient;
    const bool is_known = find_gradient(call, &gradient);
    bool is_found = false;
    for (int pass = 0; pass < 3 && !is_found; pass++)
        for (int j = 0; j < call->dependency_count; j++) {
            const int before = self->timeline->dependencies[call->first_dependency + j];
            const hki_call_event *its = &self->timeline->calls[before];
            if (self->scenario->is_update[before] &&
                self->scenario->step_of_call[before] == self->scenario->step_of_call[index])
                continue; /* it may have to wait for this very sum */
            if (pass == 0 ? !is_known || !its->is_backward || !makes(its, &gradient)
                          : pass == 1 && (!its->is_backward))
                continue;
            is_found = true;
            add_edge(self, self->run[before], arrive);
        }
    add_edge(self, sum_node(self, self->scenario->done, sum, device), self->run[index]);
}

static void link_all(builder *self)
{
    hki_scenario *scenario = self->scenario;
    for (int i = 0; i < self->timeline->call_count; i++) {
        if (scenario->step_of_call[i] >= scenario->step_count)
            continue;
        if (self->sum_of_call[i] >= 0)
            link_part(self, i);
        else
            link_call(self, i);
        if (self->sum_before[i] >= 0)
            link_update(self, i);
    }
    for (int i = 0; i < scenario->sum_count * scenario->device_count; i++)
        if (scenario->arrive[i] >= 0)
            add_edge(self, self->issue[scenario->nodes[scenario->arrive[i]].call],
                     scenario->arrive[i]);
}

/* Edges by where they begin. */
static void sort_edges(builder *self)
{
    hki_scenario *scenario = self->scenario;
    const size_t nodes = (size_t)scenario->node_count;
    scenario->first_after = calloc(nodes + 2, sizeof *scenario->first_after);
    scenario->after = calloc((size_t)scenario->edge_count + 1, sizeof *scenario->after);
    scenario->before_count = calloc(nodes + 1, sizeof *scenario->before_count);
    if (!scenario->first_after || !scenario->after || !scenario->before_count) {
        self->is_failed = true;
        return;
    }
    int *next = scenario->first_after + 1; /* becomes the first of the node behind */
    for (int i = 0; i < scenario->edge_count; i++)
        next[self->edges[i].from + 1]++;
    for (size_t i = 1; i <= nodes; i++)
        next[i] += next[i - 1];
    for (int i = 0; i < scenario->edge_count; i++) {
        scenario->after[next[self->edges[i].from]++] = self->edges[i].to;
        scenario->before_count[self->edges[i].to]++;
    }
}

/* ---- life ------------------------------------------------------------------------------------------- */

void hki_scenario_destroy(hki_scenario *self)
{
    if (!self)
        return;
    free(self->nodes);
    free(self->queues);
    free(self->compute_queues);
    free(self->sums);
    free(self->arrive);
    free(self->done);
    free(self->first_after);
    free(self->after);
    free(self->before_count);
    free(self->step_of_call);
    free(self->is_update);
    free(self);
}

static bool allocate(builder *self)
{
    hki_scenario *scenario = self->scenario;
    const size_t calls = (size_t)self->timeline->call_count + 1;
    scenario->sums = calloc(calls, sizeof *scenario->sums);
    scenario->step_of_call = calloc(calls, sizeof *scenario->step_of_call);
    scenario->is_update = calloc(calls, sizeof *scenario->is_update);
    self->device_of_queue = calloc((size_t)self->timeline->queue_count + 1, sizeof(int));
    self->sum_of_call = malloc(calls * sizeof *self->sum_of_call);
    self->sum_before = malloc(calls * sizeof *self->sum_before);
    self->issue = malloc(calls * sizeof *self->issue);
    self->run = malloc(calls * sizeof *self->run);
    if (!scenario->sums || !scenario->step_of_call || !scenario->is_update ||
        !self->device_of_queue || !self->sum_of_call || !self->sum_before || !self->issue ||
        !self->run)
        return false;
    memset(self->sum_before, -1, calls * sizeof *self->sum_before);
    memset(self->issue, -1, calls * sizeof *self->issue);
    memset(self->run, -1, calls * sizeof *self->run);
    return true;
}

static bool allocate_nodes(builder *self)
{
    hki_scenario *scenario = self->scenario;
    const int64_t parts = (int64_t)scenario->sum_count * scenario->device_count;
    if (parts > INT32_MAX / 4)
        return false;
    scenario->arrive = calloc((size_t)parts + 1, sizeof *scenario->arrive);
    scenario->done = calloc((size_t)parts + 1, sizeof *scenario->done);
    scenario->nodes = calloc(2 * (size_t)self->timeline->call_count + 2 * (size_t)parts + 1,
                             sizeof *scenario->nodes);
    return scenario->arrive && scenario->done && scenario->nodes;
}

static void build(builder *self, double bucket_bytes)
{
    for (int wanted = 0; wanted < 3 && !find_devices(self, wanted); wanted++)
        ;
    make_queues(self);
    find_steps(self);
    self->is_failed = self->is_failed || !hki_scenario_find_sums(self->scenario, self->sum_of_call);
    if (!self->is_failed && !self->scenario->sum_count && self->scenario->device_count == 1)
        insert_sums(self, bucket_bytes);
    if (self->is_failed || !allocate_nodes(self)) {
        self->is_failed = true;
        return;
    }
    add_call_nodes(self);
    add_sum_nodes(self);
    add_issue_nodes(self);
    link_all(self);
    if (!self->is_failed)
        sort_edges(self);
}

hki_scenario *hki_scenario_create(const hki_timeline *timeline, double bucket_bytes,
                                  const hk_status **status)
{
    const hki_status_facts facts = {.operation = "forecast"};
    builder self = {.timeline = timeline};
    if (!timeline->call_count || timeline->lost_records) {
        *status =
            timeline->lost_records
                ? hki_status_create(HK_BAD_DATA, &facts,
                                    "the recording lost %llu records; record fewer steps, or "
                                    "give it more memory",
                                    (unsigned long long)timeline->lost_records)
                : hki_status_create(HK_BAD_DATA, &facts,
                                    "the recording has no calls; expected one of a training step");
        return NULL;
    }
    self.scenario = calloc(1, sizeof *self.scenario);
    if (self.scenario) {
        self.scenario->timeline = timeline;
        self.is_failed = !allocate(&self);
        if (!self.is_failed)
            build(&self, bucket_bytes);
    }
    free(self.device_of_queue);
    free(self.sum_of_call);
    free(self.sum_before);
    free(self.issue);
    free(self.run);
    free(self.edges);
    if (self.scenario && !self.is_failed)
        return self.scenario;
    hki_scenario_destroy(self.scenario);
    *status = hki_status_no_memory();
    return NULL;
}
