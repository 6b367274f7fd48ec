#define ZLIB_CONST /* z_stream.next_in points to const */
#include "data/idx_file.h"
#include "base/regular_file.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define INPUT_BYTES       32768
#define FIRST_GROWTH      ((size_t)65536)
#define SURPLUS_COUNTED   ((uint64_t)1 << 20) /* how far bytes beyond the elements are counted */
#define GZIP_ONLY_MAX_WIN (15 + 16)

/* Decoded bytes of one file, from a descriptor or from memory. */
typedef struct source {
    const char *name;
    char *message;
    size_t message_bytes;

    int fd; /* -1: from memory, all of it in input */
    const uint8_t *input;
    size_t input_bytes;
    bool input_ended;

    bool gzip;
    bool between_members;   /* of a gzip file: the last member's check sum was right */
    bool cut;               /* input ended inside a gzip member */
    uint64_t decoded_bytes; /* by gzip, over all members */
    z_stream stream;
    uint8_t buffer[INPUT_BYTES];
} source;

/* ---- messages ---- */

HK_PRINTF(5, 0)
static hk_code fail_list(hk_code code, char *message, size_t message_bytes, const char *name,
                         const char *format, va_list arguments)
{
    char shown[HKI_NAME_SHOWN_BYTES];
    int used;

    if (message_bytes == 0)
        return code;
    hki_show_name(shown, sizeof shown, name);
    used = snprintf(message, message_bytes, "%s: ", shown);
    if (used >= 0 && (size_t)used < message_bytes)
        hki_format_va(message + used, message_bytes - (size_t)used, format, arguments);
    return code;
}

hk_code hki_data_fail(hk_code code, char *message, size_t message_bytes, const char *name,
                      const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail_list(code, message, message_bytes, name, format, arguments);
    va_end(arguments);
    return code;
}

HK_PRINTF(3, 4) static hk_code fail(const source *from, hk_code code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail_list(code, from->message, from->message_bytes, from->name, format, arguments);
    va_end(arguments);
    return code;
}

/* ---- element types ---- */

static const struct {
    hki_idx_type type;
    const char *name;
    size_t bytes;
} idx_types[] = {
    {HKI_IDX_U8, "u8", 1},   {HKI_IDX_I8, "i8", 1},   {HKI_IDX_I16, "i16", 2},
    {HKI_IDX_I32, "i32", 4}, {HKI_IDX_F32, "f32", 4}, {HKI_IDX_F64, "f64", 8},
};

const char *hki_idx_type_name(hki_idx_type type)
{
    for (size_t i = 0; i < sizeof idx_types / sizeof idx_types[0]; i++)
        if (idx_types[i].type == type)
            return idx_types[i].name;
    return NULL;
}

size_t hki_idx_type_bytes(hki_idx_type type)
{
    for (size_t i = 0; i < sizeof idx_types / sizeof idx_types[0]; i++)
        if (idx_types[i].type == type)
            return idx_types[i].bytes;
    return 0;
}

/* ---- the source of bytes ---- */

/* Reads on if the input is used up; sets input_ended at the end. */
static hk_code refill(source *from)
{
    ssize_t got;

    if (from->input_bytes > 0 || from->input_ended)
        return HK_OK;
    if (from->fd < 0) {
        from->input_ended = true;
        return HK_OK;
    }
    do
        got = read(from->fd, from->buffer, sizeof from->buffer);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        char text[128];
        return fail(from, HK_IO, "cannot be read: %s; check the disk",
                    strerror_r(errno, text, sizeof text));
    }
    from->input = from->buffer;
    from->input_bytes = (size_t)got;
    from->input_ended = got == 0;
    return HK_OK;
}

static hk_code corrupt(const source *from)
{
    return fail(from, HK_BAD_DATA,
                "is corrupt: gzip stream fails with \"%s\" after %" PRIu64
                " decoded bytes; fetch the file again",
                from->stream.msg ? from->stream.msg : "no progress", from->decoded_bytes);
}

/* One step of decompression into room bytes at to; *got may be 0. The input is not empty. */
static hk_code inflate_step(source *from, uint8_t *to, size_t room, size_t *got)
{
    z_stream *stream = &from->stream;
    uInt input_given = from->input_bytes > UINT_MAX ? UINT_MAX : (uInt)from->input_bytes;
    uInt room_given = room > UINT_MAX ? UINT_MAX : (uInt)room;
    int outcome;

    if (from->between_members) {
        if (from->input[0] != 0x1F)
            return fail(from, HK_BAD_DATA,
                        "has trailing data: %zu bytes or more stand after its gzip stream, none "
                        "should; fetch the file again",
                        from->input_bytes);
        if (inflateReset(stream) != Z_OK)
            return corrupt(from);
        from->between_members = false;
    }
    stream->next_in = from->input;
    stream->avail_in = input_given;
    stream->next_out = to;
    stream->avail_out = room_given;
    outcome = inflate(stream, Z_NO_FLUSH);
    *got = room_given - stream->avail_out;
    from->decoded_bytes += *got;
    from->input += input_given - stream->avail_in;
    from->input_bytes -= input_given - stream->avail_in;

    if (outcome == Z_STREAM_END)
        from->between_members = true;
    else if (outcome == Z_MEM_ERROR)
        return fail(from, HK_OUT_OF_MEMORY, "not enough memory to decompress: free about 64 KiB");
    else if (outcome != Z_OK || (*got == 0 && stream->avail_in == input_given))
        return corrupt(from);
    return HK_OK;
}

/* Decodes room bytes to to; fewer only at the end. */
static hk_code pull(source *from, uint8_t *to, size_t room, size_t *got)
{
    hk_code code;
    size_t total = 0;

    while (total < room) {
        size_t step = 0;

        code = refill(from);
        if (code != HK_OK)
            return code;
        if (from->input_bytes == 0) {
            from->cut = from->gzip && !from->between_members;
            break;
        }
        if (from->gzip) {
            code = inflate_step(from, to + total, room - total, &step);
            if (code != HK_OK)
                return code;
        } else {
            step = from->input_bytes < room - total ? from->input_bytes : room - total;
            memcpy(to + total, from->input, step);
            from->input += step;
            from->input_bytes -= step;
        }
        total += step;
    }
    *got = total;
    return HK_OK;
}

/* ---- the format ---- */

static hk_code truncated_header(const source *from, size_t wanted, size_t got)
{
    if (from->cut)
        return fail(from, HK_BAD_DATA,
                    "is truncated: gzip stream ends early, with %zu of %zu header bytes; fetch the "
                    "file again",
                    got, wanted);
    if (got == 0)
        return fail(from, HK_BAD_DATA,
                    "is empty: an idx file has a header of 8 bytes or more; fetch the file again");
    return fail(from, HK_BAD_DATA,
                "is truncated: header should have %zu bytes, file holds %zu; fetch the file again",
                wanted, got);
}

/* Reads type, ndim and dims, and *promised, the bytes that the elements should have. */
static hk_code read_header(source *from, hki_idx_file *file, uint64_t limit, size_t *promised)
{
    uint8_t bytes[4 + 4 * HKI_IDX_MAX_DIMS];
    size_t got, wanted = 4, element_bytes;
    uint64_t product;
    bool none = false;
    hk_code code = pull(from, bytes, 4, &got);

    if (code != HK_OK)
        return code;
    if (got < 4)
        return truncated_header(from, 4, got);
    if (bytes[0] != 0 || bytes[1] != 0)
        return fail(
            from, HK_BAD_DATA,
            "is not an idx file: begins with %02x %02x, 00 00 would be right; pass a file in "
            "the format of MNIST, plain or gzip",
            bytes[0], bytes[1]);
    file->type = (hki_idx_type)bytes[2];
    element_bytes = hki_idx_type_bytes(file->type);
    if (element_bytes == 0)
        return fail(from, HK_BAD_DATA,
                    "has element type 0x%02x; 0x08 (u8), 0x09 (i8), 0x0b (i16), 0x0c (i32), 0x0d "
                    "(f32) or 0x0e (f64) would be right; fetch the file again",
                    bytes[2]);
    file->ndim = bytes[3];
    if (file->ndim < 1 || file->ndim > HKI_IDX_MAX_DIMS)
        return fail(from, HK_BAD_DATA,
                    "has %d dimensions; 1 to %d would be right; fetch the file again", file->ndim,
                    HKI_IDX_MAX_DIMS);
    wanted += 4 * (size_t)file->ndim;
    code = pull(from, bytes + 4, wanted - 4, &got);
    if (code != HK_OK)
        return code;
    if (got < wanted - 4)
        return truncated_header(from, wanted, 4 + got);

    product = element_bytes;
    for (int i = 0; i < file->ndim; i++) {
        const uint8_t *at = bytes + 4 + 4 * i;
        uint32_t dim = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];

        file->dims[i] = dim;
        none = none || dim == 0;
        /* Zeros are left out, so that no part of the product can overflow later either. */
        if (dim != 0 && product > (uint64_t)INT64_MAX / dim)
            return fail(from, HK_BAD_DATA,
                        "is too large: dimension %d is %" PRIu32 ", and the first %d promise more "
                        "than %" PRId64 " bytes, limit %" PRIu64 "; fetch the file again",
                        i, dim, i + 1, INT64_MAX, limit);
        product *= dim != 0 ? dim : 1;
    }
    if (none)
        product = 0;
    if (product > limit || product > PTRDIFF_MAX)
        return fail(from, HK_BAD_DATA,
                    "is too large: header promises %" PRIu64 " bytes, limit %" PRIu64
                    "; fetch the file again or raise the limit",
                    product, limit);
    *promised = (size_t)product;
    return HK_OK;
}

static hk_code truncated_data(const source *from, size_t promised, size_t held)
{
    if (from->cut)
        return fail(
            from, HK_BAD_DATA,
            "is truncated: header promises %zu bytes, file holds %zu before its gzip stream "
            "ends early; fetch the file again",
            promised, held);
    return fail(from, HK_BAD_DATA,
                "is truncated: header promises %zu bytes, file holds %zu; fetch the file again",
                promised, held);
}

static hk_code read_elements(source *from, hki_idx_file *file, size_t promised)
{
    hk_code code;
    size_t capacity = 0;

    while (file->data_bytes < promised) {
        size_t got, grown = capacity == 0 ? FIRST_GROWTH : capacity;
        uint8_t *moved;

        capacity = promised - capacity > grown ? capacity + grown : promised;
        moved = realloc(file->data, capacity);
        if (!moved)
            return fail(from, HK_OUT_OF_MEMORY,
                        "not enough memory: needs %zu bytes, %zu could not be had; free some or "
                        "use a smaller data set",
                        promised, capacity);
        file->data = moved;
        code = pull(from, moved + file->data_bytes, capacity - file->data_bytes, &got);
        if (code != HK_OK)
            return code;
        file->data_bytes += got;
        if (file->data_bytes < capacity)
            return truncated_data(from, promised, file->data_bytes);
    }
    return HK_OK;
}

/* Reads to the end, which is where gzip keeps its check sum: nothing may stand there. */
static hk_code read_end(source *from, size_t promised)
{
    uint8_t bytes[4096];
    uint64_t surplus = 0;
    size_t got = 1;

    while (got > 0 && surplus < SURPLUS_COUNTED) {
        hk_code code = pull(from, bytes, sizeof bytes, &got);
        if (code != HK_OK && surplus == 0)
            return code;
        if (code != HK_OK)
            break;
        surplus += got;
    }
    if (surplus > 0)
        return fail(from, HK_BAD_DATA,
                    "has trailing data: header promises %zu bytes, file holds %s%" PRIu64
                    "; fetch the file again",
                    promised, surplus < SURPLUS_COUNTED ? "" : "at least ",
                    (uint64_t)promised + surplus);
    if (from->cut)
        return truncated_data(from, promised, promised);
    return HK_OK;
}

static void to_host_order(hki_idx_file *file)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    size_t element_bytes = hki_idx_type_bytes(file->type);

    if (element_bytes == 1)
        return;
    for (size_t at = 0; at < file->data_bytes; at += element_bytes) {
        for (size_t i = 0; i < element_bytes / 2; i++) {
            uint8_t *low = &file->data[at + i], *high = &file->data[at + element_bytes - 1 - i];
            uint8_t kept = *low;
            *low = *high;
            *high = kept;
        }
    }
#else
    (void)file;
#endif
}

static hk_code decode(source *from, hki_idx_file *file, uint64_t byte_limit)
{
    uint64_t limit = byte_limit != 0 ? byte_limit : HKI_IDX_DEFAULT_LIMIT;
    size_t promised = 0;
    hk_code code = refill(from);

    if (code != HK_OK)
        return code;
    /* A regular file gives its first two bytes at once; one alone is neither format. */
    from->gzip = from->input_bytes >= 2 && from->input[0] == 0x1F && from->input[1] == 0x8B;
    if (from->gzip && inflateInit2(&from->stream, GZIP_ONLY_MAX_WIN) != Z_OK)
        return fail(from, HK_OUT_OF_MEMORY, "not enough memory to decompress: free about 64 KiB");
    code = read_header(from, file, limit, &promised);
    if (code == HK_OK)
        code = read_elements(from, file, promised);
    if (code == HK_OK)
        code = read_end(from, promised);
    if (code == HK_OK)
        to_host_order(file);
    if (from->gzip)
        inflateEnd(&from->stream);
    return code;
}

/* ---- entries ---- */

static void start(source *from, hki_idx_file *file, const char *name, char *message,
                  size_t message_bytes)
{
    memset(file, 0, sizeof *file);
    if (message_bytes > 0)
        message[0] = '\0';
    from->name = name;
    from->message = message;
    from->message_bytes = message_bytes;
    from->fd = -1;
}

hk_code hki_idx_file_read(hki_idx_file *file, const char *path, uint64_t byte_limit, char *message,
                          size_t message_bytes)
{
    source from = {0};
    char why[256];
    uint64_t bytes;
    int opened;
    hk_code code;

    start(&from, file, path, message, message_bytes);
    code = hki_regular_file_open(path, "pass an idx file, plain or gzip", &opened, &bytes, why,
                                 sizeof why);
    if (code != HK_OK)
        return fail(&from, code, "%s", why);
    from.fd = opened;
    code = decode(&from, file, byte_limit);
    close(opened);
    if (code != HK_OK)
        hki_idx_file_deinit(file);
    return code;
}

hk_code hki_idx_file_parse(hki_idx_file *file, const char *name, const void *bytes,
                           size_t byte_count, uint64_t byte_limit, char *message,
                           size_t message_bytes)
{
    source from = {0};
    hk_code code;

    start(&from, file, name, message, message_bytes);
    from.input = bytes;
    from.input_bytes = byte_count;
    code = decode(&from, file, byte_limit);
    if (code != HK_OK)
        hki_idx_file_deinit(file);
    return code;
}

void hki_idx_file_deinit(hki_idx_file *file)
{
    free(file->data);
    memset(file, 0, sizeof *file);
}
