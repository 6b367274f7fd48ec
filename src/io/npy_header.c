/* The header of an npy file, a literal of Python of which only what NumPy writes is taken. */
#include "io/npy.h"

#include "base/quote.h"
#include "base/regular_file.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER_BYTES 65536 /* what version 1 can say */
#define MAX_AXES         64

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = sizeof magic - 1 };

/* ---- the prelude ----------------------------------------------------------------------------------------- */

bool hki_npy_parse_prelude(const uint8_t *bytes, size_t got, uint32_t *header_begin,
                           uint32_t *header_bytes, hki_io_error *error)
{
    if (got < 10 || memcmp(bytes, magic, MAGIC_BYTES))
        return hki_io_fail(
            error, HK_BAD_DATA,
            "is no npy file: it does not begin with 93 'NUMPY' and a version; pass one");
    const unsigned version = bytes[6];
    if (version < 1 || version > 3 || bytes[7])
        return hki_io_fail(error, HK_BAD_DATA, "has version %u.%u; 1.0, 2.0 or 3.0 would be right",
                           version, bytes[7]);
    *header_begin = version == 1 ? 10 : 12;
    *header_bytes = (uint32_t)bytes[9] << 8 | bytes[8];
    if (version > 1 && got >= 12)
        *header_bytes |= (uint32_t)bytes[11] << 24 | (uint32_t)bytes[10] << 16;
    if (got < *header_begin)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is truncated: it has %zu bytes; save or fetch it again", got);
    if (*header_bytes > MAX_HEADER_BYTES)
        return hki_io_fail(error, HK_BAD_DATA,
                           "promises a header of %" PRIu32 " bytes; at most %d would be right",
                           *header_bytes, MAX_HEADER_BYTES);
    return true;
}

/* ---- Python ---------------------------------------------------------------------------------------------- */

typedef struct parser {
    const char *at, *end;
    hki_io_error *error;
} parser;

static void skip_space(parser *self)
{
    while (self->at < self->end && memchr(" \t\r\n", *self->at, 4))
        self->at++;
}

static bool take(parser *self, const char *word)
{
    const size_t length = strlen(word);
    skip_space(self);
    if ((size_t)(self->end - self->at) < length || memcmp(self->at, word, length))
        return false;
    self->at += length;
    return true;
}

static bool fail(parser *self, const char *expected)
{
    if (self->at >= self->end)
        return hki_io_fail(self->error, HK_BAD_DATA,
                           "its header ends where %s should follow; save or fetch it again",
                           expected);
    return hki_io_fail(self->error, HK_BAD_DATA,
                       "its header has '%c' where %s should be; save or fetch it again",
                       hki_io_shown(*self->at), expected);
}

static bool expect(parser *self, const char *word, const char *expected)
{
    return take(self, word) || fail(self, expected);
}

/* A text in quotes, without escapes, which NumPy has no need of. */
static bool take_text(parser *self, char *text, size_t bytes)
{
    skip_space(self);
    const char quote = self->at < self->end ? *self->at : 0;
    if (quote != '\'' && quote != '"')
        return fail(self, "a text in quotes");
    const char *begin = ++self->at;
    while (self->at < self->end && *self->at != quote)
        self->at++;
    if (self->at == self->end)
        return fail(self, "the quote that ends a text");
    const size_t length = (size_t)(self->at++ - begin);
    snprintf(text, bytes, "%.*s", (int)(length < bytes ? length : hki_utf8_cut(begin, bytes - 1)),
             begin);
    return true;
}

/* A list, of the fields of a structure, say: nothing in it matters. */
static bool skip_list(parser *self)
{
    int depth = 0;
    do {
        if (self->at == self->end)
            return fail(self, "the end of a list");
        const char c = *self->at++;
        depth += (c == '[' || c == '(') - (c == ']' || c == ')');
        if (c == '\'' || c == '"') {
            while (self->at < self->end && *self->at != c)
                self->at++;
            self->at += self->at < self->end;
        }
    } while (depth > 0);
    return true;
}

static bool take_size(parser *self, int64_t *size)
{
    skip_space(self);
    const char *begin = self->at;
    int64_t value = 0;
    while (self->at < self->end && *self->at >= '0' && *self->at <= '9') {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *self->at - '0', &value))
            return fail(self, "a size below 2^63");
        self->at++;
    }
    if (self->at == begin)
        return fail(self, "a size of an axis, a whole number from 0");
    if (self->at < self->end && *self->at == 'L') /* Python 2's */
        self->at++;
    *size = value;
    return true;
}

static bool take_shape(parser *self, int64_t sizes[MAX_AXES], int *count)
{
    *count = 0;
    if (!expect(self, "(", "a tuple, the shape"))
        return false;
    while (!take(self, ")")) {
        if (*count == MAX_AXES)
            return fail(self, "the end of the shape, which has too many axes,");
        if (!take_size(self, &sizes[(*count)++]))
            return false;
        if (!take(self, ","))
            return expect(self, ")", "a comma or the end of the shape");
    }
    return true;
}

/* ---- the header ------------------------------------------------------------------------------------------ */

typedef struct description {
    char descr[32]; /* "": a list */
    bool is_fortran;
    int64_t sizes[MAX_AXES];
    int ndim;
    bool has_descr, has_order, has_shape;
} description;

static bool read_member(parser *self, description *found)
{
    char key[16];
    bool *seen;
    if (!take_text(self, key, sizeof key) || !expect(self, ":", "a colon"))
        return false;
    if (!strcmp(key, "descr"))
        seen = &found->has_descr;
    else if (!strcmp(key, "fortran_order"))
        seen = &found->has_order;
    else if (!strcmp(key, "shape"))
        seen = &found->has_shape;
    else
        return hki_io_fail(
            self->error, HK_BAD_DATA,
            "its header has the key '%s'; 'descr', 'fortran_order' and 'shape' would "
            "be right",
            hki_quote(key, 20).text);
    if (*seen)
        return hki_io_fail(self->error, HK_BAD_DATA,
                           "its header has the key '%s' twice; once would be right", key);
    *seen = true;
    if (seen == &found->has_shape)
        return take_shape(self, found->sizes, &found->ndim);
    if (seen == &found->has_order) {
        found->is_fortran = take(self, "True");
        return found->is_fortran || expect(self, "False", "True or False");
    }
    skip_space(self);
    if (self->at < self->end && *self->at == '[')
        return skip_list(self);
    return take_text(self, found->descr, sizeof found->descr);
}

static bool read_members(parser *self, description *found)
{
    if (!expect(self, "{", "a dictionary"))
        return false;
    while (!take(self, "}")) {
        if (!read_member(self, found))
            return false;
        if (take(self, ","))
            continue;
        if (!expect(self, "}", "a comma or the end of the dictionary"))
            return false;
        break;
    }
    skip_space(self);
    if (self->at < self->end)
        return fail(self, "nothing but spaces");
    if (found->has_descr && found->has_order && found->has_shape)
        return true;
    return hki_io_fail(self->error, HK_BAD_DATA, "its header has no '%s'; save or fetch it again",
                       !found->has_descr   ? "descr"
                       : !found->has_order ? "fortran_order"
                                           : "shape");
}

static const struct {
    const char *name;
    hk_dtype dtype;
} dtypes[] = {{"f4", HK_F32},  {"f8", HK_F64}, {"i4", HK_I32}, {"i8", HK_I64},  {"u1", HK_U8},
              {"b1", HK_BOOL}, {"f2", HK_F16}, {"i1", HK_I8},  {"i2", HK_I16},  {"u2", HK_U16},
              {"u4", HK_U32},  {"u8", HK_U64}, {"c8", HK_C64}, {"c16", HK_C128}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* False: no hk_dtype. */
static bool find_dtype(const char *descr, hki_io_entry *entry)
{
    const char order = descr[0];
    if (!order || !strchr("<>=|", order))
        return false;
    for (int i = 0; i < DTYPES; i++) {
        if (strcmp(descr + 1, dtypes[i].name))
            continue;
        const bool is_single = hk_dtype_bytes(dtypes[i].dtype) == 1;
        entry->dtype = dtypes[i].dtype;
        entry->is_swapped = !is_single && order == (HKI_IO_HOST_IS_LITTLE ? '>' : '<');
        return is_single || order != '|';
    }
    return false;
}

static bool note_unsupported(hki_io_entry *entry, const description *found, hki_io_error *error)
{
    char shown[64];
    hki_show_name(shown, sizeof shown, *found->descr ? found->descr : "a structure");
    const int length =
        found->ndim > HK_MAX_NDIM
            ? asprintf(&entry->unsupported, "has %d axes; at most %d would be right", found->ndim,
                       HK_MAX_NDIM)
            : asprintf(&entry->unsupported,
                       "has dtype %s; f2 to f8, c8, c16, i1 to i8, u1 to u8 or b1 would be right",
                       shown);
    if (length >= 0)
        return true;
    entry->unsupported = NULL;
    return hki_io_fail_memory(error);
}

bool hki_npy_parse_header(const char *header, size_t header_bytes, uint64_t data_bytes,
                          hki_io_entry *entry, hki_io_error *error)
{
    parser self = {header, header + header_bytes, error};
    description found = {0};
    uint64_t needed = 0;
    if (!read_members(&self, &found))
        return false;
    if (!find_dtype(found.descr, entry) || found.ndim > HK_MAX_NDIM)
        return note_unsupported(entry, &found, error);
    if (!hki_io_bytes_of(found.sizes, (size_t)found.ndim, hk_dtype_bytes(entry->dtype), &needed))
        return hki_io_fail(error, HK_BAD_DATA,
                           "has a shape of more than 2^62 bytes; save or fetch "
                           "it again");
    if (needed != data_bytes)
        return hki_io_fail(error, HK_BAD_DATA,
                           "%s: its shape and dtype take %" PRIu64 " bytes, it holds %" PRIu64
                           "; save or fetch it again",
                           needed > data_bytes ? "is truncated" : "has trailing data", needed,
                           data_bytes);
    entry->shape = hk_dims_of(found.sizes, (size_t)found.ndim);
    entry->bytes = entry->span_bytes = needed;
    entry->is_strided = found.is_fortran && found.ndim > 1 && needed;
    for (int64_t axis = 0, stride = 1; axis < found.ndim; stride *= found.sizes[axis++])
        entry->strides[axis] = stride;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------------------- */

size_t hki_npy_print_header(const hk_array *x, char to[HKI_NPY_HEADER_BYTES])
{
    enum { PRELUDE = 10, ALIGNMENT = 64 };
    const hk_dtype dtype = hk_array_dtype(x);
    int row = 0;
    while (dtypes[row].dtype != dtype)
        row++;
    char *at = to + PRELUDE, *const end = to + HKI_NPY_HEADER_BYTES;
    at += snprintf(at, (size_t)(end - at), "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                   hk_dtype_bytes(dtype) > 1 ? '<' : '|', dtypes[row].name);
    for (int i = 0; i < hk_ndim(x); i++)
        at += snprintf(at, (size_t)(end - at), "%s%" PRId64 "%s", i ? " " : "", hk_dim(x, i),
                       i + 1 < hk_ndim(x) || !i ? "," : "");
    at += snprintf(at, (size_t)(end - at), "), }");
    do
        *at++ = ' ';
    while ((at + 1 - to) % ALIGNMENT);
    *at++ = '\n';
    const size_t length = (size_t)(at - to) - PRELUDE;
    memcpy(to, magic, MAGIC_BYTES);
    to[6] = 1;
    to[7] = 0;
    to[8] = (char)length;
    to[9] = (char)(length >> 8);
    return (size_t)(at - to);
}
