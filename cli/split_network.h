/* What the experiment split-network measures: passes over one batch of a network of blocks, split over simulated devices in several
 * ways, each in a runtime of its own. A block is two pairs of dense layers with tanh between each two; blocks are as many as devices. */
#ifndef HOCKET_CLI_SPLIT_NETWORK_H
#define HOCKET_CLI_SPLIT_NETWORK_H

#include "experiment.h"

enum {
    MAX_PARTS = 8,
    MAX_REPEAT = 1000,
    PAIR = 2,
    PAIRS = 2,
    LAYERS = PAIR * PAIRS /* of a block */
};

typedef struct split_network_options {
    experiment_options common;
    int64_t devices, batches, batch, width;
    double flops, link;
} split_network_options;

typedef enum way_name { WHOLE, BY_LAYER, GPIPE, ONE_F_ONE_B, BY_DATA, WAY_COUNT } way_name;

typedef struct way {
    timing runs[MAX_REPEAT];
    double seconds[MAX_REPEAT]; /* of a pass */
    /* Of the last run: */
    double busy[MAX_PARTS];   /* seconds of each device's computing */
    double memory[MAX_PARTS]; /* the most bytes that it held */
    double state;             /* bytes of the optimiser's state, the most on one device */
    double traffic;           /* bytes that left devices */
    float *gradients;         /* of all weights, one after the other */
} way;

typedef struct split_network {
    const split_network_options *options;
    experiment *report;
    int devices, batches;
    int64_t batch, width, weights; /* weights: numbers in all layers */
    float *values, *inputs;        /* of the weights, and of a batch */
    bool failed;
    way ways[WAY_COUNT];
} split_network;

/* False: no memory. */
bool split_network_init(split_network *self, const split_network_options *options);
void split_network_deinit(split_network *self);
/* Runs one pass that is timed, behind one that is not. Where it cannot: self->failed; later calls do nothing. */
void split_network_measure(split_network *self, way_name name, int repetition);

#endif
