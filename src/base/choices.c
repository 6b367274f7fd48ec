#include "base/choices.h"
#include "base/quote.h"

#include "base/sync.h"
#include "base/whole_file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 511, PATH_BYTES = 1024, NOTED_MAX = 4096 };
#define NUMBER_MAX ((int64_t)1 << 50)
#define HEADER     "hocket choices 1"
#define PROCESSOR  "processor "

typedef struct entry {
    hki_choice_key key;
    char word[HKI_CHOICE_WORD_BYTES];
} entry;

typedef struct note {
    hki_choice_key key;
    hki_choice_measure_fn measure; /* NULL: it has been measured, and is */
    char word[HKI_CHOICE_WORD_BYTES];
} note;

struct hki_choices {
    entry *entries; /* sorted by key */
    size_t count;
    bool notes;    /* what is not found is noted */
    hki_lock lock; /* the next two */
    note *noted;
    size_t noted_count;
    char path[PATH_BYTES]; /* where to write; "" nowhere */
    char description[PATH_BYTES + 128];
};

/* ---- keys ---------------------------------------------------------------------------------------------------- */

static int key_compare(const hki_choice_key *a, const hki_choice_key *b)
{
    int order = strcmp(a->name, b->name);
    if (order)
        return order;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = 0; i < a->count; i++)
        if (a->numbers[i] != b->numbers[i])
            return a->numbers[i] < b->numbers[i] ? -1 : 1;
    return 0;
}

static int entry_compare(const void *a, const void *b)
{
    return key_compare(&((const entry *)a)->key, &((const entry *)b)->key);
}

static const entry *find(const hki_choices *self, const hki_choice_key *key)
{
    size_t low = 0, high = self->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = key_compare(key, &self->entries[middle].key);
        if (!order)
            return &self->entries[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ---- this processor -------------------------------------------------------------------------------------------- */

/* Vendor, family, model and stepping as the kernel tells them; "unknown" elsewhere. */
static void processor_name(char *text, size_t bytes)
{
    static const char *const fields[] = {"vendor_id", "cpu family", "model", "stepping"};
    char line[LINE_BYTES], values[4][64] = {{0}};
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file) && line[0] != '\n') {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        size_t length = strcspn(line, "\t:");
        for (int i = 0; i < 4; i++)
            if (length == strlen(fields[i]) && !memcmp(line, fields[i], length))
                sscanf(colon + 1, " %63s", values[i]);
    }
    if (file)
        fclose(file);
    if (values[0][0])
        snprintf(text, bytes, "%s %s %s %s", values[0], values[1], values[2], values[3]);
    else
        snprintf(text, bytes, "unknown");
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static bool is_word(const char *text, size_t limit)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
            text[i] != '.' && text[i] != '_')
            return false;
    return length > 0 && length < limit;
}

static bool parse_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && !errno && *number <= NUMBER_MAX;
}

/* NULL, or what is wrong with the line. */
static const char *parse_entry(char *line, entry *parsed)
{
    memset(parsed, 0, sizeof *parsed);
    char *rest = NULL, *field = strtok_r(line, " ", &rest), *next;
    if (!field || !is_word(field, sizeof parsed->key.name))
        return "a name of a-z, 0-9, '.' and '_'";
    strcpy(parsed->key.name, field);
    for (field = strtok_r(NULL, " ", &rest); field; field = next) {
        next = strtok_r(NULL, " ", &rest);
        if (!next) {
            if (!is_word(field, sizeof parsed->word) || isdigit((unsigned char)*field))
                break;
            strcpy(parsed->word, field);
            return NULL;
        }
        if (parsed->key.count == HKI_CHOICE_NUMBERS ||
            !parse_number(field, &parsed->key.numbers[parsed->key.count++]))
            return "at most 16 whole numbers up to 2^50 behind the name";
    }
    return "a word, the choice, at the end";
}

static const hk_status *file_error(const char *path, int line, const char *expected)
{
    const hki_status_facts facts = {.operation = "runtime_init"};
    return hki_status_create(HK_BAD_DATA, &facts,
                             "%s, line %d: expected %s; HOCKET_TUNE=measure makes such files", path,
                             line, expected);
}

static bool add(hki_choices *self, const entry *added)
{
    if (!(self->count & (self->count - 1))) {
        size_t capacity = self->count ? 2 * self->count : 1;
        entry *entries = realloc(self->entries, capacity * sizeof *entries);
        if (!entries)
            return false;
        self->entries = entries;
    }
    self->entries[self->count++] = *added;
    return true;
}

/* Sorts; of several entries with one key the first one holds. */
static void settle(hki_choices *self)
{
    size_t kept = 0;
    if (self->count > 1)
        qsort(self->entries, self->count, sizeof *self->entries, entry_compare);
    for (size_t i = 0; i < self->count; i++)
        if (!kept || entry_compare(&self->entries[i], &self->entries[kept - 1]))
            self->entries[kept++] = self->entries[i];
    self->count = kept;
}

/* NULL, or what line `number` should have been. */
static const char *read_line(hki_choices *self, int number, char *line, char *processor,
                             size_t bytes)
{
    entry parsed;
    const char *wrong = NULL;
    if (number == 1)
        return strcmp(line, HEADER) ? "\"" HEADER "\"" : NULL;
    if (number == 2) {
        if (strncmp(line, PROCESSOR, strlen(PROCESSOR)))
            return "\"processor\" and its name";
        snprintf(processor, bytes, "%s", line + strlen(PROCESSOR));
        return NULL;
    }
    wrong = parse_entry(line, &parsed);
    if (!wrong && !add(self, &parsed))
        wrong = "no more choices than there is memory for";
    return wrong;
}

/* Reads all entries; *processor gets the file's. */
static const hk_status *read_file(hki_choices *self, const char *path, char *processor,
                                  size_t processor_bytes)
{
    const hk_status *error = NULL;
    size_t bytes = 0;
    char line[LINE_BYTES];
    char *data = hki_whole_file_read("runtime_init", path, &bytes, &error);
    const char *at = data, *end = data ? data + bytes : NULL;
    *processor = '\0';
    for (int number = 1; !error && (at < end || number <= 2); number++) {
        const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        const char *wrong = "a line of up to 510 bytes";
        if (stop && stop - at < LINE_BYTES && !memchr(at, '\0', (size_t)(stop - at))) {
            memcpy(line, at, (size_t)(stop - at));
            line[stop - at] = '\0';
            wrong = read_line(self, number, line, processor, processor_bytes);
            at = stop + 1;
        }
        if (wrong)
            error = file_error(path, number, wrong);
    }
    free(data);
    settle(self);
    return error;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

bool hki_choices_default_path(char *path, size_t bytes)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && *cache == '/')
        length = snprintf(path, bytes, "%s/hocket/choices", cache);
    else if (home && *home == '/')
        length = snprintf(path, bytes, "%s/.cache/hocket/choices", home);
    return length > 0 && (size_t)length < bytes;
}

/* The file of what was measured before. One that is not this processor's, or broken, is as none: it is a cache. */
static void load_cache(hki_choices *self)
{
    char processor[LINE_BYTES], ours[LINE_BYTES];
    if (!hki_choices_default_path(self->path, sizeof self->path) || access(self->path, F_OK))
        return;
    processor_name(ours, sizeof ours);
    const hk_status *error = read_file(self, self->path, processor, sizeof processor);
    if (!error && !strcmp(processor, ours)) {
        snprintf(self->description, sizeof self->description, "%zu measured choices (%s)",
                 self->count, self->path);
        return;
    }
    snprintf(self->description, sizeof self->description, "rules (%s is %s)", self->path,
             error ? "damaged" : "of another processor");
    hk_status_release(error);
    self->count = 0;
}

static const hk_status *load_named(hki_choices *self, const char *path)
{
    char processor[LINE_BYTES];
    const hk_status *error = read_file(self, path, processor, sizeof processor);
    snprintf(self->description, sizeof self->description, "%zu choices of %.1000s", self->count,
             path);
    return error;
}

const hk_status *hki_choices_create(const char *text, hki_choices **choices)
{
    const hki_status_facts facts = {.operation = "runtime_init"};
    const hk_status *error = NULL;
    hki_choices *self = calloc(1, sizeof *self);
    if (!self)
        return hki_status_no_memory();
    strcpy(self->description, "rules");
    if (!text || !*text || !strcmp(text, "measure")) {
        self->notes = text && *text;
        load_cache(self);
    } else if (strchr(text, '/')) {
        error = load_named(self, text);
    } else if (strcmp(text, "off")) {
        error = hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                  "environment variable HOCKET_TUNE is \"%s\"; expected off, "
                                  "measure, or the path of a file, with a '/'",
                                  hki_quote(text, 100).text);
    }
    if (error) {
        hki_choices_destroy(self);
        self = NULL;
    }
    *choices = self;
    return error;
}

void hki_choices_destroy(hki_choices *self)
{
    if (!self)
        return;
    free(self->entries);
    free(self->noted);
    free(self);
}

const char *hki_choices_description(const hki_choices *self)
{
    return self ? self->description : "rules";
}

bool hki_choices_is_asked(const hki_choices *self)
{
    return self && (self->count || self->notes);
}

/* ---- noting and measuring ---------------------------------------------------------------------------------------- */

static void take_note(hki_choices *self, const hki_choice_key *key, hki_choice_measure_fn measure,
                      const char *word)
{
    hki_lock_acquire(&self->lock);
    bool known = self->noted_count >= NOTED_MAX;
    for (size_t i = 0; i < self->noted_count && !known; i++)
        known = !key_compare(&self->noted[i].key, key);
    if (!known && !self->noted)
        self->noted = calloc(NOTED_MAX, sizeof *self->noted);
    if (!known && self->noted) {
        note *taken = &self->noted[self->noted_count++];
        *taken = (note){.key = *key, .measure = measure};
        snprintf(taken->word, sizeof taken->word, "%s", word);
    }
    hki_lock_release(&self->lock);
}

bool hki_choices_is_measuring(const hki_choices *self)
{
    return self && self->notes;
}

void hki_choices_note(hki_choices *self, const hki_choice_key *key, const char *word)
{
    if (hki_choices_is_measuring(self) && !find(self, key))
        take_note(self, key, NULL, word);
}

const char *hki_choices_find(hki_choices *self, const hki_choice_key *key,
                             hki_choice_measure_fn measure)
{
    if (!hki_choices_is_asked(self))
        return NULL;
    const entry *found = find(self, key);
    if (found)
        return found->word;
    if (self->notes && measure)
        take_note(self, key, measure, "");
    return NULL;
}

/* The folders above the file. */
static void make_folders(const char *path)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
}

static const hk_status *write_file(const hki_choices *self)
{
    const hki_status_facts facts = {.operation = "tune"};
    char processor[LINE_BYTES], *text = NULL;
    size_t bytes = 0;
    if (!*self->path)
        return hki_status_create(HK_NOT_FOUND, &facts,
                                 "nowhere to keep choices: neither XDG_CACHE_HOME nor HOME is set");
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return hki_status_no_memory();
    processor_name(processor, sizeof processor);
    fprintf(stream, HEADER "\n" PROCESSOR "%s\n", processor);
    for (size_t i = 0; i < self->count; i++) {
        const entry *written = &self->entries[i];
        fprintf(stream, "%s", written->key.name);
        for (int j = 0; j < written->key.count; j++)
            fprintf(stream, " %" PRId64, written->key.numbers[j]);
        fprintf(stream, " %s\n", written->word);
    }
    make_folders(self->path);
    const hk_status *error = fclose(stream) ? hki_status_no_memory()
                                            : hki_whole_file_write("tune", self->path, text, bytes);
    free(text);
    return error;
}

const hk_status *hki_choices_measure(hki_choices *self)
{
    if (!self || !self->noted_count)
        return NULL;
    size_t before = self->count;
    for (size_t i = 0; i < self->noted_count; i++) {
        entry measured = {.key = self->noted[i].key};
        const note *its = &self->noted[i];
        const char *word = its->measure ? its->measure(&measured.key) : its->word;
        if (!word || !is_word(word, sizeof measured.word))
            continue;
        strcpy(measured.word, word);
        if (!add(self, &measured))
            return hki_status_no_memory();
    }
    self->noted_count = 0;
    settle(self);
    return self->count > before ? write_file(self) : NULL;
}
