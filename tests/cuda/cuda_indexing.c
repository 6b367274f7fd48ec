/* Indexing, sorting and mixed dtypes on a CUDA device against the CPU, where conformance does not look: whole rows, lines that
 * several blocks sort, many updates of one entry, indices of every integer dtype, bad indices. */
#include "base/sanitizer.h"
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

/* Threads that meet take the emulation long under a sanitizer: less of them there. */
enum { FEW = HKI_SANITIZED, UPDATES = FEW ? 600 : 3000, LINES = FEW ? 1 : 3 };

static hk_device host, gpu;

/* Both devices' results have the same bytes, but for sums, which may round differently. */
static void compare(const char *what, hk_array *expected, hk_array *actual, double bound)
{
    hk_array *back = hk_to_device(actual, host);
    CHECK(hk_ok(hk_wait(expected)) && hk_ok(hk_wait(back)));
    CHECK(hk_array_dtype(expected) == hk_array_dtype(back));
    const hk_dtype dtype = hk_array_dtype(expected);
    hk_array *same = hk_equal(expected, back);
    if (dtype == HK_F32 || dtype == HK_F64) {
        hk_array *apart = hk_abs(hk_subtract(expected, back));
        same = hk_logical_or(hk_less_equal(apart, bound), hk_equal(expected, back));
        same = hk_logical_or(same, hk_logical_and(hk_isnan(expected), hk_isnan(back)));
    }
    const double all = hk_item(hk_all(same, NULL), NULL);
    if (all != 1)
        fprintf(stderr, "%s differs\n", what);
    CHECK(all == 1);
}

/* ---- rows by index, as an embedding has them --------------------------------------------------------------- */

static void test_embedding(hk_dtype dtype, hk_dtype index_dtype, int64_t width)
{
    HK_SCOPE;
    hk_array *table = hk_random_normal(hk_shape(50, width), dtype, host);
    hk_array *indices = hk_cast(hk_random_int(0, 50, hk_shape(7, 90), HK_I64, host), index_dtype);
    hk_array *weights = hk_random_normal(hk_shape(7, 90, width), dtype, host), *made[2], *grads[2];
    for (int i = 0; i < 2; i++) {
        const hk_device device = i ? gpu : host;
        hk_array *x = hk_copy(hk_to_device(table, device));
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_record_begin();
        made[i] = hk_index_select(x, hk_to_device(indices, device), 0);
        hk_array *loss = hk_sum(hk_multiply(made[i], hk_to_device(weights, device)), NULL);
        hk_record_end();
        CHECK(hk_ok(hk_backward(loss)));
        grads[i] = hk_grad(x);
    }
    compare("rows by index", made[0], made[1], 0);
    compare("gradients of rows", grads[0], grads[1], dtype == HK_F32 ? 2e-5 : 1e-13);
}

/* Rows that begin where 16 bytes cannot be read at once. */
static void test_unaligned_rows(void)
{
    HK_SCOPE;
    hk_array *all = hk_random_normal(hk_shape(20, 17), HK_F32, host);
    hk_array *indices = hk_random_int(-20, 20, hk_shape(33), HK_I32, host), *made[2];
    for (int i = 0; i < 2; i++) {
        const hk_device device = i ? gpu : host;
        hk_array *x = hk_slice(hk_to_device(all, device), 1, 1, 17);
        made[i] = hk_index_select(x, hk_to_device(indices, device), 0);
    }
    compare("unaligned rows", made[0], made[1], 0);
}

static void test_many_updates(hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *x = hk_cast(hk_random_int(0, 9, hk_shape(4), HK_I64, host), dtype);
    hk_array *indices = hk_random_int(-4, 4, hk_shape(UPDATES), HK_I64, host);
    hk_array *updates = hk_cast(hk_random_int(0, 200, hk_shape(UPDATES), HK_I64, host), dtype);
    hk_array *added[2], *set[2];
    for (int i = 0; i < 2; i++) {
        const hk_device device = i ? gpu : host;
        hk_array *in[] = {hk_to_device(x, device), hk_to_device(indices, device),
                          hk_to_device(updates, device)};
        added[i] = hk_scatter_add(in[0], in[1], in[2], 0);
        set[i] = hk_scatter(in[0], in[1], in[2], 0);
    }
    compare("many updates added", added[0], added[1], 0); /* whole numbers: exact */
    compare("the last of many updates", set[0], set[1], 0);
}

static void test_bad_index(void)
{
    HK_SCOPE;
    const char *texts[2][2];
    for (int i = 0; i < 2; i++) {
        const hk_device device = i ? gpu : host;
        hk_array *x = hk_zeros(hk_shape(5, 8), HK_F32, device);
        hk_array *indices =
            hk_from_host((const int64_t[]){4, -5, 5, -6}, hk_shape(2, 2), HK_I64, device);
        hk_array *taken = hk_index_select(x, indices, 0);
        CHECK(hk_status_code(hk_wait(taken)) == HK_OUT_OF_RANGE);
        texts[i][0] = hk_status_message(hk_wait(taken));
        hk_array *line = hk_reshape(indices, hk_shape(4)), *column = hk_slice(x, 1, 0, 1);
        hk_array *put = hk_scatter_add(hk_reshape(column, hk_shape(5)), line,
                                       hk_ones(hk_shape(4), HK_F32, device), 0);
        CHECK(hk_status_code(hk_wait(put)) == HK_OUT_OF_RANGE);
        texts[i][1] = hk_status_message(hk_wait(put));
    }
    for (int j = 0; j < 2; j++) { /* behind the device's name */
        const char *expected = strstr(texts[0][j], "indices["),
                   *actual = strstr(texts[1][j], "indices[");
        CHECK(expected && actual);
        if (expected && actual)
            CHECK(!strncmp(expected, actual, strcspn(expected, "\n")));
    }
    hk_failures_clear();
}

/* ---- sorting ------------------------------------------------------------------------------------------------- */

/* Values many times, NaNs and both zeros among them; lines of more than one block. */
static void test_sorting(hk_dtype dtype, int64_t size, bool descending)
{
    HK_SCOPE;
    hk_array *x = hk_cast(hk_random_int(0, 40, hk_shape(LINES, size, 2), HK_I64, host), dtype);
    if (dtype == HK_F32 || dtype == HK_F64) {
        x = hk_subtract(x, 20);
        x = hk_where(hk_equal(x, 7), NAN, hk_where(hk_equal(x, 3), -0.0, x));
    }
    hk_array *sorted[2], *order[2], *first[2][2], *places[2];
    for (int i = 0; i < 2; i++) {
        hk_array *in = hk_to_device(x, i ? gpu : host);
        sorted[i] = hk_sort(in, 1, descending);
        order[i] = hk_argsort(in, 1, descending);
        hk_topk(in, size < 5 ? size : 5, 1, descending, &first[i][0], &first[i][1]);
        hk_array *line = hk_index(hk_index(hk_sort(in, 1, false), 0, 0), 1, 0);
        places[i] = hk_searchsorted(line, in, descending);
    }
    compare("sorted", sorted[0], sorted[1], 0);
    compare("order", order[0], order[1], 0);
    compare("first values", first[0][0], first[1][0], 0);
    compare("first places", first[0][1], first[1][1], 0);
    compare("places", places[0], places[1], 0);
}

/* Lines one after another, of every number of lanes, more of them than a block has. */
static void test_short_lines(hk_dtype dtype, int64_t count, int64_t size)
{
    HK_SCOPE;
    hk_array *x = hk_cast(hk_random_int(0, 90, hk_shape(count, size), HK_I64, host), dtype);
    hk_array *sums[2], *sorted[2], *order[2], *first[2], *places[2];
    for (int i = 0; i < 2; i++)
        sums[i] = hk_cumulative_sum(hk_to_device(x, i ? gpu : host), 1);
    compare("cumulative sums", sums[0], sums[1], 0);
    if (dtype == HK_F32 || dtype == HK_F64)
        x = hk_where(hk_equal(x, 7), NAN, hk_where(hk_equal(x, 3), -0.0, hk_subtract(x, 45)));
    else if (dtype != HK_U8)
        x = hk_subtract(x, 45);
    for (int i = 0; i < 2; i++) {
        hk_array *in = hk_to_device(x, i ? gpu : host);
        sorted[i] = hk_sort(in, 1, size % 2);
        order[i] = hk_argsort(in, 1, size % 2 == 0);
        hk_topk(in, size / 3 + 1, 1, size % 2 == 0, &first[i], &places[i]);
    }
    compare("sorted", sorted[0], sorted[1], 0);
    compare("order", order[0], order[1], 0);
    compare("first values", first[0], first[1], 0);
    compare("first places", places[0], places[1], 0);
}

/* From the last on, and products: of whole packs of elements, and of others. */
static void test_reversed(int64_t size)
{
    HK_SCOPE;
    hk_array *x = hk_cast(hk_random_int(1, 3, hk_shape(5, size), HK_I64, host), HK_F32);
    hk_array *products[2], *gradients[2];
    for (int i = 0; i < 2; i++) {
        hk_array *in = hk_copy(hk_to_device(x, i ? gpu : host));
        products[i] = hk_cumulative_prod(in, 1);
        hk_attach_grad(in, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *sum = hk_sum(hk_multiply(hk_cumulative_sum(in, 1), hk_detach(in)), NULL);
        hk_record_end();
        CHECK(hk_ok(hk_backward(sum)));
        gradients[i] = hk_grad(in);
    }
    compare("products", products[0], products[1], 0);
    compare("gradients of sums", gradients[0], gradients[1], 0);
}

/* ---- cumulative sums, and masks ------------------------------------------------------------------------------ */

/* Lines of several blocks, along axis 1; of others, more lines than blocks go at a time, which the emulation has few of. */
static void test_cumulative(hk_dtype dtype, int64_t axis)
{
    HK_SCOPE;
    const int64_t size = axis != 1 && getenv("HOCKET_EMULATED_CUDA") ? 100 : 5000;
    hk_array *x = hk_cast(hk_random_int(0, 90, hk_shape(LINES, size, 2), HK_I64, host), dtype);
    hk_array *made[2];
    for (int i = 0; i < 2; i++)
        made[i] = hk_cumulative_sum(hk_to_device(x, i ? gpu : host), axis);
    compare("cumulative sums", made[0], made[1], 0); /* whole numbers: exact */
}

static void test_masks(void)
{
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(70, 90), HK_F32, host), *made[2], *set[2];
    for (int i = 0; i < 2; i++) {
        hk_array *in = hk_copy(hk_to_device(x, i ? gpu : host)), *mask = hk_greater(in, 0.5);
        made[i] = hk_mask_select(in, mask);
        set[i] = hk_copy(in);
        hk_mask_assign(set[i], mask, hk_negative(in));
    }
    compare("what a mask selects", made[0], made[1], 0);
    compare("what a mask sets", set[0], set[1], 0);
}

/* ---- dtypes ---------------------------------------------------------------------------------------------------- */

/* Those of one call are promoted, as on the CPU; so are gradients. */
static void test_mixed(hk_dtype a, hk_dtype b)
{
    HK_SCOPE;
    hk_array *x = hk_cast(hk_random_int(0, 2, hk_shape(5, 6), HK_I64, host), a);
    hk_array *y = hk_cast(hk_random_int(0, 2, hk_shape(6), HK_I64, host), b);
    hk_array *made[2][4], *into[2];
    for (int i = 0; i < 2; i++) {
        hk_array *in[] = {hk_to_device(x, i ? gpu : host), hk_to_device(y, i ? gpu : host)};
        made[i][0] = hk_multiply(in[0], in[1]);
        made[i][1] = hk_equal(in[0], in[1]);
        made[i][2] = hk_where(hk_equal(in[0], in[1]), in[0], in[1]);
        made[i][3] = hk_maximum(in[1], in[0]);
        into[i] = hk_zeros(hk_shape(5, 6), hk_array_dtype(made[i][0]), i ? gpu : host);
        hk_maximum_into(into[i], in[0], in[1]);
    }
    for (int j = 0; j < 4; j++)
        compare("a call of two dtypes", made[0][j], made[1][j], 0);
    compare("a call of two dtypes into an array", into[0], into[1], 0);
}

static void test_mixed_gradient(void)
{
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(4, 3), HK_F32, host), *grads[2];
    hk_array *y = hk_random_int(1, 5, hk_shape(4, 3), HK_I32, host);
    hk_array *z = hk_random_normal(hk_shape(3), HK_F64, host);
    for (int i = 0; i < 2; i++) {
        const hk_device device = i ? gpu : host;
        hk_array *in = hk_copy(hk_to_device(x, device));
        hk_attach_grad(in, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *wide = hk_multiply(hk_cast(hk_to_device(y, device), HK_F32), in);
        hk_array *loss = hk_sum(hk_multiply(hk_to_device(z, device), wide), NULL);
        hk_record_end();
        CHECK(hk_ok(hk_backward(loss)));
        grads[i] = hk_grad(in);
    }
    compare("a gradient through two dtypes", grads[0], grads[1], 1e-6);
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 1})));
    host = hk_device_named("cpu:0");
    for (int i = 0; i < hk_device_count(); i++)
        if (!strcmp(hk_device_kind(hk_device_at(i)), "cuda"))
            gpu = hk_device_at(i);
    test_embedding(HK_F32, HK_I64, 8);
    test_embedding(HK_F32, HK_I32, 5);
    test_embedding(HK_F64, HK_U8, 4);
    test_unaligned_rows();
    const hk_dtype dtypes[] = {HK_F32, HK_F64, HK_I32, HK_I64, HK_U8};
    for (int i = 0; i < 5; i++) {
        test_many_updates(dtypes[i]);
        test_sorting(dtypes[i], 3, false);
        if (!FEW || i == 0)
            test_sorting(dtypes[i], 1300, i % 2 == 0);
        const int64_t sizes[] = {1, 8, 13, 100, 256, 520, 1024, 2043, 2048, 2049};
        for (int j = 0; j < 10; j++)
            if (!FEW || i == 0 || j == 4)
                test_short_lines(dtypes[i], sizes[j] > 500 ? 3 : 70, sizes[j]);
        for (int axis = 0; axis < 3; axis++)
            if (!FEW || axis == i)
                test_cumulative(dtypes[i], axis);
    }
    test_reversed(24);
    test_reversed(27);
    test_masks();
    test_bad_index();
    test_mixed(HK_F32, HK_F64);
    test_mixed(HK_I32, HK_I64);
    test_mixed(HK_U8, HK_I32);
    test_mixed_gradient();
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    return check_result();
}
