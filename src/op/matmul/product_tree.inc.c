/* Tiles of products whose sums go by the tree; product_tiles.inc.c includes it.

   Two runs that the tree joins at once are summed side by side, and become one sum in registers. So half as many sums are
   stored, a few at a time: while many are, a core multiplies little. */

/* A tile whose sums go by the tree. Its rows of x lie as gather_a puts them. */
typedef struct LANES_FN(tree_tile) {
    const T *x, *panel;
    const uint8_t *pairs; /* of the first run; see hki_product_call */
    T *stack;             /* sums of this call, each of the tile's size */
    T *waiting;           /* those that wait for the next one, or from the last */
    int64_t inputs, live; /* live: sums that wait */
    bool ends;            /* with the last run: the one sum that is left is the result */
    int64_t outputs, y_row;
    T *y;
} LANES_FN(tree_tile);

/* Adds products to the sums, one of each row: of x by the weights of a panel. */
LANES_INLINE void LANES_FN(tree_add)(V sum[TREE_ROWS][HKI_LAYER_PANEL_VECTORS], const int rows,
                                     const int vectors, const T *x, const T *panel)
{
    V weight[HKI_LAYER_PANEL_VECTORS];
    UNROLL for (int v = 0; v < vectors; v++) weight[v] = *(const V *)(panel + v * L);
    UNROLL for (int r = 0; r < rows; r++)
    {
        const V broadcast = x[r] - (V){0};
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = sum[r][v] + broadcast * weight[v];
    }
}

/* The sums of a run, and with `both` of the next one, which the tree adds to them at once. */
LANES_INLINE void LANES_FN(tree_runs)(V sum[TREE_ROWS][HKI_LAYER_PANEL_VECTORS], const int rows,
                                      const int vectors, const bool both, const int64_t count,
                                      const T *x, const T *panel)
{
    V next[TREE_ROWS][HKI_LAYER_PANEL_VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = next[r][v] = (V){0};
    }
    for (int64_t i = 0; i < count; i++, x += TREE_STEP, panel += vectors * L) {
        LANES_FN(tree_add)(sum, rows, vectors, x, panel);
        if (both)
            LANES_FN(tree_add)
        (next, rows, vectors, x + HKI_SUM_RUN * TREE_STEP, panel + HKI_SUM_RUN * vectors * L);
    }
    UNROLL for (int r = 0; both && r < rows; r++)
    {
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = sum[r][v] + next[r][v];
    }
}

/* Sums that the call itself joins stay on a stack of its own, which all tiles share, and which the first cache keeps. */
LANES_INLINE void LANES_FN(tree_tile_body)(const LANES_FN(tree_tile) * t, const int rows,
                                           const int vectors)
{
    const int64_t size = rows * vectors * L;
    const T *x = t->x, *panel = t->panel;
    const uint8_t *pairs = t->pairs;
    int64_t depth = t->live,
            waiting = t->live; /* so many, and those of them that are not on the stack */
    const bool whole = t->ends && t->outputs == vectors * L;
    V sum[TREE_ROWS][HKI_LAYER_PANEL_VECTORS];
    for (int64_t left = t->inputs; left > 0; left -= HKI_SUM_RUN, pairs++) {
        int joined = 0;
        if (left >= 2 * HKI_SUM_RUN && pairs[0] == 0 && pairs[1] & HKI_PRODUCT_PAIRS) {
            LANES_FN(tree_runs)(sum, rows, vectors, true, HKI_SUM_RUN, x, panel);
            x += HKI_SUM_RUN * TREE_STEP;
            panel += HKI_SUM_RUN * vectors * L;
            left -= HKI_SUM_RUN;
            pairs++;
            joined = 1;
        } else {
            LANES_FN(tree_runs)
            (sum, rows, vectors, false, hki_min(left, HKI_SUM_RUN), x, panel);
        }
        x += HKI_SUM_RUN * TREE_STEP;
        panel += HKI_SUM_RUN * vectors * L;
        for (int pair = *pairs & HKI_PRODUCT_PAIRS; pair > joined; pair--) {
            depth--;
            const T *other = (depth < waiting ? t->waiting : t->stack) + depth * size;
            waiting = hki_min(waiting, depth);
            __asm__(
                ""
                : "+r"(other)); /* one address, where compilers would make one for each vector */
            UNROLL for (int r = 0; r < rows; r++)
            {
                UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
                    *(const V *)(other + (r * vectors + v) * L) + sum[r][v];
            }
        }
        const bool is_result = whole && left <= HKI_SUM_RUN;
        T *top =
            is_result ? t->y : (*pairs & HKI_PRODUCT_WAITS ? t->waiting : t->stack) + depth * size;
        const int64_t row = is_result ? t->y_row : vectors * L;
        depth++;
        UNROLL for (int r = 0; r < rows; r++, top += row)
        {
            UNROLL for (int v = 0; v < vectors; v++) * (VU *)(top + v * L) = sum[r][v];
        }
    }
    if (t->ends && !whole)
        LANES_FN(copy_rows)(t->stack, vectors * L, t->y, t->y_row, rows, t->outputs);
}

#define TILE_DEFINE(r)                                                                             \
    LANES_TARGET static void LANES_FN(tree_tile_##r##_1)(const LANES_FN(tree_tile) * t)            \
    {                                                                                              \
        LANES_FN(tree_tile_body)(t, r, 1);                                                         \
    }                                                                                              \
    LANES_TARGET static void LANES_FN(tree_tile_##r##_2)(const LANES_FN(tree_tile) * t)            \
    {                                                                                              \
        LANES_FN(tree_tile_body)(t, r, 2);                                                         \
    }
TREE_TILES(TILE_DEFINE)
#undef TILE_DEFINE

typedef void (*LANES_FN(tree_tile_fn))(const LANES_FN(tree_tile) *);

#define TILE_ENTRY(r) [r] = {LANES_FN(tree_tile_##r##_1), LANES_FN(tree_tile_##r##_2)},
static const LANES_FN(tree_tile_fn)
    LANES_FN(tree_tile_table)[TREE_ROWS + 1][HKI_LAYER_PANEL_VECTORS] = {TREE_TILES(TILE_ENTRY)};
#undef TILE_ENTRY
