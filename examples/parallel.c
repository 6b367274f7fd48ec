/* Automatic parallelism: two accelerators work at once because nothing says that one should wait for the other. They
 * are simulated, so that this runs anywhere: really computed, in the time of a model. */
#include <hocket/hocket.h>

enum { SIZE = 320, PRODUCTS = 10 };

static void run(hk_array *x)
{
    for (int i = 0; i < PRODUCTS; i++) {
        HK_SCOPE; /* each result is released at once: what computes it keeps what it needs */
        hk_matmul(x, x);
    }
}

static void benchmark(const char *what, hk_array *first, hk_array *second)
{
    int64_t begin_ns = hk_clock_ns();
    if (first)
        run(first);
    if (second)
        run(second);
    hk_wait_all();
    printf("%s: %.4f sec\n", what, 1e-9 * (double)(hk_clock_ns() - begin_ns));
}

int main(void)
{
    hk_runtime_options options = {
        .cpu_cores = 1, .sim = &(hk_sim_options){.count = 2, .flops = 1e10}, .sim_count = 1};
    const hk_status *status = hk_runtime_init(&options);
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    HK_SCOPE;
    hk_array *x = hk_random_uniform(hk_shape(SIZE, SIZE), HK_F32, hk_device_named("sim:0"));
    hk_array *y = hk_random_uniform(hk_shape(SIZE, SIZE), HK_F32, hk_device_named("sim:1"));
    hk_wait_all();
    benchmark("sim:0", x, NULL);
    benchmark("sim:1", NULL, y);
    benchmark("sim:0 and sim:1", x, y);
    return hk_status_print(hk_wait_all(), stderr); /* 0, unless a call has failed */
}
