/* The kernels of layer_tiles.h, compiled once per instruction set and type. The includer defines what lanes.inc.c wants,
   and LAYER_TILES(X), an X(rows) for each height of a register tile from 1 to LAYER_ROWS: so many rows times one vector
   or two. */
#include "op/simd/lanes.inc.c"

/* A register tile: y = relu(x times a panel + bias). */
typedef struct LANES_FN(layer_tile) {
    const T *x;
    int64_t x_row, y_row;    /* elements from sample to sample */
    int64_t x_step;          /* from input to input */
    const T *panel, *bias;   /* bias: of the panel's outputs, or NULL */
    int64_t inputs, outputs; /* outputs: as many as the panel's vectors have, or fewer */
    const T *starts;         /* of the rows: where their sums begin; NULL: at 0 */
    bool relu, continues;    /* continues: the sums go on from y instead */
    T *y;
    hki_prefetch
        prefetch; /* what is fetched meanwhile: a cache line with each input; last 0: nothing */
} LANES_FN(layer_tile);

/* So many elements of each row, to or from rows of whole vectors. */
LANES_TARGET static __attribute__((noinline)) void LANES_FN(copy_rows)(const T *from,
                                                                       int64_t from_row, T *to,
                                                                       int64_t to_row, int rows,
                                                                       int64_t count)
{
    for (int r = 0; r < rows; r++, from += from_row, to += to_row)
        for (int64_t i = 0; i < count; i += L) {
            if (count - i >= L)
                *(VU *)(to + i) = *(const VU *)(from + i);
            else
                LANES_FN(copy_short)(to + i, from + i, count - i);
        }
}

/* Prefetching takes a twentieth of the time, so it has a loop of its own. */
LANES_INLINE void LANES_FN(add_terms)(const LANES_FN(layer_tile) * t, const int rows,
                                      const int vectors, const bool prefetches,
                                      V sum[LAYER_ROWS][HKI_LAYER_PANEL_VECTORS])
{
    const int64_t inputs = t->inputs, x_row = t->x_row, x_step = t->x_step;
    const T *x[(LAYER_ROWS + 2) / 3], *panel = t->panel;
    const hki_prefetch prefetch = t->prefetch;
    /* One address for three rows: with one for each, registers would not do. */
    UNROLL for (int g = 0; 3 * g < rows; g++) x[g] = t->x + 3 * g * x_row;
    for (int64_t i = 0; i < inputs; i++, panel += vectors * L) {
        V weight[HKI_LAYER_PANEL_VECTORS];
        if (prefetches) {
            const int64_t line = hki_min(prefetch.begin + i, prefetch.last);
            __builtin_prefetch(prefetch.from + (line >> prefetch.shift) * prefetch.row +
                               (line & ((1 << prefetch.shift) - 1)) * HKI_CACHE_LINE);
        }
        UNROLL for (int v = 0; v < vectors; v++) weight[v] = *(const V *)(panel + v * L);
        UNROLL for (int r = 0; r < rows; r++)
        {
            const V broadcast = x[r / 3][r % 3 * x_row] - (V){0};
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = sum[r][v] + broadcast * weight[v];
        }
        UNROLL for (int g = 0; 3 * g < rows; g++) x[g] += x_step;
    }
}

LANES_INLINE void LANES_FN(layer_tile_body)(const LANES_FN(layer_tile) * t, const int rows,
                                            const int vectors)
{
    const int64_t y_row = t->y_row, outputs = t->outputs, width = vectors * L;
    T *y = t->y;
    V sum[LAYER_ROWS][HKI_LAYER_PANEL_VECTORS];
    _Alignas(64)
        T part[LAYER_ROWS * HKI_LAYER_PANEL_VECTORS * L]; /* where outputs are no whole vectors */
    const T *begin = y;
    int64_t begin_row = y_row;
    if (t->continues && outputs < width) {
        memset(part, 0, (size_t)(rows * width) * sizeof(T));
        LANES_FN(copy_rows)(y, y_row, part, width, rows, outputs);
        begin = part;
        begin_row = width;
    }
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
            t->continues ? (V) * (const VU *)(begin + r * begin_row + v * L)
            : t->starts  ? t->starts[r] - (V){0}
                         : (V){0};
    }
    /* Products that prefetch have tiles at least half as high as there are. */
    if (2 * rows >= LAYER_ROWS && vectors > 1 && t->prefetch.last > 0)
        LANES_FN(add_terms)(t, rows, vectors, true, sum);
    else
        LANES_FN(add_terms)(t, rows, vectors, false, sum);
    const T *bias = t->bias;
    if (bias) {
        UNROLL for (int r = 0; r < rows; r++)
        {
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
                sum[r][v] + *(const V *)(bias + v * L);
        }
    }
    if (t->relu) {
        UNROLL for (int r = 0; r < rows; r++)
        {
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
                (V)(~(sum[r][v] < (V){0}) & (M)sum[r][v]);
        }
    }
    T *end = outputs < width ? part : y;
    const int64_t end_row = outputs < width ? width : y_row;
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int v = 0; v < vectors; v++) * (VU *)(end + r * end_row + v * L) = sum[r][v];
    }
    if (outputs < width)
        LANES_FN(copy_rows)(part, width, y, y_row, rows, outputs);
}

#define TILE_DEFINE(r)                                                                             \
    LANES_TARGET static void LANES_FN(layer_tile_##r##_1)(const LANES_FN(layer_tile) * t)          \
    {                                                                                              \
        LANES_FN(layer_tile_body)(t, r, 1);                                                        \
    }                                                                                              \
    LANES_TARGET static void LANES_FN(layer_tile_##r##_2)(const LANES_FN(layer_tile) * t)          \
    {                                                                                              \
        LANES_FN(layer_tile_body)(t, r, 2);                                                        \
    }
LAYER_TILES(TILE_DEFINE)
#undef TILE_DEFINE

typedef void (*LANES_FN(layer_tile_fn))(const LANES_FN(layer_tile) *);

#define TILE_ENTRY(r) [r] = {LANES_FN(layer_tile_##r##_1), LANES_FN(layer_tile_##r##_2)},
static const LANES_FN(layer_tile_fn)
    LANES_FN(layer_tile_table)[LAYER_ROWS + 1][HKI_LAYER_PANEL_VECTORS] = {LAYER_TILES(TILE_ENTRY)};
#undef TILE_ENTRY

/* Of few rows a panel has too few sums to keep the multipliers busy: several panels go side by side, panel_step elements
   apart. The bias is that of all their outputs. */
LANES_INLINE void LANES_FN(wide_tile)(const LANES_FN(layer_tile) * t, int64_t panel_step,
                                      const int rows, const int panels)
{
    const int vectors = HKI_LAYER_PANEL_VECTORS;
    const int64_t inputs = t->inputs, x_row = t->x_row, x_step = t->x_step;
    const T *x = t->x, *panel = t->panel;
    V sum[HKI_LAYER_WIDE_ROWS][HKI_LAYER_WIDE * HKI_LAYER_PANEL_VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int v = 0; v < panels * vectors; v++) sum[r][v] =
            t->continues ? (V) * (const VU *)(t->y + r * t->y_row + v * L)
            : t->starts  ? t->starts[r] - (V){0}
                         : (V){0};
    }
    for (int64_t i = 0; i < inputs; i++, panel += vectors * L, x += x_step) {
        V broadcast[HKI_LAYER_WIDE_ROWS];
        UNROLL for (int r = 0; r < rows; r++) broadcast[r] = x[r * x_row] - (V){0};
        UNROLL for (int v = 0; v < panels * vectors; v++)
        {
            const V weight = *(const V *)(panel + v / vectors * panel_step + v % vectors * L);
            UNROLL for (int r = 0; r < rows; r++) sum[r][v] = sum[r][v] + broadcast[r] * weight;
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int v = 0; v < panels * vectors; v++)
        {
            if (t->bias)
                sum[r][v] = sum[r][v] + (V) * (const VU *)(t->bias + v * L);
            if (t->relu)
                sum[r][v] = (V)(~(sum[r][v] < (V){0}) & (M)sum[r][v]);
            *(VU *)(t->y + r * t->y_row + v * L) = sum[r][v];
        }
    }
}

/* Does as many of so many outputs as fill such groups of panels, and returns how many that are. */
LANES_TARGET static int64_t LANES_FN(wide_tiles)(const LANES_FN(layer_tile) * first, int64_t rows,
                                                 int64_t outputs)
{
    const int64_t width = HKI_LAYER_PANEL_VECTORS * L, panel = width * first->inputs;
    const int64_t panels = rows == 1 ? HKI_LAYER_WIDE : HKI_LAYER_WIDE_OF_MORE;
    LANES_FN(layer_tile) t = *first;
    int64_t done = 0;
    for (; rows <= HKI_LAYER_WIDE_ROWS && done + panels * width <= outputs;
         done += panels * width) {
        if (rows == 1)
            LANES_FN(wide_tile)(&t, panel, 1, HKI_LAYER_WIDE);
        else if (rows == 2)
            LANES_FN(wide_tile)(&t, panel, 2, HKI_LAYER_WIDE_OF_MORE);
        else
            LANES_FN(wide_tile)(&t, panel, 3, HKI_LAYER_WIDE_OF_MORE);
        t.panel += panels * panel;
        t.y += panels * width;
        t.bias = t.bias ? t.bias + panels * width : NULL;
    }
    return done;
}

/* Vectors of the panel that begins at this output. */
static int64_t LANES_FN(panel_vectors)(int64_t outputs, int64_t begin)
{
    return outputs - begin > L ? HKI_LAYER_PANEL_VECTORS : 1;
}

/* All samples, cut into tiles that differ by a row at most. */
static void LANES_FN(sweep_panel)(LANES_FN(layer_tile) * tile, const hki_layer_call *call,
                                  int64_t vectors, T *y)
{
    const int64_t tiles = hki_divide_up(call->samples, LAYER_ROWS);
    for (int64_t i = 0, begin = 0, end; i < tiles; i++, begin = end) {
        end = begin + call->samples / tiles + (i < call->samples % tiles);
        tile->x = (const T *)call->x + begin * tile->x_row;
        tile->y = y + begin * tile->y_row;
        LANES_FN(layer_tile_table)[end - begin][vectors - 1](tile);
    }
}

/* So many columns of rows, from `from`, to a panel of so many vectors. */
LANES_TARGET static void LANES_FN(copy_columns)(const T *from, int64_t row, int64_t rows,
                                                int64_t columns, int64_t vectors, T *to)
{
    for (int64_t i = 0; i < rows; i++, from += row) {
        for (int64_t v = 0; v < vectors; v++, to += L) {
            const int64_t left = columns - v * L;
            V lane = {0};
            if (left >= L)
                lane = *(const VU *)(from + v * L);
            else
                LANES_FN(copy_short)((T *)&lane, from + v * L, left);
            *(V *)to = lane;
        }
    }
}

LANES_TARGET static void LANES_FN(layer_pack)(const hki_layer *layer, const void *weight,
                                              bool transposed, void *packed)
{
    const T *from = weight;
    T *to = packed;
    for (int64_t begin = 0, vectors; begin < layer->outputs; begin += vectors * L) {
        vectors = LANES_FN(panel_vectors)(layer->outputs, begin);
        const int64_t columns = hki_min(layer->outputs - begin, vectors * L);
        if (transposed)
            LANES_FN(copy_columns)
        (from + begin, layer->outputs, layer->inputs, columns, vectors, to);
        else for (int64_t v = 0; v < vectors; v++) LANES_FN(rows_to_lanes)(
            from + (begin + v * L) * layer->inputs, layer->inputs, hki_min(columns - v * L, L),
            layer->inputs, vectors * L, to + v * L);
        to += vectors * L * layer->inputs;
    }
}

LANES_TARGET static void LANES_FN(layer_run)(const hki_layer_call *call)
{
    const hki_layer *layer = call->layer;
    const T *bias = call->bias;
    _Alignas(64) T panel_bias[HKI_LAYER_PANEL_VECTORS * L];
    LANES_FN(layer_tile)
    tile = {.x_row = call->x_row,
            .x_step = 1,
            .y_row = layer->outputs,
            .panel = call->packed,
            .bias = bias ? panel_bias : NULL,
            .inputs = layer->inputs,
            .relu = layer->relu};
    LANES_FN(layer_tile) wide = tile;
    wide.x = call->x;
    wide.y = call->y;
    wide.bias = bias;
    const int64_t done = LANES_FN(wide_tiles)(&wide, call->samples, layer->outputs);
    tile.panel += done * layer->inputs;
    for (int64_t begin = done, vectors; begin < layer->outputs; begin += vectors * L) {
        vectors = LANES_FN(panel_vectors)(layer->outputs, begin);
        tile.outputs = hki_min(layer->outputs - begin, vectors * L);
        if (bias)
            LANES_FN(copy_columns)(bias + begin, 0, 1, tile.outputs, vectors, panel_bias);
        LANES_FN(sweep_panel)(&tile, call, vectors, (T *)call->y + begin);
        tile.panel += vectors * L * layer->inputs;
    }
}

#include "op/matmul/product_tiles.inc.c"

const hki_layer_kernels LANES_FN(hki_layer_kernels) = {
    .lanes = L,
    .rows = LAYER_ROWS,
    .step = LAYER_STEP,
    .tree_rows = TREE_ROWS,
    .tree_step = TREE_STEP,
    .pack = LANES_FN(layer_pack),
    .run = LANES_FN(layer_run),
    .product = LANES_FN(product),
    .pack_b = LANES_FN(product_pack_all),
};

#include "op/simd/lanes_end.inc.c"
