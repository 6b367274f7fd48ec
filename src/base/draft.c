#include "base/draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* Where a path leads, also where links to it end at no file; to be freed. NULL: no memory, or links
 * that lead in a circle, as errno says. */
static char *target_of(const char *path)
{
    enum { LINKS = 40 };
    char *target = realpath(path, NULL), *at = target ? NULL : strdup(path);
    for (int i = 0; at && i < LINKS; i++) {
        char link[PATH_MAX];
        const char *name;
        const ssize_t bytes = readlink(at, link, sizeof link);
        if (bytes <= 0 || (size_t)bytes == sizeof link)
            return at;
        char *folder = *link == '/' ? NULL : folder_of(at, &name), *next = NULL;
        if (*link == '/')
            next = strndup(link, (size_t)bytes);
        else if (folder && asprintf(&next, "%s/%.*s", folder, (int)bytes, link) < 0)
            next = NULL;
        free(folder);
        free(at);
        at = next;
    }
    if (!target && at)
        errno = ELOOP;
    else if (!target)
        errno = ENOMEM;
    free(target ? NULL : at);
    return target;
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
static int create_temporary(hki_draft *self, mode_t mode)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(&self->temporary, "%s.%ld-%d%s", self->target, (long)getpid(), i, ending) <
            0) {
            self->temporary = NULL;
            return ENOMEM;
        }
        self->file = open(self->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
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

/* Owner, group and mode become those of the file that is replaced. Where the group cannot be
 * given, nobody gets rights for it that the file did not give to all. */
static int keep_owner(int file, const struct stat *before)
{
    struct stat now;
    mode_t mode = before->st_mode & 0777; /* who runs as the owner ran other bytes */
    if (fstat(file, &now))
        return errno;
    if (now.st_gid != before->st_gid && fchown(file, (uid_t)-1, before->st_gid))
        mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
    /* The mode comes first: it is for the owner to give. */
    if (fchmod(file, mode))
        return errno;
    if (now.st_uid != before->st_uid && fchown(file, before->st_uid, (gid_t)-1))
        return errno == EPERM ? 0 : errno; /* then the file is whose who saves */
    return 0;
}

int hki_draft_begin(hki_draft *self, const char *path)
{
    struct stat facts;
    *self = (hki_draft){.file = -1, .target = target_of(path)};
    if (!self->target)
        return errno;
    const bool exists = !stat(self->target, &facts);
    if (exists && !S_ISREG(facts.st_mode)) {
        self->file = open(self->target, O_WRONLY | O_CLOEXEC);
        return self->file < 0 ? errno : 0;
    }
    if (exists && faccessat(AT_FDCWD, self->target, W_OK, AT_EACCESS))
        return errno; /* whoever made it read only wants it to stay */
    remove_abandoned(self->target);
    const int error = create_temporary(self, exists ? 0600 : 0666);
    return error || !exists ? error : keep_owner(self->file, &facts);
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

static int synchronise(int file)
{
    int failed;
    do
        failed = fsync(file);
    while (failed && errno == EINTR);
    return failed;
}

/* Gives the file its name. folder: -1, or to be synchronised. */
static int publish(hki_draft *self, int folder)
{
    /* Some file systems tell at the close what they could not write; the lock lasts until the file has its name. */
    const int lock = fcntl(self->file, F_DUPFD_CLOEXEC, 0);
    int error = lock < 0 ? errno : 0;
    if (close(self->file) && errno != EINTR && !error)
        error = errno;
    self->file = -1;
    if (!error && rename(self->temporary, self->target))
        error = errno;
    if (!error) {
        free(self->temporary);
        self->temporary = NULL;
        /* EINVAL: a file system that has no such thing. */
        if (folder >= 0 && synchronise(folder) && errno != EINVAL)
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
    if (is_synced && (folder < 0 || synchronise(self->file))) {
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
