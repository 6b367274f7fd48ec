#include "device/cuda/cuda_geometry.h"

#include "tests/check.h"

static const int64_t grid_most = INT32_MAX; /* CUDA's limit of grid.x: 2^31 - 1 */

static void test_grid(void)
{
    const int64_t sizes[] = {
        0, 1, 255, 256, 257, 4096, 4097, INT64_C(1) << 31, 10007, INT64_C(1) << 40, INT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int multiprocessors = 0; multiprocessors < 300; multiprocessors += 7) {
            for (int block = 32; block <= 1024; block *= 2) {
                int64_t grid = hki_cuda_grid(sizes[i], block, multiprocessors);
                int64_t needed = sizes[i] / block + (sizes[i] % block > 0);
                CHECK(grid >= 1 && grid <= grid_most);
                CHECK(grid <= (needed > 1 ? needed : 1)); /* no block without work */
                /* Threads in steps of all threads reach every element when there is one at least; the GPU is full
                 * unless there are fewer elements. */
                int64_t full = (int64_t)8 * (multiprocessors > 0 ? multiprocessors : 1);
                CHECK(grid == full || grid >= needed);
            }
        }
    }
}

/* Against division, at every edge of a quotient. */
static void test_divider(void)
{
    const int64_t divisors[] = {1,
                                2,
                                3,
                                4,
                                5,
                                6,
                                7,
                                9,
                                10,
                                25,
                                31,
                                32,
                                33,
                                127,
                                641,
                                1000,
                                1023,
                                1024,
                                1025,
                                65535,
                                65536,
                                65537,
                                99991,
                                1 << 20,
                                (1 << 29) - 1,
                                (1 << 29) + 1,
                                (1 << 30) - 1,
                                1 << 30};
    for (size_t i = 0; i < sizeof divisors / sizeof divisors[0]; i++) {
        uint32_t divisor = (uint32_t)divisors[i], wrong = 0;
        hki_cuda_divider by = hki_cuda_divider_of(divisors[i]);
        uint32_t step = divisor < 1000 ? divisor * 997 : divisor;
        for (uint64_t at = 0; at <= HKI_CUDA_MAX_INDEX; at += step) {
            for (uint64_t n = at ? at - 1 : 0; n <= at + 1; n++)
                wrong += n <= HKI_CUDA_MAX_INDEX && hki_cuda_divide((uint32_t)n, by) != n / divisor;
        }
        for (uint32_t n = HKI_CUDA_MAX_INDEX - 5000; n <= HKI_CUDA_MAX_INDEX; n++)
            wrong += hki_cuda_divide(n, by) != n / divisor;
        CHECK_EQ_I64(wrong, 0);
    }
    uint32_t state = 1, wrong = 0;
    for (int i = 0; i < 2000000; i++) {
        state = state * 1664525u + 1013904223u;
        uint32_t n = state >> 2, divisor = (state * 2654435761u >> (2 + i % 28)) + 1;
        wrong += hki_cuda_divide(n, hki_cuda_divider_of(divisor)) != n / divisor;
    }
    CHECK_EQ_I64(wrong, 0);
}

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Every result has its tile, every element its part, and nothing is empty or counted twice. */
static void test_tiles(void)
{
    const int64_t sizes[] = {1,
                             2,
                             3,
                             7,
                             10,
                             31,
                             32,
                             33,
                             100,
                             255,
                             256,
                             1000,
                             1024,
                             1025,
                             4097,
                             65536,
                             1000003,
                             1 << 30,
                             INT64_C(1) << 40};
    const int count = (int)(sizeof sizes / sizeof sizes[0]);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            for (int by_rows = 0; by_rows < 2; by_rows++) {
                int64_t results = sizes[i], size = sizes[j];
                hki_cuda_tile tile = hki_cuda_tile_of(results, size, by_rows);
                int64_t columns = HKI_CUDA_TILE / tile.lanes;
                CHECK(is_power_of_two(tile.lanes) && tile.lanes <= HKI_CUDA_TILE);
                CHECK(tile.by_rows == (bool)by_rows);
                CHECK((tile.tiles - 1) * columns < results && tile.tiles * columns >= results);
                CHECK(tile.part_size % tile.lanes == 0);
                CHECK((tile.parts - 1) * tile.part_size < size &&
                      tile.parts * tile.part_size >= size);
                CHECK(tile.parts == 1 || tile.parts * tile.tiles <= HKI_CUDA_BLOCKS);
                /* Where there is work for a full GPU, half of its blocks have some at least. */
                if ((double)results * (double)size >= 64.0 * HKI_CUDA_BLOCKS * HKI_CUDA_TILE)
                    CHECK(tile.tiles * tile.parts >= HKI_CUDA_BLOCKS / 4);
            }
        }
    }
}

/* Lines that are held are held whole, with no lane too many; longer ones are told from them. */
static void test_held(void)
{
    for (int64_t size = 1; size < 20000; size = size < 70 ? size + 1 : size * 9 / 8)
        for (int64_t count = 1; count < 1000000; count *= 7)
            for (int bytes = 4; bytes <= 8; bytes += 4) {
                hki_cuda_held held = hki_cuda_held_of(count, size, bytes);
                const int64_t pack = HKI_CUDA_HELD_BYTES / bytes;
                const int64_t columns = HKI_CUDA_TILE / held.tile.lanes;
                CHECK(is_power_of_two(held.tile.lanes) && held.tile.lanes <= HKI_CUDA_TILE);
                CHECK((held.packs == 0) == (size > HKI_CUDA_TILE * HKI_CUDA_HELD_MOST * pack));
                if (!held.packs)
                    continue;
                CHECK(is_power_of_two(held.packs) && held.packs <= HKI_CUDA_HELD_MOST);
                CHECK(held.packs <= HKI_CUDA_HELD_WELL || held.tile.lanes == HKI_CUDA_TILE);
                CHECK(held.packs * held.tile.lanes * pack >= size);
                CHECK(held.tile.lanes == 1 || held.packs * held.tile.lanes / 2 * pack < size);
                CHECK((held.tile.tiles - 1) * columns < count &&
                      held.tile.tiles * columns >= count);
            }
}

int main(void)
{
    test_held();
    test_grid();
    test_divider();
    test_tiles();
    return check_result();
}
