/* Factorisations of complex matrices: what they give multiplies out; gradients against differences; what is refused. */
#include "tests/check.h"

#include "op/complex/complex_fixture.h"

/* ---- matrices ------------------------------------------------------------------------------------------------- */

static hk_array *matrices(int count, int m, int n, unsigned seed)
{
    static number values[2 * 70 * 70];
    draw(values, count * m * n, seed);
    return array(values, count > 1 ? hk_shape(count, m, n) : hk_shape(m, n), HK_C128);
}

static hk_array *adjoint(hk_array *x)
{
    return hk_conj(hk_swapaxes(x, -1, -2));
}

static hk_array *identity(int64_t n)
{
    return hk_eye(n, n, 0, HK_F64, device);
}

/* x x^H + 1: Hermitian, positive definite. */
static hk_array *definite(hk_array *x)
{
    return hk_add(hk_matmul(x, adjoint(x)), identity(hk_dim(x, -2)));
}

/* x diag(values) */
static hk_array *columns_by(hk_array *x, hk_array *values)
{
    return hk_multiply(x, hk_expand_dims(values, -2));
}

static bool are_near(hk_array *x, hk_array *y, double tolerance)
{
    const double distance = hk_item(hk_max(hk_abs(hk_subtract(x, y)), NULL), NULL);
    if (!(distance <= tolerance))
        fprintf(stderr, "%g apart\n", distance);
    return distance <= tolerance;
}

static bool are_unitary(hk_array *columns, double tolerance)
{
    return are_near(hk_matmul(adjoint(columns), columns), identity(hk_dim(columns, -1)), tolerance);
}

/* Nothing below the diagonal, which is real and not negative. */
static bool is_upper(hk_array *r)
{
    hk_array *diagonal =
        hk_sum(hk_multiply(r, hk_eye(hk_dim(r, -2), hk_dim(r, -1), 0, HK_F64, device)),
               &(hk_sum_options){.axes = hk_shape(-2)});
    return are_near(hk_tril(r, -1), hk_zeros_like(r), 0) &&
           are_near(diagonal, hk_abs(hk_real(diagonal)), 0);
}

/* The largest element of each column is real and positive. */
static bool are_turned(hk_array *v)
{
    const hk_max_options rows = {.axes = hk_shape(-2)};
    return are_near(hk_max(hk_abs(v), &rows), hk_max(hk_real(v), &rows), 1e-6);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static number cross(const number *x, int a, int b)
{
    return x[3 + a] * x[6 + b] - x[3 + b] * x[6 + a];
}

static void test_determinants(void)
{
    HK_SCOPE;
    number z[9], sign;
    draw(z, 9, 20);
    const number det = z[0] * cross(z, 1, 2) - z[1] * cross(z, 0, 2) + z[2] * cross(z, 0, 1);
    hk_array *x = array(z, hk_shape(3, 3), HK_C128), *signs, *logs;
    sign = det / cabs(det);
    for (int narrow = 0; narrow < 2; narrow++) {
        const double tolerance = narrow ? 1e-5 : 1e-14;
        hk_array *y = hk_cast(x, narrow ? HK_C64 : HK_C128);
        CHECK(has(hk_det(y), &det, 1, tolerance));
        hk_slogdet(y, &signs, &logs);
        CHECK(has(signs, &sign, 1, tolerance) &&
              has(logs, (number[]){log(cabs(det))}, 1, tolerance));
        CHECK(hk_array_dtype(logs) == (narrow ? HK_F32 : HK_F64));
        CHECK(hk_array_dtype(signs) == hk_array_dtype(y));
    }
    hk_array *zero = hk_zeros(hk_shape(2, 2, 2), HK_C128, device);
    CHECK(has(hk_det(zero), (const number[]){0, 0}, 2, 0));
    hk_slogdet(zero, &signs, &logs);
    CHECK(has(signs, (const number[]){0, 0}, 2, 0));
    CHECK(hk_item(hk_index(logs, 0, 1), NULL) == -INFINITY);
    hk_array *none = hk_zeros(hk_shape(2, 0, 0), HK_C64, device);
    CHECK(has(hk_det(none), (const number[]){1, 1}, 2, 0));
    hk_slogdet(none, &signs, &logs);
    CHECK(has(signs, (const number[]){1, 1}, 2, 0) && has(logs, (const number[]){0, 0}, 2, 0));
}

static void check_square(hk_array *x, double bound)
{
    hk_array *a = definite(x), *values, *v;
    hk_array *lower = hk_cholesky(a, NULL),
             *upper = hk_cholesky(a, &(hk_cholesky_options){.upper = true});
    CHECK(are_near(hk_matmul(lower, adjoint(lower)), a, bound));
    CHECK(are_near(upper, adjoint(lower), 0) && is_upper(upper));
    hk_eigh(a, &values, &v);
    CHECK(are_near(hk_matmul(a, v), columns_by(v, values), bound));
    CHECK(are_unitary(v, bound) && are_turned(v));
    CHECK(are_near(hk_eigvalsh(a), values, bound));
    CHECK(are_near(hk_sort(values, -1, false), values, 0));
    /* What is not Hermitian counts as its mean with its adjoint. */
    hk_array *skew = hk_subtract(x, adjoint(x));
    CHECK(are_near(hk_eigvalsh(hk_add(a, skew)), values, bound));
    CHECK(are_near(hk_cholesky(hk_add(a, skew), NULL), lower, bound));
    CHECK(hk_array_dtype(values) == HK_F64 && hk_array_dtype(v) == HK_C128);
}

static void check_any(hk_array *x, double bound)
{
    hk_array *u, *s, *vh, *q, *r;
    const int64_t m = hk_dim(x, -2), n = hk_dim(x, -1), k = m < n ? m : n;
    for (int full = 0; full < 2; full++) {
        hk_svd(x, &(hk_svd_options){.full_matrices = full}, &u, &s, &vh);
        CHECK(are_unitary(u, bound) && are_unitary(adjoint(vh), bound) && are_turned(u));
        CHECK(hk_dim(u, -1) == (full ? m : k) && hk_dim(vh, -2) == (full ? n : k));
        hk_array *product = hk_matmul(columns_by(hk_slice(u, -1, 0, k), s), hk_slice(vh, -2, 0, k));
        CHECK(are_near(product, x, bound));
        hk_qr(x, &(hk_qr_options){.complete = full}, &q, &r);
        CHECK(hk_dim(q, -1) == (full ? m : k));
        CHECK(are_unitary(q, bound) && is_upper(r) && are_near(hk_matmul(q, r), x, bound));
    }
    CHECK(hk_array_dtype(s) == HK_F64);
    CHECK(are_near(hk_svdvals(x), s, bound));
    hk_array *inverse = hk_pinv(x, NULL), *onto = hk_matmul(x, inverse);
    CHECK(are_near(hk_matmul(onto, x), x, bound) && are_near(onto, adjoint(onto), bound));
    CHECK(are_near(hk_matmul(inverse, x), adjoint(hk_matmul(inverse, x)), bound));
    CHECK(hk_item(hk_min(hk_matrix_rank(x, NULL), NULL), NULL) == (double)k);
}

/* Also of sizes that LAPACK works on in blocks, and of complex64. */
static void test_products(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {2, 3, 3},   {1, 4, 2},
                                   {2, 2, 5}, {1, 70, 70}, {1, 40, 66}};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; at++) {
        HK_SCOPE;
        hk_array *x = matrices(sizes[at][0], sizes[at][1], sizes[at][2], (unsigned)at + 30);
        const double bound = 1e-14 * sizes[at][1] * sizes[at][1] + 1e-13;
        if (sizes[at][1] == sizes[at][2])
            check_square(x, bound);
        check_any(x, sizes[at][1] == 70 ? 1e-9 : bound); /* one near a singular one */
    }
}

static void test_narrow(void)
{
    HK_SCOPE;
    hk_array *x = hk_cast(matrices(2, 3, 3, 41), HK_C64), *a = definite(x), *values, *v, *q, *r;
    hk_array *u, *s, *vh, *lower = hk_cholesky(hk_cast(a, HK_C64), NULL);
    CHECK(are_near(hk_matmul(lower, adjoint(lower)), a, 1e-5));
    hk_eigh(hk_cast(a, HK_C64), &values, &v);
    CHECK(are_near(hk_matmul(a, v), columns_by(v, values), 1e-5) && are_turned(v));
    CHECK(hk_array_dtype(values) == HK_F32 && hk_array_dtype(v) == HK_C64);
    hk_svd(x, NULL, &u, &s, &vh);
    CHECK(are_near(hk_matmul(columns_by(u, s), vh), x, 1e-5) && hk_array_dtype(s) == HK_F32);
    hk_qr(x, NULL, &q, &r);
    CHECK(are_near(hk_matmul(q, r), x, 1e-5) && is_upper(r));
    CHECK(are_near(hk_matmul(x, hk_pinv(x, NULL)), identity(3), 1e-4));
}

/* op(t) y = b, or y op(t) = b, in all ways to say it, where t and b lie in larger matrices. */
static void test_triangles(void)
{
    for (int way = 0; way < 32; way++) {
        HK_SCOPE;
        const hk_solve_triangular_options how = {.upper = way & 1,
                                                 .unit_diagonal = way & 2,
                                                 .transposed = way & 4,
                                                 .conjugated = way & 8,
                                                 .right = way & 16};
        hk_array *all = matrices(2, 7, 7, (unsigned)way + 1);
        hk_array *t = hk_slice(hk_slice(all, 1, 1, 6), 2, 2, 7),
                 *b = hk_slice(hk_slice(matrices(1, 9, 9, 5), 0, 2, 7), 1, 1, 6);
        t = way % 3 ? t : hk_swapaxes(t, 1, 2);
        b = way % 5 ? b : hk_swapaxes(b, 0, 1);
        hk_assign(t, hk_add(t, hk_multiply(identity(5), 6)));
        hk_array *full = how.upper ? hk_triu(t, 0) : hk_tril(t, 0);
        if (how.unit_diagonal)
            full = hk_add(how.upper ? hk_triu(t, 1) : hk_tril(t, -1), identity(5));
        full = how.transposed ? hk_swapaxes(full, 1, 2) : full;
        full = how.conjugated ? hk_conj(full) : full;
        hk_array *y = hk_solve_triangular(t, b, &how);
        CHECK(are_near(how.right ? hk_matmul(y, full) : hk_matmul(full, y),
                       hk_broadcast_to(b, hk_shape(2, 5, 5)), 1e-10));
        hk_array *first = hk_index(t, 0, 0);
        hk_solve_triangular_into(b, first, b, &how);
        CHECK(are_near(b, hk_index(y, 0, 0), 1e-10));
    }
}

/* ---- gradients ------------------------------------------------------------------------------------------------ */

static hk_array *square(hk_array *z)
{
    return hk_reshape(z, hk_shape(3, 3));
}

static hk_array *tall(hk_array *z)
{
    return hk_reshape(hk_slice(z, 0, 0, 8), hk_shape(4, 2));
}

/* Results as one vector. */
static hk_array *flat(hk_array *x)
{
    return hk_reshape(hk_cast(x, HK_C128), hk_shape(-1));
}

static hk_array *both(hk_array *x, hk_array *y)
{
    return hk_concat(((hk_array *[]){flat(x), flat(y)}), 2, 0);
}

static hk_array *eigen(hk_array *x)
{
    hk_array *values, *v;
    hk_eigh(x, &values, &v);
    return both(values, v);
}

static hk_array *singular(hk_array *x, int which)
{
    hk_array *parts[3];
    hk_svd(x, NULL, &parts[0], &parts[1], &parts[2]);
    return which < 0 ? both(both(parts[0], parts[1]), parts[2]) : flat(parts[which]);
}

static hk_array *triangular(hk_array *x, int which)
{
    hk_array *parts[2];
    hk_qr(x, NULL, &parts[0], &parts[1]);
    return which < 0 ? both(parts[0], parts[1]) : flat(parts[which]);
}

static hk_array *sign_and_log(hk_array *x)
{
    hk_array *sign, *log;
    hk_slogdet(x, &sign, &log);
    return hk_multiply(sign, hk_add(log, 2));
}

static hk_array *only_sign(hk_array *x)
{
    hk_array *sign, *log;
    hk_slogdet(x, &sign, &log);
    return sign;
}

PAIR(det, hk_multiply(hk_det(square(z)), w))
PAIR(slogdet, hk_multiply(sign_and_log(square(z)), w))
PAIR(sign_of_det, hk_multiply(only_sign(square(z)), w))
PAIR(cholesky, hk_cholesky(definite(square(z)), NULL))
PAIR(upper,
     hk_cholesky(hk_add(definite(square(z)), square(w)), &(hk_cholesky_options){.upper = true}))
PAIR(eigh, eigen(hk_add(square(z), adjoint(square(z)))))
PAIR(eigh_of_any, eigen(square(z)))
PAIR(eigvalsh, hk_eigvalsh(square(z)))
PAIR(svd, singular(square(z), -1))
PAIR(svd_u, singular(square(z), 0))
PAIR(svd_vh, singular(square(z), 2))
PAIR(svd_tall, singular(tall(z), -1))
PAIR(svd_wide, singular(adjoint(tall(z)), -1))
PAIR(svdvals, hk_svdvals(tall(z)))
PAIR(qr, triangular(square(z), -1))
PAIR(qr_q, triangular(square(z), 0))
PAIR(qr_r, triangular(square(z), 1))
PAIR(qr_tall, triangular(tall(z), -1))
PAIR(qr_wide, triangular(adjoint(tall(z)), -1))
PAIR(vector_norm, hk_vector_norm(square(z), &(hk_vector_norm_options){.axes = hk_shape(1)}))
PAIR(vector_norm_3,
     hk_vector_norm(square(z), &(hk_vector_norm_options){.ord = 3, .axes = hk_shape(0)}))
PAIR(matrix_norm, hk_matrix_norm(tall(z), NULL))
PAIR(nuclear_norm, hk_matrix_norm(tall(z), &(hk_matrix_norm_options){.ord = HK_NORM_NUC}))
PAIR(pinv, hk_pinv(square(z), NULL))
PAIR(pinv_tall, hk_pinv(tall(z), NULL))
PAIR(pinv_wide, hk_pinv(adjoint(tall(z)), NULL))
/* A triangle whose diagonal is far from 0, in a matrix. */
static hk_array *steep(hk_array *z)
{
    return hk_add(square(z), hk_multiply(identity(3), 3));
}

PAIR(solve_lower, hk_solve_triangular(steep(z), square(w), NULL))
PAIR(solve_adjoint, hk_solve_triangular(steep(z), square(w),
                                        &(hk_solve_triangular_options){
                                            .upper = true, .transposed = true, .conjugated = true}))
PAIR(solve_right,
     hk_solve_triangular(steep(z), square(w),
                         &(hk_solve_triangular_options){.right = true, .transposed = true}))
PAIR(solve_conjugate, hk_solve_triangular(steep(z), square(w),
                                          &(hk_solve_triangular_options){
                                              .upper = true, .right = true, .conjugated = true}))
PAIR(solve_unit, hk_solve_triangular(square(z), hk_slice(w, 0, 3, 6),
                                     &(hk_solve_triangular_options){.unit_diagonal = true}))
PAIR(addmm, hk_addmm(square(z), square(w), hk_swapaxes(square(z), 0, 1),
                     &(hk_addmm_options){.alpha = -2, .beta = 0.5}))
PAIR(syrk, hk_syrk(square(z), square(w), NULL))
PAIR(syrk_upper, hk_syrk(hk_slice(z, 0, 0, 4), tall(w),
                         &(hk_syrk_options){.alpha = -2, .beta = 0.5, .upper = true}))
static const named_pair functions[] = {
    NAMED(addmm) NAMED(syrk) NAMED(syrk_upper) NAMED(solve_lower) NAMED(solve_adjoint)
        NAMED(solve_right) NAMED(solve_conjugate) NAMED(solve_unit) NAMED(det) NAMED(slogdet)
            NAMED(sign_of_det) NAMED(cholesky) NAMED(upper) NAMED(eigh) NAMED(eigh_of_any)
                NAMED(eigvalsh) NAMED(svd) NAMED(svd_u) NAMED(svd_vh) NAMED(svd_tall)
                    NAMED(svd_wide) NAMED(svdvals) NAMED(qr) NAMED(qr_q) NAMED(qr_r) NAMED(qr_tall)
                        NAMED(qr_wide) NAMED(vector_norm) NAMED(vector_norm_3) NAMED(matrix_norm)
                            NAMED(nuclear_norm) NAMED(pinv) NAMED(pinv_tall) NAMED(pinv_wide)};

/* Where the matrix is singular, too: conjugates of cofactors. */
static void test_singular(void)
{
    HK_SCOPE;
    const number z[] = {1 + i, 2, 2 * i, 2 + 2 * i};
    hk_array *x = array(z, hk_shape(2, 2), HK_C128), *loss, *dx;
    hk_attach_grad(x, HK_GRAD_TRACK);
    {
        HK_RECORD;
        loss = hk_real(hk_multiply(hk_det(x), hk_complex_number(1, -1)));
    }
    CHECK(hk_ok(hk_gradients(&loss, 1, &x, 1, NULL, &dx)));
    const number cofactors[] = {z[3], -z[2], -z[1], z[0]};
    number expected[4];
    for (int j = 0; j < 4; j++)
        expected[j] = (1 + i) * conj(cofactors[j]);
    CHECK(has(dx, expected, 4, 1e-13));
}

/* ---- norms ---- */

static void test_norms(void)
{
    HK_SCOPE;
    hk_array *x = hk_cast(
        array((const number[]){3 + 4 * i, 0, -2 * i, 5 - 12 * i}, hk_shape(2, 2), HK_C128), HK_C64);
    hk_array *y = hk_vector_norm(x, &(hk_vector_norm_options){.axes = hk_shape(1)});
    CHECK(hk_array_dtype(y) == HK_F32 &&
          are_near(y, hk_vector_norm(hk_abs(x), &(hk_vector_norm_options){.axes = hk_shape(1)}),
                   1e-6));
    const struct {
        hk_norm_order order;
        double value;
    } norms[] = {
        {HK_NORM_FRO, sqrt(198)}, {HK_NORM_1, 13}, {HK_NORM_INF, 15}, {HK_NORM_MINUS_INF, 5}};
    for (size_t at = 0; at < sizeof norms / sizeof *norms; at++)
        CHECK(fabs(hk_item(hk_matrix_norm(x, &(hk_matrix_norm_options){.ord = norms[at].order}),
                           NULL) -
                   norms[at].value) < 1e-5);
    hk_array *values = hk_svdvals(x);
    CHECK(are_near(hk_matrix_norm(x, &(hk_matrix_norm_options){.ord = HK_NORM_NUC}),
                   hk_sum(values, NULL), 1e-5));
    CHECK(are_near(hk_matrix_norm(x, &(hk_matrix_norm_options){.ord = HK_NORM_2}),
                   hk_max(values, NULL), 1e-5));
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = array((const number[]){1, 2 * i, -2 * i, 1}, hk_shape(2, 2), HK_C128);
    hk_array *nan = hk_full(hk_shape(2, 2), NAN, HK_C64, device), *values, *v;
    CHECK(fails_with(hk_cholesky(x, NULL), HK_BAD_DATA, "not positive definite: its first 2 rows"));
    CHECK(fails_with(hk_cholesky(nan, NULL), HK_BAD_DATA, "NaN or infinite"));
    hk_eigh(nan, &values, &v);
    CHECK(fails_with(values, HK_BAD_DATA, "NaN or infinite"));
    CHECK(fails_with(hk_svdvals(nan), HK_BAD_DATA, "NaN or infinite"));
    CHECK(is_refused(hk_det(hk_zeros(hk_shape(2, 3), HK_C64, device)), "square"));
    hk_failures_clear();
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(NULL)));
    device = hk_device_default();
    test_determinants();
    test_products();
    test_narrow();
    test_norms();
    test_triangles();
    for (int of_gradients = 0; of_gradients < 2; of_gradients++)
        check_gradients(functions, sizeof functions / sizeof *functions, 9, of_gradients);
    test_singular();
    test_refusals();
    hk_runtime_deinit();
    return check_result();
}
