/* The loops for float32 and float64: included once for each instruction set. The build turns contraction of a * b + c off for the sources that include it: a value
 * must not depend on which of several loops over one expression computed it. */

#include "op/kernels/elementwise/elementwise.h"
#include "op/kernels/elementwise/power_blocks.h"
#include "op/kernels/elementwise/power_math.h"
#include "op/kernels/elementwise/scalar_math.h"

#define REAL
#define T          float
#define U          uint32_t
#define NAME(name) name##_f32
#define F(name)    hki_##name##_f32
#define NUMBER(x)  (float)(x)
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#include "op/kernels/elementwise/power_blocks.inc.c"

#define REAL
#define T          double
#define U          uint64_t
#define NAME(name) name##_f64
#define F(name)    hki_##name##_f64
#define NUMBER(x)  (x)
#include "op/kernels/elementwise/elementwise_loops.inc.c"
