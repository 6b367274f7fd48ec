/* Recurrent cells, compiled for AVX2. */
#include "op/recurrent/cell_loops.h"

#include "base/kernel_isa.h"
#include "op/elementwise/scalar_math.h"

#if HKI_HAVE_X86_ISAS
#include "op/simd/avx2.inc.c"

#define LOOPS hki_cell_loops_avx2
#include "op/recurrent/cell_loops.inc.c"

#include "op/simd/avx2_end.inc.c"
#endif
