#include "op/kernels/conv2d_image.h"

#include "op/kernels/conv2d_block_kernels.h"
#include "op/kernels/conv2d_image_kernels.h"
#include "op/kernels/kernel_isa.h"

#include <assert.h>
#include <string.h>

enum { LANES_MAX = 16, POINTS = HKI_IMAGE_POINTS * HKI_IMAGE_POINTS };

/* ---- instruction sets ---- */

static const hki_conv2d_image_kernels *const *kernels_get(void)
{
#if HKI_HAVE_X86_ISAS
    switch (hki_kernel_isa_get()) {
    case HKI_ISA_AVX512:
        return hki_conv2d_image_kernels_avx512;
    case HKI_ISA_AVX2:
        return hki_conv2d_image_kernels_avx2;
    case HKI_ISA_PORTABLE:
        break;
    }
#endif
    return hki_conv2d_image_kernels_portable;
}

/* A group of channels. */
typedef struct group {
    const hki_conv2d_image_kernels *kernels;
    int64_t first, count; /* channels */
} group;

/* The group that begins at a channel, which another one ends at, or 0. */
static group group_at(int64_t first, int64_t channels)
{
    const hki_conv2d_image_kernels *const *kernels = kernels_get();
    int64_t left = channels - first;
    const hki_conv2d_image_kernels *with = kernels[left <= kernels[1]->lanes];
    return (group){with, first, left < with->lanes ? left : with->lanes};
}

static int64_t padded(int64_t channels)
{
    int64_t whole = kernels_get()[0]->lanes, last = channels / whole * whole;
    return channels == last ? last : last + group_at(last, channels).kernels->lanes;
}

static void bias_of(const group *self, const float *bias, float to[LANES_MAX])
{
    memset(to, 0, LANES_MAX * sizeof *to);
    if (bias)
        memcpy(to, bias + self->first, (size_t)self->count * sizeof *to);
}

/* ---- what follows from the geometry ---- */

typedef enum method { DENSE, WINOGRAD, DIRECT } method;

static size_t round_up(int64_t bytes)
{
    return (size_t)(bytes + 63) / 64 * 64;
}

static bool pools(const hki_conv2d_block *block)
{
    return block->pool != HKI_BLOCK_POOL_NONE && block->pool_height * block->pool_width > 1;
}

static int64_t window_height(const hki_conv2d_block *block)
{
    return block->pool == HKI_BLOCK_POOL_NONE ? 1 : block->pool_height;
}

static int64_t window_width(const hki_conv2d_block *block)
{
    return block->pool == HKI_BLOCK_POOL_NONE ? 1 : block->pool_width;
}

/* Results of the convolution that windows cover. */
static int64_t covered_height(const hki_conv2d_block *block)
{
    return hki_conv2d_block_out_height(block) * window_height(block);
}

static int64_t covered_width(const hki_conv2d_block *block)
{
    return hki_conv2d_block_out_width(block) * window_width(block);
}

static int64_t tile_rows(const hki_conv2d_block *block)
{
    return (covered_height(block) - 1) / HKI_IMAGE_TILE + 1;
}

static int64_t tile_columns(const hki_conv2d_block *block)
{
    return (covered_width(block) - 1) / HKI_IMAGE_TILE + 1;
}

enum { PER_NS = 40 };

/* Multiplications, or what takes as long. */
static double direct_cost(const hki_conv2d_block *block)
{
    const hki_conv2d_geometry *g = &block->geometry;
    return (double)(covered_height(block) * covered_width(block) * g->in_channels *
                    g->kernel_height * g->kernel_width) *
           (double)padded(g->out_channels);
}

static double winograd_cost(const hki_conv2d_block *block)
{
    enum { TRANSFORM = 450 };
    const hki_conv2d_geometry *g = &block->geometry;
    double out = (double)padded(g->out_channels), in = (double)padded(g->in_channels);
    return (double)(tile_rows(block) * tile_columns(block)) *
           (POINTS * (double)g->in_channels * out + TRANSFORM * (in + out));
}

static method method_of(const hki_conv2d_block *block)
{
    const hki_conv2d_geometry *g = &block->geometry;
    if (hki_conv2d_block_dense(g))
        return DENSE;
    if (g->kernel_height != HKI_IMAGE_KERNEL || g->kernel_width != HKI_IMAGE_KERNEL ||
        g->stride_height != 1 || g->stride_width != 1 || g->dilation_height != 1 ||
        g->dilation_width != 1)
        return DIRECT;
    return winograd_cost(block) < direct_cost(block) ? WINOGRAD : DIRECT;
}

bool hki_conv2d_image_supports(const hki_conv2d_image *image)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    const hki_image *x = &image->x;
    if (!hki_conv2d_block_supports(&image->block, false) ||
        (x->stride && x->stride < x->channels))
        return false;
    if (method_of(&image->block) == DENSE)
        return x->channels * x->height * x->width == g->in_channels * g->in_height * g->in_width;
    return x->channels == g->in_channels && x->height == g->in_height && x->width == g->in_width &&
           (method_of(&image->block) != WINOGRAD || x->stride >= padded(x->channels));
}

bool hki_conv2d_image_wants_image(const hki_conv2d_block *block)
{
    return method_of(block) == WINOGRAD;
}

hki_image hki_image_make(int64_t channels, int64_t height, int64_t width)
{
    return (hki_image){channels, height, width, padded(channels)};
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
    return (method_of(block) == WINOGRAD ? winograd_cost(block) : direct_cost(block)) / PER_NS;
}

/* ---- direct: the source with its padding, in planes whose results are neighbours ---- */

/* Column i of the padded source is element i / stride of the part i % stride of its row. */
typedef struct planes {
    int64_t height, parts, part; /* rows; parts of a row; floats of a part */
} planes;

static planes planes_of(const hki_conv2d_block *block)
{
    const hki_conv2d_geometry *g = &block->geometry;
    int64_t width = (covered_width(block) - 1) * g->stride_width +
                    (g->kernel_width - 1) * g->dilation_width + 1;
    return (planes){(covered_height(block) - 1) * g->stride_height +
                        (g->kernel_height - 1) * g->dilation_height + 1,
                    g->stride_width, (width - 1) / g->stride_width + 1};
}

static int64_t planes_elements(const hki_conv2d_block *block)
{
    planes p = planes_of(block);
    return block->geometry.in_channels * p.height * p.parts * p.part;
}

static void planes_fill(const hki_conv2d_image *image, const float *x, float *to)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    const planes p = planes_of(&image->block);
    const int64_t row = p.parts * p.part;
    const int64_t step = image->x.stride ? image->x.stride : 1;
    memset(to, 0, (size_t)planes_elements(&image->block) * sizeof *to);
    for (int64_t c = 0; c < g->in_channels; c++)
        for (int64_t i = 0; i < p.height; i++) {
            const int64_t r = i - g->pad_height;
            if (r < 0 || r >= g->in_height)
                continue;
            const float *from = image->x.stride
                                    ? x + r * g->in_width * step + c
                                    : x + (c * g->in_height + r) * g->in_width;
            float *at = to + (c * p.height + i) * row;
            const int64_t room = row - g->pad_width;
            const int64_t columns = g->in_width < room ? g->in_width : room;
            if (p.parts == 1 && step == 1 && columns > 0)
                memcpy(at + g->pad_width, from, (size_t)columns * sizeof *at);
            else
                for (int64_t j = 0; j < columns; j++) {
                    const int64_t column = j + g->pad_width;
                    at[column % p.parts * p.part + column / p.parts] = from[j * step];
                }
        }
}

/* Where the terms of a result find their elements, from the first one. */
static void offsets_fill(const hki_conv2d_block *block, int32_t *offsets)
{
    const hki_conv2d_geometry *g = &block->geometry;
    const planes p = planes_of(block);
    for (int64_t c = 0; c < g->in_channels; c++)
        for (int64_t i = 0; i < g->kernel_height; i++)
            for (int64_t j = 0; j < g->kernel_width; j++) {
                const int64_t column = j * g->dilation_width;
                *offsets++ =
                    (int32_t)((c * p.height + i * g->dilation_height) * p.parts * p.part +
                              column % p.parts * p.part + column / p.parts);
            }
}

/* ---- packing ---- */

static int64_t terms_of(const hki_conv2d_geometry *g)
{
    return g->in_channels * g->kernel_height * g->kernel_width;
}

static size_t offsets_bytes(const hki_conv2d_block *block)
{
    return method_of(block) == DIRECT
               ? round_up(terms_of(&block->geometry) * (int64_t)sizeof(int32_t))
               : 0;
}

size_t hki_conv2d_image_packed_bytes(const hki_conv2d_image *image)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    int64_t terms = method_of(&image->block) == WINOGRAD ? POINTS * g->in_channels : terms_of(g);
    return offsets_bytes(&image->block) +
           round_up(padded(g->out_channels) * terms * (int64_t)sizeof(float));
}

/* Vectors that a step of a dense layer takes, from a group on. */
static int64_t dense_vectors(const group *first, int64_t channels)
{
    int64_t whole = (channels - first->first) / first->kernels->lanes;
    return whole < 1 ? 1 : whole < HKI_IMAGE_DENSE ? whole : HKI_IMAGE_DENSE;
}

/* Weights [first, first + as many as there are lanes) of each channel of a group, whose rows are `terms` long, to
 * [weight][lane]; lanes without a channel are zero. Returns how many weights there are. */
static int64_t take_weights(const group *at, const float *weight, int64_t terms, int64_t first,
                            float *to)
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
    const int64_t terms = terms_of(&image->block.geometry);
    const int64_t channels = x->stride ? x->channels : terms, pixels = terms / channels;
    const int64_t outputs = image->block.geometry.out_channels;
    float block[LANES_MAX * LANES_MAX];
    for (int64_t o = 0; o < outputs;) {
        const group at = group_at(o, outputs);
        const int64_t lanes = at.kernels->lanes, vectors = dense_vectors(&at, outputs);
        for (int64_t v = 0; v < vectors; v++) {
            const group one = group_at(o + v * lanes, outputs);
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

static void pack_winograd(const hki_conv2d_image *image, const float *weight, float *to)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    enum { AREA = HKI_IMAGE_KERNEL * HKI_IMAGE_KERNEL };
    const int64_t terms = terms_of(g);
    float window[AREA * LANES_MAX];
    for (int64_t o = 0; o < g->out_channels;) {
        const group at = group_at(o, g->out_channels);
        const int64_t lanes = at.kernels->lanes;
        for (int64_t c = 0; c < g->in_channels; c++) {
            for (int64_t k = 0; k < AREA; k++)
                for (int64_t i = 0; i < lanes; i++)
                    window[k * lanes + i] =
                        i < at.count ? weight[(o + i) * terms + c * AREA + k] : 0;
            at.kernels->tile_weight(window, to + c * lanes, g->in_channels * lanes);
        }
        to += POINTS * g->in_channels * lanes;
        o += lanes;
    }
}

static void pack_direct(const hki_conv2d_image *image, const float *weight, float *to)
{
    const int64_t outputs = image->block.geometry.out_channels;
    const int64_t terms = terms_of(&image->block.geometry);
    float block[LANES_MAX * LANES_MAX];
    for (int64_t o = 0; o < outputs;) {
        const group at = group_at(o, outputs);
        const int64_t lanes = at.kernels->lanes;
        for (int64_t k = 0, count; k < terms; k += count, to += count * lanes) {
            count = take_weights(&at, weight, terms, k, block);
            memcpy(to, block, (size_t)(count * lanes) * sizeof *to);
        }
        o += lanes;
    }
}

void hki_conv2d_image_pack(const hki_conv2d_image *image, const float *weight, void *packed)
{
    float *to = (float *)(void *)((char *)packed + offsets_bytes(&image->block));
    switch (method_of(&image->block)) {
    case DENSE:
        pack_dense(image, weight, to);
        break;
    case WINOGRAD:
        pack_winograd(image, weight, to);
        break;
    case DIRECT:
        offsets_fill(&image->block, packed);
        pack_direct(image, weight, to);
        break;
    }
}

/* ---- forward ---- */

/* What a step of Winograd's transforms, and what becomes of that, floats. */
static int64_t winograd_v(const hki_conv2d_image *image)
{
    return POINTS * HKI_IMAGE_TILES * image->x.stride;
}

static int64_t winograd_sums(void)
{
    return POINTS * HKI_IMAGE_TILES * LANES_MAX;
}

size_t hki_conv2d_image_scratch_bytes(const hki_conv2d_image *image)
{
    const hki_conv2d_block *block = &image->block;
    int64_t floats = 0, row = covered_width(block) * padded(block->geometry.out_channels);
    switch (method_of(block)) {
    case DENSE:
        break;
    case WINOGRAD:
        floats = winograd_v(image) + winograd_sums() +
                 (pools(block) ? HKI_IMAGE_SAMPLES * covered_height(block) * row : 0);
        break;
    case DIRECT:
        floats = (planes_elements(block) + 15) / 16 * 16 +
                 (pools(block) ? block->pool_height * covered_width(block) * LANES_MAX : 0);
        break;
    }
    return round_up(floats * (int64_t)sizeof(float));
}

/* One row of windows of a group, from results that have its lanes alone, to y, which has all channels. */
static void pool_row(const hki_conv2d_block *block, const group *at, const float *from, float *y)
{
    const int64_t lanes = at->kernels->lanes;
    const hki_image_pool call = {.from = from,
                                 .from_row = covered_width(block) * lanes,
                                 .pool = block->pool,
                                 .height = block->pool_height,
                                 .width = block->pool_width,
                                 .windows = hki_conv2d_block_out_width(block),
                                 .y = y + at->first,
                                 .y_stride = padded(block->geometry.out_channels)};
    at->kernels->pool(&call);
}

/* Steps of a row take as many pixels each; the last one goes back to overlap the one before it. */
static void direct_rows(hki_image_direct *call, const group *at, const float *source, int64_t width,
                        int64_t rows, float *to)
{
    const int64_t steps = (width - 1) / HKI_IMAGE_PIXELS + 1;
    const int64_t most = width <= HKI_IMAGE_PIXELS / HKI_IMAGE_ROWS ? HKI_IMAGE_ROWS : 1;
    call->pixels = (width - 1) / steps + 1;
    for (int64_t i = 0; i < rows; i += call->rows) {
        call->rows = rows - i < most ? rows - i : most;
        for (int64_t s = 0; s < steps; s++) {
            int64_t j = s * call->pixels;
            j = j + call->pixels > width ? width - call->pixels : j;
            call->x = source + i * call->row + j;
            call->y = to + i * call->y_row + j * call->y_stride;
            at->kernels->direct(call);
        }
    }
}

/* Of one sample, whose planes are at `source`. */
static void direct_sample(const hki_conv2d_image *image, const float *source, const char *packed,
                          const float *bias, float *y, float *band)
{
    const hki_conv2d_block *block = &image->block;
    const hki_conv2d_geometry *g = &block->geometry;
    const planes p = planes_of(block);
    const int64_t width = covered_width(block), height = covered_height(block);
    const int64_t stride = padded(g->out_channels), rows = block->pool_height;
    const int64_t y_row = hki_conv2d_block_out_width(block) * stride;
    float lanes[LANES_MAX];
    hki_image_direct call = {.row = g->stride_height * p.parts * p.part,
                             .weight = (const float *)(const void *)(packed + offsets_bytes(block)),
                             .offsets = (const int32_t *)(const void *)packed,
                             .terms = terms_of(g),
                             .bias = lanes,
                             .relu = block->relu,
                             .y_row = y_row,
                             .y_stride = stride};
    for (int64_t o = 0; o < g->out_channels;) {
        const group at = group_at(o, g->out_channels);
        bias_of(&at, bias, lanes);
        if (pools(block)) {
            call.y_stride = at.kernels->lanes;
            call.y_row = width * call.y_stride;
            for (int64_t i = 0; i < height; i += rows) {
                direct_rows(&call, &at, source + i * call.row, width, rows, band);
                pool_row(block, &at, band, y + i / rows * y_row);
            }
        } else {
            direct_rows(&call, &at, source, width, height, y + o);
        }
        call.weight += call.terms * at.kernels->lanes;
        o += at.kernels->lanes;
    }
}

static void forward_direct(const hki_conv2d_image *image, int64_t samples, const float *x,
                           const char *packed, const float *bias, float *y, float *scratch)
{
    const hki_image result = hki_conv2d_image_result(&image->block);
    float *band = scratch + (planes_elements(&image->block) + 15) / 16 * 16;
    for (int64_t n = 0; n < samples; n++) {
        planes_fill(image, x + n * hki_image_elements(&image->x), scratch);
        direct_sample(image, scratch, packed, bias, y + n * hki_image_elements(&result), band);
    }
}

static void forward_dense(const hki_conv2d_image *image, int64_t samples, const float *x,
                          const float *packed, const float *bias, float *y)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    const hki_image *in = &image->x;
    const int64_t all = in->channels * in->height * in->width;
    float lanes[LANES_MAX * HKI_IMAGE_DENSE];
    hki_image_dense call = {.x = x,
                            .x_sample = hki_image_elements(in),
                            .x_stride = in->stride,
                            .pixels = in->stride ? in->height * in->width : 1,
                            .channels = in->stride ? in->channels : all,
                            .weight = packed,
                            .bias = lanes,
                            .relu = image->block.relu,
                            .y_sample = padded(g->out_channels),
                            .samples = samples};
    for (int64_t o = 0; o < g->out_channels;) {
        const group at = group_at(o, g->out_channels);
        const int64_t width = at.kernels->lanes;
        call.vectors = dense_vectors(&at, g->out_channels);
        for (int64_t v = 0; v < call.vectors; v++) {
            const group one = group_at(o + v * width, g->out_channels);
            float some[LANES_MAX];
            bias_of(&one, bias, some);
            memcpy(lanes + v * width, some, (size_t)width * sizeof *lanes);
        }
        call.y = y + o;
        at.kernels->dense(&call);
        call.weight += all * call.vectors * width;
        o += call.vectors * width;
    }
}

/* Which of the 8 elements of a tile, from `first` on, there are. */
static void range_of(int64_t first, int64_t size, int range[2])
{
    range[0] = first < 0 ? (int)-first : 0;
    range[1] = size - first < HKI_IMAGE_POINTS ? (int)(size - first) : HKI_IMAGE_POINTS;
}

/* Where a tile of all samples is. */
typedef struct tile {
    int64_t sample, row, column; /* of its first result */
} tile;

static tile tile_at(const hki_conv2d_block *block, int64_t index)
{
    const int64_t columns = tile_columns(block), size = HKI_IMAGE_TILE;
    const int64_t of_sample = tile_rows(block) * columns, rest = index % of_sample;
    return (tile){index / of_sample, rest / columns * size, rest % columns * size};
}

static void winograd_in(const hki_conv2d_image *image, const float *x, int64_t first, int64_t tiles,
                        float *v)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    const int64_t stride = image->x.stride, x_row = g->in_width * stride;
    for (int64_t t = 0; t < tiles; t++) {
        const tile at = tile_at(&image->block, first + t);
        const int64_t r = at.row - g->pad_height, c = at.column - g->pad_width;
        const float *from = x + at.sample * hki_image_elements(&image->x);
        int row[2], column[2];
        range_of(r, g->in_height, row);
        range_of(c, g->in_width, column);
        for (int64_t i = 0; i < g->in_channels;) {
            const group part = group_at(i, g->in_channels);
            /* As a number: the tile may begin before the image does. */
            const uintptr_t begin = (uintptr_t)(from + i) +
                                    (uintptr_t)(r * x_row + c * stride) * sizeof *from;
            part.kernels->tile_in((const float *)begin, x_row, stride, row, column,
                                  v + t * stride + i, tiles * stride);
            i += part.kernels->lanes;
        }
    }
}

static void forward_winograd(const hki_conv2d_image *image, int64_t samples, const float *x,
                             const float *packed, const float *bias, float *y, float *scratch)
{
    const hki_conv2d_block *block = &image->block;
    const hki_conv2d_geometry *g = &block->geometry;
    const int64_t stride = padded(g->out_channels), size = HKI_IMAGE_TILE;
    const int64_t width = covered_width(block), height = covered_height(block);
    float *v = scratch, *sums = v + winograd_v(image);
    float *results = sums + winograd_sums(); /* [group][sample][row][column][lane], where they are pooled */
    const int64_t pixels = samples * height * width;
    const bool pooled = pools(block);
    const int64_t all = samples * tile_rows(block) * tile_columns(block);
    const int64_t steps = (all - 1) / HKI_IMAGE_TILES + 1;
    float lanes[LANES_MAX];
    for (int64_t s = 0, first = 0, end; s < steps; s++, first = end) {
        end = all * (s + 1) / steps;
        const int64_t tiles = end - first;
        winograd_in(image, x, first, tiles, v);
        hki_image_products products = {.v = v,
                                       .u = packed,
                                       .v_point = tiles * image->x.stride,
                                       .v_tile = image->x.stride,
                                       .channels = g->in_channels,
                                       .tiles = tiles,
                                       .to = sums};
        for (int64_t o = 0; o < g->out_channels;) {
            const group at = group_at(o, g->out_channels);
            const int64_t width_of = at.kernels->lanes;
            bias_of(&at, bias, lanes);
            at.kernels->products(&products);
            for (int64_t t = 0; t < tiles; t++) {
                const tile to = tile_at(block, first + t);
                const int64_t rows = height - to.row, columns = width - to.column;
                const int64_t pixel = (to.sample * height + to.row) * width + to.column;
                const hki_image_tile out = {
                    .sums = sums + t * width_of,
                    .stride = tiles * width_of,
                    .bias = lanes,
                    .relu = block->relu,
                    .y = pooled ? results + o * pixels + pixel * width_of : y + pixel * stride + o,
                    .y_row = width * (pooled ? width_of : stride),
                    .y_stride = pooled ? width_of : stride,
                    .rows = rows < size ? rows : size,
                    .columns = columns < size ? columns : size};
                at.kernels->tile_out(&out);
            }
            products.u += POINTS * g->in_channels * width_of;
            o += width_of;
        }
    }
    const hki_image result = hki_conv2d_image_result(block);
    for (int64_t o = 0; pooled && o < g->out_channels;) {
        const group at = group_at(o, g->out_channels);
        const float *from = results + o * pixels;
        for (int64_t i = 0; i < samples * result.height; i++) {
            pool_row(block, &at, from, y + i * result.width * stride);
            from += block->pool_height * width * at.kernels->lanes;
        }
        o += at.kernels->lanes;
    }
}

void hki_conv2d_image_forward(const hki_conv2d_image *image, int64_t samples, const float *x,
                              const void *packed, const float *bias, float *y, void *scratch)
{
    assert(samples >= 1 && samples <= HKI_IMAGE_SAMPLES);
    switch (method_of(&image->block)) {
    case DENSE:
        forward_dense(image, samples, x, packed, bias, y);
        break;
    case WINOGRAD:
        forward_winograd(image, samples, x, packed, bias, y, scratch);
        break;
    case DIRECT:
        forward_direct(image, samples, x, packed, bias, y, scratch);
        break;
    }
}

/* ---- layouts ---- */

void hki_image_gather(const hki_image *image, const float *rows, int64_t samples, float *to)
{
    const int64_t pixels = image->height * image->width;
    for (int64_t n = 0; n < samples; n++, rows += image->channels * pixels,
                 to += hki_image_elements(image))
        for (int64_t p = 0; p < pixels; p++)
            for (int64_t c = 0; c < image->stride; c++)
                to[p * image->stride + c] = c < image->channels ? rows[c * pixels + p] : 0;
}

void hki_image_scatter(const hki_image *image, const float *from, int64_t samples, float *rows)
{
    const int64_t pixels = image->height * image->width;
    for (int64_t n = 0; n < samples; n++, rows += image->channels * pixels,
                 from += hki_image_elements(image))
        for (int64_t c = 0; c < image->channels; c++)
            for (int64_t p = 0; p < pixels; p++)
                rows[c * pixels + p] = from[p * image->stride + c];
}
