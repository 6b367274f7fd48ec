/* Random numbers, compiled for AVX2. */
#include "base/kernel_isa.h"
#include "op/kernels/random/random_fill.h"

#include <math.h>

#if HKI_HAVE_X86_ISAS
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#define FILL hki_random_fill_avx2
#include "op/kernels/random/random_fill.inc.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
const hki_random_fill hki_random_fill_avx2; /* none: the portable one serves */
#endif
