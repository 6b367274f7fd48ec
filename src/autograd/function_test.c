/* Functions with gradients of their own: what their callbacks get, may do, and when their contexts go. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int released;

/* What a callback is to do, and what it saw. */
typedef struct context {
    int calls, wanted;
    bool has_first, has_second, was_recording;
    hk_array *other; /* differentiated inside */
} context;

static void note_release(void *self)
{
    (void)self;
    atomic_fetch_add(&released, 1);
}

static hk_array *vector(double first, double second)
{
    return hk_from_host((double[]){first, second}, hk_shape(2), HK_F64, hk_device_default());
}

static bool holds(hk_array *x, double first, double second)
{
    double values[2] = {NAN, NAN};
    const hk_status *status = hk_to_host(x, values, sizeof values);
    if (hk_ok(status) && values[0] == first && values[1] == second)
        return true;
    fprintf(stderr, "%g, %g (%s)\n", values[0], values[1], hk_status_message(status));
    return false;
}

static bool fails(hk_array *x, const char *text)
{
    const hk_status *status = hk_wait(x);
    const bool as_said = !hk_ok(status) && strstr(hk_status_message(status), text);
    if (!as_said)
        fprintf(stderr, "%s\n", hk_status_message(status));
    return as_said;
}

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

/* ---- x y and x + y, by a callback that reads the inputs ----------------------------------------------------- */

static void note(hk_function_call *call)
{
    context *self = call->context;
    if (!self)
        return;
    self->calls++;
    self->has_first = call->dys[0] != NULL;
    self->has_second = call->output_count > 1 && call->dys[1] != NULL;
    self->wanted = call->wanted[0] + 2 * (call->input_count > 1 && call->wanted[1]);
    self->was_recording = hk_is_recording();
}

static void both_backward(hk_function_call *call)
{
    note(call);
    for (int i = 0; i < 2; i++) {
        hk_array *product = call->dys[0] ? hk_multiply(call->dys[0], call->inputs[1 - i]) : NULL;
        hk_array *dx = product && call->dys[1] ? hk_add(product, call->dys[1])
                       : product               ? product
                                               : call->dys[1];
        call->dxs[i] = call->wanted[i] ? hk_array_retain(dx) : NULL;
    }
}

static void both(hk_array *x, hk_array *y, hk_array **outputs, context *self)
{
    {
        HK_PAUSE;
        outputs[0] = hk_multiply(x, y);
        outputs[1] = hk_add(x, y);
    }
    hk_function((hk_array *[]){x, y}, 2, outputs, 2,
                &(hk_function_options){.name = "both",
                                       .backward = both_backward,
                                       .context = self,
                                       .release = note_release,
                                       .reads_inputs = 3});
}

static hk_array *attached(double first, double second)
{
    hk_array *x = vector(first, second);
    hk_attach_grad(x, HK_GRAD_WRITE);
    return x;
}

static void test_each_output(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5), *y = attached(1, 2), *outputs[2];
    for (int used = 1; used < 4; used++) {
        HK_SCOPE;
        context self = {0};
        hk_array *heads[2];
        int count = 0;
        atomic_store(&released, 0);
        {
            HK_RECORD;
            both(x, y, outputs, &self);
        }
        CHECK(holds(outputs[0], 3, 10) && holds(outputs[1], 4, 7));
        if (used & 1)
            heads[count++] = outputs[0];
        if (used & 2)
            heads[count++] = outputs[1];
        CHECK(hk_ok(hk_backward_all(heads, count)));
        const double sum = used & 2 ? 1 : 0, product = used & 1 ? 1 : 0;
        CHECK(holds(hk_grad(x), sum + product * 1, sum + product * 2));
        CHECK(holds(hk_grad(y), sum + product * 3, sum + product * 5));
        CHECK(self.calls == 1 && self.wanted == 3 && !self.was_recording);
        CHECK(self.has_first == (used & 1) && self.has_second == used >> 1);
        CHECK_EQ_I64(atomic_load(&released), 1);
    }
}

static void test_wanted(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5), *y = vector(1, 2), *outputs[2], *before[2];
    context self = {0};
    atomic_store(&released, 0);
    both(x, y, before, &self); /* nothing records */
    CHECK_EQ_I64(atomic_load(&released), 1);
    HK_RECORD;
    both(y, y, outputs, &self); /* no input wants a gradient */
    CHECK_EQ_I64(atomic_load(&released), 2);
    both(x, y, outputs, &self);
    CHECK(hk_ok(hk_backward(outputs[0])) && self.wanted == 1);
    CHECK(holds(hk_grad(x), 1, 2));
    CHECK_EQ_I64(atomic_load(&released), 3);
}

/* A tape that is dropped, and one that is kept. */
static void test_release(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5), *y = vector(1, 2), *outputs[2];
    context self = {0};
    atomic_store(&released, 0);
    {
        HK_SCOPE;
        HK_RECORD;
        both(x, y, outputs, &self);
    }
    CHECK_EQ_I64(atomic_load(&released), 1);
    {
        HK_SCOPE;
        {
            HK_RECORD;
            both(x, y, outputs, &self);
        }
        const hk_backward_options keep = {.keep = true};
        CHECK(hk_ok(hk_backward_with(outputs, 1, &keep)));
        CHECK_EQ_I64(atomic_load(&released), 1);
        CHECK(hk_ok(hk_backward(outputs[1])));
        CHECK_EQ_I64(atomic_load(&released), 2);
        CHECK(holds(hk_grad(x), 1, 1));
        CHECK(!hk_ok(hk_backward(outputs[0])));
        CHECK(fails(hk_grad(x), "both was differentiated before"));
    }
    CHECK_EQ_I64(atomic_load(&released), 2);
    clear_failures();
}

static void test_overwritten(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5), *y = attached(1, 2), *outputs[2];
    {
        HK_RECORD;
        both(x, y, outputs, NULL);
    }
    hk_assign(y, vector(0, 0));
    hk_backward(outputs[0]);
    CHECK(fails(hk_grad(x), "input 1 was overwritten by assign"));
    CHECK(holds(hk_grad(y), 3, 5)); /* which does not read it */
    clear_failures();
}

static void test_second_order(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5), *y = attached(1, 2), *outputs[2], *dx;
    context self = {0};
    {
        HK_RECORD;
        both(x, y, outputs, &self);
        outputs[0] = hk_multiply(outputs[0], outputs[0]); /* x^2 y^2 */
    }
    const hk_gradients_options create = {.create_graph = true};
    CHECK(hk_ok(hk_gradients(outputs, 1, &x, 1, &create, &dx)) && self.was_recording);
    CHECK(holds(dx, 6, 40)); /* 2 x y^2 */
    CHECK(hk_ok(hk_backward(dx)));
    CHECK(holds(hk_grad(x), 2, 8) && holds(hk_grad(y), 12, 40));
}

/* ---- by what it gave: exp, of which reading the output is enough ------------------------------------------------ */

static void exp_backward(hk_function_call *call)
{
    call->dxs[0] = hk_take(hk_multiply(call->dys[0], call->outputs[0]));
    CHECK(!call->inputs[0]);
}

static hk_array *exponential(hk_array *x)
{
    hk_array *y;
    {
        HK_PAUSE;
        y = hk_exp(x);
    }
    hk_function(&x, 1, &y, 1, &(hk_function_options){.backward = exp_backward, .reads_outputs = 1});
    return y;
}

static void test_reads_output(void)
{
    HK_SCOPE;
    hk_array *x = attached(0, 0), *y;
    const hk_gradients_options create = {.create_graph = true};
    {
        HK_RECORD;
        y = exponential(x);
    }
    for (int i = 0; i < 3; i++)
        CHECK(hk_ok(hk_gradients(&y, 1, &x, 1, &create, &y)) && holds(y, 1, 1));
    {
        HK_RECORD;
        y = exponential(x);
    }
    hk_assign(y, vector(7, 7));
    hk_backward(y);
    CHECK(fails(hk_grad(x), "the result was overwritten by assign"));
    clear_failures();
}

/* ---- what a callback does wrong --------------------------------------------------------------------------------- */

static void error_backward(hk_function_call *call)
{
    snprintf(call->error, sizeof call->error, "the front end raised %s", "KeyError");
    call->dxs[0] = hk_array_retain(call->dys[0]);
}

static void wrong_backward(hk_function_call *call)
{
    call->dxs[0] = hk_take(hk_ones(hk_shape(3), HK_F64, hk_device_default()));
    hk_record_begin(); /* without its end */
}

static void nothing_backward(hk_function_call *call)
{
    (void)call;
}

static hk_array *through(hk_array *x, void (*backward)(hk_function_call *call), void *self)
{
    HK_RECORD;
    hk_array *y = hk_detach(x);
    hk_function(
        &x, 1, &y, 1,
        &(hk_function_options){
            .name = "through", .backward = backward, .context = self, .release = note_release});
    return y;
}

static void test_errors(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5);
    const hk_status *status = hk_backward(through(x, error_backward, NULL));
    CHECK(strstr(hk_status_message(status), "the front end raised KeyError"));
    CHECK(fails(hk_grad(x), "the front end raised KeyError"));
    clear_failures();
    x = attached(3, 5);
    hk_backward(through(x, wrong_backward, NULL));
    CHECK(fails(hk_grad(x), "a gradient came as float64(3,)"));
    CHECK(!hk_is_recording());
    hk_backward(through(x, nothing_backward, NULL));
    CHECK(holds(hk_grad(x), 0, 0));
    clear_failures();
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5), *y = vector(1, 1), *none = NULL;
    hk_function_options options = {.release = note_release};
    HK_RECORD;
    atomic_store(&released, 0);
    hk_function(&x, 1, &y, 1, &options);
    CHECK(fails(y, "options has no backward"));
    hk_function(&x, 1, &y, 1, NULL);
    CHECK(fails(y, "options has no backward"));
    options.backward = nothing_backward;
    y = vector(1, 1);
    hk_function(&x, 65, &y, 1, &options);
    CHECK(fails(y, "input_count is 65"));
    y = vector(1, 1);
    hk_function(NULL, 1, &y, 1, &options);
    CHECK(fails(y, "inputs is NULL"));
    hk_function(&x, 1, &none, 1, &options);
    CHECK(fails(none, "output 0 is NULL"));
    hk_function(&x, 1, NULL, 1, &options);
    hk_function(&x, 1, &y, 0, &options);
    CHECK_EQ_I64(atomic_load(&released), 6);
    none = NULL;
    y = vector(1, 1);
    hk_function(&none, 1, &y, 1, &options); /* no gradient to flow */
    CHECK(holds(y, 1, 1));
    clear_failures();
}

/* ---- what it may do ------------------------------------------------------------------------------------------------ */

/* Waits, attaches, and differentiates what shares its leaf with the pass that is at work. */
static void busy_backward(hk_function_call *call)
{
    context *self = call->context;
    hk_array *w = attached(2, 2), *y, *dx;
    {
        HK_RECORD;
        y = hk_multiply(w, hk_multiply(self->other, self->other));
    }
    CHECK(hk_ok(hk_gradients(&y, 1, &self->other, 1, NULL, &dx)) && holds(dx, 12, 20));
    CHECK(hk_ok(hk_wait_all()));
    call->dxs[0] = hk_take(hk_multiply(call->dys[0], dx));
}

static void test_nested(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5);
    context self = {.other = x};
    hk_array *y = through(x, busy_backward, &self);
    {
        HK_RECORD;
        y = hk_multiply(hk_multiply(through(y, busy_backward, &self), x), x);
    }
    CHECK(hk_ok(hk_backward(y))); /* 2 x through(x) + x^2 12^2 */
    CHECK(holds(hk_grad(x), 2 * 3 * 3 + 9 * 144, 2 * 5 * 5 + 25 * 400));
}

/* Another pass over the same tape, in the middle of one. */
static void again_backward(hk_function_call *call)
{
    const context *self = call->context;
    CHECK(hk_ok(hk_backward(self->other)));
    call->dxs[0] = hk_array_retain(call->dys[0]);
}

static void test_passed_meanwhile(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5), *y, *z;
    context self = {0};
    {
        HK_RECORD;
        y = hk_multiply(x, x);
    }
    self.other = y;
    z = through(y, again_backward, &self);
    CHECK(!hk_ok(hk_backward(z)));
    CHECK(fails(hk_grad(x), "multiply was differentiated by another pass meanwhile"));
    clear_failures();
}

/* While one thread's callback waits for it, another thread differentiates. */
static atomic_int turn;

static void *differentiate(void *unused)
{
    HK_SCOPE;
    (void)unused;
    while (atomic_load(&turn) == 0)
        ;
    hk_array *x = attached(3, 5), *y;
    {
        HK_RECORD;
        y = hk_multiply(x, x);
    }
    CHECK(hk_ok(hk_backward(y)) && holds(hk_grad(x), 6, 10));
    atomic_store(&turn, 2);
    return NULL;
}

static void waiting_backward(hk_function_call *call)
{
    atomic_store(&turn, 1);
    while (atomic_load(&turn) == 1)
        ;
    call->dxs[0] = hk_array_retain(call->dys[0]);
}

static void test_threads(void)
{
    HK_SCOPE;
    pthread_t thread;
    hk_array *x = attached(3, 5), *y = through(x, waiting_backward, NULL);
    CHECK(pthread_create(&thread, NULL, differentiate, NULL) == 0);
    CHECK(hk_ok(hk_backward(y)) && holds(hk_grad(x), 1, 1));
    pthread_join(thread, NULL);
}

/* A context whose release drops arrays, and differentiates. */
static void busy_release(void *self)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5), *y;
    {
        HK_RECORD;
        y = hk_multiply(x, x);
    }
    CHECK(hk_ok(hk_backward(y)) && holds(hk_grad(x), 6, 10));
    hk_array_release(self);
    atomic_fetch_add(&released, 1);
}

static void test_busy_release(void)
{
    HK_SCOPE;
    hk_array *x = attached(3, 5), *y = hk_detach(x);
    atomic_store(&released, 0);
    {
        HK_RECORD;
        hk_function(&x, 1, &y, 1,
                    &(hk_function_options){.backward = nothing_backward,
                                           .context = hk_array_retain(vector(1, 1)),
                                           .release = busy_release});
    }
    CHECK(hk_ok(hk_backward(y)));
    CHECK_EQ_I64(atomic_load(&released), 1);
}

int main(void)
{
    test_each_output();
    test_wanted();
    test_release();
    test_overwritten();
    test_second_order();
    test_reads_output();
    test_errors();
    test_refusals();
    test_nested();
    test_passed_meanwhile();
    test_threads();
    test_busy_release();
    hk_runtime_deinit();
    return check_result();
}
