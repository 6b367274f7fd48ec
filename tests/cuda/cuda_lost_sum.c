/* A GPU that is lost amid sums over several: whatever was under way ends, what depended on it fails with a record that says so,
 * and the other GPUs go on, with sums among them. Give it the kernel that loses its GPU in HOCKET_EMULATED_CUDA. */
#include "check.h"

#include <hocket/hocket.h>

enum { MOST = 16, ROUNDS = 30, SIZE = 20011 };

static int list_gpus(hk_device *devices)
{
    int count = 0;
    for (int i = 0; i < hk_device_count() && count < MOST; i++)
        if (!strcmp(hk_device_kind(hk_device_at(i)), "cuda"))
            devices[count++] = hk_device_at(i);
    return count;
}

/* How many sums have failed; the others are right. */
static int sum(const hk_device *devices, int count, int rounds)
{
    HK_SCOPE;
    int failed = 0;
    hk_array *x[MOST], *y[ROUNDS][MOST];
    for (int d = 0; d < count; d++)
        x[d] = hk_full(hk_shape(SIZE), d + 1, HK_F32, devices[d]);
    for (int i = 0; i < rounds; i++) {
        for (int d = 0; d < count; d++)
            y[i][d] = hk_multiply(x[d], i + 1);
        hk_all_reduce(y[i], count);
    }
    for (int i = 0; i < rounds; i++)
        for (int d = 0; d < count; d++) {
            const double wanted = (i + 1) * count * (count + 1) / 2.0;
            const hk_status *status = hk_wait(y[i][d]);
            failed += !hk_ok(status);
            CHECK(hk_ok(status) || hk_status_code(status) == HK_DEVICE_LOST ||
                  hk_status_code(status) == HK_UNSUPPORTED);
            if (!hk_ok(status))
                continue;
            /* The GPU may be lost between the two. */
            const double least = hk_item(hk_min(y[i][d], NULL), &status);
            CHECK(!hk_ok(status) || least == wanted);
        }
    return failed;
}

int main(void)
{
    hk_device devices[MOST], alive[MOST];
    CHECK(hk_ok(hk_runtime_init(NULL)));
    const int count = list_gpus(devices);
    int alive_count = 0;
    CHECK(count >= 3);
    CHECK(sum(devices, count, ROUNDS) > 0);
    for (int d = 0; d < count; d++) {
        HK_SCOPE;
        if (hk_ok(hk_wait(hk_multiply(hk_ones(hk_shape(3), HK_F32, devices[d]), 2))))
            alive[alive_count++] = devices[d];
    }
    CHECK_EQ_I64(alive_count, count - 1);
    CHECK_EQ_I64(sum(alive, alive_count, 3), 0);
    hk_failures_clear();
    hk_runtime_deinit();
    return check_result();
}
