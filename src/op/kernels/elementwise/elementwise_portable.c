/* Loops for every row and dtype, compiled for any processor. */
#include "op/kernels/elementwise/elementwise_floats.inc.c"

#define INTEGER
#define T          int32_t
#define V          int32_t
#define U          uint32_t
#define NAME(name) name##_i32
#define NUMBER(x)  (int32_t) hki_saturate(x, INT32_MIN, INT32_MAX)
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define INTEGER
#define T          int64_t
#define V          int64_t
#define U          uint64_t
#define NAME(name) name##_i64
#define NUMBER(x)  (int64_t) hki_saturate(x, INT64_MIN, INT64_MAX)
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define INTEGER
#define T          uint8_t
#define V          int
#define U          unsigned
#define NAME(name) name##_u8
#define NUMBER(x)  (int)hki_saturate(x, 0, UINT8_MAX)
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define BOOL
#define T          uint8_t
#define V          int
#define U          unsigned
#define NAME(name) name##_bool
#define NUMBER(x)  (int)hki_saturate(x, 0, 1)
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define TABLE hki_loops_portable
#define ALL_TYPES
#include "op/kernels/elementwise/elementwise_table.inc.c"
