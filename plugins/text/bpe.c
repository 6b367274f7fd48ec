/* Byte-pair encoding (Sennrich et al. 2016): the letters of a word are tokens, of which pairs
 * become one, that of the lowest rank first and of equals the leftmost, until none of them is a
 * merge. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* ---- merges ---------------------------------------------------------------------------------- */

static uint64_t pair_of(int32_t a, int32_t b)
{
    return (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
}

/* The place of such a pair, or that where it goes. */
static text_merge *place_of(const text_bpe *self, uint64_t pair)
{
    uint64_t hash = (pair ^ self->secret[0]) * (self->secret[1] | 1);
    hash = (hash ^ hash >> 32) * (self->secret[0] | 1);
    for (size_t at = (size_t)(hash >> 32);; at++) {
        text_merge *it = &self->merges[at & (self->merge_count - 1)];
        if (it->pair == pair || it->pair == UINT64_MAX)
            return it;
    }
}

/* NULL: they are no merge. */
static const text_merge *merge_of(const text_bpe *self, int32_t a, int32_t b)
{
    const text_merge *it = place_of(self, pair_of(a, b));
    return it->pair == UINT64_MAX ? NULL : it;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct half {
    const char *data;
    size_t bytes;
} half;

/* "a b", or ["a", "b"]. */
static bool halves_of(const json_t *it, half halves[2])
{
    const char *text = json_string_value(it);
    if (text) {
        const char *blank = strchr(text, ' ');
        if (!blank || strchr(blank + 1, ' '))
            return false;
        halves[0] = (half){text, (size_t)(blank - text)};
        halves[1] = (half){blank + 1, strlen(blank + 1)};
        return true;
    }
    if (json_array_size(it) != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        const json_t *one = json_array_get(it, i);
        halves[i] = (half){json_string_value(one), json_string_length(one)};
        if (!halves[i].data)
            return false;
    }
    return true;
}

static bool read_merge(text_model *model, const json_t *it, size_t rank, text_buffer *token,
                       hk_text_problem *problem)
{
    text_bpe *self = &model->bpe;
    half halves[2];
    int64_t ids[3];
    if (!halves_of(it, halves))
        return text_wrong(problem, HK_BAD_DATA,
                          "model: merges: entry %zu is no pair; expected two tokens", rank);
    for (int i = 0; i < 2; i++)
        ids[i] = text_vocabulary_find(&model->vocabulary, halves[i].data, halves[i].bytes);
    text_buffer_clear(token);
    text_buffer_add(token, halves[0].data, halves[0].bytes);
    if (halves[1].bytes >= self->prefix.bytes)
        text_buffer_add(token, halves[1].data + self->prefix.bytes,
                        halves[1].bytes - self->prefix.bytes);
    if (token->failed)
        return text_no_memory(problem);
    ids[2] =
        token->count ? text_vocabulary_find(&model->vocabulary, token->data, token->count) : -1;
    if (ids[0] < 0 || ids[1] < 0 || ids[2] < 0 || halves[1].bytes < self->prefix.bytes)
        return text_wrong(problem, HK_BAD_DATA,
                          "model: merges: entry %zu, \"%.40s\" and \"%.40s\", is not of the "
                          "vocabulary",
                          rank, halves[0].data, halves[1].data);
    text_merge *place = place_of(self, pair_of((int32_t)ids[0], (int32_t)ids[1]));
    *place = (text_merge){.pair = pair_of((int32_t)ids[0], (int32_t)ids[1]),
                          .rank = (uint32_t)rank,
                          .id = (int32_t)ids[2]};
    return true;
}

static bool read_merges(text_model *model, const json_t *json, hk_text_problem *problem)
{
    text_bpe *self = &model->bpe;
    const json_t *list = NULL;
    text_buffer token = {.data = NULL};
    bool is_good = true;
    if (!text_get_list(json, "model of type \"BPE\"", "merges", &list, problem))
        return false;
    if (!list)
        return text_wrong(problem, HK_BAD_DATA,
                          "model of type \"BPE\": merges is missing; expected a list");
    const size_t count = json_array_size(list);
    self->merge_count = 16;
    while (self->merge_count < 2 * count)
        self->merge_count *= 2;
    self->merges = malloc(self->merge_count * sizeof *self->merges);
    if (!self->merges || count >= UINT32_MAX)
        return text_no_memory(problem);
    for (size_t i = 0; i < self->merge_count; i++)
        self->merges[i].pair = UINT64_MAX;
    size_t rank = 0;
    for (size_t i = 0; i < count && is_good; i++) {
        const json_t *it = json_array_get(list, i);
        const char *text = json_string_value(it);
        if (!text || strncmp(text, "#version", 8)) /* the first line of what was a file */
            is_good = read_merge(model, it, rank++, &token, problem);
    }
    text_buffer_free(&token);
    return is_good;
}

static bool read_unknown(text_model *model, const json_t *json, hk_text_problem *problem)
{
    text_string text = {.data = NULL};
    if (!text_get_string(json, "model of type \"BPE\"", "unk_token", &text, problem))
        return false;
    model->bpe.unknown =
        text.data ? (int32_t)text_vocabulary_find(&model->vocabulary, text.data, text.bytes) : -1;
    const bool is_good = !text.data || model->bpe.unknown >= 0;
    if (!is_good)
        text_wrong(problem, HK_BAD_DATA,
                   "model of type \"BPE\": unk_token \"%.60s\" is not of the vocabulary",
                   text.data);
    text_string_free(&text);
    return is_good;
}

/* Tokens of single bytes, all 256 of them or none: what the fallback needs. */
static void find_bytes(text_model *model)
{
    text_bpe *self = &model->bpe;
    for (int i = 0; i < 256; i++) {
        char token[8];
        snprintf(token, sizeof token, "<0x%02X>", (unsigned)i);
        self->bytes[i] = (int32_t)text_vocabulary_find(&model->vocabulary, token, 6);
    }
}

bool text_bpe_read(text_model *model, const json_t *json, hk_text_problem *problem)
{
    static const char what[] = "model of type \"BPE\"";
    text_bpe *self = &model->bpe;
    const json_t *dropout = json_object_get(json, "dropout");
    if (json_is_number(dropout) && json_number_value(dropout) > 0)
        return text_wrong(problem, HK_UNSUPPORTED, "%s: dropout is %g; expected none", what,
                          json_number_value(dropout));
    if (!text_secret(self->secret, problem) ||
        !text_get_string(json, what, "continuing_subword_prefix", &self->prefix, problem) ||
        !text_get_string(json, what, "end_of_word_suffix", &self->suffix, problem) ||
        !text_get_flag(json, what, "fuse_unk", &self->fuses_unknown, problem) ||
        !text_get_flag(json, what, "byte_fallback", &self->falls_back, problem) ||
        !text_get_flag(json, what, "ignore_merges", &self->ignores_merges, problem) ||
        !read_unknown(model, json, problem) || !read_merges(model, json, problem))
        return false;
    for (uint32_t letter = 0; letter < TEXT_KNOWN_LETTERS; letter++) {
        const char one[2] = {letter < 0x80 ? (char)letter : (char)(0xC0 | letter >> 6),
                             (char)(0x80 | (letter & 0x3F))};
        self->letters[letter] =
            (int32_t)text_vocabulary_find(&model->vocabulary, one, letter < 0x80 ? 1 : 2);
    }
    find_bytes(model);
    return true;
}

void text_bpe_free(text_bpe *self)
{
    free(self->merges);
    text_string_free(&self->prefix);
    text_string_free(&self->suffix);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* A token of a word that is being put together. */
typedef struct symbol {
    int32_t id;
    int32_t previous, next; /* -1: there is none */
    uint32_t rank;          /* of the merge with the next; UINT32_MAX: none. Of few symbols alone */
    bool is_gone;           /* into the one before */
} symbol;

/* A merge that may be made, unless one of its tokens has become another. */
typedef struct chance {
    uint32_t rank;
    int32_t at, id; /* symbol, and what it becomes */
} chance;

typedef struct word {
    const text_bpe *bpe;
    symbol *symbols;
    size_t count;
    text_room *room;
    hk_text_problem *problem;
} word;

static bool add_symbol(word *self, int64_t id)
{
    text_room *room = self->room;
    if (self->count == room->symbol_capacity) {
        const size_t capacity = room->symbol_capacity ? 2 * room->symbol_capacity : 64;
        symbol *symbols =
            capacity < INT32_MAX ? realloc(room->symbols, capacity * sizeof(symbol)) : NULL;
        if (!symbols)
            return text_no_memory(self->problem);
        room->symbols = symbols;
        room->symbol_capacity = capacity;
    }
    self->symbols = room->symbols;
    const int32_t at = (int32_t)self->count++;
    self->symbols[at] = (symbol){.id = (int32_t)id, .previous = at - 1, .next = -1};
    if (at)
        self->symbols[at - 1].next = at;
    return true;
}

/* The id of a letter of the word; -1: it is unknown. */
static int64_t letter_id(const text_model *model, const char *letter, size_t bytes, bool is_first,
                         bool is_last, text_buffer *token)
{
    const text_bpe *self = &model->bpe;
    const bool has_prefix = self->prefix.bytes && !is_first;
    const bool has_suffix = self->suffix.bytes && is_last;
    if (!has_prefix && !has_suffix) {
        if (bytes <= 2) {
            size_t same;
            const uint32_t code = text_letter(letter, &same);
            if (code < TEXT_KNOWN_LETTERS)
                return self->letters[code];
        }
        return text_vocabulary_find(&model->vocabulary, letter, bytes);
    }
    text_buffer_clear(token);
    if (has_prefix)
        text_buffer_add(token, self->prefix.data, self->prefix.bytes);
    text_buffer_add(token, letter, bytes);
    if (has_suffix)
        text_buffer_add(token, self->suffix.data, self->suffix.bytes);
    return token->failed ? -1 : text_vocabulary_find(&model->vocabulary, token->data, token->count);
}

/* The letter's bytes as tokens, with what it stands between; false: some byte has none. */
static bool add_bytes(word *self, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (self->bpe->bytes[(unsigned char)data[i]] < 0)
            return false;
    for (size_t i = 0; i < bytes; i++)
        if (!add_symbol(self, self->bpe->bytes[(unsigned char)data[i]]))
            break;
    return true;
}

static bool spell(const text_model *model, word *self, const char *data, size_t bytes)
{
    const text_bpe *bpe = self->bpe;
    text_buffer *token = &self->room->token;
    bool was_unknown = false; /* and its token is still to be added */
    size_t length;
    for (size_t at = 0; at < bytes; at += length) {
        text_letter(data + at, &length);
        const bool is_first = !at, is_last = at + length == bytes;
        const int64_t id = letter_id(model, data + at, length, is_first, is_last, token);
        if (id >= 0) {
            if (was_unknown && !add_symbol(self, bpe->unknown))
                return false;
            was_unknown = false;
            if (!add_symbol(self, id))
                return false;
            continue;
        }
        const bool has_more = (bpe->prefix.bytes && !is_first) || (bpe->suffix.bytes && is_last);
        if (bpe->falls_back &&
            add_bytes(self, has_more ? token->data : data + at, has_more ? token->count : length))
            continue;
        if (bpe->unknown < 0)
            continue;
        if (was_unknown && !bpe->fuses_unknown && !add_symbol(self, bpe->unknown))
            return false;
        was_unknown = true;
    }
    return (!was_unknown || add_symbol(self, bpe->unknown)) && self->problem->code == HK_OK &&
           (!token->failed || text_no_memory(self->problem));
}

/* The symbol takes in the next one. */
static void join(symbol *symbols, int32_t at, int32_t id)
{
    const int32_t gone = symbols[at].next, next = symbols[gone].next;
    symbols[at].id = id;
    symbols[at].next = next;
    symbols[gone].is_gone = true;
    if (next >= 0)
        symbols[next].previous = at;
}

/* ---- few symbols: the best merge is looked for each time ------------------------------------- */

static void rate(const text_bpe *bpe, symbol *symbols, int32_t at)
{
    if (at < 0)
        return;
    const int32_t next = symbols[at].next;
    const text_merge *merge = next < 0 ? NULL : merge_of(bpe, symbols[at].id, symbols[next].id);
    symbols[at].rank = merge ? merge->rank : UINT32_MAX;
}

static void merge_few(word *self)
{
    symbol *symbols = self->symbols;
    for (int32_t i = 0; i < (int32_t)self->count; i++)
        rate(self->bpe, symbols, i);
    for (;;) {
        int32_t best = -1;
        uint32_t rank = UINT32_MAX;
        for (int32_t i = 0; i >= 0; i = symbols[i].next)
            if (symbols[i].rank < rank) {
                rank = symbols[i].rank;
                best = i;
            }
        if (best < 0)
            return;
        const int32_t next = symbols[best].next;
        join(symbols, best, merge_of(self->bpe, symbols[best].id, symbols[next].id)->id);
        rate(self->bpe, symbols, best);
        rate(self->bpe, symbols, symbols[best].previous);
    }
}

/* ---- many: a heap of merges ------------------------------------------------------------------ */

static bool is_before(chance a, chance b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

static void sift_up(chance *heap, size_t at)
{
    const chance it = heap[at];
    while (at && is_before(it, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = it;
}

static void sift_down(chance *heap, size_t count)
{
    const chance it = heap[0];
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && is_before(heap[child + 1], heap[child]);
        if (!is_before(heap[child], it))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = it;
}

/* Each symbol that goes brings two chances at most: with those at the start fewer than three for
 * each symbol. */
static bool reserve_heap(word *self)
{
    const size_t wanted = 3 * self->count;
    if (wanted <= self->room->heap_capacity)
        return true;
    chance *heap = realloc(self->room->heap, wanted * sizeof *heap);
    if (!heap)
        return text_no_memory(self->problem);
    self->room->heap = heap;
    self->room->heap_capacity = wanted;
    return true;
}

static size_t push(const word *self, chance *heap, size_t count, int32_t at)
{
    const symbol *symbols = self->symbols;
    const int32_t next = at < 0 ? -1 : symbols[at].next;
    const text_merge *merge =
        next < 0 ? NULL : merge_of(self->bpe, symbols[at].id, symbols[next].id);
    if (!merge)
        return count;
    heap[count] = (chance){.rank = merge->rank, .at = at, .id = merge->id};
    sift_up(heap, count);
    return count + 1;
}

static bool merge_many(word *self)
{
    if (!reserve_heap(self))
        return false;
    symbol *symbols = self->symbols;
    chance *heap = self->room->heap;
    size_t count = 0;
    for (int32_t i = 0; i < (int32_t)self->count; i++)
        count = push(self, heap, count, i);
    while (count) {
        const chance best = heap[0];
        heap[0] = heap[--count];
        if (count)
            sift_down(heap, count);
        const int32_t next = symbols[best.at].next;
        if (symbols[best.at].is_gone || next < 0)
            continue;
        const text_merge *merge = merge_of(self->bpe, symbols[best.at].id, symbols[next].id);
        if (!merge || merge->id != best.id) /* what it was of has changed */
            continue;
        join(symbols, best.at, best.id);
        count = push(self, heap, count, symbols[best.at].previous);
        count = push(self, heap, count, best.at);
    }
    return true;
}

bool text_bpe_encode(const text_model *model, const char *data, size_t bytes, text_room *room,
                     text_ids *ids, hk_text_problem *problem)
{
    enum { FEW = 24 };
    word self = {.bpe = &model->bpe, .symbols = room->symbols, .room = room, .problem = problem};
    if (model->bpe.ignores_merges) {
        const int64_t id = text_vocabulary_find(&model->vocabulary, data, bytes);
        if (id >= 0) {
            text_ids_add(ids, id);
            return true;
        }
    }
    if (!spell(model, &self, data, bytes))
        return false;
    if (!self.count)
        return true;
    if (self.count <= FEW)
        merge_few(&self);
    else if (!merge_many(&self))
        return false;
    for (int32_t i = 0; i >= 0; i = self.symbols[i].next)
        text_ids_add(ids, self.symbols[i].id);
    return !ids->failed || text_no_memory(problem);
}
