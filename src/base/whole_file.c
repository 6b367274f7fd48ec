#include "base/whole_file.h"
#include "base/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const hk_status *file_error(const char *operation, const char *what, const char *path,
                                   int number)
{
    const hki_status_facts facts = {.operation = operation};
    return number == ENOMEM ? hki_status_create(HK_OUT_OF_MEMORY, &facts,
                                                "no host memory to %s \"%s\"", what, path)
                            : hki_status_create(HK_IO, &facts, "cannot %s \"%s\": %s", what, path,
                                                strerror(number));
}

const hk_status *hki_whole_file_write(const char *operation, const char *path, const void *data,
                                      size_t bytes)
{
    hki_draft self;
    int error = hki_draft_begin(&self, path);
    if (!error)
        error = hki_draft_write(&self, data, bytes);
    if (!error)
        error = hki_draft_finish(&self, false);
    hki_draft_drop(&self);
    return error ? file_error(operation, "write", path, error) : NULL;
}

const hk_status *hki_whole_file_may_write(const char *operation, const char *path)
{
    hki_draft self;
    const int error = hki_draft_begin(&self, path);
    hki_draft_drop(&self);
    return error ? file_error(operation, "write", path, error) : NULL;
}

char *hki_whole_file_read(const char *operation, const char *path, size_t *bytes,
                          const hk_status **status)
{
    enum { FIRST_BYTES = 1 << 16 };
    const size_t most = (size_t)1 << 32;
    char *data = NULL;
    size_t count = 0, capacity = 0;
    ssize_t got = 0;
    int error = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        error = errno;
    do {
        if (!error && count == capacity) {
            capacity = capacity ? 2 * capacity : FIRST_BYTES;
            char *grown = capacity <= most ? realloc(data, capacity) : NULL;
            error = grown ? 0 : capacity > most ? EFBIG : ENOMEM;
            data = grown ? grown : data;
        }
        got = error ? 0 : read(file, data + count, capacity - count);
        if (got > 0)
            count += (size_t)got;
        else if (got < 0 && errno != EINTR)
            error = errno;
    } while (!error && got);
    if (file >= 0)
        close(file);
    if (error) {
        free(data);
        data = NULL;
        *status = file_error(operation, "read", path, error);
    } else {
        *bytes = count;
    }
    return data;
}
