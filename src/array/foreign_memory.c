/* Arrays over memory of the program's. */
#include "array/handle.h"
#include "base/source.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

/* A failed array; the memory goes back. */
static hk_array *refuse_memory(hki_device *home, const hk_memory_options *options, hk_code code,
                               const char *format, ...) HK_PRINTF(4, 5);
static hk_array *refuse_memory(hki_device *home, const hk_memory_options *options, hk_code code,
                               const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    hki_format_va(text, sizeof text, format, args);
    va_end(args);
    hk_array *x = hki_array_create_failed(home, "from_memory", NULL, 0, code, "%s", text);
    if (options->free)
        options->free(options->context);
    return x;
}

/* Strides of axes along which nobody steps do not matter. False: `why` says what is wrong. */
static bool check_strides(const hk_dims *shape, hk_dtype dtype, const int64_t *given,
                          int64_t *strides, int64_t *reach, char *why, size_t why_bytes)
{
    uint64_t bytes;
    if (!hki_dims_bytes(shape, dtype, &bytes, why, why_bytes))
        return false;
    hki_dims_strides(shape, strides);
    for (int i = 0; given && bytes && i < shape->ndim; i++) {
        if (given[i] < 0) {
            snprintf(why, why_bytes, "strides[%d] is %" PRId64 ", but must not be negative", i,
                     given[i]);
            return false;
        }
        if (shape->dims[i] > 1)
            strides[i] = given[i];
    }
    if (hki_dims_reach(shape, strides, reach) &&
        (uint64_t)*reach <= HKI_MAX_BYTES / hki_dtype_bytes(dtype))
        return true;
    snprintf(why, why_bytes, "the strides span more than 2^62 bytes");
    return false;
}

hk_array *(hk_from_memory)(void *data, hk_dims shape, hk_dtype dtype, hk_device device,
                           const hk_memory_options *given)
{
    HKI_TAKE_OPTIONS(hk_memory_options, given);
    static const hk_memory_options none = {0};
    const hk_memory_options *options = given ? given : &none;
    int64_t strides[HK_MAX_NDIM] = {0}, reach;
    char why[320];
    HKI_HOLD(held);
    hki_device *home = hki_device_hold(device, &held);
    hki_array_uncapturable("from_memory",
                           "its values come from outside; give them as a bound array");
    if (!home->class || !hki_runtime_alive(home->runtime))
        return refuse_memory(home, options, HK_INVALID_ARGUMENT, "the device has failed");
    if (!hki_device_is_host(home))
        return refuse_memory(home, options, HK_UNSUPPORTED,
                             "%s has memory of its own; hk_from_host copies to it", home->name);
    if (!check_strides(&shape, dtype, options->strides, strides, &reach, why, sizeof why))
        return refuse_memory(home, options, HK_INVALID_ARGUMENT, "%s", why);
    const uint64_t element_bytes = hki_dtype_bytes(dtype);
    if (!data && reach)
        return refuse_memory(home, options, HK_INVALID_ARGUMENT,
                             "argument data is NULL, but %" PRId64 " elements are there", reach);
    const size_t part_bytes = hki_dtype_bytes(hki_dtype_of_parts(dtype));
    if ((uintptr_t)data % part_bytes && reach)
        return refuse_memory(home, options, HK_INVALID_ARGUMENT,
                             "argument data must be a multiple of %zu for %s, and lies %zu bytes "
                             "behind one",
                             part_bytes, hk_dtype_name(dtype),
                             (size_t)((uintptr_t)data % part_bytes));
    if (!reach && options->free) /* there is nothing to keep */
        options->free(options->context);
    hki_storage *storage = reach ? hki_storage_create_foreign(home, (uint64_t)reach * element_bytes,
                                                              data, options->free, options->context)
                                 : hki_storage_create(home, 0);
    hk_array *x = hki_array_first(storage, &shape, dtype);
    if (!x && reach)
        return refuse_memory(home, options, HK_OUT_OF_MEMORY, "out of host memory for an array");
    if (x) {
        memcpy(x->strides, strides, sizeof x->strides);
        x->is_contiguous = hki_dims_contiguous(shape.dims, strides, shape.ndim);
        x->read_only = options->is_read_only || hki_dims_may_overlap(&shape, strides);
    }
    return hki_scope_add(x);
}
