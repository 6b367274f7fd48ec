#include "device/cuda/cuda_libraries.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HKI_CUDA_EMULATED
#include "emulation/emulated_libraries.h"
#endif

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

typedef struct function {
    const char *name;
    size_t offset; /* of its pointer in the table */
} function;

/* What differs between the libraries; the last function has no name. */
typedef struct description {
    const char *title, *soname;
    const function *functions;
    void (*version)(const void *table, char *text, size_t bytes);
} description;

/* A library as found; written once. */
typedef struct library {
    const description *is;
    void *table;
    bool is_open;
    char found[PATH_MAX]; /* the file */
    char problem[128];    /* why it is not open */
} library;

/* ---- where they are ------------------------------------------------------------------------------------ */

#ifdef HKI_CUDA_EMULATED

static void *open_file(const char *file)
{
    return emulated_library_open(file);
}

static void *find_function(void *handle, const char *name)
{
    return emulated_library_function(handle, name);
}

static void note_file(library *self, void *address)
{
    (void)address;
    snprintf(self->found, sizeof self->found, "emulated");
}

#else

static void *open_file(const char *file)
{
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static void *find_function(void *handle, const char *name)
{
    return dlsym(handle, name);
}

static void note_file(library *self, void *address)
{
    Dl_info info;
    if (dladdr(address, &info) && info.dli_fname)
        snprintf(self->found, sizeof self->found, "%s", info.dli_fname);
}

#endif

/* The first of the files that match and can be opened. */
static void *open_matching(const char *pattern)
{
    void *handle = NULL;
    glob_t files;
    if (glob(pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc && !handle; i++)
            handle = open_file(files.gl_pathv[i]);
        globfree(&files);
    }
    return handle;
}

static void *open_in(const char *folder, const char *below, const char *soname)
{
    char pattern[PATH_MAX];
    if (!folder || !*folder)
        return NULL;
    int length = snprintf(pattern, sizeof pattern, "%s%s/%s", folder, below, soname);
    return length > 0 && (size_t)length < sizeof pattern ? open_matching(pattern) : NULL;
}

static void *open_in_path(const char *path, const char *below, const char *soname)
{
    void *handle = NULL;
    char *folders = path ? strdup(path) : NULL, *rest = folders;
    while (folders && !handle && rest)
        handle = open_in(strsep(&rest, ":"), below, soname);
    free(folders);
    return handle;
}

/* The folder that this code was loaded from. */
static bool own_folder(char *folder, size_t bytes)
{
    Dl_info info;
    char *slash;
    if (!dladdr((void *)(uintptr_t)own_folder, &info) || !info.dli_fname)
        return false;
    snprintf(folder, bytes, "%s", info.dli_fname);
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* Where pip puts NVIDIA's packages, below the folder that a Python was installed to. */
#define PACKAGES "/lib/python3*/*-packages/nvidia/*/lib"

/* Of the environment that is in use, of each Python on the path, of the user. */
static void *open_of_python(const char *soname)
{
    static const char *const environments[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    void *handle = NULL;
    for (size_t i = 0; i < 2 && !handle; i++)
        handle = open_in(getenv(environments[i]), PACKAGES, soname);
    if (!handle)
        handle = open_in_path(getenv("PATH"), "/.." PACKAGES, soname);
    return handle ? handle : open_in(getenv("HOME"), "/.local" PACKAGES, soname);
}

void *hki_cuda_library_open(const char *soname)
{
    static const char *const below[] = {"/../nvidia/*/lib", "/../../nvidia/*/lib"};
    static const char *const toolkits[] = {"CUDA_HOME", "CUDA_PATH"};
    char folder[PATH_MAX];
    void *handle = open_in_path(getenv("HOCKET_CUDA_LIBRARY_PATH"), "", soname);
    if (!handle)
        handle = open_file(soname);
    for (size_t i = 0; i < 2 && !handle; i++)
        handle = open_in(getenv(toolkits[i]), "/lib64", soname);
    if (!handle)
        handle = open_in("/usr/local/cuda", "/lib64", soname);
    for (size_t i = 0; i < 2 && !handle && own_folder(folder, sizeof folder); i++)
        handle = open_in(folder, below[i], soname);
    return handle ? handle : open_of_python(soname);
}

static void load(library *self)
{
    void *handle = hki_cuda_library_open(self->is->soname), *address = NULL;
    if (!handle) {
        snprintf(self->problem, sizeof self->problem, "not found (%s)", self->is->soname);
        return;
    }
    for (const function *f = self->is->functions; f->name; f++) {
        address = find_function(handle, f->name);
        if (!address) {
            snprintf(self->problem, sizeof self->problem, "%s has no %s", self->is->soname,
                     f->name);
            return;
        }
        memcpy((char *)self->table + f->offset, &address, sizeof address);
    }
    note_file(self, address);
    self->is_open = true;
}

/* ---- which there are ----------------------------------------------------------------------------------- */

#define CUBLASLT_FUNCTION(f) {#f, offsetof(hki_cublaslt, f)},
#define CUDNN_FUNCTION(f)    {#f, offsetof(hki_cudnn, f)},
#define NCCL_FUNCTION(f)     {#f, offsetof(hki_nccl, f)},

static const function cublaslt_functions[] = {HKI_CUBLASLT_FUNCTIONS(CUBLASLT_FUNCTION){NULL, 0}};
static const function cudnn_functions[] = {HKI_CUDNN_FUNCTIONS(CUDNN_FUNCTION){NULL, 0}};
static const function nccl_functions[] = {HKI_NCCL_FUNCTIONS(NCCL_FUNCTION){NULL, 0}};

static void cublaslt_version(const void *table, char *text, size_t bytes)
{
    size_t version = ((const hki_cublaslt *)table)->cublasLtGetVersion();
    snprintf(text, bytes, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

static void cudnn_version(const void *table, char *text, size_t bytes)
{
    size_t version = ((const hki_cudnn *)table)->cudnnGetVersion();
    snprintf(text, bytes, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

static void nccl_version(const void *table, char *text, size_t bytes)
{
    int version = 0;
    ((const hki_nccl *)table)->ncclGetVersion(&version);
    snprintf(text, bytes, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

static const description descriptions[] = {
    {"cuBLASLt", "libcublasLt.so." TEXT(CUBLAS_VER_MAJOR), cublaslt_functions, cublaslt_version},
    {"cuDNN", "libcudnn.so." TEXT(CUDNN_MAJOR), cudnn_functions, cudnn_version},
    {"NCCL", "libnccl.so." TEXT(NCCL_MAJOR), nccl_functions, nccl_version},
};

/* Detected once in the process, each by whoever asks first, and never changed again. */
static hki_cublaslt cublaslt_table;
static hki_cudnn cudnn_table;
static hki_nccl nccl_table;
static library libraries[] = {{.is = &descriptions[0], .table = &cublaslt_table},
                              {.is = &descriptions[1], .table = &cudnn_table},
                              {.is = &descriptions[2], .table = &nccl_table}};
enum { LIBRARY_COUNT = sizeof libraries / sizeof libraries[0] };

static void load_cublaslt(void)
{
    load(&libraries[0]);
}

/* cuDNN opens cuBLASLt by its soname, which it may not find where this has. */
static void load_cudnn(void)
{
    hki_cuda_cublaslt();
    load(&libraries[1]);
}

static void load_nccl(void)
{
    load(&libraries[2]);
}

const hki_cublaslt *hki_cuda_cublaslt(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_cublaslt);
    return libraries[0].is_open ? &cublaslt_table : NULL;
}

const hki_cudnn *hki_cuda_cudnn(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_cudnn);
    return libraries[1].is_open ? &cudnn_table : NULL;
}

const hki_nccl *hki_cuda_nccl(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_nccl);
    return libraries[2].is_open ? &nccl_table : NULL;
}

void *hki_cuda_driver_function(const char *name)
{
    void *driver = open_file("libcuda.so.1");
    return driver ? find_function(driver, name) : NULL;
}

void hki_cuda_libraries_describe(char *text, size_t bytes)
{
    size_t at = 0;
    hki_cuda_cublaslt();
    hki_cuda_cudnn();
    hki_cuda_nccl();
    if (bytes)
        *text = '\0';
    for (int i = 0; i < LIBRARY_COUNT && at < bytes; i++) {
        const library *self = &libraries[i];
        char version[32];
        int length;
        if (self->is_open) {
            self->is->version(self->table, version, sizeof version);
            length = snprintf(text + at, bytes - at, "%s %s (%s)\n", self->is->title, version,
                              self->found);
        } else {
            length = snprintf(text + at, bytes - at, "%s: %s\n", self->is->title, self->problem);
        }
        at += length > 0 ? (size_t)length : 0;
    }
}
