#include "base/plugin.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

static bool path_beside(const char *file, char *path)
{
    Dl_info info;
    const char *slash;
    if (!dladdr(__extension__(void *) hki_plugin_open, &info) || !info.dli_fname ||
        !(slash = strrchr(info.dli_fname, '/')))
        return false;
    const int length =
        snprintf(path, PATH_BYTES, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname, file);
    return length > 0 && length < PATH_BYTES && access(path, F_OK) == 0;
}

/* Its symbols stay its own. */
void *hki_plugin_open(const char *name, char *problem, size_t bytes)
{
    char file[128], path[PATH_BYTES];
    if (strchr(name, '/')) {
        snprintf(path, sizeof path, "%s", name);
    } else {
        snprintf(file, sizeof file, "libhocket_%.64s.so", name);
        if (!path_beside(file, path))
            snprintf(path, sizeof path, "%s", file);
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why = handle ? NULL : dlerror();
    if (!handle)
        snprintf(problem, bytes, "%.300s", why ? why : path);
    return handle;
}
