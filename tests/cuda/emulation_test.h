/* What the tests of the emulation share: the device's stream, as kernels are launched in it, and short ways to streams,
 * memory and values. Each test's program includes it once. */
#ifndef HOCKET_TESTS_EMULATION_TEST_H
#define HOCKET_TESTS_EMULATION_TEST_H

#include "device/cuda/cuda_launch.cuh"

#include "check.h"

#include <atomic>
#include <unistd.h>
#include <vector>

/* What the stream notes is looked at by the tests. */
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

HKI_KERNEL void fill(int *to, int value, int64_t size)
{
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT)
        to[i] = value;
}

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

} // namespace

#endif
