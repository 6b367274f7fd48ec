/* Decoders: tokens become text. Each takes a list of tokens and gives another one. */
#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { BYTES, WORD_PIECE, SUFFIX, FALLBACK, FUSE, STRIP, REPLACE } kind;

typedef struct step {
    kind kind;
    text_string
        prefix; /* WORD_PIECE, SUFFIX, STRIP: what is stripped; REPLACE: what comes instead */
    bool cleans;
    int64_t start, stop;
    text_pattern *pattern;
} step;

struct text_decoder {
    step *steps;
    size_t count, capacity;
};

/* ---- reading --------------------------------------------------------------------------------- */

static step *add(text_decoder *self, kind its, hk_text_problem *problem)
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
    self->steps[self->count] = (step){.kind = its};
    return &self->steps[self->count++];
}

static bool read_step(text_decoder *self, const json_t *json, const char *type,
                      hk_text_problem *problem)
{
    static const char word_piece[] = "decoder of type \"WordPiece\"";
    static const char strip[] = "decoder of type \"Strip\"";
    step *it;
    if (!strcmp(type, "ByteLevel"))
        return add(self, BYTES, problem) != NULL;
    if (!strcmp(type, "ByteFallback"))
        return add(self, FALLBACK, problem) != NULL;
    if (!strcmp(type, "Fuse"))
        return add(self, FUSE, problem) != NULL;
    if (!strcmp(type, "WordPiece")) {
        if (!(it = add(self, WORD_PIECE, problem)))
            return false;
        it->cleans = true;
        return text_string_copy(&it->prefix, "##", 2, problem) &&
               text_get_string(json, word_piece, "prefix", &it->prefix, problem) &&
               text_get_flag(json, word_piece, "cleanup", &it->cleans, problem);
    }
    if (!strcmp(type, "BPEDecoder")) {
        return (it = add(self, SUFFIX, problem)) &&
               text_string_copy(&it->prefix, "</w>", 4, problem) &&
               text_get_string(json, "decoder of type \"BPEDecoder\"", "suffix", &it->prefix,
                               problem);
    }
    if (!strcmp(type, "Strip"))
        return (it = add(self, STRIP, problem)) &&
               text_need_string(json, strip, "content", &it->prefix, problem) &&
               text_get_integer(json, strip, "start", 0, INT32_MAX, &it->start, problem) &&
               text_get_integer(json, strip, "stop", 0, INT32_MAX, &it->stop, problem);
    if (!strcmp(type, "Replace"))
        return (it = add(self, REPLACE, problem)) &&
               text_pattern_read(json, "decoder of type \"Replace\"", &it->pattern, problem) &&
               text_need_string(json, "decoder of type \"Replace\"", "content", &it->prefix,
                                problem);
    return text_refuse_type(json, "a decoder", problem);
}

static bool read_any(void *argument, const json_t *json, int depth, hk_text_problem *problem)
{
    text_decoder *self = argument;
    const char *type = text_type_of(json);
    if (!type)
        return text_refuse_type(json, "decoder", problem);
    if (strcmp(type, "Sequence"))
        return read_step(self, json, type, problem);
    return text_read_sequence(json, "decoder", "decoders", depth, read_any, self, problem);
}

bool text_decoder_read(const json_t *json, text_decoder **decoder, hk_text_problem *problem)
{
    if (!json || json_is_null(json))
        return true;
    *decoder = calloc(1, sizeof **decoder);
    if (!*decoder)
        return text_no_memory(problem);
    return read_any(*decoder, json, 0, problem);
}

void text_decoder_free(text_decoder *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++) {
        text_pattern_free(self->steps[i].pattern);
        text_string_free(&self->steps[i].prefix);
    }
    free(self->steps);
    free(self);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* How many of the bytes at c, where no letter begins, one U+FFFD stands for: as many as could have
 * begun one (Unicode, "U+FFFD Substitution of Maximal Subparts"). */
static size_t broken(const unsigned char *c, size_t bytes)
{
    const size_t length = c[0] < 0xC2 ? 1 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : c[0] < 0xF5 ? 4 : 1;
    unsigned char low = 0x80, high = 0xBF;
    if (c[0] == 0xE0)
        low = 0xA0;
    if (c[0] == 0xED)
        high = 0x9F;
    if (c[0] == 0xF0)
        low = 0x90;
    if (c[0] == 0xF4)
        high = 0x8F;
    size_t at = 1;
    for (; at < length && at < bytes && c[at] >= low && c[at] <= high; at++) {
        low = 0x80;
        high = 0xBF;
    }
    return at;
}

static void add_lossy(text_buffer *to, const char *data, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const size_t good = text_utf8_length(data + at, bytes - at);
        text_buffer_add(to, data + at, good);
        at += good;
        if (at == bytes)
            return;
        text_buffer_put(to, 0xFFFD);
        at += broken((const unsigned char *)data + at, bytes - at);
    }
}

/* The bytes that a token's letters stand for; a token with other letters stands for itself. */
static void add_bytes(text_buffer *to, const char *token, size_t bytes)
{
    const size_t first = to->count;
    size_t length;
    for (size_t at = 0; at < bytes; at += length) {
        const int byte = text_byte_of_letter(text_letter(token + at, &length));
        if (byte < 0) {
            to->count = first;
            text_buffer_add(to, token, bytes);
            return;
        }
        text_buffer_add(to, &(char){(char)byte}, 1);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* What a step reads, and what it makes. */
typedef struct list {
    text_buffer text;
    text_pieces tokens;
} list;

static void list_free(list *self)
{
    text_buffer_free(&self->text);
    text_pieces_free(&self->tokens);
}

static void end_token(list *self, size_t begin)
{
    text_pieces_add(&self->tokens, begin, self->text.count);
}

static void bytes_step(const list *from, list *to)
{
    text_buffer all = {.data = NULL};
    for (size_t i = 0; i < from->tokens.count; i++) {
        const text_piece it = from->tokens.data[i];
        add_bytes(&all, from->text.data + it.begin, it.end - it.begin);
    }
    add_lossy(&to->text, all.data, all.count);
    to->text.failed |= all.failed;
    text_buffer_free(&all);
    end_token(to, 0);
}

/* Every `what` becomes `with`, in order from the left. */
static void exchange(text_buffer *text, size_t begin, const char *what, size_t bytes,
                     const char *with)
{
    if (text->failed || !bytes || text->count - begin < bytes ||
        !memmem(text->data + begin, text->count - begin, what, bytes))
        return;
    text_buffer made = {.data = NULL};
    size_t at = begin;
    while (at < text->count) {
        const char *next = memmem(text->data + at, text->count - at, what, bytes);
        const size_t until = next ? (size_t)(next - text->data) : text->count;
        text_buffer_add(&made, text->data + at, until - at);
        if (next)
            text_buffer_add(&made, with, strlen(with));
        at = until + (next ? bytes : 0);
    }
    text->count = begin;
    text_buffer_add(text, made.data, made.count);
    text->failed |= made.failed;
    text_buffer_free(&made);
}

/* Blanks go that words of English do not have. */
static void clean_up(text_buffer *text, size_t begin)
{
    static const char *const rows[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                          {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                          {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                          {" 've", "'ve"}, {" 're", "'re"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        exchange(text, begin, rows[i][0], strlen(rows[i][0]), rows[i][1]);
}

static void word_piece_step(const step *it, const list *from, list *to)
{
    for (size_t i = 0; i < from->tokens.count; i++) {
        const text_piece token = from->tokens.data[i];
        const char *data = from->text.data + token.begin;
        size_t bytes = token.end - token.begin;
        const size_t begin = to->text.count;
        if (i && bytes >= it->prefix.bytes && !memcmp(data, it->prefix.data, it->prefix.bytes)) {
            data += it->prefix.bytes;
            bytes -= it->prefix.bytes;
        } else if (i) {
            text_buffer_add(&to->text, " ", 1);
        }
        text_buffer_add(&to->text, data, bytes);
        if (it->cleans)
            clean_up(&to->text, begin);
        end_token(to, begin);
    }
}

static void suffix_step(const step *it, const list *from, list *to)
{
    for (size_t i = 0; i < from->tokens.count; i++) {
        const text_piece token = from->tokens.data[i];
        const size_t begin = to->text.count;
        text_buffer_add(&to->text, from->text.data + token.begin, token.end - token.begin);
        exchange(&to->text, begin, it->prefix.data, it->prefix.bytes,
                 i + 1 == from->tokens.count ? "" : " ");
        end_token(to, begin);
    }
}

/* "<0x0A>": 10; -1: it is no byte. */
static int byte_of(const char *token, size_t bytes)
{
    if (bytes != 6 || memcmp(token, "<0x", 3) || token[5] != '>' ||
        !isxdigit((unsigned char)token[3]) || !isxdigit((unsigned char)token[4]))
        return -1;
    return (int)strtol((char[3]){token[3], token[4], 0}, NULL, 16);
}

/* Bytes in a row become letters, or each a U+FFFD. */
static void flush_bytes(text_buffer *bytes, list *to)
{
    const bool is_text = text_utf8_length(bytes->data, bytes->count) == bytes->count;
    const size_t begin = to->text.count;
    if (bytes->count && is_text) {
        text_buffer_add(&to->text, bytes->data, bytes->count);
        end_token(to, begin);
    }
    for (size_t i = 0; i < bytes->count && !is_text; i++) {
        const size_t its = to->text.count;
        text_buffer_put(&to->text, 0xFFFD);
        end_token(to, its);
    }
    text_buffer_clear(bytes);
}

static void fallback_step(const list *from, list *to)
{
    text_buffer bytes = {.data = NULL};
    for (size_t i = 0; i < from->tokens.count; i++) {
        const text_piece token = from->tokens.data[i];
        const char *data = from->text.data + token.begin;
        const int byte = byte_of(data, token.end - token.begin);
        if (byte >= 0) {
            text_buffer_add(&bytes, &(char){(char)byte}, 1);
            continue;
        }
        flush_bytes(&bytes, to);
        const size_t begin = to->text.count;
        text_buffer_add(&to->text, data, token.end - token.begin);
        end_token(to, begin);
    }
    flush_bytes(&bytes, to);
    to->text.failed |= bytes.failed;
    text_buffer_free(&bytes);
}

static void fuse_step(const list *from, list *to)
{
    for (size_t i = 0; i < from->tokens.count; i++) {
        const text_piece token = from->tokens.data[i];
        text_buffer_add(&to->text, from->text.data + token.begin, token.end - token.begin);
    }
    end_token(to, 0);
}

/* So many letters, where they are that one, go from the start and the end of each token. */
static void strip_step(const step *it, const list *from, list *to)
{
    const size_t length = it->prefix.bytes;
    for (size_t i = 0; i < from->tokens.count; i++) {
        const text_piece token = from->tokens.data[i];
        const char *data = from->text.data;
        size_t begin = token.begin, end = token.end;
        for (int64_t n = 0; n < it->start && end - begin >= length &&
                            !memcmp(data + begin, it->prefix.data, length);
             n++)
            begin += length;
        for (int64_t n = 0; n < it->stop && end - begin >= length &&
                            !memcmp(data + end - length, it->prefix.data, length);
             n++)
            end -= length;
        const size_t its = to->text.count;
        text_buffer_add(&to->text, data + begin, end - begin);
        end_token(to, its);
    }
}

static bool replace_step(const step *it, const list *from, list *to, hk_text_problem *problem)
{
    text_pieces matches = {.data = NULL};
    bool is_good = true;
    for (size_t i = 0; i < from->tokens.count && is_good; i++) {
        const text_piece token = from->tokens.data[i];
        const char *data = from->text.data + token.begin;
        const size_t begin = to->text.count;
        size_t at = 0;
        matches.count = 0;
        is_good = text_pattern_find(it->pattern, data, token.end - token.begin, &matches, problem);
        for (size_t m = 0; m < matches.count; m++) {
            text_buffer_add(&to->text, data + at, matches.data[m].begin - at);
            text_buffer_add(&to->text, it->prefix.data, it->prefix.bytes);
            at = matches.data[m].end;
        }
        text_buffer_add(&to->text, data + at, token.end - token.begin - at);
        end_token(to, begin);
    }
    text_pieces_free(&matches);
    return is_good;
}

static bool run(const step *it, const list *from, list *to, hk_text_problem *problem)
{
    switch (it->kind) {
    case BYTES:
        bytes_step(from, to);
        return true;
    case WORD_PIECE:
        word_piece_step(it, from, to);
        return true;
    case SUFFIX:
        suffix_step(it, from, to);
        return true;
    case FALLBACK:
        fallback_step(from, to);
        return true;
    case FUSE:
        fuse_step(from, to);
        return true;
    case STRIP:
        strip_step(it, from, to);
        return true;
    case REPLACE:
        return replace_step(it, from, to, problem);
    }
    return true;
}

bool text_decode(const text_decoder *self, text_buffer *tokens, text_pieces *pieces,
                 text_buffer *to, hk_text_problem *problem)
{
    list from = {*tokens, *pieces}, made = {.text = {.data = NULL}};
    bool is_good = true;
    for (size_t i = 0; self && i < self->count && is_good; i++) {
        if (from.text.failed || from.tokens.failed)
            break;
        text_buffer_clear(&made.text);
        made.tokens.count = 0;
        is_good = run(&self->steps[i], &from, &made, problem);
        const list read = from;
        from = made;
        made = read;
    }
    for (size_t i = 0; i < from.tokens.count && !from.tokens.failed && !from.text.failed; i++) {
        const text_piece token = from.tokens.data[i];
        if (i && !self)
            text_buffer_add(to, " ", 1);
        text_buffer_add(to, from.text.data + token.begin, token.end - token.begin);
    }
    const bool failed = from.text.failed || from.tokens.failed || to->failed;
    *tokens = from.text;
    *pieces = from.tokens;
    list_free(&made);
    return is_good && (!failed || text_no_memory(problem));
}
