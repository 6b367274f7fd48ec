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

hk_array *hki_matrix_in_stack(hk_array *x, int64_t matrix)
{
    const int last = x->shape.ndim - 1;
    int64_t offset = x->offset;
    if (x->failed)
        return x;
    for (int i = last - 2; i >= 0; i--) {
        offset += matrix % x->shape.dims[i] * x->strides[i];
        matrix /= x->shape.dims[i];
    }
    return hki_array_view(
        x, (hk_dims){.ndim = 2, .dims = {x->shape.dims[last - 1], x->shape.dims[last]}},
        (const int64_t[HK_MAX_NDIM]){x->strides[last - 1], x->strides[last]}, offset);
}

hk_array *hki_made_in_parts(const hki_call *call)
{
    hk_array *result = hki_array_create(call->device, call->out_shape[0], call->out_dtype[0]);
    if (hki_capturing && result->size > 0)
        hki_hooks.capture->made(hki_capturing, call->operation, result);
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
