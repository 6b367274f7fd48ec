#include "graph/touches.h"

static bool covers(const hki_touch *a, const hki_touch *b)
{
    return a->slot == b->slot && a->span.begin <= b->span.begin && b->span.end <= a->span.end;
}

bool hki_touches_add(hki_touch *list, int *count, const hki_touch *added)
{
    for (int i = 0; i < *count; i++) {
        const hki_touch *other = &list[i];
        if (covers(other, added) &&
            ((added->mode == HKI_READ && other->mode != HKI_READ && other->span.is_dense) ||
             (added->mode == other->mode && covers(added, other) &&
              added->span.pitch == other->span.pitch)))
            return false;
    }
    list[(*count)++] = *added;
    return true;
}

hki_access hki_touch_access(const hki_touch *which, hki_storage *storage, int64_t base)
{
    hki_span span = which->span;
    uint64_t shift = (uint64_t)base * hki_dtype_bytes(which->dtype);
    if (span.begin != span.end) {
        span.begin += shift;
        span.end += shift;
    }
    return hki_span_access(&span, storage, which->mode);
}
