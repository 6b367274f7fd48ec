/* Reductions: accuracy, layouts, special values, gradients where elements are equal, refusals. */
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <math.h>
#include <string.h>

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
    /* Column sums, the rows being many: samples, maybe, whose sums are rounded in pairs. */
    hk_sum_options first = axes(0);
    hk_array *columns = hk_sum(hk_reshape(tenths, hk_shape(-1, 10)), &first);
    CHECK(fabs(hk_item(hk_index(columns, 0, 9), NULL) / (1e6 * (double)0.1f) - 1) < 5e-7);
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
    check_view(hk_permute_dims(x, hk_shape(2, 0, 3, 1)));
    check_view(hk_slice(x, 2, 3, 33));
    check_view(hk_slice(hk_transpose(x), 0, 1, 3));
    check_view(hk_broadcast_to(hk_slice(x, 1, 4, 5), hk_shape(3, 6, 40, 5)));
    check_view(hk_broadcast_to(hk_index(hk_index(x, 0, 0), 0, 0), hk_shape(2, 40, 5)));
    check_view(whole_numbers(hk_shape(5000, 3)));
    check_view(whole_numbers(hk_shape(3, 5000)));
    check_view(hk_transpose(whole_numbers(hk_shape(7, 3000))));
    check_view(whole_numbers(hk_shape(1, 600, 1, 700)));
    check_view(whole_numbers(hk_shape(2, 2000)));
    check_view(whole_numbers(hk_shape(9, 70, 3, 13)));
    check_view(hk_slice(whole_numbers(hk_shape(40, 66, 4, 29)), 3, 2, 28));
    check_view(whole_numbers(hk_shape(100000)));
}

/* Sums over axis 0 are those over its halves, added up in the dtype, where halves are whole runs: to the last bit. */
static void check_halves(hk_array *x, const hk_sum_options *options)
{
    HK_SCOPE;
    const int64_t n = hk_dim(x, 0);
    hk_array *whole = hk_sum(x, options);
    hk_array *halves = hk_add(hk_sum(hk_slice(x, 0, 0, n / 2), options),
                              hk_sum(hk_slice(x, 0, n / 2, n), options));
    CHECK(hk_item(hk_sum(hk_not_equal(whole, halves), NULL), NULL) == 0);
}

static void test_halves(void)
{
    static const int64_t samples[] = {32, 96, 160, 2048, 6016};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        for (int dtype = HK_F32; dtype <= HK_F64; dtype += HK_F64 - HK_F32) {
            HK_SCOPE;
            const int64_t n = samples[i];
            const hk_sum_options first = axes(0), all = {.axes = {.ndim = 0}};
            const hk_sum_options planes = {.axes = hk_shape(0, 2), .keepdims = true};
            hk_array *x = hk_random_uniform(hk_shape(n, 7, 5), (hk_dtype)dtype, device);
            hk_array *line = hk_random_uniform(hk_shape(n), (hk_dtype)dtype, device);
            hk_array *wide = hk_random_uniform(hk_shape(n, 300), (hk_dtype)dtype, device);
            hk_array *images = hk_random_uniform(hk_shape(n, 80, 3), (hk_dtype)dtype, device);
            hk_array *turned =
                hk_transpose(hk_random_uniform(hk_shape(6, n), (hk_dtype)dtype, device));
            check_halves(line, &all);
            check_halves(x, &all);
            check_halves(x, &first);
            check_halves(x, &planes);
            check_halves(images, &planes);
            check_halves(wide, &first);
            check_halves(turned, &first);
            check_halves(turned, &all);
            check_halves(hk_slice(wide, 1, 3, 4), &first);
        }
    }
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

/* 16 numbers in pairs of those that are half of all apart. */
static float sixteen(const float *x)
{
    float lane[16];
    memcpy(lane, x, sizeof lane);
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

/* base/sum_tree.h, of numbers. */
static float tree(const float *x, int64_t runs)
{
    const int64_t half = runs - runs / 2;
    return runs == 1 ? sixteen(x) : tree(x, half) + tree(x + 16 * half, runs / 2);
}

/* Sums of any number of runs have the tree's bytes, on each instruction set: the references are not vectors. */
static void test_tree(void)
{
    enum { MOST = 600 };
    static float x[16 * MOST];
    int64_t wrong = 0;
    for (int i = 0; i < 16 * MOST; i++)
        x[i] = sinf((float)i) * (float)(1 << i % 13);
    for (int64_t runs = 1; runs <= MOST; runs++) {
        HK_SCOPE;
        const double sum = hk_item(hk_sum(array(x, hk_shape(16 * runs), HK_F32), NULL), NULL);
        wrong += sum != (double)tree(x, runs);
    }
    CHECK_EQ_I64(wrong, 0);
}

/* Columns of any number are added up as a line is, 16 rows at a time, and fewer ones in double; for each number of columns. */
static void test_columns(void)
{
    enum { ROWS = 70, MOST = 40 };
    static float x[ROWS * MOST], y[MOST], line[ROWS];
    int64_t wrong = 0;
    for (int i = 0; i < ROWS * MOST; i++)
        x[i] = sinf((float)i) * (float)(1 << i % 13);
    for (int rows = 1; rows <= ROWS; rows++)
        for (int columns = 1; columns <= MOST; columns += columns < 20 ? 1 : 7) {
            HK_SCOPE;
            const hk_sum_options down = axes(0);
            hk_array *sum = hk_sum(array(x, hk_shape(rows, columns), HK_F32), &down);
            CHECK(hk_ok(hk_to_host(sum, y, (size_t)columns * sizeof *y)));
            for (int j = 0; j < columns; j++) {
                double exact = 0;
                for (int i = 0; i < rows; i++) {
                    line[i] = x[i * columns + j];
                    exact += (double)line[i];
                }
                if (rows % 16 == 0)
                    wrong += y[j] != tree(line, rows / 16);
                else if (rows < 16)
                    wrong += y[j] != (float)exact;
                else
                    wrong += y[j] != (float)hk_item(
                                         hk_sum(array(line, hk_shape(rows), HK_F32), NULL), NULL);
            }
        }
    CHECK_EQ_I64(wrong, 0);
}

/* Sums that are no samples': of the axes after the first. Whether x is a view, and whatever other rows there are, a row has the
 * same bytes; four numbers at most are added in float. */
static void test_rows(void)
{
    enum { ROWS = 300, MOST = 100 };
    static float x[ROWS * MOST], y[ROWS], alone;
    int64_t wrong = 0;
    const hk_sum_options along = axes(1);
    for (int i = 0; i < ROWS * MOST; i++)
        x[i] = sinf((float)i) * (float)(1 << i % 13);
    for (int size = 1; size <= MOST; size += size < 40 ? 1 : 9) {
        HK_SCOPE;
        hk_array *rows = array(x, hk_shape(ROWS, size), HK_F32);
        hk_array *wide = hk_stack((hk_array *[]){rows, rows, rows}, 3, 2);
        float of_view[ROWS];
        CHECK(hk_ok(hk_to_host(hk_sum(rows, &along), y, sizeof y)));
        CHECK(hk_ok(hk_to_host(hk_sum(hk_index(wide, 2, 1), &along), of_view, sizeof of_view)));
        CHECK(memcmp(y, of_view, sizeof y) == 0);
        for (int i = 0; i < ROWS; i++) {
            double exact = 0, most = 0;
            for (int j = 0; j < size; j++) {
                exact += (double)x[i * size + j];
                most += fabs((double)x[i * size + j]);
            }
            wrong += fabs((double)y[i] - exact) > 0x1p-24 * (2 * most + fabs(exact));
        }
        for (int i = 0; i < ROWS; i += 97) {
            CHECK(hk_ok(
                hk_to_host(hk_sum(hk_slice(rows, 0, i, i + 1), &along), &alone, sizeof alone)));
            wrong += alone != y[i];
        }
    }
    CHECK_EQ_I64(wrong, 0);
}

/* Sums whose parts are beyond the largest float, but not the whole; what is infinite leaves other rows as they are. */
static void test_large(void)
{
    enum { ROWS = 20 };
    static const int sizes[] = {4, 16, 24, 40, 64, 1000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        HK_SCOPE;
        const int size = sizes[s];
        const hk_sum_options along = axes(1);
        const hk_max_options along_max = {.axes = along.axes};
        const hk_min_options along_min = {.axes = along.axes};
        float *x = malloc(sizeof(float) * ROWS * (size_t)size), plain[ROWS], y[ROWS];
        for (int i = 0; i < ROWS * size; i++)
            x[i] = sinf((float)i);
        hk_array *smooth = array(x, hk_shape(ROWS, size), HK_F32);
        CHECK(hk_ok(hk_to_host(hk_sum(smooth, &along), plain, sizeof plain)));
        for (int j = 0; j < size; j++)
            x[3 * size + j] = j < size / 2 ? 3e38f : -3e38f;
        x[5 * size + size - 1] = INFINITY;
        x[7 * size] = NAN;
        for (int kind = 0; kind < 2; kind++) {
            hk_array *rows = array(x, hk_shape(ROWS, size), HK_F32);
            /* the same rows in columns of memory */
            if (kind)
                rows = hk_transpose(hk_copy(hk_transpose(rows)));
            CHECK(hk_ok(hk_to_host(hk_sum(rows, &along), y, sizeof y)));
            CHECK(y[3] == 0 && y[5] == INFINITY && isnan(y[7]));
            for (int i = 0; i < ROWS && !kind; i++)
                CHECK(i == 3 || i == 5 || i == 7 || y[i] == plain[i]);
            CHECK(hk_ok(hk_to_host(hk_max(rows, &along_max), y, sizeof y)));
            CHECK(y[3] == 3e38f && y[5] == INFINITY && isnan(y[7]) && !isnan(y[6]));
            CHECK(hk_ok(hk_to_host(hk_min(rows, &along_min), y, sizeof y)));
            CHECK(y[3] == -3e38f && isnan(y[7]) && !isnan(y[8]));
        }
        free(x);
    }
}

/* A NaN anywhere is found. */
static void test_nan_places(void)
{
    enum { MOST = 100 };
    float x[3 * MOST], y[3];
    const hk_max_options along_max = {.axes = hk_shape(1)};
    const hk_min_options along_min = {.axes = hk_shape(1)};
    for (int size = 1; size <= MOST; size += 3)
        for (int at = 0; at < size; at++) {
            HK_SCOPE;
            for (int i = 0; i < 3 * size; i++)
                x[i] = (float)(i % 7);
            x[size + at] = NAN;
            hk_array *rows = array(x, hk_shape(3, size), HK_F32);
            hk_array *results[] = {hk_max(rows, &along_max), hk_min(rows, &along_min),
                                   hk_max(hk_cast(rows, HK_F64), &along_max)};
            for (int i = 0; i < 3; i++) {
                CHECK(hk_ok(hk_to_host(hk_cast(results[i], HK_F32), y, sizeof y)));
                CHECK(!isnan(y[0]) && isnan(y[1]) && !isnan(y[2]));
            }
        }
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
    CHECK(fails_with(hk_argmax(hk_scalar(1, HK_F32, device), 0), HK_OUT_OF_RANGE, "has no axes"));
    CHECK(fails_with(hk_softmax(x, -3), HK_OUT_OF_RANGE, "axis is -3"));
    hk_failures_clear();
}

static void test_products(void)
{
    HK_SCOPE;
    const double values[] = {2, 0, 3, 4, 5, 6, 0, 7, 0},
                 expected[] = {0, 6, 0, 30, 24, 20, 0, 0, 0};
    double grads[9];
    hk_array *x = array(values, hk_shape(3, 3), HK_F64);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_prod(x, &(hk_prod_options){.axes = hk_shape(1)});
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(hk_ok(hk_to_host(hk_grad(x), grads, sizeof grads)));
    for (int i = 0; i < 9; i++)
        CHECK(grads[i] == expected[i]);
    CHECK(hk_item(hk_index(y, 0, 1), NULL) == 120);
    CHECK(hk_item(hk_prod(hk_full(hk_shape(70), 2, HK_I32, device), NULL), NULL) ==
          0); /* 2^70 wraps */
    CHECK(hk_item(hk_prod(hk_full(hk_shape(62), 2, HK_I32, device), NULL), NULL) == 0x1p62);
    const double near =
        hk_item(hk_prod(hk_full(hk_shape(100000), 1.0001, HK_F32, device), NULL), NULL);
    CHECK(fabs(near / pow((double)1.0001f, 100000) - 1) < 1e-6);
}

static void test_truth(void)
{
    HK_SCOPE;
    const float values[] = {0, -0.0f, NAN, 0, 1, 1};
    const hk_dims last = hk_shape(1);
    hk_array *x = array(values, hk_shape(3, 2), HK_F32);
    int64_t counts[3];
    bool any[3], all[3];
    CHECK(hk_ok(hk_to_host(hk_count_nonzero(x, &(hk_count_nonzero_options){.axes = last}), counts,
                           sizeof counts)));
    CHECK(hk_ok(hk_to_host(hk_any(x, &(hk_any_options){.axes = last}), any, sizeof any)));
    CHECK(hk_ok(hk_to_host(hk_all(x, &(hk_all_options){.axes = last}), all, sizeof all)));
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_I64(counts[i], i);
        CHECK(any[i] == (i > 0) && all[i] == (i > 1));
    }
    CHECK_EQ_I64(hk_array_dtype(hk_all(x, NULL)), HK_BOOL);
    hk_array *none = hk_zeros(hk_shape(0), HK_F32, device);
    CHECK(hk_item(hk_all(none, NULL), NULL) == 1 && hk_item(hk_any(none, NULL), NULL) == 0);
    CHECK(hk_item(hk_prod(none, NULL), NULL) == 1 && hk_item(hk_norm(none, NULL), NULL) == 0);
    CHECK(hk_item(hk_count_nonzero(hk_ones(hk_shape(100, 70), HK_BOOL, device), NULL), NULL) ==
          7000);
}

/* What is composed of other operators: results belong to the caller's scope, errors name the operator that was called. */
static void test_composed(void)
{
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(3), 1000, HK_F32, device), *y;
    {
        HK_SCOPE;
        y = hk_take(hk_logsumexp(x, NULL));
    }
    CHECK(fabs(hk_item(y, NULL) - 1000 - log(3)) < 1e-4);
    hk_array_release(y);
    const float infinite[] = {-INFINITY, -INFINITY};
    CHECK(hk_item(hk_logsumexp(array(infinite, hk_shape(2), HK_F32), NULL), NULL) == -INFINITY);
    const int32_t whole[] = {1, 2, 3, 4};
    hk_array *variance =
        hk_var(array(whole, hk_shape(4), HK_I32), &(hk_var_options){.correction = 1});
    CHECK_EQ_I64(hk_array_dtype(variance), HK_F64);
    CHECK(fabs(hk_item(variance, NULL) - 5.0 / 3) < 1e-15);
    CHECK(isinf(hk_item(hk_var(x, &(hk_var_options){.correction = 3}), NULL)) ||
          isnan(hk_item(hk_var(x, &(hk_var_options){.correction = 3}), NULL)));
    hk_sum_options far = axes(4);
    const hk_status *status = hk_wait(hk_std(x, &(hk_std_options){.axes = far.axes}));
    CHECK_STR(hk_status_operation(status), "std");
    hk_array *out = hk_zeros(hk_shape(), HK_F32, device);
    hk_call_into("logsumexp", out, &x, 1, NULL);
    CHECK(fabs(hk_item(out, NULL) - 1000 - log(3)) < 1e-4);
    hk_wait_all();
    hk_failures_clear();
}

/* Variances are those of the elements as float64, also where squares are too large for float32, and
 * where numbers are far from 0. */
static void test_variances(void)
{
    static const int64_t sizes[] = {25, 31, 47, 64, 1000, 4096, 9001};
    for (int number = 0; number < 7 * 8; number++) {
        HK_SCOPE;
        const hk_dtype dtype = number & 1 ? HK_F64 : HK_F32;
        const bool is_corrected = number & 2;
        const int64_t size = sizes[number / 8];
        hk_array *x = hk_random_normal(hk_shape(40, 2, size + 3), dtype, device);
        x = hk_multiply(number & 4 ? x : hk_add(x, 300), number & 4 ? 1e18 : 2.5);
        x = hk_slice(x, 2, 1, size + 1);
        const hk_sum_options last = axes(-1);
        const hk_mean_options kept = {.axes = hk_shape(-1), .keepdims = true};
        hk_array *wide = hk_cast(x, HK_F64);
        hk_array *squares = hk_square(hk_subtract(wide, hk_mean(wide, &kept)));
        hk_array *expected = hk_multiply(hk_sum(squares, &last), 1 / ((double)size - is_corrected));
        const double most = dtype == HK_F32 ? 3e-7 : 1e-13;
        hk_array *found =
            hk_var(x, &(hk_var_options){.axes = hk_shape(-1), .correction = is_corrected});
        hk_array *both[2];
        hk_var_mean(x, &(hk_var_mean_options){.axes = hk_shape(-1), .correction = is_corrected},
                    &both[0], &both[1]);
        CHECK(hk_item(hk_all(hk_equal(found, both[0]), NULL), NULL) == 1);
        found = hk_divide(hk_cast(found, HK_F64), expected);
        CHECK(hk_item(hk_max(hk_abs(hk_add(found, -1)), NULL), NULL) <= most);
    }
}

/* What is read from memory, by rows in their order, has the bytes of what lies in caches. */
static void test_far_rows(void)
{
    enum { OUTER = 163, ROWS = 67, COLUMNS = 800 };
    HK_SCOPE;
    const int64_t size = (int64_t)OUTER * ROWS * COLUMNS;
    float *values = malloc((size_t)size * sizeof *values);
    uint32_t seed = 1;
    for (int64_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) * 0x1p-20f - 8;
    }
    values[(3 * ROWS + 4) * COLUMNS + 5] = NAN;
    for (int i = 0; i < 4; i++) /* beyond float32 together */
        values[(7 * ROWS + i) * COLUMNS + 9] = i < 2 ? 3e38f : -3e38f;
    hk_array *x = array(values, hk_shape(OUTER, ROWS, COLUMNS), HK_F32);
    const hk_sum_options middle = axes(1);
    const hk_max_options most = {.axes = middle.axes};
    const hk_min_options least = {.axes = middle.axes};
    hk_array *sums = hk_sum(x, &middle), *largest = hk_max(x, &most), *smallest = hk_min(x, &least);
    CHECK(isnan(hk_item(hk_index(hk_index(largest, 0, 3), 0, 5), NULL)));
    int64_t different = 0;
    for (int i = 0; i < OUTER; i++) {
        HK_SCOPE;
        hk_array *one = hk_slice(x, 0, i, i + 1);
        hk_array *const found[] = {sums, largest, smallest},
                        *expected[] = {hk_sum(one, &middle), hk_max(one, &most),
                                       hk_min(one, &least)};
        for (int k = 0; k < 3; k++) {
            float a[COLUMNS], b[COLUMNS];
            CHECK(hk_ok(hk_to_host(hk_slice(found[k], 0, i, i + 1), a, sizeof a)));
            CHECK(hk_ok(hk_to_host(expected[k], b, sizeof b)));
            for (int j = 0; j < COLUMNS; j++)
                different += a[j] != b[j] && !(isnan(a[j]) && isnan(b[j]));
        }
    }
    CHECK_EQ_I64(different, 0);
    free(values);
}

int main(void)
{
    device = hk_device_default();
    test_products();
    test_truth();
    test_composed();
    test_accuracy();
    test_layouts();
    test_halves();
    test_special();
    test_ties();
    test_tree();
    test_columns();
    test_rows();
    test_large();
    test_nan_places();
    test_refusals();
    test_variances();
    test_far_rows();
    return check_result();
}
