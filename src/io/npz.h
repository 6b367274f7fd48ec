/* NumPy's format of several arrays: a zip file whose members are npy files, `name`.npy, stored or deflated. */
#ifndef HOCKET_IO_NPZ_H
#define HOCKET_IO_NPZ_H

#include "io/contents.h"
#include "io/saving.h"

/* Reads the directory. What members hold is looked at when they are opened. */
bool hki_npz_read(const hki_io_source *source, hki_io_contents *contents, hki_io_error *error);

/* Opens the member of an entry that hki_npz_read made, up to its elements, and sets what its header says: unsupported (then
 * owned by the caller), or shape, dtype, order and bytes, for which the member is large enough. NULL: it is damaged. */
hki_zip_stream *hki_npz_open(const hki_io_source *source, hki_io_entry *entry, hki_io_error *error);

/* False, with what failed in `saving`. */
bool hki_npz_write(hki_io_saving *saving);

#endif
