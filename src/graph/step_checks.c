#include "graph/step_checks.h"

#include <stdlib.h>

void hki_writes_deinit(hki_writes *self)
{
    free(self->list);
}

static bool overlaps(const hki_written *it, int place, const hki_span *span)
{
    return it->place == place && it->span.begin < span->end && span->begin < it->span.end;
}

uint64_t hki_writes_find(const hki_writes *self, int place, const hki_tensor *tensor)
{
    const hki_span span = hki_span_flat(hki_tensor_span(tensor));
    uint64_t checks = 0;
    for (int i = 0; i < self->count; i++)
        if (overlaps(&self->list[i], place, &span))
            checks |= self->list[i].checks;
    return checks;
}

static bool reserve(hki_writes *self, int count)
{
    if (count <= self->capacity)
        return true;
    const int capacity = 2 * count;
    hki_written *list = realloc(self->list, (size_t)capacity * sizeof *list);
    if (!list)
        return false;
    self->list = list;
    self->capacity = capacity;
    return true;
}

static void put(hki_writes *self, const hki_written *it, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return;
    hki_written *added = &self->list[self->count++];
    *added = *it;
    added->span.begin = begin;
    added->span.end = end;
}

/* Takes out what is in the range; what is left of ranges that reach beyond it goes behind the others. */
static void cut(hki_writes *self, int place, const hki_span *span)
{
    const int old = self->count;
    int kept = 0;
    for (int i = 0; i < old; i++) {
        const hki_written it = self->list[i];
        if (!overlaps(&it, place, span))
            continue;
        put(self, &it, it.span.begin, span->begin);
        put(self, &it, span->end, it.span.end);
    }
    for (int i = 0; i < self->count; i++)
        if (i >= old || !overlaps(&self->list[i], place, span))
            self->list[kept++] = self->list[i];
    self->count = kept;
}

bool hki_writes_note(hki_writes *self, int place, const hki_tensor *tensor, uint64_t checks,
                     bool keeps)
{
    hki_written added = {
        .place = place, .span = hki_span_flat(hki_tensor_span(tensor)), .dtype = tensor->dtype};
    /* Each of the ranges that are in the way leaves two at most. */
    if (!reserve(self, 3 * self->count + 1))
        return false;
    added.checks = checks | (added.span.is_dense ? 0 : hki_writes_find(self, place, tensor));
    cut(self, place, &added.span);
    if (keeps || added.checks)
        put(self, &added, added.span.begin, added.span.end);
    return true;
}
