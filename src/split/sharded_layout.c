#include "split/sharded.h"

#include "array/array.h"
#include "base/integer.h"

#include <stdlib.h>

enum {
    LINE = 16,             /* elements that parts are multiples of: a cache line of float32 */
    BUCKET_BYTES = 4 << 20 /* about; as of hk_group_all_reduce */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

size_t hki_layout_bytes(const hki_shard_layout *self)
{
    return sizeof *self + ((size_t)self->count + 1) * sizeof *self->starts;
}

hki_shard_layout *hki_layout_create(hk_array *const *params, int n, int count, hk_group *group)
{
    const hki_shard_layout begun = {.group = group,
                                    .n = n,
                                    .count = count,
                                    .ranks = group ? hk_group_size(group) : 1,
                                    .rank = group ? hk_group_rank(group) : 0,
                                    .dtype = params[0]->dtype};
    hki_shard_layout *self = calloc(1, hki_layout_bytes(&begun));
    if (!self)
        return NULL;
    *self = begun;
    for (int i = 0; i < count; i++)
        self->starts[i + 1] = self->starts[i] + params[(size_t)i * (size_t)n]->size;
    self->total = self->starts[count];
    self->each = hki_round_up(hki_divide_up(self->total, (int64_t)n * self->ranks), LINE);
    self->slice = hki_round_up(
        hki_divide_up(BUCKET_BYTES, (int64_t)hk_dtype_bytes(self->dtype) * self->ranks), LINE);
    if (self->ranks == 1 && self->each > 0) /* devices take them by parameter */
        self->slice = self->each;
    return self;
}

int64_t hki_layout_buckets(const hki_shard_layout *self)
{
    return hki_divide_up(self->each, self->slice);
}

int64_t hki_layout_slice(const hki_shard_layout *self, int64_t bucket)
{
    return least(self->slice, self->each - bucket * self->slice);
}

static hki_shard_range range_at(const hki_shard_layout *self, int64_t begin, int64_t size)
{
    return (hki_shard_range){least(begin, self->total), least(begin + size, self->total), 0};
}

hki_shard_range hki_layout_bucket(const hki_shard_layout *self, int d, int64_t bucket)
{
    const int64_t ranks = self->ranks;
    return range_at(self, d * ranks * self->each + bucket * ranks * self->slice,
                    ranks * hki_layout_slice(self, bucket));
}

hki_shard_range hki_layout_part(const hki_shard_layout *self, int d, int64_t bucket, int rank)
{
    const int64_t ranks = self->ranks, own = hki_layout_slice(self, bucket);
    return range_at(self, d * ranks * self->each + bucket * ranks * self->slice + rank * own, own);
}

bool hki_layout_next(const hki_shard_layout *self, hki_shard_range *left, hki_shard_piece *part)
{
    if (left->begin >= left->end)
        return false;
    while (self->starts[left->param + 1] <= left->begin)
        left->param++;
    const int64_t start = self->starts[left->param];
    const int64_t end = least(left->end, self->starts[left->param + 1]);
    part->param = left->param;
    part->begin = left->begin - start;
    part->end = end - start;
    left->begin = end;
    return true;
}
