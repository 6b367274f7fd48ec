/* Pools: which functions of the class give the memory, what is kept for reuse, and that all of it
 * goes back. */
#include "device/device.h"
#include "tests/check.h"

#include <stdlib.h>

static struct {
    int blocks, pinned_blocks; /* given and not taken back */
    int fresh;                 /* calls of either */
    hki_device *asked;
} seen;

static void *give(hki_device *device, size_t bytes, int *count)
{
    seen.asked = device;
    seen.fresh++;
    ++*count;
    return aligned_alloc(64, bytes);
}

static void *allocate(hki_device *device, size_t bytes)
{
    return give(device, bytes, &seen.blocks);
}

static void release(hki_device *device, void *data, size_t bytes)
{
    (void)device;
    (void)bytes;
    seen.blocks--;
    free(data);
}

static void *allocate_pinned(hki_device *device, size_t bytes)
{
    return give(device, bytes, &seen.pinned_blocks);
}

static void release_pinned(hki_device *device, void *data, size_t bytes)
{
    (void)device;
    (void)bytes;
    seen.pinned_blocks--;
    free(data);
}

static const hki_device_class whole_class = {.allocate = allocate,
                                             .release = release,
                                             .allocate_pinned = allocate_pinned,
                                             .release_pinned = release_pinned};
static const hki_device_class plain_class = {.allocate = allocate, .release = release};

static void test_pinned(void)
{
    hki_device accelerator = {.class = &whole_class}, plain = {.class = &plain_class};
    CHECK(!hki_memory_pool_create_pinned(&plain));
    accelerator.memory = hki_memory_pool_create(&accelerator, 1 << 20);
    hki_memory_pool *pinned = hki_memory_pool_create_pinned(&accelerator);
    void *a = hki_memory_pool_allocate(pinned, 1000), *b = hki_device_allocate(&accelerator, 1000);
    CHECK(a && b && a != b && (uintptr_t)a % 64 == 0);
    CHECK(seen.asked == &accelerator);
    CHECK(seen.blocks == 1 && seen.pinned_blocks == 1);
    CHECK_EQ_I64(hki_memory_pool_get(pinned).used_bytes, 1024);
    CHECK_EQ_I64(hki_memory_pool_get(accelerator.memory).used_bytes, 1024);
    CHECK(!hki_device_allocate(&accelerator, 2 << 20)); /* its limit is not the pinned pool's */
    void *large = hki_memory_pool_allocate(pinned, 2 << 20);
    CHECK(large != NULL);

    hki_memory_pool_release(pinned, a, 1000);
    hki_memory_pool_release(pinned, large, 2 << 20);
    hki_memory_pool_release(pinned, NULL, 5);
    hki_memory_pool_give_back(pinned, NULL, 5);
    CHECK_EQ_I64(hki_memory_pool_get(pinned).used_bytes, 0);
    if (hki_memory_pool_get(pinned).cached_bytes) { /* not under AddressSanitizer */
        int fresh = seen.fresh;
        CHECK(hki_memory_pool_allocate(pinned, 990) == a); /* of the same size class */
        CHECK_EQ_I64(seen.fresh, fresh);
        hki_memory_pool_release(pinned, a, 990);
    }
    hki_device_release(&accelerator, b, 1000);
    hki_memory_pool_destroy(pinned);
    CHECK_EQ_I64(seen.pinned_blocks, 0);
    hki_memory_pool_destroy(accelerator.memory);
    CHECK_EQ_I64(seen.blocks, 0);
}

/* All that is kept goes back, what is in use does not. */
static void test_trim(void)
{
    hki_device device = {.class = &plain_class};
    device.memory = hki_memory_pool_create(&device, 0);
    void *used = hki_device_allocate(&device, 5000), *kept[20];
    int before = seen.blocks;
    for (int i = 0; i < 20; i++)
        kept[i] = hki_device_allocate(&device, (size_t)1000 * (size_t)(i + 1));
    for (int i = 0; i < 20; i++)
        hki_device_release(&device, kept[i], (size_t)1000 * (size_t)(i + 1));
    hki_memory_pool_trim(device.memory);
    CHECK_EQ_I64(seen.blocks, before);
    CHECK_EQ_I64((int64_t)hki_memory_pool_get(device.memory).cached_bytes, 0);
    CHECK(hki_memory_pool_get(device.memory).used_bytes >= 5000);
    hki_memory_pool_trim(device.memory);
    hki_device_release(&device, used, 5000);
    hki_memory_pool_destroy(device.memory);
    CHECK_EQ_I64(seen.blocks, before - 1);
}

int main(void)
{
    test_pinned();
    test_trim();
    return check_result();
}
