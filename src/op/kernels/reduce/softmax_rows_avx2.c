/* Lines of softmax, compiled for AVX2. */
#include "op/kernels/reduce/softmax_rows.h"

#include "base/kernel_isa.h"
#include "op/kernels/elementwise/scalar_math.h"

#include <math.h>

#if HKI_HAVE_X86_ISAS
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#include "op/kernels/reduce/row_sums.h"

#define ROWS hki_softmax_rows_avx2
#include "op/kernels/reduce/softmax_rows.inc.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
const hki_softmax_rows hki_softmax_rows_avx2; /* none: the portable ones serve */
#endif
