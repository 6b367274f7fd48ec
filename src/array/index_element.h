/* Elements that are indices or labels. */
#ifndef HOCKET_ARRAY_INDEX_ELEMENT_H
#define HOCKET_ARRAY_INDEX_ELEMENT_H

#include "array/array.h"
#include "base/integer_dtypes.h"

/* Element `at` of an integer dtype; what int64 does not have is its largest value, which is no index of anything. */
static inline int64_t hki_index_load(hk_dtype dtype, const void *data, int64_t at)
{
    switch (dtype) {
    case HK_U64:
        return ((const uint64_t *)data)[at] > INT64_MAX ? INT64_MAX : ((const int64_t *)data)[at];
    case HK_U8:
        return ((const uint8_t *)data)[at];
    case HK_U16:
        return ((const uint16_t *)data)[at];
    case HK_U32:
        return ((const uint32_t *)data)[at];
#define LOAD(dtype, name, T, least, most)                                                          \
    case dtype:                                                                                    \
        return ((const T *)data)[at];
        HKI_EACH_SIGNED(LOAD)
#undef LOAD
    default:
        return -1;
    }
}

#endif
