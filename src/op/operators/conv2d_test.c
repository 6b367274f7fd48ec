/* Convolution and pooling: batches that are cut into pieces, against sums written plainly, and refusals. */
#include "tests/check.h"

#include "op/op.h"
#include "op/operator_fixture.h"

static hk_device device;

/* Whether `op` gives what its reference gives. */
static void check_op(const hk_op *op, hk_array *const *inputs, int input_count, const void *options)
{
    HK_SCOPE;
    static const char zeros[HKI_MAX_OPTIONS_BYTES];
    hki_call call = {.op = op, .options = options ? options : zeros};
    hki_call_set_inputs(&call, inputs, input_count);
    CHECK(op->infer(&call));
    hk_array *results[2] = {NULL, NULL};
    double *in[3] = {NULL}, *out[2] = {NULL};
    results[0] = hki_op_call(op, inputs, input_count, options, (hk_device){NULL}, &results[1]);
    for (int i = 0; i < input_count; i++)
        in[i] = read_doubles(inputs[i]);
    for (int i = 0; i < 2 && results[i]; i++)
        out[i] = malloc((size_t)hk_size(results[i]) * sizeof *out[i] + 1);
    op->reference(&call, (const double *const *)in, out);
    for (int i = 0; i < 2 && results[i]; i++) {
        double *got = read_doubles(results[i]);
        CHECK(hki_dims_equal(&call.out_shape[i], &results[i]->shape));
        int64_t wrong = 0;
        for (int64_t j = 0; j < hk_size(results[i]); j++)
            wrong += got[j] != out[i][j];
        CHECK_EQ_I64(wrong, 0);
        free(got);
        free(out[i]);
    }
    for (int i = 0; i < input_count; i++)
        free(in[i]);
}

typedef struct backward_options {
    hk_conv2d_options forward;
    int64_t size[2];
} backward_options;

/* The three passes of a convolution. */
static void check_conv2d(hk_dims x_shape, hk_dims weight_shape, const hk_conv2d_options *options,
                         hk_dtype dtype)
{
    HK_SCOPE;
    const hk_conv2d_options none = {0};
    backward_options backward = {.forward = options ? *options : none};
    hk_array *x = random_numbers(x_shape, dtype), *weight = random_numbers(weight_shape, dtype);
    hk_array *bias = random_numbers(hk_shape(weight_shape.dims[0]), dtype);
    hk_array *dy = random_numbers(hk_dims_get(hk_conv2d(x, weight, bias, options)), dtype);
    check_op(&hki_op_conv2d, (hk_array *[]){x, weight, bias}, 3, options);
    memcpy(backward.size, &x_shape.dims[2], sizeof backward.size);
    check_op(&hki_op_conv2d_backward_data, (hk_array *[]){dy, weight}, 2, &backward);
    memcpy(backward.size, &weight_shape.dims[2], sizeof backward.size);
    check_op(&hki_op_conv2d_backward_weight, (hk_array *[]){x, dy}, 2, &backward);
}

static void test_conv2d(hk_dtype dtype)
{
    const hk_conv2d_options strided = {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}};
    check_conv2d(hk_shape(35, 1, 28, 28), hk_shape(20, 1, 3, 3), NULL, dtype);
    check_conv2d(hk_shape(20, 10, 13, 13), hk_shape(10, 10, 5, 5), NULL, dtype);
    check_conv2d(hk_shape(50, 3, 15, 17), hk_shape(8, 3, 3, 3), &strided, dtype);
    check_conv2d(hk_shape(1, 4, 60, 50), hk_shape(8, 4, 3, 3), &strided, dtype);
    check_conv2d(hk_shape(20, 32, 3, 3), hk_shape(64, 32, 3, 3), NULL, dtype);
}

static void test_pool2d(hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *x = random_numbers(hk_shape(40, 20, 26, 26), dtype);
    hk_array *dy = random_numbers(hk_shape(40, 20, 13, 13), dtype);
    const struct {
        hk_avg_pool2d_options forward;
        int64_t size[2];
    } backward = {.size = {26, 26}};
    check_op(&hki_op_max_pool2d, &x, 1, NULL);
    check_op(&hki_op_avg_pool2d, &x, 1, NULL);
    check_op(&hki_op_max_pool2d_backward, (hk_array *[]){x, dy}, 2, NULL);
    check_op(&hki_op_avg_pool2d_backward, &dy, 1, &backward);
}

static hk_array *conv2d(hk_dims x, hk_dims weight, const hk_conv2d_options *options)
{
    return hk_conv2d(hk_zeros(x, HK_F32, device), hk_zeros(weight, HK_F32, device), NULL, options);
}

static hk_array *max_pool2d(hk_dims x, hk_max_pool2d_options options)
{
    return hk_max_pool2d(hk_zeros(x, HK_F32, device), &options);
}

static void test_refusals(void)
{
    HK_SCOPE;
    const hk_dims x = hk_shape(2, 3, 8, 8), weight = hk_shape(4, 3, 3, 3);
    CHECK(is_refused(conv2d(hk_shape(3, 8, 8), weight, NULL), "x is (3,8,8), but needs 4 axes"));
    CHECK(is_refused(conv2d(x, hk_shape(4, 3, 3), NULL), "weight is (4,3,3)"));
    CHECK(is_refused(conv2d(x, hk_shape(4, 2, 3, 3), NULL), "weight (4,2,3,3) is for 2 channels"));
    CHECK(
        is_refused(conv2d(x, hk_shape(4, 3, 0, 3), NULL), "the size of axis 2 must be at least 1"));
    CHECK(is_refused(conv2d(x, hk_shape(4, 3, 9, 3), NULL),
                     "a window of weight (4,3,9,3) spans 9 x 3"));
    CHECK(is_refused(conv2d(x, weight, &(hk_conv2d_options){.dilation = {1, 4}}), "spans 3 x 9"));
    CHECK(
        is_refused(conv2d(x, weight, &(hk_conv2d_options){.stride = {1, -2}}), "stride[1] is -2"));
    CHECK(is_refused(conv2d(x, weight, &(hk_conv2d_options){.padding = {-1, 0}}),
                     "padding[0] is -1"));
    CHECK(is_refused(conv2d(x, weight, &(hk_conv2d_options){.dilation = {INT64_MAX, 1}}),
                     "dilation[0] is 9"));
    CHECK(is_refused(hk_conv2d(hk_zeros(x, HK_F32, device), hk_zeros(weight, HK_F32, device),
                               hk_zeros(hk_shape(3), HK_F32, device), NULL),
                     "bias is (3,), but must be (4,)"));
    CHECK(is_refused(
        hk_conv2d(hk_zeros(x, HK_F32, device), hk_zeros(weight, HK_F64, device), NULL, NULL),
        "weight is float64, x is float32"));
    CHECK(is_refused(max_pool2d(hk_shape(8, 8), (hk_max_pool2d_options){0}), "x is (8,8)"));
    CHECK(is_refused(max_pool2d(x, (hk_max_pool2d_options){.kernel = {3}}), "kernel is {3, 0}"));
    CHECK(
        is_refused(max_pool2d(x, (hk_max_pool2d_options){.kernel = {9, 1}}), "a window of 9 x 1"));
    CHECK(is_refused(max_pool2d(x, (hk_max_pool2d_options){.stride = {1, -1}}), "stride[1] is -1"));
    CHECK(
        is_refused(max_pool2d(x, (hk_max_pool2d_options){.padding = {0, 2}}), "padding is {0, 2}"));
    hk_failures_clear();
}

int main(void)
{
    device = hk_device_default();
    hk_seed(5);
    test_conv2d(HK_F32);
    test_conv2d(HK_F64);
    test_pool2d(HK_F32);
    test_pool2d(HK_F64);
    test_refusals();
    return check_result();
}
