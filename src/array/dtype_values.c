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
