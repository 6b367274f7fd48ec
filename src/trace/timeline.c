#include "trace/timeline.h"

#include <stdlib.h>
#include <string.h>

/* Open addressing; a text lies in at most one slot, so that equal texts are one pointer. */
struct hki_text_pool {
    char **slots;
    size_t capacity, count; /* capacity a power of two, at most half of it in use */
};

enum { FIRST_CAPACITY = 64 };

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

/* The slot that holds the text, or the empty one where it belongs. */
static char **pool_slot(char **slots, size_t capacity, const char *text)
{
    size_t index = text_hash(text) & (capacity - 1);
    while (slots[index] && strcmp(slots[index], text))
        index = (index + 1) & (capacity - 1);
    return &slots[index];
}

static bool pool_grow(struct hki_text_pool *pool)
{
    size_t capacity = pool->capacity ? 2 * pool->capacity : FIRST_CAPACITY;
    char **slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < pool->capacity; i++)
        if (pool->slots[i])
            *pool_slot(slots, capacity, pool->slots[i]) = pool->slots[i];
    free(pool->slots);
    pool->slots = slots;
    pool->capacity = capacity;
    return true;
}

const char *hki_timeline_text(hki_timeline *timeline, const char *text)
{
    struct hki_text_pool *pool = timeline->texts;
    if (!text)
        text = "";
    if (2 * pool->count >= pool->capacity && !pool_grow(pool))
        return NULL;
    char **slot = pool_slot(pool->slots, pool->capacity, text);
    if (!*slot && (*slot = strdup(text)))
        pool->count++;
    return *slot;
}

hki_timeline *hki_timeline_create(void)
{
    hki_timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return NULL;
    timeline->texts = calloc(1, sizeof *timeline->texts);
    timeline->title = timeline->texts ? hki_timeline_text(timeline, "") : NULL;
    if (!timeline->title) {
        hki_timeline_destroy(timeline);
        return NULL;
    }
    return timeline;
}

void hki_timeline_destroy(hki_timeline *timeline)
{
    if (!timeline)
        return;
    struct hki_text_pool *pool = timeline->texts;
    for (size_t i = 0; pool && i < pool->capacity; i++)
        free(pool->slots[i]);
    if (pool)
        free(pool->slots);
    free(pool);
    free(timeline->lanes);
    free(timeline->queues);
    free(timeline->calls);
    free(timeline->dependencies);
    free(timeline->slices);
    free(timeline->waits);
    free(timeline->points);
    free(timeline->counters);
    free(timeline);
}

/* ---- the part that matters --------------------------------------------------------------------------------- */

static void clip(int64_t *time_ns, int64_t begin_ns, int64_t end_ns)
{
    int64_t time = *time_ns < begin_ns ? begin_ns : *time_ns > end_ns ? end_ns : *time_ns;
    *time_ns = time - begin_ns;
}

static void extend(int64_t start_ns, int64_t end_ns, int64_t *begin_ns, int64_t *last_ns)
{
    *begin_ns = start_ns < *begin_ns ? start_ns : *begin_ns;
    *last_ns = end_ns > *last_ns ? end_ns : *last_ns;
}

void hki_timeline_trim(hki_timeline *timeline)
{
    int64_t begin_ns = INT64_MAX, end_ns = 0;
    for (int i = 0; i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        extend(call->issue_ns, call->end_ns, &begin_ns, &end_ns);
        extend(call->issue_ns, call->wall_end_ns, &begin_ns, &end_ns);
    }
    if (begin_ns > end_ns)
        return;
    /* Waits for nothing before the first call do not count, what is waited for after the last one does. */
    for (int i = 0; i < timeline->wait_count; i++)
        extend(begin_ns, timeline->waits[i].end_ns, &begin_ns, &end_ns);
    for (int i = 0; i < timeline->call_count; i++) {
        hki_call_event *call = &timeline->calls[i];
        int64_t *times[] = {&call->issue_ns, &call->ready_ns,      &call->start_ns,
                            &call->end_ns,   &call->wall_start_ns, &call->wall_end_ns};
        for (size_t j = 0; j < sizeof times / sizeof *times; j++)
            clip(times[j], begin_ns, end_ns);
    }
    for (int i = 0; i < timeline->slice_count; i++) {
        clip(&timeline->slices[i].start_ns, begin_ns, end_ns);
        clip(&timeline->slices[i].end_ns, begin_ns, end_ns);
    }
    for (int i = 0; i < timeline->wait_count; i++) {
        clip(&timeline->waits[i].start_ns, begin_ns, end_ns);
        clip(&timeline->waits[i].end_ns, begin_ns, end_ns);
    }
    for (int i = 0; i < timeline->point_count; i++)
        clip(&timeline->points[i].time_ns, begin_ns, end_ns);
    timeline->duration_ns = end_ns - begin_ns;
}
