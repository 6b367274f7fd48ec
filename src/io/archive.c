#include "io/archive.h"

#include "base/regular_file.h"
#include "base/source.h"
#include "io/format.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/safetensors.h"
#include "io/shards.h"
#include "io/torch.h"

#include <stdlib.h>

struct hk_archive {
    atomic_uint refs;
    const hk_status *status; /* counted */
    char *path;              /* NULL where the call had none */
    hki_device *device;      /* its runtime is retained; NULL: the default one */
    bool may_map;
    hki_io_sources sources; /* entries tell which they are in */
    hki_io_contents contents;
};

/* For when memory is short; counting it is harmless. */
static hk_archive no_memory_archive;

static const hk_status *refusal(const char *operation, hk_code code, const char *format, ...)
    HK_PRINTF(3, 4);
static const hk_status *refusal(const char *operation, hk_code code, const char *format, ...)
{
    hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = operation, .file = source.file, .line = source.line};
    va_list args;
    va_start(args, format);
    const hk_status *status = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------------------- */

static bool read_contents(hk_archive *self, hk_file_format format, hki_io_error *error)
{
    const hki_io_source *source = self->sources.list;
    switch (format) {
    case HK_FORMAT_NPY:
        return hki_npy_read(source, &self->contents, error);
    case HK_FORMAT_NPZ:
        return hki_npz_read(source, &self->contents, error);
    case HK_FORMAT_TORCH:
        return hki_torch_read(source, &self->contents, error);
    case HK_FORMAT_SHARDS:
        return hki_shards_read(self->path, &self->sources, &self->contents, error);
    default:
        return hki_safetensors_read(source, &self->contents, error);
    }
}

/* Returns the record, counted. */
static const hk_status *open_archive(hk_archive *self, const char *path, hk_file_format given)
{
    hki_io_error error = {0};
    hk_file_format format;
    char shown[HKI_NAME_SHOWN_BYTES], why[256];
    if (!path || !*path)
        return refusal("load", HK_INVALID_ARGUMENT,
                       "argument path is %s; a file's name would be right",
                       path ? "empty" : "NULL");
    if (!hki_io_format_of(path, given, &format, &error))
        return refusal("load", error.code, "%s", error.text);
    self->path = strdup(path);
    hki_io_source *source = self->sources.list = calloc(1, sizeof *source);
    if (!self->path || !source)
        return refusal("load", HK_OUT_OF_MEMORY, "no host memory for an archive");
    hki_show_name(shown, sizeof shown, path);
    error.code = hki_regular_file_open(path, "pass a file of arrays", &source->file, &source->bytes,
                                       why, sizeof why);
    if (error.code != HK_OK)
        return refusal("load", error.code, "%s: %s", shown, why);
    self->sources.count = 1;
    if (read_contents(self, format, &error))
        return hki_status_ok();
    hki_io_contents_deinit(&self->contents);
    return refusal("load", error.code, "%s: %s", shown, error.text);
}

hk_archive *(hk_load)(const char *path, hk_device device, const hk_load_options *options)
{
    HKI_TAKE_OPTIONS(hk_load_options, options);
    static const hk_load_options none = {0};
    if (!options)
        options = &none;
    hk_archive *self = malloc(sizeof *self);
    if (!self)
        return &no_memory_archive;
    HKI_HOLD(held);
    *self =
        (hk_archive){.refs = 1, .device = hki_device_hold(device, &held), .may_map = options->map};
    if (self->device->runtime)
        hki_runtime_retain(self->device->runtime);
    self->status = open_archive(self, path, options->format);
    return self;
}

hk_archive *hk_archive_retain(hk_archive *self)
{
    if (self && self != &no_memory_archive)
        atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
    return self;
}

void hk_archive_release(hk_archive *self)
{
    if (!self || self == &no_memory_archive ||
        atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
        return;
    hki_io_contents_deinit(&self->contents);
    hki_io_sources_deinit(&self->sources);
    if (self->device->runtime)
        hki_runtime_release(self->device->runtime);
    hk_status_release(self->status);
    free(self->path);
    free(self);
}

/* ---- facts ----------------------------------------------------------------------------------------------- */

/* Counted. */
static const hk_status *status_of(const hk_archive *self, const char *operation)
{
    if (!self)
        return refusal(operation, HK_INVALID_ARGUMENT, "argument archive is NULL");
    if (self == &no_memory_archive)
        return refusal("load", HK_OUT_OF_MEMORY, "no host memory for an archive");
    return hk_status_retain(self->status);
}

const hk_status *hk_archive_status(const hk_archive *self)
{
    return hki_status_lend(status_of(self, "archive_status"));
}

size_t hk_archive_count(const hk_archive *self)
{
    return self ? self->contents.count : 0;
}

const char *hk_archive_name(const hk_archive *self, size_t i)
{
    return i < hk_archive_count(self) ? self->contents.entries[i].name : NULL;
}

bool hk_archive_has(const hk_archive *self, const char *name)
{
    return self && name && hki_io_contents_find(&self->contents, name);
}

size_t hk_archive_metadata_count(const hk_archive *self)
{
    return self ? self->contents.metadata_count : 0;
}

const char *hk_archive_metadata_key(const hk_archive *self, size_t i)
{
    return i < hk_archive_metadata_count(self) ? self->contents.metadata[i].key : NULL;
}

const char *hk_archive_metadata(const hk_archive *self, const char *key)
{
    return self && key ? hki_io_contents_find_text(&self->contents, key) : NULL;
}

const char *hk_archive_structure(const hk_archive *self)
{
    return self ? self->contents.structure : NULL;
}

/* ---- arrays ---------------------------------------------------------------------------------------------- */

/* Why there is no such array. */
static hk_array *refuse_name(const hk_archive *self, const char *name)
{
    char path[HKI_NAME_SHOWN_BYTES], shown[HKI_IO_NAME_BYTES], example[HKI_IO_NAME_BYTES];
    const size_t count = self->contents.count;
    hki_show_name(path, sizeof path, self->path);
    if (!name)
        return hki_array_create_failed(self->device, "archive_get", NULL, 0, HK_INVALID_ARGUMENT,
                                       "argument name is NULL, but %s has %zu arrays; name one",
                                       path, count);
    hki_show_name(shown, sizeof shown, name);
    if (!count)
        return hki_array_create_failed(self->device, "archive_get", NULL, 0, HK_NOT_FOUND,
                                       "%s has no array \"%s\": it has none at all", path, shown);
    hki_show_name(example, sizeof example, self->contents.entries[0].name);
    return hki_array_create_failed(
        self->device, "archive_get", NULL, 0, HK_NOT_FOUND,
        "%s has no array \"%s\"; it has %zu, the first of which is \"%s\"", path, shown, count,
        example);
}

/* NULL: there is none. */
static const hki_io_entry *find(const hk_archive *self, const char *name)
{
    const bool is_only = !name && self->contents.count == 1;
    return is_only ? self->contents.entries
           : name  ? hki_io_contents_find(&self->contents, name)
                   : NULL;
}

/* entry: not NULL. */
static hki_io_origin origin_of(const hk_archive *self, const hki_io_entry *entry)
{
    return (hki_io_origin){self->path, &self->sources.list[entry->source], entry};
}

bool hki_archive_find(const hk_archive *self, const char *name, hki_io_origin *origin)
{
    if (!self || self == &no_memory_archive || !hk_ok(self->status))
        return false;
    const hki_io_entry *entry = find(self, name);
    if (!entry)
        return false;
    *origin = origin_of(self, entry);
    return !entry->unsupported && !entry->is_member;
}

hki_device *hki_archive_device(const hk_archive *self)
{
    return self->device;
}

hk_array *(hk_archive_get)(const hk_archive *self, const char *name)
{
    hki_array_uncapturable("archive_get",
                           "its values come from outside; give them as a bound array");
    const hk_status *status = status_of(self, "archive_get");
    hk_array *x = NULL;
    if (!hk_ok(status))
        x = hki_array_create_failed(self ? self->device : NULL, "archive_get", NULL, 0,
                                    hk_status_code(status), "%s", hk_status_message(status));
    hk_status_release(status);
    if (x)
        return x;
    const hki_io_entry *entry = find(self, name);
    if (!entry)
        return refuse_name(self, name);
    const hki_io_origin origin = origin_of(self, entry);
    return hki_io_make_array(&origin, (hk_device){self->device}, self->may_map);
}
