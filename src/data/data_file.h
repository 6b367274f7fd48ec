/* Regular files, read at once: never blocks on what stands in their place. */
#ifndef HOCKET_DATA_DATA_FILE_H
#define HOCKET_DATA_DATA_FILE_H

#include "data/idx_file.h"

#define HKI_FILE_DEFAULT_LIMIT ((uint64_t)2 << 30)

/* Reads a regular file of at most `limit` bytes (0: the default) into new memory, to be freed, with a 0 behind it. wanted: "pass a
 * text". Codes and messages are those of data/idx_file.h; on failure *bytes is NULL. */
hk_code hki_data_file_read(const char *path, const char *wanted, uint64_t limit, uint8_t **bytes,
                           size_t *size, char message[HKI_DATA_MESSAGE_BYTES]);

#endif
