#include "emulation/emulated_libraries.h"

#include "emulation/emulated_runtime.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

typedef struct emulated_library {
    const char *soname;
    const emulated_function *functions;
} emulated_library;

static const emulated_library libraries[] = {{"libcublasLt.so.", emulated_cublaslt_functions},
                                             {"libcudnn.so.", emulated_cudnn_functions},
                                             {"libnccl.so.", emulated_nccl_functions}};

static CUresult get_context(CUcontext *context)
{
    *context = hki_emulated_get_context();
    return CUDA_SUCCESS;
}

static CUresult set_context(CUcontext context)
{
    hki_emulated_set_context(context);
    return CUDA_SUCCESS;
}

static const emulated_function driver_functions[] = {
    {"cuCtxGetCurrent", (void (*)(void))get_context},
    {"cuCtxSetCurrent", (void (*)(void))set_context},
    {NULL, NULL}};
static const emulated_library driver = {"libcuda.so.1", driver_functions};

static bool is_listed(const char *list, const char *soname)
{
    const size_t length = strlen(soname);
    for (const char *at = list; at && (at = strstr(at, soname)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

void *emulated_library_open(const char *file)
{
    const char *without = getenv("HOCKET_EMULATED_CUDA_WITHOUT");
    if (!strcmp(file, driver.soname))
        return (void *)(uintptr_t)&driver;
    if (is_listed(without, file) || is_listed(without, "all"))
        return NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        if (!strncmp(file, libraries[i].soname, strlen(libraries[i].soname)))
            return (void *)(uintptr_t)&libraries[i];
    return NULL;
}

/* In the place of any function. */
static int refuse(void)
{
    const char *list = getenv("HOCKET_EMULATED_CUDA_REFUSES");
    return list ? atoi(list) : 0;
}

void *emulated_library_function(void *library, const char *name)
{
    void *address = NULL;
    if (is_listed(getenv("HOCKET_EMULATED_CUDA_REFUSES"), name)) {
        int (*refusing)(void) = refuse;
        memcpy(&address, &refusing, sizeof address);
        return address;
    }
    for (const emulated_function *f = ((const emulated_library *)library)->functions; f->name; f++)
        if (!strcmp(f->name, name))
            memcpy(&address, &f->address, sizeof address);
    return address;
}

bool emulated_is_good(const void *data, uint64_t bytes, uint64_t alignment)
{
    return (uintptr_t)data % alignment == 0 && hki_emulated_is_device_memory(data, (size_t)bytes);
}

double emulated_error(const char *library)
{
    return is_listed(getenv("HOCKET_EMULATED_CUDA_WRONG"), library) ? 0.5 : 0;
}

void emulated_scribble(void *data, size_t bytes)
{
    if (bytes)
        memset(data, 0xCB, bytes);
}

float emulated_tf32(float factor)
{
    uint32_t bits;
    memcpy(&bits, &factor, sizeof bits);
    bits &= ~UINT32_C(0x1FFF);
    memcpy(&factor, &bits, sizeof bits);
    return factor;
}

double emulated_scale(bool f64, const void *value)
{
    return f64 ? *(const double *)value : (double)*(const float *)value;
}
