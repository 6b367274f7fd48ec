/* The loops for float32 and float64: included once for each instruction set. A value must not depend on which of several loops over
 * one expression computed it, so contraction of a * b + c stays off (cmake/flags.cmake). */

#include "op/elementwise/elementwise.h"
#include "op/elementwise/power_blocks.h"
#include "op/elementwise/power_math.h"
#include "op/elementwise/scalar_math.h"

#define REAL
#define T          float
#define U          uint32_t
#define NAME(name) name##_f32
#define F(name)    hki_##name##_f32
#define NUMBER(x)  (float)(x)
#include "op/elementwise/elementwise_loops.inc.c"

#include "op/elementwise/power_blocks.inc.c"

#define REAL
#define T          double
#define U          uint64_t
#define NAME(name) name##_f64
#define F(name)    hki_##name##_f64
#define NUMBER(x)  (x)
#include "op/elementwise/elementwise_loops.inc.c"
