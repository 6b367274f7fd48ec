#include "op/random/random_fill.h"

#include "base/kernel_isa.h"

static const hki_random_fill *fill(void)
{
    return HKI_OF_ISA(&hki_random_fill, );
}

void hki_random_fill_words(uint64_t seed, uint64_t stream, uint64_t at, int64_t count,
                           uint32_t *words)
{
    fill()->words(seed, stream, at, count, words);
}

void hki_random_fill_uniform_f32(double low, double high, const uint32_t *words, int64_t count,
                                 float *out)
{
    fill()->uniform_f32(low, high, words, count, out);
}

void hki_random_fill_normal_f32(double mean, double std, const uint32_t *words, int64_t count,
                                float *out)
{
    fill()->normal_f32(mean, std, words, count, out);
}
