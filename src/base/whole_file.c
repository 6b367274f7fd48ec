#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that is being written. */
typedef struct draft {
    char *target;    /* where it goes; links followed */
    char *temporary; /* beside it; NULL: straight into the target, which is no regular file */
    int file;        /* -1: none */
} draft;

static const hk_status *file_error(const char *operation, const char *what, const char *path,
                                   int number)
{
    const hki_status_facts facts = {.operation = operation};
    return number == ENOMEM ? hki_status_create(HK_OUT_OF_MEMORY, &facts,
                                                "no host memory to %s \"%s\"", what, path)
                            : hki_status_create(HK_IO, &facts, "cannot %s \"%s\": %s", what, path,
                                                strerror(number));
}

/* Creates a file beside the target, which does not exist yet. Returns 0 or errno's value. */
static int draft_create_temporary(draft *self)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(&self->temporary, "%s.%ld-%d.part", self->target, (long)getpid(), i) < 0) {
            self->temporary = NULL;
            return ENOMEM;
        }
        self->file = open(self->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (self->file >= 0)
            return 0;
        const int error = errno;
        free(self->temporary);
        self->temporary = NULL;
        if (error != EEXIST)
            return error;
    }
    return EEXIST;
}

/* Returns 0 or errno's value; draft_drop is called in either case. */
static int draft_begin(draft *self, const char *path)
{
    struct stat facts;
    *self = (draft){.file = -1, .target = realpath(path, NULL)};
    if (!self->target)
        self->target = strdup(path);
    if (!self->target)
        return ENOMEM;
    if (stat(self->target, &facts) || S_ISREG(facts.st_mode))
        return draft_create_temporary(self);
    self->file = open(self->target, O_WRONLY | O_CLOEXEC);
    return self->file < 0 ? errno : 0;
}

static int draft_write(const draft *self, const char *data, size_t bytes)
{
    while (bytes) {
        const ssize_t written = write(self->file, data, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        data += written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* Takes the target's place. */
static int draft_finish(draft *self)
{
    const int failed = close(self->file);
    self->file = -1;
    if (failed || (self->temporary && rename(self->temporary, self->target)))
        return errno;
    free(self->temporary);
    self->temporary = NULL;
    return 0;
}

static void draft_drop(draft *self)
{
    if (self->file >= 0)
        close(self->file);
    if (self->temporary)
        unlink(self->temporary);
    free(self->temporary);
    free(self->target);
}

const hk_status *hki_whole_file_write(const char *operation, const char *path, const void *data,
                                      size_t bytes)
{
    draft self;
    int error = draft_begin(&self, path);
    if (!error)
        error = draft_write(&self, data, bytes);
    if (!error)
        error = draft_finish(&self);
    draft_drop(&self);
    return error ? file_error(operation, "write", path, error) : NULL;
}

const hk_status *hki_whole_file_may_write(const char *operation, const char *path)
{
    draft self;
    const int error = draft_begin(&self, path);
    draft_drop(&self);
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
