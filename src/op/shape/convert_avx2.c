/* Conversions, compiled for AVX2 and F16C. */
#include "op/shape/convert_kernels.h"

#if HKI_HAVE_X86_ISAS
#include <immintrin.h>

#include "op/simd/avx2.inc.c"

#define HAS_F16C
#define CONVERT hki_convert_avx2
#include "op/shape/convert.inc.c"

#include "op/simd/avx2_end.inc.c"
#else
const hki_convert hki_convert_avx2; /* none: the portable one serves */
#endif
