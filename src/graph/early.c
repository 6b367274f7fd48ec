/* What is summed over devices or ranks, and so is wanted before the rest of a replay has ended. */
#include "graph/graph.h"

static bool may_sum_later(const hk_graph *graph, bool of_hosts)
{
    int alike = 0, count;
    hki_device *const *devices = hki_runtime_devices(graph->runtime, &count);
    for (int i = 0; i < count; i++)
        alike += hki_device_is_host(devices[i]) == of_hosts;
    return alike > 1 || atomic_load_explicit(&hki_capture_has_ranks, memory_order_relaxed);
}

size_t hki_graph_find_early(const hk_graph *graph, bool of_hosts, bool *wanted)
{
    size_t bytes = 0;
    for (int i = 0; i < graph->node_count; i++) {
        const hki_node *node = &graph->nodes[i];
        if (node->kind != HKI_NODE_COMPOUND || node->early_bytes == 0)
            continue;
        bytes = bytes == 0 || node->early_bytes < bytes ? node->early_bytes : bytes;
        for (int j = 0; j < node->input_count; j++)
            if (node->operands[j].slot >= 0)
                wanted[node->operands[j].slot] = true;
    }
    if (bytes > 0 || !may_sum_later(graph, of_hosts))
        return bytes;
    for (int i = 0; i < graph->slot_count; i++)
        wanted[i] = graph->slots[i].kind == HKI_SLOT_EXTERNAL &&
                    hki_storage_has(graph->slots[i].storage, HKI_IS_GRADIENT);
    return HKI_EARLY_BYTES;
}
