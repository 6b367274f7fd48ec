#include "graph/stand_ins.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT_BYTES = 256, /* as allocators of accelerators align */
    /* A device copies so much in about the time that launching a call takes. */
    CALL_BYTES = 1 << 20
};

/* ---- what there is ------------------------------------------------------------------------------------------------ */

bool hki_stand_ins_init(hki_stand_ins *self, const hk_graph *graph, hki_device *device,
                        int touch_count)
{
    size_t slots = (size_t)graph->slot_count;
    *self = (hki_stand_ins){.graph = graph,
                            .device = device,
                            .copy_capacity = touch_count,
                            .slots = calloc(slots + 1, sizeof *self->slots),
                            .last = calloc(slots + 1, sizeof *self->last),
                            .copies = calloc((size_t)touch_count + 1, sizeof *self->copies)};
    if (!self->slots || !self->last || !self->copies)
        return false;
    for (int i = 0; i < graph->bound_count; i++)
        self->slots[graph->bound[i].slot].is_bound = true;
    return true;
}

void hki_stand_ins_deinit(hki_stand_ins *self)
{
    if (self->memory)
        hki_storage_release_handle(self->memory);
    free(self->slots);
    free(self->last);
    free(self->copies);
}

static void extend(hki_stand_in *it, int64_t begin, int64_t end)
{
    bool is_first = it->begin == it->end;
    it->begin = is_first || begin < it->begin ? begin : it->begin;
    it->end = is_first || end > it->end ? end : it->end;
}

void hki_stand_ins_add(hki_stand_ins *self, int slot, const hki_span *span, unsigned mode)
{
    const int64_t begin = (int64_t)span->begin, end = (int64_t)span->end;
    if (!self->slots[slot].is_bound || begin == end)
        return;
    extend(&self->slots[slot], begin, end);
    self->copies[self->copy_count++] =
        (hki_stand_in_copy){.slot = slot,
                            .begin = begin,
                            .end = end,
                            /* What lies between the elements goes back with them. */
                            .is_input = mode == HKI_READ || !span->is_dense,
                            .is_output = mode != HKI_READ};
}

void hki_stand_ins_keep(hki_stand_ins *self)
{
    for (int i = 0; i < self->copy_count; i++)
        self->copies[i].is_input = true;
}

/* Aligned as well as the array is in its storage, where that is aligned: kernels go by it. */
static uint64_t place_behind(uint64_t end, int64_t begin)
{
    uint64_t aligned = (end + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    return aligned + ((uint64_t)begin & (ALIGNMENT_BYTES - 1));
}

bool hki_stand_ins_lay_out(hki_stand_ins *self)
{
    uint64_t end = 0;
    for (int i = 0; i < self->graph->slot_count; i++) {
        hki_stand_in *it = &self->slots[i];
        if (it->begin == it->end)
            continue;
        it->at = place_behind(end, it->begin);
        end = it->at + (uint64_t)(it->end - it->begin);
    }
    if (end > 0)
        self->memory = hki_storage_create(self->device, end);
    return end == 0 || self->memory;
}

/* ---- who moves ---------------------------------------------------------------------------------------------------- */

static uint64_t copied_bytes(const hki_stand_ins *self, int slot)
{
    uint64_t bytes = 0;
    for (int i = 0; i < self->copy_count; i++) {
        const hki_stand_in_copy *copy = &self->copies[i];
        if (copy->slot == slot)
            bytes +=
                (uint64_t)(copy->end - copy->begin) * (unsigned)(copy->is_input + copy->is_output);
    }
    return bytes;
}

static bool has_moved(const hki_stand_ins *self, char *const *addresses, int slot)
{
    const hki_stand_in *it = &self->slots[slot];
    return !it->is_used && self->last[slot] && addresses[slot] &&
           self->last[slot] != addresses[slot];
}

/* What keeps moving is worth its copies. */
static bool is_cheap(const hki_stand_ins *self, char *const *addresses, int call_count)
{
    uint64_t bytes = 0;
    for (int i = 0; i < self->graph->slot_count; i++)
        if (self->slots[i].is_used || has_moved(self, addresses, i))
            bytes += copied_bytes(self, i);
    return bytes <= (uint64_t)call_count * CALL_BYTES;
}

bool hki_stand_ins_follow(hki_stand_ins *self, char *const *addresses, int call_count)
{
    bool has_any = false, all_bound = true;
    for (int i = 0; i < self->graph->slot_count; i++) {
        bool moved = has_moved(self, addresses, i);
        has_any = has_any || moved;
        all_bound = all_bound && (!moved || self->slots[i].begin != self->slots[i].end);
    }
    bool follows = has_any && all_bound && !self->is_refused && self->memory &&
                   is_cheap(self, addresses, call_count);
    if (follows && !hki_storage_materialise(self->memory)) {
        self->is_refused = true;
        follows = false;
    }
    for (int i = 0; follows && i < self->graph->slot_count; i++)
        if (has_moved(self, addresses, i)) {
            self->slots[i].is_used = true;
            self->used_count++;
        }
    memcpy(self->last, addresses, (size_t)self->graph->slot_count * sizeof *addresses);
    return follows;
}

void hki_stand_ins_aim(const hki_stand_ins *self, char **addresses)
{
    for (int i = 0; self->used_count > 0 && i < self->graph->slot_count; i++) {
        const hki_stand_in *it = &self->slots[i];
        if (it->is_used)
            addresses[i] = hki_storage_kernel_data(self->memory) + it->at - it->begin;
    }
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static hki_tensor bytes_at(char *data, int64_t bytes)
{
    return (hki_tensor){.data = data,
                        .size = bytes,
                        .dtype = HK_U8,
                        .is_contiguous = true,
                        .ndim = 1,
                        .dims = {bytes},
                        .strides = {1}};
}

void hki_stand_ins_copy(const hki_stand_ins *self, char *const *addresses, bool back)
{
    for (int i = 0; self->used_count > 0 && i < self->copy_count; i++) {
        const hki_stand_in_copy *copy = &self->copies[i];
        const hki_stand_in *it = &self->slots[copy->slot];
        if (!it->is_used || !(back ? copy->is_output : copy->is_input))
            continue;
        char *own = hki_storage_kernel_data(self->memory) + it->at - it->begin + copy->begin;
        const hki_tensor here = bytes_at(own, copy->end - copy->begin),
                         there =
                             bytes_at(addresses[copy->slot] + copy->begin, copy->end - copy->begin);
        self->device->class->copy_tensor(self->device, back ? &here : &there,
                                         back ? &there : &here);
    }
}
