/* Winograd's method for few samples: the lanes are tiles, of one sample after the other. On the transformations and products of
   conv2d_winograd.inc.c, which includes it. */

/* Where the tiles of a vector lie. */
typedef struct LANES_FN(tile_lanes) {
    int64_t count;                        /* lanes in use */
    int64_t sample[L], row[L], column[L]; /* of the tile's first result */
} LANES_FN(tile_lanes);

static void LANES_FN(tile_lanes_init)(LANES_FN(tile_lanes) * lanes, const hki_conv2d_plan *plan,
                                      int64_t begin, int64_t first, int64_t end)
{
    const int64_t tiles = plan->tile_rows * plan->tile_columns;
    lanes->count = hki_min(L, end - first);
    for (int64_t s = 0; s < lanes->count; s++) {
        const int64_t tile = (first + s) % tiles;
        lanes->sample[s] = begin + (first + s) / tiles;
        lanes->row[s] = tile / plan->tile_columns * plan->tile_m;
        lanes->column[s] = tile % plan->tile_columns * plan->tile_m;
    }
}

/* The n x n source of a tile whose corner is at (y, x) of a plane, to one lane; zeros outside of it. */
LANES_INLINE void LANES_FN(tile_load)(const int n, const T *plane, int64_t height, int64_t width,
                                      int64_t y, int64_t x, T *to)
{
    if (y >= 0 && x >= 0 && y + n <= height && x + n <= width) {
        const T *from = plane + y * width + x;
        UNROLL for (int i = 0; i < n; i++)
        {
            UNROLL for (int j = 0; j < n; j++) to[(n * i + j) * L] = from[i * width + j];
        }
        return;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const bool inside = y + i >= 0 && y + i < height && x + j >= 0 && x + j < width;
            to[(n * i + j) * L] = inside ? plane[(y + i) * width + x + j] : 0;
        }
}

/* B^T x B of the tiles of a vector, of all source channels. */
LANES_INLINE void LANES_FN(tiles_transform)(const int n, const int m, const hki_conv2d_plan *plan,
                                            const LANES_FN(tile_lanes) * lanes, const T *source,
                                            T *to)
{
    (void)m;
    const int64_t height = plan->row.source, width = plan->column.source;
    _Alignas(64) T x[N_MAX * N_MAX * L] = {0};
    for (int64_t c = 0; c < plan->source_channels; c++, to += plan->group * L) {
        for (int64_t s = 0; s < lanes->count; s++)
            LANES_FN(tile_load)
        (n, source + (lanes->sample[s] * plan->source_channels + c) * height * width, height, width,
         lanes->row[s] + plan->row.offset_min, lanes->column[s] + plan->column.offset_min, x + s);
        LANES_FN(winograd_input)(n, x, n * L, to, plan->source_part);
    }
}

LANES_INLINE void LANES_FN(tiles_results)(const int n, const int m, const hki_conv2d_plan *plan,
                                          const LANES_FN(tile_lanes) * lanes, const T *sums,
                                          const T *bias, int64_t o0, int64_t o1, T *target)
{
    const int64_t height = plan->row.target, width = plan->column.target;
    for (int64_t o = o0; o < o1; o++) {
        const T start = bias ? bias[o] : (T)0;
        V y[R_MAX * R_MAX];
        LANES_FN(winograd_coefficients)
        (n, m, sums + (o - o0) * plan->group * L, plan->target_part, y);
        UNROLL for (int k = 0; k < m * m; k++) y[k] = y[k] + start;
        _Alignas(64) T values[R_MAX * R_MAX * L];
        UNROLL for (int k = 0; k < m * m; k++) * (V *)(values + k * L) = y[k];
        for (int64_t s = 0; s < lanes->count; s++) {
            const int64_t rows = hki_min(m, height - lanes->row[s]);
            const int64_t columns = hki_min(m, width - lanes->column[s]);
            T *to =
                target +
                ((lanes->sample[s] * plan->target_channels + o) * height + lanes->row[s]) * width +
                lanes->column[s];
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < columns; j++)
                    to[i * width + j] = values[(m * i + j) * L + s];
        }
    }
}

/* Vectors [first, first + count) of so many tiles, of target channels [o0, o1). */
LANES_TARGET static void LANES_FN(tiles_group)(const hki_conv2d_plan *plan, const T *source,
                                               const T *bias, int64_t o0, int64_t o1, T *target,
                                               int64_t begin, int64_t first, int64_t count,
                                               int64_t tiles, char *scratch)
{
    T *transformed = (T *)(scratch + plan->winograd_source_at);
    T *sums = (T *)(scratch + plan->winograd_sums_at);
    LANES_FN(tile_lanes) lanes;
    for (int64_t t = 0; t < count; t++) {
        LANES_FN(tile_lanes_init)(&lanes, plan, begin, (first + t) * L, tiles);
        BY_TILE(plan, LANES_FN(tiles_transform), plan, &lanes, source, transformed + t * L);
    }
    LANES_FN(winograd_multiply)
    (plan, (T *)(scratch + plan->packed_at), transformed, o1 - o0, count, sums);
    for (int64_t t = 0; t < count; t++) {
        LANES_FN(tile_lanes_init)(&lanes, plan, begin, (first + t) * L, tiles);
        BY_TILE(plan, LANES_FN(tiles_results), plan, &lanes, sums + t * L, bias, o0, o1, target);
    }
}

static void LANES_FN(tiles_apply)(const hki_conv2d_plan *plan, const T *source, const T *weight,
                                  const T *bias, T *target, int64_t begin, int64_t end,
                                  char *scratch)
{
    const int64_t tiles = (end - begin) * plan->tile_rows * plan->tile_columns;
    const int64_t vectors = hki_divide_up(tiles, L);
    for (int64_t chunk = 0, o0, o1; LANES_FN(winograd_chunk)(plan, chunk, &o0, &o1); chunk++) {
        LANES_FN(winograd_pack)(plan, weight, o0, o1, (T *)(scratch + plan->packed_at));
        for (int64_t first = 0; first < vectors; first += plan->group)
            LANES_FN(tiles_group)
        (plan, source, bias, o0, o1, target, begin, first, hki_min(plan->group, vectors - first),
         tiles, scratch);
    }
}
