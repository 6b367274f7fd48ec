#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

hk_code hki_regular_file_open(const char *path, const char *wanted, int *file, uint64_t *bytes,
                              char *why, size_t why_bytes)
{
    struct stat facts;
    char text[128];
    int opened;
    /* O_NONBLOCK, so that a FIFO in the place of a file cannot hold us. */
    do
        opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (opened < 0 && errno == EINTR);
    if (opened < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        snprintf(why, why_bytes, "%s; check the path",
                 errno == ENOENT ? "there is no such file" : "a part of this path is no folder");
        return HK_NOT_FOUND;
    }
    if (opened < 0) {
        snprintf(why, why_bytes, "cannot be opened: %s; make it readable",
                 strerror_r(errno, text, sizeof text));
        return HK_IO;
    }
    if (fstat(opened, &facts))
        snprintf(why, why_bytes, "cannot be examined: %s; check the disk",
                 strerror_r(errno, text, sizeof text));
    else if (S_ISDIR(facts.st_mode))
        snprintf(why, why_bytes, "is a directory; %s", wanted);
    else if (!S_ISREG(facts.st_mode))
        snprintf(why, why_bytes, "is a device, pipe or socket; %s", wanted);
    else {
        *file = opened;
        *bytes = (uint64_t)facts.st_size;
        return HK_OK;
    }
    close(opened);
    return HK_IO;
}
