/* Memory of a kernel for the time of one piece, from its device's pool: warm, and 64-byte aligned. */
#ifndef HOCKET_OP_SCRATCH_H
#define HOCKET_OP_SCRATCH_H

#include "op/op.h"

/* What is done late has its workspace beside what the device has in use: the call found room when
 * it was made. */
static inline bool hki_call_borrows(const hki_kernel_call *call)
{
    return hki_device_puts_off(call->out[0].storage->device) && hki_task_is_late(call->task);
}

/* bytes > 0. NULL after the task has been failed for want of memory. */
static inline void *hki_scratch_allocate(const hki_kernel_call *call, int64_t piece, size_t bytes)
{
    hki_device *device = call->out[0].storage->device;
    char *scratch = hki_call_borrows(call) ? hki_memory_pool_borrow(device->memory, bytes)
                                           : hki_device_allocate(device, bytes);
    if (scratch)
        scratch += device->kernel_offset;
    else
        hki_task_fail(call->task, piece, HK_OUT_OF_MEMORY,
                      "%s has no room for %zu bytes of workspace; release arrays or raise "
                      "memory_bytes (HOCKET_MEMORY)",
                      device->name, bytes);
    return scratch;
}

static inline void hki_scratch_release(const hki_kernel_call *call, void *scratch, size_t bytes)
{
    hki_device *device = call->out[0].storage->device;
    (hki_call_borrows(call) ? hki_memory_pool_return : hki_memory_pool_release)(
        device->memory, (char *)scratch - device->kernel_offset, bytes);
}

#endif
