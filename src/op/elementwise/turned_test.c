/* Calls on transposed operands, which come into the cache by bands of rows: the bytes and the refusals of calls on their copies. */
#include "tests/check.h"

#include "op/op.h"
#include "op/operator_fixture.h"
#include "tests/same_bytes.h"

enum { SHAPES = 60 };

/* Whole numbers, of which about one in `zeros` is 0. */
static hk_array *numbers(int64_t rows, int64_t columns, int64_t zeros, hk_dtype dtype)
{
    return hk_cast(hk_random_int(0, zeros, hk_shape(rows, columns), HK_I64, hk_device_default()),
                   dtype);
}

static hk_array *transposed(hk_array *x)
{
    return hk_permute_dims(x, hk_shape(1, 0));
}

static bool is_same(hk_array *x, hk_array *y)
{
    const hk_status *first = hk_wait(x), *second = hk_wait(y);
    if (hk_ok(first) && hk_ok(second))
        return same_bytes(x, y);
    return !strcmp(hk_status_message(first), hk_status_message(second));
}

static void test_shape(int64_t rows, int64_t columns)
{
    static const hk_dtype dtypes[] = {HK_F32, HK_F64, HK_F16, HK_U8, HK_I32, HK_C64, HK_I16};
    for (int i = 0; i < (int)(sizeof dtypes / sizeof *dtypes); i++) {
        HK_SCOPE;
        hk_array *x = transposed(numbers(columns, rows, 100, dtypes[i]));
        hk_array *y = numbers(rows, columns, 100, HK_F32);
        CHECK(is_same(hk_multiply(x, y), hk_multiply(hk_copy(x), y)));
        CHECK(is_same(hk_subtract(y, x), hk_subtract(y, hk_copy(x))));
        const hk_dtype to = hki_dtype_is_complex(dtypes[i]) ? HK_C128 : HK_F64;
        CHECK(is_same(hk_cast(x, to), hk_cast(hk_copy(x), to)));
    }
}

/* Among many that are refused, the first one is named. */
static void test_refused(int64_t rows, int64_t columns)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(rows, columns), HK_I32, hk_device_default());
    hk_array *y = transposed(numbers(columns, rows, rows * columns / 4 + 1, HK_I32));
    hk_array *quotients = hk_floor_divide(x, y);
    CHECK(is_same(quotients, hk_floor_divide(x, hk_copy(y))));
    hk_array *large = hk_add(transposed(numbers(columns, rows, 300, HK_F32)), y);
    CHECK(is_same(hk_cast(transposed(hk_copy(transposed(large))), HK_U8), hk_cast(large, HK_U8)));
    hk_failures_clear();
}

int main(void)
{
    const hk_status *status = hk_runtime_init(NULL);
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    hk_seed(3);
    uint64_t state = 1;
    for (int i = 0; i < SHAPES; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int64_t rows = 2 + (int64_t)(state >> 33) % 70;
        const int64_t columns = 2 + (int64_t)(state >> 45) % 400;
        test_shape(rows, columns);
        test_refused(rows, columns);
    }
    hk_runtime_deinit();
    return check_result();
}
