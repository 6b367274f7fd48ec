/* Recurrent cells, compiled for AVX512. */
#include "op/kernels/recurrent/cell_loops.h"

#include "base/kernel_isa.h"
#include "op/kernels/elementwise/scalar_math.h"

#if HKI_HAVE_X86_ISAS
#include "op/kernels/avx512.inc.c"

#define LOOPS hki_cell_loops_avx512
#include "op/kernels/recurrent/cell_loops.inc.c"

#include "op/kernels/avx2_end.inc.c"
#endif
