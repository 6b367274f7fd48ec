/* Loops for every row and wide type, compiled for AVX2. */
#include "op/elementwise/elementwise.h"

#include <math.h>
#include <string.h>

#if HKI_HAVE_X86_ISAS
#include "op/simd/avx2.inc.c"

#include "op/elementwise/elementwise_floats.inc.c"

#define VECTORS_ALONE
#include "op/elementwise/elementwise_integers.inc.c"

#define TABLE hki_loops_avx2
#define ALL_TYPES
#include "op/elementwise/elementwise_table.inc.c"

#include "op/simd/avx2_end.inc.c"
#else
const hki_loop_table hki_loops_avx2; /* none: the portable ones serve */
#endif
