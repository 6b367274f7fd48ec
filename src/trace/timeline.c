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
