/* Tokens by text and by id: a hash table whose order nobody outside can choose, and a sorted
 * list. */
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- hashing --------------------------------------------------------------------------------- */

bool text_secret(uint64_t secret[2], hk_text_problem *problem)
{
    return getrandom(secret, 2 * sizeof *secret, 0) == 2 * sizeof *secret ||
           text_wrong(problem, HK_IO, "the system gives no random numbers");
}

static inline uint64_t turned(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = turned(v[1], 13) ^ v[0];
    v[3] = turned(v[3], 16) ^ v[2];
    v[0] = turned(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = turned(v[1], 17) ^ v[2];
    v[3] = turned(v[3], 21) ^ v[0];
    v[2] = turned(v[2], 32);
}

/* SipHash-1-3 (Aumasson, Bernstein 2012): tokens come from files of others. */
uint64_t text_hash(const uint64_t secret[2], const char *data, size_t bytes)
{
    uint64_t v[4] = {secret[0] ^ 0x736f6d6570736575, secret[1] ^ 0x646f72616e646f6d,
                     secret[0] ^ 0x6c7967656e657261, secret[1] ^ 0x7465646279746573};
    uint64_t word;
    size_t at = 0;
    for (; at + 8 <= bytes; at += 8) {
        memcpy(&word, data + at, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)bytes << 56;
    for (size_t i = 0; at + i < bytes; i++)
        word |= (uint64_t)(unsigned char)data[at + i] << 8 * i;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xFF;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- the table ------------------------------------------------------------------------------- */

bool text_vocabulary_init(text_vocabulary *self, hk_text_problem *problem)
{
    *self = (text_vocabulary){.count = 0};
    return text_secret(self->secret, problem);
}

void text_vocabulary_free(text_vocabulary *self)
{
    text_buffer_free(&self->texts);
    free(self->entries);
    free(self->slots);
    free(self->by_id);
    *self = (text_vocabulary){.count = 0};
}

/* The slot of such a token, or that where it goes. */
static uint32_t *slot_of(const text_vocabulary *self, const char *data, size_t bytes)
{
    size_t at = (size_t)text_hash(self->secret, data, bytes) & (self->slot_count - 1);
    for (;; at = (at + 1) & (self->slot_count - 1)) {
        uint32_t *slot = &self->slots[at];
        if (!*slot)
            return slot;
        const text_entry *entry = &self->entries[*slot - 1];
        if (entry->bytes == bytes && !memcmp(self->texts.data + entry->at, data, bytes))
            return slot;
    }
}

/* Slots are at most half full. */
static bool make_room(text_vocabulary *self)
{
    if (self->count == self->capacity) {
        const size_t capacity = self->capacity ? 2 * self->capacity : 256;
        text_entry *entries = realloc(self->entries, capacity * sizeof *entries);
        if (!entries)
            return false;
        self->entries = entries;
        self->capacity = capacity;
    }
    if (2 * (self->count + 1) <= self->slot_count)
        return true;
    const size_t count = self->slot_count ? 2 * self->slot_count : 1024;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    free(self->slots);
    self->slots = slots;
    self->slot_count = count;
    for (size_t i = 0; i < self->count; i++) {
        const text_entry *entry = &self->entries[i];
        *slot_of(self, self->texts.data + entry->at, entry->bytes) = (uint32_t)i + 1;
    }
    return true;
}

bool text_vocabulary_add(text_vocabulary *self, const char *data, size_t bytes, int64_t id,
                         hk_text_problem *problem)
{
    if (self->count >= UINT32_MAX / 4 || bytes >= UINT32_MAX || !make_room(self))
        return text_no_memory(problem);
    uint32_t *slot = slot_of(self, data, bytes);
    if (!*slot) {
        self->entries[self->count] =
            (text_entry){.at = self->texts.count, .bytes = (uint32_t)bytes};
        text_buffer_add(&self->texts, data, bytes);
        text_buffer_add(&self->texts, "", 1);
        if (self->texts.failed)
            return text_no_memory(problem);
        *slot = (uint32_t)++self->count;
    }
    self->entries[*slot - 1].id = (int32_t)id;
    self->longest = bytes > self->longest ? bytes : self->longest;
    self->size = id >= self->size ? id + 1 : self->size;
    return true;
}

static int by_id(const void *a, const void *b, void *of)
{
    const text_entry *entries = of;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (entries[i].id != entries[j].id)
        return entries[i].id < entries[j].id ? -1 : 1;
    return i < j ? -1 : i > j;
}

bool text_vocabulary_finish(text_vocabulary *self, hk_text_problem *problem)
{
    self->by_id = malloc((self->count + 1) * sizeof *self->by_id);
    if (!self->by_id)
        return text_no_memory(problem);
    for (size_t i = 0; i < self->count; i++)
        self->by_id[i] = (uint32_t)i;
    qsort_r(self->by_id, self->count, sizeof *self->by_id, by_id, self->entries);
    return true;
}

bool text_vocabulary_read(text_vocabulary *self, const json_t *model, hk_text_problem *problem)
{
    json_t *object = json_object_get(model, "vocab"), *value;
    const char *token;
    if (!text_vocabulary_init(self, problem))
        return false;
    if (!json_is_object(object))
        return text_wrong(problem, HK_BAD_DATA,
                          "model: vocab is missing; expected an object of tokens and ids");
    json_object_foreach(object, token, value)
    {
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > TEXT_LARGEST_ID)
            return text_wrong(problem, HK_BAD_DATA,
                              "model: vocab: the id of \"%.60s\" is no integer from 0 to %d", token,
                              TEXT_LARGEST_ID);
        if (!text_vocabulary_add(self, token, strlen(token), json_integer_value(value), problem))
            return false;
    }
    return text_vocabulary_finish(self, problem);
}

int64_t text_vocabulary_find(const text_vocabulary *self, const char *data, size_t bytes)
{
    if (bytes > self->longest || !self->slot_count)
        return -1;
    const uint32_t slot = *slot_of(self, data, bytes);
    return slot ? self->entries[slot - 1].id : -1;
}

const char *text_vocabulary_text(const text_vocabulary *self, int64_t id, size_t *bytes)
{
    size_t low = 0, high = self->count;
    while (low < high) { /* the last one of that id */
        const size_t middle = low + (high - low) / 2;
        if (self->entries[self->by_id[middle]].id <= id)
            low = middle + 1;
        else
            high = middle;
    }
    const text_entry *entry = low ? &self->entries[self->by_id[low - 1]] : NULL;
    if (!entry || entry->id != id)
        return NULL;
    *bytes = entry->bytes;
    return self->texts.data + entry->at;
}
