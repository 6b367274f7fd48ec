/* Complex numbers: what the conformance test, whose imaginary parts are 0, does not see. */
#include "tests/check.h"

#include "op/complex/complex_fixture.h"

/* ---- values ---------------------------------------------------------------------------------------------- */

enum { COUNT = 12 };

static number as_is(number z)
{
    return z;
}
static hk_array *same(hk_array *x)
{
    return x;
}
#define CALL(name)                                                                                 \
    static hk_array *call_##name(hk_array *x)                                                      \
    {                                                                                              \
        return hk_##name(x);                                                                       \
    }
#define PLAIN(name, expression)                                                                    \
    static number plain_##name(number z)                                                           \
    {                                                                                              \
        return expression;                                                                         \
    }
#define EACH_FUNCTION(X)                                                                           \
    X(negative, 0 - z)                                                                             \
    X(conj, creal(z) - i * cimag(z))                                                               \
    X(square, z *z)                                                                                \
    X(reciprocal, (creal(z) - i * cimag(z)) / (creal(z) * creal(z) + cimag(z) * cimag(z)))         \
    X(round, rint(creal(z)) + i * rint(cimag(z)))                                                  \
    X(sign, z / sqrt(creal(z) * creal(z) + cimag(z) * cimag(z)))                                   \
    X(sqrt, cpow(z, 0.5))                                                                          \
    X(exp, exp(creal(z)) * (cos(cimag(z)) + i * sin(cimag(z))))                                    \
    X(expm1, cexp(z) - 1)                                                                          \
    X(log, log(cabs(z)) + i * atan2(cimag(z), creal(z)))                                           \
    X(log1p, clog(1 + z))                                                                          \
    X(log2, clog(z) / log(2))                                                                      \
    X(log10, clog(z) / log(10))                                                                    \
    X(sin, (cexp(i * z) - cexp(-i * z)) / (2 * i))                                                 \
    X(cos, (cexp(i * z) + cexp(-i * z)) / 2)                                                       \
    X(tan, csin(z) / ccos(z))                                                                      \
    X(asin, -i *clog(i *z + csqrt(1 - z * z)))                                                     \
    X(acos, M_PI / 2 - casin(z))                                                                   \
    X(atan, (clog(1 + i * z) - clog(1 - i * z)) / (2 * i))                                         \
    X(sinh, (cexp(z) - cexp(-z)) / 2)                                                              \
    X(cosh, (cexp(z) + cexp(-z)) / 2)                                                              \
    X(tanh, csinh(z) / ccosh(z))                                                                   \
    X(asinh, clog(z + csqrt(z * z + 1)))                                                           \
    X(acosh, clog(z + csqrt(z + 1) * csqrt(z - 1)))                                                \
    X(atanh, (clog(1 + z) - clog(1 - z)) / 2)                                                      \
    X(abs, sqrt(creal(z) * creal(z) + cimag(z) * cimag(z)))                                        \
    X(real, creal(z))                                                                              \
    X(imag, cimag(z))                                                                              \
    X(angle, atan2(cimag(z), creal(z)))                                                            \
    X(isnan, 0 * creal(z))                                                                         \
    X(isfinite, 1 + 0 * creal(z))                                                                  \
    X(logical_not, z == 0)
#define CALL_AND_PLAIN(name, expression) CALL(name) PLAIN(name, expression)
EACH_FUNCTION(CALL_AND_PLAIN)

typedef struct function {
    const char *name;
    hk_array *(*call)(hk_array *x);
    number (*plain)(number z);
} function;
#define FUNCTION(name, expression) {#name, call_##name, plain_##name},
static const function functions[] = {{"itself", same, as_is}, EACH_FUNCTION(FUNCTION)};

/* Dense, and every other element of a longer array; of both dtypes. */
static void test_functions(void)
{
    number values[2 * COUNT], apart[COUNT], expected[COUNT];
    draw(values, 2 * COUNT, 1);
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (int form = 0; form < 4; form++) {
            HK_SCOPE;
            const int step = 1 + form / 2;
            const hk_dtype dtype = form % 2 ? HK_C64 : HK_C128;
            hk_array *x = hk_cast(array(values, hk_shape(COUNT, 2), HK_C128), dtype);
            x = step == 1 ? hk_reshape(hk_slice(x, 0, 0, COUNT / 2), hk_shape(COUNT))
                          : hk_index(x, 1, 0);
            CHECK(hk_ok(hk_to_host(hk_cast(x, HK_C128), apart, sizeof apart)));
            for (int j = 0; j < COUNT; j++)
                expected[j] = functions[f].plain(apart[j]);
            if (!has(functions[f].call(x), expected, COUNT, dtype == HK_C64 ? 1e-6 : 1e-13)) {
                fprintf(stderr, "%s of %s\n", functions[f].name, hk_dtype_name(dtype));
                CHECK(false);
            }
        }
}

/* One of both broadcast, and real, with its dtype promoted. */
static void test_pairs(void)
{
    HK_SCOPE;
    const double real[3] = {-2, 0.5, 3};
    number z[6], expected[4][6];
    draw(z, 6, 2);
    hk_array *x = array(z, hk_shape(2, 3), HK_C128), *y = array(real, hk_shape(3), HK_F64);
    for (int j = 0; j < 6; j++) {
        expected[0][j] = z[j] + real[j % 3];
        expected[1][j] = real[j % 3] - z[j];
        expected[2][j] = z[j] * real[j % 3];
        expected[3][j] = real[j % 3] / z[j];
    }
    CHECK(has(hk_add(x, y), expected[0], 6, 1e-14));
    CHECK(has(hk_subtract(y, x), expected[1], 6, 1e-14));
    CHECK(has(hk_multiply(x, y), expected[2], 6, 1e-14));
    CHECK(has(hk_divide(y, x), expected[3], 6, 1e-14));
    for (int j = 0; j < 6; j++) {
        expected[0][j] = cexp(z[j] * clog(z[0]));
        expected[1][j] = z[j] * z[j] * z[j];
    }
    CHECK(has(hk_power(hk_index(hk_index(x, 0, 0), 0, 0), x), expected[0], 6, 1e-13));
    CHECK(has(hk_power(x, 3), expected[1], 6, 1e-13));
    hk_array *narrow = hk_cast(x, HK_C64);
    CHECK(hk_array_dtype(hk_add(narrow, hk_cast(y, HK_F32))) == HK_C64);
    CHECK(hk_array_dtype(hk_add(narrow, hk_cast(y, HK_BF16))) == HK_C64);
    CHECK(hk_array_dtype(hk_add(narrow, y)) == HK_C128);
    CHECK(is_refused(hk_add(x, hk_cast(y, HK_I32)), "no dtype of one kind holds both"));
    CHECK(has(hk_complex_of(hk_real(x), hk_imag(x)), z, 6, 0));
    CHECK(has(hk_conj(y), (const number[]){-2, 0.5, 3}, 3, 0));
    CHECK(has(hk_imag(y), (const number[]){0, 0, 0}, 3, 0));
    CHECK(has(hk_angle(y), (const number[]){M_PI, 0, 0}, 3, 1e-15));
}

/* What C's Annex G and the array API standard say of values that are not finite, and of zeros. */
static void test_special(void)
{
    HK_SCOPE;
    const double inf = INFINITY, nan = NAN;
    const double z[][2] = {{inf, nan}, {nan, -inf}, {0, nan}, {1, inf}, {2, 3}};
    hk_array *x = array(z, hk_shape(5), HK_C128);
    CHECK(has(hk_isinf(x), (const number[]){1, 1, 0, 1, 0}, 5, 0));
    CHECK(has(hk_isnan(x), (const number[]){1, 1, 1, 0, 0}, 5, 0));
    CHECK(has(hk_isfinite(x), (const number[]){0, 0, 0, 0, 1}, 5, 0));
    CHECK(isinf(hk_item(hk_abs(hk_index(x, 0, 0)), NULL)));
    hk_complex product = hk_item_complex(hk_multiply(hk_index(x, 0, 3), hk_index(x, 0, 4)), NULL);
    CHECK(isinf(product.real) && isinf(product.imag));
    /* On the cut of the square root the sign of a zero says which side is meant. */
    hk_complex root =
        hk_item_complex(hk_sqrt(hk_scalar(hk_complex_number(-4, -0.0), HK_C64, device)), NULL);
    CHECK(root.real == 0 && root.imag == -2);
    hk_array *zero = hk_scalar(hk_complex_number(0, 0), HK_C128, device);
    CHECK(has(hk_power(zero, zero), (const number[]){1}, 1, 0));
    CHECK(has(hk_power(zero, 2), (const number[]){0}, 1, 0));
    CHECK(has(hk_sign(zero), (const number[]){0}, 1, 0));
    hk_array *large = hk_scalar(hk_complex_number(1.5e308, 1.5e308), HK_C128, device);
    CHECK(has(hk_sign(large), (const number[]){sqrt(0.5) + i * sqrt(0.5)}, 1, 1e-15));
    hk_array *small = hk_scalar(hk_complex_number(1e-18, 1e-18), HK_C128, device);
    CHECK(has(hk_multiply(hk_expm1(small), 1e18), (const number[]){1 + i}, 1, 1e-15));
    CHECK(has(hk_multiply(hk_log1p(small), 1e18), (const number[]){1 + i}, 1, 1e-15));
}

static bool is_exactly(hk_array *x, double real, double imag)
{
    const hk_complex value = hk_item_complex(x, NULL);
    return value.real == real && value.imag == imag && signbit(value.real) == signbit(real) &&
           signbit(value.imag) == signbit(imag);
}

/* Signs of zeros of quotients and whole powers, as the textbook's formulas give them. */
static void test_zeros(void)
{
    HK_SCOPE;
    const double z[][2] = {{1, 0}, {0, -2}, {-2, -0.0}, {-2, 0}, {0.0, 1}, {-0.0, -1.5}};
    hk_array *x = array(z, hk_shape(6), HK_C128), *at[6];
    for (int j = 0; j < 6; j++)
        at[j] = hk_index(x, 0, j);
    CHECK(is_exactly(hk_divide(at[0], at[1]), 0, 0.5));
    CHECK(is_exactly(hk_divide(at[0], at[2]), -0.5, 0));
    CHECK(is_exactly(hk_divide(at[4], at[3]), 0.0, -0.5));
    CHECK(is_exactly(hk_reciprocal(hk_cast(at[2], HK_C64)), -0.5, 0));
    CHECK(is_exactly(hk_power(at[5], 1), -0.0, -1.5));
    CHECK(is_exactly(hk_power(at[1], 2), -4, -0.0) && is_exactly(hk_power(at[1], -1), 0, 0.5));
    CHECK(isinf(hk_item_complex(hk_divide(at[0], hk_multiply(at[0], 0)), NULL).real));
}

static void test_comparisons(void)
{
    HK_SCOPE;
    const number a[] = {1 + i, 1 - i, 0, 2}, b[] = {1 + i, 1 + i, 0, 3};
    const uint8_t condition[] = {1, 0, 0, 1};
    hk_array *x = array(a, hk_shape(4), HK_C128), *y = array(b, hk_shape(4), HK_C128);
    CHECK(has(hk_equal(x, y), (const number[]){1, 0, 1, 0}, 4, 0));
    CHECK(has(hk_not_equal(x, y), (const number[]){0, 1, 0, 1}, 4, 0));
    CHECK(has(hk_where(array(condition, hk_shape(4), HK_BOOL), x, y),
              (const number[]){1 + i, 1 + i, 0, 2}, 4, 0));
    CHECK(has(hk_cast(array((const number[]){0, i, 1}, hk_shape(3), HK_C128), HK_BOOL),
              (const number[]){0, 1, 1}, 3, 0));
}

/* ---- sums and products ---------------------------------------------------------------------------------------- */

static void test_sums(void)
{
    HK_SCOPE;
    number z[24], sum = 0, product = 1, columns[4] = {0}, so_far[4];
    draw(z, 24, 3);
    hk_array *x = array(z, hk_shape(2, 3, 4), HK_C128);
    for (int j = 0; j < 24; j++) {
        sum += z[j];
        product *= z[j];
        columns[j % 4] += z[j];
    }
    const number mean = sum / 24;
    CHECK(has(hk_sum(x, NULL), &sum, 1, 1e-14));
    CHECK(has(hk_mean(x, NULL), &mean, 1, 1e-14));
    CHECK(has(hk_prod(x, NULL), &product, 1, 1e-13));
    const hk_sum_options rows = {.axes = {.ndim = 2, .dims = {0, 1}}};
    CHECK(has(hk_sum(x, &rows), columns, 4, 1e-14));
    const hk_prod_options first = {.axes = {.ndim = 1, .dims = {0}}, .keepdims = true};
    CHECK(hk_ndim(hk_prod(x, &first)) == 3);
    CHECK(has(hk_index(hk_index(hk_index(hk_prod(x, &first), 0, 0), 0, 1), 0, 2),
              (const number[]){z[6] * z[18]}, 1, 1e-14));
    CHECK(has(hk_prod(hk_slice(x, 0, 0, 0), NULL), (const number[]){1}, 1, 0));
    so_far[0] = z[0];
    for (int j = 1; j < 4; j++)
        so_far[j] = so_far[j - 1] + z[j];
    hk_array *line = hk_index(hk_index(x, 0, 0), 0, 0);
    CHECK(has(hk_cumulative_sum(line, 0), so_far, 4, 1e-14));
    hk_array *few = array((const number[]){0, i, 0, 1}, hk_shape(4), HK_C128);
    CHECK_EQ_I64(hk_item(hk_count_nonzero(few, NULL), NULL), 2);
    CHECK_EQ_I64(hk_item(hk_any(few, NULL), NULL), 1);
    CHECK_EQ_I64(hk_item(hk_all(few, NULL), NULL), 0);
}

static void test_products(void)
{
    HK_SCOPE;
    number a[6], b[6], expected[4] = {0}, dot = 0;
    draw(a, 6, 4);
    draw(b, 6, 5);
    for (int j = 0; j < 12; j++)
        expected[j / 6 * 2 + j % 2] += a[j / 6 * 3 + j / 2 % 3] * b[j / 2 % 3 * 2 + j % 2];
    for (int j = 0; j < 6; j++)
        dot += conj(a[j]) * b[j];
    hk_array *x = array(a, hk_shape(2, 3), HK_C128), *y = array(b, hk_shape(3, 2), HK_C128);
    CHECK(has(hk_matmul(x, y), expected, 4, 1e-14));
    CHECK(has(hk_matmul(hk_cast(x, HK_C64), y), expected, 4, 1e-6));
    CHECK(has(hk_einsum("ij,jk->ik", (hk_array *[]){x, y}, 2), expected, 4, 1e-14));
    CHECK(has(hk_tensordot(x, y, 1), expected, 4, 1e-14));
    CHECK(has(hk_transpose(hk_matmul(hk_transpose(y), hk_transpose(x))), expected, 4, 1e-14));
    CHECK(has(hk_vecdot(hk_reshape(x, hk_shape(6)), hk_reshape(y, hk_shape(6))), &dot, 1, 1e-14));
    const number with_real[] = {creal(a[0]) + creal(a[1]) + creal(a[2])};
    CHECK(has(hk_real(hk_matmul(hk_index(x, 0, 0), hk_ones(hk_shape(3), HK_F64, device))),
              with_real, 1, 1e-14));
    CHECK(has(hk_index(hk_index(hk_outer(hk_index(x, 0, 0), hk_index(x, 0, 1)), 0, 1), 0, 2),
              (const number[]){a[1] * a[5]}, 1, 1e-14));
}

static void test_equations(void)
{
    HK_SCOPE;
    number z[18], b[6], identity[18];
    draw(z, 18, 12);
    draw(b, 6, 13);
    for (int j = 0; j < 18; j++)
        identity[j] = j % 9 / 3 == j % 3;
    hk_array *x = array(z, hk_shape(2, 3, 3), HK_C128), *y = array(b, hk_shape(3, 2), HK_C128);
    CHECK(has(hk_matmul(x, hk_inv(x)), identity, 18, 1e-12));
    hk_array *first = hk_index(x, 0, 0);
    CHECK(has(hk_matmul(first, hk_solve(first, y)), b, 6, 1e-12));
    CHECK(has(hk_matmul(first, hk_solve(first, hk_index(y, 1, 0))),
              (const number[]){b[0], b[2], b[4]}, 3, 1e-12));
    CHECK(hk_ndim(hk_solve(x, hk_index(y, 1, 0))) == 2);
    CHECK(has(hk_matmul(hk_matrix_power(x, -2), hk_matmul(x, x)), identity, 18, 1e-11));
    CHECK(fails_with(hk_inv(hk_zeros(hk_shape(2, 2), HK_C64, device)), HK_BAD_DATA, ""));
}

/* ---- gradients ------------------------------------------------------------------------------------------------- */

PAIR(add, hk_add(z, w))
PAIR(subtract, hk_subtract(z, w))
PAIR(multiply, hk_multiply(z, w))
PAIR(divide, hk_divide(z, w))
PAIR(power, hk_power(z, w))
PAIR(real_power, hk_power(hk_abs(z), w))
PAIR(matmul, hk_matmul(hk_reshape(z, hk_shape(2, 2)), hk_reshape(w, hk_shape(2, 2))))
PAIR(inv, hk_matmul(hk_inv(hk_reshape(z, hk_shape(2, 2))), hk_reshape(w, hk_shape(2, 2))))
PAIR(solve, hk_solve(hk_reshape(z, hk_shape(2, 2)), hk_reshape(w, hk_shape(2, 2))))
PAIR(vecdot, hk_vecdot(z, w))
PAIR(einsum, hk_einsum("i,j->ij", (hk_array *[]){z, w}, 2))
PAIR(where, hk_where(hk_greater(hk_real(z), hk_imag(w)), z, w))
PAIR(mixed, hk_multiply(hk_real(z), w))
PAIR(broadcast, hk_multiply(hk_index(z, 0, 0), hk_reshape(w, hk_shape(2, 2))))
PAIR(pair, hk_complex_of(hk_abs(z), hk_imag(w)))
PAIR(cast, hk_multiply(hk_cast(hk_imag(z), HK_C128), w))
PAIR(parts, hk_add(hk_conj(z), hk_angle(hk_ones_like(hk_real(w)))))
PAIR(scalars, hk_divide(hk_power(hk_add(hk_multiply(z, 3), 2), 3), 700))
PAIR(sums, hk_multiply(hk_mean(z, NULL), hk_sum(hk_cumulative_sum(w, 0), NULL)))
PAIR(prod, hk_multiply(hk_prod(z, NULL), w))
PAIR(prod_of_zeros,
     hk_prod(hk_multiply(z, hk_slice(hk_eye(5, 4, 1, HK_F64, device), 0, 1, 2)), NULL))
PAIR(cumulative_prod, hk_cumulative_prod(hk_reshape(z, hk_shape(2, 2)), 0))
PAIR(views,
     hk_multiply(hk_flip(z, 0),
                 hk_concat(((hk_array *[]){hk_slice(w, 0, 2, 4), hk_slice(w, 0, 0, 2)}), 2, 0)))
PAIR(gathered, hk_take_along_axis(z, hk_arange(0, 3, 1, HK_I64, device), 0))
#define SLOPE(name) PAIR(name, hk_##name(z))
#define EACH_SLOPE(X)                                                                              \
    X(square)                                                                                      \
    X(reciprocal)                                                                                  \
    X(sqrt)                                                                                        \
    X(exp)                                                                                         \
    X(expm1)                                                                                       \
    X(log)                                                                                         \
    X(log1p)                                                                                       \
    X(log2)                                                                                        \
    X(log10)                                                                                       \
    X(sin)                                                                                         \
    X(cos)                                                                                         \
    X(tan)                                                                                         \
    X(asin)                                                                                        \
    X(acos)                                                                                        \
    X(atan)                                                                                        \
    X(sinh)                                                                                        \
    X(cosh)                                                                                        \
    X(tanh)                                                                                        \
    X(asinh)                                                                                       \
    X(acosh)                                                                                       \
    X(atanh)                                                                                       \
    X(abs)                                                                                         \
    X(sign)                                                                                        \
    X(angle)                                                                                       \
    X(round)                                                                                       \
    X(real)                                                                                        \
    X(imag)                                                                                        \
    X(conj)                                                                                        \
    X(negative)
EACH_SLOPE(SLOPE)
static const named_pair slopes[] = {
    NAMED(add) NAMED(subtract) NAMED(multiply) NAMED(divide) NAMED(power) NAMED(real_power)
        NAMED(matmul) NAMED(inv) NAMED(solve) NAMED(vecdot) NAMED(einsum) NAMED(where) NAMED(mixed)
            NAMED(broadcast) NAMED(pair) NAMED(cast) NAMED(parts) NAMED(scalars) NAMED(sums)
                NAMED(views) NAMED(prod) NAMED(prod_of_zeros) NAMED(cumulative_prod) NAMED(gathered)
                    EACH_SLOPE(NAMED)};

/* At 0 a direction has no slope that were a number: 0. */
static void test_gradients_at_zero(void)
{
    HK_SCOPE;
    hk_array *x = array((const number[]){0, i}, hk_shape(2), HK_C128), *loss, *dx;
    hk_attach_grad(x, HK_GRAD_TRACK);
    {
        HK_RECORD;
        loss = hk_add(hk_sum(hk_multiply(hk_angle(x), 2), NULL), hk_sum(hk_real(hk_sign(x)), NULL));
    }
    CHECK(hk_ok(hk_gradients(&loss, 1, &x, 1, NULL, &dx)));
    CHECK(has(dx, (const number[]){0, -1}, 2, 1e-15));
}

/* Along t: 2 z t. */
static void test_jvp(void)
{
    HK_SCOPE;
    number a[4], t[4], expected[4];
    draw(a, 4, 10);
    draw(t, 4, 11);
    hk_array *z = array(a, hk_shape(4), HK_C128), *along = array(t, hk_shape(4), HK_C128), *product;
    hk_attach_grad(z, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_multiply(z, z);
    hk_record_end();
    CHECK(hk_ok(hk_jvp(&y, 1, &z, 1, &along, &product)));
    for (int j = 0; j < 4; j++)
        expected[j] = 2 * a[j] * t[j];
    CHECK(has(product, expected, 4, 1e-14));
}

/* Parts of a captured step are the same calls. */
static void test_captured(void)
{
    HK_SCOPE;
    number a[4], b[4], values[4], replayed[4];
    draw(a, 4, 8);
    draw(b, 4, 9);
    hk_array *x = array(a, hk_shape(2, 2), HK_C128), *z = array(b, hk_shape(2, 2), HK_C128);
    hk_array *out = hk_zeros(hk_shape(2, 2), HK_C128, device);
    for (int pass = 0; pass < 2; pass++) {
        HK_SCOPE;
        hk_array *in = pass ? z : x;
        if (!pass)
            hk_capture_begin(&in, 1);
        hk_array *y = hk_multiply(hk_matmul(in, hk_exp(in)), hk_sum(in, NULL));
        hk_assign(out, hk_ifft(hk_fft(y, 0, -1, 0), 0, -1, 0));
        if (pass) {
            CHECK(hk_ok(hk_to_host(out, values, sizeof values)));
            break;
        }
        hk_graph *graph = hk_capture_end(NULL);
        hk_replay(graph, &z, 1);
        CHECK(hk_ok(hk_to_host(out, replayed, sizeof replayed)));
        hk_graph_release(graph);
    }
    CHECK(memcmp(values, replayed, sizeof values) == 0);
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(2), HK_C64, device), *y = hk_ones(hk_shape(2), HK_F32, device);
    const char *order = "complex numbers have no order";
    CHECK(fails_with(hk_less(x, y), HK_UNSUPPORTED, order));
    CHECK(fails_with(hk_greater_equal(y, x), HK_UNSUPPORTED, order));
    CHECK(fails_with(hk_maximum(y, x), HK_UNSUPPORTED, order));
    CHECK(fails_with(hk_max(x, NULL), HK_UNSUPPORTED, order));
    CHECK(fails_with(hk_sort(x, 0, false), HK_UNSUPPORTED, order));
    CHECK(fails_with(hk_argmax(x, 0), HK_UNSUPPORTED, order));
    CHECK(fails_with(hk_floor(x), HK_UNSUPPORTED, order));
    CHECK(
        fails_with(hk_where(x, y, y), HK_UNSUPPORTED, "condition is complex64, but must be bool"));
    CHECK(fails_with(hk_add(hk_cast(y, HK_I32), x), HK_UNSUPPORTED, "hk_cast converts"));
    CHECK(fails_with(hk_matmul(hk_cast(y, HK_I32), x), HK_UNSUPPORTED, "hk_cast converts"));
    CHECK(fails_with(hk_sigmoid(x), HK_UNSUPPORTED, "hk_abs, hk_real and hk_imag"));
    CHECK(fails_with(hk_mse_loss(y, x, NULL), HK_UNSUPPORTED, "target is complex64"));
    CHECK(fails_with(hk_cast(x, HK_F32), HK_UNSUPPORTED, "hk_real, hk_imag and hk_abs"));
    CHECK(fails_with(hk_rfft(x, 0, -1, 0), HK_UNSUPPORTED, "is of real numbers"));
    CHECK(fails_with(hk_arange(0, 3, 1, HK_C64, device), HK_INVALID_ARGUMENT, "real numbers"));
    const hk_status *status;
    CHECK(isnan(hk_item(hk_index(x, 0, 0), &status)));
    CHECK(hk_status_code(status) == HK_UNSUPPORTED);
    CHECK(isnan(hk_item_complex(x, &status).imag));
    CHECK(hk_status_code(status) == HK_INVALID_ARGUMENT);
    CHECK(fails_with(hk_scalar(hk_complex_number(1, 2), HK_F32, device), HK_OUT_OF_RANGE, "1 +2j"));
    hk_assign(y, x);
    CHECK(fails_with(y, HK_UNSUPPORTED, "imaginary parts"));
}

/* Of a complex y nothing says what is to become smaller. */
static void test_without_gradient(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(2), HK_C64, device);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_square(x);
    hk_record_end();
    CHECK(hk_status_code(hk_backward(y)) == HK_INVALID_ARGUMENT);
    CHECK(fails_with(hk_grad(x), HK_INVALID_ARGUMENT, "give dy"));
}

/* ---- texts ----------------------------------------------------------------------------------------------------------- */

static void check_text(hk_array *x, const char *expected)
{
    char *text = hk_to_string(x);
    CHECK_STR(text ? text : "(null)", expected);
    free(text);
}

/* As NumPy 1.24 prints them. */
static void test_texts(void)
{
    HK_SCOPE;
    const float narrow[] = {1, 2, 3.5f, -1, 0, 0.1f};
    const double odd[] = {NAN, 1, INFINITY, -INFINITY, -1e9, 0};
    check_text(array(narrow, hk_shape(3), HK_C64), "[1. +2.j  3.5-1.j  0. +0.1j] complex64 @cpu:0");
    check_text(array(odd, hk_shape(3), HK_C128),
               "[    nan +1.j     inf-infj -1.e+09 +0.j] complex128 @cpu:0");
    check_text(hk_scalar(hk_complex_number(1, 2), HK_C64, device), "(1+2j) complex64 @cpu:0");
    check_text(hk_scalar(hk_complex_number(0, -0.5), HK_C128, device), "-0.5j complex128 @cpu:0");
    check_text(hk_scalar(hk_complex_number(-0.0, NAN), HK_C128, device),
               "(-0+nanj) complex128 @cpu:0");
    check_text(hk_zeros(hk_shape(0), HK_C64, device), "[] complex64 @cpu:0");
}

static void test_promotion(void)
{
    static const hk_dtype table[][3] = {
        {HK_C64, HK_C64, HK_C64},  {HK_C64, HK_C128, HK_C128}, {HK_F32, HK_C64, HK_C64},
        {HK_F64, HK_C64, HK_C128}, {HK_F32, HK_C128, HK_C128}, {HK_F64, HK_C128, HK_C128},
        {HK_F16, HK_C64, HK_C64},
    };
    hk_dtype dtype;
    for (size_t j = 0; j < sizeof table / sizeof *table; j++)
        for (int turn = 0; turn < 2; turn++) {
            CHECK(hk_dtype_promote(table[j][turn], table[j][1 - turn], &dtype));
            CHECK_STR(hk_dtype_name(dtype), hk_dtype_name(table[j][2]));
        }
    CHECK(!hk_dtype_promote(HK_I32, HK_C64, &dtype) && !hk_dtype_promote(HK_C64, HK_BOOL, &dtype));
    CHECK_EQ_I64(hk_dtype_bytes(HK_C64), 8);
    CHECK_EQ_I64(hk_dtype_bytes(HK_C128), 16);
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(NULL)));
    device = hk_device_default();
    test_promotion();
    test_functions();
    test_pairs();
    test_special();
    test_zeros();
    test_comparisons();
    test_sums();
    test_products();
    test_equations();
    for (int of_gradients = 0; of_gradients < 2; of_gradients++)
        check_gradients(slopes, sizeof slopes / sizeof *slopes, 4, of_gradients);
    test_gradients_at_zero();
    test_jvp();
    test_captured();
    test_refusals();
    test_without_gradient();
    test_texts();
    hk_runtime_deinit();
    return check_result();
}
