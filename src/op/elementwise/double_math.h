/* Elementary functions of one double, for loops that compilers turn into vector code: without calls, tables and branches, and the
 * same bits on every instruction set, like scalar_math.h. Polynomials are minimax, of own fits; scalar_math_test.c bounds the
 * errors. Long polynomials are summed as two shorter ones, of even and odd powers, which run side by side. */
#ifndef HOCKET_OP_DOUBLE_MATH_H
#define HOCKET_OP_DOUBLE_MATH_H

#include "op/elementwise/wide_math.h"

/* x = n ln 2 + r with |r| <= ln 2 / 2; `less` is e^(r + rest) - 1, and `n` is in the low bits of n + 0x1.8p52. */
HKI_EVERYWHERE double hki_exp_reduced_f64(double x, double rest, double *n_shifted)
{
    const double round = 0x1.8p52; /* adding it rounds to an integer in the low bits */
    double shifted = fma(x, 1.4426950408889634, round);
    double n = shifted - round;
    double r = fma(n, -0x1.62e42fefa0000p-1, x);
    r = fma(n, -0x1.cf79abc9e3b3ap-40, r) + rest;
    double z = r * r;
    double even = 2.092454499199138e-09;
    even = fma(even, z, 2.755724245915828e-07);
    even = fma(even, z, 2.4801587360859665e-05);
    even = fma(even, z, 0.0013888888888866722);
    even = fma(even, z, 0.0416666666666667);
    even = fma(even, z, 0.5);
    double odd = 2.5109148703537927e-08;
    odd = fma(odd, z, 2.7557243908374825e-06);
    odd = fma(odd, z, 0.00019841269886403966);
    odd = fma(odd, z, 0.00833333333332153);
    odd = fma(odd, z, 0.16666666666666677);
    *n_shifted = shifted;
    return fma(fma(r, odd, even), z, r);
}

/* 2^n as n + 0x1.8p52 has it, for normal results. */
HKI_EVERYWHERE double hki_power_of_two(uint64_t n)
{
    return hki_double_of_bits((n + 1023) << 52);
}

/* e^(x + rest) is what it gives times `scale`, and neither is too small or large for a normal double. rest: what rounding x lost. */
HKI_EVERYWHERE double hki_exp_parts_f64(double x, double rest, double *scale)
{
    double shifted;
    x = x > 710.0 ? 710.0 : x;
    x = x < -800.0 ? -800.0 : x;
    double less = hki_exp_reduced_f64(x, rest, &shifted);
    /* 2048 keeps n from being negative. */
    uint64_t n = hki_bits_of_double(shifted) - hki_bits_of_double(0x1.8p52) + 2048, half = n >> 1;
    double first = hki_power_of_two(half - 1024);
    *scale = hki_power_of_two(n - half - 1024);
    return fma(first, less, first);
}

HKI_EVERYWHERE double hki_exp_sum_f64(double x, double rest)
{
    double scale, power = hki_exp_parts_f64(x, rest, &scale);
    return power * scale;
}

/* Within 1 ulp. */
HKI_EVERYWHERE double hki_exp_f64(double x)
{
    return hki_exp_sum_f64(x, 0);
}

/* (e^x - lost) / 4 for x >= -40, where lost is 0 or 1: of all x whose e^x / 4 is a double. */
HKI_EVERYWHERE double hki_quarter_exp_less(double x, double lost)
{
    double shifted, less = hki_exp_reduced_f64(x > 710.5 ? 710.5 : x, 0, &shifted);
    double scale = hki_power_of_two(hki_bits_of_double(shifted) - hki_bits_of_double(0x1.8p52) - 2);
    return fma(scale, less, scale - 0.25 * lost);
}

/* Within 2 ulp. A quarter of a number next to 0 may be no double. */
HKI_EVERYWHERE double hki_expm1_f64(double x)
{
    double value = 4 * hki_quarter_exp_less(x < -40.0 ? -40.0 : x, 1);
    return fabs(x) < 0x1p-54 ? x : value;
}

/* Within 3 ulp: with t = e^(2 |x|) - 1, t / (t + 2). From 22 on it is 1. */
HKI_EVERYWHERE double hki_tanh_f64(double x)
{
    double magnitude = fabs(x), within = magnitude > 22.0 ? 22.0 : magnitude;
    double quarter = hki_quarter_exp_less(2 * within, 1);
    double value = quarter / (quarter + 0.5);
    return copysign(magnitude < 0x1p-54 ? magnitude : value, x);
}

/* Within 2 ulp. */
HKI_EVERYWHERE double hki_sinh_f64(double x)
{
    double magnitude = fabs(x), quarter = hki_quarter_exp_less(magnitude, 1);
    double value = 2 * (quarter + quarter / (4 * quarter + 1));
    return copysign(magnitude < 0x1p-54 ? magnitude : value, x);
}
HKI_EVERYWHERE double hki_cosh_f64(double x)
{
    double quarter = hki_quarter_exp_less(fabs(x), 0);
    return 2 * (quarter + 0.0625 / quarter);
}

/* Within 2.5 ulp, of the smallest numbers too. */
HKI_EVERYWHERE double hki_sigmoid_f64(double x)
{
    double power = hki_exp_f64(-fabs(x));
    return (x < 0 ? power : 1) / (1 + power);
}

/* As for floats. Within 6 ulp. */
HKI_EVERYWHERE double hki_sigmoid_slope_f64(double x, double y)
{
    double scale, power = hki_exp_parts_f64(-fabs(x), 0, &scale), larger = x < 0 ? 1 - y : y;
    return fabs(x) < 1 ? y * (1 - y) : larger * larger * power * scale;
}
HKI_EVERYWHERE double hki_tanh_slope_f64(double x, double y)
{
    double scale, power = hki_exp_parts_f64(-2 * fabs(x), 0, &scale), larger = 1 + fabs(y);
    return larger * larger * power * scale;
}

/* Within 3.5 ulp. For negative x the scale comes last, so that x e^x is rounded once next to 0. */
HKI_EVERYWHERE double hki_silu_f64(double x)
{
    double scale, power = hki_exp_parts_f64(-fabs(x), 0, &scale);
    double within = x < -800.0 ? -800.0 : x; /* 800 e^-800 is 0 */
    double above = (x < 0 ? within * power : x) / fma(power, scale, 1.0);
    return x < 0 ? above * scale : above;
}
HKI_EVERYWHERE double hki_silu_slope_f64(double x)
{
    double within = fabs(x) > 750.0 ? 750.0 : fabs(x);
    double power = hki_exp_f64(-within), gate = 1 / (1 + power);
    double below = gate * power * (1 - within * gate); /* at -|x| */
    return x != x ? x : x < 0 ? below : 1 - below;
}

/* ln x = k ln 2 + ln(1 + f), of which it gives ln(1 + f) - f. With s = f / (2 + f), that is s (f^2 / 2 + s^2 P(s^2)) - f^2 / 2. */
HKI_EVERYWHERE double hki_log_parts_f64(double x, double *k, double *f)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd, bias = (uint64_t)1024 << 52;
    double is_tiny = x < 0x1p-1022 ? 54.0 : 0.0;
    double scaled = x < 0x1p-1022 ? x * 0x1p54 : x;
    uint64_t biased = (hki_bits_of_double(scaled) - sqrt_half + bias) >> 52;
    *f = hki_double_of_bits(hki_bits_of_double(scaled) - (biased << 52) + bias) - 1;
    *k = hki_double_of_bits(0x4330000000000000 | biased) - (0x1p52 + 1024) - is_tiny;
    double s = *f / (2 + *f), z = s * s, half_square = 0.5 * *f * *f;
    double p = 0.14868198002897062;
    p = fma(p, z, 0.1530631979629005);
    p = fma(p, z, 0.1818389164786331);
    p = fma(p, z, 0.2222219163960537);
    p = fma(p, z, 0.28571428818542044);
    p = fma(p, z, 0.39999999999014146);
    p = fma(p, z, 0.666666666666681);
    return fma(s, fma(z, p, half_square), -half_square);
}

/* ln x + more, for small `more`. */
HKI_EVERYWHERE double hki_log_sum_f64(double x, double more)
{
    double k, f, low = hki_log_parts_f64(x, &k, &f);
    low += fma(k, 0x1.cf79abc9e3b3ap-40, more);
    return fma(k, 0x1.62e42fefa0000p-1, f + low);
}
/* Within 1 ulp. */
HKI_EVERYWHERE double hki_log_f64(double x)
{
    return hki_wide_log_at(x, hki_log_sum_f64(x, 0));
}

/* Within 2 ulp, and exact for powers of ten that are doubles. */
HKI_EVERYWHERE double hki_log10_f64(double x)
{
    double k, f, low = hki_log_parts_f64(x, &k, &f);
    double below = k * 0x1.fef311f12b358p-46 + (f + low) * 0.43429448190325182765;
    return hki_wide_log_at(x, k * 0x1.34413509f7800p-2 + below);
}

/* Within 1.5 ulp: 1 + x rounded, and what that lost. */
HKI_EVERYWHERE double hki_log1p_positive_f64(double x)
{
    double u = 1 + x;
    return hki_log_sum_f64(u, (x - (u - 1)) / u);
}
HKI_EVERYWHERE double hki_log1p_f64(double x)
{
    return x == 0 ? x : hki_wide_log_at(1 + x, hki_log1p_positive_f64(x));
}

/* Within 2 ulp, and exact for powers of two. */
HKI_EVERYWHERE double hki_log2_f64(double x)
{
    double k, f, low = hki_log_parts_f64(x, &k, &f);
    return hki_wide_log_at(x, k + (f + low) * 1.4426950408889634074);
}

/* Within 2.5 ulp. From 2^60 on ln(2 x), whose square may be no double. */
HKI_EVERYWHERE double hki_asinh_f64(double x)
{
    double magnitude = fabs(x), square = magnitude * magnitude;
    bool is_large = magnitude > 0x1p60;
    double more = magnitude + square / (1 + sqrt(square + 1));
    double value = hki_log1p_f64(is_large ? magnitude : more);
    return copysign(value + (is_large ? 0.69314718055994530942 : 0), x);
}
HKI_EVERYWHERE double hki_acosh_f64(double x)
{
    double above = x - 1;
    bool is_large = x > 0x1p60;
    double more = above + sqrt(above * (above + 2));
    double value = hki_log1p_f64(is_large ? x : more) + (is_large ? 0.69314718055994530942 : 0);
    return x < 1 ? (double)NAN : value;
}

/* Within 2.5 ulp. */
HKI_EVERYWHERE double hki_atanh_f64(double x)
{
    double magnitude = fabs(x), value = hki_log1p_f64(2 * magnitude / (1 - magnitude)) / 2;
    return copysign(magnitude < 0x1p-54 ? magnitude : value, x);
}

/* (1 + 2 z) e^(z^2) erfc(z), z not negative, as a polynomial in t = (z - 3.5) / (z + 3.5), divided by 1 + 2 z. */
HKI_EVERYWHERE double hki_erfc_part_f64(double z)
{
    z = z > 27.3 ? 27.3 : z;
    double t = (z - 3.5) / (z + 3.5), w = t * t;
    double even = 2.720639907410694e-09;
    even = fma(even, w, -8.374729593063858e-09);
    even = fma(even, w, 4.799410967198917e-09);
    even = fma(even, w, -5.4494187212010303e-08);
    even = fma(even, w, 2.333456391069023e-06);
    even = fma(even, w, -4.278389907637282e-05);
    even = fma(even, w, 0.0005643847677284848);
    even = fma(even, w, -0.004215019954180091);
    even = fma(even, w, -0.04882332582425367);
    even = fma(even, w, -0.11508959816034205);
    even = fma(even, w, -0.01055559633221583);
    even = fma(even, w, 1.2423492448711544);
    double odd = 1.1186013800144116e-08;
    odd = fma(odd, w, -9.562872419598195e-08);
    odd = fma(odd, w, 6.038701486349166e-07);
    odd = fma(odd, w, -3.8173470995298984e-06);
    odd = fma(odd, w, 2.4262382801818302e-05);
    odd = fma(odd, w, -0.000121512869268038);
    odd = fma(odd, w, -0.0003022677911340977);
    odd = fma(odd, w, 0.019099330932495398);
    odd = fma(odd, w, 0.08798315382548437);
    odd = fma(odd, w, 0.0975190951532411);
    odd = fma(odd, w, -0.1400091801376193);
    return fma(t, odd, even) / fma(2.0, z, 1.0);
}

/* Within 1.5 ulp. */
HKI_EVERYWHERE double hki_erf_f64(double x)
{
    double z = x * x, w = z * z, magnitude = fabs(x);
    double even = 7.020868191484674e-11;
    even = fma(even, w, 1.4763480909481216e-08);
    even = fma(even, w, 1.6461977361667036e-06);
    even = fma(even, w, 0.0001205533288717826);
    even = fma(even, w, 0.005223977625429251);
    even = fma(even, w, 0.11283791670955123);
    even = fma(even, w, 0.1283791670955126);
    double odd = -1.1871398557837538e-09;
    odd = fma(odd, w, -1.6362873646021511e-07);
    odd = fma(odd, w, -1.492564600982119e-05);
    odd = fma(odd, w, -0.0008548327022070335);
    odd = fma(odd, w, -0.02686617064513053);
    odd = fma(odd, w, -0.37612638903183754);
    double small = fma(magnitude, fma(z, odd, even), magnitude);
    double large = fma(-hki_erfc_part_f64(magnitude), hki_exp_f64(-z), 1.0);
    return copysign(magnitude < 0.8 ? small : large, x);
}

/* e^(factor x^2), with what rounding the exponent loses. */
HKI_EVERYWHERE double hki_bell_f64(double x, double factor)
{
    double within = x > 40.0 ? 40.0 : x < -40.0 ? -40.0 : x;
    double other = factor * within, exponent = other * within;
    return hki_exp_sum_f64(exponent, fma(other, within, -exponent));
}

/* e^(-x^2). Within 2 ulp. */
HKI_EVERYWHERE double hki_gauss_f64(double x)
{
    return hki_bell_f64(x, -1);
}

/* The normal distribution function of -|x|, divided by e^(-x^2 / 2). */
HKI_EVERYWHERE double hki_normal_tail_f64(double x)
{
    return 0.5 * hki_erfc_part_f64(fabs(x) * 0.70710678118654752440);
}

/* Within 6 ulp: up to 5.6 are of hki_erfc_part_f64 next to 0. Another polynomial there would be summed for all x. */
HKI_EVERYWHERE double hki_gelu_f64(double x)
{
    double within = x < -40.0 ? -40.0 : x;
    double tail = within * hki_normal_tail_f64(x) * hki_bell_f64(x, -0.5);
    return x > 40.0 ? x : x > 0 ? x - tail : tail;
}
HKI_EVERYWHERE double hki_gelu_slope_f64(double x)
{
    double bell = hki_bell_f64(x, -0.5), tail = hki_normal_tail_f64(x) * bell;
    double within = x > 40.0 ? 40.0 : x < -40.0 ? -40.0 : x;
    return (x > 0 ? 1 - tail : tail) + within * 0.39894228040143267794 * bell;
}

/* ---- angles below HKI_NEAR_ANGLE; others go to the C library, one by one */

/* Cody and Waite's, with pi / 2 in three parts, of which the first two times n are exact. */
HKI_EVERYWHERE hki_quadrant hki_quadrant_of_f64(double x, double *rest)
{
    const double round = 0x1.8p52;
    double shifted = fma(x, 0.63661977236758134308, round);
    double n = shifted - round;
    double first = x - n * 0x1.921fb54400000p+0, part = n * 0x1.0b4611a600000p-34;
    double high = first - part, last = n * 0x1.3198a2e037073p-69;
    hki_quadrant result;
    result.r = high - last;
    result.number = (uint32_t)hki_bits_of_double(shifted) & 3u;
    *rest = ((high - result.r) - last) + ((first - high) - part);
    return result;
}

/* For |r| <= pi / 4, of r + rest. */
HKI_EVERYWHERE double hki_sin_of_f64(double r, double rest)
{
    double z = r * r;
    double p = 1.5896664199621118e-10;
    p = fma(p, z, -2.505075593015369e-08);
    p = fma(p, z, 2.7557313678527243e-06);
    p = fma(p, z, -0.00019841269829770926);
    p = fma(p, z, 0.00833333333332237);
    p = fma(p, z, -0.16666666666666632);
    return copysign(r + fma(r, z * p, rest), r); /* of 0, too */
}
HKI_EVERYWHERE double hki_cos_of_f64(double r, double rest)
{
    double z = r * r, half = 0.5 * z, near = 1 - half;
    double p = -1.1359552068213042e-11;
    p = fma(p, z, 2.087572148633218e-09);
    p = fma(p, z, -2.7557314339695134e-07);
    p = fma(p, z, 2.4801587289440446e-05);
    p = fma(p, z, -0.0013888888888874062);
    p = fma(p, z, 0.0416666666666666);
    return near + (((1 - near) - half) + fma(z * z, p, -r * rest));
}

/* The sine for added 0, the cosine for 1, within 1 ulp. */
HKI_EVERYWHERE double hki_turned_sin_f64(double x, uint32_t added)
{
    double rest;
    hki_quadrant at = hki_quadrant_of_f64(x, &rest);
    uint64_t number = at.number + added;
    uint64_t mask = (uint64_t)0 - (number & 1), sign = (number & 2) << 62;
    uint64_t cosine = hki_bits_of_double(hki_cos_of_f64(at.r, rest));
    uint64_t sine = hki_bits_of_double(hki_sin_of_f64(at.r, rest));
    return hki_double_of_bits(((cosine & mask) | (sine & ~mask)) ^ sign);
}

/* Within 2.5 ulp. */
HKI_EVERYWHERE double hki_turned_tan_f64(double x)
{
    double rest;
    hki_quadrant at = hki_quadrant_of_f64(x, &rest);
    double sine = hki_sin_of_f64(at.r, rest), cosine = hki_cos_of_f64(at.r, rest);
    double above = hki_double_choice(at.number & 1u, cosine, sine);
    double below = hki_double_choice(at.number & 1u, -sine, cosine);
    return above / below;
}

#define HKI_ANGLE_F64(name, of_near)                                                               \
    HKI_EVERYWHERE double hki_##name##_f64(double x, bool near)                                    \
    {                                                                                              \
        return near || fabs(x) < (double)HKI_NEAR_ANGLE ? of_near : name(x);                       \
    }
HKI_ANGLE_F64(sin, hki_turned_sin_f64(x, 0))
HKI_ANGLE_F64(cos, hki_turned_sin_f64(x, 1))
HKI_ANGLE_F64(tan, hki_turned_tan_f64(x))

/* ---- arcs */

/* The arc sine of s, where z is s^2 <= 1/4. */
HKI_EVERYWHERE double hki_asin_of_f64(double s, double z)
{
    double w = z * z;
    double even = 0.03265682374098728;
    even = fma(even, w, 0.021738374303860716);
    even = fma(even, w, 0.010783441326411462);
    even = fma(even, w, 0.013980883303967085);
    even = fma(even, w, 0.022372215220650065);
    even = fma(even, w, 0.044642857174694094);
    even = fma(even, w, 0.1666666666666676);
    double odd = -0.02104358384912525;
    odd = fma(odd, w, 0.0036939857262799827);
    odd = fma(odd, w, 0.011398367047367006);
    odd = fma(odd, w, 0.0173516072178741);
    odd = fma(odd, w, 0.030381942701242677);
    odd = fma(odd, w, 0.07499999999970805);
    return fma(s, z * fma(z, odd, even), s);
}

/* Within 2.5 ulp. Above 1/2 by twice the arc of the root of (1 - |x|) / 2. */
HKI_EVERYWHERE double hki_asin_f64(double x)
{
    double magnitude = fabs(x);
    bool is_small = magnitude <= 0.5;
    double z = is_small ? x * x : 0.5 * (1 - magnitude);
    double arc = hki_asin_of_f64(is_small ? magnitude : sqrt(z), z);
    double large = 1.5707963267948966192 - (2 * arc - 6.123233995736766e-17);
    return copysign(is_small ? arc : large, x);
}
HKI_EVERYWHERE double hki_acos_f64(double x)
{
    double magnitude = fabs(x);
    bool is_small = magnitude <= 0.5;
    double z = is_small ? x * x : 0.5 * (1 - magnitude);
    double arc = hki_asin_of_f64(is_small ? x : sqrt(z), z);
    double small = 1.5707963267948966192 - (arc - 6.123233995736766e-17);
    double below = 3.1415926535897932385 - (2 * arc - 1.2246467991473532e-16);
    double large = x < 0 ? below : 2 * arc;
    return is_small ? small : large;
}

#endif
