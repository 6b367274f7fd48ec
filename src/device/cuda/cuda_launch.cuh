/* How kernels are written and launched, so that the same source is compiled by nvcc for GPUs and by a C++ compiler for
 * the tests' emulation (HKI_CUDA_EMULATED, tests/cuda/emulation/), which runs it on this machine's cores:
 *
 *     HKI_KERNEL void scale(float *y, const float *x, float s, int64_t size)
 *     {
 *         for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT)
 *             y[i] = x[i] * s;
 *     }
 *     HKI_LAUNCH(stream, hki_cuda_grid(size, 256, multiprocessors), 256, scale, y, x, s, size);
 *
 * Kernels whose threads meet (__syncthreads, __shfl_*_sync, votes) are launched by HKI_LAUNCH_TOGETHER: there the
 * emulation gives each thread of a block a stack of its own. Shared memory is HKI_SHARED float tile[32][33]; its size is
 * static. No other extension of CUDA but: __device__, __restrict__, threadIdx and its kin, __ldg, atomicAdd, atomicMin,
 * atomicMax, atomicOr and atomicAnd (unsigned long long) and atomicCAS, __syncthreads, __shfl_xor_sync, __shfl_down_sync, __shfl_up_sync, float4 and
 * its kin, and the math functions. */
#ifndef HOCKET_DEVICE_CUDA_LAUNCH_CUH
#define HOCKET_DEVICE_CUDA_LAUNCH_CUH

#include "device/cuda/cuda_geometry.h"
#include "device/cuda/cuda_stream.h"

#ifdef HKI_CUDA_EMULATED
#include "emulation/emulated_kernel.h" /* defines the macros below, threadIdx and so on */
#else
#define HKI_KERNEL      static __global__
#define HKI_DEVICE      static __device__ __forceinline__
#define HKI_SHARED      __shared__
#define HKI_BOUNDS(...) __launch_bounds__(__VA_ARGS__)
#define HKI_UNROLL      _Pragma("unroll") /* the loop that follows */
#define HKI_LAUNCH(stream, grid, block, kernel, ...)                                               \
    do {                                                                                           \
        kernel<<<(grid), (block), 0, hki_cuda_stream_handle(stream)>>>(__VA_ARGS__);               \
        hki_cuda_ok((stream), cudaGetLastError(), #kernel);                                        \
    } while (0)
#define HKI_LAUNCH_TOGETHER HKI_LAUNCH
#endif

#define HKI_THREAD_INDEX ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define HKI_THREAD_COUNT ((int64_t)gridDim.x * blockDim.x)

/* Up: a call has failed that the guarded one depends on, which then leaves everything as it is. */
HKI_DEVICE bool hki_cuda_is_up(const hki_cuda_guard &guard)
{
    return guard.board &&
           (guard.board->value & ((unsigned long long)guard.high << 32 | guard.low)) != 0;
}

HKI_DEVICE void hki_cuda_raise(hki_cuda_fault *fault)
{
    const unsigned long long number = fault->number;
    atomicOr(&(fault - number)->value, 1ull << (number - 1));
}

/* From a kernel: element `index` fails the call. */
HKI_DEVICE void hki_cuda_report(hki_cuda_fault *fault, int64_t index)
{
    atomicMin(&fault->index, (unsigned long long)index);
    hki_cuda_raise(fault);
}

/* The same with a value; an index beyond HKI_CUDA_LAST_ROW becomes that one; hki_cuda_fault_row and hki_cuda_fault_value read them. Each
 * word has half of the value below the index, so that both come to be those of the lowest index. */
HKI_DEVICE void hki_cuda_report_value(hki_cuda_fault *fault, int64_t index, int64_t value)
{
    const int64_t row = index < HKI_CUDA_LAST_ROW ? index : HKI_CUDA_LAST_ROW;
    const unsigned long long upper = (unsigned long long)row << 32, bits = (uint64_t)value;
    atomicMin(&fault->index, upper | bits >> 32);
    atomicMax(&fault->value, ~(upper | (bits & 0xffffffffu)));
    hki_cuda_raise(fault);
}

#endif
