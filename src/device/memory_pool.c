/* Freed memory of a device, or pinned memory of the host, is kept by size class and handed out
 * again, last freed first, while it is hot. Large blocks are parts of segments where the class can have that. */
#include "base/sanitizer.h"
#include "base/sync.h"
#include "device/ranges.h"

#include <stdlib.h>

enum { MIN_SHIFT = 6, CLASS_COUNT = (62 - MIN_SHIFT) * 4 };

typedef struct size_class {
    void **blocks; /* a stack */
    size_t count, capacity;
} size_class;

struct hki_memory_pool {
    hki_device *device; /* whose class functions give the memory */
    bool is_pinned, has_ranges;
    _Atomic(uint64_t) small_count;
    hki_lock lock;           /* everything below */
    hk_device_memory memory; /* cached_bytes: of size classes alone */
    hki_ranges ranges;       /* of large blocks, where the pool has them */
    size_class classes[CLASS_COUNT];
};

/* Sizes 2^k, 1.25, 1.5 and 1.75 · 2^k from 64 bytes: at most a quarter is wasted. */
static int class_of(size_t bytes)
{
    if (bytes <= (size_t)1 << MIN_SHIFT)
        return 0;
    int shift = 63 - __builtin_clzll(bytes - 1); /* 2^shift < bytes <= 2^(shift+1) */
    size_t quarter = (size_t)1 << (shift - 2);
    size_t step = (bytes - ((size_t)1 << shift) + quarter - 1) / quarter; /* 1 … 4 */
    return (shift - MIN_SHIFT) * 4 + (int)step;
}

static size_t class_bytes(int index)
{
    size_t power = (size_t)1 << (MIN_SHIFT + index / 4);
    return power + power / 4 * (size_t)(index % 4);
}

static void *fresh_memory(hki_memory_pool *pool, size_t bytes)
{
    const hki_device_class *class = pool->device->class;
    return (pool->is_pinned ? class->allocate_pinned : class->allocate)(pool->device, bytes);
}

static void give_back(hki_memory_pool *pool, void *data, size_t bytes)
{
    const hki_device_class *class = pool->device->class;
    (pool->is_pinned ? class->release_pinned : class->release)(pool->device, data, bytes);
}

hki_memory_pool *hki_memory_pool_create(hki_device *device, uint64_t limit_bytes)
{
    hki_memory_pool *pool = calloc(1, sizeof *pool);
    if (pool) {
        pool->device = device;
        pool->memory.limit_bytes = limit_bytes;
        pool->has_ranges = hki_ranges_serve(device);
    }
    return pool;
}

hki_memory_pool *hki_memory_pool_create_pinned(hki_device *accelerator)
{
    const hki_device_class *class = accelerator->class;
    if (!class->allocate_pinned || !class->release_pinned)
        return NULL;
    hki_memory_pool *pool = hki_memory_pool_create(accelerator, 0);
    if (pool) {
        pool->is_pinned = true;
        pool->has_ranges = false;
    }
    return pool;
}

/* Gives kept blocks back, largest first, until at most keep_bytes are kept. */
static void trim_locked(hki_memory_pool *pool, uint64_t keep_bytes)
{
    for (int i = CLASS_COUNT - 1; i >= 0 && pool->memory.cached_bytes > keep_bytes; i--) {
        size_class *class = &pool->classes[i];
        while (class->count && pool->memory.cached_bytes > keep_bytes) {
            give_back(pool, class->blocks[--class->count], class_bytes(i));
            pool->memory.cached_bytes -= class_bytes(i);
        }
    }
}

static void trim_all(hki_memory_pool *pool)
{
    trim_locked(pool, 0);
    if (pool->has_ranges)
        hki_ranges_trim(&pool->ranges, pool->device, 0);
}

void hki_memory_pool_trim(hki_memory_pool *pool)
{
    hki_lock_acquire(&pool->lock);
    trim_all(pool);
    hki_lock_release(&pool->lock);
}

void hki_memory_pool_destroy(hki_memory_pool *pool)
{
    if (!pool)
        return;
    trim_locked(pool, 0);
    for (int i = 0; i < CLASS_COUNT; i++)
        free(pool->classes[i].blocks);
    hki_ranges_deinit(&pool->ranges, pool->device);
    free(pool);
}

hk_device_memory hki_memory_pool_get(hki_memory_pool *pool)
{
    hki_lock_acquire(&pool->lock);
    hk_device_memory memory = pool->memory;
    memory.cached_bytes += pool->ranges.kept_bytes;
    hki_lock_release(&pool->lock);
    memory.used_bytes +=
        HKI_SMALL_BYTES * atomic_load_explicit(&pool->small_count, memory_order_relaxed);
    if (memory.peak_bytes < memory.used_bytes)
        memory.peak_bytes = memory.used_bytes;
    return memory;
}

bool hki_memory_pool_add_small(hki_memory_pool *pool)
{
    return atomic_fetch_add_explicit(&pool->small_count, 1, memory_order_relaxed) == 0;
}

bool hki_memory_pool_remove_small(hki_memory_pool *pool)
{
    return atomic_fetch_sub_explicit(&pool->small_count, 1, memory_order_acq_rel) == 1;
}

/* What may be kept of one kind of memory when that gets more: what is kept in other sizes is of no use then. */
static uint64_t most_kept(const hk_device_memory *memory, uint64_t rounded)
{
    uint64_t keep = memory->used_bytes > (64u << 20) ? memory->used_bytes : 64u << 20;
    if (memory->limit_bytes) {
        uint64_t room = memory->limit_bytes - memory->used_bytes - rounded;
        keep = room < keep ? room : keep;
    }
    return keep;
}

static bool is_large(const hki_memory_pool *pool, size_t bytes)
{
    return pool->has_ranges && bytes >= HKI_RANGE_LEAST;
}

/* What counts as used. */
static uint64_t rounded_bytes(const hki_memory_pool *pool, size_t bytes)
{
    return is_large(pool, bytes) ? (bytes + 63) / 64 * 64 : class_bytes(class_of(bytes));
}

static __attribute__((noinline)) void *take_large(hki_memory_pool *pool, size_t bytes)
{
    void *data = hki_ranges_take(&pool->ranges, pool->device, bytes, false);
    if (data)
        return data;
    hki_ranges_trim(&pool->ranges, pool->device,
                    most_kept(&pool->memory, rounded_bytes(pool, bytes)));
    return hki_ranges_take(&pool->ranges, pool->device, bytes, true);
}

static void *take_small(hki_memory_pool *pool, size_t bytes)
{
    hk_device_memory *memory = &pool->memory;
    size_class *class = &pool->classes[class_of(bytes)];
    size_t rounded = class_bytes(class_of(bytes));
    if (class->count) {
        memory->cached_bytes -= rounded;
        return class->blocks[--class->count];
    }
    trim_locked(pool, most_kept(memory, rounded));
    return fresh_memory(pool, rounded);
}

static inline void *take(hki_memory_pool *pool, size_t bytes)
{
    return is_large(pool, bytes) ? take_large(pool, bytes) : take_small(pool, bytes);
}

/* NULL: there is none at the moment. */
static inline __attribute__((always_inline)) void *try_allocate(hki_memory_pool *pool, size_t bytes)
{
    hk_device_memory *memory = &pool->memory;
    const uint64_t rounded = rounded_bytes(pool, bytes);
    void *data = NULL;
    hki_lock_acquire(&pool->lock);
    if (!memory->limit_bytes || memory->used_bytes + rounded <= memory->limit_bytes) {
        data = take(pool, bytes);
        if (!data && (memory->cached_bytes || pool->ranges.kept_bytes)) {
            trim_all(pool);
            data = take(pool, bytes);
        }
    }
    if (data) {
        memory->used_bytes += rounded;
        if (memory->used_bytes > memory->peak_bytes)
            memory->peak_bytes = memory->used_bytes;
    }
    hki_lock_release(&pool->lock);
    return data;
}

/* While something is under way that may give memory back, and once more: it may have ended since the last try. */
static __attribute__((noinline)) void *allocate_late(hki_memory_pool *pool, size_t bytes)
{
    void *data = NULL;
    for (bool more = true; !data && more; data = try_allocate(pool, bytes))
        more = pool->device->make_room(pool->device);
    return data;
}

void *hki_memory_pool_allocate(hki_memory_pool *pool, size_t bytes)
{
    if (bytes > (size_t)1 << 60)
        return NULL;
    void *data = try_allocate(pool, bytes);
    return data || !pool->device->make_room ? data : allocate_late(pool, bytes);
}

void *hki_memory_pool_borrow(hki_memory_pool *pool, size_t bytes)
{
    hki_lock_acquire(&pool->lock);
    void *data = take(pool, bytes);
    if (!data && (pool->memory.cached_bytes || pool->ranges.kept_bytes)) {
        trim_all(pool);
        data = take(pool, bytes);
    }
    hki_lock_release(&pool->lock);
    return data;
}

static void release_large(hki_memory_pool *pool, void *data, size_t bytes, bool keep)
{
    if (keep)
        hki_ranges_put(&pool->ranges, data, bytes);
    else
        hki_ranges_give_back(&pool->ranges, pool->device, data, bytes);
}

static void release_small(hki_memory_pool *pool, void *data, size_t bytes, bool keep)
{
    int index = class_of(bytes);
    size_class *class = &pool->classes[index];
    keep = keep && !HKI_ADDRESS_SANITIZER;
    if (keep && class->count == class->capacity) {
        size_t capacity = class->capacity ? class->capacity * 2 : 16;
        void **blocks = realloc(class->blocks, capacity * sizeof *blocks);
        if (blocks) {
            class->blocks = blocks;
            class->capacity = capacity;
        } else {
            keep = false;
        }
    }
    if (keep) {
        class->blocks[class->count++] = data;
        pool->memory.cached_bytes += class_bytes(index);
    } else {
        give_back(pool, data, class_bytes(index));
    }
}

static void release(hki_memory_pool *pool, void *data, size_t bytes, bool keep)
{
    if (!data)
        return;
    hki_lock_acquire(&pool->lock);
    pool->memory.used_bytes -= rounded_bytes(pool, bytes);
    (is_large(pool, bytes) ? release_large : release_small)(pool, data, bytes, keep);
    hki_lock_release(&pool->lock);
}

void hki_memory_pool_uncount(hki_memory_pool *pool, size_t bytes)
{
    hki_lock_acquire(&pool->lock);
    pool->memory.used_bytes -= rounded_bytes(pool, bytes);
    hki_lock_release(&pool->lock);
}

void hki_memory_pool_return(hki_memory_pool *pool, void *data, size_t bytes)
{
    hki_lock_acquire(&pool->lock);
    (is_large(pool, bytes) ? release_large : release_small)(pool, data, bytes, true);
    hki_lock_release(&pool->lock);
}

void hki_memory_pool_release(hki_memory_pool *pool, void *data, size_t bytes)
{
    release(pool, data, bytes, true);
}

void hki_memory_pool_give_back(hki_memory_pool *pool, void *data, size_t bytes)
{
    release(pool, data, bytes, false);
}

void *hki_device_allocate(hki_device *device, size_t bytes)
{
    return hki_memory_pool_allocate(device->memory, bytes);
}

void hki_device_release(hki_device *device, void *data, size_t bytes)
{
    hki_memory_pool_release(device->memory, data, bytes);
}
