/* Bound by memory: each input is read once and each output written once, through sums that stay in the
 * first cache. Summing two blocks into one, or two to four in place, the usual cases, keeps them in registers. */
#include "collective/sum_kernel.h"

#include "base/sum_tree.h"

#include <assert.h>
#include <string.h>

/* Of a sum at work; there may be one for each level of the tree. */
enum { BLOCK_BYTES = 2048 };

/* Wrapping integers are unsigned, so that the sum is defined. */
#define SUMS(name, type)                                                                           \
    static void name##_in_place2(type *restrict a, type *restrict b, size_t size)                  \
    {                                                                                              \
        for (size_t i = 0; i < size; i++) {                                                        \
            type sum = (type)(a[i] + b[i]);                                                        \
            a[i] = sum;                                                                            \
            b[i] = sum;                                                                            \
        }                                                                                          \
    }                                                                                              \
    static void name##_in_place3(type *restrict a, type *restrict b, type *restrict c,             \
                                 size_t size)                                                      \
    {                                                                                              \
        for (size_t i = 0; i < size; i++) {                                                        \
            type sum = (type)((type)(a[i] + b[i]) + c[i]);                                         \
            a[i] = sum;                                                                            \
            b[i] = sum;                                                                            \
            c[i] = sum;                                                                            \
        }                                                                                          \
    }                                                                                              \
    static void name##_in_place4(type *restrict a, type *restrict b, type *restrict c,             \
                                 type *restrict d, size_t size)                                    \
    {                                                                                              \
        for (size_t i = 0; i < size; i++) {                                                        \
            type sum = (type)((type)(a[i] + b[i]) + (type)(c[i] + d[i]));                          \
            a[i] = sum;                                                                            \
            b[i] = sum;                                                                            \
            c[i] = sum;                                                                            \
            d[i] = sum;                                                                            \
        }                                                                                          \
    }                                                                                              \
    static void name##_add(type *restrict sum, const type *restrict x, size_t size)                \
    {                                                                                              \
        for (size_t i = 0; i < size; i++)                                                          \
            sum[i] = (type)(sum[i] + x[i]);                                                        \
    }                                                                                              \
    /* The sum may be in the place of one of both. */                                              \
    static void name##_pair(const type *a, const type *b, type *sum, size_t size)                  \
    {                                                                                              \
        for (size_t i = 0; i < size; i++)                                                          \
            sum[i] = (type)(a[i] + b[i]);                                                          \
    }                                                                                              \
    /* Of in[0] … in[count - 1], a block of each from `begin` on. */                             \
    static void name##_tree(const void *const *in, int count, size_t begin, size_t size,           \
                            type *sum)                                                             \
    {                                                                                              \
        const int half = (int)hki_sum_half(count);                                                 \
        type right[BLOCK_BYTES / sizeof(type)];                                                    \
        if (count == 1) {                                                                          \
            memcpy(sum, (const type *)in[0] + begin, size * sizeof *sum);                          \
            return;                                                                                \
        }                                                                                          \
        if (count == 2) {                                                                          \
            name##_pair((const type *)in[0] + begin, (const type *)in[1] + begin, sum, size);      \
            return;                                                                                \
        }                                                                                          \
        name##_tree(in, half, begin, size, sum);                                                   \
        if (count - half == 1) {                                                                   \
            name##_add(sum, (const type *)in[half] + begin, size);                                 \
            return;                                                                                \
        }                                                                                          \
        name##_tree(in + half, count - half, begin, size, right);                                  \
        name##_add(sum, right, size);                                                              \
    }                                                                                              \
    static void name(const void *const *in, int in_count, void *const *out, int out_count,         \
                     size_t size)                                                                  \
    {                                                                                              \
        if (in_count == out_count && in_count >= 2 && in_count <= 4 &&                             \
            memcmp(in, out, (size_t)in_count * sizeof *in) == 0) {                                 \
            if (in_count == 2)                                                                     \
                name##_in_place2(out[0], out[1], size);                                            \
            else if (in_count == 3)                                                                \
                name##_in_place3(out[0], out[1], out[2], size);                                    \
            else                                                                                   \
                name##_in_place4(out[0], out[1], out[2], out[3], size);                            \
            return;                                                                                \
        }                                                                                          \
        if (in_count == 2 && out_count == 1) {                                                     \
            name##_pair(in[0], in[1], out[0], size);                                               \
            return;                                                                                \
        }                                                                                          \
        enum { BLOCK = BLOCK_BYTES / sizeof(type) };                                               \
        type sum[BLOCK];                                                                           \
        for (size_t begin = 0; begin < size; begin += BLOCK) {                                     \
            size_t count = size - begin < BLOCK ? size - begin : BLOCK;                            \
            name##_tree(in, in_count, begin, count, sum);                                          \
            for (int i = 0; i < out_count; i++)                                                    \
                memcpy((type *)out[i] + begin, sum, count * sizeof *sum);                          \
        }                                                                                          \
    }

SUMS(sum_f32, float)
SUMS(sum_f64, double)
SUMS(sum_u32, uint32_t)
SUMS(sum_u64, uint64_t)
SUMS(sum_u16, uint16_t)
SUMS(sum_u8, uint8_t)

void hki_sum_kernel(hk_dtype dtype, const void *const *in, int in_count, void *const *out,
                    int out_count, size_t size)
{
    if (in_count == 1) {
        size_t bytes = size * hk_dtype_bytes(dtype);
        for (int i = 0; i < out_count; i++)
            if (out[i] != in[0])
                memcpy(out[i], in[0], bytes);
        return;
    }
    switch (dtype) {
    case HK_F32:
        sum_f32(in, in_count, out, out_count, size);
        break;
    case HK_F64:
        sum_f64(in, in_count, out, out_count, size);
        break;
    case HK_I32:
    case HK_U32:
        sum_u32(in, in_count, out, out_count, size);
        break;
    case HK_I64:
    case HK_U64:
        sum_u64(in, in_count, out, out_count, size);
        break;
    case HK_I16:
    case HK_U16:
        sum_u16(in, in_count, out, out_count, size);
        break;
    case HK_I8:
    case HK_U8:
    case HK_BOOL:
        sum_u8(in, in_count, out, out_count, size);
        break;
    case HK_C64: /* pairs of parts, each added by itself */
        sum_f32(in, in_count, out, out_count, 2 * size);
        break;
    case HK_C128:
        sum_f64(in, in_count, out, out_count, 2 * size);
        break;
    case HK_F16:
    case HK_BF16:
        assert(false); /* callers refuse them */
        break;
    }
}
