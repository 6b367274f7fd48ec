/* Patterns that split texts: PCRE2 runs what is written in Oniguruma's Ruby dialect, as the files
 * have it. Where the same characters mean something else the expression is rewritten, or
 * refused. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BYTES = 1 << 16,      /* of an expression */
    MOST_STEPS = 10000000,     /* of one search */
    MOST_HEAP_KIB = 64 * 1024, /* of one search */
    MOST_GROUPS = 256          /* within each other */
};

struct text_pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
};

/* ---- rewriting ------------------------------------------------------------------------------- */

/* White_Space; letters, marks, digits, connectors and symbols that Unicode calls alphabetic.
 * PCRE2's own \s and \w are a little others. */
#define SPACE                                                                                      \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}"             \
    "\\x{202f}\\x{205f}\\x{3000}"
#define WORD                                                                                       \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}"                    \
    "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"

typedef struct rewriter {
    const char *from;
    size_t bytes, at;
    text_buffer to;
    size_t item;                /* where in `to` the last item begins that may be repeated */
    size_t groups[MOST_GROUPS]; /* where open ones begin */
    int depth;
    hk_text_problem *problem;
} rewriter;

static bool refuse(rewriter *self, const char *why)
{
    return text_wrong(self->problem, HK_UNSUPPORTED,
                      "the pattern \"%.*s\" cannot be used: %s at its byte %zu",
                      (int)(self->bytes < 200 ? self->bytes : 200), self->from, why, self->at);
}

static void add_text(rewriter *self, const char *text)
{
    text_buffer_add(&self->to, text, strlen(text));
}

static bool copies(rewriter *self, size_t count)
{
    text_buffer_add(&self->to, self->from + self->at, count);
    self->at += count;
    return true;
}

static char look(const rewriter *self, size_t ahead)
{
    return self->at + ahead < self->bytes ? self->from[self->at + ahead] : 0;
}

static void add_later_words(rewriter *self)
{
    text_add_later(&self->to, "L", 1);
    text_add_later(&self->to, "M", 1);
    text_add_later(&self->to, "Nd", 2);
    text_add_later(&self->to, "Nl", 2);
}

/* \p{…}: a category has what PCRE2's Unicode may not know yet. What is not in a set becomes one. */
static bool property(rewriter *self, bool in_class, const char *name, size_t bytes)
{
    const bool is_category = bytes >= 1 && bytes <= 2 && strchr("LMNPS", *name);
    const bool is_without = look(self, 1) == 'P';
    const size_t length = bytes + 4;              /* \p{} */
    if (!is_category || (is_without && in_class)) /* nearly the same */
        return copies(self, length);
    if (!in_class)
        add_text(self, is_without ? "[^" : "[");
    add_text(self, "\\p{");
    text_buffer_add(&self->to, name, bytes);
    add_text(self, "}");
    text_add_later(&self->to, name, bytes);
    if (!in_class)
        add_text(self, "]");
    self->at += length;
    return true;
}

/* \ and what is behind it. */
static bool escape(rewriter *self, bool in_class)
{
    const char c = look(self, 1);
    const char *const its = c == 's' ? SPACE : c == 'w' ? WORD : NULL;
    if (its || (!in_class && (c == 'S' || c == 'W'))) {
        if (!in_class)
            add_text(self, c == 'S' || c == 'W' ? "[^" : "[");
        add_text(self, its ? its : c == 'S' ? SPACE : WORD);
        if (c == 'w' || c == 'W')
            add_later_words(self);
        if (!in_class)
            add_text(self, "]");
        self->at += 2;
        return true;
    }
    if (c == 'p' || c == 'P') {
        const char *open = self->from + self->at + 2;
        const char *close =
            look(self, 2) == '{' ? memchr(open, '}', self->bytes - self->at - 2) : NULL;
        if (!close)
            return refuse(self, "\\p without {…}");
        return property(self, in_class, open + 1, (size_t)(close - open) - 1);
    }
    if (c == 'd' || c == 'D') {
        if (!in_class)
            add_text(self, c == 'd' ? "[" : "[^");
        add_text(self, c == 'D' && in_class ? "\\D" : "\\d");
        if (c == 'd' || !in_class)
            text_add_later(&self->to, "Nd", 2);
        if (!in_class)
            add_text(self, "]");
        self->at += 2;
        return true;
    }
    /* What means the same to both. */
    if (!c || (strchr("ntrfvabBAzZ", c) == NULL && (isalnum((unsigned char)c) || c & 0x80) &&
               !(c == 'u' || c == 'x')))
        return refuse(self, "an escape that is not read");
    if (c == 'u') {
        for (size_t i = 2; i < 6; i++)
            if (!isxdigit((unsigned char)look(self, i)))
                return refuse(self, "\\u without four digits");
        add_text(self, "\\x{");
        text_buffer_add(&self->to, self->from + self->at + 2, 4);
        add_text(self, "}");
        self->at += 6;
        return true;
    }
    return copies(self, 2);
}

/* [ … ] */
static bool set(rewriter *self)
{
    copies(self, look(self, 1) == '^' ? 2 : 1);
    for (bool first = true; self->at < self->bytes; first = false) {
        const char c = look(self, 0);
        if (c == ']' && !first)
            return copies(self, 1);
        if (c == '[' && look(self, 1) == ':') {
            const char *close = memmem(self->from + self->at, self->bytes - self->at, ":]", 2);
            if (!close)
                return refuse(self, "[: without :]");
            copies(self, (size_t)(close - self->from) + 2 - self->at);
        } else if (c == '[' || (c == '&' && look(self, 1) == '&')) {
            return refuse(self, "a set within a set");
        } else if (c == '\\') {
            if (!escape(self, true))
                return false;
        } else {
            copies(self, 1);
        }
    }
    return refuse(self, "[ without ]");
}

/* ( and what says its kind. */
static bool open_group(rewriter *self)
{
    static const char *const kinds[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?i)"};
    if (self->depth == MOST_GROUPS)
        return refuse(self, "too many groups within each other");
    if (look(self, 1) != '?' && look(self, 1) != '*') {
        self->groups[self->depth++] = self->to.count;
        return copies(self, 1);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t length = strlen(kinds[i]);
        if (self->bytes - self->at < length || memcmp(self->from + self->at, kinds[i], length))
            continue;
        if (kinds[i][length - 1] != ')')
            self->groups[self->depth++] = self->to.count;
        return copies(self, length);
    }
    return refuse(self, "a group of a kind that is not read");
}

/* {…}, where it is a count. Behind it + is no sign of possession in Ruby's dialect, but repeats. */
static bool count(rewriter *self)
{
    size_t length = 1;
    while (isdigit((unsigned char)look(self, length)) || look(self, length) == ',')
        length++;
    if (length == 1 || look(self, length) != '}') {
        add_text(self, "\\{");
        self->at++;
        return true;
    }
    if (look(self, 1) == ',') { /* {,n} */
        add_text(self, "{0");
        self->at++;
        copies(self, length);
    } else {
        copies(self, length + 1);
    }
    if (look(self, 0) != '+')
        return true;
    text_buffer rest = {.data = NULL};
    text_buffer_add(&rest, self->to.data + self->item, self->to.count - self->item);
    self->to.failed |= rest.failed;
    self->to.count = self->item;
    add_text(self, "(?:");
    text_buffer_add(&self->to, rest.data, rest.count);
    add_text(self, ")");
    text_buffer_free(&rest);
    return copies(self, 1);
}

static bool rewrite(rewriter *self)
{
    bool is_good = true;
    while (self->at < self->bytes && is_good) {
        const char c = look(self, 0);
        if (c == '{') {
            is_good = count(self);
            continue;
        }
        if (c == '*' || c == '+' || c == '?' || c == '|') {
            copies(self, 1);
            continue;
        }
        const size_t begin = self->to.count;
        if (c == '\\')
            is_good = escape(self, false);
        else if (c == '[')
            is_good = set(self);
        else if (c == '(')
            is_good = open_group(self);
        else
            copies(self, 1);
        /* A letter's later bytes are of the same item. */
        if (((unsigned char)c & 0xC0) != 0x80)
            self->item = c == ')' && self->depth ? self->groups[--self->depth] : begin;
    }
    return is_good && (!self->to.failed || text_no_memory(self->problem));
}

/* ---- compiling ------------------------------------------------------------------------------- */

static bool compile(const char *expression, size_t bytes, uint32_t options, text_pattern **pattern,
                    hk_text_problem *problem)
{
    int error = 0;
    PCRE2_SIZE where = 0;
    text_pattern *self = calloc(1, sizeof *self);
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (self && context) {
        pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        self->limits = pcre2_match_context_create(NULL);
        self->code = pcre2_compile((PCRE2_SPTR)expression, bytes, PCRE2_UTF | options, &error,
                                   &where, context);
    }
    pcre2_compile_context_free(context);
    *pattern = self;
    if (!self || !self->limits || (!self->code && error == PCRE2_ERROR_HEAP_FAILED))
        return text_no_memory(problem);
    if (!self->code) {
        char why[128] = "";
        pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
        return text_wrong(problem, HK_BAD_DATA, "the pattern \"%.*s\" is wrong: %s",
                          (int)(bytes < 200 ? bytes : 200), expression, why);
    }
    pcre2_set_match_limit(self->limits, MOST_STEPS);
    pcre2_set_heap_limit(self->limits, MOST_HEAP_KIB);
    return true;
}

bool text_pattern_compile(const char *expression, size_t bytes, text_pattern **pattern,
                          hk_text_problem *problem)
{
    rewriter self = {.from = expression, .bytes = bytes, .problem = problem};
    if (bytes > MOST_BYTES)
        return text_wrong(problem, HK_UNSUPPORTED, "a pattern has %zu bytes; expected at most %d",
                          bytes, MOST_BYTES);
    const bool is_good =
        rewrite(&self) &&
        compile(self.to.data ? self.to.data : "", self.to.count,
                PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, pattern, problem);
    text_buffer_free(&self.to);
    return is_good;
}

bool text_pattern_read(const json_t *object, const char *what, text_pattern **pattern,
                       hk_text_problem *problem)
{
    const json_t *it = json_object_get(object, "pattern");
    const json_t *text = json_object_get(it, "String"), *expression = json_object_get(it, "Regex");
    if (json_is_string(text))
        return compile(json_string_value(text), json_string_length(text), PCRE2_LITERAL, pattern,
                       problem);
    if (json_is_string(expression))
        return text_pattern_compile(json_string_value(expression), json_string_length(expression),
                                    pattern, problem);
    return text_wrong(problem, HK_BAD_DATA,
                      "%s: pattern is none; expected {\"String\": …} or {\"Regex\": …}", what);
}

void text_pattern_free(text_pattern *self)
{
    if (!self)
        return;
    pcre2_code_free(self->code);
    pcre2_match_context_free(self->limits);
    free(self);
}

/* ---- searching ------------------------------------------------------------------------------- */

bool text_pattern_find(const text_pattern *self, const char *data, size_t bytes,
                       text_pieces *matches, hk_text_problem *problem)
{
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    size_t at = 0, last = SIZE_MAX; /* last: where the latest match ended */
    int found = 0;
    while (match && at <= bytes) {
        found = pcre2_match(self->code, (PCRE2_SPTR)data, bytes, at, PCRE2_NO_UTF_CHECK, match,
                            self->limits);
        if (found < 0)
            break;
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(match);
        size_t begin = ends[0], end = ends[1], letter;
        if (begin == end && end == last) { /* nothing, where something has just been */
            if (at >= bytes)
                break;
            text_letter(data + at, &letter);
            at += letter;
            continue;
        }
        text_pieces_add(matches, begin, end);
        at = last = end;
    }
    pcre2_match_data_free(match);
    if (!match || matches->failed || found == PCRE2_ERROR_NOMEMORY)
        return text_no_memory(problem);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH)
        return text_wrong(problem, HK_UNSUPPORTED,
                          "a pattern of the file takes too long at byte %zu of %zu", at, bytes);
    return true;
}
