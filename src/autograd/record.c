/* Recording: a state of each thread, and what is noted of the calls that it makes meanwhile. */
#include "autograd/tape.h"

#include <string.h>

enum { MAX_NESTING = 64 };

static _Thread_local struct {
    bool on;
    unsigned depth;
    uint64_t before; /* the states to return to, the innermost in bit 0 */
} recording;

static void begin(bool on)
{
    if (recording.depth < MAX_NESTING)
        recording.before = recording.before << 1 | recording.on;
    recording.depth++;
    recording.on = on;
}

static void end(void)
{
    if (recording.depth == 0)
        return;
    recording.depth--;
    if (recording.depth < MAX_NESTING) {
        recording.on = recording.before & 1;
        recording.before >>= 1;
    }
}

void hk_record_begin(void)
{
    begin(true);
}

void hk_record_end(void)
{
    end();
}

void hk_pause_begin(void)
{
    begin(false);
}

void hk_pause_end(void)
{
    end();
}

bool hk_is_recording(void)
{
    return recording.on;
}

hk_record_scope hk_record_scope_begin(bool record)
{
    hk_record_scope scope = {recording.on};
    recording.on = record;
    return scope;
}

void hk_record_scope_end(hk_record_scope *scope)
{
    recording.on = scope->before;
}

hk_array *hki_off_tape(hk_array *x)
{
    HK_PAUSE;
    return hki_array_view(x, x->shape, x->strides, x->offset);
}

hk_array *hki_with_node(hk_array *x, hki_tape_node *node)
{
    hki_tape_node *now = hki_tape_node_of(x);
    hki_tape_node_release(now);
    if (now == node || x->failed)
        return x;
    hk_array *view = hki_off_tape(x);
    if (node && !view->failed)
        hki_tape_node_set(view, hki_tape_node_retain(node));
    return view;
}

/* Those of the inputs that want a gradient, counted; the others NULL. False: of none. */
static bool find_nodes(const hki_call *call, hki_tape_node **nodes)
{
    bool wanted = false;
    for (int i = 0; i < call->input_count; i++) {
        hk_array *x = call->arrays[i];
        nodes[i] = x && !(call->op->no_grad_inputs >> i & 1) ? hki_tape_node_of(x) : NULL;
        wanted |= nodes[i] != NULL;
    }
    return wanted;
}

static void release_nodes(const hki_call *call, hki_tape_node **nodes)
{
    for (int i = 0; i < call->input_count; i++)
        hki_tape_node_release(nodes[i]);
}

/* Notes what the gradients that are wanted read of the inputs and outputs. */
static void keep_what_is_read(hki_tape_node *node, const hki_call *call, hk_array *const *outputs)
{
    const hk_op *op = call->op;
    unsigned reads = 0; /* by the gradients that are wanted */
    for (int i = 0; i < call->input_count && node->kind == HKI_TAPE_CALL; i++)
        reads |= node->inputs[i].node ? op->grad_reads[i] : 0u;
    for (int i = 0; i < call->input_count; i++) {
        hk_array *x = call->arrays[i];
        hki_tape_input *input = &node->inputs[i];
        if (!x) {
            input->shape = (hk_dims){.ndim = -1};
            continue;
        }
        input->shape = x->shape;
        input->dtype = x->dtype;
        if (reads >> i & 1)
            hki_tape_keep(&input->kept, &input->watch, hk_array_retain(x));
    }
    for (int i = 0; reads >= HKI_READS_OUTPUT && i < node->output_count; i++)
        if (reads & (unsigned)HKI_READS_OUTPUT << i)
            hki_tape_keep(&node->outputs[i].kept, &node->outputs[i].watch,
                          hk_take(hki_off_tape(outputs[i])));
    if (node->kind == HKI_TAPE_CALL && op->output_count > node->output_count)
        node->saved = hk_array_retain(outputs[node->output_count]);
}

/* What is not real is constant almost everywhere. */
static bool may_vary(const hk_array *output)
{
    return output != hki_array_no_memory() &&
           (output->failed || hki_dtype_is_inexact(output->dtype));
}

void hki_tape_set_outputs(hki_tape_node *node, hk_array *const *outputs, int count)
{
    if (count == 1) {
        hki_tape_node_set(outputs[0], node);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (!may_vary(outputs[i]))
            continue;
        hki_tape_node *input = hki_tape_node_retain(node);
        hki_tape_node *output =
            node->kind == HKI_TAPE_LOST
                ? node
                : hki_tape_node_create(HKI_TAPE_OUTPUT, outputs[i], &input, 1, 0, 0);
        if (output->kind == HKI_TAPE_OUTPUT) {
            output->source = node->source;
            output->output_index = i;
        }
        hki_tape_node_set(outputs[i], output);
    }
    hki_tape_node_release(node);
}

bool hki_tape_may_vary(hki_tape_node *const *nodes, int node_count, hk_array *const *outputs,
                       int count)
{
    bool varies = false, is_lost = false;
    for (int i = 0; i < count; i++) {
        varies |= may_vary(outputs[i]);
        is_lost |= outputs[i] == hki_array_no_memory();
    }
    if (is_lost)
        hki_tape_lose(nodes, node_count);
    return varies;
}

void hki_tape_record(const hki_call *call, hk_array *const *outputs)
{
    if (!recording.on)
        return;
    const hk_op *op = call->op;
    if (atomic_load_explicit(&outputs[0]->autograd, memory_order_relaxed))
        return; /* a view of an input, noted as that, or the input itself */
    hki_tape_node *nodes[HKI_MAX_INPUTS];
    if (!find_nodes(call, nodes))
        return;
    const int count = op->outputs ? hki_op_output_count(op) : 1;
    if (!(count == 1 && may_vary(outputs[0])) &&
        !hki_tape_may_vary(nodes, call->input_count, outputs, count)) {
        release_nodes(call, nodes);
        return;
    }
    size_t options_bytes = call->options ? op->options_bytes : 0;
    hki_tape_node *node =
        hki_tape_node_create(outputs[0]->failed ? HKI_TAPE_FAILED : HKI_TAPE_CALL, outputs[0],
                             nodes, call->input_count, count, options_bytes);
    if (node->kind != HKI_TAPE_LOST) {
        node->op = op;
        node->source = hki_source_get();
        keep_what_is_read(node, call, outputs);
        if (options_bytes)
            memcpy(node->options, call->options, options_bytes);
    }
    if (count == 1)
        hki_tape_node_set(outputs[0], node);
    else
        hki_tape_set_outputs(node, outputs, count);
}

static hki_tape_layout layout_of(const hk_array *source, const hk_array *view)
{
    hki_tape_layout layout = {.offset = view->offset - source->offset};
    memcpy(layout.strides, view->strides, sizeof layout.strides);
    memcpy(layout.input_strides, source->strides, sizeof layout.input_strides);
    return layout;
}

/* A view of a view is one of what the first one views, so that the layout it refers to is that of an array which has no two
 * elements in one place. Returns that, counted. */
static hki_tape_node *find_whole(hki_tape_node *outer, hki_tape_layout *layout, hk_dims *shape)
{
    const hki_tape_layout *from = outer->options;
    memcpy(layout->input_strides, from->input_strides, sizeof layout->input_strides);
    layout->offset += from->offset;
    *shape = outer->inputs[0].shape;
    return hki_tape_node_retain(outer->inputs[0].node);
}

void hki_tape_record_view(hk_array *source, hk_array *view)
{
    if (!recording.on)
        return;
    hki_tape_node *inputs[2] = {hki_tape_node_of(source)};
    if (!inputs[0])
        return;
    hk_dims shape = source->shape;
    hki_tape_layout layout = layout_of(source, view);
    const bool is_inner = inputs[0]->kind == HKI_TAPE_VIEW && !view->failed;
    if (is_inner) {
        inputs[1] = inputs[0];
        inputs[0] = find_whole(inputs[1], &layout, &shape);
    }
    hki_tape_node *node = hki_tape_node_create(view->failed ? HKI_TAPE_FAILED : HKI_TAPE_VIEW, view,
                                               inputs, is_inner ? 2 : 1, 1, sizeof layout);
    if (node->kind != HKI_TAPE_LOST) {
        node->source = hki_source_get();
        node->inputs[0].shape = shape;
        node->inputs[0].dtype = source->dtype;
        memcpy(node->options, &layout, sizeof layout);
    }
    hki_tape_node_set(view, node);
}

/* Writing into a recorded array would change values behind the tape's back. */
static bool is_recorded(hk_array *out)
{
    hki_tape_node *node = recording.on ? hki_tape_node_of(out) : NULL;
    hki_tape_node_release(node);
    return node;
}

/* x, or what it is a view of, came from a call: new values from outside would have no gradient, and the tape would not know. An
 * attached array may get some: what gradients read of the old ones is watched. */
bool hki_tape_is_result(hk_array *x)
{
    hki_tape_node *node = recording.on ? hki_tape_node_of(x) : NULL;
    const hki_tape_node *source = node && node->kind == HKI_TAPE_VIEW ? node->inputs[0].node : node;
    const bool is_result = source && source->kind != HKI_TAPE_LEAF;
    hki_tape_node_release(node);
    return is_result;
}

/* The tape follows values by their handles, so that it would lose one that is written over an array's elements. */
static bool loses_gradient(const hki_call *call, const hk_array *out)
{
    hki_tape_node *nodes[HKI_MAX_INPUTS];
    if (!recording.on || !call->op || !hki_dtype_is_inexact(out->dtype) || !find_nodes(call, nodes))
        return false;
    release_nodes(call, nodes);
    return true;
}

bool hki_tape_allow_overwrite(hki_call *call, hk_array *out)
{
    if (is_recorded(out))
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "while recording, an array that wants a gradient cannot be written into; "
            "do it between hk_pause_begin and hk_pause_end");
    if (loses_gradient(call, out))
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "while recording, what wants a gradient cannot be written into an array, where the "
            "tape "
            "would lose it; use the call that returns a new array, hk_detach the inputs, or write "
            "between hk_pause_begin and hk_pause_end");
    return true;
}

bool hki_tape_set_recording(bool on)
{
    const bool before = recording.on;
    recording.on = on;
    return before;
}

void hki_tape_drop(void *node)
{
    hki_tape_node_release(node);
}
