/* Captured calls as nodes: their options by names, their operands as values. */
#include "model/export.h"

#include <hocket/autograd.h>
#include <hocket/ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

static bool is_zero(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

static int64_t whole(int64_t number)
{
    return number == HK_FIRST_AXIS ? 0 : number;
}

/* A default that is a number. */
static void take_default(const hki_param *param, hk_export_option *option)
{
    const char *text = param->default_text ? param->default_text : "";
    option->is_default = !param->required;
    if (param->required || !option->is_default)
        return;
    switch (param->type) {
    case HKI_PARAM_INT:
        option->ints[0] = strtoll(text, NULL, 10);
        break;
    case HKI_PARAM_INT2:
    case HKI_PARAM_INT3:
        for (int i = 0; i < option->count && (*text == '{' || *text == ','); i++) {
            char *end;
            option->ints[i] = strtoll(text + 1, &end, 10);
            text = end;
        }
        break;
    case HKI_PARAM_F64:
        option->number = strtod(text, NULL);
        break;
    default:
        break;
    }
}

static void take_option(const hki_param *param, const char *options, hk_export_option *option)
{
    const char *at = options + param->offset;
    size_t bytes = sizeof(int64_t);
    *option = (hk_export_option){.name = param->name, .count = 1};
    switch (param->type) {
    case HKI_PARAM_BOOL:
        bytes = sizeof(bool);
        option->ints[0] = *(const bool *)at;
        break;
    case HKI_PARAM_INT:
        option->ints[0] = whole(*(const int64_t *)(const void *)at);
        break;
    case HKI_PARAM_INT2:
    case HKI_PARAM_INT3:
        option->count = param->type == HKI_PARAM_INT2 ? 2 : 3;
        bytes = (size_t)option->count * sizeof(int64_t);
        memcpy(option->ints, at, bytes);
        break;
    case HKI_PARAM_F64:
        bytes = sizeof(double);
        option->count = 0;
        option->number = *(const double *)(const void *)at + 0.0;
        break;
    case HKI_PARAM_DTYPE:
        bytes = sizeof(hk_dtype);
        option->ints[0] = *(const hk_dtype *)(const void *)at;
        break;
    case HKI_PARAM_DIMS: {
        const hk_dims *dims = (const void *)at;
        bytes = sizeof *dims;
        option->count = dims->ndim;
        for (int i = 0; i < dims->ndim && i < HK_MAX_NDIM; i++)
            option->ints[i] = whole(dims->dims[i]);
        break;
    }
    case HKI_PARAM_U64:
        option->ints[0] = (int64_t)(*(const uint64_t *)(const void *)at);
        break;
    }
    if (is_zero(at, bytes))
        take_default(param, option);
}

static int count_options(const hk_op *op)
{
    int count = 0;
    while (op->params && op->params[count].name)
        count++;
    return count;
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct state {
    hki_export *out;
    hki_export_slots *slots;
    const hk_graph *graph;
} state;

static int read(const state *self, const hki_node_operand *operand, bool narrow)
{
    return operand->slot < 0
               ? -1
               : hki_export_read(self->slots, operand->slot, &operand->tensor, narrow);
}

static hk_dims shape_of(const hki_tensor *tensor)
{
    hk_dims shape = {.ndim = tensor->ndim};
    memcpy(shape.dims, tensor->dims, sizeof shape.dims);
    return shape;
}

/* What only moves elements, in their order: its result is its input, of another shape or dtype. */
static bool is_move(const hk_op *op)
{
    return op == &hki_op_copy || op == &hki_op_reshape || op == &hki_op_assign ||
           op == &hki_op_to_device || op == &hki_op_pin;
}

static bool add_move(const state *self, const hki_node *node)
{
    const hki_node_operand *from = &node->operands[0], *to = &node->operands[1];
    int value = read(self, from, false);
    if (value >= 0 && from->tensor.dtype != to->tensor.dtype) {
        const int64_t dtype = to->tensor.dtype;
        value = hki_export_add_unary(self->out, "cast", value, shape_of(&from->tensor), "dtype",
                                     &dtype, 1);
        if (value >= 0)
            self->out->values[value].dtype = to->tensor.dtype;
    }
    value = value < 0 ? -1 : hki_export_reshape(self->out, value, shape_of(&to->tensor));
    return hki_export_write(self->slots, to->slot, &to->tensor, value);
}

/* Without inputs: numbers that are known, but of a shape that may depend on a batch. */
static bool is_filled(const hk_op *op)
{
    return op == &hki_op_full || op == &hki_op_zeros || op == &hki_op_ones;
}

static bool add_known(const state *self, const hki_node *node)
{
    const hki_node_operand *to = &node->operands[0];
    HK_SCOPE;
    hk_array *x = hki_op_call(node->op, NULL, 0, node->options, (hk_device){node->device}, NULL);
    const int value = hki_export_add_constant(self->out, x);
    return value >= 0 && hki_export_write(self->slots, to->slot, &to->tensor, value);
}

/* Whether what is left of its inputs, without repeating, is of the shape of its result. */
static bool may_narrow(const hki_node *node)
{
    const hki_tensor *out = &node->operands[node->input_count].tensor;
    bool is_full[HK_MAX_NDIM] = {false};
    int present = 0;
    for (int i = 0; i < node->input_count; i++) {
        const hki_node_operand *in = &node->operands[i];
        present += in->slot >= 0;
        for (int j = 0; in->slot >= 0 && j < in->tensor.ndim; j++)
            if (in->tensor.strides[j] || in->tensor.dims[j] == 1) {
                const int axis = out->ndim - in->tensor.ndim + j;
                if (axis >= 0 && in->tensor.dims[j] == out->dims[axis])
                    is_full[axis] = true;
            }
    }
    for (int i = 0; i < out->ndim; i++)
        if (!is_full[i] && out->dims[i] != 1)
            return false;
    return present > 1;
}

static bool add_call(const state *self, const hki_node *node)
{
    hki_export *out = self->out;
    const hk_op *op = node->op;
    const int options = count_options(op);
    int inputs[HKI_MAX_INPUTS];
    const bool narrow = op->elementwise && node->output_count == 1 && may_narrow(node);
    for (int i = 0; i < node->input_count; i++)
        inputs[i] =
            read(self, &node->operands[i], narrow || (op == &hki_op_take_along_axis && i == 1));
    if (out->failure)
        return false;
    const int added = out->node_count;
    hk_export_node *its =
        hki_export_add_node(out, op->name, node->input_count, node->output_count, options);
    if (!its)
        return false;
    for (int i = 0; i < options; i++)
        take_option(&op->params[i], node->options, (hk_export_option *)&its->options[i]);
    if (node->input_count)
        memcpy((int *)its->inputs, inputs, (size_t)node->input_count * sizeof *inputs);
    for (int i = 0; i < node->output_count; i++) {
        const hki_node_operand *to = &node->operands[node->input_count + i];
        const int value = to->slot < 0 || !to->tensor.size
                              ? -1
                              : hki_export_add_value(out, to->tensor.dtype, shape_of(&to->tensor));
        ((int *)out->nodes[added].outputs)[i] = value;
        if (value >= 0 && !hki_export_write(self->slots, to->slot, &to->tensor, value))
            return false;
    }
    return !out->failure;
}

static bool add(const state *self, const hki_node *node)
{
    hki_export *out = self->out;
    out->called = node->operation;
    out->source = node->source;
    if (node->kind != HKI_NODE_CALL)
        return hki_export_fail(out, HK_UNSUPPORTED, "%s",
                               node->kind == HKI_NODE_CHAIN
                                   ? "calls were put together; capture them with the option exact"
                                   : "it is no call of an operator");
    if (node->draw >= 0)
        return hki_export_fail(out, HK_UNSUPPORTED, "it draws random numbers");
    if (is_move(node->op))
        return add_move(self, node);
    if (!node->input_count && !is_filled(node->op) && node->output_count == 1)
        return add_known(self, node);
    return add_call(self, node);
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

static bool is_in(const int *list, int count, int value)
{
    for (int i = 0; i < count; i++)
        if (list[i] == value)
            return true;
    return false;
}

/* An output of its own: no input or constant, and none twice. */
static bool add_output(hki_export *out, int value)
{
    if (value < 0)
        return false;
    if (hki_export_is_from_before(out, value) || is_in(out->inputs, out->input_count, value) ||
        is_in(out->outputs, out->output_count, value))
        value = hki_export_add_unary(out, "copy", value, out->values[value].shape, NULL, NULL, 0);
    if (value >= 0)
        out->outputs[out->output_count++] = value;
    return value >= 0;
}

static hki_tensor tensor_of_bound(const struct hki_bound *bound)
{
    hki_tensor tensor = {.dtype = bound->dtype, .ndim = bound->shape.ndim};
    hki_dims_size(&bound->shape, &tensor.size);
    memcpy(tensor.dims, bound->shape.dims, sizeof tensor.dims);
    memcpy(tensor.strides, bound->strides, sizeof tensor.strides);
    return tensor;
}

static bool add_bound(const state *self, bool are_outputs)
{
    const hk_graph *graph = self->graph;
    hki_export *out = self->out;
    for (int i = 0; i < graph->bound_count && !out->failure; i++) {
        const struct hki_bound *bound = &graph->bound[i];
        if (bound->is_written != are_outputs)
            continue;
        const hki_tensor tensor = tensor_of_bound(bound);
        const int value = hki_export_read(self->slots, bound->slot, &tensor, false);
        if (are_outputs)
            add_output(out, value);
        else
            out->inputs[out->input_count++] = value;
    }
    return !out->failure;
}

static bool add_results(const state *self, const hki_export_request *request)
{
    for (int i = 0; i < request->result_count && !self->out->failure; i++) {
        hk_array *x = request->results[i];
        if (!x || x->failed)
            return hki_export_fail(self->out, HK_INVALID_ARGUMENT, "result %d %s", i,
                                   x ? "has failed" : "is NULL");
        add_output(self->out, hki_export_read_array(self->slots, x));
    }
    return !self->out->failure;
}

/* ---- what is needed -------------------------------------------------------------------------- */

/* Leaves out nodes and results of them that nothing needs. */
static bool prune(hki_export *out)
{
    bool *is_used = hki_export_allocate(out, (size_t)out->value_count + 1);
    int kept = out->node_count;
    if (!is_used)
        return false;
    for (int i = 0; i < out->output_count; i++)
        is_used[out->outputs[i]] = true;
    for (int i = out->node_count - 1; i >= 0; i--) {
        hk_export_node *node = &out->nodes[i];
        bool is_needed = false;
        for (int j = 0; j < node->output_count; j++) {
            int *value = (int *)&node->outputs[j];
            *value = *value >= 0 && is_used[*value] ? *value : -1;
            is_needed = is_needed || *value >= 0;
        }
        if (!is_needed)
            continue;
        for (int j = 0; j < node->input_count; j++)
            if (node->inputs[j] >= 0)
                is_used[node->inputs[j]] = true;
        out->nodes[--kept] = *node;
    }
    out->node_count -= kept;
    memmove(out->nodes, out->nodes + kept, (size_t)out->node_count * sizeof *out->nodes);
    for (int i = 0; i < out->value_count; i++)
        if (out->values[i].constant && !is_used[i]) {
            hk_array_release(out->values[i].constant);
            out->values[i].constant = NULL;
        }
    return true;
}

bool hki_export_graph(hki_export *self, const hki_export_request *request)
{
    const hk_graph *graph = request->graph;
    const size_t most = (size_t)(graph->bound_count + request->result_count) + 1;
    const state its = {.out = self,
                       .slots =
                           hki_export_slots_create(self, graph, request->given, request->names),
                       .graph = graph};
    self->inputs = hki_export_allocate(self, most * sizeof *self->inputs);
    self->outputs = hki_export_allocate(self, most * sizeof *self->outputs);
    if (!its.slots || !self->inputs || !self->outputs || !add_bound(&its, false))
        return false;
    for (int i = 0; i < graph->node_count; i++)
        if (!add(&its, &graph->nodes[i]))
            return false;
    self->called = NULL;
    if (!add_bound(&its, true) || !add_results(&its, request))
        return false;
    if (!self->output_count)
        return hki_export_fail(self, HK_INVALID_ARGUMENT, "nothing comes out of the calls");
    return prune(self);
}
