/* Different values: elements in order, of which each that differs from the one before begins another. */
#include "op/sort/selection.h"

#include "array/array.h"
#include "base/source.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/join.h"
#include "op/shape/reshape.h"

#include <hocket/index.h>

typedef enum part { VALUES, INDICES, INVERSE, COUNTS, PARTS } part;

/* x in order, and what follows from that; all in one scope. */
typedef struct ordered {
    hk_array *x;
    hk_array *sorted, *order; /* order: where in x each was */
    hk_array *begins;         /* bool: where another value begins */
    hk_array *places;         /* of these */
} ordered;

static hk_array *selected(hk_array *x, hk_array *places)
{
    return hki_op_call2(&hki_op_index_select, x, places, &(const int64_t){0});
}

/* The first one begins, and each that is not the one before. */
static hk_array *begins_of(hk_array *sorted)
{
    const hki_zeros_options one = {.shape = {.ndim = 1, .dims = {1}}, .dtype = HK_BOOL};
    const int64_t size = sorted->size;
    hk_array *first =
        hki_op_call(&hki_op_ones, NULL, 0, &one, (hk_device){sorted->storage->device}, NULL);
    hk_array *others = hki_op_call2(&hki_op_not_equal, hki_entries(sorted, 1, size),
                                    hki_entries(sorted, 0, size - 1), NULL);
    return hki_concat((hk_array *[]){first, others}, 2, 0);
}

/* False after hki_call_refuse. Blocks. */
static bool put_in_order(hki_call *call, ordered *self, hk_array **inputs)
{
    const struct {
        int64_t axis;
        bool descending;
    } rising = {0, false};
    hk_array *x = hki_flattened(self->x), *sorted[2];
    hki_op_call_all(&hki_op_sort, &x, 1, &rising, (hk_device){NULL}, sorted, 2);
    self->sorted = sorted[0];
    self->order = sorted[1];
    if (sorted[0]->failed) {
        inputs[1] = sorted[0];
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "x cannot be put in order");
    }
    if (self->x->size > 0)
        self->begins = begins_of(sorted[0]);
    else
        self->begins = hki_zeros_beside(self->x, &sorted[0]->shape, HK_BOOL);
    self->places = hki_places_of(call, self->begins, &inputs[1]);
    return self->places != NULL;
}

/* How far it is from each place to the next, or to the end. */
static hk_array *counts_of(const ordered *self)
{
    const hki_full_options end = {
        .shape = {.ndim = 1, .dims = {1}}, .value = (double)self->x->size, .dtype = HK_I64};
    const int64_t count = self->places->failed ? 0 : self->places->size;
    if (count == 0)
        return hki_op_call1(&hki_op_copy, self->places, NULL);
    hk_array *last =
        hki_op_call(&hki_op_full, NULL, 0, &end, (hk_device){self->x->storage->device}, NULL);
    hk_array *next = hki_concat((hk_array *[]){hki_entries(self->places, 1, count), last}, 2, 0);
    return hki_op_call2(&hki_op_subtract, next, self->places, NULL);
}

/* How many values began up to each element, put back to where it was. */
static hk_array *inverse_of(const ordered *self)
{
    const hki_cast_options whole = {HK_I64};
    const hki_reshape_options shape = {self->x->shape};
    hk_array *numbers = hki_op_call1(&hki_op_cast, self->begins, &whole);
    numbers = hki_op_call1(&hki_op_cumulative_sum, numbers, &(const int64_t){0});
    numbers = hki_op_call1(&hki_op_add_scalar, numbers, &(const double){-1});
    hk_array *zeros = hki_zeros_beside(self->x, &self->sorted->shape, HK_I64);
    hk_array *placed =
        hki_op_call3(&hki_op_scatter, zeros, self->order, numbers, &(const int64_t){0});
    return hki_op_call1(&hki_op_reshape, placed, &shape);
}

static hk_array *part_of(const ordered *self, part which)
{
    switch (which) {
    case VALUES:
        return selected(self->sorted, self->places);
    case INDICES:
        return selected(self->order, self->places);
    case INVERSE:
        return inverse_of(self);
    default:
        return counts_of(self);
    }
}

/* results: NULL where a part is not wanted. */
static void find(const char *operation, hk_array *x, hk_array **const results[PARTS])
{
    hki_call call = {.code = HK_OK};
    hki_array_uncapturable(operation, "the shape of its result depends on values");
    {
        HK_SCOPE;
        ordered self = {.x = x};
        hk_array *inputs[] = {x, NULL};
        bool ok;
        if (!x)
            ok = hki_call_refuse(&call, HK_INVALID_ARGUMENT, "x is NULL");
        else if (x->failed)
            ok = hki_call_refuse(&call, HK_INVALID_ARGUMENT, "x has failed");
        else
            ok = put_in_order(&call, &self, inputs);
        for (int i = 0; i < PARTS; i++)
            if (results[i])
                *results[i] = hk_take(ok ? part_of(&self, (part)i)
                                         : hki_refuse_many(operation, inputs, 2, &call));
    }
    for (int i = 0; i < PARTS; i++)
        if (results[i])
            *results[i] = hki_scope_add(*results[i]);
}

hk_array *(hk_unique_values)(hk_array *x)
{
    hk_array *values;
    find("unique_values", x, (hk_array * *const[PARTS]){[VALUES] = &values});
    return values;
}

void(hk_unique_counts)(hk_array *x, hk_array **values, hk_array **counts)
{
    find("unique_counts", x, (hk_array * *const[PARTS]){[VALUES] = values, [COUNTS] = counts});
}

void(hk_unique_inverse)(hk_array *x, hk_array **values, hk_array **inverse)
{
    find("unique_inverse", x, (hk_array * *const[PARTS]){[VALUES] = values, [INVERSE] = inverse});
}

void(hk_unique_all)(hk_array *x, hk_array **values, hk_array **indices, hk_array **inverse,
                    hk_array **counts)
{
    find("unique_all", x,
         (hk_array * *const[PARTS]){
             [VALUES] = values, [INDICES] = indices, [INVERSE] = inverse, [COUNTS] = counts});
}
