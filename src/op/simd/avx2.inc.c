/* What stands between this and avx2_end.inc.c is compiled for AVX2, FMA and F16C. Headers with functions of their own are included
 * between them, too, where their loops are to be. Only where HKI_HAVE_X86_ISAS. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
