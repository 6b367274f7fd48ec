/* Within the plug-in: convolutions and their gradients by cuDNN, of contiguous arrays in the order samples, channels,
 * rows, columns. What it says about a problem is kept for each stream. Only algorithms that give the same bytes on every
 * run are taken, and tensor cores for float32 only where rounding to tf32 is allowed.
 *
 * Used by the stream's thread. */
#ifndef HOCKET_DEVICE_CUDA_CONVOLUTIONS_H
#define HOCKET_DEVICE_CUDA_CONVOLUTIONS_H

#include "device/cuda/cuda_stream.h"

typedef enum hki_cuda_convolution_kind {
    HKI_CUDA_FORWARD,        /* y of x, weight and bias */
    HKI_CUDA_BACKWARD_DATA,  /* x's gradient of dy and weight */
    HKI_CUDA_BACKWARD_WEIGHT /* weight's gradient of x and dy */
} hki_cuda_convolution_kind;

/* No size is 0. A key of a cache: without gaps. */
typedef struct hki_cuda_convolution {
    int32_t kind; /* hki_cuda_convolution_kind */
    int32_t is_f64, has_bias;
    int32_t samples, in_channels, out_channels; /* of all groups */
    int32_t groups;
    int32_t in_size[2], out_size[2], kernel[2]; /* rows, columns */
    int32_t stride[2], padding[2], dilation[2];
} hki_cuda_convolution;

typedef struct hki_cuda_convolution_plan hki_cuda_convolution_plan;

/* How to do it, borrowed until the next call of this function. NULL: cuDNN is not there, refuses it by any status, or was
 * slower than own kernels when it was measured; or there was an error, which has been noted: then *failed. */
hki_cuda_convolution_plan *hki_cuda_convolution_plan_for(hki_cuda_stream *stream,
                                                         const hki_cuda_convolution *problem,
                                                         bool *failed);
size_t hki_cuda_convolution_workspace_bytes(const hki_cuda_convolution_plan *plan);
/* There is no memory for that workspace: from now on the problem, whose plan it is, is done by the fastest algorithm with
 * a smaller one. False: there is none, or there was an error, which has been noted: then *failed. */
bool hki_cuda_convolution_use_less(hki_cuda_stream *stream, const hki_cuda_convolution *problem,
                                   hki_cuda_convolution_plan *plan, bool *failed);
/* False: the bias is left to the caller. */
bool hki_cuda_convolution_adds_bias(const hki_cuda_convolution_plan *plan);

/* What does the same without cuDNN, on the arrays that it knows. */
typedef void (*hki_cuda_convolve_fn)(hki_cuda_stream *stream, void *context);

/* Where this run measures (HOCKET_TUNE), once for a plan: times each algorithm, and `own`, and notes the fastest for the next
 * run. Arrays as for hki_cuda_convolution_launch, 16-byte aligned; out is overwritten. Takes the stream's workspace, and waits. */
void hki_cuda_convolution_measure(hki_cuda_stream *stream, hki_cuda_convolution_plan *plan,
                                  const void *first, const void *second, void *out,
                                  hki_cuda_convolve_fn own, void *context);

/* Launches it. `first` and `second` in the order of the kind; the workspace is 256-byte aligned. False: cuDNN refuses it
 * after all, by any status, and own kernels are to do it; the plan is not given again. Errors are noted. */
bool hki_cuda_convolution_launch(hki_cuda_stream *stream, hki_cuda_convolution_plan *plan,
                                 const void *first, const void *second, const void *bias, void *out,
                                 void *workspace);

#endif
