/* Matrices that cannot be factorised, stacks, and what is refused. */
#include "check.h"

#include "op/operator_fixture.h"

#include <math.h>

static hk_array *matrices(const double *values, hk_dims shape)
{
    return hk_from_host(values, shape, HK_F64, (hk_device){NULL});
}

static double element(hk_array *x, int64_t index)
{
    HK_SCOPE;
    return hk_item(hk_index(hk_reshape(x, hk_shape(-1)), 0, index), NULL);
}

static bool is_near(double x, double y)
{
    return fabs(x - y) <= 1e-9 * fmax(1, fabs(y));
}

/* The third of four in a stack of two axes. */
static void test_singular(void)
{
    HK_SCOPE;
    hk_array *x = matrices((const double[]){1, 0, 0, 1, 2, 1, 1, 2, 1, 2, 2, 4, 3, 0, 0, 3},
                           hk_shape(2, 2, 2, 2));
    const char *text = "matrix (1, 0) of x is singular: pivot 2 of 2 is 0";
    CHECK(fails_with(hk_inv(x), HK_BAD_DATA, text));
    CHECK(fails_with(hk_solve(x, hk_ones(hk_shape(2), HK_F64, (hk_device){NULL})), HK_BAD_DATA,
                     text));
    CHECK(fails_with(hk_inv(hk_index(hk_index(x, 0, 1), 0, 0)), HK_BAD_DATA, "x is singular"));
    CHECK(is_near(element(hk_det(x), 1), 3) && element(hk_det(x), 2) == 0);
    hk_array *mixed = matrices((const double[]){2, 9, 1, 3, 1, 0, 4, 17}, hk_shape(2, 2, 2));
    CHECK(is_near(element(hk_cholesky(mixed, NULL), 3), sqrt(2.5)));
    CHECK(element(hk_cholesky(mixed, NULL), 1) == 0);
    hk_array *bad = matrices((const double[]){2, 9, 1, 3, 1, 0, 4, -1}, hk_shape(2, 2, 2));
    CHECK(fails_with(hk_cholesky(bad, NULL), HK_BAD_DATA,
                     "matrix (1) of x is not positive definite: its first 2 rows"));
    hk_failures_clear();
}

/* Only what is read may be refused. */
static void test_not_finite(void)
{
    HK_SCOPE;
    hk_array *above = matrices((const double[]){4, NAN, 2, 5}, hk_shape(2, 2));
    hk_array *below = matrices((const double[]){4, 2, NAN, 5}, hk_shape(2, 2));
    CHECK(element(hk_cholesky(above, NULL), 3) == 2);
    CHECK(fails_with(hk_cholesky(below, NULL), HK_BAD_DATA, "x has an element that is NaN"));
    CHECK(isnan(element(hk_det(above), 0)));
    hk_failures_clear();
}

/* Of a singular matrix the determinant has a gradient, though no inverse. */
static void test_gradient_of_singular(void)
{
    HK_SCOPE;
    hk_array *x = matrices((const double[]){1, 2, 2, 4}, hk_shape(2, 2));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *det = hk_det(x);
    hk_record_end();
    CHECK(hk_ok(hk_backward(det)));
    const double cofactors[] = {4, -2, -2, 1};
    for (int i = 0; i < 4; i++)
        CHECK(is_near(element(hk_grad(x), i), cofactors[i]));
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_device device = {NULL};
    hk_array *x = hk_ones(hk_shape(2, 3), HK_F32, device);
    CHECK(is_refused(hk_inv(x), "x is float32(2,3), but must be of square matrices"));
    CHECK(is_refused(hk_det(hk_ones(hk_shape(4), HK_F32, device)), "x has 1 axes"));
    CHECK(fails_with(hk_inv(hk_cast(x, HK_I32)), HK_UNSUPPORTED, "may be float32, float64"));
    x = hk_eye(3, 3, 0, HK_F32, device);
    CHECK(is_refused(hk_solve(x, hk_ones(hk_shape(2), HK_F32, device)), "a row for each row"));
    CHECK(is_refused(hk_solve(x, hk_ones(hk_shape(3), HK_F64, device)), "hk_cast converts"));
    CHECK(is_refused(
        hk_solve(hk_broadcast_to(x, hk_shape(2, 3, 3)), hk_ones(hk_shape(4, 3, 1), HK_F32, device)),
        "do not broadcast"));
    CHECK(fails_with(hk_det(hk_broadcast_to(hk_ones(hk_shape(1, 1), HK_F32, device),
                                            hk_shape(1 << 25, 1 << 25))),
                     HK_UNSUPPORTED, "16777216 are the most"));
}

int main(void)
{
    test_singular();
    test_not_finite();
    test_gradient_of_singular();
    test_refusals();
    return check_result();
}
