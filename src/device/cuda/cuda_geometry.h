/* Launch geometry: pure functions, tested without a GPU. */
#ifndef HOCKET_DEVICE_CUDA_GEOMETRY_H
#define HOCKET_DEVICE_CUDA_GEOMETRY_H

#include <stdint.h>

/* Blocks of `block` threads for `size` elements, each thread taking several in steps of all threads: enough to fill the
 * GPU (eight blocks a multiprocessor), at least 1. */
static inline unsigned hki_cuda_grid(int64_t size, int block, int multiprocessors)
{
    int64_t needed = size > 0 ? (size - 1) / block + 1 : 1;
    int64_t most = (int64_t)8 * (multiprocessors > 0 ? multiprocessors : 1);
    return (unsigned)(needed < most ? needed : most);
}

#endif
