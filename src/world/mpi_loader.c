/* Finds the plug-in for the MPI whose launcher has started this process. */
#include "base/plugin.h"
#include "base/rank_launcher.h"
#include "base/text.h"
#include "world/world.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 3 };

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

static hki_mpi *open_plugin(const char *name, char *problem, size_t bytes)
{
    union {
        void *symbol;
        hki_mpi_plugin_fn open;
    } entry = {NULL};
    char file[128], why[400];
    snprintf(file, sizeof file, "mpi_%.64s", name);
    void *handle = hki_plugin_open(strchr(name, '/') ? name : file, why, sizeof why);
    if (!handle) {
        snprintf(problem, bytes, "the plug-in for its MPI cannot be opened (%s)", why);
        return NULL;
    }
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
