/* Handles after their release, where HOCKET_CHECK asks for it. They stay for a while, failed by a record that says when they were
 * released: a use does no harm, fails what is made from them, and is told. */
#include "array/handle.h"

#include "base/config.h"
#include "base/sync.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    KEPT = 1 << 14 /* handles: some 15 MB */
};

enum { IS_RELEASED = 1, IS_TOLD };

typedef struct buried {
    hk_array *x;
    hki_storage *detached; /* its handle */
    hki_storage
        *own; /* the storage that the handle is part of, its name; NULL: it is memory of its own */
} buried;

static hki_lock lock;
static struct {
    buried *ring;
    size_t next;
} kept; /* the lock's */

static void child_unlock(void)
{
    atomic_store_explicit(&lock.state, 0, memory_order_relaxed);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, child_unlock);
}

/* What has been there longest gives way, and is the caller's. False: no memory. */
static bool exchange(buried *one)
{
    hki_lock_acquire(&lock);
    if (!kept.ring)
        kept.ring = calloc(KEPT, sizeof *kept.ring);
    const bool is_kept = kept.ring;
    if (is_kept) {
        const buried old = kept.ring[kept.next];
        kept.ring[kept.next] = *one;
        kept.next = (kept.next + 1) % KEPT;
        *one = old;
    }
    hki_lock_release(&lock);
    return is_kept;
}

/* x itself, not a view of it that was made since. */
static bool is_buried(const hk_array *x)
{
    bool found = false;
    hki_lock_acquire(&lock);
    for (size_t i = 0; kept.ring && i < KEPT && !found; i++)
        found = kept.ring[i].x == x;
    hki_lock_release(&lock);
    return found;
}

static void drop(const buried *one)
{
    if (one->own)
        hki_storage_release_name(one->own);
    else
        free(one->x);
    if (one->detached)
        hki_storage_release_handle(one->detached);
}

static hki_storage *detached_create(const hk_array *x)
{
    char text[224];
    hki_array_describe(x, text, sizeof text);
    const hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = "release", .file = source.file, .line = source.line};
    const hk_status *record =
        hki_status_create(HK_INVALID_ARGUMENT, &facts,
                          "%s was used after its release, which followed this call", text);
    hki_storage *detached = hki_storage_create_detached(x->storage->device, record);
    hk_status_release(record);
    if (detached)
        atomic_store_explicit(&detached->released, IS_RELEASED, memory_order_relaxed);
    return detached;
}

void hki_array_bury(hk_array *x)
{
    hki_storage *storage = x->storage;
    if (atomic_load_explicit(&storage->released, memory_order_relaxed) && is_buried(x)) {
        hki_released_is_used(storage); /* released again */
        return;
    }
    buried one = {.x = x, .own = x == &storage->first ? storage : NULL};
    if (one.own)
        hki_storage_retain_name(storage);
    one.detached = detached_create(x);
    if (one.detached) {
        atomic_store_explicit(&x->refs, 1, memory_order_relaxed);
        atomic_store_explicit(&x->autograd, NULL, memory_order_relaxed);
        x->failed = true;
        x->shape = (hk_dims){0};
        x->size = x->offset = 0;
        x->storage = one.detached;
    }
    if (!one.detached || exchange(&one))
        drop(&one);
    hki_storage_release_handle(storage);
}

void hki_released_is_used(hki_storage *detached)
{
    unsigned char expected = IS_RELEASED;
    if (!atomic_compare_exchange_strong(&detached->released, &expected, IS_TOLD))
        return;
    const hk_source here = hki_source_get();
    fprintf(stderr, "hocket: %s:%d: %s: %s:%d\n", here.file ? here.file : "?", here.line,
            hk_status_message(detached->record), hk_status_file(detached->record),
            hk_status_line(detached->record));
    hki_runtime_note_failure(detached->device->runtime, detached->record);
}
