#include "array/array.h"
#include "base/half.h"

#include <math.h>
#include <string.h>

double hki_dtype_load(hk_dtype dtype, const void *element)
{
    union {
        float f32;
        double f64;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t half;
    } value;
    memcpy(&value, element, hk_dtype_bytes(dtype));
    switch (dtype) {
    case HK_F32:
        return (double)value.f32;
    case HK_F64:
        return value.f64;
    case HK_I32:
        return value.i32;
    case HK_I64:
        return (double)value.i64;
    case HK_U8:
    case HK_BOOL:
        return value.u8;
    case HK_F16:
        return (double)hki_f16_to_float(value.half);
    case HK_BF16:
        return (double)hki_bf16_to_float(value.half);
    }
    return NAN;
}

bool hki_dtype_store(hk_dtype dtype, void *element, double value)
{
    union {
        float f32;
        double f64;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t half;
    } result;
    double whole = trunc(value);
    switch (dtype) {
    case HK_F32:
        result.f32 = (float)value;
        break;
    case HK_F64:
        result.f64 = value;
        break;
    case HK_I32:
        if (!(whole >= INT32_MIN && whole <= INT32_MAX)) /* NaN compares false */
            return false;
        result.i32 = (int32_t)whole;
        break;
    case HK_I64:
        if (!(whole >= -0x1p63 && whole < 0x1p63))
            return false;
        result.i64 = (int64_t)whole;
        break;
    case HK_U8:
        if (!(whole >= 0 && whole <= UINT8_MAX))
            return false;
        result.u8 = (uint8_t)whole;
        break;
    case HK_BOOL:
        result.u8 = value != 0;
        break;
    case HK_F16:
        result.half = hki_f16_from_double(value);
        break;
    case HK_BF16:
        result.half = hki_bf16_from_double(value);
        break;
    default:
        return false;
    }
    memcpy(element, &result, hk_dtype_bytes(dtype));
    return true;
}
