/* What tests and emulated libraries ask of the emulated CUDA runtime besides the functions of cuda_runtime_api.h, which
 * it defines. C and C++. Thread-safe unless said otherwise.
 *
 * The emulation is for finding mistakes of programs that use CUDA, not for speed:
 *   - A stream is a thread that runs what has been put into it, in order; events make streams wait for each other.
 *   - Memory of a GPU has addresses of its own, where nothing can be read or written, so that host code that touches it
 *     faults. Kernels are given the place behind such an address: device addresses among their arguments are exchanged,
 *     in structures too. It is filled with 0xA5 when allocated, ends at a page that faults, and faults when freed.
 *   - Copies from and to pageable memory happen when the stream gets there, as late as CUDA may do it; every second one at
 *     once, as early as it may.
 *   - A kernel that is given the host's pageable memory, memory of another GPU without access to it, or memory that has
 *     been freed loses its GPU: cudaErrorIllegalAddress from every later call.
 *   - At exit every call gives cudaErrorCudartUnloading, from when what was registered after the first call has been
 *     called.
 *   - cudaSetDevice makes a context on the GPU, as every call does that needs one, in a thread that has none: of GPU 0,
 *     unless that thread has set another.
 *   - Pools give back to the system what exceeds their threshold whenever the host waits for a stream. A pool that may
 *     make a stream wait for another one, to use again what that one will have freed, does so whenever it can.
 *   - cudaErrorNotReady, like every error, is what cudaGetLastError gives next.
 *
 * HOCKET_EMULATED_CUDA, or the text of hki_emulated_restart, says what is there; a list of NAME=VALUE with commas:
 *   gpus=N              0 to 16, default 1
 *   memory=SIZE         of each GPU, with K, M or G; default 256M
 *   slow=SEED           each entry of a stream sleeps up to 50 microseconds before it runs, by chance; 0: none (default)
 *   fail_allocation=N   the Nth allocation of device or pinned memory fails with cudaErrorMemoryAllocation
 *   lose_at=N           the Nth kernel to run loses its GPU
 *   multiprocessors=N   default 4
 *   capability=MAJORMINOR  default 90
 *   peers=0             GPUs cannot be given access to each other's memory
 *   driver=0            there is no driver: cudaGetDeviceCount gives cudaErrorInsufficientDriver
 *   still=1             kernels do nothing, nor do graphs, and the rest is over when the call that asks for it returns: how long
 *                       a program takes is the host's own time
 *   work=1              events tell the processor time of their stream's thread, in which nothing else counts */
#ifndef HOCKET_TESTS_EMULATED_RUNTIME_H
#define HOCKET_TESTS_EMULATED_RUNTIME_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts a call of `run` into the stream (0: the default stream), under the stream's rules: skipped when the GPU is lost,
 * recorded while the stream captures. `argument` is copied: 8-byte aligned, no pointers to it; addresses of device memory
 * in its aligned words are exchanged for the place behind them. `name`: static text. Errors as for a kernel. */
typedef void (*hki_emulated_fn)(void *argument);
cudaError_t hki_emulated_enqueue(cudaStream_t stream, const char *name, hki_emulated_fn run,
                                 const void *argument, size_t bytes);

/* True when the bytes lie in one live allocation of any GPU. */
bool hki_emulated_is_device_memory(const void *data, size_t bytes);
/* The place behind an address of device memory, for looking from a test when nothing runs; other addresses unchanged. */
void *hki_emulated_memory(const void *data);

/* The calling thread's context, by a handle for each GPU's one; NULL: none. A thread that is given none keeps the GPU that it
 * has had, which gets a context from the thread's next call. */
void *hki_emulated_get_context(void);
void hki_emulated_set_context(void *context);

/* Waits for all streams and begins anew with another configuration: no GPU is lost, no memory allocated. False, and no
 * change, when the text is wrong; prints what is. Handles and addresses of before must not be used any more. Not while
 * other threads call. */
bool hki_emulated_restart(const char *configuration);

/* What there is and what has been, of all GPUs, since the last restart. */
typedef struct hki_emulated_counts {
    uint64_t kernels;          /* that have run, or were skipped */
    uint64_t copies;           /* cudaMemcpy and cudaMemset of every kind */
    uint64_t synchronisations; /* calls that waited for a stream, an event or a device */
    uint64_t allocations;      /* calls of cudaMalloc and its kin that gave memory */
    uint64_t records, queries; /* calls of cudaEventRecord and cudaEventQuery */
    uint64_t returns;    /* times that a synchronisation gave a pool's memory back to the system */
    uint64_t trims;      /* calls of cudaMemPoolTrimTo */
    int contexts;        /* GPUs that some call has made one on */
    int streams, events; /* live handles */
    int device_blocks, pinned_blocks; /* live allocations */
    int graphs;                       /* live graphs and instances */
} hki_emulated_counts;
hki_emulated_counts hki_emulated_get_counts(void);

#ifdef __cplusplus
}
#endif

#endif
