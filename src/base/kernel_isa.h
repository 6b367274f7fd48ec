/* Which compiled variant of the CPU kernels runs on this machine. */
#ifndef HOCKET_BASE_KERNEL_ISA_H
#define HOCKET_BASE_KERNEL_ISA_H

typedef enum hki_kernel_isa {
    HKI_ISA_PORTABLE = 0, /* what the compiler's default target has */
    HKI_ISA_AVX2 = 1,     /* AVX2, FMA and F16C */
    HKI_ISA_AVX512 = 2,   /* AVX-512 F, VL, DQ, BW */
} hki_kernel_isa;

/* The best variant that the processor has; HOCKET_ISA=avx512|avx2|portable in the environment
   lowers it, never raises it. Decided at the first call, the same ever after. Thread-safe, never
   blocks. */
hki_kernel_isa hki_kernel_isa_get(void);

/* Attributes of a function compiled for a variant, helpers included: GCC lowers vector types before
   it inlines, so that a helper without the attribute would be lowered for the wrong machine. */
#if defined(__x86_64__)
#define HKI_HAVE_X86_ISAS 1
#define HKI_TARGET_AVX2   __attribute__((target("avx2,fma")))
#define HKI_TARGET_AVX512 __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")))
/* That of name_portable, name_avx2 and name_avx512, with a suffix, which runs here. */
#define HKI_OF_ISA(name, suffix)                                                                   \
    (hki_kernel_isa_get() == HKI_ISA_AVX512 ? name##_avx512##suffix                                \
     : hki_kernel_isa_get() == HKI_ISA_AVX2 ? name##_avx2##suffix                                  \
                                            : name##_portable##suffix)
#else
#define HKI_HAVE_X86_ISAS        0
#define HKI_OF_ISA(name, suffix) name##_portable##suffix
#endif

#endif
