#include "array/handle.h"
#include "array/reaper.h"

#include "base/block.h"
#include "base/sanitizer.h"

#include <assert.h>

_Static_assert(sizeof(hki_storage) <= HKI_BLOCK_BYTES, "see hki_block_take");

#define ONE_HANDLE ((uint64_t)1 << 32)

/* Where arrays without elements point. */
static _Alignas(64) char empty_data[64];

static hki_memory_pool *pool_of(const hki_storage *storage)
{
    return storage->is_pinned ? storage->device->pinned : storage->device->memory;
}

static inline hki_storage *storage_new(hki_device *device, uint64_t bytes)
{
    hki_storage *storage = hki_block_take();
    if (!storage)
        return NULL;
    storage->device = device;
    storage->bytes = bytes;
    storage->is_pinned = storage->is_small = storage->is_foreign = false;
    atomic_init(&storage->is_passing, false);
    atomic_init(&storage->marks, 0);
    atomic_init(&storage->released, 0);
    storage->record = NULL;
    HKI_POISON(storage->room, sizeof storage->room);
    atomic_init(&storage->data, bytes ? NULL : empty_data);
    atomic_init(&storage->counts, ONE_HANDLE);
    atomic_init(&storage->names, 1);
    return storage;
}

hki_storage *hki_storage_create_foreign(hki_device *device, uint64_t bytes, void *data,
                                        void (*free)(void *context), void *context)
{
    hki_storage *storage = !free || hki_reaper_start() ? storage_new(device, bytes) : NULL;
    if (!storage)
        return NULL;
    storage->is_foreign = true;
    HKI_UNPOISON(storage->room, sizeof storage->room);
    storage->foreign.free = free;
    storage->foreign.context = context;
    atomic_store_explicit(&storage->data, (char *)data - device->kernel_offset,
                          memory_order_release);
    hki_runtime_retain(device->runtime);
    hki_var_init(&storage->var, device->runtime);
    return storage;
}

static hki_storage *create(hki_device *device, uint64_t bytes, bool is_pinned)
{
    hki_storage *storage = storage_new(device, bytes);
    if (!storage)
        return NULL;
    const bool is_host = hki_device_is_host(device);
    storage->is_pinned = is_pinned;
    storage->is_small = bytes > 0 && bytes <= HKI_SMALL_BYTES && !is_pinned && is_host;
    if (!HKI_USUALLY(is_host) && hki_device_puts_off(device))
        atomic_init(&storage->marks, HKI_IS_SIMULATED);
    /* All small ones of a device count as one for the runtime. */
    if (!storage->is_small || hki_memory_pool_add_small(device->memory))
        hki_runtime_retain(device->runtime);
    hki_var_init(&storage->var, device->runtime);
    return storage;
}

hki_storage *hki_storage_create(hki_device *device, uint64_t bytes)
{
    return create(device, bytes, false);
}

hki_storage *hki_storage_create_pinned(hki_device *device, uint64_t bytes)
{
    return create(device, bytes, device->pinned != NULL);
}

hki_storage *hki_storage_create_detached(hki_device *device, const hk_status *record)
{
    hki_storage *storage = storage_new(device, 0);
    if (storage) {
        hki_var_init(&storage->var, NULL);
        hki_runtime_retain(device->runtime); /* keeps the device */
        storage->record = hk_status_retain(record);
    }
    return storage;
}

static bool is_forked(const hki_runtime *runtime)
{
    if (hki_runtime_alive(runtime))
        return false;
    const hk_status *gone = hki_runtime_gone(runtime);
    bool forked = hk_status_code(gone) == HK_FORKED;
    hk_status_release(gone);
    return forked;
}

void hki_storage_retain_name(hki_storage *storage)
{
    atomic_fetch_add_explicit(&storage->names, 1, memory_order_relaxed);
}

void hki_storage_release_name(hki_storage *storage)
{
    if (hki_count_drop(&storage->names))
        hki_block_put(storage);
}

/* by_handle: the last handle went, so that the thread has no lock; the program's function is not for tasks either. */
static __attribute__((noinline)) void give_back_lent(hki_storage *storage, bool by_handle)
{
    if (!by_handle || hki_in_task()) {
        hki_reaper_take(storage);
        return;
    }
    storage->foreign.free(storage->foreign.context);
    hki_storage_release_name(storage);
}

/* Only a simulated device's is, or what was copied from it. */
static __attribute__((noinline)) bool is_kept_for_later(hki_storage *storage)
{
    return hki_put_off_keeps(&storage->var, storage->device, pool_of(storage),
                             atomic_load_explicit(&storage->data, memory_order_relaxed),
                             storage->bytes);
}

/* Its variable, its memory, and its share in the runtime. */
static inline void give_back(hki_storage *storage)
{
    const bool is_kept = !HKI_USUALLY(!hki_storage_has(storage, HKI_IS_SIMULATED | HKI_IS_LATE)) &&
                         is_kept_for_later(storage);
    hki_var_deinit(&storage->var);
    if (storage->bytes && !storage->is_small && !storage->is_foreign && !is_kept)
        (atomic_load_explicit(&storage->is_passing, memory_order_relaxed)
             ? hki_memory_pool_give_back
             : hki_memory_pool_release)(pool_of(storage),
                                        atomic_load_explicit(&storage->data, memory_order_relaxed),
                                        storage->bytes);
    if (!storage->is_small || hki_memory_pool_remove_small(storage->device->memory))
        hki_runtime_release(storage->var.runtime);
}

/* Of a runtime that has ended, a failed array, or memory of the program's. */
static __attribute__((noinline)) void free_unusual(hki_storage *storage, bool by_handle)
{
    hki_runtime *runtime = storage->var.runtime;
    const bool is_lent = storage->is_foreign && storage->foreign.free && !is_forked(runtime);
    if (storage->record)
        hk_status_release(storage->record);
    /* In the child of a fork, the locks of the parent's pool and runtime may be held by threads that are
     * not there: their memory is left alone. */
    if (runtime && !is_forked(runtime))
        give_back(storage);
    else if (!runtime)
        hki_runtime_release(storage->device->runtime);
    if (is_lent)
        give_back_lent(storage, by_handle);
    else
        hki_storage_release_name(storage);
}

static void storage_free(hki_storage *storage, bool by_handle)
{
    const hki_runtime *runtime = storage->var.runtime;
    if (!HKI_USUALLY(runtime && !storage->is_foreign && !storage->record) ||
        !HKI_USUALLY(hki_runtime_alive(runtime))) {
        free_unusual(storage, by_handle);
        return;
    }
    give_back(storage);
    hki_storage_release_name(storage);
}

/* The window of a runtime that is not alive is nobody's concern. */
static hki_runtime *window_of(const hki_storage *storage)
{
    hki_runtime *runtime = storage->var.runtime;
    return storage->bytes && runtime && !hki_storage_has(storage, HKI_IS_SIMULATED) &&
                   hki_runtime_alive(runtime)
               ? runtime
               : NULL;
}

void hki_storage_retain_handle(hki_storage *storage)
{
    uint64_t old = atomic_fetch_add_explicit(&storage->counts, ONE_HANDLE, memory_order_relaxed);
    assert(old >= ONE_HANDLE);
    (void)old;
}

void hki_storage_release_handle(hki_storage *storage)
{
    /* In this order: who had a name, and has taken a handle by it before he dropped it, is seen in the counts. */
    const bool is_nameless = atomic_load_explicit(&storage->names, memory_order_acquire) == 1;
    uint64_t old = atomic_load_explicit(&storage->counts, memory_order_acquire), new;
    bool hand_over; /* the last handle goes, tasks go on */
    /* Ours, and nobody else's who could add to it. */
    if (is_nameless && old == ONE_HANDLE) {
        storage_free(storage, true);
        return;
    }
    do {
        assert(old >= ONE_HANDLE);
        hand_over = old > ONE_HANDLE && old < 2 * ONE_HANDLE;
        /* A use of our own, so that the last task cannot take the bytes out of the window before they
         * have been put in. */
        new = old - ONE_HANDLE + (hand_over ? 1 : 0);
    } while (!atomic_compare_exchange_weak_explicit(&storage->counts, &old, new,
                                                    memory_order_acq_rel, memory_order_relaxed));
    if (hand_over) {
        hki_runtime *runtime = window_of(storage);
        if (runtime)
            hki_window_add(runtime, storage->bytes);
        hki_storage_release_use(storage);
    } else if (!new) {
        storage_free(storage, true);
    }
}

bool hki_storage_try_retain_handle(hki_storage *storage)
{
    uint64_t old = atomic_load_explicit(&storage->counts, memory_order_relaxed);
    while (old >= ONE_HANDLE)
        if (atomic_compare_exchange_weak_explicit(&storage->counts, &old, old + ONE_HANDLE,
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

void hki_storage_retain_use(hki_storage *storage)
{
    atomic_fetch_add_explicit(&storage->counts, 1, memory_order_relaxed);
}

void hki_storage_release_use(hki_storage *storage)
{
    uint64_t old = atomic_fetch_sub_explicit(&storage->counts, 1, memory_order_acq_rel);
    assert(old & (ONE_HANDLE - 1));
    if (old != 1)
        return;
    hki_runtime *runtime = window_of(storage);
    if (runtime)
        hki_window_remove(runtime, storage->bytes);
    storage_free(storage, false);
}

bool hki_storage_renew(hki_storage *storage)
{
    if (atomic_load_explicit(&storage->counts, memory_order_acquire) != ONE_HANDLE ||
        hki_storage_has(storage, HKI_IS_LATE))
        return false;
    hki_runtime *runtime = storage->var.runtime;
    hki_var_deinit(&storage->var);
    hki_var_init(&storage->var, runtime);
    return true;
}

/* The first multiple of HKI_SMALL_BYTES in its room. */
static char *room_of(hki_storage *storage)
{
    return storage->room + (-(uintptr_t)storage->room & (HKI_SMALL_BYTES - 1));
}

/* Apart, so that small ones need no stack. */
static __attribute__((noinline)) bool allocate(hki_storage *storage)
{
    void *data = hki_memory_pool_allocate(pool_of(storage), storage->bytes);
    void *expected = NULL;
    /* Another task, which writes other bytes, may have been faster. */
    if (!data)
        return atomic_load_explicit(&storage->data, memory_order_acquire) != NULL;
    if (!atomic_compare_exchange_strong_explicit(&storage->data, &expected, data,
                                                 memory_order_acq_rel, memory_order_acquire))
        hki_memory_pool_release(pool_of(storage), data, storage->bytes);
    return true;
}

bool hki_storage_materialise(hki_storage *storage)
{
    if (atomic_load_explicit(&storage->data, memory_order_acquire))
        return true;
    if (!storage->is_small)
        return allocate(storage);
    HKI_UNPOISON(room_of(storage), storage->bytes);
    atomic_store_explicit(&storage->data, room_of(storage), memory_order_release);
    return true;
}

bool hki_storage_pass_on(hki_storage *from, hki_storage *to)
{
    enum { ONE_USE = 1 };
    void *data = atomic_load_explicit(&from->data, memory_order_acquire), *expected = NULL;
    /* Without a handle, and with no use but the caller's, nobody can get at it again. */
    if (atomic_load_explicit(&from->counts, memory_order_acquire) != ONE_USE || !data ||
        from->bytes != to->bytes || from->device != to->device ||
        from->is_pinned != to->is_pinned || from->is_small || from->is_foreign ||
        !atomic_compare_exchange_strong_explicit(&to->data, &expected, data, memory_order_acq_rel,
                                                 memory_order_relaxed))
        return false;
    atomic_store_explicit(&from->data, NULL, memory_order_relaxed);
    return true;
}

hk_device_memory hki_storage_memory(const hki_storage *storage)
{
    return hki_memory_pool_get(pool_of(storage));
}
