/* The header of a safetensors file. Each member is parsed by itself, once its extent is known to be small: what memory a file
 * can make this take is a small multiple of its length. */
#include "io/safetensors.h"

#include "base/json_extent.h"
#include "base/regular_file.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES     8
#define MAX_HEADER_BYTES ((uint64_t)100 * 1000 * 1000) /* as in the format's own reader */
#define MAX_AXES         64
#define MAX_CONTAINERS   3 /* of one array: itself, its shape, its offsets */

typedef struct reader {
    hki_json_text text;
    uint64_t data_begin, data_bytes;
    hki_io_contents *contents;
    hki_io_error *error;
    bool has_metadata;
} reader;

/* ---- dtypes ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned element_bytes;
    int dtype; /* -1: no hk_dtype */
} dtypes[] = {
    {"F32", 4, HK_F32}, {"F64", 8, HK_F64},   {"I32", 4, HK_I32}, {"I64", 8, HK_I64},
    {"U8", 1, HK_U8},   {"BOOL", 1, HK_BOOL}, {"F16", 2, HK_F16}, {"BF16", 2, HK_BF16},
    {"I8", 1, HK_I8},   {"I16", 2, HK_I16},   {"U16", 2, HK_U16}, {"U32", 4, HK_U32},
    {"U64", 8, HK_U64}, {"C64", 8, HK_C64},   {"F8_E4M3", 1, -1}, {"F8_E5M2", 1, -1},
    {"F8_E8M0", 1, -1},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

const char *hki_safetensors_dtype_name(hk_dtype dtype)
{
    return dtypes[dtype].name;
}

_Static_assert(HK_F32 == 0 && HK_F64 == 1 && HK_I32 == 2 && HK_I64 == 3 && HK_U8 == 4 &&
                   HK_BOOL == 5 && HK_F16 == 6 && HK_BF16 == 7 && HK_I8 == 8 && HK_I16 == 9 &&
                   HK_U16 == 10 && HK_U32 == 11 && HK_U64 == 12 && HK_C64 == 13,
               "the table begins with each hk_dtype in its place, but complex128");

/* ---- messages -------------------------------------------------------------------------------------------- */

static bool fail_text(reader *self)
{
    const hki_json_text *text = &self->text;
    if (text->at >= text->bytes)
        return hki_io_fail(self->error, HK_BAD_DATA,
                           "its header ends after %zu bytes, where %s should follow; save or fetch "
                           "it again",
                           text->bytes, text->error);
    return hki_io_fail(
        self->error, HK_BAD_DATA,
        "its header has '%c' at byte %zu, where %s should be; save or fetch it again",
        hki_io_shown(text->data[text->at]), text->at, text->error);
}

static bool fail_array(reader *self, const char *name, hk_code code, const char *format, ...)
    HK_PRINTF(4, 5);
static bool fail_array(reader *self, const char *name, hk_code code, const char *format, ...)
{
    char shown[HKI_IO_NAME_BYTES], why[512];
    va_list args;
    hki_show_name(shown, sizeof shown, name);
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return hki_io_fail(self->error, code, "array \"%s\" %s", shown, why);
}

/* ---- values ---------------------------------------------------------------------------------------------- */

/* NULL, with a message: it is no JSON. */
static json_t *parse(reader *self, const hki_json_extent *extent)
{
    json_error_t error;
    json_t *value = json_loadb(self->text.data + extent->begin, extent->end - extent->begin,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!value && json_error_code(&error) == json_error_out_of_memory)
        hki_io_fail_memory(self->error);
    else if (!value)
        hki_io_fail(self->error, HK_BAD_DATA,
                    "its header is no JSON at byte %zu: %s; save or fetch it again", extent->begin,
                    error.text);
    return value;
}

/* A text, to be freed. */
static char *parse_text(reader *self, const hki_json_extent *extent)
{
    json_t *value = parse(self, extent);
    char *text = value ? strdup(json_string_value(value)) : NULL;
    if (value && !text)
        hki_io_fail_memory(self->error);
    json_decref(value);
    return text;
}

/* Sizes of axes; -1: none, with a message. */
static int get_shape(reader *self, const char *name, const json_t *shape, int64_t sizes[MAX_AXES])
{
    if (!json_is_array(shape)) {
        fail_array(self, name, HK_BAD_DATA, "has no list \"shape\"");
        return -1;
    }
    if (json_array_size(shape) > MAX_AXES) {
        fail_array(self, name, HK_BAD_DATA, "has %zu axes; %d at most would be right",
                   json_array_size(shape), MAX_AXES);
        return -1;
    }
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *size = json_array_get(shape, i);
        sizes[i] = json_is_integer(size) ? json_integer_value(size) : -1;
        if (sizes[i] < 0) {
            fail_array(self, name, HK_BAD_DATA,
                       "has a shape whose axis %zu is no whole number from "
                       "0",
                       i);
            return -1;
        }
    }
    return (int)json_array_size(shape);
}

static bool get_offsets(reader *self, const char *name, const json_t *offsets, uint64_t *begin,
                        uint64_t *end)
{
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last) ||
        json_integer_value(first) < 0 || json_integer_value(last) < json_integer_value(first))
        return fail_array(self, name, HK_BAD_DATA,
                          "has no \"data_offsets\" of two whole numbers from 0, begin and end");
    *begin = (uint64_t)json_integer_value(first);
    *end = (uint64_t)json_integer_value(last);
    if (*end > self->data_bytes)
        return fail_array(self, name, HK_BAD_DATA,
                          "should end at byte %" PRIu64 " of the data, but there are %" PRIu64
                          ": the file is truncated; save or fetch it again",
                          *end, self->data_bytes);
    return true;
}

/* Says, in entry->unsupported, why there can be no array of it; leaves it NULL where there can. */
static bool note_unsupported(reader *self, hki_io_entry *entry, const char *dtype_name, int dtype,
                             int ndim)
{
    char shown[32];
    int length = 0;
    if (dtype < 0) {
        hki_show_name(shown, sizeof shown, dtype_name);
        length = asprintf(
            &entry->unsupported,
            "has dtype %s; F64 to F16, BF16, C64, I64 to I8, U64 to U8 or BOOL would be right",
            shown);
    } else if (ndim > HK_MAX_NDIM) {
        length = asprintf(&entry->unsupported, "has %d axes; at most %d would be right", ndim,
                          HK_MAX_NDIM);
    }
    if (length >= 0)
        return true;
    entry->unsupported = NULL;
    return hki_io_fail_memory(self->error);
}

/* Sets all of the entry but its name. */
static bool get_array(reader *self, const json_t *value, hki_io_entry *entry)
{
    int64_t sizes[MAX_AXES];
    uint64_t begin = 0, end = 0, needed = 0;
    const char *dtype_name = json_string_value(json_object_get(value, "dtype"));
    const int ndim = get_shape(self, entry->name, json_object_get(value, "shape"), sizes);
    if (ndim < 0 ||
        !get_offsets(self, entry->name, json_object_get(value, "data_offsets"), &begin, &end))
        return false;
    if (!dtype_name)
        return fail_array(self, entry->name, HK_BAD_DATA, "has no text \"dtype\"");
    int row = 0;
    while (row < DTYPES && strcmp(dtypes[row].name, dtype_name))
        row++;
    const bool is_known = row < DTYPES;
    if (is_known && (!hki_io_bytes_of(sizes, (size_t)ndim, dtypes[row].element_bytes, &needed) ||
                     needed != end - begin))
        return fail_array(self, entry->name, HK_BAD_DATA,
                          "has %" PRIu64 " bytes, which is not what its shape and dtype %s take; "
                          "save or fetch it again",
                          end - begin, dtype_name);
    const int dtype = is_known ? dtypes[row].dtype : -1;
    if (!note_unsupported(self, entry, dtype_name, dtype, ndim))
        return false;
    entry->offset = self->data_begin + begin;
    entry->bytes = end - begin;
    if (entry->unsupported)
        return true;
    entry->dtype = (hk_dtype)dtype;
    entry->is_swapped = !HKI_IO_HOST_IS_LITTLE && dtypes[row].element_bytes > 1;
    entry->shape = hk_dims_of(sizes, (size_t)ndim);
    return true;
}

/* ---- members --------------------------------------------------------------------------------------------- */

static bool read_text(reader *self)
{
    hki_json_text *text = &self->text;
    hki_json_extent key, value;
    if (!hki_json_take_string(text, &key) || !hki_json_expect(text, ':', "a colon") ||
        !hki_json_take_string(text, &value))
        return fail_text(self);
    char *name = parse_text(self, &key), *said = name ? parse_text(self, &value) : NULL;
    if (said)
        return hki_io_contents_add_text(self->contents, name, said, self->error);
    free(name);
    return false;
}

static bool read_metadata(reader *self, const hki_json_extent *extent)
{
    hki_json_text *text = &self->text;
    const hki_json_text whole = *text;
    if (self->has_metadata)
        return hki_io_fail(self->error, HK_BAD_DATA, "has \"%s\" twice; one would be right",
                           HKI_SAFETENSORS_METADATA);
    self->has_metadata = true;
    text->at = extent->begin;
    text->bytes = extent->end;
    if (!hki_json_expect(text, '{', "an object of texts"))
        return fail_text(self);
    if (!hki_json_take(text, '}')) {
        do {
            if (!read_text(self))
                return false;
        } while (hki_json_take(text, ','));
        if (!hki_json_expect(text, '}', "a comma or the end of the metadata"))
            return fail_text(self);
    }
    *text = whole;
    return true;
}

static bool read_array(reader *self, char *name, const hki_json_extent *extent)
{
    hki_io_entry entry = {.name = name};
    if (extent->container_count > MAX_CONTAINERS || extent->comma_count > 2 * MAX_AXES) {
        fail_array(
            self, name, HK_BAD_DATA,
            "is said to be something with %zu objects and lists and %zu commas; an object of "
            "\"dtype\", \"shape\" and \"data_offsets\" would be right",
            extent->container_count, extent->comma_count);
        free(name);
        return false;
    }
    json_t *value = parse(self, extent);
    const bool is_good = value && get_array(self, value, &entry);
    json_decref(value);
    if (is_good)
        return hki_io_contents_add(self->contents, &entry, self->error);
    free(entry.unsupported);
    free(name);
    return false;
}

static bool read_member(reader *self)
{
    hki_json_text *text = &self->text;
    hki_json_extent key, value;
    if (!hki_json_take_string(text, &key) || !hki_json_expect(text, ':', "a colon") ||
        !hki_json_take_value(text, &value))
        return fail_text(self);
    char *name = parse_text(self, &key);
    if (!name)
        return false;
    if (strcmp(name, HKI_SAFETENSORS_METADATA))
        return read_array(self, name, &value);
    free(name);
    return read_metadata(self, &value);
}

static bool read_header(reader *self)
{
    hki_json_text *text = &self->text;
    if (!text->bytes || text->data[0] != '{')
        return hki_io_fail(self->error, HK_BAD_DATA,
                           "is no safetensors file: its header does not begin with '{'; pass one");
    text->at = 1;
    if (!hki_json_take(text, '}')) {
        do {
            if (!read_member(self))
                return false;
        } while (hki_json_take(text, ','));
        if (!hki_json_expect(text, '}', "a comma or the end of the header"))
            return fail_text(self);
    }
    hki_json_skip_space(text);
    if (text->at == text->bytes)
        return true;
    text->error = "nothing but spaces";
    return fail_text(self);
}

/* ---- the data -------------------------------------------------------------------------------------------- */

static int compare_offsets(const void *a, const void *b, void *context)
{
    const hki_io_entry *entries = context, *left = &entries[*(const size_t *)a],
                       *right = &entries[*(const size_t *)b];
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/* Arrays lie one behind the other and fill the data. */
static bool check_layout(reader *self)
{
    const hki_io_contents *contents = self->contents;
    uint64_t end = self->data_begin;
    bool is_good = true;
    size_t *order = malloc((contents->count + 1) * sizeof *order);
    if (!order)
        return hki_io_fail_memory(self->error);
    for (size_t i = 0; i < contents->count; i++)
        order[i] = i;
    qsort_r(order, contents->count, sizeof *order, compare_offsets, contents->entries);
    for (size_t i = 0; i < contents->count && is_good; i++) {
        const hki_io_entry *entry = &contents->entries[order[i]];
        if (entry->offset != end)
            is_good =
                fail_array(self, entry->name, HK_BAD_DATA,
                           "begins at byte %" PRIu64 " of the data, %s; %" PRIu64 " would be right",
                           entry->offset - self->data_begin,
                           entry->offset < end ? "within another array" : "behind a hole",
                           end - self->data_begin);
        end = entry->offset + entry->bytes;
    }
    free(order);
    if (is_good && end != self->data_begin + self->data_bytes)
        return hki_io_fail(self->error, HK_BAD_DATA,
                           "has trailing data: its arrays take %" PRIu64
                           " bytes, and it holds %" PRIu64 "; save or fetch it again",
                           end - self->data_begin, self->data_bytes);
    return is_good;
}

bool hki_safetensors_read(const hki_io_source *source, hki_io_contents *contents,
                          hki_io_error *error)
{
    uint8_t length[LENGTH_BYTES];
    uint64_t header_bytes = 0;
    if (source->bytes < LENGTH_BYTES)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is no safetensors file: it has %" PRIu64 " bytes; 10 or more would be "
                           "right",
                           source->bytes);
    if (!hki_io_read(source, 0, length, sizeof length, error))
        return false;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        header_bytes = header_bytes << 8 | length[i];
    if (header_bytes > MAX_HEADER_BYTES)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is no safetensors file: it promises a header of %" PRIu64
                           " bytes; at most %" PRIu64 " would be right",
                           header_bytes, MAX_HEADER_BYTES);
    if (header_bytes > source->bytes - LENGTH_BYTES)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is truncated: it promises a header of %" PRIu64
                           " bytes, and holds %" PRIu64 "; save or fetch it again",
                           header_bytes, source->bytes - LENGTH_BYTES);
    char *header = malloc(header_bytes + 1);
    if (!header)
        return hki_io_fail_memory(error);
    reader self = {.text = {.data = header, .bytes = header_bytes},
                   .data_begin = LENGTH_BYTES + header_bytes,
                   .data_bytes = source->bytes - LENGTH_BYTES - header_bytes,
                   .contents = contents,
                   .error = error};
    const bool is_good = hki_io_read(source, LENGTH_BYTES, header, header_bytes, error) &&
                         read_header(&self) && check_layout(&self) &&
                         hki_io_contents_finish(contents, error);
    free(header);
    return is_good;
}
