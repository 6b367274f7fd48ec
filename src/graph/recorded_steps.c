/* The steps of a recorded replay, and where what is within it lies. */
#include "graph/recorded_steps.h"

#include <string.h>

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* A place for a contiguous copy of the tensor, which becomes that copy. */
static int add_copy_place(hki_steps *self, hki_tensor *tensor, int node)
{
    hk_dims shape = {.ndim = tensor->ndim};
    memcpy(shape.dims, tensor->dims, sizeof shape.dims);
    hki_dims_strides(&shape, tensor->strides);
    tensor->is_contiguous = true;
    tensor->offset = 0;
    uint64_t bytes = (uint64_t)tensor->size * hki_dtype_bytes(tensor->dtype);
    self->places[self->place_count] =
        (hki_node_place){.is_within = true, .first = node, .last = node, .bytes = bytes};
    return self->place_count++;
}

/* A step that lies where it stays. */
static void aim(hki_step *self)
{
    self->call.in = self->in;
    self->call.out = self->out;
}

static hki_step *add_step(hki_steps *self, const hki_node *node)
{
    hki_step *added = &self->list[self->count++];
    added->node = node;
    added->check = -1;
    aim(added);
    for (int i = 0; i < HKI_MAX_INPUTS; i++) {
        added->in_place[i] = -1;
        added->call.in[i].ndim = -1;
    }
    return added;
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static uint64_t needs_of(const hki_steps *self, const hki_step *its)
{
    uint64_t checks = 0;
    for (int i = 0; i < its->call.input_count; i++)
        if (its->in_place[i] >= 0)
            checks |= hki_writes_find(&self->writes, its->in_place[i], &its->call.in[i]);
    return checks;
}

static bool is_outside(const hki_steps *self, int place)
{
    return !self->places[place].is_within;
}

static bool can_spare(const hki_steps *self, const hki_step *its)
{
    const hki_device_class *class = self->device->class;
    return class->can_spare && (its->is_copy || class->can_spare(&its->call));
}

static bool may_report(const hki_steps *self, const hki_step *its)
{
    const hki_device_class *class = self->device->class;
    return class->may_report && !its->is_copy && class->may_report(&its->call);
}

/* When the step is complete, and those before have been noted. */
static void note_checks(hki_steps *self, hki_step *its)
{
    bool writes_outside = false;
    its->needs = needs_of(self, its);
    if (may_report(self, its)) {
        self->is_beyond = self->is_beyond || self->check_count == HKI_MAX_CHECKS;
        if (self->is_beyond)
            return;
        its->check = self->check_count;
        self->checks[self->check_count++] = (int)(its - self->list);
    }
    const uint64_t own = its->check >= 0 ? (uint64_t)1 << its->check : 0;
    for (int i = 0; i < its->call.output_count; i++) {
        const int place = its->out_place[i];
        const bool outside = is_outside(self, place);
        writes_outside = writes_outside || outside;
        if (!hki_writes_note(&self->writes, place, &its->call.out[i], its->needs | own, outside))
            self->is_beyond = true;
    }
    if (writes_outside && can_spare(self, its))
        its->spares = its->needs | (uint64_t)1 << HKI_CHECK_OF_INPUTS;
    else if (writes_outside && !its->node->is_grad)
        self->can_spare = false;
}

/* ---- calls and copies ------------------------------------------------------------------------------------------- */

static void add_copy(hki_steps *self, const hki_node *node, const hki_tensor *from, int from_place,
                     const hki_tensor *to, int to_place)
{
    hki_step *copy = add_step(self, node);
    copy->is_copy = true;
    copy->call.input_count = copy->call.output_count = 1;
    copy->call.in[0] = *from;
    copy->call.out[0] = *to;
    copy->in_place[0] = from_place;
    copy->out_place[0] = to_place;
    note_checks(self, copy);
}

/* The call with the copies before and behind it, as a task of its own would make them (op/call_task.c). */
void hki_steps_add(hki_steps *self, int index)
{
    const hki_node *node = &self->graph->nodes[index];
    hki_step made = {.node = node, .check = -1};
    hki_kernel_call *call = &made.call;
    *call = (hki_kernel_call){.op = node->op,
                              .options = node->options,
                              .input_count = node->input_count,
                              .output_count = node->output_count,
                              .extent = node->plan.extent,
                              .piece_count = node->piece_count,
                              .grain = node->plan.grain,
                              .method = node->plan.method};
    aim(&made);
    for (int i = 0; i < HKI_MAX_INPUTS; i++) {
        const hki_node_operand *operand = i < node->input_count ? &node->operands[i] : NULL;
        made.in_place[i] = operand ? operand->slot : -1;
        call->in[i].ndim = -1;
        if (made.in_place[i] < 0)
            continue;
        call->in[i] = operand->tensor;
        if (!(node->staging.copy_inputs >> i & 1))
            continue;
        made.in_place[i] = add_copy_place(self, &call->in[i], index);
        add_copy(self, node, &operand->tensor, operand->slot, &call->in[i], made.in_place[i]);
    }
    const bool is_torn = needs_of(self, &made) && !node->is_grad && !can_spare(self, &made);
    for (int i = 0; i < node->output_count; i++) {
        const hki_node_operand *operand = &node->operands[node->input_count + i];
        call->out[i] = operand->tensor;
        made.out_place[i] =
            (i == 0 && node->staging.copy_output) || (is_torn && is_outside(self, operand->slot))
                ? add_copy_place(self, &call->out[i], index)
                : operand->slot;
    }
    hki_step *added = add_step(self, node);
    *added = made;
    aim(added);
    note_checks(self, added);
    for (int i = 0; i < node->output_count; i++) {
        const hki_node_operand *operand = &node->operands[node->input_count + i];
        if (made.out_place[i] != operand->slot)
            add_copy(self, node, &added->out[i], made.out_place[i], &operand->tensor,
                     operand->slot);
    }
    self->flops += node->plan.flops;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static bool meet(const hki_node_place *a, const hki_node_place *b)
{
    return a->is_within && b->is_within && a->first <= b->last && b->first <= a->last &&
           a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

/* The lowest room that nobody has at the same time. Returns where all of it ends. */
uint64_t hki_steps_lay_out(hki_steps *self)
{
    uint64_t end = 0;
    for (int i = 0; i < self->place_count; i++) {
        hki_node_place *it = &self->places[i];
        if (!it->is_within)
            continue;
        it->bytes = (it->bytes / HKI_STEPS_ALIGNMENT + 1) * HKI_STEPS_ALIGNMENT;
        it->at = 0;
        for (int j = 0; j < i; j++)
            if (meet(it, &self->places[j])) {
                it->at = self->places[j].at + self->places[j].bytes;
                j = -1; /* what was passed may be in the way there */
            }
        if (it->at + it->bytes > end)
            end = it->at + it->bytes;
    }
    return end;
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void describe_inputs(const void *call, char *text, size_t bytes)
{
    const hki_kernel_call *self = call;
    hki_tensors_describe(self->in, self->input_count, text, bytes);
}

hki_blame hki_step_blame(const hki_step *which)
{
    return (hki_blame){.operation = which->node->operation,
                       .source = which->node->source,
                       .describe = describe_inputs,
                       .what = &which->call};
}
