/* States of sharded optimisers as a whole, and what ranks agree on while one is saved. */
#include "split/sharded.h"

#include "array/array.h"
#include "base/status.h"
#include "base/text.h"

#include <hocket/hocket.h>

#include <stdlib.h>

/* What of parameter `index` rank r has of a bucket; perhaps nothing. */
static hki_shard_piece part_of(const hki_shard_layout *self, int d, int64_t bucket, int r,
                               int index)
{
    const hki_shard_range its = hki_layout_part(self, d, bucket, r);
    const int64_t start = self->starts[index], stop = self->starts[index + 1];
    const int64_t begin = its.begin > start ? its.begin : start;
    const int64_t end = its.end < stop ? its.end : stop;
    return (hki_shard_piece){index, begin - start, (end > begin ? end : begin) - start};
}

/* The place among this process's pieces of the one that begins there; see optimizer_of_pieces. */
static int find_piece(const hki_shard_layout *self, int d, int64_t bucket, int index)
{
    int place = 0;
    hki_shard_piece part;
    for (int e = 0; e <= d; e++)
        for (int64_t other = 0; other < hki_layout_buckets(self); other++)
            for (hki_shard_range left = hki_layout_part(self, e, other, self->rank);
                 hki_layout_next(self, &left, &part); place++)
                if (e == d && other == bucket && part.param == index)
                    return place;
    return place;
}

/* This rank's slots of a bucket, with zeros up to `most` elements. */
static hk_array *own_slots(const hki_sharded *of, const hk_optimizer *optimizer, int d,
                           int64_t bucket, int index, int64_t most)
{
    const hki_shard_layout *self = of->layout;
    const hki_shard_piece own = part_of(self, d, bucket, self->rank, index);
    const int64_t slots = hki_optimizer_get_slots(optimizer), size = own.end - own.begin;
    hk_array *padding =
        (hk_zeros)(hk_shape(slots, most - size), self->dtype, hk_array_device(of->params[d]));
    if (size == 0)
        return padding;
    hk_array *state = hki_optimizer_get_state(optimizer, find_piece(self, d, bucket, index));
    return size < most ? (hk_concat)((hk_array *[]){state, padding}, 2, 1) : state;
}

/* What a bucket has of the parameter, on all ranks, to where it stands in `whole`: (slots, elements). */
static void gather_bucket(const hki_sharded *of, const hk_optimizer *optimizer, int d,
                          int64_t bucket, int index, hk_array *whole)
{
    HK_SCOPE;
    const hki_shard_layout *self = of->layout;
    const int64_t slots = hki_optimizer_get_slots(optimizer);
    int64_t most = 0;
    for (int r = 0; r < self->ranks; r++) {
        const hki_shard_piece part = part_of(self, d, bucket, r, index);
        most = part.end - part.begin > most ? part.end - part.begin : most;
    }
    if (most == 0 || slots == 0)
        return;
    hk_array *parts = own_slots(of, optimizer, d, bucket, index, most);
    if (self->ranks > 1)
        parts = (hk_group_all_gather)(self->group, parts);
    for (int r = 0; r < self->ranks; r++) {
        const hki_shard_piece part = part_of(self, d, bucket, r, index);
        if (part.end == part.begin)
            continue;
        hk_array *to = (hk_slice)(whole, 1, part.begin, part.end);
        hk_array *from = (hk_slice)(parts, 0, r * slots, (r + 1) * slots);
        (hk_assign)(to, (hk_slice)(from, 1, 0, part.end - part.begin));
    }
}

hk_array *hki_sharded_gather(void *context, const hk_optimizer *optimizer, int index)
{
    const hki_sharded *self = context;
    const hki_shard_layout *layout = self->layout;
    hk_array *result, *param = self->params[index * layout->n];
    const hk_dims shape = hki_optimizer_state_shape(optimizer, param);
    {
        HK_SCOPE;
        hk_array *whole =
            (hk_zeros)(hk_shape(shape.dims[0], param->size), layout->dtype, hk_array_device(param));
        for (int d = 0; d < layout->n; d++)
            for (int64_t bucket = 0; bucket < hki_layout_buckets(layout); bucket++)
                gather_bucket(self, optimizer, d, bucket, index, whole);
        result = hk_take((hk_reshape)(whole, shape));
    }
    return hki_scope_add(result);
}

void hki_sharded_scatter(void *context, hk_optimizer *optimizer, int index, hk_array *state)
{
    const hki_sharded *self = context;
    const hki_shard_layout *layout = self->layout;
    int place = 0;
    hki_shard_piece part;
    for (int d = 0; d < layout->n; d++)
        for (int64_t bucket = 0; bucket < hki_layout_buckets(layout); bucket++)
            for (hki_shard_range left = hki_layout_part(layout, d, bucket, layout->rank);
                 hki_layout_next(layout, &left, &part); place++)
                if (part.param == index)
                    hki_optimizer_write_state(optimizer, place, self->params[index * layout->n],
                                              index, state, part.begin);
}

/* ---- agreeing ------------------------------------------------------------------------------------------------------------- */

/* What a rank tells the others. */
typedef struct said {
    int32_t code;
    char message[508];
} said;

const hk_status *hki_sharded_agree(void *context, const hk_status *own)
{
    const hki_sharded *self = context;
    const size_t ranks = (size_t)self->layout->ranks;
    const hk_status *error = NULL;
    said mine = {.code = own ? (int32_t)hk_status_code(own) : HK_OK};
    if (ranks == 1)
        return own ? hk_status_retain(own) : NULL;
    if (own)
        hki_format(mine.message, sizeof mine.message, "%s", hk_status_message(own));
    HK_SCOPE;
    HK_PAUSE;
    said *all = malloc(ranks * sizeof *all);
    hk_array *x =
        (hk_from_host)(&mine, hk_shape(sizeof mine), HK_U8, hk_array_device(self->params[0]));
    x = (hk_group_all_gather)(self->layout->group, x);
    if (!all)
        error = hk_status_retain(hki_status_no_memory());
    else if (!hk_ok((hk_to_host)(x, all, ranks * sizeof *all)))
        error = hk_status_retain(hk_wait(x));
    for (size_t r = 0; !error && r < ranks; r++)
        if (all[r].code != HK_OK && (int)r == self->layout->rank)
            error = hk_status_retain(own);
        else if (all[r].code != HK_OK)
            error = hki_status_create((hk_code)all[r].code, NULL, "rank %d: %.*s", (int)r,
                                      (int)sizeof all[r].message - 1, all[r].message);
    free(all);
    return error;
}
