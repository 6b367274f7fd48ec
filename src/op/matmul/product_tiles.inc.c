/* Products of product_kernel.h, on the tiles of layer_tiles.inc.c, which includes it, and of product_tree.inc.c. */
#include "op/matmul/product_tree.inc.c"

/* Vectors of a panel that lie side by side in the image: what one holds too much the next one overwrites, or belongs to
   columns that there are not. */
typedef struct LANES_FN(window_vectors) {
    int64_t count, vectors; /* vectors: of the panel */
    int64_t lane[HKI_LAYER_PANEL_VECTORS * L], at[HKI_LAYER_PANEL_VECTORS * L];
    int64_t used[HKI_LAYER_PANEL_VECTORS * L]; /* elements */
    bool fill;                                 /* there are columns too few */
} LANES_FN(window_vectors);

static void LANES_FN(find_windows)(const hki_product_windows *w, int64_t j, int64_t columns,
                                   int64_t vectors, LANES_FN(window_vectors) * found)
{
    found->count = 0;
    found->vectors = vectors;
    found->fill = columns < vectors * L;
    for (int64_t lane = 0, used; lane < columns; lane += used) {
        const int64_t place = w->first + j + lane, column = place % w->width;
        used = hki_min(hki_min(columns - lane, w->width - column), L);
        found->lane[found->count] = lane;
        found->at[found->count] = place / w->width * w->row + column;
        found->used[found->count++] = used;
    }
}

/* So many sums of `count` vectors. */
LANES_INLINE void LANES_FN(copy_windows_body)(const LANES_FN(window_vectors) * given,
                                              const int64_t count, const T *x, const int32_t *terms,
                                              int64_t sums, T *to)
{
    const LANES_FN(window_vectors) own = *given;
    const int64_t step = own.vectors * L;
    for (int64_t k = 0; k < sums; k++, to += step) {
        const T *from = x + terms[k];
        if (own.fill) {
            *(V *)to = (V){0};
            *(V *)(to + step - L) = (V){0};
        }
        UNROLL for (int64_t i = 0; i < count; i++) * (VU *)(to + own.lane[i]) =
            *(const VU *)(from + own.at[i]);
    }
}

LANES_TARGET static void LANES_FN(copy_windows)(const LANES_FN(window_vectors) * found, const T *x,
                                                const int32_t *terms, int64_t sums, T *to)
{
    switch (found->count) {
#define CASE(count)                                                                                \
    case count:                                                                                    \
        LANES_FN(copy_windows_body)(found, count, x, terms, sums, to);                             \
        break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
#undef CASE
    default:
        LANES_FN(copy_windows_body)(found, found->count, x, terms, sums, to);
    }
}

/* Element by element, where vectors would reach past the end. */
static void LANES_FN(copy_last_windows)(const LANES_FN(window_vectors) * found, const T *x,
                                        const int32_t *terms, int64_t sums, T *to)
{
    for (int64_t k = 0; k < sums; k++, to += found->vectors * L) {
        memset(to, 0, (size_t)(found->vectors * L) * sizeof(T));
        for (int64_t i = 0; i < found->count; i++)
            memcpy(to + found->lane[i], x + terms[k] + found->at[i],
                   (size_t)found->used[i] * sizeof(T));
    }
}

static void LANES_FN(pack_windows)(const hki_product_windows *w, int64_t j, int64_t columns,
                                   int64_t vectors, int64_t k0, int64_t k1, T *to)
{
    LANES_FN(window_vectors) found;
    const T *x = w->x;
    LANES_FN(find_windows)(w, j, columns, vectors, &found);
    int64_t safe = k1;
    while (safe > k0 && w->elements - w->terms[safe - 1] - found.at[found.count - 1] < L)
        safe--;
    LANES_FN(copy_windows)(&found, x, w->terms + k0, safe - k0, to);
    LANES_FN(copy_last_windows)
    (&found, x, w->terms + safe, k1 - safe, to + (safe - k0) * vectors * L);
}

/* The columns of b that fill panels, row after row: what lies side by side is read at once. Returns the first column left. */
LANES_TARGET static int64_t LANES_FN(pack_whole_panels)(const hki_product *p, int64_t j0,
                                                        int64_t j1, int64_t k0, int64_t k1, T *to)
{
    const int64_t width = HKI_LAYER_PANEL_VECTORS * L, panels = (j1 - j0) / width;
    const T *from = (const T *)p->b + k0 * p->ldb + j0;
    for (int64_t k = k0; k < k1; k++, from += p->ldb, to += width) {
        T *at = to;
        for (int64_t j = 0; j < panels * width; j += width, at += width * (k1 - k0)) {
            UNROLL for (int v = 0; v < HKI_LAYER_PANEL_VECTORS; v++) * (V *)(at + v * L) =
                *(const VU *)(from + j + v * L);
        }
    }
    return j0 + panels * width;
}

/* Columns [j0, j1) of sums [k0, k1) of b, as panels. */
LANES_TARGET static void LANES_FN(product_pack_b)(const hki_product *p, int64_t j0, int64_t j1,
                                                  int64_t k0, int64_t k1, T *to)
{
    const T *b = p->b;
    T *const packed = to;
    int64_t j = j0;
    if (!p->windows && !p->trans_b) {
        j = LANES_FN(pack_whole_panels)(p, j0, j1, k0, k1, to);
        to += (j - j0) * (k1 - k0);
    }
    for (int64_t vectors; j < j1; j += vectors * L) {
        vectors = LANES_FN(panel_vectors)(j1, j);
        const int64_t columns = hki_min(j1 - j, vectors * L);
        if (p->windows)
            LANES_FN(pack_windows)(p->windows, j, columns, vectors, k0, k1, to);
        else if (!p->trans_b)
            LANES_FN(copy_columns)
        (b + k0 * p->ldb + j, p->ldb, k1 - k0, columns, vectors, to);
        else for (int64_t v = 0; v < vectors; v++)
            LANES_FN(rows_to_lanes)(b + (j + v * L) * p->ldb + k0, p->ldb,
                                    hki_min(columns - v * L, L), k1 - k0, vectors * L, to + v * L);
        to += vectors * L * (k1 - k0);
    }
    for (T *at = packed; p->factor != 0 && p->factor != 1 && at < to; at++)
        *at *= (T)p->factor;
}

/* Rows [i0, i1) of sums [k0, k1) of a that is not transposed: rows a_row apart. */
LANES_TARGET static void LANES_FN(product_copy_a)(const hki_product_call *call, int64_t i0,
                                                  int64_t i1, int64_t k0, int64_t k1, T *to)
{
    const hki_product *p = call->product;
    const T *a = p->a;
    for (int64_t i = i0; i < i1; i++, to += call->a_row)
        memcpy(to, a + i * p->lda + k0, (size_t)(k1 - k0) * sizeof(T));
}

/* Where tile t of so many begins, among so many rows. Tiles differ by a row at most, and the higher ones come first. */
static int64_t LANES_FN(tile_begin)(int64_t rows, int64_t tiles, int64_t t)
{
    return t * (rows / tiles) + hki_min(t, rows % tiles);
}

static inline void LANES_FN(ask_for)(const T *from, int64_t count)
{
    for (int64_t i = 0; i < count; i += 64 / (int64_t)sizeof(T))
        __builtin_prefetch(from + i);
}

/* So many elements of a row of a transposed a, to tiles that lie tile_step apart: `step` elements each, of which the last may be
   none of the tile's. */
LANES_INLINE void LANES_FN(gather_row)(const T *from, int64_t rows, int64_t tiles, bool whole,
                                       const int64_t step, int64_t tile_step, T *to)
{
    for (int64_t t = 0, begin = 0, end; t < tiles; t++, begin = end, to += tile_step) {
        end = LANES_FN(tile_begin)(rows, tiles, t + 1);
        if (whole)
            memcpy(to, from + begin, (size_t)step * sizeof(T));
        else
            for (int64_t r = 0; r < end - begin; r++)
                to[r] = from[begin + r];
    }
}

/* The same of a transposed one, all tiles at once, since their rows lie side by side: each becomes [k][row]. */
LANES_TARGET static void LANES_FN(product_gather_a)(const hki_product_call *call, int64_t i0,
                                                    int64_t i1, int64_t k0, int64_t k1, T *to)
{
    const hki_product *p = call->product;
    const T *from = (const T *)p->a + k0 * p->lda + i0;
    const int64_t rows = i1 - i0, tiles = hki_divide_up(rows, call->tile_rows);
    enum { AHEAD = 8 }; /* rows lie in pages of their own: nothing but this fetches them early */
    for (int64_t k = k0; k < k1; k++, from += p->lda, to += call->a_row) {
        /* what is read too much belongs to the next tile, or to the next row of a */
        const bool whole = k + 1 < p->k && p->lda >= call->a_row;
        if (k + AHEAD < p->k)
            LANES_FN(ask_for)(from + AHEAD * p->lda, rows);
        if (call->pairs)
            LANES_FN(gather_row)(from, rows, tiles, whole, TREE_STEP, call->a_tile, to);
        else
            LANES_FN(gather_row)(from, rows, tiles, whole, LAYER_STEP, call->a_tile, to);
    }
}

/* The same of one that is not. */
static void LANES_FN(product_turn_a)(const hki_product_call *call, int64_t i0, int64_t i1,
                                     int64_t k0, int64_t k1, T *to)
{
    const hki_product *p = call->product;
    const T *from = (const T *)p->a + i0 * p->lda + k0;
    const int64_t rows = i1 - i0, tiles = hki_divide_up(rows, call->tile_rows);
    for (int64_t t = 0, begin = 0, end; t < tiles; t++, begin = end, to += call->a_tile) {
        end = LANES_FN(tile_begin)(rows, tiles, t + 1);
        for (int64_t r = begin; r < end; r++, from += p->lda)
            for (int64_t k = 0; k < k1 - k0; k++)
                to[k * call->a_row + r - begin] = from[k];
    }
}

/* So many rows of a matrix, `row` elements apart. */
typedef struct LANES_FN(part) {
    const T *from;
    int64_t rows, columns, row;
} LANES_FN(part);

/* A block of c at work: rows, columns and sums. */
typedef struct LANES_FN(product_block) {
    int64_t i0, i1, j0, j1, k0, k1;
    int64_t live;          /* sums that wait, of each tile */
    const T *panels;       /* of b, packed */
    bool packs;            /* panel by panel, on the way */
    LANES_FN(part) next_a; /* what the next block copies of a transposed one */
} LANES_FN(product_block);

/* Fetches part number `at` of so many: copying waits for memory, and tiles do not. */
static void LANES_FN(ask_for_share)(const LANES_FN(part) * part, int64_t at, int64_t parts)
{
    for (int64_t r = part->rows * at / parts; r < part->rows * (at + 1) / parts; r++)
        LANES_FN(ask_for)(part->from + r * part->row, part->columns);
}

/* Rows in tiles that differ by a row at most, panel after panel. What the next block copies is fetched on the way. */
static void LANES_FN(tree_sweep)(const hki_product_call *call, const LANES_FN(product_block) * b)
{
    const hki_product *p = call->product;
    const int64_t depth = b->k1 - b->k0, rows = b->i1 - b->i0;
    const int64_t tiles = hki_divide_up(rows, TREE_ROWS);
    LANES_FN(tree_tile)
    tile = {.panel = b->panels,
            .pairs = call->pairs + b->k0 / HKI_SUM_RUN,
            .waiting = call->waiting,
            .stack = call->stack,
            .inputs = depth,
            .live = b->live,
            .ends = b->k1 == p->k,
            .y_row = p->ldc};
    (p->trans_a ? LANES_FN(product_gather_a) : LANES_FN(product_turn_a))(call, b->i0, b->i1, b->k0,
                                                                         b->k1, call->a);
    const int64_t calls = tiles * hki_divide_up(b->j1 - b->j0, HKI_LAYER_PANEL_VECTORS * L);
    int64_t number = 0;
    for (int64_t j = b->j0, vectors; j < b->j1; j += vectors * L) {
        vectors = LANES_FN(panel_vectors)(b->j1, j);
        tile.outputs = hki_min(b->j1 - j, vectors * L);
        for (int64_t t = 0, i = b->i0, end; t < tiles; t++, i = end) {
            LANES_FN(ask_for_share)(&b->next_a, number++, calls);
            end = b->i0 + LANES_FN(tile_begin)(rows, tiles, t + 1);
            tile.x = (const T *)call->a + t * call->a_tile;
            tile.y = (T *)p->c + i * p->ldc + j;
            LANES_FN(tree_tile_table)[end - i][vectors - 1](&tile);
            tile.waiting += call->waiting_step;
        }
        tile.panel += vectors * L * depth;
    }
}

/* Lines of the panel of a transposed b that is packed after the one at column j. */
static hki_prefetch LANES_FN(panel_behind)(const hki_product *p, const LANES_FN(product_block) * b,
                                           int64_t j)
{
    const int64_t width = HKI_LAYER_PANEL_VECTORS * L;
    const bool is_last = j + width >= b->j1, goes_on = b->k1 < p->k;
    const int64_t next = !is_last ? j + width : goes_on ? b->j0 : b->j1;
    const int64_t k = !is_last ? b->k0 : goes_on ? b->k1 : 0;
    const int64_t rows = hki_min(p->n - next, width), depth = hki_min(b->k1 - b->k0, p->k - k);
    hki_prefetch prefetch = {0};
    if (rows <= 0)
        return prefetch;
    prefetch.from = (const char *)((const T *)p->b + next * p->ldb + k);
    prefetch.row = p->ldb * (int64_t)sizeof(T);
    while ((HKI_CACHE_LINE << prefetch.shift) < depth * (int64_t)sizeof(T))
        prefetch.shift++;
    prefetch.last = (rows << prefetch.shift) - 1;
    return prefetch;
}

/* The block's first columns, where its rows are few; returns how many. */
static int64_t LANES_FN(few_rows)(const hki_product *p, const LANES_FN(product_block) * b,
                                  const LANES_FN(layer_tile) * tile)
{
    LANES_FN(layer_tile) wide = *tile;
    wide.x = (const T *)p->a + b->i0 * p->lda + b->k0;
    wide.x_step = 1;
    wide.starts = p->starts ? (const T *)p->starts + b->i0 : NULL;
    wide.bias = b->k1 == p->k && p->bias ? (const T *)p->bias + b->j0 : NULL;
    wide.y = (T *)p->c + b->i0 * p->ldc + b->j0;
    return LANES_FN(wide_tiles)(&wide, b->i1 - b->i0, b->j1 - b->j0);
}

/* The same of sums in the order of k; copies of a that is not transposed are made on the way. */
static void LANES_FN(product_sweep)(const hki_product_call *call, const LANES_FN(product_block) * b)
{
    const hki_product *p = call->product;
    const int64_t depth = b->k1 - b->k0, rows = b->i1 - b->i0;
    const int64_t tiles = hki_divide_up(rows, LAYER_ROWS);
    const T *bias = b->k1 == p->k ? p->bias : NULL;
    _Alignas(64) T panel_bias[HKI_LAYER_PANEL_VECTORS * L];
    LANES_FN(layer_tile)
    tile = {.x_row = p->trans_a ? 1
                     : call->a  ? call->a_row
                                : p->lda,
            .y_row = p->ldc,
            .panel = b->panels,
            .bias = bias ? panel_bias : NULL,
            .inputs = depth,
            .continues = b->k0 > 0 || p->adds};
    if (p->trans_a)
        LANES_FN(product_gather_a)(call, b->i0, b->i1, b->k0, b->k1, call->a);
    const int64_t wide = call->a || b->packs ? 0 : LANES_FN(few_rows)(p, b, &tile);
    tile.panel += wide * depth;
    for (int64_t j = b->j0 + wide, vectors; j < b->j1; j += vectors * L) {
        vectors = LANES_FN(panel_vectors)(b->j1, j);
        tile.outputs = hki_min(b->j1 - j, vectors * L);
        if (bias)
            LANES_FN(copy_columns)(bias + j, 0, 1, tile.outputs, vectors, panel_bias);
        if (b->packs) {
            LANES_FN(product_pack_b)
            (p, j, j + tile.outputs, b->k0, b->k1,
             (T *)call->b + (tile.panel - (const T *)call->b));
            tile.prefetch = LANES_FN(panel_behind)(p, b, j);
        }
        for (int64_t t = 0, i = b->i0, end; t < tiles; t++, i = end, tile.prefetch.begin += depth) {
            end = b->i0 + LANES_FN(tile_begin)(rows, tiles, t + 1);
            T *copy = call->a;
            if (copy)
                copy += p->trans_a ? t * call->a_tile : (i - b->i0) * call->a_row;
            if (copy && !p->trans_a && j == b->j0)
                LANES_FN(product_copy_a)(call, i, end, b->k0, b->k1, copy);
            tile.x = copy ? copy : (const T *)p->a + i * p->lda + b->k0;
            tile.x_step = p->trans_a ? call->a_row : 1;
            tile.starts = p->starts ? (const T *)p->starts + i : NULL;
            tile.y = (T *)p->c + i * p->ldc + j;
            LANES_FN(layer_tile_table)[end - i][vectors - 1](&tile);
        }
        tile.panel += vectors * L * depth;
    }
}

/* Finds what the next block copies of a: one by one, its rows would come from memory late. */
static void LANES_FN(look_ahead)(const hki_product_call *call, LANES_FN(product_block) * b)
{
    const hki_product *p = call->product;
    const bool is_last = b->k1 == p->k;
    const int64_t k = is_last ? 0 : b->k1, i = is_last ? b->i1 : b->i0;
    b->next_a = (LANES_FN(part)){0};
    if (p->trans_a && i < p->m)
        b->next_a =
            (LANES_FN(part)){(const T *)p->a + k * p->lda + i, hki_min(call->depth, p->k - k),
                             hki_min(call->rows, p->m - i), p->lda};
}

/* Where the copy of b has a block's panels. */
static const T *LANES_FN(packed_panels)(const hki_product *p, const LANES_FN(product_block) * b)
{
    const int64_t columns = hki_round_up(p->packed_columns, L);
    return (const T *)p->packed + columns * b->k0 + (p->packed_first + b->j0) * (b->k1 - b->k0);
}

static void LANES_FN(product_pack_all)(const hki_product_call *call, void *packed)
{
    const hki_product *p = call->product;
    const int64_t columns = hki_round_up(p->n, L);
    for (int64_t k = 0; k < p->k; k += call->depth)
        LANES_FN(product_pack_b)
    (p, 0, p->n, k, hki_min(k + call->depth, p->k), (T *)packed + columns * k);
}

static void LANES_FN(product)(const hki_product_call *call)
{
    const hki_product *p = call->product;
    /* sums that wait are a block's: then all of its k comes first */
    const int64_t outer = call->waiting_step ? call->rows : p->m;
    /* Of few rows, copying weights waits for memory for a good part of the time, if they are not in a cache or fetched early. */
    const bool is_far = p->n * p->k * (int64_t)sizeof(T) > HKI_PRODUCT_NEAR_BYTES;
    LANES_FN(product_block)
    b = {.panels = call->b,
         .packs = p->trans_b && !p->packed && !call->pairs && is_far && p->m >= LAYER_ROWS &&
                  p->m <= hki_min(6 * LAYER_ROWS, call->rows)};
    for (b.j0 = 0; b.j0 < p->n; b.j0 = b.j1) {
        b.j1 = hki_min(b.j0 + call->columns, p->n);
        for (int64_t first = 0; first < p->m; first += outer) {
            b.live = 0;
            for (b.k0 = 0; b.k0 < p->k; b.k0 = b.k1) {
                b.k1 = hki_min(b.k0 + call->depth, p->k);
                if (p->packed)
                    b.panels = LANES_FN(packed_panels)(p, &b);
                else if (!b.packs)
                    LANES_FN(product_pack_b)(p, b.j0, b.j1, b.k0, b.k1, call->b);
                for (b.i0 = first; b.i0 < hki_min(first + outer, p->m); b.i0 = b.i1) {
                    b.i1 = hki_min(b.i0 + call->rows, p->m);
                    LANES_FN(look_ahead)(call, &b);
                    (call->pairs ? LANES_FN(tree_sweep) : LANES_FN(product_sweep))(call, &b);
                }
                for (int64_t k = b.k0; call->pairs && k < b.k1; k += HKI_SUM_RUN)
                    b.live += 1 - (call->pairs[k / HKI_SUM_RUN] & HKI_PRODUCT_PAIRS);
            }
        }
    }
}
