/* Dot products in one pass: the bytes of multiply and sum, and of halves; values beyond float32. */
#include "tests/check.h"

#include "op/operator_fixture.h"
#include "tests/same_bytes.h"

#include <math.h>

static hk_device device;

static hk_array *summed(hk_array *x, int64_t axis)
{
    const hk_sum_options over = {.axes = hk_shape(axis)};
    return hk_sum(x, &over);
}

/* Of integers as large that products wrap around. */
static hk_array *values(hk_dims shape, hk_dtype dtype)
{
    const int64_t bytes = (int64_t)hk_dtype_bytes(dtype);
    const int64_t most = bytes == 1 ? 100 : bytes == 2 ? 30000 : 100000;
    const bool is_unsigned =
        dtype == HK_U8 || dtype == HK_U16 || dtype == HK_U32 || dtype == HK_U64;
    if (dtype == HK_F32 || dtype == HK_F64)
        return hk_random_normal(shape, dtype, device);
    return hk_cast(hk_random_int(is_unsigned ? 0 : -most, most, shape, HK_I32, device), dtype);
}

static void check_pair(hk_array *x, hk_array *y)
{
    hk_array *products = hk_multiply(x, y);
    CHECK(same_bytes(hk_vecdot(x, y), summed(products, -1)));
}

static void test_bytes(void)
{
    static const int64_t sizes[] = {25,   31,   32,   160,  1000,  1024,   1040,
                                    2048, 3333, 3904, 4096, 70000, 200000, 1000003};
    static const hk_dtype dtypes[] = {HK_F32, HK_F64, HK_I8,  HK_I16, HK_I32,
                                      HK_I64, HK_U8,  HK_U16, HK_U32, HK_U64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof dtypes / sizeof *dtypes; j++) {
            HK_SCOPE;
            const int64_t n = sizes[i];
            check_pair(values(hk_shape(n), dtypes[j]), values(hk_shape(n), dtypes[j]));
            if (n > 70000)
                continue;
            hk_array *rows = values(hk_shape(3, 2, n), dtypes[j]);
            check_pair(rows, values(hk_shape(3, 2, n), dtypes[j]));
            check_pair(rows, values(hk_shape(n), dtypes[j]));
            check_pair(hk_slice(rows, 2, 1, n), values(hk_shape(2, 1, 1, n - 1), dtypes[j]));
            check_pair(hk_transpose(values(hk_shape(n, 2), dtypes[j])), rows);
        }
    HK_SCOPE;
    check_pair(values(hk_shape(100, 1500), HK_F32), values(hk_shape(100, 1500), HK_F32));
}

/* Of one vector the sum of its halves, added up in the dtype, where they are whole runs. */
static void test_halves(void)
{
    for (int64_t n = 64; n <= 1 << 20; n = n * 4 + 32) {
        HK_SCOPE;
        hk_array *x = values(hk_shape(n), HK_F32), *y = values(hk_shape(n), HK_F32);
        hk_array *first = hk_vecdot(hk_slice(x, 0, 0, n / 2), hk_slice(y, 0, 0, n / 2));
        hk_array *second = hk_vecdot(hk_slice(x, 0, n / 2, n), hk_slice(y, 0, n / 2, n));
        CHECK(same_bytes(hk_vecdot(x, y), hk_add(first, second)));
    }
}

/* Four products that overflow float32 when they are added up, and not in double. */
static void test_large(void)
{
    HK_SCOPE;
    float x[64] = {0};
    for (int i = 0; i < 64; i += 8)
        x[i] = i < 32 ? 3e38f : -3e38f;
    hk_array *a = hk_from_host(x, hk_shape(1, 64), HK_F32, device);
    hk_array *ones = hk_ones(hk_shape(1, 64), HK_F32, device);
    CHECK(hk_item(hk_vecdot(a, ones), NULL) == 0);
    x[1] = NAN;
    CHECK(isnan(hk_item(hk_vecdot(hk_from_host(x, hk_shape(1, 64), HK_F32, device), ones), NULL)));
}

static void test_accuracy(void)
{
    HK_SCOPE;
    const int64_t n = 10000000;
    hk_array *tenths = hk_full(hk_shape(n), 0.1, HK_F32, device);
    hk_array *ones = hk_ones(hk_shape(1, n), HK_F32, device);
    const double exact = (double)n * (double)0.1f;
    CHECK(fabs(hk_item(hk_vecdot(tenths, hk_reshape(ones, hk_shape(n))), NULL) / exact - 1) < 5e-7);
    CHECK(hk_item(hk_vecdot(tenths, ones), NULL) == (float)exact);
}

static void test_gradient(void)
{
    HK_SCOPE;
    hk_array *x = values(hk_shape(3, 40), HK_F64), *y = values(hk_shape(40), HK_F64);
    hk_array *weights = values(hk_shape(3), HK_F64);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_attach_grad(y, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_sum(hk_multiply(hk_vecdot(x, y), weights), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    hk_array *column = hk_expand_dims(weights, -1);
    CHECK(same_bytes(hk_grad(x), hk_multiply(column, y)));
    CHECK(same_bytes(hk_grad(y), summed(hk_multiply(column, x), 0)));
}

int main(void)
{
    device = hk_device_default();
    hk_seed(5);
    test_bytes();
    test_halves();
    test_large();
    test_accuracy();
    test_gradient();
    return check_result();
}
