/* What a bucket has on each device of this rank. */
#include "collective/reduce_task.h"
#include "op/call/transfer.h"
#include "world/bucket.h"

#include <stdlib.h>

static hk_array *array_of(const hki_bucket *self, const hki_bucket_span *its, int device)
{
    return self->of->arrays[its->array * self->of->n + device];
}

static hk_array *view(hk_array *x, int64_t begin, int64_t end)
{
    return hki_array_view(x, hk_shape(end - begin), (int64_t[]){1}, x->offset + begin);
}

static hk_array *span_of_array(const hki_bucket *self, const hki_bucket_span *its, int device)
{
    return view(array_of(self, its, device), its->begin, its->end);
}

/* The device that adds has all of it in reach. */
static bool is_near(const hki_bucket *self, int device)
{
    hki_device *adds = self->of->device;
    for (int s = 0; s < self->span_count; s++) {
        hki_device *its = array_of(self, &self->spans[s], device)->storage->device;
        if (its != adds && !adds->class->can_access(adds, its))
            return false;
    }
    return true;
}

bool hki_bucket_bring(hki_bucket *self)
{
    const hki_reduction *of = self->of;
    self->brought = calloc((size_t)of->n, sizeof(hk_array *));
    if (!self->brought)
        return false;
    for (int d = 1; d < of->n && of->operation != HKI_WORLD_BROADCAST; d++) {
        if (is_near(self, d))
            continue;
        hk_array *row = hki_array_create(of->device, hk_shape(self->size), self->dtype);
        if (row->failed)
            return false;
        self->brought[d] = row;
        for (int s = 0; s < self->span_count; s++) {
            const hki_bucket_span *its = &self->spans[s];
            hki_transfer(view(row, its->at, its->at + its->end - its->begin),
                         span_of_array(self, its, d), of->name, HKI_TRANSFER_COLLECTIVE);
        }
    }
    return true;
}

hk_array *hki_bucket_at(const hki_bucket *self, const hki_bucket_span *its, int device,
                        int64_t *offset)
{
    hk_array *row = self->brought[device];
    *offset = row ? its->at : its->begin;
    return row ? row : array_of(self, its, device);
}

hk_array *hki_bucket_view(const hki_bucket *self, const hki_bucket_span *its, int device,
                          int64_t from, int64_t to)
{
    int64_t offset;
    hk_array *x = hki_bucket_at(self, its, device, &offset);
    return view(x, offset + from, offset + to);
}

void hki_bucket_give(const hki_bucket *self, const hki_bucket_span *its, hk_array *from, int device)
{
    hk_array *to = span_of_array(self, its, device);
    if (hki_device_is_host(to->storage->device))
        hki_reduce_issue(to->storage->device, self->of->name, &from, 1, &to, 1, 0, from->size);
    else /* whose kernels for sums take fewer dtypes */
        hki_transfer(to, from, self->of->name, HKI_TRANSFER_COLLECTIVE);
}
