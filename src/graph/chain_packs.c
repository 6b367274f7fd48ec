/* Packed weights: made once a replay, or kept from one to the next where they are constant. */
#include "graph/chain.h"

#include <stdlib.h>

hki_layer hki_chain_layer(const hki_conv2d_block *block, bool is_backward)
{
    const hki_conv2d_geometry *g = &block->geometry;
    return is_backward ? (hki_layer){.inputs = g->out_channels, .outputs = g->in_channels}
                       : (hki_layer){.inputs = g->in_channels,
                                     .outputs = g->out_channels,
                                     .relu = block->relu};
}

size_t hki_chain_pack_bytes(const hki_chain *chain, const hki_chain_pack *pack)
{
    const hki_conv2d_image image = {pack->block, pack->x};
    const hki_layer layer = hki_chain_layer(&pack->block, pack->is_backward);
    switch (chain->form) {
    case HKI_CHAIN_OF_IMAGES:
        return hki_conv2d_image_packed_bytes(&image);
    case HKI_CHAIN_OF_ROWS:
        return hki_layer_packed_bytes(&layer, chain->f64);
    case HKI_CHAIN_OF_LANES:
        break;
    }
    return hki_conv2d_block_packed_bytes(&pack->block, chain->f64);
}

void hki_chain_pack_weight(const hki_chain *chain, const hki_chain_pack *pack, const void *weight,
                           void *packed)
{
    const hki_conv2d_image image = {pack->block, pack->x};
    const hki_layer layer = hki_chain_layer(&pack->block, pack->is_backward);
    if (chain->form == HKI_CHAIN_OF_IMAGES)
        hki_conv2d_image_pack(&image, weight, packed);
    else if (chain->form == HKI_CHAIN_OF_ROWS)
        hki_layer_pack(&layer, chain->f64, weight, pack->is_backward, packed);
    else if (pack->is_backward)
        hki_conv2d_block_pack_backward(&pack->block, chain->f64, weight, packed);
    else
        hki_conv2d_block_pack_forward(&pack->block, chain->f64, weight, packed);
}

/* Negative, 0, positive: a is of earlier weights than b, the same, later. Submissions have one order, so that all
 * versions are at least as high in one as in the other. */
static int compare(const hki_chain *chain, const hki_chain_kept *a, const hki_chain_kept *b)
{
    int order = 0;
    for (int i = 0; order == 0 && i < chain->pack_count; i++)
        order = (a->versions[i] > b->versions[i]) - (a->versions[i] < b->versions[i]);
    return order;
}

static bool is_of(const hki_chain *chain, const hki_chain_kept *kept, const uint64_t *versions)
{
    bool same = true;
    for (int i = 0; i < chain->pack_count; i++)
        same = same && (!chain->packs[i].is_constant ||
                        kept->versions[i] == versions[chain->packs[i].weight]);
    return same;
}

hki_chain_kept *hki_chain_kept_find(hki_chain *chain, const uint64_t *versions)
{
    hki_lock_acquire(&chain->kept_lock);
    hki_chain_kept *kept = chain->kept;
    if (kept && is_of(chain, kept, versions))
        atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
    else
        kept = NULL;
    hki_lock_release(&chain->kept_lock);
    return kept;
}

hki_chain_kept *hki_chain_kept_create(const hki_chain *chain, const uint64_t *versions)
{
    hki_chain_kept *kept =
        malloc(sizeof *kept + (size_t)chain->pack_count * sizeof *kept->versions);
    hki_storage *memory =
        kept ? hki_storage_create(chain->device, (uint64_t)chain->kept_bytes) : NULL;
    if (!memory || !hki_storage_materialise(memory)) {
        if (memory)
            hki_storage_release_handle(memory);
        free(kept);
        return NULL;
    }
    atomic_init(&kept->refs, 1);
    kept->memory = memory;
    for (int i = 0; i < chain->pack_count; i++)
        kept->versions[i] = chain->packs[i].is_constant ? versions[chain->packs[i].weight] : 0;
    return kept;
}

void hki_chain_kept_put(hki_chain *chain, hki_chain_kept *kept)
{
    hki_lock_acquire(&chain->kept_lock);
    hki_chain_kept *old = chain->kept;
    if (!old || compare(chain, kept, old) > 0) {
        chain->kept = kept;
        atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
    } else {
        old = NULL;
    }
    hki_lock_release(&chain->kept_lock);
    hki_chain_kept_release(old);
}

void hki_chain_kept_release(hki_chain_kept *kept)
{
    if (!kept || atomic_fetch_sub_explicit(&kept->refs, 1, memory_order_acq_rel) != 1)
        return;
    hki_storage_release_handle(kept->memory);
    free(kept);
}
