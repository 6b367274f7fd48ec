/* Within the plug-in: cumulative sums, in C and CUDA C++. Floats are added up in double, integers in int64, which wraps around, in an
 * order that follows from shapes alone. */
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

/* y: of the same float dtype, of int64 for others. */
void hki_cuda_launch_scan(hki_cuda_stream *stream, const hki_cuda_scan *scan, hk_dtype dtype,
                          const void *x, void *y, void *workspace);

/* places[j]: where the j-th of `count` elements of the mask is that hold; numbers: the cumulative sums of the mask. Where there
 * are not `count` of them, that is reported, with how many there are as the value. */
void hki_cuda_launch_places_of_mask(hki_cuda_stream *stream, const void *mask,
                                    const int64_t *numbers, int64_t size, int64_t count,
                                    int64_t *places, hki_cuda_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
