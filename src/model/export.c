/* Export: what is to be written is called once, noted, described and given to a plug-in. */
#include "model/export.h"

#include "base/option.h"
#include "base/plugin.h"
#include "base/text.h"
#include "base/utf8.h"
#include "graph/capture_constants.h"
#include "model/format.h"
#include "op/call/capture.h"

#include <hocket/autograd.h>
#include <hocket/call.h>
#include <hocket/ops.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is made ---------------------------------------------------------------------------- */

void hki_export_deinit(hki_export *self)
{
    for (int i = 0; i < self->value_count; i++)
        hk_array_release(self->values[i].constant);
    for (int i = 0; i < self->block_count; i++)
        free(self->blocks[i]);
    free(self->blocks);
    free(self->values);
    free(self->nodes);
    hk_status_release(self->failure);
}

static bool fail_va(hki_export *self, hk_code code, const char *format, va_list args)
{
    char text[512];
    if (self->failure)
        return false;
    hki_format_va(text, sizeof text, format, args);
    const hk_source at = self->called && self->source.file ? self->source : hki_source_get();
    const hki_status_facts facts = {.operation = "model_export", .file = at.file, .line = at.line};
    self->failure = self->called
                        ? hki_status_create(code, &facts, "the call of %s cannot be exported: %s",
                                            self->called, text)
                        : hki_status_create(code, &facts, "%s", text);
    return false;
}

bool hki_export_fail(hki_export *self, hk_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_va(self, code, format, args);
    va_end(args);
    return false;
}

bool hki_export_no_memory(hki_export *self)
{
    if (!self->failure)
        self->failure = hki_status_no_memory();
    return false;
}

void *hki_export_allocate(hki_export *self, size_t bytes)
{
    if (self->block_count == self->block_capacity) {
        const int more = self->block_capacity ? 2 * self->block_capacity : 64;
        void **blocks = realloc(self->blocks, (size_t)more * sizeof *blocks);
        if (!blocks)
            return hki_export_no_memory(self), NULL;
        self->blocks = blocks;
        self->block_capacity = more;
    }
    void *block = calloc(1, bytes ? bytes : 1);
    if (!block)
        return hki_export_no_memory(self), NULL;
    return self->blocks[self->block_count++] = block;
}

/* Room for one more in a list of its own block. */
static bool reserve(hki_export *self, void *list, int count, int *capacity, size_t bytes)
{
    void **at = list;
    if (count < *capacity)
        return true;
    const int more = *capacity ? 2 * *capacity : 64;
    void *longer = realloc(*at, (size_t)more * bytes);
    if (!longer)
        return hki_export_no_memory(self);
    *at = longer;
    *capacity = more;
    return true;
}

int hki_export_add_value(hki_export *self, hk_dtype dtype, hk_dims shape)
{
    if (self->failure || !reserve(self, &self->values, self->value_count, &self->value_capacity,
                                  sizeof *self->values))
        return -1;
    self->values[self->value_count] = (hk_export_value){.dtype = dtype, .shape = shape};
    return self->value_count++;
}

int hki_export_add_constant(hki_export *self, hk_array *x)
{
    HK_SCOPE;
    hk_array *here = (hk_contiguous)((hk_to_pageable)(x, hk_device_named("cpu:0")));
    const hk_status *status = hk_wait(here);
    if (!hk_ok(status)) {
        if (!self->failure)
            self->failure = hk_status_retain(status);
        return -1;
    }
    const int value = hki_export_add_value(self, here->dtype, here->shape);
    if (value >= 0)
        self->values[value].constant = hk_array_retain(here);
    return value;
}

hk_export_node *hki_export_add_node(hki_export *self, const char *operation, int inputs,
                                    int outputs, int options)
{
    if (self->failure ||
        !reserve(self, &self->nodes, self->node_count, &self->node_capacity, sizeof *self->nodes))
        return NULL;
    const hk_export_node node = {
        .operation = operation,
        .called = self->called ? self->called : operation,
        .source = self->source,
        .inputs = hki_export_allocate(self, (size_t)inputs * sizeof(int)),
        .outputs = hki_export_allocate(self, (size_t)outputs * sizeof(int)),
        .input_count = inputs,
        .output_count = outputs,
        .options = hki_export_allocate(self, (size_t)options * sizeof(hk_export_option)),
        .option_count = options};
    if (!node.inputs || !node.outputs || !node.options)
        return NULL;
    self->nodes[self->node_count] = node;
    return &self->nodes[self->node_count++];
}

int hki_export_add_unary(hki_export *self, const char *operation, int input, hk_dims shape,
                         const char *option, const int64_t *ints, int count)
{
    hk_export_node *node =
        input < 0 ? NULL : hki_export_add_node(self, operation, 1, 1, option ? 1 : 0);
    const int output = node ? hki_export_add_value(self, self->values[input].dtype, shape) : -1;
    if (output < 0)
        return -1;
    ((int *)node->inputs)[0] = input;
    ((int *)node->outputs)[0] = output;
    if (option) {
        hk_export_option *its = (hk_export_option *)node->options;
        *its = (hk_export_option){.name = option, .count = count};
        if (count)
            memcpy(its->ints, ints, (size_t)count * sizeof *ints);
    }
    return output;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_taken(const hki_export *self, const char *name, int before)
{
    for (int i = 0; i < self->value_count; i++)
        if (i != before && self->values[i].name && !strcmp(self->values[i].name, name))
            return true;
    return false;
}

static bool is_utf8(const char *text)
{
    size_t letter = 1, left = strlen(text);
    for (; left && letter; left -= letter, text += letter)
        letter = hki_utf8_letter(text, left);
    return letter > 0;
}

static bool name_some(hki_export *self, const char *what, const int *values, int count,
                      const char *const *names)
{
    for (int i = 0; i < count; i++) {
        const size_t bytes = strlen(what) + 16;
        char *own = names ? NULL : hki_export_allocate(self, bytes);
        if (!names && !own)
            return false;
        if (own)
            snprintf(own, bytes, count > 1 ? "%s_%d" : "%s", what, i);
        const char *name = names ? names[i] : own;
        if (!name || !*name || !is_utf8(name))
            return hki_export_fail(self, HK_INVALID_ARGUMENT,
                                   "the name of %s %d is %s; expected UTF-8", what, i,
                                   !name   ? "NULL"
                                   : *name ? "no UTF-8"
                                           : "empty");
        for (int j = 0; j < self->value_count; j++) /* arrays give way */
            if (self->values[j].constant && self->values[j].name &&
                !strcmp(self->values[j].name, name))
                self->values[j].name = NULL;
        if (is_taken(self, name, values[i]))
            return hki_export_fail(self, HK_INVALID_ARGUMENT,
                                   "the name of %s %d, \"%.100s\", is that of another input or "
                                   "output",
                                   what, i, name);
        self->values[values[i]].name = name;
    }
    return true;
}

/* Constants that have one name, as parts of one array that are read alike, are told apart. */
static void name_constants(hki_export *self)
{
    for (int i = 0; i < self->value_count; i++)
        if (self->values[i].name &&
            (!self->values[i].constant || !*self->values[i].name ||
             !is_utf8(self->values[i].name) || is_taken(self, self->values[i].name, i)))
            self->values[i].name = NULL;
}

/* ---- plug-ins -------------------------------------------------------------------------------- */

static bool write_file(hki_export *self, const char *path, const hk_model_export_options *options)
{
    const char *format = hki_format_of(path, options->format);
    char problem[1024] = "";
    union {
        void *symbol;
        hk_model_write_fn *write;
    } entry;
    if (!hki_format_is_name(format))
        return hki_export_fail(self, HK_INVALID_ARGUMENT,
                               "the format of %.200s is not known by its name; expected a name "
                               "that ends with .onnx, or the option format",
                               path);
    void *plugin = hki_plugin_open(format, problem, sizeof problem);
    if (!plugin)
        return hki_export_fail(self, HK_NOT_FOUND,
                               "there is no plug-in for files of the format %s: libhocket_%s.so is "
                               "not beside the library (%.300s)",
                               format, format, problem);
    entry.symbol = dlsym(plugin, "hocket_model_write");
    if (!entry.symbol)
        return hki_export_fail(self, HK_UNSUPPORTED, "libhocket_%s.so writes no models", format);
    const hk_export_graph graph = {.abi = HK_EXPORT_ABI,
                                   .values = self->values,
                                   .nodes = self->nodes,
                                   .inputs = self->inputs,
                                   .outputs = self->outputs,
                                   .value_count = self->value_count,
                                   .node_count = self->node_count,
                                   .input_count = self->input_count,
                                   .output_count = self->output_count,
                                   .batch = options->batch,
                                   .most_bytes = hki_option_or(options->most_bytes, 1.9e9)};
    const hk_code code = entry.write(path, &graph, problem, sizeof problem);
    return code == HK_OK || hki_export_fail(self, code, "%s", problem);
}

static bool name_and_write(hki_export *self, const char *path,
                           const hk_model_export_options *options)
{
    name_constants(self);
    return name_some(self, "input", self->inputs, self->input_count, options->input_names) &&
           name_some(self, "output", self->outputs, self->output_count, options->output_names) &&
           write_file(self, path, options);
}

static const hk_status *lend(hki_export *self)
{
    const hk_status *status = self->failure ? hk_status_retain(self->failure) : hki_status_ok();
    hki_export_deinit(self);
    return hki_status_lend(status);
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct request {
    hk_export_call_fn *call;
    void *context;
    hk_array *const *inputs;
    int input_count;
    hk_module *module; /* NULL: none whose arrays have names */
    hki_export_names names;
} request;

/* Names of arrays that the options give. */
static hki_export_names names_of(const hk_model_export_options *options)
{
    const bool are_given = options && options->arrays && options->array_names;
    return (hki_export_names){are_given ? options->arrays : NULL,
                              are_given ? options->array_names : NULL,
                              are_given ? options->array_count : 0};
}

static bool check_inputs(hki_export *out, const request *self, const char *batch)
{
    if (hki_capturing)
        return hki_export_fail(out, HK_INVALID_ARGUMENT,
                               "a capture is under way in this thread; end it first");
    if (self->input_count < 0 || (self->input_count > 0 && !self->inputs))
        return hki_export_fail(out, HK_INVALID_ARGUMENT, "inputs %s, but input_count is %d",
                               self->inputs ? "are given" : "is NULL", self->input_count);
    for (int i = 0; i < self->input_count; i++) {
        const hk_array *x = self->inputs[i];
        if (!x)
            return hki_export_fail(out, HK_INVALID_ARGUMENT, "input %d is NULL", i);
        const hk_status *status = hk_wait((hk_array *)x);
        if (!hk_ok(status)) {
            if (!out->failure)
                out->failure = hk_status_retain(status);
            return false;
        }
        if (!x->size)
            return hki_export_fail(out, HK_INVALID_ARGUMENT, "input %d has no elements", i);
        if (batch && (!x->shape.ndim || x->shape.dims[0] != self->inputs[0]->shape.dims[0]))
            return hki_export_fail(out, HK_INVALID_ARGUMENT,
                                   "axis 0 of input %d is not as long as that of input 0; the "
                                   "option batch expects that of all inputs",
                                   i);
    }
    return !batch || self->input_count > 0 ||
           hki_export_fail(out, HK_INVALID_ARGUMENT, "the option batch expects inputs");
}

/* So many rows of x, again from the first; or, rows 0, as it is. In memory of its own, for inputs
 * may be views of one another. */
static hk_array *rows_of(hk_array *x, int64_t rows)
{
    if (!rows)
        return hki_op_call1(&hki_op_copy, x, NULL);
    hk_array *places = (hk_arange)(0, (double)rows, 1, HK_I64, hk_array_device(x));
    hk_array *size = (hk_full)(hk_shape(), (double)x->shape.dims[0], HK_I64, hk_array_device(x));
    return (hk_index_select)(x, (hk_remainder)(places, size), 0);
}

/* Makes the outputs, each counted for the caller. */
static bool make(hki_export *out, const request *self, hk_array *const *inputs, hk_array **outputs,
                 int *count)
{
    HK_SCOPE;
    *count = 0;
    const bool is_made = self->call(self->context, inputs, self->input_count, outputs, count);
    if (!is_made || *count < 1 || *count > HK_EXPORT_OUTPUTS) {
        *count = 0;
        return hki_export_fail(out, HK_INVALID_ARGUMENT, "the function that is to be exported %s",
                               is_made ? "gives no outputs, or too many" : "has failed");
    }
    for (int i = 0; i < *count; i++) {
        if (!outputs[i]) {
            *count = i;
            return hki_export_fail(out, HK_INVALID_ARGUMENT, "output %d is NULL", i);
        }
        hk_array_retain(outputs[i]);
    }
    return true;
}

static bool check_outputs(hki_export *out, hk_array *const *outputs, int count)
{
    for (int i = 0; i < count; i++) {
        const hk_status *status = hk_wait(outputs[i]);
        if (hk_ok(status))
            continue;
        if (!out->failure)
            out->failure = hk_status_retain(status);
        return false;
    }
    return true;
}

/* The arrays of a module, by their paths. */
static bool name_arrays(hki_export *out, hk_module *module, hki_export_names *names)
{
    const int count = hk_module_entries(module, NULL, 0);
    hk_module_entry *entries = hki_export_allocate(out, (size_t)count * sizeof *entries);
    hk_array **arrays = hki_export_allocate(out, (size_t)count * sizeof(hk_array *));
    const char **paths = hki_export_allocate(out, (size_t)count * sizeof(char *));
    if (!entries || !arrays || !paths)
        return false;
    hk_module_entries(module, entries, count);
    for (int i = 0; i < count; i++) {
        arrays[i] = entries[i].array;
        paths[i] = entries[i].path;
    }
    *names = (hki_export_names){arrays, paths, count};
    return true;
}

static bool describe(hki_export *out, const request *self, const hk_graph *graph,
                     hk_array *const *inputs, hk_array *const *outputs, int count)
{
    hki_export_request its = {.graph = graph,
                              .given = inputs,
                              .names = self->names,
                              .results = outputs,
                              .result_count = count};
    const hk_status *status = hk_graph_status(graph);
    if (!hk_ok(status)) {
        if (!out->failure)
            out->failure = hk_status_retain(status);
        return false;
    }
    if (self->module && !its.names.count && !name_arrays(out, self->module, &its.names))
        return false;
    return hki_export_graph(out, &its);
}

/* The calls for inputs of so many rows, noted and described. */
static bool note(hki_export *out, const request *self, int64_t rows)
{
    hk_array *outputs[HK_EXPORT_OUTPUTS];
    int count = 0;
    HK_SCOPE;
    hk_array **inputs =
        hki_export_allocate(out, ((size_t)self->input_count + 1) * sizeof(hk_array *));
    if (!inputs)
        return false;
    for (int i = 0; i < self->input_count; i++)
        inputs[i] = rows_of(self->inputs[i], rows);
    hk_capture_begin(inputs, self->input_count);
    hki_capture_take_constants();
    const bool is_made = make(out, self, inputs, outputs, &count);
    hk_graph *graph = (hk_capture_end)(&(hk_capture_options){.exact = true});
    const bool is_described = is_made && check_outputs(out, outputs, count) &&
                              describe(out, self, graph, inputs, outputs, count);
    for (int i = 0; i < count; i++)
        hk_array_release(outputs[i]);
    hk_graph_release(graph);
    return is_described;
}

/* Parameters are made, and what fails is told, before anything is noted. */
static bool try_once(hki_export *out, const request *self)
{
    hk_array *outputs[HK_EXPORT_OUTPUTS];
    int count;
    const bool is_good =
        make(out, self, self->inputs, outputs, &count) && check_outputs(out, outputs, count);
    for (int i = 0; i < count; i++)
        hk_array_release(outputs[i]);
    return is_good;
}

static bool note_for_batches(hki_export *out, const request *self)
{
    const int64_t given = self->inputs[0]->shape.dims[0], n = given > 1 ? given : 2;
    hki_export other = {.values = NULL};
    const bool is_noted = note(out, self, n);
    bool is_good = is_noted && note(&other, self, n + 1);
    if (is_noted && !is_good && !out->failure)
        out->failure = hk_status_retain(other.failure);
    is_good = is_good && hki_export_free_batch(out, n, &other, n + 1);
    hki_export_deinit(&other);
    return is_good;
}

static const hk_status *export_calls(const char *path, const request *self,
                                     const hk_model_export_options *given)
{
    const hk_model_export_options options =
        given ? *given : (hk_model_export_options){.format = NULL};
    hki_export out = {.values = NULL};
    HK_SCOPE;
    HK_PAUSE;
    if (!path)
        hki_export_fail(&out, HK_INVALID_ARGUMENT, "argument path is NULL");
    else if (options.batch && (!*options.batch || !is_utf8(options.batch)))
        hki_export_fail(&out, HK_INVALID_ARGUMENT, "the option batch is %s; expected a name",
                        *options.batch ? "no UTF-8" : "empty");
    else if (check_inputs(&out, self, options.batch) && try_once(&out, self) &&
             (options.batch ? note_for_batches(&out, self) : note(&out, self, 0)))
        name_and_write(&out, path, &options);
    return lend(&out);
}

static const hk_status *refuse(const char *text)
{
    hki_export out = {.values = NULL};
    hki_export_fail(&out, HK_INVALID_ARGUMENT, "%s", text);
    return lend(&out);
}

const hk_status *(hk_model_export_call)(const char *path, hk_export_call_fn *call, void *context,
                                        hk_array *const *inputs, int input_count,
                                        const hk_model_export_options *options)
{
    HKI_TAKE_OPTIONS(hk_model_export_options, options);
    const request its = {call, context, inputs, input_count, NULL, names_of(options)};
    return call ? export_calls(path, &its, options) : refuse("argument call is NULL");
}

/* ---- modules --------------------------------------------------------------------------------- */

static bool forward(void *context, hk_array *const *inputs, int input_count, hk_array **outputs,
                    int *output_count)
{
    outputs[0] = (hk_forward_all)(context, inputs, input_count);
    *output_count = 1;
    return true;
}

/* Whether each module of the tree trains, parents first: counted, noted where `modes` is there, or,
 * with `restores`, as it was. */
static int walk(hk_module *module, bool *modes, int count, bool restores)
{
    if (restores)
        hk_module_set_training(module, modes[count]);
    else if (modes)
        modes[count] = hk_module_is_training(module);
    count++;
    for (int i = 0; hk_module_child_at(module, i); i++)
        count = walk(hk_module_child_at(module, i), modes, count, restores);
    return count;
}

const hk_status *(hk_model_export)(const char *path, hk_module *module, hk_array *const *inputs,
                                   int input_count, const hk_model_export_options *options)
{
    HKI_TAKE_OPTIONS(hk_model_export_options, options);
    const request its = {forward, module, inputs, input_count, module, names_of(options)};
    if (!module)
        return refuse("argument module is NULL");
    if (!hk_ok(hk_module_status(module)))
        return hk_module_status(module);
    bool *modes = calloc((size_t)walk(module, NULL, 0, false), sizeof *modes);
    if (!modes)
        return hki_status_lend(hki_status_no_memory());
    walk(module, modes, 0, false);
    hk_module_set_training(module, false);
    const hk_status *status = hk_status_retain(export_calls(path, &its, options));
    walk(module, modes, 0, true);
    free(modes);
    return hki_status_lend(status);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

const hk_status *(hk_model_export_graph)(const char *path, const hk_graph *graph,
                                         hk_array *const *results, int result_count,
                                         const hk_model_export_options *options)
{
    HKI_TAKE_OPTIONS(hk_model_export_options, options);
    const hk_model_export_options its =
        options ? *options : (hk_model_export_options){.format = NULL};
    hki_export out = {.values = NULL};
    const hki_export_request wanted = {.graph = graph,
                                       .names = names_of(options),
                                       .results = results,
                                       .result_count = result_count};
    HK_SCOPE;
    HK_PAUSE;
    if (!hk_ok(hk_graph_status(graph)))
        return hk_graph_status(graph);
    if (!path)
        hki_export_fail(&out, HK_INVALID_ARGUMENT, "argument path is NULL");
    else if (its.batch)
        hki_export_fail(&out, HK_INVALID_ARGUMENT,
                        "the option batch is for modules and calls, which are noted for two sizes");
    else if (result_count < 0 || (result_count > 0 && !results))
        hki_export_fail(&out, HK_INVALID_ARGUMENT, "results %s, but result_count is %d",
                        results ? "are given" : "is NULL", result_count);
    else if (hki_export_graph(&out, &wanted))
        name_and_write(&out, path, &its);
    return lend(&out);
}
