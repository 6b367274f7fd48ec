/* Calls on arrays that have no element, but axes so long that a loop over one of them would never end. Each call is made in
 * a child with a time-out, so that the test says which one it is. */
#include "check.h"

#include <hocket/hocket.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60 };

static const int64_t HUGE_AXIS = (int64_t)1 << 40;

static hk_array *empty(int kind)
{
    const hk_dims shapes[] = {hk_shape(HUGE_AXIS, 0, 3), hk_shape(HUGE_AXIS, 3, 0),
                              hk_shape(0, HUGE_AXIS, 3), hk_shape(3, 0, HUGE_AXIS)};
    return hk_zeros(shapes[kind], HK_F32, (hk_device){0});
}

enum { KINDS = 4 };

/* Waits for the result, whatever becomes of it: too large a result is an error, and none may hang. */
static bool finish(hk_array *y)
{
    return hk_ok(hk_wait(y));
}

static void elementwise(int kind)
{
    HK_SCOPE;
    finish(hk_add(empty(kind), empty(kind)));
    finish(hk_exp(empty(kind)));
    finish(hk_add(empty(kind), 1));
    finish(hk_cast(empty(kind), HK_F64));
    finish(hk_copy(empty(kind)));
    finish(hk_where(hk_cast(empty(kind), HK_BOOL), empty(kind), empty(kind)));
}

static void reductions(int kind)
{
    HK_SCOPE;
    finish(hk_sum(empty(kind), NULL));
    finish(hk_mean(empty(kind), NULL));
    finish(hk_max(empty(kind), NULL));
    for (int axis = 1; axis <= 3; axis++) {
        finish(hk_sum(empty(kind), &(const hk_sum_options){.axes = hk_shape(axis - 1)}));
        finish(hk_argmax(empty(kind), axis - 1));
        finish(hk_softmax(empty(kind), axis - 1));
        finish(hk_log_softmax(empty(kind), axis - 1));
    }
}

static void products(int kind)
{
    HK_SCOPE;
    finish(hk_matmul(empty(kind), hk_permute_dims(empty(kind), hk_shape(0, 2, 1))));
    finish(hk_matmul(empty(0), empty(1)));
    finish(hk_matmul(hk_zeros(hk_shape(HUGE_AXIS, 0), HK_F32, (hk_device){0}),
                     hk_zeros(hk_shape(0, 0), HK_F32, (hk_device){0})));
    finish(hk_matmul(hk_zeros(hk_shape(0, HUGE_AXIS), HK_F32, (hk_device){0}),
                     hk_zeros(hk_shape(HUGE_AXIS, 0), HK_F32, (hk_device){0})));
}

static void views_and_text(int kind)
{
    HK_SCOPE;
    hk_array *x = empty(kind);
    char *text = hk_to_string(x);
    CHECK(text != NULL);
    free(text);
    finish(hk_reshape(x, hk_shape(0)));
    finish(hk_copy(hk_transpose(x)));
    finish(hk_slice(x, 0, 0, 0));
}

static void gradients(int kind)
{
    HK_SCOPE;
    hk_array *x = empty(kind);
    hk_attach_grad(x, HK_GRAD_WRITE);
    {
        HK_RECORD;
        hk_backward(hk_sum(hk_square(x), NULL));
    }
    finish(hk_grad(x));
}

/* Every operator of the table by its name: all inputs of one shape, each integer among the options 0, 1 or 2. */
static void by_name(int index)
{
    HK_SCOPE;
    const hk_operator *op = hk_operator_at(index);
    const hk_operator_facts facts = hk_operator_get_facts(op);
    const hk_dtype dtypes[] = {HK_F32, HK_I64, HK_BOOL};
    const hk_dims shapes[] = {hk_shape(HUGE_AXIS, 0, 3),
                              hk_shape(HUGE_AXIS, 3, 0),
                              hk_shape(0, HUGE_AXIS, 3),
                              hk_shape(3, 0, HUGE_AXIS),
                              hk_shape(HUGE_AXIS, 0),
                              hk_shape(0, HUGE_AXIS),
                              hk_shape(0)};
    bool is_ok = !facts.is_elementwise || facts.input_count == 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int d = 0; d < 3; d++)
            for (int64_t number = 0; number < 3; number++) {
                HK_SCOPE;
                hk_array *inputs[8];
                for (int i = 0; i < facts.input_count; i++)
                    inputs[i] = hk_zeros(shapes[s], dtypes[d], (hk_device){0});
                _Alignas(16) char options[512] = {0};
                for (int i = 0; i < facts.param_count; i++) {
                    const hk_operator_param param = hk_operator_get_param(op, i);
                    if (param.type == HK_PARAM_INT)
                        memcpy(options + param.offset, &number, sizeof number);
                }
                if (facts.input_count > 0)
                    is_ok |= finish(hk_operator_call(op, inputs, facts.input_count,
                                                     facts.options_bytes ? options : NULL,
                                                     (hk_device){0}));
            }
    if (!is_ok)
        _exit(1); /* nothing has run: this test shows nothing */
}

static bool ends(void (*calls)(int kind), int kind)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        calls(kind);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
    static const struct {
        const char *name;
        void (*calls)(int kind);
    } groups[] = {{"elementwise", elementwise},
                  {"reductions", reductions},
                  {"products", products},
                  {"views and text", views_and_text},
                  {"gradients", gradients}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            const bool ended = ends(groups[i].calls, kind);
            if (!ended)
                fprintf(stderr, "%s of shape %d did not end\n", groups[i].name, kind);
            CHECK(ended);
        }
    for (int i = 0; i < hk_operator_count(); i++) {
        const bool ended = ends(by_name, i);
        if (!ended)
            fprintf(stderr, "%s did not end\n", hk_operator_get_facts(hk_operator_at(i)).name);
        CHECK(ended);
    }
    return check_result();
}
