/* What a cache of attention gets from a step: a row of keys and of values, each where its sample
 * is. In place, for one row in many: the rest is not even read. */
#include "op/attention/attention.h"

#include <inttypes.h>
#include <string.h>

enum { KEYS, VALUES, KEY, VALUE, AT };

/* keys and values (n, heads, capacity, size), key and value (n, heads, 1, size), at int64 (n,). */
static bool write_infer(hki_call *call)
{
    for (int i = KEYS; i <= VALUES; i++) {
        hk_dims row = call->inputs[i]->shape;
        if (row.ndim == 4)
            row.dims[2] = 1;
        const hki_shape_view *x = call->inputs[KEY + i], *at = call->inputs[AT];
        if (row.ndim != 4 || !hki_dims_equal(&x->shape, &row) ||
            x->dtype != call->inputs[i]->dtype || at->dtype != HK_I64 || at->shape.ndim != 1 ||
            at->shape.dims[0] != row.dims[0])
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "a step of another shape or dtype than the cache's first call");
        call->out_shape[i] = call->inputs[i]->shape;
        call->out_dtype[i] = call->inputs[i]->dtype;
    }
    return true;
}

static void write_plan(const hki_call *call, hki_plan *plan)
{
    int64_t key, value;
    if (!hki_dims_size(&call->inputs[KEY]->shape, &key) ||
        !hki_dims_size(&call->inputs[VALUE]->shape, &value))
        return;
    const double elements = (double)(key + value);
    plan->flops = elements;
    plan->work_ns = elements;
}

static void write_rows(const hki_tensor *all, const hki_tensor *before, const hki_tensor *one,
                       const int64_t *at, int64_t begin, int64_t end)
{
    const size_t item = hk_dtype_bytes(all->dtype), row = (size_t)all->dims[3] * item;
    const int64_t heads = all->dims[1], capacity = all->dims[2];
    const size_t sample = (size_t)(heads * capacity) * row;
    if (all->data != before->data && sample)
        memcpy((char *)all->data + (size_t)begin * sample,
               (const char *)before->data + (size_t)begin * sample, (size_t)(end - begin) * sample);
    for (int64_t i = begin * heads; i < end * heads; i++) {
        const int64_t to = at[i / heads];
        if (row && to >= 0 && to < capacity)
            memcpy((char *)all->data + (size_t)(i * capacity + to) * row,
                   (const char *)one->data + (size_t)i * row, row);
    }
}

static void write_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const int64_t *at = call->in[AT].data;
    write_rows(&call->out[KEYS], &call->in[KEYS], &call->in[KEY], at, begin, end);
    write_rows(&call->out[VALUES], &call->in[VALUES], &call->in[VALUE], at, begin, end);
}

const hk_op hki_op_cache_write = {
    HKI_OP_NAMED(cache_write),
    .signature = "keys, values, key, value, at",
    .doc = "Keys and values with a row of each sample written where `at` says.",
    .dtypes = HKI_FLOATS,
    .output_count = 2,
    .outputs = "keys, values",
    .contiguous = true,
    .internal = true,
    .host_only = true,
    .in_place = 1 << KEYS | 1 << VALUES,
    .infallible = true,
    .infer = write_infer,
    .split = HKI_SPLIT_ROWS,
    .plan = write_plan,
    .kernel = {[HKI_CPU] = write_kernel},
    .no_grad_why = "caches are not on the tape",
    .untested = "generate_test.c tests it",
};
