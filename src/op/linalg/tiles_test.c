/* Large matrices, and tiled programs on views: residuals; the same bytes in every engine and on
 * every number of cores; gradients; captured steps; what fails, and where. */
#include "check.h"

#include "op/operator_fixture.h"
#include "tests/same_bytes.h"

#include <math.h>

enum { LARGE = 1060, TILE = 48, TILES = 4, SIDE = TILE * TILES - 7 };

static hk_array *random_matrix(int64_t rows, int64_t columns, hk_dtype dtype)
{
    hk_array *x = hk_random_normal(hk_shape(rows, columns), HK_F64, (hk_device){NULL});
    if (dtype == HK_C64 || dtype == HK_C128)
        x = hk_complex_of(x, hk_random_normal(hk_shape(rows, columns), HK_F64, (hk_device){NULL}));
    return hk_cast(x, dtype);
}

static hk_array *adjoint(hk_array *x)
{
    x = hk_swapaxes(x, -1, -2);
    return hk_array_dtype(x) == HK_C64 || hk_array_dtype(x) == HK_C128 ? hk_conj(x) : x;
}

static hk_array *identity(int64_t n, hk_dtype dtype)
{
    return hk_eye(n, n, 0, dtype, (hk_device){NULL});
}

static hk_array *definite(int64_t n, hk_dtype dtype)
{
    hk_array *x = random_matrix(n, n, dtype);
    return hk_add(hk_multiply(hk_matmul(x, adjoint(x)), 1.0 / (double)n), identity(n, dtype));
}

static double difference(hk_array *x, hk_array *y)
{
    return hk_item(hk_max(hk_abs(hk_subtract(x, y)), NULL), NULL);
}

static double bound_of(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_C64 ? 1e-3 : 1e-11;
}

/* ---- a tiled program ------------------------------------------------------------------------- */

static hk_array *tile(hk_array *x, int i, int j)
{
    const int64_t n = hk_dim(x, 0), row = i * TILE, column = j * TILE;
    return hk_slice(hk_slice(x, 0, row, row + TILE < n ? row + TILE : n), 1, column,
                    column + TILE < n ? column + TILE : n);
}

/* The textbook's loops on views of one matrix, of which the lower triangle becomes L. */
static void tiled_cholesky(hk_array *x)
{
    HK_SCOPE;
    const hk_solve_triangular_options solve = {
        .right = true, .transposed = true, .conjugated = true};
    for (int k = 0; k < TILES; k++) {
        hk_array *corner = tile(x, k, k);
        hk_cholesky_into(corner, corner, &(hk_cholesky_options){.one_triangle = true});
        for (int i = k + 1; i < TILES; i++)
            hk_solve_triangular_into(tile(x, i, k), corner, tile(x, i, k), &solve);
        for (int i = k + 1; i < TILES; i++) {
            hk_syrk_into(tile(x, i, i), tile(x, i, i), tile(x, i, k),
                         &(hk_syrk_options){.alpha = -1});
            for (int j = k + 1; j < i; j++)
                hk_addmm_into(tile(x, i, j), tile(x, i, j), tile(x, i, k), adjoint(tile(x, j, k)),
                              &(hk_addmm_options){.alpha = -1});
        }
    }
}

static void test_tiled_program(hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *a = definite(SIDE, dtype), *x = hk_copy(a),
             *by_columns = hk_swapaxes(hk_copy(a), 0, 1);
    tiled_cholesky(x);
    hk_array *l = hk_tril(x, 0);
    CHECK(difference(hk_matmul(l, adjoint(l)), a) < bound_of(dtype));
    /* the same on a matrix that lies by columns, with other elements where one is not symmetric */
    hk_assign(by_columns, a);
    tiled_cholesky(by_columns);
    CHECK(difference(hk_tril(by_columns, 0), l) < bound_of(dtype));
}

/* The third tile on the diagonal: what depends on it fails, too, what came before stands. */
static void test_tiled_failure(void)
{
    HK_SCOPE;
    hk_array *x = definite(SIDE, HK_F64);
    hk_array *bad =
        hk_slice(hk_slice(x, 0, 2 * TILE + 5, 2 * TILE + 6), 1, 2 * TILE + 5, 2 * TILE + 6);
    hk_assign(bad, hk_full(hk_shape(1, 1), -1, HK_F64, (hk_device){NULL}));
    tiled_cholesky(x);
    CHECK(fails_with(tile(x, 2, 2), HK_BAD_DATA,
                     "is not positive definite: its first 6 rows and columns are not"));
    CHECK(hk_status_code(hk_wait(tile(x, 3, 3))) == HK_BAD_DATA);
    CHECK(hk_ok(hk_wait(tile(x, 1, 0))));
    hk_failures_clear();
}

/* ---- large matrices -------------------------------------------------------------------------- */

static void test_cholesky(hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *a = definite(LARGE, dtype);
    hk_array *l = hk_cholesky(a, NULL), *r = hk_cholesky(a, &(hk_cholesky_options){.upper = true});
    CHECK(difference(hk_matmul(l, adjoint(l)), a) < bound_of(dtype));
    CHECK(difference(hk_triu(l, 1), hk_zeros_like(l)) == 0);
    CHECK(difference(adjoint(l), r) == 0);
    /* of an asymmetric one the mean counts, or one triangle alone */
    hk_array *skew = hk_triu(random_matrix(LARGE, LARGE, dtype), 1);
    hk_array *odd = hk_add(a, hk_subtract(skew, adjoint(skew)));
    CHECK(difference(hk_cholesky(odd, NULL), l) < bound_of(dtype));
    hk_array *nan = hk_full_like(a, NAN);
    hk_array *above = hk_triu(hk_ones(hk_shape(LARGE, LARGE), HK_F32, (hk_device){NULL}), 1);
    nan = hk_where(hk_cast(above, HK_BOOL), nan, a);
    const hk_cholesky_options one = {.one_triangle = true};
    CHECK(same_bytes(hk_cholesky(nan, &one), hk_cholesky(a, &one)));
    CHECK(fails_with(hk_cholesky(nan, NULL), HK_BAD_DATA, "x has an element that is NaN"));
    hk_array *in_place = hk_copy(a);
    hk_cholesky_into(in_place, in_place, NULL);
    CHECK(same_bytes(in_place, l));
    hk_failures_clear();
}

static void test_cholesky_failure(void)
{
    HK_SCOPE;
    hk_array *a =
        hk_stack(((hk_array *[]){identity(LARGE, HK_F32), identity(LARGE, HK_F32)}), 2, 0);
    hk_assign(hk_slice(hk_slice(hk_slice(a, 0, 1, 2), 1, 700, 701), 2, 700, 701),
              hk_full(hk_shape(1, 1, 1), -1, HK_F32, (hk_device){NULL}));
    hk_array *l = hk_cholesky(a, NULL);
    CHECK(fails_with(l, HK_BAD_DATA,
                     "matrix (1) of x is not positive definite: its first 701 rows and columns"));
    CHECK(strcmp(hk_status_operation(hk_wait(l)), "cholesky") == 0);
    hk_failures_clear();
}

/* P a as lu says. */
static void test_lu(int64_t m, int64_t n, hk_dtype dtype)
{
    HK_SCOPE;
    const int64_t least = m < n ? m : n;
    hk_array *a = random_matrix(m, n, dtype), *lu, *pivots;
    hk_lu_factor(a, &lu, &pivots);
    int32_t *swaps = calloc((size_t)least, sizeof *swaps);
    int64_t *places = calloc((size_t)m, sizeof *places);
    CHECK(hk_ok(hk_to_host(pivots, swaps, (size_t)least * sizeof *swaps)));
    for (int64_t i = 0; i < m; i++)
        places[i] = i;
    for (int64_t i = 0; i < least; i++) {
        const int64_t kept = places[i];
        CHECK(swaps[i] >= i && swaps[i] < m);
        places[i] = places[swaps[i]];
        places[swaps[i]] = kept;
    }
    hk_array *swapped = hk_take_along_axis(
        a,
        hk_broadcast_to(hk_from_host(places, hk_shape(m, 1), HK_I64, (hk_device){NULL}),
                        hk_shape(m, n)),
        0);
    hk_array *l = hk_add(hk_tril(hk_slice(lu, 1, 0, least), -1),
                         hk_eye(m, least, 0, dtype, (hk_device){NULL}));
    hk_array *u = hk_triu(hk_slice(lu, 0, 0, least), 0);
    CHECK(difference(hk_matmul(l, u), swapped) < bound_of(dtype));
    /* in place, in a part of a larger matrix, which has the same bytes */
    hk_array *room = hk_zeros(hk_shape(m + 3, n + 5), dtype, (hk_device){NULL});
    hk_array *part = hk_slice(hk_slice(room, 0, 1, m + 1), 1, 2, n + 2), *same = hk_copy(pivots);
    hk_assign(part, a);
    hk_lu_factor_into(part, same, part);
    CHECK(same_bytes(hk_contiguous(part), lu) && same_bytes(same, pivots));
    free(swaps);
    free(places);
}

static void test_equations(int64_t n, hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *a = hk_add(random_matrix(n, n, dtype),
                         hk_multiply(identity(n, dtype), 4 * sqrt((double)n))),
             *b = random_matrix(n, 300, dtype), *lu, *pivots;
    hk_lu_factor(a, &lu, &pivots);
    hk_array *y = hk_lu_solve(lu, pivots, b, NULL);
    CHECK(difference(hk_matmul(a, y), b) < bound_of(dtype));
    CHECK(difference(hk_matmul(a, hk_solve(a, b)), b) < bound_of(dtype));
    CHECK(difference(hk_matmul(a, hk_inv(a)), identity(n, dtype)) < bound_of(dtype));
    const hk_lu_solve_options turned = {.transposed = true, .conjugated = true};
    CHECK(difference(hk_matmul(adjoint(a), hk_lu_solve(lu, pivots, b, &turned)), b) <
          bound_of(dtype));
    hk_array *vector = hk_index(b, 1, 7);
    CHECK(difference(hk_matmul(a, hk_solve(a, vector)), vector) < bound_of(dtype));
    hk_lu_solve_into(b, lu, pivots, b, NULL);
    CHECK(same_bytes(b, y));
}

static void test_singular(void)
{
    HK_SCOPE;
    hk_array *one = random_matrix(LARGE, LARGE, HK_F32), *a, *lu, *pivots;
    a = hk_stack(((hk_array *[]){one, one}), 2, 0);
    hk_assign(hk_slice(hk_slice(a, 0, 1, 2), 2, 900, 901),
              hk_zeros(hk_shape(1, LARGE, 1), HK_F32, (hk_device){NULL}));
    const char *text = "matrix (1) of x is singular: pivot 901 of 1060 is 0";
    hk_array *inverse = hk_inv(a);
    CHECK(fails_with(inverse, HK_BAD_DATA, text));
    CHECK(strcmp(hk_status_operation(hk_wait(inverse)), "inv") == 0);
    CHECK(fails_with(hk_solve(a, hk_ones(hk_shape(LARGE), HK_F32, (hk_device){NULL})), HK_BAD_DATA,
                     text));
    hk_lu_factor(a, &lu, &pivots);
    CHECK(hk_ok(hk_wait(lu)));
    CHECK(fails_with(
        hk_lu_solve(lu, pivots, hk_ones(hk_shape(LARGE), HK_F32, (hk_device){NULL}), NULL),
        HK_BAD_DATA, "matrix (1) of lu is singular: pivot 901 of 1060 is 0"));
    hk_failures_clear();
}

/* ---- gradients ------------------------------------------------------------------------------- */

static hk_array *by_cholesky(hk_array *x)
{
    return hk_cholesky(x, NULL);
}

static hk_array *by_solve(hk_array *x)
{
    return hk_solve(x, identity(LARGE, HK_F64));
}

static hk_array *by_inverse(hk_array *x)
{
    return hk_inv(x);
}

static hk_array *loss_of(hk_array *(*function)(hk_array *), hk_array *x, hk_array *weight)
{
    return hk_sum(hk_multiply(function(x), weight), NULL);
}

/* Along a random symmetric direction. */
static void test_gradient(hk_array *(*function)(hk_array *))
{
    HK_SCOPE;
    const double step = 1e-5;
    hk_array *a = definite(LARGE, HK_F64), *weight = random_matrix(LARGE, LARGE, HK_F64);
    hk_array *along = random_matrix(LARGE, LARGE, HK_F64);
    along = hk_add(along, hk_transpose(along));
    hk_attach_grad(a, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = loss_of(function, a, weight);
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    const double slope = hk_item(hk_sum(hk_multiply(hk_grad(a), along), NULL), NULL);
    hk_array *ahead = hk_add(hk_detach(a), hk_multiply(along, step)),
             *behind = hk_subtract(hk_detach(a), hk_multiply(along, step));
    const double expected = (hk_item(loss_of(function, ahead, weight), NULL) -
                             hk_item(loss_of(function, behind, weight), NULL)) /
                            (2 * step);
    CHECK(fabs(slope - expected) < 1e-4 * fmax(1, fabs(expected)));
}

/* ---- captured -------------------------------------------------------------------------------- */

static void test_captured(void)
{
    HK_SCOPE;
    hk_array *x = definite(LARGE, HK_F32), *other = definite(LARGE, HK_F32);
    hk_array *y = hk_zeros_like(x), *z = hk_zeros_like(x);
    hk_capture_begin((hk_array *[]){x, y, z}, 3);
    {
        HK_SCOPE;
        hk_assign(y, hk_cholesky(x, NULL));
        hk_assign(z, hk_inv(x));
    }
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    for (int i = 0; i < 2; i++)
        hk_replay(graph, (hk_array *[]){other, y, z}, 3);
    CHECK(same_bytes(y, hk_cholesky(other, NULL)));
    CHECK(same_bytes(z, hk_inv(other)));
    hk_graph_release(graph);
}

/* ---- the same bytes -------------------------------------------------------------------------- */

enum { RESULTS = 6 };

typedef struct results {
    void *bytes[RESULTS];
    size_t sizes[RESULTS];
} results;

static void keep(results *self, int index, hk_array *x)
{
    self->sizes[index] = (size_t)hk_size(x) * hk_dtype_bytes(hk_array_dtype(x));
    self->bytes[index] = malloc(self->sizes[index]);
    CHECK(hk_ok(hk_to_host(x, self->bytes[index], self->sizes[index])));
}

static void compute(results *self, hk_runtime_options options)
{
    CHECK(hk_ok(hk_runtime_init(&options)));
    hk_seed(5);
    {
        HK_SCOPE;
        hk_array *a = definite(LARGE, HK_F32), *b = random_matrix(LARGE, 5, HK_F32), *lu, *pivots;
        hk_array *x = definite(SIDE, HK_F32);
        tiled_cholesky(x);
        keep(self, 0, x);
        keep(self, 1, hk_cholesky(a, NULL));
        keep(self, 2, hk_solve(a, b));
        keep(self, 3, hk_inv(a));
        hk_lu_factor(hk_matmul(a, a), &lu, &pivots);
        keep(self, 4, lu);
        keep(self, 5, pivots);
    }
    hk_runtime_deinit();
}

static void test_same_bytes(void)
{
    const hk_runtime_options ways[] = {{.engine = HK_ENGINE_SERIAL},
                                       {.engine = HK_ENGINE_ASYNC},
                                       {.engine = HK_ENGINE_ASYNC, .cpu_cores = 1}};
    results first = {{NULL}, {0}};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        results own = {{NULL}, {0}};
        compute(way ? &own : &first, ways[way]);
        for (int i = 0; way && i < RESULTS; i++) {
            CHECK(own.sizes[i] == first.sizes[i] &&
                  memcmp(own.bytes[i], first.bytes[i], own.sizes[i]) == 0);
            free(own.bytes[i]);
        }
    }
    for (int i = 0; i < RESULTS; i++)
        free(first.bytes[i]);
}

int main(void)
{
    test_same_bytes();
    CHECK(hk_ok(hk_runtime_init(NULL)));
    for (int i = 0; i < 4; i++) {
        const hk_dtype dtype = (hk_dtype[]){HK_F32, HK_F64, HK_C64, HK_C128}[i];
        test_tiled_program(dtype);
        test_cholesky(dtype);
        test_lu(LARGE, LARGE, dtype);
        test_equations(i == 3 ? 40 : LARGE, dtype);
    }
    test_lu(1200, 1030, HK_F64);
    test_lu(1030, 1200, HK_F64);
    test_lu(5, 9, HK_F64);
    test_lu(9, 5, HK_F64);
    test_tiled_failure();
    test_cholesky_failure();
    test_singular();
    test_gradient(by_cholesky);
    test_gradient(by_solve);
    test_gradient(by_inverse);
    test_captured();
    hk_runtime_deinit();
    return check_result();
}
