#include "io/elements.h"

#include "base/dtype.h"
#include "base/regular_file.h"
#include "io/saving.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char operation[] = "archive_get";
enum { WHO_BYTES = HKI_NAME_SHOWN_BYTES + HKI_IO_NAME_BYTES + 32 };

/* ---- copying --------------------------------------------------------------------------------------------- */

/* As they lie in the file. */
static bool read_raw(const hki_io_source *source, const hki_io_entry *entry, hki_zip_stream *member,
                     void *to, uint64_t bytes, hki_io_error *error)
{
    if (member)
        return hki_zip_read(member, to, bytes, error);
    return hki_io_read(source, entry->offset, to, bytes, error);
}

/* From where they lie apart to C order; element_bytes is 1, 2, 4, 8 or 16. */
static void to_c_order(const hki_io_entry *entry, const char *from, char *to)
{
    const size_t element_bytes = hk_dtype_bytes(entry->dtype);
    int64_t at[HK_MAX_NDIM] = {0}, steps[HK_MAX_NDIM];
    for (int axis = 0; axis < entry->shape.ndim; axis++)
        steps[axis] =
            entry->shape.dims[axis] > 1 ? entry->strides[axis] * (int64_t)element_bytes : 0;
    for (const char *const end = to + entry->bytes; to < end; to += element_bytes) {
        memcpy(to, from, element_bytes);
        for (int axis = entry->shape.ndim - 1; axis >= 0; axis--) {
            from += steps[axis];
            if (++at[axis] < entry->shape.dims[axis])
                break;
            from -= steps[axis] * at[axis];
            at[axis] = 0;
        }
    }
}

static bool read_strided(const hki_io_source *source, const hki_io_entry *entry,
                         hki_zip_stream *member, void *to, hki_io_error *error)
{
    char *values = malloc(entry->span_bytes + 1);
    const bool is_good = (values || hki_io_fail_memory(error)) &&
                         read_raw(source, entry, member, values, entry->span_bytes, error);
    if (is_good)
        to_c_order(entry, values, to);
    free(values);
    return is_good;
}

bool hki_io_read_elements(const hki_io_source *source, const hki_io_entry *entry,
                          hki_zip_stream *member, void *to, hki_io_error *error)
{
    uint8_t *values = to;
    if (!(entry->is_strided ? read_strided(source, entry, member, to, error)
                            : read_raw(source, entry, member, to, entry->bytes, error)))
        return false;
    if (entry->is_swapped)
        hki_io_swap(values, entry->bytes, hk_dtype_bytes(hki_dtype_of_parts(entry->dtype)));
    for (uint64_t i = 0; entry->dtype == HK_BOOL && i < entry->bytes; i++)
        values[i] = values[i] != 0; /* kernels rely on it */
    return true;
}

void hki_io_introduce(const hki_io_origin *origin, char *text, size_t bytes)
{
    char path[HKI_NAME_SHOWN_BYTES], name[HKI_IO_NAME_BYTES];
    hki_show_name(path, sizeof path, origin->path);
    hki_show_name(name, sizeof name, origin->entry->name);
    if (*name)
        snprintf(text, bytes, "%s: array \"%s\"", path, name);
    else
        snprintf(text, bytes, "%s: its array", path);
}

typedef struct filling {
    const hki_io_origin *origin;
    hki_zip_stream *member;
} filling;

static hk_code fill(void *context, void *to, size_t bytes, char *why, size_t why_bytes)
{
    const filling *self = context;
    const hki_io_origin *origin = self->origin;
    hki_io_error error = {0};
    char who[WHO_BYTES];
    (void)bytes; /* which follow from shape and dtype, as the entry's do */
    if (hki_io_read_elements(origin->source, origin->entry, self->member, to, &error))
        return HK_OK;
    hki_io_introduce(origin, who, sizeof who);
    snprintf(why, why_bytes, "%s: %s", who, error.text);
    return error.code;
}

/* ---- mapping --------------------------------------------------------------------------------------------- */

/* Smaller ones are not worth pages, and an entry in the system's table, of their own. */
enum { MAPPED_FROM_BYTES = 1 << 16 };

typedef struct mapping {
    void *begin;
    size_t bytes;
} mapping;

static void drop_mapping(void *context)
{
    mapping *self = context;
    munmap(self->begin, self->bytes);
    free(self);
}

/* NULL: has to be copied. Pages of its own, so that what is written into one array stays there. */
static hk_array *map(const hki_io_source *source, const hki_io_entry *entry, hk_device device)
{
    struct stat facts;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = entry->offset / page * page;
    if (fstat(source->file, &facts) || (uint64_t)facts.st_size < entry->offset + entry->bytes)
        return NULL; /* cut short meanwhile: reading will tell */
    mapping *self = malloc(sizeof *self);
    if (!self)
        return NULL;
    self->bytes = entry->offset - begin + entry->bytes;
    self->begin = mmap(NULL, self->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                       source->file, (off_t)begin);
    if (self->begin == MAP_FAILED) {
        free(self);
        return NULL;
    }
    const hk_memory_options options = {.free = drop_mapping, .context = self};
    return (hk_from_memory)((char *)self->begin + (entry->offset - begin), entry->shape,
                            entry->dtype, device, &options);
}

/* Whether the bytes in the file are what an array's memory holds. */
static bool is_as_in_memory(const hki_io_entry *entry)
{
    return !entry->is_member && !entry->is_swapped && !entry->is_strided &&
           entry->dtype != HK_BOOL && entry->offset % hk_dtype_bytes(entry->dtype) == 0;
}

static hk_array *make(const hki_io_origin *origin, hki_zip_stream *member, hk_device device,
                      bool may_map)
{
    const hki_io_entry *entry = origin->entry;
    filling values = {origin, member};
    hk_array *x = NULL;
    HKI_HOLD(held);
    hki_device *home = hki_device_hold(device, &held);
    if (may_map && home->class && hki_device_is_host(home) && is_as_in_memory(entry) &&
        origin->source->file >= 0 && entry->bytes >= MAPPED_FROM_BYTES)
        x = map(origin->source, entry, device);
    return x ? x
             : hki_array_create_filled(operation, entry->shape, entry->dtype, device, fill,
                                       &values);
}

/* By an error, or, where that is NULL, for what the entry says. */
static hk_array *refuse(const hki_io_origin *origin, hk_device device, const hki_io_error *error)
{
    char who[WHO_BYTES];
    HKI_HOLD(held);
    hki_device *home = hki_device_hold(device, &held);
    hki_io_introduce(origin, who, sizeof who);
    if (error)
        return hki_array_create_failed(home, operation, NULL, 0, error->code, "%s: %s", who,
                                       error->text);
    return hki_array_create_failed(home, operation, NULL, 0, HK_UNSUPPORTED, "%s %s", who,
                                   origin->entry->unsupported);
}

static hk_array *make_of_member(const hki_io_origin *origin, hk_device device)
{
    hki_io_error error = {0};
    hki_io_entry entry = *origin->entry; /* its header is not read before somebody asks for it */
    const hki_io_origin here = {origin->path, origin->source, &entry};
    hki_zip_stream *member = hki_npz_open(origin->source, &entry, &error);
    hk_array *x = !member             ? refuse(&here, device, &error)
                  : entry.unsupported ? refuse(&here, device, NULL)
                                      : make(&here, member, device, false);
    free(entry.unsupported);
    hki_zip_close(member);
    return x;
}

hk_array *hki_io_make_array(const hki_io_origin *origin, hk_device device, bool may_map)
{
    if (origin->entry->unsupported)
        return refuse(origin, device, NULL);
    return origin->entry->is_member ? make_of_member(origin, device)
                                    : make(origin, NULL, device, may_map);
}
