/* Cholesky and LU in tiles. */
#include "tiles/algorithms.h"

#include <math.h>

static const char *plan_tiles(tile_plan *plan)
{
    if (plan->size % plan->tile)
        return "TILE does not divide SIZE";
    if (plan->steps != 1)
        return "a factorisation has one step";
    plan->side = plan->size / plan->tile;
    plan->tile_count = plan->side * plan->side;
    return NULL;
}

static void add(tile_plan *plan, tile_kernel kernel, int priority, int count, int a, int b, int c)
{
    tile_plan_add(plan, kernel, count, (const int[]){a, b, c})->priority = priority;
}

static const char *plan_cholesky(tile_plan *plan)
{
    const char *error = plan_tiles(plan);
    const int side = error ? 0 : plan->side;
    for (int k = 0; k < side; k++) {
        const int diagonal = k * side + k;
        add(plan, TILE_POTRF, 2, 1, diagonal, 0, 0);
        for (int i = k + 1; i < side; i++)
            add(plan, TILE_TRSM_RIGHT, 1, 2, diagonal, i * side + k, 0);
        for (int i = k + 1; i < side; i++) {
            add(plan, TILE_SYRK, i == k + 1 ? 2 : 0, 2, i * side + k, i * side + i, 0);
            for (int j = k + 1; j < i; j++)
                add(plan, TILE_GEMM_TURNED, j == k + 1 ? 1 : 0, 3, i * side + k, j * side + k,
                    i * side + j);
        }
    }
    return error;
}

static const char *plan_lu(tile_plan *plan)
{
    const char *error = plan_tiles(plan);
    const int side = error ? 0 : plan->side;
    for (int k = 0; k < side; k++) {
        const int diagonal = k * side + k;
        add(plan, TILE_GETRF, 2, 1, diagonal, 0, 0);
        for (int i = k + 1; i < side; i++) {
            add(plan, TILE_TRSM_LOWER, 1, 2, diagonal, k * side + i, 0);
            add(plan, TILE_TRSM_UPPER, 1, 2, diagonal, i * side + k, 0);
        }
        for (int i = k + 1; i < side; i++)
            for (int j = k + 1; j < side; j++)
                add(plan, TILE_GEMM, i == k + 1 && j == k + 1 ? 2 : i == k + 1 || j == k + 1, 3,
                    i * side + k, k * side + j, i * side + j);
    }
    return error;
}

/* Symmetric, and its diagonal is large enough for both algorithms. */
static double element_before(const tile_plan *plan, int i, int j)
{
    const int low = i < j ? i : j, high = i < j ? j : i;
    return i == j ? plan->size : sin(low * 0.37 + high * 1.1);
}

static double value(const tile_plan *plan, int tile, int row, int column)
{
    const int n = plan->tile;
    return element_before(plan, tile / plan->side * n + row, tile % plan->side * n + column);
}

static double element(const tile_plan *plan, int i, int j)
{
    const int n = plan->tile;
    return tile_at(plan, i / n * plan->side + j / n)[(i % n) * n + j % n];
}

/* Some elements of the product of the factors. */
static int is_right(const tile_plan *plan)
{
    const int is_lu = plan->algorithm->number, n = plan->size;
    for (int probe = 0; probe < 200; probe++) {
        const int i = probe * 7919 % n, j = is_lu ? probe * 104729 % n : i * 31 % (i + 1);
        double sum = 0;
        for (int k = 0; k <= (i < j ? i : j); k++)
            sum += (is_lu && i == k ? 1 : element(plan, i, k)) *
                   (is_lu ? element(plan, k, j) : element(plan, j, k));
        if (!(fabs(sum - element_before(plan, i, j)) < 1e-9 * n))
            return 0;
    }
    return 1;
}

const tile_algorithm tile_factorisations[] = {
    {"cholesky", plan_cholesky, value, is_right, 0},
    {"lu", plan_lu, value, is_right, 1},
    {0},
};
