/* The loops of random_fill.h, included once for each instruction set; FILL: the name of the table. Contraction is off where this is
 * compiled. */
#include "op/random/random_numbers.h"

/* Counters side by side: so many that compilers keep the loops over them, and make those vector code. */
enum { LANES = 32 };
typedef struct lanes {
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
} lanes;

static void draw_lanes(uint64_t seed, uint64_t stream, uint64_t at, lanes *restrict c)
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < LANES; i++) {
        c->c0[i] = (uint32_t)(at + (uint64_t)i);
        c->c1[i] = (uint32_t)((at + (uint64_t)i) >> 32);
        c->c2[i] = (uint32_t)stream;
        c->c3[i] = HKI_PHILOX_ARRAY;
    }
    for (int round = 0; round < HKI_PHILOX_ROUNDS; round++) {
        for (int i = 0; i < LANES; i++) {
            uint32_t c0 = c->c0[i], c1 = c->c1[i], c2 = c->c2[i], c3 = c->c3[i];
            hki_philox_round(k0, k1, &c0, &c1, &c2, &c3);
            c->c0[i] = c0, c->c1[i] = c1, c->c2[i] = c2, c->c3[i] = c3;
        }
        k0 += HKI_PHILOX_STEP0;
        k1 += HKI_PHILOX_STEP1;
    }
}

static void fill_words(uint64_t seed, uint64_t stream, uint64_t at, int64_t count, uint32_t *words)
{
    lanes c;
    for (int64_t begin = 0; begin < count; begin += LANES) {
        int64_t n = count - begin < LANES ? count - begin : LANES;
        draw_lanes(seed, stream, at + (uint64_t)begin, &c);
        for (int64_t i = 0; i < n; i++) {
            words[4 * (begin + i)] = c.c0[i];
            words[4 * (begin + i) + 1] = c.c1[i];
            words[4 * (begin + i) + 2] = c.c2[i];
            words[4 * (begin + i) + 3] = c.c3[i];
        }
    }
}

static void fill_uniform_f32(double low, double high, const uint32_t *words, int64_t count,
                             float *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = hki_uniform_f32(low, high, (double)(int32_t)(words[i] >> 8) * 0x1p-24);
}

static void fill_normal_f32(double mean, double std, const uint32_t *words, int64_t count,
                            float *out)
{
    for (int64_t i = 0; i < count; i += 2) {
        double normals[2];
        hki_box_muller_f32(words[i], words[i + 1], normals);
        out[i] = (float)(mean + std * normals[0]);
        out[i + 1] = (float)(mean + std * normals[1]);
    }
}

const hki_random_fill FILL = {fill_words, fill_uniform_f32, fill_normal_f32};
