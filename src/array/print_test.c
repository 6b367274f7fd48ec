/* Texts of arrays, as NumPy 1.24 writes them. */
#include "tests/check.h"

#include "array/test_tasks.h"

#include <math.h>
#include <stdlib.h>

static void check_text(hk_array *x, const char *expected)
{
    char *text = hk_to_string(x);
    CHECK_STR(text ? text : "(null)", expected);
    free(text);
}

#define CHECK_F32(expected, shape, ...)                                                            \
    check_text(hk_from_host(((const float[]){__VA_ARGS__}), shape, HK_F32, hk_device_default()),   \
               expected " @cpu:0")
#define CHECK_F64(expected, shape, ...)                                                            \
    check_text(hk_from_host(((const double[]){__VA_ARGS__}), shape, HK_F64, hk_device_default()),  \
               expected " float64 @cpu:0")

static void test_floats(void)
{
    HK_SCOPE;
    CHECK_F32("[1. 2. 3.]", hk_shape(3), 1, 2, 3);
    CHECK_F32("[[1. 2.]\n [3. 4.]]", hk_shape(2, 2), 1, 2, 3, 4);
    CHECK_F32("[[[1. 2.]]\n\n [[3. 4.]]]", hk_shape(2, 1, 2), 1, 2, 3, 4);
    CHECK_F32("[0.1 0.2]", hk_shape(2), 0.1f, 0.2f);
    CHECK_F64("[0.1 0.2]", hk_shape(2), 0.1, 0.2);
    CHECK_F32("[ 1.5  -0.25 10.  ]", hk_shape(3), 1.5f, -0.25f, 10);
    CHECK_F32("[0.33333334 1.        ]", hk_shape(2), 1.0f / 3, 1);
    CHECK_F64("[0.33333333 0.66666667]", hk_shape(2), 1.0 / 3, 2.0 / 3);
    CHECK_F32("[-0.  0.]", hk_shape(2), -0.0f, 0);
    CHECK_F32("[ nan  inf -inf]", hk_shape(3), NAN, INFINITY, -INFINITY);
    CHECK_F32("[ 1. nan inf]", hk_shape(3), 1, NAN, INFINITY);
    CHECK_F32("[1.e+08 1.e+00]", hk_shape(2), 1e8f, 1);
    CHECK_F64("[1.e-05 1.e+00]", hk_shape(2), 1e-5, 1);
    CHECK_F64("[ 1.25e+100 -1.00e-005]", hk_shape(2), 1.25e100, -1e-5);
    CHECK_F64("[1.e+00 1.e+04    nan]", hk_shape(3), 1, 1e4, NAN);
    CHECK_F64("[1.00000000e-01 1.23456789e+04]", hk_shape(2), 0.1, 12345.6789);
    CHECK_F32("[88007112.]", hk_shape(1), 88007112);
    CHECK_F32("[1. 1.]", hk_shape(2), 1, 1);
}

static void test_scalars(void)
{
    HK_SCOPE;
    CHECK_F32("1.0", hk_shape(), 1);
    CHECK_F32("0.33333334", hk_shape(), 1.0f / 3);
    CHECK_F64("0.3333333333333333", hk_shape(), 1.0 / 3);
    CHECK_F64("1e+16", hk_shape(), 1e16);
    CHECK_F64("1.5e-07", hk_shape(), 1.5e-7);
    CHECK_F64("1234567890123.0", hk_shape(), 1234567890123);
    CHECK_F32("nan", hk_shape(), NAN);
    CHECK_F32("-inf", hk_shape(), -INFINITY);
    CHECK_F32("-0.0", hk_shape(), -0.0f);
    check_text(hk_scalar(1, HK_BOOL, hk_device_default()), "True bool @cpu:0");
    check_text(hk_scalar(-7, HK_I64, hk_device_default()), "-7 int64 @cpu:0");
}

static void test_others(void)
{
    HK_SCOPE;
    hk_device device = hk_device_default();
    check_text(hk_from_host(((const int32_t[]){1, -20, 300}), hk_shape(3), HK_I32, device),
               "[  1 -20 300] int32 @cpu:0");
    check_text(hk_from_host(((const int64_t[]){INT64_MIN, INT64_MAX}), hk_shape(2), HK_I64, device),
               "[-9223372036854775808  9223372036854775807] int64 @cpu:0");
    check_text(hk_from_host(((const uint8_t[]){0, 255}), hk_shape(2), HK_U8, device),
               "[  0 255] uint8 @cpu:0");
    check_text(hk_from_host(((const uint8_t[]){1, 0}), hk_shape(2), HK_BOOL, device),
               "[ True False] bool @cpu:0");
    check_text(hk_from_host(NULL, hk_shape(0), HK_F32, device), "[] @cpu:0");
    check_text(hk_from_host(NULL, hk_shape(2, 0, 3), HK_I32, device), "[] int32 @cpu:0");
    check_text(hk_transpose(test_range(hk_shape(2, 3))), "[[0. 3.]\n [1. 4.]\n [2. 5.]] @cpu:0");
    check_text(hk_broadcast_to(test_range(hk_shape(2)), hk_shape(2, 2)),
               "[[0. 1.]\n [0. 1.]] @cpu:0");
}

static void test_long(void)
{
    HK_SCOPE;
    hk_array *range = test_range(hk_shape(4096));
    check_text(range, "[0.000e+00 1.000e+00 2.000e+00 ... 4.093e+03 4.094e+03 4.095e+03] @cpu:0");
    check_text(hk_slice(range, 0, 0, 30),
               "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
               " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.] @cpu:0");
    check_text(test_range(hk_shape(64, 64)),
               "[[0.000e+00 1.000e+00 2.000e+00 ... 6.100e+01 6.200e+01 6.300e+01]\n"
               " [6.400e+01 6.500e+01 6.600e+01 ... 1.250e+02 1.260e+02 1.270e+02]\n"
               " [1.280e+02 1.290e+02 1.300e+02 ... 1.890e+02 1.900e+02 1.910e+02]\n"
               " ...\n"
               " [3.904e+03 3.905e+03 3.906e+03 ... 3.965e+03 3.966e+03 3.967e+03]\n"
               " [3.968e+03 3.969e+03 3.970e+03 ... 4.029e+03 4.030e+03 4.031e+03]\n"
               " [4.032e+03 4.033e+03 4.034e+03 ... 4.093e+03 4.094e+03 4.095e+03]] @cpu:0");
    check_text(hk_broadcast_to(test_range(hk_shape(2, 1)), hk_shape(2, 1000)),
               "[[0. 0. 0. ... 0. 0. 0.]\n [1. 1. 1. ... 1. 1. 1.]] @cpu:0");
}

static void test_failures(void)
{
    HK_SCOPE;
    char buffer[1024] = "";
    FILE *stream = fmemopen(buffer, sizeof buffer, "w");
    hk_array *x = test_range(hk_shape(2)), *bad = hk_index(x, 0, 5);
    CHECK_EQ_I64(hk_print(x, stream), 0);
    fflush(stream);
    CHECK_STR(buffer, "[0. 1.] @cpu:0\n");
    CHECK_EQ_I64(hk_print(bad, stream), 1);
    fflush(stream);
    CHECK(strstr(buffer, "hocket: index failed on cpu:0 at "));
    CHECK(strstr(buffer, "print_test.c"));
    CHECK(strstr(buffer, "out of range: index is 5"));
    CHECK_EQ_I64(hk_print(NULL, stream), 1);
    fclose(stream);
    char *text = hk_to_string(bad);
    CHECK(text && strstr(text, "index is 5") && text[strlen(text) - 1] != '\n');
    free(text);
    text = hk_to_string(test_empty(hk_shape(2)));
    CHECK(text && strstr(text, "the array was never written"));
    free(text);
}

static void test_all(bool serial)
{
    (void)serial;
    test_floats();
    test_scalars();
    test_others();
    test_long();
    test_failures();
}

int main(void)
{
    test_engines(test_all, (hk_runtime_options){0});
    return check_result();
}
