/* A program's own kernels on a GPU: their order with Hocket's calls, views, scratch, failures,
 * captured steps. */
#include "check.h"

#include <dlfcn.h>
#include <hocket/hocket.h>
#include <stdlib.h>
#include <string.h>

/* NVIDIA's cuMemsetD8Async, or the emulation's: all of CUDA that this program calls. */
static int (*set_bytes)(unsigned long long address, unsigned char value, size_t bytes,
                        void *stream);

static bool find_cuda(void)
{
    const bool is_emulated = getenv("HOCKET_EMULATED_CUDA");
    void *library = dlopen(is_emulated ? getenv("HOCKET_CUDA_PLUGIN") : "libcuda.so.1", RTLD_NOW);
    const char *name = is_emulated ? "hocket_emulated_set_bytes" : "cuMemsetD8Async";
    void *found = library ? dlsym(library, name) : NULL;
    memcpy(&set_bytes, &found, sizeof found);
    return found;
}

static int *device_calls, *host_calls;

/* All bytes of the last array become the argument. */
static void fill_cuda(hk_task_call *call)
{
    const hk_task_view y = hk_task_view_of(call, hk_task_view_count(call) - 1);
    const unsigned char value = *(const unsigned char *)hk_task_args(call);
    ++*device_calls;
    if (!hk_task_stream(call) || !hk_task_scratch(call) || y.strides[0] != 1)
        hk_task_refuse(call, "stream %p, scratch %p, stride %d", hk_task_stream(call),
                       hk_task_scratch(call), (int)y.strides[0]);
    else if (value == 77)
        hk_task_refuse(call, "77 is no value");
    else if (set_bytes((unsigned long long)(uintptr_t)y.data, value, 4 * (size_t)y.shape.dims[0],
                       hk_task_stream(call)) ||
             set_bytes((unsigned long long)(uintptr_t)hk_task_scratch(call), value, 256,
                       hk_task_stream(call)))
        hk_task_refuse(call, "it cannot be launched");
}

static void fill_cpu(hk_task_call *call)
{
    const hk_task_view y = hk_task_view_of(call, hk_task_view_count(call) - 1);
    ++*host_calls;
    if (hk_task_stream(call))
        hk_task_refuse(call, "there is a stream");
    memset(y.data, *(const unsigned char *)hk_task_args(call), 4 * (size_t)y.shape.dims[0]);
}

static size_t scratch(const hk_task_call *call)
{
    (void)call;
    return 256;
}

static const hk_kernel fill = {.name = "fill",
                               .cpu = fill_cpu,
                               .cuda = fill_cuda,
                               .scratch_bytes = scratch},
                       host_only = {.name = "host_only", .cpu = fill_cpu};

static hk_array *zeros(hk_device device)
{
    return hk_zeros(hk_shape(1000), HK_I32, device);
}

static void run(hk_array *x, unsigned char value)
{
    hk_run(&fill, HK_ACCESS(hk_writes(x)), &value, 1, NULL);
}

static int64_t at(hk_array *x, int64_t index)
{
    const hk_status *status;
    HK_SCOPE;
    const int64_t value = (int64_t)hk_item(hk_index(x, 0, index), &status);
    CHECK(hk_ok(status));
    return value;
}

/* Kernels and Hocket's calls in turns, each on what the other one left. */
static void test_order(hk_device device)
{
    HK_SCOPE;
    hk_array *x = zeros(device), *sum = zeros(device);
    for (int i = 1; i <= 50; i++) {
        run(i % 2 ? x : hk_slice(x, 0, 100, 200), (unsigned char)i);
        hk_add_into(sum, sum, x);
    }
    int64_t inside = 0, outside = 0;
    for (int i = 1; i <= 50; i++) {
        inside += i * INT64_C(0x01010101);
        outside += (i % 2 ? i : i - 1) * INT64_C(0x01010101);
    }
    CHECK_EQ_I64(at(sum, 0), (int32_t)(uint32_t)outside);
    CHECK_EQ_I64(at(sum, 150), (int32_t)(uint32_t)inside);
    CHECK_EQ_I64(at(x, 0), 49 * INT64_C(0x01010101));
    CHECK_EQ_I64(*device_calls, 50);
}

static void test_failures(hk_device device)
{
    HK_SCOPE;
    hk_array *x = zeros(device), *y = zeros(device);
    run(x, 77);
    const hk_status *status = hk_wait(hk_add(x, 1));
    CHECK_STR(hk_status_message(status), "77 is no value");
    CHECK_STR(hk_status_operation(status), "fill");
    run(x, 1); /* heals */
    CHECK_EQ_I64(at(x, 5), 0x01010101);
    hk_run(&host_only, HK_ACCESS(hk_writes(y)), "a", 1, NULL);
    status = hk_wait(y);
    CHECK(hk_status_code(status) == HK_UNSUPPORTED &&
          strstr(hk_status_message(status), "its cuda is NULL"));
    hk_promise_keep(hk_promise_create(HK_ACCESS(hk_writes(y)), NULL));
    CHECK(hk_status_code(hk_wait(y)) == HK_UNSUPPORTED);
    hk_wait_all();
    hk_failures_clear();
}

/* New results, sums of several calls, and replays. */
static void test_results(hk_device device)
{
    HK_SCOPE;
    const unsigned char two = 2;
    hk_array *x = zeros(device), *total = zeros(device);
    hk_array *y = hk_run_new(&fill, hk_shape(1000), HK_I32, HK_ACCESS(hk_reads(x)), &two, 1, NULL);
    CHECK_EQ_I64(at(hk_add(y, 1), 999), 0x02020203);
    for (int i = 0; i < 3; i++)
        hk_run(&fill, HK_ACCESS(hk_accumulates(total)), &two, 1, NULL);
    CHECK_EQ_I64(at(total, 0), 3 * 0x02020202);
    hk_capture_begin(&x, 1);
    run(x, 1);
    hk_add_into(total, total, x);
    hk_graph *graph = hk_capture_end(NULL);
    for (int i = 0; i < 2; i++)
        hk_replay(graph, &x, 1);
    CHECK(hk_ok(hk_graph_status(graph)));
    CHECK_EQ_I64(at(total, 0), 3 * 0x02020202 + 3 * 0x01010101);
    hk_graph_release(graph);
}

int main(void)
{
    int on_device = 0, on_host = 0;
    device_calls = &on_device;
    host_calls = &on_host;
    const hk_device device = hk_device_named("cuda:0");
    if (!hk_ok(hk_device_status(device)) || !find_cuda()) {
        fprintf(stderr, "no CUDA device, or no driver\n");
        return 1;
    }
    test_order(device);
    test_failures(device);
    test_results(device);
    HK_SCOPE;
    hk_array *x = zeros(hk_device_named("cpu:0"));
    run(x, 3);
    CHECK(at(x, 0) == 0x03030303 && on_host == 1);
    return check_result();
}
