/* Where extremes are: how large they are is found in vectors, chunk by chunk, and then which element of the chunk with the extreme is
 * the first one. */
#include "op/reduce/reduce_kernel.h"

#include "base/dtype.h"
#include "base/half.h"
#include "base/integer.h"

/* Chunks: so many elements of a line, or rows of a tile of lines that lie side by side, more of a narrower one. What is looked at between
 * two branches. */
enum { LINE = 2048, ROWS = 32, LOOK = 32 };

/* ---- which of some elements -------------------------------------------------------------------------------- */

/* The first of `count` elements for which SAME holds; it does for one. Of a few, all are looked at: a branch that ends the loop anywhere
 * costs more. */
#define SEARCH(T, SAME)                                                                            \
    int64_t i = 0;                                                                                 \
    if (count <= HKI_REDUCE_SHORT) {                                                               \
        int64_t place = 0;                                                                         \
        for (i = count - 1; i >= 0; i--)                                                           \
            place = SAME(x[i * stride]) ? i : place;                                               \
        return place;                                                                              \
    }                                                                                              \
    for (; stride == 1 && i + LOOK <= count; i += LOOK) {                                          \
        T found = 0;                                                                               \
        for (int64_t j = 0; j < LOOK; j++)                                                         \
            found = SAME(x[i + j]) ? 1 : found;                                                    \
        if (found != 0)                                                                            \
            break;                                                                                 \
    }                                                                                              \
    while (i + 1 < count && !SAME(x[i * stride]))                                                  \
        i++;                                                                                       \
    return i;

/* The first element that is what the word says, or NaN where that is. */
#define FIRST(name, T)                                                                             \
    static int64_t first_##name(const void *data, int64_t count, int64_t stride,                   \
                                hki_reduce_word word)                                              \
    {                                                                                              \
        const T *x = data, value = (T)word.u;                                                      \
        SEARCH(T, IS_VALUE)                                                                        \
    }
#define FIRST_FLOAT(name, T, V)                                                                    \
    static int64_t first_nan_##name(const T *x, int64_t count, int64_t stride)                     \
    {                                                                                              \
        SEARCH(T, IS_NAN_##name)                                                                   \
    }                                                                                              \
    static int64_t first_##name(const void *data, int64_t count, int64_t stride,                   \
                                hki_reduce_word word)                                              \
    {                                                                                              \
        const T *x = data;                                                                         \
        const V value = (V)word.f;                                                                 \
        if (value != value)                                                                        \
            return first_nan_##name(x, count, stride);                                             \
        SEARCH(T, IS_##name)                                                                       \
    }

#define IS_VALUE(a)    ((a) == value)
#define IS_f32(a)      ((a) == value)
#define IS_f64(a)      ((a) == value)
#define IS_f16(a)      (hki_f16_to_float(a) == value)
#define IS_bf16(a)     (hki_bf16_to_float(a) == value)
#define IS_NAN_f32(a)  ((a) != (a))
#define IS_NAN_f64(a)  ((a) != (a))
#define IS_NAN_f16(a)  (((a)&0x7fff) > 0x7c00)
#define IS_NAN_bf16(a) (((a)&0x7fff) > 0x7f80)

FIRST_FLOAT(f32, float, float)
FIRST_FLOAT(f64, double, double)
FIRST_FLOAT(f16, uint16_t, float)
FIRST_FLOAT(bf16, uint16_t, float)
FIRST(of_1, uint8_t)
FIRST(of_2, uint16_t)
FIRST(of_4, uint32_t)
FIRST(of_8, uint64_t)

typedef int64_t (*first_fn)(const void *data, int64_t count, int64_t stride, hki_reduce_word word);
static const first_fn firsts[HK_DTYPE_COUNT] = {
    [HK_F32] = first_f32,  [HK_F64] = first_f64,  [HK_F16] = first_f16,   [HK_BF16] = first_bf16,
    [HK_I8] = first_of_1,  [HK_U8] = first_of_1,  [HK_BOOL] = first_of_1, [HK_I16] = first_of_2,
    [HK_U16] = first_of_2, [HK_I32] = first_of_4, [HK_U32] = first_of_4,  [HK_I64] = first_of_8,
    [HK_U64] = first_of_8};

/* ---- chunks -------------------------------------------------------------------------------------------------- */

/* Whether `a` is further out than b, or the first NaN. */
static bool beats(hki_reduce_kind kind, hk_dtype dtype, hki_reduce_word a, hki_reduce_word b)
{
    const bool is_max = kind == HKI_REDUCE_MAX;
    if (hki_dtype_is_real(dtype))
        return (is_max ? a.f > b.f : a.f < b.f) || (a.f != a.f && b.f == b.f);
    if (hki_dtype_is_unsigned(dtype) || dtype == HK_BOOL)
        return is_max ? a.u > b.u : a.u < b.u;
    return is_max ? a.i > b.i : a.i < b.i;
}

/* Of up to HKI_REDUCE_TILE kept elements, by chunks of so many elements of each. */
static void tile_places(hki_reduce_kind kind, hk_dtype dtype, const hki_reduce_geometry *geometry,
                        const char *x, int64_t kept_begin, int64_t kept_end, int64_t chunk,
                        int64_t *places)
{
    const hki_reduce_axes *kept = &geometry->kept, *gone = &geometry->gone;
    const int64_t stride = gone->ndim ? gone->in_strides[0] : 0;
    const int64_t tile = kept_end - kept_begin, item = (int64_t)hk_dtype_bytes(dtype);
    hki_reduce_word best[HKI_REDUCE_TILE], words[HKI_REDUCE_TILE];
    for (int64_t g = 0; g < gone->count; g += chunk) {
        hki_reduce_words(kind, dtype, geometry, x, kept_begin, kept_end, g,
                         hki_min(g + chunk, gone->count), words);
        for (int64_t k = 0; k < tile; k++)
            if (g == 0 || beats(kind, dtype, words[k], best[k])) {
                best[k] = words[k];
                places[k] = g;
            }
    }
    for (int64_t k = 0; k < tile; k++) {
        const int64_t at =
            hki_reduce_offset(kept, kept->in_strides, kept_begin + k) + places[k] * stride;
        places[k] +=
            firsts[dtype](x + at * item, hki_min(chunk, gone->count - places[k]), stride, best[k]);
    }
}

void hki_reduce_places(hki_reduce_kind kind, hk_dtype dtype, const hki_reduce_geometry *geometry,
                       const void *x, int64_t kept_begin, int64_t kept_end, int64_t *places)
{
    const bool is_tile = geometry->rows || geometry->gone.count <= HKI_REDUCE_SHORT;
    const int64_t lines = is_tile ? hki_min(HKI_REDUCE_TILE, hki_max(1, kept_end - kept_begin)) : 1;
    const int64_t chunk = is_tile ? ROWS * HKI_REDUCE_TILE / lines : LINE;
    for (int64_t k = kept_begin, next; k < kept_end; k = next) {
        next = hki_min(k + lines, kept_end);
        tile_places(kind, dtype, geometry, x, k, next, chunk, places + (k - kept_begin));
    }
}
