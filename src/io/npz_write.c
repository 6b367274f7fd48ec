#include "io/npz.h"

#include "io/npy.h"

#include <errno.h>
#include <limits.h>
#include <minizip/zip.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Members above it get the wide sizes of zip64; deflating may make them larger. */
#define NARROW_BYTES ((uint64_t)0xF0000000)

enum { FLAG_UTF8 = 1 << 11, MADE_BY_UNIX = 3 << 8 | 20, RIGHTS = 0600 };

/* ---- the file, for minizip ------------------------------------------------------------------------------- */

static voidpf open_draft(voidpf opaque, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return opaque;
}

static uLong write_draft(voidpf opaque, voidpf file, const void *data, uLong size)
{
    (void)opaque;
    return hki_io_saving_write(file, data, size) ? size : 0;
}

static ZPOS64_T tell_draft(voidpf opaque, voidpf file)
{
    const hki_io_saving *saving = file;
    (void)opaque;
    return (ZPOS64_T)lseek(saving->draft.file, 0, SEEK_CUR);
}

static long seek_draft(voidpf opaque, voidpf file, ZPOS64_T offset, int origin)
{
    const hki_io_saving *saving = file;
    const int whence = origin == ZLIB_FILEFUNC_SEEK_CUR   ? SEEK_CUR
                       : origin == ZLIB_FILEFUNC_SEEK_END ? SEEK_END
                                                          : SEEK_SET;
    (void)opaque;
    return lseek(saving->draft.file, (off_t)offset, whence) < 0 ? -1 : 0;
}

static int close_draft(voidpf opaque, voidpf file)
{
    (void)opaque;
    (void)file;
    return 0;
}

static int draft_error(voidpf opaque, voidpf file)
{
    (void)opaque;
    return ((const hki_io_saving *)file)->error.code != HK_OK;
}

/* ---- members --------------------------------------------------------------------------------------------- */

static bool check(hki_io_saving *saving, int outcome)
{
    if (outcome == ZIP_OK)
        return true;
    return hki_io_fail(&saving->error, HK_IO,
                       "cannot be written as a zip file: minizip says %d; it holds what it held "
                       "before",
                       outcome);
}

static bool write_bytes(hki_io_saving *saving, zipFile zip, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        const unsigned step = bytes < INT_MAX ? (unsigned)bytes : INT_MAX;
        if (!check(saving, zipWriteInFileInZip(zip, at, step)))
            return false;
        at += step;
        bytes -= step;
    }
    return true;
}

static bool begin_member(hki_io_saving *saving, zipFile zip, size_t i, size_t bytes)
{
    /* Of no day: the same arrays give the same bytes. */
    const zip_fileinfo about = {.tmz_date = {.tm_year = 1980, .tm_mday = 1},
                                .external_fa = (uLong)RIGHTS << 16};
    const bool is_packed = saving->options->compress;
    char *name;
    if (asprintf(&name, "%s.npy", saving->entries[i].name) < 0)
        return hki_io_fail(&saving->error, HK_OUT_OF_MEMORY, "no host memory for a name");
    const int outcome = zipOpenNewFileInZip4_64(
        zip, name, &about, NULL, 0, NULL, 0, NULL, is_packed ? Z_DEFLATED : 0,
        is_packed ? Z_DEFAULT_COMPRESSION : 0, 0, -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY,
        NULL, 0, MADE_BY_UNIX, FLAG_UTF8, bytes > NARROW_BYTES);
    free(name);
    return check(saving, outcome);
}

static bool write_member(hki_io_saving *saving, zipFile zip, size_t i)
{
    char header[HKI_NPY_HEADER_BYTES];
    const void *values;
    size_t bytes;
    if (!hki_io_saving_values(saving, i, &values, &bytes) || !begin_member(saving, zip, i, bytes))
        return false;
    const size_t header_bytes = hki_npy_print_header(saving->entries[i].array, header);
    return write_bytes(saving, zip, header, header_bytes) &&
           write_bytes(saving, zip, values, bytes) && check(saving, zipCloseFileInZip(zip));
}

bool hki_npz_write(hki_io_saving *saving)
{
    zlib_filefunc64_def functions = {.zopen64_file = open_draft,
                                     .zwrite_file = write_draft,
                                     .ztell64_file = tell_draft,
                                     .zseek64_file = seek_draft,
                                     .zclose_file = close_draft,
                                     .zerror_file = draft_error,
                                     .opaque = saving};
    if (lseek(saving->draft.file, 0, SEEK_CUR) < 0)
        return hki_io_fail(
            &saving->error, HK_IO,
            "cannot be written as a zip file: it is no file with places to go back to");
    zipFile zip = zipOpen2_64("", APPEND_STATUS_CREATE, NULL, &functions);
    if (!zip)
        return hki_io_fail(&saving->error, HK_OUT_OF_MEMORY, "no host memory for a zip file");
    bool is_good = true;
    for (size_t i = 0; i < saving->count && is_good; i++)
        is_good = write_member(saving, zip, i);
    return check(saving, zipClose(zip, NULL)) && is_good && saving->error.code == HK_OK;
}
