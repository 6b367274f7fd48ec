/* Loops for the float dtypes, compiled for AVX2. */
#include "op/kernels/elementwise/elementwise.h"

#include <math.h>
#include <string.h>

#if HKI_HAVE_X86_ISAS
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#include "op/kernels/elementwise/elementwise_floats.inc.c"

#define TABLE hki_loops_avx2
#include "op/kernels/elementwise/elementwise_table.inc.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
const hki_loop_table hki_loops_avx2; /* none: the portable ones serve */
#endif
