/* Blocks of elements to other dtypes and back, so that loops exist for few types: arithmetic is of the wide types float32,
 * float64, int32, int64, uint64, uint8 (for images), bool and complex128 alone. Threads: pure functions. */
#ifndef HOCKET_OP_CONVERT_H
#define HOCKET_OP_CONVERT_H

#include <hocket/base.h>

/* The wide type that arithmetic of a dtype is done in. Integers are narrowed by wrapping around, which makes each sum,
 * product and shift what it would be in the dtype itself. */
static inline hk_dtype hki_wide_of(hk_dtype dtype)
{
    static const uint8_t wide[HK_DTYPE_COUNT] = {
        [HK_F32] = HK_F32,   [HK_F64] = HK_F64,  [HK_F16] = HK_F32,   [HK_BF16] = HK_F32,
        [HK_BOOL] = HK_BOOL, [HK_I8] = HK_I32,   [HK_I16] = HK_I32,   [HK_I32] = HK_I32,
        [HK_I64] = HK_I64,   [HK_U8] = HK_U8,    [HK_U16] = HK_I32,   [HK_U32] = HK_I64,
        [HK_U64] = HK_U64,   [HK_C64] = HK_C128, [HK_C128] = HK_C128,
    };
    return (hk_dtype)wide[dtype];
}

/* Loads n elements, which lie `step` bytes apart (0: one for all), into dense ones of a wide type. */
typedef void (*hki_load_fn)(int64_t n, const char *from, int64_t step, void *to);
/* Into hki_wide_of(from), or a wide type that has all values of `from`; NULL: there is none. */
hki_load_fn hki_load_of(hk_dtype from, hk_dtype wide);

/* Stores n dense elements of a wide type `step` bytes apart. Returns -1, or the first element that it refuses. */
typedef int64_t (*hki_store_fn)(int64_t n, const void *from, char *to, int64_t step);
/* From hki_wide_of(to): integers wrap around, floats are rounded. Refuses nothing. */
hki_store_fn hki_store_of(hk_dtype to);

/* Casts keep values: from hki_cast_wide_of(dtype), where hki_load_of brings it, into any other. What an integer dtype does
 * not have is refused; fractions are cut off, what is not 0 is true, floats are rounded once. Of complex ones into bool and complex
 * dtypes alone. */
static inline hk_dtype hki_cast_wide_of(hk_dtype dtype)
{
    return dtype == HK_U8 || dtype == HK_BOOL ? HK_I32 : hki_wide_of(dtype);
}
hki_store_fn hki_cast_of(hk_dtype wide, hk_dtype to);

#endif
