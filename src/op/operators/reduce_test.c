/* Reductions: accuracy, layouts, special values, gradients where elements are equal, refusals. */
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <math.h>

static hk_device device;

static hk_array *array(const void *data, hk_dims shape, hk_dtype dtype)
{
    return hk_from_host(data, shape, dtype, device);
}

static hk_sum_options axes(int64_t axis)
{
    return (hk_sum_options){.axes = hk_shape(axis)};
}

static void test_accuracy(void)
{
    HK_SCOPE;
    const hk_dims shape = hk_shape(10000000);
    CHECK(hk_item(hk_sum(hk_ones(shape, HK_F32, device), NULL), NULL) == 1e7);
    CHECK(hk_item(hk_mean(hk_ones(shape, HK_F32, device), NULL), NULL) == 1);
    hk_array *tenths = hk_full(shape, 0.1, HK_F32, device);
    CHECK(hk_item(hk_sum(tenths, NULL), NULL) == (float)(1e7 * (double)0.1f));
    CHECK(fabs(hk_item(hk_sum(hk_full(shape, 0.1, HK_F64, device), NULL), NULL) - 1e6) < 1e-7);
    /* Column sums, the rows being many. */
    hk_sum_options first = axes(0);
    hk_array *columns = hk_sum(hk_reshape(tenths, hk_shape(-1, 10)), &first);
    CHECK(hk_item(hk_index(columns, 0, 9), NULL) == (float)(1e6 * (double)0.1f));
    CHECK(hk_item(hk_sum(hk_ones(hk_shape(70000), HK_BOOL, device), NULL), NULL) == 70000);
    const int32_t large[] = {INT32_MAX, INT32_MAX, 3};
    hk_array *sum = hk_sum(array(large, hk_shape(3), HK_I32), NULL);
    CHECK_EQ_I64(hk_array_dtype(sum), HK_I64);
    CHECK(hk_item(sum, NULL) == 2.0 * INT32_MAX + 3);
    const uint8_t bytes[] = {1, 2};
    CHECK(hk_item(hk_mean(array(bytes, hk_shape(2), HK_U8), NULL), NULL) == 1.5);
}

/* All subsets of axes of views of all kinds, against plain loops over the copied values. */
static void check_view(hk_array *x)
{
    HK_SCOPE;
    const int ndim = hk_ndim(x);
    const hk_dims shape = hk_dims_get(x);
    const int64_t size = hk_size(x);
    double *values = malloc((size_t)size * sizeof *values);
    double *sums = malloc((size_t)size * sizeof *sums), *most = malloc((size_t)size * sizeof *most);
    double *got = malloc((size_t)size * sizeof *got);
    CHECK(hk_ok(hk_to_host(x, values, (size_t)size * sizeof *values)));
    for (unsigned mask = 1; mask < 1u << ndim; mask++) {
        HK_SCOPE;
        hk_sum_options options = {.keepdims = mask & 1};
        int64_t results = 1;
        for (int i = 0; i < ndim; i++) {
            if (mask >> i & 1)
                options.axes.dims[options.axes.ndim++] = i % 2 ? i : i - ndim;
            else
                results *= shape.dims[i];
        }
        for (int64_t i = 0; i < results; i++) {
            sums[i] = 0;
            most[i] = -INFINITY;
        }
        for (int64_t i = 0; i < size; i++) {
            int64_t at = 0, scale = 1, rest = i;
            for (int axis = ndim - 1; axis >= 0; axis--) {
                if (!(mask >> axis & 1)) {
                    at += rest % shape.dims[axis] * scale;
                    scale *= shape.dims[axis];
                }
                rest /= shape.dims[axis];
            }
            sums[at] += values[i];
            most[at] = fmax(most[at], values[i]);
        }
        hk_array *sum = hk_sum(x, &options);
        const hk_max_options max_options = {.axes = options.axes, .keepdims = options.keepdims};
        hk_array *max = hk_max(x, &max_options);
        CHECK_EQ_I64(hk_size(sum), results);
        CHECK_EQ_I64(hk_ndim(sum), options.keepdims ? ndim : ndim - options.axes.ndim);
        CHECK(hk_ok(hk_to_host(sum, got, (size_t)results * sizeof *got)));
        bool right = true;
        for (int64_t i = 0; i < results; i++)
            right = right && got[i] == sums[i];
        CHECK(right);
        CHECK(hk_ok(hk_to_host(max, got, (size_t)results * sizeof *got)));
        right = true;
        for (int64_t i = 0; i < results; i++)
            right = right && got[i] == most[i];
        CHECK(right);
    }
    free(got);
    free(most);
    free(sums);
    free(values);
}

/* Whole numbers, so that sums are exact in any order. */
static hk_array *whole_numbers(hk_dims shape)
{
    return hk_cast(hk_random_int(-1000, 1000, shape, HK_I32, device), HK_F64);
}

static void test_layouts(void)
{
    HK_SCOPE;
    hk_seed(3);
    hk_array *x = whole_numbers(hk_shape(3, 17, 40, 5));
    check_view(x);
    check_view(hk_transpose(x));
    check_view(hk_permute(x, (const int[]){2, 0, 3, 1}, 4));
    check_view(hk_slice(x, 2, 3, 33));
    check_view(hk_slice(hk_transpose(x), 0, 1, 3));
    check_view(hk_broadcast_to(hk_slice(x, 1, 4, 5), hk_shape(3, 6, 40, 5)));
    check_view(hk_broadcast_to(hk_index(hk_index(x, 0, 0), 0, 0), hk_shape(2, 40, 5)));
    check_view(whole_numbers(hk_shape(5000, 3)));
    check_view(whole_numbers(hk_shape(3, 5000)));
    check_view(hk_transpose(whole_numbers(hk_shape(7, 3000))));
    check_view(whole_numbers(hk_shape(1, 600, 1, 700)));
    check_view(whole_numbers(hk_shape(2, 2000)));
    check_view(whole_numbers(hk_shape(100000)));
}

static void test_special(void)
{
    HK_SCOPE;
    float values[3000];
    for (int i = 0; i < 3000; i++)
        values[i] = (float)-i;
    values[1234] = NAN;
    hk_array *x = array(values, hk_shape(3000), HK_F32);
    CHECK(isnan(hk_item(hk_max(x, NULL), NULL)));
    CHECK(isnan(hk_item(hk_min(x, NULL), NULL)));
    CHECK(isnan(hk_item(hk_sum(x, NULL), NULL)));
    CHECK(hk_item(hk_argmax(x, 0), NULL) == 1234);
    values[1234] = 0;
    x = array(values, hk_shape(3000), HK_F32);
    CHECK(hk_item(hk_argmax(x, -1), NULL) == 0);
    CHECK(hk_item(hk_max(x, NULL), NULL) == 0 && hk_item(hk_min(x, NULL), NULL) == -2999);
    const float infinite[] = {-INFINITY, -INFINITY};
    CHECK(hk_item(hk_max(array(infinite, hk_shape(2), HK_F32), NULL), NULL) == -INFINITY);
    hk_array *empty = hk_zeros(hk_shape(0, 3), HK_F32, device);
    float sums[3] = {1, 1, 1};
    hk_sum_options first = axes(0);
    CHECK(hk_ok(hk_to_host(hk_sum(empty, &first), sums, sizeof sums)));
    CHECK(sums[0] == 0 && sums[2] == 0);
    CHECK(isnan(hk_item(hk_mean(empty, NULL), NULL)));
    const int64_t least[] = {INT64_MIN, INT64_MIN + 1};
    int64_t most = 0;
    CHECK(hk_ok(hk_to_host(hk_max(array(least, hk_shape(2), HK_I64), NULL), &most, sizeof most)));
    CHECK(most == INT64_MIN + 1);
}

static void test_ties(void)
{
    HK_SCOPE;
    const double values[] = {1, 3, 3, 3, NAN, 0, NAN, 5};
    double got[8];
    hk_array *x = array(values, hk_shape(2, 4), HK_F64);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    const hk_max_options last = {.axes = hk_shape(1)};
    hk_array *y = hk_max(x, &last);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(hk_ok(hk_to_host(hk_grad(x), got, sizeof got)));
    const double expected[] = {0, 1.0 / 3, 1.0 / 3, 1.0 / 3, 0.5, 0, 0.5, 0};
    for (int i = 0; i < 8; i++)
        CHECK(got[i] == expected[i]);
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(2, 0), HK_F32, device);
    hk_sum_options options = {.axes = hk_shape(0, 2)};
    CHECK(fails_with(hk_sum(x, &options), HK_OUT_OF_RANGE, "axes[1] is 2"));
    options.axes = hk_shape(0, -2);
    CHECK(fails_with(hk_sum(x, &options), HK_INVALID_ARGUMENT, "axes[1] is -2"));
    options.axes.ndim = 9;
    CHECK(fails_with(hk_sum(x, &options), HK_INVALID_ARGUMENT, "axes holds 9"));
    options.axes.ndim = -1;
    CHECK(fails_with(hk_sum(x, &options), HK_INVALID_ARGUMENT, "axes holds -1"));
    CHECK(fails_with(hk_max(x, NULL), HK_INVALID_ARGUMENT, "max of no elements"));
    CHECK(fails_with(hk_argmax(x, 1), HK_INVALID_ARGUMENT, "axis 1 has size 0"));
    CHECK(fails_with(hk_argmax(x, 2), HK_OUT_OF_RANGE, "axis is 2"));
    CHECK(fails_with(hk_argmax(hk_scalar(1, HK_F32, device), 0), HK_OUT_OF_RANGE, "0 axes"));
    CHECK(fails_with(hk_softmax(x, -3), HK_OUT_OF_RANGE, "axis is -3"));
    hk_failures_clear();
}

int main(void)
{
    device = hk_device_default();
    test_accuracy();
    test_layouts();
    test_special();
    test_ties();
    test_refusals();
    return check_result();
}
