/* What rows of several families need: dtypes in which they compute, and windows that slide. */
#ifndef HOCKET_ONNX_COMPUTE_H
#define HOCKET_ONNX_COMPUTE_H

#include "shapes.h"

/* ---- dtypes ---------------------------------------------------------------------------------- */

bool onnx_is_half(hk_dtype dtype);
bool onnx_is_real(hk_dtype dtype);
/* Halves as float32, in which most operators of Hocket compute; others as they are. NULL: NULL. */
hk_array *onnx_wide(hk_array *x);
/* x as another dtype; NULL: NULL. */
hk_array *onnx_to(hk_array *x, hk_dtype dtype);
/* Refuses an x that is missing or not of floats, and one of fewer axes than least. */
bool onnx_needs_floats(onnx_call *call, hk_array *x, const char *name, int least);
/* Whether x has failed at its call, so that its shape and dtype mean nothing: then refuses by its
 * failure. */
bool onnx_has_failed(onnx_call *call, hk_array *x);

/* ---- shapes ---------------------------------------------------------------------------------- */

bool onnx_same_dims(hk_dims x, hk_dims y);
/* The product of sizes begin … end - 1; -1: it overflows. */
int64_t onnx_product(hk_dims shape, int begin, int end);
/* One axis of that size, others of size 1: for a number for each entry of it. */
hk_dims onnx_along(int64_t size, int axis, int ndim);
/* x with zeros added, or entries taken away where the width is negative. */
hk_array *onnx_pad_or_crop(hk_array *x, int axis, int64_t before, int64_t behind);

/* ---- windows --------------------------------------------------------------------------------- */

enum { ONNX_MOST_SPACE = HK_MAX_NDIM - 2 };

/* Of convolution and pooling, along the axes behind the first two. All values are below 2^31. */
typedef struct onnx_windows {
    int ndim; /* of these axes, at least 1 */
    int64_t in[ONNX_MOST_SPACE], size[ONNX_MOST_SPACE], stride[ONNX_MOST_SPACE];
    int64_t dilation[ONNX_MOST_SPACE], before[ONNX_MOST_SPACE], behind[ONNX_MOST_SPACE];
    int64_t out[ONNX_MOST_SPACE]; /* how many windows there are */
    bool is_ceil;                 /* the last ones may go beyond what is behind */
} onnx_windows;

/* From the attributes strides, dilations, pads, auto_pad, kernel_shape and ceil_mode. x: (n,
 * channels, …); sizes: of weights, or NULL: kernel_shape tells. False after refusing. */
bool onnx_windows_read(onnx_call *call, hk_dims x, const int64_t *sizes, onnx_windows *windows);
/* How many entries a window spans, with what lies between those that it has. */
int64_t onnx_window_span(const onnx_windows *windows, int axis);
/* An attribute with a number from least to 2^31 - 1 for each axis, `otherwise` where it is left
 * out. */
bool onnx_numbers_of_axes(onnx_call *call, const char *name, int64_t *values, int count,
                          int64_t least, int64_t otherwise);

#endif
