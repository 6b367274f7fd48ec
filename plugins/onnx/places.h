/* Where elements are that indices of several axes name: rows of a matrix, so that one operator
 * finds them. */
#ifndef HOCKET_ONNX_PLACES_H
#define HOCKET_ONNX_PLACES_H

#include "onnx.h"

/* Of an array's shape: batch axes in front, then those that an index names, then those of what it
 * finds. */
typedef struct onnx_places {
    hk_dims shape;       /* of the array */
    int batch, depth;    /* axes */
    int64_t rows, width; /* of the matrix that the array is */
    hk_dims found;       /* indices' shape without its last axis, then the axes of what is found */
    hk_array *
        rows_named; /* int64 of one axis: for each index its row; an index that is none names row `rows`, which fails */
} onnx_places;

/* Of input `index`, whose last axis has the entries of each index. False after refusing. */
bool onnx_places_of(onnx_call *call, hk_array *x, int index, int batch, onnx_places *self);

#endif
