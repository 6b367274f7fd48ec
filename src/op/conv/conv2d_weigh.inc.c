/* The gradient of the weights, on the arrays and helpers of conv2d_lanes.inc.c, which includes it:
   products of transposed x and dy are summed over pixels in registers, then over lanes, in a fixed
   order. */

/* One register tile of weigh: sums[o][w] = sum over rows, columns, lanes of dy[o] * x[offset[w]].
 */
typedef struct LANES_FN(weigh_tile) {
    const T *x, *dy;
    const int64_t *offset; /* [tile_w] */
    int64_t rows, cols, x_row, dy_row, dy_channel;
    const M *keep; /* the lanes that take part, as bits; NULL: all */
    T *sums;       /* [tile_o * tile_w], room for a multiple of L */
} LANES_FN(weigh_tile);

LANES_INLINE void LANES_FN(weigh_body)(const LANES_FN(weigh_tile) * a, const int tile_o,
                                       const int tile_w)
{
    V acc[HKI_CONV2D_TILE_O_MAX][HKI_CONV2D_TILE_W_MAX];
    int64_t offset[HKI_CONV2D_TILE_W_MAX];
    UNROLL for (int o = 0; o < tile_o; o++)
    {
        UNROLL for (int w = 0; w < tile_w; w++) acc[o][w] = (V){0};
    }
    UNROLL for (int w = 0; w < tile_w; w++) offset[w] = a->offset[w];
    const int64_t channel = a->dy_channel, cols = a->cols;
    for (int64_t r = 0; r < a->rows; r++) {
        const T *xp = a->x + r * a->x_row, *dp = a->dy + r * a->dy_row;
        for (int64_t c = 0; c < cols; c++) {
            V x[HKI_CONV2D_TILE_W_MAX];
            UNROLL for (int w = 0; w < tile_w; w++) x[w] = *(const V *)(xp + offset[w]);
            UNROLL for (int o = 0; o < tile_o; o++)
            {
                const V d = *(const V *)(dp + o * channel);
                UNROLL for (int w = 0; w < tile_w; w++) acc[o][w] = acc[o][w] + d * x[w];
            }
            xp += L;
            dp += L;
        }
    }
    UNROLL for (int i = 0; i < tile_o * tile_w; i += L)
    {
        V v[L];
        UNROLL for (int j = 0; j < L; j++) v[j] =
            i + j < tile_o * tile_w ? acc[(i + j) / tile_w][(i + j) % tile_w] : (V){0};
        if (a->keep) {
            UNROLL for (int j = 0; j < L; j++) v[j] = (V)((M)v[j] & *a->keep);
        }
        *(V *)(a->sums + i) = LANES_FN(sum_lanes)(v);
    }
}

#define TILE_DEFINE(o, w)                                                                          \
    LANES_TARGET static void LANES_FN(weigh_##o##_##w)(const LANES_FN(weigh_tile) * a)             \
    {                                                                                              \
        LANES_FN(weigh_body)(a, o, w);                                                             \
    }
LANES_TILES(TILE_DEFINE)
#undef TILE_DEFINE

typedef void (*LANES_FN(weigh_fn))(const LANES_FN(weigh_tile) *);

#define TILE_ENTRY(o, w) [o][w] = LANES_FN(weigh_##o##_##w),
static const LANES_FN(weigh_fn)
    LANES_FN(weigh_table)[HKI_CONV2D_TILE_O_MAX + 1][HKI_CONV2D_TILE_W_MAX + 1] = {
        LANES_TILES(TILE_ENTRY)};
#undef TILE_ENTRY

/* Adds the products of some rows to the weights [0, k_end) of a chunk, of channels [o0, o1), which are a
   tile's; dy is at o0. */
static void LANES_FN(weigh_part)(const hki_conv2d_plan *plan, LANES_FN(weigh_tile) * tile,
                                 int64_t o0, int64_t o1, int64_t k_end, T *dweight)
{
    int64_t weights = plan->source_channels * plan->row.kernel * plan->column.kernel;
    for (int64_t k0 = 0, width; k0 < k_end; k0 += width) {
        width = k_end - k0 < plan->tile_w ? k_end - k0 : plan->tile_w;
        tile->offset = plan->weight_offset + k0;
        LANES_FN(weigh_table)[o1 - o0][width](tile);
        const T *sum = tile->sums;
        for (int64_t o = o0; o < o1; o++)
            for (int64_t w = 0; w < width; w++)
                dweight[o * weights + k0 + w] += *sum++;
    }
}

/* The same for channels [begin, end); dy is at the first of them. */
static void LANES_FN(weigh_sweep)(const hki_conv2d_plan *plan, LANES_FN(weigh_tile) * tile,
                                  const T *dy, int64_t begin, int64_t end, int64_t k_end,
                                  T *dweight)
{
    for (int64_t part = 0, o0 = begin, o1; o0 < end; part++, o0 = o1) {
        o1 = begin + hki_conv2d_part_begin(end - begin, plan->tile_o, part + 1);
        tile->dy = dy + (o0 - begin) * tile->dy_channel;
        LANES_FN(weigh_part)(plan, tile, o0, o1, k_end, dweight);
    }
}

bool LANES_FN(hki_conv2d_weigh)(const hki_conv2d_plan *plan, const T *x, const T *dy, T *dweight,
                                T *dbias, int64_t begin, int64_t end, bool again, void *scratch)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    T *xt = (T *)((char *)scratch + plan->source_at);
    T *dt = (T *)((char *)scratch + plan->target_at);
    int64_t row_stride = plan->row_stride, taps = row->kernel * column->kernel;
    int64_t weights = plan->source_channels * taps, dy_row = column->target * L;
    int32_t *dy_position = plan->pixel_position + plan->band_rows * column->source;
    memset(dweight, 0, (size_t)(plan->target_channels * weights) * sizeof(T));
    if (dbias)
        memset(dbias, 0, (size_t)plan->target_channels * sizeof(T));
    if (!again) {
        memset(xt, 0, (size_t)(plan->chunk * plan->band_rows * row_stride) * sizeof(T));
        LANES_FN(fill_positions)
        (plan->pixel_position, plan->band_rows,
         plan->winograd ? plan->source_channels * row_stride : row_stride, column->source,
         plan->column_position);
        LANES_FN(fill_positions)
        (dy_position, plan->winograd ? plan->tile_m * plan->band_t : plan->band_t, dy_row,
         column->target, NULL);
    }
    LANES_FN(band)
    x_band = {.source = x,
              .limit = x + end * plan->source_channels * row->source * column->source,
              .channels = plan->source_channels,
              .height = row->source,
              .width = column->source,
              .strip_step = plan->strip_t * row->step,
              .strip_height = INT64_MAX,
              .row_stride = row_stride,
              .channel_stride = plan->channel_stride,
              .position = plan->pixel_position,
              .out = xt};
    LANES_FN(band)
    dy_band = {.source = dy,
               .limit = dy + end * plan->target_channels * row->target * column->target,
               .channels = plan->target_channels,
               .height = row->target,
               .width = column->target,
               .strip_step = plan->strip_rows,
               .strip_height = plan->strip_rows,
               .row_stride = dy_row,
               .channel_stride = plan->band_t * dy_row,
               .position = dy_position,
               .out = dt};
    if (plan->winograd) {
        x_band.row_stride = plan->source_channels * row_stride;
        x_band.channel_stride = row_stride;
        return LANES_FN(winograd_weigh)(plan, &x_band, &dy_band, dweight, dbias, begin, end,
                                        scratch);
    }
    _Alignas(64) T sums[HKI_CONV2D_TILE_O_MAX * HKI_CONV2D_TILE_W_MAX + L];
    LANES_FN(weigh_tile)
    tile = {.sums = sums,
            .cols = column->target,
            .x_row = row->step * row_stride,
            .dy_row = dy_row,
            .dy_channel = dy_band.channel_stride};
    for (int64_t first = 0; first < (end - begin) * plan->strips; first += L) {
        LANES_FN(block) block;
        LANES_FN(block_init)(&block, plan->strips, begin, end, first);
        for (int64_t t0 = 0; t0 < plan->strip_t; t0 += plan->band_t) {
            int64_t t1 = t0 + plan->band_t < plan->strip_t ? t0 + plan->band_t : plan->strip_t;
            int64_t row_lo = t0 * row->step + row->offset_min;
            int64_t row_hi = (t1 - 1) * row->step + row->offset_max + 1;
            int64_t o1;
            for (int64_t o0 = 0; o0 < plan->target_channels; o0 = o1) {
                o1 = hki_min(o0 + plan->target_chunk, plan->target_channels);
                LANES_FN(load_band)(&dy_band, &block, o0, o1, t0, t1);
                for (int64_t o = o0; dbias && o < o1; o++)
                    dbias[o] += LANES_FN(sum_pixels)(dt + (o - o0) * tile.dy_channel,
                                                     (t1 - t0) * column->target);
                for (int64_t c0 = 0; c0 < plan->source_channels; c0 += plan->chunk) {
                    int64_t c1 = hki_min(c0 + plan->chunk, plan->source_channels);
                    if (o0 == 0 || plan->chunk < plan->source_channels)
                        LANES_FN(load_band)(&x_band, &block, c0, c1, row_lo, row_hi);
                    for (int64_t s0 = t0; s0 < t1; s0 += plan->sub_t) {
                        tile.rows = t1 - s0 < plan->sub_t ? t1 - s0 : plan->sub_t;
                        tile.x = xt + (s0 - t0) * tile.x_row;
                        LANES_FN(weigh_sweep)
                        (plan, &tile, dt + (s0 - t0) * dy_row, o0, o1, (c1 - c0) * taps,
                         dweight + c0 * taps);
                    }
                }
            }
        }
    }
    return true;
}
