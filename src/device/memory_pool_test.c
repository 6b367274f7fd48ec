/* Pools: which functions of the class give the memory, what is kept for reuse, and that all of it
 * goes back. */
#include "base/sanitizer.h"
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

/* ---- large blocks ---------------------------------------------------------------------------------------------------- */

static struct {
    size_t fresh_bytes, discarded_bytes,
        most_bytes; /* most: of a segment that the system has addresses for */
} large;

static void *allocate_large(hki_device *device, size_t bytes)
{
    if (large.most_bytes && bytes > large.most_bytes)
        return NULL;
    large.fresh_bytes += bytes;
    return allocate(device, bytes);
}

static void discard(hki_device *device, void *data, size_t bytes)
{
    (void)device;
    (void)data;
    large.discarded_bytes += bytes;
}

static const hki_device_class large_class = {
    .allocate = allocate_large, .release = release, .discard = discard};

enum { MEBIBYTE = 1 << 20 };

static uint64_t held_bytes(const hki_device *device)
{
    const hk_device_memory memory = hki_memory_pool_get(device->memory);
    return memory.used_bytes + memory.cached_bytes;
}

/* Steps that each take blocks of sizes of their own, and free some on the way: what is held is little more than what is in use
 * at most, though their sizes are of many classes. */
static void test_sizes(size_t least_kib, size_t more_kib)
{
    enum { STEPS = 6, BLOCKS = 24 };
    hki_device device = {.class = &large_class};
    device.memory = hki_memory_pool_create(&device, 0);
    for (int step = 0; step < STEPS; step++) {
        void *blocks[BLOCKS];
        size_t sizes[BLOCKS];
        for (int i = 0; i < BLOCKS; i++) {
            sizes[i] = (least_kib + (size_t)((i * 7 + step * 5) % 16) * more_kib) << 10;
            blocks[i] = hki_device_allocate(&device, sizes[i]);
            CHECK(blocks[i] && (uintptr_t)blocks[i] % 64 == 0);
            if (i % 3 == 2)
                hki_device_release(&device, blocks[i], sizes[i]);
        }
        for (int i = 0; i < BLOCKS; i++)
            if (i % 3 != 2)
                hki_device_release(&device, blocks[i], sizes[i]);
    }
    const hk_device_memory memory = hki_memory_pool_get(device.memory);
    CHECK_EQ_I64((int64_t)memory.used_bytes, 0);
    CHECK(memory.cached_bytes >= memory.peak_bytes);
    CHECK(memory.cached_bytes < memory.peak_bytes + memory.peak_bytes / 5);
    hki_memory_pool_trim(device.memory);
    CHECK_EQ_I64((int64_t)held_bytes(&device), 0);
    CHECK_EQ_I64(seen.blocks, 0);
    hki_memory_pool_destroy(device.memory);
}

/* Free neighbours are one, and what goes back to the system is found again where others would be fresh. */
static void test_neighbours(void)
{
    hki_device device = {.class = &large_class};
    device.memory = hki_memory_pool_create(&device, 0);
    char *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = hki_device_allocate(&device, MEBIBYTE);
    hki_device_release(&device, blocks[2], MEBIBYTE);
    hki_device_release(&device, blocks[1], MEBIBYTE);
    CHECK(hki_device_allocate(&device, 2 * MEBIBYTE) == blocks[1]);
    large.discarded_bytes = 0;
    hki_memory_pool_give_back(device.memory, blocks[1], 2 * MEBIBYTE);
    CHECK(large.discarded_bytes >= 2 * MEBIBYTE && large.discarded_bytes < 3 * MEBIBYTE);
    CHECK_EQ_I64((int64_t)hki_memory_pool_get(device.memory).cached_bytes, 0);
    hki_device_release(&device, blocks[3], MEBIBYTE);
    CHECK(hki_device_allocate(&device, MEBIBYTE) == blocks[3]); /* is resident */
    CHECK(hki_device_allocate(&device, MEBIBYTE) == blocks[1]);
    hki_device_release(&device, blocks[0], MEBIBYTE);
    hki_device_release(&device, blocks[1], MEBIBYTE);
    hki_device_release(&device, blocks[3], MEBIBYTE);
    hki_memory_pool_destroy(device.memory);
    CHECK_EQ_I64(seen.blocks, 0);
}

/* A limit has room for as many arrays as it says; where addresses are short, segments are as large as their blocks. */
static void test_little_room(void)
{
    hki_device device = {.class = &large_class};
    device.memory = hki_memory_pool_create(&device, 3 * MEBIBYTE);
    large.most_bytes = 2 * MEBIBYTE;
    void *blocks[3];
    for (int i = 0; i < 3; i++) {
        blocks[i] = hki_device_allocate(&device, MEBIBYTE);
        CHECK(blocks[i] != NULL);
    }
    CHECK(!hki_device_allocate(&device, MEBIBYTE));
    for (int i = 0; i < 3; i++)
        hki_device_release(&device, blocks[i], MEBIBYTE);
    CHECK(!hki_device_allocate(&device, 5 * MEBIBYTE / 2)); /* no addresses */
    large.most_bytes = 0;
    void *all = hki_device_allocate(&device, 3 * MEBIBYTE);
    CHECK(all != NULL);
    hki_device_release(&device, all, 3 * MEBIBYTE);
    hki_memory_pool_destroy(device.memory);
    CHECK_EQ_I64(seen.blocks, 0);
}

/* Blocks of any sizes, in any order, never lie over each other. */
static void test_any_order(void)
{
    enum { SLOTS = 64, ROUNDS = 20000 };
    static struct {
        char *data;
        size_t bytes;
        char mark;
    } blocks[SLOTS];
    hki_device device = {.class = &large_class};
    device.memory = hki_memory_pool_create(&device, 0);
    uint64_t state = 1;
    for (int round = 0; round < ROUNDS; round++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const int at = (int)(state >> 58);
        if (blocks[at].data) {
            CHECK(blocks[at].data[0] == blocks[at].mark &&
                  blocks[at].data[blocks[at].bytes - 1] == blocks[at].mark);
            (state >> 57 & 1 ? hki_memory_pool_release : hki_memory_pool_give_back)(
                device.memory, blocks[at].data, blocks[at].bytes);
            blocks[at].data = NULL;
        } else {
            blocks[at].bytes = (size_t)1 << (16 + (state >> 52 & 3));
            blocks[at].bytes += (size_t)(state >> 36 & 0xffff);
            blocks[at].mark = (char)at;
            blocks[at].data = hki_device_allocate(&device, blocks[at].bytes);
            CHECK(blocks[at].data != NULL);
            blocks[at].data[0] = blocks[at].data[blocks[at].bytes - 1] = (char)at;
        }
        if (round % 5000 == 0)
            hki_memory_pool_trim(device.memory);
    }
    for (int i = 0; i < SLOTS; i++)
        if (blocks[i].data)
            hki_device_release(&device, blocks[i].data, blocks[i].bytes);
    CHECK_EQ_I64((int64_t)hki_memory_pool_get(device.memory).used_bytes, 0);
    hki_memory_pool_destroy(device.memory);
    CHECK_EQ_I64(seen.blocks, 0);
}

int main(void)
{
    test_pinned();
    test_trim();
    test_any_order();
    if (!HKI_ADDRESS_SANITIZER) { /* which is to see each block freed */
        test_sizes(300, 300);
        test_sizes(16, 3); /* gradients of a small network */
        test_neighbours();
        test_little_room();
    }
    return check_result();
}
