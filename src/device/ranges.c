#include "device/ranges.h"

#include "base/sanitizer.h"

#include <stdlib.h>
#include <string.h>

/* A unit is 65 lines of cache and not 64: blocks of powers of two begin at different places of a page. */
enum { UNIT = 65 * 64 };
static const size_t LEAST_SEGMENT = (size_t)256 << 20;

/* A free part. Those of a segment are sorted, and neighbours of one kind are one. */
typedef struct hki_range {
    size_t begin, units;
    bool is_clean; /* not resident: never touched, or given back */
} hki_range;

struct hki_segment {
    char *data;
    size_t bytes, units, block_count;
    hki_range *free; /* with room for one more for each block, so that freeing does not fail */
    size_t free_count, capacity;
};

/* Where a block may begin: with free[first] of a segment. */
typedef struct place {
    hki_segment *segment;
    size_t first;
    size_t clean, left; /* units: that are not resident; of the last free part, that stay */
} place;

static size_t units_of(size_t bytes)
{
    return (bytes + UNIT - 1) / UNIT;
}

bool hki_ranges_serve(const hki_device *device)
{
    return device->class->discard && !HKI_ADDRESS_SANITIZER; /* which is to see each block freed */
}

/* ---- segments -------------------------------------------------------------------------------------------------- */

/* As large as all so far; their memory is resident when it is touched. Smaller ones where the system has no addresses. */
static hki_segment *add_segment(hki_ranges *ranges, hki_device *device, size_t units)
{
    size_t bytes = LEAST_SEGMENT;
    hki_segment *segments =
        realloc(ranges->segments, ((size_t)ranges->segment_count + 1) * sizeof *segments);
    if (!segments)
        return NULL;
    ranges->segments = segments;
    hki_segment *segment = &segments[ranges->segment_count];
    *segment = (hki_segment){.capacity = 16, .free_count = 1};
    for (int i = 0; i < ranges->segment_count; i++)
        bytes += segments[i].bytes;
    segment->free = malloc(segment->capacity * sizeof *segment->free);
    while (segment->free && !segment->data && bytes / 2 >= units * UNIT) {
        segment->data = device->class->allocate(device, bytes);
        segment->bytes = bytes;
        bytes /= 2;
    }
    if (segment->free && !segment->data) {
        segment->bytes = units * UNIT;
        segment->data = device->class->allocate(device, segment->bytes);
    }
    if (!segment->data) {
        free(segment->free);
        return NULL;
    }
    segment->units = segment->bytes / UNIT;
    segment->free[0] = (hki_range){0, segment->units, true};
    ranges->segment_count++;
    return segment;
}

static void drop_segment(hki_ranges *ranges, hki_device *device, int index)
{
    hki_segment *segment = &ranges->segments[index];
    device->class->release(device, segment->data, segment->bytes);
    free(segment->free);
    *segment = ranges->segments[--ranges->segment_count];
}

static hki_segment *segment_of(const hki_ranges *ranges, const char *data)
{
    for (int i = 0; i < ranges->segment_count; i++) {
        hki_segment *segment = &ranges->segments[i];
        if (data >= segment->data && data < segment->data + segment->bytes)
            return segment;
    }
    return NULL; /* not reached */
}

/* ---- free parts -------------------------------------------------------------------------------------------------- */

static void remove_free(hki_segment *segment, size_t at, size_t count)
{
    memmove(&segment->free[at], &segment->free[at + count],
            (segment->free_count - at - count) * sizeof *segment->free);
    segment->free_count -= count;
}

/* Whether free[at] and the next one are neighbours. */
static bool touches_next(const hki_segment *segment, size_t at)
{
    const hki_range *range = &segment->free[at];
    return at + 1 < segment->free_count && range->begin + range->units == range[1].begin;
}

static void merge(hki_segment *segment, size_t at)
{
    hki_range *range = &segment->free[at];
    if (touches_next(segment, at) && range->is_clean == range[1].is_clean) {
        range->units += range[1].units;
        remove_free(segment, at + 1, 1);
    }
}

/* What a block that begins with free[at] would take; false: there is no room. */
static bool try_place(const hki_segment *segment, size_t at, size_t units, place *found)
{
    size_t has = 0, clean = 0;
    for (size_t i = at;; i++) {
        const hki_range *range = &segment->free[i];
        const size_t part = range->units < units - has ? range->units : units - has;
        has += part;
        clean += range->is_clean ? part : 0;
        if (has == units) {
            *found = (place){(hki_segment *)segment, at, clean, range->units - part};
            return true;
        }
        if (!touches_next(segment, i))
            return false;
    }
}

/* The place that makes least resident and, of such, cuts the smallest part. */
static place find_place(const hki_ranges *ranges, size_t units)
{
    place best = {0};
    for (int i = 0; i < ranges->segment_count && !(best.segment && !best.clean); i++) {
        const hki_segment *segment = &ranges->segments[i];
        for (size_t at = 0; at < segment->free_count; at++) {
            place found;
            if (try_place(segment, at, units, &found) &&
                (!best.segment || found.clean < best.clean ||
                 (found.clean == best.clean && found.left < best.left)))
                best = found;
            if (best.segment && !best.clean && !best.left)
                return best;
        }
    }
    return best;
}

static bool reserve(hki_segment *segment)
{
    if (segment->free_count + segment->block_count + 2 <= segment->capacity)
        return true;
    hki_range *longer = realloc(segment->free, 2 * segment->capacity * sizeof *longer);
    if (longer) {
        segment->free = longer;
        segment->capacity *= 2;
    }
    return longer;
}

static void *take(hki_ranges *ranges, const place *from, size_t units)
{
    hki_segment *segment = from->segment;
    char *data = segment->data + segment->free[from->first].begin * UNIT;
    size_t at = from->first, rest = units;
    if (!reserve(segment))
        return NULL;
    while (segment->free[at].units <= rest && rest > 0)
        rest -= segment->free[at++].units;
    if (rest > 0) {
        segment->free[at].begin += rest;
        segment->free[at].units -= rest;
    }
    remove_free(segment, from->first, at - from->first);
    segment->block_count++;
    ranges->kept_bytes -= (units - from->clean) * UNIT;
    return data;
}

void *hki_ranges_take(hki_ranges *ranges, hki_device *device, size_t bytes, bool may_grow)
{
    const size_t units = units_of(bytes);
    place found = find_place(ranges, units);
    if (!may_grow && (!found.segment || found.clean))
        return NULL;
    if (!found.segment && (found.segment = add_segment(ranges, device, units)))
        found.clean = units;
    return found.segment ? take(ranges, &found, units) : NULL;
}

/* Index of the first free part behind that unit. */
static size_t find_behind(const hki_segment *segment, size_t unit)
{
    size_t low = 0, high = segment->free_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (segment->free[middle].begin < unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the index of the free part that it is in then. */
static size_t put(hki_ranges *ranges, hki_segment *segment, const char *data, size_t units)
{
    const size_t begin = (size_t)(data - segment->data) / UNIT;
    const size_t at = find_behind(segment, begin);
    memmove(&segment->free[at + 1], &segment->free[at],
            (segment->free_count - at) * sizeof *segment->free);
    segment->free[at] = (hki_range){begin, units, false};
    segment->free_count++;
    segment->block_count--;
    ranges->kept_bytes += units * UNIT;
    merge(segment, at);
    if (at == 0)
        return at;
    const size_t before = segment->free_count;
    merge(segment, at - 1);
    return segment->free_count < before ? at - 1 : at;
}

void hki_ranges_put(hki_ranges *ranges, void *data, size_t bytes)
{
    put(ranges, segment_of(ranges, data), data, units_of(bytes));
}

/* ---- back to the system -------------------------------------------------------------------------------------------- */

static void discard(hki_ranges *ranges, hki_device *device, hki_segment *segment, size_t at)
{
    hki_range *range = &segment->free[at];
    device->class->discard(device, segment->data + range->begin * UNIT, range->units * UNIT);
    ranges->kept_bytes -= range->units * UNIT;
    range->is_clean = true;
    merge(segment, at);
    if (at > 0)
        merge(segment, at - 1);
}

void hki_ranges_give_back(hki_ranges *ranges, hki_device *device, void *data, size_t bytes)
{
    hki_segment *segment = segment_of(ranges, data);
    discard(ranges, device, segment, put(ranges, segment, data, units_of(bytes)));
}

/* False: there is none that is resident. */
static bool discard_largest(hki_ranges *ranges, hki_device *device)
{
    hki_segment *segment = NULL;
    size_t at = 0;
    for (int i = 0; i < ranges->segment_count; i++)
        for (size_t j = 0; j < ranges->segments[i].free_count; j++) {
            const hki_range *range = &ranges->segments[i].free[j];
            if (!range->is_clean && (!segment || range->units > segment->free[at].units)) {
                segment = &ranges->segments[i];
                at = j;
            }
        }
    if (segment)
        discard(ranges, device, segment, at);
    return segment;
}

static void discard_all(hki_ranges *ranges, hki_device *device, hki_segment *segment)
{
    for (size_t at = segment->free_count; at-- > 0;)
        if (!segment->free[at].is_clean)
            discard(ranges, device, segment, at);
}

void hki_ranges_trim(hki_ranges *ranges, hki_device *device, uint64_t keep_bytes)
{
    while (keep_bytes && ranges->kept_bytes > keep_bytes && discard_largest(ranges, device))
        ;
    for (int i = 0; !keep_bytes && i < ranges->segment_count; i++)
        discard_all(ranges, device, &ranges->segments[i]);
    for (int i = ranges->segment_count - 1; !keep_bytes && i >= 0; i--)
        if (!ranges->segments[i].block_count)
            drop_segment(ranges, device, i);
}

void hki_ranges_deinit(hki_ranges *ranges, hki_device *device)
{
    while (ranges->segment_count > 0)
        drop_segment(ranges, device, ranges->segment_count - 1);
    free(ranges->segments);
}
