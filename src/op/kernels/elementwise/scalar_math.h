/* Elementary functions of one float that compilers turn into vector code: no calls, no branches, no
 * casts that are undefined for NaN. The same bits on every instruction set, given that contraction is
 * off where they are included (see elementwise_floats.inc.c). Errors measured over all floats. */
#ifndef HOCKET_OP_SCALAR_MATH_H
#define HOCKET_OP_SCALAR_MATH_H

#include "base/half.h"

#include <math.h>

/* exp(x) within 2 ulp; 0 and infinity beyond the range, NaN for NaN. */
HKI_EVERYWHERE float hki_exp_f32(float x)
{
    const float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    const float round =
        12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    float shifted = x * log2_e + round;
    float n = shifted - round;
    float r = x - n * ln2_high;
    r = r - n * ln2_low;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    /* 2^n as a product of two, which reaches below the normal numbers and above all. */
    uint32_t exponent = hki_bits_of_float(shifted) - hki_bits_of_float(round);
    uint32_t half = (uint32_t)((int32_t)exponent >> 1);
    float first = hki_float_of_bits((half + 127) << 23);
    float second = hki_float_of_bits((exponent - half + 127) << 23);
    return p * first * second;
}

HKI_EVERYWHERE float hki_sigmoid_f32(float x)
{
    return 1.0f / (1.0f + hki_exp_f32(-x));
}

/* tanh(x) within 3 ulp. */
HKI_EVERYWHERE float hki_tanh_f32(float x)
{
    float magnitude = fabsf(x);
    float z = x * x;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    float small = x + x * (z * p);
    float large = copysignf(1.0f - 2.0f / (hki_exp_f32(2.0f * magnitude) + 1.0f), x);
    return magnitude < 0.625f ? small : large;
}

HKI_EVERYWHERE double hki_sigmoid_f64(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* Rounds towards zero; b is not 0. Wraps around for the smallest integer over -1. */
HKI_EVERYWHERE int64_t hki_divide_int(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

#endif
