/* Large blocks of a pool: parts of segments, which hold parts of any size side by side, so that what is freed serves other
 * sizes, too. Guarded by the pool's lock. */
#ifndef HOCKET_DEVICE_RANGES_H
#define HOCKET_DEVICE_RANGES_H

#include "device/device.h"

enum { HKI_RANGE_LEAST = 16 << 10 }; /* bytes of a large block */

typedef struct hki_segment hki_segment;

typedef struct hki_ranges {
    hki_segment *segments;
    int segment_count;
    uint64_t kept_bytes; /* that are free, and may be resident */
} hki_ranges;

/* Whether the device's class can have them. */
bool hki_ranges_serve(const hki_device *device);
/* A block: of what is kept, if that has room, else, where `may_grow`, of memory that is not resident. NULL: there is none. */
void *hki_ranges_take(hki_ranges *ranges, hki_device *device, size_t bytes, bool may_grow);
void hki_ranges_put(hki_ranges *ranges, void *data, size_t bytes);
/* Gives what is kept back to the system, largest first, until at most so many bytes are; with 0 whole segments, too. */
void hki_ranges_trim(hki_ranges *ranges, hki_device *device, uint64_t keep_bytes);
/* A block, and what is kept beside it, goes to the system. */
void hki_ranges_give_back(hki_ranges *ranges, hki_device *device, void *data, size_t bytes);
/* Nothing is in use. */
void hki_ranges_deinit(hki_ranges *ranges, hki_device *device);

#endif
