/* Two-dimensional convolution on one core: raw contiguous NCHW arrays, no arrays of the runtime.
   Every function is reentrant, allocates nothing, and works on the samples [sample_begin,
   sample_end) of the whole arrays (pointers are to sample 0). Scratch is the caller's: 64-byte
   aligned, as many bytes as the matching *_scratch_bytes says, contents irrelevant before and
   after.

   Method: the batch lies in the SIMD lanes; a block of samples is transposed to [..][lane] in
   scratch, convolved in register tiles, and transposed back. With few samples in the whole batch,
   strips of rows of one sample take the place of samples.

   Convolutions of 3 x 3 and, of floats, of 5 x 5 at stride 1 with 16 channels or more are Winograd's where that takes less:
   16 products for 2 x 2 results instead of 36, or 36 for 4 x 4 instead of 144, rounded a little differently. There an infinite or NaN element of x makes NaN of all
   results of the tiles that it is in, not only of those whose window has it.

   Results are a pure function of the geometry, the range of samples and the instruction set
   (kernel_isa.h). forward and backward_data give a sample the same bytes whatever range it is in.
   Padding takes part as zeros within a tile, so that an infinite weight next to padding may give
   NaN. Source: cross-correlation as in every framework; dilation as in "a trous". */
#ifndef HOCKET_OP_KERNELS_CONV2D_KERNEL_H
#define HOCKET_OP_KERNELS_CONV2D_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hki_conv2d_pass {
    HKI_CONV2D_FORWARD,
    HKI_CONV2D_BACKWARD_DATA,
    HKI_CONV2D_BACKWARD_WEIGHT,
} hki_conv2d_pass;

typedef enum hki_conv2d_method {
    HKI_CONV2D_BY_RULE,       /* of those below, by estimated cycles */
    HKI_CONV2D_LANES,         /* samples, or strips of them, in the lanes */
    HKI_CONV2D_DIRECT,        /* columns of an image in the lanes */
    HKI_CONV2D_WINOGRAD,      /* 16 products for 2 x 2 results of 3 x 3 */
    HKI_CONV2D_WINOGRAD_WIDE, /* 36 for 4 x 4 results of 3 x 3, or 2 x 2 of 5 x 5; float32 */
    HKI_CONV2D_POINTWISE,     /* conv2d_pointwise.h */
    HKI_CONV2D_COLUMNS,       /* conv2d_columns.h */
    HKI_CONV2D_METHOD_COUNT
} hki_conv2d_method;

typedef struct hki_conv2d_geometry {
    hki_conv2d_method method; /* by rule too where a pass of this geometry cannot take it */
    int64_t samples;          /* of the whole batch: decides the method, together with the rest */
    int64_t in_channels, in_height, in_width;
    /* out = (in + 2 pad - dilation (kernel - 1) - 1) / stride + 1, at least 1 */
    int64_t out_channels, out_height, out_width;
    int64_t kernel_height, kernel_width;
    int64_t stride_height, stride_width;
    int64_t pad_height, pad_width;
    int64_t dilation_height, dilation_width;
    /* Of so many parts of the result's channels, forward and backward_data compute [part_begin, part_end): elsewhere they
       leave the result as it is. 0 parts: all channels. More than one: where hki_conv2d_parts says so. */
    int64_t parts, part_begin, part_end;
} hki_conv2d_geometry;

/* A piece should be a multiple of this many samples; others work, with idle lanes. */
int64_t hki_conv2d_block_samples(const hki_conv2d_geometry *geometry, bool f64);

/* Parts that a pass's result may be cut into, for cores that have no samples: 1 where there are blocks of samples enough,
   or where parts would not pay. Whatever the cut, the bytes of the result are the same. */
int64_t hki_conv2d_parts(const hki_conv2d_geometry *geometry, hki_conv2d_pass pass, bool f64);

/* Whether a pass goes by Winograd's method. */
bool hki_conv2d_is_winograd(const hki_conv2d_geometry *geometry, hki_conv2d_pass pass, bool f64);

/* Independent of the piece's size: any range of samples works with that much, of the geometry's parts. */
size_t hki_conv2d_forward_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64);
size_t hki_conv2d_backward_data_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64);
size_t hki_conv2d_backward_weight_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64);

/* y[n,o,:,:] = bias[o] + sum_c x[n,c] (*) weight[o,c]; bias may be NULL. */
void hki_conv2d_forward_f32(const hki_conv2d_geometry *geometry, const float *x,
                            const float *weight, const float *bias, float *y, int64_t sample_begin,
                            int64_t sample_end, void *scratch);
void hki_conv2d_forward_f64(const hki_conv2d_geometry *geometry, const double *x,
                            const double *weight, const double *bias, double *y,
                            int64_t sample_begin, int64_t sample_end, void *scratch);

/* Overwrites dx of those samples. */
void hki_conv2d_backward_data_f32(const hki_conv2d_geometry *geometry, const float *dy,
                                  const float *weight, float *dx, int64_t sample_begin,
                                  int64_t sample_end, void *scratch);
void hki_conv2d_backward_data_f64(const hki_conv2d_geometry *geometry, const double *dy,
                                  const double *weight, double *dx, int64_t sample_begin,
                                  int64_t sample_end, void *scratch);

/* Overwrites dweight (whole) and, unless NULL, dbias with the sums over those samples, by base/sum_tree.h. False, with nothing
   promised of them, where hki_gemm has no memory. */
bool hki_conv2d_backward_weight_f32(const hki_conv2d_geometry *geometry, const float *x,
                                    const float *dy, float *dweight, float *dbias,
                                    int64_t sample_begin, int64_t sample_end, void *scratch);
bool hki_conv2d_backward_weight_f64(const hki_conv2d_geometry *geometry, const double *x,
                                    const double *dy, double *dweight, double *dbias,
                                    int64_t sample_begin, int64_t sample_end, void *scratch);

#endif
