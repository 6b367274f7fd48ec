/* The loops for float32 and float64, and the names of their entries in a table: included once for each
 * instruction set. The build turns contraction of a * b + c off for the sources that include it: a value
 * must not depend on which of several loops over one expression computed it. */

#include "op/kernels/elementwise/elementwise.h"
#include "op/kernels/elementwise/scalar_math.h"

#define REAL
#define T          float
#define V          float
#define U          uint32_t
#define NAME(name) name##_f32
#define EXP        hki_exp_f32
#define LOG        logf
#define POW        powf
#define SQRT       sqrtf
#define FABS       fabsf
#define SIGMOID    hki_sigmoid_f32
#define TANH       hki_tanh_f32
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define REAL
#define T          double
#define V          double
#define U          uint64_t
#define NAME(name) name##_f64
#define EXP        exp
#define LOG        log
#define POW        pow
#define SQRT       sqrt
#define FABS       fabs
#define SIGMOID    hki_sigmoid_f64
#define TANH       tanh
#include "op/kernels/elementwise/elementwise_loops.inc.c"

#define ENTRIES_FLOATS(name) [HK_F32] = name##_f32, [HK_F64] = name##_f64
