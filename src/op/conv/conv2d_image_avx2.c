/* Convolution of images, channels in the lanes: AVX2 and FMA, 16 registers. */
#include "base/kernel_isa.h"
#include "op/conv/conv2d_image_kernels.h"

#if HKI_HAVE_X86_ISAS

#include <immintrin.h>

#define IMAGE_WINDOWS 3
#define IMAGE_VECTORS 3
#define IMAGE_TARGET  HKI_TARGET_AVX2

#define IMAGE_N        8
#define IMAGE_FN(name) name##_8
#define IMAGE_RELU(a)  (V) _mm256_max_ps(_mm256_setzero_ps(), (__m256)(a))
#define IMAGE_FOUR(a)  (V) _mm256_broadcast_ps((const __m128 *)(const void *)(a))
#include "op/conv/conv2d_image.inc.c"
static const hki_conv2d_image_kernels whole = IMAGE_KERNELS;
#include "op/conv/conv2d_image_end.inc.c"

#define IMAGE_N        4
#define IMAGE_FN(name) name##_4
#define IMAGE_RELU(a)  (V) _mm_max_ps(_mm_setzero_ps(), (__m128)(a))
#include "op/conv/conv2d_image.inc.c"
static const hki_conv2d_image_kernels half = IMAGE_KERNELS;
#include "op/conv/conv2d_image_end.inc.c"

const hki_conv2d_image_kernels *const hki_conv2d_image_kernels_avx2[2] = {&whole, &half};

#endif
