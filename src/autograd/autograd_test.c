/* Recording, attaching, and gradients of composed functions against finite differences. */
#include "check.h"

#include <hocket/hocket.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Those of calls that are still running included. */
static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

static hk_array *vector(const double *values, int64_t count)
{
    return hk_from_host(values, hk_shape(count), HK_F64, hk_device_default());
}

static hk_array *numbers(hk_dims shape, double first, double step)
{
    double values[256];
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++)
        size *= shape.dims[i];
    for (int64_t i = 0; i < size; i++)
        values[i] = first + step * (double)i;
    return hk_from_host(values, shape, HK_F64, hk_device_default());
}

static bool near(hk_array *x, const double *expected, int64_t count, double tolerance)
{
    double values[256];
    const hk_status *status = hk_to_host(x, values, (size_t)hk_size(x) * sizeof *values);
    if (!hk_ok(status) || hk_size(x) != count) {
        hk_status_print(status, stderr);
        return false;
    }
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(values[i] - expected[i]) <= tolerance * fmax(1, fabs(expected[i])))) {
            fprintf(stderr, "element %d is %.12g, expected %.12g\n", (int)i, values[i],
                    expected[i]);
            return false;
        }
    return true;
}

#define CHECK_VALUES(x, ...)                                                                       \
    CHECK(near(x, (const double[]){__VA_ARGS__},                                                   \
               sizeof((const double[]){__VA_ARGS__}) / sizeof(double), 1e-12))

static hk_code code_of(hk_array *x)
{
    return hk_status_code(hk_wait(x));
}

/* ---- gradients against finite differences ---------------------------------------------------------- */

typedef hk_array *(*function_fn)(hk_array *x, hk_array *y);

static double evaluate(function_fn function, hk_array *x, hk_array *y)
{
    HK_SCOPE;
    return hk_item(function(x, y), NULL);
}

/* dx of one parameter, by central differences. */
static bool check_gradient(function_fn function, hk_array *x, hk_array *y, hk_array *which)
{
    double values[256], gradient[256];
    const double h = 1e-5;
    int64_t size = hk_size(which);
    size_t bytes = (size_t)size * sizeof *values;
    hk_to_host(which, values, bytes);
    for (int64_t i = 0; i < size; i++) {
        double old = values[i], up, down;
        values[i] = old + h;
        hk_write(which, values, bytes);
        up = evaluate(function, x, y);
        values[i] = old - h;
        hk_write(which, values, bytes);
        down = evaluate(function, x, y);
        values[i] = old;
        hk_write(which, values, bytes);
        gradient[i] = (up - down) / (2 * h);
    }
    return near(hk_grad(which), gradient, size, 1e-7);
}

static hk_array *chain(hk_array *x, hk_array *y)
{
    return hk_sum(hk_multiply(hk_exp(hk_sigmoid(x)), hk_tanh(y)), NULL);
}

static hk_array *diamond(hk_array *x, hk_array *y)
{
    hk_array *a = hk_multiply(x, y), *b = hk_exp(a), *c = hk_square(a);
    hk_array *d = hk_add(hk_multiply(b, c), a);
    return hk_sum(hk_add(d, hk_multiply(d, x)), NULL);
}

static hk_array *reuse(hk_array *x, hk_array *y)
{
    hk_array *z = hk_multiply(x, x);
    return hk_sum(hk_add(hk_multiply(z, x), hk_multiply(hk_add(x, x), y)), NULL);
}

static hk_array *slices(hk_array *x, hk_array *y)
{
    hk_array *left = hk_slice(x, 1, 0, 2), *right = hk_slice(x, 1, 1, 3);
    hk_array *row = hk_index(hk_index(x, 0, 1), 0, 2);
    return hk_sum(hk_add(hk_multiply(left, hk_exp(right)),
                         hk_multiply(hk_slice(hk_transpose(y), 0, 1, 2), row)),
                  NULL);
}

static hk_array *stretched(hk_array *x, hk_array *y)
{
    hk_array *wide = hk_broadcast_to(hk_slice(y, 0, 1, 2), hk_shape(2, 2, 3));
    return hk_sum(hk_multiply(hk_slice(hk_broadcast_to(x, hk_shape(2, 2, 3)), 0, 1, 2), wide),
                  NULL);
}

/* Elements that are seen several times, by sliding windows of views, and ones that are not seen. */
static hk_array *windows(hk_array *x, hk_array *y)
{
    hk_array *own = hk_view(x, hk_shape(4, 3), (const int64_t[]){1, 1}, 0);
    hk_array *of_view =
        hk_view(hk_slice(y, 0, 1, 2), hk_shape(2, 2, 3), (const int64_t[]){1, 1, 0}, 0);
    hk_array *gaps = hk_view(hk_transpose(x), hk_shape(2, 2), (const int64_t[]){3, 2}, 0);
    return hk_sum(hk_add(hk_sum(hk_exp(own), NULL),
                         hk_add(hk_sum(hk_multiply(of_view, of_view), NULL),
                                hk_sum(hk_multiply(gaps, hk_slice(x, 1, 0, 2)), NULL))),
                  NULL);
}

static hk_array *permuted(hk_array *x, hk_array *y)
{
    hk_array *t = hk_permute_dims(x, hk_shape(1, 0));
    hk_array *flat = hk_reshape(hk_multiply(x, x), hk_shape(-1));
    return hk_sum(hk_add(hk_reshape(hk_multiply(t, hk_transpose(y)), hk_shape(6)),
                         hk_exp(hk_reshape(flat, hk_shape(6)))),
                  NULL);
}

static hk_array *broadcast_operands(hk_array *x, hk_array *y)
{
    return hk_sum(hk_multiply(hk_add(x, hk_index(y, 0, 0)), hk_slice(y, 1, 0, 1)), NULL);
}

static void test_against_differences(void)
{
    static const function_fn functions[] = {chain,     diamond,  reuse,   slices,
                                            stretched, permuted, windows, broadcast_operands};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        HK_SCOPE;
        hk_array *x = numbers(hk_shape(2, 3), -0.4, 0.3), *y = numbers(hk_shape(2, 3), 0.9, -0.17);
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_attach_grad(y, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *loss = functions[i](x, y);
        hk_record_end();
        CHECK(hk_ok(hk_backward(loss)));
        bool right = check_gradient(functions[i], x, y, x) && check_gradient(functions[i], x, y, y);
        CHECK(right);
        if (!right)
            fprintf(stderr, "function %zu\n", i);
    }
}

static void test_has_grad(void)
{
    HK_SCOPE;
    hk_array *x = numbers(hk_shape(2, 3), 1, 1);
    CHECK(!hk_has_grad(x) && !hk_has_grad(NULL));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_square(x);
    hk_record_end();
    CHECK(hk_has_grad(x) && !hk_has_grad(y) && !hk_has_grad(hk_detach(x)));
    CHECK(hk_wants_grad(x) && hk_wants_grad(y) && !hk_wants_grad(hk_detach(y)));
    hk_attach_grad(x, HK_GRAD_NULL);
    CHECK(!hk_has_grad(x) && !hk_wants_grad(x) && !hk_wants_grad(NULL));
    hk_attach_grad(x, HK_GRAD_TRACK);
    CHECK(!hk_has_grad(x) && hk_wants_grad(x));
    CHECK(hk_ok(hk_wait_all())); /* asking is no failure */
}

/* A parameter that is a view with gaps, and views of it. */
static void test_strided_leaf(void)
{
    HK_SCOPE;
    hk_array *storage = numbers(hk_shape(3, 4), 1, 1);
    hk_array *x = hk_transpose(hk_slice(storage, 1, 1, 3)); /* (2, 3), strides 1 and 4 */
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *corner = hk_slice(hk_slice(x, 0, 1, 2), 1, 1, 3);
    hk_array *y =
        hk_sum(hk_add(hk_multiply(corner, corner), hk_slice(hk_index(x, 0, 0), 0, 0, 2)), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(hk_is_contiguous(hk_grad(x)));
    CHECK_VALUES(hk_grad(x), 1, 1, 0, 0, 14, 22);
}

/* ---- recording ------------------------------------------------------------------------------------- */

static void test_recording_state(void)
{
    CHECK(!hk_is_recording());
    hk_record_end(); /* without a begin */
    CHECK(!hk_is_recording());
    hk_record_begin();
    CHECK(hk_is_recording());
    hk_pause_begin();
    CHECK(!hk_is_recording());
    hk_record_begin();
    CHECK(hk_is_recording());
    hk_record_end();
    CHECK(!hk_is_recording());
    hk_pause_end();
    CHECK(hk_is_recording());
    {
        HK_PAUSE;
        CHECK(!hk_is_recording());
        {
            HK_RECORD;
            CHECK(hk_is_recording());
        }
        CHECK(!hk_is_recording());
    }
    CHECK(hk_is_recording());
    hk_record_end();
    CHECK(!hk_is_recording());
}

static void test_what_is_recorded(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2, 3}, 3), *constant = vector((double[]){4, 5, 6}, 3);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_array *before = hk_multiply(x, x);
    CHECK_EQ_I64(hk_status_code(hk_backward(before)), HK_INVALID_ARGUMENT);
    hk_record_begin();
    hk_array *product = hk_multiply(x, constant);
    hk_pause_begin();
    hk_array *paused = hk_multiply(x, product);
    hk_pause_end();
    hk_array *detached = hk_detach(product);
    hk_array *y = hk_add(hk_multiply(product, detached), paused);
    hk_array *unrelated = hk_multiply(constant, constant);
    hk_record_end();
    CHECK_EQ_I64(hk_status_code(hk_backward(unrelated)), HK_INVALID_ARGUMENT);
    CHECK(strstr(hk_status_message(hk_backward(unrelated)), "no attached gradient"));
    CHECK(hk_ok(hk_backward(y)));
    CHECK_VALUES(hk_grad(x), 16, 50, 108);                            /* constant * detached */
    CHECK_EQ_I64(hk_status_code(hk_wait_all()), HK_INVALID_ARGUMENT); /* reported there too */
    clear_failures();
}

/* ---- attaching ------------------------------------------------------------------------------------- */

static void test_modes(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2, 3}, 3);
    CHECK_EQ_I64(code_of(hk_grad(x)), HK_INVALID_ARGUMENT);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_array *grad = hk_grad(x);
    CHECK(hk_grad(x) == grad);
    CHECK_VALUES(grad, 0, 0, 0);
    for (int i = 0; i < 2; i++) {
        hk_record_begin();
        hk_array *y = hk_multiply(x, x);
        hk_record_end();
        hk_backward(y);
        CHECK_VALUES(grad, 2, 4, 6);
    }
    hk_attach_grad(x, HK_GRAD_ADD);
    CHECK(hk_grad(x) == grad);
    CHECK_VALUES(grad, 0, 0, 0);
    for (int i = 1; i <= 3; i++) {
        hk_record_begin();
        hk_array *y = hk_multiply(x, x);
        hk_record_end();
        hk_backward(y);
        CHECK_VALUES(grad, 2 * i, 4 * i, 6 * i);
    }
    hk_array_retain(grad);
    hk_attach_grad(x, HK_GRAD_NULL);
    CHECK_EQ_I64(code_of(hk_grad(x)), HK_INVALID_ARGUMENT);
    hk_record_begin();
    hk_array *y = hk_multiply(x, x);
    hk_record_end();
    CHECK(!hk_ok(hk_backward(y)));
    hk_array_release(grad);
    clear_failures();
}

/* An array computed from others becomes an end of the tape. */
static void test_attach_intermediate(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_multiply(x, x);
    hk_attach_grad(y, HK_GRAD_WRITE);
    hk_array *z = hk_multiply(y, y);
    hk_record_end();
    CHECK(hk_ok(hk_backward(z)));
    CHECK_VALUES(hk_grad(y), 2, 8);
    CHECK_VALUES(hk_grad(x), 0, 0);
}

static void test_what_cannot_be_attached(void)
{
    HK_SCOPE;
    const int32_t integers[] = {1, 2};
    hk_array *x = hk_from_host(integers, hk_shape(2), HK_I32, hk_device_default());
    hk_attach_grad(x, HK_GRAD_WRITE);
    CHECK_EQ_I64(code_of(hk_grad(x)), HK_INVALID_ARGUMENT);
    CHECK(strstr(hk_status_message(hk_wait(hk_grad(x))), "int32"));
    hk_array *wide = hk_broadcast_to(vector((double[]){1, 2}, 2), hk_shape(3, 2));
    hk_attach_grad(wide, HK_GRAD_WRITE);
    CHECK(strstr(hk_status_message(hk_wait(hk_grad(wide))), "broadcast"));
    hk_array *failed = hk_add(vector((double[]){1, 2}, 2), vector((double[]){1, 2, 3}, 3));
    hk_attach_grad(failed, HK_GRAD_WRITE);
    CHECK_STR(hk_status_operation(hk_wait(hk_grad(failed))), "add");
    hk_attach_grad(NULL, HK_GRAD_WRITE);
    CHECK_EQ_I64(code_of(hk_grad(NULL)), HK_INVALID_ARGUMENT);
    CHECK_EQ_I64(code_of(hk_detach(NULL)), HK_INVALID_ARGUMENT);
    CHECK(!hk_ok(hk_backward(NULL)));
    clear_failures();
}

/* The gradient outlives neither too little nor too much: handles may go in any order. */
static void test_handles_go(void)
{
    hk_array *x, *loss, *grad;
    {
        HK_SCOPE;
        x = hk_take(vector((double[]){1, 2, 3}, 3));
        hk_attach_grad(x, HK_GRAD_WRITE);
        grad = hk_array_retain(hk_grad(x));
        hk_record_begin();
        loss = hk_take(hk_sum(hk_multiply(hk_exp(x), x), NULL));
        hk_record_end();
    }
    hk_array_release(x);
    CHECK(hk_ok(hk_backward(loss)));
    hk_array_release(loss);
    const double expected[] = {2 * exp(1), 3 * exp(2), 4 * exp(3)};
    CHECK(near(grad, expected, 3, 1e-12));
    hk_array_release(grad);
}

/* ---- heads ----------------------------------------------------------------------------------------- */

static void test_heads(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2, 3}, 3);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_multiply(x, x);
    hk_array *a = hk_exp(y), *b = hk_sum(y, NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward_all((hk_array *[]){a, b, b}, 3)));
    double expected[3];
    for (int i = 0; i < 3; i++)
        expected[i] = 2 * (i + 1) * (exp((i + 1) * (i + 1)) + 2);
    CHECK(near(hk_grad(x), expected, 3, 1e-12));

    hk_record_begin();
    y = hk_multiply(x, x);
    hk_record_end();
    hk_array *dy = vector((double[]){1, 10, 100}, 3);
    hk_array *short_dy = vector((double[]){1, 10}, 2);
    const hk_status *status = hk_backward_from(y, short_dy);
    CHECK_EQ_I64(hk_status_code(status), HK_INVALID_ARGUMENT);
    CHECK(strstr(hk_status_message(status), "float64(2,)"));
    CHECK(hk_ok(hk_backward_from(y, dy))); /* a refused pass leaves the tape as it was */
    CHECK_VALUES(hk_grad(x), 2, 40, 600);

    hk_backward_from(x, dy); /* an attached array may be a head */
    CHECK_VALUES(hk_grad(x), 1, 10, 100);
    hk_backward(x);
    CHECK_VALUES(hk_grad(x), 1, 1, 1);
    CHECK(hk_ok(hk_backward_all(NULL, 0)));
    clear_failures();
}

/* ---- threads --------------------------------------------------------------------------------------- */

typedef struct thread_task {
    hk_array *shared;
    bool ok;
} thread_task;

static void *thread_main(void *argument)
{
    thread_task *task = argument;
    HK_SCOPE;
    task->ok = !hk_is_recording();
    for (int i = 0; i < 50; i++) {
        HK_SCOPE;
        hk_array *own = vector((double[]){3, 4}, 2);
        hk_attach_grad(own, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *y = hk_multiply(hk_slice(task->shared, 0, 0, 2), hk_multiply(own, own));
        hk_record_end();
        task->ok &= hk_ok(hk_backward(y));
        double values[2];
        hk_to_host(hk_grad(own), values, sizeof values);
        task->ok &= values[0] == 6 && values[1] == 16;
    }
    return NULL;
}

/* A parameter shared by threads that add to its gradient. */
static void test_threads(void)
{
    enum { THREADS = 4 };
    HK_SCOPE;
    pthread_t threads[THREADS];
    thread_task tasks[THREADS];
    hk_array *shared = vector((double[]){1, 2, 5}, 3);
    hk_attach_grad(shared, HK_GRAD_ADD);
    hk_record_begin();
    for (int i = 0; i < THREADS; i++) {
        tasks[i].shared = shared;
        pthread_create(&threads[i], NULL, thread_main, &tasks[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(tasks[i].ok);
    }
    hk_record_end();
    CHECK_VALUES(hk_grad(shared), 9 * 50 * THREADS, 16 * 50 * THREADS, 0);
}

int main(void)
{
    test_recording_state();
    test_what_is_recorded();
    test_against_differences();
    test_has_grad();
    test_strided_leaf();
    test_modes();
    test_attach_intermediate();
    test_what_cannot_be_attached();
    test_handles_go();
    test_heads();
    test_threads();
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    return check_result();
}
