/* Devices by name: "cpu:0", "cpu:1", … split this machine's cores. A device is a small value, copied
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

/* Bytes of array memory: in use by arrays, and kept for reuse. */
typedef struct hk_device_memory {
    uint64_t used_bytes, cached_bytes, peak_bytes, limit_bytes /* 0: none */;
} hk_device_memory;
HK_API hk_device_memory hk_device_get_memory(hk_device device);

/* Blocks until every call issued to the device before this one has finished. Returns the same snapshot
 * as hk_wait_all. */
HK_API const hk_status *hk_wait_device(hk_device device);

HK_END_DECLS

#endif
