/* Bytes that calls use of a variable: all from one to another, or rows of these, such as a tile's
 * in the memory of its matrix. Two calls conflict only where their ranges have a byte in common. */
#ifndef HOCKET_ENGINE_RANGE_H
#define HOCKET_ENGINE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hki_range {
    uint64_t begin, end; /* begin < end */
    /* 0: every byte. Else from one row's begin to the next one's: rows have hki_range_width bytes,
     * fewer than that, and the last one ends the range. */
    uint32_t pitch;
} hki_range;

static inline uint64_t hki_range_width(hki_range range)
{
    const uint64_t bytes = range.end - range.begin;
    return range.pitch ? bytes % range.pitch : bytes;
}

/* Where, in rows of this pitch that begin where `of` does, `at` lies. */
static inline uint64_t hki_range_column(hki_range of, uint64_t at, uint64_t pitch)
{
    return at >= of.begin ? (at - of.begin) % pitch : pitch - 1 - (of.begin - at - 1) % pitch;
}

/* Side by side in rows of one pitch. False also where it is not easily told. */
static inline bool hki_ranges_alternate(hki_range a, hki_range b)
{
    const uint64_t pitch = a.pitch ? a.pitch : b.pitch;
    if (a.pitch && b.pitch && a.pitch != b.pitch)
        return false;
    const uint64_t column = hki_range_column(a, b.begin, pitch);
    return column >= hki_range_width(a) && hki_range_width(b) <= pitch - column;
}

/* True also where it is not easily told: rows of different pitches. */
static inline bool hki_ranges_overlap(hki_range a, hki_range b)
{
    return a.begin < b.end && b.begin < a.end &&
           !((a.pitch | b.pitch) && hki_ranges_alternate(a, b));
}

static inline bool hki_ranges_equal(hki_range a, hki_range b)
{
    return a.begin == b.begin && a.end == b.end && a.pitch == b.pitch;
}

/* `inner` has no byte that `outer` has not. */
static inline bool hki_range_contains(hki_range outer, hki_range inner)
{
    if (inner.begin < outer.begin || outer.end < inner.end)
        return false;
    if (!outer.pitch)
        return true;
    return (!inner.pitch || inner.pitch == outer.pitch) &&
           hki_range_column(outer, inner.begin, outer.pitch) + hki_range_width(inner) <=
               hki_range_width(outer);
}

/* Calls `part` for disjoint ranges that are `range` together: is_in: those in `by`. Rows of
 * different pitches that overlap are not taken apart: then it is called for none, and the result is
 * false. */
typedef void hki_range_part_fn(void *argument, hki_range part, bool is_in);
bool hki_range_divide(hki_range range, hki_range by, hki_range_part_fn *part, void *argument);

#endif
