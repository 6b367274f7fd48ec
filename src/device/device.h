/* Devices: memory, cores and ready queues behind one table of functions.
 *
 * A device belongs to a runtime and lives as long. Immutable after create but for what its fields say. */
#ifndef HOCKET_DEVICE_DEVICE_H
#define HOCKET_DEVICE_DEVICE_H

#include "base/status.h"

#include <hocket/device.h>

typedef struct hki_device hki_device;

typedef enum hki_device_kind { HKI_CPU, HKI_DEVICE_KIND_COUNT } hki_device_kind;

/* What a kind of device does; all slots are filled unless marked optional. */
typedef struct hki_device_class {
    hki_device_kind kind;
    /* Fresh memory of the device, 64-byte aligned, bytes > 0; NULL when it has no more. */
    void *(*allocate)(hki_device *device, size_t bytes);
    void (*release)(hki_device *device, void *data, size_t bytes);
    /* Between device memory and host memory; called in a task of the device or a waiting thread. */
    void (*copy_from_host)(hki_device *device, void *to, const void *from, size_t bytes);
    void (*copy_to_host)(hki_device *device, void *to, const void *from, size_t bytes);
    /* True when kernels of `device` may use memory of `peer` in place. */
    bool (*can_access)(hki_device *device, hki_device *peer);
} hki_device_class;

typedef struct hki_memory_pool hki_memory_pool;

struct hki_device {
    const hki_device_class *class; /* NULL for a failed device */
    struct hki_runtime *runtime;   /* NULL only when there was no memory to start one */
    const hk_status *status;       /* counted; ok unless this is a failed device */
    int index;                     /* among the devices of the runtime; -1 for a failed device */
    int core_count;
    char name[32];
    hki_memory_pool *memory; /* thread-safe */
    struct hki_queue *queue; /* the engine's; a failed device borrows the first one's */
};

/* Memory for arrays, from the device's pool: 64-byte aligned, reused in LIFO order by size. NULL when
 * the device's limit or the machine's memory is reached, after the cache has been emptied. bytes > 0. */
void *hki_device_allocate(hki_device *device, size_t bytes);
void hki_device_release(hki_device *device, void *data, size_t bytes);

/* A pool over the device's class functions; limit_bytes 0: none. NULL when host memory is short. */
hki_memory_pool *hki_memory_pool_create(hki_device *device, uint64_t limit_bytes);
void hki_memory_pool_destroy(hki_memory_pool *pool);
hk_device_memory hki_memory_pool_get(hki_memory_pool *pool);

extern const hki_device_class hki_cpu_device_class;

#endif
