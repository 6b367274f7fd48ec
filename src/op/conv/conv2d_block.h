/* Convolution of one block of samples that lie in SIMD lanes, together with what often follows it: bias, relu and
   pooling. Nothing of the convolution's own result is kept but one bit or two an element, so a chain of layers can
   work through a block of samples in the cache.

   A value of E elements a sample is [E][L]: element e of sample s at e * L + s, e counting in C order, L =
   hki_conv2d_block_lanes. Pointers to such values are 64-byte aligned. Of a block with fewer samples the other lanes
   hold anything finite; they do not change what the samples in use give.

   A fully connected layer is a convolution of images of one pixel: kernel 1 x 1, inputs as channels.

   Every function is reentrant and allocates nothing. Results are a pure function of the arguments and the instruction
   set (kernel_isa.h): a sample's forward and backward_data results do not depend on its lane or its neighbours. */
#ifndef HOCKET_OP_KERNELS_CONV2D_BLOCK_H
#define HOCKET_OP_KERNELS_CONV2D_BLOCK_H

#include "op/conv/conv2d_kernel.h"

typedef enum hki_block_pool {
    HKI_BLOCK_POOL_NONE,
    HKI_BLOCK_POOL_AVERAGE,
    HKI_BLOCK_POOL_MAX
} hki_block_pool;

typedef struct hki_conv2d_block {
    hki_conv2d_geometry geometry; /* of the convolution; samples is not looked at */
    bool relu;                    /* y = a < 0 ? 0 : a, before pooling */
    hki_block_pool pool;
    /* Windows side by side (stride = size), no padding, from the top left; rows and columns that no window covers are
       never computed, and their gradient is no zero that is added: it does not take part. */
    int64_t pool_height, pool_width;
} hki_conv2d_block;

/* Samples of a block: a pure function of the instruction set and the type. */
int64_t hki_conv2d_block_lanes(bool f64);
/* Whether there is a kernel for it: a true answer for everything that the operators conv2d, relu and pooling without
   overlap and padding allow, unless some size is too large for the tables (the comment in the source says which). */
bool hki_conv2d_block_supports(const hki_conv2d_block *block, bool f64);
/* Rows and columns of y. */
int64_t hki_conv2d_block_out_height(const hki_conv2d_block *block);
int64_t hki_conv2d_block_out_width(const hki_conv2d_block *block);

/* Bytes of: weights as forward and backward want them; what forward leaves for backward of one block (0: nothing);
   workspace of either pass. All multiples of 64. */
size_t hki_conv2d_block_packed_bytes(const hki_conv2d_block *block, bool f64);
size_t hki_conv2d_block_mask_bytes(const hki_conv2d_block *block, bool f64);
size_t hki_conv2d_block_forward_scratch_bytes(const hki_conv2d_block *block, bool f64);
size_t hki_conv2d_block_backward_scratch_bytes(const hki_conv2d_block *block, bool f64);

/* weight (O,C,KH,KW), C order, contiguous: packed once, used for any number of blocks. */
void hki_conv2d_block_pack_forward(const hki_conv2d_block *block, bool f64, const void *weight,
                                   void *packed);
void hki_conv2d_block_pack_backward(const hki_conv2d_block *block, bool f64, const void *weight,
                                    void *packed);

/* y = pool(relu(conv2d(x, weight) + bias)); bias may be NULL, mask too, when no backward will come. x [C][H][W][L],
   y [O][out_height][out_width][L]. scratch: contents irrelevant before and after. */
void hki_conv2d_block_forward(const hki_conv2d_block *block, bool f64, const void *x,
                              const void *packed, const void *bias, void *y, void *mask,
                              void *scratch);

/* From dy, shaped like y, and the mask of the forward pass: adds this block's part to dweight (O,C,KH,KW) and dbias
   (O), each of which may be NULL; overwrites dx, shaped like x, unless that is NULL (then packed may be, too). Only
   the first `samples` lanes take part in the sums, whatever the others hold, infinities and NaN included. */
void hki_conv2d_block_backward(const hki_conv2d_block *block, bool f64, const void *x,
                               const void *dy, const void *mask, const void *packed,
                               int64_t samples, void *dx, void *dweight, void *dbias,
                               void *scratch);

/* count rows of E elements, C order, to [E][L] and back; lanes from count on become zeros. Any E; rows need no
   alignment. */
void hki_block_gather(bool f64, const void *rows, int64_t count, int64_t elements, void *lanes);
void hki_block_scatter(bool f64, const void *lanes, int64_t count, int64_t elements, void *rows);

#endif
