#include "op/conv/conv2d_image_plan.h"

#include <assert.h>
#include <string.h>

static void bias_of(const hki_image_group *self, const float *bias, float to[HKI_IMAGE_LANES])
{
    memset(to, 0, HKI_IMAGE_LANES * sizeof *to);
    if (bias)
        memcpy(to, bias + self->first, (size_t)self->count * sizeof *to);
}

/* ---- direct ---- */

static void planes_fill(const hki_conv2d_image *image, const float *x, float *to)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    const hki_image_planes p = hki_image_planes_of(&image->block);
    const int64_t row = p.parts * p.part;
    const int64_t step = image->x.stride ? image->x.stride : 1;
    memset(to, 0, (size_t)hki_image_planes_elements(&image->block) * sizeof *to);
    for (int64_t c = 0; c < g->in_channels; c++)
        for (int64_t i = 0; i < p.height; i++) {
            const int64_t r = i - g->pad_height;
            if (r < 0 || r >= g->in_height)
                continue;
            const float *from = image->x.stride ? x + r * g->in_width * step + c
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

/* Whether rows are the planes already. */
static bool are_planes(const hki_conv2d_image *image)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    const hki_image_planes p = hki_image_planes_of(&image->block);
    return image->x.stride == 0 && g->pad_height == 0 && g->pad_width == 0 && p.parts == 1 &&
           p.part == g->in_width && (p.height == g->in_height || g->in_channels == 1);
}

/* ---- forward ---- */

/* One row of windows of a group, from results that have its lanes alone, to y, which has all channels. */
static void pool_row(const hki_conv2d_block *block, const hki_image_group *at, const float *from,
                     float *y)
{
    const int64_t lanes = at->kernels->lanes;
    const hki_image_pool call = {.from = from,
                                 .from_row = hki_image_covered_width(block) * lanes,
                                 .pool = block->pool,
                                 .height = block->pool_height,
                                 .width = block->pool_width,
                                 .windows = hki_conv2d_block_out_width(block),
                                 .y = y + at->first,
                                 .y_stride = hki_image_padded(block->geometry.out_channels)};
    at->kernels->pool(&call);
}

/* Steps of a row take as many pixels each; the last one goes back to overlap the one before it. */
static void direct_rows(hki_image_direct *call, const hki_image_group *at, const float *source,
                        int64_t width, int64_t rows, float *to)
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

/* All windows of 2 x 2 of a group, or of some; call->vectors: how many. */
static void windows_rows(hki_image_direct *call, const hki_image_group *at,
                         const hki_conv2d_block *block, const float *source,
                         float lanes[HKI_IMAGE_WIDE * HKI_IMAGE_LANES], float *y)
{
    const hki_image_quarters quarters = hki_image_quarters_at(block, at->first);
    void (*const windows)(const hki_image_direct *, hki_block_pool) =
        quarters.vectors ? quarters.kernels->quarter : at->kernels->windows;
    call->vectors = quarters.vectors ? quarters.vectors : call->vectors;
    for (int64_t i = HKI_IMAGE_LANES - 1; quarters.vectors && i >= 0; i--)
        lanes[i] = lanes[i / 4];
    const int64_t rows = hki_conv2d_block_out_height(block);
    for (int64_t i = 0; i < rows; i++) {
        call->x = source + 2 * i * call->row;
        call->y = y + i * call->y_row;
        windows(call, block->pool);
    }
}

/* Of one sample, whose planes are at `source`. */
static void direct_sample(const hki_conv2d_image *image, const float *source, const char *packed,
                          const float *bias, float *y, float *band)
{
    const hki_conv2d_block *block = &image->block;
    const hki_conv2d_geometry *g = &block->geometry;
    const hki_image_planes p = hki_image_planes_of(block);
    const int64_t width = hki_image_covered_width(block), height = hki_image_covered_height(block);
    const int64_t stride = hki_image_padded(g->out_channels), rows = block->pool_height;
    const int64_t y_row = hki_conv2d_block_out_width(block) * stride;
    float lanes[HKI_IMAGE_WIDE * HKI_IMAGE_LANES];
    hki_image_direct call = {
        .row = g->stride_height * p.parts * p.part,
        .weight = (const float *)(const void *)(packed + hki_image_offsets_bytes(block)),
        .offsets = (const int32_t *)(const void *)packed,
        .terms = hki_image_terms(g),
        .bias = lanes,
        .relu = block->relu,
        .y_row = y_row,
        .y_stride = stride};
    for (int64_t o = 0; o < g->out_channels;) {
        const hki_image_group at = hki_image_group_at(o, g->out_channels);
        const int64_t its = at.kernels->lanes;
        bias_of(&at, bias, lanes);
        call.vectors = 1;
        if (hki_image_pools_by_four(block)) {
            call.pixels = width;
            const int64_t most = at.kernels->vectors < HKI_IMAGE_WIDE ? 1 : HKI_IMAGE_WIDE;
            call.vectors = hki_image_vectors(&at, g->out_channels, most);
            for (int64_t i = 1; i < call.vectors; i++) {
                const hki_image_group next = hki_image_group_at(o + i * its, g->out_channels);
                bias_of(&next, bias, lanes + i * its);
            }
            windows_rows(&call, &at, block, source, lanes, y + o);
        } else if (hki_image_pools(block)) {
            call.y_stride = its;
            call.y_row = width * call.y_stride;
            for (int64_t i = 0; i < height; i += rows) {
                direct_rows(&call, &at, source + i * call.row, width, rows, band);
                pool_row(block, &at, band, y + i / rows * y_row);
            }
        } else {
            direct_rows(&call, &at, source, width, height, y + o);
        }
        call.weight += call.terms * its * call.vectors;
        o += its * call.vectors;
    }
}

static void forward_direct(const hki_conv2d_image *image, int64_t samples, const float *x,
                           const char *packed, const float *bias, float *y, float *scratch)
{
    const hki_image result = hki_conv2d_image_result(&image->block);
    float *band = scratch + (hki_image_planes_elements(&image->block) + 15) / 16 * 16;
    const bool as_it_is = are_planes(image);
    for (int64_t n = 0; n < samples; n++) {
        const float *sample = x + n * hki_image_elements(&image->x);
        if (!as_it_is)
            planes_fill(image, sample, scratch);
        direct_sample(image, as_it_is ? sample : scratch, packed, bias,
                      y + n * hki_image_elements(&result), band);
    }
}

typedef struct dense_call {
    const hki_conv2d_image *image;
    hki_image_dense all; /* but for what a step sets */
    const float *packed, *bias;
    float *y;
} dense_call;

/* A step: a few vectors of results. */
static void dense_part(const dense_call *self, int64_t part)
{
    const int64_t outputs = self->image->block.geometry.out_channels;
    const int64_t terms = hki_image_terms(&self->image->block.geometry);
    const int64_t begin = part * hki_image_dense_part(), limit = begin + hki_image_dense_part();
    const int64_t end = limit < outputs ? limit : outputs;
    float lanes[HKI_IMAGE_LANES * HKI_IMAGE_DENSE];
    hki_image_dense call = self->all;
    call.bias = lanes;
    for (int64_t o = begin; o < end;) {
        const hki_image_group at = hki_image_group_at(o, outputs);
        const int64_t width = at.kernels->lanes;
        call.vectors = hki_image_vectors(&at, outputs, HKI_IMAGE_DENSE);
        for (int64_t v = 0; v < call.vectors; v++) {
            const hki_image_group one = hki_image_group_at(o + v * width, outputs);
            float some[HKI_IMAGE_LANES];
            bias_of(&one, self->bias, some);
            memcpy(lanes + v * width, some, (size_t)width * sizeof *lanes);
        }
        call.weight = self->packed + o * terms;
        call.y = self->y + o;
        at.kernels->dense(&call);
        o += call.vectors * width;
    }
}

static void forward_dense(const hki_conv2d_image *image, int64_t samples, const float *x,
                          const float *packed, const float *bias, float *y)
{
    const int64_t outputs = image->block.geometry.out_channels;
    const hki_image *in = &image->x;
    const int64_t all = in->channels * in->height * in->width;
    const int64_t parts = (outputs - 1) / hki_image_dense_part() + 1;
    dense_call call = {.image = image,
                       .all = {.x = x,
                               .x_sample = hki_image_elements(in),
                               .x_stride = in->stride,
                               .pixels = in->stride ? in->height * in->width : 1,
                               .channels = in->stride ? in->channels : all,
                               .relu = image->block.relu,
                               .y_sample = hki_image_padded(outputs),
                               .samples = samples},
                       .packed = packed,
                       .bias = bias,
                       .y = y};
    for (int64_t part = 0; part < parts; part++)
        dense_part(&call, part);
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

static void tiles_find(const hki_conv2d_block *block, int64_t first, int64_t count, tile *tiles)
{
    const int64_t columns = hki_image_tile_columns(block), size = HKI_IMAGE_TILE;
    const int64_t of_sample = hki_image_tile_rows(block) * columns;
    for (int64_t i = first; i < first + count; i++) {
        const int64_t rest = i % of_sample;
        *tiles++ = (tile){i / of_sample, rest / columns * size, rest % columns * size};
    }
}

static void winograd_in(const hki_conv2d_image *image, const float *x, const tile *tiles,
                        int64_t count, float *v)
{
    const hki_conv2d_geometry *g = &image->block.geometry;
    const int64_t stride = image->x.stride, x_row = g->in_width * stride;
    const int64_t sample = hki_image_elements(&image->x);
    for (int64_t i = 0; i < g->in_channels;) {
        const hki_image_group part = hki_image_group_at(i, g->in_channels);
        for (int64_t t = 0; t < count; t++) {
            const int64_t r = tiles[t].row - g->pad_height, c = tiles[t].column - g->pad_width;
            int row[2], column[2];
            range_of(r, g->in_height, row);
            range_of(c, g->in_width, column);
            /* As a number: the tile may begin before the image does. */
            const uintptr_t begin = (uintptr_t)(x + tiles[t].sample * sample + i) +
                                    (uintptr_t)(r * x_row + c * stride) * sizeof *x;
            part.kernels->tile_in((const float *)begin, x_row, stride, row, column,
                                  v + t * stride + i, count * stride);
        }
        i += part.kernels->lanes;
    }
}

/* Where the results of tiles go: of a group, or of all. */
typedef struct tiles_target {
    float *y;
    int64_t row, pixel, sample; /* floats from one to the next */
} tiles_target;

static void winograd_out(const hki_conv2d_block *block, const hki_image_group *at,
                         const float *sums, const float *bias, const tile *tiles, int64_t count,
                         const tiles_target *target)
{
    const int64_t height = hki_image_covered_height(block), width = hki_image_covered_width(block);
    const int64_t lanes = at->kernels->lanes, size = HKI_IMAGE_TILE;
    const bool by_four = hki_image_pools_by_four(block);
    const int64_t window = by_four ? 2 : 1;
    for (int64_t t = 0; t < count; t++) {
        const int64_t rows = height - tiles[t].row, columns = width - tiles[t].column;
        const hki_image_tile out = {.sums = sums + t * lanes,
                                    .stride = count * lanes,
                                    .bias = bias,
                                    .relu = block->relu,
                                    .pool = by_four ? block->pool : HKI_BLOCK_POOL_NONE,
                                    .y = target->y + tiles[t].sample * target->sample +
                                         tiles[t].row / window * target->row +
                                         tiles[t].column / window * target->pixel,
                                    .y_row = target->row,
                                    .y_stride = target->pixel,
                                    .rows = rows < size ? rows : size,
                                    .columns = columns < size ? columns : size};
        at->kernels->tile_out(&out);
    }
}

/* What is pooled by other windows than 2 x 2 goes to `results` first, [group][sample][row][column][lane]. */
static void pool_results(const hki_conv2d_block *block, int64_t samples, const float *results,
                         float *y)
{
    const hki_image result = hki_conv2d_image_result(block);
    const int64_t width = hki_image_covered_width(block);
    for (int64_t o = 0; o < result.channels;) {
        const hki_image_group at = hki_image_group_at(o, result.channels);
        for (int64_t i = 0; i < samples * result.height; i++) {
            pool_row(block, &at, results, y + i * result.width * result.stride);
            results += block->pool_height * width * at.kernels->lanes;
        }
        o += at.kernels->lanes;
    }
}

static void forward_winograd(const hki_conv2d_image *image, int64_t samples, const float *x,
                             const float *packed, const float *bias, float *y, float *scratch)
{
    const hki_conv2d_block *block = &image->block;
    const hki_conv2d_geometry *g = &block->geometry;
    const hki_image result = hki_conv2d_image_result(block);
    const int64_t width = hki_image_covered_width(block), height = hki_image_covered_height(block);
    float *v = scratch, *sums = v + hki_image_transformed(image),
          *results = sums + hki_image_sums();
    const bool pools_later = hki_image_pools(block) && !hki_image_pools_by_four(block);
    const int64_t all = samples * hki_image_tile_rows(block) * hki_image_tile_columns(block);
    const int64_t steps = (all - 1) / HKI_IMAGE_TILES + 1;
    float lanes[HKI_IMAGE_LANES];
    tile tiles[HKI_IMAGE_TILES];
    for (int64_t s = 0, first = 0, end; s < steps; s++, first = end) {
        end = all * (s + 1) / steps;
        const int64_t count = end - first;
        tiles_find(block, first, count, tiles);
        winograd_in(image, x, tiles, count, v);
        hki_image_products products = {.v = v,
                                       .u = packed,
                                       .v_point = count * image->x.stride,
                                       .v_tile = image->x.stride,
                                       .channels = g->in_channels,
                                       .tiles = count,
                                       .to = sums};
        for (int64_t o = 0; o < g->out_channels;) {
            hki_image_group at = hki_image_group_at(o, g->out_channels);
            const int64_t its = at.kernels->lanes;
            const hki_image_quarters quarters = hki_image_quarters_at(block, o);
            const int64_t fit = HKI_IMAGE_TILES / count, most = at.kernels->vectors;
            products.vectors = hki_image_vectors(&at, g->out_channels, fit < most ? fit : most);
            (quarters.vectors ? quarters.kernels->quarter_products
                              : at.kernels->products)(&products);
            for (int64_t i = 0; i < products.vectors; i++, o += its) {
                at = hki_image_group_at(o, g->out_channels);
                bias_of(&at, bias, lanes);
                const tiles_target target =
                    pools_later ? (tiles_target){results + o * samples * height * width,
                                                 width * its, its, height * width * its}
                                : (tiles_target){y + o, result.width * result.stride, result.stride,
                                                 hki_image_elements(&result)};
                winograd_out(block, &at, sums + i * HKI_IMAGE_ALL_POINTS * count * its, lanes,
                             tiles, count, &target);
            }
            products.u += products.vectors * HKI_IMAGE_ALL_POINTS * g->in_channels * its;
        }
    }
    if (pools_later)
        pool_results(block, samples, results, y);
}

void hki_conv2d_image_forward(const hki_conv2d_image *image, int64_t samples, const float *x,
                              const void *packed, const float *bias, float *y, void *scratch)
{
    assert(samples >= 1 && samples <= HKI_IMAGE_SAMPLES);
    switch (hki_image_method_of(&image->block)) {
    case HKI_IMAGE_METHOD_DENSE:
        forward_dense(image, samples, x, packed, bias, y);
        break;
    case HKI_IMAGE_METHOD_WINOGRAD:
        forward_winograd(image, samples, x, packed, bias, y, scratch);
        break;
    case HKI_IMAGE_METHOD_DIRECT:
        forward_direct(image, samples, x, packed, bias, y, scratch);
        break;
    }
}

/* ---- layouts ---- */

void hki_image_gather(const hki_image *image, const float *rows, int64_t samples, float *to)
{
    const int64_t pixels = image->height * image->width;
    for (int64_t n = 0; n < samples;
         n++, rows += image->channels * pixels, to += hki_image_elements(image))
        for (int64_t p = 0; p < pixels; p++)
            for (int64_t c = 0; c < image->stride; c++)
                to[p * image->stride + c] = c < image->channels ? rows[c * pixels + p] : 0;
}

void hki_image_scatter(const hki_image *image, const float *from, int64_t samples, float *rows)
{
    const int64_t pixels = image->height * image->width;
    for (int64_t n = 0; n < samples;
         n++, rows += image->channels * pixels, from += hki_image_elements(image))
        for (int64_t c = 0; c < image->channels; c++)
            for (int64_t p = 0; p < pixels; p++)
                rows[c * pixels + p] = from[p * image->stride + c];
}
