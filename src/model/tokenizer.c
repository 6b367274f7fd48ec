/* Tokenizers: what a plug-in has read, and its ids as arrays. */
#include "array/array.h"
#include "base/plugin.h"
#include "base/utf8.h"

#include <hocket/ops.h>
#include <hocket/tokenizer.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct hk_tokenizer {
    const hk_status *status;     /* counted; NULL: nothing is wrong */
    hk_tokenizer_source *source; /* NULL: failed */
    atomic_int refs;
};

static hk_tokenizer no_memory;

static const hk_status *refusal(const char *operation, hk_code code, const char *format, ...)
{
    const hki_status_facts facts = {
        .operation = operation, .file = hki_source_get().file, .line = hki_source_get().line};
    va_list args;
    va_start(args, format);
    const hk_status *status = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool is_name(const char *text)
{
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length <= 32 && !text[length];
}

/* NULL, or what is wrong, counted. */
static const hk_status *open_source(hk_tokenizer *self, const char *path, const char *name)
{
    static const char what[] = "tokenizer_load";
    hk_text_problem problem = {.code = HK_OK};
    char why[512] = "";
    union {
        void *symbol;
        hk_tokenizer_open_fn *open;
    } entry;
    if (!is_name(name))
        return refusal(what, HK_INVALID_ARGUMENT,
                       "the option plugin is \"%.60s\"; expected small letters, digits and _",
                       name);
    void *plugin = hki_plugin_open(name, why, sizeof why);
    if (!plugin)
        return refusal(what, HK_NOT_FOUND,
                       "there is no plug-in that reads tokenizers: libhocket_%s.so is not beside "
                       "the library (%.300s)",
                       name, why);
    entry.symbol = dlsym(plugin, "hocket_tokenizer_open");
    if (!entry.symbol)
        return refusal(what, HK_UNSUPPORTED, "libhocket_%s.so reads no tokenizers", name);
    /* It stays open, as those of models do. */
    hk_tokenizer_source *source = entry.open(path, &problem);
    if (!source)
        return refusal(what, problem.code == HK_OK ? HK_BAD_DATA : problem.code, "%s",
                       problem.message);
    if (source->abi != HK_TOKENIZER_ABI) {
        source->release(source);
        return refusal(what, HK_UNSUPPORTED, "libhocket_%s.so is not of this version", name);
    }
    self->source = source;
    return NULL;
}

hk_tokenizer *(hk_tokenizer_load)(const char *path, const hk_tokenizer_options *options)
{
    HKI_TAKE_OPTIONS(hk_tokenizer_options, options);
    hk_tokenizer *self = calloc(1, sizeof *self);
    if (!self)
        return &no_memory;
    atomic_init(&self->refs, 1);
    self->status =
        path ? open_source(self, path, options && options->plugin ? options->plugin : "text")
             : refusal("tokenizer_load", HK_INVALID_ARGUMENT, "argument path is NULL");
    return self;
}

hk_tokenizer *hk_tokenizer_retain(hk_tokenizer *self)
{
    if (self && self != &no_memory)
        atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
    return self;
}

void hk_tokenizer_release(hk_tokenizer *self)
{
    if (!self || self == &no_memory ||
        atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (self->source)
        self->source->release(self->source);
    hk_status_release(self->status);
    free(self);
}

/* Counted; NULL: nothing is wrong. */
static const hk_status *wrong_with(const hk_tokenizer *self, const char *operation)
{
    if (!self)
        return refusal(operation, HK_INVALID_ARGUMENT, "argument tokenizer is NULL");
    if (self == &no_memory)
        return hki_status_no_memory();
    return self->status ? hk_status_retain(self->status) : NULL;
}

const hk_status *hk_tokenizer_status(const hk_tokenizer *self)
{
    const hk_status *status = wrong_with(self, "tokenizer_status");
    return hki_status_lend(status ? status : hki_status_ok());
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

int64_t hk_tokenizer_size(const hk_tokenizer *self)
{
    return self && self->source ? self->source->size : 0;
}

const char *hk_tokenizer_token(const hk_tokenizer *self, int64_t id, size_t *bytes)
{
    size_t count = 0;
    const char *token = self && self->source ? self->source->token(self->source, id, &count) : NULL;
    if (bytes)
        *bytes = count;
    return token;
}

int64_t hk_tokenizer_id(const hk_tokenizer *self, const char *token, size_t bytes)
{
    return self && self->source && token ? self->source->id(self->source, token, bytes) : -1;
}

bool hk_tokenizer_is_special(const hk_tokenizer *self, int64_t id)
{
    return self && self->source && self->source->is_special(self->source, id);
}

/* ---- texts to ids ---------------------------------------------------------------------------- */

static const hk_status *check_text(const char *operation, const char *name, const char *text,
                                   size_t bytes)
{
    if (!text && bytes)
        return refusal(operation, HK_INVALID_ARGUMENT, "argument %s is NULL", name);
    for (size_t at = 0, length; at < bytes; at += length) {
        length = hki_utf8_letter(text + at, bytes - at);
        if (!length)
            return refusal(operation, HK_INVALID_ARGUMENT,
                           "%s is no UTF-8: byte %zu of %zu, 0x%02x, begins no letter", name, at,
                           bytes, (unsigned)(unsigned char)text[at]);
    }
    return NULL;
}

/* NULL, or what is wrong, counted. */
static const hk_status *encode(const hk_tokenizer *self, const char *operation, const hk_text *text,
                               const hk_encode_options *options, hk_token_list *tokens)
{
    static const hk_encode_options defaults = {.no_special = false};
    hk_text_problem problem = {.code = HK_OK};
    const hk_text its = {text->text ? text->text : "", text->bytes, text->pair, text->pair_bytes};
    const hk_status *status = wrong_with(self, operation);
    if (!status)
        status = check_text(operation, "text", text->text, text->bytes);
    if (!status)
        status = check_text(operation, "pair", text->pair, text->pair ? text->pair_bytes : 0);
    if (!status &&
        !self->source->encode(self->source, &its, options ? options : &defaults, tokens, &problem))
        status = refusal(operation, problem.code == HK_OK ? HK_BAD_DATA : problem.code, "%s",
                         problem.message);
    return status;
}

static void tokens_free(hk_token_list *tokens)
{
    free(tokens->ids);
    free(tokens->types);
}

/* Takes the record. */
static hk_array *failed(const char *operation, const hk_status *status)
{
    hk_array *x = hki_array_create_failed(NULL, operation, NULL, 0, hk_status_code(status), "%s",
                                          hk_status_message(status));
    hk_status_release(status);
    return x;
}

hk_array *(hk_tokenizer_encode)(const hk_tokenizer *self, const char *text, size_t bytes,
                                const hk_encode_options *options)
{
    HKI_TAKE_OPTIONS(hk_encode_options, options);
    hk_token_list tokens = {.ids = NULL};
    const hk_text its = {.text = text, .bytes = bytes};
    const hk_status *status = encode(self, "tokenizer_encode", &its, options, &tokens);
    hk_array *ids =
        status ? failed("tokenizer_encode", status)
               : (hk_from_host)(tokens.ids, hk_shape(tokens.count), HK_I32, (hk_device){NULL});
    tokens_free(&tokens);
    return ids;
}

int64_t(hk_tokenizer_encode_into)(const hk_tokenizer *self, const hk_text *text,
                                  const hk_encode_options *options, int32_t *ids, int64_t capacity,
                                  const hk_status **status)
{
    static const char what[] = "tokenizer_encode_into";
    HKI_TAKE_OPTIONS(hk_encode_options, options);
    hk_token_list tokens = {.ids = NULL};
    const hk_status *wrong;
    if (!text)
        wrong = refusal(what, HK_INVALID_ARGUMENT, "argument text is NULL");
    else if (!ids && capacity > 0)
        wrong = refusal(what, HK_INVALID_ARGUMENT, "argument ids is NULL, and capacity %" PRId64,
                        capacity);
    else
        wrong = encode(self, what, text, options, &tokens);
    const int64_t count = wrong ? -1 : tokens.count;
    for (int64_t i = 0; i < count && i < capacity; i++)
        ids[i] = tokens.ids[i];
    tokens_free(&tokens);
    if (status)
        *status = hki_status_lend(wrong ? wrong : hki_status_ok());
    else
        hk_status_release(wrong);
    return count;
}

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct batch {
    const hk_tokenizer_source *source;
    hk_token_list *rows;
    int64_t count, width;
    bool pads_left;
} batch;

/* NULL, or what is wrong, counted. */
static const hk_status *set_width(batch *self, const hk_encode_options *options)
{
    int64_t width =
        options && options->least_tokens > 0 ? options->least_tokens : self->source->pad_length;
    const int64_t multiple = self->source->pad_multiple;
    for (int64_t i = 0; i < self->count; i++)
        width = self->rows[i].count > width ? self->rows[i].count : width;
    if (multiple > 0 && width % multiple)
        width += multiple - width % multiple;
    if (width > 0 && self->count > INT64_MAX / 8 / width)
        return hki_status_no_memory();
    self->width = width;
    return NULL;
}

static hk_token_batch to_arrays(const batch *self)
{
    const size_t numbers = (size_t)(self->count * self->width) + 1;
    int32_t *ids = malloc(numbers * sizeof *ids), *types = malloc(numbers * sizeof *types);
    int32_t *lengths = malloc(((size_t)self->count + 1) * sizeof *lengths);
    bool *mask = malloc(numbers * sizeof *mask);
    hk_token_batch result = {NULL, NULL, NULL, NULL};
    for (int64_t i = 0; ids && types && lengths && mask && i < self->count; i++) {
        const hk_token_list *row = &self->rows[i];
        const int64_t from = self->pads_left ? self->width - row->count : 0;
        lengths[i] = (int32_t)row->count;
        for (int64_t j = 0; j < self->width; j++) {
            const size_t to = (size_t)(i * self->width + j);
            const bool is_token = j >= from && j - from < row->count;
            ids[to] = is_token ? row->ids[j - from] : self->source->pad_id;
            types[to] = is_token ? row->types[j - from] : self->source->pad_type;
            mask[to] = is_token;
        }
    }
    if (ids && types && lengths && mask) {
        const hk_dims shape = hk_shape(self->count, self->width);
        const hk_device device = {NULL};
        result = (hk_token_batch){(hk_from_host)(ids, shape, HK_I32, device),
                                  (hk_from_host)(mask, shape, HK_BOOL, device),
                                  (hk_from_host)(types, shape, HK_I32, device),
                                  (hk_from_host)(lengths, hk_shape(self->count), HK_I32, device)};
    }
    free(ids);
    free(types);
    free(lengths);
    free(mask);
    return result;
}

/* As encode; the message says which of them. */
static const hk_status *encode_row(const hk_tokenizer *self, const hk_text *texts, int64_t at,
                                   const hk_encode_options *options, hk_token_list *tokens)
{
    static const char what[] = "tokenizer_encode_batch";
    const hk_status *status = encode(self, what, &texts[at], options, tokens);
    if (!status && tokens->count > INT32_MAX)
        status = hki_status_no_memory();
    if (!status || !self || !self->source)
        return status;
    const hk_status *named = refusal(what, hk_status_code(status), "text %" PRId64 ": %s", at,
                                     hk_status_message(status));
    hk_status_release(status);
    return named;
}

hk_token_batch(hk_tokenizer_encode_batch)(const hk_tokenizer *self, const hk_text *texts,
                                          int64_t count, const hk_encode_options *options)
{
    static const char what[] = "tokenizer_encode_batch";
    HKI_TAKE_OPTIONS(hk_encode_options, options);
    batch its = {.source = self ? self->source : NULL, .count = count};
    const hk_status *status = wrong_with(self, what);
    hk_token_batch result = {NULL, NULL, NULL, NULL};
    if (!status && (count < 0 || (count && !texts)))
        status = refusal(what, HK_INVALID_ARGUMENT, "%" PRId64 " texts at %s", count,
                         texts ? "an address" : "NULL");
    its.rows = status ? NULL : calloc((size_t)count + 1, sizeof *its.rows);
    if (!status && !its.rows)
        status = hki_status_no_memory();
    for (int64_t i = 0; !status && i < count; i++)
        status = encode_row(self, texts, i, options, &its.rows[i]);
    if (!status)
        status = set_width(&its, options);
    if (!status) {
        its.pads_left = its.source->pads_left || (options && options->pad_left);
        result = to_arrays(&its);
        status = result.ids ? NULL : hki_status_no_memory();
    }
    for (int64_t i = 0; its.rows && i < count; i++)
        tokens_free(&its.rows[i]);
    free(its.rows);
    if (status)
        result = (hk_token_batch){failed(what, hk_status_retain(status)),
                                  failed(what, hk_status_retain(status)),
                                  failed(what, hk_status_retain(status)), failed(what, status)};
    return result;
}

/* ---- ids to texts ---------------------------------------------------------------------------- */

char *(hk_tokenizer_decode)(const hk_tokenizer *self, const int32_t *ids, int64_t count,
                            const hk_decode_options *options, size_t *bytes,
                            const hk_status **status)
{
    static const char what[] = "tokenizer_decode";
    static const hk_decode_options defaults = {.with_special = false};
    HKI_TAKE_OPTIONS(hk_decode_options, options);
    hk_text_problem problem = {.code = HK_OK};
    const hk_status *wrong = wrong_with(self, what);
    char *text = NULL;
    size_t length = 0;
    if (!wrong && (count < 0 || (count && !ids)))
        wrong = refusal(what, HK_INVALID_ARGUMENT, "%" PRId64 " ids at %s", count,
                        ids ? "an address" : "NULL");
    if (!wrong)
        text = self->source->decode(self->source, ids, count, options ? options : &defaults,
                                    &length, &problem);
    if (!wrong && !text)
        wrong = refusal(what, problem.code == HK_OK ? HK_BAD_DATA : problem.code, "%s",
                        problem.message);
    if (bytes)
        *bytes = length;
    if (status)
        *status = hki_status_lend(wrong ? wrong : hki_status_ok());
    else
        hk_status_release(wrong);
    return text;
}
