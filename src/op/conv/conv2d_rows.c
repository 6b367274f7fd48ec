#include "op/conv/conv2d_rows.h"

#include "base/integer.h"
#include "base/sync.h"
#include "op/conv/conv2d_image_plan.h"
#include "op/matmul/product_kernel.h"

#include <string.h>

enum {
    MOST_SAMPLES = 4,
    LEAST_CHANNELS = 16,        /* of x: shorter runs are not worth being copied one by one */
    LEAST_PRODUCTS = 64 * 1024, /* of a sample */
    FULL_LANES = 48,            /* pixels of a 1 x 1 kernel */
    MANY_PIXELS = 96,           /* then units are rows of results */
    UNIT_CHANNELS = HKI_PRODUCT_PANEL,
    ITEM = sizeof(float)
};

/* ---- what follows from the geometry ---- */

static int64_t pixels_of(const hki_conv2d_geometry *g)
{
    return g->out_height * g->out_width;
}

static int64_t terms_of(const hki_conv2d_geometry *g)
{
    return g->kernel_height * g->kernel_width * g->in_channels;
}

/* Windows are pixels of the source, as they lie. */
static bool is_pointwise(const hki_conv2d_geometry *g)
{
    return g->kernel_height == 1 && g->kernel_width == 1 && g->stride_height == 1 &&
           g->stride_width == 1 && g->pad_height == 0 && g->pad_width == 0;
}

/* Windows are pixels as they lie, of which there are enough to fill lanes. */
static bool is_better_by_columns(const hki_conv2d_geometry *g)
{
    return is_pointwise(g) && pixels_of(g) >= FULL_LANES;
}

bool hki_conv2d_rows_fit(const hki_conv2d_geometry *g)
{
    return !is_better_by_columns(g) && g->method == HKI_CONV2D_BY_RULE &&
           g->samples <= MOST_SAMPLES && g->samples > 0 && g->in_channels >= LEAST_CHANNELS &&
           g->out_channels >= LEAST_CHANNELS &&
           pixels_of(g) * g->out_channels >= LEAST_PRODUCTS / terms_of(g);
}

static bool is_by_rows(const hki_conv2d_geometry *g)
{
    return pixels_of(g) >= MANY_PIXELS && g->out_height > 1;
}

static int64_t units_of_sample(const hki_conv2d_geometry *g)
{
    return is_by_rows(g) ? g->out_height : hki_divide_up(g->out_channels, UNIT_CHANNELS);
}

int64_t hki_conv2d_rows_units(const hki_conv2d_geometry *g)
{
    return g->samples * units_of_sample(g);
}

/* Rows of results [row, row + rows) and channels [channel, channel + channels) of a sample. */
typedef struct part {
    int64_t row, rows, channel, channels;
} part;

static part part_of(const hki_conv2d_geometry *g, int64_t begin, int64_t end)
{
    if (is_by_rows(g))
        return (part){.row = begin, .rows = end - begin, .channels = g->out_channels};
    const int64_t first = begin * UNIT_CHANNELS;
    return (part){.rows = g->out_height,
                  .channel = first,
                  .channels = hki_min(end * UNIT_CHANNELS, g->out_channels) - first};
}

/* The padded source that a part's windows lie in, [row][column][channel], from row `top` of it
 * on. */
typedef struct source {
    int64_t top, rows, width;
} source;

static source source_of(const hki_conv2d_geometry *g, const part *p)
{
    return (source){.top = p->row * g->stride_height,
                    .rows = (p->rows - 1) * g->stride_height +
                            (g->kernel_height - 1) * g->dilation_height + 1,
                    .width = g->in_width + 2 * g->pad_width};
}

/* From window to window: an odd number of lines, so that they do not share places of the first
 * cache. */
static int64_t window_row(const hki_conv2d_geometry *g)
{
    const int64_t line = HKI_CACHE_LINE / ITEM, rounded = hki_round_up(terms_of(g), line);
    return rounded % (2 * line) ? rounded : rounded + line;
}

static size_t bytes_of(int64_t elements)
{
    return hki_round_up_bytes((size_t)elements * ITEM, HKI_CACHE_LINE);
}

typedef struct places {
    size_t source, windows, results, product;
} places;

static places places_of(const hki_conv2d_geometry *g, const part *p)
{
    const source s = source_of(g, p);
    const int64_t pixels = p->rows * g->out_width;
    const hki_product product = {
        .m = pixels, .n = p->channels, .k = terms_of(g), .lda = window_row(g)};
    return (places){.source = bytes_of(s.rows * s.width * g->in_channels),
                    .windows = is_pointwise(g) ? 0 : bytes_of(pixels * window_row(g)),
                    .results = bytes_of(pixels * p->channels),
                    .product = hki_product_scratch_bytes(&product)};
}

size_t hki_conv2d_rows_scratch_bytes(const hki_conv2d_geometry *g, int64_t units)
{
    const part p = part_of(g, 0, hki_min(units, units_of_sample(g)));
    const places bytes = places_of(g, &p);
    return bytes.source + bytes.windows + bytes.results + bytes.product;
}

/* ---- weights ---- */

static hki_product product_of_weights(const hki_conv2d_geometry *g)
{
    return (hki_product){
        .trans_b = true, .m = 1, .n = g->out_channels, .k = terms_of(g), .ldb = terms_of(g)};
}

size_t hki_conv2d_rows_packed_bytes(const hki_conv2d_geometry *g)
{
    const hki_product product = product_of_weights(g);
    return hki_round_up_bytes(hki_product_packed_bytes(&product), HKI_CACHE_LINE);
}

size_t hki_conv2d_rows_pack_scratch_bytes(const hki_conv2d_geometry *g)
{
    return bytes_of(g->out_channels * terms_of(g));
}

void hki_conv2d_rows_pack(const hki_conv2d_geometry *g, const float *weight, void *packed,
                          void *scratch)
{
    const int64_t taps = g->kernel_height * g->kernel_width;
    hki_product product = product_of_weights(g);
    float *to = scratch;
    for (int64_t o = 0; o < g->out_channels; o++, weight += terms_of(g))
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t c = 0; c < g->in_channels; c++)
                *to++ = weight[c * taps + tap];
    product.b = scratch;
    hki_product_pack(&product, packed);
}

/* ---- between channels side by side and pixels side by side ---- */

static const hki_conv2d_image_kernels *kernels_get(void)
{
    return hki_image_group_at(0, HKI_IMAGE_LANES).kernels;
}

/* Calls put(argument, i, block + (i - from) * lanes) for columns [from, from + lanes) of `lanes`
 * rows, with what the rows have there. */
typedef struct block {
    int64_t row, column, count; /* of columns; of each as many rows as there are lanes, or one */
    int64_t rows;
    const float *values; /* [column][row] */
} block;

/* All of rows x columns elements, `step` apart from row to row, in blocks whose columns lie side
 * by side. Blocks may overlap. */
static void turn(const float *from, int64_t step, int64_t rows, int64_t columns,
                 void (*put)(const void *argument, const block *its), const void *argument)
{
    const hki_conv2d_image_kernels *kernels = kernels_get();
    const int64_t lanes = kernels->lanes;
    _Alignas(HKI_CACHE_LINE) float values[HKI_IMAGE_LANES * HKI_IMAGE_LANES];
    if (rows < lanes || columns < lanes) {
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++)
                put(argument, &(block){i, j, 1, 1, from + i * step + j});
        return;
    }
    for (int64_t i = 0; i < rows; i += lanes) {
        const int64_t row = hki_min(i, rows - lanes);
        for (int64_t j = 0; j < columns; j += lanes) {
            const int64_t column = hki_min(j, columns - lanes);
            kernels->transpose(from + row * step + column, step, values);
            put(argument, &(block){row, column, lanes, lanes, values});
        }
    }
}

typedef struct fill {
    const hki_conv2d_geometry *geometry;
    source source;
    int64_t first_row; /* of x, that is read */
    float *to;
} fill;

/* Rows are channels, columns pixels. */
static void put_source(const void *argument, const block *its)
{
    const fill *self = argument;
    const hki_conv2d_geometry *g = self->geometry;
    const float *values = its->values;
    for (int64_t j = its->column; j < its->column + its->count; j++, values += its->rows) {
        const int64_t row = self->first_row + j / g->in_width + g->pad_height - self->source.top;
        const int64_t column = j % g->in_width + g->pad_width;
        memcpy(self->to + (row * self->source.width + column) * g->in_channels + its->row, values,
               (size_t)its->rows * ITEM);
    }
}

static void fill_source(const hki_conv2d_geometry *g, const source *s, const float *x, float *to)
{
    const int64_t first = hki_max(s->top - g->pad_height, 0);
    const int64_t end = hki_min(s->top + s->rows - g->pad_height, g->in_height);
    const fill its = {g, *s, first, to};
    if (g->pad_height > 0 || g->pad_width > 0)
        memset(to, 0, (size_t)(s->rows * s->width * g->in_channels) * ITEM);
    if (first < end)
        turn(x + first * g->in_width, g->in_height * g->in_width, g->in_channels,
             (end - first) * g->in_width, put_source, &its);
}

typedef struct spread {
    float *to; /* of the part's first channel and pixel */
    int64_t pixels;
} spread;

/* Rows are pixels, columns channels. */
static void put_results(const void *argument, const block *its)
{
    const spread *self = argument;
    const float *values = its->values;
    for (int64_t j = its->column; j < its->column + its->count; j++, values += its->rows)
        memcpy(self->to + j * self->pixels + its->row, values, (size_t)its->rows * ITEM);
}

/* ---- forward ---- */

static void copy_windows(const hki_conv2d_geometry *g, const source *s, const part *p,
                         const float *from, float *to)
{
    const int64_t row = window_row(g), channels = g->in_channels;
    const bool is_dense = g->dilation_width == 1;
    const int64_t run = is_dense ? g->kernel_width * channels : channels;
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < g->out_width; j++, to += row) {
            float *at = to;
            for (int64_t k = 0; k < g->kernel_height; k++) {
                const float *line =
                    from + ((i * g->stride_height + k * g->dilation_height) * s->width +
                            j * g->stride_width) *
                               channels;
                for (int64_t l = 0; l < (is_dense ? 1 : g->kernel_width); l++, at += run)
                    memcpy(at, line + l * g->dilation_width * channels, (size_t)run * ITEM);
            }
        }
}

static void run_part(const hki_conv2d_geometry *g, const part *p, const float *x,
                     const void *packed, const float *bias, float *y, char *scratch)
{
    const source s = source_of(g, p);
    const places bytes = places_of(g, p);
    float *padded = (float *)(void *)scratch;
    float *windows = (float *)(void *)(scratch + bytes.source);
    float *results = (float *)(void *)(scratch + bytes.source + bytes.windows);
    fill_source(g, &s, x, padded);
    if (is_pointwise(g))
        windows = padded;
    else
        copy_windows(g, &s, p, padded, windows);
    const hki_product product = {.m = p->rows * g->out_width,
                                 .n = p->channels,
                                 .k = terms_of(g),
                                 .a = windows,
                                 .lda = is_pointwise(g) ? g->in_channels : window_row(g),
                                 .packed = packed,
                                 .packed_columns = g->out_channels,
                                 .packed_first = p->channel,
                                 .bias = bias ? bias + p->channel : NULL,
                                 .c = results,
                                 .ldc = p->channels};
    hki_product_run(&product, scratch + bytes.source + bytes.windows + bytes.results);
    const spread its = {y + p->channel * pixels_of(g) + p->row * g->out_width, pixels_of(g)};
    turn(results, p->channels, product.m, p->channels, put_results, &its);
}

void hki_conv2d_rows(const hki_conv2d_geometry *g, const float *x, const void *packed,
                     const float *bias, float *y, int64_t begin, int64_t end, void *scratch)
{
    const int64_t units = units_of_sample(g);
    for (int64_t u = begin, count; u < end; u += count) {
        const int64_t sample = u / units, from = u % units;
        count = hki_min(end - u, units - from);
        const part p = part_of(g, from, from + count);
        run_part(g, &p, x + sample * g->in_channels * g->in_height * g->in_width, packed, bias,
                 y + sample * g->out_channels * pixels_of(g), scratch);
    }
}
