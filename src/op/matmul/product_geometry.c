#include "op/matmul/product_geometry.h"

int64_t hki_batch_offset(const hki_product_geometry *geometry, const int64_t *strides,
                         int64_t index)
{
    int64_t offset = 0;
    for (int i = geometry->batch_ndim - 1; i >= 0; i--) {
        offset += index % geometry->batch[i] * strides[i];
        index /= geometry->batch[i];
    }
    return offset;
}

/* Strides along the batch axes, the last `matrix_ndim` axes aside; 0 where x is broadcast. */
static void batch_strides(const hki_product_geometry *geometry, int ndim, const int64_t *dims,
                          const int64_t *strides, int matrix_ndim, int64_t *out)
{
    int own = ndim - matrix_ndim;
    for (int i = 0; i < geometry->batch_ndim; i++) {
        int axis = i - (geometry->batch_ndim - own);
        out[i] = axis >= 0 && dims[axis] != 1 ? strides[axis] : 0;
    }
}

static hk_dims batch_of(int ndim, const int64_t *dims)
{
    hk_dims batch = {.ndim = ndim > 2 ? ndim - 2 : 0};
    for (int i = 0; i < batch.ndim; i++)
        batch.dims[i] = dims[i];
    return batch;
}

bool hki_product_geometry_init(hki_product_geometry *geometry, int a_ndim, const int64_t *a_dims,
                               const int64_t *a_strides, int b_ndim, const int64_t *b_dims,
                               const int64_t *b_strides)
{
    hk_dims a_batch = batch_of(a_ndim, a_dims), b_batch = batch_of(b_ndim, b_dims), batch;
    if (!hki_dims_broadcast(&a_batch, &b_batch, &batch))
        return false;
    geometry->m = a_ndim > 1 ? a_dims[a_ndim - 2] : 1;
    geometry->k = a_dims[a_ndim - 1];
    geometry->n = b_ndim > 1 ? b_dims[b_ndim - 1] : 1;
    geometry->a_row_stride = a_ndim > 1 ? a_strides[a_ndim - 2] : 0;
    geometry->a_column_stride = a_strides[a_ndim - 1];
    geometry->b_row_stride = b_strides[b_ndim > 1 ? b_ndim - 2 : 0];
    geometry->b_column_stride = b_ndim > 1 ? b_strides[b_ndim - 1] : 0;
    geometry->batch_ndim = batch.ndim;
    geometry->batch_count = 1;
    for (int i = 0; i < batch.ndim; i++) {
        geometry->batch[i] = batch.dims[i];
        geometry->batch_count *= batch.dims[i];
    }
    batch_strides(geometry, a_ndim, a_dims, a_strides, a_ndim > 1 ? 2 : 1,
                  geometry->a_batch_strides);
    batch_strides(geometry, b_ndim, b_dims, b_strides, b_ndim > 1 ? 2 : 1,
                  geometry->b_batch_strides);
    return true;
}
