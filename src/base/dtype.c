/* What every room asks of a dtype: its size and its name. */
#include "base/dtype.h"

size_t hk_dtype_bytes(hk_dtype dtype)
{
    switch (dtype) {
    case HK_U8:
    case HK_I8:
    case HK_BOOL:
        return 1;
    case HK_F16:
    case HK_BF16:
    case HK_I16:
    case HK_U16:
        return 2;
    case HK_F32:
    case HK_I32:
    case HK_U32:
        return 4;
    case HK_F64:
    case HK_I64:
    case HK_U64:
    case HK_C64:
        return 8;
    case HK_C128:
        return 16;
    }
    return 0;
}

const char *hk_dtype_name(hk_dtype dtype)
{
    static const char *const names[HK_DTYPE_COUNT] = {
        [HK_F32] = "float32", [HK_F64] = "float64",   [HK_I32] = "int32",
        [HK_I64] = "int64",   [HK_U8] = "uint8",      [HK_BOOL] = "bool",
        [HK_F16] = "float16", [HK_BF16] = "bfloat16", [HK_I8] = "int8",
        [HK_I16] = "int16",   [HK_U16] = "uint16",    [HK_U32] = "uint32",
        [HK_U64] = "uint64",  [HK_C64] = "complex64", [HK_C128] = "complex128",
    };
    size_t index = (size_t)dtype;
    return index < HK_DTYPE_COUNT ? names[index] : "invalid";
}

/* Of two of which one is complex: whether a part needs float64 decides. */
static bool promote_complex(hk_dtype a, hk_dtype b, hk_dtype *result)
{
    if (!hki_dtype_is_inexact(a) || !hki_dtype_is_inexact(b))
        return false;
    const hk_dtype parts_a = hki_dtype_of_parts(a), parts_b = hki_dtype_of_parts(b);
    *result = parts_a == HK_F64 || parts_b == HK_F64 ? HK_C128 : HK_C64;
    return true;
}

bool hk_dtype_promote(hk_dtype a, hk_dtype b, hk_dtype *result)
{
    static const hk_dtype with_sign[] = {[1] = HK_I16, [2] = HK_I32, [4] = HK_I64};
    const size_t a_bytes = hk_dtype_bytes(a), b_bytes = hk_dtype_bytes(b);
    if (a_bytes && b_bytes && (hki_dtype_is_complex(a) || hki_dtype_is_complex(b)))
        return promote_complex(a, b, result);
    if (a_bytes == 0 || b_bytes == 0 || hki_dtype_is_real(a) != hki_dtype_is_real(b) ||
        (a == HK_BOOL) != (b == HK_BOOL))
        return false;
    *result = a_bytes > b_bytes ? a : b;
    if (a == b)
        return true;
    if (hki_dtype_is_real(a)) {
        if (a_bytes == b_bytes)
            *result = HK_F32;
        return true;
    }
    if (hki_dtype_is_unsigned(a) == hki_dtype_is_unsigned(b) ||
        (a_bytes != b_bytes && !hki_dtype_is_unsigned(*result)))
        return true;
    const size_t without_sign = hki_dtype_is_unsigned(a) ? a_bytes : b_bytes;
    if (without_sign == 8)
        return false;
    *result = with_sign[without_sign];
    return true;
}
