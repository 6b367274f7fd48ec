/* Graphs: life, facts, text. */
#include "base/fill_struct.h"
#include "graph/segments.h"
#include "graph/team.h"

#include <stdlib.h>
#include <string.h>

/* Stands for a graph that there was no memory for; counting it is harmless, and it has no state. */
static hk_graph no_memory_graph;

/* ---- life ------------------------------------------------------------------------------------ */

hk_graph *hki_graph_no_memory(void)
{
    return &no_memory_graph;
}

hk_graph *hki_graph_create(const hk_status *status)
{
    hk_graph *graph = calloc(1, sizeof *graph);
    if (!graph) {
        hk_status_release(status);
        return NULL;
    }
    atomic_init(&graph->refs, 1);
    graph->status = status;
    return graph;
}

void hki_graph_clear(hk_graph *graph)
{
    for (int i = 0; i < graph->node_count; i++) {
        hki_node *node = &graph->nodes[i];
        hki_node_deinit(node);
        if (node->chain)
            hki_chain_destroy(node->chain);
    }
    for (int i = 0; i < graph->slot_count; i++)
        if (graph->slots[i].storage)
            (graph->slots[i].kind == HKI_SLOT_TEMPORARY
                 ? hki_storage_release_name
                 : hki_storage_release_handle)(graph->slots[i].storage);
    for (int i = 0; i < graph->draw_count; i++)
        hki_stream_release(&graph->draws[i]);
    free(graph->nodes);
    free(graph->slots);
    free(graph->draws);
    graph->nodes = NULL;
    graph->slots = NULL;
    graph->draws = NULL;
    graph->node_count = graph->slot_count = graph->draw_count = 0;
}

void hki_graph_draw(const hk_graph *graph, hki_stream_options *drawn)
{
    for (int i = 0; i < graph->draw_count; i++) {
        drawn[i] = graph->draws[i];
        hki_stream_take(&drawn[i]);
    }
}

hk_graph *hk_graph_retain(hk_graph *graph)
{
    if (graph && graph != &no_memory_graph)
        atomic_fetch_add_explicit(&graph->refs, 1, memory_order_relaxed);
    return graph;
}

void hk_graph_release(hk_graph *graph)
{
    if (!graph || graph == &no_memory_graph ||
        atomic_fetch_sub_explicit(&graph->refs, 1, memory_order_acq_rel) != 1)
        return;
    hki_segments_destroy(graph->segments);
    hki_teams_destroy(graph->teams);
    hki_graph_clear(graph);
    free(graph->bound);
    hk_status_release(graph->status);
    if (graph->runtime)
        hki_runtime_release(graph->runtime);
    free(graph);
}

static void index_first(hk_graph *graph, int index)
{
    const hki_node *node = &graph->nodes[index];
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        hki_node_operand *operand = &node->operands[i];
        operand->makes = false;
        if (operand->slot < 0)
            continue;
        hki_slot *slot = &graph->slots[operand->slot];
        if (slot->first < 0) {
            slot->first = index;
            operand->makes = slot->kind == HKI_SLOT_TEMPORARY;
        }
        slot->last = index;
        if (slot->kind == HKI_SLOT_BOUND && hki_node_writes(node, i))
            graph->bound[slot->bound].is_written = true;
    }
}

static void index_last(hk_graph *graph, int index)
{
    const hki_node *node = &graph->nodes[index];
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        hki_node_operand *operand = &node->operands[i];
        const hki_slot *slot = operand->slot < 0 ? NULL : &graph->slots[operand->slot];
        operand->drops = slot && slot->kind == HKI_SLOT_TEMPORARY && slot->last == index;
    }
}

void hki_graph_index(hk_graph *graph)
{
    for (int i = 0; i < graph->slot_count; i++)
        graph->slots[i].first = graph->slots[i].last = -1;
    for (int i = 0; i < graph->node_count; i++)
        index_first(graph, i);
    for (int i = 0; i < graph->node_count; i++)
        index_last(graph, i);
}

/* ---- facts ----------------------------------------------------------------------------------- */

const hk_status *hk_graph_status(const hk_graph *graph)
{
    const hki_status_facts facts = {.operation = "graph_status"};
    if (!graph)
        return hki_status_lend(
            hki_status_create(HK_INVALID_ARGUMENT, &facts, "argument graph is NULL"));
    if (graph == &no_memory_graph)
        return hki_status_lend(hki_status_no_memory());
    return hki_status_lend(hk_status_retain(graph->status));
}

static hk_graph_facts facts_of(const hk_graph *graph)
{
    hk_graph_facts facts = {0};
    if (!graph)
        return facts;
    facts.calls = graph->call_count;
    facts.flops = graph->flops;
    facts.tasks = graph->segments ? hki_segments_tasks(graph->segments) : graph->node_count;
    for (int i = 0; graph->teams && i < graph->teams->count; i++)
        facts.tasks -= graph->teams->list[i].count - 1;
    facts.fused_calls = hki_segments_fused_calls(graph->segments);
    facts.recorded_replays = hki_segments_recorded(graph->segments);
    for (int i = 0; i < graph->slot_count; i++) {
        const hki_slot *slot = &graph->slots[i];
        if (slot->kind == HKI_SLOT_TEMPORARY && slot->first >= 0)
            facts.temporary_bytes += slot->bytes;
    }
    return facts;
}

void hk_graph_read_facts(const hk_graph *graph, hk_graph_facts *facts)
{
    const hk_graph_facts own = facts_of(graph);
    hki_fill_struct(facts, &own, sizeof own);
}

int hk_graph_bound_count(const hk_graph *graph)
{
    return graph ? graph->bound_count : 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_operand(const hk_graph *graph, const hki_node_operand *operand, FILE *stream)
{
    static const char *const kinds[] = {"kept", "bound", "temporary"};
    char dims[192];
    hk_dims shape = {.ndim = operand->tensor.ndim};
    if (operand->slot < 0) {
        fputs("-", stream);
        return;
    }
    const hki_slot *slot = &graph->slots[operand->slot];
    memcpy(shape.dims, operand->tensor.dims, sizeof shape.dims);
    hki_dims_describe(&shape, dims, sizeof dims);
    fprintf(stream, "%s %d %s%s", kinds[slot->kind],
            slot->kind == HKI_SLOT_BOUND ? slot->bound : operand->slot,
            hk_dtype_name(operand->tensor.dtype), dims);
}

static void put_node(const hk_graph *graph, const hki_node *node, FILE *stream)
{
    fprintf(stream, "%s(", node->operation);
    for (int i = 0; i < node->input_count; i++) {
        fputs(i ? ", " : "", stream);
        put_operand(graph, &node->operands[i], stream);
    }
    fputs(")", stream);
    for (int i = 0; i < node->output_count; i++) {
        fputs(i ? ", " : " -> ", stream);
        put_operand(graph, &node->operands[node->input_count + i], stream);
    }
    fprintf(stream, " @%s", node->device->name);
    if (node->source.file)
        fprintf(stream, "  %s:%d", node->source.file, node->source.line);
    fputs(node->is_backward ? ", backward\n" : "\n", stream);
    if (node->chain)
        hki_chain_describe(node->chain, node->part, stream);
}

char *hk_graph_to_string(const hk_graph *graph)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return NULL;
    const hk_status *status = hk_graph_status(graph);
    if (!hk_ok(status))
        hk_status_print(status, stream);
    for (int i = 0; graph && i < graph->node_count; i++)
        put_node(graph, &graph->nodes[i], stream);
    bool complete = !ferror(stream);
    if (fclose(stream) || !complete) {
        free(text);
        return NULL;
    }
    return text;
}
