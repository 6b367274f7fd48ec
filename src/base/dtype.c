/* What every room asks of a dtype: its size and its name. */
#include <hocket/base.h>

_Static_assert(HK_F32 == 0 && HK_F64 == 1 && HK_I32 == 2 && HK_I64 == 3 && HK_U8 == 4 &&
                   HK_BOOL == 5 && HK_F16 == 6 && HK_BF16 == 7,
               "hki_dtype_bytes has their sizes in this order");

size_t hk_dtype_bytes(hk_dtype dtype)
{
    switch (dtype) {
    case HK_F32:
    case HK_I32:
        return 4;
    case HK_F64:
    case HK_I64:
        return 8;
    case HK_U8:
    case HK_BOOL:
        return 1;
    case HK_F16:
    case HK_BF16:
        return 2;
    }
    return 0;
}

const char *hk_dtype_name(hk_dtype dtype)
{
    static const char *const names[HK_DTYPE_COUNT] = {
        [HK_F32] = "float32", [HK_F64] = "float64", [HK_I32] = "int32",   [HK_I64] = "int64",
        [HK_U8] = "uint8",    [HK_BOOL] = "bool",   [HK_F16] = "float16", [HK_BF16] = "bfloat16",
    };
    size_t index = (size_t)dtype;
    return index < HK_DTYPE_COUNT ? names[index] : "invalid";
}
