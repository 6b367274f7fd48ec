/* Many elements at once: what random_numbers.h makes of one counter, as vector code. The same bits. Pure functions. */
#ifndef HOCKET_OP_RANDOM_FILL_H
#define HOCKET_OP_RANDOM_FILL_H

#include <stdint.h>

/* The words of `count` counters from `at` on, four each. */
void hki_random_fill_words(uint64_t seed, uint64_t stream, uint64_t at, int64_t count,
                           uint32_t *words);
/* One element for each word. */
void hki_random_fill_uniform_f32(double low, double high, const uint32_t *words, int64_t count,
                                 float *out);
/* Two elements for each two words; count is even. */
void hki_random_fill_normal_f32(double mean, double std, const uint32_t *words, int64_t count,
                                float *out);

/* The functions for one instruction set. */
typedef struct hki_random_fill {
    void (*words)(uint64_t seed, uint64_t stream, uint64_t at, int64_t count, uint32_t *words);
    void (*uniform_f32)(double low, double high, const uint32_t *words, int64_t count, float *out);
    void (*normal_f32)(double mean, double std, const uint32_t *words, int64_t count, float *out);
} hki_random_fill;
extern const hki_random_fill hki_random_fill_portable, hki_random_fill_avx2, hki_random_fill_avx512;

#endif
