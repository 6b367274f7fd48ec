#include "check.h"

#include "device/known_values.h"

static void test_ranges(void)
{
    static hki_known_values known;
    const int64_t wide[] = {3, 0, 9, 4};
    const int32_t signs[] = {3, -1, 2};
    const uint8_t bytes[] = {255, 7};
    hki_known_values_note(&known, 5, 16, wide, sizeof wide, HK_I64);
    CHECK(hki_known_values_are_within(&known, 5, 16, 48, 10));
    CHECK(hki_known_values_are_within(&known, 5, 24, 32, 10)); /* a part of it */
    CHECK(!hki_known_values_are_within(&known, 5, 16, 48, 9));
    CHECK(!hki_known_values_are_within(&known, 5, 8, 48, 10));
    CHECK(!hki_known_values_are_within(&known, 5, 16, 56, 10));
    CHECK(!hki_known_values_are_within(&known, 6, 16, 48, 10));
    hki_known_values_note(&known, 6, 0, signs, sizeof signs, HK_I32);
    CHECK(!hki_known_values_are_within(&known, 6, 0, 12, 10));
    hki_known_values_note(&known, 7, 0, bytes, sizeof bytes, HK_U8);
    CHECK(hki_known_values_are_within(&known, 7, 0, 2, 256));
    CHECK(!hki_known_values_are_within(&known, 7, 0, 2, 255));
}

static void test_unknown(void)
{
    static hki_known_values known;
    static int64_t many[HKI_KNOWN_MAX_BYTES / 8 + 1];
    const float numbers[] = {1, 2};
    CHECK(!hki_known_values_are_within(&known, 0, 0, 8, 10));
    hki_known_values_note(&known, 1, 0, numbers, sizeof numbers, HK_F32);
    hki_known_values_note(&known, 2, 0, many, sizeof many, HK_I64);
    hki_known_values_note(&known, 3, 0, many, 0, HK_I64);
    for (uint64_t version = 0; version < 4; version++)
        CHECK(!hki_known_values_are_within(&known, version, 0, 0, 10));
    /* The last ones are known. */
    for (uint64_t version = 1; version <= HKI_KNOWN_COPIES + 1; version++)
        hki_known_values_note(&known, version, 0, many, 8, HK_I64);
    CHECK(!hki_known_values_are_within(&known, 1, 0, 8, 10));
    CHECK(hki_known_values_are_within(&known, 2, 0, 8, 10));
}

int main(void)
{
    test_ranges();
    test_unknown();
    return check_result();
}
