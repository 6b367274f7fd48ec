/* Copies of transposed arrays. */
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_walk.cuh"

#include <string.h>

enum { SIDE = 32, LINES = HKI_CUDA_BLOCK / SIDE };

/* Matrices, as many as `outer` has elements: operand 0 has columns side by side, operand 1 rows.
 * Tiles of SIDE rows and columns go through shared memory, so that both sides are read and
 * written along memory. */
struct transposed_matrices {
    hki_cuda_path outer;
    uint32_t rows, columns;
    int64_t row_step,
        column_step; /* bytes: of operand 0 from row to row, of operand 1 from column to column */
    hki_cuda_divider row_tiles, column_tiles; /* of a matrix */
    uint32_t tiles;                           /* of all matrices */
};

template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    transpose(const transposed_matrices call, const hki_cuda_guard guard)
{
    if (hki_cuda_is_up(guard)) /* to all threads alike */
        return;
    HKI_SHARED Element tile[SIDE][SIDE + 1]; /* one more: columns lie in different banks */
    const uint32_t across = threadIdx.x % SIDE, down = threadIdx.x / SIDE;
    for (uint32_t i = blockIdx.x; i < call.tiles; i += gridDim.x) {
        const uint32_t strip = hki_cuda_divide(i, call.column_tiles);
        const uint32_t matrix = hki_cuda_divide(strip, call.row_tiles);
        const uint32_t column = (i - strip * call.column_tiles.divisor) * SIDE;
        const uint32_t row = (strip - matrix * call.row_tiles.divisor) * SIDE;
        char *at[2];
        hki_path_all<2>(call.outer, matrix, at);
        for (uint32_t line = down; line < SIDE; line += LINES) {
            if (row + across < call.rows && column + line < call.columns)
                tile[line][across] = reinterpret_cast<const Element *>(
                    at[1] + (column + line) * call.column_step)[row + across];
        }
        __syncthreads();
        for (uint32_t line = down; line < SIDE; line += LINES) {
            if (row + line < call.rows && column + across < call.columns)
                reinterpret_cast<Element *>(at[0] + (row + line) * call.row_step)[column + across] =
                    tile[across][line];
        }
        __syncthreads();
    }
}

template <class Element>
static void launch(hki_cuda_stream *stream, const transposed_matrices *call)
{
    const unsigned grid = hki_cuda_grid(call->tiles, 1, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_BLOCK, transpose<Element>, *call,
                        hki_cuda_stream_guard(stream));
}

/* Below half a tile, most threads would have nothing to do. */
enum { LEAST_SIDE = SIDE / 2 };

/* The axis that operand 1 has side by side; -1: none, or the last one. */
static int row_axis(const hki_cuda_walk *walk, int item_bytes)
{
    for (int axis = 0; axis < walk->ndim - 1; axis++) {
        if (walk->steps[axis][1] == item_bytes)
            return axis;
    }
    return -1;
}

/* Takes a copy apart; see hki_cuda_transpose. */
static bool transpose_init(transposed_matrices *transpose, const hki_cuda_walk *walk,
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
    hki_cuda_path_init(&transpose->outer, &outer, 1, nullptr);
    transpose->rows = (uint32_t)merged.dims[own];
    transpose->columns = (uint32_t)merged.dims[last];
    transpose->row_step = merged.steps[own][0];
    transpose->column_step = merged.steps[last][1];
    const uint32_t side = SIDE;
    const uint32_t row_tiles = (transpose->rows + side - 1) / side;
    const uint32_t column_tiles = (transpose->columns + side - 1) / side;
    transpose->row_tiles = hki_cuda_divider_of(row_tiles);
    transpose->column_tiles = hki_cuda_divider_of(column_tiles);
    transpose->tiles = transpose->outer.count * row_tiles * column_tiles;
    return true;
}

bool hki_cuda_transpose(hki_cuda_stream *stream, const hki_cuda_walk *walk, int item_bytes)
{
    transposed_matrices call;
    if (!transpose_init(&call, walk, item_bytes))
        return false;
    if (item_bytes == 1)
        launch<uint8_t>(stream, &call);
    else if (item_bytes == 2)
        launch<uint16_t>(stream, &call);
    else if (item_bytes == 4)
        launch<uint32_t>(stream, &call);
    else
        launch<uint64_t>(stream, &call);
    return true;
}
