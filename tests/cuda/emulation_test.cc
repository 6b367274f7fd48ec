/* The emulated CUDA runtime does what CUDA says, and catches what CUDA does not allow.
 *
 *   emulation_test        all tests
 *   emulation_test NAME   a misuse that is to end the program, run by the tests in a process of its own */
#include "device/cuda/cuda_launch.cuh"

#include "check.h"
#include "emulation/emulated_sanitizers.h"

#include <atomic>
#include <cstdlib>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern char **environ;

/* The device's stream, as kernels are launched in it; what it notes is looked at by the tests. */
struct hki_cuda_stream {
    cudaStream_t handle;
    cudaError_t error;
};

cudaStream_t hki_cuda_stream_handle(const hki_cuda_stream *stream)
{
    return stream->handle;
}

bool hki_cuda_ok(hki_cuda_stream *stream, cudaError_t error, const char *)
{
    if (stream->error == cudaSuccess)
        stream->error = error;
    return error == cudaSuccess;
}

namespace
{

/* ---- Kernels */
HKI_KERNEL void fill(int *to, int value, int64_t size)
{
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT)
        to[i] = value;
}

HKI_KERNEL void add(int *to, const int *from, int64_t size)
{
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT)
        to[i] += __ldg(from + i);
}

/* The sums of blocks of 64 elements, by shared memory and shuffles. */
HKI_KERNEL void sum_blocks(float *sums, const float *x)
{
    HKI_SHARED float parts[2];
    float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int lanes = 16; lanes; lanes /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        sums[blockIdx.x] = parts[0] + parts[1];
}

/* Rows turned round within each block. */
HKI_KERNEL void turn(int *to, const int *from)
{
    HKI_SHARED int tile[128];
    int64_t first = int64_t{blockIdx.x} * blockDim.x;
    tile[threadIdx.x] = from[first + threadIdx.x];
    __syncthreads();
    to[first + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

/* The same, with the barrier forgotten. */
HKI_KERNEL void turn_without_barrier(int *to, const int *from)
{
    HKI_SHARED int tile[128];
    tile[threadIdx.x] = 0;
    __syncthreads();
    tile[threadIdx.x] = from[threadIdx.x];
    to[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

HKI_KERNEL void shuffles(int *to)
{
    int lane = static_cast<int>(threadIdx.x);
    int down = __shfl_down_sync(0xffffffffu, lane, 1u);
    int up = __shfl_up_sync(0xffffffffu, lane, 2u);
    int eight = __shfl_xor_sync(0xffffffffu, lane, 3, 8);
    int first = __shfl_sync(0xffffffffu, lane, 0, 16);
    unsigned odd = __ballot_sync(0xffffffffu, lane & 1);
    bool any = __any_sync(0xffffffffu, lane == 7), all = __all_sync(0xffffffffu, lane < 31);
    double wide = __shfl_xor_sync(0xffffffffu, lane + 0.5, 31);
    to[lane] = down == (lane < 31 ? lane + 1 : lane) && up == (lane >= 2 ? lane - 2 : lane) &&
               eight == (lane ^ 3) && first == lane / 16 * 16 && odd == 0xaaaaaaaau && any &&
               !all && wide == (lane ^ 31) + 0.5;
}

/* Halves of a warp that exchange apart. */
HKI_KERNEL void halves(int *to)
{
    int lane = static_cast<int>(threadIdx.x);
    if (lane < 16)
        to[lane] = __shfl_xor_sync(0x0000ffffu, lane, 1);
    else
        to[lane] = __shfl_xor_sync(0xffff0000u, lane, 2);
}

HKI_KERNEL void count(unsigned long long *counts, const unsigned *values)
{
    unsigned value = values[HKI_THREAD_INDEX];
    atomicAdd(&counts[0], 1ull);
    atomicMin(&counts[1], static_cast<unsigned long long>(value));
    atomicMax(&counts[2], static_cast<unsigned long long>(value));
    for (unsigned long long old = 0;;) {
        unsigned long long seen = atomicCAS(&counts[3], old, old ^ value);
        if (seen == old)
            break;
        old = seen;
    }
}

struct two_arrays { /* device addresses deep in a structure */
    int64_t size;
    const int *from;
    int *to;
};

HKI_KERNEL void copy_two(two_arrays arrays)
{
    for (int64_t i = HKI_THREAD_INDEX; i < arrays.size; i += HKI_THREAD_COUNT)
        arrays.to[i] = arrays.from[i];
}

HKI_KERNEL void where(uint3 *to)
{
    unsigned index = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    index =
        ((index * blockDim.z + threadIdx.z) * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    to[index] = {blockIdx.x * 100 + threadIdx.x, blockIdx.y * 100 + threadIdx.y,
                 blockIdx.z * 100 + threadIdx.z};
}

HKI_KERNEL void report(hki_cuda_fault *fault)
{
    if (HKI_THREAD_INDEX % 7 == 5)
        hki_cuda_report(fault, HKI_THREAD_INDEX);
}

/* ---- Misuse that ends the program */
HKI_KERNEL void leaves_before_barrier(int *to)
{
    if (threadIdx.x == 3)
        return;
    __syncthreads();
    to[threadIdx.x] = 1;
}

HKI_KERNEL void two_barriers(int *to)
{
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
    to[threadIdx.x] = 1;
}

HKI_KERNEL void leaves_shuffle_out(int *to)
{
    if (threadIdx.x != 9)
        to[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
}

HKI_KERNEL void names_missing_lane(int *to)
{
    to[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1, 1u);
}

HKI_KERNEL void takes_from_outside(int *to)
{
    if (threadIdx.x < 16)
        to[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, 1, 16);
}

HKI_KERNEL void meets_alone(int *to)
{
    __syncthreads();
    to[threadIdx.x] = 1;
}

HKI_KERNEL void writes_beyond(int *to)
{
    to[16] = 1;
}

HKI_KERNEL void uses(int *to)
{
    (*to)++;
}

/* ---- Helpers */
cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking)
{
    cudaStream_t stream = nullptr;
    CHECK_EQ_I64(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
    return stream;
}

template <typename T> T *new_array(size_t size)
{
    void *memory = nullptr;
    CHECK_EQ_I64(cudaMalloc(&memory, size * sizeof(T)), cudaSuccess);
    return static_cast<T *>(memory);
}

template <typename T> std::vector<T> read(const T *from, size_t size)
{
    std::vector<T> values(size);
    CHECK_EQ_I64(cudaMemcpy(values.data(), from, size * sizeof(T), cudaMemcpyDeviceToHost),
                 cudaSuccess);
    return values;
}

void restart(const char *configuration)
{
    CHECK(hki_emulated_restart(configuration));
}

/* Holds a stream until it is let go. */
struct gate {
    std::atomic<bool> is_open{false}, is_passed{true};

    ~gate()
    {
        while (!is_passed.load())
            usleep(100);
    }

    void hold(cudaStream_t stream)
    {
        is_passed.store(false);
        CHECK_EQ_I64(cudaLaunchHostFunc(
                         stream,
                         [](void *self) {
                             while (!static_cast<gate *>(self)->is_open.load())
                                 usleep(100);
                             static_cast<gate *>(self)->is_passed.store(true);
                         },
                         this),
                     cudaSuccess);
    }
    void open()
    {
        is_open.store(true);
    }
};

/* ---- Tests */
void test_order_in_a_stream()
{
    restart("slow=3");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    int *a = new_array<int>(1000), *b = new_array<int>(1000);
    std::vector<int> host(1000);
    HKI_LAUNCH(&stream, 4, 64, fill, a, 1, 1000);
    HKI_LAUNCH(&stream, 4, 64, fill, b, 2, 1000);
    for (int i = 0; i < 10; i++)
        HKI_LAUNCH(&stream, 4, 64, add, a, b, 1000);
    CHECK_EQ_I64(cudaMemsetAsync(b, 0, 4000, stream.handle), cudaSuccess);
    HKI_LAUNCH(&stream, 4, 64, add, a, b, 1000);
    CHECK_EQ_I64(cudaMemcpyAsync(host.data(), a, 4000, cudaMemcpyDeviceToHost, stream.handle),
                 cudaSuccess);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
    CHECK_EQ_I64(stream.error, cudaSuccess);
    for (int each : host)
        if (each != 21)
            CHECK_EQ_I64(each, 21);
    CHECK_EQ_I64(hki_emulated_get_counts().kernels, 13);
    CHECK_EQ_I64(hki_emulated_get_counts().copies, 2);
}

/* Each of two streams gets on while the other is held. */
void test_streams_run_side_by_side()
{
    restart("");
    cudaStream_t streams[2] = {new_stream(), new_stream()};
    for (int held = 0; held < 2; held++) {
        gate gate;
        gate.hold(streams[held]);
        hki_cuda_stream other = {streams[!held], cudaSuccess};
        int *a = new_array<int>(10);
        HKI_LAUNCH(&other, 1, 32, fill, a, 5, 10);
        CHECK_EQ_I64(cudaStreamSynchronize(other.handle), cudaSuccess);
        CHECK_EQ_I64(cudaStreamQuery(streams[held]), cudaErrorNotReady);
        CHECK_EQ_I64(cudaGetLastError(),
                     cudaErrorNotReady); /* as of CUDA: programs must forget it */
        CHECK_EQ_I64(cudaGetLastError(), cudaSuccess);
        gate.open();
        CHECK_EQ_I64(cudaStreamSynchronize(streams[held]), cudaSuccess);
        CHECK_EQ_I64(cudaStreamQuery(streams[held]), cudaSuccess);
    }
}

void test_events_order_streams()
{
    restart("slow=5");
    hki_cuda_stream first = {new_stream(), cudaSuccess}, second = {new_stream(), cudaSuccess};
    cudaEvent_t event, never;
    CHECK_EQ_I64(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    CHECK_EQ_I64(cudaEventCreate(&never), cudaSuccess);
    int *a = new_array<int>(100);
    HKI_LAUNCH(&first, 1, 32, fill, a, 0, 100);
    for (int i = 0; i < 20; i++) {
        hki_cuda_stream *one = i % 2 ? &second : &first, *other = i % 2 ? &first : &second;
        HKI_LAUNCH(one, 1, 32, add, a, a, 100);
        HKI_LAUNCH(one, 1, 32, fill, a, i, 100);
        CHECK_EQ_I64(cudaEventRecord(event, one->handle),
                     cudaSuccess); /* again and again the same */
        CHECK_EQ_I64(cudaStreamWaitEvent(other->handle, event, 0), cudaSuccess);
    }
    CHECK_EQ_I64(cudaEventSynchronize(event), cudaSuccess);
    CHECK_EQ_I64(cudaEventQuery(event), cudaSuccess);
    CHECK_EQ_I64(read(a, 100)[99], 19);
    /* Not recorded: as if it had come. */
    CHECK_EQ_I64(cudaEventQuery(never), cudaSuccess);
    CHECK_EQ_I64(cudaEventSynchronize(never), cudaSuccess);
    CHECK_EQ_I64(cudaStreamWaitEvent(first.handle, never, 0), cudaSuccess);
    CHECK_EQ_I64(cudaEventDestroy(event), cudaSuccess);
    CHECK_EQ_I64(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
}

void test_event_times()
{
    restart("");
    cudaStream_t stream = new_stream();
    cudaEvent_t begin, end, untimed;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
    gate gate;
    float milliseconds = -1;
    CHECK_EQ_I64(cudaEventRecord(begin, stream), cudaSuccess);
    CHECK_EQ_I64(cudaEventSynchronize(begin), cudaSuccess);
    CHECK_EQ_I64(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorInvalidResourceHandle);
    gate.hold(stream);
    CHECK_EQ_I64(cudaEventRecord(end, stream), cudaSuccess);
    CHECK_EQ_I64(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorNotReady);
    usleep(3000);
    gate.open();
    CHECK_EQ_I64(cudaEventSynchronize(end), cudaSuccess);
    CHECK_EQ_I64(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
    CHECK(milliseconds >= 2 && milliseconds < 10000);
    CHECK_EQ_I64(cudaEventElapsedTime(&milliseconds, begin, untimed),
                 cudaErrorInvalidResourceHandle);
}

void test_kernels_that_meet()
{
    restart("");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    std::vector<float> host(64 * 5);
    for (size_t i = 0; i < host.size(); i++)
        host[i] = static_cast<float>(i % 64 + i / 64);
    float *x = new_array<float>(host.size()), *sums = new_array<float>(5);
    cudaMemcpy(x, host.data(), host.size() * 4, cudaMemcpyHostToDevice);
    HKI_LAUNCH_TOGETHER(&stream, 5, 64, sum_blocks, sums, x);
    int *from = new_array<int>(384), *to = new_array<int>(384), *good = new_array<int>(32);
    std::vector<int> numbers(384);
    for (int i = 0; i < 384; i++)
        numbers[size_t(i)] = i;
    cudaMemcpy(from, numbers.data(), 384 * 4, cudaMemcpyHostToDevice);
    HKI_LAUNCH_TOGETHER(&stream, 3, 128, turn, to, from);
    HKI_LAUNCH_TOGETHER(&stream, 1, 32, shuffles, good);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
    CHECK_EQ_I64(stream.error, cudaSuccess);
    for (int i = 0; i < 5; i++)
        CHECK(read(sums, 5)[size_t(i)] == 2016.0f + 64.0f * static_cast<float>(i));
    std::vector<int> turned = read(to, 384);
    for (int i = 0; i < 384; i++)
        if (turned[size_t(i)] != i / 128 * 128 + 127 - i % 128)
            CHECK_EQ_I64(turned[size_t(i)], i / 128 * 128 + 127 - i % 128);
    for (int each : read(good, 32))
        CHECK_EQ_I64(each, 1);
    HKI_LAUNCH_TOGETHER(&stream, 1, 32, halves, good);
    cudaStreamSynchronize(stream.handle);
    CHECK_EQ_I64(read(good, 32)[5], 4);
    CHECK_EQ_I64(read(good, 32)[17], 19);
#ifndef HKI_EMULATED_TSAN /* which would say so itself */
    HKI_LAUNCH_TOGETHER(&stream, 1, 128, turn_without_barrier, to, from);
    cudaStreamSynchronize(stream.handle);
    turned = read(to, 128);
    bool is_right = true;
    for (int i = 0; i < 128; i++)
        is_right = is_right && turned[size_t(i)] == 127 - i;
    CHECK(!is_right);
#endif
}

void test_atomics_of_two_streams()
{
    restart("slow=1");
    hki_cuda_stream streams[2] = {{new_stream(), cudaSuccess}, {new_stream(), cudaSuccess}};
    const int launches = 20, threads = 256;
    std::vector<unsigned> values(threads);
    unsigned mixed = 0;
    for (unsigned i = 0; i < threads; i++)
        mixed ^= values[i] = 17 + i * 7;
    unsigned *x = new_array<unsigned>(threads);
    auto *counts = new_array<unsigned long long>(4);
    cudaMemcpy(x, values.data(), threads * 4, cudaMemcpyHostToDevice);
    const unsigned long long begin[4] = {0, 1000000, 0, 0};
    cudaMemcpy(counts, begin, sizeof begin, cudaMemcpyHostToDevice);
    for (int i = 0; i < launches; i++)
        HKI_LAUNCH(&streams[i % 2], 4, 64, count, counts, x);
    CHECK_EQ_I64(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<unsigned long long> found = read(counts, 4);
    CHECK_EQ_I64(found[0], launches * threads);
    CHECK_EQ_I64(found[1], 17);
    CHECK_EQ_I64(found[2], 17 + 255 * 7);
    CHECK_EQ_I64(found[3], launches % 2 ? mixed : 0);
}

void test_geometry_and_arguments()
{
    restart("");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    uint3 *places = new_array<uint3>(2 * 3 * 2 * 4 * 2 * 3);
    HKI_LAUNCH(&stream, dim3(2, 3, 2), dim3(4, 2, 3), where, places);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
    std::vector<uint3> found = read(places, 288);
    CHECK_EQ_I64(found[287].x, 103);
    CHECK_EQ_I64(found[287].y, 201);
    CHECK_EQ_I64(found[287].z, 102);
    CHECK_EQ_I64(found[24 + 5].x, 101);
    CHECK_EQ_I64(found[24 + 5].y, 1);
    int *a = new_array<int>(50), *b = new_array<int>(50);
    HKI_LAUNCH(&stream, 1, 32, fill, a, 7, 50);
    two_arrays arrays = {50, a, b};
    HKI_LAUNCH(&stream, 1, 32, copy_two, arrays);
    CHECK_EQ_I64(stream.error, cudaSuccess);
    cudaStreamSynchronize(stream.handle);
    CHECK_EQ_I64(read(b, 50)[49], 7);
    const dim3 wrong[][2] = {{dim3(0), dim3(32)},       {dim3(1), dim3(0)},
                             {dim3(1), dim3(1025)},     {dim3(0x80000000u), dim3(1)},
                             {dim3(1, 65536), dim3(1)}, {dim3(1, 1, 65536), dim3(1)},
                             {dim3(1), dim3(33, 32)},   {dim3(1), dim3(1, 1, 65)}};
    for (const auto &shape : wrong) {
        stream.error = cudaSuccess;
        HKI_LAUNCH(&stream, shape[0], shape[1], fill, a, 7, 50);
        CHECK_EQ_I64(stream.error, cudaErrorInvalidConfiguration);
    }
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
}

void test_faults_of_values()
{
    restart("");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    void *memory;
    CHECK_EQ_I64(cudaHostAlloc(&memory, sizeof(hki_cuda_fault), cudaHostAllocDefault), cudaSuccess);
    auto *fault = static_cast<hki_cuda_fault *>(memory);
    *fault = {UINT64_MAX, 0};
    HKI_LAUNCH(&stream, 4, 32, report, fault);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
    CHECK_EQ_I64(fault->index, 5);
    CHECK_EQ_I64(cudaFreeHost(memory), cudaSuccess);
}

/* Pageable memory is read and written when the stream gets there. */
void test_late_copies()
{
    restart("");
    cudaStream_t stream = new_stream();
    int *a = new_array<int>(4);
    int from[4] = {1, 2, 3, 4}, to[4] = {0};
    {
        gate gate;
        gate.hold(stream);
        CHECK_EQ_I64(cudaMemcpyAsync(a, from, 16, cudaMemcpyHostToDevice, stream), cudaSuccess);
        CHECK_EQ_I64(cudaMemcpyAsync(to, a, 16, cudaMemcpyDeviceToHost, stream), cudaSuccess);
        CHECK_EQ_I64(to[3], 0);
        gate.open();
        CHECK_EQ_I64(cudaStreamSynchronize(stream), cudaSuccess);
    }
    CHECK_EQ_I64(to[3], 4);
}

void test_memory()
{
    restart("memory=1M");
    cudaStream_t stream = new_stream();
    void *whole, *more;
    size_t free_bytes, total;
    CHECK_EQ_I64(cudaMalloc(&whole, 1 << 20), cudaSuccess);
    CHECK_EQ_I64(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
    CHECK(free_bytes == 0 && total == 1 << 20);
    CHECK_EQ_I64(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
    CHECK(!more);
    CHECK_EQ_I64(cudaGetLastError(), cudaErrorMemoryAllocation);
    CHECK_STR(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    CHECK_EQ_I64(cudaFree(whole), cudaSuccess);
    CHECK_EQ_I64(cudaFree(whole), cudaErrorInvalidValue);
    CHECK_EQ_I64(cudaFree(nullptr), cudaSuccess);
    /* Fresh memory has a pattern; ordered memory has it when the stream is there. */
    unsigned char bytes[16] = {0};
    CHECK_EQ_I64(cudaMallocAsync(&more, 100, stream), cudaSuccess);
    CHECK_EQ_I64(cudaMemcpyAsync(bytes, more, 16, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    CHECK_EQ_I64(cudaFreeAsync(more, stream), cudaSuccess);
    CHECK_EQ_I64(cudaFreeAsync(more, stream), cudaErrorInvalidValue);
    CHECK_EQ_I64(cudaMemcpyAsync(bytes, more, 16, cudaMemcpyDeviceToHost, stream),
                 cudaErrorInvalidValue);
    CHECK_EQ_I64(cudaStreamSynchronize(stream), cudaSuccess);
    CHECK_EQ_I64(bytes[15], 0xA5);
    CHECK_EQ_I64(hki_emulated_get_counts().device_blocks, 0);
    /* Copies stay within what is allocated, in the direction that they say. */
    int *a = new_array<int>(4);
    int host[8] = {0};
    CHECK_EQ_I64(cudaMemcpy(a, host, 17, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQ_I64(cudaMemcpy(a + 1, host, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQ_I64(cudaMemcpy(a + 1, host, 12, cudaMemcpyHostToDevice), cudaSuccess);
    CHECK_EQ_I64(cudaMemcpy(host, a, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQ_I64(cudaMemcpy(host, a, 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    CHECK_EQ_I64(cudaMemcpy(host, a, 16, cudaMemcpyDefault), cudaSuccess);
    CHECK_EQ_I64(cudaMemset(host, 0, 16), cudaErrorInvalidValue);
    CHECK_EQ_I64(cudaMemset(a, 0, 17), cudaErrorInvalidValue);
    cudaPointerAttributes attributes;
    CHECK_EQ_I64(cudaPointerGetAttributes(&attributes, a + 3), cudaSuccess);
    CHECK_EQ_I64(attributes.type, cudaMemoryTypeDevice);
    CHECK_EQ_I64(cudaPointerGetAttributes(&attributes, host), cudaSuccess);
    CHECK_EQ_I64(attributes.type, cudaMemoryTypeUnregistered);
    CHECK(hki_emulated_is_device_memory(a, 16) && !hki_emulated_is_device_memory(a, 17));
    /* Asked for: the second allocation fails. */
    restart("fail_allocation=2");
    CHECK_EQ_I64(cudaMalloc(&whole, 64), cudaSuccess);
    CHECK_EQ_I64(cudaMallocHost(&more, 64), cudaErrorMemoryAllocation);
    CHECK_EQ_I64(cudaMallocHost(&more, 64), cudaSuccess);
    CHECK_EQ_I64(hki_emulated_get_counts().pinned_blocks, 1);
}

/* Many allocations and releases of all sizes find room, because holes are used again. */
void test_memory_is_used_again()
{
    restart("memory=4M");
    void *blocks[16] = {nullptr};
    unsigned chance = 1;
    for (int i = 0; i < 20000; i++) {
        chance = chance * 1664525u + 1013904223u;
        void **block = &blocks[chance >> 28];
        if (*block)
            CHECK_EQ_I64(cudaFree(*block), cudaSuccess);
        if (cudaMalloc(block, (chance >> 10 & 0x3ffff) + 1) != cudaSuccess)
            CHECK_EQ_I64(cudaGetLastError(), cudaErrorMemoryAllocation);
    }
    for (void *each : blocks)
        cudaFree(each);
    size_t free_bytes, total;
    CHECK_EQ_I64(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
    CHECK(free_bytes == total);
}

/* A kernel that is given what it cannot use loses the GPU, and only that one. */
void test_lost_gpu()
{
    restart("gpus=2");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    cudaEvent_t event;
    cudaEventCreate(&event);
    int *a = new_array<int>(8), host[8] = {0}, called = 0;
    fprintf(stderr, "(expected:) ");
    HKI_LAUNCH(&stream, 1, 32, fill, host, 1, 8);
    cudaLaunchHostFunc(
        stream.handle, [](void *argument) { *static_cast<int *>(argument) = 1; }, &called);
    cudaEventRecord(event, stream.handle);
    CHECK_EQ_I64(cudaEventSynchronize(event), cudaErrorIllegalAddress);
    CHECK_EQ_I64(host[0], 0);
    CHECK_EQ_I64(called, 0);
    void *memory;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_I64(cudaGetLastError(), cudaErrorIllegalAddress);
        CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaErrorIllegalAddress);
        CHECK_EQ_I64(cudaMalloc(&memory, 4), cudaErrorIllegalAddress);
        CHECK_EQ_I64(cudaEventQuery(event), cudaErrorIllegalAddress);
        CHECK_EQ_I64(cudaMemcpy(host, a, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
    }
    CHECK_EQ_I64(cudaSetDevice(1), cudaSuccess);
    stream = {new_stream(), cudaSuccess};
    int *b = new_array<int>(8);
    HKI_LAUNCH(&stream, 1, 32, fill, b, 1, 8);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
    /* Asked for. */
    restart("lose_at=2");
    stream = {new_stream(), cudaSuccess};
    b = new_array<int>(8);
    HKI_LAUNCH(&stream, 1, 32, fill, b, 1, 8);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
    HKI_LAUNCH(&stream, 1, 32, fill, b, 2, 8);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaErrorIllegalAddress);
}

void test_two_gpus()
{
    restart("gpus=2,slow=2");
    int count, can = 0;
    CHECK_EQ_I64(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_EQ_I64(count, 2);
    hki_cuda_stream first = {new_stream(), cudaSuccess};
    int *a = new_array<int>(100);
    CHECK_EQ_I64(cudaSetDevice(1), cudaSuccess);
    hki_cuda_stream second = {new_stream(), cudaSuccess};
    int *b = new_array<int>(100);
    /* A stream is launched in while its GPU is the current one. */
    HKI_LAUNCH(&first, 1, 32, fill, a, 1, 100);
    CHECK_EQ_I64(first.error, cudaErrorInvalidResourceHandle);
    first.error = cudaSuccess;
    CHECK_EQ_I64(cudaSetDevice(0), cudaSuccess);
    HKI_LAUNCH(&first, 1, 32, fill, a, 3, 100);
    cudaEvent_t event;
    cudaEventCreate(&event);
    CHECK_EQ_I64(cudaEventRecord(event, second.handle), cudaErrorInvalidResourceHandle);
    CHECK_EQ_I64(cudaEventRecord(event, first.handle), cudaSuccess);
    CHECK_EQ_I64(cudaSetDevice(1), cudaSuccess);
    CHECK_EQ_I64(cudaStreamWaitEvent(second.handle, event, 0), cudaSuccess);
    CHECK_EQ_I64(cudaMemcpyPeerAsync(b, 1, a, 0, 400, second.handle), cudaSuccess);
    CHECK_EQ_I64(cudaMemcpyPeerAsync(b, 0, a, 1, 400, second.handle), cudaErrorInvalidValue);
    CHECK_EQ_I64(cudaDeviceCanAccessPeer(&can, 1, 0), cudaSuccess);
    CHECK_EQ_I64(can, 1);
    CHECK_EQ_I64(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
    CHECK_EQ_I64(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();
    HKI_LAUNCH(&second, 1, 32, add, b, a, 100);
    CHECK_EQ_I64(cudaStreamSynchronize(second.handle), cudaSuccess);
    CHECK_EQ_I64(second.error, cudaSuccess);
    CHECK_EQ_I64(read(b, 100)[99], 6);
    CHECK_EQ_I64(cudaDeviceDisablePeerAccess(0), cudaSuccess);
    fprintf(stderr, "(expected:) ");
    HKI_LAUNCH(&second, 1, 32, add, b, a, 100);
    CHECK_EQ_I64(cudaStreamSynchronize(second.handle), cudaErrorIllegalAddress);
    CHECK_EQ_I64(cudaSetDevice(2), cudaErrorInvalidDevice);
    restart("gpus=0");
    CHECK_EQ_I64(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    restart("driver=0");
    CHECK_EQ_I64(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    CHECK(!hki_emulated_restart("gpu=1") && !hki_emulated_restart("gpus=17") &&
          !hki_emulated_restart("memory=1T") && !hki_emulated_restart("gpus"));
}

/* The default stream takes turns with streams that have not been made to be apart. */
void test_default_stream()
{
    restart("slow=9");
    hki_cuda_stream common = {nullptr, cudaSuccess},
                    blocking = {new_stream(cudaStreamDefault), cudaSuccess};
    int *a = new_array<int>(10);
    for (int i = 0; i < 10; i++) {
        HKI_LAUNCH(&blocking, 1, 32, fill, a, i, 10);
        HKI_LAUNCH(&common, 1, 32, add, a, a, 10);
    }
    CHECK_EQ_I64(read(a, 10)[9], 18);
    gate gate;
    cudaStream_t apart = new_stream();
    gate.hold(apart);
    CHECK_EQ_I64(read(a, 10)[0], 18);
    gate.open();
}

/* What is in a stream when it is destroyed still runs. */
void test_destroyed_stream()
{
    restart("");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    int *a = new_array<int>(10);
    cudaEvent_t event;
    cudaEventCreate(&event);
    gate gate;
    gate.hold(stream.handle);
    HKI_LAUNCH(&stream, 1, 32, fill, a, 4, 10);
    cudaEventRecord(event, stream.handle);
    CHECK_EQ_I64(cudaStreamDestroy(stream.handle), cudaSuccess);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaErrorInvalidResourceHandle);
    CHECK_EQ_I64(cudaStreamDestroy(stream.handle), cudaErrorInvalidResourceHandle);
    gate.open();
    CHECK_EQ_I64(cudaEventSynchronize(event), cudaSuccess);
    CHECK_EQ_I64(read(a, 10)[0], 4);
    CHECK_EQ_I64(hki_emulated_get_counts().streams, 0);
}

void test_emulated_libraries()
{
    restart("");
    cudaStream_t stream = new_stream();
    int *a = new_array<int>(3);
    struct numbers {
        int *to;
        int value;
    } argument = {a, 6};
    auto run = [](void *given) {
        numbers *own = static_cast<numbers *>(given);
        own->to[0] = own->to[1] = own->to[2] = own->value++;
    };
    CHECK_EQ_I64(hki_emulated_enqueue(stream, "numbers", run, &argument, sizeof argument),
                 cudaSuccess);
    CHECK_EQ_I64(cudaStreamSynchronize(stream), cudaSuccess);
    CHECK_EQ_I64(read(a, 3)[2], 6);
    CHECK_EQ_I64(static_cast<int *>(hki_emulated_memory(a))[1], 6);
}

/* A graph with a branch in a second stream, launched several times. */
void test_graphs()
{
    restart("slow=4");
    hki_cuda_stream first = {new_stream(), cudaSuccess}, second = {new_stream(), cudaSuccess};
    cudaEvent_t fork, joined;
    cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
    int *a = new_array<int>(10), *b = new_array<int>(10);
    CHECK_EQ_I64(cudaMemset(a, 0, 40), cudaSuccess);
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    size_t nodes = 0;
    CHECK_EQ_I64(cudaStreamBeginCapture(first.handle, cudaStreamCaptureModeThreadLocal),
                 cudaSuccess);
    HKI_LAUNCH(&first, 1, 32, fill, b, 1, 10);
    CHECK_EQ_I64(cudaEventRecord(fork, first.handle), cudaSuccess);
    CHECK_EQ_I64(cudaStreamWaitEvent(second.handle, fork, 0), cudaSuccess);
    HKI_LAUNCH(&second, 1, 32, add, b, b, 10);
    HKI_LAUNCH(&second, 1, 32, add, b, b, 10);
    CHECK_EQ_I64(cudaEventRecord(joined, second.handle), cudaSuccess);
    CHECK_EQ_I64(cudaStreamWaitEvent(first.handle, joined, 0), cudaSuccess);
    HKI_LAUNCH(&first, 1, 32, add, a, b, 10);
    CHECK_EQ_I64(cudaEventQuery(joined), cudaErrorCapturedEvent);
    CHECK_EQ_I64(cudaStreamEndCapture(first.handle, &graph), cudaSuccess);
    CHECK_EQ_I64(first.error, cudaSuccess);
    cudaGetLastError();
    CHECK_EQ_I64(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    CHECK_EQ_I64(nodes, 4);
    CHECK_EQ_I64(cudaGraphInstantiate(&instance, graph, 0), cudaSuccess);
    CHECK_EQ_I64(read(a, 10)[0], 0); /* nothing has run */
    for (int i = 0; i < 5; i++)
        CHECK_EQ_I64(cudaGraphLaunch(instance, i % 2 ? second.handle : first.handle), cudaSuccess);
    CHECK_EQ_I64(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_I64(read(a, 10)[9], 20);
    CHECK_EQ_I64(cudaGraphLaunch(instance, first.handle), cudaSuccess);
    CHECK_EQ_I64(cudaGraphExecDestroy(instance), cudaSuccess);
    CHECK_EQ_I64(cudaGraphDestroy(graph), cudaSuccess);
    CHECK_EQ_I64(cudaStreamSynchronize(first.handle), cudaSuccess);
    CHECK_EQ_I64(read(a, 10)[9], 24);
    CHECK_EQ_I64(hki_emulated_get_counts().graphs, 0);
}

void test_misuse_of_captures()
{
    restart("");
    cudaStream_t first = new_stream(), second = new_stream(),
                 blocking = new_stream(cudaStreamDefault);
    cudaEvent_t event;
    cudaEventCreate(&event);
    cudaGraph_t graph;
    void *memory;
    int *a = new_array<int>(10);
    /* Waiting for what only is noted down. */
    CHECK_EQ_I64(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal), cudaSuccess);
    CHECK_EQ_I64(cudaStreamSynchronize(first), cudaErrorStreamCaptureUnsupported);
    CHECK_EQ_I64(cudaMemsetAsync(a, 0, 4, first), cudaErrorStreamCaptureInvalidated);
    CHECK_EQ_I64(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK(!graph);
    /* Calls that wait for the GPU. */
    CHECK_EQ_I64(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal), cudaSuccess);
    CHECK_EQ_I64(cudaMalloc(&memory, 4), cudaErrorStreamCaptureUnsupported);
    CHECK_EQ_I64(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK_EQ_I64(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed), cudaSuccess);
    CHECK_EQ_I64(cudaMalloc(&memory, 4), cudaSuccess);
    /* A branch that does not come back. */
    CHECK_EQ_I64(cudaEventRecord(event, first), cudaSuccess);
    CHECK_EQ_I64(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    CHECK_EQ_I64(cudaMemsetAsync(a, 0, 4, second), cudaSuccess);
    CHECK_EQ_I64(cudaStreamEndCapture(second, &graph), cudaErrorStreamCaptureUnmatched);
    CHECK_EQ_I64(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK_EQ_I64(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed), cudaSuccess);
    CHECK_EQ_I64(cudaEventRecord(event, first), cudaSuccess);
    CHECK_EQ_I64(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    CHECK_EQ_I64(cudaMemsetAsync(a, 0, 4, second), cudaSuccess);
    CHECK_EQ_I64(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureUnjoined);
    /* Work from outside. */
    CHECK_EQ_I64(cudaEventRecord(event, second), cudaSuccess);
    CHECK_EQ_I64(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed), cudaSuccess);
    CHECK_EQ_I64(cudaStreamWaitEvent(first, event, 0), cudaErrorStreamCaptureIsolation);
    CHECK_EQ_I64(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureInvalidated);
    /* The default stream beside a stream that takes turns with it. */
    CHECK_EQ_I64(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
    CHECK_EQ_I64(cudaMemset(a, 0, 4), cudaErrorStreamCaptureImplicit);
    CHECK_EQ_I64(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK_EQ_I64(cudaStreamEndCapture(blocking, &graph), cudaErrorIllegalState);
}

void test_callbacks_call_nothing()
{
    restart("");
    cudaStream_t stream = new_stream();
    cudaError_t found = cudaSuccess;
    cudaLaunchHostFunc(
        stream,
        [](void *argument) {
            void *memory;
            *static_cast<cudaError_t *>(argument) = cudaMalloc(&memory, 4);
        },
        &found);
    cudaStreamSynchronize(stream);
    CHECK_EQ_I64(found, cudaErrorNotPermitted);
}

/* ---- In processes of their own */
int misuse(const std::string &name)
{
    restart("");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    int *a = new_array<int>(64);
    if (name == "leaves_before_barrier")
        HKI_LAUNCH_TOGETHER(&stream, 1, 64, leaves_before_barrier, a);
    else if (name == "two_barriers")
        HKI_LAUNCH_TOGETHER(&stream, 1, 64, two_barriers, a);
    else if (name == "leaves_shuffle_out")
        HKI_LAUNCH_TOGETHER(&stream, 1, 32, leaves_shuffle_out, a);
    else if (name == "names_missing_lane")
        HKI_LAUNCH_TOGETHER(&stream, 1, 16, names_missing_lane, a);
    else if (name == "takes_from_outside")
        HKI_LAUNCH_TOGETHER(&stream, 1, 32, takes_from_outside, a);
    else if (name == "meets_alone")
        HKI_LAUNCH(&stream, 1, 32, meets_alone, a);
    else if (name == "writes_beyond") {
        a = new_array<int>(16);
        HKI_LAUNCH(&stream, 1, 1, writes_beyond, a);
        cudaFree(a);
    } else if (name == "host_reads") {
        printf("%d\n", a[0]);
    } else if (name == "used_when_freed") {
        cudaStream_t other = new_stream();
        gate gate;
        gate.hold(stream.handle);
        HKI_LAUNCH(&stream, 1, 1, uses, a);
        cudaFreeAsync(a, other);
        cudaStreamSynchronize(other);
        gate.open();
    } else if (name == "turn_without_barrier") {
        int *to = new_array<int>(64);
        cudaMemset(a, 0, 256);
        HKI_LAUNCH_TOGETHER(&stream, 1, 64, turn_without_barrier, to, a);
    } else if (name == "without_event") {
        hki_cuda_stream other = {new_stream(), cudaSuccess};
        for (int i = 0; i < 2; i++)
            HKI_LAUNCH(i ? &other : &stream, 1, 32, fill, a, i, 64);
    } else if (name == "source_written") {
        static int from[64];
        gate gate;
        gate.hold(stream.handle);
        cudaMemcpyAsync(a, from, sizeof from, cudaMemcpyHostToDevice, stream.handle);
        gate.open(); /* before, because what is before it comes before what the gate holds */
        from[0] = 1;
    } else
        return 3;
    cudaDeviceSynchronize();
    return 0;
}

void test_misuse_ends_the_program(const char *program)
{
    const struct {
        const char *name, *message; /* message NULL: it faults, with whatever words */
    } cases[] = {
        {"leaves_before_barrier",
         "kernel leaves_before_barrier, block (0, 0, 0): its threads cannot meet"},
        {"two_barriers", "waits at __syncthreads"},
        {"leaves_shuffle_out", "waits in a shuffle of its warp"},
        {"names_missing_lane", "names lane 16, but the block has 16 threads"},
        {"takes_from_outside", "takes the value of lane 16"},
        {"meets_alone", "HKI_LAUNCH_TOGETHER"},
        {"writes_beyond", NULL},
        {"host_reads", NULL},
        {"used_when_freed", NULL},
#ifdef HKI_EMULATED_TSAN
        {"turn_without_barrier", "data race"},
        {"without_event", "data race"},
        {"source_written", "data race"},
#endif
    };
    for (const auto &each : cases) {
        int ends[2], status;
        CHECK(!pipe(ends));
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        char *arguments[] = {const_cast<char *>(program), const_cast<char *>(each.name), nullptr};
        pid_t child;
        CHECK(!posix_spawn(&child, program, &actions, nullptr, arguments, environ));
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        std::string words;
        char part[512];
        for (ssize_t bytes; (bytes = ::read(ends[0], part, sizeof part)) > 0;)
            words.append(part, static_cast<size_t>(bytes));
        close(ends[0]);
        waitpid(child, &status, 0);
        bool is_found = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
        if (each.message)
            is_found = is_found && words.find(each.message) != std::string::npos;
        if (!is_found)
            fprintf(stderr, "%s: status %d, \"%s\"\n", each.name, status, words.c_str());
        CHECK(is_found);
    }
}

/* A child of a fork has no streams, and says so. */
void test_fork()
{
    restart("");
    cudaStream_t stream = new_stream();
    pid_t child = fork();
    if (!child) {
        void *memory;
        int count;
        bool is_right = cudaMalloc(&memory, 4) == cudaErrorInitializationError &&
                        cudaStreamSynchronize(stream) == cudaErrorInitializationError &&
                        cudaGetDeviceCount(&count) == cudaErrorInitializationError;
        _exit(is_right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_EQ_I64(status, 0);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1)
        return misuse(argv[1]);
    test_order_in_a_stream();
    test_streams_run_side_by_side();
    test_events_order_streams();
    test_event_times();
    test_kernels_that_meet();
    test_atomics_of_two_streams();
    test_geometry_and_arguments();
    test_faults_of_values();
    test_late_copies();
    test_memory();
    test_memory_is_used_again();
    test_lost_gpu();
    test_two_gpus();
    test_default_stream();
    test_destroyed_stream();
    test_emulated_libraries();
    test_graphs();
    test_misuse_of_captures();
    test_callbacks_call_nothing();
    test_misuse_ends_the_program(argv[0]);
    test_fork();
    return check_result();
}
