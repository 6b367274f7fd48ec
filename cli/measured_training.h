/* The book's LeNet, trained for a few steps that are timed: what the experiments multi and split measure. */
#ifndef HOCKET_CLI_MEASURED_TRAINING_H
#define HOCKET_CLI_MEASURED_TRAINING_H

#include "experiment.h"
#include "trainer.h"

/* Steps before the timed ones, which fill caches of memory and the loader's queue. */
enum { WARM_UP_STEPS = 1, MAX_TIMED_STEPS = 1000 };

typedef struct training_setup {
    hk_data_set *train, *test; /* borrowed */
    const hk_device *devices;
    int device_count;
    int64_t batch; /* samples of a step, on all devices together */
    int steps;     /* timed, at most MAX_TIMED_STEPS */
    double lr;
    const int64_t *shares; /* of the devices; NULL: equal */
    hk_all_reduce_algorithm all_reduce;
} training_setup;

/* Zeroed before training_init. */
typedef struct measured_training {
    trainer trainer;
    training_setup setup;
    timing time;                                    /* of the timed steps */
    uint64_t in_bytes, out_bytes;                   /* copied to devices, and from them, in these */
    double losses[WARM_UP_STEPS + MAX_TIMED_STEPS]; /* means of each step's samples */
} measured_training;

/* Devices, data, parameters of a size with which the loss falls from the first step on, and the warm-up. False, and
 * printed, when it cannot be. Blocks. */
bool training_init(measured_training *self, const training_setup *setup);
void training_deinit(measured_training *self);

/* Runs the timed steps, sets the fields above. False, and printed, when a call failed. Blocks. */
bool training_run(measured_training *self);
/* Issues the timed steps once more: a function for experiment_trace. `self` is a measured_training. */
void training_issue(void *self);

/* Seconds of a step; NAN before a run. */
double training_step_seconds(const measured_training *self);
/* Largest relative difference of two runs' losses. */
double training_loss_difference(const measured_training *self, const measured_training *other);

#endif
