/* Sharded optimisers on the devices of one process: the bytes of unsharded ones, at the same traffic, with the memory that the header
 * says; failures and refusals. Over ranks: tests/world_splits.c. */
#include "check.h"
#include "same_bytes.h"

#include <hocket/hocket.h>

#include <math.h>
#include <stdlib.h>

enum { MOST = 4, COUNT = 5, STEPS = 3 };

static const int64_t sizes[COUNT] = {40, 0, 1, 1003, 4096};
static hk_device mixed[MOST], sims[MOST];

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

static bool fails(hk_array *x, const char *text)
{
    const hk_status *status = hk_wait(x);
    const bool as_said = !hk_ok(status) && strstr(hk_status_message(status), text);
    if (!as_said)
        fprintf(stderr, "%s\n", hk_status_message(status));
    return as_said;
}

static void fill(hk_array *x, int seed)
{
    const size_t count = (size_t)hk_size(x);
    float *values = malloc(count * sizeof *values + 1);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)sin((double)(i * 37 + (size_t)seed * 101 + 1)) * 0.7f;
    hk_write(x, values, count * sizeof *values);
    free(values);
}

/* params[i * n + d] */
static void make(const hk_device *devices, int n, hk_array **params)
{
    for (int i = 0; i < COUNT; i++)
        for (int d = 0; d < n; d++) {
            hk_array *x = params[i * n + d] = hk_zeros(hk_shape(sizes[i]), HK_F32, devices[d]);
            fill(x, i);
            hk_attach_grad(x, HK_GRAD_WRITE);
        }
}

static void fill_grads(hk_array *const *params, int n, int step)
{
    for (int i = 0; i < COUNT; i++)
        for (int d = 0; d < n; d++)
            fill(hk_grad(params[i * n + d]), 7 * i + 31 * d + 1000 * step);
}

static void step_plainly(hk_array *const *params, int n, hk_optimizer *const *optimizers)
{
    for (int i = 0; i < COUNT; i++) {
        hk_array *grads[MOST];
        for (int d = 0; d < n; d++)
            grads[d] = hk_grad(params[i * n + d]);
        hk_all_reduce(grads, n);
    }
    for (int d = 0; d < n; d++)
        hk_optimizer_step(optimizers[d]);
}

static void check_same(const char *method, const hk_device *devices, int n)
{
    HK_SCOPE;
    const hk_optimizer_options options = {.batch = 3, .weight_decay = 0.01};
    hk_array *plain[COUNT * MOST], *params[COUNT * MOST], *column[COUNT];
    hk_optimizer *optimizers[MOST];
    make(devices, n, plain);
    make(devices, n, params);
    for (int d = 0; d < n; d++) {
        for (int i = 0; i < COUNT; i++)
            column[i] = plain[i * n + d];
        optimizers[d] = hk_optimizer_create(method, column, COUNT, &options);
    }
    hk_optimizer *sharded = hk_optimizer_create_sharded(method, params, n, COUNT, NULL, &options);
    CHECK(hk_ok(hk_optimizer_status(sharded)));
    for (int step = 0; step < STEPS; step++) {
        if (step == 1)
            hk_optimizer_set_lr(sharded, 0.05);
        for (int d = 0; d < n && step == 1; d++)
            hk_optimizer_set_lr(optimizers[d], 0.05);
        fill_grads(plain, n, step);
        fill_grads(params, n, step);
        step_plainly(plain, n, optimizers);
        hk_optimizer_step(sharded);
        for (int i = 0; i < COUNT * n; i++)
            CHECK(same_bytes(plain[i], params[i]));
    }
    for (int d = 0; d < n; d++)
        hk_optimizer_release(optimizers[d]);
    hk_optimizer_release(sharded);
}

static void test_same_bytes(void)
{
    for (int n = 1; n <= MOST; n++)
        for (int m = 0; hk_optimizer_method_at(m); m++) {
            check_same(hk_optimizer_method_at(m), mixed, n);
            check_same(hk_optimizer_method_at(m), sims, n);
        }
}

/* Bytes that a device's arrays hold of the optimiser. */
static size_t state_bytes(const hk_optimizer *self, hk_device device)
{
    size_t bytes = 0;
    for (int i = 0; i < hk_optimizer_array_count(self); i++) {
        char name[64];
        hk_array *x = hk_optimizer_array(self, i, name, sizeof name);
        if (hk_array_device(x).handle == device.handle && !strncmp(name, "state.", 6))
            bytes += (size_t)hk_size(x) * sizeof(float);
    }
    return bytes;
}

static void test_memory(void)
{
    enum { SIZE = 1 << 20, SLOTS = 2, LINE = 16 };
    for (int n = 1; n <= MOST; n++) {
        HK_SCOPE;
        hk_array *params[2 * MOST];
        uint64_t before[MOST];
        for (int i = 0; i < 2 * n; i++) {
            params[i] = hk_zeros(hk_shape(SIZE), HK_F32, sims[i % n]);
            hk_attach_grad(params[i], HK_GRAD_WRITE);
        }
        hk_wait_all();
        for (int d = 0; d < n; d++)
            before[d] = hk_device_get_memory(sims[d]).used_bytes;
        hk_optimizer *sharded = hk_optimizer_create_sharded("adam", params, n, 2, NULL, NULL);
        hk_optimizer_step(sharded);
        hk_wait_all();
        for (int d = 0; d < n; d++) {
            const double formula = (double)SLOTS * 2 * SIZE * sizeof(float) / n;
            const double held = (double)(hk_device_get_memory(sims[d]).used_bytes - before[d]);
            CHECK(fabs((double)state_bytes(sharded, sims[d]) - formula) <=
                  SLOTS * MOST * LINE * sizeof(float));
            const bool is_class = (n & (n - 1)) == 0; /* of blocks; others are rounded up to one */
            CHECK(held >= 0.99 * formula && held <= (is_class ? 1.01 : 1.25) * formula);
        }
        hk_optimizer_release(sharded);
    }
}

static uint64_t copied(void)
{
    uint64_t bytes = 0;
    hk_wait_all();
    for (int d = 0; d < MOST; d++)
        bytes += hk_device_get_stats(sims[d], HK_QUEUE_COPY_OUT).bytes;
    return bytes;
}

/* All that two steps move is what sums to all devices move. */
static void test_traffic(void)
{
    enum { SIZE = 1 << 18 };
    for (int n = 2; n <= MOST; n++) {
        HK_SCOPE;
        hk_array *params[MOST], *grads[MOST];
        for (int d = 0; d < n; d++) {
            params[d] = hk_zeros(hk_shape(SIZE), HK_F32, sims[d]);
            hk_attach_grad(params[d], HK_GRAD_WRITE);
            grads[d] = hk_grad(params[d]);
        }
        hk_optimizer *sharded = hk_optimizer_create_sharded("adam", params, n, 1, NULL, NULL);
        const uint64_t first = copied();
        hk_all_reduce_by(grads, n, HK_ALL_REDUCE_PARTS);
        const uint64_t second = copied();
        hk_optimizer_step(sharded);
        CHECK_EQ_I64(copied() - second, second - first);
        CHECK_EQ_I64(second - first, 2 * (n - 1) * SIZE * (int64_t)sizeof(float));
        hk_optimizer_release(sharded);
    }
}

/* A failed gradient fails what is updated by it, and copies of that; old values can be accepted. */
static void test_failed_gradient(void)
{
    HK_SCOPE;
    hk_array *params[COUNT * 2], *good[COUNT * 2];
    make(mixed, 2, params);
    make(mixed, 2, good);
    hk_optimizer *sharded = hk_optimizer_create_sharded("adam", params, 2, COUNT, NULL, NULL);
    fill_grads(params, 2, 0);
    hk_assign(hk_grad(params[8]), hk_add(params[0], params[6])); /* which do not fit */
    hk_optimizer_step(sharded);
    CHECK(!hk_ok(hk_wait(params[8])) && !hk_ok(hk_wait(params[9])));
    CHECK(hk_ok(hk_wait(params[0])));
    for (int i = 0; i < hk_optimizer_array_count(sharded); i++)
        hk_recover(hk_optimizer_array(sharded, i, NULL, 0));
    hk_recover(params[8]);
    hk_recover(params[9]);
    CHECK(same_bytes(params[8], good[8]) && same_bytes(params[9], good[9]));
    fill_grads(params, 2, 1);
    hk_optimizer_step(sharded); /* and it goes on */
    CHECK(hk_ok(hk_wait(params[8])) && same_bytes(params[8], params[9]));
    hk_attach_grad(params[0], HK_GRAD_NULL);
    hk_optimizer_step(sharded);
    CHECK(fails(params[0], "no gradient") && fails(params[1], "no gradient"));
    clear_failures();
    hk_optimizer_release(sharded);
}

/* params become what `from` has, on any number of devices. */
static void take_params(hk_array *const *params, int n, hk_array *const *from, int from_n)
{
    for (int i = 0; i < COUNT; i++)
        for (int d = 0; d < n; d++)
            hk_assign(params[i * n + d], hk_to_device(from[i * from_n], mixed[d]));
}

/* Two more steps, by gradients whose sum over any number of devices that is a power of two is the same. */
static void go_on(hk_optimizer *optimizer, hk_array *const *params, int n)
{
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < COUNT * n; i++) {
            fill(hk_grad(params[i]), 7 * (i / n) + 1000 * step);
            hk_divide_into(hk_grad(params[i]), hk_grad(params[i]), n);
        }
        hk_optimizer_step(optimizer);
    }
}

/* A checkpoint has whole states: it is of any number of devices, and of an optimiser without parts, bit for bit. */
static void check_resumed(int n, int other_n)
{
    static const char path[] = "sharded.safetensors";
    HK_SCOPE;
    hk_array *params[COUNT * MOST], *others[COUNT * MOST];
    make(mixed, n, params);
    make(mixed, other_n, others);
    hk_optimizer *one = hk_optimizer_create_sharded("adam", params, n, COUNT, NULL, NULL);
    hk_optimizer *other =
        other_n > 1 ? hk_optimizer_create_sharded("adam", others, other_n, COUNT, NULL, NULL)
                    : hk_optimizer_create("adam", others, COUNT, NULL);
    fill_grads(params, n, 0);
    hk_optimizer_step(one);
    hk_optimizer_set_lr(one, 0.02);
    CHECK(!hk_status_print(hk_checkpoint_save(path, &(hk_checkpoint){.optimizer = one}), stderr));
    CHECK(!hk_status_print(hk_checkpoint_load(path, &(hk_checkpoint){.optimizer = other}), stderr));
    CHECK(hk_optimizer_get_lr(other) == 0.02);
    take_params(others, other_n, params, n);
    CHECK(!hk_status_print(hk_checkpoint_save(path, &(hk_checkpoint){.optimizer = other}), stderr));
    go_on(one, params, n);
    go_on(other, others, other_n);
    for (int i = 0; i < COUNT * other_n; i++)
        CHECK(same_bytes(params[i / other_n * n], others[i]));
    hk_optimizer_release(other);
    hk_optimizer_release(one);
    hk_optimizer *wrong = hk_optimizer_create_sharded("adam", params, n, COUNT - 1, NULL, NULL);
    CHECK(!hk_ok(hk_checkpoint_load(path, &(hk_checkpoint){.optimizer = wrong})));
    hk_optimizer_release(wrong);
    remove(path);
}

static void test_checkpoint(void)
{
    static const int counts[] = {1, 2, 4};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            check_resumed(counts[i], counts[j]);
}

/* Captured, a step has the bytes of steps by calls; the graph may live longer than the optimiser. */
static void check_captured(const hk_device *devices, int n)
{
    HK_SCOPE;
    hk_array *called[COUNT * MOST], *replayed[COUNT * MOST];
    make(devices, n, called);
    make(devices, n, replayed);
    hk_optimizer *by_calls = hk_optimizer_create_sharded("adam", called, n, COUNT, NULL, NULL);
    hk_optimizer *captured = hk_optimizer_create_sharded("adam", replayed, n, COUNT, NULL, NULL);
    hk_graph *graph = NULL;
    for (int step = 0; step < STEPS; step++) {
        fill_grads(called, n, step);
        fill_grads(replayed, n, step);
        hk_optimizer_step(by_calls);
        if (step == 0) {
            hk_capture_begin(NULL, 0);
            hk_optimizer_step(captured);
            graph = hk_capture_end(NULL);
            CHECK(!hk_status_print(hk_graph_status(graph), stderr));
        } else {
            hk_replay(graph, NULL, 0);
        }
        if (step == 1) {
            hk_optimizer_set_lr(by_calls, 0.1);
            hk_optimizer_set_lr(captured, 0.1);
            hk_optimizer_release(captured);
        }
        for (int i = 0; i < COUNT * n; i++)
            CHECK(same_bytes(called[i], replayed[i]));
    }
    hk_graph_release(graph);
    hk_optimizer_release(by_calls);
}

static void test_captured(void)
{
    for (int n = 1; n <= MOST; n++) {
        check_captured(mixed, n);
        check_captured(sims, n);
    }
}

static bool refuses(hk_array **params, int n, int count, const char *method, const char *text)
{
    hk_optimizer *self = hk_optimizer_create_sharded(method, params, n, count, NULL, NULL);
    const bool as_said = !hk_ok(hk_optimizer_status(self)) &&
                         strstr(hk_status_message(hk_optimizer_status(self)), text);
    if (!as_said)
        fprintf(stderr, "%s\n", hk_status_message(hk_optimizer_status(self)));
    hk_optimizer_release(self);
    return as_said;
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x[2], *others[2], *wide[2];
    for (int d = 0; d < 2; d++) {
        x[d] = hk_zeros(hk_shape(4), HK_F32, mixed[d]);
        others[d] = hk_zeros(hk_shape(4), HK_F32, mixed[0]);
        wide[d] = hk_zeros(hk_shape(4 + d), HK_F32, mixed[d]);
    }
    CHECK(refuses(x, 0, 1, "adam", "n is 0"));
    CHECK(refuses(x, 2, 0, "adam", "count 0"));
    CHECK(refuses(x, 65, 1, "adam", "n is 65"));
    CHECK(refuses(NULL, 2, 1, "adam", "params"));
    CHECK(refuses(x, 2, 1, "sgdd", "method is \"sgdd\""));
    CHECK(refuses(x, 2, 1, NULL, "method is NULL"));
    CHECK(refuses((hk_array *[]){x[0], NULL}, 2, 1, "adam", "NULL"));
    CHECK(refuses(wide, 2, 1, "adam", "one shape on all devices"));
    CHECK(refuses((hk_array *[]){x[0], x[1], others[0], others[1]}, 2, 2, "adam", "is on cpu:0"));
    hk_array *halves[2];
    for (int d = 0; d < 2; d++)
        halves[d] = hk_zeros(hk_shape(4), HK_F16, mixed[d]);
    CHECK(refuses(halves, 2, 1, "adam", "float32 or float64"));
    CHECK(refuses((hk_array *[]){x[0], halves[0]}, 1, 2, "adam", "one dtype"));
    hk_optimizer *good = hk_optimizer_create_sharded("adam", x, 2, 1, NULL, NULL);
    for (int d = 0; d < 2; d++)
        hk_attach_grad(x[d], HK_GRAD_WRITE);
    hk_capture_begin(NULL, 0);
    CHECK(hk_ok(hk_checkpoint_save("captured.safetensors", &(hk_checkpoint){.optimizer = good})));
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(strstr(hk_status_message(hk_graph_status(graph)), "checkpoint_save cannot be captured"));
    hk_graph_release(graph);
    remove("captured.safetensors");
    hk_optimizer_release(good);
    hk_optimizer *bad = hk_optimizer_create_sharded("sgdd", x, 2, 1, NULL, NULL);
    hk_optimizer_step(bad); /* fails them */
    CHECK(fails(x[0], "method is") && fails(x[1], "method is"));
    hk_optimizer_release(bad);
    clear_failures();
}

int main(void)
{
    const hk_sim_options sim = {.count = MOST,
                                .flops = 1e15,
                                .memory_bandwidth = 1e15,
                                .launch_ns = 1,
                                .link_bandwidth = 1e15,
                                .link_latency_ns = 1};
    hk_runtime_init(
        &(hk_runtime_options){.cpu_devices = 3, .cpu_cores = 3, .sim = &sim, .sim_count = 1});
    for (int i = 0; i < MOST; i++) {
        char name[16];
        snprintf(name, sizeof name, "sim:%d", i);
        sims[i] = hk_device_named(name);
        mixed[i] = hk_device_named((const char *const[]){"cpu:0", "cpu:1", "sim:0", "cpu:2"}[i]);
    }
    test_same_bytes();
    test_memory();
    test_traffic();
    test_checkpoint();
    test_captured();
    CHECK(hk_ok(hk_wait_all()));
    test_failed_gradient();
    test_refusals();
    return check_result();
}
