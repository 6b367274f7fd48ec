/* The elementary functions of one float or double against the C library's in long double: bit patterns of all exponents, numbers
 * where functions bend, and special values.
 *
 *     scalar_math_test [NAME...]      of these functions every float, which takes a quarter of an hour each; "all" names all */
#include "check.h"
#include "op/elementwise/scalar_math.h"

#include <stdio.h>
#include <string.h>

typedef struct function {
    const char *name;
    float (*of_float)(float);
    double (*of_double)(double);
    long double (*reference)(long double);
    double ulp_float, ulp_double; /* the largest errors */
} function;

/* The functions are inline: these have addresses. Not all are measured. */
#define HKI_UNUSED __attribute__((unused))
#define WRAPPED(name)                                                                              \
    HKI_UNUSED static float float_##name(float x)                                                  \
    {                                                                                              \
        return hki_##name##_f32(x);                                                                \
    }                                                                                              \
    HKI_UNUSED static double double_##name(double x)                                               \
    {                                                                                              \
        return hki_##name##_f64(x);                                                                \
    }
#define NONE(name)
/* Each angle by itself, and as one that is known to be near where it is: the same. */
#define ANGLE(name)                                                                                \
    static float float_##name(float x)                                                             \
    {                                                                                              \
        const float value = hki_##name##_f32(x, false);                                            \
        if (fabsf(x) < HKI_NEAR_ANGLE)                                                             \
            CHECK(hki_bits_of_float(value) == hki_bits_of_float(hki_##name##_f32(x, true)));       \
        return value;                                                                              \
    }                                                                                              \
    static double double_##name(double x)                                                          \
    {                                                                                              \
        const double value = hki_##name##_f64(x, false);                                           \
        if (fabs(x) < (double)HKI_NEAR_ANGLE)                                                      \
            CHECK(hki_bits_of_double(value) == hki_bits_of_double(hki_##name##_f64(x, true)));     \
        return value;                                                                              \
    }
HKI_SCALAR_FUNCTIONS(WRAPPED, NONE, ANGLE)

/* ---- references that the C library lacks */

static long double logisticl(long double x)
{
    return 1 / (1 + expl(-x));
}
/* x times what is 0 for the lowest x. */
static long double gatedl(long double x, long double gate)
{
    return isinf(x) && x < 0 ? -0.0L : x * gate;
}
static long double gelul(long double x)
{
    return gatedl(x, erfcl(x * -0.70710678118654752440084L) / 2);
}
static long double gelu_tanhl(long double x)
{
    return gatedl(x, logisticl(1.5957691216057307117597843L * (x + 0.044715L * x * x * x)));
}
static long double silul(long double x)
{
    return gatedl(x, logisticl(x));
}
static long double softplusl(long double x)
{
    return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x)));
}
static long double mishl(long double x)
{
    return gatedl(x, tanhl(softplusl(x)));
}

static long double sigmoid_slopel(long double x)
{
    const long double power = expl(-fabsl(x));
    return power / ((1 + power) * (1 + power));
}
static long double tanh_slopel(long double x)
{
    return 4 * sigmoid_slopel(2 * x);
}
static long double gaussl(long double x)
{
    return expl(-x * x);
}

/* Slopes, by the value that is computed. */
#define SLOPE_OF(name)                                                                             \
    static float float_##name##_slope(float x)                                                     \
    {                                                                                              \
        return hki_##name##_slope_f32(x, hki_##name##_f32(x));                                     \
    }                                                                                              \
    static double double_##name##_slope(double x)                                                  \
    {                                                                                              \
        return hki_##name##_slope_f64(x, hki_##name##_f64(x));                                     \
    }
SLOPE_OF(sigmoid)
SLOPE_OF(tanh)

/* Of what is not above 0. */
static float float_falling(float x)
{
    return hki_exp_falling_f32(x > 0 ? -x : x);
}
static double double_falling(double x)
{
    return hki_exp_f64(x > 0 ? -x : x);
}
static long double fallingl(long double x)
{
    return expl(-fabsl(x));
}

#define WITHIN(name, of_float, of_double) OF(name, name##l, of_float, of_double)
#define OF(name, reference, of_float, of_double)                                                   \
    {                                                                                              \
#name, float_##name, double_##name, reference, of_float, of_double                         \
    }
static const function functions[] = {
    WITHIN(exp, 2, 1),
    WITHIN(falling, 2, 1),
    WITHIN(sin, 1.5, 1),
    WITHIN(cos, 1.5, 1),
    WITHIN(tan, 0.51, 2.5),
    WITHIN(log, 1, 1),
    WITHIN(asin, 0.51, 2.5),
    WITHIN(acos, 0.51, 2.5),
    WITHIN(atan, 0.51, 1),
    WITHIN(sinh, 0.51, 2.5),
    WITHIN(cosh, 0.51, 2.5),
    WITHIN(asinh, 0.51, 2.5),
    WITHIN(acosh, 0.51, 2.5),
    WITHIN(atanh, 0.51, 2.5),
    WITHIN(expm1, 0.51, 2),
    WITHIN(log1p, 0.51, 1.5),
    WITHIN(log2, 0.51, 2),
    WITHIN(log10, 0.51, 2),
    WITHIN(erf, 1.5, 1.5),
    WITHIN(tanh, 3, 3),
    WITHIN(gelu, 4, 6),
    WITHIN(silu, 6, 3.5),
    WITHIN(softplus, 0.51, 2),
    WITHIN(ceil, 0, 0),
    WITHIN(floor, 0, 0),
    WITHIN(trunc, 0, 0),
    WITHIN(rint, 0, 0),
    OF(sigmoid, logisticl, INFINITY, 2.5), /* of floats no number below 0x1p-128 */
    WITHIN(sigmoid_slope, 6, 5),
    WITHIN(tanh_slope, 6, 5),
    WITHIN(gauss, 3, 2),
    WITHIN(mish, 0.51, 4.5),
    WITHIN(gelu_tanh, 0.51, 2500), /* a power of e whose exponent is rounded, up to 745 */
};

/* The distance of a number with `digits` bits from the expected one in units of the last place of that; `value` is rounded to such a number already. */
static double error_ulp(long double value, long double expected, long double nearest, int digits,
                        int least, long double largest)
{
    if (isnan(expected) || isnan(value))
        return isnan(expected) && isnan(value) ? 0 : INFINITY;
    if (isinf(nearest) || isinf(value)) /* the largest number is one place from infinity */
        return value == nearest                                       ? 0
               : fabsl(value) >= largest && fabsl(nearest) >= largest ? 1
                                                                      : INFINITY;
    const int exponent = expected == 0 ? least : ilogbl(expected) - digits + 1;
    if (value == 0 && expected == 0)
        return !signbit(value) == !signbit(expected) ? 0 : INFINITY;
    return (double)(fabsl(value - expected) / ldexpl(1, exponent > least ? exponent : least));
}

typedef struct worst_error {
    double ulp, where;
} worst_error;

static void check_float_at(const function *f, float x, worst_error *worst)
{
    const long double expected = f->reference(x);
    const double error =
        error_ulp(f->of_float(x), expected, (float)expected, 24, -149, 0x1.fffffep127L);
    if (error > worst->ulp)
        *worst = (worst_error){error, (double)x};
}

static void check_double_at(const function *f, double x, worst_error *worst)
{
    const long double expected = f->reference(x);
    const double error =
        error_ulp(f->of_double(x), expected, (double)expected, 53, -1074, 0x1.fffffffffffffp1023L);
    if (error > worst->ulp)
        *worst = (worst_error){error, x};
}

static void check_worst(const char *name, const char *type, worst_error worst, double ulp)
{
    if (!(worst.ulp <= ulp))
        printf("%s(%s %a): %g ulp, not %g\n", name, type, worst.where, worst.ulp, ulp);
    CHECK(worst.ulp <= ulp);
}

static uint64_t float_step = 10007; /* of the bits */

static worst_error check_floats(const function *f)
{
    static const float special[] = {0.0f,
                                    -0.0f,
                                    1,
                                    -1,
                                    2,
                                    -2,
                                    0.5f,
                                    -0.5f,
                                    10,
                                    1000,
                                    0x1p-149f,
                                    0x1p-126f,
                                    0x1.fffffep127f,
                                    -0x1.fffffep127f,
                                    INFINITY,
                                    -INFINITY,
                                    NAN,
                                    88.722839f,
                                    89.415985f,
                                    -103.97208f,
                                    0x1.921fb6p0f,
                                    0x1.921fb6p1f,
                                    0x1p19f,
                                    0x1.6ac5bp89f,
                                    16367173 * 0x1p72f /* next to a multiple of pi / 2 */};
    worst_error worst = {0, 0};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        check_float_at(f, special[i], &worst);
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += float_step)
        check_float_at(f, hki_float_of_bits((uint32_t)bits), &worst);
    check_worst(f->name, "float", worst, f->ulp_float);
    return worst;
}

static void check_doubles(const function *f)
{
    static const double special[] = {0.0,
                                     -0.0,
                                     0.5,
                                     1,
                                     2,
                                     10,
                                     0x1.fffffffffffffp-1,
                                     0x1.0000000000001p0,
                                     0x1p-54,
                                     0x1.8p-53,
                                     0x1p-1074,
                                     0x1.8p-1073,
                                     0x1.fffffffffffffp-1023,
                                     0x1p-1022,
                                     0x1.fffffffffffffp1023,
                                     (double)INFINITY,
                                     (double)NAN,
                                     0.8,
                                     0.41421356237309503,
                                     0.70710678118654746,
                                     22,
                                     27.3,
                                     38.6,
                                     40,
                                     708.4,
                                     709.78271289338397,
                                     709.78271289338409,
                                     710.4758600739439,
                                     710.47586007394398,
                                     720,
                                     745.13321910194111,
                                     745.14,
                                     746,
                                     0x1.921fb54442d18p0,
                                     0x1.921fb54442d18p1,
                                     0x1.921fb54442d18p18,
                                     0x1.fffffffffffffp18,
                                     0x1p19,
                                     0x1p52,
                                     0x1p53,
                                     1e300};
    worst_error worst = {0, 0};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        check_double_at(f, special[i], &worst);
        check_double_at(f, -special[i], &worst);
    }
    /* Of all exponents, and where functions have values of their own: an odd step goes through all bits. */
    uint64_t bits = 0;
    for (int i = 0; i < 60000; i++, bits += 0x9e3779b97f4a7c15) {
        const double unit = (double)(bits >> 11) * 0x1p-53;
        check_double_at(f, hki_double_of_bits(bits), &worst);
        check_double_at(f, unit * 2 - 1, &worst);
        check_double_at(f, unit * 10 - 5, &worst);
        check_double_at(f, unit * 80 - 40, &worst);
        check_double_at(f, unit * 1500 - 750, &worst);
        check_double_at(f, unit * 0x1p20 - 0x1p19, &worst);
        check_double_at(f, 1 + (unit - 0.5) * 0x1p-20, &worst);
        check_double_at(f, rint(unit * 0x1p18) * 1.5707963267948966, &worst);
    }
    check_worst(f->name, "double", worst, f->ulp_double);
}

/* What is bounded stays so, and comes to its bound where it is to round to it; powers of ten have whole logarithms. */
static void check_limits(void)
{
    uint64_t bits = 0;
    for (int i = 0; i < 300000; i++, bits += 0x9e3779b97f4a7c15) {
        const double unit = (double)(bits >> 11) * 0x1p-53, x = unit * 60;
        CHECK(hki_tanh_f64(x) <= 1 && hki_tanh_f64(-x) == -hki_tanh_f64(x));
        CHECK(x < 19.1 || hki_tanh_f64(x) == 1);
        CHECK(hki_erf_f64(x) <= 1 && hki_erf_f64(-x) == -hki_erf_f64(x));
        CHECK(x < 6 || hki_erf_f64(x) == 1);
        CHECK(hki_sigmoid_f64(x) <= 1 && hki_sigmoid_f64(-x) >= 0);
        CHECK(x < 37 || hki_sigmoid_f64(x) == 1);
        CHECK(x < 39 || (hki_gelu_f64(x) == x && hki_gelu_f64(-x) == 0));
        CHECK(fabs(hki_sin_f64(x * 1e4, false)) <= 1 && fabs(hki_cos_f64(x * 1e4, false)) <= 1);
        CHECK(hki_expm1_f64(-x) >= -1 && hki_softplus_f64(-x) >= 0);
    }
    for (int power = 0; power <= 22; power++)
        CHECK(hki_log10_f64(pow(10, power)) == power);
    for (int power = -1074; power < 1024; power++)
        CHECK(hki_log2_f64(ldexp(1, power)) == power);
    CHECK(hki_exp_f64(0) == 1 && hki_exp_f64(-0.0) == 1 && hki_cosh_f64(0) == 1);
}

/* Powers that have loops of their own: what pow gives of special values, too. */
static long double power_of_test;
static float float_power(float x)
{
    return hki_pow_number_f32(x, (float)power_of_test);
}
static double double_power(double x)
{
    return hki_pow_number_f64(x, (double)power_of_test);
}
static long double powerl(long double x)
{
    return powl(x, power_of_test);
}
static void check_powers(void)
{
    static const function power = {"pow", float_power, double_power, powerl, 1.5, 1.5};
    static const double powers[] = {1, 2, -1, 0.5};
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++) {
        power_of_test = powers[i];
        check_floats(&power);
        check_doubles(&power);
    }
}

static int check_every_float(char **names)
{
    float_step = 1;
    for (; *names; names++) {
        bool is_known = !strcmp(*names, "all");
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
            if (strcmp(*names, "all") && strcmp(*names, functions[i].name))
                continue;
            is_known = true;
            const worst_error worst = check_floats(&functions[i]);
            printf("%s: %g ulp at most, at %a\n", functions[i].name, worst.ulp, worst.where);
            fflush(stdout);
        }
        if (!is_known)
            printf("no function is called %s\n", *names);
        CHECK(is_known);
    }
    return check_result();
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return check_every_float(argv + 1);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        check_floats(&functions[i]);
        check_doubles(&functions[i]);
    }
    check_limits();
    check_powers();
    return check_result();
}
