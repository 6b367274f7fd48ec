/* Launch geometry: pure functions, tested without a GPU. */
#ifndef HOCKET_DEVICE_CUDA_GEOMETRY_H
#define HOCKET_DEVICE_CUDA_GEOMETRY_H

#include "base/everywhere.h"

#include <stdbool.h>
#include <stdint.h>

/* Blocks of `block` threads for `size` elements, each thread taking several in steps of all threads: enough to fill the
 * GPU (eight blocks a multiprocessor), at least 1. */
static inline unsigned hki_cuda_grid(int64_t size, int block, int multiprocessors)
{
    int64_t needed = size > 0 ? (size - 1) / block + 1 : 1;
    int64_t most = (int64_t)8 * (multiprocessors > 0 ? multiprocessors : 1);
    return (unsigned)(needed < most ? needed : most);
}

/* ---- division by what stays the same ----------------------------------------------------------------------- */

/* Indices of kernels that walk over axes are below this; larger arrays are walked in parts. */
enum { HKI_CUDA_MAX_INDEX = 1 << 30 };

/* Divides numbers of 0 … 2^31 - 1 by a multiplication: with 2^s < d <= 2^(s + 1) and m = ceil(2^(32 + s) / d), which is
 * below 2^32, m d is at most d - 1 too large, so that n m / 2^(32 + s) has the integer part of n / d as long as
 * n (d - 1) < 2^(32 + s). (Granlund, Montgomery: Division by invariant integers using multiplication, PLDI '94.) */
typedef struct hki_cuda_divider {
    uint32_t divisor, multiplier, shift;
} hki_cuda_divider;

/* divisor: 1 … HKI_CUDA_MAX_INDEX. */
static inline hki_cuda_divider hki_cuda_divider_of(int64_t divisor)
{
    hki_cuda_divider by = {(uint32_t)divisor, 0, 0};
    if (divisor > 1) { /* by 1 the multiplier would not fit: a multiplier of 0 stands for it */
        while ((int64_t)2 << by.shift < divisor)
            by.shift++;
        by.multiplier = (uint32_t)((((uint64_t)1 << (32 + by.shift)) + (uint64_t)divisor - 1) /
                                   (uint64_t)divisor);
    }
    return by;
}

HKI_EVERYWHERE uint32_t hki_cuda_divide(uint32_t n, hki_cuda_divider by)
{
    return by.multiplier ? (uint32_t)((uint64_t)n * by.multiplier >> 32) >> by.shift : n;
}

/* ---- tiles: many results, each from many elements ---------------------------------------------------------- */

enum {
    HKI_CUDA_TILE = 256, /* threads of a block */
    HKI_CUDA_BLOCKS =
        512 /* that keep any GPU busy; a constant, so that sums do not depend on the GPU */
};

/* A block computes HKI_CUDA_TILE / lanes neighbouring results, each with `lanes` threads, a power of two. */
typedef struct hki_cuda_tile {
    int lanes;
    bool
        by_rows; /* neighbouring threads work on neighbouring results, else on neighbouring elements of one */
    int64_t tiles; /* of results */
    /* The elements of a result are cut into parts, each of a block's own, that are joined afterwards: all of
     * part_size, a multiple of the lanes, but the last one. 1 and all of them where results alone fill a GPU. */
    int64_t parts, part_size;
} hki_cuda_tile;

static inline int hki_cuda_lanes(int64_t wanted, int most)
{
    int lanes = 1;
    while (lanes < most && lanes < wanted)
        lanes *= 2;
    return lanes;
}

/* For `results` results of `size` elements each, both at least 1; by_rows: see above. A function of shapes alone. */
static inline hki_cuda_tile hki_cuda_tile_of(int64_t results, int64_t size, bool by_rows)
{
    hki_cuda_tile tile = {1, by_rows, 0, 0, 0};
    if (by_rows) { /* a warp side by side, or all results where they are fewer; one lane alone is the least work */
        int beside = hki_cuda_lanes(results, 32);
        bool many = results >= (int64_t)HKI_CUDA_BLOCKS * HKI_CUDA_TILE / 8;
        tile.lanes = hki_cuda_lanes(many ? (size - 1) / 8 + 1 : size, HKI_CUDA_TILE / beside);
    } else { /* a warp at most for each, or the block where results are too few to fill a GPU */
        tile.lanes = hki_cuda_lanes((size - 1) / 4 + 1, 32);
        while (tile.lanes < HKI_CUDA_TILE && tile.lanes < size / 4 &&
               results * tile.lanes < (int64_t)HKI_CUDA_BLOCKS * HKI_CUDA_TILE)
            tile.lanes *= 2;
    }
    int columns = HKI_CUDA_TILE / tile.lanes;
    tile.tiles = (results - 1) / columns + 1;
    int64_t parts = HKI_CUDA_BLOCKS / tile.tiles, most = size / ((int64_t)tile.lanes * 16);
    if (parts > most)
        parts = most;
    if (parts < 1)
        parts = 1;
    int64_t share = (size - 1) / parts + 1;
    tile.part_size = ((share - 1) / tile.lanes + 1) * tile.lanes;
    tile.parts = (size - 1) / tile.part_size + 1;
    return tile;
}

/* The same in one part: for results that elements are compared with afterwards. */
static inline hki_cuda_tile hki_cuda_line_tile(int64_t results, int64_t size, bool by_rows)
{
    hki_cuda_tile tile = hki_cuda_tile_of(results, size, by_rows);
    tile.parts = 1;
    tile.part_size = ((size - 1) / tile.lanes + 1) * tile.lanes;
    return tile;
}

/* ---- lines that threads hold in registers ------------------------------------------------------------------- */

enum {
    HKI_CUDA_HELD_BYTES = 16, /* that a thread reads in one go */
    HKI_CUDA_HELD_MOST = 8,   /* times, at most: a line is `held` such packs of each lane */
    HKI_CUDA_HELD_WELL = 4 /* times that leave registers for half of a multiprocessor's threads */
};

/* For `count` contiguous lines of `size` elements: the lanes of each, and how many packs a lane holds: 1, 2, 4 or 8; 0 for
 * lines that are too long. Lane l has pack l, l + lanes, … A function of shapes alone. */
typedef struct hki_cuda_held {
    hki_cuda_tile tile;
    int packs;
} hki_cuda_held;

static inline hki_cuda_held hki_cuda_held_of(int64_t count, int64_t size, int element_bytes)
{
    const int64_t packs = (size * element_bytes - 1) / HKI_CUDA_HELD_BYTES + 1;
    hki_cuda_held held = {{hki_cuda_lanes(packs, 32), false, 0, 1, size}, 1};
    while (held.tile.lanes < HKI_CUDA_TILE && held.tile.lanes < packs &&
           (held.tile.lanes * HKI_CUDA_HELD_WELL < packs ||
            count * held.tile.lanes < (int64_t)HKI_CUDA_BLOCKS * HKI_CUDA_TILE))
        held.tile.lanes *= 2;
    while (held.packs * held.tile.lanes < packs)
        held.packs *= 2;
    if (held.packs > HKI_CUDA_HELD_MOST)
        held.packs = 0;
    held.tile.tiles = (count - 1) / (HKI_CUDA_TILE / held.tile.lanes) + 1;
    return held;
}

#endif
