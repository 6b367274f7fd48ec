#include "op/softmax_norm/row_norm_kernel.h"

#include "base/kernel_isa.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { LANES = 8 };
typedef double row_norm_doubles __attribute__((vector_size(LANES * sizeof(double))));
/* Of a variance and eps, and of sums: between them no product that matters left the range of floats. */
static const double LEAST = 1e-24, LARGEST = 1e36;
/* A mean that is more deviations away from 0 is not precise enough as one float. */
static const double FAR = 4;

#define NORM_T float

#define NORM_TARGET
#define NORM_FN(name) name##_portable_f32
#include "op/softmax_norm/row_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN

#if HKI_HAVE_X86_ISAS
#define NORM_TARGET   HKI_TARGET_AVX2
#define NORM_FN(name) name##_avx2_f32
#include "op/softmax_norm/row_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN

#define NORM_TARGET   HKI_TARGET_AVX512
#define NORM_FN(name) name##_avx512_f32
#include "op/softmax_norm/row_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN
#endif

#undef NORM_T
#define NORM_T double

#define NORM_TARGET
#define NORM_FN(name) name##_portable_f64
#include "op/softmax_norm/row_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN

#if HKI_HAVE_X86_ISAS
#define NORM_TARGET   HKI_TARGET_AVX2
#define NORM_FN(name) name##_avx2_f64
#include "op/softmax_norm/row_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN

#define NORM_TARGET   HKI_TARGET_AVX512
#define NORM_FN(name) name##_avx512_f64
#include "op/softmax_norm/row_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN
#endif

#undef NORM_T

#define PASSES(T, DT)                                                                              \
    void hki_row_norm_forward_##DT(const hki_row_norm_shape *shape, double eps, const T *x,        \
                                   const T *gamma, const T *beta, T *y, T *statistics,             \
                                   int64_t begin, int64_t end)                                     \
    {                                                                                              \
        HKI_OF_ISA(forward, _##DT)(shape, eps, x, gamma, beta, y, statistics, begin, end);         \
    }                                                                                              \
    void hki_row_norm_backward_##DT(const hki_row_norm_shape *shape, const T *x, const T *dy,      \
                                    const T *gamma, const T *statistics, T *dx, int64_t begin,     \
                                    int64_t end)                                                   \
    {                                                                                              \
        HKI_OF_ISA(backward, _##DT)(shape, x, dy, gamma, statistics, dx, begin, end);              \
    }                                                                                              \
    void hki_row_norm_weigh_##DT(const hki_row_norm_shape *shape, const T *x, const T *dy,         \
                                 const T *statistics, T *sums, int64_t begin, int64_t end)         \
    {                                                                                              \
        HKI_OF_ISA(weigh, _##DT)(shape, x, dy, statistics, sums, begin, end);                      \
    }

PASSES(float, f32)
PASSES(double, f64)
