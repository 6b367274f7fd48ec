#include "data/data_set.h"

#include "array/array.h"
#include "base/source.h"

#include <stdlib.h>

/* For when memory is short; counting it is harmless. */
static hk_data_set no_memory_set;

static const hk_status *refusal_va(const char *operation, hk_code code, const char *format,
                                   va_list args)
{
    hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = operation, .file = source.file, .line = source.line};
    return hki_status_create_va(code, &facts, format, args);
}

const hk_status *hki_data_refusal(const char *operation, hk_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const hk_status *status = refusal_va(operation, code, format, args);
    va_end(args);
    return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

hk_data_set *hki_data_set_new(void)
{
    hk_data_set *set = malloc(sizeof *set);
    if (!set)
        return &no_memory_set;
    *set = (hk_data_set){.refs = 1, .status = hki_status_ok()};
    return set;
}

bool hki_data_set_is_static(const hk_data_set *set)
{
    return set == &no_memory_set;
}

void hki_data_set_fail_with(hk_data_set *set, const hk_status *status)
{
    if (set->class && set->class->deinit && set->own)
        set->class->deinit(set->own);
    hk_status_release(set->status);
    *set = (hk_data_set){.refs = 1, .status = status};
}

void hki_data_set_fail(hk_data_set *set, const char *operation, hk_code code, const char *format,
                       ...)
{
    va_list args;
    va_start(args, format);
    hki_data_set_fail_with(set, refusal_va(operation, code, format, args));
    va_end(args);
}

bool hki_data_set_add_field(hk_data_set *set, const char *operation, hk_dims shape, hk_dtype dtype)
{
    int64_t size = 0;
    size_t bytes = 0;
    if (set->field_count == HK_DATA_MOST_FIELDS || shape.ndim >= HK_MAX_NDIM ||
        !hki_dims_size(&shape, &size) ||
        __builtin_mul_overflow((size_t)size, hk_dtype_bytes(dtype), &bytes)) {
        hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT,
                          "field %d cannot be: at most %d fields of at most %d axes fit",
                          set->field_count, HK_DATA_MOST_FIELDS, HK_MAX_NDIM - 1);
        return false;
    }
    set->fields[set->field_count++] =
        (hki_data_field){.shape = shape, .dtype = dtype, .bytes = bytes};
    return true;
}

hk_data_set *hk_data_set_retain(hk_data_set *set)
{
    if (set && set != &no_memory_set)
        atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    return set;
}

void hk_data_set_release(hk_data_set *set)
{
    if (!set || set == &no_memory_set ||
        atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (set->class && set->class->deinit && set->own)
        set->class->deinit(set->own);
    hk_status_release(set->status);
    free(set);
}

/* ---- facts ----------------------------------------------------------------------------------- */

const hk_status *hki_data_set_status(const hk_data_set *set, const char *operation)
{
    if (!set)
        return hki_data_refusal(operation, HK_INVALID_ARGUMENT, "argument set is NULL");
    if (set == &no_memory_set)
        return hki_data_refusal("data_set", HK_OUT_OF_MEMORY, "no host memory for a data set");
    return hk_status_retain(set->status);
}

const hk_status *hk_data_set_status(const hk_data_set *set)
{
    return hki_status_lend(hki_data_set_status(set, "data_set_status"));
}

int64_t hk_data_set_size(const hk_data_set *set)
{
    return set ? set->size : 0;
}

int hk_data_set_field_count(const hk_data_set *set)
{
    return set ? set->field_count : 0;
}

hk_dims hk_data_set_field_shape(const hk_data_set *set, int field)
{
    return field >= 0 && field < hk_data_set_field_count(set) ? set->fields[field].shape
                                                              : (hk_dims){0};
}

hk_dtype hk_data_set_field_dtype(const hk_data_set *set, int field)
{
    return field >= 0 && field < hk_data_set_field_count(set) ? set->fields[field].dtype : HK_F32;
}

/* Of images, whose field 0 has channels, height and width. */
static int64_t image_extent(const hk_data_set *set, int axis)
{
    const hk_dims shape = hk_data_set_field_shape(set, 0);
    return shape.ndim == 3 ? shape.dims[axis] : 0;
}

int64_t hk_data_set_channels(const hk_data_set *set)
{
    return image_extent(set, 0);
}

int64_t hk_data_set_height(const hk_data_set *set)
{
    return image_extent(set, 1);
}

int64_t hk_data_set_width(const hk_data_set *set)
{
    return image_extent(set, 2);
}

int hk_data_set_class_count(const hk_data_set *set)
{
    return set ? set->class_count : 0;
}

const char *hk_data_set_folder(const hk_data_set *set)
{
    return set && set->folder ? set->folder : "";
}

const char *hk_data_set_class_name(const hk_data_set *set, int index)
{
    const bool is_there = set && set->class_names && index >= 0 && index < set->class_count;
    return is_there ? set->class_names[index] : NULL;
}
