/* Devices of all kinds: making and ending them, and the text of which there are. */
#ifndef HOCKET_DEVICE_LIST_H
#define HOCKET_DEVICE_LIST_H

#include "device/cuda/cuda_loader.h"
#include "device/device.h"

/* The record for a name that is none of these devices', counted: what there is, and what could be done. */
const hk_status *hki_device_not_found(hki_device *const *devices, int count,
                                      const hki_cuda_setup *cuda, const char *name);

/* One without a class, of that name, with the number behind it unless that is negative. NULL: no memory. */
hki_device *hki_device_create(const char *name, int number);
/* With its memory. Pinned memory goes before the accelerator that gave it: CPU devices are destroyed first. */
void hki_device_destroy(hki_device *device);

/* Memory of the host that accelerators copy from and to without staging: one of them gives it, all use it; a GPU where
 * there is one, because a simulated device takes any memory for pinned. False: no memory. */
bool hki_pinned_pools_create(hki_device *const *devices, int count);

#endif
