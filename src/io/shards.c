#include "io/shards.h"

#include "base/json_extent.h"
#include "base/regular_file.h"
#include "io/format.h"
#include "io/safetensors.h"
#include "io/torch.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_INDEX_BYTES = 64 << 20, MOST_SHARDS = 1000 };

/* An array, and the file it is in. */
typedef struct row {
    char *name, *file; /* owned */
} row;

typedef struct rows {
    row *list;
    size_t count, capacity;
} rows;

typedef struct reader {
    hki_json_text text;
    rows rows;
    hki_io_contents *contents;
    hki_io_error *error;
} reader;

void hki_io_sources_deinit(hki_io_sources *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->list[i].file >= 0)
            close(self->list[i].file);
    free(self->list);
    *self = (hki_io_sources){0};
}

/* ---- the index ------------------------------------------------------------------------------------------- */

static bool fail_text(reader *self)
{
    return hki_io_fail(self->error, HK_BAD_DATA,
                       "is no index of arrays: %s should be at its byte %zu; save or fetch it "
                       "again",
                       self->text.error, self->text.at);
}

/* A text or number as text, to be freed; NULL, with a message: it is neither. */
static char *parse(reader *self, const hki_json_extent *extent)
{
    json_error_t error;
    json_t *value = extent->container_count
                        ? NULL
                        : json_loadb(self->text.data + extent->begin, extent->end - extent->begin,
                                     JSON_DECODE_ANY, &error);
    char *text = NULL;
    if (json_is_string(value))
        text = strdup(json_string_value(value));
    else if (value)
        text = strndup(self->text.data + extent->begin, extent->end - extent->begin);
    if (!value)
        hki_io_fail(self->error, HK_BAD_DATA,
                    "is no index of arrays: no text or number is at its byte %zu; save or fetch it "
                    "again",
                    extent->begin);
    else if (!text)
        hki_io_fail_memory(self->error);
    json_decref(value);
    return text;
}

/* In the index's folder, and nowhere else. */
static bool check_file(reader *self, const char *file)
{
    hk_file_format format;
    hki_io_error unknown = {0};
    const bool is_name = *file && !strchr(file, '/') && strlen(file) < 256 &&
                         hki_io_format_of(file, HK_FORMAT_BY_NAME, &format, &unknown) &&
                         (format == HK_FORMAT_SAFETENSORS || format == HK_FORMAT_TORCH);
    return is_name || hki_io_fail(self->error, HK_BAD_DATA,
                                  "names a file \"%s\"; one beside it, with the ending "
                                  ".safetensors, .bin, .pt or .pth, would be right",
                                  hki_quote(file, 100).text);
}

/* name and file are taken. */
static bool add_row(reader *self, char *name, char *file)
{
    rows *to = &self->rows;
    bool is_good = name && file && check_file(self, file);
    if (is_good && to->count == to->capacity) {
        const size_t capacity = to->capacity ? 2 * to->capacity : 64;
        row *list = reallocarray(to->list, capacity, sizeof *list);
        is_good = list || hki_io_fail_memory(self->error);
        to->list = list ? list : to->list;
        to->capacity = list ? capacity : to->capacity;
    }
    if (is_good) {
        to->list[to->count++] = (row){name, file};
        return true;
    }
    free(name);
    free(file);
    return false;
}

static bool read_pair(reader *self, bool is_map)
{
    hki_json_extent key, value;
    if (!hki_json_take_string(&self->text, &key) || !hki_json_expect(&self->text, ':', "a colon") ||
        !hki_json_take_value(&self->text, &value))
        return fail_text(self);
    if (!is_map && value.container_count)
        return true; /* of which nothing is made */
    char *name = parse(self, &key), *said = name ? parse(self, &value) : NULL;
    if (is_map)
        return add_row(self, name, said);
    if (said)
        return hki_io_contents_add_text(self->contents, name, said, self->error);
    free(name);
    return false;
}

static bool read_pairs(reader *self, bool is_map)
{
    if (!hki_json_expect(&self->text, '{', "an object"))
        return fail_text(self);
    if (hki_json_take(&self->text, '}'))
        return true;
    do {
        if (!read_pair(self, is_map))
            return false;
    } while (hki_json_take(&self->text, ','));
    return hki_json_expect(&self->text, '}', "a comma or the end of an object") || fail_text(self);
}

static bool read_member(reader *self, bool *has_map)
{
    hki_json_extent key, value;
    if (!hki_json_take_string(&self->text, &key) || !hki_json_expect(&self->text, ':', "a colon"))
        return fail_text(self);
    char *name = parse(self, &key);
    if (!name)
        return false;
    const bool is_map = !strcmp(name, "weight_map"), is_metadata = !strcmp(name, "metadata");
    free(name);
    if (is_map && *has_map)
        return hki_io_fail(self->error, HK_BAD_DATA,
                           "has \"weight_map\" twice; one would be right");
    *has_map = *has_map || is_map;
    if (is_map || is_metadata)
        return read_pairs(self, is_map);
    return hki_json_take_value(&self->text, &value) || fail_text(self);
}

static int compare_rows(const void *a, const void *b)
{
    const row *left = a, *right = b;
    const int order = strcmp(left->file, right->file);
    return order ? order : strcmp(left->name, right->name);
}

static bool read_index(reader *self)
{
    bool has_map = false;
    if (!hki_json_expect(&self->text, '{', "an object"))
        return fail_text(self);
    if (!hki_json_take(&self->text, '}')) {
        do {
            if (!read_member(self, &has_map))
                return false;
        } while (hki_json_take(&self->text, ','));
        if (!hki_json_expect(&self->text, '}', "a comma or the end of the index"))
            return fail_text(self);
    }
    if (!has_map)
        return hki_io_fail(self->error, HK_BAD_DATA,
                           "is no index of arrays: it has no \"weight_map\"; pass one");
    if (self->rows.count)
        qsort(self->rows.list, self->rows.count, sizeof *self->rows.list, compare_rows);
    return true;
}

/* ---- the files ------------------------------------------------------------------------------------------- */

static bool open_file(const char *folder, size_t folder_bytes, const char *file,
                      hki_io_sources *sources, hki_io_error *error)
{
    char why[256], *path = NULL;
    hki_io_source opened = {.file = -1};
    hki_io_source *list = reallocarray(sources->list, sources->count + 1, sizeof *list);
    if (!list)
        return hki_io_fail_memory(error);
    sources->list = list;
    if (asprintf(&path, "%.*s%s", (int)folder_bytes, folder, file) < 0)
        return hki_io_fail_memory(error);
    const hk_code code = hki_regular_file_open(path, "put there what the index names", &opened.file,
                                               &opened.bytes, why, sizeof why);
    free(path);
    if (code != HK_OK)
        return hki_io_fail(error, code, "names %s, which %s", hki_quote(file, 100).text, why);
    sources->list[sources->count++] = opened;
    return true;
}

/* Takes what the rows say from what the file has. */
static bool take_entries(const row *list, size_t count, hki_io_contents *its, unsigned source,
                         hki_io_contents *contents, hki_io_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const hki_io_entry *found = hki_io_contents_find(its, list[i].name);
        if (!found)
            return hki_io_fail(error, HK_BAD_DATA,
                               "says that array \"%s\" is in %s, which lacks it; save or fetch "
                               "them again",
                               hki_quote(list[i].name, 200).text,
                               hki_quote(list[i].file, 100).text);
        hki_io_entry entry = *found;
        entry.name = strdup(found->name);
        entry.unsupported = found->unsupported ? strdup(found->unsupported) : NULL;
        entry.source = source;
        if (!entry.name || (found->unsupported && !entry.unsupported)) {
            free(entry.name);
            free(entry.unsupported);
            return hki_io_fail_memory(error);
        }
        if (!hki_io_contents_add(contents, &entry, error))
            return false;
    }
    return true;
}

static bool read_file(const row *list, size_t count, hki_io_sources *sources,
                      hki_io_contents *contents, hki_io_error *error)
{
    const unsigned at = (unsigned)sources->count - 1;
    hki_io_contents its = {0};
    hki_io_error inner = {0};
    hk_file_format format;
    hki_io_format_of(list->file, HK_FORMAT_BY_NAME, &format, &inner);
    const bool is_read = (format == HK_FORMAT_TORCH ? hki_torch_read : hki_safetensors_read)(
        &sources->list[at], &its, &inner);
    const bool is_good = is_read ? take_entries(list, count, &its, at, contents, error)
                                 : hki_io_fail(error, inner.code, "names %s, which %s",
                                               hki_quote(list->file, 100).text, inner.text);
    hki_io_contents_deinit(&its);
    return is_good;
}

static bool read_files(const char *path, const rows *all, hki_io_sources *sources,
                       hki_io_contents *contents, hki_io_error *error)
{
    const char *slash = strrchr(path, '/');
    const size_t folder_bytes = slash ? (size_t)(slash - path) + 1 : 0;
    bool is_good = true;
    for (size_t i = 0, end; i < all->count && is_good; i = end) {
        const row *first = &all->list[i];
        for (end = i + 1; end < all->count && !strcmp(all->list[end].file, first->file);)
            end++;
        if (sources->count > MOST_SHARDS)
            return hki_io_fail(error, HK_BAD_DATA, "names more than %d files", MOST_SHARDS);
        is_good = open_file(path, folder_bytes, first->file, sources, error) &&
                  read_file(first, end - i, sources, contents, error);
    }
    return is_good && hki_io_contents_finish(contents, error);
}

bool hki_shards_read(const char *path, hki_io_sources *sources, hki_io_contents *contents,
                     hki_io_error *error)
{
    const hki_io_source *index = sources->list;
    if (index->bytes > MOST_INDEX_BYTES)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is no index of arrays: it has %" PRIu64
                           " bytes; at most %d would be right",
                           index->bytes, MOST_INDEX_BYTES);
    char *data = malloc(index->bytes + 1);
    if (!data)
        return hki_io_fail_memory(error);
    reader self = {
        .text = {.data = data, .bytes = index->bytes}, .contents = contents, .error = error};
    const bool is_good = hki_io_read(index, 0, data, index->bytes, error) && read_index(&self) &&
                         read_files(path, &self.rows, sources, contents, error);
    for (size_t i = 0; i < self.rows.count; i++) {
        free(self.rows.list[i].name);
        free(self.rows.list[i].file);
    }
    free(self.rows.list);
    free(data);
    return is_good;
}
