/* Within the plug-in: sorting, for kernels. */
#ifndef HOCKET_OP_CUDA_SORT_CUH
#define HOCKET_OP_CUDA_SORT_CUH

#include "device/cuda/cuda_stream.h"

/* What is sorted: by key, and by number where keys are equal. No two of a line are the same in
 * both. */
typedef struct hki_cuda_item {
    unsigned long long key;
    long long number;
} hki_cuda_item;

/* Each of `lines` lines of `size` items, both at least 1. `spare` has as much room as `items`;
 * returns that of the two where the sorted ones are. Work grows as size * log(size). */
hki_cuda_item *hki_cuda_sort_items(hki_cuda_stream *stream, hki_cuda_item *items,
                                   hki_cuda_item *spare, int64_t lines, int64_t size);

#endif
