/* Sums and broadcasts over all devices of all ranks, in place, in buckets.
 *
 * A bucket is a run of arrays, or a part of one, as one row of elements. Of a small one every rank gets everything and sums it.
 * Else rank r gets part r of all, sums that, and gives the sum to the others: as much traffic as the best that there is. */
#include "base/integer.h"
#include "base/sum_tree.h"
#include "collective/reduce_task.h"
#include "op/call/capture.h"
#include "op/call/transfer.h"
#include "world/group.h"

#include <hocket/collective.h>
#include <hocket/call.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKET_BYTES = 4 << 20,
    SMALL_BYTES = 32 << 10, /* of a bucket that goes whole */
    LINE_BYTES = 64         /* parts begin at multiples of this */
};

/* Elements [begin, end) of an array, on each device, at `at` of the bucket's row. */
typedef struct span {
    int array;
    int64_t begin, end, at;
} span;

typedef struct reduction {
    hk_group *group;
    hki_group_call *call;
    hki_world_operation operation;
    const char *name;
    hk_array *const *arrays; /* contiguous, on the host: [array * n + device] */
    int n, count, root;
    size_t bucket_bytes;
    hki_sum_leaf *leaves;
    int leaf_count;
    hki_device *device;
} reduction;

typedef struct array_bucket {
    const reduction *of;
    hk_dtype dtype;
    span *spans;
    int span_count;
    int64_t size; /* elements */
    bool is_small;
} array_bucket;

/* ---- lists that grow ------------------------------------------------------------------------------------------- */

/* An exchange in the making. */
typedef struct exchange_draft {
    hki_operand *operands;
    hki_part *parts;
    int operand_count, operand_room, part_count, part_room;
    bool is_short; /* of host memory */
} exchange_draft;

static int add_operand(exchange_draft *self, hk_array *x, int64_t begin, int64_t end, unsigned mode)
{
    if (self->operand_count == self->operand_room) {
        const int room = self->operand_room * 2 + 8;
        hki_operand *more = realloc(self->operands, (size_t)room * sizeof *more);
        self->is_short = self->is_short || !more;
        if (!more)
            return 0;
        self->operands = more;
        self->operand_room = room;
    }
    self->operands[self->operand_count] = (hki_operand){.x = x, .begin = begin, .end = end, .mode = mode};
    return self->operand_count++;
}

static void add_part(exchange_draft *self, hki_part part)
{
    if (self->part_count == self->part_room) {
        const int room = self->part_room * 2 + 16;
        hki_part *more = realloc(self->parts, (size_t)room * sizeof *more);
        self->is_short = self->is_short || !more;
        if (!more)
            return;
        self->parts = more;
        self->part_room = room;
    }
    self->parts[self->part_count++] = part;
}

static bool issue(const array_bucket *bucket, hki_world_operation operation, exchange_draft *self)
{
    const reduction *of = bucket->of;
    const hki_exchange_plan plan = {.call = of->call,
                                    .operation = operation,
                                    .peer = -1,
                                    .root = of->root,
                                    .arrays = of->n,
                                    .dtype = bucket->dtype,
                                    .shape = hk_shape(bucket->size),
                                    .operands = self->operands,
                                    .operand_count = self->operand_count,
                                    .parts = self->parts,
                                    .part_count = self->part_count,
                                    .device = of->device};
    const bool is_issued = !self->is_short && hki_exchange_issue(&plan);
    free(self->operands);
    free(self->parts);
    return is_issued;
}

/* ---- parts of a bucket ------------------------------------------------------------------------------------------ */

static hk_array *array_of(const array_bucket *self, const span *its, int device)
{
    return self->of->arrays[its->array * self->of->n + device];
}

static hk_array *view(hk_array *x, int64_t begin, int64_t end)
{
    return hki_array_view(x, (hk_dims){.ndim = 1, .dims = {end - begin}}, (int64_t[]){1},
                          x->offset + begin);
}

/* What rank r sums: elements [*begin, *end) of the row. */
static void part_of(const array_bucket *self, int r, int64_t *begin, int64_t *end)
{
    const int64_t line = LINE_BYTES / (int64_t)hk_dtype_bytes(self->dtype);
    const int64_t lines = hki_divide_up(self->size, line), size = self->of->group->size;
    const int64_t each = lines / size, longer = lines % size;
    *begin = 0;
    *end = self->size;
    if (self->is_small)
        return;
    *begin = (r * each + (r < longer ? r : longer)) * line;
    *end = *begin + (each + (r < longer)) * line;
    *begin = *begin < self->size ? *begin : self->size;
    *end = *end < self->size ? *end : self->size;
}

/* The elements of a span within [begin, end) of the row: [*from, *to) of the span. */
static bool within(const span *its, int64_t begin, int64_t end, int64_t *from, int64_t *to)
{
    const int64_t size = its->end - its->begin;
    *from = begin > its->at ? begin - its->at : 0;
    *to = end < its->at + size ? end - its->at : size;
    return *from < *to;
}

/* ---- an all-reduce ------------------------------------------------------------------------------------------------ */

typedef struct leaf_sums {
    hk_array **own; /* of each leaf of this rank with several arrays: their sum, the row; else NULL */
    hk_array *in;   /* rows of what others send: of each of their leaves, in order */
    int64_t begin, end;
} leaf_sums;

/* Sums what is on this rank, device by device. */
static bool sum_own(const array_bucket *self, leaf_sums *sums)
{
    const reduction *of = self->of;
    sums->own = calloc((size_t)of->leaf_count + 1, sizeof(hk_array *));
    if (!sums->own)
        return false;
    for (int l = 0; l < of->leaf_count; l++) {
        const hki_sum_leaf *leaf = &of->leaves[l];
        if (leaf->rank != of->group->rank || leaf->count == 1)
            continue;
        hk_array *row = sums->own[l] = hki_array_create(of->device, hk_shape(self->size), self->dtype);
        hk_array **inputs = calloc((size_t)leaf->count, sizeof(hk_array *));
        if (row->failed || !inputs) {
            free(inputs);
            return false;
        }
        for (int s = 0; s < self->span_count; s++) {
            const span *its = &self->spans[s];
            for (int d = 0; d < leaf->count; d++)
                inputs[d] = view(array_of(self, its, leaf->first + d), its->begin, its->end);
            hk_array *output = view(row, its->at, its->at + its->end - its->begin);
            hki_reduce_issue(of->device, of->name, inputs, leaf->count, &output, 1, 0,
                             its->end - its->begin);
        }
        free(inputs);
    }
    return true;
}

/* Elements [from, to) of a span, of an own leaf. */
static hk_array *own_view(const array_bucket *self, const leaf_sums *sums, int leaf, const span *its,
                          int64_t from, int64_t to)
{
    if (sums->own[leaf])
        return view(sums->own[leaf], its->at + from, its->at + to);
    return view(array_of(self, its, self->of->leaves[leaf].first), its->begin + from,
                its->begin + to);
}

/* Own leaves go to the other ranks, each its part. */
static void draft_sends(const array_bucket *self, const leaf_sums *sums, exchange_draft *draft)
{
    const reduction *of = self->of;
    for (int l = 0; l < of->leaf_count; l++)
        for (int s = 0; of->leaves[l].rank == of->group->rank && s < self->span_count; s++) {
            const span *its = &self->spans[s];
            hk_array *x = sums->own[l] ? sums->own[l] : array_of(self, its, of->leaves[l].first);
            const int64_t at = sums->own[l] ? its->at : its->begin, size = its->end - its->begin;
            const int from = add_operand(draft, x, at, at + size, HKI_READ);
            for (int r = 0; r < of->group->size; r++) {
                int64_t begin, end, low, high;
                part_of(self, r, &begin, &end);
                if (r != of->group->rank && within(its, begin, end, &low, &high))
                    add_part(draft, (hki_part){from, -1, low, 0, high - low, r});
            }
        }
}

/* Their leaves come, of this rank's part. */
static void draft_receives(const array_bucket *self, const leaf_sums *sums, exchange_draft *draft)
{
    const reduction *of = self->of;
    const int64_t width = sums->end - sums->begin;
    const int to = sums->in->size > 0 ? add_operand(draft, sums->in, 0, sums->in->size,
                                                    HKI_WRITE | HKI_HEAL | HKI_FRESH)
                                      : -1;
    int64_t row = 0;
    for (int l = 0; l < of->leaf_count && to >= 0; l++) {
        if (of->leaves[l].rank == of->group->rank)
            continue;
        for (int s = 0; s < self->span_count; s++) {
            const span *its = &self->spans[s];
            int64_t low, high;
            if (within(its, sums->begin, sums->end, &low, &high))
                add_part(draft,
                         (hki_part){-1, to, 0, row * width + its->at + low - sums->begin,
                                    high - low, of->leaves[l].rank});
        }
        row++;
    }
}

static int foreign_leaves(const reduction *self)
{
    int count = 0;
    for (int l = 0; l < self->leaf_count; l++)
        count += self->leaves[l].rank != self->group->rank;
    return count;
}

/* Elements [low, high) of a span become their sums, in `outputs`. */
static bool sum_span(const array_bucket *self, const leaf_sums *sums, const span *its, int64_t low,
                     int64_t high, hk_array *const *outputs, int output_count)
{
    const reduction *of = self->of;
    const int64_t width = sums->end - sums->begin;
    int64_t row = 0;
    hk_array **inputs = calloc((size_t)of->leaf_count, sizeof(hk_array *));
    if (!inputs)
        return false;
    for (int l = 0; l < of->leaf_count; l++) {
        const int64_t at = row * width + its->at - sums->begin;
        if (of->leaves[l].rank == of->group->rank) {
            inputs[l] = own_view(self, sums, l, its, low, high);
        } else {
            inputs[l] = view(sums->in, at + low, at + high);
            row++;
        }
    }
    hki_sum_leaves_issue(of->device, of->name, of->leaves, of->leaf_count, of->n, inputs, outputs,
                         output_count, high - low);
    free(inputs);
    return true;
}

/* The other devices get what the first one has. */
static void copy_to_devices(const array_bucket *self)
{
    for (int s = 0; s < self->span_count; s++) {
        const span *its = &self->spans[s];
        hk_array *from = view(array_of(self, its, 0), its->begin, its->end);
        for (int d = 1; d < self->of->n; d++) {
            hk_array *x = array_of(self, its, d), *to = view(x, its->begin, its->end);
            hki_reduce_issue(hki_group_device(x), self->of->name, &from, 1, &to, 1, 0,
                             its->end - its->begin);
        }
    }
}

static bool spread(const array_bucket *self, const leaf_sums *sums, hk_array *part)
{
    const reduction *of = self->of;
    exchange_draft draft = {0};
    const int from =
        part->size > 0 ? add_operand(&draft, part, 0, part->size, HKI_READ) : -1;
    for (int s = 0; s < self->span_count; s++) {
        const span *its = &self->spans[s];
        int64_t low, high;
        const int to = add_operand(&draft, array_of(self, its, 0), its->begin, its->end,
                                   HKI_WRITE | HKI_HEAL);
        for (int r = 0; r < of->group->size; r++) {
            int64_t begin, end;
            part_of(self, r, &begin, &end);
            if (!within(its, begin, end, &low, &high))
                continue;
            if (r != of->group->rank)
                add_part(&draft, (hki_part){-1, to, 0, low, high - low, r});
            else
                add_part(&draft, (hki_part){from, to, its->at + low - begin, low, high - low, r});
        }
        if (!within(its, sums->begin, sums->end, &low, &high))
            continue;
        for (int r = 0; r < of->group->size; r++)
            if (r != of->group->rank)
                add_part(&draft,
                         (hki_part){from, -1, its->at + low - sums->begin, 0, high - low, r});
    }
    return issue(self, HKI_WORLD_SPREAD, &draft);
}

/* The sums of this rank's part, which it alone has, and gives to all. */
static bool sum_and_spread(const array_bucket *self, const leaf_sums *sums)
{
    hk_array *part =
        hki_array_create(self->of->device, hk_shape(sums->end - sums->begin), self->dtype);
    for (int s = 0; s < self->span_count && !part->failed; s++) {
        const span *its = &self->spans[s];
        int64_t low, high;
        if (!within(its, sums->begin, sums->end, &low, &high))
            continue;
        hk_array *output =
            view(part, its->at + low - sums->begin, its->at + high - sums->begin);
        if (!sum_span(self, sums, its, low, high, &output, 1))
            return false;
    }
    return !part->failed && spread(self, sums, part);
}

/* Every rank sums everything, into a row of its own, for the arrays are still to be read. */
static bool sum_whole(const array_bucket *self, const leaf_sums *sums)
{
    for (int s = 0; s < self->span_count; s++) {
        const span *its = &self->spans[s];
        hk_array *sum = hki_array_create(self->of->device, hk_shape(its->end - its->begin), self->dtype);
        hk_array *to = view(array_of(self, its, 0), its->begin, its->end);
        if (sum->failed || !sum_span(self, sums, its, 0, its->end - its->begin, &sum, 1))
            return false;
        hki_reduce_issue(self->of->device, self->of->name, &sum, 1, &to, 1, 0,
                         its->end - its->begin);
    }
    return true;
}

static bool all_reduce(const array_bucket *self)
{
    leaf_sums sums = {NULL, NULL, 0, 0};
    exchange_draft draft = {0};
    part_of(self, self->of->group->rank, &sums.begin, &sums.end);
    const int64_t foreign = foreign_leaves(self->of) * (sums.end - sums.begin);
    sums.in = hki_array_create(self->of->device, hk_shape(foreign), self->dtype);
    bool is_good = !sums.in->failed && sum_own(self, &sums);
    if (is_good) {
        draft_sends(self, &sums, &draft);
        draft_receives(self, &sums, &draft);
        is_good = issue(self, HKI_WORLD_REDUCE, &draft) &&
                  (self->is_small ? sum_whole(self, &sums) : sum_and_spread(self, &sums));
    }
    if (is_good)
        copy_to_devices(self);
    free(sums.own);
    return is_good;
}

/* ---- a broadcast -------------------------------------------------------------------------------------------------- */

static bool broadcast(const array_bucket *self)
{
    const reduction *of = self->of;
    exchange_draft draft = {0};
    const bool is_root = of->group->rank == of->root;
    for (int s = 0; s < self->span_count; s++) {
        const span *its = &self->spans[s];
        const int64_t size = its->end - its->begin;
        const int operand = add_operand(&draft, array_of(self, its, 0), its->begin, its->end,
                                        is_root ? HKI_READ : HKI_WRITE | HKI_HEAL);
        for (int r = 0; r < of->group->size && is_root; r++)
            if (r != of->root)
                add_part(&draft, (hki_part){operand, -1, 0, 0, size, r});
        if (!is_root)
            add_part(&draft, (hki_part){-1, operand, 0, 0, size, of->root});
    }
    if (!issue(self, HKI_WORLD_BROADCAST, &draft))
        return false;
    copy_to_devices(self);
    return true;
}

/* ---- buckets ------------------------------------------------------------------------------------------------------- */

static void fail_arrays(const reduction *self, hk_array *const *arrays)
{
    for (int i = 0; i < self->count * self->n; i++)
        hki_array_fail_in_place(arrays[i], self->name, NULL, 0, HK_OUT_OF_MEMORY,
                                "out of host memory");
}

static bool flush(const reduction *self, array_bucket *bucket)
{
    HK_SCOPE;
    const size_t bytes = (size_t)bucket->size * hk_dtype_bytes(bucket->dtype);
    bucket->is_small = bytes <= SMALL_BYTES;
    const bool is_good =
        self->operation == HKI_WORLD_BROADCAST ? broadcast(bucket) : all_reduce(bucket);
    bucket->span_count = 0;
    bucket->size = 0;
    return is_good;
}

/* Elements that the bucket has room for; not 0 when it is empty. */
static int64_t room_in(const reduction *self, const array_bucket *bucket, size_t element_bytes)
{
    const int64_t most = (int64_t)(self->bucket_bytes / element_bytes);
    return most > bucket->size ? most - bucket->size : bucket->size == 0;
}

/* At least one exchange takes place, so that all ranks know that they call the same. */
static bool run(const reduction *self)
{
    span *spans = malloc(((size_t)self->count + 1) * sizeof *spans);
    array_bucket bucket = {.of = self, .spans = spans};
    bool is_good = spans != NULL;
    for (int i = 0; i < self->count && is_good; i++) {
        const hk_array *x = self->arrays[i * self->n];
        for (int64_t begin = 0; begin < x->size && is_good;) {
            const bool fits = bucket.size == 0 || bucket.dtype == x->dtype;
            const int64_t room =
                fits ? room_in(self, &bucket, hk_dtype_bytes(x->dtype)) : 0;
            const int64_t size = x->size - begin < room ? x->size - begin : room;
            if (size == 0) {
                is_good = flush(self, &bucket);
                continue;
            }
            bucket.dtype = x->dtype;
            spans[bucket.span_count++] = (span){i, begin, begin + size, bucket.size};
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
            uint64_t begin, end, other_begin, other_end;
            if (work->arrays[i]->storage != work->arrays[j]->storage)
                continue;
            hki_array_range(work->arrays[i], &begin, &end);
            hki_array_range(work->arrays[j], &other_begin, &other_end);
            if (begin >= other_end || other_begin >= end)
                continue;
            hki_group_refuse(work, true, HK_INVALID_ARGUMENT, "arrays %d and %d share memory", j, i);
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
    return check_pairs(work);
}

static bool check_list(const hki_group_work *work, int n, int count)
{
    const hk_status *useless = hki_group_check(work->group);
    if (useless) {
        hki_group_refuse(work, true, hk_status_code(useless), "%s", hk_status_message(useless));
        hk_status_release(useless);
        return false;
    }
    if (n >= 1 && count >= 0 && (count == 0 || work->arrays))
        return true;
    hki_group_refuse(&(hki_group_work){.group = work->group,
                                       .operation = work->operation,
                                       .peer = -1},
                     false, HK_INVALID_ARGUMENT,
                     "a list of %d arrays on %d devices, at %p, is none", count, n,
                     (const void *)work->arrays);
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
    for (int i = 0; i < options->count; i++) {
        hk_array *const *its = arrays + i * options->n;
        if (options->operation == HKI_WORLD_REDUCE)
            (hk_all_reduce)(its, options->n);
        for (int d = 1; d < options->n && options->operation == HKI_WORLD_BROADCAST; d++)
            (hk_assign)(its[d], its[0]);
    }
}

static void exchange(reduction *self, const call_options *options)
{
    self->call = hki_group_call_begin(self->group);
    if (!self->call) {
        fail_arrays(self, self->arrays);
        return;
    }
    hki_group_call_add(self->call, options->count);
    hki_group_call_add(self->call, (int64_t)self->bucket_bytes);
    for (int i = 0; i < self->count; i++)
        hki_group_call_add_shape(self->call, &self->arrays[i * self->n]->shape,
                                 self->arrays[i * self->n]->dtype);
    self->leaf_count = hki_sum_leaves(self->group->size, self->n, &self->leaves);
    if (!self->leaf_count || !run(self))
        fail_arrays(self, self->arrays);
    free(self->leaves);
    hki_group_call_end(self->call);
}

/* On what is contiguous and the host's, which is then written back. */
static void together(const call_options *options, hk_array *const *arrays)
{
    HK_SCOPE;
    const int all = options->n * options->count;
    hk_array **hosted = calloc((size_t)all + 1, sizeof(hk_array *));
    reduction self = {.group = options->group,
                      .operation = options->operation,
                      .name = hki_world_operation_name(options->operation),
                      .arrays = hosted,
                      .n = options->n,
                      .count = options->count,
                      .root = options->root,
                      .bucket_bytes = options->bucket_bytes ? options->bucket_bytes : BUCKET_BYTES};
    if (!hosted) {
        fail_arrays(&self, arrays);
        return;
    }
    HKI_HOLD(held);
    self.device = all > 0 ? hki_group_device(arrays[0]) : hki_device_hold((hk_device){NULL}, &held);
    for (int i = 0; i < all; i++)
        hosted[i] = hki_group_on_host(arrays[i], self.name);
    exchange(&self, options);
    for (int i = 0; i < all; i++) {
        if (hosted[i] == arrays[i])
            continue;
        if (hki_device_is_host(arrays[i]->storage->device))
            (hk_assign)(arrays[i], hosted[i]);
        else
            hki_transfer(arrays[i], hosted[i], self.name, HKI_TRANSFER_COLLECTIVE);
    }
    free(hosted);
}

static void again(hk_array *const *arrays, int count, const void *argument);

static void call(const call_options *options, hk_array *const *arrays)
{
    const int all = options->n * options->count;
    const hki_group_work work = {options->group, options->operation, arrays, all, -1};
    if (!check(&work, options->n))
        return;
    hki_capture *capture = hki_capturing;
    if (capture)
        hki_capture_hook.compound_begin(capture, hki_world_operation_name(options->operation),
                                        again, arrays, all, options, sizeof *options);
    if (options->group->size == 1)
        alone(options, arrays);
    else
        together(options, arrays);
    if (capture)
        hki_capture_hook.compound_end(capture);
}

static void again(hk_array *const *arrays, int count, const void *argument)
{
    (void)count;
    call(argument, arrays);
}

void(hk_group_all_reduce)(hk_group *group, hk_array *const *arrays, int n, int count,
                          size_t bucket_bytes)
{
    const call_options options = {group, HKI_WORLD_REDUCE, n, count, 0, bucket_bytes};
    const hki_group_work work = {group, HKI_WORLD_REDUCE, arrays,
                                 arrays && n > 0 && count > 0 ? n * count : 0, -1};
    if (check_list(&work, n, count))
        call(&options, arrays);
}

void(hk_group_broadcast)(hk_group *group, hk_array *const *arrays, int n, int count, int root)
{
    const call_options options = {group, HKI_WORLD_BROADCAST, n, count, root, 0};
    const hki_group_work work = {group, HKI_WORLD_BROADCAST, arrays,
                                 arrays && n > 0 && count > 0 ? n * count : 0, -1};
    if (!check_list(&work, n, count))
        return;
    if (root < 0 || root >= group->size)
        hki_group_refuse(&work, true, HK_OUT_OF_RANGE, "root is %d; the group has ranks 0 to %d",
                         root, group->size - 1);
    else
        call(&options, arrays);
}

HKI_AT_VOID(hk_group_all_reduce,
            (hk_source at, hk_group *group, hk_array *const *arrays, int n, int count,
             size_t bucket_bytes),
            (group, arrays, n, count, bucket_bytes))
HKI_AT_VOID(hk_group_broadcast,
            (hk_source at, hk_group *group, hk_array *const *arrays, int n, int count, int root),
            (group, arrays, n, count, root))
