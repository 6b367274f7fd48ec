/* Loops of reductions, compiled for AVX2. */
#include "op/reduce/reduce_loops.h"

#if HKI_HAVE_X86_ISAS
#include <immintrin.h>

#include "op/simd/avx2.inc.c"

#define LOOPS_HERE hki_reduce_avx2
#include "op/reduce/reduce_loops.inc.c"

#define DENSE_HERE hki_reduce_dense_avx2
#define DENSE_WIDE
#include "op/reduce/reduce_dense.inc.c"

#include "op/simd/avx2_end.inc.c"
#else
const hki_reduce_loops hki_reduce_avx2[HKI_REDUCE_MIN + 1]
                                      [HK_DTYPE_COUNT]; /* none: the portable ones serve */
const hki_reduce_dense hki_reduce_dense_avx2;
#endif
