/* Winograd's F(m x m, r x r) for stride 1 and many channels: a tile of m x m results from n x n products in place of
   (m r)^2, n = m + r - 1: F(2x2, 3x3), F(4x4, 3x3) and F(2x2, 5x5). Lavin and Gray, "Fast Algorithms for Convolutional Neural
   Networks", 2015. On the arrays and helpers of conv2d_lanes.inc.c, which includes it.

       y = A^T [(G w G^T) * (B^T x B)] A      * by element, summed over channels: n^2 matrix products
       dw = G^T [(A dy A^T) * (B^T x B)] G    summed over tiles and samples

   A group of tiles is transformed to [n^2][channel][tile][lane]; the products run in the register tiles of
   the direct method (or, for the weights, in BLAS: there the lanes are summed over). */

#include "op/conv/conv2d_winograd_lines.inc.c"

enum { LANES_FN(winograd_n) = 6, LANES_FN(winograd_r) = 5 }; /* the largest */
#define N_MAX LANES_FN(winograd_n)
#define R_MAX LANES_FN(winograd_r)

/* F(n, m, ...) with the plan's n and m as constants. */
#define BY_TILE(plan, F, ...)                                                                      \
    do {                                                                                           \
        if (sizeof(T) != HKI_WINOGRAD_WIDE_BYTES || (plan)->tile_n == 4)                           \
            F(4, 2, __VA_ARGS__);                                                                  \
        else if ((plan)->tile_m == 4)                                                              \
            F(6, 4, __VA_ARGS__);                                                                  \
        else                                                                                       \
            F(6, 2, __VA_ARGS__);                                                                  \
    } while (0)

/* B^T x B of the n x n source of a tile. */
LANES_INLINE void LANES_FN(winograd_input)(const int n, const T *x, int64_t row_stride, T *to,
                                           int64_t to_stride)
{
    V d[N_MAX][N_MAX];
    UNROLL for (int j = 0; j < n; j++)
    {
        V column[N_MAX], line[N_MAX];
        UNROLL for (int i = 0; i < n; i++) column[i] = *(const V *)(x + i * row_stride + j * L);
        LANES_FN(winograd_line_input)(n, column, line);
        UNROLL for (int i = 0; i < n; i++) d[i][j] = line[i];
    }
    UNROLL for (int i = 0; i < n; i++)
    {
        V line[N_MAX];
        LANES_FN(winograd_line_input)(n, d[i], line);
        UNROLL for (int j = 0; j < n; j++) * (V *)(to + (n * i + j) * to_stride) = line[j];
    }
}

/* The values at n x n points of a polynomial of so many coefficients an axis: A dy A^T, and G w G^T but for factors. */
LANES_INLINE void LANES_FN(winograd_values)(const int n, const int length, const V *x, V *to)
{
    V d[N_MAX][R_MAX];
    UNROLL for (int j = 0; j < length; j++)
    {
        V column[R_MAX], line[N_MAX];
        UNROLL for (int i = 0; i < length; i++) column[i] = x[length * i + j];
        LANES_FN(winograd_line_values)(n, length, column, line);
        UNROLL for (int i = 0; i < n; i++) d[i][j] = line[i];
    }
    UNROLL for (int i = 0; i < n; i++) LANES_FN(winograd_line_values)(n, length, d[i], to + n * i);
}

/* The transposition: A^T m A, and G^T s G but for factors. s is [n x n], vectors `stride` elements apart. */
LANES_INLINE void LANES_FN(winograd_coefficients)(const int n, const int length, const T *s,
                                                  int64_t stride, V *to)
{
    V d[R_MAX][N_MAX];
    UNROLL for (int j = 0; j < n; j++)
    {
        V column[N_MAX], line[R_MAX];
        UNROLL for (int i = 0; i < n; i++) column[i] = *(const V *)(s + (n * i + j) * stride);
        LANES_FN(winograd_line_coefficients)(n, length, column, line);
        UNROLL for (int i = 0; i < length; i++) d[i][j] = line[i];
    }
    UNROLL for (int i = 0; i < length; i++)
        LANES_FN(winograd_line_coefficients)(n, length, d[i], to + length * i);
}

/* G w G^T of a tile of target channels and all source channels: [n^2][source channel][channel of the tile], parts weight_part
   apart. Lanes are weights one after the other in there; the last ones overlap those before. */
LANES_INLINE void LANES_FN(winograd_pack_tile)(const int n, const int m,
                                               const hki_conv2d_plan *plan, const T *weight, T *to)
{
    const int r = n + 1 - m;
    const bool flip = plan->row.backward;
    const int64_t tile_o = plan->tile_o, total = plan->source_channels * tile_o;
    for (int64_t e = 0; e < total; e += L) {
        const int64_t first = hki_min(e, total - L);
        _Alignas(64) T gathered[R_MAX * R_MAX * L];
        V g[R_MAX * R_MAX], values[N_MAX * N_MAX];
        for (int lane = 0; lane < L; lane++) {
            const int64_t c = (first + lane) / tile_o, o = (first + lane) % tile_o;
            const T *from =
                weight + c * plan->weight_source_stride + o * plan->weight_target_stride;
            for (int k = 0; k < r * r; k++)
                gathered[k * L + lane] = from[flip ? r * r - 1 - k : k];
        }
        UNROLL for (int k = 0; k < r * r; k++) g[k] = *(const V *)(gathered + k * L);
        LANES_FN(winograd_values)(n, r, g, values);
        UNROLL for (int i = 0; i < n; i++)
        {
            UNROLL for (int j = 0; j < n; j++)
            {
                const T factor =
                    LANES_FN(winograd_weight_factor)(n, i) * LANES_FN(winograd_weight_factor)(n, j);
                *(VU *)(to + (n * i + j) * plan->weight_part + first) = factor * values[n * i + j];
            }
        }
    }
}

/* Of target channels [o0, o1): [n^2][channel tile][source channel][channel of the tile] */
LANES_TARGET static void LANES_FN(winograd_pack)(const hki_conv2d_plan *plan, const T *weight,
                                                 int64_t o0, int64_t o1, T *packed)
{
    for (int64_t o = o0; o < o1; o += plan->tile_o) {
        const T *from = weight + o * plan->weight_target_stride;
        T *to = packed + (o - o0) * plan->source_channels;
        BY_TILE(plan, LANES_FN(winograd_pack_tile), plan, from, to);
    }
}

/* Source rows of tile rows [t0, t1), with zeros outside of the image. */
static void LANES_FN(winograd_load)(const hki_conv2d_plan *plan, LANES_FN(band) * band,
                                    const LANES_FN(block) * block, int64_t t0, int64_t t1, T *x)
{
    const int64_t low = plan->tile_m * t0 + plan->row.offset_min;
    const int64_t high = plan->tile_m * (t1 - 1) + plan->tile_n + plan->row.offset_min;
    /* of these, the ones within it: [first, last), which may be none at either end */
    const int64_t first = low >= 0 ? low : high < 0 ? high : 0;
    const int64_t last = band->height < first ? first : high < band->height ? high : band->height;
    const size_t row = (size_t)band->row_stride * sizeof(T);
    band->out = x + (first - low) * band->row_stride;
    memset(x, 0, (size_t)(first - low) * row);
    memset(x + (last - low) * band->row_stride, 0, (size_t)(high - last) * row);
    if (first < last)
        LANES_FN(load_band)(band, block, 0, plan->source_channels, first, last);
}

/* B^T x B of tiles [first, first + count), counted from the band's first, of all source channels. */
LANES_INLINE void LANES_FN(winograd_transform_tiles)(const int n, const int m,
                                                     const hki_conv2d_plan *plan, const T *x,
                                                     int64_t first, int64_t count, T *to)
{
    const int64_t row_stride = plan->source_channels * plan->positions * L;
    const int64_t channel = plan->group * L;
    const int64_t left = plan->left + plan->column.offset_min;
    for (int64_t c = 0; c < plan->source_channels; c++) {
        for (int64_t t = 0; t < count; t++) {
            const int64_t row = m * ((first + t) / plan->tile_columns);
            const int64_t column = m * ((first + t) % plan->tile_columns) + left;
            LANES_FN(winograd_input)
            (n, x + row * row_stride + (c * plan->positions + column) * L, row_stride,
             to + c * channel + t * L, plan->source_part);
        }
    }
}

LANES_TARGET static void LANES_FN(winograd_transform)(const hki_conv2d_plan *plan, const T *x,
                                                      int64_t first, int64_t count, T *to)
{
    BY_TILE(plan, LANES_FN(winograd_transform_tiles), plan, x, first, count, to);
}

/* The results of these tiles, of channels [o0, o1), to y: [target channel][rows][column][lane]. */
LANES_INLINE void LANES_FN(winograd_results_tiles)(const int n, const int m,
                                                   const hki_conv2d_plan *plan, const T *sums,
                                                   const T *bias, int64_t channels, int64_t first,
                                                   int64_t count, int64_t rows, T *y)
{
    const int64_t width = plan->column.target, channel = plan->group * L;
    for (int64_t o = 0; o < channels; o++) {
        const T start = bias ? bias[o] : (T)0;
        for (int64_t t = 0; t < count; t++) {
            const int64_t row = m * ((first + t) / plan->tile_columns);
            const int64_t column = m * ((first + t) % plan->tile_columns);
            T *to = y + ((o * rows + row) * width + column) * L;
            V v[R_MAX * R_MAX];
            LANES_FN(winograd_coefficients)
            (n, m, sums + o * channel + t * L, plan->target_part, v);
            UNROLL for (int i = 0; i < m; i++)
            {
                UNROLL for (int j = 0; j < m; j++)
                {
                    if (j == 0 || column + j < width)
                        *(V *)(to + (i * width + j) * L) = v[m * i + j] + start;
                }
            }
        }
    }
}

LANES_TARGET static void LANES_FN(winograd_results)(const hki_conv2d_plan *plan, const T *sums,
                                                    const T *bias, int64_t channels, int64_t first,
                                                    int64_t count, int64_t rows, T *y)
{
    BY_TILE(plan, LANES_FN(winograd_results_tiles), plan, sums, bias, channels, first, count, rows,
            y);
}

/* sums = weights times transformed input, for each of the n x n elements and so many target channels. */
static void LANES_FN(winograd_multiply)(const hki_conv2d_plan *plan, const T *packed,
                                        const T *source, int64_t channels, int64_t count, T *sums)
{
    const int64_t channel = plan->group * L, inputs = plan->source_channels;
    const int64_t row_offset[1] = {0};
    LANES_FN(tile)
    tile = {.row_offset = row_offset,
            .col_offset = plan->channel_offset,
            .rows = 1,
            .channels = 1,
            .cols = inputs,
            .x_pixel_stride = L,
            .y_channel_stride = channel,
            .y_pixel_stride = L};
    for (int64_t part = 0; part < plan->tile_n * plan->tile_n; part++) {
        const T *x = source + part * plan->source_part;
        for (int64_t o = 0; o < channels; o += plan->tile_o) {
            tile.weight = packed + part * plan->weight_part + o * inputs;
            for (int64_t t = 0, end, i = 0; t < count; t = end, i++) {
                end = hki_conv2d_part_begin(count, plan->tile_w, i + 1);
                tile.x = x + t * L;
                tile.y = sums + part * plan->target_part + o * channel + t * L;
                LANES_FN(tile_table)[plan->tile_o][end - t](&tile);
            }
        }
    }
}

/* The channels [*o0, *o1) of the plan's parts that come at the `chunk`th time; false: there are no more. */
static bool LANES_FN(winograd_chunk)(const hki_conv2d_plan *plan, int64_t chunk, int64_t *o0,
                                     int64_t *o1)
{
    const int64_t begin = hki_conv2d_part_channel(plan, plan->part_begin);
    const int64_t end = hki_conv2d_part_channel(plan, plan->part_end);
    *o0 = begin + chunk * plan->target_chunk;
    *o1 = hki_min(end, *o0 + plan->target_chunk);
    return *o0 < end;
}

/* Target channels [o0, o1) of a block of samples. */
static void LANES_FN(winograd_block)(const hki_conv2d_plan *plan, LANES_FN(band) * band,
                                     const LANES_FN(block) * block, const T *bias, int64_t o0,
                                     int64_t o1, T *target, char *scratch)
{
    T *packed = (T *)(scratch + plan->packed_at), *x = (T *)(scratch + plan->source_at);
    T *source = (T *)(scratch + plan->winograd_source_at), *y = (T *)(scratch + plan->target_at);
    T *sums = (T *)(scratch + plan->winograd_sums_at);
    for (int64_t t0 = 0; t0 < plan->tile_rows; t0 += plan->band_t) {
        const int64_t t1 = hki_min(t0 + plan->band_t, plan->tile_rows);
        const int64_t tiles = (t1 - t0) * plan->tile_columns, rows = plan->tile_m * (t1 - t0);
        LANES_FN(winograd_load)(plan, band, block, t0, t1, x);
        for (int64_t at = 0, count; at < tiles; at += count) {
            count = hki_min(tiles - at, plan->group);
            LANES_FN(winograd_transform)(plan, x, at, count, source);
            LANES_FN(winograd_multiply)(plan, packed, source, o1 - o0, count, sums);
            LANES_FN(winograd_results)
            (plan, sums, bias ? bias + o0 : NULL, o1 - o0, at, count, rows, y);
        }
        LANES_FN(store_rows)(plan, block, y, rows, o0, o1, plan->tile_m * t0, target);
    }
}

static void LANES_FN(winograd_apply)(const hki_conv2d_plan *plan, LANES_FN(band) * band,
                                     const T *weight, const T *bias, T *target, int64_t begin,
                                     int64_t end, char *scratch)
{
    T *packed = (T *)(scratch + plan->packed_at);
    for (int64_t chunk = 0, o0, o1; LANES_FN(winograd_chunk)(plan, chunk, &o0, &o1); chunk++) {
        LANES_FN(winograd_pack)(plan, weight, o0, o1, packed);
        for (int64_t first = begin; first < end; first += L) {
            LANES_FN(block) block;
            LANES_FN(block_init)(&block, 1, first, end, 0);
            LANES_FN(winograd_block)(plan, band, &block, bias, o0, o1, target, scratch);
        }
    }
}

/* A dy A^T of these tiles, of so many target channels; dy is the band's, [channel][rows][column][lane]. */
LANES_INLINE void LANES_FN(winograd_gradients_tiles)(const int n, const int m,
                                                     const hki_conv2d_plan *plan, const T *dy,
                                                     int64_t channels, int64_t first, int64_t count,
                                                     int64_t rows, T *to)
{
    const int64_t width = plan->column.target, channel = plan->group * L;
    for (int64_t o = 0; o < channels; o++) {
        for (int64_t t = 0; t < count; t++) {
            const int64_t row = m * ((first + t) / plan->tile_columns);
            const int64_t column = m * ((first + t) % plan->tile_columns);
            const T *from = dy + ((o * rows + row) * width + column) * L;
            V v[R_MAX * R_MAX], values[N_MAX * N_MAX];
            UNROLL for (int i = 0; i < m; i++)
            {
                UNROLL for (int j = 0; j < m; j++)
                {
                    v[m * i + j] = (V){0};
                    if (row + i < rows && column + j < width)
                        v[m * i + j] = *(const V *)(from + (i * width + j) * L);
                }
            }
            LANES_FN(winograd_values)(n, m, v, values);
            UNROLL for (int k = 0; k < n * n; k++) *
                (V *)(to + o * channel + t * L + k * plan->target_part) = values[k];
        }
    }
}

LANES_TARGET static void LANES_FN(winograd_gradients)(const hki_conv2d_plan *plan, const T *dy,
                                                      int64_t channels, int64_t first,
                                                      int64_t count, int64_t rows, T *to)
{
    BY_TILE(plan, LANES_FN(winograd_gradients_tiles), plan, dy, channels, first, count, rows, to);
}

/* dweight = G^T s G. */
LANES_INLINE void LANES_FN(winograd_weights_tiles)(const int n, const int m,
                                                   const hki_conv2d_plan *plan, int64_t weights,
                                                   const T *s, T *dweight)
{
    const int r = n + 1 - m;
    for (int64_t e = 0; e < weights; e += L) {
        const int64_t first = hki_min(e, weights - L); /* the last ones overlap those before */
        V v[N_MAX * N_MAX], w[R_MAX * R_MAX];
        UNROLL for (int i = 0; i < n; i++)
        {
            UNROLL for (int j = 0; j < n; j++)
            {
                const T factor =
                    LANES_FN(winograd_weight_factor)(n, i) * LANES_FN(winograd_weight_factor)(n, j);
                v[n * i + j] = factor * *(const VU *)(s + (n * i + j) * plan->weight_part + first);
            }
        }
        LANES_FN(winograd_coefficients)(n, r, (const T *)v, L, w);
        for (int64_t lane = 0; lane < L; lane++)
            for (int k = 0; k < r * r; k++)
                dweight[(first + lane) * r * r + k] = w[k][lane];
    }
}

LANES_TARGET static void LANES_FN(winograd_weights)(const hki_conv2d_plan *plan, int64_t weights,
                                                    const T *s, T *dweight)
{
    BY_TILE(plan, LANES_FN(winograd_weights_tiles), plan, weights, s, dweight);
}

/* Those of target channels [o0, o1). False, with nothing promised of the results, where BLAS has no memory. */
static bool LANES_FN(winograd_weigh_chunk)(const hki_conv2d_plan *plan, LANES_FN(band) * band,
                                           LANES_FN(band) * dy_band, int64_t o0, int64_t o1,
                                           T *dweight, T *dbias, int64_t begin, int64_t end,
                                           char *scratch)
{
    T *x = (T *)(scratch + plan->source_at), *dy = (T *)(scratch + plan->target_at);
    T *source = (T *)(scratch + plan->winograd_source_at);
    T *gradient = (T *)(scratch + plan->winograd_sums_at);
    T *sums = (T *)(scratch + plan->packed_at);
    const int64_t inputs = plan->source_channels, channel = plan->group * L;
    const int64_t kernel = plan->row.kernel * plan->column.kernel;
    bool done = true, begun = false;
    for (int64_t first = begin; first < end && done; first += L) {
        LANES_FN(block) block;
        LANES_FN(block_init)(&block, 1, first, end, 0);
        for (int64_t t0 = 0; t0 < plan->tile_rows; t0 += plan->band_t) {
            const int64_t t1 = hki_min(t0 + plan->band_t, plan->tile_rows);
            const int64_t row_begin = plan->tile_m * t0;
            const int64_t row_end = hki_min(plan->tile_m * t1, plan->row.target);
            const int64_t tiles = (t1 - t0) * plan->tile_columns, rows = row_end - row_begin;
            LANES_FN(winograd_load)(plan, band, &block, t0, t1, x);
            dy_band->channel_stride = rows * dy_band->row_stride;
            LANES_FN(load_band)(dy_band, &block, o0, o1, row_begin, row_end);
            for (int64_t o = o0; dbias && o < o1; o++)
                dbias[o] += LANES_FN(sum_pixels)(dy + (o - o0) * dy_band->channel_stride,
                                                 rows * plan->column.target);
            for (int64_t at = 0, count; at < tiles; at += count, begun = true) {
                count = hki_min(tiles - at, plan->group);
                LANES_FN(winograd_transform)(plan, x, at, count, source);
                LANES_FN(winograd_gradients)(plan, dy, o1 - o0, at, count, rows, gradient);
                for (int64_t part = 0; part < plan->tile_n * plan->tile_n && done; part++)
                    done = LANES_GEMM(false, true, o1 - o0, inputs, count * L, 1,
                                      gradient + part * plan->target_part, channel,
                                      source + part * plan->source_part, channel, begun,
                                      sums + part * plan->weight_part, inputs);
            }
        }
    }
    if (done)
        LANES_FN(winograd_weights)
    (plan, (o1 - o0) * inputs, sums, dweight + o0 * inputs * kernel);
    return done;
}

static bool LANES_FN(winograd_weigh)(const hki_conv2d_plan *plan, LANES_FN(band) * band,
                                     LANES_FN(band) * dy_band, T *dweight, T *dbias, int64_t begin,
                                     int64_t end, char *scratch)
{
    bool done = true;
    for (int64_t chunk = 0, o0, o1; done && LANES_FN(winograd_chunk)(plan, chunk, &o0, &o1);
         chunk++)
        done = LANES_FN(winograd_weigh_chunk)(plan, band, dy_band, o0, o1, dweight, dbias, begin,
                                              end, scratch);
    return done;
}

#include "op/conv/conv2d_winograd_tiles.inc.c"

#undef N_MAX
#undef R_MAX
#undef BY_TILE
