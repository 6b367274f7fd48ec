#include "output_file.h"

#include <errno.h>
#include <string.h>

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

bool may_write(const char *option, const char *path)
{
    FILE *file = fopen(path, "a");
    if (file)
        fclose(file);
    else
        fprintf(stderr, "hocket: --%s: cannot write %s: %s\n", option, path, strerror(errno));
    return file;
}
