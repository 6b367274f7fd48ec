/* Loops of reductions, compiled for AVX2. */
#include "op/kernels/reduce/reduce_loops.h"

#if HKI_HAVE_X86_ISAS
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#define LOOPS_HERE hki_reduce_avx2
#include "op/kernels/reduce/reduce_loops.inc.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
const hki_reduce_loops hki_reduce_avx2[HKI_REDUCE_MIN + 1]
                                      [HK_DTYPE_COUNT]; /* none: the portable ones serve */
#endif
