/* From an entry of a file to an array. */
#ifndef HOCKET_IO_ELEMENTS_H
#define HOCKET_IO_ELEMENTS_H

#include "array/array.h"
#include "io/contents.h"
#include "io/npz.h"

/* Where an array comes from. */
typedef struct hki_io_origin {
    const char *path; /* for messages */
    const hki_io_source *source;
    const hki_io_entry *entry;
} hki_io_origin;

/* A new array of the innermost scope, else the caller's; failed where it cannot be made. may_map: where the device and the file
 * allow it, without a copy. Blocks while it reads. */
hk_array *hki_io_make_array(const hki_io_origin *origin, hk_device device, bool may_map);

/* "file: array "name"" into text. */
void hki_io_introduce(const hki_io_origin *origin, char *text, size_t bytes);

/* Reads all elements, in C order and this machine's byte order, bools 0 or 1: entry->bytes. member: of a zip file; else NULL. */
bool hki_io_read_elements(const hki_io_source *source, const hki_io_entry *entry,
                          hki_zip_stream *member, void *to, hki_io_error *error);

#endif
