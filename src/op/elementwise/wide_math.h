/* Elementary functions of a double, for results that are rounded to a float: relative errors are below 2^-30, so that the
 * float is within 0.51 ulp. Series are Taylor's, cut off where the rest is below that. Without calls, tables
 * and branches, for vector code; the same bits everywhere, like scalar_math.h. */
#ifndef HOCKET_OP_WIDE_MATH_H
#define HOCKET_OP_WIDE_MATH_H

#include "base/half.h"

#include <math.h>
#include <stdbool.h>

HKI_EVERYWHERE uint64_t hki_bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

HKI_EVERYWHERE double hki_double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* a where odd is 1, b where it is 0, by bits: of a condition compilers make a jump, and then no vector code. */
HKI_EVERYWHERE double hki_double_choice(uint32_t odd, double a, double b)
{
    uint64_t mask = (uint64_t)0 - odd;
    return hki_double_of_bits((hki_bits_of_double(a) & mask) | (hki_bits_of_double(b) & ~mask));
}

/* e^x - lost, where lost is 0 or 1. Cody and Waite's reduction to |r| <= ln 2 / 2, and the series of e^r - 1 up to r^11. */
HKI_EVERYWHERE double hki_wide_exp_less(double x, double lost)
{
    const double round = 0x1.8p52; /* adding it rounds to an integer in the low bits */
    x = x > 708.0 ? 708.0 : x;
    x = x < -708.0 ? -708.0 : x;
    double shifted = fma(x, 1.4426950408889634074, round);
    double n = shifted - round;
    double r = fma(n, -0.69314718036912381649, x);
    r = fma(n, -1.9082149292705878161e-10, r);
    double p = 1.0 / 39916800;
    p = fma(p, r, 1.0 / 3628800);
    p = fma(p, r, 1.0 / 362880);
    p = fma(p, r, 1.0 / 40320);
    p = fma(p, r, 1.0 / 5040);
    p = fma(p, r, 1.0 / 720);
    p = fma(p, r, 1.0 / 120);
    p = fma(p, r, 1.0 / 24);
    p = fma(p, r, 1.0 / 6);
    p = fma(p, r, 1.0 / 2);
    double less = fma(p, r * r, r);
    uint64_t power = hki_bits_of_double(shifted) - hki_bits_of_double(round) + 1023;
    double scale = hki_double_of_bits(power << 52);
    return fma(scale, less, scale - lost);
}

HKI_EVERYWHERE double hki_wide_exp(double x)
{
    return hki_wide_exp_less(x, 0);
}

HKI_EVERYWHERE double hki_wide_expm1(double x)
{
    return x == 0 ? x : hki_wide_exp_less(x, 1);
}

/* x is 2^k m with m from sqrt(1/2) on; ln m is 2 artanh((m - 1) / (m + 1)). No subnormal x. */
HKI_EVERYWHERE double hki_wide_log_parts(double x, double *k)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd, bias = (uint64_t)1024 << 52;
    uint64_t biased = (hki_bits_of_double(x) - sqrt_half + bias) >> 52;
    double m = hki_double_of_bits(hki_bits_of_double(x) - (biased << 52) + bias);
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 / 19;
    p = fma(p, z, 1.0 / 17);
    p = fma(p, z, 1.0 / 15);
    p = fma(p, z, 1.0 / 13);
    p = fma(p, z, 1.0 / 11);
    p = fma(p, z, 1.0 / 9);
    p = fma(p, z, 1.0 / 7);
    p = fma(p, z, 1.0 / 5);
    p = fma(p, z, 1.0 / 3);
    p = fma(p, z, 1.0);
    *k = hki_double_of_bits(0x4330000000000000 | biased) - (0x1p52 + 1024);
    return 2 * s * p;
}

/* What a logarithm gives, or its limits and NaN where x is no positive number. */
HKI_EVERYWHERE double hki_wide_log_at(double x, double value)
{
    double at_least_zero = x == 0 ? -(double)INFINITY : value;
    return x >= 0 ? x < (double)INFINITY ? at_least_zero : x : (double)NAN;
}

HKI_EVERYWHERE double hki_wide_log(double x)
{
    double k, log_m = hki_wide_log_parts(x, &k);
    return hki_wide_log_at(x, fma(k, 0.69314718055994530942, log_m));
}

HKI_EVERYWHERE double hki_wide_log2(double x)
{
    double k, log_m = hki_wide_log_parts(x, &k);
    return hki_wide_log_at(x, fma(log_m, 1.4426950408889634074, k));
}

/* ln(1 + x), with what rounding 1 + x loses. */
HKI_EVERYWHERE double hki_wide_log1p(double x)
{
    double u = 1 + x;
    double lost = u > 0 && u < (double)INFINITY ? (x - (u - 1)) / u : 0;
    return x == 0 ? x : hki_wide_log(u) + lost;
}

/* The same for positive finite x, without the choices that keep compilers from vector code where x is e^y. */
HKI_EVERYWHERE double hki_wide_log1p_positive(double x)
{
    double u = 1 + x, k, log_m = hki_wide_log_parts(u, &k);
    return fma(k, 0.69314718055994530942, log_m) + (x - (u - 1)) / u;
}

/* Word 1 to 7 of the bits of 2 / pi after the point; others are 0. Masks, for of choices compilers make jumps. */
HKI_EVERYWHERE uint32_t hki_two_over_pi(uint32_t word)
{
    uint32_t bits = (0u - (word == 1)) & 0xa2f9836eu;
    bits |= (0u - (word == 2)) & 0x4e441529u;
    bits |= (0u - (word == 3)) & 0xfc2757d1u;
    bits |= (0u - (word == 4)) & 0xf534ddc0u;
    bits |= (0u - (word == 5)) & 0xdb629599u;
    bits |= (0u - (word == 6)) & 0x3c439041u;
    bits |= (0u - (word == 7)) & 0xfe5163abu;
    return bits;
}

typedef struct hki_quadrant {
    double r;        /* x = r + number * pi / 2, |r| <= pi / 4 */
    uint32_t number; /* modulo 4 */
} hki_quadrant;

/* Angles below it are small. */
#define HKI_NEAR_ANGLE 0x1p19f

/* For small ones: Cody and Waite's, with pi / 2 in two parts. */
HKI_EVERYWHERE hki_quadrant hki_quadrant_of_small(float x)
{
    const double round = 0x1.8p52;
    double shifted = fma((double)x, 0.63661977236758134308, round);
    double n = shifted - round;
    hki_quadrant result;
    result.r = fma(n, -6.0771005065061926015e-11, fma(n, -1.5707963267341256142, (double)x));
    result.number = (uint32_t)hki_bits_of_double(shifted) & 3u;
    return result;
}

/* For larger ones: x is m 2^e, and what m times the bits of 2 / pi * 2^e below 4 leaves is exact to 2^-62. Payne and
 * Hanek's reduction in fixed point. */
HKI_EVERYWHERE hki_quadrant hki_quadrant_of_large(float x)
{
    uint32_t bits = hki_bits_of_float(x);
    uint64_t m = (bits & 0x7fffffu) | 0x800000u;
    uint32_t place = (bits >> 23 & 255u) - 120u; /* of the first bit */
    uint32_t word = place >> 5, shift = place & 31u;
    uint64_t first = hki_two_over_pi(word), second = hki_two_over_pi(word + 1);
    uint64_t third = hki_two_over_pi(word + 2), fourth = hki_two_over_pi(word + 3);
    uint64_t high = (first << 32 | second) << shift | third << shift >> 32;
    uint64_t low = ((third << 32 | fourth) << shift) >> 32;
    uint64_t turns = m * high + (m * low >> 32); /* quarters, 62 bits after the point */
    uint64_t fraction = turns << 2;              /* signed */
    /* Halves become doubles by the bits of 2^52 + half. */
    double upper =
        hki_double_of_bits(0x4330000000000000 | (fraction >> 32 ^ 0x80000000)) - (0x1p52 + 0x1p31);
    double lower = hki_double_of_bits(0x4330000000000000 | (fraction & 0xffffffff)) - 0x1p52;
    double r = (upper * 0x1p-32 + lower * 0x1p-64) * 1.5707963267948966192;
    uint32_t number = (uint32_t)((turns + ((uint64_t)1 << 61)) >> 62);
    hki_quadrant result;
    result.r = bits >> 31 ? -r : r;
    result.number = (bits >> 31 ? 0u - number : number) & 3u;
    return result;
}

/* near: |x| is known to be small, which is left to who calls, because finding it out for each number keeps compilers from vector
 * code. The result does not depend on it. */
HKI_EVERYWHERE hki_quadrant hki_quadrant_of(float x, bool near)
{
    if (near || fabsf(x) < HKI_NEAR_ANGLE)
        return hki_quadrant_of_small(x);
    return hki_quadrant_of_large(x);
}

/* For |r| <= pi / 4. */
HKI_EVERYWHERE double hki_wide_sin_of(double r)
{
    double z = r * r;
    double p = -1.0 / 39916800;
    p = fma(p, z, 1.0 / 362880);
    p = fma(p, z, -1.0 / 5040);
    p = fma(p, z, 1.0 / 120);
    p = fma(p, z, -1.0 / 6);
    return r * fma(z, p, 1.0);
}

HKI_EVERYWHERE double hki_wide_cos_of(double r)
{
    double z = r * r;
    double p = 1.0 / 479001600;
    p = fma(p, z, -1.0 / 3628800);
    p = fma(p, z, 1.0 / 40320);
    p = fma(p, z, -1.0 / 720);
    p = fma(p, z, 1.0 / 24);
    p = fma(p, z, -1.0 / 2);
    return fma(z, p, 1.0);
}

HKI_EVERYWHERE double hki_wide_tan(float x, bool near)
{
    hki_quadrant at = hki_quadrant_of(x, near);
    double sine = hki_wide_sin_of(at.r), cosine = hki_wide_cos_of(at.r);
    double above = hki_double_choice(at.number & 1u, cosine, sine);
    double below = hki_double_choice(at.number & 1u, -sine, cosine);
    return near || fabsf(x) < INFINITY ? above / below : (double)(x - x);
}

/* Reduced to |t| <= tan(pi / 8) by the arcs of 1 / x and of (x - 1) / (x + 1); the series up to t^27. */
HKI_EVERYWHERE double hki_wide_atan(double x)
{
    double magnitude = fabs(x);
    bool inverted = magnitude > 1;
    double w = inverted ? 1 / magnitude : magnitude;
    bool turned = w > 0.41421356237309504880;
    double t = turned ? (w - 1) / (w + 1) : w, z = t * t;
    double p = -1.0 / 27;
    p = fma(p, z, 1.0 / 25);
    p = fma(p, z, -1.0 / 23);
    p = fma(p, z, 1.0 / 21);
    p = fma(p, z, -1.0 / 19);
    p = fma(p, z, 1.0 / 17);
    p = fma(p, z, -1.0 / 15);
    p = fma(p, z, 1.0 / 13);
    p = fma(p, z, -1.0 / 11);
    p = fma(p, z, 1.0 / 9);
    p = fma(p, z, -1.0 / 7);
    p = fma(p, z, 1.0 / 5);
    p = fma(p, z, -1.0 / 3);
    p = fma(p, z, 1.0);
    double arc = t * p;
    arc = turned ? arc + 0.78539816339744830962 : arc;
    arc = inverted ? 1.5707963267948966192 - arc : arc;
    return copysign(arc, x);
}

/* Of floats: their quotients neither overflow nor underflow. */
HKI_EVERYWHERE double hki_wide_atan2(double y, double x)
{
    double up = fabs(y), across = fabs(x);
    double slope = up / across;
    slope = up == across ? 1 : slope; /* infinite ones */
    slope = up == 0 && across == 0 ? 0 : slope;
    double arc = hki_wide_atan(slope);
    arc = copysign(1.0, x) < 0 ? 3.1415926535897932385 - arc : arc;
    return copysign(arc, y);
}

#endif
