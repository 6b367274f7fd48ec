/* x^y of floats, within 1 ulp; special values are those of C's Annex F. By way of doubles, in two steps, so that compilers turn
 * each into vector code. The same bits everywhere, like scalar_math.h. */
#ifndef HOCKET_OP_POWER_MATH_H
#define HOCKET_OP_POWER_MATH_H

#include "op/elementwise/wide_math.h"

/* 2^(y log2 |x|) for |x| from 2^-149 on, y finite; something else where not. Relative error below 2^-28: minimax polynomials of
 * artanh, as in hki_wide_log_parts, and of 2^f, |f| <= 1/2. Bounds as processors have instructions for: NaN goes. */
HKI_EVERYWHERE float hki_power_size_f32(float x, float y)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd, bias = (uint64_t)1024 << 52;
    const double round = 0x1.8p52, size = fabsf(x);
    uint64_t biased = (hki_bits_of_double(size) - sqrt_half + bias) >> 52;
    double m = hki_double_of_bits(hki_bits_of_double(size) - (biased << 52) + bias);
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 0.34071415743903599;
    p = fma(p, z, 0.41167365703154901);
    p = fma(p, z, 0.57708356772918368);
    p = fma(p, z, 0.96179667344312791);
    p = fma(p, z, 2.8853900817899927);
    double k = hki_double_of_bits(0x4330000000000000 | biased) - (0x1p52 + 1024);
    double t = fma(p, s, k) * (double)y;
    t = t < 200 ? t : 200;
    t = t > -200 ? t : -200;
    double shifted = t + round, f = t - (shifted - round);
    double q = 0.00015461444551858103;
    q = fma(q, f, 0.0013400428177950461);
    q = fma(q, f, 0.0096180566790278338);
    q = fma(q, f, 0.055503272266685631);
    q = fma(q, f, 0.24022650922284547);
    q = fma(q, f, 0.69314720670283403);
    q = fma(q, f, 1.0000000000000004);
    uint64_t power = hki_bits_of_double(shifted) - hki_bits_of_double(round) + 1023;
    return (float)(q * hki_double_of_bits(power << 52));
}

/* a where chosen is 1, b where it is 0: see hki_double_choice. */
HKI_EVERYWHERE uint32_t hki_bits_choice(uint32_t chosen, uint32_t a, uint32_t b)
{
    uint32_t mask = 0u - chosen;
    return (a & mask) | (b & ~mask);
}

/* x^y from that: its sign, and what is no matter of logarithms. */
HKI_EVERYWHERE float hki_power_of_size_f32(float x, float y, float size)
{
    const uint32_t infinity = 0x7f800000u, one = 0x3f800000u, nan = 0x7fc00000u;
    uint32_t x_bits = hki_bits_of_float(x), y_bits = hki_bits_of_float(y);
    uint32_t value = hki_bits_of_float(size);
    uint32_t base = x_bits & 0x7fffffffu, power = y_bits & 0x7fffffffu;
    uint32_t is_edge = (uint32_t)(base == 0) | (uint32_t)(base == infinity);
    uint32_t grows = (uint32_t)(base > one) ^ y_bits >> 31;
    is_edge |= (uint32_t)(power == infinity);
    value = hki_bits_choice(is_edge, infinity & (0u - grows), value);
    /* An odd whole power keeps the sign; from 2^24 on all are even. */
    float small = hki_float_of_bits(hki_bits_choice(power < 0x4b800000u, y_bits, 0));
    int32_t whole = (int32_t)small;
    uint32_t has_part = (uint32_t)((float)whole != small);
    value |= x_bits & (uint32_t)whole << 31 & (has_part - 1);
    uint32_t has_root = x_bits >> 31 & (uint32_t)(base < infinity) & (uint32_t)(base > 0);
    value = hki_bits_choice(has_part & has_root, nan, value);
    value = hki_bits_choice((uint32_t)(base > infinity) | (uint32_t)(power > infinity), nan, value);
    uint32_t is_one = (uint32_t)(power == 0) | (uint32_t)(x_bits == one);
    is_one |= (uint32_t)(base == one) & (uint32_t)(power == infinity);
    return hki_float_of_bits(hki_bits_choice(is_one, one, value));
}

#endif
