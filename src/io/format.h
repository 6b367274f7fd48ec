/* Which format a file is of. */
#ifndef HOCKET_IO_FORMAT_H
#define HOCKET_IO_FORMAT_H

#include "io/source.h"

#include <hocket/io.h>

/* The given format, or the one that the path's ending says. False: there is none, and the error says why. */
bool hki_io_format_of(const char *path, hk_file_format given, hk_file_format *format,
                      hki_io_error *error);

#endif
