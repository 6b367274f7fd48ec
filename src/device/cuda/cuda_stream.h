/* Within the plug-in: what kernels and library calls of a compute queue are given. C and CUDA C++.
 *
 * A stream belongs to one queue of a device and is used by that queue's thread only. Nothing here waits for the
 * device. Errors of CUDA are noted for the task that is being launched, which then fails. */
#ifndef HOCKET_DEVICE_CUDA_STREAM_H
#define HOCKET_DEVICE_CUDA_STREAM_H

#include "device/random_place.h"

#include <cuda_runtime_api.h>
#include <hocket/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hki_cuda_stream hki_cuda_stream;

cudaStream_t hki_cuda_stream_handle(const hki_cuda_stream *stream);
int hki_cuda_stream_multiprocessors(const hki_cuda_stream *stream);
bool hki_cuda_stream_allows_tf32(const hki_cuda_stream *stream);

/* Memory of the device for what is launched until the next call of this function in the stream: 256-byte aligned, kept
 * and grown. NULL after noting that there is none. */
void *hki_cuda_workspace(hki_cuda_stream *stream, size_t bytes);
/* For who can do with less: false, with nothing noted, when there is no memory for so many bytes. */
bool hki_cuda_has_workspace(hki_cuda_stream *stream, size_t bytes);

/* What libraries keep from one task to the next, handles and plans: zeroed memory of the host, made at the first call for
 * `which`, the same ever after. `deinit` is called before the stream ends, when nothing runs in it any more. NULL after
 * noting that there is no memory. */
typedef enum hki_cuda_kept {
    HKI_CUDA_PRODUCTS,
    HKI_CUDA_CONVOLUTIONS,
    HKI_CUDA_KEPT_COUNT
} hki_cuda_kept;
void *hki_cuda_stream_keep(hki_cuda_stream *stream, hki_cuda_kept which, size_t bytes,
                           void (*deinit)(void *state));

/* What was measured on such a GPU in an earlier run (base/choices.h); NULL: nothing. The key is without the GPU, which this
 * adds as its first numbers: two. */
struct hki_choice_key;
const char *hki_cuda_stream_choice(hki_cuda_stream *stream, const struct hki_choice_key *key);
/* Whether that is to be measured in this run, for the next one. Never while calls are recorded. */
bool hki_cuda_stream_measures(const hki_cuda_stream *stream);
void hki_cuda_stream_note_choice(hki_cuda_stream *stream, const struct hki_choice_key *key,
                                 const char *word);

/* Libraries of NVIDIA's may have been loaded, by each other too: at exit the runtime is to end before they do. */
void hki_cuda_stream_has_loaded(hki_cuda_stream *stream);

/* Notes the first error of the task that is being launched; true when there is none. `what`: static text. */
bool hki_cuda_ok(hki_cuda_stream *stream, cudaError_t error, const char *what);
/* The same for other libraries: `text` is copied. */
void hki_cuda_note(hki_cuda_stream *stream, const char *what, const char *text);

/* A library whose work own kernels can do, too, has refused something, whatever it says: `text` is copied. */
void hki_cuda_refuse(hki_cuda_stream *stream, const char *what, const char *text);
/* After that. True: own kernels are to do it. False: the device is lost, as has been noted; or what is launched is being
 * recorded, which comes to nothing. */
bool hki_cuda_falls_back(hki_cuda_stream *stream);
/* How the call is done: static text, and a number that belongs to it. See hki_device_class.last_method. */
void hki_cuda_tell_method(hki_cuda_stream *stream, const char *method, int number);

/* What a kernel reports when it meets a value that fails the call. Kernels keep the lowest index: hki_cuda_report in
 * cuda_launch.cuh. Those that kernels write to lie on a board in the device's memory: the first one's `value` has a bit for
 * each of the others, of number 1 and on, which tells those behind that it has been reported to. */
typedef struct hki_cuda_fault {
    unsigned long long index; /* UINT64_MAX: none */
    unsigned long long value; /* of hki_cuda_report_value; 0 before */
    unsigned long long number;
    /* A line of the GPU's cache each: the host reads copies of some while kernels write others. */
    unsigned long long unused[13];
} hki_cuda_fault;

enum { HKI_CUDA_FLAGS = 64 /* of a board, at most */ };

/* Flags of a board. A kernel that is given some writes nothing when one of them is up. Halves apart, each with nothing above
 * it, so that no set of flags looks like an address. */
typedef struct hki_cuda_guard {
    const hki_cuda_fault *board; /* NULL: it always writes */
    uint32_t low, no_low, high, no_high;
} hki_cuda_guard;
/* Of what is launched now. */
hki_cuda_guard hki_cuda_stream_guard(const hki_cuda_stream *stream);
/* By checks of the recorder whose calls are being launched: see hki_recorder_class.spare. */
hki_cuda_guard hki_cuda_recorder_guard(const hki_cuda_stream *stream, uint64_t checks);

/* Where the random numbers of the call that is being recorded will begin, in the device's memory: elsewhere at each replay. NULL:
 * nothing is being recorded, and its options say so; or the recording has been refused, for the call is no draw of the recorder. */
const hki_random_place *hki_cuda_recorded_place(hki_cuda_stream *stream);

/* What hki_cuda_report_value was given; a row of HKI_CUDA_LAST_ROW stands for all from there on. */
#define HKI_CUDA_LAST_ROW (INT64_C(0xfffffffe))
static inline uint32_t hki_cuda_fault_row(const hki_cuda_fault *fault)
{
    return (uint32_t)(fault->index >> 32);
}
static inline int64_t hki_cuda_fault_value(const hki_cuda_fault *fault)
{
    return (int64_t)(fault->index << 32 | (~fault->value & 0xffffffffu));
}

/* A fault for the task that is being launched, or for that call of it, at most one each; NULL after noting why there is none.
 * When the task is done and the fault has an index, `describe` writes the message into text and returns the code that
 * CPUs have for it. `argument`: 64 bits handed to it. */
typedef hk_code (*hki_cuda_describe_fn)(const hki_cuda_fault *fault, int64_t argument, char *text,
                                        size_t bytes);
hki_cuda_fault *hki_cuda_fault_slot(hki_cuda_stream *stream, hki_cuda_describe_fn describe,
                                    int64_t argument);

#ifdef __cplusplus
}
#endif

#endif
