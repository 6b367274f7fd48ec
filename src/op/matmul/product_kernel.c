#include "op/matmul/product_kernel.h"

#include "base/kernel_isa.h"
#include "base/sum_tree.h"
#include "base/sync.h"
#include "op/matmul/layer_tiles.h"

#include <string.h>

/* Sums in the order of k are cut, and go on from c, so that a panel of b stays in the second cache while it meets the rows
   of a. */
enum {
    PANEL_BYTES = 64 << 10,
    A_BYTES = 192 << 10,
    B_BYTES = 512 << 10,
    B_FAR_BYTES = 2 << 20,
    BAD_DISTANCE = 1024,
    FEW_COLUMNS = 64
};
/* Samples: so many that sums which wait for the next ones are a small part of what is looked at. */
enum { DEPTH_SAMPLES = 256 };
_Static_assert(DEPTH_SAMPLES % HKI_SUM_RUN == 0, "whole runs");

static const hki_layer_kernels *kernels_get(const hki_product *product)
{
    return product->f64 ? HKI_OF_ISA(&hki_layer_kernels, _f64)
                        : HKI_OF_ISA(&hki_layer_kernels, _f32);
}

static int64_t item_bytes(const hki_product *product)
{
    return product->f64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
}

/* Rows that begin at such distances share a few places of the first cache. */
static bool copies_a(const hki_product *product)
{
    return product->trans_a || product->by_samples ||
           (product->m > 1 && product->n > FEW_COLUMNS &&
            product->lda * item_bytes(product) % BAD_DISTANCE == 0);
}

/* How many sums of a tile wait at once, at most, between copies of so many samples. */
static int64_t waiting_most(int64_t samples, int64_t depth)
{
    const int64_t runs = hki_sum_runs(samples);
    int64_t most = 0, live = 0;
    for (int64_t run = 0; run < runs; run++) {
        live += 1 - hki_sum_pairs(runs, run);
        if ((run + 1) % (depth / HKI_SUM_RUN) == 0)
            most = hki_max(most, live);
    }
    return most;
}

/* Whether a copy of a is tiles of [k][row of the tile], else rows. */
static bool copies_tiles(const hki_product *product)
{
    return product->trans_a || product->by_samples;
}

/* Where rows begin an odd number of lines apart, they do not share places of the first cache. */
static int64_t odd_lines(int64_t elements, int64_t item)
{
    const int64_t line = HKI_CACHE_LINE / item, rounded = hki_round_up(elements, line);
    return rounded % (2 * line) ? rounded : rounded + line;
}

/* The sizes. */
static hki_product_call cut(const hki_product *product)
{
    const hki_layer_kernels *kernels = kernels_get(product);
    const int64_t item = item_bytes(product), panel = HKI_LAYER_PANEL_VECTORS * kernels->lanes;
    hki_product_call call = {.product = product};
    call.depth =
        hki_min(product->k, product->by_samples ? DEPTH_SAMPLES : PANEL_BYTES / (panel * item));
    const int64_t depth = hki_max(call.depth, 1);
    call.tile_rows = product->by_samples ? kernels->tree_rows : kernels->rows;
    const int64_t rows = hki_max(1, A_BYTES / (depth * item) / call.tile_rows) * call.tile_rows;
    /* each block copies b anew: none is smaller than it has to be */
    const int64_t blocks = hki_divide_up(product->m, rows);
    call.rows = hki_round_up(hki_divide_up(product->m, blocks), call.tile_rows);
    call.rows = hki_min(call.rows, product->m);
    /* each block of columns copies a anew, which costs more than panels from the third cache where it is transposed */
    const int64_t bytes = product->trans_a && !product->by_samples ? B_FAR_BYTES : B_BYTES;
    call.columns = hki_max(1, bytes / (depth * item * panel)) * panel;
    call.columns = hki_min(call.columns, product->n);
    if (copies_tiles(product)) {
        call.a_row = product->by_samples ? kernels->tree_step : kernels->step;
        call.a_tile = odd_lines(depth * call.a_row, item);
    } else {
        call.a_row = odd_lines(depth, item);
    }
    if (product->by_samples && call.depth < product->k)
        call.waiting_step = call.tile_rows * panel * waiting_most(product->k, call.depth);
    return call;
}

/* Of the copies, the pairs and the sums at work. */
typedef struct places {
    size_t a, b, pairs, stack, waiting;
} places;

static places places_of(const hki_product_call *call)
{
    const hki_product *product = call->product;
    const hki_layer_kernels *kernels = kernels_get(product);
    const size_t item = (size_t)item_bytes(product), line = HKI_CACHE_LINE;
    const int64_t runs = product->by_samples ? hki_sum_runs(product->k) : 0;
    const int64_t panel = HKI_LAYER_PANEL_VECTORS * kernels->lanes;
    const int64_t high = hki_divide_up(call->rows, call->tile_rows);
    const int64_t tiles = high * hki_divide_up(call->columns, panel);
    places at = {0};
    if (copies_a(product))
        at.a =
            (size_t)(copies_tiles(product) ? high * call->a_tile : call->rows * call->a_row) * item;
    /* windows are copied by vectors, of which the last one may reach past the end */
    at.b = hki_round_up_bytes((size_t)(hki_round_up(call->columns, kernels->lanes) * call->depth) *
                                      item +
                                  (product->windows ? line : 0),
                              line);
    at.pairs = hki_round_up_bytes((size_t)runs, line);
    at.stack = runs ? (size_t)(call->tile_rows * panel * hki_sum_live(runs)) * item : 0;
    at.waiting = (size_t)(tiles * call->waiting_step) * item;
    return at;
}

size_t hki_product_packed_bytes(const hki_product *product)
{
    const int64_t columns = hki_round_up(product->n, kernels_get(product)->lanes);
    return (size_t)(columns * product->k * item_bytes(product));
}

void hki_product_pack(const hki_product *product, void *packed)
{
    const hki_product_call call = cut(product);
    kernels_get(product)->pack_b(&call, packed);
}

size_t hki_product_scratch_bytes(const hki_product *product)
{
    const hki_product_call call = cut(product);
    const places bytes = places_of(&call);
    return bytes.a + bytes.b + bytes.pairs + bytes.stack + bytes.waiting + HKI_CACHE_LINE;
}

size_t hki_product_scratch_most(const hki_product *product)
{
    const hki_layer_kernels *kernels = kernels_get(product);
    const int64_t item = item_bytes(product), panel = HKI_LAYER_PANEL_VECTORS * kernels->lanes;
    const int64_t depth = hki_min(product->k, PANEL_BYTES / (panel * item));
    const int64_t tiles = hki_divide_up(product->m, kernels->rows);
    const int64_t a = hki_max(tiles * odd_lines(depth * kernels->step, item),
                              product->m * odd_lines(depth, item));
    const int64_t b = hki_round_up(product->n, kernels->lanes) * depth;
    return (size_t)((a + b) * item) + 2 * HKI_CACHE_LINE;
}

/* What joins after each run, and what waits for the next copy. */
static void note_pairs(const hki_product_call *call, uint8_t *pairs)
{
    const int64_t runs = hki_sum_runs(call->product->k), copied = call->depth / HKI_SUM_RUN;
    int64_t given_by[HKI_SUM_DEPTH], live = 0, begun = 0; /* begun: with the copy */
    for (int64_t run = 0; run < runs; run++) {
        const int count = hki_sum_pairs(runs, run);
        pairs[run] = (uint8_t)count;
        live -= count;
        given_by[live++] = run;
        if (!call->waiting_step || (run + 1) % copied != 0 || run + 1 == runs)
            continue;
        for (int64_t i = live; i > 0 && given_by[i - 1] >= begun; i--)
            pairs[given_by[i - 1]] |= HKI_PRODUCT_WAITS;
        begun = run + 1;
    }
}

/* Of no terms. */
static void clear(const hki_product *product)
{
    const size_t item = (size_t)item_bytes(product), row = (size_t)product->n * item;
    for (int64_t i = 0; i < product->m; i++) {
        char *c = (char *)product->c + (size_t)(i * product->ldc) * item;
        if (product->bias)
            memcpy(c, product->bias, row);
        else
            memset(c, 0, row);
    }
}

void hki_product_run(const hki_product *product, void *scratch)
{
    hki_product_call call = cut(product);
    const places bytes = places_of(&call);
    char *at = scratch;
    if (product->k == 0) {
        if (!product->adds)
            clear(product);
        return;
    }
    call.a = bytes.a ? at : NULL;
    call.b = at + bytes.a;
    call.stack = at + bytes.a + bytes.b + bytes.pairs;
    call.waiting = (char *)call.stack + bytes.stack;
    if (product->by_samples) {
        uint8_t *pairs = (uint8_t *)at + bytes.a + bytes.b;
        note_pairs(&call, pairs);
        call.pairs = pairs;
    }
    kernels_get(product)->product(&call);
}
