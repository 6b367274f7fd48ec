/* Within the plug-in: how kernels walk over the elements of several arrays at once, in C and CUDA C++.
 *
 * A walk has axes and, for each operand, a first element and a step in bytes for each axis. Its elements are counted in C
 * order. Pure functions; walks and paths hold no memory. */
#ifndef HOCKET_OP_CUDA_WALK_H
#define HOCKET_OP_CUDA_WALK_H

#include "device/cuda/cuda_geometry.h"
#include "op/kernel.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a kernel reads and writes in one go where it can: as many elements, of the largest type, as this holds. */
enum { HKI_CUDA_PACK_BYTES = 16 };

enum { HKI_CUDA_OPERANDS = 5 };

static inline int hki_cuda_item_bytes(hk_dtype dtype)
{
    return (int)hki_dtype_bytes(dtype);
}

typedef struct hki_cuda_walk {
    int ndim, operand_count;
    int64_t size; /* elements */
    int64_t dims[HK_MAX_NDIM];
    int64_t steps[HK_MAX_NDIM][HKI_CUDA_OPERANDS];
    char *data[HKI_CUDA_OPERANDS];
} hki_cuda_walk;

/* A walk without axes: one element, of operand_count operands that begin at NULL. */
void hki_cuda_walk_init(hki_cuda_walk *walk, int operand_count);
/* Adds an axis inside of the others, with a step for each operand. */
void hki_cuda_walk_add_axis(hki_cuda_walk *walk, int64_t size, const int64_t *steps);
/* Over the elements of tensors[0], with the others broadcast to it. Of tensors that are NULL the data is NULL, too. */
void hki_cuda_walk_over(hki_cuda_walk *walk, const hki_tensor *const *tensors, int count);
/* Over output 0 of a call and its inputs, in this order; item_bytes: of an element of each.
 * Returns the largest of these. */
int hki_cuda_walk_call(hki_cuda_walk *walk, const hki_kernel_call *call,
                       int item_bytes[HKI_CUDA_OPERANDS]);
/* Drops axes of one element, and makes one of neighbours that all operands step through evenly: the same elements in the
 * same order. */
void hki_cuda_walk_merge(hki_cuda_walk *walk);
/* Puts the axes in order of falling steps of an operand, so that its memory is walked forwards: another order of the
 * elements. */
void hki_cuda_walk_sort(hki_cuda_walk *walk, int operand);

/* *part becomes the elements from `begin` on, as many as one path can walk and at most `most`; returns how many. begin
 * is 0 or where the part before has ended, and less than the walk's size. */
int64_t hki_cuda_walk_part(const hki_cuda_walk *walk, int64_t begin, int64_t most,
                           hki_cuda_walk *part);

/* The same as kernels are given it: merged, at most HKI_CUDA_MAX_INDEX elements, in steps of `width` neighbours along
 * the last axis, which each operand has side by side (its bit of `wide` is set) or is broadcast along. */
typedef struct hki_cuda_path {
    int ndim, width; /* ndim >= 1 */
    uint32_t count;  /* steps */
    unsigned wide;
    int64_t first; /* number of the first element in the whole walk; 0 unless the caller sets it */
    hki_cuda_divider dims[HK_MAX_NDIM];
    int64_t steps[HK_MAX_NDIM][HKI_CUDA_OPERANDS];
    char *data[HKI_CUDA_OPERANDS];
} hki_cuda_path;

/* width: that many neighbours at once, a power of two, where all operands allow it, else 1; item_bytes: of an element of
 * each operand. Where an operand does not step along the last axis, it may be of any alignment. */
void hki_cuda_path_init(hki_cuda_path *path, const hki_cuda_walk *walk, int width,
                        const int *item_bytes);

/* Calls `launch` with a path for each part of the walk that fits into one: from element
 * path->first on. */
typedef struct hki_cuda_stream hki_cuda_stream;
typedef void (*hki_cuda_part_fn)(hki_cuda_stream *stream, const hki_cuda_path *path,
                                 void *argument);
void hki_cuda_each_part(hki_cuda_stream *stream, const hki_cuda_walk *walk, int width,
                        const int *item_bytes, hki_cuda_part_fn launch, void *argument);

#ifdef __cplusplus
}
#endif

#endif
