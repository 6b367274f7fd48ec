/* Weights in the form that the kernels want. */
#include "op/conv/conv2d_image_plan.h"

#include <string.h>

/* Where the terms of a result find their elements, from the first one. */
static void offsets_fill(const hki_conv2d_block *block, int32_t *offsets)
{
    const hki_conv2d_geometry *g = &block->geometry;
    const hki_image_planes p = hki_image_planes_of(block);
    for (int64_t c = 0; c < g->in_channels; c++)
        for (int64_t i = 0; i < g->kernel_height; i++)
            for (int64_t j = 0; j < g->kernel_width; j++) {
                const int64_t column = j * g->dilation_width;
                *offsets++ = (int32_t)((c * p.height + i * g->dilation_height) * p.parts * p.part +
                                       column % p.parts * p.part + column / p.parts);
            }
}

/* Weights [first, first + as many as there are lanes) of each channel of a group, whose rows are `terms` long, to
 * [weight][lane]; lanes without a channel are zero. Returns how many weights there are. */
static int64_t take_weights(const hki_image_group *at, const float *weight, int64_t terms,
                            int64_t first, float *to)
{
    const int64_t lanes = at->kernels->lanes;
    const int64_t count = terms - first < lanes ? terms - first : lanes;
    weight += at->first * terms + first;
    if (at->count == lanes && count == lanes)
        at->kernels->transpose(weight, terms, to);
    else
        for (int64_t k = 0; k < count; k++)
            for (int64_t i = 0; i < lanes; i++)
                to[k * lanes + i] = i < at->count ? weight[i * terms + k] : 0;
    return count;
}

static void pack_dense(const hki_conv2d_image *image, const float *weight, float *to)
{
    const hki_image *x = &image->x;
    const int64_t terms = hki_image_terms(&image->block.geometry);
    const int64_t channels = x->stride ? x->channels : terms, pixels = terms / channels;
    const int64_t outputs = image->block.geometry.out_channels;
    float block[HKI_IMAGE_LANES * HKI_IMAGE_LANES];
    for (int64_t o = 0; o < outputs;) {
        const hki_image_group at = hki_image_group_at(o, outputs);
        const int64_t lanes = at.kernels->lanes,
                      vectors = hki_image_vectors(&at, outputs, HKI_IMAGE_DENSE);
        for (int64_t v = 0; v < vectors; v++) {
            const hki_image_group one = hki_image_group_at(o + v * lanes, outputs);
            for (int64_t k = 0, count; k < terms; k += count) {
                count = take_weights(&one, weight, terms, k, block);
                for (int64_t i = 0; i < count; i++) {
                    const int64_t c = (k + i) / pixels, p = (k + i) % pixels;
                    memcpy(to + ((p * channels + c) * vectors + v) * lanes, block + i * lanes,
                           (size_t)lanes * sizeof *to);
                }
            }
        }
        to += terms * vectors * lanes;
        o += vectors * lanes;
    }
}

/* To [point][c / 4][channel][c % 4]. */
static void spread_points(const hki_conv2d_image_kernels *kernels, const float *points,
                          int64_t lanes, int64_t c, int64_t channels, float *to)
{
    for (int64_t p = 0; p < HKI_IMAGE_ALL_POINTS; p++)
        for (int64_t i = 0; i < kernels->lanes / 4; i++)
            to[(p * (channels / 4) + c / 4) * kernels->lanes + 4 * i + c % 4] =
                points[p * lanes + i];
}

static void pack_winograd(const hki_conv2d_image *image, const float *weight, float *to)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    enum { AREA = HKI_IMAGE_KERNEL * HKI_IMAGE_KERNEL };
    const int64_t terms = hki_image_terms(g);
    float window[AREA * HKI_IMAGE_LANES], points[HKI_IMAGE_ALL_POINTS * HKI_IMAGE_LANES];
    for (int64_t o = 0; o < g->out_channels;) {
        const hki_image_group at = hki_image_group_at(o, g->out_channels);
        const int64_t lanes = at.kernels->lanes;
        const hki_image_quarters quarters = hki_image_quarters_at(&image->block, o);
        for (int64_t c = 0; c < g->in_channels; c++) {
            for (int64_t k = 0; k < AREA; k++)
                for (int64_t i = 0; i < lanes; i++)
                    window[k * lanes + i] =
                        i < at.count ? weight[(o + i) * terms + c * AREA + k] : 0;
            if (quarters.vectors) {
                at.kernels->tile_weight(window, points, lanes);
                spread_points(quarters.kernels, points, lanes, c, g->in_channels, to);
            } else {
                at.kernels->tile_weight(window, to + c * lanes, g->in_channels * lanes);
            }
        }
        to += HKI_IMAGE_ALL_POINTS * g->in_channels * lanes;
        o += lanes;
    }
}

/* Each weight of the last channels four times. */
static void pack_quarters(const hki_image_quarters *quarters, const float *weight, int64_t terms,
                          int64_t channels, float *to)
{
    const int64_t lanes = quarters->kernels->lanes;
    for (int64_t v = 0; v < quarters->vectors; v++)
        for (int64_t k = 0; k < terms; k++)
            for (int64_t i = v * lanes; i < (v + 1) * lanes; i++)
                *to++ = i / 4 < channels ? weight[i / 4 * terms + k] : 0;
}

static void pack_direct(const hki_conv2d_image *image, const float *weight, float *to)
{
    const int64_t outputs = image->block.geometry.out_channels;
    const int64_t terms = hki_image_terms(&image->block.geometry);
    float block[HKI_IMAGE_LANES * HKI_IMAGE_LANES];
    for (int64_t o = 0; o < outputs;) {
        const hki_image_group at = hki_image_group_at(o, outputs);
        const int64_t lanes = at.kernels->lanes;
        const hki_image_quarters quarters = hki_image_quarters_at(&image->block, o);
        if (quarters.vectors) {
            pack_quarters(&quarters, weight + o * terms, terms, at.count, to);
            break;
        }
        for (int64_t k = 0, count; k < terms; k += count, to += count * lanes) {
            count = take_weights(&at, weight, terms, k, block);
            memcpy(to, block, (size_t)(count * lanes) * sizeof *to);
        }
        o += lanes;
    }
}

void hki_conv2d_image_pack(const hki_conv2d_image *image, const float *weight, void *packed)
{
    float *to = (float *)(void *)((char *)packed + hki_image_offsets_bytes(&image->block));
    switch (hki_image_method_of(&image->block)) {
    case HKI_IMAGE_METHOD_DENSE:
        pack_dense(image, weight, to);
        break;
    case HKI_IMAGE_METHOD_WINOGRAD:
        pack_winograd(image, weight, to);
        break;
    case HKI_IMAGE_METHOD_DIRECT:
        offsets_fill(&image->block, packed);
        pack_direct(image, weight, to);
        break;
    }
}
