#include "op/conv/conv2d_pointwise.h"

#include "base/integer.h"
#include "base/sync.h"
#include "op/matmul/product_kernel.h"

#include <string.h>

enum {
    MANY_PIXELS = 128,  /* so many fill the panels of a product by themselves */
    GROUP_PIXELS = 256, /* of the samples that are taken together, else */
    GROUP_SAMPLES = 16,
    LEAST_CHANNELS = 16,
    LEAST_PRODUCTS = 2048,  /* of a pixel */
    MAX_ELEMENTS = 1 << 30, /* offsets are of 32 bits */
    SUMS = 16               /* of a bias, that go on beside each other */
};

/* ---- what follows from the geometry ---- */

static int64_t pixels_of(const hki_conv2d_geometry *g)
{
    return g->out_height * g->out_width;
}

/* Whether pixels of x are those of y, and lie as they do. */
static bool is_dense(const hki_conv2d_geometry *g)
{
    return g->stride_height == 1 && g->stride_width == 1;
}

int64_t hki_conv2d_pointwise_group(const hki_conv2d_geometry *g)
{
    const int64_t pixels = pixels_of(g);
    return pixels >= MANY_PIXELS ? 1 : hki_min(GROUP_SAMPLES, hki_divide_up(GROUP_PIXELS, pixels));
}

/* Few channels on either side do not pay for the copies. It must not depend on the number of samples, for each is to have the
 * same bytes in any batch. */
static bool pays(const hki_conv2d_geometry *g)
{
    return hki_min(g->in_channels, g->out_channels) >= LEAST_CHANNELS &&
           g->in_channels * g->out_channels >= LEAST_PRODUCTS;
}

bool hki_conv2d_pointwise_fits(const hki_conv2d_geometry *g)
{
    if (g->kernel_height * g->kernel_width != 1 || g->pad_height || g->pad_width)
        return false;
    if (g->method != HKI_CONV2D_POINTWISE && !(g->method == HKI_CONV2D_BY_RULE && pays(g)))
        return false;
    const int64_t channels = hki_max(g->in_channels, g->out_channels);
    return g->in_height * g->in_width <= MAX_ELEMENTS / channels / hki_conv2d_pointwise_group(g);
}

/* ---- one side: channels of an image, as rows of a matrix ---- */

/* Pixels [row][column] of an image, taken in steps; `channels` planes of them a sample. */
typedef struct side {
    int64_t channels, height, width;     /* of a plane */
    int64_t rows, columns, down, across; /* that are taken, and from one to the next */
} side;

static side side_of_x(const hki_conv2d_geometry *g)
{
    return (side){g->in_channels, g->in_height,     g->in_width,    g->out_height,
                  g->out_width,   g->stride_height, g->stride_width};
}

static side side_of_y(const hki_conv2d_geometry *g)
{
    return (side){g->out_channels, g->out_height, g->out_width, g->out_height, g->out_width, 1, 1};
}

static bool is_whole(const side *s)
{
    return s->down == 1 && s->across == 1;
}

static int64_t sample_elements(const side *s)
{
    return s->channels * s->height * s->width;
}

/* Between `samples` of an image and the matrix [channel][sample][pixel]; what is not taken of an image becomes zeros. */
#define MOVE(T, DT)                                                                                \
    static void to_matrix_##DT(const side *s, int64_t samples, const T *image, T *matrix)          \
    {                                                                                              \
        const int64_t pixels = s->rows * s->columns, row = samples * pixels;                       \
        for (int64_t n = 0; n < samples; n++, matrix += pixels)                                    \
            for (int64_t c = 0; c < s->channels; c++, image += s->height * s->width) {             \
                T *to = matrix + c * row;                                                          \
                if (is_whole(s)) {                                                                 \
                    memcpy(to, image, (size_t)pixels * sizeof(T));                                 \
                    continue;                                                                      \
                }                                                                                  \
                for (int64_t i = 0; i < s->rows; i++)                                              \
                    for (int64_t j = 0; j < s->columns; j++)                                       \
                        *to++ = image[i * s->down * s->width + j * s->across];                     \
            }                                                                                      \
    }                                                                                              \
    static void from_matrix_##DT(const side *s, int64_t samples, const T *matrix, T *image)        \
    {                                                                                              \
        const int64_t pixels = s->rows * s->columns, row = samples * pixels;                       \
        for (int64_t n = 0; n < samples; n++, matrix += pixels)                                    \
            for (int64_t c = 0; c < s->channels; c++, image += s->height * s->width) {             \
                const T *from = matrix + c * row;                                                  \
                if (is_whole(s)) {                                                                 \
                    memcpy(image, from, (size_t)pixels * sizeof(T));                               \
                    continue;                                                                      \
                }                                                                                  \
                memset(image, 0, (size_t)(s->height * s->width) * sizeof(T));                      \
                for (int64_t i = 0; i < s->rows; i++)                                              \
                    for (int64_t j = 0; j < s->columns; j++)                                       \
                        image[i * s->down * s->width + j * s->across] = *from++;                   \
            }                                                                                      \
    }                                                                                              \
    /* Adds the sum of each row. */                                                                \
    static void add_rows_##DT(int64_t rows, int64_t count, const T *matrix, T *sums)               \
    {                                                                                              \
        for (int64_t o = 0; o < rows; o++, matrix += count) {                                      \
            T part[SUMS] = {0};                                                                    \
            int64_t i = 0;                                                                         \
            for (; i + SUMS <= count; i += SUMS)                                                   \
                for (int j = 0; j < SUMS; j++)                                                     \
                    part[j] += matrix[i + j];                                                      \
            for (int j = 0; i + j < count; j++)                                                    \
                part[j] += matrix[i + j];                                                          \
            for (int width = SUMS / 2; width > 0; width /= 2)                                      \
                for (int j = 0; j < width; j++)                                                    \
                    part[j] += part[j + width];                                                    \
            sums[o] += part[0];                                                                    \
        }                                                                                          \
    }

MOVE(float, f32)
MOVE(double, f64)

#define BY_TYPE(name, f64, first, second, from, to)                                                \
    do {                                                                                           \
        if (f64)                                                                                   \
            name##_f64(first, second, (const double *)(from), (double *)(to));                     \
        else                                                                                       \
            name##_f32(first, second, (const float *)(from), (float *)(to));                       \
    } while (0)

/* ---- workspace ---- */

/* The parts of scratch; NULL where a pass has no need of one. */
typedef struct places {
    int32_t *terms;
    void *source, *target; /* as matrices, of a group */
    void *product;
    size_t bytes;
} places;

static void *take(char *scratch, size_t *at, int64_t bytes)
{
    void *here = scratch && bytes ? scratch + *at : NULL;
    *at += hki_round_up_bytes((size_t)bytes, HKI_CACHE_LINE);
    return here;
}

static hki_product product_of(const hki_conv2d_geometry *g, hki_conv2d_pass pass, bool f64)
{
    const int64_t columns = hki_conv2d_pointwise_group(g) * pixels_of(g);
    static const hki_product_windows some = {0};
    if (pass == HKI_CONV2D_BACKWARD_WEIGHT)
        return (hki_product){.f64 = f64,
                             .trans_b = true,
                             .m = g->out_channels,
                             .n = g->in_channels,
                             .k = columns,
                             .lda = columns,
                             .ldb = columns,
                             .ldc = g->in_channels};
    const bool forward = pass == HKI_CONV2D_FORWARD;
    return (hki_product){.f64 = f64,
                         .trans_a = !forward,
                         .windows = &some,
                         .m = forward ? g->out_channels : g->in_channels,
                         .n = columns,
                         .k = forward ? g->in_channels : g->out_channels,
                         .lda = g->in_channels,
                         .ldc = columns};
}

static places places_of(const hki_conv2d_geometry *g, hki_conv2d_pass pass, bool f64, void *scratch)
{
    const int64_t group = hki_conv2d_pointwise_group(g);
    const int64_t pixel = group * pixels_of(g) * (f64 ? 8 : 4); /* bytes of a row */
    const int64_t x = g->in_channels * pixel, y = g->out_channels * pixel;
    const hki_product product = product_of(g, pass, f64);
    const bool dense = is_dense(g), apart = group > 1;
    places at = {0};
    if (pass == HKI_CONV2D_FORWARD) {
        at.terms = take(scratch, &at.bytes, product.k * (int64_t)sizeof *at.terms);
        at.source = take(scratch, &at.bytes, dense ? 0 : x);
        at.target = take(scratch, &at.bytes, apart ? y : 0);
    } else if (pass == HKI_CONV2D_BACKWARD_DATA) {
        at.terms = take(scratch, &at.bytes, product.k * (int64_t)sizeof *at.terms);
        at.target = take(scratch, &at.bytes, apart || !dense ? x : 0);
    } else {
        at.source = take(scratch, &at.bytes, apart || !dense ? x : 0);
        at.target = take(scratch, &at.bytes, apart ? y : 0);
    }
    at.product = take(scratch, &at.bytes, (int64_t)hki_product_scratch_bytes(&product));
    return at;
}

size_t hki_conv2d_pointwise_scratch_bytes(const hki_conv2d_geometry *g, hki_conv2d_pass pass,
                                          bool f64)
{
    return places_of(g, pass, f64, NULL).bytes;
}

static const char *sample(const void *base, const side *s, int64_t n, bool f64)
{
    return (const char *)base + n * sample_elements(s) * (f64 ? 8 : 4);
}

/* ---- forward, and the gradient of x ---- */

/* The product of weights, which `p` has, with the pixels of `count` samples: of `from` as they lie, or of a copy. */
static void multiply(hki_product *p, const places *at, const side *from, const side *to,
                     int64_t count, const void *x, void *y)
{
    const int64_t pixels = from->rows * from->columns;
    hki_product_windows windows;
    p->n = p->ldc = count * pixels;
    p->windows = NULL;
    p->b = x;
    p->ldb = pixels;
    if (at->source) {
        BY_TYPE(to_matrix, p->f64, from, count, x, at->source);
        p->b = at->source;
        p->ldb = count * pixels;
    } else if (count > 1) {
        for (int64_t c = 0; c < from->channels; c++)
            at->terms[c] = (int32_t)(c * pixels);
        windows = (hki_product_windows){.x = x,
                                        .elements = count * from->channels * pixels,
                                        .terms = at->terms,
                                        .width = pixels,
                                        .row = from->channels * pixels};
        p->windows = &windows;
    }
    p->c = at->target ? at->target : y;
    hki_product_run(p, at->product);
    if (at->target)
        BY_TYPE(from_matrix, p->f64, to, count, at->target, y);
}

void hki_conv2d_pointwise_forward(const hki_conv2d_geometry *g, bool f64, const void *x,
                                  const void *weight, const void *bias, void *y, int64_t begin,
                                  int64_t end, void *scratch)
{
    const places at = places_of(g, HKI_CONV2D_FORWARD, f64, scratch);
    const side from = side_of_x(g), to = side_of_y(g);
    const int64_t group = hki_conv2d_pointwise_group(g);
    hki_product product = product_of(g, HKI_CONV2D_FORWARD, f64);
    product.a = weight;
    product.starts = bias;
    for (int64_t n = begin, count; n < end; n += count) {
        count = hki_min(group, end - n);
        multiply(&product, &at, &from, &to, count, sample(x, &from, n, f64),
                 (char *)y + n * sample_elements(&to) * (f64 ? 8 : 4));
    }
}

void hki_conv2d_pointwise_data(const hki_conv2d_geometry *g, bool f64, const void *dy,
                               const void *weight, void *dx, int64_t begin, int64_t end,
                               void *scratch)
{
    const places at = places_of(g, HKI_CONV2D_BACKWARD_DATA, f64, scratch);
    const side from = side_of_y(g), to = side_of_x(g);
    const int64_t group = hki_conv2d_pointwise_group(g);
    hki_product product = product_of(g, HKI_CONV2D_BACKWARD_DATA, f64);
    product.a = weight;
    for (int64_t n = begin, count; n < end; n += count) {
        count = hki_min(group, end - n);
        multiply(&product, &at, &from, &to, count, sample(dy, &from, n, f64),
                 (char *)dx + n * sample_elements(&to) * (f64 ? 8 : 4));
    }
}

/* ---- the gradients of weight and bias ---- */

void hki_conv2d_pointwise_weight(const hki_conv2d_geometry *g, bool f64, const void *x,
                                 const void *dy, void *dweight, void *dbias, int64_t begin,
                                 int64_t end, void *scratch)
{
    const places at = places_of(g, HKI_CONV2D_BACKWARD_WEIGHT, f64, scratch);
    const side of_x = side_of_x(g), of_y = side_of_y(g);
    const int64_t group = hki_conv2d_pointwise_group(g);
    const size_t item = f64 ? sizeof(double) : sizeof(float);
    hki_product product = product_of(g, HKI_CONV2D_BACKWARD_WEIGHT, f64);
    product.c = dweight;
    if (begin >= end)
        memset(dweight, 0, (size_t)(product.m * product.n) * item);
    if (dbias)
        memset(dbias, 0, (size_t)product.m * item);
    for (int64_t n = begin, count; n < end; n += count) {
        count = hki_min(group, end - n);
        product.a = sample(dy, &of_y, n, f64);
        product.b = sample(x, &of_x, n, f64);
        product.k = product.lda = product.ldb = count * pixels_of(g);
        product.adds = n > begin;
        if (at.source) {
            BY_TYPE(to_matrix, f64, &of_x, count, product.b, at.source);
            product.b = at.source;
        }
        if (at.target) {
            BY_TYPE(to_matrix, f64, &of_y, count, product.a, at.target);
            product.a = at.target;
        }
        hki_product_run(&product, at.product);
        if (dbias)
            BY_TYPE(add_rows, f64, product.m, product.k, product.a, dbias);
    }
}
