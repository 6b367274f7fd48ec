/* Functions with gradients of their own: values that were computed off the tape, and a callback for their gradient. */
#include "autograd/tape.h"
#include "base/source.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local hki_function *waiting;

static void finish(hki_function *function)
{
    if (function->release)
        function->release(function->context);
    free(function);
}

void hki_function_drop(hki_function *function)
{
    if (!function)
        return;
    if (!hki_backward_is_mine()) {
        finish(function);
        return;
    }
    function->next = waiting;
    waiting = function;
}

void hki_function_drop_waiting(void)
{
    hki_function *function;
    while ((function = waiting)) {
        waiting = function->next;
        finish(function);
    }
}

/* ---- recording ------------------------------------------------------------------------------------------- */

/* What hk_function was given. */
typedef struct request {
    hk_array *const *inputs;
    int input_count;
    hk_array **outputs;
    int output_count;
    hk_function_options options;
    bool is_internal;
} request;

/* The operation in records, of static text. */
static const char *name_of(const request *self)
{
    return self->options.name ? self->options.name : "function";
}

/* NULL when host memory is short. */
static hki_function *create(const request *self)
{
    hki_function *function = malloc(sizeof *function);
    if (function)
        *function = (hki_function){.backward = self->options.backward,
                                   .context = self->options.context,
                                   .release = self->options.release,
                                   .is_internal = self->is_internal};
    return function;
}

static void release_context(const request *self)
{
    if (self->options.release)
        self->options.release(self->options.context);
}

static bool find_nodes(const request *self, hki_tape_node **nodes)
{
    bool wanted = false;
    for (int i = 0; i < self->input_count; i++) {
        nodes[i] = self->inputs[i] ? hki_tape_node_of(self->inputs[i]) : NULL;
        wanted |= nodes[i] != NULL;
    }
    return wanted;
}

static void release_nodes(const request *self, hki_tape_node **nodes)
{
    for (int i = 0; i < self->input_count; i++)
        hki_tape_node_release(nodes[i]);
}

static void keep_what_is_read(hki_tape_node *node, const request *self)
{
    for (int i = 0; i < self->input_count; i++) {
        hk_array *x = self->inputs[i];
        hki_tape_input *input = &node->inputs[i];
        input->shape = x ? x->shape : (hk_dims){.ndim = -1};
        input->dtype = x ? x->dtype : HK_F32;
        if (x && self->options.reads_inputs >> i & 1)
            hki_tape_keep(&input->kept, &input->watch, hk_array_retain(x));
    }
    for (int i = 0; i < self->output_count; i++)
        if (self->options.reads_outputs >> i & 1)
            hki_tape_keep(&node->outputs[i].kept, &node->outputs[i].watch,
                          hk_take(hki_off_tape(self->outputs[i])));
}

/* Takes the nodes and the context. */
static void note(const request *self, hki_tape_node **nodes)
{
    hki_function *function = create(self);
    hki_tape_node *node = function
                              ? hki_tape_node_create(HKI_TAPE_FUNCTION, self->outputs[0], nodes,
                                                     self->input_count, self->output_count, 0)
                              : hki_tape_node_lost(nodes, self->input_count);
    if (node->kind == HKI_TAPE_FUNCTION) {
        node->source = hki_source_get();
        node->function = function;
        node->name = name_of(self);
        keep_what_is_read(node, self);
    } else {
        release_context(self);
        free(function);
    }
    hki_tape_set_outputs(node, self->outputs, self->output_count);
}

/* The outputs become handles of their own, which the tape may know. */
static void record(const request *self)
{
    hki_tape_node *nodes[HKI_FUNCTION_MAX];
    const bool wanted = hk_is_recording() && find_nodes(self, nodes);
    for (int i = 0; wanted && i < self->output_count; i++)
        self->outputs[i] = hki_off_tape(self->outputs[i]);
    if (wanted && hki_tape_may_vary(nodes, self->input_count, self->outputs, self->output_count)) {
        note(self, nodes);
        return;
    }
    if (wanted)
        release_nodes(self, nodes);
    release_context(self);
}

HK_PRINTF(2, 3) static void refuse(const request *self, const char *format, ...)
{
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    for (int i = 0; i < self->output_count && self->outputs; i++)
        self->outputs[i] = hki_array_create_failed(NULL, name_of(self), i ? self->outputs : NULL,
                                                   i ? 1 : 0, HK_INVALID_ARGUMENT, "%s", message);
    release_context(self);
}

/* False after refusing. */
static bool check(const request *self)
{
    if (self->input_count < 0 || self->input_count > HKI_FUNCTION_MAX)
        refuse(self, "input_count is %d, but must be from 0 to %d", self->input_count,
               HKI_FUNCTION_MAX);
    else if (self->output_count < 1 || self->output_count > HKI_FUNCTION_MAX)
        refuse(self, "output_count is %d, but must be from 1 to %d", self->output_count,
               HKI_FUNCTION_MAX);
    else if (!self->outputs || (!self->inputs && self->input_count))
        refuse(self, "argument %s is NULL", self->outputs ? "inputs" : "outputs");
    else if (!self->options.backward)
        refuse(self, "options has no backward, which computes the gradient");
    else
        return true;
    return false;
}

static bool check_outputs(const request *self)
{
    for (int i = 0; i < self->output_count; i++)
        if (!self->outputs[i]) {
            refuse(self, "output %d is NULL", i);
            return false;
        }
    return true;
}

void(hk_function)(hk_array *const *inputs, int input_count, hk_array **outputs, int output_count,
                  const hk_function_options *options)
{
    HKI_TAKE_OPTIONS(hk_function_options, options);
    const request self = {.inputs = inputs,
                          .input_count = input_count,
                          .outputs = outputs,
                          .output_count = output_count,
                          .options = options ? *options : (hk_function_options){0}};
    if (check(&self) && check_outputs(&self))
        record(&self);
}

hk_array *hki_function_of_one(const char *name, hk_array *input, hk_array *output,
                              void (*backward)(hk_function_call *call), const void *context,
                              size_t context_bytes)
{
    request self = {.inputs = &input,
                    .input_count = 1,
                    .outputs = &output,
                    .output_count = 1,
                    .options = {.name = name, .backward = backward, .release = free},
                    .is_internal = true};
    if (!hk_is_recording())
        return output;
    self.options.context = malloc(context_bytes);
    if (self.options.context) {
        memcpy(self.options.context, context, context_bytes);
        record(&self);
        return output;
    }
    hki_tape_node *node = hki_tape_node_of(input);
    if (node)
        hki_tape_node_set(output, hki_tape_node_lost(&node, 1));
    return output;
}
