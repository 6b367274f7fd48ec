/* Devices by name: "cpu:0", "cpu:1", … split this machine's cores; "cuda:0", … are its NVIDIA GPUs. A device is a small value, copied
 * freely, valid while its runtime lives. All functions are thread-safe. */
#ifndef HOCKET_DEVICE_H
#define HOCKET_DEVICE_H

#include <hocket/status.h>

HK_BEGIN_DECLS

typedef struct hk_device {
    struct hki_device *handle;
} hk_device;

/* The device called `name`. A name that is not there gives a failed device: arrays made on it fail with
 * a record that says which devices there are. Does not block. */
HK_API hk_device hk_device_named(const char *name);
/* "cpu:0": where arrays are made when no device is named. */
HK_API hk_device hk_device_default(void);

/* Devices of the default runtime, counted; the i-th of them (failed when out of range). */
HK_API int hk_device_count(void);
HK_API hk_device hk_device_at(int index);

/* "cpu:0"; the text lives as long as the runtime. */
HK_API const char *hk_device_name(hk_device device);
/* Cores that the device may use; 0 for a failed device. */
HK_API int hk_device_cores(hk_device device);
HK_API const hk_status *hk_device_status(hk_device device);

/* Bytes of array memory: in use by arrays, and kept for reuse; pinned memory is not counted. Arrays of at most 64 bytes
 * on a CPU device count as 64 in used_bytes, but take nothing of the limit. */
typedef struct hk_device_memory {
    size_t struct_bytes; /* see "Structs that grow" in hocket/base.h */
    uint64_t used_bytes, cached_bytes, peak_bytes, limit_bytes /* 0: none */;
} hk_device_memory;
HK_API void hk_device_read_memory(hk_device device, hk_device_memory *memory);
static inline hk_device_memory hk_device_get_memory(hk_device device)
{
    hk_device_memory filled;
    filled.struct_bytes = sizeof filled;
    hk_device_read_memory(device, &filled);
    return filled;
}

/* "cpu", "sim" or "cuda"; "failed" for a failed device. Static text. */
HK_API const char *hk_device_kind(hk_device device);
/* Its place for hk_device_at; -1 for a failed device. */
HK_API int hk_device_index(hk_device device);
/* Among those of its kind, from 0; the number of a GPU for CUDA (which "cuda:0/0" and "cuda:0/1" share), as DLPack wants it. The
 * same in each runtime of a process, and for sim and cpu the number in the name. -1 for a failed device. */
HK_API int hk_device_ordinal(hk_device device);
/* True for a device whose times are a model's. */
HK_API bool hk_device_is_simulated(hk_device device);
/* What a simulated device models: "simulated: 20 GFLOP/s, link 4 GB/s + 10 us, ..."; which GPU one is; "" for others.
 * Lives as long as the runtime. */
HK_API const char *hk_device_description(hk_device device);

/* What there is for NVIDIA GPUs, and what is missing, in lines of text for people: the plug-in, the driver, each GPU, the
 * libraries. May look for it: the first call can take as long as CUDA's driver takes to start. Lives as long as the
 * runtime. */
HK_API const char *hk_cuda_describe(void);

/* Queues of a device. A CPU device runs everything in HK_QUEUE_COMPUTE; HK_QUEUE_REDUCE is a GPU's. */
typedef enum hk_queue {
    HK_QUEUE_COMPUTE,
    HK_QUEUE_COPY_IN,  /* to the device */
    HK_QUEUE_COPY_OUT, /* from the device, to the host or to a peer */
    HK_QUEUE_REDUCE /* sums over devices, beside computing; elsewhere they are in HK_QUEUE_COMPUTE */
} hk_queue;

/* Of calls that have finished, since the runtime began. Simulated devices: times of the model, and how well the host
 * kept up with it. A call is late by the time from the model's end to its real one, but for 100 us, which waking up
 * may take. */
typedef struct hk_queue_stats {
    size_t struct_bytes; /* see "Structs that grow" in hocket/base.h */
    uint64_t calls;
    int64_t busy_ns;     /* only known of accelerators */
    int64_t last_end_ns; /* when the last one ended, on hk_clock_ns's axis; accelerators */
    int64_t late_ns;     /* the most by which one was late since hk_device_stats_clear */
    uint64_t bytes;      /* copied */
} hk_queue_stats;
/* Does not block. Zeros for a failed device, a queue that is none, and a device whose runtime has ended. */
HK_API void hk_device_read_stats(hk_device device, hk_queue queue, hk_queue_stats *stats);
static inline hk_queue_stats hk_device_get_stats(hk_device device, hk_queue queue)
{
    hk_queue_stats filled;
    filled.struct_bytes = sizeof filled;
    hk_device_read_stats(device, queue, &filled);
    return filled;
}
/* Forgets late_ns, of all devices of the default runtime. Does not block. */
HK_API void hk_device_stats_clear(void);

/* Monotonic time in nanoseconds, the axis of all times that Hocket tells. */
HK_API int64_t hk_clock_ns(void);

/* Blocks until every call issued to the device before this one has finished. Returns the same snapshot
 * as hk_wait_all. */
HK_API const hk_status *hk_wait_device(hk_device device);

HK_END_DECLS

#endif
