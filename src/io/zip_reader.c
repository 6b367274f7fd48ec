#include "io/zip_reader.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    END_BYTES = 22,      /* the record at the end, without its comment */
    WIDE_END_BYTES = 56, /* zip64's */
    LOCATOR_BYTES = 20,  /* of where that one is */
    ENTRY_BYTES = 46,    /* of the directory, without name, extra fields and comment */
    FRONT_BYTES = 30,    /* in front of a member, without name and extra fields */
    MOST_COMMENT_BYTES = 65535,
    MOST_NAME_BYTES = 65535,
    EXTRA_WIDE = 1, /* the kind of extra field that zip64 has */
    FLAG_ENCRYPTED = 1,
    CHUNK_BYTES = 1 << 16,
    MOST_INFLATED = 1032 /* deflate makes no byte out of less than a 1032nd */
};
#define NOT_HERE      UINT32_MAX /* it is in an extra field, or in zip64's record */
#define NOT_HERE_HALF UINT16_MAX

static uint64_t get(const uint8_t *bytes, size_t at, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | bytes[at + (size_t)i];
    return value;
}

static bool is_signed(const uint8_t *bytes, char third, char fourth)
{
    return bytes[0] == 'P' && bytes[1] == 'K' && bytes[2] == third && bytes[3] == fourth;
}

/* ---- the end --------------------------------------------------------------------------------------------- */

/* Where the directory is. */
typedef struct place {
    uint64_t at, bytes, count;
    uint64_t end; /* nothing of directory and members lies behind it */
} place;

static bool fail_end(hki_io_error *error)
{
    return hki_io_fail(error, HK_BAD_DATA,
                       "is no zip file, or is truncated: no zip directory is at its end; save or "
                       "fetch it again");
}

/* zip64's record, where there is one. */
static bool read_wide_end(const hki_io_source *source, uint64_t end_at, place *found,
                          hki_io_error *error)
{
    uint8_t locator[LOCATOR_BYTES], end[WIDE_END_BYTES];
    if (end_at < LOCATOR_BYTES)
        return true;
    if (!hki_io_read(source, end_at - LOCATOR_BYTES, locator, LOCATOR_BYTES, error))
        return false;
    if (!is_signed(locator, 6, 7))
        return true;
    const uint64_t at = get(locator, 8, 8);
    if (at > end_at - LOCATOR_BYTES || end_at - LOCATOR_BYTES - at < WIDE_END_BYTES)
        return fail_end(error);
    if (!hki_io_read(source, at, end, WIDE_END_BYTES, error))
        return false;
    if (!is_signed(end, 6, 6))
        return fail_end(error);
    *found = (place){
        .at = get(end, 48, 8), .bytes = get(end, 40, 8), .count = get(end, 32, 8), .end = at};
    return true;
}

static bool find_directory(const hki_io_source *source, place *found, hki_io_error *error)
{
    const uint64_t most = END_BYTES + MOST_COMMENT_BYTES;
    const size_t tail_bytes = (size_t)(source->bytes < most ? source->bytes : most);
    const uint64_t tail_at = source->bytes - tail_bytes;
    if (tail_bytes < END_BYTES)
        return fail_end(error);
    uint8_t *tail = malloc(tail_bytes);
    if (!tail)
        return hki_io_fail_memory(error);
    bool is_good = hki_io_read(source, tail_at, tail, tail_bytes, error);
    size_t at = tail_bytes - END_BYTES;
    /* The comment, which may hold anything, ends with the file. */
    while (is_good &&
           !(is_signed(tail + at, 5, 6) && get(tail, at + 20, 2) == tail_bytes - END_BYTES - at))
        is_good = at-- || fail_end(error);
    if (is_good) {
        const uint64_t end_at = tail_at + at;
        *found = (place){.at = get(tail, at + 16, 4),
                         .bytes = get(tail, at + 12, 4),
                         .count = get(tail, at + 10, 2),
                         .end = end_at};
        if (found->at == NOT_HERE || found->bytes == NOT_HERE || found->count == NOT_HERE_HALF)
            is_good = read_wide_end(source, end_at, found, error);
    }
    free(tail);
    return is_good &&
           ((found->at <= found->end && found->bytes <= found->end - found->at) || fail_end(error));
}

/* ---- the directory --------------------------------------------------------------------------------------- */

/* Takes a value from zip64's extra field where it is not in its narrow place. */
static bool widen(uint64_t *value, const uint8_t *extra, size_t *at, size_t bytes)
{
    if (*value != NOT_HERE)
        return true;
    if (bytes - *at < 8)
        return false;
    *value = get(extra, *at, 8);
    *at += 8;
    return true;
}

static bool read_extra(hki_zip_member *member, const uint8_t *extra, size_t bytes)
{
    size_t at = 0;
    while (bytes - at >= 4) {
        const uint64_t kind = get(extra, at, 2), size = get(extra, at + 2, 2);
        at += 4;
        if (size > bytes - at)
            return false;
        if (kind == EXTRA_WIDE) {
            size_t inner = 0;
            return widen(&member->bytes, extra + at, &inner, size) &&
                   widen(&member->packed_bytes, extra + at, &inner, size) &&
                   widen(&member->at, extra + at, &inner, size);
        }
        at += size;
    }
    return true;
}

/* One entry of the directory; *at goes on to the next. */
static bool read_entry(const uint8_t *directory, size_t bytes, size_t *at, char *name,
                       hki_zip_member *member)
{
    const uint8_t *entry = directory + *at;
    size_t left = bytes - *at;
    if (left < ENTRY_BYTES || !is_signed(entry, 1, 2))
        return false;
    const size_t name_bytes = get(entry, 28, 2), extra_bytes = get(entry, 30, 2),
                 all = ENTRY_BYTES + name_bytes + extra_bytes + get(entry, 32, 2);
    if (left < all)
        return false;
    *member = (hki_zip_member){.at = get(entry, 42, 4),
                               .packed_bytes = get(entry, 20, 4),
                               .bytes = get(entry, 24, 4),
                               .sum = (uint32_t)get(entry, 16, 4),
                               .method = (unsigned)get(entry, 10, 2),
                               .name_bytes = (unsigned)name_bytes,
                               .is_encrypted = get(entry, 8, 2) & FLAG_ENCRYPTED};
    memcpy(name, entry + ENTRY_BYTES, name_bytes);
    name[name_bytes] = '\0';
    *at += all;
    return name_bytes && strlen(name) == name_bytes &&
           read_extra(member, entry + ENTRY_BYTES + name_bytes, extra_bytes);
}

bool hki_zip_read_directory(const hki_io_source *source, hki_zip_found_fn found, void *context,
                            hki_io_error *error)
{
    place where = {0};
    hki_zip_member member;
    size_t at = 0;
    if (!find_directory(source, &where, error))
        return false;
    uint8_t *directory = malloc(where.bytes + 1);
    char *name = malloc(MOST_NAME_BYTES + 1);
    bool is_good = (directory && name) || hki_io_fail_memory(error);
    is_good = is_good && hki_io_read(source, where.at, directory, where.bytes, error);
    for (uint64_t i = 0; i < where.count && is_good; i++)
        is_good = read_entry(directory, where.bytes, &at, name, &member)
                      ? found(context, name, &member, error)
                      : hki_io_fail(error, HK_BAD_DATA,
                                    "has a damaged directory at its member %" PRIu64 " of %" PRIu64
                                    "; save or fetch it again",
                                    i, where.count);
    if (is_good && at != where.bytes)
        is_good = hki_io_fail(error, HK_BAD_DATA,
                              "has a damaged directory: it holds more than the %" PRIu64
                              " members that it promises; save or fetch it again",
                              where.count);
    free(name);
    free(directory);
    return is_good;
}

/* ---- members --------------------------------------------------------------------------------------------- */

struct hki_zip_stream {
    const hki_io_source *source;
    uint64_t at, packed_left, left;
    uint32_t sum, wanted_sum;
    bool is_deflated, has_ended;
    z_stream stream;
    uint8_t chunk[CHUNK_BYTES];
};

bool hki_zip_find(const hki_io_source *source, const hki_zip_member *member, uint64_t *at,
                  hki_io_error *error)
{
    uint8_t front[FRONT_BYTES];
    const char *const why =
        "is damaged: it is not where the directory says; save or fetch it again";
    if (source->bytes < FRONT_BYTES || member->at > source->bytes - FRONT_BYTES)
        return hki_io_fail(error, HK_BAD_DATA, "%s", why);
    if (!hki_io_read(source, member->at, front, FRONT_BYTES, error))
        return false;
    *at = member->at + FRONT_BYTES + get(front, 26, 2) + get(front, 28, 2);
    if (!is_signed(front, 3, 4) || get(front, 8, 2) != member->method ||
        get(front, 26, 2) != member->name_bytes || *at > source->bytes)
        return hki_io_fail(error, HK_BAD_DATA, "%s", why);
    if (member->packed_bytes > source->bytes - *at ||
        member->bytes / MOST_INFLATED > member->packed_bytes ||
        (member->method == HKI_ZIP_STORED && member->bytes != member->packed_bytes))
        return hki_io_fail(error, HK_BAD_DATA,
                           "is damaged: it is said to have %" PRIu64 " bytes, packed into %" PRIu64
                           "; save or fetch it again",
                           member->bytes, member->packed_bytes);
    return true;
}

hki_zip_stream *hki_zip_open(const hki_io_source *source, const hki_zip_member *member,
                             hki_io_error *error)
{
    uint64_t at = 0;
    if (!hki_zip_find(source, member, &at, error))
        return NULL;
    hki_zip_stream *self = malloc(sizeof *self);
    if (!self) {
        hki_io_fail_memory(error);
        return NULL;
    }
    self->source = source;
    self->at = at;
    self->packed_left = member->packed_bytes;
    self->left = member->bytes;
    self->sum = (uint32_t)crc32_z(0, NULL, 0);
    self->wanted_sum = member->sum;
    self->is_deflated = member->method == HKI_ZIP_DEFLATED;
    self->has_ended = !self->is_deflated;
    self->stream = (z_stream){0};
    if (self->is_deflated && inflateInit2(&self->stream, -MAX_WBITS) != Z_OK) {
        hki_io_fail_memory(error);
        free(self);
        return NULL;
    }
    return self;
}

uint64_t hki_zip_left(const hki_zip_stream *self)
{
    return self->left;
}

static bool fail_packed(hki_io_error *error)
{
    return hki_io_fail(
        error, HK_BAD_DATA,
        "is damaged: it cannot be unpacked to what the directory says; save or fetch it "
        "again");
}

/* Gives the stream what it has used up. */
static bool refill(hki_zip_stream *self, hki_io_error *error)
{
    if (self->stream.avail_in)
        return true;
    const size_t bytes = self->packed_left < CHUNK_BYTES ? (size_t)self->packed_left : CHUNK_BYTES;
    if (!hki_io_read(self->source, self->at, self->chunk, bytes, error))
        return false;
    self->at += bytes;
    self->packed_left -= bytes;
    self->stream.next_in = self->chunk;
    self->stream.avail_in = (uInt)bytes;
    return true;
}

/* Unpacks exactly so many bytes, and, where is_end, sees that there are no more. */
static bool inflate_bytes(hki_zip_stream *self, uint8_t *to, uint64_t bytes, bool is_end,
                          hki_io_error *error)
{
    z_stream *stream = &self->stream;
    uint8_t beyond;
    while (bytes || (is_end && !self->has_ended)) {
        const uInt room = bytes ? (uInt)(bytes < INT_MAX ? bytes : INT_MAX) : 1;
        if (self->has_ended || !refill(self, error))
            return fail_packed(error);
        const uInt given = stream->avail_in;
        stream->next_out = bytes ? to : &beyond;
        stream->avail_out = room;
        const int outcome = inflate(stream, Z_NO_FLUSH);
        const uInt got = room - stream->avail_out;
        self->has_ended = outcome == Z_STREAM_END;
        if (outcome == Z_MEM_ERROR)
            return hki_io_fail_memory(error);
        if ((outcome != Z_OK && !self->has_ended) || (!bytes && got) ||
            (!self->has_ended && !got && stream->avail_in == given))
            return fail_packed(error);
        to += got;
        bytes -= got;
    }
    return !is_end || (!stream->avail_in && !self->packed_left) || fail_packed(error);
}

bool hki_zip_read(hki_zip_stream *self, void *to, uint64_t bytes, hki_io_error *error)
{
    if (bytes > self->left)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is truncated: it has %" PRIu64 " bytes where %" PRIu64
                           " should follow; save or fetch it again",
                           self->left, bytes);
    const bool is_end = bytes == self->left;
    if (self->is_deflated ? !inflate_bytes(self, to, bytes, is_end, error)
                          : !hki_io_read(self->source, self->at, to, bytes, error))
        return false;
    if (!self->is_deflated)
        self->at += bytes;
    self->left -= bytes;
    if (bytes)
        self->sum = (uint32_t)crc32_z(self->sum, to, bytes);
    return !is_end || self->sum == self->wanted_sum ||
           hki_io_fail(error, HK_BAD_DATA,
                       "is damaged: its check sum differs; save or fetch it again");
}

void hki_zip_close(hki_zip_stream *self)
{
    if (self && self->is_deflated)
        inflateEnd(&self->stream);
    free(self);
}
