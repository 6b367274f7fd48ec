/* Which calls of a graph are one segment. Calls are taken in their order; each goes into the
 * newest segment of its device, unless something that has come since touches what it reads or
 * writes. So the calls of two devices that take turns are two segments, and what comes behind a
 * sum begins others.
 *
 * Where gradients are summed, a segment also ends with the call that completes as many bytes of
 * them as are summed at a time, so that sums run beside the rest, as chain_cut.c has it. */
#include "graph/segments.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_NODES = 4096, /* of a segment: what finds its steps' places takes time by their square */
    MOST_PARTS = 8,    /* of a device, that sums may cut */
    LEAST_SHARE = 16,  /* of the work before such a cut and behind it */
    NONE = -1
};

/* ---- which calls ----------------------------------------------------------------------------- */

typedef struct device_state {
    hki_device *device;
    int open;         /* its newest segment; NONE */
    double done, all; /* of its work: since the last cut, and what is left to do */
    size_t arrived;   /* bytes of gradients since then */
    size_t left;      /* and those to come */
    int parts;
} device_state;

typedef struct planner {
    const hk_graph *graph;
    hki_segments *made;
    int *segment; /* by node */
    /* By slot: the newest segments that write it and that use it. */
    int *written, *used;
    bool *wanted; /* by slot: it is summed, */
    int *final;   /* and this node is the last to write it */
    size_t early_bytes;
    device_state *devices;
    int device_count;
} planner;

static bool is_recordable(const hk_graph *graph, const hki_node *node)
{
    const hki_device_class *class = node->device->class;
    bool can = node->kind == HKI_NODE_CALL && class && class->recorder && class->run_call &&
               !node->plan.partial_bytes;
    for (int i = 0; can && i < node->input_count + node->output_count; i++) {
        const hki_slot *slot =
            node->operands[i].slot < 0 ? NULL : &graph->slots[node->operands[i].slot];
        can = !slot || (slot->device == node->device && !slot->is_pinned);
    }
    return can;
}

static device_state *state_of(planner *self, hki_device *device)
{
    for (int i = 0; i < self->device_count; i++)
        if (self->devices[i].device == device)
            return &self->devices[i];
    device_state *added = &self->devices[self->device_count++];
    *added = (device_state){.device = device, .open = NONE};
    return added;
}

/* Whether the node may be done with those of an older segment. */
static bool may_join(const planner *self, const hki_node *node, int segment)
{
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        const int slot = node->operands[i].slot;
        if (slot >= 0 &&
            (hki_node_writes(node, i) ? self->used[slot] : self->written[slot]) > segment)
            return false;
    }
    return true;
}

static void note_uses(const planner *self, const hki_node *node, int segment)
{
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        const int slot = node->operands[i].slot;
        if (slot < 0)
            continue;
        if (segment > self->used[slot])
            self->used[slot] = segment;
        if (hki_node_writes(node, i) && segment > self->written[slot])
            self->written[slot] = segment;
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

static bool completes(const planner *self, int node, int slot)
{
    return slot >= 0 && self->wanted[slot] && self->final[slot] == node;
}

static void find_sums(planner *self)
{
    const hk_graph *graph = self->graph;
    self->early_bytes = hki_graph_find_early(graph, false, self->wanted);
    for (int i = 0; i < graph->node_count && self->early_bytes; i++) {
        const hki_node *node = &graph->nodes[i];
        for (int j = node->input_count; j < node->input_count + node->output_count; j++)
            if (node->kind == HKI_NODE_CALL && node->operands[j].slot >= 0 && node->is_backward)
                self->final[node->operands[j].slot] = i;
    }
    for (int i = 0; i < graph->node_count && self->early_bytes; i++) {
        const hki_node *node = &graph->nodes[i];
        if (!is_recordable(graph, node))
            continue;
        device_state *its = state_of(self, node->device);
        its->all += node->plan.flops;
        for (int j = node->input_count; j < node->input_count + node->output_count; j++)
            if (completes(self, i, node->operands[j].slot))
                its->left += graph->slots[node->operands[j].slot].bytes;
    }
}

/* Behind the node, by shapes alone: ranks are to cut alike. */
static void cut_for_sums(planner *self, device_state *its, int index)
{
    const hki_node *node = &self->graph->nodes[index];
    size_t completed = 0;
    its->done += node->plan.flops;
    its->all -= node->plan.flops;
    for (int j = node->input_count; j < node->input_count + node->output_count; j++)
        if (completes(self, index, node->operands[j].slot))
            completed += self->graph->slots[node->operands[j].slot].bytes;
    its->arrived += completed;
    its->left -= completed;
    const double all = its->all + its->done;
    if (completed == 0 || its->arrived < self->early_bytes || its->left == 0 ||
        its->parts + 1 >= MOST_PARTS || its->done * LEAST_SHARE < all ||
        its->all * LEAST_SHARE < all)
        return;
    its->open = NONE;
    its->parts++;
    its->done = 0;
    its->arrived = 0;
}

/* ---- segments -------------------------------------------------------------------------------- */

static int add_segment(planner *self, int node)
{
    hki_segments *made = self->made;
    made->list[made->count].count = 1;
    self->segment[node] = made->count;
    return made->count++;
}

static void assign(planner *self, int index)
{
    const hki_node *node = &self->graph->nodes[index];
    if (!is_recordable(self->graph, node)) {
        note_uses(self, node, add_segment(self, index));
        return;
    }
    device_state *its = state_of(self, node->device);
    if (its->open != NONE && self->made->list[its->open].count < MOST_NODES &&
        may_join(self, node, its->open)) {
        self->segment[index] = its->open;
        self->made->list[its->open].count++;
    } else {
        its->open = add_segment(self, index);
    }
    note_uses(self, node, its->open);
    if (self->early_bytes)
        cut_for_sums(self, its, index);
}

/* Puts the nodes in the order of their segments. */
static void sort(const planner *self)
{
    hki_segments *made = self->made;
    for (int i = 0, first = 0; i < made->count; first += made->list[i++].count)
        made->list[i].first = first;
    for (int i = 0; i < made->count; i++)
        made->list[i].count = 0;
    for (int i = 0; i < self->graph->node_count; i++) {
        hki_segment *its = &made->list[self->segment[i]];
        made->order[its->first + its->count++] = i;
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool is_segment(const hki_segments *self, const hk_graph *graph, int segment)
{
    const hki_segment *its = &self->list[segment];
    return its->count > 1 && is_recordable(graph, &graph->nodes[self->order[its->first]]);
}

/* What temporaries are one segment's alone: is_within[slot]. What several use, one of them
 * recorded, is kept. False: no host memory. */
static bool find_memory(const planner *self, bool *is_within)
{
    const hk_graph *graph = self->graph;
    enum { SEVERAL = -2 };
    int *user = self->used; /* of no use any more */
    bool *is_recorded = self->wanted, complete = true;
    for (int i = 0; i < graph->slot_count; i++) {
        user[i] = NONE;
        is_recorded[i] = false;
    }
    for (int i = 0; i < graph->node_count; i++) {
        const hki_node *node = &graph->nodes[i];
        for (int j = 0; j < node->input_count + node->output_count; j++) {
            const int slot = node->operands[j].slot, segment = self->segment[i];
            if (slot < 0)
                continue;
            user[slot] = user[slot] == NONE || user[slot] == segment ? segment : SEVERAL;
            is_recorded[slot] = is_recorded[slot] || is_segment(self->made, graph, segment);
        }
    }
    for (int i = 0; i < graph->slot_count; i++) {
        const hki_slot *slot = &graph->slots[i];
        const bool is_temporary = slot->kind == HKI_SLOT_TEMPORARY && slot->first >= 0;
        is_within[i] = is_temporary && is_recorded[i] && user[i] != SEVERAL;
        if (is_temporary && is_recorded[i] && user[i] == SEVERAL)
            complete =
                (self->made->kept[i] = hki_storage_create(slot->device, slot->bytes)) && complete;
    }
    return complete;
}

/* Replays do not make what is kept, nor let it go. */
static void keep(const hki_segments *self, hk_graph *graph)
{
    for (int i = 0; i < graph->node_count; i++) {
        hki_node *node = &graph->nodes[i];
        for (int j = 0; j < node->input_count + node->output_count; j++)
            if (node->operands[j].slot >= 0 && self->kept[node->operands[j].slot])
                node->operands[j].makes = node->operands[j].drops = false;
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

void hki_segments_destroy(hki_segments *self)
{
    if (!self)
        return;
    for (int i = 0; self->list && i < self->count; i++)
        hki_recorded_destroy(self->list[i].recorded);
    for (int i = 0; self->kept && i < self->kept_count; i++)
        if (self->kept[i])
            hki_storage_release_handle(self->kept[i]);
    pthread_mutex_destroy(&self->lock);
    free(self->order);
    free(self->list);
    free(self->kept);
    free(self);
}

/* False: for want of memory, or nothing is recorded. */
static bool share_memory(const planner *self, hki_recorded **list)
{
    const hki_segments *made = self->made;
    bool is_any = false;
    for (int i = 0; i < self->device_count; i++) {
        int count = 0;
        for (int j = 0; j < made->count; j++)
            if (made->list[j].recorded &&
                hki_recorded_device(made->list[j].recorded) == self->devices[i].device)
                list[count++] = made->list[j].recorded;
        if (count > 0 && !hki_recorded_share_memory(list, count))
            return false;
        is_any = is_any || count > 0;
    }
    return is_any;
}

/* False: for want of memory, or nothing is recorded. */
static bool record(planner *self, hk_graph *graph, bool *is_within)
{
    hki_segments *made = self->made;
    hki_recorded **list = calloc((size_t)made->count + 1, sizeof *list);
    bool complete = list && find_memory(self, is_within);
    for (int i = 0; complete && i < made->count; i++) {
        hki_segment *its = &made->list[i];
        if (is_segment(made, graph, i))
            its->recorded =
                hki_recorded_create(graph, made->order + its->first, its->count, is_within);
    }
    complete = complete && share_memory(self, list);
    free(list);
    return complete;
}

/* False: for want of memory, or there is nothing to record. */
static bool plan(planner *self, hk_graph *graph)
{
    const size_t slots = (size_t)graph->slot_count + 1, nodes = (size_t)graph->node_count;
    bool *is_within = calloc(slots, sizeof *is_within);
    self->segment = calloc(nodes, sizeof *self->segment);
    self->written = calloc(slots, sizeof *self->written);
    self->used = calloc(slots, sizeof *self->used);
    self->wanted = calloc(slots, sizeof *self->wanted);
    self->final = calloc(slots, sizeof *self->final);
    self->devices = calloc(nodes, sizeof *self->devices);
    bool made = is_within && self->segment && self->written && self->used && self->wanted &&
                self->final && self->devices;
    for (size_t i = 0; made && i < slots; i++)
        self->written[i] = self->used[i] = self->final[i] = NONE;
    if (made) {
        find_sums(self);
        for (int i = 0; i < graph->node_count; i++)
            assign(self, i);
        sort(self);
        made = record(self, graph, is_within);
    }
    free(is_within);
    free(self->segment);
    free(self->written);
    free(self->used);
    free(self->wanted);
    free(self->final);
    free(self->devices);
    return made;
}

static bool may_record(const hk_graph *graph)
{
    int count = 0;
    for (int i = 0; i < graph->node_count && count < 2; i++)
        count += is_recordable(graph, &graph->nodes[i]);
    return count > 1 && !graph->options.exact && !hki_runtime_is_serial(graph->runtime);
}

hki_segments *hki_segments_create(hk_graph *graph)
{
    if (!may_record(graph))
        return NULL;
    hki_segments *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    pthread_mutex_init(&self->lock, NULL);
    self->order = calloc((size_t)graph->node_count, sizeof *self->order);
    self->list = calloc((size_t)graph->node_count, sizeof *self->list);
    self->kept = calloc((size_t)graph->slot_count + 1, sizeof *self->kept);
    self->kept_count = graph->slot_count;
    planner plans = {.graph = graph, .made = self};
    if (!self->order || !self->list || !self->kept || !plan(&plans, graph)) {
        hki_segments_destroy(self);
        return NULL;
    }
    keep(self, graph);
    return self;
}

/* ---- facts ----------------------------------------------------------------------------------- */

int64_t hki_segments_recorded(const hki_segments *self)
{
    int64_t least = -1;
    for (int i = 0; self && i < self->count; i++) {
        const hki_recorded *its = self->list[i].recorded;
        if (its && (least < 0 || hki_recorded_count(its) < least))
            least = hki_recorded_count(its);
    }
    return least < 0 ? 0 : least;
}

int64_t hki_segments_fused_calls(const hki_segments *self)
{
    int64_t calls = 0;
    for (int i = 0; self && i < self->count; i++)
        calls += self->list[i].recorded ? hki_recorded_fused_calls(self->list[i].recorded) : 0;
    return calls;
}

int hki_segments_tasks(const hki_segments *self)
{
    int tasks = 0;
    for (int i = 0; i < self->count; i++)
        tasks += self->list[i].recorded ? 1 : self->list[i].count;
    return tasks;
}
