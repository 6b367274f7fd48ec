#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void hki_show_name(char *shown, size_t bytes, const char *name)
{
    const size_t length = strlen(name);
    size_t used = 0;
    if (length > bytes - 4) {
        name += length - (bytes - 4);
        while (((unsigned char)*name & 0xC0) == 0x80) /* not from the middle of a character */
            name++;
        memcpy(shown, "...", 3);
        used = 3;
    }
    for (; *name != '\0'; name++)
        shown[used++] = (unsigned char)*name < 0x20 || *name == 0x7F ? '?' : *name;
    shown[used] = '\0';
}

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
        snprintf(why, why_bytes, "not found: %s; check the path",
                 strerror_r(errno, text, sizeof text));
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
