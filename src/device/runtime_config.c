/* What a runtime is to be: options, the environment, defaults. */
#include "device/runtime_config.h"

#include "base/config.h"
#include "base/floats.h"
#include "device/cpu/cpu_topology.h"

#include <stdlib.h>
#include <string.h>

static const hk_status *option_error(const char *name, int64_t value, const char *expected)
{
    const hki_status_facts facts = {.operation = "runtime_init"};
    return hki_status_create(HK_INVALID_ARGUMENT, &facts, "option %s is %lld; expected %s", name,
                             (long long)value, expected);
}

/* Groups from the options or, read already, the environment: with their defaults. */
static const hk_status *configure_sims(const hk_runtime_options *options,
                                       hki_runtime_config *config)
{
    int64_t devices = config->cpu_devices;
    if (options->sim && options->sim_count > 0) {
        config->sim_count = options->sim_count;
        memcpy(config->sims, options->sim, (size_t)config->sim_count * sizeof *config->sims);
    }
    const hk_status *error = NULL;
    for (int i = 0; i < config->sim_count && !error; i++) {
        error = hki_sim_options_complete(&config->sims[i]);
        if (!error)
            devices += config->sims[i].count;
    }
    if (!error && devices > HKI_MAX_DEVICES)
        error = option_error("cpu_devices and sim.count, together,", devices, "at most 64");
    if (error)
        config->sim_count = 0;
    return error;
}

const hk_status *hki_configure(const hk_runtime_options *options, hki_runtime_config *config)
{
    static const char *const engines[] = {"async", "serial", NULL};
    static const hk_runtime_options none = {0};
    const int64_t most = (int64_t)1 << 50;
    if (!options)
        options = &none;
    *config = (hki_runtime_config){.cpu_devices = 1,
                                   .run_ahead_calls = 4096,
                                   .run_ahead_bytes = (int64_t)1 << 30,
                                   .cuda_nccl = 1};
    const hk_status *error = NULL;
    int engine = 0;
    int64_t checks = 0;
    bool has_sims = options->sim && options->sim_count > 0;
    const hk_status *errors[] = {
        hki_config_integer("HOCKET_CPUS", 1, HKI_MAX_DEVICES, &config->cpu_devices),
        hki_config_integer("HOCKET_CORES", 1, HKI_MAX_CORES, &config->cpu_cores),
        hki_config_word("HOCKET_ENGINE", engines, &engine),
        hki_config_integer("HOCKET_CHECK", 0, 1, &checks),
        hki_config_integer("HOCKET_RUN_AHEAD", 1, most, &config->run_ahead_calls),
        hki_config_integer("HOCKET_RUN_AHEAD_BYTES", 1, most, &config->run_ahead_bytes),
        hki_config_integer("HOCKET_INLINE_NS", -1, most, &config->inline_ns),
        hki_config_integer("HOCKET_MEMORY", 1, most, &config->memory_bytes),
        hki_config_integer("HOCKET_CUDA_MEMORY", 1, most, &config->cuda_memory_bytes),
        hki_config_integer("HOCKET_TF32", 0, 1, &config->cuda_tf32),
        hki_config_integer("HOCKET_NCCL", 0, 1, &config->cuda_nccl),
        hki_config_integer("HOCKET_FLUSH_SUBNORMALS", 0, 1, &config->flush_subnormals),
        hki_cuda_choose(options->cuda, &config->cuda),
        options->cpu_devices < 0 || options->cpu_devices > HKI_MAX_DEVICES
            ? option_error("cpu_devices", options->cpu_devices, "1 to 64, or 0 for the default")
            : NULL,
        options->cpu_cores < 0 || options->cpu_cores > HKI_MAX_CORES
            ? option_error("cpu_cores", options->cpu_cores, "1 to 256, or 0 for all")
            : NULL,
        (unsigned)options->engine > HK_ENGINE_SERIAL
            ? option_error("engine", options->engine, "HK_ENGINE_ASYNC or HK_ENGINE_SERIAL")
            : NULL,
        options->inline_ns < -1
            ? option_error("inline_ns", options->inline_ns,
                           "-1 for never, 0 for what handing over costs, or more")
            : NULL,
        options->sim_count < 0 || options->sim_count > HKI_SIM_MAX_GROUPS ||
                (options->sim_count && !options->sim)
            ? option_error("sim_count", options->sim_count, "0 to 16, the length of option sim")
            : NULL,
        has_sims ? NULL
                 : hki_sim_options_parse(getenv("HOCKET_SIM"), config->sims, &config->sim_count),
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (!error)
            error = errors[i];
        else
            hk_status_release(errors[i]);
    }
    if (error) {
        config->sim_count = 0;
        config->cuda.is_off = true;
        return error;
    }
    if (checks)
        atomic_store_explicit(&hki_config_checks, true, memory_order_relaxed);
    config->engine =
        options->engine == HK_ENGINE_DEFAULT ? engine : options->engine == HK_ENGINE_SERIAL;
    if (options->cpu_devices)
        config->cpu_devices = options->cpu_devices;
    if (options->cpu_cores)
        config->cpu_cores = options->cpu_cores;
    if (options->run_ahead_calls)
        config->run_ahead_calls = (int64_t)options->run_ahead_calls;
    if (options->run_ahead_bytes)
        config->run_ahead_bytes = (int64_t)options->run_ahead_bytes;
    if (options->inline_ns)
        config->inline_ns = options->inline_ns;
    if (options->memory_bytes)
        config->memory_bytes = (int64_t)options->memory_bytes;
    if (options->cuda_memory_bytes)
        config->cuda_memory_bytes = (int64_t)options->cuda_memory_bytes;
    if (options->cuda_tf32)
        config->cuda_tf32 = 1;
    if (options->cuda_own_sums)
        config->cuda_nccl = 0;
    if (options->flush_subnormals)
        config->flush_subnormals = 1;
    if (config->flush_subnormals && !HKI_FLOATS_CAN_FLUSH)
        return option_error("flush_subnormals", 1, "0: this processor's way to flush is not known");
    return configure_sims(options, config);
}
