/* Replays whose results are new arrays. */
#include "graph/graph.h"

static const char operation[] = "replay";

static hk_array *make_bound(const hk_graph *graph, int index)
{
    const struct hki_bound *bound = &graph->bound[index];
    return bound->is_made ? hki_array_create(bound->device, bound->shape, bound->dtype)
                          : hki_array_create_failed(
                                NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                "bound array %d is to be made anew, but the graph does not write "
                                "all of it before it reads it",
                                index);
}

void(hk_replay_anew)(hk_graph *graph, hk_array *const *bound, int count, hk_array **made)
{
    const int all = hk_graph_bound_count(graph);
    hk_array *few[32], **arrays = all <= 32 ? few : malloc((size_t)all * sizeof *arrays);
    if (count < 0 || count > all) {
        (hk_replay)(graph, bound, count);
    } else if (count > 0 && !bound) {
        for (int i = count; i < all; i++)
            made[i - count] = hki_array_create_failed(NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                                      "bound is NULL, but count is %d", count);
    } else if (!arrays) {
        for (int i = count; i < all; i++)
            made[i - count] = hki_array_create_failed(NULL, operation, bound, count,
                                                      HK_OUT_OF_MEMORY, "out of host memory");
    } else {
        for (int i = 0; i < all; i++)
            arrays[i] = i < count ? bound[i] : (made[i - count] = make_bound(graph, i));
        (hk_replay)(graph, arrays, all);
    }
    if (arrays != few)
        free(arrays);
}
