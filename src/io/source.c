#include "io/source.h"

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

bool hki_io_fail(hki_io_error *error, hk_code code, const char *format, ...)
{
    va_list args;
    if (error->code != HK_OK)
        return false;
    error->code = code;
    va_start(args, format);
    hki_format_va(error->text, sizeof error->text, format, args);
    va_end(args);
    for (char *c = error->text; *c; c++) /* it may quote the file */
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
    return false;
}

bool hki_io_fail_memory(hki_io_error *error)
{
    return hki_io_fail(error, HK_OUT_OF_MEMORY, "no host memory is left for it");
}

bool hki_io_read(const hki_io_source *self, uint64_t offset, void *to, size_t bytes,
                 hki_io_error *error)
{
    char *at = to, text[128];
    if (offset > self->bytes || bytes > self->bytes - offset)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is truncated: it has %" PRIu64
                           " bytes, and more should follow at %" PRIu64 "; save or fetch it again",
                           self->bytes, offset);
    if (self->file < 0) {
        if (bytes)
            memcpy(to, self->data + offset, bytes);
        return true;
    }
    while (bytes) {
        const ssize_t got = pread(self->file, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hki_io_fail(error, HK_IO, "cannot be read: %s; check the disk",
                               strerror_r(errno, text, sizeof text));
        if (!got)
            return hki_io_fail(error, HK_BAD_DATA,
                               "was cut short while it was read; load it again");
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return true;
}
