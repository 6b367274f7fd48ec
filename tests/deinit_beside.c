/* A runtime that ends while other threads are amid calls that name no device: each call stays on the runtime that it began
 * on, and its result is right or says that the runtime ended. The sanitizers look on. */
#include "check.h"

#include "base/sanitizer.h"

#include <hocket/hocket.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N = 4, LARGE = 20000, THREADS = 3 };
enum { CYCLES = HKI_THREAD_SANITIZER || HKI_ADDRESS_SANITIZER ? 60 : 300 };

static const hk_device nowhere; /* the default device */
static atomic_bool has_ended;
static atomic_int wrong_count, ok_count;

static void expect(bool holds, const char *what)
{
    if (!holds && !atomic_fetch_add(&wrong_count, 1))
        fprintf(stderr, "wrong: %s\n", what);
}

/* Sums to `sum`, or its runtime has ended. */
static void expect_sum(hk_array *x, double sum, const char *what)
{
    const hk_status *status;
    double value = hk_item(hk_sum(x, NULL), &status);
    const hk_code code = hk_status_code(status);
    if (code == HK_OK)
        atomic_fetch_add(&ok_count, 1);
    if (code != HK_OK && code != HK_CANCELLED)
        hk_status_print(status, stderr);
    expect(code == HK_CANCELLED || (code == HK_OK && value == sum), what);
}

/* Failed for its arguments, or because its runtime has ended. */
static void expect_refused(hk_array *x, const char *what)
{
    const hk_code code = hk_status_code(hk_wait(x));
    expect(code == HK_INVALID_ARGUMENT || code == HK_CANCELLED, what);
}

static void make_arrays(void)
{
    HK_SCOPE;
    const float values[N] = {1, 2, 3, 4};
    const int64_t size[] = {N};
    expect_sum(hk_ones(hk_shape(N), HK_F32, nowhere), N, "ones");
    expect_sum(hk_zeros(hk_shape(LARGE), HK_F32, nowhere), 0, "zeros");
    expect_sum(hk_full(hk_shape(LARGE), 2, HK_F32, nowhere), 2 * LARGE, "full");
    expect_sum(hk_arange(0, N, 1, HK_F32, nowhere), 6, "arange");
    expect_sum(hk_from_host(values, hk_dims_of(size, 1), HK_F32, nowhere), 10, "from_host");
    expect_sum(hk_scalar(7, HK_F32, nowhere), 7, "scalar");
    expect_sum(hk_multiply(hk_random_int(1, 2, hk_shape(N), HK_I32, nowhere), 2), 2 * N,
               "random_int");
    expect_sum(hk_to_device(hk_ones(hk_shape(N), HK_F32, nowhere), nowhere), N, "to_device");
    hk_wait(hk_random_uniform(hk_shape(LARGE), HK_F32, nowhere));
}

static void make_failed(void)
{
    HK_SCOPE;
    expect_refused(hk_add(NULL, NULL), "add");
    expect_refused(hk_slice(NULL, 0, 0, 1), "slice");
    expect_refused(hk_from_host(NULL, hk_shape(N), HK_F32, nowhere), "from_host without data");
    expect_refused(hk_ones(hk_shape(-7), HK_F32, nowhere), "ones of a wrong shape");
    hk_wait(hk_call("nothing", NULL, 0, NULL, nowhere));
    hk_add_into(NULL, NULL, NULL);
}

static void ask_devices(void)
{
    hk_device_name(nowhere);
    hk_device_description(nowhere);
    hk_kernel_choices();
    hk_cuda_describe();
    expect(hk_device_cores(nowhere) >= 1, "cores");
    expect(!strcmp(hk_device_kind(nowhere), "cpu"), "kind");
    expect(!hk_device_is_simulated(nowhere), "is_simulated");
    expect(hk_device_count() >= 1, "count");
    hk_device_at(0);
    hk_device_at(77);
    hk_device_named("nothing");
    const hk_code code = hk_status_code(hk_device_status(nowhere));
    expect(code == HK_OK || code == HK_CANCELLED, "status");
    hk_device_get_memory(nowhere);
    hk_device_get_stats(nowhere, HK_QUEUE_COMPUTE);
    hk_device_stats_clear();
    hk_runtime_get_stats();
    hk_wait_device(nowhere);
    hk_wait_all();
    hk_failures_clear();
}

static void begin_others(void)
{
    HK_SCOPE;
    hk_capture_begin(NULL, 0);
    hk_wait(hk_ones(hk_shape(N), HK_F32, nowhere));
    hk_graph_release(hk_capture_end(NULL));
    hk_loader *loader = hk_loader_create(NULL, NULL);
    hk_array *images, *labels;
    if (hk_loader_next(loader, &images, &labels))
        expect(!hk_ok(hk_wait(images)), "loader");
    hk_loader_release(loader);
}

static void *call(void *which)
{
    static void (*const all[])(void) = {make_arrays, make_failed, ask_devices, begin_others};
    for (int i = *(int *)which; !atomic_load(&has_ended); i++)
        all[i % (int)(sizeof all / sizeof *all)]();
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int which[THREADS];
    for (int i = 0; i < THREADS; i++) {
        which[i] = i;
        pthread_create(&threads[i], NULL, call, &which[i]);
    }
    for (int i = 0; i < CYCLES; i++) {
        hk_runtime_init(NULL); /* a thread's call may have been faster */
        hk_runtime_deinit();
    }
    atomic_store(&has_ended, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hk_runtime_deinit();
    CHECK_EQ_I64(atomic_load(&wrong_count), 0);
    CHECK(atomic_load(&ok_count) > 0);
    return check_result();
}
