/* A sum is one activity of the network, which takes what the topology's model says; or, as simulated devices do it, copies and
 * additions. */
#include "forecast/exchanges.h"

#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL_BYTES = 64 << 10, /* as hk_all_reduce has them */
    CHUNK_BYTES = 4 << 20,
    LINE_BYTES = 64
};

typedef struct builder {
    hki_exchanges *exchanges;
    const hki_replay_plan *plan;
    int first; /* node of the replay that the first exchange is */
    int edge_capacity;
    bool is_failed;
} builder;

static bool is_by_copies(const hki_replay_plan *plan)
{
    return plan->topology->collective == HKI_COLLECTIVE_COPIES;
}

/* ---- adding ----------------------------------------------------------------------------------------- */

static int add_node(builder *self, hki_exchange_node node)
{
    self->exchanges->nodes[self->exchanges->node_count] = node;
    return self->first + self->exchanges->node_count++;
}

static void add_edge(builder *self, int from, int to)
{
    hki_exchanges *exchanges = self->exchanges;
    if (exchanges->edge_count == self->edge_capacity) {
        const int capacity = self->edge_capacity ? 2 * self->edge_capacity : 1024;
        void *edges = capacity < INT32_MAX / 2
                          ? realloc(exchanges->edges, (size_t)capacity * sizeof *exchanges->edges)
                          : NULL;
        self->is_failed |= !edges;
        if (!edges)
            return;
        exchanges->edges = edges;
        self->edge_capacity = capacity;
    }
    exchanges->edges[exchanges->edge_count][0] = from;
    exchanges->edges[exchanges->edge_count++][1] = to;
}

/* The node of device `index`, of all that are replayed. */
static int node_of(const hki_replay_plan *plan, const int *nodes, int sum, int index)
{
    const hki_scenario *scenario = plan->scenario;
    const int process = index / scenario->device_count, device = index % scenario->device_count;
    return process * scenario->node_count + nodes[sum * scenario->device_count + device];
}

static int device_count(const hki_replay_plan *plan)
{
    return plan->process_count * plan->scenario->device_count;
}

/* ---- one activity ------------------------------------------------------------------------------------ */

static void add_activity(builder *self, int sum)
{
    const hki_replay_plan *plan = self->plan;
    const hki_scenario_sum *its = &plan->scenario->sums[sum];
    const hki_collective_cost cost =
        its->is_sum
            ? hki_all_reduce_cost(plan->topology, plan->devices, its->bytes, its->element_bytes)
            : hki_exchange_cost(plan->topology, plan->devices, its->bytes);
    const int node = add_node(
        self, (hki_exchange_node){.sum = sum,
                                  .queue = plan->process_count * plan->scenario->queue_count,
                                  .also = -1,
                                  .duration_ns = (int64_t)(cost.ns < 1e17 ? cost.ns : 1e17),
                                  .order = its->order * HKI_ORDERS});
    for (int i = 0; i < device_count(plan); i++) {
        add_edge(self, node_of(plan, plan->scenario->arrive, sum, i), node);
        add_edge(self, node, node_of(plan, plan->scenario->done, sum, i));
    }
}

/* ---- copies ------------------------------------------------------------------------------------------ */

/* A queue of the device that the recording has, by name; else one of the exchanges' own. */
static int queue_of(const hki_replay_plan *plan, int index, bool is_in)
{
    const hki_scenario *scenario = plan->scenario;
    const int process = index / scenario->device_count, device = index % scenario->device_count;
    for (int i = 0; i < scenario->queue_count; i++)
        if (scenario->queues[i].is_copy && scenario->queues[i].device_index == device &&
            !strcmp(scenario->queues[i].name, is_in ? "copy in" : "copy out"))
            return process * scenario->queue_count + i;
    return plan->process_count * scenario->queue_count + 1 + 2 * index + is_in;
}

static int compute_queue_of(const hki_replay_plan *plan, int index)
{
    const hki_scenario *scenario = plan->scenario;
    return index / scenario->device_count * scenario->queue_count +
           scenario->compute_queues[index % scenario->device_count];
}

static int add_copy(builder *self, int sum, int from, int to, double bytes, int64_t *order)
{
    const hki_replay_plan *plan = self->plan;
    const int level = hki_common_level(plan->topology, from, to);
    return add_node(self,
                    (hki_exchange_node){.sum = sum,
                                        .queue = queue_of(plan, from, false),
                                        .also = queue_of(plan, to, true),
                                        .duration_ns = hki_copy_ns(plan->topology, level, bytes),
                                        .order = (*order)++});
}

/* A part of the arrays: copies to its owner, which adds them up, and copies back. */
static void add_part(builder *self, int sum, int owner, double bytes, int64_t *order)
{
    const hki_replay_plan *plan = self->plan;
    const int count = device_count(plan), first = self->first + self->exchanges->node_count;
    const double elements = bytes / plan->scenario->sums[sum].element_bytes;
    int copies = 0;
    for (int i = 0; i < count; i++)
        if (i != owner) {
            add_edge(self, node_of(plan, plan->scenario->arrive, sum, i),
                     add_copy(self, sum, i, owner, bytes, order));
            copies++;
        }
    const int added = add_node(
        self, (hki_exchange_node){.sum = sum,
                                  .queue = compute_queue_of(plan, owner),
                                  .also = -1,
                                  .duration_ns = hki_sum_ns(plan->topology, count, elements, bytes),
                                  .order = (*order)++});
    for (int i = 0; i < copies; i++)
        add_edge(self, first + i, added);
    add_edge(self, node_of(plan, plan->scenario->arrive, sum, owner), added);
    add_edge(self, added, node_of(plan, plan->scenario->done, sum, owner));
    for (int i = 0; i < count; i++)
        if (i != owner) {
            const int copy = add_copy(self, sum, owner, i, bytes, order);
            add_edge(self, added, copy);
            add_edge(self, copy, node_of(plan, plan->scenario->done, sum, i));
        }
}

/* Chunks of a part of so many lines. */
static void add_chunks(builder *self, int sum, int owner, double bytes, int64_t *order)
{
    for (; bytes > 0; bytes -= CHUNK_BYTES)
        add_part(self, sum, owner, bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES, order);
}

/* Parts as hk_all_reduce cuts them: lines of 64 bytes, divided evenly, the last one shorter. */
static void add_copies(builder *self, int sum)
{
    const hki_scenario_sum *its = &self->plan->scenario->sums[sum];
    const int count = device_count(self->plan);
    const int64_t bytes = (int64_t)its->bytes, lines = hki_divide_up(bytes, LINE_BYTES);
    int64_t order = its->order * HKI_ORDERS;
    if (bytes <= SMALL_BYTES) {
        add_chunks(self, sum, 0, (double)bytes, &order);
        return;
    }
    for (int i = 0; i < count; i++) {
        const int64_t each = lines / count, longer = lines % count;
        const int64_t begin = (i * each + hki_min(i, longer)) * LINE_BYTES;
        const int64_t end = hki_min(bytes, begin + (each + (i < longer)) * LINE_BYTES);
        if (end > begin)
            add_chunks(self, sum, i, (double)(end - begin), &order);
    }
}

/* ---- all of them -------------------------------------------------------------------------------------- */

int64_t hki_exchanges_nodes(const hki_replay_plan *plan)
{
    const hki_scenario *scenario = plan->scenario;
    double nodes = 0;
    for (int i = 0; i < scenario->sum_count; i++) {
        const double chunks = scenario->sums[i].bytes / CHUNK_BYTES + 2;
        nodes += is_by_copies(plan) ? (chunks + device_count(plan)) * 2 * device_count(plan) : 1;
    }
    return nodes < 1e15 ? (int64_t)nodes : (int64_t)1e15;
}

bool hki_exchanges_init(hki_exchanges *self, const hki_replay_plan *plan)
{
    *self = (hki_exchanges){.queue_count = is_by_copies(plan) ? 1 + 2 * device_count(plan) : 1};
    builder made = {
        .exchanges = self, .plan = plan, .first = plan->process_count * plan->scenario->node_count};
    self->nodes = calloc((size_t)hki_exchanges_nodes(plan) + 1, sizeof *self->nodes);
    for (int i = 0; self->nodes && i < plan->scenario->sum_count; i++)
        if (plan->scenario->sums[i].step >= plan->scenario->step_count)
            continue;
        else if (is_by_copies(plan) && plan->scenario->sums[i].is_sum &&
                 plan->scenario->sums[i].bytes >= 1 && device_count(plan) > 1)
            add_copies(&made, i);
        else
            add_activity(&made, i);
    return self->nodes && !made.is_failed;
}

void hki_exchanges_deinit(hki_exchanges *self)
{
    free(self->nodes);
    free(self->edges);
}
