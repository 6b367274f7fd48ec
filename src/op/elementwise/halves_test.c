/* float16 and bfloat16: every value there and back, rounding from each dtype, products, gradients, what refuses them. */
#include "base/half.h"
#include "op/op.h"
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <math.h>

static hk_device device;

/* The only element, NaN unless it can be read. */
static double item(hk_array *x)
{
    double value = NAN;
    CHECK(hk_ok(hk_to_host((hk_cast)(x, HK_F64), &value, sizeof value)));
    return value;
}

/* Of the halves next to it, the one that rounding to nearest, ties to even, gives: by looking at all. */
static uint16_t nearest(double value, float (*to_float)(uint16_t), uint16_t infinity)
{
    uint16_t low = 0, high = infinity, sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    while (high - low > 1) { /* positive halves are ordered as their bits are */
        uint16_t middle = (uint16_t)((low + high) / 2);
        if ((double)to_float(middle) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    double below = (double)to_float(low);
    /* beyond the largest one: as if there were one more */
    double above = high == infinity ? 2 * below - (double)to_float((uint16_t)(low - 1))
                                    : (double)to_float(high);
    double up = above - magnitude, down = magnitude - below;
    uint16_t chosen = up < down || (up == down && low & 1) ? high : low;
    return (uint16_t)(sign | chosen);
}

static void test_bits(void)
{
    int64_t wrong = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t half = (uint16_t)i;
        bool f16_nan = (half & 0x7fff) > 0x7c00, bf16_nan = (half & 0x7fff) > 0x7f80;
        float a = hki_f16_to_float(half), b = hki_bf16_to_float(half);
        wrong += f16_nan ? !isnan(a) || !isnan(hki_f16_to_float(hki_f16_from_float(a)))
                         : hki_f16_from_float(a) != half;
        wrong += bf16_nan ? !isnan(b) || !isnan(hki_bf16_to_float(hki_bf16_from_float(b)))
                          : hki_bf16_from_float(b) != half;
        int exponent = half >> 10 & 31, fraction = half & 1023;
        double expected = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        if (exponent < 31)
            wrong += fabs((double)a) != expected;
    }
    CHECK_EQ_I64(wrong, 0);
}

static void test_rounding(void)
{
    uint64_t random = 1;
    int64_t wrong = 0;
    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        double mantissa = 1 + (double)(random >> 12) * 0x1p-52;
        int exponent = (int)(random >> 3 & 63) - 40;
        double value = ldexp(mantissa, exponent);
        if (i % 4 == 1) /* near a tie: a bit that a float does not have decides */
            value = (double)hki_f16_to_float((uint16_t)(random >> 20 & 0x7bff)) * (1 + 0x1p-11) +
                    ldexp(1, -40);
        if (i % 4 == 2)
            value = (double)hki_bf16_to_float((uint16_t)(random >> 20 & 0x7f7f)) * (1 + 0x1p-8) *
                    (1 + 0x1p-50);
        if (i % 64 == 3) /* smaller than any float */
            value = ldexp(mantissa, -150 - exponent - 40);
        value = random & 4 ? -value : value;
        if (fabs(value) < 66000)
            wrong += hki_f16_from_double(value) != nearest(value, hki_f16_to_float, 0x7c00);
        if (fabs(value) < 1e38)
            wrong += hki_bf16_from_double(value) != nearest(value, hki_bf16_to_float, 0x7f80);
    }
    CHECK_EQ_I64(wrong, 0);
    CHECK_EQ_I64(hki_f16_from_double(65519.999), 0x7bff);
    CHECK_EQ_I64(hki_f16_from_double(65520), 0x7c00);
    CHECK_EQ_I64(hki_f16_from_double(-INFINITY), 0xfc00);
    CHECK_EQ_I64(hki_f16_from_double(0x1p-25), 0);
    CHECK_EQ_I64(hki_f16_from_double(0x1.000001p-25), 1);
    CHECK_EQ_I64(hki_f16_from_double(-0.0), 0x8000);
    /* a tie but for the last bit of 63 */
    const int64_t tie = (INT64_C(1) << 62) + (INT64_C(1) << 54);
    CHECK_EQ_I64(hki_bf16_from_float(hki_float_to_odd_i64(tie)), 0x5e80);
    CHECK_EQ_I64(hki_bf16_from_float(hki_float_to_odd_i64(tie + 1)), 0x5e81);
    CHECK_EQ_I64(hki_bf16_from_float(hki_float_to_odd_i64(-tie - 1)), 0xde81);
}

static void test_casts(void)
{
    HK_SCOPE;
    const double values[] = {1.5, -2.25, 65504, 3.1415926535, 0};
    hk_array *x = hk_from_host(values, hk_shape(5), HK_F64, device);
    for (int i = 0; i < 2; i++) {
        hk_dtype half = i ? HK_BF16 : HK_F16;
        hk_array *y = hk_cast(x, half);
        CHECK_EQ_I64(hk_array_dtype(y), half);
        double *got = read_doubles(y);
        for (int j = 0; j < 5; j++) {
            uint16_t bits = i ? hki_bf16_from_double(values[j]) : hki_f16_from_double(values[j]);
            CHECK(got[j] == (double)(i ? hki_bf16_to_float(bits) : hki_f16_to_float(bits)));
        }
        free(got);
        CHECK(item(hk_sum(hk_cast(hk_cast(y, HK_I32), HK_I64), NULL)) > 65000);
        CHECK(fails_with(hk_cast(hk_full(hk_shape(2), NAN, half, device), HK_U8), HK_OUT_OF_RANGE,
                         "uint8"));
        CHECK_EQ_I64(hk_array_dtype(hk_cast(y, HK_BOOL)), HK_BOOL);
        CHECK(item(hk_index(hk_transpose(hk_reshape(y, hk_shape(1, 5))), 0, 1)) == -2.25);
    }
    CHECK(item(hk_full(hk_shape(), 0.1, HK_F16, device)) == 0.0999755859375);
    CHECK(hk_array_dtype(hk_ones(hk_shape(1), HK_F16, device)) == HK_F16);
    CHECK(fails_with(hk_softmax(hk_cast(x, HK_F16), 0), HK_UNSUPPORTED, "float16"));
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    hk_print(hk_full(hk_shape(2), 0.1, HK_F16, device), stream);
    fclose(stream);
    CHECK(strstr(text, "[0.1 0.1]"));
    free(text);
}

static void test_products(void)
{
    HK_SCOPE;
    for (int i = 0; i < 2; i++) {
        hk_dtype half = i ? HK_BF16 : HK_F16;
        hk_array *a = hk_cast(random_numbers(hk_shape(70, 33), HK_F32), half);
        hk_array *b = hk_cast(random_numbers(hk_shape(90, 33), HK_F32), half);
        hk_array *bias = random_numbers(hk_shape(90), HK_F32);
        hk_array *y = hk_matmul(a, hk_transpose(b)), *z = hk_linear(a, b, bias);
        CHECK_EQ_I64(hk_array_dtype(y), HK_F32);
        CHECK_EQ_I64(hk_array_dtype(z), HK_F32);
        hk_array *expected = hk_matmul(hk_cast(a, HK_F64), hk_transpose(hk_cast(b, HK_F64)));
        CHECK(item(hk_sum(hk_not_equal(hk_cast(y, HK_F64), expected), NULL)) == 0);
        expected = hk_add(expected, hk_cast(bias, HK_F64));
        CHECK(item(hk_sum(hk_not_equal(hk_cast(z, HK_F64), expected), NULL)) == 0);
        CHECK(is_refused(hk_matmul(a, hk_transpose(hk_cast(b, HK_F32))), "hk_cast converts"));
        CHECK(is_refused(hk_linear(a, b, hk_cast(bias, half)), "must be float32"));
    }
}

/* Parameters in float32, used twice as halves: gradients are summed, come back as float32, and are right for whole
 * numbers, which halves have. */
static void test_gradients(void)
{
    HK_SCOPE;
    for (int i = 0; i < 2; i++) {
        hk_dtype half = i ? HK_BF16 : HK_F16;
        hk_array *weight = random_numbers(hk_shape(4, 3), HK_F32),
                 *x = random_numbers(hk_shape(5, 3), HK_F32);
        hk_attach_grad(weight, HK_GRAD_WRITE);
        for (int exact = 0; exact < 2; exact++) {
            hk_dtype dtype = exact ? HK_F32 : half;
            hk_record_begin();
            hk_array *w = hk_cast(weight, dtype), *in = hk_cast(x, dtype);
            hk_array *y = hk_add(hk_linear(in, w, NULL), hk_matmul(in, hk_transpose(w)));
            hk_record_end();
            hk_backward(y);
            static double sums[2][12];
            CHECK_EQ_I64(hk_array_dtype(hk_grad(weight)), HK_F32);
            double *got = read_doubles(hk_grad(weight));
            memcpy(sums[exact], got, sizeof sums[exact]);
            free(got);
            CHECK(!exact || !memcmp(sums[0], sums[1], sizeof sums[0]));
        }
        hk_array *leaf = hk_take(hk_cast(random_numbers(hk_shape(2, 3), HK_F32), half));
        hk_attach_grad(leaf, HK_GRAD_ADD);
        for (int pass = 0; pass < 2; pass++) {
            hk_record_begin();
            hk_array *y =
                hk_matmul(leaf, hk_full(hk_shape(4, 3, 2), 1, half, device)); /* broadcast */
            hk_record_end();
            hk_backward(y);
        }
        CHECK_EQ_I64(hk_array_dtype(hk_grad(leaf)), half);
        CHECK(item(hk_index(hk_index(hk_cast(hk_grad(leaf), HK_F32), 0, 0), 0, 0)) == 16);
        hk_array_release(leaf);
    }
}

int main(void)
{
    device = hk_device_default();
    test_bits();
    test_rounding();
    test_casts();
    test_products();
    test_gradients();
    return check_result();
}
