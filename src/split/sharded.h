/* Where the state of a sharded optimiser lies, over devices and ranks (ZeRO-1).
 *
 * All parameters are one vector in their order. Device d of each process has the d-th range of it, ranks * each elements. These lie in
 * buckets, of which rank r has the r-th part, so that ranks sum one bucket while gradients of others are still computed. A piece is
 * what a range has of one parameter. */
#ifndef HOCKET_SPLIT_SHARDED_H
#define HOCKET_SPLIT_SHARDED_H

#include "optim/optimizer.h"

#include <hocket/split.h>

typedef struct hki_shard_layout {
    hk_group *group; /* NULL: one rank */
    int n, count, ranks, rank;
    int64_t total;
    int64_t each,
        slice; /* of a device and a rank: elements in all, and of a bucket, but for the last one */
    hk_dtype dtype;
    int64_t starts[]; /* of each parameter, and the total */
} hki_shard_layout;

typedef struct hki_sharded {
    hki_shard_layout *layout;
    hk_array **params; /* counted, n * count; behind them room for as many, in a step */
} hki_sharded;

typedef struct hki_shard_piece {
    int param;
    int64_t begin, end; /* elements of it */
} hki_shard_piece;

typedef struct hki_shard_range {
    int64_t begin, end;
    int param; /* where to go on; 0 at first */
} hki_shard_range;

/* Of the parameters params[i * n + d]; group may be NULL. NULL: no memory. */
hki_shard_layout *hki_layout_create(hk_array *const *params, int n, int count, hk_group *group);
size_t hki_layout_bytes(const hki_shard_layout *self);

int64_t hki_layout_buckets(const hki_shard_layout *self);
/* A rank's part of a bucket, in elements. */
int64_t hki_layout_slice(const hki_shard_layout *self, int64_t bucket);
/* Of bucket `bucket` of device d; and what of it is that rank's. */
hki_shard_range hki_layout_bucket(const hki_shard_layout *self, int d, int64_t bucket);
hki_shard_range hki_layout_part(const hki_shard_layout *self, int d, int64_t bucket, int rank);
/* The next piece of a range, which gets shorter by it; false: none. */
bool hki_layout_next(const hki_shard_layout *self, hki_shard_range *left, hki_shard_piece *part);

/* hki_optimizer_frame's; context: hki_sharded. */
hk_array *hki_sharded_gather(void *context, const hk_optimizer *optimizer, int index);
void hki_sharded_scatter(void *context, hk_optimizer *optimizer, int index, hk_array *state);
const hk_status *hki_sharded_agree(void *context, const hk_status *own);

#endif
