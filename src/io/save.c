#include "io/saving.h"

#include "array/array.h"
#include "base/regular_file.h"
#include "base/source.h"
#include "io/contents.h"
#include "io/format.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/safetensors.h"
#include "io/zip_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks ---------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts them. */
static bool check_different(const char **names, size_t count, const char *what, hki_io_error *error)
{
    char shown[HKI_IO_NAME_BYTES];
    if (!count)
        return true;
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(names[i - 1], names[i]))
            continue;
        hki_show_name(shown, sizeof shown, names[i]);
        return hki_io_fail(error, HK_INVALID_ARGUMENT,
                           "%s has \"%s\" twice; each should have a name of its own", what, shown);
    }
    return true;
}

static bool check_text(const char *what, size_t i, const char *member, const char *text,
                       hki_io_error *error)
{
    if (text && hki_io_is_utf8(text))
        return true;
    return hki_io_fail(error, HK_INVALID_ARGUMENT, "%s[%zu].%s is %s; text in UTF-8 would be right",
                       what, i, member, text ? "not UTF-8" : "NULL");
}

static bool check_name(hki_io_saving *self, size_t i, hk_file_format format)
{
    const char *name = self->entries[i].name;
    if (!check_text("entries", i, "name", name, &self->error))
        return false;
    if (!*name)
        return hki_io_fail(&self->error, HK_INVALID_ARGUMENT,
                           "entries[%zu].name is empty; a text that is not would be right", i);
    if (format == HK_FORMAT_NPZ && strlen(name) > HKI_ZIP_MOST_NAME_BYTES)
        return hki_io_fail(&self->error, HK_INVALID_ARGUMENT,
                           "entries[%zu].name has %zu bytes; at most %d would be right in npz", i,
                           strlen(name), HKI_ZIP_MOST_NAME_BYTES);
    if (format == HK_FORMAT_SAFETENSORS && !strcmp(name, HKI_SAFETENSORS_METADATA))
        return hki_io_fail(&self->error, HK_INVALID_ARGUMENT,
                           "entries[%zu].name is \"%s\", which safetensors keeps for the option "
                           "metadata; another name would be right",
                           i, name);
    return true;
}

static bool check_names(hki_io_saving *self, hk_file_format format)
{
    if (format == HK_FORMAT_NPY)
        return self->count == 1 ||
               hki_io_fail(
                   &self->error, HK_INVALID_ARGUMENT,
                   "argument count is %zu, but an npy file has one array; 1 would be right, "
                   "or another format",
                   self->count);
    const char **names = calloc(self->count + 1, sizeof *names);
    bool is_good = names || hki_io_fail_memory(&self->error);
    for (size_t i = 0; i < self->count && is_good; i++) {
        names[i] = self->entries[i].name;
        is_good = check_name(self, i, format);
    }
    is_good = is_good && check_different(names, self->count, "argument entries", &self->error);
    free(names);
    return is_good;
}

static bool check_metadata(hki_io_saving *self)
{
    const hk_metadata_entry *metadata = self->options->metadata;
    const size_t count = self->options->metadata_count;
    const char **keys = calloc(count + 1, sizeof *keys);
    bool is_good = keys || hki_io_fail_memory(&self->error);
    for (size_t i = 0; i < count && is_good; i++) {
        keys[i] = metadata[i].key;
        is_good = check_text("metadata", i, "key", metadata[i].key, &self->error) &&
                  check_text("metadata", i, "value", metadata[i].value, &self->error);
    }
    is_good = is_good && check_different(keys, count, "option metadata", &self->error);
    free(keys);
    return is_good;
}

static bool check_options(hki_io_saving *self, hk_file_format format)
{
    const hk_save_options *options = self->options;
    if (format == HK_FORMAT_TORCH || format == HK_FORMAT_SHARDS)
        return hki_io_fail(&self->error, HK_UNSUPPORTED,
                           "format %s is read, not written; PyTorch reads safetensors, whose "
                           "ending .safetensors would be right",
                           format == HK_FORMAT_TORCH ? "of torch.save" : "of several files");
    if (options->metadata_count && !options->metadata)
        return hki_io_fail(&self->error, HK_INVALID_ARGUMENT,
                           "option metadata is NULL, but metadata_count is %zu; give them, or 0",
                           options->metadata_count);
    if (options->metadata_count && format != HK_FORMAT_SAFETENSORS)
        return hki_io_fail(&self->error, HK_INVALID_ARGUMENT,
                           "option metadata_count is %zu, but only safetensors keeps metadata; "
                           "use that, or give none",
                           options->metadata_count);
    if (options->compress && format != HK_FORMAT_NPZ)
        return hki_io_fail(
            &self->error, HK_INVALID_ARGUMENT,
            "option compress is true, but only npz is compressed; use that, or false");
    return true;
}

static bool check_call(hki_io_saving *self, const char *path, hk_file_format *format)
{
    if (!path || !*path)
        return hki_io_fail(&self->error, HK_INVALID_ARGUMENT,
                           "argument path is %s; a file's name would be right",
                           path ? "empty" : "NULL");
    if (self->count && !self->entries)
        return hki_io_fail(&self->error, HK_INVALID_ARGUMENT,
                           "argument entries is NULL, but count is %zu; give them, or 0",
                           self->count);
    for (size_t i = 0; i < self->count; i++)
        if (!self->entries[i].array)
            return hki_io_fail(&self->error, HK_INVALID_ARGUMENT,
                               "entries[%zu].array is NULL; an array would be right", i);
    return hki_io_format_of(path, self->options->format, format, &self->error) &&
           check_options(self, *format) && check_names(self, *format) && check_metadata(self);
}

/* ---- values ---------------------------------------------------------------------------------------------- */

void hki_io_swap(void *values, size_t bytes, size_t element_bytes)
{
    char *at = values;
    for (; bytes; at += element_bytes, bytes -= element_bytes)
        for (size_t low = 0, high = element_bytes - 1; low < high; low++, high--) {
            const char kept = at[low];
            at[low] = at[high];
            at[high] = kept;
        }
}

/* Before a file is begun, so that nothing is written for nothing. */
static bool wait_for_all(hki_io_saving *self, hk_file_format format)
{
    for (size_t i = 0; i < self->count; i++) {
        const hk_status *status = hk_wait(self->entries[i].array);
        if (!hk_ok(status)) {
            self->status = hk_status_retain(status);
            return false;
        }
        if (format != HK_FORMAT_SAFETENSORS && hk_array_dtype(self->entries[i].array) == HK_BF16)
            return hki_io_fail(
                &self->error, HK_UNSUPPORTED,
                "entries[%zu].array is bfloat16, which npy and npz lack; cast it, or "
                "use safetensors",
                i);
        if (format == HK_FORMAT_SAFETENSORS && hk_array_dtype(self->entries[i].array) == HK_C128)
            return hki_io_fail(
                &self->error, HK_UNSUPPORTED,
                "entries[%zu].array is complex128, which safetensors lacks; cast it to complex64, "
                "or use npy or npz",
                i);
    }
    return true;
}

static bool make_room(hki_io_saving *self, size_t bytes)
{
    if (bytes <= self->room_bytes)
        return true;
    free(self->room);
    self->room = malloc(bytes);
    self->room_bytes = self->room ? bytes : 0;
    return self->room || hki_io_fail(&self->error, HK_OUT_OF_MEMORY,
                                     "no host memory for a copy of %zu bytes", bytes);
}

bool hki_io_saving_values(hki_io_saving *self, size_t i, const void **values, size_t *bytes)
{
    hk_array *x = self->entries[i].array;
    const size_t element_bytes = hk_dtype_bytes(hk_array_dtype(x));
    *bytes = (size_t)hk_size(x) * element_bytes;
    if (!make_room(self, *bytes))
        return false;
    const hk_status *status = (hk_to_host)(x, self->room, *bytes);
    if (!hk_ok(status)) {
        self->status = hk_status_retain(status);
        return false;
    }
    if (!HKI_IO_HOST_IS_LITTLE)
        hki_io_swap(self->room, *bytes, hk_dtype_bytes(hki_dtype_of_parts(hk_array_dtype(x))));
    *values = self->room;
    return true;
}

/* ---- the file -------------------------------------------------------------------------------------------- */

static bool check_system(hki_io_saving *self, int number)
{
    char text[128];
    if (!number)
        return true;
    return hki_io_fail(&self->error, number == ENOMEM ? HK_OUT_OF_MEMORY : HK_IO,
                       "cannot be written: %s; it holds what it held before, or all of the new",
                       strerror_r(number, text, sizeof text));
}

bool hki_io_saving_write(hki_io_saving *self, const void *data, size_t bytes)
{
    return check_system(self, hki_draft_write(&self->draft, data, bytes));
}

static bool write_format(hki_io_saving *self, hk_file_format format)
{
    switch (format) {
    case HK_FORMAT_NPY:
        return hki_npy_write(self);
    case HK_FORMAT_NPZ:
        return hki_npz_write(self);
    default:
        return hki_safetensors_write(self);
    }
}

static bool write_file(hki_io_saving *self, const char *path, hk_file_format format)
{
    const bool is_good = check_system(self, hki_draft_begin(&self->draft, path)) &&
                         write_format(self, format) &&
                         check_system(self, hki_draft_finish(&self->draft, true));
    hki_draft_drop(&self->draft);
    return is_good;
}

/* Counted. */
static const hk_status *record_of(const hki_io_saving *self, const char *path, bool is_of_file)
{
    char shown[HKI_NAME_SHOWN_BYTES] = "";
    const hk_source source = hki_source_get();
    const hki_status_facts facts = {.operation = "save", .file = source.file, .line = source.line};
    if (self->status)
        return self->status;
    if (is_of_file)
        hki_show_name(shown, sizeof shown, path);
    return hki_status_create(self->error.code, &facts, "%s%s%s", shown, is_of_file ? ": " : "",
                             self->error.text);
}

const hk_status *(hk_save)(const char *path, const hk_save_entry *entries, size_t count,
                           const hk_save_options *options)
{
    HKI_TAKE_OPTIONS(hk_save_options, options);
    static const hk_save_options none = {0};
    hki_io_saving self = {.entries = entries, .count = count, .options = options ? options : &none};
    hk_file_format format;
    hki_array_uncapturable("save", "what goes to a file is not in the graph; save after replays");
    const bool is_right = check_call(&self, path, &format);
    const bool is_good = is_right && wait_for_all(&self, format) && write_file(&self, path, format);
    free(self.room);
    return hki_status_lend(is_good ? hki_status_ok() : record_of(&self, path, is_right));
}
