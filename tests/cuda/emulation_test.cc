/* The emulated CUDA runtime does what CUDA says: streams, events, memory, several GPUs, graphs, errors. */
#include "emulation_test.h"

#include <sys/wait.h>

namespace
{

HKI_KERNEL void add(int *to, const int *from, int64_t size)
{
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT)
        to[i] += __ldg(from + i);
}

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

/* Pageable memory is read and written when the stream gets there. */
/* From and to pageable memory: as late as may be, then as early. */
void test_pageable_copies()
{
    restart("");
    cudaStream_t stream = new_stream();
    int *a = new_array<int>(8);
    int late[4] = {1, 2, 3, 4}, early[4] = {5, 6, 7, 8}, to[8] = {0};
    {
        gate gate;
        gate.hold(stream);
        CHECK_EQ_I64(cudaMemcpyAsync(a, late, 16, cudaMemcpyHostToDevice, stream), cudaSuccess);
        CHECK_EQ_I64(cudaMemcpyAsync(a + 4, early, 16, cudaMemcpyHostToDevice, stream),
                     cudaSuccess);
        CHECK_EQ_I64(cudaMemcpyAsync(to, a, 32, cudaMemcpyDeviceToHost, stream), cudaSuccess);
        late[3] = early[3] = 9;
        CHECK_EQ_I64(to[0], 0);
        gate.open();
        CHECK_EQ_I64(cudaStreamSynchronize(stream), cudaSuccess);
    }
    CHECK(to[0] == 1 && to[3] == 9 && to[4] == 5 && to[7] == 8);
    CHECK_EQ_I64(cudaMemsetAsync(a, 0, 32, stream), cudaSuccess);
    CHECK_EQ_I64(cudaMemcpyAsync(to, a, 32, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    CHECK_EQ_I64(to[7], 0);
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

/* A number in the lower half of a word, and in the gap above it what an address has left there. */
void test_numbers_beside_gaps()
{
    restart("gpus=16");
    cudaStream_t stream = new_stream();
    const float floats[] = {1e-9f, 1, 2, 8e9f, -1e-9f, -1, -2, -1e9f};
    std::vector<uint32_t> numbers = {0, 1, 1u << 30, 0u - 1, 0u - (1u << 30)};
    for (float each : floats) {
        numbers.push_back(0);
        memcpy(&numbers.back(), &each, sizeof each);
    }
    for (int gpu = 0; gpu < 16; gpu++) {
        CHECK_EQ_I64(cudaSetDevice(gpu), cudaSuccess);
        uint64_t address = reinterpret_cast<uintptr_t>(new_array<char>(1));
        for (uint32_t number : numbers) {
            const uint64_t word = (address >> 32 << 32) + number;
            uint64_t given = 0;
            struct what {
                uint64_t word;
                uint64_t *given; /* memory of the host: as it is */
            } argument = {word, &given};
            auto run = [](void *own) {
                *static_cast<what *>(own)->given = static_cast<what *>(own)->word;
            };
            cudaSetDevice(0);
            CHECK_EQ_I64(hki_emulated_enqueue(stream, "word", run, &argument, sizeof argument),
                         cudaSuccess);
            CHECK_EQ_I64(cudaStreamSynchronize(stream), cudaSuccess);
            CHECK(given == word);
        }
    }
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

/* Kernels and graphs do nothing, and the rest is over at once. */
void test_still()
{
    restart("still=1");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    int *a = new_array<int>(10);
    CHECK_EQ_I64(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    CHECK_EQ_I64(cudaMemsetAsync(a, 0, 40, stream.handle), cudaSuccess);
    HKI_LAUNCH(&stream, 1, 32, fill, a, 5, 10);
    CHECK_EQ_I64(cudaEventRecord(event, stream.handle), cudaSuccess);
    CHECK_EQ_I64(cudaEventQuery(event), cudaSuccess);
    CHECK_EQ_I64(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeRelaxed), cudaSuccess);
    HKI_LAUNCH(&stream, 1, 32, fill, a, 5, 10);
    CHECK_EQ_I64(cudaStreamEndCapture(stream.handle, &graph), cudaSuccess);
    CHECK_EQ_I64(cudaGraphInstantiate(&instance, graph, 0), cudaSuccess);
    CHECK_EQ_I64(cudaGraphLaunch(instance, stream.handle), cudaSuccess);
    CHECK_EQ_I64(cudaStreamQuery(stream.handle), cudaSuccess);
    CHECK_EQ_I64(read(a, 10)[9], 0);
    CHECK_EQ_I64(hki_emulated_get_counts().kernels, 2);
    CHECK_EQ_I64(cudaGraphExecDestroy(instance), cudaSuccess);
    CHECK_EQ_I64(cudaGraphDestroy(graph), cudaSuccess);
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

int main(void)
{
    test_order_in_a_stream();
    test_streams_run_side_by_side();
    test_events_order_streams();
    test_event_times();
    test_pageable_copies();
    test_memory();
    test_memory_is_used_again();
    test_lost_gpu();
    test_two_gpus();
    test_default_stream();
    test_destroyed_stream();
    test_emulated_libraries();
    test_numbers_beside_gaps();
    test_graphs();
    test_misuse_of_captures();
    test_still();
    test_callbacks_call_nothing();
    test_fork();
    return check_result();
}
