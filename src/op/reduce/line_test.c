/* Work along an axis: what the conformance test does not see of sorting, searching and cumulating. */
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <math.h>
#include <string.h>

static hk_device device;

static hk_array *array(const void *data, hk_dims shape, hk_dtype dtype)
{
    return hk_from_host(data, shape, dtype, device);
}

/* NaNs behind all numbers, or before them; equal elements in their order. */
static void test_order(void)
{
    HK_SCOPE;
    const float values[] = {2, NAN, -0.0f, INFINITY, 0, 2, -INFINITY, NAN};
    const int64_t rising[] = {6, 2, 4, 0, 5, 3, 1, 7}, falling[] = {1, 7, 3, 0, 5, 2, 4, 6};
    int64_t indices[8];
    float sorted[8];
    hk_array *x = array(values, hk_shape(8), HK_F32);
    CHECK(hk_ok(hk_to_host(hk_argsort(x, 0, false), indices, sizeof indices)));
    CHECK(memcmp(indices, rising, sizeof indices) == 0);
    CHECK(hk_ok(hk_to_host(hk_argsort(x, -1, true), indices, sizeof indices)));
    CHECK(memcmp(indices, falling, sizeof indices) == 0);
    CHECK(hk_ok(hk_to_host(hk_sort(x, 0, false), sorted, sizeof sorted)));
    for (int i = 0; i < 8; i++)
        CHECK(memcmp(&sorted[i], &values[rising[i]], sizeof(float)) == 0);
    const int64_t far[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1};
    int64_t in_order[3];
    CHECK(hk_ok(
        hk_to_host(hk_sort(array(far, hk_shape(3), HK_I64), 0, false), in_order, sizeof in_order)));
    CHECK(in_order[0] == INT64_MIN && in_order[1] == INT64_MAX - 1 && in_order[2] == INT64_MAX);
}

/* The first in that order; k from none to all. */
static void test_topk(void)
{
    HK_SCOPE;
    const float values[] = {2, NAN, 1, 2, 1};
    hk_array *x = array(values, hk_shape(5), HK_F32), *found, *indices;
    int64_t at[3];
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_topk(x, 3, 0, true, &found, &indices);
    hk_record_end();
    CHECK(hk_ok(hk_to_host(indices, at, sizeof at)) && at[0] == 1 && at[1] == 0 && at[2] == 3);
    CHECK(hk_ok(hk_backward(found)));
    float slopes[5];
    CHECK(hk_ok(hk_to_host(hk_grad(x), slopes, sizeof slopes)));
    for (int i = 0; i < 5; i++)
        CHECK(slopes[i] == (i == 0 || i == 1 || i == 3));
    hk_topk(x, 2, 0, false, NULL, &indices);
    CHECK(hk_ok(hk_to_host(indices, at, 16)) && at[0] == 2 && at[1] == 4);
    hk_topk(x, 6, 0, true, &found, &indices);
    CHECK(fails_with(found, HK_OUT_OF_RANGE, "k is 6, but axis 0 of x has 5"));
    CHECK(fails_with(indices, HK_OUT_OF_RANGE, "k is 6"));
    CHECK(hk_item(hk_argmin(x, 0), NULL) == 1 && hk_item(hk_argmax(x, 0), NULL) == 1);
    CHECK(hk_item(hk_argmin(hk_slice(x, 0, 2, 5), 0), NULL) == 0);
    CHECK(is_refused(hk_argmin(hk_slice(x, 0, 2, 2), 0), "none is the smallest"));
    hk_failures_clear();
}

/* Sizes around those of runs and of merges. */
static void test_sizes(void)
{
    for (int64_t size = 1; size < 3000; size = size * 3 / 2 + 1) {
        HK_SCOPE;
        int32_t values[3000];
        int64_t indices[3000];
        for (int64_t i = 0; i < size; i++)
            values[i] = (int32_t)(i * 7919 % 101);
        hk_array *x = array(values, hk_shape(size), HK_I32), *first;
        for (int64_t k = 1; k <= size; k = 3 * k + 1) {
            hk_topk(x, k, 0, k % 2, NULL, &first);
            hk_array *sorted = hk_slice(hk_argsort(x, 0, k % 2), 0, 0, k);
            CHECK(hk_item(hk_all(hk_equal(first, sorted), NULL), NULL) == 1);
        }
        CHECK(hk_ok(hk_to_host(hk_argsort(x, 0, false), indices, (size_t)size * sizeof *indices)));
        for (int64_t i = 1; i < size; i++) {
            const int32_t before = values[indices[i - 1]], here = values[indices[i]];
            CHECK(before < here || (before == here && indices[i - 1] < indices[i]));
        }
    }
}

static void test_search(void)
{
    HK_SCOPE;
    const double sorted[] = {-1, 0, 0, 2.5, NAN}, x[] = {-2, -1, 0, 1, 2.5, 3, NAN};
    const int64_t left[] = {0, 0, 1, 3, 3, 4, 4}, right[] = {0, 1, 3, 3, 4, 4, 5};
    int64_t found[7];
    hk_array *in = array(sorted, hk_shape(5), HK_F64), *of = array(x, hk_shape(7), HK_F64);
    CHECK(hk_ok(hk_to_host(hk_searchsorted(in, of, false), found, sizeof found)));
    CHECK(memcmp(found, left, sizeof found) == 0);
    CHECK(hk_ok(hk_to_host(hk_searchsorted(in, of, true), found, sizeof found)));
    CHECK(memcmp(found, right, sizeof found) == 0);
    const hk_status *status = hk_wait(hk_searchsorted(hk_reshape(in, hk_shape(5, 1)), of, false));
    CHECK(strstr(hk_status_message(status), "sorted has 2 axes") != NULL);
    status = hk_wait(hk_searchsorted(in, hk_cast(of, HK_F32), false));
    CHECK(strstr(hk_status_message(status), "hk_cast") != NULL);
    hk_wait_all();
    hk_failures_clear();
}

static void test_cumulative(void)
{
    HK_SCOPE;
    const int32_t large[] = {INT32_MAX, INT32_MAX, 1};
    int64_t sums[3];
    hk_array *y = hk_cumulative_sum(array(large, hk_shape(3), HK_I32), 0);
    CHECK(hk_ok(hk_to_host(y, sums, sizeof sums)));
    CHECK(sums[2] == 2 * (int64_t)INT32_MAX + 1);
    hk_array *tenths = hk_full(hk_shape(1000000), 0.1, HK_F32, device);
    CHECK(hk_item(hk_index(hk_cumulative_sum(tenths, 0), 0, -1), NULL) ==
          (float)(1e6 * (double)0.1f));
    /* Gradients at a 0, and behind it. */
    const double values[] = {2, 0, 3, 0, 5}, dy[] = {1, 2, 3, 4, 5};
    const double expected[] = {1, 4 + 18, 0, 0, 0};
    double grads[5];
    hk_array *x = array(values, hk_shape(5), HK_F64);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    y = hk_cumulative_prod(x, 0);
    hk_record_end();
    CHECK(hk_ok(hk_backward_from(y, array(dy, hk_shape(5), HK_F64))));
    CHECK(hk_ok(hk_to_host(hk_grad(x), grads, sizeof grads)));
    CHECK(memcmp(grads, expected, sizeof grads) == 0);
    const hk_status *status = hk_wait(hk_cumulative_sum(x, 1));
    CHECK_EQ_I64(hk_status_code(status), HK_OUT_OF_RANGE);
    hk_wait_all();
    hk_failures_clear();
}

/* Whether a is further out than b, or the first NaN. */
static bool is_further(float a, float b, bool is_max)
{
    return (is_max ? a > b : a < b) || (isnan(a) && !isnan(b));
}

/* Extremes of every dtype, many of them equal, of short lines and long ones, in rows, in columns and between others. */
static void test_places(void)
{
    static const int64_t shapes[][3] = {{300, 10, 1}, {3, 24, 1},  {3, 1, 7},    {5, 4200, 1},
                                        {1, 33, 300}, {2, 700, 5}, {1, 9000, 1}, {40, 25, 3}};
    static const hk_dtype dtypes[] = {HK_F32, HK_F64, HK_F16, HK_BF16, HK_I8,  HK_I16, HK_I32,
                                      HK_I64, HK_U8,  HK_U16, HK_U32,  HK_U64, HK_BOOL};
    static float values[21000];
    static int64_t places[2][3000];
    for (int shape = 0; shape < 8; shape++)
        for (int number = 0; number < 13 * 4; number++) {
            HK_SCOPE;
            const int64_t outer = shapes[shape][0], size = shapes[shape][1],
                          inner = shapes[shape][2];
            const hk_dtype dtype = dtypes[number / 4];
            const bool has_nan = number % 2, is_apart = number / 2 % 2, is_float = number < 16;
            uint32_t seed = (uint32_t)number;
            for (int64_t i = 0; i < outer * size * inner; i++) {
                seed = seed * 1664525u + 1013904223u;
                values[i] = dtype == HK_BOOL ? (float)(seed >> 31) : (float)(seed >> 25);
                if (is_float && has_nan && seed % 97 == 0)
                    values[i] = NAN;
            }
            hk_array *x = array(values, hk_shape(outer, size, inner), HK_F32);
            hk_array *y = hk_cast(x, dtype);
            if (is_apart)
                y = hk_permute_dims(hk_copy(hk_permute_dims(y, hk_shape(1, 2, 0))),
                                    hk_shape(2, 0, 1));
            CHECK(hk_ok(hk_to_host(hk_argmax(y, 1), places[1], (size_t)(outer * inner) * 8)));
            CHECK(hk_ok(hk_to_host(hk_argmin(y, 1), places[0], (size_t)(outer * inner) * 8)));
            int64_t wrong = 0;
            for (int64_t line = 0; line < outer * inner; line++)
                for (int is_max = 0; is_max < 2; is_max++) {
                    const float *from = values + line / inner * size * inner + line % inner;
                    int64_t best = 0;
                    for (int64_t i = 1; i < size; i++)
                        if (is_further(from[i * inner], from[best * inner], is_max))
                            best = i;
                    wrong += places[is_max][line] != best;
                }
            CHECK(wrong == 0);
        }
}

int main(void)
{
    device = hk_device_default();
    test_order();
    test_topk();
    test_sizes();
    test_search();
    test_cumulative();
    test_places();
    return check_result();
}
