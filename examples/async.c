/* Asynchronous computation: calls return at once, and who needs a value waits for it, and for no more. */
#include <hocket/hocket.h>

enum { SIZE = 1000, PRODUCTS = 10, ADDITIONS = 10000 };

/* Prints the time since `begin_ns`; returns what it is now. */
static int64_t benchmark(const char *what, int64_t begin_ns)
{
    int64_t now = hk_clock_ns();
    printf("%s: %.4f sec\n", what, 1e-9 * (double)(now - begin_ns));
    return now;
}

int main(void)
{
    HK_SCOPE; /* results made below are released when this block ends, however it ends */
    hk_device cpu = hk_device_default();
    hk_array *a = NULL, *b = NULL;

    int64_t time = hk_clock_ns();
    for (int i = 0; i < PRODUCTS; i++) {
        a = hk_random_normal(hk_shape(SIZE, SIZE), HK_F32, cpu);
        b = hk_matmul(a, a);
    }
    time = benchmark("issued", time);
    hk_wait_all();
    time = benchmark("done", time);

    b = hk_matmul(a, a);
    hk_wait(b); /* for this product, whatever else is under way */
    time = benchmark("wait", time);
    b = hk_matmul(a, a);
    printf("sum: %g\n", hk_item(hk_sum(b, NULL), NULL)); /* a conversion waits too */
    time = benchmark("scalar conversion", time);

    hk_array *x = hk_ones(hk_shape(1, 2), HK_F32, cpu), *y = x;
    for (int i = 0; i < ADDITIONS; i++) {
        HK_SCOPE;
        y = hk_add(x, 1);
        hk_wait(y);
    }
    time = benchmark("synchronous", time);
    for (int i = 0; i < ADDITIONS; i++) {
        HK_SCOPE;
        y = hk_add(x, 1);
    }
    hk_wait_all();
    benchmark("asynchronous", time);
    return hk_status_print(hk_wait_all(), stderr); /* 0, unless a call has failed */
}
