/* Accelerators made of software: real results, memory that only they can reach, time by a model. */
#ifndef HOCKET_DEVICE_SIM_DEVICE_H
#define HOCKET_DEVICE_SIM_DEVICE_H

#include "device/device.h"

#include <hocket/runtime.h>

/* Makes `device` a simulated one by the model, whose fields all have their values (hki_sim_options_complete):
 * sets class, kernel_offset, description and state. False when the machine has no address space for it. */
bool hki_sim_init(hki_device *device, const hk_sim_options *model);
void hki_sim_deinit(hki_device *device);

/* Puts defaults where a group of `options` has zeros. Returns NULL, or a record (counted) that names the field, its
 * value and what would be right; `options` is then unchanged. */
const hk_status *hki_sim_options_complete(hk_sim_options *options);

enum { HKI_SIM_MAX_GROUPS = 16 };

/* The groups of the text of HOCKET_SIM, not completed; *count is set. NULL or text "": none. Returns NULL or a record
 * (counted). */
const hk_status *hki_sim_options_parse(const char *text, hk_sim_options groups[HKI_SIM_MAX_GROUPS],
                                       int *count);

/* ---- memory ------------------------------------------------------------------------------------------ */

/* Memory whose addresses cannot be used: each stands for the byte `offset` further on. Thread-safe but for init and
 * deinit. */
typedef struct hki_sim_memory hki_sim_memory;

/* NULL when there is no address space. `bytes` are reserved; the machine gives pages when they are touched. */
hki_sim_memory *hki_sim_memory_create(uint64_t bytes);
void hki_sim_memory_destroy(hki_sim_memory *memory);
intptr_t hki_sim_memory_offset(const hki_sim_memory *memory);
/* 64-byte aligned, first fit; NULL when there is no such gap. */
void *hki_sim_memory_allocate(hki_sim_memory *memory, size_t bytes);
void hki_sim_memory_release(hki_sim_memory *memory, void *data, size_t bytes);

#endif
