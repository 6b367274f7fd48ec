/* Stand-ins for cuBLASLt, cuDNN and NCCL: the functions that the plug-in uses, in plain loops that run in the emulated
 * streams. They refuse what the real ones refuse: descriptors that are not complete or do not go together, leading
 * dimensions that are too small, memory that is no device memory or ends too early, pointers less aligned than was
 * promised, workspaces that are too small. And they make mistakes show that the real ones forgive on some days: a
 * workspace is overwritten, a choice without a fixed order of sums gives other sums every time, one that may round
 * factors rounds them.
 *
 * libcuda.so.1 has what the plug-in asks of the driver itself, and is always there.
 *
 * HOCKET_EMULATED_CUDA_REFUSES: a status, and functions of theirs that do nothing but give it, "13,cublasLtMatmul".
 * HOCKET_EMULATED_CUDA_WRONG: which of cuBLASLt and cuDNN compute something else than they were asked for, "cuBLASLt,cuDNN".
 * HOCKET_EMULATED_CUDA_WITHOUT: sonames, separated by commas, of those that are not there; or all. */
#ifndef HOCKET_TESTS_EMULATED_LIBRARIES_H
#define HOCKET_TESTS_EMULATED_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As dlopen and dlsym: NULL when there is none. */
void *emulated_library_open(const char *file);
void *emulated_library_function(void *library, const char *name);

typedef struct emulated_function {
    const char *name;
    void (*address)(void);
} emulated_function;

/* For the lists HKI_CUDNN_FUNCTIONS and so on. */
#define EMULATED_FUNCTION(f) {#f, (void (*)(void))f},

/* Each ends with a NULL name. */
extern const emulated_function emulated_cublaslt_functions[], emulated_cudnn_functions[],
    emulated_nccl_functions[];

/* Whether all `bytes` are of one live block of device memory, and the address is a multiple of `alignment`. */
bool emulated_is_good(const void *data, uint64_t bytes, uint64_t alignment);

/* What a result of the library is too large by: mostly 0. */
double emulated_error(const char *library);

/* Overwrites memory that nobody is to rely on. */
void emulated_scribble(void *data, size_t bytes);

/* What tf32 has of a factor: 10 bits. */
float emulated_tf32(float factor);
/* alpha or beta, given as a double or a float. */
double emulated_scale(bool f64, const void *value);

#endif
