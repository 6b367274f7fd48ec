/* The rows of elementwise.def where conformance does not look: all instruction sets, special values, signs, integers of 64
 * bits, refusals, gradients that are none. */
#include "tests/check.h"

#include "op/call/plan.h"
#include "op/elementwise/elementwise.h"
#include "op/operator_fixture.h"
#include "op/shape/copy.h"

#include <math.h>

static hk_device device;

static hk_array *floats(const float *data, int64_t size)
{
    return hk_from_host(data, hk_shape(size), HK_F32, device);
}

static hk_array *longs(const int64_t *data, int64_t size)
{
    return hk_from_host(data, hk_shape(size), HK_I64, device);
}

/* ---- instruction sets ------------------------------------------------------------------------------------- */

enum { LENGTH = 1003 };

/* Numbers of all exponents, small ones, and special ones. */
#define FILL(name, T, Bits)                                                                        \
    static void fill_##name(T *values, uint64_t seed)                                              \
    {                                                                                              \
        static const T special[] = {0,         (T)-0.0, 1,           -1, INFINITY,                 \
                                    -INFINITY, NAN,     (T)0x1p-149, 3,  (T)88.8};                 \
        for (int i = 0; i < LENGTH; i++) {                                                         \
            seed = seed * 6364136223846793005u + 1442695040888963407u;                             \
            const Bits bits = (Bits)(seed >> (64 - 8 * sizeof bits));                              \
            memcpy(&values[i], &bits, sizeof bits);                                                \
            if (i % 3)                                                                             \
                values[i] = (T)((double)(int64_t)seed / 0x1p61);                                   \
            if (i % 11 == 0)                                                                       \
                values[i] = special[(seed >> 40) % 10];                                            \
        }                                                                                          \
    }                                                                                              \
    /* To the bit, but for the bits of NaN. */                                                     \
    static bool same_##name(const char *x, const char *y)                                          \
    {                                                                                              \
        for (int i = 0; i < LENGTH; i++) {                                                         \
            T a, b;                                                                                \
            memcpy(&a, x + sizeof a * (size_t)i, sizeof a);                                        \
            memcpy(&b, y + sizeof b * (size_t)i, sizeof b);                                        \
            if (memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b)))                          \
                return false;                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }
FILL(floats, float, uint32_t)
FILL(doubles, double, uint64_t)

/* Element by element: what is the end of a row in one call is in its middle in another. */
static void run_alone(hki_loop_fn loop, const hki_run *run)
{
    hki_run one = *run;
    one.n = 1;
    for (int i = 0; i < LENGTH; i++) {
        loop(&one);
        for (int k = 0; k < 3; k++)
            one.in[k] += one.in_step[k];
        one.out += one.out_step;
    }
}

static bool gives_bools(int element, hk_dtype dtype)
{
    const double in[3] = {0};
    _Alignas(double) char out[sizeof(double)];
    const hki_numbers numbers = {0};
    memset(out, 77, sizeof out);
    hki_run run = {.n = 1,
                   .in = {(const char *)&in[0], (const char *)&in[1], (const char *)&in[2]},
                   .out = out,
                   .given = &numbers};
    hki_loops_portable[element][dtype](&run);
    return out[1] == 77;
}

/* All loops of floats and doubles give what the portable one gives, however long their runs are. */
static void test_instruction_sets(hk_dtype dtype)
{
    static double memory[3][LENGTH];
    static _Alignas(double) char expected[LENGTH * 8], actual[LENGTH * 8];
    const hki_numbers numbers = {.s = 0.75, .t = 2.5};
    const int64_t bytes = dtype == HK_F64 ? 8 : 4;
    hki_run run = {.n = LENGTH, .given = &numbers};
    for (int i = 0; i < 3; i++) {
        if (dtype == HK_F64)
            fill_doubles(memory[i], (uint64_t)i + 1);
        else
            fill_floats((float *)(void *)memory[i], (uint64_t)i + 1);
        run.in[i] = (const char *)memory[i];
        run.in_step[i] = bytes;
    }
    for (int element = 0; element < HKI_ELEMENT_COUNT; element++) {
        const hki_loop_fn loops[] = {hki_loops_portable[element][dtype],
                                     hki_loops_avx2[element][dtype],
                                     hki_loops_avx512[element][dtype]};
        if (!loops[0] || element == HKI_ELEMENT_where) /* its condition is bytes */
            continue;
        run.out_step = gives_bools(element, dtype) ? 1 : bytes;
        memset(expected, 0, sizeof expected);
        run.out = expected;
        loops[0](&run);
        for (int isa = HKI_ISA_PORTABLE; isa <= (int)hki_kernel_isa_get(); isa++) {
            for (int alone = 0; alone < 2; alone++) {
                memset(actual, 0, sizeof actual);
                run.out = actual;
                if (alone)
                    run_alone(loops[isa], &run);
                else
                    loops[isa](&run);
                const bool same = dtype == HK_F64 ? same_doubles(expected, actual)
                                                  : same_floats(expected, actual);
                if (!same)
                    printf("row %d of %s on instruction set %d%s\n", element, hk_dtype_name(dtype),
                           isa, alone ? ", alone" : "");
                CHECK(same);
            }
        }
    }
}

/* The same of integers and bool, with one element for all, too: loops of AVX2 are what the portable ones are. */
static void test_integer_loops(hk_dtype dtype)
{
    static _Alignas(8) unsigned char memory[3][LENGTH * 8], expected[LENGTH * 8],
        actual[LENGTH * 8];
    const hki_numbers numbers = {.s = 1, .t = 5};
    const int64_t bytes = (int64_t)hk_dtype_bytes(dtype);
    uint64_t seed = dtype;
    int loops = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < LENGTH * 8; j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const bool is_large = j / 8 % 3 == 0 || j % bytes == 0;
            const uint64_t byte = seed >> (dtype == HK_BOOL ? 63 : 56);
            memory[i][j] = dtype == HK_BOOL || is_large ? (unsigned char)byte : 0;
        }
    for (int element = 0; element < HKI_ELEMENT_COUNT; element++) {
        const hki_loop_fn portable = hki_loops_portable[element][dtype],
                          vectors = hki_loops_avx2[element][dtype];
        if (!portable || !vectors || hki_kernel_isa_get() == HKI_ISA_PORTABLE)
            continue;
        loops++;
        for (int one = -1; one < 2; one++) { /* which input has one element for all */
            hki_run run = {.n = LENGTH, .given = &numbers, .out_step = bytes};
            for (int i = 0; i < 3; i++) {
                run.in[i] = (const char *)memory[i];
                run.in_step[i] = i == one ? 0 : bytes;
            }
            memset(expected, 9, sizeof expected);
            memset(actual, 9, sizeof actual);
            run.out = (char *)expected;
            portable(&run);
            run.out = (char *)actual;
            vectors(&run);
            if (memcmp(expected, actual, sizeof expected) != 0)
                printf("row %d of %s, one %d\n", element, hk_dtype_name(dtype), one);
            CHECK(memcmp(expected, actual, sizeof expected) == 0);
        }
    }
    CHECK(loops >= 15 || !hki_loops_avx2[HKI_ELEMENT_add][HK_F32] ||
          hki_kernel_isa_get() == HKI_ISA_PORTABLE);
}

/* ---- functions of two floats ---------------------------------------------------------------------------------- */

/* Within a place of a float. */
static bool is_near(double value, double expected)
{
    const double nearest = (double)(float)expected;
    if (isnan(expected) || isinf(nearest))
        return value == nearest || (isnan(expected) && isnan(value));
    return !signbit(value) == !signbit(expected) &&
           fabs(value - nearest) <= fmax(0x1p-23 * fabs(expected), 0x1p-149);
}

static double log_of_sum(double x, double y)
{
    return x == y ? x + log(2) : fmax(x, y) + log1p(exp(-fabs(x - y)));
}

/* Every pair of special values, and what lies between. */
static void test_pairs(void)
{
    enum { COUNT = 14 };
    static const float values[COUNT] = {0.0f, -0.0f,    1,         -1,  0.75f, -2.5f,   7,
                                        -7,   INFINITY, -INFINITY, NAN, 1e30f, -3e-30f, 0x1p-149f};
    static const struct {
        const char *name;
        hk_array *(*call)(hk_array *x, hk_array *y);
        double (*expected)(double x, double y);
    } functions[] = {{"atan2", hk_atan2, atan2},
                     {"hypot", hk_hypot, hypot},
                     {"copysign", hk_copysign, copysign},
                     {"logaddexp", hk_logaddexp, log_of_sum}};
    HK_SCOPE;
    hk_array *y = floats(values, COUNT), *x = hk_reshape(y, hk_shape(COUNT, 1));
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        double *results = read_doubles(functions[f].call(x, y));
        for (int i = 0; i < COUNT * COUNT; i++) {
            const double a = (double)values[i / COUNT], b = (double)values[i % COUNT];
            const bool near = is_near(results[i], functions[f].expected(a, b));
            if (!near)
                printf("%s(%g, %g) is %.9g\n", functions[f].name, a, b, results[i]);
            CHECK(near);
        }
        free(results);
    }
    const float one = 1, two = 2;
    float next;
    CHECK(hk_ok(hk_to_host(hk_nextafter(floats(&one, 1), floats(&two, 1)), &next, sizeof next)));
    CHECK(next == 0x1.000002p0f);
}

/* ---- remainders and quotients that are whole -------------------------------------------------------------------- */

static bool are_floats(hk_array *x, const float *expected, int count)
{
    double *values = read_doubles(x);
    bool same = hk_size(x) == count;
    for (int i = 0; same && i < count; i++) {
        same = isnan(expected[i]) ? isnan(values[i])
                                  : values[i] == (double)expected[i] &&
                                        !signbit(values[i]) == !signbit(expected[i]);
        if (!same)
            printf("[%d] is %.9g, not %.9g\n", i, values[i], (double)expected[i]);
    }
    free(values);
    return same;
}

static bool are_longs(hk_array *x, const int64_t *expected, int count)
{
    int64_t values[16];
    return hk_ok(hk_to_host(x, values, (size_t)count * sizeof *values)) &&
           memcmp(values, expected, (size_t)count * sizeof *values) == 0;
}

static void test_remainders(void)
{
    HK_SCOPE;
    const float x[] = {7, -7, 7, -7, 6, -6, 1, -1, 1, INFINITY, 0};
    const float y[] = {3, 3, -3, -3, -3, 3, INFINITY, INFINITY, 0, 2, -1};
    CHECK(are_floats(hk_remainder(floats(x, 11), floats(y, 11)),
                     (const float[]){1, 2, -2, -1, -0.0f, 0, 1, INFINITY, NAN, NAN, -0.0f}, 11));
    CHECK(are_floats(hk_floor_divide(floats(x, 11), floats(y, 11)),
                     (const float[]){2, -3, -3, 2, -2, -2, 0, -1, INFINITY, INFINITY, -0.0f}, 11));
    const int64_t a[] = {7, -7, 7, -7, INT64_MIN, INT64_MAX, INT64_MIN},
                  b[] = {3, 3, -3, -3, -1, 2, INT64_MAX};
    CHECK(are_longs(hk_remainder(longs(a, 7), longs(b, 7)),
                    (const int64_t[]){1, 2, -2, -1, 0, 1, INT64_MAX - 1}, 7));
    CHECK(are_longs(hk_floor_divide(longs(a, 7), longs(b, 7)),
                    (const int64_t[]){2, -3, -3, 2, INT64_MIN, INT64_MAX / 2, -2}, 7));
    const int64_t zero = 0;
    CHECK(fails_with(hk_remainder(longs(a, 7), longs(&zero, 1)), HK_OUT_OF_RANGE,
                     "division by zero at element [0]"));
    CHECK(fails_with(hk_floor_divide(longs(a, 7), longs(&zero, 1)), HK_OUT_OF_RANGE,
                     "division by zero at element [0]"));
}

/* ---- bits --------------------------------------------------------------------------------------------------------- */

static void test_shifts(void)
{
    HK_SCOPE;
    const int64_t x[] = {1, -1, INT64_MIN, 5, -5, 3}, by[] = {63, 63, 1, 64, 64, 0};
    CHECK(are_longs(hk_bitwise_left_shift(longs(x, 6), longs(by, 6)),
                    (const int64_t[]){INT64_MIN, INT64_MIN, 0, 0, 0, 3}, 6));
    CHECK(are_longs(hk_bitwise_right_shift(longs(x, 6), longs(by, 6)),
                    (const int64_t[]){0, -1, INT64_MIN / 2, 0, -1, 3}, 6));
    CHECK(fails_with(hk_bitwise_left_shift(longs(x, 2), longs(x, 2)), HK_OUT_OF_RANGE,
                     "shift by a negative number at element [1]"));
    const uint8_t bytes[] = {255, 255, 255}, places[] = {7, 8, 200};
    hk_array *left = hk_bitwise_left_shift(hk_from_host(bytes, hk_shape(3), HK_U8, device),
                                           hk_from_host(places, hk_shape(3), HK_U8, device));
    uint8_t shifted[3];
    CHECK(hk_ok(hk_to_host(left, shifted, sizeof shifted)));
    CHECK(shifted[0] == 128 && shifted[1] == 0 && shifted[2] == 0);
    hk_array *real = hk_ones(hk_shape(2), HK_F32, device);
    CHECK(fails_with(hk_bitwise_and(real, real), HK_UNSUPPORTED, "x is float32"));
}

static void test_inverted_bool(void)
{
    HK_SCOPE;
    const uint8_t bits[] = {0, 1};
    uint8_t inverted[2];
    hk_array *x = hk_bitwise_invert(hk_from_host(bits, hk_shape(2), HK_BOOL, device));
    CHECK(hk_ok(hk_to_host(x, inverted, sizeof inverted)));
    CHECK(inverted[0] == 1 && inverted[1] == 0);
}

/* ---- one array ------------------------------------------------------------------------------------------------------ */

static void test_special_values(void)
{
    HK_SCOPE;
    const float values[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0.5f, -1.5f, 2.5f};
    hk_array *x = floats(values, 8);
    CHECK(
        are_floats(hk_round(x), (const float[]){0, -0.0f, INFINITY, -INFINITY, NAN, 0, -2, 2}, 8));
    CHECK(are_floats(hk_sign(x), (const float[]){0, 0, 1, -1, NAN, 1, -1, 1}, 8));
    CHECK(are_floats(hk_isnan(x), (const float[]){0, 0, 0, 0, 1, 0, 0, 0}, 8));
    CHECK(are_floats(hk_isinf(x), (const float[]){0, 0, 1, 1, 0, 0, 0, 0}, 8));
    CHECK(are_floats(hk_isfinite(x), (const float[]){1, 1, 0, 0, 0, 1, 1, 1}, 8));
    CHECK(are_floats(hk_signbit(x), (const float[]){0, 1, 0, 1, 0, 0, 1, 0}, 8));
    CHECK(are_floats(hk_logical_not(x), (const float[]){1, 1, 0, 0, 0, 0, 0, 0}, 8));
    CHECK(are_floats(hk_silu(hk_slice(x, 0, 2, 5)), (const float[]){INFINITY, -0.0f, NAN}, 3));
    CHECK(are_floats(hk_gelu(hk_slice(x, 0, 2, 5)), (const float[]){INFINITY, -0.0f, NAN}, 3));
    CHECK(are_floats(hk_hard_swish(hk_slice(x, 0, 2, 5)), (const float[]){INFINITY, 0, NAN}, 3));
}

static void test_clip(void)
{
    HK_SCOPE;
    const float values[] = {-3, 0.5f, 3, NAN};
    hk_array *x = floats(values, 4);
    CHECK(are_floats(hk_clip(x, -1, 1), (const float[]){-1, 0.5f, 1, NAN}, 4));
    CHECK(are_floats(hk_clip(x, -INFINITY, 1), (const float[]){-3, 0.5f, 1, NAN}, 4));
    CHECK(are_floats(hk_clip(x, 0, INFINITY), (const float[]){0, 0.5f, 3, NAN}, 4));
    CHECK(are_floats(hk_clip(x, 2, 1), (const float[]){1, 1, 1, NAN}, 4));
    const int64_t far[] = {INT64_MIN, 9007199254740993, INT64_MAX};
    CHECK(are_longs(hk_clip(longs(far, 3), -INFINITY, INFINITY), far, 3));
    CHECK(
        are_longs(hk_clip(longs(far, 3), -5, INFINITY), (const int64_t[]){-5, far[1], far[2]}, 3));
    CHECK(is_refused(hk_clip(longs(far, 3), 0.5, 1), "min 0.5 is not int64"));
    CHECK(is_refused(hk_clip(x, 0, NAN), "max is NaN"));
}

/* What is constant but for jumps gives zeros, and lets what it is added to pass. */
static void test_no_flow(void)
{
    HK_SCOPE;
    const float values[] = {0.25f, -1.5f};
    hk_array *x = floats(values, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *fraction = hk_subtract(x, hk_floor(x)), *rounded = hk_round(x);
    hk_record_end();
    CHECK(hk_ok(hk_backward_from(fraction, hk_ones(hk_shape(2), HK_F32, device))));
    CHECK(are_floats(hk_grad(x), (const float[]){1, 1}, 2));
    CHECK(hk_ok(hk_backward_from(rounded, hk_ones(hk_shape(2), HK_F32, device))));
    CHECK(are_floats(hk_grad(x), (const float[]){0, 0}, 2));
}

/* As many pieces as what is read is worth, however little is written. */
static int64_t pieces_of(const hk_op *op, hk_array *x, const void *options)
{
    hki_plan plan;
    hk_array *inputs[] = {x, x};
    hki_call call = {.op = op, .device = hk_array_device(x).handle, .options = options};
    hki_call_set_inputs(&call, inputs, op == &hki_op_cast ? 1 : 2);
    CHECK(op->infer(&call));
    return hki_plan_make(&call, &plan);
}

static void test_pieces(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(1000000), HK_F32, hk_device_default());
    const int64_t whole = pieces_of(&hki_op_cast, x, &(hki_cast_options){HK_I32});
    CHECK(whole >= 8 && pieces_of(&hki_op_cast, x, &(hki_cast_options){HK_BOOL}) == whole);
    CHECK(pieces_of(&hki_op_greater, x, NULL) >= 8);
}

int main(void)
{
    const hk_status *status = hk_runtime_init(NULL);
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    device = hk_device_default();
    test_instruction_sets(HK_F32);
    test_instruction_sets(HK_F64);
    const hk_dtype whole[] = {HK_I32, HK_I64, HK_U64, HK_U8, HK_BOOL};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        test_integer_loops(whole[i]);
    test_pairs();
    test_remainders();
    test_shifts();
    test_inverted_bool();
    test_special_values();
    test_clip();
    test_no_flow();
    test_pieces();
    hk_runtime_deinit();
    return check_result();
}
