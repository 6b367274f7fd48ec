/* Optimisers whose state is spread over devices and ranks (ZeRO-1).
 *
 * All parameters are one vector in their order. Device d of each process has the d-th range of it, ranks * each elements. These lie in
 * buckets, of which rank r has the r-th part, so that ranks sum one bucket while gradients of others are still computed. A piece is
 * what a range has of one parameter. */
#include "autograd/tape.h"
#include "base/integer.h"
#include "base/status.h"
#include "collective/reduce_part.h"
#include "op/op.h"
#include "optim/optimizer.h"

#include <hocket/hocket.h>

#include <stdlib.h>

enum {
    LINE = 16,             /* elements that parts are multiples of: a cache line of float32 */
    BUCKET_BYTES = 4 << 20 /* about; as of hk_group_all_reduce */
};

typedef struct sharded {
    hk_group *group; /* NULL: one rank */
    int n, count, ranks, rank;
    int64_t total;
    int64_t each,
        slice; /* of a device and a rank: elements in all, and of a bucket, but for the last one */
    hk_dtype dtype;
    hk_array **params; /* counted, n * count */
    int64_t *starts;   /* of each parameter, and the total */
} sharded;

typedef struct piece {
    int param;
    int64_t begin, end; /* elements of it */
} piece;

typedef struct range {
    int64_t begin, end;
    int param; /* where to go on; 0 at first */
} range;

/* ---- where things are ------------------------------------------------------------------------------------------------ */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t bucket_count(const sharded *self)
{
    return hki_divide_up(self->each, self->slice);
}

/* A rank's part of a bucket, in elements. */
static int64_t slice_of(const sharded *self, int64_t bucket)
{
    return least(self->slice, self->each - bucket * self->slice);
}

static range range_at(const sharded *self, int64_t begin, int64_t size)
{
    return (range){least(begin, self->total), least(begin + size, self->total), 0};
}

/* Of bucket `bucket` of device d. */
static range range_of_bucket(const sharded *self, int d, int64_t bucket)
{
    const int64_t ranks = self->ranks;
    return range_at(self, d * ranks * self->each + bucket * ranks * self->slice,
                    ranks * slice_of(self, bucket));
}

/* What of it is this rank's. */
static range range_of_rank(const sharded *self, int d, int64_t bucket)
{
    const int64_t ranks = self->ranks, own = slice_of(self, bucket);
    return range_at(self, d * ranks * self->each + bucket * ranks * self->slice + self->rank * own,
                    own);
}

static bool is_empty(range left)
{
    return left.begin >= left.end;
}

/* The next piece of a range, which gets shorter by it; false: none. */
static bool next_piece(const sharded *self, range *left, piece *part)
{
    if (is_empty(*left))
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

static hk_array *const *params_of(const sharded *self, int param)
{
    return &self->params[(size_t)param * (size_t)self->n];
}

/* The piece of x, which lies in one row; of the scope. */
static hk_array *view_of(hk_array *x, const piece *part)
{
    return x->failed ? x
                     : hki_array_view(x, hk_shape(part->end - part->begin), (int64_t[]){1},
                                      x->offset + part->begin);
}

/* ---- between ranks ----------------------------------------------------------------------------------------------------- */

typedef hk_array *(*find_fn)(const sharded *self, int param, int d);

static hk_array *find_param(const sharded *self, int param, int d)
{
    return params_of(self, param)[d];
}

static hk_array *find_grad(const sharded *self, int param, int d)
{
    return (hk_grad)(params_of(self, param)[d]);
}

/* What a range has, in one row of `size` elements, with zeros behind; of the scope. */
static hk_array *row_of(const sharded *self, range left, int d, find_fn find, int64_t size)
{
    const int64_t padding = size - (left.end - left.begin);
    hk_array **parts = calloc((size_t)self->count + 1, sizeof *parts);
    int count = 0;
    piece part;
    if (!parts)
        return hki_array_no_memory();
    while (next_piece(self, &left, &part))
        parts[count++] = view_of(find(self, part.param, d), &part);
    if (padding > 0 || count == 0)
        parts[count++] =
            (hk_zeros)(hk_shape(padding), self->dtype, hk_array_device(self->params[d]));
    hk_array *row = (hk_concat)(parts, count, 0);
    free(parts);
    return row;
}

/* The pieces of a range become what stands in the row, which begins with its first. */
static void write_row(const sharded *self, range left, int d, find_fn find, hk_array *row)
{
    const int64_t first = left.begin;
    piece part;
    while (next_piece(self, &left, &part)) {
        HK_SCOPE;
        const int64_t at = self->starts[part.param] + part.begin - first;
        hk_array *to = find(self, part.param, d);
        if (to->failed)
            continue;
        (hk_assign)(view_of(to, &part),
                    row->failed ? row : (hk_slice)(row, 0, at, at + part.end - part.begin));
    }
}

static void sum_ranks(const sharded *self, int d, int64_t bucket)
{
    HK_SCOPE;
    hk_array *row = row_of(self, range_of_bucket(self, d, bucket), d, find_grad,
                           self->ranks * slice_of(self, bucket));
    write_row(self, range_of_rank(self, d, bucket), d, find_grad,
              (hk_group_reduce_scatter)(self->group, row));
}

static void gather_ranks(const sharded *self, int d, int64_t bucket)
{
    HK_SCOPE;
    hk_array *row =
        row_of(self, range_of_rank(self, d, bucket), d, find_param, slice_of(self, bucket));
    write_row(self, range_of_bucket(self, d, bucket), d, find_param,
              (hk_group_all_gather)(self->group, row));
}

/* ---- a step ---------------------------------------------------------------------------------------------------------------- */

/* A gradient of each device, NULL in *missing; or one that is not there, failed. */
static void find_grads(const sharded *self, int param, hk_array **grads, hk_array **missing)
{
    *missing = NULL;
    for (int d = 0; d < self->n; d++) {
        grads[d] = find_grad(self, param, d);
        if (grads[d]->failed && !*missing)
            *missing = grads[d];
    }
}

/* Those of all devices, to the one whose bucket it is. */
static void sum_devices(const sharded *self, int d, int64_t bucket)
{
    range left = range_of_bucket(self, d, bucket);
    hk_array *grads[HKI_FUNCTION_MAX];
    piece part;
    while (next_piece(self, &left, &part)) {
        HK_SCOPE;
        hk_array *missing;
        find_grads(self, part.param, grads, &missing);
        if (!missing)
            hki_reduce_part(grads, self->n, d, part.begin, part.end);
        else if (!grads[d]->failed)
            hki_array_fail_in_place(grads[d], "optimizer_step", &missing, 1, HK_INVALID_ARGUMENT,
                                    "a gradient is missing");
    }
}

/* What this process updates, by pieces: their gradients, or NULL again. */
static void set_grads(const sharded *self, hk_optimizer *optimizer, bool are_set)
{
    int index = 0;
    piece part;
    HK_SCOPE;
    for (int d = 0; d < self->n; d++)
        for (int64_t bucket = 0; bucket < bucket_count(self); bucket++)
            for (range left = range_of_rank(self, d, bucket); next_piece(self, &left, &part);)
                hki_optimizer_set_grad(optimizer, index++,
                                       are_set ? view_of(find_grad(self, part.param, d), &part)
                                               : NULL);
}

/* The last buckets first, whose gradients are there first. */
static void begin(void *context, hk_optimizer *optimizer)
{
    const sharded *self = context;
    hki_array_uncapturable("optimizer_step", "the optimiser's state is sharded");
    for (int64_t bucket = bucket_count(self); bucket-- > 0;)
        for (int d = self->n; d-- > 0;) {
            if (is_empty(range_of_bucket(self, d, bucket)))
                continue;
            sum_devices(self, d, bucket);
            if (self->ranks > 1)
                sum_ranks(self, d, bucket);
        }
    set_grads(self, optimizer, true);
}

static void spread_devices(const sharded *self, int d, int64_t bucket)
{
    range left = range_of_bucket(self, d, bucket);
    piece part;
    while (next_piece(self, &left, &part))
        hki_spread_part(params_of(self, part.param), self->n, d, part.begin, part.end);
}

/* The first ones first, which the next step reads first. */
static void end(void *context, hk_optimizer *optimizer)
{
    const sharded *self = context;
    for (int d = 0; d < self->n; d++)
        for (int64_t bucket = 0; bucket < bucket_count(self); bucket++) {
            if (is_empty(range_of_bucket(self, d, bucket)))
                continue;
            if (self->ranks > 1)
                gather_ranks(self, d, bucket);
            spread_devices(self, d, bucket);
        }
    set_grads(self, optimizer, false);
}

/* ---- whole states ---------------------------------------------------------------------------------------------------------- */

/* What of parameter `index` rank r has of a bucket; perhaps nothing. */
static piece part_of(const sharded *self, int d, int64_t bucket, int r, int index)
{
    sharded of_rank = *self;
    of_rank.rank = r;
    const range its = range_of_rank(&of_rank, d, bucket);
    const int64_t start = self->starts[index], stop = self->starts[index + 1];
    const int64_t begin = its.begin > start ? its.begin : start, end = least(its.end, stop);
    return (piece){index, begin - start, (end > begin ? end : begin) - start};
}

/* The place among this process's pieces of the one that begins there; see optimizer_of_pieces. */
static int find_piece(const sharded *self, int d, int64_t bucket, int index)
{
    int place = 0;
    piece part;
    for (int e = 0; e <= d; e++)
        for (int64_t other = 0; other < bucket_count(self); other++)
            for (range left = range_of_rank(self, e, other); next_piece(self, &left, &part);
                 place++)
                if (e == d && other == bucket && part.param == index)
                    return place;
    return place;
}

/* This rank's slots of a bucket, with zeros up to `most` elements. */
static hk_array *own_slots(const sharded *self, const hk_optimizer *optimizer, int d,
                           int64_t bucket, int index, int64_t most)
{
    const piece own = part_of(self, d, bucket, self->rank, index);
    const int64_t slots = hki_optimizer_get_slots(optimizer), size = own.end - own.begin;
    hk_array *padding =
        (hk_zeros)(hk_shape(slots, most - size), self->dtype, hk_array_device(self->params[d]));
    if (size == 0)
        return padding;
    hk_array *state = hki_optimizer_get_state(optimizer, find_piece(self, d, bucket, index));
    return size < most ? (hk_concat)((hk_array *[]){state, padding}, 2, 1) : state;
}

/* What a bucket has of the parameter, on all ranks, to where it stands in `whole`: (slots, elements). */
static void gather_bucket(const sharded *self, const hk_optimizer *optimizer, int d, int64_t bucket,
                          int index, hk_array *whole)
{
    HK_SCOPE;
    const int64_t slots = hki_optimizer_get_slots(optimizer);
    int64_t most = 0;
    for (int r = 0; r < self->ranks; r++) {
        const piece part = part_of(self, d, bucket, r, index);
        most = part.end - part.begin > most ? part.end - part.begin : most;
    }
    if (most == 0)
        return;
    hk_array *parts = own_slots(self, optimizer, d, bucket, index, most);
    if (self->ranks > 1)
        parts = (hk_group_all_gather)(self->group, parts);
    for (int r = 0; r < self->ranks; r++) {
        const piece part = part_of(self, d, bucket, r, index);
        if (part.end == part.begin)
            continue;
        hk_array *to = (hk_slice)(whole, 1, part.begin, part.end);
        hk_array *from = (hk_slice)(parts, 0, r * slots, (r + 1) * slots);
        (hk_assign)(to, (hk_slice)(from, 1, 0, part.end - part.begin));
    }
}

static hk_array *gather(void *context, const hk_optimizer *optimizer, int index)
{
    const sharded *self = context;
    hk_array *result, *param = params_of(self, index)[0];
    const hk_dims shape = hki_optimizer_state_shape(optimizer, param);
    {
        HK_SCOPE;
        hk_array *whole =
            (hk_zeros)(hk_shape(shape.dims[0], param->size), self->dtype, hk_array_device(param));
        for (int d = 0; d < self->n; d++)
            for (int64_t bucket = 0; bucket < bucket_count(self); bucket++)
                gather_bucket(self, optimizer, d, bucket, index, whole);
        result = hk_take((hk_reshape)(whole, shape));
    }
    return hki_scope_add(result);
}

static void scatter(void *context, hk_optimizer *optimizer, int index, hk_array *state)
{
    const sharded *self = context;
    int place = 0;
    piece part;
    for (int d = 0; d < self->n; d++)
        for (int64_t bucket = 0; bucket < bucket_count(self); bucket++)
            for (range left = range_of_rank(self, d, bucket); next_piece(self, &left, &part);
                 place++)
                if (part.param == index)
                    hki_optimizer_write_state(optimizer, place, params_of(self, index)[0], index,
                                              state, part.begin);
}

/* ---- making --------------------------------------------------------------------------------------------------------------- */

static void release(void *context)
{
    sharded *self = context;
    if (!self)
        return;
    for (int i = 0; self->params && i < self->n * self->count; i++)
        hk_array_release(self->params[i]);
    free(self->params);
    free(self->starts);
    free(self);
}

/* NULL, or what is wrong with parameter i on device d, counted. */
static const hk_status *check_param(hk_array *const *params, int n, int i, int d)
{
    hk_array *x = params[i * n + d];
    const hk_status *gone = hki_array_gone(x);
    char its[224], wanted[224];
    if (gone)
        return gone;
    if (x->failed)
        return hki_status_create(HK_INVALID_ARGUMENT, NULL, "parameter %d has failed", i);
    hki_array_describe(x, its, sizeof its);
    if (!x->is_contiguous)
        return hki_status_create(HK_INVALID_ARGUMENT, NULL, "parameter %d, %s, must be contiguous",
                                 i, its);
    const hk_array *like = d > 0 ? params[i * n] : params[0];
    hki_array_describe(like, wanted, sizeof wanted);
    if (x->dtype != like->dtype || (d > 0 && !hki_dims_equal(&x->shape, &like->shape)))
        return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                 "parameter %d on device %d is %s beside %s; all must have one "
                                 "dtype, and one shape on all devices",
                                 i, d, its, wanted);
    if (x->storage->device != params[d]->storage->device)
        return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                 "parameter %d for device %d is on %s, the first one on %s", i, d,
                                 x->storage->device->name, params[d]->storage->device->name);
    return NULL;
}

static bool is_list_of(hk_array *const *params, int n, int count)
{
    return params && n >= 1 && n <= HKI_FUNCTION_MAX && count >= 1 && count <= INT32_MAX / n;
}

static const hk_status *check(hk_array *const *params, int n, int count, hk_group *group)
{
    if (!is_list_of(params, n, count))
        return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                 "n is %d, count %d and params %p; n must be from 1 to %d, count "
                                 "1 or more, and params not NULL",
                                 n, count, (const void *)params, HKI_FUNCTION_MAX);
    if (group && !hk_ok(hk_group_status(group)))
        return hk_status_retain(hk_group_status(group));
    const hk_status *error = NULL;
    for (int i = 0; i < count && !error; i++)
        for (int d = 0; d < n && !error; d++)
            error = check_param(params, n, i, d);
    return error;
}

static sharded *create(hk_array *const *params, int n, int count, hk_group *group)
{
    sharded *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    *self = (sharded){.group = group,
                      .n = n,
                      .count = count,
                      .ranks = group ? hk_group_size(group) : 1,
                      .rank = group ? hk_group_rank(group) : 0,
                      .dtype = params[0]->dtype,
                      .params = calloc((size_t)n * (size_t)count, sizeof *self->params),
                      .starts = calloc((size_t)count + 1, sizeof *self->starts)};
    if (!self->params || !self->starts) {
        release(self);
        return NULL;
    }
    for (int i = 0; i < n * count; i++)
        self->params[i] = hk_array_retain(params[i]);
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

/* The optimiser of this process's pieces. */
static hk_optimizer *optimizer_of_pieces(const sharded *self, const char *method,
                                         const hk_optimizer_options *options)
{
    HK_SCOPE;
    /* each cut makes one more */
    const size_t most = (size_t)self->count + (size_t)self->n * (size_t)bucket_count(self);
    hk_array **pieces = calloc(most + 1, sizeof *pieces);
    int count = 0;
    piece part;
    if (!pieces)
        return hki_optimizer_create_failed(NULL, 0, hk_status_retain(hki_status_no_memory()));
    for (int d = 0; d < self->n; d++)
        for (int64_t bucket = 0; bucket < bucket_count(self); bucket++)
            for (range left = range_of_rank(self, d, bucket); next_piece(self, &left, &part);)
                pieces[count++] = view_of(find_param(self, part.param, d), &part);
    hk_optimizer *optimizer = (hk_optimizer_create)(method, pieces, count, options);
    free(pieces);
    return optimizer;
}

hk_optimizer *(hk_optimizer_create_sharded)(const char *method, hk_array *const *params, int n,
                                            int count, hk_group *group,
                                            const hk_optimizer_options *options)
{
    HK_PAUSE;
    const bool is_list = is_list_of(params, n, count);
    const hk_status *error = check(params, n, count, group);
    sharded *self = error ? NULL : create(params, n, count, group);
    if (!error && !self)
        error = hk_status_retain(hki_status_no_memory());
    if (!error) {
        hk_optimizer *optimizer = optimizer_of_pieces(self, method, options);
        if (hk_ok(hk_optimizer_status(optimizer))) {
            hki_optimizer_set_frame(optimizer, &(hki_optimizer_frame){.begin = begin,
                                                                      .end = end,
                                                                      .release = release,
                                                                      .gather = gather,
                                                                      .scatter = scatter,
                                                                      .count = count,
                                                                      .context = self});
            return optimizer;
        }
        error = hk_status_retain(hk_optimizer_status(optimizer));
        hk_optimizer_release(optimizer);
        release(self);
    }
    return hki_optimizer_create_failed(params, is_list ? n * count : 0, error);
}

HKI_AT(hk_optimizer *, hk_optimizer_create_sharded,
       (hk_source at, const char *method, hk_array *const *params, int n, int count,
        hk_group *group, const hk_optimizer_options *options),
       (method, params, n, count, group, options))
