/* Many elements at once are those that counters make one by one, on each instruction set. */
#include "base/kernel_isa.h"
#include "check.h"
#include "op/random/random_fill.h"
#include "op/random/random_numbers.h"

enum { COUNTERS = 1003, FLOATS = 4 * COUNTERS };
static uint32_t words[FLOATS];
static float many[FLOATS], single[FLOATS];

static void test_fill(const hki_random_fill *fill)
{
    const uint64_t seed = 0x123456789abcdef0, stream = 7, at = UINT32_MAX - 500; /* carries */
    fill->words(seed, stream, at, COUNTERS, words);
    for (int i = 0; i < COUNTERS; i++) {
        uint32_t own[4];
        hki_random_words(seed, stream, at + (uint64_t)i, own);
        CHECK(memcmp(own, words + 4 * i, sizeof own) == 0);
    }
    fill->uniform_f32(-1, 1 - 0x1p-24, words, FLOATS, many);
    for (int i = 0; i < COUNTERS; i++)
        hki_random_uniform_f32(-1, 1 - 0x1p-24, words + 4 * i, single + 4 * i);
    CHECK(memcmp(many, single, sizeof many) == 0);
    fill->normal_f32(2, 3, words, FLOATS, many);
    for (int i = 0; i < COUNTERS; i++)
        hki_random_normal_f32(2, 3, words + 4 * i, single + 4 * i);
    CHECK(memcmp(many, single, sizeof many) == 0);
}

/* Against the C library's functions: the largest and smallest words, and those in between. */
static void test_normals(void)
{
    const uint32_t some[] = {0,          1,          2,          77,
                             0x1fffffff, 0x20000000, 0x40000000, 0x7fffffff,
                             0x80000000, 0xbfffffff, 0xfffffffe, 0xffffffff};
    enum { COUNT = sizeof some / sizeof *some };
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) {
            double got[2], expected[2];
            hki_box_muller_f32(some[i], some[j], got);
            hki_box_muller(((double)some[i] + 0.5) * 0x1p-32, (double)some[j] * 0x1p-32, expected);
            for (int k = 0; k < 2; k++)
                CHECK(fabs(got[k] - expected[k]) <= 1e-9 * fabs(expected[k]) + 1e-14);
        }
}

int main(void)
{
    test_fill(&hki_random_fill_portable);
#if HKI_HAVE_X86_ISAS
    if (hki_kernel_isa_get() >= HKI_ISA_AVX2)
        test_fill(&hki_random_fill_avx2);
    if (hki_kernel_isa_get() >= HKI_ISA_AVX512)
        test_fill(&hki_random_fill_avx512);
#endif
    test_normals();
    return check_result();
}
