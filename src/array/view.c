/* Views: other shapes, strides and offsets over the same storage. */
#include "array/axis.h"
#include "array/handle.h"

#include "base/text.h"

#include <inttypes.h>

/* Untold to the tape; NULL when host memory is short. */
static hk_array *view_as(hk_array *x, hk_dtype dtype, const hk_dims *shape, const int64_t *strides,
                         int64_t offset, bool read_only)
{
    static const hk_dims none = {0};
    if (x->failed)
        shape = &none;
    hk_array *view = hki_array_more(x->storage, shape, dtype);
    if (!view)
        return NULL;
    view->failed = x->failed;
    if (x->failed)
        view->size = 0;
    view->read_only = read_only;
    for (int i = 0; i < shape->ndim; i++)
        view->strides[i] = strides[i];
    view->is_contiguous = hki_dims_contiguous(shape->dims, view->strides, shape->ndim);
    /* Without elements it must point somewhere all the same. */
    view->offset = view->size ? offset : x->offset * (1 + (dtype != x->dtype));
    return hki_scope_add(view);
}

static hk_array *view_new(hk_array *x, const hk_dims *shape, const int64_t *strides, int64_t offset,
                          bool read_only)
{
    hk_array *view = view_as(x, x->dtype, shape, strides, offset, read_only);
    if (!view)
        return hki_array_no_memory();
    /* A failed one too: its gradients must fail, not stay as they were. */
    if (hki_hooks.tape_record_view)
        hki_hooks.tape_record_view(x, view);
    return view;
}

hk_array *hki_array_view(hk_array *x, hk_dims shape, const int64_t *strides, int64_t offset)
{
    return view_new(x, &shape, strides, offset, x->read_only);
}

hk_array *hki_array_part(hk_array *x, bool is_imaginary)
{
    int64_t strides[HK_MAX_NDIM];
    if (x->failed)
        return hki_array_view(x, x->shape, x->strides, x->offset);
    for (int i = 0; i < x->shape.ndim; i++)
        strides[i] = 2 * x->strides[i];
    hk_array *view = view_as(x, hki_dtype_of_parts(x->dtype), &x->shape, strides,
                             2 * x->offset + is_imaginary, x->read_only);
    return view ? view : hki_array_no_memory();
}

/* ---- checks ------------------------------------------------------------------------------------------ */

static hk_array *null_argument(const char *operation, const char *name)
{
    return hki_array_create_failed(NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                   "argument %s is NULL", name);
}

/* What to return for x that has no dimensions; NULL when it has. */
static hk_array *unusable(hk_array *x, const char *operation)
{
    if (!x)
        return null_argument(operation, "x");
    return x->failed ? view_new(x, &(const hk_dims){0}, NULL, 0, false) : NULL;
}

hk_array *hki_array_refuse_view(hk_array *x, hk_array *failed)
{
    if (hki_hooks.tape_record_view && failed != hki_array_no_memory())
        hki_hooks.tape_record_view(x, failed);
    return failed;
}

/* Makes *axis count from the front. NULL, or the failed array that says why it cannot. */
static hk_array *check_axis(hk_array *x, const char *operation, int *axis)
{
    char text[224];
    int ndim = x->shape.ndim;
    if (hki_axis_exists(*axis, ndim)) {
        *axis = hki_axis_from_front(*axis, ndim);
        return NULL;
    }
    hki_array_describe(x, text, sizeof text);
    if (!ndim)
        return hki_array_refuse_view(
            x, hki_array_create_failed(x->storage->device, operation, &x, 1, HK_OUT_OF_RANGE,
                                       "axis is %d, but %s has no axes", *axis, text));
    return hki_array_refuse_view(x, hki_array_create_failed(x->storage->device, operation, &x, 1,
                                                            HK_OUT_OF_RANGE,
                                                            "axis is %d, but %s has axes %d to %d",
                                                            *axis, text, -ndim, ndim - 1));
}

/* ---- views ------------------------------------------------------------------------------------------- */

hk_array *(hk_slice)(hk_array *x, int axis, int64_t begin, int64_t end)
{
    char text[224];
    hk_array *failed = unusable(x, "slice");
    if (failed || (failed = check_axis(x, "slice", &axis)))
        return failed;
    int64_t dim = x->shape.dims[axis];
    if (begin < -dim || begin > dim || end < -dim || end > dim) {
        hki_array_describe(x, text, sizeof text);
        bool first = begin < -dim || begin > dim;
        return hki_array_refuse_view(
            x, hki_array_create_failed(
                   x->storage->device, "slice", &x, 1, HK_OUT_OF_RANGE,
                   "%s is %" PRId64 ", but along axis %d of %s it must be from %" PRId64
                   " to %" PRId64,
                   first ? "begin" : "end", first ? begin : end, axis, text, -dim, dim));
    }
    int64_t from = begin + (begin < 0 ? dim : 0), to = end + (end < 0 ? dim : 0);
    if (from > to) {
        hki_array_describe(x, text, sizeof text);
        return hki_array_refuse_view(
            x, hki_array_create_failed(x->storage->device, "slice", &x, 1, HK_OUT_OF_RANGE,
                                       "begin is %" PRId64 " and end %" PRId64
                                       " along axis %d of %s: begin must not lie behind end",
                                       begin, end, axis, text));
    }
    hk_dims shape = x->shape;
    shape.dims[axis] = to - from;
    return view_new(x, &shape, x->strides, x->offset + from * x->strides[axis], x->read_only);
}

hk_array *(hk_index)(hk_array *x, int axis, int64_t index)
{
    char text[224];
    hk_array *failed = unusable(x, "index");
    if (failed || (failed = check_axis(x, "index", &axis)))
        return failed;
    int64_t dim = x->shape.dims[axis];
    if (index < -dim || index >= dim) {
        hki_array_describe(x, text, sizeof text);
        if (!dim)
            return hki_array_refuse_view(
                x, hki_array_create_failed(x->storage->device, "index", &x, 1, HK_OUT_OF_RANGE,
                                           "index is %" PRId64 ", but axis %d of %s has no entries",
                                           index, axis, text));
        return hki_array_refuse_view(
            x, hki_array_create_failed(x->storage->device, "index", &x, 1, HK_OUT_OF_RANGE,
                                       "index is %" PRId64
                                       ", but along axis %d of %s it must be from %" PRId64
                                       " to %" PRId64,
                                       index, axis, text, -dim, dim - 1));
    }
    hk_dims shape = {.ndim = x->shape.ndim - 1};
    int64_t strides[HK_MAX_NDIM];
    for (int i = 0, kept = 0; i < x->shape.ndim; i++)
        if (i != axis) {
            shape.dims[kept] = x->shape.dims[i];
            strides[kept++] = x->strides[i];
        }
    index += index < 0 ? dim : 0;
    return view_new(x, &shape, strides, x->offset + index * x->strides[axis], x->read_only);
}

static hk_array *permuted(hk_array *x, const int *axes)
{
    hk_dims shape = {.ndim = x->shape.ndim};
    int64_t strides[HK_MAX_NDIM];
    for (int i = 0; i < shape.ndim; i++) {
        shape.dims[i] = x->shape.dims[axes[i]];
        strides[i] = x->strides[axes[i]];
    }
    return view_new(x, &shape, strides, x->offset, x->read_only);
}

hk_array *(hk_transpose)(hk_array *x)
{
    int axes[HK_MAX_NDIM];
    hk_array *failed = unusable(x, "transpose");
    if (failed)
        return failed;
    for (int i = 0; i < x->shape.ndim; i++)
        axes[i] = x->shape.ndim - 1 - i;
    return permuted(x, axes);
}

hk_array *(hk_broadcast_to)(hk_array *x, hk_dims shape)
{
    hk_dims joined;
    uint64_t bytes;
    int64_t strides[HK_MAX_NDIM];
    char text[224], wanted[192], why[320];
    hk_array *failed = unusable(x, "broadcast_to");
    if (failed)
        return failed;
    if (!hki_dims_bytes(&shape, x->dtype, &bytes, why, sizeof why))
        return hki_array_refuse_view(x,
                                     hki_array_create_failed(x->storage->device, "broadcast_to", &x,
                                                             1, HK_INVALID_ARGUMENT, "%s", why));
    if (!hki_dims_broadcast(&x->shape, &shape, &joined) || !hki_dims_equal(&joined, &shape)) {
        hki_array_describe(x, text, sizeof text);
        hki_dims_describe(&shape, wanted, sizeof wanted);
        return hki_array_refuse_view(
            x, hki_array_create_failed(
                   x->storage->device, "broadcast_to", &x, 1, HK_INVALID_ARGUMENT,
                   "shape is %s, but %s only stretches along axes of size 1 and new ones in front",
                   wanted, text));
    }
    int added = shape.ndim - x->shape.ndim;
    for (int i = 0; i < shape.ndim; i++)
        strides[i] = i < added || x->shape.dims[i - added] == 1 ? 0 : x->strides[i - added];
    return view_new(x, &shape, strides, x->offset, true);
}

static hk_array *refuse_view(hk_array *x, hk_code code, const char *format, ...) HK_PRINTF(3, 4);
static hk_array *refuse_view(hk_array *x, hk_code code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    hki_format_va(text, sizeof text, format, args);
    va_end(args);
    return hki_array_refuse_view(
        x, hki_array_create_failed(x->storage->device, "view", &x, 1, code, "%s", text));
}

/* Elements that a layout reaches: from `low`, which is not positive, to before `end`, counted from its first one. */
typedef struct extent {
    int64_t low, end;
} extent;

/* False where they are too many. */
static bool extent_of(const hk_dims *shape, const int64_t *strides, extent *result)
{
    int64_t step, low = 0, last = 0;
    *result = (extent){0, 0};
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dims[i] == 0)
            return true;
    for (int i = 0; i < shape->ndim; i++) {
        int64_t *end = strides[i] < 0 ? &low : &last;
        if (shape->dims[i] > 1 && (__builtin_mul_overflow(shape->dims[i] - 1, strides[i], &step) ||
                                   __builtin_add_overflow(*end, step, end)))
            return false;
    }
    *result = (extent){low, last < INT64_MAX ? last + 1 : last};
    return last < INT64_MAX;
}

static bool lies_within(const extent *inner, int64_t offset, const extent *outer)
{
    int64_t low, end;
    return !__builtin_add_overflow(offset, inner->low, &low) &&
           !__builtin_add_overflow(offset, inner->end, &end) && low >= outer->low &&
           end <= outer->end;
}

hk_array *(hk_view)(hk_array *x, hk_dims shape, const int64_t *strides, int64_t offset)
{
    uint64_t bytes;
    int64_t own[HK_MAX_NDIM];
    extent has, needs;
    char text[224], why[320];
    hk_array *failed = unusable(x, "view");
    if (failed)
        return failed;
    if (!hki_dims_bytes(&shape, x->dtype, &bytes, why, sizeof why))
        return refuse_view(x, HK_INVALID_ARGUMENT, "%s", why);
    hki_dims_strides(&shape, own);
    for (int i = 0; strides && i < shape.ndim; i++)
        if (shape.dims[i] > 1 && bytes) /* else nobody steps along it */
            own[i] = strides[i];
    extent_of(&x->shape, x->strides, &has); /* it is an array: that fits */
    const bool is_small = extent_of(&shape, own, &needs);
    if (is_small && lies_within(&needs, offset, &has))
        return view_new(x, &shape, own, x->offset + offset,
                        x->read_only || hki_dims_may_overlap(&shape, own));
    hki_array_describe(x, text, sizeof text);
    return refuse_view(x, HK_OUT_OF_RANGE,
                       "offset is %" PRId64 " and the view spans %s%" PRId64
                       " elements from there%s, but %s spans %" PRId64,
                       offset, is_small ? "" : "more than ",
                       is_small ? (int64_t)((uint64_t)needs.end - (uint64_t)needs.low) : INT64_MAX,
                       needs.low < 0 ? " in both directions" : "", text, has.end - has.low);
}
