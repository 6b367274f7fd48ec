/* Where a file of torch.save has its pickle and its storages. */
#include "io/torch_names.h"

#include "base/quote.h"
#include "base/text.h"
#include "io/saving.h"
#include "io/torch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char tail[] = "/data.pkl";
enum {
    TAIL_BYTES = sizeof tail - 1,
    FIRST_GUESS_BYTES = 1 << 20, /* of pickles in front of the bytes */
    COUNT_BYTES = 8
};

/* ---- zip files ------------------------------------------------------------------------------------------- */

typedef struct member {
    char *name; /* owned */
    hki_zip_member its;
} member;

typedef struct members {
    member *list;
    size_t count, capacity;
} members;

static bool note_member(void *context, const char *name, const hki_zip_member *its,
                        hki_io_error *error)
{
    members *self = context;
    if (self->count == self->capacity) {
        const size_t capacity = self->capacity ? 2 * self->capacity : 64;
        member *list = reallocarray(self->list, capacity, sizeof *list);
        if (!list)
            return hki_io_fail_memory(error);
        self->list = list;
        self->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy)
        return hki_io_fail_memory(error);
    self->list[self->count++] = (member){copy, *its};
    return true;
}

static void members_deinit(members *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->list[i].name);
    free(self->list);
}

/* The pickle; NULL: there is none, or more than one. */
static const member *find_pickle(const members *self, hki_io_error *error)
{
    const member *found = NULL;
    for (size_t i = 0; i < self->count; i++) {
        const char *name = self->list[i].name;
        const size_t bytes = strlen(name);
        if (bytes <= TAIL_BYTES || strcmp(name + bytes - TAIL_BYTES, tail) != 0)
            continue;
        if (found) {
            hki_io_fail(error, HK_BAD_DATA,
                        "has two pickles, %s and %s; one would be right: save or fetch it again",
                        hki_quote(found->name, 80).text, hki_quote(name, 80).text);
            return NULL;
        }
        found = &self->list[i];
    }
    if (!found)
        hki_io_fail(error, HK_BAD_DATA,
                    "is a zip file, but none of torch.save: no data.pkl is in it; pass one, or "
                    "state_dict() to torch.save");
    return found;
}

/* Where a stored member's bytes begin. */
static bool find_bytes(const hki_io_source *source, const member *of, uint64_t *at,
                       hki_io_error *error)
{
    if (of->its.method != HKI_ZIP_STORED || of->its.is_encrypted)
        return hki_io_fail(error, HK_UNSUPPORTED,
                           "has a member %s that is compressed or encrypted, as torch.save writes "
                           "none; unpack and store it",
                           hki_quote(of->name, 100).text);
    return hki_zip_find(source, &of->its, at, error);
}

/* A member's bytes, to be freed; NULL: there are more than `most`, or they cannot be read. */
static uint8_t *read_member(const hki_io_source *source, const member *of, uint64_t most,
                            hki_io_error *error)
{
    uint64_t at = 0;
    if (!find_bytes(source, of, &at, error))
        return NULL;
    if (of->its.bytes > most) {
        hki_io_fail(error, HK_BAD_DATA,
                    "has a member %s of %" PRIu64 " bytes; at most %" PRIu64 " would be right",
                    hki_quote(of->name, 100).text, of->its.bytes, most);
        return NULL;
    }
    uint8_t *bytes = malloc(of->its.bytes + 1);
    if (!bytes) {
        hki_io_fail_memory(error);
    } else if (!hki_io_read(source, at, bytes, of->its.bytes, error)) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

/* The rest of a name in the folder of the pickle; NULL: it is elsewhere. */
static const char *inside(const member *pickle, const char *name, const char *folder)
{
    const size_t prefix = strlen(pickle->name) - TAIL_BYTES + 1, bytes = strlen(folder);
    if (strncmp(name, pickle->name, prefix) != 0 || strncmp(name + prefix, folder, bytes) != 0)
        return NULL;
    return name + prefix + bytes;
}

static bool read_byte_order(hki_torch_file *file, const members *all, const member *pickle,
                            hki_io_error *error)
{
    enum { MOST_BYTES = 16 };
    bool is_little = true;
    for (size_t i = 0; i < all->count; i++) {
        const char *rest = inside(pickle, all->list[i].name, "byteorder");
        if (!rest || *rest)
            continue;
        uint8_t *order = read_member(file->source, &all->list[i], MOST_BYTES, error);
        if (!order)
            return false;
        const uint64_t bytes = all->list[i].its.bytes;
        is_little = bytes == 6 && !memcmp(order, "little", 6);
        const bool is_big = bytes == 3 && !memcmp(order, "big", 3);
        free(order);
        if (!is_little && !is_big)
            return hki_io_fail(error, HK_BAD_DATA,
                               "has a byte order that is neither little nor big; save or fetch it "
                               "again");
    }
    file->is_swapped = is_little != HKI_IO_HOST_IS_LITTLE;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const hki_torch_storage *)a)->key, ((const hki_torch_storage *)b)->key);
}

static int compare_places(const void *a, const void *b)
{
    const hki_torch_storage *left = a, *right = b;
    return (left->at > right->at) - (left->at < right->at);
}

/* Each has a key and bytes of its own; then they are in the order of keys. */
static bool order_storages(hki_torch_file *file, hki_io_error *error)
{
    hki_torch_storage *all = file->storages;
    const size_t count = file->storage_count;
    if (count)
        qsort(all, count, sizeof *all, compare_places);
    for (size_t i = 1; i < count; i++)
        if (all[i - 1].bytes > all[i].at - all[i - 1].at)
            return hki_io_fail(error, HK_BAD_DATA,
                               "has storages data/%s and data/%s that overlap; save or fetch it "
                               "again",
                               hki_quote(all[i - 1].key, 60).text, hki_quote(all[i].key, 60).text);
    if (count)
        qsort(all, count, sizeof *all, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (!strcmp(all[i - 1].key, all[i].key))
            return hki_io_fail(error, HK_BAD_DATA,
                               "has storage data/%s twice; save or fetch it again",
                               hki_quote(all[i].key, 60).text);
    return true;
}

static bool find_storages(hki_torch_file *file, const members *all, const member *pickle,
                          hki_io_error *error)
{
    file->storages = calloc(all->count + 1, sizeof *file->storages);
    if (!file->storages)
        return hki_io_fail_memory(error);
    for (size_t i = 0; i < all->count; i++) {
        const char *key = inside(pickle, all->list[i].name, "data/");
        hki_torch_storage *storage = &file->storages[file->storage_count];
        if (!key || !*key)
            continue;
        if (!find_bytes(file->source, &all->list[i], &storage->at, error))
            return false;
        storage->bytes = all->list[i].its.bytes;
        storage->key = strdup(key);
        if (!storage->key)
            return hki_io_fail_memory(error);
        file->storage_count++;
    }
    return order_storages(file, error);
}

static bool read_zip(hki_torch_file *file, uint8_t **data, hki_io_error *error)
{
    members all = {0};
    size_t used = 0;
    const member *pickle = hki_zip_read_directory(file->source, note_member, &all, error)
                               ? find_pickle(&all, error)
                               : NULL;
    bool is_good = pickle && read_byte_order(file, &all, pickle, error) &&
                   (*data = read_member(file->source, pickle, HKI_PICKLE_MOST_BYTES, error)) &&
                   hki_pickle_read(&file->pickle, *data, pickle->its.bytes, hki_torch_find_name,
                                   &used, error) &&
                   find_storages(file, &all, pickle, error);
    members_deinit(&all);
    return is_good;
}

/* ---- files before version 1.6 ---------------------------------------------------------------------------- */

/* Pickles one behind the other: a number by which to know the file, a version, facts about the
 * machine, the values, the keys of storages. Then each storage, in that order: how many elements,
 * and these. */
static const uint8_t magic[] = {0x80, 0x02, 0x8A, 0x0A, 0x6C, 0xFC, 0x9C,
                                0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19};

static int compare_references(const void *a, const void *b, void *data)
{
    const hki_torch_reference *left = a, *right = b;
    const uint32_t bytes = left->key->text.bytes, others = right->key->text.bytes;
    const int begin =
        memcmp((uint8_t *)data + left->key->text.at, (uint8_t *)data + right->key->text.at,
               bytes < others ? bytes : others);
    return begin ? begin : (bytes > others) - (bytes < others);
}

/* What the pickle says of each storage, in the order of keys; to be freed. NULL: none, or memory.
 */
static hki_torch_reference *all_references(const hki_pickle *pickle, size_t *count,
                                           hki_io_error *error)
{
    hki_torch_reference *list = calloc(pickle->count + 1, sizeof *list);
    *count = 0;
    if (!list) {
        hki_io_fail_memory(error);
        return NULL;
    }
    for (size_t i = 0; i < pickle->count; i++) {
        if (pickle->values[i].kind != HKI_PICKLE_PERSISTENT)
            continue;
        if (!hki_torch_get_reference(pickle, &pickle->values[i], &list[*count], error)) {
            free(list);
            return NULL;
        }
        ++*count;
    }
    if (*count)
        qsort_r(list, *count, sizeof *list, compare_references, (void *)(uintptr_t)pickle->data);
    return list;
}

/* The one of a key, which is a text of another pickle; NULL: none. */
static const hki_torch_reference *find_reference(const hki_pickle *pickle,
                                                 const hki_torch_reference *list, size_t count,
                                                 const char *key)
{
    size_t low = 0, high = count;
    const size_t bytes = strlen(key);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const hki_pickle_value *its = list[middle].key;
        const size_t others = its->text.bytes;
        const int begin = memcmp(key, pickle->data + its->text.at, bytes < others ? bytes : others);
        const int order = begin ? begin : (bytes > others) - (bytes < others);
        if (!order)
            return &list[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* The storage of that key begins with how many elements it has, at *at, which goes on behind it. */
static bool place_storage(hki_torch_file *file, char *key, const hki_torch_reference *its,
                          uint64_t *at, hki_io_error *error)
{
    uint8_t said[COUNT_BYTES];
    uint64_t count = 0, bytes;
    if (!hki_io_read(file->source, *at, said, sizeof said, error))
        return false;
    for (int i = COUNT_BYTES - 1; i >= 0; i--)
        count = count << 8 | said[i];
    *at += COUNT_BYTES;
    if (!its || count != (uint64_t)its->count ||
        __builtin_mul_overflow(count, its->element_bytes, &bytes) ||
        bytes > file->source->bytes - *at)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is truncated, or damaged: storage %s is said to have %" PRIu64
                           " elements; save or fetch it again",
                           hki_quote(key, 60).text, count);
    file->storages[file->storage_count++] =
        (hki_torch_storage){.key = key, .at = *at, .bytes = bytes};
    *at += bytes;
    return true;
}

static bool place_storages(hki_torch_file *file, const hki_pickle *keys, uint64_t at,
                           hki_io_error *error)
{
    const hki_pickle_value *list = hki_pickle_at(keys, keys->root);
    size_t count = 0;
    if (list->kind != HKI_PICKLE_LIST)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is truncated, or damaged: it has no list of storages; save or fetch "
                           "it again");
    hki_torch_reference *references = all_references(&file->pickle, &count, error);
    file->storages = calloc((size_t)list->parts.count + 1, sizeof *file->storages);
    bool is_good = references && (file->storages || hki_io_fail_memory(error));
    uint32_t cell = list->parts.first;
    for (uint32_t i = 0; is_good && i < list->parts.count; i++, cell = keys->cells[cell].next) {
        const hki_pickle_value *key = hki_pickle_at(keys, keys->cells[cell].value);
        char *name = key->kind == HKI_PICKLE_TEXT
                         ? strndup((const char *)keys->data + key->text.at, key->text.bytes)
                         : strdup("");
        is_good = name || hki_io_fail_memory(error);
        is_good = is_good &&
                  place_storage(file, name, find_reference(&file->pickle, references, count, name),
                                &at, error);
        if (!is_good)
            free(name);
    }
    free(references);
    return is_good && order_storages(file, error);
}

/* False where facts say that numbers are stored highest byte first. */
static bool is_little(const hki_pickle *facts)
{
    const hki_pickle_value *root = hki_pickle_at(facts, facts->root);
    uint32_t cell = root->parts.first;
    for (uint32_t i = 0; root->kind == HKI_PICKLE_DICT && i + 1 < root->parts.count; i += 2) {
        const hki_pickle_value *key = hki_pickle_at(facts, facts->cells[cell].value);
        cell = facts->cells[cell].next;
        const hki_pickle_value *value = hki_pickle_at(facts, facts->cells[cell].value);
        if (hki_pickle_is_text(facts, key, "little_endian"))
            return value->kind != HKI_PICKLE_BOOL || value->integer;
        cell = facts->cells[cell].next;
    }
    return true;
}

/* All pickles lie within the data. */
static bool read_pickles(hki_torch_file *file, const uint8_t *data, size_t bytes,
                         hki_io_error *error)
{
    hki_pickle facts = {0}, keys = {0};
    size_t at = 0, used = 0;
    bool is_good = true;
    for (int i = 0; i < 3 && is_good; i++, at += used) { /* the last of which is kept */
        hki_pickle_deinit(&facts);
        is_good = hki_pickle_read(&facts, data + at, bytes - at, hki_torch_find_name, &used, error);
    }
    if (is_good)
        file->is_swapped = is_little(&facts) != HKI_IO_HOST_IS_LITTLE;
    is_good = is_good && hki_pickle_read(&file->pickle, data + at, bytes - at, hki_torch_find_name,
                                         &used, error);
    at += used;
    is_good = is_good &&
              hki_pickle_read(&keys, data + at, bytes - at, hki_torch_find_name, &used, error) &&
              place_storages(file, &keys, at + used, error);
    hki_pickle_deinit(&facts);
    hki_pickle_deinit(&keys);
    return is_good;
}

static void file_deinit(hki_torch_file *file)
{
    hki_pickle_deinit(&file->pickle);
    for (size_t i = 0; i < file->storage_count; i++)
        free(file->storages[i].key);
    free(file->storages);
    *file = (hki_torch_file){.source = file->source};
}

/* Where pickles end is only known once they have been read. */
static bool read_old(hki_torch_file *file, uint8_t **data, hki_io_error *error)
{
    const uint64_t whole = file->source->bytes;
    uint64_t bytes = whole < FIRST_GUESS_BYTES ? whole : FIRST_GUESS_BYTES;
    for (;;) {
        hki_io_error now = {0};
        free(*data);
        *data = malloc(bytes + 1);
        if (!*data)
            return hki_io_fail_memory(error);
        if (!hki_io_read(file->source, 0, *data, bytes, error))
            return false;
        if (read_pickles(file, *data, bytes, &now))
            return true;
        if (bytes == whole || bytes == HKI_PICKLE_MOST_BYTES)
            return hki_io_fail(error, now.code, "%s", now.text);
        file_deinit(file);
        bytes = whole < HKI_PICKLE_MOST_BYTES ? whole : HKI_PICKLE_MOST_BYTES;
    }
}

/* ---- both ------------------------------------------------------------------------------------------------ */

bool hki_torch_read(const hki_io_source *source, hki_io_contents *contents, hki_io_error *error)
{
    uint8_t begin[sizeof magic] = {0}, *data = NULL;
    hki_torch_file file = {.source = source};
    const size_t bytes = source->bytes < sizeof begin ? (size_t)source->bytes : sizeof begin;
    if (!hki_io_read(source, 0, begin, bytes, error))
        return false;
    const bool is_zip = !memcmp(begin, "PK", 2), is_old = !memcmp(begin, magic, sizeof magic);
    bool is_good =
        is_zip   ? read_zip(&file, &data, error)
        : is_old ? read_old(&file, &data, error)
                 : hki_io_fail(error, HK_BAD_DATA,
                               "is no file of torch.save: it begins with neither a zip file's nor "
                               "a pickle's bytes; pass one, or option format says what it is");
    is_good = is_good && hki_torch_list(&file, contents, error) &&
              hki_io_contents_finish(contents, error);
    file_deinit(&file);
    free(data);
    return is_good;
}
