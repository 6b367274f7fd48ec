/* Numbers in the place of arrays: what they become beside which dtype, on either side, exactly; what is refused. */
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <hocket/operator.h>
#include <math.h>

static hk_device device;

static hk_array *of(hk_dtype dtype, double value)
{
    return hk_full(hk_shape(2), value, dtype, device);
}

/* Both elements of x, which is int64 or uint64, are this one. */
static bool is_whole(hk_array *x, uint64_t expected)
{
    uint64_t values[2] = {0};
    return hk_ok(hk_to_host(x, values, sizeof values)) && values[0] == expected &&
           values[1] == expected;
}

static bool is(hk_array *x, hk_dtype dtype, double expected)
{
    return hk_array_dtype(x) == dtype && hk_item(hk_index(x, 0, 0), NULL) == expected &&
           hk_item(hk_index(x, 0, 1), NULL) == expected;
}

/* The kinds of C's numbers, on both sides; a number takes the array's dtype. */
static void test_kinds(void)
{
    HK_SCOPE;
    hk_array *f = of(HK_F32, 3), *i = of(HK_I32, 7), *h = of(HK_F16, 3), *b = of(HK_U8, 200);
    const bool truth = true;
    const unsigned char byte = 2;
    CHECK(is(hk_add(f, 1), HK_F32, 4));
    CHECK(is(hk_add(1L, f), HK_F32, 4));
    CHECK(is(hk_subtract(f, 0.5), HK_F32, 2.5));
    CHECK(is(hk_subtract(0.5F, f), HK_F32, -2.5));
    CHECK(is(hk_divide(6, f), HK_F32, 2));
    CHECK(is(hk_power(2, f), HK_F32, 8));
    CHECK(is(hk_power(f, 2U), HK_F32, 9));
    CHECK(is(hk_maximum(f, 10), HK_F32, 10));
    CHECK(is(hk_minimum(-1.5, f), HK_F32, -1.5));
    CHECK(is(hk_multiply(h, 0.5), HK_F16, 1.5));
    CHECK(is(hk_subtract(i, byte), HK_I32, 5));
    CHECK(is(hk_subtract(10ULL, i), HK_I32, 3));
    CHECK(is(hk_remainder(i, 4), HK_I32, 3));
    CHECK(is(hk_floor_divide(-15, i), HK_I32, -3));
    CHECK(is(hk_bitwise_left_shift(1, i), HK_I32, 128));
    CHECK(is(hk_subtract(b, 201), HK_U8, 255)); /* wraps around */
    CHECK(is(hk_less(i, 8), HK_BOOL, 1));
    CHECK(is(hk_less(8, i), HK_BOOL, 0));
    CHECK(is(hk_equal(of(HK_BOOL, 1), truth), HK_BOOL, 1));
    CHECK(is(hk_where(hk_greater(f, 0), f, -1), HK_F32, 3));
    CHECK(is(hk_where(hk_less(f, 0), 0.25, f), HK_F32, 3));
    CHECK(is(hk_where(hk_less(f, 0), f, 0.25), HK_F32, 0.25));
    CHECK(is(hk_add(hk_multiply(hk_subtract(f, 1), 2), hk_divide(1, f)), HK_F32, 4 + 1.0F / 3));
    hk_array *z = hk_multiply(hk_cast(f, HK_C64), hk_complex_number(0, 1));
    CHECK(hk_item_complex(hk_index(z, 0, 0), NULL).imag == 3);
}

static void test_into(void)
{
    HK_SCOPE;
    hk_array *x = of(HK_F32, 3), *out = of(HK_F32, 0), *n = of(HK_I64, 5);
    hk_subtract_into(out, 1, x);
    CHECK(is(out, HK_F32, -2));
    hk_multiply_into(x, x, 2);
    CHECK(is(x, HK_F32, 6));
    hk_where_into(x, hk_greater(x, 5), 0, x);
    CHECK(is(x, HK_F32, 0));
    hk_subtract_into(n, n, INT64_MIN + 6);
    CHECK(is_whole(n, (uint64_t)INT64_MAX));
}

/* No double holds these. */
static void test_exact(void)
{
    HK_SCOPE;
    const int64_t odd = (INT64_C(1) << 53) + 1;
    hk_array *zero = of(HK_I64, 0), *u = of(HK_U64, 1);
    CHECK(is_whole(hk_add(zero, odd), (uint64_t)odd));
    CHECK(is_whole(hk_subtract(odd, zero), (uint64_t)odd));
    CHECK(is_whole(hk_maximum(zero, INT64_MAX), (uint64_t)INT64_MAX));
    CHECK(is_whole(hk_minimum(INT64_MIN, zero), (uint64_t)INT64_MIN));
    CHECK(is_whole(hk_subtract(UINT64_MAX, u), UINT64_MAX - 1));
    CHECK(is_whole(hk_add(u, UINT64_MAX - 1), UINT64_MAX));
    hk_array *one = hk_scalar(UINT64_MAX, HK_U64, device), *two = hk_scalar(odd, HK_I64, device);
    uint64_t value;
    CHECK(hk_ok(hk_to_host(one, &value, sizeof value)) && value == UINT64_MAX);
    CHECK(hk_ok(hk_to_host(two, &value, sizeof value)) && value == (uint64_t)odd);
}

/* By each comparison, in the order of the bits; the number behind the sign, and in front of it. */
static bool compares(hk_array *x, hk_operand number, unsigned less, unsigned equal,
                     unsigned greater)
{
    static const char *const names[] = {"less",      "less_equal",    "equal",
                                        "not_equal", "greater_equal", "greater"},
                             *const turned[] = {"greater",   "greater_equal", "equal",
                                                "not_equal", "less_equal",    "less"};
    bool good = true;
    for (int i = 0; i < 6; i++) {
        const bool wanted[] = {less, less || equal, equal, !equal, greater || equal, greater};
        const hk_operand behind[] = {hk_operand_of_array(x), number},
                         before[] = {number, hk_operand_of_array(x)};
        good = good &&
               is(hk_operator_call_operands(hk_operator_find(names[i]), behind, 2), HK_BOOL,
                  wanted[i]) &&
               is(hk_operator_call_operands(hk_operator_find(turned[i]), before, 2), HK_BOOL,
                  wanted[i]);
    }
    return good;
}

static hk_array *whole(hk_number number, hk_dtype dtype)
{
    return hk_contiguous(
        hk_broadcast_to(hk_scalar_at(HK_SOURCE, number, dtype, device), hk_shape(2)));
}

/* Integers with any real number: exactly. */
static void test_comparisons(void)
{
    static const hk_dtype dtypes[] = {HK_I8, HK_I16, HK_I32, HK_I64, HK_U8, HK_U16, HK_U32, HK_U64};
    HK_SCOPE;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        hk_array *x = of(dtypes[i], 7);
        CHECK(compares(x, hk_operand_of_real(1e300), 1, 0, 0));
        CHECK(compares(x, hk_operand_of_real(-INFINITY), 0, 0, 1));
        CHECK(compares(x, hk_operand_of_real(7), 0, 1, 0));
        CHECK(compares(x, hk_operand_of_real(7.5), 1, 0, 0));
        CHECK(compares(x, hk_operand_of_real(6.5), 0, 0, 1));
        CHECK(compares(x, hk_operand_of_real(-0.5), 0, 0, 1));
        CHECK(compares(x, hk_operand_of_int(INT64_MIN), 0, 0, 1));
        CHECK(compares(x, hk_operand_of_uint(UINT64_MAX), 1, 0, 0));
        CHECK(compares(x, hk_operand_of_int(7), 0, 1, 0));
        for (int j = 0; j < 6; j++) { /* nothing holds of NaN, but that it differs */
            static const char *const names[] = {"less",    "less_equal",    "equal",
                                                "greater", "greater_equal", "not_equal"};
            const hk_operand both[] = {hk_operand_of_array(x), hk_operand_of_real(NAN)};
            CHECK(is(hk_operator_call_operands(hk_operator_find(names[j]), both, 2), HK_BOOL,
                     j == 5));
        }
    }
    hk_array *least = whole(hk_number_of_int(INT64_MIN), HK_I64),
             *most = whole(hk_number_of_uint(UINT64_MAX), HK_U64);
    CHECK(compares(least, hk_operand_of_real(-0x1p63), 0, 1, 0));
    CHECK(compares(least, hk_operand_of_real(-0x1.0000000000001p63), 0, 0, 1));
    CHECK(compares(most, hk_operand_of_real(0x1p64), 1, 0, 0));
    CHECK(compares(most, hk_operand_of_uint(UINT64_MAX), 0, 1, 0));
    CHECK(compares(of(HK_U8, 255), hk_operand_of_int(256), 1, 0, 0));
    CHECK(compares(of(HK_I8, -128), hk_operand_of_int(-129), 0, 0, 1));
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *i = of(HK_I8, 7), *f = of(HK_F32, 1), *t = of(HK_BOOL, 1), *none = NULL;
    CHECK(fails_with(hk_add(i, 0.5), HK_INVALID_ARGUMENT,
                     "y is 0.5, but x is int8, which holds no such numbers; use hk_cast on x"));
    CHECK(fails_with(hk_multiply(hk_complex_number(0, 1), f), HK_INVALID_ARGUMENT,
                     "x is 0 +1j, but y is float32"));
    CHECK(
        fails_with(hk_add(i, 128), HK_OUT_OF_RANGE, "y is 128, which is out of the range of int8"));
    CHECK(fails_with(hk_less(hk_complex_number(0, 1), i), HK_INVALID_ARGUMENT, "x is 0 +1j"));
    CHECK(fails_with(hk_add(of(HK_U32, 1), -1), HK_OUT_OF_RANGE, "range of uint32"));
    CHECK(fails_with(hk_add(of(HK_I64, 1), UINT64_MAX), HK_OUT_OF_RANGE, "18446744073709551615"));
    CHECK(fails_with(hk_equal(t, 2), HK_OUT_OF_RANGE, "range of bool"));
    CHECK(fails_with(hk_add(none, 1), HK_INVALID_ARGUMENT, "x is NULL"));
    CHECK(fails_with(hk_add(1, NULL), HK_INVALID_ARGUMENT, "y is NULL"));
    CHECK(fails_with(hk_add(1, 2), HK_INVALID_ARGUMENT, "y is a number, but must be an array"));
    CHECK(fails_with(hk_where(t, 1, 2.5), HK_INVALID_ARGUMENT, "y is a number"));
    CHECK(fails_with(hk_floor_divide(i, 0), HK_OUT_OF_RANGE, "division by zero"));
    /* What has failed fails by its own record, whatever the number. */
    hk_array *failed = hk_matmul(f, i);
    CHECK(!strcmp(hk_status_message(hk_wait(hk_add(failed, 0.5))),
                  hk_status_message(hk_wait(failed))));
    hk_add_into(i, i, 1000);
    CHECK(fails_with(i, HK_OUT_OF_RANGE, "y is 1000"));
    const hk_operand operands[] = {hk_operand_of_int(1), hk_operand_of_array(f)};
    CHECK(fails_with(hk_operator_call_operands(hk_operator_find("matmul"), operands, 2),
                     HK_INVALID_ARGUMENT, "takes no numbers"));
    CHECK(fails_with(hk_operator_call_operands(NULL, operands, 2), HK_INVALID_ARGUMENT,
                     "op is NULL"));
    CHECK(fails_with(hk_operator_call_operands(hk_operator_find("add"), operands, 1),
                     HK_INVALID_ARGUMENT, "not 1 operands"));
    CHECK(!hk_operator_find("add_scalar"));
}

/* Gradients, and captured steps, take them as they take arrays. */
static void test_recorded(void)
{
    HK_SCOPE;
    hk_array *x = of(HK_F32, 3);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_divide(6, hk_add(hk_multiply(x, 2), 1));
    hk_record_end();
    hk_backward(y);
    CHECK(is(hk_grad(x), HK_F32, (double)(-12.0F / 49)));
    hk_capture_begin(&x, 1);
    hk_array *captured = hk_subtract(10, x);
    hk_graph *graph = hk_capture_end(NULL);
    hk_replay(graph, &x, 1);
    CHECK(is(captured, HK_F32, 7));
    hk_graph_release(graph);
}

int main(void)
{
    device = hk_device_named("cpu:0");
    test_kinds();
    test_into();
    test_exact();
    test_comparisons();
    test_refusals();
    test_recorded();
    return check_result();
}
