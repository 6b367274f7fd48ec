#include "base/kernel_isa.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if HKI_HAVE_X86_ISAS
#include <cpuid.h>
#endif

#if HKI_HAVE_X86_ISAS
/* Compilers' own checks do not all know it. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

static hki_kernel_isa isa_detect(void)
{
    hki_kernel_isa best = HKI_ISA_PORTABLE;
#if HKI_HAVE_X86_ISAS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) {
        best = HKI_ISA_AVX2;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
            best = HKI_ISA_AVX512;
    }
#endif
    const char *name = getenv("HOCKET_ISA");
    hki_kernel_isa wanted = best;
    if (name && strcmp(name, "portable") == 0)
        wanted = HKI_ISA_PORTABLE;
    else if (name && strcmp(name, "avx2") == 0)
        wanted = HKI_ISA_AVX2;
    return wanted < best ? wanted : best;
}

hki_kernel_isa hki_kernel_isa_get(void)
{
    static _Atomic int known = -1;
    int isa = atomic_load_explicit(&known, memory_order_relaxed);
    if (isa < 0) {
        /* Two first callers may both detect; they find the same. */
        isa = (int)isa_detect();
        atomic_store_explicit(&known, isa, memory_order_relaxed);
    }
    return (hki_kernel_isa)isa;
}
