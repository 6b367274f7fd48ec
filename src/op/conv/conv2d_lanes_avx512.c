/* Convolution on lanes: AVX-512, 32 registers. */
#include "base/kernel_isa.h"
#include "op/conv/conv2d_block_kernels.h"
#include "op/conv/conv2d_plan.h"
#include "op/matmul/gemm_kernel.h"

#include <math.h>
#include <string.h>

#if HKI_HAVE_X86_ISAS

#include <immintrin.h>

#define LANES_TARGET HKI_TARGET_AVX512
/* (o + 1) w + 1 registers */
/* clang-format off */
#define LANES_TILES(X) \
    X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(1, 6) X(2, 1) X(2, 2) \
    X(2, 3) X(2, 4) X(2, 5) X(2, 6) X(3, 1) X(3, 2) X(3, 3) X(3, 4) \
    X(3, 5) X(3, 6) X(4, 1) X(4, 2) X(4, 3) X(4, 4) X(4, 5) X(4, 6) \
    X(5, 1) X(5, 2) X(5, 3) X(5, 4) X(5, 5) X(6, 1) X(6, 2) X(6, 3) \
    X(6, 4) X(7, 1) X(7, 2) X(7, 3) X(8, 1) X(8, 2) X(8, 3) X(9, 1) \
    X(9, 2) X(9, 3) X(10, 1) X(10, 2)
/* clang-format on */
#define LANES_WIDEST(X)                                                                            \
    X(1, 6) X(2, 6) X(3, 6) X(4, 6) X(5, 5) X(6, 4) X(7, 3) X(8, 3) X(9, 3) X(10, 2)

#define LANES_T                float
#define LANES_N                16
#define LANES_FN(name)         name##_avx512_f32
#define LANES_GEMM             hki_gemm_f32
#define LANES_NOT_LE(a, b)     _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_NLE_UQ)
#define LANES_EQ(a, b)         _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_EQ_OQ)
#define LANES_PICK(bits, a, b) ((V)_mm512_mask_mov_ps((__m512)(b), bits, (__m512)(a)))
#define LANES_RELU(a)          ((V)_mm512_max_ps(_mm512_setzero_ps(), (__m512)(a)))
#define LANES_GEMM             hki_gemm_f32
#include "op/conv/conv2d_lanes.inc.c"
#undef LANES_T
#undef LANES_N
#undef LANES_FN
#undef LANES_GEMM

#define LANES_T                double
#define LANES_N                8
#define LANES_FN(name)         name##_avx512_f64
#define LANES_GEMM             hki_gemm_f64
#define LANES_NOT_LE(a, b)     _mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_NLE_UQ)
#define LANES_EQ(a, b)         _mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_EQ_OQ)
#define LANES_PICK(bits, a, b) ((V)_mm512_mask_mov_pd((__m512d)(b), bits, (__m512d)(a)))
#define LANES_RELU(a)          ((V)_mm512_max_pd(_mm512_setzero_pd(), (__m512d)(a)))
#define LANES_GEMM             hki_gemm_f64
#include "op/conv/conv2d_lanes.inc.c"
#undef LANES_T
#undef LANES_N
#undef LANES_FN
#undef LANES_GEMM

#endif
