/* What the programs in this folder can be told to do: for tiles.c, which runs it. */
#ifndef HOCKET_BENCH_ALGORITHMS_H
#define HOCKET_BENCH_ALGORITHMS_H

#include "tiles/tiles.h"

typedef struct tile_algorithm {
    const char *name;
    /* Sets the plan's tiles, and adds its calls. NULL: done; else which argument is wrong. */
    const char *(*plan)(tile_plan *plan);
    /* An element of a tile before the first call. */
    double (*value)(const tile_plan *plan, int tile, int row, int column);
    /* Whether the factors are right; NULL: what one call after the other gives is. */
    int (*is_right)(const tile_plan *plan);
    int number;
} tile_algorithm;

extern const tile_algorithm tile_factorisations[], tile_sweeps[]; /* end with one without a name */

/* A call of `count` tiles. */
tile_call *tile_plan_add(tile_plan *plan, tile_kernel kernel, int count, const int *tiles);

#endif
