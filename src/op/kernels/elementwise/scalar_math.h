/* Elementary functions of one float that compilers turn into vector code: no calls, no branches, no
 * casts that are undefined for NaN. The same bits on every instruction set, given that contraction is
 * off where they are included (see elementwise_floats.inc.c), and but for what says otherwise on GPUs. Errors measured
 * over all floats. */
#ifndef HOCKET_OP_SCALAR_MATH_H
#define HOCKET_OP_SCALAR_MATH_H

#include "base/half.h"
#include "op/kernels/elementwise/wide_math.h"

#include <math.h>
#include <stdbool.h>

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
HKI_DOUBLE_OF_LIBRARY(exp)
HKI_DOUBLE_OF_LIBRARY(tanh)
HKI_DOUBLE_OF_LIBRARY(sin)
HKI_DOUBLE_OF_LIBRARY(cos)
HKI_DOUBLE_OF_LIBRARY(tan)
HKI_DOUBLE_OF_LIBRARY(asin)
HKI_DOUBLE_OF_LIBRARY(acos)
HKI_DOUBLE_OF_LIBRARY(atan)
HKI_DOUBLE_OF_LIBRARY(sinh)
HKI_DOUBLE_OF_LIBRARY(cosh)
HKI_DOUBLE_OF_LIBRARY(asinh)
HKI_DOUBLE_OF_LIBRARY(acosh)
HKI_DOUBLE_OF_LIBRARY(atanh)
HKI_DOUBLE_OF_LIBRARY(expm1)
HKI_DOUBLE_OF_LIBRARY(log1p)
HKI_DOUBLE_OF_LIBRARY(log2)
HKI_DOUBLE_OF_LIBRARY(log10)
HKI_DOUBLE_OF_LIBRARY(erf)

/* Of floats too; these are not the same bits on GPUs. */
HKI_OF_LIBRARY_1(log, logf, log)
HKI_OF_LIBRARY_2(pow, powf, pow)

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

/* ---- floats by way of doubles (wide_math.h): within 0.51 ulp */

#define HKI_FLOAT_BY_DOUBLE(name, of_x)                                                            \
    HKI_EVERYWHERE float hki_##name##_f32(float x)                                                 \
    {                                                                                              \
        return (float)(of_x);                                                                      \
    }
HKI_FLOAT_BY_DOUBLE(sin, hki_wide_sin(x, 0))
HKI_FLOAT_BY_DOUBLE(cos, hki_wide_sin(x, 1))
HKI_FLOAT_BY_DOUBLE(tan, hki_wide_tan(x))
HKI_FLOAT_BY_DOUBLE(asin, hki_wide_atan(x / sqrt((1.0 - x) * (1.0 + x))))
HKI_FLOAT_BY_DOUBLE(acos, 2 * hki_wide_atan(sqrt((1.0 - x) / (1.0 + x))))
HKI_FLOAT_BY_DOUBLE(atan, hki_wide_atan(x))
HKI_FLOAT_BY_DOUBLE(expm1, hki_wide_expm1(x))
HKI_FLOAT_BY_DOUBLE(log1p, hki_wide_log1p(x))
HKI_FLOAT_BY_DOUBLE(log2, hki_wide_log2(x))
HKI_FLOAT_BY_DOUBLE(log10, hki_wide_log(x) * 0.43429448190325182765)
HKI_FLOAT_BY_DOUBLE(erf, hki_wide_erf(x))

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
        return y == 0 ? x / y : below;                                                             \
    }
HKI_REMAINDERS(float, f32)
HKI_REMAINDERS(double, f64)

/* ---- activations: one text for doubles and, by way of doubles, floats */

#define HKI_ACTIVATIONS(prefix, suffix)                                                             \
    HKI_EVERYWHERE double prefix##_normal_cdf##suffix(double x)                                     \
    {                                                                                               \
        return prefix##_erfc##suffix(x * -0.70710678118654752440) / 2;                              \
    }                                                                                               \
    /* x times what is 0 for the lowest x. */                                                       \
    HKI_EVERYWHERE double prefix##_gated##suffix(double x, double gate)                             \
    {                                                                                               \
        return x == -(double)INFINITY ? -0.0 : x * gate;                                            \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_logistic##suffix(double x)                                       \
    {                                                                                               \
        return 1 / (1 + prefix##_exp##suffix(-x));                                                  \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_gelu##suffix(double x)                                           \
    {                                                                                               \
        return prefix##_gated##suffix(x, prefix##_normal_cdf##suffix(x));                           \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_gelu_slope##suffix(double x)                                     \
    {                                                                                               \
        return prefix##_normal_cdf##suffix(x) +                                                     \
               x * 0.39894228040143267794 * prefix##_exp##suffix(x * x / -2);                       \
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
        double gate = prefix##_gelu_gate##suffix(x);                                                \
        double inner = 1.5957691216057307117 * (1 + 0.134145 * x * x);                              \
        return gate + x * gate * (1 - gate) * inner;                                                \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_silu##suffix(double x)                                           \
    {                                                                                               \
        return prefix##_gated##suffix(x, prefix##_logistic##suffix(x));                             \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_silu_slope##suffix(double x)                                     \
    {                                                                                               \
        double gate = prefix##_logistic##suffix(x);                                                 \
        return gate + x * gate * (1 - gate);                                                        \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_softplus##suffix(double x)                                       \
    {                                                                                               \
        return (x > 0 ? x : 0) + prefix##_log1p_positive##suffix(prefix##_exp##suffix(-fabs(x)));   \
    }                                                                                               \
    /* With e = e^x, the tanh of ln(1 + e) is n / (n + 2) for n = e (e + 2); it is 1 from 40 on. */ \
    HKI_EVERYWHERE double prefix##_mish##suffix(double x)                                           \
    {                                                                                               \
        double e = prefix##_exp##suffix(x > 40 ? 40 : x), n = e * (e + 2);                          \
        return prefix##_gated##suffix(x, n / (n + 2));                                              \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_mish_slope##suffix(double x)                                     \
    {                                                                                               \
        double e = prefix##_exp##suffix(x > 40 ? 40 : x), n = e * (e + 2);                          \
        double rise = x > 40 ? 0 : x * 4 * e * (e + 1) / ((n + 2) * (n + 2));                       \
        return n / (n + 2) + rise;                                                                  \
    }                                                                                               \
    HKI_EVERYWHERE double prefix##_logaddexp##suffix(double x, double y)                            \
    {                                                                                               \
        double sum =                                                                                \
            (x > y ? x : y) + prefix##_log1p_positive##suffix(prefix##_exp##suffix(-fabs(x - y)));  \
        return x == y ? x + 0.69314718055994530942 : sum;                                           \
    }

HKI_EVERYWHERE double hki_erfc_f64(double x)
{
    return erfc(x);
}
HKI_EVERYWHERE double hki_log1p_positive_f64(double x)
{
    return log1p(x);
}
HKI_ACTIVATIONS(hki, _f64)
HKI_ACTIVATIONS(hki_wide, )
HKI_FLOAT_BY_DOUBLE(gelu, hki_wide_gelu(x))
HKI_FLOAT_BY_DOUBLE(gelu_slope, hki_wide_gelu_slope(x))
HKI_FLOAT_BY_DOUBLE(gelu_tanh, hki_wide_gelu_tanh(x))
HKI_FLOAT_BY_DOUBLE(gelu_tanh_slope, hki_wide_gelu_tanh_slope(x))
HKI_FLOAT_BY_DOUBLE(silu, hki_wide_silu(x))
HKI_FLOAT_BY_DOUBLE(silu_slope, hki_wide_silu_slope(x))
HKI_FLOAT_BY_DOUBLE(softplus, hki_wide_softplus(x))
HKI_FLOAT_BY_DOUBLE(mish, hki_wide_mish(x))
HKI_FLOAT_BY_DOUBLE(mish_slope, hki_wide_mish_slope(x))
HKI_EVERYWHERE float hki_logaddexp_f32(float x, float y)
{
    return (float)hki_wide_logaddexp((double)x, (double)y);
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

/* The functions that rows use as F(name): ONE(name) for those of one number, TWO(name) of two. Each is hki_<name>_f32 and
 * hki_<name>_f64. */
/* clang-format off */
#define HKI_SCALAR_FUNCTIONS(ONE, TWO)                                                             \
    ONE(exp) ONE(log) ONE(sqrt) ONE(abs) ONE(sigmoid) ONE(tanh) TWO(pow)                           \
    ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh)                   \
    ONE(asinh) ONE(acosh) ONE(atanh) ONE(expm1) ONE(log1p) ONE(log2) ONE(log10) ONE(erf)           \
    ONE(ceil) ONE(floor) ONE(trunc) ONE(rint) TWO(copysign) TWO(nextafter) TWO(fmod)               \
    TWO(remainder) TWO(floor_divide) TWO(atan2) TWO(hypot) TWO(logaddexp)                          \
    ONE(gelu) ONE(gelu_slope) ONE(gelu_tanh) ONE(gelu_tanh_slope) ONE(silu) ONE(silu_slope)        \
    ONE(softplus) ONE(mish) ONE(mish_slope)
/* clang-format on */

/* A number of a row as an integer; infinite ones are the ends of the range. */
HKI_EVERYWHERE int64_t hki_saturate(double x, int64_t lowest, int64_t highest)
{
    return x <= (double)lowest ? lowest : x >= (double)highest ? highest : (int64_t)x;
}

/* The gradient g to the larger of x and y: half where they are equal, NaN where one is. */
#define HKI_GREATER(g, x, y) ((x) > (y) ? (g) : (x) == (y) ? (g) / 2 : (x) < (y) ? 0 : (x) + (y))

#endif
