/* In which layout steps find their values, and where. */
#include "graph/chain.h"

#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

/* What a value is in when a step is reached. */
enum { IN_ROWS = 1, IN_LANES = 2 };

typedef struct layout {
    hki_chain *chain;
    unsigned char *is_in;  /* of values */
    hki_chain_step *steps; /* with conversions */
    int count;
    bool fits; /* each step on images finds its x in a form that it can read */
} layout;

static void convert(layout *self, int value, hki_chain_step_kind kind)
{
    unsigned wanted = kind == HKI_STEP_TO_LANES ? IN_LANES : IN_ROWS;
    if (self->is_in[value] & wanted)
        return;
    hki_chain_step *step = &self->steps[self->count++];
    *step = hki_chain_no_step;
    step->kind = kind;
    step->x = value;
    self->is_in[value] |= (unsigned char)wanted;
}

/* Whether an operator that works element by element may do so in lanes, and whether it is to. */
static bool goes_in_lanes(const layout *self, const hki_chain_step *step)
{
    const hki_chain *chain = self->chain;
    const hki_chain_value *out = &chain->values[step->out[0].index];
    bool can = chain->form == HKI_CHAIN_OF_LANES && step->kind == HKI_STEP_CALL &&
               chain->calls[step->call].op->elementwise && out->fits_lanes;
    bool all_rows = true;
    for (int i = 0; i < HKI_MAX_INPUTS && can; i++) {
        const hki_chain_ref *ref = &step->in[i];
        if (ref->kind == HKI_REF_NONE)
            continue;
        const hki_chain_value *x = &chain->values[ref->index];
        can = ref->kind == HKI_REF_VALUE && x->fits_lanes && x->elements == out->elements;
        all_rows = all_rows && can && self->is_in[ref->index] & IN_ROWS;
    }
    return can && !all_rows;
}

static void lay_out_call(layout *self, hki_chain_step *step)
{
    const hki_chain *chain = self->chain;
    step->in_lanes = goes_in_lanes(self, step);
    for (int i = 0; i < HKI_MAX_INPUTS; i++)
        if (step->in[i].kind == HKI_REF_VALUE)
            convert(self, step->in[i].index, step->in_lanes ? HKI_STEP_TO_LANES : HKI_STEP_TO_ROWS);
    self->steps[self->count++] = *step;
    for (int i = 0; i < chain->calls[step->call].output_count; i++)
        if (step->out[i].kind == HKI_REF_VALUE)
            self->is_in[step->out[i].index] |= step->in_lanes ? IN_LANES : IN_ROWS;
}

static bool is_shaped_for(const hki_image *image, const hki_conv2d_geometry *g)
{
    return image->channels == g->in_channels && image->height == g->in_height &&
           image->width == g->in_width;
}

/* Images as an earlier step made them, where this one can read those; else rows; else the images that it needs. */
static void lay_out_image(layout *self, hki_chain_step *step)
{
    const hki_conv2d_geometry *g = &step->block.geometry;
    hki_chain_value *x = &self->chain->values[step->x];
    hki_conv2d_image image = {step->block, x->image};
    if (!(self->is_in[step->x] & IN_LANES) || !hki_conv2d_image_supports(&image)) {
        step->x_in_rows = !hki_conv2d_image_wants_image(&step->block);
        image.x = hki_image_make(g->in_channels, g->in_height, g->in_width);
        if (step->x_in_rows)
            image.x.stride = 0;
        else if (x->image.stride && !is_shaped_for(&x->image, g))
            self->fits = false; /* there is one image of a value */
        else
            x->image = image.x;
        convert(self, step->x, step->x_in_rows ? HKI_STEP_TO_ROWS : HKI_STEP_TO_LANES);
    }
    self->fits = self->fits && hki_conv2d_image_supports(&image);
    self->chain->packs[step->pack].x = image.x;
    self->chain->values[step->y].image = hki_conv2d_image_result(&step->block);
    self->steps[self->count++] = *step;
    self->is_in[step->y] |= IN_LANES;
}

static void lay_out_block(layout *self, const hki_chain_step *step)
{
    const bool rows = self->chain->form == HKI_CHAIN_OF_ROWS;
    const int read[] = {step->x, step->dy}, made[] = {step->y, step->dx};
    for (int i = 0; i < 2; i++)
        if (read[i] >= 0)
            convert(self, read[i], rows ? HKI_STEP_TO_ROWS : HKI_STEP_TO_LANES);
    self->steps[self->count++] = *step;
    for (int i = 0; i < 2; i++)
        if (made[i] >= 0)
            self->is_in[made[i]] |= rows ? IN_ROWS : IN_LANES;
}

/* Rows that leave the block: whole arrays, and what steps at the end of a piece read. */
static void leave_rows(layout *self, int made_by)
{
    const hki_chain_step *step = &self->steps[made_by];
    int made[] = {step->y, step->dx, step->out[0].index, step->out[1].index};
    bool block = step->kind == HKI_STEP_FORWARD || step->kind == HKI_STEP_BACKWARD;
    for (int i = 0; i < 4; i++) {
        bool is_value =
            i < 2 ? block && made[i] >= 0 : !block && step->out[i - 2].kind == HKI_REF_VALUE;
        if (is_value &&
            (self->chain->values[made[i]].is_output || self->chain->values[made[i]].is_kept))
            convert(self, made[i], HKI_STEP_TO_ROWS);
    }
}

static void insert_conversions(layout *self)
{
    hki_chain *chain = self->chain;
    for (int i = 0; i < chain->value_count; i++)
        self->is_in[i] = chain->values[i].array >= 0 && !chain->values[i].is_output ? IN_ROWS : 0;
    for (int i = 0; i < chain->step_count; i++) {
        hki_chain_step *step = &chain->steps[i];
        if (step->kind == HKI_STEP_CALL_END)
            continue;
        if (step->kind == HKI_STEP_SPREAD) {
            self->steps[self->count++] = *step;
            self->is_in[step->x] |= IN_ROWS;
            continue;
        }
        if (step->kind == HKI_STEP_CALL)
            lay_out_call(self, step);
        else if (chain->form == HKI_CHAIN_OF_IMAGES)
            lay_out_image(self, step);
        else
            lay_out_block(self, step);
        leave_rows(self, self->count - 1);
    }
    chain->end_steps = self->count;
    for (int i = 0; i < chain->step_count; i++)
        if (chain->steps[i].kind == HKI_STEP_CALL_END)
            self->steps[self->count++] = chain->steps[i];
    free(chain->steps);
    chain->steps = self->steps;
    chain->step_count = self->count;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* Something that lives from one step to another. */
typedef struct tenant {
    int64_t *at;
    int64_t bytes;
    int from, to; /* steps; from > to: never */
} tenant;

static void live(tenant *self, int step)
{
    self->from = step < self->from ? step : self->from;
    self->to = step > self->to ? step : self->to;
}

/* tenants: rows of value i at 2 i, its lanes at 2 i + 1. */
static void note_lives(const hki_chain *chain, tenant *tenants)
{
    const bool rows = chain->form == HKI_CHAIN_OF_ROWS;
    for (int i = 0; i < chain->step_count; i++) {
        const hki_chain_step *step = &chain->steps[i];
        const int block[] = {step->x, step->y, step->dx, step->dy};
        switch (step->kind) {
        case HKI_STEP_CALL:
            for (int j = 0; j < HKI_MAX_INPUTS; j++)
                if (step->in[j].kind == HKI_REF_VALUE)
                    live(&tenants[2 * step->in[j].index + step->in_lanes], i);
            for (int j = 0; j < HKI_MAX_OUTPUTS; j++)
                if (step->out[j].kind == HKI_REF_VALUE)
                    live(&tenants[2 * step->out[j].index + step->in_lanes], i);
            break;
        case HKI_STEP_TO_LANES:
        case HKI_STEP_TO_ROWS:
            live(&tenants[2 * step->x], i);
            live(&tenants[2 * step->x + 1], i);
            break;
        case HKI_STEP_FORWARD:
        case HKI_STEP_BACKWARD:
            for (int j = 0; j < 4; j++)
                if (block[j] >= 0)
                    live(&tenants[2 * block[j] + !(rows || (j == 0 && step->x_in_rows))], i);
            break;
        case HKI_STEP_SPREAD:
            live(&tenants[2 * step->x], i);
            break;
        case HKI_STEP_CALL_END:
            break;
        }
    }
}

/* First fit below the others that live at the same time; returns the end of all. */
static int64_t place(tenant *tenants, int count)
{
    int64_t end = 0;
    for (int i = 0; i < count; i++) {
        tenant *one = &tenants[i];
        *one->at = HKI_CHAIN_NOWHERE;
        if (one->from > one->to)
            continue;
        int64_t at = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (int j = 0; j < i; j++) {
                const tenant *other = &tenants[j];
                if (*other->at == HKI_CHAIN_NOWHERE || other->from > one->to ||
                    one->from > other->to || *other->at >= at + one->bytes ||
                    at >= *other->at + other->bytes)
                    continue;
                at = *other->at + other->bytes;
                moved = true;
            }
        }
        *one->at = at;
        end = at + one->bytes > end ? at + one->bytes : end;
    }
    return end;
}

static int64_t lanes_bytes(const hki_chain *chain, const hki_chain_value *value)
{
    int64_t elements =
        chain->form == HKI_CHAIN_OF_IMAGES ? hki_image_elements(&value->image) : value->elements;
    return hki_round_up(elements * chain->block_samples * (int64_t)hki_dtype_bytes(value->dtype),
                        HKI_CACHE_LINE);
}

static bool place_block(hki_chain *chain, int64_t *end)
{
    int count = 2 * chain->value_count + chain->mask_count;
    tenant *tenants = calloc((size_t)count + 1, sizeof *tenants);
    if (!tenants)
        return false;
    for (int i = 0; i < count; i++)
        tenants[i].from = chain->step_count;
    for (int i = 0; i < chain->value_count; i++) {
        hki_chain_value *value = &chain->values[i];
        int64_t bytes = hki_round_up(value->elements * chain->block_samples *
                                         (int64_t)hki_dtype_bytes(value->dtype),
                                     HKI_CACHE_LINE);
        tenants[2 * i].at = &value->rows;
        tenants[2 * i + 1].at = &value->lanes;
        int64_t lanes = lanes_bytes(chain, value);
        tenants[2 * i].bytes = bytes ? bytes : 64;
        tenants[2 * i + 1].bytes = lanes ? lanes : 64;
    }
    note_lives(chain, tenants);
    for (int i = 0; i < chain->value_count; i++)
        if (chain->values[i].array >= 0 || chain->values[i].is_kept)
            tenants[2 * i].from = chain->step_count + 1; /* rows are elsewhere */
    for (int i = 0; i < chain->mask_count; i++) {
        tenant *mask = &tenants[2 * chain->value_count + i];
        mask->at = &chain->masks[i].at;
        mask->bytes = chain->masks[i].bytes;
        for (int j = 0; j < chain->step_count; j++)
            if (chain->steps[j].mask == i && (chain->steps[j].kind == HKI_STEP_FORWARD ||
                                              chain->steps[j].kind == HKI_STEP_BACKWARD))
                live(mask, j);
    }
    *end = place(tenants, count);
    free(tenants);
    return true;
}

static int64_t scratch_of(const hki_chain *chain)
{
    int64_t most = 0;
    for (int i = 0; i < chain->step_count; i++) {
        const hki_chain_step *step = &chain->steps[i];
        const hki_conv2d_image image = {step->block, step->pack < 0 ? (hki_image){0}
                                                                    : chain->packs[step->pack].x};
        const bool is_block = step->kind == HKI_STEP_FORWARD || step->kind == HKI_STEP_BACKWARD;
        const hki_layer layer = hki_chain_layer(&step->block, step->kind == HKI_STEP_BACKWARD);
        if (is_block && chain->form == HKI_CHAIN_OF_ROWS)
            most = hki_max(
                most, (int64_t)hki_layer_scratch_bytes(&layer, chain->f64, chain->block_samples));
        else if (step->kind == HKI_STEP_FORWARD && chain->form == HKI_CHAIN_OF_IMAGES)
            most = hki_max(most, (int64_t)hki_conv2d_image_scratch_bytes(&image));
        else if (step->kind == HKI_STEP_FORWARD)
            most = hki_max(
                most, (int64_t)hki_conv2d_block_forward_scratch_bytes(&step->block, chain->f64));
        else if (step->kind == HKI_STEP_BACKWARD)
            most = hki_max(
                most, (int64_t)hki_conv2d_block_backward_scratch_bytes(&step->block, chain->f64));
        else if (step->kind == HKI_STEP_CALL || step->kind == HKI_STEP_CALL_END)
            for (int j = 0; j < HKI_CHAIN_SIZES; j++)
                most = hki_max(most, (int64_t)step->extents[j].partial_bytes);
    }
    return hki_round_up(most, HKI_CACHE_LINE);
}

/* Room for sums of runs beside that of the piece. */
static int64_t waiting_bytes(const hki_chain *chain)
{
    const int64_t live = hki_sum_live(hki_sum_runs(chain->piece_samples));
    return chain->accumulates ? (live - 1) * chain->sum_bytes : 0;
}

bool hki_chain_lay_out(hki_chain *chain)
{
    layout self = {.chain = chain, .fits = true};
    int64_t end;
    self.is_in = calloc((size_t)chain->value_count + 1, 1);
    self.steps =
        calloc((size_t)(chain->step_count + 2 * chain->value_count) + 1, sizeof *self.steps);
    if (!self.is_in || !self.steps) {
        free(self.is_in);
        free(self.steps);
        return false;
    }
    insert_conversions(&self);
    free(self.is_in);
    if (!self.fits || !place_block(chain, &end))
        return false;
    chain->block_bytes = end + scratch_of(chain);
    chain->kept_at = end;
    for (int i = 0; i < chain->value_count; i++) {
        hki_chain_value *value = &chain->values[i];
        if (value->array >= 0 || !value->is_kept)
            continue;
        value->rows = end;
        end += hki_round_up(value->elements * chain->piece_samples *
                                (int64_t)hki_dtype_bytes(value->dtype),
                            HKI_CACHE_LINE);
    }
    chain->scratch_at = end;
    chain->sum_bytes = chain->packed_bytes = chain->kept_bytes = 0;
    for (int i = 0; i < chain->sum_count; i++) {
        hki_chain_sum *sum = &chain->sums[i];
        sum->at = chain->sum_bytes;
        chain->accumulates = chain->accumulates || sum->accumulates;
        chain->sum_bytes +=
            hki_round_up(sum->elements * (int64_t)hki_dtype_bytes(sum->dtype), HKI_CACHE_LINE);
    }
    chain->waiting_at = chain->scratch_at + scratch_of(chain);
    chain->workspace_bytes = chain->waiting_at + waiting_bytes(chain);
    for (int i = 0; i < chain->pack_count; i++) {
        hki_chain_pack *pack = &chain->packs[i];
        int64_t *bytes = pack->is_constant ? &chain->kept_bytes : &chain->packed_bytes;
        pack->at = *bytes;
        *bytes += (int64_t)hki_chain_pack_bytes(chain, pack);
    }
    return hki_chain_note_constants(chain);
}
