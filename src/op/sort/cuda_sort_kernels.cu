/* sort, argsort, topk and searchsorted. Lines are sorted whole, by pairs of a key and where it
 * was: stable, and the same for every dtype. */
#include "op/sort/cuda_sort.cuh"

#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_walk.cuh"
#include "op/sort/sort.h"

/* Line i begins at i / inner * size * inner + i % inner, its elements are `inner` apart. */
struct hki_cuda_lines {
    int64_t size, inner, count; /* all at least 1 */
    bool falls;                 /* the largest first; a NaN is larger than all numbers */
    bool unused[7];             /* no gap: the emulation takes what lies in one for an address */
};

enum { TILE = 2 * HKI_CUDA_BLOCK }; /* items that a block sorts in shared memory */

static unsigned grid_of(hki_cuda_stream *stream, int64_t size, int block)
{
    return hki_cuda_grid(size, block, hki_cuda_stream_multiprocessors(stream));
}

/* ---- items -------------------------------------------------------------------------------------------------- */

HKI_DEVICE bool precedes(const hki_cuda_item &a, const hki_cuda_item &b)
{
    return a.key < b.key || (a.key == b.key && a.number < b.number);
}

/* Batcher's bitonic network (AFIPS '68) on runs of `tile` items, a power of two, of which a block has several where lines are
 * short. What is behind the end of a line is filled up by items that come last. */
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    sort_tiles(hki_cuda_item *items, const int64_t lines, const int64_t size, const int tile)
{
    HKI_SHARED hki_cuda_item room[TILE];
    const int64_t per_line = (size - 1) / tile + 1, tiles = lines * per_line;
    for (int64_t first = (int64_t)blockIdx.x * (TILE / tile); first < tiles;
         first += (int64_t)gridDim.x * (TILE / tile)) {
        __syncthreads();
        for (int slot = (int)threadIdx.x; slot < TILE; slot += HKI_CUDA_BLOCK) {
            const int64_t own = first + slot / tile, at = own % per_line * tile + slot % tile;
            const bool is_there = own < tiles && at < size;
            room[slot] =
                is_there ? items[own / per_line * size + at] : hki_cuda_item{~0ull, INT64_MAX};
        }
        for (int run = 2; run <= tile; run *= 2) {
            for (int step = run / 2; step > 0; step /= 2) {
                __syncthreads();
                const int a = (int)threadIdx.x / step * 2 * step + (int)threadIdx.x % step;
                const int b = a + step;
                const bool falls = run < tile && (a & run) != 0;
                const hki_cuda_item x = room[a], y = room[b];
                if (falls ? precedes(x, y) : precedes(y, x)) {
                    room[a] = y;
                    room[b] = x;
                }
            }
        }
        __syncthreads();
        for (int slot = (int)threadIdx.x; slot < TILE; slot += HKI_CUDA_BLOCK) {
            const int64_t own = first + slot / tile, at = own % per_line * tile + slot % tile;
            if (own < tiles && at < size)
                items[own / per_line * size + at] = room[slot];
        }
    }
}

/* Two neighbouring sorted runs become one: an item's place is its own in its run, and how many of the other run come
 * before it. */
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    merge_runs(const hki_cuda_item *from, hki_cuda_item *to, const int64_t count,
               const int64_t size, const int64_t run)
{
    for (int64_t i = HKI_THREAD_INDEX; i < count; i += HKI_THREAD_COUNT) {
        const int64_t line = i / size * size, at = i - line, begin = at / (2 * run) * (2 * run);
        const int64_t middle = begin + run < size ? begin + run : size;
        const int64_t end = middle + run < size ? middle + run : size;
        int64_t low = at < middle ? middle : begin, high = at < middle ? end : middle;
        const hki_cuda_item item = from[i];
        while (low < high) {
            const int64_t half = low + (high - low) / 2;
            if (precedes(from[line + half], item))
                low = half + 1;
            else
                high = half;
        }
        to[line + at + low - middle] = item;
    }
}

hki_cuda_item *hki_cuda_sort_items(hki_cuda_stream *stream, hki_cuda_item *items,
                                   hki_cuda_item *spare, int64_t lines, int64_t size)
{
    const int tile = hki_cuda_lanes(size, TILE);
    const int64_t tiles = lines * ((size - 1) / tile + 1);
    HKI_LAUNCH_TOGETHER(stream, grid_of(stream, tiles, TILE / tile), HKI_CUDA_BLOCK, sort_tiles,
                        items, lines, size, tile);
    for (int64_t run = tile; run < size; run *= 2) {
        HKI_LAUNCH(stream, grid_of(stream, lines * size, HKI_CUDA_BLOCK), HKI_CUDA_BLOCK,
                   merge_runs, items, spare, lines * size, size, run);
        hki_cuda_item *sorted = spare;
        spare = items;
        items = sorted;
    }
    return items;
}

/* ---- elements: keys of a value are in its order; a NaN is the largest, and -0 is 0 */

HKI_DEVICE unsigned long long key_of(float x)
{
    const unsigned bits = __float_as_uint(x == 0 ? 0.0f : x);
    return x != x ? ~0ull : bits >> 31 ? (unsigned)~bits : bits | 1u << 31;
}
HKI_DEVICE unsigned long long key_of(double x)
{
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x == 0 ? 0.0 : x);
    return x != x ? ~0ull : bits >> 63 ? ~bits : bits | 1ull << 63;
}
HKI_DEVICE unsigned long long key_of(int64_t x)
{
    return (unsigned long long)x ^ 1ull << 63;
}
HKI_DEVICE unsigned long long key_of(int32_t x)
{
    return key_of((int64_t)x);
}
HKI_DEVICE unsigned long long key_of(uint8_t x)
{
    return x;
}

HKI_DEVICE int64_t start_of(const hki_cuda_lines &lines, int64_t line, int64_t size)
{
    return line / lines.inner * size * lines.inner + line % lines.inner;
}

/* Neighbouring threads read neighbouring elements, be they of one line or of several. */
template <class T>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    make_items(const hki_cuda_lines lines, const T *x, hki_cuda_item *items)
{
    const int64_t count = lines.count * lines.size, plane = lines.size * lines.inner;
    for (int64_t i = HKI_THREAD_INDEX; i < count; i += HKI_THREAD_COUNT) {
        const int64_t at = i % plane / lines.inner;
        const int64_t line = i / plane * lines.inner + i % lines.inner;
        const unsigned long long key = key_of(x[i]);
        items[line * lines.size + at] = {lines.falls ? ~key : key, at};
    }
}

template <class T>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    put_sorted(const hki_cuda_lines lines, const T *x, const hki_cuda_item *items,
               const int64_t kept, T *y, int64_t *indices)
{
    for (int64_t i = HKI_THREAD_INDEX; i < lines.count * kept; i += HKI_THREAD_COUNT) {
        const int64_t plane = kept * lines.inner, at = i % plane / lines.inner;
        const int64_t line = i / plane * lines.inner + i % lines.inner;
        const int64_t number = items[line * lines.size + at].number;
        if (y)
            y[i] = x[start_of(lines, line, lines.size) + number * lines.inner];
        indices[i] = number;
    }
}

/* ---- contiguous lines of up to 2048 elements with keys of 32 bits: Batcher's network on words of a key above a number, a few of
 * which each of a line's threads (its lanes) holds in registers */

enum {
    EACH = 8, /* words of a lane, which are neighbours in the order */
    WARP = 32,
    HELD_BLOCKS = 4, /* on a multiprocessor at a time: some work while others meet */
};
typedef unsigned long long word;

/* In the order of key_of. */
HKI_DEVICE unsigned key32_of(float x)
{
    return (unsigned)key_of(x);
}
HKI_DEVICE unsigned key32_of(int32_t x)
{
    return (unsigned)x ^ 1u << 31;
}
HKI_DEVICE unsigned key32_of(uint8_t x)
{
    return x;
}

HKI_DEVICE void order_two(word &a, word &b, const bool falls)
{
    const word x = a, y = b;
    const bool swaps = (x > y) != falls;
    a = swaps ? y : x;
    b = swaps ? x : y;
}

/* Rising and falling words of a lane become sorted. */
HKI_DEVICE void merge_own(word held[EACH], const bool falls)
{
    HKI_UNROLL
    for (int step = EACH / 2; step > 0; step /= 2)
        HKI_UNROLL
    for (int j = 0; j < EACH; j++)
        if ((j & step) == 0)
            order_two(held[j], held[j + step], falls);
}

HKI_DEVICE void sort_own(word held[EACH], const bool falls)
{
    HKI_UNROLL
    for (int run = 2; run < EACH; run *= 2)
        HKI_UNROLL
    for (int step = run / 2; step > 0; step /= 2)
        HKI_UNROLL
    for (int j = 0; j < EACH; j++)
        if ((j & step) == 0)
            order_two(held[j], held[j + step], (j & run) != 0);
    merge_own(held, falls);
}

/* A thread's words in the room, where those of neighbouring threads are in other banks. */
HKI_DEVICE int in_room(int slot)
{
    return slot + slot / EACH;
}
HKI_DEVICE void put_own(const word held[EACH], word *room)
{
    __syncthreads();
    HKI_UNROLL
    for (int j = 0; j < EACH; j++)
        room[(int)threadIdx.x * (EACH + 1) + j] = held[j];
    __syncthreads();
}

/* Of each two words of this thread and that `distance` away, this one keeps the larger, or the smaller. */
HKI_DEVICE void order_lanes(word held[EACH], const int distance, const bool larger, word *room)
{
    word others[EACH];
    if (distance < WARP) {
        HKI_UNROLL
        for (int j = 0; j < EACH; j++)
            others[j] = __shfl_xor_sync(0xffffffffu, held[j], distance);
    } else {
        put_own(held, room);
        HKI_UNROLL
        for (int j = 0; j < EACH; j++)
            others[j] = room[((int)threadIdx.x ^ distance) * (EACH + 1) + j];
    }
    HKI_UNROLL
    for (int j = 0; j < EACH; j++)
        held[j] = (others[j] > held[j]) == larger ? others[j] : held[j];
}

/* All are read before the first is written: the compiler cannot tell that y is not x. */
template <class T>
HKI_DEVICE void put_values(const int lanes, const int lane, const T *own, const int kept,
                           const unsigned numbers[EACH], T *y)
{
    T values[EACH];
    HKI_UNROLL
    for (int j = 0; j < EACH; j++)
        values[j] = j * lanes + lane < kept ? own[numbers[j]] : T(0);
    HKI_UNROLL
    for (int j = 0; j < EACH; j++)
        if (j * lanes + lane < kept)
            y[j * lanes + lane] = values[j];
}

/* Each block has lines of its own: a loop over blocks would need registers that words are in. */
template <class T>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK, HELD_BLOCKS)
    sort_lines(const hki_cuda_lines lines, const int lanes, const T *x, const int64_t kept, T *y,
               int64_t *indices)
{
    HKI_SHARED word room[HKI_CUDA_BLOCK * (EACH + 1)];
    const int lane = (int)threadIdx.x & (lanes - 1); /* lanes: a power of two */
    const int64_t line = HKI_THREAD_INDEX / lanes;
    const int size = line < lines.count ? (int)lines.size : 0;
    const T *own = x + line * lines.size;
    word held[EACH];
    HKI_UNROLL
    for (int j = 0; j < EACH; j++) {
        const int at = j * lanes + lane;
        held[j] = ~0ull; /* comes last */
        if (at < size) {
            const unsigned key = key32_of(own[at]);
            held[j] = (word)(lines.falls ? ~key : key) << 32 | (unsigned)at;
        }
    }
    sort_own(held, lanes > 1 && (lane & 1) != 0);
    for (int run = 2; run <= lanes; run *= 2) { /* of lanes */
        const bool falls = run < lanes && (lane & run) != 0;
        for (int distance = run / 2; distance > 0; distance /= 2)
            order_lanes(held, distance, ((lane & distance) != 0) != falls, room);
        merge_own(held, falls);
    }
    put_own(held, room);
    const int own_kept = line < lines.count ? (int)kept : 0;
    unsigned numbers[EACH];
    HKI_UNROLL
    for (int j = 0; j < EACH; j++) { /* neighbouring threads put neighbours */
        const int at = j * lanes + lane;
        numbers[j] = (unsigned)room[in_room(((int)threadIdx.x - lane) * EACH + at)];
        if (at < own_kept)
            indices[line * kept + at] = numbers[j];
    }
    if (y)
        put_values(lanes, lane, own, own_kept, numbers, y + line * kept);
}

template <class T>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    put_back(const hki_cuda_lines lines, const T *x, const int64_t *indices, T *y)
{
    const int64_t count = lines.count * lines.size, plane = lines.size * lines.inner;
    for (int64_t i = HKI_THREAD_INDEX; i < count; i += HKI_THREAD_COUNT)
        y[i / plane * plane + indices[i] * lines.inner + i % lines.inner] = x[i];
}

template <class T>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    search(const T *sorted, const int64_t count, const T *x, const int64_t size, const bool right,
           int64_t *places)
{
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT) {
        const unsigned long long key = key_of(x[i]);
        int64_t low = 0, high = count;
        while (low < high) {
            const int64_t half = low + (high - low) / 2;
            const unsigned long long other = key_of(sorted[half]);
            if (right ? other <= key : other < key)
                low = half + 1;
            else
                high = half;
        }
        places[i] = low;
    }
}

/* ---- launches ------------------------------------------------------------------------------------------------- */

#define EACH_DTYPE(LAUNCH)                                                                         \
    switch (dtype) {                                                                               \
    case HK_F32:                                                                                   \
        LAUNCH(float);                                                                             \
        break;                                                                                     \
    case HK_F64:                                                                                   \
        LAUNCH(double);                                                                            \
        break;                                                                                     \
    case HK_I32:                                                                                   \
        LAUNCH(int32_t);                                                                           \
        break;                                                                                     \
    case HK_I64:                                                                                   \
        LAUNCH(int64_t);                                                                           \
        break;                                                                                     \
    default: /* uint8 and bool; others are refused at the call */                                  \
        LAUNCH(uint8_t);                                                                           \
        break;                                                                                     \
    }

/* items[line][j] becomes element j of a line, its number j. */
static void launch_items(hki_cuda_stream *stream, const hki_cuda_lines *lines, hk_dtype dtype,
                         const void *x, hki_cuda_item *items)
{
    const unsigned grid = grid_of(stream, lines->count * lines->size, HKI_CUDA_BLOCK);
#define LAUNCH(T)                                                                                  \
    HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, make_items<T>, *lines, static_cast<const T *>(x),     \
               items)
    EACH_DTYPE(LAUNCH)
#undef LAUNCH
}

/* The first `kept` items of each line: where they were to indices, the elements themselves to y;
 * y NULL: not those. Both are lines of `kept` elements. */
static void launch_sorted(hki_cuda_stream *stream, const hki_cuda_lines *lines, int item_bytes,
                          const void *x, const hki_cuda_item *items, int64_t kept, void *y,
                          int64_t *indices)
{
    const unsigned grid = grid_of(stream, lines->count * kept, HKI_CUDA_BLOCK);
#define LAUNCH(T)                                                                                  \
    HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, put_sorted<T>, *lines, static_cast<const T *>(x),     \
               items, kept, static_cast<T *>(y), indices)
    if (item_bytes == 1)
        LAUNCH(uint8_t);
    else if (item_bytes == 4)
        LAUNCH(uint32_t);
    else
        LAUNCH(uint64_t);
#undef LAUNCH
}

/* Whether lines of this dtype are sorted without items: as both of the above, and the sort in
 * between. */
static bool is_short(const hki_cuda_lines *lines, hk_dtype dtype)
{
    return lines->inner == 1 && lines->size <= EACH * HKI_CUDA_BLOCK && dtype != HK_F64 &&
           dtype != HK_I64;
}

static void launch_short(hki_cuda_stream *stream, const hki_cuda_lines *lines, hk_dtype dtype,
                         const void *x, int64_t kept, void *y, int64_t *indices)
{
    const int lanes = hki_cuda_lanes((lines->size - 1) / EACH + 1, HKI_CUDA_BLOCK);
    const unsigned grid = (unsigned)((lines->count * lanes - 1) / HKI_CUDA_BLOCK + 1);
#define LAUNCH(T)                                                                                  \
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_BLOCK, sort_lines<T>, *lines, lanes,                \
                        static_cast<const T *>(x), kept, static_cast<T *>(y), indices)
    if (dtype == HK_F32)
        LAUNCH(float);
    else if (dtype == HK_I32)
        LAUNCH(int32_t);
    else
        LAUNCH(uint8_t);
#undef LAUNCH
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

static hki_cuda_lines lines_of(const hki_tensor &x, int64_t axis, bool falls)
{
    const hki_lines lines = hki_lines_of(x.ndim, x.dims, axis);
    return {lines.size, lines.inner, lines.count, falls, {}};
}

/* The first `kept` elements of each line, to y, which may be NULL, and where they were to
 * indices. */
static void put_first(const hki_tensor &x, hki_cuda_stream *stream, const hki_cuda_lines *lines,
                      int64_t kept, void *y, int64_t *indices)
{
    if (is_short(lines, x.dtype)) {
        launch_short(stream, lines, x.dtype, x.data, kept, y, indices);
        return;
    }
    hki_cuda_item *items = static_cast<hki_cuda_item *>(
        hki_cuda_workspace(stream, 2 * (size_t)x.size * sizeof(hki_cuda_item)));
    if (!items)
        return;
    launch_items(stream, lines, x.dtype, x.data, items);
    items = hki_cuda_sort_items(stream, items, items + x.size, lines->count, lines->size);
    launch_sorted(stream, lines, hki_cuda_item_bytes(x.dtype), x.data, items, kept, y, indices);
}

void hki_cuda_call_sort(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_sort_options *options = hki_options_of<hki_sort_options>(call);
    const hki_tensor &x = call->in[0];
    const bool has_values = call->output_count > 1;
    if (x.size == 0)
        return;
    const hki_cuda_lines lines = lines_of(x, options->axis, options->descending);
    put_first(x, stream, &lines, lines.size, has_values ? call->out[0].data : nullptr,
              hki_output_of<int64_t>(call, has_values));
}

void hki_cuda_call_topk(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_topk_options *options = hki_options_of<hki_topk_options>(call);
    const hki_tensor &x = call->in[0];
    if (x.size == 0 || options->k == 0)
        return;
    const hki_cuda_lines lines = lines_of(x, options->axis, options->largest);
    put_first(x, stream, &lines, options->k, call->out[0].data, hki_output_of<int64_t>(call, 1));
}

/* y becomes, where the indices of sorted lines say, the elements of dy. */
template <class T> static void launch_unsorted(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &dy = call->in[0];
    const hki_cuda_lines lines = lines_of(dy, hki_options_of<hki_sort_options>(call)->axis, false);
    HKI_LAUNCH(stream, grid_of(stream, lines.count * lines.size, HKI_CUDA_BLOCK), HKI_CUDA_BLOCK,
               put_back<T>, lines, hki_input_of<T>(call, 0), hki_input_of<int64_t>(call, 1),
               hki_output_of<T>(call, 0));
}

void hki_cuda_call_unsort(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &dy = call->in[0];
    if (dy.size > 0)
        (hki_cuda_item_bytes(dy.dtype) == 4 ? launch_unsorted<uint32_t>
                                            : launch_unsorted<uint64_t>)(call, stream);
}

void hki_cuda_call_searchsorted(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &sorted = call->in[0], &x = call->in[1];
    const bool right = hki_options_of<hki_searchsorted_options>(call)->right;
    const hk_dtype dtype = x.dtype;
    if (x.size == 0)
        return;
    const unsigned grid = grid_of(stream, x.size, HKI_CUDA_BLOCK);
#define LAUNCH(T)                                                                                  \
    HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, search<T>,                                            \
               sorted.size ? hki_input_of<T>(call, 0) : nullptr, sorted.size,                      \
               hki_input_of<T>(call, 1), x.size, right, hki_output_of<int64_t>(call, 0))
    EACH_DTYPE(LAUNCH)
#undef LAUNCH
}
