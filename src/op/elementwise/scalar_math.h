/* Elementary functions of one float that compilers turn into vector code: no calls, no branches, no
 * casts that are undefined for NaN. The same bits on every instruction set, given that contraction is
 * off where they are included (see elementwise_floats.inc.c): what is fused says so, and is a call where the
 * instruction set lacks it. What differs on GPUs says so. Errors measured over all floats. */
#ifndef HOCKET_OP_SCALAR_MATH_H
#define HOCKET_OP_SCALAR_MATH_H

#include "base/half.h"
#include "op/elementwise/double_math.h"
#include "op/elementwise/wide_math.h"

#include <math.h>
#include <stdbool.h>

/* exp(x) within 2 ulp; 0 and infinity beyond the range, NaN for NaN. x = n ln 2 + r with |r| <= ln 2 / 2. */
HKI_EVERYWHERE float hki_exp_f32(float x)
{
    const float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    const float round =
        12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    float shifted = fmaf(x, log2_e, round), n = shifted - round;
    float r = fmaf(n, -ln2_low, fmaf(n, -ln2_high, x)), z = r * r;
    /* Three short sums side by side take less time than one. */
    float high = fmaf(1.9875691500e-4f, r, 1.3981999507e-3f);
    float middle = fmaf(8.3334519073e-3f, r, 4.1665795894e-2f);
    float low = fmaf(1.6666665459e-1f, r, 5.0000001201e-1f);
    float p = fmaf(fmaf(fmaf(high, z, middle), z, low), z, r) + 1.0f;
    /* 2^n as a product of two, which reaches below the normal numbers and above all. */
    uint32_t exponent = hki_bits_of_float(shifted) - hki_bits_of_float(round);
    uint32_t half = (uint32_t)((int32_t)exponent >> 1);
    float first = hki_float_of_bits((half + 127) << 23);
    float second = hki_float_of_bits((exponent - half + 127) << 23);
    return p * first * second;
}

/* 2^64 e^(x + rest) for x from -113 to 0, small rest: times 2^-64 it rounds once where e^x is no normal number. */
HKI_EVERYWHERE float hki_exp_below_f32(float x, float rest)
{
    const float round = 12582976.0f; /* as above, and 64 more; its bits are 0 after the shift */
    float shifted = fmaf(x, 1.44269504f, round), n = shifted - round;
    float r = fmaf(n, 2.12194440e-4f, fmaf(n, -0.693359375f, x)) + rest, z = r * r;
    float p = fmaf(1.37808e-3f, z, fmaf(8.38159e-3f, r, 4.166986e-2f));
    p = fmaf(fmaf(p, z, fmaf(0.16666395f, r, 0.49999983f)), z, r) + 1.0f;
    return hki_float_of_bits(hki_bits_of_float(p) + (hki_bits_of_float(shifted) << 23));
}

/* exp(x) within 2 ulp for x that is not above 0, or NaN. */
HKI_EVERYWHERE float hki_exp_falling_f32(float x)
{
    float within = x < -110.0f ? -110.0f : x;
    float value = hki_exp_below_f32(within, 0) * 0x1p-64f;
    return x != x ? x : value;
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
    p = fmaf(p, z, 2.06390887954e-2f);
    p = fmaf(p, z, -5.37397155531e-2f);
    p = fmaf(p, z, 1.33314422036e-1f);
    p = fmaf(p, z, -3.33332819422e-1f);
    float small = fmaf(magnitude, z * p, magnitude);
    float large = 1.0f - 2.0f / (hki_exp_f32(2.0f * magnitude) + 1.0f);
    return copysignf(magnitude < 0.625f ? small : large, x); /* of -0, too */
}

/* ln x within 1 ulp: x is 2^k m with m from sqrt(1/2) on, and ln m a minimax polynomial in f = m - 1. */
HKI_EVERYWHERE float hki_log_f32(float x)
{
    bool is_tiny = x < 0x1p-126f;
    float scaled = is_tiny ? x * 0x1p23f : x;
    const uint32_t sqrt_half = 0x3f3504f3u;
    uint32_t biased = (hki_bits_of_float(scaled) - sqrt_half + (256u << 23)) >> 23;
    float f = hki_float_of_bits(hki_bits_of_float(scaled) - (biased << 23) + (256u << 23)) - 1.0f;
    float k = (float)(int32_t)(biased - 256u) - (is_tiny ? 23.0f : 0.0f);
    float z = f * f;
    float p = -0.0763419769393f;
    p = fmaf(p, f, 0.127613868048f);
    p = fmaf(p, f, -0.131602047328f);
    p = fmaf(p, f, 0.142017872989f);
    p = fmaf(p, f, -0.166233584412f);
    p = fmaf(p, f, 0.20001225602f);
    p = fmaf(p, f, -0.25000820967f);
    p = fmaf(p, f, 0.333333317226f);
    float low = fmaf(p, f * z, fmaf(k, -2.12194440e-4f, -0.5f * z));
    float value = fmaf(k, 0.693359375f, low + f);
    value = x == 0 ? -INFINITY : value;
    return x >= 0 ? x < INFINITY ? value : x : NAN;
}

/* Slopes of sigmoid and tanh at x, where they are y: e^-|x| times the square of what is near 1. By y alone all would be lost
 * where it is 1 long before its slope is 0; by x alone it costs a division. Within 6 ulp. */
HKI_EVERYWHERE float hki_sigmoid_slope_f32(float x, float y)
{
    float larger = x < 0 ? 1.0f - y : y, within = fabsf(x) > 110.0f ? 110.0f : fabsf(x);
    float value = larger * larger * hki_exp_below_f32(-within, 0) * 0x1p-64f;
    value = within < 1.0f ? y * (1.0f - y) : value;
    return x != x ? x : value;
}
HKI_EVERYWHERE float hki_tanh_slope_f32(float x, float y)
{
    float larger = 1.0f + fabsf(y), twice = 2.0f * fabsf(x),
          within = twice > 110.0f ? 110.0f : twice;
    float value = larger * larger * hki_exp_below_f32(-within, 0) * 0x1p-64f;
    return x != x ? x : value;
}

/* For |r| <= pi / 4, minimax polynomials. */
HKI_EVERYWHERE float hki_sin_of_f32(float r)
{
    float z = r * r;
    float p = -0.00019516977168f;
    p = fmaf(p, z, 0.00833217584301f);
    p = fmaf(p, z, -0.166666549085f);
    return copysignf(fmaf(r, z * p, r), r); /* of 0, too */
}
HKI_EVERYWHERE float hki_cos_of_f32(float r)
{
    float z = r * r;
    float p = 2.4438091352e-5f;
    p = fmaf(p, z, -0.00138873644897f);
    p = fmaf(p, z, 0.0416666468073f);
    return fmaf(z, fmaf(z, p, -0.5f), 1.0f);
}

/* The sine for added 0, the cosine for 1, within 1.5 ulp; NaN where x is not finite. near: see hki_quadrant_of. */
HKI_EVERYWHERE float hki_turned_sin_f32(float x, uint32_t added, bool near)
{
    hki_quadrant at = hki_quadrant_of(x, near);
    uint32_t number = at.number + added, mask = 0u - (number & 1u);
    float r = (float)at.r, sine = hki_sin_of_f32(r), cosine = hki_cos_of_f32(r);
    uint32_t bits = (hki_bits_of_float(cosine) & mask) | (hki_bits_of_float(sine) & ~mask);
    float value = hki_float_of_bits(bits ^ (number & 2u) << 30);
    return near || fabsf(x) < INFINITY ? value : x - x;
}

/* The normal distribution function of -x, divided by e^(-x^2 / 2), for x from 0 to 16: c (d + e) / (d (x + b)) with minimax
 * polynomials. Rounding d moves the result little, for e is small beside it. */
HKI_EVERYWHERE float hki_normal_tail_f32(float x)
{
    float d = x + 9.41835018f;
    d = fmaf(d, x, 42.3685146f);
    d = fmaf(d, x, 106.528849f);
    d = fmaf(d, x, 146.239219f);
    d = fmaf(d, x, 86.3045262f);
    float e = 0.686968345f;
    e = fmaf(e, x, 5.4850622f);
    e = fmaf(e, x, 18.8827598f);
    e = fmaf(e, x, 28.5991833f);
    e = fmaf(e, x, -11.9405557f);
    return (d + e) * (0.398945627f / (d * (x + 0.6875f)));
}

/* erf(x) within 1.5 ulp. */
HKI_EVERYWHERE float hki_erf_f32(float x)
{
    float z = x * x, magnitude = fabsf(x);
    float p = 8.18507597295e-5f;
    p = fmaf(p, z, -0.000809769845651f);
    p = fmaf(p, z, 0.00519695155388f);
    p = fmaf(p, z, -0.0268577048321f);
    p = fmaf(p, z, 0.112836639921f);
    p = fmaf(p, z, -0.37612631613f);
    float small = fmaf(magnitude, fmaf(p, z, 0.12837916641f), magnitude);
    float within = magnitude > 11.0f ? 11.0f : magnitude;
    float tail = hki_normal_tail_f32(within * 1.41421356f) * hki_exp_f32(-z);
    float large = fmaf(-2.0f, tail, 1.0f);
    return x != x ? x : copysignf(magnitude < 0.95f ? small : large, x);
}

/* 2^64 e^(factor x^2), which is not below 2^-149; with what rounding the exponent loses. */
HKI_EVERYWHERE float hki_bell_f32(float x, float factor)
{
    float other = factor * x, exponent = other * x;
    return hki_exp_below_f32(exponent, fmaf(other, x, -exponent));
}

/* e^(-x^2) within 3 ulp. */
HKI_EVERYWHERE float hki_gauss_f32(float x)
{
    float within = fabsf(x);
    within = within > 10.6f ? 10.6f : within;
    float value = hki_bell_f32(within, -1) * 0x1p-64f;
    return x != x ? x : value;
}

/* |x|, at most so much: one instruction each, and NaN is that much. */
HKI_EVERYWHERE float hki_within_f32(float x, float most)
{
    return fabsf(x) < most ? fabsf(x) : most;
}

/* Within 4 ulp. */
HKI_EVERYWHERE float hki_gelu_f32(float x)
{
    float within = hki_within_f32(x, 15);
    float tail = within * hki_normal_tail_f32(within) * hki_bell_f32(within, -0.5f) * 0x1p-64f;
    /* -0 stays, and is all that is left of the lowest */
    return x <= 0 ? copysignf(tail, x) : x - tail;
}
HKI_EVERYWHERE float hki_gelu_slope_f32(float x)
{
    float within = hki_within_f32(x, 15), bell = hki_bell_f32(within, -0.5f) * 0x1p-64f;
    float below = fmaf(within, -0.39894228f, hki_normal_tail_f32(within)) * bell; /* at -|x| */
    float above = 1.0f - below;
    return x < 0 ? below : x == x ? above : x;
}

/* Within 6 ulp. */
HKI_EVERYWHERE float hki_silu_f32(float x)
{
    float within = hki_within_f32(x, 110), power = hki_exp_below_f32(-within, 0);
    float gate = 1.0f / fmaf(power, 0x1p-64f, 1.0f), below = within * gate * power * -0x1p-64f;
    return x < 0 ? below : x * gate;
}
HKI_EVERYWHERE float hki_silu_slope_f32(float x)
{
    float within = hki_within_f32(x, 110), power = hki_exp_below_f32(-within, 0) * 0x1p-64f;
    float gate = 1.0f / (1.0f + power);
    float below = gate * power * fmaf(-within, gate, 1.0f), above = 1.0f - below; /* at -|x| */
    return x < 0 ? below : x == x ? above : x;
}

/* ---- by the C library: doubles round as it likes */

#define HKI_DOUBLE_OF_LIBRARY(name)                                                                \
    HKI_EVERYWHERE double hki_##name##_f64(double x)                                               \
    {                                                                                              \
        return name(x);                                                                            \
    }
#define HKI_OF_LIBRARY_1(name, of_float, of_double)                                                \
    HKI_EVERYWHERE float hki_##name##_f32(float x)                                                 \
    {                                                                                              \
        return of_float(x);                                                                        \
    }                                                                                              \
    HKI_EVERYWHERE double hki_##name##_f64(double x)                                               \
    {                                                                                              \
        return of_double(x);                                                                       \
    }
#define HKI_OF_LIBRARY_2(name, of_float, of_double)                                                \
    HKI_EVERYWHERE float hki_##name##_f32(float x, float y)                                        \
    {                                                                                              \
        return of_float(x, y);                                                                     \
    }                                                                                              \
    HKI_EVERYWHERE double hki_##name##_f64(double x, double y)                                     \
    {                                                                                              \
        return of_double(x, y);                                                                    \
    }
HKI_DOUBLE_OF_LIBRARY(atan)

/* Of floats too; not the same bits on GPUs. */
HKI_OF_LIBRARY_2(pow, powf, pow)

/* Powers that take less than logarithms: those of hki_pow_number_f32 and _f64. */
HKI_EVERYWHERE bool hki_is_quick_power(double s)
{
    return s == 1 || s == 2 || s == 3 || s == -1 || s == 0.5;
}

/* x to the power of a number that all elements share: compilers make a loop for each of the cases, but not of one case more. The
 * root as pow gives it: no -0, and infinity of -infinity. */
#define HKI_POWER_OF_NUMBER(T, suffix, root)                                                       \
    HKI_EVERYWHERE T hki_pow_number_##suffix(T x, T s)                                             \
    {                                                                                              \
        return s == 1        ? x                                                                   \
               : s == 2      ? x * x                                                               \
               : s == 3      ? x * x * x                                                           \
               : s == -1     ? 1 / x                                                               \
               : s == (T)0.5 ? root(x == -(T)INFINITY ? (T)INFINITY : x + 0)                       \
                             : hki_pow_##suffix(x, s);                                             \
    }
HKI_POWER_OF_NUMBER(float, f32, sqrtf)
HKI_POWER_OF_NUMBER(double, f64, sqrt)

/* Exact, and sqrt rounded correctly: the same bits everywhere. */
HKI_OF_LIBRARY_1(sqrt, sqrtf, sqrt)
HKI_OF_LIBRARY_1(abs, fabsf, fabs)
HKI_OF_LIBRARY_1(ceil, ceilf, ceil)
HKI_OF_LIBRARY_1(floor, floorf, floor)
HKI_OF_LIBRARY_1(trunc, truncf, trunc)
HKI_OF_LIBRARY_1(rint, rintf, rint)
HKI_OF_LIBRARY_2(copysign, copysignf, copysign)
HKI_OF_LIBRARY_2(nextafter, nextafterf, nextafter)
HKI_OF_LIBRARY_2(fmod, fmodf, fmod)

/* ---- angles. near: they are known to be below HKI_NEAR_ANGLE, which changes the speed alone */

HKI_EVERYWHERE float hki_sin_f32(float x, bool near)
{
    return hki_turned_sin_f32(x, 0, near);
}
HKI_EVERYWHERE float hki_cos_f32(float x, bool near)
{
    return hki_turned_sin_f32(x, 1, near);
}
HKI_EVERYWHERE float hki_tan_f32(float x, bool near)
{
    return (float)hki_wide_tan(x, near);
}

/* ---- floats by way of doubles (wide_math.h): within 0.51 ulp */

#define HKI_FLOAT_BY_DOUBLE(name, of_x)                                                            \
    HKI_EVERYWHERE float hki_##name##_f32(float x)                                                 \
    {                                                                                              \
        return (float)(of_x);                                                                      \
    }
HKI_FLOAT_BY_DOUBLE(asin, hki_asin_f64(x))
HKI_FLOAT_BY_DOUBLE(acos, hki_acos_f64(x))
HKI_FLOAT_BY_DOUBLE(atan, hki_wide_atan(x))
HKI_FLOAT_BY_DOUBLE(expm1, hki_wide_expm1(x))
HKI_FLOAT_BY_DOUBLE(log1p, hki_wide_log1p(x))
HKI_FLOAT_BY_DOUBLE(log2, hki_wide_log2(x))
HKI_FLOAT_BY_DOUBLE(log10, hki_wide_log(x) * 0.43429448190325182765)

HKI_EVERYWHERE float hki_sinh_f32(float x)
{
    double less = hki_wide_expm1(fabs((double)x));
    return (float)copysign((less + less / (less + 1)) / 2, (double)x);
}

HKI_EVERYWHERE float hki_cosh_f32(float x)
{
    double power = hki_wide_exp(fabs((double)x));
    return (float)((power + 1 / power) / 2);
}

HKI_EVERYWHERE float hki_asinh_f32(float x)
{
    double magnitude = fabs((double)x), square = magnitude * magnitude;
    double value = hki_wide_log1p(magnitude + square / (1 + sqrt(square + 1)));
    value = magnitude < (double)INFINITY ? value : magnitude;
    return (float)copysign(value, (double)x);
}

HKI_EVERYWHERE float hki_acosh_f32(float x)
{
    double above = x < 1 ? (double)NAN : (double)x - 1;
    return (float)hki_wide_log1p(above + sqrt(above * (above + 2)));
}

HKI_EVERYWHERE float hki_atanh_f32(float x)
{
    return (float)(hki_wide_log1p(2 * (double)x / (1 - (double)x)) / 2);
}

HKI_EVERYWHERE float hki_atan2_f32(float y, float x)
{
    return (float)hki_wide_atan2((double)y, (double)x);
}
HKI_EVERYWHERE double hki_atan2_f64(double y, double x)
{
    return atan2(y, x);
}

/* Infinite where either is, even beside NaN. */
HKI_EVERYWHERE float hki_hypot_f32(float x, float y)
{
    float length = (float)sqrt((double)x * (double)x + (double)y * (double)y);
    return fabsf(x) == INFINITY || fabsf(y) == INFINITY ? INFINITY : length;
}
HKI_EVERYWHERE double hki_hypot_f64(double x, double y)
{
    return hypot(x, y);
}

/* x / |(x, y)|, the slope of hypot by x: 0 at (0, 0), and the limit where one is infinite. */
HKI_EVERYWHERE float hki_hypot_slope_f32(float x, float y)
{
    bool any = fabsf(x) == INFINITY || fabsf(y) == INFINITY;
    double a = any ? (fabsf(x) == INFINITY ? copysign(1.0, (double)x) : 0.0 * (double)(x == x))
                   : (double)x;
    double b = any ? (fabsf(y) == INFINITY ? 1.0 : 0.0) : (double)y;
    double length = sqrt(a * a + b * b);
    return (float)(length == 0 ? 0 : a / length);
}
HKI_EVERYWHERE double hki_hypot_slope_f64(double x, double y)
{
    double most = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
    bool any = fabs(x) == (double)INFINITY || fabs(y) == (double)INFINITY;
    double a = any ? (fabs(x) == (double)INFINITY ? copysign(1.0, x) : 0) : x / most;
    double b = any ? (fabs(y) == (double)INFINITY ? 1.0 : 0) : y / most;
    return x == 0 && y == 0 ? 0 : a / sqrt(a * a + b * b);
}

/* x / (x^2 + y^2), the slope of an angle: 0 at (0, 0), and where one is infinite. */
HKI_EVERYWHERE float hki_angle_slope_f32(float x, float y)
{
    double a = (double)x, b = (double)y, square = a * a + b * b;
    bool is_end = square == 0 || fabsf(x) == INFINITY || fabsf(y) == INFINITY;
    return (float)(is_end ? 0 : a / square);
}
HKI_EVERYWHERE double hki_angle_slope_f64(double x, double y)
{
    double most = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
    double a = x / most, b = y / most;
    bool is_end = (x == 0 && y == 0) || fabs(x) == (double)INFINITY || fabs(y) == (double)INFINITY;
    return is_end ? 0 : a / (a * a + b * b) / most;
}

/* ---- remainders: of the divisor's sign; the quotient is the whole number that goes with them */

#define HKI_REMAINDERS(T, suffix)                                                                  \
    HKI_EVERYWHERE T hki_remainder_##suffix(T x, T y)                                              \
    {                                                                                              \
        T rest = hki_fmod_##suffix(x, y);                                                          \
        T moved = rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;                            \
        return moved == 0 ? hki_copysign_##suffix(moved, y) : moved;                               \
    }                                                                                              \
    HKI_EVERYWHERE T hki_floor_divide_##suffix(T x, T y)                                           \
    {                                                                                              \
        T rest = hki_fmod_##suffix(x, y), whole = (x - rest) / y;                                  \
        whole = rest != 0 && (rest < 0) != (y < 0) ? whole - 1 : whole;                            \
        T below = hki_floor_##suffix(whole); /* the division rounded, maybe down */                \
        below = whole - below > (T)0.5 ? below + 1 : below;                                        \
        below = whole == 0 ? hki_copysign_##suffix(0, x / y) : below;                              \
        return y == 0 || x - x != 0 ? x / y : below; /* infinite, or NaN */                        \
    }
HKI_REMAINDERS(float, f32)
HKI_REMAINDERS(double, f64)

/* ---- activations of doubles, and those whose floats go by way of doubles */

/* gelu_tanh of doubles errs by 2500 ulp where it is smallest, by 60 from -5 on: rounding the exponent u errs by up to 2 |u|. Half of that
 * is the constants'. It would take u in two parts, whose products cost more than all else here. */

#define HKI_ACTIVATIONS(prefix, suffix)                                                             \
    /* x times what is 0 for the lowest x. */                                                       \
    HKI_EVERYWHERE double prefix##_gated##suffix(double x, double gate)                             \
    {                                                                                               \
        return x == -(double)INFINITY ? -0.0 : x * gate;                                            \
    }                                                                                               \
    /* (1 + tanh u) / 2 is the logistic function of 2 u. */                                         \
    HKI_EVERYWHERE double prefix##_gelu_gate##suffix(double x)                                      \
    {                                                                                               \
        return prefix##_logistic##suffix(1.5957691216057307117 * (x + 0.044715 * x * x * x));       \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_gelu_tanh##suffix(double x)                                      \
    {                                                                                               \
        return prefix##_gated##suffix(x, prefix##_gelu_gate##suffix(x));                            \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_gelu_tanh_slope##suffix(double x)                                \
    {                                                                                               \
        double within = x > 40 ? 40 : x < -40 ? -40 : x; /* beyond, its slope is 1, or 0 */         \
        double squares = within * within;                                                           \
        double u = 1.5957691216057307117 * (within + 0.044715 * within * squares);                  \
        double power = prefix##_exp##suffix(-fabs(u)), larger = 1 / (1 + power);                    \
        double smaller = power * larger; /* the gates of u and -u */                                \
        double inner = 1.5957691216057307117 * (1 + 0.134145 * squares);                            \
        double slope = (u < 0 ? smaller : larger) + within * (larger * smaller) * inner;            \
        return x != x ? x : slope;                                                                  \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_softplus##suffix(double x)                                       \
    {                                                                                               \
        return (x > 0 ? x : 0) + prefix##_log1p_positive##suffix(prefix##_exp##suffix(-fabs(x)));   \
    }                                                                                               \
    /* With e = e^x, the tanh of ln(1 + e) is n / (n + 2) for n = e (e + 2); it is 1 from 40 on. */ \
    /* For negative x the scale of e comes last: x e is rounded once next to 0. 800 e^-800 is 0. */ \
    HKI_EVERYWHERE double prefix##_mish##suffix(double x)                                           \
    {                                                                                               \
        double scale, power = prefix##_exp_parts##suffix(x > 40 ? 40 : x, 0, &scale);               \
        double e = power * scale, n = e * (e + 2);                                                  \
        double gate = (x < 0 ? power * (e + 2) : n) / (n + 2);                                      \
        return (x < -800 ? -800 : x) * gate * (x < 0 ? scale : 1);                                  \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_mish_slope##suffix(double x)                                     \
    {                                                                                               \
        double e = prefix##_exp##suffix(x > 40 ? 40 : x), n = e * (e + 2);                          \
        double within = x < -800 ? -800 : x;                                                        \
        double rise = x > 40 ? 0 : within * 4 * e * (e + 1) / ((n + 2) * (n + 2));                  \
        return n / (n + 2) + rise;                                                                  \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_logaddexp##suffix(double x, double y)                            \
    {                                                                                               \
        double sum =                                                                                \
            (x > y ? x : y) + prefix##_log1p_positive##suffix(prefix##_exp##suffix(-fabs(x - y)));  \
        return x == y ? x + 0.69314718055994530942 : sum;                                           \
    }

HKI_EVERYWHERE double hki_logistic_f64(double x)
{
    return hki_sigmoid_f64(x);
}
HKI_EVERYWHERE double hki_wide_logistic(double x)
{
    return 1 / (1 + hki_wide_exp(-x));
}
/* A float needs no part but the first. */
HKI_EVERYWHERE double hki_wide_exp_parts(double x, double rest, double *scale)
{
    *scale = 1;
    return hki_wide_exp(x + rest);
}
HKI_ACTIVATIONS(hki, _f64)
HKI_ACTIVATIONS(hki_wide, )

HKI_FLOAT_BY_DOUBLE(gelu_tanh, hki_wide_gelu_tanh(x))
HKI_FLOAT_BY_DOUBLE(gelu_tanh_slope, hki_wide_gelu_tanh_slope(x))
HKI_FLOAT_BY_DOUBLE(softplus, hki_wide_softplus(x))
HKI_FLOAT_BY_DOUBLE(mish, hki_wide_mish(x))
HKI_FLOAT_BY_DOUBLE(mish_slope, hki_wide_mish_slope(x))
HKI_EVERYWHERE float hki_logaddexp_f32(float x, float y)
{
    return (float)hki_wide_logaddexp((double)x, (double)y);
}

/* e^x / (e^x + e^y), the slope of logaddexp by x; none of both where both are 0. */
#define HKI_SHARE(T, suffix)                                                                       \
    HKI_EVERYWHERE T hki_share_##suffix(T x, T y)                                                  \
    {                                                                                              \
        T share = hki_sigmoid_##suffix(x - y), same = x == -(T)INFINITY ? 0 : (T)0.5;              \
        return x == y ? same : share;                                                              \
    }
HKI_SHARE(float, f32)
HKI_SHARE(double, f64)

/* Of halves, as floats: the one next to x towards y. */
HKI_EVERYWHERE float hki_next_half(bool is_f16, float x, float y)
{
    uint32_t bits = is_f16 ? hki_f16_from_float(x) : hki_bf16_from_float(x);
    uint32_t least = y < 0 ? 0x8001u : 1u;
    uint32_t beside = x == 0 ? least : (x < y) == (x > 0) ? bits + 1 : bits - 1;
    float next = is_f16 ? hki_f16_to_float((uint16_t)beside) : hki_bf16_to_float((uint16_t)beside);
    return x != x || y != y ? x + y : x == y ? y : next;
}

/* Rounds towards zero; b is not 0. Wraps around for the smallest integer over -1. */
HKI_EVERYWHERE int64_t hki_divide_int(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* Integers; b is not 0. */
HKI_EVERYWHERE int64_t hki_remainder_int(int64_t a, int64_t b)
{
    int64_t rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
HKI_EVERYWHERE int64_t hki_floor_divide_int(int64_t a, int64_t b)
{
    bool between = b != -1 && a % b != 0 && (a < 0) != (b < 0);
    return hki_divide_int(a, b) - between;
}

/* The same of integers without a sign. */
HKI_EVERYWHERE uint64_t hki_divide_uint(uint64_t a, uint64_t b)
{
    return a / b;
}
HKI_EVERYWHERE uint64_t hki_remainder_uint(uint64_t a, uint64_t b)
{
    return a % b;
}
HKI_EVERYWHERE uint64_t hki_floor_divide_uint(uint64_t a, uint64_t b)
{
    return a / b;
}

/* By squaring; b is not negative. Wraps around. */
HKI_EVERYWHERE uint64_t hki_power_uint(uint64_t a, uint64_t b)
{
    uint64_t power = 1;
    for (; b > 0; b >>= 1, a *= a)
        power *= b & 1 ? a : 1;
    return power;
}
HKI_EVERYWHERE int64_t hki_power_int(int64_t a, int64_t b)
{
    return (int64_t)hki_power_uint((uint64_t)a, (uint64_t)b);
}

/* The functions that rows use as F(name): ONE(name) for those of one number, TWO(name) of two, ANGLE(name) of an angle and
 * `near`. Each is hki_<name>_f32 and hki_<name>_f64. */
/* clang-format off */
#define HKI_SCALAR_FUNCTIONS(ONE, TWO, ANGLE)                                                      \
    ONE(exp) ONE(log) ONE(sqrt) ONE(abs) ONE(sigmoid) ONE(tanh) TWO(pow) TWO(pow_number)           \
    ANGLE(sin) ANGLE(cos) ANGLE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh)                   \
    ONE(asinh) ONE(acosh) ONE(atanh) ONE(expm1) ONE(log1p) ONE(log2) ONE(log10) ONE(erf)           \
    ONE(ceil) ONE(floor) ONE(trunc) ONE(rint) TWO(copysign) TWO(nextafter) TWO(fmod)               \
    TWO(remainder) TWO(floor_divide) TWO(atan2) TWO(hypot) TWO(logaddexp)                          \
    ONE(gelu) ONE(gelu_slope) ONE(gelu_tanh) ONE(gelu_tanh_slope) ONE(silu) ONE(silu_slope)        \
    ONE(softplus) ONE(mish) ONE(mish_slope) ONE(gauss)          \
    TWO(sigmoid_slope) TWO(tanh_slope)                                                       \
    TWO(share) TWO(hypot_slope) TWO(angle_slope)
/* clang-format on */

/* A number of a row as an integer; infinite ones are the ends of the range. */
HKI_EVERYWHERE int64_t hki_saturate(double x, int64_t lowest, int64_t highest)
{
    return x <= (double)lowest ? lowest : x >= (double)highest ? highest : (int64_t)x;
}

/* The gradient g to the larger of x and y: half where they are equal, NaN where one is. */
#define HKI_GREATER(g, x, y) ((x) > (y) ? (g) : (x) == (y) ? (g) / 2 : (x) < (y) ? 0 : (x) + (y))

#endif
