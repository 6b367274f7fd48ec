/* Programs that a chain could get wrong: parts of values that look like samples, sums that are copied, axes, dtypes, order. */
#include "check.h"

#include "graph/chain_programs_fixture.h"

/* Of a square value, a row is as long as there are samples. */
static void row_of_square(state *self)
{
    hk_array *square = hk_tanh(hk_matmul(self->bound[0], self->params[0]));
    hk_array *row = hk_index(square, 0, 0);
    hold(self, hk_exp(row));
    hold(self, hk_add(row, hk_index(square, 1, 0)));
}

static void part_of_flat(state *self)
{
    hk_array *y = hk_tanh(hk_exp(self->bound[0]));
    hk_array *flat = hk_reshape(y, hk_shape(hk_size(y)));
    hold(self, hk_exp(hk_slice(flat, 0, 0, self->n)));
    hk_array *part = hk_reshape(hk_slice(flat, 0, 0, self->n * 2), hk_shape(self->n, 2));
    hold(self, hk_matmul(hk_transpose(part), part));
}

/* Two halves of one bound array are samples each. */
static void two_halves(state *self)
{
    hk_array *a = hk_slice(self->bound[0], 0, 0, self->n),
             *b = hk_slice(self->bound[0], 0, self->n, 2 * self->n);
    hk_record_begin();
    hk_array *left = hk_relu(hk_linear(a, self->params[0], NULL)),
             *right = hk_relu(hk_linear(b, self->params[0], NULL));
    hk_array *loss = hk_mean(hk_square(hk_subtract(left, right)), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, left);
    hold(self, right);
}

static void sum_of_linear(state *self)
{
    hk_record_begin();
    hk_array *y =
        hk_linear(hk_relu(hk_linear(self->bound[0], self->params[0], NULL)), self->params[1], NULL);
    hk_array *loss = hk_sum(y, NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, loss);
}

/* One element shown everywhere, and the array that it is of. */
static void spread_and_dense(state *self)
{
    hk_array *one = hk_slice(hk_slice(self->bound[0], 0, 0, 1), 1, 0, 1);
    hk_array *all = hk_broadcast_to(one, hk_shape(self->n, 4));
    hold(self, hk_multiply(hk_exp(all), hk_tanh(self->bound[0])));
}

static void transposed_weight(state *self)
{
    hk_record_begin();
    hk_array *y = hk_matmul(self->bound[0], hk_contiguous(hk_transpose(self->params[0])));
    hk_array *loss = hk_mean(hk_square(y), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, hk_square(y));
}

static void part_of_sum(state *self)
{
    hk_array *sum = hk_sum(hk_exp(self->bound[0]), &(hk_sum_options){.axes = hk_shape(0)});
    hold(self, hk_copy(hk_slice(sum, 0, 1, 3)));
}

static void sum_everywhere(state *self)
{
    hk_array *sum = hk_sum(hk_exp(self->bound[0]), NULL);
    hold(self, hk_copy(hk_broadcast_to(sum, hk_shape(50))));
}

static void transposed_sum(state *self)
{
    hk_array *x = hk_exp(self->bound[0]);
    hold(self, hk_copy(hk_transpose(hk_matmul(hk_transpose(x), hk_tanh(x)))));
}

static void overwritten_sum(state *self)
{
    hk_array *sum = hk_sum(hk_exp(self->bound[0]), &(hk_sum_options){.axes = hk_shape(0)});
    hk_zeros_into(sum, hk_dims_get(sum), HK_F32);
    hold(self, hk_copy(sum));
}

static void doubled_sum(state *self)
{
    hk_array *sum = hk_sum(hk_exp(self->bound[0]), &(hk_sum_options){.axes = hk_shape(0)});
    hk_array *part = hk_slice(sum, 0, 1, 3);
    hk_add_into(part, part, part);
    hold(self, hk_copy(sum));
}

static void sums_in_places(state *self)
{
    hk_array *x = hk_exp(self->bound[0]);
    hk_copy_into(hk_index(self->bound[1], 0, 1), hk_sum(x, NULL));
    hk_copy_into(hk_index(self->bound[1], 0, 2), hk_mean(x, NULL));
    hk_copy_into(hk_index(self->bound[1], 0, 1), hk_sum(hk_square(x), NULL));
}

/* Written by a call that the chain would overtake. */
static void copied_over(state *self)
{
    hk_full_into(self->params[0], hk_shape(1), 3, HK_F32);
    hk_array *y = hk_reshape(hk_exp(self->bound[0]), hk_shape(hk_size(self->bound[0])));
    hk_array *sum = hk_sum(y, &(hk_sum_options){.keepdims = true});
    hk_copy_into(self->params[0], sum);
    hk_add_into(self->params[0], self->params[0], self->params[0]);
}

static void sums_of_axes(state *self)
{
    hk_array *x = hk_tanh(self->bound[0]);
    hold(self, hk_sum(x, &(hk_sum_options){.axes = hk_shape(0, 2), .keepdims = true}));
    hold(self, hk_sum(x, &(hk_sum_options){.axes = hk_shape(-1, -3)}));
    hold(self, hk_sum(x, &(hk_sum_options){.axes = hk_shape(1), .keepdims = true}));
    hold(self, hk_mean(x, &(hk_mean_options){.axes = hk_shape(-3)}));
    hold(self, hk_mean(x, &(hk_mean_options){.axes = hk_shape(1, 2)}));
    hold(self, hk_mean(x, &(hk_mean_options){.axes = hk_shape(0, 1, 2), .keepdims = true}));
    hold(self, hk_sum(hk_greater(x, hk_multiply(x, 2)), NULL));
    hold(self, hk_mean(hk_greater(x, hk_multiply(x, 2)), NULL));
}

static void softmax_axes(state *self)
{
    hk_array *x = hk_exp(self->bound[0]);
    hold(self, hk_softmax(x, 1));
    hold(self, hk_softmax(x, -1));
    hold(self, hk_log_softmax(x, -3));
    hold(self, hk_argmax(x, -1));
    hold(self, hk_argmax(x, -2));
    hold(self, hk_argmax(x, -3));
    hold(self, hk_log_softmax(x, 0));
}

static void softmax_gradient(state *self)
{
    hk_record_begin();
    hk_array *y = hk_linear(self->bound[0], self->params[0], self->params[1]);
    hk_array *p = hk_multiply(hk_softmax(y, -1), hk_log_softmax(y, 1));
    hk_array *loss = hk_mean(hk_sum(p, &(hk_sum_options){.axes = hk_shape(1)}), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, p);
}

static void broadcasts(state *self)
{
    hk_array *column = hk_tanh(self->bound[0]), *row = self->bound[1];
    hk_array *table = hk_multiply(column, row);
    hold(self, hk_sum(hk_square(table), &(hk_sum_options){.axes = hk_shape(1)}));
    hold(self, hk_where(hk_greater(table, row), table, hk_exp(column)));
    hold(self, hk_sum(table, &(hk_sum_options){.axes = hk_shape(0)}));
    hold(self, hk_add(hk_reshape(row, hk_shape(self->n)), hk_exp(column)));
}

static void samples_and_shared(state *self)
{
    hk_array *x = self->bound[0], *y = hk_linear(x, x, NULL);
    hold(self, hk_tanh(y));
    hold(self, hk_matmul(hk_transpose(x), hk_exp(x)));
    hold(self, hk_matmul(y, hk_tanh(y)));
    hold(self, hk_matmul(hk_transpose(y), hk_tanh(y)));
}

static void casts(state *self)
{
    hk_array *x = hk_multiply(self->bound[0], 3);
    hk_array *whole = hk_cast(x, HK_I32);
    hold(self, hk_sum(whole, NULL));
    hold(self, hk_sum(hk_cast(whole, HK_I64), &(hk_sum_options){.axes = hk_shape(0)}));
    hold(self, hk_mean(hk_cast(hk_cast(x, HK_F64), HK_F32), NULL));
    hold(self, hk_multiply(hk_cast(hk_cast(x, HK_BOOL), hk_array_dtype(x)), x));
    hold(self, hk_mean(whole, NULL));
    hold(self, hk_mean(whole, &(hk_mean_options){.axes = hk_shape(1)}));
    hold(self, hk_multiply(whole, whole));
}

static void empty_features(state *self)
{
    hk_array *x = hk_exp(self->bound[0]);
    hold(self, hk_sum(x, NULL));
    hold(self, hk_mean(x, NULL));
    hold(self, hk_sum(x, &(hk_sum_options){.axes = hk_shape(1)}));
    hold(self, hk_linear(x, self->params[0], self->params[1]));
    hold(self, hk_tanh(x));
}

static void three_dimensions(state *self)
{
    hk_record_begin();
    hk_array *y = hk_relu(hk_linear(self->bound[0], self->params[0], self->params[1]));
    hk_array *z = hk_sum(hk_softmax(y, 1), &(hk_sum_options){.axes = hk_shape(1)});
    hk_array *loss = hk_sum(hk_square(z), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, z);
}

static void update_between(state *self)
{
    hk_record_begin();
    hk_array *one = hk_mean(hk_square(hk_linear(self->bound[0], self->params[0], NULL)), NULL);
    hk_record_end();
    hk_backward(one);
    hk_sgd(self->params, 1, &(hk_sgd_options){.lr = 0.1, .batch = 1});
    hk_record_begin();
    hk_array *two = hk_mean(hk_exp(hk_linear(self->bound[0], self->params[0], NULL)), NULL);
    hk_record_end();
    hk_backward(two);
    hk_sgd(self->params, 1, &(hk_sgd_options){.lr = 0.1, .batch = 1});
    hold(self, one);
    hold(self, two);
}

static void accumulated(state *self)
{
    hk_attach_grad(self->params[1], HK_GRAD_ADD);
    for (int i = 0; i < 2; i++) {
        hk_record_begin();
        hk_array *y = hk_tanh(hk_linear(self->bound[i], self->params[0], NULL));
        hk_array *loss = hk_mean(hk_square(hk_linear(y, self->params[1], NULL)), NULL);
        hk_record_end();
        hk_backward(loss);
    }
}

static void in_place(state *self)
{
    hk_array *h = hk_relu(self->bound[0]), *y = hk_exp(h);
    hk_add_into(h, h, y);
    hold(self, hk_tanh(h));
    hold(self, hk_square(y));
    hk_multiply_into(self->bound[0], self->bound[0], h);
    hold(self, hk_exp(self->bound[0]));
    hk_negative_into(y, y);
    hold(self, y);
}

static void in_place_first(state *self)
{
    hk_array *x = self->bound[0];
    hk_add_into(x, x, 1);
    hk_array *y = hk_square(hk_tanh(x));
    hk_copy_into(x, y);
    hold(self, hk_sum(y, NULL));
    hk_add_into(x, x, 1);
    hold(self, hk_exp(x));
}

static void two_losses(state *self)
{
    hk_record_begin();
    hk_array *h = hk_relu(hk_linear(self->bound[0], self->params[0], NULL));
    hk_array *one = hk_softmax_cross_entropy(hk_linear(h, self->params[1], NULL), self->bound[1]);
    hk_array *two = hk_mean(hk_square(h), NULL);
    hk_record_end();
    hk_backward_all((hk_array *[]){one, two}, 2);
    hold(self, one);
    hold(self, two);
}

static void held_by_views(state *self)
{
    hk_array *y = hk_tanh(hk_exp(self->bound[0]));
    hold(self, hk_transpose(y));
    hold(self, hk_slice(hk_square(y), 1, 1, 3));
    hold(self, hk_greater(y, hk_square(y)));
    hold(self, hk_sum(hk_transpose(hk_relu(y)), &(hk_sum_options){.axes = hk_shape(0)}));
}

static void weight_used_twice(state *self)
{
    hk_record_begin();
    hk_array *y = hk_relu(hk_linear(self->bound[0], self->params[0], self->params[1]));
    y = hk_relu(hk_linear(y, self->params[0], self->params[1]));
    hk_array *z = hk_add(hk_linear(y, self->params[0], NULL), y);
    hk_array *loss = hk_mean(hk_multiply(z, y), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, z);
}

static void added_to_gradients(state *self)
{
    hk_attach_grad(self->params[0], HK_GRAD_ADD);
    hk_record_begin();
    hk_array *y = hk_linear(self->bound[0], self->params[0], NULL);
    hk_array *one = hk_mean(hk_square(y), NULL);
    hk_array *two = hk_sum(hk_exp(hk_linear(self->bound[0], self->params[0], NULL)), NULL);
    hk_record_end();
    hk_backward(one);
    hk_multiply_into(hk_grad(self->params[0]), hk_grad(self->params[0]), 0.5);
    hk_backward(two);
}

static void written_by_halves(state *self)
{
    hk_array *x = self->bound[0], *whole = hk_tanh(x);
    hk_array *left = hk_slice(self->bound[1], 1, 0, 2), *right = hk_slice(self->bound[1], 1, 2, 4);
    hk_copy_into(left, hk_slice(whole, 1, 2, 4));
    hk_copy_into(right, hk_slice(hk_exp(whole), 1, 0, 2));
    hold(self, hk_sum(self->bound[1], NULL));
    hk_copy_into(self->bound[0], hk_square(self->bound[1]));
    hold(self, hk_exp(self->bound[0]));
}

static void assigned(state *self)
{
    hk_array *y = hk_exp(self->bound[0]);
    hk_assign(self->params[0], hk_slice(y, 0, 0, 4));
    hold(self, hk_linear(hk_tanh(self->bound[0]), self->params[0], NULL));
    hk_assign(self->params[0], hk_index(y, 0, self->n - 1));
    hold(self, hk_linear(hk_tanh(y), self->params[0], NULL));
}

static void shared_before_and_after(state *self)
{
    hold(self, hk_linear(hk_tanh(self->bound[0]), self->params[0], NULL));
    hk_multiply_into(self->params[0], self->params[0], 2);
    hold(self, hk_linear(hk_exp(self->bound[0]), self->params[0], NULL));
    hk_negative_into(self->params[0], self->params[0]);
}

static void two_nets(state *self)
{
    hk_record_begin();
    hk_array *a =
        hk_mean(hk_square(hk_relu(hk_linear(self->bound[0], self->params[0], NULL))), NULL);
    hk_array *b =
        hk_mean(hk_exp(hk_linear(hk_slice(self->bound[1], 0, 3, 40), self->params[1], NULL)), NULL);
    hk_record_end();
    hk_backward(a);
    hk_backward(b);
    hold(self, a);
    hold(self, b);
}

static const hk_conv2d_options beside_the_pixel = {.stride = {3, 3}, .padding = {1, 1}};

/* Images, kernels and results of one pixel each, and yet no layers: windows are in the padding. */
static void padding_alone(state *self)
{
    hold(self, hk_tanh(hk_relu(hk_conv2d(self->bound[0], self->params[0], self->params[1],
                                         &beside_the_pixel))));
}

static void padding_alone_backward(state *self)
{
    const hk_dims images = hk_shape(self->n, 3, 1, 1);
    hk_record_begin();
    hk_array *h = hk_relu(hk_linear(self->bound[0], self->params[0], NULL));
    hk_array *y = hk_conv2d(hk_reshape(h, images), self->bound[1], NULL, &beside_the_pixel);
    hk_array *z = hk_conv2d(hk_reshape(h, images), self->bound[1], NULL, NULL);
    hk_array *loss = hk_mean(hk_square(hk_add(y, z)), NULL);
    hk_record_end();
    hk_backward(loss);
    hold(self, loss);
}

static const program programs[] = {
    {.name = "row_of_square",
     .step = row_of_square,
     .bound = {F32(N, 3)},
     .params = {F32(3, N)},
     .forms = true},
    {.name = "part_of_flat", .step = part_of_flat, .bound = {F32(N, 4)}, .forms = true},
    {.name = "two_halves",
     .step = two_halves,
     .bound = {F32(2 * N, 3)},
     .params = {F32(4, 3)},
     .forms = true},
    {.name = "sum_of_linear",
     .step = sum_of_linear,
     .bound = {F32(N, 4)},
     .params = {F32(5, 4), F32(1, 5)},
     .forms = true},
    {.name = "spread_and_dense", .step = spread_and_dense, .bound = {F32(N, 4)}, .forms = true},
    {.name = "transposed_weight",
     .step = transposed_weight,
     .bound = {F32(N, 3)},
     .params = {F32(5, 3)},
     .forms = true},
    {.name = "part_of_sum", .step = part_of_sum, .bound = {F32(N, 40)}, .forms = true},
    {.name = "sum_everywhere", .step = sum_everywhere, .bound = {F32(N, 4)}, .forms = true},
    {.name = "transposed_sum",
     .step = transposed_sum,
     .bound = {F32(N, 4)},
     .forms = true,
     .many = 2100},
    {.name = "overwritten_sum", .step = overwritten_sum, .bound = {F32(N, 4)}},
    {.name = "doubled_sum", .step = doubled_sum, .bound = {F32(N, 4)}, .forms = true},
    {.name = "sums_in_places", .step = sums_in_places, .bound = {F32(N, 4), F32(4)}, .forms = true},
    {.name = "copied_over", .step = copied_over, .bound = {F32(N, 4)}, .params = {F32(1)}},
    {.name = "sums_of_axes",
     .step = sums_of_axes,
     .bound = {F32(N, 3, 4)},
     .forms = true,
     .many = 2100},
    {.name = "softmax_axes", .step = softmax_axes, .bound = {F32(N, 3, 4)}, .forms = true},
    {.name = "softmax_gradient",
     .step = softmax_gradient,
     .bound = {F32(N, 3)},
     .params = {F32(6, 3), F32(6)},
     .forms = true},
    {.name = "broadcasts", .step = broadcasts, .bound = {F32(N, 1), F32(1, N)}, .forms = true},
    {.name = "samples_and_shared", .step = samples_and_shared, .bound = {F32(N, 7)}, .forms = true},
    {.name = "casts", .step = casts, .bound = {F32(N, 7)}, .forms = true, .many = 2100},
    {.name = "casts_f64", .step = casts, .bound = {F64(N, 7)}, .forms = true},
    {.name = "empty_features",
     .step = empty_features,
     .bound = {F32(N, 0)},
     .params = {F32(3, 0), F32(3)}},
    {.name = "three_dimensions",
     .step = three_dimensions,
     .bound = {F32(N, 5, 3)},
     .params = {F32(4, 3), F32(4)},
     .forms = true},
    {.name = "update_between",
     .step = update_between,
     .bound = {F32(N, 3)},
     .params = {F32(4, 3)},
     .forms = true,
     .many = 2100},
    {.name = "accumulated",
     .step = accumulated,
     .bound = {F32(N, 3), F32(N, 3)},
     .params = {F32(4, 3), F32(2, 4)},
     .forms = true},
    {.name = "in_place", .step = in_place, .bound = {F32(N, 3)}},
    {.name = "in_place_first", .step = in_place_first, .bound = {F32(N, 3)}},
    {.name = "two_losses_i32",
     .step = two_losses,
     .bound = {F32(N, 3), {SHAPE(N), HK_I32, true}},
     .params = {F32(4, 3), F32(5, 4)},
     .forms = true,
     .many = 2100},
    {.name = "two_losses_u8",
     .step = two_losses,
     .bound = {F64(N, 3), {SHAPE(N), HK_U8, true}},
     .params = {F64(4, 3), F64(5, 4)},
     .forms = true},
    {.name = "held_by_views", .step = held_by_views, .bound = {F32(N, 4)}, .forms = true},
    {.name = "weight_used_twice",
     .step = weight_used_twice,
     .bound = {F32(N, 4)},
     .params = {F32(4, 4), F32(4)},
     .forms = true},
    {.name = "added_to_gradients",
     .step = added_to_gradients,
     .bound = {F32(N, 3)},
     .params = {F32(4, 3)},
     .forms = true},
    {.name = "written_by_halves", .step = written_by_halves, .bound = {F32(N, 4), F32(N, 4)}},
    {.name = "assigned", .step = assigned, .bound = {F32(N, 4)}, .params = {F32(4, 4)}},
    {.name = "shared_before_and_after",
     .step = shared_before_and_after,
     .bound = {F32(N, 4)},
     .params = {F32(4, 4)},
     .forms = true},
    {.name = "two_nets",
     .step = two_nets,
     .bound = {F32(N, 4), F32(2 * N, 3)},
     .params = {F32(4, 4), F32(4, 3)},
     .forms = true},
    {.name = "padding_alone",
     .step = padding_alone,
     .bound = {F32(N, 3, 1, 1)},
     .params = {F32(5, 3, 1, 1), F32(5)},
     .forms = true},
    {.name = "padding_alone_backward",
     .step = padding_alone_backward,
     .bound = {F32(N, 3), F32(5, 3, 1, 1)},
     .params = {F32(3, 3)},
     .forms = true},
};

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    compare_all(programs, sizeof programs / sizeof *programs);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    CHECK(cuts > 0);
    hk_runtime_deinit();
    return check_result();
}
