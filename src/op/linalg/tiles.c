#include "op/linalg/tiles.h"

#include "op/call/capture.h"
#include "op/shape/fill.h"

hk_array *hki_tile(hk_array *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end)
{
    if (x->failed)
        return x;
    const hk_dims shape = {.ndim = 2, .dims = {row_end - row, column_end - column}};
    return hki_array_view(x, shape, x->strides,
                          x->offset + row * x->strides[0] + column * x->strides[1]);
}

/* The part of so many axes of that number. */
static hk_array *in_stack(hk_array *x, int axes, int64_t index)
{
    int64_t offset = x->offset, strides[HK_MAX_NDIM] = {0};
    hk_dims shape = {.ndim = axes};
    if (x->failed)
        return x;
    const int before = x->shape.ndim - axes;
    for (int i = before - 1; i >= 0; i--) {
        offset += index % x->shape.dims[i] * x->strides[i];
        index /= x->shape.dims[i];
    }
    for (int i = 0; i < axes; i++) {
        shape.dims[i] = x->shape.dims[before + i];
        strides[i] = x->strides[before + i];
    }
    return hki_array_view(x, shape, strides, offset);
}

hk_array *hki_matrix_in_stack(hk_array *x, int64_t matrix)
{
    return in_stack(x, 2, matrix);
}

hk_array *hki_vector_in_stack(hk_array *x, int64_t vector)
{
    return in_stack(x, 1, vector);
}

hk_array *hki_array_made(hki_device *device, hk_dims shape, hk_dtype dtype, const char *operation)
{
    hk_array *result = hki_array_create(device, shape, dtype);
    if (hki_capturing && result->size > 0)
        hki_hooks.capture->made(hki_capturing, operation, result);
    return result;
}

void hki_clear(hk_array *x, const char *operation)
{
    if (x->failed || x->size == 0)
        return;
    const hki_zeros_options scalar = {.shape = {.ndim = 0}, .dtype = x->dtype};
    hk_array *zero =
        hki_op_call(&hki_op_zeros, NULL, 0, &scalar, (hk_device){x->storage->device}, NULL);
    hk_array *zeros = hki_array_view(zero, x->shape, (const int64_t[HK_MAX_NDIM]){0}, zero->offset);
    hki_call_into_unasked(&hki_op_copy, operation, zeros, NULL, x);
}
