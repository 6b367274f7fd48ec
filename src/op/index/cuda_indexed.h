/* Within the plug-in: elements found by whole numbers along one axis, in C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_INDEXED_H
#define HOCKET_OP_CUDA_INDEXED_H

#include "op/cuda/cuda_walk.h"
#include "op/sort/cuda_sort.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The axis that indices count along. A negative one counts from the end; those that are in neither range are reported, once
 * by each thread, with the number of the element of indices. */
typedef struct hki_cuda_indexed {
    int64_t size, step; /* entries, and bytes from one to the next */
    int index_bytes;    /* int64, int32 or uint8 */
} hki_cuda_indexed;

/* ---- take_along_axis: operand 0 becomes operand 2 at the entry that operand 1, the indices, says; those that are refused
 * become 0. Operand 2 has no step along the axis. A path of more than one element in a step has the same index for them. */
void hki_cuda_launch_take(hki_cuda_stream *stream, const hki_cuda_path *path,
                          const hki_cuda_indexed *along, int item_bytes, hki_cuda_fault *fault);

/* ---- scatter and scatter_add */

/* Updates are `each`, which has one index for each step, times `beside`, elements that share it. */
enum { HKI_CUDA_SCATTER_OUT, HKI_CUDA_SCATTER_INDEX, HKI_CUDA_SCATTER_UPDATE };
typedef struct hki_cuda_scatter {
    hki_cuda_path each, beside; /* the output has no step along the axis; it is dense */
    hki_cuda_indexed along;
} hki_cuda_scatter;

/* items[i] of `each`: the place of its entry as the key, i as the number; what is refused has HKI_CUDA_NOWHERE. */
#define HKI_CUDA_NOWHERE UINT64_MAX
void hki_cuda_launch_places(hki_cuda_stream *stream, const hki_cuda_scatter *scatter,
                            hki_cuda_item *items, hki_cuda_fault *fault);
/* Of sorted items: the last update of each entry becomes it. */
void hki_cuda_launch_set(hki_cuda_stream *stream, const hki_cuda_scatter *scatter, int item_bytes,
                         const hki_cuda_item *items);
/* The updates of each entry are added to it, in their order: floats in double, integers wrap around. Not of bools. */
void hki_cuda_launch_add(hki_cuda_stream *stream, const hki_cuda_scatter *scatter, hk_dtype dtype,
                         const hki_cuda_item *items);

#ifdef __cplusplus
}
#endif

#endif
