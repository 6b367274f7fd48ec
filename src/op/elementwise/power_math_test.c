/* Powers of floats against the C library's in long double; special values are its powf's. */
#include "check.h"
#include "op/elementwise/power_math.h"

#include <stdio.h>

static float power(float x, float y)
{
    return hki_power_of_size_f32(x, y, hki_power_size_f32(x, y));
}

static bool is_same(float a, float b)
{
    return (a != a && b != b) || hki_bits_of_float(a) == hki_bits_of_float(b);
}

/* Units of the last place between x^y and what it is; 0 where that is no normal number, which must come within one. */
static double error_at(float x, float y)
{
    const long double exact = powl(x, y);
    const float value = power(x, y), nearest = (float)exact;
    if (!(fabsl(exact) >= 0x1p-126L && fabsl(exact) < 0x1.fffffep127L)) {
        const bool is_near = is_same(value, nearest) || fabsf(value - nearest) <= 0x1p-149f ||
                             (fabsl(exact) < 0x1.00001p128L && fabsl(exact) > 0x1.fffffp127L);
        if (!is_near)
            printf("%a ^ %a: %a, but is %a\n", (double)x, (double)y, (double)value,
                   (double)nearest);
        CHECK(is_near);
        return 0;
    }
    int exponent;
    frexpl(exact, &exponent);
    return (double)(fabsl(value - exact) / ldexpl(1, exponent - 24));
}

static void check_errors(void)
{
    uint64_t bits = 0;
    double worst = 0;
    for (int i = 0; i < 400000; i++, bits += 0x9e3779b97f4a7c15) {
        const double unit = (double)(bits << 20 >> 11) * 0x1p-53;
        const float x = hki_float_of_bits((uint32_t)(bits >> 33)), near = (float)(0.5 + unit);
        const float all = (float)((unit - 0.5) * 310 / log2((double)x));
        worst = fmax(worst, error_at(x, all)); /* results of all sizes */
        worst = fmax(worst, error_at(near, (float)(unit * 1e4 - 5e3)));
        worst = fmax(worst, error_at(-near, (float)(i % 301 - 150)));
        worst = fmax(worst, error_at(x, hki_float_of_bits((uint32_t)(bits >> 17))));
    }
    printf("powers: %.3f units of the last place\n", worst);
    CHECK(worst < 0.55);
}

static void check_specials(void)
{
    const float magnitudes[] = {0,
                                1,
                                2,
                                3,
                                0.5f,
                                2.5f,
                                0x1p-149f,
                                0x1p-126f,
                                4194303.5f,
                                8388607.5f,
                                8388609,
                                0x1p24f,
                                0x1p24f - 1,
                                0x1.fffffep127f,
                                0x1.fffffep-1f,
                                0x1.000002p0f,
                                1e10f,
                                INFINITY,
                                NAN};
    enum { COUNT = sizeof magnitudes / sizeof *magnitudes };
    for (int i = 0; i < 4 * COUNT * COUNT; i++) {
        const float x = copysignf(magnitudes[i / 4 % COUNT], i & 1 ? -1 : 1);
        const float y = copysignf(magnitudes[i / 4 / COUNT], i & 2 ? -1 : 1);
        const float value = power(x, y), expected = powf(x, y);
        const bool is_right =
            is_same(value, expected) || (expected != 0 && fabsf(value / expected - 1) <= 0x1p-23f);
        if (!is_right)
            printf("%a ^ %a: %a, but is %a\n", (double)x, (double)y, (double)value,
                   (double)expected);
        CHECK(is_right);
    }
    for (int i = -148; i < 128; i++)
        CHECK(power(2, (float)i) == ldexpf(1, i) && power(ldexpf(1, i), 1) == ldexpf(1, i));
}

int main(void)
{
    check_errors();
    check_specials();
    return check_result();
}
