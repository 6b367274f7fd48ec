/* The integer dtypes, for tables and loops with one entry for each. */
#ifndef HOCKET_BASE_INTEGER_DTYPES_H
#define HOCKET_BASE_INTEGER_DTYPES_H

#include <hocket/base.h>

/* ROW(dtype, name in the names of functions, C type, least value, largest value) */
#define HKI_EACH_SIGNED(ROW)                                                                       \
    ROW(HK_I8, i8, int8_t, INT8_MIN, INT8_MAX)                                                     \
    ROW(HK_I16, i16, int16_t, INT16_MIN, INT16_MAX)                                                \
    ROW(HK_I32, i32, int32_t, INT32_MIN, INT32_MAX)                                                \
    ROW(HK_I64, i64, int64_t, INT64_MIN, INT64_MAX)
#define HKI_EACH_UNSIGNED(ROW)                                                                     \
    ROW(HK_U8, u8, uint8_t, 0, UINT8_MAX)                                                          \
    ROW(HK_U16, u16, uint16_t, 0, UINT16_MAX)                                                      \
    ROW(HK_U32, u32, uint32_t, 0, UINT32_MAX)                                                      \
    ROW(HK_U64, u64, uint64_t, 0, UINT64_MAX)
#define HKI_EACH_INTEGER(ROW) HKI_EACH_SIGNED(ROW) HKI_EACH_UNSIGNED(ROW)

#endif
