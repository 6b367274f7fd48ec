/* Where the bytes of a file come from, and what is said when they are wrong. Immutable after create. */
#ifndef HOCKET_IO_SOURCE_H
#define HOCKET_IO_SOURCE_H

#include <hocket/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of what was wrong first. The text goes on from the file's name: "is truncated: …". */
typedef struct hki_io_error {
    hk_code code;
    char text[1024];
} hki_io_error;

/* Names from outside are cut to this. */
enum { HKI_IO_NAME_BYTES = 128 };

/* Notes it, unless something was wrong before. False. */
bool hki_io_fail(hki_io_error *error, hk_code code, const char *format, ...) HK_PRINTF(3, 4);
bool hki_io_fail_memory(hki_io_error *error);

/* A byte from outside, for a message: itself, or '?' where it is no printable character of ASCII. */
static inline char hki_io_shown(char c)
{
    return c >= 0x20 && c < 0x7F ? c : '?';
}

/* A file, or memory. */
typedef struct hki_io_source {
    int file; /* -1: memory */
    const uint8_t *data;
    uint64_t bytes; /* of a file: when it was opened */
} hki_io_source;

/* False: there are not as many, or the system refuses. */
bool hki_io_read(const hki_io_source *self, uint64_t offset, void *to, size_t bytes,
                 hki_io_error *error);

#endif
