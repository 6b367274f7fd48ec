/* An all-reduce by the library's own, MPI's or NCCL's, for who asks for it: the library adds, in an order of its own. This rank's devices are added first. */
#include "collective/reduce_task.h"
#include "world/bucket.h"

#include <stdlib.h>

bool hki_library_sums(const hk_group *group, hk_dtype dtype, int64_t size)
{
    return group->world->uses_library && group == group->world->group && size <= INT32_MAX &&
           dtype != HK_BOOL && !hki_dtype_is_half(dtype) && !hki_dtype_is_complex(dtype);
}

/* A whole span, of a device of this rank. */
static hk_array *part_of_array(const hki_bucket *self, const hki_bucket_span *its, int device)
{
    return hki_bucket_view(self, its, device, 0, its->end - its->begin);
}

static hk_array *part_of_row(const hki_bucket_span *its, hk_array *row)
{
    return hki_array_view(row, hk_shape(its->end - its->begin), (int64_t[]){1},
                          row->offset + its->at);
}

/* The row becomes the sums of this rank's devices. */
static bool sum_own(const hki_bucket *self, hk_array *row)
{
    const hki_reduction *of = self->of;
    hk_array **inputs = calloc((size_t)of->n, sizeof(hk_array *));
    for (int s = 0; s < self->span_count && inputs; s++) {
        const hki_bucket_span *its = &self->spans[s];
        hk_array *output = part_of_row(its, row);
        for (int d = 0; d < of->n; d++)
            inputs[d] = part_of_array(self, its, d);
        hki_reduce_issue(of->device, of->name, inputs, of->n, &output, 1, 0, its->end - its->begin);
    }
    free(inputs);
    return inputs;
}

static void copy_back(const hki_bucket *self, hk_array *row)
{
    for (int s = 0; s < self->span_count; s++) {
        const hki_bucket_span *its = &self->spans[s];
        hk_array *from = part_of_row(its, row);
        for (int d = 0; d < self->of->n; d++)
            hki_bucket_give(self, its, from, d);
    }
}

static bool exchange(const hki_bucket *self, hk_array *row)
{
    const hki_reduction *of = self->of;
    const hki_group_operand operand = {.x = row, .end = row->size, .mode = HKI_READ | HKI_WRITE};
    const hki_exchange_plan plan = {.call = of->call,
                                    .operation = HKI_WORLD_REDUCE,
                                    .peer = -1,
                                    .root = HKI_BY_LIBRARY,
                                    .arrays = of->n,
                                    .dtype = self->dtype,
                                    .shape = hk_shape(self->size),
                                    .operands = &operand,
                                    .operand_count = 1,
                                    .device = of->host};
    return hki_exchange_issue(&plan);
}

bool hki_bucket_library_sum(const hki_bucket *self)
{
    const bool is_whole = self->span_count == 1 && self->of->n == 1;
    hk_array *row = is_whole
                        ? part_of_array(self, &self->spans[0], 0)
                        : hki_array_create(self->of->device, hk_shape(self->size), self->dtype);
    if (row->failed || (!is_whole && !sum_own(self, row)) || !exchange(self, row))
        return false;
    if (!is_whole)
        copy_back(self, row);
    return true;
}
