/* Several views at once: split, unstack, meshgrid, broadcast_arrays. */
#include "array/array.h"
#include "array/axis.h"

#include <inttypes.h>

static hk_array *refused(hk_array *x, const char *operation, const char *argument, int64_t has,
                         int64_t entries, const char *wanted)
{
    return hki_array_refuse_view(
        x, hki_array_create_failed(x->storage->device, operation, &x, 1, HK_INVALID_ARGUMENT,
                                   "%s is %" PRId64 ", but the axis has %" PRId64
                                   " entries: it must %s",
                                   argument, has, entries, wanted));
}

/* Entries of an axis; -1 where x or the axis is none, which a call of hk_slice then says. */
static int64_t entries_of(const hk_array *x, int axis)
{
    return x && !x->failed && hki_axis_exists(axis, x->shape.ndim)
               ? x->shape.dims[hki_axis_from_front(axis, x->shape.ndim)]
               : -1;
}

void(hk_split)(hk_array *x, int axis, int count, hk_array **parts)
{
    const int64_t entries = entries_of(x, axis);
    const bool is_even = count > 0 && entries >= 0 && entries % count == 0;
    for (int i = 0; i < count; i++) {
        const int64_t size = is_even ? entries / count : 0;
        parts[i] = entries < 0 || is_even
                       ? (hk_slice)(x, axis, i * size, (i + 1) * size)
                       : refused(x, "split", "count", count, entries, "divide that");
    }
}

void(hk_unstack)(hk_array *x, int axis, int count, hk_array **parts)
{
    const int64_t entries = entries_of(x, axis);
    for (int i = 0; i < count; i++)
        parts[i] = entries < 0 ? (hk_slice)(x, axis, 0, 0)
                   : entries == count
                       ? (hk_index)(x, axis, i)
                       : refused(x, "unstack", "count", count, entries, "be as many");
}

void(hk_meshgrid)(hk_array *const *vectors, int count, hk_array **grids)
{
    hk_dims shape = {.ndim = count < HK_MAX_NDIM ? count : HK_MAX_NDIM};
    for (int i = 0; i < shape.ndim; i++)
        shape.dims[i] = vectors[i] && !vectors[i]->failed ? vectors[i]->size : 0;
    for (int i = 0; i < count; i++) {
        hk_array *x = vectors[i];
        int64_t strides[HK_MAX_NDIM] = {0};
        if (!x || x->failed) {
            grids[i] = (hk_slice)(x, 0, 0, 0);
        } else if (count > HK_MAX_NDIM) {
            grids[i] = hki_array_refuse_view(
                x, hki_array_create_failed(
                       x->storage->device, "meshgrid", &x, 1, HK_INVALID_ARGUMENT,
                       "count is %d, but an array has at most %d axes", count, HK_MAX_NDIM));
        } else if (x->shape.ndim != 1) {
            grids[i] = hki_array_refuse_view(
                x, hki_array_create_failed(
                       x->storage->device, "meshgrid", &x, 1, HK_INVALID_ARGUMENT,
                       "vector %d of %d has %d axes, but must have one", i, count, x->shape.ndim));
        } else {
            strides[i] = x->strides[0];
            grids[i] = (hk_view)(x, shape, strides, 0);
        }
    }
}

void(hk_broadcast_arrays)(hk_array *const *x, int count, hk_array **views)
{
    hk_dims shape = {.ndim = 0};
    for (int i = 0; i < count; i++) { /* what does not go with those before is refused below */
        hk_dims joined;
        if (x[i] && !x[i]->failed && hki_dims_broadcast(&shape, &x[i]->shape, &joined))
            shape = joined;
    }
    for (int i = 0; i < count; i++)
        views[i] = (hk_broadcast_to)(x[i], shape);
}
