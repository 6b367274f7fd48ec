/* The functions of one float against the C library's in double: bit patterns of all exponents, and special values. */
#include "check.h"
#include "op/kernels/elementwise/scalar_math.h"

#include <stdio.h>

typedef struct function {
    const char *name;
    float (*of_float)(float);
    double (*of_double)(double);
    double ulp; /* the largest error */
} function;

/* The functions are inline: these have addresses. */
/* Not all are measured. */
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
        return hki_##name##_f64(x, false);                                                         \
    }
HKI_SCALAR_FUNCTIONS(WRAPPED, NONE, ANGLE)

#define WITHIN(name, ulp)                                                                          \
    {                                                                                              \
#name, float_##name, double_##name, ulp                                                    \
    }
static const function functions[] = {
    WITHIN(exp, 2),      WITHIN(sin, 1.5),       WITHIN(cos, 1.5),    WITHIN(tan, 0.51),
    WITHIN(log, 1),      WITHIN(asin, 0.51),     WITHIN(acos, 0.51),  WITHIN(atan, 0.51),
    WITHIN(sinh, 0.51),  WITHIN(cosh, 0.51),     WITHIN(asinh, 0.51), WITHIN(acosh, 0.51),
    WITHIN(atanh, 0.51), WITHIN(expm1, 0.51),    WITHIN(log1p, 0.51), WITHIN(log2, 0.51),
    WITHIN(log10, 0.51), WITHIN(erf, 1.5),       WITHIN(gelu, 4),     WITHIN(gelu_tanh, 0.51),
    WITHIN(silu, 6),     WITHIN(softplus, 0.51), WITHIN(mish, 0.51),  WITHIN(ceil, 0),
    WITHIN(floor, 0),    WITHIN(trunc, 0),       WITHIN(rint, 0),
};

/* The distance in units of the expected float's last place. */
static double error_ulp(float value, double expected)
{
    if (isnan(expected) || isnan(value))
        return isnan(expected) && isnan(value) ? 0 : INFINITY;
    const float nearest = (float)expected;
    if (isinf(nearest) || isinf(value)) /* the largest float is one place from infinity */
        return value == nearest ? 0 : fabs((double)value) >= 0x1.fffffep127 ? 1 : INFINITY;
    const double place = ldexp(1, expected == 0 ? -149 : (int)fmax(ilogb(expected) - 23, -149));
    if (value == 0 && expected == 0)
        return !signbit(value) == !signbit(expected) ? 0 : INFINITY;
    return fabs((double)value - expected) / place;
}

static void check_at(const function *f, float x, double *worst, float *where)
{
    const double error = error_ulp(f->of_float(x), f->of_double((double)x));
    if (error > *worst) {
        *worst = error;
        *where = x;
    }
}

static void check_function(const function *f)
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
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        check_at(f, special[i], &worst, &where);
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 10007)
        check_at(f, hki_float_of_bits((uint32_t)bits), &worst, &where);
    if (worst > f->ulp)
        printf("%s(%a): %g ulp\n", f->name, (double)where, worst);
    CHECK(worst <= f->ulp);
}

int main(void)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        check_function(&functions[i]);
    return check_result();
}
