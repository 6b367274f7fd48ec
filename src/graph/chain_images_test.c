/* Programs with convolutions that a chain could get wrong: gradients and images of one element, reshaped views, windows of all kinds. */
#include "check.h"

#include "graph/chain_programs_fixture.h"

static void two_halves_of_images(state *self)
{
    hk_array *a = hk_slice(self->bound[0], 0, 0, self->n),
             *b = hk_slice(self->bound[0], 0, self->n, 2 * self->n);
    hk_record_begin();
    hk_array *left = hk_tanh(hk_conv2d(a, self->params[0], NULL, NULL)),
             *right = hk_tanh(hk_conv2d(b, self->params[0], NULL, NULL));
    hk_array *loss = hk_mean(hk_multiply(left, hk_exp(right)), NULL);
    hk_record_end();
    hk_backward(loss);
}

/* The gradient that a convolution gets is one element, shown everywhere. */
static void sum_of_conv(state *self)
{
    hk_record_begin();
    hk_array *y = hk_conv2d(self->bound[0], self->params[0], NULL, NULL);
    hk_array *loss = hk_sum(y, NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, loss);
}

static void mean_of_pool(state *self)
{
    hk_record_begin();
    hk_array *y = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    y = hk_avg_pool2d(y, &(hk_avg_pool2d_options){.kernel = {2, 2}});
    hk_array *loss = hk_mean(y, NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, loss);
}

static void sum_of_max_pool(state *self)
{
    hk_record_begin();
    hk_array *y = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    y = hk_max_pool2d(y, &(hk_max_pool2d_options){.kernel = {2, 2}});
    hk_array *loss = hk_sum(y, NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, loss);
}

static void conv_of_one_element(state *self)
{
    hk_array *x = hk_broadcast_to(self->bound[1], hk_shape(self->n, 2, 6, 6));
    hold(self, hk_tanh(hk_conv2d(x, self->params[0], NULL, NULL)));
    hold(self, hk_exp(self->bound[0]));
}

/* Pooling sees other images than the convolution made. */
static void pool_after_reshape(state *self)
{
    hk_record_begin();
    hk_array *y = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    y = hk_reshape(y, hk_shape(self->n, 2, 4, 8));
    y = hk_max_pool2d(y, &(hk_max_pool2d_options){.kernel = {2, 2}});
    hk_array *loss = hk_mean(hk_square(y), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, hk_square(y));
}

static void pool_after_reshape_forward(state *self)
{
    hk_array *y = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    y = hk_reshape(y, hk_shape(self->n, 2, 4, 8));
    hold(self, hk_avg_pool2d(y, &(hk_avg_pool2d_options){.kernel = {2, 2}}));
}

static void of_both_dtypes(state *self)
{
    hk_record_begin();
    hk_array *a = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    hk_array *b = hk_relu(hk_conv2d(hk_cast(self->bound[0], HK_F64), self->params[1], NULL, NULL));
    a = hk_avg_pool2d(
        a, &(hk_avg_pool2d_options){.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}});
    b = hk_max_pool2d(b, &(hk_max_pool2d_options){.kernel = {2, 2}});
    hk_array *one = hk_mean(hk_square(a), NULL), *two = hk_sum(hk_square(b), NULL);
    hk_record_end();
    hk_backward(one);
    hk_backward(two);
    hold(self, a);
    hold(self, b);
}

static void normalised(state *self)
{
    hk_record_begin();
    hk_array *y = hk_conv2d(self->bound[0], self->params[0], NULL, NULL);
    hk_array *mean = hk_mean(y, &(hk_mean_options){.axes = hk_shape(0, 2, 3), .keepdims = true});
    hk_array *centred = hk_subtract(y, mean);
    hk_array *z = hk_avg_pool2d(hk_relu(hk_multiply(centred, self->bound[1])),
                                &(hk_avg_pool2d_options){.kernel = {2, 2}});
    hk_array *loss = hk_mean(hk_square(z), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, z);
}

static void gradient_of_input(state *self)
{
    hk_attach_grad(self->bound[0], HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    y = hk_avg_pool2d(y, &(hk_avg_pool2d_options){.kernel = {2, 2}});
    hk_record_end();
    hk_backward_from(y, self->bound[1]);
    hold(self, hk_grad(self->bound[0]));
}

static void convolution_used_twice(state *self)
{
    hk_record_begin();
    hk_array *one = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    hk_array *two = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL,
                                      &(hk_conv2d_options){.dilation = {2, 2}, .padding = {1, 1}}));
    hk_array *small = hk_max_pool2d(one, &(hk_max_pool2d_options){.kernel = {2, 2}});
    hk_array *other = hk_avg_pool2d(two, &(hk_avg_pool2d_options){.kernel = {2, 2}});
    hk_array *loss = hk_mean(hk_square(hk_subtract(small, other)), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, small);
}

static void pooled_twice(state *self)
{
    hk_record_begin();
    hk_array *y = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    hk_array *a = hk_max_pool2d(y, &(hk_max_pool2d_options){.kernel = {2, 2}});
    hk_array *b = hk_avg_pool2d(y, &(hk_avg_pool2d_options){.kernel = {2, 2}});
    hk_array *loss = hk_mean(hk_square(hk_add(a, b)), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, a);
}

static void batch_norm_between(state *self)
{
    hk_record_begin();
    hk_array *y = hk_conv2d(self->bound[0], self->params[0], NULL, NULL);
    hk_array *mean = hk_mean(y, &(hk_mean_options){.axes = hk_shape(0, 2, 3)});
    hk_array *variance = hk_add(hk_square(mean), 1);
    hk_array *z = hk_batch_norm(y, self->params[1], self->params[2], hk_detach(mean),
                                hk_detach(variance), NULL);
    z = hk_max_pool2d(hk_relu(z), &(hk_max_pool2d_options){.kernel = {2, 2}});
    hk_array *loss = hk_mean(hk_square(z), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, z);
}

static void bytes_to_images(state *self)
{
    hk_record_begin();
    hk_array *x = hk_multiply(hk_cast(self->bound[0], HK_F32), 0.2);
    hk_array *y = hk_relu(hk_conv2d(x, self->params[0], NULL, NULL));
    hk_array *loss = hk_softmax_cross_entropy(hk_reshape(y, hk_shape(self->n, 12)),
                                              hk_broadcast_to(self->bound[1], hk_shape(self->n)));
    hk_record_end();
    hk_backward(loss);
    hold(self, hk_equal(hk_argmax(hk_reshape(y, hk_shape(self->n, 12)), 1), self->bound[2]));
}

static void ends_of_numbers(state *self)
{
    hk_record_begin();
    hk_array *x = hk_log(self->bound[0]); /* NaN where it is negative */
    hk_array *y = hk_relu(hk_conv2d(x, self->params[0], NULL, NULL));
    hk_array *z = hk_max_pool2d(y, &(hk_max_pool2d_options){.kernel = {2, 2}});
    hk_record_end();
    hk_backward_from(z, hk_square(self->bound[1]));
    hold(self, z);
    hold(self, hk_relu(hk_linear(hk_log(hk_reshape(self->bound[0], hk_shape(self->n, 72))),
                                 self->params[1], NULL)));
}

static int64_t draw(uint64_t *random, int64_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((*random >> 33) % (uint64_t)below);
}

static hk_array *random_layer(uint64_t *random, hk_array *x, hk_array *weight, hk_array *bias)
{
    hk_conv2d_options how = {.stride = {1 + draw(random, 3), 1 + draw(random, 3)},
                             .padding = {draw(random, 4), draw(random, 4)},
                             .dilation = {1 + draw(random, 2), 1 + draw(random, 2)}};
    hk_array *y = hk_conv2d(x, weight, draw(random, 2) ? bias : NULL, &how);
    if (draw(random, 4))
        y = hk_relu(y);
    int64_t rows = 1 + draw(random, 3), columns = 1 + draw(random, 3);
    int64_t shift = draw(random, 3) ? 0 : 1; /* windows overlap, or leave gaps */
    int64_t right = columns - shift > 0 ? columns - shift : columns + 1;
    if (rows > hk_dim(y, 2) || columns > hk_dim(y, 3))
        return y;
    switch (draw(random, 4)) {
    case 0:
        return hk_max_pool2d(y, &(hk_max_pool2d_options){.kernel = {rows, columns}});
    case 1:
        return hk_avg_pool2d(y, &(hk_avg_pool2d_options){.kernel = {rows, columns}});
    case 2:
        return hk_max_pool2d(
            y, &(hk_max_pool2d_options){.kernel = {rows, columns}, .stride = {rows, right}});
    default:
        return y;
    }
}

static void random_images(state *self)
{
    uint64_t random = self->seed;
    hk_record_begin();
    hk_array *y = random_layer(&random, self->bound[0], self->params[0], self->params[1]);
    y = random_layer(&random, y, self->params[2], NULL);
    hk_array *loss = draw(&random, 2) ? hk_mean(hk_square(y), NULL) : hk_sum(y, NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, loss);
    if (draw(&random, 2))
        hold(self, y);
}

static void test_random_images(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t random = i * 7919 + 1;
        draw(&random, 2);
        hk_dtype dtype = draw(&random, 4) ? HK_F32 : HK_F64;
        int64_t channels = 1 + draw(&random, 18);
        const program its = {
            .name = "random_images",
            .step = random_images,
            .seed = random,
            .bound = {{SHAPE(N, 2, 7 + draw(&random, 5), 7 + draw(&random, 5)), dtype, true}},
            .params = {{SHAPE(channels, 2, 1 + draw(&random, 3), 1 + draw(&random, 3)), dtype,
                        true},
                       {SHAPE(channels), dtype, true},
                       {SHAPE(3, channels, 1, 1), dtype, true}},
            .forms = true};
        compare(&its, 32 + draw(&random, 120));
    }
}

static const program programs[] = {
    {.name = "two_halves_of_images",
     .step = two_halves_of_images,
     .bound = {F32(2 * N, 2, 5, 5)},
     .params = {F32(3, 2, 3, 3)},
     .forms = true},
    {.name = "sum_of_conv",
     .step = sum_of_conv,
     .bound = {F32(N, 2, 6, 6)},
     .params = {F32(3, 2, 3, 3)},
     .forms = true,
     .many = 2100},
    {.name = "mean_of_pool",
     .step = mean_of_pool,
     .bound = {F32(N, 2, 6, 6)},
     .params = {F32(3, 2, 3, 3)},
     .forms = true},
    {.name = "sum_of_max_pool",
     .step = sum_of_max_pool,
     .bound = {F32(N, 2, 6, 6)},
     .params = {F32(3, 2, 3, 3)},
     .forms = true},
    {.name = "conv_of_one_element",
     .step = conv_of_one_element,
     .bound = {F32(N, 4), F32(1, 1, 1, 1)},
     .params = {F32(3, 2, 3, 3)}},
    {.name = "pool_after_reshape",
     .step = pool_after_reshape,
     .bound = {F32(N, 2, 6, 6)},
     .params = {F32(4, 2, 3, 3)},
     .forms = true},
    {.name = "pool_after_reshape_forward",
     .step = pool_after_reshape_forward,
     .bound = {F32(N, 2, 6, 6)},
     .params = {F32(4, 2, 3, 3)},
     .forms = true},
    {.name = "of_both_dtypes",
     .step = of_both_dtypes,
     .bound = {F32(N, 2, 6, 6)},
     .params = {F32(3, 2, 3, 3), F64(3, 2, 3, 3)},
     .forms = true},
    {.name = "gradient_of_input",
     .step = gradient_of_input,
     .bound = {F32(N, 2, 6, 6), F32(N, 3, 2, 2)},
     .params = {F32(3, 2, 3, 3)},
     .forms = true},
    {.name = "convolution_used_twice",
     .step = convolution_used_twice,
     .bound = {F32(N, 2, 6, 6)},
     .params = {F32(3, 2, 3, 3)},
     .forms = true},
    {.name = "pooled_twice",
     .step = pooled_twice,
     .bound = {F32(N, 2, 6, 6)},
     .params = {F32(3, 2, 3, 3)},
     .forms = true},
    {.name = "batch_norm_between",
     .step = batch_norm_between,
     .bound = {F32(N, 2, 6, 6)},
     .params = {F32(3, 2, 3, 3), F32(3), F32(3)},
     .forms = true},
    {.name = "bytes_to_images",
     .step = bytes_to_images,
     .bound = {{SHAPE(N, 2, 4, 4), HK_U8, true},
               {SHAPE(1), HK_I32, true},
               {SHAPE(N), HK_I64, true}},
     .params = {F32(3, 2, 3, 3)},
     .forms = true},
    {.name = "ends_of_numbers",
     .step = ends_of_numbers,
     .bound = {F32(N, 2, 6, 6), F32(N, 3, 2, 2)},
     .params = {F32(3, 2, 3, 3), F32(2, 72)},
     .forms = true},
    {.name = "normalised",
     .step = normalised,
     .bound = {F32(N, 2, 6, 6), F32(N, 3, 4, 4)},
     .params = {F32(3, 2, 3, 3)},
     .forms = true},
};

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    compare_all(programs, sizeof programs / sizeof *programs);
    test_random_images(60);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
