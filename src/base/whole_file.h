/* Files, read and written as a whole. Thread-safe; block on the file only. */
#ifndef HOCKET_BASE_WHOLE_FILE_H
#define HOCKET_BASE_WHOLE_FILE_H

#include "base/status.h"

/* NULL, or a record (counted) of `operation` that names the file and the reason. The path then holds what it held
 * before: a new file takes its place only once it is complete. What is no regular file, such as a terminal or
 * /dev/null, is written to as it is. */
const hk_status *hki_whole_file_write(const char *operation, const char *path, const void *data,
                                      size_t bytes);
/* Whether that could begin now; the same result. Leaves nothing behind. */
const hk_status *hki_whole_file_may_write(const char *operation, const char *path);

/* Its bytes, to be freed with free(); NULL, and *status (counted), when it cannot be read or is larger than 4 GiB. */
char *hki_whole_file_read(const char *operation, const char *path, size_t *bytes,
                          const hk_status **status);

#endif
