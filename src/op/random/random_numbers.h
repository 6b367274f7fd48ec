/* What random arrays hold: numbers made of the words of one Philox counter, by one source for the processor and for
 * GPUs. Where contraction is off, all but normals of float64 have the same bits everywhere; those are as good as the functions of
 * the C library there. */
#ifndef HOCKET_OP_RANDOM_NUMBERS_H
#define HOCKET_OP_RANDOM_NUMBERS_H

#include "base/philox.h"
#include "op/elementwise/wide_math.h"

#include <math.h>

/* counter[3] of these draws; see base/philox.h. */
#define HKI_PHILOX_ARRAY 0x61727261u

/* The words of one counter of a stream. */
HKI_EVERYWHERE void hki_random_words(uint64_t seed, uint64_t stream, uint64_t at, uint32_t words[4])
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)stream,
                                 HKI_PHILOX_ARRAY};
    hki_philox4x32(counter, key, words);
}

HKI_EVERYWHERE uint64_t hki_random_join(const uint32_t *words)
{
    return (uint64_t)words[1] << 32 | words[0];
}

/* Upper 64 bits of a product. */
HKI_EVERYWHERE uint64_t hki_multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

/* low + (high - low) * unit, kept below high where rounding would reach it. */
HKI_EVERYWHERE float hki_uniform_f32(double low, double high, double unit)
{
    float value = (float)(low + (high - low) * unit);
    uint32_t bits =
        hki_bits_of_float(value); /* the next one below: one less, or more where there is a sign */
    uint32_t below = value > 0 ? bits - 1 : value < 0 ? bits + 1 : 0x80000001u;
    return (double)value < high ? value : hki_float_of_bits(below);
}

HKI_EVERYWHERE double hki_uniform_f64(double low, double high, double unit)
{
    double value = low + (high - low) * unit;
    return value < high ? value : nextafter(high, -(double)INFINITY);
}

/* Two normals from two uniform numbers, the first in (0, 1]. */
HKI_EVERYWHERE void hki_box_muller(double first, double second, double normals[2])
{
    const double two_pi = 6.283185307179586476925;
    double radius = sqrt(-2 * log(first)), angle = two_pi * second;
    normals[0] = radius * cos(angle);
    normals[1] = radius * sin(angle);
}

/* The same for floats: logarithm and angle of wide_math.h. The angle is the nearest quarter and what is left, exactly. */
HKI_EVERYWHERE void hki_box_muller_f32(uint32_t first, uint32_t second, double normals[2])
{
    double unit = (hki_double_of_bits(0x4330000000000000 | first) - (0x1p52 - 0.5)) * 0x1p-32;
    double k, log_m = hki_wide_log_parts(unit, &k);
    double radius = sqrt(-2 * (k * 0.69314718055994530942 + log_m));
    uint32_t quarter = (second + 0x20000000u) >> 30, left = second - (quarter << 30);
    double angle = (double)(int32_t)left * 1.4629180792671596e-9; /* 2 pi / 2^32 */
    double sine = hki_wide_sin_of(angle), cosine = hki_wide_cos_of(angle);
    double along = hki_double_choice(quarter & 1u, -sine, cosine);
    double across = hki_double_choice(quarter & 1u, cosine, sine);
    uint64_t sign = (uint64_t)(quarter & 2u) << 62;
    normals[0] = radius * hki_double_of_bits(hki_bits_of_double(along) ^ sign);
    normals[1] = radius * hki_double_of_bits(hki_bits_of_double(across) ^ sign);
}

/* Elements that one counter makes: four float32, or two of any other dtype. */
HKI_EVERYWHERE void hki_random_uniform_f32(double low, double high, const uint32_t words[4],
                                           float out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = hki_uniform_f32(low, high, (double)(words[i] >> 8) * 0x1p-24);
}

HKI_EVERYWHERE void hki_random_uniform_f64(double low, double high, const uint32_t words[4],
                                           double out[2])
{
    for (int i = 0; i < 2; i++)
        out[i] =
            hki_uniform_f64(low, high, (double)(hki_random_join(words + 2 * i) >> 11) * 0x1p-53);
}

HKI_EVERYWHERE void hki_random_normal_f32(double mean, double std, const uint32_t words[4],
                                          float out[4])
{
    for (int i = 0; i < 4; i += 2) {
        double normals[2];
        hki_box_muller_f32(words[i], words[i + 1], normals);
        out[i] = (float)(mean + std * normals[0]);
        out[i + 1] = (float)(mean + std * normals[1]);
    }
}

HKI_EVERYWHERE void hki_random_normal_f64(double mean, double std, const uint32_t words[4],
                                          double out[2])
{
    hki_box_muller(((double)(hki_random_join(words) >> 11) + 0.5) * 0x1p-53,
                   (double)(hki_random_join(words + 2) >> 11) * 0x1p-53, out);
    for (int i = 0; i < 2; i++)
        out[i] = mean + std * out[i];
}

/* range: how many numbers there are from low on; 0: all 2^64. */
HKI_EVERYWHERE void hki_random_int(uint64_t low, uint64_t range, const uint32_t words[4],
                                   int64_t out[2])
{
    for (int i = 0; i < 2; i++)
        out[i] = (int64_t)(low + (range ? hki_multiply_high(hki_random_join(words + 2 * i), range)
                                        : hki_random_join(words + 2 * i)));
}

#endif
