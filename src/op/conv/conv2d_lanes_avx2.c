/* Convolution on lanes: AVX2 and FMA, 16 registers. */
#include "base/kernel_isa.h"
#include "op/conv/conv2d_block_kernels.h"
#include "op/conv/conv2d_plan.h"
#include "op/matmul/gemm_kernel.h"

#include <math.h>
#include <string.h>

#if HKI_HAVE_X86_ISAS

#include <immintrin.h>

#define LANES_TARGET HKI_TARGET_AVX2
/* (o + 1) w + 1 registers */
/* clang-format off */
#define LANES_TILES(X) \
    X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(1, 6) X(2, 1) X(2, 2) \
    X(2, 3) X(2, 4) X(2, 5) X(3, 1) X(3, 2) X(3, 3) X(4, 1) X(4, 2) \
    X(4, 3) X(5, 1) X(5, 2) X(6, 1) X(6, 2)
/* clang-format on */
#define LANES_WIDEST(X) X(1, 6) X(2, 5) X(3, 3) X(4, 3) X(5, 2) X(6, 2)

#define LANES_T          float
#define LANES_N          8
#define LANES_FN(name)   name##_avx2_f32
#define LANES_GEMM       hki_gemm_f32
#define LANES_TO_BITS(m) ((uint8_t)_mm256_movemask_ps((__m256)(m)))
#define LANES_GEMM       hki_gemm_f32
#include "op/conv/conv2d_lanes.inc.c"
#undef LANES_T
#undef LANES_N
#undef LANES_FN
#undef LANES_GEMM

#define LANES_T          double
#define LANES_N          4
#define LANES_FN(name)   name##_avx2_f64
#define LANES_GEMM       hki_gemm_f64
#define LANES_TO_BITS(m) ((uint8_t)_mm256_movemask_pd((__m256d)(m)))
#define LANES_GEMM       hki_gemm_f64
#include "op/conv/conv2d_lanes.inc.c"
#undef LANES_T
#undef LANES_N
#undef LANES_FN
#undef LANES_GEMM

#endif
