/* Within the plug-in: a tile of a product of few rows with weights, for kernels that go on with its elements: a block has TILE_ROWS
 * rows and TILE_UNITS units with all their sums. Such products are too small to fill a GPU by larger tiles. Groups of threads
 * take parts of the depth, whose sums are added in the groups' order: shapes alone tell what is added to what.
 *
 * All threads of the block come here; launch by HKI_LAUNCH_TOGETHER with STEP_THREADS threads. */
#ifndef HOCKET_OP_CUDA_STEP_PRODUCT_CUH
#define HOCKET_OP_CUDA_STEP_PRODUCT_CUH

#include "op/cuda/cuda_pack.cuh"
#include "op/recurrent/cuda_recurrence.h"

enum {
    STEP_THREADS = 256,
    TILE_ROWS = 16,
    TILE_UNITS = STEP_THREADS / TILE_ROWS, /* afterwards a thread has one of each row */
    ROWS_OF_THREAD = 4
};

/* Where a block is, and of which element a thread gets the sums. */
struct step_place {
    int64_t first_row, first_unit, row, unit;
    bool is_within;
};

HKI_DEVICE step_place step_place_of(const hki_cuda_step_product &of)
{
    const unsigned across = (unsigned)((of.units + TILE_UNITS - 1) / TILE_UNITS);
    const unsigned tile_row = blockIdx.x / across, tile_unit = blockIdx.x - tile_row * across;
    step_place here;
    here.first_row = (int64_t)tile_row * TILE_ROWS;
    here.first_unit = (int64_t)tile_unit * TILE_UNITS;
    here.row = here.first_row + threadIdx.x / TILE_UNITS;
    here.unit = here.first_unit + threadIdx.x % TILE_UNITS;
    here.is_within = here.row < of.rows && here.unit < of.units;
    return here;
}

static inline unsigned step_grid(const hki_cuda_step_product *of)
{
    return (unsigned)((of->rows + TILE_ROWS - 1) / TILE_ROWS *
                      ((of->units + TILE_UNITS - 1) / TILE_UNITS));
}

/* Not contracted by the compiler, here it has to be. */
HKI_DEVICE float step_fma(float a, float b, float c)
{
    return fmaf(a, b, c);
}
HKI_DEVICE double step_fma(double a, double b, double c)
{
    return fma(a, b, c);
}

/* What PARTS sums of each unit make of the threads. Depth goes by packs of 16 bytes. */
template <class T, int PARTS> struct step_tile {
    static constexpr int N = HKI_CUDA_PACK_BYTES / (int)sizeof(T);
    static constexpr int columns = PARTS * TILE_UNITS, lines = TILE_ROWS + columns;
    static constexpr int columns_of_thread = PARTS == 1 ? 2 : PARTS;
    static constexpr int across = columns / columns_of_thread;
    static constexpr int group = across * (TILE_ROWS / ROWS_OF_THREAD);
    static constexpr int groups = STEP_THREADS / group;
    static constexpr int packs_of_group = 4, packs = groups * packs_of_group;
    static constexpr int stride =
        packs + 1; /* odd: packs of neighbouring lines lie in other banks */
    static constexpr int loads = lines * packs / STEP_THREADS;
    static constexpr int lines_of_load = STEP_THREADS / packs;
    static constexpr int room = groups * TILE_ROWS * columns / N; /* for sums of the groups */
    static constexpr int size = lines * stride > room ? lines *stride : room;
    static_assert(TILE_ROWS % lines_of_load == 0 && lines % lines_of_load == 0, "loads are whole");
};

/* Pack `index` of a line; zeros behind its end. */
template <class T, int N>
HKI_DEVICE hki_pack<T, N> step_load(const T *line, int64_t index, int64_t depth, bool is_wide)
{
    hki_pack<T, N> pack = {};
    if (is_wide)
        return index * N < depth ? hki_pack_at<N>(true, line, index) : pack;
    HKI_UNROLL
    for (int n = 0; n < N; n++)
        if (index * N + n < depth)
            pack.at[n] = line[index * N + n];
    return pack;
}

/* The lines that a thread brings packs of. Behind the last one it is that one again: nobody takes what comes of it. */
template <class T, int PARTS>
HKI_DEVICE void step_lines(const hki_cuda_step_product &of, const step_place &here,
                           const T *(&from)[step_tile<T, PARTS>::loads])
{
    using tile = step_tile<T, PARTS>;
    HKI_UNROLL
    for (int i = 0; i < tile::loads; i++) {
        const int first = i * tile::lines_of_load, line = first + (int)threadIdx.x / tile::packs;
        if (first < TILE_ROWS) {
            const int64_t row = here.first_row + line;
            from[i] = static_cast<const T *>(of.left.data) +
                      (row < of.rows ? row : of.rows - 1) * of.left.row;
        } else {
            const int column = line - TILE_ROWS, part = column / TILE_UNITS;
            const int64_t unit = here.first_unit + column % TILE_UNITS;
            from[i] = static_cast<const T *>(of.weight) +
                      (part * of.units + (unit < of.units ? unit : of.units - 1)) * of.depth;
        }
    }
}

/* A thread's products of what lies in the tile: rows of a stride of TILE_ROWS / ROWS_OF_THREAD, columns of one of `across`. */
template <class T, int PARTS>
HKI_DEVICE void step_add(const hki_pack<T, step_tile<T, PARTS>::N> *tile_packs,
                         T (&sums)[ROWS_OF_THREAD][step_tile<T, PARTS>::columns_of_thread])
{
    using tile = step_tile<T, PARTS>;
    constexpr int down = TILE_ROWS / ROWS_OF_THREAD;
    const int thread = (int)threadIdx.x, group = thread / tile::group;
    const int column = thread % tile::across, row = thread % tile::group / tile::across;
    HKI_UNROLL
    for (int p = 0; p < tile::packs_of_group; p++) {
        const auto *at = tile_packs + group * tile::packs_of_group + p;
        hki_pack<T, tile::N> left[ROWS_OF_THREAD], right[tile::columns_of_thread];
        HKI_UNROLL
        for (int i = 0; i < ROWS_OF_THREAD; i++)
            left[i] = at[(row + i * down) * tile::stride];
        HKI_UNROLL
        for (int j = 0; j < tile::columns_of_thread; j++)
            right[j] = at[(TILE_ROWS + column + j * tile::across) * tile::stride];
        HKI_UNROLL
        for (int n = 0; n < tile::N; n++)
            HKI_UNROLL
        for (int i = 0; i < ROWS_OF_THREAD; i++)
            HKI_UNROLL
        for (int j = 0; j < tile::columns_of_thread; j++)
            sums[i][j] = step_fma(left[i].at[n], right[j].at[n], sums[i][j]);
    }
}

/* Adds up what the groups have, to `result` of a thread's own row and unit. `room`: what the tile lay in. */
template <class T, int PARTS>
HKI_DEVICE void step_join(T *room,
                          const T (&sums)[ROWS_OF_THREAD][step_tile<T, PARTS>::columns_of_thread],
                          T (&result)[PARTS])
{
    using tile = step_tile<T, PARTS>;
    constexpr int down = TILE_ROWS / ROWS_OF_THREAD, size = TILE_ROWS * tile::columns;
    const int thread = (int)threadIdx.x, group = thread / tile::group;
    const int column = thread % tile::across, row = thread % tile::group / tile::across;
    HKI_UNROLL
    for (int i = 0; i < ROWS_OF_THREAD; i++)
        HKI_UNROLL
    for (int j = 0; j < tile::columns_of_thread; j++)
        room[group * size + (row + i * down) * tile::columns + column + j * tile::across] =
            sums[i][j];
    __syncthreads();
    const int own = thread / TILE_UNITS * tile::columns + thread % TILE_UNITS;
    HKI_UNROLL
    for (int part = 0; part < PARTS; part++) {
        result[part] = room[own + part * TILE_UNITS];
        HKI_UNROLL
        for (int i = 1; i < tile::groups; i++)
            result[part] += room[i * size + own + part * TILE_UNITS];
    }
}

/* result[part]: the product of the thread's row with the weights of part `part` of its unit. */
template <class T, int PARTS>
HKI_DEVICE void step_multiply(const hki_cuda_step_product &of, const step_place &here, bool is_wide,
                              T (&result)[PARTS])
{
    using tile = step_tile<T, PARTS>;
    HKI_SHARED hki_pack<T, tile::N> packs[tile::size];
    const int pack = (int)threadIdx.x % tile::packs, line = (int)threadIdx.x / tile::packs;
    const T *from[tile::loads];
    hki_pack<T, tile::N> next[tile::loads];
    T sums[ROWS_OF_THREAD][tile::columns_of_thread] = {};
    step_lines<T, PARTS>(of, here, from);
    HKI_UNROLL
    for (int i = 0; i < tile::loads; i++)
        next[i] = step_load<T, tile::N>(from[i], pack, of.depth, is_wide);
    for (int64_t at = 0; at * tile::N < of.depth; at += tile::packs) {
        HKI_UNROLL
        for (int i = 0; i < tile::loads; i++)
            packs[(i * tile::lines_of_load + line) * tile::stride + pack] = next[i];
        __syncthreads();
        HKI_UNROLL
        for (int i = 0; i < tile::loads; i++)
            next[i] = step_load<T, tile::N>(from[i], at + tile::packs + pack, of.depth, is_wide);
        step_add<T, PARTS>(packs, sums);
        __syncthreads();
    }
    step_join<T, PARTS>(&packs[0].at[0], sums, result);
}

#endif
