/* A graph: what was noted of the calls of one capture, in their order, in terms of slots, which stand for storages. */
#ifndef HOCKET_GRAPH_GRAPH_H
#define HOCKET_GRAPH_GRAPH_H

#include "op/call/capture.h"
#include "op/random/random.h"

#include <stdlib.h>

#include <hocket/graph.h>
#include <stdio.h>

typedef enum hki_slot_kind {
    HKI_SLOT_EXTERNAL, /* a storage from outside, or one that the program holds a handle to: the same at each replay */
    HKI_SLOT_BOUND,    /* of an array that each replay gives */
    HKI_SLOT_TEMPORARY /* made and dropped within: a new storage at each replay, or none at all */
} hki_slot_kind;

typedef struct hki_slot {
    hki_slot_kind kind;
    hki_device *device;
    uint64_t bytes;
    bool is_pinned;
    /* EXTERNAL: a handle of the graph's own. TEMPORARY: a name while calls are noted, then NULL. */
    hki_storage *storage;
    int bound;       /* BOUND: index; one slot for each bound array */
    int first, last; /* nodes that name it, first and last; -1: none */
} hki_slot;

/* An operand of a node: the tensor's storage and data are NULL; its offset is from the slot's begin, of a bound array
 * from that array's first element. */
typedef struct hki_node_operand {
    int slot; /* -1: an optional input left out */
    hki_tensor tensor;
    hki_span span;     /* of the tensor as it is here */
    bool makes, drops; /* set by hki_graph_index: the first mention of a temporary; its last node */
} hki_node_operand;

typedef enum hki_node_kind { HKI_NODE_CALL, HKI_NODE_COMPOUND, HKI_NODE_CHAIN } hki_node_kind;

typedef struct hki_chain hki_chain;
typedef struct hki_segments hki_segments;
typedef struct hki_teams hki_teams;

typedef struct hki_node {
    hki_node_kind kind;
    const char *operation; /* static text */
    hk_source source;
    bool is_backward; /* issued by a backward pass */
    bool is_grad;     /* set when backward wrote this gradient directly into its destination */
    int first_call,
        last_call; /* that it stands for, of those noted: others may have come between */
    hki_device *device;

    const hk_op *op; /* CALL */
    hki_call_staging staging;
    bool is_new;        /* the outputs were made by the call */
    bool may_be_direct; /* see hki_call_may_be_direct */
    hki_plan plan;      /* CALL */
    int64_t piece_count;
    void *options; /* CALL: op->options_bytes; COMPOUND: options_bytes; owned; NULL: none */
    size_t options_bytes;
    int draw; /* CALL: index into the graph's draws; -1: it draws no numbers */
    /* Owned: inputs, then outputs. CHAIN: what it reads, then what it writes. COMPOUND: input_count arrays, each
     * read and written. */
    hki_node_operand *operands;
    int input_count, output_count;

    hki_capture_again_fn again; /* COMPOUND */
    size_t early_bytes; /* COMPOUND: how much of what it names it sums at a time; 0: no sum */
    hki_chain *chain;   /* CHAIN: counted */
    int part;           /* of the chain */
} hki_node;

struct hk_graph {
    atomic_uint refs;
    const hk_status *status; /* counted */
    hki_runtime *runtime;    /* counted */
    hki_slot *slots;
    int slot_count;
    hki_node *nodes;
    int node_count;
    int call_count; /* that were noted, before chains were formed */
    double flops;   /* of these calls, as their plans say */
    /* What calls took from streams of random numbers, in their order; generators are counted. */
    hki_stream_options *draws;
    int draw_count;
    struct hki_bound {
        hk_dims shape;
        hk_dtype dtype;
        hki_device *device;
        int64_t strides[HK_MAX_NDIM];
        int slot;
        bool is_written; /* set by hki_graph_index */
        bool is_made;    /* all of it is written before any of it is read */
    } * bound;
    int bound_count;
    hk_capture_options options;
    hki_segments
        *segments;    /* segments.h: owned; NULL: replays issue the nodes one by one, but for */
    hki_teams *teams; /* team.h: owned; NULL: there are none */
};

/* Takes from the streams as the calls did, in their order, whatever order they are done in: where the numbers of each of the
 * graph's draws begin this time. */
void hki_graph_draw(const hk_graph *graph, hki_stream_options *drawn);

/* A graph without nodes, with that status (taken). NULL when host memory is short. */
hk_graph *hki_graph_create(const hk_status *status);
/* The static graph for when host memory is short. */
hk_graph *hki_graph_no_memory(void);
/* Frees what the node itself owns; its chain stays. */
static inline void hki_node_deinit(hki_node *node)
{
    free(node->options);
    free(node->operands);
}
/* Frees nodes and slots and what they hold. */
void hki_graph_clear(hk_graph *graph);
/* Whether it writes this operand. */
static inline bool hki_node_writes(const hki_node *node, int operand)
{
    return node->kind == HKI_NODE_COMPOUND || operand >= node->input_count;
}

/* Sets what follows from the operands of the nodes: the first and the last node of each slot, who makes and drops
 * temporaries, which bound arrays are written. */
void hki_graph_index(hk_graph *graph);

/* Takes out copies: what is made only to be copied is made in the copy's place, unless the graph's options ask for the
 * calls as they were. Expects a graph that is indexed, and leaves one that is not. */
void hki_graph_forward_copies(hk_graph *graph);

/* Sets wanted[slot] for what is summed over devices or ranks: by a recorded sum, or all gradients
 * where one may follow the replay, over hosts or over accelerators. Returns how many bytes are
 * summed at a time; 0: nothing is. */
size_t hki_graph_find_early(const hk_graph *graph, bool of_hosts, bool *wanted);

/* ---- chains (chain.h) ---------------------------------------------------------------- */

/* Puts chains in the place of nodes that work sample by sample, where the graph's options allow it. Leaves the graph as it
 * is where host memory is short. Slots that only a chain uses from then on have first = -1. */
void hki_graph_form_chains(hk_graph *graph);

/* What a chain's task works on at one replay: storages[slot] is the storage that stands for a slot, base[slot] the
 * element offset of a bound array in it. Issues one task; false: out of host memory, nothing issued. */
bool hki_chain_issue(const hki_node *node, hki_storage *const *storages, const int64_t *base);
void hki_chain_destroy(hki_chain *chain);
/* Appends what a part of the chain does, a line per step, indented by two blanks. */
void hki_chain_describe(const hki_chain *chain, int part, FILE *stream);

#endif
