#include "array/array.h"
#include "base/half.h"
#include "base/integer_dtypes.h"

#include <math.h>
#include <string.h>

#define LOAD(dtype, name, T, least, most)                                                          \
    case dtype: {                                                                                  \
        T value;                                                                                   \
        memcpy(&value, element, sizeof value);                                                     \
        return (double)value;                                                                      \
    }

double hki_dtype_load(hk_dtype dtype, const void *element)
{
    uint16_t half;
    switch (dtype) {
        LOAD(HK_C64, c64, float, , ) /* the real part, which is first */
        LOAD(HK_C128, c128, double, , )
        LOAD(HK_F32, f32, float, , )
        LOAD(HK_F64, f64, double, , )
        LOAD(HK_BOOL, bool, uint8_t, , )
        HKI_EACH_INTEGER(LOAD)
    case HK_F16:
    case HK_BF16:
        memcpy(&half, element, sizeof half);
        return (double)(dtype == HK_F16 ? hki_f16_to_float(half) : hki_bf16_to_float(half));
    }
    return NAN;
}

/* The least value and the largest plus one are exact in double. NaN is refused. */
#define STORE(dtype, name, T, least, most)                                                         \
    case dtype: {                                                                                  \
        if (!(whole >= (double)(least) && whole < (double)((most) / 2 + 1) * 2))                   \
            return false;                                                                          \
        const T stored = (T)whole;                                                                 \
        memcpy(element, &stored, sizeof stored);                                                   \
        return true;                                                                               \
    }

bool hki_dtype_store(hk_dtype dtype, void *element, double value)
{
    const double whole = trunc(value);
    const float narrow = (float)value;
    const float narrow_parts[2] = {narrow, 0};
    const double parts[2] = {value, 0};
    uint16_t half;
    uint8_t truth;
    switch (dtype) {
        HKI_EACH_INTEGER(STORE)
    case HK_F32:
        memcpy(element, &narrow, sizeof narrow);
        return true;
    case HK_F64:
        memcpy(element, &value, sizeof value);
        return true;
    case HK_C64:
        memcpy(element, narrow_parts, sizeof narrow_parts);
        return true;
    case HK_C128:
        memcpy(element, parts, sizeof parts);
        return true;
    case HK_BOOL:
        truth = value != 0;
        memcpy(element, &truth, sizeof truth);
        return true;
    case HK_F16:
    case HK_BF16:
        half = dtype == HK_F16 ? hki_f16_from_double(value) : hki_bf16_from_double(value);
        memcpy(element, &half, sizeof half);
        return true;
    }
    return false;
}

hk_complex hki_complex_load(hk_dtype dtype, const void *element)
{
    const char *second = (const char *)element + hki_dtype_bytes(dtype) / 2;
    return (hk_complex){
        hki_dtype_load(dtype, element),
        hki_dtype_is_complex(dtype) ? hki_dtype_load(hki_dtype_of_parts(dtype), second) : 0};
}

bool hki_complex_store(hk_dtype dtype, void *element, hk_complex value)
{
    const hk_dtype part = hki_dtype_of_parts(dtype);
    if (!hki_dtype_is_complex(dtype))
        return value.imag == 0 && hki_dtype_store(dtype, element, value.real);
    return hki_dtype_store(part, element, value.real) &&
           hki_dtype_store(part, (char *)element + hki_dtype_bytes(part), value.imag);
}
