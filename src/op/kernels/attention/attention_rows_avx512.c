/* Rows of attention, compiled for AVX512. */
#include "op/kernels/attention/attention_rows.h"

#include "base/kernel_isa.h"
#include "op/kernels/elementwise/scalar_math.h"

#include <math.h>

#if HKI_HAVE_X86_ISAS
#include "op/kernels/avx512.inc.c"

#include "op/kernels/reduce/row_sums.h"

#define ROWS hki_attention_rows_avx512
#include "op/kernels/attention/attention_rows.inc.c"

#include "op/kernels/avx2_end.inc.c"
#endif
