/* Sums over GPUs whose memory is taken: by what the pools keep, which goes back to the system before NCCL starts; and by arrays,
 * where copies serve in its place. With 16 MiB on each GPU, of which NCCL wants four. */
#include "check.h"

#include <hocket/hocket.h>

enum { LARGE = 14 << 18, SMALL = 1000 };

static hk_device gpu(int index)
{
    return hk_device_named(index ? "cuda:1" : "cuda:0");
}

static void test_sum(void)
{
    HK_SCOPE;
    hk_array *x[2];
    for (int d = 0; d < 2; d++)
        x[d] = hk_full(hk_shape(SMALL), d + 1, HK_F32, gpu(d));
    hk_all_reduce(x, 2);
    for (int d = 0; d < 2; d++) {
        const hk_status *status;
        CHECK(hk_item(hk_min(x[d], NULL), &status) == 3 && !hk_status_print(status, stderr));
        CHECK(hk_item(hk_max(x[d], NULL), NULL) == 3);
    }
}

/* is_kept: arrays stay while there are sums. */
static void test(bool is_kept)
{
    hk_array *large[2];
    CHECK(hk_ok(hk_runtime_init(NULL)));
    for (int d = 0; d < 2; d++) {
        large[d] = hk_take(hk_zeros(hk_shape(LARGE), HK_F32, gpu(d)));
        CHECK(!hk_status_print(hk_wait(large[d]), stderr));
        if (!is_kept)
            hk_array_release(large[d]);
    }
    for (int i = 0; i < 3; i++)
        test_sum();
    for (int d = 0; d < 2 && is_kept; d++)
        hk_array_release(large[d]);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
}

int main(int argc, char **argv)
{
    test(argc > 1 && !strcmp(argv[1], "kept"));
    return check_result();
}
