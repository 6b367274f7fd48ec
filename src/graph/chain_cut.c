/* Cuts a chain where gradients are summed over devices or ranks, so that the sums hide behind the rest of it. Steps stay as
 * they are and in their order, so the bytes do; but each part is a task of its own. What a block holds between two parts
 * stays in a temporary of the graph.
 *
 * What is wanted early is what a recorded sum names; or all gradients, where a sum may follow the replay. A cut comes behind
 * the step that completes as many bytes of them as are summed at a time. */
#include "base/integer.h"
#include "graph/chain.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_PARTS = 8,
    LEAST_SHARE = 16, /* of the work before a cut and behind it: less is not worth a task */
    UNKNOWN = -1
};
static const int64_t state_most = 128 << 20; /* bytes that a replay keeps between parts */

/* ---- when it is ready -------------------------------------------------------------------------------------------- */

typedef struct cutter {
    hki_chain *chain;
    const hk_graph *graph;
    /* By value: the last step that makes something of it. By slot: the one after which it is known, UNKNOWN where the chain
     * has no part in it. */
    int *ready, *slot_ready;
    bool *wanted;     /* by slot */
    int64_t *arrives; /* by step: bytes of what is wanted that it completes */
} cutter;

static void note_made(const cutter *self, int value, int step)
{
    if (value >= 0)
        self->ready[value] = step;
}

static void note_sum(const cutter *self, int sum, int step)
{
    if (sum >= 0)
        self->slot_ready[self->chain->arrays[self->chain->sums[sum].array].slot] = step;
}

/* After which step for each block a call on whole pieces has all that it reads. */
static int end_ready(const cutter *self, const hki_chain_step *step)
{
    int ready = 0;
    for (int j = 0; j < HKI_MAX_INPUTS; j++)
        if (step->in[j].kind == HKI_REF_VALUE && self->ready[step->in[j].index] > ready)
            ready = self->ready[step->in[j].index];
    return ready;
}

static void find_ready(const cutter *self)
{
    const hki_chain *chain = self->chain;
    for (int i = 0; i < chain->step_count; i++) {
        const hki_chain_step *step = &chain->steps[i];
        const bool converts = step->kind == HKI_STEP_TO_ROWS || step->kind == HKI_STEP_TO_LANES ||
                              step->kind == HKI_STEP_SPREAD;
        const int at = step->kind == HKI_STEP_CALL_END ? end_ready(self, step) : i;
        note_made(self, converts ? step->x : -1, at);
        note_made(self, step->y, at);
        note_made(self, step->dx, at);
        note_sum(self, step->dweight, at);
        note_sum(self, step->dbias, at);
        for (int j = 0; j < HKI_MAX_OUTPUTS; j++) {
            if (step->out[j].kind == HKI_REF_VALUE)
                note_made(self, step->out[j].index, at);
            else if (step->out[j].kind == HKI_REF_SUM)
                note_sum(self, step->out[j].index, at);
        }
    }
    for (int i = 0; i < chain->value_count; i++)
        if (chain->values[i].is_output)
            self->slot_ready[chain->arrays[chain->values[i].array].slot] = self->ready[i];
}

/* Calls behind the chain make theirs of what it has made. */
static void follow_calls(const cutter *self, const hki_chain_place *places)
{
    for (int i = 0; i < self->graph->node_count; i++) {
        const hki_node *node = &self->graph->nodes[i];
        int ready = UNKNOWN;
        if (places[i] != HKI_PLACE_AFTER || node->kind != HKI_NODE_CALL)
            continue;
        for (int j = 0; j < node->input_count; j++)
            if (node->operands[j].slot >= 0 && self->slot_ready[node->operands[j].slot] > ready)
                ready = self->slot_ready[node->operands[j].slot];
        for (int j = node->input_count; j < node->input_count + node->output_count; j++) {
            const int slot = node->operands[j].slot;
            if (slot >= 0 && self->wanted[slot] && self->slot_ready[slot] == UNKNOWN)
                self->slot_ready[slot] = ready;
            else if (slot >= 0 && !self->wanted[slot] && ready > self->slot_ready[slot])
                self->slot_ready[slot] = ready;
        }
    }
    for (int i = 0; i < self->graph->slot_count; i++)
        if (self->wanted[i] && self->slot_ready[i] != UNKNOWN)
            self->arrives[self->slot_ready[i]] += (int64_t)self->graph->slots[i].bytes;
}

/* ---- where to cut ------------------------------------------------------------------------------------------------ */

/* By shapes alone: all ranks are to cut alike. */
static double work_of(const hki_chain *chain, const hki_chain_step *step)
{
    const hki_conv2d_geometry *g = &step->block.geometry;
    double work = 0;
    if (step->kind == HKI_STEP_FORWARD || step->kind == HKI_STEP_BACKWARD)
        work = (double)(g->in_channels * g->out_channels * g->kernel_height * g->kernel_width) *
               (double)(g->out_height * g->out_width) *
               (step->kind == HKI_STEP_FORWARD ? 1 : (step->dx >= 0) + (step->dweight >= 0));
    for (int j = 0; j < HKI_MAX_OUTPUTS && step->kind == HKI_STEP_CALL; j++)
        if (step->out[j].kind == HKI_REF_VALUE)
            work += (double)chain->values[step->out[j].index].elements;
    return work;
}

/* Sets the ends of parts; returns their number. */
static int find_cuts(const cutter *self, size_t bytes, int *ends)
{
    const hki_chain *chain = self->chain;
    double all = 0, before = 0, done = 0;
    int64_t left = 0, arrived = 0;
    int count = 0;
    for (int i = 0; i < chain->end_steps; i++) {
        all += work_of(chain, &chain->steps[i]);
        left += self->arrives[i];
    }
    for (int i = 0; bytes > 0 && i < chain->end_steps && count < MAX_PARTS - 1; i++) {
        done += work_of(chain, &chain->steps[i]);
        arrived += self->arrives[i];
        left -= self->arrives[i];
        if (arrived < (int64_t)bytes || left == 0 || (done - before) * LEAST_SHARE < all ||
            (all - done) * LEAST_SHARE < all)
            continue;
        ends[count++] = i + 1;
        before = done;
        arrived = 0;
    }
    ends[count++] = chain->end_steps;
    return count;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

enum { READS = 1, WRITES = 2 };

static void touch_array(unsigned char *touched, int array, unsigned char how)
{
    if (array >= 0)
        touched[array] = (unsigned char)(touched[array] | how);
}

static void touch_value(const hki_chain *chain, unsigned char *touched, int value,
                        unsigned char how)
{
    if (value >= 0)
        touch_array(touched, chain->values[value].array, how);
}

static void touch_sum(hki_chain *chain, unsigned char *touched, int sum, int part)
{
    if (sum < 0)
        return;
    chain->sums[sum].part = part;
    touch_array(touched, chain->sums[sum].array, WRITES);
}

static void touch(hki_chain *chain, const hki_chain_step *step, unsigned char *touched)
{
    const bool to_rows = step->kind == HKI_STEP_TO_ROWS || step->kind == HKI_STEP_SPREAD;
    touch_value(chain, touched, step->x, to_rows ? WRITES : READS);
    touch_value(chain, touched, step->dy, READS);
    touch_value(chain, touched, step->y, WRITES);
    touch_value(chain, touched, step->dx, WRITES);
    touch_array(touched, step->weight, READS);
    touch_array(touched, step->bias, READS);
    touch_sum(chain, touched, step->dweight, step->part);
    touch_sum(chain, touched, step->dbias, step->part);
    if (step->pack >= 0)
        chain->packs[step->pack].part = step->part;
    for (int j = 0; j < HKI_MAX_INPUTS; j++) {
        if (step->in[j].kind == HKI_REF_VALUE)
            touch_value(chain, touched, step->in[j].index, READS);
        else if (step->in[j].kind == HKI_REF_SHARED)
            touch_array(touched, step->in[j].index, READS);
    }
    for (int j = 0; j < HKI_MAX_OUTPUTS; j++) {
        if (step->out[j].kind == HKI_REF_VALUE)
            touch_value(chain, touched, step->out[j].index, WRITES);
        else if (step->out[j].kind == HKI_REF_SUM)
            touch_sum(chain, touched, step->out[j].index, step->part);
    }
}

static bool list_arrays(hki_chain *chain, int index, unsigned char *touched)
{
    hki_chain_part *part = &chain->parts[index];
    part->arrays = malloc(((size_t)chain->array_count + 1) * sizeof *part->arrays);
    memset(touched, 0, (size_t)chain->array_count);
    for (int i = 0; i < chain->step_count; i++)
        if (chain->steps[i].part == index)
            touch(chain, &chain->steps[i], touched);
    for (int i = 0; part->arrays && i < chain->array_count; i++)
        if (chain->part_count == 1 ? i < chain->read_count : touched[i] == READS)
            part->arrays[part->array_count++] = i;
    part->read_count = part->array_count;
    for (int i = 0; part->arrays && i < chain->array_count; i++)
        if (chain->part_count == 1 ? i >= chain->read_count : (touched[i] & WRITES) != 0)
            part->arrays[part->array_count++] = i;
    return part->arrays;
}

/* An array's writes are one part's, which alone says that it was not there before. */
static bool written_once(const hki_chain *chain, unsigned char *seen)
{
    bool once = true;
    memset(seen, 0, (size_t)chain->array_count);
    for (int p = 0; p < chain->part_count; p++)
        for (int i = chain->parts[p].read_count; i < chain->parts[p].array_count; i++) {
            const int array = chain->parts[p].arrays[i];
            once = once && !seen[array] && array >= chain->read_count;
            seen[array] = 1;
        }
    return once;
}

static int part_at(const int *ends, int step)
{
    int part = 0;
    while (step >= ends[part])
        part++;
    return part;
}

static bool make_parts(const cutter *self, const int *ends, int count, unsigned char *touched)
{
    hki_chain *chain = self->chain;
    chain->part_count = 0;
    chain->parts = calloc((size_t)count, sizeof *chain->parts);
    if (!chain->parts)
        return false;
    chain->part_count = count;
    for (int i = 0; i < chain->step_count; i++) {
        hki_chain_step *step = &chain->steps[i];
        const int at = i < chain->end_steps ? i : end_ready(self, step);
        step->part = count == 1 ? 0 : part_at(ends, at);
    }
    bool made = true;
    for (int i = 0; i < count; i++) {
        chain->parts[i].begin = i ? ends[i - 1] : 0;
        chain->parts[i].end = ends[i];
        made = list_arrays(chain, i, touched) && made;
    }
    return made;
}

void hki_chain_parts_destroy(hki_chain *chain)
{
    for (int i = 0; chain->parts && i < chain->part_count; i++)
        free(chain->parts[i].arrays);
    free(chain->parts);
    chain->parts = NULL;
    chain->part_count = 0;
}

static void set_state(hki_chain *chain)
{
    int64_t samples = 0;
    for (int i = 0; i < HKI_CHAIN_SIZES; i++)
        samples = hki_max(samples, chain->piece_sizes[i]);
    chain->block_state_bytes = hki_round_up(chain->kept_at, HKI_CACHE_LINE);
    chain->piece_state_bytes =
        hki_divide_up(samples, chain->block_samples) * chain->block_state_bytes +
        (chain->scratch_at - chain->kept_at);
}

/* Weights are packed by the part that uses them, and kept by none. */
static void forget_constants(hki_chain *chain)
{
    chain->packed_bytes = chain->kept_bytes = 0;
    for (int i = 0; i < chain->pack_count; i++) {
        hki_chain_pack *pack = &chain->packs[i];
        pack->is_constant = false;
        pack->at = chain->packed_bytes;
        chain->packed_bytes += (int64_t)hki_chain_pack_bytes(chain, pack);
    }
}

static bool cut(const cutter *self, const hki_chain_place *places)
{
    hki_chain *chain = self->chain;
    const int whole = chain->end_steps;
    int ends[MAX_PARTS];
    unsigned char *touched = malloc((size_t)chain->array_count + 1);
    if (!touched)
        return false;
    for (int i = 0; i < self->graph->slot_count; i++)
        self->slot_ready[i] = UNKNOWN;
    find_ready(self);
    const size_t bytes = hki_graph_find_early(self->graph, true, self->wanted);
    follow_calls(self, places);
    int count = find_cuts(self, bytes, ends);
    if (count > 1)
        set_state(chain);
    if (hki_chain_state_bytes(chain) > state_most)
        count = 1;
    bool made = make_parts(self, count > 1 ? ends : &whole, count, touched);
    if (made && count > 1 && !written_once(chain, touched)) {
        hki_chain_parts_destroy(chain);
        made = make_parts(self, &whole, count = 1, touched);
    }
    if (count > 1)
        forget_constants(chain);
    else
        chain->block_state_bytes = chain->piece_state_bytes = 0;
    free(touched);
    return made;
}

bool hki_chain_cut(hki_chain *chain, const hk_graph *graph, const hki_chain_place *places)
{
    const size_t slots = (size_t)graph->slot_count + 1;
    cutter self = {.chain = chain,
                   .graph = graph,
                   .ready = calloc((size_t)chain->value_count + 1, sizeof *self.ready),
                   .slot_ready = calloc(slots, sizeof *self.slot_ready),
                   .wanted = calloc(slots, sizeof *self.wanted),
                   .arrives = calloc((size_t)chain->step_count + 1, sizeof *self.arrives)};
    const bool made =
        self.ready && self.slot_ready && self.wanted && self.arrives && cut(&self, places);
    free(self.ready);
    free(self.slot_ready);
    free(self.wanted);
    free(self.arrives);
    return made;
}

/* ---- what comes between parts ------------------------------------------------------------------------------------ */

static int later(int a, int b)
{
    return a > b ? a : b;
}

/* Goes through a node's operands: returns behind which part it must come, or with `part` notes that it does. */
static int follow(const hki_node *node, int *reads, int *writes, int part)
{
    int behind = 0;
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        const int slot = node->operands[i].slot;
        if (slot < 0)
            continue;
        int *own = hki_node_writes(node, i) ? writes : reads;
        behind = later(behind, writes[slot]);
        if (hki_node_writes(node, i))
            behind = later(behind, reads[slot]);
        if (part >= 0)
            own[slot] = later(own[slot], part);
    }
    return behind;
}

bool hki_chain_follow(const hk_graph *graph, const hki_chain_place *places, const hki_node *parts,
                      int count, int *behind)
{
    int *reads = calloc(2 * (size_t)graph->slot_count + 2, sizeof *reads);
    int *writes = reads + graph->slot_count + 1;
    for (int p = 0; reads && p < count; p++)
        follow(&parts[p], reads, writes, p);
    for (int i = 0; reads && i < graph->node_count; i++) {
        if (places[i] != HKI_PLACE_AFTER)
            continue;
        behind[i] = follow(&graph->nodes[i], reads, writes, UNKNOWN);
        follow(&graph->nodes[i], reads, writes, behind[i]);
    }
    free(reads);
    return reads;
}
