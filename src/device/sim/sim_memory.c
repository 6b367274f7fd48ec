/* Two ranges of addresses of one size: what is handed out faults when it is used, its twin holds the bytes. */
#include "base/integer.h"
#include "base/sync.h"
#include "device/sim/sim_device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, PAGE_BYTES = 4096, WORTH_RETURNING_BYTES = 1 << 20 };

typedef struct gap {
    uint64_t begin, end;
} gap;

struct hki_sim_memory {
    hki_lock lock;
    char *addresses, *bytes;
    uint64_t size;
    gap *gaps; /* ascending, none next to another */
    size_t gap_count, gap_capacity;
};

static char *reserve(uint64_t bytes, int protection)
{
    void *range = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return range == MAP_FAILED ? NULL : range;
}

hki_sim_memory *hki_sim_memory_create(uint64_t bytes)
{
    hki_sim_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->size = hki_round_up_bytes(bytes, PAGE_BYTES);
    memory->addresses = reserve(memory->size, PROT_NONE);
    memory->bytes = reserve(memory->size, PROT_READ | PROT_WRITE);
    memory->gap_capacity = 16;
    memory->gaps = malloc(memory->gap_capacity * sizeof *memory->gaps);
    if (!memory->addresses || !memory->bytes || !memory->gaps) {
        hki_sim_memory_destroy(memory);
        return NULL;
    }
    memory->gaps[memory->gap_count++] = (gap){0, memory->size};
    return memory;
}

void hki_sim_memory_destroy(hki_sim_memory *memory)
{
    if (!memory)
        return;
    if (memory->addresses)
        munmap(memory->addresses, memory->size);
    if (memory->bytes)
        munmap(memory->bytes, memory->size);
    free(memory->gaps);
    free(memory);
}

intptr_t hki_sim_memory_offset(const hki_sim_memory *memory)
{
    return (intptr_t)memory->bytes - (intptr_t)memory->addresses;
}

static void remove_gap(hki_sim_memory *memory, size_t index)
{
    memory->gap_count--;
    memmove(&memory->gaps[index], &memory->gaps[index + 1],
            (memory->gap_count - index) * sizeof *memory->gaps);
}

void *hki_sim_memory_allocate(hki_sim_memory *memory, size_t bytes)
{
    void *data = NULL;
    if (bytes > memory->size)
        return NULL;
    uint64_t size = hki_round_up_bytes(bytes, ALIGNMENT);
    hki_lock_acquire(&memory->lock);
    for (size_t i = 0; i < memory->gap_count && !data; i++) {
        gap *place = &memory->gaps[i];
        if (place->end - place->begin < size)
            continue;
        data = memory->addresses + place->begin;
        place->begin += size;
        if (place->begin == place->end)
            remove_gap(memory, i);
    }
    hki_lock_release(&memory->lock);
    return data;
}

/* Room for one more gap. Without it the block is lost to the device, which is better than to fail a release. */
static bool grow(hki_sim_memory *memory)
{
    if (memory->gap_count < memory->gap_capacity)
        return true;
    size_t capacity = memory->gap_capacity * 2;
    gap *gaps = realloc(memory->gaps, capacity * sizeof *gaps);
    if (!gaps)
        return false;
    memory->gaps = gaps;
    memory->gap_capacity = capacity;
    return true;
}

void hki_sim_memory_release(hki_sim_memory *memory, void *data, size_t bytes)
{
    uint64_t begin = (uint64_t)((char *)data - memory->addresses),
             end = begin + hki_round_up_bytes(bytes, ALIGNMENT);
    if (bytes >= WORTH_RETURNING_BYTES) {
        uint64_t first = hki_round_up_bytes(begin, PAGE_BYTES);
        uint64_t last = end / PAGE_BYTES * PAGE_BYTES;
        madvise(memory->bytes + first, last - first, MADV_DONTNEED);
    }
    hki_lock_acquire(&memory->lock);
    size_t low = 0, high = memory->gap_count; /* the first gap behind it */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory->gaps[middle].begin < end)
            low = middle + 1;
        else
            high = middle;
    }
    bool joins_before = low > 0 && memory->gaps[low - 1].end == begin;
    bool joins_after = low < memory->gap_count && memory->gaps[low].begin == end;
    if (joins_before && joins_after) {
        memory->gaps[low - 1].end = memory->gaps[low].end;
        remove_gap(memory, low);
    } else if (joins_before) {
        memory->gaps[low - 1].end = end;
    } else if (joins_after) {
        memory->gaps[low].begin = begin;
    } else if (grow(memory)) {
        memmove(&memory->gaps[low + 1], &memory->gaps[low],
                (memory->gap_count - low) * sizeof *memory->gaps);
        memory->gaps[low] = (gap){begin, end};
        memory->gap_count++;
    }
    hki_lock_release(&memory->lock);
}
