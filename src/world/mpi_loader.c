/* Finds the plug-in for the MPI whose launcher has started this process. */
#include "base/rank_launcher.h"
#include "base/text.h"
#include "world/world.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NAMES = 3, PATH_BYTES = 1024 };

/* What a process has of an MPI that it has loaded itself, as mpi4py does: there cannot be a second one. */
static const struct {
    const char *library, *plugin;
} loaded[] = {
    {"libmpi_abi.so.1", "abi"}, {"libmpi_abi.so.0", "abi"},  {"libmpich.so.12", "mpich"},
    {"libmpi.so.12", "mpich"},  {"libmpi.so.40", "openmpi"},
};

static const char *find_loaded(void)
{
    const char *found = NULL;
    for (size_t i = 0; i < sizeof loaded / sizeof loaded[0] && !found; i++) {
        void *handle = dlopen(loaded[i].library, RTLD_LAZY | RTLD_NOLOAD);
        if (!handle)
            continue;
        found = loaded[i].plugin;
        dlclose(handle);
    }
    return found;
}

/* The names to try, in their order; HOCKET_MPI may be one, or the path of a plug-in. */
static int list_names(const hki_launcher *launcher, const char **names)
{
    const char *named = getenv("HOCKET_MPI"), *pmix = getenv("PMIX_RANK");
    names[0] = named && *named ? named : find_loaded();
    if (names[0])
        return 1;
    const bool is_open =
        launcher->kind == HKI_OPEN_MPI || (launcher->kind == HKI_SLURM && pmix && *pmix);
    names[0] = is_open ? "openmpi" : "mpich";
    names[1] = "abi"; /* of new versions of either */
    names[2] = is_open ? "mpich" : "openmpi";
    /* srun speaks several languages; a launcher of MPI its own. */
    return launcher->kind == HKI_OPEN_MPI || launcher->kind == HKI_HYDRA ? 2 : 3;
}

/* Beside the file of this code: the library, or the program that is linked with it whole. */
static bool path_beside(const char *file, char *path)
{
    Dl_info info;
    const char *slash;
    if (!dladdr(__extension__(void *) hki_mpi_open, &info) || !info.dli_fname ||
        !(slash = strrchr(info.dli_fname, '/')))
        return false;
    const int length =
        snprintf(path, PATH_BYTES, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname, file);
    return length > 0 && length < PATH_BYTES && access(path, F_OK) == 0;
}

/* A library of MPI looks for its own parts by itself, so that its symbols may stay its own. */
static void *open_file(const char *name, char *problem, size_t bytes)
{
    char file[128], path[PATH_BYTES];
    if (strchr(name, '/')) {
        snprintf(path, sizeof path, "%s", name);
    } else {
        snprintf(file, sizeof file, "libhocket_mpi_%.64s.so", name);
        if (!path_beside(file, path))
            snprintf(path, sizeof path, "%s", file);
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why = handle ? NULL : dlerror();
    if (!handle)
        snprintf(problem, bytes, "the plug-in for its MPI cannot be opened (%.300s)",
                 why ? why : path);
    return handle;
}

static hki_mpi *open_plugin(const char *name, char *problem, size_t bytes)
{
    union {
        void *symbol;
        hki_mpi_plugin_fn open;
    } entry = {NULL};
    void *handle = open_file(name, problem, bytes);
    if (!handle)
        return NULL;
    entry.symbol = dlsym(handle, HKI_MPI_PLUGIN_ENTRY);
    hki_mpi *plugin = entry.symbol ? entry.open() : NULL;
    if (plugin && plugin->abi == HKI_MPI_ABI)
        return plugin;
    snprintf(problem, bytes, "the plug-in %.200s is not of this build", name);
    dlclose(handle);
    return NULL;
}

hki_mpi *hki_mpi_open(const hki_launcher *launcher, char *problem, size_t bytes)
{
    const char *names[MOST_NAMES];
    const int count = list_names(launcher, names);
    hki_mpi *plugin = open_plugin(names[0], problem, bytes);
    char others[512]; /* the first problem is the one that counts */
    for (int i = 1; i < count && !plugin; i++)
        plugin = open_plugin(names[i], others, sizeof others);
    return plugin;
}
