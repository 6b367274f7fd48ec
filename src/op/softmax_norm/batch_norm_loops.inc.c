/* The passes of batch normalisation, compiled once per instruction set and dtype. The includer defines
   NORM_T (element), NORM_TARGET (function attributes), NORM_FN(name), NORM_SPREAD (spread_f32 or spread_f64) and TILE.

   A tile is up to TILE neighbouring positions (channel, inner) of all samples. Loops run over the samples,
   inside along the tile, with one sum for each position: vectors whatever the size of `inner`. */

#define T NORM_T

/* sums[j] = the sum over samples of x at position j. */
NORM_TARGET static void NORM_FN(tile_sums)(const T *x, int64_t samples, int64_t stride,
                                           int64_t width, double *restrict sums)
{
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (int64_t n = 0; n < samples; n++, x += stride)
        for (int64_t j = 0; j < width; j++)
            sums[j] += (double)x[j];
}

/* The same of (x - mean)^2. */
NORM_TARGET static void NORM_FN(tile_squares)(const T *x, int64_t samples, int64_t stride,
                                              int64_t width, const double *restrict mean,
                                              double *restrict sums)
{
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (int64_t n = 0; n < samples; n++, x += stride) {
        for (int64_t j = 0; j < width; j++) {
            double distance = (double)x[j] - mean[j];
            sums[j] += distance * distance;
        }
    }
}

/* The same of dy, and of dy (x - mean). */
NORM_TARGET static void NORM_FN(tile_products)(const T *x, const T *dy, int64_t samples,
                                               int64_t stride, int64_t width,
                                               const double *restrict mean, double *restrict sums,
                                               double *restrict products)
{
    memset(sums, 0, (size_t)width * sizeof *sums);
    memset(products, 0, (size_t)width * sizeof *products);
    for (int64_t n = 0; n < samples; n++, x += stride, dy += stride) {
        for (int64_t j = 0; j < width; j++) {
            sums[j] += (double)dy[j];
            products[j] += (double)dy[j] * ((double)x[j] - mean[j]);
        }
    }
}

NORM_TARGET static void NORM_FN(tile_forward)(const T *x, T *restrict y, int64_t samples,
                                              int64_t stride, int64_t width, const T *restrict mean,
                                              const T *restrict scale, const T *restrict shift)
{
    for (int64_t n = 0; n < samples; n++, x += stride, y += stride)
        for (int64_t j = 0; j < width; j++)
            y[j] = (x[j] - mean[j]) * scale[j] + shift[j];
}

/* dx = scale dy + shift + slope (x - mean); x NULL: without the last two. */
NORM_TARGET static void NORM_FN(tile_backward)(const T *x, const T *dy, T *restrict dx,
                                               int64_t samples, int64_t stride, int64_t width,
                                               const T *restrict mean, const T *restrict scale,
                                               const T *restrict shift, const T *restrict slope)
{
    for (int64_t n = 0; n < samples; n++, dy += stride, dx += stride) {
        if (!x) {
            for (int64_t j = 0; j < width; j++)
                dx[j] = scale[j] * dy[j];
            continue;
        }
        for (int64_t j = 0; j < width; j++)
            dx[j] = scale[j] * dy[j] + shift[j] + slope[j] * (x[j] - mean[j]);
        x += stride;
    }
}

/* Channels [c0, c1), TILE positions or one channel. */
static void NORM_FN(forward_block)(const hki_batch_norm_shape *shape, double eps, const T *x,
                                   const T *gamma, const T *beta, const T *given_mean,
                                   const T *given_variance, T *y, T *statistics, int64_t c0,
                                   int64_t c1)
{
    const int64_t inner = shape->inner, stride = shape->channels * inner;
    const int64_t samples = shape->samples, positions = (c1 - c0) * inner, block = c1 - c0;
    const double count = (double)(samples * inner);
    double mean[TILE], variance[TILE], scale[TILE], shift[TILE], sums[TILE], wide_mean[TILE];
    T mean_at[TILE], scale_at[TILE], shift_at[TILE];
    x += c0 * inner;
    y += c0 * inner;
    for (int64_t c = 0; c < block; c++) {
        mean[c] = given_mean ? (double)given_mean[c0 + c] : 0;
        variance[c] = given_mean ? (double)given_variance[c0 + c] : 0;
    }
    for (int64_t p = 0, end; !given_mean && p < positions; p = end) {
        end = tile_end(p, positions, TILE);
        NORM_FN(tile_sums)(x + p, samples, stride, end - p, sums);
        fold(sums, inner, p, end, mean);
    }
    for (int64_t c = 0; !given_mean && c < block; c++)
        mean[c] /= count;
    for (int64_t p = 0, end; !given_mean && p < positions; p = end) {
        end = tile_end(p, positions, TILE);
        spread_f64(mean, inner, p, end, wide_mean);
        NORM_FN(tile_squares)(x + p, samples, stride, end - p, wide_mean, sums);
        fold(sums, inner, p, end, variance);
    }
    for (int64_t c = 0; c < block; c++) {
        variance[c] /= given_mean ? 1 : count;
        double inverse = 1 / sqrt(variance[c] + eps);
        scale[c] = (double)gamma[c0 + c] * inverse;
        const double rest = mean[c] - (double)(T)mean[c];
        shift[c] = (double)beta[c0 + c] - rest * scale[c];
        statistics[c0 + c] = (T)mean[c];
        statistics[shape->channels + c0 + c] = (T)inverse;
        statistics[2 * shape->channels + c0 + c] = (T)variance[c];
        statistics[3 * shape->channels + c0 + c] = (T)rest;
    }
    for (int64_t p = 0, end; p < positions; p = end) {
        end = tile_end(p, positions, TILE);
        NORM_SPREAD(mean, inner, p, end, mean_at);
        NORM_SPREAD(scale, inner, p, end, scale_at);
        NORM_SPREAD(shift, inner, p, end, shift_at);
        NORM_FN(tile_forward)
        (x + p, y + p, samples, stride, end - p, mean_at, scale_at, shift_at);
    }
}

static void NORM_FN(backward_block)(const hki_batch_norm_shape *shape, bool given, const T *x,
                                    const T *dy, const T *gamma, const T *statistics, T *dx,
                                    T *gradients, int64_t c0, int64_t c1)
{
    const int64_t inner = shape->inner, stride = shape->channels * inner;
    const int64_t samples = shape->samples, positions = (c1 - c0) * inner, block = c1 - c0;
    const double count = (double)(samples * inner);
    double mean[TILE], sum[TILE] = {0}, product[TILE] = {0};
    double sums[TILE], products[TILE], wide_mean[TILE];
    double scale[TILE], shift[TILE], slope[TILE], centre[TILE];
    T mean_at[TILE], scale_at[TILE], shift_at[TILE], slope_at[TILE];
    x += c0 * inner;
    dy += c0 * inner;
    dx += c0 * inner;
    for (int64_t c = 0; c < block; c++) {
        centre[c] = (double)statistics[c0 + c];
        mean[c] = centre[c] + (double)statistics[3 * shape->channels + c0 + c];
    }
    for (int64_t p = 0, end; p < positions; p = end) {
        end = tile_end(p, positions, TILE);
        spread_f64(mean, inner, p, end, wide_mean);
        NORM_FN(tile_products)
        (x + p, dy + p, samples, stride, end - p, wide_mean, sums, products);
        fold(sums, inner, p, end, sum);
        fold(products, inner, p, end, product);
    }
    for (int64_t c = 0; c < block; c++) {
        double inverse = (double)statistics[shape->channels + c0 + c];
        scale[c] = (double)gamma[c0 + c] * inverse;
        slope[c] = -scale[c] * inverse * inverse * product[c] / count;
        shift[c] = -scale[c] * sum[c] / count - slope[c] * (mean[c] - centre[c]);
        gradients[c0 + c] = (T)(product[c] * inverse);
        gradients[shape->channels + c0 + c] = (T)sum[c];
    }
    for (int64_t p = 0, end; p < positions; p = end) {
        end = tile_end(p, positions, TILE);
        NORM_SPREAD(centre, inner, p, end, mean_at);
        NORM_SPREAD(scale, inner, p, end, scale_at);
        NORM_SPREAD(shift, inner, p, end, shift_at);
        NORM_SPREAD(slope, inner, p, end, slope_at);
        NORM_FN(tile_backward)
        (given ? NULL : x + p, dy + p, dx + p, samples, stride, end - p, mean_at, scale_at,
         shift_at, slope_at);
    }
}

#undef T
