/* Vocabularies: counted by sorting, found by halving, so that no text makes either slow. */
#include "array/array.h"
#include "base/source.h"
#include "base/text.h"
#include "data/data_file.h"
#include "data/data_set.h"
#include "data/tokens.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char unknown[] = "<unk>";

struct hk_vocabulary {
    atomic_uint refs;
    const hk_status *status; /* counted */
    hk_token_kind kind;
    bool letters_only;
    int64_t count;
    char **tokens;   /* by place */
    int64_t *sorted; /* places but 0, in the order of bytes */
    char *text;
};

/* For when memory is short; counting it is harmless. */
static hk_vocabulary no_memory_vocabulary;

/* A token that is counted. */
typedef struct counted {
    char *bytes;
    size_t length;
    int64_t count;
} counted;

typedef struct counting {
    counted *list;
    size_t count, capacity;
} counting;

/* ---- order ----------------------------------------------------------------------------------------------- */

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int by_bytes(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    return compare_bytes(x->bytes, x->length, y->bytes, y->length);
}

static int by_count(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return by_bytes(a, b);
}

/* ---- counting -------------------------------------------------------------------------------------------- */

static void counting_deinit(counting *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->list[i].bytes);
    free(self->list);
}

/* Equal ones become one. */
static void merge(counting *self)
{
    size_t kept = 0;
    if (self->count)
        qsort(self->list, self->count, sizeof *self->list, by_bytes);
    for (size_t i = 0; i < self->count; i++) {
        counted *last = kept ? &self->list[kept - 1] : NULL;
        if (last && !by_bytes(last, &self->list[i])) {
            last->count += self->list[i].count;
            free(self->list[i].bytes);
        } else {
            self->list[kept++] = self->list[i];
        }
    }
    self->count = kept;
}

/* Room for one more: by merging what is there, or else by more memory. */
static bool make_room(counting *self)
{
    if (self->count < self->capacity)
        return true;
    merge(self);
    if (2 * self->count < self->capacity)
        return true;
    const size_t capacity = self->capacity ? 2 * self->capacity : 4096;
    counted *list = realloc(self->list, capacity * sizeof *list);
    if (!list)
        return false;
    self->list = list;
    self->capacity = capacity;
    return true;
}

static bool count_token(counting *self, const hki_token *token)
{
    if (!make_room(self))
        return false;
    char *bytes = malloc(token->count + 1);
    if (!bytes)
        return false;
    memcpy(bytes, token->bytes, token->count);
    bytes[token->count] = '\0';
    self->list[self->count++] = (counted){bytes, token->count, 1};
    return true;
}

static bool count_all(counting *self, hki_token_reader reader)
{
    hki_token token;
    while (hki_token_next(&reader, &token))
        if (!memchr(token.bytes, '\0', token.count) && !count_token(self, &token))
            return false;
    merge(self);
    return true;
}

/* ---- making ---------------------------------------------------------------------------------------------- */

static const char *const kind_names[] = {"characters", "words"};

static bool must_escape(char c)
{
    return c <= ' ' || c >= 0x7f || c == '\\';
}

/* One line for the kind, and one for each token, with bytes other than ASCII's visible ones as \xNN. */
static bool make_text(hk_vocabulary *self)
{
    size_t bytes = 64;
    for (int64_t i = 0; i < self->count; i++)
        bytes += 4 * strlen(self->tokens[i]) + 1;
    self->text = malloc(bytes);
    if (!self->text)
        return false;
    char *to = self->text;
    to += hki_format(to, bytes, "hocket.vocabulary %s%s\n", kind_names[self->kind],
                     self->letters_only ? " letters" : "");
    for (int64_t i = 1; i < self->count; i++, *to++ = '\n')
        for (const char *c = self->tokens[i]; *c; c++) {
            if (must_escape(*c))
                to += hki_format(to, 5, "\\x%02x", (unsigned char)*c);
            else
                *to++ = *c;
        }
    *to = '\0';
    return true;
}

typedef struct place {
    const char *token;
    int64_t at;
} place;

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const place *)a)->token, ((const place *)b)->token);
}

/* Of tokens[1 ...]; also false where one is there twice. */
static bool sort_tokens(hk_vocabulary *self, bool *is_twice)
{
    place *places = malloc((size_t)self->count * sizeof *places);
    self->sorted = malloc((size_t)self->count * sizeof *self->sorted);
    *is_twice = false;
    if (!places || !self->sorted) {
        free(places);
        return false;
    }
    for (int64_t i = 1; i < self->count; i++)
        places[i - 1] = (place){self->tokens[i], i};
    qsort(places, (size_t)self->count - 1, sizeof *places, compare_places);
    for (int64_t i = 0; i + 1 < self->count; i++) {
        self->sorted[i] = places[i].at;
        *is_twice = *is_twice || (i && !strcmp(places[i - 1].token, places[i].token));
    }
    free(places);
    return !*is_twice;
}

/* Makes it a failed one. */
static void fail(hk_vocabulary *self, const hk_status *status)
{
    hk_status_release(self->status);
    self->status = status;
    for (int64_t i = 1; i < self->count; i++)
        free(self->tokens[i]);
    self->count = self->tokens ? 1 : 0;
}

static hk_vocabulary *vocabulary_new(int64_t most)
{
    hk_vocabulary *self = malloc(sizeof *self);
    if (!self)
        return &no_memory_vocabulary;
    *self = (hk_vocabulary){.refs = 1, .status = hki_status_ok()};
    self->tokens = malloc(((size_t)most + 1) * sizeof *self->tokens);
    if (!self->tokens) {
        fail(self, hki_status_no_memory());
        return self;
    }
    self->tokens[0] = (char *)(uintptr_t)unknown;
    self->count = 1;
    return self;
}

/* Ends the making. */
static void finish(hk_vocabulary *self)
{
    bool is_twice = false;
    if (!hk_ok(self->status))
        return;
    if (!sort_tokens(self, &is_twice))
        fail(self, is_twice ? hki_data_refusal("vocabulary_of_text", HK_BAD_DATA,
                                               "a token is there twice; once would be right")
                            : hki_status_no_memory());
    if (!make_text(self) && hk_ok(self->status))
        fail(self, hki_status_no_memory());
}

static const hk_status *check(const char *text, size_t bytes, const hk_vocabulary_options *options)
{
    if ((!text && bytes) || options->least_count < 0 || options->most_tokens < 0 ||
        options->most_tokens > INT32_MAX ||
        (options->kind != HK_TOKEN_CHARACTERS && options->kind != HK_TOKEN_WORDS))
        return hki_data_refusal(
            "vocabulary_create", HK_INVALID_ARGUMENT,
            "text is %s of %zu bytes, options kind %d, least_count %" PRId64
            " and most_tokens %" PRId64 "; a text, a kind, and 0 or more would be right",
            hki_given(text), bytes, (int)options->kind, options->least_count, options->most_tokens);
    return NULL;
}

/* The most frequent ones, taken from the counting. */
static void take_tokens(hk_vocabulary *self, counting *all, const hk_vocabulary_options *options)
{
    const int64_t most = options->most_tokens ? options->most_tokens : INT32_MAX;
    if (all->count)
        qsort(all->list, all->count, sizeof *all->list, by_count);
    for (size_t i = 0; i < all->count && self->count < most; i++) {
        if (all->list[i].count < options->least_count || !strcmp(all->list[i].bytes, unknown))
            continue;
        self->tokens[self->count++] = all->list[i].bytes;
        all->list[i].bytes = NULL;
    }
}

hk_vocabulary *(hk_vocabulary_create)(const char *text, size_t bytes,
                                      const hk_vocabulary_options *options)
{
    HKI_TAKE_OPTIONS(hk_vocabulary_options, options);
    static const hk_vocabulary_options defaults = {0};
    counting all = {0};
    if (!options)
        options = &defaults;
    const hk_status *wrong = check(text, bytes, options);
    if (!text)
        text = "";
    const bool is_counted =
        !wrong && count_all(&all, (hki_token_reader){.at = text,
                                                     .end = text + bytes,
                                                     .kind = options->kind,
                                                     .letters_only = options->letters_only});
    hk_vocabulary *self = vocabulary_new((int64_t)all.count);
    if (self != &no_memory_vocabulary && hk_ok(self->status)) {
        self->kind = wrong ? HK_TOKEN_CHARACTERS : options->kind;
        self->letters_only = options->letters_only;
        if (is_counted)
            take_tokens(self, &all, options);
        else
            fail(self, wrong ? hk_status_retain(wrong) : hki_status_no_memory());
        finish(self);
    }
    hk_status_release(wrong);
    counting_deinit(&all);
    return self;
}

/* ---- from text ------------------------------------------------------------------------------------------- */

static int hex_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One token's line, up to `end`; NULL where it is no line, or errno says that there is no memory. */
static char *read_token(const char *at, const char *end)
{
    char *token = malloc((size_t)(end - at) + 1), *to = token;
    while (token && at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        const int high = end - at >= 4 && at[1] == 'x' ? hex_of(at[2]) : -1;
        const int low = high >= 0 ? hex_of(at[3]) : -1;
        if (low < 0 || !(high || low)) {
            free(token);
            errno = EINVAL;
            return NULL;
        }
        *to++ = (char)(16 * high + low);
        at += 4;
    }
    if (token)
        *to = '\0';
    return token;
}

/* The first line; NULL: it is none. */
static const char *read_kind(hk_vocabulary *self, const char *text)
{
    static const char name[] = "hocket.vocabulary ", letters[] = " letters";
    if (strncmp(text, name, sizeof name - 1) != 0)
        return NULL;
    text += sizeof name - 1;
    for (int kind = 0; kind < 2; kind++) {
        const size_t length = strlen(kind_names[kind]);
        if (strncmp(text, kind_names[kind], length) != 0)
            continue;
        self->kind = (hk_token_kind)kind;
        text += length;
        self->letters_only = !strncmp(text, letters, sizeof letters - 1);
        text += self->letters_only ? sizeof letters - 1 : 0;
        return *text == '\n' ? text + 1 : NULL;
    }
    return NULL;
}

static int64_t count_lines(const char *text)
{
    int64_t count = 0;
    for (; text && (text = strchr(text, '\n')); text++)
        count++;
    return count;
}

/* NULL, or what is wrong, counted. */
static const hk_status *read_tokens(hk_vocabulary *self, const char *at)
{
    for (const char *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        errno = 0;
        char *token = end && end > at ? read_token(at, end) : NULL;
        if (!token && errno == ENOMEM)
            return hki_status_no_memory();
        if (!token)
            return hki_data_refusal("vocabulary_of_text", HK_BAD_DATA,
                                    "line %" PRId64 " is no token; what hk_vocabulary_text gave "
                                    "would be right",
                                    self->count + 1);
        self->tokens[self->count++] = token;
    }
    return NULL;
}

hk_vocabulary *(hk_vocabulary_of_text)(const char *text)
{
    hk_vocabulary *self = vocabulary_new(count_lines(text));
    if (self == &no_memory_vocabulary || !hk_ok(self->status))
        return self;
    const char *at = text ? read_kind(self, text) : NULL;
    const hk_status *error =
        at ? read_tokens(self, at)
           : hki_data_refusal("vocabulary_of_text", HK_BAD_DATA,
                              "the text is no vocabulary; what hk_vocabulary_text gave would be "
                              "right");
    if (error)
        fail(self, error);
    finish(self);
    return self;
}

/* ---- life and facts -------------------------------------------------------------------------------------- */

hk_vocabulary *hk_vocabulary_retain(hk_vocabulary *self)
{
    if (self && self != &no_memory_vocabulary)
        atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
    return self;
}

void hk_vocabulary_release(hk_vocabulary *self)
{
    if (!self || self == &no_memory_vocabulary ||
        atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
        return;
    fail(self, NULL);
    free(self->tokens);
    free(self->sorted);
    free(self->text);
    free(self);
}

/* Counted. */
static const hk_status *status_of(const hk_vocabulary *self)
{
    if (!self)
        return hki_data_refusal("vocabulary", HK_INVALID_ARGUMENT, "argument vocabulary is NULL");
    return self->status ? hk_status_retain(self->status) : hki_status_no_memory();
}

const hk_status *hk_vocabulary_status(const hk_vocabulary *self)
{
    return hki_status_lend(status_of(self));
}

int64_t hk_vocabulary_size(const hk_vocabulary *self)
{
    return self && self->count > 1 ? self->count : 1;
}

const char *hk_vocabulary_token(const hk_vocabulary *self, int64_t at)
{
    return self && at > 0 && at < self->count ? self->tokens[at] : unknown;
}

int64_t hk_vocabulary_place(const hk_vocabulary *self, const char *token, size_t bytes)
{
    int64_t low = 0, high = hk_vocabulary_size(self) - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const char *other = self->tokens[self->sorted[middle]];
        const int order = compare_bytes(token, bytes, other, strlen(other));
        if (!order)
            return self->sorted[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

const char *hk_vocabulary_text(const hk_vocabulary *self)
{
    return self && self->text ? self->text : "";
}

static hk_array *failed(const hk_status *status)
{
    hk_array *x = hki_array_create_failed(NULL, "vocabulary_encode", NULL, 0,
                                          hk_status_code(status), "%s", hk_status_message(status));
    hk_status_release(status);
    return x;
}

hk_array *(hk_vocabulary_encode)(const hk_vocabulary *self, const char *text, size_t bytes)
{
    const hk_status *status = status_of(self);
    if (!hk_ok(status))
        return failed(status);
    if (!text && bytes)
        return failed(hki_data_refusal("vocabulary_encode", HK_INVALID_ARGUMENT,
                                       "argument text is NULL, but bytes is %zu", bytes));
    if (!text)
        text = "";
    hki_token_reader reader = {
        .at = text, .end = text + bytes, .kind = self->kind, .letters_only = self->letters_only};
    int32_t *places = malloc((bytes + 1) * sizeof *places);
    int64_t count = 0;
    hki_token token;
    if (!places)
        return failed(hki_status_no_memory());
    while (hki_token_next(&reader, &token))
        places[count++] = (int32_t)hk_vocabulary_place(self, token.bytes, token.count);
    hk_array *x = (hk_from_host)(places, hk_shape(count), HK_I32, (hk_device){NULL});
    free(places);
    return x;
}

char *(hk_text_read)(const char *path, size_t *bytes, const hk_status **status)
{
    char message[HKI_DATA_MESSAGE_BYTES];
    uint8_t *data;
    *bytes = 0;
    const hk_code code = hki_data_file_read(path, "pass a text", 0, &data, bytes, message);
    const hk_status *record =
        code == HK_OK ? hki_status_ok() : hki_data_refusal("text_read", code, "%s", message);
    if (status)
        *status = hki_status_lend(record);
    else
        hk_status_release(record);
    return (char *)data;
}
