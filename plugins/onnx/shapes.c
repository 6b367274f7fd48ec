#include "shapes.h"

#include <inttypes.h>

int64_t onnx_size_between(hk_dims shape, int begin, int end)
{
    int64_t size = 1;
    for (int i = begin; i < end; i++)
        size *= shape.dims[i];
    return size;
}

int64_t onnx_size_of(hk_dims shape)
{
    const int64_t most = INT64_C(1) << 48;
    int64_t size = 1;
    bool is_good = true, is_empty = false;
    for (int i = 0; i < shape.ndim && is_good; i++) {
        const int64_t dim = shape.dims[i];
        is_empty = is_empty || dim == 0;
        is_good = dim >= 0 && (dim == 0 || size <= most / dim);
        size *= is_good && dim ? dim : 1;
    }
    return !is_good ? -1 : is_empty ? 0 : size;
}

bool onnx_axes(onnx_call *call, const int64_t *axes, int count, int ndim, hk_dims *sorted)
{
    bool is_one[HK_MAX_NDIM] = {false};
    for (int i = 0; i < count; i++) {
        const int axis = onnx_axis(call, axes[i], ndim);
        if (axis < 0)
            return false;
        if (is_one[axis])
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "axis %d is there twice", axis);
        is_one[axis] = true;
    }
    *sorted = (hk_dims){.ndim = 0};
    for (int i = 0; i < ndim; i++)
        if (is_one[i])
            sorted->dims[sorted->ndim++] = i;
    return true;
}

hk_array *onnx_stretch(onnx_call *call, hk_array *x, hk_dims shape)
{
    const hk_dims has = hk_dims_get(x);
    hk_dims to = has.ndim > shape.ndim ? has : shape;
    for (int i = 1; i <= has.ndim && i <= shape.ndim; i++) {
        const int64_t a = has.dims[has.ndim - i], b = shape.dims[shape.ndim - i];
        if (a != b && a != 1 && b != 1) {
            onnx_refuse(call, HK_INVALID_ARGUMENT,
                        "axis %d of %" PRId64 " elements cannot be stretched to %" PRId64,
                        has.ndim - i, a, b);
            return NULL;
        }
        to.dims[to.ndim - i] = a == 1 ? b : a;
    }
    if (onnx_size_of(to) < 0) {
        onnx_refuse(call, HK_INVALID_ARGUMENT, "a size of the shape is negative, or too large");
        return NULL;
    }
    return hk_broadcast_to(x, to);
}

hk_array *onnx_surround(hk_array *x, int axis, const int64_t *width, hk_array *element)
{
    hk_array *parts[3];
    int count = 0;
    for (int i = 0; i < 3; i++) {
        hk_dims shape = hk_dims_get(x);
        if (i == 1) {
            parts[count++] = x;
        } else if (width[i / 2] > 0) {
            shape.dims[axis] = width[i / 2];
            parts[count++] = hk_broadcast_to(element, shape);
        }
    }
    return count > 1 ? hk_concat(parts, count, axis) : x;
}

bool onnx_is_floating(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_F64 || dtype == HK_F16 || dtype == HK_BF16;
}

bool onnx_is_unsigned(hk_dtype dtype)
{
    return dtype == HK_U8 || dtype == HK_U16 || dtype == HK_U32 || dtype == HK_U64;
}

bool onnx_is_integer(hk_dtype dtype)
{
    return onnx_is_unsigned(dtype) || dtype == HK_I8 || dtype == HK_I16 || dtype == HK_I32 ||
           dtype == HK_I64;
}

hk_array *onnx_as(hk_array *x, hk_dtype dtype)
{
    const hk_dtype from = x ? hk_array_dtype(x) : dtype;
    if (from == dtype)
        return x;
    return onnx_is_integer(from) && onnx_is_integer(dtype) ? hk_wrap(x, dtype) : hk_cast(x, dtype);
}
