/* Files of trainings: what `hocket train --save` writes, `--resume` goes on from and `hocket predict` loads. */
#ifndef HOCKET_CLI_SAVED_TRAINING_H
#define HOCKET_CLI_SAVED_TRAINING_H

#include "trainer.h"
#include "training_data.h"

/* How a network is made, beside its name. */
typedef struct saved_shape {
    int64_t channels, height, width; /* of images */
    model_options options;
} saved_shape;

/* False, and printed, when it cannot be: so below. name: the network's. */
bool saved_training_write(const char *path, const char *name, const trainer *from,
                          const training_data *data, const model_options *options);
/* Sets *epoch to the one to go on with, from 0. keeps_lr: the trainer's learning rate is to be used, and not the file's. */
bool saved_training_read(const char *path, const char *name, trainer *to, const training_data *data,
                         bool keeps_lr, int64_t *epoch);

/* What a file says of its network. The archive is the caller's; failed ones are refused. */
bool saved_shape_read(const hk_archive *archive, const char *path, const char *name,
                      saved_shape *shape);
/* The name of a class, or its number in `room`. */
const char *saved_class_name(const hk_archive *archive, int64_t label, char *room, size_t bytes);

#endif
