/* What the arrays must be that a replay is given. */
#ifndef HOCKET_GRAPH_BOUND_H
#define HOCKET_GRAPH_BOUND_H

#include "graph/graph.h"

/* All bound arrays fail by one record; without any, it is just noted. */
HK_PRINTF(4, 5)
void hki_bound_refuse(hk_array *const *bound, int count, hk_code code, const char *format, ...);
/* Whether the graph can be replayed on these; else they have been failed. */
bool hki_bound_check(const hk_graph *graph, hk_array *const *bound, int count);

#endif
