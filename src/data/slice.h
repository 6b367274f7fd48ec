/* What one device gets of a batch: an array of each field, filled by a task. */
#ifndef HOCKET_DATA_SLICE_H
#define HOCKET_DATA_SLICE_H

#include "array/array.h"
#include "data/data_set.h"

/* Counted, in no scope; as many as the set has fields. */
typedef struct hki_batch_slice {
    hk_array *fields[HK_DATA_MOST_FIELDS];
} hki_batch_slice;

/* Which samples an epoch takes. */
typedef struct hki_sampling {
    hk_data_set *set;
    const int64_t *order; /* NULL: as they are */
    uint64_t seed;
    uint32_t epoch;
} hki_sampling;

/* Issues the task that fills new arrays with samples first to first + rows - 1 of the order. Arrays have failed where there was no
 * memory for that. */
hki_batch_slice hki_slice_make(const hki_sampling *from, hki_device *device, int64_t first,
                               int64_t rows);
void hki_slice_drop(hki_batch_slice *self);

#endif
