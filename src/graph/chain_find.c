/* Which calls of a graph form a chain. */
#include "graph/chain.h"

#include <stdlib.h>
#include <string.h>

enum { SHARED_BYTES = 1 << 20 };

bool hki_chain_is_dense(const hki_tensor *tensor)
{
    int64_t step = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->dims[i] != 1 && tensor->strides[i] != step)
            return false;
        step *= tensor->dims[i];
    }
    return true;
}

hki_batch_kind hki_chain_ask(const hki_node *node, hki_batch *batch, hki_chain_views *views)
{
    if (node->kind != HKI_NODE_CALL || !node->op->batch)
        return HKI_BATCH_NONE;
    *batch = (hki_batch){.options = node->options, .input_count = node->input_count};
    for (int i = 0; i < node->input_count; i++) {
        hki_shape_view_init(&views->in[i], &node->operands[i].tensor);
        batch->in[i] = node->operands[i].slot < 0 ? NULL : &views->in[i];
    }
    for (int i = 0; i < node->output_count; i++) {
        hki_shape_view_init(&views->out[i], &node->operands[node->input_count + i].tensor);
        batch->out[i] = &views->out[i];
    }
    return node->op->batch(batch);
}

/* What has happened to a slot so far. */
enum {
    IS_VALUE = 1,   /* made by the chain, sample by sample */
    IS_LATE = 2,    /* holds what is known after the chain only */
    IS_READ = 4,    /* by the chain, as it was before */
    READ_LATE = 8,  /* by a call that comes after the chain */
    IS_TOUCHED = 16 /* named by an earlier node */
};

typedef struct finder {
    const hk_graph *graph;
    int64_t samples;
    hki_device *device;
    unsigned char *state; /* of slots */
    int64_t *sizes;       /* of slots that are values */
} finder;

bool hki_chain_is_spread(const hki_tensor *tensor)
{
    bool spread = tensor->ndim > 0 && tensor->size > 1;
    for (int i = 0; i < tensor->ndim; i++)
        spread = spread && (tensor->strides[i] == 0 || tensor->dims[i] == 1);
    return spread;
}

/* Samples along the first axis, or the last of two, of all of a value, or of an array from before the chain. A part of a
 * value may have as many rows as there are samples by chance. */
static bool carries_samples(const finder *self, const hki_node_operand *operand, bool is_last)
{
    const hki_tensor *tensor = &operand->tensor;
    unsigned state = self->state[operand->slot];
    if (state & IS_LATE ||
        (state & IS_VALUE && (tensor->offset != 0 || tensor->size != self->sizes[operand->slot])))
        return false;
    if (is_last)
        return tensor->ndim == 2 && tensor->dims[1] == self->samples && tensor->strides[0] == 1 &&
               tensor->strides[1] == tensor->dims[0];
    return tensor->ndim > 0 && tensor->dims[0] == self->samples &&
           (hki_chain_is_dense(tensor) || (hki_chain_is_spread(tensor) && !(state & IS_VALUE)));
}

static bool is_shared(const finder *self, const hki_node_operand *operand)
{
    return !(self->state[operand->slot] & (IS_VALUE | IS_LATE)) &&
           hki_chain_is_dense(&operand->tensor);
}

static bool fits_output(const finder *self, const hki_node_operand *operand, hki_batch_kind kind)
{
    const hki_tensor *tensor = &operand->tensor;
    bool is_new = self->graph->slots[operand->slot].kind == HKI_SLOT_TEMPORARY;
    if (self->state[operand->slot] & IS_TOUCHED || (is_new && tensor->offset != 0) ||
        !hki_chain_is_dense(tensor))
        return false;
    if (kind == HKI_BATCH_SUM)
        return tensor->dtype == HK_F32 || tensor->dtype == HK_F64 || tensor->dtype == HK_I64 ||
               tensor->dtype == HK_I32;
    return tensor->ndim > 0 && tensor->dims[0] == self->samples;
}

static bool has_halves(const hki_node *node)
{
    for (int i = 0; i < node->input_count + node->output_count; i++)
        if (hki_dtype_is_half(node->operands[i].tensor.dtype))
            return true;
    return false;
}

static bool is_candidate(const hki_node *node, const hki_device *device)
{
    if (node->kind != HKI_NODE_CALL || node->device != device || !node->is_new ||
        node->staging.copy_output || !node->op->batch || node->op->any_device || node->op->pinned ||
        !node->op->kernel[HKI_CPU] || has_halves(node))
        return false;
    unsigned copies = node->staging.copy_inputs;
    for (int i = 0; i < node->input_count; i++)
        if (hki_chain_is_spread(&node->operands[i].tensor))
            copies &= ~(1u << i);
    return !copies;
}

/* Whether the parts of a sum, one for each piece, take more memory than the samples that are summed: as they do of a
 * product of two layers with many neurons. Such a sum costs less in one go when the chain is done, although what it
 * reads must be written for that. Convolutions sum over pixels, too, and while the samples are in the lanes. */
static bool is_wide_sum(const finder *self, const hki_node *node, const hki_batch *batch)
{
    int64_t read = 0, made = 0;
    if (node->op->fuse == HKI_FUSE_CONVOLUTION_WEIGHT)
        return false;
    for (int i = 0; i < node->input_count; i++)
        if ((batch->first | batch->last) >> i & 1)
            read += node->operands[i].tensor.size;
    for (int i = node->input_count; i < node->input_count + node->output_count; i++)
        made += node->operands[i].tensor.size;
    return made * hki_chain_piece_count(self->samples) > read;
}

/* All samples need it, and it lies still in a core's cache while blocks of them come and go. A larger one is read from memory
 * again for each block, and is to be packed at each step that has changed it: a call of its own does with less. */
static bool is_light(const hki_node_operand *operand)
{
    return operand->tensor.size * (int64_t)hki_dtype_bytes(operand->tensor.dtype) <= SHARED_BYTES;
}

/* Answers HKI_BATCH_NONE when the node is no part of the chain. */
static hki_batch_kind ask_member(const finder *self, const hki_node *node)
{
    hki_chain_views views;
    hki_batch batch;
    if (!is_candidate(node, self->device))
        return HKI_BATCH_NONE;
    hki_batch_kind kind = hki_chain_ask(node, &batch, &views);
    bool joins =
        false; /* what the samples are is known by the bound arrays, or by what came from them */
    for (int i = 0; kind != HKI_BATCH_NONE && i < node->input_count; i++) {
        const hki_node_operand *operand = &node->operands[i];
        bool first = batch.first >> i & 1, last = batch.last >> i & 1;
        if (operand->slot < 0)
            continue;
        if (first || last ? !carries_samples(self, operand, last)
                          : !is_shared(self, operand) || !is_light(operand))
            kind = HKI_BATCH_NONE;
        joins = joins ||
                ((first || last) && (self->state[operand->slot] & IS_VALUE ||
                                     self->graph->slots[operand->slot].kind == HKI_SLOT_BOUND));
    }
    if (kind == HKI_BATCH_SUM && is_wide_sum(self, node, &batch))
        kind = HKI_BATCH_NONE;
    for (int i = 0; kind != HKI_BATCH_NONE && i < node->output_count; i++)
        if (!fits_output(self, &node->operands[node->input_count + i], kind))
            kind = HKI_BATCH_NONE;
    return joins ? kind : HKI_BATCH_NONE;
}

/* Of a node that is no part of the chain. */
static hki_chain_place place_of(const finder *self, const hki_node *node)
{
    bool shapes = node->kind == HKI_NODE_CALL && node->op->shape_only;
    hki_chain_place place = HKI_PLACE_BEFORE;
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        int slot = node->operands[i].slot;
        bool writes = node->kind == HKI_NODE_COMPOUND || i >= node->input_count;
        if (slot < 0)
            continue;
        bool waits = self->state[slot] & (IS_VALUE | IS_LATE);
        if (waits && shapes && !writes && place == HKI_PLACE_BEFORE)
            place = HKI_PLACE_BEFORE_BY_SHAPE;
        else if (waits || (writes && self->state[slot] & (IS_READ | READ_LATE)))
            place = HKI_PLACE_AFTER;
    }
    return place;
}

static void note(const finder *self, const hki_node *node, hki_batch_kind kind, bool late)
{
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        int slot = node->operands[i].slot;
        bool writes = node->kind == HKI_NODE_COMPOUND || i >= node->input_count;
        if (slot < 0)
            continue;
        unsigned char *state = &self->state[slot];
        *state |= IS_TOUCHED;
        if (kind == HKI_BATCH_NONE)
            *state |= late ? (writes ? IS_LATE : READ_LATE) : 0;
        else if (!writes)
            *state |= *state & IS_VALUE ? 0 : IS_READ;
        else
            *state |= kind == HKI_BATCH_EACH ? IS_VALUE : IS_LATE;
        if (kind == HKI_BATCH_EACH && writes)
            self->sizes[slot] = node->operands[i].tensor.size;
    }
}

/* Marks what goes with self->samples; returns how many members there are. */
static int mark(finder *self, hki_chain_place *places)
{
    const hk_graph *graph = self->graph;
    int count = 0;
    memset(self->state, 0, (size_t)graph->slot_count);
    for (int i = 0; i < graph->node_count; i++) {
        const hki_node *node = &graph->nodes[i];
        hki_batch_kind kind = ask_member(self, node);
        places[i] = kind != HKI_BATCH_NONE ? HKI_PLACE_WITHIN : place_of(self, node);
        note(self, node, kind, places[i] == HKI_PLACE_AFTER);
        count += kind != HKI_BATCH_NONE;
    }
    return count;
}

/* Whether the node may begin a chain: it works on samples of a bound array. */
static bool begins(finder *self, const hki_node *node)
{
    hki_chain_views views;
    hki_batch batch;
    if (!is_candidate(node, node->device) || !hki_device_is_host(node->device) ||
        hki_chain_ask(node, &batch, &views) != HKI_BATCH_EACH)
        return false;
    for (int i = 0; i < node->input_count; i++) {
        const hki_node_operand *operand = &node->operands[i];
        if (!(batch.first >> i & 1) || operand->tensor.ndim == 0 ||
            self->graph->slots[operand->slot].kind != HKI_SLOT_BOUND)
            continue;
        self->device = node->device;
        self->samples = operand->tensor.dims[0];
        return true;
    }
    return false;
}

int hki_chain_find(const hk_graph *graph, int from, hki_chain_place *places, int64_t *samples)
{
    finder self = {.graph = graph};
    self.state = malloc((size_t)graph->slot_count + 1);
    self.sizes = malloc(((size_t)graph->slot_count + 1) * sizeof *self.sizes);
    int found = -1;
    for (int i = from; self.state && self.sizes && found < 0 && i < graph->node_count; i++) {
        if (!begins(&self, &graph->nodes[i]) || self.samples < 1)
            continue;
        if (mark(&self, places) >= 2 && places[i] == HKI_PLACE_WITHIN)
            found = i;
    }
    *samples = self.samples;
    free(self.state);
    free(self.sizes);
    return found;
}
