/* How long a collective takes, and what goes over the links, by the model of latency and bandwidth. */
#ifndef HOCKET_FORECAST_COST_H
#define HOCKET_FORECAST_COST_H

#include "forecast/topology.h"

typedef struct hki_collective_cost {
    double ns;
    /* By level: over one link in one direction, and how long that keeps it busy. */
    double link_bytes[HKI_TOPOLOGY_LEVELS], busy_ns[HKI_TOPOLOGY_LEVELS];
} hki_collective_cost;

/* Every one of `devices` devices gets the sum of all arrays, of `bytes` in elements of element_bytes. Devices fill the
 * topology in order. Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH",
 * 2005; for rings Patarasuk and Yuan, 2009. Not for HKI_COLLECTIVE_COPIES, which is replayed copy by copy. */
hki_collective_cost hki_all_reduce_cost(const hk_topology *topology, int64_t devices, double bytes,
                                        double element_bytes);
/* Something else that all take part in, and in which `bytes` go over each link: a broadcast, values that are gathered. */
hki_collective_cost hki_exchange_cost(const hk_topology *topology, int64_t devices, double bytes);

/* Children of the largest switch of the level; and links in use, none where no switch has two children. */
int64_t hki_level_children(const hk_topology *topology, int level, int64_t devices);
int64_t hki_level_links(const hk_topology *topology, int level, int64_t devices);
/* Devices of the fullest machine to each of its cores; 0 where cores do not count. */
double hki_core_load(const hk_topology *topology, int64_t devices);
/* The lowest level whose switch has both devices below it; a != b. */
int hki_common_level(const hk_topology *topology, int64_t a, int64_t b);

/* What a message of so many bytes takes over a link of the level, beside the latency. */
double hki_link_ns(const hki_level *level, double bytes);

/* A copy between two devices, and a sum of `inputs` arrays into one: nanoseconds, cut as simulated devices do. */
int64_t hki_copy_ns(const hk_topology *topology, int level, double bytes);
int64_t hki_sum_ns(const hk_topology *topology, int64_t inputs, double elements, double bytes);

#endif
