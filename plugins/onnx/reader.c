/* From a file to graphs whose values have slots. Nothing of it is trusted. */
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool onnx_wrong(onnx_problem *problem, hk_code code, const char *format, ...)
{
    va_list args;
    if (problem->code != HK_OK)
        return false;
    problem->code = code;
    va_start(args, format);
    vsnprintf(problem->text, problem->bytes, format, args);
    va_end(args);
    return false;
}

bool onnx_no_memory(onnx_problem *problem)
{
    return onnx_wrong(problem, HK_OUT_OF_MEMORY, "out of host memory");
}

/* ---- nodes --------------------------------------------------------------------------------------
 */

static void note_missing(onnx_reader *self, const Onnx__NodeProto *proto, const char *domain)
{
    const size_t length = strlen(self->missing);
    self->missing_count++;
    if (length < sizeof self->missing - 160)
        snprintf(self->missing + length, sizeof self->missing - length,
                 "%snode %d (%.40s) needs %.40s%s%.40s", length ? "; " : "", self->node_count,
                 proto->name ? proto->name : "", domain, *domain ? ":" : "", proto->op_type);
}

/* A node Constant becomes what an initialiser is. */
static bool read_constant(onnx_reader *self, onnx_names *names, const Onnx__NodeProto *proto)
{
    hk_array *x = onnx_constant_read(self->model, proto, self->problem);
    const int slot = x ? onnx_name_define(self, names, proto->output[0]) : -1;
    const char *name = slot < 0 ? NULL : onnx_name_within(self, proto->output[0]);
    if (!name) {
        hk_array_release(x);
        return false;
    }
    self->model->names[slot] = name;
    self->model->constants[slot] = onnx_value_of(x, true);
    return self->model->constants[slot] || onnx_no_memory(self->problem);
}

static bool is_constant(const Onnx__NodeProto *proto)
{
    return !strcmp(proto->op_type, "Constant") && proto->n_output == 1 && *proto->output[0] &&
           (!proto->domain || !*proto->domain || !strcmp(proto->domain, "ai.onnx"));
}

static onnx_graph *read_graph(onnx_reader *self, onnx_names *around, const Onnx__GraphProto *proto);

static bool read_graphs(onnx_reader *self, onnx_names *names, onnx_node *node)
{
    const Onnx__NodeProto *proto = node->proto;
    node->graphs = calloc(proto->n_attribute + 1, sizeof(onnx_graph *));
    if (!node->graphs)
        return onnx_no_memory(self->problem);
    for (size_t i = 0; i < proto->n_attribute; i++)
        if (proto->attribute[i]->g &&
            !(node->graphs[i] = read_graph(self, names, proto->attribute[i]->g)))
            return false;
    return true;
}

/* The slot that an input of a node stands for; ONNX_UNKNOWN after a problem. */
static int slot_of_input(onnx_reader *self, const onnx_names *names, const Onnx__NodeProto *proto,
                         size_t index)
{
    const char *name = proto->input[index];
    const int slot = *name ? onnx_name_find(names, name) : ONNX_LEFT_OUT;
    if (slot == ONNX_UNKNOWN)
        onnx_wrong(self->problem, HK_BAD_DATA,
                   "node %d (%.60s, %.40s) reads %.100s, which nothing before it makes",
                   self->node_count, proto->name ? proto->name : "", proto->op_type, name);
    return slot;
}

/* Numbers of a node that drew numbers before go on where they were. */
static bool begin_numbers(onnx_reader *self, onnx_node *node)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->proto->attribute[i];
        uint32_t bits;
        if (!attribute->name || strcmp(attribute->name, "seed") || node->generator)
            continue;
        memcpy(&bits, &attribute->f, sizeof bits);
        node->generator = hk_generator_create(attribute->has_f ? bits : (uint64_t)attribute->i);
        if (!node->generator)
            return onnx_no_memory(self->problem);
    }
    return true;
}

/* A slot for what a node makes. Old files list what they make among their inputs. */
static int define_output(onnx_reader *self, onnx_names *names, onnx_graph *graph, const char *name)
{
    const int slot = onnx_name_find_here(names, name);
    for (int i = 0; i < graph->input_count && slot >= 0; i++)
        if (graph->inputs[i] == slot && !self->model->constants[slot]) {
            graph->inputs[i] = -1;
            return slot;
        }
    return onnx_name_define(self, names, name);
}

static bool read_node(onnx_reader *self, onnx_names *names, const Onnx__NodeProto *proto,
                      onnx_graph *graph, onnx_node *node)
{
    const char *domain = proto->domain && strcmp(proto->domain, "ai.onnx") ? proto->domain : "";
    node->proto = proto;
    node->opset = onnx_opset_where(self, domain);
    node->row = onnx_row_find(domain, proto->op_type);
    if (!node->row)
        note_missing(self, proto, domain);
    node->inputs = malloc((proto->n_input + 1) * sizeof *node->inputs);
    node->outputs = malloc((proto->n_output + 1) * sizeof *node->outputs);
    if (!node->inputs || !node->outputs)
        return onnx_no_memory(self->problem);
    for (size_t i = 0; i < proto->n_input; i++) {
        node->inputs[node->input_count] = slot_of_input(self, names, proto, i);
        if (node->inputs[node->input_count++] == ONNX_UNKNOWN)
            return false;
    }
    node->number = self->node_count++;
    if (!read_graphs(self, names, node) || !begin_numbers(self, node))
        return false;
    for (size_t i = 0; i < proto->n_output; i++) {
        const bool is_named = *proto->output[i];
        const int slot = is_named ? define_output(self, names, graph, proto->output[i]) : -1;
        if (is_named && slot < 0)
            return false;
        node->outputs[node->output_count++] = slot;
    }
    return true;
}

/* ---- calls of functions of the file ---------------------------------------------------------- */

static bool read_nodes(onnx_reader *self, onnx_names *names, Onnx__NodeProto *const *protos,
                       size_t count, onnx_graph *graph);

/* The names within that stand for what the caller gives; those that it does not give are left out.
 */
static bool give_inputs(onnx_reader *self, const onnx_names *names, onnx_names *within,
                        const onnx_inlined *inlined)
{
    const Onnx__FunctionProto *function = inlined->function;
    bool is_good =
        inlined->call->n_input <= function->n_input ||
        onnx_wrong(self->problem, HK_BAD_DATA, "function %.80s has %zu inputs; node %d gives %zu",
                   function->name, function->n_input, self->node_count, inlined->call->n_input);
    for (size_t i = 0; i < function->n_input && is_good; i++) {
        const int slot = i < inlined->call->n_input ? slot_of_input(self, names, inlined->call, i)
                                                    : ONNX_LEFT_OUT;
        is_good = slot != ONNX_UNKNOWN && onnx_name_put(self, within, function->input[i], slot);
    }
    return is_good;
}

/* The caller's names for what the function has made. */
static bool take_outputs(onnx_reader *self, onnx_names *names, const onnx_names *within,
                         const onnx_inlined *inlined)
{
    const Onnx__FunctionProto *function = inlined->function;
    bool is_good = true;
    for (size_t i = 0; i < inlined->call->n_output && is_good; i++) {
        const int slot =
            i < function->n_output ? onnx_name_find(within, function->output[i]) : ONNX_UNKNOWN;
        if (!*inlined->call->output[i])
            continue;
        is_good = slot == ONNX_UNKNOWN
                      ? onnx_wrong(self->problem, HK_BAD_DATA, "function %.80s makes no output %zu",
                                   function->name, i)
                      : onnx_name_put(self, names, inlined->call->output[i], slot);
    }
    return is_good;
}

static bool read_call(onnx_reader *self, onnx_names *names, const Onnx__FunctionProto *function,
                      const Onnx__NodeProto *proto, onnx_graph *graph)
{
    enum { MOST_DEPTH = 64, MOST_NODES = 1 << 21 };
    onnx_names within = {.around = NULL};
    const onnx_inlined inlined = {self->inlined, function, proto,
                                  self->inlined ? self->inlined->depth + 1 : 1};
    if (inlined.depth > MOST_DEPTH || self->node_count > MOST_NODES)
        return onnx_wrong(self->problem, HK_UNSUPPORTED,
                          "functions call functions too deep, or too often, as in %.80s",
                          function->name);
    bool is_good = give_inputs(self, names, &within, &inlined);
    self->inlined = &inlined;
    is_good = is_good && read_nodes(self, &within, function->node, function->n_node, graph);
    self->inlined = inlined.around;
    is_good = is_good && take_outputs(self, names, &within, &inlined);
    free(within.table);
    return is_good;
}

/* A node of the graph, not yet read; NULL after a problem. */
static onnx_node *add_node(onnx_reader *self, onnx_graph *graph)
{
    if (graph->node_count == graph->node_capacity) {
        const int capacity = graph->node_capacity ? 2 * graph->node_capacity : 16;
        onnx_node *nodes = realloc(graph->nodes, (size_t)capacity * sizeof *nodes);
        if (!nodes) {
            onnx_no_memory(self->problem);
            return NULL;
        }
        graph->nodes = nodes;
        graph->node_capacity = capacity;
    }
    graph->nodes[graph->node_count] = (onnx_node){.proto = NULL};
    return &graph->nodes[graph->node_count++];
}

static bool read_any(onnx_reader *self, onnx_names *names, const Onnx__NodeProto *proto,
                     onnx_graph *graph)
{
    if (!proto->op_type)
        return onnx_wrong(self->problem, HK_BAD_DATA, "node %d has no operator", self->node_count);
    if (proto->n_input > 65536 || proto->n_output > 65536)
        return onnx_wrong(self->problem, HK_BAD_DATA, "node %d has too many inputs or outputs",
                          self->node_count);
    proto = onnx_node_resolved(self, proto);
    if (!proto)
        return false;
    const Onnx__FunctionProto *function = onnx_function_of(self, proto);
    if (function)
        return read_call(self, names, function, proto, graph);
    if (is_constant(proto))
        return read_constant(self, names, proto);
    onnx_node *node = add_node(self, graph);
    return node && read_node(self, names, proto, graph, node);
}

static bool read_nodes(onnx_reader *self, onnx_names *names, Onnx__NodeProto *const *protos,
                       size_t count, onnx_graph *graph)
{
    bool is_good = true;
    for (size_t i = 0; i < count && is_good; i++)
        is_good = read_any(self, names, protos[i], graph);
    return is_good;
}

/* ---- graphs -------------------------------------------------------------------------------------
 */

static bool read_initialisers(onnx_reader *self, onnx_names *names, const Onnx__GraphProto *proto)
{
    for (size_t i = 0; i < proto->n_initializer; i++) {
        const Onnx__TensorProto *tensor = proto->initializer[i];
        if (!tensor->name || !*tensor->name)
            return onnx_wrong(self->problem, HK_BAD_DATA, "initializer %zu has no name", i);
        int slot = onnx_name_find_here(names, tensor->name); /* it may be the default of an input */
        if (slot < 0)
            slot = onnx_name_define(self, names, tensor->name);
        hk_array *x = slot < 0 ? NULL : onnx_tensor_read(self->model, tensor, self->problem);
        if (!x)
            return false;
        onnx_value_release(self->model->constants[slot]);
        self->model->constants[slot] = onnx_value_of(x, true);
        if (!self->model->constants[slot])
            return onnx_no_memory(self->problem);
    }
    if (proto->n_sparse_initializer)
        return onnx_wrong(self->problem, HK_UNSUPPORTED, "the file has sparse tensors");
    return true;
}

static bool read_inputs(onnx_reader *self, onnx_names *names, const Onnx__GraphProto *proto,
                        onnx_graph *graph)
{
    graph->inputs = malloc((proto->n_input + 1) * sizeof *graph->inputs);
    if (!graph->inputs)
        return onnx_no_memory(self->problem);
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name = proto->input[i]->name;
        if (!name || !*name)
            return onnx_wrong(self->problem, HK_BAD_DATA, "input %zu of a graph has no name", i);
        const int slot = onnx_name_define(self, names, name);
        if (slot < 0)
            return false;
        graph->inputs[graph->input_count++] = slot;
    }
    return true;
}

static bool read_outputs(onnx_reader *self, const onnx_names *names, const Onnx__GraphProto *proto,
                         onnx_graph *graph)
{
    graph->outputs = malloc((proto->n_output + 1) * sizeof *graph->outputs);
    if (!graph->outputs)
        return onnx_no_memory(self->problem);
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name = proto->output[i]->name ? proto->output[i]->name : "";
        const int slot = onnx_name_find(names, name);
        if (slot < 0)
            return onnx_wrong(self->problem, HK_BAD_DATA,
                              "output %.100s of a graph is made nowhere", name);
        graph->outputs[graph->output_count++] = slot;
    }
    return true;
}

static onnx_graph *read_graph(onnx_reader *self, onnx_names *around, const Onnx__GraphProto *proto)
{
    onnx_names names = {.around = around};
    onnx_graph *graph = calloc(1, sizeof *graph);
    bool is_good = graph || onnx_no_memory(self->problem);
    is_good = is_good && read_inputs(self, &names, proto, graph) &&
              read_initialisers(self, &names, proto) &&
              read_nodes(self, &names, proto->node, proto->n_node, graph) &&
              read_outputs(self, &names, proto, graph);
    free(names.table);
    if (is_good)
        return graph;
    onnx_graph_free(graph);
    return NULL;
}

void onnx_graph_free(onnx_graph *graph)
{
    for (int i = 0; graph && i < graph->node_count; i++) {
        onnx_node *node = &graph->nodes[i];
        hk_generator_release(node->generator);
        for (size_t j = 0; node->graphs && j < node->proto->n_attribute; j++)
            onnx_graph_free(node->graphs[j]);
        free(node->graphs);
        free(node->inputs);
        free(node->outputs);
        free(node->last);
    }
    if (graph) {
        free(graph->nodes);
        free(graph->inputs);
        free(graph->outputs);
    }
    free(graph);
}

/* ---- lifetimes ----------------------------------------------------------------------------------
 */

static void use_all(const onnx_graph *graph, int by, int *last)
{
    for (int i = 0; i < graph->node_count; i++) {
        const onnx_node *node = &graph->nodes[i];
        for (int j = 0; j < node->input_count; j++)
            if (node->inputs[j] >= 0)
                last[node->inputs[j]] = by;
        for (int j = 0; j < node->output_count; j++)
            if (node->outputs[j] >= 0)
                last[node->outputs[j]] = by;
        for (size_t j = 0; j < node->proto->n_attribute; j++)
            if (node->graphs[j])
                use_all(node->graphs[j], by, last);
    }
    for (int i = 0; i < graph->output_count; i++)
        last[graph->outputs[i]] = by;
}

static void use(const onnx_node *node, int by, int *last)
{
    const onnx_graph one = {.nodes = (onnx_node *)node, .node_count = 1};
    use_all(&one, by, last);
}

bool onnx_find_lifetimes(onnx_model *self, onnx_problem *problem)
{
    onnx_graph *graph = self->main;
    const int slots = self->slot_count, kept = graph->node_count;
    int *last = malloc(((size_t)slots + 1) * sizeof *last);
    if (!last)
        return onnx_no_memory(problem);
    for (int i = 0; i < slots; i++)
        last[i] = kept;
    for (int i = 0; i < graph->node_count; i++)
        use(&graph->nodes[i], i, last);
    for (int i = 0; i < graph->output_count; i++)
        last[graph->outputs[i]] = kept;
    bool is_good = true;
    for (int i = 0; i < slots; i++)
        if (last[i] < kept && !self->constants[i])
            graph->nodes[last[i]].last_count++;
    for (int i = 0; i < graph->node_count && is_good; i++) {
        onnx_node *node = &graph->nodes[i];
        is_good = (node->last = malloc(((size_t)node->last_count + 1) * sizeof *node->last));
        node->last_count = 0;
    }
    for (int i = 0; i < slots && is_good; i++)
        if (last[i] < kept && !self->constants[i]) {
            onnx_node *node = &graph->nodes[last[i]];
            node->last[node->last_count++] = i;
        }
    free(last);
    return is_good || onnx_no_memory(problem);
}

/* ---- the file -----------------------------------------------------------------------------------
 */

static uint8_t *read_file(const char *path, size_t *bytes, onnx_problem *problem)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    off_t size = 0;
    if (!file) {
        onnx_wrong(problem, HK_NOT_FOUND, "the file %.300s cannot be opened", path);
        return NULL;
    }
    if (fseeko(file, 0, SEEK_END) || (size = ftello(file)) < 0 || fseeko(file, 0, SEEK_SET)) {
        onnx_wrong(problem, HK_IO, "the file %.300s cannot be read", path);
    } else if (!(data = malloc((size_t)size + 1))) {
        onnx_no_memory(problem);
    } else if (fread(data, 1, (size_t)size, file) != (size_t)size) {
        onnx_wrong(problem, HK_IO, "the file %.300s cannot be read", path);
        free(data);
        data = NULL;
    }
    fclose(file);
    *bytes = (size_t)size;
    return data;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
}

bool onnx_read(onnx_model *self, const char *path, onnx_problem *problem)
{
    onnx_reader reading = {.model = self, .problem = problem};
    size_t bytes;
    uint8_t *data = read_file(path, &bytes, problem);
    if (!data)
        return false;
    if (onnx_depth_is_fine(data, bytes))
        self->proto = onnx__model_proto__unpack(NULL, bytes, data);
    free(data);
    if (!self->proto || !self->proto->graph)
        return onnx_wrong(problem, HK_BAD_DATA, "%.300s is no ONNX file, or a damaged one", path);
    self->folder = folder_of(path);
    if (!self->folder)
        return onnx_no_memory(problem);
    self->main = read_graph(&reading, NULL, self->proto->graph);
    if (!self->main)
        return false;
    if (reading.missing_count)
        return onnx_wrong(problem, HK_UNSUPPORTED, "%d of the %d nodes of %.200s could run; %s",
                          reading.node_count - reading.missing_count, reading.node_count, path,
                          reading.missing);
    return true;
}
