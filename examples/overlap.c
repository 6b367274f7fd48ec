/* Computing and copying at once: a result goes to the host while the next one is computed, on a simulated accelerator
 * whose link is about as slow as it is itself. */
#include <hocket/hocket.h>

enum { SIZE = 320, PRODUCTS = 10 };

static void run(hk_array *x, hk_array **y)
{
    for (int i = 0; i < PRODUCTS; i++)
        y[i] = hk_matmul(x, x);
}

/* What comes from an accelerator this way is in pinned memory, to which it copies without a detour. */
static void copy_to_cpu(hk_array **y, hk_array **y_cpu)
{
    for (int i = 0; i < PRODUCTS; i++)
        y_cpu[i] = hk_to_device(y[i], hk_device_named("cpu:0"));
}

static int64_t benchmark(const char *what, int64_t begin_ns)
{
    hk_wait_all();
    int64_t now = hk_clock_ns();
    if (what)
        printf("%s: %.4f sec\n", what, 1e-9 * (double)(now - begin_ns));
    return now;
}

int main(void)
{
    hk_runtime_options options = {
        .cpu_cores = 1,
        .sim = &(hk_sim_options){.flops = 1e10, .link_bandwidth = 8e7, .staging_bandwidth = 4e9},
        .sim_count = 1};
    const hk_status *status = hk_runtime_init(&options);
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    HK_SCOPE;
    hk_array *y[PRODUCTS], *y_cpu[PRODUCTS];
    hk_array *x = hk_random_uniform(hk_shape(SIZE, SIZE), HK_F32, hk_device_named("sim:0"));

    int64_t time = benchmark(NULL, 0);
    run(x, y);
    time = benchmark("run", time);
    copy_to_cpu(y, y_cpu);
    time = benchmark("copy to CPU", time);
    run(x, y);
    copy_to_cpu(y, y_cpu);
    benchmark("run and copy to CPU", time);
    return hk_status_print(hk_wait_all(), stderr); /* 0, unless a call has failed */
}
