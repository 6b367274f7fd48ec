/* The virtual clock: a heap of ends. Everything that ends at one moment does so before anything is begun in it; what is
 * ready in a queue goes in the order of the recorded calls, sums between devices first, as the engine has it. */
#include "forecast/replay.h"

#include "base/integer.h"
#include "base/philox.h"
#include "forecast/exchanges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A heap of keys, the lowest first; of equal ones the lowest node. */
typedef struct entry {
    int64_t key;
    int node;
} entry;

typedef struct entry_heap {
    entry *entries;
    int count, capacity;
} entry_heap;

typedef struct queue_state {
    entry_heap ready;
    int running, capacity;
    int64_t free_ns; /* reserved until then */
    int last;        /* node that had it last; -1: none */
    bool is_ahead; /* an accelerator's, which is given work before it is done with the one before */
    bool is_dirty;
} queue_state;

typedef struct virtual_clock {
    hki_replay *replay;
    const hki_scenario *scenario;
    hki_exchanges exchanges;
    int *pending;             /* by node: what must end before it */
    bool *is_short;           /* by node: it was begun when it was about to end */
    int *first_after, *after; /* edges of exchanges, by node that has some: see special */
    entry_heap ends;
    queue_state *queues;
    int queue_count;
    int *dirty; /* queues that may begin something */
    int dirty_count;
    int *ended; /* a stack */
    int ended_count, ended_capacity;
    int64_t now_ns;
    int done_count; /* nodes that have ended */
    bool is_failed;
} virtual_clock;

/* Set in the key of what is no sum. */
#define LATER ((int64_t)1 << 62)

/* ---- heaps ------------------------------------------------------------------------------------------- */

static bool comes_first(entry a, entry b)
{
    return a.key != b.key ? a.key < b.key : a.node < b.node;
}

static void heap_push(virtual_clock *self, entry_heap *heap, entry added)
{
    if (heap->count == heap->capacity) {
        const int capacity = heap->capacity ? 2 * heap->capacity : 16;
        entry *entries = realloc(heap->entries, (size_t)capacity * sizeof *entries);
        self->is_failed |= !entries;
        if (!entries)
            return;
        heap->entries = entries;
        heap->capacity = capacity;
    }
    int at = heap->count++;
    for (; at > 0 && comes_first(added, heap->entries[(at - 1) / 2]); at = (at - 1) / 2)
        heap->entries[at] = heap->entries[(at - 1) / 2];
    heap->entries[at] = added;
}

static entry heap_pop(entry_heap *heap)
{
    const entry first = heap->entries[0], moved = heap->entries[--heap->count];
    int at = 0;
    for (int child = 1; child < heap->count; child = 2 * at + 1) {
        child +=
            child + 1 < heap->count && comes_first(heap->entries[child + 1], heap->entries[child]);
        if (!comes_first(heap->entries[child], moved))
            break;
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = moved;
    return first;
}

/* ---- what nodes take --------------------------------------------------------------------------------- */

/* A factor with mean 1 whose logarithm is normal, by Box and Muller. */
static double jitter_of(const hki_replay_plan *plan, int64_t device, int node)
{
    const uint64_t place = (uint64_t)device;
    const uint32_t key[2] = {(uint32_t)plan->seed, (uint32_t)(plan->seed >> 32)};
    uint32_t words[4] = {(uint32_t)node, (uint32_t)place, (uint32_t)(place >> 32), 0x666f7265u};
    hki_philox4x32(words, key, words);
    const double u = ((double)words[0] + 1) / 4294967296.0, v = (double)words[1] / 4294967296.0;
    const double normal = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    return exp(plan->jitter * normal - plan->jitter * plan->jitter / 2);
}

int64_t hki_replay_duration(const hki_replay_plan *plan, int process, int index)
{
    const hki_scenario *scenario = plan->scenario;
    const hki_node *node = &scenario->nodes[index];
    if (node->kind != HKI_NODE_CALL || !scenario->queues[node->queue].is_compute)
        return node->duration_ns;
    double ns = (double)node->duration_ns;
    if (node->is_scaled && plan->share < 1) /* what launching takes is not divided */
        ns = fmin(ns, plan->topology->launch_ns) +
             fmax(0, ns - plan->topology->launch_ns) * plan->share;
    ns *= plan->factors[process * scenario->device_count + node->device] / plan->topology->speed;
    ns *= fmax(1, plan->topology->cores * hki_core_load(plan->topology, plan->devices));
    if (plan->jitter > 0)
        ns *= jitter_of(
            plan, plan->processes[process].number * scenario->device_count + node->device, index);
    return (int64_t)fmin(ns, 1e17);
}

/* As the engine has it: how many calls an accelerator's queue is given ahead, and how much longer ones that are short. */
enum { AHEAD_CALLS = 2, AHEAD_SHORT_CALLS = 64, AHEAD_NS = 100000 };

typedef struct work {
    int queue, also; /* -1: none */
    int64_t duration_ns, key;
} work;

static work work_of(const virtual_clock *self, int node)
{
    const hki_replay *replay = self->replay;
    const hki_scenario *scenario = self->scenario;
    if (node >= replay->first_exchange) {
        const hki_exchange_node *its = &self->exchanges.nodes[node - replay->first_exchange];
        return (work){its->queue, its->also, its->duration_ns, its->order};
    }
    const int process = node / scenario->node_count, index = node % scenario->node_count;
    const hki_node *its = &scenario->nodes[index];
    return (work){its->queue < 0 ? -1 : process * scenario->queue_count + its->queue, -1,
                  hki_replay_duration(&replay->plan, process, index),
                  its->order * HKI_ORDERS + LATER};
}

/* Times from outside may be anything. */
static int64_t end_of(int64_t start_ns, int64_t duration_ns)
{
    const int64_t most_ns = (int64_t)4 * 1000 * 1000 * 1000 * 1000 * 1000 * 1000;
    return hki_min(start_ns + duration_ns, most_ns);
}

/* ---- moving on ---------------------------------------------------------------------------------------- */

static void push_ended(virtual_clock *self, int node)
{
    if (self->ended_count == self->ended_capacity) {
        const int capacity = self->ended_capacity ? 2 * self->ended_capacity : 256;
        int *ended = realloc(self->ended, (size_t)capacity * sizeof *ended);
        self->is_failed |= !ended;
        if (!ended)
            return;
        self->ended = ended;
        self->ended_capacity = capacity;
    }
    self->ended[self->ended_count++] = node;
}

static void make_dirty(virtual_clock *self, int queue)
{
    if (self->queues[queue].is_dirty)
        return;
    self->queues[queue].is_dirty = true;
    self->dirty[self->dirty_count++] = queue;
}

static void get_ready(virtual_clock *self, int node)
{
    hki_replay *replay = self->replay;
    const work its = work_of(self, node);
    replay->start_ns[node] = hki_max(replay->start_ns[node], self->now_ns);
    replay->end_ns[node] = end_of(replay->start_ns[node], its.duration_ns);
    if (its.queue >= 0) {
        heap_push(self, &self->queues[its.queue].ready, (entry){its.key, node});
        make_dirty(self, its.queue);
    } else if (replay->end_ns[node] > self->now_ns) {
        heap_push(self, &self->ends, (entry){replay->end_ns[node], node});
    } else {
        push_ended(self, node);
    }
}

/* One of those that the node follows has ended, or has been begun and will have ended at that time. */
static void satisfy(virtual_clock *self, int node, int cause, int64_t end_ns)
{
    hki_replay *replay = self->replay;
    if (end_ns >= replay->start_ns[node]) {
        replay->start_ns[node] = end_ns;
        replay->cause[node] = cause;
    }
    if (--self->pending[node] == 0)
        get_ready(self, node);
}

/* Whether a node may be begun behind another that has been, and has not ended: in the same queue, or about to end. */
static bool may_follow(const virtual_clock *self, int node, int after)
{
    const int queue = work_of(self, node).queue, next = work_of(self, after).queue;
    if (queue < 0 || next < 0 || !self->queues[queue].is_ahead || !self->queues[next].is_ahead)
        return false;
    return queue == next || (self->is_short[node] && after < self->replay->first_exchange);
}

/* Satisfies those behind the node that may follow it when it begins (is_ended: when it has ended). */
static void let_follow(virtual_clock *self, int node, bool is_ended)
{
    const hki_replay *replay = self->replay;
    const hki_scenario *scenario = self->scenario;
    if (node < replay->first_exchange) {
        const int index = node % scenario->node_count, base = node - index;
        for (int i = scenario->first_after[index]; i < scenario->first_after[index + 1]; i++)
            if (may_follow(self, node, base + scenario->after[i]) != is_ended)
                satisfy(self, base + scenario->after[i], node, replay->end_ns[node]);
    }
    for (int i = self->first_after[node]; i < self->first_after[node + 1]; i++)
        if (may_follow(self, node, self->after[i]) != is_ended)
            satisfy(self, self->after[i], node, replay->end_ns[node]);
}

/* All that ends let begin, and what that ends at once. */
static void end_all(virtual_clock *self)
{
    for (; self->ended_count > 0 && !self->is_failed; self->done_count++)
        let_follow(self, self->ended[--self->ended_count], true);
}

static bool has_room(const virtual_clock *self, const queue_state *queue)
{
    if (!queue->is_ahead)
        return queue->running < queue->capacity;
    return queue->running < AHEAD_CALLS ||
           (queue->running < AHEAD_SHORT_CALLS && queue->free_ns - self->now_ns < AHEAD_NS);
}

static void wait_for(hki_replay *replay, int node, const queue_state *queue)
{
    if (queue->free_ns <= replay->start_ns[node])
        return;
    replay->start_ns[node] = queue->free_ns;
    replay->cause[node] = queue->last;
}

static void take(queue_state *queue, int node, int64_t end_ns)
{
    queue->free_ns = end_ns;
    queue->last = node;
}

static void begin(virtual_clock *self, queue_state *queue, int node)
{
    hki_replay *replay = self->replay;
    const work its = work_of(self, node);
    if (self->now_ns > replay->start_ns[node]) { /* others were in its way */
        replay->start_ns[node] = self->now_ns;
        replay->cause[node] = queue->last >= 0 ? queue->last : replay->cause[node];
    }
    if (queue->capacity == 1)
        wait_for(replay, node, queue);
    if (its.also >= 0)
        wait_for(replay, node, &self->queues[its.also]);
    replay->end_ns[node] = end_of(replay->start_ns[node], its.duration_ns);
    self->is_short[node] = replay->end_ns[node] - self->now_ns < AHEAD_NS;
    queue->running++;
    if (queue->capacity == 1)
        take(queue, node, replay->end_ns[node]);
    if (its.also >= 0)
        take(&self->queues[its.also], node, replay->end_ns[node]);
    heap_push(self, &self->ends, (entry){replay->end_ns[node], node});
    if (queue->is_ahead)
        let_follow(self, node, false);
}

/* What is ready in the queue begins while there is room. */
static void dispatch(virtual_clock *self, int index)
{
    queue_state *queue = &self->queues[index];
    queue->is_dirty = false;
    while (has_room(self, queue) && queue->ready.count > 0 && !self->is_failed)
        begin(self, queue, heap_pop(&queue->ready).node);
}

static void finish(virtual_clock *self, int node)
{
    const int index = work_of(self, node).queue;
    if (index >= 0) {
        queue_state *queue = &self->queues[index];
        queue->running--;
        if (queue->capacity > 1)
            queue->last = node;
        make_dirty(self, index);
    }
    push_ended(self, node);
}

/* By what they would begin with: at one moment the lowest goes first, everywhere. */
static void dispatch_all(virtual_clock *self)
{
    while (self->dirty_count > 0 && !self->is_failed) {
        int best = 0;
        if (self->exchanges.queue_count > 1) /* copies take two queues at once: order matters */
            for (int i = 1; i < self->dirty_count; i++) {
                const entry_heap *a = &self->queues[self->dirty[i]].ready,
                                 *b = &self->queues[self->dirty[best]].ready;
                if (a->count && (!b->count || comes_first(a->entries[0], b->entries[0])))
                    best = i;
            }
        const int queue = self->dirty[best];
        self->dirty[best] = self->dirty[--self->dirty_count];
        dispatch(self, queue);
    }
}

static void run(virtual_clock *self)
{
    for (int i = 0; i < self->replay->node_count; i++)
        self->replay->cause[i] = -1;
    for (int i = 0; i < self->replay->node_count && !self->is_failed; i++)
        if (self->pending[i] == 0)
            get_ready(self, i);
    end_all(self);
    dispatch_all(self);
    while (self->ends.count > 0 && !self->is_failed) {
        self->now_ns = self->ends.entries[0].key;
        while (self->ends.count > 0 && self->ends.entries[0].key == self->now_ns) {
            finish(self, heap_pop(&self->ends).node);
            end_all(self);
        }
        dispatch_all(self);
    }
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void set_capacities(virtual_clock *self)
{
    const hki_scenario *scenario = self->scenario;
    for (int i = 0; i < self->queue_count; i++) {
        const bool is_own = i >= self->replay->plan.process_count * scenario->queue_count;
        self->queues[i].capacity =
            is_own ? 1 : scenario->queues[i % scenario->queue_count].capacity;
        self->queues[i].is_ahead = is_own
                                       ? self->exchanges.queue_count > 1
                                       : scenario->queues[i % scenario->queue_count].is_accelerator;
        self->queues[i].last = -1;
    }
}

/* Edges of exchanges, by where they begin; and how many edges end in each node. */
static void sort_edges(virtual_clock *self)
{
    const hki_replay *replay = self->replay;
    const hki_scenario *scenario = self->scenario;
    int *next = self->first_after + 1;
    for (int i = 0; i < replay->first_exchange; i++)
        self->pending[i] = scenario->before_count[i % scenario->node_count];
    for (int i = 0; i < self->exchanges.edge_count; i++) {
        next[self->exchanges.edges[i][0] + 1]++;
        self->pending[self->exchanges.edges[i][1]]++;
    }
    for (int i = 1; i <= replay->node_count; i++)
        next[i] += next[i - 1];
    for (int i = 0; i < self->exchanges.edge_count; i++)
        self->after[next[self->exchanges.edges[i][0]]++] = self->exchanges.edges[i][1];
}

static bool allocate(virtual_clock *self)
{
    hki_replay *replay = self->replay;
    const hki_replay_plan *plan = &replay->plan;
    if (!hki_exchanges_init(&self->exchanges, plan))
        return false;
    replay->first_exchange = plan->process_count * plan->scenario->node_count;
    replay->node_count = replay->first_exchange + self->exchanges.node_count;
    replay->queue_count = plan->scenario->queue_count;
    self->queue_count =
        plan->process_count * plan->scenario->queue_count + self->exchanges.queue_count;
    const size_t nodes = (size_t)replay->node_count + 2,
                 exchanges = (size_t)self->exchanges.node_count + 1;
    replay->start_ns = calloc(nodes, sizeof *replay->start_ns);
    replay->end_ns = calloc(nodes, sizeof *replay->end_ns);
    replay->cause = calloc(nodes, sizeof *replay->cause);
    replay->exchange_sum = calloc(exchanges, sizeof *replay->exchange_sum);
    replay->exchange_queue = calloc(exchanges, sizeof *replay->exchange_queue);
    self->pending = calloc(nodes, sizeof *self->pending);
    self->is_short = calloc(nodes, sizeof *self->is_short);
    self->first_after = calloc(nodes, sizeof *self->first_after);
    self->after = calloc((size_t)self->exchanges.edge_count + 1, sizeof *self->after);
    self->queues = calloc((size_t)self->queue_count, sizeof *self->queues);
    self->dirty = calloc((size_t)self->queue_count, sizeof *self->dirty);
    return replay->start_ns && replay->end_ns && replay->cause && replay->exchange_sum &&
           replay->exchange_queue && self->pending && self->is_short && self->first_after &&
           self->after && self->queues && self->dirty;
}

static void deinit(virtual_clock *self)
{
    for (int i = 0; self->queues && i < self->queue_count; i++)
        free(self->queues[i].ready.entries);
    hki_exchanges_deinit(&self->exchanges);
    free(self->pending);
    free(self->is_short);
    free(self->first_after);
    free(self->after);
    free(self->ends.entries);
    free(self->queues);
    free(self->dirty);
    free(self->ended);
}

hki_replay *hki_replay_run(const hki_replay_plan *plan)
{
    virtual_clock self = {.scenario = plan->scenario};
    self.replay = calloc(1, sizeof *self.replay);
    if (!self.replay)
        return NULL;
    self.replay->plan = *plan;
    if (allocate(&self)) {
        for (int i = 0; i < self.exchanges.node_count; i++) {
            self.replay->exchange_sum[i] = self.exchanges.nodes[i].sum;
            self.replay->exchange_queue[i] = self.exchanges.nodes[i].queue;
        }
        set_capacities(&self);
        sort_edges(&self);
        run(&self);
        self.replay->is_stuck = self.done_count < self.replay->node_count;
    } else {
        self.is_failed = true;
    }
    deinit(&self);
    if (!self.is_failed)
        return self.replay;
    hki_replay_destroy(self.replay);
    return NULL;
}

void hki_replay_destroy(hki_replay *self)
{
    if (!self)
        return;
    free(self->start_ns);
    free(self->end_ns);
    free(self->cause);
    free(self->exchange_sum);
    free(self->exchange_queue);
    free(self);
}

int64_t hki_replay_nodes(const hki_replay_plan *plan)
{
    return (int64_t)plan->process_count *
               (plan->scenario->node_count + plan->scenario->queue_count) +
           hki_exchanges_nodes(plan);
}

/* ---- what it tells ------------------------------------------------------------------------------------- */

int hki_replay_last(const hki_replay *self, int step)
{
    const hki_scenario *scenario = self->plan.scenario;
    int last = -1;
    for (int i = 0; i < self->first_exchange; i++) {
        const hki_node *node = &scenario->nodes[i % scenario->node_count];
        if (node->kind == HKI_NODE_CALL && scenario->step_of_call[node->call] == step &&
            (scenario->is_update[node->call] || !scenario->has_updates) &&
            (last < 0 || self->end_ns[i] > self->end_ns[last]))
            last = i;
    }
    return last;
}

int64_t hki_replay_end_ns(const hki_replay *self, int step)
{
    const int last = hki_replay_last(self, step);
    return last < 0 ? 0 : self->end_ns[last];
}
