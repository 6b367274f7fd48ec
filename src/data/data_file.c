#include "data/data_file.h"

#include "base/regular_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Up to `size` bytes; a file may have become shorter. -1: errno says why. */
static ssize_t read_all(int file, uint8_t *to, size_t size)
{
    size_t used = 0;
    while (used < size) {
        const ssize_t got = read(file, to + used, size - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (!got)
            break;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

hk_code hki_data_file_read(const char *path, const char *wanted, uint64_t limit, uint8_t **bytes,
                           size_t *size, char message[HKI_DATA_MESSAGE_BYTES])
{
    uint64_t length;
    char why[256];
    int file = -1;
    if (!limit)
        limit = HKI_FILE_DEFAULT_LIMIT;
    *bytes = NULL;
    if (!path || !*path)
        return hki_data_fail(HK_INVALID_ARGUMENT, message, HKI_DATA_MESSAGE_BYTES, "path",
                             "is %s; a file's name would be right", path ? "empty" : "NULL");
    const hk_code code = hki_regular_file_open(path, wanted, &file, &length, why, sizeof why);
    if (code != HK_OK)
        return hki_data_fail(code, message, HKI_DATA_MESSAGE_BYTES, path, "%s", why);
    uint8_t *data = length <= limit ? malloc((size_t)length + 1) : NULL;
    const ssize_t got = data ? read_all(file, data, (size_t)length) : 0;
    const int number = errno;
    close(file);
    if (length > limit)
        return hki_data_fail(HK_BAD_DATA, message, HKI_DATA_MESSAGE_BYTES, path,
                             "has %" PRIu64 " bytes; at most %" PRIu64
                             " would be right, or a larger limit",
                             length, limit);
    if (data && got >= 0) {
        data[got] = 0;
        *bytes = data;
        *size = (size_t)got;
        message[0] = '\0';
        return HK_OK;
    }
    free(data);
    if (!data)
        return hki_data_fail(HK_OUT_OF_MEMORY, message, HKI_DATA_MESSAGE_BYTES, path,
                             "no host memory for %" PRIu64 " bytes", length);
    return hki_data_fail(HK_IO, message, HKI_DATA_MESSAGE_BYTES, path, "cannot be read: %s",
                         strerror_r(number, why, sizeof why));
}
