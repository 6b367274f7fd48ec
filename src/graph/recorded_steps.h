/* What a recorded replay does, in steps, for the files that make them up. */
#ifndef HOCKET_GRAPH_RECORDED_STEPS_H
#define HOCKET_GRAPH_RECORDED_STEPS_H

#include "graph/graph.h"

/* A call, or a copy that it needs. */
typedef struct hki_step {
    const hki_node *node;
    bool is_copy;         /* from in[0] to out[0] */
    hki_kernel_call call; /* its tensors are these, see aim */
    hki_tensor in[HKI_MAX_INPUTS], out[HKI_MAX_OUTPUTS];
    int in_place[HKI_MAX_INPUTS], out_place[HKI_MAX_OUTPUTS]; /* -1: left out */
    int fused; /* so many, this one and those behind it, are one kernel; 0: that begins with another, or none */
    bool is_kept; /* of such: others read the result */
} hki_step;

/* Where arrays lie: places are the slots of the graph, and what is made for copies behind them. */
typedef struct hki_place {
    bool is_within;  /* in the graph's own memory, at `at` */
    int first, last; /* nodes that need it there */
    uint64_t at, bytes;
} hki_place;

/* Finds steps that the device can do as one (hki_device_class.run_fused), and has the places that they use be there for all
 * of them. Before these are laid out. Returns the number of calls in such. */
int hki_steps_fuse(const hk_graph *graph, hki_step *steps, int count, hki_place *places);

#endif
