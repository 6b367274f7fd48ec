#include "io/npz.h"

#include "io/npy.h"

#include <inttypes.h>
#include <limits.h>
#include <minizip/unzip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deflate makes no byte out of less than a 1032nd. */
#define MOST_INFLATED 1032
enum { NAME_BYTES = 65536, FLAG_ENCRYPTED = 1 };

static const char ending[] = ".npy";

/* ---- the zip file's bytes, for minizip ------------------------------------------------------------------- */

typedef struct stream {
    const hki_io_source *source;
    uint64_t at;
    bool is_short; /* more was asked for than there is, which minizip does not take for an error */
    hki_io_error error; /* of the system */
} stream;

static voidpf open_stream(voidpf opaque, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return opaque;
}

static uLong read_stream(voidpf opaque, voidpf file, void *to, uLong size)
{
    stream *self = file;
    (void)opaque;
    const uint64_t left = self->at < self->source->bytes ? self->source->bytes - self->at : 0;
    if (size > left) {
        self->is_short = true;
        return 0;
    }
    if (!hki_io_read(self->source, self->at, to, size, &self->error))
        return 0;
    self->at += size;
    return size;
}

static ZPOS64_T tell_stream(voidpf opaque, voidpf file)
{
    (void)opaque;
    return ((stream *)file)->at;
}

static long seek_stream(voidpf opaque, voidpf file, ZPOS64_T offset, int origin)
{
    stream *self = file;
    (void)opaque;
    const uint64_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? self->at
                          : origin == ZLIB_FILEFUNC_SEEK_END ? self->source->bytes
                                                             : 0;
    uint64_t at;
    if (__builtin_add_overflow(from, offset, &at) || at > INT64_MAX)
        return -1;
    self->at = at;
    return 0;
}

static int close_stream(voidpf opaque, voidpf file)
{
    (void)opaque;
    (void)file;
    return 0;
}

static int stream_error(voidpf opaque, voidpf file)
{
    (void)opaque;
    const stream *self = file;
    return self->is_short || self->error.code != HK_OK;
}

/* NULL: no zip file. */
static unzFile open_zip(stream *from)
{
    zlib_filefunc64_def functions = {.zopen64_file = open_stream,
                                     .zread_file = read_stream,
                                     .ztell64_file = tell_stream,
                                     .zseek64_file = seek_stream,
                                     .zclose_file = close_stream,
                                     .zerror_file = stream_error,
                                     .opaque = from};
    return unzOpen2_64("", &functions);
}

/* By what the system said, if it did, else by the format. False. */
HK_PRINTF(3, 4)
static bool fail(const stream *from, hki_io_error *error, const char *format, ...)
{
    char text[256];
    va_list args;
    if (from->error.code != HK_OK)
        return hki_io_fail(error, from->error.code, "%s", from->error.text);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hki_io_fail(error, HK_BAD_DATA, "%s; save or fetch it again", text);
}

/* ---- the directory --------------------------------------------------------------------------------------- */

/* Why no array can be made of a member, whatever it holds; entry->unsupported stays NULL where one can. */
static bool note_unsupported(hki_io_entry *entry, const unz_file_info64 *about, bool is_npy,
                             hki_io_error *error)
{
    int length = 0;
    if (!is_npy)
        length = asprintf(&entry->unsupported, "is no member with the ending .npy");
    else if (about->flag & FLAG_ENCRYPTED)
        length = asprintf(&entry->unsupported, "is encrypted; a plain one would be right");
    else if (about->compression_method != 0 && about->compression_method != Z_DEFLATED)
        length = asprintf(&entry->unsupported,
                          "is compressed by method %lu; stored (0) or deflated (8) would be right",
                          about->compression_method);
    if (length >= 0)
        return true;
    entry->unsupported = NULL;
    return hki_io_fail_memory(error);
}

static bool add_member(unzFile zip, const stream *from, char *name, hki_io_contents *contents,
                       hki_io_error *error)
{
    unz_file_info64 about;
    unz64_file_pos place;
    if (unzGetCurrentFileInfo64(zip, &about, name, NAME_BYTES, NULL, 0, NULL, 0) != UNZ_OK ||
        unzGetFilePos64(zip, &place) != UNZ_OK)
        return fail(from, error, "has a damaged directory at its member %zu", contents->count);
    const size_t length = about.size_filename < NAME_BYTES ? about.size_filename : 0;
    name[length] = '\0';
    if (!length || strlen(name) != length)
        return fail(from, error, "has a member %zu without a name, or with a zero in it",
                    contents->count);
    if (!hki_io_is_utf8(name))
        return fail(from, error, "has a member %zu whose name is not UTF-8", contents->count);
    const size_t tail = sizeof ending - 1;
    const bool is_npy = length > tail && !strcmp(name + length - tail, ending);
    hki_io_entry entry = {.name = strndup(name, is_npy ? length - tail : length),
                          .is_member = true,
                          .directory_at = place.pos_in_zip_directory,
                          .number = place.num_of_file};
    if (!entry.name)
        return hki_io_fail_memory(error);
    if (note_unsupported(&entry, &about, is_npy, error))
        return hki_io_contents_add(contents, &entry, error);
    free(entry.name);
    return false;
}

/* A zip file without members, which minizip does not know. */
static bool is_empty_zip(const hki_io_source *source)
{
    static const char whole[22] = "PK\5\6";
    char bytes[sizeof whole];
    hki_io_error ignored = {0};
    return source->bytes == sizeof whole && hki_io_read(source, 0, bytes, sizeof bytes, &ignored) &&
           !memcmp(bytes, whole, sizeof whole);
}

bool hki_npz_read(const hki_io_source *source, hki_io_contents *contents, hki_io_error *error)
{
    stream from = {.source = source};
    if (is_empty_zip(source))
        return hki_io_contents_finish(contents, error);
    unz_global_info64 about;
    char *name = malloc(NAME_BYTES + 1);
    if (!name)
        return hki_io_fail_memory(error);
    unzFile zip = open_zip(&from);
    bool is_good = zip && unzGetGlobalInfo64(zip, &about) == UNZ_OK;
    if (!is_good)
        fail(&from, error, "is no npz file, or is truncated: no zip directory is at its end");
    /* minizip looks for a first member even where there is none. */
    int next = is_good && about.number_entry ? unzGoToFirstFile(zip) : UNZ_END_OF_LIST_OF_FILE;
    while (is_good && next == UNZ_OK) {
        is_good = add_member(zip, &from, name, contents, error);
        next = is_good ? unzGoToNextFile(zip) : UNZ_OK;
    }
    if (is_good && (next != UNZ_END_OF_LIST_OF_FILE || contents->count != about.number_entry))
        is_good = fail(&from, error, "has a damaged directory: it has %zu members of %" PRIu64,
                       contents->count, (uint64_t)about.number_entry);
    if (zip)
        unzClose(zip);
    free(name);
    return is_good && hki_io_contents_finish(contents, error);
}

/* ---- members --------------------------------------------------------------------------------------------- */

struct hki_npz_member {
    stream from;
    unzFile zip;
    uint64_t left_bytes; /* of the member, once unpacked */
};

static bool read_bytes(hki_npz_member *self, void *to, uint64_t bytes, hki_io_error *error)
{
    char *at = to;
    if (bytes > self->left_bytes)
        return fail(&self->from, error, "is truncated: it ends within its header");
    while (bytes) {
        const unsigned step = bytes < INT_MAX ? (unsigned)bytes : INT_MAX;
        const int got = unzReadCurrentFile(self->zip, at, step);
        if (got <= 0)
            return fail(&self->from, error,
                        "is damaged: it cannot be unpacked with %" PRIu64 " bytes to go",
                        self->left_bytes);
        at += got;
        bytes -= (unsigned)got;
        self->left_bytes -= (unsigned)got;
    }
    return true;
}

static bool read_header(hki_npz_member *self, hki_io_entry *entry, hki_io_error *error)
{
    uint8_t prelude[HKI_NPY_PRELUDE_BYTES];
    uint32_t begin = 0, bytes = 0;
    enum { FIRST = 10 }; /* all of version 1's */
    if (!read_bytes(self, prelude, FIRST, error))
        return false;
    const bool is_longer = prelude[6] > 1;
    if (is_longer && !read_bytes(self, prelude + FIRST, sizeof prelude - FIRST, error))
        return false;
    if (!hki_npy_parse_prelude(prelude, is_longer ? sizeof prelude : FIRST, &begin, &bytes, error))
        return false;
    char *header = malloc(bytes + 1);
    if (!header)
        return hki_io_fail_memory(error);
    const bool is_good = read_bytes(self, header, bytes, error) &&
                         hki_npy_parse_header(header, bytes, self->left_bytes, entry, error);
    free(header);
    return is_good;
}

static bool open_member(hki_npz_member *self, hki_io_entry *entry, hki_io_error *error)
{
    const unz64_file_pos place = {entry->directory_at, entry->number};
    const uint64_t file_bytes = self->from.source->bytes;
    unz_file_info64 about;
    self->zip = open_zip(&self->from);
    if (!self->zip || unzGoToFilePos64(self->zip, &place) != UNZ_OK ||
        unzGetCurrentFileInfo64(self->zip, &about, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK ||
        unzOpenCurrentFile(self->zip) != UNZ_OK)
        return fail(&self->from, error, "is damaged: it is not where the directory says");
    self->left_bytes = about.uncompressed_size;
    /* So that memory is bounded by what the file holds, not by what it says. */
    if (about.compressed_size > file_bytes ||
        about.uncompressed_size / MOST_INFLATED > about.compressed_size ||
        (!about.compression_method && about.uncompressed_size != about.compressed_size))
        return fail(&self->from, error,
                    "is damaged: it is said to have %" PRIu64 " bytes, packed into %" PRIu64,
                    (uint64_t)about.uncompressed_size, (uint64_t)about.compressed_size);
    return read_header(self, entry, error);
}

hki_npz_member *hki_npz_member_open(const hki_io_source *source, hki_io_entry *entry,
                                    hki_io_error *error)
{
    hki_npz_member *self = calloc(1, sizeof *self);
    if (!self) {
        hki_io_fail_memory(error);
        return NULL;
    }
    self->from.source = source;
    if (open_member(self, entry, error))
        return self;
    hki_npz_member_close(self);
    return NULL;
}

bool hki_npz_member_read(hki_npz_member *self, void *to, uint64_t bytes, hki_io_error *error)
{
    if (!read_bytes(self, to, bytes, error))
        return false;
    return unzCloseCurrentFile(self->zip) == UNZ_OK ||
           fail(&self->from, error, "is damaged: its check sum differs");
}

void hki_npz_member_close(hki_npz_member *self)
{
    if (self && self->zip)
        unzClose(self->zip);
    free(self);
}
