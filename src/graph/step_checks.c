#include "graph/step_checks.h"

#include <stdlib.h>

void hki_writes_deinit(hki_writes *self)
{
    free(self->list);
}

static hki_range range_of(const hki_span *span)
{
    return (hki_range){span->begin, span->end, span->pitch};
}

static bool overlaps(const hki_written *it, int place, const hki_span *span)
{
    return it->place == place && hki_ranges_overlap(range_of(&it->span), range_of(span));
}

uint64_t hki_writes_find(const hki_writes *self, int place, const hki_tensor *tensor)
{
    const hki_span span = hki_tensor_span(tensor);
    uint64_t checks = 0;
    for (int i = 0; i < self->count; i++)
        if (overlaps(&self->list[i], place, &span))
            checks |= self->list[i].checks;
    return checks;
}

static bool put(hki_writes *self, const hki_written *it, hki_range range)
{
    if (range.begin >= range.end)
        return true;
    if (self->count == self->capacity) {
        const int capacity = self->capacity ? 2 * self->capacity : 16;
        hki_written *list = realloc(self->list, (size_t)capacity * sizeof *list);
        if (!list)
            return false;
        self->list = list;
        self->capacity = capacity;
    }
    hki_written *added = &self->list[self->count++];
    *added = *it;
    added->span.begin = range.begin;
    added->span.end = range.end;
    added->span.pitch = range.pitch;
    return true;
}

/* What is left of a range that is written in part. */
typedef struct rest {
    hki_writes *of;
    hki_written old;
    bool has_room;
} rest;

static void put_rest(void *argument, hki_range range, bool is_in)
{
    rest *self = argument;
    if (!is_in && !put(self->of, &self->old, range))
        self->has_room = false;
}

/* Takes out what is in the range; what is left of ranges that reach beyond it goes behind the
 * others. What cannot be taken apart stays, as failures do (engine/core/failure.c). False: no
 * memory. */
static bool cut(hki_writes *self, int place, const hki_span *span)
{
    const int old = self->count;
    int kept = 0;
    bool has_room = true;
    for (int i = 0; i < old; i++) {
        rest left = {self, self->list[i], true};
        if (!overlaps(&left.old, place, span) ||
            !hki_range_divide(range_of(&left.old.span), range_of(span), put_rest, &left))
            self->list[kept++] = left.old;
        has_room = has_room && left.has_room;
    }
    for (int i = old; i < self->count; i++)
        self->list[kept++] = self->list[i];
    self->count = kept;
    return has_room;
}

bool hki_writes_note(hki_writes *self, int place, const hki_tensor *tensor, uint64_t checks,
                     bool keeps)
{
    hki_written added = {.place = place, .span = hki_tensor_span(tensor), .dtype = tensor->dtype};
    added.checks = checks | (added.span.fills ? 0 : hki_writes_find(self, place, tensor));
    const bool has_room = cut(self, place, &added.span);
    return has_room && (!(keeps || added.checks) || put(self, &added, range_of(&added.span)));
}
