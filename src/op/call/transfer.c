#include "op/call/transfer.h"

#include "op/call/call.h"
#include "op/shape/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hki_transfer_is_needed(const hki_device *a, const hki_device *b)
{
    return a != b && !(hki_device_is_host(a) && hki_device_is_host(b));
}

bool hki_transfer_is_direct(hki_device *from, hki_device *to)
{
    return hki_device_is_host(from) || hki_device_is_host(to) ||
           (from->class->copy_to_peer && from->class->is_linked(from, to));
}

/* ---- the task: contiguous bytes from one memory to another ----------------------------------- */

enum { LATE_BYTES = 64 << 10 /* of fewer it is not worth it */ };

typedef struct transfer {
    hki_tensor from, to; /* contiguous, of one size and dtype; a use of each storage */
    uint64_t bytes;
    bool is_late; /* may be put off */
} transfer;

static char *address(const hki_tensor *tensor)
{
    char *data = atomic_load_explicit(&tensor->storage->data, memory_order_acquire);
    return data + tensor->offset * (int64_t)hk_dtype_bytes(tensor->dtype);
}

static bool prepare(hki_task *task, void *payload)
{
    const transfer *self = payload;
    hki_storage *to = self->to.storage;
    if (!atomic_load_explicit(&self->from.storage->data, memory_order_acquire) && self->bytes) {
        hki_task_fail(task, 0, HK_INVALID_ARGUMENT, "the array was never written");
        return false;
    }
    if (hki_storage_materialise(to))
        return true;
    hk_device_memory memory = hki_storage_memory(to);
    hki_task_fail(
        task, 0, HK_OUT_OF_MEMORY,
        "%s has no room for %" PRIu64 " bytes: %" PRIu64 " in use, %" PRIu64
        " cached, limit %" PRIu64 " (0: none); release arrays or give the device more memory",
        to->device->name, to->bytes, memory.used_bytes, memory.cached_bytes, memory.limit_bytes);
    return false;
}

/* Nobody but the program itself may write to what it has lent. */
static void note_values(const hki_task *task, const transfer *self)
{
    const hki_storage *from = self->from.storage;
    if (!from->is_foreign && !hki_storage_has(from, HKI_IS_LENT))
        hki_known_values_note(&self->to.storage->device->known, hki_task_sequence(task),
                              (uint64_t)self->to.offset * hk_dtype_bytes(self->to.dtype),
                              address(&self->from), self->bytes, self->from.dtype);
}

static void run(hki_task *task, void *payload, int64_t piece)
{
    (void)piece;
    const transfer *self = payload;
    hki_device *from = self->from.storage->device, *to = self->to.storage->device;
    if (!self->bytes)
        return;
    if (hki_device_is_host(from))
        note_values(task, self);
    if (hki_device_is_host(from))
        to->class->copy_from_host(to, address(&self->to), address(&self->from), self->bytes);
    else if (hki_device_is_host(to))
        from->class->copy_to_host(from, address(&self->to),
                                  address(&self->from) + hki_task_shift(task), self->bytes);
    else
        from->class->copy_to_peer(from, to, address(&self->to),
                                  address(&self->from) + hki_task_shift(task), self->bytes);
}

static void finish(hki_task *task, void *payload)
{
    (void)task;
    const transfer *self = payload;
    hki_storage_release_use(self->from.storage);
    hki_storage_release_use(self->to.storage);
}

static void describe(const void *payload, char *text, size_t bytes)
{
    const hki_tensor *from = &((const transfer *)payload)->from;
    hk_dims shape = {.ndim = from->ndim};
    char dims[192];
    memcpy(shape.dims, from->dims, sizeof shape.dims);
    hki_dims_describe(&shape, dims, sizeof dims);
    snprintf(text, bytes, "%s%s", hk_dtype_name(from->dtype), dims);
}

static int operands(const void *payload, hki_trace_operand *operands, int limit)
{
    const transfer *self = payload;
    const hki_trace_operand both[] = {hki_tensor_operand(&self->from, false),
                                      hki_tensor_operand(&self->to, true)};
    int count = limit < 2 ? limit : 2;
    for (int i = 0; i < count; i++)
        operands[i] = both[i];
    return count;
}

/* Copies between simulated devices are put off, and those to the host that nobody may ever look at.
 */
static bool may_be_late(const hki_task_spec *spec, void *payload, bool is_issued)
{
    const transfer *self = payload;
    (void)is_issued;
    return self->is_late || (spec->cost.peer && hki_device_puts_off(spec->cost.peer));
}

static bool writes_host(const hki_task_spec *spec)
{
    return !spec->cost.peer;
}

static void *keep(const hki_task_spec *spec, const void *payload)
{
    (void)spec;
    transfer *self = malloc(sizeof *self);
    if (!self)
        return NULL;
    *self = *(const transfer *)payload;
    hki_storage_retain_name(self->from.storage);
    hki_storage_retain_name(self->to.storage);
    return self;
}

static void drop(void *kept)
{
    const transfer *self = kept;
    hki_storage_release_name(self->from.storage);
    hki_storage_release_name(self->to.storage);
    free(kept);
}

static const hki_later later = {
    .may = may_be_late, .keep = keep, .drop = drop, .writes_host = writes_host};

static const hki_task_class transfer_class = {.enqueues = true,
                                              .reads_elsewhere = true,
                                              .later = &later,
                                              .prepare = prepare,
                                              .run = run,
                                              .finish = finish,
                                              .describe = describe,
                                              .operands = operands};

static void fail_for_memory(hk_array *to, hk_array *from, const char *operation)
{
    hki_array_fail_in_place(to, operation, &from, 1, HK_OUT_OF_MEMORY, "out of host memory");
}

/* Contiguous arrays of one size and dtype, between whose devices it is direct. */
static void issue(hk_array *to, hk_array *from, const char *operation, unsigned flags)
{
    bool is_fresh = flags & HKI_TRANSFER_FRESH;
    hki_task *task = hki_task_begin(to->storage->var.runtime, sizeof(transfer), 2,
                                    is_fresh ? to->storage->bytes : 0);
    if (!task) {
        fail_for_memory(to, from, operation);
        return;
    }
    transfer *self = hki_task_payload(task);
    hki_task_spec *spec = hki_task_get_spec(task);
    hki_device *source = from->storage->device, *target = to->storage->device;
    bool comes = hki_device_is_host(source), goes = hki_device_is_host(target);
    hki_tensor_init(&self->from, from);
    hki_tensor_init(&self->to, to);
    self->bytes = (uint64_t)hk_size(from) * hk_dtype_bytes(from->dtype);
    self->is_late = flags & HKI_TRANSFER_LATE && is_fresh && goes && hki_device_puts_off(source) &&
                    self->bytes >= LATE_BYTES;
    if (self->is_late)
        atomic_fetch_or_explicit(&to->storage->marks, HKI_IS_LATE, memory_order_relaxed);
    hki_storage_retain_use(from->storage);
    hki_storage_retain_use(to->storage);
    spec->class = &transfer_class;
    spec->device = comes ? target : source;
    spec->queue = comes ? HKI_QUEUE_COPY_IN : HKI_QUEUE_COPY_OUT;
    spec->cost.copy_bytes = (double)self->bytes;
    spec->cost.is_pageable =
        (comes && !from->storage->is_pinned) || (goes && !to->storage->is_pinned);
    spec->cost.peer = comes || goes ? NULL : target;
    spec->collective = flags & HKI_TRANSFER_COLLECTIVE;
    spec->operation = operation;
    spec->accesses[0] = hki_array_access(from, HKI_READ);
    spec->accesses[1] = hki_array_access(to, HKI_WRITE | HKI_HEAL | (is_fresh ? HKI_FRESH : 0u));
    hki_task_submit(task);
}

/* ---- what leads to it ------------------------------------------------------------------------ */

/* Contiguous arrays of one size and dtype. */
static void move(hk_array *to, hk_array *from, const char *operation, unsigned flags)
{
    HK_SCOPE;
    if (hki_transfer_is_direct(from->storage->device, to->storage->device)) {
        issue(to, from, operation, flags);
        return;
    }
    hk_array *between = hki_array_create_pinned(hki_device_of_host(from->storage->device),
                                                from->shape, from->dtype);
    if (between->failed) {
        fail_for_memory(to, from, operation);
        return;
    }
    issue(between, from, operation, flags | HKI_TRANSFER_FRESH);
    issue(to, between, operation, flags);
}

/* On one device. */
static void assign(hk_array *to, hk_array *from, const char *operation)
{
    hki_assign_options options = {.dtype = to->dtype};
    hki_call_into_unasked(&hki_op_assign, operation, from, &options, to);
}

/* GPUs convert fewer dtypes than hosts. */
static bool is_converted_at(const hki_device *device, const hk_array *from, const hk_array *to)
{
    const unsigned taken = hki_op_assign.gpu_dtypes;
    return !hki_device_class_has_own_kernels(device->class) ||
           (taken >> from->dtype & taken >> to->dtype & 1);
}

void hki_transfer(hk_array *to, hk_array *from, const char *operation, unsigned flags)
{
    HK_SCOPE;
    hki_device *source = from->storage->device, *target = to->storage->device;
    hk_array *whole = from, *straight = to;
    if (!hki_transfer_is_needed(source, target)) {
        assign(to, from, operation);
        return;
    }
    hki_array_uncapturable(operation,
                           "it copies between memories that are not shared; do that outside");
    /* Converted before it is copied, if that can be. */
    const hk_dtype dtype = is_converted_at(source, from, to) ? to->dtype : from->dtype;
    if (!hk_is_contiguous(from) || from->dtype != dtype)
        whole = hki_array_create(source, to->shape, dtype);
    if (!hk_is_contiguous(to) || to->dtype != dtype)
        straight = hki_array_create(target, to->shape, dtype);
    if (whole->failed || straight->failed) {
        fail_for_memory(to, from, operation);
        return;
    }
    if (whole != from)
        assign(whole, from, operation);
    move(straight, whole, operation, straight == to ? flags : flags | HKI_TRANSFER_FRESH);
    if (straight != to)
        assign(to, straight, operation);
}

void hki_transfer_array(hk_array *to, hk_array *from, const char *operation, bool is_fresh)
{
    hki_transfer(to, from, operation, is_fresh ? HKI_TRANSFER_FRESH : 0);
}
