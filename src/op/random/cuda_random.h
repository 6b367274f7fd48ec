/* Within the plug-in: random arrays, in C and CUDA C++: the numbers of op/random_numbers.h. */
#ifndef HOCKET_OP_CUDA_RANDOM_H
#define HOCKET_OP_CUDA_RANDOM_H

#include "device/cuda/cuda_stream.h"

#include <hocket/array.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hki_cuda_distribution {
    HKI_CUDA_UNIFORM, /* a: low, b: high */
    HKI_CUDA_NORMAL,  /* a: mean, b: standard deviation */
    HKI_CUDA_GAMMA,   /* a: concentration, b: scale; of floats */
    HKI_CUDA_INTEGER  /* low, range */
} hki_cuda_distribution;

typedef struct hki_cuda_draw {
    hki_cuda_distribution distribution;
    int zero; /* no gap: the emulation takes what lies in one for an address */
    hki_random_place place;
    const hki_random_place *recorded; /* in the device's memory, in its stead; NULL: none */
    double a, b;
    uint64_t low, range;
} hki_cuda_draw;

/* out: `size` elements, contiguous, 16-byte aligned or not. */
void hki_cuda_launch_random(hki_cuda_stream *stream, const hki_cuda_draw *draw, hk_dtype dtype,
                            void *out, int64_t size);

#ifdef __cplusplus
}
#endif

#endif
