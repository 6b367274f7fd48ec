/* Sums and broadcasts over all devices of all ranks, in place, in buckets. */
#include "base/text.h"
#include "collective/write_order.h"
#include "op/call/capture.h"
#include "op/call/transfer.h"
#include "world/bucket.h"
#include "world/route.h"

#include <hocket/call.h>
#include <hocket/collective.h>
#include <limits.h>
#include <stdlib.h>

enum {
    BUCKET_BYTES = HKI_EARLY_BYTES,
    SMALL_BYTES = 32 << 10 /* of a bucket that goes whole */
};

/* ---- buckets ------------------------------------------------------------------------------------------------------- */

static void fail_arrays(const hki_reduction *self, hk_array *const *arrays)
{
    for (int i = 0; i < self->count * self->n; i++)
        hki_array_fail_in_place(arrays[i], self->name, NULL, 0, HK_OUT_OF_MEMORY,
                                "out of host memory");
}

static bool flush(const hki_reduction *self, hki_bucket *bucket)
{
    HK_SCOPE;
    const size_t bytes = (size_t)bucket->size * hk_dtype_bytes(bucket->dtype);
    bucket->is_small = bytes <= SMALL_BYTES;
    const bool is_good = hki_bucket_bring(bucket) &&
                         (self->operation == HKI_WORLD_BROADCAST ? hki_bucket_broadcast
                                                                 : hki_bucket_all_reduce)(bucket);
    free(bucket->brought);
    bucket->span_count = 0;
    bucket->size = 0;
    return is_good;
}

/* Elements that the bucket has room for; not 0 when it is empty. */
static int64_t room_in(const hki_reduction *self, const hki_bucket *bucket, size_t element_bytes)
{
    const int64_t most = (int64_t)(self->bucket_bytes / element_bytes);
    return most > bucket->size ? most - bucket->size : bucket->size == 0;
}

/* At least one exchange takes place, so that all ranks know that they call the same. */
static bool run(const hki_reduction *self)
{
    hki_bucket_span *spans = malloc(((size_t)self->count + 1) * sizeof *spans);
    hki_bucket bucket = {.of = self, .spans = spans};
    bool is_good = spans != NULL;
    for (int i = 0; i < self->count && is_good; i++) {
        const hk_array *x = self->arrays[i * self->n];
        for (int64_t begin = 0; begin < x->size && is_good;) {
            const bool fits = bucket.size == 0 || bucket.dtype == x->dtype;
            const int64_t room = fits ? room_in(self, &bucket, hk_dtype_bytes(x->dtype)) : 0;
            const int64_t size = x->size - begin < room ? x->size - begin : room;
            if (size == 0) {
                is_good = flush(self, &bucket);
                continue;
            }
            bucket.dtype = x->dtype;
            spans[bucket.span_count++] = (hki_bucket_span){i, begin, begin + size, bucket.size};
            bucket.size += size;
            begin += size;
        }
    }
    if (is_good && (bucket.size > 0 || self->call->exchange_count == 0))
        is_good = flush(self, &bucket);
    free(spans);
    return is_good;
}

/* ---- checks ---------------------------------------------------------------------------------------------------------- */

static bool check_pairs(const hki_group_work *work)
{
    for (int i = 1; i < work->count; i++)
        for (int j = 0; j < i; j++) {
            if (!hki_arrays_overlap(work->arrays[i], work->arrays[j]))
                continue;
            hki_group_refuse(work, true, HK_INVALID_ARGUMENT, "arrays %d and %d share memory", j,
                             i);
            return false;
        }
    return true;
}

static bool check(const hki_group_work *work, int n)
{
    const bool sums = work->operation == HKI_WORLD_REDUCE;
    for (int i = 0; i < work->count; i++) {
        hk_array *x = work->arrays[i], *first = work->arrays[i - i % n];
        char why[320], its[224], wanted[224];
        hk_code code;
        if (!hki_group_may_write(x, &code, why, sizeof why)) {
            hki_group_refuse(work, true, code, "array %d of device %d %s", i / n, i % n, why);
            return false;
        }
        if (x->dtype != first->dtype || !hki_dims_equal(&x->shape, &first->shape)) {
            hki_array_describe(x, its, sizeof its);
            hki_array_describe(first, wanted, sizeof wanted);
            hki_group_refuse(work, true, HK_INVALID_ARGUMENT,
                             "array %d is %s on device %d, but %s on device 0", i / n, its, i % n,
                             wanted);
            return false;
        }
        if (sums && (x->dtype == HK_BOOL || hki_dtype_is_half(x->dtype))) {
            hki_group_refuse(work, true, HK_UNSUPPORTED, "%s arrays have no sum; hk_cast converts",
                             hk_dtype_name(x->dtype));
            return false;
        }
    }
    if (!hki_group_misses_direct(work->group, work->arrays, n, work->count / n, sums))
        return check_pairs(work);
    hki_group_refuse(
        work, true, HK_UNSUPPORTED,
        "these arrays cannot go from device to device, as HOCKET_WORLD_ROUTE=direct "
        "demands: they are complex, or the first device of one is not that of another");
    return false;
}

/* How many arrays a list has; 0: it is none. */
static int list_size(hk_array *const *arrays, int n, int count)
{
    return arrays && n > 0 && count > 0 && count <= INT_MAX / n ? n * count : 0;
}

static bool check_list(const hki_group_work *work, int n, int count)
{
    const hk_status *useless = hki_group_check(work->group);
    if (useless) {
        hki_group_refuse(work, true, hk_status_code(useless), "%s", hk_status_message(useless));
        hk_status_release(useless);
        return false;
    }
    if (n >= 1 && (count == 0 || work->count > 0))
        return true;
    hki_group_refuse(
        &(hki_group_work){.group = work->group, .operation = work->operation, .peer = -1}, false,
        HK_INVALID_ARGUMENT, "a list of %d arrays on %d devices, at %s, is none", count, n,
        hki_given(work->arrays));
    return false;
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

/* As hki_capture_again_fn has it. */
typedef struct call_options {
    hk_group *group;
    hki_world_operation operation;
    int n, count, root;
    size_t bucket_bytes;
} call_options;

/* The sum of one rank, or none at all. */
static void alone(const call_options *options, hk_array *const *arrays)
{
    if (options->operation == HKI_WORLD_REDUCE)
        (hk_all_reduce_list)(arrays, options->n, options->count, HK_ALL_REDUCE_DEFAULT);
    for (int i = 0; i < options->count; i++) {
        hk_array *const *its = arrays + i * options->n;
        for (int d = 1; d < options->n && options->operation == HKI_WORLD_BROADCAST; d++)
            (hk_assign)(its[d], its[0]);
    }
}

/* arrays: as the call has them; they go in the order given. */
static void exchange(hki_reduction *self, const call_options *options, hk_array *const *arrays,
                     const int *order)
{
    self->call = hki_group_call_begin(self->group);
    if (!self->call) {
        fail_arrays(self, self->arrays);
        return;
    }
    hki_group_call_add(self->call, options->count);
    hki_group_call_add(self->call, (int64_t)self->bucket_bytes);
    for (int i = 0; i < self->count; i++) {
        hki_group_call_add_shape(self->call, &arrays[i * self->n]->shape,
                                 arrays[i * self->n]->dtype);
        hki_group_call_add_order(self->call, order[i]);
    }
    self->leaf_count = hki_sum_leaves(self->group->size, self->n, &self->leaves);
    if (!self->leaf_count || !run(self))
        fail_arrays(self, self->arrays);
    free(self->leaves);
    hki_group_call_end(self->call);
}

/* On what is contiguous and at the place of the work, which is then written back. */
static void together(const call_options *options, hk_array *const *arrays)
{
    const int all = options->n * options->count;
    hk_array **placed = calloc(2 * (size_t)all + 1, sizeof(hk_array *)), **ordered = placed + all;
    int *order = malloc(((size_t)options->count + 1) * sizeof *order);
    hki_reduction self = {.group = options->group,
                          .operation = options->operation,
                          .name = hki_world_operation_name(options->operation),
                          .arrays = placed,
                          .n = options->n,
                          .count = options->count,
                          .root = options->root,
                          .bucket_bytes =
                              options->bucket_bytes ? options->bucket_bytes : BUCKET_BYTES};
    const bool sums = options->operation == HKI_WORLD_REDUCE;
    if (!placed || !order || !hki_write_order(arrays, options->n, options->count, sums, order)) {
        fail_arrays(&self, arrays);
        free(placed);
        free(order);
        return;
    }
    HKI_HOLD(held);
    self.device = all > 0
                      ? hki_group_place(options->group, arrays, options->n, options->count, sums)
                      : hki_device_hold((hk_device){NULL}, &held);
    self.host = all > 0 ? hki_group_device(arrays[0]) : self.device;
    for (int i = 0; i < all; i++)
        ordered[i] = arrays[order[i / options->n] * options->n + i % options->n];
    for (int i = 0; i < all; i++)
        placed[i] = hki_group_at(self.device, ordered[i], self.name);
    exchange(&self, options, arrays, order);
    for (int i = 0; i < all; i++) {
        if (placed[i] == ordered[i])
            continue;
        if (ordered[i]->storage->device == placed[i]->storage->device)
            (hk_assign)(ordered[i], placed[i]);
        else
            hki_transfer(ordered[i], placed[i], self.name, HKI_TRANSFER_COLLECTIVE);
    }
    free(placed);
    free(order);
}

static void again(hk_array *const *arrays, int count, const void *argument);

static size_t early_bytes(const call_options *options)
{
    if (options->operation != HKI_WORLD_REDUCE || options->group->size * options->n < 2)
        return 0;
    return options->bucket_bytes ? options->bucket_bytes : BUCKET_BYTES;
}

static void call(const call_options *options, hk_array *const *arrays)
{
    const int all = options->n * options->count;
    const hki_group_work work = {options->group, options->operation, arrays, all, -1};
    if (!check(&work, options->n))
        return;
    hki_capture *capture = hki_capturing;
    if (capture)
        hki_hooks.capture->compound_begin(capture, hki_world_operation_name(options->operation),
                                          again, arrays, all, options, sizeof *options,
                                          early_bytes(options));
    if (options->group->size == 1)
        alone(options, arrays);
    else
        together(options, arrays);
    if (capture)
        hki_hooks.capture->compound_end(capture);
}

static void again(hk_array *const *arrays, int count, const void *argument)
{
    (void)count;
    HK_SCOPE;
    call(argument, arrays);
}

void(hk_group_all_reduce)(hk_group *group, hk_array *const *arrays, int n, int count,
                          size_t bucket_bytes)
{
    HK_SCOPE;
    const call_options options = {group, HKI_WORLD_REDUCE, n, count, 0, bucket_bytes};
    const hki_group_work work = {group, HKI_WORLD_REDUCE, arrays, list_size(arrays, n, count), -1};
    if (check_list(&work, n, count))
        call(&options, arrays);
}

void(hk_group_broadcast)(hk_group *group, hk_array *const *arrays, int n, int count, int root)
{
    HK_SCOPE;
    const call_options options = {group, HKI_WORLD_BROADCAST, n, count, root, 0};
    const hki_group_work work = {group, HKI_WORLD_BROADCAST, arrays, list_size(arrays, n, count),
                                 -1};
    if (!check_list(&work, n, count))
        return;
    if (root < 0 || root >= group->size)
        hki_group_refuse(&work, true, HK_OUT_OF_RANGE, "root is %d; the group has ranks 0 to %d",
                         root, group->size - 1);
    else
        call(&options, arrays);
}
