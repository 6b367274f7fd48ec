/* Within the plug-in: sums of several buffers, in C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_SUM_H
#define HOCKET_OP_CUDA_SUM_H

#include "device/cuda/cuda_stream.h"

#include <hocket/array.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HKI_CUDA_MAX_BUFFERS = 64 }; /* addresses are arguments of the kernel */

typedef struct hki_cuda_buffers {
    int input_count, output_count;
    const char *inputs[HKI_CUDA_MAX_BUFFERS];
    char *outputs[HKI_CUDA_MAX_BUFFERS];
} hki_cuda_buffers;

/* Every output becomes the sum of the inputs, added as base/sum_tree.h adds runs; outputs may be among the inputs. At least one of
 * each, `size` elements at least 1. */
void hki_cuda_launch_sum(hki_cuda_stream *stream, const hki_cuda_buffers *buffers, hk_dtype dtype,
                         int64_t size);

#ifdef __cplusplus
}
#endif

#endif
