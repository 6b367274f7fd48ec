#include "base/draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ending[] = ".part";

/* ---- the folder ---------------------------------------------------------------------------------------- */

/* The folder of a path, "." where it names none; to be freed. NULL: no memory. *name: where the name begins. */
static char *folder_of(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int open_folder(const char *path, const char **name)
{
    char *folder = folder_of(path, name);
    const int file = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const int error = folder ? errno : ENOMEM;
    free(folder);
    errno = error;
    return file;
}

/* Whether it is the name of a draft of `target`: target.PROCESS-NUMBER.part */
static bool is_draft_of(const char *name, const char *target)
{
    const size_t length = strlen(target);
    if (strncmp(name, target, length) || name[length] != '.')
        return false;
    name += length + 1;
    const size_t process = strspn(name, "0123456789");
    if (!process || name[process] != '-')
        return false;
    name += process + 1;
    const size_t number = strspn(name, "0123456789");
    return number && !strcmp(name + number, ending);
}

/* A lock ends with its process, so a draft without one is nobody's. What cannot be looked at or removed stays. */
static void remove_abandoned(const char *target)
{
    const char *name;
    const int folder = open_folder(target, &name);
    DIR *list = folder < 0 ? NULL : fdopendir(folder);
    if (!list && folder >= 0)
        close(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        if (!is_draft_of(entry->d_name, name))
            continue;
        const int file = openat(folder, entry->d_name,
                                O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
        if (file >= 0 && !flock(file, LOCK_EX | LOCK_NB))
            unlinkat(folder, entry->d_name, 0);
        if (file >= 0)
            close(file);
    }
    if (list)
        closedir(list);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

/* Locked, and still there: who removes what is abandoned may have come between. */
static bool is_kept(int file)
{
    struct stat facts;
    const int locked = flock(file, LOCK_EX | LOCK_NB);
    if (locked && errno != EWOULDBLOCK)
        return true; /* a file system without locks */
    return !locked && !fstat(file, &facts) && facts.st_nlink;
}

/* Creates a file beside the target. */
static int create_temporary(hki_draft *self)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(&self->temporary, "%s.%ld-%d%s", self->target, (long)getpid(), i, ending) <
            0) {
            self->temporary = NULL;
            return ENOMEM;
        }
        self->file = open(self->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (self->file >= 0 && is_kept(self->file))
            return 0;
        const int error = self->file >= 0 ? EEXIST : errno;
        if (self->file >= 0)
            close(self->file);
        self->file = -1;
        free(self->temporary);
        self->temporary = NULL;
        if (error != EEXIST)
            return error;
    }
    return EEXIST;
}

int hki_draft_begin(hki_draft *self, const char *path)
{
    struct stat facts;
    *self = (hki_draft){.file = -1, .target = realpath(path, NULL)};
    if (!self->target)
        self->target = strdup(path);
    if (!self->target)
        return ENOMEM;
    const bool exists = !stat(self->target, &facts);
    if (exists && !S_ISREG(facts.st_mode)) {
        self->file = open(self->target, O_WRONLY | O_CLOEXEC);
        return self->file < 0 ? errno : 0;
    }
    remove_abandoned(self->target);
    const int error = create_temporary(self);
    if (!error && exists)
        return fchmod(self->file, facts.st_mode & 0777) ? errno : 0;
    return error;
}

int hki_draft_write(const hki_draft *self, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes) {
        const ssize_t written = write(self->file, from, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        from += written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* Gives the file its name. folder: -1, or to be synchronised. */
static int publish(hki_draft *self, int folder)
{
    /* Some file systems tell at the close what they could not write; the lock lasts until the file has its name. */
    const int lock = fcntl(self->file, F_DUPFD_CLOEXEC, 0);
    int error = lock < 0 ? errno : 0;
    if (close(self->file) && !error)
        error = errno;
    self->file = -1;
    if (!error && rename(self->temporary, self->target))
        error = errno;
    if (!error) {
        free(self->temporary);
        self->temporary = NULL;
        /* EINVAL: a file system that has no such thing. */
        if (folder >= 0 && fsync(folder) && errno != EINVAL)
            error = errno;
    }
    if (lock >= 0)
        close(lock);
    return error;
}

int hki_draft_finish(hki_draft *self, bool is_synced)
{
    const char *name;
    if (!self->temporary) {
        const int failed = close(self->file);
        self->file = -1;
        return failed ? errno : 0;
    }
    /* Opened before the file has its name, so that hardly anything can fail after that. */
    const int folder = is_synced ? open_folder(self->target, &name) : -1;
    if (is_synced && (folder < 0 || fsync(self->file))) {
        const int error = errno;
        if (folder >= 0)
            close(folder);
        return error;
    }
    const int error = publish(self, folder);
    if (folder >= 0)
        close(folder);
    return error;
}

void hki_draft_drop(hki_draft *self)
{
    if (self->temporary)
        unlink(self->temporary);
    if (self->file >= 0)
        close(self->file);
    free(self->temporary);
    free(self->target);
}
