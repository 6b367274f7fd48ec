/* What a chain does, step by step, from the calls that it is made of. */
#include "graph/chain.h"
#include "op/call/plan.h"

#include <stdlib.h>
#include <string.h>

typedef struct maker {
    hki_chain *chain;
    const bool *outside;
    int *value_of; /* by slot; -1: none */
    bool *done;    /* calls that a step stands for */
    int *pending;  /* by call: index into waiting, or -1 */
    hki_chain_step *waiting;
} maker;

const hki_chain_step hki_chain_no_step = {.call = -1,
                                          .x = -1,
                                          .y = -1,
                                          .weight = -1,
                                          .bias = -1,
                                          .dx = -1,
                                          .dy = -1,
                                          .dweight = -1,
                                          .dbias = -1,
                                          .mask = -1,
                                          .pack = -1};

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static bool same_operand(const hki_node_operand *a, const hki_node_operand *b)
{
    return a->slot == b->slot && a->tensor.offset == b->tensor.offset &&
           a->tensor.dtype == b->tensor.dtype && a->tensor.size == b->tensor.size &&
           hki_chain_is_dense(&a->tensor) == hki_chain_is_dense(&b->tensor);
}

/* The operand of the chain's node for what a call reads. */
static int array_to_read(hki_chain *chain, const hki_node_operand *operand)
{
    for (int i = 0; i < chain->read_count; i++)
        if (same_operand(&chain->arrays[i], operand))
            return i;
    chain->arrays[chain->read_count] = *operand;
    return chain->read_count++;
}

/* Until all that is read is known, those written stand at the end of the memory, the first of them last. */
static int array_to_write(hki_chain *chain, const hki_node_operand *operand)
{
    chain->arrays[--chain->array_count] = *operand;
    return chain->array_count;
}

static int value_add(maker *self, const hki_node_operand *operand, int64_t samples)
{
    hki_chain *chain = self->chain;
    const hki_tensor *tensor = &operand->tensor;
    size_t bytes = hki_dtype_bytes(tensor->dtype);
    chain->values[chain->value_count] = (hki_chain_value){
        .slot = operand->slot,
        .dtype = tensor->dtype,
        .elements = tensor->size / samples,
        .array = -1,
        .fits_lanes = bytes == (chain->f64 ? sizeof(double) : sizeof(float)),
        .rows = HKI_CHAIN_NOWHERE,
        .lanes = HKI_CHAIN_NOWHERE,
    };
    return chain->value_count++;
}

/* The value that an input shows: one of the chain's own, or an array from before it. */
static int value_to_read(maker *self, const hki_node_operand *operand)
{
    hki_chain *chain = self->chain;
    int value = self->value_of[operand->slot];
    if (value >= 0)
        return value;
    int array = array_to_read(chain, operand);
    for (int i = 0; i < chain->value_count; i++)
        if (chain->values[i].array == array && !chain->values[i].is_output)
            return i;
    value = value_add(self, operand, chain->samples);
    chain->values[value].array = array;
    return value;
}

static int value_to_make(maker *self, const hki_node_operand *operand)
{
    int value = value_add(self, operand, self->chain->samples);
    self->value_of[operand->slot] = value;
    if (self->outside[operand->slot]) {
        self->chain->values[value].is_output = true;
        self->chain->values[value].array = array_to_write(self->chain, operand);
    }
    return value;
}

static int sum_to_make(maker *self, const hki_node_operand *operand, bool accumulates)
{
    hki_chain *chain = self->chain;
    chain->sums[chain->sum_count] = (hki_chain_sum){.array = array_to_write(chain, operand),
                                                    .dtype = operand->tensor.dtype,
                                                    .elements = operand->tensor.size,
                                                    .accumulates = accumulates};
    return chain->sum_count++;
}

/* ---- calls as they are ------------------------------------------------------------------------------------------- */

void hki_chain_ref_tensor(const hki_node *node, int operand, const hki_chain_ref *ref,
                          hki_tensor *tensor)
{
    *tensor = node->operands[operand].tensor;
    if (!ref->is_spread)
        return;
    hk_dims shape = {.ndim = tensor->ndim};
    memcpy(shape.dims, tensor->dims, sizeof shape.dims);
    hki_dims_strides(&shape, tensor->strides);
    tensor->is_contiguous = true;
    tensor->offset = 0;
}

/* What op->plan says when the batch has so many samples. */
static void ask_plan(const hki_chain *chain, const hki_chain_step *step, int64_t samples,
                     hki_chain_extent *extent)
{
    const hki_node *node = &chain->calls[step->call];
    hki_shape_view views[HKI_MAX_INPUTS];
    hki_tensor tensor;
    hki_call call = {.op = node->op,
                     .operation = node->operation,
                     .device = chain->device,
                     .input_count = node->input_count,
                     .options = node->options};
    for (int i = 0; i < node->input_count; i++) {
        const hki_chain_ref *ref = &step->in[i];
        if (ref->kind == HKI_REF_NONE)
            continue;
        hki_chain_ref_tensor(node, i, ref, &tensor);
        hki_shape_view_init(&views[i], &tensor);
        if (ref->kind == HKI_REF_VALUE) {
            views[i].shape.dims[ref->is_last ? 1 : 0] = samples;
            views[i].size = samples * chain->values[ref->index].elements;
        }
        call.inputs[i] = &views[i];
    }
    for (int i = 0; i < node->output_count; i++) {
        const hki_chain_ref *ref = &step->out[i];
        hki_chain_ref_tensor(node, node->input_count + i, ref, &tensor);
        call.out_shape[i].ndim = tensor.ndim;
        memcpy(call.out_shape[i].dims, tensor.dims, sizeof tensor.dims);
        if (ref->kind == HKI_REF_VALUE)
            call.out_shape[i].dims[0] = samples;
        call.out_dtype[i] = tensor.dtype;
    }
    hki_plan plan;
    hki_plan_make(&call, &plan);
    *extent = (hki_chain_extent){plan.extent, plan.grain, plan.partial_bytes};
}

/* Steps that make rows for the samples of what is one element. */
static void make_spreads(maker *self, const hki_node *node, unsigned carries, int *values)
{
    hki_chain *chain = self->chain;
    for (int i = 0; i < node->input_count; i++) {
        const hki_node_operand *operand = &node->operands[i];
        values[i] = -1;
        if (operand->slot < 0 || !(carries >> i & 1) || !hki_chain_is_spread(&operand->tensor))
            continue;
        hki_chain_step *step = &chain->steps[chain->step_count++];
        *step = hki_chain_no_step;
        step->kind = HKI_STEP_SPREAD;
        step->x = values[i] = value_add(self, operand, chain->samples);
        step->weight = array_to_read(chain, operand);
    }
}

/* Whether the call goes element by element over what lies side by side in a block; then its loop is all that a block needs. */
static bool find_row(const hki_chain *chain, const hki_node *node, hki_chain_step *step)
{
    hk_dtype dtypes[HKI_WALK_MAX_INPUTS];
    if (step->kind != HKI_STEP_CALL || !node->op->elementwise || node->output_count != 1 ||
        node->input_count > HKI_WALK_MAX_INPUTS)
        return false;
    const hki_chain_value *out = &chain->values[step->out[0].index];
    for (int i = 0; i < node->input_count; i++) {
        const hki_chain_ref *ref = &step->in[i];
        dtypes[i] = node->operands[i].tensor.dtype;
        const bool is_row = ref->kind == HKI_REF_VALUE && !ref->is_last &&
                            chain->values[ref->index].elements == out->elements;
        if (!is_row && (ref->kind != HKI_REF_SHARED || node->operands[i].tensor.size != 1))
            return false;
    }
    return hki_row_of(node->op, node->options, dtypes, node->input_count, out->dtype, &step->row);
}

static void make_call(maker *self, int index)
{
    hki_chain *chain = self->chain;
    hki_node *node = &chain->calls[index];
    hki_chain_views views;
    hki_batch batch;
    bool sums = hki_chain_ask(node, &batch, &views) == HKI_BATCH_SUM;
    int spread[HKI_MAX_INPUTS];
    make_spreads(self, node, batch.first | batch.last, spread);
    hki_chain_step *step = &chain->steps[chain->step_count];
    *step = hki_chain_no_step;
    step->kind = sums ? HKI_STEP_CALL_END : HKI_STEP_CALL;
    step->call = index;
    if (batch.as)
        node->op = batch.as;
    for (int i = 0; i < node->input_count; i++) {
        const hki_node_operand *operand = &node->operands[i];
        hki_chain_ref *ref = &step->in[i];
        ref->is_last = batch.last >> i & 1;
        if (operand->slot < 0) {
            ref->kind = HKI_REF_NONE;
        } else if ((batch.first | batch.last) >> i & 1) {
            ref->kind = HKI_REF_VALUE;
            ref->is_spread = spread[i] >= 0;
            ref->index = ref->is_spread ? spread[i] : value_to_read(self, operand);
            if (sums && chain->values[ref->index].array < 0)
                chain->values[ref->index].is_kept = true;
        } else {
            ref->kind = HKI_REF_SHARED;
            ref->index = array_to_read(chain, operand);
        }
    }
    for (int i = 0; i < node->output_count; i++) {
        const hki_node_operand *operand = &node->operands[node->input_count + i];
        hki_chain_ref *ref = &step->out[i];
        ref->kind = sums ? HKI_REF_SUM : HKI_REF_VALUE;
        ref->index = sums ? sum_to_make(self, operand, false) : value_to_make(self, operand);
        if (sums)
            chain->sums[ref->index].divisor = batch.divisor;
    }
    const int64_t *sizes = sums ? chain->piece_sizes : chain->block_sizes;
    for (int i = 0; i < HKI_CHAIN_SIZES && sizes[i]; i++)
        ask_plan(chain, step, sizes[i], &step->extents[i]);
    step->is_dense = find_row(chain, node, step);
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* The operand of the call that makes a slot. */
static const hki_node_operand *made_as(const hki_chain *chain, int slot)
{
    for (int i = 0; i < chain->call_count; i++) {
        const hki_node *node = &chain->calls[i];
        for (int j = node->input_count; j < node->input_count + node->output_count; j++)
            if (node->operands[j].slot == slot)
                return &node->operands[j];
    }
    return NULL;
}

/* The operand that hki_chain_input tells. */
static const hki_node_operand *input_of(const hki_chain *chain, int input)
{
    return &chain->calls[input / HKI_MAX_INPUTS].operands[input % HKI_MAX_INPUTS];
}

static int pack_of(hki_chain *chain, const hki_chain_step *step)
{
    bool is_backward = step->kind == HKI_STEP_BACKWARD;
    if (step->weight < 0)
        return -1;
    chain->packs[chain->pack_count] =
        (hki_chain_pack){.block = step->block, .is_backward = is_backward, .weight = step->weight};
    return chain->pack_count++;
}

static int shared_array(hki_chain *chain, int input)
{
    return input < 0 ? -1 : array_to_read(chain, input_of(chain, input));
}

/* From slots and inputs to values, sums and operands. */
static void make_block(maker *self, hki_chain_step *step)
{
    hki_chain *chain = self->chain;
    step->weight = shared_array(chain, step->weight);
    step->bias = shared_array(chain, step->bias);
    if (step->x >= 0)
        step->x = value_to_read(self, input_of(chain, step->x));
    if (step->dy >= 0)
        step->dy = value_to_read(self, input_of(chain, step->dy));
    if (step->y >= 0)
        step->y = value_to_make(self, made_as(chain, step->y));
    if (step->dx >= 0)
        step->dx = value_to_make(self, made_as(chain, step->dx));
    if (step->dweight >= 0)
        step->dweight = sum_to_make(self, made_as(chain, step->dweight), true);
    if (step->dbias >= 0)
        step->dbias = sum_to_make(self, made_as(chain, step->dbias), true);
    step->pack = pack_of(chain, step);
}

static int count_done(const maker *self)
{
    int count = 0;
    for (int i = 0; i < self->chain->call_count; i++)
        count += self->done[i];
    return count;
}

/* The step or steps of one call. */
static void make_steps_of(maker *self, int call)
{
    hki_chain *chain = self->chain;
    hki_chain_step *step = &chain->steps[chain->step_count], backward;
    int before = count_done(self);
    if (self->pending[call] >= 0) {
        *step = self->waiting[self->pending[call]];
        make_block(self, step);
    } else if (self->done[call]) {
        return;
    } else if (hki_chain_fuse(chain, self->outside, call, step, &backward, self->done)) {
        if (backward.kind == HKI_STEP_BACKWARD) {
            int64_t bytes = (int64_t)hki_conv2d_block_mask_bytes(&step->block, chain->f64);
            if (bytes) {
                chain->masks[chain->mask_count] = (hki_chain_mask){.bytes = bytes};
                step->mask = backward.mask = chain->mask_count++;
            }
            self->waiting[call] = backward;
            self->pending[backward.call] = call;
        }
        make_block(self, step);
    } else {
        make_call(self, call);
    }
    self->done[call] = true;
    chain->steps[chain->step_count++].call_count = count_done(self) - before;
}

static void *zeros(int count, size_t bytes)
{
    return calloc((size_t)count + 1, bytes);
}

/* Upper bounds: an operand is read or made once, by a value or a sum, and may be spread by a step of its own. */
static bool allocate(maker *self, int slot_count)
{
    hki_chain *chain = self->chain;
    int calls = chain->call_count, operands = 0;
    for (int i = 0; i < calls; i++)
        operands += chain->calls[i].input_count + chain->calls[i].output_count;
    chain->values = zeros(operands, sizeof *chain->values);
    chain->sums = zeros(operands, sizeof *chain->sums);
    chain->steps = zeros(operands + calls, sizeof *chain->steps);
    chain->packs = zeros(calls * 2, sizeof *chain->packs);
    chain->masks = zeros(calls, sizeof *chain->masks);
    chain->arrays = zeros(operands, sizeof *chain->arrays);
    self->value_of = zeros(slot_count, sizeof *self->value_of);
    self->done = zeros(calls, sizeof *self->done);
    self->pending = zeros(calls, sizeof *self->pending);
    self->waiting = zeros(calls, sizeof *self->waiting);
    chain->array_count = operands; /* writes are put at the end, from the last one down */
    return chain->values && chain->sums && chain->steps && chain->packs && chain->masks &&
           chain->arrays && self->value_of && self->done && self->pending && self->waiting;
}

/* Puts the operands that are written right behind those that are read. */
static void close_arrays(hki_chain *chain, int capacity)
{
    int writes = capacity - chain->array_count, gap = chain->array_count - chain->read_count;
    memmove(chain->arrays + chain->read_count, chain->arrays + chain->array_count,
            (size_t)writes * sizeof *chain->arrays);
    for (int i = 0; i < chain->value_count; i++)
        if (chain->values[i].is_output)
            chain->values[i].array -= gap;
    for (int i = 0; i < chain->sum_count; i++)
        chain->sums[i].array -= gap;
    chain->array_count = chain->read_count + writes;
}

bool hki_chain_make_steps(hki_chain *chain, int slot_count, const bool *outside)
{
    maker self = {.chain = chain, .outside = outside};
    bool made = allocate(&self, slot_count);
    int capacity = chain->array_count;
    for (int i = 0; made && i < slot_count; i++)
        self.value_of[i] = -1;
    for (int i = 0; made && i < chain->call_count; i++)
        self.pending[i] = -1;
    for (int i = 0; made && i < chain->call_count; i++)
        make_steps_of(&self, i);
    if (made)
        close_arrays(chain, capacity);
    free(self.value_of);
    free(self.done);
    free(self.pending);
    free(self.waiting);
    return made;
}
