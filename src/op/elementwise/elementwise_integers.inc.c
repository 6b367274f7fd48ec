/* The loops for integers and bool: included for each instruction set whose vectors hold integers. VECTORS_ALONE: without those that may
 * refuse an element, which go one by one everywhere. */

#define INTEGER
#define T          int32_t
#define U          uint32_t
#define NAME(name) name##_i32
#define I(name)    (T) hki_##name##_int
#define NUMBER(x)  (T) hki_saturate(x, INT32_MIN, INT32_MAX)
#include "op/elementwise/elementwise_loops.inc.c"

#define INTEGER
#define T          int64_t
#define U          uint64_t
#define NAME(name) name##_i64
#define I(name)    hki_##name##_int
#define NUMBER(x)  hki_saturate(x, INT64_MIN, INT64_MAX)
#include "op/elementwise/elementwise_loops.inc.c"

/* Rows ask whether numbers are below 0. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
#define INTEGER
#define T          uint64_t
#define U          uint64_t
#define NAME(name) name##_u64
#define I(name)    hki_##name##_uint
#define NUMBER(x)  ((x) <= 0 ? 0 : (x) >= 0x1p64 ? UINT64_MAX : (uint64_t)(x))
#include "op/elementwise/elementwise_loops.inc.c"

#define INTEGER
#define T          uint8_t
#define U          unsigned
#define NAME(name) name##_u8
#define I(name)    (T) hki_##name##_int
#define NUMBER(x)  (T) hki_saturate(x, 0, UINT8_MAX)
#include "op/elementwise/elementwise_loops.inc.c"
#pragma GCC diagnostic pop

#define BOOL
#define T          uint8_t
#define U          unsigned
#define NAME(name) name##_bool
#define NUMBER(x)  (T) hki_saturate(x, 0, 1)
#include "op/elementwise/elementwise_loops.inc.c"
