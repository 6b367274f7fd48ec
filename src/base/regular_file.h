/* Opening files from outside, and showing names from outside in messages. Thread-safe. */
#ifndef HOCKET_BASE_REGULAR_FILE_H
#define HOCKET_BASE_REGULAR_FILE_H

#include <hocket/status.h>
#include <stddef.h>
#include <stdint.h>

enum { HKI_NAME_SHOWN_BYTES = 240 + 4 };

/* Copies a name of at most bytes - 4, else its end behind "..."; control characters show as '?'. bytes > 4. */
void hki_show_name(char *shown, size_t bytes, const char *name);

/* Opens a regular file for reading; never blocks, whatever stands in its place. HK_OK, with *file (to be closed) and its size,
 * or HK_NOT_FOUND, HK_IO with a text that goes on from the file's name: "is a directory; pass …". wanted: such as "pass an idx
 * file". */
hk_code hki_regular_file_open(const char *path, const char *wanted, int *file, uint64_t *bytes,
                              char *why, size_t why_bytes);

#endif
