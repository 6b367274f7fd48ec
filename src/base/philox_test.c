/* philox: the known answers of Random123 (tests/kat_vectors), and the edges of hki_bits_below. */
#include "base/philox.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "philox_test: %s\n", what);
    failures++;
}

static void test_known_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t words[4];

        hki_philox4x32(known[i].counter, known[i].key, words);
        check(memcmp(words, known[i].words, sizeof words) == 0, "a known answer differs");
        memcpy(words, known[i].counter, sizeof words);
        hki_philox4x32(words, known[i].key, words);
        check(memcmp(words, known[i].words, sizeof words) == 0, "in place, a known answer differs");
    }
}

/* Whether bits map to value below bound; value UINT64_MAX: to nothing. */
static void expect_below(uint64_t bits, uint64_t bound, uint64_t value)
{
    uint64_t got = UINT64_MAX;
    bool kept = hki_bits_below(bits, bound, &got);

    if (got == value && kept == (value != UINT64_MAX))
        return;
    fprintf(stderr, "philox_test: %" PRIu64 " below %" PRIu64 " is %" PRIu64 "\n", bits, bound,
            got);
    failures++;
}

static void test_bits_below(void)
{
    const uint64_t half = (uint64_t)1 << 63, none = UINT64_MAX;

    expect_below(0, 1, 0);
    expect_below(UINT64_MAX, 1, 0);
    expect_below(UINT64_MAX, 2, 1);
    expect_below(UINT64_MAX, half, half - 1);
    /* 2^64 = 3 * 6148914691236517205 + 1: one value is left over, the last. */
    expect_below(UINT64_MAX - 1, 3, 2);
    expect_below(UINT64_MAX, 3, none);
    /* 2^64 = 10 * 1844674407370955161 + 6 */
    expect_below(UINT64_MAX - 6, 10, 9);
    for (uint64_t i = 0; i < 6; i++)
        expect_below(UINT64_MAX - i, 10, none);
    /* Almost half of all bits have to go. */
    expect_below(half, half + 1, half);
    expect_below(half + 1, half + 1, none);
    expect_below(UINT64_MAX, half + 1, none);
    expect_below(UINT64_MAX - 1, UINT64_MAX, UINT64_MAX - 1);
    expect_below(UINT64_MAX, UINT64_MAX, none);
}

int main(void)
{
    test_known_answers();
    test_bits_below();
    return failures != 0;
}
