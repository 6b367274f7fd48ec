#include "io/contents.h"

#include "base/regular_file.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The array with room for one more behind `count`; NULL, and as it was: no memory. */
static void *grow(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    if (count < *capacity)
        return array;
    const size_t doubled = *capacity ? 2 * *capacity : 16;
    void *moved = reallocarray(array, doubled, element_bytes);
    if (moved)
        *capacity = doubled;
    return moved;
}

bool hki_io_contents_add(hki_io_contents *self, const hki_io_entry *entry, hki_io_error *error)
{
    hki_io_entry *grown = grow(self->entries, self->count, &self->capacity, sizeof *grown);
    if (!grown) {
        free(entry->name);
        free(entry->unsupported);
        return hki_io_fail_memory(error);
    }
    self->entries = grown;
    self->entries[self->count++] = *entry;
    return true;
}

bool hki_io_contents_add_text(hki_io_contents *self, char *key, char *value, hki_io_error *error)
{
    hki_io_text *grown =
        grow(self->metadata, self->metadata_count, &self->metadata_capacity, sizeof *grown);
    if (!grown) {
        free(key);
        free(value);
        return hki_io_fail_memory(error);
    }
    self->metadata = grown;
    self->metadata[self->metadata_count++] = (hki_io_text){key, value};
    return true;
}

static int compare_places(const void *a, const void *b, void *entries)
{
    const hki_io_entry *all = entries;
    return strcmp(all[*(const size_t *)a].name, all[*(const size_t *)b].name);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const hki_io_text *)a)->key, ((const hki_io_text *)b)->key);
}

static bool fail_twice(const char *what, const char *name, hki_io_error *error)
{
    char shown[HKI_IO_NAME_BYTES];
    hki_show_name(shown, sizeof shown, name);
    return hki_io_fail(error, HK_BAD_DATA,
                       "has %s \"%s\" twice; each should have a name of its own", what, shown);
}

bool hki_io_contents_finish(hki_io_contents *self, hki_io_error *error)
{
    self->by_name = calloc(self->count + 1, sizeof *self->by_name);
    if (!self->by_name)
        return hki_io_fail_memory(error);
    for (size_t i = 0; i < self->count; i++)
        self->by_name[i] = i;
    qsort_r(self->by_name, self->count, sizeof *self->by_name, compare_places, self->entries);
    for (size_t i = 1; i < self->count; i++) {
        const char *name = self->entries[self->by_name[i]].name;
        if (!strcmp(self->entries[self->by_name[i - 1]].name, name))
            return fail_twice("array", name, error);
    }
    if (self->metadata_count)
        qsort(self->metadata, self->metadata_count, sizeof *self->metadata, compare_texts);
    for (size_t i = 1; i < self->metadata_count; i++)
        if (!strcmp(self->metadata[i - 1].key, self->metadata[i].key))
            return fail_twice("metadata", self->metadata[i].key, error);
    return true;
}

const hki_io_entry *hki_io_contents_find(const hki_io_contents *self, const char *name)
{
    size_t low = 0, high = self->by_name ? self->count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const hki_io_entry *entry = &self->entries[self->by_name[middle]];
        const int order = strcmp(name, entry->name);
        if (!order)
            return entry;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *hki_io_contents_find_text(const hki_io_contents *self, const char *key)
{
    const hki_io_text wanted = {.key = (char *)(uintptr_t)key};
    const hki_io_text *found = self->metadata_count
                                   ? bsearch(&wanted, self->metadata, self->metadata_count,
                                             sizeof *self->metadata, compare_texts)
                                   : NULL;
    return found ? found->value : NULL;
}

void hki_io_contents_deinit(hki_io_contents *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free(self->entries[i].name);
        free(self->entries[i].unsupported);
    }
    for (size_t i = 0; i < self->metadata_count; i++) {
        free(self->metadata[i].key);
        free(self->metadata[i].value);
    }
    free(self->entries);
    free(self->by_name);
    free(self->metadata);
    free(self->structure);
    memset(self, 0, sizeof *self);
}

bool hki_io_is_utf8(const char *text)
{
    json_t *value = json_string(text);
    json_decref(value);
    return value;
}

bool hki_io_bytes_of(const int64_t *sizes, size_t count, uint64_t element_bytes, uint64_t *bytes)
{
    uint64_t product = element_bytes;
    bool none = false;
    for (size_t i = 0; i < count; i++) {
        none = none || !sizes[i];
        /* Zeros are left out, so that no part of the product can overflow later either. */
        if (sizes[i] && __builtin_mul_overflow(product, (uint64_t)sizes[i], &product))
            return false;
    }
    *bytes = none ? 0 : product;
    return product <= (uint64_t)1 << 62;
}
