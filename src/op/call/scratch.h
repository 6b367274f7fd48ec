/* Memory of a kernel for the time of one piece, from its device's pool: warm, and 64-byte aligned. */
#ifndef HOCKET_OP_SCRATCH_H
#define HOCKET_OP_SCRATCH_H

#include "op/op.h"

/* bytes > 0. NULL after the task has been failed for want of memory. */
static inline void *hki_scratch_allocate(const hki_kernel_call *call, int64_t piece, size_t bytes)
{
    hki_device *device = call->out[0].storage->device;
    char *scratch = hki_device_allocate(device, bytes);
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
    hki_device_release(device, (char *)scratch - device->kernel_offset, bytes);
}

#endif
