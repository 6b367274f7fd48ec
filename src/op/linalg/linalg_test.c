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
    hk_array *mixed = matrices((const double[]){2, 0.5, 1.5, 3, 1, 0, 8, 17}, hk_shape(2, 2, 2));
    CHECK(is_near(element(hk_cholesky(mixed, NULL), 3), sqrt(2.5)));
    CHECK(element(hk_cholesky(mixed, NULL), 1) == 0);
    hk_array *bad = matrices((const double[]){2, 0.5, 1.5, 3, 1, 0, 4, -1}, hk_shape(2, 2, 2));
    CHECK(fails_with(hk_cholesky(bad, NULL), HK_BAD_DATA,
                     "matrix (1) of x is not positive definite: its first 2 rows"));
    hk_failures_clear();
}

static void test_not_finite(void)
{
    HK_SCOPE;
    hk_array *x = matrices((const double[]){4, NAN, 2, 5}, hk_shape(2, 2));
    CHECK(fails_with(hk_cholesky(x, NULL), HK_BAD_DATA, "x has an element that is NaN"));
    CHECK(isnan(element(hk_det(x), 0)) && isnan(element(hk_inv(x), 0)));
    hk_array *large = matrices((const double[]){1e300, 1e308, 1e308, 1.7e308}, hk_shape(2, 2));
    CHECK(isfinite(element(hk_eigvalsh(large), 0)));
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

/* Eigenvalues of either sign; a pseudo-inverse and a rank where a singular value is 0. */
static void test_spectra(void)
{
    HK_SCOPE;
    hk_array *x = matrices((const double[]){0, 2, 4, 0}, hk_shape(2, 2));
    CHECK(is_near(element(hk_eigvalsh(x), 0), -3) && is_near(element(hk_eigvalsh(x), 1), 3));
    x = matrices((const double[]){0, NAN, 4, 0}, hk_shape(2, 2));
    CHECK(fails_with(hk_svdvals(x), HK_BAD_DATA, "x has an element that is NaN"));
    x = matrices((const double[]){1, 2, 2, 4, 3, 6}, hk_shape(3, 2));
    CHECK(hk_item(hk_matrix_rank(x, NULL), NULL) == 1);
    CHECK(hk_item(hk_matrix_rank(x, &(hk_matrix_rank_options){.rtol = 1}), NULL) == 0);
    hk_array *inverse = hk_pinv(x, NULL);
    for (int i = 0; i < 6; i++)
        CHECK(is_near(element(hk_matmul(hk_matmul(x, inverse), x), i), element(x, i)));
    CHECK(is_near(element(inverse, 0), 1.0 / 70));
    CHECK(fails_with(hk_pinv(x, &(hk_pinv_options){.rtol = -1}), HK_OUT_OF_RANGE, "rtol is -1"));
    hk_failures_clear();
}

/* Where the norm is 0, and where one element is. */
static void test_norm_gradients(double p, double wanted)
{
    HK_SCOPE;
    hk_array *x = matrices((const double[]){0, 0, 0, -2}, hk_shape(2, 2));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *norm = hk_vector_norm(
        x, &(hk_vector_norm_options){.ord = p == 0 ? HK_ZERO : p, .axes = hk_shape(1)});
    hk_record_end();
    CHECK(hk_ok(hk_backward(norm)));
    CHECK(element(norm, 0) == 0 && is_near(element(norm, 1), p == 0 ? 1 : p < 0 ? 0 : 2));
    for (int i = 0; i < 3; i++)
        CHECK(element(hk_grad(x), i) == 0);
    CHECK(is_near(element(hk_grad(x), 3), wanted));
}

static void test_norms(void)
{
    HK_SCOPE;
    test_norm_gradients(2, -1);
    test_norm_gradients(1, -1);
    test_norm_gradients(3, -1);
    test_norm_gradients(0.5, -1);
    test_norm_gradients(0, 0);
    test_norm_gradients(-1, 0);
    hk_array *x = hk_ones(hk_shape(0, 2), HK_F32, (hk_device){NULL});
    CHECK(fails_with(hk_vector_norm(x, &(hk_vector_norm_options){.ord = NAN, .axes = hk_shape(0)}),
                     HK_OUT_OF_RANGE, "ord is NaN"));
    CHECK(is_refused(
        hk_vector_norm(x, &(hk_vector_norm_options){.ord = INFINITY, .axes = hk_shape(0)}),
        "among no elements"));
    CHECK(hk_size(hk_vector_norm(
              x, &(hk_vector_norm_options){.ord = INFINITY, .axes = hk_shape(1)})) == 0);
    CHECK(is_refused(hk_matrix_norm(x, &(hk_matrix_norm_options){.ord = HK_NORM_INF}),
                     "among no rows"));
    CHECK(is_refused(hk_matrix_norm(x, &(hk_matrix_norm_options){.ord = HK_NORM_2}),
                     "among no singular values"));
    CHECK(hk_item(hk_matrix_norm(x, &(hk_matrix_norm_options){.ord = HK_NORM_1}), NULL) == 0);
    CHECK(fails_with(hk_matrix_norm(x, &(hk_matrix_norm_options){.ord = 8}), HK_OUT_OF_RANGE,
                     "ord is 8"));
}

static void test_products(void)
{
    HK_SCOPE;
    hk_device device = {NULL};
    hk_array *x = hk_ones(hk_shape(2, 3), HK_F32, device);
    CHECK(is_refused(hk_cross(x, x, 0), "3 entries along the axis"));
    CHECK(fails_with(hk_cross(x, hk_ones(hk_shape(3), HK_F32, device), 0), HK_OUT_OF_RANGE,
                     "axis is 0"));
    CHECK(fails_with(hk_kron(hk_reshape(x, hk_shape(1, 1, 1, 1, 6)), x), HK_UNSUPPORTED,
                     "4 are the most"));
    x = matrices((const double[]){1, 1, 0, 1}, hk_shape(2, 2));
    CHECK(element(hk_matrix_power(x, 1000000), 1) == 1e6);
    CHECK(element(hk_matrix_power(x, -1000000), 1) == -1e6);
    CHECK(fails_with(hk_matrix_power(hk_multiply(x, 0), -1), HK_BAD_DATA, "is singular"));
    CHECK(fails_with(hk_matrix_power(x, INT64_MIN), HK_OUT_OF_RANGE, "the least there is"));
    hk_failures_clear();
}

/* Whether the columns of x are of length 1 and at right angles. */
static bool is_orthonormal(hk_array *x)
{
    const int64_t n = hk_dim(x, 1);
    hk_array *product = hk_matmul(hk_transpose(x), x);
    hk_array *rest = hk_subtract(product, hk_eye(n, n, 0, HK_F64, (hk_device){NULL}));
    return n == 0 ||
           hk_item(hk_vector_norm(rest, &(hk_vector_norm_options){.ord = INFINITY}), NULL) < 1e-12;
}

static double last_difference(hk_array *x, hk_array *y)
{
    return hk_item(hk_vector_norm(hk_subtract(x, y), &(hk_vector_norm_options){.ord = INFINITY}),
                   NULL);
}

/* Vectors that belong to no value, too. */
static void test_full(int64_t m, int64_t n)
{
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(m, n), HK_F64, (hk_device){NULL}), *u, *s, *vh, *q, *r;
    const int64_t k = m < n ? m : n;
    hk_svd(x, &(hk_svd_options){.full_matrices = true}, &u, &s, &vh);
    hk_qr(x, &(hk_qr_options){.complete = true}, &q, &r);
    CHECK(hk_dim(u, 1) == m && hk_dim(vh, 0) == n && hk_dim(s, 0) == k);
    CHECK(hk_dim(q, 1) == m && hk_dim(r, 0) == m);
    CHECK(is_orthonormal(u) && is_orthonormal(hk_transpose(vh)) && is_orthonormal(q));
    if (k == 0)
        return;
    hk_array *product = hk_matmul(hk_multiply(hk_slice(u, 1, 0, k), s), hk_slice(vh, 0, 0, k));
    CHECK(last_difference(product, x) < 1e-12);
    CHECK(last_difference(hk_matmul(q, r), x) < 1e-12);
    CHECK(last_difference(hk_tril(r, -1), hk_zeros_like(r)) == 0);
}

/* What has no gradient fails it, and says so; what has one beside that keeps it. */
static void test_gradients_of_full(void)
{
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(4, 2), HK_F64, (hk_device){NULL}), *u, *s, *vh, *q, *r;
    hk_attach_grad(x, HK_GRAD_WRITE);
    for (int i = 0; i < 3; i++) {
        hk_record_begin();
        hk_svd(x, &(hk_svd_options){.full_matrices = true}, &u, &s, &vh);
        hk_qr(x, &(hk_qr_options){.complete = true}, &q, &r);
        hk_record_end();
        hk_backward((hk_array *[]){u, vh, q}[i]);
        if (i == 1)
            CHECK(hk_ok(hk_wait(hk_grad(x))));
        else
            CHECK(fails_with(hk_grad(x), HK_UNSUPPORTED,
                             i ? "complete must be false" : "full_matrices must be false"));
    }
    hk_failures_clear();
}

static void test_slogdet(void)
{
    HK_SCOPE;
    hk_array *x = hk_multiply(hk_eye(300, 300, 0, HK_F32, (hk_device){NULL}), -10), *sign, *log_abs;
    hk_slogdet(x, &sign, &log_abs);
    CHECK(hk_item(sign, NULL) == 1 && fabs(hk_item(log_abs, NULL) - 300 * log(10)) < 1e-3);
    x = matrices((const double[]){1, 2, 2, 4}, hk_shape(2, 2));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_slogdet(x, &sign, &log_abs);
    hk_record_end();
    CHECK(hk_item(sign, NULL) == 0 && hk_item(log_abs, NULL) == -INFINITY);
    hk_backward(log_abs);
    CHECK(fails_with(hk_grad(x), HK_BAD_DATA, "x is singular"));
    hk_failures_clear();
}

static void test_decompositions(void)
{
    HK_SCOPE;
    test_full(5, 3);
    test_full(3, 5);
    test_full(4, 4);
    test_full(3, 0);
    test_full(0, 2);
    test_gradients_of_full();
    test_slogdet();
    hk_array *values, *vectors,
        *bad = matrices((const double[]){1, 0, INFINITY, 1}, hk_shape(2, 2));
    hk_eigh(bad, &values, &vectors);
    CHECK(fails_with(values, HK_BAD_DATA, "NaN or infinite"));
    CHECK(fails_with(vectors, HK_BAD_DATA, "NaN or infinite"));
    hk_failures_clear();
}

/* The largest |x v - v diag(values)|, or beyond all bounds where values or vectors are not what they should be. */
static double eig_residual(hk_array *x, hk_array *values, hk_array *vectors)
{
    hk_array *rest = hk_subtract(hk_matmul(hk_cast(x, hk_array_dtype(vectors)), vectors),
                                 hk_multiply(vectors, hk_expand_dims(values, -2)));
    hk_array *squares = hk_square(hk_abs(vectors));
    hk_array *lengths = hk_sum(squares, &(hk_sum_options){.axes = {.ndim = 1, .dims = {-2}}});
    const double most = hk_item(hk_max(hk_abs(rest), NULL), NULL);
    const double off = hk_item(hk_max(hk_abs(hk_subtract(lengths, 1)), NULL), NULL);
    return fmax(most, off);
}

static void test_eig_of(hk_dims shape, hk_dtype dtype)
{
    HK_SCOPE;
    const bool is_complex = dtype == HK_C64 || dtype == HK_C128;
    const bool is_wide = dtype == HK_F64 || dtype == HK_C128;
    hk_array *x = hk_random_normal(shape, HK_F64, (hk_device){NULL}), *values, *vectors;
    if (is_complex)
        x = hk_complex_of(x, hk_random_normal(shape, HK_F64, (hk_device){NULL}));
    x = hk_cast(x, dtype);
    hk_eig(x, &values, &vectors);
    CHECK(hk_array_dtype(values) == (is_wide ? HK_C128 : HK_C64));
    CHECK(hk_ndim(values) == shape.ndim - 1 && hk_ndim(vectors) == shape.ndim);
    CHECK(eig_residual(x, values, vectors) < (is_wide ? 1e-12 : 1e-4));
    hk_array *same = hk_abs(hk_subtract(hk_eigvals(x), values));
    CHECK(hk_item(hk_max(same, NULL), NULL) < (is_wide ? 1e-10 : 1e-3));
    hk_array *turned = hk_swapaxes(x, -1, -2), *of_turned, *turned_vectors;
    hk_eig(turned, &of_turned, &turned_vectors);
    CHECK(eig_residual(turned, of_turned, turned_vectors) < (is_wide ? 1e-12 : 1e-4));
}

/* A turn has a conjugate pair, and a triangle its diagonal; what cannot be done is refused. */
static void test_eig(void)
{
    HK_SCOPE;
    for (int i = 0; i < 4; i++) {
        const hk_dtype dtype = (hk_dtype[]){HK_F32, HK_F64, HK_C64, HK_C128}[i];
        test_eig_of(hk_shape(6, 6), dtype);
        test_eig_of(hk_shape(2, 3, 4, 4), dtype);
        test_eig_of(hk_shape(1, 1), dtype);
    }
    hk_array *turn = matrices((const double[]){0, -4, 1, 0}, hk_shape(2, 2)), *values, *vectors;
    hk_eig(turn, &values, &vectors);
    const hk_complex one = hk_item_complex(hk_index(values, 0, 0), NULL),
                     two = hk_item_complex(hk_index(values, 0, 1), NULL);
    CHECK(one.real == two.real && one.imag == -two.imag && is_near(fabs(one.imag), 2));
    const hk_complex first = hk_item_complex(hk_index(hk_index(vectors, 0, 0), 0, 0), NULL);
    CHECK(first.imag == 0 && is_near(first.real, sqrt(0.8)));
    hk_array *triangle = matrices((const double[]){3, 7, 0, -1}, hk_shape(2, 2));
    CHECK(is_near(element(hk_real(hk_eigvals(triangle)), 0), 3));
    CHECK(is_near(element(hk_real(hk_eigvals(triangle)), 1), -1));
    hk_eig(hk_zeros(hk_shape(2, 0, 0), HK_F32, (hk_device){NULL}), &values, &vectors);
    CHECK(hk_size(values) == 0 && hk_size(vectors) == 0 && hk_ok(hk_wait(values)));
    CHECK(is_refused(hk_eigvals(hk_ones(hk_shape(2, 3), HK_F32, (hk_device){NULL})), "square"));
    CHECK(fails_with(hk_eigvals(hk_ones(hk_shape(2, 2), HK_I32, (hk_device){NULL})), HK_UNSUPPORTED,
                     "may be float32, float64, complex64"));
    hk_array *bad = matrices((const double[]){1, 0, 0, 1, 1, NAN, 0, 1}, hk_shape(2, 2, 2));
    hk_eig(bad, &values, &vectors);
    CHECK(fails_with(values, HK_BAD_DATA, "matrix (1) of x has an element that is NaN"));
    CHECK(fails_with(vectors, HK_BAD_DATA, "matrix (1) of x has an element that is NaN"));
    hk_failures_clear();
}

/* The vectors of a Jordan block are dependent: no gradient. */
static void test_eig_gradient_of_dependent(void)
{
    HK_SCOPE;
    hk_array *x = matrices((const double[]){2, 1, 0, 2}, hk_shape(2, 2));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_sum(hk_real(hk_square(hk_eigvals(x))), NULL);
    hk_record_end();
    hk_backward(y);
    const bool has_failed = !hk_ok(hk_wait(hk_grad(x)));
    CHECK(has_failed || fabs(element(hk_grad(x), 1)) < 1e-6);
    hk_failures_clear();
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
    test_spectra();
    test_norms();
    test_products();
    test_decompositions();
    test_eig();
    test_eig_gradient_of_dependent();
    test_refusals();
    return check_result();
}
