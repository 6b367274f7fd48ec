#include "op/kernels/conv2d/conv2d_columns.h"

#include "base/integer.h"
#include "op/kernels/conv2d/conv2d_plan.h"
#include "op/kernels/gemm/gemm_kernel.h"

#include <string.h>

enum {
    MATRIX_BYTES = 512 * 1024, /* of windows: an L2 has room for it and for weights */
    PART_CHANNELS = 32,        /* output channels of a unit, at most */
    CHUNK_BYTES = 64           /* copied at once, past the end of a row if need be */
};

static int64_t window_elements(const hki_conv2d_geometry *g)
{
    return g->in_channels * g->kernel_height * g->kernel_width;
}

/* A sample with its padding, and the windows beside it; each with room for a chunk past the end. */
static int64_t padded_elements(const hki_conv2d_geometry *g, int64_t chunk)
{
    int64_t plane = (g->in_height + 2 * g->pad_height) * (g->in_width + 2 * g->pad_width);
    return (g->in_channels * plane + chunk) / chunk * chunk + chunk;
}

static int64_t matrix_elements(const hki_conv2d_geometry *g, int64_t chunk)
{
    return window_elements(g) * g->out_height * g->out_width + chunk;
}

bool hki_conv2d_columns_fit(const hki_conv2d_geometry *g, bool f64)
{
    const int64_t element = f64 ? 8 : 4, chunk = CHUNK_BYTES / element;
    if (matrix_elements(g, chunk) * element > MATRIX_BYTES ||
        padded_elements(g, chunk) * element > MATRIX_BYTES)
        return false;
    /* With two samples their strips fill the lanes well enough; long rows are convolved as they are. */
    bool pays = g->samples == 1 && g->out_width < chunk;
    return g->method == HKI_CONV2D_COLUMNS || (g->method == HKI_CONV2D_BY_RULE && pays);
}

int64_t hki_conv2d_columns_parts(const hki_conv2d_geometry *g)
{
    return hki_divide_up(g->out_channels, PART_CHANNELS);
}

size_t hki_conv2d_columns_scratch_bytes(const hki_conv2d_geometry *g, bool f64)
{
    const int64_t element = f64 ? 8 : 4, chunk = CHUNK_BYTES / element;
    return (size_t)((padded_elements(g, chunk) + matrix_elements(g, chunk)) * element);
}

#define COLUMNS(T, DT)                                                                               \
    static void pad_##DT(const hki_conv2d_geometry *g, const T *x, T *to)                            \
    {                                                                                                \
        const int64_t width = g->in_width + 2 * g->pad_width;                                        \
        const int64_t height = g->in_height + 2 * g->pad_height;                                     \
        const int64_t chunk = CHUNK_BYTES / (int64_t)sizeof(T);                                      \
        memset(to, 0, (size_t)padded_elements(g, chunk) * sizeof(T));                                \
        for (int64_t c = 0; c < g->in_channels; c++)                                                 \
            for (int64_t r = 0; r < g->in_height; r++, x += g->in_width)                             \
                memcpy(to + (c * height + r + g->pad_height) * width + g->pad_width, x,              \
                       (size_t)g->in_width * sizeof(T));                                             \
    }                                                                                                \
    /* [channel, kernel row, kernel column][result row, result column]. A row of results is        \
       shorter than a chunk; what a copy writes past it, the next one overwrites. */ \
    static void windows_##DT(const hki_conv2d_geometry *g, const T *x, T *to)                        \
    {                                                                                                \
        const int64_t width = g->in_width + 2 * g->pad_width;                                        \
        const int64_t height = g->in_height + 2 * g->pad_height;                                     \
        const int64_t kernel = g->kernel_height * g->kernel_width;                                   \
        const bool narrow = g->out_width * (int64_t)sizeof(T) <= CHUNK_BYTES / 4 * 3;                \
        for (int64_t k = 0; k < g->in_channels * kernel; k++) {                                      \
            const int64_t row = k % kernel / g->kernel_width * g->dilation_height;                   \
            const int64_t column = k % g->kernel_width * g->dilation_width;                          \
            const T *from = x + (k / kernel * height + row) * width + column;                        \
            for (int64_t i = 0; i < g->out_height; i++) {                                            \
                if (g->stride_width > 1)                                                             \
                    for (int64_t j = 0; j < g->out_width; j++)                                       \
                        to[j] = from[j * g->stride_width];                                           \
                else if (narrow)                                                                     \
                    memcpy(to, from, CHUNK_BYTES / 4 * 3);                                           \
                else                                                                                 \
                    memcpy(to, from, CHUNK_BYTES);                                                   \
                from += g->stride_height * width;                                                    \
                to += g->out_width;                                                                  \
            }                                                                                        \
        }                                                                                            \
    }                                                                                                \
    bool hki_conv2d_columns_##DT(const hki_conv2d_geometry *g, const T *x, const T *weight,          \
                                 const T *bias, T *y, int64_t begin, int64_t end, void *scratch)     \
    {                                                                                                \
        const int64_t parts = hki_conv2d_columns_parts(g), pixels = g->out_height * g->out_width;    \
        const int64_t sample = g->in_channels * g->in_height * g->in_width;                          \
        const int64_t window = window_elements(g), chunk = CHUNK_BYTES / (int64_t)sizeof(T);         \
        T *padded = scratch, *matrix = padded + padded_elements(g, chunk);                           \
        bool done = true;                                                                            \
        for (int64_t u = begin; u < end && done; u++) {                                              \
            const int64_t n = u / parts, part = u % parts;                                           \
            const int64_t first = hki_conv2d_part_begin(g->out_channels, PART_CHANNELS, part);       \
            const int64_t last = hki_conv2d_part_begin(g->out_channels, PART_CHANNELS, part + 1);    \
            T *to = y + (n * g->out_channels + first) * pixels;                                      \
            if (u == begin || part == 0) {                                                           \
                pad_##DT(g, x + n * sample, padded);                                                 \
                windows_##DT(g, padded, matrix);                                                     \
            }                                                                                        \
            for (int64_t o = first; bias && o < last; o++)                                           \
                for (int64_t i = 0; i < pixels; i++)                                                 \
                    to[(o - first) * pixels + i] = bias[o];                                          \
            done = hki_gemm_##DT(false, false, last - first, pixels, window, 1,                      \
                                 weight + first * window, window, matrix, pixels, bias != NULL,      \
                                 to, pixels);                                                        \
        }                                                                                            \
        return done;                                                                                 \
    }

COLUMNS(float, f32)
COLUMNS(double, f64)
