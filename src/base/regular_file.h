/* Opening files from outside. Thread-safe. */
#ifndef HOCKET_BASE_REGULAR_FILE_H
#define HOCKET_BASE_REGULAR_FILE_H

#include "base/quote.h"

#include <hocket/status.h>
#include <stddef.h>
#include <stdint.h>

/* Opens a regular file for reading; never blocks, whatever stands in its place. HK_OK, with *file (to be closed) and its size,
 * or HK_NOT_FOUND, HK_IO with a text that goes on from the file's name: "is a directory; pass …". wanted: such as "pass an idx
 * file". */
hk_code hki_regular_file_open(const char *path, const char *wanted, int *file, uint64_t *bytes,
                              char *why, size_t why_bytes);

#endif
