#include "emulated_machine.h"

#include "emulated_memory.h"
#include "emulated_pool.h"
#include "emulated_stream.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>

namespace emulated
{

namespace
{

struct caller {
    cudaError_t error = cudaSuccess;
    int device = 0;
    bool has_context = false; /* the GPU's is current */
    bool is_in_callback = false;
};
thread_local caller the_caller;

bool parse_size(const char *text, size_t &size)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *text == '-')
        return false;
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end[shift != 0])
        return false;
    size = static_cast<size_t>(value) << shift;
    return true;
}

/* False after printing what is wrong. */
bool parse(const char *text, configuration &setting)
{
    std::string rest = text ? text : "";
    while (!rest.empty()) {
        size_t comma = rest.find(',');
        std::string item = rest.substr(0, comma);
        rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
        size_t equals = item.find('='), value = 0;
        std::string name = item.substr(0, equals);
        bool is_good = equals != std::string::npos && parse_size(item.c_str() + equals + 1, value);
        if (name == "gpus" && value <= max_gpus)
            setting.gpus = static_cast<int>(value);
        else if (name == "memory" && value > 0)
            setting.memory_bytes = value;
        else if (name == "slow")
            setting.slow = value;
        else if (name == "fail_allocation")
            setting.fail_allocation = value;
        else if (name == "lose_at")
            setting.lose_at = value;
        else if (name == "multiprocessors" && value >= 1 && value <= 1024)
            setting.multiprocessors = static_cast<int>(value);
        else if (name == "capability" && value >= 50 && value < 1000)
            setting.capability = static_cast<int>(value);
        else if (name == "peers")
            setting.peers = value != 0;
        else if (name == "driver")
            setting.driver = value != 0;
        else if (name == "still")
            setting.still = value != 0;
        else if (name == "work")
            setting.times_work = value != 0;
        else
            is_good = false;
        if (!is_good) {
            fprintf(stderr,
                    "HOCKET_EMULATED_CUDA: \"%s\" in \"%s\" is not one of the settings, which "
                    "tests/cuda/emulation/emulated_runtime.h lists\n",
                    item.c_str(), text);
            return false;
        }
    }
    return true;
}

void forget_threads()
{
    the_machine().gone = cudaErrorInitializationError;
}

void unload()
{
    the_machine().exiting = std::this_thread::get_id();
    the_machine().gone = cudaErrorCudartUnloading;
}

void prepare(machine &made, const configuration &setting)
{
    made.setting = setting;
    for (int i = 0; i < max_gpus; i++) {
        gpu &each = made.gpus[i];
        each.index = i;
        each.lost = cudaSuccess;
        each.used_bytes = 0;
        each.default_stream = nullptr;
        each.has_context = false;
        made.pools.insert(each.default_pool = new pool{&each});
        for (auto &access : each.may_access)
            access = false;
    }
    for (auto *count : {&made.allocations_asked, &made.kernels, &made.copies,
                        &made.synchronisations, &made.allocations, &made.returns, &made.trims, &made.records, &made.queries})
        *count = 0;
    made.pageable_copies = 0;
    prepare_memory(made);
}

} // namespace

machine &the_machine()
{
    static machine *const made = [] {
        machine *fresh = new machine;
        configuration setting;
        if (!parse(getenv("HOCKET_EMULATED_CUDA"), setting))
            exit(2);
        prepare(*fresh, setting);
        pthread_atfork(nullptr, nullptr, forget_threads);
        atexit(unload);
        return fresh;
    }();
    return *made;
}

void stop(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("emulated CUDA: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

cudaError_t fail(cudaError_t error)
{
    if (error != cudaSuccess)
        the_caller.error = error;
    return error;
}

int current_device()
{
    return the_caller.device;
}

gpu &current_gpu()
{
    return the_machine().gpus[the_caller.device];
}

void have_context()
{
    the_caller.has_context = true;
    current_gpu().has_context.store(true, std::memory_order_relaxed);
}

/* CUDA's own calls may do anything then, and crash. Other threads may be amid one. */
bool is_gone()
{
    const machine &its = the_machine();
    const cudaError_t gone = its.gone;
    if (gone == cudaErrorCudartUnloading && its.exiting == std::this_thread::get_id())
        stop("the thread that exits has called CUDA after CUDA's end");
    return gone != cudaSuccess;
}

cudaError_t usable(const gpu *which)
{
    machine &machine = the_machine();
    if (the_caller.is_in_callback)
        return fail(cudaErrorNotPermitted);
    if (is_gone())
        return fail(machine.gone);
    if (!machine.setting.driver)
        return fail(cudaErrorInsufficientDriver);
    if (!machine.setting.gpus)
        return fail(cudaErrorNoDevice);
    have_context();
    return fail((which ? which : &current_gpu())->lost.load(std::memory_order_acquire));
}

/* Who is told of it is told, too, that what moved has moved: see copy_pageable. */
void lose(gpu &which, cudaError_t error)
{
    std::lock_guard<std::mutex> hold(the_machine().moving);
    cudaError_t expected = cudaSuccess;
    which.lost.compare_exchange_strong(expected, error, std::memory_order_release,
                                       std::memory_order_relaxed);
}

void set_in_callback(bool is_in)
{
    the_caller.is_in_callback = is_in;
}

} // namespace emulated

using namespace emulated;

bool hki_emulated_restart(const char *configuration_text)
{
    machine &machine = the_machine();
    configuration setting;
    if (!parse(configuration_text, setting))
        return false;
    for (gpu &each : machine.gpus)
        wait_for_gpu(each);
    /* What is left in destroyed streams runs, such as giving back memory; two seconds at most, if one of them hangs. */
    for (int i = 0; i < 40000 && machine.closing.load(std::memory_order_acquire) > 0; i++) {
        timespec pause = {0, 50000};
        nanosleep(&pause, nullptr);
    }
    writing hold;
    for (stream *each : machine.streams)
        each->close();
    machine.streams.clear();
    for (event *each : machine.events)
        delete each;
    machine.events.clear();
    machine.captures.clear();
    machine.graphs = 0;
    forget_memory(machine);
    for (pool *each : machine.pools)
        delete each;
    machine.pools.clear();
    prepare(machine, setting);
    the_caller = {};
    return true;
}

hki_emulated_counts hki_emulated_get_counts(void)
{
    machine &machine = the_machine();
    reading hold;
    hki_emulated_counts counts = {};
    counts.kernels = machine.kernels;
    counts.copies = machine.copies;
    counts.synchronisations = machine.synchronisations;
    counts.allocations = machine.allocations;
    counts.returns = machine.returns;
    counts.trims = machine.trims;
    counts.records = machine.records;
    counts.queries = machine.queries;
    counts.streams = static_cast<int>(machine.streams.size());
    for (const gpu &each : machine.gpus)
        counts.streams -= each.default_stream != nullptr; /* nobody made it */
    for (const gpu &each : machine.gpus)
        counts.contexts += each.has_context;
    counts.events = static_cast<int>(machine.events.size());
    for (const auto &each : machine.memory)
        (each.second.gpu < 0 ? counts.pinned_blocks : counts.device_blocks)++;
    counts.graphs = machine.graphs;
    return counts;
}

/* ---- Devices */
cudaError_t cudaGetDeviceCount(int *count)
{
    machine &machine = the_machine();
    *count = 0;
    if (is_gone())
        return fail(machine.gone);
    if (!machine.setting.driver)
        return fail(cudaErrorInsufficientDriver);
    if (!machine.setting.gpus)
        return fail(cudaErrorNoDevice);
    *count = machine.setting.gpus;
    return cudaSuccess;
}

static bool is_device(int device)
{
    return device >= 0 && device < the_machine().setting.gpus;
}

cudaError_t cudaSetDevice(int device)
{
    machine &machine = the_machine();
    if (is_gone())
        return fail(machine.gone);
    if (!is_device(device))
        return fail(cudaErrorInvalidDevice);
    the_caller.device = device;
    return usable();
}

cudaError_t cudaGetDevice(int *device)
{
    *device = the_caller.device;
    return the_machine().setting.gpus ? cudaSuccess : fail(cudaErrorNoDevice);
}

void *hki_emulated_get_context(void)
{
    return the_caller.has_context ? &current_gpu() : nullptr;
}

void hki_emulated_set_context(void *context)
{
    the_caller.has_context = context;
    if (context)
        the_caller.device = static_cast<gpu *>(context)->index;
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned)
{
    return is_device(device) ? usable(&the_machine().gpus[device]) : fail(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    const configuration &setting = the_machine().setting;
    if (!is_device(device))
        return fail(cudaErrorInvalidDevice);
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "Emulated GPU");
    memcpy(properties->uuid.bytes, "emulated-gpu-", 13);
    properties->uuid.bytes[15] = static_cast<char>(device);
    properties->totalGlobalMem = setting.memory_bytes;
    properties->major = setting.capability / 10;
    properties->minor = setting.capability % 10;
    properties->multiProcessorCount = setting.multiprocessors;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = properties->maxThreadsDim[0] = properties->maxThreadsDim[1] =
        1024;
    properties->maxThreadsDim[2] = 64;
    properties->maxGridSize[0] = 0x7fffffff;
    properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->sharedMemPerBlock = 48 << 10;
    properties->regsPerBlock = 65536;
    properties->asyncEngineCount = 2;
    properties->concurrentKernels = 1;
    properties->unifiedAddressing = 1;
    properties->canMapHostMemory = 1;
    properties->memoryPoolsSupported = 1;
    properties->l2CacheSize = 1 << 20;
    properties->pciBusID = device + 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error != cudaSuccess)
        return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = properties.maxThreadsPerBlock;
        break;
    case cudaDevAttrMaxGridDimX:
        *value = properties.maxGridSize[0];
        break;
    case cudaDevAttrWarpSize:
        *value = properties.warpSize;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = properties.multiProcessorCount;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = properties.major;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = properties.minor;
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = properties.maxThreadsPerMultiProcessor;
        break;
    case cudaDevAttrAsyncEngineCount:
        *value = properties.asyncEngineCount;
        break;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrHostRegisterSupported:
        *value = 1;
        break;
    case cudaDevAttrL2CacheSize:
        *value = properties.l2CacheSize;
        break;
    case cudaDevAttrPciBusId:
        *value = properties.pciBusID;
        break;
    case cudaDevAttrComputeMode:
    case cudaDevAttrIntegrated:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrPageableMemoryAccess:
        *value = 0;
        break;
    default:
        stop("cudaDeviceGetAttribute(%d) is not emulated: add it to emulated_machine.cc",
             static_cast<int>(attribute));
    }
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = the_machine().setting.driver ? CUDART_VERSION : 0;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned)
{
    return usable();
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return usable();
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = usable();
    if (error == cudaSuccess)
        error = forbidden_by_capture();
    if (error != cudaSuccess)
        return error;
    wait_for_gpu(current_gpu());
    return usable();
}

/* ---- Access of one GPU to another's memory */
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    if (!is_device(device) || !is_device(peer))
        return fail(cudaErrorInvalidDevice);
    *can = device != peer && the_machine().setting.peers;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    if (flags)
        return fail(cudaErrorInvalidValue);
    if (!is_device(peer))
        return fail(cudaErrorInvalidDevice);
    if (peer == current_device() || !the_machine().setting.peers)
        return fail(cudaErrorPeerAccessUnsupported);
    if (current_gpu().may_access[peer].exchange(true))
        return fail(cudaErrorPeerAccessAlreadyEnabled);
    return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    if (!is_device(peer))
        return fail(cudaErrorInvalidDevice);
    return current_gpu().may_access[peer].exchange(false) ? cudaSuccess
                                                          : fail(cudaErrorPeerAccessNotEnabled);
}

/* ---- Errors */
cudaError_t cudaPeekAtLastError(void)
{
    if (the_machine().setting.gpus && current_gpu().lost != cudaSuccess)
        return current_gpu().lost;
    return the_caller.error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();
    the_caller.error = cudaSuccess;
    return error;
}

namespace
{

struct error_text {
    cudaError_t error;
    const char *name, *text;
};

const error_text error_texts[] = {
#define ERROR(name, text)                                                                          \
    {                                                                                              \
        name, #name, text                                                                          \
    }
    ERROR(cudaSuccess, "no error"),
    ERROR(cudaErrorInvalidValue, "invalid argument"),
    ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ERROR(cudaErrorInitializationError, "initialization error"),
    ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR(cudaErrorInsufficientDriver,
          "CUDA driver version is insufficient for CUDA runtime version"),
    ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    ERROR(cudaErrorNotReady, "device not ready"),
    ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ERROR(cudaErrorHostMemoryAlreadyRegistered,
          "part or all of the requested memory range is already mapped"),
    ERROR(cudaErrorHostMemoryNotRegistered,
          "pointer does not correspond to a registered memory region"),
    ERROR(cudaErrorNotPermitted, "operation not permitted"),
    ERROR(cudaErrorNotSupported, "operation not supported"),
    ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ERROR(cudaErrorStreamCaptureInvalidated,
          "operation failed due to a previous error during capture"),
    ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ERROR(cudaErrorStreamCaptureIsolation,
          "dependency created on uncaptured work in another stream"),
    ERROR(cudaErrorStreamCaptureImplicit,
          "operation would make the legacy stream depend on a capturing blocking stream"),
    ERROR(cudaErrorCapturedEvent,
          "operation not permitted on an event last recorded in a capturing stream"),
    ERROR(cudaErrorUnknown, "unknown error"),
#undef ERROR
};

const error_text *find_text(cudaError_t error)
{
    for (const error_text &each : error_texts)
        if (each.error == error)
            return &each;
    return nullptr;
}

} // namespace

const char *cudaGetErrorName(cudaError_t error)
{
    const error_text *found = find_text(error);
    return found ? found->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const error_text *found = find_text(error);
    return found ? found->text : "unrecognized error code";
}
