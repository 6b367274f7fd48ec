/* Reading a tokenizer.json. */
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 512 * 1024 * 1024 };

/* ---- the file -------------------------------------------------------------------------------- */

static char *refuse_file(const char *path, const char *why, hk_code code, int file,
                         hk_text_problem *problem)
{
    if (file >= 0)
        close(file);
    text_wrong(problem, code, "cannot read \"%.300s\": %s", path, why);
    return NULL;
}

/* Never waits, whatever stands there. */
static char *read_file(const char *path, size_t *bytes, hk_text_problem *problem)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return refuse_file(path, strerror(errno), errno == ENOENT ? HK_NOT_FOUND : HK_IO, file,
                           problem);
    if (fstat(file, &facts))
        return refuse_file(path, strerror(errno), HK_IO, file, problem);
    if (!S_ISREG(facts.st_mode))
        return refuse_file(path, "it is no file; expected a tokenizer.json", HK_IO, file, problem);
    if (facts.st_size > MOST_BYTES)
        return refuse_file(path, "it has more than 512 MiB", HK_UNSUPPORTED, file, problem);
    const size_t size = (size_t)facts.st_size;
    char *data = malloc(size + 1);
    size_t count = 0;
    ssize_t got = 1;
    while (data && count < size && got) {
        got = read(file, data + count, size - count);
        if (got < 0 && errno != EINTR)
            break;
        count += got > 0 ? (size_t)got : 0;
    }
    if (!data || got < 0) {
        free(data);
        return refuse_file(path, data ? strerror(errno) : "out of host memory",
                           data ? HK_IO : HK_OUT_OF_MEMORY, file, problem);
    }
    close(file);
    *bytes = count;
    return data;
}

/* ---- what it says ---------------------------------------------------------------------------- */

static bool read_padding(hk_tokenizer_source *source, const json_t *json, hk_text_problem *problem)
{
    static const char what[] = "padding";
    int64_t id = 0, type = 0;
    if (!json || json_is_null(json))
        return true;
    if (!json_is_object(json))
        return text_wrong(problem, HK_BAD_DATA, "padding is no object");
    const char *direction = json_string_value(json_object_get(json, "direction"));
    const json_t *strategy = json_object_get(json, "strategy");
    source->pads_left = direction && !strcmp(direction, "Left");
    if (!text_get_integer(json, what, "pad_id", 0, TEXT_LARGEST_ID, &id, problem) ||
        !text_get_integer(json, what, "pad_type_id", 0, INT32_MAX, &type, problem) ||
        !text_get_integer(json, what, "pad_to_multiple_of", 0, INT32_MAX, &source->pad_multiple,
                          problem) ||
        (json_is_object(strategy) &&
         !text_get_integer(strategy, what, "Fixed", 0, INT32_MAX, &source->pad_length, problem)))
        return false;
    source->pad_id = (int32_t)id;
    source->pad_type = (int32_t)type;
    return true;
}

static bool read_version(const json_t *json, hk_text_problem *problem)
{
    const json_t *version = json_object_get(json, "version");
    const char *text = json_string_value(version);
    return !version || (text && !strcmp(text, "1.0")) ||
           text_wrong(problem, HK_UNSUPPORTED, "version is \"%.40s\"; expected \"1.0\"",
                      text ? text : "");
}

static bool read_all(text_tokenizer *self, const json_t *json, hk_text_problem *problem)
{
    if (!json_is_object(json))
        return text_wrong(problem, HK_BAD_DATA,
                          "the file holds no object; expected a tokenizer.json");
    if (!read_version(json, problem) ||
        !text_model_read(json_object_get(json, "model"), &self->model, problem) ||
        !text_normalizer_read(json_object_get(json, "normalizer"), &self->normalizer, problem) ||
        !text_splitter_read(json_object_get(json, "pre_tokenizer"), &self->splitter, problem) ||
        !text_processor_read(&self->processor, json_object_get(json, "post_processor"), problem) ||
        !text_decoder_read(json_object_get(json, "decoder"), &self->decoder, problem) ||
        !text_truncation_read(&self->truncation, json_object_get(json, "truncation"), problem) ||
        !read_padding(&self->source, json_object_get(json, "padding"), problem) ||
        !text_added_read(&self->added, json_object_get(json, "added_tokens"),
                         text_model_vocabulary(self->model), self->normalizer, problem))
        return false;
    self->source.size = text_model_vocabulary(self->model)->size;
    for (size_t i = 0; i < self->added.count; i++)
        if (self->added.tokens[i].id >= self->source.size)
            self->source.size = (int64_t)self->added.tokens[i].id + 1;
    return true;
}

static bool read_tokenizer(text_tokenizer *self, const char *path, hk_text_problem *problem)
{
    json_error_t error;
    size_t bytes;
    char *data = read_file(path, &bytes, problem);
    if (!data)
        return false;
    json_t *json = json_loadb(data, bytes, JSON_ALLOW_NUL, &error);
    free(data);
    if (!json)
        return json_error_code(&error) == json_error_out_of_memory
                   ? text_no_memory(problem)
                   : text_wrong(problem, HK_BAD_DATA, "\"%.200s\" is no JSON: line %d: %s", path,
                                error.line, error.text);
    const bool is_good = read_all(self, json, problem);
    json_decref(json);
    return is_good;
}

/* ---- the source ------------------------------------------------------------------------------ */

static const char *token_of(const hk_tokenizer_source *source, int64_t id, size_t *bytes)
{
    const text_tokenizer *self = (const text_tokenizer *)source;
    const text_added *added = text_added_of(&self->added, id);
    if (!added)
        return text_vocabulary_text(text_model_vocabulary(self->model), id, bytes);
    *bytes = added->content.bytes;
    return added->content.data;
}

static int64_t id_of(const hk_tokenizer_source *source, const char *token, size_t bytes)
{
    const text_tokenizer *self = (const text_tokenizer *)source;
    const int64_t place = text_vocabulary_find(&self->added.places, token, bytes);
    return place >= 0 ? self->added.tokens[place].id
                      : text_vocabulary_find(text_model_vocabulary(self->model), token, bytes);
}

static bool is_special(const hk_tokenizer_source *source, int64_t id)
{
    const text_added *added = text_added_of(&((const text_tokenizer *)source)->added, id);
    return added && added->is_special;
}

static void release(hk_tokenizer_source *source)
{
    text_tokenizer *self = (text_tokenizer *)source;
    text_added_free(&self->added);
    text_normalizer_free(self->normalizer);
    text_splitter_free(self->splitter);
    text_model_free(self->model);
    text_processor_free(&self->processor);
    text_decoder_free(self->decoder);
    free(self);
}

HK_API hk_tokenizer_open_fn hocket_tokenizer_open;
hk_tokenizer_source *hocket_tokenizer_open(const char *path, hk_text_problem *problem)
{
    text_tokenizer *self = calloc(1, sizeof *self);
    if (!self) {
        text_no_memory(problem);
        return NULL;
    }
    self->source = (hk_tokenizer_source){.abi = HK_TOKENIZER_ABI,
                                         .encode = text_encode,
                                         .decode = text_decode_ids,
                                         .token = token_of,
                                         .id = id_of,
                                         .is_special = is_special,
                                         .release = release};
    if (read_tokenizer(self, path, problem))
        return &self->source;
    release(&self->source);
    return NULL;
}
