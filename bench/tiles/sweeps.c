/* Sweeps over a row or a plate of tiles, each of which is computed from those of the sweep before:
 * a stencil of five points, and Task Bench's patterns. There are two copies of the tiles, of which
 * one is written and the other read in turns. */
#include "tiles/algorithms.h"

#include <stdint.h>

/* ---- a plate -------------------------------------------------------------------------------- */

static const char *plan_stencil(tile_plan *plan)
{
    if (plan->size % plan->tile)
        return "TILE does not divide SIZE";
    const int side = plan->side = plan->size / plan->tile, all = side * side;
    plan->tile_count = 2 * all;
    for (int step = 0; step < plan->steps; step++)
        for (int i = 0; i < all; i++) {
            const int from = step % 2 * all, row = i / side, column = i % side;
            const int there[] = {row > 0, row<side - 1, column> 0, column < side - 1};
            const int neighbours[] = {i - side, i + side, i - 1, i + 1};
            int tiles[TILE_MOST] = {from + i}, count = 1, work = 0;
            for (int k = 0; k < 4; k++)
                if (there[k]) {
                    tiles[count++] = from + neighbours[k];
                    work |= 1 << k;
                }
            tiles[count++] = all - from + i;
            tile_plan_add(plan, TILE_MEAN, count, tiles)->work = work;
            plan->calls[plan->call_count - 1].overwrites = 1;
        }
    return NULL;
}

static double heat(const tile_plan *plan, int tile, int row, int column)
{
    return (tile * 31 + row * 7 + column * 3) % 101 + plan->size;
}

/* ---- Task Bench's patterns ------------------------------------------------------------------ */

enum { TRIVIAL, NO_COMM, STENCIL_1D, FFT, TREE, NEAREST, SPREAD, RANDOM_NEAREST, RADIX = 5 };

static int is_connected(int step, int point, int of)
{
    uint32_t x =
        (uint32_t)step % 3 * 73856093U ^ (uint32_t)point * 19349663U ^ (uint32_t)of * 83492791U;
    x = (x ^ x >> 13) * 0x5bd1e995U;
    return point == of || (x >> 16) % 4 == 0;
}

/* Which points of the row before a point reads, at most RADIX; returns how many. */
static int reads(const tile_plan *plan, int step, int point, int *of)
{
    const int width = plan->side, number = plan->algorithm->number;
    int count = 0, bits = 0;
    while (1 << bits < width)
        bits++;
    const int apart = bits ? 1 << step % bits : 1;
    for (int i = 0; i < RADIX; i++) {
        const int near = point - RADIX / 2 + i;
        int from = -1;
        switch (number) {
        case TRIVIAL:
            break;
        case NO_COMM:
            from = i == 0 ? point : -1;
            break;
        case STENCIL_1D:
            from = i < 3 ? point - 1 + i : -1;
            break;
        case FFT:
            from = i < 3 ? point + (i - 1) * apart : -1;
            break;
        case TREE:
            from = i == 0 ? point / 2 : -1;
            break;
        case NEAREST:
            from = near;
            break;
        case SPREAD:
            from = (point + i * width / RADIX + (i > 0 ? step % 3 : 0)) % width;
            break;
        case RANDOM_NEAREST:
            from = is_connected(step, point, near) ? near : -1;
            break;
        default:
            break;
        }
        if (from >= 0 && from < width)
            of[count++] = from;
    }
    return count;
}

static const char *plan_pattern(tile_plan *plan)
{
    if (plan->size < RADIX)
        return "SIZE is less than 5, which a pattern needs";
    plan->side = plan->size;
    plan->work = plan->tile;
    plan->tile = 1;
    plan->tile_count = 2 * plan->side;
    plan->tile_room = 8; /* cache lines of their own */
    for (int step = 0; step < plan->steps; step++) {
        const int from = step % 2 * plan->side;
        int width = plan->side;
        if (plan->algorithm->number == TREE && step < 30 && 1 << step < width)
            width = 1 << step;
        for (int point = 0; point < width; point++) {
            int tiles[TILE_MOST];
            const int count = reads(plan, step, point, tiles);
            for (int i = 0; i < count; i++)
                tiles[i] += from;
            tiles[count] = plan->side - from + point;
            tile_call *call = tile_plan_add(plan, TILE_SPIN, count + 1, tiles);
            call->overwrites = 1;
            call->work = plan->work;
        }
    }
    return NULL;
}

static double number_of(const tile_plan *plan, int tile, int row, int column)
{
    (void)plan, (void)row, (void)column;
    return 1.0 / (tile + 2);
}

const tile_algorithm tile_sweeps[] = {
    {"stencil", plan_stencil, heat, NULL, 0},
    {"trivial", plan_pattern, number_of, NULL, TRIVIAL},
    {"no_comm", plan_pattern, number_of, NULL, NO_COMM},
    {"stencil_1d", plan_pattern, number_of, NULL, STENCIL_1D},
    {"fft", plan_pattern, number_of, NULL, FFT},
    {"tree", plan_pattern, number_of, NULL, TREE},
    {"nearest", plan_pattern, number_of, NULL, NEAREST},
    {"spread", plan_pattern, number_of, NULL, SPREAD},
    {"random_nearest", plan_pattern, number_of, NULL, RANDOM_NEAREST},
    {0},
};
