/* From the values of a pickle to the arrays and texts of a file. */
#include "io/torch_views.h"

#include "base/text.h"
#include "io/saving.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_PATH_BYTES = 2048,
    MOST_DEPTH = 64,
    MOST_TIMES = 8,          /* arrays may take so many times the file's bytes, */
    MOST_BESIDE = 16 << 20,  /* and so many more */
    MOST_BIG_INT_BYTES = 32, /* 10 more bits are 3 more digits */
    BIG_INT_DIGITS = 3 * MOST_BIG_INT_BYTES,
};

/* ---- a reader on its way --------------------------------------------------------------------------------- */

typedef struct text {
    char *data; /* not terminated before the end */
    size_t bytes, capacity;
} text;

typedef struct reader {
    const hki_torch_file *file;
    hki_io_contents *contents;
    hki_io_error *error;
    char path[MOST_PATH_BYTES];
    size_t path_bytes;
    int depth;
    size_t visits_left;  /* values may be parts of several others */
    size_t names_left;   /* bytes of all names and texts, which may be seen several times too */
    uint64_t bytes_left; /* of all arrays */
    text structure;
} reader;

static bool fail(reader *self, const char *what)
{
    return hki_torch_fail(self->error, self->path, what);
}

static bool add_bytes(reader *self, const char *data, size_t bytes)
{
    text *to = &self->structure;
    if (to->capacity - to->bytes < bytes + 1) {
        const size_t capacity = 2 * to->capacity + bytes + 64;
        char *moved = realloc(to->data, capacity);
        if (!moved)
            return hki_io_fail_memory(self->error);
        to->data = moved;
        to->capacity = capacity;
    }
    memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
    to->data[to->bytes] = '\0';
    return true;
}

static bool add(reader *self, const char *data)
{
    return add_bytes(self, data, strlen(data));
}

/* As JSON has texts. */
static bool add_text(reader *self, const char *data, size_t bytes)
{
    bool is_good = add(self, "\"");
    for (size_t i = 0, begin = 0; is_good && i <= bytes; i++) {
        char escape[8] = "";
        if (i < bytes && (data[i] == '"' || data[i] == '\\'))
            hki_format(escape, sizeof escape, "\\%c", data[i]);
        else if (i < bytes && (unsigned char)data[i] < 0x20)
            hki_format(escape, sizeof escape, "\\u%04x", (unsigned)data[i]);
        else if (i < bytes)
            continue;
        is_good = add_bytes(self, data + begin, i - begin) && add(self, escape);
        begin = i + 1;
    }
    return is_good && add(self, "\"");
}

static bool spend(reader *self, size_t bytes)
{
    if (self->names_left <= bytes)
        return fail(self, "has long texts or names again and again");
    self->names_left -= bytes + 1;
    return true;
}

/* A copy, to be freed; NULL: no memory, or no text in UTF-8. */
static char *copy_text(reader *self, const hki_pickle_value *of)
{
    if (!spend(self, of->text.bytes))
        return NULL;
    char *copy = strndup((const char *)self->file->pickle.data + of->text.at, of->text.bytes);
    if (!copy) {
        hki_io_fail_memory(self->error);
    } else if (strlen(copy) != of->text.bytes || !hki_io_is_utf8(copy)) {
        fail(self, "has a text that is not UTF-8, or has zeros in it,");
        free(copy);
        copy = NULL;
    }
    return copy;
}

/* ---- paths ----------------------------------------------------------------------------------------------- */

/* The path goes on by the name; how long it was, to go back. */
static bool enter(reader *self, const char *name, size_t bytes, size_t *before)
{
    const size_t dot = self->depth > 1;
    *before = self->path_bytes;
    if (self->path_bytes + dot + bytes >= sizeof self->path)
        return fail(self, "has names that are longer than 2047 bytes");
    if (dot)
        self->path[self->path_bytes++] = '.';
    memcpy(self->path + self->path_bytes, name, bytes);
    self->path_bytes += bytes;
    self->path[self->path_bytes] = '\0';
    return true;
}

static void leave(reader *self, size_t before)
{
    self->path_bytes = before;
    self->path[before] = '\0';
}

/* A copy of the path, to be freed; NULL: no memory, or too many of them. */
static char *copy_path(reader *self)
{
    char *copy = spend(self, self->path_bytes) ? strdup(self->path) : NULL;
    if (!copy)
        hki_io_fail_memory(self->error);
    return copy;
}

/* ---- numbers and texts ----------------------------------------------------------------------------------- */

/* In decimal digits, of two's complement. */
static bool print_big(const uint8_t *bytes, size_t count, char *to)
{
    uint8_t left[MOST_BIG_INT_BYTES], digits[BIG_INT_DIGITS];
    int digit_count = 0;
    if (count > MOST_BIG_INT_BYTES)
        return false;
    const bool is_negative = bytes[count - 1] & 0x80;
    unsigned carry = is_negative;
    for (size_t i = 0; i < count; i++, carry >>= 8) {
        carry += is_negative ? (uint8_t)~bytes[i] : bytes[i];
        left[i] = (uint8_t)carry;
    }
    for (bool is_more = true; is_more && digit_count < BIG_INT_DIGITS;) {
        unsigned rest = 0;
        is_more = false;
        for (size_t i = count; i-- > 0;) {
            rest = rest << 8 | left[i];
            left[i] = (uint8_t)(rest / 10);
            rest %= 10;
            is_more = is_more || left[i];
        }
        digits[digit_count++] = (uint8_t)rest;
    }
    if (is_negative)
        *to++ = '-';
    while (digit_count)
        *to++ = (char)('0' + digits[--digit_count]);
    *to = '\0';
    return true;
}

static void print_real(double x, char *to, size_t bytes)
{
    if (isnan(x))
        hki_format(to, bytes, "NaN");
    if (isinf(x))
        hki_format(to, bytes, "%sInfinity", x < 0 ? "-" : "");
    for (int digits = 15; isfinite(x) && digits <= 17; digits++) {
        hki_format(to, bytes, "%.*g%s", digits, x, x == floor(x) && fabs(x) < 1e15 ? ".0" : "");
        if (hki_read_double(to, NULL) == x)
            break;
    }
}

/* False: it is no number. */
static bool print_number(reader *self, const hki_pickle_value *of, char *to, size_t bytes)
{
    switch (of->kind) {
    case HKI_PICKLE_BOOL:
        hki_format(to, bytes, "%s", of->integer ? "true" : "false");
        return true;
    case HKI_PICKLE_INT:
        hki_format(to, bytes, "%" PRId64, of->integer);
        return true;
    case HKI_PICKLE_FLOAT:
        print_real(of->real, to, bytes);
        return true;
    case HKI_PICKLE_BIG_INT:
        return print_big(self->file->pickle.data + of->text.at, of->text.bytes, to);
    default:
        return false;
    }
}

static bool add_metadata(reader *self, char *value)
{
    char *key = value ? copy_path(self) : NULL;
    if (key)
        return hki_io_contents_add_text(self->contents, key, value, self->error);
    free(value);
    return value || hki_io_fail_memory(self->error);
}

static bool list_number(reader *self, const hki_pickle_value *of)
{
    char number[BIG_INT_DIGITS + 40];
    return (print_number(self, of, number, sizeof number) ||
            fail(self, "has a number of more than 32 bytes")) &&
           add(self, number) && add_metadata(self, strdup(number));
}

static bool list_text(reader *self, const hki_pickle_value *of)
{
    char *copy = copy_text(self, of);
    if (copy && add_text(self, copy, of->text.bytes))
        return add_metadata(self, copy);
    free(copy);
    return false;
}

static bool list_name(reader *self, const hki_pickle_value *of)
{
    char name[96];
    const int length =
        hki_format(name, sizeof name, "%s.%s", hki_torch_name_at(of->integer)->module,
                   hki_torch_name_at(of->integer)->name);
    return add_text(self, name, (size_t)length) && add_metadata(self, strdup(name));
}

/* ---- tensors --------------------------------------------------------------------------------------------- */

/* Why no array can be made of it; entry->unsupported stays NULL where one can. */
static bool note_unsupported(reader *self, hki_io_entry *entry, const hki_torch_view *its)
{
    int length = 0;
    if (!its)
        length = asprintf(&entry->unsupported,
                          "is quantised, sparse or without values; a plain tensor would be right");
    else if (hki_torch_name_at(its->row)->dtype < 0)
        length = asprintf(&entry->unsupported,
                          "has dtype %s, which arrays lack; a float, integer, bool or complex "
                          "dtype of 8 bits or more would be right",
                          hki_torch_name_at(its->row)->name);
    else if (its->ndim > HK_MAX_NDIM)
        length = asprintf(&entry->unsupported, "has %u axes; at most %d would be right", its->ndim,
                          HK_MAX_NDIM);
    else if (its->is_lazy)
        length = asprintf(&entry->unsupported,
                          "is the conjugate or negative of what is in the file; save what "
                          "resolve_conj() or resolve_neg() gives");
    if (length >= 0)
        return true;
    entry->unsupported = NULL;
    return hki_io_fail_memory(self->error);
}

static bool is_dense(const hki_torch_view *its)
{
    int64_t stride = 1;
    for (uint32_t i = its->ndim; i-- > 0; stride *= its->sizes[i])
        if (its->sizes[i] != 1 && its->strides[i] != stride)
            return false;
    return true;
}

/* Shape, dtype and place of the entry. */
static bool describe(reader *self, hki_io_entry *entry, const hki_torch_view *its)
{
    const unsigned element_bytes = hki_torch_name_at(its->row)->element_bytes;
    if (!hki_torch_check_view(self->file, its, self->path, self->error) ||
        !(hki_io_bytes_of(its->sizes, its->ndim, element_bytes, &entry->bytes) ||
          fail(self, "has a tensor of more than 2^62 bytes")))
        return false;
    if (entry->bytes > self->bytes_left)
        return fail(self, "has tensors that take many times the file's bytes: the last");
    self->bytes_left -= entry->bytes;
    entry->shape = hk_dims_of(its->sizes, its->ndim);
    entry->dtype = (hk_dtype)hki_torch_name_at(its->row)->dtype;
    entry->is_swapped = self->file->is_swapped && element_bytes > 1;
    entry->offset = entry->bytes ? its->its->at + its->offset * element_bytes : its->its->at;
    entry->is_strided = entry->bytes && !is_dense(its);
    entry->span_bytes = its->span * element_bytes;
    for (int axis = 0; axis < entry->shape.ndim; axis++)
        entry->strides[axis] = its->strides[axis];
    return true;
}

/* its NULL: no array is like it. */
static bool list_array(reader *self, const hki_torch_view *its)
{
    hki_io_entry entry = {.name = copy_path(self)};
    if (entry.name && add(self, "{\"array\":") && add_text(self, self->path, self->path_bytes) &&
        add(self, "}") && note_unsupported(self, &entry, its) &&
        (entry.unsupported || describe(self, &entry, its)))
        return hki_io_contents_add(self->contents, &entry, self->error);
    free(entry.name);
    free(entry.unsupported);
    return false;
}

static bool list_tensor(reader *self, const hki_pickle_value *callable,
                        const hki_pickle_value *arguments, int depth)
{
    const hki_pickle *pickle = &self->file->pickle;
    const hki_pickle_value *first = hki_pickle_part(pickle, arguments, 0),
                           *its = hki_pickle_part(pickle, arguments, 2);
    const hki_torch_role what = callable && callable->kind == HKI_PICKLE_GLOBAL
                                    ? hki_torch_name_at(callable->integer)->role
                                    : HKI_TORCH_CLASS;
    hki_torch_view found = {.row = -1};
    if (what == HKI_TORCH_TENSOR || what == HKI_TORCH_TENSOR_OF)
        return hki_torch_get_view(self->file, arguments, what == HKI_TORCH_TENSOR_OF, self->path,
                                  &found, self->error) &&
               list_array(self, &found);
    if (what == HKI_TORCH_STRANGE)
        return list_array(self, NULL);
    if (what == HKI_TORCH_PARAMETER && first && first->kind == HKI_PICKLE_CALL && depth < 4)
        return list_tensor(self, hki_pickle_at(pickle, first->callable),
                           hki_pickle_at(pickle, first->arguments), depth + 1);
    if (what == HKI_TORCH_TYPED && first && its && its->kind == HKI_PICKLE_TUPLE && depth < 4)
        return list_tensor(self, first, its, depth + 1);
    return fail(self, "has a parameter without a tensor");
}

/* ---- what nests ------------------------------------------------------------------------------------------ */

static bool list_value(reader *self, uint32_t value);

static bool list_part(reader *self, const char *name, size_t bytes, uint32_t value)
{
    size_t before = 0;
    const bool is_good = enter(self, name, bytes, &before) && list_value(self, value);
    leave(self, before);
    return is_good;
}

static bool list_parts(reader *self, const hki_pickle_parts *parts)
{
    const hki_pickle *pickle = &self->file->pickle;
    uint32_t cell = parts->first;
    bool is_good = add(self, "[");
    for (uint32_t i = 0; i < parts->count && is_good; i++, cell = pickle->cells[cell].next) {
        char name[16];
        const int bytes = hki_format(name, sizeof name, "%u", i);
        is_good = (!i || add(self, ",")) &&
                  list_part(self, name, (size_t)bytes, pickle->cells[cell].value);
    }
    return is_good && add(self, "]");
}

/* A value by its key. */
static bool list_pair(reader *self, const hki_pickle_value *key, uint32_t value)
{
    char number[BIG_INT_DIGITS + 40], *name = NULL;
    const bool is_text = key->kind == HKI_PICKLE_TEXT;
    if (is_text && !(name = copy_text(self, key)))
        return false;
    if (!is_text && !print_number(self, key, number, sizeof number))
        return fail(self, "has a dict with a key that is neither a text nor a number");
    const char *const said = is_text ? name : number;
    const bool is_good =
        add(self, "[") && (is_text ? add_text(self, said, strlen(said)) : add(self, said)) &&
        add(self, ",") && list_part(self, said, strlen(said), value) && add(self, "]");
    free(name);
    return is_good;
}

static bool list_pairs(reader *self, const hki_pickle_parts *parts)
{
    const hki_pickle *pickle = &self->file->pickle;
    uint32_t cell = parts->first;
    bool is_good = add(self, "{\"dict\":[");
    for (uint32_t i = 0; i + 1 < parts->count && is_good; i += 2) {
        const hki_pickle_value *key = hki_pickle_at(pickle, pickle->cells[cell].value);
        cell = pickle->cells[cell].next;
        is_good = (!i || add(self, ",")) && list_pair(self, key, pickle->cells[cell].value);
        cell = pickle->cells[cell].next;
    }
    return is_good && add(self, "]}");
}

/* Python 2's: an ordered dict of a list of pairs. */
static bool list_given_pairs(reader *self, const hki_pickle_value *given)
{
    const hki_pickle *pickle = &self->file->pickle;
    uint32_t cell = given->parts.first;
    bool is_good = add(self, "{\"dict\":[");
    for (uint32_t i = 0; i < given->parts.count && is_good; i++) {
        const hki_pickle_value *pair = hki_pickle_at(pickle, pickle->cells[cell].value);
        const hki_pickle_value *key = hki_pickle_part(pickle, pair, 0);
        if (!key || pair->parts.count != 2)
            return fail(self, "has a dict of what is no pair");
        is_good =
            (!i || add(self, ",")) && list_pair(self, key, pickle->cells[pair->parts.last].value);
        cell = pickle->cells[cell].next;
    }
    return is_good && add(self, "]}");
}

static bool list_kind(reader *self, const char *kind, const hki_pickle_parts *parts)
{
    return add(self, "{\"") && add(self, kind) && add(self, "\":") && list_parts(self, parts) &&
           add(self, "}");
}

static bool list_call(reader *self, const hki_pickle_value *of)
{
    const hki_pickle *pickle = &self->file->pickle;
    const hki_pickle_value *callable = hki_pickle_at(pickle, of->callable),
                           *arguments = hki_pickle_at(pickle, of->arguments),
                           *first = hki_pickle_part(pickle, arguments, 0);
    switch (hki_torch_name_at(callable->integer)->role) {
    case HKI_TORCH_TENSOR:
    case HKI_TORCH_TENSOR_OF:
    case HKI_TORCH_PARAMETER:
    case HKI_TORCH_TYPED:
    case HKI_TORCH_STRANGE:
        return list_tensor(self, callable, arguments, 0);
    case HKI_TORCH_DICT:
        if (!first)
            return list_pairs(self, &of->parts);
        return first->kind == HKI_PICKLE_LIST && !of->parts.count
                   ? list_given_pairs(self, first)
                   : fail(self, "has a dict of what is no list of pairs");
    case HKI_TORCH_DICT_OF:
        return first && first->kind == HKI_PICKLE_DICT ? list_pairs(self, &first->parts)
                                                       : fail(self, "has a dict of what is none");
    case HKI_TORCH_SET:
        return first && first->kind == HKI_PICKLE_LIST ? list_kind(self, "set", &first->parts)
                                                       : fail(self, "has a set of what is no list");
    case HKI_TORCH_SIZE:
        return first && first->kind == HKI_PICKLE_TUPLE ? list_kind(self, "tuple", &first->parts)
                                                        : fail(self, "has a size that is no tuple");
    case HKI_TORCH_TEXT:
        return first && first->kind == HKI_PICKLE_TEXT ? list_text(self, first)
                                                       : fail(self, "has a device without a name");
    default:
        return fail(self, "calls what makes no value");
    }
}

static bool list_kinds(reader *self, const hki_pickle_value *of)
{
    switch (of->kind) {
    case HKI_PICKLE_NONE:
        return add(self, "null");
    case HKI_PICKLE_BYTES:
        return add(self, "{\"bytes\":[]}"); /* of which nothing is made */
    case HKI_PICKLE_TEXT:
        return list_text(self, of);
    case HKI_PICKLE_LIST:
        return list_parts(self, &of->parts);
    case HKI_PICKLE_TUPLE:
        return list_kind(self, "tuple", &of->parts);
    case HKI_PICKLE_SET:
        return list_kind(self, "set", &of->parts);
    case HKI_PICKLE_DICT:
        return list_pairs(self, &of->parts);
    case HKI_PICKLE_GLOBAL:
        return list_name(self, of);
    case HKI_PICKLE_CALL:
        return list_call(self, of);
    case HKI_PICKLE_PERSISTENT:
        return fail(self, "has a storage where a tensor would be right");
    default:
        return list_number(self, of);
    }
}

static bool list_value(reader *self, uint32_t value)
{
    if (!self->visits_left)
        return fail(self, "has lists within lists again and again");
    if (self->depth == MOST_DEPTH)
        return fail(self, "nests deeper than 64 levels");
    self->visits_left--;
    self->depth++;
    const bool is_good = list_kinds(self, hki_pickle_at(&self->file->pickle, value));
    self->depth--;
    return is_good;
}

bool hki_torch_list(const hki_torch_file *file, hki_io_contents *contents, hki_io_error *error)
{
    const hki_pickle *pickle = &file->pickle;
    reader *self = malloc(sizeof *self);
    if (!self)
        return hki_io_fail_memory(error);
    *self = (reader){.file = file,
                     .contents = contents,
                     .error = error,
                     .visits_left = 4 * pickle->count + 1024,
                     .names_left = 64 * pickle->count + 16 * pickle->bytes + (1 << 16),
                     .bytes_left = MOST_TIMES * file->source->bytes + MOST_BESIDE};
    const bool is_good = list_value(self, pickle->root);
    if (is_good)
        contents->structure = self->structure.data;
    else
        free(self->structure.data);
    free(self);
    return is_good;
}
