/* How failures travel through a program: where they stop, what they say, what may be recovered. */
#include "check.h"

#include <hocket/hocket.h>

/* hk_recover accepts old bytes, and a result that never was computed has none: not even where a later write
 * made the memory around it real. */
static void test_recover(hk_device device)
{
    enum { N = 64 };
    HK_SCOPE;
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

/* A record is the same wherever its array is copied to, and only what depends on the failure has it. */
static void test_across_devices(void)
{
    enum { N = 6 };
    HK_SCOPE;
    const int count = hk_device_count();
    float values[N];
    for (int i = 0; i < count; i++) {
        hk_device from = hk_device_at(i), to = hk_device_at((i + 1) % count);
        int32_t ones[N] = {1, 1, 1, 1, 1, 1}, zero[] = {1, 0};
        hk_array *divided = hk_from_host(ones, hk_shape(N), HK_I32, from);
        hk_array *middle = hk_slice(divided, 0, 2, 4);
        int line = __LINE__ + 1;
        hk_divide_into(middle, middle, hk_from_host(zero, hk_shape(2), HK_I32, from));
        hk_array *moved = hk_to_device(hk_slice(divided, 0, 0, 4), to);
        hk_array *all = hk_full(hk_shape(N), 5, HK_F32, to);
        hk_assign(hk_slice(all, 0, 2, 6), hk_slice(divided, 0, 2, 6));
        hk_array *back = hk_add(hk_to_device(moved, from), 1);

        const hk_status *status = hk_wait(back);
        CHECK_STR(hk_status_operation(status), "divide");
        CHECK_STR(hk_status_device(status), hk_device_name(from));
        CHECK_EQ_I64(hk_status_line(status), line);
        CHECK_EQ_I64(hk_status_sequence(hk_wait(all)), hk_status_sequence(status));
        CHECK_EQ_I64(hk_status_sequence(hk_to_host(moved, values, 4 * sizeof *values)),
                     hk_status_sequence(status));
        CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
        CHECK(hk_ok(hk_to_host(hk_slice(all, 0, 0, 2), values, 2 * sizeof *values)));
        CHECK(values[0] == 5 && values[1] == 5);
        hk_recover(all); /* nothing was written to it */
        CHECK(hk_item(hk_sum(all, NULL), NULL) == 5 * N);
        hk_failures_clear();
    }
}

/* Memory that runs out on one device is that device's matter, and the record says which, what and where. */
static void test_one_device_fails(const hk_runtime_options *options, const char *name)
{
    enum { SIDE = 64, LARGE = 4096 };
    CHECK(hk_ok(hk_runtime_init(options)));
    hk_device a = hk_device_named("cpu:0"), b = hk_device_named(name);
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(SIDE, SIDE), HK_F32, a);
    hk_array *y = hk_ones(hk_shape(LARGE, 1), HK_F32, b);
    hk_array *row = hk_transpose(y);
    int line = __LINE__ + 1;
    hk_array *product = hk_matmul(y, row); /* 64 MiB */
    hk_array *after = hk_sum(product, NULL);
    for (int i = 0; i < 20; i++)
        x = hk_add(x, 1);
    CHECK(hk_item(hk_sum(x, NULL), NULL) == 21.0 * SIDE * SIDE);
    CHECK(hk_item(hk_sum(y, NULL), NULL) == LARGE); /* nor does it concern its inputs */

    const hk_status *status = hk_wait(after);
    CHECK(hk_status_code(status) == HK_OUT_OF_MEMORY);
    CHECK_STR(hk_status_operation(status), "matmul");
    CHECK_STR(hk_status_device(status), name);
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

/* The same for what is to be copied to a device. */
static void test_no_room_for_copies(const hk_runtime_options *options)
{
    CHECK(hk_ok(hk_runtime_init(options)));
    hk_device sim = hk_device_named("sim:0");
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(8 << 20), HK_F32, hk_device_default()); /* 32 MiB */
    hk_array *copy = hk_to_device(x, sim);
    hk_array *sum = hk_to_device(hk_sum(copy, NULL), hk_device_default());
    const hk_status *status = hk_wait(sum);
    CHECK(hk_status_code(status) == HK_OUT_OF_MEMORY);
    CHECK_STR(hk_status_operation(status), "to_device");
    CHECK_STR(hk_status_device(status), "sim:0");
    CHECK_STR(hk_status_inputs(status), "float32(8388608,)");
    CHECK(strstr(hk_status_message(status), "sim:0 has no room for 33554432 bytes") != NULL);
    CHECK(hk_item(hk_sum(x, NULL), NULL) == 8 << 20);
    CHECK(hk_item(hk_scalar(3, HK_F32, sim), NULL) == 3);
    hk_failures_clear();
}

int main(void)
{
    const hk_sim_options sim = {.count = 2, .launch_ns = 1, .memory_bytes = 16u << 20};
    hk_runtime_options options = {.cpu_devices = 2, .sim = &sim, .sim_count = 1};
    CHECK(hk_ok(hk_runtime_init(&options)));
    bool cuda = false;
    for (int i = 0; i < hk_device_count(); i++) {
        test_recover(hk_device_at(i));
        cuda = cuda || !strcmp(hk_device_kind(hk_device_at(i)), "cuda");
    }
    hk_wait_all();
    hk_failures_clear();
    test_across_devices();
    hk_runtime_deinit();

    options.memory_bytes = 16u << 20;
    options.inline_ns = -1;
    test_one_device_fails(&options, "cpu:1");
    hk_runtime_deinit();
    options.memory_bytes = 0;
    test_one_device_fails(&options, "sim:1");
    hk_runtime_deinit();
    test_no_room_for_copies(&options);
    hk_runtime_deinit();
    if (cuda) {
        options.cuda_memory_bytes = 16u << 20;
        options.cuda = "0";
        test_one_device_fails(&options, "cuda:0");
        hk_runtime_deinit();
    }
    return check_result();
}
