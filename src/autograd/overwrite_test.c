/* Writes over what gradients will read: the gradients concerned are failed by a record that names both lines, no others. */
#include "check.h"

#include <hocket/hocket.h>

#include <pthread.h>
#include <string.h>

enum { MOST = 400 };

static int64_t size; /* elements of every array: few run without a task, many with one */

static hk_array *filled(double value)
{
    return hk_full(hk_shape(size), value, HK_F32, hk_device_default());
}

static hk_array *attached(double value)
{
    hk_array *x = filled(value);
    hk_attach_grad(x, HK_GRAD_WRITE);
    return x;
}

static bool is_all(hk_array *x, double value)
{
    float values[MOST];
    if (!hk_ok(hk_to_host(x, values, (size_t)hk_size(x) * sizeof *values)))
        return false;
    for (int64_t i = 0; i < hk_size(x); i++)
        if (values[i] != (float)value)
            return false;
    return true;
}

/* Failed, by a record of line `recorded` whose text names the line after `written` and operation `by`. */
static bool names(hk_array *grad, int recorded, const char *by, int written)
{
    const hk_status *status = hk_wait(grad);
    const char *base = strrchr(__FILE__, '/');
    char place[64];
    snprintf(place, sizeof place, "%s:%d ", base ? base : __FILE__, written + 1);
    return !hk_ok(status) && hk_status_line(status) == recorded &&
           strstr(hk_status_message(status), by) && strstr(hk_status_message(status), place);
}

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

static int recorded; /* the line of the latest call below */

static hk_array *square(hk_array *x)
{
    HK_RECORD;
    recorded = __LINE__ + 1;
    return hk_square(x);
}

static hk_array *product(hk_array *x, hk_array *y)
{
    HK_RECORD;
    recorded = __LINE__ + 1;
    return hk_multiply(x, y);
}

static void test_each_writer(void)
{
    float values[MOST] = {0};
    for (int writer = 0; writer < 5; writer++) {
        HK_SCOPE;
        hk_array *x = attached(2), *other = filled(1);
        hk_array *y = square(x);
        int written = 0;
        const char *by = "";
        hk_array *part = hk_slice(x, 0, 1, 2), *one = hk_slice(other, 0, 1, 2);
        switch (writer) {
        case 0:
            written = __LINE__, by = "write";
            hk_write(x, values, (size_t)size * sizeof *values);
            break;
        case 1:
            written = __LINE__, by = "add";
            hk_add_into(x, x, other);
            break;
        case 2:
            written = __LINE__, by = "sgd";
            hk_sgd(&x, 1, &(hk_sgd_options){.lr = 1});
            break;
        case 3:
            written = __LINE__, by = "all_reduce";
            hk_all_reduce((hk_array *[]){x, other}, 2);
            break;
        default:
            written = __LINE__, by = "copy";
            hk_call_into("copy", part, &one, 1, NULL);
            break;
        }
        CHECK(hk_status_code(hk_backward(y)) == HK_INVALID_ARGUMENT);
        CHECK(names(hk_grad(x), recorded, by, written));
        CHECK(hk_ok(hk_wait(x)));
        clear_failures();
        CHECK(hk_ok(hk_backward(square(x)))); /* and it heals */
        CHECK(hk_ok(hk_wait(hk_grad(x))));
    }
}

/* What no gradient that is wanted reads is not kept: overwriting it is no failure at all. */
static void test_unread(void)
{
    HK_SCOPE;
    hk_array *a = attached(2), *b = filled(3);
    hk_array *y = product(a, b);
    hk_add_into(a, a, a);
    CHECK(hk_ok(hk_backward(y)));
    CHECK(is_all(hk_grad(a), 3));
    hk_record_begin();
    hk_array *z = hk_where(hk_greater(b, a), a, b);
    hk_record_end();
    hk_add_into(a, a, a);
    hk_add_into(b, b, b);
    CHECK(hk_ok(hk_backward(z)));
    CHECK(hk_ok(hk_wait_all()));

    hk_array *x = filled(1), *weight = hk_ones(hk_shape(2, size), HK_F32, hk_device_default()),
             *bias = hk_ones(hk_shape(2), HK_F32, hk_device_default());
    hk_attach_grad(weight, HK_GRAD_WRITE);
    hk_attach_grad(bias, HK_GRAD_WRITE);
    hk_record_begin();
    y = hk_linear(hk_reshape(x, hk_shape(1, size)), weight, bias);
    hk_record_end();
    hk_add_into(bias, bias, bias);
    hk_add_into(weight, weight, weight);
    CHECK(hk_ok(hk_backward(y)));
    CHECK(is_all(hk_grad(bias), 1));
    CHECK(hk_ok(hk_wait_all()));
}

/* Only gradients that read what was overwritten. */
static void test_one_factor(void)
{
    HK_SCOPE;
    hk_array *a = attached(2), *b = attached(3);
    hk_array *y = product(a, b);
    hk_add_into(a, a, a);
    hk_backward(y);
    CHECK(is_all(hk_grad(a), 3));
    CHECK(!hk_ok(hk_wait(hk_grad(b))));
    clear_failures();
}

static void test_result(void)
{
    HK_SCOPE;
    hk_array *x = attached(0);
    hk_record_begin();
    const int line = __LINE__ + 1;
    hk_array *y = hk_exp(x);
    hk_record_end();
    const int written = __LINE__;
    hk_add_into(y, y, y);
    hk_backward(y);
    CHECK(names(hk_grad(x), line, "add", written));
    clear_failures();
}

/* What gradients do not read may be written, and so may what lies beside, or when the pass is issued. */
static void test_harmless(void)
{
    HK_SCOPE;
    hk_array *x = attached(2), *both = filled(2);
    hk_record_begin();
    hk_array *y = hk_add(x, x);
    hk_record_end();
    hk_add_into(x, x, x);
    CHECK(hk_ok(hk_backward(y)));
    CHECK(is_all(hk_grad(x), 2));

    hk_array *left = hk_slice(both, 0, 0, 1), *right = hk_slice(both, 0, 1, size);
    hk_attach_grad(left, HK_GRAD_WRITE);
    y = square(left);
    hk_add_into(right, right, right);
    CHECK(hk_ok(hk_backward(y)));
    hk_add_into(left, left, left);
    CHECK(is_all(hk_grad(left), 4));
}

/* Losses are often written beside the network, which is fine where nothing is recorded. */
static void test_write_while_recording(void)
{
    HK_SCOPE;
    float value[MOST] = {0};
    hk_array *x = attached(1), *o = filled(0);
    hk_record_begin();
    hk_exp_into(o, x);
    hk_array *y = hk_add(o, x);
    hk_record_end();
    CHECK(hk_status_code(hk_wait(y)) == HK_INVALID_ARGUMENT);
    CHECK(!hk_ok(hk_backward(y)) || !hk_ok(hk_wait(hk_grad(x))));
    CHECK(!hk_ok(hk_wait(hk_grad(x))));
    clear_failures();

    hk_array *z = square(x);
    hk_record_begin();
    hk_write(z, value, (size_t)size * sizeof *value);
    hk_record_end();
    CHECK(hk_status_code(hk_wait(z)) == HK_INVALID_ARGUMENT);
    clear_failures();

    hk_array *log = filled(0);
    z = square(x);
    hk_call_into("copy", log, &z, 1, NULL);
    hk_record_begin();
    hk_call_into("copy", log, (hk_array *[]){hk_detach(z)}, 1, NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(z)));
    CHECK(is_all(hk_grad(x), 2) && is_all(log, 1));
}

static void test_replay(void)
{
    HK_SCOPE;
    hk_array *x = attached(2);
    hk_capture_begin(&x, 1);
    hk_add_into(x, x, x);
    hk_graph *graph = hk_capture_end(NULL);
    hk_array *y = square(x);
    hk_replay(graph, &x, 1);
    hk_backward(y);
    CHECK(!hk_ok(hk_wait(hk_grad(x))));
    clear_failures();
    CHECK(is_all(x, 8));
    hk_graph_release(graph);
}

/* A captured step that does so itself is none. */
static void test_capture(void)
{
    HK_SCOPE;
    hk_array *x = attached(2);
    hk_capture_begin(&x, 1);
    hk_array *y = square(x);
    hk_add_into(x, x, x);
    hk_backward(y);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(!hk_ok(hk_wait(hk_grad(x))));
    CHECK(!hk_ok(hk_graph_status(graph)));
    clear_failures();
    hk_graph_release(graph);
}

static void *write_to(void *x)
{
    hk_add_into(x, x, x);
    return NULL;
}

static void test_other_thread(void)
{
    HK_SCOPE;
    hk_array *x = attached(2);
    hk_array *y = square(x);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, write_to, x) == 0);
    pthread_join(thread, NULL);
    hk_backward(y);
    CHECK(!hk_ok(hk_wait(hk_grad(x))));
    clear_failures();
}

/* While another thread writes all the time, a gradient is that of a value that was there, or failed. */
static void *keep_writing(void *argument)
{
    hk_array *x = argument;
    for (int i = 0; i < 2000; i++) {
        HK_SCOPE;
        hk_add_into(x, x, hk_full(hk_shape(size), 1, HK_F32, hk_device_default()));
    }
    return NULL;
}

static void test_beside_writer(void)
{
    HK_SCOPE;
    hk_array *x = attached(0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, keep_writing, x) == 0);
    for (int i = 0; i < 500; i++) {
        HK_SCOPE;
        float value[MOST], grad[MOST];
        hk_array *y = square(x);
        hk_backward(y);
        hk_array *kept = hk_contiguous(hk_grad(x));
        if (hk_ok(hk_to_host(kept, grad, (size_t)size * sizeof *grad)) &&
            hk_ok(hk_to_host(y, value, (size_t)size * sizeof *value)))
            CHECK(grad[0] * grad[0] == 4 * value[0]);
    }
    pthread_join(thread, NULL);
    clear_failures();
}

int main(void)
{
    for (int engine = 0; engine < 2; engine++)
        for (size = 3; size <= MOST; size += MOST - 3) {
            CHECK(hk_ok(hk_runtime_init(
                &(hk_runtime_options){.engine = engine ? HK_ENGINE_ASYNC : HK_ENGINE_SERIAL})));
            test_each_writer();
            test_unread();
            test_one_factor();
            test_result();
            test_harmless();
            test_write_while_recording();
            test_replay();
            test_capture();
            test_other_thread();
            test_beside_writer();
            hk_runtime_deinit();
        }
    return check_result();
}
