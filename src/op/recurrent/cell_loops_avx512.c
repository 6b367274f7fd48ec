/* Recurrent cells, compiled for AVX512. */
#include "op/recurrent/cell_loops.h"

#include "base/kernel_isa.h"
#include "op/elementwise/scalar_math.h"

#if HKI_HAVE_X86_ISAS
#include "op/simd/avx512.inc.c"

#define LOOPS hki_cell_loops_avx512
#include "op/recurrent/cell_loops.inc.c"

#include "op/simd/avx2_end.inc.c"
#endif
