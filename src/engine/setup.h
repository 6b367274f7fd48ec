/* Setting a runtime up: its configuration, and its devices. */
#ifndef HOCKET_ENGINE_SETUP_H
#define HOCKET_ENGINE_SETUP_H

#include "device/cuda/cuda_loader.h"
#include "device/sim/sim_device.h"
#include "engine/core/runtime.h"

typedef struct hki_runtime_config {
    int64_t cpu_devices, cpu_cores, engine, run_ahead_calls, run_ahead_bytes, inline_ns,
        memory_bytes;
    hk_sim_options sims[HKI_SIM_MAX_GROUPS]; /* sim_count groups, complete */
    int sim_count;
    hki_cuda_choice cuda;
    int64_t cuda_memory_bytes, cuda_tf32, cuda_nccl;
} hki_runtime_config;

/* Options first, then the environment for those that are zero, then defaults. Returns NULL or the first error
 * (counted); the configuration is then the default for what is wrong. */
const hk_status *hki_configure(const hk_runtime_options *options, hki_runtime_config *config);
/* Also the parts of the rooms that know about them. False: no memory. What was made stays in the runtime. */
bool hki_devices_create(hki_runtime *runtime, const hki_runtime_config *config);
void hki_devices_destroy(hki_runtime *runtime);

#endif
