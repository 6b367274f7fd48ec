/* Repeated elements by permutations of AVX2: each vector is stored once. */
#include "base/kernel_isa.h"
#include "op/shape/spread.h"

#if HKI_HAVE_X86_ISAS
#include <immintrin.h>

#include "op/simd/avx2.inc.c"

static void spread(const hki_spread *self, int64_t elements, const void *from, void *to)
{
    const int32_t *words = from;
    int32_t *out = to, *const end = out + elements * self->n * (self->bytes / 4);
    for (; out < end; words += self->advance)
        for (int64_t i = 0; i < self->vectors && out < end; i++, out += 8) {
            const __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)self->at[i]);
            const __m256i x =
                _mm256_loadu_si256((const __m256i *)(const void *)(words + self->first[i]));
            _mm256_storeu_si256((__m256i *)(void *)out, _mm256_permutevar8x32_epi32(x, at));
        }
}

const hki_spread_fn hki_spread_avx2 = spread;

#include "op/simd/avx2_end.inc.c"
#else
const hki_spread_fn hki_spread_avx2; /* none */
#endif
