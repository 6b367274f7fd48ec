/* Loops for the float dtypes, compiled for AVX512. */
#include "op/kernels/elementwise/elementwise.h"

#include <math.h>
#include <string.h>

#if HKI_HAVE_X86_ISAS
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,avx512f,avx512vl,avx512dq,avx512bw"))),   \
                             apply_to = function)
#else
#pragma GCC target("avx2,avx512f,avx512vl,avx512dq,avx512bw")
#endif

#include "op/kernels/elementwise/elementwise_floats.inc.c"

#define TABLE hki_loops_avx512
#include "op/kernels/elementwise/elementwise_table.inc.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
const hki_loop_table hki_loops_avx512; /* none: the portable ones serve */
#endif
