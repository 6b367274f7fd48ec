/* Ranges, byte by byte: what overlaps, contains and divides what; and what is failed of a variable
 * after each change. */
#include "engine/range.h"

#include "engine/core/task.h"
#include "tests/check.h"

#include <hocket/runtime.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 96 };

static uint64_t random_state = 1;

static unsigned draw(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

/* Of bytes from 64 on: those before would show a subtraction that wraps. */
static hki_range draw_range(uint32_t pitch)
{
    hki_range range = {.begin = 64 + draw(BYTES / 2)};
    if (!draw(3)) {
        range.end = range.begin + 1 + draw(BYTES / 2);
        return range;
    }
    const unsigned rows = draw((BYTES / 2) / pitch);
    range.pitch = pitch;
    range.end = range.begin + rows * pitch + 1 + draw(pitch - 1);
    return range;
}

static bool has(hki_range range, uint64_t byte)
{
    return byte >= range.begin && byte < range.end &&
           (!range.pitch || (byte - range.begin) % range.pitch < hki_range_width(range));
}

typedef struct parts {
    unsigned char in[64 + BYTES], out[64 + BYTES];
} parts;

static void note_part(void *argument, hki_range part, bool is_in)
{
    parts *self = argument;
    CHECK(part.begin < part.end && part.end <= 64 + BYTES);
    CHECK(!part.pitch || hki_range_width(part) > 0);
    for (uint64_t byte = part.begin; byte < part.end; byte++)
        if (has(part, byte))
            (is_in ? self->in : self->out)[byte]++;
}

static void check_pair(hki_range a, hki_range b)
{
    const bool is_exact = !a.pitch || !b.pitch || a.pitch == b.pitch;
    bool shares = false, contains = true;
    for (uint64_t byte = 0; byte < 64 + BYTES; byte++) {
        shares |= has(a, byte) && has(b, byte);
        contains &= !has(b, byte) || has(a, byte);
    }
    CHECK(hki_ranges_overlap(a, b) || !shares);
    CHECK(hki_ranges_overlap(a, b) == hki_ranges_overlap(b, a));
    CHECK(!hki_range_contains(a, b) || contains);
    parts found = {{0}, {0}};
    const bool is_divided = hki_range_divide(a, b, note_part, &found);
    CHECK(is_divided || !is_exact);
    for (uint64_t byte = 0; is_divided && byte < 64 + BYTES; byte++) {
        CHECK(found.in[byte] == (has(a, byte) && has(b, byte)));
        CHECK(found.out[byte] == (has(a, byte) && !has(b, byte)));
    }
}

static void test_pairs(void)
{
    for (int i = 0; i < 200000; i++) {
        const uint32_t pitch = 2 + draw(15);
        check_pair(draw_range(pitch), draw_range(draw(8) ? pitch : 2 + draw(15)));
    }
    /* Two tiles of one row of tiles share no byte; the engine sees it. */
    const hki_range left = {0, 3 * 64 + 16, 64}, right = {16, 3 * 64 + 32, 64}, all = {0, 256, 0};
    CHECK(!hki_ranges_overlap(left, right) && !hki_ranges_overlap(right, left));
    CHECK(hki_ranges_overlap(left, all) && hki_range_contains(all, left));
    CHECK(!hki_range_contains(left, all));
    CHECK(hki_ranges_overlap(right, (hki_range){0, UINT64_MAX, 0}));
}

/* ---- failures ---------------------------------------------------------------------------------
 */

typedef struct byte {
    const hk_status *status; /* NULL: good */
    bool intact;
} byte;

static void fail(hki_var *var, byte *bytes, hki_range range, const hk_status *status, bool intact)
{
    hki_var_fail(var, range, status, intact);
    for (uint64_t i = range.begin; i < range.end; i++)
        if (has(range, i))
            bytes[i] = (byte){status, intact && (!bytes[i].status || bytes[i].intact)};
}

static void end(hki_var *var, byte *bytes, hki_range range, bool only_intact)
{
    hki_var_end_failures(var, range, only_intact);
    for (uint64_t i = range.begin; i < range.end; i++)
        if (has(range, i) && (!only_intact || bytes[i].intact))
            bytes[i] = (byte){NULL, false};
}

static void check_bytes(hki_var *var, const byte *bytes)
{
    for (uint64_t i = 0; i < 64 + BYTES; i++) {
        const hk_status *status = hki_var_failure(var, (hki_range){i, i + 1, 0});
        CHECK(status == bytes[i].status);
        hk_status_release(status);
    }
}

static void test_failures(void)
{
    CHECK(hk_ok(hk_runtime_init(NULL)));
    const hk_status *statuses[4];
    for (int i = 0; i < 4; i++)
        statuses[i] = hki_status_create(HK_INJECTED, NULL, "%d", i);
    for (int round = 0; round < 300; round++) {
        hki_var var;
        byte bytes[64 + BYTES] = {{NULL, false}};
        const uint32_t pitch = 2 + draw(15);
        hki_var_init(&var, hki_runtime_default());
        for (int i = 0; i < 40; i++) {
            const hki_range range = draw_range(pitch);
            if (draw(2))
                fail(&var, bytes, range, statuses[draw(4)], draw(2));
            else
                end(&var, bytes, range, draw(2));
            check_bytes(&var, bytes);
        }
        hki_var_deinit(&var);
    }
    for (int i = 0; i < 4; i++)
        hk_status_release(statuses[i]);
    hk_runtime_deinit();
}

int main(void)
{
    test_pairs();
    test_failures();
    return check_result();
}
