#include "array/array.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

hk_dims hk_dims_of(const int64_t *sizes, size_t count)
{
    hk_dims shape = {.ndim = count < INT_MAX ? (int)count : INT_MAX};
    for (size_t i = 0; i < count && i < HK_MAX_NDIM; i++)
        shape.dims[i] = sizes[i];
    return shape;
}

/* The element count, and what it would be if no axis had size 0: such an axis must not hide that the
 * others overflow, for strides are products too. */
static bool dims_product(const hk_dims *shape, int64_t *size, int64_t *full_size)
{
    if (shape->ndim < 0 || shape->ndim > HK_MAX_NDIM)
        return false;
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < shape->ndim; i++) {
        int64_t dim = shape->dims[i];
        if (dim < 0 || __builtin_mul_overflow(product, dim > 0 ? dim : 1, &product))
            return false;
        empty |= dim == 0;
    }
    *size = empty ? 0 : product;
    *full_size = product;
    return true;
}

bool hki_dims_size(const hk_dims *shape, int64_t *size)
{
    int64_t full_size;
    return dims_product(shape, size, &full_size);
}

void hki_dims_explain(const hk_dims *shape, hk_dtype dtype, char *why, size_t why_bytes)
{
    char text[192];
    if (!hk_dtype_bytes(dtype)) {
        snprintf(why, why_bytes, "dtype is %d, but must be from %d (float32) to %d (complex128)",
                 (int)dtype, (int)HK_F32, (int)HK_C128);
        return;
    }
    if (shape->ndim < 0 || shape->ndim > HK_MAX_NDIM) {
        snprintf(why, why_bytes, "shape has %d axes, but may have 0 to %d", shape->ndim,
                 HK_MAX_NDIM);
        return;
    }
    hki_dims_describe(shape, text, sizeof text);
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dims[i] < 0) {
            snprintf(why, why_bytes,
                     "shape is %s, but axis %d must have a size of 0 or more, not %" PRId64, text,
                     i, shape->dims[i]);
            return;
        }
    snprintf(why, why_bytes, "shape is %s, but %s of it takes more than 2^62 bytes", text,
             hk_dtype_name(dtype));
}

bool hki_dims_bytes(const hk_dims *shape, hk_dtype dtype, uint64_t *bytes, char *why,
                    size_t why_bytes)
{
    int64_t size, full_size;
    uint64_t element_bytes = (unsigned)dtype < HK_DTYPE_COUNT ? hki_dtype_bytes(dtype) : 0;
    /* Elements have 1, 4 or 8 bytes: no division. */
    if (element_bytes && dims_product(shape, &size, &full_size) &&
        (uint64_t)full_size <= HKI_MAX_BYTES >> __builtin_ctzll(element_bytes)) {
        *bytes = (uint64_t)size * element_bytes;
        return true;
    }
    if (why)
        hki_dims_explain(shape, dtype, why, why_bytes);
    return false;
}

bool hki_dims_equal(const hk_dims *a, const hk_dims *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim && i < HK_MAX_NDIM; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

bool hki_dims_broadcast(const hk_dims *a, const hk_dims *b, hk_dims *out)
{
    hk_dims result = {.ndim = a->ndim > b->ndim ? a->ndim : b->ndim};
    if (a->ndim < 0 || b->ndim < 0 || result.ndim > HK_MAX_NDIM)
        return false;
    for (int i = 1; i <= result.ndim; i++) { /* from the last axis to the first */
        int64_t left = i <= a->ndim ? a->dims[a->ndim - i] : 1;
        int64_t right = i <= b->ndim ? b->dims[b->ndim - i] : 1;
        if (left != right && left != 1 && right != 1)
            return false;
        result.dims[result.ndim - i] = left != 1 ? left : right;
    }
    *out = result;
    return true;
}

int64_t hki_dims_strides(const hk_dims *shape, int64_t strides[HK_MAX_NDIM])
{
    int64_t stride = 1;
    bool empty = false;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape->dims[i] > 0 ? shape->dims[i] : 1;
        empty |= shape->dims[i] == 0;
    }
    return empty ? 0 : stride;
}

int hki_dims_overlapping_axis(const hk_dims *shape, const int64_t *strides)
{
    int order[HK_MAX_NDIM], count = 0;
    for (int i = 0; i < shape->ndim; i++) {
        if (shape->dims[i] == 0)
            return -1;
        if (shape->dims[i] == 1)
            continue;
        int at = count++;
        for (; at > 0 && llabs(strides[order[at - 1]]) > llabs(strides[i]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    int64_t reach = 0; /* of the axes with smaller strides */
    for (int i = 0; i < count; i++) {
        const int64_t stride = llabs(strides[order[i]]);
        if (stride <= reach)
            return order[i];
        reach += (shape->dims[order[i]] - 1) * stride;
    }
    return -1;
}

bool hki_dims_reach(const hk_dims *shape, const int64_t *strides, int64_t *count)
{
    int64_t last = 0, step;
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dims[i] == 0) {
            *count = 0;
            return true;
        }
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dims[i] > 1 && (__builtin_mul_overflow(shape->dims[i] - 1, strides[i], &step) ||
                                   __builtin_add_overflow(last, step, &last)))
            return false;
    *count = last < INT64_MAX ? last + 1 : last;
    return last < INT64_MAX;
}

void hki_dims_describe(const hk_dims *shape, char *text, size_t bytes)
{
    if (shape->ndim < 0 || shape->ndim > HK_MAX_NDIM) {
        snprintf(text, bytes, "(%d axes)", shape->ndim);
        return;
    }
    char all[HK_MAX_NDIM * 24 + 8] = "(";
    size_t used = 1;
    for (int i = 0; i < shape->ndim; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%" PRId64, i ? "," : "",
                                 shape->dims[i]);
    snprintf(text, bytes, "%s%s", all, shape->ndim == 1 ? ",)" : ")");
}
