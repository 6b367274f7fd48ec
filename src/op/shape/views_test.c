/* The operators that are views: their values in full, refusals, gradients of what overlaps or runs backwards. */
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <hocket/call.h>
#include <string.h>

static hk_array *counted(hk_dims shape)
{
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++)
        size *= shape.dims[i];
    return hk_reshape(hk_arange(0, (double)size, 1, HK_F64, hk_device_default()), shape);
}

static bool has(hk_array *x, hk_dims shape, const double *expected)
{
    hk_dims is = hk_dims_get(x);
    if (is.ndim != shape.ndim || memcmp(is.dims, shape.dims, sizeof is.dims[0] * (size_t)is.ndim))
        return false;
    double *values = read_doubles(x);
    bool same = memcmp(values, expected, (size_t)hk_size(x) * sizeof *values) == 0;
    free(values);
    return same;
}
#define HAS(x, shape, ...) CHECK(has(x, shape, (const double[]){__VA_ARGS__}))

static void test_values(void)
{
    HK_SCOPE;
    hk_array *line = counted(hk_shape(6)), *x = counted(hk_shape(2, 3));
    HAS(hk_slice_step(line, 0, 1, 6, 2), hk_shape(3), 1, 3, 5);
    HAS(hk_slice_step(line, 0, -1, -7, -2), hk_shape(3), 5, 3, 1);
    HAS(hk_slice_step(line, 0, 4, 1, -1), hk_shape(3), 4, 3, 2);
    HAS(hk_flip(x, 1), hk_shape(2, 3), 2, 1, 0, 5, 4, 3);
    HAS(hk_flip(hk_flip(x, 0), -1), hk_shape(2, 3), 5, 4, 3, 2, 1, 0);
    HAS(hk_expand_dims(x, 1), hk_shape(2, 1, 3), 0, 1, 2, 3, 4, 5);
    HAS(hk_squeeze(hk_expand_dims(x, -1), 2), hk_shape(2, 3), 0, 1, 2, 3, 4, 5);
    HAS(hk_swapaxes(x, 0, -1), hk_shape(3, 2), 0, 3, 1, 4, 2, 5);
    HAS(hk_moveaxis(counted(hk_shape(1, 2, 3)), 2, 0), hk_shape(3, 1, 2), 0, 3, 1, 4, 2, 5);
    HAS(hk_permute_dims(counted(hk_shape(1, 2, 3)), hk_shape(2, 1, 0)), hk_shape(3, 2, 1), 0, 3, 1,
        4, 2, 5);
    HAS(hk_diagonal(x, 1), hk_shape(2), 1, 5);
    HAS(hk_diagonal(x, -1), hk_shape(1), 3);
    HAS(hk_sliding_window(line, 0, 4, 2), hk_shape(2, 4), 0, 1, 2, 3, 2, 3, 4, 5);
}

static void test_by_name(void)
{
    HK_SCOPE;
    hk_array *x = counted(hk_shape(2, 3));
    hk_array *flipped = hk_call("flip", &x, 1, &(hk_flip_arguments){.axis = 0}, (hk_device){NULL});
    HAS(flipped, hk_shape(2, 3), 3, 4, 5, 0, 1, 2);
    /* Over itself: what is read is not yet written. */
    hk_call_into("flip", x, &x, 1, &(hk_flip_arguments){.axis = 1});
    HAS(x, hk_shape(2, 3), 2, 1, 0, 5, 4, 3);
    /* The view shows it, and writes through. */
    HAS(flipped, hk_shape(2, 3), 5, 4, 3, 2, 1, 0);
    hk_assign(hk_slice_step(x, 1, 2, -4, -2), hk_full(hk_shape(1), 9, HK_F64, hk_array_device(x)));
    HAS(x, hk_shape(2, 3), 9, 1, 9, 9, 4, 9);
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = counted(hk_shape(2, 3));
    CHECK(fails_with(hk_flip(x, 2), HK_OUT_OF_RANGE, "axis is 2, but must be from -2 to 1"));
    CHECK(fails_with(hk_slice_step(x, 1, 0, 4, 1), HK_OUT_OF_RANGE, "end is 4"));
    CHECK(fails_with(hk_slice_step(x, 1, -4, 3, 1), HK_OUT_OF_RANGE, "begin is -4"));
    CHECK(is_refused(hk_slice_step(x, 1, 0, 3, 0), "step is 0"));
    CHECK(is_refused(hk_squeeze(x, 1), "axis 1 of x has 3 entries"));
    CHECK(is_refused(hk_permute_dims(x, hk_shape(0, -2)), "axis 0 twice"));
    CHECK(is_refused(hk_permute_dims(x, hk_shape(0)), "axes names 1"));
    CHECK(is_refused(hk_diagonal(counted(hk_shape(3)), 0), "needs 2 at least"));
    CHECK(fails_with(hk_sliding_window(x, 1, 4, 1), HK_OUT_OF_RANGE, "size is 4"));
    hk_array *windows = hk_sliding_window(x, 1, 2, 1);
    hk_add_into(windows, windows, windows);
    CHECK(is_refused(windows, "broadcast view or memory for reading"));
    hk_failures_clear();
}

static void test_gradients(void)
{
    HK_SCOPE;
    hk_array *x = counted(hk_shape(6));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_sliding_window(x, 0, 3, 1);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    HAS(hk_grad(x), hk_shape(6), 1, 2, 3, 3, 2, 1);

    /* Of a leaf that runs backwards itself. */
    hk_array *leaf = hk_flip(counted(hk_shape(3)), 0);
    hk_attach_grad(leaf, HK_GRAD_WRITE);
    hk_record_begin();
    y = hk_multiply(hk_slice(leaf, 0, 1, 3), 2);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    HAS(hk_grad(leaf), hk_shape(3), 0, 2, 2);

    /* Windows of a flipped view of it. */
    leaf = hk_flip(counted(hk_shape(4)), 0);
    hk_attach_grad(leaf, HK_GRAD_WRITE);
    hk_record_begin();
    y = hk_sliding_window(hk_slice(leaf, 0, 1, 4), 0, 2, 1);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    HAS(hk_grad(leaf), hk_shape(4), 0, 1, 2, 1);
}

int main(void)
{
    test_values();
    test_by_name();
    test_refusals();
    test_gradients();
    const hk_status *status = hk_wait_all();
    CHECK(hk_ok(status));
    return check_result();
}
