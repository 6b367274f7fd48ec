/* Compiles what cuda_launch.cuh describes as C++ for this machine: g++ or clang++ -x c++ -DHKI_CUDA_EMULATED, C++17.
 *
 * A launch is one entry of the stream: it runs later, in the stream's thread, block after block and thread after thread.
 * Launched by HKI_LAUNCH_TOGETHER, each thread of a block has a stack of its own and runs until it has to wait for
 * others. The order of threads changes from barrier to barrier, so that a missing one shows. These end the program with
 * the kernel's name, because on a GPU they hang or give anything: a barrier or an exchange that some threads leave out
 * or reach elsewhere, a mask that names lanes which are not there, threads that meet in a kernel launched by
 * HKI_LAUNCH. */
#ifndef HOCKET_TESTS_EMULATED_KERNEL_H
#define HOCKET_TESTS_EMULATED_KERNEL_H

#include "emulation/emulated_runtime.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <math.h>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector_functions.h>
#include <vector_types.h>

#define HKI_KERNEL static
#define HKI_DEVICE static inline
#define HKI_SHARED static thread_local /* one block at a time runs in a stream's thread */
#define HKI_BOUNDS(...)
#define HKI_UNROLL
#define HKI_LAUNCH(stream, grid, block, kernel, ...)                                               \
    hki_emulated::launch(stream, grid, block, false, #kernel, kernel, __VA_ARGS__)
#define HKI_LAUNCH_TOGETHER(stream, grid, block, kernel, ...)                                      \
    hki_emulated::launch(stream, grid, block, true, #kernel, kernel, __VA_ARGS__)

/* ---- Where a thread is */
struct hki_emulated_place {
    uint3 thread, block, block_size, grid_size;
};

extern __thread hki_emulated_place hki_emulated_here;

#define threadIdx hki_emulated_here.thread
#define blockIdx  hki_emulated_here.block
#define blockDim  hki_emulated_here.block_size
#define gridDim   hki_emulated_here.grid_size
#define warpSize  32

namespace hki_emulated
{

/* ---- Launching */
cudaError_t enqueue_kernel(cudaStream_t stream, dim3 grid, dim3 block, bool is_together,
                           const char *name, std::function<void()> body);
/* Whether a kernel that is launched now is not even to be put into its stream. */
bool is_nothing();
/* The argument becomes what the kernel is to be given; false, after a word about it, when the kernel must not run. */
bool take_argument(cudaStream_t stream, const char *kernel, int index, void *argument, size_t bytes,
                   const void *points_to);
/* In place of a kernel that was given something which it cannot use. */
cudaError_t enqueue_fault(cudaStream_t stream, const char *name);

template <typename T, typename = void> struct points {
    static const void *to(const T &)
    {
        return nullptr;
    }
};
template <typename T> struct points<T *, void> {
    static const void *to(T *pointer)
    {
        return reinterpret_cast<const void *>(pointer);
    }
};
/* What has its elements at `data`. */
template <typename T>
struct points<T, std::enable_if_t<std::is_pointer<decltype(std::declval<T>().data)>::value>> {
    static const void *to(const T &tensor)
    {
        return tensor.data;
    }
};

template <typename T> bool take(cudaStream_t stream, const char *kernel, int index, T &argument)
{
    static_assert(std::is_trivially_copyable<T>::value, "arguments of kernels are plain values");
    return take_argument(stream, kernel, index, const_cast<std::remove_const_t<T> *>(&argument),
                         sizeof argument, points<std::remove_const_t<T>>::to(argument));
}

template <typename... P, size_t... I>
bool take_all(cudaStream_t stream, const char *kernel, std::tuple<P...> &arguments,
              std::index_sequence<I...>)
{
    bool is_good = true;
    ((is_good = take(stream, kernel, static_cast<int>(I), std::get<I>(arguments)) && is_good), ...);
    return is_good;
}

template <typename S, typename... P, typename... A>
void launch(S *to, dim3 grid, dim3 block, bool is_together, const char *name, void (*kernel)(P...),
            A... given)
{
    static_assert(sizeof...(P) == sizeof...(A), "as many arguments as the kernel has");
    if (is_nothing()) {
        hki_cuda_ok(to, cudaGetLastError(), name);
        return;
    }
    cudaStream_t stream = hki_cuda_stream_handle(to);
    std::tuple<std::remove_const_t<P>...> arguments(static_cast<std::remove_const_t<P>>(given)...);
    if (take_all(stream, name, arguments, std::index_sequence_for<P...>()))
        enqueue_kernel(stream, grid, block, is_together, name,
                       [kernel, arguments] { std::apply(kernel, arguments); });
    else
        enqueue_fault(stream, name);
    hki_cuda_ok(to, cudaGetLastError(), name);
}

/* ---- Meeting */
enum class meeting { barrier, exchange, vote };

void barrier(int line);
/* Of the lanes of `mask`, which all come here: the value that lane `source` brought. */
uint64_t exchange(int line, unsigned mask, uint64_t value, int source);
unsigned vote(int line, unsigned mask, bool is_true);
int lane();

template <typename T> T shuffle(int line, unsigned mask, T value, int source)
{
    static_assert(std::is_trivially_copyable<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),
                  "values of 4 or 8 bytes are exchanged");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = exchange(line, mask, bits, source);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The lane from which to take, by the rules of the four shuffles; `width` lanes are among themselves. */
inline int lane_xor(int lanes, int width = 32)
{
    int source = lane() ^ lanes, end = (lane() & -width) + width;
    return source < end ? source : lane();
}
inline int lane_down(unsigned lanes, int width = 32)
{
    int64_t source = lane() + int64_t{lanes}, end = (lane() & -width) + width;
    return source < end ? static_cast<int>(source) : lane();
}
inline int lane_up(unsigned lanes, int width = 32)
{
    int64_t source = lane() - int64_t{lanes};
    return source >= (lane() & -width) ? static_cast<int>(source) : lane();
}
inline int lane_of(int source, int width = 32)
{
    return (lane() & -width) + (source & (width - 1));
}

} // namespace hki_emulated

#define __syncthreads() hki_emulated::barrier(__LINE__)
#define __syncwarp(...) ((void)hki_emulated::vote(__LINE__, 0xffffffffu, true))
#define __shfl_xor_sync(mask, value, ...)                                                          \
    hki_emulated::shuffle(__LINE__, mask, value, hki_emulated::lane_xor(__VA_ARGS__))
#define __shfl_down_sync(mask, value, ...)                                                         \
    hki_emulated::shuffle(__LINE__, mask, value, hki_emulated::lane_down(__VA_ARGS__))
#define __shfl_up_sync(mask, value, ...)                                                           \
    hki_emulated::shuffle(__LINE__, mask, value, hki_emulated::lane_up(__VA_ARGS__))
#define __shfl_sync(mask, value, ...)                                                              \
    hki_emulated::shuffle(__LINE__, mask, value, hki_emulated::lane_of(__VA_ARGS__))
#define __ballot_sync(mask, predicate) hki_emulated::vote(__LINE__, mask, (predicate) != 0)
#define __any_sync(mask, predicate)    (hki_emulated::vote(__LINE__, mask, (predicate) != 0) != 0)
#define __all_sync(mask, predicate)    (hki_emulated::vote(__LINE__, mask, (predicate) == 0) == 0)

/* ---- Atomics: relaxed, as on a GPU */
template <typename T> inline T hki_emulated_exchange_if(T *at, T expected, T value)
{
    __atomic_compare_exchange(at, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

template <typename T, typename F> inline T hki_emulated_update(T *at, F change)
{
    T old, changed;
    __atomic_load(at, &old, __ATOMIC_RELAXED);
    do {
        changed = change(old);
    } while (
        !__atomic_compare_exchange(at, &old, &changed, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

/* The second argument's type follows the first one's, as with CUDA's overloads. */
template <typename T> using hki_emulated_same = std::common_type_t<T>;

template <typename T> inline T atomicAdd(T *at, hki_emulated_same<T> value)
{
    return hki_emulated_update(at, [value](T old) { return static_cast<T>(old + value); });
}
template <typename T> inline T atomicMin(T *at, hki_emulated_same<T> value)
{
    return hki_emulated_update(at, [value](T old) { return value < old ? value : old; });
}
template <typename T> inline T atomicMax(T *at, hki_emulated_same<T> value)
{
    return hki_emulated_update(at, [value](T old) { return old < value ? value : old; });
}
template <typename T> inline T atomicOr(T *at, hki_emulated_same<T> value)
{
    return hki_emulated_update(at, [value](T old) { return static_cast<T>(old | value); });
}
template <typename T> inline T atomicAnd(T *at, hki_emulated_same<T> value)
{
    return hki_emulated_update(at, [value](T old) { return static_cast<T>(old & value); });
}
template <typename T> inline T atomicExch(T *at, hki_emulated_same<T> value)
{
    return hki_emulated_update(at, [value](T) { return value; });
}
template <typename T>
inline T atomicCAS(T *at, hki_emulated_same<T> expected, hki_emulated_same<T> value)
{
    return hki_emulated_exchange_if<T>(at, expected, value);
}

/* ---- What else kernels use */
template <typename T> inline T __ldg(const T *at)
{
    return *at;
}
template <typename T> inline T __ldcs(const T *at)
{
    return *at;
}
template <typename T> inline void __stcs(T *at, hki_emulated_same<T> value)
{
    *at = value;
}

inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

template <typename To, typename From> inline To hki_emulated_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "of one size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
inline int __float_as_int(float x)
{
    return hki_emulated_bits<int>(x);
}
inline unsigned __float_as_uint(float x)
{
    return hki_emulated_bits<unsigned>(x);
}
inline float __int_as_float(int x)
{
    return hki_emulated_bits<float>(x);
}
inline float __uint_as_float(unsigned x)
{
    return hki_emulated_bits<float>(x);
}
inline long long __double_as_longlong(double x)
{
    return hki_emulated_bits<long long>(x);
}
inline double __longlong_as_double(long long x)
{
    return hki_emulated_bits<double>(x);
}

inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}
inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}
inline float __fdividef(float x, float y)
{
    return x / y;
}
/* Rounded as written, never contracted. */
inline float __fadd_rn(float x, float y)
{
    volatile float sum = x + y;
    return sum;
}
inline float __fmul_rn(float x, float y)
{
    volatile float product = x * y;
    return product;
}
inline float __fmaf_rn(float x, float y, float z)
{
    return fmaf(x, y, z);
}
inline double __dadd_rn(double x, double y)
{
    volatile double sum = x + y;
    return sum;
}
inline double __dmul_rn(double x, double y)
{
    volatile double product = x * y;
    return product;
}
inline unsigned __umulhi(unsigned x, unsigned y)
{
    return static_cast<unsigned>((uint64_t{x} * y) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    __extension__ typedef unsigned __int128 wide;
    return static_cast<unsigned long long>((wide{x} * y) >> 64);
}
inline int __clz(int x)
{
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
inline int __clzll(long long x)
{
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

#define HKI_EMULATED_MIN_MAX(type)                                                                 \
    inline type min(type x, type y)                                                                \
    {                                                                                              \
        return y < x ? y : x;                                                                      \
    }                                                                                              \
    inline type max(type x, type y)                                                                \
    {                                                                                              \
        return x < y ? y : x;                                                                      \
    }
HKI_EMULATED_MIN_MAX(int)
HKI_EMULATED_MIN_MAX(unsigned)
HKI_EMULATED_MIN_MAX(long)
HKI_EMULATED_MIN_MAX(unsigned long)
HKI_EMULATED_MIN_MAX(long long)
HKI_EMULATED_MIN_MAX(unsigned long long)
#undef HKI_EMULATED_MIN_MAX

#endif
