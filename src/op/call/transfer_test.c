/* Between memories: every pair of devices, layout and conversion gives what CPU devices give;
 * what is told of the cost; reading and writing what is unfinished; the tape. Failures:
 * tests/failures.c. */
#include "tests/check.h"
#include "tests/same_bytes.h"

#include "op/op.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

enum { CPUS = 2, SIMS = 3, DEVICES = CPUS + SIMS, ROWS = 3, COLUMNS = 4, SIZE = ROWS * COLUMNS };

#define MS 1000000

static hk_device
    devices[DEVICES]; /* cpu:0, cpu:1, then sim:0, sim:1, and sim:2 without a link to others */

/* launch_ns and latency_ns: 1 for as good as none. */
static void start(hk_engine engine, double launch_ns, double latency_ns)
{
    hk_sim_options sims[2] = {{.count = 2}, {.peer_bandwidth = -1}};
    for (int i = 0; i < 2; i++) {
        sims[i].flops = sims[i].memory_bandwidth = sims[i].link_bandwidth = 1e15;
        sims[i].launch_ns = launch_ns;
        sims[i].link_latency_ns = latency_ns;
    }
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){
        .cpu_devices = CPUS, .sim = sims, .sim_count = 2, .engine = engine})));
    for (int i = 0; i < DEVICES; i++)
        devices[i] = hk_device_at(i);
}

static void stop(void)
{
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    for (int i = 0; i < DEVICES; i++)
        CHECK_EQ_I64(hk_device_get_memory(devices[i]).used_bytes, 0);
    for (int i = 0; i < CPUS; i++)
        CHECK_EQ_I64(hki_memory_pool_get(devices[i].handle->pinned).used_bytes, 0);
    hk_runtime_deinit();
}

static bool holds(hk_array *x, const float *expected, int64_t count)
{
    float values[64];
    bool same = hk_size(x) == count && count <= 64 &&
                hk_ok(hk_to_host(x, values, (size_t)count * sizeof *values));
    for (int64_t i = 0; same && i < count; i++)
        same = values[i] == expected[i];
    return same;
}

#define HOLDS(x, ...)                                                                              \
    CHECK(holds(x, (const float[]){__VA_ARGS__},                                                   \
                (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float))))

/* ---- values ---------------------------------------------------------------------------------- */

typedef enum layout { CONTIGUOUS, GAPS, TRANSPOSED, STRETCHED, LAYOUT_COUNT } layout;

/* A view of ROWS x COLUMNS elements, and what it is a view of. */
typedef struct made {
    hk_array *base, *view;
} made;

static made make(layout how, hk_dtype dtype, int first, hk_device device)
{
    unsigned char bytes[64];
    made self;
    for (int i = 0; i < 64; i++)
        bytes[i] = (unsigned char)((first + i * 5) % 100);
    hk_array *values = hk_from_host(bytes, hk_shape(64), HK_U8, device);
    self.base = dtype == HK_U8 ? values : hk_cast(values, dtype);
    hk_array *all = hk_reshape(self.base, hk_shape(8, 8));
    switch (how) {
    case CONTIGUOUS:
        self.view = hk_reshape(hk_slice(self.base, 0, 7, 7 + SIZE), hk_shape(ROWS, COLUMNS));
        break;
    case GAPS:
        self.view = hk_slice(hk_slice(all, 0, 2, 2 + ROWS), 1, 3, 3 + COLUMNS);
        break;
    case TRANSPOSED:
        self.view = hk_transpose(hk_slice(hk_slice(all, 0, 1, 1 + COLUMNS), 1, 4, 4 + ROWS));
        break;
    default:
        self.view =
            hk_broadcast_to(hk_slice(self.base, 0, 9, 9 + COLUMNS), hk_shape(ROWS, COLUMNS));
    }
    return self;
}

static void test_pair(hk_device from, hk_device to, layout from_layout, hk_dtype from_dtype)
{
    static const hk_dtype dtypes[] = {HK_F32, HK_U8, HK_F64};
    HK_SCOPE;
    made source = make(from_layout, from_dtype, 1, from);
    made expected_source = make(from_layout, from_dtype, 1, devices[0]);
    hk_array *moved = hk_to_device(source.view, to);
    CHECK(hk_array_device(moved).handle == to.handle);
    CHECK(same_bytes(moved, expected_source.view));
    for (int d = 0; d < 3; d++)
        for (int to_layout = 0; to_layout < STRETCHED; to_layout++) {
            made target = make((layout)to_layout, dtypes[d], 50, to);
            made expected = make((layout)to_layout, dtypes[d], 50, devices[0]);
            hk_assign(target.view, source.view);
            hk_assign(expected.view, expected_source.view);
            CHECK(same_bytes(target.base, expected.base)); /* what lies beside it too */
        }
}

static void test_values(hk_engine engine)
{
    start(engine, 1, 1);
    for (int from = 0; from < DEVICES; from++)
        for (int to = 0; to < DEVICES; to++)
            for (int i = 0; i < LAYOUT_COUNT; i++) {
                test_pair(devices[from], devices[to], (layout)i, HK_F32);
                test_pair(devices[from], devices[to], (layout)i, HK_U8);
            }
    {
        HK_SCOPE;
        hk_array *wide = hk_full(hk_shape(4), 300, HK_F32, devices[2]);
        hk_array *narrow = hk_full(hk_shape(4), 1, HK_U8, devices[3]);
        hk_assign(hk_slice(narrow, 0, 1, 3), hk_slice(wide, 0, 1, 3));
        const hk_status *status = hk_wait(narrow);
        CHECK(strstr(hk_status_message(status), "a value that uint8 does not have") != NULL);
        CHECK_STR(hk_status_operation(status), "assign");
        CHECK_STR(hk_status_device(status), "sim:0");
        CHECK(hk_ok(hk_wait(hk_slice(narrow, 0, 0, 1))));
        CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
        hk_failures_clear();
    }
    stop();
}

/* Everything that the host reads and writes, on every device. */
static void test_host(void)
{
    start(HK_ENGINE_ASYNC, 1, 1);
    for (int i = 0; i < DEVICES; i++) {
        HK_SCOPE;
        char expected[64], small[8];
        hk_device device = devices[i];
        hk_array *x =
            hk_from_host((const float[]){1, 2, 3, 4, 5, 6}, hk_shape(2, 3), HK_F32, device);
        HOLDS(x, 1, 2, 3, 4, 5, 6);
        HOLDS(hk_transpose(x), 1, 4, 2, 5, 3, 6);
        CHECK(hk_item(hk_index(hk_index(x, 0, 1), 0, 1), NULL) == 5);
        CHECK(hk_item(hk_scalar(-2.5, HK_F64, device), NULL) == -2.5);
        hk_write(x, (const float[]){6, 5, 4, 3, 2, 1}, 6 * sizeof(float));
        hk_write(hk_slice(x, 1, 1, 2), (const float[]){8, 9}, 2 * sizeof(float));
        HOLDS(x, 6, 8, 4, 3, 9, 1);
        char *text = hk_to_string(hk_transpose(x));
        snprintf(expected, sizeof expected, "[[6. 3.]\n [8. 9.]\n [4. 1.]] @%s",
                 hk_device_name(device));
        CHECK_STR(text, expected);
        free(text);

        hk_array *bools = hk_from_host((const char[]){0, 2, 1, 4}, hk_shape(4), HK_BOOL, device);
        CHECK(hk_ok(hk_to_host(bools, small, 4)) && !memcmp(small, "\0\1\1\1", 4));
        hk_write(bools, (const char[]){7, 0, 0, 9}, 4);
        CHECK(hk_ok(hk_to_host(bools, small, 4)) && !memcmp(small, "\1\0\0\1", 4));

        hk_array *empty = hk_from_host(NULL, hk_shape(2, 0), HK_F32, device);
        hk_write(empty, NULL, 0);
        CHECK(hk_ok(hk_to_host(empty, NULL, 0)));
        CHECK(hk_ok(hk_to_host(hk_to_device(empty, devices[(i + 1) % DEVICES]), NULL, 0)));
        CHECK(hk_ok(hk_to_host(hk_slice(x, 0, 1, 1), NULL, 0)));

        hk_status_print(hk_wait_all(), stderr);
        CHECK(hk_status_code(hk_to_host(x, small, 8)) == HK_INVALID_ARGUMENT);
        CHECK(hk_status_code(hk_to_host(x, NULL, 24)) == HK_INVALID_ARGUMENT);
        hk_write(x, NULL, 24);
        CHECK(hk_status_code(hk_to_host(x, small, 8)) == HK_INVALID_ARGUMENT);
        CHECK(strstr(hk_status_message(hk_wait(x)), "data is NULL") != NULL);
        CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
        hk_failures_clear();
    }
    stop();
}

static hk_array *seen_by_task;
static hk_code codes_in_task[2];
static char *text_in_task;

static bool infer_first(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void kernel_reads(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    float value;
    const hk_status *status;
    (void)piece;
    (void)begin;
    (void)end;
    codes_in_task[0] = hk_status_code(hk_to_host(seen_by_task, &value, sizeof value));
    hk_item(seen_by_task, &status);
    codes_in_task[1] = hk_status_code(status);
    text_in_task = hk_to_string(seen_by_task);
    *(float *)call->out[0].data = 1;
}

static const hk_op reads = {
    .name = "reads", .signature = "x", .infer = infer_first, .kernel = {[HKI_CPU] = kernel_reads}};

/* A read inside a task would wait for ever; it says so, and sends nothing. */
static void test_read_in_task(void)
{
    for (int i = 0; i < 2; i++) {
        start(i ? HK_ENGINE_SERIAL : HK_ENGINE_ASYNC, 1, 1);
        {
            HK_SCOPE;
            seen_by_task = hk_scalar(4, HK_F32, devices[2]);
            CHECK(hk_ok(hk_wait_all()));
            uint64_t copied = hk_device_get_stats(devices[2], HK_QUEUE_COPY_OUT).calls;
            hk_wait(hki_op_call1(&reads, hk_scalar(1, HK_F32, devices[3]), NULL));
            CHECK_EQ_I64(codes_in_task[0], HK_WOULD_DEADLOCK);
            CHECK_EQ_I64(codes_in_task[1], HK_WOULD_DEADLOCK);
            CHECK(text_in_task && strstr(text_in_task, "a task may not wait") != NULL);
            CHECK_EQ_I64(hk_device_get_stats(devices[2], HK_QUEUE_COPY_OUT).calls, copied);
            free(text_in_task);
        }
        stop();
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Who reads waits for what has not been computed yet, by the device's clock. False: issuing took longer than it should, for it
 * does not wait; or somebody else had the core. */
static bool test_unfinished(void)
{
    bool in_time;
    start(HK_ENGINE_ASYNC, 5 * MS, 1);
    {
        HK_SCOPE;
        int64_t begin_ns = hk_clock_ns();
        hk_array *x = hk_zeros(hk_shape(2), HK_F32, devices[2]);
        for (int i = 0; i < 3; i++)
            x = hk_add(x, 1);
        in_time = hk_clock_ns() - begin_ns < 15 * MS;
        HOLDS(x, 3, 3);
        CHECK(hk_clock_ns() - begin_ns >= 20 * MS);
        x = hk_add(x, 1);
        CHECK(hk_item(hk_index(hk_to_device(x, devices[3]), 0, 1), NULL) == 4);
    }
    stop();
    return in_time;
}

/* Calls behind a copy in flight that write its source or read its target mean what they say. */
static void test_in_flight(void)
{
    start(HK_ENGINE_ASYNC, 1, 5 * MS);
    for (int from = 0; from < DEVICES; from++)
        for (int to = 0; to < DEVICES; to++) {
            if (to == from || (from < CPUS && to < CPUS) || from == 1 || to == 1)
                continue;
            HK_SCOPE;
            float values[] = {1, 2};
            hk_array *x = hk_from_host(values, hk_shape(2), HK_F32, devices[from]);
            hk_array *y = hk_full(hk_shape(2), 7, HK_F32, devices[to]);
            hk_array *old = hk_add(y, 1);
            CHECK(hk_ok(hk_wait(x)) && hk_ok(hk_wait(y)));
            hk_array *copy = hk_to_device(x, devices[to]); /* in flight from here on */
            hk_add_into(x, x, 10);
            hk_assign(y, x);
            hk_write(x, (const float[]){5, 6}, sizeof values);
            hk_array *sum = hk_add(copy, y);
            hk_write(y, (const float[]){3, 4}, sizeof values);
            HOLDS(copy, 1, 2);
            HOLDS(sum, 12, 14);
            HOLDS(x, 5, 6);
            HOLDS(y, 3, 4);
            HOLDS(old, 8, 8);
        }
    stop();
}

/* ---- what a device is told ------------------------------------------------------------------- */

enum { MAX_LAUNCHES = 16 };

static struct launch {
    hki_device *device;
    hki_queue_kind queue;
    hki_cost cost;
} launches[MAX_LAUNCHES];
static _Atomic(int) launch_count;
static const hki_device_class *usual_class;

static void spy(hki_device *device, hki_queue_kind queue, const hki_cost *cost, int64_t ready_ns,
                int64_t host_ns, hki_ticket *ticket)
{
    int index = atomic_fetch_add(&launch_count, 1);
    if (index < MAX_LAUNCHES)
        launches[index] = (struct launch){device, queue, *cost};
    usual_class->launched(device, queue, cost, ready_ns, host_ns, ticket);
}

/* What has been launched since the last call: how many. */
static int launched(void)
{
    hk_wait_all();
    return atomic_exchange(&launch_count, 0);
}

static bool is_copy(int index, hk_device device, hki_queue_kind queue, double bytes, bool pageable)
{
    const struct launch *self = &launches[index];
    return self->device == device.handle && self->queue == queue &&
           self->cost.copy_bytes == bytes && self->cost.is_pageable == pageable;
}

static bool is_pinned(const hk_array *x)
{
    return x->storage->is_pinned;
}

static void check_copies(void)
{
    HK_SCOPE;
    const double bytes = 32 * sizeof(float);
    hk_device cpu = devices[0], a = devices[2], b = devices[3], lonely = devices[4];
    hk_array *x = hk_ones(hk_shape(4, 8), HK_F32, cpu), *pinned = hk_pin(x);
    CHECK(!is_pinned(x) && is_pinned(pinned));
    hk_array *y = hk_to_device(x, a);
    CHECK_EQ_I64(launched(), 1);
    CHECK(is_copy(0, a, HKI_QUEUE_COPY_IN, bytes, true) && !launches[0].cost.peer);
    hk_to_device(pinned, a);
    CHECK(launched() == 1 && is_copy(0, a, HKI_QUEUE_COPY_IN, bytes, false));
    hk_array *back = hk_to_device(y, cpu);
    CHECK(is_pinned(back));
    CHECK(launched() == 1 && is_copy(0, a, HKI_QUEUE_COPY_OUT, bytes, false));
    hk_assign(x, y); /* straight into it */
    CHECK(launched() == 1 && is_copy(0, a, HKI_QUEUE_COPY_OUT, bytes, true));
    hk_assign(hk_slice(y, 0, 1, 3), hk_slice(pinned, 0, 0, 2));
    CHECK(launched() == 1 && is_copy(0, a, HKI_QUEUE_COPY_IN, bytes / 2, false));

    hk_array *z = hk_to_device(y, b);
    CHECK(launched() == 1 && is_copy(0, a, HKI_QUEUE_COPY_OUT, bytes, false));
    CHECK(launches[0].cost.peer == b.handle);
    hk_assign(hk_to_device(y, lonely), z); /* by way of the host, in pinned memory, both times */
    CHECK_EQ_I64(launched(), 4);
    int outs = 0, ins = 0;
    for (int i = 0; i < 4; i++) {
        outs += is_copy(i, a, HKI_QUEUE_COPY_OUT, bytes, false) ||
                is_copy(i, b, HKI_QUEUE_COPY_OUT, bytes, false);
        ins += is_copy(i, lonely, HKI_QUEUE_COPY_IN, bytes, false);
        CHECK(!launches[i].cost.peer);
    }
    CHECK(outs == 2 && ins == 2);

    float values[32] = {0};
    hk_array *w = hk_from_host(values, hk_shape(32), HK_F32, a);
    CHECK(launched() == 1 && is_copy(0, a, HKI_QUEUE_COPY_IN, bytes, false));
    hk_write(w, values, sizeof values);
    CHECK(launched() == 1 && is_copy(0, a, HKI_QUEUE_COPY_IN, bytes, false));
    hk_to_host(w, values, sizeof values);
    CHECK(launched() == 1 && is_copy(0, a, HKI_QUEUE_COPY_OUT, bytes, false));
    hk_to_device(hk_transpose(y), cpu); /* gathered there, so that only its bytes travel */
    CHECK(launched() == 2 && launches[0].queue == HKI_QUEUE_COMPUTE &&
          is_copy(1, a, HKI_QUEUE_COPY_OUT, bytes, false));
    hk_to_device(hk_slice(y, 1, 0, 2), cpu);
    CHECK(launched() == 2 && is_copy(1, a, HKI_QUEUE_COPY_OUT, bytes / 4, false));
    hk_assign(hk_slice(y, 1, 0, 2), hk_slice(x, 1, 0, 2));
    CHECK(launched() == 2 && is_copy(0, a, HKI_QUEUE_COPY_IN, bytes / 4, true) &&
          launches[1].queue == HKI_QUEUE_COMPUTE);
}

static bool computes(double flops, double memory_bytes)
{
    bool right = launched() == 1 && launches[0].queue == HKI_QUEUE_COMPUTE &&
                 launches[0].cost.flops == flops && launches[0].cost.memory_bytes == memory_bytes;
    if (!right)
        fprintf(stderr, "it is %g flops, %g bytes\n", launches[0].cost.flops,
                launches[0].cost.memory_bytes);
    return right;
}

static void check_computing(void)
{
    HK_SCOPE;
    hk_device a = devices[2];
    hk_array *x = hk_ones(hk_shape(5, 6), HK_F32, a), *w = hk_ones(hk_shape(7, 6), HK_F32, a);
    hk_array *row = hk_ones(hk_shape(6), HK_F32, a);
    hk_array *images = hk_ones(hk_shape(2, 3, 9, 8), HK_F64, a);
    hk_array *kernels = hk_ones(hk_shape(4, 3, 3, 2), HK_F64, a);
    launched();
    hk_matmul(x, hk_transpose(w));
    CHECK(computes(2 * 5 * 6 * 7, 4 * (30 + 42 + 35)));
    hk_linear(x, w, NULL);
    CHECK(computes(2 * 5 * 6 * 7, 4 * (30 + 42 + 35)));
    hk_add(x, row);
    CHECK(computes(30, 4 * (30 + 6 + 30)));
    hk_add(x, hk_broadcast_to(row, hk_shape(5, 6))); /* what it shows is read once */
    CHECK(computes(30, 4 * (30 + 6 + 30)));
    hk_attach_grad(images, HK_GRAD_WRITE);
    hk_attach_grad(kernels, HK_GRAD_WRITE);
    launched();
    hk_record_begin();
    hk_array *y = hk_conv2d(images, kernels, NULL, NULL);
    hk_record_end();
    const double products = 2 * 4 * 7 * 7 * 3 * 3 * 2;
    CHECK(computes(2 * products, 8 * (2 * 3 * 9 * 8 + 4 * 3 * 3 * 2 + 2 * 4 * 7 * 7)));
    CHECK(hk_ok(hk_backward(y)));
    int heavy = 0;
    for (int i = launched() - 1; i >= 0; i--)
        heavy += i < MAX_LAUNCHES && launches[i].cost.flops == 2 * products;
    CHECK_EQ_I64(heavy, 2);
}

static void test_costs(void)
{
    start(HK_ENGINE_ASYNC, 1, 1);
    usual_class = devices[2].handle->class;
    hki_device_class spied = *usual_class;
    spied.launched = spy;
    CHECK(hk_ok(hk_wait_all()));
    for (int i = CPUS; i < DEVICES; i++)
        devices[i].handle->class = &spied;
    check_copies();
    check_computing();
    CHECK(hk_ok(hk_wait_all()));
    for (int i = CPUS; i < DEVICES; i++)
        devices[i].handle->class = usual_class;
    stop();
}

/* ---- pinned memory, the tape ----------------------------------------------------------------- */

static void test_pin(void)
{
    start(HK_ENGINE_ASYNC, 1, 1);
    {
        HK_SCOPE;
        hk_array *x = hk_from_host((const float[]){1, 2, 3, 4}, hk_shape(2, 2), HK_F32, devices[1]);
        hk_array *pinned = hk_pin(hk_transpose(x));
        CHECK(pinned->storage != x->storage && hk_is_contiguous(pinned));
        CHECK(hk_array_device(pinned).handle == devices[1].handle);
        HOLDS(pinned, 1, 3, 2, 4);
        hk_array *again = hk_pin(hk_transpose(pinned));
        CHECK(again->storage == pinned->storage);
        HOLDS(again, 1, 2, 3, 4);
        hk_array *there = hk_to_device(x, devices[2]);
        CHECK(hk_pin(there)->storage == there->storage);
        hk_array *elsewhere = hk_zeros(hk_shape(2, 2), HK_F32, devices[1]);
        hk_call_into("pin", elsewhere, &x, 1, NULL);
        CHECK(!is_pinned(elsewhere));
        HOLDS(elsewhere, 1, 2, 3, 4);
    }
    stop();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.sim_count = 0}))); /* no accelerators */
    if (hk_device_count() == 1) {
        HK_SCOPE;
        hk_array *x = hk_ones(hk_shape(2), HK_F32, hk_device_default());
        CHECK(hk_pin(x)->storage == x->storage);
    }
    hk_runtime_deinit();
}

static void test_tape(void)
{
    start(HK_ENGINE_ASYNC, 1, 1);
    {
        HK_SCOPE;
        hk_array *x = hk_from_host((const float[]){1, 2, 3, 4}, hk_shape(2, 2), HK_F32, devices[0]);
        hk_array *held = hk_zeros(hk_shape(2, 2), HK_F32, devices[3]);
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_attach_grad(held, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *y = hk_to_device(hk_transpose(hk_pin(x)), devices[2]);
        hk_array *z = hk_square(hk_to_device(y, devices[4]));
        hk_array *loss = hk_sum(hk_to_device(z, devices[1]), NULL);
        /* As on CPU devices: the host may write, a call may not. */
        hk_write(hk_slice(held, 1, 0, 1), (const float[]){5, 6}, 2 * sizeof(float));
        HOLDS(held, 5, 0, 6, 0);
        hk_assign(held, x);
        hk_record_end();
        CHECK(strstr(hk_status_message(hk_wait(held)), "while recording") != NULL);
        hk_wait_all();
        hk_failures_clear();
        CHECK(hk_ok(hk_backward(loss)));
        CHECK(hk_array_device(hk_grad(x)).handle == devices[0].handle);
        HOLDS(hk_grad(x), 2, 4, 6, 8);
    }
    stop();
}

int main(void)
{
    unsetenv("HOCKET_SIM");
    test_values(HK_ENGINE_ASYNC);
    test_values(HK_ENGINE_SERIAL);
    test_host();
    test_read_in_task();
    bool in_time = false;
    for (int i = 0; i < 20 && !in_time; i++)
        in_time = test_unfinished();
    CHECK(in_time);
    test_in_flight();
    test_costs();
    test_pin();
    test_tape();
    return check_result();
}
