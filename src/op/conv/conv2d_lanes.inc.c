/* The lane kernels of convolution, compiled once per instruction set and dtype. The includer
   defines LANES_T (element), LANES_N (elements of a vector), LANES_TARGET (function attributes),
   LANES_FN(name), LANES_GEMM (gemm_kernel.h's of the element), and LANES_TILES(X), an X(o, w) for each
   register tile.

   Arrays in scratch are [..][lane]. Transposing in and out of them takes LANES_N elements of
   LANES_N lanes at a time; a run's last step goes back to overlap the one before it. */

#include "op/simd/lanes.inc.c"

/* The lanes of a block of samples (or strips of samples). */
typedef struct LANES_FN(block) {
    int64_t lanes;     /* in use */
    int64_t sample[L]; /* within the whole batch */
    int64_t strip[L];
} LANES_FN(block);

static void LANES_FN(block_init)(LANES_FN(block) * block, int64_t strips, int64_t begin,
                                 int64_t end, int64_t first)
{
    int64_t count = (end - begin) * strips - first;
    block->lanes = count < L ? count : L;
    for (int64_t s = 0; s < block->lanes; s++) {
        block->sample[s] = begin + (first + s) / strips;
        block->strip[s] = (first + s) % strips;
    }
}

/* run elements from each from[s] (NULL: zeros) to places to[p] of `out`. Nothing at or past `limit`
   is read. */
LANES_TARGET static void LANES_FN(gather)(const T *const from[L], const T *limit, int64_t run,
                                          const int32_t *to, T *out)
{
    bool all = true;
    for (int s = 0; s < L; s++)
        all = all && from[s];
    if (run < L) {
        V v[L] = {0};
        for (int s = 0; s < L; s++) {
            if (from[s] && limit - from[s] >= L)
                v[s] = *(const VU *)from[s];
            else if (from[s])
                LANES_FN(copy_short)((T *)&v[s], from[s], run);
        }
        LANES_FN(transpose)(v);
        for (int64_t p = 0; p < run; p++)
            *(V *)(out + to[p]) = v[p];
        return;
    }
    for (int64_t p = 0; p < run; p += L) {
        int64_t at = p + L <= run ? p : run - L;
        V v[L];
        if (all) {
            UNROLL for (int s = 0; s < L; s++) v[s] = *(const VU *)(from[s] + at);
        } else {
            for (int s = 0; s < L; s++) {
                v[s] = (V){0};
                if (from[s])
                    v[s] = *(const VU *)(from[s] + at);
            }
        }
        LANES_FN(transpose)(v);
        UNROLL for (int i = 0; i < L; i++) * (V *)(out + to[at + i]) = v[i];
    }
}

/* length[s] <= run elements to each to[s] from `in`, which may be read L vectors past the run. */
LANES_TARGET static void LANES_FN(scatter)(const T *in, int64_t run, T *const to[L],
                                           const int64_t length[L])
{
    int64_t common = length[0];
    for (int s = 1; s < L; s++)
        common = common < length[s] ? common : length[s];
    for (int64_t p = 0; p < run; p += L) {
        int64_t at = p + L <= run || run < L ? p : run - L;
        V v[L];
        UNROLL for (int i = 0; i < L; i++) v[i] = *(const V *)(in + (at + i) * L);
        LANES_FN(transpose)(v);
        if (at + L <= common) {
            UNROLL for (int s = 0; s < L; s++) * (VU *)(to[s] + at) = v[s];
            continue;
        }
        V copy[L];
        UNROLL for (int s = 0; s < L; s++) copy[s] = v[s];
        for (int s = 0; s < L; s++) {
            int64_t count = length[s] - at < L ? length[s] - at : L;
            if (count == L)
                *(VU *)(to[s] + at) = copy[s];
            else if (count > 0)
                LANES_FN(copy_short)(to[s] + at, (const T *)&copy[s], count);
        }
    }
}

/* Lane p is a[p] + a[p ^ h] where p has not the bit h, else the same of b. */
#define STAY(p, h) ((p) & (h) ? L + (p) : (p))
#define FLIP(p, h) ((p) & (h) ? L + ((p) ^ (h)) : ((p) ^ (h)))
#define MERGE(a, b, h)                                                                             \
    (__builtin_shufflevector(a, b, EACH_LANE(STAY, h)) +                                           \
     __builtin_shufflevector(a, b, EACH_LANE(FLIP, h)))

/* Lane i of the result is the sum over the lanes of v[i], in the order of a tree. */
LANES_INLINE V LANES_FN(sum_lanes)(V v[L])
{
#if LANES_N >= 16
    UNROLL for (int i = 0; i < 8; i++) v[i] = MERGE(v[i], v[i + 8], 8);
#endif
#if LANES_N >= 8
    UNROLL for (int i = 0; i < 4; i++) v[i] = MERGE(v[i], v[i + 4], 4);
#endif
#if LANES_N >= 4
    UNROLL for (int i = 0; i < 2; i++) v[i] = MERGE(v[i], v[i + 2], 2);
#endif
    return MERGE(v[0], v[1], 1);
}

#undef STAY
#undef FLIP
#undef MERGE

LANES_TARGET static T LANES_FN(sum_pixels)(const T *dy, int64_t pixels)
{
    V sum = {0};
    for (int64_t p = 0; p < pixels; p++)
        sum = sum + *(const V *)(dy + p * L);
    V v[L] = {sum};
    return LANES_FN(sum_lanes)(v)[0];
}

/* Source rows [row_lo, row_hi), relative to each lane's strip, of channels [c0, c1), to
   out + (row - row_lo) * row_stride + (c - c0) * channel_stride + position[pixel]. */
typedef struct LANES_FN(band) {
    const T *source, *limit;         /* limit: where the piece ends */
    int64_t channels, height, width; /* of the source */
    int64_t strip_step;              /* source rows from strip to strip */
    int64_t strip_height;            /* rows that a strip may read past its start; or INT64_MAX */
    int64_t row_stride, channel_stride;
    const int32_t *position;
    T *out;
} LANES_FN(band);

static void LANES_FN(load_band)(const LANES_FN(band) * b, const LANES_FN(block) * block, int64_t c0,
                                int64_t c1, int64_t row_lo, int64_t row_hi)
{
    bool flat = true;
    const T *base[L] = {0};
    for (int64_t s = 0; s < block->lanes; s++) {
        int64_t start = block->strip[s] * b->strip_step;
        base[s] = b->source + block->sample[s] * b->channels * b->height * b->width;
        flat =
            flat && start + row_lo >= 0 && start + row_hi <= b->height && row_hi <= b->strip_height;
    }
    for (int64_t c = c0; c < c1; c++) {
        T *out = b->out + (c - c0) * b->channel_stride;
        const T *from[L] = {0};
        for (int64_t r = row_lo; r < row_hi; r = flat ? row_hi : r + 1) {
            bool any = false;
            for (int64_t s = 0; s < block->lanes; s++) {
                int64_t y = block->strip[s] * b->strip_step + r;
                bool inside = y >= 0 && y < b->height && r < b->strip_height;
                from[s] = inside ? base[s] + (c * b->height + y) * b->width : NULL;
                any = any || inside;
            }
            T *row = out + (r - row_lo) * b->row_stride;
            if (any)
                LANES_FN(gather)
            (from, b->limit, flat ? (row_hi - row_lo) * b->width : b->width, b->position, row);
            else for (int64_t i = 0; i < b->width; i++)
                memset(row + b->position[i], 0, L * sizeof(T));
        }
    }
}

static void LANES_FN(fill_positions)(int32_t *position, int64_t rows, int64_t row_stride,
                                     int64_t width, const int64_t *column)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < width; c++)
            *position++ = (int32_t)(r * row_stride + (column ? column[c] : c * L));
}

/* One register tile of apply. */
typedef struct LANES_FN(tile) {
    const T *x;                /* at the tile's first column */
    const int64_t *row_offset; /* [rows] taps */
    const int64_t *col_offset; /* [cols] taps */
    int64_t rows, channels, cols;
    int64_t channel_stride, x_pixel_stride;
    const T *weight; /* [rows: weight_row][channels][cols + weight_skip / o][o] */
    int64_t weight_row, weight_skip;
    T *y;
    int64_t y_channel_stride, y_pixel_stride;
    const T *bias; /* [o] to start from, or NULL */
    bool accumulate;
} LANES_FN(tile);

LANES_INLINE void LANES_FN(tile_body)(const LANES_FN(tile) * a, const int tile_o, const int tile_w)
{
    V acc[HKI_CONV2D_TILE_O_MAX][HKI_CONV2D_TILE_W_MAX];
    UNROLL for (int o = 0; o < tile_o; o++)
    {
        UNROLL for (int w = 0; w < tile_w; w++)
        {
            acc[o][w] = (V){0};
            if (a->accumulate)
                acc[o][w] = *(const V *)(a->y + o * a->y_channel_stride + w * a->y_pixel_stride);
            else if (a->bias)
                acc[o][w] = acc[o][w] + a->bias[o];
        }
    }
    const int64_t cols = a->cols, channels = a->channels, channel_stride = a->channel_stride;
    const int64_t skip = a->weight_skip, x_pixel_stride = a->x_pixel_stride;
    const int64_t *col_offset = a->col_offset;
    for (int64_t r = 0; r < a->rows; r++) {
        const T *xr = a->x + a->row_offset[r];
        const T *weight = a->weight + r * a->weight_row;
        for (int64_t c = 0; c < channels; c++) {
            /* where taps are few, weights come from further away than the core looks ahead */
            __builtin_prefetch((const char *)weight + 1536);
            for (int64_t k = 0; k < cols; k++) {
                const T *xp = xr + col_offset[k];
                V x[HKI_CONV2D_TILE_W_MAX];
                UNROLL for (int w = 0; w < tile_w; w++) x[w] =
                    *(const V *)(xp + w * x_pixel_stride);
                UNROLL for (int o = 0; o < tile_o; o++)
                {
                    const V broadcast = weight[o] - (V){0};
                    UNROLL for (int w = 0; w < tile_w; w++) acc[o][w] =
                        acc[o][w] + x[w] * broadcast;
                }
                weight += tile_o;
            }
            xr += channel_stride;
            weight += skip;
        }
    }
    /* else the places of all results are worked out ahead, and kept in vector registers meanwhile */
    int64_t y_channel_stride = a->y_channel_stride;
    __asm__("" : "+r"(y_channel_stride));
    UNROLL for (int o = 0; o < tile_o; o++)
    {
        UNROLL for (int w = 0; w < tile_w; w++) *
            (V *)(a->y + o * y_channel_stride + w * a->y_pixel_stride) = acc[o][w];
    }
}

#define TILE_DEFINE(o, w)                                                                          \
    LANES_TARGET static void LANES_FN(tile_##o##_##w)(const LANES_FN(tile) * a)                    \
    {                                                                                              \
        LANES_FN(tile_body)(a, o, w);                                                              \
    }
LANES_TILES(TILE_DEFINE)
#undef TILE_DEFINE

typedef void (*LANES_FN(tile_fn))(const LANES_FN(tile) *);

#define TILE_ENTRY(o, w) [o][w] = LANES_FN(tile_##o##_##w),
static const LANES_FN(tile_fn)
    LANES_FN(tile_table)[HKI_CONV2D_TILE_O_MAX + 1][HKI_CONV2D_TILE_W_MAX + 1] = {
        LANES_TILES(TILE_ENTRY)};
#undef TILE_ENTRY

#define TILE_WIDTH(o, w) .tile_w[o] = w,
const hki_conv2d_lane_shape LANES_FN(hki_conv2d_shape) = {
    .lanes = L, .element_size = sizeof(T), LANES_WIDEST(TILE_WIDTH)};
#undef TILE_WIDTH

/* [taps][channels]: some taps of one source channel and row, of `channels` target channels. */
LANES_INLINE void LANES_FN(pack_taps)(const T *from, int64_t stride, const int64_t *tap,
                                      int64_t taps, const int channels, T *to)
{
    for (int64_t j = 0; j < taps; j++, to += channels) {
        const T *at = from + tap[j];
        if (stride == 1) /* gradients of layers: rows as they are */
            memcpy(to, at, (size_t)channels * sizeof(T));
        else
            UNROLL for (int o = 0; o < channels; o++) to[o] = at[o * stride];
    }
}

/* [chunk][channel tile][row tap][column phase][channel][column tap][channel of the tile]; only tiles of the plan's parts
   are written. */
LANES_TARGET static void LANES_FN(pack)(const hki_conv2d_plan *plan, const T *weight, T *packed)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    const int64_t stride = plan->weight_target_stride;
    const int64_t begin = hki_conv2d_part_channel(plan, plan->part_begin);
    const int64_t end = hki_conv2d_part_channel(plan, plan->part_end);
    for (int64_t c0 = 0; c0 < plan->source_channels; c0 += plan->chunk) {
        int64_t c1 = c0 + plan->chunk;
        c1 = c1 < plan->source_channels ? c1 : plan->source_channels;
        int64_t o1;
        for (int64_t part = 0, o0 = 0; o0 < plan->target_channels; part++, o0 = o1) {
            o1 = hki_conv2d_part_begin(plan->target_channels, plan->tile_o, part + 1);
            if (o0 < begin || o0 >= end) {
                packed += (o1 - o0) * (c1 - c0) * row->kernel * column->kernel;
                continue;
            }
            for (int64_t i = 0; i < row->kernel * column->phases; i++) {
                int64_t phase = i % column->phases;
                const int64_t *tap = column->tap_kernel + column->phase_begin[phase];
                int64_t taps = column->phase_begin[phase + 1] - column->phase_begin[phase];
                const T *from = weight + o0 * stride + c0 * plan->weight_source_stride +
                                row->tap_kernel[i / column->phases] * column->kernel;
                for (int64_t c = c0; c < c1; c++, from += plan->weight_source_stride) {
                    switch (o1 - o0) {
#define PACK_CASE(o)                                                                               \
    case o:                                                                                        \
        LANES_FN(pack_taps)(from, stride, tap, taps, o, packed);                                   \
        break;
                        PACK_CASE(1)
                        PACK_CASE(2)
                        PACK_CASE(3)
                        PACK_CASE(4)
                        PACK_CASE(5)
                        PACK_CASE(6)
                        PACK_CASE(7)
                        PACK_CASE(8)
                        PACK_CASE(9)
                        PACK_CASE(10)
#undef PACK_CASE
                    }
                    packed += taps * (o1 - o0);
                }
            }
        }
    }
}

/* What stays the same over the tiles of one channel tile of one chunk of one band. */
typedef struct LANES_FN(sweep) {
    const hki_conv2d_plan *plan;
    const T *x;       /* the transposed band */
    int64_t row_lo;   /* its first source row */
    int64_t rows_end; /* target rows of a strip that are wanted */
    int64_t channels; /* of the chunk */
    const T *weight;  /* of the chunk and channel tile */
    int64_t tile_o;
    T *y; /* the channel tile's result: [tile_o][y_rows][target columns][lane] */
    int64_t y_rows;
    int64_t upright_begin, upright_end; /* t whose ragged segments are somebody else's */
    LANES_FN(tile) tile;
} LANES_FN(sweep);

/* The target rows of t in [t0, t1). */
static void LANES_FN(sweep_rows)(LANES_FN(sweep) * sweep, int64_t t0, int64_t t1)
{
    const hki_conv2d_plan *plan = sweep->plan;
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    LANES_FN(tile) *tile = &sweep->tile;
    const LANES_FN(tile_fn) *functions = LANES_FN(tile_table)[sweep->tile_o];
    const int64_t row_stride = plan->row_stride;
    int64_t weight_step = sweep->channels * sweep->tile_o;
    tile->x_pixel_stride = L;
    tile->y_pixel_stride = column->phases * L;
    for (int64_t phase = 0; phase < row->phases; phase++) {
        for (int64_t t = t0; t < t1; t++) {
            int64_t target = phase + row->phases * t;
            if (target >= sweep->rows_end)
                break;
            int64_t first = row->phase_begin[phase], last = row->phase_begin[phase + 1];
            if (plan->strips == 1) {
                /* taps on padding rows drop out: offsets are monotone within a phase */
                while (first < last && (t * row->step + row->tap_offset[first] < 0 ||
                                        t * row->step + row->tap_offset[first] >= row->source))
                    first++;
                while (first < last && (t * row->step + row->tap_offset[last - 1] < 0 ||
                                        t * row->step + row->tap_offset[last - 1] >= row->source))
                    last--;
            }
            const T *x = sweep->x + (t * row->step - sweep->row_lo) * row_stride;
            T *y = sweep->y + (target - row->phases * t0) * column->target * L;
            tile->row_offset = plan->row_offset + first;
            tile->rows = last - first;
            for (int64_t p = 0; p < column->phases; p++) {
                int64_t tap0 = column->phase_begin[p], taps = column->phase_begin[p + 1] - tap0;
                for (int64_t i = plan->segment_begin[p]; i < plan->segment_begin[p + 1]; i++) {
                    const hki_conv2d_segment *segment = &plan->segments[i];
                    if (segment->ragged && t >= sweep->upright_begin && t < sweep->upright_end)
                        continue;
                    tile->cols = segment->tap_end - segment->tap_begin;
                    tile->col_offset = column->tap_offset + segment->tap_begin;
                    tile->x = x + segment->t * L;
                    tile->weight = sweep->weight + weight_step * (first * column->kernel + tap0) +
                                   (segment->tap_begin - tap0) * sweep->tile_o;
                    tile->weight_skip = (taps - tile->cols) * sweep->tile_o;
                    tile->weight_row = weight_step * column->kernel;
                    tile->y = y + (p + column->phases * segment->t) * L;
                    functions[segment->width](tile);
                }
            }
        }
    }
}

static void LANES_FN(store_rows)(const hki_conv2d_plan *plan, const LANES_FN(block) * block,
                                 const T *y, int64_t y_rows, int64_t o0, int64_t o1,
                                 int64_t first_row, T *target)
{
    int64_t height = plan->row.target, width = plan->column.target;
    for (int64_t o = o0; o < o1; o++) {
        T *to[L] = {0};
        int64_t length[L] = {0};
        int64_t run = 0;
        for (int64_t s = 0; s < block->lanes; s++) {
            int64_t row = block->strip[s] * plan->strip_rows + first_row;
            int64_t rows = plan->strip_rows - first_row;
            rows = rows < y_rows ? rows : y_rows;
            rows = rows < height - row ? rows : height - row;
            if (rows <= 0)
                continue;
            length[s] = rows * width;
            run = run > length[s] ? run : length[s];
            to[s] =
                target + ((block->sample[s] * plan->target_channels + o) * height + row) * width;
        }
        LANES_FN(scatter)(y + (o - o0) * y_rows * width * L, run, to, length);
    }
}

#include "op/conv/conv2d_direct.inc.c"
#include "op/conv/conv2d_winograd.inc.c"

void LANES_FN(hki_conv2d_apply)(const hki_conv2d_plan *plan, const T *source, const T *weight,
                                const T *bias, T *target, int64_t begin, int64_t end, void *scratch)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    T *packed = (T *)((char *)scratch + plan->packed_at);
    T *x = (T *)((char *)scratch + plan->source_at);
    T *y = (T *)((char *)scratch + plan->target_at);
    int64_t row_stride = plan->row_stride, taps = row->kernel * column->kernel;
    bool whole = plan->chunk >= plan->source_channels;
    if (!plan->winograd)
        LANES_FN(pack)(plan, weight, packed);
    if (plan->direct) {
        LANES_FN(direct_apply)(plan, source, packed, bias, target, begin, end, x);
        return;
    }
    if (plan->tiles_in_lanes) {
        LANES_FN(tiles_apply)(plan, source, weight, bias, target, begin, end, scratch);
        return;
    }
    LANES_FN(fill_positions)
    (plan->pixel_position, plan->band_rows, row_stride, column->source, plan->column_position);
    /* the padding columns are never written again */
    memset(x, 0, (size_t)(plan->band_rows * row_stride) * sizeof(T));
    LANES_FN(band)
    band = {.source = source,
            .limit = source + end * plan->source_channels * row->source * column->source,
            .channels = plan->source_channels,
            .height = row->source,
            .width = column->source,
            .strip_step = plan->strip_t * row->step,
            .strip_height = INT64_MAX,
            .row_stride = row_stride,
            .channel_stride = plan->channel_stride,
            .position = plan->pixel_position,
            .out = x};
    if (plan->winograd) {
        LANES_FN(winograd_apply)(plan, &band, weight, bias, target, begin, end, scratch);
        return;
    }
    LANES_FN(sweep)
    sweep = {.plan = plan, .x = x, .rows_end = plan->strips == 1 ? row->target : plan->strip_rows};
    const int64_t part_begin = hki_conv2d_part_channel(plan, plan->part_begin);
    const int64_t part_end = hki_conv2d_part_channel(plan, plan->part_end);
    for (int64_t first = 0; first < (end - begin) * plan->strips; first += L) {
        LANES_FN(block) block;
        LANES_FN(block_init)(&block, plan->strips, begin, end, first);
        for (int64_t t0 = 0; t0 < plan->strip_t; t0 += plan->band_t) {
            int64_t t1 = t0 + plan->band_t < plan->strip_t ? t0 + plan->band_t : plan->strip_t;
            int64_t row_lo = t0 * row->step + row->offset_min;
            int64_t row_hi = (t1 - 1) * row->step + row->offset_max + 1;
            if (plan->strips == 1) {
                row_lo = row_lo < 0 ? 0 : row_lo;
                row_hi = row_hi > row->source ? row->source : row_hi;
            }
            sweep.row_lo = row_lo;
            for (int64_t c0 = 0; c0 < plan->source_channels; c0 += plan->chunk) {
                int64_t c1 = c0 + plan->chunk;
                c1 = c1 < plan->source_channels ? c1 : plan->source_channels;
                LANES_FN(load_band)(&band, &block, c0, c1, row_lo, row_hi);
                sweep.channels = c1 - c0;
                int64_t o1;
                for (int64_t tile = 0, o0 = 0; o0 < plan->target_channels; tile++, o0 = o1) {
                    o1 = hki_conv2d_part_begin(plan->target_channels, plan->tile_o, tile + 1);
                    if (o0 < part_begin || o0 >= part_end)
                        continue;
                    sweep.weight = packed + (c0 * plan->target_channels + o0 * (c1 - c0)) * taps;
                    sweep.tile_o = o1 - o0;
                    sweep.tile.channels = c1 - c0;
                    sweep.tile.channel_stride = plan->channel_stride;
                    sweep.tile.bias = bias ? bias + o0 : NULL;
                    sweep.tile.accumulate = c0 > 0;
                    for (int64_t s0 = t0; s0 < t1; s0 += plan->sub_t) {
                        int64_t s1 = s0 + plan->sub_t < t1 ? s0 + plan->sub_t : t1;
                        int64_t y_rows = (s1 - s0) * row->phases;
                        sweep.y_rows = y_rows;
                        sweep.tile.y_channel_stride = y_rows * column->target * L;
                        sweep.y = whole ? y : y + o0 * sweep.tile.y_channel_stride;
                        LANES_FN(sweep_rows)(&sweep, s0, s1);
                        if (c1 == plan->source_channels)
                            LANES_FN(store_rows)
                        (plan, &block, sweep.y, y_rows, o0, o1, s0 * row->phases, target);
                    }
                }
            }
        }
    }
}

#include "op/conv/conv2d_weigh.inc.c"

#include "op/conv/conv2d_block.inc.c"

#include "op/simd/lanes_end.inc.c"
