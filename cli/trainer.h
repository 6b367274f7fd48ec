/* Trains a network on several devices: steps that only issue calls, and what is read of them later. */
#ifndef HOCKET_CLI_TRAINER_H
#define HOCKET_CLI_TRAINER_H

#include "lenet_model.h"

#include "models/models.h"

/* How the learning rate changes from step to step; `steps` are all that there will be. */
typedef enum lr_schedule {
    LR_CONSTANT,
    LR_COSINE, /* to 0 along half a cosine */
    LR_STEP,   /* a tenth after each third of the steps */
    LR_WARM_UP /* up along a line, for the first twentieth of the steps */
} lr_schedule;

/* Zeroed before trainer_init. */
typedef struct trainer {
    lenet model;                     /* its devices are the trainer's, whatever is trained */
    hk_module *modules[MAX_DEVICES]; /* counted; NULL: model itself is trained */
    bool is_language;                /* samples are texts: each token of them has a loss */
    int64_t tokens;                  /* that have one, of each sample */
    hk_array **params;               /* those of each device, one device after another; borrowed */
    hk_array **grads;                /* of each parameter, on each device */
    int param_count;                 /* on each device */
    hk_group *group;                 /* all ranks that train together; NULL: this process alone */
    int signal;                      /* that a rank has been interrupted by, as all know; 0: none */
    hk_optimizer *optimizer;         /* counted, of all of them; NULL: hk_sgd */
    hk_loader *train, *test;         /* counted */
    double lr;
    lr_schedule schedule;
    int64_t steps_done, steps_planned; /* of all epochs */
    bool goes_on;                      /* the first epoch has begun in another run */
    hk_all_reduce_algorithm all_reduce;
    bool captures;
    hk_graph *step;                 /* counted; NULL: not captured yet */
    int64_t step_rows[MAX_DEVICES]; /* that it was captured with */
    int64_t step_samples;           /* the same, of all ranks */
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
    const model_kind *network; /* NULL: the LeNet of lenet_model.h */
    model_options size;        /* of network */
    const char *optimizer;     /* as for hk_optimizer_create; NULL: hk_sgd */
    lr_schedule schedule;
    int64_t epochs;            /* for the schedule */
    hk_data_set *train, *test; /* retained by the loaders */
    int64_t batch_size;
    double lr;
    uint64_t seed;
    bool shuffle;
    const char *init;      /* folder of initial parameters, "book", or NULL: Glorot's */
    const int64_t *shares; /* of the devices, as in hk_loader_options; NULL: equal */
    hk_all_reduce_algorithm all_reduce;
    hk_group *group; /* ranks that train together; NULL: this process alone */
    bool capture;    /* a step's calls are noted once and replayed; see hocket/graph.h */
} trainer_options;

/* model.devices and device_count must be set. False, and printed, when it cannot be. */
bool trainer_init(trainer *self, const trainer_options *options);
void trainer_deinit(trainer *self);

int64_t trainer_step_count(const trainer *self); /* in an epoch */

/* The state of a training, to be saved, or overwritten with what was saved; entries has room for LENET_PARAMETERS. */
hk_checkpoint trainer_checkpoint(const trainer *self, hk_save_entry *entries);
/* Before it is loaded: does a step, whose outcome is overwritten, so that all to come are replays, as in a run that never stopped. */
void trainer_warm_up(trainer *self);
/* After that was loaded: tells the other devices, and goes on where the loader is. Returns its epoch. */
int64_t trainer_resume(trainer *self, const hk_checkpoint *state);

/* Scores of images, or of texts, on a device of the list. */
hk_array *trainer_forward(const trainer *self, int device, hk_array *x);

void trainer_start_epoch(trainer *self, int64_t epoch);
/* Issues the calls of one step; false when the epoch has no more. Waits for nothing but room in the
 * run-ahead window. */
bool trainer_step(trainer *self);
/* Blocks until the oldest `count` steps not yet read are finished; so many were issued. */
void trainer_wait(const trainer *self, int64_t count);
/* The signal by which it is to end, in a group as soon as all ranks know of it; 0: none. */
int trainer_signal(const trainer *self);
/* Blocks until the oldest step not yet read is finished; its mean loss goes to *loss. */
const hk_status *trainer_read_step(trainer *self, double *loss);
/* Blocks; the accuracy over the steps of this epoch, all of them read. */
const hk_status *trainer_read_accuracy(trainer *self, double *accuracy);
/* Blocks; the accuracy on the test part, computed on all devices. Stops early when interrupted. */
const hk_status *trainer_test(trainer *self, double *accuracy);

#endif
