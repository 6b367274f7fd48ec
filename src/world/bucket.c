/* Of a small bucket every rank gets everything, and sums it. Else rank r gets part r of all, sums that, and gives the sum to the
 * others: as much traffic as the best that there is. */
#include "world/bucket.h"

#include "base/integer.h"
#include "collective/reduce_task.h"

#include <stdlib.h>

enum { LINE_BYTES = 64 }; /* parts begin at multiples of this */

/* ---- lists that grow ------------------------------------------------------------------------------------------- */

/* An exchange in the making. */
typedef struct exchange_draft {
    hki_group_operand *operands;
    hki_exchange_part *parts;
    int operand_count, operand_room, part_count, part_room;
    bool is_short; /* of host memory */
} exchange_draft;

static int add_operand(exchange_draft *self, hk_array *x, int64_t begin, int64_t end, unsigned mode)
{
    if (self->operand_count == self->operand_room) {
        const int room = self->operand_room * 2 + 8;
        hki_group_operand *more = realloc(self->operands, (size_t)room * sizeof *more);
        self->is_short = self->is_short || !more;
        if (!more)
            return 0;
        self->operands = more;
        self->operand_room = room;
    }
    self->operands[self->operand_count] =
        (hki_group_operand){.x = x, .begin = begin, .end = end, .mode = mode};
    return self->operand_count++;
}

static void add_part(exchange_draft *self, hki_exchange_part part)
{
    if (self->part_count == self->part_room) {
        const int room = self->part_room * 2 + 16;
        hki_exchange_part *more = realloc(self->parts, (size_t)room * sizeof *more);
        self->is_short = self->is_short || !more;
        if (!more)
            return;
        self->parts = more;
        self->part_room = room;
    }
    self->parts[self->part_count++] = part;
}

static bool issue(const hki_bucket *bucket, hki_world_operation operation, exchange_draft *self)
{
    const hki_reduction *of = bucket->of;
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
                                    .device = of->host};
    const bool is_issued = !self->is_short && hki_exchange_issue(&plan);
    free(self->operands);
    free(self->parts);
    return is_issued;
}

/* ---- parts of a bucket ------------------------------------------------------------------------------------------ */

static hk_array *array_of(const hki_bucket *self, const hki_bucket_span *its, int device)
{
    return self->of->arrays[its->array * self->of->n + device];
}

static hk_array *view(hk_array *x, int64_t begin, int64_t end)
{
    return hki_array_view(x, (hk_dims){.ndim = 1, .dims = {end - begin}}, (int64_t[]){1},
                          x->offset + begin);
}

/* What rank r sums: elements [*begin, *end) of the row. */
static void part_of(const hki_bucket *self, int r, int64_t *begin, int64_t *end)
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
static bool within(const hki_bucket_span *its, int64_t begin, int64_t end, int64_t *from,
                   int64_t *to)
{
    const int64_t size = its->end - its->begin;
    *from = begin > its->at ? begin - its->at : 0;
    *to = end < its->at + size ? end - its->at : size;
    return *from < *to;
}

/* ---- an all-reduce ------------------------------------------------------------------------------------------------ */

typedef struct leaf_sums {
    hk_array *
        *own;     /* of each leaf of this rank with several arrays: their sum, the row; else NULL */
    hk_array *in; /* rows of what others send: of each of their leaves, in order */
    int64_t begin, end;
} leaf_sums;

/* Sums what is on this rank, device by device. */
static bool sum_own(const hki_bucket *self, leaf_sums *sums)
{
    const hki_reduction *of = self->of;
    sums->own = calloc((size_t)of->leaf_count + 1, sizeof(hk_array *));
    if (!sums->own)
        return false;
    for (int l = 0; l < of->leaf_count; l++) {
        const hki_sum_leaf *leaf = &of->leaves[l];
        if (leaf->rank != of->group->rank || leaf->count == 1)
            continue;
        hk_array *row = sums->own[l] =
            hki_array_create(of->device, hk_shape(self->size), self->dtype);
        hk_array **inputs = calloc((size_t)leaf->count, sizeof(hk_array *));
        if (row->failed || !inputs) {
            free(inputs);
            return false;
        }
        for (int s = 0; s < self->span_count; s++) {
            const hki_bucket_span *its = &self->spans[s];
            for (int d = 0; d < leaf->count; d++)
                inputs[d] = hki_bucket_view(self, its, leaf->first + d, 0, its->end - its->begin);
            hk_array *output = view(row, its->at, its->at + its->end - its->begin);
            hki_reduce_issue(of->device, of->name, inputs, leaf->count, &output, 1, 0,
                             its->end - its->begin);
        }
        free(inputs);
    }
    return true;
}

/* Elements [from, to) of a span, of an own leaf. */
static hk_array *own_view(const hki_bucket *self, const leaf_sums *sums, int leaf,
                          const hki_bucket_span *its, int64_t from, int64_t to)
{
    if (sums->own[leaf])
        return view(sums->own[leaf], its->at + from, its->at + to);
    return hki_bucket_view(self, its, self->of->leaves[leaf].first, from, to);
}

/* Own leaves go to the other ranks, each its part. They are named as written, though they are not, so that what fails on all
 * ranks leaves the same record on each. */
static void draft_sends(const hki_bucket *self, const leaf_sums *sums, exchange_draft *draft)
{
    const hki_reduction *of = self->of;
    for (int l = 0; l < of->leaf_count; l++)
        for (int s = 0; of->leaves[l].rank == of->group->rank && s < self->span_count; s++) {
            const hki_bucket_span *its = &self->spans[s];
            int64_t at = its->at;
            hk_array *x =
                sums->own[l] ? sums->own[l] : hki_bucket_at(self, its, of->leaves[l].first, &at);
            const int64_t size = its->end - its->begin;
            const int from = add_operand(draft, x, at, at + size, HKI_READ | HKI_WRITE);
            for (int r = 0; r < of->group->size; r++) {
                int64_t begin, end, low, high;
                part_of(self, r, &begin, &end);
                if (r != of->group->rank && within(its, begin, end, &low, &high))
                    add_part(draft, (hki_exchange_part){from, -1, low, 0, high - low, r});
            }
        }
}

/* Their leaves come, of this rank's part. */
static void draft_receives(const hki_bucket *self, const leaf_sums *sums, exchange_draft *draft)
{
    const hki_reduction *of = self->of;
    const int64_t width = sums->end - sums->begin;
    const int to = sums->in->size > 0 ? add_operand(draft, sums->in, 0, sums->in->size,
                                                    HKI_WRITE | HKI_HEAL | HKI_FRESH)
                                      : -1;
    int64_t row = 0;
    for (int l = 0; l < of->leaf_count && to >= 0; l++) {
        if (of->leaves[l].rank == of->group->rank)
            continue;
        for (int s = 0; s < self->span_count; s++) {
            const hki_bucket_span *its = &self->spans[s];
            int64_t low, high;
            if (within(its, sums->begin, sums->end, &low, &high))
                add_part(draft,
                         (hki_exchange_part){-1, to, 0, row * width + its->at + low - sums->begin,
                                             high - low, of->leaves[l].rank});
        }
        row++;
    }
}

static int foreign_leaves(const hki_reduction *self)
{
    int count = 0;
    for (int l = 0; l < self->leaf_count; l++)
        count += self->leaves[l].rank != self->group->rank;
    return count;
}

/* Elements [low, high) of a span of the first device become their sums, where it may be one of those that are added. */
static bool sum_span(const hki_bucket *self, const leaf_sums *sums, const hki_bucket_span *its,
                     int64_t low, int64_t high)
{
    const hki_reduction *of = self->of;
    const int64_t width = sums->end - sums->begin;
    int64_t row = 0;
    hk_array *output = NULL;
    hk_array **inputs = calloc((size_t)of->leaf_count, sizeof(hk_array *));
    if (!inputs)
        return false;
    for (int l = 0; l < of->leaf_count; l++) {
        const int64_t at = row * width + its->at - sums->begin;
        if (of->leaves[l].rank == of->group->rank) {
            inputs[l] = own_view(self, sums, l, its, low, high);
            if (of->leaves[l].first == 0 && !sums->own[l])
                output = inputs[l];
        } else {
            inputs[l] = view(sums->in, at + low, at + high);
            row++;
        }
    }
    if (!output)
        output = view(array_of(self, its, 0), its->begin + low, its->begin + high);
    hki_sum_leaves_issue(of->device, of->name, of->leaves, of->leaf_count, of->n, inputs, output,
                         high - low);
    free(inputs);
    return true;
}

/* The other devices get what the first one has. */
static void copy_to_devices(const hki_bucket *self)
{
    for (int s = 0; s < self->span_count; s++) {
        const hki_bucket_span *its = &self->spans[s];
        hk_array *from = hki_bucket_view(self, its, 0, 0, its->end - its->begin);
        for (int d = 1; d < self->of->n; d++)
            hki_bucket_give(self, its, from, d);
    }
}

/* What this rank has summed goes to the others, and what they have comes. The own part is named as written, too: see draft_sends. */
static bool spread(const hki_bucket *self)
{
    const hki_reduction *of = self->of;
    exchange_draft draft = {0};
    for (int s = 0; s < self->span_count; s++) {
        const hki_bucket_span *its = &self->spans[s];
        for (int r = 0; r < of->group->size; r++) {
            const bool is_own = r == of->group->rank;
            int64_t begin, end, low, high;
            part_of(self, r, &begin, &end);
            if (!within(its, begin, end, &low, &high))
                continue;
            const int operand =
                add_operand(&draft, array_of(self, its, 0), its->begin + low, its->begin + high,
                            is_own ? HKI_READ | HKI_WRITE : HKI_WRITE | HKI_HEAL);
            if (!is_own)
                add_part(&draft, (hki_exchange_part){-1, operand, 0, 0, high - low, r});
            for (int to = 0; to < of->group->size && is_own; to++)
                if (to != r)
                    add_part(&draft, (hki_exchange_part){operand, -1, 0, 0, high - low, to});
        }
    }
    return issue(self, HKI_WORLD_SPREAD, &draft);
}

/* Of this rank's part, which is everything where the bucket is small. */
static bool sum_part(const hki_bucket *self, const leaf_sums *sums)
{
    for (int s = 0; s < self->span_count; s++) {
        const hki_bucket_span *its = &self->spans[s];
        int64_t low, high;
        if (within(its, sums->begin, sums->end, &low, &high) &&
            !sum_span(self, sums, its, low, high))
            return false;
    }
    return true;
}

bool hki_bucket_all_reduce(const hki_bucket *self)
{
    if (hki_library_sums(self->of->group, self->dtype, self->size))
        return hki_bucket_library_sum(self);
    leaf_sums sums = {NULL, NULL, 0, 0};
    exchange_draft draft = {0};
    part_of(self, self->of->group->rank, &sums.begin, &sums.end);
    const int64_t foreign = foreign_leaves(self->of) * (sums.end - sums.begin);
    sums.in = hki_array_create(self->of->device, hk_shape(foreign), self->dtype);
    bool is_good = !sums.in->failed && sum_own(self, &sums);
    if (is_good) {
        draft_sends(self, &sums, &draft);
        draft_receives(self, &sums, &draft);
        is_good = issue(self, HKI_WORLD_REDUCE, &draft) && sum_part(self, &sums) &&
                  (self->is_small || spread(self));
    }
    if (is_good)
        copy_to_devices(self);
    free(sums.own);
    return is_good;
}

/* ---- a broadcast -------------------------------------------------------------------------------------------------- */

bool hki_bucket_broadcast(const hki_bucket *self)
{
    const hki_reduction *of = self->of;
    exchange_draft draft = {0};
    const bool is_root = of->group->rank == of->root;
    for (int s = 0; s < self->span_count; s++) {
        const hki_bucket_span *its = &self->spans[s];
        const int64_t size = its->end - its->begin;
        const int operand = add_operand(&draft, array_of(self, its, 0), its->begin, its->end,
                                        is_root ? HKI_READ | HKI_WRITE : HKI_WRITE | HKI_HEAL);
        for (int r = 0; r < of->group->size && is_root; r++)
            if (r != of->root)
                add_part(&draft, (hki_exchange_part){operand, -1, 0, 0, size, r});
        if (!is_root)
            add_part(&draft, (hki_exchange_part){-1, operand, 0, 0, size, of->root});
    }
    if (!issue(self, HKI_WORLD_BROADCAST, &draft))
        return false;
    copy_to_devices(self);
    return true;
}
