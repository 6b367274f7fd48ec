/* A million small arrays take memory of the host; when they are gone and the runtime has ended, the system has it back. */
#include "check.h"
#include "resident_bytes.h"

#include "base/sanitizer.h"

#include <hocket/hocket.h>
#include <stdlib.h>
#include <unistd.h>

enum { ARRAYS = 1000000, MIB = 1 << 20 };

int main(void)
{
    hk_array **arrays = malloc(ARRAYS * sizeof *arrays);
    if (HKI_SANITIZED || !arrays) /* sanitizers keep what was freed */
        return 77;
    hk_array *x = hk_ones(hk_shape(2), HK_F32, (hk_device){0});
    hk_wait(x);
    const int64_t before = resident_bytes();
    for (int i = 0; i < ARRAYS; i++)
        arrays[i] = hk_add(x, i);
    CHECK(hk_ok(hk_wait_all()));
    const int64_t most = resident_bytes() - before;
    const uint64_t counted = hk_runtime_get_stats().handle_bytes;
    CHECK(counted >= (uint64_t)ARRAYS * 256 && counted <= (uint64_t)most + 16 * MIB);
    hk_array *last = arrays[ARRAYS - 1]; /* lives on: its neighbours go all the same */
    for (int i = 0; i < ARRAYS - 1; i++)
        hk_array_release(arrays[i]);
    hk_array_release(x);
    hk_runtime_deinit();
    const int64_t left = resident_bytes() - before;
    CHECK(hk_runtime_get_stats().handle_bytes < counted / 16);
    CHECK(most > 300 * (int64_t)MIB);
    CHECK(left < 64 * (int64_t)MIB);
    if (left >= 64 * (int64_t)MIB)
        fprintf(stderr, "%lld MiB of %lld are left\n", (long long)left / MIB,
                (long long)most / MIB);
    hk_array_release(last);
    free(arrays);
    return check_result();
}
