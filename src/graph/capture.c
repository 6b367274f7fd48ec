/* Capturing: notes a thread's calls in a graph while they run. Nothing here keeps a call from running; what cannot be
 * noted fails the graph. */
#include "base/source.h"
#include "graph/capture_constants.h"
#include "graph/segments.h"
#include "graph/team.h"

#include "base/thread_end.h"
#include "op/call/plan.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Where a bound array lies while calls are noted. */
typedef struct place {
    hki_storage *storage; /* a handle */
    hki_span span;
    int64_t offset; /* elements, of its first one */
} place;

struct hki_capture {
    /* Under construction: of each storage that a slot has there is a handle, or a name and the slot is TEMPORARY where
     * the storage was first seen as a call's new output, or as made for several calls: its memory goes when the program and its tasks let it go. */
    hk_graph *graph;
    const hk_status *failure; /* counted; NULL: all can be done again so far */
    bool takes_constants;     /* of hk_from_host and hk_scalar */
    int depth;                /* captures begun within this one, which are none */
    uint64_t submitted;       /* by this thread, as far as is known here */
    place *places;            /* of the bound arrays */
    int node_capacity, slot_capacity, draw_capacity;
    int *table; /* slot + 1 by storage, open addressing; 0: free */
    int table_capacity;
};

static _Thread_local hki_capture own;

/* ---- failing --------------------------------------------------------------------------------- */

static const hk_status *record_of(hk_code code, const char *operation, const char *format,
                                  va_list args)
{
    hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = operation, .file = source.file, .line = source.line};
    return hki_status_create_va(code, &facts, format, args);
}

/* The first failure counts. */
HK_PRINTF(4, 5)
static void fail(hki_capture *self, hk_code code, const char *operation, const char *format, ...)
{
    va_list args;
    if (self->failure)
        return;
    va_start(args, format);
    self->failure = record_of(code, operation, format, args);
    va_end(args);
}

static void fail_for_memory(hki_capture *self)
{
    if (!self->failure)
        self->failure = hki_status_no_memory();
}

HK_PRINTF(1, 2)
static hk_graph *failed_graph(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const hk_status *status = record_of(HK_INVALID_ARGUMENT, "capture", format, args);
    va_end(args);
    hk_graph *graph = hki_graph_create(status);
    return graph ? graph : hki_graph_no_memory();
}

/* The hook of arrays: see base/hooks.h. */
void hki_capture_refuse(hk_code code, const char *operation, const char *why)
{
    if (!hki_capturing)
        return;
    const bool is_constant = !strcmp(operation, "from_host") || !strcmp(operation, "scalar");
    if (code == HK_OK && hki_capturing->takes_constants && is_constant)
        return;
    if (code == HK_OK)
        fail(hki_capturing, HK_UNSUPPORTED, operation, "%s cannot be captured: %s", operation, why);
    else
        fail(hki_capturing, code, operation, "%s", why);
}

void hki_capture_take_constants(void)
{
    if (hki_capturing)
        hki_capturing->takes_constants = true;
}

/* False when a task was submitted that nobody noted, or the runtime is not what it was. */
static bool check_state(hki_capture *self, const char *operation)
{
    if (self->failure)
        return false;
    if (!hki_runtime_alive(self->graph->runtime))
        self->failure = hki_runtime_gone(self->graph->runtime);
    else if (hki_submitted_count() != self->submitted)
        fail(self, HK_UNSUPPORTED, operation, "a call before this one cannot be captured");
    return !self->failure;
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* The list with room for one more: twice as long when it is full. NULL after failing. */
static void *with_room(hki_capture *self, void *list, int count, int *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return list;
    int larger = *capacity ? 2 * *capacity : 64;
    void *longer = realloc(list, (size_t)larger * item_bytes);
    if (longer)
        *capacity = larger;
    else
        fail_for_memory(self);
    return longer;
}

/* Where the storage is in the table, or belongs. */
static int *table_find(hki_capture *self, const hki_storage *storage)
{
    unsigned mask = (unsigned)self->table_capacity - 1;
    unsigned at = (unsigned)((uintptr_t)storage * UINT64_C(0x9E3779B97F4A7C15) >> 40);
    while (self->table[at & mask] &&
           self->graph->slots[self->table[at & mask] - 1].storage != storage)
        at++;
    return &self->table[at & mask];
}

/* Keeps the table half empty at least. */
static bool table_reserve(hki_capture *self)
{
    hk_graph *graph = self->graph;
    if (2 * (graph->slot_count + 1) < self->table_capacity)
        return true;
    int capacity = self->table_capacity ? 2 * self->table_capacity : 256;
    int *table = calloc((size_t)capacity, sizeof *table);
    if (!table) {
        fail_for_memory(self);
        return false;
    }
    free(self->table);
    self->table = table;
    self->table_capacity = capacity;
    for (int i = 0; i < graph->slot_count; i++)
        if (graph->slots[i].storage)
            *table_find(self, graph->slots[i].storage) = i + 1;
    return true;
}

/* -1 after failing. */
static int slot_add(hki_capture *self, hki_storage *storage, hki_slot_kind kind)
{
    hk_graph *graph = self->graph;
    hki_slot *slots = with_room(self, graph->slots, graph->slot_count, &self->slot_capacity,
                                sizeof *graph->slots);
    if (!slots)
        return -1;
    graph->slots = slots;
    graph->slots[graph->slot_count] = (hki_slot){.kind = kind,
                                                 .device = storage->device,
                                                 .bytes = storage->bytes,
                                                 .is_pinned = storage->is_pinned,
                                                 .bound = -1,
                                                 .first = -1,
                                                 .last = -1};
    return graph->slot_count++;
}

enum { NO_BOUND = -1, AMBIGUOUS = -2 };

/* The bound array that an operand lies in. */
static int find_bound(const hki_capture *self, const hk_array *x)
{
    bool is_empty = !hk_size(x), is_near = false;
    int found = NO_BOUND, count = 0;
    const hki_range range = hki_array_range(x);
    for (int i = 0; i < self->graph->bound_count; i++) {
        const place *bound = &self->places[i];
        if (bound->storage != x->storage)
            continue;
        is_near = true;
        if (is_empty || (bound->span.begin <= range.begin && range.end <= bound->span.end)) {
            found = i;
            count++;
        }
    }
    return count == 1 || !is_near ? found : AMBIGUOUS;
}

/* The slot that stands for x's storage; *offset: of its begin. -1 after failing. */
static int slot_of(hki_capture *self, const char *operation, const hk_array *x, bool is_new,
                   int64_t *offset)
{
    int bound = find_bound(self, x);
    *offset = 0;
    if (bound >= 0) {
        *offset = self->places[bound].offset;
        return self->graph->bound[bound].slot;
    }
    if (bound == AMBIGUOUS) {
        char text[224];
        hki_array_describe(x, text, sizeof text);
        fail(
            self, HK_UNSUPPORTED, operation,
            "it is ambiguous which bound array %s belongs to: it shares memory with some, but lies "
            "within none of them, or within several",
            text);
        return -1;
    }
    if (!table_reserve(self))
        return -1;
    int *entry = table_find(self, x->storage);
    if (*entry) {
        assert(!is_new);
        return *entry - 1;
    }
    int slot = slot_add(self, x->storage, is_new ? HKI_SLOT_TEMPORARY : HKI_SLOT_EXTERNAL);
    if (slot >= 0) {
        (is_new ? hki_storage_retain_name : hki_storage_retain_handle)(x->storage);
        self->graph->slots[slot].storage = x->storage;
        *entry = slot + 1;
    }
    return slot;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A node with room for its operands and a copy of the options. NULL after failing. */
static hki_node *node_add(hki_capture *self, const char *operation, int operand_count,
                          const void *options, size_t options_bytes)
{
    hk_graph *graph = self->graph;
    hki_node *nodes = with_room(self, graph->nodes, graph->node_count, &self->node_capacity,
                                sizeof *graph->nodes);
    if (!nodes)
        return NULL;
    graph->nodes = nodes;
    hki_node *node = &graph->nodes[graph->node_count];
    *node = (hki_node){.operation = operation,
                       .source = hki_source_get(),
                       .is_backward = hki_trace_is_backward(),
                       .first_call = graph->node_count,
                       .last_call = graph->node_count,
                       .draw = -1,
                       .options_bytes = options_bytes};
    node->operands = calloc((size_t)(operand_count ? operand_count : 1), sizeof *node->operands);
    node->options = options_bytes ? malloc(options_bytes) : NULL;
    graph->node_count++; /* what it holds is freed with the graph */
    if (!node->operands || (options_bytes && !node->options)) {
        fail_for_memory(self);
        return NULL;
    }
    if (options_bytes)
        memcpy(node->options, options, options_bytes);
    return node;
}

static bool operand_note(hki_capture *self, const hki_node *node, int index, const hk_array *x,
                         bool is_new)
{
    hki_node_operand *operand = &node->operands[index];
    int64_t offset;
    if (!x) {
        operand->slot = -1;
        operand->tensor.ndim = -1;
        return true;
    }
    operand->slot = slot_of(self, node->operation, x, is_new, &offset);
    hki_tensor_init(&operand->tensor, x);
    operand->tensor.storage = NULL;
    operand->tensor.offset -= offset;
    operand->span = hki_tensor_span(&operand->tensor);
    return operand->slot >= 0;
}

/* Of a call that draws random numbers, where they come from. */
static void draw_note(hki_capture *self, hki_node *node)
{
    hk_graph *graph = self->graph;
    hki_stream_options *draws = with_room(self, graph->draws, graph->draw_count,
                                          &self->draw_capacity, sizeof *graph->draws);
    if (!draws)
        return;
    graph->draws = draws;
    memcpy(&draws[graph->draw_count], node->options, sizeof *draws);
    hki_stream_retain(&draws[graph->draw_count]);
    node->draw = graph->draw_count++;
}

static void note_call(hki_capture *self, const hki_call *call, hk_array *const *outputs,
                      bool is_new, hki_call_staging staging)
{
    const hk_op *op = call->op;
    int output_count = op->output_count > 1 ? op->output_count : 1;
    if (!check_state(self, call->operation))
        return;
    self->submitted++;
    hki_node *node = node_add(self, call->operation, call->input_count + output_count,
                              call->options, op->options_bytes);
    if (!node)
        return;
    node->kind = HKI_NODE_CALL;
    node->device = call->device;
    node->op = op;
    node->staging = staging;
    node->is_new = is_new || call->is_gradient;
    node->may_be_direct = !staging.copy_inputs && !staging.copy_output && output_count == 1 &&
                          hk_size(outputs[0]) > 0 && hki_call_may_be_direct(call);
    node->piece_count = hki_plan_make(call, &node->plan);
    if (op->draws)
        draw_note(self, node);
    bool noted = true;
    for (int i = 0; noted && i < call->input_count; i++, node->input_count++) {
        noted = operand_note(self, node, i, call->arrays[i], false);
        node->may_be_direct &= call->arrays[i] != NULL;
    }
    for (int i = 0; noted && i < output_count; i++, node->output_count++)
        noted = operand_note(self, node, call->input_count + i, outputs[i], is_new);
}

static void note_made(hki_capture *self, const char *operation, hk_array *x)
{
    int64_t offset;
    if (check_state(self, operation))
        slot_of(self, operation, x, true, &offset);
}

static bool has_made(hki_capture *self, const hk_array *x)
{
    const hk_graph *graph = self->graph;
    const int slot = self->table_capacity ? *table_find(self, x->storage) - 1 : -1;
    return slot >= 0 && graph->slots[slot].kind == HKI_SLOT_TEMPORARY;
}

static void compound_begin(hki_capture *self, const char *operation, hki_capture_again_fn again,
                           hk_array *const *arrays, int count, const void *options,
                           size_t options_bytes, size_t early_bytes)
{
    hki_capturing = NULL;
    if (!check_state(self, operation))
        return;
    hki_node *node = node_add(self, operation, count, options, options_bytes);
    if (!node)
        return;
    node->kind = HKI_NODE_COMPOUND;
    node->device = arrays[0]->storage->device;
    node->again = again;
    node->early_bytes = early_bytes;
    bool noted = true;
    for (int i = 0; noted && i < count; i++, node->input_count++)
        noted = operand_note(self, node, i, arrays[i], false);
}

static void compound_end(hki_capture *self)
{
    hki_capturing = self;
    self->submitted = hki_submitted_count();
}

const hki_capture_hooks hki_capture_hook_table = {note_call, note_made, has_made, compound_begin,
                                                  compound_end};

/* ---- begin ----------------------------------------------------------------------------------- */

/* Lets go of everything but the graph, which is no longer the capture's. */
static void capture_deinit(hki_capture *self)
{
    for (int i = 0; self->places && i < self->graph->bound_count; i++)
        if (self->places[i].storage)
            hki_storage_release_handle(self->places[i].storage);
    free(self->places);
    free(self->table);
    hk_status_release(self->failure);
    *self = (hki_capture){0};
    hki_capturing = NULL;
}

/* A thread ends within a capture. */
static void thread_ends(void *unused)
{
    hk_graph *graph = own.graph;
    (void)unused;
    if (!hki_capturing)
        return;
    capture_deinit(&own);
    hk_graph_release(graph);
}

/* What is to be given in place of x, and where x lies. False after failing. */
static bool bound_note(hki_capture *self, int index, hk_array *x)
{
    const hk_status *gone = x ? hki_array_gone(x) : NULL;
    hk_graph *graph = self->graph;
    if (gone)
        fail(self, hk_status_code(gone), "capture_begin", "bound array %d: %s", index,
             hk_status_message(gone));
    else if (!x || x->failed)
        fail(self, HK_INVALID_ARGUMENT, "capture_begin", "bound array %d %s", index,
             x ? "has failed" : "is NULL");
    hk_status_release(gone);
    if (self->failure)
        return false;
    struct hki_bound *bound = &graph->bound[index];
    hki_tensor tensor;
    hki_tensor_init(&tensor, x);
    bound->shape = x->shape;
    bound->dtype = x->dtype;
    bound->device = x->storage->device;
    memcpy(bound->strides, x->strides, sizeof bound->strides);
    bound->slot = slot_add(self, x->storage, HKI_SLOT_BOUND);
    if (bound->slot < 0)
        return false;
    graph->slots[bound->slot].bound = index;
    hki_storage_retain_handle(x->storage);
    self->places[index] = (place){x->storage, hki_tensor_span(&tensor), x->offset};
    return true;
}

static void bounds_note(hki_capture *self, hk_array *const *bound, int count)
{
    hk_graph *graph = self->graph;
    if (count < 0 || (count > 0 && !bound)) {
        fail(self, HK_INVALID_ARGUMENT, "capture_begin",
             count < 0 ? "count is %d; expected 0 or more" : "bound is NULL, but count is %d",
             count);
        return;
    }
    graph->bound = calloc((size_t)count + 1, sizeof *graph->bound);
    self->places = calloc((size_t)count + 1, sizeof *self->places);
    if (!graph->bound || !self->places) {
        fail_for_memory(self);
        return;
    }
    for (int i = 0; i < count && !self->failure; i++, graph->bound_count++)
        bound_note(self, i, bound[i]);
}

/* The runtime whose calls are noted, counted. Bound arrays start none: where theirs is gone, the capture says so. NULL: no
 * memory. */
static hki_runtime *runtime_of(hk_array *const *bound, int count)
{
    for (int i = 0; bound && i < count; i++) {
        hki_runtime *runtime = bound[i] ? bound[i]->storage->device->runtime : NULL;
        if (runtime && !hki_runtime_alive(runtime)) {
            hki_runtime_retain(runtime);
            return runtime;
        }
    }
    return hki_runtime_default_retained();
}

void hk_capture_begin(hk_array *const *bound, int count)
{
    static hki_thread_end end = {.function = thread_ends};
    if (hki_capturing) {
        hki_capturing->depth++;
        return;
    }
    hki_thread_end_watch(&end); /* without it a thread that ends within leaks: no reason to fail */
    own = (hki_capture){.graph = hki_graph_create(hki_status_ok()),
                        .submitted = hki_submitted_count()};
    hki_capturing = &own;
    if (own.graph && (own.graph->runtime = runtime_of(bound, count)))
        bounds_note(&own, bound, count);
    else
        fail_for_memory(&own);
}

/* ---- end ------------------------------------------------------------------------------------- */

/* Storages that nobody has a handle of are temporaries: each replay makes its own. */
static void settle_slots(hk_graph *graph)
{
    for (int i = 0; i < graph->slot_count; i++) {
        hki_slot *slot = &graph->slots[i];
        if (slot->kind == HKI_SLOT_TEMPORARY && hki_storage_try_retain_handle(slot->storage)) {
            slot->kind = HKI_SLOT_EXTERNAL;
            hki_storage_release_name(slot->storage);
        }
    }
}

/* Temporaries need no names any more. The host's memory of those that replays do without, for chains have taken their
 * place, goes back to the system: what is free now, and what unfinished calls still use or are to make. */
static void release_temporaries(hk_graph *graph)
{
    for (int i = 0; i < graph->slot_count; i++) {
        hki_slot *slot = &graph->slots[i];
        if (slot->kind != HKI_SLOT_TEMPORARY)
            continue;
        if (slot->first < 0 && hki_device_is_host(slot->device) && !slot->is_pinned) {
            atomic_store_explicit(&slot->storage->is_passing, true, memory_order_relaxed);
            hki_memory_pool_trim(slot->device->memory);
        }
        if (slot->storage) /* a chain's own has none */
            hki_storage_release_name(slot->storage);
        slot->storage = NULL;
    }
}

/* Whether the call writes all elements, so many, of a slot, and reads none. */
static bool makes_whole(const hki_node *node, int slot, int64_t size)
{
    bool reads = node->kind != HKI_NODE_CALL, writes = false;
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        const hki_node_operand *operand = &node->operands[i];
        reads |= operand->slot == slot && i < node->input_count;
        writes |= operand->slot == slot && i >= node->input_count && operand->tensor.size == size;
    }
    return writes && !reads;
}

/* Expects a graph of the calls as they were, that is indexed. */
static void note_made_bounds(hk_graph *graph)
{
    for (int i = 0; i < graph->bound_count; i++) {
        struct hki_bound *bound = &graph->bound[i];
        const int first = graph->slots[bound->slot].first;
        int64_t size = 0;
        hki_dims_size(&bound->shape, &size);
        bound->is_made = first >= 0 && makes_whole(&graph->nodes[first], bound->slot, size);
    }
}

hk_graph *(hk_capture_end)(const hk_capture_options *options)
{
    HKI_TAKE_OPTIONS(hk_capture_options, options);
    hki_capture *self = hki_capturing;
    if (!self)
        return failed_graph("hk_capture_end without hk_capture_begin in this thread");
    if (self->depth > 0) {
        self->depth--;
        return failed_graph("a capture within a capture: end the outer one first");
    }
    hk_graph *graph = self->graph;
    if (!graph) {
        capture_deinit(self);
        return hki_graph_no_memory();
    }
    if (!check_state(self, "capture_end")) {
        hk_status_release(graph->status);
        graph->status = hk_status_retain(self->failure);
        capture_deinit(self);
        hki_graph_clear(graph);
        return graph;
    }
    capture_deinit(self);
    if (options)
        graph->options = *options;
    graph->call_count = graph->node_count;
    for (int i = 0; i < graph->node_count; i++)
        graph->flops += graph->nodes[i].kind == HKI_NODE_CALL ? graph->nodes[i].plan.flops : 0;
    settle_slots(graph);
    hki_graph_index(graph);
    note_made_bounds(graph);
    hki_graph_forward_copies(graph);
    hki_graph_index(graph);
    hki_graph_form_chains(graph);
    hki_graph_index(graph);
    release_temporaries(graph);
    graph->segments = hki_segments_create(graph);
    if (!graph->segments)
        graph->teams = hki_teams_create(graph);
    return graph;
}
