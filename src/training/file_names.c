#include "training/file_names.h"

#include "base/quote.h"

#include <stdlib.h>
#include <string.h>

/* The text with `to` in place of `from`, wherever that is; text is taken. NULL: no memory. */
static char *replaced(char *text, const char *from, const char *to)
{
    const size_t from_bytes = strlen(from), to_bytes = strlen(to);
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, from)); at += from_bytes)
        found++;
    if (!found)
        return text;
    char *made = malloc(strlen(text) + found * to_bytes + 1), *end = made;
    const char *rest = text;
    for (const char *at; made && (at = strstr(rest, from)); rest = at + from_bytes) {
        end = mempcpy(end, rest, (size_t)(at - rest));
        end = mempcpy(end, to, to_bytes);
    }
    if (made)
        strcpy(end, rest);
    free(text);
    return made;
}

/* The name as it is taken, to be freed; NULL: no memory. *is_passed: it is taken for none. */
static char *renamed(const char *name, const hk_rename *renames, int count, bool *is_passed)
{
    char *text = strdup(name);
    *is_passed = false;
    for (int i = 0; text && i < count && !*is_passed; i++) {
        if (renames[i].to)
            text = replaced(text, renames[i].from, renames[i].to);
        else
            *is_passed = strstr(text, renames[i].from);
    }
    return text;
}

static int compare(const void *a, const void *b, void *list)
{
    const hki_file_name *all = list;
    return strcmp(all[*(const size_t *)a].name, all[*(const size_t *)b].name);
}

static const hk_status *check_different(const hki_file_names *self)
{
    for (size_t i = 1; i < self->count; i++) {
        const hki_file_name *a = &self->list[self->by_name[i - 1]],
                            *b = &self->list[self->by_name[i]];
        if (!strcmp(a->name, b->name))
            return hki_status_create(
                HK_INVALID_ARGUMENT, NULL, "option renames takes %s and %s both for %s",
                hki_quote(a->original, 120).text, hki_quote(b->original, 120).text,
                hki_quote(a->name, 120).text);
    }
    return NULL;
}

const hk_status *hki_file_names_init(hki_file_names *self, const hk_archive *archive,
                                     const hk_rename *renames, int count)
{
    const size_t all = hk_archive_count(archive);
    for (int i = 0; i < count; i++)
        if (!renames || !renames[i].from || !renames[i].from[0])
            return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                     "renames[%d].from is %s; a part of a name would be right", i,
                                     renames && renames[i].from ? "empty" : "NULL");
    *self = (hki_file_names){.list = calloc(all + 1, sizeof *self->list),
                             .by_name = calloc(all + 1, sizeof *self->by_name)};
    if (!self->list || !self->by_name)
        return hk_status_retain(hki_status_no_memory());
    for (size_t i = 0; i < all; i++) {
        const char *original = hk_archive_name(archive, i);
        bool is_passed;
        char *name = renamed(original, renames, count, &is_passed);
        if (!name)
            return hk_status_retain(hki_status_no_memory());
        if (is_passed) {
            free(name);
            continue;
        }
        self->by_name[self->count] = self->count;
        self->list[self->count++] = (hki_file_name){.name = name, .original = original};
    }
    qsort_r(self->by_name, self->count, sizeof *self->by_name, compare, self->list);
    return check_different(self);
}

const hki_file_name *hki_file_names_find(const hki_file_names *self, const char *name)
{
    size_t low = 0, high = self->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const hki_file_name *its = &self->list[self->by_name[middle]];
        const int order = strcmp(name, its->name);
        if (!order)
            return its;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void hki_file_names_deinit(hki_file_names *self)
{
    for (size_t i = 0; self->list && i < self->count; i++)
        free(self->list[i].name);
    free(self->list);
    free(self->by_name);
    *self = (hki_file_names){0};
}
