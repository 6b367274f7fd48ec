/* Optimisers whose state is spread over devices and ranks (ZeRO-1): their steps, and how they are made. */
#include "split/sharded.h"
#include "base/source.h"

#include "autograd/tape.h"
#include "base/integer.h"
#include "base/status.h"
#include "base/text.h"
#include "collective/reduce_part.h"
#include "op/call/capture.h"
#include "op/op.h"

#include <hocket/hocket.h>

#include <stdlib.h>

static const char operation[] = "optimizer_step";

static bool is_empty(hki_shard_range left)
{
    return left.begin >= left.end;
}

/* What this rank has of a bucket. */
static hki_shard_range own_part(const hki_shard_layout *self, int d, int64_t bucket)
{
    return hki_layout_part(self, d, bucket, self->rank);
}

static size_t place_of(const hki_shard_layout *self, int param, int d)
{
    return (size_t)param * (size_t)self->n + (size_t)d;
}

/* The piece of x, which lies in one row; of the scope. */
static hk_array *view_of(hk_array *x, const hki_shard_piece *part)
{
    return x->failed ? x
                     : hki_array_view(x, hk_shape(part->end - part->begin), (int64_t[]){1},
                                      x->offset + part->begin);
}

/* ---- between ranks ----------------------------------------------------------------------------------------------------- */

/* `arrays` are parameters, or gradients of all of them: arrays[i * n + d]. */

/* What a range has, in one row of `size` elements, with zeros behind; of the scope. */
static hk_array *row_of(const hki_shard_layout *self, hki_shard_range left, int d,
                        hk_array *const *arrays, int64_t size)
{
    const int64_t padding = size - (left.end - left.begin);
    hk_array **parts = calloc((size_t)self->count + 1, sizeof *parts);
    int count = 0;
    hki_shard_piece part;
    if (!parts)
        return hki_array_no_memory();
    while (hki_layout_next(self, &left, &part))
        parts[count++] = view_of(arrays[place_of(self, part.param, d)], &part);
    if (padding > 0 || count == 0)
        parts[count++] = (hk_zeros)(hk_shape(padding), self->dtype, hk_array_device(arrays[d]));
    hk_array *row = (hk_concat)(parts, count, 0);
    free(parts);
    return row;
}

/* The pieces of a range become what stands in the row, which begins with its first. */
static void write_row(const hki_shard_layout *self, hki_shard_range left, int d,
                      hk_array *const *arrays, hk_array *row)
{
    const int64_t first = left.begin;
    hki_shard_piece part;
    while (hki_layout_next(self, &left, &part)) {
        HK_SCOPE;
        const int64_t at = self->starts[part.param] + part.begin - first;
        hk_array *to = arrays[place_of(self, part.param, d)];
        if (to->failed)
            continue;
        (hk_assign)(view_of(to, &part),
                    row->failed ? row : (hk_slice)(row, 0, at, at + part.end - part.begin));
    }
}

static void sum_ranks(const hki_shard_layout *self, int d, int64_t bucket, hk_array *const *grads)
{
    HK_SCOPE;
    hk_array *row = row_of(self, hki_layout_bucket(self, d, bucket), d, grads,
                           self->ranks * hki_layout_slice(self, bucket));
    write_row(self, own_part(self, d, bucket), d, grads,
              (hk_group_reduce_scatter)(self->group, row));
}

static void gather_ranks(const hki_shard_layout *self, int d, int64_t bucket,
                         hk_array *const *params)
{
    HK_SCOPE;
    hk_array *row =
        row_of(self, own_part(self, d, bucket), d, params, hki_layout_slice(self, bucket));
    write_row(self, hki_layout_bucket(self, d, bucket), d, params,
              (hk_group_all_gather)(self->group, row));
}

/* ---- between devices --------------------------------------------------------------------------------------------------- */

/* A device's gradient that is not there; NULL: all are. */
static hk_array *find_missing(const hki_shard_layout *self, hk_array *const *grads)
{
    for (int d = 0; d < self->n; d++)
        if (grads[d]->failed)
            return grads[d];
    return NULL;
}

/* Those of all devices, to the one whose bucket it is. */
static void sum_devices(const hki_shard_layout *self, int d, int64_t bucket, hk_array *const *grads)
{
    hki_shard_range left = hki_layout_bucket(self, d, bucket);
    hki_shard_piece part;
    while (hki_layout_next(self, &left, &part)) {
        hk_array *const *its = &grads[place_of(self, part.param, 0)];
        hk_array *missing = find_missing(self, its);
        if (!missing)
            hki_reduce_part(its, self->n, d, part.begin, part.end);
        else if (!its[d]->failed)
            hki_array_fail_in_place(its[d], operation, &missing, 1, HK_INVALID_ARGUMENT,
                                    "a gradient is missing");
    }
}

static void spread_devices(const hki_shard_layout *self, int d, int64_t bucket,
                           hk_array *const *params)
{
    hki_shard_range left = hki_layout_bucket(self, d, bucket);
    hki_shard_piece part;
    while (hki_layout_next(self, &left, &part))
        hki_spread_part(&params[place_of(self, part.param, 0)], self->n, d, part.begin, part.end);
}

/* ---- halves of a step -------------------------------------------------------------------------------------------------- */

/* As hki_capture_again_fn has it. The last buckets first, whose gradients are there first. */
static void sum(hk_array *const *grads, int count, const void *layout)
{
    const hki_shard_layout *self = layout;
    (void)count;
    HK_SCOPE;
    for (int64_t bucket = hki_layout_buckets(self); bucket-- > 0;)
        for (int d = self->n; d-- > 0;) {
            if (is_empty(hki_layout_bucket(self, d, bucket)))
                continue;
            sum_devices(self, d, bucket, grads);
            if (self->ranks > 1)
                sum_ranks(self, d, bucket, grads);
        }
}

/* Likewise. The first ones first, which the next step reads first. */
static void spread(hk_array *const *params, int count, const void *layout)
{
    const hki_shard_layout *self = layout;
    (void)count;
    HK_SCOPE;
    for (int d = 0; d < self->n; d++)
        for (int64_t bucket = 0; bucket < hki_layout_buckets(self); bucket++) {
            if (is_empty(hki_layout_bucket(self, d, bucket)))
                continue;
            if (self->ranks > 1)
                gather_ranks(self, d, bucket, params);
            spread_devices(self, d, bucket, params);
        }
}

/* In a graph it is one call, with a layout of its own: the graph may live longer than the optimiser. */
static void do_half(const hki_shard_layout *self, hki_capture_again_fn half,
                    hk_array *const *arrays, size_t early_bytes)
{
    const int count = self->n * self->count;
    hki_capture *capture = hki_capturing;
    if (self->n * self->ranks == 1)
        return;
    if (capture)
        hki_hooks.capture->compound_begin(capture, operation, half, arrays, count, self,
                                          hki_layout_bytes(self), early_bytes);
    half(arrays, count, self);
    if (capture)
        hki_hooks.capture->compound_end(capture);
}

/* What this process updates, by pieces: their gradients, or, of NULL, what it was before. */
static void set_grads(const hki_shard_layout *self, hk_optimizer *optimizer, hk_array *const *grads)
{
    int index = 0;
    hki_shard_piece part;
    HK_SCOPE;
    for (int d = 0; d < self->n; d++)
        for (int64_t bucket = 0; bucket < hki_layout_buckets(self); bucket++)
            for (hki_shard_range left = own_part(self, d, bucket);
                 hki_layout_next(self, &left, &part);)
                hki_optimizer_set_grad(optimizer, index++,
                                       grads ? view_of(grads[place_of(self, part.param, d)], &part)
                                             : NULL);
}

static void begin(void *context, hk_optimizer *optimizer)
{
    const hki_sharded *self = context;
    const int count = self->layout->n * self->layout->count;
    hk_array **grads = self->params + count;
    HK_SCOPE;
    for (int i = 0; i < count; i++)
        grads[i] = (hk_grad)(self->params[i]);
    do_half(self->layout, sum, grads, HKI_EARLY_BYTES);
    set_grads(self->layout, optimizer, grads);
}

static void end(void *context, hk_optimizer *optimizer)
{
    const hki_sharded *self = context;
    do_half(self->layout, spread, self->params, 0);
    set_grads(self->layout, optimizer, NULL);
}

/* ---- making --------------------------------------------------------------------------------------------------------------- */

static void release(void *context)
{
    hki_sharded *self = context;
    for (int i = 0; i < self->layout->n * self->layout->count; i++)
        hk_array_release(self->params[i]);
    free(self->params);
    free(self->layout);
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
                                 "n is %d, count %d and params %s; n must be from 1 to %d, count "
                                 "1 or more, and params not NULL",
                                 n, count, hki_given(params), HKI_FUNCTION_MAX);
    if (group && !hk_ok(hk_group_status(group)))
        return hk_status_retain(hk_group_status(group));
    const hk_status *error = NULL;
    for (int i = 0; i < count && !error; i++)
        for (int d = 0; d < n && !error; d++)
            error = check_param(params, n, i, d);
    return error;
}

static hki_sharded *create(hk_array *const *params, int n, int count, hk_group *group)
{
    hki_sharded *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    *self = (hki_sharded){.layout = hki_layout_create(params, n, count, group),
                          .params = calloc(2 * (size_t)n * (size_t)count, sizeof *self->params)};
    if (!self->params || !self->layout) {
        free(self->params);
        free(self->layout);
        free(self);
        return NULL;
    }
    for (int i = 0; i < n * count; i++)
        self->params[i] = hk_array_retain(params[i]);
    return self;
}

/* The optimiser of this process's pieces. */
static hk_optimizer *optimizer_of_pieces(const hki_sharded *of, const char *method,
                                         const hk_optimizer_options *options)
{
    HK_SCOPE;
    const hki_shard_layout *self = of->layout;
    /* each cut makes one more */
    const size_t most = (size_t)self->count + (size_t)self->n * (size_t)hki_layout_buckets(self);
    hk_array **pieces = calloc(most + 1, sizeof *pieces);
    int count = 0;
    hki_shard_piece part;
    if (!pieces)
        return hki_optimizer_create_failed(NULL, 0, hk_status_retain(hki_status_no_memory()));
    for (int d = 0; d < self->n; d++)
        for (int64_t bucket = 0; bucket < hki_layout_buckets(self); bucket++)
            for (hki_shard_range left = own_part(self, d, bucket);
                 hki_layout_next(self, &left, &part);)
                pieces[count++] = view_of(of->params[place_of(self, part.param, d)], &part);
    hk_optimizer *optimizer = (hk_optimizer_create)(method, pieces, count, options);
    free(pieces);
    return optimizer;
}

hk_optimizer *(hk_optimizer_create_sharded)(const char *method, hk_array *const *params, int n,
                                            int count, hk_group *group,
                                            const hk_optimizer_options *options)
{
    HKI_TAKE_OPTIONS(hk_optimizer_options, options);
    HK_PAUSE;
    const bool is_list = is_list_of(params, n, count);
    const hk_status *error = check(params, n, count, group);
    hki_sharded *self = error ? NULL : create(params, n, count, group);
    if (!error && !self)
        error = hk_status_retain(hki_status_no_memory());
    if (!error) {
        hk_optimizer *optimizer = optimizer_of_pieces(self, method, options);
        if (hk_ok(hk_optimizer_status(optimizer))) {
            hki_optimizer_set_frame(optimizer,
                                    &(hki_optimizer_frame){.begin = begin,
                                                           .end = end,
                                                           .release = release,
                                                           .gather = hki_sharded_gather,
                                                           .scatter = hki_sharded_scatter,
                                                           .agree = hki_sharded_agree,
                                                           .whole = self->params,
                                                           .stride = n,
                                                           .count = count,
                                                           .writes = self->layout->rank == 0,
                                                           .context = self});
            return optimizer;
        }
        error = hk_status_retain(hk_optimizer_status(optimizer));
        hk_optimizer_release(optimizer);
        release(self);
    }
    return hki_optimizer_create_failed(params, is_list ? n * count : 0, error);
}
