/* What a backward pass holds and for how long, and what it does when something failed. */
#include "check.h"

#include "op/op.h"
#include "tests/await_workers.h"

#include <hocket/hocket.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static double first_of(hk_array *x)
{
    HK_SCOPE;
    return hk_item(hk_ndim(x) ? hk_index(x, 0, 0) : x, NULL);
}

static uint64_t used_bytes(void)
{
    hk_wait_all();
    return hk_device_get_memory(hk_device_default()).used_bytes;
}

/* ---- long chains ----------------------------------------------------------------------------------- */

static hk_array *deep(hk_array *x, int depth)
{
    HK_SCOPE;
    hk_array *y = hk_array_retain(x);
    for (int i = 0; i < depth; i++) {
        HK_SCOPE;
        hk_array *next = hk_take(i % 2 ? hk_multiply(y, 1) : hk_multiply(y, x));
        hk_array_release(y);
        y = next;
    }
    return y; /* the caller's */
}

static void test_deep_chain(void)
{
    enum { DEPTH = 100000 };
    HK_SCOPE;
    hk_array *x = vector((double[]){1}, 1);
    hk_attach_grad(x, HK_GRAD_WRITE);
    uint64_t before = used_bytes();
    hk_record_begin();
    hk_array *y = deep(x, DEPTH);
    hk_array *dropped = deep(x, DEPTH);
    hk_record_end();
    CHECK(used_bytes() > before);
    hk_array_release(dropped); /* never differentiated */
    CHECK(hk_ok(hk_backward(y)));
    CHECK(first_of(hk_grad(x)) == 1 + DEPTH / 2);
    hk_array_release(y);
    CHECK_EQ_I64(used_bytes(), before);
}

/* ---- memory ---------------------------------------------------------------------------------------- */

/* Activations go while the pass goes on: the peak of a pass stays far below all that was kept. */
static void test_early_freeing(void)
{
    enum { LAYERS = 40, SIZE = 1 << 17 }; /* 1 MiB each */
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(SIZE), 1, HK_F64, hk_device_default());
    hk_attach_grad(x, HK_GRAD_WRITE);
    uint64_t before = used_bytes();
    hk_array *y = hk_array_retain(x);
    hk_record_begin();
    for (int i = 0; i < LAYERS; i++) {
        HK_SCOPE;
        hk_array *next = hk_take(hk_tanh(y));
        hk_array_release(y);
        y = next;
    }
    hk_record_end();
    uint64_t kept = used_bytes() - before;
    CHECK(kept >= (uint64_t)LAYERS * SIZE * 8);
    hk_backward(y);
    hk_device_memory memory = hk_device_get_memory(hk_device_default());
    hk_wait_all();
    memory = hk_device_get_memory(hk_device_default());
    CHECK(memory.used_bytes <= before + SIZE * 8 * 2); /* y is still ours */
    hk_array_release(y);
    CHECK_EQ_I64(used_bytes(), before);
}

/* Only what gradients read is kept: x + x needs nothing. */
static void test_kept(void)
{
    enum { SIZE = 1 << 17 };
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(SIZE), 1, HK_F64, hk_device_default());
    hk_attach_grad(x, HK_GRAD_WRITE);
    uint64_t before = used_bytes();
    hk_record_begin();
    hk_array *y = hk_array_retain(x);
    for (int i = 0; i < 10; i++) {
        HK_SCOPE;
        hk_array *next = hk_take(hk_add(y, y));
        hk_array_release(y);
        y = next;
    }
    hk_record_end();
    CHECK(used_bytes() <= before + 2 * SIZE * 8);
    CHECK(hk_ok(hk_backward(y)));
    CHECK(first_of(hk_grad(x)) == 1024);
    hk_array_release(y);
}

/* The gradient of a matrix is made in its place, by calls and in a capture, and with the bytes that adding it to zeros gives. */
static void test_in_place(bool captures)
{
    enum { SIZE = 1024, BYTES = SIZE * SIZE * 4 };
    static float in_place[SIZE * SIZE], added[SIZE * SIZE];
    hk_runtime_deinit(); /* the peak begins anew */
    HK_SCOPE;
    hk_array *x = hk_random_uniform(hk_shape(16, SIZE), HK_F32, hk_device_default());
    hk_array *weight = hk_random_uniform(hk_shape(SIZE, SIZE), HK_F32, hk_device_default());
    hk_attach_grad(weight, HK_GRAD_WRITE);
    hk_wait_all();
    const uint64_t before = used_bytes();
    if (captures)
        hk_capture_begin(&x, 1);
    for (int i = 0; i < (captures ? 1 : 2); i++) {
        HK_SCOPE;
        hk_record_begin();
        hk_array *y = hk_sum(hk_linear(x, weight, NULL), NULL);
        hk_record_end();
        CHECK(hk_ok(hk_backward(y)));
        CHECK(hk_ok(hk_wait(hk_grad(weight))));
    }
    CHECK(hk_device_get_memory(hk_device_default()).peak_bytes < before + BYTES / 2);
    if (captures) {
        hk_graph *graph = hk_capture_end(NULL);
        hk_replay(graph, &x, 1);
        CHECK(hk_ok(hk_graph_status(graph)));
        hk_graph_release(graph);
    }
    CHECK(hk_ok(hk_to_host(hk_grad(weight), in_place, sizeof in_place)));

    hk_attach_grad(weight, HK_GRAD_ADD);
    hk_record_begin();
    hk_array *y = hk_sum(hk_linear(x, weight, NULL), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(hk_ok(hk_to_host(hk_grad(weight), added, sizeof added)));
    CHECK(!memcmp(in_place, added, sizeof added));
}

/* It is not where something of the gradient is read, or comes from elsewhere, too. */
static void test_not_in_place(void)
{
    HK_SCOPE;
    hk_array *w = hk_full(hk_shape(2, 2), 3, HK_F32, hk_device_default());
    hk_attach_grad(w, HK_GRAD_WRITE);
    hk_array *grad = hk_grad(w);
    hk_assign(grad, hk_full(hk_shape(2, 2), 5, HK_F32, hk_device_default()));
    hk_record_begin();
    hk_array *y = hk_sum(hk_matmul(grad, w), NULL); /* reads what it is to write */
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(first_of(hk_index(grad, 0, 0)) == 10);
    hk_record_begin();
    y = hk_sum(hk_add(hk_matmul(w, w), w), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(first_of(hk_index(grad, 0, 0)) == 13);
}

/* ---- failures -------------------------------------------------------------------------------------- */

static void test_second_pass(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *shared = hk_multiply(x, x);
    hk_array *y = hk_exp(shared), *z = hk_multiply(shared, x);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(hk_ok(hk_wait(hk_grad(x))));
    CHECK(strstr(hk_status_message(hk_backward(y)), "before"));
    CHECK_EQ_I64(hk_status_code(hk_wait(hk_grad(x))), HK_INVALID_ARGUMENT); /* not left as it was */
    const hk_status *status = hk_backward(z); /* shares a part that is gone */
    CHECK_EQ_I64(hk_status_code(status), HK_INVALID_ARGUMENT);
    CHECK(strstr(hk_status_message(status), "multiply was differentiated before"));
    CHECK_EQ_I64(hk_status_code(hk_wait(hk_grad(x))), HK_INVALID_ARGUMENT);
    CHECK(strstr(hk_status_message(hk_wait(hk_grad(x))), "before"));
    hk_record_begin();
    hk_array *again = hk_multiply(x, x);
    hk_record_end();
    hk_backward(again); /* whole overwrite heals */
    CHECK(first_of(hk_grad(x)) == 2);
    clear_failures();
}

/* A view keeps nothing, so that one made once serves many passes. */
static void test_view_serves_again(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2, 3}, 3);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *part = hk_slice(x, 0, 1, 3);
    hk_record_end();
    for (int i = 0; i < 3; i++) {
        hk_record_begin();
        hk_array *y = hk_multiply(part, part);
        hk_record_end();
        CHECK(hk_ok(hk_backward(y)));
        double values[3];
        hk_to_host(hk_grad(x), values, sizeof values);
        CHECK(values[0] == 0 && values[1] == 4 && values[2] == 6);
    }
}

static bool infer_same(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void kernel_copy(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    memcpy((double *)call->out[0].data + begin, (const double *)call->in[0].data + begin,
           (size_t)(end - begin) * sizeof(double));
}

static void kernel_fail(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    hki_task_fail(call->task, piece, HK_INJECTED, "by this test");
}

static const hk_op no_gradient = {.name = "no_gradient",
                                  .signature = "x",
                                  .infer = infer_same,
                                  .contiguous = true,
                                  .kernel = {[HKI_CPU] = kernel_copy}};
static void pass_on(hki_grad_call *call)
{
    call->dx[0] = call->dy;
}
static void give_nothing(hki_grad_call *call)
{
    call->dx[0] = NULL;
}
static void give_wrong(hki_grad_call *call)
{
    const hk_dims scalar = {0};
    call->dx[0] = hki_array_view(call->dy, scalar, NULL, call->dy->offset);
}
static const hk_op fails = {.name = "fails",
                            .signature = "x",
                            .infer = infer_same,
                            .kernel = {[HKI_CPU] = kernel_fail},
                            .grad = pass_on};
static const hk_op constant = {.name = "constant",
                               .signature = "x",
                               .infer = infer_same,
                               .contiguous = true,
                               .kernel = {[HKI_CPU] = kernel_copy},
                               .grad = give_nothing};
static const hk_op wrong = {.name = "wrong",
                            .signature = "x",
                            .infer = infer_same,
                            .contiguous = true,
                            .kernel = {[HKI_CPU] = kernel_copy},
                            .grad = give_wrong};

static void test_no_gradient(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2), *other = vector((double[]){5, 6}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_attach_grad(other, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_multiply(hk_exp(hki_op_call1(&no_gradient, x, NULL)), other);
    hk_record_end();
    const hk_status *status = hk_backward(y);
    CHECK_EQ_I64(hk_status_code(status), HK_UNSUPPORTED);
    CHECK_STR(hk_status_operation(status), "no_gradient");
    CHECK_STR(hk_status_operation(hk_wait(hk_grad(x))), "no_gradient");
    CHECK_EQ_I64(hk_status_code(hk_wait(hk_grad(x))), HK_UNSUPPORTED);
    CHECK(hk_ok(hk_wait(hk_grad(other)))); /* not behind it */
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    clear_failures();
}

/* The loss failed while it was computed: so do gradients, even of operators that are linear. */
static void test_failed_loss(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hki_op_call1(&fails, x, NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y))); /* nothing to be seen yet */
    CHECK_EQ_I64(hk_status_code(hk_wait(hk_grad(x))), HK_INJECTED);
    CHECK_STR(hk_status_operation(hk_wait(hk_grad(x))), "fails");
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    clear_failures();
}

/* A call that could not be made, in the middle of a network: gradients behind it carry its record. */
static void test_refused_call(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2), *odd = vector((double[]){1, 2, 3}, 3);
    hk_array *w = vector((double[]){7, 8}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_attach_grad(w, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *hidden = hk_exp(hk_multiply(x, w));
    hk_array *refused = hk_add(hidden, odd);
    int line = __LINE__ - 1;
    hk_array *loss = hk_sum(hk_multiply(refused, w), NULL);
    hk_record_end();
    hk_backward(loss);
    hk_array *grads[] = {hk_grad(x), hk_grad(w)};
    for (int i = 0; i < 2; i++) {
        const hk_status *status = hk_wait(grads[i]);
        CHECK_STR(hk_status_operation(status), "add");
        CHECK_EQ_I64(hk_status_line(status), line);
        CHECK_EQ_I64(hk_ndim(grads[i]), 1);
    }
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    clear_failures();
}

/* No contribution at all: the gradient is zero, not what it was. */
/* A view of what failed at its call, and a refused view, fail the gradients behind them. */
static void test_failed_views(void)
{
    for (int refused = 0; refused < 2; refused++) {
        HK_SCOPE;
        hk_array *x = hk_ones(hk_shape(2, 3), HK_F32, hk_device_default());
        hk_array *odd = hk_ones(hk_shape(5), HK_F32, hk_device_default());
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *loss = hk_sum(
            refused ? hk_slice(hk_square(x), 7, 0, 1) : hk_slice(hk_add(x, odd), 0, 0, 1), NULL);
        hk_record_end();
        hk_backward(loss);
        CHECK(!hk_ok(hk_wait(hk_grad(x))));
        CHECK_STR(hk_status_operation(hk_wait(hk_grad(x))), refused ? "slice" : "add");
        hk_wait_all();
        hk_failures_clear();
    }
}

static void test_constant(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_backward(x);
    CHECK(first_of(hk_grad(x)) == 1);
    hk_record_begin();
    hk_array *y = hk_exp(hki_op_call1(&constant, hk_multiply(x, x), NULL));
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(first_of(hk_grad(x)) == 0);
}

static void test_wrong_gradient(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hki_op_call1(&wrong, hk_exp(x), NULL);
    hk_record_end();
    hk_backward(y);
    CHECK_EQ_I64(hk_status_code(hk_wait(hk_grad(x))), HK_INVALID_ARGUMENT);
    clear_failures();
}

/* Writing into what is recorded is refused while recording, and allowed in a pause. */
static void test_overwrite(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2), *y = vector((double[]){3, 4}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_assign(x, y);
    CHECK(first_of(x) == 3);
    hk_record_begin();
    {
        HK_PAUSE;
        hk_assign(x, vector((double[]){5, 6}, 2));
    }
    CHECK(first_of(x) == 5);
    hk_assign(x, y);
    hk_record_end();
    CHECK_EQ_I64(hk_status_code(hk_wait(x)), HK_INVALID_ARGUMENT);
    hk_recover(x);
    CHECK(first_of(x) == 5);
    clear_failures();
}

static void test_sgd(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2), *plain = vector((double[]){1, 2}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_backward(x);
    hk_sgd(&x, 1, &(hk_sgd_options){.lr = 0.5, .batch = 4});
    CHECK(first_of(x) == 0.875);
    hk_sgd(&x, 1, &(hk_sgd_options){.lr = 0.5, .weight_decay = 1});
    CHECK(first_of(x) == 0.875 - 0.5 * (1 + 0.875));
    hk_sgd((hk_array *[]){plain, x}, 2, &(hk_sgd_options){.lr = 0});
    CHECK_EQ_I64(hk_status_code(hk_wait(plain)), HK_INVALID_ARGUMENT);
    CHECK(hk_ok(hk_wait(x)));
    hk_recover(plain);
    CHECK(first_of(plain) == 1);
    hk_sgd(&x, 1, &(hk_sgd_options){.lr = -1});
    CHECK_EQ_I64(hk_status_code(hk_wait(x)), HK_INVALID_ARGUMENT);
    clear_failures();

    /* One bad batch need not cost the parameters. */
    hk_array *w = vector((double[]){1, 2}, 2);
    hk_attach_grad(w, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hki_op_call1(&fails, w, NULL);
    hk_record_end();
    hk_backward(loss);
    hk_sgd(&w, 1, &(hk_sgd_options){.lr = 1});
    CHECK_EQ_I64(hk_status_code(hk_wait(w)), HK_INJECTED);
    hk_recover(w);
    CHECK(first_of(w) == 1);
    clear_failures();
}

/* Old handles after a fork, or after the runtime has ended: records that say so, and a new start. */
static void use_old_handles(hk_array *x, hk_array *y, hk_code code)
{
    HK_SCOPE;
    hk_array *w = vector((double[]){1, 2}, 2);
    hk_attach_grad(w, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *z = hk_multiply(hk_add(y, w), w);
    hk_record_end();
    CHECK_EQ_I64(hk_status_code(hk_wait(z)), code);
    hk_backward(z);
    hk_backward(y);
    CHECK_EQ_I64(hk_status_code(hk_wait(hk_grad(x))), code);
    CHECK_EQ_I64(hk_status_code(hk_wait(hk_grad(w))), code);
    hk_sgd(&x, 1, &(hk_sgd_options){.lr = 1});
    hk_all_reduce((hk_array *[]){x, hk_grad(x)}, 2);
    hk_attach_grad(x, HK_GRAD_ADD);
    CHECK_EQ_I64(hk_status_code(hk_wait(x)), code);
    clear_failures();
    hk_record_begin();
    z = hk_multiply(w, w);
    hk_record_end();
    CHECK(hk_ok(hk_backward(z)));
    CHECK(first_of(hk_grad(w)) == 2);
}

static void test_old_handles(void)
{
    HK_SCOPE;
    await_workers();
    hk_array *x = vector((double[]){1, 2}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_multiply(hk_slice(x, 0, 0, 2), x);
    hk_record_end();
    hk_wait_all();
    pid_t child = fork();
    if (child == 0) {
        start_in_child();
        use_old_handles(x, y, HK_FORKED);
        fflush(stderr);
        _exit(check_failed_count != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    use_old_handles(x, y, HK_CANCELLED);
}

static bool count_backward(void *context, const hki_trace_thread_info *thread,
                           const hki_trace_head *record)
{
    int *issues = context; /* of the program's own, of backward passes */
    (void)thread;
    if (record->kind == HKI_TRACE_ISSUE)
        issues[((const hki_trace_issue_record *)record)->is_backward]++;
    return true;
}

/* A recording of what runs knows which calls a backward pass has issued. */
static void test_traced(void)
{
    HK_SCOPE;
    int issues[2] = {0};
    hk_array *x = vector((double[]){1, 2}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_wait_all();
    CHECK(!hki_runtime_trace_begin(hki_runtime_default(), 1 << 20));
    hk_record_begin();
    hk_array *y = hk_multiply(hk_exp(x), x);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    hk_negative(y);
    hk_wait_all();
    CHECK(hki_trace_each(hki_runtime_trace_end(hki_runtime_default()), count_backward, issues));
    CHECK_EQ_I64(issues[0], 3);
    CHECK(issues[1] > 3);
}

/* Why a head cannot be differentiated is what is so. */
static void test_heads(void)
{
    HK_SCOPE;
    hk_array *x = vector((double[]){1, 2}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *index = hk_argmax(x, 0), *refused = hk_argmax(vector((double[]){1}, 1), 3);
    hk_record_end();
    hk_array *before = hk_square(x);
    CHECK(strstr(hk_status_message(hk_backward(index)), "y is of dtype int64") != NULL);
    hk_wait(refused);
    CHECK_STR(hk_status_operation(hk_backward(refused)), "argmax");
    CHECK(strstr(hk_status_message(hk_backward(before)), "HK_RECORD") != NULL);
    clear_failures();
}

/* Parameters of a half cannot be updated, and the message says what can. */
static void test_half_parameter(void)
{
    HK_SCOPE;
    hk_array *x = hk_cast(vector((double[]){1, 2}, 2), HK_F16);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_sgd(&x, 1, &(hk_sgd_options){.lr = 1});
    const char *text = hk_status_message(hk_wait(x));
    CHECK(strstr(text, "float16") && strstr(text, "hk_cast") && !strstr(text, "int"));
    clear_failures();
}

int main(void)
{
    test_heads();
    test_half_parameter();
    test_early_freeing();
    test_kept();
    test_in_place(false);
    test_in_place(true);
    test_not_in_place();
    test_deep_chain();
    test_second_pass();
    test_view_serves_again();
    test_no_gradient();
    test_failed_loss();
    test_refused_call();
    test_failed_views();
    test_constant();
    test_wrong_gradient();
    test_overwrite();
    test_sgd();
    test_traced();
    test_old_handles();
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    return check_result();
}
