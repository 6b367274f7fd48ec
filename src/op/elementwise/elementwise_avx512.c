/* Loops for the float dtypes, compiled for AVX512. */
#include "op/elementwise/elementwise.h"

#include <math.h>
#include <string.h>

#if HKI_HAVE_X86_ISAS
#include "op/simd/avx512.inc.c"

#include "op/elementwise/elementwise_floats.inc.c"

#define TABLE hki_loops_avx512
#include "op/elementwise/elementwise_table.inc.c"

#include "op/simd/avx2_end.inc.c"
#else
const hki_loop_table hki_loops_avx512; /* none: the portable ones serve */
#endif
