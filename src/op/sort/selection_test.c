/* Masks, places that are not 0, different values, and counts: against plain loops, and at the edges. */
#include "check.h"

#include "op/operator_fixture.h"

#include <math.h>
#include <string.h>

static hk_device device;

static hk_array *doubles(const double *values, hk_dims shape)
{
    return hk_from_host(values, shape, HK_F64, device);
}

/* Its shape, and its elements in C order. NaN is equal to NaN. */
static bool holds(hk_array *x, hk_dims shape, const double *values)
{
    double *got = read_doubles(x);
    const hk_dims has = hk_dims_get(x);
    bool same = has.ndim == shape.ndim &&
                memcmp(has.dims, shape.dims, sizeof *shape.dims * (size_t)shape.ndim) == 0;
    for (int64_t i = 0; same && i < hk_size(x); i++)
        same = got[i] == values[i] || (isnan(got[i]) && isnan(values[i]));
    if (!same)
        hk_print(x, stderr);
    free(got);
    return same;
}

static void test_mask_select(void)
{
    HK_SCOPE;
    hk_array *x = hk_reshape(hk_arange(0, 12, 1, HK_F64, device), hk_shape(3, 4));
    hk_array *rows = hk_from_host((const uint8_t[]){1, 0, 1}, hk_shape(3), HK_BOOL, device);
    hk_array *few = hk_equal(hk_remainder(x, hk_full(hk_shape(), 5, HK_F64, device)),
                             hk_zeros(hk_shape(), HK_F64, device));
    CHECK(
        holds(hk_mask_select(x, rows), hk_shape(2, 4), (const double[]){0, 1, 2, 3, 8, 9, 10, 11}));
    CHECK(holds(hk_mask_select(x, few), hk_shape(3), (const double[]){0, 5, 10}));
    CHECK(holds(hk_mask_select(hk_transpose(x), hk_transpose(few)), hk_shape(3),
                (const double[]){0, 5, 10}));
    hk_array *yes = hk_ones(hk_shape(), HK_BOOL, device),
             *no = hk_zeros(hk_shape(), HK_BOOL, device);
    CHECK(holds(hk_mask_select(hk_index(x, 0, 1), yes), hk_shape(1, 4),
                (const double[]){4, 5, 6, 7}));
    CHECK(hk_size(hk_mask_select(x, no)) == 0 && hk_ndim(hk_mask_select(x, no)) == 3);
    CHECK(hk_size(hk_mask_select(hk_slice(x, 0, 1, 1), hk_slice(rows, 0, 1, 1))) == 0);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_square(hk_mask_select(x, few));
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(
        holds(hk_grad(x), hk_shape(3, 4), (const double[]){0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 20, 0}));
}

static void test_mask_assign(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(2, 3), HK_F32, device);
    hk_array *rows = hk_from_host((const uint8_t[]){0, 1}, hk_shape(2), HK_BOOL, device);
    hk_mask_assign(x, rows, doubles((const double[]){1, 2, 3}, hk_shape(3)));
    CHECK(holds(x, hk_shape(2, 3), (const double[]){0, 0, 0, 1, 2, 3}));
    hk_array *large = hk_greater(x, hk_ones(hk_shape(), HK_F32, device));
    hk_mask_assign(x, large, hk_full(hk_shape(), -1, HK_F32, device));
    CHECK(holds(x, hk_shape(2, 3), (const double[]){0, 0, 0, 1, -1, -1}));
    hk_mask_assign(hk_transpose(x), hk_transpose(large), hk_full(hk_shape(), 7, HK_I32, device));
    CHECK(holds(x, hk_shape(2, 3), (const double[]){0, 0, 0, 1, 7, 7}));
    hk_mask_assign(x, hk_cast(rows, HK_F32), x);
    CHECK(is_refused(x, "mask is float32(2,), but must be of bool"));
    hk_recover(x);
    hk_mask_assign(x, hk_ones(hk_shape(3), HK_BOOL, device), x);
    CHECK(is_refused(x, "the shape of x's first axes"));
    hk_recover(x);
    hk_mask_assign(x, rows, NULL);
    CHECK(is_refused(x, "value is NULL"));
    hk_recover(x);
    hk_mask_assign(x, rows, hk_ones(hk_shape(4, 1, 1), HK_F32, device));
    CHECK(is_refused(x, "the array to write is float32(2,3)"));
    hk_recover(x);
    CHECK(hk_ok(hk_wait(x)));
    hk_mask_assign(NULL, rows, x);
    hk_wait_all();
    hk_failures_clear();
}

static void test_nonzero(void)
{
    HK_SCOPE;
    hk_array *x = doubles((const double[]){0, NAN, -0.0, 2, 0, 3}, hk_shape(2, 3)), *at[8];
    hk_nonzero(x, at, 2);
    CHECK(holds(at[0], hk_shape(3), (const double[]){0, 1, 1}));
    CHECK(holds(at[1], hk_shape(3), (const double[]){1, 0, 2}));
    hk_nonzero(hk_transpose(x), at, 2);
    CHECK(holds(at[0], hk_shape(3), (const double[]){0, 1, 2}));
    CHECK(holds(at[1], hk_shape(3), (const double[]){1, 0, 1}));
    hk_nonzero(hk_reshape(x, hk_shape(1, 3, 2)), at, 3);
    CHECK(holds(at[1], hk_shape(3), (const double[]){0, 1, 2}));
    hk_nonzero(hk_zeros(hk_shape(0, 3), HK_I8, device), at, 2);
    CHECK(hk_size(at[0]) == 0 && hk_array_dtype(at[1]) == HK_I64);
    hk_nonzero(x, at, 1);
    CHECK(is_refused(at[0], "count is 1, but x has 2 axes"));
    hk_nonzero(hk_zeros(hk_shape(), HK_I8, device), at, 0);
    hk_failures_clear();
}

static void test_unique(void)
{
    HK_SCOPE;
    const double values[] = {3, 1, NAN, 3, -0.0, 0, NAN, 1};
    hk_array *x = doubles(values, hk_shape(2, 4)), *value, *index, *inverse, *count;
    hk_unique_all(x, &value, &index, &inverse, &count);
    CHECK(holds(value, hk_shape(5), (const double[]){0, 1, 3, NAN, NAN}));
    CHECK(holds(index, hk_shape(5), (const double[]){4, 1, 0, 2, 6}));
    CHECK(holds(inverse, hk_shape(2, 4), (const double[]){2, 1, 3, 2, 0, 0, 4, 1}));
    CHECK(holds(count, hk_shape(5), (const double[]){2, 2, 2, 1, 1}));
    hk_unique_counts(hk_transpose(hk_slice(x, 1, 0, 2)), &value, NULL);
    CHECK(holds(value, hk_shape(3), (const double[]){0, 1, 3}));
    hk_unique_inverse(hk_index(hk_reshape(x, hk_shape(8)), 0, 3), &value, &inverse);
    CHECK(holds(value, hk_shape(1), (const double[]){3}));
    CHECK(holds(inverse, hk_shape(), (const double[]){0}));
    hk_unique_all(hk_zeros(hk_shape(3, 0), HK_U8, device), &value, &index, &inverse, &count);
    CHECK(holds(value, hk_shape(0), NULL) && hk_array_dtype(value) == HK_U8);
    CHECK(holds(index, hk_shape(0), NULL) && holds(count, hk_shape(0), NULL));
    CHECK(holds(inverse, hk_shape(3, 0), NULL) && hk_array_dtype(count) == HK_I64);
    hk_array *flags = hk_from_host((const uint8_t[]){1, 0, 1}, hk_shape(3), HK_BOOL, device);
    CHECK(holds(hk_unique_values(flags), hk_shape(2), (const double[]){0, 1}));
    x = doubles((const double[]){2, 5, 2}, hk_shape(3));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    value = hk_square(hk_unique_values(x));
    hk_record_end();
    CHECK(hk_ok(hk_backward(value)));
    CHECK(holds(hk_grad(x), hk_shape(3), (const double[]){4, 10, 0}));
}

static void test_bincount(void)
{
    HK_SCOPE;
    hk_array *x = hk_from_host((const int32_t[]){1, 4, 1, 0}, hk_shape(4), HK_I32, device);
    hk_array *weights = doubles((const double[]){0.5, 2, 0.25, 1}, hk_shape(4));
    CHECK(holds(hk_bincount(x, NULL, 0), hk_shape(5), (const double[]){1, 2, 0, 0, 1}));
    CHECK(holds(hk_bincount(x, NULL, 6), hk_shape(6), (const double[]){1, 2, 0, 0, 1, 0}));
    CHECK(holds(hk_bincount(x, weights, 0), hk_shape(5), (const double[]){1, 0.75, 0, 0, 2}));
    CHECK(holds(hk_bincount(hk_slice(x, 0, 1, 1), NULL, 2), hk_shape(2), (const double[]){0, 0}));
    hk_array *below = hk_from_host((const int8_t[]){1, -4}, hk_shape(2), HK_I8, device);
    CHECK(fails_with(hk_bincount(below, NULL, 0), HK_BAD_DATA, "x has an element -4"));
    hk_array *far = hk_full(hk_shape(2), 0x1p41, HK_I64, device);
    CHECK(fails_with(hk_bincount(far, NULL, 0), HK_BAD_DATA, "2^40 is too large"));
    CHECK(is_refused(hk_bincount(weights, NULL, 0), "must be of integers"));
    CHECK(is_refused(hk_bincount(x, hk_slice(weights, 0, 0, 2), 0), "the shape of x"));
    CHECK(fails_with(hk_bincount(x, NULL, -1), HK_OUT_OF_RANGE, "minlength is -1"));
    hk_failures_clear();
}

/* Of an edge each bin has the lower one, and the last has both. */
static void test_among(void)
{
    HK_SCOPE;
    hk_array *x =
        doubles((const double[]){0, 1, 2, 2.5, 3, NAN, -1e-9, 3.01, INFINITY}, hk_shape(9));
    CHECK(holds(hk_histogram(x, 3, 0, 3), hk_shape(3), (const double[]){1, 1, 3}));
    CHECK(fails_with(hk_histogram(x, 0, 0, 3), HK_OUT_OF_RANGE, "bins is 0"));
    CHECK(is_refused(hk_histogram(x, 3, 3, 3), "low must be less"));
    hk_array *some = doubles((const double[]){NAN, 3, 1}, hk_shape(3, 1));
    CHECK(holds(hk_isin(x, some), hk_shape(9), (const double[]){0, 1, 0, 0, 1, 0, 0, 0, 0}));
    CHECK(is_refused(hk_isin(x, hk_cast(hk_slice(some, 0, 1, 3), HK_I32)), "no dtype of one kind"));
    hk_failures_clear();
}

/* The record of what failed first stays, and so do gradients of it. */
static void test_failures(void)
{
    HK_SCOPE;
    hk_array *bad = hk_index_select(hk_ones(hk_shape(2), HK_F32, device),
                                    hk_full(hk_shape(3), 9, HK_I64, device), 0);
    hk_array *mask = hk_not_equal(bad, bad), *x = hk_ones(hk_shape(3), HK_F32, device), *parts[2];
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_mask_select(x, mask);
    hk_record_end();
    CHECK(fails_with(y, HK_OUT_OF_RANGE, "indices[0] is 9"));
    hk_backward(y);
    CHECK(fails_with(hk_grad(x), HK_OUT_OF_RANGE, "indices[0] is 9"));
    hk_unique_counts(bad, &parts[0], &parts[1]);
    hk_nonzero(bad, &y, 1);
    CHECK(fails_with(parts[0], HK_OUT_OF_RANGE, "indices[0] is 9"));
    CHECK(fails_with(parts[1], HK_OUT_OF_RANGE, "indices[0] is 9"));
    CHECK(fails_with(y, HK_OUT_OF_RANGE, "indices[0] is 9"));
    CHECK(fails_with(hk_bincount(hk_argsort(bad, 0, false), NULL, 0), HK_OUT_OF_RANGE, "is 9"));
    CHECK(is_refused(hk_unique_values(NULL), "x is NULL"));
    CHECK(is_refused(hk_mask_select(x, NULL), "mask is NULL"));
    hk_failures_clear();
}

static bool capture_fails(const char *message)
{
    hk_graph *graph = hk_capture_end(NULL);
    const hk_status *status = hk_graph_status(graph);
    const bool fails = !hk_ok(status) && strstr(hk_status_message(status), message);
    if (!fails)
        hk_status_print(status, stderr);
    hk_graph_release(graph);
    return fails;
}

/* What a replay could not do again is not captured; what it can is. */
static void test_captures(void)
{
    HK_SCOPE;
    hk_array *x = doubles((const double[]){0, 1, 0, 2}, hk_shape(4)), *value;
    hk_array *mask = hk_cast(x, HK_BOOL);
    hk_capture_begin(&x, 1);
    hk_mask_select(x, mask);
    CHECK(capture_fails("mask_select cannot be captured: the shape of its result"));
    hk_capture_begin(&x, 1);
    hk_nonzero(x, &value, 1);
    CHECK(capture_fails("nonzero cannot be captured"));
    hk_capture_begin(&x, 1);
    hk_unique_counts(x, &value, NULL);
    CHECK(capture_fails("unique_counts cannot be captured"));
    hk_capture_begin(&x, 1);
    hk_bincount(hk_cast(x, HK_I32), NULL, 0);
    CHECK(capture_fails("bincount cannot be captured"));
    hk_array *full = hk_full(hk_shape(), 7, HK_F64, device);
    hk_capture_begin(&x, 1);
    hk_mask_assign(x, hk_less(x, full), full);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    hk_array *other = doubles((const double[]){9, 1, 8, 2}, hk_shape(4));
    hk_replay(graph, &other, 1);
    CHECK(holds(other, hk_shape(4), (const double[]){9, 7, 8, 7}));
    hk_graph_release(graph);
}

int main(void)
{
    device = hk_device_default();
    test_mask_select();
    test_mask_assign();
    test_nonzero();
    test_unique();
    test_bincount();
    test_among();
    test_failures();
    test_captures();
    return check_result();
}
