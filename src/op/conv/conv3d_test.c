/* Convolutions of volumes: beside those of images, padding that takes a window's share away, and what is refused. */
#include "check.h"
#include "op/operator_fixture.h"
#include "tests/same_bytes.h"

static hk_device device;

/* Windows of one slice are images of their own. */
static void test_one_slice(void)
{
    HK_SCOPE;
    hk_array *x = random_numbers(hk_shape(2, 3, 4, 6, 5), HK_F32);
    hk_array *weight = random_numbers(hk_shape(4, 3, 1, 3, 2), HK_F32);
    hk_array *y =
        hk_conv3d(x, weight, NULL, &(hk_conv3d_options){.stride = {2, 1, 2}, .padding = {0, 1, 0}});
    for (int i = 0; i < 2; i++)
        CHECK(same_bytes(hk_index(y, 2, i),
                         hk_conv2d(hk_index(x, 2, 2 * i), hk_index(weight, 2, 0), NULL,
                                   &(hk_conv2d_options){.stride = {1, 2}, .padding = {1, 0}})));
}

/* The product of y and a convolution of x is that of x and the transposed one of y. */
static void test_transpose(void)
{
    HK_SCOPE;
    const hk_conv3d_options options = {
        .stride = {3, 2, 1}, .padding = {1, 0, 1}, .dilation = {1, 2, 1}, .groups = 2};
    hk_array *x = random_numbers(hk_shape(2, 4, 7, 6, 5), HK_F64);
    hk_array *weight = random_numbers(hk_shape(6, 2, 2, 2, 3), HK_F64);
    hk_array *y = hk_conv3d(x, weight, NULL, &options),
             *dy = random_numbers(hk_dims_get(y), HK_F64);
    hk_array *dx = hk_conv3d_transpose(dy, weight, NULL,
                                       &(hk_conv3d_transpose_options){.stride = {3, 2, 1},
                                                                      .padding = {1, 0, 1},
                                                                      .dilation = {1, 2, 1},
                                                                      .output_padding = {1, 1, 0},
                                                                      .groups = 2});
    CHECK(same_bytes(hk_sum(hk_multiply(y, dy), NULL), hk_sum(hk_multiply(x, dx), NULL)));
}

/* Of one slice, which padding takes away, zeros are left that output_padding adds. */
static void test_all_taken_away(void)
{
    HK_SCOPE;
    hk_array *x = random_numbers(hk_shape(1, 2, 1, 2, 2), HK_F32);
    hk_array *y = hk_conv3d_transpose(
        x, hk_ones(hk_shape(2, 3, 1, 1, 1), HK_F32, device), hk_ones(hk_shape(3), HK_F32, device),
        &(hk_conv3d_transpose_options){
            .stride = {3, 1, 1}, .padding = {1, 0, 0}, .output_padding = {2, 0, 0}});
    CHECK(same_bytes(y, hk_ones(hk_shape(1, 3, 1, 2, 2), HK_F32, device)));
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(2, 3, 4, 4, 4), HK_F32, device);
    hk_array *weight = hk_zeros(hk_shape(3, 3, 5, 3, 3), HK_F32, device);
    CHECK(is_refused(hk_conv3d(hk_index(x, 2, 0), weight, NULL, NULL),
                     "x is (2,3,4,4), but needs 5 axes: samples, channels, depth, height, width"));
    CHECK(is_refused(hk_conv3d(x, weight, NULL,
                               &(hk_conv3d_options){.padding = {0, 1, 0}, .dilation = {1, 2, 1}}),
                     "a window of weight (3,3,5,3,3) spans 5 x 5 x 3 elements with dilation {1, 2, "
                     "1}; x (2,3,4,4,4) with padding {0, 1, 0} has only 4 x 6 x 4"));
    CHECK(is_refused(hk_conv3d(x, weight, NULL, &(hk_conv3d_options){.stride = {1, 1, -2}}),
                     "stride[2] is -2"));
    CHECK(is_refused(hk_conv3d(x, weight, NULL, &(hk_conv3d_options){.groups = 2}), "groups is 2"));
    CHECK(
        is_refused(hk_conv3d_transpose(x, weight, NULL,
                                       &(hk_conv3d_transpose_options){.output_padding = {0, 0, 1}}),
                   "output_padding[2] is 1; it may be 0 … 0"));
    CHECK(is_refused(
        hk_conv3d_transpose(x, weight, NULL, &(hk_conv3d_transpose_options){.padding = {0, 3, 0}}),
        "padding[1] is 3, which leaves nothing"));
    hk_failures_clear();
}

int main(void)
{
    hk_seed(3);
    device = hk_device_default();
    test_one_slice();
    test_transpose();
    test_all_taken_away();
    test_refusals();
    return check_result();
}
