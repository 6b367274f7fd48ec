#include "array/array.h"
#include "base/half.h"
#include "base/integer_dtypes.h"
#include "base/text.h"

#include <inttypes.h>
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

/* ---- numbers of a program -------------------------------------------------------------------------------------------- */

#define STORE_WHOLE(dtype, name, T, least, most)                                                   \
    case dtype: {                                                                                  \
        const T stored = (T)bits;                                                                  \
        const bool fits =                                                                          \
            is_above || whole >= 0 ? bits <= (uint64_t)(most) : whole >= (int64_t)(least);         \
        if (fits)                                                                                  \
            memcpy(element, &stored, sizeof stored);                                               \
        return fits;                                                                               \
    }

bool hki_number_store(hk_dtype dtype, void *element, hk_number number)
{
    const bool is_above = number.kind == HK_NUMBER_UINT;
    const int64_t whole = number.value.i;
    const uint64_t bits = number.value.u;
    if (number.kind == HK_NUMBER_COMPLEX)
        return hki_complex_store(dtype, element, number.value.c);
    if (number.kind == HK_NUMBER_REAL)
        return hki_dtype_store(dtype, element, number.value.f);
    switch (dtype) {
        HKI_EACH_INTEGER(STORE_WHOLE)
    default:
        return hki_dtype_store(dtype, element, is_above ? (double)bits : (double)whole);
    }
}

bool hki_dtype_has_kind(hk_dtype dtype, hk_number_kind kind)
{
    return kind == HK_NUMBER_COMPLEX ? hki_dtype_is_complex(dtype)
           : kind == HK_NUMBER_REAL  ? hki_dtype_is_real(dtype) || hki_dtype_is_complex(dtype)
                                     : hk_dtype_bytes(dtype) > 0;
}

bool hk_number_fits(hk_number number, hk_dtype dtype)
{
    _Alignas(16) char element[HKI_ELEMENT_BYTES];
    const bool is_truth =
        number.kind == HK_NUMBER_INT && (number.value.i == 0 || number.value.i == 1);
    return number.kind != HK_NUMBER_NONE && hki_dtype_has_kind(dtype, number.kind) &&
           (dtype == HK_BOOL ? is_truth : hki_number_store(dtype, element, number));
}

bool hki_number_is_double(hk_number number, double *value)
{
    switch (number.kind) {
    case HK_NUMBER_INT:
        *value = (double)number.value.i;
        return number.value.i >= -(INT64_C(1) << 53) && number.value.i <= INT64_C(1) << 53;
    case HK_NUMBER_REAL:
        *value = number.value.f;
        return true;
    default:
        return false;
    }
}

void hki_number_describe(hk_number number, char *text, size_t bytes)
{
    switch (number.kind) {
    case HK_NUMBER_INT:
        hki_format(text, bytes, "%" PRId64, number.value.i);
        break;
    case HK_NUMBER_UINT:
        hki_format(text, bytes, "%" PRIu64, number.value.u);
        break;
    case HK_NUMBER_COMPLEX:
        if (number.value.c.imag != 0) {
            hki_format(text, bytes, "%g %+gj", number.value.c.real, number.value.c.imag);
            break;
        }
        number.value.f = number.value.c.real;
        /* fall through */
    default:
        hki_format(text, bytes, "%g", number.value.f);
    }
}
