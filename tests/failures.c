/* How failures travel through a program: where they stop, what they say, what may be recovered. */
#include "check.h"

#include <hocket/hocket.h>

/* hk_recover accepts old bytes, and a result that never was computed has none: not even where a later write
 * made the memory around it real. */
static void test_recover(void)
{
    enum { N = 64 };
    HK_SCOPE;
    hk_device device = hk_device_default();
    int32_t ones[N], zeros[N] = {0};
    float seven = 7, out[N];
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    hk_array *quotient = hk_divide(hk_from_host(ones, hk_shape(N), HK_I32, device),
                                   hk_from_host(zeros, hk_shape(N), HK_I32, device));
    hk_array *y = hk_negative(hk_cast(quotient, HK_F32)); /* its kernel never starts */
    hk_write(hk_slice(y, 0, 0, 1), &seven, sizeof seven);
    hk_recover(y);
    CHECK(!hk_ok(hk_wait(y)));
    CHECK_STR(hk_status_operation(hk_wait(y)), "divide");
    CHECK(hk_ok(hk_to_host(hk_slice(y, 0, 0, 1), out, sizeof seven)) && out[0] == 7);

    hk_array *x = hk_ones(hk_shape(N), HK_F32, device); /* but these bytes stand */
    hk_add_into(x, x, y);
    CHECK(!hk_ok(hk_wait(x)));
    hk_recover(x);
    CHECK(hk_ok(hk_to_host(x, out, sizeof out)) && out[N - 1] == 1);
}

/* Memory that runs out on one device is that device's matter, and the record says which, what and where. */
static void test_one_device_fails(void)
{
    enum { SIDE = 64, LARGE = 4096 };
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.cpu_devices = 2, .memory_bytes = 16u << 20, .inline_ns = -1})));
    hk_device a = hk_device_named("cpu:0"), b = hk_device_named("cpu:1");
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(SIDE, SIDE), HK_F32, a);
    hk_array *y = hk_ones(hk_shape(LARGE, 1), HK_F32, b);
    hk_array *row = hk_transpose(y);
    int line = __LINE__ + 1;
    hk_array *product = hk_matmul(y, row); /* 64 MiB */
    hk_array *after = hk_sum(product, NULL);
    for (int i = 0; i < 20; i++)
        x = hk_add_scalar(x, 1);
    CHECK(hk_item(hk_sum(x, NULL), NULL) == 21.0 * SIDE * SIDE);
    CHECK(hk_item(hk_sum(y, NULL), NULL) == LARGE); /* nor does it concern its inputs */

    const hk_status *status = hk_wait(after);
    CHECK(hk_status_code(status) == HK_OUT_OF_MEMORY);
    CHECK_STR(hk_status_operation(status), "matmul");
    CHECK_STR(hk_status_device(status), "cpu:1");
    CHECK_STR(hk_status_inputs(status), "float32(4096,1), float32(1,4096)");
    CHECK_EQ_I64(hk_status_line(status), line);
    CHECK(strstr(hk_status_file(status), "failures.c") != NULL);
    CHECK(strstr(hk_status_message(status), "67108864") != NULL);

    status = hk_wait_all();
    CHECK_EQ_I64(hk_status_count(status), 1);
    CHECK_EQ_I64(hk_status_line(status), line);
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1); /* the same at the second look */
    hk_failures_clear();
    CHECK(hk_ok(hk_wait_all()));
    CHECK(!hk_ok(hk_wait(product))); /* still failed */
}

int main(void)
{
    test_recover();
    hk_runtime_deinit();
    test_one_device_fails();
    hk_runtime_deinit();
    return check_result();
}
