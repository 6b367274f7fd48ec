#include "op/conv/conv2d_columns.h"

#include "base/integer.h"
#include "base/sync.h"
#include "op/conv/conv2d_plan.h"
#include "op/matmul/product_kernel.h"

#include <string.h>

enum {
    PART_CHANNELS = 64, /* output channels of a unit, at most */
    PART_PIXELS = 128,  /* results of a unit: whole panels */
    MANY_PIXELS = 512,
    LEAST_PRODUCTS =
        8192, /* of a pixel; MOST_CHANNELS count, then copying the windows costs little */
    MOST_CHANNELS = 96,
    LONG_ROW_BYTES = 64, /* shorter ones fill the lanes badly otherwise */
    MAX_ELEMENTS = 1 << 30
};

/* ---- what follows from the geometry ---- */

static int64_t window_elements(const hki_conv2d_geometry *g)
{
    return g->in_channels * g->kernel_height * g->kernel_width;
}

static int64_t pixels_of(const hki_conv2d_geometry *g)
{
    return g->out_height * g->out_width;
}

static bool is_cut_by_pixels(const hki_conv2d_geometry *g)
{
    return pixels_of(g) >= MANY_PIXELS;
}

static int64_t parts_of(const hki_conv2d_geometry *g)
{
    return is_cut_by_pixels(g) ? hki_divide_up(pixels_of(g), PART_PIXELS)
                               : hki_divide_up(g->out_channels, PART_CHANNELS);
}

/* Offsets are of 32 bits. */
static bool is_possible(const hki_conv2d_geometry *g)
{
    const int64_t height = g->in_height + 2 * g->pad_height;
    const int64_t width = g->in_width + 2 * g->pad_width + g->stride_width;
    return height <= MAX_ELEMENTS / width && height * width <= MAX_ELEMENTS / g->in_channels &&
           window_elements(g) <= MAX_ELEMENTS;
}

static bool pays(const hki_conv2d_geometry *g, bool f64)
{
    const int64_t item = f64 ? sizeof(double) : sizeof(float);
    return g->samples == 1 &&
           (g->out_width * item < LONG_ROW_BYTES ||
            window_elements(g) * hki_min(g->out_channels, MOST_CHANNELS) >= LEAST_PRODUCTS);
}

bool hki_conv2d_columns_fit(const hki_conv2d_geometry *g, bool f64)
{
    if (g->method == HKI_CONV2D_COLUMNS)
        return is_possible(g);
    return g->method == HKI_CONV2D_BY_RULE && pays(g, f64) && is_possible(g) &&
           !hki_conv2d_is_winograd(g, HKI_CONV2D_FORWARD, f64);
}

int64_t hki_conv2d_columns_units(const hki_conv2d_geometry *g)
{
    return g->samples * parts_of(g);
}

/* ---- the source ---- */

/* Where the windows of some rows of results find their elements: [channel][row][part][column], so that neighbours in a row
 * of results lie side by side. Column i of the padded source is element i / stride of the part i % stride; parts that no
 * window has are left out. */
typedef struct source {
    int64_t top, rows, down; /* of the padded source; down: that a window spans */
    int64_t parts, part;
    bool in_place; /* x itself is that */
} source;

/* Rows of results from `first` on. */
static source source_of(const hki_conv2d_geometry *g, int64_t first, int64_t count)
{
    const int64_t down = (g->kernel_height - 1) * g->dilation_height + 1;
    const int64_t across = (g->kernel_width - 1) * g->dilation_width + 1;
    source s = {.top = first * g->stride_height,
                .rows = (count - 1) * g->stride_height + down,
                .down = down,
                .parts = hki_min(g->stride_width, across),
                .part = g->out_width - 1 + hki_divide_up(across, g->stride_width)};
    s.in_place = g->pad_height == 0 && g->pad_width == 0 && g->stride_width == 1;
    if (s.in_place)
        s.part = g->in_width;
    return s;
}

/* Rows of results that so many units touch, at most. */
static int64_t rows_of_units(const hki_conv2d_geometry *g, int64_t units)
{
    return is_cut_by_pixels(g)
               ? hki_min(g->out_height, hki_divide_up(units * PART_PIXELS, g->out_width) + 1)
               : g->out_height;
}

/* With room for a vector that begins at the last element. */
static size_t source_bytes(const hki_conv2d_geometry *g, const source *s, size_t item)
{
    return s->in_place
               ? 0
               : hki_round_up_bytes((size_t)(g->in_channels * s->rows * s->parts * s->part) * item +
                                        HKI_CACHE_LINE,
                                    HKI_CACHE_LINE);
}

#define FILL(T, DT)                                                                                \
    /* A row of x to its parts. */                                                                 \
    static void fill_row_##DT(const hki_conv2d_geometry *g, const source *s, const T *from, T *to) \
    {                                                                                              \
        for (int64_t p = 0; p < s->parts; p++, to += s->part) {                                    \
            const int64_t step = g->stride_width, shift = p - g->pad_width;                        \
            const int64_t begin = shift < 0 ? hki_divide_up(-shift, step) : 0;                     \
            const int64_t there = hki_divide_up(hki_max(g->in_width - shift, 0), step);            \
            const int64_t end = hki_min(s->part, there);                                           \
            if (step == 1 && begin < end)                                                          \
                memcpy(to + begin, from + begin + shift, (size_t)(end - begin) * sizeof(T));       \
            for (int64_t i = begin; step > 1 && i < end; i++)                                      \
                to[i] = from[i * step + shift];                                                    \
        }                                                                                          \
    }                                                                                              \
    /* Rows that are padding, and those that no window has, stay zeros. */                         \
    static void fill_##DT(const hki_conv2d_geometry *g, const source *s, const T *x, T *to)        \
    {                                                                                              \
        const int64_t row = s->parts * s->part;                                                    \
        memset(to, 0, (size_t)(g->in_channels * s->rows * row) * sizeof(T));                       \
        for (int64_t c = 0; c < g->in_channels; c++, x += g->in_height * g->in_width)              \
            for (int64_t i = 0; i < s->rows; i++, to += row) {                                     \
                const int64_t r = s->top + i - g->pad_height;                                      \
                if (r >= 0 && r < g->in_height && i % g->stride_height < s->down)                  \
                    fill_row_##DT(g, s, x + r * g->in_width, to);                                  \
            }                                                                                      \
    }

FILL(float, f32)
FILL(double, f64)

static void terms_fill(const hki_conv2d_geometry *g, const source *s, int32_t *terms)
{
    const int64_t row = s->parts * s->part;
    const int64_t channel = s->in_place ? g->in_height * g->in_width : s->rows * row;
    for (int64_t c = 0; c < g->in_channels; c++)
        for (int64_t i = 0; i < g->kernel_height; i++)
            for (int64_t j = 0; j < g->kernel_width; j++) {
                const int64_t column = j * g->dilation_width;
                *terms++ = (int32_t)(c * channel + i * g->dilation_height * row +
                                     column % g->stride_width * s->part + column / g->stride_width);
            }
}

/* ---- forward ---- */

static size_t terms_bytes(const hki_conv2d_geometry *g)
{
    return hki_round_up_bytes((size_t)window_elements(g) * sizeof(int32_t), HKI_CACHE_LINE);
}

size_t hki_conv2d_columns_scratch_bytes(const hki_conv2d_geometry *g, bool f64, int64_t units)
{
    const hki_product_windows windows = {0};
    const hki_product product = {.f64 = f64,
                                 .m = g->out_channels,
                                 .n = pixels_of(g),
                                 .k = window_elements(g),
                                 .lda = window_elements(g),
                                 .windows = &windows};
    const source s = source_of(g, 0, rows_of_units(g, units));
    return terms_bytes(g) + source_bytes(g, &s, f64 ? sizeof(double) : sizeof(float)) +
           hki_product_scratch_bytes(&product);
}

/* A sample's arrays, and a part of its results. */
typedef struct part {
    const char *x, *weight, *bias;
    char *y;
    int64_t channel_begin, channel_end, pixel_begin, pixel_end;
} part;

static void run_part(const hki_conv2d_geometry *g, bool f64, const part *p, char *scratch)
{
    const size_t item = f64 ? sizeof(double) : sizeof(float);
    const int64_t first = p->pixel_begin / g->out_width;
    const source s = source_of(g, first, (p->pixel_end - 1) / g->out_width + 1 - first);
    int32_t *terms = (int32_t *)(void *)scratch;
    char *padded = scratch + terms_bytes(g), *room = padded + source_bytes(g, &s, item);
    char *y = p->y + (size_t)(p->channel_begin * pixels_of(g) + p->pixel_begin) * item;
    hki_product_windows windows = {.x = padded,
                                   .elements = (room - padded) / (int64_t)item,
                                   .terms = terms,
                                   .first = p->pixel_begin % g->out_width,
                                   .width = g->out_width,
                                   .row = g->stride_height * s.parts * s.part};
    const hki_product product = {
        .f64 = f64,
        .m = p->channel_end - p->channel_begin,
        .n = p->pixel_end - p->pixel_begin,
        .k = window_elements(g),
        .a = p->weight + (size_t)(p->channel_begin * window_elements(g)) * item,
        .lda = window_elements(g),
        .windows = &windows,
        .starts = p->bias ? p->bias + (size_t)p->channel_begin * item : NULL,
        .c = y,
        .ldc = pixels_of(g)};
    if (windows.row == windows.width) /* rows of windows of one element: all lie side by side */
        windows.width = pixels_of(g);
    terms_fill(g, &s, terms);
    if (s.in_place) {
        windows.x = p->x + (size_t)(s.top * g->in_width) * item;
        windows.elements = g->in_channels * g->in_height * g->in_width - s.top * g->in_width;
    } else if (f64) {
        fill_f64(g, &s, (const double *)(const void *)p->x, (double *)(void *)padded);
    } else {
        fill_f32(g, &s, (const float *)(const void *)p->x, (float *)(void *)padded);
    }
    hki_product_run(&product, room);
}

/* Parts [begin, end) of a sample. */
static part part_make(const hki_conv2d_geometry *g, int64_t begin, int64_t end)
{
    if (is_cut_by_pixels(g))
        return (part){.channel_end = g->out_channels,
                      .pixel_begin = begin * PART_PIXELS,
                      .pixel_end = hki_min(end * PART_PIXELS, pixels_of(g))};
    return (part){.channel_begin = hki_conv2d_part_begin(g->out_channels, PART_CHANNELS, begin),
                  .channel_end = hki_conv2d_part_begin(g->out_channels, PART_CHANNELS, end),
                  .pixel_end = pixels_of(g)};
}

void hki_conv2d_columns(const hki_conv2d_geometry *g, bool f64, const void *x, const void *weight,
                        const void *bias, void *y, int64_t begin, int64_t end, void *scratch)
{
    const size_t item = f64 ? sizeof(double) : sizeof(float);
    const int64_t parts = parts_of(g);
    for (int64_t u = begin, count; u < end; u += count) {
        const int64_t n = u / parts, from = u % parts;
        count = hki_min(end - u, parts - from);
        part p = part_make(g, from, from + count);
        p.x = (const char *)x + (size_t)(n * g->in_channels * g->in_height * g->in_width) * item;
        p.y = (char *)y + (size_t)(n * g->out_channels * pixels_of(g)) * item;
        p.weight = weight;
        p.bias = bias;
        run_part(g, f64, &p, scratch);
    }
}
