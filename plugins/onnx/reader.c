/* From a file to graphs whose values have slots. Nothing of it is trusted. */
#include "onnx.h"

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

static bool no_memory(onnx_problem *problem)
{
    return onnx_wrong(problem, HK_OUT_OF_MEMORY, "out of host memory");
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Names that can be seen from where one is: those of this graph, then those of the graphs around it. */
typedef struct scope {
    struct scope *around;
    struct {
        const char *name;
        int slot;
    } * table; /* open addressing */
    size_t count, capacity;
} scope;

typedef struct reader {
    onnx_model *model;
    onnx_problem *problem;
    int slot_capacity, node_count, missing_count;
    char missing[512]; /* what the nodes need that cannot run */
} reader;

static size_t hash(const char *name)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (; *name; name++)
        sum = (sum ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)(sum ^ sum >> 29);
}

static int find_here(const scope *self, const char *name)
{
    for (size_t at = hash(name); self->capacity; at++) {
        at &= self->capacity - 1;
        if (!self->table[at].name)
            return -1;
        if (!strcmp(self->table[at].name, name))
            return self->table[at].slot;
    }
    return -1;
}

static int find(const scope *self, const char *name)
{
    int slot = -1;
    for (; self && slot < 0; self = self->around)
        slot = find_here(self, name);
    return slot;
}

static void put(scope *self, const char *name, int slot)
{
    size_t at = hash(name) & (self->capacity - 1);
    while (self->table[at].name)
        at = (at + 1) & (self->capacity - 1);
    self->table[at].name = name;
    self->table[at].slot = slot;
}

static bool grow(scope *self)
{
    scope wider = {.capacity = self->capacity ? 2 * self->capacity : 64};
    wider.table = calloc(wider.capacity, sizeof *wider.table);
    if (!wider.table)
        return false;
    for (size_t i = 0; i < self->capacity; i++)
        if (self->table[i].name)
            put(&wider, self->table[i].name, self->table[i].slot);
    free(self->table);
    self->table = wider.table;
    self->capacity = wider.capacity;
    return true;
}

/* A slot for a name that is new here; -1 after a problem. */
static int define(reader *self, scope *names, const char *name)
{
    onnx_model *model = self->model;
    if (find_here(names, name) >= 0) {
        onnx_wrong(self->problem, HK_BAD_DATA, "the value %.100s is made twice", name);
        return -1;
    }
    if (model->slot_count == self->slot_capacity) {
        const int capacity = self->slot_capacity ? 2 * self->slot_capacity : 256;
        const char **texts = realloc(model->names, (size_t)capacity * sizeof *texts);
        model->names = texts ? texts : model->names;
        onnx_value **constants = realloc(model->constants, (size_t)capacity * sizeof *constants);
        model->constants = constants ? constants : model->constants;
        if (!texts || !constants) {
            no_memory(self->problem);
            return -1;
        }
        self->slot_capacity = capacity;
    }
    if (2 * names->count >= names->capacity && !grow(names)) {
        no_memory(self->problem);
        return -1;
    }
    const int slot = model->slot_count++;
    model->names[slot] = name;
    model->constants[slot] = NULL;
    put(names, name, slot);
    names->count++;
    return slot;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static int opset_of(const reader *self, const char *domain)
{
    const Onnx__ModelProto *proto = self->model->proto;
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const char *its = proto->opset_import[i]->domain;
        if (!strcmp(its ? its : "", domain) || (!*domain && its && !strcmp(its, "ai.onnx")))
            return (int)proto->opset_import[i]->version;
    }
    return 1;
}

static void note_missing(reader *self, const Onnx__NodeProto *proto, const char *domain)
{
    const size_t length = strlen(self->missing);
    self->missing_count++;
    if (length < sizeof self->missing - 160)
        snprintf(self->missing + length, sizeof self->missing - length,
                 "%snode %d (%.40s) needs %.40s%s%.40s", length ? "; " : "", self->node_count - 1,
                 proto->name ? proto->name : "", domain, *domain ? ":" : "", proto->op_type);
}

/* A node Constant becomes what an initialiser is. */
static bool read_constant(reader *self, scope *names, const Onnx__NodeProto *proto)
{
    hk_array *x = onnx_constant_read(self->model, proto, self->problem);
    const int slot = x ? define(self, names, proto->output[0]) : -1;
    if (slot < 0) {
        hk_array_release(x);
        return false;
    }
    self->model->constants[slot] = onnx_value_of(x, true);
    return self->model->constants[slot] || no_memory(self->problem);
}

static bool is_constant(const Onnx__NodeProto *proto)
{
    return proto->op_type && !strcmp(proto->op_type, "Constant") && proto->n_output == 1 &&
           *proto->output[0] && (!proto->domain || !*proto->domain);
}

static onnx_graph *read_graph(reader *self, scope *around, const Onnx__GraphProto *proto);

static bool read_graphs(reader *self, scope *names, onnx_node *node)
{
    const Onnx__NodeProto *proto = node->proto;
    node->graphs = calloc(proto->n_attribute + 1, sizeof(onnx_graph *));
    if (!node->graphs)
        return no_memory(self->problem);
    for (size_t i = 0; i < proto->n_attribute; i++)
        if (proto->attribute[i]->g &&
            !(node->graphs[i] = read_graph(self, names, proto->attribute[i]->g)))
            return false;
    return true;
}

/* A slot for what a node makes. Old files list what they make among their inputs. */
static int define_output(reader *self, scope *names, onnx_graph *graph, const char *name)
{
    const int slot = find_here(names, name);
    for (int i = 0; i < graph->input_count && slot >= 0; i++)
        if (graph->inputs[i] == slot && !self->model->constants[slot]) {
            graph->inputs[i] = -1;
            return slot;
        }
    return define(self, names, name);
}

static bool read_node(reader *self, scope *names, onnx_graph *graph, const Onnx__NodeProto *proto,
                      onnx_node *node)
{
    const char *domain = proto->domain && strcmp(proto->domain, "ai.onnx") ? proto->domain : "";
    node->proto = proto;
    node->number = self->node_count++;
    node->opset = opset_of(self, domain);
    if (!proto->op_type)
        return onnx_wrong(self->problem, HK_BAD_DATA, "node %d has no operator", node->number);
    if (proto->n_input > 65536 || proto->n_output > 65536)
        return onnx_wrong(self->problem, HK_BAD_DATA, "node %d has too many inputs or outputs",
                          node->number);
    node->row = onnx_row_find(domain, proto->op_type);
    if (!node->row)
        note_missing(self, proto, domain);
    node->input_count = (int)proto->n_input;
    node->output_count = (int)proto->n_output;
    node->inputs = malloc((proto->n_input + 1) * sizeof *node->inputs);
    node->outputs = malloc((proto->n_output + 1) * sizeof *node->outputs);
    if (!node->inputs || !node->outputs)
        return no_memory(self->problem);
    for (int i = 0; i < node->input_count; i++) {
        const char *name = proto->input[i];
        node->inputs[i] = *name ? find(names, name) : -1;
        if (*name && node->inputs[i] < 0)
            return onnx_wrong(self->problem, HK_BAD_DATA,
                              "node %d (%.60s, %.40s) reads %.100s, which nothing before it makes",
                              node->number, proto->name ? proto->name : "", proto->op_type, name);
    }
    if (!read_graphs(self, names, node))
        return false;
    for (int i = 0; i < node->output_count; i++) {
        node->outputs[i] =
            *proto->output[i] ? define_output(self, names, graph, proto->output[i]) : -1;
        if (*proto->output[i] && node->outputs[i] < 0)
            return false;
    }
    return true;
}

/* ---- graphs ------------------------------------------------------------------------------------- */

static bool read_initialisers(reader *self, scope *names, const Onnx__GraphProto *proto)
{
    for (size_t i = 0; i < proto->n_initializer; i++) {
        const Onnx__TensorProto *tensor = proto->initializer[i];
        if (!tensor->name || !*tensor->name)
            return onnx_wrong(self->problem, HK_BAD_DATA, "initializer %zu has no name", i);
        int slot = find_here(names, tensor->name); /* it may be the default of an input */
        if (slot < 0)
            slot = define(self, names, tensor->name);
        hk_array *x = slot < 0 ? NULL : onnx_tensor_read(self->model, tensor, self->problem);
        if (!x)
            return false;
        onnx_value_release(self->model->constants[slot]);
        self->model->constants[slot] = onnx_value_of(x, true);
        if (!self->model->constants[slot])
            return no_memory(self->problem);
    }
    if (proto->n_sparse_initializer)
        return onnx_wrong(self->problem, HK_UNSUPPORTED, "the file has sparse tensors");
    return true;
}

static bool read_inputs(reader *self, scope *names, const Onnx__GraphProto *proto,
                        onnx_graph *graph)
{
    graph->inputs = malloc((proto->n_input + 1) * sizeof *graph->inputs);
    if (!graph->inputs)
        return no_memory(self->problem);
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name = proto->input[i]->name;
        if (!name || !*name)
            return onnx_wrong(self->problem, HK_BAD_DATA, "input %zu of a graph has no name", i);
        const int slot = define(self, names, name);
        if (slot < 0)
            return false;
        graph->inputs[graph->input_count++] = slot;
    }
    return true;
}

static bool read_outputs(reader *self, const scope *names, const Onnx__GraphProto *proto,
                         onnx_graph *graph)
{
    graph->outputs = malloc((proto->n_output + 1) * sizeof *graph->outputs);
    if (!graph->outputs)
        return no_memory(self->problem);
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name = proto->output[i]->name ? proto->output[i]->name : "";
        const int slot = find(names, name);
        if (slot < 0)
            return onnx_wrong(self->problem, HK_BAD_DATA,
                              "output %.100s of a graph is made nowhere", name);
        graph->outputs[graph->output_count++] = slot;
    }
    return true;
}

static bool read_nodes(reader *self, scope *names, const Onnx__GraphProto *proto, onnx_graph *graph)
{
    graph->nodes = calloc(proto->n_node + 1, sizeof *graph->nodes);
    if (!graph->nodes)
        return no_memory(self->problem);
    bool is_good = true;
    for (size_t i = 0; i < proto->n_node && is_good; i++)
        is_good = is_constant(proto->node[i]) ? read_constant(self, names, proto->node[i])
                                              : read_node(self, names, graph, proto->node[i],
                                                          &graph->nodes[graph->node_count++]);
    return is_good;
}

static onnx_graph *read_graph(reader *self, scope *around, const Onnx__GraphProto *proto)
{
    scope names = {.around = around};
    onnx_graph *graph = calloc(1, sizeof *graph);
    bool is_good = graph || no_memory(self->problem);
    is_good = is_good && read_inputs(self, &names, proto, graph) &&
              read_initialisers(self, &names, proto) && read_nodes(self, &names, proto, graph) &&
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

/* ---- lifetimes ---------------------------------------------------------------------------------- */

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
        return no_memory(problem);
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
    return is_good || no_memory(problem);
}

/* ---- the file ----------------------------------------------------------------------------------- */

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
        no_memory(problem);
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
    reader reading = {.model = self, .problem = problem};
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
        return no_memory(problem);
    self->main = read_graph(&reading, NULL, self->proto->graph);
    if (!self->main)
        return false;
    if (reading.missing_count)
        return onnx_wrong(problem, HK_UNSUPPORTED, "%d of the %d nodes of %.200s could run; %s",
                          reading.node_count - reading.missing_count, reading.node_count, path,
                          reading.missing);
    return true;
}
