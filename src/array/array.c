/* Handles: making, counting, facts. */
#include "array/array.h"

#include "array/axis.h"
#include "array/handle.h"
#include "base/config.h"
#include "base/sanitizer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the array for when memory is short --------------------------------------------------------- */

static hki_device no_memory_device = {.index = -1};
static hki_storage no_memory_storage = {.device = &no_memory_device, .counts = (uint64_t)1 << 32};
hk_array hki_no_memory_array = {.refs = 1, .failed = true, .storage = &no_memory_storage};
static pthread_once_t no_memory_once = PTHREAD_ONCE_INIT;

static void no_memory_init(void)
{
    static char nothing[64];
    atomic_store_explicit(&no_memory_storage.data, nothing, memory_order_relaxed);
    no_memory_device.status =
        hki_status_create(HK_OUT_OF_MEMORY, NULL, "out of host memory for an array");
    no_memory_storage.record = no_memory_device.status;
}

hk_array *hki_array_no_memory(void)
{
    pthread_once(&no_memory_once, no_memory_init);
    return &hki_no_memory_array;
}

/* ---- making ---------------------------------------------------------------------------------------- */

/* Field by field: clearing it as a whole first would take longer than all the rest. */
static void handle_init(hk_array *x, hki_storage *storage, const hk_dims *shape, hk_dtype dtype)
{
    atomic_init(&x->refs, 1);
    x->dtype = dtype;
    x->failed = x->read_only = false;
    x->is_contiguous = true;
    x->shape = *shape;
    memset(x->strides, 0, sizeof x->strides);
    x->offset = 0;
    x->size = hki_dims_strides(shape, x->strides);
    x->storage = storage;
    x->scope_slot = 0;
    atomic_init(&x->scope_owner, NULL);
    atomic_init(&x->autograd, NULL);
}

hk_array *hki_array_first(hki_storage *storage, const hk_dims *shape, hk_dtype dtype)
{
    if (!storage)
        return NULL;
    handle_init(&storage->first, storage, shape, dtype);
    return &storage->first;
}

hk_array *hki_array_more(hki_storage *storage, const hk_dims *shape, hk_dtype dtype)
{
    hk_array *x = malloc(sizeof *x);
    if (!x)
        return NULL;
    hki_storage_retain_handle(storage);
    handle_init(x, storage, shape, dtype);
    return x;
}

hk_array *hki_array_create_sized(hki_device *device, const hk_dims *shape, hk_dtype dtype,
                                 uint64_t bytes, bool is_pinned)
{
    if (!device->class || !hki_runtime_alive(device->runtime))
        return hki_array_create_failed(device, "create", NULL, 0, HK_INVALID_ARGUMENT,
                                       "the device has failed");
    hki_storage *storage =
        is_pinned ? hki_storage_create_pinned(device, bytes) : hki_storage_create(device, bytes);
    return hki_scope_add(hki_array_first(storage, shape, dtype));
}

hk_array *hki_array_of(const hki_tensor *tensor)
{
    hk_dims shape = {.ndim = tensor->ndim};
    memcpy(shape.dims, tensor->dims, sizeof shape.dims);
    hk_array *x = hki_array_more(tensor->storage, &shape, tensor->dtype);
    if (x) {
        memcpy(x->strides, tensor->strides, sizeof x->strides);
        x->offset = tensor->offset;
        x->size = tensor->size;
        x->is_contiguous = tensor->is_contiguous;
    }
    return x;
}

static hk_array *create(hki_device *device, const hk_dims *shape, hk_dtype dtype, bool is_pinned)
{
    uint64_t bytes = 0;
    char why[320];
    if (device->class && !hki_dims_bytes(shape, dtype, &bytes, why, sizeof why))
        return hki_array_create_failed(device, "create", NULL, 0, HK_INVALID_ARGUMENT, "%s", why);
    return hki_array_create_sized(device, shape, dtype, bytes, is_pinned);
}

hk_array *hki_array_create(hki_device *device, hk_dims shape, hk_dtype dtype)
{
    return create(device, &shape, dtype, false);
}

hk_array *hki_array_create_pinned(hki_device *device, hk_dims shape, hk_dtype dtype)
{
    return create(device, &shape, dtype, true);
}

/* ---- counting -------------------------------------------------------------------------------------- */

hk_array *hk_array_retain(hk_array *x)
{
    if (x && x != &hki_no_memory_array)
        atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
    return x;
}

void hki_array_free(hk_array *x)
{
    void *autograd = atomic_load_explicit(&x->autograd, memory_order_acquire);
    if (autograd)
        hki_hooks.tape_drop(autograd);
    if (atomic_load_explicit(&hki_config_checks, memory_order_relaxed)) {
        hki_array_bury(x);
        return;
    }
    hki_storage *storage = x->storage;
    if (x != &storage->first)
        free(x);
    else
        HKI_POISON(x, sizeof *x);
    hki_storage_release_handle(storage);
}

void hk_array_release(hk_array *x)
{
    if (!x || x == &hki_no_memory_array || !hki_count_drop(&x->refs))
        return;
    /* Somebody released what a scope owns. Another thread's scope then frees it when it ends. */
    if (atomic_load_explicit(&x->scope_owner, memory_order_acquire) && !hki_scope_forget(x))
        return;
    hki_array_free(x);
}

/* ---- facts ------------------------------------------------------------------------------------------ */

int hk_ndim(const hk_array *x)
{
    return x ? x->shape.ndim : 0;
}

int64_t hk_dim(const hk_array *x, int axis)
{
    return x && hki_axis_exists(axis, x->shape.ndim)
               ? x->shape.dims[hki_axis_from_front(axis, x->shape.ndim)]
               : 0;
}

hk_dims hk_dims_get(const hk_array *x)
{
    return x ? x->shape : (hk_dims){0};
}

hk_dims hk_strides_get(const hk_array *x)
{
    hk_dims strides = {.ndim = hk_ndim(x)};
    for (int i = 0; i < strides.ndim; i++)
        strides.dims[i] = x->strides[i];
    return strides;
}

int64_t hk_size(const hk_array *x)
{
    return x ? x->size : 0;
}

hk_dtype hk_array_dtype(const hk_array *x)
{
    return x ? x->dtype : HK_F32;
}

hk_device hk_array_device(const hk_array *x)
{
    return x ? (hk_device){x->storage->device} : hk_device_default();
}

bool hki_dims_contiguous(const int64_t *dims, const int64_t *strides, int ndim)
{
    int64_t expected = 1;
    bool contiguous = true;
    for (int i = ndim - 1; i >= 0; i--) {
        if (dims[i] == 0)
            return true;
        if (dims[i] != 1 && strides[i] != expected)
            contiguous = false;
        expected *= dims[i];
    }
    return contiguous;
}

bool hk_is_contiguous(const hk_array *x)
{
    return x && x->is_contiguous;
}

bool hk_is_read_only(const hk_array *x)
{
    return x && x->read_only;
}

bool hk_is_shared(const hk_array *x)
{
    return x && (x->storage->is_foreign || hki_storage_has(x->storage, HKI_IS_LENT));
}

bool hk_is_within(const hk_array *x, const hk_array *of, int64_t *offset)
{
    if (!x || !of || x->failed || of->failed || x->storage != of->storage ||
        x->dtype != of->dtype || x->size == 0)
        return false;
    const hki_range range = hki_array_range(x), whole = hki_array_range(of);
    const bool is_within = whole.begin <= range.begin && range.end <= whole.end;
    if (is_within)
        *offset = x->offset - of->offset;
    return is_within;
}

const hk_status *hki_array_gone(const hk_array *x)
{
    if (!x)
        return hki_status_create(HK_INVALID_ARGUMENT, NULL, "an array is NULL");
    const hki_storage *storage = x->storage;
    if (storage->record) {
        if (atomic_load_explicit(&storage->released, memory_order_relaxed))
            hki_released_is_used((hki_storage *)storage);
        return hk_status_retain(storage->record);
    }
    return hki_runtime_alive(storage->var.runtime) ? NULL : hki_runtime_gone(storage->var.runtime);
}

/* ---- what the engine is told ---------------------------------------------------------------------- */

/* True when the elements, in some order of the axes, lie side by side. */
static bool is_dense(int ndim, const int64_t *dims, const int64_t *axis_strides)
{
    int64_t sizes[HK_MAX_NDIM], strides[HK_MAX_NDIM], expected = 1;
    int count = 0;
    for (int i = 0; i < ndim; i++) {
        int64_t stride = axis_strides[i] < 0 ? -axis_strides[i] : axis_strides[i];
        if (dims[i] == 1)
            continue;
        int at = count++;
        for (; at > 0 && strides[at - 1] > stride; at--) {
            sizes[at] = sizes[at - 1];
            strides[at] = strides[at - 1];
        }
        sizes[at] = dims[i];
        strides[at] = stride;
    }
    for (int i = 0; i < count; i++) {
        if (strides[i] != expected)
            return false;
        expected *= sizes[i];
    }
    return true;
}

/* Rows along the axis with the longest step, where the elements of each end before the next one
 * begins. */
static void find_rows(hki_span *span, int ndim, const int64_t *dims, const int64_t *strides,
                      uint64_t element_bytes)
{
    int64_t inner_dims[HK_MAX_NDIM], inner_strides[HK_MAX_NDIM], elements = 1, reach = 1;
    int axis = -1, count = 0;
    for (int i = 0; i < ndim; i++)
        if (dims[i] > 1 && (axis < 0 || llabs(strides[i]) > llabs(strides[axis])))
            axis = i;
    for (int i = 0; i < ndim; i++) {
        if (i == axis)
            continue;
        inner_dims[count] = dims[i];
        inner_strides[count++] = strides[i];
        elements *= dims[i];
        reach += (dims[i] - 1) * llabs(strides[i]);
    }
    const int64_t step = axis < 0 ? 0 : llabs(strides[axis]);
    if (reach >= step || (uint64_t)step * element_bytes > UINT32_MAX)
        return;
    span->pitch = (uint32_t)((uint64_t)step * element_bytes);
    span->fills = reach == elements && is_dense(count, inner_dims, inner_strides);
}

/* Any but contiguous ones. */
static hki_span span_with_gaps(int ndim, const int64_t *dims, const int64_t *strides,
                               int64_t offset, uint64_t bytes, uint64_t element_bytes)
{
    int64_t first = offset, last = offset;
    for (int i = 0; i < ndim; i++) {
        int64_t reach = (dims[i] - 1) * strides[i];
        *(reach < 0 ? &first : &last) += reach;
    }
    hki_span span = {.begin = (uint64_t)first * element_bytes,
                     .end = (uint64_t)(last + 1) * element_bytes};
    uint64_t range = span.end - span.begin;
    span.moved_bytes = range < bytes ? range : bytes;
    span.is_dense = span.fills = range == bytes && is_dense(ndim, dims, strides);
    if (!span.is_dense)
        find_rows(&span, ndim, dims, strides, element_bytes);
    return span;
}

static hki_span span_of_dense(int64_t offset, uint64_t bytes, uint64_t element_bytes)
{
    hki_span span = {.moved_bytes = bytes, .is_dense = true, .fills = true};
    if (bytes) {
        span.begin = (uint64_t)offset * element_bytes;
        span.end = span.begin + bytes;
    }
    return span;
}

hki_span hki_tensor_span(const hki_tensor *tensor)
{
    uint64_t element_bytes = hki_dtype_bytes(tensor->dtype);
    uint64_t bytes = (uint64_t)tensor->size * element_bytes;
    if (tensor->is_contiguous || !bytes)
        return span_of_dense(tensor->offset, bytes, element_bytes);
    return span_with_gaps(tensor->ndim, tensor->dims, tensor->strides, tensor->offset, bytes,
                          element_bytes);
}

hki_span hki_span_flat(hki_span span)
{
    span.pitch = 0;
    span.fills = span.is_dense;
    return span;
}

hki_access hki_span_access(const hki_span *span, hki_storage *storage, unsigned mode)
{
    hki_access access = {
        .var = &storage->var, .begin = span->begin, .end = span->end, .pitch = span->pitch};
    access.mode = span->fills ? mode : mode & ~(unsigned)HKI_HEAL;
    if (span->begin == span->end) {
        access.begin = storage->bytes;
        access.end = storage->bytes + 1;
    }
    return access;
}

hki_access hki_array_access(const hk_array *x, unsigned mode)
{
    uint64_t element_bytes = hki_dtype_bytes(x->dtype), bytes = (uint64_t)x->size * element_bytes;
    hki_span span = x->is_contiguous || !bytes
                        ? span_of_dense(x->offset, bytes, element_bytes)
                        : span_with_gaps(x->shape.ndim, x->shape.dims, x->strides, x->offset, bytes,
                                         element_bytes);
    return hki_span_access(&span, x->storage, mode);
}

hki_range hki_array_range(const hk_array *x)
{
    const hki_access access = hki_array_access(x, HKI_READ);
    return hki_access_range(&access);
}

bool hki_arrays_overlap(const hk_array *a, const hk_array *b)
{
    return a->storage == b->storage && a->size > 0 && b->size > 0 &&
           hki_ranges_overlap(hki_array_range(a), hki_array_range(b));
}

/* ---- what people are told ---------------------------------------------------------------------------- */

void hki_shape_view_describe(const hki_shape_view *view, char *text, size_t bytes)
{
    char shape[192];
    hki_dims_describe(&view->shape, shape, sizeof shape);
    snprintf(text, bytes, "%s%s", hk_dtype_name(view->dtype), shape);
}

void hki_array_describe(const hk_array *x, char *text, size_t bytes)
{
    if (!x || x->failed)
        snprintf(text, bytes, "%s", x ? "failed" : "NULL");
    else
        hki_shape_view_describe(&x->view, text, bytes);
}

void hki_arrays_describe(hk_array *const *x, int count, char *text, size_t bytes)
{
    size_t used = 0;
    if (bytes)
        text[0] = '\0';
    for (int i = 0; i < count; i++) {
        char one[224];
        hki_array_describe(x[i], one, sizeof one);
        size_t length = strlen(one) + 2;
        if (used + length + sizeof ", …" > bytes) {
            snprintf(text + used, bytes - used, "%s…", i ? ", " : "");
            return;
        }
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? ", " : "", one);
    }
}

/* ---- tensors ------------------------------------------------------------------------------------------ */

void hki_tensors_describe(const hki_tensor *tensors, int count, char *text, size_t bytes)
{
    size_t used = 0;
    if (bytes)
        text[0] = '\0';
    for (int i = 0; i < count && used < bytes; i++) {
        const hki_tensor *tensor = &tensors[i];
        hk_dims shape = {.ndim = tensor->ndim};
        char dims[256] = "";
        if (tensor->ndim >= 0) {
            memcpy(shape.dims, tensor->dims, sizeof shape.dims);
            hki_dims_describe(&shape, dims, sizeof dims);
        }
        int written = snprintf(text + used, bytes - used, "%s%s%s", i ? ", " : "",
                               tensor->ndim < 0 ? "NULL" : hk_dtype_name(tensor->dtype), dims);
        if (written < 0)
            break;
        used += (size_t)written;
    }
}

hki_trace_operand hki_tensor_operand(const hki_tensor *tensor, bool is_output)
{
    hki_trace_operand operand = {
        .dtype = (uint8_t)tensor->dtype, .ndim = (int8_t)tensor->ndim, .is_output = is_output};
    memcpy(operand.dims, tensor->dims, sizeof operand.dims);
    return operand;
}
