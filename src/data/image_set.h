/* A folder of labelled images as idx files, such as MNIST and Fashion-MNIST:
 *
 *     train-images-idx3-ubyte  u8 [count, height, width]      t10k-images-idx3-ubyte
 *     train-labels-idx1-ubyte  u8 [count]                     t10k-labels-idx1-ubyte
 *
 * each plain or with ".gz" after its name; where both are there, the plain one is read. Besides,
 * the pure functions of a loader: the batch of some indices, and the order of an epoch.
 *
 * Codes and messages are those of data/idx_file.h.
 *
 * Threads: hki_image_part and hki_image_set are immutable after init and load, so any number of
 * threads may fill batches from one. Only hki_image_set_load and hki_image_set_find block, on the
 * file system; these also call getenv, which must not race with setenv. */
#ifndef HOCKET_DATA_IMAGE_SET_H
#define HOCKET_DATA_IMAGE_SET_H

#include <hocket/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/idx_file.h"

#define HKI_IMAGE_TRAIN           1u
#define HKI_IMAGE_TEST            2u
#define HKI_IMAGE_DEFAULT_CLASSES 10
#define HKI_IMAGE_PLACES          3

/* Images with their labels. count, height and width are 1 or more; every label is below the class
 * count that was given. */
typedef struct hki_image_part {
    int64_t count, height, width;
    hki_idx_file images; /* owned; data is u8 [count, height, width] */
    hki_idx_file labels; /* owned; data is u8 [count] */
} hki_image_part;

typedef struct hki_image_set {
    char *folder;         /* owned; where the files were */
    hki_image_part train; /* all zeros if not asked for */
    hki_image_part test;  /* of the same height and width as train */
} hki_image_set;

typedef struct hki_image_set_options {
    const char
        *folder;     /* NULL: HOCKET_DATA_DIR if set and not empty, else Debian's Fashion-MNIST */
    int class_count; /* 1 to 256; 0: HKI_IMAGE_DEFAULT_CLASSES */
    uint64_t byte_limit; /* of each file's elements; 0: HKI_IDX_DEFAULT_LIMIT */
    unsigned parts;      /* HKI_IMAGE_TRAIN, HKI_IMAGE_TEST or both; 0: both */
} hki_image_set_options;

typedef enum hki_image_place_state {
    HKI_IMAGE_PLACE_UNSET,      /* nobody named a folder here */
    HKI_IMAGE_PLACE_NO_FOLDER,  /* named, and no folder there */
    HKI_IMAGE_PLACE_INCOMPLETE, /* a folder without the file `missing` */
    HKI_IMAGE_PLACE_COMPLETE,   /* every file of the parts has its name there */
} hki_image_place_state;

/* A place where an image set may be. The first that is not unset is chosen, and no other is tried:
 * who names a folder never gets another one's data. */
typedef struct hki_image_place {
    const char *origin;  /* static: "given folder", "HOCKET_DATA_DIR", "dataset-fashion-mnist" */
    const char *folder;  /* borrowed from the argument or the environment; NULL if unset */
    const char *missing; /* static: a file's name without .gz, if incomplete; else NULL */
    hki_image_place_state state;
    bool chosen;
} hki_image_place;

/* Lists all places in their order; parts as in the options. HK_OK if the chosen one is
 * complete, else HK_NOT_FOUND and a message that says where it looked and what to do. */
hk_code hki_image_set_find(hki_image_place places[HKI_IMAGE_PLACES], const char *folder,
                           unsigned parts, char *message, size_t message_bytes);

/* Finds, reads and checks an image set; options may be NULL. On failure *set is all zeros. */
hk_code hki_image_set_load(hki_image_set *set, const hki_image_set_options *options, char *message,
                           size_t message_bytes);

/* Frees what set owns and zeroes it; again, or on zeros, does nothing. */
void hki_image_set_deinit(hki_image_set *set);

/* Checks and joins two files; the names are for messages. On success images and labels are taken
 * and left all zeros; on failure they stay the caller's and *part is untouched. class_count as in
 * the options. */
hk_code hki_image_part_init(hki_image_part *part, hki_idx_file *images, hki_idx_file *labels,
                            const char *images_name, const char *labels_name, int class_count,
                            char *message, size_t message_bytes);

void hki_image_part_deinit(hki_image_part *part);

/* Where a batch of n samples goes; NULL for what is not wanted. */
typedef struct hki_image_batch {
    const int64_t *indices; /* [n], of samples */
    float *images;          /* [n, 1, height, width]: pixel / 255, in [0, 1] */
    int32_t *labels_i32;    /* [n] */
    int64_t *labels_i64;    /* [n] */
} hki_image_batch;

/* pixel / 255 of each. */
void hki_scale_pixels(float *to, const uint8_t *from, int64_t count);

/* Fills the batch's samples begin to end - 1 and returns end. If one of them has an index outside
 * [0, count), it stops there, with that one and those after it unwritten, and returns its position.
 * Disjoint ranges of one batch may be filled by several threads at once. */
int64_t hki_image_fill(const hki_image_part *part, const hki_image_batch *batch, int64_t begin,
                       int64_t end);

/* Writes the order of an epoch, a permutation of 0 … n - 1: a pure function of seed, epoch and n,
 * the same on every machine, no order likelier than another by its method. Fisher-Yates from the
 * end, with hki_bits_below on the 64-bit halves (words 0 and 1, then 2 and 3, low word first) of
 * philox(counter {block, block >> 32, epoch, HKI_PHILOX_SHUFFLE}, key {seed, seed >> 32}), block 0,
 * 1, … */
void hki_shuffle(uint64_t seed, uint32_t epoch, int64_t n, int64_t *permutation);

#endif
