/* What several families ask of shapes. */
#ifndef HOCKET_ONNX_SHAPES_H
#define HOCKET_ONNX_SHAPES_H

#include "onnx.h"

/* Elements of a shape; -1: a size is negative, or it has more than any memory. */
int64_t onnx_size_of(hk_dims shape);
/* The product of the sizes of axes begin … end-1. */
int64_t onnx_size_between(hk_dims shape, int begin, int end);
/* Distinct axes of an array of so many, sorted, from such as may be negative; false after refusing.
 */
bool onnx_axes(onnx_call *call, const int64_t *axes, int count, int ndim, hk_dims *sorted);
/* x broadcast to a shape of as many axes or more; NULL after refusing. */
hk_array *onnx_stretch(onnx_call *call, hk_array *x, hk_dims shape);
/* x with width[0] copies of one element in front along an axis, and width[1] behind. */
hk_array *onnx_surround(hk_array *x, int axis, const int64_t *width, hk_array *element);
bool onnx_is_floating(hk_dtype dtype);
bool onnx_is_integer(hk_dtype dtype);
bool onnx_is_unsigned(hk_dtype dtype);
/* Integers become other ones as they wrap around; x itself where it has the dtype, or is NULL. */
hk_array *onnx_as(hk_array *x, hk_dtype dtype);

#endif
