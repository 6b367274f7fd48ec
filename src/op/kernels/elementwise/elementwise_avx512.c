/* Loops for the float dtypes, compiled for AVX512. */
#include "op/kernels/elementwise/elementwise.h"

#include <math.h>
#include <string.h>

#if HKI_HAVE_X86_ISAS
#include "op/kernels/avx512.inc.c"

#include "op/kernels/elementwise/elementwise_floats.inc.c"

#define TABLE hki_loops_avx512
#include "op/kernels/elementwise/elementwise_table.inc.c"

#include "op/kernels/avx2_end.inc.c"
#else
const hki_loop_table hki_loops_avx512; /* none: the portable ones serve */
#endif
