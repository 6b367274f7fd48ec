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

/* Few samples, many channels: cut by parts of the channels too, of one, two and three blocks. */
static void test_parts(hk_dtype dtype)
{
    const hk_conv2d_options padded = {.padding = {1, 1}};
    check_conv2d(hk_shape(16, 97, 9, 9), hk_shape(111, 97, 5, 5), NULL, dtype);
    check_conv2d(hk_shape(27, 99, 8, 7), hk_shape(100, 99, 3, 2), &padded, dtype);
    check_conv2d(hk_shape(43, 96, 6, 6), hk_shape(201, 96, 2, 2), NULL, dtype);
    check_conv2d(hk_shape(16, 32, 6, 6), hk_shape(256, 32, 3, 3), &padded, dtype);
    check_conv2d(hk_shape(16, 256, 6, 6), hk_shape(32, 256, 3, 3), &padded, dtype);
}

/* Windows of one element: products of matrices, of a sample or of some. */
static void test_pointwise(hk_dtype dtype)
{
    const hk_conv2d_options strided = {.stride = {2, 3}};
    check_conv2d(hk_shape(37, 40, 6, 5), hk_shape(64, 40, 1, 1), NULL, dtype);
    check_conv2d(hk_shape(19, 64, 3, 3), hk_shape(33, 64, 1, 1), NULL, dtype);
    check_conv2d(hk_shape(5, 48, 14, 13), hk_shape(64, 48, 1, 1), NULL, dtype);
    check_conv2d(hk_shape(35, 64, 9, 11), hk_shape(48, 64, 1, 1), &strided, dtype);
    check_conv2d(hk_shape(3, 64, 40, 50), hk_shape(48, 64, 1, 1), &strided, dtype);
    check_conv2d(hk_shape(0, 64, 4, 4), hk_shape(48, 64, 1, 1), NULL, dtype);
}

/* The gradient of weights over a batch is that over its halves, added: of numbers that are rounded. */
static void check_halves(hk_dims x_shape, hk_dims weight_shape, const hk_conv2d_options *options)
{
    HK_SCOPE;
    const int64_t half = x_shape.dims[0] / 2;
    const backward_options backward = {.forward = *options,
                                       .size = {weight_shape.dims[2], weight_shape.dims[3]}};
    hk_array *x = hk_random_uniform(x_shape, HK_F32, device), *bias[3], *sums[3];
    hk_array *weight = hk_random_uniform(weight_shape, HK_F32, device);
    hk_array *dy =
        hk_random_uniform(hk_dims_get(hk_conv2d(x, weight, NULL, options)), HK_F32, device);
    for (int i = 0; i < 3; i++) {
        const int64_t begin = i == 2 ? half : 0, end = i == 1 ? half : 2 * half;
        hk_array *parts[] = {hk_slice(x, 0, begin, end), hk_slice(dy, 0, begin, end)};
        sums[i] = hki_op_call(&hki_op_conv2d_backward_weight, parts, 2, &backward,
                              (hk_device){NULL}, &bias[i]);
    }
    CHECK(hk_item(hk_sum(hk_not_equal(sums[0], hk_add(sums[1], sums[2])), NULL), NULL) == 0);
    CHECK(hk_item(hk_sum(hk_not_equal(bias[0], hk_add(bias[1], bias[2])), NULL), NULL) == 0);
}

static void test_halves(void)
{
    const hk_conv2d_options plain = {0}, strided = {.stride = {2, 2}}, padded = {.padding = {1, 1}};
    check_halves(hk_shape(64, 40, 6, 6), hk_shape(64, 40, 1, 1), &plain);
    check_halves(hk_shape(64, 40, 14, 14), hk_shape(64, 40, 1, 1), &plain);
    check_halves(hk_shape(96, 64, 7, 7), hk_shape(64, 64, 1, 1), &strided);
    check_halves(hk_shape(64, 32, 6, 6), hk_shape(32, 32, 3, 3), &padded);
    check_halves(hk_shape(64, 8, 9, 9), hk_shape(12, 8, 5, 5), &plain);
}

/* Windows that lie in the padding in part or wholly, rows longer and shorter than vectors. */
static void test_groups(hk_dtype dtype)
{
    const hk_conv2d_options depthwise = {.padding = {1, 1}, .groups = 24};
    const hk_conv2d_options halved = {.stride = {2, 2}, .padding = {1, 1}, .groups = 24};
    const hk_conv2d_options wide = {
        .stride = {1, 3}, .padding = {5, 9}, .dilation = {2, 3}, .groups = 3};
    const hk_conv2d_options far = {.padding = {4, 7}, .groups = 2};
    check_conv2d(hk_shape(33, 24, 14, 14), hk_shape(24, 1, 3, 3), &depthwise, dtype);
    check_conv2d(hk_shape(3, 24, 7, 41), hk_shape(48, 1, 3, 3), &halved, dtype);
    check_conv2d(hk_shape(5, 6, 9, 22), hk_shape(9, 2, 4, 5), &wide, dtype);
    const hk_conv2d_options large = {.padding = {2, 2}, .groups = 4};
    check_conv2d(hk_shape(5, 4, 20, 31), hk_shape(4, 1, 3, 3), &large, dtype);
    check_conv2d(hk_shape(5, 4, 20, 31), hk_shape(8, 1, 5, 5), &large, dtype);
    const hk_conv2d_options two = {.stride = {2, 1}, .padding = {1, 1}, .groups = 2};
    check_conv2d(hk_shape(37, 16, 9, 11), hk_shape(8, 8, 3, 3), &two, dtype);
    check_conv2d(hk_shape(1, 16, 30, 31), hk_shape(8, 8, 3, 3), &two, dtype);
    check_conv2d(hk_shape(2, 8, 3, 2), hk_shape(4, 4, 3, 7), &far, dtype);
}

/* The transposed convolution is the gradient of one, and its gradients are convolutions. */
static void test_transpose(int64_t groups)
{
    HK_SCOPE;
    const hk_conv2d_transpose_options options = {
        .stride = {2, 3}, .padding = {1, 0}, .output_padding = {1, 2}, .groups = groups};
    const hk_conv2d_options forward = {.stride = {2, 3}, .padding = {1, 0}, .groups = groups};
    hk_array *x = random_numbers(hk_shape(3, 4, 5, 6), HK_F64);
    hk_array *weight = random_numbers(hk_shape(4, 2, 3, 4), HK_F64);
    hk_array *y = hk_conv2d_transpose(x, weight, NULL, &options);
    CHECK_EQ_I64(hk_dim(y, 2), 10);
    CHECK_EQ_I64(hk_dim(y, 3), 21);
    hk_array *z = random_numbers(hk_dims_get(y), HK_F64);
    hk_array *back = hk_conv2d(z, weight, NULL, &forward);
    CHECK(hk_item(hk_sum(hk_multiply(y, z), NULL), NULL) ==
          hk_item(hk_sum(hk_multiply(x, back), NULL), NULL));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_attach_grad(weight, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_sum(hk_multiply(hk_conv2d_transpose(x, weight, NULL, &options), z), NULL);
    hk_record_end();
    hk_backward(loss);
    CHECK(hk_item(hk_sum(hk_abs(hk_subtract(hk_grad(x), back)), NULL), NULL) == 0);
    hk_array *grad = hk_copy(hk_grad(weight));
    hk_attach_grad(weight, HK_GRAD_WRITE);
    hk_record_begin();
    loss = hk_sum(hk_multiply(x, hk_conv2d(z, weight, NULL, &forward)), NULL);
    hk_record_end();
    hk_backward(loss);
    CHECK(hk_item(hk_sum(hk_abs(hk_subtract(hk_grad(weight), grad)), NULL), NULL) == 0);
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
    /* windows that overlap, in planes of less than a vector and of more than goes into lanes at a time */
    static const int64_t sides[] = {3, 6, 57};
    for (int i = 0; i < 6; i++) {
        const hk_max_pool2d_options options = {
            .kernel = {3, 3}, .stride = {1 + i / 3, 1 + i / 3}, .padding = {1, 1}};
        const int64_t side = sides[i % 3], out = i < 3 ? side : (side + 1) / 2;
        hk_array *plane = random_numbers(hk_shape(3, 13, side, side), dtype);
        hk_array *windows = random_numbers(hk_shape(3, 13, out, out), dtype);
        check_op(&hki_op_max_pool2d, &plane, 1, &options);
        check_op(&hki_op_max_pool2d_backward, (hk_array *[]){plane, windows}, 2, &options);
    }
}

static hk_array *conv2d(hk_dims x, hk_dims weight, const hk_conv2d_options *options)
{
    return hk_conv2d(hk_zeros(x, HK_F32, device), hk_zeros(weight, HK_F32, device), NULL, options);
}

static hk_array *max_pool2d(hk_dims x, hk_max_pool2d_options options)
{
    return hk_max_pool2d(hk_zeros(x, HK_F32, device), &options);
}

static hk_array *transpose(hk_dims x, hk_dims weight, const hk_conv2d_transpose_options *options)
{
    return hk_conv2d_transpose(hk_zeros(x, HK_F32, device), hk_zeros(weight, HK_F32, device), NULL,
                               options);
}

static void test_other_refusals(void)
{
    HK_SCOPE;
    const hk_dims x = hk_shape(2, 3, 8, 8), weight = hk_shape(3, 4, 3, 3);
    CHECK(is_refused(transpose(hk_shape(3, 8, 8), weight, NULL), "x is (3,8,8)"));
    CHECK(is_refused(transpose(x, hk_shape(4, 3, 3, 3), NULL), "is for 4 channels, x (2,3,8,8)"));
    CHECK(is_refused(transpose(x, weight, &(hk_conv2d_transpose_options){.output_padding = {0, 1}}),
                     "output_padding[1] is 1; it may be 0 … 0"));
    CHECK(is_refused(transpose(x, weight, &(hk_conv2d_transpose_options){.padding = {5, 0}}),
                     "padding[0] is 5, which leaves nothing"));
    CHECK(is_refused(transpose(x, weight, &(hk_conv2d_transpose_options){.groups = 2}),
                     "groups is 2"));
    CHECK(is_refused(transpose(x, weight, &(hk_conv2d_transpose_options){.groups = INT64_MAX}),
                     "groups is 9223372036854775807; it must divide the 3 channels of weight"));
    CHECK(is_refused(transpose(x, weight, &(hk_conv2d_transpose_options){.groups = -3}),
                     "groups is -3"));
    CHECK(is_refused(
        hk_conv2d_transpose(hk_broadcast_to(hk_zeros(hk_shape(1, 3, 1, 1), HK_F32, device),
                                            hk_shape(1, 3, INT64_C(1) << 40, 1)),
                            hk_zeros(weight, HK_F32, device), NULL,
                            &(hk_conv2d_transpose_options){.stride = {1 << 30, 1}}),
        "stride[0] is 1073741824, which makes too many"));
    CHECK(is_refused(transpose(x, weight, &(hk_conv2d_transpose_options){.stride = {-1, 1}}),
                     "stride[0] is -1"));
    hk_array *const sequence = hk_zeros(hk_shape(2, 3, 8), HK_F32, device);
    CHECK(is_refused(hk_conv1d(hk_zeros(x, HK_F32, device), sequence, NULL, NULL),
                     "x is (2,3,8,8), but needs 3 axes: samples, channels, length"));
    CHECK(is_refused(hk_conv1d(sequence, hk_zeros(hk_shape(4, 3), HK_F32, device), NULL, NULL),
                     "weight is (4,3), but needs 3 axes: outputs, channels, length"));
    CHECK(is_refused(hk_conv1d(sequence, hk_zeros(hk_shape(4, 2, 3), HK_F32, device), NULL, NULL),
                     "as images of one row: weight (4,2,1,3) is for 2 channels"));
    CHECK(is_refused(hk_max_pool1d(sequence, &(hk_max_pool1d_options){.kernel = 9}),
                     "as images of one row: a window of 1 x 9 does not fit into x (2,3,1,8)"));
    CHECK(is_refused(hk_avg_pool1d(hk_zeros(x, HK_F32, device), NULL), "needs 3 axes"));
    CHECK(is_refused(hk_adaptive_avg_pool2d(sequence, NULL), "x is (2,3,8), but needs 4 axes"));
    CHECK(is_refused(hk_adaptive_max_pool2d(hk_zeros(hk_shape(2, 3, 0, 8), HK_F32, device), NULL),
                     "size[0] is 1 and x (2,3,0,8)"));
    CHECK(is_refused(hk_adaptive_max_pool2d(hk_zeros(x, HK_F32, device),
                                            &(hk_adaptive_max_pool2d_options){.size = {1, -1}}),
                     "size[1] is -1"));
    hk_failures_clear();
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
    CHECK(is_refused(conv2d(x, weight, &(hk_conv2d_options){.groups = 2}),
                     "groups is 2; it must divide the 3 channels of x and the 4 outputs"));
    CHECK(is_refused(conv2d(x, weight, &(hk_conv2d_options){.groups = -1}), "groups is -1"));
    CHECK(is_refused(conv2d(x, hk_shape(3, 3, 3, 3), &(hk_conv2d_options){.groups = 3}),
                     "weight (3,3,3,3) is for 3 channels, x (2,3,8,8) has 1 in each group"));
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
    test_parts(HK_F32);
    test_parts(HK_F64);
    test_pointwise(HK_F32);
    test_pointwise(HK_F64);
    test_halves();
    test_pool2d(HK_F32);
    test_pool2d(HK_F64);
    test_groups(HK_F32);
    test_groups(HK_F64);
    test_transpose(1);
    test_transpose(2);
    test_refusals();
    test_other_refusals();
    return check_result();
}
