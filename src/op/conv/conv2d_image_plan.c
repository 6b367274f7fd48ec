#include "op/conv/conv2d_image_plan.h"

#include "base/integer.h"
#include "base/kernel_isa.h"
#include "base/sync.h"
#include "op/conv/conv2d_block_kernels.h"

/* ---- instruction sets ---- */

static const hki_conv2d_image_kernels *const *kernels_get(void)
{
    return HKI_OF_ISA(hki_conv2d_image_kernels, );
}

hki_image_group hki_image_group_at(int64_t first, int64_t channels)
{
    const hki_conv2d_image_kernels *const *kernels = kernels_get();
    int64_t left = channels - first;
    const hki_conv2d_image_kernels *with = kernels[left <= kernels[1]->lanes];
    return (hki_image_group){with, first, left < with->lanes ? left : with->lanes};
}

int64_t hki_image_vectors(const hki_image_group *first, int64_t channels, int64_t most)
{
    int64_t whole = (channels - first->first) / first->kernels->lanes;
    return whole < 1 || most < 1 ? 1 : whole < most ? whole : most;
}

int64_t hki_image_padded(int64_t channels)
{
    int64_t whole = kernels_get()[0]->lanes, last = channels / whole * whole;
    return channels == last ? last : last + hki_image_group_at(last, channels).kernels->lanes;
}

/* ---- what follows from the geometry ---- */

bool hki_image_pools(const hki_conv2d_block *block)
{
    return block->pool != HKI_BLOCK_POOL_NONE && block->pool_height * block->pool_width > 1;
}

bool hki_image_pools_by_four(const hki_conv2d_block *block)
{
    return block->pool != HKI_BLOCK_POOL_NONE && block->pool_height == 2 && block->pool_width == 2;
}

static int64_t window_height(const hki_conv2d_block *block)
{
    return block->pool == HKI_BLOCK_POOL_NONE ? 1 : block->pool_height;
}

static int64_t window_width(const hki_conv2d_block *block)
{
    return block->pool == HKI_BLOCK_POOL_NONE ? 1 : block->pool_width;
}

int64_t hki_image_covered_height(const hki_conv2d_block *block)
{
    return hki_conv2d_block_out_height(block) * window_height(block);
}

int64_t hki_image_covered_width(const hki_conv2d_block *block)
{
    return hki_conv2d_block_out_width(block) * window_width(block);
}

int64_t hki_image_tile_rows(const hki_conv2d_block *block)
{
    return (hki_image_covered_height(block) - 1) / HKI_IMAGE_TILE + 1;
}

int64_t hki_image_tile_columns(const hki_conv2d_block *block)
{
    return (hki_image_covered_width(block) - 1) / HKI_IMAGE_TILE + 1;
}

enum { PER_NS = 40 };

/* Multiplications, or what takes as long. */
static double direct_cost(const hki_conv2d_block *block)
{
    const hki_conv2d_geometry *g = &block->geometry;
    return (double)(hki_image_covered_height(block) * hki_image_covered_width(block) *
                    g->in_channels * g->kernel_height * g->kernel_width) *
           (double)hki_image_padded(g->out_channels);
}

static double winograd_cost(const hki_conv2d_block *block)
{
    enum { TRANSFORM = 450 };
    const hki_conv2d_geometry *g = &block->geometry;
    double out = (double)hki_image_padded(g->out_channels),
           in = (double)hki_image_padded(g->in_channels);
    return (double)(hki_image_tile_rows(block) * hki_image_tile_columns(block)) *
           (HKI_IMAGE_ALL_POINTS * (double)g->in_channels * out + TRANSFORM * (in + out));
}

hki_image_method hki_image_method_of(const hki_conv2d_block *block)
{
    const hki_conv2d_geometry *g = &block->geometry;
    if (hki_conv2d_block_dense(g))
        return HKI_IMAGE_METHOD_DENSE;
    if (g->kernel_height != HKI_IMAGE_KERNEL || g->kernel_width != HKI_IMAGE_KERNEL ||
        g->in_channels > HKI_IMAGE_WINOGRAD_CHANNELS || g->stride_height != 1 ||
        g->stride_width != 1 || g->dilation_height != 1 || g->dilation_width != 1)
        return HKI_IMAGE_METHOD_DIRECT;
    return winograd_cost(block) < direct_cost(block) ? HKI_IMAGE_METHOD_WINOGRAD
                                                     : HKI_IMAGE_METHOD_DIRECT;
}

bool hki_conv2d_image_supports(const hki_conv2d_image *image)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    const hki_image *x = &image->x;
    if (!hki_conv2d_block_supports(&image->block, false) || (x->stride && x->stride < x->channels))
        return false;
    if (hki_image_method_of(&image->block) == HKI_IMAGE_METHOD_DENSE)
        return x->channels * x->height * x->width == g->in_channels * g->in_height * g->in_width;
    return x->channels == g->in_channels && x->height == g->in_height && x->width == g->in_width &&
           (hki_image_method_of(&image->block) != HKI_IMAGE_METHOD_WINOGRAD ||
            x->stride >= hki_image_padded(x->channels));
}

bool hki_conv2d_image_wants_image(const hki_conv2d_block *block)
{
    return hki_image_method_of(block) == HKI_IMAGE_METHOD_WINOGRAD;
}

hki_image hki_image_make(int64_t channels, int64_t height, int64_t width)
{
    return (hki_image){channels, height, width, hki_image_padded(channels)};
}

hki_image hki_conv2d_image_result(const hki_conv2d_block *block)
{
    return hki_image_make(block->geometry.out_channels, hki_conv2d_block_out_height(block),
                          hki_conv2d_block_out_width(block));
}

int64_t hki_image_elements(const hki_image *image)
{
    return image->height * image->width * (image->stride ? image->stride : image->channels);
}

double hki_conv2d_image_direct_cost_ns(const hki_conv2d_block *block)
{
    return direct_cost(block) / PER_NS;
}

double hki_conv2d_image_cost_ns(const hki_conv2d_block *block)
{
    return (hki_image_method_of(block) == HKI_IMAGE_METHOD_WINOGRAD ? winograd_cost(block)
                                                                    : direct_cost(block)) /
           PER_NS;
}

hki_image_quarters hki_image_quarters_at(const hki_conv2d_block *block, int64_t first)
{
    const hki_conv2d_image_kernels *whole = kernels_get()[0];
    const int64_t left = block->geometry.out_channels - first;
    const hki_image_quarters one = {whole, 1}, two = {whole, HKI_IMAGE_WIDE}, none = {whole, 0};
    const bool fits = left * 4 <= whole->lanes;
    switch (hki_image_method_of(block)) {
    case HKI_IMAGE_METHOD_DIRECT:
        if (!hki_image_pools_by_four(block) || hki_image_covered_width(block) < 4)
            return none;
        return fits ? one : whole->vectors > 1 && left * 2 <= whole->lanes ? two : none;
    case HKI_IMAGE_METHOD_WINOGRAD:
        return fits && block->geometry.in_channels % 4 == 0 ? one : none;
    case HKI_IMAGE_METHOD_DENSE:
        break;
    }
    return none;
}

/* ---- planes of the direct method ---- */

hki_image_planes hki_image_planes_of(const hki_conv2d_block *block)
{
    const hki_conv2d_geometry *g = &block->geometry;
    int64_t width = (hki_image_covered_width(block) - 1) * g->stride_width +
                    (g->kernel_width - 1) * g->dilation_width + 1;
    return (hki_image_planes){(hki_image_covered_height(block) - 1) * g->stride_height +
                                  (g->kernel_height - 1) * g->dilation_height + 1,
                              g->stride_width, (width - 1) / g->stride_width + 1};
}

int64_t hki_image_planes_elements(const hki_conv2d_block *block)
{
    hki_image_planes p = hki_image_planes_of(block);
    return block->geometry.in_channels * p.height * p.parts * p.part;
}

/* ---- sizes ---- */

int64_t hki_image_terms(const hki_conv2d_geometry *g)
{
    return g->in_channels * g->kernel_height * g->kernel_width;
}

size_t hki_image_offsets_bytes(const hki_conv2d_block *block)
{
    return hki_image_method_of(block) == HKI_IMAGE_METHOD_DIRECT
               ? (size_t)hki_round_up(hki_image_terms(&block->geometry) * (int64_t)sizeof(int32_t),
                                      HKI_CACHE_LINE)
               : 0;
}

size_t hki_conv2d_image_packed_bytes(const hki_conv2d_image *image)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    int64_t terms = hki_image_method_of(&image->block) == HKI_IMAGE_METHOD_WINOGRAD
                        ? HKI_IMAGE_ALL_POINTS * g->in_channels
                        : hki_image_terms(g);
    const int64_t whole = kernels_get()[0]->lanes, last = g->out_channels / whole * whole;
    const int64_t quarters =
        hki_image_method_of(&image->block) == HKI_IMAGE_METHOD_DIRECT && last < g->out_channels
            ? hki_image_quarters_at(&image->block, last).vectors
            : 0;
    const int64_t lanes = quarters ? last + quarters * whole : hki_image_padded(g->out_channels);
    return hki_image_offsets_bytes(&image->block) +
           (size_t)hki_round_up(lanes * terms * (int64_t)sizeof(float), HKI_CACHE_LINE);
}

int64_t hki_image_dense_part(void)
{
    return HKI_IMAGE_DENSE * kernels_get()[0]->lanes;
}

int64_t hki_image_transformed(const hki_conv2d_image *image)
{
    return HKI_IMAGE_ALL_POINTS * HKI_IMAGE_TILES * image->x.stride;
}

int64_t hki_image_sums(void)
{
    return HKI_IMAGE_ALL_POINTS * HKI_IMAGE_TILES * HKI_IMAGE_LANES;
}

size_t hki_conv2d_image_scratch_bytes(const hki_conv2d_image *image)
{
    const hki_conv2d_block *block = &image->block;
    int64_t floats = 0,
            row = hki_image_covered_width(block) * hki_image_padded(block->geometry.out_channels);
    switch (hki_image_method_of(block)) {
    case HKI_IMAGE_METHOD_DENSE:
        break;
    case HKI_IMAGE_METHOD_WINOGRAD:
        floats = hki_image_transformed(image) + hki_image_sums() +
                 (hki_image_pools(block) ? HKI_IMAGE_SAMPLES * hki_image_covered_height(block) * row
                                         : 0);
        break;
    case HKI_IMAGE_METHOD_DIRECT:
        floats = (hki_image_planes_elements(block) + 15) / 16 * 16 +
                 (hki_image_pools(block)
                      ? block->pool_height * hki_image_covered_width(block) * HKI_IMAGE_LANES
                      : 0);
        break;
    }
    return (size_t)hki_round_up(floats * (int64_t)sizeof(float), HKI_CACHE_LINE);
}
