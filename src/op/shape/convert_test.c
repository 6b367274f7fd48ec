/* Conversions give the same bytes on each instruction set, dense and with steps. */
#include "tests/check.h"

#include "op/shape/convert_kernels.h"

#include <stdlib.h>

enum { N = 1003 };

/* Bits of a wide type: all of them for what refuses nothing, near the bounds of integers otherwise. */
static void fill(hk_dtype wide, unsigned char *bytes, uint64_t *state)
{
    for (size_t i = 0; i < N * hk_dtype_bytes(wide); i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (unsigned char)(*state >> 56);
    }
    for (int i = 0; wide == HK_BOOL && i < N; i++)
        bytes[i] &= 1;
}

static void compare_stores(hki_store_fn portable, hki_store_fn avx2, const void *from, int64_t step)
{
    static char a[2 * N * HKI_ELEMENT_BYTES], b[2 * N * HKI_ELEMENT_BYTES];
    memset(a, 7, sizeof a);
    memset(b, 7, sizeof b);
    CHECK_EQ_I64(avx2(N, from, a, step), portable(N, from, b, step));
    CHECK(!memcmp(a, b, sizeof a));
}

static void compare_loads(hki_load_fn portable, hki_load_fn avx2, hk_dtype wide, const void *from,
                          int64_t step)
{
    static char a[N * HKI_ELEMENT_BYTES], b[N * HKI_ELEMENT_BYTES];
    avx2(N / 3, from, step, a);
    portable(N / 3, from, step, b);
    CHECK(!memcmp(a, b, (size_t)(N / 3) * hki_dtype_bytes(wide)));
}

static void compare(hk_dtype wide, hk_dtype dtype, const void *wides, const void *elements)
{
    const int64_t bytes = (int64_t)hk_dtype_bytes(dtype);
    for (int64_t step = bytes; step <= 2 * bytes; step += bytes) {
        if (hki_wide_of(dtype) == wide)
            compare_stores(hki_convert_portable.store_of(dtype), hki_convert_avx2.store_of(dtype),
                           wides, step);
        if (hki_convert_portable.cast_of(wide, dtype))
            compare_stores(hki_convert_portable.cast_of(wide, dtype),
                           hki_convert_avx2.cast_of(wide, dtype), wides, step);
        if (hki_convert_portable.load_of(dtype, wide))
            compare_loads(hki_convert_portable.load_of(dtype, wide),
                          hki_convert_avx2.load_of(dtype, wide), wide, elements, step);
    }
}

static void test_all(void)
{
    static unsigned char wides[N * HKI_ELEMENT_BYTES], elements[N * HKI_ELEMENT_BYTES];
    uint64_t state = 1;
    for (int round = 0; round < 20; round++)
        for (int wide = 0; wide < HK_DTYPE_COUNT; wide++)
            for (int dtype = 0;
                 hki_wide_of((hk_dtype)wide) == (hk_dtype)wide && dtype < HK_DTYPE_COUNT; dtype++) {
                fill((hk_dtype)wide, wides, &state);
                fill((hk_dtype)dtype, elements, &state);
                compare((hk_dtype)wide, (hk_dtype)dtype, wides, elements);
            }
}

/* Each half, what lies halfway to the next, and the floats beside both. */
static void test_halves(void)
{
    static float values[8];
    uint16_t a[8], b[8];
    for (uint32_t half = 0; half <= UINT16_MAX; half++) {
        const uint32_t bits = hki_bits_of_float(hki_f16_to_float((uint16_t)half));
        const uint32_t near[8] = {bits,          bits + 1,      bits - 1,      bits | 0x1000,
                                  bits | 0x1001, bits | 0x0fff, bits ^ 0x1fff, bits + 0x800000};
        for (int i = 0; i < 8; i++)
            values[i] = hki_float_of_bits(near[i]);
        hki_convert_portable.store_of(HK_F16)(8, values, (char *)a, 2);
        hki_convert_avx2.store_of(HK_F16)(8, values, (char *)b, 2);
        CHECK(!memcmp(a, b, sizeof a));
    }
}

int main(void)
{
    if (hki_kernel_isa_get() != HKI_ISA_PORTABLE && hki_convert_avx2.load_of) {
        test_all();
        test_halves();
    }
    return check_result();
}
