/* The most that a core does: a loop of multiply-adds on registers. */
#ifndef HOCKET_BENCH_PEAK_H
#define HOCKET_BENCH_PEAK_H

#include "base/kernel_isa.h"
#include "bench_util.h"

#include <stdint.h>

typedef float v16 __attribute__((vector_size(64)));
typedef float v8 __attribute__((vector_size(32)));
typedef float v4 __attribute__((vector_size(16)));

#define PEAK(NAME, V, TARGET)                                                                      \
    TARGET static inline double NAME(int64_t steps)                                                \
    {                                                                                              \
        V a0 = {0}, a1 = {1}, a2 = {2}, a3 = {3}, a4 = {4}, a5 = {5}, a6 = {6}, a7 = {7};          \
        V a8 = {8}, a9 = {9}, b = {0.5f}, c = {0.25f};                                             \
        for (int64_t i = 0; i < steps; i++) {                                                      \
            a0 = a0 * b + c, a1 = a1 * b + c, a2 = a2 * b + c, a3 = a3 * b + c, a4 = a4 * b + c;   \
            a5 = a5 * b + c, a6 = a6 * b + c, a7 = a7 * b + c, a8 = a8 * b + c, a9 = a9 * b + c;   \
            __asm__ volatile("" : "+x"(b));                                                        \
        }                                                                                          \
        volatile V sink = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9;                         \
        (void)sink;                                                                                \
        return (double)steps * 20 * (double)(sizeof(V) / sizeof(float));                           \
    }
#if HKI_HAVE_X86_ISAS
PEAK(peak_avx512, v16, HKI_TARGET_AVX512)
PEAK(peak_avx2, v8, HKI_TARGET_AVX2)
#endif
PEAK(peak_portable, v4, )

static inline double peak_gflops(void)
{
    double start = bench_cpu_seconds(), flops;
    switch (hki_kernel_isa_get()) {
#if HKI_HAVE_X86_ISAS
    case HKI_ISA_AVX512:
        flops = peak_avx512(200000);
        break;
    case HKI_ISA_AVX2:
        flops = peak_avx2(200000);
        break;
#endif
    default:
        flops = peak_portable(200000);
    }
    return flops / (bench_cpu_seconds() - start) * 1e-9;
}

#endif
