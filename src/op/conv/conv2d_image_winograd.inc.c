/* The part of conv2d_image.inc.c that is Winograd's method.

   Winograd's F(4, 5) in both directions, with the points 0, 1, -1, 2, -2, 1/2, -1/2 and infinity: Lavin and Gray, "Fast
   Algorithms for Convolutional Neural Networks", 2015. The same points give F(6, 3) for 3 x 3 kernels, which loses three
   times as much to rounding. */

/* B^T d, from 8 elements. */
IMAGE_INLINE void IMAGE_FN(points_of)(const V d[8], V to[8])
{
    const V even = d[2] + d[6] - d[4] * 4.25f, odd = d[1] + d[5] - d[3] * 4.25f;
    const V even2 = d[6] + d[2] * 0.25f - d[4] * 1.25f;
    const V odd2 = d[1] * 0.5f - d[3] * 2.5f + d[5] * 2.0f;
    const V even3 = d[6] + d[2] * 4.0f - d[4] * 5.0f;
    const V odd3 = d[1] * 2.0f - d[3] * 2.5f + d[5] * 0.5f;
    to[0] = d[0] - d[6] + (d[4] - d[2]) * 5.25f;
    to[1] = even + odd;
    to[2] = even - odd;
    to[3] = even2 + odd2;
    to[4] = even2 - odd2;
    to[5] = even3 + odd3;
    to[6] = even3 - odd3;
    to[7] = d[7] - d[1] + (d[3] - d[5]) * 5.25f;
}

IMAGE_INLINE void IMAGE_FN(tile_in_body)(const float *x, int64_t x_row, int64_t x_stride,
                                         const int row[2], const int column[2], float *to,
                                         int64_t to_point)
{
    V half[8][8];
    for (int j = 0; j < 8; j++) {
        V d[8], points[8];
        const bool is_there = column[0] <= j && j < column[1];
        UNROLL for (int i = 0; i < 8; i++) d[i] = is_there && row[0] <= i && i < row[1]
                                                      ? IMAGE_FN(load)(x + i * x_row + j * x_stride)
                                                      : (V){0};
        IMAGE_FN(points_of)(d, points);
        UNROLL for (int i = 0; i < 8; i++) half[i][j] = points[i];
    }
    for (int i = 0; i < 8; i++) {
        V points[8];
        IMAGE_FN(points_of)(half[i], points);
        UNROLL for (int j = 0; j < 8; j++) IMAGE_FN(store)(to + (8 * i + j) * to_point, points[j]);
    }
}

IMAGE_TARGET static void IMAGE_FN(tile_in)(const float *x, int64_t x_row, int64_t x_stride,
                                           const int row[2], const int column[2], float *to,
                                           int64_t to_point)
{
    static const int all[2] = {0, 8};
    if (row[0] == 0 && row[1] == 8 && column[0] == 0 && column[1] == 8)
        IMAGE_FN(tile_in_body)(x, x_row, x_stride, all, all, to, to_point);
    else
        IMAGE_FN(tile_in_body)(x, x_row, x_stride, row, column, to, to_point);
}

/* So many points, or vectors of results, at once that there are sums enough to keep the multipliers busy; an element of v
   that is loaded serves all vectors. */
IMAGE_INLINE void IMAGE_FN(products_body)(const hki_image_products *given, const int tiles,
                                          const int points, const int vectors)
{
    const hki_image_products own = *given, *const call = &own;
    const int64_t channels = call->channels;
    for (int p = 0; p < 64; p += points) {
        V sum[HKI_IMAGE_TILES];
        const float *u = call->u + p * channels * L, *v = call->v + p * call->v_point;
        UNROLL for (int i = 0; i < tiles * points * vectors; i++) sum[i] = (V){0};
        for (int64_t c = 0; c < channels; c++)
            UNROLL for (int q = 0; q < points; q++)
            {
                V w[HKI_IMAGE_VECTORS];
                UNROLL for (int o = 0; o < vectors; o++) w[o] =
                    IMAGE_FN(load)(u + ((o * 64 + q) * channels + c) * L);
                UNROLL for (int t = 0; t < tiles; t++)
                {
                    const float from = v[q * call->v_point + t * call->v_tile + c];
                    UNROLL for (int o = 0; o < vectors; o++) sum[(o * points + q) * tiles + t] +=
                        w[o] * from;
                }
            }
        UNROLL for (int o = 0; o < vectors; o++) UNROLL for (int i = 0; i < tiles * points; i++)
            IMAGE_FN(store)(call->to + ((o * 64 + p) * tiles + i) * L, sum[o * tiles * points + i]);
    }
}

IMAGE_TARGET static void IMAGE_FN(products)(const hki_image_products *call)
{
    switch (call->tiles * 4 + call->vectors) {
#define CASE(tiles, points, vectors)                                                               \
    case tiles * 4 + vectors:                                                                      \
        IMAGE_FN(products_body)(call, tiles, points, vectors);                                     \
        break;
        /* clang-format off */
        CASE(1, 8, 1) CASE(2, 4, 1) CASE(3, 4, 1) CASE(4, L == 16 ? 1 : 2, 1) CASE(5, 2, 1) CASE(6, 2, 1)
        CASE(7, 1, 1) CASE(8, 1, 1) CASE(9, 1, 1) CASE(10, 1, 1) CASE(11, 1, 1) CASE(12, 1, 1)
#if IMAGE_VECTORS > 1
        CASE(1, 4, 2) CASE(2, 2, 2) CASE(3, 2, 2) CASE(4, 1, 2) CASE(5, 1, 2) CASE(6, 1, 2)
        CASE(1, 4, 3) CASE(2, 2, 3) CASE(3, 1, 3) CASE(4, 1, 3)
#endif
        /* clang-format on */
#undef CASE
                        default : __builtin_unreachable();
    }
}

/* Four tiles or less, for a quarter of the lanes' channels: [channel][c % 4] are added up in the end. */
IMAGE_INLINE void IMAGE_FN(quarter_point)(const float *u, const float *v, int64_t v_tile,
                                          int64_t channels, float *to, const int tiles)
{
    V sum[4] = {{0}};
    for (int64_t c = 0; c < channels; c += 4, u += L) {
        const V w = IMAGE_FN(load)(u);
        UNROLL for (int t = 0; t < tiles; t++) sum[t] +=
            w * IMAGE_FN(load_four)(v + t * v_tile + c);
    }
    const V a = BLOCKS(sum[0], sum[1], 0, L, 1, L + 1) + BLOCKS(sum[0], sum[1], 2, L + 2, 3, L + 3);
    const V b = BLOCKS(sum[2], sum[3], 0, L, 1, L + 1) + BLOCKS(sum[2], sum[3], 2, L + 2, 3, L + 3);
    const V all = BLOCKS(a, b, 0, 1, L, L + 1) + BLOCKS(a, b, 2, 3, L + 2, L + 3);
    *(IMAGE_FN(window) *)to = WINDOW(all, 0);
    if (tiles > 1)
        *(IMAGE_FN(window) *)(to + IMAGE_FN(half)) = WINDOW(all, 1);
    if (tiles > 2)
        *(IMAGE_FN(window) *)(to + 2 * IMAGE_FN(half)) = WINDOW(all, 2);
    if (tiles > 3)
        *(IMAGE_FN(window) *)(to + 3 * IMAGE_FN(half)) = WINDOW(all, 3);
}

IMAGE_TARGET static void IMAGE_FN(quarter_products)(const hki_image_products *given)
{
    const hki_image_products own = *given, *const call = &own;
    for (int64_t p = 0; p < 64; p++)
        for (int64_t t = 0; t < call->tiles; t += 4) {
            const float *u = call->u + p * (call->channels / 4) * L;
            const float *v = call->v + p * call->v_point + t * call->v_tile;
            float *to = call->to + (p * call->tiles + t) * IMAGE_FN(half);
            switch (call->tiles - t) {
#define CASE(tiles)                                                                                \
    case tiles:                                                                                    \
        IMAGE_FN(quarter_point)(u, v, call->v_tile, call->channels, to, tiles);                    \
        break;
                CASE(1)
                CASE(2)
                CASE(3)
#undef CASE
            default:
                IMAGE_FN(quarter_point)(u, v, call->v_tile, call->channels, to, 4);
            }
        }
}

#undef WINDOW_OF_TWO
#undef WINDOW
#undef BLOCKS

/* A^T s: 4 results from 8 points. */
IMAGE_INLINE void IMAGE_FN(results_of)(const V s[8], V to[4])
{
    const V sum1 = s[1] + s[2], sum2 = s[3] + s[4], sum3 = s[5] + s[6];
    const V gap1 = s[1] - s[2], gap2 = s[3] - s[4], gap3 = s[5] - s[6];
    to[0] = s[0] + sum1 + sum2 + sum3;
    to[1] = gap1 + gap2 * 2.0f + gap3 * 0.5f;
    to[2] = sum1 + sum2 * 4.0f + sum3 * 0.25f;
    to[3] = gap1 + gap2 * 8.0f + gap3 * 0.125f + s[7];
}

/* A row of a tile, with what comes behind the convolution. */
IMAGE_INLINE void IMAGE_FN(tile_row)(const V points[8], V bias, bool relu, V y[4])
{
    IMAGE_FN(results_of)(points, y);
    UNROLL for (int j = 0; j < 4; j++)
    {
        y[j] += bias;
        y[j] = relu ? IMAGE_FN(relu)(y[j]) : y[j];
    }
}

IMAGE_INLINE void IMAGE_FN(tile_out_body)(const hki_image_tile *given, const hki_block_pool pool)
{
    const hki_image_tile own = *given, *const call = &own;
    V half[4][8];
    const V bias = IMAGE_FN(load)(call->bias);
    for (int j = 0; j < 8; j++) {
        V s[8], y[4];
        UNROLL for (int i = 0; i < 8; i++) s[i] =
            IMAGE_FN(load)(call->sums + (8 * i + j) * call->stride);
        IMAGE_FN(results_of)(s, y);
        UNROLL for (int i = 0; i < 4; i++) half[i][j] = y[i];
    }
    const int step = pool == HKI_BLOCK_POOL_NONE ? 1 : 2;
    for (int i = 0; i < call->rows; i += step) {
        V y[2][4];
        float *to = call->y + i / step * call->y_row;
        UNROLL for (int r = 0; r < step; r++)
            IMAGE_FN(tile_row)(half[i + r], bias, call->relu, y[r]);
        UNROLL for (int j = 0; j < 4; j += step)
        {
            const V a = step == 1 ? y[0][j]
                                  : IMAGE_FN(pool_of_four)(pool, y[0][j], y[0][j + 1], y[1][j],
                                                           y[1][j + 1]);
            if (j < call->columns)
                IMAGE_FN(store)(to + j / step * call->y_stride, a);
        }
    }
}

IMAGE_TARGET static void IMAGE_FN(tile_out)(const hki_image_tile *call)
{
    switch (call->pool) {
    case HKI_BLOCK_POOL_NONE:
        IMAGE_FN(tile_out_body)(call, HKI_BLOCK_POOL_NONE);
        break;
    case HKI_BLOCK_POOL_AVERAGE:
        IMAGE_FN(tile_out_body)(call, HKI_BLOCK_POOL_AVERAGE);
        break;
    case HKI_BLOCK_POOL_MAX:
        IMAGE_FN(tile_out_body)(call, HKI_BLOCK_POOL_MAX);
        break;
    }
}

/* G g, from 5 weights. */
IMAGE_INLINE void IMAGE_FN(weights_of)(const V g[5], V to[8])
{
    const V even1 = g[0] + g[2] + g[4], odd1 = g[1] + g[3];
    const V even2 = g[0] + g[2] * 4.0f + g[4] * 16.0f, odd2 = g[1] * 2.0f + g[3] * 8.0f;
    const V even3 = g[0] + g[2] * 0.25f + g[4] * 0.0625f, odd3 = g[1] * 0.5f + g[3] * 0.125f;
    to[0] = g[0];
    to[1] = (even1 + odd1) * (-2.0f / 9);
    to[2] = (even1 - odd1) * (-2.0f / 9);
    to[3] = (even2 + odd2) * (1.0f / 90);
    to[4] = (even2 - odd2) * (1.0f / 90);
    to[5] = (even3 + odd3) * (32.0f / 45);
    to[6] = (even3 - odd3) * (32.0f / 45);
    to[7] = g[4];
}

IMAGE_TARGET static void IMAGE_FN(tile_weight)(const float *weight, float *to, int64_t to_point)
{
    V half[8][5], points[8];
    for (int j = 0; j < 5; j++) {
        V g[5];
        UNROLL for (int i = 0; i < 5; i++) g[i] = IMAGE_FN(load)(weight + (i * 5 + j) * L);
        IMAGE_FN(weights_of)(g, points);
        UNROLL for (int i = 0; i < 8; i++) half[i][j] = points[i];
    }
    for (int i = 0; i < 8; i++) {
        IMAGE_FN(weights_of)(half[i], points);
        UNROLL for (int j = 0; j < 8; j++) IMAGE_FN(store)(to + (8 * i + j) * to_point, points[j]);
    }
}
