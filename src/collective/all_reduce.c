/* Sums over devices, as tasks of the devices' queues for reductions.
 *
 * A task names only the bytes of its part, so that the parts of a reduction, and of the next, run as soon
 * as what they read is there. */
#include "base/all_reduce_sizes.h"
#include "base/integer.h"
#include "base/text.h"
#include "collective/reduce_part.h"
#include "collective/reduce_task.h"
#include "collective/write_order.h"
#include "op/call/capture.h"
#include "op/call/transfer.h"

#include <hocket/call.h>
#include <hocket/collective.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "all_reduce";

typedef struct reduction {
    hk_array *const *arrays;
    int count;
    int64_t size; /* elements of each */
    hk_all_reduce_algorithm algorithm;
} reduction;

static hki_device *device_of(const hk_array *x)
{
    return x->storage->device;
}

/* ---- checks ---------------------------------------------------------------------------------------- */

/* All arrays fail by one record: the earliest of their own, or the one given. */
HK_PRINTF(4, 5)
static void refuse(hk_array *const *arrays, int count, hk_code code, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    HK_SCOPE;
    hki_device *device = NULL;
    for (int i = 0; i < count && !device; i++)
        device = arrays[i] ? arrays[i]->storage->device : NULL;
    hk_array *carrier =
        hki_array_create_failed(device, operation, arrays, count, code, "%s", message);
    for (int i = 0; i < count; i++)
        if (arrays[i])
            hki_array_fail_in_place(arrays[i], operation, &carrier, 1, code, "%s", message);
}

/* Arrays that can be named in tasks and have dimensions. */
static bool check_usable(hk_array *const *arrays, int count)
{
    for (int i = 0; i < count; i++) {
        const hk_status *gone = hki_array_gone(arrays[i]);
        if (gone) {
            hk_status_release(gone);
            refuse(arrays, count, HK_INVALID_ARGUMENT,
                   arrays[i] ? "array %d cannot be used" : "array %d is NULL", i);
            return false;
        }
        if (arrays[i]->failed) {
            refuse(arrays, count, HK_INVALID_ARGUMENT, "array %d has failed", i);
            return false;
        }
    }
    return true;
}

static bool check_pairs(hk_array *const *arrays, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = 0; j < i; j++) {
            if (arrays[i] == arrays[j])
                refuse(arrays, count, HK_INVALID_ARGUMENT,
                       "arrays %d and %d are the same; each must be one of its own", j, i);
            else if (hki_arrays_overlap(arrays[i], arrays[j]))
                refuse(arrays, count, HK_INVALID_ARGUMENT, "arrays %d and %d share memory", j, i);
            else
                continue;
            return false;
        }
    return true;
}

static bool check(hk_array *const *arrays, int count)
{
    if (!check_usable(arrays, count))
        return false;
    const hk_array *first = arrays[0];
    for (int i = 0; i < count; i++) {
        const hk_array *x = arrays[i];
        char its[224], wanted[224];
        if (x->dtype != first->dtype || !hki_dims_equal(&x->shape, &first->shape)) {
            hki_array_describe(x, its, sizeof its);
            hki_array_describe(first, wanted, sizeof wanted);
            refuse(arrays, count, HK_INVALID_ARGUMENT,
                   "array %d is %s, but array 0 is %s; all must be the same", i, its, wanted);
            return false;
        }
        if (hki_dtype_is_complex(x->dtype) && device_of(x)->class->sum) {
            refuse(arrays, count, HK_UNSUPPORTED, "%s arrays have no sum on %s; only on the host",
                   hk_dtype_name(x->dtype), device_of(x)->name);
            return false;
        }
        if (x->dtype == HK_BOOL || hki_dtype_is_half(x->dtype)) {
            refuse(arrays, count, HK_UNSUPPORTED, "%s arrays have no sum; hk_cast converts",
                   hk_dtype_name(x->dtype));
            return false;
        }
        if (x->read_only) {
            refuse(arrays, count, HK_INVALID_ARGUMENT,
                   "array %d can only be read: it is a broadcast view, or memory for reading", i);
            return false;
        }
        hki_call call = {.code = HK_OK};
        if (!hki_hooks.tape_allow_overwrite(&call, arrays[i])) {
            refuse(arrays, count, call.code, "array %d: %s", i, call.message);
            return false;
        }
    }
    return check_pairs(arrays, count);
}

/* ---- parts ----------------------------------------------------------------------------------------- */

/* True when tasks of `device` may use all arrays where they are. */
static bool reaches_all(const reduction *self, hki_device *device)
{
    for (int i = 0; i < self->count; i++)
        if (device_of(self->arrays[i]) != device &&
            !device->class->can_access(device, device_of(self->arrays[i])))
            return false;
    return true;
}

/* Elements [*begin, *end) are part number `index`; parts differ by one cache line at most. */
static void part_range(const reduction *self, int index, int64_t *begin, int64_t *end)
{
    int64_t line = HKI_ALL_REDUCE_LINE_BYTES / (int64_t)hk_dtype_bytes(self->arrays[0]->dtype);
    int64_t lines = hki_divide_up(self->size, line);
    int64_t each = lines / self->count, longer = lines % self->count;
    *begin = (index * each + (index < longer ? index : longer)) * line;
    *end = *begin + (each + (index < longer)) * line;
    if (*end > self->size)
        *end = self->size;
}

static hk_array *part_view(hk_array *x, int64_t begin, int64_t end)
{
    return hki_array_view(x, (hk_dims){.ndim = 1, .dims = {end - begin}}, (int64_t[]){1},
                          x->offset + begin);
}

/* Elements [begin, end) of the arrays where tasks of `device` can use them: parts[i], or a copy
 * of it on its way. False when host memory is short. */
static bool gather(const reduction *self, hki_device *device, hk_array *const *parts,
                   hk_array **local)
{
    for (int i = 0; i < self->count; i++) {
        hki_device *home = device_of(parts[i]);
        local[i] = parts[i];
        if (home == device || device->class->can_access(device, home))
            continue;
        local[i] = hki_array_create(device, parts[i]->shape, parts[i]->dtype);
        if (local[i]->failed)
            return false;
        hki_transfer(local[i], parts[i], operation, HKI_TRANSFER_FRESH | HKI_TRANSFER_COLLECTIVE);
    }
    return true;
}

/* Copies a sum from its place to the others'. Where there is no link it goes to the host, once
 * for all of them. */
static void spread(const reduction *self, hk_array *const *parts, int index)
{
    hk_array *sum = parts[index], *on_host = NULL;
    for (int i = 0; i < self->count; i++) {
        hk_array *from = sum;
        if (i == index)
            continue;
        if (!hki_transfer_is_direct(device_of(sum), device_of(parts[i]))) {
            if (!on_host) {
                on_host = hki_array_create_pinned(hki_device_of_host(device_of(sum)), sum->shape,
                                                  sum->dtype);
                if (!on_host->failed)
                    hki_transfer(on_host, sum, operation,
                                 HKI_TRANSFER_FRESH | HKI_TRANSFER_COLLECTIVE);
            }
            from = on_host->failed ? sum : on_host;
        }
        hki_transfer(parts[i], from, operation, HKI_TRANSFER_COLLECTIVE);
    }
}

/* Sums elements [begin, end) on the device of array `index`, which cannot reach the others'
 * memory: copies come and, where the sum is for all, copies go. */
static void reduce_by_copies(const reduction *self, int index, int64_t begin, int64_t end,
                             bool is_for_all)
{
    HK_SCOPE;
    hki_device *device = device_of(self->arrays[index]);
    hk_array **parts = calloc((size_t)self->count * 2, sizeof *parts);
    hk_array **local = parts ? parts + self->count : NULL;
    for (int i = 0; parts && i < self->count; i++)
        parts[i] = part_view(self->arrays[i], begin, end);
    if (!parts || !gather(self, device, parts, local))
        refuse(self->arrays, self->count, HK_OUT_OF_MEMORY, "out of host memory");
    else if (hki_reduce_issue(device, operation, local, self->count, &local[index], 1, 0,
                              end - begin) &&
             is_for_all)
        spread(self, parts, index);
    free(parts);
}

/* The same in chunks, so that one is copied while another is summed. */
static void reduce_in_chunks(const reduction *self, int index, int64_t begin, int64_t end,
                             bool is_for_all)
{
    int64_t chunk = HKI_ALL_REDUCE_CHUNK_BYTES / (int64_t)hk_dtype_bytes(self->arrays[0]->dtype);
    for (; begin < end; begin += chunk)
        reduce_by_copies(self, index, begin, end - begin < chunk ? end : begin + chunk, is_for_all);
}

static void reduce_parts(const reduction *self)
{
    for (int i = 0; i < self->count; i++) {
        hki_device *device = device_of(self->arrays[i]);
        int64_t begin, end;
        part_range(self, i, &begin, &end);
        if (begin >= end)
            continue;
        if (reaches_all(self, device))
            hki_reduce_issue(device, operation, self->arrays, self->count, self->arrays,
                             self->count, begin, end);
        else
            reduce_in_chunks(self, i, begin, end, true);
    }
}

static void reduce_central(const reduction *self)
{
    hk_array *const *arrays = self->arrays;
    if (!reaches_all(self, device_of(arrays[0]))) {
        reduce_in_chunks(self, 0, 0, self->size, true);
        return;
    }
    if (!hki_reduce_issue(device_of(arrays[0]), operation, arrays, self->count, arrays, 1, 0,
                          self->size))
        return;
    for (int i = 1; i < self->count; i++) {
        if (device_of(arrays[i])->class->can_access(device_of(arrays[i]), device_of(arrays[0])))
            hki_reduce_issue(device_of(arrays[i]), operation, arrays, 1, &arrays[i], 1, 0,
                             self->size);
        else
            hki_transfer(arrays[i], arrays[0], operation, HKI_TRANSFER_COLLECTIVE);
    }
}

/* Where a library of the devices is to do it. */
static bool library_reduces(const reduction *self)
{
    enum { FEW = 16 };
    const hki_device_class *class = device_of(self->arrays[0])->class;
    hki_device *few[FEW], **devices = few;
    bool agrees = self->algorithm == HK_ALL_REDUCE_DEFAULT && class->has_all_reduce;
    if (agrees && self->count > FEW && !(devices = malloc((size_t)self->count * sizeof *devices)))
        return false;
    for (int i = 0; agrees && i < self->count; i++) {
        devices[i] = device_of(self->arrays[i]);
        agrees = devices[i]->class == class;
    }
    agrees = agrees && class->has_all_reduce(devices, self->count, self->arrays[0]->dtype);
    if (devices != few)
        free(devices);
    return agrees;
}

static void reduce(const reduction *self)
{
    hk_array *const *arrays = self->arrays;
    const uint64_t bytes = (uint64_t)self->size * hk_dtype_bytes(arrays[0]->dtype);
    hki_device *first = device_of(arrays[0]);
    bool is_small = self->algorithm == HK_ALL_REDUCE_DEFAULT && bytes <= HKI_ALL_REDUCE_SMALL_BYTES;
    if (self->algorithm == HK_ALL_REDUCE_CENTRAL || (is_small && !reaches_all(self, first)))
        reduce_central(self);
    else if (is_small)
        hki_reduce_issue(first, operation, arrays, self->count, arrays, self->count, 0, self->size);
    else
        reduce_parts(self);
}

/* ---- halves of it (reduce_part.h) -------------------------------------------------------------------- */

void hki_reduce_part(hk_array *const *arrays, int count, int index, int64_t begin, int64_t end)
{
    const reduction self = {arrays, count, hk_size(arrays[0]), HK_ALL_REDUCE_PARTS};
    if (count < 2 || begin >= end)
        return;
    if (reaches_all(&self, device_of(arrays[index])))
        hki_reduce_issue(device_of(arrays[index]), operation, arrays, count, &arrays[index], 1,
                         begin, end);
    else
        reduce_in_chunks(&self, index, begin, end, false);
}

void hki_spread_part(hk_array *const *arrays, int count, int index, int64_t begin, int64_t end)
{
    HK_SCOPE;
    const reduction self = {arrays, count, hk_size(arrays[0]), HK_ALL_REDUCE_PARTS};
    hk_array **parts = count > 1 && begin < end ? calloc((size_t)count, sizeof *parts) : NULL;
    for (int i = 0; parts && i < count; i++)
        parts[i] = part_view(arrays[i], begin, end);
    if (parts)
        spread(&self, parts, index);
    else if (count > 1 && begin < end)
        refuse(arrays, count, HK_OUT_OF_MEMORY, "out of host memory");
    free(parts);
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

/* As hki_capture_again_fn has it. */
typedef struct call_options {
    int n, count;
    hk_all_reduce_algorithm algorithm;
} call_options;

/* What the library is to sum at once. */
typedef struct bucket {
    hk_array **arrays; /* n of each sum */
    int n, count;
    uint64_t bytes;
} bucket;

static void flush(bucket *self)
{
    if (self->count > 0)
        hki_reduce_issue_library(operation, self->arrays, self->n, self->count);
    self->count = 0;
    self->bytes = 0;
}

static bool shares_memory(const bucket *self, hk_array *const *arrays)
{
    for (int i = 0; i < self->count * self->n; i++)
        for (int d = 0; d < self->n; d++)
            if (hki_arrays_overlap(self->arrays[i], arrays[d]))
                return true;
    return false;
}

static bool has_same_devices(const bucket *self, hk_array *const *arrays)
{
    for (int d = 0; d < self->n; d++)
        if (device_of(self->arrays[d]) != device_of(arrays[d]))
            return false;
    return true;
}

static void add(bucket *self, hk_array *const *arrays)
{
    const uint64_t bytes = (uint64_t)arrays[0]->size * hk_dtype_bytes(arrays[0]->dtype);
    if (self->count > 0 &&
        (self->bytes + bytes > HKI_EARLY_BYTES || self->arrays[0]->dtype != arrays[0]->dtype ||
         !has_same_devices(self, arrays) || shares_memory(self, arrays)))
        flush(self);
    memcpy(self->arrays + self->count * self->n, arrays, (size_t)self->n * sizeof *arrays);
    self->count++;
    self->bytes += bytes;
}

/* All have been checked, and have no gaps. */
static void reduce_all(const call_options *options, hk_array *const *arrays, const int *order,
                       bucket *at_once)
{
    for (int i = 0; i < options->count; i++) {
        hk_array *const *its = arrays + order[i] * options->n;
        const reduction self = {its, options->n, its[0]->size, options->algorithm};
        if (self.size == 0)
            continue;
        if (library_reduces(&self)) {
            add(at_once, its);
            continue;
        }
        flush(at_once);
        reduce(&self);
    }
    flush(at_once);
}

/* Arrays with gaps are reduced in copies without, which are written back. False: no host memory. */
static bool reduce_lists(const call_options *options, hk_array *const *arrays)
{
    HK_SCOPE;
    const int all = options->n * options->count;
    hk_array **whole = calloc(2 * (size_t)all, sizeof(hk_array *));
    int *order = calloc((size_t)options->count, sizeof *order);
    bucket at_once = {.n = options->n, .arrays = whole + all};
    const bool has_room =
        whole && order && hki_write_order(arrays, options->n, options->count, true, order);
    for (int i = 0; i < all && has_room; i++)
        whole[i] = hk_is_contiguous(arrays[i]) ? arrays[i] : (hk_contiguous)(arrays[i]);
    if (has_room)
        reduce_all(options, whole, order, &at_once);
    for (int i = 0; i < all && has_room; i++)
        if (whole[i] != arrays[i])
            (hk_assign)(arrays[i], whole[i]);
    free(whole);
    free(order);
    return has_room;
}

/* Done again with others in their place. */
static void again(hk_array *const *arrays, int count, const void *argument)
{
    const call_options *options = argument;
    (void)count;
    (hk_all_reduce_list)(arrays, options->n, options->count, options->algorithm);
}

void(hk_all_reduce_list)(hk_array *const *arrays, int n, int count,
                         hk_all_reduce_algorithm algorithm)
{
    if (n < 0 || count < 0 || (n > 0 && count > INT_MAX / n) || (n > 0 && count > 0 && !arrays)) {
        hki_array_fail_in_place(NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                "a list of %d arrays on each of %d devices at %s cannot be reduced",
                                count, n, hki_given(arrays));
        return;
    }
    bool is_good = n > 1 && count > 0;
    for (int i = 0; i < count && n > 1; i++)
        is_good = check(arrays + i * n, n) && is_good;
    if (!is_good)
        return;
    const call_options options = {n, count, algorithm};
    hki_capture *capture = hki_capturing;
    if (capture)
        hki_hooks.capture->compound_begin(capture, operation, again, arrays, n * count, &options,
                                          sizeof options, HKI_EARLY_BYTES);
    if (!reduce_lists(&options, arrays))
        for (int i = 0; i < count; i++)
            refuse(arrays + i * n, n, HK_OUT_OF_MEMORY, "out of host memory");
    if (capture)
        hki_hooks.capture->compound_end(capture);
}

void(hk_all_reduce_by)(hk_array *const *arrays, int n, hk_all_reduce_algorithm algorithm)
{
    (hk_all_reduce_list)(arrays, n, 1, algorithm);
}

void(hk_all_reduce)(hk_array *const *arrays, int n)
{
    (hk_all_reduce_list)(arrays, n, 1, HK_ALL_REDUCE_DEFAULT);
}
