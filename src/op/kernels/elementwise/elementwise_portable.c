/* Loops for every row and dtype, compiled for any processor. */
#include "op/kernels/elementwise/elementwise_floats.inc.c"

#define INTEGER
#define T          int32_t
#define V          int32_t
#define U          uint32_t
#define NAME(name) name##_i32
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define INTEGER
#define T          int64_t
#define V          int64_t
#define U          uint64_t
#define NAME(name) name##_i64
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define INTEGER
#define T          uint8_t
#define V          int
#define U          unsigned
#define NAME(name) name##_u8
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define BOOL
#define T          uint8_t
#define V          int
#define U          unsigned
#define NAME(name) name##_bool
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define ENTRIES_NUMBERS(name)                                                                      \
    ENTRIES_FLOATS(name), [HK_I32] = name##_i32, [HK_I64] = name##_i64, [HK_U8] = name##_u8
#define ENTRIES_ALL_DTYPES(name)     ENTRIES_NUMBERS(name), [HK_BOOL] = name##_bool
#define ROW(kind, name, dtypes, ...) [HKI_ELEMENT_##name] = {ENTRIES_##dtypes(name)},
#define CHECKED                      ROW

const hki_loop_table hki_loops_portable = {
#include "op/elementwise.def"
};
