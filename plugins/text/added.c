/* Tokens that were added to a vocabulary: they are looked for in the text itself, the leftmost and
 * of these the longest, before a model sees what is between them. */
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A search takes so many steps at most for each byte of a text. */
enum { MOST_BYTES = 1024 };

/* ---- reading --------------------------------------------------------------------------------- */

static text_string wanted_of(const text_added *it)
{
    return it->normalized.data ? it->normalized : it->content;
}

static bool read_token(text_added *it, const json_t *json, int64_t *id, hk_text_problem *problem)
{
    static const char what[] = "added_tokens";
    *id = -1;
    if (!json_is_object(json))
        return text_wrong(problem, HK_BAD_DATA, "added_tokens: an entry is no object");
    it->is_normalized = true;
    if (!text_need_string(json, what, "content", &it->content, problem) ||
        !text_get_integer(json, what, "id", 0, TEXT_LARGEST_ID, id, problem) ||
        !text_get_flag(json, what, "single_word", &it->is_single_word, problem) ||
        !text_get_flag(json, what, "lstrip", &it->strips_left, problem) ||
        !text_get_flag(json, what, "rstrip", &it->strips_right, problem) ||
        !text_get_flag(json, what, "normalized", &it->is_normalized, problem) ||
        !text_get_flag(json, what, "special", &it->is_special, problem))
        return false;
    if (it->content.bytes > MOST_BYTES)
        return text_wrong(problem, HK_UNSUPPORTED,
                          "added_tokens: \"%.40s…\" has %zu bytes; expected at most %d",
                          it->content.data, it->content.bytes, MOST_BYTES);
    return true;
}

static bool normalize(text_added *it, const text_normalizer *normalizer, hk_text_problem *problem)
{
    text_buffer made = {.data = NULL};
    bool is_good = true;
    if (it->is_normalized && normalizer) {
        is_good = text_normalize(normalizer, it->content.data, it->content.bytes, &made, problem);
        if (is_good &&
            (made.count != it->content.bytes || memcmp(made.data, it->content.data, made.count)))
            is_good =
                text_string_copy(&it->normalized, made.count ? made.data : "", made.count, problem);
    }
    text_buffer_free(&made);
    return is_good;
}

typedef struct ordering {
    const text_added *tokens;
    bool is_by_id;
} ordering;

static int compare(const void *a, const void *b, void *of)
{
    const ordering *by = of;
    const text_added *x = &by->tokens[*(const uint32_t *)a], *y = &by->tokens[*(const uint32_t *)b];
    if (by->is_by_id)
        return x->id < y->id ? -1 : x->id > y->id ? 1 : x < y ? -1 : x > y;
    const text_string its = wanted_of(x), other = wanted_of(y);
    const int order =
        memcmp(its.data, other.data, its.bytes < other.bytes ? its.bytes : other.bytes);
    return order ? order : its.bytes < other.bytes ? -1 : its.bytes > other.bytes;
}

static bool sort(text_added_set *self, hk_text_problem *problem)
{
    ordering by = {self->tokens, false};
    for (int pass = 0; pass < 2; pass++) {
        uint32_t *order = malloc((self->count + 1) * sizeof *order);
        if (!order)
            return text_no_memory(problem);
        self->order[pass] = order;
        for (size_t i = 0; i < self->count; i++) {
            const text_string wanted = wanted_of(&self->tokens[i]);
            if (self->tokens[i].is_normalized != (pass == 1) || !wanted.bytes)
                continue;
            order[self->order_count[pass]++] = (uint32_t)i;
            self->begins[pass][(unsigned char)wanted.data[0]] = true;
        }
        qsort_r(order, self->order_count[pass], sizeof *order, compare, &by);
    }
    by.is_by_id = true;
    self->by_id = malloc((self->count + 1) * sizeof *self->by_id);
    if (!self->by_id)
        return text_no_memory(problem);
    for (size_t i = 0; i < self->count; i++)
        self->by_id[i] = (uint32_t)i;
    qsort_r(self->by_id, self->count, sizeof *self->by_id, compare, &by);
    return true;
}

/* As the tokenizers package gives ids: that of the vocabulary where the token is there; else one
 * behind all that there are. Files that it wrote say the same ids. */
static bool add(text_added_set *self, const json_t *json, const text_vocabulary *model,
                int64_t *next, hk_text_problem *problem)
{
    text_added it = {.id = 0};
    int64_t id, given;
    if (!read_token(&it, json, &given, problem)) {
        text_string_free(&it.content);
        return false;
    }
    const int64_t place = text_vocabulary_find(&self->places, it.content.data, it.content.bytes);
    id = text_vocabulary_find(model, it.content.data, it.content.bytes);
    if (place >= 0)
        id = self->tokens[place].id;
    if (id < 0 && it.content.bytes)
        id = (*next)++;
    if (id > TEXT_LARGEST_ID || !it.content.bytes) {
        text_string_free(&it.content);
        return id <= TEXT_LARGEST_ID ||
               text_wrong(problem, HK_BAD_DATA, "added_tokens: there are too many");
    }
    it.id = (int32_t)id;
    if (place >= 0) { /* the later one counts */
        it.is_special |= self->tokens[place].is_special;
        text_string_free(&self->tokens[place].content);
        self->tokens[place] = it;
        return true;
    }
    self->tokens[self->count] = it;
    return text_vocabulary_add(&self->places, it.content.data, it.content.bytes,
                               (int64_t)self->count++, problem);
}

bool text_added_read(text_added_set *self, const json_t *list, const text_vocabulary *model,
                     const text_normalizer *normalizer, hk_text_problem *problem)
{
    const size_t count = json_array_size(list);
    int64_t next = (int64_t)model->count;
    if (list && !json_is_null(list) && !json_is_array(list))
        return text_wrong(problem, HK_BAD_DATA, "added_tokens is no list");
    if (!text_vocabulary_init(&self->places, problem))
        return false;
    self->tokens = calloc(count + 1, sizeof *self->tokens);
    if (!self->tokens || count >= UINT32_MAX)
        return text_no_memory(problem);
    for (size_t i = 0; i < count; i++)
        if (!add(self, json_array_get(list, i), model, &next, problem))
            return false;
    for (size_t i = 0; i < self->count; i++)
        if (!normalize(&self->tokens[i], normalizer, problem))
            return false;
    return text_vocabulary_finish(&self->places, problem) && sort(self, problem);
}

void text_added_free(text_added_set *self)
{
    for (size_t i = 0; i < self->count; i++) {
        text_string_free(&self->tokens[i].content);
        text_string_free(&self->tokens[i].normalized);
    }
    free(self->tokens);
    free(self->order[0]);
    free(self->order[1]);
    free(self->by_id);
    text_vocabulary_free(&self->places);
}

const text_added *text_added_of(const text_added_set *self, int64_t id)
{
    size_t low = 0, high = self->count;
    while (low < high) { /* the last one of that id */
        const size_t middle = low + (high - low) / 2;
        if (self->tokens[self->by_id[middle]].id <= id)
            low = middle + 1;
        else
            high = middle;
    }
    const text_added *it = low ? &self->tokens[self->by_id[low - 1]] : NULL;
    return it && it->id == id ? it : NULL;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* The longest token that data begins with; NULL. Of those in order a range has the first `at` bytes
 * in common with data, and gets smaller byte by byte. */
static const text_added *longest(const text_added_set *self, int pass, const char *data,
                                 size_t bytes, size_t *length)
{
    const uint32_t *order = self->order[pass];
    const text_added *found = NULL;
    size_t low = 0, high = self->order_count[pass];
    for (size_t at = 0; at < bytes && low < high; at++) {
        const unsigned char c = (unsigned char)data[at];
        for (size_t top = high; low < top;) { /* the first with this byte, or a later one */
            const size_t middle = low + (top - low) / 2;
            const text_string it = wanted_of(&self->tokens[order[middle]]);
            if (it.bytes <= at || (unsigned char)it.data[at] < c)
                low = middle + 1;
            else
                top = middle;
        }
        for (size_t bottom = low; bottom < high;) { /* the first behind them */
            const size_t middle = bottom + (high - bottom) / 2;
            const text_string it = wanted_of(&self->tokens[order[middle]]);
            if ((unsigned char)it.data[at] <= c)
                bottom = middle + 1;
            else
                high = middle;
        }
        if (low < high && wanted_of(&self->tokens[order[low]]).bytes == at + 1) {
            found = &self->tokens[order[low]];
            *length = at + 1;
        }
    }
    return found;
}

static size_t letter_before(const char *data, size_t at)
{
    do
        at--;
    while (at && ((unsigned char)data[at] & 0xC0) == 0x80);
    return at;
}

static bool stands_alone(const char *data, size_t bytes, size_t begin, size_t end)
{
    size_t length;
    return (begin == 0 || !text_is_word(text_letter(data + letter_before(data, begin), &length))) &&
           (end == bytes || !text_is_word(text_letter(data + end, &length)));
}

void text_added_cut(const text_added_set *self, bool is_normalized, bool special_as_text,
                    const char *data, size_t bytes, text_cuts *cuts)
{
    const int pass = is_normalized;
    size_t from = 0, length = 0;
    for (size_t at = 0; at < bytes; at += length) {
        const text_added *it = self->begins[pass][(unsigned char)data[at]]
                                   ? longest(self, pass, data + at, bytes - at, &length)
                                   : NULL;
        if (!it)
            length = 1;
        if (!it || (special_as_text && it->is_special) ||
            (it->is_single_word && !stands_alone(data, bytes, at, at + length)))
            continue;
        size_t begin = at, end = at + length, blank;
        while (it->strips_left && begin > from &&
               text_is_space(text_letter(data + letter_before(data, begin), &blank)))
            begin = letter_before(data, begin);
        while (it->strips_right && end < bytes && text_is_space(text_letter(data + end, &blank)))
            end += blank;
        if (from < begin)
            text_cuts_add(cuts, from, begin, NULL);
        text_cuts_add(cuts, begin, end, it);
        from = end;
    }
    if (from < bytes)
        text_cuts_add(cuts, from, bytes, NULL);
}
