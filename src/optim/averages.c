/* Moving averages of parameters, by calls like a program's own. */
#include "base/source.h"
#include "base/text.h"
#include "op/op.h"
#include "op/softmax_norm/moving_average.h"

#include <hocket/hocket.h>

#include <math.h>
#include <stdlib.h>

typedef struct averaged {
    hk_array *x, *average; /* counted */
} averaged;

struct hk_weight_averages {
    atomic_uint refs;
    const hk_status *status; /* counted */
    double decay;
    int count;
    averaged each[];
};

/* For when there is no memory for one. */
static hk_weight_averages no_memory = {.refs = 1};

/* NULL, or what is wrong, counted. */
static const hk_status *check(hk_array *const *params, int count, double decay)
{
    if (count < 0 || (count > 0 && !params) || !(decay >= 0 && decay <= 1))
        return hki_status_create(
            HK_INVALID_ARGUMENT, NULL,
            "count is %d, params %s and decay %g; decay must be from 0 to 1, and "
            "no argument may be missing",
            count, hki_given(params), decay);
    for (int i = 0; i < count; i++) {
        const hk_status *gone = hki_array_gone(params[i]);
        if (gone)
            return gone;
        if (params[i]->failed || (params[i]->dtype != HK_F32 && params[i]->dtype != HK_F64)) {
            char text[224];
            hki_array_describe(params[i], text, sizeof text);
            return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                     "parameter %d is %s, but must be float32 or float64", i, text);
        }
    }
    return NULL;
}

hk_weight_averages *(hk_weight_averages_create)(hk_array *const *params, int count, double decay)
{
    HK_PAUSE;
    const hk_status *error = check(params, count, decay);
    const size_t room = error ? 0 : (size_t)count;
    hk_weight_averages *self = calloc(1, sizeof *self + room * sizeof *self->each);
    if (!self) {
        hk_status_release(error);
        return &no_memory;
    }
    atomic_init(&self->refs, 1);
    self->status = error ? error : hki_status_ok();
    self->decay = decay;
    for (size_t i = 0; i < room; i++) {
        self->each[i] = (averaged){hk_array_retain(params[i]), hk_take((hk_copy)(params[i]))};
        self->count++;
    }
    return self;
}

const hk_status *hk_weight_averages_status(const hk_weight_averages *self)
{
    if (!self)
        return hki_status_lend(
            hki_status_create(HK_INVALID_ARGUMENT, NULL, "argument averages is NULL"));
    return self->status ? self->status : hki_status_no_memory();
}

void(hk_weight_averages_update)(hk_weight_averages *self)
{
    HK_PAUSE;
    for (int i = 0; self && i < self->count; i++) {
        const averaged *it = &self->each[i];
        const hki_moving_average_options options = {.weight = 1 - self->decay, .factor = 1};
        hki_op_call_into(&hki_op_moving_average, (hk_array *const[]){it->average, it->x}, 2,
                         &options, it->average);
    }
}

void(hk_weight_averages_swap)(hk_weight_averages *self)
{
    HK_PAUSE;
    for (int i = 0; self && i < self->count; i++) {
        HK_SCOPE;
        hk_array *before = (hk_copy)(self->each[i].x);
        (hk_assign)(self->each[i].x, self->each[i].average);
        (hk_assign)(self->each[i].average, before);
    }
}

hk_array *hk_weight_averages_get(const hk_weight_averages *self, int index)
{
    return self && index >= 0 && index < self->count ? self->each[index].average : NULL;
}

hk_weight_averages *hk_weight_averages_retain(hk_weight_averages *self)
{
    if (self && self != &no_memory)
        atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
    return self;
}

void hk_weight_averages_release(hk_weight_averages *self)
{
    if (!self || self == &no_memory ||
        atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < self->count; i++) {
        hk_array_release(self->each[i].x);
        hk_array_release(self->each[i].average);
    }
    hk_status_release(self->status);
    free(self);
}
