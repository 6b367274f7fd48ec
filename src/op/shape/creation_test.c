/* Whole numbers in a row, exactly; diagonals that are far away. */
#include "tests/check.h"

#include "array/test_tasks.h"
#include "op/operator_fixture.h"

static hk_device device;

static bool holds(hk_array *x, const uint64_t *expected, int count)
{
    uint64_t values[8] = {0};
    bool good = hk_size(x) == count && hk_ok(hk_to_host(x, values, (size_t)count * sizeof *values));
    for (int i = 0; good && i < count; i++)
        good = values[i] == expected[i];
    return good;
}

#define HOLDS(x, ...)                                                                              \
    CHECK(holds(x, (const uint64_t[]){__VA_ARGS__},                                                \
                (int)(sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))))
#define S(value) ((uint64_t)(value))

static void test_sequence(void)
{
    HK_SCOPE;
    const int64_t large = INT64_C(1) << 53, least = INT64_MIN, most = INT64_MAX;
    HOLDS(hk_sequence(large, 1, 4, HK_I64, device), S(large), S(large) + 1, S(large) + 2,
          S(large) + 3);
    HOLDS(hk_sequence(most, -1, 2, HK_I64, device), S(most), S(most) - 1);
    HOLDS(hk_sequence(least, most, 3, HK_I64, device), S(least), S(-1), S(most) - 1);
    HOLDS(hk_sequence(most, -most, 3, HK_I64, device), S(most), 0, S(-most));
    HOLDS(hk_sequence(most, least, 2, HK_I64, device), S(most), S(-1));
    HOLDS(hk_sequence(large + 1, 2, 2, HK_U64, device), S(large) + 1, S(large) + 3);
    HOLDS(hk_add(hk_sequence(0, 1, 2, HK_U64, device), UINT64_MAX - 1), UINT64_MAX - 1, UINT64_MAX);
    HOLDS(hk_sequence(7, 0, 2, HK_I64, device), 7, 7);
    CHECK_EQ_I64(hk_size(hk_sequence(most, 1, 0, HK_I64, device)), 0);
    CHECK(hk_item(hk_sequence((INT64_C(1) << 24) + 1, 1, 1, HK_F32, device), NULL) == 0x1p24);
    CHECK(
        fails_with(hk_sequence(most, 1, 2, HK_I64, device), HK_OUT_OF_RANGE, "does not have all"));
    CHECK(fails_with(hk_sequence(-1, 1, 2, HK_U64, device), HK_OUT_OF_RANGE, "uint64 does not"));
    CHECK(fails_with(hk_sequence(0, 100, 4, HK_U8, device), HK_OUT_OF_RANGE, "uint8 does not"));
    CHECK(fails_with(hk_sequence(0, least, 3, HK_I64, device), HK_OUT_OF_RANGE, "does not"));
    CHECK(fails_with(hk_sequence(0, 1, -1, HK_I64, device), HK_OUT_OF_RANGE, "count is -1"));
    CHECK(fails_with(hk_sequence(0, 1, 2, HK_BOOL, device), HK_INVALID_ARGUMENT, "real numbers"));
    hk_failures_clear();
}

/* Doubles that are whole are what they are, beyond 2^53, too. */
static void test_arange(void)
{
    HK_SCOPE;
    HOLDS(hk_arange(0x1p53, 0x1p53 + 4, 1, HK_I64, device), S(1) << 53, (S(1) << 53) + 1,
          (S(1) << 53) + 2, (S(1) << 53) + 3);
    HOLDS(hk_arange(0x1p62, -0x1p62, -0x1p62, HK_I64, device), S(1) << 62, 0);
    HOLDS(hk_arange(-1, 0x1p60, 0x1p59, HK_I64, device), S(-1), (S(1) << 59) - 1, (S(1) << 60) - 1);
    HOLDS(hk_arange(0x1p63, 0x1p63 + 4096, 2048, HK_U64, device), S(1) << 63, (S(1) << 63) + 2048);
    HOLDS(hk_arange(0, 0x1p64 - 2048, 0x1p62, HK_U64, device), 0, S(1) << 62, S(1) << 63,
          S(3) << 62);
    HOLDS(hk_arange(-0x1p63, 0x1p63, 0x1p62, HK_I64, device), S(1) << 63, S(3) << 62, 0,
          S(1) << 62);
    HOLDS(hk_arange(0x1p63, 0x1p64, 0x1p62, HK_U64, device), S(1) << 63, S(3) << 62);
    HOLDS(hk_arange(-0x1p63, -0x1p63 + 1024, 1023, HK_I64, device), S(1) << 63,
          (S(1) << 63) + 1023);
    CHECK(fails_with(hk_arange(0x1p63, 0x1p63 + 4096, 2048, HK_I64, device), HK_INVALID_ARGUMENT,
                     "int64 does not have all"));
    CHECK(fails_with(hk_arange(-1, 2, 1, HK_U64, device), HK_INVALID_ARGUMENT, "uint64 does not"));
    CHECK(fails_with(hk_arange(0.5, 2, 1, HK_I32, device), HK_INVALID_ARGUMENT, "int32 does not"));
    CHECK(fails_with(hk_arange(0, 300, 1, HK_U8, device), HK_INVALID_ARGUMENT, "uint8 does not"));
    hk_failures_clear();
}

static void test_diagonals(void)
{
    HK_SCOPE;
    HOLDS(hk_eye(1, 2, INT64_MAX, HK_I64, device), 0, 0);
    HOLDS(hk_eye(1, 2, INT64_MIN, HK_U64, device), 0, 0);
    hk_array *x = hk_ones(hk_shape(1, 2), HK_I64, device);
    HOLDS(hk_tril(x, INT64_MAX), 1, 1);
    HOLDS(hk_triu(x, INT64_MAX), 0, 0);
    HOLDS(hk_tril(x, INT64_MIN), 0, 0);
    HOLDS(hk_triu(x, INT64_MIN), 1, 1);
}

static void test_all(bool serial)
{
    (void)serial;
    device = hk_device_default();
    test_sequence();
    test_arange();
    test_diagonals();
}

int main(void)
{
    test_engines(test_all, (hk_runtime_options){0});
    return check_result();
}
