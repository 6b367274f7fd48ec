/* Within the plug-in: reductions over any axes, in C and CUDA C++. Orders of additions follow from
 * shapes, strides and alignment: the same bytes on every run and every GPU.
 *
 *   sum, mean  float types add up in double, integers in int64, which wraps around; the mean of
 *              integers is float64, that of int64 by sums in double
 *   prod       float types are multiplied in double, integers in int64, which wraps around
 *   factors    hki_cuda_factors; of float types
 *   max, min   a NaN is the maximum and the minimum
 *   offset     the maximum, or 0 where that is infinite; of float types
 *   argmax     int64: where in the axis that goes the first largest element, or the first NaN, is; argmin alike
 *   ties       int64: how many elements equal the reference, where NaN equals NaN; of float types
 *   norm       the root of the sum of squares, in double; of float types
 *   count      int64: how many are not 0, as NaN is; any, all: bool */
#ifndef HOCKET_OP_CUDA_REDUCE_H
#define HOCKET_OP_CUDA_REDUCE_H

#include "device/cuda/cuda_stream.h"
#include "op/cuda/cuda_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Operands of the axes that stay. Of those that go the input is one, whose steps alone count: they begin where the element
 * of the axes that stay is. */
enum { HKI_CUDA_KEPT_OUT, HKI_CUDA_KEPT_IN, HKI_CUDA_KEPT_REFERENCE };

/* A launch: of each of kept.count results, elements gone_first … that `gone` walks over. */
typedef struct hki_cuda_reduce {
    hki_cuda_path kept, gone;
    hki_cuda_tile tile; /* for gone.count steps */
    int64_t gone_first;
    bool is_mean;
    double divisor;
    /* Where there are several launches for a result, or several parts: part p of result k becomes words[(part_first + p) *
     * kept.count + k], of the type that the launch gathers in; NULL: results. */
    void *words;
    int64_t part_first;
} hki_cuda_reduce;

typedef void (*hki_cuda_reduce_fn)(hki_cuda_stream *stream, const hki_cuda_reduce *reduce);

/* What to launch, by the dtype of the input: `elements` may be walked at the width HKI_CUDA_PACK_BYTES by their size;
 * `words` are what launches for elements have left, as input. NULL: none of that dtype. */
typedef struct hki_cuda_reduce_launches {
    hki_cuda_reduce_fn elements[HK_DTYPE_COUNT], words[HK_DTYPE_COUNT];
    int word_bytes[HK_DTYPE_COUNT];
} hki_cuda_reduce_launches;

/* What the gradient of a product is made of: how many factors are 0, and the product of the others. */
typedef struct hki_cuda_factors {
    double others;
    int64_t zeros;
} hki_cuda_factors;

extern const hki_cuda_reduce_launches hki_cuda_reduce_sum, hki_cuda_reduce_mean,
    hki_cuda_reduce_prod, hki_cuda_reduce_factors, hki_cuda_reduce_max, hki_cuda_reduce_min,
    hki_cuda_reduce_offset, hki_cuda_reduce_argmax, hki_cuda_reduce_argmin, hki_cuda_reduce_ties,
    hki_cuda_reduce_norm, hki_cuda_reduce_count, hki_cuda_reduce_any, hki_cuda_reduce_all;

/* ---- sharing the gradient of an extremum */

/* dx = x equals y ? dy / ties : 0, for float types. The first operands are those of the axes that stay; ties are int64. The
 * path is of HKI_CUDA_SHARE_WIDTH or 1. */
enum {
    HKI_CUDA_SHARE_TIES = HKI_CUDA_KEPT_OUT,
    HKI_CUDA_SHARE_X = HKI_CUDA_KEPT_IN,
    HKI_CUDA_SHARE_Y = HKI_CUDA_KEPT_REFERENCE,
    HKI_CUDA_SHARE_DY,
    HKI_CUDA_SHARE_DX,
    HKI_CUDA_SHARE_WIDTH = 2 /* 16 bytes of the ties */
};
void hki_cuda_launch_share(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype dtype);
/* dx = dy times the product of all factors but x. The operand of the ties has the factors; that of y is not read. Of width 1. */
void hki_cuda_launch_prod_share(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
