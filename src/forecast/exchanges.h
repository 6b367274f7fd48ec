/* Exchanges of a replay: what is between a sum's parts and its results. */
#ifndef HOCKET_FORECAST_EXCHANGES_H
#define HOCKET_FORECAST_EXCHANGES_H

#include "forecast/replay.h"

/* A node of an exchange. Queues are numbered over all processes; behind those come the exchanges' own. */
typedef struct hki_exchange_node {
    int sum, queue;
    int also; /* a second queue that it takes at once; -1: none */
    int64_t duration_ns, order;
} hki_exchange_node;

typedef struct hki_exchanges {
    hki_exchange_node *nodes;
    int node_count;
    int queue_count; /* of their own */
    /* Edges, from and to nodes of the replay. */
    int (*edges)[2];
    int edge_count;
} hki_exchanges;

int64_t hki_exchanges_nodes(const hki_replay_plan *plan);
/* False when host memory is short; hki_exchanges_deinit in any case. */
bool hki_exchanges_init(hki_exchanges *self, const hki_replay_plan *plan);
void hki_exchanges_deinit(hki_exchanges *self);

/* Orders of nodes of a replay: that of the recording, and within it. */
#define HKI_ORDERS ((int64_t)1 << 24)

#endif
