#include "op/shape/cuda_transpose.h"

#include "op/cuda/cuda_walk.cuh"

enum { SIDE = HKI_CUDA_TRANSPOSE_SIDE, LINES = HKI_CUDA_BLOCK / SIDE };

template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK) 
    transpose(const hki_cuda_transpose call, const hki_cuda_guard guard)
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

template <class Element> static void launch(hki_cuda_stream *stream, const hki_cuda_transpose *call)
{
    const unsigned grid = hki_cuda_grid(call->tiles, 1, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_BLOCK, transpose<Element>, *call,
                        hki_cuda_stream_guard(stream));
}

void hki_cuda_launch_transpose(hki_cuda_stream *stream, const hki_cuda_transpose *call,
                               int item_bytes)
{
    if (item_bytes == 1)
        launch<uint8_t>(stream, call);
    else if (item_bytes == 2)
        launch<uint16_t>(stream, call);
    else if (item_bytes == 4)
        launch<uint32_t>(stream, call);
    else
        launch<uint64_t>(stream, call);
}
