/* What the experiment multi measures: trainings on one to eight devices, and what theory says of them. */
#ifndef HOCKET_CLI_MULTI_RUNS_H
#define HOCKET_CLI_MULTI_RUNS_H

#include "measured_training.h"

enum { MAX_SIMS = 8, KS = 4 /* numbers of devices: 1, 2, 4, 8 */, MAX_REPEAT = 1000 };

typedef struct multi_options {
    experiment_options common;
    const char *data;
    int64_t steps, batch;
    double flops, link;
} multi_options;

/* Seconds of one step of a recorded run in which at least one call of a kind ran. */
typedef struct step_parts {
    double step, convolution, dense, pool, relu, other, backward, collective,
        collective_in_backward;
} step_parts;

typedef struct way {
    int devices;
    bool on_cpu; /* one core each; else simulated */
    int64_t batch;
    hk_all_reduce_algorithm all_reduce;
    bool is_recorded; /* once, for its parts */
    bool is_picture;  /* what --trace and --svg show */
    /* what was measured */
    timing runs[MAX_REPEAT];
    double seconds[MAX_REPEAT]; /* of a step */
    double in_bytes, out_bytes; /* of a step, all devices together */
    step_parts parts;           /* of the first repetition */
    measured_training training; /* the last one */
} way;

typedef struct multi {
    const multi_options *options;
    experiment *report;
    hk_data_set *train, *test;
    bool failed;
    way fixed[KS];   /* the same batch on k devices */
    way grown[KS];   /* k times the batch on k devices */
    way alone[KS];   /* a k-th of the batch on one device */
    way central[KS]; /* as fixed, by one algorithm or the other */
    way parts[KS];
    way cpu[2]; /* one and two CPU devices */
} multi;

/* Trains in one way, in a runtime of its own. Where it cannot: self->failed, and printed; later calls do nothing. */
void multi_measure(multi *self, way *how, int repetition);
/* Seconds of a step. */
spread multi_step_time(const multi *self, const way *how);
/* Mean loss of the last quarter of the steps with k times the batch, after as many samples whatever k; NAN when it
 * cannot be. */
double multi_final_loss(multi *self, int k, double lr);
/* Time and accuracy of the test part on k simulated devices, after the timed steps. */
void multi_test(multi *self, int k, timing *time, double *accuracy);

/* What a step moves between k devices, whichever the algorithm: each gradient comes from k-1 of them, and each sum
 * goes to k-1. */
double multi_theory_bytes(const way *how);
/* A step of k devices: what one device takes for a k-th of the batch, then the sums that nothing can hide. These
 * are the last gradients', conv2's and conv1's, or what is left of all sums when the backward pass has ended. */
double multi_predicted_seconds(const multi *self, const way *how, const way *alone);

#endif
