/* Rows of attention, compiled for AVX512. */
#include "op/attention/attention_rows.h"

#include "base/kernel_isa.h"
#include "op/elementwise/scalar_math.h"

#include <math.h>

#if HKI_HAVE_X86_ISAS
#include "op/simd/avx512.inc.c"

#include "op/reduce/row_sums.h"

#define ROWS hki_attention_rows_avx512
#include "op/attention/attention_rows.inc.c"

#include "op/simd/avx2_end.inc.c"
#endif
