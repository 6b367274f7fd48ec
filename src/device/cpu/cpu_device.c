#include "device/device.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    PAGE_BYTES = 4096,
    HUGE_PAGE_BYTES = 2 << 20,
    SMALL_PAGES_BYTES =
        16 << 20 /* which small pages serve as well: a large one is resident as a whole */
};

static void *cpu_allocate(hki_device *device, size_t bytes)
{
    (void)device;
    bool huge = bytes >= 2 * (size_t)HUGE_PAGE_BYTES;
    size_t alignment = huge ? HUGE_PAGE_BYTES : 64;
    char *data = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    /* A page's first touch costs 2 µs or more; large blocks are worth large pages. */
    if (data && bytes > SMALL_PAGES_BYTES)
        madvise(data + SMALL_PAGES_BYTES, bytes - SMALL_PAGES_BYTES, MADV_HUGEPAGE);
    return data;
}

static void cpu_release(hki_device *device, void *data, size_t bytes)
{
    (void)device;
    (void)bytes;
    free(data);
}

/* Of pages that it has alone. */
static void cpu_discard(hki_device *device, void *data, size_t bytes)
{
    char *begin = data, *end = begin + bytes;
    (void)device;
    begin += -(uintptr_t)begin & (PAGE_BYTES - 1);
    end -= (uintptr_t)end & (PAGE_BYTES - 1);
    if (begin < end)
        madvise(begin, (size_t)(end - begin), MADV_DONTNEED);
}

static bool cpu_is_linked(hki_device *device, hki_device *peer)
{
    return device->class->kind == HKI_CPU && peer->class->kind == HKI_CPU;
}

static bool cpu_can_access(hki_device *device, hki_device *peer)
{
    return device->class->kind == HKI_CPU && peer->class->kind == HKI_CPU;
}

const hki_device_class hki_cpu_device_class = {
    .kind = HKI_CPU,
    .kind_name = "cpu",
    .kernels = HKI_CPU,
    .memory_option = "memory_bytes (HOCKET_MEMORY)",
    .allocate = cpu_allocate,
    .release = cpu_release,
    .discard = cpu_discard,
    .is_linked = cpu_is_linked,
    .can_access = cpu_can_access,
};
