/* Calling operators: what is refused and how, writing into arrays, values at the edges. */
#include "tests/check.h"

#include "op/op.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

static hk_device cpu(int index)
{
    return hk_device_at(index);
}

static hk_array *floats(const float *values, hk_dims shape)
{
    return hk_from_host(values, shape, HK_F32, cpu(0));
}

#define FLOATS(...)                                                                                \
    floats((const float[]){__VA_ARGS__},                                                           \
           hk_shape((int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float))))
#define INTS(...)                                                                                  \
    hk_from_host((const int32_t[]){__VA_ARGS__},                                                   \
                 hk_shape((int64_t)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))),    \
                 HK_I32, cpu(0))

/* x holds these values, NaN being equal to NaN. */
static bool holds(hk_array *x, const double *expected, int64_t count)
{
    char *text = hk_to_string(x);
    bool same = hk_size(x) == count;
    size_t bytes = hk_dtype_bytes(hk_array_dtype(x));
    char *data = malloc((size_t)hk_size(x) * bytes + 1);
    same = same && hk_ok(hk_to_host(x, data, (size_t)count * bytes));
    for (int64_t i = 0; same && i < count; i++) {
        double value = hki_dtype_load(hk_array_dtype(x), data + (size_t)i * bytes);
        same = value == expected[i] || (isnan(value) && isnan(expected[i]));
    }
    if (!same)
        fprintf(stderr, "it is %s\n", text);
    free(data);
    free(text);
    return same;
}

#define HOLDS(x, ...)                                                                              \
    CHECK(holds(x, (const double[]){__VA_ARGS__},                                                  \
                (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double))))

/* x has failed with this code and a message that contains the text. */
static bool fails(hk_array *x, hk_code code, const char *text)
{
    const hk_status *status = hk_wait(x);
    bool right = hk_status_code(status) == code && strstr(hk_status_message(status), text);
    if (!right)
        fprintf(stderr, "it is: %s: %s\n", hk_code_name(hk_status_code(status)),
                hk_status_message(status));
    return right;
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(2, 3), HK_F32, cpu(0));
    hk_array *y = hk_ones(hk_shape(4), HK_F32, cpu(0));
    CHECK(fails(hk_add(x, y), HK_INVALID_ARGUMENT, "y of shape (4,) does not go with (2,3)"));
    CHECK_STR(hk_status_operation(hk_wait(hk_add(x, y))), "add");
    CHECK_STR(hk_status_inputs(hk_wait(hk_add(x, y))), "float32(2,3), float32(4,)");
    const hk_status *status = hk_wait(hk_add(x, y));
    CHECK_EQ_I64(hk_status_line(status), __LINE__ - 1);
    CHECK(fails(hk_add(x, hk_ones(hk_shape(3), HK_I32, cpu(0))), HK_INVALID_ARGUMENT,
                "x is float32 and y int32: no dtype of one kind holds both; use hk_cast"));
    CHECK(fails(hk_add(x, hk_ones(hk_shape(3), HK_F32, cpu(1))), HK_INVALID_ARGUMENT,
                "y is on cpu:1, the inputs before it on cpu:0"));
    CHECK(fails(hk_add(x, NULL), HK_INVALID_ARGUMENT, "y is NULL"));
    CHECK(fails(hk_exp(hk_ones(hk_shape(3), HK_I32, cpu(0))), HK_UNSUPPORTED,
                "x is int32, but may be float32, float64"));
    CHECK(fails(hk_add(INTS(1), 0.5), HK_INVALID_ARGUMENT, "y is 0.5, but x is int32"));
    CHECK(fails(hk_add(hk_cast(INTS(1), HK_U8), 256), HK_OUT_OF_RANGE, "256"));
    hk_array *many = hk_broadcast_to(FLOATS(1), hk_shape(INT64_C(1) << 60)); /* of four bytes */
    CHECK(fails(hk_add(many, hk_scalar(1, HK_F64, cpu(0))), HK_INVALID_ARGUMENT,
                "the result: shape is (1152921504606846976,), but float64 of it takes more than"));
    CHECK(fails(hk_ones(hk_shape(-1), HK_F32, cpu(0)), HK_INVALID_ARGUMENT, "axis 0"));
    CHECK(fails(hk_ones(hk_shape(2), HK_F32, hk_device_named("cpu:99")), HK_NOT_FOUND, "cpu:99"));
    CHECK(fails(hk_reshape(x, hk_shape(5)), HK_INVALID_ARGUMENT,
                "x is float32(2,3), the shape (5,): both must"));
    CHECK(fails(hk_reshape(x, hk_shape(-1, -1)), HK_INVALID_ARGUMENT, "one size may be -1"));

    /* The first failure is that of all that depend on it. */
    hk_array *failed = hk_add(x, y);
    CHECK(fails(hk_relu(hk_add(failed, hk_ones(hk_shape(7), HK_I32, cpu(1)))), HK_INVALID_ARGUMENT,
                "does not go with"));
    CHECK(hk_ok(hk_wait(x)));
    hk_failures_clear();
}

static void test_into(void)
{
    HK_SCOPE;
    hk_array *x = FLOATS(1, 2, 3, 4);
    hk_add_into(x, x, x);
    HOLDS(x, 2, 4, 6, 8);
    hk_add_into(hk_slice(x, 0, 1, 3), hk_slice(x, 0, 1, 3), 10);
    HOLDS(x, 2, 14, 16, 8);
    hk_copy_into(hk_slice(x, 0, 1, 4), hk_slice(x, 0, 0, 3)); /* overlaps */
    HOLDS(x, 2, 2, 14, 16);
    hk_array *square = hk_reshape(x, hk_shape(2, 2));
    hk_copy_into(square, hk_transpose(square));
    HOLDS(x, 2, 14, 2, 16);

    /* A call that cannot be made fails what it would have written, and no more. */
    hk_add_into(hk_slice(x, 0, 0, 2), x, x);
    CHECK(
        fails(x, HK_INVALID_ARGUMENT, "the array to write is float32(2,), the result float32(4,)"));
    CHECK(hk_ok(hk_wait(hk_slice(x, 0, 2, 4))));
    hk_assign(hk_slice(x, 0, 0, 2), hk_scalar(5, HK_F64, cpu(1))); /* heals */
    HOLDS(x, 5, 5, 2, 16);
    hk_add_into(hk_broadcast_to(x, hk_shape(2, 4)), x, x);
    CHECK(fails(x, HK_INVALID_ARGUMENT, "broadcast view"));
    hk_recover(x);
    HOLDS(x, 5, 5, 2, 16);
    hk_add_into(NULL, x, x);
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 3);
    hk_failures_clear();

    hk_array *y = hk_ones(hk_shape(2, 3), HK_I32, cpu(1));
    hk_assign(y, FLOATS(1.5F, 2.5F, -3.5F));
    HOLDS(y, 1, 2, -3, 1, 2, -3);
    hk_assign(hk_transpose(y), INTS(7, 8));
    HOLDS(y, 7, 7, 7, 8, 8, 8);
}

static void test_by_name(void)
{
    HK_SCOPE;
    hk_array *x = FLOATS(1, -2);
    hk_device none = {NULL};
    HOLDS(hk_call("relu", &x, 1, NULL, none), 1, 0);
    HOLDS(hk_call("leaky_relu", &x, 1, &(hk_leaky_relu_arguments){.value = 2}, none), 1, -4);
    hk_call_into("negative", x, &x, 1, NULL);
    HOLDS(x, -1, 2);
    hk_array *zeros = hk_call("zeros", NULL, 0, &(hk_zeros_arguments){hk_shape(2), HK_U8}, cpu(1));
    HOLDS(zeros, 0, 0);
    CHECK_STR(hk_device_name(hk_array_device(zeros)), "cpu:1");
    CHECK(fails(hk_call("rleu", &x, 1, NULL, none), HK_NOT_FOUND, "\"rleu\""));
    CHECK(fails(hk_call("relu_grad", &x, 1, NULL, none), HK_NOT_FOUND, "relu_grad"));
    CHECK(fails(hk_call("add", &x, 1, NULL, none), HK_INVALID_ARGUMENT,
                "takes 2 inputs (x, y), not 1"));
    CHECK(fails(hk_call("elu", &x, 1, NULL, none), HK_INVALID_ARGUMENT, "value has no default"));
    hk_array *(*function)(hk_array *) = hk_relu;
    HOLDS(function(x), 0, 2);
    hk_failures_clear();
}

static void test_integers(void)
{
    HK_SCOPE;
    hk_array *big = INTS(INT32_MAX, INT32_MIN, -7);
    HOLDS(hk_add(big, 1), INT32_MIN, INT32_MIN + 1.0, -6);
    HOLDS(hk_negative(big), -(double)INT32_MAX, INT32_MIN, 7);
    HOLDS(hk_abs(big), INT32_MAX, INT32_MIN, 7);
    HOLDS(hk_divide(big, -1), -(double)INT32_MAX, INT32_MIN, 7);
    HOLDS(hk_divide(big, INTS(2, 2, 2)), INT32_MAX / 2, INT32_MIN / 2, -3);
    hk_array *zero = hk_divide(hk_reshape(INTS(1, 2, 3, 4, 5, 6), hk_shape(2, 3)), INTS(1, 0, 1));
    CHECK(fails(zero, HK_OUT_OF_RANGE, "division by zero at element [0, 1]"));
    CHECK_STR(hk_status_inputs(hk_wait(zero)), "int32(2,3), int32(3,)");
    CHECK(fails(hk_divide(big, 0), HK_OUT_OF_RANGE, "division by zero at element [0]"));
    CHECK(fails(hk_cast(FLOATS(0, 300), HK_U8), HK_OUT_OF_RANGE,
                "uint8 does not have at element [1]"));
    CHECK(fails(hk_cast(FLOATS(NAN), HK_I64), HK_OUT_OF_RANGE, "int64"));
    CHECK(fails(hk_cast(FLOATS(2147483648.0F), HK_I32), HK_OUT_OF_RANGE, "int32"));
    HOLDS(hk_cast(FLOATS(-2147483648.0F, 255.9F, -0.9F), HK_I32), INT32_MIN, 255, 0);
    HOLDS(hk_cast(FLOATS(255.9F, -0.9F), HK_U8), 255, 0);
    HOLDS(hk_cast(FLOATS(NAN, 0, -0.0F, 0.1F), HK_BOOL), 1, 0, 0, 1);
    CHECK(hk_ok(hk_wait(hk_divide(FLOATS(1), FLOATS(0)))));
    hk_failures_clear();
}

static void test_float_edges(void)
{
    HK_SCOPE;
    hk_array *x = FLOATS(NAN, -INFINITY, INFINITY, 0);
    HOLDS(hk_relu(x), NAN, 0, INFINITY, 0);
    HOLDS(hk_exp(x), NAN, 0, INFINITY, 1);
    HOLDS(hk_sigmoid(x), NAN, 0, 1, 0.5);
    HOLDS(hk_tanh(x), NAN, -1, 1, 0);
    HOLDS(hk_maximum(x, FLOATS(0, 0, NAN, -1)), NAN, 0, NAN, 0);
    HOLDS(hk_minimum(x, 1), NAN, -INFINITY, 1, 0);
    HOLDS(hk_log(x), NAN, NAN, INFINITY, -INFINITY);
    HOLDS(hk_exp(FLOATS(-110, 89, -103.9F)), 0, INFINITY, 0x1p-149);
    HOLDS(hk_arange(0, 1, 0.25, HK_F32, cpu(0)), 0, 0.25, 0.5, 0.75);
    CHECK_EQ_I64(hk_size(hk_arange(3, 1, 1, HK_I64, cpu(0))), 0);
}

/* Largest error in units of the last place, over floats from low to high. */
static double worst_ulp(hk_array *(*function)(hk_array *), double (*exact)(double), float low,
                        float high)
{
    HK_SCOPE;
    enum { COUNT = 200000 };
    static float in[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = low + (high - low) * (float)i / COUNT;
    double worst = 0;
    CHECK(hk_ok(hk_to_host(function(floats(in, hk_shape(COUNT))), out, sizeof out)));
    for (int i = 0; i < COUNT; i++) {
        float right = (float)exact((double)in[i]);
        float unit = nextafterf(fabsf(right), INFINITY) - fabsf(right);
        worst = fmax(worst, fabs((double)out[i] - exact((double)in[i])) / (double)unit);
    }
    return worst;
}

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void test_accuracy(void)
{
    CHECK(worst_ulp(hk_exp, exp, -103, 88) < 2);
    CHECK(worst_ulp(hk_exp, exp, -1, 1) < 1.5);
    CHECK(worst_ulp(hk_tanh, tanh, -10, 10) < 3);
    CHECK(worst_ulp(hk_tanh, tanh, -0.7F, 0.7F) < 3);
    CHECK(worst_ulp(hk_sigmoid, exact_sigmoid, -80, 20) < 3);
}

/* Large enough for many pieces, and of shapes that do not divide evenly. */
static void test_pieces(void)
{
    HK_SCOPE;
    enum { ROWS = 1003, COLUMNS = 977 };
    hk_array *row = hk_arange(0, COLUMNS, 1, HK_F32, cpu(0));
    hk_array *column = hk_reshape(hk_arange(0, ROWS, 1, HK_F32, cpu(0)), hk_shape(-1, 1));
    hk_array *sum = hk_add(hk_multiply(column, 1000), row);
    hk_array *turned = hk_transpose(hk_contiguous(hk_transpose(sum)));
    float *values = malloc(sizeof(float) * ROWS * COLUMNS);
    bool right = hk_ok(hk_to_host(hk_add(turned, sum), values, sizeof(float) * ROWS * COLUMNS));
    for (int i = 0; right && i < ROWS * COLUMNS; i++)
        right = values[i] == 2.0F * (1000.0F * (float)(i / COLUMNS) + (float)(i % COLUMNS));
    CHECK(right);
    free(values);
}

static hki_trace_operand operands[3];
static int operand_counts[3];

static bool infer_last(hki_call *call)
{
    call->out_shape[0] = call->inputs[2]->shape;
    call->out_dtype[0] = HK_I64;
    return true;
}

/* Looks at the task that it is. */
static void kernel_looks(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_task_class *class = hki_task_get_spec(call->task)->class;
    (void)piece;
    (void)begin;
    (void)end;
    for (int i = 0; i < 3; i++)
        operand_counts[i] = class->operands(hki_task_payload(call->task), operands, i + 1);
}

static const hk_op looks = {.name = "looks",
                            .signature = "x, y?, z",
                            .infer = infer_last,
                            .kernel = {[HKI_CPU] = kernel_looks}};

/* What traces are told of a call: inputs that it has, then outputs, as many as asked for. */
static void test_operands(void)
{
    HK_SCOPE;
    hk_array *inputs[] = {hk_ones(hk_shape(2, 3), HK_F32, cpu(0)), NULL,
                          hk_ones(hk_shape(5), HK_U8, cpu(0))};
    CHECK(hk_ok(hk_wait(hki_op_call(&looks, inputs, 3, NULL, cpu(0), NULL))));
    CHECK(operand_counts[0] == 1 && operand_counts[1] == 2 && operand_counts[2] == 3);
    CHECK(operands[0].dtype == HK_F32 && operands[0].ndim == 2 && operands[0].dims[1] == 3);
    CHECK(operands[1].dtype == HK_U8 && operands[1].ndim == 1 && operands[1].dims[0] == 5);
    CHECK(operands[2].dtype == HK_I64 && operands[2].ndim == 1 && operands[2].dims[0] == 5);
    CHECK(!operands[0].is_output && !operands[1].is_output && operands[2].is_output);
}

static void test_memory(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(1 << 20, 64), HK_F32, cpu(0));
    CHECK(fails(x, HK_OUT_OF_MEMORY, "cpu:0 has no room for 268435456 bytes"));
    hk_failures_clear();
}

/* A view without elements waits for nobody, so that the memory behind it may not be made yet. */
static void test_unmade_memory(void)
{
    HK_SCOPE;
    for (int i = 0; i < hk_device_count(); i++) {
        hk_device device = hk_device_at(i);
        hk_array *unmade = hki_array_create(device.handle, hk_shape(4, 3), HK_F32);
        hk_array *none = hk_slice(unmade, 0, 2, 2);
        CHECK(hk_ok(hk_wait(hk_add(none, none))));
        CHECK(hk_ok(hk_wait(hk_contiguous(hk_transpose(none)))));
        HOLDS(hk_sum(none, NULL), 0);
    }
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2,
                                                      .memory_bytes = UINT64_C(128) << 20,
                                                      .sim = &(hk_sim_options){.count = 1},
                                                      .sim_count = 1})));
    test_refusals();
    test_into();
    test_by_name();
    test_integers();
    test_float_edges();
    test_accuracy();
    test_pieces();
    test_operands();
    test_memory();
    test_unmade_memory();
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(hk_device_get_memory(cpu(0)).used_bytes, 0);
    hk_runtime_deinit();
    return check_result();
}
