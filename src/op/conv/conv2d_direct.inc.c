/* The other way to convolve: output columns in the lanes, no transposition. It pays where a result
   takes few multiply-adds and rows are long. Compiled like conv2d_lanes.inc.c, which includes it.

   A sample is copied to [channel][row][position] with its padding, columns sorted by their
   remainder modulo the stride, so that neighbouring outputs read neighbouring inputs. A tile is
   tile_o channels x tile_w points; a point is LANES_N columns of a row, the last of a row
   overlapping the one before. */

typedef struct LANES_FN(direct_tile) {
    const T *x;
    const int32_t *points; /* [tile_w][2]: places in x and in a channel of y */
    const int64_t *row_offset, *col_offset;
    int64_t rows, channels, cols, channel_stride;
    const T *weight; /* [rows][channels][cols][o] */
    const T *bias;
    T *y;
    int64_t y_channel_stride;
} LANES_FN(direct_tile);

LANES_INLINE void LANES_FN(direct_body)(const LANES_FN(direct_tile) * a, const int tile_o,
                                        const int tile_w)
{
    V acc[HKI_CONV2D_TILE_O_MAX][HKI_CONV2D_TILE_W_MAX];
    int64_t from[HKI_CONV2D_TILE_W_MAX];
    UNROLL for (int o = 0; o < tile_o; o++)
    {
        const T start = a->bias ? a->bias[o] : (T)0;
        UNROLL for (int w = 0; w < tile_w; w++) acc[o][w] = start - (V){0};
    }
    UNROLL for (int w = 0; w < tile_w; w++) from[w] = a->points[2 * w];
    const T *weight = a->weight;
    const int64_t cols = a->cols, channels = a->channels, channel_stride = a->channel_stride;
    const int64_t *col_offset = a->col_offset;
    for (int64_t r = 0; r < a->rows; r++) {
        const T *xr = a->x + a->row_offset[r];
        for (int64_t c = 0; c < channels; c++) {
            for (int64_t k = 0; k < cols; k++) {
                const T *xp = xr + col_offset[k];
                V x[HKI_CONV2D_TILE_W_MAX];
                UNROLL for (int w = 0; w < tile_w; w++) x[w] = *(const VU *)(xp + from[w]);
                UNROLL for (int o = 0; o < tile_o; o++)
                {
                    const V broadcast = weight[o] - (V){0};
                    UNROLL for (int w = 0; w < tile_w; w++) acc[o][w] =
                        acc[o][w] + x[w] * broadcast;
                }
                weight += tile_o;
            }
            xr += channel_stride;
        }
    }
    UNROLL for (int o = 0; o < tile_o; o++)
    {
        UNROLL for (int w = 0; w < tile_w; w++) *
            (VU *)(a->y + o * a->y_channel_stride + a->points[2 * w + 1]) = acc[o][w];
    }
}

#define TILE_DEFINE(o, w)                                                                          \
    LANES_TARGET static void LANES_FN(direct_##o##_##w)(const LANES_FN(direct_tile) * a)           \
    {                                                                                              \
        LANES_FN(direct_body)(a, o, w);                                                            \
    }
LANES_TILES(TILE_DEFINE)
#undef TILE_DEFINE

typedef void (*LANES_FN(direct_fn))(const LANES_FN(direct_tile) *);

#define TILE_ENTRY(o, w) [o][w] = LANES_FN(direct_##o##_##w),
static const LANES_FN(direct_fn)
    LANES_FN(direct_table)[HKI_CONV2D_TILE_O_MAX + 1][HKI_CONV2D_TILE_W_MAX + 1] = {
        LANES_TILES(TILE_ENTRY)};
#undef TILE_ENTRY

/* Places the padded copy of one sample; the padding is zero already. */
static void LANES_FN(direct_load)(const hki_conv2d_plan *plan, const T *sample, T *x)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    int64_t top = -row->offset_min, last = plan->band_rows - top;
    for (int64_t c = 0; c < plan->source_channels; c++) {
        for (int64_t r = top < 0 ? -top : 0; r < row->source && r < last; r++) {
            const T *from = sample + (c * row->source + r) * column->source;
            T *to = x + (c * plan->band_rows + r + top) * plan->positions;
            if (column->step == 1)
                memcpy(to + plan->left, from, (size_t)column->source * sizeof(T));
            else
                for (int64_t i = 0; i < column->source; i++)
                    to[plan->column_position[i]] = from[i];
        }
    }
}

static void LANES_FN(direct_apply)(const hki_conv2d_plan *plan, const T *source, const T *packed,
                                   const T *bias, T *target, int64_t begin, int64_t end, T *x)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    int64_t pixels = row->target * column->target;
    int64_t channel = plan->band_rows * plan->positions;
    int64_t per_row = hki_divide_up(column->target, L), points = row->target * per_row;
    for (int64_t i = 0; i < points; i++) {
        int64_t y = i / per_row, first = i % per_row * L;
        if (first + L > column->target)
            first = column->target - L;
        plan->pixel_position[2 * i] = (int32_t)(y * row->step * plan->positions + first);
        plan->pixel_position[2 * i + 1] = (int32_t)(y * column->target + first);
    }
    memset(x, 0, (size_t)(plan->source_channels * channel) * sizeof(T));
    LANES_FN(direct_tile)
    tile = {.x = x - row->offset_min * plan->positions,
            .row_offset = plan->row_offset,
            .col_offset = column->tap_offset,
            .rows = row->kernel,
            .channels = plan->source_channels,
            .cols = column->kernel,
            .channel_stride = channel,
            .y_channel_stride = pixels};
    for (int64_t n = begin; n < end; n++) {
        LANES_FN(direct_load)
        (plan, source + n * plan->source_channels * row->source * column->source, x);
        int64_t o1;
        for (int64_t part = 0, o0 = 0; o0 < plan->target_channels; part++, o0 = o1) {
            o1 = hki_conv2d_part_begin(plan->target_channels, plan->tile_o, part + 1);
            tile.weight = packed + o0 * plan->source_channels * row->kernel * column->kernel;
            tile.bias = bias ? bias + o0 : NULL;
            tile.y = target + (n * plan->target_channels + o0) * pixels;
            for (int64_t p0 = 0, p1, i = 0; p0 < points; p0 = p1, i++) {
                p1 = hki_conv2d_part_begin(points, plan->tile_w, i + 1);
                tile.points = plan->pixel_position + 2 * p0;
                LANES_FN(direct_table)[o1 - o0][p1 - p0](&tile);
            }
        }
    }
}
