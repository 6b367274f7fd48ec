/* Fourier transforms against sums written plainly, in long double; gradients as adjoints. */
#include "tests/check.h"
#include "tests/same_bytes.h"

#include "op/fft/fourier_kernel.h"
#include "op/operator_fixture.h"

#include <complex.h>
#include <math.h>
#undef complex
#undef I

typedef double _Complex number;
static const number i = __builtin_complex(0.0, 1.0);
static hk_device device;

static unsigned seed = 1;

static double random_unit(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 24) - 0.5;
}

static number *random_line(int64_t n, bool is_real)
{
    number *line = malloc((size_t)n * sizeof *line + 1);
    for (int64_t j = 0; j < n; j++) {
        const double re = random_unit();
        line[j] = is_real ? re : re + i * random_unit();
    }
    return line;
}

static hk_array *array(const number *values, hk_dims shape, hk_dtype dtype)
{
    hk_array *x = hk_from_host(values, shape, HK_C128, device);
    return dtype == HK_F32 || dtype == HK_F64 ? hk_cast(hk_real(x), dtype) : hk_cast(x, dtype);
}

static number *read_line(hk_array *x)
{
    number *values = malloc((size_t)hk_size(x) * sizeof *values + 1);
    CHECK(hk_ok(hk_to_host(hk_cast(x, HK_C128), values, (size_t)hk_size(x) * sizeof *values)));
    return values;
}

/* ---- functions of lines ------------------------------------------------------------------------------------- */

typedef hk_array *(*transform_fn)(hk_array *x, int64_t n, int64_t axis, int64_t norm);
#define TRANSFORM(name)                                                                            \
    static hk_array *call_##name(hk_array *x, int64_t n, int64_t axis, int64_t norm)               \
    {                                                                                              \
        return hk_##name(x, n, axis, norm);                                                        \
    }
TRANSFORM(fft)
TRANSFORM(ifft)
TRANSFORM(rfft)
TRANSFORM(irfft)
TRANSFORM(hfft)
TRANSFORM(ihfft)
static const struct transform {
    const char *name;
    transform_fn call;
    int sign;
    bool from_real, to_real;
} transforms[] = {
    {"fft", call_fft, -1, false, false},  {"ifft", call_ifft, 1, false, false},
    {"rfft", call_rfft, -1, true, false}, {"irfft", call_irfft, 1, false, true},
    {"hfft", call_hfft, -1, false, true}, {"ihfft", call_ihfft, 1, true, false},
};
enum { TRANSFORMS = sizeof transforms / sizeof *transforms };

/* Element j of the whole line of n that `size` elements of x stand for. */
static number element(const struct transform *of, const number *x, int64_t size, int64_t n,
                      int64_t j)
{
    if (!of->to_real)
        return j < size ? x[j] : 0;
    const int64_t mirror = j <= n / 2 ? j : n - j;
    number value = mirror < size ? x[mirror] : 0;
    if (mirror == 0 || 2 * mirror == n)
        value = creal(value);
    return j == mirror ? value : conj(value);
}

/* exp(sign 2 pi i k / n) for all k, a line of its own. */
static long double _Complex *roots_of(int64_t n, int sign)
{
    long double _Complex *roots = malloc((size_t)n * sizeof *roots);
    for (int64_t k = 0; k < n; k++) {
        const long double angle = 2 * 3.14159265358979323846264338327950288L * k / n;
        roots[k] = __builtin_complex(cosl(angle), sign * sinl(angle));
    }
    return roots;
}

/* The relative error of the result, as a vector. */
static double error_of(const struct transform *of, const number *x, int64_t size, int64_t n,
                       int64_t norm, const number *y, int64_t count)
{
    const bool divides = (of->sign < 0) == (norm == HK_FFT_FORWARD);
    const double scale = norm == HK_FFT_ORTHO ? 1 / sqrt((double)n) : divides ? 1.0 / (double)n : 1;
    long double _Complex *roots = roots_of(n, of->sign);
    double error = 0, total = 1e-300;
    for (int64_t k = 0; k < count; k++) {
        long double _Complex sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += element(of, x, size, n, j) * roots[j * k % n];
        sum *= scale;
        error += pow(cabs((number)(sum - y[k])), 2);
        total += pow(cabs((number)sum), 2);
    }
    free(roots);
    return sqrt(error / total);
}

static int64_t count_of(const struct transform *of, int64_t n)
{
    return of->from_real ? n / 2 + 1 : n;
}

/* Of a line of `size` elements, a transform of length n; 0: as the function has it. */
static void check_line(const struct transform *of, int64_t size, int64_t n, int64_t norm,
                       hk_dtype dtype)
{
    HK_SCOPE;
    const hk_dtype part = dtype == HK_C64 ? HK_F32 : HK_F64;
    const int64_t length = n ? n : of->to_real ? 2 * (size - 1) : size;
    number *x = random_line(size, of->from_real);
    hk_array *from = array(x, hk_shape(size), of->from_real ? part : dtype);
    hk_array *y = of->call(from, n, -1, norm);
    CHECK(hk_array_dtype(y) == (of->to_real ? part : dtype));
    CHECK_EQ_I64(hk_size(y), count_of(of, length));
    number *values = read_line(y), *rounded = read_line(from);
    const double error = error_of(of, rounded, size, length, norm, values, count_of(of, length));
    if (!(error < (dtype == HK_C64 ? 1e-7 : 1e-15))) {
        fprintf(stderr, "%s of %lld, length %lld: error %g\n", of->name, (long long)size,
                (long long)n, error);
        CHECK(false);
    }
    free(values);
    free(rounded);
    free(x);
}

/* Small lengths, primes with and without a butterfly of their own, powers; given, cut and filled up. */
static void test_lengths(void)
{
    static const int64_t more[] = {67, 101, 120, 128, 243, 343, 961, 1000, 1009, 2209};
    for (int f = 0; f < TRANSFORMS; f++) {
        for (int64_t n = 1; n <= 64; n++) {
            check_line(&transforms[f], transforms[f].to_real ? n / 2 + 1 : n, n, n % 3, HK_C128);
            check_line(&transforms[f], n + 1, 0, n % 3, HK_C64);
            check_line(&transforms[f], n, 12, n % 3, HK_C128);
        }
        for (size_t j = 0; j < sizeof more / sizeof *more; j++)
            check_line(&transforms[f], more[j] / 2 + 1, more[j], (int64_t)j % 3, HK_C128);
    }
    check_line(&transforms[0], 4096, 0, 0, HK_C64);
    check_line(&transforms[1], 4096, 0, 0, HK_C128);
}

/* ---- many lines --------------------------------------------------------------------------------------------------- */

/* A line has the bytes that it has alone, along any axis, in any layout and number of others; pieces do not tell. */
static void test_batches(void)
{
    HK_SCOPE;
    number *values = random_line(37 * 60, false);
    hk_array *x = array(values, hk_shape(37, 60), HK_C128);
    for (int f = 0; f < TRANSFORMS; f++) {
        HK_SCOPE;
        hk_array *in = transforms[f].from_real ? hk_real(x) : x;
        hk_array *rows = transforms[f].call(in, 0, 1, 0);
        hk_array *columns = transforms[f].call(hk_transpose(in), 0, 0, 0);
        hk_array *middle = transforms[f].call(hk_reshape(in, hk_shape(37, 60, 1)), 0, -2, 0);
        CHECK(same_bytes(rows, hk_contiguous(hk_transpose(columns))));
        CHECK(same_bytes(rows, middle));
        for (int64_t row = 0; row < 37; row += 5)
            CHECK(same_bytes(hk_contiguous(hk_index(rows, 0, row)),
                             transforms[f].call(hk_index(in, 0, row), 0, 0, 0)));
    }
    free(values);
    values = random_line(512 * 300, false);
    x = array(values, hk_shape(512, 300), HK_C64);
    hk_array *many = hk_fft(x, 0, 1, 0);
    for (int64_t row = 0; row < 512; row += 73)
        CHECK(same_bytes(hk_contiguous(hk_index(many, 0, row)),
                         hk_fft(hk_index(x, 0, row), 0, 0, 0)));
    free(values);
}

static bool is_near(hk_array *a, hk_array *b, double tolerance)
{
    return hk_item(hk_norm(hk_abs(hk_subtract(a, b)), NULL), NULL) <=
           tolerance * hk_item(hk_norm(hk_abs(a), NULL), NULL);
}

/* One axis after the other, and back. */
static void test_several_axes(void)
{
    HK_SCOPE;
    const hk_dims all = hk_shape();
    number *values = random_line(3 * 5 * 8, false);
    hk_array *x = array(values, hk_shape(3, 5, 8), HK_C128), *real = hk_real(x);
    CHECK(is_near(hk_fftn(x, all, hk_shape(0, 2), 0), hk_fft(hk_fft(x, 0, 0, 0), 0, 2, 0), 1e-15));
    CHECK(is_near(hk_ifftn(hk_fftn(x, all, all, 1), all, all, 1), x, 1e-15));
    CHECK(is_near(hk_rfftn(real, hk_shape(4, 6), all, 2), hk_fft(hk_rfft(real, 6, 2, 2), 4, 1, 2),
                  1e-15));
    CHECK(is_near(hk_irfftn(hk_rfftn(real, all, all, 0), all, all, 0), real, 1e-15));
    CHECK(is_near(
        hk_irfftn(hk_rfftn(real, all, hk_shape(2, 1), 0), hk_shape(8, 5), hk_shape(2, 1), 0), real,
        1e-15));
    CHECK(is_near(hk_ifftshift(hk_fftshift(x, all), all), x, 0));
    CHECK(is_refused(hk_fftn(x, hk_shape(2), hk_shape(0, 1), 0), "they must be as many"));
    CHECK(is_refused(hk_fftn(x, hk_shape(2, 2, 2, 2), all, 0), "x has 3 axes"));
    CHECK(is_refused(hk_rfftn(hk_index(hk_index(hk_index(real, 0, 0), 0, 0), 0, 0), all, all, 0),
                     "has no axes"));
    free(values);
}

/* ---- gradients ------------------------------------------------------------------------------------------------------ */

/* Of a linear map F, dL/dx of L = Re sum conj(w) F x is the adjoint's F* w: Re sum conj(F* w) x is L too, for any x. */
static void check_gradient(const struct transform *of, int64_t size, int64_t n)
{
    HK_SCOPE;
    number *xs = random_line(size, of->from_real), *other = random_line(size, of->from_real);
    const int64_t count = count_of(of, n ? n : of->to_real ? 2 * (size - 1) : size);
    number *weights = random_line(count, of->to_real);
    const hk_dtype from = of->from_real ? HK_F64 : HK_C128, to = of->to_real ? HK_F64 : HK_C128;
    hk_array *x = array(xs, hk_shape(size), from), *w = array(weights, hk_shape(count), to);
    hk_array *z = array(other, hk_shape(size), from);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_real(hk_vecdot(w, of->call(x, n, 0, 1)));
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    const double there = hk_item(hk_real(hk_vecdot(w, of->call(z, n, 0, 1))), NULL);
    const double back = hk_item(hk_real(hk_vecdot(hk_grad(x), z)), NULL);
    if (!(fabs(there - back) < 1e-12)) {
        fprintf(stderr, "gradient of %s of %lld, length %lld: %g, not %g\n", of->name,
                (long long)size, (long long)n, back, there);
        CHECK(false);
    }
    free(xs);
    free(other);
    free(weights);
}

static void test_gradients(void)
{
    for (int f = 0; f < TRANSFORMS; f++)
        for (int64_t n = 2; n <= 9; n++) {
            check_gradient(&transforms[f], n, 0);
            check_gradient(&transforms[f], n, 5);
            check_gradient(&transforms[f], 6, n);
        }
}

/* ---- the kernel, and refusals ------------------------------------------------------------------------------------- */

/* Exact where they can be, and on the circle. */
static void test_roots(void)
{
    double c, s;
    hki_fourier_root(3, 12, &c, &s);
    CHECK(c == 0 && s == 1);
    hki_fourier_root(1, 8, &c, &s);
    CHECK(fabs(c - s) <= 0x1p-53 && fabs(c * c + s * s - 1) < 0x1p-51);
    hki_fourier_root(7, 12, &c, &s);
    CHECK(fabs(c + sqrt(0.75)) < 0x1p-52 && fabs(s + 0.5) < 0x1p-52);
    hki_fourier_root(0, 5, &c, &s);
    CHECK(c == 1 && s == 0);
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(3, 0), HK_C64, device),
             *y = hk_ones(hk_shape(1), HK_C64, device);
    CHECK(is_refused(hk_fft(x, 0, 1, 0), "length 0; give a length of 1 or more"));
    CHECK(hk_ok(hk_wait(hk_fft(x, 4, 1, 0))));
    CHECK(hk_item(hk_norm(hk_abs(hk_fft(x, 4, 1, 0)), NULL), NULL) == 0);
    CHECK_EQ_I64(hk_size(hk_fft(x, 0, 0, 0)), 0);
    CHECK(is_refused(hk_irfft(y, 0, 0, 0), "length 0"));
    CHECK(hk_ok(hk_wait(hk_irfft(y, 1, 0, 0))));
    CHECK(fails_with(hk_fft(y, -2, 0, 0), HK_OUT_OF_RANGE, "n is -2"));
    CHECK(fails_with(hk_fft(y, INT64_MAX, 0, 0), HK_OUT_OF_RANGE, "to 2^48"));
    CHECK(fails_with(hk_fft(y, 1 << 24, 0, 0), HK_OUT_OF_MEMORY, ""));
    CHECK(fails_with(hk_fft(y, 1 << 21, 0, 0), HK_OUT_OF_MEMORY, "bytes of workspace"));
    CHECK(fails_with(hk_fft(y, 0, 1, 0), HK_OUT_OF_RANGE, "axis is 1"));
    CHECK(is_refused(hk_fft(y, 0, 0, 3), "norm is 3"));
    CHECK(fails_with(hk_fft(hk_cast(hk_real(y), HK_I32), 0, 0, 0), HK_UNSUPPORTED, "x is int32"));
    CHECK(fails_with(hk_fftfreq(0, 1, HK_F32, device), HK_OUT_OF_RANGE, "n is 0"));
}

int main(void)
{
    const hk_runtime_options options = {.memory_bytes = 64 << 20};
    CHECK(hk_ok(hk_runtime_init(&options)));
    device = hk_device_default();
    test_roots();
    test_lengths();
    test_batches();
    test_several_axes();
    test_gradients();
    test_refusals();
    hk_runtime_deinit();
    return check_result();
}
