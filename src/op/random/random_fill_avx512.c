/* Random numbers, compiled for AVX512. */
#include "base/kernel_isa.h"
#include "op/random/random_fill.h"

#include <math.h>

#if HKI_HAVE_X86_ISAS
#include "op/simd/avx512.inc.c"

#define FILL hki_random_fill_avx512
#include "op/random/random_fill.inc.c"

#include "op/simd/avx2_end.inc.c"
#endif
