/* What conv2d_block.c asks of the kernels of one instruction set and type. Internal to conv2d_*.

   "Result" and "gradient" are the convolution's, before relu and pooling, as far as windows cover it: [channel]
   [height][width][lane]. The mask has one bit a lane and element of the result, a word an element in that order:
   whether the gradient passes there. Its words are bytes, or two bytes where there are more than 8 lanes. */
#ifndef HOCKET_OP_KERNELS_CONV2D_BLOCK_KERNELS_H
#define HOCKET_OP_KERNELS_CONV2D_BLOCK_KERNELS_H

#include "op/conv/conv2d_block.h"
#include "op/conv/conv2d_plan.h"

typedef struct hki_conv2d_block_forward_call {
    const hki_conv2d_block *block;
    const hki_conv2d_plan *plan;
    const void *x, *weight, *bias; /* weight: packed */
    void *y, *mask;                /* mask: NULL where none is wanted */
    void *band;                    /* room for source rows with padding; not used if in place */
    void *result;                  /* room for plan->sub_t rows of a channel tile's result */
} hki_conv2d_block_forward_call;

typedef struct hki_conv2d_block_backward_call {
    const hki_conv2d_block *block;
    int64_t height, width;        /* of the gradient */
    const hki_conv2d_plan *data;  /* NULL: no dx */
    const hki_conv2d_plan *weigh; /* NULL: neither dweight nor dbias, or a dense layer */
    const void *x, *dy, *mask, *weight;
    int64_t samples;
    void *dx, *dweight, *dbias;
    void *band; /* as above, of weigh's source */
    /* Room for the gradient: data's band of it, or weigh's channel tile x sub_t rows, whichever takes more. */
    void *gradient;
} hki_conv2d_block_backward_call;

typedef struct hki_conv2d_block_kernels {
    void (*pack)(const hki_conv2d_plan *plan, const void *weight, void *packed);
    void (*forward)(const hki_conv2d_block_forward_call *call);
    void (*backward)(const hki_conv2d_block_backward_call *call);
    void (*gather)(const void *rows, int64_t count, int64_t elements, void *lanes);
    void (*scatter)(const void *lanes, int64_t count, int64_t elements, void *rows);
} hki_conv2d_block_kernels;

extern const hki_conv2d_block_kernels hki_conv2d_block_kernels_portable_f32;
extern const hki_conv2d_block_kernels hki_conv2d_block_kernels_portable_f64;
extern const hki_conv2d_block_kernels hki_conv2d_block_kernels_avx2_f32;
extern const hki_conv2d_block_kernels hki_conv2d_block_kernels_avx2_f64;
extern const hki_conv2d_block_kernels hki_conv2d_block_kernels_avx512_f32;
extern const hki_conv2d_block_kernels hki_conv2d_block_kernels_avx512_f64;

/* Whether forward leaves a mask: relu and maxima are undone with it. */
static inline bool hki_conv2d_block_masks(const hki_conv2d_block *block)
{
    return block->relu || block->pool == HKI_BLOCK_POOL_MAX;
}

/* A kernel as large as the image, of one pixel maybe: a fully connected layer, whose inputs are the elements of x. */
static inline bool hki_conv2d_block_dense(const hki_conv2d_geometry *g)
{
    return g->kernel_height == g->in_height && g->kernel_width == g->in_width &&
           g->pad_height == 0 && g->pad_width == 0;
}

#endif
