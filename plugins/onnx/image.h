/* Rows of images that have files of their own. */
#ifndef HOCKET_ONNX_IMAGE_H
#define HOCKET_ONNX_IMAGE_H

#include "onnx.h"

bool onnx_run_resize(onnx_call *call);
bool onnx_run_upsample(onnx_call *call);
bool onnx_run_roi_align(onnx_call *call);
bool onnx_run_max_roi_pool(onnx_call *call);
bool onnx_run_non_max_suppression(onnx_call *call);
bool onnx_run_deform_conv(onnx_call *call);

/* ---- x between its elements ------------------------------------------------------------------ */

typedef enum onnx_between { ONNX_NEAREST, ONNX_LINEAR, ONNX_CUBIC } onnx_between;
/* What lies beyond x: zeros, the last elements, or x as in a mirror at -0.5, or at the middle of
 * the last elements. */
typedef enum onnx_beyond { ONNX_ZEROS, ONNX_EDGES, ONNX_MIRROR, ONNX_MIRROR_MIDDLE } onnx_beyond;

/* x (n, channels, …) of floats, or, of the nearest, of any dtype, at places: for each axis (n,
 * p), floats in units of elements. Gives (n, channels, p). No axis is empty. */
hk_array *onnx_sample(hk_array *x, hk_array *const *places, onnx_between between,
                      onnx_beyond beyond);

#endif
