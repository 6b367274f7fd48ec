/* Recording and a backward pass while memory is short: each gradient is right or it is failed, never zero or old, whichever allocation fails. */
#include "check.h"
#include "failing_memory.h"

#include <hocket/hocket.h>

enum {
    MOST = 3000,
    SIZE = 100
}; /* allocations of one pass; elements: more than run without a task */

static bool is_right(hk_array *grad, double expected)
{
    float values[SIZE];
    if (!hk_ok(hk_to_host(grad, values, sizeof values)))
        return false;
    for (int i = 0; i < SIZE; i++)
        if (values[i] != (float)expected)
            return false;
    return true;
}

/* Something of w = 3 and x = 2, and its gradients. */
typedef struct scheme {
    hk_array *(*record)(hk_array *w, hk_array *x);
    double dw, dx;
} scheme;

/* w x^2 */
static hk_array *record(hk_array *w, hk_array *x)
{
    HK_RECORD;
    return hk_multiply(w, hk_square(x));
}

static void both_backward(hk_function_call *call)
{
    for (int i = 0; i < 2; i++) {
        hk_array *x = call->inputs[i], *other = call->inputs[1 - i];
        hk_array *of_sum = call->dys[1] ? hk_multiply(call->dys[1], hk_full_like(x, 5)) : NULL;
        hk_array *dx = call->dys[0] ? hk_multiply(call->dys[0], other) : NULL;
        call->dxs[i] = hk_take(!dx ? of_sum : !of_sum ? dx : hk_add(dx, of_sum));
    }
}

/* w x + 5 (w + x), as two results of a function. */
static hk_array *record_function(hk_array *w, hk_array *x)
{
    hk_array *outputs[2];
    {
        HK_PAUSE;
        outputs[0] = hk_multiply(w, x);
        outputs[1] = hk_multiply(hk_add(w, x), 5);
    }
    HK_RECORD;
    hk_function((hk_array *[]){w, x}, 2, outputs, 2,
                &(hk_function_options){.backward = both_backward, .reads_inputs = 3});
    return hk_add(outputs[0], outputs[1]);
}

/* (d w x^2 / dx)^2, and x in a part of its own, through views. */
static hk_array *record_second(hk_array *w, hk_array *x)
{
    hk_array *y = record(w, x), *dx, *part;
    hk_gradients(&y, 1, &x, 1, &(hk_gradients_options){.create_graph = true}, &dx);
    HK_RECORD;
    part = hk_concat((hk_array *[]){hk_slice(dx, 0, 0, 9), hk_slice(dx, 0, 9, SIZE)}, 2, 0);
    return hk_multiply(dx, part);
}

static const scheme schemes[] = {
    {record, 4, 12}, {record_function, 2 + 5, 3 + 5}, {record_second, 96, 144}};

/* The gradients are those of an earlier pass before: 0 or that would be silently wrong. `is_recorded`: before memory fails. */
static void test_pass(const scheme *of, hk_engine engine, bool all, bool is_recorded)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.engine = engine})));
    const hk_device device = hk_device_default();
    int failed = 1, after = 0;
    for (; failed && after < MOST; after++) {
        HK_SCOPE;
        hk_array *w = hk_full(hk_shape(SIZE), 3, HK_F32, device),
                 *x = hk_full(hk_shape(SIZE), 2, HK_F32, device);
        hk_attach_grad(w, HK_GRAD_WRITE);
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_backward_from(of->record(w, x), hk_full(hk_shape(SIZE), 2, HK_F32, device));
        hk_array *y = is_recorded ? of->record(w, x) : NULL;
        hk_wait_all();
        failing_begin(after, all);
        if (!is_recorded)
            y = of->record(w, x);
        hk_backward(y);
        failed = failing_end();
        const bool w_failed = !hk_ok(hk_wait(hk_grad(w))), x_failed = !hk_ok(hk_wait(hk_grad(x)));
        CHECK(w_failed || is_right(hk_grad(w), of->dw));
        CHECK(x_failed || is_right(hk_grad(x), of->dx));
        CHECK(failed || (!w_failed && !x_failed));
        hk_failures_clear();
    }
    CHECK(after < MOST);
    hk_runtime_deinit();
}

int main(void)
{
    for (int all = 0; all < 2; all++) {
        for (int is_recorded = 0; is_recorded < 2; is_recorded++) {
            for (int i = 0; i < 3; i++) {
                test_pass(&schemes[i], HK_ENGINE_SERIAL, all, is_recorded);
                test_pass(&schemes[i], HK_ENGINE_ASYNC, all, is_recorded);
            }
        }
    }
    return check_result();
}
