/* A child of a fork: whatever is called with handles of the parent fails with a record that says so, and starts no runtime.
 * Each call has a child of its own, made while the parent has calls under way. */
#include "await_workers.h"
#include "check.h"

#include <hocket/hocket.h>

#include <stdlib.h>
#include <sys/wait.h>

enum { N = 4 };

/* What the parent has made. */
static struct {
    hk_device device;
    hk_array *x, *y;     /* of one axis */
    hk_array *matrix;    /* N x N */
    hk_array *image;     /* 1 x 1 x N x N */
    hk_array *parameter; /* with a gradient */
    hk_array *loss;      /* recorded, not differentiated yet */
    hk_array *failed;
    hk_array *busy; /* what writes it may still be under way */
    hk_graph *graph;
} old;

/* ---- calls: each returns the record that it gives ------------------------------------------------------------ */

static const hk_status *wait_one(void)
{
    return hk_wait(old.x);
}
static const hk_status *wait_busy(void)
{
    return hk_wait(old.busy);
}
static const hk_status *wait_failed(void)
{
    return hk_wait(old.failed);
}
static const hk_status *wait_device(void)
{
    return hk_wait_device(old.device);
}
static const hk_status *to_host(void)
{
    float values[N];
    return hk_to_host(old.x, values, sizeof values);
}
static const hk_status *item(void)
{
    const hk_status *status;
    hk_item(old.loss, &status);
    return status;
}
static const hk_status *to_string(void)
{
    char *text = hk_to_string(old.x);
    CHECK(text && strstr(text, hk_code_name(HK_FORKED)));
    free(text);
    return hk_wait(old.x);
}
static const hk_status *slice(void)
{
    return hk_wait(hk_slice(old.x, 0, 0, 2));
}
static const hk_status *bad_slice(void)
{
    return hk_wait(hk_slice(old.x, 3, 0, 2));
}
static const hk_status *reshape(void)
{
    return hk_wait(hk_reshape(old.matrix, hk_shape(-1)));
}
static const hk_status *detach(void)
{
    return hk_wait(hk_detach(old.x));
}
static const hk_status *contiguous(void)
{
    return hk_wait(hk_contiguous(hk_transpose(old.matrix)));
}
static const hk_status *from_host(void)
{
    return hk_wait(hk_from_host((float[]){1}, hk_shape(1), HK_F32, old.device));
}
static const hk_status *ones(void)
{
    return hk_wait(hk_ones(hk_shape(N), HK_F32, old.device));
}
static const hk_status *random_uniform(void)
{
    return hk_wait(hk_random_uniform(hk_shape(N), HK_F32, old.device));
}
static const hk_status *add(void)
{
    return hk_wait(hk_add(old.x, old.y));
}
static const hk_status *add_busy(void)
{
    return hk_wait(hk_add(old.busy, old.busy));
}
static const hk_status *add_misfits(void)
{
    return hk_wait(hk_add(old.x, old.image));
}
static const hk_status *add_null(void)
{
    return hk_wait(hk_add(old.x, NULL));
}
static const hk_status *null_add(void)
{
    return hk_wait(hk_add(NULL, old.x));
}
static const hk_status *add_derived(void)
{
    return hk_wait(hk_add(hk_exp(old.x), hk_exp(old.y)));
}
static const hk_status *add_into(void)
{
    hk_add_into(old.x, old.x, old.y);
    return hk_wait(old.x);
}
static const hk_status *add_into_null(void)
{
    hk_add_into(NULL, old.x, old.y);
    return hk_wait(old.x);
}
static const hk_status *matmul(void)
{
    return hk_wait(hk_matmul(old.matrix, old.matrix));
}
static const hk_status *conv2d(void)
{
    return hk_wait(hk_conv2d(old.image, old.image, NULL, NULL));
}
static const hk_status *batch_norm_train(void)
{
    hk_array *channel = hk_slice(old.x, 0, 0, 1);
    return hk_wait(hk_batch_norm_train(old.image, channel, channel, channel, channel, NULL));
}
static const hk_status *sum(void)
{
    return hk_wait(hk_sum(old.x, NULL));
}
static const hk_status *cast(void)
{
    return hk_wait(hk_cast(old.x, HK_F64));
}
static const hk_status *to_default_device(void)
{
    return hk_wait(hk_to_device(old.x, (hk_device){0}));
}
static const hk_status *to_old_device(void)
{
    return hk_wait(hk_to_device(old.x, old.device));
}
static const hk_status *by_name(void)
{
    hk_array *inputs[] = {old.x, old.y};
    return hk_wait(hk_call("add", inputs, 2, NULL, (hk_device){0}));
}
static const hk_status *by_wrong_name(void)
{
    hk_array *inputs[] = {old.x, old.y};
    return hk_wait(hk_call("nothing", inputs, 2, NULL, (hk_device){0}));
}
static const hk_status *into_by_name(void)
{
    hk_array *inputs[] = {old.x, old.y};
    hk_call_into("add", old.y, inputs, 2, NULL);
    return hk_wait(old.y);
}
static const hk_status *assign(void)
{
    hk_assign(old.x, old.y);
    return hk_wait(old.x);
}
static const hk_status *write_values(void)
{
    const float values[N] = {0};
    hk_write(old.x, values, sizeof values);
    return hk_wait(old.x);
}
static const hk_status *write_few(void)
{
    hk_write(old.x, NULL, 1);
    return hk_wait(old.x);
}
static const hk_status *recover(void)
{
    hk_recover(old.x);
    return hk_wait(old.x);
}
static const hk_status *attach_grad(void)
{
    hk_attach_grad(old.x, HK_GRAD_WRITE);
    return hk_wait(hk_grad(old.x));
}
static const hk_status *attach_again(void)
{
    hk_attach_grad(old.parameter, HK_GRAD_ADD);
    return hk_wait(hk_grad(old.parameter));
}
static const hk_status *no_grad(void)
{
    return hk_wait(hk_grad(old.x));
}
static const hk_status *backward(void)
{
    return hk_backward(old.loss);
}
static const hk_status *backward_unrecorded(void)
{
    return hk_backward(old.x);
}
static const hk_status *backward_from(void)
{
    return hk_backward_from(old.loss, old.loss);
}
static const hk_status *backward_all(void)
{
    hk_array *heads[] = {old.loss, old.x};
    return hk_backward_all(heads, 2);
}
static const hk_status *recorded(void)
{
    HK_RECORD;
    return hk_wait(hk_multiply(old.parameter, old.parameter));
}
static const hk_status *backward_grads(void)
{
    hk_backward(old.loss);
    return hk_wait(hk_grad(old.parameter));
}
static const hk_status *sgd(void)
{
    hk_sgd(&old.parameter, 1, &(hk_sgd_options){.lr = 0.1, .batch = 1});
    return hk_wait(old.parameter);
}
static const hk_status *sgd_without_grad(void)
{
    hk_sgd(&old.x, 1, &(hk_sgd_options){.lr = 0.1, .batch = 1});
    return hk_wait(old.x);
}
static const hk_status *sgd_without_options(void)
{
    hk_sgd(&old.parameter, 1, NULL);
    return hk_wait(old.parameter);
}
static const hk_status *all_reduce(void)
{
    hk_array *arrays[] = {old.x, old.y};
    hk_all_reduce(arrays, 2);
    return hk_wait(old.x);
}
static const hk_status *all_reduce_misfits(void)
{
    hk_array *arrays[] = {NULL, old.y};
    hk_all_reduce(arrays, 2);
    return hk_wait(old.y);
}
static const hk_status *split_and_load(void)
{
    hk_array *parts[2];
    hk_split_and_load(old.x, (hk_device[2]){old.device}, 2, NULL, parts);
    CHECK(hk_status_code(hk_wait(parts[0])) == HK_FORKED);
    return hk_wait(parts[1]);
}
static const hk_status *split_wrongly(void)
{
    hk_array *parts[2];
    hk_split_and_load(old.x, (hk_device[2]){{0}}, 2, (int64_t[]){1, 9}, parts);
    CHECK(hk_status_code(hk_wait(parts[0])) == HK_FORKED);
    return hk_wait(parts[1]);
}
static const hk_status *replay(void)
{
    hk_replay(old.graph, &old.x, 1);
    return hk_wait(old.x);
}
static const hk_status *replay_misfits(void)
{
    hk_array *bound[] = {old.y, old.x};
    hk_replay(old.graph, bound, 2);
    return hk_wait(old.x);
}
static const hk_status *replay_unbound(void)
{
    hk_replay(old.graph, NULL, 0);
    return hk_wait(old.x);
}
static const hk_status *capture(void)
{
    hk_capture_begin(&old.x, 1);
    hk_add_into(old.x, old.x, old.y);
    hk_graph *graph = hk_capture_end(NULL);
    const hk_status *status = hk_graph_status(graph);
    CHECK(hk_status_code(status) == HK_FORKED);
    hk_graph_release(graph);
    return hk_wait(old.x);
}
static const hk_status *loader(void)
{
    hk_loader *loader = hk_loader_create(
        NULL, &(hk_loader_options){.batch_size = 1, .devices = &old.device, .device_count = 1});
    hk_array *images, *labels;
    CHECK(hk_loader_next(loader, &images, &labels));
    const hk_status *status = hk_wait(images);
    hk_loader_release(loader);
    return status;
}

/* What is no call with an old array, but must do no harm either: gives the record of one. */
static const hk_status *asks_facts(void)
{
    CHECK(hk_ndim(old.x) == 1 && hk_dim(old.x, 0) == N && hk_size(old.x) == N);
    CHECK(hk_array_device(old.x).handle == old.device.handle);
    CHECK(strlen(hk_device_name(old.device)) == strlen("cpu:0"));
    CHECK(hk_device_get_memory(old.device).used_bytes == 0);
    CHECK(hk_device_get_stats(old.device, HK_QUEUE_COMPUTE).calls == 0);
    CHECK(hk_status_code(hk_device_status(old.device)) == HK_FORKED);
    free(hk_graph_to_string(old.graph));
    return hk_wait(old.x);
}
static const hk_status *waits_for_all(void)
{
    CHECK(hk_ok(hk_wait_all()));
    hk_failures_clear();
    return hk_wait(old.x);
}
static const hk_status *stops_recording(void)
{
    hk_trace *trace = hk_trace_stop();
    CHECK(!hk_ok(hk_trace_status(trace)));
    hk_trace_release(trace);
    return hk_wait(old.x);
}
static const hk_status *ends_runtime(void)
{
    hk_runtime_deinit();
    return hk_wait(old.x);
}
static const hk_status *releases(void)
{
    hk_array *view = hk_take(hk_slice(old.x, 0, 0, 1));
    const hk_status *status = hk_wait(view);
    CHECK(hk_status_code(status) == HK_FORKED);
    hk_array_release(view);
    hk_array_release(old.y);
    hk_array_release(old.busy);
    hk_array_release(old.parameter);
    hk_array_release(old.loss);
    hk_graph_release(old.graph);
    return hk_wait(old.x);
}

#define CALL(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
static const struct {
    const char *name;
    const hk_status *(*function)(void);
} calls[] = {
    CALL(wait_one),
    CALL(wait_busy),
    CALL(wait_failed),
    CALL(wait_device),
    CALL(to_host),
    CALL(item),
    CALL(to_string),
    CALL(slice),
    CALL(bad_slice),
    CALL(reshape),
    CALL(detach),
    CALL(contiguous),
    CALL(from_host),
    CALL(ones),
    CALL(random_uniform),
    CALL(add),
    CALL(add_busy),
    CALL(add_misfits),
    CALL(add_null),
    CALL(null_add),
    CALL(add_derived),
    CALL(add_into),
    CALL(add_into_null),
    CALL(matmul),
    CALL(conv2d),
    CALL(batch_norm_train),
    CALL(sum),
    CALL(cast),
    CALL(to_default_device),
    CALL(to_old_device),
    CALL(by_name),
    CALL(by_wrong_name),
    CALL(into_by_name),
    CALL(assign),
    CALL(write_values),
    CALL(write_few),
    CALL(recover),
    CALL(attach_grad),
    CALL(attach_again),
    CALL(no_grad),
    CALL(backward),
    CALL(backward_unrecorded),
    CALL(backward_from),
    CALL(backward_all),
    CALL(recorded),
    CALL(backward_grads),
    CALL(sgd),
    CALL(sgd_without_grad),
    CALL(sgd_without_options),
    CALL(all_reduce),
    CALL(all_reduce_misfits),
    CALL(split_and_load),
    CALL(split_wrongly),
    CALL(replay),
    CALL(replay_misfits),
    CALL(replay_unbound),
    CALL(capture),
    CALL(loader),
    CALL(asks_facts),
    CALL(waits_for_all),
    CALL(stops_recording),
    CALL(ends_runtime),
    CALL(releases),
};

/* ---- children ------------------------------------------------------------------------------------------------- */

static void in_child(int index)
{
    hk_scope scope = hk_scope_begin();
    const hk_status *status = calls[index].function();
    CHECK_EQ_I64(hk_status_code(status), HK_FORKED);
    CHECK(strstr(hk_status_message(status), "before a fork"));
    /* A runtime of the child's own, without threads, which a sanitizer does not survive there. */
    status = hk_runtime_init(&(hk_runtime_options){.engine = HK_ENGINE_SERIAL});
    CHECK(hk_ok(status));
    hk_status_print(status, stderr);
    CHECK(hk_item(hk_sum(hk_ones(hk_shape(N), HK_F32, (hk_device){0}), NULL), NULL) == N);
    /* A runtime that lives changes nothing. */
    if (calls[index].function != releases)
        CHECK(hk_status_code(calls[index].function()) == HK_FORKED);
    hk_scope_end(&scope);
    hk_runtime_deinit();
}

/* The address sanitizer of LLVM before 18 does not hold its allocator's locks over a fork: a child of a process that
 * allocates elsewhere at that moment hangs in its first allocation. There the calls under way are waited for. */
static void quieten(void)
{
    if (!HKI_ADDRESS_SANITIZER)
        return;
    hk_wait_all();
    await_workers();
    usleep(1000); /* a launcher frees what it has run */
}

static void test_all(hk_engine engine, const char *device)
{
    static const hk_sim_options fast = {
        .count = 1, .flops = 1e15, .memory_bandwidth = 1e15, .link_bandwidth = 1e15};
    CHECK(hk_ok(
        hk_runtime_init(&(hk_runtime_options){.engine = engine, .sim = &fast, .sim_count = 1})));
    hk_scope scope = hk_scope_begin();
    old.device = hk_device_named(device);
    await_workers();
    old.x = hk_take(hk_ones(hk_shape(N), HK_F32, old.device));
    old.y = hk_take(hk_ones(hk_shape(N), HK_F32, old.device));
    old.matrix = hk_ones(hk_shape(N, N), HK_F32, old.device);
    old.image = hk_ones(hk_shape(1, 1, N, N), HK_F32, old.device);
    old.failed = hk_index(old.x, 3, 0);
    old.parameter = hk_take(hk_ones(hk_shape(N), HK_F32, old.device));
    hk_attach_grad(old.parameter, HK_GRAD_WRITE);
    {
        HK_RECORD;
        old.loss = hk_take(hk_sum(hk_square(old.parameter), NULL));
    }
    hk_capture_begin(&old.x, 1);
    hk_add_into(old.x, old.x, old.y);
    old.graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(old.graph)));
    hk_array *large = hk_ones(hk_shape(300, 300), HK_F32, old.device);
    old.busy = NULL;
    for (int i = 0; i < (int)(sizeof calls / sizeof *calls); i++) {
        hk_array_release(old.busy);
        old.busy = hk_take(hk_sum(hk_matmul(large, large), NULL));
        quieten();
        fflush(NULL);
        pid_t child = fork();
        if (!child) {
            check_failed_count = 0;
            alarm(60); /* a hang is a failure */
            in_child(i);
            _exit(check_failed_count != 0);
        }
        int status = -1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_EQ_I64(status, 0);
        if (status)
            fprintf(stderr, "in the child that called %s\n", calls[i].name);
    }
    CHECK(hk_ok(hk_wait(old.busy)));
    hk_scope_end(&scope);
    hk_graph_release(old.graph);
    hk_array *rest[] = {old.x, old.y, old.parameter, old.loss, old.busy};
    for (int i = 0; i < (int)(sizeof rest / sizeof *rest); i++)
        hk_array_release(rest[i]);
    hk_runtime_deinit();
}

int main(void)
{
    test_all(HK_ENGINE_ASYNC, "cpu:0");
    test_all(HK_ENGINE_ASYNC, "sim:0");
    test_all(HK_ENGINE_SERIAL, "cpu:0");
    return check_result();
}
