/* Gamma numbers, by one source for the processor and for GPUs. Each element tries again until it accepts, with counters of its
 * own, so that it depends on the stream, its position and its index alone. */
#ifndef HOCKET_OP_RANDOM_GAMMA_H
#define HOCKET_OP_RANDOM_GAMMA_H

#include "op/random/random_numbers.h"

/* counter[3]: which element of its block in bits 16 and on, and which draw in those below; see base/philox.h. */
#define HKI_PHILOX_GAMMA 0x67000000u
enum { HKI_GAMMA_TRIES = 100 };

/* What an element is drawn by; `at`: the stream's position of its block. */
typedef struct hki_gamma_element {
    uint64_t seed, stream, at, lane;
} hki_gamma_element;

/* Long, and called from several places: on the processor no part of these. */
#ifdef __CUDACC__
#define HKI_GAMMA_PART HKI_EVERYWHERE
#else
#define HKI_GAMMA_PART static
#endif

/* Two uniform numbers in (0, 1). */
HKI_GAMMA_PART void hki_gamma_draw(const hki_gamma_element *self, uint32_t which, double units[2])
{
    const uint32_t key[2] = {(uint32_t)self->seed, (uint32_t)(self->seed >> 32)};
    uint32_t words[4] = {(uint32_t)self->at, (uint32_t)(self->at >> 32), (uint32_t)self->stream,
                         HKI_PHILOX_GAMMA | (uint32_t)self->lane << 16 | which};
    hki_philox4x32(words, key, words);
    for (int i = 0; i < 2; i++)
        units[i] = ((double)(hki_random_join(words + 2 * i) >> 11) + 0.5) * 0x1p-53;
}

/* Of concentration 1 or more. Less than one try in twenty is rejected. */
HKI_GAMMA_PART double hki_gamma_of(const hki_gamma_element *self, double concentration)
{
    const double d = concentration - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (uint32_t i = 0; i < HKI_GAMMA_TRIES; i++) {
        double units[2], normals[2], accept[2];
        hki_gamma_draw(self, 2 * i + 1, units);
        hki_gamma_draw(self, 2 * i + 2, accept);
        hki_box_muller(units[0], units[1], normals);
        const double x = normals[0], root = 1 + c * x, v = root * root * root;
        if (v > 0 && log(accept[0]) < x * x / 2 + d - d * v + d * log(v))
            return d * v;
    }
    return d;
}

HKI_GAMMA_PART double hki_random_gamma(const hki_gamma_element *self, double concentration,
                                       double scale)
{
    const bool is_small = concentration < 1;
    const double made = scale * hki_gamma_of(self, concentration + is_small);
    double units[2];
    if (!is_small)
        return made;
    hki_gamma_draw(self, 0, units);
    return made * pow(units[0], 1 / concentration);
}

#endif
