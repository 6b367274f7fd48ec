/* split, unstack, meshgrid, broadcast_arrays: values, gradients, refusals. */
#include "tests/check.h"

#include "op/operator_fixture.h"

static hk_device device;

static double at(hk_array *x, int64_t row, int64_t column)
{
    return hk_item(hk_index(hk_index(x, 0, row), 0, column), NULL);
}

static void test_split(void)
{
    HK_SCOPE;
    hk_array *x = hk_reshape(hk_arange(0, 12, 1, HK_F32, device), hk_shape(2, 6)), *parts[4];
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_split(x, -1, 3, parts);
    hk_array *y = hk_multiply(parts[0], parts[2]);
    hk_record_end();
    CHECK(hk_dim(parts[1], 1) == 2 && at(parts[1], 1, 0) == 8);
    CHECK(hk_ok(hk_backward(y)));
    CHECK(at(hk_grad(x), 0, 0) == 4 && at(hk_grad(x), 0, 4) == 0 && at(hk_grad(x), 1, 2) == 0);
    hk_unstack(x, 0, 2, parts);
    CHECK(hk_ndim(parts[1]) == 1 && hk_item(hk_index(parts[1], 0, 3), NULL) == 9);
    hk_split(x, 1, 4, parts);
    CHECK(is_refused(parts[3], "count is 4, but the axis has 6 entries: it must divide that"));
    hk_unstack(x, 1, 4, parts);
    CHECK(is_refused(parts[0], "count is 4, but the axis has 6 entries: it must be as many"));
    hk_split(x, 2, 3, parts);
    CHECK(fails_with(parts[0], HK_OUT_OF_RANGE, "axis is 2"));
    hk_split(NULL, 0, 1, parts);
    CHECK(is_refused(parts[0], "argument x is NULL"));
    hk_failures_clear();
}

static void test_grids(void)
{
    HK_SCOPE;
    hk_array *vectors[] = {hk_arange(0, 3, 1, HK_F32, device), hk_arange(5, 9, 1, HK_F32, device)};
    hk_array *grids[2], *views[2];
    hk_attach_grad(vectors[0], HK_GRAD_WRITE);
    hk_record_begin();
    hk_meshgrid(vectors, 2, grids);
    hk_array *y = hk_multiply(grids[0], grids[1]);
    hk_record_end();
    CHECK(hk_dim(grids[0], 0) == 3 && hk_dim(grids[0], 1) == 4);
    CHECK(at(grids[0], 2, 1) == 2 && at(grids[1], 2, 1) == 6 && at(y, 2, 3) == 16);
    CHECK(hk_ok(hk_backward(y)));
    CHECK(hk_item(hk_index(hk_grad(vectors[0]), 0, 1), NULL) == 5 + 6 + 7 + 8);

    hk_broadcast_arrays((hk_array *[]){hk_reshape(vectors[0], hk_shape(3, 1)), vectors[1]}, 2,
                        views);
    CHECK(hk_dim(views[0], 1) == 4 && hk_dim(views[1], 0) == 3);
    CHECK(at(views[0], 2, 3) == 2 && at(views[1], 2, 3) == 8);
    hk_broadcast_arrays(vectors, 2, views);
    CHECK(is_refused(views[1], "only stretches"));
    vectors[1] = views[0];
    vectors[0] = hk_zeros(hk_shape(2, 2), HK_F32, device);
    hk_meshgrid(vectors, 2, grids);
    CHECK(is_refused(grids[0], "vector 0 of 2 has 2 axes"));
    hk_failures_clear();
}

int main(void)
{
    device = hk_device_default();
    test_split();
    test_grids();
    return check_result();
}
