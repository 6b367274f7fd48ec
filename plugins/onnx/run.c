/* A run: nodes in their order. */
#include "run.h"
#include "onnx.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local hk_source onnx_source;

/* Of what is cached of values, which runs share. */
static pthread_mutex_t caches = PTHREAD_MUTEX_INITIALIZER;

/* ---- memos --------------------------------------------------------------------------------------
 */

void onnx_memo_release(hk_model_memo *memo)
{
    onnx_memo *self = (onnx_memo *)memo;
    for (int i = 0; self && i < self->count; i++)
        onnx_value_release(self->values[i]);
    if (self)
        free(self->values);
    free(self);
}

/* Counted by the memo too. Behind the first value that has been looked at shapes decide no more:
 * nothing is kept there. */
static bool remember(onnx_run *run, onnx_value *value)
{
    enum { MOST_KEPT = 1 << 20 }; /* what long loops make behind these is made anew */
    onnx_memo *self = run->made;
    if (!self || run->is_loose || self->count == MOST_KEPT)
        return true;
    if (self->count == self->capacity) {
        const int capacity = self->capacity ? 2 * self->capacity : 64;
        onnx_value **values = realloc(self->values, (size_t)capacity * sizeof(onnx_value *));
        if (!values)
            return false;
        self->values = values;
        self->capacity = capacity;
    }
    self->values[self->count++] = onnx_value_retain(value);
    return true;
}

/* ---- what rows ask ------------------------------------------------------------------------------
 */

bool onnx_refuse(onnx_call *call, hk_code code, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const Onnx__NodeProto *proto = call->node->proto;
    return onnx_wrong(&call->run->problem, code, "node %d (%.80s, %.40s): %s", call->node->number,
                      proto->name ? proto->name : "", proto->op_type, text);
}

static bool no_memory(onnx_call *call)
{
    return onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
}

int onnx_in_count(const onnx_call *call)
{
    return call->node->input_count;
}

bool onnx_has(const onnx_call *call, int index)
{
    return index < call->node->input_count && call->node->inputs[index] >= 0;
}

bool onnx_wants(const onnx_call *call, int output)
{
    return output < call->node->output_count && call->node->outputs[output] >= 0;
}

onnx_value *onnx_in_value(onnx_call *call, int index)
{
    return onnx_has(call, index) ? call->run->values[call->node->inputs[index]] : NULL;
}

/* A constant on the model's device. */
static hk_array *on_device(onnx_run *run, onnx_value *value)
{
    if (!value->is_constant || hk_array_device(value->x).handle == run->model->device.handle)
        return value->x;
    pthread_mutex_lock(&caches);
    if (!value->placed)
        value->placed = hk_take(hk_to_device(value->x, run->model->device));
    hk_array *x = value->placed;
    pthread_mutex_unlock(&caches);
    return x;
}

hk_array *onnx_array_of(onnx_call *call, onnx_value *value)
{
    if (!value || value->kind != ONNX_TENSOR)
        return NULL;
    return call->is_constant ? value->x : on_device(call->run, value);
}

hk_array *onnx_in(onnx_call *call, int index)
{
    return onnx_array_of(call, onnx_in_value(call, index));
}

bool onnx_out_value(onnx_call *call, int index, onnx_value *taken)
{
    if (!taken)
        return no_memory(call);
    if (!onnx_wants(call, index)) {
        onnx_value_release(taken);
        return true;
    }
    onnx_value **place = &call->run->values[call->node->outputs[index]];
    onnx_value_release(*place);
    *place = taken;
    return true;
}

bool onnx_out(onnx_call *call, int index, hk_array *x)
{
    if (!x)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "an input is missing");
    return onnx_out_value(call, index, onnx_value_of(hk_array_retain(x), call->is_constant));
}

void onnx_note_loose(onnx_call *call)
{
    call->run->is_loose = true;
}

/* ---- numbers that decide what is called ---------------------------------------------------------
 */

/* Of the value as int64 or float64, by way of a cache; false after refusing. */
static bool read_numbers(onnx_call *call, onnx_value *value, hk_dtype dtype, void *numbers)
{
    const size_t bytes = (size_t)hk_size(value->x) * 8;
    if (!value->is_constant && !value->is_parameter)
        onnx_note_loose(call);
    pthread_mutex_lock(&caches);
    if (value->numbers && value->numbers_dtype != dtype) {
        free(value->numbers);
        value->numbers = NULL;
    }
    if (!value->numbers) {
        value->numbers = malloc(bytes + 1);
        value->numbers_dtype = dtype;
        HK_SCOPE;
        HK_PAUSE;
        const hk_status *status =
            value->numbers ? hk_to_host(hk_cast(value->x, dtype), value->numbers, bytes) : NULL;
        if (!hk_ok(status)) {
            onnx_refuse(call, status ? hk_status_code(status) : HK_OUT_OF_MEMORY, "%s",
                        status ? hk_status_message(status) : "out of host memory");
            free(value->numbers);
            value->numbers = NULL;
        }
    }
    const bool is_good = value->numbers;
    if (is_good)
        memcpy(numbers, value->numbers, bytes);
    pthread_mutex_unlock(&caches);
    return is_good;
}

static int numbers_of(onnx_call *call, onnx_value *value, const char *what, int index,
                      void *numbers, int most, hk_dtype dtype)
{
    if (!value || value->kind != ONNX_TENSOR) {
        onnx_refuse(call, HK_INVALID_ARGUMENT, "%s %d is missing", what, index);
        return -1;
    }
    const int64_t count = hk_size(value->x);
    if (count > most) {
        onnx_refuse(call, HK_UNSUPPORTED, "%s %d has %" PRId64 " values; at most %d are known",
                    what, index, count, most);
        return -1;
    }
    return read_numbers(call, value, dtype, numbers) ? (int)count : -1;
}

static int in_numbers(onnx_call *call, int index, void *numbers, int most, hk_dtype dtype)
{
    return numbers_of(call, onnx_in_value(call, index), "input", index, numbers, most, dtype);
}

bool onnx_value_truth(onnx_call *call, onnx_value *value, int index, bool *truth)
{
    int64_t number = 0;
    const int count = numbers_of(call, value, "the condition, value", index, &number, 1, HK_I64);
    *truth = number != 0;
    return count == 1 ||
           onnx_refuse(call, HK_INVALID_ARGUMENT, "the condition is not one truth value");
}

int onnx_in_ints(onnx_call *call, int index, int64_t *values, int most)
{
    return in_numbers(call, index, values, most, HK_I64);
}

int onnx_in_floats(onnx_call *call, int index, double *values, int most)
{
    return in_numbers(call, index, values, most, HK_F64);
}

/* ---- attributes ---------------------------------------------------------------------------------
 */

const Onnx__AttributeProto *onnx_attribute(const onnx_call *call, const char *name)
{
    const Onnx__NodeProto *proto = call->node->proto;
    for (size_t i = 0; i < proto->n_attribute; i++)
        if (proto->attribute[i]->name && !strcmp(proto->attribute[i]->name, name))
            return proto->attribute[i];
    return NULL;
}

int64_t onnx_int(const onnx_call *call, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *found = onnx_attribute(call, name);
    return found ? found->i : otherwise;
}

double onnx_float(const onnx_call *call, const char *name, double otherwise)
{
    const Onnx__AttributeProto *found = onnx_attribute(call, name);
    return found ? (double)found->f : otherwise;
}

bool onnx_text_is(const onnx_call *call, const char *name, const char *text, const char *otherwise)
{
    const Onnx__AttributeProto *found = onnx_attribute(call, name);
    if (!found)
        return otherwise && !strcmp(text, otherwise);
    return found->s.len == strlen(text) &&
           (!found->s.len || !memcmp(found->s.data, text, found->s.len));
}

int onnx_ints(onnx_call *call, const char *name, int64_t *values, int most)
{
    const Onnx__AttributeProto *found = onnx_attribute(call, name);
    if (!found)
        return -1;
    if (found->n_ints > (size_t)most) {
        onnx_refuse(call, HK_UNSUPPORTED, "attribute %s has %zu values; at most %d are known", name,
                    found->n_ints, most);
        return -2;
    }
    if (found->n_ints)
        memcpy(values, found->ints, found->n_ints * sizeof *values);
    return (int)found->n_ints;
}

int onnx_ints_or_input(onnx_call *call, const char *name, int input, int64_t *values, int most)
{
    if (!onnx_has(call, input))
        return onnx_ints(call, name, values, most);
    const int count = onnx_in_ints(call, input, values, most);
    return count < 0 ? -2 : count;
}

onnx_graph *onnx_graph_of(const onnx_call *call, const char *name)
{
    const Onnx__NodeProto *proto = call->node->proto;
    for (size_t i = 0; i < proto->n_attribute; i++)
        if (proto->attribute[i]->name && !strcmp(proto->attribute[i]->name, name))
            return call->node->graphs[i];
    return NULL;
}

int onnx_opset(const onnx_call *call)
{
    return call->node->opset;
}

int onnx_axis(onnx_call *call, int64_t axis, int ndim)
{
    if (axis >= -ndim && axis < ndim)
        return (int)(axis < 0 ? axis + ndim : axis);
    onnx_refuse(call, HK_OUT_OF_RANGE, "axis %" PRId64 " of an array with %d axes", axis, ndim);
    return -1;
}

/* ---- constants of rows --------------------------------------------------------------------------
 */

/* The next of the memo; NULL: there is none yet. */
static onnx_value *next_known(onnx_run *run)
{
    return run->known && !run->is_loose && run->position < run->known->count
               ? run->known->values[run->position++]
               : NULL;
}

/* Takes the value, whose array becomes one of the scope; one that is new is remembered. */
static hk_array *lend(onnx_call *call, onnx_value *value, bool is_new)
{
    if (!value || (is_new && !call->is_constant && !remember(call->run, value))) {
        onnx_value_release(value);
        no_memory(call);
        return NULL;
    }
    hk_array *x = onnx_array_of(call, value);
    x = hk_reshape(x, hk_dims_get(x));
    onnx_value_release(value);
    return x;
}

/* Of a constant node the memo has what is made of it. */
static onnx_value *held_before(onnx_call *call)
{
    return call->is_constant ? NULL : onnx_value_retain(next_known(call->run));
}

hk_array *onnx_held(onnx_call *call, const void *data, hk_dims shape, hk_dtype dtype)
{
    onnx_value *value = held_before(call);
    if (value)
        return lend(call, value, false);
    hk_array *x = hk_take(hk_from_host(data, shape, dtype, call->run->model->host));
    return lend(call, onnx_value_of(x, true), true);
}

onnx_value *onnx_held_number(onnx_call *call, int64_t number, hk_dtype dtype)
{
    onnx_value *value = held_before(call);
    if (value)
        return value;
    hk_array *x = hk_take((hk_scalar)(hk_number_of_int(number), dtype, call->run->model->host));
    value = onnx_value_of(x, true);
    if (!value || (!call->is_constant && !remember(call->run, value))) {
        onnx_value_release(value);
        no_memory(call);
        return NULL;
    }
    return value;
}

hk_array *onnx_held_tensor(onnx_call *call, const Onnx__TensorProto *tensor)
{
    onnx_value *value = held_before(call);
    if (value)
        return lend(call, value, false);
    if (!tensor) {
        onnx_refuse(call, HK_BAD_DATA, "an attribute has no tensor");
        return NULL;
    }
    hk_array *x = onnx_tensor_read(call->run->model, tensor, &call->run->problem);
    return x ? lend(call, onnx_value_of(x, true), true) : NULL;
}

hk_array *onnx_number_like(double number, hk_array *x)
{
    return hk_full(hk_shape(), number, hk_array_dtype(x), hk_array_device(x));
}

/* ---- nodes --------------------------------------------------------------------------------------
 */

static bool all_constant(const onnx_call *call)
{
    const onnx_run *run = call->run;
    bool all = true;
    for (int i = 0; i < call->node->input_count && all; i++) {
        const int slot = call->node->inputs[i];
        all = slot < 0 || (run->values[slot] && run->values[slot]->is_constant);
    }
    return all;
}

/* From the memo, or into it. */
static bool run_constant(onnx_call *call)
{
    onnx_run *run = call->run;
    const onnx_node *node = call->node;
    onnx_value *value = NULL;
    bool is_wanted = false;
    for (int i = 0; i < node->output_count; i++) {
        is_wanted = is_wanted || node->outputs[i] >= 0;
        if (node->outputs[i] >= 0 && (value = next_known(run)))
            onnx_out_value(call, i, onnx_value_retain(value));
    }
    if (value || !is_wanted)
        return true;
    HK_PAUSE;
    if (!node->row->run(call))
        return false;
    bool is_good = true;
    for (int i = 0; i < node->output_count && is_good; i++)
        is_good = node->outputs[i] < 0 || !run->values[node->outputs[i]] ||
                  remember(run, run->values[node->outputs[i]]);
    return is_good || no_memory(call);
}

static bool inputs_are_there(onnx_call *call)
{
    for (int i = 0; i < call->node->input_count; i++)
        if (call->node->inputs[i] >= 0 && !call->run->values[call->node->inputs[i]])
            return onnx_refuse(call, HK_BAD_DATA, "input %d has no value", i);
    return true;
}

static bool outputs_are_there(onnx_call *call)
{
    for (int i = 0; i < call->node->output_count; i++)
        if (call->node->outputs[i] >= 0 && !call->run->values[call->node->outputs[i]])
            return onnx_refuse(call, HK_UNSUPPORTED, "output %d is not made", i);
    return true;
}

static bool run_node(onnx_run *run, const onnx_node *node)
{
    HK_SCOPE;
    onnx_call call = {.run = run, .node = node, .device = run->model->device};
    if (!inputs_are_there(&call))
        return false;
    call.is_constant = !(node->row->traits & ONNX_NEW) &&
                       (node->row->traits & ONNX_BY_SHAPE || all_constant(&call));
    if (call.is_constant)
        call.device = run->model->host;
    if (!(call.is_constant ? run_constant(&call) : node->row->run(&call)))
        return onnx_refuse(&call, HK_UNSUPPORTED, "the call cannot be made");
    return outputs_are_there(&call);
}

static void clear(onnx_run *run, int slot)
{
    onnx_value_release(run->values[slot]);
    run->values[slot] = onnx_value_retain(run->model->constants[slot]);
}

static bool run_nodes(onnx_run *run, const onnx_graph *graph)
{
    bool is_good = true;
    for (int i = 0; i < graph->node_count && is_good; i++) {
        const onnx_node *node = &graph->nodes[i];
        is_good = node->is_folded || run_node(run, node);
        for (int j = 0; j < node->last_count; j++)
            clear(run, node->last[j]);
    }
    return is_good;
}

bool onnx_run_graph(onnx_call *call, const onnx_graph *graph, onnx_value *const *inputs,
                    onnx_value **outputs)
{
    onnx_run *run = call->run;
    if (++run->depth > 1000) {
        run->depth--;
        return onnx_refuse(call, HK_UNSUPPORTED, "graphs within graphs go too deep");
    }
    for (int i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i] < 0)
            continue;
        onnx_value_release(run->values[graph->inputs[i]]);
        run->values[graph->inputs[i]] = onnx_value_retain(inputs[i]);
    }
    const bool is_good = run_nodes(run, graph);
    for (int i = 0; i < graph->output_count && is_good; i++)
        outputs[i] = onnx_value_retain(run->values[graph->outputs[i]]);
    run->depth--;
    return is_good;
}

/* ---- runs ---------------------------------------------------------------------------------------
 */

/* A view of one of these. */
static bool is_of(const hk_array *x, hk_array *const *arrays, int count)
{
    int64_t offset;
    bool found = false;
    for (int i = 0; i < count && !found; i++)
        found = hk_is_within(x, arrays[i], &offset);
    return found;
}

static void give_outputs(onnx_run *run, hk_array *const *inputs, hk_array **outputs)
{
    const onnx_graph *graph = run->model->main;
    for (int i = 0; i < graph->output_count && run->problem.code == HK_OK; i++) {
        onnx_value *value = run->values[graph->outputs[i]];
        if (!value || value->kind != ONNX_TENSOR) {
            onnx_wrong(&run->problem, HK_UNSUPPORTED, "output %d is no tensor", i);
            continue;
        }
        hk_array *x = value->x;
        bool is_own = !value->is_constant && !value->is_parameter;
        for (int j = 0; j < i; j++)
            is_own = is_own && x != outputs[j];
        is_own = is_own && hk_is_contiguous(x) &&
                 !is_of(x, inputs, run->model->source.input_count) &&
                 !is_of(x, run->model->source.parameters, run->model->source.parameter_count);
        outputs[i] = is_own ? hk_array_retain(x) : hk_take(hk_copy(on_device(run, value)));
    }
}

hk_model_outcome onnx_model_run(hk_model_source *source, hk_source at, hk_array *const *inputs,
                                hk_array **outputs, hk_model_memo **memo, char *problem,
                                size_t bytes)
{
    onnx_model *model = (onnx_model *)source;
    onnx_source = at;
    onnx_run run = {
        .model = model, .known = (onnx_memo *)*memo, .problem = {.text = problem, .bytes = bytes}};
    run.values = calloc((size_t)model->slot_count + 1, sizeof(onnx_value *));
    run.made = run.known ? NULL : calloc(1, sizeof *run.made);
    if (!run.values || !(run.known || run.made))
        onnx_wrong(&run.problem, HK_OUT_OF_MEMORY, "out of host memory");
    for (int i = 0; run.values && i < model->slot_count; i++)
        run.values[i] = onnx_value_retain(model->constants[i]);
    for (int i = 0, given = 0; i < model->main->input_count && run.problem.code == HK_OK; i++) {
        const int slot = model->main->inputs[i];
        if (slot < 0 ||
            model->constants[slot]) /* made within, or with a default: none of the model's */
            continue;
        run.values[slot] = onnx_value_of(hk_array_retain(inputs[given++]), false);
        if (!run.values[slot])
            onnx_wrong(&run.problem, HK_OUT_OF_MEMORY, "out of host memory");
    }
    if (run.problem.code == HK_OK && run_nodes(&run, model->main))
        give_outputs(&run, inputs, outputs);
    for (int i = 0; run.values && i < model->slot_count; i++)
        onnx_value_release(run.values[i]);
    free(run.values);
    if (run.made && run.problem.code == HK_OK)
        *memo = (hk_model_memo *)run.made;
    else
        onnx_memo_release((hk_model_memo *)run.made);
    return (hk_model_outcome){run.problem.code, run.is_loose};
}
