#include "graph/kept.h"

#include <stdlib.h>

void hki_keeper_deinit(hki_keeper *self)
{
    hki_kept_release(self->kept);
    free(self->at);
}

/* Negative, 0, positive: a is of earlier writes than b, the same, later. Submissions have one
 * order, so that all versions are at least as high in one as in the other. */
static int compare(const hki_keeper *self, const hki_kept *a, const hki_kept *b)
{
    int order = 0;
    for (int i = 0; order == 0 && i < self->count; i++)
        order = (a->versions[i] > b->versions[i]) - (a->versions[i] < b->versions[i]);
    return order;
}

static bool is_of(const hki_keeper *self, const hki_kept *kept, const uint64_t *versions)
{
    bool same = true;
    for (int i = 0; i < self->count; i++)
        same = same && kept->versions[i] == versions[self->at[i]];
    return same;
}

hki_kept *hki_kept_find(hki_keeper *self, const uint64_t *versions)
{
    hki_lock_acquire(&self->lock);
    hki_kept *kept = self->kept;
    if (kept && is_of(self, kept, versions))
        atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
    else
        kept = NULL;
    hki_lock_release(&self->lock);
    return kept;
}

hki_kept *hki_kept_create(const hki_keeper *self, hki_device *device, uint64_t bytes,
                          const uint64_t *versions)
{
    hki_kept *kept = malloc(sizeof *kept + (size_t)self->count * sizeof *kept->versions);
    hki_storage *memory = kept ? hki_storage_create(device, bytes) : NULL;
    if (!memory || !hki_storage_materialise(memory)) {
        if (memory)
            hki_storage_release_handle(memory);
        free(kept);
        return NULL;
    }
    atomic_init(&kept->refs, 1);
    kept->memory = memory;
    for (int i = 0; i < self->count; i++)
        kept->versions[i] = versions[self->at[i]];
    return kept;
}

void hki_kept_put(hki_keeper *self, hki_kept *kept)
{
    hki_lock_acquire(&self->lock);
    hki_kept *old = self->kept;
    if (!old || compare(self, kept, old) > 0) {
        self->kept = kept;
        atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
    } else {
        old = NULL;
    }
    hki_lock_release(&self->lock);
    hki_kept_release(old);
}

void hki_kept_release(hki_kept *kept)
{
    if (!kept || atomic_fetch_sub_explicit(&kept->refs, 1, memory_order_acq_rel) != 1)
        return;
    hki_storage_release_handle(kept->memory);
    free(kept);
}
