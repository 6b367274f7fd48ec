/* Transposition in registers of AVX-512. */
#include "base/kernel_isa.h"
#include "op/shape/rectangle.h"

#include <string.h>

#if HKI_HAVE_X86_ISAS
#include <immintrin.h>

#include "op/simd/avx512.inc.c"

#define VECTOR           __m512i
#define LANES            4
#define LOW(bits, a, b)  _mm512_unpacklo_epi##bits(a, b)
#define HIGH(bits, a, b) _mm512_unpackhi_epi##bits(a, b)

static inline __m128i lane(const char *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

static inline __m512i load_lanes(const char *from, int64_t step)
{
    const __m256i low =
        _mm256_inserti128_si256(_mm256_castsi128_si256(lane(from)), lane(from + step), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(lane(from + 2 * step)),
                                                 lane(from + 3 * step), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

#define TURNS hki_turns_avx512
#include "op/shape/rectangle.inc.c"

#include "op/simd/avx2_end.inc.c"
#else
const hki_turn hki_turns_avx512[HKI_TURNS]; /* none */
#endif
