/* Pre-tokenisers: texts become words. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* What becomes of what a pattern finds. */
typedef enum behavior {
    REMOVED,
    ISOLATED,
    MERGED_WITH_PREVIOUS,
    MERGED_WITH_NEXT,
    CONTIGUOUS
} behavior;

typedef enum kind { BYTES, PATTERN, LETTERS, WORDS } kind;

typedef struct step {
    kind kind;
    behavior behavior;
    text_pattern *pattern;          /* PATTERN; BYTES: NULL: the text stays whole */
    bool is_inverted;               /* what is between matches is what is found */
    bool adds_space;                /* BYTES */
    bool (*is_in)(uint32_t letter); /* LETTERS */
} step;

struct text_splitter {
    step *steps;
    size_t count, capacity;
};

/* Radford et al. 2019: contractions, words, numbers and the rest, each with the blank before it. */
static const char gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* ---- reading --------------------------------------------------------------------------------- */

static step *add(text_splitter *self, step made, hk_text_problem *problem)
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
    self->steps[self->count] = made;
    return &self->steps[self->count++];
}

static bool read_behavior(const json_t *json, const char *what, behavior *result,
                          hk_text_problem *problem)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    text_string name = {.data = NULL};
    if (!text_get_string(json, what, "behavior", &name, problem))
        return false;
    bool is_good = !name.data; /* left out: as it was */
    for (int i = 0; name.data && i < 5; i++)
        if (!strcmp(name.data, names[i])) {
            *result = (behavior)i;
            is_good = true;
        }
    if (!is_good)
        text_wrong(problem, HK_BAD_DATA,
                   "%s: behavior is \"%.40s\"; expected Removed, Isolated, MergedWithPrevious, "
                   "MergedWithNext or Contiguous",
                   what, name.data);
    text_string_free(&name);
    return is_good;
}

static bool read_bytes(text_splitter *self, const json_t *json, hk_text_problem *problem)
{
    static const char what[] = "pre_tokenizer of type \"ByteLevel\"";
    bool adds_space = true, is_split = true;
    if (!text_get_flag(json, what, "add_prefix_space", &adds_space, problem) ||
        !text_get_flag(json, what, "use_regex", &is_split, problem))
        return false;
    step *it =
        add(self, (step){.kind = BYTES, .behavior = ISOLATED, .adds_space = adds_space}, problem);
    return it && (!is_split || text_pattern_compile(gpt2, strlen(gpt2), &it->pattern, problem));
}

static bool read_split(text_splitter *self, const json_t *json, hk_text_problem *problem)
{
    static const char what[] = "pre_tokenizer of type \"Split\"";
    step *it = add(self, (step){.kind = PATTERN, .behavior = REMOVED}, problem);
    if (!it || !text_pattern_read(json, what, &it->pattern, problem) ||
        !text_get_flag(json, what, "invert", &it->is_inverted, problem))
        return false;
    if (!json_is_string(json_object_get(json, "behavior")))
        return text_wrong(problem, HK_BAD_DATA, "%s: behavior is missing; expected a text", what);
    return read_behavior(json, what, &it->behavior, problem);
}

static bool read_digits(text_splitter *self, const json_t *json, hk_text_problem *problem)
{
    bool each = false;
    if (!text_get_flag(json, "pre_tokenizer of type \"Digits\"", "individual_digits", &each,
                       problem))
        return false;
    return add(self,
               (step){.kind = LETTERS,
                      .behavior = each ? ISOLATED : CONTIGUOUS,
                      .is_in = text_is_number},
               problem) != NULL;
}

static bool read_punctuation(text_splitter *self, const json_t *json, hk_text_problem *problem)
{
    step *it = add(
        self, (step){.kind = LETTERS, .behavior = ISOLATED, .is_in = text_is_punctuation}, problem);
    return it &&
           read_behavior(json, "pre_tokenizer of type \"Punctuation\"", &it->behavior, problem);
}

static bool read_words(text_splitter *self, const json_t *json, hk_text_problem *problem)
{
    (void)json;
    return add(self, (step){.kind = WORDS}, problem) != NULL;
}

static bool read_blanks(text_splitter *self, const json_t *json, hk_text_problem *problem)
{
    (void)json;
    return add(self, (step){.kind = LETTERS, .behavior = REMOVED, .is_in = text_is_space},
               problem) != NULL;
}

static bool read_bert(text_splitter *self, const json_t *json, hk_text_problem *problem)
{
    return read_blanks(self, json, problem) &&
           add(self, (step){.kind = LETTERS, .behavior = ISOLATED, .is_in = text_is_punctuation},
               problem) != NULL;
}

static bool read_any(void *argument, const json_t *json, int depth, hk_text_problem *problem)
{
    text_splitter *self = argument;
    static const struct {
        const char *type;
        bool (*read)(text_splitter *self, const json_t *json, hk_text_problem *problem);
    } rows[] = {{"ByteLevel", read_bytes},       {"Split", read_split},
                {"BertPreTokenizer", read_bert}, {"Whitespace", read_words},
                {"Digits", read_digits},         {"Punctuation", read_punctuation},
                {"WhitespaceSplit", read_blanks}};
    const char *type = text_type_of(json);
    for (size_t i = 0; type && i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(type, rows[i].type))
            return rows[i].read(self, json, problem);
    if (!type || strcmp(type, "Sequence"))
        return text_refuse_type(json, "a pre_tokenizer", problem);
    return text_read_sequence(json, "pre_tokenizer", "pretokenizers", depth, read_any, self,
                              problem);
}

bool text_splitter_read(const json_t *json, text_splitter **splitter, hk_text_problem *problem)
{
    if (!json || json_is_null(json))
        return true;
    *splitter = calloc(1, sizeof **splitter);
    if (!*splitter)
        return text_no_memory(problem);
    return read_any(*splitter, json, 0, problem);
}

void text_splitter_free(text_splitter *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        text_pattern_free(self->steps[i].pattern);
    free(self->steps);
    free(self);
}

/* ---- splitting ------------------------------------------------------------------------------- */

void text_words_free(text_words *self)
{
    text_buffer_free(&self->text);
    text_buffer_free(&self->next_text);
    text_pieces_free(&self->words);
    text_pieces_free(&self->next_words);
    text_pieces_free(&self->matches);
}

/* Takes the parts of a word in turn, and adds the pieces that they become, by the behavior. */
typedef struct joiner {
    behavior behavior;
    text_pieces *to;
    size_t begin, end; /* of the piece that may still grow */
    bool has_piece, was_found;
} joiner;

static void finish(joiner *self)
{
    if (self->has_piece && self->begin < self->end)
        text_pieces_add(self->to, self->begin, self->end);
    self->has_piece = false;
}

static void take(joiner *self, size_t begin, size_t end, bool is_found)
{
    bool joins = false;
    switch (self->behavior) {
    case REMOVED:
        if (is_found)
            return;
        break;
    case ISOLATED:
        break;
    case MERGED_WITH_PREVIOUS:
        joins = is_found && !self->was_found;
        break;
    case MERGED_WITH_NEXT: /* two that are found stay two: the later one takes what follows */
        joins = !is_found && self->was_found;
        break;
    case CONTIGUOUS:
        joins = is_found == self->was_found;
        break;
    }
    self->was_found = is_found;
    if (joins && self->has_piece) {
        self->end = end;
        return;
    }
    finish(self);
    self->begin = begin;
    self->end = end;
    self->has_piece = true;
}

static bool by_pattern(const step *it, const char *text, text_piece word, text_words *words,
                       hk_text_problem *problem)
{
    joiner to = {.behavior = it->behavior, .to = &words->next_words};
    size_t at = word.begin;
    words->matches.count = 0;
    if (!text_pattern_find(it->pattern, text + word.begin, word.end - word.begin, &words->matches,
                           problem))
        return false;
    for (size_t i = 0; i < words->matches.count; i++) {
        const size_t begin = word.begin + words->matches.data[i].begin;
        if (at < begin)
            take(&to, at, begin, it->is_inverted);
        at = word.begin + words->matches.data[i].end;
        take(&to, begin, at, !it->is_inverted);
    }
    if (at < word.end)
        take(&to, at, word.end, it->is_inverted);
    finish(&to);
    return true;
}

static void by_letters(const step *it, const char *text, text_piece word, text_words *words)
{
    joiner to = {.behavior = it->behavior, .to = &words->next_words};
    size_t from = word.begin, length;
    for (size_t at = word.begin; at < word.end; at += length) {
        if (!it->is_in(text_letter(text + at, &length)))
            continue;
        if (from < at)
            take(&to, from, at, false);
        from = at + length;
        take(&to, at, from, true);
    }
    if (from < word.end)
        take(&to, from, word.end, false);
    finish(&to);
}

/* \w+|[^\w\s]+ */
static void by_words(const char *text, text_piece word, text_words *words)
{
    int so_far = 0; /* of the piece: 0: blank, else of a word or of no word */
    size_t from = word.begin, length;
    for (size_t at = word.begin; at < word.end; at += length) {
        const uint32_t letter = text_letter(text + at, &length);
        const int its = text_is_word(letter) ? 1 : text_is_space(letter) ? 0 : 2;
        if (its != so_far) {
            if (so_far)
                text_pieces_add(&words->next_words, from, at);
            from = at;
            so_far = its;
        }
    }
    if (so_far && from < word.end)
        text_pieces_add(&words->next_words, from, word.end);
}

static void swap_words(text_words *words)
{
    const text_pieces made = words->next_words;
    words->next_words = words->words;
    words->words = made;
    words->next_words.count = 0;
}

static void swap_texts(text_words *words)
{
    const text_buffer made = words->next_text;
    words->next_text = words->text;
    words->text = made;
}

/* A blank goes before each word that has none. */
static void add_spaces(text_words *words)
{
    text_buffer_clear(&words->next_text);
    for (size_t i = 0; i < words->words.count; i++) {
        const text_piece word = words->words.data[i];
        const size_t begin = words->next_text.count;
        if (words->text.data[word.begin] != ' ')
            text_buffer_add(&words->next_text, " ", 1);
        text_buffer_add(&words->next_text, words->text.data + word.begin, word.end - word.begin);
        text_pieces_add(&words->next_words, begin, words->next_text.count);
    }
    swap_texts(words);
    swap_words(words);
}

static void spell_bytes(text_words *words)
{
    text_buffer_clear(&words->next_text);
    for (size_t i = 0; i < words->words.count; i++) {
        text_piece *word = &words->words.data[i];
        const size_t begin = words->next_text.count;
        for (size_t at = word->begin; at < word->end; at++)
            text_buffer_put(&words->next_text,
                            text_letter_of_byte((unsigned char)words->text.data[at]));
        *word = (text_piece){begin, words->next_text.count};
    }
    swap_texts(words);
}

static bool run(const step *it, text_words *words, hk_text_problem *problem)
{
    bool is_good = true;
    if (it->kind == BYTES && it->adds_space)
        add_spaces(words);
    if (it->kind != BYTES || it->pattern) {
        for (size_t i = 0; i < words->words.count && is_good; i++) {
            const text_piece word = words->words.data[i];
            if (it->kind == WORDS)
                by_words(words->text.data, word, words);
            else if (it->kind == LETTERS)
                by_letters(it, words->text.data, word, words);
            else
                is_good = by_pattern(it, words->text.data, word, words, problem);
        }
        swap_words(words);
    }
    if (it->kind == BYTES)
        spell_bytes(words);
    return is_good;
}

bool text_split(const text_splitter *self, const char *data, size_t bytes, text_words *words,
                hk_text_problem *problem)
{
    bool is_good = true;
    text_buffer_clear(&words->text);
    words->words.count = words->next_words.count = 0;
    text_buffer_add(&words->text, data, bytes);
    if (bytes)
        text_pieces_add(&words->words, 0, bytes);
    for (size_t i = 0; self && i < self->count && is_good; i++) {
        if (words->text.failed || words->next_text.failed || words->words.failed ||
            words->next_words.failed)
            break;
        is_good = run(&self->steps[i], words, problem);
    }
    const bool failed = words->text.failed || words->next_text.failed || words->words.failed ||
                        words->next_words.failed;
    return is_good && (!failed || text_no_memory(problem));
}
