/* Normalisers: what a text becomes before it is cut into words. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

typedef enum kind {
    BERT,
    LOWERCASE,
    FORM,
    STRIP_ACCENTS,
    STRIP,
    REPLACE,
    PREPEND,
    NMT,
    BYTES
} kind;

typedef struct step {
    kind kind;
    text_form form;
    bool cleans, spaces_chinese, strips_accents, lowers; /* BERT */
    bool left, right;                                    /* STRIP */
    text_pattern *pattern;
    text_string content;
} step;

struct text_normalizer {
    step *steps;
    size_t count, capacity;
};

/* ---- reading --------------------------------------------------------------------------------- */

static step *add(text_normalizer *self, hk_text_problem *problem)
{
    if (self->count == self->capacity) {
        const size_t capacity = self->capacity ? 2 * self->capacity : 4;
        step *steps = realloc(self->steps, capacity * sizeof *steps);
        if (!steps) {
            text_no_memory(problem);
            return NULL;
        }
        self->steps = steps;
        self->capacity = capacity;
    }
    step *it = &self->steps[self->count++];
    memset(it, 0, sizeof *it);
    return it;
}

static bool read_bert(step *it, const json_t *json, hk_text_problem *problem)
{
    static const char what[] = "normalizer of type \"BertNormalizer\"";
    *it = (step){.kind = BERT, .cleans = true, .spaces_chinese = true, .lowers = true};
    if (!text_get_flag(json, what, "clean_text", &it->cleans, problem) ||
        !text_get_flag(json, what, "handle_chinese_chars", &it->spaces_chinese, problem) ||
        !text_get_flag(json, what, "lowercase", &it->lowers, problem))
        return false;
    it->strips_accents = it->lowers;
    return text_get_flag(json, what, "strip_accents", &it->strips_accents, problem);
}

static bool read_step(step *it, const json_t *json, const char *type, hk_text_problem *problem)
{
    static const struct {
        const char *type;
        kind kind;
        text_form form;
    } rows[] = {{"NFC", FORM, TEXT_NFC},
                {"NFD", FORM, TEXT_NFD},
                {"NFKC", FORM, TEXT_NFKC},
                {"NFKD", FORM, TEXT_NFKD},
                {"Lowercase", LOWERCASE, TEXT_NFC},
                {"StripAccents", STRIP_ACCENTS, TEXT_NFC},
                {"Nmt", NMT, TEXT_NFC},
                {"ByteLevel", BYTES, TEXT_NFC}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(type, rows[i].type)) {
            it->kind = rows[i].kind;
            it->form = rows[i].form;
            return true;
        }
    if (!strcmp(type, "BertNormalizer"))
        return read_bert(it, json, problem);
    if (!strcmp(type, "Strip")) {
        it->kind = STRIP;
        return text_get_flag(json, "normalizer of type \"Strip\"", "strip_left", &it->left,
                             problem) &&
               text_get_flag(json, "normalizer of type \"Strip\"", "strip_right", &it->right,
                             problem);
    }
    if (!strcmp(type, "Replace")) {
        it->kind = REPLACE;
        return text_pattern_read(json, "normalizer of type \"Replace\"", &it->pattern, problem) &&
               text_need_string(json, "normalizer of type \"Replace\"", "content", &it->content,
                                problem);
    }
    if (!strcmp(type, "Prepend")) {
        it->kind = PREPEND;
        return text_need_string(json, "normalizer of type \"Prepend\"", "prepend", &it->content,
                                problem);
    }
    return text_refuse_type(json, "a normalizer", problem);
}

static bool read(void *argument, const json_t *json, int depth, hk_text_problem *problem)
{
    text_normalizer *self = argument;
    const char *type = text_type_of(json);
    if (!type)
        return text_refuse_type(json, "normalizer", problem);
    if (strcmp(type, "Sequence")) {
        step *it = add(self, problem);
        return it && read_step(it, json, type, problem);
    }
    return text_read_sequence(json, "normalizer", "normalizers", depth, read, self, problem);
}

bool text_normalizer_read(const json_t *json, text_normalizer **normalizer,
                          hk_text_problem *problem)
{
    if (!json || json_is_null(json))
        return true;
    *normalizer = calloc(1, sizeof **normalizer);
    if (!*normalizer)
        return text_no_memory(problem);
    return read(*normalizer, json, 0, problem);
}

void text_normalizer_free(text_normalizer *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++) {
        text_pattern_free(self->steps[i].pattern);
        text_string_free(&self->steps[i].content);
    }
    free(self->steps);
    free(self);
}

/* ---- BERT's ---------------------------------------------------------------------------------- */

/* Blocks of ideographs, as BERT has them: not all that Unicode knows. */
static bool is_chinese(uint32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static void clean(const step *it, const char *data, size_t bytes, text_buffer *to)
{
    size_t length;
    for (size_t at = 0; at < bytes; at += length) {
        const uint32_t c = text_letter(data + at, &length);
        const bool is_space = text_is_space(c);
        if (it->cleans &&
            (c == 0 || c == 0xFFFD || (c != '\t' && c != '\n' && c != '\r' && text_is_control(c))))
            continue;
        if (it->cleans && is_space) {
            text_buffer_add(to, " ", 1);
        } else if (it->spaces_chinese && is_chinese(c)) {
            text_buffer_add(to, " ", 1);
            text_buffer_add(to, data + at, length);
            text_buffer_add(to, " ", 1);
        } else {
            text_buffer_add(to, data + at, length);
        }
    }
}

static void without(bool (*is_left_out)(uint32_t letter), const char *data, size_t bytes,
                    text_buffer *to)
{
    size_t length;
    for (size_t at = 0; at < bytes; at += length)
        if (!is_left_out(text_letter(data + at, &length)))
            text_buffer_add(to, data + at, length);
}

static void lower(const char *data, size_t bytes, text_buffer *to)
{
    size_t length;
    for (size_t at = 0; at < bytes; at += length)
        text_put_lower(to, text_letter(data + at, &length));
}

static void bert(const step *it, const char *data, size_t bytes, text_buffer *to)
{
    text_buffer cleaned = {.data = NULL}, bare = {.data = NULL};
    text_buffer *from = &cleaned;
    clean(it, data, bytes, &cleaned);
    if (it->strips_accents) {
        text_buffer composed = {.data = NULL};
        text_normal_form(TEXT_NFD, cleaned.data, cleaned.count, &composed);
        without(text_is_nonspacing, composed.data, composed.count, &bare);
        bare.failed |= composed.failed;
        text_buffer_free(&composed);
        from = &bare;
    }
    if (it->lowers)
        lower(from->data, from->count, to);
    else
        text_buffer_add(to, from->data, from->count);
    to->failed |= cleaned.failed || bare.failed;
    text_buffer_free(&cleaned);
    text_buffer_free(&bare);
}

/* ---- others ---------------------------------------------------------------------------------- */

static void strip(const step *it, const char *data, size_t bytes, text_buffer *to)
{
    size_t begin = 0, end = bytes, length;
    while (it->left && begin < end && text_is_space(text_letter(data + begin, &length)))
        begin += length;
    while (it->right && end > begin) {
        size_t last = end - 1;
        while (last > begin && ((unsigned char)data[last] & 0xC0) == 0x80)
            last--;
        if (!text_is_space(text_letter(data + last, &length)))
            break;
        end = last;
    }
    text_buffer_add(to, data + begin, end - begin);
}

static bool replace(const step *it, const char *data, size_t bytes, text_buffer *to,
                    hk_text_problem *problem)
{
    text_pieces matches = {.data = NULL};
    size_t at = 0;
    const bool is_good = text_pattern_find(it->pattern, data, bytes, &matches, problem);
    for (size_t i = 0; i < matches.count; i++) {
        text_buffer_add(to, data + at, matches.data[i].begin - at);
        text_buffer_add(to, it->content.data, it->content.bytes);
        at = matches.data[i].end;
    }
    text_buffer_add(to, data + at, bytes - at);
    text_pieces_free(&matches);
    return is_good;
}

/* What SentencePiece's rules of that name leave out, or take for blanks. */
static void nmt(const char *data, size_t bytes, text_buffer *to)
{
    size_t length;
    for (size_t at = 0; at < bytes; at += length) {
        const uint32_t c = text_letter(data + at, &length);
        if ((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
            c == 0x9F)
            continue;
        const bool is_blank = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                              (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                              c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
        text_buffer_put(to, is_blank ? ' ' : c);
    }
}

static bool run(const step *it, const char *data, size_t bytes, text_buffer *to,
                hk_text_problem *problem)
{
    switch (it->kind) {
    case BERT:
        bert(it, data, bytes, to);
        return true;
    case LOWERCASE:
        lower(data, bytes, to);
        return true;
    case FORM:
        text_normal_form(it->form, data, bytes, to);
        return true;
    case STRIP_ACCENTS:
        without(text_is_mark, data, bytes, to);
        return true;
    case STRIP:
        strip(it, data, bytes, to);
        return true;
    case REPLACE:
        return replace(it, data, bytes, to, problem);
    case PREPEND:
        if (bytes)
            text_buffer_add(to, it->content.data, it->content.bytes);
        text_buffer_add(to, data, bytes);
        return true;
    case NMT:
        nmt(data, bytes, to);
        return true;
    case BYTES:
        for (size_t i = 0; i < bytes; i++)
            text_buffer_put(to, text_letter_of_byte((unsigned char)data[i]));
        return true;
    }
    return true;
}

bool text_normalize(const text_normalizer *self, const char *data, size_t bytes, text_buffer *to,
                    hk_text_problem *problem)
{
    text_buffer from = {.data = NULL};
    bool is_good = true;
    text_buffer_clear(to);
    if (!self || !self->count)
        text_buffer_add(to, data, bytes);
    for (size_t i = 0; self && i < self->count && is_good; i++) {
        if (i) { /* what was made is what is read */
            const text_buffer made = *to;
            *to = from;
            from = made;
            text_buffer_clear(to);
        }
        is_good = run(&self->steps[i], i ? from.data : data, i ? from.count : bytes, to, problem);
        to->failed |= from.failed;
    }
    text_buffer_free(&from);
    return is_good && (!to->failed || text_no_memory(problem));
}
