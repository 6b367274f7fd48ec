/* Trains a LeNet on several devices: steps that only issue calls, and what is read of them later. */
#ifndef HOCKET_CLI_TRAINER_H
#define HOCKET_CLI_TRAINER_H

#include "lenet_model.h"

/* Zeroed before trainer_init. */
typedef struct trainer {
    lenet model;
    hk_loader *train, *test; /* counted */
    double lr;
    hk_all_reduce_algorithm all_reduce;
    bool captures;
    hk_graph *step;                 /* counted; NULL: not captured yet */
    int64_t step_rows[MAX_DEVICES]; /* that it was captured with */
    /* Loss sum and right answers of each step of the epoch, on each device: read when they are ready, so
     * that no step waits. */
    hk_array *losses[MAX_DEVICES], *hits[MAX_DEVICES];
    hk_array *test_hits[MAX_DEVICES];
    int64_t issued, read; /* steps of this epoch */
    int64_t *samples;     /* of each step of this epoch */
    /* Of the steps read. */
    int64_t samples_read;
    double loss_sum;
} trainer;

typedef struct trainer_options {
    hk_data_set *train, *test; /* retained by the loaders */
    int64_t batch_size;
    double lr;
    uint64_t seed;
    bool shuffle;
    const char *init;      /* folder of initial parameters, or NULL: drawn */
    const int64_t *shares; /* of the devices, as in hk_loader_options; NULL: equal */
    hk_all_reduce_algorithm all_reduce;
    bool capture; /* a step's calls are noted once and replayed; see hocket/graph.h */
} trainer_options;

/* model.devices and device_count must be set. False, and printed, when it cannot be. */
bool trainer_init(trainer *self, const trainer_options *options);
void trainer_deinit(trainer *self);

int64_t trainer_step_count(const trainer *self); /* in an epoch */

void trainer_start_epoch(trainer *self, int64_t epoch);
/* Issues the calls of one step; false when the epoch has no more. Waits for nothing but room in the
 * run-ahead window. */
bool trainer_step(trainer *self);
/* Blocks until the oldest `count` steps not yet read are finished; so many were issued. */
void trainer_wait(const trainer *self, int64_t count);
/* Blocks until the oldest step not yet read is finished; its mean loss goes to *loss. */
const hk_status *trainer_read_step(trainer *self, double *loss);
/* Blocks; the accuracy over the steps of this epoch, all of them read. */
const hk_status *trainer_read_accuracy(trainer *self, double *accuracy);
/* Blocks; the accuracy on the test part, computed on all devices. Stops early when interrupted. */
const hk_status *trainer_test(trainer *self, double *accuracy);

#endif
