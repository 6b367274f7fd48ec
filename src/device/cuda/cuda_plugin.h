/* Between the library and its plug-in for NVIDIA GPUs, libhocket_cuda.so, which alone is linked with CUDA. Both are of
 * one build: they share the headers of src/. The library opens it when there is a reason to (cuda_loader.c); the
 * plug-in calls back through hki_cuda_host, because the library shows programs its public functions only.
 *
 * Immutable after load, thread-safe. */
#ifndef HOCKET_DEVICE_CUDA_PLUGIN_H
#define HOCKET_DEVICE_CUDA_PLUGIN_H

#include "base/choices.h"
#include "device/device.h"

/* Counted up with every change of what the two share; the sizes catch what was forgotten. */
enum { HKI_CUDA_ABI = 14 };

struct hki_task;
struct hki_runtime;

typedef struct hki_cuda_host {
    uint32_t abi;
    const char *version; /* HK_VERSION_STRING */
    size_t device_bytes, class_bytes, kernel_call_bytes;
    int op_count;
    /* As the functions of these names: engine/engine.h, array/array.h, device/device.h. */
    void (*task_fail)(struct hki_task *task, int64_t piece, hk_code code, const char *format, ...)
        HK_PRINTF(4, 5);
    bool (*dtype_store)(hk_dtype dtype, void *element, double value);
    void (*memory_pool_trim)(hki_memory_pool *pool);
    /* True while what runs is recorded: then a task's begin and end are to be those of the GPU's clock. */
    bool (*is_recording)(struct hki_runtime *runtime);
    void (*runtime_end_first)(void);
    struct hki_choices *(*runtime_choices)(const struct hki_runtime *runtime);
    const char *(*choices_find)(struct hki_choices *choices, const hki_choice_key *key,
                                hki_choice_measure_fn measure);
    bool (*choices_is_measuring)(const struct hki_choices *choices);
    void (*choices_note)(struct hki_choices *choices, const hki_choice_key *key, const char *word);
} hki_cuda_host;

/* The library's: defined in op/cuda_host.c, since it names what is of the rooms above. */
extern const hki_cuda_host hki_cuda_host_table;

/* One GPU, as found. */
typedef struct hki_cuda_gpu {
    char name[128];
    uint64_t memory_bytes;
    int major, minor; /* compute capability */
    int multiprocessors;
    char problem[192]; /* why it cannot be used, else "" */
} hki_cuda_gpu;

enum { HKI_CUDA_MAX_GPUS = 16 };

/* What is there; texts for `hocket doctor`. */
typedef struct hki_cuda_machine {
    int gpu_count;
    hki_cuda_gpu gpus[HKI_CUDA_MAX_GPUS];
    int driver_version, runtime_version; /* 13000: 13.0; 0: no driver */
    char problem[256];                   /* why there is no GPU to be used, else "" */
} hki_cuda_machine;

typedef struct hki_cuda_options {
    uint64_t memory_bytes; /* of arrays at most; 0: no limit but the GPU's */
    bool allow_tf32; /* products and convolutions of float32 may round their factors to 10 bits */
    bool use_nccl;   /* for sums over GPUs */
} hki_cuda_options;

typedef struct hki_cuda_plugin {
    uint32_t abi;
    /* Looks for GPUs. Never fails: `problem` tells. */
    void (*probe)(hki_cuda_machine *machine);
    /* Lines "cuDNN 9.13" or "NCCL: not found (libnccl.so.2)". Opens them all, which takes a while. */
    void (*describe_libraries)(char *text, size_t bytes);
    /* Makes `device` the GPU's: class, description, state; streams and memory of its own, so that one GPU may be
     * several devices. False: *problem (bytes) says why. */
    bool (*device_init)(hki_device *device, int gpu, const hki_cuda_options *options, char *problem,
                        size_t bytes);
} hki_cuda_plugin;

/* The plug-in's one symbol. NULL: it is not of this build. `host` stays the library's. */
typedef const hki_cuda_plugin *(*hki_cuda_plugin_open_fn)(const hki_cuda_host *host);
#define HKI_CUDA_PLUGIN_SYMBOL "hki_cuda_plugin_open"

#endif
