#include "io/zip_writer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    VERSION = 20, /* of the format, that a reader has to know */
    VERSION_WIDE = 45,
    MADE_BY_UNIX = 3 << 8 | VERSION_WIDE,
    FLAG_DESCRIBED_BEHIND = 1 << 3, /* check sum and sizes follow the data */
    FLAG_UTF8 = 1 << 11,
    DAY = 1 << 5 | 1, /* the first of January 1980: the same members give the same bytes */
    EXTRA_WIDE = 1,   /* the kind of extra field that zip64 has */
    CHUNK_BYTES = 1 << 16,
    RECORD_BYTES = 128, /* any fixed part, with its extra field */
};
#define RIGHTS        ((uint32_t)0100600 << 16)
#define NOT_HERE      UINT32_MAX /* it is in the extra field */
#define NOT_HERE_HALF UINT16_MAX

/* Little-endian fields, one behind the other. */
typedef struct record {
    uint8_t bytes[RECORD_BYTES];
    size_t count;
} record;

static void put(record *self, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        self->bytes[self->count++] = (uint8_t)(value >> 8 * i);
}

typedef struct member {
    const char *name;
    uint64_t at, bytes, packed_bytes;
    uint32_t sum;
    bool is_deflated, is_wide;
} member;

static bool write_bytes(hki_zip_writer *self, const void *data, size_t bytes)
{
    self->written_bytes += bytes;
    return self->write(self->context, data, bytes);
}

static bool no_memory(hki_zip_writer *self)
{
    self->lacks_memory = true;
    return false;
}

/* ---- members --------------------------------------------------------------------------------------------- */

/* Method, time and sizes, as they stand in front of a member and in the directory. */
static void put_facts(record *to, const member *of, bool is_known, bool is_wide)
{
    put(to, of->is_deflated ? Z_DEFLATED : 0, 2);
    put(to, 0, 2);
    put(to, DAY, 2);
    put(to, is_known ? of->sum : 0, 4);
    put(to, is_wide ? NOT_HERE : is_known ? of->packed_bytes : 0, 4);
    put(to, is_wide ? NOT_HERE : is_known ? of->bytes : 0, 4);
    put(to, strlen(of->name), 2);
}

static unsigned flags_of(const member *of)
{
    return FLAG_UTF8 | (of->is_deflated ? FLAG_DESCRIBED_BEHIND : 0);
}

static bool write_front(hki_zip_writer *self, const member *of)
{
    const bool is_known = !of->is_deflated;
    record front = {0};
    put(&front, 0x04034b50, 4);
    put(&front, of->is_wide ? VERSION_WIDE : VERSION, 2);
    put(&front, flags_of(of), 2);
    put_facts(&front, of, is_known, of->is_wide);
    put(&front, of->is_wide ? 20 : 0, 2);
    record extra = {0};
    if (of->is_wide) {
        put(&extra, EXTRA_WIDE, 2);
        put(&extra, 16, 2);
        put(&extra, is_known ? of->bytes : 0, 8);
        put(&extra, is_known ? of->packed_bytes : 0, 8);
    }
    return write_bytes(self, front.bytes, front.count) &&
           write_bytes(self, of->name, strlen(of->name)) &&
           write_bytes(self, extra.bytes, extra.count);
}

static bool write_behind(hki_zip_writer *self, const member *of)
{
    const int width = of->is_wide ? 8 : 4;
    record behind = {0};
    put(&behind, 0x08074b50, 4);
    put(&behind, of->sum, 4);
    put(&behind, of->packed_bytes, width);
    put(&behind, of->bytes, width);
    return write_bytes(self, behind.bytes, behind.count);
}

/* Packs and writes what the stream is given, to its last byte where is_last. */
static bool deflate_part(hki_zip_writer *self, z_stream *stream, const hki_zip_part *part,
                         bool is_last, uint8_t chunk[CHUNK_BYTES])
{
    const uint8_t *from = part->data;
    size_t left = part->bytes;
    int outcome = Z_OK;
    do {
        const uInt given = left < UINT_MAX ? (uInt)left : UINT_MAX;
        stream->next_in = (Bytef *)(uintptr_t)from;
        stream->avail_in = given;
        stream->next_out = chunk;
        stream->avail_out = CHUNK_BYTES;
        outcome = deflate(stream, is_last && given == left ? Z_FINISH : Z_NO_FLUSH);
        from += given - stream->avail_in;
        left -= given - stream->avail_in;
        if (!write_bytes(self, chunk, CHUNK_BYTES - stream->avail_out))
            return false;
    } while (left || (is_last ? outcome != Z_STREAM_END : !stream->avail_out));
    return true;
}

static bool write_deflated(hki_zip_writer *self, const hki_zip_part parts[2])
{
    z_stream stream = {0};
    uint8_t *chunk = malloc(CHUNK_BYTES);
    if (!chunk)
        return no_memory(self);
    bool is_good = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS,
                                MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) == Z_OK;
    if (is_good) {
        is_good = deflate_part(self, &stream, &parts[0], false, chunk) &&
                  deflate_part(self, &stream, &parts[1], true, chunk);
        deflateEnd(&stream);
    } else {
        no_memory(self);
    }
    free(chunk);
    return is_good;
}

/* ---- the directory --------------------------------------------------------------------------------------- */

static bool append(hki_zip_writer *self, const void *data, size_t bytes)
{
    if (bytes > self->directory_capacity - self->directory_bytes) {
        const size_t capacity = 2 * self->directory_capacity + bytes + 1024;
        uint8_t *grown = realloc(self->directory, capacity);
        if (!grown)
            return no_memory(self);
        self->directory = grown;
        self->directory_capacity = capacity;
    }
    if (bytes)
        memcpy(self->directory + self->directory_bytes, data, bytes);
    self->directory_bytes += bytes;
    return true;
}

static bool note_member(hki_zip_writer *self, const member *of)
{
    const bool is_wide = of->is_wide || of->at > self->narrow_bytes;
    record entry = {0}, extra = {0};
    put(&entry, 0x02014b50, 4);
    put(&entry, MADE_BY_UNIX, 2);
    put(&entry, is_wide ? VERSION_WIDE : VERSION, 2);
    put(&entry, flags_of(of), 2);
    put_facts(&entry, of, true, is_wide);
    put(&entry, is_wide ? 28 : 0, 2);
    put(&entry, 0, 2); /* comment */
    put(&entry, 0, 2); /* disk */
    put(&entry, 0, 2);
    put(&entry, RIGHTS, 4);
    put(&entry, is_wide ? NOT_HERE : of->at, 4);
    if (is_wide) {
        put(&extra, EXTRA_WIDE, 2);
        put(&extra, 24, 2);
        put(&extra, of->bytes, 8);
        put(&extra, of->packed_bytes, 8);
        put(&extra, of->at, 8);
    }
    self->count++;
    return append(self, entry.bytes, entry.count) && append(self, of->name, strlen(of->name)) &&
           append(self, extra.bytes, extra.count);
}

bool hki_zip_add(hki_zip_writer *self, const char *name, const hki_zip_part parts[2])
{
    member of = {.name = name,
                 .at = self->written_bytes,
                 .bytes = (uint64_t)parts[0].bytes + parts[1].bytes,
                 .is_deflated = self->compress};
    of.packed_bytes = of.bytes;
    of.is_wide = of.bytes > self->narrow_bytes;
    of.sum = (uint32_t)crc32_z(0, NULL, 0);
    for (int i = 0; i < 2; i++)
        if (parts[i].bytes)
            of.sum = (uint32_t)crc32_z(of.sum, parts[i].data, parts[i].bytes);
    if (!write_front(self, &of))
        return false;
    const uint64_t begin = self->written_bytes;
    if (!of.is_deflated)
        return write_bytes(self, parts[0].data, parts[0].bytes) &&
               write_bytes(self, parts[1].data, parts[1].bytes) && note_member(self, &of);
    if (!write_deflated(self, parts))
        return false;
    of.packed_bytes = self->written_bytes - begin;
    return write_behind(self, &of) && note_member(self, &of);
}

bool hki_zip_finish(hki_zip_writer *self)
{
    const uint64_t at = self->written_bytes, bytes = self->directory_bytes;
    const bool is_wide =
        at > self->narrow_bytes || bytes > self->narrow_bytes || self->count >= NOT_HERE_HALF;
    const uint64_t count = is_wide ? NOT_HERE_HALF : self->count;
    record end = {0};
    if (is_wide) {
        put(&end, 0x06064b50, 4);
        put(&end, 44, 8); /* what is left of this record */
        put(&end, MADE_BY_UNIX, 2);
        put(&end, VERSION_WIDE, 2);
        put(&end, 0, 4);
        put(&end, 0, 4);
        put(&end, self->count, 8);
        put(&end, self->count, 8);
        put(&end, bytes, 8);
        put(&end, at, 8);
        put(&end, 0x07064b50, 4); /* where that record is */
        put(&end, 0, 4);
        put(&end, at + bytes, 8);
        put(&end, 1, 4);
    }
    put(&end, 0x06054b50, 4);
    put(&end, 0, 2);
    put(&end, 0, 2);
    put(&end, count, 2);
    put(&end, count, 2);
    put(&end, is_wide ? NOT_HERE : bytes, 4);
    put(&end, is_wide ? NOT_HERE : at, 4);
    put(&end, 0, 2);
    return write_bytes(self, self->directory, self->directory_bytes) &&
           write_bytes(self, end.bytes, end.count);
}

void hki_zip_writer_deinit(hki_zip_writer *self)
{
    free(self->directory);
}
