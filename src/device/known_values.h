/* What the host knows of whole numbers in a device's memory, having seen them on their way there: kernels that check such
 * numbers, as those of labels, will find them good, and what comes after need not wait for that to be told.
 *
 * A version stands for what an array's memory holds: which write of it was the last (hki_task_spec.versions). Only the
 * last few copies are known. Thread-safe; no function blocks for long. */
#ifndef HOCKET_DEVICE_KNOWN_VALUES_H
#define HOCKET_DEVICE_KNOWN_VALUES_H

#include "base/sync.h"

#include <hocket/base.h>

enum {
    HKI_KNOWN_COPIES = 64,
    HKI_KNOWN_MAX_BYTES = 1 << 19 /* reading more would take too long */
};

/* Zeroed: nothing is known. */
typedef struct hki_known_values {
    hki_lock lock;
    uint64_t noted; /* copies so far */
    struct hki_known_copy {
        uint64_t version;    /* 0: none */
        uint64_t begin, end; /* bytes of the array's memory */
        int64_t least, most;
    } copies[HKI_KNOWN_COPIES];
} hki_known_values;

/* Bytes from `begin` on hold the numbers at `data`, of the host's memory, once the write of that version is done. Other
 * dtypes than int32, int64 and uint8, and too many numbers, are left out. */
void hki_known_values_note(hki_known_values *self, uint64_t version, uint64_t begin,
                           const void *data, uint64_t bytes, hk_dtype dtype);
/* Whether all numbers of these bytes are known to be in [0, limit) at that version. */
bool hki_known_values_are_within(hki_known_values *self, uint64_t version, uint64_t begin,
                                 uint64_t end, int64_t limit);

#endif
