/* Products large enough to be cut into tiles, of operands that lie in every way, and refusals. */
#include "tests/check.h"

#include "op/matmul/matrix.h"
#include "op/operator_fixture.h"

static hk_device device;

static int64_t *get(hk_array *x)
{
    int64_t *values = malloc((size_t)hk_size(x) * sizeof *values + 1);
    CHECK(hk_ok(hk_to_host(hk_cast(x, HK_I64), values, (size_t)hk_size(x) * sizeof *values)));
    return values;
}

/* a is (batch..., m, k) and b (k, n) or (batch..., k, n), by their shapes. */
static void check_product(hk_array *a, hk_array *b)
{
    HK_SCOPE;
    hk_array *c = hk_matmul(a, b);
    const int64_t m = hk_dim(a, -2), k = hk_dim(a, -1), n = hk_dim(b, -1);
    const int64_t batch = hk_size(a) / (m * k), b_step = hk_ndim(b) > 2 ? k * n : 0;
    int64_t *x = get(a), *y = get(b), *z = get(c), wrong = 0;
    CHECK_EQ_I64(hk_size(c), batch * m * n);
    CHECK_EQ_I64(hk_array_dtype(c), hk_array_dtype(a));
    for (int64_t i = 0; i < batch * m && hk_size(c); i++) {
        for (int64_t j = 0; j < n; j++) {
            int64_t sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += x[i * k + l] * y[i / m * b_step + l * n + j];
            wrong += sum != z[i * n + j];
        }
    }
    CHECK_EQ_I64(wrong, 0);
    free(z);
    free(y);
    free(x);
}

static void test_tiles(hk_dtype dtype)
{
    HK_SCOPE;
    check_product(random_numbers(hk_shape(300, 200), dtype),
                  random_numbers(hk_shape(200, 333), dtype));
    check_product(random_numbers(hk_shape(1000, 70), dtype),
                  random_numbers(hk_shape(70, 35), dtype));
    check_product(random_numbers(hk_shape(17, 500), dtype),
                  random_numbers(hk_shape(500, 999), dtype));
    check_product(random_numbers(hk_shape(1, 3000), dtype),
                  random_numbers(hk_shape(3000, 1), dtype));
    check_product(random_numbers(hk_shape(500, 1), dtype), random_numbers(hk_shape(1, 500), dtype));
    check_product(random_numbers(hk_shape(50, 9, 8), dtype),
                  random_numbers(hk_shape(50, 8, 7), dtype));
    check_product(random_numbers(hk_shape(3, 5, 90, 8), dtype),
                  random_numbers(hk_shape(8, 70), dtype));
}

/* Tiles of a piece are blocks as large as they can be, and each is in one. */
static void test_joined_tiles(void)
{
    const hki_matrix_tiles tiles = hki_matrix_tiles_of(1000, 250, 2000, HK_F32);
    const int64_t count = tiles.row_count * tiles.column_count;
    CHECK(tiles.row_count > 2 && tiles.column_count > 1);
    for (int64_t begin = 0; begin < count; begin++)
        for (int64_t end = begin + 1; end <= count; end++) {
            int64_t size = 0, joined = 0, blocks = 0;
            for (int64_t i = begin; i < end; i++) {
                const hki_matrix_tile tile = hki_matrix_tile_at(&tiles, 1000, 250, i);
                size += tile.rows * tile.columns;
            }
            for (int64_t i = begin; i < end; blocks++) {
                const hki_matrix_tile first = hki_matrix_tile_at(&tiles, 1000, 250, i);
                const hki_matrix_tile tile = hki_matrix_tiles_join(&tiles, 1000, 250, &i, end);
                CHECK(tile.row == first.row && tile.column == first.column);
                joined += tile.rows * tile.columns;
            }
            CHECK(joined == size && blocks <= 3);
        }
    int64_t all = 0;
    const hki_matrix_tile whole = hki_matrix_tiles_join(&tiles, 1000, 250, &all, count);
    CHECK(all == count && whole.rows == 1000 && whole.columns == 250);
}

/* A product of a fraction of a millisecond is two tiles where a side is long, as a step of a recurrent layer is, and has the bytes
 * of its halves; of less it has tiles for a team, which a call joins. */
static void test_halves(void)
{
    HK_SCOPE;
    const hki_matrix_tiles halved = hki_matrix_tiles_of(64, 1024, 256, HK_F32);
    CHECK(halved.row_count == 1 && halved.column_count == 2 && halved.columns == 512);
    const hki_matrix_tiles square = hki_matrix_tiles_of(250, 250, 250, HK_F32);
    CHECK(square.row_count == 1 && square.column_count == 1);
    const hki_matrix_tiles brief = hki_matrix_tiles_of(16, 1024, 256, HK_F32);
    CHECK(brief.row_count == 1 && brief.column_count > 1);
    for (int64_t m = 2; m < 70; m++)
        for (int64_t n = 2; n < 140; n++) { /* no tile is a row or a column by itself */
            const hki_matrix_tiles tiles = hki_matrix_tiles_of(m, n, 300, HK_F32);
            const int64_t count = tiles.row_count * tiles.column_count;
            for (int64_t i = 0; i < count; i++) {
                const hki_matrix_tile tile = hki_matrix_tile_at(&tiles, m, n, i);
                CHECK(tile.rows > 1 && tile.columns > 1);
            }
            int64_t all = 0;
            const hki_matrix_tile joined = hki_matrix_tiles_join(&tiles, m, n, &all, count);
            CHECK(all == count && joined.rows == m && joined.columns == n);
        }

    hk_array *a = hk_random_uniform(hk_shape(64, 256), HK_F32, device);
    hk_array *b = hk_random_uniform(hk_shape(256, 1024), HK_F32, device), *parts[2];
    for (int i = 0; i < 2; i++)
        parts[i] = hk_matmul(a, hk_contiguous(hk_slice(b, 1, i * 512, (i + 1) * 512)));
    hk_array *whole = hk_matmul(a, b), *joined = hk_concat(parts, 2, 1);
    static float one[64 * 1024], two[64 * 1024];
    CHECK(hk_ok(hk_to_host(whole, one, sizeof one)) && hk_ok(hk_to_host(joined, two, sizeof two)));
    CHECK(!memcmp(one, two, sizeof one));
}

static void test_layouts(hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *x = random_numbers(hk_shape(70, 70), dtype),
             *slab = random_numbers(hk_shape(4, 60, 50), dtype);
    hk_array *row = random_numbers(hk_shape(1, 70), dtype),
             *one = random_numbers(hk_shape(1, 1), dtype);
    hk_array *ways[] = {
        x,
        hk_transpose(x),
        hk_broadcast_to(row, hk_shape(70, 70)),
        hk_transpose(hk_broadcast_to(row, hk_shape(70, 70))),
        hk_broadcast_to(one, hk_shape(70, 70)),
        hk_slice(hk_slice(random_numbers(hk_shape(100, 100), dtype), 0, 10, 80), 1, 3, 73),
        hk_transpose(hk_slice(random_numbers(hk_shape(70, 90), dtype), 1, 20, 90)),
        hk_index(random_numbers(hk_shape(70, 70, 3), dtype), 2, 1),
        hk_transpose(hk_index(random_numbers(hk_shape(70, 70, 3), dtype), 2, 2)),
    };
    const int count = (int)(sizeof ways / sizeof ways[0]);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            check_product(ways[i], ways[j]);
    check_product(slab, hk_permute_dims(slab, hk_shape(0, 2, 1)));
    check_product(hk_permute_dims(slab, hk_shape(1, 0, 2)), hk_transpose(hk_index(slab, 0, 0)));
    check_product(hk_permute_dims(slab, hk_shape(2, 1, 0)),
                  hk_slice(hk_transpose(hk_index(slab, 0, 1)), 0, 7, 11));
}

/* linear(x, w) is x times the transpose of w, whatever the axes of x. */
static void test_linear(void)
{
    HK_SCOPE;
    hk_array *x = random_numbers(hk_shape(6, 40, 30), HK_F32),
             *w = random_numbers(hk_shape(50, 30), HK_F32);
    hk_array *bias = random_numbers(hk_shape(50), HK_F32);
    hk_array *views[] = {x, hk_permute_dims(x, hk_shape(1, 0, 2)), hk_slice(x, 1, 3, 33),
                         hk_permute_dims(hk_slice(x, 1, 5, 35), hk_shape(0, 2, 1)),
                         hk_transpose(hk_reshape(x, hk_shape(30, 240)))};
    for (int i = 0; i < 5; i++) {
        int64_t *expected = get(hk_add(hk_matmul(views[i], hk_transpose(w)), bias));
        hk_array *y = hk_linear(views[i], w, bias);
        int64_t *got = get(y);
        CHECK(memcmp(got, expected, (size_t)hk_size(y) * sizeof *got) == 0);
        free(got);
        free(expected);
    }
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(2, 3), HK_F32, device);
    CHECK(is_refused(hk_matmul(x, x), "a is (2,3) and b is (2,3): a has 3 columns, b has 2 rows"));
    CHECK(is_refused(hk_matmul(x, hk_scalar(1, HK_F32, device)), "b is 0-d"));
    CHECK(is_refused(hk_matmul(x, hk_zeros(hk_shape(3, 3), HK_F64, device)),
                     "b is float64, a is float32"));
    CHECK(is_refused(hk_matmul(hk_zeros(hk_shape(2, 4, 3), HK_F32, device),
                               hk_zeros(hk_shape(3, 3, 4), HK_F32, device)),
                     "do not broadcast"));
    hk_array *w = hk_zeros(hk_shape(5, 4), HK_F32, device);
    CHECK(is_refused(hk_linear(x, w, NULL),
                     "the last axis of x (2,3) has size 3, but weight (5,4) takes 4"));
    CHECK(is_refused(hk_linear(x, x, w), "bias is (5,4), but must be (2,)"));
    CHECK(is_refused(hk_linear(x, hk_zeros(hk_shape(3), HK_F32, device), NULL), "weight is (3,)"));
    CHECK(is_refused(hk_linear(hk_scalar(1, HK_F32, device), w, NULL), "x is 0-d"));
    CHECK(is_refused(hk_linear(x, hk_zeros(hk_shape(5, 3), HK_F64, device), NULL),
                     "weight is float64"));
    hk_failures_clear();
}

/* Long vectors go in pieces, as vecdot of rows does. */
static void test_vectors(hk_dtype dtype)
{
    for (int64_t n = 1000; n < 2000000; n = 3 * n + 24) {
        HK_SCOPE;
        hk_array *x = hk_cast(hk_random_int(-9, 9, hk_shape(n), HK_I32, device), dtype);
        hk_array *y = hk_cast(hk_random_int(-9, 9, hk_shape(n), HK_I32, device), dtype);
        hk_array *product = hk_matmul(x, y);
        CHECK_EQ_I64(hk_array_dtype(product), dtype);
        CHECK(hk_ndim(product) == 0);
        CHECK(hk_item(product, NULL) == hk_item(hk_vecdot(x, y), NULL));
        CHECK(hk_item(hk_matmul(hk_slice(x, 0, 1, n), hk_slice(y, 0, 0, n - 1)), NULL) ==
              hk_item(hk_vecdot(hk_slice(x, 0, 1, n), hk_slice(y, 0, 0, n - 1)), NULL));
    }
}

int main(void)
{
    device = hk_device_default();
    hk_seed(5);
    const hk_dtype dtypes[] = {HK_F32, HK_F64, HK_I32, HK_I64};
    for (int i = 0; i < 4; i++) {
        test_tiles(dtypes[i]);
        test_layouts(dtypes[i]);
        test_vectors(dtypes[i]);
    }
    test_joined_tiles();
    test_halves();
    test_linear();
    test_refusals();
    return check_result();
}
