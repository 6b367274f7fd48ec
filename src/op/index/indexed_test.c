/* Indices out of range, integers beyond 2^53, and refusals. */
#include "tests/check.h"

#include "op/operator_fixture.h"

static void test_range(hk_device device)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(4, 2), HK_F32, device);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_array *bad = hk_from_host((const int64_t[]){3, -5}, hk_shape(2), HK_I64, device);
    hk_record_begin();
    hk_array *y = hk_index_select(x, bad, 0);
    hk_record_end();
    CHECK(fails_with(y, HK_OUT_OF_RANGE, "indices[1] is -5, but the axis has 4 entries"));
    CHECK_STR(hk_status_operation(hk_wait(y)), "index_select");
    hk_backward(y);
    CHECK(fails_with(hk_grad(x), HK_OUT_OF_RANGE, "is -5"));
    bad = hk_from_host((const int32_t[]){0, 4}, hk_shape(1, 2), HK_I32, device);
    CHECK(fails_with(hk_scatter_add(x, bad, hk_ones(hk_shape(1, 2), HK_F32, device), 0),
                     HK_OUT_OF_RANGE, "indices[1] is 4"));
    CHECK(is_refused(hk_index_select(x, x, 0), "indices is float32"));
    CHECK(is_refused(hk_index_select(x, hk_reshape(bad, hk_shape(1, 1, 1, 1, 1, 1, 1, 2)), 0),
                     "more than 8"));
    CHECK(fails_with(hk_scatter(x, bad, hk_ones(hk_shape(1, 2), HK_F32, device), 0),
                     HK_OUT_OF_RANGE, "indices[1] is 4"));
    CHECK(is_refused(hk_take_along_axis(x, bad, 1), "must have x's shape"));
    hk_failures_clear();
}

/* Rows of seven elements, of a call in several pieces, which begin within rows; and their gradient, which adds rows. */
static void test_rows(hk_device device)
{
    enum { ROWS = 3000, COLUMNS = 7, TAKEN = 20000 };
    static int64_t numbers[TAKEN];
    static float taken[TAKEN * COLUMNS], grad[ROWS * COLUMNS], times[ROWS];
    HK_SCOPE;
    for (int i = 0; i < TAKEN; i++) {
        numbers[i] = (int64_t)i * 7919 % ROWS - (i % 3 ? 0 : ROWS);
        times[(numbers[i] + ROWS) % ROWS]++;
    }
    hk_array *x =
        hk_reshape(hk_arange(0, ROWS * COLUMNS, 1, HK_F32, device), hk_shape(ROWS, COLUMNS));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_array *indices = hk_from_host(numbers, hk_shape(TAKEN), HK_I64, device), *y;
    {
        HK_RECORD;
        y = hk_index_select(x, indices, 0);
    }
    hk_backward(y);
    CHECK(hk_ok(hk_to_host(y, taken, sizeof taken)));
    CHECK(hk_ok(hk_to_host(hk_grad(x), grad, sizeof grad)));
    int64_t wrong = 0;
    for (int i = 0; i < TAKEN * COLUMNS; i++) {
        const int64_t row = (numbers[i / COLUMNS] + ROWS) % ROWS;
        wrong += taken[i] != (float)(row * COLUMNS + i % COLUMNS);
    }
    for (int i = 0; i < ROWS * COLUMNS; i++)
        wrong += grad[i] != times[i / COLUMNS];
    CHECK_EQ_I64(wrong, 0);
}

/* The gradient of a table of which rows are taken, by so many of them from that one on. */
static hk_array *row_gradient(hk_device device, int64_t begin, int64_t count)
{
    enum { ROWS = 7, COLUMNS = 3 };
    hk_array *table = hk_zeros(hk_shape(ROWS, COLUMNS), HK_F32, device), *loss;
    hk_attach_grad(table, HK_GRAD_WRITE);
    hk_array *numbers = hk_arange((double)begin, (double)(begin + count), 1, HK_I64, device);
    hk_array *weights = hk_reshape(
        hk_sin(hk_arange(3 * (double)begin, 3 * (double)(begin + count), 1, HK_F32, device)),
        hk_shape(count, COLUMNS));
    hk_array *rows =
        hk_remainder(hk_multiply(numbers, numbers), hk_full(hk_shape(), ROWS, HK_I64, device));
    {
        HK_RECORD;
        loss = hk_sum(hk_multiply(hk_index_select(table, rows, 0), weights), NULL);
    }
    hk_backward(loss);
    return hk_grad(table);
}

/* Rows are samples: two devices with half of them each have the sum of one with all, byte for byte. */
static void test_halves(hk_device device)
{
    enum { COUNT = 320, ELEMENTS = 21 };
    float whole[ELEMENTS], halves[ELEMENTS];
    HK_SCOPE;
    hk_array *all = row_gradient(device, 0, COUNT);
    hk_array *sum =
        hk_add(row_gradient(device, 0, COUNT / 2), row_gradient(device, COUNT / 2, COUNT / 2));
    CHECK(hk_ok(hk_to_host(all, whole, sizeof whole)));
    CHECK(hk_ok(hk_to_host(sum, halves, sizeof halves)));
    CHECK(!memcmp(whole, halves, sizeof whole));
    CHECK(whole[0] != 0 && whole[ELEMENTS - 1] == 0); /* squares are not 6 */
}

static void test_integers(hk_device device)
{
    HK_SCOPE;
    const int64_t big[] = {INT64_C(9007199254740993), 7};
    int64_t values[2];
    hk_array *x = hk_from_host(big, hk_shape(2), HK_I64, device);
    hk_array *swap = hk_from_host((const uint8_t[]){1, 0}, hk_shape(2), HK_U8, device);
    hk_array *both = hk_from_host((const int64_t[]){0, -2}, hk_shape(2), HK_I64, device);
    CHECK(hk_ok(hk_to_host(hk_index_select(x, swap, 0), values, sizeof values)));
    CHECK(values[0] == big[1] && values[1] == big[0]);
    CHECK(hk_ok(hk_to_host(hk_scatter_add(x, both, x, 0), values, sizeof values)));
    CHECK(values[0] == 2 * big[0] + 7 && values[1] == 7);
}

/* Halves add up as floats do: beyond what they can count one by one, at one place, in rows and in columns. */
static void test_many(hk_device device, hk_dtype dtype)
{
    enum { COUNT = 5000 };
    float sums[6], wanted[] = {0, 0, 5000, 5000, 1, 1};
    HK_SCOPE;
    wanted[2] = wanted[3] = dtype == HK_BF16 ? 4992 : 5000;
    for (int axis = 0; axis < 2; axis++) {
        hk_array *table = hk_zeros(axis ? hk_shape(2, 3) : hk_shape(3, 2), dtype, device), *loss;
        hk_array *places =
            hk_concat((hk_array *const[]){hk_full(hk_shape(COUNT), 1, HK_I64, device),
                                          hk_full(hk_shape(1), 2, HK_I64, device)},
                      2, 0);
        hk_attach_grad(table, HK_GRAD_WRITE);
        {
            HK_RECORD;
            loss = hk_sum(hk_index_select(table, places, axis), NULL);
        }
        hk_backward(loss);
        hk_array *grad = axis ? hk_transpose(hk_grad(table)) : hk_grad(table);
        CHECK(hk_ok(hk_to_host(hk_cast(grad, HK_F32), sums, sizeof sums)));
        CHECK(!memcmp(sums, wanted, sizeof sums));
    }
}

/* Rows longer than what is found at once, and shorter; of each axis; and one number that is out of range, far behind. */
static void test_along(hk_device device, hk_dtype dtype)
{
    enum { ROWS = 5, COLUMNS = 300, TAKEN = ROWS * COLUMNS };
    static int32_t numbers[TAKEN];
    static int16_t taken[TAKEN];
    HK_SCOPE;
    int64_t wrong = 0;
    hk_array *x = hk_reshape(hk_arange(0, TAKEN, 1, HK_I16, device), hk_shape(ROWS, COLUMNS));
    for (int axis = 0; axis < 2; axis++)
        for (int transposed = 0; transposed < 2; transposed++) {
            const int size = axis ? COLUMNS : ROWS;
            for (int i = 0; i < TAKEN; i++)
                numbers[i] = i * 7919 % size - (i % 3 ? 0 : size);
            hk_array *indices =
                hk_cast(hk_from_host(numbers, hk_shape(ROWS, COLUMNS), HK_I32, device), dtype);
            hk_array *y = transposed ? hk_transpose(hk_take_along_axis(
                                           hk_transpose(x), hk_transpose(indices), 1 - axis))
                                     : hk_take_along_axis(x, indices, axis);
            CHECK(hk_ok(hk_to_host(y, taken, sizeof taken)));
            for (int i = 0; i < TAKEN; i++) {
                const int at = (numbers[i] + size) % size, row = i / COLUMNS, column = i % COLUMNS;
                wrong += taken[i] != (axis ? row * COLUMNS + at : at * COLUMNS + column);
            }
        }
    CHECK_EQ_I64(wrong, 0);
    numbers[2 * COLUMNS + 131] = COLUMNS;
    hk_array *bad = hk_cast(hk_from_host(numbers, hk_shape(ROWS, COLUMNS), HK_I32, device), dtype);
    CHECK(fails_with(hk_take_along_axis(x, bad, 1), HK_OUT_OF_RANGE, "indices[731] is 300"));
    hk_failures_clear();
}

int main(void)
{
    hk_device device = hk_device_default();
    test_range(device);
    test_rows(device);
    test_along(device, HK_I32);
    test_along(device, HK_I64);
    test_halves(device);
    test_many(device, HK_F16);
    test_many(device, HK_BF16);
    test_many(device, HK_F32);
    test_integers(device);
    return check_result();
}
