/* Graphs within graphs: chosen, again and again, or along an axis. */
#include "rows.h"
#include "shapes.h"

#include <inttypes.h>
#include <stdlib.h>

static bool no_memory(onnx_call *call)
{
    return onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
}

static void release_all(onnx_value **values, int count)
{
    for (int i = 0; values && i < count; i++)
        onnx_value_release(values[i]);
    free(values);
}

/* The graph of an attribute, with so many inputs, and so many outputs at least; NULL after
 * refusing. */
static onnx_graph *graph_of(onnx_call *call, const char *name, int inputs, int outputs)
{
    onnx_graph *graph = onnx_graph_of(call, name);
    if (graph && graph->input_count == inputs && graph->output_count >= outputs)
        return graph;
    if (!graph)
        onnx_refuse(call, HK_BAD_DATA, "there is no graph %s", name);
    else
        onnx_refuse(call, HK_BAD_DATA,
                    "graph %s has %d inputs and %d outputs; expected %d, and %d or more", name,
                    graph->input_count, graph->output_count, inputs, outputs);
    return NULL;
}

/* ---- one of two ------------------------------------------------------------------------------ */

static bool run_if(onnx_call *call)
{
    bool truth;
    if (!onnx_value_truth(call, onnx_in_value(call, 0), 0, &truth))
        return false;
    const int count = call->node->output_count;
    onnx_graph *graph = graph_of(call, truth ? "then_branch" : "else_branch", 0, count);
    onnx_value **made = graph ? calloc((size_t)graph->output_count + 1, sizeof *made) : NULL;
    if (!made)
        return graph ? no_memory(call) : false;
    bool is_good = onnx_run_graph(call, graph, NULL, made);
    for (int i = 0; i < count && is_good; i++)
        is_good = onnx_out_value(call, i, onnx_value_retain(made[i]));
    release_all(made, graph->output_count);
    return is_good;
}

/* ---- what is gathered ------------------------------------------------------------------------ */

/* Arrays of the rounds so far, counted. */
typedef struct gathered {
    hk_array **parts;
    int64_t count, capacity;
} gathered;

static void gathered_free(gathered *self, int count)
{
    for (int i = 0; self && i < count; i++) {
        for (int64_t j = 0; j < self[i].count; j++)
            hk_array_release(self[i].parts[j]);
        free(self[i].parts);
    }
    free(self);
}

static bool gather(onnx_call *call, gathered *self, onnx_value *value)
{
    hk_array *x = onnx_array_of(call, value);
    if (!x)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "what a round gives is no tensor");
    if (self->count == self->capacity) {
        const int64_t capacity = self->capacity ? 2 * self->capacity : 16;
        hk_array **parts = realloc(self->parts, (size_t)capacity * sizeof *parts);
        if (!parts)
            return no_memory(call);
        self->parts = parts;
        self->capacity = capacity;
    }
    self->parts[self->count++] = hk_array_retain(x);
    return true;
}

/* Of no rounds: by what the file says of the graph's output, axes that it leaves open being empty.
 */
static hk_array *gathered_none(onnx_call *call, int output)
{
    const Onnx__AttributeProto *body = onnx_attribute(call, "body");
    const Onnx__TypeProto *type = body->g->output[output]->type;
    hk_dims shape = {.ndim = 1, .dims = {0}};
    hk_dtype dtype;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !onnx_dtype_of(type->tensor_type->elem_type, &dtype)) {
        onnx_refuse(call, HK_UNSUPPORTED, "no rounds, and the file tells no type of output %d",
                    output);
        return NULL;
    }
    const Onnx__TensorShapeProto *known = type->tensor_type->shape;
    for (size_t i = 0; known && i < known->n_dim && shape.ndim < HK_MAX_NDIM; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = known->dim[i];
        const bool is_known =
            dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        shape.dims[shape.ndim++] = is_known && dim->dim_value > 0 ? dim->dim_value : 0;
    }
    return hk_zeros(shape, dtype, call->device);
}

/* All rounds along a new axis. */
static hk_array *gathered_all(onnx_call *call, const gathered *self, int output, int64_t axis,
                              bool reverse)
{
    if (self->count == 0)
        return gathered_none(call, output);
    const int at = onnx_axis(call, axis, hk_ndim(self->parts[0]) + 1);
    if (at < 0 || self->count > INT32_MAX)
        return NULL;
    for (int64_t i = 0; reverse && i < self->count / 2; i++) {
        hk_array *swapped = self->parts[i];
        self->parts[i] = self->parts[self->count - 1 - i];
        self->parts[self->count - 1 - i] = swapped;
    }
    return hk_stack(self->parts, (int)self->count, at);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

typedef struct rounds {
    onnx_call *call;
    const onnx_graph *graph;
    int state_count, gathered_count;
    int first_input, first_output; /* of the graph, that are state */
    onnx_value **inputs;           /* of the graph, counted */
    onnx_value **made;
    gathered *gathered;
} rounds;

static bool rounds_begin(rounds *self)
{
    self->inputs = calloc((size_t)self->graph->input_count + 1, sizeof(onnx_value *));
    self->made = calloc((size_t)self->graph->output_count + 1, sizeof(onnx_value *));
    self->gathered = calloc((size_t)self->gathered_count + 1, sizeof *self->gathered);
    return (self->inputs && self->made && self->gathered) || no_memory(self->call);
}

static void rounds_end(rounds *self)
{
    release_all(self->inputs, self->graph->input_count);
    release_all(self->made, self->graph->output_count);
    gathered_free(self->gathered, self->gathered_count);
}

static void put(onnx_value **place, onnx_value *taken)
{
    onnx_value_release(*place);
    *place = taken;
}

/* States of the first round, from inputs of the node. */
static bool rounds_set(rounds *self, int from)
{
    for (int i = 0; i < self->state_count; i++) {
        onnx_value *value = onnx_in_value(self->call, from + i);
        if (!value)
            return onnx_refuse(self->call, HK_INVALID_ARGUMENT, "input %d is missing", from + i);
        put(&self->inputs[self->first_input + i], onnx_value_retain(value));
    }
    return true;
}

/* One round: what it makes becomes the next one's state, or is gathered. */
static bool rounds_go(rounds *self)
{
    bool is_good = onnx_run_graph(self->call, self->graph, self->inputs, self->made);
    for (int i = 0; i < self->state_count && is_good; i++) {
        put(&self->inputs[self->first_input + i], self->made[self->first_output + i]);
        self->made[self->first_output + i] = NULL;
    }
    for (int i = 0; i < self->gathered_count && is_good; i++) {
        const int output = self->first_output + self->state_count + i;
        is_good = gather(self->call, &self->gathered[i], self->made[output]);
        put(&self->made[output], NULL);
    }
    return is_good;
}

static bool give_states(rounds *self)
{
    bool is_good = true;
    for (int i = 0; i < self->state_count && is_good; i++)
        is_good =
            onnx_out_value(self->call, i, onnx_value_retain(self->inputs[self->first_input + i]));
    return is_good;
}

/* ---- while a condition holds ----------------------------------------------------------------- */

static bool loop(rounds *self, int64_t most, bool truth, hk_dtype number)
{
    onnx_call *call = self->call;
    enum { MOST_ROUNDS = 1 << 24 };
    bool is_good = true;
    for (int64_t i = 0; i < most && truth && is_good; i++) {
        if (i == MOST_ROUNDS)
            return onnx_refuse(call, HK_UNSUPPORTED, "a loop of more than %d rounds", MOST_ROUNDS);
        put(&self->inputs[0], onnx_held_number(call, i, number));
        is_good = self->inputs[0] && rounds_go(self);
        is_good = is_good && onnx_value_truth(call, self->made[0], 0, &truth);
        put(&self->inputs[1], self->made[0]);
        self->made[0] = NULL;
    }
    return is_good;
}

static bool run_loop(onnx_call *call)
{
    const int states = onnx_in_count(call) > 2 ? onnx_in_count(call) - 2 : 0;
    int64_t most = INT64_MAX;
    bool truth = true;
    const onnx_graph *graph = graph_of(call, "body", states + 2, states + 1);
    if (!graph || (onnx_has(call, 0) && onnx_in_ints(call, 0, &most, 1) != 1))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the number of rounds is not one number");
    if (onnx_has(call, 1) && !onnx_value_truth(call, onnx_in_value(call, 1), 1, &truth))
        return false;
    rounds self = {call, graph, states, graph->output_count - states - 1, 2, 1, NULL, NULL, NULL};
    bool is_good = rounds_begin(&self) && rounds_set(&self, 2);
    if (is_good)
        self.inputs[1] = onnx_has(call, 1) ? onnx_value_retain(onnx_in_value(call, 1))
                                           : onnx_held_number(call, 1, HK_BOOL);
    is_good = is_good && self.inputs[1] && loop(&self, most, truth, HK_I64) && give_states(&self);
    for (int i = 0; i < self.gathered_count && is_good; i++) {
        if (!onnx_wants(call, states + i))
            continue;
        hk_array *all = gathered_all(call, &self.gathered[i], states + 1 + i, 0, false);
        is_good = all && onnx_out(call, states + i, all);
    }
    rounds_end(&self);
    return is_good;
}

/* ---- along an axis --------------------------------------------------------------------------- */

typedef struct scan {
    int64_t axes[64], out_axes[64], backwards[64], out_backwards[64];
    int inputs, first; /* what is cut, and from which input of the node on */
    int64_t length;
} scan;

static bool are_given(onnx_call *call, const char *name, int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = 0;
    const int given = onnx_ints(call, name, values, 64);
    return given == -1 || given == count || given == 0 ||
           onnx_refuse(call, HK_INVALID_ARGUMENT, "%s has %d values; expected %d", name, given,
                       count);
}

/* How long the axes are that are walked along; false after refusing. */
static bool measure(onnx_call *call, scan *self)
{
    self->length = -1;
    for (int i = 0; i < self->inputs; i++) {
        hk_array *x = onnx_in(call, self->first + i);
        if (!x)
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "input %d is missing", self->first + i);
        const int axis = onnx_axis(call, self->axes[i], hk_ndim(x));
        if (axis < 0)
            return false;
        self->axes[i] = axis;
        if (self->length >= 0 && hk_dim(x, axis) != self->length)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "input %d has %" PRId64 " entries, and one before %" PRId64,
                               self->first + i, hk_dim(x, axis), self->length);
        self->length = hk_dim(x, axis);
    }
    return true;
}

static bool walk(rounds *self, const scan *along)
{
    onnx_call *call = self->call;
    bool is_good = true;
    for (int64_t at = 0; at < along->length && is_good; at++) {
        for (int i = 0; i < along->inputs && is_good; i++) {
            hk_array *x = onnx_in(call, along->first + i);
            const int64_t entry = along->backwards[i] ? along->length - 1 - at : at;
            x = hk_array_retain(hk_index(x, (int)along->axes[i], entry));
            put(&self->inputs[self->state_count + i], onnx_value_of(x, false));
            is_good = self->inputs[self->state_count + i] || no_memory(call);
        }
        is_good = is_good && rounds_go(self);
    }
    return is_good;
}

/* The state of a sample from inputs of the node, whose first axis is the batch. */
static bool set_sample(rounds *self, int from, int64_t sample)
{
    bool is_good = true;
    for (int i = 0; i < self->state_count && is_good; i++) {
        hk_array *x = onnx_in(self->call, from + i);
        if (!x || sample >= hk_dim(x, 0))
            return onnx_refuse(self->call, HK_INVALID_ARGUMENT,
                               "input %d is missing, or has no sample %" PRId64, from + i, sample);
        x = hk_array_retain(hk_index(x, 0, sample));
        put(&self->inputs[i], onnx_value_of(x, false));
        is_good = self->inputs[i] || no_memory(self->call);
    }
    return is_good;
}

/* One sample: axis 1 of what is cut becomes rounds. Its last states and all that it gives go into
 * `all`. */
static bool scan_sample(rounds *self, scan *along, int64_t sample, gathered *all)
{
    onnx_call *call = self->call;
    bool is_good = set_sample(self, 1, sample);
    for (int64_t at = 0; at < along->length && is_good; at++) {
        for (int i = 0; i < along->inputs && is_good; i++) {
            hk_array *x = onnx_in(call, along->first + i);
            const int64_t entry = along->backwards[i] ? along->length - 1 - at : at;
            x = hk_array_retain(hk_index(hk_index(x, 0, sample), 0, entry));
            put(&self->inputs[self->state_count + i], onnx_value_of(x, false));
            is_good = self->inputs[self->state_count + i] || no_memory(call);
        }
        is_good = is_good && rounds_go(self);
    }
    for (int i = 0; i < self->state_count && is_good; i++)
        is_good = gather(call, &all[i], self->inputs[i]);
    for (int i = 0; i < self->gathered_count && is_good; i++) {
        gathered *it = &self->gathered[i];
        hk_array *along_time = gathered_all(call, it, self->state_count + i, 0, false);
        onnx_value *value = along_time ? onnx_value_of(hk_array_retain(along_time), false) : NULL;
        is_good = value && gather(call, &all[self->state_count + i], value);
        onnx_value_release(value);
        while (it->count)
            hk_array_release(it->parts[--it->count]);
    }
    return is_good;
}

/* Opset 8: each sample of a batch by itself, along axis 1. Input 0 would be their lengths. */
static bool run_scan_of_batches(onnx_call *call)
{
    scan along = {.inputs = 0};
    const int64_t inputs = onnx_int(call, "num_scan_inputs", 0);
    const int states = onnx_in_count(call) - 1 - (inputs > 0 && inputs <= 64 ? (int)inputs : 0);
    if (inputs < 1 || inputs > 64 || states < 0 || onnx_has(call, 0))
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "opset 8 with num_scan_inputs %" PRId64 ", or lengths of sequences",
                           inputs);
    const onnx_graph *graph = graph_of(call, "body", states + (int)inputs, states);
    if (!graph)
        return false;
    along.inputs = (int)inputs;
    along.first = 1 + states;
    if (!are_given(call, "directions", along.backwards, along.inputs))
        return false;
    for (int i = 0; i < along.inputs; i++)
        along.axes[i] = 1;
    if (!measure(call, &along))
        return false;
    rounds self = {call, graph, states, graph->output_count - states, 0, 0, NULL, NULL, NULL};
    gathered *all = calloc((size_t)graph->output_count + 1, sizeof *all);
    bool is_good = all ? rounds_begin(&self) : no_memory(call);
    const int64_t samples = hk_dim(onnx_in(call, along.first), 0);
    for (int i = 1; i < along.inputs && is_good; i++)
        is_good = hk_dim(onnx_in(call, along.first + i), 0) == samples ||
                  onnx_refuse(call, HK_INVALID_ARGUMENT, "batches of several sizes");
    for (int64_t i = 0; i < samples && is_good; i++)
        is_good = scan_sample(&self, &along, i, all);
    for (int i = 0; i < graph->output_count && is_good; i++) {
        hk_array *batch = samples ? gathered_all(call, &all[i], i, 0, false) : NULL;
        is_good = batch ? onnx_out(call, i, batch)
                        : onnx_refuse(call, HK_UNSUPPORTED, "a batch without samples");
    }
    if (all)
        rounds_end(&self);
    gathered_free(all, graph->output_count);
    return is_good;
}

static bool run_scan(onnx_call *call)
{
    scan along = {.inputs = 0};
    const int64_t inputs = onnx_int(call, "num_scan_inputs", 0);
    const int given = onnx_in_count(call);
    if (onnx_opset(call) < 9)
        return run_scan_of_batches(call);
    if (inputs < 1 || inputs > given || inputs > 64)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "num_scan_inputs is %" PRId64, inputs);
    const int states = given - (int)inputs;
    const onnx_graph *graph = graph_of(call, "body", given, states);
    if (!graph)
        return false;
    const int outputs = graph->output_count - states;
    along.inputs = (int)inputs;
    along.first = states;
    if (outputs > 64)
        return onnx_refuse(call, HK_UNSUPPORTED, "%d outputs are gathered; at most 64 are known",
                           outputs);
    if (!are_given(call, "scan_input_axes", along.axes, along.inputs) ||
        !are_given(call, "scan_output_axes", along.out_axes, outputs) ||
        !are_given(call, "scan_input_directions", along.backwards, along.inputs) ||
        !are_given(call, "scan_output_directions", along.out_backwards, outputs) ||
        !measure(call, &along))
        return false;
    rounds self = {call, graph, states, outputs, 0, 0, NULL, NULL, NULL};
    bool is_good =
        rounds_begin(&self) && rounds_set(&self, 0) && walk(&self, &along) && give_states(&self);
    for (int i = 0; i < outputs && is_good; i++) {
        if (!onnx_wants(call, states + i))
            continue;
        hk_array *all = gathered_all(call, &self.gathered[i], states + i, along.out_axes[i],
                                     along.out_backwards[i] != 0);
        is_good = all && onnx_out(call, states + i, all);
    }
    rounds_end(&self);
    return is_good;
}

const onnx_row onnx_rows_control[] = {
    {"If", run_if, ONNX_NEW},
    {"Loop", run_loop, ONNX_NEW},
    {"Scan", run_scan, ONNX_NEW},
    {NULL, NULL, 0},
};
