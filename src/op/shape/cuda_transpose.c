#include "op/shape/cuda_transpose.h"

#include <string.h>

/* Below half a tile, most threads would have nothing to do. */
enum { LEAST_SIDE = HKI_CUDA_TRANSPOSE_SIDE / 2 };

/* The axis that operand 1 has side by side; -1: none, or the last one. */
static int row_axis(const hki_cuda_walk *walk, int item_bytes)
{
    for (int axis = 0; axis < walk->ndim - 1; axis++) {
        if (walk->steps[axis][1] == item_bytes)
            return axis;
    }
    return -1;
}

bool hki_cuda_transpose_init(hki_cuda_transpose *transpose, const hki_cuda_walk *walk,
                             int item_bytes)
{
    hki_cuda_walk merged = *walk, outer;
    hki_cuda_walk_merge(&merged);
    const int last = merged.ndim - 1, own = row_axis(&merged, item_bytes);
    if (own < 0 || merged.steps[last][0] != item_bytes || merged.steps[last][1] == 0 ||
        merged.dims[own] < LEAST_SIDE || merged.dims[last] < LEAST_SIDE)
        return false;
    hki_cuda_walk_init(&outer, 2);
    memcpy(outer.data, merged.data, sizeof outer.data);
    for (int axis = 0; axis < last; axis++) {
        if (axis != own)
            hki_cuda_walk_add_axis(&outer, merged.dims[axis], merged.steps[axis]);
    }
    memset(transpose, 0, sizeof *transpose);
    hki_cuda_path_init(&transpose->outer, &outer, 1, NULL);
    transpose->rows = (uint32_t)merged.dims[own];
    transpose->columns = (uint32_t)merged.dims[last];
    transpose->row_step = merged.steps[own][0];
    transpose->column_step = merged.steps[last][1];
    const uint32_t side = HKI_CUDA_TRANSPOSE_SIDE;
    const uint32_t row_tiles = (transpose->rows + side - 1) / side;
    const uint32_t column_tiles = (transpose->columns + side - 1) / side;
    transpose->row_tiles = hki_cuda_divider_of(row_tiles);
    transpose->column_tiles = hki_cuda_divider_of(column_tiles);
    transpose->tiles = transpose->outer.count * row_tiles * column_tiles;
    return true;
}
