/* What a replay tells of a step: how busy devices were, what went over the links, what had to follow what. */
#include "forecast/forecast.h"

#include "base/integer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the step ----------------------------------------------------------------------------------------- */

typedef struct span {
    int64_t begin_ns, end_ns;
    int step;
} span;

static int compare_lengths(const void *a, const void *b)
{
    const span *x = a, *y = b;
    const int64_t difference = x->end_ns - x->begin_ns - (y->end_ns - y->begin_ns);
    return difference ? (difference > 0) - (difference < 0) : x->step - y->step;
}

int hki_forecast_step(const hki_replay *replay, int64_t *begin_ns, int64_t *end_ns)
{
    const hki_scenario *scenario = replay->plan.scenario;
    const int count = scenario->step_count;
    span *spans = calloc((size_t)count, sizeof *spans);
    if (!spans)
        return -1;
    for (int i = 0; i < replay->first_exchange; i++) {
        const hki_node *node = &scenario->nodes[i % scenario->node_count];
        if (node->kind != HKI_NODE_CALL ||
            (scenario->has_updates && !scenario->is_update[node->call]))
            continue;
        span *its = &spans[scenario->step_of_call[node->call]];
        its->end_ns = hki_max(its->end_ns, replay->end_ns[i]);
    }
    for (int i = 0; i < count; i++) {
        spans[i].step = i;
        spans[i].begin_ns = i ? hki_min(spans[i - 1].end_ns, spans[i].end_ns) : 0;
    }
    if (count > 2)
        qsort(spans + 1, (size_t)count - 1, sizeof *spans, compare_lengths);
    const span *median = &spans[count > 1 ? 1 + (count - 2) / 2 : 0];
    const int step = median->step;
    *begin_ns = median->begin_ns;
    *end_ns = median->end_ns;
    free(spans);
    return step;
}

int hki_node_step(const hki_replay *replay, int node)
{
    const hki_scenario *scenario = replay->plan.scenario;
    return node < replay->first_exchange
               ? scenario->step_of_call[scenario->nodes[node % scenario->node_count].call]
               : scenario->sums[replay->exchange_sum[node - replay->first_exchange]].step;
}

static int64_t inside(const hk_forecast *self, int64_t start_ns, int64_t end_ns)
{
    return hki_max(0, hki_min(end_ns, self->end_ns) - hki_max(start_ns, self->begin_ns));
}

/* ---- how busy devices are ------------------------------------------------------------------------------ */

/* The device, counted over all that are replayed, that a node keeps computing; -1: none. */
static int computes(const hki_replay *replay, int node)
{
    const hki_scenario *scenario = replay->plan.scenario;
    int process = node / scenario->node_count, queue;
    if (node < replay->first_exchange) {
        const hki_node *its = &scenario->nodes[node % scenario->node_count];
        queue = its->kind == HKI_NODE_CALL ? its->queue : -1;
    } else {
        queue = replay->exchange_queue[node - replay->first_exchange];
        process = queue / scenario->queue_count;
        queue = process < replay->plan.process_count ? queue % scenario->queue_count : -1;
    }
    return queue >= 0 && scenario->queues[queue].is_compute
               ? process * scenario->device_count + scenario->queues[queue].device_index
               : -1;
}

static void note_slow(hk_forecast *self, int64_t device, int64_t busy_ns)
{
    int at = self->slowest_count < HKI_FORECAST_SLOWEST ? self->slowest_count++
                                                        : HKI_FORECAST_SLOWEST - 1;
    if (at == HKI_FORECAST_SLOWEST - 1 && self->slowest[at].busy_ns >= busy_ns &&
        self->slowest[at].busy_ns)
        return;
    for (; at > 0 && self->slowest[at - 1].busy_ns < busy_ns; at--)
        self->slowest[at] = self->slowest[at - 1];
    self->slowest[at] = (hki_slow_device){device, busy_ns};
}

static bool measure_devices(hk_forecast *self)
{
    const hki_replay *replay = self->replay;
    const hki_scenario *scenario = self->scenario;
    const int count = replay->plan.process_count * scenario->device_count;
    double *busy_ns = calloc((size_t)count + 1, sizeof *busy_ns);
    const double step_ns = (double)self->summary.step_ns;
    double idle = 0;
    for (int i = 0; busy_ns && i < replay->node_count; i++) {
        const int device = computes(replay, i);
        if (device >= 0)
            busy_ns[device] += (double)inside(self, replay->start_ns[i], replay->end_ns[i]);
    }
    for (int i = 0; busy_ns && i < count; i++) {
        const hki_replay_process *process = &replay->plan.processes[i / scenario->device_count];
        const int device = i % scenario->device_count;
        busy_ns[i] /= scenario->queues[scenario->compute_queues[device]].capacity;
        idle += step_ns > 0 ? (double)process->count * (1 - busy_ns[i] / step_ns) : 0;
        note_slow(self, process->number * scenario->device_count + device,
                  (int64_t)fmin(busy_ns[i], 4e18));
    }
    self->summary.bubble = idle / self->summary.devices;
    const bool is_good = busy_ns != NULL;
    free(busy_ns);
    return is_good;
}

/* ---- exchanges ----------------------------------------------------------------------------------------- */

static int compare_spans(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Times of exchanges (or of the first device's computing) in the step, joined; to be freed. */
static span *times_of(const hk_forecast *self, bool of_exchanges, int *count)
{
    const hki_replay *replay = self->replay;
    const int first = of_exchanges ? replay->first_exchange : 0;
    const int end = of_exchanges ? replay->node_count : self->scenario->node_count;
    span *spans = calloc((size_t)(end - first) + 1, sizeof *spans);
    int found = 0, joined = 0;
    for (int i = first; spans && i < end; i++)
        if ((of_exchanges || computes(replay, i) == 0) &&
            inside(self, replay->start_ns[i], replay->end_ns[i]) > 0)
            spans[found++] = (span){hki_max(replay->start_ns[i], self->begin_ns),
                                    hki_min(replay->end_ns[i], self->end_ns), 0};
    if (found > 1)
        qsort(spans, (size_t)found, sizeof *spans, compare_spans);
    for (int i = 0; i < found; i++)
        if (joined && spans[i].begin_ns <= spans[joined - 1].end_ns)
            spans[joined - 1].end_ns = hki_max(spans[joined - 1].end_ns, spans[i].end_ns);
        else
            spans[joined++] = spans[i];
    *count = joined;
    return spans;
}

static bool measure_overlap(hk_forecast *self)
{
    int exchange_count = 0, compute_count = 0;
    span *exchanges = times_of(self, true, &exchange_count);
    span *computing = times_of(self, false, &compute_count);
    const bool is_good = exchanges && computing;
    for (int i = 0, j = 0; is_good && i < exchange_count && j < compute_count;) {
        self->summary.hidden_ns +=
            hki_max(0, hki_min(exchanges[i].end_ns, computing[j].end_ns) -
                           hki_max(exchanges[i].begin_ns, computing[j].begin_ns));
        if (exchanges[i].end_ns < computing[j].end_ns)
            i++;
        else
            j++;
    }
    for (int i = 0; is_good && i < exchange_count; i++)
        self->summary.exchange_ns += exchanges[i].end_ns - exchanges[i].begin_ns;
    free(exchanges);
    free(computing);
    return is_good;
}

/* By copies: each device's share goes to its owner, and comes back as a sum; of small arrays the first one owns all. */
static hki_collective_cost cost_of_copies(const hk_topology *topology, int64_t devices,
                                          double bytes)
{
    enum { SMALL_BYTES = 64 << 10 }; /* see exchanges.c */
    hki_collective_cost cost = {0};
    double inside = 1;
    const double n = (double)devices;
    for (int i = 0; i < topology->level_count; i++) {
        cost.link_bytes[i] = bytes <= SMALL_BYTES
                                 ? (i ? inside < n ? n - inside : 0 : n - 1) * bytes
                                 : 2 * (inside < n ? inside * (n - inside) : 0) * bytes / n;
        cost.busy_ns[i] = hki_link_ns(&topology->levels[i], cost.link_bytes[i]);
        inside *= topology->levels[i].children;
    }
    return cost;
}

static void measure_levels(hk_forecast *self)
{
    const hk_topology *topology = self->topology;
    const int64_t devices = self->summary.devices;
    double busy_ns[HKI_TOPOLOGY_LEVELS] = {0}, bytes = 0;
    for (int i = 0; i < self->scenario->sum_count; i++) {
        const hki_scenario_sum *sum = &self->scenario->sums[i];
        if (sum->step != self->step)
            continue;
        const hki_collective_cost cost =
            !sum->is_sum ? hki_exchange_cost(topology, devices, sum->bytes)
            : topology->collective == HKI_COLLECTIVE_COPIES
                ? cost_of_copies(topology, devices, sum->bytes)
                : hki_all_reduce_cost(topology, devices, sum->bytes, sum->element_bytes);
        self->summary.sum_count++;
        bytes += sum->bytes;
        for (int j = 0; devices > 1 && j < topology->level_count; j++) {
            self->levels[j].link_bytes += cost.link_bytes[j];
            busy_ns[j] += cost.busy_ns[j];
        }
    }
    for (int j = 0; j < topology->level_count; j++) {
        hk_forecast_level *level = &self->levels[j];
        level->name = topology->levels[j].name;
        level->links = hki_level_links(topology, j, devices);
        level->total_bytes = level->link_bytes * (double)level->links;
        level->busy = self->summary.step_ns ? busy_ns[j] / (double)self->summary.step_ns : 0;
    }
    self->summary.level_count = topology->level_count;
    self->summary.sum_bytes = (int64_t)fmin(bytes, 4e18);
}

/* ---- the critical path ---------------------------------------------------------------------------------- */

static const char *name_of(const hki_replay *replay, int node)
{
    const hki_scenario *scenario = replay->plan.scenario;
    if (node >= replay->first_exchange)
        return "(between devices)";
    const hki_node *its = &scenario->nodes[node % scenario->node_count];
    return its->kind == HKI_NODE_ISSUE ? "(the program)"
                                       : scenario->timeline->calls[its->call].operation;
}

static int compare_names(const void *a, const void *b)
{
    const hki_path_part *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static int compare_parts(const void *a, const void *b)
{
    const hki_path_part *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : strcmp(x->name, y->name);
}

/* Equal names become one. */
static int join_parts(hki_path_part *parts, int count)
{
    int joined = 0;
    if (count > 1)
        qsort(parts, (size_t)count, sizeof *parts, compare_names);
    for (int i = 0; i < count; i++)
        if (joined && parts[joined - 1].name == parts[i].name) {
            parts[joined - 1].ns += parts[i].ns;
            parts[joined - 1].count += parts[i].count;
        } else {
            parts[joined++] = parts[i];
        }
    if (joined > 1)
        qsort(parts, (size_t)joined, sizeof *parts, compare_parts);
    return joined;
}

/* From the node that ended the step back to its begin, each time to what let it begin. */
static bool measure_path(hk_forecast *self)
{
    const hki_replay *replay = self->replay;
    int count = 0, room = 0;
    for (int i = hki_replay_last(replay, self->step); i >= 0 && replay->end_ns[i] > self->begin_ns;
         i = replay->cause[i])
        room++;
    hki_path_part *parts = calloc((size_t)room + 1, sizeof *parts);
    if (!parts)
        return false;
    for (int i = hki_replay_last(replay, self->step); i >= 0 && replay->end_ns[i] > self->begin_ns;
         i = replay->cause[i]) {
        const int64_t ns = inside(self, replay->start_ns[i], replay->end_ns[i]);
        if (ns > 0)
            parts[count++] = (hki_path_part){name_of(replay, i), ns, 1};
    }
    self->path_nodes = count;
    count = join_parts(parts, count);
    for (int i = 0; i < count; i++)
        if (i < HKI_FORECAST_PATH)
            self->path[self->path_count++] = parts[i];
        else
            self->path_rest_ns += parts[i].ns;
    free(parts);
    return true;
}

bool hki_forecast_measure(hk_forecast *self)
{
    self->step = hki_forecast_step(self->replay, &self->begin_ns, &self->end_ns);
    if (self->step < 0)
        return false;
    self->summary.step_ns = self->end_ns - self->begin_ns;
    measure_levels(self);
    return measure_devices(self) && measure_overlap(self) && measure_path(self);
}
