/* Products of batches of matrices: what matmul and addmm have in common. */
#ifndef HOCKET_OP_PRODUCT_GEOMETRY_H
#define HOCKET_OP_PRODUCT_GEOMETRY_H

#include "op/op.h"

/* Both inputs as batches of matrices. */
typedef struct hki_product_geometry {
    int64_t m, n, k, batch_count;
    int batch_ndim;
    int64_t batch[HK_MAX_NDIM];
    int64_t a_batch_strides[HK_MAX_NDIM], b_batch_strides[HK_MAX_NDIM];
    int64_t a_row_stride, a_column_stride, b_row_stride, b_column_stride;
} hki_product_geometry;

/* False when the batches do not go together. Both have an axis or more, and agree in k. */
bool hki_product_geometry_init(hki_product_geometry *geometry, int a_ndim, const int64_t *a_dims,
                               const int64_t *a_strides, int b_ndim, const int64_t *b_dims,
                               const int64_t *b_strides);
/* Where the matrix of batch entry `index` begins, in elements. */
int64_t hki_batch_offset(const hki_product_geometry *geometry, const int64_t *strides,
                         int64_t index);

#endif
