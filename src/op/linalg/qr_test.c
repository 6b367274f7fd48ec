/* Packed factors by reflections, and the factors of large matrices in panels: what they multiply
 * out to, and that one core gives the bytes of several. */
#include "check.h"

#include "op/operator_fixture.h"
#include "tests/same_bytes.h"

#include <math.h>

enum { LARGE = 1060 };

static hk_array *random_matrices(hk_dims shape, hk_dtype dtype)
{
    hk_array *x = hk_random_normal(shape, HK_F64, (hk_device){NULL});
    if (dtype == HK_C64 || dtype == HK_C128)
        x = hk_complex_of(x, hk_random_normal(shape, HK_F64, (hk_device){NULL}));
    return hk_cast(x, dtype);
}

static hk_array *adjoint(hk_array *x)
{
    x = hk_swapaxes(x, -1, -2);
    return hk_array_dtype(x) == HK_C64 || hk_array_dtype(x) == HK_C128 ? hk_conj(x) : x;
}

static double difference(hk_array *x, hk_array *y)
{
    return hk_item(hk_max(hk_abs(hk_subtract(x, y)), NULL), NULL);
}

static double bound_of(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_C64 ? 1e-3 : 1e-11;
}

/* q r is x, columns of q are at right angles, nothing is below the diagonal of r or negative on
 * it. */
static void check_factors(hk_array *x, hk_array *q, hk_array *r)
{
    const hk_dtype dtype = hk_array_dtype(x);
    const int64_t columns = hk_dim(q, -1);
    CHECK(difference(hk_matmul(q, r), x) < bound_of(dtype));
    CHECK(difference(hk_matmul(adjoint(q), q),
                     hk_eye(columns, columns, 0, dtype, (hk_device){NULL})) < bound_of(dtype));
    CHECK(difference(hk_tril(r, -1), hk_zeros_like(r)) == 0);
    hk_array *diagonal = hk_real(hk_diagonal(r, 0));
    CHECK(hk_item(hk_min(diagonal, NULL), NULL) >= 0);
}

static void test_large(int64_t m, int64_t n, hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *x = random_matrices(hk_shape(m, n), dtype), *q, *r;
    hk_qr(x, NULL, &q, &r);
    CHECK(hk_dim(q, 1) == (m < n ? m : n));
    check_factors(x, q, r);
    if (m > n) {
        hk_qr(x, &(hk_qr_options){.complete = true}, &q, &r);
        CHECK(hk_dim(q, 1) == m && hk_dim(r, 0) == m);
        check_factors(x, q, r);
    }
}

static void test_packed(hk_dims shape, hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *x = random_matrices(shape, dtype), *qr, *tau;
    const int64_t m = hk_dim(x, -2), least = m < hk_dim(x, -1) ? m : hk_dim(x, -1);
    hk_qr_factor(x, &qr, &tau);
    CHECK(hk_dim(tau, -1) == least);
    /* Q times R is x, and Q^H x is R */
    hk_array *r = hk_triu(qr, 0);
    CHECK(difference(hk_qr_multiply(qr, tau, r, NULL), x) < bound_of(dtype));
    const hk_qr_multiply_options back = {.adjoint = true}, left = {.adjoint = true, .right = true},
                                 right = {.right = true};
    CHECK(difference(hk_qr_multiply(qr, tau, x, &back), r) < bound_of(dtype));
    CHECK(difference(hk_qr_multiply(qr, tau, adjoint(r), &left), adjoint(x)) < bound_of(dtype));
    hk_array *rows = random_matrices(hk_shape(300, m), dtype);
    hk_array *there = hk_qr_multiply(qr, tau, rows, &right);
    CHECK(difference(hk_qr_multiply(qr, tau, there, &left),
                     hk_broadcast_to(rows, hk_dims_get(there))) < bound_of(dtype));
    if (shape.ndim > 2)
        return;
    hk_array *b = hk_copy(rows);
    hk_qr_multiply_into(b, qr, tau, b, &right);
    CHECK(same_bytes(b, there));
    hk_array *room = hk_zeros(hk_shape(m + 3, hk_dim(x, 1) + 5), dtype, (hk_device){NULL});
    hk_array *part = hk_slice(hk_slice(room, 0, 1, m + 1), 1, 2, hk_dim(x, 1) + 2);
    hk_array *same = hk_copy(tau);
    hk_assign(part, x);
    hk_qr_factor_into(part, same, part);
    CHECK(same_bytes(hk_contiguous(part), qr) && same_bytes(same, tau));
}

static void test_gradients(void)
{
    HK_SCOPE;
    hk_array *x = random_matrices(hk_shape(4, 4), HK_F64), *qr, *tau;
    hk_array *b = random_matrices(hk_shape(4, 2), HK_F64),
             *w = random_matrices(hk_shape(4, 2), HK_F64);
    hk_qr_factor(x, &qr, &tau);
    hk_attach_grad(b, HK_GRAD_WRITE);
    hk_attach_grad(qr, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_sum(hk_multiply(hk_qr_multiply(qr, tau, b, NULL), w), NULL);
    hk_record_end();
    hk_backward(loss);
    CHECK(difference(hk_grad(b),
                     hk_qr_multiply(qr, tau, w, &(hk_qr_multiply_options){.adjoint = true})) <
          1e-12);
    CHECK(fails_with(hk_grad(qr), HK_UNSUPPORTED, "no gradient of packed factors"));
    hk_failures_clear();
}

static void test_gradient_of_large(void)
{
    HK_SCOPE;
    const double step = 1e-5;
    hk_array *a = random_matrices(hk_shape(LARGE, LARGE), HK_F64), *q, *r;
    a = hk_add(a, hk_multiply(hk_eye(LARGE, LARGE, 0, HK_F64, (hk_device){NULL}), 100));
    hk_array *weight = random_matrices(hk_shape(LARGE, LARGE), HK_F64),
             *along = random_matrices(hk_shape(LARGE, LARGE), HK_F64);
    hk_attach_grad(a, HK_GRAD_WRITE);
    hk_record_begin();
    hk_qr(a, NULL, &q, &r);
    hk_array *loss = hk_sum(hk_multiply(hk_add(q, r), weight), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    const double slope = hk_item(hk_sum(hk_multiply(hk_grad(a), along), NULL), NULL);
    double values[2];
    for (int i = 0; i < 2; i++) {
        hk_qr(hk_add(hk_detach(a), hk_multiply(along, i ? step : -step)), NULL, &q, &r);
        values[i] = hk_item(hk_sum(hk_multiply(hk_add(q, r), weight), NULL), NULL);
    }
    const double expected = (values[1] - values[0]) / (2 * step);
    CHECK(fabs(slope - expected) < 1e-4 * fmax(1, fabs(expected)));
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(3, 2), HK_F32, (hk_device){NULL}), *qr, *tau;
    hk_qr_factor(x, &qr, &tau);
    CHECK(
        is_refused(hk_qr_multiply(qr, x, x, NULL), "tau is float32(3,2), but must be float32(2,)"));
    CHECK(is_refused(hk_qr_multiply(qr, tau, tau, NULL), "b must have a row for each row of qr"));
    CHECK(is_refused(hk_qr_multiply(qr, tau, x, &(hk_qr_multiply_options){.right = true}),
                     "a column for each row of qr"));
    hk_array *shared = hk_zeros(hk_shape(3, 2), HK_F32, (hk_device){NULL});
    hk_qr_factor_into(shared, hk_index(shared, 1, 0), x);
    CHECK(!hk_ok(hk_wait(shared)));
    hk_qr_factor(hk_ones(hk_shape(0, 2), HK_F32, (hk_device){NULL}), &qr, &tau);
    CHECK(hk_size(qr) == 0 && hk_size(tau) == 0 && hk_ok(hk_wait(qr)));
    hk_failures_clear();
}

static void *bytes_of(hk_runtime_options options, size_t *bytes)
{
    CHECK(hk_ok(hk_runtime_init(&options)));
    hk_seed(5);
    void *result = NULL;
    {
        HK_SCOPE;
        hk_array *q, *r, *both;
        hk_qr(random_matrices(hk_shape(LARGE, LARGE), HK_F32), NULL, &q, &r);
        both = hk_stack(((hk_array *[]){q, r}), 2, 0);
        *bytes = (size_t)hk_size(both) * sizeof(float);
        result = malloc(*bytes);
        CHECK(hk_ok(hk_to_host(both, result, *bytes)));
    }
    hk_runtime_deinit();
    return result;
}

static void test_same_bytes(void)
{
    size_t bytes, other_bytes;
    void *serial = bytes_of((hk_runtime_options){.engine = HK_ENGINE_SERIAL}, &bytes);
    for (int cores = 0; cores < 2; cores++) {
        void *other = bytes_of((hk_runtime_options){.engine = HK_ENGINE_ASYNC, .cpu_cores = cores},
                               &other_bytes);
        CHECK(bytes == other_bytes && memcmp(serial, other, bytes) == 0);
        free(other);
    }
    free(serial);
}

int main(void)
{
    test_same_bytes();
    CHECK(hk_ok(hk_runtime_init(NULL)));
    for (int i = 0; i < 4; i++) {
        const hk_dtype dtype = (hk_dtype[]){HK_F32, HK_F64, HK_C64, HK_C128}[i];
        test_packed(hk_shape(7, 4), dtype);
        test_packed(hk_shape(4, 7), dtype);
        test_packed(hk_shape(2, 3, 5, 5), dtype);
        test_packed(hk_shape(LARGE, LARGE), dtype);
        test_large(LARGE, LARGE, dtype);
    }
    test_large(1200, 1030, HK_F64);
    test_large(1030, 1200, HK_F64);
    test_gradients();
    test_gradient_of_large();
    test_refusals();
    hk_runtime_deinit();
    return check_result();
}
