/* Convolution of a few images, float32, with bias, relu and pooling in the same pass: for inference, where there are not
 * enough samples to fill SIMD lanes. Here output channels lie in the lanes.
 *
 * A value is an *image*: [sample][row][column][stride], the channels of a pixel side by side, those from `channels` to
 * `stride` nobody looks at; 64-byte aligned. x may also be in *rows*, C order, as arrays are: stride 0.
 *
 * Three methods, chosen by geometry and layout alone:
 *   dense      a kernel as large as the image: a matrix by a vector for each sample
 *   Winograd   5 x 5 at stride 1, few channels of x: 64 products give 4 x 4 results, instead of 400. Errors are within
 *              12 epsilon |x| |w|, |x| the largest element, |w| the largest sum of a channel's weights without signs;
 *              that is three to seven times what adding the products one by one loses. An infinite or NaN element
 *              of x makes NaN of all results of the tiles that it is in.
 *   direct     everything else: weights by pixels that lie side by side
 *
 * Every function is reentrant and allocates nothing. Results are a pure function of the arguments and the instruction set
 * (kernel_isa.h). */
#ifndef HOCKET_OP_KERNELS_CONV2D_IMAGE_H
#define HOCKET_OP_KERNELS_CONV2D_IMAGE_H

#include "op/conv/conv2d_block.h"

typedef struct hki_image {
    int64_t channels, height, width;
    int64_t stride; /* floats from pixel to pixel; 0: rows */
} hki_image;

typedef struct hki_conv2d_image {
    hki_conv2d_block block;
    /* Of x: the geometry's channels, height and width, or, for a dense layer, anything with as many elements, which its
     * weights' columns then stand for in C order. */
    hki_image x;
} hki_conv2d_image;

/* Samples that one call takes, at most. */
enum { HKI_IMAGE_SAMPLES = 4 };

/* Whether there is a kernel for it: true for all that hki_conv2d_block_supports, where x is as the comment above says. */
bool hki_conv2d_image_supports(const hki_conv2d_image *image);
/* Whether x had better be an image, not rows. */
bool hki_conv2d_image_wants_image(const hki_conv2d_block *block);
/* The layout of y: an image of out_channels, hki_conv2d_block_out_height and _out_width. */
hki_image hki_conv2d_image_result(const hki_conv2d_block *block);
/* An image of such values, with the stride that results have and Winograd's method needs. */
hki_image hki_image_make(int64_t channels, int64_t height, int64_t width);
/* Floats of a sample. */
int64_t hki_image_elements(const hki_image *image);
/* About how many nanoseconds a sample takes on one core of today, and would take if it were multiplied out: for decisions
 * that must not depend on measurement. */
double hki_conv2d_image_cost_ns(const hki_conv2d_block *block);
double hki_conv2d_image_direct_cost_ns(const hki_conv2d_block *block);

/* Bytes, multiples of 64: packed weights; workspace of forward on up to HKI_IMAGE_SAMPLES samples. */
size_t hki_conv2d_image_packed_bytes(const hki_conv2d_image *image);
size_t hki_conv2d_image_scratch_bytes(const hki_conv2d_image *image);

/* weight (O,C,KH,KW), C order. */
void hki_conv2d_image_pack(const hki_conv2d_image *image, const float *weight, void *packed);

/* y = pool(relu(conv2d(x, weight) + bias)) of 1 to HKI_IMAGE_SAMPLES samples; bias may be NULL. scratch: contents
 * irrelevant before and after. */
void hki_conv2d_image_forward(const hki_conv2d_image *image, int64_t samples, const float *x,
                              const void *packed, const float *bias, float *y, void *scratch);

/* Samples in rows to images and back. */
void hki_image_gather(const hki_image *image, const float *rows, int64_t samples, float *to);
void hki_image_scatter(const hki_image *image, const float *from, int64_t samples, float *rows);

#endif
