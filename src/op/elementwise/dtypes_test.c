/* Dtypes where conformance does not look: promotion, operands of several dtypes, integers that no double holds, blocks of
 * elements that lie apart, halves, counting. */
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <math.h>

static hk_device device;

static hk_array *of(hk_dtype dtype, double value, hk_dims shape)
{
    return hk_full(shape, value, dtype, device);
}

static double item(hk_array *x)
{
    return hk_item(x, NULL);
}

/* ---- promotion ---------------------------------------------------------------------------------------------- */

enum { NONE = -1 };
static const hk_dtype order[] = {HK_I8,  HK_I16, HK_I32,  HK_I64, HK_U8,  HK_U16, HK_U32,
                                 HK_U64, HK_F16, HK_BF16, HK_F32, HK_F64, HK_BOOL};
enum { COUNT = sizeof order / sizeof *order };

/* The standard's table; of bfloat16, which it does not have, what holds both. */
static const int table[COUNT][COUNT] = {
    {HK_I8, HK_I16, HK_I32, HK_I64, HK_I16, HK_I32, HK_I64, NONE, NONE, NONE, NONE, NONE, NONE},
    {HK_I16, HK_I16, HK_I32, HK_I64, HK_I16, HK_I32, HK_I64, NONE, NONE, NONE, NONE, NONE, NONE},
    {HK_I32, HK_I32, HK_I32, HK_I64, HK_I32, HK_I32, HK_I64, NONE, NONE, NONE, NONE, NONE, NONE},
    {HK_I64, HK_I64, HK_I64, HK_I64, HK_I64, HK_I64, HK_I64, NONE, NONE, NONE, NONE, NONE, NONE},
    {HK_I16, HK_I16, HK_I32, HK_I64, HK_U8, HK_U16, HK_U32, HK_U64, NONE, NONE, NONE, NONE, NONE},
    {HK_I32, HK_I32, HK_I32, HK_I64, HK_U16, HK_U16, HK_U32, HK_U64, NONE, NONE, NONE, NONE, NONE},
    {HK_I64, HK_I64, HK_I64, HK_I64, HK_U32, HK_U32, HK_U32, HK_U64, NONE, NONE, NONE, NONE, NONE},
    {NONE, NONE, NONE, NONE, HK_U64, HK_U64, HK_U64, HK_U64, NONE, NONE, NONE, NONE, NONE},
    {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, HK_F16, HK_F32, HK_F32, HK_F64, NONE},
    {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, HK_F32, HK_BF16, HK_F32, HK_F64, NONE},
    {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, HK_F32, HK_F32, HK_F32, HK_F64, NONE},
    {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, HK_F64, HK_F64, HK_F64, HK_F64, NONE},
    {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, HK_BOOL},
};

/* In one piece, broadcast, strided; of a condition's two sides; compared. */
static void test_pair(hk_dtype a, hk_dtype b, hk_dtype expected)
{
    HK_SCOPE;
    const double x = 100, y = 7;
    hk_array *results[] = {
        hk_subtract(of(a, x, hk_shape(700)), of(b, y, hk_shape(700))),
        hk_subtract(of(a, x, hk_shape()), of(b, y, hk_shape(3, 5))),
        hk_subtract(of(a, x, hk_shape(300, 1)), of(b, y, hk_shape(300))),
        hk_subtract(hk_transpose(of(a, x, hk_shape(301, 2))), of(b, y, hk_shape(2, 301))),
        hk_where(hk_ones(hk_shape(300), HK_BOOL, device), of(a, x - y, hk_shape()),
                 of(b, y, hk_shape(300))),
    };
    for (int i = 0; i < 5; i++) {
        CHECK_EQ_I64(hk_array_dtype(results[i]), expected);
        CHECK(item(hk_min(hk_cast(results[i], HK_F64), NULL)) == 93);
        CHECK(item(hk_max(hk_cast(results[i], HK_F64), NULL)) == 93);
    }
    CHECK(item(hk_all(hk_greater(of(a, x, hk_shape(300)), of(b, y, hk_shape(300))), NULL)) == 1);
    CHECK(item(hk_any(hk_equal(of(a, x, hk_shape(3)), of(b, y, hk_shape(3))), NULL)) == 0);
}

static void test_promotion(void)
{
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) {
            HK_SCOPE;
            if (table[i][j] == NONE)
                CHECK(
                    fails_with(hk_equal(of(order[i], 1, hk_shape(2)), of(order[j], 1, hk_shape(2))),
                               HK_INVALID_ARGUMENT, "no dtype of one kind holds both"));
            else if (order[i] != HK_BOOL)
                test_pair(order[i], order[j], (hk_dtype)table[i][j]);
        }
    hk_failures_clear();
}

/* Each input's gradient has its own dtype. */
static void test_mixed_gradients(void)
{
    HK_SCOPE;
    const hk_dtype dtypes[] = {HK_F16, HK_BF16, HK_F32, HK_F64};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            hk_array *a = of(dtypes[i], 3, hk_shape(4, 5)), *b = of(dtypes[j], 2, hk_shape(5));
            hk_attach_grad(a, HK_GRAD_WRITE);
            hk_attach_grad(b, HK_GRAD_WRITE);
            hk_record_begin();
            hk_array *y = hk_add(hk_multiply(a, b), hk_exp(hk_subtract(a, a)));
            hk_record_end();
            CHECK(hk_ok(hk_backward(y)));
            CHECK_EQ_I64(hk_array_dtype(hk_grad(a)), dtypes[i]);
            CHECK_EQ_I64(hk_array_dtype(hk_grad(b)), dtypes[j]);
            CHECK(item(hk_cast(hk_max(hk_grad(a), NULL), HK_F64)) == 2);
            CHECK(item(hk_cast(hk_min(hk_grad(b), NULL), HK_F64)) == 12);
        }
    CHECK(hk_ok(hk_wait_all()));
}

/* ---- integers ---------------------------------------------------------------------------------------------- */

static uint64_t bits_of(hk_array *x)
{
    uint64_t value = 0;
    CHECK(hk_ok(hk_to_host(x, &value, sizeof value)));
    return value;
}

static hk_array *unsigned_longs(const uint64_t *values, int64_t count)
{
    return hk_from_host(values, hk_shape(count), HK_U64, device);
}

/* What neither a double nor an int64 holds. */
static void test_unsigned_longs(void)
{
    HK_SCOPE;
    const uint64_t most = UINT64_MAX, values[] = {most, 3, most - 1, (uint64_t)1 << 63};
    hk_array *x = unsigned_longs(values, 4), *seven = of(HK_U64, 7, hk_shape());
    hk_array *first = hk_slice(x, 0, 0, 1);
    CHECK(bits_of(hk_divide(first, seven)) == most / 7);
    CHECK(bits_of(hk_remainder(first, seven)) == most % 7);
    CHECK(bits_of(hk_floor_divide(first, seven)) == most / 7);
    CHECK(bits_of(hk_divide(first, 2)) == most / 2);
    CHECK(bits_of(hk_bitwise_right_shift(first, of(HK_U64, 60, hk_shape()))) == 15);
    CHECK(bits_of(hk_maximum(first, seven)) == most && bits_of(hk_minimum(first, seven)) == 7);
    CHECK(bits_of(hk_max(x, NULL)) == most && bits_of(hk_min(x, NULL)) == 3);
    CHECK(bits_of(hk_sum(x, NULL)) == most + 3 + (most - 1) + ((uint64_t)1 << 63));
    CHECK(item(hk_argmax(x, 0)) == 0);
    CHECK(item(hk_all(hk_greater_equal(x, of(HK_U64, 3, hk_shape())), NULL)) == 1);
    CHECK(bits_of(hk_slice(hk_sort(x, 0, false), 0, 3, 4)) == most);
    CHECK(bits_of(hk_slice(hk_cumulative_sum(x, 0), 0, 2, 3)) == most + 3 + (most - 1));
    CHECK(item(hk_cast(first, HK_F64)) == 0x1p64 && item(hk_cast(first, HK_F32)) == 0x1p64);
    CHECK(item(hk_mean(x, NULL)) == 0x1.4p63);
    CHECK(fails_with(hk_cast(x, HK_I64), HK_OUT_OF_RANGE,
                     "a value that int64 does not have at element [0]"));
    CHECK(bits_of(hk_cast(of(HK_F64, 0x1p63, hk_shape()), HK_U64)) == (uint64_t)1 << 63);
    CHECK(fails_with(hk_cast(of(HK_F64, 0x1p64, hk_shape()), HK_U64), HK_OUT_OF_RANGE, "uint64"));
    CHECK(fails_with(hk_cast(of(HK_I64, -1, hk_shape()), HK_U64), HK_OUT_OF_RANGE, "uint64"));
    CHECK(fails_with(hk_take_along_axis(x, first, 0), HK_OUT_OF_RANGE, "9223372036854775807"));
    char *text = hk_to_string(first);
    CHECK(text && strstr(text, "18446744073709551615"));
    free(text);
    hk_failures_clear();
}

/* Small integers are computed in wider ones: as in their own size all the same. */
static void test_wrapping(void)
{
    HK_SCOPE;
    hk_array *low = of(HK_I8, -128, hk_shape(5)), *one = of(HK_I8, 1, hk_shape(5)),
             *minus = of(HK_I8, -1, hk_shape(5));
    CHECK(item(hk_max(hk_subtract(low, one), NULL)) == 127);
    CHECK(item(hk_max(hk_divide(low, minus), NULL)) == -128);
    CHECK(item(hk_max(hk_abs(low), NULL)) == -128);
    CHECK(item(hk_max(hk_multiply(low, low), NULL)) == 0);
    CHECK(item(hk_max(hk_bitwise_left_shift(one, of(HK_I8, 7, hk_shape())), NULL)) == -128);
    CHECK(item(hk_max(hk_bitwise_left_shift(one, of(HK_I8, 9, hk_shape())), NULL)) == 0);
    CHECK(item(hk_max(hk_bitwise_right_shift(low, of(HK_I8, 100, hk_shape())), NULL)) == -1);
    CHECK(item(hk_max(hk_bitwise_invert(of(HK_U16, 1, hk_shape(2))), NULL)) == 65534);
    CHECK(item(hk_max(hk_negative(of(HK_U32, 1, hk_shape(2))), NULL)) == 4294967295.0);
    CHECK(item(hk_sum(of(HK_U32, 4294967295.0, hk_shape(2)), NULL)) == 8589934590.0);
    CHECK_EQ_I64(hk_array_dtype(hk_sum(of(HK_U8, 1, hk_shape(2)), NULL)), HK_U64);
    CHECK_EQ_I64(hk_array_dtype(hk_cumulative_prod(of(HK_I8, 1, hk_shape(2)), 0)), HK_I64);
    CHECK(item(hk_max(hk_clip(low, -INFINITY, -3), NULL)) == -128);
    CHECK(fails_with(hk_add(low, 128), HK_OUT_OF_RANGE, "int8"));
    CHECK(fails_with(hk_cast(of(HK_I16, 128, hk_shape(400)), HK_I8), HK_OUT_OF_RANGE, "int8"));
    hk_failures_clear();
}

/* Beyond the largest float there is infinity, as the header says, and no failure. */
static void test_too_large(void)
{
    HK_SCOPE;
    CHECK(item(hk_cast(of(HK_F64, 1e39, hk_shape()), HK_F32)) == INFINITY);
    CHECK(item(hk_min(hk_cast(of(HK_F64, -1e39, hk_shape(300)), HK_BF16), NULL)) == -INFINITY);
    CHECK(item(hk_cast(of(HK_F32, 1e6, hk_shape()), HK_F16)) == INFINITY);
    CHECK(item(hk_cast(of(HK_U64, 0x1p40, hk_shape()), HK_F16)) == INFINITY);
}

/* The element that is refused is named, in whichever block it lies. */
static void test_refused_element(void)
{
    HK_SCOPE;
    float values[1000] = {0};
    values[777] = 3e9f;
    hk_array *x = hk_from_host(values, hk_shape(1000), HK_F32, device);
    CHECK(fails_with(hk_cast(x, HK_I32), HK_OUT_OF_RANGE, "element [777]"));
    hk_array *divisors = hk_cast(hk_equal(x, hk_scalar(0, HK_F32, device)), HK_U16);
    CHECK(fails_with(hk_divide(divisors, divisors), HK_OUT_OF_RANGE, "element [777]"));
    hk_failures_clear();
}

/* ---- halves ------------------------------------------------------------------------------------------------ */

/* One rounding of what float32 gives, wherever elements lie. */
/* Rows longer than what a loop of the kernel stores, of each size of element. */
static void test_long_constants(void)
{
    enum { MOST = 1100 };
    static const hk_dtype dtypes[] = {HK_BOOL, HK_F16, HK_I32, HK_F64, HK_C128};
    static double all[MOST];
    for (int d = 0; d < 5; d++)
        for (int64_t size = 1; size <= MOST; size += size < 130 ? 1 : 97) {
            HK_SCOPE;
            hk_array *x = hk_full(hk_shape(size), 1, dtypes[d], hk_device_default());
            CHECK(hk_ok(hk_to_host(hk_cast(dtypes[d] == HK_C128 ? hk_real(x) : x, HK_F64), all,
                                   (size_t)size * sizeof *all)));
            for (int64_t i = 0; i < size; i++)
                CHECK(all[i] == 1);
        }
}

static void test_halves(void)
{
    for (int k = 0; k < 2; k++) {
        HK_SCOPE;
        const hk_dtype half = k ? HK_BF16 : HK_F16;
        hk_array *x = hk_cast(hk_random_normal(hk_shape(37, 53), HK_F32, device), half);
        hk_array *wide = hk_cast(x, HK_F32);
        hk_array *pairs[][2] = {
            {hk_tanh(x), hk_tanh(wide)},
            {hk_multiply(x, x), hk_multiply(wide, wide)},
            {hk_add(x, hk_transpose(hk_transpose(x))), hk_add(wide, wide)},
            {hk_sum(x, NULL), hk_sum(wide, NULL)},
            {hk_max(x, &(hk_max_options){.axes = hk_shape(0)}),
             hk_max(wide, &(hk_max_options){.axes = hk_shape(0)})},
            {hk_cumulative_sum(x, 1), hk_cumulative_sum(wide, 1)},
            {hk_sort(x, 0, true), hk_sort(wide, 0, true)},
            {hk_clip(x, -0.5, 0.5), hk_clip(wide, -0.5, 0.5)},
        };
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            CHECK_EQ_I64(hk_array_dtype(pairs[i][0]), half);
            CHECK(item(hk_all(hk_equal(pairs[i][0], hk_cast(pairs[i][1], half)), NULL)) == 1);
        }
        CHECK(item(hk_all(hk_equal(hk_argmax(x, 1), hk_argmax(wide, 1)), NULL)) == 1);
    }
    CHECK(hk_ok(hk_wait_all()));
}

/* ---- counting ------------------------------------------------------------------------------------------------ */

/* Element i is the start plus i steps, exactly or as the float nearest to what doubles make of that. */
static void check_arange(double start, double step, int64_t count, hk_dtype dtype)
{
    HK_SCOPE;
    static union {
        int64_t i[500000];
        double f[500000];
    } values;
    hk_array *x = hk_arange(start, start + (double)count * step, step, dtype, device);
    const bool is_real = dtype == HK_F32 || dtype == HK_F64 || dtype == HK_F16 || dtype == HK_BF16;
    CHECK_EQ_I64(hk_size(x), count);
    CHECK(hk_ok(hk_to_host(hk_cast(x, is_real ? HK_F64 : HK_I64), &values, (size_t)count * 8)));
    for (int64_t i = 0; i < count; i++) {
        const double real = start + (double)i * step;
        CHECK(is_real ? values.f[i] == (dtype == HK_F32 ? (double)(float)real : real)
                      : values.i[i] == (int64_t)start + i * (int64_t)step);
    }
}

/* Several blocks, and pieces of them; whatever way; up to the ends of dtypes, where steps are larger than what they have. */
static void test_counting(void)
{
    for (int i = 0; i < COUNT; i++) {
        const hk_dtype dtype = order[i];
        if (dtype == HK_BOOL)
            continue;
        check_arange(3, 1, 100, dtype);
        check_arange(120, -1, 101, dtype);
        if (hk_dtype_bytes(dtype) > 2)
            for (int64_t count = 1023; count < 500000; count = count * 3 + 1)
                check_arange(7, 2, count, dtype);
    }
    check_arange(-128, 85, 4, HK_I8);
    check_arange(0, 255, 2, HK_U8);
    check_arange(-0x1p31, 0x1p31 - 1, 3, HK_I32);
    check_arange(0x1p31 - 1, -4000000, 1070, HK_I32);
    check_arange(0, 4000000, 1070, HK_U32);
    check_arange(-0x1p52, 0x1p42 + 1, 2000, HK_I64);
    check_arange(0, 0x1p41 + 1, 4000, HK_U64);
    check_arange(-0x1p52, 0x1p42, 2000, HK_F64);
    check_arange(-0x1p53 + 1, 0x1p52 - 1, 4, HK_F64); /* steps of which three are no double */
    check_arange(0.5, 0.25, 3000, HK_F32);
    HK_SCOPE;
    CHECK(signbit(item(hk_index(hk_arange(-0., -3, -1, HK_F32, device), 0, 0))));
    CHECK(!signbit(item(hk_index(hk_arange(0, -3, -1, HK_F32, device), 0, 0))));
}

int main(void)
{
    for (int engine = 0; engine < 2; engine++) {
        CHECK(hk_ok(hk_runtime_init(
            &(hk_runtime_options){.engine = engine ? HK_ENGINE_ASYNC : HK_ENGINE_SERIAL})));
        device = hk_device_default();
        test_promotion();
        test_mixed_gradients();
        test_unsigned_longs();
        test_wrapping();
        test_too_large();
        test_refused_element();
        test_long_constants();
        test_halves();
        test_counting();
        hk_runtime_deinit();
    }
    return check_result();
}
