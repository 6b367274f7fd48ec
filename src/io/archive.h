/* What reading an archive beside the calls needs (task/files.c). */
#ifndef HOCKET_IO_ARCHIVE_H
#define HOCKET_IO_ARCHIVE_H

#include "io/elements.h"

#include <hocket/io.h>

/* The array of that name, if hk_archive_get would read its elements as they are in the file, not
 * unpack them. False where it would not, or would fail. The origin lives as long as the archive. */
bool hki_archive_find(const hk_archive *archive, const char *name, hki_io_origin *origin);
/* Where its arrays will be. */
hki_device *hki_archive_device(const hk_archive *archive);

#endif
