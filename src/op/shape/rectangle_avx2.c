/* Transposition in registers of AVX2. */
#include "base/kernel_isa.h"
#include "op/shape/rectangle.h"

#include <string.h>

#if HKI_HAVE_X86_ISAS
#include <immintrin.h>

#include "op/simd/avx2.inc.c"

#define VECTOR           __m256i
#define LANES            2
#define LOW(bits, a, b)  _mm256_unpacklo_epi##bits(a, b)
#define HIGH(bits, a, b) _mm256_unpackhi_epi##bits(a, b)

static inline __m256i load_lanes(const char *from, int64_t step)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)from)),
        _mm_loadu_si128((const __m128i *)(const void *)(from + step)), 1);
}

#define TURNS hki_turns_avx2
#include "op/shape/rectangle.inc.c"

#include "op/simd/avx2_end.inc.c"
#else
const hki_turn hki_turns_avx2[HKI_TURNS]; /* none */
#endif
