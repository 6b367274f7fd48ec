/* Shapes and element types. */
#include "array/array.h"
#include "array/integer_element.h"
#include "tests/check.h"

#include <limits.h>
#include <math.h>

static void test_shapes(void)
{
    int64_t size;
    char text[192];
    hk_dims scalar = hk_shape(), matrix = hk_shape(2, 3), empty = hk_shape(4, 0);
    CHECK_EQ_I64(scalar.ndim, 0);
    CHECK(hki_dims_size(&scalar, &size) && size == 1);
    CHECK_EQ_I64(matrix.ndim, 2);
    CHECK(hki_dims_size(&matrix, &size) && size == 6);
    CHECK(hki_dims_size(&empty, &size) && size == 0);
    hki_dims_describe(&scalar, text, sizeof text);
    CHECK_STR(text, "()");
    hki_dims_describe(&matrix, text, sizeof text);
    CHECK_STR(text, "(2,3)");
    hk_dims vector = hk_shape(4);
    hki_dims_describe(&vector, text, sizeof text);
    CHECK_STR(text, "(4,)");
    hki_dims_describe(&matrix, text, 4); /* cut, not overrun */
    CHECK_STR(text, "(2,");
    CHECK(hki_dims_equal(&matrix, &matrix));
    CHECK(!hki_dims_equal(&matrix, &vector));
    CHECK(!hki_dims_equal(&matrix, &empty));
    hk_dims most = hk_shape(1, 2, 3, 4, 5, 6, 7, 8);
    CHECK(hki_dims_size(&most, &size) && size == 40320);
}

static void test_invalid_shapes(void)
{
    int64_t size, many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    uint64_t bytes = 7;
    char why[320];
    hk_dims nine = hk_dims_of(many, 9), negative = hk_shape(2, -3), wide = {.ndim = -1};
    hk_dims product = hk_shape(INT64_MAX, 3);
    hk_dims hidden = hk_shape((int64_t)1 << 40, 0, (int64_t)1 << 40);
    hk_dims edge = hk_shape((int64_t)1 << 60), over = hk_shape((int64_t)1 << 60, 2);
    CHECK(!hki_dims_size(&nine, &size));
    CHECK(!hki_dims_size(&negative, &size));
    CHECK(!hki_dims_size(&wide, &size));
    CHECK(!hki_dims_size(&product, &size));
    CHECK(!hki_dims_size(&hidden, &size));
    CHECK(hki_dims_equal(&nine, &nine));
    CHECK_EQ_I64(hk_dims_of(many, (size_t)INT_MAX + 5).ndim, INT_MAX);

    CHECK(!hki_dims_bytes(&nine, HK_F32, &bytes, why, sizeof why));
    CHECK_STR(why, "shape has 9 axes, but may have 0 to 8");
    CHECK(!hki_dims_bytes(&negative, HK_F32, &bytes, why, sizeof why));
    CHECK_STR(why, "shape is (2,-3), but axis 1 must have a size of 0 or more, not -3");
    CHECK(!hki_dims_bytes(&product, HK_F32, &bytes, NULL, 0));
    CHECK(!hki_dims_bytes(&hidden, HK_F32, &bytes, NULL, 0));
    CHECK(!hki_dims_bytes(&over, HK_F32, &bytes, why, sizeof why));
    CHECK_STR(why,
              "shape is (1152921504606846976,2), but float32 of it takes more than 2^62 bytes");
    CHECK(!hki_dims_bytes(&edge, (hk_dtype)17, &bytes, why, sizeof why));
    CHECK_STR(why, "dtype is 17, but must be from 0 (float32) to 14 (complex128)");
    CHECK_EQ_I64(bytes, 7);
    CHECK(hki_dims_bytes(&edge, HK_F32, &bytes, why, sizeof why));
    CHECK(bytes == HKI_MAX_BYTES);
}

static void test_strides(void)
{
    int64_t strides[HK_MAX_NDIM];
    hk_dims shape = hk_shape(2, 3, 4), empty = hk_shape(2, 0, 4);
    hki_dims_strides(&shape, strides);
    CHECK(strides[0] == 12 && strides[1] == 4 && strides[2] == 1);
    hki_dims_strides(&empty, strides);
    CHECK(strides[0] == 4 && strides[1] == 4 && strides[2] == 1);
}

static void check_broadcast(hk_dims a, hk_dims b, hk_dims expected)
{
    hk_dims out;
    CHECK(hki_dims_broadcast(&a, &b, &out) && hki_dims_equal(&out, &expected));
    CHECK(hki_dims_broadcast(&b, &a, &out) && hki_dims_equal(&out, &expected));
}

static void test_broadcast(void)
{
    hk_dims a = hk_shape(2, 3), b = hk_shape(2), out;
    check_broadcast(hk_shape(2, 3), hk_shape(3), hk_shape(2, 3));
    check_broadcast(hk_shape(2, 1), hk_shape(1, 3), hk_shape(2, 3));
    check_broadcast(hk_shape(), hk_shape(4, 5), hk_shape(4, 5));
    check_broadcast(hk_shape(1), hk_shape(0), hk_shape(0));
    check_broadcast(hk_shape(5, 1, 4), hk_shape(3, 1), hk_shape(5, 3, 4));
    CHECK(!hki_dims_broadcast(&a, &b, &out));
}

static void test_dtypes(void)
{
    static const size_t bytes[HK_DTYPE_COUNT] = {4, 8, 4, 8, 1, 1, 2, 2, 1, 2, 2, 4, 8, 8, 16};
    static const char *const names[HK_DTYPE_COUNT] = {
        "float32", "float64", "int32",  "int64",  "uint8",  "bool",      "float16",   "bfloat16",
        "int8",    "int16",   "uint16", "uint32", "uint64", "complex64", "complex128"};
    _Alignas(8) char element[HKI_ELEMENT_BYTES];
    for (int i = 0; i < HK_DTYPE_COUNT; i++) {
        CHECK_EQ_I64(hk_dtype_bytes((hk_dtype)i), bytes[i]);
        CHECK_EQ_I64(hki_dtype_bytes((hk_dtype)i), bytes[i]);
        CHECK_STR(hk_dtype_name((hk_dtype)i), names[i]);
        CHECK(hki_dtype_store((hk_dtype)i, element, 1));
        CHECK(hki_dtype_load((hk_dtype)i, element) == 1);
    }
    CHECK_EQ_I64(hk_dtype_bytes((hk_dtype)HK_DTYPE_COUNT), 0);
    CHECK_EQ_I64(hk_dtype_bytes((hk_dtype)-1), 0);
    CHECK_STR(hk_dtype_name((hk_dtype)-1), "invalid");
    CHECK(hki_dtype_store(HK_I32, element, -2.9) && hki_dtype_load(HK_I32, element) == -2);
    CHECK(hki_dtype_store(HK_I32, element, -0x1p31));
    CHECK(!hki_dtype_store(HK_I32, element, 0x1p31));
    CHECK(!hki_dtype_store(HK_I32, element, NAN));
    CHECK(!hki_dtype_store(HK_I64, element, 0x1p63));
    CHECK(hki_dtype_store(HK_I64, element, -0x1p63));
    CHECK(hki_dtype_store(HK_U8, element, 255.5) && hki_dtype_load(HK_U8, element) == 255);
    CHECK(!hki_dtype_store(HK_U8, element, 256) && !hki_dtype_store(HK_U8, element, -1));
    CHECK(hki_dtype_store(HK_BOOL, element, -0.5) && hki_dtype_load(HK_BOOL, element) == 1);
    CHECK(hki_dtype_store(HK_F32, element, 0.1) && hki_dtype_load(HK_F32, element) == (double)0.1f);
    CHECK(hki_dtype_store(HK_I8, element, -128.9) && hki_dtype_load(HK_I8, element) == -128);
    CHECK(!hki_dtype_store(HK_I8, element, 128) && !hki_dtype_store(HK_I8, element, -129));
    CHECK(hki_dtype_store(HK_U32, element, 0x1p32 - 1) &&
          !hki_dtype_store(HK_U32, element, 0x1p32));
    CHECK(hki_dtype_store(HK_U64, element, 0x1p63) && hki_dtype_load(HK_U64, element) == 0x1p63);
    CHECK(hki_integer_load(HK_U64, element, 0) == INT64_MIN);
    CHECK(!hki_dtype_store(HK_U64, element, 0x1p64) && !hki_dtype_store(HK_U64, element, -1));
    CHECK(!hki_dtype_store((hk_dtype)HK_DTYPE_COUNT, element, 1));
    CHECK(hki_complex_store(HK_C64, element, (hk_complex){1, -2}) &&
          hki_complex_load(HK_C64, element).imag == -2 && hki_dtype_load(HK_C64, element) == 1);
    CHECK(hki_complex_store(HK_C128, element, (hk_complex){0.1, 0.2}) &&
          hki_complex_load(HK_C128, element).imag == 0.2);
    CHECK(!hki_complex_store(HK_F32, element, (hk_complex){1, -2}));
    CHECK(hki_complex_store(HK_I8, element, (hk_complex){3, 0}) &&
          hki_complex_load(HK_I8, element).real == 3);
}

int main(void)
{
    test_shapes();
    test_invalid_shapes();
    test_strides();
    test_broadcast();
    test_dtypes();
    return check_result();
}
