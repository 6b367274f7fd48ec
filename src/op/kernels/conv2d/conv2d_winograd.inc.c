/* Winograd's F(2x2, 3x3): a 2 x 2 tile of results of a 3 x 3 convolution from 16 products instead of 36, for
   stride 1 and many channels. Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015. On
   the arrays and helpers of conv2d_lanes.inc.c, which includes it.

       y = A^T [(G w G^T) * (B^T x B)] A      * by element, summed over channels: 16 matrix products
       dw = G^T [(A dy A^T) * (B^T x B)] G    summed over tiles and samples

   A group of tiles is transformed to [16][channel][tile][lane]; the products run in the register tiles of
   the direct method (or, for the weights, in BLAS: there the lanes are summed over). */

/* The 4 x 4 input of a tile. */
LANES_INLINE void LANES_FN(winograd_input)(const T *x, int64_t row_stride, T *to, int64_t to_stride)
{
    V d[4][4];
    UNROLL for (int j = 0; j < 4; j++)
    {
        const T *at = x + j * L;
        const V a = *(const V *)at, b = *(const V *)(at + row_stride);
        const V c = *(const V *)(at + 2 * row_stride), e = *(const V *)(at + 3 * row_stride);
        d[0][j] = a - c;
        d[1][j] = b + c;
        d[2][j] = c - b;
        d[3][j] = b - e;
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        *(V *)(to + (4 * i + 0) * to_stride) = d[i][0] - d[i][2];
        *(V *)(to + (4 * i + 1) * to_stride) = d[i][1] + d[i][2];
        *(V *)(to + (4 * i + 2) * to_stride) = d[i][2] - d[i][1];
        *(V *)(to + (4 * i + 3) * to_stride) = d[i][1] - d[i][3];
    }
}

/* A dy A^T: the 2 x 2 gradient of a tile. */
LANES_INLINE void LANES_FN(winograd_gradient)(const V dy[4], T *to, int64_t to_stride)
{
    const V d[4][2] = {{dy[0], dy[1]},
                       {dy[0] + dy[2], dy[1] + dy[3]},
                       {dy[0] - dy[2], dy[1] - dy[3]},
                       {-dy[2], -dy[3]}};
    UNROLL for (int i = 0; i < 4; i++)
    {
        *(V *)(to + (4 * i + 0) * to_stride) = d[i][0];
        *(V *)(to + (4 * i + 1) * to_stride) = d[i][0] + d[i][1];
        *(V *)(to + (4 * i + 2) * to_stride) = d[i][0] - d[i][1];
        *(V *)(to + (4 * i + 3) * to_stride) = -d[i][1];
    }
}

/* A^T m A: the 2 x 2 result of a tile, of sums [16]. */
LANES_INLINE void LANES_FN(winograd_output)(const T *m, int64_t stride, V y[4])
{
    V s[2][4];
    UNROLL for (int j = 0; j < 4; j++)
    {
        const V a = *(const V *)(m + j * stride), b = *(const V *)(m + (4 + j) * stride);
        const V c = *(const V *)(m + (8 + j) * stride), e = *(const V *)(m + (12 + j) * stride);
        s[0][j] = a + b + c;
        s[1][j] = b - c - e;
    }
    UNROLL for (int i = 0; i < 2; i++)
    {
        y[2 * i] = s[i][0] + s[i][1] + s[i][2];
        y[2 * i + 1] = s[i][1] - s[i][2] - s[i][3];
    }
}

/* G w G^T of `channels` target channels and all source channels: [16][source channel][channels], parts
   part_stride apart. */
LANES_INLINE void LANES_FN(winograd_pack_tile)(const hki_conv2d_plan *plan, const T *weight,
                                               const int channels, T *to, int64_t part_stride)
{
    const bool flip = plan->row.backward;
    for (int64_t c = 0; c < plan->source_channels; c++, to += channels) {
        const T *from = weight + c * plan->weight_source_stride;
        T g[9][HKI_CONV2D_TILE_O_MAX], h[12][HKI_CONV2D_TILE_O_MAX];
        for (int k = 0; k < 9; k++)
            UNROLL for (int o = 0; o < channels; o++) g[k][o] =
                from[o * plan->weight_target_stride + (flip ? 8 - k : k)];
        for (int j = 0; j < 3; j++) {
            UNROLL for (int o = 0; o < channels; o++)
            {
                const T even = (g[j][o] + g[6 + j][o]) / 2, odd = g[3 + j][o] / 2;
                h[j][o] = g[j][o];
                h[3 + j][o] = even + odd;
                h[6 + j][o] = even - odd;
                h[9 + j][o] = g[6 + j][o];
            }
        }
        for (int i = 0; i < 4; i++) {
            T *row = to + 4 * i * part_stride;
            UNROLL for (int o = 0; o < channels; o++)
            {
                const T even = (h[3 * i][o] + h[3 * i + 2][o]) / 2, odd = h[3 * i + 1][o] / 2;
                row[o] = h[3 * i][o];
                row[part_stride + o] = even + odd;
                row[2 * part_stride + o] = even - odd;
                row[3 * part_stride + o] = h[3 * i + 2][o];
            }
        }
    }
}

/* Of the parts: [16][channel tile][source channel][channel of the tile] */
LANES_TARGET static void LANES_FN(winograd_pack)(const hki_conv2d_plan *plan, const T *weight,
                                                 T *packed)
{
    const int64_t part = plan->weight_part;
    const int64_t begin = hki_conv2d_part_channel(plan, plan->part_begin);
    const int64_t end = hki_conv2d_part_channel(plan, plan->part_end);
    for (int64_t o = begin; o < end; o += plan->tile_o) {
        const T *from = weight + o * plan->weight_target_stride;
        T *to = packed + (o - begin) * plan->source_channels;
        if (plan->tile_o == HKI_WINOGRAD_TILE_O)
            LANES_FN(winograd_pack_tile)(plan, from, HKI_WINOGRAD_TILE_O, to, part);
        else
            LANES_FN(winograd_pack_tile)(plan, from, HKI_WINOGRAD_TILE_O / 2, to, part);
    }
}

/* Source rows of tile rows [t0, t1), with zeros outside of the image. */
static void LANES_FN(winograd_load)(const hki_conv2d_plan *plan, LANES_FN(band) * band,
                                    const LANES_FN(block) * block, int64_t t0, int64_t t1, T *x)
{
    const int64_t low = 2 * t0 + plan->row.offset_min, high = 2 * t1 + 2 + plan->row.offset_min;
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
LANES_TARGET static void LANES_FN(winograd_transform)(const hki_conv2d_plan *plan, const T *x,
                                                      int64_t first, int64_t count, T *to)
{
    const int64_t row_stride = plan->source_channels * plan->positions * L;
    const int64_t channel = plan->group * L;
    const int64_t left = plan->left + plan->column.offset_min;
    for (int64_t c = 0; c < plan->source_channels; c++) {
        for (int64_t t = 0; t < count; t++) {
            const int64_t row = 2 * ((first + t) / plan->tile_columns);
            const int64_t column = 2 * ((first + t) % plan->tile_columns) + left;
            LANES_FN(winograd_input)
            (x + row * row_stride + (c * plan->positions + column) * L, row_stride,
             to + c * channel + t * L, plan->source_part);
        }
    }
}

/* The results of these tiles: y is the band's, [channel of the parts][rows][column][lane]. */
LANES_TARGET static void LANES_FN(winograd_results)(const hki_conv2d_plan *plan, const T *sums,
                                                    const T *bias, int64_t first, int64_t count,
                                                    int64_t rows, T *y)
{
    const int64_t width = plan->column.target, channel = plan->group * L;
    const int64_t begin = hki_conv2d_part_channel(plan, plan->part_begin);
    const int64_t end = hki_conv2d_part_channel(plan, plan->part_end);
    for (int64_t o = begin; o < end; o++) {
        const T start = bias ? bias[o] : (T)0;
        for (int64_t t = 0; t < count; t++) {
            const int64_t row = 2 * ((first + t) / plan->tile_columns);
            const int64_t column = 2 * ((first + t) % plan->tile_columns);
            T *to = y + (((o - begin) * rows + row) * width + column) * L;
            V v[4];
            LANES_FN(winograd_output)
            (sums + (o - begin) * channel + t * L, plan->target_part, v);
            UNROLL for (int i = 0; i < 2; i++)
            {
                *(V *)(to + i * width * L) = v[2 * i] + start;
                if (column + 1 < width)
                    *(V *)(to + (i * width + 1) * L) = v[2 * i + 1] + start;
            }
        }
    }
}

/* sums = weights times transformed input, for each of the 16 elements. */
static void LANES_FN(winograd_multiply)(const hki_conv2d_plan *plan, const T *packed,
                                        const T *source, int64_t count, T *sums)
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
    for (int64_t part = 0; part < 16; part++) {
        const T *x = source + part * plan->source_part;
        for (int64_t o = 0; o < plan->made_channels; o += plan->tile_o) {
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

static void LANES_FN(winograd_apply)(const hki_conv2d_plan *plan, LANES_FN(band) * band,
                                     const T *weight, const T *bias, T *target, int64_t begin,
                                     int64_t end, char *scratch)
{
    T *packed = (T *)(scratch + plan->packed_at), *x = (T *)(scratch + plan->source_at);
    T *source = (T *)(scratch + plan->winograd_source_at), *y = (T *)(scratch + plan->target_at);
    T *sums = (T *)(scratch + plan->winograd_sums_at);
    const int64_t o0 = hki_conv2d_part_channel(plan, plan->part_begin);
    const int64_t o1 = hki_conv2d_part_channel(plan, plan->part_end);
    LANES_FN(winograd_pack)(plan, weight, packed);
    for (int64_t first = begin; first < end; first += L) {
        LANES_FN(block) block;
        LANES_FN(block_init)(&block, 1, first, end, 0);
        for (int64_t t0 = 0; t0 < plan->tile_rows; t0 += plan->band_t) {
            const int64_t t1 =
                t0 + plan->band_t < plan->tile_rows ? t0 + plan->band_t : plan->tile_rows;
            const int64_t tiles = (t1 - t0) * plan->tile_columns, rows = 2 * (t1 - t0);
            LANES_FN(winograd_load)(plan, band, &block, t0, t1, x);
            for (int64_t at = 0, count; at < tiles; at += count) {
                count = tiles - at < plan->group ? tiles - at : plan->group;
                LANES_FN(winograd_transform)(plan, x, at, count, source);
                LANES_FN(winograd_multiply)(plan, packed, source, count, sums);
                LANES_FN(winograd_results)(plan, sums, bias, at, count, rows, y);
            }
            LANES_FN(store_rows)
            (plan, &block, y, rows, o0, o1, 2 * t0, target);
        }
    }
}

/* A dy A^T of these tiles, of all target channels; dy is the band's, [channel][rows][column][lane]. */
LANES_TARGET static void LANES_FN(winograd_gradients)(const hki_conv2d_plan *plan, const T *dy,
                                                      int64_t first, int64_t count, int64_t rows,
                                                      T *to)
{
    const int64_t width = plan->column.target, channel = plan->group * L;
    for (int64_t o = 0; o < plan->target_channels; o++) {
        for (int64_t t = 0; t < count; t++) {
            const int64_t row = 2 * ((first + t) / plan->tile_columns);
            const int64_t column = 2 * ((first + t) % plan->tile_columns);
            const T *from = dy + ((o * rows + row) * width + column) * L;
            const bool wide = column + 1 < width, tall = row + 1 < rows;
            const V none = {0};
            const V v[4] = {*(const V *)from, wide ? *(const V *)(from + L) : none,
                            tall ? *(const V *)(from + width * L) : none,
                            tall && wide ? *(const V *)(from + (width + 1) * L) : none};
            LANES_FN(winograd_gradient)
            (v, to + o * channel + t * L, plan->target_part);
        }
    }
}

/* dweight = G^T s G. */
LANES_TARGET static void LANES_FN(winograd_weights)(const hki_conv2d_plan *plan, const T *s,
                                                    T *dweight)
{
    const int64_t weights = plan->source_channels * plan->target_channels;
    for (int64_t i = 0; i < weights; i += L) {
        const int64_t count = weights - i < L ? weights - i : L;
        V v[16], h[3][4], w[9];
        for (int part = 0; part < 16; part++) {
            v[part] = (V){0};
            if (count == L)
                v[part] = *(const VU *)(s + part * weights + i);
            else
                LANES_FN(copy_short)((T *)&v[part], s + part * weights + i, count);
        }
        for (int j = 0; j < 4; j++) {
            const V even = (v[4 + j] + v[8 + j]) / 2, odd = (v[4 + j] - v[8 + j]) / 2;
            h[0][j] = v[j] + even;
            h[1][j] = odd;
            h[2][j] = even + v[12 + j];
        }
        for (int k = 0; k < 3; k++) {
            const V even = (h[k][1] + h[k][2]) / 2, odd = (h[k][1] - h[k][2]) / 2;
            w[3 * k] = h[k][0] + even;
            w[3 * k + 1] = odd;
            w[3 * k + 2] = even + h[k][3];
        }
        for (int64_t lane = 0; lane < count; lane++)
            for (int k = 0; k < 9; k++)
                dweight[(i + lane) * 9 + k] = w[k][lane];
    }
}

/* False, with nothing promised of the results, where BLAS has no memory. */
static bool LANES_FN(winograd_weigh)(const hki_conv2d_plan *plan, LANES_FN(band) * band,
                                     LANES_FN(band) * dy_band, T *dweight, T *dbias, int64_t begin,
                                     int64_t end, char *scratch)
{
    T *x = (T *)(scratch + plan->source_at), *dy = (T *)(scratch + plan->target_at);
    T *source = (T *)(scratch + plan->winograd_source_at);
    T *gradient = (T *)(scratch + plan->winograd_sums_at);
    T *sums = (T *)(scratch + plan->packed_at);
    const int64_t inputs = plan->source_channels, outputs = plan->target_channels;
    const int64_t channel = plan->group * L;
    bool done = true, begun = false;
    for (int64_t first = begin; first < end && done; first += L) {
        LANES_FN(block) block;
        LANES_FN(block_init)(&block, 1, first, end, 0);
        for (int64_t t0 = 0; t0 < plan->tile_rows; t0 += plan->band_t) {
            const int64_t t1 =
                t0 + plan->band_t < plan->tile_rows ? t0 + plan->band_t : plan->tile_rows;
            const int64_t row_end = 2 * t1 < plan->row.target ? 2 * t1 : plan->row.target;
            const int64_t tiles = (t1 - t0) * plan->tile_columns, rows = row_end - 2 * t0;
            LANES_FN(winograd_load)(plan, band, &block, t0, t1, x);
            dy_band->channel_stride = rows * dy_band->row_stride;
            LANES_FN(load_band)(dy_band, &block, 0, outputs, 2 * t0, row_end);
            for (int64_t o = 0; dbias && o < outputs; o++)
                dbias[o] += LANES_FN(sum_pixels)(dy + o * dy_band->channel_stride,
                                                 rows * plan->column.target);
            for (int64_t at = 0, count; at < tiles; at += count, begun = true) {
                count = tiles - at < plan->group ? tiles - at : plan->group;
                LANES_FN(winograd_transform)(plan, x, at, count, source);
                LANES_FN(winograd_gradients)(plan, dy, at, count, rows, gradient);
                for (int64_t part = 0; part < 16 && done; part++)
                    done = LANES_GEMM(false, true, outputs, inputs, count * L, 1,
                                      gradient + part * plan->target_part, channel,
                                      source + part * plan->source_part, channel, begun,
                                      sums + part * plan->weight_part, inputs);
            }
        }
    }
    if (done)
        LANES_FN(winograd_weights)(plan, sums, dweight);
    return done;
}
