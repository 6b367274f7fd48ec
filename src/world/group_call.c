/* What functions of groups check, and how they refuse. */
#include "base/text.h"
#include "op/call/transfer.h"
#include "world/group.h"

#include <hocket/call.h>

#include <stdlib.h>

bool hki_group_may_read(hk_array *x, char *why, size_t bytes)
{
    const hk_status *gone = hki_array_gone(x);
    if (gone || x->failed) {
        snprintf(why, bytes, x ? (gone ? "cannot be used" : "has failed") : "is NULL");
        hk_status_release(gone);
        return false;
    }
    return true;
}

bool hki_group_may_write(hk_array *x, hk_code *code, char *why, size_t bytes)
{
    hki_call call = {.code = HK_OK};
    *code = HK_INVALID_ARGUMENT;
    if (!hki_group_may_read(x, why, bytes))
        return false;
    if (x->read_only) {
        snprintf(why, bytes, "can only be read: it is a broadcast view, or memory for reading");
        return false;
    }
    if (!hki_hooks.tape_allow_overwrite(&call, x)) {
        *code = call.code;
        snprintf(why, bytes, "cannot be overwritten: %.200s", call.message);
        return false;
    }
    return true;
}

hk_array *hki_group_at(hki_device *place, hk_array *x, const char *operation)
{
    hk_array *whole = hk_is_contiguous(x) ? x : (hk_contiguous)(x);
    hki_device *device = x->storage->device;
    if (whole->failed || !hki_device_is_host(place) || hki_device_is_host(device))
        return whole;
    hk_array *copy =
        hki_array_create_pinned(hki_device_of_host(device), whole->shape, whole->dtype);
    if (!copy->failed)
        hki_transfer(copy, whole, operation, HKI_TRANSFER_FRESH | HKI_TRANSFER_COLLECTIVE);
    return copy;
}

/* ---- refusing ------------------------------------------------------------------------------------------------- */

static hki_device *some_device(const hki_group_work *work)
{
    for (int i = 0; i < work->count; i++)
        if (work->arrays && work->arrays[i] && work->arrays[i]->storage)
            return work->arrays[i]->storage->device;
    return NULL;
}

/* An exchange that has failed before it began. */
static void tell(const hki_group_work *work, hk_array *carrier)
{
    const hki_group_operand operand = {.x = carrier, .mode = HKI_READ};
    hki_group_call *call = hki_group_call_begin(work->group);
    if (!call)
        return;
    call->is_refused = true;
    hki_group_call_add(call, -1);
    const hki_exchange_plan plan = {.call = call,
                                    .operation = work->operation,
                                    .peer = work->peer,
                                    .operands = &operand,
                                    .operand_count = 1,
                                    .device = hki_group_device(carrier)};
    hki_exchange_issue(&plan);
    hki_group_call_end(call);
}

hk_array *hki_group_refuse(const hki_group_work *work, bool fails_arrays, hk_code code,
                           const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    const char *operation = hki_world_operation_name(work->operation);
    const hk_status *useless = hki_group_check(work->group);
    hk_array *carrier = hki_array_create_failed(some_device(work), operation, work->arrays,
                                                work->arrays && work->count > 0 ? work->count : 0,
                                                code, "%s", message);
    const hk_status *gone = hki_array_gone(carrier);
    if (!useless && !gone)
        tell(work, carrier);
    for (int i = 0; i < work->count && fails_arrays && work->arrays; i++)
        if (work->arrays[i])
            hki_array_fail_in_place(work->arrays[i], operation, &carrier, 1, code, "%s", message);
    hk_status_release(useless);
    hk_status_release(gone);
    return carrier;
}
