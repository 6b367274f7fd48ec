/* Within the plug-in: cumulative sums and products, and what is made of them, in C and CUDA C++. Floats are gathered in double,
 * integers in int64, which wraps around, in an order that follows from shapes alone. */
#ifndef HOCKET_OP_CUDA_SCAN_H
#define HOCKET_OP_CUDA_SCAN_H

#include "device/cuda/cuda_stream.h"

#include <hocket/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Line i begins at i / inner * size * inner + i % inner; its elements are `inner` apart. All at least 1. */
typedef struct hki_cuda_scan {
    int64_t size, inner, count;
    bool is_reverse; /* from the last element on */
} hki_cuda_scan;

size_t hki_cuda_scan_workspace_bytes(const hki_cuda_scan *scan);

/* Sums, or products. y: of the same float dtype, of int64 for others. */
void hki_cuda_launch_scan(hki_cuda_stream *stream, const hki_cuda_scan *scan, bool is_product,
                          hk_dtype dtype, const void *x, void *y, void *workspace);

/* See op/reduce/prod_gradients.h; of float32 or float64. */
void hki_cuda_launch_prod_backward(hki_cuda_stream *stream, const hki_cuda_scan *scan, bool is_f64,
                                   const void *x, const void *y, const void *dy, void *dx);
void hki_cuda_launch_prod_second(hki_cuda_stream *stream, const hki_cuda_scan *scan, bool is_f64,
                                 const void *x, const void *y, const void *dy, const void *v,
                                 void *dx, void *ddy);

/* places[j]: where the j-th of `count` elements of the mask is that hold; numbers: the cumulative sums of the mask. Where there
 * are not `count` of them, that is reported, with how many there are as the value. */
void hki_cuda_launch_places_of_mask(hki_cuda_stream *stream, const void *mask,
                                    const int64_t *numbers, int64_t size, int64_t count,
                                    int64_t *places, hki_cuda_fault *fault);

/* out: the weights, whose cumulative sums are `sums`. Reports with its bits the first one that is negative or not a number, or whose
 * sum is infinite; else, where fewer than `least` are more than 0, HKI_CUDA_LAST_ROW with their number. counter: 8 bytes. */
void hki_cuda_launch_checked_weights(hki_cuda_stream *stream, const double *weights,
                                     const double *sums, int64_t size, int64_t least, double *out,
                                     void *counter, hki_cuda_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
