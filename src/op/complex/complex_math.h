/* Functions of complex numbers that <complex.h> lacks, or has with other values at special points. Pure functions. */
#ifndef HOCKET_OP_COMPLEX_MATH_H
#define HOCKET_OP_COMPLEX_MATH_H

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#undef I /* rows call inputs by letters, and words of their own are in use */
#undef complex

/* C11's CMPLX, which clang 14 lacks without its own header: keeps signs of zeros and infinite parts. */
static inline double _Complex hki_complex_make(double real, double imag)
{
    return __builtin_complex(real, imag);
}

/* By parts: a complex division would make NaN of infinite parts. */
static inline double _Complex hki_complex_over(double _Complex z, double divisor)
{
    return hki_complex_make(creal(z) / divisor, cimag(z) / divisor);
}

/* |z|: hypot's work is for what a square does not hold, or loses. */
static inline double hki_complex_abs(double _Complex z)
{
    const double squares = creal(z) * creal(z) + cimag(z) * cimag(z);
    return squares > 0x1p-900 && squares < 0x1p1000 ? sqrt(squares) : hypot(creal(z), cimag(z));
}

/* z / |z|, 0 of 0. Scaled first where |z| is beyond the largest number, or as good as 0. */
static inline double _Complex hki_complex_sign(double _Complex z)
{
    double size = hki_complex_abs(z);
    if (size == 0)
        return 0;
    if ((isinf(size) && isfinite(creal(z)) && isfinite(cimag(z))) || size < 0x1p-1000) {
        z = hki_complex_over(z, isinf(size) ? 4 : 0x1p-100);
        size = hki_complex_abs(z);
    }
    return hki_complex_over(z, size);
}

/* e^z - 1 = (e^x - 1) cos y - 2 sin^2(y / 2) + i e^x sin y, without cancellation near 0. */
static inline double _Complex hki_complex_expm1(double _Complex z)
{
    const double x = creal(z), y = cimag(z), half = sin(y / 2);
    const double _Complex e = cexp(z);
    if (y == 0)
        return hki_complex_make(expm1(x), y);
    if (!isfinite(creal(e)) || !isfinite(cimag(e)) || !isfinite(x) || !isfinite(y))
        return hki_complex_make(creal(e) - 1, cimag(e));
    return hki_complex_make(expm1(x) * cos(y) - 2 * half * half, cimag(e));
}

/* ln(1 + z): near 0 |1 + z|^2 - 1 is x (2 + x) + y^2. */
static inline double _Complex hki_complex_log1p(double _Complex z)
{
    const double x = creal(z), y = cimag(z);
    if (!(fabs(x) < 0.5 && fabs(y) < 0.5))
        return clog(hki_complex_make(1 + x, y));
    return hki_complex_make(0.5 * log1p(x * (2 + x) + y * y), atan2(y, 1 + x));
}

/* A part of a quotient; of 0 with the sign that the formula's numerator has. */
static inline double hki_quotient_part(double part, double numerator)
{
    return part == 0 && !isnan(numerator) ? copysign(0, numerator) : part;
}

/* a / b. Zeros get the signs of (ac + bd + (bc - ad) i) / (c^2 + d^2), which compilers' scaled forms of it lose. */
static inline double _Complex hki_complex_divide(double _Complex a, double _Complex b)
{
    const double _Complex quotient = a / b;
    if ((creal(quotient) != 0 && cimag(quotient) != 0) || b == 0)
        return quotient;
    if (!isfinite(creal(a)) || !isfinite(cimag(a)) || !isfinite(creal(b)) || !isfinite(cimag(b)))
        return quotient;
    return hki_complex_make(
        hki_quotient_part(creal(quotient), creal(a) * creal(b) + cimag(a) * cimag(b)),
        hki_quotient_part(cimag(quotient), cimag(a) * creal(b) - creal(a) * cimag(b)));
}

/* Whole powers by squaring, which is exact where products are; not of 0. Begins with a itself: a product with 1 + 0i would
 * change zeros and infinite parts. */
static inline double _Complex hki_complex_whole_power(double _Complex a, int exponent)
{
    int left = abs(exponent);
    for (; !(left & 1); left >>= 1)
        a *= a;
    double _Complex power = a;
    while (left >>= 1) {
        a *= a;
        if (left & 1)
            power *= a;
    }
    return exponent < 0 ? hki_complex_divide(1, power) : power;
}

/* a^b; 1 where b is 0. 0 to a power with a positive real part is 0, to others NaN. */
static inline double _Complex hki_complex_power(double _Complex a, double _Complex b)
{
    const double exponent = creal(b);
    if (b == 0)
        return 1;
    if (a == 0)
        return exponent > 0 ? hki_complex_make(0, 0) : hki_complex_make(NAN, NAN);
    if (cimag(b) == 0 && fabs(exponent) <= 64 && exponent == trunc(exponent))
        return hki_complex_whole_power(a, (int)exponent);
    return cpow(a, b);
}

#endif
