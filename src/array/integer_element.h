/* Elements of integers as int64: values, indices, labels. */
#ifndef HOCKET_ARRAY_INTEGER_ELEMENT_H
#define HOCKET_ARRAY_INTEGER_ELEMENT_H

#include "base/integer_dtypes.h"

/* Element `at` of an integer dtype or bool; of uint64 the bits, so that its upper half is negative. */
static inline int64_t hki_integer_load(hk_dtype dtype, const void *data, int64_t at)
{
    switch (dtype) {
#define LOAD(dtype, name, T, least, most)                                                          \
    case dtype:                                                                                    \
        return (int64_t)((const T *)data)[at];
        HKI_EACH_INTEGER(LOAD)
#undef LOAD
    case HK_BOOL:
        return ((const uint8_t *)data)[at];
    default:
        return 0;
    }
}

/* The same of an index or a label: what int64 does not have is its largest value, which is none of anything. */
static inline int64_t hki_index_load(hk_dtype dtype, const void *data, int64_t at)
{
    const int64_t index = hki_integer_load(dtype, data, at);
    return dtype == HK_U64 && index < 0 ? INT64_MAX : index;
}

#endif
