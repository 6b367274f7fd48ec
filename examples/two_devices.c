/* Two chains of products, one on each of two devices: nothing here says that they run side by side.
 * Each call returns at once; hk_wait_all waits for what was issued. */
#include <hocket/hocket.h>

enum { SIZE = 200, REPEATS = 50 };

int main(void)
{
    hk_runtime_init(
        &(hk_runtime_options){.cpu_devices = 2}); /* optional; the default is one device */
    HK_SCOPE; /* results made below are released when this block ends, however it ends */
    hk_device a = hk_device_named("cpu:0"), b = hk_device_named("cpu:1");
    hk_array *x = hk_random_uniform(hk_shape(SIZE, SIZE), HK_F32, a);
    hk_array *y = hk_random_uniform(hk_shape(SIZE, SIZE), HK_F32, b);
    for (int i = 0; i < REPEATS; i++) {
        HK_SCOPE;
        hk_matmul(x, x); /* returns at once */
    }
    for (int i = 0; i < REPEATS; i++) {
        HK_SCOPE;
        hk_matmul(y, y); /* runs beside the first loop */
    }
    const hk_status *status = hk_wait_all();
    return hk_ok(status) ? 0 : hk_status_print(status, stderr);
}
