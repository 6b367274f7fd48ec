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

/* w x * x with w = 3 and x = 2: the gradients are 4 and 12. */
static hk_array *record(hk_array *w, hk_array *x)
{
    HK_RECORD;
    return hk_multiply(w, hk_square(x));
}

/* The gradients are those of an earlier pass before: 0 or that would be silently wrong. `is_recorded`: before memory fails. */
static void test_pass(hk_engine engine, bool all, bool is_recorded)
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
        hk_backward_from(record(w, x), hk_full(hk_shape(SIZE), 2, HK_F32, device));
        hk_array *y = is_recorded ? record(w, x) : NULL;
        hk_wait_all();
        failing_begin(after, all);
        if (!is_recorded)
            y = record(w, x);
        hk_backward(y);
        failed = failing_end();
        const bool w_failed = !hk_ok(hk_wait(hk_grad(w))), x_failed = !hk_ok(hk_wait(hk_grad(x)));
        CHECK(w_failed || is_right(hk_grad(w), 4));
        CHECK(x_failed || is_right(hk_grad(x), 12));
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
            test_pass(HK_ENGINE_SERIAL, all, is_recorded);
            test_pass(HK_ENGINE_ASYNC, all, is_recorded);
        }
    }
    return check_result();
}
