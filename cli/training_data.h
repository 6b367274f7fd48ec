/* What a network is trained with: images of a folder, a text, or pairs of texts. */
#ifndef HOCKET_CLI_TRAINING_DATA_H
#define HOCKET_CLI_TRAINING_DATA_H

#include "models/models.h"

/* A text that each Debian system has, in the package base-files. */
#define DEFAULT_TEXT "/usr/share/common-licenses/GPL-3"

/* Zeros are none. */
typedef struct training_data {
    hk_data_set *train, *test; /* counted */
    hk_vocabulary *vocabulary; /* counted; of a text */
    const char *source;        /* where it is from; borrowed from the arguments, or the data set */
    int64_t classes;           /* of images; tokens of the vocabulary */
} training_data;

/* Images of the folder, as they are (size 0), or resized to so many rows and columns. False, and printed, when it cannot be. */
bool training_data_images(training_data *self, const char *folder, int64_t size);
/* Letters of a text, NULL: DEFAULT_TEXT, in samples of so many; its last tenth is for tests. */
bool training_data_text(training_data *self, const char *path, int64_t length);
/* Numbers in words, and in digits: to be read, and written. */
bool training_data_numbers(training_data *self);
void training_data_deinit(training_data *self);

#endif
