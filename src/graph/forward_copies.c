/* Results that are made only to be copied, as gradients are, are made where the copy would put them. */
#include "graph/chain.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

static bool names(const hki_node *node, int slot)
{
    for (int i = 0; i < node->input_count + node->output_count; i++)
        if (node->operands[i].slot == slot)
            return true;
    return false;
}

static bool is_whole(const hki_node_operand *operand, int64_t size)
{
    return operand->tensor.offset == 0 && operand->tensor.size == size &&
           hki_chain_is_dense(&operand->tensor);
}

static bool is_plain_copy(const hk_graph *graph, const hki_node *node)
{
    if (node->kind != HKI_NODE_CALL || node->op->fuse != HKI_FUSE_COPY ||
        node->staging.copy_inputs || node->staging.copy_output)
        return false;
    const hki_node_operand *from = &node->operands[0], *to = &node->operands[1];
    const hki_slot *source = &graph->slots[from->slot], *target = &graph->slots[to->slot];
    return source->kind == HKI_SLOT_TEMPORARY && source->device == target->device &&
           source->is_pinned == target->is_pinned && from->slot != to->slot &&
           from->tensor.dtype == to->tensor.dtype && from->tensor.size > 0 &&
           is_whole(from, to->tensor.size) && hki_chain_is_dense(&to->tensor);
}

/* The operand of a call that makes what the copy reads, if both are all that name it, and nothing before the copy names
 * what it writes (of a memory that several results share, only the first could be part of a chain); NULL: there is
 * none. */
static hki_node_operand *find_made(const hk_graph *graph, int copy)
{
    const hki_node_operand *from = &graph->nodes[copy].operands[0];
    int target = graph->nodes[copy].operands[1].slot, maker = graph->slots[from->slot].first;
    hki_node_operand *made = NULL;
    if (graph->slots[from->slot].last != copy || maker == copy)
        return NULL;
    hki_node *node = &graph->nodes[maker];
    for (int i = 0; i < copy; i++)
        if (names(&graph->nodes[i], target) || (i > maker && names(&graph->nodes[i], from->slot)))
            return NULL;
    if (node->kind != HKI_NODE_CALL || !node->is_new || node->staging.copy_output)
        return NULL;
    for (int i = node->input_count; i < node->input_count + node->output_count; i++)
        if (node->operands[i].slot == from->slot)
            made = &node->operands[i];
    return made && made->tensor.dtype == from->tensor.dtype && is_whole(made, from->tensor.size)
               ? made
               : NULL;
}

void hki_graph_forward_copies(hk_graph *graph)
{
    int kept = 0;
    if (graph->options.exact)
        return;
    for (int i = 0; i < graph->node_count; i++) {
        hki_node_operand *made =
            is_plain_copy(graph, &graph->nodes[i]) ? find_made(graph, i) : NULL;
        if (!made)
            continue;
        const hki_node_operand *target = &graph->nodes[i].operands[1];
        hki_node *maker = &graph->nodes[graph->slots[made->slot].first];
        maker->last_call = graph->nodes[i].last_call;
        maker->is_grad = graph->nodes[i].is_backward;
        made->slot = target->slot; /* in its own shape, which the kernel expects */
        made->tensor.offset = target->tensor.offset;
        made->span = target->span;
        hki_node_deinit(&graph->nodes[i]);
        graph->nodes[i].operands = NULL;
        graph->nodes[i].input_count = graph->nodes[i].output_count = 0;
    }
    for (int i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].operands)
            graph->nodes[kept++] = graph->nodes[i];
    graph->node_count = kept;
}
