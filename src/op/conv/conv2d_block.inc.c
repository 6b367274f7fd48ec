/* The kernels of conv2d_block_kernels.h, on the tiles of conv2d_lanes.inc.c, which includes it. The includer defines
   LANES_GEMM, and may define, where there are instructions for it: LANES_TO_BITS(m), the lanes of a comparison as bits
   of an integer; LANES_NOT_LE(a, b) and LANES_EQ(a, b), where that holds, as bits; LANES_PICK(bits, a, b), a where a
   bit is set, else b, and LANES_RELU(a), a < 0 ? 0 : a. */

#if LANES_N > 8
typedef uint16_t LANES_FN(bits);
#else
typedef uint8_t LANES_FN(bits);
#endif
#define B LANES_FN(bits)

#define LANE_BIT(p, h) (h) << (p)

LANES_INLINE B LANES_FN(to_bits)(M m)
{
    const M one = m & (M){EACH_LANE(LANE_BIT, 1)};
    unsigned bits = 0;
    UNROLL for (int i = 0; i < L; i++) bits |= (unsigned)one[i];
    return (B)bits;
}

LANES_INLINE V LANES_FN(pick)(B bits, V a, V b)
{
    const M one = {EACH_LANE(LANE_BIT, 1)};
    const M take = (M)((((M){0} + bits) & one) != 0);
    return (V)((take & (M)a) | (~take & (M)b));
}

LANES_INLINE V LANES_FN(relu)(V a)
{
    return (V)(~(a < (V){0}) & (M)a);
}

#undef LANE_BIT
#ifndef LANES_TO_BITS
#define LANES_TO_BITS(m) LANES_FN(to_bits)(m)
#endif
#ifndef LANES_NOT_LE
#define LANES_NOT_LE(a, b) LANES_TO_BITS(~((a) <= (b)))
#define LANES_EQ(a, b)     LANES_TO_BITS((a) == (b))
#endif
#ifndef LANES_PICK
#define LANES_PICK(bits, a, b) LANES_FN(pick)(bits, a, b)
#define LANES_RELU(a)          LANES_FN(relu)(a)
#endif

/* ---- forward ---- */

/* Where a row of windows comes from and goes to; row strides are in elements. */
typedef struct LANES_FN(pool_span) {
    const T *a; /* the convolution's result */
    B *mask;    /* of that, or NULL */
    T *y;
    int64_t windows, a_row, mask_row;
    T factor; /* average: what the sum is multiplied with, if that is exact; else 0 */
} LANES_FN(pool_span);

/* Averages that are not finite because their sum was too large: from elements that were made smaller
   by a power of two, which changes no digit, as pooling alone does. */
static void LANES_FN(mend_averages)(const LANES_FN(pool_span) * r, bool relu, int64_t height,
                                    int64_t width)
{
    const T count = (T)(height * width);
    T share = 1;
    while (share * count > 1)
        share /= 2;
    for (int64_t i = 0; i < r->windows * L; i++) {
        const T *a = r->a + i / L * width * L + i % L;
        T sum = 0;
        if (isfinite(r->y[i]))
            continue;
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++) {
                const T v = a[y * r->a_row + x * L];
                sum += relu && v < 0 ? 0 : v * share;
            }
        r->y[i] = sum / (count * share);
    }
}

/* Relu, mask bits and pooling of one row of windows of height x width. */
LANES_INLINE void LANES_FN(pool_row_body)(const LANES_FN(pool_span) * r, const bool relu,
                                          const hki_block_pool pool, const int64_t height,
                                          const int64_t width)
{
    const V zero = {0};
    V odd = {0}; /* NaN once an average is not finite */
    for (int64_t i = 0; i < r->windows; i++) {
        const T *a = r->a + i * width * L;
        B *mask = r->mask ? r->mask + i * width : NULL;
        V best = zero, sum = zero;
        for (int64_t y = 0; y < height; y++) {
            for (int64_t x = 0; x < width; x++) {
                const V in = *(const V *)(a + y * r->a_row + x * L);
                const V v = relu ? LANES_RELU(in) : in;
                B bits = 0;
                if (pool != HKI_BLOCK_POOL_MAX) {
                    sum = pool == HKI_BLOCK_POOL_NONE ? v : sum + v;
                    if (mask)
                        bits = (B)LANES_NOT_LE(in, zero);
                } else if (y == 0 && x == 0) {
                    best = v;
                    bits = (B) ~(B)0;
                } else {
                    bits = (B)(LANES_NOT_LE(v, best) & LANES_EQ(best, best));
                    best = LANES_PICK(bits, v, best);
                }
                if (mask)
                    mask[y * r->mask_row + x] = bits;
            }
        }
        if (pool == HKI_BLOCK_POOL_MAX && mask) {
            /* the last one to take over has won */
            B open = (B) ~(B)0;
            for (int64_t y = height - 1; y >= 0; y--) {
                for (int64_t x = width - 1; x >= 0; x--) {
                    const V in = *(const V *)(a + y * r->a_row + x * L);
                    B took = (B)(mask[y * r->mask_row + x] & open);
                    open = (B)(open & ~took);
                    mask[y * r->mask_row + x] = relu ? (B)(took & LANES_NOT_LE(in, zero)) : took;
                }
            }
        }
        if (pool == HKI_BLOCK_POOL_AVERAGE) {
            sum = r->factor != 0 ? sum * r->factor : sum / (T)(height * width);
            odd = odd + (sum - sum);
        }
        *(V *)(r->y + i * L) = pool == HKI_BLOCK_POOL_MAX ? best : sum;
    }
    if (pool == HKI_BLOCK_POOL_AVERAGE && LANES_NOT_LE(odd, zero))
        LANES_FN(mend_averages)(r, relu, height, width);
}

LANES_TARGET static void LANES_FN(pool_row)(const hki_conv2d_block *block,
                                            const LANES_FN(pool_span) * row)
{
    const int64_t height = block->pool_height, width = block->pool_width;
    const bool two = height == 2 && width == 2;
#define POOL_ROW(relu)                                                                             \
    switch (block->pool) {                                                                         \
    case HKI_BLOCK_POOL_NONE:                                                                      \
        LANES_FN(pool_row_body)(row, relu, HKI_BLOCK_POOL_NONE, 1, 1);                             \
        break;                                                                                     \
    case HKI_BLOCK_POOL_AVERAGE:                                                                   \
        if (two)                                                                                   \
            LANES_FN(pool_row_body)(row, relu, HKI_BLOCK_POOL_AVERAGE, 2, 2);                      \
        else                                                                                       \
            LANES_FN(pool_row_body)(row, relu, HKI_BLOCK_POOL_AVERAGE, height, width);             \
        break;                                                                                     \
    case HKI_BLOCK_POOL_MAX:                                                                       \
        if (two)                                                                                   \
            LANES_FN(pool_row_body)(row, relu, HKI_BLOCK_POOL_MAX, 2, 2);                          \
        else                                                                                       \
            LANES_FN(pool_row_body)(row, relu, HKI_BLOCK_POOL_MAX, height, width);                 \
        break;                                                                                     \
    }
    if (block->relu)
        POOL_ROW(true)
    else
        POOL_ROW(false)
#undef POOL_ROW
}

/* 1 / count where a product with it is the quotient, exactly; else 0. */
static T LANES_FN(exact_inverse)(int64_t count)
{
    return (count & (count - 1)) == 0 ? (T)1 / (T)count : (T)0;
}

/* Rows [s0, s1) of the result of channels [o0, o1), [channel][row][column][lane] at a, to y and the mask. */
static void LANES_FN(finish_rows)(const hki_conv2d_block_forward_call *call, const T *a, int64_t o0,
                                  int64_t o1, int64_t s0, int64_t s1)
{
    const hki_conv2d_block *block = call->block;
    const hki_conv2d_plan *plan = call->plan;
    bool pools = block->pool != HKI_BLOCK_POOL_NONE;
    int64_t height = pools ? block->pool_height : 1, width = pools ? block->pool_width : 1;
    int64_t columns = plan->column.target, windows = columns / width;
    LANES_FN(pool_span)
    row = {.windows = windows,
           .a_row = columns * L,
           .mask_row = columns,
           .factor = LANES_FN(exact_inverse)(height * width)};
    for (int64_t o = o0; o < o1; o++) {
        for (int64_t s = s0; s < s1; s += height) {
            row.a = a + ((o - o0) * (s1 - s0) + s - s0) * columns * L;
            row.y = (T *)call->y + (o * (plan->row.target / height) + s / height) * windows * L;
            row.mask = call->mask ? (B *)call->mask + (o * plan->row.target + s) * columns : NULL;
            LANES_FN(pool_row)(block, &row);
        }
    }
}

/* Source rows [row_lo, row_hi) of all channels, vectors of x, with their padding. */
LANES_TARGET static void LANES_FN(copy_band)(const hki_conv2d_plan *plan, const T *x,
                                             int64_t row_lo, int64_t row_hi, T *band)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    for (int64_t c = 0; c < plan->source_channels; c++) {
        for (int64_t r = row_lo; r < row_hi; r++) {
            T *to = band + c * plan->channel_stride + (r - row_lo) * plan->row_stride;
            memset(to, 0, (size_t)plan->row_stride * sizeof(T));
            if (r < 0 || r >= row->source)
                continue;
            const T *from = x + (c * row->source + r) * column->source * L;
            if (column->step == 1)
                memcpy(to + plan->left * L, from, (size_t)(column->source * L) * sizeof(T));
            else
                for (int64_t i = 0; i < column->source; i++)
                    *(V *)(to + plan->column_position[i]) = *(const V *)(from + i * L);
        }
    }
}

static void LANES_FN(block_forward)(const hki_conv2d_block_forward_call *call)
{
    const hki_conv2d_plan *plan = call->plan;
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    const T *weight = call->weight, *bias = call->bias;
    int64_t weights = plan->source_channels * row->kernel * column->kernel;
    bool finishes = call->block->relu || call->block->pool != HKI_BLOCK_POOL_NONE;
    LANES_FN(sweep)
    sweep = {.plan = plan,
             .x = plan->in_place ? call->x : call->band,
             .rows_end = row->target,
             .channels = plan->source_channels,
             .tile = {.channels = plan->source_channels, .channel_stride = plan->channel_stride}};
    for (int64_t t0 = 0, t1; t0 < row->target; t0 = t1) {
        t1 = t0 + plan->band_t < row->target ? t0 + plan->band_t : row->target;
        if (!plan->in_place) {
            int64_t row_lo = t0 * row->step + row->offset_min;
            int64_t row_hi = (t1 - 1) * row->step + row->offset_max + 1;
            sweep.row_lo = row_lo < 0 ? 0 : row_lo;
            LANES_FN(copy_band)
            (plan, call->x, sweep.row_lo, row_hi < row->source ? row_hi : row->source, call->band);
        }
        for (int64_t part = 0, o0 = 0, o1; o0 < plan->target_channels; part++, o0 = o1) {
            o1 = hki_conv2d_part_begin(plan->target_channels, plan->tile_o, part + 1);
            sweep.tile_o = o1 - o0;
            sweep.weight = weight + o0 * weights;
            sweep.tile.bias = bias ? bias + o0 : NULL;
            for (int64_t s0 = t0, s1; s0 < t1; s0 = s1) {
                s1 = s0 + plan->sub_t < t1 ? s0 + plan->sub_t : t1;
                int64_t rows = finishes ? s1 - s0 : row->target;
                sweep.y = finishes ? call->result
                                   : (T *)call->y + (o0 * row->target + s0) * column->target * L;
                sweep.tile.y_channel_stride = rows * column->target * L;
                LANES_FN(sweep_rows)(&sweep, s0, s1);
                if (finishes)
                    LANES_FN(finish_rows)(call, call->result, o0, o1, s0, s1);
            }
        }
    }
}

/* ---- backward ---- */

/* How rows of the gradient lie: [channel][row][left zeros, columns][lane], and as many zeros at the end. */
typedef struct LANES_FN(gradient) {
    const hki_conv2d_block_backward_call *call;
    int64_t left, row_stride, channel_stride;
    T factor;
} LANES_FN(gradient);

/* One row of the gradient: dy of its windows, divided by the window's size if averaged, where the mask lets it
   pass. Adds it to two sums. */
LANES_INLINE void LANES_FN(spread_body)(const T *dy, const B *mask, T *out, int64_t windows,
                                        const int64_t width, T factor, T divisor, V sum[2])
{
    V even = sum[0], odd = sum[1];
    for (int64_t i = 0; i < windows; i++) {
        V d = *(const V *)(dy + i * L);
        d = factor != 0 ? d * factor : d / divisor;
        for (int64_t x = 0; x < width; x++) {
            V v = d;
            if (mask)
                v = LANES_PICK(mask[i * width + x], d, (V){0});
            *(V *)(out + (i * width + x) * L) = v;
            if (width % 2 ? i % 2 : x % 2)
                odd = odd + v;
            else
                even = even + v;
        }
    }
    sum[0] = even;
    sum[1] = odd;
}

/* Rows [r0, r1) of the gradient of channels [o0, o1) to out; adds the sums of channel o, a lane each, to
   sums[o - o0]. */
LANES_TARGET static void LANES_FN(spread_rows)(const LANES_FN(gradient) * g, int64_t o0, int64_t o1,
                                               int64_t r0, int64_t r1, T *out, V *sums)
{
    const hki_conv2d_block_backward_call *call = g->call;
    const hki_conv2d_block *block = call->block;
    const bool pools = block->pool != HKI_BLOCK_POOL_NONE;
    const int64_t height = pools ? block->pool_height : 1, width = pools ? block->pool_width : 1;
    const int64_t windows = call->width / width, dy_rows = call->height / height;
    const T divisor = block->pool == HKI_BLOCK_POOL_AVERAGE ? (T)(height * width) : (T)1;
    const size_t gap = (size_t)(g->left * L) * sizeof(T);
    for (int64_t o = o0; o < o1; o++) {
        V sum[2] = {{0}, {0}};
        T *row = out + (o - o0) * g->channel_stride;
        for (int64_t r = r0; r < r1; r++, row += g->row_stride) {
            const T *dy = (const T *)call->dy + (o * dy_rows + r / height) * windows * L;
            const B *mask = call->mask;
            if (mask)
                mask += (o * call->height + r) * call->width;
            memset(row, 0, gap);
            T *to = row + g->left * L;
            if (width == 2 && mask)
                LANES_FN(spread_body)(dy, mask, to, windows, 2, g->factor, divisor, sum);
            else
                LANES_FN(spread_body)(dy, mask, to, windows, width, g->factor, divisor, sum);
        }
        memset(row, 0, gap);
        if (sums)
            sums[o - o0] = sums[o - o0] + (sum[0] + sum[1]);
    }
}

/* Adds the sum over the lanes in use. */
LANES_TARGET static void LANES_FN(add_lanes)(T *sum, V lanes, const M *keep)
{
    V v[L] = {keep ? (V)((M)lanes & *keep) : lanes};
    *sum += LANES_FN(sum_lanes)(v)[0];
}

/* dweight and dbias. With `whole`, the gradient stays behind in call->gradient. */
LANES_TARGET static void LANES_FN(block_weigh)(const hki_conv2d_block_backward_call *call,
                                               const LANES_FN(gradient) * g, bool whole,
                                               const M *keep)
{
    const hki_conv2d_plan *plan = call->weigh;
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    int64_t weights = plan->source_channels * row->kernel * column->kernel;
    T *dbias = call->dbias;
    _Alignas(64) T sums[HKI_CONV2D_TILE_O_MAX * HKI_CONV2D_TILE_W_MAX + L];
    LANES_FN(weigh_tile)
    tile = {.sums = sums,
            .cols = column->target,
            .x_row = row->step * plan->row_stride,
            .dy_row = g->row_stride,
            .dy_channel = g->channel_stride,
            .keep = keep};
    for (int64_t t0 = 0, t1; t0 < row->target; t0 = t1) {
        t1 = t0 + plan->band_t < row->target ? t0 + plan->band_t : row->target;
        const T *x = call->x;
        if (plan->in_place) {
            x += t0 * plan->row_stride;
        } else if (call->dweight) {
            LANES_FN(copy_band)
            (plan, x, t0 * row->step + row->offset_min, (t1 - 1) * row->step + row->offset_max + 1,
             call->band);
            x = call->band;
        }
        for (int64_t part = 0, o0 = 0, o1; o0 < plan->target_channels; part++, o0 = o1) {
            o1 = hki_conv2d_part_begin(plan->target_channels, plan->tile_o, part + 1);
            V bias[HKI_CONV2D_TILE_O_MAX] = {{0}};
            for (int64_t s0 = t0, s1; s0 < t1; s0 = s1) {
                s1 = s0 + plan->sub_t < t1 ? s0 + plan->sub_t : t1;
                T *gradient = call->gradient;
                if (whole)
                    gradient += o0 * g->channel_stride + s0 * g->row_stride;
                LANES_FN(spread_rows)(g, o0, o1, s0, s1, gradient, bias);
                if (!call->dweight)
                    continue;
                tile.x = x + (s0 - t0) * tile.x_row;
                tile.dy = gradient + g->left * L;
                tile.rows = s1 - s0;
                LANES_FN(weigh_part)(plan, &tile, o0, o1, weights, call->dweight);
            }
            for (int64_t o = o0; dbias && o < o1; o++)
                LANES_FN(add_lanes)(&dbias[o], bias[o - o0], keep);
        }
    }
}

/* dweight and dbias of a dense layer: a product of matrices. The gradient stays behind in call->gradient, [o][lane]. */
LANES_TARGET static void LANES_FN(dense_weigh)(const hki_conv2d_block_backward_call *call,
                                               const LANES_FN(gradient) * g, const M *keep)
{
    const hki_conv2d_geometry *geometry = &call->block->geometry;
    int64_t outputs = geometry->out_channels;
    int64_t inputs = geometry->in_channels * geometry->in_height * geometry->in_width;
    T *gradient = call->gradient, *dweight = call->dweight, *dbias = call->dbias;
    const T *x = call->x;
    for (int64_t o = 0; o < outputs; o++) {
        V bias = {0};
        LANES_FN(spread_rows)(g, o, o + 1, 0, 1, gradient + o * L, &bias);
        if (dbias)
            LANES_FN(add_lanes)(&dbias[o], bias, keep);
    }
    /* it fails only where there are no addresses for its buffer: then, slowly */
    if (!dweight || LANES_GEMM(false, true, outputs, inputs, call->samples, 1, gradient, L, x, L, 1,
                               dweight, inputs))
        return;
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t c = 0; c < inputs; c++)
            for (int64_t s = 0; s < call->samples; s++)
                dweight[o * inputs + c] += gradient[o * L + s] * x[c * L + s];
}

/* The ragged segments of the upright rows, which take all row taps: a tile lies across rows, so that each column
   takes just the taps that it has. Of plans with one phase; sweep->y is at row t0. */
static void LANES_FN(sweep_upright)(LANES_FN(sweep) * sweep, int64_t t0)
{
    const int64_t begin = sweep->upright_begin, rows = sweep->upright_end - begin;
    const hki_conv2d_plan *plan = sweep->plan;
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    LANES_FN(tile) *tile = &sweep->tile;
    const LANES_FN(tile_fn) *functions = LANES_FN(tile_table)[sweep->tile_o];
    tile->row_offset = plan->row_offset;
    tile->rows = row->kernel;
    tile->weight_row = sweep->channels * sweep->tile_o * column->kernel;
    tile->x_pixel_stride = plan->row_stride;
    tile->y_pixel_stride = column->target * L;
    for (int64_t i = 0; i < plan->segment_begin[1]; i++) {
        const hki_conv2d_segment *segment = &plan->segments[i];
        for (int64_t c = segment->t; segment->ragged && c < segment->t + segment->width; c++) {
            /* offsets are places in a row, whose columns begin at `left` */
            int64_t lo = (plan->left - c) * L, hi = lo + column->source * L;
            int64_t first = segment->tap_begin, last = segment->tap_end;
            while (first < last &&
                   (column->tap_offset[first] < lo || column->tap_offset[first] >= hi))
                first++;
            while (first < last &&
                   (column->tap_offset[last - 1] < lo || column->tap_offset[last - 1] >= hi))
                last--;
            tile->cols = last - first;
            tile->col_offset = column->tap_offset + first;
            tile->weight = sweep->weight + first * sweep->tile_o;
            tile->weight_skip = (column->kernel - tile->cols) * sweep->tile_o;
            for (int64_t part = 0, r = 0, end; r < rows; part++, r = end) {
                end = hki_conv2d_part_begin(rows, plan->tile_w, part + 1);
                tile->x = sweep->x + (begin + r - sweep->row_lo) * plan->row_stride + c * L;
                tile->y = sweep->y + ((begin + r - t0) * column->target + c) * L;
                functions[end - r](tile);
            }
        }
    }
}

static void LANES_FN(block_data)(const hki_conv2d_block_backward_call *call,
                                 const LANES_FN(gradient) * g, bool whole)
{
    const hki_conv2d_plan *plan = call->data;
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    const T *weight = call->weight;
    int64_t weights = plan->source_channels * row->kernel * column->kernel;
    int64_t image = row->target * column->target * L;
    LANES_FN(sweep)
    sweep = {.plan = plan,
             .x = call->gradient,
             .rows_end = row->target,
             .channels = plan->source_channels,
             .tile = {.channels = plan->source_channels,
                      .channel_stride = plan->channel_stride,
                      .y_channel_stride = image}};
    for (int64_t t0 = 0, t1; t0 < row->per_phase; t0 = t1) {
        t1 = t0 + plan->band_t < row->per_phase ? t0 + plan->band_t : row->per_phase;
        if (row->phases * column->phases == 1) {
            sweep.upright_begin = t0 > plan->inner_begin ? t0 : plan->inner_begin;
            sweep.upright_end = t1 < plan->inner_end ? t1 : plan->inner_end;
        }
        if (!whole) {
            int64_t row_lo = t0 + row->offset_min, row_hi = t1 + row->offset_max;
            row_lo = row_lo < 0 ? 0 : row_lo < row->source ? row_lo : row->source;
            row_hi = row_hi < row_lo ? row_lo : row_hi < row->source ? row_hi : row->source;
            sweep.row_lo = row_lo;
            LANES_FN(spread_rows)
            (g, 0, plan->source_channels, row_lo, row_hi, call->gradient, NULL);
        }
        for (int64_t part = 0, c0 = 0, c1; c0 < plan->target_channels; part++, c0 = c1) {
            c1 = hki_conv2d_part_begin(plan->target_channels, plan->tile_o, part + 1);
            sweep.tile_o = c1 - c0;
            sweep.weight = weight + c0 * weights;
            sweep.y = (T *)call->dx + c0 * image + t0 * row->phases * column->target * L;
            LANES_FN(sweep_rows)(&sweep, t0, t1);
            if (sweep.upright_begin < sweep.upright_end)
                LANES_FN(sweep_upright)(&sweep, t0);
        }
    }
}

LANES_TARGET static void LANES_FN(block_backward)(const hki_conv2d_block_backward_call *call)
{
    const hki_conv2d_block *block = call->block;
    const hki_conv2d_plan *data = call->data, *weigh = call->weigh;
    const bool average = block->pool == HKI_BLOCK_POOL_AVERAGE;
    M lanes;
    for (int i = 0; i < L; i++)
        lanes[i] = i < call->samples ? -1 : 0;
    const M *keep = call->samples < L ? &lanes : NULL;
    LANES_FN(gradient)
    for_data = {.call = call}, for_weigh = {.call = call};
    for_data.factor = for_weigh.factor =
        average ? LANES_FN(exact_inverse)(block->pool_height * block->pool_width) : 1;
    bool whole = data && data->band_rows >= call->height;
    if (data) {
        for_data.left = data->left;
        for_data.row_stride = data->row_stride;
        for_data.channel_stride = data->channel_stride;
    }
    if (weigh) {
        for_weigh.row_stride = call->width * L;
        for_weigh.channel_stride = (weigh->sub_t * call->width | 1) * L;
        LANES_FN(block_weigh)(call, whole ? &for_data : &for_weigh, whole, keep);
    } else if (call->dweight || call->dbias) {
        for_weigh.row_stride = for_weigh.channel_stride = L;
        LANES_FN(dense_weigh)(call, &for_weigh, keep);
        whole =
            whole && data->left == 0 && data->channel_stride == L; /* else it lies differently */
    } else if (whole) {
        LANES_FN(spread_rows)
        (&for_data, 0, data->source_channels, 0, call->height, call->gradient, NULL);
    }
    if (data)
        LANES_FN(block_data)(call, &for_data, whole);
}

/* ---- samples to lanes and back ---- */

static void LANES_FN(block_gather)(const void *rows, int64_t count, int64_t elements, void *lanes)
{
    LANES_FN(rows_to_lanes)(rows, elements, count < L ? count : L, elements, L, lanes);
}

static void LANES_FN(block_scatter)(const void *lanes, int64_t count, int64_t elements, void *rows)
{
    const T *from = lanes;
    _Alignas(64) T short_run[L * L];
    T *to[L] = {0};
    int64_t length[L] = {0};
    for (int64_t s = 0; s < count && s < L; s++) {
        to[s] = (T *)rows + s * elements;
        length[s] = elements;
    }
    if (elements < L) {
        memset(short_run, 0, sizeof short_run);
        memcpy(short_run, lanes, (size_t)(elements * L) * sizeof(T));
        from = short_run;
    }
    LANES_FN(scatter)(from, elements, to, length);
}

static void LANES_FN(block_pack)(const hki_conv2d_plan *plan, const void *weight, void *packed)
{
    LANES_FN(pack)(plan, weight, packed);
}

const hki_conv2d_block_kernels LANES_FN(hki_conv2d_block_kernels) = {
    LANES_FN(block_pack), LANES_FN(block_forward), LANES_FN(block_backward), LANES_FN(block_gather),
    LANES_FN(block_scatter)};

#undef B
#undef LANES_TO_BITS
#undef LANES_NOT_LE
#undef LANES_EQ
#undef LANES_PICK
#undef LANES_RELU
#undef LANES_GEMM
