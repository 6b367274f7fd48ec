/* A bucket: a run of arrays, or a part of one, as one row of elements, that ranks sum or spread at once. */
#ifndef HOCKET_WORLD_BUCKET_H
#define HOCKET_WORLD_BUCKET_H

#include "world/group.h"

/* Elements [begin, end) of an array, on each device, at `at` of the bucket's row. */
typedef struct hki_bucket_span {
    int array;
    int64_t begin, end, at;
} hki_bucket_span;

typedef struct hki_reduction {
    hk_group *group;
    hki_group_call *call;
    hki_world_operation operation;
    const char *name;
    hk_array *const
        *arrays; /* contiguous, of the device or others of its class: [array * n + device] */
    int n, count, root;
    size_t bucket_bytes;
    hki_sum_leaf *leaves;
    int leaf_count;
    hki_device *device; /* that adds */
    hki_device *host;   /* for exchanges: the same, or an accelerator's */
} hki_reduction;

typedef struct hki_bucket {
    const hki_reduction *of;
    hk_dtype dtype;
    hki_bucket_span *spans;
    int span_count;
    int64_t size; /* elements */
    bool is_small;
    hk_array **
        brought; /* of each device: its row, near the device that adds; NULL: it is near by itself */
} hki_bucket;

/* ---- on the devices of this rank (bucket_parts.c) ---- */

/* Brings what the device that adds does not reach. False: no memory. `brought` is to be freed. In a scope. */
bool hki_bucket_bring(hki_bucket *self);
/* The array, near the device that adds, that has a span of a device, and from which element on. */
hk_array *hki_bucket_at(const hki_bucket *self, const hki_bucket_span *its, int device,
                        int64_t *offset);
/* Elements [from, to) of that span. */
hk_array *hki_bucket_view(const hki_bucket *self, const hki_bucket_span *its, int device,
                          int64_t from, int64_t to);
/* A device's span becomes the values of `from`, which is near the device that adds. */
void hki_bucket_give(const hki_bucket *self, const hki_bucket_span *its, hk_array *from,
                     int device);

/* ---- between ranks ---- */

/* Issue what becomes of a bucket. False when host memory is short. In a scope. */
bool hki_bucket_all_reduce(const hki_bucket *self);
/* The same by the library's own all-reduce: see library_sum.c. */
bool hki_bucket_library_sum(const hki_bucket *self);
/* Whether that is to be: asked for, and something that the library adds, in the group of all ranks. */
bool hki_library_sums(const hk_group *group, hk_dtype dtype, int64_t size);
/* From the first device of rank `root` of the group to all. */
bool hki_bucket_broadcast(const hki_bucket *self);

#endif
