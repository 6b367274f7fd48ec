/* What a runtime is to be: its devices, and how its engine runs. */
#ifndef HOCKET_DEVICE_RUNTIME_CONFIG_H
#define HOCKET_DEVICE_RUNTIME_CONFIG_H

#include "device/cuda/cuda_loader.h"
#include "device/sim/sim_device.h"

typedef struct hki_runtime_config {
    int64_t cpu_devices, cpu_cores, engine, run_ahead_calls, run_ahead_bytes, inline_ns,
        memory_bytes;
    hk_sim_options sims[HKI_SIM_MAX_GROUPS]; /* sim_count groups, complete */
    int sim_count;
    hki_cuda_choice cuda;
    int64_t cuda_memory_bytes, cuda_tf32, cuda_nccl, flush_subnormals;
} hki_runtime_config;

/* Options first, then the environment for those that are zero, then defaults. Returns NULL or the first error
 * (counted); the configuration is then the default for what is wrong. */
const hk_status *hki_configure(const hk_runtime_options *options, hki_runtime_config *config);

#endif
