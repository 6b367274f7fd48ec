/* What is asked of dtypes all the time, in line. Also for CUDA C++. */
#ifndef HOCKET_BASE_DTYPE_H
#define HOCKET_BASE_DTYPE_H

#include <hocket/base.h>

/* Bytes of an element, of a valid dtype: hk_dtype_bytes without the call. One digit for each, its logarithm, in hk_dtype's
 * order. */
static inline size_t hki_dtype_bytes(hk_dtype dtype)
{
    return (size_t)1 << (UINT64_C(0x433211011003232) >> 4 * (unsigned)dtype & 15);
}

/* Those of the largest one: room for any element. */
enum { HKI_ELEMENT_BYTES = 16 };

/* float16 and bfloat16 */
static inline bool hki_dtype_is_half(hk_dtype dtype)
{
    return dtype == HK_F16 || dtype == HK_BF16;
}

/* Floating-point: of any size. */
static inline bool hki_dtype_is_real(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_F64 || hki_dtype_is_half(dtype);
}

static inline bool hki_dtype_is_complex(hk_dtype dtype)
{
    return dtype == HK_C64 || dtype == HK_C128;
}

/* Floats and complex numbers: what has gradients. */
static inline bool hki_dtype_is_inexact(hk_dtype dtype)
{
    return hki_dtype_is_real(dtype) || hki_dtype_is_complex(dtype);
}

/* The dtype of a complex one's parts; others themselves. */
static inline hk_dtype hki_dtype_of_parts(hk_dtype dtype)
{
    return dtype == HK_C64 ? HK_F32 : dtype == HK_C128 ? HK_F64 : dtype;
}

/* Integers of any size; not bool. */
static inline bool hki_dtype_is_integer(hk_dtype dtype)
{
    return !hki_dtype_is_inexact(dtype) && dtype != HK_BOOL;
}

static inline bool hki_dtype_is_unsigned(hk_dtype dtype)
{
    return dtype == HK_U8 || dtype == HK_U16 || dtype == HK_U32 || dtype == HK_U64;
}

/* Of sums and products: of floats and complex numbers the same, of integers and bool the widest with or without a sign. */
static inline hk_dtype hki_sum_dtype(hk_dtype dtype)
{
    return hki_dtype_is_inexact(dtype) ? dtype : hki_dtype_is_unsigned(dtype) ? HK_U64 : HK_I64;
}

#endif
