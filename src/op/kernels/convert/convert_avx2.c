/* Conversions, compiled for AVX2 and F16C, which each processor with AVX2 has. */
#include "op/kernels/convert/convert_kernels.h"

#if HKI_HAVE_X86_ISAS
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,f16c")
#endif

#define HAS_F16C
#define CONVERT hki_convert_avx2
#include "op/kernels/convert/convert.inc.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
const hki_convert hki_convert_avx2; /* none: the portable one serves */
#endif
