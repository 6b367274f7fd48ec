/* The arrays of one module from a file and into one, by names. */
#include "array/array.h"
#include "base/quote.h"
#include "base/source.h"
#include "base/status.h"
#include "base/text.h"
#include "io/archive.h"
#include "nn/module.h"
#include "training/file_names.h"
#include "training/near_names.h"

#include <hocket/hocket.h>

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 2 * HK_MODULE_PATH_BYTES, MOST_PREFIXES = 64, MOST_NAMED = 5 };

/* An array of the module, or of the file for one that it may ask for. */
typedef struct weight {
    hk_module_name its;
    bool is_found;
    hk_array *loaded; /* of the scope */
} weight;

typedef struct weights {
    const char *operation;
    hk_module *module;
    weight *list;
    int count, capacity;
    hk_archive *archive;
    char prefix[NAME_BYTES]; /* with the dot behind it, or empty */
    hki_file_names names;    /* of the file */
    const hk_status *error;  /* counted; NULL: none */
} weights;

/* ---- errors ---------------------------------------------------------------------------------------------- */

static bool refuse(weights *self, hk_code code, const char *format, ...) HK_PRINTF(3, 4);
static bool refuse(weights *self, hk_code code, const char *format, ...)
{
    const hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = self->operation, .file = source.file, .line = source.line};
    va_list args;
    if (self->error)
        return false;
    va_start(args, format);
    self->error = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return false;
}

static bool fail(weights *self, const hk_status *status)
{
    if (!self->error)
        self->error = hk_status_retain(status);
    return false;
}

/* A message that grows, and ends where it is full. */
typedef struct message {
    char text[1800];
    size_t bytes;
} message;

static void say(message *to, const char *format, ...) HK_PRINTF(2, 3);
static void say(message *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length =
        hki_format_va(to->text + to->bytes, sizeof to->text - to->bytes, format, args);
    va_end(args);
    to->bytes += length > 0 ? (size_t)length : 0;
    if (to->bytes >= sizeof to->text)
        to->bytes = sizeof to->text - 1;
}

/* ---- the module ------------------------------------------------------------------------------------------ */

static bool reserve(weights *self, int count)
{
    if (count <= self->capacity)
        return true;
    const int capacity = count < 2 * self->capacity ? 2 * self->capacity : count;
    weight *list = realloc(self->list, (size_t)capacity * sizeof *list);
    if (!list)
        return fail(self, hki_status_no_memory());
    self->list = list;
    self->capacity = capacity;
    return true;
}

static bool list_module(weights *self, hk_name_style style)
{
    const hk_status *status = hk_module_status(self->module);
    if (!hk_ok(status))
        return fail(self, status);
    if (style != HK_NAMES_OWN && style != HK_NAMES_TORCH)
        return refuse(self, HK_INVALID_ARGUMENT,
                      "option names is %d; one of hk_name_style would be right", (int)style);
    const int count = hk_module_names(self->module, style, NULL, 0);
    hk_module_name *names = calloc((size_t)count + 1, sizeof *names);
    if (!names || !reserve(self, count + 1)) {
        free(names);
        return fail(self, hki_status_no_memory());
    }
    hk_module_names(self->module, style, names, count);
    for (int i = 0; i < count; i++) {
        self->list[i] = (weight){.its = names[i]};
        if (names[i].array && names[i].array->failed)
            fail(self, hk_error_now(names[i].array));
    }
    self->count = count;
    free(names);
    return !self->error;
}

static void deinit(weights *self)
{
    hk_archive_release(self->archive);
    hk_status_release(self->error);
    free(self->list);
    hki_file_names_deinit(&self->names);
}

/* ---- the prefix ------------------------------------------------------------------------------------------ */

static const char *name_with(const weights *self, const char *prefix, int i, char *room)
{
    hki_format(room, NAME_BYTES, "%s%s", prefix, self->list[i].its.name);
    return room;
}

/* How many of the module's names the file has behind that. */
static int count_fits(const weights *self, const char *prefix)
{
    char room[NAME_BYTES];
    int fits = 0;
    for (int i = 0; i < self->count; i++)
        fits += self->list[i].its.path[0] &&
                hki_file_names_find(&self->names, name_with(self, prefix, i, room)) != NULL;
    return fits;
}

/* What stands before the name in the file's; false: it is another, or longer than can be. */
static bool prefix_of(const char *full, const char *name, char *prefix)
{
    const size_t bytes = strlen(full), own = strlen(name);
    const size_t before = bytes - own;
    if (bytes < own || before >= HK_MODULE_PATH_BYTES || strcmp(full + before, name) != 0 ||
        (before && full[before - 1] != '.'))
        return false;
    hki_format(prefix, NAME_BYTES, "%.*s", (int)before, full);
    return true;
}

typedef struct prefixes {
    char list[MOST_PREFIXES][NAME_BYTES];
    int count;
} prefixes;

static void note_prefix(prefixes *self, const char *prefix)
{
    for (int i = 0; i < self->count; i++)
        if (!strcmp(self->list[i], prefix))
            return;
    if (self->count < MOST_PREFIXES)
        hki_format(self->list[self->count++], NAME_BYTES, "%s", prefix);
}

/* Whatever stands before one of the first names. */
static void collect_prefixes(const weights *self, prefixes *found)
{
    enum { FIRST = 4 };
    char prefix[NAME_BYTES];
    note_prefix(found, "");
    for (int i = 0, tried = 0; i < self->count && tried < FIRST; i++) {
        if (!self->list[i].its.path[0])
            continue;
        tried++;
        for (size_t j = 0; j < self->names.count; j++)
            if (prefix_of(self->names.list[j].name, self->list[i].its.name, prefix))
                note_prefix(found, prefix);
    }
}

/* The one with which most names fit; where several do, none of them but "" is better than others.
 */
static bool choose_prefix(weights *self)
{
    prefixes *found = calloc(1, sizeof *found);
    int best = 0, most = -1, other = -1;
    if (!found)
        return fail(self, hki_status_no_memory());
    collect_prefixes(self, found);
    for (int i = 0; i < found->count; i++) {
        const int fits = count_fits(self, found->list[i]);
        if (fits > most) {
            best = i;
            other = -1;
        } else if (fits == most) {
            other = i;
        }
        most = fits > most ? fits : most;
    }
    hki_format(self->prefix, sizeof self->prefix, "%s", found->list[best]);
    if (most > 0 && best && other > 0)
        refuse(self, HK_INVALID_ARGUMENT,
               "the file has the module's arrays as \"%s…\" and as \"%s…\"; option prefix says "
               "which",
               hki_quote(found->list[best], 100).text, hki_quote(found->list[other], 100).text);
    free(found);
    return !self->error;
}

static bool set_prefix(weights *self, const char *said)
{
    if (!said)
        return choose_prefix(self);
    const size_t bytes = strlen(said);
    if (bytes >= HK_MODULE_PATH_BYTES)
        return refuse(self, HK_INVALID_ARGUMENT,
                      "option prefix has %zu bytes; less than %d would be right", bytes,
                      HK_MODULE_PATH_BYTES);
    hki_format(self->prefix, sizeof self->prefix, bytes && said[bytes - 1] != '.' ? "%s." : "%s",
               said);
    return true;
}

/* ---- what fits ------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All names of the module in their order, to be freed; NULL: no memory. */
static const char **sorted_names(const weights *self)
{
    const char **names = calloc((size_t)self->count + 1, sizeof *names);
    for (int i = 0; names && i < self->count; i++)
        names[i] = self->list[i].its.name;
    if (names)
        qsort(names, (size_t)self->count, sizeof *names, compare_names);
    return names;
}

/* Which names of the file the module has. False: no memory. */
static bool mark_used(weights *self)
{
    const size_t prefix = strlen(self->prefix);
    const char **names = sorted_names(self);
    for (size_t i = 0; names && i < self->names.count; i++) {
        hki_file_name *its = &self->names.list[i];
        const char *rest = its->name + prefix;
        its->is_used =
            strncmp(its->name, self->prefix, prefix) != 0 || /* of something else in the file */
            bsearch(&rest, names, (size_t)self->count, sizeof *names, compare_names);
    }
    free(names);
    return names || fail(self, hki_status_no_memory());
}

/* A name that nobody has asked for, but a module of the program's own may. */
static bool await(weights *self, hki_file_name *name)
{
    const char *path = name->name + strlen(self->prefix);
    if (!hki_module_takes(self->module, path))
        return true;
    if (!reserve(self, self->count + 1))
        return false;
    weight *to = &self->list[self->count++];
    *to = (weight){.its.parts = 1, .is_found = true};
    hki_format(to->its.path, sizeof to->its.path, "%s", path);
    hki_format(to->its.name, sizeof to->its.name, "%s", path);
    name->is_used = true;
    return true;
}

static bool match(weights *self)
{
    char room[NAME_BYTES];
    if (!mark_used(self))
        return false;
    for (int i = 0; i < self->count; i++)
        self->list[i].is_found =
            hki_file_names_find(&self->names, name_with(self, self->prefix, i, room));
    for (size_t i = 0; i < self->names.count; i++)
        if (!self->names.list[i].is_used && !await(self, &self->names.list[i]))
            return false;
    return true;
}

/* The name in the file of an array that is found. */
static const char *original_of(const weights *self, int i)
{
    char room[NAME_BYTES];
    return hki_file_names_find(&self->names, name_with(self, self->prefix, i, room))->original;
}

/* Whether an array of the file is what one of the module wants. */
static bool is_like(const weight *its, const hk_dims *shape, hk_dtype dtype)
{
    const hk_array *own = its->its.array;
    const bool is_float = hki_dtype_is_real(dtype);
    if (!own)
        return its->its.parts == 1 || (shape->ndim > 0 && shape->dims[0] % its->its.parts == 0);
    hk_dims wanted = own->shape;
    if (its->its.parts > 1)
        wanted.dims[0] *= its->its.parts;
    return hki_dims_equal(&wanted, shape) &&
           (dtype == own->dtype || (is_float && hki_dtype_is_real(own->dtype)));
}

static void say_shape(message *to, const weight *its, const hk_dims *shape, hk_dtype dtype,
                      bool is_first)
{
    char wanted[160] = "", has[160];
    const hk_array *own = its->its.array;
    hki_dims_describe(shape, has, sizeof has);
    if (own) {
        hk_dims dims = own->shape;
        if (its->its.parts > 1)
            dims.dims[0] *= its->its.parts;
        hki_dims_describe(&dims, wanted, sizeof wanted);
    }
    say(to, "%s%s should be %s%s, and is %s%s there", is_first ? "; " : ", ",
        hki_quote(its->its.name, 120).text, own ? hk_dtype_name(own->dtype) : "of thirds", wanted,
        hk_dtype_name(dtype), has);
}

/* ---- what does not --------------------------------------------------------------------------------------- */

/* Names in the file that nothing has used, without the prefix; to be freed. */
static const char **names_left(const weights *self, int *count)
{
    const char **names = calloc(self->names.count + 1, sizeof *names);
    *count = 0;
    for (size_t i = 0; names && i < self->names.count; i++)
        if (!self->names.list[i].is_used)
            names[(*count)++] = self->names.list[i].name + strlen(self->prefix);
    return names;
}

static int say_missing(message *to, const weights *self, const char *const *left, int left_count)
{
    int missing = 0;
    for (int i = 0; i < self->count; i++) {
        const hk_module_name *its = &self->list[i].its;
        if (self->list[i].is_found || !its->path[0] || its->part)
            continue;
        if (missing++ >= MOST_NAMED)
            continue;
        const char *near = hki_near_name(its->name, left, left_count);
        say(to, "%s%s", missing > 1 ? ", " : "the file lacks ", hki_quote(its->name, 120).text);
        if (near)
            say(to, " (near is %s)", hki_quote(near, 120).text);
    }
    if (missing > MOST_NAMED)
        say(to, " and %d more", missing - MOST_NAMED);
    return missing;
}

static void say_left(message *to, const char *const *left, int count)
{
    for (int i = 0; i < count && i < MOST_NAMED; i++)
        say(to, "%s%s",
            i           ? ", "
            : to->bytes ? "; it has besides "
                        : "the file has besides ",
            hki_quote(left[i], 120).text);
    if (count > MOST_NAMED)
        say(to, " and %d more", count - MOST_NAMED);
}

/* What is missing, what is left over. */
static bool check_names(weights *self, bool is_lenient)
{
    message text = {.bytes = 0};
    int left_count = 0, found = 0;
    for (int i = 0; i < self->count; i++)
        found += self->list[i].is_found && self->list[i].its.path[0];
    const char **left = names_left(self, &left_count);
    if (!left)
        return fail(self, hki_status_no_memory());
    const int missing = say_missing(&text, self, left, left_count);
    say_left(&text, left, left_count);
    free(left);
    if (is_lenient ? found : !missing && !left_count)
        return true;
    if (!text.bytes)
        return refuse(self, HK_INVALID_ARGUMENT,
                      "the module has no arrays yet, and the file none "
                      "for it; call the module once before");
    if (*self->prefix)
        say(&text, "; names are behind \"%s\" there", hki_quote(self->prefix, 100).text);
    if (!is_lenient)
        say(&text, "; option lenient passes that over");
    return refuse(self, HK_INVALID_ARGUMENT, "%s", text.text);
}

static bool check_shapes(weights *self)
{
    message text = {.bytes = 0};
    int wrong = 0;
    for (int i = 0; i < self->count; i++) {
        const weight *its = &self->list[i];
        hki_io_origin origin;
        if (!its->is_found || !its->its.path[0] || its->its.part ||
            !hki_archive_find(self->archive, original_of(self, i), &origin) ||
            is_like(its, &origin.entry->shape, origin.entry->dtype))
            continue;
        if (wrong++ < MOST_NAMED)
            say_shape(&text, its, &origin.entry->shape, origin.entry->dtype, wrong == 1);
    }
    if (wrong > MOST_NAMED)
        say(&text, " and %d more", wrong - MOST_NAMED);
    return !wrong || refuse(self, HK_INVALID_ARGUMENT, "%s", text.text + 2);
}

/* ---- taking it over -------------------------------------------------------------------------------------- */

/* As the module wants it. */
static hk_array *part_of(const weight *its, hk_array *x)
{
    const hk_array *own = its->its.array;
    if (its->its.parts > 1 && !x->failed && x->shape.ndim > 0) {
        const int64_t rows = x->shape.dims[0] / its->its.parts;
        x = (hk_slice)(x, 0, its->its.part * rows, (its->its.part + 1) * rows);
    }
    if (own ? own->dtype != x->dtype : x->dtype == HK_F16 || x->dtype == HK_BF16)
        x = (hk_cast)(x, own ? own->dtype : HK_F32);
    return x;
}

static bool read_arrays(weights *self)
{
    for (int i = 0; i < self->count; i++) {
        weight *its = &self->list[i];
        if (!its->is_found || !its->its.path[0])
            continue;
        const hk_status *gone = its->its.array ? hki_array_gone(its->its.array) : NULL;
        hk_array *x = (hk_archive_get)(self->archive, original_of(self, i));
        its->loaded = part_of(its, x);
        const hk_status *status = gone ? gone : hk_error_now(its->loaded);
        const bool is_good = hk_ok(status) || fail(self, status);
        hk_status_release(gone);
        if (!is_good)
            return false;
        if (!is_like(its, &x->shape, x->dtype)) /* of files that tell it late */
            return refuse(self, HK_INVALID_ARGUMENT, "%s has another shape or dtype in the file",
                          hki_quote(its->its.name, 120).text);
    }
    return true;
}

static bool take_over(weights *self)
{
    for (int i = 0; i < self->count; i++) {
        const weight *its = &self->list[i];
        if (!its->loaded)
            continue;
        if (its->its.array) {
            (hk_assign)(its->its.array, its->loaded);
            continue;
        }
        const hk_status *status = (its->its.parts > 1 ? (hk_module_set) : hki_module_give)(
            self->module, its->its.path, its->loaded);
        if (!hk_ok(status))
            return fail(self, status);
    }
    return true;
}

/* The record, lent, with the name of the file where it lacks one. */
static const hk_status *record_of(const weights *self, const char *path)
{
    char shown[HKI_NAME_SHOWN_BYTES];
    const hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = self->operation, .file = source.file, .line = source.line};
    if (!self->error)
        return hki_status_ok();
    if (!path || !self->archive || !hk_ok(hk_archive_status(self->archive)) ||
        hk_status_code(self->error) != HK_INVALID_ARGUMENT)
        return hki_status_lend(hk_status_retain(self->error));
    hki_show_name(shown, sizeof shown, path);
    return hki_status_lend(hki_status_create(hk_status_code(self->error), &facts, "%s: %s", shown,
                                             hk_status_message(self->error)));
}

const hk_status *(hk_module_load)(hk_module *module, const char *path,
                                  const hk_module_load_options *options)
{
    HKI_TAKE_OPTIONS(hk_module_load_options, options);
    static const hk_module_load_options none = {0};
    weights self = {.operation = "module_load", .module = module};
    options = options ? options : &none;
    hki_array_uncapturable("module_load", "a file is read once; load before the capture");
    HK_SCOPE;
    HK_PAUSE;
    if (list_module(&self, options->names)) {
        self.archive =
            (hk_load)(path, (hk_device){NULL}, &(hk_load_options){.format = options->format});
        const hk_status *status = hk_archive_status(self.archive);
        if (hk_ok(status))
            self.error = hki_file_names_init(&self.names, self.archive, options->renames,
                                             options->rename_count);
        else
            fail(&self, status);
        if (!self.error && set_prefix(&self, options->prefix) && match(&self) &&
            check_names(&self, options->lenient) && check_shapes(&self) && read_arrays(&self))
            take_over(&self);
    }
    const hk_status *status = record_of(&self, path);
    deinit(&self);
    return status;
}

/* ---- saving ---------------------------------------------------------------------------------------------- */

/* The other parts of the array, which the module lists in any order. */
static hk_array *whole_of(const weights *self, int first)
{
    enum { MOST_PARTS = 8 };
    hk_array *parts[MOST_PARTS] = {NULL};
    const hk_module_name *its = &self->list[first].its;
    for (int i = 0; i < self->count; i++) {
        const hk_module_name *other = &self->list[i].its;
        if (!strcmp(other->name, its->name) && other->part < MOST_PARTS)
            parts[other->part] = other->array;
    }
    return (hk_concat)(parts, its->parts, 0);
}

static bool list_entries(weights *self, hk_save_entry *entries, size_t *count)
{
    for (int i = 0; i < self->count; i++) {
        const hk_module_name *its = &self->list[i].its;
        if (!its->path[0] || its->part)
            continue;
        if (!its->array)
            return refuse(self, HK_INVALID_ARGUMENT,
                          "%s is still to be made; call the module once before it is saved",
                          its->path);
        entries[(*count)++] =
            (hk_save_entry){its->name, its->parts > 1 ? whole_of(self, i) : its->array};
    }
    return true;
}

const hk_status *(hk_module_save)(hk_module *module, const char *path,
                                  const hk_module_save_options *options)
{
    HKI_TAKE_OPTIONS(hk_module_save_options, options);
    static const hk_module_save_options none = {0};
    weights self = {.operation = "module_save", .module = module};
    const hk_status *status = NULL;
    size_t count = 0;
    options = options ? options : &none;
    HK_SCOPE;
    HK_PAUSE;
    hk_save_entry *entries = NULL;
    if (list_module(&self, options->names) &&
        !(entries = calloc((size_t)self.count + 1, sizeof *entries)))
        fail(&self, hki_status_no_memory());
    if (!self.error && list_entries(&self, entries, &count))
        status = (hk_save)(path, entries, count,
                           &(hk_save_options){.format = options->format,
                                              .metadata = options->metadata,
                                              .metadata_count = options->metadata_count});
    else
        status = record_of(&self, NULL);
    free(entries);
    deinit(&self);
    return status;
}
