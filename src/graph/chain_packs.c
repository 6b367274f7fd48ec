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

bool hki_chain_note_constants(hki_chain *chain)
{
    hki_keeper *keeper = &chain->keeper;
    keeper->count = 0;
    free(keeper->at);
    keeper->at = calloc((size_t)chain->pack_count + 1, sizeof *keeper->at);
    for (int i = 0; keeper->at && i < chain->pack_count; i++)
        if (chain->packs[i].is_constant)
            keeper->at[keeper->count++] = chain->packs[i].weight;
    return keeper->at;
}
