/* Writing of zip files front to back, stored or deflated, with zip64's wide fields where they are needed.
 *
 * Source: PKWARE's APPNOTE. */
#ifndef HOCKET_IO_ZIP_WRITER_H
#define HOCKET_IO_ZIP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes and places up to it fit 32 bits, also of what deflating made larger. */
#define HKI_ZIP_NARROW_BYTES ((uint64_t)0xF0000000)
enum { HKI_ZIP_MOST_NAME_BYTES = 65000 };

/* Externally synchronised. */
typedef struct hki_zip_writer {
    bool (*write)(void *context, const void *data, size_t bytes);
    void *context;
    bool compress;
    uint64_t narrow_bytes; /* HKI_ZIP_NARROW_BYTES, but in tests */
    /* From here on zeros: */
    uint64_t written_bytes, count;
    uint8_t *directory; /* what is said of all members at the end; owned */
    size_t directory_bytes, directory_capacity;
    bool lacks_memory; /* why something failed, if it was not `write` */
} hki_zip_writer;

typedef struct hki_zip_part {
    const void *data;
    size_t bytes;
} hki_zip_part;

/* A member whose bytes are those of both parts. name: UTF-8, at most HKI_ZIP_MOST_NAME_BYTES. */
bool hki_zip_add(hki_zip_writer *self, const char *name, const hki_zip_part parts[2]);
/* The directory; nothing may be added any more. */
bool hki_zip_finish(hki_zip_writer *self);
/* Frees what it owns. */
void hki_zip_writer_deinit(hki_zip_writer *self);

#endif
