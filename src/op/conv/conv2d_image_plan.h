/* What follows from the geometry of a convolution of images: method, groups of channels, sizes. Pure functions. Internal
 * to conv2d_image*. */
#ifndef HOCKET_OP_KERNELS_CONV2D_IMAGE_PLAN_H
#define HOCKET_OP_KERNELS_CONV2D_IMAGE_PLAN_H

#include "op/conv/conv2d_image_kernels.h"

enum {
    HKI_IMAGE_LANES = 16, /* of a vector, at most */
    HKI_IMAGE_ALL_POINTS = HKI_IMAGE_POINTS * HKI_IMAGE_POINTS,
    /* Of x, at most, for Winograd's method: with 32 and weights scaled as initialisers do, errors reach 1e-5. */
    HKI_IMAGE_WINOGRAD_CHANNELS = 24
};

typedef enum hki_image_method {
    HKI_IMAGE_METHOD_DENSE,
    HKI_IMAGE_METHOD_WINOGRAD,
    HKI_IMAGE_METHOD_DIRECT
} hki_image_method;

hki_image_method hki_image_method_of(const hki_conv2d_block *block);

/* A group of channels. */
typedef struct hki_image_group {
    const hki_conv2d_image_kernels *kernels;
    int64_t first, count; /* channels */
} hki_image_group;

/* The group that begins at a channel, which another one ends at, or 0. */
hki_image_group hki_image_group_at(int64_t first, int64_t channels);
/* The group, where a quarter of the lanes of so many vectors is enough for it, and there is a way to use that: its kernels
 * are those of whole vectors. Else vectors is 0. */
typedef struct hki_image_quarters {
    const hki_conv2d_image_kernels *kernels;
    int64_t vectors;
} hki_image_quarters;

hki_image_quarters hki_image_quarters_at(const hki_conv2d_block *block, int64_t first);
/* Whole groups that one call takes, from one on: `most`, or less; 1 for a group that is not whole. */
int64_t hki_image_vectors(const hki_image_group *first, int64_t channels, int64_t most);
/* Lanes of all groups. */
int64_t hki_image_padded(int64_t channels);
/* Channels that may be computed apart from the others: all steps but those of the last channels take as many. */
int64_t hki_image_dense_part(void);

bool hki_image_pools(const hki_conv2d_block *block);
/* By windows of 2 x 2, which are pooled where their elements are made. */
bool hki_image_pools_by_four(const hki_conv2d_block *block);
/* Results of the convolution that windows cover. */
int64_t hki_image_covered_height(const hki_conv2d_block *block);
int64_t hki_image_covered_width(const hki_conv2d_block *block);
/* Weights of an output channel. */
int64_t hki_image_terms(const hki_conv2d_geometry *g);
/* Winograd's tiles of a sample. */
int64_t hki_image_tile_rows(const hki_conv2d_block *block);
int64_t hki_image_tile_columns(const hki_conv2d_block *block);
/* Floats of what a step of it transforms, and of the sums that become of that. */
int64_t hki_image_transformed(const hki_conv2d_image *image);
int64_t hki_image_sums(void);

/* The direct method's source: a sample with its padding, [channel][row][part][column], so that results that are
 * neighbours find theirs side by side: column i of the padded source is element i / stride of the part i % stride. */
typedef struct hki_image_planes {
    int64_t height, parts, part; /* rows; parts of a row; floats of a part */
} hki_image_planes;

hki_image_planes hki_image_planes_of(const hki_conv2d_block *block);
int64_t hki_image_planes_elements(const hki_conv2d_block *block);
/* Of the direct method's packed weights, before the weights themselves: where terms find their elements. */
size_t hki_image_offsets_bytes(const hki_conv2d_block *block);

#endif
