#include "output_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool open_output(const char *option, const char *path, FILE **file)
{
    if (!path)
        return true;
    *file = fopen(path, "w");
    if (!*file)
        fprintf(stderr, "hocket: --%s: cannot write %s: %s\n", option, path, strerror(errno));
    return *file;
}

bool close_output(const char *option, const char *path, FILE *file)
{
    if (!file)
        return true;
    bool written = !ferror(file);
    if (fclose(file))
        written = false;
    if (!written)
        fprintf(stderr, "hocket: --%s: cannot write %s: %s\n", option, path, strerror(errno));
    return written;
}

bool may_replace(const char *option, const char *path)
{
    char folder[4096] = ".";
    struct stat facts;
    const char *end = strrchr(path, '/');
    if (end)
        snprintf(folder, sizeof folder, "%.*s", end == path ? 1 : (int)(end - path), path);
    const bool exists = stat(path, &facts) == 0;
    if (exists && S_ISDIR(facts.st_mode))
        errno = EISDIR;
    else if ((!exists || access(path, W_OK) == 0) && access(folder, W_OK | X_OK) == 0)
        return true;
    fprintf(stderr, "hocket: --%s: cannot write %s: %s\n", option, path, strerror(errno));
    return false;
}

bool may_write(const char *option, const char *path)
{
    FILE *file = fopen(path, "a");
    if (file)
        fclose(file);
    else
        fprintf(stderr, "hocket: --%s: cannot write %s: %s\n", option, path, strerror(errno));
    return file;
}
