/* What a recorded replay does, in steps, for the files that make them up. */
#ifndef HOCKET_GRAPH_RECORDED_STEPS_H
#define HOCKET_GRAPH_RECORDED_STEPS_H

#include "graph/step_checks.h"

/* A call, or a copy that it needs. */
typedef struct hki_step {
    const hki_node *node;
    bool is_copy;         /* from in[0] to out[0] */
    hki_kernel_call call; /* its tensors are these, see aim */
    hki_tensor in[HKI_MAX_INPUTS], out[HKI_MAX_OUTPUTS];
    int in_place[HKI_MAX_INPUTS], out_place[HKI_MAX_OUTPUTS]; /* -1: left out */
    int fused; /* so many, this one and those behind it, are one kernel; 0: that begins with another, or none */
    bool is_kept;    /* of such: others read the result */
    int check;       /* its number; -1: its kernels report nothing */
    uint64_t needs;  /* checks that its inputs depend on */
    uint64_t spares; /* with which it leaves what it writes as it is; 0: it always writes */
} hki_step;

/* Where arrays lie: places are the slots of the graph, and what is made for copies behind them. */
typedef struct hki_node_place {
    bool is_within;  /* in the graph's own memory, at `at` */
    int first, last; /* nodes that need it there */
    uint64_t at, bytes;
} hki_node_place;

/* All of a segment; room for them is the owner's, and enough. */
typedef struct hki_steps {
    const hk_graph *graph;
    hki_device *device;
    hki_step *list;
    int count;
    hki_node_place *places; /* by slot, and more behind them */
    int place_count;
    double flops;
    hki_writes writes;
    int checks[HKI_MAX_CHECKS]; /* their steps */
    int check_count;
    bool is_beyond; /* there are more checks than that, or no memory for what they concern */
    bool can_spare; /* all but gradients that is written and was there before */
} hki_steps;

enum { HKI_STEPS_ALIGNMENT = 256 /* as allocators of accelerators align */ };

/* Adds node `index` with the copies before and behind it, as a task of its own would make them (op/call/call_task.c). What may
 * fail for a check, is no gradient, and is written by a kernel that cannot spare it, is made elsewhere and then copied. */
void hki_steps_add(hki_steps *self, int index);
/* Finds steps that the device can do as one (hki_device_class.run_fused), and has the places that they use be there for all
 * of them. When all have been added, and before they are laid out. Returns the number of calls in such. */
int hki_steps_fuse(hki_steps *self);
/* Gives each place within the lowest room that nobody has at the same time. Returns where all of it ends. */
uint64_t hki_steps_lay_out(hki_steps *self);
/* Who is to be named where the step fails. */
hki_blame hki_step_blame(const hki_step *which);

#endif
